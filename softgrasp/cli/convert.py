"""``softgrasp convert``: write hands, scenes, robots and results in other formats."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from typer import Argument, Option

from softgrasp.cli import terminal
from softgrasp.cli.names import kind_of, with_article
from softgrasp.cli.options import Json, Out, Units, reading_in
from softgrasp.errors import DescriptionError, did_you_mean
from softgrasp.extensions import WORLD_WRITER, load
from softgrasp.io.files import RESULT_FILE, listening, write_text

if TYPE_CHECKING:
    from softgrasp.cli.names import Kind
    from softgrasp.description.bendable import Bendable
    from softgrasp.description.robot import Robot


MODEL, URDF, UCRDF, WEBOTS = ".xml", ".urdf", ".ucrdf", ".wbt"
YAML, CSV, GRASPS, USD, RERUN = ".yaml", ".csv", ".json", ".usda", ".rrd"
SUFFIXES: dict[Kind | Literal["result"], tuple[str, ...]] = {
    "hand": (MODEL, URDF, YAML, WEBOTS),
    "scene": (MODEL, WEBOTS, USD),
    "release": (WEBOTS,),
    "robot": (MODEL, URDF, UCRDF),
    "result": (CSV, GRASPS, USD, RERUN),
}
"""Suffixes of the target by the kind of the source."""

States = dict[str, tuple[float, ...]]
"""States of bendables by their names."""


def convert(
    source: Annotated[
        str,
        Argument(
            metavar="IN",
            help="Name or file of a hand, scene, release or robot; the directory of a result; with "
            "--to a file of grasps, or a directory of .npy files.",
        ),
    ],
    target: Annotated[
        Path,
        Argument(
            metavar="OUT",
            help="File to write: .xml (MJCF); .wbt (Webots, with its controller) of a hand, a "
            "scene or a release; .urdf of a hand or a robot; .yaml of a hand; .ucrdf of a robot; "
            ".csv (joint states), .json (grasp) or .rrd (rerun) of a result; .usda of a result or "
            "a scene; with --to a file, or for dexgraspbench a directory, of grasps.",
        ),
    ],
    to: Annotated[
        Literal["softgrasp", "dexgraspbench", "isaac", "moveit"] | None,
        Option(
            help="Format of grasps: softgrasp and moveit are JSON, isaac is YAML, also GraspGen's."
        ),
    ] = None,
    discs: Annotated[
        Literal["fixed", "floating"] | None,
        Option(help="Joints of the discs that are a bendable in .urdf; fixed by default."),
    ] = None,
    at: Annotated[
        list[str] | None,
        Option(
            metavar="[NAME:]kappa=K,phi=P",
            help="State of a bendable, or of all, in .urdf [1/m, rad]; else straight. Repeatable.",
        ),
    ] = None,
    max_faces: Annotated[
        int | None,
        Option("--max-faces", min=4, metavar="N", help="Maximum triangles of a mesh in .wbt."),
    ] = None,
    units: Units = None,
    out: Out = None,
    json: Json = False,
) -> None:
    """Write a hand, a scene, a robot, a result or grasps in another format.

    Hands, scenes and robots can be MuJoCo models; hands, scenes and releases Webots projects; hands
    of rigid fingers URDF, and YAML; robots plain URDF or
    U(C)RDF. A result becomes a table of joint states as ROS has them, a grasp, USD or a recording
    of rerun; grasps of other programs become those of others with --to.
    """
    destination = target if out is None else out / target
    if to is not None:
        from softgrasp.exports.grasps import load_grasps, save_grasps

        _print_summary("grasps", save_grasps(load_grasps(source), destination, to), json=json)
        return
    kind = "result" if is_result(source) else kind_of(source)
    _check_target(source, kind, target)
    if (discs is not None or at) and (target.suffix != URDF or kind != "robot"):
        raise DescriptionError(
            f"--discs, --at: expected a robot and a target ending in .urdf, found a {kind} and "
            f"{target}"
        )
    if units is not None and kind not in ("hand", "robot"):
        raise DescriptionError(f"--units: expected a hand or a robot, found a {kind}")
    if max_faces is not None and target.suffix != WEBOTS:
        raise DescriptionError(f"--max-faces: expected a target ending in .wbt, found {target}")
    with terminal.progress_bar() as update, listening(update), reading_in(units):
        update(f"converting {source}", None)
        if kind != "result" and target.suffix == WEBOTS:
            load(WORLD_WRITER)(kind, source, destination, max_faces, json=json)
            return
        if kind == "result":
            files = _result_files(source, destination)
        elif target.suffix == USD:
            from softgrasp.exports.usd import write_usd
            from softgrasp.io.scene import load_scene

            files = [write_usd(load_scene(source), destination)]
        elif kind == "hand" and target.suffix in (URDF, YAML):
            files = hand_files(source, destination)
        elif kind == "robot":
            text = _robot_text(source, target.suffix, discs or "fixed", at or [])
            files = [write_text(destination, text)]
        else:
            files = [write_text(destination, _model_text(source, is_hand=kind == "hand"))]
    _print_summary(kind, files, json=json)


def _check_target(source: str, kind: Kind | Literal["result"], target: Path) -> None:
    from softgrasp.errors import either

    suffixes = SUFFIXES.get(kind)
    if suffixes is None:
        raise DescriptionError(
            f"{source}: expected a hand, a scene, a release, a robot or a result, found "
            f"{with_article(kind)}"
        )
    if target.suffix not in suffixes:
        raise DescriptionError(
            f"{target}: expected a file name ending in {either(suffixes)}, found '{target.suffix}'"
        )


def _print_summary(kind: str, files: list[Path], *, json: bool) -> None:
    if not json:
        for file in files:
            terminal.put(f"wrote {file}")
        return
    document: dict[str, object] = {"file": str(files[0]), "kind": kind}
    if len(files) > 1:
        document["files"] = [str(file) for file in files]
    terminal.put_json(document)


def _result_files(source: str, path: Path) -> list[Path]:
    """Write a result as joint states, a grasp, USD or a recording of rerun."""
    from softgrasp import exports
    from softgrasp.evaluation.result_builder import write_joint_states
    from softgrasp.evaluation.result_files import load_result

    result = load_result(source)
    if path.suffix == GRASPS:
        return exports.save_grasps(exports.grasp_set({path.stem: result}), path)
    if path.suffix == USD:
        return [exports.write_usd(result, path)]
    write = exports.write_rerun if path.suffix == RERUN else write_joint_states
    return [write(result, path)]


def _model_text(source: str, *, is_hand: bool) -> str:
    """Return a hand or a scene as MJCF, meshes and start state included."""
    from softgrasp.io.load import load_hand
    from softgrasp.io.scene import load_scene
    from softgrasp.model.hand import hand_to_mjcf
    from softgrasp.pipeline import to_mjcf

    return hand_to_mjcf(load_hand(source)) if is_hand else to_mjcf(load_scene(source))


def _robot_text(
    source: str, suffix: str, discs: Literal["fixed", "floating"], at: list[str]
) -> str:
    """Return a robot as MJCF, as plain URDF, or as U(C)RDF."""
    from softgrasp.io.load import load_robot
    from softgrasp.io.urdf import rigid_urdf, robot_xml

    robot = load_robot(source)
    if suffix == URDF:
        return rigid_urdf(robot, states_from(robot, at), discs)
    if suffix == UCRDF:
        return robot_xml(robot)
    from softgrasp.model.robot import robot_to_mjcf

    return robot_to_mjcf(robot)


def is_result(source: str) -> bool:
    """Return whether an argument is the path of a result: its directory or ``result.json``."""
    path = Path(source)
    return path.name == RESULT_FILE or (path / RESULT_FILE).is_file()


def hand_files(source: str, path: Path) -> list[Path]:
    """Write a hand as .urdf or .yaml and return all paths."""
    from softgrasp.io.hand import save_hand
    from softgrasp.io.load import load_hand
    from softgrasp.model.export import save_urdf

    hand = load_hand(source)
    if path.suffix == ".urdf":
        return save_urdf(hand, path)
    return [save_hand(hand, path)]


def states_from(robot: Robot, words: Sequence[str]) -> States:
    """Read the bending states of a robot's bendables from ``--at``.

    Args:
        robot: The robot.
        words: Texts such as ``segment1:kappa=2,phi=0.5``, or without a name for all bendables;
            later ones override earlier ones. Other quantities are 0, a length its rest length.

    Raises:
        DescriptionError: A word names no bendable, or no quantity of its model, or is no number.
    """
    known = [part.name for part in robot.bendables]
    if words and not known:
        raise DescriptionError("--at: expected a robot that has bendables, found none")
    values: dict[str, dict[str, float]] = {name: {} for name in known}
    for word in words:
        name, _, numbers = word.rpartition(":")
        if name and name not in values:
            raise DescriptionError(f"--at: no bendable '{name}'; {did_you_mean(name, known)}")
        for part in robot.bendables:
            if name in ("", part.name):
                values[part.name] |= _numbers(part, word, numbers)
    return {part.name: _state(part, values[part.name]) for part in robot.bendables}


def _numbers(part: Bendable, word: str, text: str) -> dict[str, float]:
    from softgrasp.description.robot import curvature_interfaces

    values = {}
    for pair in text.split(","):
        name, equals, number = (piece.strip() for piece in pair.partition("="))
        known = curvature_interfaces(part)
        if not equals:
            raise DescriptionError(f"--at: expected kappa=2,phi=0.5 for instance, found '{word}'")
        if name not in known:
            hint = did_you_mean(name, known)
            raise DescriptionError(f"--at: '{part.name}' has no '{name}'; {hint}")
        if name in values:
            raise DescriptionError(f"--at: expected {name} once, found it twice in '{word}'")
        try:
            values[name] = float(number)
        except ValueError:
            raise DescriptionError(f"--at: expected a number, found {name}='{number}'") from None
    curved = [name for name in values if name.startswith("kappa")]
    if "phi" in values and not curved:
        raise DescriptionError(f"--at: expected phi with kappa, found phi alone in '{word}'")
    return values


def _state(part: Bendable, values: dict[str, float]) -> tuple[float, ...]:
    from softgrasp.description.robot import curvature_interfaces

    at_rest = {"l": part.backbone.length}
    return tuple(values.get(name, at_rest.get(name, 0.0)) for name in curvature_interfaces(part))
