"""Joint estimate of stiffness and pressure gains, with systematic errors, and its posterior.

All angles and forces are fitted at once (``joint_model``). Weak Gaussian priors (``Priors``) take
the place of bounds: a stiffness that the measurements do not determine stays near those of the
other joints, and as uncertain as they differ.

How large noise, tilt and offsets are is estimated from the measurements, by the evidence (marginal
likelihood) of the model linearised about the maximum a posteriori, on a grid of scales (MacKay,
*Neural Computation* 4 (1992) 415; Rue, Martino and Chopin, *J. R. Stat. Soc. B* 71 (2009) 319). The
estimate is the maximum a posteriori with the mean of their logarithms, by nonlinear least squares.
Samples of the mixture of Gaussians of all scales, weighted by evidence, in the logarithms of the
parameters, are drawn again by importance, as angles are linear in compliance rather than in the
logarithm of stiffness. Intervals are quantiles of them;
``benchmarks/calibration_coverage.py`` measures how often they contain the true values.

What to measure next is the weight or pressure that would shrink the intervals most. Each candidate
is added to the measurements, with the noise estimated there, and the covariance of the posterior is
computed anew. Its value is the decrease of log det of the covariance of the logarithms of the
finger's parameters: a step of a D-optimal design (Atkinson, Donev and Tobias, *Optimum Experimental
Designs, with SAS*, 2007, ch. 10 and 12).
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import least_squares

from softgrasp.calibration.joint_model import JointModel, Priors
from softgrasp.calibration.stages import VirtualExperiments
from softgrasp.description.calibration import CalibrationProblem, HungAngles, TipForce
from softgrasp.mechanics.transforms import Array

STEP = 1e-5
"""Step of finite differences, in standard deviations of the prior [–]."""
ROUNDS = 8
"""Largest number of times that scales are estimated from the fit."""
SETTLED = 0.05
"""Change of the logarithm of every scale after which they are estimated [–]."""
SCALES = (0.02, 0.5, 1.0, 2.0, 4.0)
"""Scales of tilt and of offsets, over those of ``Priors``; the smallest stands for none [–]."""
USUAL_SCALE = 0.02
"""Scale s₀ of their prior, whose probability on the grids is proportional to 1/(s₀ + s) [–]."""
NOISES = (-0.8, -0.4, 0.0, 0.4, 0.8)
"""Noise on the grid, natural logarithms of it over the one of the last round [–]."""
USUAL_NOISE = {"angle": math.radians(0.5), "force": 0.02}
"""Median of the prior of noise that is not declared [rad, N]."""
NOISE_WIDTH = 1.5
"""Standard deviation of that prior, natural logarithm [–]."""
MIN_NOISE = {"angle": math.radians(0.01), "force": 1e-4}
"""Smallest noise, about the rounding of published numbers [rad, N]."""
MIN_WEIGHT = 1e-4
"""Weight over the largest below which scales are left out [–]."""
MIN_GAP = 1e-3
"""Distance of the plate from the described one from which it is reported [m]."""
MIN_INCLINATION = math.radians(0.5)
"""Tilt of clamp and roll of camera together from which they are reported [rad]."""
DISTINGUISHED = 0.2
"""Standard deviation of the tilt over both, from which they count as not distinguished [–]."""
SAMPLES = 4000
PROPOSED = 10_000
"""Number of samples before they are corrected by importance."""
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
        tilt: Standard deviation of tilt and roll [rad].
        inclination: Tilt of the clamp plus roll of the camera, and its standard deviation [rad].
        tilt_deviation: Standard deviation of the tilt of the clamp alone [rad].
        gap: Distance of the plate beyond the described one, and its standard deviation [m].
        position: Standardised parameters and nuisances at the maximum, (size,).
        creep: Growth of angles in a decade of time under load, relative, and its standard
            deviation [–].
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
    inclination: tuple[float, float]
    tilt_deviation: float
    gap: tuple[float, float]
    position: Array
    creep: tuple[float, float] = (0.0, 0.0)

    @property
    def warnings(self) -> tuple[str, ...]:
        """Systematic errors that are there, some of which the measurements do not distinguish."""
        growth, deviation = self.creep
        crept = (
            f"springs: angles grow by {100 * growth:.2g} % ± {100 * deviation:.1g} % in a decade "
            "of time under load; the stiffness is that at creep_time, and the residuals are those "
            "beside the creep",
        )
        noticed = crept if abs(growth) > 3.0 * deviation > 0.0 else ()
        return (*self._gap_warnings, *self._tilt_warnings, *noticed)

    @property
    def _gap_warnings(self) -> tuple[str, ...]:
        gap, deviation = self.gap
        if abs(gap) < max(3.0 * deviation, MIN_GAP):
            return ()
        return (
            f"torques: the plate is {1e3 * abs(gap):.2g} mm ± {1e3 * deviation:.1g} mm "
            f"{'farther from' if gap > 0.0 else 'nearer to'} the tip at rest than described "
            "(plate_gap); stiffness and gains allow for it, the residuals do not",
        )

    @property
    def _tilt_warnings(self) -> tuple[str, ...]:
        size, deviation = self.inclination
        if abs(size) < max(3.0 * deviation, MIN_INCLINATION) or (
            self.tilt_deviation < DISTINGUISHED * abs(size)
        ):
            return ()
        return (
            f"springs: the finger begins {math.degrees(abs(size)):.2g}° ± "
            f"{math.degrees(deviation):.2g}° {'lower' if size > 0.0 else 'higher'} than described "
            "under every weight: the clamp is tilted or the camera rolled. These angles cannot "
            "distinguish the two, so the intervals allow for both; a spirit level on the clamp or "
            "a plumb line in a photograph distinguishes them",
        )


class Scales(NamedTuple):
    """Standard deviations of noise, offsets and tilt."""

    angle: float
    """Of the angles [rad]."""
    force: float
    """Of the forces [N]."""
    offset: float
    """Of the constant errors of joint angles [rad]."""
    tilt: float
    """Of the tilt of the clamp [rad]."""


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
    weights = [component.weight for component in mixture]
    return Scales(*np.exp(weights @ np.log([component.scales for component in mixture])).tolist())


def without_creep(problem: CalibrationProblem, growth: float) -> CalibrationProblem:
    """Return a problem with the angles at ``creep_time``, of a growth in a decade of time [–]."""

    def at_once(item: HungAngles) -> HungAngles:
        decades = math.log10((item.time or problem.creep_time) / problem.creep_time)
        factor = 1.0 + growth * decades
        return item.replace(angles=tuple(angle / factor for angle in item.angles))

    return problem.replace(hung=tuple(map(at_once, problem.hung))) if growth else problem


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
        tilt = model.tilt / scales.tilt
        ratios = {"offset": model.offset / scales.offset, "tilt": tilt, "roll": tilt}
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
            left, start, jac=by_z, method="trf", max_nfev=60, xtol=tolerance, ftol=tolerance
        )
        return np.asarray(solution.x)

    def mixture(self, z: Array) -> list[Component]:
        """Return the posterior of z for all scales of a grid, linearised about z (size,)."""
        values, slopes = (np.nan_to_num(item) for item in self.model.linearized(z))
        data = self.model.measured - values + slopes @ z
        components = list(self._components(data, slopes))
        logarithms = np.array([component.weight for component in components])
        weights = np.exp(logarithms - logarithms.max())
        kept = weights > MIN_WEIGHT
        weights /= weights[kept].sum()
        return [
            element._replace(weight=float(weight))
            for element, weight, keep in zip(components, weights, kept, strict=True) if keep
        ]  # fmt: skip

    def _components(self, data: Array, slopes: Array) -> Iterator[Component]:
        """Yield the components of a linear model, with the logarithm of evidence times prior."""
        priors = self.model.priors
        pairs = list(product(SCALES, SCALES))
        for angle, force in product(self._noises(0), self._noises(1)):
            scales = [Scales(angle, force, priors.offset * a, priors.tilt * b) for a, b in pairs]
            rare = 2.0 * np.array([
                math.log((USUAL_SCALE + a) * (USUAL_SCALE + b))
                for a, b in pairs
            ])  # fmt: skip
            ratios = np.array([self._relative(scale) for scale in scales])
            variance = self._variance(angle, force)
            weighted = slopes / variance[:, None]
            precision = slopes.T @ weighted + np.einsum(
                "ij,jk->ijk", ratios**2, np.eye(len(slopes.T))
            )
            side = data @ weighted
            sides = np.broadcast_to(side, ratios.shape)[..., None]
            mean = np.linalg.solve(precision, sides)[..., 0]
            common = np.square(data) @ (1.0 / variance) + np.log(variance).sum()
            common += self._surprise(angle, force) + rare
            evidence = -0.5 * (
                common - mean @ side + np.linalg.slogdet(precision)[1]
                - 2.0 * np.log(ratios).sum(axis=1)
            )  # fmt: skip
            for item, weight, centre, inverse in zip(
                scales, evidence, mean, precision, strict=True
            ):
                yield Component(item, float(weight), centre, inverse)

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
            (math.log(item / usual) / NOISE_WIDTH) ** 2
            for item, usual in zip(noise, USUAL_NOISE.values(), strict=True)
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
        values = np.concatenate(model.parameters(z[None]), axis=1)[0]
        drawn_z = self.samples(z, mixture, samples, np.random.default_rng(seed))
        drawn = np.concatenate(model.parameters(drawn_z), axis=1)
        low, high = np.quantile(drawn, [0.025, 0.975], axis=0)
        relative = np.array([item for block in model.blocks for item in block.relative])
        logarithms = np.where(relative, np.log(np.where(relative, drawn, 1.0)), drawn)
        errors = np.where(relative, values, 1.0) * logarithms.std(axis=0)
        deviation = drawn_z.std(axis=0)
        tilt, roll = (model.nuisances.index(name) for name in ("tilt", "roll of the camera"))
        inclined = model.tilt * (drawn_z[:, count + tilt] + drawn_z[:, count + roll])
        inclined = np.zeros(1) if model.relative else inclined
        ends = zip(model.nuisances, z[count:], deviation[count:], strict=True)
        return Posterior(
            names=tuple(name for block in model.blocks for name in block.names),
            units=tuple(b.unit * relative for b in model.blocks for relative in b.relative),
            values=values,
            low=low,
            high=high,
            errors=errors,
            correlation=np.atleast_2d(np.corrcoef(logarithms.T)),
            samples=drawn,
            nuisances={name: (float(x), float(e)) for name, x, e in ends},
            angle_noise=self.noise[0],
            force_noise=self.noise[1] if len(model.force) else math.nan,
            offset=model.offset,
            tilt=model.tilt,
            inclination=(float(inclined.mean()), float(inclined.std())),
            tilt_deviation=float(model.tilt * deviation[count:][tilt]),
            gap=self._of("gap of the plate", model.gap, z[count:], deviation[count:]),
            position=z,
            creep=self._of("creep", model.priors.creep, z[count:], deviation[count:]),
        )

    def _of(
        self, name: str, scale: float, estimate: Array, deviation: Array
    ) -> tuple[float, float]:
        """Return a nuisance and its standard deviation in its unit; zeros where it is none."""
        if name not in self.model.nuisances:
            return 0.0, 0.0
        index = self.model.nuisances.index(name)
        return scale * float(estimate[index]), scale * float(deviation[index])

    def samples(
        self, z: Array, mixture: list[Component], count: int, rng: np.random.Generator
    ) -> Array:
        """Draw samples of z from a mixture linearised about z, and correct them by importance.

        Returns:
            Samples, (count, size).
        """
        values, slopes = (np.nan_to_num(item) for item in self.model.linearized(z))
        drawn, number = draw(mixture, PROPOSED, rng)
        left = self.model.measured - values - (drawn - z) @ slopes.T
        variances = np.array([
            self._variance(component.scales.angle, component.scales.force)
            for component in mixture
        ])[number]  # fmt: skip
        exact = left - self._curvature(z, drawn, slopes)
        weight = 0.5 * ((np.square(left) - np.square(exact)) / variances).sum(axis=1)
        weight = np.exp(weight - weight.max())
        return np.asarray(drawn[rng.choice(PROPOSED, count, p=weight / weight.sum())])

    def _curvature(self, z: Array, drawn: Array, slopes: Array) -> Array:
        """Return the angles beyond those linear in the logarithm of stiffness, (s, m).

        Angles are linear in compliance: d(1/k)/(1/k) = −d(log k).
        """
        model, block, size = self.model, self.model.blocks[0], self.model.sizes[0]
        if not all(block.relative):
            return np.zeros((len(drawn), len(slopes)))
        stiffness = model.parameters(z[None])[0][0]
        change = np.log(model.parameters(drawn)[0] / stiffness)
        by_z = self.parameter_slopes(z)[: len(stiffness), :size] / stiffness[:, None]
        angles = np.where(np.arange(len(slopes))[:, None] < len(model.angles), slopes, 0.0)
        by_logarithm = angles[:, :size] @ np.linalg.pinv(by_z)
        return np.asarray((change - 1.0 + np.exp(-change)) @ -by_logarithm.T)

    def parameter_slopes(self, z: Array) -> Array:
        """Compute derivatives of the finger's parameters by z, (p, size)."""
        points = np.concatenate([z[None], z + STEP * np.eye(len(z))])
        values = np.concatenate(self.model.parameters(points), axis=1)
        return np.asarray((values[1:] - values[0]).T / STEP)


def draw(
    mixture: list[Component], count: int, rng: np.random.Generator
) -> tuple[Array, NDArray[np.intp]]:
    """Draw samples of a mixture, (count, size), and the number of the component of each."""
    counts = rng.multinomial(count, [component.weight for component in mixture])
    parts = []
    for item, number in zip(mixture, counts.tolist(), strict=True):
        if number:
            # A = L·Lᵀ: L⁻ᵀ·x has the covariance A⁻¹
            root = np.linalg.cholesky(item.precision)
            normal = rng.standard_normal((len(item.mean), number))
            parts.append(item.mean + np.linalg.solve(root.T, normal).T)
    return np.concatenate(parts), np.repeat(np.arange(len(mixture)), counts)


# What to measure next.


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
    return tuple(sorted(candidates, key=lambda item: -item.information))


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
