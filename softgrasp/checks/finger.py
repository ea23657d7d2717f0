"""Checks of a soft finger in its mesh: size, what was assumed, valleys, chambers and bending."""

from __future__ import annotations

import math
import warnings
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from softgrasp.checks.report import Check, Inspection, finding, format_count
from softgrasp.description.soft_finger import SoftFinger
from softgrasp.errors import DescriptionError, SoftgraspWarning
from softgrasp.io.mesh_files import read_triangles
from softgrasp.io.soft_finger.axes import point_text
from softgrasp.io.soft_finger.finger import (
    SILICONE_DENSITY,
    SILICONE_MODULUS,
    SlicedFinger,
    finger_from_mesh,
    slice_again,
)

MM = 1e3
PRESSURE = 10e3
"""Pressure at which the free bending is reported [Pa]."""


class InspectedFinger(NamedTuple):
    """Checks of a finger, and how it was read; None where it was refused."""

    inspection: Inspection
    finger: SoftFinger | None = None
    """Without gains where its chambers were refused."""
    sliced: SlicedFinger | None = None


def inspect_finger(
    path: str | Path, *, youngs_modulus: float = SILICONE_MODULUS, **reading: Any
) -> InspectedFinger:
    """Read a mesh as a soft finger with chambers; refusals are problems, assumptions remarks.

    Args:
        path: STL, OBJ, PLY, GLB or OFF.
        youngs_modulus: [Pa]
        reading: Further options of ``finger_from_mesh``.

    Raises:
        DescriptionError: It is no mesh, or an option is out of range.
    """
    file = Path(path)
    read_triangles(file)
    subject = f"finger '{file.stem}'"
    finger, refusals = _read(file, youngs_modulus, reading)
    problems = []
    for error in refusals:  # of the form: expected …, found …; …
        expected, _, result = error.message.removeprefix("expected ").partition(", found ")
        actual, _, advice = result.partition("; ")
        problems.append(finding("problem", subject, expected, actual, advice))
    if finger is None:
        refused = Check("reading", "refused", tuple(problems))
        return InspectedFinger(Inspection("finger", file.stem, (refused,)))
    assert finger.mesh is not None  # it was read from one
    sliced = slice_again(finger.mesh)
    assert sliced is not None  # the file is still there
    stiffness = ", ".join(f"{joint.stiffness:.3g}" for joint in finger.joints)
    angle = math.degrees(PRESSURE * finger.bending)
    gains = ", ".join(f"{1e9 * joint.pressure_gain:.3g}" for joint in finger.joints)
    checks = (
        Check("size", f"{' x '.join(f'{MM * edge:.4g}' for edge in size_of_finger(sliced))} mm"),
        _reading(sliced, subject),
        _valleys(sliced),
        Check("chambers", _chambers_text(sliced), tuple(problems)),
        Check("stiffness", f"{stiffness} N·m/rad with {1e-6 * youngs_modulus:g} MPa"),
        Check("bending", f"{angle:.3g}° free at {1e-3 * PRESSURE:g} kPa; gains {gains} mm³"),
    )
    return InspectedFinger(Inspection("finger", file.stem, checks), finger, sliced)


def _read(
    file: Path, youngs_modulus: float, reading: dict[str, Any]
) -> tuple[SoftFinger | None, list[DescriptionError]]:
    """Read a finger, without gains if its chambers are refused, and the refusals."""
    refusals: list[DescriptionError] = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SoftgraspWarning)  # findings
        for chambers in (True, False):
            gains = reading if chambers else {**reading, "poisson_ratio": None}
            try:
                finger = finger_from_mesh(
                    file,
                    youngs_modulus=youngs_modulus,
                    density=SILICONE_DENSITY,
                    pressure_gain="chambers" if chambers else 0.0,
                    **gains,
                )
                return finger, refusals
            except DescriptionError as error:
                if error.field not in (None, "pressure_gain"):
                    raise
                refusals.append(error)
                if error.field is None:
                    break
    return None, refusals


def size_of_finger(sliced: SlicedFinger) -> tuple[float, float, float]:
    """Return length, width and height of a finger [m]."""
    vertices = np.vstack([piece.vertices for piece in sliced.pieces])
    length, width, height = np.ptp(vertices, axis=0).tolist()
    return length, width, height


def _reading(sliced: SlicedFinger, subject: str) -> Check:
    """Return axis, side and base in the file, and what had to be assumed."""
    x, _, z = sliced.transform[:3, :3].T
    measured = (
        f"along {point_text(x)} from {point_text(sliced.transform[:3, 3])} m, bends away from "
        f"{point_text(z)}"
    )
    notes = (note.partition("; ") for note in sliced.notes)
    findings = tuple(
        finding("remark", subject, "an unambiguous mesh", actual, advice)
        for actual, _, advice in notes
    )
    return Check("reading", measured, findings)


def _valleys(sliced: SlicedFinger) -> Check:
    positions = ", ".join(f"{MM * x:.4g}" for x in sliced.joints[:, 0])
    kind, what = ("cell", "middles") if sliced.divided else ("valley", "positions")
    return Check("valleys", f"{format_count(len(sliced.joints), kind)}, {what} {positions} mm")


def chamber_of(sliced: SlicedFinger) -> tuple[float, float, float]:
    """Return mean area [m²], lever [m] and volume [m³] of the chambers; zero without any.

    The lever is the mean height of the chambers above the centroid of the material, weighted by
    their area.
    """
    along, areas = sliced.positions, sliced.chamber_areas
    volume = float(np.trapezoid(areas, along))
    if volume <= 0.0:
        return 0.0, 0.0, 0.0
    length = float(np.trapezoid((areas > 0.0).astype(float), along))
    return volume / length, float(np.trapezoid(sliced.chamber_moments, along)) / volume, volume


def _chambers_text(sliced: SlicedFinger) -> str:
    area, lever, volume = chamber_of(sliced)
    if not volume:
        return "none"
    return (
        f"{1e6 * area:.3g} mm² in the mean, {MM * lever:.3g} mm above the centroid of the "
        f"material, {1e6 * volume:.3g} cm³"
    )
