"""Repeated series of measurements, between which something changed or not."""

from __future__ import annotations

import math

import numpy as np
import pytest

from softgrasp.calibration.track_checks import MIN_LEVELS, series_findings
from softgrasp.description.calibration import CalibrationProblem, HungAngles, TipForce
from tests.calibration.problems import FINGER

MASSES = (0.0, 0.02, 0.04, 0.06, 0.08)
PRESSURES = (15e3, 30e3, 45e3, 60e3, 75e3)
JOINTS, NOISE = 6, math.radians(0.4)
MEAN = np.outer(1.0 + 40.0 * np.array(MASSES), np.linspace(2.0, 0.8, JOINTS)) * math.radians(2.0)


def tables(
    series: int, seed: int, factors: dict[tuple[int, int], float] | None = None,
    offset: float = 0.0, levels: int = 5,
) -> CalibrationProblem:  # fmt: skip
    """Angles with noise, the columns of some series times a factor, the last series displaced."""
    rng = np.random.default_rng(seed)
    rows = []
    for number in range(series):
        angles = MEAN[:levels] + NOISE * rng.standard_normal((levels, JOINTS))
        for (which, joint), factor in (factors or {}).items():
            if which == number:
                angles[:, joint] += (factor - 1.0) * MEAN[:levels, joint]
        angles += offset * (number == series - 1)
        masses = zip(MASSES[:levels], angles.tolist(), strict=True)
        rows += [HungAngles(mass=mass, angles=tuple(row)) for mass, row in masses]
    return CalibrationProblem(finger=FINGER, hung=tuple(rows))


def forces(factors: tuple[float, ...], seed: int, noise: float = 0.01) -> CalibrationProblem:
    """Forces in series with factors."""
    rng = np.random.default_rng(seed)
    rows = [
        TipForce(pressure=p, force=factor * 2e-5 * p + noise * float(rng.standard_normal()))
        for factor in factors
        for p in PRESSURES
    ]
    return CalibrationProblem(finger=FINGER, forces=tuple(rows))


@pytest.mark.parametrize("joint", [0, 2, 4])
def test_a_joint_that_broke_between_the_series_is_named(joint: int) -> None:
    """A stiffness of 0.55 is a factor of 1.8 of its angles."""
    (finding,) = series_findings(tables(2, 1, {(1, joint): 1.8}))
    assert finding.refutes
    assert finding.sentence.startswith(
        f"springs: the angles of joint {joint + 1} in series 2 are 1."
    )


def test_a_change_of_all_joints_is_no_change_of_one() -> None:
    (finding,) = series_findings(tables(3, 2, dict.fromkeys([(2, j) for j in range(JOINTS)], 1.3)))
    assert finding.sentence.startswith("springs: all angles in series 3 are 1.")


def test_forces_that_fall_from_series_to_series_are_named() -> None:
    (finding,) = series_findings(forces((1.0, 0.9, 0.8), 3))
    assert finding.stage == "torques"
    assert finding.refutes


def test_an_offset_is_no_change_of_a_factor() -> None:
    """A camera that was moved between the series adds the same angle under every weight."""
    assert not list(series_findings(tables(2, 4, offset=math.radians(3.0))))


def test_one_series_or_few_weights_show_nothing() -> None:
    assert not list(series_findings(tables(1, 5)))
    assert not list(series_findings(tables(2, 5, {(1, 2): 1.8}, levels=MIN_LEVELS - 1)))


def test_noise_is_no_change() -> None:
    """Of 600 sets none; the probability of one is 600 times 2e-4 where factors may be small."""
    alarms = [
        seed for seed in range(300)
        if [*series_findings(tables(2 + seed % 2, seed)), *series_findings(forces((1, 1, 1), seed))]
    ]  # fmt: skip
    assert alarms == []


def test_changes_are_reported_with_their_size() -> None:
    """The reported factor is that of the series over the mean of the others."""
    (finding,) = series_findings(forces((1.0, 1.0, 0.8), 7, noise=1e-4))
    assert "series 3 are 0.80 times" in finding.sentence
