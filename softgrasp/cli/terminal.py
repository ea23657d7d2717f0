"""What people see: messages and progress on standard error, results on standard output."""

from __future__ import annotations

import json
import logging
import re
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import typer

from softgrasp.errors import ResultError, SoftgraspError
from softgrasp.io.files import write_text
from softgrasp.io.result import RESULT_FILE, TRAJECTORY_FILE, read_document
from softgrasp.model.object import object_mass
from softgrasp.report import grasp_text
from softgrasp.report.grasp_page import (
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
from softgrasp.report.grasp_text import hold_clause, sensor_clause
from softgrasp.sim.result import GraspResult

ProgressCallback = Callable[[str, float | None], None]
"""Called with what is going on and the part of it that is done, 0 to 1, None where unknown."""


def show_message(kind: str, message: str) -> None:
    """One line on standard error: ``softgrasp: error: …``."""
    note(f"{kind}: {' '.join(message.split())}")


def note(message: str) -> None:
    """One line on standard error: ``softgrasp: …``."""
    typer.echo(f"softgrasp: {message}", err=True)


class _Teller(logging.Handler):
    """Log messages as lines on standard error."""

    def emit(self, record: logging.LogRecord) -> None:
        note(" ".join(record.getMessage().split()))


_TELLER = _Teller()


def set_up_logging(*, verbose: bool) -> None:
    """Show what softgrasp logs, as sentences on standard error, or no longer."""
    logger = logging.getLogger("softgrasp")
    logger.removeHandler(_TELLER)
    logger.setLevel(logging.NOTSET)
    if verbose:
        logger.addHandler(_TELLER)
        logger.setLevel(logging.INFO)


def put(text: str) -> None:
    """Text on standard output."""
    typer.echo(text)


def put_json(document: Any) -> None:
    """The one JSON document on standard output."""
    typer.echo(_json_text(document))


def save_json(document: Any, file: Path) -> None:
    """The same document as a file, and where it is on standard error."""
    note(f"wrote {write_text(file, _json_text(document))}")


def _json_text(document: Any) -> str:
    return json.dumps(document, indent=2, ensure_ascii=False, allow_nan=False)


def put_table(heads: list[str], rows: list[list[str]]) -> None:
    """A table on standard output; one line a row where that is no terminal."""
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
    """A bar on standard error while the block runs; nothing where that is no terminal."""
    if not sys.stderr.isatty():
        yield _nothing
        return
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        Progress,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TimeElapsedColumn(),
        TextColumn("left"),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task("", total=None)

        def update(text: str, done: float | None) -> None:
            total = None if done is None else 1.0
            progress.update(task, description=text, total=total, completed=done or 0.0)

        yield update


def _nothing(text: str, done: float | None) -> None:
    """Tell nobody."""


# --------------------
# How fast rows are finished, and how long the others will take.


class Pace:
    """Tells progress with rate and time left; rows that were there before do not count."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        """Start when the first progress is told.

        Args:
            clock: Gives the time [s].
        """
        self._clock = clock
        self._begin: tuple[int, float] | None = None

    def text(self, done: int, whole: int) -> str:
        """Progress in words.

        Args:
            done: Finished grasps.
            whole: All grasps.
        """
        now = self._clock()
        if self._begin is None:
            self._begin = (done, now)
        first, began = self._begin
        text = f"{done} of {whole} grasps"
        if done == first or now <= began:
            return text
        rate = (done - first) / (now - began)
        return f"{text}, {rate:.3g}/s, {duration((whole - done) / rate)} left"


def duration(seconds: float) -> str:
    """A time in words: ``45 s``, ``12 min``, ``3 h 5 min``."""
    if seconds < 100:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 100 else f"{minutes // 60} h {minutes % 60} min"


# --------------------
# The folder that a run is written into.


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


# --------------------
# A finished run in a few lines, all computed from its numbers.


def summary_lines(result: GraspResult) -> list[str]:
    """Grasp, contacts, forces, object and hold test, what is beside and around, cost of a run."""
    scene, model = result.scene, result.contact_model
    grams = 1e3 * object_mass(scene.object)
    stiffness = model.measured_stiffness_N_m.values()
    measured = f", measured {min(stiffness):.4g} … {max(stiffness):.4g}" if stiffness else ""
    who = f"{scene.hand.name} closes on {scene.object.name} ({scene.grasp} grasp, {grams:.3g} g)"
    run = f"{result.simulated_time:.3f} s simulated in {result.wall_time:.2f} s"
    contact = f"contact stiffness asked {model.asked.stiffness:.4g} N/m{measured}"
    if not model.asked.converted or scene.object.elasticity is not None:
        contact = "contact stiffness not asked for" + (f"{measured} N/m" if measured else "")
    felt = [f"sensors   {sensor_clause(result)}"] if result.sensors else []
    others = grasp_text.others_clause(result)
    support = grasp_text.support_clause(result)
    further = [f"beside    {others.removeprefix('Beside it, ')}"] if others else []
    further += [f"support   {support.removeprefix('At the end ')} at the end"] if support else []
    return [
        f"grasp     {who}: {result.message}",
        f"contacts  {grasp_text.contact_clause(result)}",
        f"forces    {grasp_text.force_clause(result)}",
        f"object    {grasp_text.motion_clause(result)}. {hold_clause(result)}",
        *further,
        *felt,
        f"cost      {run}; time step {1e3 * model.timestep_s:g} ms; {contact}",
    ]
