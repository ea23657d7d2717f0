"""``softgrasp check``: properties of a file, checks of what it describes, and repairs of robots."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from softgrasp.cli import terminal
from softgrasp.cli.options import PROBLEMS, Json, Units
from softgrasp.cli.properties import (
    bendable_line,
    built_properties,
    control_line,
    coupling_line,
    criterion_properties,
    finger_line,
    hand_properties,
    joint_line,
    mesh_properties,
    object_properties,
    release_properties,
    robot_properties,
    scene_properties,
    soft_finger_line,
)
from softgrasp.description.calibration import FingerRelease
from softgrasp.description.geometry import Mesh
from softgrasp.description.hand import Hand
from softgrasp.description.robot import Robot
from softgrasp.description.scene import GraspScene
from softgrasp.errors import BuildError, DescriptionError, SoftgraspError, SoftgraspWarning
from softgrasp.sim.soft_dynamics import LinearMode, linear_mode
from softgrasp.sim.soft_statics import damped_finger, loaded_shape

if TYPE_CHECKING:
    from softgrasp.checks.report import Inspection
    from softgrasp.cli.scene_args import Kind
    from softgrasp.description.geometry import LengthUnit

SENTENCES = ("checks", "findings", "problems", "remarks", "repairs", "verdict")
"""Parts of the document that come after the properties."""
PLAIN, WITH_BENDABLES = ".urdf", ".ucrdf"
REPAIRABLE = (
    "it repairs units of masses and inertias, inertias that are missing or that no body has, and "
    "limits of followers that their leader leaves"
)
MIN_DECAY_TIMES = 3.0
"""Minimum duration of a release over the time in which its first mode decays to 1/e."""


class Checked(NamedTuple):
    """Properties and problems of a file."""

    properties: dict[str, Any]
    problems: list[str]
    """Problems of files without an inspection."""
    inspection: Inspection | None = None
    known_warnings: tuple[str, ...] = ()
    """Warnings that the inspection reports in its own words."""


def check(
    what: Annotated[
        str,
        typer.Argument(
            metavar="FILE_OR_NAME", help="Hand, object, scene, release, robot, mesh or world."
        ),
    ],
    units: Units = None,
    fix: Annotated[
        bool,
        typer.Option(
            "--fix",
            help="Repair a robot: units of masses, inertia, limits of followers; --out names the "
            "file to write.",
        ),
    ] = False,
    mass: Annotated[
        float | None,
        typer.Option(metavar="KG", help="With --fix: known mass of all links together."),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            metavar="DIR|FILE.urdf|FILE.ucrdf",
            help="Directory for check.json; with --fix, the repaired robot: .urdf, or .ucrdf (URDF "
            "with bendable segments).",
        ),
    ] = None,
    json: Json = False,
) -> None:
    """Check a hand, object, scene, release, robot, mesh or Webots world; print its properties.

    Exits with 0 without problems, with 1 where it can be read but has problems, and with 2 where
    it cannot be read as what it claims to be. With --fix, the written file is checked.
    """
    from softgrasp.cli.scene_args import kind_of
    from softgrasp.io.files import listening

    kind = kind_of(what)
    if units is not None and kind != "mesh":
        raise DescriptionError(f"--units: expected a mesh file, found: {kind}")
    if mass is not None and not fix:
        raise DescriptionError("--mass: expected --fix with it, found none")
    with terminal.progress_bar() as update, listening(update):
        update(f"reading {what}", None)
        document = fix_robot(kind, what, out, mass) if fix else _document(kind, what, units or "m")
    if out is not None and not fix:
        terminal.save_json(document, out / "check.json")
    if json:
        terminal.put_json(document)
    else:
        print_document(document)
    if document["problems"]:
        raise typer.Exit(PROBLEMS)


def _document(kind: Kind, what: str, units: LengthUnit) -> dict[str, Any]:
    """Return properties, checks and problems as plain data."""
    from softgrasp.checks.report import summary

    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always", SoftgraspWarning)
        checked = _checked(kind, what, units)
    words = [str(w.message) for w in warned if issubclass(w.category, SoftgraspWarning)]
    problems = [*checked.problems, *(word for word in words if word not in checked.known_warnings)]
    document: dict[str, Any] = {"kind": kind, **checked.properties}
    remarks: list[str] = []
    lead = ""
    if checked.inspection is not None:
        plain = checked.inspection.as_dict()
        document |= {"checks": plain["checks"], "findings": plain["findings"]}
        problems = [*(one.sentence for one in checked.inspection.problems), *problems]
        remarks = [one.sentence for one in checked.inspection.remarks]
        lead = f"{len(checked.inspection.checks)} checks: "
    problems = list(dict.fromkeys(problems))
    verdict = f"{lead}{summary(problems, remarks)}"
    return document | {"problems": problems, "remarks": remarks, "verdict": verdict}


def _checked(kind: Kind, what: str, units: LengthUnit) -> Checked:
    """Return properties and inspection; warnings are raised as usual."""
    from softgrasp import assets as library
    from softgrasp.checks.inspect import inspect
    from softgrasp.extensions import WORLD_PROPERTIES, load
    from softgrasp.io.hand_sanity import hand_doubts
    from softgrasp.io.load import load_hand, load_object, load_robot
    from softgrasp.io.scene import load_criterion, load_release, load_scene

    match kind:
        case "hand":
            hand = load_hand(what)
            return Checked(_properties_if_built(hand), [], inspect(hand), tuple(hand_doubts(hand)))
        case "object":
            obj = load_object(what)
            hand_warnings = _mesh_warnings(obj.shape) if isinstance(obj.shape, Mesh) else ()
            return Checked(object_properties(obj), [], inspect(obj), hand_warnings)
        case "mesh":
            shape = Mesh(file=library.portable_name(Path(what)), units=units)
            return Checked(mesh_properties(shape), [], inspect(shape), _mesh_warnings(shape))
        case "robot":
            robot = load_robot(what)
            return Checked(robot_properties(robot) | _as_hand(what, robot), [], inspect(robot))
        case "release":
            release = load_release(what)
            return Checked(release_properties(release), release_problems(release))
        case "criterion":
            return Checked(criterion_properties(load_criterion(what)), [])
        case "world":
            return Checked(*load(WORLD_PROPERTIES)(what))
        case "scene":
            scene = load_scene(what)
            properties, problems = _build(scene)
            return Checked(scene_properties(scene) | properties, problems)


def _mesh_warnings(shape: Mesh) -> tuple[str, ...]:
    """Return the warnings of reading a mesh."""
    from softgrasp.io.mesh import cut_or_hull, load_mesh

    return load_mesh(cut_or_hull(shape)[0]).warnings


def _as_hand(what: str, robot: Robot) -> dict[str, Any]:
    """Return a robot's properties as a hand of rigid links, and the warnings of reading it so.

    One chain alone is rather an arm. Problems of the robot itself are left to its inspection.
    """
    from softgrasp.io.load import load_hand

    moving = [joint for joint in robot.joints if joint.type != "fixed"]
    if robot.bendables or not moving:
        return {}
    try:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            hand = load_hand(what)
    except DescriptionError as error:
        return {"as_a_hand": f"none: {error}"}
    if len(hand.fingers) < 2:
        return {}
    properties = hand_properties(hand)
    kept = ("couplings", "fingers", "grasps", "notes")
    messages = [str(warning.message) for warning in caught]
    return {"as_a_hand": f"{len(hand.fingers)} chains, {len(hand.actuators)} actuators"} | {
        key: value
        for key, value in [*((key, properties.get(key)) for key in kept), ("warnings", messages)]
        if value
    }


def _properties_if_built(hand: Hand) -> dict[str, Any]:
    """Return a hand's properties; only its name where it cannot be built, which is a problem."""
    try:
        return hand_properties(hand)
    except BuildError:
        return {"name": hand.name}


def _build(scene: GraspScene) -> tuple[dict[str, Any], list[str]]:
    from softgrasp.model.scene import build

    try:
        return built_properties(build(scene)), []
    except BuildError as error:
        return {}, [str(error)]


def release_problems(release: FingerRelease) -> list[str]:
    """Return problems of weight, sample period and duration that prevent a comparison."""
    try:
        loaded_shape(release)
    except SoftgraspError as error:
        return [str(error)]
    mode = linear_mode(damped_finger(release))
    return [*_too_short(release, mode), *_too_coarse(release, mode)]


def _too_short(release: FingerRelease, mode: LinearMode) -> list[str]:
    needed = MIN_DECAY_TIMES / mode.decay if mode.decay > 0.0 else math.inf
    if math.isnan(mode.decay) or release.duration >= needed:
        return []
    return [
        f"duration: expected at least {needed:.2g} s, in which the first mode decays, found "
        f"{release.duration:g} s"
    ]


def _too_coarse(release: FingerRelease, mode: LinearMode) -> list[str]:
    period = 1.0 / mode.frequency if mode.frequency > 0.0 else math.inf
    if 10.0 * release.sample_period <= period:
        return []
    return [
        f"sample_period: expected at most a tenth of the first mode's period of {period:.3g} s, "
        f"found {release.sample_period:g} s"
    ]


# Output.


def print_document(document: dict[str, Any]) -> None:
    """Print properties, a table of the checks, remarks, problems and the verdict."""
    lines: dict[str, Callable[[Any], str]] = {
        "fingers": finger_line,
        "couplings": coupling_line,
        "notes": str,
        "warnings": str,
        "soft_fingers": soft_finger_line,
        "bendables": bendable_line,
        "rigid_joints": joint_line,
        "control": control_line,
    }
    for name, value in document.items():
        if name in SENTENCES:
            continue
        if name in lines and value:
            terminal.put(f"{name.replace('_', ' ')}:")
            for part in value:
                terminal.put(f"  {lines[name](part)}")
        elif value not in ("", []):
            terminal.put(f"{name}: {_text(value)}")
    if checks := document.get("checks"):
        rows = [[one["name"], one["verdict"], one["measured"]] for one in checks]
        terminal.put_table(["check", "verdict", "measured"], rows)
    for one in document.get("repairs", []):
        terminal.put(f"repaired: {one['sentence']}")
    for remark in document["remarks"]:
        terminal.put(f"remark: {remark}")
    for problem in document["problems"]:
        terminal.put(f"problem: {problem}")
    terminal.put(document["verdict"])


def _text(value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{name} {_text(part)}" for name, part in value.items())
    if isinstance(value, list):
        return f"[{', '.join(map(_text, value))}]"
    return f"{value:.6g}" if isinstance(value, float) else str(value)


# Repairs.


def fix_robot(kind: Kind, what: str, out: Path | None, mass: float | None) -> dict[str, Any]:
    """Write a repaired robot and return the repairs as plain data.

    Args:
        kind: Kind of what the name or file holds.
        what: Name or file.
        out: File to write.
        mass: Known mass of all links together [kg]; None where it is not known.

    Raises:
        DescriptionError: It is no robot, or ``out`` names no file of the right kind.
        ResultError: The file cannot be written.
    """
    from softgrasp.checks.repair import repaired, repairs
    from softgrasp.checks.robot import inspect_robot, total_mass
    from softgrasp.io.load import load_robot
    from softgrasp.io.urdf import write_robot

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
        return _without_repairs(robot, before)
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


def _without_repairs(robot: Robot, inspection: Inspection) -> dict[str, Any]:
    """Return the document where there is nothing to repair; no file is written."""
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
        "verdict": f"{inspection.verdict}; nothing that --fix can repair was found ({REPAIRABLE}), "
        "and no file was written",
    }


def _target(out: Path | None, bendable: bool, source: Path) -> Path:
    """Check the file to write.

    Raises:
        DescriptionError: It is missing, has another suffix, or is the source.
    """
    suffixes = (WITH_BENDABLES,) if bendable else (PLAIN, WITH_BENDABLES)
    known = " or ".join(f"FILE{suffix}" for suffix in suffixes)
    if out is None:
        raise DescriptionError(f"--fix: expected --out {known} with it, found none")
    if out.suffix.lower() not in suffixes:
        raise DescriptionError(f"--out: expected {known}, found '{out}'")
    if out.exists() and source.exists() and out.samefile(source):
        raise DescriptionError(f"--out: expected another file than the source, found '{out}'")
    return out
