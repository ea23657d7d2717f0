"""Grasp scenes: the hand, the object and all conditions of one grasp, in one value.

``GraspScene`` holds everything that a run depends on; the rules that its parts have to satisfy
together are in ``scene_validation.py``. ``with_field`` changes one field of a scene by its path in
text, such as ``hand.fingers[0].phalanges[1].radius``, as the command line and sweeps do.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cached_property
from os import PathLike
from typing import Annotated, Any, Literal, Self

from pydantic import (
    Field,
    SerializationInfo,
    SerializerFunctionWrapHandler,
    ValidationInfo,
    field_validator,
    model_serializer,
    model_validator,
)

from softgrasp.description.actuation import Actuator
from softgrasp.description.arm import AnyArm, HandCarrier
from softgrasp.description.base import LARGEST, Accepts, Count, Description, Positive, Vec3
from softgrasp.description.closure import AnyClosure, DefaultClosure
from softgrasp.description.closure_base import ActuationModel, ClosingMotion
from softgrasp.description.contact import (
    Contact,
    ContactOverride,
    SourceValues,
    SpecifiedContact,
    resolve_contact,
)
from softgrasp.description.geometry import Pose
from softgrasp.description.hand import GraspPreset, Hand
from softgrasp.description.object import GraspObject, Lift, Mount, PlacedObject, Surrounding, Table
from softgrasp.description.scene_validation import SCENE_RULES
from softgrasp.description.sensor import AnySensor
from softgrasp.description.task import (
    ClosePhase,
    MovePhase,
    Phase,
    PreshapePhase,
    Sequence,
    SuccessCriterion,
    unfold,
)
from softgrasp.errors import DescriptionError, did_you_mean
from softgrasp.extensions import LOADERS

STANDARD_GRAVITY: Vec3 = (0.0, 0.0, -9.81)
"""Gravity of ``gravity=True`` [m/s²]."""
StepTime = Annotated[float, Field(strict=True, ge=1e-7, le=LARGEST)]


class Solver(Description):
    """Contact solver of the engine; the defaults are measured (docs/contact.md)."""

    integrator: Literal["discrete", "implicitfast", "euler"] | None = None
    """Default: ``discrete``, whose step is implicit in the contact force, so that every contact is
    stable (decision 0004); ``implicitfast`` on a compliant carrier, for whose tendons it is five
    times faster."""
    cone: Literal["elliptic", "pyramidal"] = "elliptic"
    """Friction cone of MuJoCo."""
    impratio: Positive = 1.2e6
    """Stiffness of friction over that of the normal direction [–]; creep decreases as
    1/impratio."""
    friction_rate: Positive | None = None
    """Rate b at which a sticking contact loses slip speed [1/s]: it slips on by v/b, and one that
    slides is lifted in proportion to b. Default: ``mechanics.friction_rate``, which balances the
    two (decision 0006)."""
    contact_dimension: Literal[1, 3, 4, 6] = 4
    """1 frictionless, 3 sliding, 4 with torsion, 6 with rolling friction."""
    impedance: Annotated[float, Field(ge=1e-4, lt=1, strict=True)] | None = None
    """Constant constraint impedance d [–]: a body in contact moves as if its mass were m/(1 − d).
    Default: 0.001; 0.5 for ``implicitfast`` and ``euler``, which are less stable with less."""
    iterations: Count = 100
    """Largest number of iterations of the solver in a step."""
    refinement: Count | None = None
    """Fine steps in a time step while a contact begins or ends; 1 for none. Default: as many as
    make 0.1 ms, none where a ``timestep`` is specified."""


class GraspScene(Description):
    """A hand, an object and all conditions of one grasp."""

    hand: Hand
    """The hand; in files also its name or file."""
    object: GraspObject
    """The object to be grasped; in files also its name or file."""
    name: str = ""
    object_position: Vec3 | None = None
    """Centre of mass of the object in the world [m]; the grasp centre by default."""
    grasp: Literal["power", "precision"] = "power"
    """Which grasp of the hand."""
    adapt_grasp: bool | None = None
    """Whether the kind of grasp is chosen for the object, and a grasp is computed for it where that
    of the hand does not hold it in a trial; by default where no grasp is stated. Without effect
    where the position of the object is stated, or beside surroundings and further objects."""
    object_euler: Vec3 | None = None
    """Angles about x, y, z of intrinsic z-y-x [rad]; by default the orientation of the grasp, or
    upright for an upright object."""
    object_mount: Mount = "free"
    """``planar`` moves in the x–z plane of the world and rotates about y."""
    objects: tuple[PlacedObject, ...] = ()
    """Further objects. The hand can touch them, and stops where it does; a hold test evaluates only
    the object to be grasped."""
    hand_pose: Pose = Pose()
    """Pose of the hand in the world."""
    arm: AnyArm | None = None
    """Arm that carries and lifts the hand; its base is placed to fit ``hand_pose``. A compliant
    carrier does not follow poses: its actuators move it."""
    surroundings: tuple[Surrounding, ...] = ()
    """Fixed surroundings. The first table may have no height: its top is then directly below the
    object."""
    gravity: Accepts[Vec3, Vec3 | float] = (0.0, 0.0, 0.0)  # type: ignore[assignment]
    """Gravity [m/s²]; the size of a number acts downwards, ``True`` is 9.81, ``False`` none."""
    contact: SpecifiedContact = ContactOverride()  # type: ignore[assignment]
    """What the scene specifies about the contacts of its objects; fields that it leaves out are
    those of the hand, then of the object's material."""
    self_contact: bool = True
    """Whether the hand's bodies can touch one another."""
    closure: AnyClosure = DefaultClosure()
    """How the hand closes. Without a ``type`` by position increments, or force-limited where the
    servos of the hand are too weak for the object."""
    actuation: Literal["servo", "prescribed"] = "servo"
    """``servo``: position servos with a force limit. ``prescribed``: joints follow their targets
    exactly under any load, like the Simscape joints of paper 004."""
    timestep: StepTime | None = None
    """Physics step [s]; chosen for the contact by default."""
    control_period: StepTime = 1e-3
    """Time between two samples of the controller [s]; a whole number of time steps."""
    duration: Positive | None = None
    """Simulated time of the closure [s]; until the hand has settled by default."""
    allow_softer_contact: bool = False
    """Continue, with a warning, where the time step cannot reproduce the contact stiffness."""
    solver: Solver = Solver()
    """Settings of MuJoCo's solver."""
    preshape: str | None = None
    """Name of the start posture of the hand; the start of the grasp by default."""
    sequence: Sequence = ()  # type: ignore[assignment]
    """Phases of wrist and fingers in their order; only the closure by default. The hand is then on
    a wrist that translates and rotates, or on the arm; ``hand_pose`` is where an approach ends and
    all other phases begin."""
    success: SuccessCriterion | None = None
    """Hold test after the sequence, and the criterion for a held object from the end of the closure
    on."""
    lift: Lift | None = None
    """Instead of a sequence and a hold test: the wrist lifts the object off its table."""
    sensors: tuple[AnySensor, ...] = ()
    """Sensors of the hand, recorded at every control sample."""
    seed: Annotated[int, Field(strict=True, ge=0, lt=2**63)] = 0
    """Seed of all random numbers, such as the noise of sensors."""
    source: str = ""
    """What the scene shows or reproduces."""

    @model_serializer(mode="wrap")
    def _keep_open(
        self, serialize: SerializerFunctionWrapHandler, info: SerializationInfo
    ) -> dict[str, Any]:
        """Write whether the grasp is open, as JSON does not tell stated fields from others."""
        tree: dict[str, Any] = serialize(self)
        if info.mode == "json" and self.adapts_grasp:
            tree |= {"adapt_grasp": True}
            if "grasp" not in self.model_fields_set:
                tree.pop("grasp", None)
        return tree

    @field_validator("hand", "object", mode="before")
    @classmethod
    def _load(cls, value: Any, info: ValidationInfo) -> Any:
        """Load a hand or an object whose name or file is given, as ``load_hand`` does."""
        if isinstance(value, str | PathLike):
            return LOADERS.load(str(info.field_name))(value)
        return value

    @field_validator("gravity", mode="before")
    @classmethod
    def _gravity_switch(cls, value: Any) -> Any:
        if isinstance(value, bool):
            return STANDARD_GRAVITY if value else (0.0, 0.0, 0.0)
        return (0.0, 0.0, -abs(value)) if isinstance(value, int | float) else value

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        for rule in SCENE_RULES:
            rule(self)
        return self

    @property
    def adapts_grasp(self) -> bool:
        """Whether the grasp is adapted to the object: nobody states which one, or what it is."""
        if self.adapt_grasp is not None:
            return self.adapt_grasp
        states_kind = "grasp" in self.model_fields_set
        return not states_kind and "grasps" not in self.hand.model_fields_set

    @property
    def specifies_closure(self) -> bool:
        """Whether the type of the closure is specified; else it is chosen for the servos."""
        return not isinstance(self.closure, DefaultClosure)

    @cached_property
    def longest_closure(self) -> float:
        """Time that the slowest actuator needs from its start to its limit [s]."""
        return ClosingMotion(self.closing_start, self.rates, self.limits).time

    @cached_property
    def settling_time(self) -> float:
        """Time without moving targets after which the hand has settled [s]."""
        return self.closure.settling(self.hand, self.closing_preset)

    @property
    def preset(self) -> GraspPreset:
        """Parameters of the chosen grasp (power or precision) of the hand."""
        return self.hand.grasps.power if self.grasp == "power" else self.hand.grasps.precision

    @cached_property
    def closing_preset(self) -> GraspPreset:
        """The chosen grasp, started from the last preshape of the sequence, or of the scene."""
        shaped = [phase.preshape for phase in self.sequence if isinstance(phase, PreshapePhase)]
        return self._shaped(shaped[-1] if shaped else self.preshape)

    def _shaped(self, preshape: str | None) -> GraspPreset:
        if preshape is None:
            return self.preset
        return self.preset.replace(start=self.hand.preshape(preshape).positions)

    @cached_property
    def closing_motion(self) -> ClosingMotion:
        """Motion of the hand's actuators without contact."""
        return self.closure.closing_motion(self.hand, self.closing_preset)

    @cached_property
    def mechanism(self) -> ActuationModel:
        """Hand and actuators after changes by the closure."""
        return self.closure.mechanism(self.hand, self.closing_preset)

    @cached_property
    def actuators(self) -> tuple[Actuator, ...]:
        """Actuators that the closure moves, with their starts and limits.

        First those of the hand that keep their servos, then those that the closure adds.
        """
        with_servos = {command.name for command in self.mechanism.hand.actuators}
        commands = self.closure.actuators(self.hand, self.closing_preset)
        entries = zip(commands, self.closing_motion.start, self.closing_motion.limits, strict=True)
        kept = (
            command._replace(start=start, limits=limits)
            for command, start, limits in entries
            if command.name in with_servos
        )
        return (*kept, *(actuator.actuator for actuator in self.mechanism.actuators))

    @cached_property
    def rates(self) -> tuple[float, ...]:
        """Closing rate of each actuator, zero where it is inactive [unit of the actuator/s]."""
        with_servos = {command.name for command in self.mechanism.hand.actuators}
        commands = zip(self.hand.actuators, self.closing_motion.rates, strict=True)
        kept = (rate for command, rate in commands if command.name in with_servos)
        return (*kept, *(actuator.rate for actuator in self.mechanism.actuators))

    @cached_property
    def start(self) -> tuple[float, ...]:
        """Target of each actuator at the start [rad, m, Pa or its unit]."""
        if any(isinstance(phase, PreshapePhase) for phase in self.sequence):
            return self.closure.closing_motion(self.hand, self._shaped(self.preshape)).start
        return self.closing_start

    @cached_property
    def closing_start(self) -> tuple[float, ...]:
        """Actuator targets at the start of the closure: ``start``, or the last preshape."""
        return tuple(command.start for command in self.actuators)

    @cached_property
    def steps(self) -> tuple[Phase, ...]:
        """The phases of the sequence, each ``place`` as its parts; the closure alone by default."""
        return unfold(self.sequence) or (ClosePhase(),)

    @property
    def phases(self) -> tuple[Phase, ...]:
        """The phases of the sequence, followed by the motion of the hold test."""
        motion = self.success.motion if self.success is not None else ()
        return (*self.steps, *motion)

    @property
    def on_wrist(self) -> bool:
        """Return whether a wrist or arm moves the hand in translation and rotation."""
        carried = isinstance(self.arm, HandCarrier)
        return carried or bool(self.sequence) or any(phase.moves_wrist for phase in self.phases)

    @property
    def guarded_moves(self) -> int:
        """Number of moves that stop at a force."""
        moves = (phase for phase in self.phases if isinstance(phase, MovePhase))
        return sum(phase.max_force is not None for phase in moves)

    @property
    def is_plain(self) -> bool:
        """Return whether it is a closure followed by at most a gravity ramp or a lift."""
        return not self.sequence and (self.success is None or self.success.is_plain)

    @property
    def time_besides_closing(self) -> float:
        """Maximum duration of everything except the closure [s]."""
        phases = sum(phase.time for phase in self.steps if not isinstance(phase, ClosePhase))
        lift = 0.0 if self.lift is None else self.lift.time + self.lift.hold_time
        return phases + lift + (0.0 if self.success is None else self.success.max_duration)

    @cached_property
    def limits(self) -> tuple[tuple[float, float], ...]:
        """Lowest and highest target of each actuator [rad, m, Pa or its unit]."""
        return tuple(command.limits for command in self.actuators)

    @property
    def integrator(self) -> str:
        """Integrator of the solver, with its default."""
        # a deformable object is stepped by 'discrete' alone
        carried = isinstance(self.arm, HandCarrier) and self.object.elasticity is None
        return self.solver.integrator or ("implicitfast" if carried else "discrete")

    @property
    def impedance(self) -> float:
        """Constraint impedance d of the solver, with its default [–]."""
        return self.solver.impedance or (0.001 if self.integrator == "discrete" else 0.5)

    @property
    def table(self) -> Table | None:
        """The first table, on which the object may stand; None without a table."""
        return next((part for part in self.surroundings if isinstance(part, Table)), None)

    @cached_property
    def object_names(self) -> tuple[str, ...]:
        """Names of all objects, that of the object to be grasped first."""
        names = [(placed.name, placed.object.name) for placed in self.objects]
        return tuple(number([(self.object.name, ""), *names]))

    @cached_property
    def surrounding_names(self) -> tuple[str, ...]:
        """Names of the surroundings."""
        return tuple(number([(part.name, part.type) for part in self.surroundings]))

    @property
    def requested_contact(self) -> Contact:
        """Contact of the object with the hand, with its defaults."""
        return self.contact_of(0)

    def contact_sources(self, index: int, around: Surrounding | None = None) -> list[SourceValues]:
        """Return the sources that specify a contact and their values, in the order of rank.

        Args:
            index: 0 for the object to be grasped, from 1 on for further ones.
            around: Surrounding body that the object or the hand touches, instead of the hand and
                other objects.
        """
        placed = self.objects[index - 1] if index else None
        obj = self.object if placed is None else placed.object
        of_pair = [part.contact for part in (around, placed) if part is not None]
        sources = [
            *(SourceValues("pair", contact.specified) for contact in of_pair),
            SourceValues("said", self.contact.specified),
            SourceValues("hand file", self.hand.contact.specified),
        ]
        if obj.material is not None:
            friction = obj.material.model_dump(exclude={"name"})
            sources.append(SourceValues("material", friction))
        return sources

    def contact_of(self, index: int, around: Surrounding | None = None) -> Contact:
        """Return the contact of an object with hand and objects, or with a surrounding body."""
        return self._contacts[index, self._around(around)]

    def geom_contacts(self, index: int, around: Surrounding | None = None) -> dict[str, Contact]:
        """Return the contacts of geoms whose friction the file of the hand states, by their names.

        A friction that the pair, the scene or the YAML file of the hand specifies applies instead.

        Args:
            index: 0 for the object to be grasped, from 1 on for further ones.
            around: The contact with this surrounding body instead.
        """
        model, contact = self.hand.model, self.contact_of(index, around)
        specified = any(
            source.source in ("pair", "said", "hand file")
            and source.values.get("static_friction") is not None
            for source in self.contact_sources(index, around)
        )
        if model is None or specified:
            return {}
        contacts: dict[str, Contact] = {}
        for stated in model.frictions:
            if stated.friction is None:
                continue
            if stated.overrides or stated.friction > contact.static_friction:
                friction = {"static_friction": stated.friction, "dynamic_friction": None}
                contacts |= dict.fromkeys(stated.geoms, contact.replace(**friction))
        return contacts

    @property
    def grip_friction(self) -> float:
        """Largest static friction of the object with geoms of the hand [–]."""
        contacts, usual = self.geom_contacts(0), self.requested_contact.static_friction
        model = self.hand.model
        geoms = [] if model is None else [g for friction in model.frictions for g in friction.geoms]
        stated = [contacts[geom].static_friction for geom in geoms if geom in contacts]
        return max(stated if stated and len(stated) == len(geoms) else [*stated, usual])

    def _around(self, part: Surrounding | None) -> int | None:
        """Return the index of a surrounding body; None where it specifies nothing of its own."""
        if part is None or not part.contact.specified:
            return None
        return next(k for k, surrounding in enumerate(self.surroundings) if surrounding is part)

    @cached_property
    def _contacts(self) -> dict[tuple[int, int | None], Contact]:
        """Contacts by object and, where they have one of their own, surrounding body."""
        parts = [None, *(part for part in self.surroundings if part.contact.specified)]
        return {
            (index, self._around(part)): resolve_contact(self.contact_sources(index, part))
            for index in range(1 + len(self.objects))
            for part in parts
        }

    @cached_property
    def requested_contacts(self) -> tuple[Contact, ...]:
        """All contacts that the scene specifies, that of object and hand first."""
        return tuple(dict.fromkeys(self._contacts.values()))


def number(named: list[tuple[str, str]]) -> list[str]:
    """Fill in missing names by default ones, numbered where a name is used already."""
    unique, taken = [], {stated for stated, _ in named}
    for stated, other in named:
        name, index = stated or other, 2
        while not stated and name in taken:
            name, index = f"{other}{index}", index + 1
        taken.add(name)
        unique.append(name)
    return unique


# Fields by their path in text.

FieldPart = str | int
_NAME = r"[A-Za-z_]\w*(?:\[\d+\])*"
_PATH = re.compile(rf"{_NAME}(?:\.{_NAME})*")


def with_field(scene: GraspScene, path: str, value: Any) -> GraspScene:
    """Return a validated copy of a scene with one field changed.

    Args:
        scene: The scene.
        path: Names with dots, list items with numbers from 0 in brackets. Fields of ``contact`` and
            ``success`` can be named where the scene has the defaults.
        value: The new value, as plain data.

    Raises:
        DescriptionError: There is no such field, or the value does not fit.
    """
    if not _PATH.fullmatch(path):
        raise DescriptionError(
            f"expected a field such as contact.damping or hand.fingers[0].name, found '{path}'"
        )
    words = re.findall(r"\w+", path)
    parts: list[FieldPart] = [int(word) if word.isdigit() else word for word in words]
    tree = scene.model_dump()
    criterion = SuccessCriterion().model_dump()
    nested = _list_nested_fields(tree | {"success": criterion}, str(parts[0]))
    if parts[0] not in tree and nested:
        raise DescriptionError(f"no such field; did you mean '{nested[0]}'?", field=path)
    if len(parts) > 1 and parts[0] == "success" and tree["success"] is None:
        tree["success"] = criterion
    if len(parts) > 2 and parts[0] == "contact" and tree["contact"].get(str(parts[1]), "") is None:
        tree["contact"][parts[1]] = scene.requested_contact.model_dump()[str(parts[1])]
    changed = GraspScene(**_replace(tree, parts, value, ""))
    _keep_stated(changed, scene, parts)
    return changed


def _keep_stated(changed: Any, before: Any, parts: list[FieldPart]) -> None:
    """Give a changed description the stated fields of the one before, and the changed field."""
    if isinstance(before, Description) and type(changed) is type(before):
        stated = changed.__pydantic_fields_set__
        stated.clear()
        stated.update({*before.model_fields_set, *map(str, parts[:1])})
        names = type(before).model_fields
        pairs: list[tuple[FieldPart, Any, Any]] = [
            (name, getattr(changed, name), getattr(before, name)) for name in names
        ]
    elif isinstance(before, tuple) and isinstance(changed, tuple):
        pairs = [(k, *both) for k, both in enumerate(zip(changed, before, strict=False))]
    else:
        return
    for key, first, second in pairs:
        if parts != [key]:  # the new value itself is stated as it is
            _keep_stated(first, second, parts[1:] if parts[:1] == [key] else [])


def _replace(node: Any, parts: list[FieldPart], value: Any, done: str) -> Any:
    """Return a copy of a nested value with the value at a path replaced."""
    if not parts:
        return value
    if node is None:
        message = f"it is not set; set it as a whole first, as {done}=… does"
        raise DescriptionError(message, field=done)
    head, rest = parts[0], parts[1:]
    if isinstance(head, int):
        if not isinstance(node, list | tuple):
            raise DescriptionError(f"it is not a list, so it has no item [{head}]", field=done)
        if head >= len(node):
            message = f"expected an item from [0] to [{len(node) - 1}], found [{head}]"
            raise DescriptionError(message, field=done)
        items = list(node)
        items[head] = _replace(items[head], rest, value, f"{done}[{head}]")
        return items
    here = f"{done}.{head}" if done else head
    if not isinstance(node, dict):
        raise DescriptionError(f"it has no field '{head}'", field=done)
    if head not in node:
        inside = [path for path in _list_nested_fields(node, head, f"{done}.") if path != here]
        deeper = next((path for path in inside if path.endswith(f".{head}")), "")
        hint = f"did you mean '{deeper}'?" if deeper else did_you_mean(head, node)
        raise DescriptionError(f"no such field; {hint}", field=here)
    return node | {head: _replace(node[head], rest, value, here)}


def _list_nested_fields(node: Mapping[str, Any], word: str, done: str = "") -> list[str]:
    """Return the paths of the fields in a nested mapping whose names contain a word.

    Those of that name come first, then those least deep, then those of the object.
    """
    paths = []
    for name, value in node.items():
        if word in (name, *name.split("_")):
            paths.append(done + name)
        if isinstance(value, Mapping):
            paths += _list_nested_fields(value, word, f"{done}{name}.")

    def rank(path: str) -> tuple[bool, int, bool]:
        return path.split(".")[-1] != word, path.count("."), not path.startswith("object.")

    return sorted(paths, key=rank)
