"""Kinematic tree of a compiled model: the palm, its chains of joints, and postures.

Bodies that are rigidly connected form a group, named by its first body. The palm is the first group
that carries several chains. ``fingers_of`` makes the chains fingers of placed joints; ``closed``
moves joints until all equality constraints (closed linkages, coupled joints) hold.
"""

from __future__ import annotations

import math
import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from os.path import commonprefix
from typing import Any

import mujoco
import numpy as np
from numpy.typing import NDArray

from softgrasp.description.bendable import Inertial, Origin
from softgrasp.description.finger import Finger, Phalanx
from softgrasp.io.mjcf.model import BASE, MOVING, is_hinge, touching_geoms
from softgrasp.io.object_parts import Weight
from softgrasp.mechanics.hand_kinematics import pose_of
from softgrasp.mechanics.robot_kinematics import inertia_moments
from softgrasp.mechanics.transforms import Array, transform, triple

FREE_ANGLE, FREE_TRAVEL = (-math.pi, math.pi), (-0.1, 0.1)
"""Range of a hinge [rad] and of a slide [m] without limits."""
WRIST = "wrist"
ITERATIONS, TOLERANCE = 30, 1e-10
LONGEST_STEP = 0.3
"""Largest change of a joint in one iteration [rad or m]."""


@dataclass
class MjcfTree:
    """Groups of rigidly connected bodies of a compiled model."""

    model: mujoco.MjModel
    data: mujoco.MjData
    """State with all joints at zero."""
    palm: int = 0
    """First body of the group that carries the fingers; 0 if it is fixed."""
    children: dict[int, list[int]] = field(default_factory=lambda: defaultdict(list))
    """Child groups of each group, by first bodies."""
    members: dict[int, list[int]] = field(default_factory=lambda: defaultdict(list))
    """Bodies of each group."""
    starts: Mapping[str, float] = field(default_factory=dict)
    """Joint variables at the start, by name [rad or m]."""
    tips: Mapping[int, Array] = field(default_factory=dict)
    """Farthest point of each group that can collide, in the world with all joints at zero [m], by
    its first body."""

    def touching(self, group: int) -> list[str]:
        """Names of the bodies of a group that can collide."""
        can_touch = {*self.model.geom_bodyid[touching_geoms(self.model)]}
        return [self.name(index) for index in self.members[group] if index in can_touch]

    def joints(self, group: int) -> list[int]:
        """Hinges and slides between a group and its parent."""
        first, count = int(self.model.body_jntadr[group]), int(self.model.body_jntnum[group])
        return [j for j in range(first, first + count) if int(self.model.jnt_type[j]) in MOVING]

    def below(self, group: int) -> list[int]:
        """Return a group and all its descendants."""
        return [group, *(part for child in self.children[group] for part in self.below(child))]

    def name(self, body: int) -> str:
        """Name of a body, or of a group by its first body."""
        return str(self.model.body(body).name)

    def in_world(self, body: int, points: Array) -> Array:
        """Transform points (n, 3) [m] of a body to the world, with all joints at zero."""
        return np.asarray(points @ self.data.xmat[body].reshape(3, 3).T + self.data.xpos[body])


def tree_of(model: mujoco.MjModel) -> MjcfTree:
    """Group the rigidly connected bodies of a model fixed to the world, and find its palm."""
    tree = MjcfTree(model, at_zero(model))
    for body in range(1, model.nbody):
        group = int(model.body_weldid[body])
        tree.members[group].append(body)
        if group == body:
            tree.children[int(model.body_weldid[model.body_parentid[body]])].append(body)
    while len(tree.children[tree.palm]) == 1:
        (only,) = tree.children[tree.palm]
        if all(len(tree.children[group]) <= 1 for group in tree.below(only)):
            break
        tree.palm = only
    if tree.palm and len(tree.children[tree.palm]) < 2:
        tree.palm = 0
    return tree


def at_zero(model: mujoco.MjModel) -> mujoco.MjData:
    """Return the state with all hinges and slides at zero."""
    data = mujoco.MjData(model)
    plain = np.isin(model.jnt_type, MOVING)
    data.qpos[model.jnt_qposadr[plain]] = 0.0
    mujoco.mj_kinematics(model, data)
    mujoco.mj_comPos(model, data)
    return data


def palm_name(tree: MjcfTree) -> str:
    """Name of the palm: the heaviest body of its group."""
    members = tree.members[tree.palm]
    heaviest = max(members, key=lambda body: float(tree.model.body_mass[body]), default=0)
    return tree.name(heaviest) if members else BASE


def touching_bodies(tree: MjcfTree) -> tuple[str, ...]:
    """Names of all bodies that can collide, those of the palm first."""
    groups = [tree.palm, *(g for g in sorted(tree.members) if g != tree.palm)]
    return tuple(body for group in groups for body in tree.touching(group))


def fingers_of(tree: MjcfTree, driven: set[str]) -> tuple[Finger, ...]:
    """Make fingers of placed phalanges from chains, in the world frame of the file."""
    chains: list[tuple[list[int], str]] = []
    carry: list[int] = []
    group = tree.palm
    while group:
        carry.insert(0, group)
        group = int(tree.model.body_weldid[tree.model.body_parentid[group]])
    if carry:
        chains.append((carry, ""))
    on = tree.name(carry[-1]) if carry else ""
    for child in tree.children[tree.palm]:
        _branch(tree, child, on, chains)
    names = _finger_names(tree, [chain for chain, _ in chains], bool(carry))
    return tuple(
        _finger(tree, chain, on, name, driven)
        for (chain, on), name in zip(chains, names, strict=True)
        if any(tree.joints(group) for group in chain)
    )


def closed(model: mujoco.MjModel, data: mujoco.MjData, held: NDArray[np.bool_]) -> bool:
    """Solve the equality constraints for the joints that are not ``held``, (nv,), by Gauss–Newton.

    Returns:
        Whether the constraints hold to 0.1 mm or mrad.
    """
    if not model.neq:
        mujoco.mj_kinematics(model, data)
        return True
    residual = np.zeros(0)
    for _ in range(ITERATIONS):
        mujoco.mj_fwdPosition(model, data)
        rows = data.efc_type == mujoco.mjtConstraint.mjCNSTR_EQUALITY
        residual = np.array(data.efc_pos[rows])
        if not len(residual) or np.abs(residual).max() < TOLERANCE:
            return True
        jacobian = _jacobian(model, data)[rows][:, ~held]
        correction = np.linalg.lstsq(jacobian, -residual, rcond=1e-8)[0]
        longest = max(np.abs(correction).max(initial=0.0), 1e-12)
        step = np.zeros(model.nv)
        step[~held] = correction * min(1.0, LONGEST_STEP / longest)
        mujoco.mj_integratePos(model, data.qpos, step, 1.0)
    mujoco.mj_kinematics(model, data)
    return bool(np.abs(residual).max(initial=0.0) < 1e-4)


def joint_frame(tree: MjcfTree, joint: int) -> Array:
    """Compute the frame at a joint, z along its axis, with all joints at zero, (4, 4)."""
    body = int(tree.model.jnt_bodyid[joint])
    rotation = tree.data.xmat[body].reshape(3, 3)
    axis = rotation.T @ tree.data.xaxis[joint]
    return frame_of(tree.data.xanchor[joint], rotation @ rotation_from_z(axis))


def joint_range(model: mujoco.MjModel, joint: int) -> tuple[float, float]:
    """Limits of a joint, or the default range without limits [rad or m]."""
    if not model.jnt_limited[joint]:
        return FREE_ANGLE if is_hinge(model, joint) else FREE_TRAVEL
    low, high = model.jnt_range[joint].tolist()
    return low, high


def rotation_from_z(axis: Array) -> Array:
    """Smallest rotation that takes z to a unit vector, (3, 3)."""
    x, y, z = axis.tolist()
    quaternion = (0.0, 1.0, 0.0, 0.0) if z < -1 + 1e-12 else (1.0 + z, -y, x, 0.0)
    return np.asarray(transform(quaternion=quaternion)[:3, :3])


# Chains
def _branch(tree: MjcfTree, group: int, on: str, chains: list[tuple[list[int], str]]) -> None:
    """Follow a chain of joints until it branches or ends; append it and its children."""
    chain = [group]
    while len(tree.children[chain[-1]]) == 1:
        chain.append(tree.children[chain[-1]][0])
    chains.append((chain, on))
    moved = [part for part in chain if tree.joints(part)]
    below = tree.name(moved[-1]) if moved else on
    for child in tree.children[chain[-1]]:
        _branch(tree, child, below, chains)


def _finger_names(tree: MjcfTree, chains: list[list[int]], has_wrist: bool) -> list[str]:
    """Common prefix of the body names of each chain, or the first body if that is not unique."""
    first = [tree.name(chain[0]) for chain in chains]
    common = []
    for chain, name in zip(chains, first, strict=True):
        bodies = [tree.name(b) for g in chain for b in tree.members[g]]
        shared = re.sub(r"[\W_]+$", "", commonprefix(bodies))  # noqa: RUF071 - of names
        common.append(shared if len(bodies) > 1 and len(shared) > 1 else name)
    if has_wrist:
        common[0] = WRIST
    return [n if common.count(n) == 1 else body for n, body in zip(common, first, strict=True)]


# Fingers
def _finger(tree: MjcfTree, chain: Sequence[int], on: str, name: str, driven: set[str]) -> Finger:
    carry = np.eye(4) if not on else joint_frame(tree, tree.joints(tree.model.body(on).id)[-1])
    base = joint_frame(tree, next(j for group in chain for j in tree.joints(group)))
    rows, before = [], base
    for group in chain:
        joints = tree.joints(group)
        for joint in joints:
            frame, owner = joint_frame(tree, joint), group if joint == joints[-1] else None
            row = _row(tree, owner, joint, np.linalg.inv(before) @ frame)
            rows.append(row.replace(driven=row.joint_name in driven))
            before = frame
    last = next((tree.tips[group] for group in reversed(chain) if group in tree.tips), None)
    tip = np.zeros(3) if last is None else (np.linalg.inv(before) @ [*last, 1.0])[:3]
    return Finger(
        name=name,
        base=pose_of(np.linalg.inv(carry) @ base),
        on=on,
        convention="placed",
        phalanges=tuple(rows),
        tip=triple(tip),
        verbatim_names=True,
    )


def _row(tree: MjcfTree, group: int | None, joint: int, origin: Array) -> Phalanx:
    """Make a phalanx of one joint, with the bodies of its group if it is the group's last."""
    model = tree.model
    name, dof = str(model.joint(joint).name), int(model.jnt_dofadr[joint])
    low, high = joint_range(model, joint)
    body: dict[str, Any] = {}
    if group is not None:
        body["bodies"] = () if group == tree.palm else tuple(tree.touching(group))
        weight = weight_of(model, tree.data, tree.members[group], joint_frame(tree, joint))
        if weight is not None and weight.inertia is not None:
            center, inertia = Origin(xyz=triple(weight.center)), inertia_moments(weight.inertia)
            body["inertial"] = Inertial(mass=weight.mass, origin=center, inertia=inertia)
    return Phalanx(
        name=f"{name}_link" if group is None else tree.name(group),
        joint_name=name,
        joint="revolute" if is_hinge(model, joint) else "prismatic",
        origin=pose_of(origin),
        limits=(low, high),
        start=min(max(tree.starts[name], low), high),
        damping=float(np.ravel(model.dof_damping[dof])[0]),
        stiffness=float(np.ravel(model.jnt_stiffness[joint])[0]),
        rest_angle=float(model.qpos_spring[model.jnt_qposadr[joint]]),
        friction_loss=float(model.dof_frictionloss[dof]),
        armature=float(model.dof_armature[dof]),
        **body,
    )


def weight_of(
    model: mujoco.MjModel, data: mujoco.MjData, bodies: Sequence[int], frame: Array
) -> Weight | None:
    """Combine the mass properties of bodies in a frame (4, 4) of the world; None without a mass."""
    masses = model.body_mass[bodies]
    total = float(masses.sum())
    if total <= 0.0:
        return None
    center = masses @ data.xipos[bodies] / total
    inertia = np.zeros((3, 3))
    for body, mass in zip(bodies, masses, strict=True):
        rotation, away = data.ximat[body].reshape(3, 3), data.xipos[body] - center
        inertia += rotation @ np.diag(model.body_inertia[body]) @ rotation.T
        inertia += mass * (away @ away * np.eye(3) - np.outer(away, away))
    axes = frame[:3, :3]
    return Weight(total, axes.T @ (center - frame[:3, 3]), axes.T @ inertia @ axes)


def frame_of(position: Array, rotation: Array) -> Array:
    """Return the frame (4, 4) of a position (3,) and the elements of a rotation matrix, (9,)."""
    frame = np.eye(4)
    frame[:3, :3], frame[:3, 3] = rotation.reshape(3, 3), position
    return frame


def _jacobian(model: mujoco.MjModel, data: mujoco.MjData) -> Array:
    """Jacobian of all constraints, (nefc, nv)."""
    if not mujoco.mj_isSparse(model):
        return np.array(data.efc_J).reshape(data.nefc, model.nv)
    dense = np.zeros((data.nefc, model.nv))
    mujoco.mju_sparse2dense(
        dense, data.efc_J, data.efc_J_rownnz, data.efc_J_rowadr, data.efc_J_colind
    )
    return dense
