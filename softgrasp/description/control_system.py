"""What a ``ros2_control`` element says: a hardware class and the interfaces it offers."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Literal, Self

from pydantic import model_validator

from softgrasp.description.base import Description, Number
from softgrasp.description.bendable import Bendable, Name
from softgrasp.description.problems import FieldError, FieldPath, either, refuse_twins
from softgrasp.errors import did_you_mean

RIGID_INTERFACES = ("position", "velocity", "effort")


class Interface(Description):
    """A quantity that can be commanded or read, such as ``kappa`` or ``phi``."""

    name: Name
    initial_value: Number | None = None
    min: Number | None = None
    max: Number | None = None

    @model_validator(mode="after")
    def _in_order(self) -> Self:
        if self.min is not None and self.max is not None and self.min > self.max:
            raise FieldError(f"expected at most max ({self.max:g}), found {self.min:g}", "min")
        value = self.initial_value
        if value is not None:
            low, high = self.min, self.max
            if (low is not None and value < low) or (high is not None and value > high):
                raise FieldError(
                    f"expected a value between min ({low}) and max ({high}), found {value:g}",
                    "initial_value",
                )
        return self


class ControlledJoint(Description):
    """A joint or bendable with its interfaces."""

    name: Name
    commands: tuple[Interface, ...] = ()
    states: tuple[Interface, ...] = ()

    def check(
        self, rigid: Collection[str], bendables: Mapping[str, Bendable], location: FieldPath
    ) -> None:
        """Refuse a name that names no joint and interfaces that it cannot have.

        Args:
            rigid: Names of the rigid joints.
            bendables: Bendables by name.
            location: Where this stands in the robot.

        Raises:
            FieldError: Something does not fit.
        """
        if self.name not in rigid and self.name not in bendables:
            hint = did_you_mean(self.name, [*rigid, *bendables])
            raise FieldError(f"no bendable or joint '{self.name}'; {hint}", *location, "name")
        known: tuple[str, ...] = RIGID_INTERFACES
        if self.name in bendables:
            known = curvature_interfaces(bendables[self.name])
        for kind in ("commands", "states"):
            interfaces = getattr(self, kind)
            refuse_twins(
                ((part.name, (*location, kind, i, "name")) for i, part in enumerate(interfaces)),
                "interface",
            )
            for index, part in enumerate(interfaces):
                if part.name not in known:
                    raise FieldError(
                        f"expected {either(known)}, found '{part.name}'",
                        *location,
                        kind,
                        index,
                        "name",
                    )
        commanded = {part.name for part in self.commands}
        if "phi" in commanded and not any(name.startswith("kappa") for name in commanded):
            raise FieldError("expected kappa beside phi, found phi alone", *location, "commands")


class ControlSystem(Description):
    """One ``ros2_control`` element."""

    name: Name
    type: Literal["system", "actuator", "sensor"] = "system"
    plugin: Name
    """Which hardware class drives it."""
    params: tuple[tuple[str, str], ...] = ()
    """Its parameters, (name, value) as they are written."""
    joints: tuple[ControlledJoint, ...] = ()

    @model_validator(mode="after")
    def _unique_joints(self) -> Self:
        refuse_twins(((j.name, ("joints", i, "name")) for i, j in enumerate(self.joints)), "joint")
        return self


def curvature_interfaces(part: Bendable) -> tuple[str, ...]:
    """Interfaces that a bendable can offer: ``kappa`` or ``kappa/0`` …, ``phi`` and ``l``."""
    if part.model == "pcc":
        return ("kappa", "phi", "l")
    return (*(f"kappa/{power}" for power in range(part.degree + 1)), "phi", "l")
