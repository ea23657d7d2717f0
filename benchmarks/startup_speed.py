"""CPU time of starts, as `softgrasp bench startup` measures it; exits with 1 over a budget."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from statistics import median

from measured import Line

from softgrasp.cli import main
from softgrasp.cli.bench import ROUNDS, STARTS, cpu_seconds


def lines() -> Iterator[Line]:
    """A line for each start: the median of several processes."""
    with tempfile.TemporaryDirectory() as directory:
        for start in STARTS:
            times = [cpu_seconds(start, Path(directory)) for _ in range(ROUNDS["startup"] + 1)]
            budget = "" if start.budget is None else f"at most {start.budget:g}"
            yield Line(f"{start.name} [CPU s]", f"{median(times[1:]):.2f}", budget)


if __name__ == "__main__":
    sys.exit(main(["bench", "startup"]))
