"""A soft finger → bodies, hinges and springs of an MjSpec."""

from __future__ import annotations

from collections.abc import Sequence

import mujoco
import numpy as np
import numpy.typing as npt
from scipy.interpolate import PchipInterpolator

from softgrasp.description.geometry import Pose
from softgrasp.description.scene import STANDARD_GRAVITY
from softgrasp.description.soft_finger import (
    Freedom,
    MountedSoftFinger,
    SoftFinger,
    SoftJoint,
    SoftLink,
)
from softgrasp.mechanics.actuation import actuation_forces
from softgrasp.mechanics.transforms import Array
from softgrasp.model import names
from softgrasp.model.compile import compiled
from softgrasp.model.shapes import SKINNED_GROUP, set_inertia
from softgrasp.model.visual import SILICONE_RGBA, Rgba

# --------------------
# Soft fingers of a hand: the chain, the pressure that bends it, and its looks.


LOCKED = 1e-3
"""Width [Pa] of the range of a pressure that cannot change: MuJoCo refuses an empty one."""


def add_soft_digit(
    spec: mujoco.MjSpec, base: mujoco.MjsBody, digit: MountedSoftFinger
) -> list[str]:
    """Add a soft finger to a hand's base and return the bodies that can touch.

    Its pressure [Pa] is one actuator, called as the finger: through a fixed tendon it puts the
    moment gain · pressure on every joint (paper 000, eq 2), and the force area · pressure on those
    that stretch.
    """
    finger = digit.finger
    bodies = [names.soft_link(digit.name, index) for index in range(len(finger.links))]
    joints = names.soft_joint_names(digit)
    rgba = digit.rgba or SILICONE_RGBA
    add_soft_finger(base, finger, digit.base, bodies, joints, names.tip_site(digit.name), rgba)
    for body in bodies:
        spec.geom(body).group = SKINNED_GROUP
    add_finger_skin(spec, digit.name, finger, bodies, rgba)
    per_pascal = actuation_forces(finger, pressure=1.0).tolist()
    _add_pressure(spec, digit, dict(zip(joints, per_pascal, strict=True)))
    return bodies


def _add_pressure(spec: mujoco.MjSpec, digit: MountedSoftFinger, gains: dict[str, float]) -> None:
    name = digit.as_actuator.name
    tendon = spec.add_tendon(name=name)
    for joint, gain in gains.items():
        if gain:
            tendon.wrap_joint(joint, gain)
    low, high = digit.limits
    actuator = spec.add_actuator(
        name=name,
        target=name,
        trntype=mujoco.mjtTrn.mjTRN_TENDON,
        ctrlrange=[low, max(high, low + LOCKED)],
        ctrllimited=True,
    )
    actuator.set_to_motor()


# --------------------
# A smooth skin over the rigid links of a soft finger: what it looks like, with no say in physics.
#
# Rings around the finger follow the boxes of its links. Every point is carried by up to three
# links
# with weights that are quadratic B-splines over the joints: equal bends make the skin an arc.


Faces = npt.NDArray[np.int64]

RINGS, SIDES = 8, 24
"""Rings between two joints, and corners of a ring."""
SQUARE, ROUND = 4.0, 2.5
"""Exponents of the sections, which are superellipses, of a planar and of a spatial finger."""
RIPPLE_OF_CELL, RIPPLE_OF_HEIGHT = 0.22, 0.12
"""Greatest depth of the folds over the distance between joints, and over the height."""
BASE_ROUNDING = 0.12
"""Rounding of the base over the least half width; the tip is round altogether."""
CAP_RINGS = 6
MAX_CAP_FRACTION = 0.3
"""Longest cap over the finger's length."""
MIN_CELL_FRACTION = 1e-3
"""A joint at the very end of a finger still bends this part of its length."""


def add_finger_skin(
    spec: mujoco.MjSpec,
    name: str,
    finger: SoftFinger,
    bodies: Sequence[str],
    rgba: Rgba,
    *,
    ripple: bool = True,
) -> None:
    """Cover the links of a finger with one skin.

    Their geoms still touch; in ``SKINNED_GROUP`` renderers do not show them.

    Args:
        spec: The model that has the finger; changed in place.
        name: Name of the skin.
        finger: The finger.
        bodies: The bodies of its links; in the straight finger the frame of the first is the
            finger's base frame, and that of every other stands at its joint, turned alike.
        rgba: Colour.
        ripple: Whether the upper side of a planar finger has the folds of a bellows, one a joint.
    """
    vertices, faces = finger_surface(finger, ripple=ripple)
    weights = link_weights(vertices[:, 0], _cell_ends(finger))
    carried = [np.flatnonzero(column) for column in weights.T]
    origins = [(0.0, 0.0, 0.0), *(joint.position for joint in finger.joints)]
    spec.add_skin(
        name=name,
        rgba=rgba,
        vert=vertices.ravel().tolist(),
        face=faces.ravel().tolist(),
        bodyname=list(bodies),
        bindpos=np.ravel(origins).tolist(),
        bindquat=[1.0, 0.0, 0.0, 0.0] * len(bodies),
        vertid=[influences.tolist() for influences in carried],
        vertweight=[weights[influences, link].tolist() for link, influences in enumerate(carried)],
    )


def finger_surface(finger: SoftFinger, *, ripple: bool = True) -> tuple[Array, Faces]:
    """The closed surface of a straight finger.

    Args:
        finger: The finger.
        ripple: Whether a planar finger has folds on its upper side.

    Returns:
        Vertices in the base frame [m], shape (n, 3), and triangles, counterclockwise from
        outside, shape (m, 3).
    """
    ends = _cell_ends(finger)
    section = _Section(finger, ends)
    positions, scale = _stations(ends, section)
    low, high = section.at(positions)
    middle, half = 0.5 * (low + high), 0.5 * (high - low)
    unit = _superellipse(SQUARE if finger.planar else ROUND)
    across = middle[:, None] + scale[:, None, None] * half[:, None] * unit
    if ripple and finger.planar:
        depth = scale * section.folds(positions)
        across[..., 1] -= depth[:, None] * unit[:, 1].clip(0.0) ** 2
    rings = np.column_stack([np.repeat(positions, SIDES), across.reshape(-1, 2)])
    poles = np.column_stack([ends[[0, -1]], middle[[0, -1]]])
    return np.concatenate([rings, poles]), _faces(len(positions))


def link_weights(positions: Array, ends: Array) -> Array:
    """How much every link carries of a point of the skin.

    The weight passes from a link to the next with the integral of a hat that reaches from joint to
    joint. To first order the skin then has the curvature of the hats, each as large as its joint
    bends: between equal bends of equal cells it is constant.

    Args:
        positions: Of the points along the straight finger [m], shape (n,).
        ends: Start of the finger, its joints, and its end [m], shape (links + 1,).

    Returns:
        Weights from 0 to 1, each row with the sum 1, shape (n, links).
    """
    before, joint, after = ends[:-2], ends[1:-1], ends[2:]
    at = positions[:, None]
    rising = (at.clip(before, joint) - before) ** 2 / (joint - before)
    falling = (after - at.clip(joint, after)) ** 2 / (after - joint)
    passed = (rising + (after - joint) - falling) / (after - before)
    one = np.ones((len(positions), 1))
    return np.asarray(-np.diff(np.hstack([one, passed, 0.0 * one]), axis=1).clip(max=0.0))


class _Section:
    """The section along a straight finger, between the boxes of its links."""

    def __init__(self, finger: SoftFinger, ends: Array) -> None:
        centers = np.array([link.center[1:] for link in finger.links])
        halves = 0.5 * np.array([link.size[1:] for link in finger.links])
        self._middles = 0.5 * (ends[:-1] + ends[1:])
        self._joints, self._cells = ends[1:-1], np.diff(ends)
        # no overshoot: where neighbouring boxes are level the skin is
        edges = np.hstack([centers - halves, centers + halves])
        self._curve = PchipInterpolator(self._middles, edges)

    def at(self, positions: Array) -> tuple[Array, Array]:
        """Least and greatest (y, z) [m], each of shape (n, 2)."""
        edges = self._curve(positions.clip(self._middles[0], self._middles[-1]))
        return edges[:, :2], edges[:, 2:]

    def folds(self, positions: Array) -> Array:
        """How deep the folds of the bellows are [m], shape (n,): deepest at the joints."""
        low, high = self.at(self._joints)
        cell = np.minimum(self._cells[:-1], self._cells[1:])
        depth = np.minimum(RIPPLE_OF_CELL * cell, RIPPLE_OF_HEIGHT * (high - low)[:, 1])
        middles, joints = self._middles, self._joints
        nodes = np.concatenate([middles[:1], np.ravel([joints, middles[1:]], order="F")])
        phase = np.interp(positions, nodes, np.arange(len(nodes)))
        nearest = (0.5 * phase).astype(int).clip(max=len(joints) - 1)
        return np.asarray(depth[nearest] * np.sin(0.5 * np.pi * phase) ** 2)


def _cell_ends(finger: SoftFinger) -> Array:
    """Start of the finger, its joints, and its end along x [m], shape (links + 1,)."""
    first, last = finger.links[0], finger.links[-1]
    joints = np.array([joint.position[0] for joint in finger.joints])
    start, end = first.center[0] - 0.5 * first.size[0], last.center[0] + 0.5 * last.size[0]
    min_cell = MIN_CELL_FRACTION * (max(end, joints[-1]) - min(start, joints[0]))
    return np.array([min(start, joints[0] - min_cell), *joints, max(end, joints[-1] + min_cell)])


def _stations(ends: Array, section: _Section) -> tuple[Array, Array]:
    """Where the rings are along the finger [m], and their sizes over the section's; (n,) each."""
    start, end = ends[0], ends[-1]
    low, high = section.at(ends[[0, -1]])
    base, tip = np.minimum(0.5 * (high - low).min(axis=1), MAX_CAP_FRACTION * (end - start))
    base *= BASE_ROUNDING
    angle = 0.5 * np.pi * np.arange(1, CAP_RINGS + 1) / CAP_RINGS
    cells = np.arange(0, RINGS * (len(ends) - 1)) / RINGS
    between = np.interp(cells, np.arange(len(ends)), ends)
    between = between[(between > start + base) & (between < end - tip)]
    cap = 1.0 - np.cos(angle)
    positions = np.concatenate([start + base * cap, between, end - (tip * cap)[::-1]])
    scale = np.concatenate([np.sin(angle), np.ones(len(between)), np.sin(angle)[::-1]])
    return positions, scale


def _superellipse(exponent: float) -> Array:
    """Corners (y, z) of a ring in a square from −1 to 1, shape (SIDES, 2)."""
    angle = 2.0 * np.pi * (np.arange(SIDES) + 0.5) / SIDES
    circle = np.column_stack([np.cos(angle), np.sin(angle)])
    return np.asarray(np.sign(circle) * np.abs(circle) ** (2.0 / exponent))


def _faces(rings: int) -> Faces:
    """Triangles between neighbouring rings, and from the first and last one to their poles."""
    here = np.arange(rings * SIDES).reshape(rings, SIDES)
    beside = np.roll(here, -1, axis=1)
    a, b, c, d = here[:-1], beside[:-1], here[1:], beside[1:]
    sides = np.stack([np.stack([a, b, c], -1), np.stack([b, d, c], -1)], axis=2).reshape(-1, 3)
    base, tip = np.full(SIDES, rings * SIDES), np.full(SIDES, rings * SIDES + 1)
    first = np.column_stack([base, beside[0], here[0]])
    last = np.column_stack([tip, here[-1], beside[-1]])
    return np.concatenate([sides, first, last])


# --------------------
# The benches on which a soft finger is measured, as scenes: dead weight, release, tip force.
#
# The finger lies level, clamped at the origin, along +x. Each is an ``MjSpec`` to look at, to
# change
# or to step; calibration itself solves the same statics in closed form.


WEIGHT, PLATE, PLATE_FORCE, TIP_BALL = "weight", "plate", "plate_force", "tip_ball"
BALL = 1e-3
"""Radius of the ball at the tip that touches the plate [m]."""
STEP = 1e-4
"""Time step with which the tip comes to rest on the plate [s]."""
STICKING = 1e3
"""Impedance of friction over that of the normal force; see docs/decisions/0006."""
SMALL = 1e-6
"""Moment of inertia of a weight over its mass [m²]."""


def dead_weight_rig(finger: SoftFinger, mass: float) -> mujoco.MjSpec:
    """The finger with a weight at its tip; without one (0 kg) after its release.

    Args:
        finger: The finger.
        mass: [kg]
    """
    spec = finger_spec(finger)
    spec.option.gravity = list(STANDARD_GRAVITY)
    spec.add_sensor(
        name="tip_position",
        type=mujoco.mjtSensor.mjSENS_FRAMEPOS,
        objtype=mujoco.mjtObj.mjOBJ_SITE,
        objname=TIP,
    )
    if mass > 0.0:
        last = spec.body(f"link{len(finger.joints)}")
        weight = last.add_body(name=WEIGHT, pos=spec.site(TIP).pos)
        set_inertia(weight, mass, np.eye(3) * mass * SMALL, (0.0, 0.0, 0.0))
    return spec


def tip_force_rig(
    finger: SoftFinger,
    plate_height: float,
    *,
    friction: float = 0.0,
    stiffness: float = 1e4,
    damping: float = 20.0,
) -> mujoco.MjSpec:
    """The finger over a level plate with a force sensor, and a motor in every joint.

    Args:
        finger: The finger.
        plate_height: Of the plate's upper side below a ball at the tip [m].
        friction: Between the ball and the plate [–].
        stiffness: Of the contact [N/m]; MuJoCo takes it per mass of the last link.
        damping: Of the contact [N·s/m].
    """
    spec = dead_weight_rig(finger, 0.0)
    last = spec.body(f"link{len(finger.joints)}")
    last.add_geom(
        name=TIP_BALL,
        type=mujoco.mjtGeom.mjGEOM_SPHERE,
        pos=spec.site(TIP).pos,
        size=[BALL, 0.0, 0.0],
        mass=0.0,
        contype=0,
        conaffinity=0,
    )
    plate = spec.worldbody.add_body(name=PLATE, pos=[finger.tip[0], 0.0, plate_height - BALL])
    thick = 2.0 * BALL
    plate.add_geom(
        name=PLATE,
        type=mujoco.mjtGeom.mjGEOM_BOX,
        pos=[0.0, 0.0, -thick],
        size=[0.5 * finger.tip[0], finger.links[-1].size[1], thick],
        mass=0.0,  # the sensor tells no weight
        contype=0,
        conaffinity=0,
    )
    plate.add_site(name=PLATE)
    spec.add_sensor(
        name=PLATE_FORCE,
        type=mujoco.mjtSensor.mjSENS_FORCE,
        objtype=mujoco.mjtObj.mjOBJ_SITE,
        objname=PLATE,
    )
    scale = finger.links[-1].mass
    spec.add_pair(
        geomname1=TIP_BALL,
        geomname2=PLATE,
        condim=3 if friction > 0.0 else 1,
        friction=[friction, friction, 0.0, 0.0, 0.0],
        solref=[-stiffness / scale, -damping / scale],
        # friction as stiff as it goes, or the tip creeps until nothing is left of it
        solreffriction=[0.0, -0.1 * damping / scale],
        solimp=[0.9, 0.9, 1e-3, 0.5, 2.0],
    )
    spec.option.cone = mujoco.mjtCone.mjCONE_ELLIPTIC
    spec.option.impratio = STICKING if friction > 0.0 else 1.0
    spec.option.timestep = STEP
    for name in names.finger_joint_names(finger):
        motor = spec.add_actuator(name=name, target=name, trntype=mujoco.mjtTrn.mjTRN_JOINT)
        motor.set_to_motor()
    return spec


TIP = "tip"
MIN_MASS, MIN_INERTIA = 1e-12, 1e-14
"""MuJoCo refuses lighter bodies; a picogram bends no finger."""
AXES: dict[Freedom, tuple[float, float, float]] = {
    "stretch": (1.0, 0.0, 0.0),
    "twist": (1.0, 0.0, 0.0),
    "y": (0.0, 1.0, 0.0),
    "z": (0.0, 0.0, 1.0),
}
"""All ways of a joint go through one point; about y is towards −z."""


def finger_spec(finger: SoftFinger) -> mujoco.MjSpec:
    """The finger alone, clamped at the origin.

    Joints are called as ``names.finger_joint_names`` says.
    """
    spec = mujoco.MjSpec()
    spec.modelname = finger.name
    spec.compiler.degree = False
    spec.compiler.boundmass, spec.compiler.boundinertia = MIN_MASS, MIN_INERTIA
    spec.option.integrator = mujoco.mjtIntegrator.mjINT_IMPLICITFAST
    spec.option.disableflags |= mujoco.mjtDisableBit.mjDSBL_AUTORESET
    bodies = [f"link{index}" for index in range(len(finger.links))]
    joints = names.finger_joint_names(finger)
    add_soft_finger(spec.worldbody, finger, Pose(), bodies, joints, TIP)
    return spec


def add_soft_finger(
    parent: mujoco.MjsBody,
    finger: SoftFinger,
    pose: Pose,
    bodies: Sequence[str],
    joints: Sequence[str],
    tip: str,
    rgba: Rgba = SILICONE_RGBA,
) -> None:
    """Add a finger to a body.

    Args:
        parent: The body that carries it.
        finger: The finger.
        pose: Its base frame in the parent's frame.
        bodies: Names of its links, the clamped one first; their geoms have the same ones.
        joints: Names of its joints, as ``names.finger_joint_names`` orders them.
        tip: Name of the site at the tip.
        rgba: Colour in pictures.
    """
    body = parent.add_body(name=bodies[0], pos=list(pose.position), quat=list(pose.quaternion))
    _fill(body, finger.links[0], np.zeros(3), rgba)
    origin = np.zeros(3)
    named = list(zip(finger.freedoms, joints, strict=True))
    for index, (joint, link) in enumerate(zip(finger.joints, finger.links[1:], strict=True)):
        position = np.array(joint.position)
        body = body.add_body(name=bodies[index + 1], pos=position - origin)
        origin = position
        for (owner, freedom), name in named:
            if owner == index:
                _add_joint(body, joint, freedom, name)
        _fill(body, link, origin, rgba)
    body.add_site(name=tip, pos=np.array(finger.tip) - origin, size=[0.001] * 3, group=4)


def _add_joint(body: mujoco.MjsBody, joint: SoftJoint, freedom: Freedom, name: str) -> None:
    stiffness_by_freedom = {"stretch": joint.axial_stiffness, "twist": joint.torsion_stiffness}
    stiffness = stiffness_by_freedom.get(freedom) or joint.stiffness
    slides = freedom == "stretch"
    body.add_joint(
        name=name,
        type=mujoco.mjtJoint.mjJNT_SLIDE if slides else mujoco.mjtJoint.mjJNT_HINGE,
        axis=AXES[freedom],
        stiffness=[stiffness, 0.0, 0.0],
        # dividing last keeps the bending's own number
        damping=[joint.damping * stiffness / joint.stiffness, 0.0, 0.0],
    )


def finger_model(finger: SoftFinger) -> mujoco.MjModel:
    """The finger alone as a compiled model; see ``finger_spec``.

    Raises:
        BuildError: MuJoCo refuses it.
    """
    return compiled(finger_spec(finger), finger.name)


def _fill(body: mujoco.MjsBody, link: SoftLink, origin: Array, rgba: Rgba) -> None:
    center = np.array(link.center) - origin
    squares = np.array(link.size) ** 2
    body.explicitinertial = True
    body.mass = link.mass
    body.ipos = np.array(link.balance) - origin
    body.inertia = link.mass * (squares.sum() - squares) / 12.0
    body.add_geom(
        name=body.name,
        type=mujoco.mjtGeom.mjGEOM_BOX,
        pos=center,
        size=0.5 * np.array(link.size),
        contype=0,
        conaffinity=0,
        rgba=rgba,
    )
