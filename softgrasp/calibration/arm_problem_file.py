"""Calibration problems of hydraulic arms in YAML: an arm, and the tables of its motions."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import numpy as np

from softgrasp.calibration import files
from softgrasp.description.arm_calibration import ArmBounds, ArmCalibrationProblem, ArmMotion
from softgrasp.description.hydraulic_arm import HydraulicArm
from softgrasp.errors import DescriptionError
from softgrasp.formats.hydraulic_arm_file import load_hydraulic_arm
from softgrasp.formats.torque_file import load_torques
from softgrasp.formats.yaml_file import Tree
from softgrasp.mechanics.hydraulic.recording import TipRecording


def arm_problem_from(data: dict[str, Tree], directory: Path) -> ArmCalibrationProblem:
    """Make a problem of a YAML tree.

    Args:
        data: ``arm``, a name or a file; ``motions``, each with the ``table`` of what was recorded
            and ``pressures`` or ``torques``; fields of ``ArmCalibrationProblem``.
        directory: Where the files lie that it names.

    Raises:
        DescriptionError: Something cannot be read, or does not fit.
    """
    tree: dict[str, Any] = dict(data)
    name = tree.pop("arm")
    if not isinstance(name, str):
        raise DescriptionError(f"expected an arm's name or file, found {name!r}", field="arm")
    beside = directory / name
    arm = load_hydraulic_arm(beside if beside.is_file() else name)
    entries = tree.pop("motions", None)
    if not isinstance(entries, list) or not all(isinstance(one, dict) for one in entries):
        raise DescriptionError(
            f"expected a list of motions, each with its table, found {entries!r}", field="motions"
        )
    tree["motions"] = tuple(_motion(dict(one), index, arm, directory) for index, one in
                            enumerate(entries))  # fmt: skip
    if isinstance(tree.get("bounds"), dict):
        tree["bounds"] = ArmBounds(**files.as_tuples(tree["bounds"]))
    return ArmCalibrationProblem(arm=arm, **files.as_tuples(tree))


def recorded_motion(recording: TipRecording, **fields: Any) -> ArmMotion:
    """A motion whose ends are those of a recording, simulated or measured.

    Args:
        recording: Such as ``ArmChain.move`` gives.
        fields: Other fields of ``ArmMotion``: ``pressures``, ``torques``, ``start``, ….

    Raises:
        DescriptionError: A field does not fit.
    """
    ends = np.asarray(recording.ends).reshape(len(recording.times), -1)
    rows = tuple(tuple(row) for row in ends.tolist())
    return ArmMotion(times=tuple(np.asarray(recording.times).tolist()), ends=rows, **fields)


def read_motion(path: Path, sections: int) -> dict[str, Any]:
    """Fields of a motion from a table.

    Args:
        path: CSV with ``time_s`` and ``x1_mm``, ``y1_mm``, ``z1_mm``, … of the ends of all
            sections, or ``x_mm``, ``y_mm``, ``z_mm`` of the last one, or ``u1_deg``, ``v1_deg``, …
            of the bends; other units are m and rad.
        sections: Of the arm.

    Raises:
        DescriptionError: The file cannot be read, or a column or a number is wrong.
    """
    numbers = range(1, sections + 1)
    last = ["x", "y", "z"]
    every = [f"{axis}{number}" for number in numbers for axis in "xyz"]
    bends = [f"{axis}{number}" for number in numbers for axis in "uv"]
    head = _stems(path)
    columns = bends if "u1" in head else every if "x1" in head else last
    rows = files.read_columns(path, ("time", *columns))
    values = tuple(tuple(row[name] for name in columns) for row in rows)
    field = "bends" if columns == bends else "ends"
    return {"times": tuple(row["time"] for row in rows), field: values}


def _motion(tree: dict[str, Any], index: int, arm: HydraulicArm, directory: Path) -> ArmMotion:
    location = ("motions", index)
    table = tree.pop("table", None)
    if not isinstance(table, str):
        raise DescriptionError(
            f"expected the name of a table, found {table!r}",
            field=f"motions[{index}].table", location=location,
        )  # fmt: skip
    tree.setdefault("name", Path(table).stem)
    if isinstance(torques := tree.get("torques"), str):
        beside = directory / torques
        recording = load_torques(beside if beside.is_file() else torques)
        tree["torques"] = np.column_stack([recording.times, recording.torques]).tolist()
    recorded = read_motion(directory / table, len(arm.sections))
    try:
        return ArmMotion(**files.as_tuples(tree), **recorded)
    except DescriptionError as error:
        if error.file is not None:
            raise
        field = f"motions[{index}]" + (f".{error.field}" if error.field else "")
        where = (*location, *error.location)
        raise DescriptionError(error.message, field=field, location=where) from None


def _stems(path: Path) -> list[str]:
    """Names of the columns without their units; the reader of the table tells what is wrong."""
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            lines = [line for line in csv.reader(file, skipinitialspace=True) if line]
    except (OSError, UnicodeDecodeError, csv.Error):
        return []
    lines = [line for line in lines if not line[0].lstrip().startswith("#")]
    return [name.strip().rpartition("_")[0] for name in lines[0]] if lines else []
