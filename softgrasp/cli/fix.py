"""``softgrasp check --fix``: a robot with its units, inertia and followers put right."""

from __future__ import annotations

import warnings
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from softgrasp.cli import terminal
from softgrasp.errors import DescriptionError, SoftgraspWarning

if TYPE_CHECKING:
    from softgrasp.checks.report import Inspection
    from softgrasp.cli.source import Kind
    from softgrasp.description.robot import Robot

REPAIRABLE = (
    "it repairs units of masses and inertias, inertias that are missing or that no body has, and "
    "limits of followers that their leader leaves"
)
PLAIN, WITH_BENDABLES = ".urdf", ".ucrdf"


def fix_robot(kind: Kind, what: str, out: Path | None, mass: float | None) -> dict[str, Any]:
    """Write a repaired robot and return what was done, as plain data.

    Args:
        kind: What the name or file holds.
        what: The name or file.
        out: The file to write.
        mass: What all links together weigh [kg], where that is known.

    Raises:
        DescriptionError: It is no robot, or ``out`` names no file of the right kind.
        ResultError: The file cannot be written.
    """
    from softgrasp.checks.repair import repaired, repairs
    from softgrasp.checks.robot import inspect_robot, total_mass
    from softgrasp.formats.robot_file import load_robot
    from softgrasp.formats.ucrdf import write_robot

    if kind != "robot":
        raise DescriptionError(f"--fix: expected a robot, found: {kind}")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", SoftgraspWarning)
        robot = load_robot(what)
    file = _target(out, bool(robot.bendables), Path(what))
    before, changes = inspect_robot(robot), repairs(robot, total_mass=mass)
    for one in caught:
        terminal.show_message("warning", str(one.message))
    if not changes:
        return _unwritten(robot, before)
    write_robot(repaired(robot, total_mass=mass), file)
    terminal.note(f"wrote {file}")
    written = load_robot(file)
    after = inspect_robot(written)
    masses = f"{total_mass(robot):.4g} kg → {total_mass(written):.4g} kg"
    plain = after.as_dict()
    return {
        "kind": kind,
        "name": robot.name,
        "file": str(file),
        "mass_kg": total_mass(written),
        "mass_before_kg": total_mass(robot),
        "repairs": [{**asdict(one), "sentence": one.sentence} for one in changes],
        "checks": plain["checks"],
        "findings": plain["findings"],
        "problems": [one.sentence for one in after.problems],
        "remarks": [one.sentence for one in after.remarks],
        "verdict": (
            f"before {before.verdict}; {len(changes)} repairs, {masses}; after {after.verdict}"
        ),
    }


def _unwritten(robot: Robot, inspection: Inspection) -> dict[str, Any]:
    """What is told where there is nothing to repair; no file is written."""
    from softgrasp.checks.robot import total_mass

    plain = inspection.as_dict()
    return {
        "kind": "robot",
        "name": robot.name,
        "file": "",
        "mass_kg": total_mass(robot),
        "mass_before_kg": total_mass(robot),
        "repairs": [],
        "checks": plain["checks"],
        "findings": plain["findings"],
        "problems": [one.sentence for one in inspection.problems],
        "remarks": [one.sentence for one in inspection.remarks],
        "verdict": f"{inspection.verdict}; nothing that --fix can repair was found ({REPAIRABLE}), and "
        "no file was written",
    }


def _target(out: Path | None, bendable: bool, source: Path) -> Path:
    """The file to write.

    Raises:
        DescriptionError: It is not given, has another suffix, or is the source.
    """
    suffixes = (WITH_BENDABLES,) if bendable else (PLAIN, WITH_BENDABLES)
    known = " or ".join(f"FILE{suffix}" for suffix in suffixes)
    if out is None:
        raise DescriptionError(f"--fix: expected --out {known} beside it, found none")
    if out.suffix.lower() not in suffixes:
        raise DescriptionError(f"--out: expected {known}, found '{out}'")
    if out.exists() and source.exists() and out.samefile(source):
        raise DescriptionError(f"--out: expected another file than the source, found '{out}'")
    return out
