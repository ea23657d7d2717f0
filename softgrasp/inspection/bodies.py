"""Rigid bodies with what is stated of them and what their geometry says, for hands and robots."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from softgrasp.mechanics.transforms import Array


@dataclass(frozen=True, eq=False)
class Geometry:
    """The solids of one body together, at uniform density; lengths in metres, in its frame."""

    volume: float
    """[m³]"""
    center: Array
    """(3,) centre of volume [m]."""
    inertia: Array
    """(3, 3) about that centre for 1 kg/m³ [m⁵]."""
    points: Array
    """(n, 3), whose convex hull holds all of it [m]."""

    def inertia_about(self, center: Array) -> Array:
        """Inertia (3, 3) for 1 kg/m³ about another point (3,) [m⁵]."""
        return self.inertia + self.volume * steiner(center - self.center)

    def farthest(self, center: Array) -> float:
        """Distance from a point (3,) to the farthest of the geometry [m]."""
        return float(np.linalg.norm(self.points - center, axis=1).max())


@dataclass(frozen=True, eq=False)
class Body:
    """A rigid body as it is described, and its geometry where there is some."""

    subject: str
    """What a sentence calls it: ``link 'base'``."""
    name: str
    mass: float
    """[kg]"""
    center: Array
    """(3,) centre of mass in its frame [m]."""
    inertia: Array | None
    """(3, 3) about the centre of mass in the axes of its frame [kg·m²]; None where not stated."""
    geometry: Geometry | None

    @property
    def density(self) -> float | None:
        """Mass over the volume of the geometry [kg/m³]."""
        return None if self.geometry is None else self.mass / self.geometry.volume

    @property
    def moments(self) -> Array | None:
        """Principal moments of inertia (3,), smallest first [kg·m²]."""
        return None if self.inertia is None else np.asarray(np.linalg.eigvalsh(self.inertia))

    @property
    def uniform(self) -> Array | None:
        """Inertia (3, 3) that its mass has, spread evenly over the geometry [kg·m²]."""
        if self.geometry is None:
            return None
        return self.mass / self.geometry.volume * self.geometry.inertia_about(self.center)


def steiner(offset: Array) -> Array:
    """Inertia (3, 3) of a unit mass at (3,), which a body gets when its axes move that far."""
    return float(offset @ offset) * np.eye(3) - np.outer(offset, offset)


def placed(volume: float, inertia: Array, points: Array, frame: Array) -> Geometry:
    """A solid about its own centre, put where a frame (4, 4) says.

    Args:
        volume: [m³]
        inertia: (3, 3) about the centre at unit density [m⁵].
        points: (n, 3) relative to the centre.
        frame: Pose of the centre's frame in the body's.
    """
    rotation, centre = frame[:3, :3], frame[:3, 3]
    return Geometry(volume, centre, rotation @ inertia @ rotation.T, points @ rotation.T + centre)


def together(parts: Sequence[Geometry]) -> Geometry | None:
    """Several solids as one; None where there are none.

    Where they overlap, the space counts twice.
    """
    if not parts:
        return None
    volume = sum(part.volume for part in parts)
    centre = sum(part.volume * part.center for part in parts) / volume
    return Geometry(
        volume,
        np.asarray(centre),
        np.asarray(sum(part.inertia_about(np.asarray(centre)) for part in parts)),
        np.vstack([part.points for part in parts]),
    )


def box_corners(half: Array) -> Array:
    """Corners (8, 3) of a box with these half edges (3,) about the origin."""
    signs = np.array(np.meshgrid([-1, 1], [-1, 1], [-1, 1])).reshape(3, -1).T
    return np.asarray(signs * half)
