"""Options that several verbs share."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

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
