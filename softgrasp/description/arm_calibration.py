"""What is recorded of a hydraulic arm in motion, and what is to be found from it."""

from __future__ import annotations

from itertools import pairwise
from typing import Annotated, ClassVar, Literal, Self

from pydantic import Field, model_validator

from softgrasp.description.base import Description, Number, Positive
from softgrasp.description.calibration import ExtensionProblem
from softgrasp.description.hydraulic_arm import HydraulicArm
from softgrasp.description.problems import FieldError

Row = tuple[Number, ...]
ArmParameter = Literal["EI", "c_b", "mass"]
"""Bending stiffness [N·m²], damping of bending [N·m²·s] and mass [kg] of every section."""


class ArmMotion(Description):
    """A recording of an arm: where sections end, or how they bend, in time."""

    name: str = ""
    """What results call it; a number where it is not given."""
    pressures: Row = ()
    """In all chambers, constant from the beginning on [Pa]; none are zeros."""
    torques: tuple[Row, ...] = ()
    """Or those of the motors: rows of a time [s] and a torque a chamber [N·m], on straight lines
    between; the drives turn them into pressures."""
    start: Row | None = None
    """Pressures under which the arm rests at time 0 [Pa]; straight where it is not given."""
    times: Annotated[Row, Field(min_length=2)]
    """Of the rows below, rising, from the beginning on [s]."""
    ends: tuple[Row, ...] = ()
    """Ends of all sections, or of the last one only, in the frame of the base [m]: three numbers a
    section."""
    bends: tuple[Row, ...] = ()
    """Or bending angles of all sections towards x and y [rad]: two numbers a section."""
    held_out: bool = False
    """Whether it is kept for validation."""

    @property
    def rows(self) -> tuple[Row, ...]:
        """What was recorded."""
        return self.ends or self.bends

    @model_validator(mode="after")
    def _fits(self) -> Self:
        if bool(self.ends) == bool(self.bends):
            present_text = "both" if self.ends else "neither"
            raise FieldError(f"expected ends or bends, found {present_text}", "ends")
        if self.pressures and self.torques:
            raise FieldError("expected pressures or torques, found both", "torques")
        falls = any(later <= earlier for earlier, later in pairwise(self.times))
        if falls or self.times[0] < 0.0:
            raise FieldError("expected rising times from the beginning on, found others", "times")
        field = "ends" if self.ends else "bends"
        if len(self.rows) != len(self.times):
            raise FieldError(
                f"expected a row for each of {len(self.times)} times, found {len(self.rows)}", field
            )
        for index, row in enumerate(self.rows):
            if len(row) != len(self.rows[0]):
                raise FieldError(
                    f"expected {len(self.rows[0])} numbers, as in the first row, found {len(row)}",
                    *(field, index),
                )
        return self


class ArmBounds(Description):
    """Between which values parameters are looked for."""

    EI: tuple[Positive, Positive] = (0.05, 5.0)
    """[N·m²]"""
    c_b: tuple[Positive, Positive] = (1e-3, 0.5)
    """[N·m²·s]"""
    mass: tuple[Positive, Positive] = (0.02, 2.0)
    """[kg]"""

    @model_validator(mode="after")
    def _in_order(self) -> Self:
        for name in type(self).model_fields:
            low, high = getattr(self, name)
            if low >= high:
                raise FieldError(f"expected the lower bound first, found {low:g}, {high:g}", name)
        return self


class ArmCalibrationProblem(ExtensionProblem):
    """A hydraulic arm with its recordings.

    What is not to be found (lengths, chambers, axial stiffness, drives) is taken from the arm; what
    it says of what is to be found is not looked at.
    """

    kind: ClassVar[str] = "arm"

    arm: HydraulicArm
    motions: Annotated[tuple[ArmMotion, ...], Field(min_length=1)]
    """All with ends, or all with bends."""
    find: Annotated[tuple[ArmParameter, ...], Field(min_length=1)] = ("EI", "c_b")
    each_section: bool = False
    """Whether sections have values of their own, or share one."""
    bounds: ArmBounds = ArmBounds()
    links: Annotated[int, Field(strict=True, ge=1, le=64)] = 4
    """Rigid cells a section of the simulated arm."""

    @property
    def name(self) -> str:
        """Name of the arm."""
        return self.arm.name

    @property
    def properties(self) -> dict[str, str | int]:
        """Name of the arm and number of its motions."""
        return {"arm": self.arm.name, "motions": len(self.motions)}

    @property
    def labels(self) -> tuple[str, ...]:
        """Names of the motions."""
        return tuple(one.name or f"motion {n}" for n, one in enumerate(self.motions, start=1))

    @model_validator(mode="after")
    def _fits_arm(self) -> Self:
        chambers, sections = len(self.arm.chambers), len(self.arm.sections)
        if len(set(self.find)) != len(self.find):
            raise FieldError(f"expected each once, found {', '.join(self.find)}", "find")
        if all(one.held_out for one in self.motions):
            raise FieldError("expected one that is not held out, found none", "motions")
        for index, one in enumerate(self.motions):
            if bool(one.ends) != bool(self.motions[0].ends):
                raise FieldError(
                    "expected ends in all motions, or bends in all, found both", "motions", index
                )
            for field in ("pressures", "start"):
                values = getattr(one, field)
                if values and len(values) != chambers:
                    raise FieldError(
                        f"expected one a chamber ({chambers}), found {len(values)}",
                        *("motions", index, field),
                    )
            if any(len(row) != 1 + chambers for row in one.torques):
                raise FieldError(
                    f"expected rows of a time and one torque a chamber ({1 + chambers} numbers), "
                    "found others",
                    *("motions", index, "torques"),
                )
            known = {3, 3 * sections} if one.ends else {2 * sections}
            if len(one.rows[0]) not in known:
                counts = " or ".join(str(number) for number in sorted(known))
                raise FieldError(
                    f"expected rows of {counts} numbers for {sections} sections, found "
                    f"{len(one.rows[0])}",
                    *("motions", index, "ends" if one.ends else "bends"),
                )
        return self
