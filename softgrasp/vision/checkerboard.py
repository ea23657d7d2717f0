"""Checkerboards in photographs: find the corners, remove tilt and perspective, read the scale.

Detected and rectified by OpenCV (``findChessboardCornersSB``, ``findHomography``,
``warpPerspective``).
"""

from __future__ import annotations

from typing import Annotated

import numpy as np
from pydantic import Field

from softgrasp.description.base import Description, Positive
from softgrasp.errors import DescriptionError
from softgrasp.mechanics.transforms import Array
from softgrasp.vision.image import Image, opencv

MAX_GROWTH = 1.6
"""Largest width or height of the rectified image over that of the original [–]."""
Corners = Annotated[int, Field(strict=True, ge=3, le=100)]


class Checkerboard(Description):
    """A checkerboard in the plane in which the finger bends."""

    rows: Corners
    """Inner corners in a column of the board: one less than its squares."""
    columns: Corners
    """Inner corners in a row."""
    square: Positive
    """Side of a square [m]."""


def rectify(image: Image, board: Checkerboard) -> tuple[Image, float]:
    """Remove tilt and perspective from a photograph.

    The board's rows become level and its squares square; a pixel at the board keeps its size
    approximately. Objects nearer to the camera or farther away than the board keep their
    parallax.

    Returns:
        The image, and the side of its pixels [m].

    Raises:
        DescriptionError: The board is not detected, or the view is too oblique.
    """
    cv2 = opencv()
    corners = find_board(image, board)
    rows, columns = np.mgrid[: board.rows, : board.columns]
    side = _square_px(corners.reshape(board.rows, board.columns, 2))
    ideal = side * np.stack([columns, rows], axis=-1).reshape(-1, 2).astype(float)
    flat, _ = cv2.findHomography(corners, ideal)
    height, width = image.shape[:2]
    frame = np.array([[0.0, 0.0], [width, 0.0], [width, height], [0.0, height]])
    seen = cv2.perspectiveTransform(frame[:, None], flat)[:, 0]
    low, size = seen.min(axis=0), np.ceil(np.ptp(seen, axis=0)).astype(int)
    behind = (np.column_stack([frame, np.ones(4)]) @ flat[2] <= 0.0).any()
    if behind or (size > MAX_GROWTH * np.array([width, height])).any():
        raise DescriptionError(
            "expected a checkerboard seen from the front, found a view so oblique that the "
            f"image would grow from {width} × {height} to {size[0]} × {size[1]} pixels",
            field="board",
        )
    shift = np.array([[1.0, 0.0, -low[0]], [0.0, 1.0, -low[1]], [0.0, 0.0, 1.0]])
    half = np.array([[1.0, 0.0, 0.5], [0.0, 1.0, 0.5], [0.0, 0.0, 1.0]])
    # OpenCV counts from the middle of the first pixel. Pixels beyond the image get the colour of
    # its border, so that a finger that reaches over a border still does.
    between = np.linalg.inv(half) @ (shift @ flat) @ half
    straight = cv2.warpPerspective(
        image,
        between,
        (int(size[0]), int(size[1])),
        flags=cv2.INTER_CUBIC,
        borderMode=cv2.BORDER_REPLICATE,
    )
    return np.asarray(straight), board.square / side


def _square_px(grid: Array) -> float:
    """Return the mean side of a square [pixels]."""
    along = np.linalg.norm(np.diff(grid, axis=1), axis=-1)
    down = np.linalg.norm(np.diff(grid, axis=0), axis=-1)
    return float(np.concatenate([along.ravel(), down.ravel()]).mean())


def find_board(image: Image, board: Checkerboard) -> Array:
    """Find the inner corners of the board, row by row, (rows · columns, 2) [pixels].

    Rows run along the side of the board that has ``columns`` corners; of the possible orders the
    one with the least rotation of the board is returned.

    Raises:
        DescriptionError: The board is not detected.
    """
    cv2 = opencv()
    grey = cv2.cvtColor(image, cv2.COLOR_RGB2GRAY)
    flags = cv2.CALIB_CB_EXHAUSTIVE | cv2.CALIB_CB_ACCURACY
    detected, corners = cv2.findChessboardCornersSB(grey, (board.columns, board.rows), flags=flags)
    if not detected:
        raise DescriptionError(
            f"expected a checkerboard with {board.rows} × {board.columns} inner corners (rows × "
            "columns), all of them and a white rim in the image, found none",
            field="board",
        )
    grid = np.asarray(corners, dtype=float).reshape(board.rows, board.columns, 2) + 0.5
    rotated_grids = [np.rot90(grid, quarter) for quarter in range(4)]
    rotated_grids = [quarter for quarter in rotated_grids if quarter.shape == grid.shape]
    return np.asarray(max(rotated_grids, key=_uprightness).reshape(-1, 2))


def _uprightness(grid: Array) -> float:
    """Measure how much the rows run to the right and the columns down."""
    right, down = grid[:, -1] - grid[:, 0], grid[-1] - grid[0]
    return float(right.sum(axis=0)[0] + down.sum(axis=0)[1])
