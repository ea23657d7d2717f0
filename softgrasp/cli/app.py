"""All verbs under one name."""

from __future__ import annotations

from typing import Annotated

import typer

from softgrasp._version import __version__
from softgrasp.cli.bench import bench
from softgrasp.cli.check import check
from softgrasp.cli.convert import convert
from softgrasp.cli.demo import demo
from softgrasp.cli.doctor import doctor
from softgrasp.cli.grasp import grasp
from softgrasp.cli.list import list_
from softgrasp.cli.new import new
from softgrasp.cli.rerun import rerun
from softgrasp.cli.verb import guarded

VERBS = (
    ("demo", demo, "softgrasp demo"),
    ("grasp", grasp, "softgrasp grasp four_finger strawberry --density 700 --hold"),
    ("rerun", rerun, "softgrasp rerun out/demo"),
    ("new", new, "softgrasp new hand my_hand"),
    ("list", list_, "softgrasp list hands"),
    ("check", check, "softgrasp check four_finger"),
    ("convert", convert, "softgrasp convert four_finger four_finger.xml"),
    ("bench", bench, "softgrasp bench closure"),
    ("doctor", doctor, "softgrasp doctor"),
)
"""Name, function, and the example that ``--help`` shows."""

app = typer.Typer(
    name="softgrasp",
    help="Grasp simulation on MuJoCo: from a hand and an object to contacts, forces and a film.",
    epilog="Example: softgrasp demo",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
for _name, _function, _example in VERBS:
    app.command(_name, epilog=f"Example: {_example}")(guarded(_function))


def _show_version(asked: bool) -> None:
    if asked:
        typer.echo(f"softgrasp {__version__}")
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[  # noqa: ARG001 - the callback answers
        bool,
        typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version."),
    ] = False,
) -> None:
    """Options that stand before the verb."""
