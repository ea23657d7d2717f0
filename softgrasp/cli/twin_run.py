"""``softgrasp twin run``: the loop of a digital twin, its record and its page in the browser."""

from __future__ import annotations

import asyncio
import secrets
import signal
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from softgrasp.cli import terminal
from softgrasp.cli.options import Json, NoReport, Out, Renderer, RendererChoice

if TYPE_CHECKING:
    from softgrasp.description.twin import Twin
    from softgrasp.twin.commands import CommandBox
    from softgrasp.twin.loop import Shown, TwinLoop
    from softgrasp.twin.record import TwinRecord

LONGEST = 1e7
"""Longest run with an end of its own [s]: four months."""


def run(
    twin: Annotated[
        str, typer.Argument(metavar="[CONFIG.yaml|NAME]", help="The twin; a shipped one by name.")
    ] = "three_fingers",
    duration: Annotated[
        float | None, typer.Option(min=0.02, help="End after so many seconds; else with Ctrl-C.")
    ] = None,
    port: Annotated[
        int, typer.Option(min=0, max=65535, help="Of the page; 0: any that is free.")
    ] = 8080,
    host: Annotated[
        str,
        typer.Option(help="Of the page; others than this machine's own get a token to open it."),
    ] = "127.0.0.1",
    controller: Annotated[
        str, typer.Option(metavar="HOST:PORT", help="Another place of the controller.")
    ] = "",
    no_view: Annotated[bool, typer.Option("--no-view", help="Serve no page.")] = False,
    renderer: Renderer = RendererChoice.AUTO,
    no_report: NoReport = False,
    out: Out = None,
    json: Json = False,
) -> None:
    """Run a digital twin: pressure and flange pose in, shape of the fingers out.

    Asks the controller over Modbus TCP at the rate of the twin, records every turn, and serves a
    page on this machine with the arm, the fingers, curves, events and commands. Start a simulated
    controller in another terminal with `softgrasp twin serve`.
    """
    from softgrasp.cli.terminal import default_directory, require_writable
    from softgrasp.errors import DescriptionError
    from softgrasp.formats.twin_file import load_twin
    from softgrasp.report.twin_report import write_twin_report
    from softgrasp.twin.record import JOURNAL, TABLE, read_twin_record
    from softgrasp.twin.session import run_twin

    described = _at(load_twin(twin), controller)
    directory = out if out is not None else _free(default_directory(f"twin_{described.name}"))
    require_writable(directory)
    if duration is not None and not duration <= LONGEST:
        raise DescriptionError(f"--duration: expected at most {LONGEST:g} s, found {duration:g}")
    cycles = None if duration is None else max(1, round(duration * described.rate))
    close, watching = (None, None) if no_view else _open_page(described, port, host)
    try:
        files = Path(twin).parent if Path(twin).suffix else None
        asyncio.run(_until_stopped(run_twin, described, directory, cycles, watching, files))
    finally:
        if close is not None:
            close()
    record = read_twin_record(directory)
    assert not (directory / JOURNAL).exists()
    written = [directory / TABLE]
    if not no_report:
        written += write_twin_report(record, directory, renderer=renderer.value)
    print_record(record, written, json=json)


def replay(
    directory: Annotated[
        Path, typer.Argument(metavar="RECORD_DIR", help="Folder that holds a record.")
    ],
    at: Annotated[
        float | None, typer.Option(help="Instant of the picture [s]; else the end.")
    ] = None,
    video: Annotated[bool, typer.Option("--film", help="Make a film, too.")] = False,
    renderer: Renderer = RendererChoice.AUTO,
    out: Out = None,
    json: Json = False,
) -> None:
    """Show a record again: the picture of an instant, the figures, the film and the page.

    A record that was cut off, as by a power failure, is read too.
    """
    from softgrasp.cli.terminal import require_writable
    from softgrasp.report.twin_report import write_twin_report
    from softgrasp.twin.record import read_twin_record

    record = read_twin_record(directory)
    target = out if out is not None else directory
    require_writable(target)
    with terminal.progress_bar() as update:
        written = write_twin_report(
            record,
            target,
            at=at,
            renderer=renderer.value,
            video=video,
            progress=lambda done: update("filming", done),
        )
    print_record(record, written, json=json)


def print_record(record: TwinRecord, written: list[Path], *, json: bool) -> None:
    """Say what happened, and which files there are."""
    from softgrasp.report.twin_report import key_numbers, twin_words

    words, keys = twin_words(record), key_numbers(record)
    if json:
        files = [str(path) for path in written]
        terminal.put_json({"words": words, "cycles": len(record.rows), "files": files} | dict(keys))
        return
    terminal.put(words)
    for name, value in keys:
        terminal.put(f"{name}: {value}")
    terminal.put("files     " + "\n          ".join(map(str, written)))


def _at(twin: Twin, address: str) -> Twin:
    """The twin with its controller at another place."""
    from softgrasp.errors import DescriptionError

    if not address:
        return twin
    host, _, port = address.rpartition(":")
    if not host or not (port.isascii() and port.isdigit()):
        raise DescriptionError(
            f"--controller: expected HOST:PORT such as 127.0.0.1:5020, found '{address}'"
        )
    changed = twin.controller.replace(host=host.strip("[]"), port=int(port))
    return twin.replace(controller=changed)


def _free(directory: Path) -> Path:
    """The folder, or the first one with a number behind it that holds no record."""
    from softgrasp.twin.record import TWIN_FILE

    numbered = (directory.with_name(f"{directory.name}_{number}") for number in range(2, 10_000))
    free = (one for one in (directory, *numbered) if not (one / TWIN_FILE).exists())
    return next(free, directory)


def _open_page(
    twin: Twin, port: int, host: str
) -> tuple[Callable[[], None], Callable[[CommandBox, TwinLoop], Shown]]:
    """How the page is closed, and who is shown the rows."""
    from softgrasp.twin.desk import CommandQueue
    from softgrasp.viewer.page import require_viser

    require_viser()
    from softgrasp.view.twin_view import TwinView
    from softgrasp.viewer.page import Page

    page, key = Page(f"twin '{twin.name}'", port, host), secrets.token_hex(4)
    terminal.note(f"{page.words}; the key for its commands is {key}")

    def watching(box: CommandBox, loop: TwinLoop) -> Shown:
        queue = CommandQueue(box, lambda: loop.watchdog.may_command)
        shown.append(TwinView(page, twin, queue, lambda: loop.watchdog.state, key))
        return shown[0]

    shown: list[TwinView] = []

    def close() -> None:
        for view in shown:
            view.close()
        page.close()

    return close, watching


async def _until_stopped(
    run_twin: Callable[..., object],
    twin: Twin,
    directory: Path,
    cycles: int | None,
    watching: object,
    files: Path | None,
) -> None:
    """Run until the time is over, or the first Ctrl-C; the loop then stops safely."""
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stop.set)
    terminal.note(f"recording into {directory}; Ctrl-C ends it")
    await run_twin(  # type: ignore[misc]
        twin, directory, cycles=cycles, stop=stop, watching=watching, files=files
    )
