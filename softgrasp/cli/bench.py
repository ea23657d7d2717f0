"""``softgrasp bench``: speed of the closed loop."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated, Literal

from typer import Argument, Option

from softgrasp.cli import terminal
from softgrasp.cli.options import Json, Out

SCENE = "demo"
"""Scene of the closed loop."""


def bench(
    name: Annotated[
        Literal["closure"], Argument(metavar="NAME", help="Benchmark: closure.")
    ] = "closure",
    *,
    rounds: Annotated[int, Option(min=1, help="Repetitions.")] = 25,
    out: Out = None,
    json: Json = False,
) -> None:
    """Measure the closed loop.

    closure: raw is the same compiled model with the same recorded controls and number of steps, in
    one call; plain is the closed loop. Only the closure is measured, without the hold test.
    """
    from softgrasp.comparison.closure_speed import closure_speed
    from softgrasp.io.files import listening
    from softgrasp.io.scene import load_scene

    with terminal.progress_bar() as update, listening(update):
        speed = closure_speed(load_scene(SCENE), rounds)
    document = {"benchmark": name, "scene": SCENE, **asdict(speed)}
    if out is not None:
        terminal.save_json(document, out / "bench.json")
    if json:
        terminal.put_json(document)
        return
    rows = [
        ["raw", f"{speed.raw_steps_s:,.0f}", "1.00"],
        ["plain", f"{speed.plain_steps_s:,.0f}", f"{speed.plain_ratio:.2f}"],
    ]
    terminal.put_table(["loop", "steps/s", "over raw"], rows)
    equal = "equal bit for bit" if speed.bit_equal else "NOT equal"
    terminal.put(
        f"{SCENE}, closure only: {speed.steps} steps, {speed.events} events, "
        f"{speed.contacts_at_end} contact points at the end, median of {speed.rounds} rounds; "
        f"final joint angles {equal}"
    )
