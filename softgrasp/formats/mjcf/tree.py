"""What moves in a model: the palm, and chains of joints that branch off from it."""

from __future__ import annotations

import itertools
import math
import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import mujoco
import numpy as np

from softgrasp.description.bendable import Inertial, Origin
from softgrasp.description.finger import Finger, Phalanx
from softgrasp.description.geometry import Pose
from softgrasp.formats.mjcf.attach import BOTH_GROUP, TOUCHED_GROUP
from softgrasp.formats.mjcf.read import BASE, MOVING
from softgrasp.mechanics.transforms import Array, position_of, quaternion_of, transform

FREE_ANGLE, FREE_TRAVEL = (-math.pi, math.pi), (-0.1, 0.1)
"""Range of a hinge [rad] and of a slide [m] that states none."""
WRIST = "wrist"


@dataclass
class Tree:
    """Bodies that hang rigidly together, as the compiled model has them."""

    model: mujoco.MjModel
    data: mujoco.MjData
    """All joints at zero."""
    palm: int = 0
    """First body of the group that the fingers branch off from; 0 where it is fixed."""
    children: dict[int, list[int]] = field(default_factory=lambda: defaultdict(list))
    """Groups on a group, by their first bodies."""
    members: dict[int, list[int]] = field(default_factory=lambda: defaultdict(list))
    """Bodies of each group."""

    def touching(self, group: int) -> list[str]:
        """Bodies of a group that can touch."""
        return [self.model.body(index).name for index in self.members[group] if self._can(index)]

    def _can(self, body: int) -> bool:
        first, count = int(self.model.body_geomadr[body]), int(self.model.body_geomnum[body])
        groups = self.model.geom_group[first : first + count]
        return bool(np.isin(groups, (BOTH_GROUP, TOUCHED_GROUP)).any()) if count else False

    def joints(self, group: int) -> list[int]:
        """Hinges and slides that move a group against the one that it is on."""
        first, count = int(self.model.body_jntadr[group]), int(self.model.body_jntnum[group])
        return [j for j in range(first, first + count) if int(self.model.jnt_type[j]) in MOVING]

    def below(self, group: int) -> list[int]:
        """A group and all that hang on it."""
        return [group, *(part for child in self.children[group] for part in self.below(child))]


def tree_of(model: mujoco.MjModel) -> Tree:
    """The groups of a model that hangs on the world."""
    tree = Tree(model, at_zero(model))
    for body in range(1, model.nbody):
        group = int(model.body_weldid[body])
        tree.members[group].append(body)
        if group == body:
            parent = int(model.body_weldid[model.body_parentid[body]])
            tree.children[parent].append(body)
    while len(tree.children[tree.palm]) == 1:
        (only,) = tree.children[tree.palm]
        if all(len(tree.children[group]) <= 1 for group in tree.below(only)):
            break
        tree.palm = only
    if tree.palm and len(tree.children[tree.palm]) < 2:
        tree.palm = 0
    return tree


def at_zero(model: mujoco.MjModel) -> mujoco.MjData:
    """The model with hinges and slides at zero."""
    data = mujoco.MjData(model)
    plain = np.isin(model.jnt_type, MOVING)
    data.qpos[model.jnt_qposadr[plain]] = 0.0
    mujoco.mj_kinematics(model, data)
    mujoco.mj_comPos(model, data)
    return data


def palm_name(tree: Tree) -> str:
    """The body that carries the fingers: the heaviest of its group."""
    members = tree.members[tree.palm]
    heaviest = max(members, key=lambda body: float(tree.model.body_mass[body]), default=0)
    return str(tree.model.body(heaviest).name) if members else BASE


def touching_bodies(tree: Tree) -> tuple[str, ...]:
    """All bodies that can touch, those of the palm first."""
    groups = [tree.palm, *(g for g in sorted(tree.members) if g != tree.palm)]
    return tuple(body for group in groups for body in tree.touching(group))


def fingers_of(
    tree: Tree, starts: Mapping[str, float], tips: Mapping[int, Array], driven: set[str]
) -> tuple[Finger, ...]:
    """The chains of a model as fingers of placed rows, in the frame of the file's world.

    Args:
        tree: The model.
        starts: Joint variables at the start, by name [rad or m].
        tips: The farthest point of each group that can touch, in the world with all joints at zero
            [m], by its first body.
        driven: Joints that a drive leads.
    """
    chains: list[tuple[list[int], str]] = []
    carry: list[int] = []
    group = tree.palm
    while group:
        carry.insert(0, group)
        group = int(tree.model.body_weldid[tree.model.body_parentid[group]])
    if carry:
        chains.append((carry, ""))
    on = _row_name(tree, carry[-1]) if carry else ""
    for child in tree.children[tree.palm]:
        _branch(tree, child, on, chains)
    names = _finger_names(tree, [chain for chain, _ in chains], bool(carry))
    return tuple(
        _finger(tree, chain, on, name, starts, tips, driven)
        for (chain, on), name in zip(chains, names, strict=True)
        if any(tree.joints(group) for group in chain)
    )


def _branch(tree: Tree, group: int, on: str, chains: list[tuple[list[int], str]]) -> None:
    """Follow a chain to where it branches or ends."""
    chain = [group]
    while len(tree.children[chain[-1]]) == 1:
        chain.append(tree.children[chain[-1]][0])
    chains.append((chain, on))
    moved = [part for part in chain if tree.joints(part)]
    below = _row_name(tree, moved[-1]) if moved else on
    for child in tree.children[chain[-1]]:
        _branch(tree, child, below, chains)


def _row_name(tree: Tree, group: int) -> str:
    return str(tree.model.body(group).name)


def _finger_names(tree: Tree, chains: list[list[int]], has_wrist: bool) -> list[str]:
    """What the bodies of a chain have in common, or the first body where that is not unique."""
    first = [str(tree.model.body(chain[0]).name) for chain in chains]
    common = []
    for chain, name in zip(chains, first, strict=True):
        bodies = [tree.model.body(b).name for g in chain for b in tree.members[g]]
        shared = re.sub(r"[\W_]+$", "", _beginning(bodies))
        common.append(shared if len(bodies) > 1 and len(shared) > 1 else name)
    if has_wrist:
        common[0] = WRIST
    return [
        name if common.count(name) == 1 else unique_name
        for name, unique_name in zip(common, first, strict=True)
    ]


def _beginning(names: Sequence[str]) -> str:
    """The letters with which all names begin."""
    first, last = min(names), max(names)
    same = itertools.takewhile(lambda pair: pair[0] == pair[1], zip(first, last, strict=False))
    return "".join(letter for letter, _ in same)


def _finger(
    tree: Tree,
    chain: Sequence[int],
    on: str,
    name: str,
    starts: Mapping[str, float],
    tips: Mapping[int, Array],
    driven: set[str],
) -> Finger:
    carry = np.eye(4) if not on else joint_frame(tree, tree.joints(tree.model.body(on).id)[-1])
    base = joint_frame(tree, next(j for group in chain for j in tree.joints(group)))
    stand = np.linalg.inv(carry) @ base
    rows, before = [], base
    for group in chain:
        joints = tree.joints(group)
        for joint in joints:
            frame = joint_frame(tree, joint)
            is_last = joint == joints[-1]
            rows.append(
                _row(tree, group if is_last else None, joint, np.linalg.inv(before) @ frame, starts)
            )
            before = frame
    rows = [row.replace(driven=row.joint_name in driven) for row in rows]
    last = next((group for group in reversed(chain) if group in tips), None)
    tip = (0.0, 0.0, 0.0)
    if last is not None:
        x, y, z = (np.linalg.inv(before) @ [*tips[last], 1.0])[:3].tolist()
        tip = (x, y, z)
    return Finger(
        name=name,
        base=Pose(position=position_of(stand), quaternion=quaternion_of(stand)),
        on=on,
        convention="placed",
        phalanges=tuple(rows),
        tip=tip,
        verbatim_names=True,
    )


def joint_frame(tree: Tree, joint: int) -> Array:
    """A frame at a joint that moves with it, z along its axis, all joints at zero, (4, 4)."""
    body = int(tree.model.jnt_bodyid[joint])
    rotation = tree.data.xmat[body].reshape(3, 3)
    axis = rotation.T @ tree.data.xaxis[joint]
    frame = np.eye(4)
    frame[:3, :3] = rotation @ rotation_from_z(axis)
    frame[:3, 3] = tree.data.xanchor[joint]
    return frame


def rotation_from_z(axis: Array) -> Array:
    """The shortest turn that takes z to a unit vector, (3, 3)."""
    x, y, z = axis.tolist()
    quaternion = (0.0, 1.0, 0.0, 0.0) if z < -1 + 1e-12 else (1.0 + z, -y, x, 0.0)
    return np.asarray(transform(quaternion=quaternion)[:3, :3])


def _row(
    tree: Tree, group: int | None, joint: int, origin: Array, starts: Mapping[str, float]
) -> Phalanx:
    """One joint; with the bodies behind it where no other joint comes before them."""
    model = tree.model
    name, dof = str(model.joint(joint).name), int(model.jnt_dofadr[joint])
    low, high = joint_range(model, joint)
    turning = int(model.jnt_type[joint]) == mujoco.mjtJoint.mjJNT_HINGE
    bodies = {} if group is None else {"bodies": tuple(_bodies_of_group(tree, group))}
    weight = {} if group is None else {"inertial": _inertial(tree, group, joint)}
    return Phalanx(
        name=f"{name}_link" if group is None else _row_name(tree, group),
        joint_name=name,
        joint="revolute" if turning else "prismatic",
        origin=Pose(position=position_of(origin), quaternion=quaternion_of(origin)),
        limits=(low, high),
        start=min(max(starts[name], low), high),
        damping=float(np.ravel(model.dof_damping[dof])[0]),
        stiffness=float(np.ravel(model.jnt_stiffness[joint])[0]),
        rest_angle=float(model.qpos_spring[model.jnt_qposadr[joint]]),
        friction_loss=float(model.dof_frictionloss[dof]),
        armature=float(model.dof_armature[dof]),
        **bodies,
        **weight,
    )


def joint_range(model: mujoco.MjModel, joint: int) -> tuple[float, float]:
    """Limits of a joint, or as far as anything turns where it has none [rad or m]."""
    turning = int(model.jnt_type[joint]) == mujoco.mjtJoint.mjJNT_HINGE
    if not model.jnt_limited[joint]:
        return FREE_ANGLE if turning else FREE_TRAVEL
    low, high = model.jnt_range[joint].tolist()
    return low, high


def _bodies_of_group(tree: Tree, group: int) -> list[str]:
    """Bodies of a phalanx; those of the palm are no phalanx."""
    return [] if group == tree.palm else tree.touching(group)


def _inertial(tree: Tree, group: int, joint: int) -> Inertial | None:
    """Mass and inertia of a group in the frame of its last joint."""
    model, data = tree.model, tree.data
    members = tree.members[group]
    masses = model.body_mass[members]
    total = float(masses.sum())
    if total <= 0.0:
        return None
    centre = masses @ data.xipos[members] / total
    inertia = np.zeros((3, 3))
    for body, mass in zip(members, masses, strict=True):
        rotated = data.ximat[body].reshape(3, 3)
        away = data.xipos[body] - centre
        inertia += rotated @ np.diag(model.body_inertia[body]) @ rotated.T
        inertia += mass * (away @ away * np.eye(3) - np.outer(away, away))
    frame = joint_frame(tree, joint)
    rotated = frame[:3, :3].T @ inertia @ frame[:3, :3]
    x, y, z = (frame[:3, :3].T @ (centre - frame[:3, 3])).tolist()
    ixx, iyy, izz, ixy, ixz, iyz = rotated[[0, 1, 2, 0, 0, 1], [0, 1, 2, 1, 2, 2]].tolist()
    return Inertial(
        mass=total, origin=Origin(xyz=(x, y, z)), inertia=(ixx, iyy, izz, ixy, ixz, iyz)
    )
