"""The shape of a gripper's fingers at a pressure and a flange pose (paper 001, eq 4 to 8)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from softgrasp.continuum.pcc import chain_frames
from softgrasp.description.flange import FlangeSample
from softgrasp.description.twin import Twin
from softgrasp.errors import BuildError, DescriptionError
from softgrasp.mechanics.arm_path import joint_path
from softgrasp.mechanics.mounted_fingers import flange_transform, roots_in_flange
from softgrasp.mechanics.piece_bends import KPA, angles_at
from softgrasp.mechanics.transforms import Array


class TwinShape(NamedTuple):
    """Fingers of n pieces, all bent alike."""

    angles: Array
    """Of the pieces [rad], (n,)."""
    curvatures: Array
    """[1/m], (n,)"""
    planes: Array
    """Angles of the bending planes [rad], (n,)."""
    frames: Array
    """From the root to the tip, in the frame of a finger's root, (n + 1, 4, 4)."""
    roots: Array
    """Of the k fingers, in the base of the robot, (k, 4, 4)."""

    @property
    def tips(self) -> Array:
        """In the base of the robot [m], (k, 3)."""
        return np.asarray((self.roots @ self.frames[-1])[:, :3, 3])

    @property
    def bend(self) -> float:
        """Of a whole finger [rad]."""
        return float(self.angles.sum())


def twin_shape(twin: Twin, pressure: float, flange: FlangeSample) -> TwinShape:
    """The fingers at a pressure, on a flange.

    Args:
        twin: The gripper.
        pressure: Over that of the air around [Pa].
        flange: Where the flange stands.

    Raises:
        DescriptionError: The pressure lies farther outside of what was measured than the margin
            of the twin: nothing is extrapolated.
    """
    low, high = twin.finger.pressures
    if not low - twin.margin <= pressure <= high + twin.margin:
        raise DescriptionError(
            f"finger '{twin.finger.name}': expected a pressure of {KPA * low:g} to "
            f"{KPA * high:g} kPa, which was measured; found {KPA * pressure:.4g} kPa"
        )
    lengths = np.array(twin.finger.lengths)
    angles = angles_at(twin.finger, min(max(pressure, low), high))
    planes = np.array(twin.phis or np.zeros(len(lengths)))
    base = flange_transform(flange.position, flange.quaternion)
    return TwinShape(
        angles=angles,
        curvatures=angles / lengths,
        planes=planes,
        frames=chain_frames(angles / lengths, planes, lengths, twin.frame),
        roots=np.asarray(base @ roots_in_flange(twin.gripper)),
    )


def arm_joints(twin: Twin, flange: FlangeSample, before: Array | None) -> Array | None:
    """Joints of the arm that have its flange at a pose [rad], (nj,).

    Args:
        twin: With the arm.
        flange: Where the flange stands.
        before: The joints a moment ago; those at which the arm starts where they are not known.

    Returns:
        The joints; None where there is no arm, or it does not reach.
    """
    if twin.arm is None:
        return None
    chain = twin.arm.chain
    near = [row.start for row in chain.phalanges] if before is None else before.tolist()
    goal = flange_transform(flange.position, flange.quaternion)
    try:
        path = joint_path(chain, near, goal[None], "the flange's way")
    except BuildError:
        return None
    return np.asarray(path[0])
