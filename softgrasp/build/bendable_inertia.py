"""Mass and inertia of the cells that a bendable segment is cut into."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from softgrasp.description.bendable import Bendable
from softgrasp.errors import BuildError
from softgrasp.mechanics.transforms import Array, rotation_from_euler


def cell_inertias(
    part: Bendable, mass: float, lengths: Sequence[float]
) -> list[tuple[float, Array]]:
    """Mass [kg] and inertia about the own centre (3, 3) [kg·m²] of every cell, base first.

    The mass is spread evenly along the segment. Without an inertia of its own the segment is a
    uniform cylinder. With one, the cells get shares of it such that the straight segment has it
    about its middle: what their distances from the middle account for is left out.

    Args:
        part: The segment.
        mass: Of the whole segment [kg].
        lengths: Of the cells [m]; they add up to the segment's.

    Raises:
        BuildError: The inertia is less than these distances account for, or no body has it.
    """
    sizes = np.asarray(lengths, dtype=float)
    masses = mass * sizes / sizes.sum()
    if part.inertial is None or part.inertial.inertia is None:
        across = masses * (part.backbone.radius**2 / 4.0 + sizes**2 / 12.0)
        along = masses * part.backbone.radius**2 / 2.0
        moments = np.stack([across, across, along], axis=1)
        return [
            (cell_mass, np.diag(row))
            for cell_mass, row in zip(masses.tolist(), moments, strict=True)
        ]
    centres = np.cumsum(sizes) - 0.5 * sizes - 0.5 * sizes.sum()
    apart = float(masses @ centres**2)
    rest = _inertia_about_center(part, part.inertial.inertia) - apart * np.diag([1.0, 1.0, 0.0])
    moments = np.linalg.eigvalsh(rest)
    if moments[0] <= 0.0 or moments[2] > moments[0] + moments[1]:
        raise BuildError(
            f"bendable '{part.name}': expected an inertia about its middle that a body of its "
            f"length and mass can have, found {part.inertial.inertia}; without one it is that of "
            "a uniform cylinder"
        )
    return [(cell_mass, cell_mass / mass * rest) for cell_mass in masses.tolist()]


def _inertia_about_center(part: Bendable, inertia: tuple[float, ...]) -> Array:
    """The segment's own inertia in its base axes, (3, 3) [kg·m²]."""
    assert part.inertial is not None  # it is what holds the inertia
    xx, yy, zz, xy, xz, yz = inertia
    rotation = rotation_from_euler(part.inertial.origin.rpy)
    return np.asarray(rotation @ np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]]) @ rotation.T)
