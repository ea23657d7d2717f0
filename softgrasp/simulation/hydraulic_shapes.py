"""Shapes of an arm, row by row, of either model: axis, ends, bends and lengths of its sections."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import mujoco
import numpy as np

from softgrasp.build.bendable_names import bend_joints, slide_joints
from softgrasp.build.hydraulic_arm import arm_model
from softgrasp.description.bendable import Bendable
from softgrasp.description.hydraulic_arm import HydraulicArm
from softgrasp.description.hydraulic_robot import arm_robot, end_link
from softgrasp.mechanics.hydraulic.arm_motion import arm_motion
from softgrasp.mechanics.transforms import Array

PIECES = 24
"""Pieces of a section along which the arcs of the lumped model are drawn."""


@dataclass(frozen=True)
class ArmShapes:
    """An arm in several states, such as the rows of a recording, or several rests.

    Args:
        backbone: Points along the axis in the base frame, base first [m], (t, points, 3).
        ends: Ends of the sections in the base frame [m], (t, sections, 3).
        bends: Bending angles of the sections towards x and y [rad], (t, sections, 2).
        lengths: Of the axes of the sections [m], (t, sections).
    """

    backbone: Array
    ends: Array
    bends: Array
    lengths: Array

    @property
    def angles(self) -> Array:
        """Bending angles of the sections, whichever way [rad], (t, sections)."""
        return np.asarray(np.linalg.norm(self.bends, axis=2))

    @property
    def curvatures(self) -> Array:
        """Of the sections towards x and y, bend over length [1/m], (t, sections, 2)."""
        return np.asarray(self.bends / self.lengths[:, :, None])


def chain_shapes(arm: HydraulicArm, links: int, joints: Array) -> ArmShapes:
    """The chain in MuJoCo at the joints of its cells, (t, nq)."""
    parts = arm_robot(arm, links).bendables
    model = arm_model(arm, links)
    positions = np.stack(list(_positions(model, joints)))
    ends = [model.body(end_link(section)).id for section in arm.sections]
    cells = [model.body(f"{part.name}_{k}").id for part in parts for k in range(1, links + 1)]
    shapes = [_shape(model, part, joints) for part in parts]
    slid = np.stack([shape[1] for shape in shapes], axis=1)
    return ArmShapes(
        backbone=positions[:, [0, *sorted([*cells, *ends])]],
        ends=positions[:, ends],
        bends=np.stack([shape[0] for shape in shapes], axis=1),
        lengths=slid + np.array([section.length for section in arm.sections]),
    )


def lumped_shapes(arm: HydraulicArm, strains: Array) -> ArmShapes:
    """The lumped model at the strains (u, v, l, τ) of its segments, (t, n, 4)."""
    pieces = max(PIECES // arm.segments, 1)
    positions = np.stack([_arc_points(row, pieces) for row in strains])
    split = strains.reshape(len(strains), len(arm.sections), arm.segments, 4)
    return ArmShapes(
        backbone=positions,
        ends=positions[:, arm.segments * pieces :: arm.segments * pieces],
        bends=split[..., :2].sum(axis=2),
        lengths=split[..., 2].sum(axis=2),
    )


def _arc_points(strains: Array, pieces: int) -> Array:
    """Points along the arcs of one state, base first [m], (n · pieces + 1, 3)."""
    cut = np.repeat(strains, pieces, axis=0)
    cut[:, :3] /= pieces
    # a segment is twisted at its end (paper 003, eq 3), so only its last piece is
    cut[np.arange(len(cut)) % pieces != pieces - 1, 3] = 0.0
    frames = arm_motion(cut, np.zeros_like(cut)).frames
    return np.concatenate([np.zeros((1, 3)), frames[:, :3, 3]])


def _positions(model: mujoco.MjModel, joints: Array) -> Iterator[Array]:
    """Of all bodies [m], (nbody, 3)."""
    data = mujoco.MjData(model)
    for row in joints:
        data.qpos[:] = row
        mujoco.mj_kinematics(model, data)
        yield data.xpos.copy()


def _shape(model: mujoco.MjModel, part: Bendable, joints: Array) -> tuple[Array, Array]:
    """Bend towards x and y [rad], (t, 2), and how much longer it is [m], (t,)."""

    def columns(names: list[str]) -> list[int]:
        return [int(model.joint(name).qposadr[0]) for name in names]

    angles = joints[:, columns([name for name, _ in bend_joints(part)])]
    directions = np.array([direction for _, direction in bend_joints(part)])
    return angles @ directions, joints[:, columns(slide_joints(part))].sum(axis=1)
