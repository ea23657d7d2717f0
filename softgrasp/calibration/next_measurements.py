"""What to measure next: the weight or pressure that would shrink the intervals most.

Each candidate is added to the measurements of the joint estimate, with the noise estimated there,
and the covariance of the posterior is computed anew. Its value is the decrease of log det of the
covariance of the logarithms of the finger's parameters: a step of a D-optimal design (Atkinson,
Donev and Tobias, *Optimum Experimental Designs, with SAS*, 2007, ch. 10 and 12).
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from softgrasp.calibration.joint_model import JointModel, Priors
from softgrasp.calibration.posterior import JointFit, Posterior
from softgrasp.calibration.stages import VirtualExperiments
from softgrasp.description.calibration import CalibrationProblem, HungAngles, TipForce
from softgrasp.mechanics.transforms import Array

FACTORS = (0.25, 0.5, 0.75, 1.0, 1.25, 1.5)
"""Candidate weights and pressures over the largest measured ones [–]."""
HIGHEST_PRESSURE = 1.25
"""Largest factor of a pressure, so that the finger does not burst [–]."""
LEVEL_ERROR = math.radians(0.2)
"""Standard error of a spirit level, or of a plumb line in a photograph [rad]."""
LEVELS = {
    "the tilt of the clamp with a spirit level": "tilt",
    "the roll of the camera from a plumb line in a photograph": "roll of the camera",
}
"""Nuisance that a measurement shows."""


@dataclass(frozen=True)
class Advice:
    """A measurement that is not made yet, and what it would tell.

    Args:
        measurement: Description, such as ``a photograph with 90 g``.
        information: Decrease of log det of the covariance, in nats.
        parameter: Parameter whose interval shrinks most.
        now: Its relative standard error now [–].
        then: Its relative standard error with the measurement [–].
    """

    measurement: str
    information: float
    parameter: str
    now: float
    then: float


def next_measurements(
    problem: CalibrationProblem,
    experiments: VirtualExperiments,
    posterior: Posterior,
    priors: Priors | None = None,
) -> tuple[Advice, ...]:
    """Rank candidate measurements, the most informative first.

    Args:
        problem: Calibration problem.
        experiments: Virtual experiments of its finger.
        posterior: Joint estimate of it.
        priors: Priors of the estimate; default: those of ``joint_posterior``.
    """
    used = priors or Priors()
    model = JointModel(problem, experiments, used)
    now = _covariance(model, posterior)
    candidates = []
    for measurement, more in _candidates(problem, model):
        extended = JointModel(more, experiments, used)
        then = _covariance(extended, posterior, LEVELS.get(measurement, ""))
        before, after = np.sqrt(np.diag(now)), np.sqrt(np.diag(then))
        best = int((after / before).argmin())
        gain = 0.5 * float(np.linalg.slogdet(now)[1] - np.linalg.slogdet(then)[1])
        errors = float(before[best]), float(after[best])
        candidates.append(Advice(measurement, gain, posterior.names[best], *errors))
    return tuple(sorted(candidates, key=lambda one: -one.information))


def _candidates(
    problem: CalibrationProblem, model: JointModel
) -> Iterator[tuple[str, CalibrationProblem]]:
    """Yield photographs with weights, with all joints where some were hidden, pressures, levels."""
    joints = len(problem.finger.joints)
    heaviest = float(model.masses.max())
    for factor in FACTORS if heaviest > 0.0 else ():
        mass = factor * heaviest
        shown = HungAngles(mass=mass, angles=(0.0,) * model.observed)
        grams = f"a photograph with {1e3 * mass:.3g} g"
        yield grams, problem.replace(hung=(*problem.hung, shown))
        if factor == 1.0 and model.observed < joints:
            whole = HungAngles(mass=mass, angles=(0.0,) * joints)
            name = f"{grams} that shows all {joints} joints"
            yield name, problem.replace(hung=(*problem.hung, whole))
    for name in LEVELS if problem.zero != "unloaded" else ():
        yield name, problem
    highest = max((force.pressure for force in model.forces), default=0.0)
    for factor in FACTORS:
        if highest > 0.0 and factor <= HIGHEST_PRESSURE:
            pressure = factor * highest
            reading = TipForce(pressure=pressure, force=max(force.force for force in model.forces))
            name = f"a tip force at {pressure / 1e3:.3g} kPa"
            yield name, problem.replace(forces=(*problem.forces, reading))


def _covariance(model: JointModel, posterior: Posterior, level: str = "") -> Array:
    """Compute the covariance of the logarithms of the finger's parameters, (p, p).

    ``level`` names a nuisance that is known within ``LEVEL_ERROR``.
    """
    model.offset, model.tilt = posterior.offset, posterior.tilt
    fit = JointFit(model)
    fit.noise = [posterior.angle_noise, posterior.force_noise]
    if math.isnan(posterior.force_noise):
        fit.noise[1] = 1.0
    count = sum(model.sizes)
    rest = [posterior.nuisances.get(name, (0.0, 0.0))[0] for name in model.nuisances]
    z = np.concatenate([posterior.position[:count], rest])
    scale = np.where([bool(unit) for unit in posterior.units], posterior.values, 1.0)
    slopes = fit.parameter_slopes(z) / scale[:, None]
    covariance = fit.covariance(z)
    if level:
        index = count + model.nuisances.index(level)
        column, known = covariance[index], (LEVEL_ERROR / model.tilt) ** 2
        covariance = covariance - np.outer(column, column) / (column[index] + known)
    return np.asarray(slopes @ covariance @ slopes.T)
