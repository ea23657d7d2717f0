"""Actuation of soft fingers: forces of pressure, tendon and motors, and control allocation.

``actuation_forces`` computes generalised forces on the coordinates of a soft finger (paper 000, eq
2). ``Allocation`` distributes a desired effect over redundant actuators: the controls of least norm
within their ranges, or those with the nearest effect. scipy has no least-norm problem with
equalities and bounds: ``lsq_linear`` with the equalities weighted by 1e6 agrees within 1e-10 but
takes 18 times as long (1.4 ms instead of 0.08 ms) and does not report that none exist.
"""

from __future__ import annotations

import math

import numpy as np
import scipy
from numpy.typing import ArrayLike

from softgrasp.description.soft_finger import SoftFinger
from softgrasp.errors import DescriptionError
from softgrasp.mechanics.transforms import Array

# Forces on the coordinates of a soft finger.


def actuation_forces(
    finger: SoftFinger,
    *,
    pressure: ArrayLike = 0.0,
    tension: ArrayLike = 0.0,
    joint_moments: ArrayLike = 0.0,
    steps: int | None = None,
) -> Array:
    """Compute the generalised forces of all actuators, (c,) ordered as ``freedoms``, or (T, c).

    A pressure bends every joint by ``pressure_gain`` (paper 000, eq 6) and lengthens it by
    ``pressure_area``. A tendon along the finger bends it by its tension times ``tendon_arm`` and
    compresses it by the tension times ``tendon_pull``.

    Args:
        finger: The finger.
        pressure: [Pa]; one number, or (T,).
        tension: [N]; one number, or (T,).
        joint_moments: Moments of motors about y [N·m]; one for all joints, (n,), or (T, n).
        steps: T; None for one instant.

    Raises:
        DescriptionError: A number is not finite, a tension is negative, or a shape does not fit.
    """
    pressures = _rows("pressure", pressure, None, steps)[:, None]
    tensions = _rows("tension", tension, None, steps)[:, None]
    if (tensions < 0.0).any():
        raise DescriptionError(
            f"expected at least 0, as a tendon only pulls, found {tensions.min():g}",
            field="tension",
        )
    bends = _rows("joint_moments", joint_moments, len(finger.joints), steps)
    bends = bends + pressures * [joint.pressure_gain for joint in finger.joints]
    bends = bends + tensions * [joint.tendon_arm for joint in finger.joints]
    forces = np.zeros((len(bends), len(finger.freedoms)))
    for column, (index, freedom) in enumerate(finger.freedoms):
        if freedom == "y":
            forces[:, column] = bends[:, index]
        elif freedom == "stretch":
            joint = finger.joints[index]
            along = joint.pressure_area * pressures - joint.tendon_pull * tensions
            forces[:, column] = along[:, 0]
    return forces if steps is not None else forces[0]


def _rows(field: str, values: ArrayLike, joints: int | None, steps: int | None) -> Array:
    """Broadcast finite numbers over time, to (T,) or (T, n)."""
    numbers, each = np.asarray(values, dtype=float), () if joints is None else (joints,)
    known: dict[tuple[int, ...], str] = {(): "a finite number"}
    if joints is not None:
        known[each] = f"{joints}, one per joint"
    if steps is not None:
        known[steps, *each] = f"{steps}, one per time step"
    if numbers.shape not in known or not np.isfinite(numbers).all():
        received = f"shape {numbers.shape}" if numbers.shape else f"{numbers}"
        raise DescriptionError(
            f"expected {' or '.join(known.values())}, found {received}", field=field
        )
    return np.broadcast_to(numbers, (steps or 1, *each))


# Control allocation.

TOLERANCE = 1e-9
"""Relative tolerance of effects and ranges [–]."""


class Allocation:
    """Actuators whose effects add up: effect = matrix · controls."""

    def __init__(self, matrix: ArrayLike, low: ArrayLike, high: ArrayLike) -> None:
        """Precompute the inverse and the null space.

        Args:
            matrix: Effects (k) of a unit of each control (n), shape (k, n).
            low: Lowest controls, (n,).
            high: Highest controls, (n,); may be infinite.
        """
        self.matrix = np.asarray(matrix, dtype=float)
        self.low, self.high = np.asarray(low, dtype=float), np.asarray(high, dtype=float)
        sizes = np.abs(self.matrix).max(axis=1)
        self._sizes = np.where(sizes > 0.0, sizes, 1.0)
        self.rank = int(np.linalg.matrix_rank(self._scaled()))
        self._inverse = np.linalg.pinv(self._scaled()) / self._sizes
        self._idle = np.linalg.svd(self.matrix)[2][self.rank :].T
        self._line = self._idle[:, 0].tolist() if self._idle.shape[1] == 1 else []
        self._ranges = list(zip(self.low.tolist(), self.high.tolist(), strict=True))
        self._is_bounded = np.isfinite(np.concatenate([self.low, self.high]))
        bounded_rows = np.vstack([self._idle, -self._idle])[self._is_bounded]
        self._distance = np.vstack([bounded_rows.T, np.zeros(len(bounded_rows))])

    def _scaled(self) -> Array:
        """Scale matrix rows to a maximum of 1, as moments and forces have different units."""
        return np.asarray(self.matrix / self._sizes[:, None])

    def _in_rows(self, target: Array) -> Array:
        return np.asarray(target / self._sizes)

    def smallest(self, target: ArrayLike) -> Array | None:
        """Compute the controls of least norm within their ranges, (n,); None where none exist.

        Least-distance programming by non-negative least squares (Lawson and Hanson 1974, ch. 23);
        on a one-dimensional null space in closed form.
        """
        effect = np.asarray(target, dtype=float)
        plain = self._inverse @ effect
        if self.rank < len(self.matrix) and not self.makes(plain, effect):
            return None
        values = plain.tolist()
        if self._inside(values):
            return self._clipped(values)
        if not self._idle.shape[1]:
            return None
        if self._line:
            return self._along_line(values)
        bounds = np.concatenate([self.low - plain, plain - self.high])[self._is_bounded]
        size = float(np.abs(bounds).max())
        self._distance[-1] = bounds / size
        idle = _min_distance(self._distance)
        if idle is None:
            return None
        values = (plain + size * (self._idle @ idle)).tolist()
        return self._clipped(values) if self._inside(values) else None

    def _along_line(self, plain: list[float]) -> Array | None:
        """Return the point within the ranges nearest to plain (n,) on a one-dimensional null space.

        Each range limits the distance along the line to an interval; the nearest point to plain is
        at the distance in all of them that is nearest to 0.
        """
        nearest, farthest = -math.inf, math.inf
        for at, along, (low, high) in zip(plain, self._line, self._ranges, strict=True):
            if along == 0.0:
                continue
            ends = sorted(((low - at) / along, (high - at) / along))
            nearest, farthest = max(nearest, ends[0]), min(farthest, ends[1])
        distance = min(max(nearest, 0.0), farthest)
        values = [at + distance * along for at, along in zip(plain, self._line, strict=True)]
        return self._clipped(values) if self._inside(values) else None

    def _clipped(self, values: list[float]) -> Array:
        """Return controls cut to their ranges, beyond which rounding may have put them, (n,)."""
        ranges = zip(values, self._ranges, strict=True)
        return np.array([min(max(value, low), high) for value, (low, high) in ranges])

    def nearest(self, target: ArrayLike) -> Array:
        """Compute the controls within their ranges whose effect is nearest to the target, (n,)."""
        unit = np.maximum(np.abs(self._inverse @ np.asarray(target)).max(), 1e-300)
        high = np.maximum(self.high, self.low + TOLERANCE * unit)
        fit = scipy.optimize.lsq_linear(
            self._scaled(),
            self._in_rows(np.asarray(target, dtype=float)) / unit,
            bounds=(self.low / unit, high / unit),
        )
        return np.asarray(np.clip(fit.x * unit, self.low, self.high))

    def makes(self, controls: Array, target: ArrayLike) -> bool:
        """Return whether controls produce a given effect."""
        missing = self._in_rows(self.matrix @ controls - np.asarray(target, dtype=float))
        largest = max(map(abs, controls.tolist()))
        return bool(max(map(abs, missing.tolist())) <= TOLERANCE * (1e-3 + largest))

    def _inside(self, values: list[float]) -> bool:
        slack = TOLERANCE * max(map(abs, values))
        ranges = zip(values, self._ranges, strict=True)
        return all(low - slack <= value <= high + slack for value, (low, high) in ranges)


def _min_distance(matrix: Array) -> Array | None:
    """Compute the shortest x with A · x ≥ b, from the rows of A transposed, and b below them.

    None where there is none.
    """
    target = np.zeros(len(matrix))
    target[-1] = 1.0
    weights, distance = scipy.optimize.nnls(matrix, target)
    if distance < TOLERANCE:
        return None
    rest = matrix @ weights - target
    return np.asarray(-rest[:-1] / rest[-1])
