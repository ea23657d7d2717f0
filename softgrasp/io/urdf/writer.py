"""Robots written as U(C)RDF; ``read_robot`` reads an equal robot from the text."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from lxml import etree

from softgrasp.description.bendable import (
    Bendable,
    Hydraulics,
    Inertial,
    Origin,
    TipLoad,
)
from softgrasp.description.geometry import Capsule, Cuboid, Cylinder, Mesh, Sphere
from softgrasp.description.robot import (
    ControlSystem,
    Interface,
    Link,
    LinkGeometry,
    LinkShape,
    RigidJoint,
    Robot,
)
from softgrasp.errors import DescriptionError
from softgrasp.io.files import write_text
from softgrasp.io.urdf.xml import MOMENTS, PRODUCTS
from softgrasp.io.xml_elements import Element


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
    written = {
        key: value if isinstance(value, str) else _text(value)
        for key, value in attributes.items()
        if value is not None
    }
    return etree.SubElement(parent, tag, written)


def _text(value: float | Iterable[float]) -> str:
    return repr(value) if isinstance(value, int | float) else " ".join(map(repr, value))


def _add_origin(parent: Element, origin: Origin) -> None:
    if origin != Origin():
        _add(parent, "origin", xyz=origin.xyz, rpy=origin.rpy)


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
        for command in joint.commands:
            _add_interface(inner, "command_interface", command)
        for state in joint.states:
            _add_interface(inner, "state_interface", state)


def _add_interface(parent: Element, tag: str, part: Interface) -> None:
    element = _add(parent, tag, name=part.name)
    for name in ("initial_value", "min", "max"):
        value = getattr(part, name)
        if value is not None:
            _add(element, "param", name=name).text = _text(value)
