"""Runs of hydraulic arms as files: ``result.json`` and ``trajectory.npz``."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any

from softgrasp._version import __version__
from softgrasp.formats.results import write_result
from softgrasp.mechanics.transforms import Array
from softgrasp.simulation.hydraulic_moves import arm_moves
from softgrasp.simulation.hydraulic_run import ArmRun

SCHEMA_VERSION = 1


def save_arm_run(run: ArmRun, directory: str | Path) -> list[Path]:
    """Write ``result.json`` and ``trajectory.npz`` into a folder and return their paths.

    Raises:
        ResultError: The folder cannot be written.
    """
    return write_result(Path(directory), arm_document(run), arm_arrays(run))


def arm_document(run: ArmRun) -> dict[str, Any]:
    """A run as the content of ``result.json``."""
    return {
        "schema_version": SCHEMA_VERSION,
        "softgrasp_version": __version__,
        "kind": "hydraulic_arm",
        "arm": run.arm.model_dump(mode="json"),
        "cells_per_section": run.links,
        "coupling": run.coupling,
        "largest_reynolds_number": run.largest_reynolds,
        "simulated_time_s": float(run.times[-1]),
        "commands": {
            "time_s": run.torques.times.tolist(),
            "torques_Nm": run.torques.torques.tolist(),
        },
        "moves": [asdict(move) | {"distance": move.distance} for move in arm_moves(run)],
        "largest_pressures_Pa": run.pressures.max(axis=0).tolist(),
        "end_m": run.ends[-1].tolist(),
        "end_curvatures_1_per_m": run.curvatures[-1].tolist(),
    }


def arm_arrays(run: ArmRun) -> dict[str, Array]:
    """A run as the arrays of ``trajectory.npz``, all in SI and with time first."""
    return {
        "time": run.times,
        "torques": run.commanded,
        "pressures": run.pressures,
        "ends": run.ends,
        "speeds": run.speeds,
        "bends": run.bends,
        "lengths": run.lengths,
        "curvatures": run.curvatures,
        "backbone": run.backbone,
        "joints": run.joints,
    }
