"""Stiffness that depends on the pressure, from free bending and forces beside angles."""

from __future__ import annotations

import numpy as np
import pytest

import softgrasp as sg
from softgrasp.calibration.credibility import assess_credibility
from softgrasp.calibration.objectives import STIFFENING_UNIT, finger_values
from softgrasp.calibration.stages import VirtualExperiments
from softgrasp.description.calibration import CalibrationProblem, FreeBend, TipForce
from softgrasp.errors import DescriptionError
from tests.calibration.wrong_inputs import (
    ANGLE_NOISE,
    FORCE_NOISE,
    GAIN,
    OBSERVED,
    PRESSURES,
    good,
    true_finger,
    with_forces,
)

TRUE = 2e-6
"""Stiffening of the finger: 20 % at 100 kPa [1/Pa]."""


def measured(
    stiffening: float = TRUE, seed: int = 0, *, forces: bool = True, bends: int = len(PRESSURES)
) -> CalibrationProblem:
    """Angles, free bending at some pressures, and forces of a finger that stiffens, with noise."""
    problem, rng = good(seed), np.random.default_rng(seed)
    finger = true_finger().replace(stiffness_pressure=stiffening)
    rig = VirtualExperiments(problem.replace(finger=finger))
    k = finger_values(finger, "stiffness")[None]
    gains = np.full_like(k, GAIN)
    requested = [FreeBend(pressure=p, angles=(0.0,) * OBSERVED) for p in PRESSURES[::-1].tolist()]
    rows = [
        item.replace(angles=tuple((row[0] + ANGLE_NOISE * rng.standard_normal(OBSERVED)).tolist()))
        for item, row in zip(requested[:bends], rig.bends(k, gains, requested), strict=False)
    ]
    pushed = rig.forces(k, gains, problem.forces)[0]
    pushed = pushed + FORCE_NOISE * rng.standard_normal(len(pushed))
    problem = with_forces(problem, pushed) if forces else problem.replace(forces=())
    return problem.replace(
        bends=tuple(rows), releases=(), stiffness_pressure=True, gain_bounds=(1e-8, 2e-6)
    )


@pytest.mark.slow
@pytest.mark.parametrize(
    ("stiffening", "forces"),
    [pytest.param(TRUE, True, marks=pytest.mark.slow), (TRUE, False), (0.0, False)],
)
def test_stiffening_is_recovered_and_none_is_compatible_with_zero(
    stiffening: float, forces: bool
) -> None:
    result = sg.calibrate(measured(stiffening, forces=forces))
    low, high = result.intervals["s"]
    assert low < stiffening / STIFFENING_UNIT < high
    assert high - low < 0.15
    assert (low < 0.0 < high) == (stiffening == 0.0)
    assert "s" not in result.undetermined
    assert result.finger.stiffness_pressure == pytest.approx(
        STIFFENING_UNIT * result.parameters["s"]
    )
    assert result.credibility.credible
    assert result.parameters["alpha"] == pytest.approx(GAIN, rel=0.05)


@pytest.mark.slow
def test_least_squares_estimate_it_with_the_errors_of_the_springs() -> None:
    result = sg.calibrate(measured(), "least-squares")
    low, high = result.intervals["s"]
    assert low < TRUE / STIFFENING_UNIT < high
    assert 0.01 < result.standard_errors["s"] < 0.1


@pytest.mark.slow
def test_one_pressure_does_not_determine_it() -> None:
    """A softer finger with a smaller gain bends as much there."""
    result = sg.calibrate(measured(forces=False, bends=1))
    assert "s" in result.undetermined
    low, high = result.intervals["s"]
    assert low < 0.0 < high


@pytest.mark.slow
def test_a_finger_that_does_not_estimate_it_keeps_it() -> None:
    """A described stiffening acts in all virtual experiments."""
    finger = true_finger().replace(stiffness_pressure=TRUE)
    problem = measured().replace(stiffness_pressure=False, finger=finger, bends=())
    result = sg.calibrate(problem)
    assert "s" not in result.parameters
    assert result.finger.stiffness_pressure == TRUE


def test_virtual_experiments_take_the_stiffness_at_the_pressure() -> None:
    """Against a finger whose springs are those at the pressure; slopes against differences."""
    finger = true_finger().replace(stiffness_pressure=TRUE)
    problem, pressure = good(0), 8e4
    stiff = VirtualExperiments(problem.replace(finger=finger))
    plain = VirtualExperiments(problem)
    k = finger_values(finger, "stiffness")[None]
    gains, higher = np.full_like(k, GAIN), k * (1.0 + TRUE * pressure)
    bend = [FreeBend(pressure=pressure, angles=(0.0,) * 7)]
    np.testing.assert_allclose(
        stiff.bends(k, gains, bend)[0], plain.bends(higher, gains, bend)[0], rtol=1e-12
    )
    forces = [TipForce(pressure=p, force=0.0) for p in (4e4, pressure)]
    values, by_k, by_gain, _ = stiff.force_slopes(k[0], gains[0], forces)
    np.testing.assert_allclose(values, stiff.forces(k, gains, forces)[0], rtol=1e-9)
    for by, scale, index in ((by_k, k, 0), (by_gain, gains, 1)):
        step = 1e-5 * scale[0, 0] * np.eye(7)
        pairs = [(k + sign * step, gains) if index == 0 else (k, gains + sign * step)
                 for sign in (1.0, -1.0)]  # fmt: skip
        pairs = [tuple(np.broadcast_to(part, (7, 7)) for part in pair) for pair in pairs]
        ahead, behind = (stiff.forces(*pair, forces) for pair in pairs)
        np.testing.assert_allclose(by.T, (ahead - behind) / (2.0 * step[0, 0]), rtol=1e-3,
                                   atol=1e-6 * np.abs(by).max())  # fmt: skip


def test_it_needs_measurements_under_pressure() -> None:
    with pytest.raises(DescriptionError) as caught:
        measured().replace(forces=(), bends=())
    assert caught.value.field == "stiffness_pressure"


@pytest.mark.slow
def test_the_verdict_is_on_the_finger_that_stiffens(monkeypatch: pytest.MonkeyPatch) -> None:
    """Hypotheses about forces are computed with the estimated stiffening."""
    used = []

    def assess(problem: object, experiments: VirtualExperiments, *rest: object) -> object:
        used.append(experiments.stiffening)
        return assess_credibility(problem, experiments, *rest)

    monkeypatch.setattr("softgrasp.calibration.calibrate.assess_credibility", assess)
    result = sg.calibrate(measured(forces=False), "least-squares")
    assert used == [result.finger.stiffness_pressure]
    assert used[0] > 0.5 * TRUE


@pytest.mark.slow
def test_held_out_bends_leave_the_forces_to_fit() -> None:
    problem = measured()
    bends = tuple(bend.replace(held_out=True) for bend in problem.bends)
    result = sg.calibrate(problem.replace(bends=bends), "least-squares")
    assert result.stage("torques").residual_unit == "N"
    assert "s" in result.parameters
