"""The command line: all verbs with one line of help and an example each.

The module of a verb is imported when the verb runs or shows its help, so that ``softgrasp --help``
and a mistyped verb need none of them.
"""

from __future__ import annotations

from functools import cached_property
from typing import Annotated, Any, NamedTuple

import typer
from typer import Option
from typer.core import TyperCommand, TyperGroup
from typer.main import get_command, get_group

from softgrasp._version import __version__
from softgrasp.cli import terminal
from softgrasp.cli.options import WRONG_INPUT, guarded, with_file_options
from softgrasp.extensions import COMMANDS, Reference, load


class Verb(NamedTuple):
    """A verb (subcommand) with a short help text and a working example."""

    reference: Reference
    """``module:name`` of its function, or of a Typer application with verbs of its own."""
    line: str
    example: str


VERBS = {
    name: Verb(f"softgrasp.cli.{module}", line, f"softgrasp {example}")
    for name, module, line, example in (
        ("demo", "grasp:demo", "Run the main job: a hand grasps a strawberry.", "demo"),
        (
            "grasp",
            "grasp:grasp",
            "Simulate a grasp; write numbers, figures, video and report.",
            "grasp four_finger strawberry --density 700 --hold",
        ),
        (
            "view",
            "view:view",
            "Show a hand or a result in the browser.",
            "view four_finger --save four_finger.html",
        ),
        (
            "sweep",
            "sweep:sweep",
            "Simulate many grasps that differ in some fields; write a table.",
            "sweep four_finger strawberry --density 160,700,1500 --hold",
        ),
        (
            "plan",
            "plan:plan",
            "Try many hand poses; rank the grasps, make videos of the best.",
            "plan four_finger strawberry --candidates 50",
        ),
        (
            "calibrate",
            "calibrate:calibrate",
            "Estimate a soft finger's parameters from measurements.",
            "calibrate paper000",
        ),
        (
            "report",
            "grasp:report",
            "Write the report of a result from its files.",
            "report out/demo --no-video",
        ),
        (
            "explain",
            "grasp:explain",
            "Print every value of a grasp and who states it.",
            "explain four_finger strawberry --field contact",
        ),
        ("rerun", "grasp:rerun", "Repeat a result and compare it bit for bit.", "rerun out/demo"),
        ("new", "listing:new", "Write a commented template.", "new hand my_hand"),
        ("list", "listing:list_", "List hands, objects, scenes, …", "list hands"),
        ("check", "check:check", "Check a file: contents and problems.", "check four_finger"),
        (
            "convert",
            "convert:convert",
            "Write hands, scenes and robots in other formats.",
            "convert four_finger hand.xml",
        ),
        (
            "schema",
            "listing:schema",
            "Write JSON schemas, with which editors complete YAML files.",
            "schema scene",
        ),
        (
            "crosscheck",
            "crosscheck:crosscheck",
            "Simulate a scene in several engines and compare.",
            "crosscheck paper000_release --backends mujoco,ode",
        ),
        ("bench", "crosscheck:bench", "Measure the closed loop, or starts.", "bench closure"),
        ("doctor", "doctor:doctor", "Check what is installed and what works.", "doctor"),
    )
}
GROUPS = {
    "twin": Verb(
        COMMANDS["twin"], "Run a digital twin, or its simulated devices.", "softgrasp twin run"
    )
}
"""Verbs that have verbs of their own."""


SECTIONS = {
    "Simulate": ("demo", "grasp", "sweep", "plan"),
    "Analyse": ("explain", "report", "rerun", "check", "crosscheck", "bench"),
    "Calibrate": ("calibrate",),
    "Convert": ("new", "list", "convert", "schema"),
    "Serve": ("view", "twin"),
    "Installation": ("doctor",),
}
"""Verbs by section of ``softgrasp --help``."""


XACRO_VERBS = ("check", "convert", "explain", "grasp", "view")
"""Verbs with arguments of the xacro files that they read."""


class SectionedGroup(TyperGroup):
    """Group of verbs whose help lists them by section; further ones are entry points."""

    def format_commands(self, ctx: Any, formatter: Any) -> None:  # noqa: ARG002 (click's signature)
        """Write the sections of ``SECTIONS``, as click calls it for the list of verbs."""
        width = max(map(len, self.commands))
        for section, verbs in SECTIONS.items():
            with formatter.section(section):
                lines = ((name, self.commands[name].get_short_help_str()) for name in verbs)
                formatter.write_dl([(name.ljust(width), line) for name, line in lines])

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """Return the command of a verb, also of a verb of another distribution."""
        if cmd_name in self.commands or cmd_name not in COMMANDS:
            return super().get_command(ctx, cmd_name)
        return LazyCommand(cmd_name, Verb(COMMANDS[cmd_name], "", f"softgrasp {cmd_name} --help"))


class LazyCommand(TyperCommand):
    """Placeholder of a verb in the list of verbs; its module is imported when it is called."""

    def __init__(self, name: str, verb: Verb, *, hidden: bool = False) -> None:
        super().__init__(name=name, short_help=verb.line, hidden=hidden)
        self._verb = verb

    @cached_property
    def whole(self) -> Any:
        """Import and return the complete command with its arguments and options."""
        loaded, name = load(self._verb.reference), self.name
        if isinstance(loaded, typer.Typer):
            return get_group(loaded)
        if name in XACRO_VERBS:
            loaded = with_file_options(loaded)
        single = typer.Typer(add_completion=False, rich_markup_mode=None)
        single.command(name, short_help=self._verb.line, epilog=f"Example: {self._verb.example}")(
            guarded(loaded)
        )
        return get_command(single)

    def make_context(self, *arguments: Any, **options: Any) -> Any:
        """Make the click context of the complete command, which runs it."""
        return self.whole.make_context(*arguments, **options)


_app = typer.Typer(
    name="softgrasp",
    cls=SectionedGroup,
    help="Grasp simulation on MuJoCo: from a hand and an object to contacts, forces and a video.",
    epilog="Example: softgrasp demo",
    invoke_without_command=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


@_app.callback()
def _root(
    context: typer.Context,
    version: Annotated[bool, Option("--version", help="Show the version.")] = False,
    verbose: Annotated[
        bool, Option("--verbose", help="Log on standard error what is read, run and written.")
    ] = False,
) -> None:
    terminal.set_up_logging(verbose=verbose)
    if version:
        typer.echo(f"softgrasp {__version__}")
        raise typer.Exit
    if context.invoked_subcommand is None:
        typer.echo(context.get_help(), err=True)
        raise typer.Exit(WRONG_INPUT)


app: Any = get_command(_app)  # a group of typer, whose type has no public name
for _name, _verb in (VERBS | GROUPS).items():
    app.add_command(LazyCommand(_name, _verb))
app.add_command(LazyCommand("benchmark", VERBS["bench"], hidden=True))  # another name
