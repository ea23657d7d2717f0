"""The command line: ``softgrasp VERB``."""

from __future__ import annotations

import atexit
import gc
import sys
from collections.abc import Sequence

VERBOSE = "--verbose"
ALLOCATIONS = 50_000
"""New objects between two collections of garbage. Imports make many objects and no garbage; the
default of 700 spends a fifth of a start on them, and the whole heap is searched again at the end
of the process, which takes 0.2 s with pandas loaded."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run the verb (subcommand) that the arguments name.

    Args:
        argv: Arguments after ``softgrasp``; by default those of this process.

    Returns:
        The exit code: 0 the job ran · 1 ``check`` or ``rerun`` found a problem · 2 wrong input ·
        3 something optional is missing · 4 the simulation diverged · 5 not held, with
        ``--require-held`` · 130 interrupted.
    """
    gc.set_threshold(ALLOCATIONS)
    atexit.register(gc.freeze)
    try:
        return _run(list(sys.argv[1:] if argv is None else argv))
    except KeyboardInterrupt:  # while a module is imported; verbs and typer handle it later
        sys.stderr.write("softgrasp: interrupted\n")
        return 130


def _run(words: list[str]) -> int:
    import typer

    from softgrasp.cli import terminal
    from softgrasp.cli.app import app

    if VERBOSE in words:  # before the verb or after it
        words = [VERBOSE, *(word for word in words if word != VERBOSE)]
    try:
        # None where a verb ends without an exit code
        return app(words, prog_name="softgrasp", standalone_mode=False) or 0
    except typer.TyperException as error:
        # pydantic puts "Value error" in front of the message
        terminal.show_message("error", error.format_message().replace("Value error, ", ""))
        return error.exit_code
