"""The valleys in the notched line of a finger, and their apexes to a fraction of a pixel.

The depth of a point is its distance from a chord that runs along with it, between two points of the
line about half a joint distance before and after: deep in a valley, negative on a bellow. So the
finger may droop or taper as much as it likes, where heights over one straight chord would not do.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import numpy.typing as npt
from scipy.signal import find_peaks

from softgrasp.errors import DescriptionError
from softgrasp.mechanics.transforms import Array
from softgrasp.vision.chords import chord_depths
from softgrasp.vision.outline import resampled

Indices = npt.NDArray[np.intp]

HALF_CHORD = 0.4
"""Half length of the chord over that of a cell: of the line over the number of links [–]."""
MIN_DEPTH = 0.12
"""Prominence of a valley over half the chord, at least [–]."""
MIN_DEPTH_RATIO = 0.3
"""The same over the median of as many of the most prominent as there are joints, at least [–]."""
FLANK = (0.04, 0.3)
"""Part of a flank, along it from the ground to the crest, through which its line is laid [–]. A
parabola would follow the bellow better, but its continuation suffers far more from noise."""
NEAREST, MIN_POINTS = 3, 5
"""Points next to the ground that are left out, for blur has filled it, and points of a line."""
MIN_OPENING = np.radians(12.0)
"""Between two flanks that meet in a point that is worth something [rad]."""
FARTHEST = 0.6
"""Distance of an apex from the valley's ground over its depth, at most [–]."""


def find_notches(line: Array, joints: int, *, below: bool = True) -> Array:
    """The apexes of the first valleys from the base, (joints, 2) [pixels].

    An apex is where the lines through the two flanks of the valley meet. Blur fills the ground of a
    valley and moves it outwards, the more the narrower the valley is; the flanks stay.

    Args:
        line: The line with the valleys, from the base to the tip, (n, 2) [pixels].
        joints: How many there are; valleys further from the base are left out.
        below: Whether it is the bottom line.

    Raises:
        DescriptionError: There are fewer; tells how many and where.
    """
    curve = resampled(line)
    reach = max(round(HALF_CHORD * len(curve) / (joints + 1)), 3)
    depths = chord_depths(curve, reach) * (-1.0 if below else 1.0)
    grounds = _grounds(depths, reach, joints)
    if len(grounds) < joints:
        pixels_text = ", ".join(f"({x:.0f}, {y:.0f})" for x, y in curve[grounds])
        raise DescriptionError(
            f"expected {joints} valleys between bellows, one for each joint, found {len(grounds)}"
            + (f", at the pixels {pixels_text}" if pixels_text else "")
            + "; is the notched side the other one, or is the picture blurred?"
        )
    crests = _crests(depths, grounds)[: joints + 1]
    grounds = grounds[:joints]
    apexes = _apexes(curve, crests, grounds)
    # one rule for all: joints that are found in two ways would be shifted against each other
    return _lowest(curve, depths, grounds) if apexes is None else apexes


def _grounds(depths: Array, reach: int, joints: int) -> Indices:
    """Indices of all valleys, in order."""
    minima, properties = find_peaks(depths, prominence=MIN_DEPTH * reach, height=0.0)
    prominences = properties["prominences"]
    if not len(minima):
        return minima
    typical = float(np.median(np.sort(prominences)[-joints:]))
    return np.asarray(minima[prominences >= MIN_DEPTH_RATIO * typical])


def _crests(depths: Array, grounds: Indices) -> Indices:
    """The highest bellow before, between and after the valleys, (n + 1,)."""
    between = int(np.median(np.diff(grounds))) if len(grounds) > 1 else len(depths)
    begin = max(int(grounds[0]) - between, 0)
    end = min(int(grounds[-1]) + between, len(depths) - 1)
    ends = [begin, *grounds.tolist(), end]
    return np.array([
        first + int(np.argmin(depths[first : last + 1]))
        for first, last in pairwise(ends)
    ])  # fmt: skip


def _apexes(curve: Array, crests: Indices, grounds: Indices) -> Array | None:
    """The apexes (n, 2); None where the flanks of any valley do not meet near its ground."""
    apexes = []
    for before, ground, after in zip(crests[:-1], grounds, crests[1:], strict=True):
        left = _flank(curve[before : ground + 1][::-1])
        right = _flank(curve[ground : after + 1])
        if len(left) < MIN_POINTS or len(right) < MIN_POINTS:
            return None
        apex = _meeting(_line(left), _line(right))
        depth = np.linalg.norm(0.5 * (curve[before] + curve[after]) - curve[ground])
        if apex is None or np.linalg.norm(apex - curve[ground]) > FARTHEST * depth:
            return None
        apexes.append(apex)
    return np.array(apexes)


def _flank(points: Array) -> Array:
    """The part of a flank that is fitted, of points from the ground to the crest."""
    first = max(round(FLANK[0] * len(points)), NEAREST)
    return points[first : round(FLANK[1] * len(points))]


def _line(points: Array) -> tuple[Array, Array]:
    """Middle and direction of the line of least squared distances from points (n, 2)."""
    middle = points.mean(axis=0)
    return middle, np.linalg.svd(points - middle, full_matrices=False)[2][0]


def _meeting(first: tuple[Array, Array], second: tuple[Array, Array]) -> Array | None:
    """Where two lines meet (2,); None where they are nearly parallel."""
    line_directions = np.column_stack([first[1], -second[1]])
    if abs(np.linalg.det(line_directions)) < np.sin(MIN_OPENING):
        return None
    return np.asarray(
        first[0] + first[1] * np.linalg.solve(line_directions, second[0] - first[0])[0]
    )


def _lowest(curve: Array, depths: Array, grounds: Indices) -> Array:
    """The deepest points of valleys (n, 2), each by a parabola through three samples."""
    inner = grounds.clip(1, len(curve) - 2)
    before, at, after = depths[inner - 1], depths[inner], depths[inner + 1]
    bend = np.minimum(before - 2.0 * at + after, -1e-9)
    position = inner + (0.5 * (before - after) / bend).clip(-1.0, 1.0)
    index = np.arange(len(curve))
    return np.stack([np.interp(position, index, curve[:, axis]) for axis in range(2)], axis=-1)
