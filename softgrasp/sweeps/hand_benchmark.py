"""Many hands with many objects, one grasp each with a hold test: held rates and images.

Hands come from the library and from files and directories, objects are ten primitives and the
directories of objects such as those of the YCB set. Every finished grasp is one line of a journal,
so that an interrupted benchmark goes on. An object whose width is larger than the opening
of the hand does not fit: it is simulated, too, and counted apart.
"""

from __future__ import annotations

import hashlib
import json
import multiprocessing
import os
import re
import subprocess
import time
import warnings
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from concurrent.futures import BrokenExecutor, ProcessPoolExecutor, as_completed
from functools import lru_cache
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

import mujoco
import numpy as np
from numpy.typing import NDArray

from softgrasp import assets
from softgrasp._version import __version__
from softgrasp.assets import MODEL_SUFFIXES
from softgrasp.description.geometry import Capsule, Cuboid, Cylinder, Ellipsoid, Shape, Sphere
from softgrasp.description.hand import Hand
from softgrasp.description.object import GraspObject
from softgrasp.description.scene import GraspScene
from softgrasp.description.scene_validation import fingertips
from softgrasp.description.task import SuccessCriterion
from softgrasp.errors import DescriptionError, ResultError, SoftgraspError
from softgrasp.evaluation.result import GraspResult
from softgrasp.io.files import disk_message, write_text
from softgrasp.io.input_limits import note_inputs, read_json, recorded_inputs
from softgrasp.io.json_lines import JsonLines
from softgrasp.io.load import changed_input, current_hashes, input_hashes, load_hand, load_object
from softgrasp.io.object import objects_in
from softgrasp.io.yaml_files import YamlFile
from softgrasp.model.grasp_geometry import geom_vertices
from softgrasp.model.object import with_default_grasp
from softgrasp.model.shapes import width
from softgrasp.pipeline import compile_scene, simulate
from softgrasp.rendering.keyframes import Playback
from softgrasp.rendering.video import framing, render_key_frames, write_png
from softgrasp.sweeps.executors import follow_parent

JOURNAL, SETTINGS, IMAGES = "rows.jsonl", "benchmark.json", "images"
SCHEMA_VERSION = 1
INPUTS = "inputs"
"""Key of the hashes of the files of a row in the journal."""
SHIPPED = "softgrasp"
PRIMITIVE, BALL, FILED = "primitive", "ball", "object"
"""Groups of objects: balls are primitives, too."""
DENSITY = 300.0
"""Density of the primitives [kg/m³], as wood or half-filled packages have."""
IMAGE_SIZE = (240, 180)
"""Size of an image [px]."""
CAMERA_ROWS = 14
"""Height of the images by which cameras are compared [px]; few, as there are many images."""
TIP_LENGTH = 0.015
"""Length of the outer end of a finger between which the opening of a hand is measured [m]."""
FAILED, REFUSED = "FAILED", "REFUSED"
"""Outcomes of grasps that could not be simulated, and of hands or objects that were not read."""
HAND_WORDS = re.compile(
    r"hand|gripper|2f[-_]?85|2f[-_]?140|leap|allegro|shadow|barrett|jaco|dclaw|adroit|svh|aero|dexee",
    re.IGNORECASE,
)
"""Words in the path of a file that describes a hand."""
OTHER_WORDS = re.compile(
    r"scene|keyframe|mesh|mjx|_glb|nohand|bimanual|null_|wiping|connector|example|object|"
    r"arm\d?_|ur10|ur5|test|vx300|sawyer|stretch|gen3|op3",
    re.IGNORECASE,
)
"""Words in the path of a file that does not describe one hand alone, or repeats another."""
ROBOSUITE = "robosuite"
Row = dict[str, Any]
Progress = Callable[[int, int], None]


class HandSource(NamedTuple):
    """A hand of the benchmark."""

    name: str
    """Unique within the benchmark."""
    file: str
    """Library name or path."""
    origin: str
    """Package or directory that it comes from."""
    version: str
    """Version of the package, git commit of the directory, or hash of the file."""


class ObjectSource(NamedTuple):
    """An object of the benchmark."""

    name: str
    group: str
    file: str = ""
    """Path or library name; empty for a primitive."""


def primitives() -> dict[str, Shape]:
    """Return the ten primitives by name."""
    return {
        "ball_40": Sphere(radius=0.02),
        "ball_60": Sphere(radius=0.03),
        "ball_80": Sphere(radius=0.04),
        "cube_50": Cuboid(size=(0.05, 0.05, 0.05)),
        "box_40_60_90": Cuboid(size=(0.04, 0.06, 0.09)),
        "box_30_70_120": Cuboid(size=(0.03, 0.07, 0.12)),
        "cylinder_50_100": Cylinder(radius=0.025, height=0.1),
        "cylinder_30_150": Cylinder(radius=0.015, height=0.15),
        "capsule_40_100": Capsule(radius=0.02, length=0.06),
        "ellipsoid_40_50_70": Ellipsoid(radii=(0.02, 0.025, 0.035)),
    }


def find_hands(paths: Sequence[Path], *, shipped: bool = True) -> list[HandSource]:
    """List hands of the library, of an installed robosuite, and of files and directories.

    Two hands that are one description, such as ``two_hands``, grasp larger objects and are left
    out.

    Args:
        paths: Files, and directories that are searched for URDF and MJCF files of hands.
        shipped: Whether to list the hands of the library, and those of robosuite.

    Raises:
        DescriptionError: A path does not exist, or a directory has no hand.
    """
    hands = []
    if shipped:
        current = library_version()
        hands += [HandSource(one, one, SHIPPED, current) for one in _single_hands()]
        paths = [*_robosuite(), *paths]
    for path in paths:
        files = [path] if path.is_file() else _hand_files(path)
        if not files:
            raise DescriptionError("expected URDF or MJCF files of hands, found none", file=path)
        for file in files:
            within = file.relative_to(path) if path.is_dir() else Path(file.name)
            origin = path.resolve().name if path.is_dir() else path.resolve().parent.name
            hands.append(
                HandSource(
                    _unused(within.with_suffix(""), origin, {hand.name for hand in hands}),
                    str(file),
                    origin,
                    source_version(file),
                )
            )
    return list({hand.file: hand for hand in hands}.values())


def _unused(within: Path, origin: str, taken: set[str]) -> str:
    """Return the name of a file by its directory, with more directories where that is taken."""
    for count in range(2, len(within.parts) + 1):
        name = f"{origin}/{Path(*within.parts[-count:]).as_posix()}"
        if name not in taken:
            return name
    return f"{origin}/{within.as_posix()}"


def find_objects(paths: Sequence[Path]) -> list[ObjectSource]:
    """List the primitives, the shipped scans, and the objects in directories.

    Raises:
        DescriptionError: A directory has no object.
    """
    objects = [
        ObjectSource(name, BALL if isinstance(shape, Sphere) else PRIMITIVE)
        for name, shape in primitives().items()
    ]
    objects += [
        ObjectSource(name, FILED, name) for name in ("mug", "pear", "screwdriver", "strawberry")
    ]
    for path in paths:
        objects += [ObjectSource(file.name, FILED, str(file)) for file in objects_in(path)]
    return list({one.name: one for one in objects}.values())


def library_version() -> str:
    """Return the version of softgrasp, in a checkout with its git commit."""
    command = ["git", "-C", str(assets.root()), "rev-parse", "--short", "HEAD"]
    try:
        ran = subprocess.run(command, capture_output=True, text=True, check=False)
    except OSError:
        return __version__
    is_checkout = ran.returncode == 0 and (assets.root() / ".git").exists()
    return f"{__version__}, git {ran.stdout.strip()}" if is_checkout else __version__


def source_version(file: Path) -> str:
    """Return the version of a file: that of its package, the git commit, or a hash."""
    for name in (ROBOSUITE, "robosuite_models", "mujoco_menagerie"):
        if name in file.parts and "site-packages" in file.parts:
            try:
                return f"{name} {version(name)}"
            except PackageNotFoundError:
                break
    command = ["git", "-C", str(file.parent), "log", "-1", "--format=%h", "--", file.name]
    try:
        ran = subprocess.run(command, capture_output=True, text=True, check=False)
    except OSError:
        ran = None
    if ran is not None and ran.returncode == 0 and ran.stdout.strip():
        return f"git {ran.stdout.strip()}"
    return f"sha256 {hashlib.sha256(file.read_bytes()).hexdigest()[:10]}"


def run_hand_benchmark(
    hands: Sequence[HandSource],
    objects: Sequence[ObjectSource],
    directory: Path,
    *,
    workers: int = 1,
    images: bool = True,
    progress: Progress | None = None,
) -> list[Row]:
    """Simulate every hand with every object and return the rows, sorted by hand and object.

    Rows that the journal of the directory has are not simulated again, unless a file of their hand
    or object has changed.

    Args:
        hands: Hands.
        objects: Objects.
        directory: Directory of the journal and the images.
        workers: Processes.
        images: Whether to render the end of each grasp.
        progress: Called with the numbers of finished and of all rows.

    Raises:
        ResultError: The directory cannot be written, or has a benchmark of another version.
    """
    _claim(directory, hands, objects)
    journal = JsonLines(directory / JOURNAL)
    journal.drop_cut_line()
    rows = {(row["hand"], row["object"]): row for row in journal.checked(_stored_row, repair=True)}
    pairs = [(hand, one) for hand in hands for one in objects]
    waiting = [pair for pair in pairs if (pair[0].name, pair[1].name) not in rows]
    target = directory / IMAGES if images else None
    for row in _rows(waiting, target, workers):
        try:
            journal.append([row])
        except OSError as error:
            raise ResultError(disk_message(journal.path, error)) from error
        rows[row["hand"], row["object"]] = row
        if progress is not None:
            done = sum((hand.name, one.name) in rows for hand, one in waiting)
            progress(len(pairs) - len(waiting) + done, len(pairs))
    complete = [rows[hand.name, one.name] for hand, one in pairs]
    return [{name: value for name, value in row.items() if name != INPUTS} for row in complete]


def _stored_row(record: Any) -> Row:
    """Return a record of the journal; raises ValueError where it is no row of the present files."""
    names = ("hand", "object", "outcome")
    if not isinstance(record, dict) or not all(isinstance(record.get(n), str) for n in names):
        raise ValueError("expected a row with hand, object and outcome, found none")
    before = record.get(INPUTS, {})
    if not isinstance(before, dict):
        raise ValueError(f"expected hashes of files in {INPUTS}, found {before!r}")
    if (name := changed_input(before, current_hashes(before))) is not None:
        raise ValueError(f"expected {name} as it was, found another content")
    return record


def grasp_row(hand: HandSource, one: ObjectSource, images: Path | None) -> Row:
    """Simulate one hand with one object as ``softgrasp grasp HAND OBJECT --hold`` does."""
    begin = time.perf_counter()
    row = _empty_row(hand, one)
    with warnings.catch_warnings(record=True) as caught, recorded_inputs() as files:
        warnings.simplefilter("always")
        try:
            _fill(row, hand, one, images)
        except SoftgraspError as error:
            row["message"] = " ".join(str(error).split())
        except Exception as error:  # noqa: BLE001 - one bad hand does not end a benchmark
            row |= {"outcome": FAILED, "message": f"{type(error).__name__}: {error}"}
    row["warnings"] = len(caught)
    inputs = input_hashes(files)
    return row | {"wall_time_s": round(time.perf_counter() - begin, 2), INPUTS: inputs}


def _empty_row(hand: HandSource, one: ObjectSource) -> Row:
    return {
        "hand": hand.name, "object": one.name, "group": one.group, "outcome": REFUSED,
        "held": False, "fits": True, "opening_m": None, "size_m": None, "drop_m": None,
        "contacts": 0, "message": "", "warnings": 0, "image": "", "wall_time_s": None,
    }  # fmt: skip


def _fill(row: Row, source: HandSource, one: ObjectSource, images: Path | None) -> None:
    """Fill a row by a simulation."""
    hand, described = _hand(source.file), _object(one)
    scene = with_default_grasp(GraspScene(hand=hand, object=described, success=SuccessCriterion()))
    size = width(described.shape)
    opening = hand_opening(scene)
    fits = opening is None or size <= opening
    row |= {"outcome": FAILED, "opening_m": opening, "size_m": size, "fits": fits}
    result = simulate(scene, quality_rate=None)
    row |= {
        "outcome": result.outcome.name,
        "held": bool(result.held),
        "drop_m": None if result.hold is None else result.hold.drop_m,
        "contacts": sum(contact.in_contact for contact in result.contacts),
        "message": result.message,
    }
    if images is not None:
        file = images / f"{_file_name(source.name)}--{_file_name(one.name)}.png"
        row["image"] = _image(result, file)


def _hand(file: str) -> Hand:
    hand, files = _loaded_hand(file)
    note_inputs(*files)
    return hand


@lru_cache(maxsize=1)
def _loaded_hand(file: str) -> tuple[Hand, list[Path]]:
    """Load a hand once for its consecutive rows, as the grasps of an imported hand take seconds."""
    with recorded_inputs() as files:
        return load_hand(file), files


def hand_opening(scene: GraspScene) -> float | None:
    """Return the largest distance between two fingertips of the open hand [m].

    It is measured between the outer ends of their surfaces at the start of the grasp; None where
    the hand has fewer than two fingers, or the scene cannot be built.
    """
    small = GraspObject(name="none", shape=Sphere(radius=1e-3), mass=1e-3)
    away = scene.replace(object=small, object_position=(0.0, 0.0, 5.0), success=None)
    try:
        built = compile_scene(away)
    except SoftgraspError:
        return None
    model = built.model
    data = mujoco.MjData(model)
    mujoco.mj_resetDataKeyframe(model, data, 0)
    mujoco.mj_kinematics(model, data)
    tips = [_surface(model, data, built.bodies, name) for name in fingertips(scene.hand)]
    tips = [points for points in tips if len(points)]
    if len(tips) < 2:
        return None
    outward = np.mean([points.mean(axis=0) for points in tips], axis=0)
    outward -= data.xpos[model.body(built.bodies[0]).id]
    outward /= max(float(np.linalg.norm(outward)), 1e-9)
    ends = [points[points @ outward >= (points @ outward).max() - TIP_LENGTH] for points in tips]
    return max(
        float(np.linalg.norm(first[:, None] - second[None], axis=2).min())
        for index, first in enumerate(ends)
        for second in ends[index + 1 :]
    )


def _surface(
    model: mujoco.MjModel, data: mujoco.MjData, bodies: Iterable[str], name: str
) -> NDArray[np.float64]:
    """Return corners of a fingertip, with bodies that are fixed to it, (n, 3) [m]."""
    known = [body for body in bodies if body == name or body.endswith(f"_{name}")]
    if not known:
        return np.zeros((0, 3))
    group = model.body_weldid[model.body(known[0]).id]
    pairs = {int(geom) for geom in (*model.pair_geom1, *model.pair_geom2)}
    geoms = np.flatnonzero(model.body_weldid[model.geom_bodyid] == group).tolist()
    clouds = [
        geom_vertices(model, geom) @ data.geom_xmat[geom].reshape(3, 3).T + data.geom_xpos[geom]
        for geom in geoms
        if geom in pairs
    ]
    return np.concatenate([np.zeros((0, 3)), *clouds])


def _object(one: ObjectSource) -> GraspObject:
    if not one.file:
        return GraspObject(name=one.name, shape=primitives()[one.name], density=DENSITY)
    return load_object(one.file)


def _image(result: GraspResult, file: Path) -> str:
    """Render the end of a grasp; "" where nothing can be rendered."""
    file.parent.mkdir(parents=True, exist_ok=True)
    try:
        end = float(result.time[-1])
        playback = Playback(result)
        camera = framing([playback], IMAGE_SIZE, only_ends=True, rows=CAMERA_ROWS)
        images = render_key_frames(result, [end], size=IMAGE_SIZE, camera=camera, playback=playback)
        write_png(file, images[0])
    except SoftgraspError:
        return ""
    return f"{file.parent.name}/{file.name}"


def _file_name(name: str) -> str:
    return re.sub(r"[^\w.+-]+", "_", name)


def _single_hands() -> list[str]:
    """Return the names of the hands of the library that are not several hands joined."""
    names = assets.names("hands")
    return [name for name in names if "hands" not in YamlFile(assets.find("hands", name)).data]


def _robosuite() -> list[Path]:
    """Return the directory of the grippers of an installed robosuite."""
    spec = find_spec(ROBOSUITE)
    if spec is None or spec.origin is None:
        return []
    grippers = Path(spec.origin).parent / "models" / "assets" / "grippers"
    return [grippers] if grippers.is_dir() else []


def _hand_files(directory: Path) -> list[Path]:
    """Return the files below a directory that describe hands by their names."""
    if not directory.is_dir():
        raise DescriptionError(
            "expected a file or directory with hands, found none", file=directory
        )
    suffixes = (*MODEL_SUFFIXES, ".urdf")
    files = []
    for file in sorted(directory.rglob("*")):
        within = file.relative_to(directory).with_suffix("").as_posix()
        is_model = file.suffix.lower() in suffixes
        if is_model and HAND_WORDS.search(f"{directory.name}/{within}"):
            files += [] if OTHER_WORDS.search(within) else [file]
    return files


def _claim(directory: Path, hands: Sequence[HandSource], objects: Sequence[ObjectSource]) -> None:
    """Write the sources of a benchmark; refuse a directory of another version."""
    path = directory / SETTINGS
    if path.exists():
        before = read_json(path)
        if before.get("softgrasp_version") != __version__:
            raise ResultError(
                f"{path}: expected a benchmark of softgrasp {__version__}, found one of "
                f"{before.get('softgrasp_version')}; --force starts again"
            )
    content = {
        "schema_version": SCHEMA_VERSION,
        "softgrasp_version": __version__,
        "hands": [hand._asdict() for hand in hands],
        "objects": [one._asdict() for one in objects],
    }
    write_text(path, json.dumps(content, indent=1) + "\n")


Pair = tuple[HandSource, ObjectSource]
Work = Callable[[HandSource, ObjectSource, Path | None], Row]


def _rows(
    pairs: Sequence[Pair], images: Path | None, workers: int, work: Work | None = None
) -> Iterator[Row]:
    """Simulate pairs in processes; one that ends its process becomes a failed row."""
    work = work or grasp_row
    if workers == 1:
        yield from (work(hand, one, images) for hand, one in pairs)
        return
    lost = yield from _pool_rows(pairs, images, workers, work)
    for hand, one in lost:
        dead = yield from _pool_rows([(hand, one)], images, 1, work)
        for _ in dead:
            row = _empty_row(hand, one)
            yield row | {"outcome": FAILED, "message": "the process of this grasp has died"}


def _pool_rows(
    pairs: Sequence[Pair], images: Path | None, workers: int, work: Work
) -> Generator[Row, None, list[Pair]]:
    """Yield rows of a pool of processes, and return the pairs that it lost."""
    lost: list[Pair] = []
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(workers, context, follow_parent, (os.getpid(),)) as pool:
        futures = {pool.submit(work, hand, one, images): (hand, one) for hand, one in pairs}
        for future in as_completed(futures):
            try:
                yield future.result()
            except BrokenExecutor:
                lost.append(futures[future])
    return lost
