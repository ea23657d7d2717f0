"""Images of the photographs and videos of a calibration: how they were read, and their outlines."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from softgrasp.calibration.files import LoadedProblem
from softgrasp.calibration.objectives import finger_values
from softgrasp.calibration.result import CalibrationResult
from softgrasp.calibration.stages import VirtualExperiments
from softgrasp.continuum.statics import joint_positions
from softgrasp.description.calibration import HungAngles
from softgrasp.mechanics.transforms import Array
from softgrasp.rendering import write_png
from softgrasp.report import style
from softgrasp.report.grasp_report import Figure

if TYPE_CHECKING:
    from softgrasp.vision.joint_angles import PhotoMeasurement


EVIDENCE = (
    ("photo_*_*g.png", "Photograph with {} g", "From the photograph to joint points and angles."),
    ("film_*_*g.png", "Video of the release of {} g",
     "The last frame, and the path of the tip until then."),
)  # fmt: skip
"""Pattern, heading and caption of the images of measurements; {} is the mass [g]."""
OVERLAYS = "overlays.png"
INCHES = 8.0
"""Width of such an image; figures have ten inches, so its letters are smaller."""
COLUMNS = 2
MARGIN = 0.05
"""Margin around the finger, over its length."""


def draw_images(result: CalibrationResult, loaded: LoadedProblem, directory: Path) -> None:
    """Draw how photographs and videos were read, and outlines on photographs of a known scale.

    Raises:
        ResultError: The directory cannot be written.
    """
    scaled = [photo for photo in loaded.photos if photo[1].metres_per_px is not None]
    if scaled and "springs" in result.residual:
        draw_overlays(result, scaled, directory / OVERLAYS)
    draw_evidence(loaded, directory)


def draw_evidence(loaded: LoadedProblem, directory: Path) -> None:
    """Draw the steps of every photograph, and the tip path over every video's last frame.

    Raises:
        ResultError: The directory cannot be written.
    """
    from softgrasp.vision.figures import annotate_frame, steps_image

    for number, (mass, photo) in enumerate(loaded.photos, start=1):
        file = directory / f"photo_{number}_{1e3 * mass:g}g.png"
        write_png(file, steps_image(photo), INCHES)
    for number, (mass, track) in enumerate(loaded.tracks, start=1):
        frame = annotate_frame(track, len(track.time) - 1)
        write_png(directory / f"film_{number}_{1e3 * mass:g}g.png", frame, INCHES)


def images_in(directory: Path) -> list[Figure]:
    """Return the images of measurements in a directory."""
    images = []
    for pattern, title, caption in EVIDENCE:
        paths = directory.glob(pattern)
        for path in sorted(paths, key=lambda path: int(path.stem.split("_")[1])):
            mass = path.stem.split("_", 2)[2].removesuffix("g")
            images.append(Figure(title.format(mass), path, caption))
    overlays = directory / OVERLAYS
    text = "Outlines read from the photographs, and those of the calibrated finger."
    return [Figure("Outlines", overlays, text)] * overlays.exists() + images


def draw_overlays(
    result: CalibrationResult, photos: Sequence[tuple[float, PhotoMeasurement]], path: str | Path
) -> Path:
    """Draw the detected and the simulated outline over photographs of a known scale, by mass [kg].

    The simulated outline is the detected one, moved link by link from the measured shape to the
    shape of the calibrated finger under the same weight.
    """
    rows = -(-len(photos) // COLUMNS)
    outlines = [np.vstack([p.outline.points, p.outline.points[:1]]) for _, p in photos]
    moved = [
        _move_outline(result, mass, photo, detected)
        for (mass, photo), detected in zip(photos, outlines, strict=True)
    ]
    points = np.vstack([*outlines, *moved])
    low, high = points.min(axis=0), points.max(axis=0)
    margin = MARGIN * (high - low).max()
    low, high = low - margin, high + margin
    wide = (style.WIDTH - 0.2 - 0.15 * (COLUMNS - 1)) / COLUMNS
    tall = wide * float((high - low)[1] / (high - low)[0])
    with style.figure(path, 0.65 + tall * rows + 0.35 * (rows - 1)) as (figure, table):
        panels = style.subplots(
            figure, len(photos), COLUMNS, margins=(0.1, 0.1, 0.1, 0.55), gaps=(0.15, 0.35)
        )
        drawn = zip(panels, photos, outlines, moved, strict=True)
        for axes, (mass, photo), detected, simulated in drawn:
            axes.imshow(photo.image, alpha=0.55)
            axes.plot(*detected.T, color=style.LOST, lw=1.2, label="detected in the photograph")
            axes.plot(*simulated.T, color=style.POSITION, lw=1.0, ls="--", label="simulated")
            for kind, outline in (("detected", detected), ("simulated", simulated)):
                table.add_points(f"{1e3 * mass:g} g {kind}", "xy", "px", outline)
            axes.set_title(f"{1e3 * mass:g} g")
            axes.set_xlim(low[0], high[0])
            axes.set_ylim(high[1], low[1])
            axes.axis("off")
        style.legend(figure)
    return Path(path)


def _move_outline(
    result: CalibrationResult, mass: float, photo: PhotoMeasurement, outline: Array
) -> Array:
    """Move the pixels of an outline (m, 2) with their links to the simulated shape."""
    finger = result.finger
    load = HungAngles(mass=mass, angles=(0.0,) * len(finger.joints))
    (angles,) = VirtualExperiments(result.problem).hung(
        finger_values(finger, "stiffness")[None], [load]
    )
    measured = np.zeros(len(finger.joints))
    measured[: len(photo.angles)] = photo.angles
    assert photo.metres_per_px is not None
    # the pixel y axis points down; the first joint is fixed
    here, there = (
        joint_positions(finger, shape)[:, ::2] / photo.metres_per_px * [1.0, -1.0]
        for shape in (measured, angles[0])
    )
    points = outline - photo.joints_px[0] + here[0]

    link = _links(points, here)
    moved = points.copy()
    for index, angle in enumerate(np.cumsum(angles[0] - measured)):
        on_link, cosine, sine = link == index, np.cos(angle), np.sin(angle)
        rotation = np.array([[cosine, sine], [-sine, cosine]])
        moved[on_link] = (points[on_link] - here[index]) @ rotation + there[index]
    return np.asarray(moved - here[0] + photo.joints_px[0])


def _links(points: Array, joints: Array) -> Array:
    """Index of the link of each point, −1 for the clamped part, (m,)."""
    steps = np.diff(joints, axis=0)
    directions = steps / np.linalg.norm(steps, axis=1, keepdims=True)
    # links are separated at the bisector of their directions
    before = np.vstack([[[1.0, 0.0]], directions[:-1]])
    cuts = directions + before
    outside = ((points[:, None] - joints[:-1]) * cuts).sum(axis=2) > 0.0
    return np.asarray(np.minimum.accumulate(outside, axis=1).sum(axis=1) - 1)
