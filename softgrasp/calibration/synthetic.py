"""Simulated measurements of a finger with known constants, to try calibrations.

``write_sample`` (``softgrasp new photos``) writes photographs and tip forces.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from softgrasp.calibration.objectives import LETTERS, finger_values
from softgrasp.calibration.stages import VirtualExperiments
from softgrasp.description.calibration import CalibrationProblem, TipForce
from softgrasp.description.soft_finger import SoftFinger
from softgrasp.errors import ResultError
from softgrasp.io.files import report_progress, write_text
from softgrasp.rendering import write_png
from softgrasp.sim.soft_statics import equilibrium

GRAMS = (0, 20, 40)
"""Masses on the photographs [g]."""
PRESSURES = tuple(2e4 * step for step in range(1, 6))
"""Pressures of the tip forces, 20 … 100 kPa [Pa]."""
WIDTH = 1280
"""Width of a photograph [pixels]."""
NOISE = 0.01
"""Standard deviation of a photograph [fraction of full scale]."""
FORCE_NOISE = 0.01
"""Standard deviation of a force [N]."""


def write_sample(finger: SoftFinger, directory: str | Path, *, seed: int = 0) -> list[Path]:
    """Render photographs of a finger under weights and simulate its tip forces.

    Args:
        finger: Planar finger whose constants a calibration is to recover.
        directory: Directory for ``photos/0g.png``, ``20g.png``, ``40g.png``, ``forces.csv`` and
            the true constants, ``truth.csv``.
        seed: Seed of the noise.

    Returns:
        The files.

    Raises:
        BackendUnavailable: OpenCV is missing.
        ResultError: The directory exists already, or cannot be written.
    """
    from softgrasp.vision.synthetic_photos import synthetic_photo

    directory = Path(directory)
    if directory.exists():
        raise ResultError(
            f"{directory}: expected a new directory, found an existing one; it is not overwritten"
        )
    photos = {}
    for done, grams in enumerate(GRAMS):
        report_progress(f"photographing {grams} g", done / len(GRAMS))
        pose = equilibrium(finger, tip_mass=1e-3 * grams, error_estimate=False)
        photo = synthetic_photo(finger, pose.joint_angles, WIDTH, noise=NOISE, seed=seed + grams)
        photos[f"{grams}g.png"] = photo.image
    forces = synthetic_forces(finger, PRESSURES, FORCE_NOISE, seed)
    rows = [f"{force.pressure / 1e3:g},{force.force:.3f}" for force in forces]
    truth = [
        f"{LETTERS[kind][0]}{number},{value:g},{LETTERS[kind][1]}"
        for kind in ("stiffness", "gain")
        for number, value in enumerate(finger_values(finger, kind), start=1)
    ]
    written = [write_png(directory / "photos" / name, image) for name, image in photos.items()]
    tables = {"forces": ["pressure_kPa,force_N", *rows], "truth": ["parameter,value,unit", *truth]}
    for name, lines in tables.items():
        written.append(write_text(directory / f"{name}.csv", "\n".join([*lines, ""])))
    return written


def synthetic_forces(
    finger: SoftFinger,
    pressures: Sequence[float],
    noise: float = 0.0,
    seed: int = 0,
    *,
    repeats: int = 1,
) -> tuple[TipForce, ...]:
    """Simulate forces of the tip on a plate, each pressure several times.

    Args:
        finger: Finger.
        pressures: Pressures [Pa].
        noise: Standard deviation of a reading [N].
        seed: Seed of the noise.
        repeats: Readings at each pressure.
    """
    requested = [TipForce(pressure=pressure, force=0.0) for pressure in pressures]
    parameters = [finger_values(finger, kind)[None] for kind in ("stiffness", "gain")]
    problem = CalibrationProblem(finger=finger)
    exact = VirtualExperiments(problem).forces(parameters[0], parameters[1], requested)[0]
    rng = np.random.default_rng(seed)
    return tuple(
        item.replace(force=float(force + noise * rng.standard_normal()))
        for item, force in zip(requested, exact, strict=True)
        for _ in range(repeats)
    )
