"""Rules for the parts of a grasp scene in combination.

Each rule is a function of the scene that raises a ``FieldError`` with the path of the wrong field;
``SCENE_RULES`` lists them in the order of their messages. The bodies and joints of a hand that a
sensor can name are listed at the end.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from softgrasp.description.arm import HandCarrier
from softgrasp.description.base import FieldError, FieldPath, Vec3, require_unique
from softgrasp.description.hand import Hand
from softgrasp.description.object import Table
from softgrasp.description.sensor import (
    AnySensor,
    ForceTorqueSensor,
    JointTorqueSensor,
    TactileSensor,
)
from softgrasp.description.task import ALL, Phase, PreshapePhase
from softgrasp.errors import DescriptionError, did_you_mean

if TYPE_CHECKING:
    from softgrasp.description.contact import ContactOverride
    from softgrasp.description.scene import GraspScene

LONGEST_CLOSURE = 600.0
"""Longest closure without a specified duration [s]."""
MAX_SAMPLES = 2_000_000
"""Largest number of control samples of one closure: each is a row in memory and in
``trajectory.npz``."""
LETS_GO = ("release", "place")
"""Phases in which the hand lets the object go; a sequence has at most one."""


# Hand, closure and actuation.
def _fits_hand(scene: GraspScene) -> None:
    try:
        scene.closure.check(scene.hand, scene.preset)
    except FieldError as error:
        raise FieldError(str(error), "closure", *error.path) from None
    if scene.actuation == "servo":
        return
    if scene.hand.soft_fingers:
        raise FieldError(
            "expected 'servo': the joints of soft fingers have springs and no targets that "
            "they could follow; found 'prescribed'",
            "actuation",
        )
    if not scene.closure.can_be_prescribed:
        raise FieldError(
            f"expected 'servo': with closure '{scene.closure.name}' joints yield to contact; "
            "found 'prescribed'",
            "actuation",
        )


def _model_can_be_prescribed(scene: GraspScene) -> None:
    model = scene.hand.model
    if scene.actuation == "servo" or model is None or model.plain:
        return
    other = next(actuator.actuator for actuator in model.actuators if actuator.joint is None)
    raise FieldError(
        f"expected 'servo': the target of actuator '{other}' of '{scene.hand.name}' is no joint's "
        "variable that could be prescribed; found 'prescribed'",
        "actuation",
    )


def _model_keeps_its_actuators(scene: GraspScene) -> None:
    if scene.hand.model is not None and scene.mechanism.actuators:
        raise FieldError(
            f"expected 'position-increment' or another one that moves the actuators of "
            f"'{scene.hand.name}' as they are, found '{scene.closure.name}'",
            *("closure", "type"),
        )


def _pressure_fits(scene: GraspScene) -> None:
    closure = scene.closure
    if closure.pressure is not None and not (closure.clamp_pressure and scene.hand.soft_fingers):
        hint = "; clamp_pressure stops at the limit"
        scene.hand.check_pressure(closure.pressure, ("closure", "pressure"), hint)


def _preshapes_exist(scene: GraspScene) -> None:
    shaped: dict[FieldPath, str] = {
        ("sequence", index, "preshape"): phase.preshape
        for index, phase in enumerate(scene.sequence)
        if isinstance(phase, PreshapePhase)
    }
    stated = {} if scene.preshape is None else {("preshape",): scene.preshape}
    for location, name in (stated | shaped).items():
        try:
            scene.hand.preshape(name)
        except ValueError as error:
            raise FieldError(str(error), *location) from None
    if shaped and scene.mechanism.actuators:
        raise FieldError(
            "expected no preshape among its phases, as the closure "
            f"'{scene.closure.name}' does not move joints by their servos",
            "sequence",
        )


# Sequence, objects and surroundings.
def _sequence_fits(scene: GraspScene) -> None:
    kinds = [phase.type for phase in scene.sequence]
    if not kinds:
        return
    if "close" not in kinds:
        raise FieldError("expected one close among its phases, found none", "sequence")
    closes = [index for index, kind in enumerate(kinds) if kind == "close"]
    if len(closes) > 1:
        raise FieldError(f"expected one close, found {len(closes)}", "sequence", closes[1], "type")
    letting_go = [index for index, kind in enumerate(kinds) if kind in LETS_GO]
    if len(letting_go) > 1:
        raise FieldError(
            f"expected one release or place, found {len(letting_go)}",
            *("sequence", letting_go[1], "type"),
        )
    for index, kind in enumerate(kinds):
        if kind == "approach" and index > 0:
            raise FieldError(
                f"expected an approach only as the first phase, found it after '{kinds[index - 1]}'"
                "; use 'move' for later motions",
                *("sequence", index, "type"),
            )
        if kind in LETS_GO and index < closes[0]:
            raise FieldError(
                f"expected a {kind} only after 'close', found it before",
                *("sequence", index, "type"),
            )
        if kind == "preshape" and index > closes[0]:
            raise FieldError(
                "expected a preshape only before the fingers close, found it after 'close'",
                *("sequence", index, "type"),
            )


def _have_names(scene: GraspScene) -> None:
    placed = [
        (item.name, ("objects", k, "name")) for k, item in enumerate(scene.objects) if item.name
    ]
    names = enumerate(scene.surrounding_names)
    around: list[tuple[str, FieldPath]] = [(name, ("surroundings", k, "name")) for k, name in names]
    require_unique([(scene.object.name, ("object", "name")), *placed], "object")
    require_unique(around, "surrounding")
    if scene.objects or len(scene.surroundings) > 1:
        objects: list[tuple[str, FieldPath]] = [(name, ()) for name in scene.object_names]
        require_unique([*objects, *around], "object and surrounding")


def _stand_somewhere(scene: GraspScene) -> None:
    for index, part in enumerate(scene.surroundings):
        if isinstance(part, Table) and part is not scene.table and part.height is None:
            raise FieldError(
                "expected the height of its top, as only the first table can lie right under the "
                "object, found none",
                *("surroundings", index, "height"),
            )


def _can_be_lifted(scene: GraspScene) -> None:
    if scene.lift is None:
        return
    if scene.success is not None:
        raise FieldError("expected a lift or a hold test (success), found both", "lift")
    if scene.sequence:
        message = "expected a lift or a sequence, found both; lift is also a phase of sequences"
        raise FieldError(message, "lift")
    if (mount := scene.object_mount) != "free":
        raise FieldError(f"expected a free object to lift, found a {mount} one", "lift")
    if scene.gravity[2] >= 0.0:
        message = f"expected gravity down, against which to lift, found {scene.gravity}"
        raise FieldError(message, "gravity")


def _can_be_evaluated(scene: GraspScene) -> None:
    success = scene.success
    if success is None:
        return
    if scene.object_mount == "fixed":
        raise FieldError(
            "expected an object that can move for a hold test, found a fixed one", "success"
        )
    follows = scene.sequence and scene.sequence[-1].type != "close"
    tests = (success.gravity, success.motion, success.directions, success.pulls)
    if not (any(tests) or follows):
        raise FieldError(
            "expected something that tests the grasp: gravity, motion, directions or pulls here, "
            "or a sequence that continues after its close; found none",
            "success",
        )
    for name in success.removes:
        if name not in (ALL, *scene.surrounding_names):
            raise FieldError(
                f"no surrounding '{name}' in the scene; "
                f"{did_you_mean(name, [ALL, *scene.surrounding_names])}",
                *("success", "removes"),
            )
    released = any(phase.type in LETS_GO for phase in scene.sequence)
    if released and (any(tests) or success.removes):
        raise FieldError(
            "expected no gravity, motion, directions, pulls or removes beside a sequence that lets "
            "the object go, after which they would act; found some",
            "success",
        )
    if success.pulls and scene.object.elasticity is not None:
        raise FieldError(
            "expected a rigid object to be pulled out, found a deformable one", "success", "pulls"
        )
    tested = (success.gravity, success.motion, success.directions)
    if success.max_creep is not None and not (any(tested) or follows):
        raise FieldError(
            "expected a load during which creep is measured: gravity, motion or directions; found "
            "pulls only",
            *("success", "max_creep"),
        )


def _planar_loads_fit(scene: GraspScene) -> None:
    """Refuse loads out of the x–z plane on an object that moves in it only."""
    success = scene.success
    if success is None or scene.object_mount != "planar":
        return
    loads: dict[FieldPath, Vec3] = {}
    if success.gravity is not None:
        loads["gravity",] = success.gravity
    loads |= {("directions", i): load for i, load in enumerate(success.directions)}
    for index, (x, y, z) in enumerate(pull.direction for pull in success.pulls):
        if y != 0.0 and (x or z):
            raise FieldError(
                "expected a direction in the x–z plane, in which a planar object moves, found "
                f"{(x, y, z)}",
                *("success", "pulls", index, "direction"),
            )
        loads["pulls", index, "direction"] = (x, y, z)
    for location, load in loads.items():
        if not any(load[::2]):
            raise FieldError(
                "expected a component in the x–z plane, in which a planar object moves, found "
                f"{load}",
                *("success", *location),
            )


def _can_be_carried(scene: GraspScene) -> None:
    """Refuse to carry an object that is not free."""
    if scene.object_mount == "free":
        return
    kinds = [phase.type for phase in scene.sequence]
    closed = kinds.index("close") if kinds else -1
    phases: list[tuple[FieldPath, Phase]] = [
        (("sequence", index), phase) for index, phase in enumerate(scene.sequence) if index > closed
    ]
    motion = enumerate(scene.success.motion if scene.success is not None else ())
    for location, phase in (*phases, *((("success", "motion", i), phase) for i, phase in motion)):
        if phase.moves_wrist:
            message = f"expected a free object to {phase.type}, found a {scene.object_mount} one"
            raise FieldError(message, *location)


# Carrier, run, contacts and deformable objects.
def _carrier_fits(scene: GraspScene) -> None:
    """Refuse scenes that a compliant carrier does not support, such as prescribed hand poses."""
    if not isinstance(scene.arm, HandCarrier):
        return
    kind = f"{scene.arm.kind} arm"
    hint = f"a {kind} does not follow poses; {scene.arm.motion_hint}"
    if scene.lift is not None:
        raise FieldError(f"expected none, as {hint}, found one", "lift")
    if scene.sequence:
        raise FieldError(f"expected none, as {hint}, found {len(scene.sequence)}", "sequence")
    for index, phase in enumerate(scene.success.motion if scene.success is not None else ()):
        if phase.moves_wrist:
            raise FieldError(
                f"expected 'hold', as {hint}, found '{phase.type}'",
                *("success", "motion", index, "type"),
            )
    if scene.actuation == "prescribed":
        raise FieldError(
            f"expected 'servo': the joints of a {kind} have springs and no targets that "
            "they could follow; found 'prescribed'",
            "actuation",
        )
    if scene.object.elasticity is not None:
        raise FieldError(
            f"expected a rigid object for a hand on a {kind}, found a deformable one",
            *("object", "elasticity"),
        )


def _can_be_run(scene: GraspScene) -> None:
    if scene.duration is not None and scene.duration < scene.control_period:
        raise FieldError(
            f"expected at least one control period of {scene.control_period:g} s, "
            f"found {scene.duration:g} s",
            "duration",
        )
    slowest = scene.longest_closure
    if scene.duration is None and slowest > LONGEST_CLOSURE:
        raise FieldError(
            f"expected one, as the slowest joint needs {slowest:g} s to its limit "
            f"(more than {LONGEST_CLOSURE:g} s), found none",
            "duration",
        )
    closing = slowest if scene.duration is None else scene.duration
    if closing > MAX_SAMPLES * scene.control_period:
        raise FieldError(
            f"expected at least {closing / MAX_SAMPLES:g} s, so that {closing:g} s of closing "
            f"have at most {MAX_SAMPLES} control samples, found {scene.control_period:g} s",
            "control_period",
        )
    tangential = scene.solver.cone == "elliptic" and scene.solver.contact_dimension >= 3
    if any(contact.switches_friction for contact in scene.requested_contacts) and not tangential:
        raise FieldError(
            "expected an elliptic cone and a contact_dimension of at least 3 where "
            f"static and dynamic friction differ, found a {scene.solver.cone} cone and "
            f"{scene.solver.contact_dimension}",
            "solver",
        )


def _contacts_resolve(scene: GraspScene) -> None:
    """Refuse what is wrong only together, such as µd of the scene above µs of a material."""
    try:
        _ = scene.requested_contacts
    except DescriptionError as error:
        raise FieldError(error.message, "contact", error.field or "model") from None


def _contact_models_fit(scene: GraspScene) -> None:
    overrides: list[tuple[ContactOverride, FieldPath]] = [(scene.contact, ("contact",))]
    for field in ("objects", "surroundings"):
        parts = enumerate(getattr(scene, field))
        overrides += [(part.contact, (field, index, "contact")) for index, part in parts]
    for contact, location in overrides:
        if contact.model == "soft-finger" and contact.torsional_friction is not None:
            raise FieldError(
                "expected none for a soft-finger contact, whose patch (contact.patch) sets it, "
                f"found {contact.torsional_friction:g} m",
                *(*location, "torsional_friction"),
            )
    solver = scene.solver
    soft = any(contact.model == "soft-finger" for contact in scene.requested_contacts)
    if soft and (solver.cone != "elliptic" or solver.contact_dimension < 4):
        raise FieldError(
            "expected an elliptic cone and a contact_dimension of at least 4 for a soft-finger "
            f"contact, found cone '{solver.cone}' and {solver.contact_dimension}",
            "solver",
        )
    converted = any(contact.converted for contact in scene.requested_contacts)
    if converted and scene.solver.cone == "pyramidal":
        raise FieldError(
            "expected 'elliptic' for contacts in N/m, found 'pyramidal', whose edges MuJoCo makes "
            "as stiff as friction is; contact.model 'native' takes both",
            *("solver", "cone"),
        )


def _deformable_fits(scene: GraspScene) -> None:
    if scene.object.elasticity is None:
        return
    if scene.object_mount != "free":
        raise FieldError(
            f"expected 'free' for a deformable object, found '{scene.object_mount}'", "object_mount"
        )
    if scene.solver.integrator not in (None, "discrete"):
        raise FieldError(
            "expected 'discrete' for a deformable object, which supports no other, found "
            f"'{scene.solver.integrator}'",
            *("solver", "integrator"),
        )
    for index in range(1 + len(scene.objects)):
        contact, location = scene.contact_of(index), ("objects", index - 1) if index else ()
        where = "beside" if index else "for"
        if contact.switches_friction:
            raise FieldError(
                f"expected none {where} a deformable object, whose contacts have one coefficient, "
                f"found {contact.kinetic_friction:g}",
                *(*location, "contact", "dynamic_friction"),
            )


def _only_the_first_deforms(scene: GraspScene) -> None:
    for index, placed in enumerate(scene.objects):
        if placed.object.elasticity is not None:
            raise FieldError(
                "expected none, as only the object to be grasped can be deformable, found one of "
                f"{placed.object.elasticity.young:g} Pa",
                *("objects", index, "object", "elasticity"),
            )


# Sensors.
def _sensors_fit(scene: GraspScene) -> None:
    require_fitting_sensors(
        scene.sensors,
        scene.hand,
        servos=scene.actuation == "servo",
        sensing_closure=scene.closure.sense == "sensor",
    )


def require_fitting_sensors(
    sensors: tuple[AnySensor, ...], hand: Hand, *, servos: bool, sensing_closure: bool
) -> None:
    """Refuse sensors on missing bodies or joints, and a closure without tactile sensors.

    Raises:
        FieldError: A sensor or the closure does not fit.
    """
    names = ((sensor.name, ("sensors", k, "name")) for k, sensor in enumerate(sensors))
    require_unique(names, "sensor")
    bodies, joints = known_bodies(hand), servo_joints(hand)
    for index, sensor in enumerate(sensors):
        if isinstance(sensor, TactileSensor | ForceTorqueSensor):
            _require("body", sensor.body, bodies, ("sensors", index, "body"))
        if isinstance(sensor, JointTorqueSensor):
            _require_joints(sensor, hand, joints, index, servos=servos)
    if sensing_closure and not any(isinstance(sensor, TactileSensor) for sensor in sensors):
        raise FieldError(
            "expected a tactile sensor in the scene (sensors) for the closure, found none",
            *("closure", "sense"),
        )


def _require_joints(
    sensor: JointTorqueSensor, hand: Hand, joints: list[str], index: int, *, servos: bool
) -> None:
    if not joints:
        raise FieldError(
            f"expected a hand with rigid joints, found '{hand.name}' without", *("sensors", index)
        )
    if not servos:
        raise FieldError(
            "expected 'servo' for a sensor of joint torques, found 'prescribed', whose joints have "
            "no servo to measure",
            "actuation",
        )
    for position_index, joint in enumerate(sensor.joints):
        _require("joint", joint, joints, ("sensors", index, "joints", position_index))


def known_bodies(hand: Hand) -> list[str]:
    """Return the bodies of a hand that can carry a sensor, the palm first."""
    palms = ["palm", *(palm.name for palm in hand.more_palms)]
    return [*palms, *(body for finger in _fingers(hand) for body in finger)]


def fingertips(hand: Hand) -> list[str]:
    """Return the last body of each finger that has any."""
    return [finger[-1] for finger in _fingers(hand) if finger]


def servo_joints(hand: Hand) -> list[str]:
    """Return the joints of a hand that have servos; joints that follow others have none."""
    return [actuator.joint for actuator in hand.actuators if actuator.joint is not None]


def _fingers(hand: Hand) -> list[list[str]]:
    rigid = [
        [f.body_of(row) for row, body in zip(f.phalanges, f.has_body, strict=True) if body]
        for f in hand.fingers
    ]
    soft = [[f"{f.name}_L{k}" for k in range(len(f.finger.links))] for f in hand.soft_fingers]
    return rigid + soft


def _require(what: str, name: str, known: list[str], path: tuple[str | int, ...]) -> None:
    if name not in known:
        raise FieldError(f"no {what} '{name}' in the hand; {did_you_mean(name, known)}", *path)


# All rules.

SCENE_RULES = (
    _contacts_resolve,
    _fits_hand,
    _model_can_be_prescribed,
    _model_keeps_its_actuators,
    _pressure_fits,
    _preshapes_exist,
    _sequence_fits,
    _have_names,
    _stand_somewhere,
    _can_be_lifted,
    _can_be_evaluated,
    _planar_loads_fit,
    _can_be_carried,
    _carrier_fits,
    _can_be_run,
    _contact_models_fit,
    _deformable_fits,
    _only_the_first_deforms,
    _sensors_fit,
)
"""All rules, in the order of their messages."""
