"""Atomic file output, progress callbacks, and commented templates of input files.

A file appears complete or not at all: it is written under a temporary name beside the target and
renamed. Long operations report progress to the listener of the current context; without one, only
to the log.
"""

from __future__ import annotations

import logging
import os
import re
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path

from softgrasp import assets
from softgrasp.errors import DescriptionError, ResultError, did_you_mean

logger = logging.getLogger(__name__)
RESULT_FILE, TRAJECTORY_FILE = "result.json", "trajectory.npz"
"""Files of a result."""
KINDS = ("hand", "object", "scene")
PLACEHOLDER = "NAME"
_GOOD_NAME = re.compile(r"[A-Za-z][\w-]*")
Listener = Callable[[str, float | None], None]
"""Called with a short text and the completed fraction, 0 to 1, or None if unknown."""
_listener: ContextVar[Listener | None] = ContextVar("listener", default=None)


@contextmanager
def atomic_path(target: str | Path) -> Iterator[Path]:
    """Yield a temporary path that is renamed to ``target`` when the block ends without exception.

    Args:
        target: File to write; missing directories are created.

    Yields:
        Path in the same directory with the same suffix, to be written by the caller.

    Raises:
        ResultError: The directory cannot be created or written.
    """
    target = Path(target)
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(
            dir=target.parent, prefix=f".{target.stem}.", suffix=target.suffix
        )
    except OSError as error:
        raise ResultError(
            f"{target}: expected a writable path, found: {error.strerror or error}"
        ) from error
    os.close(handle)
    temporary = Path(name)
    try:
        yield temporary
        temporary.chmod(0o644)
        temporary.replace(target)
        logger.info("Wrote %s, %d bytes.", target, target.stat().st_size)
    finally:
        temporary.unlink(missing_ok=True)


def write_text(target: str | Path, text: str) -> Path:
    """Write a UTF-8 text file atomically and return its path."""
    with atomic_path(target) as temporary:
        temporary.write_text(text, encoding="utf-8")
    return Path(target)


def write_bytes(target: str | Path, content: bytes) -> Path:
    """Write a binary file atomically and return its path."""
    with atomic_path(target) as temporary:
        temporary.write_bytes(content)
    return Path(target)


@contextmanager
def listening(listener: Listener) -> Iterator[None]:
    """Send progress reports to a listener while the block runs.

    Args:
        listener: Called with the text and the completed fraction.
    """
    token = _listener.set(listener)
    try:
        yield
    finally:
        _listener.reset(token)


def report_progress(text: str, done: float | None = None) -> None:
    """Report progress to the listener of this context, if there is one.

    Args:
        text: Current operation, in a few words.
        done: Completed fraction, 0 to 1; None if unknown, which is logged.
    """
    if done is None:
        logger.info("%s%s.", text[:1].upper(), text[1:])
    listener = _listener.get()
    if listener is not None:
        listener(text, done)


def template(kind: str, name: str) -> str:
    """Return the commented template of a hand, object or scene with its name filled in.

    Raises:
        DescriptionError: There is no such kind, or the name is not a valid file name.
    """
    if kind not in KINDS:
        raise DescriptionError(f"no template of a '{kind}'; {did_you_mean(kind, KINDS)}")
    if not _GOOD_NAME.fullmatch(name):
        raise DescriptionError(
            f"expected a name of letters, digits, _ and -, beginning with a letter, found '{name}'"
        )
    text = (assets.root() / "assets" / "templates" / f"{kind}.yaml").read_text(encoding="utf-8")
    return re.sub(rf"\b{PLACEHOLDER}\b", name, text)


def write_template(kind: str, name: str, file: Path) -> Path:
    """Write a template to a new file.

    Raises:
        DescriptionError: As ``template`` raises it.
        ResultError: The file exists, or cannot be written.
    """
    text = template(kind, name)
    if file.exists():
        raise ResultError(f"{file}: expected no file, found one; it is not overwritten")
    return write_text(file, text)
