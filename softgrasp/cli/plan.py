"""``softgrasp plan``: find grasps of an object, simulate and rank them."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer
from typer import Argument, Option

from softgrasp.cli import terminal
from softgrasp.cli.names import require_scene
from softgrasp.cli.options import (
    MESH_HAND,
    NOT_HELD,
    Force,
    Json,
    NoReport,
    NoVideo,
    Out,
    Renderer,
    Resume,
    SceneOptions,
    Workers,
    with_scene_options,
)
from softgrasp.cli.sweep import refuse_finished_rows, run_rows
from softgrasp.errors import DescriptionError
from softgrasp.io.files import remove_written

if TYPE_CHECKING:
    from softgrasp.description.sweep import GraspPlan
    from softgrasp.report.planner import Best
    from softgrasp.sweeps.planner import PlannedGrasps

TEST = "dexgraspbench"
"""Criterion of the best grasps, and of all where ``perturbation`` ranks, if none is named."""
METRICS = "dexgraspbench.csv"
"""Name of the table of DexGraspBench's metrics."""
SHOWN = 10
"""Rows of the table on standard output."""


@with_scene_options(
    "grasp", "units", "density", "mass", "gravity", "criterion", "settings", *MESH_HAND
)
def plan(
    what: Annotated[str, Argument(metavar="HAND|SCENE", help="Hand, or scene.")],
    object_name: Annotated[str | None, Argument(metavar="OBJECT", help="Object.")] = None,
    *,
    candidates: Annotated[int, Option(metavar="N", help="Number of grasps to simulate.")] = 200,
    method: Annotated[
        Literal["synthesis", "poses"] | None,
        Option(
            help="synthesis: poses and postures that minimise an energy; poses: poses at random. "
            "poses for soft hands and with --preshape, else synthesis."
        ),
    ] = None,
    import_: Annotated[
        Path | None,
        Option(
            "--import",
            metavar="FILE",
            help="Simulate the grasps of a file or directory of DexGraspBench (.npy), or of a file "
            "that convert --to writes (.json, .yaml).",
        ),
    ] = None,
    import_scale: Annotated[
        float | None,
        Option(
            metavar="S", help="Take its grasps for this scale of the object; else the object's own."
        ),
    ] = None,
    export: Annotated[
        Path | None, Option(metavar="DIR", help="Write the held grasps as files of DexGraspBench.")
    ] = None,
    obj_path: Annotated[
        str, Option(metavar="DIR", help="Directory of the object that these files state.")
    ] = "",
    obj_scale: Annotated[
        float | None,
        Option(metavar="S", help="Scale that they state; else that of the object's file."),
    ] = None,
    benchmark: Annotated[
        bool,
        Option("--benchmark", help="Also compute the metrics of DexGraspBench: dexgraspbench.csv."),
    ] = False,
    seeds: Annotated[
        int | None,
        Option(
            metavar="N", help="Largest number of start postures of the synthesis; 6 per candidate."
        ),
    ] = None,
    seed: Annotated[int, Option(metavar="S", help="Random seed.")] = 0,
    rank_by: Annotated[
        str,
        Option(
            metavar="COLUMN",
            help="A column of sweeps; perturbation: directions in which the object was held; or "
            "robustness: trials with a displaced object in which it was held.",
        ),
    ] = "quality_min_singular",
    best: Annotated[
        Literal["largest", "smallest"] | None,
        Option(help="Which end of the column is best, where that is not known."),
    ] = None,
    top: Annotated[
        int, Option(metavar="N", help="Number of best grasps with video and report.")
    ] = 3,
    test: Annotated[
        str | None,
        Option(
            metavar="NAME|FILE",
            help="Criterion of the best grasps; else the scene's own, or dexgraspbench.",
        ),
    ] = None,
    cone_deg: Annotated[
        float, Option(metavar="A", help="Largest angle from the scene's direction [deg].")
    ] = 180.0,
    roll_deg: Annotated[
        float, Option(metavar="A", help="Largest roll about the approach, ± [deg].")
    ] = 180.0,
    offset: Annotated[
        float, Option(metavar="M", help="poses: largest offset from the grasp centre [m].")
    ] = 0.02,
    gap: Annotated[
        float, Option(metavar="M", help="Smallest distance of hand and object at the start [m].")
    ] = 1e-3,
    moves: Annotated[
        Literal["hand", "object"],
        Option(help="hand: object and gravity stay; object: the hand stays."),
    ] = "hand",
    preshape: Annotated[
        list[str] | None,
        Option(metavar="NAME", help="Start posture, drawn if several; repeatable."),
    ] = None,
    options: SceneOptions,
    workers: Workers = None,
    executor: Annotated[
        Literal["local", "warp"], Option(help="Processes of this machine, or MuJoCo Warp on a GPU.")
    ] = "local",
    resume: Resume = False,
    renderer: Renderer = "auto",
    no_video: NoVideo = False,
    no_report: NoReport = False,
    out: Out = None,
    force: Force = False,
    json_: Json = False,
) -> None:
    """Find grasps of an object: synthesize postures or draw poses, close the hand, and rank.

    The best get videos and reports. The page "Sweeps" of the documentation explains the columns. An
    interrupted search continues with --resume.
    """
    require_scene(what, object_name)
    from softgrasp.description.sweep import PERTURBATION, ROBUSTNESS
    from softgrasp.report.planner import FILES
    from softgrasp.sweeps.planner import GRASPS, PLAN, largest_is_best, plan_imported
    from softgrasp.sweeps.table import CSV

    if rank_by in (PERTURBATION, ROBUSTNESS) and options.criterion is None:
        options = replace(options, criterion=TEST)
    for name, degrees in (("cone-deg", cone_deg), ("roll-deg", roll_deg)):
        if not 0.0 <= degrees <= 180.0:
            raise DescriptionError(f"--{name}: expected 0 to 180 degrees, found {degrees:g}")
    grasp_plan = _plan_of(
        what, object_name, options, test,
        candidates=candidates, method=method, seeds=seeds, seed=seed,
        rank_by=rank_by, top=top, best=best,
        preshapes=tuple(preshape or ()),
        poses={"cone": math.radians(cone_deg), "roll": math.radians(roll_deg), "offset": offset,
               "gap": gap, "moves": moves},
    )  # fmt: skip
    largest_is_best(grasp_plan)  # before anything is computed
    if import_ is not None:
        grasp_plan = plan_imported(grasp_plan, import_, import_scale)
    name = f"plan_{grasp_plan.scene.hand.name}_{grasp_plan.scene.object.name}"
    directory = terminal.output_directory(name, out, force=force, resume=resume)
    refuse_finished_rows(directory, resume, force=force)
    planned = _search(grasp_plan, directory, workers, executor)
    exported = [] if export is None else planned.save_grasps(export, obj_path, obj_scale)
    metrics = _benchmark(planned, directory) if benchmark else None
    remove_written(directory, (*FILES, "top-*"))  # reports of an earlier ranking
    reports, files = (
        ([], []) if no_report else _write_reports(planned, directory, renderer, no_video)
    )
    tables = [directory / PLAN, directory / GRASPS, directory / CSV]
    files = [*tables, *files, *([] if metrics is None else [directory / METRICS]), *exported]
    _print_summary(planned, reports, files, json_, metrics)


def _plan_of(
    what: str, object_name: str | None, options: SceneOptions, test: str | None, **fields: Any
) -> GraspPlan:
    from softgrasp.cli.scene_args import scene_of
    from softgrasp.description.sweep import GraspPlan
    from softgrasp.io.scene import load_criterion

    scene = scene_of(what, object_name, options)
    if fields["method"] is None:
        only_poses = scene.hand.soft_fingers or fields["preshapes"] or scene.object.elasticity
        fields["method"] = "poses" if only_poses else "synthesis"
    if fields["method"] == "synthesis" and scene.success is None and scene.lift is None:
        scene = scene.replace(success=load_criterion(test or TEST))  # evaluates every grasp
    if test is None and scene.success is None and scene.lift is None:
        test = TEST
    return GraspPlan(scene=scene, test=None if test is None else load_criterion(test), **fields)


def _search(plan: GraspPlan, directory: Path, workers: int | None, executor: str) -> PlannedGrasps:
    from softgrasp.sweeps import planner

    return run_rows(
        lambda progress: planner.plan_grasps(
            plan, directory, workers=workers, progress=progress, executor=executor
        ),
        directory,
        "drawing poses",
    )


def _benchmark(planned: PlannedGrasps, directory: Path) -> dict[str, float]:
    """Compute the metrics of DexGraspBench of all postures, write them, and return the means."""
    from softgrasp.comparison.dexgraspbench import benchmark_grasps, benchmark_means, write_rows

    rows = benchmark_grasps(planned.plan.scene, planned.postures)
    write_rows(rows, directory / METRICS)
    return benchmark_means(rows, planned.postures)


def _write_reports(
    planned: PlannedGrasps, directory: Path, renderer: str, no_video: bool
) -> tuple[list[Best], list[Path]]:
    from softgrasp.report.planner import write_best, write_planner_report

    with terminal.progress_bar() as update:
        best = write_best(planned, directory, renderer=renderer, video=not no_video,
                          progress=lambda file, done: update(f"writing {file}", done))  # fmt: skip
        update("writing the report", None)
        report = write_planner_report(planned, directory, best, renderer=renderer)
    return best, [report, *(candidate.directory for candidate in best)]


def _print_summary(
    planned: PlannedGrasps,
    best: list[Best],
    files: list[Path],
    as_json: bool,
    metrics: dict[str, float] | None = None,
) -> None:
    """Print result and files; exit with 5 where no grasp could be ranked."""
    from softgrasp.comparison.dexgraspbench import benchmark_summary
    from softgrasp.report.planner import plan_rows, rank_rows, summary

    if as_json:
        measured = {} if metrics is None else {"dexgraspbench": metrics}
        terminal.put_json(_document(planned, best, files) | measured)
    else:
        terminal.put(f"plan      {summary(planned, best)}")
        rows = dict(plan_rows(planned))
        terminal.put(f"outcomes  {rows['Outcomes']}; pulled back: {rows['Pulled back']}")
        if metrics is not None:
            terminal.put(f"bench     {benchmark_summary(metrics)}")
        if planned.ranked:
            terminal.put_table(*rank_rows(planned, best, SHOWN))
        terminal.put_files(files)
    if not planned.ranked:
        terminal.show_message("warning", "no candidate ended with the hand closed on the object")
        raise typer.Exit(NOT_HELD)


def _document(planned: PlannedGrasps, best: list[Best], files: list[Path]) -> dict[str, Any]:
    table = planned.table
    results = {candidate.row: candidate.result for candidate in best}
    top = [
        {
            "rank": rank,
            "row": row,
            "score": float(table["score"].iloc[rank - 1]),
            "trajectory_sha256": str(table["trajectory_sha256"].iloc[rank - 1]),
            "held": None if row not in results else results[row].held,
            "outcome": None if row not in results else results[row].outcome.name,
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
        "outcome": {str(k): int(v) for k, v in table["outcome"].value_counts().items()},
        "top": top,
        "files": [str(file) for file in files],
    }
