"""Scene from the arguments of a command, and the kind of each library name or file.

``scene_of`` loads a scene, or makes one of a hand and an object, and applies ``SceneOptions``, the
fields of ``--set`` last. A lift or a sequence adds what it needs: a table and gravity.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from softgrasp.assets import MESH_SUFFIXES, ROBOT_SUFFIXES, YAML_SUFFIXES
from softgrasp.cli import terminal
from softgrasp.cli.names import plain_value, require_scene
from softgrasp.cli.options import AUTO, SceneOptions
from softgrasp.description.closure import CLOSURES
from softgrasp.description.closure_base import Closure
from softgrasp.description.hand import Hand
from softgrasp.description.object import (
    Elasticity,
    GraspObject,
    Lift,
    PlacedObject,
    Surrounding,
    Table,
)
from softgrasp.description.scene import GraspScene, with_field
from softgrasp.description.scene_validation import fingertips
from softgrasp.description.sensor import (
    AnySensor,
    ForceTorqueSensor,
    JointTorqueSensor,
    TactileSensor,
)
from softgrasp.description.task import ClosePhase, LiftPhase, SuccessCriterion
from softgrasp.errors import DescriptionError, SoftgraspWarning, did_you_mean
from softgrasp.io.hand import UNSURE, load_finger
from softgrasp.io.load import load_hand, load_object
from softgrasp.io.object import find_published_mass, object_file
from softgrasp.io.object_parts import object_name as object_name_of
from softgrasp.io.scene import load_criterion, load_scene
from softgrasp.mechanics.transforms import quaternion_of, rotation_from_euler

_LOADERS: dict[str, Callable[[str], Any]] = {
    "hand": load_hand,
    "object": load_object,
    "success": load_criterion,
}
"""Fields whose value ``--set`` takes by name."""
SCENE_FIELDS = {
    **{name: name for name in (
        "grasp", "gravity", "self_contact", "actuation", "allow_softer_contact", "timestep",
        "duration", "seed", "preshape",
    )},
    "position": "object_position",
    "mount": "object_mount",
}  # fmt: skip
"""Options that are a field of the scene, and the field."""
YOUNG = 1e5
"""Young's modulus of an object that is made deformable by name only [Pa]: soft rubber foam."""
CONTACT_MODELS = {
    "compliant": (
        "normal force over penetration as requested in N/m, damping in N·s/m, Coulomb friction "
        "(the default; paper 004, eq 1)"
    ),
    "soft-finger": (
        "the same, and a moment about the normal up to that of a soft patch (contact.patch; "
        "Howe and Cutkosky 1996)"
    ),
    "native": "MuJoCo's own time constant, damping ratio and impedance (contact.native)",
    "deformable": (
        "the object is an elastic solid (object.elasticity), whose surface has a contact of "
        "MuJoCo's own"
    ),
}
"""Contact models by the names of the command line."""

Changes = dict[str, Any]
"""Fields of a scene."""
Sensors = tuple[AnySensor, ...]


def scene_of(first: str, second: str | None, options: SceneOptions) -> GraspScene:
    """Load the scene of a command line and apply its options.

    ``first`` is a hand, and without an object (``second``) a scene, by name or file.

    Raises:
        DescriptionError: A name does not exist, or an option does not fit.
    """
    require_scene(first, second)
    _check_weight(first, second, options)
    is_finger = second is not None and Path(first).suffix.lower() in MESH_SUFFIXES
    for option in () if is_finger else options.of_mesh_hands:
        raise DescriptionError(f"{option}: expected the mesh of a finger, found '{first}'")
    if second is not None:
        obj = load_object(
            second,
            mass=options.mass,
            density=options.density,
            units=options.units,
            lock_joints=bool(options.lock_joints),
        )
        hand = _hand_of_fingers(first, obj, options) if is_finger else load_hand(first)
        hand = _with_finger(hand, options)
        if Path(second).is_dir():
            terminal.note(f"{second}: the object is read from {object_file(Path(second))}")
        from softgrasp.model.object import with_default_grasp

        scene = with_default_grasp(GraspScene(hand=hand, object=obj))
    else:
        scene = load_scene(first)
        scene = scene.replace(hand=_with_finger(scene.hand, options))
        if options.mass is not None or options.density is not None:
            obj = scene.object.weighing(mass=options.mass, density=options.density)
            scene = scene.replace(object=obj)
    scene = _change(_with_closure(scene, options), options)
    return _with_settings(scene, options.settings)


def _hand_of_fingers(first: str, obj: GraspObject, options: SceneOptions) -> Hand:
    """Make a hand of soft fingers from the mesh of one, wide enough for an object."""
    if options.fingers is None:
        raise DescriptionError(
            f"{first}: the mesh of a finger makes a hand with --fingers and perhaps --pressure, "
            "for instance --fingers 3 --pressure 60kPa"
        )
    from softgrasp.io.soft_finger.finger import OPENING, soft_hand_from_mesh
    from softgrasp.model.shapes import extent

    return soft_hand_from_mesh(
        first,
        fingers=options.fingers,
        opening=OPENING * max(extent(obj.shape)[:2]),
        pressure=None if options.pressure == AUTO else options.pressure,
        units=options.units,
        **options.finger_mesh,
    )


def _check_weight(first: str, object_name: str | None, options: SceneOptions) -> None:
    """Check that mass, density and units are given where a file needs them, and only there."""
    weights = [option for option in (options.mass, options.density) if option is not None]
    if len(weights) == 2:
        raise DescriptionError("--mass, --density: expected one of them, found both")
    file = Path(object_name or "none")
    if object_name is not None and file.is_dir():
        file = object_file(file)
    is_mesh = file.suffix.lower() in MESH_SUFFIXES
    if is_mesh and not file.exists():
        raise DescriptionError("expected a mesh file, found no such file", file=file.absolute())
    if is_mesh and not weights and find_published_mass(object_name_of(file)) is None:
        raise DescriptionError(
            f"{object_name}: a mesh file needs --mass or --density, found neither; for instance "
            "--density 1200 [kg/m³]"
        )
    of_hand = Path(first).suffix.lower() in (*ROBOT_SUFFIXES, *YAML_SUFFIXES, *MESH_SUFFIXES)
    if options.units is not None and not (is_mesh or of_hand):
        raise DescriptionError(
            "--units: expected a mesh file as the object or a robot file as the hand, found none"
        )


def _with_finger(hand: Hand, options: SceneOptions) -> Hand:
    """Replace each soft finger of a hand by that of ``--finger``."""
    if options.finger is None:
        return hand
    if not hand.soft_fingers:
        raise DescriptionError(
            f"--finger: expected a hand with soft fingers, found '{hand.name}' without"
        )
    finger = load_finger(options.finger)
    _, unsure, names = finger.source.partition(UNSURE)
    if unsure:
        warnings.warn(
            f"finger '{finger.name}': its measurements do not determine {names}; the grasp takes "
            "the estimate as it is",
            SoftgraspWarning,
            stacklevel=2,
        )
    mounted = tuple(item.replace(finger=finger) for item in hand.soft_fingers)
    return hand.replace(soft_fingers=mounted)


def _with_closure(scene: GraspScene, options: SceneOptions) -> GraspScene:
    """Replace the closure by that of ``--closure``, with fields from ``--set``.

    Another closure starts from its defaults, whose fields may fit only together with those set.
    """
    name = options.closure
    if name is None:
        return scene
    if name == scene.closure.name:
        return scene.replace(closure=scene.closure.concrete)
    fields: dict[str, Any] = {}
    for setting in options.settings:
        path, _, text = setting.partition("=")
        field = path.strip().removeprefix("closure.")
        if field != path.strip() and field in CLOSURES[name].model_fields:
            fields[field] = plain_value(text.strip())
    try:
        return scene.replace(closure={"type": name, **fields})
    except DescriptionError as error:
        inside = (error.field or "").removeprefix("closure").removeprefix(".")
        message = f"{inside}: {error.message}" if inside else error.message
        raise DescriptionError(f"--closure {name}: {message}") from None


def _change(scene: GraspScene, options: SceneOptions) -> GraspScene:
    """Apply all options except those of hand, object and closure, then ``--set``."""
    values = {field: getattr(options, name) for name, field in SCENE_FIELDS.items()}
    changes: Changes = {field: value for field, value in values.items() if value is not None}
    changes |= _rotations(scene, options)
    if options.hold is not None:
        changes["success"] = (scene.success or SuccessCriterion()) if options.hold else None
    if options.table is False and options.lift:
        raise DescriptionError("--no-table: expected a table to lift from, found --lift")
    changes |= _surrounding_changes(scene, options.objects, options.table)
    changes |= _lift_changes(scene, options, changes.get("surroundings", scene.surroundings))
    placed = {key: changes[key] for key in ("objects", "surroundings") if key in changes}
    changes |= _sequence_changes(scene.replace(**placed) if placed else scene, options)
    scene = scene.replace(**changes) if changes else scene
    return _with_contact(scene, options)


def _rotations(scene: GraspScene, options: SceneOptions) -> Changes:
    changes: Changes = {}
    if options.euler_deg is not None:
        changes["object_euler"] = tuple(math.radians(angle) for angle in options.euler_deg)
    if options.hand_euler_deg is not None:
        for angle in options.hand_euler_deg:
            if not math.isfinite(angle):
                raise DescriptionError(f"--hand-euler-deg: expected numbers, found {angle}")
        rotation = rotation_from_euler([math.radians(angle) for angle in options.hand_euler_deg])
        changes["hand_pose"] = scene.hand_pose.replace(quaternion=quaternion_of(rotation))
    return changes


def _with_contact(scene: GraspScene, options: SceneOptions) -> GraspScene:
    """Apply contact model, sensors, pressure, stiffness, damping and friction."""
    if options.contact_model == "deformable":
        elasticity = scene.object.elasticity or Elasticity(young=YOUNG)
        scene = scene.replace(object=scene.object.replace(elasticity=elasticity))
    elif options.contact_model is not None:
        scene = with_field(scene, "contact.model", options.contact_model)
    if options.sensors:
        added = sensors_of(scene.hand, options.sensors)
        scene = scene.replace(sensors=(*scene.sensors, *added))
    if options.pressure == AUTO:
        scene = scene.replace(hand=_with_open_pressure(scene.hand))
    elif options.pressure is not None:
        scene = with_field(scene, "closure.pressure", options.pressure)
    for name in ("stiffness", "damping"):
        if (value := getattr(options, f"contact_{name}")) is not None:
            scene = with_field(scene, f"contact.{name}", value)
    if options.friction is not None:
        scene = with_field(scene, "contact.dynamic_friction", None)
        scene = with_field(scene, "contact.static_friction", options.friction)
    return scene


def _with_open_pressure(hand: Hand) -> Hand:
    """Return a hand of soft fingers whose poses and pressures are searched for each object."""
    if not hand.soft_fingers or hand.fingers:
        raise DescriptionError(
            f"--pressure {AUTO}: expected a hand with soft fingers only, found '{hand.name}'"
        )
    power, precision = hand.grasps.power, hand.grasps.precision
    grasps = hand.grasps.replace(
        power=power.replace(per_object=True), precision=precision.replace(per_object=True)
    )
    return hand.replace(grasps=grasps)


def _surrounding_changes(scene: GraspScene, objects: Sequence[str], table: bool | None) -> Changes:
    """Add objects ``NAME@X,Y,Z`` and a table; None leaves the tables.

    Raises:
        DescriptionError: A text has another format, or an object does not exist.
    """
    changes: Changes = {}
    if objects:
        changes["objects"] = scene.objects + tuple(_arrange(text) for text in objects)
    parts = scene.surroundings
    if table is False:
        parts = tuple(part for part in parts if not isinstance(part, Table))
    if table and scene.table is None:
        parts = (Table(), *parts)
    return changes if parts == scene.surroundings else changes | {"surroundings": parts}


def _arrange(text: str) -> PlacedObject:
    name, _, coordinates = text.rpartition("@")
    try:
        x, y, z = (float(part) for part in coordinates.split(","))
    except ValueError:
        name = ""
    if not name:
        raise DescriptionError(
            "--object: expected NAME@X,Y,Z with metres, such as sphere@0.05,0,-0.085, "
            f"found '{text}'"
        )
    return PlacedObject(object=load_object(name), position=(x, y, z))


def _lift_changes(
    scene: GraspScene, options: SceneOptions, parts: tuple[Surrounding, ...]
) -> Changes:
    """Add a table and a lift, where requested or where a hand grasps from above under gravity."""
    preset = scene.hand.grasps.precision if options.grasp == "precision" else scene.preset
    lifts = options.lift
    if lifts is None:
        other = (options.hold, options.sequence, options.criterion)
        lifts = bool(options.gravity) and preset.from_above and other == (None, None, None)
        lifts = lifts and not scene.sequence
        lifts &= options.table is not False
    if not lifts:
        return {} if options.lift is None else {"lift": None}
    tables = parts if any(isinstance(part, Table) for part in parts) else (Table(), *parts)
    has_gravity = options.gravity is not None or any(scene.gravity)
    changes = {"surroundings": tables, "lift": scene.lift or Lift(), "success": None}
    return changes if has_gravity else changes | {"gravity": True}


def _sequence_changes(scene: GraspScene, options: SceneOptions) -> Changes:
    """Set sequence and criterion; a lift among their phases brings a table and gravity.

    Raises:
        DescriptionError: There is no such phase or criterion, or two options exclude each other.
    """
    sequence, criterion, hold = options.sequence, options.criterion, options.hold
    if sequence is None and criterion is None:
        return {}
    if options.lift:
        raise DescriptionError(
            "--lift: expected one of --lift, --sequence and --criterion, found more; "
            "lift is also a phase of sequences"
        )
    if criterion is not None and hold is not None:
        raise DescriptionError("--criterion: expected it or --hold/--no-hold, found both")
    changes: Changes = {"lift": None}
    if criterion is not None:
        changes["success"] = load_criterion(criterion)
    if sequence is not None:
        words = (word.strip() for word in sequence.split(","))
        changes["sequence"] = tuple(word for word in words if word)
        if not changes["sequence"]:
            raise DescriptionError(
                "--sequence: expected phases such as approach,close,lift, found none"
            )
    # validated alone, so that a table and gravity can be added for its phases
    phases = scene.replace(**(changes | {"success": None})).sequence
    success: SuccessCriterion | None = changes.get("success", scene.success)
    if success is None and hold is None and phases and not isinstance(phases[-1], ClosePhase):
        changes["success"] = success = load_criterion("sequence")
    motion = success.motion if success is not None else ()
    lifts = any(isinstance(phase, LiftPhase) for phase in (*phases, *motion))
    excluded = options.gravity is False or options.table is False
    if lifts and not excluded and not scene.surroundings:
        changes |= {"surroundings": (Table(),), "gravity": True}
    return changes


def _with_settings(scene: GraspScene, settings: tuple[str, ...]) -> GraspScene:
    for setting in settings:
        path, equals, text = setting.partition("=")
        if not equals:
            raise DescriptionError(
                f"--set: expected FIELD=VALUE such as contact.damping=500, found '{setting}'"
            )
        name, value = path.strip(), plain_value(text.strip())
        if name in _LOADERS and isinstance(value, str):
            scene = scene.replace(**{name: _LOADERS[name](value)})
        else:
            scene = with_field(scene, name, value)
    return scene


def parameters(kind: type[Closure]) -> dict[str, Any]:
    """Return a closure's fields and defaults, specific ones first; None: set at run time."""
    specific = {name for name in kind.model_fields if name not in Closure.model_fields}
    names = sorted(kind.model_fields, key=lambda name: name not in specific)
    return {name: kind.model_fields[name].default for name in names if name != "type"}


# Sensors by the names of the command line.


SENSORS: dict[str, tuple[str, type[Any]]] = {
    "tactile": ("4 × 8 taxels on each fingertip, or on one body: tactile:F1_P2 [N]", TactileSensor),
    "force": (
        "force and torque before each fingertip, or before one body: force:F1_P1",
        ForceTorqueSensor,
    ),
    "wrist": ("force and torque between the hand and its arm [N, N·m]", ForceTorqueSensor),
    "joints": (
        "torque of actuators, tendons and springs at every rigid joint [N·m]",
        JointTorqueSensor,
    ),
}
"""Name, description, and class."""
ON_BODIES = ("tactile", "force")
"""Sensors of a body, by default of each fingertip."""


def sensors_of(hand: Hand, words: tuple[str, ...]) -> Sensors:
    """Make the sensors that ``--sensor`` describes.

    ``words`` are names of ``SENSORS``; ``tactile`` and ``force`` may have a body after a colon.

    Raises:
        DescriptionError: There is no such sensor, or it takes no body.
    """
    made: Sensors = ()
    for word in words:
        name, colon, body = word.partition(":")
        if name not in SENSORS:
            raise DescriptionError(f"--sensor: no sensor '{name}'; {did_you_mean(name, SENSORS)}")
        if colon and (name not in ON_BODIES or not body):
            raise DescriptionError(
                "--sensor: expected a body after a colon for tactile and force only, found "
                f"'{word}'"
            )
        kind = SENSORS[name][1]
        if name in ON_BODIES:
            bodies = [body] if body else fingertips(hand)
            made += tuple(kind(name=f"{name}_{part}", body=part) for part in bodies)
        else:
            made += (kind(name=name),)
    return made
