"""Taxels in rows along a body and columns around it, and how they share a contact's force."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from softgrasp.mechanics.transforms import Array


class TaxelGrid(NamedTuple):
    """A grid of taxels around a body, in the body's frame."""

    center: Array
    """Middle of the body's box [m], (3,)."""
    axes: Array
    """Unit vectors: the one along the rows, the one that the middle column looks to, and the one
    to which columns go on from there, (3, 3)."""
    length: float
    """Of the body along the rows [m]."""
    rows: int
    columns: int


def taxel_grid(corners: Array, rows: int, columns: int) -> TaxelGrid:
    """The grid around a body.

    Args:
        corners: Points of the body in its frame whose box is the body's [m], (n, 3).
        rows: Along the longest edge of the box.
        columns: Around it, counterclockwise; the middle one looks along the next axis of the frame,
            which is where a link of a finger touches, so that the seam is at its back.
    """
    low, high = corners.min(axis=0), corners.max(axis=0)
    longest = int(np.argmax(np.round(high - low, 9)))
    axes = np.roll(np.eye(3), -longest, axis=0)
    return TaxelGrid(0.5 * (low + high), axes, float((high - low)[longest]), rows, columns)


def taxel_centers(grid: TaxelGrid) -> tuple[Array, Array]:
    """Where the taxels are: along the rows from the middle [m], and around from the middle [rad].

    Seen from the tip of the first axis, columns go counterclockwise.

    Returns:
        (rows,) and (columns,), both rising through zero.
    """
    along = ((np.arange(grid.rows) + 0.5) / grid.rows - 0.5) * grid.length
    around = ((np.arange(grid.columns) + 0.5) / grid.columns - 0.5) * 2.0 * np.pi
    return along, around


def distribute(grid: TaxelGrid, points: Array, forces: Array) -> Array:
    """Forces of contacts as taxels feel them, (rows, columns) [N].

    Each is shared among the four taxels around its point by bilinear weights whose sum is one;
    beyond the outer rows it is all theirs. So the sum over the taxels is the sum of the forces.

    Args:
        grid: The taxels.
        points: In the body's frame [m], (n, 3).
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
