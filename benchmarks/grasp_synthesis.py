"""Write docs/data/synthesized.md: success of synthesized grasps by DexGraspBench's protocol.

``python benchmarks/grasp_synthesis.py --dexgraspbench DIR --ycb DIR --out DIR`` synthesizes grasps
of ten objects for three hands, evaluates those that held the object in their trials, and writes
the page. ``--dexgraspbench`` is a clone of DexGraspBench with its submodule, ``--ycb`` the
directory ``ycb_objects`` of pybullet-object-models. Rows of ``--out`` are not measured again.
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from measured import library_version, machine, source_version

import softgrasp as sg
from softgrasp import assets
from softgrasp.comparison.dexgraspbench import MASS, benchmark_grasps, benchmark_means
from softgrasp.description import Compound, Mesh
from softgrasp.io.object import object_file
from softgrasp.sweeps.synthesis import arrange_postures

PAGE = Path(__file__).parents[1] / "docs" / "data" / "synthesized.md"
FRICTION = 0.6
ROWS = "rows.jsonl"
GOLF_BALL = 0.02135
"""Radius of a golf ball [m]."""
BOTTLE = "core_bottle_523cddb320608c09a37f3fc191551700"
Row = dict[str, Any]


class Source(NamedTuple):
    """A hand or an object."""

    name: str
    file: Path | None
    """None for a primitive."""
    scale: float = 1.0

    @property
    def version(self) -> str:
        """File with the directory that it lies in, and its version."""
        if self.file is None:
            return "sphere"
        scale = "" if self.scale == 1.0 else f" × {self.scale:g}"
        shipped = self.file.is_relative_to(assets.directory("objects"))
        name = "/".join(self.file.parts[-2 if shipped else -3 :])
        return f"`{name}`{scale} ({source_version(self.file)})"


def hand_sources(dexgraspbench: Path) -> list[Source]:
    """Return the three hands of DexGraspBench."""
    hand = dexgraspbench / "assets" / "hand"
    names = ("shadow", "allegro", "leap")
    return [Source(name, hand / name / "right_hand.xml") for name in names]


def object_sources(dexgraspbench: Path, ycb: Path) -> list[Source]:
    """Return the ten objects: shipped, of DexGraspBench, and of the YCB set."""
    scans = {
        "banana": "YcbBanana",
        "scissors": "YcbScissors",
        "cracker box": "YcbCrackerBox",
        "mustard bottle": "YcbMustardBottle",
        "tomato soup can": "YcbTomatoSoupCan",
        "power drill": "YcbPowerDrill",
    }
    bottle = dexgraspbench / "assets" / "example_object" / BOTTLE / "urdf" / "coacd.urdf"
    return [
        Source("golf ball", None),
        Source("mug", assets.directory("objects") / "mug.yaml"),
        Source("screwdriver", assets.directory("objects") / "screwdriver.yaml"),
        Source("bottle", bottle, 0.08),
        *(Source(name, object_file(ycb / folder)) for name, folder in scans.items()),
    ]


def load(source: Source) -> sg.GraspObject:
    """Load an object with the mass of the protocol."""
    if source.file is None:
        return sg.GraspObject(name=source.name, shape=sg.Sphere(radius=GOLF_BALL), mass=MASS)
    described = sg.load_object(source.file, mass=MASS)
    if isinstance(described.shape, Mesh | Compound) and source.scale != 1.0:
        return described.replace(shape=described.shape.replace(scale=source.scale))
    return described


def measure(hand: Source, obj: Source, count: int, seeds: int, seed: int) -> Row:
    """Synthesize grasps of an object, and evaluate all of them."""
    contact = sg.Contact(static_friction=FRICTION, dynamic_friction=FRICTION)
    scene = sg.GraspScene(hand=sg.load_hand(str(hand.file)), object=load(obj), contact=contact)
    plan = sg.description.GraspPlan(scene=scene, candidates=count, seeds=seeds, seed=seed)
    begin = time.process_time()
    placed = arrange_postures(plan)
    postures = [item.posture for item in placed if item.trial is not None and item.trial.held]
    synthesis = time.process_time() - begin
    rows = benchmark_grasps(scene, postures)
    evaluation = time.process_time() - begin - synthesis
    return {
        "hand": hand.name,
        "object": obj.name,
        "count": count,
        "seeds": seeds,
        "seed": seed,
        "success": [row.success for row in rows.values()],
        "displacement": [round(row.displacement, 5) for row in rows.values()],
        "rotation": [round(row.rotation, 4) for row in rows.values()],
        "penetration": [round(row.penetration, 6) for row in rows.values()],
        "contacts": float(benchmark_means(rows, postures).get("contacts", 0.0)),
        "synthesis": synthesis,
        "evaluation": evaluation,
    }


def page(rows: Sequence[Row], sources: Iterable[Source], count: int, seeds: int, seed: int) -> str:
    """Return the part of the page docs/benchmarks.md that is measured."""
    hands = list(dict.fromkeys(row["hand"] for row in rows))
    objects = list(dict.fromkeys(row["object"] for row in rows))
    cells = {(row["hand"], row["object"]): row for row in rows}
    lines = [
        "Made by `python benchmarks/grasp_synthesis.py --dexgraspbench DexGraspBench --ycb "
        "pybullet_object_models/ycb_objects --out DIR` with softgrasp "
        f"{library_version()}: at most {count} grasps of at most {seeds} seeds for each hand and "
        f"object, seed {seed}. A cell has the successes of all returned "
        "grasps; in bold, the first one, predicted best, succeeds, too.",
        "",
        "| object | " + " | ".join(hands) + " |",
        "|---|" + "---|" * len(hands),
    ]
    for obj in objects:
        shown = [_cell(cells.get((hand, obj))) for hand in hands]
        lines.append(f"| {obj} | " + " | ".join(shown) + " |")
    groups = [[row for row in rows if row["hand"] == hand] for hand in hands]
    for title, text in _SUMMARY.items():
        lines.append(f"| **{title}** | " + " | ".join(text(group) for group in groups) + " |")
    everything = [f"{title}: {text(rows)}" for title, text in _SUMMARY.items()]
    lines += ["", "All hands: " + "; ".join(everything) + ".", "", "### Files", ""]
    lines += [f"- {source.name}: {source.version}" for source in sources]
    return "\n".join([*lines, "", f"Measured on {machine()}.", ""])


def _cell(row: Row | None) -> str:
    if row is None or not row["success"]:
        return "" if row is None else "none returned"
    text = f"{sum(row['success'])} of {len(row['success'])}"
    return f"**{text}**" if row["success"][0] else text


def _returned(rows: Sequence[Row]) -> str:
    success = [item for row in rows for item in row["success"]]
    return f"{sum(success)} of {len(success)} ({np.mean(success):.0%})"


def _first(rows: Sequence[Row]) -> str:
    first = [bool(row["success"] and row["success"][0]) for row in rows]
    return f"{sum(first)} of {len(first)} ({np.mean(first):.0%})"


def _depth(rows: Sequence[Row]) -> str:
    depth = 1e3 * np.concatenate([row["penetration"] for row in rows])
    return f"{depth.mean():.2f} mm, {depth.max():.2f} mm"


def _cost(rows: Sequence[Row]) -> str:
    held = max(sum(sum(row["success"]) for row in rows), 1)
    synthesis = sum(row["synthesis"] for row in rows)
    return f"{synthesis / held:.2f} CPU-s"


_SUMMARY = {
    "all returned": _returned,
    "best predicted": _first,
    "penetration, mean and largest": _depth,
    "synthesis of a success": _cost,
}


def main() -> None:
    """Measure what is missing, and write the page."""
    warnings.simplefilter("ignore", sg.SoftgraspWarning)
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--dexgraspbench", type=Path, required=True)
    parser.add_argument("--ycb", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--grasps", type=int, default=10)
    parser.add_argument("--seeds", type=int, default=240)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--page", type=Path, default=PAGE, help="file that is written")
    parser.add_argument("--only", nargs="+", help="objects to measure now; all by default")
    words = parser.parse_args()
    words.out.mkdir(parents=True, exist_ok=True)
    journal = words.out / ROWS
    lines = journal.read_text(encoding="utf-8").splitlines() if journal.exists() else []
    rows: list[Row] = [json.loads(line) for line in lines]
    hands = hand_sources(words.dexgraspbench)
    objects = object_sources(words.dexgraspbench, words.ycb)
    done = {(row["hand"], row["object"]) for row in rows}
    for obj in objects:
        for hand in hands:
            if (hand.name, obj.name) in done or obj.name not in (words.only or [obj.name]):
                continue
            row = measure(hand, obj, words.grasps, words.seeds, words.seed)
            print(hand.name, obj.name, _cell(row), f"{row['synthesis']:.1f} CPU-s", flush=True)
            rows.append(row)
            with journal.open("a", encoding="utf-8") as file:
                file.write(json.dumps(row) + "\n")
    text = page(rows, [*hands, *objects], words.grasps, words.seeds, words.seed)
    words.page.write_text(text, encoding="utf-8")
    print(f"wrote {words.page}")


if __name__ == "__main__":
    main()
