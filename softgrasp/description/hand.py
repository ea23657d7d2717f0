"""A hand: a palm and fingers, with its two named grasps."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import Annotated, Any, Literal, Self

from pydantic import BeforeValidator, Field, model_validator

from softgrasp.description.actuation import Actuator, Coupling, Rates, Synergies, Tendon
from softgrasp.description.base import (
    Description,
    FieldError,
    FieldPath,
    NonNegative,
    Number,
    Positive,
    Vec3,
    Vec4,
    refuse_twins,
)
from softgrasp.description.contact import Contact
from softgrasp.description.finger import Finger, Phalanx
from softgrasp.description.geometry import Part, Pose, Shape
from softgrasp.description.soft_finger import MountedSoftFinger
from softgrasp.errors import did_you_mean

# --------------------
# Named start postures of a hand.


class Preshape(Description):
    """A posture of the whole hand from which it can close."""

    name: Annotated[str, Field(min_length=1)]
    positions: tuple[Number, ...]
    """One number a drive [rad, m or Pa]."""


def _from_mapping(value: Any) -> Any:
    """``{open: [...], pinch: [...]}`` as a list of preshapes."""
    if isinstance(value, Mapping):
        return [{"name": name, "positions": positions} for name, positions in value.items()]
    return value


Preshapes = Annotated[tuple[Preshape, ...], BeforeValidator(_from_mapping)]
"""In files a mapping of names to positions."""


# --------------------
# A hand that somebody has modelled already: its MJCF file, and what of it moves and can touch.


Name = Annotated[str, Field(min_length=1)]


class Move(Description):
    """How a drive places a joint where nothing resists: variable = ``ratio`` · target + ``at``."""

    joint: Name
    ratio: Number
    """[rad or m per unit of the target]"""
    at: Number = 0.0
    """[rad or m]"""


class ModelActuator(Description):
    """One actuator of the file, or a servo that was added to it."""

    actuator: Name
    unit: Literal["rad", "m", ""] = ""
    """Of its target; empty for a number without one, such as 0 … 255."""
    limits: tuple[Number, Number]
    """Lowest and highest target."""
    start: Number = 0.0
    """Target from which the hand closes."""
    moves: tuple[Move, ...] = ()
    """Joints that it leads; none for an actuator that stays at rest."""
    stops: tuple[str, ...] = ()
    """Bodies that it moves: their contact stops it."""

    @property
    def joint(self) -> str | None:
        """The joint whose variable its target is, where it is one."""
        plain = len(self.moves) == 1 and self.moves[0].ratio == 1.0 and self.moves[0].at == 0.0
        return self.moves[0].joint if plain else None

    @property
    def as_actuator(self) -> Actuator:
        """The drive as closures know it."""
        what = f"joint '{self.joint}'" if self.joint else f"actuator '{self.actuator}'"
        start, limits = self.start, self.limits
        return Actuator(self.actuator, what, self.unit, limits, start, self.stops, self.joint)


class AddedServo(Description):
    """A position servo for a joint that the file leaves without one."""

    joint: Name
    actuator: Name
    limits: tuple[Number, Number]
    """[rad or m]"""
    stiffness: Positive
    """Position gain [N·m/rad or N/m]."""
    damping_ratio: NonNegative = 1.0
    """[–]"""
    force_limit: Positive
    """[N·m or N]"""


class HandModel(Description):
    """A model in MJCF that is attached to the scene as it is, and what a closure needs of it.

    Bodies, joints, actuators, tendons, equalities and sensors are the file's own, under the names
    that it gives them.
    """

    file: Name
    """MJCF file: absolute, or as the library names it."""
    sha256: str | None = None
    """Hash of the file with all that it includes; a later run refuses files that have changed."""
    pose: Pose = Pose()
    """The world of the file in the hand's frame."""
    prefix: str = ""
    """Before every name of the file, where some are taken by the scene."""
    palm: str = ""
    """Body from which the fingers branch off."""
    touching: tuple[str, ...] = ()
    """Bodies that can touch, those fixed to the palm first."""
    actuators: tuple[ModelActuator, ...]
    """The actuators of the file in their order, then added servos."""
    servos: tuple[AddedServo, ...] = ()

    @property
    def plain(self) -> bool:
        """Whether every drive is the variable of one joint."""
        return all(actuator.joint is not None for actuator in self.actuators)


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
            _require_inside(actuators[name], mean, (*path, "mean", index))

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
                limits, actual = digit.format_values(low, high), digit.format_values(pressure)
                raise FieldError(
                    f"expected a pressure inside the limits of '{digit.name}', {limits}, "
                    f"found {actual}{hint}",
                    *path,
                )

    def _check_start(self, start: tuple[float, ...], path: FieldPath) -> None:
        count = sum(self.rows)
        if len(start) != count:
            raise FieldError(
                f"expected {count} numbers, one a {self.actuator_word}, found {len(start)}", *path
            )
        for index, (value, actuator) in enumerate(zip(start, self.actuators, strict=True)):
            _require_inside(actuator, value, (*path, index))

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


def _require_inside(actuator: Actuator, value: float, path: FieldPath) -> None:
    """Refuse a target outside the limits of an actuator."""
    low, high = actuator.limits
    if not low <= value <= high:
        raise FieldError(
            f"expected {actuator.label} inside its limits "
            f"{actuator.format_values(low, high)}, found {actuator.format_values(value)}",
            *path,
        )


# --------------------
# How the fingers of a hand hang together: what stands on, follows and moves what.
#
# A finger stands on the palm, or on a body of an earlier finger; so chains make trees. A joint
# without a drive of its own follows another one, or is passive.


def check_stands(fingers: Sequence[Finger]) -> None:
    """Refuse a finger that stands on nothing that comes before it.

    Raises:
        FieldError: Its ``on`` names no body of an earlier finger.
    """
    known: list[str] = []
    for index, finger in enumerate(fingers):
        if finger.on and finger.on not in known:
            hint = f"; {did_you_mean(finger.on, known)}" if known else ""
            raise FieldError(
                f"expected a body of an earlier finger, found '{finger.on}'{hint}",
                "fingers",
                index,
                "on",
            )
        known += [finger.body_of(row) for row in finger.phalanges]


def check_couplings(fingers: Sequence[Finger], couplings: Sequence[Coupling]) -> None:
    """Refuse couplings of joints that do not exist, have a drive, or follow in a circle.

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
                    "couplings",
                    index,
                    field,
                )
        name = coupling.joint
        if rows[name].driven:
            raise FieldError(
                f"expected a joint with driven: false, found '{name}', which has a drive",
                "couplings",
                index,
                "joint",
            )
        if name in leader_of:
            raise FieldError(
                f"expected one coupling a joint, found two of '{name}'", "couplings", index, "joint"
            )
        leader_of[name] = coupling.leader
        if name in _leaders(name, leader_of):
            raise FieldError(
                f"expected a leader that does not follow, found a circle through '{name}'",
                "couplings",
                index,
                "leader",
            )


def check_tendons(
    fingers: Sequence[Finger], couplings: Sequence[Coupling], tendons: Sequence[Tendon]
) -> None:
    """Refuse tendons over joints that do not exist, follow another one, or have a tendon already.

    Raises:
        FieldError: Names the tendon.
    """
    known = [finger.joint_of(row) for finger in fingers for row in finger.phalanges]
    followers = {coupling.joint for coupling in couplings}
    refuse_twins(
        ((tendon.name, ("tendons", index, "name")) for index, tendon in enumerate(tendons)),
        "tendon",
    )
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
    """The joints that one follows, the nearest first; a circle is gone round once."""
    seen: set[str] = set()
    while name in leader_of and name not in seen:
        seen.add(name)
        name = leader_of[name]
        yield name


def moved_bodies(
    fingers: Sequence[Finger], couplings: Sequence[Coupling]
) -> dict[str, tuple[str, ...]]:
    """Bodies that can touch and that a joint moves, with those that follow it, by its name.

    The paper's rule is that a joint stops where its phalanx or a later one touches
    (Pozzi et al. 2022, §2.2.3).
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
    """Bodies that can touch from a row of a finger outwards, with what stands on them."""
    rows = finger.phalanges[index:]
    stands = {finger.body_of(row) for row in rows}
    bodies = [body for row in rows for body in finger.bodies_of(row)]
    for other in fingers:
        if other.on in stands:
            bodies += _behind(fingers, other, 0)
    return bodies


def led_joints(
    model: HandModel, fingers: Sequence[Finger], targets: Sequence[float]
) -> dict[str, float]:
    """Joints that the drives of a model lead, by name, as far as their limits let them [rad or m].

    Args:
        model: The model.
        fingers: What moves in it.
        targets: One a drive, in its unit.
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
    """Variables of all joints of the rigid fingers, by name, with some of them given.

    Joints that follow stand where their leaders have them; others where they start.

    Args:
        fingers: The rigid fingers.
        couplings: What follows what.
        led: Joint variables that are given, by name [rad or m].
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
