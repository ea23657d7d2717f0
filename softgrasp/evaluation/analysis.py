"""Replay and analysis of a result: its model at any time, grasp matrix, hand Jacobian, measures.

``ReplayedResult`` rebuilds the model of a recorded run, for figures, videos, viewers and analysis.
``analysis_of`` reads the contacts of the recorded posture and evaluates them with ``quality``.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import mujoco
import numpy as np
from numpy.typing import NDArray

from softgrasp import quality
from softgrasp.description.arm import HandCarrier
from softgrasp.errors import DescriptionError, ResultError, SoftgraspWarning
from softgrasp.evaluation.quality_log import measures_of
from softgrasp.evaluation.result import GraspResult, column
from softgrasp.mechanics.hand_kinematics import forward_kinematics
from softgrasp.mechanics.transforms import Array, rotation_from_euler, transform
from softgrasp.model import names
from softgrasp.model.arm import arm_base, home_pose
from softgrasp.model.deformable import node_columns, node_positions
from softgrasp.model.effective_mass import actuator_moments, tendon_moments
from softgrasp.model.object import REMOVED, PlacedItem, arrange_items, find_removed_bodies
from softgrasp.model.scene import build
from softgrasp.model.timestep import as_resolved
from softgrasp.quality import Graspability
from softgrasp.sim.contacts import GraspContactReader, GraspContacts, object_reach

MAX_STATES = 6
"""Largest number of contacts for which all 3ⁿ states of potential grasp robustness are tried."""
MAX_SEARCHED = 10
"""Largest number of contacts for which a lower bound of it is searched for."""


@dataclass(frozen=True, eq=False)
class GraspAnalysis:
    """Matrices of a grasp at one time; n hard-finger contacts, m joints, world frame, SI."""

    time: float
    """Time of the control sample [s]."""
    points: Array
    """(n, 3) [m]"""
    normals: Array
    """Unit normals into the object, (n, 3)."""
    friction: Array
    """µ, (n,) [–]."""
    torsion: Array
    """Largest spinning moment over normal force, (n,) [m]."""
    bodies: NDArray[np.str_]
    """Bodies of the hand, (n,)."""
    center: Array
    """Centre of mass of the object, (3,) [m]."""
    torque_scale: float
    """Largest distance of the object's surface from it [m]."""
    joint_names: tuple[str, ...]
    """Independent joints of the hand, (m,)."""
    G: Array
    """Grasp matrix, (6, 3n): columns contact by contact (normal, t1, t2)."""
    J: Array
    """Hand Jacobian in the contact frames, (3n, m); followers move with their leaders."""
    joint_stiffness: Array
    """Stiffness of servos, springs and tendons, (m, m) [N·m/rad or N/m]."""
    contact_stiffness: float
    """K of every contact, taken along and across its normal [N/m]."""

    @cached_property
    def graspability(self) -> Graspability:
        """Internal forces, redundant motions, structural forces, and unobservable motions."""
        return quality.graspability(self.G, self.J)

    @cached_property
    def internal_forces(self) -> Array:
        """Contact forces without a net wrench on the object, orthonormal columns, (3n, i)."""
        return quality.internal_forces(self.G)

    @cached_property
    def stiffness(self) -> Array:
        """Grasp stiffness with joints and contacts in series, (6, 6) [N/m, N, N·m/rad].

        Raises:
            DescriptionError: A joint has neither servo nor spring, which leaves it free.
        """
        stiffness, joints = self.joint_stiffness, self.joint_names
        loose = [name for name, row in zip(joints, stiffness, strict=True) if not row.any()]
        if loose:
            raise DescriptionError(
                f"expected joints with a servo or a spring, found none in {', '.join(loose)}",
                field="joint_stiffness",
            )
        return quality.grasp_stiffness(self.G, self.contact_stiffness, self.J, stiffness)

    @cached_property
    def measures(self) -> dict[str, Any]:
        """Quality measures by the names of the functions of ``quality``, with conventions.

        Moments are divided by ``torque_scale``, also in the measures of the hand Jacobian
        (``distance_to_singularity``, ``manipulability_volume``, ``uniformity_of_transformation``).
        """
        values = measures_of(self.contacts)
        if not len(self.points):
            return values
        G = quality.grasp_matrix(
            self.points, self.normals, "hard", self.center, torque_scale=self.torque_scale
        )
        uniformity = quality.uniformity_of_transformation(G, self.J)  # JSON has no infinity
        values |= {
            "distance_to_singularity": quality.distance_to_singularity(G, self.J),
            "manipulability_volume": quality.manipulability_volume(G, self.J),
            "uniformity_of_transformation": uniformity if np.isfinite(uniformity) else None,
        }
        if (self.friction > 0.0).all() and np.ptp(self.friction) == 0.0:
            mu = float(self.friction[0])
            values["pcr"] = quality.pcr(G, mu)
            if len(self.points) <= MAX_STATES:
                values["pgr"] = quality.pgr(G, mu)
            elif len(self.points) <= MAX_SEARCHED:
                values["pgr_lower_bound"] = quality.grasp_robustness(G, mu, exact=False).value
        return values

    @property
    def contacts(self) -> dict[str, Any]:
        """Arguments of ``quality.epsilon`` and similar functions."""
        return {
            "points": self.points,
            "normals": self.normals,
            "mu": self.friction,
            "torsion": self.torsion,
            "torque_scale": self.torque_scale,
            "center": self.center,
        }


def analysis_of(
    result: GraspResult, time: float | None = None, *, per_body: bool = False
) -> GraspAnalysis:
    """Analyse the grasp of a result at one time, with the contacts that it has then.

    Contacts of bodies without a normal force on the object at that sample are left out.

    Args:
        result: The result.
        time: Time in the run [s], its end by default. The control sample at or before it is used.
        per_body: Whether the contacts of a body count as one, at their mean, as in SynGrasp; a
            face that touches has up to four.

    Raises:
        DescriptionError: The time is not in the run.
        ResultError: The object is deformable, or the run diverged.
    """
    if result.object_nodes is not None:
        raise ResultError("expected a rigid object to analyse its grasp, found a deformable one")
    replay = ReplayedResult(result)
    row = replay.row(_check(result, time))[0]
    when = float(result.time[row])
    model, data = replay.model, replay.pose(when)
    mujoco.mj_forward(model, data)  # moments of servos and tendons
    bodies = result.contact_bodies.tolist()
    reader = GraspContactReader(model, bodies)
    contacts = reader.read(data).of_bodies(_forces(result)[row] > 0.0)
    contacts = _one_per_body(contacts) if per_body else contacts
    hand_joints = names.joint_names(result.scene.hand)
    joints, follow = _independent(result, hand_joints)
    dofs = [int(model.joint(name).dofadr[0]) for name in hand_joints]
    center = data.xipos[reader.object_body].copy()
    touching = np.array(bodies)[contacts.body]
    jacobian = _point_jacobians(model, data, touching.tolist(), contacts.points)[:, :, dofs]
    empty = len(contacts.points) == 0
    return GraspAnalysis(
        time=when,
        points=contacts.points,
        normals=contacts.normals,
        friction=contacts.friction,
        torsion=contacts.torsion,
        bodies=touching,
        center=center,
        torque_scale=object_reach(model),
        joint_names=joints,
        G=np.zeros((6, 0))
        if empty
        else quality.grasp_matrix(contacts.points, contacts.normals, "hard", center),
        J=np.zeros((0, len(joints)))
        if empty
        else quality.hand_jacobian(jacobian, contacts.normals) @ follow,
        joint_stiffness=follow.T @ joint_stiffness(model, data, dofs) @ follow,
        contact_stiffness=result.contact_model.used.stiffness,
    )


def _forces(result: GraspResult) -> Array:
    """Return the normal force of each body on the object to be grasped, (T, nb) [N]."""
    of_objects = result.object_normal_force
    return result.normal_force if of_objects is None else of_objects[:, :, 0]


def _point_jacobians(
    model: mujoco.MjModel, data: mujoco.MjData, bodies: list[str], points: Array
) -> Array:
    """Compute the translational Jacobians of points on bodies, (n, 3, nv)."""
    jacobians = np.zeros((len(points), 3, model.nv))
    for jacobian, body, point in zip(jacobians, bodies, points, strict=True):
        mujoco.mj_jac(model, data, jacobian, None, point, model.body(body).id)
    return jacobians


def _check(result: GraspResult, time: float | None) -> float:
    first, last = (float(end) for end in result.time[[0, -1]])
    if time is None:
        return last
    if not first <= time <= last + 1e-9:
        raise DescriptionError(
            f"expected a time in the run, {first:g} to {last:g} s; found {time:g} s", field="time"
        )
    return time


def _one_per_body(contacts: GraspContacts) -> GraspContacts:
    """Combine the contacts of each body to one, at the mean of their points and normals."""
    bodies = list(dict.fromkeys(contacts.body.tolist()))
    masks = [contacts.body == body for body in bodies]
    normals = np.array([contacts.normals[rows].mean(axis=0) for rows in masks]).reshape(-1, 3)
    lengths = np.linalg.norm(normals, axis=1, keepdims=True)
    first = [int(np.flatnonzero(rows)[0]) for rows in masks]
    # normals that cancel have no mean
    normals = np.where(
        lengths > 1e-6, normals / np.maximum(lengths, 1e-12), contacts.normals[first]
    )
    return GraspContacts(
        points=np.array([contacts.points[rows].mean(axis=0) for rows in masks]).reshape(-1, 3),
        normals=normals,
        friction=contacts.friction[first],
        torsion=contacts.torsion[first],
        body=contacts.body[first],
        numbers=contacts.numbers[first],
    )


def _independent(result: GraspResult, hand_joints: list[str]) -> tuple[tuple[str, ...], Array]:
    """Return the independent joints, and the matrix that maps them to all joints, (all, m)."""
    leaders = {c.joint: (c.leader, c.ratio) for c in result.scene.hand.couplings}
    free = [name for name in hand_joints if name not in leaders]
    follow = np.zeros((len(hand_joints), len(free)))
    for row, name in enumerate(hand_joints):
        ratio = 1.0
        while name in leaders:
            name, ratio_to_leader = leaders[name]
            ratio *= ratio_to_leader
        follow[row, free.index(name)] = ratio
    return tuple(free), follow


def joint_stiffness(model: mujoco.MjModel, data: mujoco.MjData, dofs: Sequence[int]) -> Array:
    """Compute the joint stiffness of springs, servos and tendons at constant targets, (m, m).

    Σ kᵢ·aᵢ aᵢᵀ with the moment arms a of each spring, servo and tendon; changes of the arms and
    force limits are neglected.

    Args:
        model: The compiled scene.
        data: The posture, with computed moment arms.
        dofs: Degrees of freedom, (m,).
    """
    stiffness = np.zeros((model.nv, model.nv))
    springs = [joint for joint in range(model.njnt) if model.jnt_stiffness[joint] > 0.0]
    for joint in springs:
        address = int(model.jnt_dofadr[joint])
        stiffness[address, address] += model.jnt_stiffness[joint]
    for gain, arm in zip(-model.actuator_biasprm[:, 1], actuator_moments(model, data), strict=True):
        stiffness += gain * np.outer(arm, arm)
    for gain, arm in zip(model.tendon_stiffness, tendon_moments(model, data), strict=True):
        stiffness += gain * np.outer(arm, arm)
    return np.asarray(stiffness[np.ix_(dofs, dofs)])


# Replay.


class ReplayedResult:
    """A recorded run whose model can be set to its state at any time of the run.

    Args:
        result: Recorded run; its model is compiled anew.
    """

    def __init__(self, result: GraspResult) -> None:
        self.result = result
        with warnings.catch_warnings():
            # issued when the scene was built for the run, and recorded in the result
            warnings.simplefilter("ignore", SoftgraspWarning)
            self.model = build(as_resolved(result.scene)).model
        self.data = mujoco.MjData(self.model)
        mujoco.mj_resetDataKeyframe(self.model, self.data, 0)
        self._joints = [self.model.joint(name).qposadr[0] for name in result.joint_names.tolist()]
        self._placed_objects = arrange_items(result.scene)
        self._removed = find_removed_bodies(self.model, result.scene)
        self._heights = self.model.body_pos[self._removed, 2]

    def pose(self, time: float) -> mujoco.MjData:
        """Return the state at a time [s] with kinematics and collisions, until the next call."""
        result = self.result
        row, fraction = self.row(time)
        near = slice(row, row + 2)
        joints = result.joint_position[near]
        self.data.qpos[self._joints] = joints[0] + fraction * (joints[-1] - joints[0])
        if result.object_nodes is not None:
            nodes = result.object_nodes[near]
            node_array = nodes[0] + fraction * (nodes[-1] - nodes[0])
            self.data.qpos[node_columns(self.model)] = node_positions(self.model, node_array)
        for placed, track in zip(self._placed_objects, result.tracks, strict=True):
            positions, quaternions = (values[near] for values in track)
            position = positions[0] + fraction * (positions[-1] - positions[0])
            quaternion = _slerp(quaternions[0], quaternions[-1], fraction)
            self._set_object(placed, position, quaternion)
        if self._removed:
            away = result.hold is not None and time > result.hold.start_s
            self.model.body_pos[self._removed, 2] = self._heights - (REMOVED if away else 0.0)
        mujoco.mj_kinematics(self.model, self.data)
        mujoco.mj_comPos(self.model, self.data)
        mujoco.mj_camlight(self.model, self.data)
        if self.model.nflex:
            mujoco.mj_flex(self.model, self.data)
        mujoco.mj_collision(self.model, self.data)
        return self.data

    def row(self, time: float) -> tuple[int, float]:
        """Return the last row at or before a time, and the fraction to the next one (0 … 1)."""
        times = self.result.time
        row = int(np.clip(np.searchsorted(times, time, side="right") - 1, 0, len(times) - 1))
        if row == len(times) - 1:
            return row, 0.0
        fraction = (time - times[row]) / (times[row + 1] - times[row])
        return row, float(np.clip(fraction, 0.0, 1.0))

    def _set_object(self, placed: PlacedItem, position: Array, quaternion: Array) -> None:
        qpos = self.data.qpos
        if placed.object.elasticity is not None:  # its nodes are recorded
            return
        if placed.mount == "free":
            first = self.model.joint(placed.body).qposadr[0]
            qpos[first : first + 7] = [*position, *quaternion]
        elif placed.mount == "planar":
            inverse, relative = np.zeros(4), np.zeros(4)
            mujoco.mju_negQuat(inverse, np.array(placed.pose.quaternion))
            mujoco.mju_mulQuat(relative, quaternion, inverse)
            moved = position - placed.pose.position
            about_y = 2.0 * np.arctan2(relative[2], relative[0])
            values = (moved[0], moved[2], about_y)
            for name, value in zip(names.object_joints(placed.body), values, strict=True):
                qpos[self.model.joint(name).qposadr[0]] = value


def hand_pose_at(result: GraspResult, row: int) -> Array:
    """Compute the pose of the hand frame in the world, (4, 4).

    Args:
        result: A run with a sequence, or any other before its lift.
        row: Index of the sample.
    """
    scene = result.scene
    if not scene.on_wrist:
        return home_pose(scene)
    if isinstance(scene.arm, HandCarrier):
        data = ReplayedResult(result).pose(float(result.time[row]))
        palm = data.body(names.hand_body(scene.hand))
        return transform(palm.xpos, palm.xquat)
    joints = [column(result.joint_names, name) for name in names.carrier_joints(scene)]
    values = result.joint_position[row, joints]
    if scene.arm is not None:
        tool = transform(scene.arm.tool.position, scene.arm.tool.quaternion)
        flange = forward_kinematics(scene.arm.chain, values.tolist())[-1]
        return np.asarray(arm_base(scene.arm, scene.hand_pose) @ flange @ tool)
    pose = home_pose(scene)
    center = np.array(scene.preset.center)
    carried = pose[:3, :3] @ center + pose[:3, 3] + values[:3]
    about_z, about_y, about_x = values[3:]
    pose[:3, :3] = rotation_from_euler((about_x, about_y, about_z)) @ pose[:3, :3]
    pose[:3, 3] = carried - pose[:3, :3] @ center
    return pose


def _slerp(first: Array, second: Array, fraction: float) -> Array:
    """Interpolate between two unit quaternions on the shortest path."""
    rotation_vector, between = np.zeros(3), first.copy()
    mujoco.mju_subQuat(rotation_vector, second, first)
    mujoco.mju_quatIntegrate(between, rotation_vector, fraction)
    return between
