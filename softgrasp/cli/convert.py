"""``softgrasp convert``: hands, scenes and robots in other formats."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from softgrasp.cli import terminal
from softgrasp.cli.options import Json, Out
from softgrasp.errors import DescriptionError

if TYPE_CHECKING:
    from softgrasp.cli.source import Kind

MODEL, URDF, UCRDF, WEBOTS = ".xml", ".urdf", ".ucrdf", ".wbt"
SUFFIXES: dict[Kind, tuple[str, ...]] = {
    "hand": (MODEL, WEBOTS),
    "scene": (MODEL, WEBOTS),
    "release": (WEBOTS,),
    "robot": (MODEL, URDF, UCRDF),
}
"""What each kind can become."""


class Discs(StrEnum):
    """Joints of the discs that stand for a bendable in plain URDF."""

    FIXED = "fixed"
    FLOATING = "floating"


def convert(
    source: Annotated[
        str, typer.Argument(metavar="IN", help="Name or file of a hand, scene, release or robot.")
    ],
    target: Annotated[
        Path,
        typer.Argument(
            metavar="OUT",
            help="File to write: .xml (MJCF); .wbt (Webots, with its controller) of a hand, a "
            "scene or a release; .urdf or .ucrdf of a robot.",
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
        typer.Option(
            min=4, metavar="N", help="Make meshes in .wbt coarser that have more triangles."
        ),
    ] = None,
    out: Out = None,
    json: Json = False,
) -> None:
    """Write a hand, a scene or a robot as a MuJoCo model, or in another format.

    Hands, scenes and releases can be Webots projects, robots plain URDF or U(C)RDF.
    """
    from softgrasp.cli.source import kind_of
    from softgrasp.cli.webots_project import put_project
    from softgrasp.description.problems import either
    from softgrasp.formats.atomic import write_text

    kind = kind_of(source)
    suffixes = SUFFIXES.get(kind)
    if suffixes is None:
        article = "an" if kind == "object" else "a"
        raise DescriptionError(
            f"{source}: expected a hand, a scene, a release or a robot, found {article} {kind}"
        )
    if target.suffix not in suffixes:
        raise DescriptionError(
            f"{target}: expected a file name ending in {either(suffixes)}, found '{target.suffix}'"
        )
    if (discs is not None or at) and target.suffix != URDF:
        raise DescriptionError(f"--discs, --at: expected a target ending in .urdf, found {target}")
    if most_faces is not None and target.suffix != WEBOTS:
        raise DescriptionError(f"--most-faces: expected a target ending in .wbt, found {target}")
    if target.suffix == WEBOTS:
        put_project(kind, source, target if out is None else out / target, most_faces, json=json)
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
