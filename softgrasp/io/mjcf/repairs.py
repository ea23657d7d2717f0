"""Differences of MJCF files from what MuJoCo reads, which are accepted with a message.

Attributes and elements that MuJoCo does not know, angles in radians in a file that does not state
its unit, missing files of meshes that nothing collides with, and servos without ``biastype``.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from copy import deepcopy
from difflib import get_close_matches
from pathlib import Path
from typing import NamedTuple

import mujoco
from lxml import etree

from softgrasp.errors import DescriptionError
from softgrasp.io.xml_elements import Element, line_of

XML = ".xml"
"""Suffix of the files that MuJoCo reads itself; others are read here."""
MAX_UNKNOWN = 200
"""Number of unknown attributes and elements above which a file is refused."""
USUAL = (
    "actuator armature asset axis body class compiler conaffinity condim connect contact contype "
    "ctrllimited ctrlrange damping default density diaginertia equality euler file fixed "
    "forcelimited forcerange freejoint friction frictionloss fullinertia gear general geom "
    "gravcomp group include inertial joint joint1 joint2 keyframe limited margin mass material "
    "mesh motor name option pair polycoef pos position quat range ref scale sensor site size "
    "solimp solref spatial springref stiffness tendon type velocity weld worldbody"
)
"""Tags and attributes that are not left out when they are misspelt, as the hand needs them."""
MAX_LINES = 4
"""Number of lines that a message names."""
_UNKNOWN = re.compile(r"Schema violation: unrecognized (attribute|element)(?:: '([^']+)')?")
_REPEATED = re.compile(r"repeated name '([^']+)' in (mesh|material|texture)")
_LINE = re.compile(r"\bline (\d+)")


class MissingFile(NamedTuple):
    """A file that a model names and that does not exist."""

    kind: str
    """Element that names it, such as ``mesh``."""
    file: str
    """Name as in the model."""
    error: DescriptionError
    """Error with file and line, for a file that is needed."""


# Unknown attributes and elements
def readable_spec(path: Path, documents: Mapping[Path, Element]) -> tuple[mujoco.MjSpec, list[str]]:
    """Read a model and what it includes without what MuJoCo does not know.

    Returns:
        The model, and messages with the lines of what is left out.

    Raises:
        ValueError: MuJoCo refuses the model for another reason.
    """
    try:
        if path.suffix.lower() == XML:
            return mujoco.MjSpec.from_file(str(path)), []
    except ValueError as error:
        if not (_UNKNOWN.search(str(error)) or _REPEATED.search(str(error))):
            raise
    root = merge(path, path.parent, documents)
    left_out: dict[str, list[str]] = {}
    for _ in range(MAX_UNKNOWN):
        text, by_line = _number(root)
        try:
            spec = mujoco.MjSpec.from_string(text)
        except ValueError as error:
            what, element = _remove(str(error), by_line)
            if element is None:
                raise
            file = element.get(_ORIGIN, path.name)
            left_out.setdefault(what, []).append(f"{file}:{line_of(element)}")
            continue
        spec.modelfiledir = str(path.parent)
        return spec, [
            f"left out, as MuJoCo does not read it: {what} "
            f"({', '.join(lines[:MAX_LINES])}{', …' if lines[MAX_LINES:] else ''})"
            for what, lines in left_out.items()
        ]
    raise ValueError(f"Error: more than {MAX_UNKNOWN} attributes and elements are unknown")


_ORIGIN = "softgrasp-file"
"""Attribute that keeps the file of an element until the document is written."""


def merge(path: Path, directory: Path, documents: Mapping[Path, Element]) -> Element:
    """Copy a document and replace each ``<include>`` by the content of its file."""
    root = deepcopy(documents[path])
    for element in root.iter("*"):
        element.set(_ORIGIN, path.name)
    for include in list(root.iter("include")):
        parent = include.getparent()
        if parent is None:
            continue
        inside = merge(directory / with_slashes(str(include.get("file"))), directory, documents)
        index = parent.index(include)
        parent.remove(include)
        for child in reversed(list(inside.iterchildren("*"))):
            parent.insert(index, child)
    return root


def with_slashes(name: str) -> str:
    """Return a file name with the backslashes replaced that MuJoCo reads as slashes."""
    return name.replace("\\", "/")


def _number(root: Element) -> tuple[str, dict[int, Element]]:
    """Write each element in a line of its own; return the text and the elements by line."""
    copy = deepcopy(root)
    for element in copy.iter("*"):
        element.attrib.pop(_ORIGIN, "")
    etree.indent(copy)
    text = etree.tostring(copy, encoding="unicode")
    again = etree.fromstring(text)
    pairs = zip(again.iter("*"), root.iter("*"), strict=True)
    return text, {int(line_of(new) or 0): old for new, old in pairs}


def _remove(message: str, by_line: Mapping[int, Element]) -> tuple[str, Element | None]:
    """Remove what a message of MuJoCo refuses; return its name and its element, if known."""
    unknown, line = _UNKNOWN.search(message), _LINE.search(message)
    element = by_line.get(int(line[1])) if line else None
    if element is None:
        return "", None
    tag, parent = str(element.tag), element.getparent()
    repeated = _REPEATED.search(message)
    if repeated and parent is not None and tag == repeated[2]:
        parent.remove(element)
        return f"second <{tag}> of the name '{repeated[1]}'", element
    if unknown is None or _is_misspelt(unknown[2] or tag):
        return "", None
    if unknown[1] == "attribute" and unknown[2] in element.attrib:
        del element.attrib[unknown[2]]
        return f"attribute {unknown[2]} of <{tag}>", element
    if unknown[1] == "attribute" or parent is None:
        return "", None
    parent.remove(element)
    return f"<{tag}>", element


def _is_misspelt(word: str) -> bool:
    """Whether a word resembles a usual tag or attribute without being one."""
    usual = USUAL.split()
    return word not in usual and bool(get_close_matches(word, usual, n=1, cutoff=0.75))


# Angles
def angles_in_radians(spec: mujoco.MjSpec, documents: Mapping[Path, Element]) -> list[str]:
    """Read angles as radians where a file states no unit and its ranges cannot be degrees.

    Without ``<compiler angle>`` MuJoCo reads degrees. Files that are meant to be included in
    another model often omit it; then no hinge has a range beyond one rotation in radians.

    Returns:
        Message about the change; empty without one.
    """
    items = [item for root in documents.values() for item in root.iter("*")]
    stated = any("angle" in item.attrib for item in items if item.tag == "compiler")
    if stated or not spec.compiler.degree:
        return []
    hinges = [joint for joint in spec.joints if joint.type == mujoco.mjtJoint.mjJNT_HINGE]
    widest = max((abs(float(end)) for hinge in hinges for end in hinge.range), default=0.0)
    eulers = [abs(float(part)) for item in items for part in str(item.get("euler", "")).split()]
    if not 0.0 < widest <= math.tau or max(eulers, default=0.0) > math.tau:
        return []
    spec.compiler.degree = False
    return [
        f"its hinges have ranges up to {widest:.4g} and its <compiler> states no angle unit: the "
        f"angles are read as radians ({widest:.4g}° would hardly move a finger)"
    ]


# Meshes
def missing_meshes(spec: mujoco.MjSpec, missing: Sequence[MissingFile]) -> list[str]:
    """Leave out geoms of a model that cannot collide and whose mesh files are missing.

    Returns:
        Message about the meshes; empty without one.

    Raises:
        DescriptionError: A missing file is no mesh, or a colliding geom or a mass needs it.
    """
    names = []
    for item in missing:
        meshes = [mesh for mesh in spec.meshes if mesh.file == item.file]
        geoms = [geom for geom in spec.geoms if geom.meshname in {mesh.name for mesh in meshes}]
        if item.kind != "mesh" or any(_needed(geom) for geom in geoms):
            raise item.error
        if not meshes:  # nothing refers to it any more
            continue
        for part in [*geoms, *meshes]:
            spec.delete(part)
        names.append(item.file)
    if not names:
        return []
    shown = ", ".join(f"'{name}'" for name in names[:MAX_LINES])
    more = f" and {len(names) - MAX_LINES} more" if names[MAX_LINES:] else ""
    return [f"left out: visual meshes whose files do not exist: {shown}{more}"]


def _needed(geom: mujoco.MjsGeom) -> bool:
    """Whether a geom can collide, or gives its body a mass."""
    weighs = not geom.parent.explicitinertial and geom.mass != 0.0 and geom.density != 0.0
    return bool(geom.contype or geom.conaffinity or weighs)


# Servos
def position_biases(spec: mujoco.MjSpec) -> list[str]:
    """Give actuators with the parameters of a position servo, but no ``biastype``, that type.

    Returns:
        Message about the actuators; empty without one.
    """
    names = []
    for actuator in spec.actuators:
        stiffness = float(actuator.biasprm[1])
        is_none = actuator.biastype == mujoco.mjtBias.mjBIAS_NONE
        if is_none and stiffness < 0.0 and stiffness == -float(actuator.gainprm[0]):
            actuator.biastype = mujoco.mjtBias.mjBIAS_AFFINE
            names.append(f"'{actuator.name}'")
    if not names:
        return []
    return [
        f"actuators with the gain and bias of a position servo, but without biastype, are read as "
        f"such: {', '.join(names)}"
    ]
