"""Joint estimate of stiffness and pressure gains, with systematic errors, and its posterior.

All angles and forces are fitted at once (``joint_model``). Weak Gaussian priors (``Priors``) take
the place of bounds: a stiffness that the measurements do not determine stays near those of the
other joints, and as uncertain as they differ.

How large noise, tilt and offsets are is estimated from the measurements, by the evidence (marginal
likelihood) of the model linearised about the maximum a posteriori, on a grid of scales (MacKay,
*Neural Computation* 4 (1992) 415; Rue, Martino and Chopin, *J. R. Stat. Soc. B* 71 (2009) 319).
The estimate is the maximum a posteriori with the mean of their logarithms, by nonlinear least
squares; the posterior is the mixture of Gaussians of all scales, weighted by evidence, in the
logarithms of the parameters. Intervals are quantiles of its samples;
``benchmarks/calibration_coverage.py`` measures how often they contain the true values.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from typing import NamedTuple

import numpy as np
from scipy.optimize import least_squares

from softgrasp.calibration.joint_model import JointModel, Priors
from softgrasp.calibration.stages import VirtualExperiments
from softgrasp.description.calibration import CalibrationProblem
from softgrasp.mechanics.transforms import Array

STEP = 1e-5
"""Step of finite differences, in standard deviations of the prior [–]."""
ROUNDS = 8
"""Largest number of times that scales are estimated from the fit."""
SETTLED = 0.05
"""Change of the logarithm of every scale after which they are estimated [–]."""
SCALES = (0.1, 0.2, 0.4, 0.8, 1.6, 3.2)
"""Scales of tilt and offsets, over those of ``Priors`` [–]."""
USUAL_SCALE = 0.4
"""Scale s₀ of their prior, whose probability on the grid is proportional to 1/(s₀ + s) [–]."""
NOISES = (-0.9, -0.6, -0.3, 0.0, 0.3, 0.6, 0.9)
"""Noise on the grid, natural logarithms of it over the one of the last round [–]."""
USUAL_NOISE = {"angle": math.radians(0.5), "force": 0.02}
"""Median of the prior of noise that is not declared [rad, N]."""
NOISE_WIDTH = 1.5
"""Standard deviation of that prior, natural logarithm [–]."""
MIN_NOISE = {"angle": math.radians(0.01), "force": 1e-4}
"""Smallest noise, about the rounding of published numbers [rad, N]."""
MIN_WEIGHT = 1e-4
"""Weight over the largest below which scales are left out [–]."""
SAMPLES = 4000
MAX_FITS = 60
ROUGH, FINE = 1e-4, 1e-8
"""Tolerances of least squares, while scales change and at the end [–]."""
FAILED = 1e3
"""Residual where simulation fails, in standard deviations."""


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
        tilt: Standard deviation of the tilt [rad].
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
    tilt: float
    position: Array


class Scales(NamedTuple):
    """Standard deviations of noise, offsets and tilt."""

    angle: float
    """[rad]"""
    force: float
    """[N]"""
    offset: float
    """[rad]"""
    tilt: float
    """[rad]"""


class Component(NamedTuple):
    """Gaussian of a mixture: posterior of z with one set of scales."""

    scales: Scales
    weight: float
    """Sum of all: one [–]."""
    mean: Array
    """(size,)."""
    precision: Array
    """(size, size)."""


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
    z = np.zeros(fit.model.size)
    for _ in range(ROUNDS):
        z = fit.maximum(z, ROUGH)
        before = fit.scales
        mixture = fit.mixture(z)
        z = fit.take_scales(mean_scales(mixture), z)
        change = np.abs(np.log(np.array(fit.scales) / np.array(before)))
        if change.max() < SETTLED:
            break
    z = fit.maximum(z, FINE)
    return fit.posterior(z, fit.mixture(z), samples, seed)


def mean_scales(mixture: list[Component]) -> Scales:
    """Average the logarithms of the scales of a mixture."""
    weights = [one.weight for one in mixture]
    return Scales(*np.exp(weights @ np.log([one.scales for one in mixture])).tolist())


class JointFit:
    """Least squares of a joint model, with its noise."""

    def __init__(self, model: JointModel) -> None:
        self.model = model
        problem = model.problem
        self.declared = problem.measurement_error("rad"), problem.measurement_error("N")
        self.noise = [
            known or usual for known, usual in zip(self.declared, USUAL_NOISE.values(), strict=True)
        ]

    @property
    def scales(self) -> Scales:
        """Scales of the fit."""
        angle, force = self.noise
        return Scales(angle, force, self.model.offset, self.model.tilt)

    def take_scales(self, scales: Scales, z: Array) -> Array:
        """Take other scales; return z of the same offsets and tilt."""
        z = z * self._relative(scales)
        self.noise = [scales.angle, scales.force]
        self.model.offset, self.model.tilt = scales.offset, scales.tilt
        return z

    def _relative(self, scales: Scales) -> Array:
        """Return the scale of each z over another one, (size,); one where scales are fixed."""
        model = self.model
        names = [""] * sum(model.sizes) + list(model.nuisances)
        ratios = {"offset": model.offset / scales.offset, "tilt": model.tilt / scales.tilt}
        return np.array([ratios.get(name.split(" ")[0], 1.0) for name in names])

    def _variance(self, angle: float, force: float) -> Array:
        """Return the variance of each measured value, (m,)."""
        model = self.model
        shape = np.square(model.priors.shape * model.angles)
        return np.concatenate([angle**2 + shape, np.full(len(model.force), force**2)])

    def maximum(self, start: Array, tolerance: float = FINE) -> Array:
        """Find the maximum a posteriori from start values of z, (size,)."""
        scale = np.sqrt(self._variance(*self.noise))
        known: dict[bytes, tuple[Array, Array]] = {}

        def whitened(z: Array) -> tuple[Array, Array]:
            key = z.tobytes()
            if key not in known:
                known.clear()
                values, slopes = self.model.linearized(z)
                misfit = np.nan_to_num((values - self.model.measured) / scale, nan=FAILED)
                change = np.nan_to_num(slopes / scale[:, None])
                known[key] = np.append(misfit, z), np.concatenate([change, np.eye(len(z))])
            return known[key]

        def left(z: Array) -> Array:
            return whitened(z)[0]

        def by_z(z: Array) -> Array:
            return whitened(z)[1]

        solution = least_squares(
            left, start, jac=by_z, method="trf", max_nfev=MAX_FITS, xtol=tolerance, ftol=tolerance
        )
        return np.asarray(solution.x)

    def mixture(self, z: Array) -> list[Component]:
        """Return the posterior of z for all scales of a grid, linearised about z (size,)."""
        values, slopes = (np.nan_to_num(one) for one in self.model.linearized(z))
        data = self.model.measured - values + slopes @ z
        components = list(self._components(data, slopes))
        logarithms = np.array([one.weight for one in components])
        weights = np.exp(logarithms - logarithms.max())
        kept = weights > MIN_WEIGHT
        weights /= weights[kept].sum()
        return [
            one._replace(weight=float(weight))
            for one, weight, keep in zip(components, weights, kept, strict=True) if keep
        ]  # fmt: skip

    def _components(self, data: Array, slopes: Array) -> Iterator[Component]:
        """Yield the components of a linear model, with the logarithm of evidence times prior."""
        priors = self.model.priors
        errors = [
            Scales(0.0, 0.0, priors.offset * a, priors.tilt * b) for a, b in product(SCALES, SCALES)
        ]
        rare = 2.0 * np.array([
            math.log((USUAL_SCALE + a) * (USUAL_SCALE + b)) for a, b in product(SCALES, SCALES)
        ])  # fmt: skip
        ratios = np.array([self._relative(one) for one in errors])
        for angle, force in product(self._noises(0), self._noises(1)):
            variance = self._variance(angle, force)
            weighted = slopes / variance[:, None]
            precision = slopes.T @ weighted + np.einsum(
                "ij,jk->ijk", ratios**2, np.eye(len(slopes.T))
            )
            side = data @ weighted
            mean = np.linalg.solve(precision, np.broadcast_to(side, ratios.shape)[..., None])[
                ..., 0
            ]
            common = np.square(data) @ (1.0 / variance) + np.log(variance).sum()
            common += self._surprise(angle, force) + rare
            evidence = -0.5 * (
                common - mean @ side + np.linalg.slogdet(precision)[1]
                - 2.0 * np.log(ratios).sum(axis=1)
            )  # fmt: skip
            for one, weight, centre, inverse in zip(errors, evidence, mean, precision, strict=True):
                scales = Scales(angle, force, one.offset, one.tilt)
                yield Component(scales, float(weight), centre, inverse)

    def _noises(self, kind: int) -> list[float]:
        """Return noise on the grid: only that of the fit where it is declared or not needed."""
        now = self.noise[kind]
        if self.declared[kind] is not None or (kind == 1 and not len(self.model.force)):
            return [now]
        smallest = list(MIN_NOISE.values())[kind]
        return sorted({max(now * math.exp(step), smallest) for step in NOISES})

    def _surprise(self, *noise: float) -> float:
        """Return minus twice the logarithm of the prior of noise."""
        return sum(
            (math.log(one / usual) / NOISE_WIDTH) ** 2
            for one, usual in zip(noise, USUAL_NOISE.values(), strict=True)
        )

    def covariance(self, z: Array) -> Array:
        """Compute the covariance of z at a maximum with the scales of the fit, (size, size)."""
        slopes = np.nan_to_num(self.model.linearized(z)[1])
        weighted = slopes / self._variance(*self.noise)[:, None]
        return np.asarray(np.linalg.inv(slopes.T @ weighted + np.eye(len(z))), dtype=float)

    def posterior(self, z: Array, mixture: list[Component], samples: int, seed: int) -> Posterior:
        """Return the posterior at its maximum, with samples."""
        model = self.model
        count = sum(model.sizes)
        drawn_z = draw(mixture, samples, np.random.default_rng(seed))
        drawn = np.concatenate(model.parameters(drawn_z), axis=1)
        covariance = mixture_covariance(mixture)
        slopes = self.parameter_slopes(z)[:, :count]
        spread = slopes @ covariance[:count, :count] @ slopes.T
        errors = np.sqrt(np.diag(spread))
        low, high = np.quantile(drawn, [0.025, 0.975], axis=0)
        deviation = np.sqrt(np.diag(covariance))
        ends = zip(model.nuisances, z[count:], deviation[count:], strict=True)
        return Posterior(
            names=tuple(name for block in model.blocks for name in block.names),
            units=tuple(b.unit * relative for b in model.blocks for relative in b.relative),
            values=np.concatenate(model.parameters(z[None]), axis=1)[0],
            low=low,
            high=high,
            errors=errors,
            correlation=spread / np.outer(errors, errors),
            samples=drawn,
            nuisances={name: (float(x), float(e)) for name, x, e in ends},
            angle_noise=self.noise[0],
            force_noise=self.noise[1] if len(model.force) else math.nan,
            offset=model.offset,
            tilt=model.tilt,
            position=z,
        )

    def parameter_slopes(self, z: Array) -> Array:
        """Compute derivatives of the finger's parameters by z, (p, size)."""
        points = np.concatenate([z[None], z + STEP * np.eye(len(z))])
        values = np.concatenate(self.model.parameters(points), axis=1)
        return np.asarray((values[1:] - values[0]).T / STEP)


def mixture_covariance(mixture: list[Component]) -> Array:
    """Compute the covariance of a mixture, (size, size)."""
    middle = sum(one.weight * one.mean for one in mixture)
    return np.asarray(sum(
        one.weight * (np.linalg.inv(one.precision) + np.outer(one.mean - middle, one.mean - middle))
        for one in mixture
    ))  # fmt: skip


def draw(mixture: list[Component], count: int, rng: np.random.Generator) -> Array:
    """Draw samples of a mixture, (count, size)."""
    counts = rng.multinomial(count, [one.weight for one in mixture])
    parts = []
    for one, number in zip(mixture, counts.tolist(), strict=True):
        if number:
            # A = L·Lᵀ: L⁻ᵀ·x has the covariance A⁻¹
            root = np.linalg.cholesky(one.precision)
            normal = rng.standard_normal((len(one.mean), number))
            parts.append(one.mean + np.linalg.solve(root.T, normal).T)
    return np.asarray(rng.permutation(np.concatenate(parts)))
