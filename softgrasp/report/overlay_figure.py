"""Photographs with the outline that was read and the one of the simulated finger (Fig 6)."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from softgrasp.calibration.objectives import finger_values
from softgrasp.calibration.result import CalibrationResult
from softgrasp.calibration.stages import VirtualExperiments
from softgrasp.continuum.statics import joint_positions
from softgrasp.description.calibration import HungAngles
from softgrasp.mechanics.transforms import Array
from softgrasp.report import style

if TYPE_CHECKING:
    from softgrasp.vision.joint_angles import PhotoMeasurement

COLUMNS = 2
MARGIN = 0.05
"""Around the finger, over its length."""


def draw_overlays(
    result: CalibrationResult,
    photos: Sequence[tuple[float, PhotoMeasurement]],
    path: str | Path,
) -> Path:
    """Draw outlines over photographs.

    The simulated outline is the one that was read, carried link by link from the measured shape
    to that of the calibrated finger under the same weight.

    Args:
        result: What was found.
        photos: Masses [kg] and photographs, scaled.
        path: The ``.png`` to write.
    """
    rows = -(-len(photos) // COLUMNS)
    outlines = [np.vstack([p.outline.points, p.outline.points[:1]]) for _, p in photos]
    moved = [
        _carried(result, mass, photo, read)
        for (mass, photo), read in zip(photos, outlines, strict=True)
    ]
    low, high = _crop([*outlines, *moved])
    wide = (style.WIDTH - 0.2 - 0.15 * (COLUMNS - 1)) / COLUMNS
    tall = wide * float((high - low)[1] / (high - low)[0])
    with style.figure(path, 0.65 + tall * rows + 0.35 * (rows - 1)) as figure:
        grid = style.panels(figure, rows, COLUMNS, margins=(0.1, 0.1, 0.1, 0.55), gaps=(0.15, 0.35))
        for index, (mass, photo) in enumerate(photos):
            read, carried = outlines[index], moved[index]
            axes = figure.add_subplot(grid[index // COLUMNS, index % COLUMNS])
            axes.imshow(photo.image, alpha=0.55)
            axes.plot(*read.T, color=style.LOST, lw=1.2, label="read from the photograph")
            axes.plot(*carried.T, color=style.POSITION, lw=1.0, ls="--", label="simulated")
            axes.set_title(f"{1e3 * mass:g} g")
            axes.set_xlim(low[0], high[0])
            axes.set_ylim(high[1], low[1])
            axes.axis("off")
        handles, _ = figure.axes[0].get_legend_handles_labels()
        style.legend(figure, handles, columns=2)
    return Path(path)


def _crop(outlines: Sequence[Array]) -> tuple[Array, Array]:
    """The corners of what all outlines need, with room around [px]."""
    points = np.vstack(outlines)
    low, high = points.min(axis=0), points.max(axis=0)
    margin = MARGIN * (high - low).max()
    return low - margin, high + margin


def _carried(
    result: CalibrationResult, mass: float, photo: PhotoMeasurement, outline: Array
) -> Array:
    """Pixels of an outline (m, 2), moved with its links."""
    finger = result.finger
    load = HungAngles(mass=mass, angles=(0.0,) * len(finger.joints))
    (angles,) = VirtualExperiments(result.problem).hung(
        finger_values(finger, "stiffness")[None], [load]
    )
    measured = np.zeros(len(finger.joints))
    measured[: len(photo.angles)] = photo.angles
    assert photo.metres_per_px is not None
    # pixels run downwards, and the first joint stays where it is
    here, there = (
        joint_positions(finger, shape)[:, ::2] / photo.metres_per_px
        for shape in (measured, angles[0])
    )
    here, there = here * [1.0, -1.0], there * [1.0, -1.0]
    points = outline - photo.joints_px[0] + here[0]
    angle_changes = np.cumsum(angles[0] - measured)
    link = _links(points, here)
    moved = points.copy()
    for index, angle_change in enumerate(angle_changes):
        mine = link == index
        cosine, sine = np.cos(angle_change), np.sin(angle_change)
        rotation = np.array([[cosine, sine], [-sine, cosine]])
        moved[mine] = (points[mine] - here[index]) @ rotation + there[index]
    return np.asarray(moved - here[0] + photo.joints_px[0])


def _links(points: Array, joints: Array) -> Array:
    """Number of the link that each point belongs to, −1 for the clamped one, (m,)."""
    steps = np.diff(joints, axis=0)
    directions = steps / np.linalg.norm(steps, axis=1, keepdims=True)
    # a joint parts its links along the bisector of their directions
    before = np.vstack([[[1.0, 0.0]], directions[:-1]])
    cuts = directions + before
    beyond = ((points[:, None] - joints[:-1]) * cuts).sum(axis=2) > 0.0
    return np.asarray(np.minimum.accumulate(beyond, axis=1).sum(axis=1) - 1)
