"""Options that several verbs share, the one table of scene options, and exit codes.

``SceneOptions`` is that table: a dataclass whose fields are the Typer options that change a scene.
``with_scene_options`` gives a verb one option per field; names, types, units and help texts stand
nowhere else.
"""

from __future__ import annotations

import functools
import inspect
import math
import warnings
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, ParamSpec, get_args, get_type_hints

import typer
from typer import Option

from softgrasp.cli import terminal
from softgrasp.errors import (
    BackendUnavailable,
    DescriptionError,
    DivergedError,
    SoftgraspError,
    SoftgraspWarning,
    missing_library,
)
from softgrasp.units import LENGTH_UNITS, LengthUnit

if TYPE_CHECKING:
    from softgrasp.rendering.viewpoint import Viewpoint

PROBLEMS, WRONG_INPUT, MISSING, DIVERGED, NOT_HELD, INTERRUPTED = 1, 2, 3, 4, 5, 130
"""Exit codes; 0 where the job ran, for a grasp only where the object is held or grasped."""

DEFAULT_VIDEO_SIZE = (640, 480)
"""Width and height of a video [px]."""
MIN_PIXELS, MAX_PIXELS = 64, 4096
"""Limits of width and height of a video [px]."""

Json = Annotated[
    bool, Option("--json", help="One JSON document on standard output, nothing else there.")
]
Out = Annotated[Path | None, Option("--out", "-o", metavar="DIR", help="Output directory.")]
Force = Annotated[
    bool, Option("--force", help="Replace an earlier result; else the name in out/ gets a number.")
]
NoVideo = Annotated[bool, Option("--no-video", help="Make no video.")]
VideoSize = Annotated[
    str | None, Option(metavar="WxH", help="Size of the video [px]; else 640x480.")
]
CameraOption = Annotated[
    str | None,
    Option(
        "--camera",
        metavar="AZ,EL[,DIST]",
        help="Camera of video and key frames: azimuth and elevation [deg], distance [m]; or front, "
        "back, left, right, top. Else the one that sees most of hand and object.",
    ),
]
NoReport = Annotated[bool, Option("--no-report", help="Draw no figures, write no report.")]
Renderer = Annotated[
    Literal["auto", "gl", "raycast", "none"],
    Option(help="auto: OpenGL where it works, else the ray caster; none: no video, no key frames."),
]
Units = Annotated[
    LengthUnit | None,
    Option(
        help="Unit of the numbers in mesh files, of finger and object, and of a robot file that "
        "metres make larger than 2 m; else m."
    ),
]
Density = Annotated[float | None, Option(metavar="R", help="Density of the object [kg/m³].")]
Mass = Annotated[float | None, Option(metavar="M", help="Mass of the object [kg].")]
Resume = Annotated[bool, Option("--resume", help="Continue from the rows in the output directory.")]
Workers = Annotated[
    int | None, Option(metavar="N", help="Processes; else one per core, fewer for few grasps.")
]

GraspName = Literal["power", "precision"]
Triple = tuple[float, float, float]


PREFIXES = {"mpa": 1e6, "kpa": 1e3, "bar": 1e5, "pa": 1.0}
"""Pascals of units of pressure."""


def size_of(text: str | None) -> tuple[int, int]:
    """Read the size of a video, such as ``1280x720``.

    Raises:
        DescriptionError: It is no size, or beyond the limits.
    """
    if text is None:
        return DEFAULT_VIDEO_SIZE
    parts = text.lower().replace("×", "x").split("x")
    if len(parts) != 2 or not all(part.isdecimal() and part.isascii() for part in parts):
        raise DescriptionError(
            f"--video-size: expected width and height such as 1280x720, found '{text}'"
        )
    width, height = map(int, parts)
    if not all(MIN_PIXELS <= side <= MAX_PIXELS for side in (width, height)):
        raise DescriptionError(
            f"--video-size: expected {MIN_PIXELS} to {MAX_PIXELS} pixels each, found '{text}'"
        )
    if width % 2 or height % 2:
        even = f"{width + width % 2}x{height + height % 2}"
        raise DescriptionError(
            f"--video-size: expected even numbers, as the video format halves both, found '{text}';"
            f" use {even}"
        )
    return width, height


def viewpoint_of(text: str | None) -> Viewpoint | None:
    """Read where a camera stands, such as ``front`` or ``125,-20,0.5``.

    Raises:
        DescriptionError: It is neither a name nor two or three such numbers.
    """
    if text is None:
        return None
    from softgrasp.rendering.viewpoint import VIEWPOINTS, Viewpoint

    if text in VIEWPOINTS:
        return VIEWPOINTS[text]
    try:
        azimuth, elevation, *distance = (float(part) for part in text.split(","))
        viewpoint = Viewpoint(azimuth, elevation, *distance)
    except (ValueError, TypeError):
        raise DescriptionError(
            "--camera: expected azimuth, elevation and perhaps distance such as 125,-20,0.5, or "
            f"one of {', '.join(VIEWPOINTS)}; found '{text}'"
        ) from None
    viewpoint.check("--camera")
    return viewpoint


FINGER_MESH = ("valleys", "cells", "up", "base", "axis", "youngs_modulus", "poisson_ratio")
"""Scene options about the mesh of a soft finger."""
MESH_HAND = ("fingers", "pressure", *FINGER_MESH)
"""Scene options that make a hand from such a mesh."""
AUTO = "auto"
"""Word for a pressure that is searched by trials."""


def pressure_of(text: str | float) -> float:
    """Read a pressure in Pa, or with its unit: 60000, 60kPa, 0.6bar, 0.06MPa.

    Raises:
        BadParameter: It is no number, or has another unit.
    """
    words = str(text).strip().lower()
    unit = next((prefix for prefix in PREFIXES if words.endswith(prefix)), "")
    try:
        number = float(words.removesuffix(unit))
    except ValueError:
        number = math.nan
    if not math.isfinite(number):
        raise typer.BadParameter(f"expected a pressure such as 60kPa, found '{text}'")
    return number * PREFIXES.get(unit, 1.0)


def pressure_or_auto(text: str | float) -> float | str:
    """Read a pressure as ``pressure_of``, or ``auto``.

    Raises:
        BadParameter: As ``pressure_of``.
    """
    return AUTO if str(text).strip().lower() == AUTO else pressure_of(text)


def valleys_of(text: str | tuple[float, ...] | int) -> tuple[float, ...] | int:
    """Read the number of valleys, or their positions [m]: 5, or 0.01,0.02, or 10mm,20mm.

    Raises:
        BadParameter: It is neither.
    """
    if not isinstance(text, str):
        return text
    if text.strip().isdecimal():
        return int(text)
    try:
        return tuple(_metres(part.strip()) for part in text.split(","))
    except ValueError:
        raise typer.BadParameter(
            "expected a number of valleys, or positions from the base such as 12mm,24mm, found "
            f"'{text}'"
        ) from None


def base_of(text: str | Triple) -> str | Triple:
    """Read which end is clamped: auto, start, end, or a point such as 0,0,0.01 [m].

    Raises:
        BadParameter: It is neither.
    """
    if not isinstance(text, str) or text in ("auto", "start", "end"):
        return text
    try:
        x, y, z = (float(part) for part in text.split(","))
    except ValueError:
        raise typer.BadParameter(
            f"expected start, end, auto or a point such as 0,0,0.01, found '{text}'"
        ) from None
    return x, y, z


def _metres(text: str) -> float:
    """Read a length in metres, or with its unit."""
    unit = next((item for item in ("mm", "cm", "dm", "in", "m") if text.endswith(item)), "m")
    return float(text.removesuffix(unit)) * LENGTH_UNITS[unit]


@dataclass(frozen=True, kw_only=True)
class SceneOptions:
    """Options of the command line that change a scene; None leaves a field as it is."""

    units: Units = None
    lock_joints: Annotated[
        bool | None,
        Option("--lock-joints", help="Fix the movable joints of an object in URDF or MJCF."),
    ] = None
    finger: Annotated[
        str | None,
        Option(metavar="NAME|FILE", help="Soft finger that replaces each of the hand's."),
    ] = None
    density: Density = None
    mass: Mass = None
    grasp: Annotated[
        GraspName | None,
        Option(help="Which of the hand's two grasps; else power, or precision within its payload."),
    ] = None
    position: Annotated[
        Triple | None,
        Option(metavar="X Y Z", help="Centre of the object in the world [m]; else the grasp's."),
    ] = None
    euler_deg: Annotated[
        Triple | None,
        Option(
            metavar="R P Y", help="Rotation of the object about x, y, z [deg]; else the grasp's."
        ),
    ] = None
    hand_euler_deg: Annotated[
        Triple | None,
        Option(
            metavar="R P Y", help="Rotation of the hand about x, y, z [deg]; 180 0 0: upside down."
        ),
    ] = None
    mount: Annotated[
        Literal["free", "fixed", "planar"] | None,
        Option(help="How the object can move; else free."),
    ] = None
    gravity: Annotated[
        bool | None,
        Option(
            "--gravity/--no-gravity",
            help="9.81 m/s² down while closing; else none. A hand that grasps from above then "
            "takes the object from a table and lifts it.",
        ),
    ] = None
    objects: Annotated[
        tuple[str, ...],
        Option(
            "--object",
            metavar="NAME@X,Y,Z",
            help="Further object, with its centre in the world [m]; repeatable.",
        ),
    ] = ()
    table: Annotated[
        bool | None, Option("--table/--no-table", help="A table right under the object, or none.")
    ] = None
    self_contact: Annotated[
        bool | None,
        Option("--self-contact/--no-self-contact", help="Contact between parts of the hand."),
    ] = None
    actuation: Annotated[
        Literal["servo", "prescribed"] | None,
        Option(help="Servos with a force limit, or joints that follow their targets."),
    ] = None
    closure: Annotated[
        str | None,
        Option(
            metavar="NAME",
            help="How the hand closes: softgrasp list closures; parameters by --set closure.…",
        ),
    ] = None
    pressure: Annotated[
        Any,
        Option(
            metavar="PA|auto",
            parser=pressure_or_auto,
            help="Working pressure of soft fingers [Pa], or such as 60kPa, or auto, which searches "
            "pose and pressure by trials; else the grasp's.",
        ),
    ] = None
    fingers: Annotated[
        int | None,
        Option(
            metavar="N",
            help="Make a hand of N soft fingers from the mesh of one, the HAND; without --pressure "
            "it is searched.",
        ),
    ] = None
    youngs_modulus: Annotated[
        float | None,
        Option(
            "--youngs-modulus",
            metavar="PA",
            parser=pressure_of,
            help="Of a finger from its mesh [Pa], or such as 0.7MPa (the default, silicone).",
        ),
    ] = None
    poisson_ratio: Annotated[
        float | None,
        Option(
            "--poisson-ratio",
            metavar="NU",
            help="Of a finger from its mesh, if its walls widen under pressure; by default fibres "
            "prevent it.",
        ),
    ] = None
    valleys: Annotated[
        Any,
        Option(
            metavar="N|X,X,…",
            parser=valleys_of,
            help="Number of valleys in the mesh of a finger, or their positions from the base [m], "
            "or such as 12mm,24mm; else detected.",
        ),
    ] = None
    cells: Annotated[
        int | None,
        Option(
            metavar="N",
            help="Divide the mesh of a finger evenly into N cells; else 8 where there are no "
            "valleys.",
        ),
    ] = None
    up: Annotated[
        Triple | None,
        Option(
            metavar="X Y Z",
            help="Direction in the mesh of a finger to the side away from which it bends; else "
            "that of bellows or chamber.",
        ),
    ] = None
    base: Annotated[
        Any,
        Option(
            metavar="END",
            parser=base_of,
            help="Clamped end of the mesh of a finger: start or end along the axis, or a point "
            "X,Y,Z near it [m]; else detected.",
        ),
    ] = None
    axis: Annotated[
        Triple | None,
        Option(metavar="X Y Z", help="Direction of a finger in its mesh; else detected."),
    ] = None
    hold: Annotated[
        bool | None,
        Option("--hold/--no-hold", help="Hold test: increase gravity after the closure."),
    ] = None
    sequence: Annotated[
        str | None,
        Option(
            metavar="PHASE,…",
            help="Phases of wrist and fingers: approach, preshape, close, hold, lift, move, shake, "
            "with their defaults.",
        ),
    ] = None
    criterion: Annotated[
        str | None,
        Option(
            metavar="NAME|FILE", help="What counts as held: softgrasp list criteria, or a file."
        ),
    ] = None
    preshape: Annotated[
        str | None, Option(metavar="NAME", help="Start posture of the hand; else the grasp's.")
    ] = None
    lift: Annotated[
        bool | None,
        Option("--lift/--no-lift", help="Take the object from a table and lift it 100 mm."),
    ] = None
    contact_model: Annotated[
        str | None, Option(metavar="NAME", help="Contact model: softgrasp list contact-models.")
    ] = None
    sensors: Annotated[
        tuple[str, ...],
        Option(
            "--sensor",
            metavar="NAME",
            help="Sensor of the hand: softgrasp list sensors; repeatable.",
        ),
    ] = ()
    contact_stiffness: Annotated[
        float | None, Option(metavar="K", help="Force over penetration [N/m]; else 1e5.")
    ] = None
    contact_damping: Annotated[
        float | None, Option(metavar="D", help="Damping of the contact [N·s/m]; else 300.")
    ] = None
    friction: Annotated[
        float | None,
        Option(
            metavar="MU", help="Static and dynamic friction; else that of the object's material."
        ),
    ] = None
    allow_softer_contact: Annotated[
        bool | None,
        Option(
            "--allow-softer-contact",
            help="Lower the contact stiffness where the time step is too large for K and D.",
        ),
    ] = None
    timestep: Annotated[
        float | None,
        Option(metavar="S", help="Time step of the physics [s]; else chosen for K and D."),
    ] = None
    duration: Annotated[
        float | None,
        Option(metavar="S", help="Duration of the closure [s]; else until the hand stands still."),
    ] = None
    seed: Annotated[int | None, Option(metavar="N", help="Random seed.")] = None
    settings: Annotated[
        tuple[str, ...],
        Option(
            "--set",
            metavar="FIELD=VALUE",
            help="Any field of the scene, such as closure.samples=5 or "
            "hand.fingers[0].phalanges[1].radius=0.01, set after all other options; repeatable.",
        ),
    ] = ()

    @property
    def changed(self) -> bool:
        """Whether any option differs from its default."""
        return self != SceneOptions()

    @property
    def finger_mesh(self) -> dict[str, Any]:
        """Options about the mesh of a soft finger that are present, by the names of its reader."""
        values = {name: getattr(self, name) for name in FINGER_MESH}
        return {name: value for name, value in values.items() if value is not None}

    @property
    def of_mesh_hands(self) -> list[str]:
        """Options that need the mesh of a finger, as on the command line."""
        names = [*(["fingers"] if self.fingers is not None else []), *self.finger_mesh]
        return [f"--{name.replace('_', '-')}" for name in names]


@dataclass(frozen=True, kw_only=True)
class FileOptions:
    """Options of the command line for the robot files that a verb reads."""

    arguments: Annotated[
        tuple[str, ...], Option("--arg", metavar="NAME=VALUE", help="Argument of a xacro file.")
    ] = ()
    trust_xacro: Annotated[
        bool,
        Option(
            "--trust-xacro",
            help="Let xacro evaluate expressions itself, which can run code of the file.",
        ),
    ] = False
    hand_root: Annotated[
        str,
        Option("--hand", metavar="LINK", help="First link of the hand, in a URDF with several."),
    ] = ""


def with_scene_options(*names: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Replace a verb's parameter ``options: SceneOptions`` by one parameter per field.

    The options appear in the help where ``options`` stands in the signature of the verb.

    Args:
        names: Fields of ``SceneOptions`` that the verb has; all by default.
    """
    table = _parameters(SceneOptions)
    selected = {name: table[name] for name in names or table}

    def decorate(verb: Callable[..., None]) -> Callable[..., None]:
        parameters: list[inspect.Parameter] = []
        for parameter in inspect.signature(verb, eval_str=True).parameters.values():
            parameters += selected.values() if parameter.name == "options" else [parameter]

        @functools.wraps(verb)
        def run(**values: Any) -> None:
            options = SceneOptions(**_taken(values, selected))
            with reading_in(options.units):
                verb(**values, options=options)

        return _with_signature(run, parameters)

    return decorate


def with_file_options(verb: Callable[..., None]) -> Callable[..., None]:
    """Give a verb ``--arg``, ``--trust-xacro`` and ``--hand`` for the robot files that it reads."""
    added = _parameters(FileOptions)

    @functools.wraps(verb)
    def run(**values: Any) -> None:
        options = FileOptions(**_taken(values, added))
        if options == FileOptions():
            verb(**values)
            return
        from softgrasp.io.hand import select_hand  # loads numpy
        from softgrasp.io.urdf.xacro import xacro_settings

        arguments = {}
        for text in options.arguments:
            name, equals, arguments[name] = text.partition("=")
            if not (name and equals):
                raise DescriptionError(f"--arg: expected NAME=VALUE, found '{text}'")
        settings = xacro_settings(arguments, trusted=options.trust_xacro)
        with settings, select_hand(options.hand_root):
            verb(**values)

    parameters = inspect.signature(verb, eval_str=True).parameters
    return _with_signature(run, [*parameters.values(), *added.values()])


def _parameters(options: type[Any]) -> dict[str, inspect.Parameter]:
    """Convert fields of options to parameters; variable tuples to Typer's ``list``."""
    hints = get_type_hints(options, include_extras=True)
    parameters = {}
    for field in fields(options):
        hint, default = hints[field.name], field.default
        if default == ():
            hint, default = Annotated[list[str] | None, get_args(hint)[1]], None
        parameters[field.name] = inspect.Parameter(
            field.name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=hint
        )
    return parameters


def _taken(values: dict[str, Any], names: Iterable[str]) -> dict[str, Any]:
    """Remove options from the values of a verb, and return those that are present."""
    taken = {name: values.pop(name) for name in names}
    return {
        name: tuple(value) if isinstance(value, list) else value
        for name, value in taken.items()
        if value is not None
    }


def _with_signature(
    run: Callable[..., None], parameters: Iterable[inspect.Parameter]
) -> Callable[..., None]:
    """Set the signature that Typer reads."""
    run.__annotations__ = {}
    run.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
        [item.replace(kind=inspect.Parameter.KEYWORD_ONLY) for item in parameters]
    )
    return run


def reading_in(units: LengthUnit | None) -> AbstractContextManager[None]:
    """Read robot files in a unit; nothing is loaded without one."""
    if units is None:
        return nullcontext()
    from softgrasp.io.urdf.length_unit import robot_units  # loads numpy

    return robot_units(units)


P = ParamSpec("P")


def guarded(verb: Callable[P, None]) -> Callable[P, None]:
    """Make a verb report errors and warnings of softgrasp on one line each, with an exit code."""

    @functools.wraps(verb)
    def run(*args: P.args, **options: P.kwargs) -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("always", SoftgraspWarning)
            warnings.showwarning = _show_once(warnings.showwarning)
            try:
                verb(*args, **options)
            except SoftgraspError as error:
                terminal.show_message("error", str(error))
                code = DIVERGED if isinstance(error, DivergedError) else WRONG_INPUT
                code = MISSING if isinstance(error, BackendUnavailable) else code
                raise typer.Exit(code) from None
            except ModuleNotFoundError as error:
                terminal.show_message("error", str(missing_library(error)))
                raise typer.Exit(MISSING) from None
            except MemoryError as error:
                terminal.show_message("error", f"expected enough memory, found too little: {error}")
                raise typer.Exit(WRONG_INPUT) from None
            except KeyboardInterrupt:
                terminal.note("interrupted")
                raise typer.Exit(INTERRUPTED) from None

    return run


def _show_once(other: Callable[..., None]) -> Callable[..., None]:
    """Show each warning of softgrasp once on one line; pass all others to ``other``."""
    shown: set[str] = set()

    def show(message: Warning | str, category: type[Warning], *context: object) -> None:
        if not issubclass(category, SoftgraspWarning):
            other(message, category, *context)
        elif str(message) not in shown:
            shown.add(str(message))
            terminal.show_message("warning", str(message))

    return show
