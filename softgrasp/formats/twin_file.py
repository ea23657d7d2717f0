"""Digital twins in YAML: the parts by name or file, the gripper by its measures."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

from softgrasp import library
from softgrasp.description.mounted_gripper import GripperMount
from softgrasp.description.twin import Twin
from softgrasp.errors import DescriptionError, did_you_mean
from softgrasp.formats.arm_file import load_arm
from softgrasp.formats.pose_tree import pose_tree
from softgrasp.formats.pressure_fit_file import load_pressure_fit
from softgrasp.formats.register_map_file import load_register_map
from softgrasp.formats.robot_program_file import load_robot_program
from softgrasp.formats.yaml_file import Tree, YamlFile, scaled, take_units

KIND, DEFAULT = "twins", "three_fingers"
SUFFIXES = (".yaml", ".yml")
CIRCLE = ("count", "radius", "height", "tilt")
"""Fields of fingers that stand on a circle."""


def load_twin(name: str | Path = DEFAULT) -> Twin:
    """A shipped twin by name (``three_fingers``), or one from a YAML file.

    ``finger``, ``arm``, ``controller.map`` and ``flange.program`` are names of shipped ones or
    files beside it. ``units: {length: mm, angle: deg}`` is for the gripper, ``finger_radius`` and
    ``phis``; all else is in SI.

    Raises:
        DescriptionError: There is no such twin, or its file is wrong; names file, line and field.
    """
    path = Path(name)
    if path.suffix.lower() not in SUFFIXES:
        path = library.find(KIND, str(name))
    return YamlFile(path).read(lambda data: twin_from({"name": path.stem} | data, path.parent))


def twin_from(data: dict[str, Tree], directory: Path = Path()) -> Twin:
    """Make a twin of a YAML tree.

    Args:
        data: The tree.
        directory: Where the files lie that it names.

    Raises:
        DescriptionError: Something in the tree is wrong; knows its location.
    """
    rest, length, angle = take_units(data)
    fields: dict[str, Any] = dict(rest)
    _put(fields, ("finger",), load_pressure_fit, directory)
    _put(fields, ("arm",), load_arm, directory)
    _put(fields, ("controller", "map"), load_register_map, directory)
    _put(fields, ("flange", "program"), load_robot_program, directory)
    if "gripper" in fields:
        fields["gripper"] = _gripper(fields["gripper"], length, angle)
    for key, factor in (("finger_radius", length), ("phis", angle)):
        if key in fields:
            fields[key] = scaled(fields[key], factor)
    return Twin(**fields)


def _put(
    data: Tree, keys: tuple[str, ...], load: Callable[[Path | str], Any], directory: Path
) -> None:
    """Replace the name of a part by the part."""
    *outer, last = keys
    for key in outer:
        if not isinstance(data, dict) or not isinstance(data.get(key), dict):
            return
        data[key] = data = dict(data[key])
    if not isinstance(data, dict) or last not in data or isinstance(data[last], dict):
        return
    name = data[last]
    if not isinstance(name, str) or not name:
        raise DescriptionError(
            f"expected a name or a file, found {name!r}", field=".".join(keys), location=keys
        )
    beside = directory / name
    try:
        data[last] = load(beside if Path(name).suffix and beside.is_file() else name)
    except DescriptionError as error:
        if error.file is not None:
            raise
        raise DescriptionError(error.message, field=".".join(keys), location=keys) from None


def _gripper(tree: Tree, length: float, angle: float) -> Tree | GripperMount:
    """A gripper: fingers on a circle, or each with a pose of its own."""
    if not isinstance(tree, dict):
        return tree
    location = ("gripper",)
    data: dict[str, Any] = dict(tree)
    if "mount" in data:
        data["mount"] = pose_tree(data["mount"], length, angle, (*location, "mount"), "gripper")
    fingers = data.get("fingers")
    if isinstance(fingers, list):
        poses = enumerate(fingers)
        data["fingers"] = [
            pose_tree(pose, length, angle, (*location, "fingers", index), "gripper")
            for index, pose in poses
        ]
    if not isinstance(fingers, dict):
        return data
    for key in fingers:
        if key not in CIRCLE:
            raise DescriptionError(
                f"no such field; {did_you_mean(key, CIRCLE)}",
                field=f"gripper.fingers.{key}",
                location=(*location, "fingers", key),
            )
    factors = {"radius": length, "height": length, "tilt": angle}
    circle = {key: scaled(value, factors.get(key, 1)) for key, value in fingers.items()}
    circle |= {key: data[key] for key in ("name", "mount") if key in data}
    if "mount" in circle:
        circle["mount"] = GripperMount(mount=circle["mount"], fingers=[{}]).mount
    return GripperMount.around_axis(**_numbers(circle))


def _numbers(circle: dict[str, Any]) -> dict[str, Any]:
    """The measures of a circle of fingers, checked before they are used.

    Raises:
        DescriptionError: One is missing or no number.
    """
    for key in ("count", "radius"):
        if key not in circle:
            raise DescriptionError(
                "expected a number, found nothing",
                field=f"gripper.fingers.{key}",
                location=("gripper", "fingers"),
            )
    for key in CIRCLE:
        value = circle.get(key, 0)
        kind = int if key == "count" else int | float
        if isinstance(value, bool) or not isinstance(value, kind) or not math.isfinite(value):
            raise DescriptionError(
                f"expected a number, found {value!r}",
                field=f"gripper.fingers.{key}",
                location=("gripper", "fingers", key),
            )
    return circle
