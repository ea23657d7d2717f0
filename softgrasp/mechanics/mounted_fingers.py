"""Where the fingers of a gripper are for a robot: T_F = T_R · T_mount · T_base · T_finger.

Paper 001 (eq 6 to 8), with the frames that it leaves out.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from softgrasp.continuum.pcc import Frame, chain_frames
from softgrasp.description.mounted_gripper import GripperMount
from softgrasp.description.pose import Pose
from softgrasp.description.unit_quaternion import unit_quaternion
from softgrasp.errors import DescriptionError
from softgrasp.mechanics.transforms import Array, transform


def flange_transform(position: ArrayLike, quaternion: ArrayLike) -> Array:
    """T_R, frame of a flange in the robot's base, (4, 4); paper 001, eq 7.

    Args:
        position: [m], (3,).
        quaternion: (w, x, y, z) of unit length within 1e-3, (4,); it is normalised, as the printed
            matrix is a rotation for unit quaternions only.

    Raises:
        DescriptionError: It is longer or shorter, or the numbers are not finite or too few.
    """
    translation, rotation = np.asarray(position, dtype=float), np.asarray(quaternion, dtype=float)
    if (
        translation.shape != (3,)
        or rotation.shape != (4,)
        or not np.isfinite([*translation, *rotation]).all()
    ):
        raise DescriptionError(
            f"expected a position of 3 and a quaternion of 4 finite numbers, found {translation.tolist()}"
            f" and {rotation.tolist()}"
        )
    w, x, y, z = rotation.tolist()
    try:
        return transform(translation, unit_quaternion((w, x, y, z)))
    except ValueError as error:
        raise DescriptionError(str(error), field="quaternion") from None


def roots_in_flange(gripper: GripperMount) -> Array:
    """T_mount · T_base of every finger, (k, 4, 4)."""
    return np.stack([_matrix(gripper.mount) @ _matrix(finger) for finger in gripper.fingers])


def mounted_fingers(
    flange: ArrayLike,
    gripper: GripperMount,
    thetas: ArrayLike,
    phis: ArrayLike,
    lengths: ArrayLike,
    frame: Frame = "webster",
) -> Array:
    """Frames along every finger in the robot's base, (k, n + 1, 4, 4): roots, then piece by piece.

    Args:
        flange: T_R, frame of the flange in the robot's base, (4, 4).
        gripper: With k fingers.
        thetas: Bending angles of the n pieces [rad], (n,) for all fingers or (k, n) for each.
        phis: Angles of the bending planes [rad], (n,) or (k, n).
        lengths: Of the pieces, the same for all fingers [m], (n,).
        frame: How the end frame of a piece is turned about its z axis; paper 001 has ``webster``.

    Raises:
        DescriptionError: Shapes that do not go together, or as ``pcc.segment_transform``.
    """
    arcs = np.asarray(lengths, dtype=float)
    expected_shape = (len(gripper.fingers), *arcs.shape)
    base, bends, planes = (np.asarray(part, dtype=float) for part in (flange, thetas, phis))
    if base.shape != (4, 4):
        raise DescriptionError(f"expected (4, 4), found shape {base.shape}", field="flange")
    for field, angles in (("thetas", bends), ("phis", planes)):
        if angles.shape not in (expected_shape, arcs.shape):
            raise DescriptionError(
                f"expected angles of shape {arcs.shape} or {expected_shape}, found {angles.shape}",
                field=field,
            )
    rows = zip(
        np.broadcast_to(bends, expected_shape), np.broadcast_to(planes, expected_shape), strict=True
    )
    fingers = np.stack([chain_frames(row / arcs, plane, arcs, frame) for row, plane in rows])
    return np.asarray(base @ roots_in_flange(gripper)[:, None] @ fingers)


def _matrix(pose: Pose) -> Array:
    return transform(pose.position, pose.quaternion)
