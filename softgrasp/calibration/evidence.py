"""Pictures of what was read from photographs and films."""

from __future__ import annotations

from pathlib import Path

from softgrasp.calibration.problem_file import LoadedProblem
from softgrasp.formats.atomic import atomic_path
from softgrasp.vision.image import Image

INCHES = 8.0
"""Width of such a picture among figures of ten, whose letters are smaller."""


def draw_evidence(loaded: LoadedProblem, directory: Path) -> list[tuple[str, Path, str]]:
    """The steps of every photograph, and every film's last frame with the way of its tip.

    Returns:
        Heading, file and caption of each.

    Raises:
        ResultError: The folder cannot be written.
    """
    from softgrasp.vision.debug_figures import steps_image
    from softgrasp.vision.tip_tracking import annotated_frame

    images = []
    for number, (mass, photo) in enumerate(loaded.photos, start=1):
        path = _written(steps_image(photo), directory / f"photo_{number}_{1e3 * mass:g}g.png")
        images.append((f"Photograph with {1e3 * mass:g} g", path,
                     "From the photograph to joint points and angles."))  # fmt: skip
    for number, (mass, track) in enumerate(loaded.tracks, start=1):
        frame = annotated_frame(track, len(track.time) - 1)
        path = _written(frame, directory / f"film_{number}_{1e3 * mass:g}g.png")
        images.append((f"Film of the release of {1e3 * mass:g} g", path,
                     "The last frame, and the way of the tip until then."))  # fmt: skip
    return images


def _written(image: Image, path: Path) -> Path:
    from PIL import Image

    dots = image.shape[1] / INCHES
    with atomic_path(path) as temporary:
        Image.fromarray(image).save(temporary, dpi=(dots, dots))
    return path
