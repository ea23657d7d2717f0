"""Close many hands on many objects, count what they hold, and write docs/data/hands.md.

    python benchmarks/hands.py --out DIR [--hands PATH]… [--objects DIR]… [--only NAME,…]
    python benchmarks/hands.py --page DIR…

Every grasp is simulated as ``softgrasp grasp HAND OBJECT --hold`` does. Finished rows are lines of
``rows.jsonl`` in ``--out``; those of the same version of their hand are not simulated again.
"""

from __future__ import annotations

import argparse
import csv
import json
import multiprocessing
import os
import re
import shlex
import sys
import warnings
from collections.abc import Callable, Generator, Iterable, Sequence
from concurrent.futures import BrokenExecutor, ProcessPoolExecutor, as_completed
from functools import lru_cache, partial
from pathlib import Path
from typing import Any, NamedTuple

import mujoco
import numpy as np
from measured import library_version, machine, source_version
from scipy.spatial import ConvexHull

import softgrasp as sg
from softgrasp import assets
from softgrasp.description import Capsule, Ellipsoid
from softgrasp.errors import did_you_mean
from softgrasp.plugin_api import CompiledScene, compile_scene
from softgrasp.rendering import geom_corner_points

PAGE = Path(__file__).parents[1] / "docs" / "data" / "hands.md"
TABLES = """\
Made by `python benchmarks/hands.py --page DIR…` from the directories of runs; versions are those of
git commits, or else hashes of the files. The commit of softgrasp is that of the last start:
finished rows of hands that are not of the library can be older.
"""
"""Head of the file that docs/benchmarks.md includes."""
JOURNAL, CSV, MARKDOWN, IMAGES = "rows.jsonl", "hands.csv", "hands.md", "images"
PRIMITIVES = {
    "ball_40": sg.Sphere(radius=0.02),
    "ball_60": sg.Sphere(radius=0.03),
    "ball_80": sg.Sphere(radius=0.04),
    "cube_50": sg.Cuboid(size=(0.05, 0.05, 0.05)),
    "box_40_60_90": sg.Cuboid(size=(0.04, 0.06, 0.09)),
    "box_30_70_120": sg.Cuboid(size=(0.03, 0.07, 0.12)),
    "cylinder_50_100": sg.Cylinder(radius=0.025, height=0.1),
    "cylinder_30_150": sg.Cylinder(radius=0.015, height=0.15),
    "capsule_40_100": Capsule(radius=0.02, length=0.06),
    "ellipsoid_40_50_70": Ellipsoid(radii=(0.02, 0.025, 0.035)),
}
"""By names with their sizes [mm]."""
SCANS = ("mug", "pear", "screwdriver", "strawberry")
DENSITY = 300.0
"""Density of the primitives [kg/m³], as wood or half-filled packages have."""
JOINED = "two_hands"
"""Hand of the library that is two hands, which grasp larger objects."""
GROUPS = {
    "balls": ("ball",),
    "primitives": ("ball", "primitive"),
    "objects": ("object",),
    "all": ("ball", "primitive", "object"),
}
"""Groups of objects, each with a rate."""
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
Row = dict[str, Any]


class HandSource(NamedTuple):
    """A hand: unique name, library name or path, and version of the package or of the file."""

    name: str
    file: str
    version: str


class ObjectSource(NamedTuple):
    """An object: name, group, and path or library name, empty for a primitive."""

    name: str
    group: str
    file: str = ""


Pair = tuple[HandSource, ObjectSource]


# Hands and objects


def find_hands(paths: Iterable[Path], *, shipped: bool = True) -> list[HandSource]:
    """List the hands of the library, and those of files and directories."""
    hands: dict[str, HandSource] = {}
    if shipped:
        version = library_version()
        names = [name for name in assets.names("hands") if name != JOINED]
        hands = {name: HandSource(name, name, version) for name in names}
    for path in paths:
        files = [path] if path.is_file() else hand_files(path)
        if not files:
            sys.exit(f"{path}: expected URDF or MJCF files of hands, found none")
        for file in files:
            within = file.relative_to(path) if path.is_dir() else Path(file.name)
            origin = path.resolve().name if path.is_dir() else path.resolve().parent.name
            name = f"{origin}/{Path(*within.parts[-2:]).with_suffix('').as_posix()}"
            if name in hands:
                name = f"{origin}/{within.with_suffix('').as_posix()}"
            hands[name] = HandSource(name, str(file), source_version(file))
    return list(hands.values())


def hand_files(directory: Path) -> list[Path]:
    """Return the files below a directory that describe hands by their names."""
    files = []
    for file in sorted(directory.rglob("*")):
        within = file.relative_to(directory).with_suffix("").as_posix()
        if file.suffix.lower() in (*assets.MODEL_SUFFIXES, ".urdf"):
            is_hand = HAND_WORDS.search(f"{directory.name}/{within}")
            files += [file] if is_hand and not OTHER_WORDS.search(within) else []
    return files


def find_objects(paths: Iterable[Path]) -> list[ObjectSource]:
    """List the primitives, the shipped scans, and the directories in directories."""
    objects = {
        name: ObjectSource(name, "ball" if isinstance(shape, sg.Sphere) else "primitive")
        for name, shape in PRIMITIVES.items()
    }
    objects |= {name: ObjectSource(name, "object", name) for name in SCANS}
    for path in paths:
        inside = [
            item for item in sorted(path.glob("*")) if item.is_dir() and item.name[0] not in "._"
        ]
        if not inside:
            sys.exit(f"{path}: expected a directory of objects, found none")
        objects |= {item.name: ObjectSource(item.name, "object", str(item)) for item in inside}
    return list(objects.values())


def chosen(
    hands: list[HandSource], objects: list[ObjectSource], only: str
) -> tuple[list[HandSource], list[ObjectSource]]:
    """Return the hands and objects that are named; all of a kind that is not."""
    words = [word.strip() for word in only.split(",")] if only else []
    known = [item.name for item in (*hands, *objects)]
    for word in words:
        if word not in known:
            sys.exit(f"--only: no '{word}'; {did_you_mean(word, known)}")
    some_hands = [hand for hand in hands if hand.name in words]
    some_objects = [item for item in objects if item.name in words]
    return some_hands or hands, some_objects or objects


@lru_cache(maxsize=1)
def loaded_hand(file: str) -> sg.Hand:
    """Load a hand once for its consecutive rows, as the grasps of an imported hand take seconds."""
    return sg.load_hand(file)


def loaded_object(item: ObjectSource) -> sg.GraspObject:
    """Load an object, or make a primitive."""
    if item.file:
        return sg.load_object(item.file)
    return sg.GraspObject(name=item.name, shape=PRIMITIVES[item.name], density=DENSITY)


# One grasp


def grasp_row(hand: HandSource, item: ObjectSource, images: Path | None = None) -> Row:
    """Simulate one hand with one object."""
    row = empty_row(hand, item)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            fill(row, hand, item, images)
        except sg.SoftgraspError as error:
            row["message"] = " ".join(str(error).split())
        except Exception as error:  # noqa: BLE001 - one bad hand does not end a benchmark
            row |= {"outcome": FAILED, "message": f"{type(error).__name__}: {error}"}
    return row


def empty_row(hand: HandSource, item: ObjectSource) -> Row:
    """Return the row of a hand that is not read."""
    return {
        "hand": hand.name, "version": hand.version, "object": item.name, "group": item.group,
        "outcome": REFUSED, "held": False, "fits": True, "opening_m": None, "size_m": None,
        "drop_m": None, "contacts": 0, "message": "",
    }  # fmt: skip


def fill(row: Row, hand: HandSource, item: ObjectSource, images: Path | None) -> None:
    """Fill a row by a simulation."""
    scene = sg.GraspScene(
        hand=loaded_hand(hand.file), object=loaded_object(item), success=sg.SuccessCriterion()
    )
    row["outcome"] = FAILED
    opening, size = opening_and_width(scene)
    row |= {"opening_m": opening, "size_m": size}
    row["fits"] = opening is None or size is None or size <= opening
    result = sg.simulate(scene, quality_rate=None)
    row |= {
        "outcome": result.outcome.name,
        "held": bool(result.held),
        "drop_m": None if result.hold is None else result.hold.drop_m,
        "contacts": sum(contact.in_contact for contact in result.contacts),
        "message": result.message,
    }
    if images is not None:
        name = re.sub(r"[^-\w.+]+", "_", f"{hand.name}--{item.name}")
        label = f"{item.name}: {result.outcome.name}"
        sg.report.final_poses([result], [label], images / f"{name}.png")


def opening_and_width(scene: sg.GraspScene) -> tuple[float | None, float | None]:
    """Measure the open hand at the start of a grasp, and the object.

    Returns:
        The largest distance of two fingertips at the outer ends of their surfaces [m], None with
        fewer than two; and the smallest distance of planes that are parallel to a face of the
        convex hull of the object, with the object between them [m]. None where there is no model.
    """
    away = scene.replace(object_position=(0.0, 0.0, 5.0), success=None)
    try:
        built = compile_scene(away)
    except sg.SoftgraspError:
        return None, None
    model, data = built.model, mujoco.MjData(built.model)
    mujoco.mj_resetDataKeyframe(model, data, 0)
    mujoco.mj_kinematics(model, data)
    points = surface(built, data, sg.model.names.OBJECT)
    size = float(np.ptp(points @ ConvexHull(points).equations[:, :3].T, axis=0).min())
    tips = [surface(built, data, name) for name in fingertips(scene.hand)]
    tips = [points for points in tips if len(points)]
    if len(tips) < 2:
        return None, size
    outward = np.mean([points.mean(axis=0) for points in tips], axis=0)
    outward -= data.xpos[model.body(built.bodies[0]).id]
    outward /= max(float(np.linalg.norm(outward)), 1e-9)
    ends = [points[points @ outward >= (points @ outward).max() - TIP_LENGTH] for points in tips]
    distances = [
        float(np.linalg.norm(first[:, None] - second[None], axis=2).min())
        for index, first in enumerate(ends)
        for second in ends[index + 1 :]
    ]
    return max(distances), size


def fingertips(hand: sg.Hand) -> list[str]:
    """Return the last body of each finger."""
    rigid = []
    for finger in hand.fingers:
        rows = zip(finger.phalanges, finger.has_body, strict=True)
        rigid += [finger.body_of(row) for row, has_body in rows if has_body][-1:]
    return rigid + [
        f"{soft_finger.name}_L{len(soft_finger.finger.links) - 1}"
        for soft_finger in hand.soft_fingers
    ]


def surface(built: CompiledScene, data: mujoco.MjData, name: str) -> np.ndarray:
    """Return corners of a body that can touch, with bodies that are fixed to it, (n, 3) [m]."""
    model = built.model
    bodies = [name, *(body for body in built.bodies if body.endswith(f"_{name}"))]
    known = {model.body(index).name for index in range(model.nbody)}
    (group,) = [model.body_weldid[model.body(item).id] for item in bodies if item in known][:1] or [
        -1
    ]
    pairs = {int(geom) for geom in (*model.pair_geom1, *model.pair_geom2)}
    geoms = np.flatnonzero(model.body_weldid[model.geom_bodyid] == group).tolist()
    return geom_corner_points(model, data, [geom for geom in geoms if geom in pairs])


# Many grasps


def measured_rows(pairs: Sequence[Pair], directory: Path, workers: int, images: bool) -> list[Row]:
    """Simulate the pairs that the journal of a directory lacks, and return the rows of all."""
    directory.mkdir(parents=True, exist_ok=True)
    journal = directory / JOURNAL
    lines = journal.read_text(encoding="utf-8").splitlines() if journal.exists() else []
    rows = {key_of(row): row for row in map(json.loads, lines)}
    waiting = [(hand, item) for hand, item in pairs if (*hand[::2], item.name) not in rows]
    target = directory / IMAGES
    if images:
        target.mkdir(exist_ok=True)
    work = partial(grasp_row, images=target if images else None)
    with journal.open("a", encoding="utf-8") as file:
        for done, row in enumerate(new_rows(waiting, workers, work), 1):
            rows[key_of(row)] = row
            file.write(json.dumps(row) + "\n")
            file.flush()
            print(f"{done}/{len(waiting)} {row['hand']}, {row['object']}: {row['outcome']}",
                  file=sys.stderr, flush=True)  # fmt: skip
    return [rows[*hand[::2], item.name] for hand, item in pairs]


def key_of(row: Row) -> tuple[str, str, str]:
    """Return hand, its version and object."""
    return row["hand"], row["version"], row["object"]


def new_rows(pairs: Sequence[Pair], workers: int, work: Callable[..., Row]) -> Iterable[Row]:
    """Simulate pairs in processes; one that ends its process becomes a failed row."""
    lost = yield from pool_rows(pairs, workers, work)
    for hand, item in lost:
        if (yield from pool_rows([(hand, item)], 1, work)):
            message = "the process of this grasp has died"
            yield empty_row(hand, item) | {"outcome": FAILED, "message": message}


def pool_rows(
    pairs: Sequence[Pair], workers: int, work: Callable[..., Row]
) -> Generator[Row, None, list[Pair]]:
    """Yield rows of a pool of processes, and return the pairs that it lost."""
    lost = []
    with ProcessPoolExecutor(workers, multiprocessing.get_context("spawn")) as pool:
        futures = {pool.submit(work, *pair): pair for pair in pairs}
        for future in as_completed(futures):
            try:
                yield future.result()
            except BrokenExecutor:
                lost.append(futures[future])
    return lost


# Tables


class Rate(NamedTuple):
    """Held grasps of those whose object fits, and grasps whose object does not."""

    held: int
    fitting: int
    larger: int

    def __str__(self) -> str:
        """Format as ``9/10 (+2)``."""
        apart = f" (+{self.larger})" if self.larger else ""
        return f"{self.held}/{self.fitting}{apart}" if self.fitting or self.larger else "–"


def rate_of(rows: Iterable[Row], group: str = "all") -> Rate:
    """Count the held grasps of a group of objects; hands that were refused do not count."""
    counted = [row for row in rows if row["group"] in GROUPS[group] and row["outcome"] != REFUSED]
    fitting = [row for row in counted if row["fits"]]
    return Rate(sum(row["held"] for row in fitting), len(fitting), len(counted) - len(fitting))


def markdown(hands: Iterable[HandSource], rows: Sequence[Row], command: str) -> str:
    """Format the table of rates with the file and version of each hand."""
    lines = [
        f"Made by `{command}` with softgrasp {library_version()}: held / fitting (+ larger than "
        "the opening).",
        "",
        f"| hand | source | version | opening [mm] | {' | '.join(GROUPS)} |",
        f"|---|---|---|---|{'---|' * len(GROUPS)}",
    ]
    for hand in hands:
        mine = [row for row in rows if row["hand"] == hand.name]
        known = [row["opening_m"] for row in mine if row["opening_m"] is not None]
        opening = f"{1e3 * np.median(known):.0f}" if known else "–"
        rates = " | ".join(str(rate_of(mine, group)) for group in GROUPS)
        if all(row["outcome"] == REFUSED for row in mine):
            rates = " | ".join(["refused"] * len(GROUPS))
        file = Path(hand.file).name
        lines.append(f"| {hand.name} | {file} | {hand.version} | {opening} | {rates} |")
    rates = " | ".join(f"**{rate_of(rows, group)}**" for group in GROUPS)
    return "\n".join([*lines, f"| **all** | | | | {rates} |"]) + "\n"


def write_tables(
    hands: Sequence[HandSource], rows: Sequence[Row], directory: Path, command: str
) -> str:
    """Write the rows as CSV and the rates as Markdown, and return the latter."""
    with (directory / CSV).open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, [*rows[0]], lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
    text = markdown(hands, rows, command)
    (directory / MARKDOWN).write_text(text, encoding="utf-8")
    return text


def write_page(directories: Iterable[Path]) -> None:
    """Write the part of the page that has the table of each directory."""
    tables = [(directory / MARKDOWN).read_text(encoding="utf-8") for directory in directories]
    text = "\n".join([TABLES, *tables, f"Measured on {machine()}.\n"])
    PAGE.write_text(text, encoding="utf-8")
    print(f"wrote {PAGE}")


def command_of(words: argparse.Namespace) -> str:
    """Return the command line without the output directory; directories by their names."""
    options = [("--hands", path.name) for path in words.hands]
    options += [("--objects", path.name) for path in words.objects]
    options += [("--only", words.only)] if words.only else []
    named = [word for option in options for word in option]
    named += [] if words.shipped else ["--no-shipped"]
    return shlex.join(["python", "benchmarks/hands.py", *named])


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure what is missing and print the rates, or write the page."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, help="directory of the rows and tables")
    parser.add_argument("--page", type=Path, nargs="+", metavar="DIR", help="write the page")
    parser.add_argument("--hands", type=Path, action="append", default=[], metavar="PATH",
                        help="file of a hand, or directory with hands in URDF or MJCF")  # fmt: skip
    parser.add_argument("--objects", type=Path, action="append", default=[], metavar="DIR",
                        help="directory of objects, such as that of the YCB set")  # fmt: skip
    parser.add_argument("--only", default="", help="only these hands and objects, by name")
    parser.add_argument("--shipped", action=argparse.BooleanOptionalAction, default=True,
                        help="the hands of the library, too")  # fmt: skip
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--images", action="store_true", help="render the end of every grasp")
    words = parser.parse_args(arguments)
    if words.page:
        write_page(words.page)
        return
    if words.out is None:
        parser.error("expected --out DIR, or --page DIR…")
    hands = find_hands(words.hands, shipped=words.shipped)
    hands, objects = chosen(hands, find_objects(words.objects), words.only)
    if not hands:
        parser.error("--no-shipped: expected --hands with hands, found none")
    pairs = [(hand, item) for hand in hands for item in objects]
    rows = measured_rows(pairs, words.out, words.workers, words.images)
    print(write_tables(hands, rows, words.out, command_of(words)))


if __name__ == "__main__":
    main()
