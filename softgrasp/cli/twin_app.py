"""``softgrasp twin …``: the verbs of the digital twin."""

from __future__ import annotations

import typer

from softgrasp.cli.twin_serve import serve
from softgrasp.cli.verb import guarded

twin = typer.Typer(help="Run the parts of the digital twin.")


@twin.callback()
def _twin() -> None:
    """Keep the names of the verbs, even while there is only one."""


twin.command(
    "serve",
    short_help="Run a simulated pneumatic controller on Modbus TCP.",
    epilog="Example: softgrasp twin serve --port 5020",
)(guarded(serve))
