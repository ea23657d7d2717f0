"""How large a pixel is, from something of known length."""

from __future__ import annotations

import numpy as np

from softgrasp.description.base import Description, Number, Positive
from softgrasp.description.soft_finger import SoftFinger
from softgrasp.errors import DescriptionError
from softgrasp.mechanics.transforms import Array


class KnownLength(Description):
    """Two points of a picture and how far they are apart in the plane in which the finger bends."""

    start_px: tuple[Number, Number]
    """Column and row."""
    end_px: tuple[Number, Number]
    """Column and row."""
    length: Positive
    """[m]"""

    @property
    def metres_per_px(self) -> float:
        """Side of a pixel [m].

        Raises:
            DescriptionError: The points are one.
        """
        pixels = float(np.hypot(*np.subtract(self.end_px, self.start_px)))
        if pixels == 0.0:
            raise DescriptionError(
                f"expected two points, found {self.start_px} twice", field="end_px"
            )
        return self.length / pixels


def scale_of_joints(joints_px: Array, finger: SoftFinger) -> float:
    """Side of a pixel [m] from the distances of neighbouring joints.

    Args:
        joints_px: Joint points from the base, (n, 2) [pixels].
        finger: The finger with the same joints.

    Raises:
        DescriptionError: There is only one joint.
    """
    if len(joints_px) < 2:
        raise DescriptionError(
            f"expected 2 joints or more to scale a picture by, found {len(joints_px)}",
            field="scale",
        )
    positions = np.array([joint.position for joint in finger.joints[: len(joints_px)]])
    lengths = np.linalg.norm(np.diff(positions[:, [0, 2]], axis=0), axis=1)
    return float(lengths.sum() / np.linalg.norm(np.diff(joints_px, axis=0), axis=1).sum())
