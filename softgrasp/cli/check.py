"""``softgrasp check``: what a file holds, what was measured, and what is wrong with it."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from softgrasp.cli import terminal
from softgrasp.cli.options import Json, Units
from softgrasp.cli.verb import PROBLEMS
from softgrasp.errors import BuildError, DescriptionError, SoftgraspWarning

if TYPE_CHECKING:
    from softgrasp.checks.report import Inspection
    from softgrasp.cli.source import Kind
    from softgrasp.description.hand import Hand
    from softgrasp.description.robot import Robot
    from softgrasp.description.scene import GraspScene
    from softgrasp.description.shapes import LengthUnit, Mesh


class Checked(NamedTuple):
    """What a file holds, and what was found."""

    properties: dict[str, Any]
    problems: list[str]
    """Of what is built or read without an inspection of its own."""
    inspection: Inspection | None = None
    known_warnings: tuple[str, ...] = ()
    """Warnings that the inspection tells with its own words."""


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
        typer.Option(metavar="KG", help="With --fix: what all links together weigh in truth."),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            metavar="DIR|FILE.urdf|FILE.ucrdf",
            help="Folder for check.json; with --fix, the repaired robot: .urdf, or .ucrdf (URDF "
            "with bendable segments).",
        ),
    ] = None,
    json: Json = False,
) -> None:
    """Read a hand, object, scene, release, robot, mesh or Webots world; tell what was found.

    Exits with 0 where all is well, with 1 where it can be read but has problems, and with 2 where
    it cannot be read as what it claims to be. With --fix, what counts is the file that was written.
    """
    from softgrasp.cli.fix import fix_robot
    from softgrasp.cli.source import kind_of
    from softgrasp.formats.progress import listening

    kind = kind_of(what)
    if units is not None and kind != "mesh":
        raise DescriptionError(f"--units: expected a mesh file, found: {kind}")
    if mass is not None and not fix:
        raise DescriptionError("--mass: expected --fix beside it, found none")
    with terminal.progress_bar() as update, listening(update):
        update(f"reading {what}", None)
        if fix:
            document = fix_robot(kind, what, out, mass)
        else:
            document = _document(kind, what, "m" if units is None else units.value)
    if out is not None and not fix:
        terminal.save_json(document, out / "check.json")
    if json:
        terminal.put_json(document)
    else:
        from softgrasp.cli.check_text import print_document

        print_document(document)
    if document["problems"]:
        raise typer.Exit(PROBLEMS)


def _document(kind: Kind, what: str, units: LengthUnit) -> dict[str, Any]:
    """Everything that is told, as plain data."""
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
    """Facts and findings; warnings are raised besides."""
    from softgrasp import library
    from softgrasp.checks.inspect import inspect
    from softgrasp.cli.facts import (
        criterion_properties,
        mesh_properties,
        object_properties,
        scene_properties,
    )
    from softgrasp.cli.release_facts import release_problems, release_properties
    from softgrasp.cli.robot_facts import robot_properties
    from softgrasp.description.shapes import Mesh
    from softgrasp.extensions import WORLD_FACTS, load
    from softgrasp.formats.criterion_file import load_criterion
    from softgrasp.formats.hand_doubts import hand_doubts
    from softgrasp.formats.load import load_hand, load_object
    from softgrasp.formats.release_file import load_release
    from softgrasp.formats.robot_file import load_robot
    from softgrasp.formats.scene_file import load_scene

    match kind:
        case "hand":
            hand = load_hand(what)
            return Checked(_properties_of(hand), [], inspect(hand), tuple(hand_doubts(hand)))
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
            return Checked(*load(WORLD_FACTS)(what))
        case "scene":
            scene = load_scene(what)
            properties, problems = _build(scene)
            return Checked(scene_properties(scene) | properties, problems)


def _mesh_warnings(shape: Mesh) -> tuple[str, ...]:
    """What reading a mesh has to say."""
    from softgrasp.formats.meshes import cut_or_hull, load_mesh

    return load_mesh(cut_or_hull(shape)[0]).warnings


def _as_hand(what: str, robot: Robot) -> dict[str, Any]:
    """What is found of a robot of rigid links that is taken as a hand, with what is told of it.

    One chain alone is rather an arm. What is wrong with the robot itself its inspection tells.
    """
    from softgrasp.cli.facts import hand_properties
    from softgrasp.formats.load import load_hand

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
    return {"as_a_hand": f"{len(hand.fingers)} chains, {len(hand.actuators)} drives"} | {
        key: value
        for key, value in [*((key, properties.get(key)) for key in kept), ("warnings", messages)]
        if value
    }


def _properties_of(hand: Hand) -> dict[str, Any]:
    """Facts of a hand; only its name where it cannot be built, as the inspection then tells."""
    from softgrasp.cli.facts import hand_properties

    try:
        return hand_properties(hand)
    except BuildError:
        return {"name": hand.name}


def _build(scene: GraspScene) -> tuple[dict[str, Any], list[str]]:
    from softgrasp.build.scene import build
    from softgrasp.cli.facts import built_properties

    try:
        return built_properties(build(scene)), []
    except BuildError as error:
        return {}, [str(error)]
