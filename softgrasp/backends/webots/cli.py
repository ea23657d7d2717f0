"""Webots in the command line: ``softgrasp convert … .wbt`` and ``softgrasp check WORLD.wbt``."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from shlex import quote
from typing import Any

from softgrasp.errors import DescriptionError
from softgrasp.plugin_api import terminal


def put_project(kind: str, source: str, target: Path, max_faces: int | None, *, json: bool) -> None:
    """Write a Webots project and report its files.

    Args:
        kind: Kind of the source.
        source: Its name or file.
        target: File of the world.
        max_faces: Largest number of triangles of a mesh; larger ones are coarsened.
        json: Whether to report as a JSON document.
    """
    from softgrasp.backends.webots.export import write_export
    from softgrasp.backends.webots.project import in_worlds

    project = write_export(kind, source, target, max_faces)
    for remark in project.remarks:
        terminal.show_message("warning", remark)
    if json:
        files, remarks = [str(file) for file in project.files], list(project.remarks)
        document = {"file": str(target), "kind": kind, "files": files, "remarks": remarks}
        terminal.put_json(document)
        return
    for file in project.files:
        terminal.put(f"wrote {file}")
    if not in_worlds(target):
        directory, world = quote(str(target.parent.resolve())), quote(str(target))
        terminal.put(
            f"run it with WEBOTS_EXTRA_PROJECT_PATH={directory} webots {world}; in a directory "
            "called worlds it would find its controller by itself"
        )


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
    counts = Counter(node.type for node in world.walk())
    info = next((node for node in world.nodes if node.type == "WorldInfo"), None)
    properties: dict[str, Any] = {
        "name": "" if info is None else value(info, "title"),
        "version": world.version,
        "timestep_ms": None if info is None else value(info, "basicTimeStep"),
        "solids": counts["Solid"],
        "joints": counts["HingeJoint"] + counts["SliderJoint"],
        "motors": counts["RotationalMotor"] + counts["LinearMotor"],
        "touch_sensors": counts["TouchSensor"],
        "protos": len(world.externprotos),
        "opaque_nodes": dict(sorted(Counter(node.type for node in world.opaque()).items())),
        "notes": world.notes,
    }
    return properties, [f"line {problem.line}: {problem.sentence}" for problem in problems(world)]
