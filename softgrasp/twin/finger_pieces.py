"""Shape of a gripper's fingers at a pressure and a flange pose (Xiang et al. 2024, eq 4 to 8).

``twin_shape`` computes the fingers as constant-curvature arcs on the flange, T_F = T_R · T_mount
· T_base · T_finger, with the mount frames that the paper omits. ``examples/paper001`` compares
them with the rigid pieces of the paper's Unity model.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from softgrasp.continuum.pcc import chain_frames
from softgrasp.description import Pose
from softgrasp.errors import DescriptionError
from softgrasp.mechanics import Array, nearest_posture, transform
from softgrasp.plugin_api import unit_quaternion
from softgrasp.twin.description import FlangeSample, GripperMount, Twin
from softgrasp.twin.piecewise_bending import KPA, angles_at


class TwinShape(NamedTuple):
    """Shape of a gripper's fingers, each of n pieces, all bent equally."""

    angles: Array
    """Bending angles of the pieces [rad], (n,)."""
    curvatures: Array
    """Curvatures of the pieces [1/m], (n,)."""
    planes: Array
    """Angles of the bending planes [rad], (n,)."""
    frames: Array
    """Frames from the root to the tip, in the frame of a finger's root, (n + 1, 4, 4)."""
    roots: Array
    """Frames of the k fingers' roots in the robot's base frame, (k, 4, 4)."""

    @property
    def tips(self) -> Array:
        """Tips in the robot's base frame [m], (k, 3)."""
        return np.asarray((self.roots @ self.frames[-1])[:, :3, 3])

    @property
    def bend(self) -> float:
        """Bending angle of a whole finger [rad]."""
        return float(self.angles.sum())


def twin_shape(twin: Twin, pressure: float, flange: FlangeSample) -> TwinShape:
    """Compute the shape of the fingers at a pressure and a flange pose.

    Args:
        twin: Digital twin.
        pressure: Gauge pressure [Pa].
        flange: Pose of the flange.

    Raises:
        DescriptionError: The pressure exceeds the measured range by more than the margin of the
            twin; values are not extrapolated.
    """
    low, high = twin.finger.pressures
    if not low - twin.margin <= pressure <= high + twin.margin:
        raise DescriptionError(
            f"finger '{twin.finger.name}': expected a measured pressure, {KPA * low:g} to "
            f"{KPA * high:g} kPa, found {KPA * pressure:.4g} kPa"
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
    """Return the joints of the arm that the robot reports, or that reach the flange pose, (nj,).

    Of several postures within the limits, the one nearest to the previous one is returned.

    Args:
        twin: Digital twin with the arm.
        flange: Pose of the flange.
        before: Previous joint variables; None to begin at those of the start of the arm.

    Returns:
        Joint variables [rad or m]; None without an arm, or where the pose is out of reach.
    """
    if twin.arm is None:
        return None
    chain = twin.arm.chain
    if len(flange.joints) == len(chain.phalanges):
        return np.array(flange.joints)
    near = np.array([row.start for row in chain.phalanges]) if before is None else before
    goal = flange_transform(flange.position, flange.quaternion)
    return nearest_posture(chain, goal, near)


# Mount on the flange


def flange_transform(position: ArrayLike, quaternion: ArrayLike) -> Array:
    """Return T_R, the frame of a flange in the robot's base frame, (4, 4); eq 7.

    Args:
        position: Origin [m], (3,).
        quaternion: (w, x, y, z) of unit norm within 1e-3, (4,); it is normalised, because the
            printed matrix is a rotation only for unit quaternions.

    Raises:
        DescriptionError: Another norm, another number of values, or values that are not finite.
    """
    translation, rotation = np.asarray(position, dtype=float), np.asarray(quaternion, dtype=float)
    if (
        translation.shape != (3,)
        or rotation.shape != (4,)
        or not np.isfinite([*translation, *rotation]).all()
    ):
        raise DescriptionError(
            "expected a position of 3 and a quaternion of 4 finite numbers, found "
            f"{translation.tolist()} and {rotation.tolist()}"
        )
    w, x, y, z = rotation.tolist()
    try:
        return transform(translation, unit_quaternion((w, x, y, z)))
    except ValueError as error:
        raise DescriptionError(str(error), field="quaternion") from None


def roots_in_flange(gripper: GripperMount) -> Array:
    """Return T_mount · T_base, the frames of the k fingers' roots in the flange, (k, 4, 4)."""
    return np.stack([_matrix(gripper.mount) @ _matrix(finger) for finger in gripper.fingers])


def _matrix(pose: Pose) -> Array:
    return transform(pose.position, pose.quaternion)
