"""Shipped hands, objects and other files, and a check of ``MUJOCO_GL`` before MuJoCo is imported.

``hands/``, ``objects/`` and ``assets/`` lie in the checkout or in the wheel; ``find`` returns the
file of a shipped name. ``drop_unusable_choice`` prevents an invalid ``MUJOCO_GL`` from ending every
program: MuJoCo reads the variable at import and raises an error there, also for runs without
images, whereas the renderers of softgrasp look for OpenGL themselves.
"""

from __future__ import annotations

import ctypes
import os
import platform
import sys
import warnings
from functools import cache
from pathlib import Path

from softgrasp.errors import DescriptionError, SoftgraspWarning, did_you_mean

# Shipped files.

SUFFIX, ROBOT_SUFFIX = ".yaml", ".ucrdf"
"""Suffixes of shipped files."""
YAML_SUFFIXES = (".yaml", ".yml")
MESH_SUFFIXES = (".stl", ".obj", ".ply", ".glb", ".off", ".dae")
CAD_SUFFIXES = (".step", ".stp", ".iges", ".igs", ".brep")
MACRO_SUFFIX = ".xacro"
ROBOT_SUFFIXES = (ROBOT_SUFFIX, ".urdf", MACRO_SUFFIX)
MODEL_SUFFIX = ".xml"
MODEL_SUFFIXES = (MODEL_SUFFIX, ".mjcf")
"""Suffixes of the files that softgrasp reads; CAD files it only names in messages."""
SDF_SUFFIX = ".sdf"
SDF_CURE = (
    "it is a model of Gazebo in SDFormat, which is not read; load the URDF or xacro file from "
    "which it was made, or convert it to URDF"
)
"""Cure for files that Gazebo writes."""
YCB_PREFIX = "ycb:"
"""Prefix of objects of the YCB set."""
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
"""Kinds whose directory is in ``assets/``."""
SINGULAR = {
    "criteria": "criterion",
    "hydraulic_arms": "hydraulic arm",
    "pressure_fits": "pressure fit",
    "register_maps": "register map",
    "robot_programs": "robot program",
}
"""Singulars of kinds for messages, where removing an s does not suffice."""


@cache
def root() -> Path:
    """Return the directory that contains ``hands/``, ``objects/`` and ``assets/``."""
    package = Path(__file__).resolve().parent
    checkout = package.parent
    marks = (checkout / "hands", checkout / "pyproject.toml")
    return checkout if all(mark.exists() for mark in marks) else package / "data"


def directory(kind: str) -> Path:
    """Return the directory of one kind, such as ``hands``, ``objects`` or ``scenes``."""
    return (root() / "assets" if kind in IN_ASSETS else root()) / kind


def suffix(kind: str) -> str:
    """Return the suffix of the files of one kind."""
    return ROBOT_SUFFIX if kind == "robots" else SUFFIX


def names(kind: str) -> list[str]:
    """Return the sorted names of all shipped files of one kind."""
    return sorted(path.stem for path in directory(kind).glob(f"*{suffix(kind)}"))


def find(kind: str, name: str) -> Path:
    """Return the file of a shipped hand, object, arm, finger, robot, scene or criterion.

    Raises:
        DescriptionError: There is no such name; lists the existing ones.
    """
    if name not in names(kind):
        singular = SINGULAR.get(kind, kind.removesuffix("s"))
        raise DescriptionError(f"no {singular} '{name}'; {did_you_mean(name, names(kind))}")
    return directory(kind) / f"{name}{suffix(kind)}"


def find_shipped_file(name: str) -> Path | None:
    """Return a file named relative to the library, or None.

    Args:
        name: Such as ``objects/meshes/pear.obj``.
    """
    if Path(name).is_absolute():
        return None
    path = (root() / name).resolve()
    return path if path.is_relative_to(root()) and path.is_file() else None


def portable_name(path: Path) -> str:
    """Return the library name of a shipped file, the absolute path of any other."""
    path = Path(os.path.realpath(path))  # Path.resolve raises at links that name each other
    for kind in ("hands", "objects", "assets"):
        if path.is_relative_to(root() / kind):
            return path.relative_to(root()).as_posix()
    return str(path)


# MUJOCO_GL.

VARIABLE = "MUJOCO_GL"
OFF = ("disable", "disabled", "off", "false", "0")
DEFAULT = ("enable", "enabled", "on", "true", "1", "glfw")
OF_SYSTEM = {"Linux": ("glx", "egl", "osmesa"), "Windows": ("wgl",), "Darwin": ("cgl",)}
NEEDED = {
    "egl": (("EGL",), ("OpenGL", "GL", "GLESv2", "GLESv1_CM")),
    "osmesa": (("OSMesa",),),
}
"""Libraries that MuJoCo loads at import on Linux: one of each group."""


def drop_unusable_choice() -> None:
    """Unset ``MUJOCO_GL`` for this process, with a warning, where MuJoCo would fail with it."""
    choice = os.environ.get(VARIABLE, "").lower().strip()
    if "mujoco" in sys.modules or not choice:
        return
    fault = _fault(choice)
    if fault:
        del os.environ[VARIABLE]
        # the cause is not in the user's program, so no line of it is shown
        warnings.warn_explicit(
            f"{VARIABLE}={choice}: {fault}; ignored", SoftgraspWarning, "softgrasp", 0
        )


def _fault(choice: str) -> str:
    """Return why MuJoCo would fail with a value of ``MUJOCO_GL``; empty where it would not."""
    system = platform.system()
    known = (*OFF, *DEFAULT, *OF_SYSTEM.get(system, ()))
    if choice not in known:
        return f"expected one of {', '.join(known)}"
    groups = NEEDED.get(choice, ()) if system == "Linux" else ()
    missing = [group[0] for group in groups if not any(map(_loads, group))]
    return f"expected the library lib{missing[0]}, found none" if missing else ""


def _loads(library: str) -> bool:
    """Return whether the dynamic loader finds a library under one of PyOpenGL's names for it."""
    for suffix in ("", *(f".{number}" for number in range(9, -1, -1))):
        try:
            ctypes.CDLL(f"lib{library}.so{suffix}")
        except OSError:
            continue
        return True
    return False
