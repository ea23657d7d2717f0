"""What people see: messages and progress on standard error, results on standard output."""

from __future__ import annotations

import json
import logging
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import typer

from softgrasp.formats.atomic import write_text

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
