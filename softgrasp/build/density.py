"""Densities that no material has, and which slip of a unit would make them usual ones."""

from __future__ import annotations

from softgrasp.build.objects import object_mass
from softgrasp.build.shapes import mass_properties
from softgrasp.description.objects import GraspObject

USUAL_DENSITY = (20.0, 22_600.0)
"""From foam to osmium [kg/m³]."""
SLIPS = {
    1e9: "is its size in millimetres? Read so, it has {:.4g} kg/m³ (units: mm)",
    1e-3: "is its mass in grams? Read so, it has {:.4g} kg/m³",
    1e-9: "is its size in metres, but read as millimetres? Then it has {:.4g} kg/m³",
    1e3: "is its density in g/cm³? Read so, it has {:.4g} kg/m³",
}


def mean_density(described: GraspObject) -> float:
    """Mass of an object over its volume [kg/m³]."""
    return object_mass(described) / mass_properties(described.shape).volume


def is_usual(density: float) -> bool:
    """Whether some material has it [kg/m³]."""
    low, high = USUAL_DENSITY
    return low <= density <= high


def density_guess(density: float) -> str:
    """Which slip would make a density a usual one [kg/m³]."""
    for factor, words in SLIPS.items():
        if is_usual(density * factor):
            return words.format(density * factor)
    return "mass is in kg, density in kg/m³"
