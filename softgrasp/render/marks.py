"""Marks put over a picture: contact points and force arrows."""

from __future__ import annotations

from dataclasses import dataclass

Point = tuple[float, float, float]
Rgba = tuple[float, float, float, float]


@dataclass(frozen=True)
class Arrow:
    """An arrow in the world, drawn over all bodies.

    Args:
        start: Where it begins [m].
        vector_end: Where its tip is [m]: a point, not a difference.
        radius: Radius of the shaft [m].
        rgba: Colour, each part from 0 to 1.
    """

    start: Point
    vector_end: Point
    radius: float
    rgba: Rgba


@dataclass(frozen=True)
class Ball:
    """A small ball in the world, drawn over all bodies.

    Args:
        center: Its middle [m].
        radius: Its radius [m].
        rgba: Colour, each part from 0 to 1.
    """

    center: Point
    radius: float
    rgba: Rgba


Mark = Arrow | Ball
