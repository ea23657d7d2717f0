"""``softgrasp crosscheck`` and ``bench``: a scene in several engines, speed of the closed loop."""

from __future__ import annotations

from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer
from typer import Argument, Option

from softgrasp.cli import terminal
from softgrasp.cli.names import kind_of, plain_value, with_article
from softgrasp.cli.options import DIVERGED, PROBLEMS, Force, Json, NoReport, Out, SceneOptions
from softgrasp.cli.terminal import require_writable
from softgrasp.errors import DescriptionError, did_you_mean

if TYPE_CHECKING:
    from softgrasp.comparison.compare import CrosscheckResult
    from softgrasp.comparison.criteria import Tolerances
    from softgrasp.description.calibration import FingerRelease
    from softgrasp.description.scene import GraspScene

SCENE = "demo"
"""Scene of the closed loop."""


def crosscheck(
    scene: Annotated[
        str, Argument(metavar="SCENE", help="Name or file of a grasp scene, or of a release.")
    ],
    *,
    backends: Annotated[
        str, Option(metavar="A,B[,…]", help="Engines; the first is the reference.")
    ] = "mujoco,ode",
    timestep: Annotated[
        float | None, Option(metavar="S", help="Time step of the physics [s]; else the scene's.")
    ] = None,
    tolerance: Annotated[
        list[str] | None,
        Option(
            metavar="NAME=VALUE", help="Another tolerance, such as static_deg=0.01; repeatable."
        ),
    ] = None,
    quick: Annotated[
        bool, Option("--quick", help="Skip other time steps and critical loads.")
    ] = False,
    no_report: NoReport = False,
    out: Out = None,
    force: Force = False,
    json_: Json = False,
) -> None:
    """Simulate the same scene in two or more engines and compare the results.

    Exits with 0 where all differences are within their tolerances, with 1 where one is beyond, and
    with 4 where a simulation diverged.
    The page "Crosscheck" of the documentation explains what is compared, and the tolerances.
    """
    kind_of(scene)  # before anything slow is imported
    from softgrasp.comparison.compare import clear_earlier, command_line, save_crosscheck
    from softgrasp.comparison.compare import crosscheck as run
    from softgrasp.comparison.runs import check_backends

    names = check_backends(name.strip() for name in backends.split(",") if name.strip())
    limits = _tolerances(tolerance or [])
    subject = _subject(scene, timestep)
    directory = terminal.output_directory(f"crosscheck_{Path(scene).stem}", out, force=force)
    require_writable(directory)
    with terminal.progress_bar() as update:
        result = run(subject, names, tolerances=limits, quick=quick, progress=update)
    words = command_line(scene, names, timestep=timestep, tolerances=tolerance or (), quick=quick)
    result = replace(result, command=words)
    clear_earlier(directory)
    files = save_crosscheck(result, directory)
    if not no_report:
        from softgrasp.report.comparison import write_crosscheck_report

        with terminal.progress_bar() as update:
            update("writing the report", None)
            files += write_crosscheck_report(result, directory)
    _print_summary(result, files, json_)
    if result.diverged:
        engines = ", ".join(result.diverged)
        terminal.show_message("error", f"the simulation has diverged in {engines}")
        raise typer.Exit(DIVERGED)
    if not result.passed:
        raise typer.Exit(PROBLEMS)


def _subject(name: str, timestep: float | None) -> GraspScene | FingerRelease:
    from softgrasp.cli.scene_args import scene_of
    from softgrasp.io.scene import load_release

    kind = kind_of(name)
    if kind == "release":
        release = load_release(name)
        return release if timestep is None else release.replace(timestep=timestep)
    if kind != "scene":
        raise DescriptionError(f"{name}: expected a scene or a release, found {with_article(kind)}")
    return scene_of(name, None, SceneOptions(timestep=timestep))


def _tolerances(settings: list[str]) -> Tolerances:
    from softgrasp.comparison.criteria import Tolerances

    changes = {}
    for setting in settings:
        name, equals, text = setting.partition("=")
        if not equals or name not in Tolerances.model_fields:
            hint = did_you_mean(name, Tolerances.model_fields)
            raise DescriptionError(
                f"--tolerance {setting}: expected NAME=VALUE, found no tolerance '{name}'; {hint}"
            )
        changes[name] = plain_value(text)
    return Tolerances(**changes)


def _print_summary(result: CrosscheckResult, files: list[Path], as_json: bool) -> None:
    from softgrasp.comparison.compare import document
    from softgrasp.report.comparison import finding_table

    for text in result.warnings:
        terminal.show_message("warning", text)
    if as_json:
        terminal.put_document(document(result), files)
        return
    columns, rows = finding_table(result)
    terminal.put_table(["quantity", *columns, "difference", "tolerance", ""], rows)
    for finding in result.failed:
        terminal.put(f"beyond    {finding.sentence}")
    terminal.put(f"verdict   {result.summary}")
    terminal.put_files(files)


def bench(
    name: Annotated[
        Literal["closure"], Argument(metavar="NAME", help="Benchmark: closure.")
    ] = "closure",
    *,
    rounds: Annotated[int, Option(min=1, help="Repetitions.")] = 25,
    out: Out = None,
    json: Json = False,
) -> None:
    """Measure the closed loop.

    closure: raw is the same compiled model with the same recorded controls and number of steps, in
    one call; plain is the closed loop. Only the closure is measured, without the hold test.
    """
    from softgrasp.comparison.closure_speed import closure_speed
    from softgrasp.io.files import listening
    from softgrasp.io.scene import load_scene

    with terminal.progress_bar() as update, listening(update):
        speed = closure_speed(load_scene(SCENE), rounds)
    document = {"benchmark": name, "scene": SCENE, **asdict(speed)}
    if out is not None:
        terminal.save_json(document, out / "bench.json")
    if json:
        terminal.put_json(document)
        return
    rows = [
        ["raw", f"{speed.raw_steps_s:,.0f}", "1.00"],
        ["plain", f"{speed.plain_steps_s:,.0f}", f"{speed.plain_ratio:.2f}"],
    ]
    terminal.put_table(["loop", "steps/s", "over raw"], rows)
    equal = "equal bit for bit" if speed.bit_equal else "NOT equal"
    terminal.put(
        f"{SCENE}, closure only: {speed.steps} steps, {speed.events} events, "
        f"{speed.contacts_at_end} contact points at the end, median of {speed.rounds} rounds; "
        f"final joint angles {equal}"
    )
