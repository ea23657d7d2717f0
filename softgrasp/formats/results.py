"""Result folders on disk: ``result.json`` and ``trajectory.npz``, written whole, never pickled."""

from __future__ import annotations

import json
import zipfile
import zlib
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from softgrasp.errors import ResultError, reason
from softgrasp.formats.atomic import atomic_path, write_text

RESULT_FILE, TRAJECTORY_FILE = "result.json", "trajectory.npz"
MAX_NAMED = 8
"""Other results that a sentence names."""


def write_result(
    directory: Path, document: dict[str, Any], arrays: dict[str, NDArray[Any]]
) -> list[Path]:
    """Write a result's document and arrays; the same content gives the same bytes.

    Raises:
        ResultError: The folder cannot be written, or a number is not finite.
    """
    try:
        text = json.dumps(document, indent=2, ensure_ascii=False, allow_nan=False)
    except ValueError as error:
        raise ResultError(f"{directory}: expected finite numbers only, found: {error}") from error
    trajectory = directory / TRAJECTORY_FILE
    with atomic_path(trajectory) as temporary, temporary.open("wb") as stream:
        np.savez_compressed(stream, allow_pickle=False, **arrays)
    return [write_text(directory / RESULT_FILE, text + "\n"), trajectory]


def read_result(directory: Path) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """Read what ``write_result`` has written.

    Args:
        directory: The result's folder, or its ``result.json``.

    Raises:
        ResultError: A file is missing or is not what it should be.
    """
    directory = directory.parent if directory.name == RESULT_FILE else directory
    return read_document(directory / RESULT_FILE), _read_arrays(directory / TRAJECTORY_FILE)


def read_document(path: Path) -> dict[str, Any]:
    """Read a ``result.json``.

    Raises:
        ResultError: It is missing or is not what it should be.
    """
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ResultError(
            f"{path}: expected a result, found: {reason(error)}{_results_beside(path.parent)}"
        ) from error
    except ValueError as error:
        raise ResultError(f"{path}: expected JSON, found: {error}") from error
    if not isinstance(document, dict) or "schema_version" not in document:
        raise ResultError(f"{path}: expected a result with a schema_version, found none")
    return document


def _read_arrays(path: Path) -> dict[str, NDArray[Any]]:
    try:
        # opened here: numpy leaves a file open that it cannot read
        with path.open("rb") as stream, np.load(stream, allow_pickle=False) as stored:
            return {name: stored[name] for name in stored.files}
    except OSError as error:
        raise ResultError(f"{path}: expected a trajectory, found: {error.strerror}") from error
    except (ValueError, EOFError, zipfile.BadZipFile, zlib.error) as error:
        raise ResultError(
            f"{path}: expected arrays without pickles, found: {error} ({path.stat().st_size} "
            "bytes); the file is cut off or damaged: copy it again, or simulate the scene anew"
        ) from error


def _results_beside(directory: Path) -> str:
    """What else there is to read, where a folder has no result: those right inside it."""
    known = sorted(path.parent.name for path in directory.glob(f"*/{RESULT_FILE}"))
    if known:
        return f"; results inside: {', '.join(known[:MAX_NAMED])}"
    return "; softgrasp grasp writes one"
