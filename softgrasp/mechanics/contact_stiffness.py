"""Contact stiffness and soft contact patches: MuJoCo's solref in SI units, torsional friction.

``direct_solref`` converts stiffness [N/m] and damping [N·s/m] to MuJoCo's direct format. The patch
functions give the torsional friction of a soft finger: with dry friction µ under a pressure p(r) on
a disc of radius a, pure rotation has the moment limit µ·∫ r·p dA, which is 2/3·µ·a·N for uniform p
and 3π/16·µ·a·N for a Hertz distribution (Howe and Cutkosky, IJRR 15(6), 1996). They approximate the
joint limit of force and moment by an ellipsoid, which is MuJoCo's elliptic cone.
"""

from __future__ import annotations

import math
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from softgrasp.mechanics.transforms import Array

RATE_FACTOR = 1.13
"""Factor of ``friction_rate`` [–]."""

# From SI units to MuJoCo's reference acceleration.


def direct_solref(
    stiffness: ArrayLike, damping: ArrayLike, inverse_mass: ArrayLike, impedance: float
) -> Array:
    """Compute ``solref`` (…, 2) in MuJoCo's direct format for contacts of K [N/m] and D [N·s/m].

    MuJoCo's contact force is f = (a_ref − a)/R with a_ref = −k·δ/d − b·v and R = A·(1 − d)/d. At
    rest a = 0, so f/δ = K requires k = K·(1 − d)·A, and likewise b.

    Args:
        stiffness: K, normal force over penetration at rest, (…) [N/m].
        damping: D, normal force over approach speed, (…) [N·s/m].
        inverse_mass: A of each pair (``model.effective_mass``), (…) [1/kg].
        impedance: Constant constraint impedance d, 0 < d < 1 [–].

    Returns:
        Rows (−k, −b).
    """
    per_mass = [np.multiply(gain, inverse_mass) for gain in (stiffness, damping)]
    return np.asarray(-np.stack(per_mass, -1) * (1.0 - impedance))


def explicit_damping(stiffness: ArrayLike, damping: ArrayLike, timestep: float) -> Array:
    """Compute the damping to set so that contacts of an implicit step are damped by D [N·s/m].

    The ``discrete`` integrator takes the force at the end of the step, K·(δ − h·v) − D·v, and so
    damps like D + h·K. What it adds is subtracted; half of D stays in any case.

    Args:
        stiffness: K, (…) [N/m].
        damping: D, (…) [N·s/m].
        timestep: h [s].
    """
    damping, added = np.asarray(damping), np.multiply(timestep, stiffness)
    return np.asarray(np.maximum(damping - added, 0.5 * damping))


def friction_rate(stiffness: ArrayLike, damping: ArrayLike, timestep: float) -> Array:
    """Compute the rate b at which a sticking contact loses slip speed, a_t = −b·v [1/s].

    MuJoCo solves normal force and friction as one convex problem, in which a contact that slides
    at v is lifted by µ·h·b·v·D/K, while one that sticks slips on by v/b. The sum of both lengths is
    least at b = √(K/(µ·D·h)). ``RATE_FACTOR`` is 1/√µ for µ = 0.5, times 0.8, with which slip
    distances are nearest to Coulomb's (decision 0006).

    Args:
        stiffness: K, (…) [N/m].
        damping: D, (…) [N·s/m].
        timestep: h [s].
    """
    return np.asarray(RATE_FACTOR * np.sqrt(np.divide(stiffness, np.multiply(damping, timestep))))


def implicit_inertia(timestep: float, stiffness: ArrayLike, damping: ArrayLike) -> Array:
    """Compute the inertia that an implicit integrator adds to a joint: h·c + h²·k [kg·m² or kg].

    Args:
        timestep: h [s].
        stiffness: Position gain k of each joint [N·m/rad or N/m], shape (n,).
        damping: Velocity gain and viscous friction c of each joint, shape (n,).
    """
    return timestep * np.asarray(damping, dtype=float) + timestep**2 * np.asarray(
        stiffness, dtype=float
    )


# Soft contact patches.

Pressure = Literal["hertz", "uniform"]
_TORSION_FACTORS: dict[Pressure, float] = {"hertz": 3.0 * math.pi / 16.0, "uniform": 2.0 / 3.0}


def torsional_coefficient(
    friction: ArrayLike, radius: float, pressure: Pressure = "hertz"
) -> Array:
    """Compute the moment limit of a patch over its normal force, k·µ·a [m].

    Args:
        friction: µ of the surfaces, (…) [–].
        radius: Patch radius a [m].
        pressure: Pressure distribution.
    """
    return np.asarray(np.multiply(_TORSION_FACTORS[pressure], friction) * radius)


def hertz_patch_radius(force: float, curvature_radius: float, modulus: float) -> float:
    """Compute the contact radius of an elastic sphere on a plane, (3·N·R/(4·E*))^(1/3) [m].

    Args:
        force: N, the normal force [N].
        curvature_radius: R; of two spheres 1/R = 1/R₁ + 1/R₂ [m].
        modulus: E* with 1/E* = (1 − ν₁²)/E₁ + (1 − ν₂²)/E₂ [Pa]; of a soft finger on a rigid
            surface E/(1 − ν²).

    Returns:
        a [m] (Johnson, Contact Mechanics, 1985, eq 4.22); valid where it is small against R.

    Raises:
        ValueError: A number is not positive.
    """
    if min(force, curvature_radius, modulus) <= 0.0:
        raise ValueError(
            "expected a positive force, radius and modulus, found "
            f"{force:g} N, {curvature_radius:g} m and {modulus:g} Pa"
        )
    return float((0.75 * force * curvature_radius / modulus) ** (1.0 / 3.0))
