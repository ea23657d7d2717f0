"""OpenCV, which is an extra and only loaded where a picture is measured."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from softgrasp.errors import BackendUnavailable


def opencv() -> Any:
    """The module ``cv2``.

    Raises:
        BackendUnavailable: It is not installed.
    """
    try:
        return import_module("cv2")
    except ImportError:
        raise BackendUnavailable(
            "photographs and films are measured with OpenCV, which is not installed: "
            "pip install 'softgrasp[calibrate]'"
        ) from None
