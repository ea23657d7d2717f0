"""One grasp from scene to files: simulate, write, tell."""

from __future__ import annotations

import warnings
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from softgrasp.cli import terminal
from softgrasp.cli.output import clear_earlier_run, require_writable, written
from softgrasp.cli.verb import DIVERGED, INTERRUPTED, NOT_HELD
from softgrasp.description.scene import GraspScene
from softgrasp.errors import DescriptionError, SoftgraspWarning

if TYPE_CHECKING:
    from softgrasp.simulation.result import GraspResult


@dataclass(frozen=True, kw_only=True)
class Job:
    """What to make of a scene, and where."""

    directory: Path
    renderer: str = "auto"
    video: bool = True
    report: bool = True
    backend: str = "mujoco"
    require_held: bool = False
    json: bool = False


def run_job(scene: GraspScene, job: Job) -> None:
    """Simulate a scene, write its files and tell what happened.

    The numbers are written first, and every file whole or not at all, so that an interrupt leaves
    only valid files; of a run that was interrupted itself the finished part is kept.

    Raises:
        SoftgraspError: Something is wrong or missing; found out before the run where possible.
        typer.Exit: The run diverged, was not held though it had to be, or was interrupted.
    """
    from softgrasp.formats.progress import listening

    if job.require_held and scene.success is None and scene.lift is None:
        raise DescriptionError(
            "--require-held: expected a scene with a hold test or a lift, found none; add --hold"
        )
    require_writable(job.directory)
    # whether OpenGL works is asked of another process, which takes as long as a small run
    with (
        ThreadPoolExecutor(max_workers=1) as beside,
        terminal.progress_bar() as update,
        listening(update),
    ):
        drawing = beside.submit(_drawn, job)
        if job.renderer == "gl":
            drawing.result()
        result = _simulated(scene, job, update)
        files = _written(result, job, update)
    _print_summary(result, files, _drawn(job), job)
    _leave(result, job)


def _drawn(job: Job) -> str:
    """One line that says who draws; refuses a renderer that is not there."""
    if job.renderer == "none" or not (job.video or job.report):
        return ""
    from softgrasp.rendering.renderer import renderer_note

    return renderer_note(job.renderer)


def _simulated(scene: GraspScene, job: Job, update: terminal.ProgressCallback) -> GraspResult:
    from softgrasp.simulation.interrupt import Interrupted
    from softgrasp.simulation.run import simulate

    limit = None if scene.duration is None else scene.duration + scene.time_besides_closing

    def progress(now: float) -> None:
        update(f"simulating {now:.3f} s", None if limit is None else now / limit)

    try:
        return simulate(scene, job.backend, progress=progress)
    except Interrupted as stop:
        clear_earlier_run(job.directory)
        files = ", ".join(map(str, stop.result.save(job.directory)))
        now = stop.result.simulated_time
        terminal.note(f"interrupted at {now:.3f} s of the run; up to there it is in {files}")
        raise typer.Exit(INTERRUPTED) from None


def _written(result: GraspResult, job: Job, update: terminal.ProgressCallback) -> list[Path]:
    from softgrasp.report.page import write_report

    if clear_earlier_run(job.directory):
        terminal.note(
            f"replacing the earlier run in {job.directory}; another --out DIR would keep both"
        )
    try:
        return write_report(
            result,
            job.directory,
            renderer=job.renderer,
            video=job.video,
            report=job.report,
            progress=lambda file, done: update(f"writing {file}", done),
        )
    except KeyboardInterrupt:
        files = ", ".join(map(str, written(job.directory))) or "nothing"
        terminal.note(f"interrupted while writing; finished and valid: {files}")
        raise typer.Exit(INTERRUPTED) from None


def _print_summary(result: GraspResult, files: list[Path], drawn: str, job: Job) -> None:
    from softgrasp.simulation.record import document

    for sentence in result.warnings:
        warnings.warn(sentence, SoftgraspWarning, stacklevel=2)  # told once, as at loading
    if job.json:
        extra: dict[str, Any] = {"files": [str(file) for file in files]}
        terminal.put_json(document(result) | extra | ({"renderer": drawn} if drawn else {}))
        return
    from softgrasp.cli.summary import summary_lines

    for line in summary_lines(result):
        terminal.put(line)
    if drawn:
        terminal.put(f"pictures  {drawn}")
    terminal.put("files     " + "\n          ".join(map(str, files)))


def _leave(result: GraspResult, job: Job) -> None:
    from softgrasp.simulation.outcome import GraspStatus

    if result.status is GraspStatus.DIVERGED:
        terminal.show_message("error", result.message)
        raise typer.Exit(DIVERGED)
    if job.require_held and not result.held:
        terminal.show_message("error", "--require-held: the object was not held")
        raise typer.Exit(NOT_HELD)
