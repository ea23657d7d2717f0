"""What ε and volume cost over a plain hull of the same wrenches; ways take turns, medians.

The plain hull is what scipy's ConvexHull makes of all cone edges, with its own options: facets and
volume, no checks, no friction cones.

    python benchmarks/quality_speed.py [TURNS]
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from statistics import median

import numpy as np
from measured import Line, machine, show
from scipy.spatial import ConvexHull

import softgrasp as sg
from softgrasp.quality.contact_models import cone_edges, friction_cones

TURNS, SEED, MU, EDGES = 15, 0, 0.5, 8
COUNTS = (4, 12)
"""Contacts, anywhere on a unit sphere."""
TARGET = 2e-3
"""Largest time with twelve contacts [s]."""
REASONS = {
    "epsilon": "about 40 points are added to the hull one by one, each by calls of numpy from "
    "Python (0.25 ms)",
    "epsilon and volume": "the volume needs all facets of the hull in six dimensions; a plain hull "
    "of the same edges takes {:.0f} ms",
}
"""Why these are missed, by a profile; {} is the time of a plain hull [ms]."""


def lines(rotations: int = TURNS) -> Iterator[Line]:
    """All that is measured."""
    for count in COUNTS:
        yield from ratios(count, rotations)


def ratios(count: int, rotations: int) -> Iterator[Line]:
    """One number of contacts; another grasp each turn, the same for all ways."""
    random = np.random.default_rng(SEED)
    taken: dict[str, list[float]] = {}
    for rotation in range(rotations + 1):
        points = random.normal(size=(count, 3))
        points /= np.linalg.norm(points, axis=1)[:, None]
        for name, way in ways(points).items():
            begin = time.perf_counter()
            way()
            if rotation:
                taken.setdefault(name, []).append(time.perf_counter() - begin)
    plain = median(taken["plain hull"])
    what = f"{count} contacts, {EDGES} edges"
    yield Line(f"{what}, plain hull [ms]", f"{1e3 * plain:.1f}")
    for name in ("epsilon", "epsilon and volume", "force closure"):
        seconds, has_target = median(taken[name]), count == 12 and name in REASONS
        missed = has_target and seconds >= TARGET
        yield Line(f"{what}, {name}, time over the hull's",
                   f"{seconds / plain:.2f} ({1e3 * seconds:.1f} ms)",
                   f"less than {1e3 * TARGET:g} ms" if has_target else "",
                   REASONS[name].format(1e3 * plain) if missed else "")  # fmt: skip


def ways(points: np.ndarray) -> dict[str, Callable[[], object]]:
    """What is measured on one grasp."""
    wrenches = cone_edges(friction_cones(points, -points, MU), MU, EDGES).reshape(-1, 6)
    return {
        "plain hull": lambda: ConvexHull(wrenches),
        "epsilon": lambda: sg.quality.epsilon(points, -points, MU, edges=EDGES),
        "epsilon and volume": lambda: sg.quality.wrench_space(points, -points, MU, edges=EDGES),
        "force closure": lambda: sg.quality.is_force_closure(points, -points, MU),
    }


if __name__ == "__main__":
    print(machine())
    show(lines(int(sys.argv[1]) if len(sys.argv) > 1 else TURNS))
