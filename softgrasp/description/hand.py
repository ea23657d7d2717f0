"""A hand: a palm and fingers, with its two named grasps."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from softgrasp.description.base import Description, Number, Positive, Vec3, Vec4
from softgrasp.description.contact import Contact
from softgrasp.description.coupling import Coupling
from softgrasp.description.drive import Actuator
from softgrasp.description.finger import Finger, Phalanx
from softgrasp.description.hand_model import HandModel
from softgrasp.description.hand_tree import (
    check_couplings,
    check_stands,
    check_tendons,
    led_joints,
    moved_bodies,
    posture_of,
)
from softgrasp.description.pose import Pose
from softgrasp.description.preshape import Preshape, Preshapes
from softgrasp.description.problems import FieldError, FieldPath, refuse_twins
from softgrasp.description.rates import Rates
from softgrasp.description.shapes import Part, Shape
from softgrasp.description.soft_digit import MountedSoftFinger
from softgrasp.description.synergies import Synergies
from softgrasp.description.tendon import Tendon
from softgrasp.errors import did_you_mean

TAKEN = ("object", "palm", "")
"""What names of fingers cannot begin with: other bodies are called so."""
RESERVED = ("table", "arm", "wrist", "world")


class Palm(Description):
    """The body that the fingers stand on; it senses contact like a phalanx."""

    kind: Literal["auto", "none", "shape"] = "auto"
    """``auto``: a solid around the finger bases, none where they coincide."""
    shape: Shape | None = None
    pose: Pose = Pose()
    """Pose of ``shape`` in the hand's frame; of a mesh, the pose of its file's frame."""
    parts: tuple[Part, ...] = ()
    """More shapes of a palm of kind ``shape``."""
    margin: Positive | None = None
    """How far an ``auto`` palm reaches around the bases [m]; 0.9 × the largest radius."""
    fingers: tuple[str, ...] = ()
    """Fingers around whose bases an ``auto`` palm lies; all where none is named."""

    @model_validator(mode="after")
    def _shape_goes_with_kind(self) -> Self:
        if (self.kind == "shape") != (self.shape is not None):
            raise ValueError(
                f"expected a shape exactly with kind 'shape', found kind {self.kind!r} and "
                f"{'no shape' if self.shape is None else 'a shape'}"
            )
        return self


class FurtherPalm(Palm):
    """Another palm of a hand that is two, fixed to the first one; a body of its own."""

    name: Annotated[str, Field(pattern=r"^[A-Za-z]\w*_palm$")]
    """Of its body: ``left_palm``."""


class GraspPreset(Description):
    """How a hand takes an object in one of its named grasps."""

    center: Vec3
    """Where the object's centre goes in the hand's frame [m]."""
    rates: Rates
    """Closing rates of the drives [rad/s, m/s or Pa/s]."""
    object_euler: Vec3 = (0.0, 0.0, 0.0)
    """Orientation of the object, turns about x, y, z of intrinsic z-y-x [rad]."""
    upright_euler: Vec3 | None = None
    """The same of objects that are to stand upright, for a hand that cannot take them so; where it
    is not given they stand upright in the world [rad]."""
    start: tuple[Number, ...] | None = None
    """Where to close from, one number a drive, instead of the drives' own ``start``."""
    pressure: Number | None = None
    """Where the pressure of soft fingers stops growing [Pa]; at their limit where not given."""
    payload: Positive | None = None
    """Heaviest object that this grasp is meant to lift [kg]; for show and for choosing a grasp."""
    from_above: bool = False
    """Whether the hand reaches down for an object that stands on a table."""


class Grasps(Description):
    """The two named grasps of every hand."""

    power: GraspPreset
    precision: GraspPreset


class Hand(Description):
    """A hand of rigid phalanges, soft fingers or both; its frame is the palm's.

    Its drives are the joints of the rigid fingers, then the pressures of the soft ones.
    """

    name: Annotated[str, Field(min_length=1)]
    fingers: tuple[Finger, ...] = ()
    couplings: tuple[Coupling, ...] = ()
    """Joints that follow others; they have no drive of their own."""
    tendons: tuple[Tendon, ...] = ()
    """Tendons that drive its joints where it closes as an underactuated hand."""
    synergies: Synergies | None = None
    """Directions in which its joints move together."""
    soft_fingers: tuple[MountedSoftFinger, ...] = ()
    model: HandModel | None = None
    """A model of its own in MJCF, which is attached to the scene as it is; ``fingers`` tell what
    moves in it."""
    grasps: Grasps
    preshapes: Preshapes = ()
    """Named postures to close from, instead of the drives' own ``start``."""
    palm: Palm = Palm()
    more_palms: tuple[FurtherPalm, ...] = ()
    """Palms of a hand that is two hands."""
    palm_rgba: Vec4 | None = None
    contact: Contact | None = None
    """Contact of its skin with what it touches; that of the object where it is not given."""
    source: str = ""
    """Where the numbers come from."""
    notes: tuple[str, ...] = ()
    """What was repaired or assumed in this description."""

    @model_validator(mode="after")
    def _some_finger(self) -> Self:
        if not self.fingers and not self.soft_fingers:
            raise FieldError("expected at least one finger, found none", "fingers")
        check_stands(self.fingers)
        check_couplings(self.fingers, self.couplings)
        check_tendons(self.fingers, self.couplings, self.tendons)
        return self

    @model_validator(mode="after")
    def _usable_names(self) -> Self:
        rigid = [(f.name, ("fingers", index)) for index, f in enumerate(self.fingers)]
        soft = [(f.name, ("soft_fingers", index)) for index, f in enumerate(self.soft_fingers)]
        refuse_twins([*rigid, *soft], "finger name")
        for kind in ("name", "joint_name"):
            made = list(self._full_names(kind))
            refuse_twins(made, f"finger and {kind.replace('_', ' ')} together")
            for name, path in made if self.model is None else ():
                if re.search(r"[\s/|]", name) or name in RESERVED or name.split("_")[0] in TAKEN:
                    raise FieldError(
                        "expected names of fingers and phalanges without spaces, '/' and '|', and "
                        f"no finger called 'object' or 'palm', found '{name}'",
                        *path,
                    )
        return self

    def _full_names(self, kind: str) -> Iterator[tuple[str, FieldPath]]:
        for finger_index, finger in enumerate(self.fingers):
            full = finger.body_of if kind == "name" else finger.joint_of
            for index, row in enumerate(finger.phalanges):
                yield full(row), ("fingers", finger_index, "phalanges", index)
        for finger_index, digit in enumerate(self.soft_fingers):
            letter = "L" if kind == "name" else "J"
            for index in range(1, len(digit.finger.joints) + 1):
                yield f"{digit.name}_{letter}{index}", ("soft_fingers", finger_index)

    @model_validator(mode="after")
    def _palms_of_fingers(self) -> Self:
        refuse_twins(
            ((palm.name, ("more_palms", k, "name")) for k, palm in enumerate(self.more_palms)),
            "palm name",
        )
        known = [finger.name for finger in self.fingers]
        known += [digit.name for digit in self.soft_fingers]
        palms: list[tuple[Palm, FieldPath]] = [(self.palm, ("palm",))]
        palms += [(palm, ("more_palms", k)) for k, palm in enumerate(self.more_palms)]
        for palm, location in palms:
            for name in palm.fingers:
                if name not in known:
                    raise FieldError(
                        f"expected fingers of the hand, found '{name}'; "
                        f"{did_you_mean(name, known)}",
                        *location,
                        "fingers",
                    )
        return self

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        for name, preset in self.grasps:
            try:
                preset.rates.for_fingers(self.rows, self.actuator_word)
            except ValueError as error:
                raise FieldError(str(error), "grasps", name, "rates") from None
            if preset.start is not None:
                self._check_start(preset.start, ("grasps", name, "start"))
            if preset.pressure is not None:
                self.check_pressure(preset.pressure, ("grasps", name, "pressure"))
        if self.synergies is not None:
            self.check_synergies(self.synergies, ("synergies",))
        return self

    @model_validator(mode="after")
    def _usable_preshapes(self) -> Self:
        names = [(one.name, ("preshapes", i, "name")) for i, one in enumerate(self.preshapes)]
        refuse_twins(names, "preshape")
        for index, preshape in enumerate(self.preshapes):
            self._check_start(preshape.positions, ("preshapes", index, "positions"))
        return self

    def preshape(self, name: str) -> Preshape:
        """The posture of a name.

        Raises:
            ValueError: There is none; names those that there are.
        """
        for preshape in self.preshapes:
            if preshape.name == name:
                return preshape
        known = [preshape.name for preshape in self.preshapes]
        hint = did_you_mean(name, known) if known else "it has none"
        raise ValueError(f"hand '{self.name}' has no preshape '{name}'; {hint}")

    def check_synergies(self, synergies: Synergies, path: FieldPath) -> None:
        """Refuse synergies of joints that this hand does not have, or cannot bring to their mean.

        Args:
            synergies: The synergies.
            path: Where they stand.

        Raises:
            FieldError: Names the joint.
        """
        actuators = {
            actuator.joint: actuator for actuator in self.actuators if actuator.joint is not None
        }
        refuse_twins(
            ((name, (*path, "joints", index)) for index, name in enumerate(synergies.joints)),
            "joint",
        )
        for index, (name, mean) in enumerate(zip(synergies.joints, synergies.mean, strict=True)):
            if name not in actuators:
                raise FieldError(
                    f"expected a joint of '{self.name}' with a drive, found '{name}'; "
                    f"{did_you_mean(name, actuators)}",
                    *path,
                    "joints",
                    index,
                )
            low, high = actuators[name].limits
            if not low <= mean <= high:
                raise FieldError(
                    f"expected {actuators[name].label} inside its limits "
                    f"{actuators[name].format_values(low, high)}, found {actuators[name].format_values(mean)}",
                    *path,
                    "mean",
                    index,
                )

    def check_pressure(self, pressure: float, path: FieldPath, hint: str = "") -> None:
        """Refuse a working pressure [Pa] that not all soft fingers can have.

        Args:
            pressure: The pressure [Pa].
            path: Where it stands.
            hint: What else to tell.

        Raises:
            FieldError: It lies outside the limits of one, or there are none.
        """
        if not self.soft_fingers:
            raise FieldError(
                f"expected none, as '{self.name}' has no soft fingers, found {pressure:g}", *path
            )
        for digit in self.soft_fingers:
            low, high = digit.limits
            if not low <= pressure <= high:
                raise FieldError(
                    f"expected a pressure inside the limits of '{digit.name}', "
                    f"{digit.format_values(low, high)}, found {digit.format_values(pressure)}{hint}",
                    *path,
                )

    def _check_start(self, start: tuple[float, ...], path: FieldPath) -> None:
        if len(start) != sum(self.rows):
            raise FieldError(
                f"expected {sum(self.rows)} numbers, one a {self.actuator_word}, found {len(start)}",
                *path,
            )
        for index, (value, actuator) in enumerate(zip(start, self.actuators, strict=True)):
            low, high = actuator.limits
            if not low <= value <= high:
                raise FieldError(
                    f"expected {actuator.label} inside its limits "
                    f"{actuator.format_values(low, high)}, found {actuator.format_values(value)}",
                    *path,
                    index,
                )

    @model_validator(mode="after")
    def _model_actuators_exist(self) -> Self:
        if self.model is None:
            return self
        if self.soft_fingers:
            raise FieldError("expected none beside a model, found some", "soft_fingers")
        known = {finger.joint_of(row) for finger in self.fingers for row in finger.phalanges}
        for index, actuator in enumerate(self.model.actuators):
            for move_index, move in enumerate(actuator.moves):
                if move.joint not in known:
                    raise FieldError(
                        f"expected a joint of the hand, found '{move.joint}'; "
                        f"{did_you_mean(move.joint, known)}",
                        *("model", "actuators", index, "moves", move_index, "joint"),
                    )
        return self

    @cached_property
    def rows(self) -> tuple[int, ...]:
        """Number of drives of each finger; of a model, whose drives may move several, of all."""
        if self.model is not None:
            return (len(self.model.actuators),)
        rigid = (sum(row.driven for row in finger.phalanges) for finger in self.fingers)
        return (*rigid, *(1,) * len(self.soft_fingers))

    @cached_property
    def joints(self) -> tuple[Phalanx, ...]:
        """All rows of the rigid fingers, finger by finger."""
        return tuple(row for finger in self.fingers for row in finger.phalanges)

    @cached_property
    def rows_by_joint(self) -> dict[str, Phalanx]:
        """The rows of the rigid fingers by the names of their joints."""
        return {finger.joint_of(row): row for finger in self.fingers for row in finger.phalanges}

    @cached_property
    def driven_joints(self) -> tuple[tuple[Actuator, Phalanx], ...]:
        """The drives that are joints, and the rows that they move."""
        rows = self.rows_by_joint
        return tuple(
            (actuator, rows[actuator.joint])
            for actuator in self.actuators
            if actuator.joint is not None
        )

    @cached_property
    def actuators(self) -> tuple[Actuator, ...]:
        """What moves the hand: joints that are driven, then pressures; or a model's actuators."""
        if self.model is not None:
            return tuple(part.as_actuator for part in self.model.actuators)
        stops = moved_bodies(self.fingers, self.couplings)
        rigid = (
            Actuator(
                name=finger.joint_of(row),
                label=f"joint '{finger.joint_of(row)}'",
                unit=row.unit,
                limits=row.limits,
                start=row.start,
                stops=stops[finger.joint_of(row)],
                joint=finger.joint_of(row),
            )
            for finger in self.fingers
            for row in finger.phalanges
            if row.driven
        )
        return (*rigid, *(digit.as_actuator for digit in self.soft_fingers))

    def posture(self, targets: Sequence[float]) -> dict[str, float]:
        """The variables of all joints of the rigid fingers, by name, with the drives at targets.

        Args:
            targets: One a drive [rad, m or Pa], as ``actuators`` has them; of soft fingers unused.
        """
        pairs = zip(self.actuators, targets, strict=True)
        led = {actuator.joint: target for actuator, target in pairs if actuator.joint is not None}
        if self.model is not None:
            led = led_joints(self.model, self.fingers, targets)
        return posture_of(self.fingers, self.couplings, led)

    @property
    def actuator_word(self) -> str:
        """What a sentence calls one drive of this hand."""
        if self.model is not None:
            return "actuator"
        if not self.soft_fingers:
            return "joint"
        return "actuator" if self.fingers else "soft finger"
