"""The Typer application: all verbs with one line of help and an example each."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, NamedTuple

import typer

from softgrasp._version import __version__
from softgrasp.cli import terminal
from softgrasp.cli.calibrate import calibrate
from softgrasp.cli.check import check
from softgrasp.cli.convert import convert
from softgrasp.cli.crosscheck import crosscheck
from softgrasp.cli.demo import demo
from softgrasp.cli.doctor import bench, doctor
from softgrasp.cli.grasp import grasp, rerun
from softgrasp.cli.listing import list_, new
from softgrasp.cli.options import WRONG_INPUT, guarded
from softgrasp.cli.plan import plan
from softgrasp.cli.report import report
from softgrasp.cli.sweep import sweep
from softgrasp.cli.view import view
from softgrasp.extensions import COMMAND_GROUPS, load


class Verb(NamedTuple):
    """A verb with a short help text, and an example that works."""

    function: Callable[..., None]
    line: str
    example: str


VERBS = {
    "demo": Verb(demo, "Run the main job: a hand grasps a strawberry.", "softgrasp demo"),
    "grasp": Verb(
        grasp,
        "Simulate a grasp; write numbers, figures, video and report.",
        "softgrasp grasp four_finger strawberry --density 700 --hold",
    ),
    "view": Verb(
        view,
        "Show a hand or a result in the browser.",
        "softgrasp view four_finger --save four_finger.html",
    ),
    "sweep": Verb(
        sweep,
        "Simulate many grasps that differ in some fields; write a table.",
        "softgrasp sweep four_finger strawberry --density 160,700,1500 --hold",
    ),
    "plan": Verb(
        plan,
        "Try many hand poses; rank the grasps, make videos of the best.",
        "softgrasp plan four_finger strawberry --candidates 50",
    ),
    "calibrate": Verb(
        calibrate,
        "Estimate a soft finger's parameters from measurements.",
        "softgrasp calibrate paper000",
    ),
    "report": Verb(
        report,
        "Write the report of a result from its files.",
        "softgrasp report out/demo --no-video",
    ),
    "rerun": Verb(rerun, "Repeat a result and compare it bit for bit.", "softgrasp rerun out/demo"),
    "new": Verb(new, "Write a commented template.", "softgrasp new hand my_hand"),
    "list": Verb(list_, "List hands, objects, scenes, …", "softgrasp list hands"),
    "check": Verb(check, "Check a file: contents and problems.", "softgrasp check four_finger"),
    "convert": Verb(
        convert,
        "Write hands, scenes and robots in other formats.",
        "softgrasp convert four_finger hand.xml",
    ),
    "crosscheck": Verb(
        crosscheck,
        "Simulate a scene in several engines and compare.",
        "softgrasp crosscheck paper000_release --backends mujoco,ode",
    ),
    "bench": Verb(bench, "Measure the speed of the closed loop.", "softgrasp bench closure"),
    "doctor": Verb(doctor, "Check what is installed and what works.", "softgrasp doctor"),
}

app = typer.Typer(
    name="softgrasp",
    help="Grasp simulation on MuJoCo: from a hand and an object to contacts, forces and a video.",
    epilog="Example: softgrasp demo",
    invoke_without_command=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
for _name, _verb in VERBS.items():
    app.command(_name, short_help=_verb.line, epilog=f"Example: {_verb.example}")(
        guarded(_verb.function)
    )
app.add_typer(
    load(COMMAND_GROUPS["twin"]), short_help="Run a digital twin, or its simulated devices."
)


@app.callback()
def _root(
    context: typer.Context,
    version: Annotated[bool, typer.Option("--version", help="Show the version.")] = False,
    verbose: Annotated[
        bool,
        typer.Option("--verbose", help="Log on standard error what is read, run and written."),
    ] = False,
) -> None:
    terminal.set_up_logging(verbose=verbose)
    if version:
        typer.echo(f"softgrasp {__version__}")
        raise typer.Exit
    if context.invoked_subcommand is None:
        typer.echo(context.get_help(), err=True)
        raise typer.Exit(WRONG_INPUT)
