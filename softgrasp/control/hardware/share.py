"""Which drives pull or push how much, so that together they bend a segment as wanted."""

from __future__ import annotations

import numpy as np

from softgrasp.description.bendable import Bendable, Chamber
from softgrasp.errors import DescriptionError, SimulationError
from softgrasp.mechanics.transforms import Array


class DriveShare:
    """Controls of one segment's drives for a bending moment.

    Tendons pull with at least their pretension, chambers push with at least their lowest pressure:
    the smallest controls that give the moment are raised together, which does not bend.
    """

    def __init__(self, part: Bendable, lowest: float, *, clamp: bool) -> None:
        """Take the drives of a segment.

        Args:
            part: The segment.
            lowest: Least control of tendons [N]; chambers have their own [Pa].
            clamp: Whether controls beyond their range are cut instead of refused.

        Raises:
            DescriptionError: Its drives cannot bend it both ways in its plane, or in every plane.
        """
        drives = part.actuation
        self._name, self._clamp = part.name, clamp
        chambers = [drive for drive in drives if isinstance(drive, Chamber)]
        self._kind = "pressure" if chambers else "tension"
        self._unit = "Pa" if chambers else "N"
        self._low = np.array([c.pressure_min for c in chambers] or [lowest] * len(drives))
        highs = [c.pressure_max for c in chambers] or [None] * len(drives)
        self._high = np.array([np.inf if high is None else high for high in highs])
        gain = [-d.area if isinstance(d, Chamber) else 1.0 for d in drives]
        matrix = np.array(
            [
                [g * d.radius * np.cos(d.angle), g * d.radius * np.sin(d.angle)]
                for g, d in zip(gain, drives, strict=True)
            ]
        ).T
        self._plane: Array | None = None
        if part.planar:
            phi = part.limits.phi_min or 0.0
            self._plane = np.array([np.cos(phi), np.sin(phi)])
            matrix = self._plane[None] @ matrix
        self._inverse = np.linalg.pinv(matrix)
        self._raise = _positive_null(matrix)
        if np.linalg.matrix_rank(matrix) < len(matrix):
            raise DescriptionError(
                f"expected drives that bend it, found {len(drives)} that cannot",
                field=f"bendable '{part.name}'",
            )

    def controls(self, moment: Array) -> Array:
        """Tensions [N] or pressures [Pa] for a bending moment towards (x, y) [N·m], (n,).

        Raises:
            SimulationError: A drive would have to go beyond its range, and is not clamped.
        """
        wanted = moment if self._plane is None else np.array([moment @ self._plane])
        found = self._inverse @ wanted
        if self._raise is not None:
            found = found + self._raise * float(((self._low - found) / self._raise).max())
        slack = 1e-9 * (1.0 + np.abs(found))
        if ((found < self._low - slack) | (found > self._high + slack)).any() and not self._clamp:
            worst = int(np.argmax(np.maximum(self._low - found, found - self._high)))
            raise SimulationError(
                f"bendable '{self._name}': expected a {self._kind} between {self._low[worst]:g} "
                f"and {self._high[worst]:g} {self._unit} of drive {worst + 1}, found "
                f"{found[worst]:g} {self._unit}; the hardware parameter clamp cuts it"
            )
        return np.asarray(np.clip(found, self._low, self._high))


def _positive_null(matrix: Array) -> Array | None:
    """Controls above 0 that do not bend at all; None where there are none."""
    _, _, rows = np.linalg.svd(matrix)
    null = rows[np.linalg.matrix_rank(matrix) :]
    if not len(null):
        return None
    even = null.T @ (null @ np.ones(matrix.shape[1]))
    return even / even.max() if (even > 1e-9).all() else None
