"""``softgrasp grasp`` and ``softgrasp rerun``: simulate one grasp, or repeat a result."""

from __future__ import annotations

import warnings
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from softgrasp._version import __version__
from softgrasp.cli import terminal
from softgrasp.cli.names import require_known, require_scene
from softgrasp.cli.options import (
    DEFAULT_VIDEO_SIZE,
    DIVERGED,
    INTERRUPTED,
    NOT_HELD,
    PROBLEMS,
    CameraOption,
    Force,
    Json,
    NoReport,
    NoVideo,
    Out,
    Renderer,
    SceneOptions,
    VideoSize,
    Workers,
    size_of,
    viewpoint_of,
    with_scene_options,
)
from softgrasp.cli.terminal import (
    clear_earlier_run,
    existing_files,
    output_directory,
    require_writable,
)
from softgrasp.errors import DescriptionError, SoftgraspWarning
from softgrasp.io.files import RESULT_FILE, listening

if TYPE_CHECKING:
    from softgrasp.description.scene import GraspScene
    from softgrasp.evaluation.result import GraspResult
    from softgrasp.io.finger_ensemble import FingerEnsemble
    from softgrasp.rendering.viewpoint import Viewpoint
    from softgrasp.sweeps.ensemble import EnsembleResult

UNITS = {
    "time": "s",
    "joint_position": "rad or m",
    "object_position": "m",
    "object_positions": "m",
    "object_nodes": "m",
    "normal_force": "N",
    "friction_force": "N",
    "object_normal_force": "N",
    "pressure": "Pa",
    "curvature": "1/m",
}
"""Units of a result's arrays; those without a unit, or with several, are left out."""


@with_scene_options()
def grasp(
    first: Annotated[
        str, typer.Argument(metavar="HAND|SCENE", help="Name or file of a hand, or of a scene.")
    ],
    second: Annotated[
        str | None, typer.Argument(metavar="OBJECT", help="Name or file of an object.")
    ] = None,
    *,
    options: SceneOptions,
    backend: Annotated[
        str, typer.Option(metavar="NAME", help="Engine: softgrasp list backends.")
    ] = "mujoco",
    require_held: Annotated[
        bool, typer.Option("--require-held", help="Exit with 5 where the object was not held.")
    ] = False,
    ensemble: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            help="Repeat with N fingers of the posterior of --finger, a finger.yaml of softgrasp "
            "calibrate, for bands of force and displacement and the success rate.",
        ),
    ] = None,
    workers: Workers = None,
    out: Out = None,
    force: Force = False,
    renderer: Renderer = "auto",
    no_video: NoVideo = False,
    video_size: VideoSize = None,
    camera: CameraOption = None,
    no_report: NoReport = False,
    json: Json = False,
) -> None:
    """Close a hand on an object and write the result: numbers, figures, video and report.

    Names are those of softgrasp list; files are hands and scenes in YAML, objects in YAML, URDF,
    MJCF or as a mesh (with --mass or --density), or the directory of an object. Without --out the
    files go to out/ and the scene's name, with a number where that is taken.
    Where the grasp of the hand does not hold the object in a short trial, one is computed for it;
    --grasp names a grasp of the hand, which is taken as it is.
    Exits with 0 where the outcome is HELD, or CLOSED without a hold test, 4 where the simulation is
    UNSTABLE, and 1 with any other outcome.
    """
    require_scene(first, second)
    from softgrasp.cli.scene_args import CONTACT_MODELS, scene_of
    from softgrasp.description.closure import CLOSURES
    from softgrasp.sim.engines import engine_names

    require_known("backend", backend, engine_names())
    if options.closure is not None:
        require_known("closure", options.closure, CLOSURES)
    if options.contact_model is not None:
        require_known("contact model", options.contact_model, CONTACT_MODELS)
    scene = scene_of(first, second, options)
    pixels, viewpoint = size_of(video_size), viewpoint_of(camera)
    known = None if ensemble is None else _known_fingers(options, ensemble, backend)
    job = Job(
        directory=output_directory(
            scene.name or f"{scene.hand.name}_{scene.object.name}", out, force=force
        ),
        renderer=renderer,
        video=not no_video,
        video_size=pixels,
        viewpoint=viewpoint,
        report=not no_report,
        backend=backend,
        require_held=require_held,
        json=json,
        ensemble=known,
        ensemble_size=ensemble or 0,
        ensemble_seed=options.seed or 0,
        workers=workers,
    )
    run_job(scene, job)


def _known_fingers(options: SceneOptions, size: int, backend: str) -> FingerEnsemble:
    """Return the ensemble of ``--finger`` after checking its size."""
    from softgrasp.io.finger_ensemble import load_finger_ensemble
    from softgrasp.io.yaml_files import yaml_path

    if options.finger is None:
        raise DescriptionError(
            "--ensemble: expected --finger FILE, a finger.yaml of softgrasp calibrate, found none"
        )
    if backend != "mujoco":
        raise DescriptionError(f"--ensemble: expected the backend mujoco, found '{backend}'")
    try:
        known = load_finger_ensemble(yaml_path("fingers", options.finger))
        known.drawn(size)
        return known
    except DescriptionError as error:
        raise DescriptionError(f"--ensemble: {error.message}") from None


@dataclass(frozen=True, kw_only=True)
class Job:
    """Which outputs of a simulated scene are written, and their directory."""

    directory: Path
    renderer: str = "auto"
    video: bool = True
    video_size: tuple[int, int] = DEFAULT_VIDEO_SIZE
    viewpoint: Viewpoint | None = None
    report: bool = True
    backend: str = "mujoco"
    require_held: bool = False
    json: bool = False
    ensemble: FingerEnsemble | None = None
    ensemble_size: int = 0
    ensemble_seed: int = 0
    workers: int | None = None


def run_job(scene: GraspScene, job: Job) -> None:
    """Simulate a scene, write its files and print a summary.

    The numbers are written first, and every file whole or not at all, so that an interrupt leaves
    only valid files; the finished part of an interrupted run is written, too.

    Raises:
        SoftgraspError: Something is wrong or missing; detected before the run where possible.
        typer.Exit: The object was not held, the run was unstable or interrupted.
    """
    if job.require_held and scene.success is None and scene.lift is None:
        raise DescriptionError(
            "--require-held: expected a scene with a hold test or a lift, found none; add --hold"
        )
    require_writable(job.directory)
    # OpenGL is tried in another process, which takes as long as a small run
    with (
        ThreadPoolExecutor(max_workers=1) as executor,
        terminal.progress_bar() as update,
        listening(update),
    ):
        renderer = executor.submit(_renderer_text, job)
        if job.renderer == "gl":
            renderer.result()
        result = _simulate(scene, job, update)
        ensemble = _simulate_ensemble(scene, job, update)
        files = _write(result, job, update, ensemble)
    _print_summary(result, files, renderer.result(), job, ensemble)
    _exit_with_code(result, job)


def _renderer_text(job: Job) -> str:
    """Return a line about the renderer; raises BackendUnavailable where it does not work."""
    if job.renderer == "none" or not (job.video or job.report):
        return ""
    from softgrasp.rendering.renderer import renderer_description

    return renderer_description(job.renderer)


def _simulate(scene: GraspScene, job: Job, update: terminal.ProgressCallback) -> GraspResult:
    from softgrasp.evaluation.result import Interrupted
    from softgrasp.pipeline import simulate

    limit = None if scene.duration is None else scene.duration + scene.time_besides_closing

    def progress(now: float) -> None:
        update(f"simulating {now:.3f} s", None if limit is None else now / limit)

    try:
        return simulate(scene, job.backend, progress=progress)
    except Interrupted as stop:
        clear_earlier_run(job.directory)
        files = ", ".join(map(str, stop.result.save(job.directory)))
        now = stop.result.simulated_time
        terminal.note(
            f"interrupted at {now:.3f} s of the run, which is written up to there: {files}"
        )
        raise typer.Exit(INTERRUPTED) from None


def _simulate_ensemble(
    scene: GraspScene, job: Job, update: terminal.ProgressCallback
) -> EnsembleResult | None:
    if job.ensemble is None:
        return None
    from softgrasp.sweeps.ensemble import grasp_ensemble

    def progress(done: int, count: int) -> None:
        update(f"simulating fingers of the posterior, {done} of {count}", done / count)

    return grasp_ensemble(
        scene, job.ensemble, job.ensemble_size, job.ensemble_seed, workers=job.workers,
        progress=progress,
    )  # fmt: skip


def _write(
    result: GraspResult,
    job: Job,
    update: terminal.ProgressCallback,
    ensemble: EnsembleResult | None,
) -> list[Path]:
    from softgrasp.report.grasp_report import write_report

    if clear_earlier_run(job.directory):
        terminal.note(
            f"replacing the earlier run in {job.directory}; another --out DIR would keep both"
        )
    try:
        saved = [] if ensemble is None else [ensemble.save(job.directory)]
        return saved + write_report(
            result,
            job.directory,
            renderer=job.renderer,
            video=job.video,
            video_size=job.video_size,
            viewpoint=job.viewpoint,
            report=job.report,
            progress=lambda file, done: update(f"writing {file}", done),
            ensemble=ensemble,
        )
    except KeyboardInterrupt:
        files = ", ".join(map(str, existing_files(job.directory))) or "nothing"
        terminal.note(f"interrupted while writing; finished and valid: {files}")
        raise typer.Exit(INTERRUPTED) from None


def _print_summary(
    result: GraspResult,
    files: list[Path],
    renderer: str,
    job: Job,
    ensemble: EnsembleResult | None,
) -> None:
    from softgrasp.evaluation.result_files import document

    for sentence in result.warnings:
        warnings.warn(sentence, SoftgraspWarning, stacklevel=2)  # shown once
    if job.json:
        extra: dict[str, Any] = {"files": [str(file) for file in files]}
        if ensemble is not None:
            extra["ensemble"] = ensemble.document()
        terminal.put_json(document(result) | extra | ({"renderer": renderer} if renderer else {}))
        return
    for line in summary_lines(result):
        terminal.put(line)
    if renderer:
        terminal.put(f"images    {renderer}")
    if ensemble is not None:
        from softgrasp.report.ensemble import band_rows

        terminal.put(f"ensemble  {ensemble.sentence}")
        heads = ["quantity", "calibrated finger", "2.5 %", "median", "97.5 %"]
        terminal.put_table(heads, band_rows(ensemble))
    terminal.put_files(files)


def _exit_with_code(result: GraspResult, job: Job) -> None:
    from softgrasp.evaluation.outcome import Outcome

    if result.outcome is Outcome.UNSTABLE:
        terminal.show_message("error", result.message)
        raise typer.Exit(DIVERGED)
    if job.require_held and not (result.held and result.outcome.is_success):
        terminal.show_message("error", "--require-held: the object was not held")
        raise typer.Exit(NOT_HELD)
    if not result.outcome.is_success:
        raise typer.Exit(PROBLEMS)


def summary_lines(result: GraspResult) -> list[str]:
    """Return lines on grasp, outcome, contacts, forces, object, hold test, sensors and run time."""
    from softgrasp.model.object import object_mass
    from softgrasp.report import grasp_text

    scene, model = result.scene, result.contact_model
    kilograms = object_mass(scene.object)
    mass = f"{1e3 * kilograms:.3g} g" if kilograms < 1.0 else f"{kilograms:.3g} kg"
    hand = f"{scene.hand.name} closes on {scene.object.name} ({scene.grasp} grasp, {mass})"
    run = f"{result.simulated_time:.3f} s simulated in {result.wall_time:.2f} s"
    sensors = [f"sensors   {grasp_text.sensor_clause(result)}"] if result.sensors else []
    others = grasp_text.others_clause(result)
    support = grasp_text.support_clause(result)
    load, sag = grasp_text.load_clause(result), grasp_text.sag_clause(result)
    further = [f"beside    {others.removeprefix('Beside it, ')}"] if others else []
    further += [f"load      {load}"] if load else []
    further += [f"sag       {sag}"] if sag else []
    further += [f"support   {support.removeprefix('At the end ')} at the end"] if support else []
    return [
        f"grasp     {hand}",
        f"outcome   {result.outcome.name}: {result.message}",
        f"contacts  {grasp_text.contact_clause(result)}",
        f"forces    {grasp_text.force_clause(result)}",
        f"object    {grasp_text.motion_clause(result)}. {grasp_text.hold_clause(result)}",
        *further,
        *sensors,
        f"stiffness {_stiffness_clause(result)}",
        f"cost      {run}; time step {model.steps_text}",
    ]


def _stiffness_clause(result: GraspResult) -> str:
    """Describe the contact stiffness that was requested, and that measured at the end."""
    from softgrasp.report.formatting import group_digits

    model = result.contact_model
    measured = model.measured_stiffness_N_m
    if not model.requested.converted or result.scene.object.elasticity is not None:
        span = f", measured {min(measured.values()):.4g} … {max(measured.values()):.4g} N/m"
        return "not requested" + (span if measured else "")
    requested = f"{group_digits(model.requested.stiffness)} N/m requested"
    if model.used.stiffness != model.requested.stiffness:
        requested += f", {group_digits(model.used.stiffness)} N/m set, as the time step needs"
    if not measured:
        return f"{requested}, nothing in contact to measure it"
    ratios = [value / model.set_stiffness(pair) for pair, value in measured.items()]
    deviation = max(abs(ratio - 1.0) for ratio in ratios)
    return f"{requested}, measured within {100.0 * max(1e-4, deviation):.2g} % of what was set"


def rerun(
    result_dir: Annotated[
        Path, typer.Argument(metavar="RESULT_DIR", help="Directory with a result.json.")
    ],
    out: Out = None,
    json: Json = False,
) -> None:
    """Repeat a result from its result.json and compare the trajectories bit for bit.

    Exits with 0 where they are equal and with 1 where they differ. With --out the new result is
    written there.
    """
    from softgrasp.evaluation.result_files import load_result, require_scene_files
    from softgrasp.io.result import read_document
    from softgrasp.pipeline import simulate

    directory = result_dir.parent if result_dir.name == RESULT_FILE else result_dir
    if out is not None:
        out = output_directory("rerun", out)
        require_writable(out)
    before = load_result(directory)
    require_scene_files(directory)
    writer = str(read_document(directory / RESULT_FILE).get("softgrasp_version"))
    with terminal.progress_bar() as update:
        after = simulate(
            before.resolved or before.scene,
            before.backend["name"],
            progress=lambda now: update(
                f"simulating {now:.3f} s", min(now / (before.simulated_time or 1.0), 1.0)
            ),
        )
    notes = _version_notes(before, after, writer)
    files = after.save(out) if out is not None else []
    comparison = _comparison(before, after) | {"notes": notes, "files": [str(f) for f in files]}
    if json:
        terminal.put_json(comparison)
    else:
        _print_rerun(comparison)
    if not comparison["equal"]:
        raise typer.Exit(PROBLEMS)


def _comparison(before: GraspResult, after: GraspResult) -> dict[str, Any]:
    equal = before.trajectory_sha256 == after.trajectory_sha256
    comparison = {
        "equal": equal,
        "trajectory_sha256": before.trajectory_sha256,
        "repeated_sha256": after.trajectory_sha256,
        "status": before.status.name,
        "repeated_status": after.status.name,
    }
    return comparison if equal else comparison | {"differences": _differences(before, after)}


def _differences(before: GraspResult, after: GraspResult) -> list[str]:
    """Describe the arrays that differ, each with its maximum difference."""
    import numpy as np

    differences = []
    repeated = after.trajectory()
    for name, array in before.trajectory().items():
        other = repeated[name]
        if array.shape != other.shape:
            differences.append(f"{name}: shape {array.shape}, repeated {other.shape}")
        elif array.dtype.kind == "f" and not np.array_equal(array, other):
            unit = f" {UNITS[name]}" if name in UNITS else ""
            differences.append(f"{name}: up to {np.abs(array - other).max():.3g}{unit}")
        elif not np.array_equal(array, other):
            differences.append(f"{name}: other values")
    return differences


def _version_notes(before: GraspResult, after: GraspResult, writer: str) -> list[str]:
    """Describe differences in the versions of softgrasp and engine from the first run."""
    notes = []
    if writer != __version__:
        notes.append(f"made by softgrasp {writer}, repeated by {__version__}")
    old, new = before.backend["version"], after.backend["version"]
    if old != new:
        notes.append(f"made with {before.backend['name']} {old}, repeated with {new}")
    return notes


def _print_rerun(comparison: dict[str, Any]) -> None:
    for sentence in comparison["notes"]:
        terminal.put(sentence)
    if comparison["equal"]:
        terminal.put(f"equal: trajectory {comparison['trajectory_sha256']}")
    else:
        terminal.put(
            f"different: trajectory {comparison['trajectory_sha256']}, "
            f"repeated {comparison['repeated_sha256']}"
        )
        for difference in comparison["differences"]:
            terminal.put(f"  {difference}")
    for file in comparison["files"]:
        terminal.put(f"wrote {file}")
