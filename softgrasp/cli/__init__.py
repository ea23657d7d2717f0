"""The command line: ``softgrasp VERB``."""

from __future__ import annotations

from collections.abc import Sequence


def main(argv: Sequence[str] | None = None) -> int:
    """Run one verb.

    Args:
        argv: Words after ``softgrasp``; those of this process where they are not given.

    Returns:
        The exit code: 0 the job ran · 1 ``check`` or ``rerun`` found a problem · 2 wrong input ·
        3 something optional is missing · 4 the simulation diverged · 5 not held, with
        ``--require-held`` · 130 interrupted.
    """
    from softgrasp.cli.app import app

    try:
        app(None if argv is None else list(argv), prog_name="softgrasp")
    except SystemExit as ended:
        return ended.code if isinstance(ended.code, int) else 0
    return 0
