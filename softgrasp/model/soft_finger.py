"""Soft fingers in a model: links, hinges and springs, pressure, and a smooth skin.

The skin consists of rings around the boxes of the links. Every point is carried by up to three
links with weights that are quadratic B-splines over the joints, so that equal bending angles make
an arc. It has no effect on the physics.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence

import mujoco
import numpy as np
import numpy.typing as npt
import scipy

from softgrasp.description.geometry import Pose
from softgrasp.description.hand import Hand
from softgrasp.description.soft_finger import (
    Freedom,
    MountedSoftFinger,
    SoftFinger,
    SoftJoint,
    SoftLink,
)
from softgrasp.errors import SoftgraspWarning
from softgrasp.mechanics.actuation import actuation_forces
from softgrasp.mechanics.transforms import Array
from softgrasp.model import names
from softgrasp.model.compile import compiled
from softgrasp.model.shapes import SKINNED_GROUP
from softgrasp.model.visual import SILICONE_RGBA, Rgba

LOCKED = 1e-3
"""Width of the range of a constant pressure [Pa], as MuJoCo rejects empty ones."""
ROUNDING = 1e-9
"""Relative tolerance of a limit [–]."""
MIN_MASS, MIN_INERTIA = 1e-12, 1e-14
"""Smallest mass [kg] and inertia [kg·m²] that MuJoCo accepts; negligible for a finger."""
TIP = "tip"
"""Site at the tip of a finger without a hand."""
AXES: dict[Freedom, tuple[float, float, float]] = {
    "stretch": (1.0, 0.0, 0.0),
    "twist": (1.0, 0.0, 0.0),
    "y": (0.0, 1.0, 0.0),
    "z": (0.0, 0.0, 1.0),
}
"""Joint axes, all through one point; positive rotation about y is towards −z."""
RINGS, SIDES = 8, 24
"""Number of rings between two joints, and of corners of a ring."""
SQUARE, ROUND = 4.0, 2.5
"""Exponents of the superelliptic sections of a planar and of a spatial finger."""
RIPPLE_OF_CELL, RIPPLE_OF_HEIGHT = 0.22, 0.12
"""Maximum depth of the folds over the distance between joints, and over the height [–]."""
NEAR_TOP = 0.2
"""Mean height of the joints above the middle over half the height, above which folds are below."""
BASE_ROUNDING = 0.12
"""Rounding of the base over the smallest half width [–]; the tip is a full cap."""
CAP_RINGS = 6
"""Number of rings of a cap."""
MAX_CAP_FRACTION = 0.3
"""Maximum length of a cap over that of the finger [–]."""
MIN_CELL_FRACTION = 1e-3
"""Smallest length that a joint at an end bends, over that of the finger [–]."""
Faces = npt.NDArray[np.int64]

# Finger


def finger_model(finger: SoftFinger) -> mujoco.MjModel:
    """Compile a finger; see ``finger_spec``.

    Raises:
        BuildError: MuJoCo rejects it.
    """
    return compiled(finger_spec(finger), finger.name)


def finger_spec(finger: SoftFinger) -> mujoco.MjSpec:
    """Build the spec of a finger clamped at the origin, with joints of ``finger_joint_names``."""
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


def add_soft_digit(
    spec: mujoco.MjSpec, base: mujoco.MjsBody, digit: MountedSoftFinger
) -> list[str]:
    """Add a soft finger to the base of a hand and return the bodies that can touch.

    Its pressure [Pa] is one actuator with the name of the finger: through a fixed tendon it exerts
    the moment gain · pressure on every joint, and the force area · pressure on stretching ones.
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
    """Add the actuator of a pressure [Pa] with its gain on every joint."""
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
        parent: Body that carries it.
        finger: The finger.
        pose: Pose of its base frame in the parent frame.
        bodies: Names of its links and their geoms, the clamped one first.
        joints: Names of its joints, in the order of ``names.finger_joint_names``.
        tip: Name of the site at the tip.
        rgba: Colour.
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
    """Add the joint of one degree of freedom with its spring and damper."""
    stiffness, damping = _spring(joint, freedom)
    slides = freedom == "stretch"
    body.add_joint(
        name=name,
        type=mujoco.mjtJoint.mjJNT_SLIDE if slides else mujoco.mjtJoint.mjJNT_HINGE,
        axis=AXES[freedom],
        stiffness=[stiffness, 0.0, 0.0],
        damping=[damping, 0.0, 0.0],
    )


def _spring(joint: SoftJoint, freedom: Freedom) -> tuple[float, float]:
    """Return stiffness and damping of one degree of freedom."""
    stiffness_by_freedom = {"stretch": joint.axial_stiffness, "twist": joint.torsion_stiffness}
    stiffness = stiffness_by_freedom.get(freedom) or joint.stiffness
    # the division last keeps the damping of bending exact
    return stiffness, joint.damping * stiffness / joint.stiffness


def soft_springs(hand: Hand) -> dict[str, tuple[float, float]]:
    """Return stiffness K and damping D of every joint of the soft fingers of a hand, by name."""
    return {
        name: _spring(digit.finger.joints[index], freedom)
        for digit in hand.soft_fingers
        for (index, freedom), name in zip(
            digit.finger.freedoms, names.soft_joint_names(digit), strict=True
        )
    }


def damp_as_described(spec: mujoco.MjSpec, hand: Hand, timestep: float) -> None:
    """Set the damping of soft fingers so that an implicit step damps them as described.

    The ``discrete`` integrator takes the springs at the end of the step, K·(q + h·q̇), and so damps
    like D + h·K (decision 0010). h·K is subtracted as far as there is damping.

    Args:
        spec: Model with the hand and that integrator; changed in place.
        hand: The hand.
        timestep: h [s].
    """
    for name, (stiffness, damping) in soft_springs(hand).items():
        spec.joint(name).damping[0] = max(damping - timestep * stiffness, 0.0)


def warn_of_damping(hand: Hand, timestep: float) -> None:
    """Warn of joints of soft fingers that an implicit step damps by more than described.

    Args:
        hand: The hand.
        timestep: h [s].

    Warns:
        SoftgraspWarning: A joint has D < h·K.
    """
    springs = soft_springs(hand)
    over = {
        name: damping / stiffness
        for name, (stiffness, damping) in springs.items()
        if damping < timestep * stiffness * (1.0 - ROUNDING)
    }
    if not over:
        return
    worst = min(over, key=lambda name: over[name])
    stiffness, damping = springs[worst]
    remedy = f"a time step of at most D/K = {over[worst]:.3g} s, or " if damping else ""
    warnings.warn(
        f"timestep: {timestep:g} s damps {len(over)} of {len(springs)} joints of soft fingers by "
        f"more than described, most {worst} with {timestep * stiffness:.3g} instead of "
        f"{damping:.3g} N·m·s/rad; use {remedy}solver.integrator: implicitfast",
        SoftgraspWarning,
        stacklevel=3,
    )


def _fill(body: mujoco.MjsBody, link: SoftLink, origin: Array, rgba: Rgba) -> None:
    """Add inertia and box geom of a link."""
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


# Skin


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

    Their geoms still touch; renderers do not show geoms in ``SKINNED_GROUP``.

    Args:
        spec: The model that has the finger; changed in place.
        name: Name of the skin.
        finger: The finger.
        bodies: Bodies of its links. In the straight finger the frame of the first one is the base
            frame of the finger, and those of the others are at their joints, parallel to it.
        rgba: Colour.
        ripple: Whether a planar finger has a fold of a bellows at each joint.
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
    """Compute the closed surface of a straight finger.

    Args:
        finger: The finger.
        ripple: Whether a planar finger has folds, on the side away from its joints.

    Returns:
        Vertices, (n, 3) [m], base frame, and triangles, counterclockwise from outside, (m, 3).
    """
    ends = _cell_ends(finger)
    section = _Section(finger, ends)
    positions, scale = _stations(ends, section)
    low, high = section.at(positions)
    middle, half = 0.5 * (low + high), 0.5 * (high - low)
    unit = _superellipse(SQUARE if finger.planar else ROUND)
    across = middle[:, None] + scale[:, None, None] * half[:, None] * unit
    if ripple and finger.planar:
        depth, side = scale * section.folds(positions), _side_of_folds(finger, section)
        across[..., 1] -= side * depth[:, None] * (side * unit[:, 1]).clip(0.0) ** 2
    rings = np.column_stack([np.repeat(positions, SIDES), across.reshape(-1, 2)])
    poles = np.column_stack([ends[[0, -1]], middle[[0, -1]]])
    return np.concatenate([rings, poles]), _faces(len(positions))


def _side_of_folds(finger: SoftFinger, section: _Section) -> int:
    """Return 1 for folds on the upper side, −1 where the joints are near it and so in a floor."""
    joints = np.array([joint.position for joint in finger.joints])
    low, high = section.at(joints[:, 0])
    above = (joints[:, 2] - 0.5 * (low + high)[:, 1]) / (0.5 * (high - low)[:, 1])
    return -1 if above.mean() > NEAR_TOP else 1


def link_weights(positions: Array, ends: Array) -> Array:
    """Compute the weights of links for points of the skin.

    The weight passes from a link to the next with the integral of a hat function between joints. To
    first order the skin then has the curvature of the hats, scaled by the bending angles; between
    equal angles of equal cells it is constant.

    Args:
        positions: Positions of the points along the straight finger, (n,) [m].
        ends: Start of the finger, its joints, and its end, (links + 1,) [m].

    Returns:
        Weights from 0 to 1 with row sums 1, (n, links).
    """
    before, joint, after = ends[:-2], ends[1:-1], ends[2:]
    at = positions[:, None]
    rising = (at.clip(before, joint) - before) ** 2 / (joint - before)
    falling = (after - at.clip(joint, after)) ** 2 / (after - joint)
    passed = (rising + (after - joint) - falling) / (after - before)
    item = np.ones((len(positions), 1))
    return np.asarray(-np.diff(np.hstack([item, passed, 0.0 * item]), axis=1).clip(max=0.0))


def _cell_ends(finger: SoftFinger) -> Array:
    """Return start of the finger, its joints and its end along x, (links + 1,) [m]."""
    first, last = finger.links[0], finger.links[-1]
    joints = np.array([joint.position[0] for joint in finger.joints])
    start, end = first.center[0] - 0.5 * first.size[0], last.center[0] + 0.5 * last.size[0]
    min_cell = MIN_CELL_FRACTION * (max(end, joints[-1]) - min(start, joints[0]))
    return np.array([min(start, joints[0] - min_cell), *joints, max(end, joints[-1] + min_cell)])


class _Section:
    """Cross-section along a straight finger, interpolated between the boxes of its links."""

    def __init__(self, finger: SoftFinger, ends: Array) -> None:
        centers = np.array([link.center[1:] for link in finger.links])
        halves = 0.5 * np.array([link.size[1:] for link in finger.links])
        self._middles = 0.5 * (ends[:-1] + ends[1:])
        self._joints, self._cells = ends[1:-1], np.diff(ends)
        # no overshoot between equal boxes
        edges = np.hstack([centers - halves, centers + halves])
        self._curve = scipy.interpolate.PchipInterpolator(self._middles, edges)

    def at(self, positions: Array) -> tuple[Array, Array]:
        """Compute the smallest and largest (y, z), (n, 2) each [m]."""
        edges = self._curve(positions.clip(self._middles[0], self._middles[-1]))
        return edges[:, :2], edges[:, 2:]

    def folds(self, positions: Array) -> Array:
        """Compute the depth of the folds, largest at the joints, (n,) [m]."""
        low, high = self.at(self._joints)
        cell = np.minimum(self._cells[:-1], self._cells[1:])
        depth = np.minimum(RIPPLE_OF_CELL * cell, RIPPLE_OF_HEIGHT * (high - low)[:, 1])
        middles, joints = self._middles, self._joints
        nodes = np.concatenate([middles[:1], np.ravel([joints, middles[1:]], order="F")])
        phase = np.interp(positions, nodes, np.arange(len(nodes)))
        nearest = (0.5 * phase).astype(int).clip(max=len(joints) - 1)
        return np.asarray(depth[nearest] * np.sin(0.5 * np.pi * phase) ** 2)


def _stations(ends: Array, section: _Section) -> tuple[Array, Array]:
    """Compute positions of skin rings [m] and their relative sizes, (n,) each."""
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
    """Compute the corners (y, z) of a ring in a square from −1 to 1, (SIDES, 2)."""
    angle = 2.0 * np.pi * (np.arange(SIDES) + 0.5) / SIDES
    circle = np.column_stack([np.cos(angle), np.sin(angle)])
    return np.asarray(np.sign(circle) * np.abs(circle) ** (2.0 / exponent))


def _faces(rings: int) -> Faces:
    """Compute triangles between neighbouring rings, and from the end rings to their poles."""
    here = np.arange(rings * SIDES).reshape(rings, SIDES)
    neighbour = np.roll(here, -1, axis=1)
    a, b, c, d = here[:-1], neighbour[:-1], here[1:], neighbour[1:]
    sides = np.stack([np.stack([a, b, c], -1), np.stack([b, d, c], -1)], axis=2).reshape(-1, 3)
    base, tip = np.full(SIDES, rings * SIDES), np.full(SIDES, rings * SIDES + 1)
    first = np.column_stack([base, neighbour[0], here[0]])
    last = np.column_stack([tip, here[-1], neighbour[-1]])
    return np.concatenate([sides, first, last])
