"""``softgrasp sweep``: many grasps from one sweep plan."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeVar

import typer
from typer import Argument, Option

from softgrasp import assets
from softgrasp.assets import MESH_SUFFIXES, YAML_SUFFIXES
from softgrasp.cli import terminal
from softgrasp.cli.names import plain_value, require_scene
from softgrasp.cli.options import (
    INTERRUPTED,
    MESH_HAND,
    NOT_HELD,
    Force,
    Json,
    NoReport,
    Out,
    Resume,
    SceneOptions,
    Workers,
    with_scene_options,
)
from softgrasp.errors import DescriptionError, ResultError
from softgrasp.io.files import listening, remove_written

if TYPE_CHECKING:
    import pandas as pd

    from softgrasp.description.sweep import SweepPlan
    from softgrasp.sweeps.executors import Submit
    from softgrasp.sweeps.run import Finish

R = TypeVar("R")
MAX_ERRATIC, MAX_WARNINGS = 5, 6
"""Maximum numbers of erratic rows and of warnings in the printed summary."""


@with_scene_options("units", "mass", "grasp", "gravity", "hold", "lift", "settings", *MESH_HAND)
def sweep(
    what: Annotated[
        str | None, Argument(metavar="HAND|SCENE|PLAN", help="Hand, scene, or plan in YAML.")
    ] = None,
    object_name: Annotated[str | None, Argument(metavar="OBJECT", help="Object.")] = None,
    *,
    density: Annotated[
        str | None, Option(metavar="R1,R2,…", help="Densities of the object [kg/m³].")
    ] = None,
    vary: Annotated[
        list[str] | None,
        Option(
            metavar="FIELD=VALUES",
            help="Field with V1,V2,… or LOW:HIGH:STEPS (LOW:HIGH with --sample); repeatable.",
        ),
    ] = None,
    sample: Annotated[
        Literal["latin", "sobol"] | None,
        Option(help="Draw samples between the ends; else the full grid."),
    ] = None,
    samples: Annotated[int | None, Option(metavar="N", help="Number of samples.")] = None,
    repeats: Annotated[int, Option(metavar="N", help="Number of grasps per combination.")] = 1,
    noise: Annotated[
        float,
        Option(
            metavar="M", help="Standard deviation of the object's start position, per axis [m]."
        ),
    ] = 0.0,
    noise_deg: Annotated[
        float,
        Option(metavar="A", help="Standard deviation of its orientation about each axis [deg]."),
    ] = 0.0,
    seed: Annotated[int, Option(metavar="S", help="Seed of samples and noise.")] = 0,
    quality: Annotated[bool, Option(help="A column with ε of the final contacts.")] = False,
    options: SceneOptions,
    workers: Workers = None,
    executor: Annotated[
        Literal["local", "dask", "warp"],
        Option(help="Processes of this machine, dask workers, or MuJoCo Warp on a GPU."),
    ] = "local",
    scheduler: Annotated[
        str | None, Option(metavar="ADDRESS", help="Scheduler of dask, such as tcp://host:8786.")
    ] = None,
    resume: Resume = False,
    shard: Annotated[
        str | None, Option(metavar="I/N", help="Only part I of N, for array jobs.")
    ] = None,
    merge: Annotated[
        bool, Option("--merge", help="Only merge the parts in --out into one table.")
    ] = False,
    video_rows: Annotated[
        list[int] | None,
        Option("--video", metavar="ROW", help="Only make video and report of a row in --out."),
    ] = None,
    strict: Annotated[
        bool, Option("--strict", help="Check all rows first; stop where one is wrong.")
    ] = False,
    dataset: Annotated[
        Literal["grasps", "lerobot", "minari"] | None,
        Option(
            help="Write data for learning: grasps (.json) in the object's frame, or episodes for "
            "LeRobot or Minari."
        ),
    ] = None,
    trajectories: Annotated[
        bool, Option("--trajectories", help="Write whole trajectories, compressed.")
    ] = False,
    no_report: NoReport = False,
    out: Out = None,
    force: Force = False,
    json_: Json = False,
) -> None:
    """Simulate many grasps that differ in some fields; write a table and a report.

    The page "Sweeps" of the documentation explains the columns. An interrupted sweep continues with
    --resume.
    """
    stored = None
    if what is not None:
        stored = None if object_name else _directory_to_resume(what, shard, resume=resume)
        if stored is None:
            require_scene(what, object_name)
        elif out is not None and out.resolve() != stored.resolve():
            raise DescriptionError(f"--out: expected {stored}, or none, with {what}, found {out}")
    from softgrasp.description.sweep import PoseNoise
    from softgrasp.io.input_limits import record_inputs
    from softgrasp.sweeps import run
    from softgrasp.sweeps.storage import plan_in

    if video_rows:
        _make_videos(_directory_of("--video", "the sweep", out), video_rows, json_)
        return
    if merge:
        directory = _directory_of("--merge", "the shards", out)
        table = run.merge(directory, dataset)
        plan = plan_in(directory)
        if not no_report:
            with terminal.progress_bar() as update:
                update("writing the report", None)
                _report_of(plan, directory).work(table, partial)
        _print_summary(plan, table, directory, json_, report=not no_report)
        return
    if what is None:
        raise DescriptionError("expected HAND OBJECT, a SCENE or a PLAN, found nothing")
    part = None if shard is None else run.Shard.parse(shard)
    part_directory = part.directory if part else ""
    with record_inputs() as files:
        plan = plan_of(
            what, object_name, options, density, vary or [], stored and stored / part_directory,
            method=sample or "grid", samples=samples, repeats=repeats, seed=seed, quality=quality,
            noise=PoseNoise(position=noise, rotation=math.radians(noise_deg)),
        )  # fmt: skip
    if strict:
        check_rows(plan)
    out, name = stored or out, f"sweep_{plan.scene.hand.name}_{plan.scene.object.name}"
    directory = terminal.output_directory(
        name, out, force=force, resume=resume or shard is not None
    )
    journal = directory / part_directory
    refuse_finished_rows(journal, resume, force=force)
    table = run_rows(
        lambda progress: run.sweep(
            plan, directory, workers=workers, executor=executor, scheduler=scheduler, shard=part,
            trajectories=trajectories, dataset=dataset, progress=progress,
            files=() if stored else files,  # its plan is no file that was written by hand
            finish=None if no_report or part else _report_of(plan, directory),
        ),
        journal,
    )  # fmt: skip
    _print_summary(plan, table, directory, json_, report=not no_report and part is None)


def _report_of(plan: SweepPlan, directory: Path) -> Finish:
    """Return the function that writes the report of a sweep."""
    from softgrasp.report import sweep as report
    from softgrasp.sweeps.run import Finish

    def write(table: pd.DataFrame, submit: Submit) -> None:
        report.write_sweep_report(plan, table, directory, submit=submit)

    return Finish(write, report.MODULES)


def _directory_to_resume(what: str, shard: str | None, *, resume: bool) -> Path | None:
    """Return the directory of the sweep that an argument names, also by its ``plan.json``.

    Returns:
        None where the argument names something else, such as a scene.

    Raises:
        ResultError: It is no directory of a sweep, or stands without ``--resume``.
    """
    path = Path(what)
    if not (path.is_dir() or path.suffix == ".json") or what in assets.names("scenes"):
        return None
    from softgrasp.sweeps import planner
    from softgrasp.sweeps.run import Shard
    from softgrasp.sweeps.storage import PLAN, require_inputs

    directory = path.parent if path.suffix else path
    part = directory / ("" if shard is None else Shard.parse(shard).directory)
    problem = ""
    if not (part / PLAN).is_file():
        problem = f"no {PLAN} there; HAND OBJECT or a plan in YAML with --out {directory} "
        problem += "begins one"
    elif (part / planner.PLAN).is_file():
        problem = "that of a grasp search, which softgrasp plan --resume continues"
    elif directory.match("shard-*-of-*"):
        problem = f"that of a shard; {directory.parent} --shard I/N continues it"
    elif not resume:
        problem = "no --resume, which continues it"
    if problem:
        message = f"expected the directory of a sweep and --resume, found {problem}"
        raise ResultError(f"{part}: {message}")
    require_inputs(part)
    return directory


def _directory_of(option: str, content: str, out: Path | None) -> Path:
    if out is None:
        raise DescriptionError(
            f"{option}: expected --out with the directory of {content}, found none"
        )
    return out


def refuse_finished_rows(directory: Path, resume: bool, *, force: bool = False) -> None:
    """Refuse a directory with finished rows without ``--resume``; ``force`` removes rows and plan.

    Raises:
        ResultError: It has rows.
    """
    from softgrasp.sweeps import planner
    from softgrasp.sweeps.storage import JOURNAL, PLAN, count_finished

    if force and not resume:
        remove_written(directory, (JOURNAL, PLAN, planner.PLAN))
    rows = count_finished(directory)
    if rows and not resume:
        raise ResultError(
            f"{directory}: expected no rows yet, found {rows}; --resume goes on from them, --force "
            "removes them, --out names another directory"
        )


def run_rows(
    work: Callable[[Callable[[int, int], None]], R], directory: Path, first: str | None = None
) -> R:
    """Run a sweep, a function of a progress callback, with a bar that shows ``first`` at first.

    An interrupt reports which rows are stored in the directory.

    Raises:
        typer.Exit: It was interrupted.
    """
    from softgrasp.sweeps.storage import count_finished

    with terminal.progress_bar() as update, listening(update):
        if first is not None:
            update(first, None)
        try:
            return work(lambda done, total: update(f"{done} of {total} grasps", done / total))
        except KeyboardInterrupt:
            rows = count_finished(directory)
            terminal.note(
                f"interrupted; {rows} finished grasps are safe in {directory}, --resume goes on "
                "from them"
            )
            raise typer.Exit(INTERRUPTED) from None


def _make_videos(directory: Path, rows: list[int], as_json: bool) -> None:
    """Simulate selected rows again and write their files as ``softgrasp grasp`` does."""
    from softgrasp.pipeline import simulate
    from softgrasp.report.grasp_report import write_report
    from softgrasp.sweeps.parameters import scene_of_row
    from softgrasp.sweeps.storage import plan_in, require_inputs

    plan = plan_in(directory)
    require_inputs(directory)
    for row in [row for row in rows if not 0 <= row < plan.size]:
        raise DescriptionError(f"--video: expected a row from 0 to {plan.size - 1}, found {row}")
    files = []
    for row in rows:
        files += write_report(simulate(scene_of_row(plan, row)), directory / f"row-{row}")
    if as_json:
        terminal.put_document({}, files)
    else:
        for file in files:
            terminal.put(str(file))


def _print_summary(
    plan: SweepPlan, table: pd.DataFrame, directory: Path, as_json: bool, *, report: bool
) -> None:
    """Print result, erratic rows, warnings and files; exit with 5 where rows failed."""
    from softgrasp.sweeps.table import CSV, FAILED, PARQUET, erratic_rows, warning_groups

    files = [directory / name for name in (CSV, PARQUET, *["report.html"] * report)]
    failed = int((table["status"] == FAILED).sum())
    counts = {str(key): int(value) for key, value in table["status"].value_counts().items()}
    outcomes = {str(key): int(value) for key, value in table["outcome"].value_counts().items()}
    held, warnings = table["held"].dropna(), warning_groups(table)
    erratic = [str(row) for row in erratic_rows(plan, table)]
    files = [file for file in files if file.exists()]
    if as_json:
        terminal.put_document({
            "rows": len(table), "status": counts, "outcome": outcomes,
            "held": int(held.sum()), "evaluated": len(held),
            "failed": failed, "erratic": erratic,
            "warnings": [{"text": text, "rows": count} for text, count in warnings],
        }, files)  # fmt: skip
    else:
        _put_summary(table, outcomes, held, files, erratic)
    for text, count in warnings[:MAX_WARNINGS]:
        terminal.show_message("warning", f"{count} of {len(table)} rows: {text}")
    if len(warnings) > MAX_WARNINGS:
        terminal.note(
            f"{len(warnings) - MAX_WARNINGS} further warnings are in the column warning_texts"
        )
    if failed:
        first = table.loc[table["status"] == FAILED, "error"].iloc[0]
        message = f"{failed} of {len(table)} rows failed, the first: {first}"
        terminal.show_message("warning", message)
        raise typer.Exit(NOT_HELD)


def _put_summary(
    table: pd.DataFrame, counts: dict[str, int], held: Any, files: list[Path], erratic: list[str]
) -> None:
    outcomes = ", ".join(f"{count} {name}" for name, count in sorted(counts.items()))
    terminal.put(f"sweep     {len(table)} grasps: {outcomes}")
    if len(held):
        terminal.put(f"held      {int(held.sum())} of {len(held)} ({held.mean():.0%})")
    for text in erratic[:MAX_ERRATIC]:
        terminal.put(f"erratic   {text}")
    if len(erratic) > MAX_ERRATIC:
        terminal.put(f"erratic   {len(erratic) - MAX_ERRATIC} more")
    columns = ("wall_time_s", "simulated_time_s", "wall_build_s")
    wall, simulated, models = (float(table[name].sum()) for name in columns)
    terminal.put(
        f"cost      {simulated:.1f} s simulated in {wall:.1f} s of wall time, {models:.1f} s of it "
        "for models"
    )
    terminal.put_files(files)


def plan_of(
    what: str,
    object_name: str | None,
    options: SceneOptions,
    density: str | None,
    vary: list[str],
    stored: Path | None = None,
    **fields: Any,
) -> SweepPlan:
    """Make the sweep plan from the arguments of the command.

    ``what`` is a hand, a scene or a plan; ``stored`` the directory of the sweep that it names.
    Densities are separated by commas, ``vary`` are the texts of ``--vary``; further fields are
    those of the plan.

    Raises:
        DescriptionError: A name does not exist, or an option does not fit.
    """
    from softgrasp.cli.scene_args import scene_of
    from softgrasp.description.sweep import Axis, SweepPlan
    from softgrasp.io.scene import load_plan
    from softgrasp.sweeps.storage import plan_in

    axes = [axis_of(f"object.density={density}")] if density is not None else []
    axes += [axis_of(text) for text in vary]
    is_yaml = Path(what).suffix.lower() in YAML_SUFFIXES and _is_plan(Path(what))
    if object_name is None and (stored is not None or is_yaml):
        if axes or options.changed:
            raise DescriptionError(
                f"{what}: expected all of the plan in its file, found options that change it"
            )
        return load_plan(what) if stored is None else plan_in(stored)
    densities = _densities(axes[0]) if density is not None else []
    if densities and object_name is not None and Path(object_name).suffix.lower() in MESH_SUFFIXES:
        # a mesh file needs one, and the heaviest object decides the grasp
        options = replace(options, density=max(densities))
    if not axes and fields["repeats"] == 1:
        raise DescriptionError(
            "expected a field to vary (--density R1,R2,… or --vary FIELD=V1,V2,…), or --repeats N "
            "with --noise, found none"
        )
    scene = scene_of(what, object_name, options)
    return SweepPlan(scene=scene, axes=tuple(Axis(**axis) for axis in axes), **fields)


def _is_plan(path: Path) -> bool:
    """Return whether a YAML file is a sweep plan, which has axes, and no hand or scene.

    Raises:
        DescriptionError: It is too large, or is no regular file.
    """
    from softgrasp.io.input_limits import check_size

    try:
        check_size(path)
        return any(line.startswith("axes:") for line in path.read_text("utf-8").splitlines())
    except OSError:
        return False


def axis_of(text: str) -> dict[str, Any]:
    """Return the fields of a sweep axis from an argument of ``--vary``.

    Raises:
        DescriptionError: The text is no FIELD=VALUES.
    """
    from softgrasp.io.object import expand_directories

    path, equals, values = text.partition("=")
    if not equals or not values.strip():
        raise DescriptionError(
            f"--vary: expected FIELD=V1,V2,… or FIELD=LOW:HIGH:STEPS, found '{text}'"
        )
    ends = values.split(":")
    if len(ends) in (2, 3):
        try:
            low, high, *steps = (float(end) for end in ends)
            axis: dict[str, Any] = {"path": path.strip(), "low": low, "high": high}
            return axis | ({"steps": int(steps[0])} if steps else {})
        except ValueError:
            pass  # a text with a colon, such as ycb:NAME
    path = path.strip()
    return {"path": path, "values": tuple(expand_directories(path, _values(values), Path()))}


def _densities(axis: dict[str, Any]) -> list[float]:
    """Return the values, or the two ends, of an axis of densities [kg/m³].

    Raises:
        DescriptionError: Not all of them are numbers above 0.
    """
    values = (axis["low"], axis["high"]) if "low" in axis else axis["values"]
    for value in values:
        if isinstance(value, bool) or not isinstance(value, int | float) or value <= 0:
            raise DescriptionError(f"--density: expected numbers above 0 [kg/m³], found '{value}'")
    return [float(value) for value in values]


def _values(text: str) -> list[Any]:
    """Split values at commas outside brackets; each is JSON or a text."""
    try:
        return list(json.loads(f"[{text}]"))
    except json.JSONDecodeError:
        return [plain_value(part.strip()) for part in text.split(",")]


def check_rows(plan: SweepPlan) -> None:
    """Validate the scenes of all rows of the sweep, for ``--strict``.

    Raises:
        DescriptionError: A scene cannot be made; names the row.
    """
    from softgrasp.sweeps import parameters

    for index, values in enumerate(parameters.combinations(plan)):
        try:
            parameters.scene_of(plan, values, None)
        except DescriptionError as error:
            raise DescriptionError(f"--strict: row {index * plan.repeats}: {error}") from None
