"""``softgrasp bench hands``: which objects the hands of the library and of directories hold."""

from __future__ import annotations

import os
import shlex
from dataclasses import dataclass
from pathlib import Path

import typer

from softgrasp.cli import terminal
from softgrasp.cli.options import INTERRUPTED
from softgrasp.cli.sweep import refuse_finished_rows
from softgrasp.errors import DescriptionError, did_you_mean
from softgrasp.io.files import remove_written
from softgrasp.report.hand_benchmark import GROUPS, rate_of, write_hand_report
from softgrasp.sweeps.hand_benchmark import (
    SETTINGS,
    HandSource,
    ObjectSource,
    Row,
    find_hands,
    find_objects,
    run_hand_benchmark,
)

NAME = "hand_benchmark"
"""Directory in ``out/``."""


@dataclass(frozen=True, kw_only=True)
class HandBenchmark:
    """Options of the benchmark of hands."""

    hands: tuple[Path, ...] = ()
    objects: tuple[Path, ...] = ()
    only: str | None = None
    shipped: bool = True
    workers: int | None = None
    resume: bool = False
    force: bool = False
    report: bool = True
    out: Path | None = None
    json: bool = False

    @property
    def command(self) -> str:
        """Return the command line without the output directory; directories by their names."""
        words = ["softgrasp", "bench", "hands"]
        for option, paths in (("--hands", self.hands), ("--objects", self.objects)):
            words += [word for path in paths for word in (option, path.name)]
        words += ["--only", self.only] if self.only else []
        return shlex.join([*words, *([] if self.shipped else ["--no-shipped"])])


def benchmark_hands(job: HandBenchmark) -> None:
    """Run the benchmark, write its files and print the rates.

    Raises:
        DescriptionError: A path has no hand or object, or a name does not exist.
        ResultError: The directory has rows and neither ``resume`` nor ``force`` is given.
    """
    hands, objects = _selected(job)
    directory = terminal.output_directory(NAME, job.out, force=job.force, resume=job.resume)
    terminal.require_writable(directory)
    if job.force:
        remove_written(directory, (SETTINGS,))
    refuse_finished_rows(directory, job.resume, force=job.force)
    workers = job.workers or os.cpu_count() or 1
    pace = terminal.Pace()
    try:
        with terminal.progress_bar() as update:
            rows = run_hand_benchmark(
                hands,
                objects,
                directory,
                workers=workers,
                images=job.report,
                progress=lambda done, total: update(pace.text(done, total), done / total),
            )
    except KeyboardInterrupt:
        terminal.note(f"interrupted; --resume --out {directory} goes on from the finished rows")
        raise typer.Exit(INTERRUPTED) from None
    files = write_hand_report(hands, rows, directory, job.command) if job.report else []
    _print_summary(hands, rows, files, job)


def _selected(job: HandBenchmark) -> tuple[list[HandSource], list[ObjectSource]]:
    """Return the hands and objects, of ``--only`` where it names some."""
    hands = find_hands(job.hands, shipped=job.shipped)
    objects = find_objects(job.objects)
    if not hands:
        raise DescriptionError("--no-shipped: expected --hands with hands, found none")
    if job.only is None:
        return hands, objects
    words = [word.strip() for word in job.only.split(",")]
    known = [hand.name for hand in hands] + [one.name for one in objects]
    for word in words:
        if word not in known:
            raise DescriptionError(f"--only: no '{word}'; {did_you_mean(word, known)}")
    some_hands = [hand for hand in hands if hand.name in words]
    some_objects = [one for one in objects if one.name in words]
    return some_hands or hands, some_objects or objects


def _print_summary(
    hands: list[HandSource], rows: list[Row], files: list[Path], job: HandBenchmark
) -> None:
    rates = {group: rate_of(rows, group) for group in GROUPS}
    if job.json:
        terminal.put_json(
            {
                "benchmark": "hands",
                "rates": {group: rate._asdict() for group, rate in rates.items()},
                "hands": [hand._asdict() for hand in hands],
                "rows": rows,
                "files": [str(file) for file in files],
            }
        )
        return
    table = []
    for hand in hands:
        hand_rows = [row for row in rows if row["hand"] == hand.name]
        table.append(
            [hand.name, hand.version, *(str(rate_of(hand_rows, group)) for group in GROUPS)]
        )
    table.append(["all", "", *(str(rate) for rate in rates.values())])
    terminal.put_table(["hand", "version", *GROUPS], table)
    terminal.put("held / objects that fit (+ those larger than the opening of the hand)")
    terminal.put_files(files)
