"""Hands: palms, rigid and soft fingers, grasps, and the joints that actuators move.

A ``Hand`` has a frame at its palm, fingers, two named grasps (``power`` and ``precision``) and
optional preshapes, couplings, tendons and synergies. A hand may instead attach its own MJCF model
(``HandModel``); its ``fingers`` then describe what moves in that model. Fingers form trees: each
one stands on the palm or on a body of an earlier finger. A joint without an actuator follows
another joint or is passive; ``find_moved_bodies`` and ``posture_of`` follow these relations.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import Annotated, Any, Literal, Self

from pydantic import BeforeValidator, Field, model_validator

from softgrasp.description.actuation import Actuator, Coupling, Rates, Synergies, Tendon
from softgrasp.description.base import (
    Accepts,
    Description,
    FieldError,
    FieldPath,
    NonNegative,
    Number,
    Positive,
    Vec3,
    Vec4,
    require_unique,
)
from softgrasp.description.contact import (
    AdhesionPad,
    ContactOverride,
    SpecifiedContact,
    SuctionCup,
    adhesion_actuator,
)
from softgrasp.description.finger import Finger, Phalanx
from softgrasp.description.geometry import Part, Pose, Shape
from softgrasp.description.soft_finger import MountedSoftFinger
from softgrasp.errors import did_you_mean

Name = Annotated[str, Field(min_length=1)]
"""A name that is not empty."""
RESERVED_PREFIXES = ("object", "palm", "")
"""Prefixes that names of fingers cannot have, because other bodies have them."""
RESERVED_NAMES = ("table", "arm", "wrist", "world")
"""Names of other bodies of a scene."""


# Palms, grasps and preshapes.
class Palm(Description):
    """The body that carries the fingers; its contacts are detected like those of a phalanx."""

    kind: Literal["auto", "none", "shape"] = "auto"
    """``auto``: a solid around the finger bases, none where they coincide."""
    shape: Shape | None = None
    """Shape of a palm of kind ``shape``."""
    pose: Pose = Pose()
    """Pose of ``shape`` in the hand's frame; of a mesh, the pose of its file's frame."""
    parts: tuple[Part, ...] = ()
    """Further shapes of a palm of kind ``shape``."""
    margin: Positive | None = None
    """Distance by which an ``auto`` palm extends beyond the bases [m]; 0.9 × the largest radius by
    default."""
    fingers: tuple[str, ...] = ()
    """Fingers whose bases an ``auto`` palm encloses; all by default."""

    @model_validator(mode="after")
    def _shape_goes_with_kind(self) -> Self:
        if (self.kind == "shape") != (self.shape is not None):
            raise ValueError(
                f"expected a shape exactly with kind 'shape', found kind {self.kind!r} and "
                f"{'no shape' if self.shape is None else 'a shape'}"
            )
        return self


class FurtherPalm(Palm):
    """Another palm of a hand that consists of two hands; a body fixed to the first palm."""

    name: Annotated[str, Field(pattern=r"^[A-Za-z]\w*_palm$")]
    """Name of its body, such as ``left_palm``."""


class GraspPreset(Description):
    """Parameters of one of the named grasps of a hand."""

    center: Vec3
    """Position of the object's centre in the hand's frame [m]."""
    rates: Rates
    """Closing rates of the actuators [rad/s, m/s or Pa/s]."""
    object_euler: Vec3 = (0.0, 0.0, 0.0)
    """Orientation of the object: angles about x, y, z of intrinsic z-y-x [rad]."""
    upright_euler: Vec3 | None = None
    """The same for objects that stand upright, for a hand that cannot grasp upright objects; by
    default they stand upright in the world [rad]."""
    start: tuple[Number, ...] | None = None
    """Start targets, one per actuator; ``start`` of the actuators by default."""
    pressure: Number | None = None
    """Final pressure of soft fingers [Pa]; their upper limits by default."""
    payload: Positive | None = None
    """Largest object mass that this grasp is meant to lift [kg]; for display and for the choice of
    a grasp."""
    from_above: bool = False
    """Whether the hand reaches down for an object on a table."""
    per_object: bool = False
    """Whether ``center``, orientation and ``rates`` are computed anew for each object, from those
    for a ball, as in imported hands without specified grasps; of hands with soft fingers only,
    ``center``, orientation and ``pressure``."""


class Grasps(Description):
    """The two named grasps of every hand."""

    power: GraspPreset
    """Grasp with palm and all links."""
    precision: GraspPreset
    """Grasp with the fingertips."""


class Preshape(Description):
    """A posture of the whole hand from which it can close."""

    name: Annotated[str, Field(min_length=1)]
    positions: tuple[Number, ...]
    """One target per actuator [rad, m or Pa]."""


def _from_mapping(value: Any) -> Any:
    """Convert ``{open: [...], pinch: [...]}`` to a list of preshapes."""
    if isinstance(value, Mapping):
        return [{"name": name, "positions": positions} for name, positions in value.items()]
    return value


Preshapes = Accepts[
    Annotated[tuple[Preshape, ...], BeforeValidator(_from_mapping)],
    tuple[Preshape, ...] | Mapping[str, tuple[float, ...]],
]
"""Preshapes; in files a mapping of names to positions."""


# Hands with their own MJCF model.
class Move(Description):
    """Relation of a joint variable to an actuator target, unloaded: ``ratio`` · target + ``at``."""

    joint: Name
    """Joint that moves."""
    ratio: Number
    """Travel over that of the target [rad or m per unit of the target]."""
    at: Number = 0.0
    """Variable where the target is 0 [rad or m]."""


class ModelActuator(Description):
    """One actuator of the MJCF file, or a servo that was added to it."""

    actuator: Name
    """Its name in the file."""
    unit: Literal["rad", "m", ""] = ""
    """Unit of its target; empty for a number without unit, such as 0 … 255."""
    limits: tuple[Number, Number]
    """Lowest and highest target."""
    start: Number = 0.0
    """Target from which the hand closes."""
    moves: tuple[Move, ...] = ()
    """Joints that it moves; none for an actuator that stays at rest."""
    stops: tuple[str, ...] = ()
    """Bodies that it moves; their contact stops it."""
    press: tuple[NonNegative, NonNegative] | None = None
    """Force at the far end of what it moves, per unit that its target is ahead of contact [N per
    unit of the target], and per rate at which it closed [N·s per unit]; None if not known."""

    @property
    def joint(self) -> str | None:
        """Return the joint whose variable the target is; None if there is none."""
        plain = len(self.moves) == 1 and self.moves[0].ratio == 1.0 and self.moves[0].at == 0.0
        return self.moves[0].joint if plain else None

    @property
    def as_actuator(self) -> Actuator:
        """Convert to the actuator that closures use."""
        what = f"joint '{self.joint}'" if self.joint else f"actuator '{self.actuator}'"
        start, limits = self.start, self.limits
        return Actuator(self.actuator, what, self.unit, limits, start, self.stops, self.joint)


class AddedServo(Description):
    """A position servo for a joint or tendon that has none in the file."""

    joint: Name
    """Joint or tendon of the file that it moves."""
    on_tendon: bool = False
    """Whether it moves a tendon, whose length is its position."""
    pulls_only: bool = False
    """Whether it can shorten a tendon only."""
    actuator: Name
    """Name of the added actuator."""
    limits: tuple[Number, Number]
    """Range of its target [rad or m]."""
    stiffness: Positive
    """Position gain [N·m/rad or N/m]."""
    damping_ratio: NonNegative = 1.0
    """Damping over the critical one [–]."""
    force_limit: Positive
    """Largest torque or force [N·m or N]."""


class GeomFriction(Description):
    """Sliding friction that an MJCF file states for geoms of a hand."""

    geoms: tuple[Name, ...]
    """Names of the geoms."""
    friction: NonNegative | None
    """µ [–]; None where the file states none."""
    overrides: bool = False
    """Whether it applies at any object (``priority`` in the file); else the larger one of this and
    the object's, as in MuJoCo."""


class HandModel(Description):
    """An MJCF model, attached to the scene unchanged, and the data that closures need of it.

    Bodies, joints, actuators, tendons, equalities and sensors keep the names of the file.
    """

    file: Name
    """MJCF file: an absolute path, or a path relative to the library."""
    sha256: str | None = None
    """Hash of the file with all that it includes; a later run refuses files that have changed."""
    pose: Pose = Pose()
    """World frame of the file in the hand's frame."""
    prefix: str = ""
    """Prefix of every name of the file, where the scene already uses some of them."""
    palm: str = ""
    """Body that carries the fingers."""
    touching: tuple[str, ...] = ()
    """Bodies that can touch; those fixed to the palm first."""
    frictions: tuple[GeomFriction, ...] = ()
    """Friction of all geoms that can touch, where the file states that of any."""
    actuators: tuple[ModelActuator, ...]
    """Actuators of the file in their order, then added servos."""
    servos: tuple[AddedServo, ...] = ()
    """Actuators for joints that have none in the file."""
    gravity_compensation: bool = False
    """Whether the scene compensates the weight of all its bodies; else the file's own ``gravcomp``
    applies."""

    @property
    def plain(self) -> bool:
        """Return whether every actuator's target is the variable of exactly one joint."""
        return all(actuator.joint is not None for actuator in self.actuators)


# The hand.
class Hand(Description):
    """A hand of rigid phalanges, soft fingers or both; its frame is that of the palm.

    Its actuators are the driven joints of the rigid fingers, the pressures of their suction cups
    and adhesive pads, then the pressures of the soft fingers.
    """

    name: Annotated[str, Field(min_length=1)]
    fingers: tuple[Finger, ...] = ()
    """Rigid fingers."""
    couplings: tuple[Coupling, ...] = ()
    """Joints that follow others; they have no actuators."""
    tendons: tuple[Tendon, ...] = ()
    """Tendons that move its joints where it closes as an underactuated hand."""
    synergies: Synergies | None = None
    """Directions in which its joints move together."""
    soft_fingers: tuple[MountedSoftFinger, ...] = ()
    """Soft fingers under pressure."""
    model: HandModel | None = None
    """An MJCF model that is attached to the scene unchanged; ``fingers`` describe what moves in
    it."""
    grasps: Grasps
    """Its two grasps."""
    preshapes: Preshapes = ()  # type: ignore[assignment]
    """Named start postures."""
    grip_force: Positive | None = None
    """Force per finger with which position-controlled servos press [N]: it limits their torques
    where contact has stopped them (``PositionIncrementClosure.grip_force``); no limit by
    default."""
    palm: Palm = Palm()
    """Its palm, to which the fingers are fixed."""
    more_palms: tuple[FurtherPalm, ...] = ()
    """Further palms of a hand that consists of two hands."""
    palm_rgba: Vec4 | None = None
    """Colour of the palm in images, each part 0…1."""
    contact: SpecifiedContact = ContactOverride()  # type: ignore[assignment]
    """Contact of its surface; that of the touched object by default."""
    source: str = ""
    """Source of the numbers."""
    notes: tuple[str, ...] = ()
    """Repairs and assumptions of this description."""

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
        require_unique([*rigid, *soft], "finger name")
        for kind in ("name", "joint_name"):
            made = list(self._full_names(kind))
            require_unique(made, f"finger and {kind.replace('_', ' ')} together")
            for name, path in made if self.model is None else ():
                taken = name in RESERVED_NAMES or name.split("_")[0] in RESERVED_PREFIXES
                if taken or re.search(r"[\s/|]", name):
                    raise FieldError(
                        "expected names of fingers and phalanges without spaces, '/' and '|', and "
                        f"no finger named 'object' or 'palm', found '{name}'",
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
        more = [(palm, ("more_palms", k)) for k, palm in enumerate(self.more_palms)]
        require_unique(((palm.name, (*path, "name")) for palm, path in more), "palm name")
        known = [
            *(finger.name for finger in self.fingers),
            *(soft_finger.name for soft_finger in self.soft_fingers),
        ]
        palms: list[tuple[Palm, FieldPath]] = [(self.palm, ("palm",)), *more]
        for palm, location in palms:
            for name in palm.fingers:
                if name not in known:
                    hint = did_you_mean(name, known)
                    message = f"expected fingers of the hand, found '{name}'; {hint}"
                    raise FieldError(message, *location, "fingers")
        return self

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        for name, preset in self.grasps:
            try:
                preset.rates.for_fingers(self.actuator_counts, self.actuator_word)
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
        names = [(item.name, ("preshapes", i, "name")) for i, item in enumerate(self.preshapes)]
        require_unique(names, "preshape")
        for index, preshape in enumerate(self.preshapes):
            self._check_start(preshape.positions, ("preshapes", index, "positions"))
        return self

    def preshape(self, name: str) -> Preshape:
        """Return the preshape of a name.

        Raises:
            ValueError: There is none; names the existing ones.
        """
        known = {preshape.name: preshape for preshape in self.preshapes}
        if name in known:
            return known[name]
        hint = did_you_mean(name, known) if known else "it has none"
        raise ValueError(f"hand '{self.name}' has no preshape '{name}'; {hint}")

    def check_synergies(self, synergies: Synergies, path: FieldPath) -> None:
        """Refuse synergies of joints without actuators, or with a mean beyond joint limits.

        Args:
            synergies: The synergies.
            path: Path of the field that holds them.

        Raises:
            FieldError: Names the joint.
        """
        actuators = {
            actuator.joint: actuator for actuator in self.actuators if actuator.joint is not None
        }
        names = ((name, (*path, "joints", index)) for index, name in enumerate(synergies.joints))
        require_unique(names, "joint")
        for index, (name, mean) in enumerate(zip(synergies.joints, synergies.mean, strict=True)):
            if name not in actuators:
                raise FieldError(
                    f"expected a joint of '{self.name}' with an actuator, found '{name}'; "
                    f"{did_you_mean(name, actuators)}",
                    *(*path, "joints", index),
                )
            _require_inside(actuators[name], mean, (*path, "mean", index))

    def check_pressure(self, pressure: float, path: FieldPath, hint: str = "") -> None:
        """Refuse a final pressure [Pa] outside the limits of a soft finger, cup or pad.

        Args:
            pressure: The pressure [Pa].
            path: Path of the field that holds it.
            hint: End of the message.

        Raises:
            FieldError: It lies outside the limits of one of them, or there are none.
        """
        limited = [(digit.name, digit.as_actuator) for digit in self.soft_fingers]
        limited += [(body, adhesion_actuator(body, item)) for body, item in self.adhesions]
        if not limited:
            raise FieldError(
                f"expected none, as '{self.name}' has no soft fingers, found {pressure:g}", *path
            )
        for name, actuator in limited:
            low, high = actuator.limits
            if not low <= pressure <= high:
                limits, actual = actuator.format_values(low, high), actuator.format_values(pressure)
                raise FieldError(
                    f"expected a pressure inside the limits of '{name}', {limits}, "
                    f"found {actual}{hint}",
                    *path,
                )

    def _check_start(self, start: tuple[float, ...], path: FieldPath) -> None:
        count = sum(self.actuator_counts)
        if len(start) != count:
            raise FieldError(
                f"expected {count} numbers, one per {self.actuator_word}, found {len(start)}", *path
            )
        for index, (value, actuator) in enumerate(zip(start, self.actuators, strict=True)):
            _require_inside(actuator, value, (*path, index))

    @model_validator(mode="after")
    def _model_actuators_exist(self) -> Self:
        if self.model is None:
            return self
        if self.soft_fingers:
            raise FieldError("expected none beside a model, found some", "soft_fingers")
        if self.adhesions:
            raise FieldError("expected no adhesion beside a model, found some", "fingers")
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
    def actuator_counts(self) -> tuple[int, ...]:
        """Number of actuators of each finger; of an MJCF model, of the whole hand."""
        if self.model is not None:
            return (len(self.model.actuators),)
        rigid = (sum(row.driven for row in finger.phalanges) for finger in self.fingers)
        return (*rigid, *(1,) * (len(self.adhesions) + len(self.soft_fingers)))

    @cached_property
    def adhesions(self) -> tuple[tuple[str, SuctionCup | AdhesionPad], ...]:
        """Suction cups and adhesive pads of all fingers, with the bodies that carry them."""
        return tuple(adhesion for finger in self.fingers for adhesion in finger.adhesions)

    @cached_property
    def joints(self) -> tuple[Phalanx, ...]:
        """All phalanges of the rigid fingers, finger by finger."""
        return tuple(row for finger in self.fingers for row in finger.phalanges)

    @cached_property
    def rows_by_joint(self) -> dict[str, Phalanx]:
        """Phalanges of the rigid fingers by the names of their joints."""
        return {finger.joint_of(row): row for finger in self.fingers for row in finger.phalanges}

    @cached_property
    def driven_joints(self) -> tuple[tuple[Actuator, Phalanx], ...]:
        """Actuators whose targets are joint variables, and the phalanges that they move."""
        rows, actuators = self.rows_by_joint, self.actuators
        return tuple(
            (actuator, rows[actuator.joint]) for actuator in actuators if actuator.joint is not None
        )

    @cached_property
    def actuators(self) -> tuple[Actuator, ...]:
        """Actuators of the hand: joint servos, adhesions, pressures; or those of a model."""
        if self.model is not None:
            return tuple(part.as_actuator for part in self.model.actuators)
        stops = find_moved_bodies(self.fingers, self.couplings)
        rigid = (
            Actuator(name, f"joint '{name}'", row.unit, row.limits, row.start, stops[name], name)
            for name, row in self.rows_by_joint.items()
            if row.driven
        )
        sticking = (adhesion_actuator(*adhesion) for adhesion in self.adhesions)
        return (*rigid, *sticking, *(digit.as_actuator for digit in self.soft_fingers))

    def posture(self, targets: Sequence[float]) -> dict[str, float]:
        """Compute the variables of all rigid joints at actuator targets, by joint name.

        Args:
            targets: One per actuator [rad, m or Pa], in the order of ``actuators``; those of soft
                fingers are not used.
        """
        pairs = zip(self.actuators, targets, strict=True)
        led = {actuator.joint: target for actuator, target in pairs if actuator.joint is not None}
        if self.model is not None:
            led = list_led_joints(self.model, self.fingers, targets)
        return posture_of(self.fingers, self.couplings, led)

    @property
    def actuator_word(self) -> str:
        """Word for an actuator of this hand in messages."""
        if self.model is not None:
            return "actuator"
        if not self.soft_fingers and not self.adhesions:
            return "joint"
        return "actuator" if self.fingers else "soft finger"


def _require_inside(actuator: Actuator, value: float, path: FieldPath) -> None:
    """Refuse a target outside the limits of an actuator."""
    low, high = actuator.limits
    if not low <= value <= high:
        raise FieldError(
            f"expected {actuator.label} inside its limits "
            f"{actuator.format_values(low, high)}, found {actuator.format_values(value)}",
            *path,
        )


# Fingers on fingers, couplings and tendons.
def check_stands(fingers: Sequence[Finger]) -> None:
    """Refuse a finger whose parent body is not on an earlier finger.

    Raises:
        FieldError: For the field ``on``.
    """
    known: list[str] = []
    for index, finger in enumerate(fingers):
        if finger.on and finger.on not in known:
            hint = f"; {did_you_mean(finger.on, known)}" if known else ""
            raise FieldError(
                f"expected a body of an earlier finger, found '{finger.on}'{hint}",
                *("fingers", index, "on"),
            )
        known += [finger.body_of(row) for row in finger.phalanges]


def check_couplings(fingers: Sequence[Finger], couplings: Sequence[Coupling]) -> None:
    """Refuse couplings of joints that do not exist, that have an actuator, or that form a cycle.

    Raises:
        FieldError: Names the coupling.
    """
    rows = {finger.joint_of(row): row for finger in fingers for row in finger.phalanges}
    leader_of: dict[str, str] = {}
    for index, coupling in enumerate(couplings):
        for field in ("joint", "leader"):
            name = getattr(coupling, field)
            if name not in rows:
                raise FieldError(
                    f"expected a joint of the hand, found '{name}'; {did_you_mean(name, rows)}",
                    *("couplings", index, field),
                )
        name = coupling.joint
        if rows[name].driven:
            message = f"a joint with driven: false, found '{name}', which has an actuator"
            raise FieldError(f"expected {message}", *("couplings", index, "joint"))
        if name in leader_of:
            message = f"expected one coupling per joint, found two of '{name}'"
            raise FieldError(message, *("couplings", index, "joint"))
        leader_of[name] = coupling.leader
        if name in _leaders(name, leader_of):
            message = f"expected couplings without a cycle, found one through '{name}'"
            raise FieldError(message, *("couplings", index, "leader"))


def check_tendons(
    fingers: Sequence[Finger], couplings: Sequence[Coupling], tendons: Sequence[Tendon]
) -> None:
    """Refuse tendons over joints that do not exist, follow another joint or have a tendon.

    Raises:
        FieldError: Names the tendon.
    """
    known = [finger.joint_of(row) for finger in fingers for row in finger.phalanges]
    followers = {coupling.joint for coupling in couplings}
    names = ((tendon.name, ("tendons", index, "name")) for index, tendon in enumerate(tendons))
    require_unique(names, "tendon")
    taken: dict[str, str] = {}
    for index, tendon in enumerate(tendons):
        for position_index, pulley in enumerate(tendon.pulleys):
            name, where = pulley.joint, ("tendons", index, "pulleys", position_index, "joint")
            if name not in known:
                raise FieldError(
                    f"expected a joint of the hand, found '{name}'; {did_you_mean(name, known)}",
                    *where,
                )
            if name in followers:
                raise FieldError(
                    f"expected a joint that does not follow another one, found '{name}'", *where
                )
            if name in taken:
                raise FieldError(
                    f"expected a joint without a tendon, found '{name}', over which tendon "
                    f"'{taken[name]}' runs",
                    *where,
                )
            taken[name] = tendon.name


def _leaders(name: str, leader_of: dict[str, str]) -> Iterator[str]:
    """Yield the joints that a joint follows, the nearest first; a cycle is passed once."""
    seen: set[str] = set()
    while name in leader_of and name not in seen:
        seen.add(name)
        name = leader_of[name]
        yield name


def find_moved_bodies(
    fingers: Sequence[Finger], couplings: Sequence[Coupling]
) -> dict[str, tuple[str, ...]]:
    """Return the bodies that can touch and that each joint moves, by joint name.

    Bodies of joints that follow it are included: a joint stops where its phalanx or a later one
    touches (Pozzi et al. 2022, §2.2.3.2).
    """
    behind = {
        finger.joint_of(row): _behind(fingers, finger, index)
        for finger in fingers
        for index, row in enumerate(finger.phalanges)
    }
    leader_of = {coupling.joint: coupling.leader for coupling in couplings}
    moved = {name: dict.fromkeys(bodies) for name, bodies in behind.items()}
    for follower in leader_of:
        for leader in _leaders(follower, leader_of):
            moved[leader] |= dict.fromkeys(behind[follower])
    return {name: tuple(bodies) for name, bodies in moved.items()}


def _behind(fingers: Sequence[Finger], finger: Finger, index: int) -> list[str]:
    """Return the bodies that can touch from a phalanx outwards, with the fingers on them."""
    rows = finger.phalanges[index:]
    stands = {finger.body_of(row) for row in rows}
    bodies = [body for row in rows for body in finger.bodies_of(row)]
    for other in fingers:
        if other.on in stands:
            bodies += _behind(fingers, other, 0)
    return bodies


def list_led_joints(
    model: HandModel, fingers: Sequence[Finger], targets: Sequence[float]
) -> dict[str, float]:
    """Compute the joint variables of an MJCF hand at actuator targets, within limits [rad or m].

    Returns:
        Joint variables by name; joints that no actuator moves are absent.
    """
    limits = {finger.joint_of(row): row.limits for finger in fingers for row in finger.phalanges}
    led = {}
    for actuator, target in zip(model.actuators, targets, strict=True):
        for move in actuator.moves:
            low, high = limits[move.joint]
            led[move.joint] = min(max(move.ratio * target + move.at, low), high)
    return led


def posture_of(
    fingers: Sequence[Finger], couplings: Sequence[Coupling], led: Mapping[str, float]
) -> dict[str, float]:
    """Compute all rigid joint variables from known ones, coupled ones from their leaders.

    Joints that follow take the values of their leaders; others have their start values.
    """
    values = {finger.joint_of(row): row.start for finger in fingers for row in finger.phalanges}
    values |= led
    by_joint = {coupling.joint: coupling for coupling in couplings}
    settled = set(values) - set(by_joint)

    def settle(name: str) -> float:
        if name not in settled:
            coupling = by_joint[name]
            values[name] = coupling.ratio * settle(coupling.leader) + coupling.offset
            settled.add(name)
        return values[name]

    for name in by_joint:
        settle(name)
    return values
