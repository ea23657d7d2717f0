"""Active damping of continuum robots: linear-quadratic-Gaussian control of their slow modes.

The linear model of a control period, x⁺ = Φ x + Γ u and y = C x with the moments u and the bending
angles y of the segments, is projected on its slowest modes. A linear-quadratic regulator with the
costs yᵀ K y and ``EFFORT`` · uᵀ K⁻¹ u (both are energies; K is the static stiffness of the angles)
acts on the state that a stationary Kalman filter estimates from the measured angles (Åström and
Wittenmark, Computer-Controlled Systems, 3rd ed. 1997, ch. 11; Riccati equations by scipy). The loop
is checked with all modes of the model, so that none that was left out becomes unstable (spillover).
"""

from __future__ import annotations

import numpy as np
import scipy
from numpy.typing import NDArray

from softgrasp.continuum_control.feedback import Correction
from softgrasp.mechanics import Array

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
