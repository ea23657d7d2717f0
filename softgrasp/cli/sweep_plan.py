"""From the words of ``softgrasp sweep`` to a plan."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

from softgrasp.cli.scene_options import SceneOptions, plain_value, scene_of
from softgrasp.description.sweep_plan import Axis, PoseNoise, SweepPlan
from softgrasp.errors import DescriptionError
from softgrasp.formats.load import YAML_SUFFIXES
from softgrasp.formats.mesh_files import MESH_SUFFIXES
from softgrasp.formats.mesh_folder import expand_directories
from softgrasp.formats.plan_file import load_plan
from softgrasp.sweeps import parameters
from softgrasp.sweeps.parameters import combinations


def plan_of(
    what: str,
    object_name: str | None,
    options: dict[str, Any],
    settings: tuple[str, ...],
    density: str | None,
    vary: list[str],
    rest: dict[str, Any],
) -> SweepPlan:
    """The plan that a command line means.

    Args:
        what: Hand, scene or plan.
        object_name: Object, where there is one.
        options: Of the scene; see ``SceneOptions``.
        settings: ``--set``.
        density: Values of the object's density, separated by commas.
        vary: ``--vary``.
        rest: Further fields of the plan; ``noise`` with ``position`` [m] and ``rotation_deg``.

    Raises:
        DescriptionError: Something does not exist or does not fit.
    """
    axes = [axis_of(f"object.density={density}")] if density is not None else []
    axes += [axis_of(text) for text in vary]
    if object_name is None and Path(what).suffix.lower() in YAML_SUFFIXES and _is_plan(Path(what)):
        if axes or settings or any(value is not None for value in options.values()):
            raise DescriptionError(
                f"{what}: expected all of the plan in its file, found options that change it"
            )
        return load_plan(what)
    densities = _densities(axes[0]) if density is not None else []
    if densities and object_name is not None and Path(object_name).suffix.lower() in MESH_SUFFIXES:
        options["density"] = max(densities)  # it needs one, and the heaviest decides the grasp
    scene = scene_of(what, object_name, SceneOptions(settings=settings, **options))
    noise = rest.pop("noise")
    return SweepPlan(
        scene=scene,
        axes=tuple(Axis(**axis) for axis in axes),
        noise=PoseNoise(position=noise["position"], rotation=math.radians(noise["rotation_deg"])),
        **rest,
    )


def _is_plan(path: Path) -> bool:
    """Whether a YAML file is a plan rather than a hand or a scene: it has axes."""
    try:
        return any(line.startswith("axes:") for line in path.read_text("utf-8").splitlines())
    except OSError:
        return False


def axis_of(text: str) -> dict[str, Any]:
    """The fields of an axis that ``--vary`` means.

    Raises:
        DescriptionError: It is no FIELD=VALUES.
    """
    path, equals, values = text.partition("=")
    if not equals or not values.strip():
        raise DescriptionError(
            f"--vary: expected FIELD=V1,V2,… or FIELD=LOW:HIGH:STEPS, found '{text}'"
        )
    ends = values.split(":")
    if len(ends) in (2, 3):
        try:
            low, high, *steps = (float(end) for end in ends)
            axis: dict[str, Any] = {"path": path.strip(), "low": low, "high": high}
            return axis | ({"steps": int(steps[0])} if steps else {})
        except ValueError:
            pass  # a text with a colon, such as ycb:NAME
    path = path.strip()
    return {"path": path, "values": tuple(expand_directories(path, _values(values), Path()))}


def _densities(axis: dict[str, Any]) -> list[float]:
    """Values of an axis of densities, or its ends [kg/m³].

    Raises:
        DescriptionError: Not all of them are numbers above 0.
    """
    values = (axis["low"], axis["high"]) if "low" in axis else axis["values"]
    for value in values:
        if isinstance(value, bool) or not isinstance(value, int | float) or value <= 0:
            raise DescriptionError(f"--density: expected numbers above 0 [kg/m³], found '{value}'")
    return [float(value) for value in values]


def _values(text: str) -> list[Any]:
    """Values between commas, each JSON or a text; brackets keep their commas."""
    try:
        return list(json.loads(f"[{text}]"))
    except json.JSONDecodeError:
        return [plain_value(part.strip()) for part in text.split(",")]


def check_rows(plan: SweepPlan) -> None:
    """Look at the scenes of all rows, as ``--strict`` asks.

    Raises:
        DescriptionError: One cannot be; names the row.
    """
    for index, values in enumerate(combinations(plan)):
        try:
            parameters.scene_of(plan, values, None)
        except DescriptionError as error:
            raise DescriptionError(f"--strict: row {index * plan.repeats}: {error}") from None
