"""``softgrasp grasp``: simulate one grasp."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer

from softgrasp.cli.options import Json, NoReport, NoVideo, Out, Renderer, RendererChoice

Number = float | None
Triple = tuple[float, float, float] | None
SCENE, CONTACT, RUN = "The scene", "Contact and time", "The run"


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
        str | None, typer.Argument(metavar="[OBJECT]", help="Name or file of an object.")
    ] = None,
    density: Annotated[
        Number, typer.Option(metavar="R", help="Of the object [kg/m³].", rich_help_panel=SCENE)
    ] = None,
    mass: Annotated[
        Number, typer.Option(metavar="M", help="Of the object [kg].", rich_help_panel=SCENE)
    ] = None,
    grasp: Annotated[
        GraspName | None,
        typer.Option(help="Which of the hand's grasps.", rich_help_panel=SCENE),
    ] = None,
    position: Annotated[
        Triple,
        typer.Option(
            metavar="X Y Z", help="Of the object in the world [m].", rich_help_panel=SCENE
        ),
    ] = None,
    euler_deg: Annotated[
        Triple,
        typer.Option(
            metavar="R P Y", help="Of the object, about x, y, z [deg].", rich_help_panel=SCENE
        ),
    ] = None,
    mount: Annotated[
        Mount | None, typer.Option(help="How the object can move.", rich_help_panel=SCENE)
    ] = None,
    gravity: Annotated[
        bool | None,
        typer.Option("--gravity/--no-gravity", help="9.81 m/s² down.", rich_help_panel=SCENE),
    ] = None,
    actuation: Annotated[
        Actuation | None, typer.Option(help="What drives the joints.", rich_help_panel=SCENE)
    ] = None,
    closure: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="How the hand closes.", rich_help_panel=SCENE),
    ] = None,
    hold: Annotated[
        bool | None,
        typer.Option(
            "--hold/--no-hold", help="Test whether it holds the object.", rich_help_panel=SCENE
        ),
    ] = None,
    seed: Annotated[
        int | None, typer.Option(metavar="N", help="Kept with the scene.", rich_help_panel=SCENE)
    ] = None,
    contact_stiffness: Annotated[
        Number, typer.Option(metavar="K", help="[N/m]", rich_help_panel=CONTACT)
    ] = None,
    contact_damping: Annotated[
        Number, typer.Option(metavar="D", help="[N·s/m]", rich_help_panel=CONTACT)
    ] = None,
    friction: Annotated[
        Number, typer.Option(metavar="MU", help="Static and dynamic.", rich_help_panel=CONTACT)
    ] = None,
    allow_softer_contact: Annotated[
        bool | None,
        typer.Option(
            "--allow-softer-contact",
            help="Go on where the time step is too large for the contact.",
            rich_help_panel=CONTACT,
        ),
    ] = None,
    timestep: Annotated[
        Number, typer.Option(metavar="S", help="Of the physics [s].", rich_help_panel=CONTACT)
    ] = None,
    duration: Annotated[
        Number, typer.Option(metavar="S", help="Of the closure [s].", rich_help_panel=CONTACT)
    ] = None,
    settings: Annotated[
        list[str] | None,
        typer.Option(
            "--set", metavar="FIELD=VALUE", help="Any field of the scene.", rich_help_panel=SCENE
        ),
    ] = None,
    backend: Annotated[
        str, typer.Option(metavar="NAME", help="Engine.", rich_help_panel=RUN)
    ] = "mujoco",
    require_held: Annotated[
        bool,
        typer.Option(
            "--require-held", help="Exit with 5 where it was not held.", rich_help_panel=RUN
        ),
    ] = False,
    out: Out = None,
    renderer: Renderer = RendererChoice.AUTO,
    no_video: NoVideo = False,
    no_report: NoReport = False,
    json: Json = False,
) -> None:
    """Close a hand on an object and write what happened: numbers, figures, film and page.

    Names are those of `softgrasp list`; files are hands and scenes in YAML, objects in YAML or as
    a mesh (with --mass or --density).
    """
    from softgrasp.cli.closures import CLOSURES
    from softgrasp.cli.job import Job, run_job
    from softgrasp.cli.output import default_folder
    from softgrasp.cli.scene_options import SceneOptions, require_known, scene_of
    from softgrasp.simulation.run import BACKENDS

    require_known("backend", backend, list(BACKENDS))
    require_known("closure", closure or "position-increment", list(CLOSURES))
    options = SceneOptions(
        density=density,
        mass=mass,
        grasp=grasp,
        position=position,
        euler_deg=euler_deg,
        mount=mount,
        gravity=gravity,
        actuation=actuation,
        contact_stiffness=contact_stiffness,
        contact_damping=contact_damping,
        friction=friction,
        allow_softer_contact=allow_softer_contact,
        timestep=timestep,
        duration=duration,
        hold=hold,
        seed=seed,
        settings=tuple(settings or ()),
    )
    scene = scene_of(first, second, options)
    job = Job(
        folder=out or default_folder(scene.name or f"{scene.hand.name}_{scene.object.name}"),
        renderer=renderer,
        video=not no_video,
        page=not no_report,
        backend=backend,
        require_held=require_held,
        json=json,
    )
    run_job(scene, job)
