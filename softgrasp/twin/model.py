"""MuJoCo models of a twin: fingers as chains of rigid links, and bodies for display.

``twin_chain`` models the fingers on a flange with prescribed motion. Joints are in the middle of
their links (decision 0009), so that a chain ends where its arc does to second order. Joint
servos have the stiffness of the finger, n·EI/ℓ for n links of a piece of length ℓ, and their
targets are the bending angles at a pressure. ``TwinModel`` draws arm, flange, gripper and
fingers without physics.
"""

from __future__ import annotations

from typing import Any

import mujoco
import numpy as np
from scipy.spatial.transform import Rotation

from softgrasp.continuum.pcc import chain_frames
from softgrasp.description import Pose
from softgrasp.mechanics import Array, forward_kinematics, position_of, quaternion_of, transform
from softgrasp.model import VISUAL_GROUP, add_arm, compiled, visual
from softgrasp.twin.description import Twin, TwinDynamics
from softgrasp.twin.finger_pieces import TwinShape, roots_in_flange

FLANGE = "flange"
AXES = {"u": (0.0, 1.0, 0.0), "v": (-1.0, 0.0, 0.0)}
"""Axes of rotation that bend towards x, and towards y."""
CELLS = 6
"""Straight cells per arc."""
FLANGE_RADIUS, FLANGE_THICKNESS = 0.03, 0.008
"""Size of the plate at the flange [m]."""
SEEN: dict[str, Any] = {"group": VISUAL_GROUP, "contype": 0, "conaffinity": 0}
"""Options of geoms for display only."""
FLOOR = -0.02
"""Height of the floor below the robot's base [m]."""

# Dynamics


def twin_chain(twin: Twin, dynamics: TwinDynamics) -> mujoco.MjModel:
    """Compile the chains; controls are joint angles in the order of ``chain_targets``.

    Args:
        twin: Digital twin.
        dynamics: Mass and stiffness of its fingers.

    Raises:
        BuildError: MuJoCo refuses it.
    """
    spec = mujoco.MjSpec()
    spec.compiler.degree = False
    spec.option.timestep = dynamics.timestep
    spec.option.integrator = mujoco.mjtIntegrator.mjINT_IMPLICITFAST
    flange = spec.worldbody.add_body(name=FLANGE, mocap=True)
    for finger, root in enumerate(roots_in_flange(twin.gripper)):
        base = flange.add_body(
            name=f"finger{finger + 1}", pos=position_of(root), quat=quaternion_of(root)
        )
        _add_finger(spec, base, twin, dynamics, f"finger{finger + 1}")
    return compiled(spec, f"twin '{twin.name}'")


def _add_finger(
    spec: mujoco.MjSpec, base: mujoco.MjsBody, twin: Twin, dynamics: TwinDynamics, name: str
) -> None:
    whole, body, rest = sum(twin.finger.lengths), base, 0.0
    for piece, length in enumerate(twin.finger.lengths):
        cell = length / dynamics.links
        stiffness = dynamics.bending_stiffness / cell
        for link in range(dynamics.links):
            # behind a joint: half of its cell, and half of the next one
            end = _behind(twin, dynamics, piece, link)
            label = f"{name}_{piece * dynamics.links + link + 1}"
            body = body.add_body(name=label, pos=[0.0, 0.0, rest + 0.5 * cell])
            _add_link(body, twin.finger_radius, end, dynamics.mass * end / whole)
            # rotations about two axes do not commute: alternate their order from link to link
            for axis in list(AXES)[:: -1 if link % 2 else 1]:
                _add_joint(body, f"{label}_{axis}", AXES[axis], stiffness * dynamics.damping_time)
            for axis in AXES:  # controls have the order of these calls
                servo: dict[str, Any] = {"trntype": mujoco.mjtTrn.mjTRN_JOINT}
                servo["target"] = joint = f"{label}_{axis}"
                spec.add_actuator(name=joint, **servo).set_to_position(kp=stiffness)
            rest = 0.5 * cell
    body.add_site(name=f"{name}_tip", pos=[0.0, 0.0, rest])


def _behind(twin: Twin, dynamics: TwinDynamics, piece: int, link: int) -> float:
    """Return the length of the rigid link after a joint [m]."""
    lengths = twin.finger.lengths
    half = 0.5 * lengths[piece] / dynamics.links
    if link < dynamics.links - 1:
        return 2.0 * half
    last = piece == len(lengths) - 1
    return half if last else half + 0.5 * lengths[piece + 1] / dynamics.links


def _add_link(body: mujoco.MjsBody, radius: float, length: float, mass: float) -> None:
    body.add_geom(
        type=mujoco.mjtGeom.mjGEOM_CYLINDER,
        size=[radius, 0.5 * length, 0.0],
        pos=[0.0, 0.0, 0.5 * length],
        mass=mass,
        contype=0,
        conaffinity=0,
    )


def _add_joint(
    body: mujoco.MjsBody, name: str, axis: tuple[float, float, float], damping: float
) -> None:
    body.add_joint(
        name=name,
        type=mujoco.mjtJoint.mjJNT_HINGE,
        axis=axis,
        damping=damping,
        limited=False,
    )


# Display


class TwinModel:
    """Bodies of a twin in a compiled MuJoCo model that is used for kinematics only.

    Args:
        twin: Digital twin.
    """

    def __init__(self, twin: Twin) -> None:
        self.twin = twin
        spec = mujoco.MjSpec()
        spec.compiler.degree = False
        if twin.arm is not None:
            _add_arm(spec, twin)
        _add_flange(spec, twin)
        for finger in range(len(twin.gripper.fingers)):
            _add_twin_finger(spec, twin, finger)
        visual.add_visuals(spec, FLOOR)
        self.model = compiled(spec, f"twin '{twin.name}'")
        self.data = mujoco.MjData(self.model)
        count = CELLS * len(twin.finger.lengths)
        cells = [_cell(k, cell) for k in range(len(twin.gripper.fingers)) for cell in range(count)]
        self._moved = [int(self.model.body(name).mocapid[0]) for name in (FLANGE, *cells)]

    def pose(self, shape: TwinShape, joints: Array | None = None) -> mujoco.MjData:
        """Move all bodies; return MuJoCo data with kinematics, valid until the next call.

        Args:
            shape: Shape of the fingers.
            joints: Joint angles of the arm [rad]; None leaves it unchanged.
        """
        if joints is not None:
            self.data.qpos[:] = joints
        flange = shape.roots[0] @ np.linalg.inv(roots_in_flange(self.twin.gripper)[0])
        cells = _cell_frames(shape, np.array(self.twin.finger.lengths))
        fingers = (shape.roots[:, None] @ cells).reshape(-1, 4, 4)
        frames = np.concatenate([flange[None], fingers])
        quaternions = Rotation.from_matrix(frames[:, :3, :3]).as_quat(scalar_first=True)
        self.data.mocap_pos[self._moved] = frames[:, :3, 3]
        self.data.mocap_quat[self._moved] = quaternions
        mujoco.mj_kinematics(self.model, self.data)
        mujoco.mj_comPos(self.model, self.data)
        mujoco.mj_camlight(self.model, self.data)
        return self.data


def _add_arm(spec: mujoco.MjSpec, twin: Twin) -> None:
    """Add the arm with its base at the origin."""
    assert twin.arm is not None
    arm = twin.arm
    start = [row.start for row in arm.chain.phalanges]
    tool = transform(arm.tool.position, arm.tool.quaternion)
    hand = forward_kinematics(arm.chain, start)[-1] @ tool
    pose = Pose(position=position_of(hand), quaternion=quaternion_of(hand))
    add_arm(spec, arm, pose, "servo")


def _add_flange(spec: mujoco.MjSpec, twin: Twin) -> None:
    """Add the plate, the gripper's base, and a post to the root of each finger."""
    body = spec.worldbody.add_body(name=FLANGE, mocap=True)
    kinds = mujoco.mjtGeom
    half = 0.5 * FLANGE_THICKNESS
    base = transform(twin.gripper.mount.position, twin.gripper.mount.quaternion)
    for frame, rgba in ((np.eye(4), visual.PALM_RGBA), (base, visual.phalanx_rgba(1))):
        center = frame @ transform((0.0, 0.0, half))
        body.add_geom(
            type=kinds.mjGEOM_CYLINDER,
            size=[FLANGE_RADIUS, half, 0.0],
            pos=position_of(center),
            quat=quaternion_of(center),
            rgba=rgba,
            **SEEN,
        )
    hub = base @ transform((0.0, 0.0, half))
    for root in roots_in_flange(twin.gripper):
        ends = [*position_of(hub), *position_of(root)]
        if np.linalg.norm(np.subtract(ends[:3], ends[3:])) > FLANGE_THICKNESS:
            body.add_geom(
                type=kinds.mjGEOM_CAPSULE,
                fromto=ends,
                size=[0.55 * twin.finger_radius, 0.0, 0.0],
                rgba=visual.PALM_RGBA,
                **SEEN,
            )


def _add_twin_finger(spec: mujoco.MjSpec, twin: Twin, finger: int) -> None:
    for piece, length in enumerate(twin.finger.lengths):
        for cell in range(CELLS):
            body = spec.worldbody.add_body(name=_cell(finger, piece * CELLS + cell), mocap=True)
            body.add_geom(
                type=mujoco.mjtGeom.mjGEOM_CAPSULE,
                size=[twin.finger_radius, 0.5 * length / CELLS, 0.0],
                rgba=visual.SILICONE_RGBA if piece % 2 == 0 else (0.80, 0.75, 0.66, 1.0),
                **SEEN,
            )


def _cell(finger: int, number: int) -> str:
    return f"finger{finger + 1}_cell{number + 1}"


def _cell_frames(shape: TwinShape, lengths: Array) -> Array:
    """Return the middles of the cells in a finger's root frame, z along each, (cells, 4, 4)."""
    halves = np.ones(2 * CELLS)
    parts = zip(shape.frames[:-1], shape.curvatures, shape.planes, lengths, strict=True)
    return np.concatenate([
        start @ chain_frames(kappa * halves, phi * halves, 0.5 * length / CELLS * halves)[1::2]
        for start, kappa, phi, length in parts
    ])  # fmt: skip
