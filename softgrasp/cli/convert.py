"""``softgrasp convert``: hands, scenes and robots in other formats."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from softgrasp.cli import terminal
from softgrasp.cli.options import Json, Out
from softgrasp.errors import DescriptionError

MODEL, URDF, UCRDF, WEBOTS = ".xml", ".urdf", ".ucrdf", ".wbt"


class Discs(StrEnum):
    """Joints of the discs that stand for a bendable in plain URDF."""

    FIXED = "fixed"
    FLOATING = "floating"


def convert(
    source: Annotated[
        str, typer.Argument(metavar="IN", help="Name or file of a hand, a scene or a robot.")
    ],
    target: Annotated[
        Path,
        typer.Argument(
            metavar="OUT",
            help="File to write: .xml (MJCF); of a hand or a scene also .wbt (Webots, with its "
            "controller); of a robot also .urdf or .ucrdf.",
        ),
    ],
    discs: Annotated[
        Discs | None,
        typer.Option(help="Joints of a bendable's discs in .urdf: fixed (default), or floating."),
    ] = None,
    at: Annotated[
        list[str] | None,
        typer.Option(
            metavar="[NAME:]kappa=K,phi=P",
            help="State of a bendable, or of all, in .urdf [1/m, rad]; else straight. Repeatable.",
        ),
    ] = None,
    most_faces: Annotated[
        int | None,
        typer.Option(metavar="N", help="Make meshes in .wbt coarser that have more triangles."),
    ] = None,
    out: Out = None,
    json: Json = False,
) -> None:
    """Write a hand, a scene or a robot as a MuJoCo model, or in another format.

    Hands and scenes can be Webots projects, robots plain URDF or U(C)RDF.
    """
    from softgrasp.cli.source import kind_of
    from softgrasp.description.problems import either
    from softgrasp.formats.atomic import write_text

    kind = kind_of(source)
    if kind not in ("hand", "scene", "robot"):
        article = "an" if kind == "object" else "a"
        raise DescriptionError(
            f"{source}: expected a hand, a scene or a robot, found {article} {kind}"
        )
    suffixes = (MODEL, URDF, UCRDF) if kind == "robot" else (MODEL, WEBOTS)
    if target.suffix not in suffixes:
        raise DescriptionError(
            f"{target}: expected a file name ending in {either(suffixes)}, found '{target.suffix}'"
        )
    if (discs is not None or at) and target.suffix != URDF:
        raise DescriptionError(f"--discs, --at: expected a target ending in .urdf, found {target}")
    if most_faces is not None and target.suffix != WEBOTS:
        raise DescriptionError(f"--most-faces: expected a target ending in .wbt, found {target}")
    if target.suffix == WEBOTS:
        place = target if out is None else out / target
        files = _webots_project(source, place, is_hand=kind == "hand", most_faces=most_faces)
        if json:
            terminal.put_json({"file": str(place), "kind": kind, "files": list(map(str, files))})
        else:
            _tell_project(place, files)
        return
    if kind == "robot":
        text = _robot_text(source, target.suffix, discs or Discs.FIXED, at or [])
    else:
        text = _model_text(source, is_hand=kind == "hand")
    file = write_text(target if out is None else out / target, text)
    if json:
        terminal.put_json({"file": str(file), "kind": kind})
    else:
        terminal.put(f"wrote {file}")


def _model_text(source: str, *, is_hand: bool) -> str:
    """A hand or a scene as MJCF, meshes and start state included."""
    from softgrasp.build.hand_model import hand_to_mjcf
    from softgrasp.build.scene import to_mjcf
    from softgrasp.formats.load import load_hand
    from softgrasp.formats.scene_file import load_scene

    return hand_to_mjcf(load_hand(source)) if is_hand else to_mjcf(load_scene(source))


def _webots_project(
    source: str, target: Path, *, is_hand: bool, most_faces: int | None
) -> tuple[Path, ...]:
    """A hand or a scene as a Webots project; returns its files."""
    from softgrasp.formats.load import load_hand
    from softgrasp.formats.scene_file import load_scene
    from softgrasp.simulation.webots.export import hand_project, scene_project

    if is_hand:
        project = hand_project(load_hand(source), target, most_faces)
    else:
        project = scene_project(load_scene(source), target, most_faces)
    for remark in project.remarks:
        terminal.say("warning", remark)
    return project.files


def _tell_project(target: Path, files: tuple[Path, ...]) -> None:
    from softgrasp.simulation.webots.export import in_worlds

    for file in files:
        terminal.put(f"wrote {file}")
    if not in_worlds(target):
        terminal.put(
            f"run it with WEBOTS_EXTRA_PROJECT_PATH={target.parent.resolve()} webots {target}; in "
            "a folder called worlds it would find its controller by itself"
        )


def _robot_text(source: str, suffix: str, discs: Discs, at: list[str]) -> str:
    """A robot as MJCF, as plain URDF, or as U(C)RDF."""
    from softgrasp.cli.bent_states import states_from
    from softgrasp.formats.robot_file import load_robot
    from softgrasp.formats.ucrdf import rigid_urdf, robot_xml

    robot = load_robot(source)
    if suffix == URDF:
        return rigid_urdf(robot, states_from(robot, at), discs.value)
    if suffix == UCRDF:
        return robot_xml(robot)
    from softgrasp.build.compiling import compiled
    from softgrasp.build.robot import robot_spec

    spec = robot_spec(robot)
    compiled(spec, robot.name)
    return str(spec.to_xml())
