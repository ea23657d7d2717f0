"""A hand: a palm and fingers, each finger a chain of Denavit–Hartenberg rows."""

from __future__ import annotations

import math
import re
from typing import Annotated, Any, Literal, Self

from pydantic import Field, field_validator, model_validator

from softgrasp.description.base import Description, NonNegative, Number, Positive, Vec3, Vec4
from softgrasp.description.closure import Rates
from softgrasp.description.pose import Pose
from softgrasp.description.shapes import Shape

ZERO_LENGTH = 1e-9
"""A row shorter than this [m] puts two joints in one place and carries no body."""

Convention = Literal["standard", "modified"]


class Phalanx(Description):
    """One Denavit–Hartenberg row: a joint and the rigid link behind it.

    ``standard``: T = Rz(theta)·Tz(d)·Tx(a)·Rx(alpha), the joint turns about z of the frame
    before (Siciliano et al. 2009). ``modified``: T = Rx(alpha)·Tx(a)·Rz(theta)·Tz(d), the joint
    turns about z of the frame behind (Craig 2005). The joint variable is added to ``theta``
    (revolute) or to ``d`` (prismatic).
    """

    name: str = ""
    """Unique in its finger; ``P1``, ``P2``, … by row where it is not given."""
    a: Number = 0.0
    """[m]"""
    alpha: Number = 0.0
    """[rad]"""
    d: Number = 0.0
    """[m]"""
    theta: Number = 0.0
    """Offset of the joint angle [rad]."""
    joint: Literal["revolute", "prismatic"] = "revolute"
    joint_name: str = ""
    """``J1``, ``J2``, … by row where it is not given."""
    limits: tuple[Number, Number] = (0.0, math.pi / 2)
    """Lowest and highest joint variable [rad or m]."""
    start: Number = 0.0
    """Joint variable from which the hand closes [rad or m]."""
    radius: Positive = 0.008
    """Radius of the capsule along the link [m]."""
    shape: Shape | None = None
    """A shape instead of the capsule."""
    shape_pose: Pose = Pose()
    """Pose of ``shape`` in the link's frame (the joint's frame at zero, turned by ``theta``); of a
    mesh, the pose of its file's frame."""
    mass: Positive | None = None
    """[kg]; exactly one of mass and density."""
    density: Positive | None = None
    """[kg/m³]"""
    servo_stiffness: Positive = 6.0
    """Position gain kp of the joint's servo [N·m/rad or N/m]."""
    servo_damping_ratio: NonNegative = 1.0
    """Damping ratio of the servo with the inertia that it moves [–]."""
    force_limit: Positive = 1.2
    """Largest torque or force of the servo [N·m or N]."""
    damping: NonNegative = 0.01
    """Viscous friction in the joint [N·m·s/rad or N·s/m]."""
    armature: NonNegative = 3e-3
    """Reflected inertia of the drive [kg·m² or kg]."""

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        if self.mass is not None and self.density is not None:
            raise ValueError("expected exactly one of mass and density, found both")
        low, high = self.limits
        if low > high:
            raise ValueError(f"expected limits (lowest, highest), found ({low:g}, {high:g})")
        if not low <= self.start <= high:
            raise ValueError(
                f"expected start inside the limits ({low:g}, {high:g}), found {self.start:g}"
            )
        return self


class Finger(Description):
    """A chain of phalanges from the palm outwards."""

    name: str
    base: Pose = Pose()
    """Frame of the first row in the hand's frame."""
    convention: Convention
    """Which Denavit–Hartenberg convention the rows follow; there is no default."""
    phalanges: tuple[Phalanx, ...]
    tip: Vec3 = (0.0, 0.0, 0.0)
    """End of the last link in the last frame [m]; ``modified`` rows need it to have a length."""

    @field_validator("phalanges", mode="before")
    @classmethod
    def _name_rows(cls, value: Any) -> Any:
        rows = value if isinstance(value, list | tuple) else ()
        if not rows:
            raise ValueError("expected at least one phalanx, found none")
        return [_named(row, index) for index, row in enumerate(rows, start=1)]

    @model_validator(mode="after")
    def _unique_names(self) -> Self:
        for kind in ("name", "joint_name"):
            _refuse_twins((getattr(row, kind) for row in self.phalanges), f"phalanx {kind}")
        return self

    @model_validator(mode="after")
    def _bodies_have_mass(self) -> Self:
        if self.convention == "standard" and self.tip != (0.0, 0.0, 0.0):
            raise ValueError(
                "tip: expected none with convention 'standard', whose last row already ends at "
                f"the fingertip; found {self.tip}"
            )
        if not any(self.has_body):
            raise ValueError(
                "expected at least one phalanx, found only rows of zero length without a body"
            )
        for index, (row, body) in enumerate(zip(self.phalanges, self.has_body, strict=True)):
            if body and row.mass is None and row.density is None:
                raise ValueError(
                    f"phalanges[{index}]: expected exactly one of mass and density, found neither"
                )
        return self

    @property
    def link_ends(self) -> tuple[Vec3, ...]:
        """End of each link in its own frame [m]: the origin of the next joint, or the tip.

        A link's frame stands at its joint, z along the joint axis, and moves with the joint.
        """
        rows = self.phalanges
        if self.convention == "standard":
            return tuple((row.a, 0.0, row.d) for row in rows)
        inner = (
            (row.a, -math.sin(row.alpha) * row.d, math.cos(row.alpha) * row.d) for row in rows[1:]
        )
        return (*inner, self.tip)

    @property
    def has_body(self) -> tuple[bool, ...]:
        """Which rows carry a link; one without length and without a shape does not."""
        return tuple(
            row.shape is not None or math.hypot(*end) > ZERO_LENGTH
            for row, end in zip(self.phalanges, self.link_ends, strict=True)
        )


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
        _refuse_twins((finger.name for finger in self.fingers), "finger name")
        for kind in ("name", "joint_name"):
            made = [f"{f.name}_{getattr(row, kind)}" for f in self.fingers for row in f.phalanges]
            _refuse_twins(made, f"finger and {kind.replace('_', ' ')} together")
            for name in made:
                if re.search(r"[\s/|]", name) or name.split("_")[0] in ("object", "palm", ""):
                    raise ValueError(
                        "expected names of fingers and phalanges without spaces, '/' and '|', and "
                        f"no finger called 'object' or 'palm', found '{name}'"
                    )
        return self

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        for name, preset in self.grasps:
            try:
                preset.rates.for_fingers(self.rows)
            except ValueError as error:
                raise ValueError(f"grasps.{name}.rates: {error}") from None
            if preset.start is not None:
                self._check_start(preset.start, f"grasps.{name}.start")
        return self

    def _check_start(self, start: tuple[float, ...], field: str) -> None:
        if len(start) != sum(self.rows):
            raise ValueError(
                f"{field}: expected {sum(self.rows)} numbers, one a joint, found {len(start)}"
            )
        owners = [finger.name for finger in self.fingers for _ in finger.phalanges]
        for value, owner, row in zip(start, owners, self.joints, strict=True):
            low, high = row.limits
            if not low <= value <= high:
                raise ValueError(
                    f"{field}: expected joint '{owner}_{row.joint_name}' inside its limits "
                    f"({low:g}, {high:g}), found {value:g}"
                )

    @property
    def rows(self) -> tuple[int, ...]:
        """Number of joints of each finger."""
        return tuple(len(finger.phalanges) for finger in self.fingers)

    @property
    def joints(self) -> tuple[Phalanx, ...]:
        """All rows, finger by finger."""
        return tuple(row for finger in self.fingers for row in finger.phalanges)


def _named(row: Any, index: int) -> Any:
    names = {"name": f"P{index}", "joint_name": f"J{index}"}
    if isinstance(row, Phalanx):
        return row.replace(**{key: getattr(row, key) or name for key, name in names.items()})
    if isinstance(row, dict):
        return row | {key: row.get(key) or name for key, name in names.items()}
    return row


def _refuse_twins(names: Any, what: str) -> None:
    seen: set[str] = set()
    for name in names:
        if name in seen:
            raise ValueError(f"expected unique names, found {what} '{name}' twice")
        seen.add(name)
