"""Verbs of one grasp: ``grasp``, ``demo``, ``explain``, ``rerun`` and ``report``."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer import Argument, Option

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
from softgrasp.extensions import DEMOS as EXTENSION_DEMOS
from softgrasp.io.files import RESULT_FILE, listening

if TYPE_CHECKING:
    from softgrasp.description.resolved import ResolvedScene
    from softgrasp.description.scene import GraspScene
    from softgrasp.evaluation.result import GraspResult
    from softgrasp.rendering.viewpoint import Viewpoint
    from softgrasp.sweeps.ensemble import EnsembleResult

Repeat = Callable[["GraspScene", terminal.ProgressCallback], "EnsembleResult"]
"""Repeats a grasp with fingers of a posterior."""
DEMOS = {"main": "demo", "soft": "demo_soft"}
"""Demonstrations of grasps, and the scene of each."""
HYDRAULIC = "hydraulic"
"""The demonstration that takes torques."""


@with_scene_options()
def grasp(
    first: Annotated[
        str, Argument(metavar="HAND|SCENE", help="Name or file of a hand, or of a scene.")
    ],
    second: Annotated[
        str | None, Argument(metavar="OBJECT", help="Name or file of an object.")
    ] = None,
    *,
    options: SceneOptions,
    backend: Annotated[
        str, Option(metavar="NAME", help="Engine: softgrasp list backends.")
    ] = "mujoco",
    require_held: Annotated[
        bool, Option("--require-held", help="Exit with 5 where the object was not held.")
    ] = False,
    ensemble: Annotated[
        int | None,
        Option(
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
    name = scene.name or f"{scene.hand.name}_{scene.object.name}"
    job = Job(
        directory=output_directory(name, out, force=force),
        renderer=renderer,
        video=not no_video,
        video_size=pixels,
        viewpoint=viewpoint,
        report=not no_report,
        backend=backend,
        require_held=require_held,
        json=json,
        ensemble=None if ensemble is None else _ensemble(options, ensemble, backend, workers),
    )
    run_job(scene, job)


def _ensemble(options: SceneOptions, size: int, backend: str, workers: int | None) -> Repeat:
    """Return the function that repeats a grasp with fingers of ``--finger``, which is checked."""
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
    except DescriptionError as error:
        raise DescriptionError(f"--ensemble: {error.message}") from None

    def repeat(scene: GraspScene, update: terminal.ProgressCallback) -> EnsembleResult:
        from softgrasp.sweeps.ensemble import grasp_ensemble

        def progress(done: int, count: int) -> None:
            update(f"simulating fingers of the posterior, {done} of {count}", done / count)

        seed = options.seed or 0
        return grasp_ensemble(scene, known, size, seed, workers=workers, progress=progress)

    return repeat


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
    ensemble: Repeat | None = None


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
        ensemble = job.ensemble and job.ensemble(scene, update)
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
        terminal.note(
            f"interrupted at {stop.result.simulated_time:.3f} s of the run, which is written up to "
            f"there: {files}"
        )
        raise typer.Exit(INTERRUPTED) from None


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
    result: GraspResult, files: list[Path], renderer: str, job: Job, ensemble: EnsembleResult | None
) -> None:
    from softgrasp.evaluation.result_files import document

    for sentence in result.warnings:
        warnings.warn(sentence, SoftgraspWarning, stacklevel=2)  # shown once
    if job.json:
        extra = {"ensemble": ensemble and ensemble.document(), "renderer": renderer}
        shown = {name: value for name, value in extra.items() if value}
        terminal.put_document(document(result) | shown, files)
        return
    for line in summary_lines(result):
        terminal.put(line)
    if renderer:
        terminal.put(f"images    {renderer}")
    if ensemble is not None:
        from softgrasp.report.contact_figures import band_rows

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
    from softgrasp.report import grasp_tables as tables
    from softgrasp.report import grasp_text as text

    scene = result.scene
    mass = object_mass(scene.object)
    weight = f"{1e3 * mass:.3g} g" if mass < 1.0 else f"{mass:.3g} kg"
    support = text.support_clause(result).removeprefix("At the end ")
    clauses = {
        "grasp": f"{scene.hand.name} closes on {scene.object.name} ({scene.grasp} grasp, {weight})",
        "outcome": f"{result.outcome.name}: {result.message}",
        "contacts": text.contact_clause(result),
        "forces": text.force_clause(result),
        "object": f"{text.motion_clause(result)}. {text.hold_clause(result)}",
        "beside": text.others_clause(result).removeprefix("Beside it, "),
        "load": text.load_clause(result),
        "sag": text.sag_clause(result),
        "support": support and f"{support} at the end",
        "sensors": text.sensor_clause(result) if result.sensors else "",
        "stiffness": tables.stiffness_verdict(result),
        "cost": f"{result.simulated_time:.3f} s simulated in {result.wall_time:.2f} s; "
        f"time step {result.contact_model.steps_text}",
    }
    return [f"{name:<10}{clause}" for name, clause in clauses.items() if clause]


def rerun(
    result_dir: Annotated[
        Path, Argument(metavar="RESULT_DIR", help="Directory with a result.json.")
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
    files = after.save(out) if out is not None else []
    comparison = _compare(before, after, writer) | {"files": [str(file) for file in files]}
    if json:
        terminal.put_json(comparison)
    else:
        for line in _comparison_lines(comparison):
            terminal.put(line)
    if not comparison["equal"]:
        raise typer.Exit(PROBLEMS)


def _compare(before: GraspResult, after: GraspResult, writer: str) -> dict[str, Any]:
    """Compare trajectories, and the versions of softgrasp and engine, of two runs."""
    notes = []
    if writer != __version__:
        notes.append(f"made by softgrasp {writer}, repeated by {__version__}")
    old, new = before.backend["version"], after.backend["version"]
    if old != new:
        notes.append(f"made with {before.backend['name']} {old}, repeated with {new}")
    equal = before.trajectory_sha256 == after.trajectory_sha256
    return {
        "equal": equal,
        "trajectory_sha256": before.trajectory_sha256,
        "repeated_sha256": after.trajectory_sha256,
        "status": before.status.name,
        "repeated_status": after.status.name,
        **({} if equal else {"differences": _differences(before, after)}),
        "notes": notes,
    }


def _comparison_lines(comparison: dict[str, Any]) -> list[str]:
    verdict = f"equal: trajectory {comparison['trajectory_sha256']}"
    if not comparison["equal"]:
        verdict = f"different: trajectory {comparison['trajectory_sha256']}, "
        verdict += f"repeated {comparison['repeated_sha256']}"
    differences = [f"  {text}" for text in comparison.get("differences", [])]
    written = [f"wrote {file}" for file in comparison["files"]]
    return [*comparison["notes"], verdict, *differences, *written]


def _differences(before: GraspResult, after: GraspResult) -> list[str]:
    """Describe the arrays that differ, each with its maximum difference."""
    import numpy as np

    differences, repeated = [], after.trajectory()
    for name, array in before.trajectory().items():
        other = repeated[name]
        if array.shape != other.shape:
            differences.append(f"{name}: shape {array.shape}, repeated {other.shape}")
        elif array.dtype.kind == "f" and not np.array_equal(array, other):
            differences.append(f"{name}: up to {np.abs(array - other).max():.3g} (SI units)")
        elif not np.array_equal(array, other):
            differences.append(f"{name}: other values")
    return differences


def demo(
    name: Annotated[
        str, Argument(metavar="NAME", help="Which one: main, soft, hydraulic or twin.")
    ] = "main",
    torques: Annotated[
        str | None, Option(metavar="FILE", help="hydraulic: torques in CSV: time_s, torque_1, …")
    ] = None,
    out: Out = None,
    force: Force = False,
    renderer: Renderer = "auto",
    no_video: NoVideo = False,
    no_report: NoReport = False,
    json: Json = False,
) -> None:
    """Run the default demonstration: a four-fingered hand grasps and holds a strawberry.

    soft: two pneumatic fingers grasp the strawberry on a table and lift it.
    hydraulic: an arm of two sections bends under the water that motors press into its chambers.
    twin: a digital twin follows a pneumatic gripper on a robot over Modbus TCP.
    """
    if name not in DEMOS and name not in EXTENSION_DEMOS:
        require_known("demonstration", name, [*DEMOS, *EXTENSION_DEMOS])
    if torques is not None and name != HYDRAULIC:
        raise DescriptionError(f"--torques: expected the demonstration hydraulic, found {name}")
    outputs: dict[str, Any] = {
        "renderer": renderer, "video": not no_video, "report": not no_report, "json": json,
    }  # fmt: skip
    if name not in DEMOS:
        inputs = [torques] if name == HYDRAULIC else []
        EXTENSION_DEMOS.load(name)(
            terminal.output_directory(f"demo_{name}", out, force=force), *inputs, **outputs
        )
        return
    from softgrasp.io.scene import load_scene

    directory = terminal.output_directory(DEMOS[name], out, force=force)
    run_job(load_scene(DEMOS[name]), Job(directory=directory, **outputs))


@with_scene_options()
def explain(
    first: Annotated[
        str,
        Argument(
            metavar="HAND|SCENE|RESULT_DIR",
            help="Name or file of a hand or a scene, or the directory of a result.",
        ),
    ],
    second: Annotated[
        str | None, Argument(metavar="OBJECT", help="Name or file of an object.")
    ] = None,
    *,
    options: SceneOptions,
    field: Annotated[
        str | None,
        Option(metavar="TEXT", help="Only fields whose path contains it: contact, closure."),
    ] = None,
    out: Out = None,
    json: Json = False,
) -> None:
    """Print every value of a grasp and who states it, before it is simulated.

    Values are those that ``softgrasp grasp`` takes for the same words: said, of the file of the
    hand or the object, of the material, computed, or default. Of a result they are those of its
    run. Where a grasp has to be found for the object, its trials are simulated once and kept. With
    --out the values are written to resolved.json there.
    """
    resolved = _resolved(first, second, options)
    values = [value for value in resolved.values if field is None or field in value.field]
    entries = [value.model_dump(mode="json", exclude_defaults=True) for value in values]
    document = {"timestep_s": resolved.timestep, "values": entries}
    if out is not None:
        terminal.save_json(document, out / "resolved.json")
    if json:
        terminal.put_json(document)
        return
    rows = [value.row for value in values if value.is_set]
    terminal.put_table(["field", "value", "source", "reason"], rows)


def _resolved(first: str, second: str | None, options: SceneOptions) -> ResolvedScene:
    directory = Path(first)
    if second is None and (directory / RESULT_FILE).is_file():
        from softgrasp.evaluation.result_files import load_result

        if options.changed:
            raise DescriptionError(f"{first}: expected a result as it is, found options of a scene")
        result = load_result(directory)
        if result.resolved is None:
            raise DescriptionError(f"{first}: {RESULT_FILE} has no origins of values; simulate it")
        return result.resolved
    require_scene(first, second)
    from softgrasp.cli.scene_args import scene_of
    from softgrasp.resolution.resolve import resolve

    return resolve(scene_of(first, second, options))


def report(
    directory: Annotated[Path, Argument(metavar="FOLDER", help="Directory of a result.")],
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
        terminal.put_document({}, files)
    else:
        terminal.put_files(files)
