"""Joint estimate of stiffness and pressure gains, with systematic errors, and its posterior.

All angles and forces are fitted at once. Beside the finger's parameters the model has nuisance
parameters: tilt of base or camera, hook mass, load point, offsets of joint angles (rounded
valleys), tare, mass of the finger; and the discrepancy of the model, a relative error of each
joint's angle and of the forces. All have weak Gaussian priors (``Priors``), in place of bounds:
a stiffness that the measurements do not determine stays near those of the other joints, and as
uncertain as they differ.

The estimate is the maximum a posteriori, by nonlinear least squares. The posterior is a Student's
t distribution about it in the logarithms of the parameters (Laplace's approximation), with the
degrees of freedom of the noise; intervals are quantiles of its samples. Tests measure how often
they contain the true values.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.optimize import least_squares

from softgrasp.calibration.objectives import Block, block_of
from softgrasp.calibration.stages import VirtualExperiments
from softgrasp.continuum.statics import HungRig
from softgrasp.description.calibration import CalibrationProblem
from softgrasp.errors import DescriptionError
from softgrasp.mechanics.transforms import Array

STEP = 1e-5
"""Step of finite differences, in standard deviations of the prior [–]."""
ROUNDS = 5
"""Number of times that noise and offsets are estimated from the fit."""
MIN_OFFSET = math.radians(0.1)
"""Smallest standard deviation of the offsets of joint angles [rad]."""
MIN_NOISE = {"angle": math.radians(0.01), "force": 1e-4}
"""Smallest noise, about the rounding of published numbers [rad, N]."""
MIN_FREEDOM = 4.0
"""Smallest number of degrees of freedom of Student's t."""
SAMPLES = 4000
MAX_FITS = 60
FAILED = 1e3
"""Residual where simulation fails, in standard deviations."""


@dataclass(frozen=True)
class Priors:
    """Standard deviations of the priors.

    Args:
        joints: Of a joint's stiffness (or gain) from the mean of all, natural logarithm [–].
        tilt: Of base or camera [rad].
        offset: Of the angle of a joint, the same under all weights [rad]; the start of an
            estimate from the measurements.
        hook: Of the mass of every weight [kg].
        load_point: Of the load point, over the length of the last link [–].
        finger_mass: Of the mass of the finger, relative [–].
        tare: Of the force of the scale, over the largest one [–].
        angles: Of the model's angle of a joint, the same under all weights, relative [–].
        shape: Of the model's angle of a joint under one weight, relative [–].
        forces: Of the model's force at each pressure, relative [–].
    """

    joints: float = 0.5
    tilt: float = math.radians(1.0)
    offset: float = math.radians(1.0)
    hook: float = 2e-4
    load_point: float = 0.02
    finger_mass: float = 0.02
    tare: float = 0.005
    angles: float = 0.02
    shape: float = 0.01
    forces: float = 0.005


@dataclass(frozen=True)
class Posterior:
    """Posterior of the parameters of a finger and of the nuisances of its measurements.

    Args:
        names: Names of the finger's parameters.
        units: Units.
        values: Maximum a posteriori, (p,).
        low: Lower ends of the 95 % intervals, (p,).
        high: Upper ends, (p,).
        errors: Standard deviations, (p,).
        correlation: Correlation of the parameters' logarithms, (p, p).
        samples: Samples, (s, p).
        nuisances: Estimate and standard deviation of each nuisance, in units of its prior.
        angle_noise: Standard error of an angle [rad]; NaN without angles.
        force_noise: Standard error of a force [N]; NaN without forces.
        offset: Standard deviation of the offsets of joint angles [rad].
        position: Standardised parameters and nuisances at the maximum, (size,).
    """

    names: tuple[str, ...]
    units: tuple[str, ...]
    values: Array
    low: Array
    high: Array
    errors: Array
    correlation: Array
    samples: Array
    nuisances: dict[str, tuple[float, float]]
    angle_noise: float
    force_noise: float
    offset: float
    position: Array


class JointModel:
    """Measured angles and forces as functions of standardised parameters.

    Parameters z have the prior N(0, I); ``parameters`` maps them to those of the finger.
    """

    def __init__(
        self, problem: CalibrationProblem, experiments: VirtualExperiments, priors: Priors
    ) -> None:
        """Set up the model of a problem.

        Args:
            problem: Calibration problem with angles under weights, and maybe forces.
            experiments: Virtual experiments of its finger.
            priors: Standard deviations of the priors.

        Raises:
            DescriptionError: There are no angles under weights.
        """
        self.problem, self.experiments, self.priors = problem, experiments, priors
        self.offset = priors.offset
        self.loads = [one for one in problem.hung if not one.held_out]
        self.forces = [one for one in problem.forces if not one.held_out]
        if not self.loads:
            raise DescriptionError("joint estimate: expected angles under weights, found none")
        self.blocks: list[Block] = [block_of(problem, "stiffness")]
        if self.forces:
            self.blocks.append(block_of(problem, "gain"))
        self.masses = np.array([one.mass for one in self.loads])
        self.observed = max(len(one.angles) for one in self.loads)
        self.angles = np.concatenate([np.array(one.angles) for one in self.loads])
        self.force = np.array([one.force for one in self.forces])

    @cached_property
    def nuisances(self) -> tuple[str, ...]:
        """Names of the nuisance parameters, in the order of z after the finger's parameters."""
        joints = range(1, self.observed + 1)
        names = ["tilt", "hook", "load point", "finger mass"]
        names += [f"offset of joint {i}" for i in joints]
        names += [f"model error of joint {i}" for i in joints]
        if self.forces:
            names += ["tare"]
            names += [f"model error at {p / 1e3:g} kPa" for p in self._pressures]
        return tuple(names)

    @cached_property
    def _pressures(self) -> list[float]:
        return sorted({one.pressure for one in self.forces})

    @property
    def size(self) -> int:
        """Number of all parameters."""
        return sum(self.sizes) + len(self.nuisances)

    @cached_property
    def sizes(self) -> list[int]:
        """Numbers of z of each block: one for the mean of several joints, and one each."""
        return [len(block.names) + (len(block.names) > 1 and all(block.relative))
                for block in self.blocks]  # fmt: skip

    def parameters(self, z: Array) -> list[Array]:
        """Return the parameters of each block, (B, p), for z (B, size)."""
        blocks, first = [], 0
        for block, size in zip(self.blocks, self.sizes, strict=True):
            blocks.append(self._block(block, z[:, first : first + size]))
            first += size
        return blocks

    def _block(self, block: Block, z: Array) -> Array:
        """Log-normal parameters about a common mean; linear ones about zero."""
        relative = np.array(block.relative)
        upper = block.upper
        lower = np.where(block.lower > 0.0, block.lower, 1e-2 * upper)
        middle = np.log(np.sqrt(np.where(relative, lower * upper, 1.0)))
        spread = 0.5 * np.log(np.where(relative, upper / np.where(relative, lower, 1.0), 1.0))
        if z.shape[1] > len(block.names):
            common = middle[0] + spread[0] * z[:, :1]
            return np.asarray(np.exp(common + self.priors.joints * z[:, 1:]))
        linear = 0.5 * upper * z
        return np.asarray(np.where(relative, np.exp(middle + spread * z), linear))

    def simulate(self, z: Array) -> Array:
        """Compute all angles, then all forces, for z (B, size), (B, m)."""
        values = self.parameters(z)
        noise = dict(zip(self.nuisances, z[:, sum(self.sizes) :].T, strict=True))
        k = self.blocks[0].of_joints(values[0])
        parts = [self._angles(k, noise)]
        if self.forces:
            parts.append(self._forces(k, self.blocks[1].of_joints(values[1]), noise))
        return np.concatenate(parts, axis=1)

    def _angles(self, k: Array, noise: dict[str, Array]) -> Array:
        priors, chain = self.priors, self.experiments.chain
        tilt = priors.tilt * noise["tilt"]
        rig = HungRig(
            masses=self.masses + priors.hook * noise["hook"][:, None] * (self.masses > 0.0),
            tilt=tilt,
            overhang=priors.load_point * noise["load point"],
            extra_weight=priors.finger_mass * noise["finger mass"],
            relative=self.problem.zero == "unloaded",
        )
        angles = rig.angles(chain, k)[..., : self.observed]
        joints = range(1, self.observed + 1)
        gain = np.stack([noise[f"model error of joint {i}"] for i in joints], axis=1)
        offset = np.stack([noise[f"offset of joint {i}"] for i in joints], axis=1)
        shown = angles * (1.0 + priors.angles * gain[:, None]) + self.offset * offset[:, None]
        if not rig.relative:
            shown[..., 0] += tilt[:, None]
        rows = [shown[:, i, : len(one.angles)] for i, one in enumerate(self.loads)]
        return np.concatenate(rows, axis=1)

    def _forces(self, k: Array, alpha: Array, noise: dict[str, Array]) -> Array:
        force = self.experiments.forces(k, alpha, self.forces)
        error = np.stack(
            [noise[f"model error at {one.pressure / 1e3:g} kPa"] for one in self.forces], axis=1
        )
        tare = self.priors.tare * float(np.abs(self.force).max()) * noise["tare"][:, None]
        return np.asarray(force * (1.0 + self.priors.forces * error) + tare)

    @property
    def measured(self) -> Array:
        """All angles, then all forces, (m,)."""
        return np.concatenate([self.angles, self.force])


def joint_posterior(
    problem: CalibrationProblem,
    experiments: VirtualExperiments,
    *,
    priors: Priors | None = None,
    samples: int = SAMPLES,
    seed: int = 0,
) -> Posterior:
    """Estimate stiffness and gains from all angles and forces at once.

    Args:
        problem: Calibration problem with angles under weights.
        experiments: Virtual experiments of its finger.
        priors: Standard deviations of the priors; default: weak ones.
        samples: Number of samples of the posterior.
        seed: Seed of the samples.

    Raises:
        DescriptionError: There are no angles.
    """
    fit = JointFit(JointModel(problem, experiments, priors or Priors()))
    z = fit.maximum(np.zeros(fit.model.size))
    for _ in range(ROUNDS):
        z = fit.maximum(fit.estimate_scales(z))
    return fit.posterior(z, samples, seed)


class JointFit:
    """Least squares of a joint model, with its noise."""

    def __init__(self, model: JointModel) -> None:
        self.model = model
        problem = model.problem
        declared = problem.measurement_error("rad"), problem.measurement_error("N")
        self.declared = declared
        self.noise = [declared[0] or math.radians(0.5), declared[1] or 0.02]
        self.freedom = [math.inf, math.inf]

    @property
    def scale(self) -> Array:
        """Standard error of each measured value, (m,)."""
        model = self.model
        shape = model.priors.shape * np.abs(model.angles)
        return np.concatenate(
            [np.hypot(self.noise[0], shape), np.full(len(model.force), self.noise[1])]
        )

    def maximum(self, start: Array) -> Array:
        """Find the maximum a posteriori from start values of z, (size,)."""
        scale = self.scale
        known: dict[bytes, Array] = {}

        def whitened(z: Array) -> Array:
            key = z.tobytes()
            if key not in known:
                known.clear()
                known[key] = self._left(z[None], scale)[0]
            return np.asarray(known[key])

        def slopes(z: Array) -> Array:
            at, points = whitened(z), z + STEP * np.eye(len(z))
            return (self._left(points, scale) - at).T / STEP

        solution = least_squares(
            whitened, start, jac=slopes, method="trf", max_nfev=MAX_FITS, xtol=1e-8, ftol=1e-9
        )
        return np.asarray(solution.x)

    def _left(self, z: Array, scale: Array) -> Array:
        """Return whitened residuals of measurements and priors for z (B, size)."""
        left = np.nan_to_num((self.model.simulate(z) - self.model.measured) / scale, nan=FAILED)
        return np.concatenate([left, z], axis=1)

    def slopes(self, z: Array) -> Array:
        """Compute derivatives of whitened values by z, (m, size)."""
        points = np.concatenate([z[None], z + STEP * np.eye(len(z))])
        values = self.model.simulate(points) / self.scale
        return np.asarray(np.nan_to_num((values[1:] - values[0]) / STEP).T)

    def estimate_scales(self, z: Array) -> Array:
        """Estimate offsets and noise from the fit, noise where none is declared; return z scaled.

        Degrees of freedom of the noise are the measured values minus the trace of the hat matrix
        of the maximum a posteriori. The variance of the offsets is a step of expectation
        maximisation (Bishop, *Pattern Recognition and Machine Learning*, 2006, sec. 9.3.4).
        """
        model, slopes = self.model, self.slopes(z)
        covariance = np.linalg.inv(slopes.T @ slopes + np.eye(len(z)))
        taken = np.einsum("ij,jk,ik->i", slopes, covariance, slopes)
        left = (model.simulate(z[None])[0] - model.measured) / self.scale
        ends = np.cumsum([0, len(model.angles), len(model.force)])
        kinds = ("angle", "force")
        for i in range(2):
            part = slice(ends[i], ends[i + 1])
            freedom = float((1.0 - taken[part]).sum())
            if self.declared[i] is not None or freedom < 1.0:
                continue
            # scaled until the residuals are as large as expected, model error included
            ratio = float(np.square(left[part]).sum()) / freedom
            self.noise[i] = max(self.noise[i] * math.sqrt(ratio), MIN_NOISE[kinds[i]])
            self.freedom[i] = freedom
        return self._estimate_offset(z, np.diag(covariance))

    def _estimate_offset(self, z: Array, variance: Array) -> Array:
        model = self.model
        first = sum(model.sizes) + model.nuisances.index("offset of joint 1")
        part = slice(first, first + model.observed)
        expected = float((np.square(z[part]) + variance[part]).mean())
        before, z = model.offset, z.copy()
        model.offset = max(before * math.sqrt(expected), MIN_OFFSET)
        z[part] *= before / model.offset
        return z

    def covariance(self, z: Array) -> Array:
        """Compute the covariance of z at a maximum, (size, size)."""
        slopes = self.slopes(z)
        return np.asarray(np.linalg.inv(slopes.T @ slopes + np.eye(len(z))), dtype=float)

    def posterior(self, z: Array, samples: int, seed: int) -> Posterior:
        """Return the posterior at its maximum, with samples."""
        model = self.model
        count = sum(model.sizes)
        covariance = self.covariance(z)
        values = np.concatenate(model.parameters(z[None]), axis=1)[0]
        slopes = self.parameter_slopes(z)[:, :count]
        spread = slopes @ covariance[:count, :count] @ slopes.T
        errors = np.sqrt(np.diag(spread))
        drawn = self._samples(z, covariance, samples, seed)
        low, high = np.quantile(drawn, [0.025, 0.975], axis=0)
        names = tuple(name for block in model.blocks for name in block.names)
        units = tuple(b.unit * relative for b in model.blocks for relative in b.relative)
        deviation = np.sqrt(np.diag(covariance))
        ends = zip(model.nuisances, z[count:], deviation[count:], strict=True)
        return Posterior(
            names=names,
            units=units,
            values=values,
            low=low,
            high=high,
            errors=errors,
            correlation=spread / np.outer(errors, errors),
            samples=drawn,
            nuisances={name: (float(x), float(e)) for name, x, e in ends},
            angle_noise=self.noise[0],
            force_noise=self.noise[1] if len(model.force) else math.nan,
            offset=model.offset,
            position=z,
        )

    def parameter_slopes(self, z: Array) -> Array:
        """Compute derivatives of the finger's parameters by z, (p, size)."""
        points = np.concatenate([z[None], z + STEP * np.eye(len(z))])
        values = np.concatenate(self.model.parameters(points), axis=1)
        return np.asarray((values[1:] - values[0]).T / STEP)

    def _samples(self, z: Array, covariance: Array, count: int, seed: int) -> Array:
        """Draw samples of the parameters, (count, p): Student's t about the maximum in z."""
        rng, model = np.random.default_rng(seed), self.model
        freedom = min(max(one, MIN_FREEDOM) for one in self.freedom)
        wide = np.sqrt(freedom / rng.chisquare(freedom, count)) if math.isfinite(freedom) else 1.0
        steps = rng.standard_normal((count, len(z))) @ np.linalg.cholesky(covariance).T
        return np.concatenate(model.parameters(z + steps * np.reshape(wide, (-1, 1))), axis=1)
