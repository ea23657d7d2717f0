"""A robot of rigid links and bendable segments → an MjSpec."""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence

import mujoco
import numpy as np

from softgrasp.description.bendable import Bendable, Chamber, Inertial
from softgrasp.description.geometry import Mesh, Pose
from softgrasp.description.robot import Link, LinkShape, RigidJoint, Robot
from softgrasp.errors import BuildError, SoftgraspWarning
from softgrasp.mechanics.robot_kinematics import joint_frame, origin_frame
from softgrasp.mechanics.transforms import (
    Array,
    position_of,
    quaternion_of,
    rotate_about,
    rotation_from_euler,
)
from softgrasp.model.compile import compiled
from softgrasp.model.shapes import COLLISION_GROUP, VISUAL_GROUP, add_shape, part_pose, set_inertia
from softgrasp.model.visual import PHALANX_RGBA, SILICONE_RGBA, Rgba, add_visuals

LOCKED = 1e-9
"""Width [rad or m] of the range of a joint whose limits coincide: MuJoCo refuses an empty one."""


FLOOR_GAP = 0.1
"""The floor of a picture lies this far below the lowest point [m]."""


def robot_spec(robot: Robot) -> mujoco.MjSpec:
    """The robot with its root link fixed to the world, straight.

    Bendables are chains of joints in mid-cell (``model/robot.py``); the child link of one rides
    on its end. Frames named ``webster`` differ from ``bishop`` by a turn about the backbone that
    follows the bending plane; no body does that, so bodies are those of ``bishop``, with a warning.
    A planar bendable's plane stands still, and its child link is turned by it.

    Rigid joints, but those that follow another, have servos: ``ctrl`` is a position [rad or m].

    Raises:
        BuildError: A bendable does not say how stiff it is, or MuJoCo refuses the robot.

    Warns:
        SoftgraspWarning: A frame is taken as ``bishop``, or something that moves has no mass.
    """
    spec = mujoco.MjSpec()
    spec.modelname = robot.name
    spec.compiler.degree = False
    spec.option.integrator = mujoco.mjtIntegrator.mjINT_IMPLICITFAST
    spec.option.timestep = 1e-3
    spec.option.disableflags |= mujoco.mjtDisableBit.mjDSBL_AUTORESET
    if any(part.frame == "webster" and not part.planar for part in robot.bendables):
        warnings.warn(
            f"{robot.name}: bodies turn as 'bishop' frames do; 'webster' frames turn with the "
            "bending plane, which no body does",
            SoftgraspWarning,
            stacklevel=2,
        )
    world = spec.worldbody
    body = world if robot.root == world.name else world.add_body(name=robot.root)
    add_link(spec, body, robot.link(robot.root), moves=False)
    ahead = [(robot.root, body)]
    while ahead:
        ahead += _children(spec, robot, *ahead.pop())
    add_mimics(spec, robot)
    tune_servos(spec, robot)
    add_visuals(spec, -sum(part.backbone.length for part in robot.bendables) - FLOOR_GAP)
    return spec


def robot_model(robot: Robot) -> mujoco.MjModel:
    """The robot as a compiled model; see ``robot_spec``.

    Raises:
        BuildError: MuJoCo refuses it, or a bendable does not say how stiff it is.
    """
    return compiled(robot_spec(robot), robot.name)


def _children(
    spec: mujoco.MjSpec, robot: Robot, link: str, body: mujoco.MjsBody
) -> list[tuple[str, mujoco.MjsBody]]:
    """Add what hangs on a link; returns the links at the other ends and their bodies."""
    children = []
    for joint in robot.joints:
        if joint.parent == link:
            child = _child_body(body, joint.child, joint_frame(joint))
            moves = joint.type != "fixed"
            if moves:
                add_joint(spec, child, joint)
            add_link(spec, child, robot.link(joint.child), moves=moves)
            children.append((joint.child, child))
    for part in robot.bendables:
        if part.parent == link:
            last, end = add_bendable(spec, body, part, origin_frame(part.origin))
            child = _child_body(last, part.child, end @ _end_rotation(part))
            add_link(spec, child, robot.link(part.child), moves=False)
            children.append((part.child, child))
    return children


def _child_body(parent: mujoco.MjsBody, name: str, frame: Array) -> mujoco.MjsBody:
    return parent.add_body(name=name, pos=position_of(frame), quat=quaternion_of(frame))


def _end_rotation(part: Bendable) -> Array:
    """How the child link is turned about the end of the backbone, (4, 4)."""
    is_rotated = part.frame == "webster" and part.planar
    return rotate_about("z", (part.limits.phi_min or 0.0) if is_rotated else 0.0)


# --------------------
# Rigid links of a robot: shapes that are seen or touched, mass and inertia.


MIN_MASS, MIN_INERTIA = 1e-6, 1e-9
"""What a moving link without an inertial gets [kg, kg·m²]: MuJoCo needs some."""
WATER = 1000.0
"""Density of the ball whose inertia a link has that gives its mass only [kg/m³]."""


def add_link(spec: mujoco.MjSpec, body: mujoco.MjsBody, link: Link, *, moves: bool) -> None:
    """Give a body the shapes and the inertia of a link.

    Args:
        spec: The model.
        body: The body.
        link: The link.
        moves: Whether a joint of its own moves it, so that MuJoCo wants a mass.

    Warns:
        SoftgraspWarning: It has no inertia, or moves and has no mass.
    """
    for kind, group, shapes in (
        ("visual", VISUAL_GROUP, link.visuals),
        ("collision", COLLISION_GROUP, link.collisions),
    ):
        for index, part in enumerate(shapes):
            _add_part(spec, body, f"{link.name}_{kind}{index}", part, group)
    if link.inertial is not None:
        frame = origin_frame(link.inertial.origin)
        inertia = _tensor(link.name, link.inertial)
        rotated = frame[:3, :3] @ inertia @ frame[:3, :3].T
        set_inertia(body, link.inertial.mass, rotated, position_of(frame))
    elif moves:
        warnings.warn(
            f"link '{link.name}': expected an inertial of what moves, found none; it gets "
            f"{MIN_MASS:g} kg",
            SoftgraspWarning,
            stacklevel=2,
        )
        set_inertia(body, MIN_MASS, np.eye(3) * MIN_INERTIA)


def _add_part(
    spec: mujoco.MjSpec, body: mujoco.MjsBody, name: str, part: LinkShape, group: int
) -> None:
    frame = origin_frame(part.origin)
    pose = Pose(position=position_of(frame), quaternion=quaternion_of(frame))
    before = len(body.geoms)
    touching = add_shape(
        spec, body, name, part.shape, part_pose(part.shape, pose), rgba=part.rgba or PHALANX_RGBA[0]
    )
    for geom in body.geoms[before:]:
        # a mesh comes with the convex parts that stand for it where it is touched
        if isinstance(part.shape, Mesh) and (geom.name in touching) == (group == VISUAL_GROUP):
            spec.delete(geom)
        else:
            geom.group = group


def _tensor(link: str, inertial: Inertial) -> Array:
    """Inertia (3, 3) [kg·m²] of a link about its centre of mass, in the axes of its inertial."""
    if inertial.inertia is None:
        moment = 0.4 * inertial.mass * (3.0 * inertial.mass / (4.0 * np.pi * WATER)) ** (2.0 / 3.0)
        warnings.warn(
            f"link '{link}': expected an inertia, found a mass only; it gets that of a ball of "
            f"water, {moment:.3g} kg·m²",
            SoftgraspWarning,
            stacklevel=2,
        )
        return np.diag([moment] * 3)
    xx, yy, zz, xy, xz, yz = inertial.inertia
    return np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])


# --------------------
# Rigid joints of a robot, their servos, and joints that follow others.


SERVO_RATE = 100.0
"""Natural frequency of a joint's servo [rad/s]."""


def add_joint(spec: mujoco.MjSpec, body: mujoco.MjsBody, joint: RigidJoint) -> None:
    """Let a link's body move as its joint does; one that follows no other gets a servo."""
    slides = joint.type == "prismatic"
    joint_element = body.add_joint(
        name=joint.name,
        type=mujoco.mjtJoint.mjJNT_SLIDE if slides else mujoco.mjtJoint.mjJNT_HINGE,
        axis=list(joint.axis),
        damping=[joint.damping, 0.0, 0.0],
        frictionloss=joint.friction,
    )
    ends = None
    if joint.type != "continuous" and joint.lower is not None and joint.upper is not None:
        ends = [joint.lower, max(joint.upper, joint.lower + LOCKED)]
        joint_element.limited, joint_element.range = True, ends
    if joint.mimic is not None:
        return
    servo = spec.add_actuator(name=joint.name, target=joint.name, trntype=mujoco.mjtTrn.mjTRN_JOINT)
    if ends is not None:
        servo.ctrllimited, servo.ctrlrange = True, ends
    if joint.effort:
        servo.forcelimited, servo.forcerange = True, [-joint.effort, joint.effort]


def tune_servos(spec: mujoco.MjSpec, robot: Robot) -> None:
    """Make servos equally quick and critically damped, whatever they carry.

    A U(C)RDF gives no gains, so the stiffness comes from the inertia at the straight pose.

    Raises:
        BuildError: MuJoCo refuses the robot.
    """
    moving = [joint.name for joint in robot.joints if spec.actuator(joint.name)]
    if not moving:
        return
    model = compiled(spec, robot.name)
    for name in moving:
        inertia = float(model.dof_M0[model.joint(name).dofadr[0]])
        spec.actuator(name).set_to_position(kp=inertia * SERVO_RATE**2, dampratio=1.0)


def add_mimics(spec: mujoco.MjSpec, robot: Robot) -> None:
    """Make joints follow those that they mimic.

    Raises:
        BuildError: One would follow a joint that is fixed.
    """
    kinds = {joint.name: joint.type for joint in robot.joints}
    for joint in robot.joints:
        if joint.mimic is not None and joint.type != "fixed":
            if kinds[joint.mimic.joint] == "fixed":
                raise BuildError(
                    f"joint '{joint.name}': expected to mimic a joint that moves, found "
                    f"'{joint.mimic.joint}', which is fixed"
                )
            equality = spec.add_equality(
                name=f"{joint.name}_mimic",
                type=mujoco.mjtEq.mjEQ_JOINT,
                objtype=mujoco.mjtObj.mjOBJ_JOINT,
                name1=joint.name,
                name2=joint.mimic.joint,
            )
            equality.data[:2] = joint.mimic.offset, joint.mimic.multiplier


# --------------------
# A bendable segment → a chain of rigid cells with springs, and the tendons that drive it.
#
# Joints stand in the middle of their cells, so that the end of a chain of n is off by θ²/(12 n²)
# of
# the length under a constant moment; both bending axes go through one point. Turns about
# different
# axes do not commute: every other cell takes its joints in the opposite order, and what a pair of
# cells turns too far about the backbone, or shifts aside, cancels to second order as well.


CORE_FRACTION = 0.35
"""Radius of the drawn backbone over that of the segment."""
DISC_FRACTION = 0.12
"""Thickness of a drawn disc over the distance of two."""
MIN_CELL_MASS = 1e-6
"""Mass of a segment that has none of its own [kg]: MuJoCo needs moving bodies to have some."""
DISC_RGBA: Rgba = (0.42, 0.49, 0.58, 1.0)


def add_bendable(
    spec: mujoco.MjSpec,
    parent: mujoco.MjsBody,
    part: Bendable,
    frame: Array,
    *,
    driven: bool = True,
) -> tuple[mujoco.MjsBody, Array]:
    """Add a segment to a body.

    Args:
        spec: The model to extend.
        parent: The body that carries it.
        part: The segment.
        frame: Its base in the parent's frame, (4, 4).
        driven: Whether to add its drives, too; their order is that of the actuators.

    Returns:
        The body of its last cell, and the segment's end in that body's frame (4, 4).

    Raises:
        BuildError: It does not say how stiff it is, or no body has the inertia that it asks for.

    Warns:
        SoftgraspWarning: It has no mass.
    """
    _refuse_limp(part)
    backbone = part.backbone
    cells, cell = backbone.links, backbone.length / backbone.links
    lengths = [0.5 * cell, *[cell] * (cells - 1), 0.5 * cell]
    inertias = cell_inertias(part, _mass(part), lengths)
    body = parent.add_body(name=f"{part.name}_0")
    _set_pose(body, frame)
    _fill(body, part, 0.0, lengths[0], inertias[0])
    for index in range(1, cells + 1):
        body = body.add_body(name=f"{part.name}_{index}", pos=[0.0, 0.0, lengths[index - 1]])
        _add_joints(body, part, index)
        _fill(body, part, (index - 0.5) * cell, lengths[index], inertias[index])
    if driven:
        add_segment_actuators(spec, part)
    end = np.eye(4)
    end[2, 3] = lengths[-1]
    return body, end


def _refuse_limp(part: Bendable) -> None:
    """Refuse a segment that nothing straightens, lengthens back or turns back."""
    backbone = part.backbone
    if not backbone.bending_stiffness:
        raise BuildError(
            f"bendable '{part.name}': expected a bending_stiffness above 0 to simulate it, found "
            f"{backbone.bending_stiffness}"
        )
    for name in ("axial_stiffness", "torsion_stiffness"):
        if getattr(backbone, name) == 0.0:
            raise BuildError(
                f"bendable '{part.name}': expected {name} above 0, or none for a segment that does "
                "not give way, found 0"
            )


def _mass(part: Bendable) -> float:
    if part.inertial is not None:
        return part.inertial.mass
    warnings.warn(
        f"bendable '{part.name}': expected a mass, found none; it gets {MIN_CELL_MASS:g} kg",
        SoftgraspWarning,
        stacklevel=2,
    )
    return MIN_CELL_MASS


def _set_pose(body: mujoco.MjsBody, frame: Array) -> None:
    quaternion = np.zeros(4)
    mujoco.mju_mat2Quat(quaternion, frame[:3, :3].ravel())
    body.pos, body.quat = frame[:3, 3], quaternion


def _fill(
    body: mujoco.MjsBody, part: Bendable, begin: float, length: float, inertia: tuple[float, Array]
) -> None:
    """The piece of the segment that lies from a body's origin on along z."""
    backbone = part.backbone
    set_inertia(body, *inertia, (0.0, 0.0, 0.5 * length))
    common = {"pos": [0.0, 0.0, 0.5 * length], "mass": 0.0, "contype": 0, "conaffinity": 0}
    body.add_geom(
        name=body.name,
        type=mujoco.mjtGeom.mjGEOM_CYLINDER,
        size=[backbone.radius, 0.5 * length, 0.0],
        group=COLLISION_GROUP,
        **common,
    )
    thin = CORE_FRACTION * backbone.radius if backbone.discs else backbone.radius
    body.add_geom(
        type=mujoco.mjtGeom.mjGEOM_CAPSULE,
        size=[thin, 0.5 * length, 0.0],
        group=VISUAL_GROUP,
        rgba=SILICONE_RGBA,
        **common,
    )
    _add_discs(body, part, begin, length)


def _add_discs(body: mujoco.MjsBody, part: Bendable, begin: float, length: float) -> None:
    discs = part.backbone.discs
    if not discs:
        return
    apart = part.backbone.length / discs
    for position in apart * np.arange(1, discs + 1):
        if begin < position <= begin + length + 1e-12:
            body.add_geom(
                type=mujoco.mjtGeom.mjGEOM_CYLINDER,
                size=[part.backbone.radius, 0.5 * DISC_FRACTION * apart, 0.0],
                pos=[0.0, 0.0, float(position) - begin],
                group=VISUAL_GROUP,
                rgba=DISC_RGBA,
                mass=0.0,
                contype=0,
                conaffinity=0,
            )


def _add_joints(body: mujoco.MjsBody, part: Bendable, index: int) -> None:
    """Slide, twist and bend of one cell, where the segment has them."""
    backbone, per_cell = part.backbone, part.backbone.links / part.backbone.length
    hinge, slide = mujoco.mjtJoint.mjJNT_HINGE, mujoco.mjtJoint.mjJNT_SLIDE
    along = (0.0, 0.0, 1.0)
    joints = []
    for letter, kind, stiffness, damping in (
        ("S", slide, backbone.axial_stiffness, backbone.axial_damping),
        ("T", hinge, backbone.torsion_stiffness, backbone.torsion_damping),
    ):
        if stiffness:
            damping_value = backbone.damping_of(stiffness) if damping is None else damping
            joints.append((f"{part.name}_{letter}{index}", kind, along, stiffness, damping_value))
    count, bending = 1 if part.planar else 2, backbone.bending_stiffness or 0.0
    for name, (x, y) in bend_joints(part)[(index - 1) * count : index * count]:
        joints.append((name, hinge, (-y, x, 0.0), bending, backbone.damping_of(bending)))
    for name, kind, axis, stiffness, damping in joints[:: 1 if index % 2 else -1]:
        joint = body.add_joint(
            name=name,
            type=kind,
            axis=axis,
            stiffness=[stiffness * per_cell, 0.0, 0.0],
            damping=[damping * per_cell, 0.0, 0.0],
        )
        if kind == slide and part.limits.eps_min is not None and part.limits.eps_max is not None:
            low, high = part.limits.eps_min / per_cell, part.limits.eps_max / per_cell
            joint.limited, joint.range = True, [low, max(high, low + LOCKED)]


# --------------------
# What bends a segment: fixed tendons whose lengths are those of its tendons or chambers.


UNLIMITED = 1e9
"""Largest tension [N] or pressure [Pa] of a drive that has no limit: a range has two ends."""
LOCKED_DRIVE = 1e-3
"""Width [Pa] of the range of a pressure that cannot change: MuJoCo refuses an empty one."""


def add_segment_actuators(spec: mujoco.MjSpec, part: Bendable) -> None:
    """Fixed tendons: l − r (u cos α + v sin α) an element, or the bending angles themselves."""
    directions = [(math.cos(d.angle), math.sin(d.angle)) for d in part.actuation]
    factors = [-actuator_part.radius for actuator_part in part.actuation]
    if not part.actuation:
        phi = part.limits.phi_min or 0.0
        directions = [(math.cos(phi), math.sin(phi))] if part.planar else [(1.0, 0.0), (0.0, 1.0)]
        factors = [1.0] * len(directions)
    names = segment_actuator_names(part)
    for index, (name, (x, y), factor) in enumerate(zip(names, directions, factors, strict=True)):
        tendon = spec.add_tendon(name=name)
        for joint, (towards_x, towards_y) in bend_joints(part):
            tendon.wrap_joint(joint, factor * (towards_x * x + towards_y * y))
        for joint in slide_joints(part) if part.actuation else ():
            tendon.wrap_joint(joint, 1.0)
        actuator = spec.add_actuator(name=name, target=name, trntype=mujoco.mjtTrn.mjTRN_TENDON)
        actuator.set_to_motor()
        if part.actuation:
            _set_limits(actuator, part.actuation[index])


def _set_limits(actuator: mujoco.MjsActuator, actuator_part: object) -> None:
    """A chamber pushes with pressure · area; a tendon pulls with its tension."""
    actuator.ctrllimited = True
    if isinstance(actuator_part, Chamber):
        actuator.gainprm[0] = actuator_part.area
        high = UNLIMITED if actuator_part.pressure_max is None else actuator_part.pressure_max
        actuator.ctrlrange = [
            actuator_part.pressure_min,
            max(high, actuator_part.pressure_min + LOCKED_DRIVE),
        ]
    else:
        actuator.gainprm[0] = -1.0
        actuator.ctrlrange = [0.0, UNLIMITED]


# --------------------
# Mass and inertia of the cells that a bendable segment is cut into.


def cell_inertias(
    part: Bendable, mass: float, lengths: Sequence[float]
) -> list[tuple[float, Array]]:
    """Mass [kg] and inertia about the own centre (3, 3) [kg·m²] of every cell, base first.

    The mass is spread evenly along the segment. Without an inertia of its own the segment is a
    uniform cylinder. With one, the cells get shares of it such that the straight segment has it
    about its middle: what their distances from the middle account for is left out.

    Args:
        part: The segment.
        mass: Of the whole segment [kg].
        lengths: Of the cells [m]; they add up to the segment's.

    Raises:
        BuildError: The inertia is less than these distances account for, or no body has it.
    """
    sizes = np.asarray(lengths, dtype=float)
    masses = mass * sizes / sizes.sum()
    if part.inertial is None or part.inertial.inertia is None:
        across = masses * (part.backbone.radius**2 / 4.0 + sizes**2 / 12.0)
        along = masses * part.backbone.radius**2 / 2.0
        moments = np.stack([across, across, along], axis=1)
        return [
            (cell_mass, np.diag(row))
            for cell_mass, row in zip(masses.tolist(), moments, strict=True)
        ]
    centres = np.cumsum(sizes) - 0.5 * sizes - 0.5 * sizes.sum()
    apart = float(masses @ centres**2)
    rest = _inertia_about_center(part, part.inertial.inertia) - apart * np.diag([1.0, 1.0, 0.0])
    moments = np.linalg.eigvalsh(rest)
    if moments[0] <= 0.0 or moments[2] > moments[0] + moments[1]:
        raise BuildError(
            f"bendable '{part.name}': expected an inertia about its middle that a body of its "
            f"length and mass can have, found {part.inertial.inertia}; without one it is that of "
            "a uniform cylinder"
        )
    return [(cell_mass, cell_mass / mass * rest) for cell_mass in masses.tolist()]


def _inertia_about_center(part: Bendable, inertia: tuple[float, ...]) -> Array:
    """The segment's own inertia in its base axes, (3, 3) [kg·m²]."""
    assert part.inertial is not None  # it is what holds the inertia
    xx, yy, zz, xy, xz, yz = inertia
    rotation = rotation_from_euler(part.inertial.origin.rpy)
    return np.asarray(rotation @ np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]]) @ rotation.T)


# --------------------
# Names of the joints, tendons and actuators of a bendable segment in a generated model.


def bend_joints(part: Bendable) -> list[tuple[str, tuple[float, float]]]:
    """Names of the bending joints, each with the part of its angle towards x and towards y."""
    if part.planar:
        phi = part.limits.phi_min or 0.0
        return [(f"{part.name}_J{k}", (math.cos(phi), math.sin(phi))) for k in cell_numbers(part)]
    towards = (("u", (1.0, 0.0)), ("v", (0.0, 1.0)))
    return [
        (f"{part.name}_J{k}{name}", direction)
        for k in cell_numbers(part)
        for name, direction in towards
    ]


def slide_joints(part: Bendable) -> list[str]:
    """Names of the joints that lengthen it; none without an axial stiffness."""
    return (
        [f"{part.name}_S{k}" for k in cell_numbers(part)] if part.backbone.axial_stiffness else []
    )


def twist_joints(part: Bendable) -> list[str]:
    """Names of the joints that twist it; none without a torsion stiffness."""
    return (
        [f"{part.name}_T{k}" for k in cell_numbers(part)] if part.backbone.torsion_stiffness else []
    )


def segment_actuator_names(part: Bendable) -> list[str]:
    """Its tendons and actuators: one an actuation element, else the two bending moments."""
    if part.actuation:
        return [
            f"{part.name}_{actuator.type}{k}" for k, actuator in enumerate(part.actuation, start=1)
        ]
    return [f"{part.name}_bend"] if part.planar else [f"{part.name}_u", f"{part.name}_v"]


def cell_numbers(part: Bendable) -> range:
    """Numbers of the cells that have joints; the half cell at the base, 0, has none."""
    return range(1, part.backbone.links + 1)
