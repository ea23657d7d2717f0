"""Impedance in curvature space (the outlook of paper 002): a segment as stiff as one wants."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from softgrasp.control.bends import curvature_of, vector_of
from softgrasp.control.resources import ResourceManager
from softgrasp.description.robot import Robot
from softgrasp.errors import DescriptionError
from softgrasp.mechanics.transforms import Array


class ImpedanceController:
    """The drives bend a segment with K (κ_d − κ) − D κ̇ beyond what its own stiffness takes.

    It commands the curvature that this moment belongs to, κ + (K (κ_d − κ) − D κ̇)/EI, so hardware
    must not correct curvatures by itself (its parameter ``integral_gain`` is 0). A load M at the
    end then changes the curvature by M/K.
    """

    def __init__(
        self,
        robot: Robot,
        stiffness: float,
        damping: float = 0.0,
        name: str = "curvature_impedance_controller",
    ) -> None:
        """Set up by the robot's description.

        Args:
            robot: Gives the stiffness of its segments.
            stiffness: K [N·m²].
            damping: D [N·m²·s].
            name: Of the controller.

        Raises:
            DescriptionError: A number is out of range, or a segment has no bending stiffness.
        """
        if stiffness <= 0.0 or damping < 0.0:
            raise DescriptionError(
                f"expected a stiffness above 0 and a damping of at least 0, found {stiffness:g} "
                f"and {damping:g}"
            )
        self.name, self._parts = name, robot.bendables
        self._stiffness, self._damping = stiffness, damping
        for part in self._parts:
            if not part.backbone.bending_stiffness:
                raise DescriptionError(
                    "expected a bending_stiffness, found none", field=f"bendable '{part.name}'"
                )
        self.targets: dict[str, Array] = {}
        self._before: dict[str, Array] = {}

    def claims(self) -> list[str]:
        """Curvature and plane of every segment."""
        return [f"{p.name}/{k}" for p in self._parts for k in ("kappa", "phi")[: 2 - p.planar]]

    def start(self, resources: ResourceManager, now: float) -> None:
        """Hold the curvatures that are commanded."""
        for part in self._parts:
            kappa, phi = (resources.commanded(f"{part.name}/{k}") for k in ("kappa", "phi"))
            self.targets[part.name] = vector_of(kappa, phi)
            self._before.pop(part.name, None)

    def aim(self, targets: Mapping[str, tuple[float, float]]) -> None:
        """Set the curvatures κ [1/m] and planes φ [rad] that segments are drawn to."""
        self.targets |= {name: vector_of(kappa, phi) for name, (kappa, phi) in targets.items()}

    def update(self, resources: ResourceManager, now: float, period: float) -> None:
        """Command the curvature that belongs to the wanted moment."""
        for part in self._parts:
            kappa, phi = (resources.states.get(f"{part.name}/{k}", 0.0) for k in ("kappa", "phi"))
            here = vector_of(kappa, phi)
            rate = (here - self._before.get(part.name, here)) / period
            self._before[part.name] = here
            own = part.backbone.bending_stiffness or 1.0
            pull = self._stiffness * (self.targets[part.name] - here) - self._damping * rate
            wanted = here + pull / own
            if part.planar:
                plane = vector_of(1.0, resources.commanded(f"{part.name}/phi"))
                resources.command(f"{part.name}/kappa", float(wanted @ plane), self.name)
                continue
            size, angle = curvature_of(np.asarray(wanted), phi)
            resources.command(f"{part.name}/kappa", size, self.name)
            resources.command(f"{part.name}/phi", angle, self.name)
