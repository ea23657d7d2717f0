"""Checkerboards in photographs: remove tilt and perspective, read the scale, calibrate the camera.

OpenCV detects the corners (``findChessboardCornersSB``), rectifies (``findHomography``,
``warpPerspective``) and estimates intrinsics with their standard errors
(``calibrateCameraExtended``; Zhang 2000).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import numpy as np
from pydantic import Field

from softgrasp.description.base import Description, Positive
from softgrasp.description.sensor import PinholeCamera
from softgrasp.errors import DescriptionError
from softgrasp.mechanics.transforms import Array
from softgrasp.vision.image import Image, check_image, opencv, read_photo

MAX_GROWTH = 1.6
"""Largest width or height of the rectified image over that of the original [–]."""
MIN_BOARDS, ADVISED_BOARDS = 4, 10
"""Smallest number of photographs of the board, and the one to take."""
MAX_FOCAL_ERROR = 0.02
"""Largest standard error of the focal length [–]."""
MIN_TILT = 12.0
"""Smallest tilt of the most tilted board [deg]; one seen from the front only does not determine the
focal length, whatever its standard error."""
MAX_RESIDUAL, OUTLIER = 1.0, 3.0
"""Root mean square of the corners' distances from the fitted ones that is reported [pixels], and
that of a photograph over the median of all [–]."""
MIN_COVERAGE = 0.4
"""Smallest fraction of the image that all boards together should cover [–]."""
Corners = Annotated[int, Field(strict=True, ge=3, le=100)]


class Checkerboard(Description):
    """A checkerboard in the plane in which the finger bends."""

    rows: Corners
    """Inner corners in a column of the board: one less than its squares."""
    columns: Corners
    """Inner corners in a row."""
    square: Positive
    """Side of a square [m]."""

    @property
    def points(self) -> Array:
        """Column and row of the inner corners, row by row, (rows · columns, 2) [squares]."""
        return np.indices((self.rows, self.columns))[::-1].reshape(2, -1).T.astype(float)


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
    grid = corners.reshape(board.rows, board.columns, 2)
    steps = (np.linalg.norm(np.diff(grid, axis=axis), axis=-1).ravel() for axis in (1, 0))
    side = float(np.concatenate([*steps]).mean())
    flat, _ = cv2.findHomography(corners, side * board.points)
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
    straight = cv2.warpPerspective(
        image, np.linalg.inv(half) @ (shift @ flat) @ half, size.tolist(),
        flags=cv2.INTER_CUBIC, borderMode=cv2.BORDER_REPLICATE,
    )  # fmt: skip
    return np.asarray(straight), board.square / side


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
    rotated = [np.rot90(grid, quarter) for quarter in range(4)]
    upright = max(  # rows run to the right and columns down
        (item for item in rotated if item.shape == grid.shape),
        key=lambda element: (
            (element[:, -1] - element[:, 0])[:, 0].sum() + (element[-1] - element[0])[:, 1].sum()
        ),
    )
    return np.asarray(upright.reshape(-1, 2))


# Intrinsics


@dataclass(frozen=True, eq=False)
class CameraCalibration:
    """Intrinsics of a camera, with how well they are known.

    Args:
        camera: Focal lengths, principal point and distortion.
        errors: Standard errors of fx, fy, cx, cy [pixels], k1, k2, p1, p2 [–].
        residual: Root mean square of the corners' distances from the fitted ones [pixels].
        used: Photographs in which the board was found.
        coverage: Fraction of the image within the convex hull of all corners [–].
        warnings: What limits the accuracy.
    """

    camera: PinholeCamera
    errors: dict[str, float]
    residual: float
    used: tuple[Path, ...]
    coverage: float
    warnings: tuple[str, ...]


def calibrate_camera(files: Sequence[Path], board: Checkerboard) -> CameraCalibration:
    """Estimate the intrinsics of a camera.

    Args:
        files: Photographs of the board, tilted in several directions, focus and zoom unchanged.
        board: Checkerboard; its squares scale nothing but the distance of the camera.

    Raises:
        DescriptionError: Too few photographs show the board, their sizes differ, or they do not
            determine the focal length.
        BackendUnavailable: OpenCV is not installed.
    """
    cv2 = opencv()
    corners, missed, size = _corners(files, board)
    used = tuple(corners)
    if len(used) < MIN_BOARDS:
        without = f": none in {', '.join(missed[:6])}" if missed else ""
        raise DescriptionError(
            f"expected {MIN_BOARDS} photographs or more that show a checkerboard with {board.rows} "
            f"× {board.columns} inner corners, better {ADVISED_BOARDS}, found {len(used)} among "
            f"{len(files)}{without}; count inner corners, and show the whole board with a white rim"
        )
    flat = board.square * np.insert(board.points, 2, 0.0, axis=1)
    # OpenCV counts from the middle of the first pixel
    pixels = [(corner - 0.5).astype(np.float32)[:, None] for corner in corners.values()]
    residual, matrix, distortion, rotations, _, spread, _, per_view = cv2.calibrateCameraExtended(
        [flat.astype(np.float32)] * len(used), pixels, size, None, None, flags=cv2.CALIB_FIX_K3
    )
    names = ("fx", "fy", "cx", "cy", "k1", "k2", "p1", "p2")
    errors = dict(zip(names, np.ravel(spread)[:8].tolist(), strict=True))
    k1, k2, p1, p2 = np.ravel(distortion)[:4].tolist()
    tilts = [np.degrees(np.arccos(abs(cv2.Rodrigues(rotation)[0][2, 2]))) for rotation in rotations]
    if max(tilts) < MIN_TILT:
        raise DescriptionError(
            f"expected boards tilted by {MIN_TILT:g}° or more, better 20° to 45° in several "
            f"directions, found at most {max(tilts):.0f}°; the focal length is not determined"
        )
    relative = max(errors["fx"] / matrix[0, 0], errors["fy"] / matrix[1, 1])
    if not relative < MAX_FOCAL_ERROR:
        raise DescriptionError(
            f"expected a focal length with a standard error below {100 * MAX_FOCAL_ERROR:g} %, "
            f"found {100 * relative:.2g} %; tilt the board by 20° to 45° in several directions"
        )
    camera = PinholeCamera(
        fx=float(matrix[0, 0]), fy=float(matrix[1, 1]), cx=float(matrix[0, 2]) + 0.5,
        cy=float(matrix[1, 2]) + 0.5, k1=k1, k2=k2, p1=p1, p2=p2, width=size[0], height=size[1],
        source=f"{len(used)} photographs of a checkerboard, residual {residual:.2g} pixels rms",
    )  # fmt: skip
    hull = cv2.convexHull(np.concatenate([*corners.values()]).astype(np.float32))
    coverage = float(cv2.contourArea(hull)) / (size[0] * size[1])
    warnings = tuple(_limits(used, missed, residual, np.ravel(per_view), coverage))
    return CameraCalibration(camera, errors, residual, used, coverage, warnings)


def _corners(
    files: Sequence[Path], board: Checkerboard
) -> tuple[dict[Path, Array], list[str], tuple[int, int]]:
    """Return corners by photograph, names of those without a board, and their width and height."""
    corners: dict[Path, Array] = {}
    missed: list[str] = []
    size = (0, 0)
    for file in files:
        image = read_photo(file)
        height, width = image.shape[:2]
        if size not in ((0, 0), (width, height)):
            raise DescriptionError(
                f"expected {size[0]} × {size[1]} pixels as in the other photographs, found "
                f"{width} × {height}; intrinsics are those of one image size",
                file=file,
            )
        size = (width, height)
        try:
            corners[file] = find_board(check_image(image), board)
        except DescriptionError:
            missed.append(file.name)
    return corners, missed, size


def _limits(
    used: Sequence[Path], missed: list[str], residual: float, residuals: Array, coverage: float
) -> Iterator[str]:
    """Yield what limits the accuracy of a camera calibration."""
    if missed:
        yield f"the checkerboard was not found in {', '.join(missed)}; they are not used"
    if len(used) < ADVISED_BOARDS:
        yield f"expected {ADVISED_BOARDS} photographs of the board or more, found {len(used)}"
    if residual > MAX_RESIDUAL:
        yield (
            f"corners are {residual:.2g} pixels rms from the fitted ones, expected at most "
            f"{MAX_RESIDUAL:g}: is the board flat, and were focus and zoom unchanged?"
        )
    worst = int(np.argmax(residuals))
    if residuals[worst] > OUTLIER * float(np.median(residuals)):
        yield (
            f"{used[worst].name} fits {residuals[worst] / np.median(residuals):.2g} times worse "
            "than the others; is it blurred?"
        )
    if coverage < MIN_COVERAGE:
        yield (
            f"the boards cover {100 * coverage:.0f} % of the image, expected "
            f"{100 * MIN_COVERAGE:g} % or more; distortion is unknown beyond them: move the board "
            "into the corners"
        )


def undistort_image(image: Image, camera: PinholeCamera) -> Image:
    """Remove the distortion of a lens; focal lengths and principal point stay.

    Raises:
        DescriptionError: The image has another size than the camera.
    """
    height, width = image.shape[:2]
    if (width, height) != (camera.width, camera.height):
        raise DescriptionError(
            f"expected {camera.width} × {camera.height} pixels as in the camera, found "
            f"{width} × {height}",
            field="lens",
        )
    matrix = np.array(
        [[camera.fx, 0.0, camera.cx - 0.5], [0.0, camera.fy, camera.cy - 0.5], [0.0, 0.0, 1.0]]
    )
    distortion = np.array([camera.k1, camera.k2, camera.p1, camera.p2, camera.k3])
    return np.asarray(opencv().undistort(image, matrix, distortion))
