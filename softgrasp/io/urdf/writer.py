"""Robots written as U(C)RDF, and changes of numbers in the text of a robot file.

``read_robot`` reads an equal robot from what is written; a changed file keeps every other byte.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from lxml import etree

from softgrasp.assets import MACRO_SUFFIX
from softgrasp.description.bendable import Bendable, Hydraulics, Inertial, Origin, TipLoad
from softgrasp.description.geometry import Capsule, Cuboid, Cylinder, Mesh, Sphere
from softgrasp.description.robot import (
    ControlSystem,
    Link,
    LinkGeometry,
    LinkShape,
    RigidJoint,
    Robot,
)
from softgrasp.errors import DescriptionError
from softgrasp.io.files import write_bytes, write_text
from softgrasp.io.urdf.reader import drop_empty_shapes, drop_more_inertials, drop_unreadable_visuals
from softgrasp.io.urdf.xml import MOMENTS, PRODUCTS, locate_mesh, read_document
from softgrasp.io.xml_elements import Element, element_path, line_of

_TAG = re.compile(
    rb"<!--.*?-->|<!\[CDATA\[.*?\]\]>|<\?.*?\?>|</[^>]*>"
    rb"|(?P<start><[A-Za-z_](?:[^\"'>]|\"[^\"]*\"|'[^']*')*>)",
    re.DOTALL,
)
SHORT = 60
"""Largest number of characters of a value in a message."""


def write_robot(robot: Robot, path: str | Path) -> Path:
    """Write a robot as U(C)RDF and return the path.

    Raises:
        DescriptionError: A text has characters that XML does not allow.
        ResultError: The file cannot be written.
    """
    return write_text(path, robot_xml(robot))


def robot_xml(robot: Robot) -> str:
    """Format a robot as U(C)RDF; ``read_robot`` reads an equal robot from it.

    Raises:
        DescriptionError: A text has characters that XML does not allow.
    """
    return document_text(robot_element(robot))


def robot_element(robot: Robot) -> Element:
    """Convert a robot to a ``<robot>`` element.

    Raises:
        DescriptionError: A text has characters that XML does not allow.
    """
    try:
        root = etree.Element("robot", name=robot.name)
        if robot.source:
            etree.SubElement(root, "source").text = robot.source
        for link in robot.links:
            _add_link(root, link)
        for joint in robot.joints:
            _add_joint(root, joint)
        for part in robot.bendables:
            _add_bendable(root, part)
        if robot.hydraulics is not None:
            _add_hydraulics(root, robot.hydraulics)
        for system in robot.control:
            _add_control(root, system)
    except ValueError as error:
        raise DescriptionError(f"expected text that XML can hold, found: {error}") from None
    return root


def document_text(root: Element) -> str:
    """Format an element as an XML document."""
    etree.indent(root)
    return f'<?xml version="1.0"?>\n{etree.tostring(root, encoding="unicode")}\n'


def _add(parent: Element, tag: str, **attributes: str | float | Iterable[float] | None) -> Element:
    """Add a child with the attributes that are not None; numbers are written in full."""
    written = {key: _text(value) for key, value in attributes.items() if value is not None}
    return etree.SubElement(parent, tag, written)


def _text(value: str | float | Iterable[float]) -> str:
    if isinstance(value, str):
        return value
    return repr(value) if isinstance(value, int | float) else " ".join(map(repr, value))


def _add_origin(parent: Element, origin: Origin) -> None:
    if origin != Origin():
        _add(parent, "origin", **dict(origin))


def _add_inertial(parent: Element, inertial: Inertial | None) -> None:
    if inertial is None:
        return
    element = _add(parent, "inertial")
    _add_origin(element, inertial.origin)
    _add(element, "mass", value=inertial.mass)
    if inertial.inertia is not None:
        names = (*MOMENTS, *PRODUCTS)
        _add(element, "inertia", **dict(zip(names, inertial.inertia, strict=True)))


def _add_link(root: Element, link: Link) -> None:
    element = _add(root, "link", name=link.name)
    _add_inertial(element, link.inertial)
    for tag, shapes in (("visual", link.visuals), ("collision", link.collisions)):
        for shape in shapes:
            _add_shape(element, tag, shape)


def _add_shape(parent: Element, tag: str, part: LinkShape) -> None:
    element = _add(parent, tag, name=part.name or None)
    _add_origin(element, part.origin)
    _add_geometry(_add(element, "geometry"), part.shape)
    if part.rgba is not None:
        # materials with the same name have the same colour in URDF
        material = _add(element, "material", name=_text(part.rgba))
        _add(material, "color", rgba=part.rgba)


def _add_geometry(parent: Element, shape: LinkGeometry) -> None:
    match shape:
        case Cuboid(size=size):
            _add(parent, "box", size=size)
        case Cylinder(radius=radius, height=height):
            _add(parent, "cylinder", radius=radius, length=height)
        case Sphere(radius=radius):
            _add(parent, "sphere", radius=radius)
        case Capsule(radius=radius, length=length):
            _add(parent, "capsule", radius=radius, length=length)
        case Mesh(file=file, scale=scale):
            factors = scale if isinstance(scale, tuple) else (scale,) * 3
            _add(parent, "mesh", filename=file, scale=None if scale == 1.0 else factors)


def _add_joint(root: Element, joint: RigidJoint) -> None:
    element = _add(root, "joint", name=joint.name, type=joint.type)
    _add_origin(element, joint.origin)
    _add(element, "parent", link=joint.parent)
    _add(element, "child", link=joint.child)
    if joint.type != "fixed" or joint.axis != RigidJoint.model_fields["axis"].default:
        _add(element, "axis", xyz=joint.axis)
    limits = {name: getattr(joint, name) for name in ("lower", "upper", "effort", "velocity")}
    if any(value is not None for value in limits.values()):
        _add(element, "limit", **limits)
    if joint.damping or joint.friction:
        _add(element, "dynamics", damping=joint.damping, friction=joint.friction)
    if joint.mimic is not None:
        _add(element, "mimic", **dict(joint.mimic))


def _add_bendable(root: Element, part: Bendable) -> None:
    element = _add(root, "bendable", name=part.name)
    _add(element, "parent", link=part.parent)
    _add(element, "child", link=part.child)
    _add_origin(element, part.origin)
    degree = part.degree if part.model == "ppc" else None
    curvature = _add(element, "curvature")
    model = _add(curvature, "model", type=part.model, degree=degree, frame=part.frame)
    _add(model, "limits", **dict(part.limits))
    _add(model, "backbone", **dict(part.backbone))
    if part.actuation:
        actuation = _add(element, "actuation")
        for actuator in part.actuation:
            _add(actuation, actuator.type, **actuator.model_dump(exclude={"type"}))
    _add_inertial(element, part.inertial)


def _add_hydraulics(root: Element, hydraulics: Hydraulics) -> None:
    element = _add(root, "hydraulics", segments=hydraulics.segments)
    group = _add(element, "drive")
    for tag, part in hydraulics.drive:
        _add(group, tag, **dict(part))
    if hydraulics.tip_load != TipLoad():
        _add(element, "tip_load", **dict(hydraulics.tip_load))
    _add(element, "gravity", xyz=hydraulics.gravity)


def _add_control(root: Element, system: ControlSystem) -> None:
    element = _add(root, "ros2_control", name=system.name, type=system.type)
    hardware = _add(element, "hardware")
    _add(hardware, "plugin").text = system.plugin
    for name, value in system.params:
        _add(hardware, "param", name=name).text = value
    for joint in system.joints:
        inner = _add(element, "joint", name=joint.name)
        for tag, parts in (("command", joint.commands), ("state", joint.states)):
            for part in parts:
                interface = _add(inner, f"{tag}_interface", name=part.name)
                for name in ("initial_value", "min", "max"):
                    if (value := getattr(part, name)) is not None:
                        _add(interface, "param", name=name).text = _text(value)


# Changes in the text of a file
class Edit(NamedTuple):
    """A changed attribute of an element in a file."""

    line: int
    field: str
    """Path of the attribute, such as ``link 'palm': inertial.mass.value``."""
    before: str
    """Text in the file; "" where the attribute was missing."""
    after: str

    def sentence(self, file: str) -> str:
        """Return the edit with its line."""
        before, after = (_short(text) if text else "none" for text in (self.before, self.after))
        return f"{file}:{self.line}: {self.field}: {before} → {after}"


def write_changed(source: Path, before: Robot, after: Robot, target: Path) -> tuple[Edit, ...]:
    """Write a robot file in which only numbers are changed, and return the changes.

    Of a xacro file the expanded robot is written, without a list of changes.

    Raises:
        DescriptionError: The source cannot be read, or has text that XML does not allow.
        ResultError: The file cannot be written.
    """
    if source.suffix.lower() == MACRO_SUFFIX:
        write_robot(after, target)
        return ()
    content, edits = edit_file(source, before, after, target.parent)
    write_bytes(target, content)
    return edits


def edit_file(
    path: Path, before: Robot, after: Robot, directory: Path
) -> tuple[bytes, tuple[Edit, ...]]:
    """Change the numbers of a URDF file in which two descriptions differ.

    Args:
        path: URDF or U(C)RDF file, no xacro.
        before: The robot as it is read.
        after: The robot with other numbers; an ``<inertia>`` may be added.
        directory: Where the text will be written; names of meshes are adapted to it.

    Returns:
        Content of the new file, and the changed attributes in the order of lines, without the names
        of meshes.

    Raises:
        DescriptionError: The file cannot be read.
    """
    content, root = path.read_bytes(), read_document(path)
    elements = list(root.iter("*"))
    starts = [match.span() for match in _TAG.finditer(content) if match["start"]]
    spans = dict(zip(elements, starts, strict=True))
    drop_more_inertials(root)
    drop_empty_shapes(root)
    drop_unreadable_visuals(root, path.parent)
    pairs = (robot_element(robot.replace(source="")) for robot in (before, after))
    changes: dict[Element, tuple[dict[str, str], list[Element]]] = {}
    for element, values, children in [
        *_changes(root, *pairs),
        *_move_meshes(root, path, directory),
    ]:
        known = changes.setdefault(element, ({}, []))
        known[0].update(values)
        known[1].extend(children)
    edits: list[Edit] = []
    for element in sorted(changes, key=lambda item: spans[item], reverse=True):
        start, end = spans[element]
        tag = content[start:end]
        for name, value in changes[element][0].items():
            tag = _with_attribute(tag, name, value)
        inside = b"".join(etree.tostring(child) for child in changes[element][1])
        content = content[:start] + tag + inside + content[end:]
        edits[:0] = _edits(element, *changes[element])
    return content, tuple(edits)


Change = tuple[Element, dict[str, str], list[Element]]
"""Element of the file, its new attributes, and new first children."""


def _changes(source: Element, before: Element, after: Element) -> Iterator[Change]:
    """Compare two written robots, and yield the differences at the elements of their file."""
    values = {key: text for key, text in after.attrib.items() if before.get(key) != text}
    if values:
        yield source, {str(key): str(text) for key, text in values.items()}, []
    for tag in dict.fromkeys(str(child.tag) for child in after):
        old, new, there = (item.findall(tag) for item in (before, after, source))
        yield from (
            change for parts in zip(there, old, new, strict=False) for change in _changes(*parts)
        )
        for added in new[len(old) :]:
            added.tail = None
            yield source, {}, [added]


def _move_meshes(root: Element, file: Path, target: Path) -> Iterator[Change]:
    """Yield new names of the meshes that cannot be located from another directory."""
    for mesh in root.iter("mesh"):
        path = locate_mesh(mesh, file.parent) if "filename" in mesh.attrib else None
        if path is None or not Path(path).is_absolute() or locate_mesh(mesh, target) == path:
            continue
        try:
            name = os.path.relpath(path, target.absolute())
        except ValueError:  # another drive
            name = path
        yield mesh, {"filename": Path(name).as_posix()}, []


def _with_attribute(tag: bytes, name: str, value: str) -> bytes:
    """Set an attribute in the text of a start tag."""
    pattern = re.compile(rb"(\s" + name.encode() + rb"\s*=\s*)(\"[^\"]*\"|'[^']*')")
    text = etree.tostring(etree.Element("a", {name: value})).split(b"=", 1)[1].rstrip(b"/>")
    if pattern.search(tag):
        return pattern.sub(lambda match: match[1] + text, tag, count=1)
    end = -2 if tag.endswith(b"/>") else -1
    return tag[:end].rstrip() + b" " + name.encode() + b"=" + text + tag[end:]


def _edits(element: Element, values: dict[str, str], children: list[Element]) -> list[Edit]:
    line = line_of(element) or 0
    attributes = [
        Edit(line, element_path(element, name), element.get(name, ""), value)
        for name, value in values.items()
        if name != "filename"
    ]
    return attributes + [
        Edit(line, element_path(element, str(child.tag)), "", etree.tostring(child).decode())
        for child in children
    ]


def _short(text: str) -> str:
    return text if len(text) <= SHORT else f"{text[:SHORT]}…"
