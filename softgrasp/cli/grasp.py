"""``softgrasp grasp``: simulate one grasp."""

from __future__ import annotations

import warnings
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from softgrasp._version import __version__
from softgrasp.cli import terminal
from softgrasp.cli.options import (
    DIVERGED,
    INTERRUPTED,
    NOT_HELD,
    PROBLEMS,
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
from softgrasp.cli.terminal import clear_earlier_run, require_writable, written
from softgrasp.description.scene import GraspScene
from softgrasp.errors import DescriptionError, SoftgraspWarning

if TYPE_CHECKING:
    from softgrasp.sim.result import GraspResult


Number = float | None
Triple = tuple[float, float, float] | None


class GraspName(StrEnum):
    """A hand's two grasps."""

    POWER = "power"
    PRECISION = "precision"


class Mount(StrEnum):
    """How the object can move."""

    FREE = "free"
    FIXED = "fixed"
    PLANAR = "planar"


class Actuation(StrEnum):
    """What drives the joints."""

    SERVO = "servo"
    PRESCRIBED = "prescribed"


def grasp(
    first: Annotated[
        str, typer.Argument(metavar="HAND|SCENE", help="Name or file of a hand, or of a scene.")
    ],
    second: Annotated[
        str | None, typer.Argument(metavar="OBJECT", help="Name or file of an object.")
    ] = None,
    units: Units = None,
    finger: Annotated[
        str | None,
        typer.Option(metavar="NAME|FILE", help="Soft finger in the place of the hand's own."),
    ] = None,
    density: Density = None,
    mass: Mass = None,
    grasp: Annotated[
        GraspName | None,
        typer.Option(
            help="Which of the hand's two grasps; else power, or precision within its payload."
        ),
    ] = None,
    position: Annotated[
        Triple,
        typer.Option(
            metavar="X Y Z", help="Centre of the object in the world [m]; else the grasp's."
        ),
    ] = None,
    euler_deg: Annotated[
        Triple,
        typer.Option(
            metavar="R P Y", help="Turns of the object about x, y, z [deg]; else the grasp's."
        ),
    ] = None,
    hand_euler_deg: Annotated[
        Triple,
        typer.Option(
            metavar="R P Y", help="Turns of the hand about x, y, z [deg]; 180 0 0 turns it over."
        ),
    ] = None,
    mount: Annotated[Mount | None, typer.Option(help="How the object can move; else free.")] = None,
    gravity: Annotated[
        bool | None,
        typer.Option(
            "--gravity/--no-gravity",
            help="9.81 m/s² down while closing; else none. A hand that reaches down for things "
            "then takes the object from a table and lifts it.",
        ),
    ] = None,
    gravity_vector: Annotated[
        Triple,
        typer.Option(
            metavar="X Y Z",
            help="Gravity of any direction while closing and in the hold test [m/s²]; with "
            "--no-gravity in the hold test only.",
        ),
    ] = None,
    further: Annotated[
        list[str] | None,
        typer.Option(
            "--object",
            metavar="NAME@X,Y,Z",
            help="Further object, with its centre in the world [m]; can be repeated.",
        ),
    ] = None,
    table: Annotated[
        bool | None,
        typer.Option("--table/--no-table", help="A table right under the object, or none."),
    ] = None,
    wall: Annotated[
        list[str] | None,
        typer.Option(
            metavar="X,Y,Z,NX,NY,NZ",
            help="Wall of 0.3 m by 0.3 m: middle of its face [m] and normal; can be repeated.",
        ),
    ] = None,
    self_contact: Annotated[
        bool | None,
        typer.Option(
            "--self-contact/--no-self-contact", help="Whether parts of the hand touch one another."
        ),
    ] = None,
    actuation: Annotated[
        Actuation | None,
        typer.Option(help="Servos with a force limit, or joints that obey whatever the load."),
    ] = None,
    closure: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="How the hand closes: softgrasp list closures; its numbers by --set closure.…",
        ),
    ] = None,
    pressure: Annotated[
        Number,
        typer.Option(metavar="PA", help="Working pressure of soft fingers [Pa]; else the grasp's."),
    ] = None,
    hold: Annotated[
        bool | None,
        typer.Option("--hold/--no-hold", help="After the closure let gravity grow: does it hold?"),
    ] = None,
    sequence: Annotated[
        str | None,
        typer.Option(
            metavar="PHASE,…",
            help="What wrist and fingers do one after the other: approach, preshape, close, hold, "
            "lift, move, shake, with their defaults.",
        ),
    ] = None,
    criterion: Annotated[
        str | None,
        typer.Option(
            metavar="NAME|FILE", help="What counts as held: softgrasp list criteria, or a file."
        ),
    ] = None,
    preshape: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Posture of the hand to start from; else the grasp's."),
    ] = None,
    lift: Annotated[
        bool | None,
        typer.Option("--lift/--no-lift", help="Take the object from a table and lift it 100 mm."),
    ] = None,
    contact_model: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="How bodies touch: softgrasp list contact-models."),
    ] = None,
    sensor: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME",
            help="What the hand feels with: softgrasp list sensors; can be repeated.",
        ),
    ] = None,
    contact_stiffness: Annotated[
        Number, typer.Option(metavar="K", help="Force over penetration [N/m]; else 1e5.")
    ] = None,
    contact_damping: Annotated[
        Number, typer.Option(metavar="D", help="Of the contact [N·s/m]; else 300.")
    ] = None,
    friction: Annotated[
        Number,
        typer.Option(metavar="MU", help="Static and dynamic; else that of the object's material."),
    ] = None,
    allow_softer_contact: Annotated[
        bool | None,
        typer.Option(
            "--allow-softer-contact", help="Go on where the time step is too large for K and D."
        ),
    ] = None,
    timestep: Annotated[
        Number, typer.Option(metavar="S", help="Of the physics [s]; else chosen for K and D.")
    ] = None,
    duration: Annotated[
        Number, typer.Option(metavar="S", help="Of the closure [s]; else until the hand rests.")
    ] = None,
    seed: Annotated[int | None, typer.Option(metavar="N", help="Random seed.")] = None,
    settings: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="FIELD=VALUE",
            help="Any field of the scene, such as closure.samples=5 or "
            "hand.fingers[0].phalanges[1].radius=0.01; can be repeated.",
        ),
    ] = None,
    backend: Annotated[
        str, typer.Option(metavar="NAME", help="Engine: softgrasp list backends.")
    ] = "mujoco",
    require_held: Annotated[
        bool, typer.Option("--require-held", help="Exit with 5 where it was not held.")
    ] = False,
    out: Out = None,
    renderer: Renderer = RendererChoice.AUTO,
    no_video: NoVideo = False,
    no_report: NoReport = False,
    json: Json = False,
) -> None:
    """Close a hand on an object and write what happened: numbers, figures, film and page.

    Names are those of softgrasp list; files are hands and scenes in YAML, objects in YAML or as
    a mesh (with --mass or --density). Without --out the files go to out/ and the scene's name.
    """
    from softgrasp.cli.scene_args import CONTACT_MODELS, SceneOptions, require_known, scene_of
    from softgrasp.cli.terminal import default_directory
    from softgrasp.description.closure import CLOSURES
    from softgrasp.sim.simulate import BACKENDS

    require_known("backend", backend, list(BACKENDS))
    if closure is not None:
        require_known("closure", closure, list(CLOSURES))
    if contact_model is not None:
        require_known("contact model", contact_model, list(CONTACT_MODELS))
    options = SceneOptions(
        finger=finger,
        units=None if units is None else units.value,
        density=density,
        mass=mass,
        grasp=grasp,
        position=position,
        euler_deg=euler_deg,
        hand_euler_deg=hand_euler_deg,
        mount=mount,
        gravity=gravity,
        gravity_vector=gravity_vector,
        objects=tuple(further or ()),
        table=table,
        walls=tuple(wall or ()),
        self_contact=self_contact,
        actuation=actuation,
        hold=hold,
        lift=lift,
        sequence=sequence,
        criterion=criterion,
        preshape=preshape,
        closure=closure,
        pressure=pressure,
        contact_model=contact_model,
        sensors=tuple(sensor or ()),
        contact_stiffness=contact_stiffness,
        contact_damping=contact_damping,
        friction=friction,
        allow_softer_contact=allow_softer_contact,
        timestep=timestep,
        duration=duration,
        seed=seed,
        settings=tuple(settings or ()),
    )
    scene = scene_of(first, second, options)
    job = Job(
        directory=out or default_directory(scene.name or f"{scene.hand.name}_{scene.object.name}"),
        renderer=renderer,
        video=not no_video,
        report=not no_report,
        backend=backend,
        require_held=require_held,
        json=json,
    )
    run_job(scene, job)


# --------------------
# One grasp from scene to files: simulate, write, tell.


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
    from softgrasp.io.files import listening

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
    from softgrasp.rendering.renderer import renderer_description

    return renderer_description(job.renderer)


def _simulated(scene: GraspScene, job: Job, update: terminal.ProgressCallback) -> GraspResult:
    from softgrasp.sim.engine import Interrupted
    from softgrasp.sim.simulate import simulate

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
    from softgrasp.report.grasp_page import write_report

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
    from softgrasp.sim.serialization import document

    for sentence in result.warnings:
        warnings.warn(sentence, SoftgraspWarning, stacklevel=2)  # told once, as at loading
    if job.json:
        extra: dict[str, Any] = {"files": [str(file) for file in files]}
        terminal.put_json(document(result) | extra | ({"renderer": drawn} if drawn else {}))
        return
    from softgrasp.cli.terminal import summary_lines

    for line in summary_lines(result):
        terminal.put(line)
    if drawn:
        terminal.put(f"pictures  {drawn}")
    terminal.put("files     " + "\n          ".join(map(str, files)))


def _leave(result: GraspResult, job: Job) -> None:
    from softgrasp.sim.result import GraspStatus

    if result.status is GraspStatus.DIVERGED:
        terminal.show_message("error", result.message)
        raise typer.Exit(DIVERGED)
    if job.require_held and not result.held:
        terminal.show_message("error", "--require-held: the object was not held")
        raise typer.Exit(NOT_HELD)


# --------------------
# ``softgrasp rerun``: repeat a result and compare.


def rerun(
    result_dir: Annotated[
        Path, typer.Argument(metavar="RESULT_DIR", help="Folder that holds a result.json.")
    ],
    out: Out = None,
    json: Json = False,
) -> None:
    """Repeat a result from its result.json and compare the trajectories bit for bit.

    Exits with 0 where they are equal and with 1 where they differ. With --out the new result is
    written there.
    """
    from softgrasp.cli.terminal import require_writable
    from softgrasp.io.result import RESULT_FILE, read_document
    from softgrasp.sim.serialization import load_result
    from softgrasp.sim.simulate import simulate

    directory = result_dir.parent if result_dir.name == RESULT_FILE else result_dir
    if out is not None:
        require_writable(out)
    before = load_result(directory)
    made_by = str(read_document(directory / RESULT_FILE).get("softgrasp_version"))
    with terminal.progress_bar() as update:
        after = simulate(
            before.scene,
            before.backend["name"],
            progress=lambda now: update(
                f"simulating {now:.3f} s", min(now / (before.simulated_time or 1.0), 1.0)
            ),
        )
    notes = _other_versions(before, after, made_by)
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
"""Of what is compared; what has none or several is left out."""


def _differences(before: GraspResult, after: GraspResult) -> list[str]:
    """Which arrays differ, and by how much at most."""
    import numpy as np

    differences = []
    repeated = after.trajectory()
    for name, array in before.trajectory().items():
        other = repeated[name]
        if array.shape != other.shape:
            differences.append(f"{name}: shape {array.shape}, repeated {other.shape}")
        elif array.dtype.kind == "f" and not np.array_equal(array, other):
            unit = f" {UNITS[name]}" if name in UNITS else ""
            differences.append(f"{name}: by {np.abs(array - other).max():.3g}{unit} at most")
        elif not np.array_equal(array, other):
            differences.append(f"{name}: other values")
    return differences


def _other_versions(before: GraspResult, after: GraspResult, made_by: str) -> list[str]:
    notes = []
    if made_by != __version__:
        notes.append(f"made by softgrasp {made_by}, repeated by {__version__}")
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
