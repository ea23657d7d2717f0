"""``softgrasp twin``: the verbs of the digital twin."""

from __future__ import annotations

import typer

from softgrasp.cli.twin_robot import robot
from softgrasp.cli.verb import WRONG_INPUT, guarded

twin = typer.Typer(
    name="twin",
    help="The digital twin of a pneumatic gripper: simulated devices, and the loop.",
    invoke_without_command=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)
twin.command(
    "robot",
    short_help="Simulate a robot that tells its flange pose.",
    epilog="Example: softgrasp twin robot --duration 10",
)(guarded(robot))


@twin.callback()
def _root(context: typer.Context) -> None:
    if context.invoked_subcommand is None:
        typer.echo(context.get_help(), err=True)
        raise typer.Exit(WRONG_INPUT)
