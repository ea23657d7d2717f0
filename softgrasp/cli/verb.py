"""What all verbs have in common: errors become sentences and exit codes."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable
from typing import ParamSpec

import typer

from softgrasp.cli import terminal
from softgrasp.errors import BackendUnavailable, DivergedError, SoftgraspError, SoftgraspWarning

PROBLEMS, WRONG_INPUT, MISSING, DIVERGED, NOT_HELD, INTERRUPTED = 1, 2, 3, 4, 5, 130
"""Exit codes; 0 where the job ran, whatever came out."""

P = ParamSpec("P")


def guarded(verb: Callable[P, None]) -> Callable[P, None]:
    """A verb that tells the user's mistakes and softgrasp's warnings in one line each."""

    @functools.wraps(verb)
    def run(*args: P.args, **options: P.kwargs) -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("always", SoftgraspWarning)
            warnings.showwarning = _teller(warnings.showwarning)
            try:
                verb(*args, **options)
            except SoftgraspError as error:
                terminal.show_message("error", str(error))
                raise typer.Exit(_exit_code(error)) from None
            except MemoryError as error:
                terminal.show_message("error", f"expected enough memory, found too little: {error}")
                raise typer.Exit(WRONG_INPUT) from None
            except KeyboardInterrupt:
                terminal.note("interrupted")
                raise typer.Exit(INTERRUPTED) from None

    return run


def _exit_code(error: SoftgraspError) -> int:
    if isinstance(error, BackendUnavailable):
        return MISSING
    return DIVERGED if isinstance(error, DivergedError) else WRONG_INPUT


def _teller(other: Callable[..., None]) -> Callable[..., None]:
    """Shows our warnings as one line, once each; leaves the rest to ``other``."""
    shown: set[str] = set()

    def show_once(message: Warning | str, category: type[Warning], *context: object) -> None:
        if not issubclass(category, SoftgraspWarning):
            other(message, category, *context)
        elif str(message) not in shown:
            shown.add(str(message))
            terminal.show_message("warning", str(message))

    return show_once
