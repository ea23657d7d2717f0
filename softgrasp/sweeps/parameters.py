"""Scene of each grasp in a sweep plan: the values of its axes, and noise of the start pose.

A row is a combination of axis values (``combinations``), repeated as often as the plan has it. Its
scene is the plan's with the values put in by their paths (``scene_of``). Samples and noise depend
on the plan's seed and on the row alone.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy.spatial.transform import Rotation

from softgrasp.assets import MESH_SUFFIXES
from softgrasp.description.object import GraspObject
from softgrasp.description.scene import GraspScene, with_field
from softgrasp.description.sweep import Axis, SweepPlan
from softgrasp.errors import DescriptionError, SoftgraspError
from softgrasp.io.files import json_text
from softgrasp.io.input_limits import record_inputs
from softgrasp.io.load import list_described_files, load_hand, load_object
from softgrasp.io.scene import load_scene
from softgrasp.mechanics.transforms import Array, euler_from_rotation
from softgrasp.model.object import lowest_of_object, object_pose
from softgrasp.resolution.resolve import resolve
from softgrasp.sweeps.table import NOISE_COLUMNS

EVERY = "[*]"
"""Stands for every index of a list in a path."""
SHORT = {"closure.rate": "closure.rates", "contact.friction": "contact.static_friction"}
"""Short names of paths. Fields of an object's shape may be named as fields of the object."""
FIRST = ("scene", "hand", "object")
"""Paths that are set first, so that fields inside their values can be set after them."""
OUTSIDE_THE_TRIAL = (
    "object.density",
    "object.mass",
    "contact.",
    "solver.",
    "timestep",
    "control_period",
    "duration",
    "seed",
)
"""Beginnings of paths that the trial of a grasp does not depend on, and weights of the object."""
NO_FIELD = ("no such field", f"expected a list before {EVERY}")
"""Parts of the messages about paths that name no field."""


class StartNoise(NamedTuple):
    """Offset of the object's start pose."""

    position: tuple[float, float, float]
    """Position [m]."""
    rotation: tuple[float, float, float]
    """Rotation vector in the world [rad]."""


def combinations(plan: SweepPlan) -> list[dict[str, Any]]:
    """Return the axis values of every row by field path, in order, without repeats."""
    paths = [axis.path for axis in plan.axes]
    return [dict(zip(paths, values, strict=True)) for values in _combinations(plan)]


def _combinations(plan: SweepPlan) -> Iterator[tuple[Any, ...]]:
    if plan.method == "grid":
        yield from product(*(_space(axis) for axis in plan.axes))
    elif plan.method == "list":
        yield from zip(*(axis.values or () for axis in plan.axes), strict=True)
        if not plan.axes:
            yield ()
    else:
        for fractions in _fractions(plan):
            pairs = zip(plan.axes, fractions.tolist(), strict=True)
            yield tuple(_between(axis, fraction) for axis, fraction in pairs)


def _space(axis: Axis) -> list[Any]:
    if axis.values is not None:
        return list(axis.values)
    steps = axis.steps or 1
    values = (_between(axis, index / max(steps - 1, 1)) for index in range(steps))
    return [float(f"{value:.12g}") for value in values]  # 0.6 and not 0.6000000000000001


def _between(axis: Axis, fraction: float) -> Any:
    """Return the value at a fraction of the range from low to high; lists elementwise."""
    if axis.values is not None:
        return axis.values[min(int(fraction * len(axis.values)), len(axis.values) - 1)]
    assert axis.low is not None
    assert axis.high is not None
    if axis.log:
        return float(axis.low * (axis.high / axis.low) ** fraction)
    return axis.low + (axis.high - axis.low) * fraction


def _fractions(plan: SweepPlan) -> Array:
    """Draw samples in the unit cube, (samples, axes)."""
    from scipy.stats import qmc

    count, generator = plan.samples or 1, np.random.default_rng(plan.seed)
    if plan.method == "latin":
        return np.asarray(qmc.LatinHypercube(len(plan.axes), rng=generator).random(count))
    # Sobol points are balanced in powers of two; the first ones of the next power are taken
    power = max(int(np.ceil(np.log2(count))), 0)
    return np.asarray(qmc.Sobol(len(plan.axes), rng=generator).random_base2(power)[:count])


def start_noise(plan: SweepPlan, row: int) -> StartNoise | None:
    """Draw the start-pose noise of a row; None where the plan has none."""
    if not (plan.noise.position or plan.noise.rotation):
        return None
    drawn = np.random.default_rng([plan.seed, row]).normal(size=6)
    position, rotation = plan.noise.position * drawn[:3], plan.noise.rotation * drawn[3:]
    return StartNoise(tuple(position.tolist()), tuple(rotation.tolist()))


def inputs_of(plan: SweepPlan, values: Mapping[str, Any], row: int) -> dict[str, Any]:
    """Return the first columns of a row: its number, the values of the axes, and the noise.

    Args:
        plan: The plan.
        values: Values of the row by the paths of the plan's axes.
        row: Number of the row.
    """
    inputs: dict[str, Any] = {"row": row} | dict(values)
    if (noise := start_noise(plan, row)) is not None:
        numbers = (*noise.position, float(np.linalg.norm(noise.rotation)))
        inputs |= dict(zip(NOISE_COLUMNS, numbers, strict=True))
    return inputs


def with_one_grasp(plan: SweepPlan) -> SweepPlan:
    """Choose the grasp of all rows once, where no axis changes the trial of a grasp.

    The heaviest object decides, so that rows differ in nothing but their axes. Else the plan states
    whether rows adapt it: a plan in JSON has lost what was stated.
    """
    scene, paths = plan.scene, [axis.path for axis in plan.axes]
    if scene.adapts_grasp and any("grasp" in path for path in paths):
        return plan.choose(scene=scene.choose(adapt_grasp=False))
    if not (scene.adapts_grasp or scene.preset.per_object):
        return plan
    chosen = _choose(plan) if all(path.startswith(OUTSIDE_THE_TRIAL) for path in paths) else None
    if chosen is not None:
        item = scene.choose(hand=chosen.hand, grasp=chosen.grasp, adapt_grasp=False)
        return plan.choose(scene=item)
    if not scene.adapts_grasp:
        return plan
    kind = scene.grasp if "grasp" in scene.model_fields_set else "power"  # chosen in every row
    return plan.choose(scene=scene.choose(grasp=kind, adapt_grasp=True))


def _choose(plan: SweepPlan) -> GraspScene | None:
    """Resolve the row with the heaviest object; None where it cannot start, as its row reports."""
    scene, weights = plan.scene, ("object.density", "object.mass")
    try:
        for path in (axis.path for axis in plan.axes if axis.path in weights):
            heaviest = max(values[path] for values in combinations(plan))
            scene = _with_value(scene, path, heaviest)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # every row gives them
            return resolve(scene).scene
    except SoftgraspError:
        return None


def scene_of_row(plan: SweepPlan, row: int) -> GraspScene:
    """Return the scene of a row by its number; raises as ``scene_of``."""
    values = combinations(plan)[row // plan.repeats]
    return scene_of(plan, values, start_noise(plan, row))


def scene_of(plan: SweepPlan, values: Mapping[str, Any], noise: StartNoise | None) -> GraspScene:
    """Return the plan's scene with the axis values of a row.

    Args:
        plan: The plan.
        values: Values by the paths of the plan's axes.
        noise: Offset of the object's start; None for none.

    Raises:
        DescriptionError: A path names no field, or a value does not fit.
    """
    try:  # the usual row is validated once, and shares the parts that no axis changes
        scene = _validate_once(plan.scene, values)
    except (DescriptionError, AttributeError, TypeError, LookupError):
        scene = _validate_by_axis(plan.scene, values)
    return scene if noise is None else _displace(scene, noise)


def _validate_once(scene: GraspScene, values: Mapping[str, Any]) -> GraspScene:
    """Set all values and validate the scene at the end."""
    for path in sorted(values, key=_rank):
        scene = _with_value(scene, path, values[path], _construct, _with_part)
    return scene.replace()


def _construct(scene: GraspScene, **changes: Any) -> GraspScene:
    """Return a scene with other fields that is not validated."""
    fields = {name: getattr(scene, name) for name in GraspScene.model_fields}
    stated = {*scene.model_fields_set, *changes}
    return GraspScene.model_construct(stated, **(fields | changes))


def _with_part(scene: GraspScene, path: str, value: Any) -> GraspScene:
    """Return a scene with another value inside, of which only the parts are validated."""
    head, *rest = path.split(".")
    part = getattr(scene, head)
    return _construct(scene, **{head: _replace_in(part, rest, value)})


def _replace_in(part: Any, rest: list[str], value: Any) -> Any:
    """Return a description with the value at a path inside replaced."""
    if not rest:
        return value
    inside = _replace_in(getattr(part, rest[0]), rest[1:], value)
    changed: Any = part.replace(**{rest[0]: inside})
    return changed


def _validate_by_axis(scene: GraspScene, values: Mapping[str, Any]) -> GraspScene:
    """Set one value after the other, each validated, so that errors name its axis."""
    for path in sorted(values, key=_rank):
        try:
            for single in expand(scene, path):
                scene = _with_value(scene, single, values[path])
        except DescriptionError as error:
            if path in str(error):
                raise
            raise DescriptionError(f"'{path}' = {values[path]}: {error}") from None
    return scene


def _rank(path: str) -> int:
    return FIRST.index(path) if path in FIRST else len(FIRST)


def expand(scene: GraspScene, path: str) -> Iterator[str]:
    """Expand ``[*]`` in a path to all indices of the list before it.

    Raises:
        DescriptionError: The path before ``[*]`` names no list of the scene.
    """
    before, every, after = path.partition(EVERY)
    if not every:
        yield path
        return
    node: Any = scene.model_dump()
    for part in re.findall(r"\w+", before):
        inside = node[int(part)] if part.isdigit() and isinstance(node, tuple | list) else None
        node = node.get(part) if isinstance(node, dict) else inside
    if not isinstance(node, tuple | list):
        raise DescriptionError(f"expected a list before {EVERY}, found none", field=path)
    for index in range(len(node)):
        yield from expand(scene, f"{before}[{index}]{after}")


def _with_value(
    scene: GraspScene,
    path: str,
    value: Any,
    replaced: Callable[..., GraspScene] = GraspScene.replace,
    with_value: Callable[[GraspScene, str, Any], GraspScene] = with_field,
) -> GraspScene:
    """Return a scene with the value of an axis, made by functions that may leave out validation."""
    path = SHORT.get(path, path)
    loaders: dict[str, Callable[[str], Any]] = {
        "scene": load_scene,
        "hand": load_hand,
        "object": lambda name: _object(name, scene.object),
    }
    if path in loaders and isinstance(value, str):
        loaded = loaders[path](value)
        return loaded if path == "scene" else replaced(scene, **{path: loaded})
    if path in ("object.mass", "object.density"):
        name = path.removeprefix("object.")
        return replaced(scene, object=scene.object.weighing(**{name: value}))
    head, dot, rest = path.partition(".")
    if head == "object" and dot and re.split(r"[.\[]", rest)[0] not in GraspObject.model_fields:
        path = f"object.shape.{rest}"
    return with_value(scene, path, value)


def _object(name: str, before: GraspObject) -> GraspObject:
    """Load an object of an axis; a mesh file gets mass or density from the plan's object."""
    if Path(name).suffix.lower() in MESH_SUFFIXES:
        return load_object(name, mass=before.mass, density=before.density)
    return load_object(name)


def _displace(scene: GraspScene, noise: StartNoise) -> GraspScene:
    pose = object_pose(scene)
    position = np.add(pose.position, noise.position)
    if scene.table is not None:
        position[2] = pose.position[2]  # it stands on the table
    rotation = Rotation.from_rotvec(noise.rotation)
    orientation = Rotation.from_quat(pose.quaternion, scalar_first=True)
    euler = tuple(euler_from_rotation(rotation * orientation).tolist())
    moved = scene.replace(object_position=tuple(position.tolist()), object_euler=euler)
    if scene.table is None or scene.table.height is None:
        return moved
    # a rotated object that would reach into its table is lifted onto it
    depth = scene.table.height - lowest_of_object(scene.object, object_pose(moved))
    position[2] += max(depth, 0.0)
    return moved.replace(object_position=tuple(position.tolist()))


def files_of(plan: SweepPlan) -> list[Path]:
    """List the files that the rows of a plan are computed from, at any depth.

    These are the files that its scene names, and those that are read for values of its axes, such
    as names of objects. They are listed in the order of the plan, some repeatedly.
    """
    files = list(list_described_files(plan.scene))
    named = [axis.path for axis in plan.axes if _has_text(axis.values)]
    known: set[tuple[str, str]] = set()
    for values in combinations(plan) if named else ():
        new = {(path, json_text(values[path])) for path in named} - known
        if new:
            known |= new
            with record_inputs() as read, warnings.catch_warnings(), suppress(Exception):
                warnings.simplefilter("ignore")  # errors are reported in its row
                read += list_described_files(scene_of(plan, values, None))
            files += read
    return files


def _has_text(value: Any) -> bool:
    """Return whether there is a text in plain data, which may be the name of a file."""
    parts = value.values() if isinstance(value, dict) else value
    if isinstance(value, dict | list | tuple):
        return any(_has_text(part) for part in parts)
    return isinstance(value, str)


def refuse_unknown_fields(plan: SweepPlan) -> None:
    """Refuse an axis that names no field in the scenes of the first and last row.

    A value that does not fit fails in its row; a misspelt name would fail in all of them.

    Raises:
        DescriptionError: Names the field, and the existing ones.
    """
    rows = combinations(plan)
    for axis in plan.axes:
        unknown = [_unknown(plan, values, axis.path) for values in (rows[0], rows[-1])]
        if unknown[0] is not None and unknown[1] is not None:
            raise unknown[0]


def _unknown(plan: SweepPlan, values: Mapping[str, Any], path: str) -> DescriptionError | None:
    """Return the error about a path that names no field in a row's scene."""
    whole = {name: value for name, value in values.items() if "." not in name}
    try:
        scene_of(plan, whole | {path: values[path]}, None)
    except DescriptionError as error:
        return error if any(words in str(error) for words in NO_FIELD) else None
    return None
