"""Quaternions of orientations: of unit length, or near enough to be made so."""

from __future__ import annotations

import math

from softgrasp.description.base import Vec4

NEAR = 1e-3
"""A quaternion whose length is so near to 1 is one that was rounded; others are mistakes."""


def unit_quaternion(value: Vec4) -> Vec4:
    """A quaternion (w, x, y, z) of unit length from one whose length is 1 within 1e-3.

    Raises:
        ValueError: It is longer or shorter: the matrix that paper 001 makes of it (eq 7) would be
            no rotation, and normalising would hide that numbers are missing or mixed up.
    """
    norm = math.hypot(*value)
    if not abs(norm - 1.0) <= NEAR:
        raise ValueError(
            f"expected a quaternion (w, x, y, z) of norm 1 within {NEAR:g}, found {value} of norm "
            f"{norm:.6g}"
        )
    if abs(norm - 1.0) < 1e-14:
        return value
    w, x, y, z = (part / norm for part in value)
    return (w, x, y, z)
