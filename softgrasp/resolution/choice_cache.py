"""Grasps that were chosen for objects, kept on disk by the content of what they depend on.

A choice takes seconds of search and trials. It is read where an earlier one had the same trial: an
equal scene, equal files wherever they are, the same code and the same MuJoCo. The files are in
``choices`` of the cache directory (``$SOFTGRASP_CACHE``); they can be deleted at any time.
"""

from __future__ import annotations

import hashlib
import json
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

import mujoco

from softgrasp.description.scene import GraspScene
from softgrasp.errors import ResultError
from softgrasp.io.convex_decomposition import cache_directory
from softgrasp.io.files import write_text
from softgrasp.io.load import input_hashes, list_described_files

PACKAGE = Path(__file__).resolve().parents[1]
CODE = (
    "description", "mechanics", "continuum", "quality", "grasp_synthesis", "io", "model", "sim",
    "evaluation", "resolution",
)  # fmt: skip
"""Parts of the package whose code a choice depends on."""


def read_choice(trial: GraspScene) -> dict[str, Any] | None:
    """Return the kept choice for a trial as plain data; None where there is none."""
    with suppress(OSError, ValueError):
        kept = json.loads(_file(trial).read_text(encoding="utf-8"))
        if isinstance(kept, dict) and kept.keys() >= {"grasp", "preset"}:
            return kept
    return None


def keep_choice(trial: GraspScene, choice: dict[str, Any]) -> None:
    """Keep a choice; without a directory that can be written it is made again next time."""
    with suppress(OSError, ResultError):
        write_text(_file(trial), json.dumps(choice))


def _file(trial: GraspScene) -> Path:
    files = input_hashes(list_described_files(trial))
    text = json.dumps(_without_names(trial.model_dump(mode="json")), sort_keys=True)
    parts = [_code(), mujoco.__version__, text, *files.values()]
    digest = hashlib.sha256("\0".join(parts).encode()).hexdigest()
    return cache_directory() / "choices" / f"{digest[:32]}.json"


def _without_names(value: Any) -> Any:
    """Return plain data without the names and sources that a choice does not depend on."""
    if isinstance(value, dict):
        kept = {name: part for name, part in value.items() if name not in ("file", "source")}
        return {name: _without_names(part) for name, part in kept.items()}
    if isinstance(value, list):
        return [_without_names(part) for part in value]
    return value


@cache
def _code() -> str:
    """Return the digest of the code that a choice depends on."""
    digest = hashlib.sha256()
    for file in sorted(file for part in CODE for file in (PACKAGE / part).rglob("*.py")):
        digest.update(file.read_bytes())
    return digest.hexdigest()
