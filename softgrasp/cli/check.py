"""``softgrasp check``: what a file holds, and what is wrong with it."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from softgrasp.cli import terminal
from softgrasp.cli.options import Json, Out, Units
from softgrasp.cli.verb import PROBLEMS
from softgrasp.errors import BuildError, DescriptionError, SoftgraspWarning

if TYPE_CHECKING:
    from softgrasp.cli.source import Kind
    from softgrasp.description.hand import Hand
    from softgrasp.description.robot import Robot
    from softgrasp.description.scene import GraspScene
    from softgrasp.description.shapes import LengthUnit

USUAL_SIZE, USUAL_MASS = (2e-3, 2.0), (1e-5, 100.0)
"""From and to [m] and [kg]; beyond them a unit is probably wrong."""
PROBE_RADIUS, PROBE_DENSITY = 5e-3, 700.0
"""A small ball at its grasp centre builds a hand without an object of its own."""


def check(
    what: Annotated[
        str,
        typer.Argument(
            metavar="FILE_OR_NAME", help="Hand, object, scene, release, robot, mesh or world."
        ),
    ],
    units: Units = None,
    out: Out = None,
    json: Json = False,
) -> None:
    """Read a hand, object, scene, release, robot, mesh or Webots world; tell what was found.

    Exits with 0 where all is well, with 1 where it can be read but has problems, and with 2 where
    it cannot be read as what it claims to be.
    """
    from softgrasp.cli.source import kind_of

    kind = kind_of(what)
    if units is not None and kind != "mesh":
        raise DescriptionError(f"--units: expected a mesh file, found: {kind}")
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always", SoftgraspWarning)
        facts, problems = _checked(kind, what, "m" if units is None else units.value)
    problems += [str(w.message) for w in told if issubclass(w.category, SoftgraspWarning)]
    problems = list(dict.fromkeys(problems))
    document = {"kind": kind, **facts, "problems": problems}
    if out is not None:
        terminal.save_json(document, out / "check.json")
    if json:
        terminal.put_json(document)
    else:
        _tell(document)
    if problems:
        raise typer.Exit(PROBLEMS)


def _checked(kind: Kind, what: str, units: LengthUnit) -> tuple[dict[str, Any], list[str]]:
    """Facts and problems; warnings are raised besides."""
    from softgrasp import library
    from softgrasp.cli import facts
    from softgrasp.cli.release_facts import release_facts, release_problems
    from softgrasp.cli.robot_facts import robot_facts
    from softgrasp.cli.robot_problems import robot_problems
    from softgrasp.cli.world_facts import world_facts
    from softgrasp.description.shapes import Mesh
    from softgrasp.formats.load import load_hand, load_object
    from softgrasp.formats.release_file import load_release
    from softgrasp.formats.robot_file import load_robot
    from softgrasp.formats.scene_file import load_scene

    match kind:
        case "hand":
            hand = load_hand(what)
            found = facts.hand_facts(hand)
            every = [*found["fingers"], *found.get("soft_fingers", [])]
            longest = max(finger["length_m"] for finger in every)
            doubts = _doubts("the longest finger", longest, found["mass_kg"])
            return found, [*doubts, *_hand_problems(hand)]
        case "object":
            found = facts.object_facts(load_object(what))
            return found, _doubts("the object", max(found["size_m"]), found["mass_kg"])
        case "mesh":
            return facts.mesh_facts(Mesh(file=library.portable_name(Path(what)), units=units)), []
        case "robot":
            robot = load_robot(what)
            return robot_facts(robot) | _as_hand(what, robot), robot_problems(robot)
        case "release":
            release = load_release(what)
            return release_facts(release), release_problems(release)
        case "world":
            return world_facts(what)
        case "scene":
            scene = load_scene(what)
            found, problems = _build(scene)
            return facts.scene_facts(scene) | found, problems


def _as_hand(what: str, robot: Robot) -> dict[str, Any]:
    """What is found of a robot of rigid links that is taken as a hand; its warnings are problems.

    One chain alone is rather an arm.
    """
    from softgrasp.cli.facts import hand_facts
    from softgrasp.formats.load import load_hand

    moving = [joint for joint in robot.joints if joint.type != "fixed"]
    if robot.bendables or not moving:
        return {}
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always", SoftgraspWarning)
        try:
            hand = load_hand(what)
        except DescriptionError as error:
            return {"as_a_hand": f"none: {error}"}
    if len(hand.fingers) < 2:
        return {}
    for one in told:
        warnings.warn(one.message, stacklevel=1)
    found = hand_facts(hand)
    kept = ("couplings", "fingers", "grasps", "notes")
    return {"as_a_hand": f"{len(hand.fingers)} chains, {len(hand.drives)} drives"} | {
        key: found[key] for key in kept if found.get(key)
    }


def _doubts(what: str, size: float, mass: float) -> list[str]:
    """Sizes [m] and masses [kg] that no hand and nothing graspable has."""
    found = []
    if not USUAL_SIZE[0] <= size <= USUAL_SIZE[1]:
        found.append(f"{what} measures {size:.4g} m; are the units right (units: {{length: mm}})?")
    if not USUAL_MASS[0] <= mass <= USUAL_MASS[1]:
        found.append(f"the mass is {mass:.4g} kg; mass is in kg, density in kg/m³")
    return found


def _hand_problems(hand: Hand) -> list[str]:
    """What shows when the hand is built around a small ball in each of its grasps."""
    from softgrasp.description.objects import GraspObject
    from softgrasp.description.scene import GraspScene
    from softgrasp.description.shapes import Sphere

    ball = GraspObject(name="ball", shape=Sphere(radius=PROBE_RADIUS), density=PROBE_DENSITY)
    problems = []
    for grasp, _ in hand.grasps:
        problems += _build(GraspScene(hand=hand, object=ball, grasp=grasp))[1]
    return problems


def _build(scene: GraspScene) -> tuple[dict[str, Any], list[str]]:
    from softgrasp.build.scene import build
    from softgrasp.cli.facts import built_facts

    try:
        return built_facts(build(scene)), []
    except BuildError as error:
        return {}, [str(error)]


def _tell(document: dict[str, Any]) -> None:
    from softgrasp.cli.robot_facts import bendable_line, control_line, joint_line

    lines: dict[str, Callable[[Any], str]] = {
        "fingers": _finger_line,
        "couplings": _coupling_line,
        "notes": _note_line,
        "soft_fingers": _soft_line,
        "bendables": bendable_line,
        "rigid_joints": joint_line,
        "control": control_line,
    }
    problems = document.pop("problems")
    for name, value in document.items():
        if name in lines and value:
            terminal.put(f"{name.replace('_', ' ')}:")
            for part in value:
                terminal.put(f"  {lines[name](part)}")
        elif value not in ("", []):
            terminal.put(f"{name}: {_text(value)}")
    for problem in problems:
        terminal.put(f"problem: {problem}")
    number = len(problems) or "no"
    terminal.put(f"{number} problem{'' if number == 1 else 's'} found")


def _soft_line(finger: dict[str, Any]) -> str:
    low, high = (1e-3 * limit for limit in finger["pressure_limits_Pa"])
    return (
        f"{finger['name']}: {finger['finger']}, {finger['joints']} joints, "
        f"{1e3 * finger['length_m']:.3g} mm, {1e3 * finger['mass_kg']:.3g} g; {low:g}…{high:g} "
        f"kPa, {math.degrees(finger['bending_rad']):.0f}° at the highest"
    )


def _note_line(note: str) -> str:
    return note


def _coupling_line(coupling: dict[str, Any]) -> str:
    plus = f" {coupling['offset']:+g}" if coupling["offset"] else ""
    return f"{coupling['joint']} = {coupling['ratio']:g} · {coupling['leader']}{plus}"


def _finger_line(finger: dict[str, Any]) -> str:
    limits = ", ".join(
        f"{name} {low:.4g}…{high:.4g}"
        for name, (low, high) in zip(finger["joints"], finger["limits"], strict=True)
    )
    return (
        f"{finger['name']}: {len(finger['joints'])} joints, {len(finger['phalanges'])} phalanges, "
        f"{1e3 * finger['length_m']:.4g} mm, {1e3 * finger['mass_kg']:.4g} g, "
        f"{finger['convention']} convention; limits [rad or m] {limits}"
    )


def _text(value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{name} {_text(part)}" for name, part in value.items())
    if isinstance(value, list):
        return f"[{', '.join(map(_text, value))}]"
    return f"{value:.6g}" if isinstance(value, float) else str(value)
