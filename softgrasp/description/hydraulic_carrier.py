"""A water-hydraulic arm that carries a hand."""

from __future__ import annotations

from itertools import pairwise
from typing import Annotated, ClassVar, Self

from pydantic import Field, model_validator

from softgrasp.description.arm import HandCarrier
from softgrasp.description.base import NonNegative, Number
from softgrasp.description.hydraulic_arm import HydraulicArm
from softgrasp.description.hydraulic_drive import TipLoad
from softgrasp.description.pose import Pose
from softgrasp.description.problems import FieldError

CARRIER_LINKS = 4
"""Cells a section of an arm that carries a hand."""
ALONG_ARM = Pose(quaternion=(0.0, 1.0, 0.0, 0.0))
"""Half a turn about x: the hand's −z, where fingers point, is the axis of the arm."""


class HydraulicCarrier(HandCarrier):
    """A hydraulic arm with a hand at its end, and what its chambers do during a grasp.

    It bears the whole weight of the hand and of what the hand holds, and gives way to both. At the
    start it is at rest under its pressures and the hand's weight.
    """

    kind: ClassVar[str] = "hydraulic"
    motion_hint: ClassVar[str] = "its torques move it (arm.torques)"

    hydraulic: HydraulicArm
    """Its own gravity is not looked at: that of the scene counts. It has no load at the tip but
    the hand."""
    pressures: tuple[Number, ...] = ()
    """In all chambers at the start [Pa]; they stay where there are no torques. None are zeros."""
    torques: tuple[tuple[Number, ...], ...] = ()
    """Of the motors in time: rows of a time since the start of the run [s] and a torque a chamber
    [N·m], on straight lines between. The drives turn them into pressures."""
    links: Annotated[int, Field(strict=True, ge=1, le=64)] = CARRIER_LINKS
    """Rigid cells a section."""
    base: Pose | None = None
    """Where the arm is mounted in the world; its end then says where the hand starts, and the
    scene's ``hand_pose`` is not looked at. Where it is not given, it is mounted so that the hand
    starts at ``hand_pose``."""
    tool: Pose = ALONG_ARM
    """Frame of the hand in that of the arm's end."""
    palm_mass: NonNegative = 0.0
    """Of palm and flange together, at the origin of the hand's frame [kg]; a palm has none of its
    own, but that of a hand from a URDF or MJCF file may."""

    @property
    def name(self) -> str:
        """Of the arm."""
        return self.hydraulic.name

    @property
    def start(self) -> tuple[float, ...]:
        """Pressures at the start, one a chamber [Pa]."""
        return self.pressures or (0.0,) * len(self.hydraulic.chambers)

    @property
    def mounted(self) -> bool:
        """Whether its base has a pose in the world."""
        return self.base is not None

    @model_validator(mode="after")
    def _bears_only_the_hand(self) -> Self:
        if self.hydraulic.tip_load.replace(frame="tip") != TipLoad():
            raise FieldError(
                "expected none besides the hand, found another one", "hydraulic", "tip_load"
            )
        for index, section in enumerate(self.hydraulic.sections):
            if section.damping.rotational_drag:
                raise FieldError(
                    "expected none of an arm that carries a hand, found "
                    f"{section.damping.rotational_drag:g} N·m·s",
                    *("hydraulic", "sections", index, "damping", "rotational_drag"),
                )
        return self

    @model_validator(mode="after")
    def _has_its_chambers(self) -> Self:
        chambers = self.hydraulic.chambers
        if self.pressures and len(self.pressures) != len(chambers):
            raise FieldError(
                f"expected one a chamber ({len(chambers)}), found {len(self.pressures)}",
                "pressures",
            )
        for index, (chamber, pressure) in enumerate(zip(chambers, self.start, strict=True)):
            high = chamber.pressure_max
            if pressure < chamber.pressure_min or (high is not None and pressure > high):
                top = "any" if high is None else f"{high:g}"
                raise FieldError(
                    f"expected {chamber.pressure_min:g} to {top} Pa, found {pressure:g} Pa",
                    *("pressures", index),
                )
        return self

    @model_validator(mode="after")
    def _torques_in_time(self) -> Self:
        width = 1 + len(self.hydraulic.chambers)
        largest = self.hydraulic.drive.screw.torque_max
        for index, row in enumerate(self.torques):
            if len(row) != width:
                raise FieldError(
                    f"expected a time and one torque a chamber ({width} numbers), found {len(row)}",
                    *("torques", index),
                )
            strongest = max(row[1:], key=abs)
            if largest is not None and abs(strongest) > largest:
                raise FieldError(
                    f"expected torques of at most {largest:g} N·m, found {strongest:g} N·m",
                    *("torques", index),
                )
        for index, (above, below) in enumerate(pairwise(self.torques), start=1):
            if below[0] <= above[0]:
                raise FieldError(
                    f"expected a time after {above[0]:g} s, found {below[0]:g} s",
                    *("torques", index, 0),
                )
        return self
