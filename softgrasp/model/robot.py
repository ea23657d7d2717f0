"""Robots of rigid links and bendable segments as MuJoCo models.

A bendable segment is a chain of rigid cells with springs; joints are in the middle of their cells,
so that the end of a chain of n is off by θ²/(12 n²) of the length under a constant moment, and both
bending axes pass through one point. As rotations about different axes do not commute, every other
cell has its joints in the opposite order, so that the rotation about the backbone and the lateral
displacement of a pair of cells cancel to second order. Fixed tendons with the lengths of its
tendons or chambers actuate the segment.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from itertools import combinations

import mujoco
import numpy as np

from softgrasp.description.bendable import Bendable, Chamber
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
from softgrasp.model.shapes import (
    COLLISION_GROUP,
    VISUAL_GROUP,
    add_shape,
    inertia_tensor,
    join_inertia,
    part_pose,
    set_inertia,
)
from softgrasp.model.visual import PHALANX_RGBA, SILICONE_RGBA, Rgba, add_visuals

LOCKED = 1e-9
"""Width of the range of a joint whose limits coincide [rad or m], as MuJoCo rejects empty ones."""
FLOOR_GAP = 0.1
"""Distance of the floor below the straight robot [m]."""
SERVO_RATE = 100.0
"""Natural frequency of the servos [rad/s]."""
CORE_FRACTION = 0.35
"""Radius of the drawn backbone over that of the segment [–]."""
DISC_FRACTION = 0.12
"""Thickness of a drawn disc over the distance between discs [–]."""
MIN_CELL_MASS = 1e-6
"""Mass of a segment without a described mass [kg], as moving bodies need some in MuJoCo."""
DISC_RGBA: Rgba = (0.42, 0.49, 0.58, 1.0)
"""Colour of discs."""
SILICONE_FRICTION = (0.9, 0.005, 0.0001)
"""Coefficients of sliding [–], torsional and rolling friction [m] of exported robots."""
ROBOT_TEXT = "robot"
"""Name of the text in an exported model that has the name of the robot."""
IMPRATIO = 10.0
"""Ratio of frictional to normal constraint impedance in exported models [–], against creep."""
UNLIMITED = 1e9
"""Maximum tension [N] or pressure [Pa] of an actuator without a limit, as MuJoCo needs one."""
LOCKED_PRESSURE = 1e-3
"""Width of the range of a constant pressure [Pa], as MuJoCo rejects empty ones."""

# Robots


def robot_spec(robot: Robot) -> mujoco.MjSpec:
    """Build the spec of a robot with its root link fixed to the world, bendables straight.

    The child link of a bendable is fixed to its end. Frames named ``webster`` differ from
    ``bishop`` by a rotation about the backbone that follows the bending plane, which no body does;
    bodies have ``bishop`` frames, with a warning. The plane of a planar bendable is constant, and
    its child link is rotated by it.

    Rigid joints, except those that mimic another, have servos: ``ctrl`` is a position [rad or m].

    Raises:
        BuildError: A bendable has no stiffness, or MuJoCo rejects the robot.

    Warns:
        SoftgraspWarning: A frame is taken as ``bishop``, or a moving item has no mass.
    """
    spec = mujoco.MjSpec()
    spec.modelname = robot.name
    spec.compiler.degree = False
    spec.option.integrator = mujoco.mjtIntegrator.mjINT_IMPLICITFAST
    spec.option.timestep = 1e-3
    spec.option.disableflags |= mujoco.mjtDisableBit.mjDSBL_AUTORESET
    if any(part.frame != part.end_frame for part in robot.bendables):
        warnings.warn(
            f"{robot.name}: bodies have 'bishop' frames; 'webster' frames rotate with the "
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


def robot_to_mjcf(robot: Robot) -> str:
    """Format a robot as MJCF whose bendables and links collide with other bodies and each other.

    The cells of bendables and the collision shapes of links collide, with the friction of
    silicone. Pairs within one bendable, and pairs that touch while the robot is straight, are
    excluded; MuJoCo itself excludes bodies that a joint connects.

    Raises:
        BuildError: MuJoCo rejects it, or a bendable has no stiffness.

    Warns:
        SoftgraspWarning: As ``robot_spec``.
    """
    spec = robot_spec(robot)
    spec.option.cone = mujoco.mjtCone.mjCONE_ELLIPTIC
    spec.option.impratio = IMPRATIO
    spec.add_text(name=ROBOT_TEXT, data=robot.name)
    for geom in spec.geoms:
        if geom.group == COLLISION_GROUP:
            geom.contype = geom.conaffinity = 1
            geom.condim, geom.friction = 4, SILICONE_FRICTION
    for part in robot.bendables:
        _limit_controls(spec, part)
    for first, second in _never_colliding(spec, robot):
        spec.add_exclude(bodyname1=first, bodyname2=second)
    compiled(spec, robot.name)
    return str(spec.to_xml())


def _limit_controls(spec: mujoco.MjSpec, part: Bendable) -> None:
    """Limit tensions and moments to those that bend a free segment to its largest curvature.

    U(C)RDF states no largest tension, and readers of a model look for the closed finger there.
    """
    moment = (part.backbone.bending_stiffness or 0.0) * part.kappa_max
    for index, name in enumerate(segment_actuator_names(part)):
        actuator = spec.actuator(name)
        if not part.actuation:
            actuator.ctrllimited, actuator.ctrlrange = True, [-moment, moment]
        elif not isinstance(part.actuation[index], Chamber):
            actuator.ctrlrange = [0.0, moment / part.actuation[index].radius]


def robot_model(robot: Robot) -> mujoco.MjModel:
    """Compile a robot; see ``robot_spec``.

    Raises:
        BuildError: MuJoCo rejects it, or a bendable has no stiffness.
    """
    return compiled(robot_spec(robot), robot.name)


def _children(
    spec: mujoco.MjSpec, robot: Robot, link: str, body: mujoco.MjsBody
) -> list[tuple[str, mujoco.MjsBody]]:
    """Add the joints and bendables that a link carries; return child links and bodies."""
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
    """Add a body at a frame."""
    return parent.add_body(name=name, pos=position_of(frame), quat=quaternion_of(frame))


def _end_rotation(part: Bendable) -> Array:
    """Return the rotation of the child link about the end of the backbone, (4, 4)."""
    is_rotated = part.end_frame == "webster"
    return rotate_about("z", (part.limits.phi_min or 0.0) if is_rotated else 0.0)


def _never_colliding(spec: mujoco.MjSpec, robot: Robot) -> list[tuple[str, str]]:
    """Return pairs of bodies of one bendable, or that touch while the robot is straight."""
    model = compiled(spec, robot.name)
    data = mujoco.MjData(model)
    mujoco.mj_kinematics(model, data)
    cells = [part.backbone.length / part.backbone.links for part in robot.bendables]
    near = 0.5 * min(cells, default=0.0)
    bendable_of = {
        f"{part.name}_{index}": part.name
        for part in robot.bendables
        for index in range(part.backbone.links + 1)
    }
    pairs: dict[tuple[str, str], None] = {}
    for geoms in combinations(np.flatnonzero(model.geom_contype).tolist(), 2):
        first, second = (model.body(model.geom_bodyid[geom]).name for geom in geoms)
        if first == second or (first, second) in pairs:
            continue
        same = first in bendable_of and bendable_of[first] == bendable_of.get(second)
        if same or mujoco.mj_geomDistance(model, data, *geoms, near or 1.0, None) <= near:
            pairs[first, second] = None
    return list(pairs)


# Rigid links


def add_link(spec: mujoco.MjSpec, body: mujoco.MjsBody, link: Link, *, moves: bool) -> None:
    """Add the shapes and the inertia of a link to a body.

    Args:
        spec: The model.
        body: The body.
        link: The link.
        moves: Whether a joint moves it, so that MuJoCo needs a mass.

    Warns:
        SoftgraspWarning: It has no inertia, or moves without a mass, and what is assumed instead.
    """
    for kind, group, shapes in (
        ("visual", VISUAL_GROUP, link.visuals),
        ("collision", COLLISION_GROUP, link.collisions),
    ):
        for index, part in enumerate(shapes):
            _add_part(spec, body, f"{link.name}_{kind}{index}", part, group)
    if link.inertial is not None or moves:
        _add_mass(body, link)


def _add_mass(body: mujoco.MjsBody, link: Link) -> None:
    """Set the mass and inertia of a link, with the assumptions that hold for the link of a hand."""
    from softgrasp.io.urdf.links import mass_fields, parts_of  # not for a grasp of other hands

    notes: list[str] = []
    fields = mass_fields(link, np.eye(4), None, notes)
    for note in notes:
        warnings.warn(note, SoftgraspWarning, stacklevel=2)
    if (inertial := fields.get("inertial")) is not None:
        frame = origin_frame(inertial.origin)
        inertia = frame[:3, :3] @ inertia_tensor(inertial.inertia) @ frame[:3, :3].T
        set_inertia(body, inertial.mass, inertia, position_of(frame))
        return
    solids = [(part.shape, part_pose(part.shape, part.pose)) for part in parts_of(link, np.eye(4))]
    mass, density = fields.get("mass"), fields.get("density", 0.0)
    set_inertia(body, *join_inertia(solids, mass=mass, density=density))


def _add_part(
    spec: mujoco.MjSpec, body: mujoco.MjsBody, name: str, part: LinkShape, group: int
) -> None:
    """Add a shape to the visual or the collision group."""
    frame = origin_frame(part.origin)
    pose = Pose(position=position_of(frame), quaternion=quaternion_of(frame))
    before = len(body.geoms)
    touching = add_shape(
        spec, body, name, part.shape, part_pose(part.shape, pose), rgba=part.rgba or PHALANX_RGBA[0]
    )
    for geom in body.geoms[before:]:
        # a mesh has convex parts for contacts
        if isinstance(part.shape, Mesh) and (geom.name in touching) == (group == VISUAL_GROUP):
            spec.delete(geom)
        else:
            geom.group = group


# Rigid joints


def add_joint(spec: mujoco.MjSpec, body: mujoco.MjsBody, joint: RigidJoint) -> None:
    """Add a joint to the body of a link, with a servo unless it mimics another joint."""
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
    """Set the gains of servos to one natural frequency with critical damping.

    A U(C)RDF has no gains, so the stiffness is computed from the inertia at the straight pose.

    Raises:
        BuildError: MuJoCo rejects the robot.
    """
    moving = [joint.name for joint in robot.joints if spec.actuator(joint.name)]
    if not moving:
        return
    model = compiled(spec, robot.name)
    for name in moving:
        inertia = float(model.dof_M0[model.joint(name).dofadr[0]])
        spec.actuator(name).set_to_position(kp=inertia * SERVO_RATE**2, dampratio=1.0)


def add_mimics(spec: mujoco.MjSpec, robot: Robot) -> None:
    """Couple joints to those that they mimic.

    Raises:
        BuildError: A joint mimics a fixed joint.
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


# Bendable segments


def add_bendable(
    spec: mujoco.MjSpec,
    parent: mujoco.MjsBody,
    part: Bendable,
    frame: Array,
    *,
    driven: bool = True,
) -> tuple[mujoco.MjsBody, Array]:
    """Add a bendable segment to a body.

    Args:
        spec: The model to extend.
        parent: Body that carries it.
        part: The segment.
        frame: Base of the segment in the parent frame, (4, 4).
        driven: Whether to add its actuators, in their order.

    Returns:
        The body of its last cell, and the end of the segment in the frame of that body, (4, 4).

    Raises:
        BuildError: It has no stiffness, or an inertia that no body can have.

    Warns:
        SoftgraspWarning: It has no mass.
    """
    _check_stiffness(part)
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


def _check_stiffness(part: Bendable) -> None:
    """Reject a segment with a zero bending, axial or torsion stiffness."""
    backbone = part.backbone
    if not backbone.bending_stiffness:
        raise BuildError(
            f"bendable '{part.name}': expected a bending_stiffness above 0 to simulate it, found "
            f"{backbone.bending_stiffness}"
        )
    for name in ("axial_stiffness", "torsion_stiffness"):
        if getattr(backbone, name) == 0.0:
            raise BuildError(
                f"bendable '{part.name}': expected {name} above 0, or none for a rigid segment, "
                "found 0"
            )


def _mass(part: Bendable) -> float:
    """Return the mass of a bendable segment, with a warning where it has none."""
    if part.inertial is not None:
        return part.inertial.mass
    warnings.warn(
        f"bendable '{part.name}': expected a mass, found none; it gets {MIN_CELL_MASS:g} kg",
        SoftgraspWarning,
        stacklevel=2,
    )
    return MIN_CELL_MASS


def cell_inertias(
    part: Bendable, mass: float, lengths: Sequence[float]
) -> list[tuple[float, Array]]:
    """Compute mass [kg] and central inertia (3, 3) [kg·m²] of every cell, base first.

    The mass is uniform along the segment. Without a described inertia the segment is a uniform
    cylinder. With one, the cells have parts of it such that the straight segment has it about its
    middle, after subtraction of the parallel axis terms.

    Args:
        part: The segment.
        mass: Mass of the whole segment [kg].
        lengths: Lengths of the cells [m], with the length of the segment as sum.

    Raises:
        BuildError: The inertia is smaller than the parallel axis terms, or no body can have it.
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
    rotation = rotation_from_euler(part.inertial.origin.rpy)
    described = np.asarray(rotation @ inertia_tensor(part.inertial.inertia) @ rotation.T)
    rest = described - apart * np.diag([1.0, 1.0, 0.0])
    moments = np.linalg.eigvalsh(rest)
    if moments[0] <= 0.0 or moments[2] > moments[0] + moments[1]:
        raise BuildError(
            f"bendable '{part.name}': expected an inertia about its middle that a body of its "
            f"length and mass can have, found {part.inertial.inertia}; without one it is that of "
            "a uniform cylinder"
        )
    return [(cell_mass, cell_mass / mass * rest) for cell_mass in masses.tolist()]


def _set_pose(body: mujoco.MjsBody, frame: Array) -> None:
    """Set the pose of a body."""
    quaternion = np.zeros(4)
    mujoco.mju_mat2Quat(quaternion, frame[:3, :3].ravel())
    body.pos, body.quat = frame[:3, 3], quaternion


def _fill(
    body: mujoco.MjsBody, part: Bendable, begin: float, length: float, inertia: tuple[float, Array]
) -> None:
    """Add inertia and geoms of one cell, which extends from the body origin along z."""
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
    """Add the discs within one cell."""
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
    """Add the slide, twist and bending joints of one cell."""
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


# Actuators of segments


def add_segment_actuators(spec: mujoco.MjSpec, part: Bendable) -> None:
    """Add fixed tendons of length l − r (u cos α + v sin α), or of the bending angles."""
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
    """Set gain and range: a chamber pushes with pressure · area, a tendon pulls."""
    actuator.ctrllimited = True
    if isinstance(actuator_part, Chamber):
        actuator.gainprm[0] = actuator_part.area
        high = UNLIMITED if actuator_part.pressure_max is None else actuator_part.pressure_max
        actuator.ctrlrange = [
            actuator_part.pressure_min,
            max(high, actuator_part.pressure_min + LOCKED_PRESSURE),
        ]
    else:
        actuator.gainprm[0] = -1.0
        actuator.ctrlrange = [0.0, UNLIMITED]


# Names of joints and actuators of segments


def bend_joints(part: Bendable) -> list[tuple[str, tuple[float, float]]]:
    """Return the bending joints with the components of their angles towards x and y."""
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
    """Return the axial slide joints; none without an axial stiffness."""
    return [f"{part.name}_S{k}" for k in cell_numbers(part) if part.backbone.axial_stiffness]


def twist_joints(part: Bendable) -> list[str]:
    """Return the torsion joints; none without a torsion stiffness."""
    return [f"{part.name}_T{k}" for k in cell_numbers(part) if part.backbone.torsion_stiffness]


def segment_actuator_names(part: Bendable) -> list[str]:
    """Return the names of tendons and actuators: actuation elements, else bending moments."""
    if part.actuation:
        return [
            f"{part.name}_{actuator.type}{k}" for k, actuator in enumerate(part.actuation, start=1)
        ]
    return [f"{part.name}_bend"] if part.planar else [f"{part.name}_u", f"{part.name}_v"]


def cell_numbers(part: Bendable) -> range:
    """Return the numbers of the cells with joints, without the half cell 0 at the base."""
    return range(1, part.backbone.links + 1)
