"""A hand: a palm and fingers, with its two named grasps."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Annotated, Literal, Self

from pydantic import Field, field_validator, model_validator

from softgrasp.description.base import Description, Number, Positive, Vec3, Vec4
from softgrasp.description.closure import Rates
from softgrasp.description.finger import Finger, Phalanx
from softgrasp.description.pose import Pose
from softgrasp.description.problems import FieldError, Place, refuse_twins
from softgrasp.description.shapes import Shape


class Palm(Description):
    """The body that the fingers stand on; it senses contact like a phalanx."""

    kind: Literal["auto", "none", "shape"] = "auto"
    """``auto``: a solid around the finger bases, none where they coincide."""
    shape: Shape | None = None
    pose: Pose = Pose()
    """Pose of ``shape`` in the hand's frame; of a mesh, the pose of its file's frame."""
    margin: Positive | None = None
    """How far an ``auto`` palm reaches around the bases [m]; 0.9 × the largest radius."""

    @model_validator(mode="after")
    def _shape_goes_with_kind(self) -> Self:
        if (self.kind == "shape") != (self.shape is not None):
            raise ValueError(
                f"expected a shape exactly with kind 'shape', found kind {self.kind!r} and "
                f"{'no shape' if self.shape is None else 'a shape'}"
            )
        return self


class GraspPreset(Description):
    """How a hand takes an object in one of its named grasps."""

    center: Vec3
    """Where the object's centre goes in the hand's frame [m]."""
    rates: Rates
    """Closing rates of the joints [rad/s or m/s]."""
    object_euler: Vec3 = (0.0, 0.0, 0.0)
    """Orientation of the object, turns about x, y, z of intrinsic z-y-x [rad]."""
    start: tuple[Number, ...] | None = None
    """Joint variables from which to close, one a joint, instead of the rows' ``start``."""


class Grasps(Description):
    """The two named grasps of every hand."""

    power: GraspPreset
    precision: GraspPreset


class Hand(Description):
    """A hand of rigid phalanges; its frame is the palm's."""

    name: Annotated[str, Field(min_length=1)]
    fingers: tuple[Finger, ...]
    grasps: Grasps
    palm: Palm = Palm()
    palm_rgba: Vec4 | None = None
    source: str = ""
    """Where the numbers come from."""
    notes: tuple[str, ...] = ()
    """What was repaired or assumed in this description."""

    @field_validator("fingers")
    @classmethod
    def _some_finger(cls, value: tuple[Finger, ...]) -> tuple[Finger, ...]:
        if not value:
            raise ValueError("expected at least one finger, found none")
        return value

    @model_validator(mode="after")
    def _usable_names(self) -> Self:
        fingers = ((f.name, ("fingers", index)) for index, f in enumerate(self.fingers))
        refuse_twins(fingers, "finger name")
        for kind in ("name", "joint_name"):
            made = list(self._full_names(kind))
            refuse_twins(made, f"finger and {kind.replace('_', ' ')} together")
            for name, path in made:
                if re.search(r"[\s/|]", name) or name.split("_")[0] in ("object", "palm", ""):
                    raise FieldError(
                        "expected names of fingers and phalanges without spaces, '/' and '|', and "
                        f"no finger called 'object' or 'palm', found '{name}'",
                        *path,
                    )
        return self

    def _full_names(self, kind: str) -> Iterator[tuple[str, Place]]:
        for place, finger in enumerate(self.fingers):
            for index, row in enumerate(finger.phalanges):
                name = f"{finger.name}_{getattr(row, kind)}"
                yield name, ("fingers", place, "phalanges", index)

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        for name, preset in self.grasps:
            try:
                preset.rates.for_fingers(self.rows)
            except ValueError as error:
                raise FieldError(str(error), "grasps", name, "rates") from None
            if preset.start is not None:
                self._check_start(preset.start, ("grasps", name, "start"))
        return self

    def _check_start(self, start: tuple[float, ...], path: Place) -> None:
        if len(start) != sum(self.rows):
            raise FieldError(
                f"expected {sum(self.rows)} numbers, one a joint, found {len(start)}", *path
            )
        owners = [finger.name for finger in self.fingers for _ in finger.phalanges]
        for index, (value, row) in enumerate(zip(start, self.joints, strict=True)):
            low, high = row.limits
            if not low <= value <= high:
                raise FieldError(
                    f"expected joint '{owners[index]}_{row.joint_name}' inside its limits "
                    f"{row.told(low, high)}, found {row.told(value)}",
                    *path,
                    index,
                )

    @property
    def rows(self) -> tuple[int, ...]:
        """Number of joints of each finger."""
        return tuple(len(finger.phalanges) for finger in self.fingers)

    @property
    def joints(self) -> tuple[Phalanx, ...]:
        """All rows, finger by finger."""
        return tuple(row for finger in self.fingers for row in finger.phalanges)
