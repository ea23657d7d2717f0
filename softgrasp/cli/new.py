"""``softgrasp new``: a commented template to start from."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from softgrasp.cli import terminal
from softgrasp.cli.options import Json

SUFFIXES = (".yaml", ".yml")


class Kind(StrEnum):
    """What a template describes."""

    HAND = "hand"
    OBJECT = "object"
    SCENE = "scene"


def new(
    kind: Annotated[Kind, typer.Argument(help="What to describe.")],
    name: Annotated[str, typer.Argument(help="Its name.")],
    out: Annotated[
        Path | None, typer.Option("--out", metavar="DIR|FILE", help="Folder, or .yaml file.")
    ] = None,
    json: Json = False,
) -> None:
    """Write a commented template that works as it stands; never over a file that exists."""
    from softgrasp.formats.templates import write_template

    place = out or Path()
    file = write_template(kind, name, place if place.suffix in SUFFIXES else place / f"{name}.yaml")
    if json:
        terminal.put_json({"file": str(file)})
        return
    run = {
        Kind.HAND: f"softgrasp grasp {file} sphere",
        Kind.OBJECT: f"softgrasp grasp four_finger {file}",
        Kind.SCENE: f"softgrasp grasp {file}",
    }
    terminal.put(f"wrote {file}; try it: {run[kind]}")
