"""Densities that no material has, and which slip of a unit would make them usual ones."""

from __future__ import annotations

from softgrasp.build.objects import object_mass
from softgrasp.build.shapes import mass_properties
from softgrasp.description.object import GraspObject

USUAL_DENSITY = (20.0, 22_600.0)
"""From foam to osmium [kg/m³]."""
OF_MASS = {
    1e9: "is its size in millimetres? Read so, it has {:.4g} kg/m³ (units: mm)",
    1e-3: "is its mass in grams? Read so, it has {:.4g} kg/m³",
    1e-9: "is its size in metres, but read as millimetres? Then it has {:.4g} kg/m³",
}
"""Slips where a mass was given, by what they change the density."""
OF_DENSITY = {1e3: "is its density in g/cm³? Read so, it has {:.4g} kg/m³"}


def mean_density(described: GraspObject) -> float:
    """Mass of an object over its volume [kg/m³]."""
    return object_mass(described) / mass_properties(described.shape).volume


def is_usual(density: float) -> bool:
    """Whether some material has it [kg/m³]."""
    low, high = USUAL_DENSITY
    return low <= density <= high


def density_guess(described: GraspObject) -> str:
    """Which slip would make the density of an object a usual one."""
    density = mean_density(described)
    for factor, words in (OF_MASS if described.mass is not None else OF_DENSITY).items():
        if is_usual(density * factor):
            return words.format(density * factor)
    return "mass is in kg, density in kg/m³"
