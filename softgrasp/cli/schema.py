"""``softgrasp schema``: JSON schemas of YAML files, with which editors complete and check them."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from typer import Argument, Option

from softgrasp.checks.json_schema import KINDS, schema_of
from softgrasp.cli import terminal
from softgrasp.cli.options import Json


def schema(
    kind: Annotated[
        str | None, Argument(metavar="KIND", help=f"One of {', '.join(KINDS)}; none lists them.")
    ] = None,
    out: Annotated[
        Path | None, Option("--out", "-o", metavar="FILE", help="Write it to a file.")
    ] = None,
    json: Json = False,
) -> None:
    """Print or write the JSON schema of a kind of YAML file."""
    if kind is None:
        kinds = {name: about for name, (_, about) in KINDS.items()}
        if json:
            terminal.put_json(kinds)
        else:
            terminal.put_table(["kind", "file"], [list(row) for row in kinds.items()])
        return
    document = schema_of(kind)
    if out is None:
        terminal.put_json(document)
        return
    terminal.save_json(document, out)
    if json:
        terminal.put_json(document)
    else:
        # as editors with that language server read it
        terminal.put(f"begin a {kind} file with: # yaml-language-server: $schema={out}")
