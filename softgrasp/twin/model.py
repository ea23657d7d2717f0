"""MuJoCo models of a twin: fingers as chains of rigid links, and bodies for display.

``twin_chain`` models the fingers on a flange with prescribed motion. Joints are in the middle of
their links (decision 0009), so that a chain ends where its arc does to second order. Joint
servos have the stiffness of the finger, n·EI/ℓ for n links of a piece of length ℓ, and their
targets are the bending angles at a pressure. ``TwinModel`` draws arm, flange, gripper and
fingers without physics; ``TwinFingers`` simulates the chains between two cycles of the loop.
"""

from __future__ import annotations

import math
from typing import Any, Literal

import mujoco
import numpy as np
from scipy.spatial.transform import Rotation

from softgrasp.continuum.pcc import chain_frames
from softgrasp.description import Pose
from softgrasp.errors import DescriptionError
from softgrasp.mechanics import Array, forward_kinematics, position_of, quaternion_of, transform
from softgrasp.model import VISUAL_GROUP, add_arm, compiled, visual
from softgrasp.sim import has_diverged
from softgrasp.twin.description import Twin, TwinDynamics
from softgrasp.twin.piecewise_bending import TwinShape, roots_in_flange

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
            body.add_geom(
                type=mujoco.mjtGeom.mjGEOM_CYLINDER,
                size=[twin.finger_radius, 0.5 * end, 0.0],
                pos=[0.0, 0.0, 0.5 * end],
                mass=dynamics.mass * end / whole,
                contype=0,
                conaffinity=0,
            )
            # rotations about two axes do not commute: alternate their order from link to link
            for axis in list(AXES)[:: -1 if link % 2 else 1]:
                damper = {"damping": stiffness * dynamics.damping_time, "limited": False}
                hinge = mujoco.mjtJoint.mjJNT_HINGE
                body.add_joint(name=f"{label}_{axis}", type=hinge, axis=AXES[axis], **damper)
            for axis in AXES:  # controls have the order of these calls
                servo: dict[str, Any] = {"trntype": mujoco.mjtTrn.mjTRN_JOINT}
                servo["target"] = joint = f"{label}_{axis}"
                spec.add_actuator(name=joint, **servo).set_to_position(kp=stiffness)
            rest = 0.5 * cell
    body.add_site(name=f"{name}_tip", pos=[0.0, 0.0, rest])


def _behind(twin: Twin, dynamics: TwinDynamics, piece: int, link: int) -> float:
    """Return the length of the rigid link after a joint [m]."""
    lengths = (*twin.finger.lengths, 0.0)
    after = lengths[piece] if link < dynamics.links - 1 else lengths[piece + 1]
    return 0.5 * (lengths[piece] + after) / dynamics.links


# Display


class TwinModel:
    """Bodies of a twin in a compiled MuJoCo model that is used for kinematics only."""

    def __init__(self, twin: Twin) -> None:
        self.twin = twin
        spec = mujoco.MjSpec()
        spec.compiler.degree = False
        if (arm := twin.arm) is not None:
            start = [row.start for row in arm.chain.phalanges]
            tool = transform(arm.tool.position, arm.tool.quaternion)
            hand = forward_kinematics(arm.chain, start)[-1] @ tool
            pose = Pose(position=position_of(hand), quaternion=quaternion_of(hand))
            add_arm(spec, arm, pose, "servo")
        _add_flange(spec, twin)
        cells = [
            _add_cell(spec, twin, f"finger{finger}_cell{number + 1}", number // CELLS)
            for finger in range(1, len(twin.gripper.fingers) + 1)
            for number in range(CELLS * len(twin.finger.lengths))
        ]
        visual.add_visuals(spec, FLOOR)
        self.model = compiled(spec, f"twin '{twin.name}'")
        self.data = mujoco.MjData(self.model)
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


def _add_cell(spec: mujoco.MjSpec, twin: Twin, name: str, piece: int) -> str:
    """Add a straight cell of a finger's piece that is moved; return its name."""
    spec.worldbody.add_body(name=name, mocap=True).add_geom(
        type=mujoco.mjtGeom.mjGEOM_CAPSULE,
        size=[twin.finger_radius, 0.5 * twin.finger.lengths[piece] / CELLS, 0.0],
        rgba=visual.SILICONE_RGBA if piece % 2 == 0 else (0.80, 0.75, 0.66, 1.0),
        **SEEN,
    )
    return name


def _cell_frames(shape: TwinShape, lengths: Array) -> Array:
    """Return the middles of the cells in a finger's root frame, z along each, (cells, 4, 4)."""
    halves = np.ones(2 * CELLS)
    parts = zip(shape.frames[:-1], shape.curvatures, shape.planes, lengths, strict=True)
    return np.concatenate([
        start @ chain_frames(kappa * halves, phi * halves, 0.5 * length / CELLS * halves)[1::2]
        for start, kappa, phi, length in parts
    ])  # fmt: skip


# Fingers between two cycles of the control loop


LONGEST = 0.5
"""Longest simulated duration of a gap in the readings [s]."""


class TwinFingers:
    """Simulated fingers with mass and stiffness that follow the bending angles of a pressure.

    The flange is placed at the measured pose in every cycle: its orientation has an effect, its
    acceleration does not.

    Raises:
        DescriptionError: The twin has no dynamics.
        BuildError: MuJoCo refuses the model.
    """

    def __init__(self, twin: Twin) -> None:
        if twin.dynamics is None:
            raise DescriptionError(
                f"expected dynamics of twin '{twin.name}', found none", field="dynamics"
            )
        self.twin = twin
        self.model = twin_chain(twin, twin.dynamics)
        self.data = mujoco.MjData(self.model)
        self._links = twin.dynamics.links
        fingers = len(twin.gripper.fingers)
        self._tips = [self.model.site(f"finger{k + 1}_tip").id for k in range(fingers)]
        self._first_root = np.linalg.inv(roots_in_flange(twin.gripper)[0])
        self._mocap = int(self.model.body(FLANGE).mocapid[0])

    def advance(self, shape: TwinShape, seconds: float) -> Array:
        """Simulate a duration.

        Args:
            shape: Target shape of the fingers, and pose of the flange.
            seconds: Duration [s]; at most half a second is simulated.

        Returns:
            Tips in the robot's base frame [m], (k, 3); not finite where the motion diverged.
        """
        flange = shape.roots[0] @ self._first_root
        self.data.mocap_pos[self._mocap] = position_of(flange)
        self.data.mocap_quat[self._mocap] = quaternion_of(flange)
        targets = chain_targets(shape, self._links, self.twin.frame)
        self.data.ctrl[:] = np.tile(targets, len(self._tips))
        steps = max(1, math.ceil(min(seconds, LONGEST) / self.model.opt.timestep - 1e-9))
        mujoco.mj_step(self.model, self.data, steps)
        if has_diverged(self.data):
            return np.full((len(self._tips), 3), np.nan)
        mujoco.mj_kinematics(self.model, self.data)
        return np.array(self.data.site_xpos[self._tips])


def chain_targets(shape: TwinShape, links: int, frame: Literal["bishop", "webster"]) -> Array:
    """Return the target angles of one finger's joints, u and v of every link, (2·links·n,) [rad].

    Args:
        shape: Shape with n pieces.
        links: Links per piece.
        frame: Rotation of the end of a piece about its axis. The chain is not rotated, so the
            planes of ``webster`` add up from piece to piece.
    """
    planes = np.cumsum(shape.planes) if frame == "webster" else shape.planes
    towards = shape.angles[:, None] * np.stack([np.cos(planes), np.sin(planes)], axis=-1)
    return np.repeat(towards / links, links, axis=0).ravel()
