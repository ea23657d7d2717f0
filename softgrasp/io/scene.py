"""Scenes, success criteria, sweep plans, finger releases and pinhole cameras in YAML.

A scene has its hand, object, arm and criterion by library name, by file, or with all fields.
"""

from __future__ import annotations

from os import PathLike
from pathlib import Path
from typing import Any, TypeVar, overload

from softgrasp import assets
from softgrasp.description.arm import Arm, HandCarrier, carrier_kind
from softgrasp.description.base import Description, FieldPath, error_at, error_inside, short
from softgrasp.description.calibration import FingerRelease
from softgrasp.description.closure import CLOSURES, DEFAULT_TYPE, DefaultClosure
from softgrasp.description.closure_base import Closure
from softgrasp.description.hand import Hand
from softgrasp.description.object import GraspObject
from softgrasp.description.scene import GraspScene
from softgrasp.description.sensor import PinholeCamera
from softgrasp.description.soft_finger import SoftFinger
from softgrasp.description.sweep import SweepPlan
from softgrasp.description.task import SuccessCriterion
from softgrasp.errors import DescriptionError
from softgrasp.extensions import CARRIERS
from softgrasp.io.files import write_text
from softgrasp.io.hand import (
    arm_from,
    load_arm,
    load_finger,
    soft_finger_from,
    synergies_to_si,
)
from softgrasp.io.input_limits import loader
from softgrasp.io.load import hand_of, load_hand, load_object
from softgrasp.io.object import expand_directories, object_from
from softgrasp.io.yaml_files import (
    Tree,
    YamlFile,
    actuator_units,
    dump,
    pose_tree,
    rates_to_si,
    take_units,
    to_si,
    write_yaml,
    yaml_path,
)

Scene = TypeVar("Scene")


@loader
def load_scene(name: str | Path) -> GraspScene:
    """Load a shipped scene by name, or one from a YAML file.

    Raises:
        DescriptionError: There is no such scene, or its file is wrong.
    """
    path = yaml_path("scenes", name)
    scene = YamlFile(path).read(lambda data: scene_from(data, directory=path.parent))
    return scene if scene.name else scene.replace(name=path.stem)


@overload
def as_scene(scene: str | PathLike[str]) -> GraspScene: ...
@overload
def as_scene(scene: Scene) -> Scene: ...
def as_scene(scene: Scene | str | PathLike[str]) -> Scene | GraspScene:
    """Load a scene whose name or file is given; return any other one.

    Raises:
        DescriptionError: There is no such scene, or it is no scene at all.
    """
    if isinstance(scene, str | PathLike):
        return load_scene(scene if isinstance(scene, str) else Path(scene))
    if not isinstance(scene, GraspScene) and not isinstance(getattr(scene, "scene", 0), GraspScene):
        raise DescriptionError(
            "expected a GraspScene, or the name or file of one (softgrasp.load_scene), found "
            + short(scene)
        )
    return scene


def save_scene(scene: GraspScene, path: str | Path) -> Path:
    """Write a scene as YAML from which ``load_scene`` makes an equal one.

    A shipped hand, object or arm that was not changed is written by its name.
    """
    data: dict[str, Any] = {}
    defaults = GraspScene.model_fields
    for key, value in scene.model_dump(mode="json").items():
        if key == "hand":
            data[key] = _by_name(scene.hand, "hands", load_hand) or value
        elif key == "object":
            data[key] = _by_name(scene.object, "objects", load_object) or value
        elif key == "success" and scene.success is not None:
            data[key] = _by_name(scene.success, "criteria", load_criterion) or value
        elif key == "objects" and scene.objects:
            named = (
                (item, _by_name(item.object, "objects", load_object)) for item in scene.objects
            )
            data[key] = [
                _without_defaults(item) | ({"object": name} if name else {}) for item, name in named
            ]
        elif key == "surroundings" and scene.surroundings:
            data[key] = [_without_defaults(part, "type") for part in scene.surroundings]
        elif key == "arm" and isinstance(scene.arm, HandCarrier):
            data[key] = CARRIERS.load(scene.arm.kind, "writer")(scene.arm)
        elif key == "arm" and isinstance(scene.arm, Arm):
            chain = {field: part for field, part in value.pop("chain").items() if field != "name"}
            data[key] = _by_name(scene.arm, "arms", load_arm) or value | chain  # as in its file
        elif key == "grasp" and key in scene.model_fields_set:
            data[key] = value  # stated: it is not adapted to the object
        elif getattr(scene, key) != defaults[key].default:
            data[key] = value
    return write_text(path, dump(data))


def scene_from(data: dict[str, Tree], *, directory: Path) -> GraspScene:
    """Make a scene from a YAML tree.

    ``hand`` and ``object`` are names, files, or mappings; ``object: {library: sphere, density:
    700}`` is a shipped object with another mass or density, also in each mapping of ``objects``.

    Raises:
        DescriptionError: Something in the tree is wrong; knows its location.
    """
    if describes_release(data):
        raise DescriptionError(
            "expected a scene with a hand and an object, found the release of a finger, which is "
            "not a grasp; use softgrasp crosscheck"
        )
    data, length, angle = take_units(data)
    hand = _inner(("hand",), data.get("hand"), lambda tree: _hand(tree, directory))
    obj = _inner(("object",), data.get("object"), lambda tree: _object(tree, directory))
    made = ("hand", "object", "objects", "arm", "success")
    rest = {key: value for key, value in data.items() if key not in made}
    pose = rest.pop("hand_pose", None)
    sensors = rest.pop("sensors", None)
    rest = to_si(rest, length, angle)
    if sensors is not None:
        rest["sensors"] = _sensors(sensors, length, angle)
    if pose is not None:
        rest["hand_pose"] = pose_tree(pose, length, angle, ("hand_pose",), "the hand")
    if isinstance(closure := rest.get("closure"), dict):
        _closure_to_si(closure, hand, length, angle)
    if (arm := data.get("arm")) is not None:
        rest["arm"] = carried = _inner(("arm",), arm, lambda tree: _arm(tree, directory))
        if pose is not None and isinstance(carried, HandCarrier) and carried.mounted:
            raise error_at("expected no hand_pose, as the arm has a base, found both", "hand_pose")
    if isinstance(success := data.get("success"), str):
        named = _beside(success, directory)
        rest["success"] = _inner(("success",), named, load_criterion)
    elif "success" in data:
        rest["success"] = to_si(success, length, angle)
    if (further := data.get("objects")) is not None:
        rest["objects"] = _further(further, length, angle, directory)
    return GraspScene(hand=hand, object=obj, **rest)


def _closure_to_si(closure: dict[str, Tree], hand: Hand, length: float, angle: float) -> None:
    """Convert rates of joints and mean postures; other rates are always in SI."""
    units = actuator_units(hand.actuators, length, angle)
    kinds: dict[str, type[Closure]] = {DEFAULT_TYPE: DefaultClosure, **CLOSURES}
    kind = kinds.get(str(closure.get("type", DEFAULT_TYPE)))
    if "rates" in closure and kind is not None and kind.rates_are_of_joints:
        closure["rates"] = rates_to_si(closure["rates"], units)
    named = {actuator.name: unit for actuator, unit in zip(hand.actuators, units, strict=True)}
    synergies_to_si(closure.get("synergies"), named)


def _further(entry_list: Tree, length: float, angle: float, directory: Path) -> list[Tree]:
    """Read further objects: mappings with an ``object`` by name, by file, or with all fields."""
    if not isinstance(entry_list, list) or not all(isinstance(part, dict) for part in entry_list):
        raise error_at(
            "expected a list of mappings such as {object: sphere, position: [0.05, 0, -0.085]}, "
            f"found {short(entry_list)}",
            "objects",
        )
    entries = []
    for index, part in enumerate(entry_list):
        tree = to_si({k: v for k, v in part.items() if k != "object"}, length, angle)
        location = ("objects", index, "object")
        obj = _inner(location, part.get("object"), lambda inner: _object(inner, directory))
        entries.append(tree | {"object": obj})
    return entries


def _inner(location: FieldPath, tree: Tree, make: Any) -> Any:
    """Make a part of a scene, and add the part's location to its errors."""
    expected = "a library name, a file, or a mapping with its fields"
    if tree is None:
        raise error_at(f"this field is missing; expected {expected}", *location)
    if not isinstance(tree, str | dict):
        raise error_at(f"expected {expected}, found {tree!r}", *location)
    try:
        return make(tree)
    except DescriptionError as error:
        if error.file is not None:
            raise
        raise error_inside(error, *location) from None


def _hand(tree: Tree, directory: Path) -> Hand:
    if isinstance(tree, dict):
        return hand_of(tree, directory)
    return load_hand(_beside(tree, directory))


def _arm(tree: Tree, directory: Path) -> Arm | HandCarrier:
    if (kind := carrier_kind(tree)) is not None:
        carrier: HandCarrier = CARRIERS.load(kind, "reader")(tree, directory)
        return carrier
    return arm_from(tree) if isinstance(tree, dict) else load_arm(_beside(tree, directory))


def _object(tree: Tree, directory: Path) -> GraspObject:
    if not isinstance(tree, dict):
        return load_object(_beside(tree, directory))
    if "library" not in tree:
        return object_from(tree, directory=directory)
    changes = {key: value for key, value in tree.items() if key != "library"}
    if not set(changes) <= {"mass", "density", "elasticity", "lock_joints"}:
        raise DescriptionError(
            "expected only mass, density, elasticity or lock_joints beside 'library', found "
            f"{sorted(changes)}"
        )
    elasticity = changes.pop("elasticity", None)
    obj = load_object(_beside(str(tree["library"]), directory), **changes)
    return obj if elasticity is None else obj.replace(elasticity=elasticity)


def _sensors(tree: Tree, length: float, angle: float) -> Tree:
    """Convert the poses of sensors to the fields of ``Pose``."""
    if not isinstance(tree, list):
        return tree
    sensors = list(tree)
    for index, sensor in enumerate(tree):
        if isinstance(sensor, dict) and "pose" in sensor:
            location = ("sensors", index, "pose")
            pose = pose_tree(sensor["pose"], length, angle, location, f"sensor {index}")
            sensors[index] = sensor | {"pose": pose}
    return sensors


def _beside(name: str, directory: Path) -> str:
    """Return the file of that name in the directory of the scene, or the name unchanged.

    A directory is an object; a name without a separator is rather one of the library.
    """
    beside = directory / name
    is_path = beside.is_file() or (beside.is_dir() and len(Path(name).parts) > 1)
    return str(beside) if is_path else name


def _without_defaults(value: Description, *kept: str) -> dict[str, Tree]:
    """Return the fields of a description that differ from their defaults, and ``kept`` ones."""
    fields = type(value).model_fields
    tree: dict[str, Tree] = value.model_dump(mode="json")
    return {k: v for k, v in tree.items() if k in kept or getattr(value, k) != fields[k].default}


def _by_name(value: Any, kind: str, load: Any) -> str | None:
    """Return the name of a shipped hand, object, arm or criterion that was not changed."""
    name: str = value.name
    return name if name in assets.names(kind) and load(name) == value else None


# Success criteria
@loader
def load_criterion(name: str | Path) -> SuccessCriterion:
    """Load a shipped success criterion by name, or one from a YAML file.

    The file may begin with ``units: {length: mm, angle: deg}``.

    Raises:
        DescriptionError: There is no such criterion, or its file is wrong.
    """
    path = yaml_path("criteria", name)

    def made(data: dict[str, Tree]) -> SuccessCriterion:
        rest, length, angle = take_units(data)
        return SuccessCriterion(**{"name": path.stem} | to_si(rest, length, angle))

    return YamlFile(path).read(made)


# Sweep plans
@loader
def load_plan(path: str | Path) -> SweepPlan:
    """Load a sweep plan from a YAML file.

    Raises:
        DescriptionError: The file is wrong; names the line.
    """
    path = Path(path)
    return YamlFile(path).read(lambda data: plan_from(data, directory=path.parent))


def plan_from(data: dict[str, Tree], *, directory: Path) -> SweepPlan:
    """Make a sweep plan from a YAML tree.

    ``scene`` is a name, a file, or a mapping with the fields of a scene. ``axes`` maps paths to
    lists of values, or to ``{low, high, steps, log}``.

    Raises:
        DescriptionError: Something is missing, unknown or does not fit.
    """
    tree: dict[str, Any] = dict(data)
    scene = tree.get("scene")
    if isinstance(scene, str):
        beside = directory / scene
        tree["scene"] = load_scene(beside if beside.is_file() else scene)
    elif isinstance(scene, dict):
        tree["scene"] = scene_from(scene, directory=directory)
    axes = tree.get("axes", {})
    if not isinstance(axes, dict):
        raise DescriptionError("expected paths with their values, found no mapping", field="axes")
    tree["axes"] = tuple(_axis(path, values, directory) for path, values in axes.items())
    return SweepPlan(**tree)


def _axis(path: str, values: Any, directory: Path) -> dict[str, Any]:
    if isinstance(values, dict):
        return {"path": path} | values
    listed = values if isinstance(values, list) else [values]
    return {"path": path, "values": tuple(expand_directories(path, listed, directory))}


# Releases of soft fingers
@loader
def load_release(name: str | Path) -> FingerRelease:
    """Load a shipped release by name (among the scenes), or one from a YAML file.

    Raises:
        DescriptionError: There is no such release, or its file is wrong; names file, line and
            field.
    """
    path = yaml_path("scenes", name)
    release = YamlFile(path).read(lambda data: _release_from(data, path.parent))
    return release if release.name else release.replace(name=path.stem)


def save_release(release: FingerRelease, path: str | Path) -> Path:
    """Write a release as YAML from which ``load_release`` makes an equal one.

    A shipped finger that was not changed is written by its name.

    Raises:
        DescriptionError: The suffix of ``path`` is not that of a YAML file.
        ResultError: The file cannot be written.
    """
    data: dict[str, Any] = release.model_dump(exclude_defaults=True)
    name = release.finger.name
    if name in assets.names("fingers") and load_finger(name) == release.finger:
        data["finger"] = name
    return write_yaml(path, dump(data))


def is_release(name: str | Path) -> bool:
    """Return whether a file or shipped scene describes a finger release instead of a grasp.

    Raises:
        DescriptionError: It cannot be read, or does not exist.
    """
    return describes_release(YamlFile(yaml_path("scenes", name)).data)


def describes_release(data: dict[str, Tree]) -> bool:
    """Return whether fields are those of a finger release: a finger, no hand, no object.

    A calibration problem also has a finger, but no ``tip_mass``.
    """
    return not {"hand", "object"} & set(data) and {"finger", "tip_mass"} <= set(data)


def _release_from(data: dict[str, Tree], directory: Path) -> FingerRelease:
    if {"hand", "object"} & set(data):
        raise DescriptionError(
            "expected the release of a finger (finger, tip_mass), found a scene with a hand and an "
            "object"
        )
    if data.get("finger") is None:
        return FingerRelease(**data)
    finger = _inner(("finger",), data["finger"], lambda tree: _finger(tree, directory))
    return FingerRelease(**(data | {"finger": finger}))


def _finger(tree: Tree, directory: Path) -> SoftFinger:
    if isinstance(tree, dict):
        return soft_finger_from(tree)
    beside = directory / str(tree)
    return load_finger(beside if beside.is_file() else tree)


# Cameras
@loader
def load_camera(path: str | Path) -> PinholeCamera:
    """Load a pinhole camera from YAML; parameters are in pixels.

    Raises:
        DescriptionError: There is no such file, or it is invalid; names file, line and field.
    """
    file = Path(path)
    return YamlFile(file).read(
        lambda data: PinholeCamera(**{**data, "name": data.get("name", file.stem)})
    )


def save_camera(camera: PinholeCamera, path: str | Path) -> Path:
    """Write a camera as YAML from which ``load_camera`` makes an equal one.

    Raises:
        DescriptionError: ``path`` does not have the suffix of a YAML file.
        ResultError: The file cannot be written.
    """
    return write_yaml(path, dump(camera.model_dump(exclude_defaults=True)))
