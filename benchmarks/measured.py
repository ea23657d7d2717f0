"""What a benchmark says: lines of a table, and on which machine."""

from __future__ import annotations

import hashlib
import os
import platform
import subprocess
import sys
from collections.abc import Iterable
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

import mujoco
import numpy as np

import softgrasp as sg

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


def library_version() -> str:
    """Version of softgrasp with its git commit."""
    ran = _git(Path(sg.__file__).parent, "rev-parse", "--short", "HEAD")
    return f"{sg.__version__}, git {ran}" if ran else sg.__version__


def source_version(file: Path) -> str:
    """Git commit of a file, or a hash."""
    commit = _git(file.parent, "log", "-1", "--format=%h", "--", file.name)
    return (
        f"git {commit}"
        if commit
        else f"sha256 {hashlib.sha256(file.read_bytes()).hexdigest()[:10]}"
    )


def _git(directory: Path, *words: str) -> str:
    """Output of git in a directory; empty where it fails."""
    command = ["git", "-C", str(directory), *words]
    return subprocess.run(command, capture_output=True, text=True, check=False).stdout.strip()


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
