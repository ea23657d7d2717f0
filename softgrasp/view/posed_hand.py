"""A hand put where its drives say, and frames at its joints."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import mujoco
import numpy as np
from scipy.spatial.transform import Rotation

from softgrasp.build import names
from softgrasp.build.attached_hand import settle
from softgrasp.build.compiling import compiled
from softgrasp.build.hand_model import build_hand_spec
from softgrasp.build.scene import compile_model
from softgrasp.description.hand import Hand
from softgrasp.description.scene import GraspScene
from softgrasp.formats.load import load_hand
from softgrasp.mechanics.finger_drives import actuation_forces
from softgrasp.mechanics.transforms import Array
from softgrasp.view.choices import Choices, MakeScene


class JointFrame(NamedTuple):
    """The frame that a joint moves, in the world."""

    name: str
    """Of the joint; of a place on a soft finger, what it is."""
    pose: Array
    """(4, 4), z along the joint's axis [m]."""
    value: float = 0.0
    """Of the joint variable [rad or m]."""
    limits: tuple[float, float] | None = None
    """Of the joint variable [rad or m]; None where there is none."""
    is_hinge: bool = True
    """Whether it turns; else it slides."""


class PosedHand:
    """A hand in a compiled model, alone or before an object.

    Args:
        hand: The hand.
        model: Of the hand alone, or of a scene with it; keyframe 0 is the start.
    """

    def __init__(self, hand: Hand, model: mujoco.MjModel) -> None:
        self.hand, self.model, self.data = hand, model, mujoco.MjData(model)
        self._rows = hand.rows_by_joint
        self.pose([actuator.start for actuator in hand.actuators])

    def pose(self, targets: Sequence[float]) -> mujoco.MjData:
        """Put the drives at targets, one each [rad, m or Pa], and all else where it follows.

        Joints that follow others follow. A soft finger stands where the springs in its joints
        balance its pressure, moment over stiffness, as if it weighed nothing.
        """
        model, data = self.model, self.data
        position = np.array(model.key_qpos[0])
        for name, value in self.hand.posture(targets).items():
            position[model.joint(name).qposadr[0]] = value
        pressures = dict(
            zip((actuator.name for actuator in self.hand.actuators), targets, strict=True)
        )
        for digit in self.hand.soft_fingers:
            forces = actuation_forces(digit.finger, pressure=pressures[digit.as_actuator.name])
            for name, force in zip(names.soft_joint_names(digit), forces.tolist(), strict=True):
                joint = model.joint(name)
                position[joint.qposadr[0]] = force / model.jnt_stiffness[joint.id]
        data.qpos[:] = settle(model, self.hand, position)
        mujoco.mj_kinematics(model, data)
        mujoco.mj_comPos(model, data)
        mujoco.mj_camlight(model, data)
        if model.nflex:
            mujoco.mj_flex(model, data)
        return data

    def frames(self) -> list[JointFrame]:
        """Frames at all joints of the rigid fingers, then at base and tip of the soft ones.

        Those of fingers in Denavit–Hartenberg rows are the frames of the rows: z along the axis,
        moved with the joint (``mechanics.hand_kinematics.link_frames``). In a model of its own a
        hand has its bodies' frames, turned so that z is along the axis.
        """
        joint_frames = [self._at_joint(name) for name in self._rows]
        for digit in self.hand.soft_fingers:
            base = self._body_pose(names.soft_link(digit.name, 0))
            tip = self._body_pose(names.soft_link(digit.name, len(digit.finger.links) - 1))
            tip[:3, 3] = self.data.site(names.tip_site(digit.name)).xpos
            joint_frames += [
                JointFrame(f"{digit.name} base", base),
                JointFrame(f"{digit.name} tip", tip),
            ]
        return joint_frames

    def hand_pose(self) -> Array:
        """The hand's frame in the world, (4, 4)."""
        return self._body_pose(names.hand_body(self.hand))

    def _at_joint(self, name: str) -> JointFrame:
        joint = self.model.joint(name)
        pose = self._body_pose(int(joint.bodyid[0]))
        axis = np.array(self.data.xaxis[joint.id])
        rotation, _ = Rotation.align_vectors([axis], [pose[:3, 2]])
        if pose[:3, 2] @ axis < 1.0 - 1e-12:
            pose[:3, :3] = rotation.as_matrix() @ pose[:3, :3]
        pose[:3, 3] = self.data.xanchor[joint.id]
        value = float(self.data.qpos[joint.qposadr[0]])
        row = self._rows[name]
        return JointFrame(name, pose, value, row.limits, row.joint == "revolute")

    def _body_pose(self, body: str | int) -> Array:
        there = self.data.body(body)
        pose = np.eye(4)
        pose[:3, :3], pose[:3, 3] = there.xmat.reshape(3, 3), there.xpos
        return pose


def chosen_hand(choices: Choices, make_scene: MakeScene) -> tuple[PosedHand, GraspScene | None]:
    """The hand of choices, and the scene that it stands in before their object.

    Raises:
        SoftgraspError: There is no such hand or object, or they do not go together.
    """
    if choices.object is not None:
        scene = make_scene(choices)
        return PosedHand(scene.hand, compile_model(scene)), scene
    hand = load_hand(choices.hand)
    return PosedHand(hand, compiled(build_hand_spec(hand), hand.name)), None
