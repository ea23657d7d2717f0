"""Quality along a run: the series against its log, the log against the run."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import softgrasp as sg
from softgrasp import quality
from softgrasp.evaluation.analysis import ReplayedResult
from softgrasp.evaluation.quality_log import EDGES
from softgrasp.evaluation.result_files import load_result
from softgrasp.sim.contacts import GraspContactReader, object_reach
from tests.conftest import Golden
from tests.support.pads import pads
from tests.support.scenes import ball, pinch


@cache
def run() -> sg.GraspResult:
    return sg.simulate(pinch())


def final() -> dict[str, Any]:
    message = run().quality
    assert message is not None
    return message


def test_samples_are_a_hundredth_of_a_second_apart_and_end_with_the_run() -> None:
    log = run().quality_log
    assert np.diff(log.time)[:-1] == pytest.approx(0.01)
    assert log.time[-1] == run().time[-1]
    assert len(log.time) == len(log.margin) == len(log.center) == len(log.first) - 1
    rows = np.searchsorted(run().time, log.time)
    assert log.center == pytest.approx(run().object_position[rows], abs=1e-9)


def test_the_series_is_epsilon_of_the_logged_contacts() -> None:
    """Recomputed from the arrays of the file alone, at every sample."""
    log, result = run().quality_log, run()
    arrays = log.arrays()
    for sample, message in enumerate(arrays["quality_epsilon"].tolist()):
        own = slice(*arrays["quality_first"][sample : sample + 2].tolist())
        if own.stop - own.start < 2:
            assert message == 0.0
            continue
        again = quality.epsilon(
            arrays["quality_points"][own],
            arrays["quality_normals"][own],
            arrays["quality_friction"][own],
            torsion=arrays["quality_torsion"][own],
            edges=EDGES,
            torque_scale=float(arrays["quality_torque_scale"]),
            center=arrays["quality_center"][sample],
        )
        assert message == pytest.approx(again, abs=1e-9)
    assert result.quality_epsilon[0] == 0.0
    assert result.quality_epsilon[-1] > 0.1


def test_the_log_is_the_grasp_at_that_instant() -> None:
    """Against the model posed anew from what the result has, at some samples."""
    log = run().quality_log
    for sample in (len(log.time) // 2, len(log.time) - 5, -1):
        result = sg.analysis_of(run(), float(log.time[sample]))
        given = log.contacts(sample)
        assert given["points"] == pytest.approx(result.points, abs=1e-9)
        assert given["normals"] == pytest.approx(result.normals, abs=1e-9)


def test_margins_are_those_of_the_recorded_forces() -> None:
    log, result = run().quality_log, run()
    touching = [c for c in result.contacts if c.normal_force_N > 0.0]
    mu = result.contact_model.used.static_friction
    least = min(1.0 - c.friction_force_N / (mu * c.normal_force_N) for c in touching)
    assert log.margin[-1] == pytest.approx(least, abs=0.02)
    assert np.isnan(log.margin[0])


def test_force_closure_has_a_moment() -> None:
    log = run().quality_log
    assert log.closed_at is not None
    first = int(np.searchsorted(log.time, log.closed_at))
    assert log.epsilon[first] > 0.0
    assert not log.epsilon[:first].any()
    assert final()["force_closure_s"] == log.closed_at
    # two pads with soft fingers close, without torsion they turn about the line between them
    open_log = sg.simulate(pads(2, solver=sg.description.Solver(contact_dimension=3))).quality_log
    assert open_log.closed_at is None
    assert "torque about" in str(open_log.at(-1)["reason"]) or open_log.at(-1)["rank"] < 6


def test_motion_and_its_hash_do_not_depend_on_it(tmp_path: Path) -> None:
    ends = sg.simulate(pinch(), quality_rate=0.0)
    assert sg.simulate(pinch(), quality_rate=None).quality is None
    assert ends.trajectory_sha256 == run().trajectory_sha256
    assert len(ends.quality_log.time) == 1
    assert ends.quality["epsilon"] == final()["epsilon"]
    run().save(tmp_path)
    again = load_result(tmp_path)
    assert again.trajectory_sha256 == run().trajectory_sha256
    first, second = again.quality_log, run().quality_log
    assert np.array_equal(first.epsilon, second.epsilon)
    assert again.quality == run().quality
    with np.load(tmp_path / "trajectory.npz") as arrays:
        for key in arrays:
            np.testing.assert_array_equal(getattr(again, key), arrays[key], err_msg=key)
        assert np.array_equal(arrays["quality_time"], second.time)


def test_a_rate_is_a_rate(golden: Golden) -> None:
    golden.refused(lambda: sg.simulate(pinch(), quality_rate=-1.0), "quality_rate")
    fast = sg.simulate(pinch(duration=0.1), quality_rate=500.0)
    assert fast.quality_time is not None
    assert np.diff(fast.quality_time)[:-1] == pytest.approx(0.002)


@pytest.mark.parametrize(
    ("shape", "reach"),
    [
        (sg.Sphere(radius=0.03), 0.03),
        (sg.Cuboid(size=(0.06, 0.04, 0.02)), np.linalg.norm([0.03, 0.02, 0.01])),
        (sg.description.Capsule(radius=0.02, length=0.05), 0.045),
        (sg.Cylinder(radius=0.03, height=0.08), 0.05),
    ],
)
def test_moments_are_over_the_reach_of_the_object(shape: object, reach: float) -> None:
    model = sg.compile_model(pinch(object=ball().replace(shape=shape)))
    assert object_reach(model) == pytest.approx(reach, rel=1e-6)


def test_many_contacts_are_thinned_to_a_lower_bound_that_is_near() -> None:
    """A ring of contacts on a palm, as a rim makes, against three fingers."""
    from softgrasp.evaluation.quality_log import measures_of, thin

    rotations = np.linspace(0.0, 2.0 * np.pi, 60, endpoint=False)
    rim = np.c_[0.03 * np.cos(rotations), 0.03 * np.sin(rotations), np.full(60, 0.04)]
    around = rotations[[0, 20, 40]]
    tips = np.c_[0.03 * np.cos(around), 0.03 * np.sin(around), np.full(3, -0.03)]
    up, inward = np.array([0.0, 0.0, 1.0]), tips * [-1.0, -1.0, 0.0]
    inward = inward / np.linalg.norm(inward, axis=1)[:, None] * 0.8 + 0.6 * up
    contacts: dict[str, Any] = {
        "points": np.vstack([rim, tips]),
        "normals": np.vstack([np.tile(-up, (60, 1)), inward]),
        "mu": np.full(63, 0.5),
        "torsion": np.zeros(63),
        "torque_scale": 0.05,
        "center": np.zeros(3),
    }
    few = thin(contacts)
    assert len(few["points"]) == 16
    assert {tuple(tip) for tip in tips} <= {tuple(point) for point in few["points"]}
    some = sg.quality.epsilon(**few, edges=4)
    every = sg.quality.epsilon(**contacts, edges=4)
    assert 0.97 * every < some <= every + 1e-12
    message = measures_of(contacts)
    assert (message["contacts"], message["wrench_contacts"]) == (63, 16)
    np.testing.assert_array_equal(thin(few)["points"], few["points"])


def test_bodies_without_force_have_no_contact_in_the_log() -> None:
    """At every control sample, also where a finger overlaps the object before its first force."""
    result = sg.simulate(pinch(solver=sg.description.Solver(refinement=1)), quality_rate=1000.0)
    log = result.quality_log
    replay = ReplayedResult(result)
    reader = GraspContactReader(replay.model, result.contact_bodies.tolist())
    for sample, row in enumerate(np.searchsorted(result.time, log.time - 1e-9).tolist()):
        logged = set(log.body[log.first[sample] : log.first[sample + 1]].tolist())
        assert logged <= set(np.flatnonzero(result.normal_force[row] > 0.0).tolist())
        if sample % 20 == 0:
            time = float(log.time[sample])
            assert len(sg.analysis_of(result, time).points) == len(log.contacts(sample)["points"])
    overlapping = [reader.read(replay.pose(float(t))) for t in log.time]
    assert sum(len(contacts.points) for contacts in overlapping) - int(log.first[-1]) > 0
