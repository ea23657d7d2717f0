"""Robots with bendables as plain URDF: every bendable fixed at a state, shown by discs.

The discs and the end link are children of the bendable's parent link (flat tree), as in the U(C)RDF
proposal. ``States`` gives curvatures, bending plane and length by bendable.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping, Sequence
from typing import Literal, NamedTuple, get_args

import numpy as np

from softgrasp.continuum import curvature_models
from softgrasp.description.base import short
from softgrasp.description.bendable import LIMIT_TOLERANCE, Bendable, Inertial, Origin
from softgrasp.description.geometry import Cylinder
from softgrasp.description.robot import Link, LinkShape, RigidJoint, Robot, curvature_interfaces
from softgrasp.errors import DescriptionError, SoftgraspWarning, did_you_mean, either
from softgrasp.io.urdf.writer import document_text, robot_element
from softgrasp.mechanics.robot_kinematics import origin_frame, origin_of
from softgrasp.mechanics.transforms import Array

THICKNESS = 0.05
"""Thickness of a disc over the distance between discs [–]."""
THINNEST, THICKEST = 0.01, 0.1
"""Bounds of the thickness over the radius [–]."""
NEGLIGIBLE_MASS, NEGLIGIBLE_INERTIA = 1e-6, 1e-9
"""Mass and inertia of a link without a described inertial [kg, kg·m²], as programs that read URDF
refuse links without one or take them for 1 kg."""
Discs = Literal["fixed", "floating"]
DISC_COLOR = (0.75, 0.77, 0.8, 1.0)
SAMPLES = 101
"""Samples along a backbone at which its curvature is compared with its limit."""
States = Mapping[str, Sequence[float]]
"""States of bendables by name: κ [1/m] (for ``ppc`` all coefficients), φ [rad], and optionally the
length [m], by default the rest length."""


class BentState(NamedTuple):
    """State of one bendable."""

    kappas: tuple[float, ...]
    """Coefficients of κ over the relative arc length [1/m]; one for ``pcc``."""
    phi: float
    """Bending plane [rad]."""
    length: float
    """Arc length [m]."""


class Lowered(NamedTuple):
    """A robot whose bendables were replaced by rigid links."""

    robot: Robot
    moved: frozenset[str]
    """Joints that replace bendables: their poses depend on the state."""


def rigid_urdf(robot: Robot, state: States | None = None, discs: Discs = "fixed") -> str:
    """Format a robot as plain URDF, with its bendables fixed at a state of bending.

    Args:
        robot: The robot.
        state: State of bendables; those that are not named are straight.
        discs: Joints of discs and end links: ``fixed``, or ``floating`` for programs such as RViz
            that set their poses. MuJoCo reads only ``fixed`` ones.

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
    rigid, moved = lower(robot, state)
    root = robot_element(rigid.replace(source=""))
    for joint in root.findall("joint"):
        if joint.get("name") in moved:
            joint.set("type", discs)
    return document_text(root)


def lower(robot: Robot, state: States | None = None) -> Lowered:
    """Replace the bendables of a robot by rigid links.

    A bendable of n discs (of as many ``links`` where it has none) becomes n discs, each with the
    inertia of its part of the backbone, a uniform cylinder, and its child link at its end. Links
    without an inertial get a negligible one. Curvature interfaces have no counterpart, so
    ``ros2_control`` is kept only for robots without bendables.

    Args:
        robot: The robot.
        state: State of bendables; those that are not named are straight.

    Raises:
        DescriptionError: A state does not fit its bendable.

    Warns:
        SoftgraspWarning: As ``rigid_urdf``.
    """
    states = {} if state is None else state
    known = [part.name for part in robot.bendables]
    for name in states:
        if name not in known:
            raise DescriptionError(f"no bendable '{name}'; {did_you_mean(name, known)}")
    if not robot.bendables:
        return Lowered(robot, frozenset())
    names, frame = _Names(robot), _frame_inertial()
    links = [link.replace(inertial=link.inertial or frame) for link in robot.links]
    joints = list(robot.joints)
    for part in robot.bendables:
        new_links, new_joints = _discs(part, state_of(part, states), names)
        links += new_links
        joints += new_joints
    for sentence in _doubts(robot, states):
        warnings.warn(f"{robot.name}: {sentence}", SoftgraspWarning, stacklevel=2)
    moved = frozenset(joint.name for joint in joints[len(robot.joints) :])
    rigid = Robot(name=robot.name, links=tuple(links), joints=tuple(joints), source=robot.source)
    return Lowered(rigid, moved)


def _frame_inertial() -> Inertial:
    """Return the inertial of a link that is only a frame."""
    return Inertial(mass=NEGLIGIBLE_MASS, inertia=(NEGLIGIBLE_INERTIA,) * 3 + (0.0, 0.0, 0.0))


def state_of(part: Bendable, states: States) -> BentState:
    """Return the state of a bendable, by default straight at its rest length.

    Raises:
        DescriptionError: It has more or fewer numbers than its model, or its length is not
            positive.
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


def frames_along(part: Bendable, state: BentState, fractions: Array) -> Array:
    """Compute frames at fractions (n,) of the backbone length, in its base frame, (n, 4, 4)."""
    degree, values = len(state.kappas) - 1, (*state.kappas, state.phi)
    return curvature_models.frames_along(
        part.model, degree, part.end_frame, values, state.length, fractions
    )


def beyond_limits(part: Bendable, state: BentState) -> Iterator[str]:
    """List components of a state that are beyond the limits of its bendable."""
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


def _doubts(robot: Robot, states: States) -> list[str]:
    """Return messages about exceeded limits and fields that plain URDF cannot keep."""
    messages = []
    for part in robot.bendables:
        where = f"bendable '{part.name}'"
        messages += [f"{where}: {text}" for text in beyond_limits(part, state_of(part, states))]
        if part.frame != part.end_frame:
            text = "its end has a 'bishop' frame, as no body rotates with the plane"
            messages.append(f"{where}: {text}")
        if part.inertial is not None and part.inertial != Inertial(mass=part.inertial.mass):
            messages.append(f"{where}: its inertia is replaced by that of a uniform cylinder")
    if systems := ", ".join(f"'{system.name}'" for system in robot.control):
        text = f"ros2_control {systems} is left out: plain URDF has no curvature to command"
        messages.append(text)
    return messages


class _Names:
    """Generator of unused names for links and joints of a robot."""

    def __init__(self, robot: Robot) -> None:
        self._taken = {
            *(link.name for link in robot.links),
            *(joint.name for joint in robot.joints),
            *(part.name for part in robot.bendables),
        }

    def new(self, name: str) -> str:
        """Return an unused name that begins with a name."""
        while name in self._taken:
            name += "_"
        self._taken.add(name)
        return name


def _discs(part: Bendable, state: BentState, names: _Names) -> tuple[list[Link], list[RigidJoint]]:
    """Make discs along a bendable with their joints, the last joint being its child link's."""
    count = part.backbone.discs or part.backbone.links
    frames = origin_frame(part.origin) @ frames_along(part, state, np.arange(1, count + 1) / count)
    links, joints = [], []
    for index, frame in enumerate(frames, start=1):
        link = _disc(part, names.new(f"{part.name}_disc{index}"), count)
        name = names.new(f"{link.name}_joint")
        links.append(link)
        joints.append(fixed_joint(name, part.parent, link.name, frame))
    joints.append(fixed_joint(part.name, part.parent, part.child, frames[-1]))
    return links, joints


def fixed_joint(name: str, parent: str, child: str, frame: Array) -> RigidJoint:
    """Make a fixed joint at a frame (4, 4) of its parent."""
    return RigidJoint(name=name, type="fixed", parent=parent, child=child, origin=origin_of(frame))


def _disc(part: Bendable, name: str, count: int) -> Link:
    height, radius = part.backbone.length / count, part.backbone.radius
    thickness = float(np.clip(THICKNESS * height, THINNEST * radius, THICKEST * radius))
    shape, inertial = LinkShape(shape=Cylinder(radius=radius, height=thickness)), _frame_inertial()
    if part.inertial is not None:  # that of the piece that ends at the disc
        mass = part.inertial.mass / count
        across = mass * (3.0 * radius**2 + height**2) / 12.0
        inertial = Inertial(
            mass=mass,
            origin=Origin(xyz=(0.0, 0.0, -height / 2.0)),
            inertia=(across, across, mass * radius**2 / 2.0, 0.0, 0.0, 0.0),
        )
    return Link(
        name=name, inertial=inertial, visuals=(shape.replace(rgba=DISC_COLOR),), collisions=(shape,)
    )
