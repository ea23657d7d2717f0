"""What a benchmark says: lines of a table, and on which machine."""

from __future__ import annotations

import os
import platform
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

import mujoco
import numpy as np


class Line(NamedTuple):
    """One line of a table."""

    what: str
    measured: str
    target: str = ""
    """What it should be, where that was said before it was measured."""
    reason: str = ""
    """Why the target is missed, where it is."""


def machine() -> str:
    """Processor, cores and versions in a sentence."""
    info = Path("/proc/cpuinfo")
    names = [line for line in info.read_text().splitlines() if line.startswith("model name")] if (
        info.exists()
    ) else []  # fmt: skip
    name = names[0].partition(":")[2].strip() if names else platform.processor() or "a processor"
    return (
        f"{name}, {os.cpu_count()} cores; Python {platform.python_version()}, "
        f"MuJoCo {mujoco.__version__}, numpy {np.__version__}, {sys.platform}"
        + (
            ""
            if Path(np.__cached__).exists()
            else "; packages read without bytecode: slow to start"
        )
    )


def show(lines: Iterable[Line]) -> list[Line]:
    """Print lines as they come, and return them all."""
    kept = []
    for line in lines:
        target = f"  (target: {line.target})" if line.target else ""
        target += f"; missed: {line.reason}" if line.reason else ""
        print(f"{line.what:<62} {line.measured}{target}", flush=True)
        kept.append(line)
    return kept
