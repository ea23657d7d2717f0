"""Keeps a ``MUJOCO_GL`` that does not work from ending every program at ``import mujoco``.

MuJoCo reads the variable when it is imported and raises there, also for runs that draw nothing.
softgrasp's own renderers do not need it: they look for OpenGL themselves.
"""

from __future__ import annotations

import ctypes
import os
import platform
import sys
import warnings

from softgrasp.errors import SoftgraspWarning

VARIABLE = "MUJOCO_GL"
OFF = ("disable", "disabled", "off", "false", "0")
DEFAULT = ("enable", "enabled", "on", "true", "1", "glfw")
OF_SYSTEM = {"Linux": ("glx", "egl", "osmesa"), "Windows": ("wgl",), "Darwin": ("cgl",)}
NEEDED = {
    "egl": (("EGL",), ("OpenGL", "GL", "GLESv2", "GLESv1_CM")),
    "osmesa": (("OSMesa",),),
}
"""Libraries that MuJoCo loads at once on Linux: one of each group."""


def drop_unusable_choice() -> None:
    """Unset ``MUJOCO_GL`` for this process, with a warning, where MuJoCo would not survive it."""
    choice = os.environ.get(VARIABLE, "").lower().strip()
    if "mujoco" in sys.modules or not choice:
        return
    fault = _fault(choice)
    if fault:
        del os.environ[VARIABLE]
        # no line of the user's program is to blame, so none is shown
        warnings.warn_explicit(
            f"{VARIABLE}={choice}: {fault}; going on without it", SoftgraspWarning, "softgrasp", 0
        )


def _fault(choice: str) -> str:
    system = platform.system()
    known = (*OFF, *DEFAULT, *OF_SYSTEM.get(system, ()))
    if choice not in known:
        return f"expected one of {', '.join(known)}"
    groups = NEEDED.get(choice, ()) if system == "Linux" else ()
    missing = [group[0] for group in groups if not any(map(_loads, group))]
    return f"expected the library lib{missing[0]}, found none" if missing else ""


def _loads(library: str) -> bool:
    """Whether the loader finds a library under one of the names that PyOpenGL tries."""
    for suffix in ("", *(f".{number}" for number in range(9, -1, -1))):
        try:
            ctypes.CDLL(f"lib{library}.so{suffix}")
        except OSError:
            continue
        return True
    return False
