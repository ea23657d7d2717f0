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
from softgrasp.cli.pace import Pace
from softgrasp.cli.verb import INTERRUPTED, NOT_HELD

if TYPE_CHECKING:
    from softgrasp.description.grasp_plan import GraspPlan
    from softgrasp.report.planner_words import Best
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
    thing: Annotated[str | None, typer.Argument(metavar="OBJECT", help="Object.")] = None,
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
    from softgrasp.cli.output import default_folder
    from softgrasp.cli.scene_options import SceneOptions
    from softgrasp.sweeps.ranking import largest_is_best

    if rank_by == "perturbation" and criterion is None:
        criterion = TEST
    planned_for = _plan_of(
        what,
        thing,
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
    folder = out or default_folder(name)
    found = _searched(planned_for, folder, workers, resume)
    _clear(folder)
    reports, files = ([], []) if no_report else _reported(found, folder, str(renderer), no_video)
    _tell(found, reports, _files(folder, files), json_)


def _plan_of(
    what: str, thing: str | None, options: Any, test: str | None, fields: dict[str, Any]
) -> GraspPlan:
    from softgrasp.cli.scene_options import scene_of
    from softgrasp.description.grasp_plan import GraspPlan
    from softgrasp.formats.criterion_file import load_criterion

    scene = scene_of(what, thing, options)
    own = scene.success is not None or scene.lift is not None
    asked = test if test is not None else (None if own else TEST)
    criterion = None if asked is None else load_criterion(asked)
    return GraspPlan(scene=scene, test=criterion, **fields)


def _searched(plan: GraspPlan, folder: Path, workers: int | None, resume: bool) -> PlannedGrasps:
    from softgrasp.cli.sweep import finished, refuse_started
    from softgrasp.sweeps.planner import plan_grasps

    refuse_started(folder, resume)
    pace = Pace()
    with terminal.progress_bar() as tell:
        tell("drawing poses", None)

        def progress(done: int, whole: int) -> None:
            tell(pace.told(done, whole), done / whole)

        try:
            return plan_grasps(plan, folder, workers=workers, progress=progress)
        except KeyboardInterrupt:
            terminal.note(
                f"interrupted; {finished(folder)} finished grasps are safe in {folder}, --resume "
                "goes on from them"
            )
            raise typer.Exit(INTERRUPTED) from None


def _clear(folder: Path) -> None:
    """Remove page and reports of an earlier ranking of the same grasps."""
    from softgrasp.cli.output import clear_earlier_run
    from softgrasp.report.planner_page import FILES

    for name in FILES:
        (folder / name).unlink(missing_ok=True)
    for own in folder.glob("top-*"):
        if clear_earlier_run(own) and not any(own.iterdir()):
            own.rmdir()


def _reported(
    found: PlannedGrasps, folder: Path, renderer: str, no_video: bool
) -> tuple[list[Best], list[Path]]:
    from softgrasp.report.planner_page import write_best, write_planner_page

    with terminal.progress_bar() as tell:
        best = write_best(found, folder, renderer=renderer, video=not no_video,
                          progress=lambda file, done: tell(f"writing {file}", done))  # fmt: skip
        tell("writing the page", None)
        page = write_planner_page(found, folder, best, renderer=renderer)
    return best, [page, *(one.folder for one in best)]


def _files(folder: Path, others: list[Path]) -> list[Path]:
    from softgrasp.sweeps.planner import GRASPS, PLAN
    from softgrasp.sweeps.table import CSV

    return [folder / PLAN, folder / GRASPS, folder / CSV, *others]


def _tell(found: PlannedGrasps, best: list[Best], files: list[Path], as_json: bool) -> None:
    """Say what came out, and where it is; exit code 5 where no grasp could be ranked."""
    from softgrasp.report.planner_words import facts, ranked_rows, summary

    if as_json:
        terminal.put_json(_document(found, best, files))
    else:
        terminal.put(f"plan      {summary(found, best)}")
        told = dict(facts(found))
        terminal.put(f"ends      {told['Ends']}; pulled back: {told['Pulled back']}")
        if found.ranked:
            terminal.put_table(*ranked_rows(found, best, SHOWN))
        for index, file in enumerate(files):
            terminal.put(f"{'files' if index == 0 else '':<10}{file}")
    if not found.ranked:
        terminal.say("warning", "no candidate ended with the hand closed on the object")
        raise typer.Exit(NOT_HELD)


def _document(found: PlannedGrasps, best: list[Best], files: list[Path]) -> dict[str, Any]:
    table = found.table
    results = {one.row: one.result for one in best}
    top = [
        {
            "rank": rank,
            "row": row,
            "score": float(table["score"].iloc[rank - 1]),
            "trajectory_sha256": str(table["trajectory_sha256"].iloc[rank - 1]),
            "held": None if row not in results else results[row].held,
        }
        for rank, row in enumerate(found.best_rows, start=1)
    ]
    return {
        "candidates": len(table),
        "ranked": found.ranked,
        "failed": found.failed,
        "pulled_back": found.pulled_back,
        "rank_by": found.plan.rank_by,
        "seed": found.plan.seed,
        "status": {str(k): int(v) for k, v in table["status"].value_counts().items()},
        "top": top,
        "files": [str(file) for file in files],
    }
