"""Sweep plans in YAML: a scene, and the fields of it that vary."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from softgrasp.description.sweep_plan import SweepPlan
from softgrasp.errors import DescriptionError
from softgrasp.formats.mesh_folder import with_folders
from softgrasp.formats.scene_file import load_scene, scene_from
from softgrasp.formats.yaml_file import Tree, YamlFile


def load_plan(path: str | Path) -> SweepPlan:
    """A plan from a YAML file.

    Raises:
        DescriptionError: The file is wrong; names the line.
    """
    path = Path(path)
    return YamlFile(path).read(lambda data: plan_from(data, folder=path.parent))


def plan_from(data: dict[str, Tree], *, folder: Path) -> SweepPlan:
    """Make a plan of a YAML tree.

    ``scene`` is a name, a file, or a mapping as a scene file has it. ``axes`` maps paths to lists
    of values, or to ``{low, high, steps, log}``.

    Raises:
        DescriptionError: Something is missing, unknown or does not fit.
    """
    tree: dict[str, Any] = dict(data)
    scene = tree.get("scene")
    if isinstance(scene, str):
        beside = folder / scene
        tree["scene"] = load_scene(beside if beside.is_file() else scene)
    elif isinstance(scene, dict):
        tree["scene"] = scene_from(scene, folder=folder)
    axes = tree.get("axes", {})
    if not isinstance(axes, dict):
        raise DescriptionError("expected paths with their values, found no mapping", field="axes")
    tree["axes"] = tuple(_axis(path, values, folder) for path, values in axes.items())
    return SweepPlan(**tree)


def _axis(path: str, values: Any, folder: Path) -> dict[str, Any]:
    if isinstance(values, dict):
        return {"path": path} | values
    listed = values if isinstance(values, list) else [values]
    return {"path": path, "values": tuple(with_folders(path, listed, folder))}
