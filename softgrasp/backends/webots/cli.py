"""Webots in the command line: ``softgrasp convert … .wbt`` and ``softgrasp check WORLD.wbt``."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Any

from softgrasp.errors import DescriptionError
from softgrasp.plugin_api import terminal

if TYPE_CHECKING:
    from softgrasp.backends.webots.export import Export


def put_project(kind: str, source: str, target: Path, max_faces: int | None, *, json: bool) -> None:
    """Write a Webots project and report its files.

    Args:
        kind: Kind of the source.
        source: Its name or file.
        target: File of the world.
        max_faces: Largest number of triangles of a mesh; larger ones are coarsened.
        json: Whether to report as a JSON document.
    """
    project = _written(kind, source, target, max_faces)
    for remark in project.remarks:
        terminal.show_message("warning", remark)
    if json:
        files, remarks = [str(file) for file in project.files], list(project.remarks)
        document = {"file": str(target), "kind": kind, "files": files, "remarks": remarks}
        terminal.put_json(document)
        return
    for file in project.files:
        terminal.put(f"wrote {file}")
    if target.resolve().parent.name != "worlds":
        directory, world = quote(str(target.parent.resolve())), quote(str(target))
        terminal.put(
            f"run it with WEBOTS_EXTRA_PROJECT_PATH={directory} webots {world}; in a directory "
            "called worlds it would find its controller by itself"
        )


def _written(kind: str, source: str, target: Path, max_faces: int | None) -> Export:
    from softgrasp.backends.webots import export
    from softgrasp.io import load_hand, load_release, load_scene

    if kind == "hand":
        return export.hand_project(load_hand(source), target, max_faces)
    if kind == "release":
        return export.release_project(load_release(source), target)
    return export.scene_project(load_scene(source), target, max_faces)


def world_properties(file: str) -> tuple[dict[str, Any], list[str]]:
    """Return version, time step, numbers of nodes and problems of a world file.

    Args:
        file: The .wbt file.

    Raises:
        DescriptionError: There is no such file, or it cannot be read as a world.
    """
    from softgrasp.backends.wbt import problems, read_world, value

    if not Path(file).is_file():
        raise DescriptionError(f"{file}: expected a Webots world, found no such file")
    world = read_world(Path(file))
    counts: dict[str, int] = {}
    for node in world.walk():
        counts[node.type] = counts.get(node.type, 0) + 1
    info = next((node for node in world.nodes if node.type == "WorldInfo"), None)
    properties: dict[str, Any] = {
        "name": "" if info is None else value(info, "title"),
        "version": world.version,
        "timestep_ms": None if info is None else value(info, "basicTimeStep"),
        "solids": counts.get("Solid", 0),
        "joints": counts.get("HingeJoint", 0) + counts.get("SliderJoint", 0),
        "motors": counts.get("RotationalMotor", 0) + counts.get("LinearMotor", 0),
        "touch_sensors": counts.get("TouchSensor", 0),
        "protos": len(world.externprotos),
        "opaque_nodes": dict(sorted(Counter(node.type for node in world.opaque()).items())),
        "notes": world.notes,
    }
    return properties, [f"line {problem.line}: {problem.sentence}" for problem in problems(world)]
