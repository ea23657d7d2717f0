"""Soft hands from U(C)RDF robots: the link that carries all bendables is the palm.

The hand's frame lies between the bases of the fingers, which point towards -z. Each bendable is one
finger, actuated by those of its chambers that bend it towards its phi. A tendon, which has the
bending moment tension · radius, is the chamber of ``EQUIVALENT_AREA`` on the other side with the
same moment, and so are bending moments of a bendable without ``<actuation>``.
"""

from __future__ import annotations

import math
import warnings

import numpy as np

from softgrasp.continuum.rld import finger_from_bendable
from softgrasp.description.actuation import Rates
from softgrasp.description.bendable import Bendable, Chamber, Tendon
from softgrasp.description.contact import Contact
from softgrasp.description.geometry import Capsule, Cuboid, Cylinder, Mesh, Sphere
from softgrasp.description.hand import GraspPreset, Grasps, Hand, Palm
from softgrasp.description.robot import Link, LinkShape, Robot
from softgrasp.description.soft_finger import MountedSoftFinger, SoftFinger, SoftLink
from softgrasp.errors import DescriptionError, SoftgraspWarning
from softgrasp.mechanics.hand_kinematics import pose_of
from softgrasp.mechanics.robot_kinematics import origin_frame
from softgrasp.mechanics.transforms import Array, rotate_about

FINGER_IN_BENDABLE = np.array([[0.0, 0, -1, 0], [0, 1, 0, 0], [1, 0, 0, 0], [0, 0, 0, 1]])
"""Frame of a finger in that of a bendable that bends towards its x: +x along z, −z along x."""
SKIN = Contact(stiffness=5e3, damping=20.0, static_friction=0.9)
"""Contact of silicone walls, as of the shipped soft hands; U(C)RDF has no contact parameters."""
CENTER_FRACTION = 0.6
"""Distance of the object from the palm over the finger length [–]."""
CLOSING_TIME = 2.5
"""Time in which the pressure reaches its limit [s]."""
PRECISION_FRACTION = 0.5
"""Pressure of a precision grasp over the limit [–]."""
EQUIVALENT_AREA = 1e-4
"""Area of the chamber that is a tendon [m²]: 10 kPa are a tension of 1 N."""
ALONG = 1e-9
"""Difference below which directions are equal [–]."""


def soft_hand(robot: Robot) -> Hand:
    """Make a hand whose palm is the link that carries all bendables.

    U(C)RDF has no grasps: the object is put in the middle of the fingers, ``power`` closes with the
    highest pressure and ``precision`` with half of it.

    Raises:
        DescriptionError: There are no bendables, they are on different links or on one another, a
            moving joint is on the palm, or a bendable is not planar, has no actuators that bend it
            towards phi, or chambers without a pressure limit.

    Warns:
        SoftgraspWarning: Tendons or moments are equivalent chambers, or a bendable folds into
            itself. Joints that carry the palm, links fixed to it, or a shape are left out.
    """
    palm = _palm_of(robot)
    robot = robot.replace(bendables=tuple(_with_chambers(part) for part in robot.bendables))
    limits = {part.name: _pressures(part) for part in robot.bendables}
    fingers = {part.name: _finger(robot, part) for part in robot.bendables}
    bases = np.array([origin_frame(part.origin)[:3, 3] for part in robot.bendables])
    directions = [origin_frame(part.origin)[:3, 2] for part in robot.bendables]
    frame = _hand_frame(bases, np.mean(directions, axis=0), robot.name)
    inverse = np.asarray(np.linalg.inv(frame))
    digits = tuple(
        MountedSoftFinger(
            name=part.name.replace("_", "-"),
            base=pose_of(
                inverse
                @ origin_frame(part.origin)
                @ (rotate_about("z", part.limits.phi_min or 0.0) @ FINGER_IN_BENDABLE)
            ),
            finger=fingers[part.name],
            limits=limits[part.name],
        )
        for part in robot.bendables
    )
    return Hand(
        name=robot.name,
        soft_fingers=digits,
        palm=_palm(palm, inverse),
        palm_rgba=next((shape.rgba for shape in palm.visuals if shape.rgba), None),
        contact=SKIN,
        grasps=_grasps(digits),
        source=robot.source,
    )


def _palm_of(robot: Robot) -> Link:
    """Find the link that carries all bendables and nothing else that moves."""
    if not robot.bendables:
        raise DescriptionError(
            f"expected bendables as soft fingers of '{robot.name}', found none; rigid hands are "
            "read from Denavit-Hartenberg tables in YAML",
            field="bendable",
        )
    names = list(dict.fromkeys(part.parent for part in robot.bendables))
    if len(names) > 1:
        raise DescriptionError(
            f"expected one link that carries all fingers of '{robot.name}', found "
            f"{', '.join(map(repr, names))}",
            field="bendable",
        )
    beyond = {names[0], *(part.child for part in robot.bendables)}
    for joint in robot.joints:
        if joint.parent in beyond and joint.type == "fixed":
            beyond.add(joint.child)
        elif joint.parent in beyond:
            raise DescriptionError(
                f"expected fingers of one bendable each and no moving joint on '{names[0]}', found "
                f"joint '{joint.name}'",
                field=f"joint '{joint.name}'",
            )
    left = [f"'{joint.name}'" for joint in robot.joints]
    if left:
        warnings.warn(
            f"robot '{robot.name}': expected a hand only; what carries its palm, and what is "
            f"fixed to palm and fingers, is left out: {', '.join(left)}",
            SoftgraspWarning,
            stacklevel=3,
        )
    return robot.link(names[0])


def _finger(robot: Robot, part: Bendable) -> SoftFinger:
    """Make a finger, with the end link of its bendable added to its last link.

    A soft link is a box about its centre of mass: the centre of mass of the end link is replaced by
    that of the extended box.
    """
    finger = finger_from_bendable(part, driven=_closing(part))
    link, last, end = robot.link(part.child), finger.links[-1], finger.tip[0]
    begin = last.center[0] - 0.5 * last.size[0]
    end += max([0.0, *(_reach(shape, link.name) for shape in link.collisions)])
    longer = SoftLink(
        center=(0.5 * (begin + end), 0.0, 0.0),
        mass=last.mass + (link.inertial.mass if link.inertial is not None else 0.0),
        size=(end - begin, *last.size[1:]),
    )
    return finger.replace(links=(*finger.links[:-1], longer), tip=(end, 0.0, 0.0))


def _with_chambers(part: Bendable) -> Bendable:
    """Replace tendons, or moments of a bendable without actuators, by equivalent chambers.

    Their largest tension or moment bends a free finger to ``kappa_max``.
    """
    if part.fold_ratio > 1.0:
        warnings.warn(
            f"bendable '{part.name}': kappa_max {part.kappa_max:.4g} 1/m is above 1 over its "
            f"radius, {1.0 / part.backbone.radius:.4g} 1/m: it folds into itself there",
            SoftgraspWarning,
            stacklevel=4,
        )
    tendons = [actuator for actuator in part.actuation if isinstance(actuator, Tendon)]
    if part.actuation and not tendons:
        return part
    stiffness, where = part.backbone.bending_stiffness, f"bendable '{part.name}'"
    if not stiffness:
        raise DescriptionError("expected a bending_stiffness, found none", field=where)
    phi, moment = part.limits.phi_min or 0.0, stiffness * part.kappa_max
    lines = [(tendon.angle, tendon.radius) for tendon in tendons] or [(phi, part.backbone.radius)]
    closing = math.fsum(radius for angle, radius in lines if math.cos(angle - phi) > ALONG)
    # with several tendons on one side, all at the same tension
    tension = moment / (closing or max(radius for _, radius in lines))
    highest = tension / EQUIVALENT_AREA
    chambers = tuple(
        Chamber(angle=angle + math.pi, radius=radius, area=EQUIVALENT_AREA, pressure_max=highest)
        for angle, radius in lines
    )
    unit = f"{1e-3 / EQUIVALENT_AREA:g} kPa for 1 N of tension"
    if not tendons:
        unit = f"{1e-6 / (EQUIVALENT_AREA * part.backbone.radius):.4g} kPa for 1 N·mm of moment"
    warnings.warn(
        f"{where}: pressures stand for {'its tendons' if tendons else 'bending moments'}, {unit}; "
        f"at the highest, {1e-3 * tension / EQUIVALENT_AREA:.4g} kPa, it bends to kappa_max"
        + ("; its length is constant" if part.backbone.axial_stiffness else ""),
        SoftgraspWarning,
        stacklevel=4,
    )
    backbone = part.backbone.replace(axial_stiffness=None, axial_damping=None)
    return part.replace(actuation=chambers, backbone=backbone)


def _closing(part: Bendable) -> list[int]:
    """Return indices of the chambers that bend a finger towards its phi; others stay empty."""
    expected = "phi_min equal to phi_max, as one pressure bends a finger in one plane"
    if part.planar:
        chambers = [actuator for actuator in part.actuation if isinstance(actuator, Chamber)]
        phi = part.limits.phi_min or 0.0
        closing = [
            index
            for index, chamber in enumerate(chambers)
            if -math.cos(chamber.angle - phi) > ALONG and chamber.radius > 0.0
        ]
        if closing:
            return closing
        expected = (
            "a chamber on the side away from phi, or a tendon on that of phi, which bends the "
            "finger towards phi, found none"
        )
    raise DescriptionError(f"expected {expected}", field=f"bendable '{part.name}'")


def _pressures(part: Bendable) -> tuple[float, float]:
    """Pressure range common to all closing chambers [Pa]."""
    chambers = [part.actuation[index] for index in _closing(part)]
    limits = [(c.pressure_min, c.pressure_max) for c in chambers if isinstance(c, Chamber)]
    known = [high for _, high in limits if high is not None]
    if not known:
        where = f"bendable '{part.name}'"
        raise DescriptionError("expected a pressure_max, found none", field=where)
    return max(low for low, _ in limits), min(known)


def _hand_frame(bases: Array, along: Array, name: str) -> Array:
    """Return the frame between finger bases, -z along fingers, x away from the first, (4, 4)."""
    if np.linalg.norm(along) < ALONG:
        raise DescriptionError(
            f"expected fingers of '{name}' that point in one direction, found opposite ones",
            field="bendable",
        )
    frame = np.eye(4)
    frame[:3, 3] = bases.mean(axis=0)
    z = -along / np.linalg.norm(along)
    across = (item - (item @ z) * z for item in (frame[:3, 3] - bases[0], *np.eye(3)))
    x = next(item / np.linalg.norm(item) for item in across if np.linalg.norm(item) > ALONG)
    frame[:3, :3] = np.column_stack([x, np.cross(z, x), z])
    return frame


def _palm(link: Link, inverse: Array) -> Palm:
    """Return the only collision primitive as palm; else a solid around the finger bases."""
    match link.collisions:
        case (only,) if not isinstance(only.shape, Mesh):
            pose = pose_of(inverse @ origin_frame(only.origin))
            return Palm(kind="shape", shape=only.shape, pose=pose)
    return Palm()


def _grasps(digits: tuple[MountedSoftFinger, ...]) -> Grasps:
    center = (0.0, 0.0, -CENTER_FRACTION * float(np.mean([digit.length for digit in digits])))
    highest = min(digit.limits[1] for digit in digits)
    rates = Rates([digit.limits[1] / CLOSING_TIME for digit in digits])
    preset = GraspPreset(center=center, rates=rates, pressure=highest, from_above=True)
    return Grasps(power=preset, precision=preset.replace(pressure=PRECISION_FRACTION * highest))


def _reach(part: LinkShape, name: str) -> float:
    """Return how far a shape extends along z from the frame of its link [m].

    Warns:
        SoftgraspWarning: It is a mesh, which is left out.
    """
    frame, shape = origin_frame(part.origin), part.shape
    along, height = frame[2, :3], float(frame[2, 3])
    if isinstance(shape, Sphere):
        return height + shape.radius
    if isinstance(shape, Cuboid):
        return height + float(np.abs(along) @ shape.size) / 2.0
    up, aside = float(abs(along[2])), math.hypot(*along[:2])
    if isinstance(shape, Cylinder):
        return height + up * shape.height / 2.0 + aside * shape.radius
    if isinstance(shape, Capsule):
        return height + up * shape.length / 2.0 + shape.radius
    warnings.warn(
        f"link '{name}': expected a primitive shape at the end of a soft finger, found a mesh; it "
        "is left out",
        SoftgraspWarning,
        stacklevel=2,
    )
    return 0.0
