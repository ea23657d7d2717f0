"""Compliant contact in SI units: what stiffness, damping and friction were asked for."""

from __future__ import annotations

from typing import Self

from pydantic import model_validator

from softgrasp.description.base import Description, NonNegative, Positive
from softgrasp.description.problems import FieldError


class Contact(Description):
    """A Kelvin–Voigt contact F = K·δ + D·δ̇ with Coulomb friction (paper 004, eq 1 and Table 2).

    ``stiffness`` means normal force over penetration at rest of one contact point; a face that lies
    flat has several. Where static and dynamic friction
    differ, a contact that slips faster than ``critical_velocity`` has the dynamic coefficient.
    """

    stiffness: Positive = 1e5
    """K [N/m]."""
    damping: Positive = 300.0
    """D [N·s/m]."""
    static_friction: NonNegative = 0.5
    """µs [–]."""
    dynamic_friction: NonNegative | None = None
    """µd [–]; as the static one where it is not given."""
    critical_velocity: Positive = 1e-3
    """Slip speed at which friction becomes dynamic [m/s]."""
    torsional_friction: NonNegative = 0.003
    """Moment about the normal over normal force [m]."""
    rolling_friction: NonNegative = 1e-4
    """Rolling moment over normal force [m]; used where the contact dimension is 6."""

    @model_validator(mode="after")
    def _dynamic_not_above_static(self) -> Self:
        if self.dynamic_friction is not None and self.dynamic_friction > self.static_friction:
            raise FieldError(
                f"expected at most static_friction {self.static_friction:g}, "
                f"found {self.dynamic_friction:g}",
                "dynamic_friction",
            )
        return self

    @property
    def kinetic_friction(self) -> float:
        """µd with its default filled in [–]."""
        return self.static_friction if self.dynamic_friction is None else self.dynamic_friction

    @property
    def switches_friction(self) -> bool:
        """Whether static and dynamic friction differ."""
        return self.kinetic_friction != self.static_friction

    @property
    def largest_timestep(self) -> float:
        """D/(2K) [s]: above it a box on a slope rocks (measured, see docs/contact.md)."""
        return self.damping / (2.0 * self.stiffness)
