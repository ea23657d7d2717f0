"""What softgrasp promises about time, measured in one run; exits with 1 where one is missed.

Run it on a machine with nothing else to do: python benchmarks/budgets.py
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from statistics import median

from soft_finger_speed import stepping_share

import softgrasp as sg
from softgrasp.comparison.closure_speed import closure_speed

IMPORT_ROUNDS = 7
IMPORT_SECONDS, DEMO_SECONDS = 0.35, 20.0
PLAIN_SHARE, SOFT_SHARE = 0.75, 0.95


def main() -> int:
    """Measure, print a table, and tell by the exit code whether all budgets are kept."""
    speed = closure_speed(sg.load_scene("demo"))
    rows = [
        ("import softgrasp [s]", import_seconds(), "at most", IMPORT_SECONDS),
        ("closed loop, plain, over raw engine", speed.plain_ratio, "at least", PLAIN_SHARE),
        ("soft finger, over raw engine", stepping_share(), "at least", SOFT_SHARE),
        ("demo with film and report [s]", seconds(["-m", "softgrasp", "demo"]), "at most",
         DEMO_SECONDS),
    ]  # fmt: skip
    kept = [
        value <= limit if word == "at most" else value >= limit for _, value, word, limit in rows
    ]
    for (what, value, word, limit), good in zip(rows, kept, strict=True):
        print(f"{'kept  ' if good else 'MISSED'}  {what:<40} {value:8.3f}   {word} {limit:g}")
    return 0 if all(kept) else 1


def import_seconds() -> float:
    """Median time that ``import softgrasp`` adds to starting Python, warm [s]."""
    pairs = [
        (seconds(["-c", "import softgrasp"]), seconds(["-c", ""])) for _ in range(IMPORT_ROUNDS)
    ]
    return median(loaded - bare for loaded, bare in pairs)


def seconds(arguments: Sequence[str]) -> float:
    """Wall time of a Python process in a folder of its own [s]."""
    with tempfile.TemporaryDirectory() as directory:
        begin = time.perf_counter()
        subprocess.run([sys.executable, *arguments], cwd=directory, check=True, capture_output=True)
        return time.perf_counter() - begin


if __name__ == "__main__":
    sys.exit(main())
