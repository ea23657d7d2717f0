"""Masses of rigid pieces: moved, turned and added."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from softgrasp.simulation.ode.poses import Array, Pose


@dataclass(frozen=True, eq=False, slots=True)
class Mass:
    """What a rigid piece weighs and how it resists turning."""

    mass: float
    """[kg]"""
    center: Array
    """Centre of mass (3,) in the frame of the piece [m]."""
    inertia: Array
    """(3, 3) about the centre of mass, along the axes of the piece [kg·m²]."""

    def placed(self, pose: Pose) -> Mass:
        """The same piece seen from the frame that ``pose`` stands in."""
        rotated = pose.rotation @ self.inertia @ pose.rotation.T
        return Mass(self.mass, pose.apply(self.center), rotated)

    def scaled(self, factor: float) -> Mass:
        """The same shape with all of its density times a factor."""
        return Mass(self.mass * factor, self.center, self.inertia * factor)


def together(pieces: Sequence[Mass]) -> Mass:
    """Pieces of one frame as one rigid piece, by Steiner's theorem; at least one of them."""
    total = sum(piece.mass for piece in pieces)
    center = sum((piece.mass * piece.center for piece in pieces), np.zeros(3)) / total
    inertia = np.zeros((3, 3))
    for piece in pieces:
        arm = piece.center - center
        inertia += piece.inertia + piece.mass * (arm @ arm * np.eye(3) - np.outer(arm, arm))
    return Mass(total, center, inertia)


def box(size: Sequence[float]) -> Mass:
    """A box of density 1 with edges (3,) [m]."""
    edges = np.asarray(size, dtype=float)
    mass = float(edges.prod())
    squares = edges**2
    return Mass(mass, np.zeros(3), np.diag(mass / 12.0 * (squares.sum() - squares)))


def sphere(radius: float) -> Mass:
    """A ball of density 1."""
    mass = 4.0 / 3.0 * np.pi * radius**3
    return Mass(mass, np.zeros(3), 0.4 * mass * radius**2 * np.eye(3))


def cylinder(radius: float, height: float) -> Mass:
    """A cylinder of density 1 about z."""
    mass = np.pi * radius**2 * height
    across = mass * (3.0 * radius**2 + height**2) / 12.0
    return Mass(mass, np.zeros(3), np.diag([across, across, 0.5 * mass * radius**2]))


def capsule(radius: float, height: float) -> Mass:
    """A capsule of density 1 about z; the height is that of the cylinder between the caps.

    A half ball has its centre 3r/8 from its flat side, and 83/320 m·r² across about that centre.
    """
    half = 2.0 / 3.0 * np.pi * radius**3
    across = 83.0 / 320.0 * half * radius**2
    inertia = np.diag([across, across, 0.4 * half * radius**2])
    reach = np.array([0.0, 0.0, height / 2.0 + 3.0 * radius / 8.0])
    caps = [Mass(half, side * reach, inertia) for side in (1.0, -1.0)]
    return together([cylinder(radius, height), *caps])


def mesh(vertices: Array, faces: NDArray[np.int64]) -> Mass:
    """The inside of a closed surface at density 1, as tetrahedra to the origin, with their sign.

    Args:
        vertices: (n, 3) [m].
        faces: (m, 3), outward by the right-hand rule.
    """
    corners = vertices[faces]
    volumes = np.einsum("ij,ij->i", corners[:, 0], np.cross(corners[:, 1], corners[:, 2])) / 6.0
    total = float(volumes.sum())
    center = volumes @ corners.sum(axis=1) / (4.0 * total)
    # ∫ x xᵀ over a tetrahedron from the origin: V/20 (Σ cᵢ cᵢᵀ + s sᵀ) with s = Σ cᵢ
    sums = corners.sum(axis=1)
    second = np.einsum("i,ija,ijb->ab", volumes, corners, corners)
    second += np.einsum("i,ia,ib->ab", volumes, sums, sums)
    second = second / 20.0 - total * np.outer(center, center)
    return Mass(total, center, np.trace(second) * np.eye(3) - second)
