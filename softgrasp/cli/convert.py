"""``softgrasp convert``: hands and scenes in other formats."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from softgrasp.cli import terminal
from softgrasp.cli.options import Json, Out
from softgrasp.errors import DescriptionError


def convert(
    source: Annotated[
        str, typer.Argument(metavar="IN", help="Name or .yaml file of a hand or a scene.")
    ],
    target: Annotated[Path, typer.Argument(metavar="OUT", help="File to write, .xml (MJCF).")],
    out: Out = None,
    json: Json = False,
) -> None:
    """Write a hand or a scene as a MuJoCo model (MJCF), meshes and start state included."""
    from softgrasp.build.hand_model import hand_to_mjcf
    from softgrasp.build.scene import to_mjcf
    from softgrasp.cli.source import kind_of
    from softgrasp.formats.atomic import write_text
    from softgrasp.formats.load import load_hand
    from softgrasp.formats.scene_file import load_scene

    if target.suffix != ".xml":
        raise DescriptionError(
            f"{target}: expected a file name ending in .xml, found '{target.suffix}'"
        )
    kind = kind_of(source)
    if kind not in ("hand", "scene"):
        article = "an" if kind == "object" else "a"
        raise DescriptionError(f"{source}: expected a hand or a scene, found {article} {kind}")
    text = hand_to_mjcf(load_hand(source)) if kind == "hand" else to_mjcf(load_scene(source))
    file = write_text(target if out is None else out / target, text)
    if json:
        terminal.put_json({"file": str(file), "kind": kind})
    else:
        terminal.put(f"wrote {file}")
