"""Pose and pressure of a grasp by soft fingers, computed for each object by trials.

A grasp of soft fingers with ``per_object`` has neither: every pose of the object in the hand is
tried with pressures of a geometric series, in the scene itself. The first pose is taken that holds
over three pressures of the series, at the middle one of those that hold: the farthest, as a ratio,
from too little, which lets the object slip, and from too much, which ejects it.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator
from functools import lru_cache
from itertools import islice
from typing import Any, NamedTuple

import numpy as np

from softgrasp.description.base import Vec3
from softgrasp.description.hand import GraspPreset
from softgrasp.description.resolved import Origin
from softgrasp.description.scene import GraspScene
from softgrasp.description.task import PreshapePhase, SuccessCriterion
from softgrasp.errors import SoftgraspWarning
from softgrasp.io.files import report_progress
from softgrasp.mechanics.transforms import (
    Array,
    euler_from_quaternions,
    quaternion_of,
    rotate_about,
    rotation_from_euler,
    transform,
    triple,
)
from softgrasp.model.arm import finger_base, toward_grasp
from softgrasp.model.object import on_its_table
from softgrasp.model.scene import assemble
from softgrasp.model.timestep import resolve_timestep
from softgrasp.resolution.object_grasp import (
    keep_choice,
    parts_of,
    read_choice,
    run_trial,
    soft_presets,
)

PRESSURES = 8
"""Number of pressures, the limit of the fingers and lower ones, each 1/√2 of the next."""
ENOUGH = 3
"""Number of adjacent pressures that hold, with which a pose is taken."""
MAX_POSES = 6
"""Largest number of poses that are tried."""
YAW_STEP = 30.0
"""Step of the rotations about the vertical that are tried on a table [deg]."""
ALIKE = 1e-3
"""Difference of half widths between rotations that count as one [m]."""
GAP = 2e-3
"""Gap between straight fingertips and the table, and between object and palm [m]."""


class Choice(NamedTuple):
    """Pose and pressure that were chosen, and the pressures that held."""

    preset: GraspPreset
    euler: Vec3 | None
    """Orientation of the object in the world where it stands on a table."""
    held: tuple[float, ...]
    """Adjacent pressures at which the object was held, ascending [Pa]."""
    fits: bool = True
    """Whether the object is clear of the hand in some pose."""


def with_soft_grasp(scene: GraspScene, origins: dict[str, Origin]) -> GraspScene:
    """Return the scene with pose and pressure of a grasp that soft fingers have for its object.

    Args:
        scene: The scene; unchanged where the place of its object is stated.
        origins: Where the origins of computed values are added.

    Warns:
        SoftgraspWarning: The pressure and those between which the object was held; or none was.
    """
    preset = scene.preset
    if not _is_open(scene):
        return scene
    chosen = _choose(scene.replace(name="", sensors=(), source="", seed=0))
    held, pressure = chosen.held, chosen.preset.pressure
    name, hand = scene.object.name, scene.hand.name
    reason = "no pressure holds the object in trials"
    if held:
        reason = f"the middle of {_text(held[0])} … {_text(held[-1])}, which hold it in trials"
        message = f"'{hand}' grasps '{name}' with {_text(pressure)}, {reason}; --pressure sets it"
    elif chosen.fits:
        message = f"'{hand}' holds '{name}' with no pressure up to {_text(pressure)} in trials"
    else:
        message = f"'{name}' fits between the fingers of '{hand}' in none of the poses tried"
    warnings.warn(message, SoftgraspWarning, stacklevel=2)
    origins[f"hand.grasps.{scene.grasp}.pressure"] = Origin("computed", reason)
    if chosen.preset.center != preset.center:
        origins[f"hand.grasps.{scene.grasp}.center"] = Origin("computed", "the first that holds it")
    if chosen.euler is not None and chosen.euler != scene.object_euler:
        origins["object_euler"] = Origin("computed", "narrow between the fingers, and held")
    return _pose(scene, chosen)


def _is_open(scene: GraspScene) -> bool:
    """Whether pose and pressure have to be computed."""
    placed = scene.object_position is not None or scene.preshape is not None
    placed |= any(isinstance(phase, PreshapePhase) for phase in scene.sequence)
    return not placed and scene.object_mount == "free"


@lru_cache(maxsize=256)
def _choose(scene: GraspScene) -> Choice:
    """Return the choice of an earlier search for an equal scene, or else of a new one."""
    kept = read_choice(scene)
    if kept is not None:
        euler = kept["euler"] and triple(np.array(kept["euler"]))
        return Choice(GraspPreset(**kept["preset"]), euler, tuple(kept["held"]), kept["fits"])
    choice = _search(scene)
    kept = {"grasp": scene.grasp, "preset": choice.preset.model_dump(mode="json")}
    keep_choice(scene, kept | {name: getattr(choice, name) for name in ("euler", "held", "fits")})
    return choice


def _search(scene: GraspScene) -> Choice:
    """Return the first pose that holds over enough pressures, or that which holds over most."""
    best: Choice | None = None
    pressures = _pressures(scene)
    for number, pose in enumerate(islice(_poses(scene), MAX_POSES), start=1):
        report_progress(f"trying pose {number} of {scene.object.name} in {scene.hand.name}")
        held = _find_held_pressures(_pose(scene, pose), pressures)
        pressure = held[(len(held) - 1) // 2] if held else pressures[-1]
        tried = Choice(_with_pressure(pose.preset, pressure), pose.euler, held)
        if best is None or len(tried.held) > len(best.held):
            best = tried
        if len(best.held) >= ENOUGH:
            break
    if best is None:
        preset = _with_pressure(scene.preset, pressures[-1])
        return Choice(preset, scene.object_euler, (), fits=False)
    return best


def _with_pressure(preset: GraspPreset, pressure: float) -> GraspPreset:
    return preset.replace(pressure=pressure, per_object=False)


def _pressures(scene: GraspScene) -> list[float]:
    """Return the pressures to try, ascending [Pa]; a stated one only."""
    if scene.closure.pressure is not None:
        return [scene.closure.pressure]
    limit = min(digit.limits[1] for digit in scene.hand.soft_fingers)
    series = limit * 2.0 ** (-0.5 * np.arange(PRESSURES)[::-1])
    return [float(f"{pressure:.2g}") for pressure in series[:-1].tolist()] + [limit]


def _find_held_pressures(scene: GraspScene, pressures: list[float]) -> tuple[float, ...]:
    """Return the longest run of adjacent pressures at which the object is held in a trial."""
    longest: list[float] = []
    run: list[float] = []
    for pressure in pressures:
        preset = _with_pressure(scene.preset, pressure)
        if _holds(_pose(scene, Choice(preset, scene.object_euler, ()))):
            run.append(pressure)
            longest = max(longest, run, key=len)
        elif len(run) >= ENOUGH:
            break
        else:
            run = []
    return tuple(longest)


def _holds(scene: GraspScene) -> bool:
    """Simulate a scene, with a hold test where it has no other end; return whether it holds."""
    if scene.success is None and scene.lift is None and not scene.sequence:
        scene = scene.choose(success=SuccessCriterion())
    result = run_trial(scene)
    return result is not None and bool(result.held)


def _pose(scene: GraspScene, choice: Choice) -> GraspScene:
    """Return the scene with a pose and its pressure, which are not computed again."""
    preset = choice.preset.replace(per_object=False)
    grasps = scene.hand.grasps.replace(**{scene.grasp: preset})
    return scene.choose(hand=scene.hand.choose(grasps=grasps), object_euler=choice.euler)


# Poses.


def _poses(scene: GraspScene) -> Iterator[Choice]:
    """Yield the poses to try in which the object is clear of the hand."""
    if scene.table is None:
        poses = [Choice(preset, scene.object_euler, ()) for preset in soft_presets(scene)]
    else:
        poses = list(_standing_poses(scene))
    for pose in poses:
        placed = on_its_table(_pose(scene, pose))
        if assemble(placed, resolve_timestep(placed)).overlap is None:
            yield pose


def _standing_poses(scene: GraspScene) -> Iterator[Choice]:
    """Yield rotations about the vertical, the narrowest between the fingers first, and depths."""
    preset, base = scene.preset, finger_base(scene.hand)
    approach = toward_grasp(scene.hand, preset.center)
    nominal = float((np.array(preset.center) - base) @ approach)
    reach = max(digit.finger.tip[0] for digit in scene.hand.soft_fingers)
    for euler, points in _standing_rotations(scene):
        above, below = float(points[:, 2].max()), float(-points[:, 2].min())
        nearest = max(above, reach - below) + GAP  # clear of the palm, fingertips of the table
        for depth in dict.fromkeys((max(nominal, nearest), nearest)):
            center = triple((base + depth * approach).round(6))
            yield Choice(preset.replace(center=center, per_object=False), euler, ())


def _standing_rotations(scene: GraspScene) -> list[tuple[Vec3, Array]]:
    """Return the rotations to try, and the points of the object in each from its centre (n, 3)."""
    points = np.vstack([vertices for vertices, _ in parts_of(scene.object.shape)])
    if scene.object_euler is not None:
        rotation = rotation_from_euler(scene.object_euler)
        return [(scene.object_euler, points @ rotation.T)]
    standing = rotation_from_euler(scene.object.standing)
    outward = _finger_directions(scene)
    narrowest: dict[int, tuple[Vec3, Array]] = {}
    for angle in np.arange(0.0, 360.0, YAW_STEP).tolist():
        frame = rotate_about("z", math.radians(angle))
        frame[:3, :3] = frame[:3, :3] @ standing
        seen = points @ frame[:3, :3].T
        half_width = float((seen @ outward.T).max())
        euler = triple(euler_from_quaternions(np.array(quaternion_of(frame))).round(6))
        narrowest.setdefault(round(half_width / ALIKE), (euler, seen))
    return [narrowest[width] for width in sorted(narrowest)]


def _finger_directions(scene: GraspScene) -> Array:
    """Return the unit vectors from the middle of the hand to its fingers in the world, (n, 3)."""
    approach = toward_grasp(scene.hand, scene.preset.center)
    outward = np.array([digit.base.position for digit in scene.hand.soft_fingers])
    outward = outward - finger_base(scene.hand)
    outward = outward - np.outer(outward @ approach, approach)
    lengths = np.linalg.norm(outward, axis=1, keepdims=True)
    to_world = transform(quaternion=scene.hand_pose.quaternion)[:3, :3]
    return np.asarray((outward / np.maximum(lengths, 1e-9)) @ to_world.T)


def _text(pressure: Any) -> str:
    return f"{1e-3 * pressure:.3g} kPa"
