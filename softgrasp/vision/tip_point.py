"""The tip of the finger in a photograph."""

from __future__ import annotations

import numpy as np
from scipy.signal import find_peaks

from softgrasp.errors import DescriptionError
from softgrasp.mechanics.transforms import Array
from softgrasp.vision.chords import chord_depths

END = 0.5
"""Where along the last link its end begins [–]."""
REACH = 0.2
"""Half length of the chord over which a corner is seen, over the length of the last link [–]."""
MIN_CORNER = 0.4
"""Distance of a corner from its chord over half the chord, at least; of a right angle 0.7 [–]."""


def find_tip(outline: Array, last_joint: Array, heading: float) -> Array:
    """The tip: the middle between the two corners of the finger's end, (2,) [pixels].

    Paper 000 follows one of them, the one that is farthest to the right. The middle of both turns
    with the last link whatever the shape of its sides, and stands for the middle of its end face.

    Args:
        outline: Closed, clockwise as one sees it, its points about a pixel apart, (n, 2) [pixels].
        last_joint: (2,) [pixels].
        heading: About the direction of the last link, positive downwards [rad].

    Raises:
        DescriptionError: The end has no two corners.
    """
    along = (outline - last_joint) @ [np.cos(heading), np.sin(heading)]
    reach = max(round(REACH * along.max()), 3)
    # from the base around, so that no corner lies where the list begins
    start = int(np.argmin(along))
    curve, along = np.roll(outline, -start, axis=0), np.roll(along, -start)
    depths = -chord_depths(curve, reach)
    corners, properties = find_peaks(depths, height=MIN_CORNER * reach, distance=reach)
    at_end = along[corners] > END * along.max()
    corners, heights = corners[at_end], properties["peak_heights"][at_end]
    if len(corners) < 2:
        raise DescriptionError(
            f"expected two corners at the end of the finger, found {len(corners)}; its end is "
            "round or blurred: measure without it, tip=False"
        )
    return np.asarray(curve[corners[np.argsort(heights)[-2:]]].mean(axis=0))
