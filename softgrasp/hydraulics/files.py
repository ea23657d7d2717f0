"""Files of hydraulic arms: arms in YAML and U(C)RDF, arms in scene files, torques in CSV.

A table of torques has the column ``time_s`` and ``torque_1``, ``torque_2``, … in N·m.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from softgrasp import assets
from softgrasp.assets import MACRO_SUFFIX, ROBOT_SUFFIXES
from softgrasp.description import Backbone, CurvatureLimits, Robot
from softgrasp.errors import DescriptionError, SoftgraspWarning, did_you_mean
from softgrasp.hydraulics.description import (
    LARGEST_BEND,
    HydraulicArm,
    HydraulicCarrier,
    arm_of_robot,
    arm_robot,
)
from softgrasp.hydraulics.integrators import TorqueTable
from softgrasp.io import Column, read_table, write_robot
from softgrasp.plugin_api import (
    Tree,
    YamlFile,
    description_tree,
    dump,
    loader,
    make_of_robot,
    pose_tree,
    scaled,
    take_units,
    write_text,
)

ROUNDING = 1e-4
"""Tolerance of an angle in a file of four decimals [rad]."""
POSES = ("base", "tool")
SUFFIXES = (".yaml", ".yml")
WRITTEN = (*SUFFIXES, *(suffix for suffix in ROBOT_SUFFIXES if suffix != MACRO_SUFFIX))
LENGTHS = frozenset(["length", "radius", "diameter", "lead"])
AREAS, ANGLES = frozenset(["area"]), frozenset(["angle"])
SUFFIX = ".csv"
COLUMNS = (Column("time", {"s": 1.0}), Column("torque_", numbered=True))


def carrier_from(data: dict[str, Tree], directory: Path) -> HydraulicCarrier:
    """Make a hydraulic arm that carries a hand from a YAML tree.

    Args:
        data: ``hydraulic`` is an arm's name, file, or mapping, ``torques`` rows or the name of a
            CSV file; other fields are those of ``HydraulicCarrier``. ``units`` apply to this tree
            only.
        directory: Directory of the files that it names.

    Raises:
        DescriptionError: Something in the tree, or in a file, is invalid.
    """
    rest, length, angle = take_units(data)
    for key in POSES:
        if key in rest:
            rest[key] = pose_tree(rest[key], length, angle, (key,), f"the {key}")
    arm, torques = rest["hydraulic"], rest.get("torques")
    if isinstance(arm, dict):
        rest["hydraulic"] = hydraulic_arm_from(arm)
    else:
        rest["hydraulic"] = load_hydraulic_arm(beside(str(arm), directory))
    if isinstance(torques, str):
        rest["torques"] = torque_rows(load_torques(beside(torques, directory)))
    return HydraulicCarrier(**rest)


def torque_rows(table: TorqueTable) -> list[list[float]]:
    """Return rows of the time [s] and the torques [N·m]."""
    rows: list[list[float]] = np.column_stack([table.times, table.torques]).tolist()
    return rows


def beside(name: str, directory: Path) -> str:
    """Return the path of a file in the directory if it exists, else the unchanged name."""
    return str(directory / name) if (directory / name).is_file() else name


def carrier_tree(carrier: HydraulicCarrier) -> dict[str, Any]:
    """Convert an arm that carries a hand to a YAML tree; a shipped arm becomes its name."""
    tree: dict[str, Any] = carrier.model_dump(mode="json", exclude_defaults=True)
    arm = carrier.hydraulic
    if arm.name in assets.names("hydraulic_arms") and load_hydraulic_arm(arm.name) == arm:
        tree["hydraulic"] = arm.name
    return tree


@loader
def load_hydraulic_arm(name: str | Path) -> HydraulicArm:
    """Load a shipped hydraulic arm by name, or one from a YAML, U(C)RDF, URDF or xacro file.

    In YAML, ``units: {length: mm, angle: deg}`` applies to lengths, areas and angles; other values
    are in SI. U(C)RDF files are in SI: bendables are the sections, and ``<hydraulics>`` describes
    the drive and the load.

    Raises:
        DescriptionError: There is no such arm, or its file is invalid; names file, line and field
            or element.
        BackendUnavailable: It is a xacro file, and the xacro package is not installed.

    Warns:
        SoftgraspWarning: Parts of a U(C)RDF file are omitted.
    """
    path = Path(name)
    suffix = path.suffix.lower()
    if suffix in ROBOT_SUFFIXES:
        return make_of_robot(path, lambda robot: _arm(robot, path))
    if suffix not in SUFFIXES:
        if suffix or len(path.parts) > 1:
            raise DescriptionError(
                f"expected a hydraulic arm as {', '.join((*SUFFIXES, *ROBOT_SUFFIXES))} or a "
                f"library name, found '{suffix or path.name}'",
                file=path,
            )
        path = assets.find("hydraulic_arms", str(name))
    return YamlFile(path).read(lambda data: hydraulic_arm_from({"name": path.stem} | data))


def _arm(robot: Robot, path: Path) -> HydraulicArm:
    arm = arm_of_robot(robot)
    left = ", ".join(_left_out(robot))
    if left:
        message = f"{path}: omitted, as a hydraulic arm has no such parts: {left}"
        warnings.warn(message, SoftgraspWarning, stacklevel=4)
    return arm


def _left_out(robot: Robot) -> Iterator[str]:
    """List the parts of a robot that an arm description cannot represent."""
    fields = Backbone.model_fields
    for part in robot.bendables:
        apart = abs((part.limits.theta_max or 0.0) - LARGEST_BEND)
        rounded = part.limits.replace(theta_max=LARGEST_BEND)
        if apart > ROUNDING or rounded != CurvatureLimits(theta_max=LARGEST_BEND):
            yield f"limits of bendable '{part.name}'"
        for name in ("links", "discs"):
            if getattr(part.backbone, name) != fields[name].default:
                yield f"{name} of bendable '{part.name}'"
    for link in robot.links:
        if link.visuals or link.collisions:
            yield f"shapes of link '{link.name}'"
        if link.inertial is not None:
            yield f"mass of the fixed link '{link.name}'"
    for system in robot.control:
        yield f"ros2_control '{system.name}'"


def save_hydraulic_arm(arm: HydraulicArm, path: str | Path) -> Path:
    """Write an arm as YAML or U(C)RDF, after the suffix, in SI with all digits; return the path.

    ``load_hydraulic_arm`` makes an equal arm from it.

    Raises:
        DescriptionError: No such suffix, or a text contains characters that XML does not allow.
        ResultError: The file cannot be written.
    """
    suffix = Path(path).suffix.lower()
    if suffix not in WRITTEN:
        raise DescriptionError(
            f"expected a file as {', '.join(WRITTEN)}, found '{path}'", field="path"
        )
    if suffix in SUFFIXES:
        tree = description_tree(arm, types=False)
        head = {key: tree[key] for key in ("name", "source", "segments", "sections") if key in tree}
        return write_text(path, dump(head | tree))
    return write_robot(arm_robot(arm), path)


def hydraulic_arm_from(data: dict[str, Tree]) -> HydraulicArm:
    """Make an arm from a YAML tree.

    Raises:
        DescriptionError: Something in the tree is invalid; with its location.
    """
    rest, length, angle = take_units(data)
    return HydraulicArm(**_to_si(rest, length, angle))


def _to_si(data: Tree, length: float, angle: float) -> Tree:
    if isinstance(data, list):
        return [_to_si(part, length, angle) for part in data]
    if not isinstance(data, dict):
        return data
    factors = dict.fromkeys(LENGTHS, length) | dict.fromkeys(AREAS, length**2)
    factors |= dict.fromkeys(ANGLES, angle)
    return {
        key: scaled(value, factors[key]) if key in factors else _to_si(value, length, angle)
        for key, value in data.items()
    }


@loader
def load_torques(name: str | Path) -> TorqueTable:
    """Load shipped torques by name (``paper003_ramp``), or those of a CSV file.

    The first line names the columns, ``time_s, torque_1, torque_2, …``; lines that begin with #
    are comments. Torques are interpolated linearly and constant after the last time.

    Raises:
        DescriptionError: There is no such table, or it is invalid: a cell is not a number, times
            do not increase, columns are missing; names file, line and column.
    """
    path = Path(name)
    if path.suffix.lower() != SUFFIX:
        directory = assets.directory("hydraulic_arms")
        known = sorted(file.stem for file in directory.glob(f"*{SUFFIX}"))
        if str(name) not in known:
            raise DescriptionError(f"no torques '{name}'; {did_you_mean(str(name), known)}")
        path = directory / f"{name}{SUFFIX}"
    table = read_table(path, COLUMNS, rising="time")
    return TorqueTable(table["time"], table["torque_"])
