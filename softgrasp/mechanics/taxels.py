"""Taxel grids of tactile skins, and the distribution of contact forces to their taxels."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from softgrasp.mechanics.transforms import Array


class TaxelGrid(NamedTuple):
    """A grid of taxels around a body, in the body's frame."""

    center: Array
    """Centre of the body's box [m], (3,)."""
    axes: Array
    """Unit vectors (3, 3): along the rows, towards the middle column, and towards the next
    columns."""
    length: float
    """Length of the body along the rows [m]."""
    rows: int
    columns: int


def taxel_grid(corners: Array, rows: int, columns: int) -> TaxelGrid:
    """Make the grid around a body.

    Args:
        corners: Points of the body in its frame whose bounding box is the body's [m], (n, 3).
        rows: Number of rows along the longest edge of the box.
        columns: Number of columns around it, counterclockwise. The middle one faces along the next
            axis of the frame, where a finger link touches, so that the seam is on the opposite
            side.
    """
    low, high = corners.min(axis=0), corners.max(axis=0)
    longest = int(np.argmax(np.round(high - low, 9)))
    axes = np.roll(np.eye(3), -longest, axis=0)
    return TaxelGrid(0.5 * (low + high), axes, float((high - low)[longest]), rows, columns)


def distribute(grid: TaxelGrid, points: Array, forces: Array) -> Array:
    """Distribute contact forces to the taxels, (rows, columns) [N].

    Each force is shared by the four nearest taxels with bilinear weights whose sum is one; beyond
    the outer rows it belongs to those entirely. The sum over the taxels is the sum of the forces.

    Args:
        grid: The taxels.
        points: Contact points in the body's frame [m], (n, 3).
        forces: Normal forces [N], (n,).
    """
    along, first, second = ((points - grid.center) @ grid.axes.T).T
    row = np.clip((along / grid.length + 0.5) * grid.rows - 0.5, 0.0, grid.rows - 1.0)
    angle_fraction = np.arctan2(second, first) / (2.0 * np.pi) + 0.5
    column = (angle_fraction * grid.columns - 0.5) % grid.columns
    felt = np.zeros((grid.rows, grid.columns))
    upper, left = np.floor(row).astype(int), np.floor(column).astype(int)
    down, right = row - upper, column - left
    for r, of_row in ((upper, 1.0 - down), (np.minimum(upper + 1, grid.rows - 1), down)):
        for c, of_column in ((left, 1.0 - right), (left + 1, right)):
            np.add.at(felt, (r, c % grid.columns), of_row * of_column * forces)
    return felt
