"""``softgrasp report``: write the report of a result from its files."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from softgrasp.cli import terminal
from softgrasp.cli.options import (
    CameraOption,
    Json,
    NoVideo,
    Renderer,
    VideoSize,
    size_of,
    viewpoint_of,
)


def report(
    directory: Annotated[Path, typer.Argument(metavar="FOLDER", help="Directory of a result.")],
    *,
    renderer: Renderer = "auto",
    no_video: NoVideo = False,
    video_size: VideoSize = None,
    camera: CameraOption = None,
    json_: Json = False,
) -> None:
    """Write figures and report of a result from its files, such as after --no-report.

    For directories of grasp, sweep, plan, crosscheck and calibrate, of fingers and arms. The files
    of the result stay as they are.
    """
    from softgrasp.report.saved import write_report_from

    with terminal.progress_bar() as update:
        update("reading the result", None)
        files = write_report_from(
            directory,
            renderer=renderer,
            video=not no_video,
            video_size=size_of(video_size),
            viewpoint=viewpoint_of(camera),
            progress=lambda file, done: update(f"writing {file}", done),
        )
    if json_:
        terminal.put_json({"files": [str(file) for file in files]})
    else:
        terminal.put_files(files)
