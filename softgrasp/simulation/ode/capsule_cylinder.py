"""Where a capsule and a cylinder touch: what ODE leaves out unless it is built with libccd."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

from softgrasp.simulation.ode.poses import Array, Pose

GOLDEN = (math.sqrt(5.0) - 1.0) / 2.0
NARROWINGS = 40
"""Steps of the search along the capsule; each leaves 62 % of the interval."""
APART = 1e-3
"""Points nearer to each other than this part of the capsule's length are one."""


class Point(NamedTuple):
    """One point of contact, in the world."""

    position: Array
    """(3,) in the middle of what overlaps [m]."""
    normal: Array
    """(3,) out of the cylinder, towards the capsule."""
    depth: float
    """[m]"""


def touching(
    capsule: Pose, capsule_size: tuple[float, float], cylinder: Pose, size: tuple[float, float]
) -> list[Point]:
    """Points of contact: the deepest one, and those that bound a line of contact.

    The signed distance to a convex body is convex along a line, so that the deepest point of the
    capsule's axis is found by golden-section search.

    Args:
        capsule: Frame of the capsule, whose axis is z.
        capsule_size: Its radius and the length of its axis [m].
        cylinder: Frame of the cylinder, whose axis is z.
        size: Its radius and height [m].

    Returns:
        At most three points; none where they are apart.
    """
    radius, length = capsule_size
    seen = cylinder.inverse() @ capsule
    middle, axis = seen.position.tolist(), (seen.rotation[:, 2] * length).tolist()
    if math.hypot(*middle) > length / 2.0 + radius + math.hypot(size[0], size[1] / 2.0):
        return []

    def at(fraction: float) -> list[float]:
        return [m + (fraction - 0.5) * a for m, a in zip(middle, axis, strict=True)]

    def depth(fraction: float) -> float:
        return radius - _outside(at(fraction), size)[0]

    deepest = _largest(depth)
    ends = [
        fraction
        for fraction in (0.0, 1.0, *_crossings(middle, axis, size))
        if depth(fraction) > 0.0
    ]
    chosen = [deepest] if depth(deepest) > 0.0 else []
    chosen += [
        end
        for end in dict.fromkeys([min(ends), max(ends)] if ends else [])
        if abs(end - deepest) > APART
    ]
    points = []
    for fraction in chosen:
        distance, normal = _outside(at(fraction), size)
        overlap = radius - distance
        inside = [
            p - (radius - overlap / 2.0) * n for p, n in zip(at(fraction), normal, strict=True)
        ]
        points.append(Point(cylinder.apply(inside), cylinder.rotation @ normal, overlap))
    return points


def _outside(point: list[float], size: tuple[float, float]) -> tuple[float, list[float]]:
    """Signed distance of a point from a cylinder about z, and its gradient."""
    x, y, z = point
    ring = math.hypot(x, y)
    out, up = ring - size[0], abs(z) - size[1] / 2.0
    radial = [x / ring, y / ring] if ring > 0.0 else [1.0, 0.0]
    side = math.copysign(1.0, z)
    if out > 0.0 and up > 0.0:
        distance = math.hypot(out, up)
        out, up = out / distance, up / distance
        return distance, [radial[0] * out, radial[1] * out, side * up]
    if out > up:
        return out, [*radial, 0.0]
    return up, [0.0, 0.0, side]


def _largest(depth: Callable[[float], float]) -> float:
    """Where a concave function of 0 … 1 is largest."""
    low, high = 0.0, 1.0
    for _ in range(NARROWINGS):
        width = GOLDEN * (high - low)
        if depth(high - width) >= depth(low + width):
            high = low + width
        else:
            low = high - width
    return (low + high) / 2.0


def _crossings(middle: list[float], axis: list[float], size: tuple[float, float]) -> list[float]:
    """Where the axis of the capsule crosses the planes of the flat sides and the round one."""
    fractions = []
    if axis[2] != 0.0:
        fractions = [0.5 + (side * size[1] / 2.0 - middle[2]) / axis[2] for side in (1.0, -1.0)]
    a = axis[0] ** 2 + axis[1] ** 2
    b = middle[0] * axis[0] + middle[1] * axis[1]
    inside = b * b - a * (middle[0] ** 2 + middle[1] ** 2 - size[0] ** 2)
    if a > 0.0 and inside > 0.0:
        fractions += [0.5 + (-b + side * math.sqrt(inside)) / a for side in (1.0, -1.0)]
    return [fraction for fraction in fractions if 0.0 < fraction < 1.0]
