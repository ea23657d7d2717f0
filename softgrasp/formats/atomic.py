"""Files appear whole or not at all: a temporary name beside the target, then a rename."""

from __future__ import annotations

import logging
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from softgrasp.errors import ResultError

logger = logging.getLogger(__name__)


@contextmanager
def atomic_path(target: str | Path) -> Iterator[Path]:
    """A temporary path that becomes ``target`` when the block ends without an exception.

    Args:
        target: The file to write; its folder is made when it is missing.

    Yields:
        A path in the same folder with the same suffix, to be written by the caller.

    Raises:
        ResultError: The folder cannot be made or written.
    """
    target = Path(target)
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(
            dir=target.parent, prefix=f".{target.stem}.", suffix=target.suffix
        )
    except OSError as error:
        raise ResultError(
            f"{target}: expected a place that can be written, found: {error.strerror or error}"
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
