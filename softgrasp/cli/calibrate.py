"""``softgrasp calibrate``: parameters of a finger, or of an arm, from measurements."""

from __future__ import annotations

import math
import re
from dataclasses import replace
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer
from typer import Argument, Option

from softgrasp.cli import terminal
from softgrasp.cli.names import plain_value, require_shipped
from softgrasp.cli.options import Force, Json, NoReport, Out
from softgrasp.cli.terminal import require_writable
from softgrasp.errors import DescriptionError, did_you_mean

if TYPE_CHECKING:
    from softgrasp.calibration.files import LoadedProblem
    from softgrasp.calibration.result import CalibrationResult, ExtensionResult

    AnyCalibrationResult = CalibrationResult | ExtensionResult


UNITS = {"stiffness": "N·m/rad", "damping": "N·m·s/rad", "gain": "N·m/Pa"}
"""Units of parameters by the first word of their names."""


class Stage(StrEnum):
    """Calibration stages as an enumeration, as Typer takes no list of ``Literal``."""

    SPRINGS = "springs"
    DAMPERS = "dampers"
    TORQUES = "torques"


def calibrate(
    problem: Annotated[
        str | None, Argument(metavar="PROBLEM", help="Problem in YAML, or a shipped one.")
    ] = None,
    *,
    finger: Annotated[
        str | None, Option(metavar="NAME|FILE", help="Finger, where there is no problem.")
    ] = None,
    photos: Annotated[
        Path | None, Option(metavar="DIR", help="Photographs under weights; 20g.png, …")
    ] = None,
    flip: Annotated[
        bool | None,
        Option("--flip/--no-flip", help="Photographs show the clamp at the right; else detected."),
    ] = None,
    tip: Annotated[
        bool | None,
        Option("--tip/--no-tip", help="Whether the end of the finger is measured, too."),
    ] = None,
    tilt: Annotated[
        str | None,
        Option(metavar="DEG|base", help="Direction of the base in photographs; base measures it."),
    ] = None,
    zero: Annotated[
        str | None,
        Option(
            metavar="design|unloaded|FILE",
            help="Zero of angles: the described finger, the photograph without a weight, or one "
            "of the finger at rest.",
        ),
    ] = None,
    empty: Annotated[
        Path | None, Option(metavar="FILE", help="Photograph without the finger, for any colour.")
    ] = None,
    markers: Annotated[
        str | None, Option(metavar="auto|HUE", help="Dots on joints and tip: auto, blue, 120, …")
    ] = None,
    lens: Annotated[
        Path | None, Option(metavar="FILE", help="camera.yaml whose distortion is removed.")
    ] = None,
    camera: Annotated[
        Path | None,
        Option(metavar="DIR", help="Only calibrate a camera from a board; see --board."),
    ] = None,
    board: Annotated[
        str | None, Option(metavar="RxCxMM", help="Inner corners and square of the board: 6x9x25.")
    ] = None,
    videos: Annotated[
        Path | None, Option(metavar="DIR", help="Videos of releases; 20g.avi, …")
    ] = None,
    frame_rate: Annotated[
        float | None,
        Option(metavar="HZ", help="Frame rate of the videos; else that of their files."),
    ] = None,
    length_mm: Annotated[
        float | None, Option(metavar="L", help="Length of the finger in the videos [mm].")
    ] = None,
    hung: Annotated[
        Path | None, Option(metavar="CSV", help="Columns mass_g, q1_deg, … under weights.")
    ] = None,
    releases: Annotated[
        Path | None, Option(metavar="CSV", help="Columns mass_g, overshoots, settling_s.")
    ] = None,
    forces: Annotated[
        Path | None, Option(metavar="CSV", help="Columns pressure_kPa, force_N at the tip.")
    ] = None,
    method: Annotated[
        Literal["map", "least-squares", "pso", "pso+least-squares"],
        Option(
            help="Joint estimate with systematic errors, or stage by stage: least squares, "
            "particle swarm, or one after the other."
        ),
    ] = "map",
    stage: Annotated[list[Stage] | None, Option(help="Only this stage; repeatable.")] = None,
    seed: Annotated[int, Option(min=0, metavar="N", help="Seed of the swarm.")] = 0,
    particles: Annotated[int, Option(min=2, metavar="N", help="Particles of the swarm.")] = 14,
    iterations: Annotated[int, Option(min=1, metavar="N", help="Iterations of the swarm.")] = 100,
    settings: Annotated[
        list[str] | None,
        Option(
            "--set",
            metavar="FIELD=VALUE",
            help="Field of the problem, such as gain_model=uniform; repeatable.",
        ),
    ] = None,
    pool: Annotated[
        list[Path] | None,
        Option(
            metavar="DIR",
            help="Only pool calibrations of several fingers of one mould, each with its --pool: "
            "their mean, their scatter, and the next finger.",
        ),
    ] = None,
    pressure_step: Annotated[
        Path | None,
        Option(
            metavar="CSV",
            help="Only fit dead time and time constants of the pressure to columns time_s, "
            "command_kPa, pressure_kPa; with --finger, write it with them.",
        ),
    ] = None,
    advise: Annotated[
        bool, Option("--advise", help="Show what to measure next, the best first.")
    ] = False,
    accept: Annotated[
        bool, Option("--accept", help="Exit with 0 although the fit is not credible.")
    ] = False,
    no_report: NoReport = False,
    out: Out = None,
    force: Force = False,
    json_: Json = False,
) -> None:
    """Estimate stiffness, damping and pressure gains of a finger; write finger.yaml and a report.

    Name a problem file, or --finger with measurements. The problem of a hydraulic arm yields
    arm.yaml. The exit code is 1 if the fit is not credible. The page "Calibration" of the
    documentation is the tutorial.
    """
    if camera is not None:
        _calibrate_camera(camera, board, out, force=force, as_json=json_)
        return
    if board is not None:
        raise DescriptionError("expected --camera with --board, found none")
    if pool:
        _pool_fingers(pool, seed, out, force=force, as_json=json_)
        return
    if pressure_step is not None:
        _fit_pressure(pressure_step, finger, out, force=force, as_json=json_, accept=accept)
        return
    if problem is not None:
        require_shipped("problems", problem)
    from softgrasp.calibration.calibrate import calibrate as run
    from softgrasp.calibration.optimizers import Swarm
    from softgrasp.calibration.result import (
        CalibrationResult,
        CalibrationStatus,
        clear_earlier,
        save_calibration,
    )

    tables = {"hung": hung, "releases": releases, "forces": forces}
    video_options = {"frame_rate": frame_rate, "finger_length": length_mm and length_mm / 1e3}
    changes = _changes(settings or [])
    photo_options = _photo_options(
        photos, tilt, zero, {"empty": empty, "lens": lens}, flip=flip, tip=tip, markers=markers
    )
    if zero in ("design", "unloaded"):
        changes["zero"] = zero
    with terminal.progress_bar() as update:
        update("reading measurements", None)
        loaded = _load(problem, finger, tables, photo_options, videos, video_options, changes)
    subject: Any = getattr(loaded.problem, "finger", loaded.problem)
    directory = terminal.output_directory(f"calibrate_{subject.name}", out, force=force)
    require_writable(directory)
    with terminal.progress_bar() as update:
        result = run(
            loaded.problem, method, seed,
            stages=[item.value for item in stage or ()] or None,
            swarm=Swarm(particles=particles, iterations=iterations),
            progress=update,
        )  # fmt: skip
    if loaded.warnings and isinstance(result, CalibrationResult):
        result = replace(result, warnings=(*loaded.warnings, *result.warnings))
    clear_earlier(directory)
    files = save_calibration(result, directory)
    if not no_report:
        from softgrasp.report.calibration import write_calibration_report

        with terminal.progress_bar() as update:
            update("writing the report", None)
            files += write_calibration_report(result, directory, loaded)
    _print_summary(result, files, json_)
    if advise and not json_:
        _print_advice(result)
    if result.status is CalibrationStatus.NOT_CREDIBLE and not accept:
        raise typer.Exit(1)


def _photo_options(
    photos: Path | None, tilt: str | None, zero: str | None, files: dict[str, Any], **options: Any
) -> dict[str, Any]:
    """Return the options of photographs as in a problem file; empty without photographs."""
    if tilt is not None:
        try:
            options["tilt"] = tilt if tilt == "base" else math.radians(float(tilt))
        except ValueError:
            message = f"--tilt: expected an angle in degrees or base, found '{tilt}'"
            raise DescriptionError(message) from None
    if zero is not None and zero not in ("design", "unloaded"):
        files["rest"] = Path(zero)
    for name in ("empty", "rest", "lens"):
        if (file := files.get(name)) is None:
            continue
        if not file.is_file():
            option = "zero: expected design, unloaded or" if name == "rest" else f"{name}: expected"
            raise DescriptionError(f"--{option} a file, found none at '{file}'")
        options[name] = str(file.resolve())
    options = {name: value for name, value in options.items() if value is not None}
    if photos is not None:
        return {"folder": str(photos.resolve())} | options
    if options:
        option = "zero" if "rest" in options else next(iter(options))
        raise DescriptionError(
            f"expected --photos with --{option}, found none; in a problem file it is an option of "
            "photos"
        )
    return {}


def _pool_fingers(
    directories: list[Path], seed: int, out: Path | None, *, force: bool, as_json: bool
) -> None:
    """Pool calibrated fingers; write pool.json, finger.yaml and the ensemble of the next finger."""
    from softgrasp.calibration.pooling import pool_fingers

    pooled = pool_fingers(directories, seed=seed)
    directory = terminal.output_directory("calibrate_pool", out, force=force)
    require_writable(directory)
    files = pooled.save(directory)
    if as_json:
        terminal.put_json(pooled.document())
        return
    terminal.put(f"{pooled.fingers} fingers of one mould")
    for kind, (common, joint) in pooled.scatter.items():
        terminal.put(
            f"{kind}: fingers differ by {100 * common:.2g} %, and each joint by {100 * joint:.2g} %"
        )
    spans = [[f"{low:.3g} … {high:.3g}" for low, high in intervals]
             for intervals in (pooled.mean_interval, pooled.next_interval)]  # fmt: skip
    columns = zip(pooled.names, pooled.mean, *spans, strict=True)
    rows = [[name, f"{mean:.3g}", *ends, UNITS[name.partition("_")[0]]]
            for name, mean, *ends in columns]  # fmt: skip
    terminal.put_table(["", "mean", "its 95 % interval", "the next finger", "unit"], rows)
    terminal.put_files(files)


def _fit_pressure(
    path: Path, finger: str | None, out: Path | None, *, force: bool, as_json: bool, accept: bool
) -> None:
    """Fit the lag of a pressure; write its numbers, a figure, and the finger with it."""
    from softgrasp.calibration.pressure_step import fit_pressure_lag, read_pressure_record
    from softgrasp.io.files import json_text, write_text
    from softgrasp.io.hand import load_finger, save_finger
    from softgrasp.report.finger_figure import draw_pressure_record

    described = None if finger is None else load_finger(finger)
    record = read_pressure_record(path)
    fit = fit_pressure_lag(record)
    directory = terminal.output_directory("calibrate_pressure", out, force=force)
    require_writable(directory)
    document = fit.document()
    files = [
        write_text(directory / "pressure_step.json", json_text(document)),
        draw_pressure_record(record, fit, directory / "pressure_step.png"),
    ]
    if described is not None:
        lagging = described.replace(pressure_lag=fit.lag)
        files.append(save_finger(lagging, directory / "finger.yaml"))
    for text in fit.doubts:
        terminal.show_message("warning", text)
    if as_json:
        terminal.put_document(document, files)
    else:
        rows = [[name, f"{value:.4g}", f"{fit.errors[name]:.2g}", "s"]
                for name, value in fit.values.items()]  # fmt: skip
        terminal.put_table(["parameter", "value", "error", "unit"], rows)
        terminal.put(
            f"residual {1e-3 * fit.residual:.3g} kPa rms; "
            f"the lag is {'doubtful' if fit.doubts else 'credible'}"
        )
        terminal.put_files(files)
    if fit.doubts and not accept:
        raise typer.Exit(1)


def _calibrate_camera(
    photos: Path, board: str | None, out: Path | None, *, force: bool, as_json: bool
) -> None:
    """Estimate the intrinsics of a camera; write camera.yaml."""
    from softgrasp.calibration.files import IMAGE_SUFFIXES
    from softgrasp.io.scene import save_camera
    from softgrasp.vision.checkerboard import Checkerboard, calibrate_camera

    match = re.fullmatch(r"(\d+)x(\d+)x(\d+(?:\.\d+)?)", board or "")
    if match is None:
        raise DescriptionError(
            "--board: expected inner corners in a column and a row, and the square in mm, such as "
            f"6x9x25, found {board!r}"
        )
    if not photos.is_dir():
        raise DescriptionError(f"--camera: expected a directory, found none at '{photos}'")
    rows, columns, square = int(match[1]), int(match[2]), 1e-3 * float(match[3])
    checkerboard = Checkerboard(rows=rows, columns=columns, square=square)
    images = [file for file in sorted(photos.iterdir()) if file.suffix.lower() in IMAGE_SUFFIXES]
    with terminal.progress_bar() as update:
        update("reading the boards", None)
        result = calibrate_camera(images, checkerboard)
    directory = terminal.output_directory("calibrate_camera", out, force=force)
    require_writable(directory)
    path = save_camera(result.camera, directory / "camera.yaml")
    for text in result.warnings:
        terminal.show_message("warning", text)
    values = result.camera.model_dump()
    if as_json:
        shown = {name: values[name] for name in (*result.errors, "width", "height")}
        terminal.put_json({
            "camera": shown, "standard_errors": result.errors, "residual_px": result.residual,
            "photographs": len(result.used), "coverage": result.coverage,
            "warnings": list(result.warnings), "files": [str(path)],
        })  # fmt: skip
        return
    table = [[name, f"{values[name]:.5g}", f"{error:.2g}", "" if name[0] in "kp" else "pixels"]
             for name, error in result.errors.items()]  # fmt: skip
    terminal.put_table(["parameter", "value", "error", "unit"], table)
    terminal.put(
        f"{len(result.used)} photographs, residual {result.residual:.2g} pixels rms, boards cover "
        f"{100 * result.coverage:.0f} % of the image"
    )
    terminal.put_files([path])


def _load(
    problem: str | None,
    finger: str | None,
    tables: dict[str, Path | None],
    photos: dict[str, Any],
    videos: Path | None,
    video_options: dict[str, float | None],
    changes: dict[str, Any],
) -> LoadedProblem:
    from softgrasp.calibration.files import load_problem, problem_from

    tree: dict[str, Any] = {key: str(path.resolve()) for key, path in tables.items() if path}
    if photos:
        tree["photos"] = photos
    if videos is not None:
        options = {key: value for key, value in video_options.items() if value is not None}
        tree["videos"] = {"folder": str(videos.resolve())} | options
    if problem is not None:
        if tree or finger:
            raise DescriptionError("expected a problem or --finger with measurements, found both")
        return load_problem(problem, changes)
    if finger is None or not tree:
        raise DescriptionError(
            "expected a problem, or --finger with --photos, --videos, --hung, --releases or "
            f"--forces, found {'no measurements' if finger else 'nothing'}"
        )
    return problem_from({"finger": finger} | tree | changes, Path.cwd())


def _changes(settings: list[str]) -> dict[str, Any]:
    """Read changed fields of the calibration problem from ``--set``."""
    from softgrasp.description.calibration import CalibrationProblem
    from softgrasp.extensions import CALIBRATIONS

    kinds = [CalibrationProblem, *(CALIBRATIONS.load(kind, "problem") for kind in CALIBRATIONS)]
    known = {field for kind in kinds for field in kind.model_fields}
    changes = {}
    for setting in settings:
        field, equals, text = setting.partition("=")
        if not equals or field not in known:
            message = f"--set {setting}: expected FIELD=VALUE, found no field '{field}'"
            raise DescriptionError(f"{message}; {did_you_mean(field, known)}")
        value = plain_value(text)
        changes[field] = tuple(value) if isinstance(value, list) else value
    return changes


def _print_summary(result: AnyCalibrationResult, files: list[Path], as_json: bool) -> None:
    from softgrasp.calibration.result import document

    for text in result.warnings:
        terminal.show_message("warning", text)
    for finding in result.credibility.findings:
        terminal.show_message("error" if finding.refutes else "warning", finding.sentence)
    if as_json:
        whole = document(result)
        del whole["problem"]
        terminal.put_document(whole, files)
        return
    rows = [row for stage in result.stages for row in _stage_rows(stage, set(result.undetermined))]
    terminal.put_table(["stage", "parameter", "value", "unit", "error", "95 % interval", ""], rows)
    for stage in result.stages:
        held = stage.held_out_residual
        held_out = f", held out {held:.3g} {stage.residual_unit}" if held == held else ""
        terminal.put(
            f"{stage.name:<10}residual {stage.residual:.3g} {stage.residual_unit} rms{held_out}"
        )
    terminal.put(result.credibility.sentence)
    terminal.put_files(files)


def _print_advice(result: AnyCalibrationResult) -> None:
    if not result.advice:
        terminal.note("no advice: it needs method map and angles under weights")
        return
    rows = [
        [item.measurement, item.parameter, f"{100 * item.now:.3g} %", f"{100 * item.then:.3g} %"]
        for item in result.advice
    ]
    terminal.put_table(["next measurement", "parameter", "error now", "then"], rows)


def _stage_rows(stage: Any, undetermined: set[str]) -> list[list[str]]:
    from softgrasp.calibration.result import HUGE

    rows = []
    for name, unit, value, _, relative, (low, high), _, on_bound in stage.parameters:
        digits = f"{100 * relative:.2g} %" if unit else f"{relative:.2g}"
        error = digits if relative < HUGE else "–"
        remark = "not determined" if name in undetermined else ""
        remark = "on its bound" if on_bound else remark
        known = math.isfinite(low) and math.isfinite(high)
        interval = f"{low:.4g} … {high:.4g}" if known else "not determined"
        rows.append([stage.name, name, f"{value:.4g}", unit, error, interval, remark])
    return rows
