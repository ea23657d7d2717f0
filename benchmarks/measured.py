"""What a benchmark says: lines of a table, and on which machine."""

from __future__ import annotations

import os
import platform
import sys
from collections.abc import Iterable
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

import mujoco
import numpy as np

IMPORTED = ("softgrasp", "numpy", "scipy", "matplotlib", "pandas")
"""Packages whose imports are a large part of a start, or of a page."""


class Line(NamedTuple):
    """One line of a table."""

    what: str
    measured: str
    target: str = ""
    """What it should be, where that was said before it was measured."""
    reason: str = ""
    """Why the target is missed, where it is."""


def machine() -> str:
    """Processor, cores, versions, and packages whose imports are slow for want of bytecode."""
    info = Path("/proc/cpuinfo")
    names = [line for line in info.read_text().splitlines() if line.startswith("model name")] if (
        info.exists()
    ) else []  # fmt: skip
    name = names[0].partition(":")[2].strip() if names else platform.processor() or "a processor"
    slow = [package for package in IMPORTED if not has_bytecode(package)]
    return (
        f"{name}, {os.cpu_count()} cores; Python {platform.python_version()}, "
        f"MuJoCo {mujoco.__version__}, numpy {np.__version__}, {sys.platform}"
        + (f"; without bytecode, so slow to import: {', '.join(slow)}" if slow else "")
    )


def has_bytecode(package: str) -> bool:
    """Whether the main module of a package is compiled; true where it is not installed."""
    spec = find_spec(package)
    return spec is None or spec.cached is None or Path(spec.cached).exists()


def show(lines: Iterable[Line]) -> list[Line]:
    """Print lines as they come, and return them all."""
    kept = []
    for line in lines:
        target = f"  (target: {line.target})" if line.target else ""
        target += f"; missed: {line.reason}" if line.reason else ""
        print(f"{line.what:<62} {line.measured}{target}", flush=True)
        kept.append(line)
    return kept
