"""From the words of a command line to a scene."""

from __future__ import annotations

import json
import math
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from softgrasp import assets
from softgrasp.description.base import Vec3
from softgrasp.description.calibration import FingerRelease
from softgrasp.description.closure import CLOSURES
from softgrasp.description.closure_base import Closure
from softgrasp.description.geometry import LengthUnit
from softgrasp.description.hand import Hand
from softgrasp.description.object import (
    Elasticity,
    GraspObject,
    Lift,
    PlacedObject,
    Surrounding,
    Table,
    Wall,
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
from softgrasp.io.load import MODEL_SUFFIX, YAML_SUFFIXES, load_hand, load_object
from softgrasp.io.mesh_files import MESH_SUFFIXES
from softgrasp.io.object import YCB_PREFIX
from softgrasp.io.scene import is_release, load_criterion, load_scene
from softgrasp.io.urdf import ROBOT_SUFFIXES
from softgrasp.io.yaml_files import YamlFile
from softgrasp.mechanics.transforms import quaternion_of, rotation_from_euler

_LOADERS: dict[str, Callable[[str], Any]] = {
    "hand": load_hand,
    "object": load_object,
    "success": load_criterion,
}
"""Fields that ``--set`` takes by name."""


@dataclass(frozen=True, kw_only=True)
class SceneOptions:
    """What a command line says about a scene; None leaves a field as it is."""

    units: LengthUnit | None = None
    finger: str | None = None
    density: float | None = None
    mass: float | None = None
    grasp: str | None = None
    position: tuple[float, float, float] | None = None
    euler_deg: tuple[float, float, float] | None = None
    hand_euler_deg: tuple[float, float, float] | None = None
    mount: str | None = None
    gravity: bool | None = None
    gravity_vector: tuple[float, float, float] | None = None
    table: bool | None = None
    self_contact: bool | None = None
    objects: tuple[str, ...] = ()
    """``NAME@X,Y,Z``"""
    walls: tuple[str, ...] = ()
    """``X,Y,Z,NX,NY,NZ``"""
    actuation: str | None = None
    contact_model: str | None = None
    sensors: tuple[str, ...] = ()
    contact_stiffness: float | None = None
    contact_damping: float | None = None
    friction: float | None = None
    allow_softer_contact: bool | None = None
    timestep: float | None = None
    duration: float | None = None
    hold: bool | None = None
    lift: bool | None = None
    sequence: str | None = None
    """Types of phases with commas between them."""
    criterion: str | None = None
    preshape: str | None = None
    closure: str | None = None
    pressure: float | None = None
    seed: int | None = None
    settings: tuple[str, ...] = ()
    """``FIELD=VALUE``, applied last."""


def scene_of(first: str, second: str | None, options: SceneOptions) -> GraspScene:
    """The scene that a command line means.

    Args:
        first: A hand; or a scene, where there is no second word.
        second: An object.
        options: Changes.

    Raises:
        DescriptionError: Something does not exist or does not fit.
    """
    _refuse_odd_weight(second, options)
    if second is not None:
        hand, units = _with_finger(load_hand(first), options), options.units or "m"
        obj = load_object(second, mass=options.mass, density=options.density, units=units)
        scene = GraspScene(hand=hand, object=obj, grasp=_fitting_grasp(hand, obj))
    else:
        scene = _scene(first)
        scene = scene.replace(hand=_with_finger(scene.hand, options))
        if options.mass is not None or options.density is not None:
            obj = scene.object.weighing(mass=options.mass, density=options.density)
            scene = scene.replace(object=obj)
    scene = _closing(scene, options)
    return _with_settings(_changed(scene, options), options.settings)


def _closing(scene: GraspScene, options: SceneOptions) -> GraspScene:
    """The scene with the closure that is asked for, and what ``--set`` says of it.

    A closure of another kind starts from its defaults; its fields may only fit together.
    """
    name = options.closure
    if name is None or name == scene.closure.name:
        return scene
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


def _with_finger(hand: Hand, options: SceneOptions) -> Hand:
    """The hand with another soft finger in the place of each of its own."""
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
            "the value as it is",
            SoftgraspWarning,
            stacklevel=2,
        )
    digits = tuple(digit.replace(finger=finger) for digit in hand.soft_fingers)
    return hand.replace(soft_fingers=digits)


def _refuse_odd_weight(object_name: str | None, options: SceneOptions) -> None:
    """Say in the words of the command line what a mesh file needs and others must not have."""
    weights = [option for option in (options.mass, options.density) if option is not None]
    if len(weights) == 2:
        raise DescriptionError("--mass, --density: expected one of them, found both")
    is_mesh = object_name is not None and Path(object_name).suffix.lower() in MESH_SUFFIXES
    if is_mesh and not weights:
        raise DescriptionError(
            f"{object_name}: a mesh file needs --mass or --density, found neither; for instance "
            "--density 1200 [kg/m³]"
        )
    if options.units is not None and not is_mesh:
        raise DescriptionError("--units: expected a mesh file as the object, found none")


def _fitting_grasp(hand: Hand, obj: GraspObject) -> Literal["power", "precision"]:
    """The grasp where none is asked for: ``power``, but ``precision`` where that one is enough."""
    from softgrasp.model.object import object_mass

    payload = hand.grasps.precision.payload
    return "precision" if payload is not None and object_mass(obj) <= payload else "power"


def _scene(name: str) -> GraspScene:
    for kind, other in (("hands", "an object"), ("objects", "a hand")):
        if name in assets.names(kind) and name not in assets.names("scenes"):
            raise DescriptionError(
                f"expected HAND OBJECT or a SCENE, found only the {kind[:-1]} '{name}'; "
                f"name {other} too, as in: softgrasp grasp four_finger strawberry"
            )
    return load_scene(name)


def _changed(scene: GraspScene, options: SceneOptions) -> GraspScene:
    values = {
        "grasp": options.grasp,
        "object_position": options.position,
        "object_mount": options.mount,
        "gravity": options.gravity,
        "self_contact": options.self_contact,
        "actuation": options.actuation,
        "allow_softer_contact": options.allow_softer_contact,
        "timestep": options.timestep,
        "duration": options.duration,
        "seed": options.seed,
        "preshape": options.preshape,
    }
    changes: dict[str, Any] = {key: value for key, value in values.items() if value is not None}
    if options.euler_deg is not None:
        changes["object_euler"] = tuple(math.radians(angle) for angle in options.euler_deg)
    if options.hand_euler_deg is not None:
        for angle in options.hand_euler_deg:
            if not math.isfinite(angle):
                raise DescriptionError(f"--hand-euler-deg: expected numbers, found {angle}")
        rotation = rotation_from_euler([math.radians(angle) for angle in options.hand_euler_deg])
        changes["hand_pose"] = scene.hand_pose.replace(quaternion=quaternion_of(rotation))
    if options.hold is not None:
        changes["success"] = (scene.success or SuccessCriterion()) if options.hold else None
    if options.gravity_vector is not None:
        success = changes.get("success", scene.success)
        changes |= pulled(options.gravity_vector, success, closing=options.gravity is not False)
    if options.table is False and options.lift:
        raise DescriptionError("--no-table: expected a table to lift from, found --lift")
    changes |= around(scene, options.objects, options.walls, options.table)
    changes |= _lifting(scene, options, changes.get("surroundings", scene.surroundings))
    standing = {key: changes[key] for key in ("objects", "surroundings") if key in changes}
    so_far = scene.replace(**standing) if standing else scene
    words = ("hold", "lift", "gravity", "table")
    settings = {word: getattr(options, word) for word in words}
    changes |= sequence_changes(so_far, options.sequence, options.criterion, **settings)
    scene = scene.replace(**changes) if changes else scene
    if options.contact_model is not None:
        scene = with_contact_model(scene, options.contact_model)
    if options.sensors:
        added = sensors_of(scene.hand, options.sensors)
        scene = scene.replace(sensors=(*scene.sensors, *added))
    if options.pressure is not None:
        scene = with_field(scene, "closure.pressure", options.pressure)
    contact = {"stiffness": options.contact_stiffness, "damping": options.contact_damping}
    for name, value in contact.items():
        if value is not None:
            scene = with_field(scene, f"contact.{name}", value)
    if options.friction is not None:
        scene = with_field(scene, "contact.dynamic_friction", None)
        scene = with_field(scene, "contact.static_friction", options.friction)
    return scene


def _lifting(
    scene: GraspScene, options: SceneOptions, parts: tuple[Surrounding, ...]
) -> dict[str, Any]:
    """A table and a lift, where they are asked for or where a hand reaches down under gravity.

    Args:
        scene: The scene before its changes.
        options: Changes.
        parts: What stands around, after them.
    """
    preset = scene.hand.grasps.precision if options.grasp == "precision" else scene.preset
    lifts = options.lift
    if lifts is None:
        other = (options.hold, options.sequence, options.criterion)
        lifts = bool(options.gravity) and preset.from_above and other == (None, None, None)
        lifts = lifts and not scene.sequence
        lifts &= options.gravity_vector is None and options.table is not False
    if not lifts:
        return {} if options.lift is None else {"lift": None}
    tables = parts if any(isinstance(part, Table) for part in parts) else (Table(), *parts)
    pulls = options.gravity is not None or options.gravity_vector or any(scene.gravity)
    changes = {"surroundings": tables, "lift": scene.lift or Lift(), "success": None}
    return changes if pulls else changes | {"gravity": True}


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


def plain_value(text: str) -> Any:
    """A JSON value (``500``, ``true``, ``null``, ``[1, 2]``), or the text itself."""
    try:
        return json.loads(text)
    except json.JSONDecodeError:
        return text


def require_known(what: str, name: str, known: list[str]) -> None:
    """Refuse a name that does not exist.

    Raises:
        DescriptionError: Says what does.
    """
    if name not in known:
        raise DescriptionError(f"no {what} '{name}'; {did_you_mean(name, known)}")


# --------------------
# From the words of a command line to further objects, walls, a table and gravity.


Changes = dict[str, Any]
"""Fields of a scene."""


def pulled(gravity: Vec3, success: SuccessCriterion | None, *, closing: bool) -> Changes:
    """Gravity of any direction [m/s²], in the hold test, and while the hand closes."""
    changes: Changes = {"gravity": gravity} if closing else {}
    return changes if success is None else changes | {"success": success.replace(gravity=gravity)}


def around(
    scene: GraspScene, objects: Sequence[str], walls: Sequence[str], table: bool | None
) -> Changes:
    """Further objects and what stands around.

    Args:
        scene: The scene so far.
        objects: ``NAME@X,Y,Z``
        walls: ``X,Y,Z,NX,NY,NZ``
        table: Whether there is one; None leaves it.

    Raises:
        DescriptionError: A text says something else, or an object does not exist.
    """
    changes: Changes = {}
    if objects:
        changes["objects"] = scene.objects + tuple(_placed(text) for text in objects)
    parts = scene.surroundings
    if table is False:
        parts = tuple(part for part in parts if not isinstance(part, Table))
    if table and scene.table is None:
        parts = (Table(), *parts)
    parts += tuple(_wall(text) for text in walls)
    return changes if parts == scene.surroundings else changes | {"surroundings": parts}


def _placed(text: str) -> PlacedObject:
    name, _, coordinates = text.rpartition("@")
    position = _numbers(coordinates, 3)
    if not name or position is None:
        raise DescriptionError(
            "--object: expected NAME@X,Y,Z with metres, such as sphere@0.05,0,-0.085, "
            f"found '{text}'"
        )
    x, y, z = position
    return PlacedObject(object=load_object(name), position=(x, y, z))


def _wall(text: str) -> Wall:
    numbers = _numbers(text, 6)
    if numbers is None:
        raise DescriptionError(
            "--wall: expected X,Y,Z,NX,NY,NZ, the middle of its face [m] and the normal out of it, "
            f"such as -0.05,0,-0.08,1,0,0, found '{text}'"
        )
    x, y, z, *normal = numbers
    return Wall(point=(x, y, z), normal=(normal[0], normal[1], normal[2]))


def _numbers(text: str, count: int) -> list[float] | None:
    """Numbers with commas between them; None where they are not so many, or no numbers."""
    try:
        numbers = [float(part) for part in text.split(",")]
    except ValueError:
        return None
    return numbers if len(numbers) == count else None


# --------------------
# What --sequence and --criterion change in a scene, with what has to come along.


AFTER_SEQUENCE = "sequence"
"""The criterion where a sequence goes on after its close and none is named."""


def sequence_changes(
    scene: GraspScene,
    sequence: str | None,
    criterion: str | None,
    *,
    hold: bool | None,
    lift: bool | None,
    gravity: bool | None,
    table: bool | None,
) -> dict[str, Any]:
    """Changed fields: the sequence, the criterion, and a table and gravity for what lifts.

    Args:
        scene: The scene so far.
        sequence: Types of phases with commas between them.
        criterion: Name or file of one.
        hold: Whether a hold test was asked for.
        lift: Whether a lift was asked for.
        gravity: Whether gravity was.
        table: Whether a table was; without one nothing carries the object, and no gravity comes.

    Raises:
        DescriptionError: There is no such phase or criterion, or two options exclude each other.
    """
    if sequence is None and criterion is None:
        return {}
    if lift:
        raise DescriptionError(
            "--lift: expected one of --lift, --sequence and --criterion, found more; "
            "lift is also a phase of sequences"
        )
    if criterion is not None and hold is not None:
        raise DescriptionError("--criterion: expected it or --hold/--no-hold, found both")
    changes: dict[str, Any] = {"lift": None}
    if criterion is not None:
        changes["success"] = load_criterion(criterion)
    if sequence is not None:
        words = [word.strip() for word in sequence.split(",")]
        changes["sequence"] = tuple(word for word in words if word)
        if not changes["sequence"]:
            raise DescriptionError(
                "--sequence: expected phases such as approach,close,lift, found none"
            )
    # read by themselves, so that a table and gravity can come with what they need
    tried = scene.replace(**(changes | {"success": None}))
    success: SuccessCriterion | None = changes.get("success", scene.success)
    goes_on = bool(tried.sequence) and not isinstance(tried.sequence[-1], ClosePhase)
    if success is None and hold is None and goes_on:
        changes["success"] = success = load_criterion(AFTER_SEQUENCE)
    motion = success.motion if success is not None else ()
    lifts = any(isinstance(phase, LiftPhase) for phase in (*tried.sequence, *motion))
    if lifts and gravity is not False and table is not False and not scene.surroundings:
        changes |= {"surroundings": (Table(),), "gravity": True}
    return changes


# --------------------
# Sensors by the names that a command line uses.


Sensors = tuple[AnySensor, ...]


def _tactile(hand: Hand, body: str) -> Sensors:
    bodies = [body] if body else fingertips(hand)
    return tuple(TactileSensor(name=f"tactile_{part}", body=part) for part in bodies)


def _force(hand: Hand, body: str) -> Sensors:
    bodies = [body] if body else fingertips(hand)
    return tuple(ForceTorqueSensor(name=f"force_{part}", body=part) for part in bodies)


def _wrist(_hand: Hand, _body: str) -> Sensors:
    return (ForceTorqueSensor(name="wrist"),)


def _joints(_hand: Hand, _body: str) -> Sensors:
    return (JointTorqueSensor(name="joints"),)


SENSORS: dict[str, tuple[str, Callable[[Hand, str], Sensors]]] = {
    "tactile": ("4 × 8 taxels on each fingertip, or on one body: tactile:F1_P2 [N]", _tactile),
    "force": ("force and torque before each fingertip, or before one body: force:F1_P1", _force),
    "wrist": ("force and torque between the hand and what carries it [N, N·m]", _wrist),
    "joints": ("torque of the servo of every rigid joint [N·m]", _joints),
}
"""Name, what it is, and how it is made."""


def sensors_of(hand: Hand, words: tuple[str, ...]) -> Sensors:
    """The sensors that a command line names.

    Args:
        hand: The hand.
        words: Names of ``SENSORS``; ``tactile`` and ``force`` may have a body behind a colon.

    Raises:
        DescriptionError: There is no such sensor, or it takes no body.
    """
    made: Sensors = ()
    for word in words:
        name, colon, body = word.partition(":")
        if name not in SENSORS:
            raise DescriptionError(f"--sensor: no sensor '{name}'; {did_you_mean(name, SENSORS)}")
        if colon and (name not in ("tactile", "force") or not body):
            raise DescriptionError(
                "--sensor: expected a body behind a colon for tactile and force only, found "
                f"'{word}'"
            )
        made += SENSORS[name][1](hand, body)
    return made


# --------------------
# Contact models by the names that a command line uses.


CONTACT_MODELS = {
    "compliant": (
        "normal force over penetration as asked in N/m, damping in N·s/m, Coulomb friction (the "
        "default; paper 004, eq 1)"
    ),
    "soft-finger": (
        "the same, and a moment about the normal up to that of a soft patch (contact.patch; Howe "
        "and Cutkosky 1996)"
    ),
    "native": "MuJoCo's own time constant, damping ratio and impedance (contact.native)",
    "deformable": (
        "the object is an elastic solid (object.elasticity), whose surface has a contact of "
        "MuJoCo's own"
    ),
}
"""Name, and what it is."""
YOUNG = 1e5
"""Young's modulus of an object that is made deformable by name only [Pa]: soft rubber foam."""


def with_contact_model(scene: GraspScene, name: str) -> GraspScene:
    """The scene with a contact model of ``CONTACT_MODELS``."""
    if name != "deformable":
        return with_field(scene, "contact.model", name)
    elasticity = scene.object.elasticity or Elasticity(young=YOUNG)
    return scene.replace(object=scene.object.replace(elasticity=elasticity))


# --------------------
# Closures as the command line shows them.


def parameters(kind: type[Closure]) -> dict[str, Any]:
    """Fields of a closure and their defaults, its own ones first; None where it chooses itself."""
    specific = {name for name in kind.model_fields if name not in Closure.model_fields}
    names = sorted(kind.model_fields, key=lambda name: name not in specific)
    return {name: kind.model_fields[name].default for name in names if name != "type"}


# --------------------
# What a word of the command line names: a hand, an object, a scene, a release, a robot, a mesh.


Kind = Literal["hand", "object", "scene", "release", "criterion", "robot", "mesh", "world"]
WORLD_SUFFIX = ".wbt"

FIELDS: dict[Kind, set[str]] = {
    "scene": set(GraspScene.model_fields),
    "hand": {*Hand.model_fields, "convention", "defaults", "model", "joints", "rates"},
    "object": set(GraspObject.model_fields),
    "release": set(FingerRelease.model_fields),
    "criterion": set(SuccessCriterion.model_fields),
}
COMMON = {"name", "units", "source", "notes"}
SHIPPED: tuple[Kind, ...] = ("scene", "hand", "object", "robot")
"""Kinds that have a folder in the library; releases lie among the scenes."""


def kind_of(word: str) -> Kind:
    """What a name or a file holds.

    Raises:
        DescriptionError: Nothing that is known.
    """
    path = Path(word)
    if path.suffix.lower() in MESH_SUFFIXES:
        return "mesh"
    if path.suffix.lower() == WORLD_SUFFIX:
        return "world"
    if path.suffix.lower() in ROBOT_SUFFIXES:
        return "robot"
    if path.suffix.lower() == MODEL_SUFFIX:
        return "hand"
    if path.suffix.lower() in YAML_SUFFIXES:
        return _kind_of_yaml(path)
    if word.startswith(YCB_PREFIX):
        return "object"
    shipped = {kind: assets.names(f"{kind}s") for kind in SHIPPED}
    for kind, names in shipped.items():
        if word in names:
            return "release" if kind == "scene" and is_release(word) else kind
    known = [name for names in shipped.values() for name in names]
    raise DescriptionError(f"no hand, object, scene or robot '{word}'; {did_you_mean(word, known)}")


def _kind_of_yaml(path: Path) -> Kind:
    """The kind that has most of a file's fields."""
    keys = set(YamlFile(path).data) - COMMON
    matches = {kind: len(keys & fields) for kind, fields in FIELDS.items()}
    best = max(matches, key=lambda kind: matches[kind])
    if matches[best] == 0:
        raise DescriptionError(
            "expected the fields of a hand (fingers, grasps), an object (shape, density), a scene "
            "(hand, object) or a release (finger, tip_mass), found "
            f"{', '.join(sorted(keys)) or 'none'}",
            file=path,
        )
    return best
