"""``softgrasp demo``: the main job without any argument."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from softgrasp.cli.options import Json, NoReport, NoVideo, Out, Renderer, RendererChoice

DEMOS = {"main": "demo", "soft": "demo_soft"}
"""Demonstrations, and the scene of each."""


def demo(
    name: Annotated[str, typer.Argument(metavar="NAME", help="Which one: main or soft.")] = "main",
    out: Out = None,
    renderer: Renderer = RendererChoice.AUTO,
    no_video: NoVideo = False,
    no_report: NoReport = False,
    json: Json = False,
) -> None:
    """Show the main job: a four-fingered hand takes a strawberry and holds it.

    soft: two pneumatic fingers take the strawberry from a table and lift it.
    """
    from softgrasp.cli.job import Job, run_job
    from softgrasp.cli.scene_options import require_known
    from softgrasp.formats.scene_file import load_scene

    require_known("demonstration", name, list(DEMOS))
    folder = out or Path("out") / DEMOS[name]
    job = Job(folder=folder, renderer=renderer, video=not no_video, page=not no_report, json=json)
    run_job(load_scene(DEMOS[name]), job)
