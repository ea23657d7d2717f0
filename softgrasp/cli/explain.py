"""``softgrasp explain``: every value of a grasp with who states it, and nothing simulated."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from softgrasp.cli import terminal
from softgrasp.cli.names import require_scene
from softgrasp.cli.options import Json, SceneOptions, with_scene_options
from softgrasp.io.files import RESULT_FILE

if TYPE_CHECKING:
    from softgrasp.description.resolved import ResolvedScene, ResolvedValue

HEADS = ["field", "value", "source", "reason"]
LONGEST = 60
"""Largest number of characters of a value in the table."""


@with_scene_options()
def explain(
    first: Annotated[
        str,
        typer.Argument(
            metavar="HAND|SCENE|RESULT_DIR",
            help="Name or file of a hand or a scene, or the directory of a result.",
        ),
    ],
    second: Annotated[
        str | None, typer.Argument(metavar="OBJECT", help="Name or file of an object.")
    ] = None,
    *,
    options: SceneOptions,
    field: Annotated[
        str | None,
        typer.Option(metavar="TEXT", help="Only fields whose path contains it: contact, closure."),
    ] = None,
    json: Json = False,
) -> None:
    """Print every value of a grasp and who states it; write and simulate nothing.

    Values are those that ``softgrasp grasp`` takes for the same words: said, of the file of the
    hand or the object, of the material, computed, or default. Of a result they are those of its
    run. Where a grasp has to be found for the object, its trials are simulated once and kept.
    """
    resolved = _resolved(first, second, options)
    values = [one for one in resolved.values if field is None or field in one.field]
    if json:
        entries = [one.model_dump(mode="json", exclude_defaults=True) for one in values]
        terminal.put_json({"timestep_s": resolved.timestep, "values": entries})
        return
    terminal.put_table(HEADS, [_row(one) for one in values if one.value not in (None, "", [])])


def _resolved(first: str, second: str | None, options: SceneOptions) -> ResolvedScene:
    from softgrasp.errors import DescriptionError

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


def _row(one: ResolvedValue) -> list[str]:
    text = _text(one.value)
    return [one.field, text if len(text) <= LONGEST else f"{text[: LONGEST - 1]}…", one.source,
            one.reason]  # fmt: skip


def _text(value: Any) -> str:
    """Return a value as text, with four digits."""
    if isinstance(value, bool) or value is None:
        return {True: "yes", False: "no", None: "none"}[value]
    if isinstance(value, int | float):
        return f"{value:.4g}" if math.isfinite(value) and value != int(value) else f"{value:g}"
    if isinstance(value, list):
        return "[" + ", ".join(map(_text, value)) + "]"
    if isinstance(value, dict):
        return ", ".join(f"{name}: {_text(part)}" for name, part in value.items())
    return str(value)
