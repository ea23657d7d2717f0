"""Pulls of a hold test against Coulomb's law."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import numpy as np
import pytest

import softgrasp as sg
from softgrasp.errors import DescriptionError
from softgrasp.report.contact_figures import draw_pulls
from softgrasp.report.grasp_tables import pull_rows
from softgrasp.report.grasp_text import criterion_text, hold_clause, limits_text
from softgrasp.sim.contacts import ContactPoint
from softgrasp.sim.hold_test import SlipWatch
from softgrasp.sim.serialization import load_result
from tests.pads import pads

UP, DOWN, ALONG = (0.0, 0.0, 1.0), (0.0, 0.0, -2.0), (1.0, 0.0, 0.0)
MU = 0.5


def pulled(count: int, *pulls: dict[str, object], **changes: object) -> sg.GraspResult:
    limits = {"max_drop": 0.05, "max_rotation": 3.0}
    criterion = sg.SuccessCriterion(pulls=pulls, **(limits | changes))
    return sg.simulate(pads(count, success=criterion))


@cache
def out_of_two() -> sg.GraspResult:
    return pulled(2, {"direction": UP}, {"direction": DOWN}, {"direction": ALONG, "most": 1.5})


@pytest.mark.parametrize("count", [2, 3])
def test_pads_slip_at_coulombs_bound(count: int) -> None:
    """Normals in the plane, the pull along its normal: n·µ·N, within 3 %."""
    result = pulled(count, {"direction": UP})
    assert result.hold is not None
    (test,) = result.hold.pulls
    normal = sum(contact.normal_force_N for contact in result.contacts)
    assert test.friction_N == pytest.approx(MU * normal, rel=1e-6)
    assert test.slip_force_N == pytest.approx(test.friction_N, rel=0.03)
    assert (test.slip_force_N or 0.0) > test.friction_N  # it takes a while to be seen, never less
    assert test.held is None
    assert result.held
    assert test.drop_m < 5e-5


def test_a_slower_pull_comes_nearer() -> None:
    result = [pulled(2, {"direction": UP, "time": time}).hold for time in (0.5, 2.0)]
    errors = [
        (hold.pulls[0].slip_force_N or 0.0) / hold.pulls[0].friction_N - 1.0
        for hold in result
        if hold is not None
    ]
    assert 0.0 < errors[1] < 0.6 * errors[0]


def test_each_begins_from_the_same_state_whatever_its_length() -> None:
    hold = out_of_two().hold
    assert hold is not None
    up, down, along = hold.pulls
    assert (up.name, down.name, along.name) == ("+z", "-z", "+x")
    assert down.slip_force_N == pytest.approx(up.slip_force_N, rel=1e-6)
    assert along.slip_force_N is None  # a pad is in the way
    assert along.largest_force_N == pytest.approx(1.5 * along.friction_N, rel=1e-6)
    alone = pulled(2, {"direction": DOWN}).hold
    assert alone is not None
    assert alone.pulls[0].slip_force_N == pytest.approx(down.slip_force_N, abs=1e-12)


def test_a_least_force_is_judged() -> None:
    passed = pulled(2, {"direction": UP, "min_force": 8.0})
    failed = pulled(2, {"direction": UP, "min_force": 9.0})
    assert passed.held
    assert passed.hold is not None
    assert passed.hold.pulls[0].held
    assert failed.held is False
    assert failed.hold is not None
    assert failed.hold.failed_in == "pull +z"
    assert hold_clause(failed).endswith("8.52 N along +z pulled it out (9 N wanted)")


def test_it_is_told_saved_and_drawn(tmp_path: Path) -> None:
    result = out_of_two()
    assert hold_clause(result) == "Pulled out by 8.52 N along +z"
    criterion = result.scene.success
    assert criterion is not None
    assert criterion_text(criterion) == "3 pulls until it slips"
    rows = pull_rows(result)
    assert [(row.label, row.slip, row.fraction) for row in rows] == [
        ("+z", "8.52", "1.01"),
        ("-z", "8.52", "1.01"),
        ("+x", "–", "–"),
    ]
    result.save(tmp_path)
    again = load_result(tmp_path)
    assert again.hold == result.hold
    assert sg.simulate(again.scene).trajectory_sha256 == result.trajectory_sha256
    assert draw_pulls(result, tmp_path / "pulls.png").stat().st_size > 10_000


def test_creep_has_a_budget_and_falls_as_one_over_impratio() -> None:
    force = 0.98 * MU * sum(c.normal_force_N for c in sg.simulate(pads(2)).contacts)
    mass = float(sg.compile_model(pads(2)).body("object").mass[0])
    budget = 1e-3
    criterion = sg.SuccessCriterion(
        directions=((0.0, 0.0, force / mass),),
        direction_time=0.6,
        max_drop=0.05,
        max_rotation=3.0,
        max_creep=budget,
    )
    assert limits_text(criterion).endswith("creep of at most 1 mm/s")
    creeps = []
    for impratio in (10.0, 100.0, 3e5):
        solver = sg.Solver(impratio=impratio)
        result = sg.simulate(pads(2, success=criterion, solver=solver))
        assert result.hold is not None
        creep = result.hold.creep_m_s
        creeps.append(creep)
        assert result.held is (creep <= budget)
        message = [warning for warning in result.warnings if "creeps" in warning]
        assert bool(message) is (1e-4 < creep <= budget)
    assert creeps[0] == pytest.approx(10.0 * creeps[1], rel=0.05)
    assert creeps[2] < 1e-6
    assert message == []


def test_a_creeping_setting_is_warned_about() -> None:
    hold = sg.SuccessCriterion(gravity=(0.0, 0.0, -50.0))
    result = sg.simulate(pads(2, success=hold, solver=sg.Solver(impratio=50.0)))
    (warning,) = [warning for warning in result.warnings if "creeps" in warning]
    assert result.hold is not None
    assert warning == (
        f"the object creeps at {1e3 * result.hold.creep_m_s:.3g} mm/s in the hand under load: "
        "friction is soft with solver.impratio 50, and creep falls as its inverse (default 300000)"
    )


def test_a_pull_needs_a_direction_and_a_plane_its_own() -> None:
    with pytest.raises(DescriptionError) as caught:
        sg.SuccessCriterion(pulls=({"direction": (0, 0, 0)},))
    assert str(caught.value) == "pulls[0].direction: expected a direction, found three zeros"
    across = sg.SuccessCriterion(pulls=({"direction": (0, 1, 0)},))
    with pytest.raises(DescriptionError) as caught:
        pads(2, object_mount="planar", success=across)
    assert str(caught.value) == (
        "success.pulls[0].direction: expected a part in the x–z plane, in which a planar object "
        "moves, found (0.0, 1.0, 0.0)"
    )


def test_slip_counts_once_all_contacts_have_slipped_for_a_while() -> None:
    def points(*speeds: float) -> list[ContactPoint]:
        zero = (0.0, 0.0, 0.0)
        return [ContactPoint("F", "p", zero, zero, -1e-5, 1.0, 0.1, speed) for speed in speeds]

    watch = SlipWatch(3)
    looks = [(0.1, 0.1), (0.1, 0.0), (0.1, 0.1), (0.1, 0.1), (0.1, 0.1)]
    assert [watch.check(points(*speeds), row) for row, speeds in enumerate(looks)] == [
        False, False, False, False, True,
    ]  # fmt: skip
    assert watch.since == 2
    gone = SlipWatch(1)
    assert gone.check([], 7)
    assert gone.since == 7
    assert np.isfinite(gone.since)


def test_a_least_force_is_put_on_before_it_counts_as_borne() -> None:
    """Along a pad that is in the way nothing slips; the pull goes on until the least force."""
    result = pulled(2, {"direction": ALONG, "time": 0.2, "most": 0.5, "min_force": 12.0})
    assert result.hold is not None
    (test,) = result.hold.pulls
    assert test.slip_force_N is None
    assert test.largest_force_N >= 12.0
    assert test.held


def test_creep_needs_a_time_under_load() -> None:
    with pytest.raises(DescriptionError) as caught:
        pads(2, success=sg.SuccessCriterion(pulls=({"direction": UP},), max_creep=1e-3))
    assert str(caught.value) == (
        "success.max_creep: expected a time under load to creep in: gravity, motion or directions; "
        "found pulls only"
    )
    hold = out_of_two().hold
    assert hold is not None
    assert hold.creep_m_s == 0.0


def test_what_cannot_be_pulled_is_refused() -> None:
    foam = sg.load_object("sphere").replace(elasticity=sg.Elasticity(young=5e4))
    pull = sg.SuccessCriterion(pulls=({"direction": UP},))
    with pytest.raises(DescriptionError) as caught:
        pads(2, object=foam, success=pull)
    assert str(caught.value) == (
        "success.pulls: expected a rigid object to be pulled out, found a deformable one"
    )
    slanted = sg.SuccessCriterion(pulls=({"direction": (1, 3, 0)},))
    with pytest.raises(DescriptionError) as caught:
        pads(2, object_mount="planar", success=slanted)
    assert str(caught.value) == (
        "success.pulls[0].direction: expected a direction in the x–z plane, in which a planar "
        "object moves, found (1.0, 3.0, 0.0)"
    )
    with pytest.raises(DescriptionError, match="expected a direction longer than 1e-09"):
        sg.SuccessCriterion(pulls=({"direction": (1e-200, 0, 0)},))
