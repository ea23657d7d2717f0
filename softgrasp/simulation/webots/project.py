"""A Webots project on disk: a world, its controller, and the job of the controller.

Webots looks for controllers beside the folder that the world lies in, so the world belongs into a
folder ``worlds``.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import NamedTuple

from softgrasp.build.webots.world import CONTROLLER, WebotsWorld
from softgrasp.formats.atomic import write_text
from softgrasp.formats.wbt import world_text
from softgrasp.simulation import laws
from softgrasp.simulation.webots.job import Job

SCRIPT = Path(__file__).parent / "controller" / f"{CONTROLLER}.py"


class Project(NamedTuple):
    """The files of a project."""

    world: Path
    result: Path
    """Written by the controller."""
    files: tuple[Path, ...]


def job_name(world: Path) -> str:
    """The file of a world's job; the world gives it to the controller."""
    return f"{world.stem}.json"


def write_project(target: Path, world: WebotsWorld, job: Job) -> Project:
    """Write a world, its controller and its job.

    Args:
        target: The world's file; the controller goes beside its folder where that is called
            ``worlds``, else into the same folder.
        world: The world.
        job: Of its controller.

    Raises:
        ResultError: The folder cannot be written.
    """
    home = target.parent.parent if in_worlds(target) else target.parent
    directory = home / "controllers" / CONTROLLER
    result = home / f"{target.stem}.result.json"
    job = job | {"result": f"../../{result.name}"}
    files = (
        write_text(target, world_text(world.nodes)),
        write_text(directory / SCRIPT.name, SCRIPT.read_text(encoding="utf-8")),
        write_text(directory / "laws.py", Path(laws.__file__).read_text(encoding="utf-8")),
        write_text(directory / job_name(target), json.dumps(job, indent=1)),
    )
    return Project(target, result, files)


def in_worlds(target: Path) -> bool:
    """Whether a world lies where Webots finds its controller by itself."""
    return target.resolve().parent.name == "worlds"
