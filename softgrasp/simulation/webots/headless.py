"""A screen for Webots, which opens a window even when it draws nothing."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Sequence

from softgrasp.errors import BackendUnavailable

VIRTUAL_SCREEN = ("xvfb-run", "--auto-servernum")


def is_headless() -> bool:
    """Whether this is a Linux session without a screen."""
    screens = (os.environ.get("DISPLAY"), os.environ.get("WAYLAND_DISPLAY"))
    return sys.platform == "linux" and not any(screens)


def with_screen(command: Sequence[str]) -> list[str]:
    """A command that finds a screen: itself, or on a virtual one where there is no other.

    Args:
        command: Program and arguments.

    Raises:
        BackendUnavailable: There is no screen and no program that makes a virtual one.
    """
    if not is_headless():
        return list(command)
    if shutil.which(VIRTUAL_SCREEN[0]) is None:
        raise BackendUnavailable(
            "Webots needs a screen: expected DISPLAY or WAYLAND_DISPLAY to be set, or the program "
            "xvfb-run, found none of them; install it with: apt install xvfb"
        )
    return [*VIRTUAL_SCREEN, *command]
