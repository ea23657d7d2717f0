"""Units of files and of the command line; everything else is in SI units and radians."""

from __future__ import annotations

import math
from typing import Literal

LengthUnit = Literal["m", "dm", "cm", "mm", "in"]
"""Length unit of a mesh file."""

LENGTH_UNITS: dict[str, float] = {
    "m": 1.0,
    "dm": 1e-1,
    "cm": 1e-2,
    "mm": 1e-3,
    "in": 0.0254,
}
"""Metres in one unit of length."""

ANGLE_UNITS: dict[str, float] = {"rad": 1.0, "deg": math.pi / 180.0}
"""Radians in one unit of angle."""

PRESSURE_UNITS: dict[str, float] = {
    "Pa": 1.0,
    "hPa": 1e2,
    "mbar": 1e2,
    "kPa": 1e3,
    "bar": 1e5,
    "MPa": 1e6,
}
"""Pascals in one unit of pressure."""

TABLE_PRESSURES: dict[str, float] = {
    **{unit: PRESSURE_UNITS[unit] for unit in ("kPa", "Pa", "bar")},
    "psi": 6894.757293168361,
}
"""The same in tables of measurements, the preferred unit first."""
