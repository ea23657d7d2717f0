"""What there is for a digital twin, for ``softgrasp list``."""

from __future__ import annotations

from typing import Any

from softgrasp import library

Row = dict[str, Any]


def twins() -> list[Row]:
    """Twins with their parts."""
    from softgrasp.formats.twin_file import load_twin

    return [
        {
            "name": name,
            "fingers": len(twin.gripper.fingers),
            "pieces": len(twin.finger.lengths),
            "map": twin.controller.map.name,
            "source": twin.source,
        }
        for name in library.names("twins")
        for twin in [load_twin(name)]
    ]


def pressure_fits() -> list[Row]:
    """Fits of bends against pressure."""
    from softgrasp.formats.pressure_fit_file import load_pressure_fit

    return [
        {
            "name": name,
            "pieces": len(fit.lengths),
            "pressures_kpa": [round(1e-3 * pressure, 9) for pressure in fit.pressures],
            "source": fit.source,
        }
        for name in library.names("pressure_fits")
        for fit in [load_pressure_fit(name)]
    ]


def register_maps() -> list[Row]:
    """Register maps of controllers."""
    from softgrasp.formats.register_map_file import load_register_map

    return [
        {"name": name, "unit": register_map.device_id, "source": register_map.source}
        for name in library.names("register_maps")
        for register_map in [load_register_map(name)]
    ]


def robot_programs() -> list[Row]:
    """Programs of simulated robots."""
    from softgrasp.formats.robot_program_file import load_robot_program

    return [
        {
            "name": name,
            "arm": program.arm.name,
            "postures": len(program.postures),
            "period_s": program.period,
            "source": program.source,
        }
        for name in library.names("robot_programs")
        for program in [load_robot_program(name)]
    ]
