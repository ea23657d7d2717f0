"""``softgrasp grasp``: simulate one grasp."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer

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
    from softgrasp.cli.contact_models import CONTACT_MODELS
    from softgrasp.cli.job import Job, run_job
    from softgrasp.cli.output import default_directory
    from softgrasp.cli.scene_options import SceneOptions, require_known, scene_of
    from softgrasp.description.closures.known import CLOSURES
    from softgrasp.simulation.run import BACKENDS

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
