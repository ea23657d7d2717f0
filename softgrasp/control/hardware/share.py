"""Which drives pull or push how much, so that together they bend a segment as wanted."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from softgrasp.control.bends import vector_of
from softgrasp.description.bendable import Bendable, Chamber, Tendon
from softgrasp.errors import DescriptionError, SimulationError
from softgrasp.mechanics.allocation import Allocation
from softgrasp.mechanics.transforms import Array


class ActuatorAllocation:
    """Controls of one segment's drives for a bending moment, and for a force along it.

    Tendons pull with at least their pretension, chambers push within their range of pressure; of
    all controls that do it the smallest are taken.
    """

    def __init__(
        self, part: Bendable, lowest: float | None, *, clamp: bool, stretches: bool = False
    ) -> None:
        """Take the drives of a segment.

        Args:
            part: The segment; its drives are tendons or chambers.
            lowest: Least tension of tendons [N]; where not given a twentieth of what bends the
                segment to its limit, or 0 where such tensions bend it.
            clamp: Whether controls beyond their range are cut instead of refused.
            stretches: Whether the drives are asked for a force along the segment, too.

        Raises:
            DescriptionError: Its drives cannot do that.
        """
        self._name, self._clamp = part.name, clamp
        self.axes = bend_axes(part)
        matrix = _effects(part, self.axes)
        whole = matrix if stretches else matrix[:-1]
        self._allocation = _allocation(part, whole, lowest)
        if self._allocation.rank < len(whole):
            what = "bend and lengthen" if stretches else "bend"
            raise DescriptionError(
                f"expected drives that {what} it, found {len(part.actuation)} that cannot",
                field=f"bendable '{part.name}'",
            )
        chambers = isinstance(part.actuation[0], Chamber)
        self._kind, self._unit = ("pressure", "Pa") if chambers else ("tension", "N")

    def controls(self, moment: Array, force: float | None = None) -> Array:
        """Tensions [N] or pressures [Pa], (n,).

        Args:
            moment: Towards x and y [N·m], (2,); of a planar segment its part in the plane counts.
            force: Along the segment [N]; only of drives that stretch it.

        Raises:
            SimulationError: A drive would have to go beyond its range, and is not clamped.
        """
        effect = self._effect(moment, force)
        controls = self._allocation.smallest(effect)
        if controls is not None:
            return controls
        if self._clamp:
            return self._allocation.nearest(effect)
        raise SimulationError(self._refusal(effect))

    def nearest(self, moment: Array, force: float | None = None) -> Array:
        """The controls within their ranges that come nearest, (n,); as ``controls``."""
        effect = self._effect(moment, force)
        controls = self._allocation.smallest(effect)
        return self._allocation.nearest(effect) if controls is None else controls

    def makes(self, controls: Array, moment: Array, force: float | None = None) -> bool:
        """Whether controls make a moment and a force."""
        return self._allocation.makes(controls, self._effect(moment, force))

    def per_moment(self) -> Array:
        """Controls that make a unit moment about each axis, whatever their ranges, (n, k)."""
        return np.asarray(np.linalg.pinv(self._allocation.matrix[: len(self.axes)]))

    def _effect(self, moment: Array, force: float | None) -> Array:
        return np.append(self.axes @ moment, [] if force is None else [force])

    def _refusal(self, effect: Array) -> str:
        """Which drive is missing most, if all were free below and above."""
        low, high = self._allocation.low, self._allocation.high
        free = Allocation(self._allocation.matrix, low, np.full(len(low), np.inf)).smallest(effect)
        if free is None:
            free = np.linalg.pinv(self._allocation.matrix) @ effect
        worst = int(np.argmax(np.maximum(low - free, free - high)))
        return (
            f"bendable '{self._name}': expected a {self._kind} between {low[worst]:g} and "
            f"{high[worst]:g} {self._unit} of drive {worst + 1}, found {free[worst]:g} "
            f"{self._unit}; the hardware parameter clamp cuts it"
        )


def bend_axes(part: Bendable) -> Array:
    """Directions in which a segment bends: x and y, or that of its plane, (k, 2)."""
    return vector_of(1.0, part.limits.phi_min or 0.0)[None] if part.planar else np.eye(2)


def _effects(part: Bendable, axes: Array) -> Array:
    """Bending moments [N·m], then the force [N], of a unit of each control, (k + 1, n)."""
    actuators: Sequence[Tendon | Chamber] = part.actuation
    push = np.array(
        [actuator.area if isinstance(actuator, Chamber) else -1.0 for actuator in actuators]
    )
    arms = np.stack([vector_of(actuator.radius, actuator.angle) for actuator in actuators])
    return np.vstack([-push * (axes @ arms.T), push])


def _allocation(part: Bendable, matrix: Array, lowest: float | None) -> Allocation:
    chambers = [actuator for actuator in part.actuation if isinstance(actuator, Chamber)]
    if chambers:
        high = [np.inf if c.pressure_max is None else c.pressure_max for c in chambers]
        return Allocation(matrix, [c.pressure_min for c in chambers], high)
    count = len(part.actuation)
    top = np.full(count, np.inf)
    if lowest is not None:
        return Allocation(matrix, np.full(count, lowest), top)
    moment = (part.backbone.bending_stiffness or 0.0) * part.kappa_max
    tension = 0.05 * moment / max(actuator.radius for actuator in part.actuation)
    tight = Allocation(matrix, np.full(count, tension), top)
    idle = tight.smallest(np.zeros(len(matrix)))
    return tight if idle is not None else Allocation(matrix, np.zeros(count), top)
