"""What picks in a picture of a finger say about its pieces."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from softgrasp.description.pinhole_camera import PinholeCamera
from softgrasp.errors import DescriptionError
from softgrasp.mechanics.picked_angles import PICK_NOISE, Picks, picked_angles
from softgrasp.mechanics.transforms import Array
from softgrasp.vision.depth import WINDOW, depths_at
from softgrasp.vision.image import Image

DEPTH_NOISE = 2e-3
"""Standard deviation of the depth of one pixel, where not given [m]."""


@dataclass(frozen=True, eq=False)
class PickMeasurement:
    """Picks and the angles that they show."""

    picks: Picks
    angles: Array
    """Bends of the pieces, base first; positive clockwise in the picture, or against it where that
    was asked for [rad], (n,)."""
    sigmas: Array
    """Standard deviations of them, from the noise of picks and depths [rad], (n,)."""


def measure_picks(
    image: Image,
    camera: PinholeCamera,
    picks: Picks,
    depth: Array | None = None,
    *,
    pick_noise: float = PICK_NOISE,
    depth_noise: float = DEPTH_NOISE,
    anticlockwise: bool = False,
) -> PickMeasurement:
    """Angles of the pieces of a finger from picks in its picture.

    Args:
        image: (height, width, 3), as large as the camera says.
        camera: The camera that took it.
        picks: Cuts and reference line; depths of the picks are read from ``depth`` where given.
        depth: Depth picture [m], (height, width).
        pick_noise: Standard deviation of a pick in column and in row [pixels].
        depth_noise: Of the depth of one pixel [m]; the median over a window has less.
        anticlockwise: Whether the finger bends anticlockwise in the picture when its angles are
            positive.

    Raises:
        DescriptionError: The camera took pictures of another size, a pick lies outside, or as
            ``picked_angles`` and ``depths_at``.
    """
    height, width = image.shape[:2]
    if (camera.width, camera.height) != (width, height):
        raise DescriptionError(
            f"expected a picture of {camera.width} × {camera.height} pixels, for which the camera "
            f"was calibrated, found {width} × {height}"
        )
    cuts = np.asarray(picks.cuts, dtype=float).reshape(-1, 2)
    line = np.zeros((0, 2)) if picks.line is None else np.asarray(picks.line, dtype=float)
    for column, row in np.concatenate([cuts, line.reshape(-1, 2)]).tolist():
        if not (0.0 <= column <= width and 0.0 <= row <= height):
            raise DescriptionError(
                f"expected picks within {width} × {height} pixels, found ({column:g}, {row:g})"
            )
    noise = depth_noise
    if depth is not None:
        picks = picks._replace(depths=depths_at(depth, cuts))
        # the median of n normal numbers scatters by √(π/2n) of one of them
        noise *= np.sqrt(0.5 * np.pi) / (2 * WINDOW + 1)
    measured = picked_angles(camera, picks, pick_noise=pick_noise, depth_noise=float(noise))
    sign = -1.0 if anticlockwise else 1.0
    return PickMeasurement(picks, sign * measured.angles, measured.sigmas)


def averaged(measurements: list[PickMeasurement]) -> PickMeasurement:
    """The mean of measurements of one pose in several pictures, with the picks of the first."""
    angles = np.mean([one.angles for one in measurements], axis=0)
    sigmas = np.sqrt(np.mean([one.sigmas**2 for one in measurements], axis=0) / len(measurements))
    return replace(measurements[0], angles=angles, sigmas=sigmas)
