"""Cost of the inverse kinematics of chains over their forward kinematics, and targets missed.

The targets are end frames of random shapes, each segment bent by up to half a turn in any plane.

    python benchmarks/chain_inverse_speed.py [TARGETS]
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from statistics import mean, median

import numpy as np
from measured import Line, machine, show

import softgrasp as sg

TARGETS, SEED, LENGTH = 200, 1, 0.3


def lines(targets: int = TARGETS) -> Iterator[Line]:
    """All that is measured."""
    for segments in (2, 3):
        yield from inverse(segments, targets)


def inverse(segments: int, targets: int) -> Iterator[Line]:
    """Cost for one number of segments."""
    random, lengths = np.random.default_rng(SEED), np.full(segments, LENGTH)
    forward, backward, reached = [], [], 0
    for _ in range(targets):
        theta = random.uniform(0.0, np.pi, segments)
        plane = random.uniform(-np.pi, np.pi, segments)
        begin = time.perf_counter()
        target = sg.pcc.chain_transform(theta / lengths, plane, lengths)
        middle = time.perf_counter()
        reached += sg.pcc.chain_inverse(target, lengths).reached
        forward.append(middle - begin)
        backward.append(time.perf_counter() - middle)
    what = f"inverse of frames, {segments} segments"
    item = median(forward)
    yield Line(f"{what}: reached", f"{reached} of {targets}")
    yield Line(f"{what}: median [ms]", f"{1e3 * median(backward):.0f}")
    yield Line(f"{what}: median over forward [–]", f"{median(backward) / item:.0f}")
    yield Line(f"{what}: mean over forward [–]", f"{mean(backward) / item:.0f}")


if __name__ == "__main__":
    print(machine())
    show(list(lines(*[int(number) for number in sys.argv[1:2]])))
