"""The folder that a run is written into."""

from __future__ import annotations

import re
import tempfile
from pathlib import Path

from softgrasp.errors import ResultError, SoftgraspError
from softgrasp.formats.results import RESULT_FILE, TRAJECTORY_FILE, read_document
from softgrasp.report.page import (
    CONTACTS,
    JOINTS,
    OBJECT,
    PULLS,
    QUALITY,
    REPORT,
    SENSORS,
    STRIP,
    TACTILE,
    VIDEO,
)

FIGURES = (CONTACTS, JOINTS, OBJECT, QUALITY, SENSORS, TACTILE, PULLS)
NUMBERS = tuple(Path(name).with_suffix(".csv").name for name in FIGURES)
RUN_FILES = (RESULT_FILE, TRAJECTORY_FILE, *FIGURES, STRIP, *NUMBERS, VIDEO, REPORT)
"""Everything that a run writes, in this order."""


def default_directory(name: str) -> Path:
    """``out/`` and a name, with what no file name should hold taken out."""
    return Path("out") / (re.sub(r"[^\w.+-]+", "_", name).strip("._") or "grasp")


def require_writable(directory: Path) -> None:
    """Make sure, before a long run, that files can be written into a folder; leaves no trace.

    Raises:
        ResultError: They cannot.
    """
    missing = [path for path in (directory, *directory.parents) if not path.exists()]
    try:
        directory.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=directory):
            pass
    except OSError as error:
        raise ResultError(
            f"{directory}: expected a folder that can be written, found: {error.strerror}"
        ) from error
    finally:
        for path in missing:
            if path.is_dir():
                path.rmdir()


def clear_earlier_run(directory: Path) -> bool:
    """Remove the files of an earlier run, so that no film stands beside another run's numbers.

    Only in a folder whose ``result.json`` is softgrasp's own; other files stay.

    Returns:
        Whether there was an earlier run.
    """
    try:
        read_document(directory / RESULT_FILE)
    except SoftgraspError:
        return False
    for name in RUN_FILES:
        (directory / name).unlink(missing_ok=True)
    return True


def written(directory: Path) -> list[Path]:
    """The files of a run that are there."""
    return [directory / name for name in RUN_FILES if (directory / name).exists()]
