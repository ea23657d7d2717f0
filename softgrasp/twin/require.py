"""What the twin needs and a plain installation does not have."""

from __future__ import annotations

from importlib.util import find_spec

from softgrasp.errors import BackendUnavailable


def require_modbus() -> None:
    """Make sure that Modbus can be spoken.

    Raises:
        BackendUnavailable: pymodbus is not installed.
    """
    if find_spec("pymodbus") is None:
        raise BackendUnavailable(
            "expected pymodbus for a controller on Modbus TCP, found none; "
            "pip install 'softgrasp[twin]'"
        )
