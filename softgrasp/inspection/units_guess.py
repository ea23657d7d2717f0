"""Which slip of a unit explains a mass or an inertia that is wrong by a round factor."""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import median
from typing import NamedTuple

COMMON_DENSITY = 1000.0
"""What programs assume where no material is given, and near to that of plastics [kg/m³]."""
MASS_SLIPS = {
    1e3: "grams written as kilograms",
    1e6: "milligrams written as kilograms, or volumes in cm³ times a density in kg/m³",
    1e9: "micrograms written as kilograms, or volumes in mm³ times a density in kg/m³",
    1e-3: "tonnes written as kilograms, or densities in g/cm³ taken for kg/m³",
    1e-6: "kilotonnes written as kilograms, or densities in kg/cm³ taken for kg/m³",
}
"""Factor by which the stated mass is too large, and what makes it so."""
INERTIA_SLIPS = {
    1e3: "g·m² written as kg·m²",
    1e4: "kg·cm² written as kg·m²",
    1e6: "kg·mm² written as kg·m²",
    1e7: "g·cm² written as kg·m²",
    1e9: "g·mm² written as kg·m²",
    1e-3: "t·m² written as kg·m²",
}
"""Factor by which the stated inertia is too large, and what makes it so."""


class Guess(NamedTuple):
    """A factor by which numbers are too large, and what explains it."""

    factor: float
    words: str


def mass_guess(densities: Sequence[float], usual: tuple[float, float]) -> Guess | None:
    """The slip that explains all densities outside the usual at once; None where none does.

    Of the factors that bring every one of them back, it is the one that brings them nearest to the
    densities that are usual already, or to ``COMMON_DENSITY`` where none is.

    Args:
        densities: Of the bodies of one robot [kg/m³].
        usual: Lowest and highest usual density [kg/m³].
    """
    low, high = usual
    odd = [density for density in densities if not low <= density <= high]
    good = [density for density in densities if low <= density <= high]
    if not odd:
        return None
    goal = math.log(median(good) if good else COMMON_DENSITY)
    fitting = [f for f in MASS_SLIPS if all(low <= density / f <= high for density in odd)]
    if not fitting:
        return None
    best = min(fitting, key=lambda f: abs(math.log(median(odd) / f) - goal))
    return Guess(best, MASS_SLIPS[best])


def inertia_guess(ratio: float, within: float) -> Guess | None:
    """The slip that brings a ratio to the inertia of a uniform solid near 1, if there is one.

    Args:
        ratio: Stated inertia over that of a uniform solid [–].
        within: How far from 1 it may be afterwards, up or down [–].
    """
    if ratio <= 0.0 or 1.0 / within <= ratio <= within:
        return None
    best = min(INERTIA_SLIPS, key=lambda f: abs(math.log(ratio / f)))
    if not 1.0 / within <= ratio / best <= within:
        return None
    return Guess(best, INERTIA_SLIPS[best])
