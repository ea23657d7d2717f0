"""Limit and reached force of force-limited closures: shipped hands and objects, both grasps.

python benchmarks/force_limits.py --write             # docs/data/force_limits.md
python benchmarks/force_limits.py modular allegro_right --force 2
"""

from __future__ import annotations

import argparse
import warnings
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from itertools import groupby
from pathlib import Path
from typing import NamedTuple

import numpy as np

import softgrasp as sg
from softgrasp import assets

GRASPS = ("precision", "power")
TABLE = Path(__file__).parents[1] / "docs" / "data" / "force_limits.md"
HEAD = (
    "| hand | grasp | closed | fingers | largest reached / limit | above 1.05 | "
    "below 0.9: opposed, other | largest force of a run / limit: median, largest |",
    "|---|---|---|---|---|---|---|---|",
)


class Job(NamedTuple):
    """A closure."""

    hand: str
    grasp: str
    object: str
    force: float


class Reached(NamedTuple):
    """What a closure reached."""

    job: Job
    status: str
    ratios: tuple[float, ...]
    """Force over limit of each finger in contact."""
    reasons: tuple[str, ...]
    peak: float
    """Largest force of the run over the limit."""


def reached(job: Job) -> Reached:
    """Close a hand around an object with a force limit."""
    warnings.simplefilter("ignore")
    closure = sg.description.ForceLimitedClosure(force=job.force)
    try:
        scene = sg.GraspScene(
            hand=sg.load_hand(job.hand),
            object=sg.load_object(job.object),
            grasp=job.grasp,
            closure=closure,
        )
        result = sg.simulate(scene)
    except sg.SoftgraspError as error:
        return Reached(job, type(error).__name__, (), (), 0.0)
    return Reached(
        job,
        result.status.name,
        tuple(
            reached_force.force_N / reached_force.limit_N for reached_force in result.reached_forces
        ),
        tuple(reached_force.reason for reached_force in result.reached_forces),
        max((peak.force_N for peak in result.peaks), default=0.0) / job.force,
    )


def row(title: tuple[str, str], results: list[Reached]) -> str:
    """Return the row of some closures."""
    closed = [result for result in results if result.status == "CLOSED"]
    pairs = [pair for item in closed for pair in zip(item.ratios, item.reasons, strict=True)]
    low = [reason for ratio, reason in pairs if ratio < 0.9]
    opposed = sum("oppose" in reason for reason in low)
    peaks = [item.peak for item in closed]
    cells = (
        *title,
        f"{len(closed)}/{len(results)}",
        str(len(pairs)),
        f"{max((ratio for ratio, _ in pairs), default=0.0):.2f}",
        str(sum(ratio > 1.05 for ratio, _ in pairs)),
        f"{opposed}, {len(low) - opposed}",
        f"{np.median(peaks):.1f}, {max(peaks):.1f}" if peaks else "–",
    )
    return "| " + " | ".join(cells) + " |"


def main() -> None:
    """Print the table in Markdown with the fingers above the limit, or write it."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("hands", nargs="*", default=assets.names("hands"))
    parser.add_argument("--force", type=float, default=5.0, help="limit [N]")
    parser.add_argument("--write", action="store_true", help=f"write {TABLE.name}")
    arguments = parser.parse_args()
    jobs = [
        Job(hand, grasp, name, arguments.force)
        for hand in arguments.hands
        if sg.load_hand(hand).fingers
        for grasp in GRASPS
        for name in assets.names("objects")
    ]
    with ProcessPoolExecutor() as pool:
        results = list(pool.map(reached, jobs, chunksize=4))
    lines = [*HEAD]
    for title, group in groupby(results, lambda item: (item.job.hand, item.job.grasp)):
        lines.append(row(title, list(group)))
    lines += [
        row(("all", grasp), [result for result in results if result.job.grasp == grasp])
        for grasp in GRASPS
    ]
    above = [
        f"- `{result.job.hand}`, {result.job.grasp}, {result.job.object}: {ratio:.2f} times: "
        f"{reason}"
        for result in results
        if result.status == "CLOSED"
        for ratio, reason in zip(result.ratios, result.reasons, strict=True)
        if ratio > 1.05
    ]
    text = "\n".join([*lines, "", *above]).rstrip() + "\n"
    print(text)
    print(Counter(result.status for result in results))
    if arguments.write:
        TABLE.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
