"""U(C)RDF, URDF and xacro files as robots."""

from __future__ import annotations

import warnings
from pathlib import Path

from softgrasp.description.robot import Robot
from softgrasp.errors import DescriptionError, SoftgraspWarning
from softgrasp.formats.ucrdf.bendables import bendable_tree
from softgrasp.formats.ucrdf.controls import control_tree
from softgrasp.formats.ucrdf.document import read_document, refuse_xacro
from softgrasp.formats.ucrdf.elements import Element, given, line_of, mistake, only
from softgrasp.formats.ucrdf.joints import joint_tree
from softgrasp.formats.ucrdf.kept import left_out
from softgrasp.formats.ucrdf.links import colors, drop_undrawable, link_tree
from softgrasp.formats.ucrdf.macros import expanded
from softgrasp.formats.ucrdf.places import placed

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
    path = Path(path)
    try:
        root = _root(path)
        unkept = left_out(root, path.parent)
        drop_undrawable(root, path.parent)
        robot = _robot_from(root, path.parent)
    except DescriptionError as error:
        raise error.located(file=path) from None
    if unkept:
        warnings.warn(f"{path}: left out: {unkept}", SoftgraspWarning, stacklevel=2)
    return robot


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


def _robot_from(root: Element, folder: Path) -> Robot:
    if root.find("link") is None:
        raise mistake(root, "expected <link> inside, found none")
    source = only(root, "source")
    materials = colors(root)
    tree = {
        **given(root, "name"),
        "links": [link_tree(part, folder, materials) for part in root.findall("link")],
        "joints": [joint_tree(part) for part in root.findall("joint")],
        "bendables": [bendable_tree(part) for part in root.findall("bendable")],
        "control": [control_tree(part) for part in root.findall("ros2_control")],
        "source": "" if source is None else source.text or "",
    }
    try:
        return Robot(**tree)
    except DescriptionError as error:
        raise placed(error, root) from None
