"""From the words of a command line to a scene."""

from __future__ import annotations

import json
import math
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from softgrasp import library
from softgrasp.cli.around_options import around, pulled
from softgrasp.cli.contact_models import with_contact_model
from softgrasp.cli.sensors import sensors_of
from softgrasp.cli.sequence_options import sequence_changes
from softgrasp.description.closures.known import CLOSURES
from softgrasp.description.field_path import with_field
from softgrasp.description.scene import GraspScene
from softgrasp.description.shapes import LengthUnit
from softgrasp.description.success import SuccessCriterion
from softgrasp.description.surroundings import Lift, Surrounding, Table
from softgrasp.errors import DescriptionError, SoftgraspWarning, did_you_mean
from softgrasp.formats.criterion_file import load_criterion
from softgrasp.formats.finger_file import UNSURE, load_finger
from softgrasp.formats.load import load_hand, load_object
from softgrasp.formats.mesh_files import MESH_SUFFIXES
from softgrasp.formats.scene_file import load_scene
from softgrasp.mechanics.transforms import quaternion_of, rotation_from_euler

if TYPE_CHECKING:
    from softgrasp.description.hand import Hand
    from softgrasp.description.objects import GraspObject

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
    from softgrasp.build.objects import object_mass

    payload = hand.grasps.precision.payload
    return "precision" if payload is not None and object_mass(obj) <= payload else "power"


def _scene(name: str) -> GraspScene:
    for kind, other in (("hands", "an object"), ("objects", "a hand")):
        if name in library.names(kind) and name not in library.names("scenes"):
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
