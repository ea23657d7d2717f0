"""Webots projects of hands, scenes and releases, for ``softgrasp convert``."""

from __future__ import annotations

from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING

from softgrasp.cli import terminal

if TYPE_CHECKING:
    from softgrasp.cli.scene_args import Kind
    from softgrasp.simulation.webots.export import Export


def put_project(
    kind: Kind, source: str, target: Path, max_faces: int | None, *, json: bool
) -> None:
    """Write a Webots project and tell what was written.

    Args:
        kind: What the source is.
        source: Its name or file.
        target: The world's file.
        max_faces: Meshes with more triangles are made coarser; none where not given.
        json: Tell it as one JSON document.
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
            f"run it with WEBOTS_EXTRA_PROJECT_PATH={directory} webots {world}; in a folder called "
            "worlds it would find its controller by itself"
        )


def _written(kind: Kind, source: str, target: Path, max_faces: int | None) -> Export:
    from softgrasp.formats.load import load_hand
    from softgrasp.formats.release_file import load_release
    from softgrasp.formats.scene_file import load_scene
    from softgrasp.simulation.webots import export

    if kind == "hand":
        return export.hand_project(load_hand(source), target, max_faces)
    if kind == "release":
        return export.release_project(load_release(source), target)
    return export.scene_project(load_scene(source), target, max_faces)
