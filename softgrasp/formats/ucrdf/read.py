"""U(C)RDF, URDF and xacro files as robots."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar

from softgrasp.description.robot import Robot
from softgrasp.errors import DescriptionError, SoftgraspWarning, did_you_mean
from softgrasp.formats.ucrdf.bendables import bendable_tree
from softgrasp.formats.ucrdf.controls import control_tree
from softgrasp.formats.ucrdf.document import read_document, refuse_xacro
from softgrasp.formats.ucrdf.elements import Element, line_of, mistake, only, present_attributes
from softgrasp.formats.ucrdf.hydraulics import hydraulics_tree
from softgrasp.formats.ucrdf.joints import joint_tree
from softgrasp.formats.ucrdf.kept import left_out
from softgrasp.formats.ucrdf.links import colors, drop_missing_visuals, drop_undrawable, link_tree
from softgrasp.formats.ucrdf.macros import expanded
from softgrasp.formats.ucrdf.places import placed

T = TypeVar("T")
Settings = Mapping[str, Callable[[str], Mapping[str, Any]]]
"""Fields of joints that hold instead of what a file says, by the joint's name, for its type."""

MACRO_SUFFIX = ".xacro"
ROBOT_SUFFIXES = (".ucrdf", ".urdf", MACRO_SUFFIX)


def read_robot(path: str | Path) -> Robot:
    """Read a robot from a U(C)RDF, URDF or xacro file.

    Args:
        path: File whose name ends in .ucrdf, .urdf or .xacro.

    Raises:
        DescriptionError: The file, or what it says, is wrong; names file, line and element.
        BackendUnavailable: It is a xacro file, and the xacro package is not installed.

    Warns:
        SoftgraspWarning: Something in it is not kept.
    """
    return made_of_robot(path, lambda robot: robot)


def made_of_robot(
    path: str | Path, make: Callable[[Robot], T], settings: Settings | None = None
) -> T:
    """Read a robot and make something of it; mistakes in it get file and line too.

    Args:
        path: File whose name ends in .ucrdf, .urdf or .xacro.
        make: Its errors may tell a place in the robot, such as ``("joints", 2, "lower")``.
        settings: Fields of joints that hold instead of what the file says.

    Raises:
        DescriptionError: The file, or what it says, is wrong, or a joint that is set is not there.
        BackendUnavailable: It is a xacro file, and the xacro package is not installed.

    Warns:
        SoftgraspWarning: Something in it is not kept.
    """
    path = Path(path)
    try:
        root = _root(path)
        unkept = left_out(root)
        drop_undrawable(root)
        missing = drop_missing_visuals(root, path.parent)
        made = _made(root, path.parent, make, settings or {})
    except DescriptionError as error:
        raise error.located(file=path) from None
    for left_out_text in filter(None, (unkept, missing)):
        warnings.warn(f"{path}: left out: {left_out_text}", SoftgraspWarning, stacklevel=3)
    return made


def _root(path: Path) -> Element:
    suffix = path.suffix.lower()
    if suffix not in ROBOT_SUFFIXES:
        raise DescriptionError(
            f"expected a robot as {', '.join(ROBOT_SUFFIXES)}, found '{suffix or path.name}'"
        )
    root = expanded(path) if suffix == MACRO_SUFFIX else read_document(path)
    if root.tag != "robot":
        raise DescriptionError(f"expected a <robot>, found a <{root.tag}>", line=line_of(root))
    refuse_xacro(root)
    return root


def _made(root: Element, directory: Path, make: Callable[[Robot], T], settings: Settings) -> T:
    if root.find("link") is None:
        raise mistake(root, "expected <link> inside, found none")
    source = only(root, "source")
    materials = colors(root)
    tree: dict[str, Any] = {
        **present_attributes(root, "name"),
        "links": [link_tree(part, directory, materials) for part in root.findall("link")],
        "joints": [joint_tree(part) for part in root.findall("joint")],
        "bendables": [bendable_tree(part) for part in root.findall("bendable")],
        "control": [control_tree(part) for part in root.findall("ros2_control")],
        "source": "" if source is None else source.text or "",
        **hydraulics_tree(root),
    }
    _set_joints(tree["joints"], settings)
    try:
        return make(Robot(**tree))
    except DescriptionError as error:
        raise placed(error, root) from None


def _set_joints(joints: list[dict[str, Any]], settings: Settings) -> None:
    """Let settings hold instead of what a file says."""
    by_name = {str(joint.get("name", "")).strip(): joint for joint in joints}
    for name, fields in settings.items():
        if name not in by_name:
            raise DescriptionError(
                f"no joint '{name}'; {did_you_mean(name, by_name)}", field=f"joints.{name}"
            )
        by_name[name].update(fields(str(by_name[name].get("type"))))
