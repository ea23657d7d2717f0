"""Measurements of a known finger with errors that its model does not have."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from softgrasp.calibration.objectives import finger_values
from softgrasp.continuum.statics import GRAVITY, Loads, PlanarChain, rest
from softgrasp.description.calibration import CalibrationProblem, HungAngles
from tests.calibration.wrong_inputs import (
    ANGLE_NOISE,
    GAIN,
    MASSES,
    OBSERVED,
    Bench,
    good,
    true_finger,
)

TRUE = np.append(finger_values(true_finger(), "stiffness"), GAIN)
"""Stiffness of seven joints and gain."""


def rounded_valleys(seed: int) -> CalibrationProblem:
    """Offsets of 1° of every joint's angle, the same in all pictures."""
    problem, rng = good(seed), np.random.default_rng(1000 + seed)
    offset = np.radians(1.0) * rng.standard_normal(OBSERVED)
    moved = tuple(
        one.replace(angles=tuple((np.array(one.angles) + offset).tolist())) for one in problem.hung
    )
    return problem.replace(hung=moved)


def tilted(seed: int) -> CalibrationProblem:
    return replace(Bench(true_finger(), seed=seed), tilt=np.radians(2.0) * (-1) ** seed).problem()


def finer(seed: int) -> CalibrationProblem:
    """Angles of a finger with twice as many joints, read as those of seven."""
    problem, rng = good(seed), np.random.default_rng(seed)
    exact = fine_angles()
    fine = exact + ANGLE_NOISE * rng.standard_normal(exact.shape)
    hung = tuple(
        HungAngles(mass=one.mass, angles=tuple(row))
        for one, row in zip(problem.hung, fine.tolist(), strict=True)
    )
    return problem.replace(hung=hung)


def fine_angles() -> np.ndarray:
    """Angles under the weights, of pairs of half joints at a quarter cell about each joint."""
    coarse = PlanarChain.of(true_finger())
    points = np.vstack([np.zeros(2), np.cumsum(coarse.steps, axis=0)])
    gap = 0.25 * np.linalg.norm(coarse.steps, axis=1).min()
    half = np.array([gap, 0.0])
    joints = np.concatenate([[p - half, p + half] for p in points[:-1]])
    steps = np.diff(np.vstack([joints, points[-1]]), axis=0)
    centres = np.zeros_like(steps)
    masses = np.zeros(len(steps))
    for i in range(len(coarse.masses)):
        masses[2 * i + 1] = coarse.masses[i]
        centres[2 * i + 1] = coarse.centres[i] - half
    chain = PlanarChain(steps, centres, masses)
    force = np.stack([np.zeros_like(MASSES), -GRAVITY * MASSES], axis=-1)
    loads: Loads = chain.weight.plus(chain.at_tip(force))
    k = np.repeat(2.0 * TRUE[:7], 2)
    angles = rest(k[None], loads, np.zeros(1)).angles
    return (angles[:, ::2] + angles[:, 1::2])[:, :OBSERVED]


DRAWS: dict[str, Callable[[int], CalibrationProblem]] = {
    "noise": good,
    "noise, and a base tilted by 2°": tilted,
    "noise, and offsets of 1° in every joint, as of rounded valleys": rounded_valleys,
    "noise, and a finger with twice as many joints": finer,
}
"""Draw by what is wrong with it."""
