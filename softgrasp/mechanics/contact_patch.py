"""Soft contact patches: how large they are, and which moments about the normal they resist.

With dry friction of coefficient µ under a pressure p(r) on a disc of radius a, pure turning has the
moment limit µ·∫ r·p dA: 2/3·µ·a·N where p is uniform, 3π/16·µ·a·N where it is that of Hertz
(R. D. Howe and M. R. Cutkosky, "Practical force-motion models for sliding manipulation", IJRR
15(6), 1996). Force and moment together are limited by a surface that they approximate by an
ellipsoid, which is MuJoCo's elliptic cone.
"""

from __future__ import annotations

import math
from typing import Literal

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
