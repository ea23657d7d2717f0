"""A run of a twin from its description: opens everything, runs the loop, closes everything."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from contextlib import AsyncExitStack
from pathlib import Path

from softgrasp.description.twin import Twin
from softgrasp.errors import DescriptionError
from softgrasp.simulation.twin_fingers import TwinFingers
from softgrasp.twin.commands import CommandBox
from softgrasp.twin.controller.backoff import Backoff
from softgrasp.twin.controller.connect import connect_controller
from softgrasp.twin.flange.latest import LatestPose
from softgrasp.twin.flange.open import open_flange
from softgrasp.twin.loop import Shown, TwinLoop
from softgrasp.twin.record import TwinRecorder

Watching = Callable[[CommandBox, TwinLoop], Shown]
"""Makes who is shown the rows, as a page does, of the box for commands and the loop."""


async def run_twin(
    twin: Twin,
    directory: str | Path,
    *,
    cycles: int | None = None,
    stop: asyncio.Event | None = None,
    watching: Watching | None = None,
    files: Path | None = None,
) -> Path:
    """Run a twin and record every turn.

    Args:
        twin: The twin.
        folder: Where the record goes.
        turns: How many; None: until ``stop`` is set.
        stop: Ends it.
        watching: Who is shown the rows and gives commands.
        files: Where a recorded stream of poses lies that is named without a whole path.

    Returns:
        The table of the record.

    Raises:
        BackendUnavailable: pymodbus, pandas or pyarrow is not installed.
        DescriptionError: The environment lacks a token that the twin names.
        ResultError: The folder holds a record already, or cannot be written.
    """
    address = twin.controller
    client = connect_controller(
        address.host,
        address.port,
        address.map,
        token=_token(address.token_variable),
        timeout=address.timeout,
        attempts=1,
        backoff=Backoff(0.25 / twin.rate, 1.0 / twin.rate),  # a turn does not wait for the next
        stale_after=twin.stale_after,
    )
    box = CommandBox()
    async with AsyncExitStack() as opened:
        await opened.enter_async_context(client)
        pose = LatestPose(open_flange(twin.flange, directory=files))
        await opened.enter_async_context(pose)
        recorder = opened.enter_context(TwinRecorder(Path(directory), twin))
        settling = TwinFingers(twin) if twin.dynamics is not None else None
        loop = TwinLoop(twin, client, pose, box=box, settling=settling)
        shown = () if watching is None else (watching(box, loop),)
        loop.keep(recorder.add, *shown)
        await loop.run(cycles, stop)
    return recorder.close()


def _token(variable: str) -> str | None:
    if not variable:
        return None
    token = os.environ.get(variable)
    if not token:
        raise DescriptionError(
            f"expected a token in the environment variable {variable}, found none",
            field="controller.token_variable",
        )
    return token
