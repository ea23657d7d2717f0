"""``softgrasp demo twin``: controller, robot and twin on one machine, over a real wire."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING

from softgrasp.cli import terminal
from softgrasp.cli.terminal import require_writable
from softgrasp.cli.twin_run import print_record

if TYPE_CHECKING:
    from softgrasp.description.twin import Twin
    from softgrasp.twin.commands import Command, CommandBox
    from softgrasp.twin.loop import Shown, TwinLoop
    from softgrasp.twin.row import TwinRow

SECONDS = 8.0


def run_twin_demo(directory: Path, *, renderer: str, video: bool, report: bool, json: bool) -> None:
    """Close, open and vent a simulated gripper for some seconds, and tell what happened.

    Raises:
        SoftgraspError: Something is wrong or missing.
    """
    from softgrasp.formats.twin_file import load_twin
    from softgrasp.report.twin_report import write_twin_report
    from softgrasp.twin.record import TABLE, read_twin_record

    twin = load_twin()
    require_writable(directory)
    _clear_earlier(directory)
    with terminal.progress_bar() as update:
        update(f"running the twin for {SECONDS:g} s", None)
        asyncio.run(_served(twin, directory))
        record, written = read_twin_record(directory), [directory / TABLE]
        if report:
            written += write_twin_report(
                record,
                directory,
                at=3.0,
                renderer=renderer,
                video=video,
                progress=lambda done: update("filming", done),
            )
    print_record(record, written, json=json)


async def _served(twin: Twin, directory: Path) -> None:
    from softgrasp.twin.controller.connect import controller_server
    from softgrasp.twin.session import run_twin

    async with controller_server(twin.controller.map) as server:
        await server.start(port=0)
        host, port = server.address
        twin = twin.replace(controller=twin.controller.replace(host=host, port=port))
        cycles = round(SECONDS * twin.rate)
        await run_twin(twin, directory, cycles=cycles, watching=_hand)


def _hand(box: CommandBox, _loop: TwinLoop) -> Shown:
    """Presses the buttons at their times."""
    waiting = _program()

    def press(row: TwinRow) -> None:
        while waiting and row.time >= waiting[0][0]:
            box.put(waiting.pop(0)[1])

    return press


def _program() -> list[tuple[float, Command]]:
    from softgrasp.twin.commands import VENT, Command

    close = Command(positive_target=100e3, positive_on=True, negative_on=False)
    wide = Command(negative_target=-60e3, negative_on=True, positive_on=False)
    half = Command(positive_target=50e3, positive_on=True, negative_on=False)
    return [(1.0, close), (3.5, wide), (5.0, half), (6.5, VENT)]


def _clear_earlier(directory: Path) -> None:
    """Remove the record of an earlier demonstration; other folders stay as they are."""
    from softgrasp.report.twin_report import IMAGE, PACE, PRESSURE, REPORT, TIPS, VIDEO
    from softgrasp.twin.record import JOURNAL, TABLE, TWIN_FILE

    if (directory / TWIN_FILE).is_file():
        figures = [directory / name for name in (PRESSURE, TIPS, PACE)]
        written = [directory / name for name in (TWIN_FILE, JOURNAL, TABLE, REPORT, IMAGE, VIDEO)]
        for path in [*written, *figures, *(figure.with_suffix(".csv") for figure in figures)]:
            path.unlink(missing_ok=True)
