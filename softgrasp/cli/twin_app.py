"""``softgrasp twin``: the verbs of the digital twin."""

from __future__ import annotations

import typer

from softgrasp.cli.twin_accuracy import accuracy
from softgrasp.cli.twin_pick import pick
from softgrasp.cli.verb import WRONG_INPUT, guarded

twin = typer.Typer(
    name="twin",
    help="The digital twin of a pneumatic gripper: simulated devices, and the loop.",
    invoke_without_command=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)
twin.command(
    "pick",
    short_help="Pick points in a picture of a finger; tell how its pieces bend.",
    epilog='Example: softgrasp twin pick finger.png --camera cam.yaml --line "57,413 319,413" '
    '--points "351,414 567,438 766,525 902,658 1000,874"',
)(guarded(pick))
twin.command(
    "accuracy",
    short_help="Measure the error of the twin's tip against a simulated finger.",
    epilog="Example: softgrasp twin accuracy --quick --out out/accuracy",
)(guarded(accuracy))


@twin.callback()
def _root(context: typer.Context) -> None:
    if context.invoked_subcommand is None:
        typer.echo(context.get_help(), err=True)
        raise typer.Exit(WRONG_INPUT)
