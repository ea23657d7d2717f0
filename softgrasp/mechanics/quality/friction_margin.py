"""How near contact forces are to slipping, and how they are shared among contacts."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from softgrasp.errors import DescriptionError
from softgrasp.mechanics.quality.checks import number, numbers
from softgrasp.mechanics.transforms import Array


def friction_margin(forces: ArrayLike, mu: float, *, torsion: float = 0.0) -> Array:
    """1 − friction over its limit at each contact, (n,): 0 slips, negative is beyond.

    Hard finger 1 − |ft|/(µ fn); soft finger 1 − √((ft/µ)² + (m/γ)²)/fn, the elliptic limit surface
    (Howe and Cutkosky 1996). −inf where a contact would have to pull, or carries friction without
    normal force; 0 where it carries nothing.

    Args:
        forces: In contact frames, (normal, t1, t2), (n, 3); with the spin moment, (n, 4); in the
            plane (normal, t1), (n, 2) [N, N·m].
        mu: Coefficient of friction, at least 0.
        torsion: γ, largest spin moment per normal force [m]; needed with spin moments.

    Raises:
        DescriptionError: Wrong shapes or numbers, spin moments without torsion.
    """
    force_array, used = _used(forces, mu, torsion)
    normal = force_array[:, 0]
    with np.errstate(divide="ignore", invalid="ignore"):
        margin = 1.0 - used / normal
    margin[(normal < 0.0) | ((normal == 0.0) & (used > 0.0))] = -np.inf
    margin[(normal == 0.0) & (used == 0.0)] = 0.0
    return np.asarray(margin)


def cone_distance(forces: ArrayLike, mu: float) -> Array:
    """Distance of each contact force from the border of its friction cone [N], (n,).

    (µ fn − |ft|)/√(1 + µ²), negative outside; for forces below the cone's tip −|f|. Hard fingers.

    Args:
        forces: In contact frames, (n, 3), or (n, 2) in the plane [N].
        mu: Coefficient of friction.
    """
    force_array = numbers(forces, "forces", (None, None))
    if force_array.shape[1] not in (2, 3):
        raise DescriptionError(
            "expected (normal, t1, t2), or (normal, t1) in the plane; found "
            f"{force_array.shape[1]} columns",
            field="forces",
        )
    friction = number(mu, "mu", 0.0)
    sideways = np.linalg.norm(force_array[:, 1:], axis=1)
    distance = (friction * force_array[:, 0] - sideways) / np.sqrt(1.0 + friction**2)
    below = force_array[:, 0] + friction * sideways < 0.0
    return np.asarray(np.where(below, -np.linalg.norm(force_array, axis=1), distance))


def force_distribution(forces: ArrayLike) -> Array:
    """Share of each contact in the sum of the normal forces, (n,); zeros where nothing presses.

    Args:
        forces: In contact frames, normal force first, (n, any) [N].

    Raises:
        DescriptionError: A normal force that pulls.
    """
    normal = numbers(forces, "forces", (None, None))[:, 0]
    if (normal < 0.0).any():
        worst = int(np.argmin(normal))
        raise DescriptionError(
            f"expected normal forces that press, found {normal[worst]:g} N at contact {worst}",
            field="forces",
        )
    total = normal.sum()
    return np.asarray(normal / total if total > 0.0 else np.zeros(len(normal)))


def _used(forces: ArrayLike, mu: float, torsion: float) -> tuple[Array, Array]:
    """Forces, and the normal forces that their friction needs at least."""
    force_array = numbers(forces, "forces", (None, None))
    if force_array.shape[1] not in (2, 3, 4):
        raise DescriptionError(
            "expected (normal, t1, t2), with the spin moment or, in the plane, without t2; found "
            f"{force_array.shape[1]} columns",
            field="forces",
        )
    friction, spin = number(mu, "mu", 0.0), number(torsion, "torsion", 0.0)
    if force_array.shape[1] == 4 and spin == 0.0:
        raise DescriptionError(
            "expected a number above 0 for forces with spin moments, found 0", field="torsion"
        )
    sideways = np.linalg.norm(force_array[:, 1:3], axis=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        used = np.where(sideways > 0.0, sideways / friction, 0.0)
        if force_array.shape[1] == 4:
            used = np.hypot(used, force_array[:, 3] / spin)
    return force_array, used
