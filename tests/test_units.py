"""Every factor of every table of units, against the definition of the unit."""

from __future__ import annotations

import math
from collections.abc import Mapping

import pytest

from softgrasp import units
from softgrasp.calibration import files, hypotheses
from softgrasp.report import time_series

INCH = 25.4e-3
POUND, STANDARD_GRAVITY = 0.45359237, 9.80665
"""[kg] and [m/s²]"""
BAR = 100e3
MERCURY = 13_595.1
"""Conventional density of mercury [kg/m³]."""
LENGTHS = {"m": 1.0, "dm": 1.0 / 10.0, "cm": 1.0 / 100.0, "mm": 1.0 / 1000.0, "in": INCH}
ANGLES = {"rad": 1.0, "deg": 2.0 * math.pi / 360.0}
PRESSURES = {
    "Pa": 1.0,
    "hPa": 100.0,
    "kPa": 1000.0,
    "MPa": 1000.0**2,
    "bar": BAR,
    "mbar": BAR / 1000.0,
    "psi": POUND * STANDARD_GRAVITY / INCH**2,
    "mmHg": MERCURY * STANDARD_GRAVITY / 1000.0,
}
TIMES = {"s": 1.0, "ms": 1.0 / 1000.0}
MASSES = {"kg": 1.0, "g": 1.0 / 1000.0}
IN_KPA = {unit: pascals / 1000.0 for unit, pascals in PRESSURES.items()}
TABLES: dict[str, tuple[Mapping[str, float], dict[str, float]]] = {
    "lengths": (units.LENGTH_UNITS, LENGTHS),
    "angles": (units.ANGLE_UNITS, ANGLES),
    "pressures": (units.PRESSURE_UNITS, PRESSURES),
    "lengths of measurements": (files.LENGTHS, LENGTHS),
    "angles of measurements": (files.ANGLE_UNITS, ANGLES),
    "pressures of measurements": (files.PRESSURE.units, PRESSURES),
    "times of measurements": (files.TIMES, TIMES),
    "masses of measurements": (files.MASS.units, MASSES),
    "pressures mistaken for kPa": (hypotheses.PRESSURE_UNITS, IN_KPA),
}


def test_definitions_are_those_of_the_standards() -> None:
    assert PRESSURES["psi"] == pytest.approx(6894.757293168, rel=1e-12)  # NIST SP 811
    assert PRESSURES["mmHg"] == pytest.approx(133.322387415, rel=1e-12)


@pytest.mark.parametrize("name", TABLES)
def test_every_factor_is_the_definition_of_its_unit(name: str) -> None:
    table, definitions = TABLES[name]
    assert table
    for unit, factor in table.items():
        assert factor == pytest.approx(definitions[unit], rel=2e-7), unit


def test_figures_are_in_degrees_and_millimetres() -> None:
    for unit, (symbol, factor) in time_series.UNITS.items():
        drawn = {"°": ANGLES["deg"], " mm": LENGTHS["mm"], "": 1.0}[symbol]
        assert factor * drawn == pytest.approx(1.0, rel=1e-15), unit
