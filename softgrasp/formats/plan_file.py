"""Sweep plans in YAML: a scene, and the fields of it that vary."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from softgrasp.description.sweep import SweepPlan
from softgrasp.errors import DescriptionError
from softgrasp.formats.mesh_folder import expand_directories
from softgrasp.formats.scene_file import load_scene, scene_from
from softgrasp.formats.yaml_file import Tree, YamlFile


def load_plan(path: str | Path) -> SweepPlan:
    """A plan from a YAML file.

    Raises:
        DescriptionError: The file is wrong; names the line.
    """
    path = Path(path)
    return YamlFile(path).read(lambda data: plan_from(data, directory=path.parent))


def plan_from(data: dict[str, Tree], *, directory: Path) -> SweepPlan:
    """Make a plan of a YAML tree.

    ``scene`` is a name, a file, or a mapping as a scene file has it. ``axes`` maps paths to lists
    of values, or to ``{low, high, steps, log}``.

    Raises:
        DescriptionError: Something is missing, unknown or does not fit.
    """
    tree: dict[str, Any] = dict(data)
    scene = tree.get("scene")
    if isinstance(scene, str):
        beside = directory / scene
        tree["scene"] = load_scene(beside if beside.is_file() else scene)
    elif isinstance(scene, dict):
        tree["scene"] = scene_from(scene, directory=directory)
    axes = tree.get("axes", {})
    if not isinstance(axes, dict):
        raise DescriptionError("expected paths with their values, found no mapping", field="axes")
    tree["axes"] = tuple(_axis(path, values, directory) for path, values in axes.items())
    return SweepPlan(**tree)


def _axis(path: str, values: Any, directory: Path) -> dict[str, Any]:
    if isinstance(values, dict):
        return {"path": path} | values
    listed = values if isinstance(values, list) else [values]
    return {"path": path, "values": tuple(expand_directories(path, listed, directory))}
