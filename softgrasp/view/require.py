"""Whether the library of the pages is there."""

from __future__ import annotations

from importlib.util import find_spec

from softgrasp.errors import BackendUnavailable


def require_viser() -> None:
    """Say what to install where it is not.

    Raises:
        BackendUnavailable: viser is not installed.
    """
    if find_spec("viser") is None:
        raise BackendUnavailable(
            "a page in the browser needs viser; pip install 'softgrasp[view]', or leave the page "
            "out with --no-view where the verb has it"
        )
