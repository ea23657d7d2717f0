"""``softgrasp explain``: every value of a grasp with who states it, and nothing simulated."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from softgrasp.cli import terminal
from softgrasp.cli.names import require_scene
from softgrasp.cli.options import Json, Out, SceneOptions, with_scene_options
from softgrasp.io.files import RESULT_FILE

if TYPE_CHECKING:
    from softgrasp.description.resolved import ResolvedScene

HEADS = ["field", "value", "source", "reason"]


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
    out: Out = None,
    json: Json = False,
) -> None:
    """Print every value of a grasp and who states it, before it is simulated.

    Values are those that ``softgrasp grasp`` takes for the same words: said, of the file of the
    hand or the object, of the material, computed, or default. Of a result they are those of its
    run. Where a grasp has to be found for the object, its trials are simulated once and kept. With
    --out the values are written to resolved.json there.
    """
    resolved = _resolve(first, second, options)
    values = [value for value in resolved.values if field is None or field in value.field]
    entries = [value.model_dump(mode="json", exclude_defaults=True) for value in values]
    document = {"timestep_s": resolved.timestep, "values": entries}
    if out is not None:
        terminal.save_json(document, out / "resolved.json")
    if json:
        terminal.put_json(document)
        return
    terminal.put_table(HEADS, [value.row for value in values if value.is_set])


def _resolve(first: str, second: str | None, options: SceneOptions) -> ResolvedScene:
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
