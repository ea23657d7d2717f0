"""``softgrasp twin``: the verbs of the digital twin."""

from __future__ import annotations

from collections.abc import Callable

import typer

from softgrasp.cli.options import WRONG_INPUT, guarded
from softgrasp.cli.twin_accuracy import accuracy
from softgrasp.cli.twin_fit import fit
from softgrasp.cli.twin_pick import pick
from softgrasp.cli.twin_poses import poses
from softgrasp.cli.twin_robot import robot
from softgrasp.cli.twin_run import replay, run
from softgrasp.cli.twin_serve import serve

VERBS: dict[str, tuple[Callable[..., None], str, str]] = {
    "serve": (serve, "Simulate a pneumatic controller on Modbus TCP.", "serve --port 5020"),
    "run": (run, "Run the loop of a twin; record it, show it.", "run --duration 10"),
    "replay": (replay, "Show a record again.", "replay out/twin_three_fingers --at 2"),
    "robot": (robot, "Simulate a robot that tells its flange pose.", "robot --duration 10"),
    "fit": (
        fit,
        "Fit bends of a finger's pieces against pressure.",
        "fit four_piece --sigma-deg 0.3",
    ),
    "poses": (poses, "Compare a finger's arcs with rigid pieces.", "poses --out out/poses"),
    "pick": (
        pick,
        "Pick points in a picture of a finger; tell how its pieces bend.",
        'pick finger.png --camera cam.yaml --line "57,413 319,413" '
        '--points "351,414 567,438 766,525 902,658 1000,874"',
    ),
    "accuracy": (
        accuracy,
        "Measure the error of the twin's tip against a simulated finger.",
        "accuracy --quick --out out/accuracy",
    ),
}

twin = typer.Typer(
    name="twin",
    help="The digital twin of a pneumatic gripper: simulated devices, and the loop.",
    invoke_without_command=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)
for _name, (_function, _line, _example) in VERBS.items():
    twin.command(_name, short_help=_line, epilog=f"Example: softgrasp twin {_example}")(
        guarded(_function)
    )


@twin.callback()
def _root(context: typer.Context) -> None:
    if context.invoked_subcommand is None:
        typer.echo(context.get_help(), err=True)
        raise typer.Exit(WRONG_INPUT)
