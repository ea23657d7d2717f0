"""Feedback on the bending angles of a continuum robot, tuned on its linear model.

``Correction`` removes what the stiffness of the segments does not account for (gravity, loads): an
error e of the bending angles adds the moments K (∫e dt · rate + ė · time), where K is the stiffness
that the actuators feel, gravity and neighbours included, so that all segments respond alike. Rate
and time follow from the slowest pole of the robot, p = ω (−ζ ± i√(1 − ζ²)): the derivative damps it
to a ratio of 0.7, and the integral takes 0.3 ω.

``ActiveDamping`` damps robots that ring, by linear-quadratic-Gaussian control of their slow modes.
The linear model of a control period, x⁺ = Φ x + Γ u and y = C x with the moments u and the bending
angles y of the segments, is projected on its slowest modes. A linear-quadratic regulator with the
costs yᵀ K y and ``EFFORT`` · uᵀ K⁻¹ u (both are energies; K is the static stiffness of the angles)
acts on the state that a stationary Kalman filter estimates from the measured angles (Åström and
Wittenmark 1997, ch. 11; Riccati equations by scipy). The loop is checked with all modes of the
model, so that none that was left out becomes unstable (spillover).
"""

from __future__ import annotations

import warnings

import mujoco
import numpy as np
import scipy
from numpy.typing import NDArray

from softgrasp.errors import SoftgraspWarning
from softgrasp.mechanics import Array

DAMPING_RATIO = 0.7
"""Target damping ratio of the slowest mode, where it is lower without correction."""
INTEGRAL_FACTOR, FILTER_FACTOR = 0.3, 0.1
"""Rate of the integral over ω, and time constant of the derivative's filter times ω."""
NUDGE = 1e-6
"""Change of a state for central differences [rad or m, per s]."""
GROWTH = 1e-7
"""Tolerance on the growth of a free vibration in a step, for rounding [–]."""
WEAKENINGS = (1.0, 0.5, 0.25, 0.1, 0.0)
"""Shares of the correction that are tried until the linear robot is stable with it."""


class Correction:
    """Integral and derivative feedback: moments for errors of all bending angles, once a period."""

    def __init__(
        self, stiffness: Array, rates: Array, times: Array, smoothing: float, period: float
    ) -> None:
        """Start with zero integrals.

        Args:
            stiffness: K, moments that change the angles by a unit at rest [N·m/rad], (n, n).
            rates: Of the integral, for each angle [1/s], (n,).
            times: Of the derivative, for each angle [s], (n,).
            smoothing: Part of the derivative that is kept from one period to the next [–].
            period: [s]
        """
        self.stiffness, self.rates, self.times = stiffness, rates, times
        self.smoothing, self.period = smoothing, period
        self._sum, self._slope = np.zeros(len(rates)), np.zeros(len(rates))
        self._before: Array | None = None
        self._slope_gain, self._increments = (1.0 - smoothing) / period, rates * period

    def moments(self, errors: Array) -> Array:
        """Return corrective moments for bending-angle errors [rad], (n,) [N·m]."""
        before = errors if self._before is None else self._before
        self._before = errors
        self._slope = self.smoothing * self._slope + self._slope_gain * (errors - before)
        self._sum = self._sum + self._increments * errors
        return np.asarray(self.stiffness @ (self._sum + self.times * self._slope))

    def hold(self, errors: Array, held: NDArray[np.bool_]) -> None:
        """Undo the last integral step for some angles (anti-windup), (n,) of bool.

        The drives could not act on it, so it would only have to be undone later.
        """
        self._sum = self._sum - np.where(held, self._increments * errors, 0.0)

    def forget(self, angles: NDArray[np.bool_]) -> None:
        """Reset the feedback of some angles, (n,) of bool."""
        self._sum[angles], self._slope[angles] = 0.0, 0.0


def tune(
    model: mujoco.MjModel,
    start: Array,
    measured: Array,
    unit_controls: Array,
    period: float,
    rates: Array,
) -> Correction:
    """Tune the feedback on bending angles for a robot linearised at a pose.

    Args:
        model: The robot with its time step and gravity.
        start: The pose, (nq,).
        measured: Bending angles from velocities of the joints, (n, nv).
        unit_controls: Controls that make a unit moment on each angle, (nu, n).
        period: Between two corrections [s].
        rates: Of the integrals [1/s], (n,); NaN where they are to be chosen.
    """
    step, inputs = linearize(model, start)
    if np.abs(np.linalg.eigvals(step)).max() > 1.0 + GROWTH:
        warnings.warn(
            "the robot cannot stand by itself in its start pose: its weight outdoes the stiffness "
            "of its segments, so commanded curvatures may not be reached",
            SoftgraspWarning,
            stacklevel=2,
        )
        # take the springs alone
        gravity = model.opt.gravity.copy()
        model.opt.gravity[:] = 0.0
        step, inputs = linearize(model, start)
        model.opt.gravity[:] = gravity
    pushes = inputs @ unit_controls
    angles = np.hstack([measured, np.zeros_like(measured)])
    rest = angles @ np.linalg.lstsq(np.eye(len(step)) - step, pushes, rcond=None)[0]
    stiffness = np.linalg.inv(rest)
    poles = np.log(np.linalg.eigvals(step).astype(complex)) / model.opt.timestep
    slowest = complex(poles[np.abs(poles).argmin()])
    omega = abs(slowest)
    time = 2.0 * max(DAMPING_RATIO + slowest.real / omega, 0.0) / omega
    smoothing = float(np.exp(-period / max(FILTER_FACTOR / omega, period)))
    chosen = np.where(np.isnan(rates), INTEGRAL_FACTOR * omega, rates)
    times = np.where(chosen > 0.0, time, 0.0)
    ticks = over_a_period(step, pushes, round(period / model.opt.timestep))
    for factor in WEAKENINGS:
        correction = Correction(stiffness, factor * chosen, factor * times, smoothing, period)
        if _is_stable(correction, *ticks, angles):
            break
    if factor == 0.0 and chosen.any():
        warnings.warn(
            "expected a robot whose bending can be corrected at this period, found it unstable "
            "with any correction; only the stiffness of its segments is relied on",
            SoftgraspWarning,
            stacklevel=2,
        )
    return correction


def linearize(model: mujoco.MjModel, pose: Array) -> tuple[Array, Array]:
    """Linearise one time step at rest, (2 nv, 2 nv) and (2 nv, nu)."""
    data = mujoco.MjData(model)
    data.qpos[:] = pose
    size = 2 * model.nv
    step, inputs = np.zeros((size, size)), np.zeros((size, model.nu))
    mujoco.mjd_transitionFD(model, data, NUDGE, True, step, inputs, None, None)
    return step, inputs


def over_a_period(step: Array, pushes: Array, count: int) -> tuple[Array, Array]:
    """Compose the linearised time step over some steps with constant controls."""
    whole, added = step, pushes
    for _ in range(count - 1):
        whole, added = step @ whole, step @ added + pushes
    return whole, added


def _is_stable(correction: Correction, step: Array, pushes: Array, angles: Array) -> bool:
    """Return whether the linearised robot is stable with a feedback.

    The state is that of the robot, the errors before, the slopes and the sums.
    """
    size, count = len(step), len(angles)
    kept, period = correction.smoothing, correction.period
    rate, item = (1.0 - kept) / period, np.eye(count)
    # errors are −angles
    slope = np.hstack([-rate * angles, -rate * item, kept * item, 0.0 * item])
    total = np.hstack([-period * correction.rates[:, None] * angles, 0.0 * item, 0.0 * item, item])
    moments = correction.stiffness @ (total + correction.times[:, None] * slope)
    robot = np.hstack([step, np.zeros((size, 3 * count))]) + pushes @ moments
    before = np.hstack([-angles, np.zeros((count, 3 * count))])
    loop = np.vstack([robot, before, slope, total])
    if not correction.rates.any():
        return True
    return bool(np.abs(np.linalg.eigvals(loop)).max() < 1.0)


# Active damping.


MODES = 12
"""Number of eigenvalues that are controlled: two for each vibration."""
EFFORT, NOISES = 0.5, (1.0, 10.0, 100.0, 1000.0)
"""Weights of moments over angles, and of the noise of angles over that of moments [–]; the first
noise is taken with which all modes are stable."""
SMALL = 1e-9
"""Weight of all states over the largest one, for Riccati equations without null spaces."""


class ActiveDamping(Correction):
    """Feedback that damps the slow modes of a robot, in the place of the other correction.

    It has no integral: what the stiffness of the segments does not account for, as gravity, is
    corrected in part.
    """

    def __init__(self, robot: Array, inputs: Array, angles: Array, period: float) -> None:
        """Design regulator and filter.

        Args:
            robot: Φ, over a period, (n, n).
            inputs: Γ, of constant moments on the angles, (n, k).
            angles: C, (k, n).
            period: [s]
        """
        rest = angles @ np.linalg.lstsq(np.eye(len(robot)) - robot, inputs, rcond=None)[0]
        stiffness = np.linalg.inv(rest)
        stiffness = 0.5 * (stiffness + stiffness.T)
        count = len(angles)
        super().__init__(stiffness, np.zeros(count), np.zeros(count), 0.0, period)
        basis = _slow_modes(robot)
        self._model, self._inputs = basis.T @ robot @ basis, basis.T @ inputs
        self._angles = angles @ basis
        self._regulator = _gain(self._model, self._inputs, self._angles, stiffness, EFFORT)
        self._state = np.zeros(len(self._model))
        self.radius = np.inf
        """Largest factor by which a free motion of robot and filter changes in a period [–]."""
        for noise in NOISES:
            self._filter = _filter(self._model, self._inputs, self._angles, stiffness, noise)
            self.radius = self._spectral_radius(robot, inputs, angles)
            if self.radius < 1.0:
                break

    def moments(self, errors: Array) -> Array:
        """Return damping moments for bending-angle errors [rad], (n,) [N·m]."""
        innovation = -errors - self._angles @ self._state
        estimate = self._state + self._filter @ innovation
        moments = -self._regulator @ estimate
        self._state = self._model @ estimate + self._inputs @ moments
        return np.asarray(moments)

    def forget(self, angles: NDArray[np.bool_]) -> None:
        """Begin a new estimate where the moments of some angles, (n,) of bool, are not applied."""
        if angles.any():
            self._state[:] = 0.0

    def _spectral_radius(self, robot: Array, inputs: Array, angles: Array) -> float:
        size = len(self._model)
        estimate = np.hstack([self._filter @ angles, np.eye(size) - self._filter @ self._angles])
        moments = -self._regulator @ estimate
        free = np.hstack([robot, np.zeros((len(robot), size))])
        loop = np.vstack([free + inputs @ moments, self._model @ estimate + self._inputs @ moments])
        return float(np.abs(np.linalg.eigvals(loop)).max())


def _slow_modes(robot: Array) -> Array:
    """Return an orthonormal basis of the slowest modes, (n, m)."""
    values, vectors = np.linalg.eig(robot)
    slowest = np.argsort(np.abs(np.log(values.astype(complex))))[:MODES]
    columns = []
    for index in slowest:
        columns += [vectors[:, index].real] if values[index].imag >= 0.0 else []
        columns += [vectors[:, index].imag] if values[index].imag > 0.0 else []
    return np.asarray(np.linalg.qr(np.array(columns).T)[0])


def _gain(model: Array, inputs: Array, angles: Array, stiffness: Array, effort: float) -> Array:
    cost = _regular(angles.T @ stiffness @ angles)
    price = effort * np.linalg.inv(stiffness)
    value = scipy.linalg.solve_discrete_are(model, inputs, cost, price)
    return np.asarray(np.linalg.solve(price + inputs.T @ value @ inputs, inputs.T @ value @ model))


def _filter(model: Array, inputs: Array, angles: Array, stiffness: Array, weight: float) -> Array:
    drift, noise = _regular(inputs @ stiffness @ inputs.T), weight * np.linalg.inv(stiffness)
    spread = scipy.linalg.solve_discrete_are(model.T, angles.T, drift, noise)
    return np.asarray(spread @ angles.T @ np.linalg.inv(angles @ spread @ angles.T + noise))


def _regular(matrix: Array) -> Array:
    return np.asarray(matrix + SMALL * np.abs(matrix).max() * np.eye(len(matrix)))
