"""Problems with known answers."""

from __future__ import annotations

import math

import softgrasp as sg
from softgrasp.calibration.synthetic import synthetic_forces
from softgrasp.description.calibration import CalibrationProblem
from tests.support.finger_measurements import synthetic_hung, synthetic_releases

FINGER = sg.io.load_finger("paper000")


def hung(
    seed: int = 0, *, noise_deg: float = 0.5, used: tuple[int, ...] = (0, 20, 40),
    held_out: tuple[int, ...] = (30, 50, 70), finger: sg.SoftFinger = FINGER,
) -> CalibrationProblem:  # fmt: skip
    """Angles under weights [g], with noise where they are used."""
    noisy = synthetic_hung(finger, [1e-3 * grams for grams in used], math.radians(noise_deg), seed)
    exact = synthetic_hung(finger, [1e-3 * grams for grams in held_out])
    kept = tuple(load.replace(held_out=True) for load in exact)
    return CalibrationProblem(finger=finger, hung=(*noisy, *kept))


def traced(noise: float = 5e-5) -> CalibrationProblem:
    """A tracked tip of the released finger, with noise [m], every 2 ms for 0.3 s."""
    (whole,) = synthetic_releases(FINGER, [0.04], noise, seed=1)
    part = whole.replace(times=whole.times[:600:4], heights=whole.heights[:600:4])
    return CalibrationProblem(finger=FINGER, releases=(part,), release_objective="trace")


def pressing(pressures: tuple[float, ...] = (2e4, 4e4, 8e4)) -> CalibrationProblem:
    """Forces of the tip, ten repeats with noise."""
    forces = synthetic_forces(FINGER, pressures, 0.01, 2, repeats=10)
    return CalibrationProblem(finger=FINGER, forces=forces)
