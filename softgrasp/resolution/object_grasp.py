"""Grasp of a described object by a hand whose grasps are computed for each object.

``with_object_grasp`` replaces centre, orientation and rates of such a grasp by those for the object
of the scene. In a scene with ``adapts_grasp`` it does so, too, where the grasp of the hand does not
hold the object in a trial. The grasp of a scene with a stated position is kept.

A choice takes seconds of search and trials. It is read where an earlier one had the same trial: an
equal scene, equal files wherever they are, the same code and the same MuJoCo. The files are in
``choices`` of the cache directory (``$SOFTGRASP_CACHE``); they can be deleted at any time.
"""

from __future__ import annotations

import hashlib
import json
import math
import warnings
from collections.abc import Iterator
from contextlib import suppress
from functools import cache, lru_cache
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import mujoco
import numpy as np

from softgrasp.description.actuation import Rates
from softgrasp.description.base import unstated
from softgrasp.description.geometry import Compound, Mesh, ObjectShape
from softgrasp.description.hand import GraspPreset, Hand
from softgrasp.description.resolved import Origin, ResolvedScene
from softgrasp.description.scene import GraspScene, Solver
from softgrasp.description.task import PreshapePhase, SuccessCriterion
from softgrasp.errors import BuildError, DescriptionError, ResultError, SoftgraspWarning
from softgrasp.evaluation.outcome import GraspStatus
from softgrasp.evaluation.result import GraspResult
from softgrasp.evaluation.result_builder import result_of
from softgrasp.io.convex_decomposition import cache_directory
from softgrasp.io.files import report_progress, write_text
from softgrasp.io.grasp_presets import corners, inside, link_surfaces, on_faces
from softgrasp.io.load import input_hashes, list_described_files
from softgrasp.io.mesh import load_mesh
from softgrasp.io.mesh_repair import hull_of
from softgrasp.mechanics.transforms import (
    Array,
    euler_from_quaternions,
    quaternion_of,
    rotation_from_euler,
    transform,
    triple,
)
from softgrasp.model.arm import finger_base, toward_grasp
from softgrasp.model.hand import palm_points
from softgrasp.model.object import object_mass
from softgrasp.model.scene import build
from softgrasp.model.shapes import convex_parts, mass_properties
from softgrasp.model.timestep import resolve_timestep
from softgrasp.resolution.start import with_clear_start
from softgrasp.sim.grasp_run import ClosureRun

if TYPE_CHECKING:
    from softgrasp.grasp_synthesis.hand_model import ClosingHand
    from softgrasp.grasp_synthesis.object_field import ObjectField, Part
    from softgrasp.grasp_synthesis.object_grasp import ObjectSearch

RAMP_TIME, HOLD_TIME = 0.1, 0.2
"""Duration of the gravity ramp and of the hold test of a trial [s]."""
CONTROL_PERIOD = 1e-3
"""Time between two samples of the controller in a trial [s]."""
SOFT_DEPTHS = (0, 10, 20)
"""Distances towards the palm that are tried for soft fingers [mm]."""
SOFT_GAP = 1e-3
"""Smallest gap between palm and object for soft fingers [m]."""
SOFT_REACH = 0.2
"""Largest distance of the object from the finger bases for soft fingers [m]."""
MAX_SOFT_ROTATIONS = 8
"""Largest number of rotations that are tried for soft fingers."""
HELD = 3e-4
"""Displacement of the object in a trial up to which a computed grasp may hold it [m]."""
EARLY = 6
"""Number of computed grasps of one kind that are tried before those of the other kind."""
MAX_DROP = SuccessCriterion().max_drop
"""Displacement up to which a grasp holds in a hold test of full length [m]."""
ROTATION_ARM = 5e-3
"""Displacement that counts as much as a rotation of the object by 1 rad [m]."""
MIN_CONTACTS = 2
"""Smallest number of bodies of the hand in contact at the end."""
ONE_FINGER = 1e-3
"""Displacement that counts as much as contacts of one finger only [m]."""
LOST = 0.015
"""Displacement in the palm above which an object counts as lost [m]."""
FAILED = (GraspStatus.EJECTED, GraspStatus.NO_CONTACT, GraspStatus.DIVERGED)
Kind = Literal["power", "precision"]


class Choice(NamedTuple):
    """The grasp that was chosen for an object."""

    grasp: Kind
    preset: GraspPreset


def with_object_grasp(scene: GraspScene, origins: dict[str, Origin]) -> GraspScene:
    """Return the scene with the grasp of its hand computed for its object, where that applies.

    The best poses of a geometric search are tried in short runs; the first one that holds is taken,
    or else the one in which the object moves least, the grasp for a ball among them. With
    ``adapts_grasp`` the grasp of the hand is tried first, and the other one of power and precision
    last, if the object is within its payload; a warning reports another grasp than that of the
    hand.

    Args:
        scene: The scene; its grasp is kept if it or the position of its object is stated, or if its
            object stands on a table or cannot move freely.
        origins: Where the origins of computed values are added.
    """
    if not _is_open(scene):
        return scene.choose(adapt_grasp=False)
    chosen = _choose(_reduce(scene))
    _warn_of_change(scene, chosen)
    if chosen.grasp != scene.grasp:
        origins["grasp"] = Origin("computed", f"the {scene.grasp} grasp does not hold the object")
    if chosen.preset not in (scene.hand.grasps.power, scene.hand.grasps.precision):
        reason = "the best of a search around the object, by trials with the default contact"
        origins[f"hand.grasps.{chosen.grasp}"] = Origin("computed", reason)
    grasps = scene.hand.grasps.replace(**{chosen.grasp: chosen.preset})
    hand = scene.hand.choose(grasps=grasps)
    return scene.choose(hand=hand, grasp=chosen.grasp, adapt_grasp=False)


def _warn_of_change(scene: GraspScene, chosen: Choice) -> None:
    """Warn where the grasp is not the one that the hand describes."""
    is_same = chosen.grasp == scene.grasp
    if is_same and (scene.preset.per_object or chosen.preset == scene.preset):
        return
    described = (scene.hand.grasps.power, scene.hand.grasps.precision)
    origin = "is taken instead" if chosen.preset in described else "was computed for it"
    which = f"another {chosen.grasp}" if is_same else f"a {chosen.grasp}"
    warnings.warn(
        f"the {scene.grasp} grasp of '{scene.hand.name}' does not hold '{scene.object.name}' in a "
        f"trial with the default contact; {which} grasp {origin} (--grasp "
        f"{scene.grasp} keeps the specified one)",
        SoftgraspWarning,
        stacklevel=4,
    )


def _is_open(scene: GraspScene) -> bool:
    """Whether the grasp of a scene has to be computed for its object."""
    specified = scene.object_position is not None or scene.preshape is not None
    specified |= any(isinstance(phase, PreshapePhase) for phase in scene.sequence)
    if specified or scene.object_mount == "planar" or scene.table is not None:
        return False
    if scene.adapts_grasp:
        return not scene.objects and not scene.surroundings
    return scene.preset.per_object and not scene.hand.soft_fingers


def _reduce(scene: GraspScene) -> GraspScene:
    """Return the scene of a trial: closure and short hold test of hand and object alone.

    Contact and time step are the defaults, so that all scenes of a sweep over them have one grasp.
    """
    gravity = None if scene.success is None else scene.success.gravity
    test = SuccessCriterion(ramp_time=RAMP_TIME, hold_time=HOLD_TIME)
    return scene.replace(
        name="",
        grasp=scene.grasp,
        adapt_grasp=scene.adapts_grasp,
        object=scene.object.replace(elasticity=None),
        object_mount="free",
        objects=(),
        surroundings=(),
        arm=None,
        sequence=(),
        success=test if gravity is None else test.replace(gravity=gravity),
        lift=None,
        sensors=(),
        contact=None,
        allow_softer_contact=True,
        timestep=None,
        control_period=CONTROL_PERIOD,
        duration=None,
        closure=scene.closure.concrete,  # so that the trial keeps it
        solver=Solver(),
        source="",
        seed=0,
    )


@lru_cache(maxsize=256)
def _choose(scene: GraspScene) -> Choice:
    """Return the choice of an earlier search for an equal trial, or else of a new one."""
    kept = read_choice(scene)
    if kept is not None:
        return Choice(kept["grasp"], unstated(GraspPreset(**kept["preset"])))
    choice = _search(scene)
    keep_choice(scene, {"grasp": choice.grasp, "preset": choice.preset.model_dump(mode="json")})
    return choice


def _search(scene: GraspScene) -> Choice:
    """Return the first grasp that holds in a trial, or the one in which the object moves least."""
    report_progress(f"searching a grasp of {scene.object.name} by {scene.hand.name}")
    best, smallest = None, math.inf
    for choice in _candidates(scene):
        best = best or choice
        grasps = scene.hand.grasps.replace(**{choice.grasp: choice.preset})
        try:
            hand = scene.hand.replace(grasps=grasps)
            trial = scene.replace(hand=hand, grasp=choice.grasp, adapt_grasp=False)
        except DescriptionError:  # joints too slow for a trial, for example
            continue
        is_described = choice.preset == _preset_of(scene.hand, choice.grasp)
        displacement, holds = _trial(trial, short=not is_described)
        if holds:
            return choice
        if displacement < smallest:
            best, smallest = choice, displacement
    assert best is not None
    return best


def _trial(trial: GraspScene, *, short: bool) -> tuple[float, bool]:
    """Return the displacement of the object in a trial [m], and whether the grasp holds it.

    Slow slip accelerates: a hold test of full length decides. A short one before it rejects most
    of the grasps that do not hold.
    """
    success = trial.success
    assert success is not None
    displacement = displacement_in_trial(trial) if short else 0.0
    if displacement > HELD:
        return displacement, False
    whole = SuccessCriterion(gravity=success.gravity)
    displacement = displacement_in_trial(trial.replace(success=whole))
    return displacement, displacement <= MAX_DROP


def run_trial(scene: GraspScene) -> GraspResult | None:
    """Simulate a scene with a concrete grasp; None where the hand overlaps at the start."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            timestep = resolve_timestep(scene)
            resolved = ResolvedScene(scene, with_clear_start(scene, timestep, {}), timestep)
            run = ClosureRun(build(resolved))
        except BuildError:
            return None
        run.run()
        return result_of(run, [], 0.0)


def displacement_in_trial(scene: GraspScene) -> float:
    """Simulate a grasp and its hold test; return how far the object moves in the palm [m].

    A rotation counts as a displacement on ``ROTATION_ARM``, and contacts of one finger of several
    add ``ONE_FINGER``: another grasp is then preferred. Infinite where the object is not in the
    hand at the end, or where the start is not clear.

    Args:
        scene: A scene with a hold test, a concrete closure and a concrete grasp.
    """
    result = run_trial(scene)
    if result is None:
        return math.inf
    touching = [contact for contact in result.contacts if contact.in_contact]
    if result.status in FAILED or result.hold is None or len(touching) < MIN_CONTACTS:
        return math.inf
    displacement = max(result.hold.drop_m, ROTATION_ARM * result.hold.rotation_rad)
    if displacement > LOST:
        return math.inf
    known = {finger.name for finger in scene.hand.fingers}
    known |= {finger.name for finger in scene.hand.soft_fingers}
    fingers = known & {contact.finger for contact in touching}
    return displacement + (ONE_FINGER if len(fingers) < min(2, len(known)) else 0.0)


def _kinds(scene: GraspScene) -> list[Kind]:
    """Return the kinds of grasp to try."""
    if not scene.adapts_grasp:
        return [scene.grasp]
    other: Kind = "precision" if scene.grasp == "power" else "power"
    payload = _preset_of(scene.hand, other).payload
    fits = payload is None or object_mass(scene.object) <= payload
    return [scene.grasp, other] if fits else [scene.grasp]


def _candidates(scene: GraspScene) -> Iterator[Choice]:
    """Yield the grasps to try in their order."""
    hand, kinds = scene.hand, _kinds(scene)
    presets = {kind: _preset_of(hand, kind) for kind in kinds}
    computed: dict[Kind, Iterator[GraspPreset]] = {}
    # those of soft fingers differ by little more than the pressure
    first = kinds if hand.soft_fingers else []
    yield from (Choice(kind, presets[kind]) for kind in first)
    for kind in kinds:
        preset = presets[kind]
        if not preset.per_object and kind not in first:
            yield Choice(kind, preset)
        tried = scene.replace(grasp=kind)
        computed[kind] = soft_presets(tried) if hand.soft_fingers else _presets(tried)
        early = islice(computed[kind], None if hand.soft_fingers else EARLY)
        yield from (Choice(kind, item) for item in early)
        if preset.per_object:
            yield Choice(kind, preset.replace(per_object=False))
    for kind in kinds:
        yield from (Choice(kind, item) for item in computed[kind])


def _preset_of(hand: Hand, kind: Kind) -> GraspPreset:
    return hand.grasps.power if kind == "power" else hand.grasps.precision


def _presets(scene: GraspScene) -> Iterator[GraspPreset]:
    """Yield grasps for the object of a scene in the order of their scores."""
    from softgrasp.grasp_synthesis.object_grasp import ObjectSearch  # most grasps need no search

    preset, hand = scene.preset, scene.hand
    closing, frame = _closing_hand(hand)
    to_world = transform(quaternion=scene.hand_pose.quaternion)[:3, :3] @ frame[:3, :3]
    field = _field(scene.object.shape)
    search = ObjectSearch(closing, preset.start or closing.rest, scene.grasp, field)
    upright = rotation = None
    if scene.object_euler is not None:
        rotation = to_world.T @ rotation_from_euler(scene.object_euler)
    elif scene.object.upright and preset.upright_euler is None:
        upright = to_world[2]
    for grasp in search.best(upright, rotation):
        rates = np.array(preset.rates.for_fingers(hand.actuator_counts), dtype=float)
        paced = preset.replace(rates=Rates(_rates(rates, search, grasp.arrivals)))
        position = (frame @ [*grasp.position, 1.0])[:3]
        yield _pose(paced, position, frame[:3, :3] @ grasp.rotation)


def soft_presets(scene: GraspScene) -> Iterator[GraspPreset]:
    """Yield grasps by soft fingers: the object at several depths, in rotations by 90°.

    The depths are that of the grasp, and nearer ones as far as the object is clear of the palm.
    Rotations that need least depth come first.
    """
    preset, base = scene.preset, finger_base(scene.hand)
    field, palm = _field(scene.object.shape), _surfaces(scene.hand).get("palm", np.zeros((0, 3)))
    approach = toward_grasp(scene.hand, preset.center)
    positions = base + np.arange(0.0, SOFT_REACH, 1e-3)[:, None] * approach
    depth = round(1e3 * float((np.array(preset.center) - base) @ approach))
    for rotation in _soft_rotations(scene, field, approach)[:MAX_SOFT_ROTATIONS]:
        seen = ((palm - positions[:, None]) @ rotation).reshape(-1, 3)
        gaps = field.distances(seen).reshape(len(positions), -1).min(axis=1, initial=np.inf)
        clear = np.flatnonzero(gaps >= SOFT_GAP)
        depths = [max(depth - nearer, int(clear[0])) for nearer in SOFT_DEPTHS if len(clear)]
        for chosen in dict.fromkeys(depths):
            yield _pose(preset, positions[min(chosen, len(positions) - 1)], rotation)


def _soft_rotations(scene: GraspScene, field: ObjectField, approach: Array) -> list[Array]:
    """Return rotations of the object in the hand, (3, 3) each."""
    from softgrasp.grasp_synthesis.object_field import cube_rotations, distinct
    from softgrasp.grasp_synthesis.object_grasp import UPRIGHT

    to_world = transform(quaternion=scene.hand_pose.quaternion)[:3, :3]
    if scene.object_euler is not None:
        return [to_world.T @ rotation_from_euler(scene.object_euler)]
    first = rotation_from_euler(scene.preset.object_euler)
    rotations = distinct(field, first @ cube_rotations() @ field.axes.T)
    if scene.object.upright:
        standing = (rotations @ [0.0, 0.0, 1.0]) @ to_world[2] > UPRIGHT
        rotations = rotations[standing] if standing.any() else rotations
    depths = np.abs(approach @ rotations @ field.axes) @ field.half_sizes
    return list(rotations[np.argsort(depths.round(6), kind="stable")])


def _closing_hand(hand: Hand) -> tuple[ClosingHand, Array]:
    """Return the hand for the search and the pose of its frame in the hand's frame, (4, 4)."""
    if hand.model is None:
        from softgrasp.grasp_synthesis.hand_model import DescribedHand

        return DescribedHand(hand, _surfaces(hand)), np.eye(4)
    from softgrasp.io.mjcf.hand import closing_model

    pose = hand.model.pose
    return closing_model(hand.model), transform(pose.position, pose.quaternion)


def _surfaces(hand: Hand) -> dict[str, Array]:
    """Sample surface points of the links in their frames, and of the palm (``link_surfaces``)."""
    surfaces = link_surfaces(hand)
    points = palm_points(hand) if hand.palm.kind == "auto" else None
    if points is not None:
        hull = hull_of(points)
        surfaces["palm"] = np.vstack([on_faces(hull), inside(hull)])
    return surfaces


@lru_cache(maxsize=16)
def _field(shape: ObjectShape) -> ObjectField:
    """Sample the distances from a shape."""
    from softgrasp.grasp_synthesis.object_field import ObjectField

    return ObjectField(parts_of(shape), mass_properties(shape).inertia)


def parts_of(shape: ObjectShape) -> list[Part]:
    """Return the convex parts of a shape about its centre of mass."""
    if isinstance(shape, Compound):
        return convex_parts(shape)
    if isinstance(shape, Mesh):
        return list(load_mesh(shape).parts)
    hull = hull_of(corners(shape))
    return [(hull.vertices, hull.faces)]


def _pose(preset: GraspPreset, position: Array, rotation: Array) -> GraspPreset:
    """Return a grasp with another pose of the object in the hand, which is not computed again."""
    frame = np.eye(4)
    frame[:3, :3] = rotation
    euler = triple(np.round(euler_from_quaternions(quaternion_of(frame)), 6))
    return preset.replace(
        center=triple(position.round(6)), object_euler=euler, upright_euler=euler, per_object=False
    )


def _rates(rates: Array, search: ObjectSearch, arrivals: Array) -> list[float]:
    """Scale the closing rates so that all fingers reach the object together [unit/s]."""
    closing = search.closing
    travel = np.abs(search.weights * (closing.end - closing.start))
    fastest = 0.0
    speeds = np.zeros(len(rates))
    for group, arrival in zip(closing.groups, arrivals.tolist(), strict=True):
        moving = [index for index in group if travel[index] > 0.0]
        speed = max((abs(rates[i]) / travel[i] for i in moving), default=0.0)
        fastest = max(fastest, speed)
        if speed > 0.0:
            speeds[moving] = arrival / speed
    scale = fastest / max((arrival for arrival in arrivals.tolist()), default=1.0)
    scaled = np.round(np.where(speeds > 0.0, rates * speeds * scale, rates), 6)
    return [float(rate) for rate in scaled]


PACKAGE = Path(__file__).resolve().parents[1]
CODE = (
    "description", "mechanics", "continuum", "quality", "grasp_synthesis", "io", "model", "sim",
    "evaluation", "resolution",
)  # fmt: skip
"""Parts of the package whose code a choice depends on."""


def read_choice(trial: GraspScene) -> dict[str, Any] | None:
    """Return the kept choice for a trial as plain data; None where there is none."""
    with suppress(OSError, ValueError):
        kept = json.loads(_file(trial).read_text(encoding="utf-8"))
        if isinstance(kept, dict) and kept.keys() >= {"grasp", "preset"}:
            return kept
    return None


def keep_choice(trial: GraspScene, choice: dict[str, Any]) -> None:
    """Keep a choice; without a directory that can be written it is made again next time."""
    with suppress(OSError, ResultError):
        write_text(_file(trial), json.dumps(choice))


def _file(trial: GraspScene) -> Path:
    files = input_hashes(list_described_files(trial))
    text = json.dumps(_without_names(trial.model_dump(mode="json")), sort_keys=True)
    parts = [_code(), mujoco.__version__, text, *files.values()]
    digest = hashlib.sha256("\0".join(parts).encode()).hexdigest()
    return cache_directory() / "choices" / f"{digest[:32]}.json"


def _without_names(value: Any) -> Any:
    """Return plain data without the names and sources that a choice does not depend on."""
    if isinstance(value, dict):
        kept = {name: part for name, part in value.items() if name not in ("file", "source")}
        return {name: _without_names(part) for name, part in kept.items()}
    if isinstance(value, list):
        return [_without_names(part) for part in value]
    return value


@cache
def _code() -> str:
    """Return the digest of the code that a choice depends on."""
    digest = hashlib.sha256()
    for file in sorted(file for part in CODE for file in (PACKAGE / part).rglob("*.py")):
        digest.update(file.read_bytes())
    return digest.hexdigest()
