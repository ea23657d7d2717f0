"""What a photograph says about a finger."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from softgrasp.mechanics.transforms import Array
from softgrasp.vision.outline import Outline
from softgrasp.vision.photo_angles import Convention
from softgrasp.vision.picture import Bools, Image
from softgrasp.vision.segmentation import Segmentation


@dataclass(frozen=True, eq=False)
class PhotoMeasurement:
    """The joint angles of a finger in a photograph, and the steps on the way to them.

    All pixel coordinates (column, row) are those of ``image``; (0, 0) is the outer corner of its
    upper left pixel.
    """

    angles: Array
    """Positive for a finger that bends downwards [rad], (n,) with the tip, (n − 1,) without."""
    convention: Convention
    """``hinges``: rotations of the simulated finger's joints, 0 in the straight one; or
    ``segments``: differences of the segments' directions (paper 000, eq 3)."""
    joints_px: Array
    """Apexes of the valleys from the base, (n, 2)."""
    tip_px: Array | None
    """Middle between the two corners of the end, (2,)."""
    notched_below: bool
    """Whether the valleys are in the bottom line."""
    tilt: float
    """Direction of the base in the picture, positive downwards [rad]; angles count from it."""
    metres_per_px: float | None
    """Side of a pixel [m], where the picture was scaled."""
    image: Image
    """What was measured: the photograph, rectified and mirrored where that was asked for."""
    segmentation: Segmentation
    """The steps to the pixels of the finger."""
    outline: Outline
    """The outline of these, and its top and bottom line."""

    @property
    def mask(self) -> Bools:
        """Which pixels show the finger, (height, width)."""
        return self.segmentation.finger

    @property
    def points_px(self) -> Array:
        """Joints, and the tip where it was looked for, (n + 1, 2) or (n, 2)."""
        tip = [] if self.tip_px is None else [self.tip_px]
        return np.array([*self.joints_px, *tip])

    @property
    def points(self) -> Array | None:
        """``points_px`` seen from the first joint, along the base and up, (n + 1, 2) [m].

        None where the picture was not scaled.
        """
        if self.metres_per_px is None:
            return None
        x, y = ((self.points_px - self.joints_px[0]) * self.metres_per_px).T
        cosine, sine = np.cos(self.tilt), np.sin(self.tilt)
        return np.stack([cosine * x + sine * y, sine * x - cosine * y], axis=-1)
