"""Sample measurements of a finger whose constants are known: photographs and tip forces."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from softgrasp.calibration.synthetic import synthetic_forces
from softgrasp.description.soft_finger import SoftFinger
from softgrasp.errors import ResultError
from softgrasp.formats.atomic import atomic_path, write_text
from softgrasp.formats.progress import report_progress
from softgrasp.simulation.equilibrium import equilibrium

if TYPE_CHECKING:
    from softgrasp.vision.image import Image

GRAMS = (0, 20, 40)
PRESSURES = tuple(2e4 * step for step in range(1, 6))
"""20 … 100 kPa [Pa]."""
WIDTH = 1280
"""Of a photograph [pixels]."""
NOISE = 0.01
"""Standard deviation of a photograph [parts of full scale]."""
FORCE_NOISE = 0.01
"""Standard deviation of a force [N]."""


def write_sample(finger: SoftFinger, directory: str | Path, *, seed: int = 0) -> list[Path]:
    """Photograph a finger under weights and press its tip on a scale, in simulation.

    Args:
        finger: A planar finger whose constants a calibration is to find again.
        directory: Where ``photos/0g.png``, ``20g.png``, ``40g.png``, ``forces.csv`` and the true
            constants, ``truth.csv``, go.
        seed: Of the noise.

    Returns:
        The files.

    Raises:
        BackendUnavailable: OpenCV is missing.
        ResultError: The folder exists already, or cannot be written.
    """
    from softgrasp.vision.synthetic_photos import synthetic_photo

    directory = Path(directory)
    if directory.exists():
        raise ResultError(f"{directory}: expected no folder, found one; it is not overwritten")
    photos = []
    for done, grams in enumerate(GRAMS):
        report_progress(f"photographing {grams} g", done / len(GRAMS))
        pose = equilibrium(finger, tip_mass=1e-3 * grams, error_estimate=False)
        photos.append(
            synthetic_photo(finger, pose.joint_angles, WIDTH, noise=NOISE, seed=seed + grams)
        )
    written = [
        _save(photo.image, directory / "photos" / f"{grams}g.png")
        for grams, photo in zip(GRAMS, photos, strict=True)
    ]
    forces = synthetic_forces(finger, PRESSURES, FORCE_NOISE, seed, repeats=1)
    rows = [f"{one.pressure / 1e3:g},{one.force:.3f}" for one in forces]
    lines = ["pressure_kPa,force_N", *rows, ""]
    written.append(write_text(directory / "forces.csv", "\n".join(lines)))
    return [*written, write_text(directory / "truth.csv", _truth(finger))]


def _truth(finger: SoftFinger) -> str:
    """The constants that a calibration is to find, a line each."""
    lines = ["parameter,value,unit"]
    lines += [f"k{i},{joint.stiffness:g},N·m/rad" for i, joint in enumerate(finger.joints, 1)]
    lines += [f"alpha{i},{joint.pressure_gain:g},m³" for i, joint in enumerate(finger.joints, 1)]
    return "\n".join([*lines, ""])


def _save(image: Image, path: Path) -> Path:
    from PIL import Image

    with atomic_path(path) as temporary:
        Image.fromarray(image).save(temporary)
    return path
