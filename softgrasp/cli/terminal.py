"""Output of the verbs: messages, tables, progress, and output directories.

Results go to standard output, messages and progress to standard error.
"""

from __future__ import annotations

import logging
import os
import re
import sys
import tempfile
import textwrap
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import typer

from softgrasp.errors import ResultError
from softgrasp.io.files import (
    RESULT_FILE,
    TRAJECTORY_FILE,
    json_text,
    other_files,
    remove_written,
    start_run,
    write_text,
)

OUTPUTS = (
    *("*.json", "*.jsonl", "*.npz", "*.csv", "*.parquet", "*.html", "*.png", "*.mp4", "*.lock"),
    *("finger.yaml", "arm.yaml", "camera.yaml", "pressure_fit.yaml", "fit.yaml"),
)
"""Patterns of the files that runs write into their directory."""
MAX_NAMED = 3
"""Largest number of files in a message."""
FILE_COLUMNS = 70
"""Width of a list of files."""
LINE_INTERVAL = 10.0
"""Time between two lines of progress in a file [s]."""
ProgressCallback = Callable[[str, float | None], None]
"""Called with the current task and its finished fraction, 0 to 1, None where unknown."""


def show_message(kind: str, message: str) -> None:
    """Print a message in one line on standard error: ``softgrasp: error: …``."""
    note(f"{kind}: {' '.join(message.split())}")


def note(message: str) -> None:
    """Print a line on standard error: ``softgrasp: …``."""
    typer.echo(f"softgrasp: {message}", err=True)


class _LogLines(logging.Handler):
    """Print log records as lines on standard error."""

    def emit(self, record: logging.LogRecord) -> None:
        note(" ".join(record.getMessage().split()))


_LOG_LINES = _LogLines()


def set_up_logging(*, verbose: bool) -> None:
    """Print softgrasp's log on standard error where ``verbose``, else nothing."""
    logger = logging.getLogger("softgrasp")
    logger.removeHandler(_LOG_LINES)
    logger.setLevel(logging.NOTSET)
    if verbose:
        logger.addHandler(_LOG_LINES)
        logger.setLevel(logging.INFO)


def put(text: str) -> None:
    """Print text on standard output."""
    typer.echo(text)


def put_files(files: Sequence[Path]) -> None:
    """Print the directories of written files and the names in each, grouped by extension.

    Reports come first; images, tables and numbers follow.
    """
    names_by_directory: dict[Path, list[Path]] = {}
    for file in files:
        names_by_directory.setdefault(file.parent, []).append(file)
    lines: list[str] = []
    for directory, inside in names_by_directory.items():
        if len(inside) == 1:
            lines.append(str(inside[0]))
            continue
        lines.append(f"{directory}{os.sep}")
        suffixes: dict[str, list[str]] = {}  # files with equal stems once: ``joints.png/csv``
        for file in sorted(inside, key=lambda file: file.suffix != ".html"):
            suffixes.setdefault(file.stem, []).append(file.suffix)
        named = [stem + "/".join(ends).replace("/.", "/") for stem, ends in suffixes.items()]
        lines += textwrap.wrap(", ".join(named), FILE_COLUMNS, initial_indent="  ",
                               subsequent_indent="  ", break_on_hyphens=False)  # fmt: skip
    for index, line in enumerate(lines):
        put(f"{'files' if index == 0 else '':<10}{line}")


def put_document(document: dict[str, Any], files: Sequence[Path]) -> None:
    """Print a JSON document with the paths of written files."""
    put_json(document | {"files": [str(file) for file in files]})


def put_json(document: Any) -> None:
    """Print the one JSON document on standard output."""
    typer.echo(json_text(document), nl=False)


def save_json(document: Any, file: Path) -> None:
    """Write a JSON document, and report its path on standard error."""
    note(f"wrote {write_text(file, json_text(document))}")


def put_table(heads: list[str], rows: list[list[str]]) -> None:
    """Print a table on standard output; one line per row where that is no terminal."""
    if not sys.stdout.isatty():
        widths = [max(map(len, column)) for column in zip(heads, *rows, strict=True)]
        for row in (heads, *rows):
            cells = (cell.ljust(width) for cell, width in zip(row, widths, strict=True))
            put("  ".join(cells).rstrip())
        return
    from rich.console import Console
    from rich.table import Table

    table = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 2, 0, 0))
    for head in heads:
        table.add_column(head, overflow="fold")
    for row in rows:
        table.add_row(*row)
    Console(highlight=False, markup=False).print(table)


@contextmanager
def progress_bar() -> Iterator[ProgressCallback]:
    """Show progress on standard error while the block runs: a bar on a terminal, else lines."""
    if not sys.stderr.isatty():
        yield ProgressLines().show
        return
    from rich import progress as rich
    from rich.console import Console

    columns = (
        *(rich.TextColumn("{task.description}"), rich.BarColumn(), rich.TimeElapsedColumn()),
        *(rich.TextColumn("left"), rich.TimeRemainingColumn()),
    )
    with rich.Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task("", total=None)

        def update(text: str, done: float | None) -> None:
            total = None if done is None else 1.0
            progress.update(task, description=text, total=total, completed=done or 0.0)

        yield update


class ProgressLines:
    """Progress as lines for a file: at most one in ``LINE_INTERVAL``, none in short runs."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        """Start the first interval of a clock [s]."""
        self._clock, self._last, self._shown = clock, clock(), ""

    def show(self, text: str, done: float | None) -> None:
        """Print a line where the interval is over and the text is another; ``done`` is 0 to 1."""
        line = text if done is None else f"{text} ({100 * done:.0f} %)"
        now = self._clock()
        if now - self._last < LINE_INTERVAL or line == self._shown:
            return
        self._last, self._shown = now, line
        note(line)


# Output directories.


def default_directory(name: str) -> Path:
    """Return ``out/`` and a name, with characters replaced that file names should not have."""
    return Path("out") / (re.sub(r"[^\w.+-]+", "_", name).strip("._") or "grasp")


def output_directory(
    name: str, out: Path | None, *, force: bool = False, resume: bool = False
) -> Path:
    """Choose the output directory of a run and begin the run there.

    It is ``--out``, whose files of an earlier run are replaced, or ``out/`` and a name. It gets a
    number where it has the files of an earlier run that are not to be replaced (``force``), or
    files like those of a run that no run wrote. ``resume`` goes on in the last directory that
    exists.
    """
    first, number, replaces = out or default_directory(name), 1, force or out is not None

    def is_free(directory: Path) -> bool:
        return not _has_files(directory) or (replaces and not other_files(directory, OUTPUTS))

    while not resume and not is_free(_number(first, number)):
        number += 1
    while resume and out is None and _has_files(_number(first, number + 1)):
        number += 1
    directory = _number(first, number)
    if directory != first and not resume:
        others = [path.name for path in other_files(first, OUTPUTS)[:MAX_NAMED]]
        reason, advice = "the files of an earlier run", " (--force replaces them)"
        if others:
            reason, advice = f"files that no run wrote ({', '.join(others)})", ""
        note(f"{first} has {reason}; writing to {directory}{advice}")
    start_run(directory)
    return directory


def _number(directory: Path, number: int) -> Path:
    """Return a directory's name with a number; inside it where one works in it."""
    if number == 1:
        return directory
    if directory.resolve() in (Path.cwd(), *Path.cwd().parents):
        return directory / f"softgrasp_{number}"
    return directory.with_name(f"{directory.name}_{number}")


def _has_files(directory: Path) -> bool:
    return directory.is_dir() and any(directory.iterdir())


def require_writable(directory: Path) -> None:
    """Check before a long run that a directory can be written, leaving no files behind.

    Raises:
        ResultError: It cannot.
    """
    missing = [path for path in (directory, *directory.parents) if not path.exists()]
    try:
        directory.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=directory):
            pass
    except OSError as error:
        raise ResultError(
            f"{directory}: expected a directory that can be written, found: {error.strerror}"
        ) from error
    finally:
        for path in missing:
            if path.is_dir():
                path.rmdir()


def clear_earlier_run(directory: Path) -> bool:
    """Remove the files of an earlier run, so that files of two runs are never mixed.

    Files that no run wrote stay.

    Returns:
        Whether there was an earlier run.
    """
    return remove_written(directory, run_files())


def existing_files(directory: Path) -> list[Path]:
    """Return the files of a run that exist in a directory."""
    return [directory / name for name in run_files() if (directory / name).exists()]


def run_files() -> tuple[str, ...]:
    """Return the names of all files that a run writes, in this order."""
    from softgrasp.rendering.encoding import video_names
    from softgrasp.report import grasp_report as report

    figures = [*(name for name, *_ in report.FIGURES), report.ENSEMBLE]
    numbers = (Path(name).with_suffix(".csv").name for name in figures)
    return (
        RESULT_FILE, TRAJECTORY_FILE, report.ENSEMBLE_RESULT, *figures, report.STRIP, *numbers,
        *video_names(report.VIDEO), report.REPORT,
    )  # fmt: skip
