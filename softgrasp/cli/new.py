"""``softgrasp new``: a commented template to start from."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from softgrasp.cli import terminal
from softgrasp.cli.options import Json

FINGER = "paper000"
"""Of the sample photographs."""
SUFFIXES = (".yaml", ".yml")


class Kind(StrEnum):
    """What a template describes."""

    HAND = "hand"
    OBJECT = "object"
    SCENE = "scene"
    PHOTOS = "photos"


def new(
    kind: Annotated[Kind, typer.Argument(help="What to describe, or photos.")],
    name: Annotated[str, typer.Argument(help="Its name.")],
    out: Annotated[
        Path | None, typer.Option("--out", metavar="DIR|FILE", help="Folder, or .yaml file.")
    ] = None,
    json: Json = False,
) -> None:
    """Write a commented template that works as it stands; never over a file that exists.

    photos: a folder with photographs of the finger paper000 under weights and its tip forces, all
    simulated, to try calibrations on.
    """
    from softgrasp.formats.templates import write_template

    if kind is Kind.PHOTOS:
        _photos((out or Path()) / name, json=json)
        return
    target = out or Path()
    file = write_template(
        kind, name, target if target.suffix in SUFFIXES else target / f"{name}.yaml"
    )
    if json:
        terminal.put_json({"file": str(file)})
        return
    run = {
        Kind.HAND: f"softgrasp grasp {file} sphere",
        Kind.OBJECT: f"softgrasp grasp four_finger {file}",
        Kind.SCENE: f"softgrasp grasp {file}",
    }
    terminal.put(f"wrote {file}; try it: {run[kind]}")


def _photos(directory: Path, *, json: bool) -> None:
    from softgrasp.calibration.synthetic import write_sample
    from softgrasp.formats.finger_file import load_finger
    from softgrasp.formats.progress import listening

    with terminal.progress_bar() as update, listening(update):
        files = write_sample(load_finger(FINGER), directory)
    if json:
        terminal.put_json({"files": [str(file) for file in files]})
        return
    terminal.put(
        f"wrote {len(files) - 2} photographs and {directory / 'forces.csv'}; try them: softgrasp "
        f"calibrate --finger {FINGER} --photos {directory / 'photos'} "
        f"--forces {directory / 'forces.csv'} --set gain_model=uniform; what is to be found stands in "
        f"{directory / 'truth.csv'}"
    )
