"""Impedance in curvature space (the outlook of paper 002): a segment as stiff as one wants."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from softgrasp.control.bends import vector_of
from softgrasp.control.resources import ResourceManager
from softgrasp.description.bendable import Bendable
from softgrasp.description.robot import Robot
from softgrasp.errors import DescriptionError, did_you_mean
from softgrasp.mechanics.transforms import Array


class ImpedanceController:
    """The drives bend a segment with K (κ_d − κ) − D κ̇ besides what its own stiffness takes.

    It commands the moment EI κ + K (κ_d − κ) − D κ̇, so a load M at the end changes the curvature
    by M/K. Hardware has to offer moments (``moment``, or ``moment_u`` and ``moment_v``), as every
    model of a robot with tendons, chambers or moments does.
    """

    def __init__(
        self,
        robot: Robot,
        stiffness: float,
        damping: float = 0.0,
        *,
        filter_time: float = 0.02,
        name: str = "curvature_impedance_controller",
    ) -> None:
        """Set up by the robot's description.

        Args:
            robot: Gives the stiffness of its segments.
            stiffness: K [N·m²].
            damping: D [N·m²·s].
            filter_time: Time constant of the curvature's measured rate [s]; a large D at a long
                period needs a longer one.
            name: Of the controller.

        Raises:
            DescriptionError: A number is out of range, or a segment has no bending stiffness.
        """
        if not (
            0.0 < stiffness < np.inf and 0.0 <= damping < np.inf and 0.0 <= filter_time < np.inf
        ):
            raise DescriptionError(
                "expected a stiffness above 0, a damping and a filter_time of at least 0, found "
                f"{stiffness:g}, {damping:g} and {filter_time:g}"
            )
        self.name, self._parts = name, robot.bendables
        self._stiffness, self._damping, self._filter_time = stiffness, damping, filter_time
        for part in self._parts:
            if not part.backbone.bending_stiffness:
                raise DescriptionError(
                    "expected a bending_stiffness, found none", field=f"bendable '{part.name}'"
                )
        self.targets: dict[str, Array] = {}
        self._before: dict[str, Array] = {}
        self._rates: dict[str, Array] = {}

    def claims(self) -> list[str]:
        """The moments of every segment."""
        return [
            f"{part.name}/{interface}"
            for part in self._parts
            for interface in _moment_interfaces(part)
        ]

    def start(self, resources: ResourceManager, now: float) -> None:
        """Hold the curvatures that are commanded."""
        for part in self._parts:
            kappa, phi = (resources.commanded(f"{part.name}/{k}") for k in ("kappa", "phi"))
            self.targets[part.name] = vector_of(kappa, phi)
            self._before.pop(part.name, None)
            self._rates.pop(part.name, None)

    def aim(self, targets: Mapping[str, tuple[float, float]]) -> None:
        """Set the curvatures κ [1/m] and planes φ [rad] that segments are drawn to.

        Raises:
            DescriptionError: A segment does not exist, or a number is not finite.
        """
        known = [part.name for part in self._parts]
        for name, numbers in targets.items():
            if name not in known:
                raise DescriptionError(f"no bendable '{name}'; {did_you_mean(name, known)}")
            if np.shape(numbers) != (2,) or not np.isfinite(numbers).all():
                raise DescriptionError(
                    f"expected finite kappa and phi, found {numbers}", field=f"bendable '{name}'"
                )
        self.targets |= {name: vector_of(kappa, phi) for name, (kappa, phi) in targets.items()}

    def update(self, resources: ResourceManager, now: float, period: float) -> None:
        """Command the moment that belongs to the measured curvature."""
        for part in self._parts:
            kappa, phi = (resources.states.get(f"{part.name}/{k}", 0.0) for k in ("kappa", "phi"))
            here = vector_of(kappa, phi)
            change = (here - self._before.get(part.name, here)) / period
            kept = self._filter_time / (self._filter_time + period)
            rate = kept * self._rates.get(part.name, np.zeros(2)) + (1.0 - kept) * change
            self._before[part.name], self._rates[part.name] = here, rate
            bending_stiffness = part.backbone.bending_stiffness or 0.0
            moment = bending_stiffness * here + self._stiffness * (self.targets[part.name] - here)
            moment = moment - self._damping * rate
            if part.planar:
                plane = vector_of(1.0, resources.commanded(f"{part.name}/phi"))
                moment = np.array([moment @ plane])
            for interface, value in zip(_moment_interfaces(part), moment.tolist(), strict=True):
                resources.command(f"{part.name}/{interface}", value, self.name)


def _moment_interfaces(part: Bendable) -> list[str]:
    return ["moment"] if part.planar else ["moment_u", "moment_v"]
