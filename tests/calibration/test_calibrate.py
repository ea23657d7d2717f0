"""Recover known parameters; warn of undetermined ones; give bit-equal results on repetition."""

from __future__ import annotations

import json
import os
from pathlib import Path

import numpy as np
import pytest

import softgrasp as sg
from softgrasp.calibration.calibrate import calibrate
from softgrasp.calibration.optimizers import Swarm
from softgrasp.calibration.result import (
    CalibrationStatus,
    apply_calibration,
    load_calibration,
    save_calibration,
)
from softgrasp.continuum import rld
from softgrasp.description.calibration import CalibrationProblem, FreeBend
from tests.calibration.problems import FINGER, hung, pressing, traced
from tests.support.finger_measurements import synthetic_releases

STIFFNESS = np.array([joint.stiffness for joint in FINGER.joints])
DAMPING = np.array([joint.damping for joint in FINGER.joints])
SMALL = Swarm(particles=6, iterations=5)


def test_springs_are_recovered_from_exact_angles() -> None:
    result = calibrate(hung(noise_deg=0.0), "least-squares")
    calibrated = np.array([result.parameters[f"k{i}"] for i in range(1, 8)])
    np.testing.assert_allclose(calibrated, STIFFNESS, rtol=1e-5)
    assert result.status is CalibrationStatus.DONE
    assert result.residual["springs"] < 1e-8
    assert result.evaluations < 150


@pytest.mark.slow
def test_standard_errors_match_the_scatter_over_seeds() -> None:
    """k1 and k2, which the angles fix: their errors are those that 20 noisy sets scatter with."""
    results = [calibrate(hung(seed), "least-squares").stage("springs") for seed in range(20)]
    calibrated = np.array([stage.values[:2] for stage in results])
    message = np.array([stage.uncertainty.errors[:2] for stage in results])
    ratio = calibrated.std(axis=0, ddof=1) / np.median(message, axis=0)
    assert ((ratio > 0.6) & (ratio < 1.6)).all()


@pytest.mark.slow
def test_damping_of_the_first_mode_is_recovered_from_a_tracked_tip() -> None:
    result = calibrate(traced(), stages=["dampers"])
    stage = result.stage("dampers")
    assert stage.residual == pytest.approx(5e-5, rel=0.2)
    weights = np.array(
        [float(x) for x in stage.sum_sentence.split("w = (")[1].split(")")[0].split()]
    )
    assert weights @ stage.values == pytest.approx(weights @ DAMPING, rel=0.01)
    assert "c6" in result.undetermined
    assert "c7" in result.undetermined


@pytest.mark.slow
def test_tip_forces_determine_only_a_sum_of_gains() -> None:
    result = calibrate(pressing())
    stage = result.stage("torques")
    assert stage.residual == pytest.approx(0.01, rel=0.2)
    assert len(stage.uncertainty.determined) == 1
    assert stage.sum_sentence.startswith("only the sum Σ w·alpha = 8.")
    assert len(result.undetermined) == 7
    item = calibrate(pressing().replace(gain_model="uniform"))
    assert item.undetermined == ()
    assert item.parameters["alpha"] == pytest.approx(4e-7, rel=0.1)


def test_free_bending_determines_every_gain() -> None:
    angles = [
        sg.equilibrium(FINGER, pressure=p, error_estimate=False).joint_angles for p in (3e4, 6e4)
    ]
    bends = tuple(
        FreeBend(pressure=p, angles=tuple(q.tolist()))
        for p, q in zip((3e4, 6e4), angles, strict=True)
    )
    result = calibrate(CalibrationProblem(finger=FINGER, bends=bends))
    calibrated = np.array([result.parameters[f"alpha{i}"] for i in range(1, 8)])
    np.testing.assert_allclose(calibrated, [j.pressure_gain for j in FINGER.joints], rtol=1e-4)
    assert result.undetermined == ()


@pytest.mark.slow
def test_the_bending_stiffness_of_a_beam_is_recovered() -> None:
    beam = rld.discretise(0.063, 1.5e-3, 0.015, 7)
    uniform = calibrate(hung(3, finger=beam).replace(stiffness_model="uniform"))
    assert uniform.parameters["EI"] == pytest.approx(1.5e-3, rel=0.03)


@pytest.mark.slow
def test_least_squares_refine_the_result_of_a_swarm() -> None:
    swarm, both, alone = (
        calibrate(hung(), method, swarm=SMALL).stage("springs")
        for method in ("pso", "pso+least-squares", "least-squares")
    )
    assert both.fitness < swarm.fitness
    np.testing.assert_allclose(both.fitness, alone.fitness, rtol=1e-6)


@pytest.mark.slow
def test_a_calibration_that_is_read_again_is_saved_with_the_same_bytes(tmp_path: Path) -> None:
    """All of it comes back: the search, what is infinite, and the verdict."""
    problem = pressing((4e4, 8e4))
    result = calibrate(problem.replace(forces=problem.forces[::10]))
    assert np.isinf(result.intervals["alpha1"]).any()
    assert np.isnan(result.stage("torques").uncertainty.noise)
    written = [path.read_bytes() for path in save_calibration(result, tmp_path / "first")]
    again = load_calibration(tmp_path / "first")
    assert [path.read_bytes() for path in save_calibration(again, tmp_path / "again")] == written
    steps = zip(again.history["torques"], result.history["torques"], strict=True)
    assert all((first.positions == second.positions).all() for first, second in steps)


def test_the_saved_finger_has_all_of_its_damping(tmp_path: Path) -> None:
    result = calibrate(traced().replace(damping_timestep=1e-3, damping_model="uniform"))
    document, _, finger = save_calibration(result, tmp_path)
    saved = sg.io.load_finger(finger)
    assert saved == apply_calibration(result)
    whole = result.parameters["c"] + 1e-3 * STIFFNESS
    assert [joint.damping for joint in saved.joints] == pytest.approx(whole)
    message = json.loads(document.read_text("utf-8"))
    assert message["damping_timestep_s"] == 1e-3
    assert message["parameters"]["c"] == result.parameters["c"]


def test_parameters_that_are_not_fitted_do_not_change(tmp_path: Path) -> None:
    problem = hung(noise_deg=0.0).replace(damping_timestep=1e-3)
    save_calibration(calibrate(problem), tmp_path)
    saved = sg.io.load_finger(tmp_path / "finger.yaml")
    assert [joint.damping for joint in saved.joints] == DAMPING.tolist()


@pytest.mark.slow
def test_fewer_data_than_parameters_give_a_warning_with_null_directions() -> None:
    problem = pressing((4e4, 8e4))
    result = calibrate(problem.replace(forces=problem.forces[::10]))
    message = [text for text in result.warnings if "7 parameters from 2" in text]
    assert message[0].endswith("none is left to estimate their errors")
    assert "not determined at all: " in message[1]
    assert "dalpha" in message[1]
    assert len(result.undetermined) == 7


@pytest.mark.slow
def test_a_parameter_on_its_bound_gives_a_warning() -> None:
    problem = hung(noise_deg=0.0).replace(stiffness_bounds=(0.15, 0.6))
    result = calibrate(problem, "least-squares")
    assert result.status is CalibrationStatus.AT_BOUNDS
    assert result.stage("springs").on_bound == ("k5",)
    assert result.warnings[0].startswith("springs: k5 is on a bound")
    assert "k5" in result.undetermined


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        (
            {"method": "swarm"},
            "expected one of map, least-squares, pso, pso+least-squares, found 'swarm'",
        ),
        ({"stages": ["spring"]}, "expected one of springs, dampers, torques, found 'spring'"),
        ({"stages": ["dampers"]}, "dampers: expected measurements, found none to fit"),
    ],
)
def test_invalid_requests(given: dict, sentence: str) -> None:
    with pytest.raises(sg.DescriptionError) as caught:
        calibrate(hung(), **given)
    assert str(caught.value).startswith(sentence)


@pytest.mark.slow
def test_the_result_does_not_depend_on_the_number_of_cores(monkeypatch: pytest.MonkeyPatch) -> None:
    problem, results = traced(), []
    for cores in (1, 2):
        monkeypatch.setattr(os, "cpu_count", lambda cores=cores: cores)
        swarm = Swarm(particles=4, iterations=2)
        results.append(calibrate(problem, "pso", 0, swarm=swarm).parameters)
    assert results[0] == results[1]


@pytest.mark.slow
def test_uncertain_springs_make_torques_uncertain() -> None:
    """Over noisy sets of angles alpha scatters as its standard error says; forces are the same."""
    forces = pressing().forces
    results = [
        calibrate(hung(seed).replace(forces=forces, gain_model="uniform")) for seed in range(10)
    ]
    calibrated = np.array([result.parameters["alpha"] for result in results])
    message = np.array([result.standard_errors["alpha"] for result in results])
    sure = calibrate(pressing().replace(gain_model="uniform")).standard_errors["alpha"]
    assert np.median(message) > 2.0 * sure
    assert 0.5 < calibrated.std(ddof=1) / np.median(message) < 1.5


@pytest.mark.slow
def test_dampers_from_counts_keep_the_errors_of_springs_in_a_joint_fit() -> None:
    """Damping is no surer where the springs come from a joint estimate."""
    problem = hung().replace(
        forces=pressing().forces,
        gain_model="uniform",
        damping_model="uniform",
        releases=synthetic_releases(FINGER, [0.02, 0.04, 0.06]),
    )
    joint = calibrate(problem)
    alone = calibrate(problem.replace(hung=()), stages=["dampers"])
    assert joint.standard_errors["c"] > 1.5 * alone.standard_errors["c"]


@pytest.mark.slow
def test_a_swarm_depends_on_its_seed_only(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    np.random.seed(5)  # noqa: NPY002
    before = np.random.get_state()[1].copy()  # noqa: NPY002
    first, same, second = (calibrate(hung(), "pso", seed, swarm=SMALL) for seed in (1, 1, 2))
    assert first.parameters == same.parameters != second.parameters
    assert (np.random.get_state()[1] == before).all()  # noqa: NPY002
    assert list(tmp_path.iterdir()) == []  # pyswarms writes a log where it is started
    assert [len(step.fitness) for step in first.history["springs"]] == [6] * 5
    best = [step.best for step in first.history["springs"]]
    assert best == sorted(best, reverse=True)
