"""From contact stiffness and damping in SI units to MuJoCo's reference acceleration."""

from __future__ import annotations

import math
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from softgrasp.mechanics.transforms import Array


def direct_solref(
    stiffness: float, damping: float, inverse_mass: ArrayLike, impedance: float
) -> Array:
    """``solref`` (n, 2) in MuJoCo's direct format for contacts of K [N/m] and D [N·s/m].

    MuJoCo's contact force is f = (a_ref − a)/R with a_ref = −k·δ/d − b·v and
    R = A·(1 − d)/d. At rest a = 0, so f/δ = K asks for k = K·(1 − d)·A, and likewise b.

    Args:
        stiffness: K, normal force over penetration at rest [N/m].
        damping: D, normal force over approach speed [N·s/m].
        inverse_mass: A of each pair, shape (n,) [1/kg].
        impedance: Constant constraint impedance d, 0 < d < 1 [–].

    Returns:
        Rows (−k, −b).
    """
    inverse_mass = np.asarray(inverse_mass, dtype=float)
    return -np.stack([stiffness * inverse_mass, damping * inverse_mass], -1) * (1.0 - impedance)


def implicit_inertia(timestep: float, stiffness: ArrayLike, damping: ArrayLike) -> Array:
    """Inertia that an implicit integrator adds to a joint: h·c + h²·k [kg·m² or kg].

    Args:
        timestep: h [s].
        stiffness: Position gain k of each joint [N·m/rad or N/m], shape (n,).
        damping: Velocity gain and viscous friction c of each joint, shape (n,).
    """
    return timestep * np.asarray(damping, dtype=float) + timestep**2 * np.asarray(
        stiffness, dtype=float
    )


# --------------------
# Soft contact patches: how large they are, and which moments about the normal they resist.
#
# With dry friction of coefficient µ under a pressure p(r) on a disc of radius a, pure turning has
# the
# moment limit µ·∫ r·p dA: 2/3·µ·a·N where p is uniform, 3π/16·µ·a·N where it is that of Hertz
# (R. D. Howe and M. R. Cutkosky, "Practical force-motion models for sliding manipulation", IJRR
# 15(6), 1996). Force and moment together are limited by a surface that they approximate by an
# ellipsoid, which is MuJoCo's elliptic cone.


Pressure = Literal["hertz", "uniform"]

_TORSION_FACTORS: dict[Pressure, float] = {"hertz": 3.0 * math.pi / 16.0, "uniform": 2.0 / 3.0}


def torsional_coefficient(friction: float, radius: float, pressure: Pressure = "hertz") -> float:
    """Moment limit of a patch over its normal force [m]: k·µ·a.

    Args:
        friction: µ of the surfaces [–].
        radius: a, of the patch [m].
        pressure: How the pressure lies on it.
    """
    return _TORSION_FACTORS[pressure] * friction * radius


def hertz_patch_radius(force: float, curvature_radius: float, modulus: float) -> float:
    """Radius of the patch of an elastic ball on a flat, (3·N·R/(4·E*))^(1/3) [m].

    Args:
        force: N, the normal force [N].
        curvature_radius: R; of two balls 1/R = 1/R₁ + 1/R₂ [m].
        modulus: E* with 1/E* = (1 − ν₁²)/E₁ + (1 − ν₂²)/E₂ [Pa]; of a soft finger on something
            hard E/(1 − ν²).

    Returns:
        a [m] (K. L. Johnson, Contact Mechanics, 1985, eq 4.22). It grows with the third root of
        the force, and is small against R where this formula holds.

    Raises:
        ValueError: A number is not positive.
    """
    if min(force, curvature_radius, modulus) <= 0.0:
        raise ValueError(
            "expected a positive force, radius and modulus, found "
            f"{force:g} N, {curvature_radius:g} m and {modulus:g} Pa"
        )
    return float((0.75 * force * curvature_radius / modulus) ** (1.0 / 3.0))


# --------------------
# Taxels in rows along a body and columns around it, and how they share a contact's force.


class TaxelGrid(NamedTuple):
    """A grid of taxels around a body, in the body's frame."""

    center: Array
    """Middle of the body's box [m], (3,)."""
    axes: Array
    """Unit vectors: the one along the rows, the one that the middle column looks to, and the one
    to which columns go on from there, (3, 3)."""
    length: float
    """Of the body along the rows [m]."""
    rows: int
    columns: int


def taxel_grid(corners: Array, rows: int, columns: int) -> TaxelGrid:
    """The grid around a body.

    Args:
        corners: Points of the body in its frame whose box is the body's [m], (n, 3).
        rows: Along the longest edge of the box.
        columns: Around it, counterclockwise; the middle one looks along the next axis of the frame,
            which is where a link of a finger touches, so that the seam is at its back.
    """
    low, high = corners.min(axis=0), corners.max(axis=0)
    longest = int(np.argmax(np.round(high - low, 9)))
    axes = np.roll(np.eye(3), -longest, axis=0)
    return TaxelGrid(0.5 * (low + high), axes, float((high - low)[longest]), rows, columns)


def distribute(grid: TaxelGrid, points: Array, forces: Array) -> Array:
    """Forces of contacts as taxels feel them, (rows, columns) [N].

    Each is shared among the four taxels around its point by bilinear weights whose sum is one;
    beyond the outer rows it is all theirs. So the sum over the taxels is the sum of the forces.

    Args:
        grid: The taxels.
        points: In the body's frame [m], (n, 3).
        forces: Normal forces [N], (n,).
    """
    along, first, second = ((points - grid.center) @ grid.axes.T).T
    row = np.clip((along / grid.length + 0.5) * grid.rows - 0.5, 0.0, grid.rows - 1.0)
    angle_fraction = np.arctan2(second, first) / (2.0 * np.pi) + 0.5
    column = (angle_fraction * grid.columns - 0.5) % grid.columns
    felt = np.zeros((grid.rows, grid.columns))
    upper, left = np.floor(row).astype(int), np.floor(column).astype(int)
    down, right = row - upper, column - left
    for r, of_row in ((upper, 1.0 - down), (np.minimum(upper + 1, grid.rows - 1), down)):
        for c, of_column in ((left, 1.0 - right), (left + 1, right)):
            np.add.at(felt, (r, c % grid.columns), of_row * of_column * forces)
    return felt
