"""Robots as U(C)RDF, from which ``read_robot`` makes equal ones."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Literal, NamedTuple, get_args

import numpy as np
from lxml import etree

from softgrasp.continuum import curvature_models
from softgrasp.description.base import either, short
from softgrasp.description.bendable import (
    LIMIT_TOLERANCE,
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
    curvature_interfaces,
)
from softgrasp.errors import DescriptionError, SoftgraspWarning, did_you_mean
from softgrasp.io.files import write_text
from softgrasp.io.urdf.reader import MOMENTS, PRODUCTS
from softgrasp.io.xml_elements import Element
from softgrasp.mechanics.robot_kinematics import origin_frame, origin_of
from softgrasp.mechanics.transforms import Array

# --------------------
# Robots without bending: every bendable at a fixed state, shown by discs along its backbone.
#
# The end link and the discs hang flat off the parent link, as paper 002 shows a robot in RViz.


THICKNESS = 0.05
"""Thickness of a disc over the distance between discs [–]."""
THINNEST, THICKEST = 0.01, 0.1
"""Bounds of the thickness over the radius [–]."""
Discs = Literal["fixed", "floating"]
DISC_COLOR = (0.75, 0.77, 0.8, 1.0)


class Lowered(NamedTuple):
    """A robot without bendables."""

    robot: Robot
    moved: frozenset[str]
    """Joints that stand for bendables: their poses belong to the state."""


def rigid_urdf(robot: Robot, state: States | None = None, discs: Discs = "fixed") -> str:
    """A robot as plain URDF, its bendables at a state.

    Args:
        robot: The robot.
        state: State of bendables; those that are not named are straight.
        discs: Joints of discs and end links: ``fixed``, or ``floating`` for programs such as RViz
            that are told where they are. MuJoCo reads only ``fixed`` ones.

    Raises:
        DescriptionError: A state does not fit its bendable, or no such kind of discs.

    Warns:
        SoftgraspWarning: A state is beyond the bendable's limits, or something has no counterpart
            in plain URDF.
    """
    if discs not in get_args(Discs):
        raise DescriptionError(
            f"expected {either(get_args(Discs))}, found {short(discs)}", field="discs"
        )
    rigid, moved = lowered(robot, state)
    root = robot_element(rigid.replace(source=""))
    for joint in root.findall("joint"):
        if joint.get("name") in moved:
            joint.set("type", discs)
    return document_text(root)


def lowered(robot: Robot, state: States | None = None) -> Lowered:
    """A robot with rigid links in the place of bendables.

    A bendable of n discs (of as many ``links`` where it has none) becomes n discs, each with the
    inertia of its part of the backbone, a uniform cylinder, and its child link at its end.
    Curvature interfaces have no counterpart, so ``ros2_control`` is kept only by robots without
    bendables.

    Args:
        robot: The robot.
        state: State of bendables; those that are not named are straight.

    Raises:
        DescriptionError: A state does not fit its bendable.

    Warns:
        SoftgraspWarning: As ``rigid_urdf``.
    """
    states = {} if state is None else state
    refuse_unknown(robot, states)
    if not robot.bendables:
        return Lowered(robot, frozenset())
    names = _Names(robot)
    links, joints = list(robot.links), list(robot.joints)
    for part in robot.bendables:
        new_links, new_joints = _discs(part, state_of(part, states), names)
        links += new_links
        joints += new_joints
    for sentence in _doubts(robot, states):
        warnings.warn(f"{robot.name}: {sentence}", SoftgraspWarning, stacklevel=2)
    moved = frozenset(joint.name for joint in joints[len(robot.joints) :])
    rigid = Robot(name=robot.name, links=tuple(links), joints=tuple(joints), source=robot.source)
    return Lowered(rigid, moved)


def _doubts(robot: Robot, states: States) -> list[str]:
    """What is beyond limits, and what is lost."""
    messages = []
    for part in robot.bendables:
        where = f"bendable '{part.name}'"
        messages += [f"{where}: {text}" for text in beyond_limits(part, state_of(part, states))]
        inertial = part.inertial
        if inertial is not None and inertial != Inertial(mass=inertial.mass):
            messages.append(f"{where}: its inertia is replaced by that of a uniform cylinder")
    if robot.control:
        names = ", ".join(f"'{system.name}'" for system in robot.control)
        messages.append(f"ros2_control {names} is left out: plain URDF has no curvature to command")
    return messages


class _Names:
    """Names for links and joints that a robot does not have yet."""

    def __init__(self, robot: Robot) -> None:
        self._taken = {
            *(link.name for link in robot.links),
            *(joint.name for joint in robot.joints),
            *(part.name for part in robot.bendables),
        }

    def new(self, name: str) -> str:
        while name in self._taken:
            name += "_"
        self._taken.add(name)
        return name


def _discs(part: Bendable, state: BentState, names: _Names) -> tuple[list[Link], list[RigidJoint]]:
    """Discs of a bendable, their joints, and last the joint of its child link."""
    count = part.backbone.discs or part.backbone.links
    frames = origin_frame(part.origin) @ frames_along(part, state, np.arange(1, count + 1) / count)
    links, joints = [], []
    for index, frame in enumerate(frames, start=1):
        link = _disc(part, names.new(f"{part.name}_disc{index}"), count)
        name = names.new(f"{link.name}_joint")
        links.append(link)
        joints.append(_joint(name, part.parent, link.name, frame))
    joints.append(_joint(part.name, part.parent, part.child, frames[-1]))
    return links, joints


def _joint(name: str, parent: str, child: str, frame: Array) -> RigidJoint:
    return RigidJoint(name=name, type="fixed", parent=parent, child=child, origin=origin_of(frame))


def _disc(part: Bendable, name: str, count: int) -> Link:
    spacing, radius = part.backbone.length / count, part.backbone.radius
    thickness = float(np.clip(THICKNESS * spacing, THINNEST * radius, THICKEST * radius))
    shape = LinkShape(shape=Cylinder(radius=radius, height=thickness))
    return Link(
        name=name,
        inertial=_slice_inertial(part, count),
        visuals=(shape.replace(rgba=DISC_COLOR),),
        collisions=(shape,),
    )


def _slice_inertial(part: Bendable, count: int) -> Inertial | None:
    """Inertia of the part of a backbone that ends at a disc: a cylinder."""
    if part.inertial is None:
        return None
    mass = part.inertial.mass / count
    radius, height = part.backbone.radius, part.backbone.length / count
    across = mass * (3.0 * radius**2 + height**2) / 12.0
    return Inertial(
        mass=mass,
        origin=Origin(xyz=(0.0, 0.0, -height / 2.0)),
        inertia=(across, across, mass * radius**2 / 2.0, 0.0, 0.0, 0.0),
    )


def write_robot(robot: Robot, path: str | Path) -> Path:
    """Write a robot as U(C)RDF and return the path.

    Raises:
        DescriptionError: A text holds characters that XML cannot.
        ResultError: The file cannot be written.
    """
    return write_text(path, robot_xml(robot))


def robot_xml(robot: Robot) -> str:
    """A robot as U(C)RDF; ``read_robot`` makes an equal robot of it.

    Raises:
        DescriptionError: A text holds characters that XML cannot.
    """
    return document_text(robot_element(robot))


def document_text(root: Element) -> str:
    """An element as an XML document."""
    etree.indent(root)
    return f'<?xml version="1.0"?>\n{etree.tostring(root, encoding="unicode")}\n'


def robot_element(robot: Robot) -> Element:
    """A robot as a ``<robot>``.

    Raises:
        DescriptionError: A text holds characters that XML cannot.
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
        # materials of one name have one colour in URDF
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
    drive = _add(element, "drive")
    for tag, part in hydraulics.drive:
        _add(drive, tag, **dict(part))
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


# --------------------
# Frames along the backbone of a bendable at a state.


def frames_along(part: Bendable, state: BentState, fractions: Array) -> Array:
    """Frames at shares of the backbone's length, in its base frame, (n, 4, 4).

    Args:
        part: The bendable: its model and its kind of frames.
        state: Curvatures, plane and length.
        fractions: Arc lengths over the length, above 0 and up to 1, shape (n,).
    """
    degree, values = len(state.kappas) - 1, (*state.kappas, state.phi)
    return curvature_models.frames_along(
        part.model, degree, part.frame, values, state.length, fractions
    )


# --------------------
# States of bendables: how far, in which plane and how long each of them is bent.


States = Mapping[str, Sequence[float]]
"""Of each bendable by its name: κ [1/m] (of ``ppc`` every coefficient), φ [rad], and its length [m]
where it is not the one at rest."""

SAMPLES = 101
"""Places along a backbone where its curvature is compared with its limit."""


class BentState(NamedTuple):
    """The state of one bendable."""

    kappas: tuple[float, ...]
    """Coefficients of κ over the share of the arc length [1/m]; one for ``pcc``."""
    phi: float
    """[rad]"""
    length: float
    """[m]"""


def state_of(part: Bendable, states: States) -> BentState:
    """The state of a bendable, straight at its rest length where none is given.

    Raises:
        DescriptionError: It is given by more or fewer numbers than its model has, or by a length
            that is not positive.
    """
    names = curvature_interfaces(part)
    numbers = tuple(states.get(part.name, (0.0,) * (len(names) - 1)))
    where = f"bendable '{part.name}'"
    if len(numbers) not in (len(names) - 1, len(names)):
        raise DescriptionError(
            f"expected a state ({', '.join(names[:-1])}) or ({', '.join(names)}), found "
            f"{len(numbers)} numbers",
            field=where,
        )
    *kappas, phi, length = map(float, (*numbers, part.backbone.length)[: len(names)])
    if not np.isfinite([*kappas, phi, length]).all() or length <= 0.0:
        raise DescriptionError(
            f"expected finite numbers and a length above 0, found {numbers}", field=where
        )
    return BentState(tuple(kappas), phi, length)


def refuse_unknown(robot: Robot, states: States) -> None:
    """Refuse states of what is no bendable.

    Raises:
        DescriptionError: At the first one.
    """
    known = [part.name for part in robot.bendables]
    for name in states:
        if name not in known:
            raise DescriptionError(f"no bendable '{name}'; {did_you_mean(name, known)}")


def beyond_limits(part: Bendable, state: BentState) -> Iterator[str]:
    """What of a state is beyond the bendable's limits, in words."""
    limits = part.limits
    along = np.polynomial.polynomial.polyval(np.linspace(0.0, 1.0, SAMPLES), state.kappas)
    bent = float(np.abs(along).max())
    if bent > part.kappa_max * (1.0 + LIMIT_TOLERANCE):
        yield f"curvature {bent:g} 1/m is above its limit {part.kappa_max:g} 1/m"
    elongation = state.length / part.backbone.length - 1.0
    for what, value, low, high in (
        ("phi", state.phi, limits.phi_min, limits.phi_max),
        ("elongation", elongation, limits.eps_min, limits.eps_max),
    ):
        if low is not None and high is not None and not low <= value <= high:
            yield f"{what} {value:g} is outside its range from {low:g} to {high:g}"
