"""The folder that a run is written into."""

from __future__ import annotations

import re
import tempfile
from pathlib import Path

from softgrasp.errors import ResultError, SoftgraspError
from softgrasp.formats.results import RESULT_FILE, TRAJECTORY_FILE, read_document
from softgrasp.report.page import (
    CONTACTS,
    FILM,
    JOINTS,
    OBJECT,
    PAGE,
    PULLS,
    QUALITY,
    SENSORS,
    STRIP,
    TACTILE,
)

FIGURES = (CONTACTS, JOINTS, OBJECT, QUALITY, SENSORS, TACTILE, PULLS)
NUMBERS = tuple(Path(name).with_suffix(".csv").name for name in FIGURES)
RUN_FILES = (RESULT_FILE, TRAJECTORY_FILE, *FIGURES, STRIP, *NUMBERS, FILM, PAGE)
"""Everything that a run writes, in this order."""


def default_folder(name: str) -> Path:
    """``out/`` and a name, with what no file name should hold taken out."""
    return Path("out") / (re.sub(r"[^\w.+-]+", "_", name).strip("._") or "grasp")


def require_writable(folder: Path) -> None:
    """Make sure, before a long run, that files can be written into a folder; leaves no trace.

    Raises:
        ResultError: They cannot.
    """
    missing = [path for path in (folder, *folder.parents) if not path.exists()]
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        raise ResultError(
            f"{folder}: expected a folder that can be written, found: {error.strerror}"
        ) from error
    finally:
        for path in missing:
            if path.is_dir():
                path.rmdir()


def clear_earlier_run(folder: Path) -> bool:
    """Remove the files of an earlier run, so that no film stands beside another run's numbers.

    Only in a folder whose ``result.json`` is softgrasp's own; other files stay.

    Returns:
        Whether there was an earlier run.
    """
    try:
        read_document(folder / RESULT_FILE)
    except SoftgraspError:
        return False
    for name in RUN_FILES:
        (folder / name).unlink(missing_ok=True)
    return True


def written(folder: Path) -> list[Path]:
    """The files of a run that are there."""
    return [folder / name for name in RUN_FILES if (folder / name).exists()]
