"""What takes long says so, to whoever listens: nobody, unless a terminal does."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

logger = logging.getLogger(__name__)
Listener = Callable[[str, float | None], None]
"""Called with what is going on and the part of it that is done, 0 to 1, None where unknown."""

_listener: ContextVar[Listener | None] = ContextVar("listener", default=None)


@contextmanager
def listening(listener: Listener) -> Iterator[None]:
    """Let a listener hear what is going on while the block runs.

    Args:
        listener: Called with the text and the part that is done.
    """
    token = _listener.set(listener)
    try:
        yield
    finally:
        _listener.reset(token)


def report_progress(text: str, done: float | None = None) -> None:
    """Tell what is going on to the listener of this context, if there is one.

    Args:
        text: What, in a few words.
        done: The part of it that is done, 0 to 1; None where that is not known.
    """
    if done is None:
        logger.info("%s%s.", text[:1].upper(), text[1:])
    listener = _listener.get()
    if listener is not None:
        listener(text, done)
