"""``softgrasp demo``: run a demonstration, by default a hand that grasps a strawberry."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from softgrasp.cli import terminal
from softgrasp.cli.names import require_known
from softgrasp.cli.options import Force, Json, NoReport, NoVideo, Out, Renderer
from softgrasp.errors import DescriptionError
from softgrasp.extensions import DEMOS as EXTENSION_DEMOS

DEMOS = {"main": "demo", "soft": "demo_soft"}
"""Demonstrations of grasps, and the scene of each."""
HYDRAULIC = "hydraulic"
"""The demonstration that takes torques."""


def demo(
    name: Annotated[
        str, typer.Argument(metavar="NAME", help="Which one: main, soft, hydraulic or twin.")
    ] = "main",
    torques: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="hydraulic: torques in CSV: time_s, torque_1, …"),
    ] = None,
    out: Out = None,
    force: Force = False,
    renderer: Renderer = "auto",
    no_video: NoVideo = False,
    no_report: NoReport = False,
    json: Json = False,
) -> None:
    """Run the default demonstration: a four-fingered hand grasps and holds a strawberry.

    soft: two pneumatic fingers grasp the strawberry on a table and lift it.
    hydraulic: an arm of two sections bends under the water that motors press into its chambers.
    twin: a digital twin follows a pneumatic gripper on a robot over Modbus TCP.
    """
    if name not in DEMOS and name not in EXTENSION_DEMOS:
        require_known("demonstration", name, [*DEMOS, *EXTENSION_DEMOS])
    if torques is not None and name != HYDRAULIC:
        raise DescriptionError(f"--torques: expected the demonstration hydraulic, found {name}")
    outputs: dict[str, Any] = {
        "renderer": renderer, "video": not no_video, "report": not no_report, "json": json,
    }  # fmt: skip
    if name not in DEMOS:
        inputs = [torques] if name == HYDRAULIC else []
        EXTENSION_DEMOS.load(name)(
            terminal.output_directory(f"demo_{name}", out, force=force), *inputs, **outputs
        )
        return
    from softgrasp.cli.grasp import Job, run_job
    from softgrasp.io.scene import load_scene

    directory = terminal.output_directory(DEMOS[name], out, force=force)
    run_job(load_scene(DEMOS[name]), Job(directory=directory, **outputs))
