"""Robots with bendables as plain URDF that moves: every bendable a chain of revolute joints.

A bendable of n cells has a joint in the middle of each cell, as in our simulation: one revolute
joint if it is planar, else two that make a universal joint, in the opposite order in every other
cell. With constant curvature all joints of a bendable mimic its first one (two where it is not
planar), so that a bendable has one or two degrees of freedom. URDF has no springs: the joints have
the damping of the bendable, and a program that simulates forces adds the stiffness n·EI/length.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from softgrasp.description.bendable import Bendable, Chamber, Inertial, Origin
from softgrasp.description.geometry import Cylinder
from softgrasp.description.robot import Link, LinkShape, Mimic, RigidJoint, Robot
from softgrasp.errors import DescriptionError, SoftgraspWarning
from softgrasp.io.urdf.rigid import (
    DISC_COLOR,
    BentState,
    Names,
    States,
    control_losses,
    cylinder_inertial,
    disc_thickness,
    fixed_joint,
    frame_inertial,
    refuse_unknown,
    state_of,
    with_inertials,
)
from softgrasp.io.urdf.soft_hand import half_extent
from softgrasp.io.urdf.writer import document_text, robot_element
from softgrasp.mechanics.robot_kinematics import origin_frame
from softgrasp.mechanics.transforms import Array, rotate_about, translate

HUB_FRACTION = 0.5
"""Mass of the link between the two joints of a cell over that of the cell [–]."""
HUB_RADIUS = 0.8
"""Radius of that link, a ball, over the radius of the bendable [–]."""
CLEARANCE = 0.02
"""Gap between the collision shapes of neighbouring cells over their length, fully bent [–]."""
RISE_TIME = 0.1
"""Time to full bending of a bendable without ``kappa_dot_max`` [s]."""
CORE_FRACTION = 0.35
"""Radius of the drawn backbone between discs over that of the bendable [–]."""
COLOR = (0.9, 0.86, 0.78, 1.0)


class Bend(NamedTuple):
    """A revolute joint of a cell."""

    name: str
    towards: tuple[float, float]
    """Direction in which it bends, in the x-y plane of the cell."""
    leader: str | None
    """Joint that it mimics."""


def pseudo_rigid_urdf(robot: Robot) -> str:
    """Format a robot as plain URDF whose bendables move; see ``pseudo_rigid``.

    Raises:
        DescriptionError: A text has characters that XML does not allow.

    Warns:
        SoftgraspWarning: As ``pseudo_rigid``.
    """
    return document_text(robot_element(pseudo_rigid(robot).replace(source="")))


def pseudo_rigid(robot: Robot) -> Robot:
    """Replace the bendables of a robot by chains of cells with revolute joints.

    Every link has an inertial: cells are uniform cylinders of the mass of the bendable, and links
    without one get a negligible one. Curvature of ``ppc`` varies, so that its joints are
    independent.

    Warns:
        SoftgraspWarning: Something has no counterpart: a frame that rotates with the bending plane,
            elongation, a described inertia of a bendable, or ``ros2_control``; or a bendable has no
            mass.
    """
    if not robot.bendables:
        return robot
    for sentence in _losses(robot):
        warnings.warn(f"{robot.name}: {sentence}", SoftgraspWarning, stacklevel=2)
    names = Names(robot)
    links, joints = list(with_inertials(robot.links)), list(robot.joints)
    for part in robot.bendables:
        new_links, new_joints = _chain(robot, part, names)
        links += new_links
        joints += new_joints
    return Robot(name=robot.name, links=tuple(links), joints=tuple(joints), source=robot.source)


def joint_angles(robot: Robot, state: States) -> dict[str, float]:
    """Compute the variables of all joints that replace bendables at a state [rad].

    Args:
        robot: The robot with bendables.
        state: State of bendables, as of ``rigid_urdf``; those that are not named are straight.

    Raises:
        DescriptionError: A state does not fit its bendable, or changes its length.
    """
    refuse_unknown(robot, state)
    angles, names = {}, Names(robot)
    for part in robot.bendables:
        bent = state_of(part, state)
        if not math.isclose(bent.length, part.backbone.length, rel_tol=1e-9):
            raise DescriptionError(
                f"expected the rest length {part.backbone.length:g} m, as a chain of revolute "
                f"joints has a constant length, found {bent.length:g} m",
                field=f"bendable '{part.name}'",
            )
        for index, bends in enumerate(_bends(part, names)):
            u, v = _components(part, bent, (index + 0.5) / part.backbone.links)
            for bend in bends:
                angles[bend.name] = bend.towards[0] * u + bend.towards[1] * v
    return angles


def _components(part: Bendable, bent: BentState, fraction: float) -> tuple[float, float]:
    """Compute the angles of a cell towards x and y [rad]."""
    kappa = float(np.polynomial.polynomial.polyval(fraction, bent.kappas))
    angle = kappa * part.backbone.length / part.backbone.links
    return angle * math.cos(bent.phi), angle * math.sin(bent.phi)


def _losses(robot: Robot) -> Iterator[str]:
    """List what the chain cannot keep."""
    for part in robot.bendables:
        where = f"bendable '{part.name}'"
        if part.frame != part.end_frame:
            yield f"{where}: its end has a 'bishop' frame, as no joint rotates with the plane"
        if part.backbone.axial_stiffness or part.backbone.torsion_stiffness:
            yield f"{where}: its elongation and torsion are left out"
        if part.inertial is None:
            yield f"{where}: expected a mass, found none; its cells get a negligible one"
        elif part.inertial != Inertial(mass=part.inertial.mass):
            yield f"{where}: its inertia is replaced by that of a uniform cylinder"
    yield from control_losses(robot)


# Chains
def _chain(robot: Robot, part: Bendable, names: Names) -> tuple[list[Link], list[RigidJoint]]:
    """Make the cells of a bendable with their joints, the last one being its child link's."""
    cells, cell = part.backbone.links, part.backbone.length / part.backbone.links
    bends = _bends(part, names)
    first = names.new(f"{part.name}_cell0")
    links = [_cell(robot, part, 0, first)]
    joints = [fixed_joint(f"{first}_joint", part.parent, first, origin_frame(part.origin))]
    parent, ahead = first, 0.5 * cell
    for index in range(1, cells + 1):
        name = names.new(f"{part.name}_cell{index}")
        for bend in bends[index - 1]:
            is_last = bend is bends[index - 1][-1]
            child = name if is_last else names.new(f"{part.name}_hub{index}")
            if not is_last:
                links.append(Link(name=child, inertial=_hub_inertial(part)))
            joints.append(_revolute(part, bend, parent, child, ahead))
            parent, ahead = child, 0.0
        links.append(_cell(robot, part, index, name))
        ahead = cell
    end = translate(z=0.5 * cell) @ _end_rotation(part)
    joints.append(fixed_joint(part.name, parent, part.child, end))
    return links, joints


def _bends(part: Bendable, names: Names) -> list[list[Bend]]:
    """Return the revolute joints of all cells, in their order from the base."""
    phi = part.limits.phi_min or 0.0
    towards = [("", (math.cos(phi), math.sin(phi)))]
    if not part.planar:
        towards = [("u", (1.0, 0.0)), ("v", (0.0, 1.0))]
    leaders: dict[str, str] = {}
    bends = []
    for index in range(1, part.backbone.links + 1):
        row = []
        for letter, direction in towards:
            name = names.new(f"{part.name}_bend{index}{letter}")
            leader = leaders.setdefault(letter, name)
            follows = part.model == "pcc" and leader != name
            row.append(Bend(name, direction, leader if follows else None))
        bends.append(row[:: 1 if index % 2 else -1])
    return bends


def _revolute(part: Bendable, bend: Bend, parent: str, child: str, ahead: float) -> RigidJoint:
    """Make the joint of a cell, at a distance along the parent [m]."""
    cells, length = part.backbone.links, part.backbone.length
    highest = part.theta_max / cells
    rate = part.limits.kappa_dot_max
    x, y = bend.towards
    chambers = [actuator for actuator in part.actuation if isinstance(actuator, Chamber)]
    moment = math.fsum(c.radius * c.area * (c.pressure_max or 0.0) for c in chambers)
    return RigidJoint(
        name=bend.name,
        type="revolute",
        parent=parent,
        child=child,
        origin=Origin(xyz=(0.0, 0.0, ahead)),
        axis=(-y + 0.0, x, 0.0),
        lower=-highest,
        upper=highest,
        effort=max(moment, (part.backbone.bending_stiffness or 0.0) * part.kappa_max),
        velocity=highest / RISE_TIME if rate is None else rate * length / cells,
        mimic=None if bend.leader is None else Mimic(joint=bend.leader),
    )


def _end_rotation(part: Bendable) -> Array:
    """Return the rotation of the child link of a planar bendable with a ``webster`` frame."""
    is_rotated = part.end_frame == "webster"
    return rotate_about("z", (part.limits.phi_min or 0.0) if is_rotated else 0.0)


# Cells
def _cell(robot: Robot, part: Bendable, index: int, name: str) -> Link:
    """Make the rigid piece after joint ``index``, along z of its frame."""
    cells = part.backbone.links
    length = part.backbone.length / cells * (0.5 if index in (0, cells) else 1.0)
    mass = _mass(part) * length / part.backbone.length
    if index and not part.planar:
        mass -= _hub_mass(part)
    return Link(
        name=name,
        inertial=cylinder_inertial(part, mass, length, 0.5 * length),
        visuals=tuple(_draw(part, length)),
        collisions=tuple(_collision(robot, part, index, length)),
    )


def _draw(part: Bendable, length: float) -> Iterator[LinkShape]:
    """Draw a cell: a cylinder, or a disc on a thin core where the bendable has discs."""
    backbone = part.backbone
    core = CORE_FRACTION if backbone.discs else 1.0
    yield _cylinder(core * backbone.radius, 0.0, length).replace(rgba=COLOR)
    if backbone.discs:
        half = 0.5 * disc_thickness(backbone.replace(discs=backbone.links))
        disc = _cylinder(backbone.radius, 0.5 * length - half, 0.5 * length + half)
        yield disc.replace(rgba=DISC_COLOR)


def _cylinder(radius: float, low: float, high: float) -> LinkShape:
    shape = Cylinder(radius=radius, height=high - low)
    return LinkShape(shape=shape, origin=Origin(xyz=(0.0, 0.0, 0.5 * (low + high))))


def _collision(robot: Robot, part: Bendable, index: int, length: float) -> Iterator[LinkShape]:
    """Shorten a cell such that it stays clear of its neighbours when it is fully bent.

    The parts within the collision shapes of the parent or the child link are left out, too.
    """
    cells, cell = part.backbone.links, part.backbone.length / part.backbone.links
    gap = part.backbone.radius * math.tan(0.5 * part.theta_max / cells) + 0.5 * CLEARANCE * cell
    low = gap if index else 0.0
    high = length - (gap if index < cells else 0.0)
    begin = 0.0 if index == 0 else (index - 0.5) * cell
    if index:
        base = np.asarray(np.linalg.inv(origin_frame(part.origin)))
        low = max(low, _extent(robot.link(part.parent), base, 1.0) + gap - begin)
    if index < cells:
        end = _extent(robot.link(part.child), _end_rotation(part), -1.0)
        high = min(high, part.backbone.length - end - gap - begin)
    if high - low > CLEARANCE * cell:
        yield _cylinder(part.backbone.radius, low, high)


def _extent(link: Link, frame: Array, sign: float) -> float:
    """Return how far the collision shapes of a link reach along ±z of a frame [m]."""
    reaches = [0.0]
    for shape in link.collisions:
        pose = frame @ origin_frame(shape.origin)
        reach = half_extent(shape.shape, pose[2, :3], link.name)
        reaches.append(sign * float(pose[2, 3]) + reach)
    return max(reaches)


def _mass(part: Bendable) -> float:
    """Return the mass of a bendable [kg]."""
    cells = part.backbone.links
    return frame_inertial().mass * cells if part.inertial is None else part.inertial.mass


def _hub_mass(part: Bendable) -> float:
    return HUB_FRACTION * 0.5 * _mass(part) / part.backbone.links


def _hub_inertial(part: Bendable) -> Inertial:
    """Return the inertia of the ball between the two joints of a cell."""
    mass = _hub_mass(part)
    moment = 0.4 * mass * (HUB_RADIUS * part.backbone.radius) ** 2
    return Inertial(mass=mass, inertia=(moment,) * 3 + (0.0, 0.0, 0.0))
