"""Options that several verbs share."""

from __future__ import annotations

import functools
import math
import warnings
from collections.abc import Callable
from enum import StrEnum
from pathlib import Path
from typing import Annotated, ParamSpec

import typer

from softgrasp.cli import terminal
from softgrasp.errors import (
    BackendUnavailable,
    DescriptionError,
    DivergedError,
    SoftgraspError,
    SoftgraspWarning,
)

Json = Annotated[
    bool, typer.Option("--json", help="One JSON document on standard output, nothing else there.")
]
Out = Annotated[Path | None, typer.Option("--out", metavar="DIR", help="Folder for the files.")]


class Unit(StrEnum):
    """Units of length."""

    M = "m"
    DM = "dm"
    CM = "cm"
    MM = "mm"
    IN = "in"


Units = Annotated[Unit | None, typer.Option(help="Unit of a mesh file's numbers; else m.")]
Mass = Annotated[float | None, typer.Option(metavar="M", help="Mass of the object [kg].")]
Density = Annotated[float | None, typer.Option(metavar="R", help="Density of the object [kg/m³].")]


class RendererChoice(StrEnum):
    """Who draws the pictures."""

    AUTO = "auto"
    GL = "gl"
    RAYCAST = "raycast"
    NONE = "none"


Renderer = Annotated[
    RendererChoice,
    typer.Option(help="auto: OpenGL where it works, else the ray caster; none: no film, no strip."),
]
NoVideo = Annotated[bool, typer.Option("--no-video", help="Make no film.")]
NoReport = Annotated[bool, typer.Option("--no-report", help="Draw no figures, write no page.")]


# --------------------
# What all verbs have in common: errors become sentences and exit codes.


PROBLEMS, WRONG_INPUT, MISSING, DIVERGED, NOT_HELD, INTERRUPTED = 1, 2, 3, 4, 5, 130
"""Exit codes; 0 where the job ran, whatever came out."""

P = ParamSpec("P")


def guarded(verb: Callable[P, None]) -> Callable[P, None]:
    """A verb that tells the user's mistakes and softgrasp's warnings in one line each."""

    @functools.wraps(verb)
    def run(*args: P.args, **options: P.kwargs) -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("always", SoftgraspWarning)
            warnings.showwarning = _teller(warnings.showwarning)
            try:
                verb(*args, **options)
            except SoftgraspError as error:
                terminal.show_message("error", str(error))
                raise typer.Exit(_exit_code(error)) from None
            except MemoryError as error:
                terminal.show_message("error", f"expected enough memory, found too little: {error}")
                raise typer.Exit(WRONG_INPUT) from None
            except KeyboardInterrupt:
                terminal.note("interrupted")
                raise typer.Exit(INTERRUPTED) from None

    return run


def _exit_code(error: SoftgraspError) -> int:
    if isinstance(error, BackendUnavailable):
        return MISSING
    return DIVERGED if isinstance(error, DivergedError) else WRONG_INPUT


def _teller(other: Callable[..., None]) -> Callable[..., None]:
    """Shows our warnings as one line, once each; leaves the rest to ``other``."""
    shown: set[str] = set()

    def show_once(message: Warning | str, category: type[Warning], *context: object) -> None:
        if not issubclass(category, SoftgraspWarning):
            other(message, category, *context)
        elif str(message) not in shown:
            shown.add(str(message))
            terminal.show_message("warning", str(message))

    return show_once


# --------------------
# Kinds of things that the command line names.


class ListedKind(StrEnum):
    """What can be listed."""

    HANDS = "hands"
    OBJECTS = "objects"
    SCENES = "scenes"
    ROBOTS = "robots"
    HYDRAULIC_ARMS = "hydraulic-arms"
    FINGERS = "fingers"
    ARMS = "arms"
    TWINS = "twins"
    PRESSURE_FITS = "pressure-fits"
    REGISTER_MAPS = "register-maps"
    ROBOT_PROGRAMS = "robot-programs"
    PROBLEMS = "problems"
    CRITERIA = "criteria"
    BACKENDS = "backends"
    CLOSURES = "closures"
    CONTACT_MODELS = "contact-models"
    SENSORS = "sensors"


KINDS = {
    ListedKind.HANDS: "shipped hands, for grasp, view, plan and sweep",
    ListedKind.OBJECTS: "shipped objects",
    ListedKind.SCENES: "shipped scenes: a hand with an object and all else",
    ListedKind.ROBOTS: "robots in U(C)RDF",
    ListedKind.HYDRAULIC_ARMS: "arms of soft sections that water drives",
    ListedKind.FINGERS: "soft fingers, for --finger and calibrate",
    ListedKind.ARMS: "arms that carry a hand",
    ListedKind.TWINS: "digital twins, for twin run",
    ListedKind.PRESSURE_FITS: "bends of a twin's finger against pressure",
    ListedKind.REGISTER_MAPS: "registers of pressure controllers on Modbus TCP",
    ListedKind.ROBOT_PROGRAMS: "motions of the simulated robot of a twin",
    ListedKind.PROBLEMS: "calibration problems",
    ListedKind.CRITERIA: "what held means, for --criterion",
    ListedKind.BACKENDS: "engines, for --backend",
    ListedKind.CLOSURES: "ways to close a hand, for --closure",
    ListedKind.CONTACT_MODELS: "contact models, for --contact-model",
    ListedKind.SENSORS: "sensors, for --sensor",
}


# --------------------
# Options that take several numbers: ``14,14,12.32,15.39``.


def number_list(option: str, text: str) -> list[float]:
    """The numbers of an option, separated by commas.

    Raises:
        DescriptionError: Something is no number, or there is none.
    """
    numbers = []
    for part in text.split(","):
        try:
            number = float(part)
        except ValueError:
            number = math.nan
        if not math.isfinite(number):
            raise DescriptionError(
                f"{option}: expected numbers separated by commas, found '{part.strip()}'"
            )
        numbers.append(number)
    return numbers


def lengths_from_mm(option: str, text: str) -> list[float]:
    """Lengths of pieces in m from an option in mm, without the digits that a division adds.

    Raises:
        DescriptionError: Something is no number above 0.
    """
    numbers = number_list(option, text)
    for number in numbers:
        if number <= 0.0:
            raise DescriptionError(f"{option}: expected lengths above 0, found {number:g}")
    return [round(1e-3 * number, 12) for number in numbers]
