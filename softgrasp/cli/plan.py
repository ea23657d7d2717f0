"""``softgrasp plan``: try many hand poses around an object, and rank the grasps."""

from __future__ import annotations

import math
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from softgrasp.cli import terminal
from softgrasp.cli.grasp import GraspName
from softgrasp.cli.options import (
    INTERRUPTED,
    NOT_HELD,
    Density,
    Json,
    Mass,
    NoReport,
    NoVideo,
    Out,
    Renderer,
    RendererChoice,
    Units,
)
from softgrasp.cli.terminal import Pace

if TYPE_CHECKING:
    from softgrasp.description.sweep import GraspPlan
    from softgrasp.report.planner import Best
    from softgrasp.sweeps.planner import PlannedGrasps

TEST = "dexgraspbench"
"""What the best have to bear, and what ``perturbation`` ranks by, where nothing else is said."""
SHOWN = 10
"""Rows of the table on standard output."""


class BestEnd(StrEnum):
    """Which end of a column is best."""

    LARGEST = "largest"
    SMALLEST = "smallest"


class Mover(StrEnum):
    """What is moved to make a pose."""

    HAND = "hand"
    OBJECT = "object"


def plan(
    what: Annotated[str, typer.Argument(metavar="HAND|SCENE", help="Hand, or scene.")],
    object_name: Annotated[str | None, typer.Argument(metavar="OBJECT", help="Object.")] = None,
    *,
    candidates: Annotated[int, typer.Option(metavar="N", help="How many poses to try.")] = 200,
    seed: Annotated[int, typer.Option(metavar="S", help="Of the poses.")] = 0,
    rank_by: Annotated[
        str,
        typer.Option(
            metavar="COLUMN", help="A column of sweeps, or perturbation: directions borne."
        ),
    ] = "quality_min_singular",
    best: Annotated[
        BestEnd | None, typer.Option(help="Which end is best, where that is not known.")
    ] = None,
    top: Annotated[int, typer.Option(metavar="N", help="Best grasps to film and report.")] = 3,
    test: Annotated[
        str | None,
        typer.Option(
            metavar="NAME|FILE",
            help="Criterion that the best are put to; else the scene's own, or dexgraspbench.",
        ),
    ] = None,
    cone_deg: Annotated[
        float, typer.Option(metavar="A", help="Directions so far from the scene's own [deg].")
    ] = 180.0,
    roll_deg: Annotated[
        float, typer.Option(metavar="A", help="Roll about the approach, either way [deg].")
    ] = 180.0,
    offset: Annotated[
        float, typer.Option(metavar="M", help="Of the object from the grasp's centre [m].")
    ] = 0.02,
    gap: Annotated[
        float, typer.Option(metavar="M", help="Least distance of hand and object at the start [m].")
    ] = 1e-3,
    moves: Annotated[
        Mover, typer.Option(help="hand: object and gravity stay; object: the hand stays.")
    ] = Mover.HAND,
    preshape: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="Posture to start from, drawn if several; repeatable."),
    ] = None,
    grasp: Annotated[GraspName | None, typer.Option(help="Which of the hand's two grasps.")] = None,
    units: Units = None,
    density: Density = None,
    mass: Mass = None,
    gravity: Annotated[bool | None, typer.Option(help="Weight during the closure.")] = None,
    criterion: Annotated[
        str | None,
        typer.Option(metavar="NAME|FILE", help="What every candidate has to bear."),
    ] = None,
    settings: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="FIELD=VALUE", help="Any field of the scene; repeatable."),
    ] = None,
    workers: Annotated[
        int | None,
        typer.Option(metavar="N", help="Processes; else a core each, fewer for few poses."),
    ] = None,
    resume: Annotated[
        bool, typer.Option("--resume", help="Go on from the rows that the folder has.")
    ] = False,
    renderer: Renderer = RendererChoice.AUTO,
    no_video: NoVideo = False,
    no_report: NoReport = False,
    out: Out = None,
    json_: Json = False,
) -> None:
    """Try hand poses around an object, close the hand in each, rank the grasps and film the best.

    Directions, roll and offset are drawn at random by the seed; columns are explained in
    docs/sweeps.md. An interrupted search goes on with --resume.
    """
    from softgrasp.cli.scene_args import SceneOptions
    from softgrasp.cli.terminal import default_directory
    from softgrasp.sweeps.planner import largest_is_best

    if rank_by == "perturbation" and criterion is None:
        criterion = TEST
    planned_for = _plan_of(
        what,
        object_name,
        SceneOptions(
            units=None if units is None else units.value, density=density, mass=mass,
            grasp=grasp, gravity=gravity, criterion=criterion, settings=tuple(settings or ()),
        ),
        test,
        {
            "candidates": candidates, "seed": seed, "rank_by": rank_by, "top": top,
            "best": None if best is None else best.value, "preshapes": tuple(preshape or ()),
            "poses": {
                "cone": math.radians(cone_deg), "roll": math.radians(roll_deg), "offset": offset,
                "gap": gap, "moves": moves.value,
            },
        },
    )  # fmt: skip
    largest_is_best(planned_for)  # before anything is computed
    name = f"plan_{planned_for.scene.hand.name}_{planned_for.scene.object.name}"
    directory = out or default_directory(name)
    planned = _searched(planned_for, directory, workers, resume)
    _clear(directory)
    reports, files = (
        ([], []) if no_report else _reported(planned, directory, str(renderer), no_video)
    )
    _print_summary(planned, reports, _files(directory, files), json_)


def _plan_of(
    what: str, object_name: str | None, options: Any, test: str | None, fields: dict[str, Any]
) -> GraspPlan:
    from softgrasp.cli.scene_args import scene_of
    from softgrasp.description.sweep import GraspPlan
    from softgrasp.io.scene import load_criterion

    scene = scene_of(what, object_name, options)
    has_criterion = scene.success is not None or scene.lift is not None
    requested = test if test is not None else (None if has_criterion else TEST)
    criterion = None if requested is None else load_criterion(requested)
    return GraspPlan(scene=scene, test=criterion, **fields)


def _searched(plan: GraspPlan, directory: Path, workers: int | None, resume: bool) -> PlannedGrasps:
    from softgrasp.cli.sweep import finished, refuse_started
    from softgrasp.sweeps.planner import plan_grasps

    refuse_started(directory, resume)
    pace = Pace()
    with terminal.progress_bar() as update:
        update("drawing poses", None)

        def progress(done: int, whole: int) -> None:
            update(pace.text(done, whole), done / whole)

        try:
            return plan_grasps(plan, directory, workers=workers, progress=progress)
        except KeyboardInterrupt:
            terminal.note(
                f"interrupted; {finished(directory)} finished grasps are safe in {directory}, --resume "
                "goes on from them"
            )
            raise typer.Exit(INTERRUPTED) from None


def _clear(directory: Path) -> None:
    """Remove page and reports of an earlier ranking of the same grasps."""
    from softgrasp.cli.terminal import clear_earlier_run
    from softgrasp.report.planner import FILES

    for name in FILES:
        (directory / name).unlink(missing_ok=True)
    for old_directory in directory.glob("top-*"):
        if clear_earlier_run(old_directory) and not any(old_directory.iterdir()):
            old_directory.rmdir()


def _reported(
    planned: PlannedGrasps, directory: Path, renderer: str, no_video: bool
) -> tuple[list[Best], list[Path]]:
    from softgrasp.report.planner import write_best, write_planner_report

    with terminal.progress_bar() as update:
        best = write_best(planned, directory, renderer=renderer, video=not no_video,
                          progress=lambda file, done: update(f"writing {file}", done))  # fmt: skip
        update("writing the page", None)
        report = write_planner_report(planned, directory, best, renderer=renderer)
    return best, [report, *(one.directory for one in best)]


def _files(directory: Path, others: list[Path]) -> list[Path]:
    from softgrasp.sweeps.planner import GRASPS, PLAN
    from softgrasp.sweeps.table import CSV

    return [directory / PLAN, directory / GRASPS, directory / CSV, *others]


def _print_summary(
    planned: PlannedGrasps, best: list[Best], files: list[Path], as_json: bool
) -> None:
    """Say what came out, and where it is; exit code 5 where no grasp could be ranked."""
    from softgrasp.report.planner import plan_rows, ranked_rows, summary

    if as_json:
        terminal.put_json(_document(planned, best, files))
    else:
        terminal.put(f"plan      {summary(planned, best)}")
        rows = dict(plan_rows(planned))
        terminal.put(f"ends      {rows['Ends']}; pulled back: {rows['Pulled back']}")
        if planned.ranked:
            terminal.put_table(*ranked_rows(planned, best, SHOWN))
        for index, file in enumerate(files):
            terminal.put(f"{'files' if index == 0 else '':<10}{file}")
    if not planned.ranked:
        terminal.show_message("warning", "no candidate ended with the hand closed on the object")
        raise typer.Exit(NOT_HELD)


def _document(planned: PlannedGrasps, best: list[Best], files: list[Path]) -> dict[str, Any]:
    table = planned.table
    results = {one.row: one.result for one in best}
    top = [
        {
            "rank": rank,
            "row": row,
            "score": float(table["score"].iloc[rank - 1]),
            "trajectory_sha256": str(table["trajectory_sha256"].iloc[rank - 1]),
            "held": None if row not in results else results[row].held,
        }
        for rank, row in enumerate(planned.best_rows, start=1)
    ]
    return {
        "candidates": len(table),
        "ranked": planned.ranked,
        "failed": planned.failed,
        "pulled_back": planned.pulled_back,
        "rank_by": planned.plan.rank_by,
        "seed": planned.plan.seed,
        "status": {str(k): int(v) for k, v in table["status"].value_counts().items()},
        "top": top,
        "files": [str(file) for file in files],
    }
