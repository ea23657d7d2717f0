"""``softgrasp bench``: how fast it is on this machine."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

import typer

from softgrasp.cli import terminal
from softgrasp.cli.options import Json, Out

BENCHMARKS = {"closure": "demo"}
"""Benchmarks, and the scene of each."""


def bench(
    name: Annotated[str, typer.Argument(metavar="NAME", help="Which one: closure.")] = "closure",
    rounds: Annotated[int, typer.Option(min=1, help="How often each way is run.")] = 25,
    out: Out = None,
    json: Json = False,
) -> None:
    """Measure the closed loop against the same physics without a controller.

    Raw is the same compiled model, the same recorded controls and the same number of steps, all
    in one run; plain is the loop in Python, native the one that numba compiles. The closure is
    measured, without the hold test behind it.
    """
    from softgrasp.cli.scene_options import require_known
    from softgrasp.formats.progress import listening
    from softgrasp.formats.scene_file import load_scene
    from softgrasp.simulation.benchmark import closure_speed

    require_known("benchmark", name, list(BENCHMARKS))
    with terminal.progress_bar() as update, listening(update):
        speed = closure_speed(load_scene(BENCHMARKS[name]), rounds)
    document = {"benchmark": name, "scene": BENCHMARKS[name], **asdict(speed)}
    if out is not None:
        terminal.save_json(document, out / "bench.json")
    if json:
        terminal.put_json(document)
        return
    rows = [
        ["raw", f"{speed.raw_steps_s:,.0f}", "1.00"],
        ["plain", f"{speed.plain_steps_s:,.0f}", f"{speed.plain_ratio:.2f}"],
    ]
    if speed.native_steps_s is not None and speed.native_ratio is not None:
        rows.append(["native", f"{speed.native_steps_s:,.0f}", f"{speed.native_ratio:.2f}"])
    terminal.put_table(["loop", "steps/s", "over raw"], rows)
    equal = "equal bit for bit" if speed.bit_equal else "NOT equal"
    terminal.put(
        f"{BENCHMARKS[name]}, closure only: {speed.steps} steps, {speed.events} events, "
        f"{speed.contacts_at_end} contact points at the end, median of {speed.rounds} rounds; "
        f"final joint angles {equal}"
    )
    if speed.native_steps_s is None:
        terminal.put("for the native loop: pip install 'softgrasp[fast]'")
