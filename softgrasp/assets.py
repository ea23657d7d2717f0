"""Finds what softgrasp ships (``hands/``, ``objects/``, ``assets/``) in a checkout or a wheel."""

from __future__ import annotations

import ctypes
import os
import platform
import sys
import warnings
from functools import cache
from pathlib import Path

from softgrasp.errors import DescriptionError, SoftgraspWarning, did_you_mean

SUFFIX, ROBOT_SUFFIX = ".yaml", ".ucrdf"
IN_ASSETS = (
    "arms",
    "criteria",
    "fingers",
    "hydraulic_arms",
    "pressure_fits",
    "problems",
    "register_maps",
    "robot_programs",
    "robots",
    "scenes",
    "twins",
)
"""Kinds that have their folder below ``assets/``."""
SINGULAR = {
    "criteria": "criterion",
    "hydraulic_arms": "hydraulic arm",
    "pressure_fits": "pressure fit",
    "register_maps": "register map",
    "robot_programs": "robot program",
}


@cache
def root() -> Path:
    """The folder that holds ``hands/``, ``objects/`` and ``assets/``."""
    package = Path(__file__).resolve().parent
    checkout = package.parent
    marks = (checkout / "hands", checkout / "pyproject.toml")
    return checkout if all(mark.exists() for mark in marks) else package / "data"


def directory(kind: str) -> Path:
    """The folder of one kind, such as ``hands``, ``objects``, ``robots`` or ``scenes``."""
    return (root() / "assets" if kind in IN_ASSETS else root()) / kind


def suffix(kind: str) -> str:
    """What the file names of one kind end in."""
    return ROBOT_SUFFIX if kind == "robots" else SUFFIX


def names(kind: str) -> list[str]:
    """Names of all that is shipped of one kind, sorted."""
    return sorted(path.stem for path in directory(kind).glob(f"*{suffix(kind)}"))


def find(kind: str, name: str) -> Path:
    """The file of a shipped hand, object, arm, finger, robot, scene or criterion.

    Raises:
        DescriptionError: There is none of that name; names what exists.
    """
    if name not in names(kind):
        singular = SINGULAR.get(kind, kind.removesuffix("s"))
        raise DescriptionError(f"no {singular} '{name}'; {did_you_mean(name, names(kind))}")
    return directory(kind) / f"{name}{suffix(kind)}"


def shipped_file(name: str) -> Path | None:
    """A file that a shipped description names relative to the library, or None.

    Args:
        name: Such as ``objects/meshes/pear.obj``.
    """
    if Path(name).is_absolute():
        return None
    path = (root() / name).resolve()
    return path if path.is_relative_to(root()) and path.is_file() else None


def portable_name(path: Path) -> str:
    """The library's name of a shipped file, the absolute path of any other."""
    path = path.resolve()
    for kind in ("hands", "objects", "assets"):
        if path.is_relative_to(root() / kind):
            return path.relative_to(root()).as_posix()
    return str(path)


# --------------------
# Keeps a ``MUJOCO_GL`` that does not work from ending every program at ``import mujoco``.
#
# MuJoCo reads the variable when it is imported and raises there, also for runs that draw nothing.
# softgrasp's own renderers do not need it: they look for OpenGL themselves.


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
