"""Read robots from U(C)RDF, URDF and xacro files.

Every element becomes plain data for its description class. In ``<bendable>`` and ``<hydraulics>``,
which U(C)RDF adds to URDF (``bendable.xsd`` is their schema), everything unknown is refused; of the
other elements ``_ROBOT`` lists what is kept, and a warning names everything else with its lines.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Iterator, Mapping
from difflib import get_close_matches
from pathlib import Path
from typing import Any, TypeVar

from lxml import etree

from softgrasp.assets import MACRO_SUFFIX, MESH_SUFFIXES, ROBOT_SUFFIXES
from softgrasp.description.bendable import (
    Backbone,
    Chamber,
    CurvatureLimits,
    HydraulicDrive,
    Tendon,
    TipLoad,
)
from softgrasp.description.robot import Robot
from softgrasp.errors import BackendUnavailable, DescriptionError, SoftgraspWarning, did_you_mean
from softgrasp.io.mesh_files import lacks_reader
from softgrasp.io.urdf.length_unit import with_context_units
from softgrasp.io.urdf.xml import (
    UNDECLARED,
    arrange,
    expand,
    inertial_tree,
    is_readable,
    locate_mesh,
    mesh_name,
    origin_tree,
    read_document,
    refuse_xacro,
)
from softgrasp.io.xml_elements import (
    Element,
    element_error,
    line_of,
    number_inside,
    numbers,
    only,
    present_attributes,
    present_numbers,
    required,
)

T = TypeVar("T")
Settings = Mapping[str, Callable[[str], Mapping[str, Any]]]
"""Fields that replace those of a file, by joint name, as a function of the joint type."""
BOUNDED = ("revolute", "prismatic")
ATTRIBUTES = "@"
"""Key of the attributes in a grammar; other keys are tags of children."""
OTHER_KIND = f"which softgrasp does not read ({', '.join(MESH_SUFFIXES)})"
"""Why a visual is left out whose mesh has another format."""
MAX_LINES = 3
"""Number of lines that a message lists for one element that is left out."""
OF_SCHEMA = ("bendable", "hydraulics")
"""Children of the robot in which everything unknown is refused."""
Grammar = Mapping[str, Any]
LENGTHS = {
    "box": ("size",),
    "cylinder": ("radius", "length"),
    "sphere": ("radius",),
    "capsule": ("radius",),
    "mesh": ("scale",),
}
"""Attributes of shapes that have no volume where one is 0."""
ZERO = r"[+-]?(0+\.?0*|\.0+)([eE][+-]?\d+)?"
Color = tuple[float, ...]
"""Red, green, blue and opacity."""
Colors = Mapping[str, Color | None]
"""Colours of materials by name; None if there is only a texture."""
RANGE = ("initial_value", "min", "max")
"""Parameters of an interface that are read."""


def read_robot(path: str | Path) -> Robot:
    """Read a robot from a U(C)RDF, URDF or xacro file.

    Args:
        path: File whose name ends in .ucrdf, .urdf or .xacro.

    Raises:
        DescriptionError: The file is wrong; names file, line and element.
        BackendUnavailable: It is a xacro file, and the xacro package is not installed.

    Warns:
        SoftgraspWarning: Something in it is not kept.
    """
    return make_of_robot(path, lambda robot: robot)


def make_of_robot(
    path: str | Path,
    make: Callable[[Robot], T],
    settings: Settings | None = None,
    *,
    prepare: Callable[[Element], None] | None = None,
) -> T:
    """Read a robot and convert it by a function whose errors get their location in the file.

    Args:
        path: File whose name ends in .ucrdf, .urdf or .xacro.
        make: Function of the robot; its errors may have a location in the robot, such as
            ``("joints", 2, "lower")``.
        settings: Fields of joints that replace those of the file.
        prepare: Function that changes the ``<robot>`` before it is read.

    Raises:
        DescriptionError: The file is wrong, or a joint of ``settings`` does not exist.
        BackendUnavailable: It is a xacro file, and the xacro package is not installed.

    Warns:
        SoftgraspWarning: Something in it is not kept.
    """
    path = Path(path)
    try:
        root = _root(path)
        if prepare is not None:
            prepare(root)
        unkept = left_out(root)
        floating = fix_floating(root)
        dropped = [
            unkept,
            drop_more_inertials(root),
            drop_empty_shapes(root),
            drop_unreadable_visuals(root, path.parent),
        ]
        made = _make(root, path.parent, make, settings or {})
    except DescriptionError as error:
        raise error.located(file=path) from None
    except BackendUnavailable as error:
        raise BackendUnavailable(f"{path}: {error}") from None
    messages = [f"left out: {text}" for text in dropped if text]
    if floating:
        messages.insert(0, f"floating joints are taken as fixed at their origins: {floating}")
    for message in messages:
        warnings.warn(f"{path}: {message}", SoftgraspWarning, stacklevel=3)
    return made


def keep_below(robot: Element, name: str) -> None:
    """Remove everything from a ``<robot>`` that a link does not carry, and not the link.

    Raises:
        DescriptionError: There is no such link.
    """
    links = {str(item.get("name")): item for item in robot.findall("link")}
    if name not in links:
        raise DescriptionError(f"no link '{name}'; {did_you_mean(name, links)}")
    edges = [*robot.findall("joint"), *robot.findall("bendable")]
    kept, known = [name], {name}
    for link in kept:
        carried = [edge for edge in edges if _end(edge, "parent") == link]
        new = {_end(item, "child") for item in carried} - known
        known |= new
        kept += sorted(new)
    carrying = (edge for edge in edges if _end(edge, "parent") not in known)
    for element in (*(element for link, element in links.items() if link not in known), *carrying):
        robot.remove(element)
    joints = {edge.get("name") for edge in edges if edge.getparent() is robot}
    for system in robot.findall("ros2_control"):
        for element in system.findall("joint"):
            if element.get("name") not in joints:
                system.remove(element)
        if system.find("joint") is None:
            robot.remove(system)


def _end(edge: Element, tag: str) -> str:
    """Return the link at an end of a joint; empty where none is named."""
    end = edge.find(tag)
    return "" if end is None else str(end.get("link", ""))


def _root(path: Path) -> Element:
    suffix = path.suffix.lower()
    if suffix not in ROBOT_SUFFIXES:
        raise DescriptionError(
            f"expected a robot as {', '.join(ROBOT_SUFFIXES)}, found '{suffix or path.name}'"
        )
    root = expand(path) if suffix == MACRO_SUFFIX else read_document(path)
    if root.tag != "robot":
        raise DescriptionError(f"expected a <robot>, found a <{root.tag}>", line=line_of(root))
    refuse_xacro(root)
    return root


def _make(root: Element, directory: Path, make: Callable[[Robot], T], settings: Settings) -> T:
    if root.find("link") is None:
        raise element_error(root, "expected <link> inside, found none")
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
    by_name = {str(joint.get("name", "")).strip(): joint for joint in tree["joints"]}
    for name, fields in settings.items():
        if name not in by_name:
            hint = did_you_mean(name, by_name)
            raise DescriptionError(f"no joint '{name}'; {hint}", field=f"joints.{name}")
        by_name[name].update(fields(str(by_name[name].get("type"))))
    try:
        return make(with_context_units(Robot(**tree)))
    except DescriptionError as error:
        raise arrange(error, root) from None


# Links
def colors(robot: Element) -> dict[str, Color | None]:
    """Collect the colours of materials, of the robot first, then of its links.

    Raises:
        DescriptionError: A colour is not four numbers.
    """
    colors_by_name: dict[str, Color | None] = {}
    for material in (*robot.findall("material"), *robot.iterfind("link/*/material")):
        rgba = _read_color(material)
        if rgba is not None or only(material, "texture") is not None:
            colors_by_name.setdefault(material.get("name", ""), rgba)
    return colors_by_name


def link_tree(element: Element, directory: Path, materials: Colors) -> dict[str, Any]:
    """Parse the fields of a ``Link``; an ``<inertial>`` of mass 0 counts as none.

    Raises:
        DescriptionError: Something is missing, duplicated, or not part of URDF.
    """

    def shapes(tag: str) -> list[dict[str, Any]]:
        return [_shape_tree(part, directory, materials) for part in element.findall(tag)]

    inertial = inertial_tree(element)
    if inertial and inertial["inertial"].get("mass") == 0.0:
        inertial = {}
    return {
        **present_attributes(element, "name"),
        **inertial,
        "visuals": shapes("visual"),
        "collisions": shapes("collision"),
    }


def _shape_tree(element: Element, directory: Path, materials: Colors) -> dict[str, Any]:
    named = present_attributes(element, "name") | origin_tree(element)
    tree = {**named, "shape": _geometry(element, directory)}
    material = only(element, "material")
    if material is not None:
        tree["rgba"] = _color(material, materials)
    return tree


def _geometry(element: Element, directory: Path) -> dict[str, Any]:
    geometry = required(element, "geometry")
    shapes = list(geometry.iterchildren("*"))
    if len(shapes) != 1 or shapes[0].tag not in LENGTHS:
        tags = ", ".join(f"<{shape.tag}>" for shape in shapes) or "none"
        raise element_error(geometry, f"expected one of {', '.join(LENGTHS)}, found {tags}")
    shape = shapes[0]
    match shape.tag:
        case "box":
            return {"type": "cuboid", "size": numbers(_with(shape, "size"), "size", 3)}
        case "sphere":
            return {"type": "sphere", **present_numbers(shape, "radius")}
        case "mesh":
            scale = {"scale": numbers(shape, "scale", 3)} if "scale" in shape.attrib else {}
            return {"type": "mesh", "file": mesh_name(_with(shape, "filename"), directory), **scale}
    size = present_numbers(shape, "radius", "length")
    if shape.tag == "cylinder" and "length" in size:
        size["height"] = size.pop("length")
    return {"type": shape.tag, **size}


def _color(material: Element, materials: Colors) -> Color | None:
    stated, name = _read_color(material), material.get("name", "")
    if stated is not None or name in materials:
        return stated or materials[name]
    hint = f"; {did_you_mean(name, materials)}" if materials else ""
    raise element_error(material, f"expected a material that has a colour, found '{name}'{hint}")


def _read_color(material: Element) -> Color | None:
    color = only(material, "color")
    return None if color is None else numbers(_with(color, "rgba"), "rgba", 4)


def _with(element: Element, attribute: str) -> Element:
    """Return the element if it has the attribute, else raise an error."""
    if attribute not in element.attrib:
        raise element_error(element, "this attribute is missing", attribute)
    return element


def drop_unreadable_visuals(robot: Element, directory: Path) -> str:
    """Remove visuals with meshes that cannot be read; a link without collision keeps what it can.

    Returns:
        Message with lines about removed visuals; "" if there are none.
    """
    removed: dict[str, list[str]] = {}
    for visual in robot.findall("link/visual"):
        mesh, link = visual.find("geometry/mesh"), visual.getparent()
        if mesh is None or link is None or "filename" not in mesh.attrib:
            continue
        name = str(mesh.get("filename"))
        reason = _unreadable(mesh, name, directory)
        if reason and (reason == OTHER_KIND or link.find("collision") is not None):
            removed.setdefault(reason, []).append(f"'{name}' (line {line_of(mesh)})")
            link.remove(visual)
    return "; ".join(
        f"<visual> {', '.join(names[:MAX_LINES])}{_and_more(names)}, {reason}"
        for reason, names in removed.items()
    )


def drop_more_inertials(robot: Element) -> str:
    """Remove all but the first ``<inertial>`` of links, as other readers of URDF do.

    Returns:
        Message with the links and lines of those removed; "" if there are none.
    """
    removed = []
    for link in robot.findall("link"):
        for inertial in link.findall("inertial")[1:]:
            removed.append(f"link '{link.get('name', '')}' (line {line_of(inertial)})")
            link.remove(inertial)
    return f"a second <inertial> of {', '.join(removed)}" if removed else ""


def drop_empty_shapes(robot: Element) -> str:
    """Remove shapes with a length of 0, which have no volume.

    Returns:
        Message with the links and lines of removed collisions; "" if there are none.
    """
    removed = []
    for part in (*robot.findall("link/visual"), *robot.findall("link/collision")):
        link, shapes = part.getparent(), part.findall("geometry/*")
        if link is None or len(shapes) != 1:
            continue
        lengths = (shapes[0].get(name, "") for name in LENGTHS.get(str(shapes[0].tag), ()))
        if not any(re.fullmatch(ZERO, word) for word in " ".join(lengths).split()):
            continue
        link.remove(part)
        if part.tag == "collision":
            line = line_of(shapes[0])
            removed.append(f"<{shapes[0].tag}> of link '{link.get('name', '')}' (line {line})")
    return f"<collision> of size 0, {', '.join(removed)}" if removed else ""


def _unreadable(mesh: Element, name: str, directory: Path) -> str:
    """Return why the file of a ``<mesh>`` cannot be read; "" if it can."""
    if not is_readable(name):
        return OTHER_KIND
    if locate_mesh(mesh, directory) is None:
        return "no such file"
    if lacks_reader(name):
        return "which need pycollada: pip install 'softgrasp[mesh]'"
    return ""


def _and_more(names: list[str]) -> str:
    return f" and {len(names) - MAX_LINES} more" if len(names) > MAX_LINES else ""


# Joints
def fix_floating(root: Element) -> str:
    """Make floating joints fixed, and return the names of the first ones in words."""
    floating = [joint for joint in root.iterfind("joint") if joint.get("type") == "floating"]
    for joint in floating:
        joint.set("type", "fixed")
    names = [f"'{joint.get('name', '')}'" for joint in floating]
    return ", ".join(names[:MAX_LINES]) + _and_more(names)


def joint_tree(element: Element) -> dict[str, Any]:
    """Parse the fields of a ``RigidJoint``.

    If only one limit is present, the other is 0, as defined by URDF.

    Raises:
        DescriptionError: Something is missing, duplicated, or not a number.
    """
    kind = element.get("type")
    tree: dict[str, Any] = {**present_attributes(element, "name", "type"), **origin_tree(element)}
    tree |= {end: _link(element, end) for end in ("parent", "child")}
    axis = only(element, "axis")
    if axis is not None and "xyz" in axis.attrib:
        tree["axis"] = numbers(axis, "xyz", 3)
    limit = present_numbers(only(element, "limit"), "lower", "upper", "effort", "velocity")
    if kind in BOUNDED and ("lower" in limit or "upper" in limit):
        limit = {"lower": 0.0, "upper": 0.0} | limit
    tree |= limit | present_numbers(only(element, "dynamics"), "damping", "friction")
    mimic = only(element, "mimic")
    if mimic is not None:
        numeric = present_numbers(mimic, "multiplier", "offset")
        tree["mimic"] = present_attributes(mimic, "joint") | numeric
    return tree


def _link(element: Element, end: str) -> str:
    child = required(element, end)
    if "link" not in child.attrib:
        raise element_error(child, "this attribute is missing; expected the name of a link", "link")
    return str(child.get("link"))


# ros2_control
def control_tree(element: Element) -> dict[str, Any]:
    """Parse the fields of a ``ControlSystem``.

    Raises:
        DescriptionError: Something is duplicated, or a numeric parameter is not a number.
    """
    tree: dict[str, Any] = {
        **present_attributes(element, "name", "type"),
        "joints": [_joint_tree(joint) for joint in element.findall("joint")],
    }
    hardware = only(element, "hardware")
    if hardware is not None:
        plugin = only(hardware, "plugin")
        if plugin is not None:
            tree["plugin"] = plugin.text or ""
        params = hardware.findall("param")
        tree["params"] = [(part.get("name", ""), part.text or "") for part in params]
    return tree


def _joint_tree(element: Element) -> dict[str, Any]:
    return {
        **present_attributes(element, "name"),
        "commands": [_interface(part) for part in element.findall("command_interface")],
        "states": [_interface(part) for part in element.findall("state_interface")],
    }


def _interface(element: Element) -> dict[str, Any]:
    params: dict[str, float] = {}
    for part in element.findall("param"):
        name = part.get("name", "")
        if name in params:
            raise element_error(part, "expected it once, found another")
        if name in RANGE:
            params[name] = number_inside(part)
    return {**present_attributes(element, "name"), **params}


# Elements that are not read
def _leaf(*attributes: str) -> dict[str, Any]:
    return {ATTRIBUTES: attributes}


_ORIGIN = _leaf("xyz", "rpy")
_INERTIAL: Grammar = {
    "origin": _ORIGIN,
    "mass": _leaf("value"),
    "inertia": _leaf("ixx", "iyy", "izz", "ixy", "ixz", "iyz"),
}
_SHAPE: Grammar = {
    ATTRIBUTES: ("name",),
    "origin": _ORIGIN,
    "geometry": {
        "box": _leaf("size"),
        "cylinder": _leaf("radius", "length"),
        "sphere": _leaf("radius"),
        "capsule": _leaf("radius", "length"),
        "mesh": _leaf("filename", "scale"),
    },
    "material": {ATTRIBUTES: ("name",), "color": _leaf("rgba")},
}
_INTERFACE = _leaf("name") | {"param": _leaf("name")}
_ROBOT: Grammar = {
    ATTRIBUTES: ("name", "version"),
    "source": {},
    "material": _SHAPE["material"],
    "link": {
        ATTRIBUTES: ("name",),
        "inertial": _INERTIAL,
        "visual": _SHAPE,
        "collision": _SHAPE,
    },
    "joint": {
        ATTRIBUTES: ("name", "type"),
        "origin": _ORIGIN,
        "parent": _leaf("link"),
        "child": _leaf("link"),
        "axis": _leaf("xyz"),
        "limit": _leaf("lower", "upper", "effort", "velocity"),
        "dynamics": _leaf("damping", "friction"),
        "mimic": _leaf("joint", "multiplier", "offset"),
    },
    "ros2_control": {
        ATTRIBUTES: ("name", "type"),
        "hardware": {"plugin": {}, "param": _leaf("name")},
        "joint": _leaf("name")
        | {f"{entry}_interface": _INTERFACE for entry in ("command", "state")},
    },
}


def left_out(robot: Element) -> str:
    """Describe what is not read of a ``<robot>``, with lines; "" for nothing."""
    lines: dict[str, list[int | None]] = {}
    for what, element in _unknown(robot, _ROBOT):
        lines.setdefault(what, []).append(line_of(element))
    texts = []
    for what, stated in lines.items():
        known = [str(line) for line in stated if line is not None]
        shown = ", ".join(known[:MAX_LINES]) + (", …" if known[MAX_LINES:] else "")
        texts.append(f"{what} (line{'s' * (len(known) > 1)} {shown})" if known else what)
    return ", ".join(texts)


def _unknown(element: Element, grammar: Grammar) -> Iterator[tuple[str, Element]]:
    kept = grammar.get(ATTRIBUTES, ())
    for name in map(str, element.attrib):
        if name not in kept:
            namespace, _, local = name.removeprefix("{").rpartition("}")
            shown = f"{namespace.removeprefix(UNDECLARED)}:{local}" if namespace else name
            yield f"attribute {shown} of <{element.tag}>{_near(name, kept)}", element
    children = [tag for tag in grammar if tag != ATTRIBUTES]
    for child in element.iterchildren("*"):
        tag = str(child.tag)
        if child.prefix:  # instead of the namespace
            tag = f"{child.prefix}:{etree.QName(child).localname}"
        if tag in OF_SCHEMA and element.tag == "robot":
            continue
        if tag not in children:
            yield f"<{tag}>{_near(tag, children)}", child
        elif tag == "param" and grammar is _INTERFACE and child.get("name") not in RANGE:
            yield f"<param name='{child.get('name')}'> of <{element.tag}>", child
        else:
            yield from _unknown(child, grammar[tag])


def _near(word: str, known: Any) -> str:
    near = get_close_matches(word, list(known), n=1)
    return f"; did you mean {near[0]}?" if near else ""


WHOLE = ("links", "discs", "degree", "segments")
"""Attributes that are integers."""


def _fields(kind: Any) -> Grammar:
    return _leaf(*(name for name in kind.model_fields if name != "type"))


_BENDABLE: Grammar = {
    ATTRIBUTES: ("name",),
    "parent": _leaf("link"),
    "child": _leaf("link"),
    "origin": _ORIGIN,
    "curvature": {
        "model": {
            ATTRIBUTES: ("type", "degree", "frame"),
            "limits": _fields(CurvatureLimits),
            "backbone": _fields(Backbone),
        }
    },
    "actuation": {"tendon": _fields(Tendon), "chamber": _fields(Chamber)},
    "inertial": _INERTIAL,
}
_HYDRAULICS: Grammar = {
    ATTRIBUTES: ("segments",),
    "drive": {
        key: _fields(model_field.annotation)
        for key, model_field in HydraulicDrive.model_fields.items()
    },
    "tip_load": _fields(TipLoad),
    "gravity": _leaf("xyz"),
}


def _refuse_unknown(element: Element, grammar: Grammar) -> None:
    """Refuse attributes and elements that U(C)RDF does not have, also inside.

    Raises:
        DescriptionError: At the first one.
    """
    kept = grammar.get(ATTRIBUTES, ())
    for name in map(str, element.attrib):
        if name not in kept:
            hint = did_you_mean(name, kept)
            raise element_error(element, f"no such attribute; {hint}", name)
    tags = [tag for tag in grammar if tag != ATTRIBUTES]
    for child in element.iterchildren("*"):
        if child.tag not in tags:
            hint = f"; {did_you_mean(str(child.tag), tags)}" if tags else ""
            raise element_error(child, f"no such element in <{element.tag}>{hint}")
        _refuse_unknown(child, grammar[child.tag])


def bendable_tree(element: Element) -> dict[str, Any]:
    """Parse the fields of a ``Bendable``.

    Raises:
        DescriptionError: Something is missing, duplicated, not a number, or not part of U(C)RDF.
    """
    _refuse_unknown(element, _BENDABLE)
    model = required(required(element, "curvature"), "model")
    actuation = only(element, "actuation")
    actuators = [] if actuation is None else actuation.iterchildren("*")
    tree: dict[str, Any] = {
        **present_attributes(element, "name"),
        **{end: _link(element, end) for end in ("parent", "child")},
        "limits": _attributes(required(model, "limits")),
        "backbone": _attributes(required(model, "backbone")),
        "actuation": [{"type": part.tag, **_attributes(part)} for part in actuators],
        **_attributes(model, "type", "frame"),
        **origin_tree(element),
        **inertial_tree(element),
    }
    tree["model"] = tree.pop("type", "pcc")
    return tree


def hydraulics_tree(robot: Element) -> dict[str, Any]:
    """Parse the field ``hydraulics`` of a robot; empty if there is none.

    Raises:
        DescriptionError: As ``bendable_tree``.
    """
    element = only(robot, "hydraulics")
    if element is None:
        return {}
    _refuse_unknown(element, _HYDRAULICS)
    parts = {tag: only(required(element, "drive"), tag) for tag in _HYDRAULICS["drive"]}
    inner = {tag: _attributes(part, "flow") for tag, part in parts.items() if part is not None}
    tree: dict[str, Any] = {"drive": inner, **_attributes(element)}
    load, gravity = only(element, "tip_load"), only(element, "gravity")
    if load is not None:
        vectors = {k: numbers(load, k, 3) for k in ("force", "moment") if k in load.attrib}
        tree["tip_load"] = present_attributes(load, "frame") | vectors
    if gravity is not None:
        tree["gravity"] = numbers(gravity, "xyz", 3)
    return {"hydraulics": tree}


def _attributes(element: Element, *texts: str) -> dict[str, Any]:
    """Return all attributes as numbers, but those of the names ``texts``."""
    named = [str(name) for name in element.attrib if name not in texts]
    values: dict[str, Any] = dict(present_numbers(element, *named))
    for name in WHOLE:
        if name in values and values[name].is_integer():
            values[name] = int(values[name])
    return values | present_attributes(element, *texts)
