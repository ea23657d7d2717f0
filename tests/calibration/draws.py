"""Measurements of a known finger with errors that its model does not have."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from softgrasp.calibration.joint_model import JointModel, Priors
from softgrasp.calibration.objectives import finger_values, with_values
from softgrasp.calibration.posterior import SCALES, USUAL_SCALE
from softgrasp.calibration.stages import VirtualExperiments
from softgrasp.continuum.statics import GRAVITY, Loads, PlanarChain, rest
from softgrasp.description.calibration import CalibrationProblem
from tests.calibration.wrong_inputs import (
    ANGLE_NOISE,
    FORCE_NOISE,
    GAIN,
    MASSES,
    OBSERVED,
    Bench,
    good,
    true_finger,
    with_angles,
    with_forces,
)

TRUE = np.append(finger_values(true_finger(), "stiffness"), GAIN)
"""Stiffness of seven joints and gain."""


def truth(problem: CalibrationProblem) -> np.ndarray:
    """Stiffness of seven joints and gain of the finger of a draw, which no fit uses."""
    gain = problem.finger.joints[0].pressure_gain
    return np.append(finger_values(problem.finger, "stiffness"), gain)


def another_finger(seed: int) -> CalibrationProblem:
    """Noise, and stiffness from anywhere within a factor of six; the gain follows its mean."""
    rng = np.random.default_rng(5000 + seed)
    problem = Bench(true_finger(), seed=seed).problem()
    exact = np.array([np.nan])
    while np.isnan(exact).any():  # the tip of some fingers slips below the plate
        k = np.exp(rng.uniform(*np.log([0.1, 0.6]), 7))
        gain = GAIN * float(np.exp(np.log(k / TRUE[:7]).mean() + rng.uniform(-0.5, 0.2)))
        exact = VirtualExperiments(problem).forces(k[None], np.full((1, 7), gain), problem.forces)[
            0
        ]
    finger = with_values(with_values(true_finger(), "stiffness", k), "gain", np.full(7, gain))
    angles = Bench(finger).angles() + ANGLE_NOISE * rng.standard_normal((len(MASSES), OBSERVED))
    forces = exact + FORCE_NOISE * rng.standard_normal(len(exact))
    return with_forces(with_angles(problem.replace(finger=finger, releases=()), angles), forces)


def systematic(seed: int) -> CalibrationProblem:
    """Noise, another finger, and every systematic error drawn from its prior.

    Simulation-based calibration: intervals of an exact posterior contain 95 % (Talts et al.,
    arXiv:1804.06788), but for stiffness and gain, which are those of ``another_finger``.
    """
    problem, rng = another_finger(seed), np.random.default_rng(9000 + seed)
    problem = with_angles(problem, np.zeros((len(MASSES), OBSERVED)))  # without noise
    model = JointModel(problem, VirtualExperiments(problem), Priors())
    likely = 1.0 / (USUAL_SCALE + np.array(SCALES))
    exact = np.array([np.nan])
    while np.isnan(exact).any():  # some fingers slip below the plate
        tilt, offset = rng.choice(SCALES, 2, p=likely / likely.sum())
        model.tilt, model.offset = tilt * model.priors.tilt, offset * model.priors.offset
        z = rng.standard_normal(model.size)
        z[: sum(model.sizes)] = _standardised(model, truth(problem))
        exact = model.simulate(z[None])[0]
    angles, forces = np.split(exact, [model.angles.size])
    angles *= 1.0 + model.priors.shape * rng.standard_normal(angles.shape)
    angles += ANGLE_NOISE * rng.standard_normal(angles.shape)
    forces += FORCE_NOISE * rng.standard_normal(forces.shape)
    return with_forces(with_angles(problem, angles.reshape(-1, OBSERVED)), forces)


def _standardised(model: JointModel, true: np.ndarray) -> np.ndarray:
    """Return the z of a finger: mean of stiffness, stiffness of each joint, gain."""
    ends = np.zeros((2, model.size))
    ends[1, [0, model.sizes[0]]] = 1.0  # means of stiffness and of gain
    (k0, k1), (gain0, gain1) = (np.log(block) for block in model.parameters(ends))
    k, gain = np.log(true[:-1]), np.log(true[-1])
    common = k.mean()
    return np.array([
        (common - k0[0]) / (k1[0] - k0[0]),
        *((k - common) / model.priors.joints),
        (gain - gain0[0]) / (gain1[0] - gain0[0]),
    ])  # fmt: skip


def rounded_valleys(seed: int) -> CalibrationProblem:
    """Offsets of 1° of every joint's angle, the same in all pictures."""
    problem, rng = good(seed), np.random.default_rng(1000 + seed)
    offset = np.radians(1.0) * rng.standard_normal(OBSERVED)
    return with_angles(problem, [np.array(item.angles) + offset for item in problem.hung])


def tilted(seed: int) -> CalibrationProblem:
    return replace(Bench(true_finger(), seed=seed), tilt=np.radians(2.0) * (-1) ** seed).problem()


def lower_plate(seed: int) -> CalibrationProblem:
    """A plate 4 mm below the tip, which the problem does not state."""
    problem, rng = Bench(true_finger(), seed=seed).problem(), np.random.default_rng(3000 + seed)
    k, alpha = (finger_values(true_finger(), kind)[None] for kind in ("stiffness", "gain"))
    exact = VirtualExperiments(problem).forces(k, alpha, problem.forces, 4e-3)[0]
    return with_forces(problem, exact + FORCE_NOISE * rng.standard_normal(len(exact)))


def finer(seed: int) -> CalibrationProblem:
    """Angles of a finger with twice as many joints, read as those of seven."""
    problem, rng = good(seed), np.random.default_rng(seed)
    exact = fine_angles()
    return with_angles(problem, exact + ANGLE_NOISE * rng.standard_normal(exact.shape))


def fine_angles() -> np.ndarray:
    """Angles under the weights, of pairs of half joints at a quarter cell about each joint."""
    coarse = PlanarChain.of(true_finger())
    points = np.vstack([np.zeros(2), np.cumsum(coarse.steps, axis=0)])
    half = np.array([(0.25 * np.linalg.norm(coarse.steps, axis=1).min()), 0.0])
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
    angles = rest(np.repeat(2.0 * TRUE[:7], 2)[None], loads, np.zeros(1)).angles
    return (angles[:, ::2] + angles[:, 1::2])[:, :OBSERVED]


DRAWS: dict[str, Callable[[int], CalibrationProblem]] = {
    "noise": good,
    "noise, and another finger in each draw": another_finger,
    "noise, another finger, and systematic errors drawn from the priors": systematic,
    "noise, and a base tilted by 2°": tilted,
    "noise, and offsets of 1° in every joint, as of rounded valleys": rounded_valleys,
    "noise, and a finger with twice as many joints": finer,
    "noise, and a plate 4 mm lower than stated by nobody": lower_plate,
}
"""Draw by what is wrong with it."""
