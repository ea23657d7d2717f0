"""``softgrasp check``: properties of a file, checks of what it describes, and repairs of robots."""

from __future__ import annotations

import warnings
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer import Argument, Option

from softgrasp.cli import terminal
from softgrasp.cli.names import kind_of
from softgrasp.cli.options import FINGER_MESH, PROBLEMS, Json, SceneOptions, with_scene_options
from softgrasp.errors import DescriptionError, SoftgraspWarning
from softgrasp.io.files import listening

if TYPE_CHECKING:
    from softgrasp.cli.names import Kind

SENTENCES = ("checks", "findings", "problems", "remarks", "repairs", "changes", "verdict")
"""Parts of the document that come after the properties."""
PLAIN, WITH_BENDABLES = ".urdf", ".ucrdf"
REPAIRABLE = (
    "it repairs units of lengths, limits, masses and inertias, inertias that are missing or that "
    "no body has, and limits of followers that their leader leaves"
)


@with_scene_options("units", *FINGER_MESH)
def check(
    what: Annotated[
        str,
        Argument(
            metavar="FILE_OR_NAME", help="Hand, object, scene, release, robot, mesh or world."
        ),
    ],
    *,
    finger: Annotated[
        bool, Option("--finger", help="A mesh is that of a soft finger; --out draws finger.png.")
    ] = False,
    options: SceneOptions,
    fix: Annotated[
        bool,
        Option(
            "--fix",
            help="Repair a robot: units, inertia, limits of followers; --out names the file.",
        ),
    ] = False,
    out: Annotated[
        Path | None,
        Option(
            "--out",
            "-o",
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
    kind, units = kind_of(what), options.units
    if units is not None and kind not in ("mesh", "robot", "hand"):
        raise DescriptionError(f"--units: expected a mesh or robot file, found: {kind}")
    if finger and kind != "mesh":
        raise DescriptionError(f"--finger: expected a mesh, found: {kind}")
    for option in () if finger else options.of_mesh_hands:
        raise DescriptionError(f"{option}: expected --finger with it, found none")
    from softgrasp.cli.properties import document_checks
    from softgrasp.report.grasp_report import FINGER

    if units is not None and fix:
        raise DescriptionError("--units: expected no --fix, which detects the unit itself, with it")
    with terminal.progress_bar() as update, listening(update):
        update(f"reading {what}", None)
        if fix:
            document = fix_robot(kind, what, out)
        else:
            document = document_checks(
                "finger" if finger else kind, what, units, reading=options.finger_mesh,
                figure=None if out is None else out / FINGER,
            )  # fmt: skip
    if out is not None and not fix:
        terminal.save_json(document, out / "check.json")
    if json:
        terminal.put_json(document)
    else:
        print_document(document)
    if document["problems"]:
        raise typer.Exit(PROBLEMS)


# Output.


def print_document(document: dict[str, Any]) -> None:
    """Print properties, a table of the checks, remarks, problems and the verdict."""
    for name, value in document.items():
        if name in SENTENCES or value in ("", []):
            continue
        if name == "notes" or (isinstance(value, list) and isinstance(value[0], dict)):
            terminal.put(f"{name.replace('_', ' ')}:")
            for part in value:
                terminal.put(f"  {_text(part)}")
        else:
            terminal.put(f"{name}: {_text(value)}")
    if checks := document.get("checks"):
        rows = [[item["name"], item["verdict"], item["measured"]] for item in checks]
        terminal.put_table(["check", "verdict", "measured"], rows)
    texts = [f"repaired: {item['sentence']}" for item in document.get("repairs", [])]
    texts += [f"  {change}" for change in document.get("changes", [])]
    texts += [f"remark: {remark}" for remark in document["remarks"]]
    texts += [f"problem: {problem}" for problem in document["problems"]]
    for text in (*texts, document["verdict"]):
        terminal.put(text)


def _text(value: Any) -> str:
    if isinstance(value, dict):
        stated = {name: part for name, part in value.items() if part not in (None, "", [])}
        return ", ".join(f"{name} {_text(part)}" for name, part in stated.items())
    if isinstance(value, list):
        return f"[{', '.join(map(_text, value))}]"
    return f"{value:.6g}" if isinstance(value, float) else str(value)


# Repairs.


def fix_robot(kind: Kind, what: str, out: Path | None) -> dict[str, Any]:
    """Write a repaired robot, and return the repairs as plain data.

    Raises:
        DescriptionError: It is no robot, or ``out`` names no file of the right kind.
        ResultError: The file cannot be written.
    """
    from softgrasp.checks.repair import repair_robot, repairs
    from softgrasp.checks.report import format_count
    from softgrasp.checks.robot import total_mass
    from softgrasp.cli.properties import document_checks
    from softgrasp.io.load import load_robot, robot_path
    from softgrasp.io.urdf.writer import Edit, write_changed

    if kind != "robot":
        raise DescriptionError(f"--fix: expected a robot, found: {kind}")
    with warnings.catch_warnings():  # remarks of the checks
        warnings.simplefilter("ignore", SoftgraspWarning)
        robot = load_robot(what)
    file = _target(out, bool(robot.bendables), Path(what))
    changes = repairs(robot)
    written = repair_robot(robot)
    edits: tuple[Edit, ...] = ()
    before = after = document_checks(kind, what)
    verdict = f"{before['verdict']}; nothing that --fix can repair was found ({REPAIRABLE}), and "
    verdict += "no file was written"
    if changes:
        edits = write_changed(robot_path(what), robot, written, file)
        terminal.note(f"wrote {file}")
        after = document_checks(kind, str(file))
        masses = f"{total_mass(robot):.4g} kg → {total_mass(written):.4g} kg"
        count = format_count(len(changes), "repair")
        verdict = f"before {before['verdict']}; {count}, {masses}; after {after['verdict']}"
    return {
        "kind": kind,
        "name": robot.name,
        "file": str(file) if changes else "",
        "mass_kg": total_mass(written),
        "mass_before_kg": total_mass(robot),
        "repairs": [{**asdict(change), "sentence": change.sentence} for change in changes],
        "changes": [edit.sentence(Path(what).name) for edit in edits],
        **{name: after[name] for name in ("checks", "findings", "problems", "remarks")},
        "verdict": verdict,
    }


def _target(out: Path | None, bendable: bool, source: Path) -> Path:
    """Return the path of the repaired file after checking that it may be written.

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
