"""``softgrasp sweep``: many grasps from one plan."""

from __future__ import annotations

import json
import math
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from softgrasp.cli import terminal
from softgrasp.cli.grasp import GraspName
from softgrasp.cli.options import INTERRUPTED, NOT_HELD, Json, Mass, NoReport, Out, Units
from softgrasp.cli.scene_args import SceneOptions, plain_value, scene_of
from softgrasp.cli.terminal import Pace
from softgrasp.description.sweep import Axis, PoseNoise, SweepPlan
from softgrasp.errors import DescriptionError, ResultError
from softgrasp.io.load import YAML_SUFFIXES
from softgrasp.io.mesh_files import MESH_SUFFIXES
from softgrasp.io.object import expand_directories
from softgrasp.io.scene import load_plan
from softgrasp.sweeps import parameters
from softgrasp.sweeps.parameters import combinations

if TYPE_CHECKING:
    import pandas as pd


class Executor(StrEnum):
    """Who computes."""

    LOCAL = "local"
    DASK = "dask"


class Sampling(StrEnum):
    """How samples are drawn between the ends of axes."""

    LATIN = "latin"
    SOBOL = "sobol"


def sweep(
    what: Annotated[
        str | None, typer.Argument(metavar="HAND|SCENE|PLAN", help="Hand, scene, or plan in YAML.")
    ] = None,
    object_name: Annotated[str | None, typer.Argument(metavar="OBJECT", help="Object.")] = None,
    *,
    units: Units = None,
    density: Annotated[
        str | None, typer.Option(metavar="R1,R2,…", help="Densities of the object [kg/m³].")
    ] = None,
    mass: Mass = None,
    vary: Annotated[
        list[str] | None,
        typer.Option(
            metavar="FIELD=VALUES",
            help="Field with V1,V2,… or LOW:HIGH:STEPS (LOW:HIGH with --sample); repeatable.",
        ),
    ] = None,
    sample: Annotated[
        Sampling | None, typer.Option(help="Draw samples between the ends; else the full grid.")
    ] = None,
    samples: Annotated[int | None, typer.Option(metavar="N", help="How many samples.")] = None,
    repeats: Annotated[int, typer.Option(metavar="N", help="Each combination so often.")] = 1,
    noise: Annotated[
        float, typer.Option(metavar="M", help="Standard deviation of the object's start [m].")
    ] = 0.0,
    noise_deg: Annotated[
        float, typer.Option(metavar="A", help="Of its orientation about each axis [deg].")
    ] = 0.0,
    seed: Annotated[int, typer.Option(metavar="S", help="Of samples and noise.")] = 0,
    quality: Annotated[bool, typer.Option(help="A column with ε of the final contacts.")] = False,
    grasp: Annotated[GraspName | None, typer.Option(help="Which of the hand's two grasps.")] = None,
    gravity: Annotated[bool | None, typer.Option(help="Weight during the closure.")] = None,
    hold: Annotated[
        bool | None, typer.Option(help="Whether to load the grasp with gravity at the end.")
    ] = None,
    lift: Annotated[bool | None, typer.Option(help="Whether to lift from a table.")] = None,
    settings: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="FIELD=VALUE", help="Any field of the scene; repeatable."),
    ] = None,
    workers: Annotated[
        int | None,
        typer.Option(metavar="N", help="Processes; else a core each, fewer for few rows."),
    ] = None,
    executor: Annotated[Executor, typer.Option(help="Who computes.")] = Executor.LOCAL,
    scheduler: Annotated[
        str | None, typer.Option(metavar="ADDRESS", help="Of dask, such as tcp://host:8786.")
    ] = None,
    resume: Annotated[
        bool, typer.Option("--resume", help="Go on from the rows that the folder has.")
    ] = False,
    shard: Annotated[
        str | None, typer.Option(metavar="I/N", help="Only part I of N, for array jobs.")
    ] = None,
    merge: Annotated[
        bool, typer.Option("--merge", help="Only put the parts in --out together.")
    ] = False,
    video_rows: Annotated[
        list[int] | None,
        typer.Option(
            "--video", metavar="ROW", help="Only make the video of a row in --out; repeatable."
        ),
    ] = None,
    strict: Annotated[
        bool, typer.Option("--strict", help="Check all rows first; stop where one is wrong.")
    ] = False,
    dataset: Annotated[
        bool, typer.Option("--dataset", help="Keep grasps for learning, seen from the object.")
    ] = False,
    trajectories: Annotated[
        bool, typer.Option("--trajectories", help="Keep whole trajectories, compressed.")
    ] = False,
    no_report: NoReport = False,
    out: Out = None,
    json_: Json = False,
) -> None:
    """Simulate many grasps that differ in some fields; write a table and a page.

    Columns are explained in docs/sweeps.md. An interrupted sweep goes on with --resume.
    """
    from softgrasp.cli.terminal import default_directory
    from softgrasp.sweeps.run import Shard
    from softgrasp.sweeps.run import merge as merged
    from softgrasp.sweeps.run import sweep as run

    if video_rows:
        if out is None:
            raise DescriptionError("--video: expected --out with the sweep's folder, found none")
        return _make_videos(out, video_rows, json_)
    if merge:
        if out is None:
            raise DescriptionError("--merge: expected --out with the shards' folder, found none")
        table, directory = merged(out), out
        plan = _plan_in(directory)
    else:
        if what is None:
            raise DescriptionError("expected HAND OBJECT, a SCENE or a PLAN, found nothing")
        options = {
            "units": None if units is None else units.value, "mass": mass,
            "grasp": grasp, "gravity": gravity, "hold": hold, "lift": lift,
        }  # fmt: skip
        plan = plan_of(what, object_name, options, tuple(settings or ()), density, vary or [], {
            "method": str(sample or "grid"), "samples": samples, "repeats": repeats, "seed": seed,
            "quality": quality,
            "noise": {"position": noise, "rotation_deg": noise_deg},
        })  # fmt: skip
        if strict:
            check_rows(plan)
        directory = out or default_directory(
            f"sweep_{plan.scene.hand.name}_{plan.scene.object.name}"
        )
        part = None if shard is None else Shard.parse(shard)
        refuse_started(directory / (part.directory if part else ""), resume)
        pace = Pace()
        with terminal.progress_bar() as update:

            def progress(done: int, whole: int) -> None:
                update(pace.text(done, whole), done / whole)

            try:
                table = run(
                    plan, directory, workers=workers, executor=str(executor), scheduler=scheduler,
                    shard=part, trajectories=trajectories, dataset=dataset, progress=progress,
                )  # fmt: skip
            except KeyboardInterrupt:
                rows = finished(directory / (part.directory if part else ""))
                terminal.note(
                    f"interrupted; {rows} finished grasps are safe in {directory}, --resume goes "
                    "on from them"
                )
                raise typer.Exit(INTERRUPTED) from None
    _print_summary(plan, table, directory, json_, report=not no_report and shard is None)
    return None


def finished(directory: Path) -> int:
    """Rows in the journal of a folder."""
    from softgrasp.sweeps.storage import JOURNAL

    path = directory / JOURNAL
    return path.read_bytes().count(b"\n") if path.exists() else 0


def refuse_started(directory: Path, resume: bool) -> None:
    """Refuse a folder that has rows already, unless they are to be gone on from.

    Raises:
        ResultError: It has.
    """
    rows = finished(directory)
    if rows and not resume:
        raise ResultError(
            f"{directory}: expected no rows yet, found {rows}; --resume goes on from them, --out "
            "names another folder"
        )


def _make_videos(directory: Path, rows: list[int], as_json: bool) -> None:
    """Simulate rows again, and write them as ``softgrasp grasp`` does."""
    from softgrasp.report.grasp_page import write_report
    from softgrasp.sim.simulate import simulate
    from softgrasp.sweeps.parameters import scene_of_row

    plan = _plan_in(directory)
    for row in rows:
        if not 0 <= row < plan.size:
            raise DescriptionError(
                f"--video: expected a row from 0 to {plan.size - 1}, found {row}"
            )
    files = []
    for row in rows:
        files += write_report(simulate(scene_of_row(plan, row)), directory / f"row-{row}")
    if as_json:
        terminal.put_json({"files": [str(file) for file in files]})
    else:
        for file in files:
            terminal.put(str(file))


def _plan_in(directory: Path) -> SweepPlan:
    from softgrasp.sweeps.storage import plan_in

    return plan_in(directory)


def _print_summary(
    plan: SweepPlan, table: pd.DataFrame, directory: Path, as_json: bool, *, report: bool
) -> None:
    """Say what came out, and where it is; exit code 5 where rows failed."""
    from softgrasp.sweeps.table import CSV, FAILED, PARQUET

    files = [directory / CSV, directory / PARQUET]
    if report:
        from softgrasp.report.sweep import write_sweep_report

        with terminal.progress_bar() as update:
            update("writing the page", None)
            files.append(write_sweep_report(plan, table, directory))
    failed = int((table["status"] == FAILED).sum())
    counts = {str(key): int(value) for key, value in table["status"].value_counts().items()}
    held = table["held"].dropna()
    if as_json:
        terminal.put_json({
            "rows": len(table), "status": counts, "held": int(held.sum()), "evaluated": len(held),
            "failed": failed, "files": [str(file) for file in files if file.exists()],
        })  # fmt: skip
    else:
        _put_summary(table, counts, held, files)
    warned = int((table["warnings"] > 0).sum())
    if warned:
        terminal.show_message(
            "warning",
            f"{warned} of {len(table)} rows have warnings of their own (column 'warnings'); "
            f"softgrasp sweep --out {directory} --video ROW tells those of a row",
        )
    if failed:
        first = table.loc[table["status"] == FAILED, "error"].iloc[0]
        terminal.show_message(
            "warning", f"{failed} of {len(table)} rows failed, the first: {first}"
        )
        raise typer.Exit(NOT_HELD)


def _put_summary(
    table: pd.DataFrame, counts: dict[str, int], held: pd.Series, files: list[Path]
) -> None:
    statuses = ", ".join(f"{count} {name}" for name, count in sorted(counts.items()))
    terminal.put(f"sweep     {len(table)} grasps: {statuses}")
    if len(held):
        terminal.put(f"held      {int(held.sum())} of {len(held)} ({held.mean():.0%})")
    wall = float(table["wall_time_s"].sum())
    simulated = float(table["simulated_time_s"].sum())
    models = float(table["wall_build_s"].sum())
    terminal.put(
        f"cost      {simulated:.1f} s simulated in {wall:.1f} s of work, {models:.1f} s of it for "
        "models"
    )
    there = [str(file) for file in files if file.exists()]
    for index, file in enumerate(there):
        terminal.put(f"{'files' if index == 0 else '':<10}{file}")


# --------------------
# From the words of ``softgrasp sweep`` to a plan.


def plan_of(
    what: str,
    object_name: str | None,
    options: dict[str, Any],
    settings: tuple[str, ...],
    density: str | None,
    vary: list[str],
    rest: dict[str, Any],
) -> SweepPlan:
    """The plan that a command line means.

    Args:
        what: Hand, scene or plan.
        object_name: Object, where there is one.
        options: Of the scene; see ``SceneOptions``.
        settings: ``--set``.
        density: Values of the object's density, separated by commas.
        vary: ``--vary``.
        rest: Further fields of the plan; ``noise`` with ``position`` [m] and ``rotation_deg``.

    Raises:
        DescriptionError: Something does not exist or does not fit.
    """
    axes = [axis_of(f"object.density={density}")] if density is not None else []
    axes += [axis_of(text) for text in vary]
    if object_name is None and Path(what).suffix.lower() in YAML_SUFFIXES and _is_plan(Path(what)):
        if axes or settings or any(value is not None for value in options.values()):
            raise DescriptionError(
                f"{what}: expected all of the plan in its file, found options that change it"
            )
        return load_plan(what)
    densities = _densities(axes[0]) if density is not None else []
    if densities and object_name is not None and Path(object_name).suffix.lower() in MESH_SUFFIXES:
        options["density"] = max(densities)  # it needs one, and the heaviest decides the grasp
    scene = scene_of(what, object_name, SceneOptions(settings=settings, **options))
    noise = rest.pop("noise")
    return SweepPlan(
        scene=scene,
        axes=tuple(Axis(**axis) for axis in axes),
        noise=PoseNoise(position=noise["position"], rotation=math.radians(noise["rotation_deg"])),
        **rest,
    )


def _is_plan(path: Path) -> bool:
    """Whether a YAML file is a plan rather than a hand or a scene: it has axes."""
    try:
        return any(line.startswith("axes:") for line in path.read_text("utf-8").splitlines())
    except OSError:
        return False


def axis_of(text: str) -> dict[str, Any]:
    """The fields of an axis that ``--vary`` means.

    Raises:
        DescriptionError: It is no FIELD=VALUES.
    """
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
    """Values of an axis of densities, or its ends [kg/m³].

    Raises:
        DescriptionError: Not all of them are numbers above 0.
    """
    values = (axis["low"], axis["high"]) if "low" in axis else axis["values"]
    for value in values:
        if isinstance(value, bool) or not isinstance(value, int | float) or value <= 0:
            raise DescriptionError(f"--density: expected numbers above 0 [kg/m³], found '{value}'")
    return [float(value) for value in values]


def _values(text: str) -> list[Any]:
    """Values between commas, each JSON or a text; brackets keep their commas."""
    try:
        return list(json.loads(f"[{text}]"))
    except json.JSONDecodeError:
        return [plain_value(part.strip()) for part in text.split(",")]


def check_rows(plan: SweepPlan) -> None:
    """Look at the scenes of all rows, as ``--strict`` asks.

    Raises:
        DescriptionError: One cannot be; names the row.
    """
    for index, values in enumerate(combinations(plan)):
        try:
            parameters.scene_of(plan, values, None)
        except DescriptionError as error:
            raise DescriptionError(f"--strict: row {index * plan.repeats}: {error}") from None
