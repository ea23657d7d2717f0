"""Find ODE's shared library: the system's in double precision, or the one that panda3d carries."""

from __future__ import annotations

import ctypes
import ctypes.util
import os
import re
from dataclasses import dataclass
from functools import lru_cache
from importlib import metadata, util
from pathlib import Path
from typing import Literal

from softgrasp.errors import BackendUnavailable

VARIABLE = "SOFTGRASP_ODE_LIB"
"""Environment variable with the path of a library, which comes before all others."""
SYSTEM_NAMES = ("libode.so.8", "libode.so", "libode.dylib", "ode_double.dll", "ode.dll")
PANDA_LIBRARIES = ("libp3dtool", "libp3dtoolconfig", "libpandaexpress", "libpanda", "libpandaode")
"""In the order in which they need one another; the last one exports ODE's functions."""
Precision = Literal["double", "single"]


@dataclass(frozen=True)
class OdeLibrary:
    """A library that is loaded; numbers in its functions have its precision."""

    handle: ctypes.CDLL
    path: str
    """As it was asked for; a name that the system resolves has no folder."""
    precision: Precision
    configuration: frozenset[str]
    """What it was built with, such as ``ODE_EXT_trimesh``."""
    version: str
    """``0.16.2``, ``panda3d 1.10.16``, or the library's own file where neither is known."""

    def describe(self) -> str:
        """Version and precision, such as ``0.16.2 double``."""
        return f"{self.version} {self.precision}"


def load_library() -> OdeLibrary:
    """The first ODE that is found; the same one for the whole process.

    Raises:
        BackendUnavailable: There is none, or the one that ``SOFTGRASP_ODE_LIB`` names is not ODE.
    """
    return _load(os.environ.get(VARIABLE, ""))


@lru_cache(maxsize=1)
def _load(named: str) -> OdeLibrary:
    if named:
        library = _opened(named, _version_of_file)
        if library is None:
            raise BackendUnavailable(f"{VARIABLE}: expected ODE's shared library, found {named}")
        return library
    system_library = ctypes.util.find_library("ode")
    names = [system_library, *SYSTEM_NAMES] if system_library else list(SYSTEM_NAMES)
    for name in dict.fromkeys(names):
        library = _opened(name, _version_of_file)
        if library is not None:
            return library
    library = _from_panda3d()
    if library is None:
        searched = ", ".join(SYSTEM_NAMES[:3])
        raise BackendUnavailable(
            f"no ODE library found (looked for {searched} and panda3d): apt install libode8, or "
            f"pip install 'softgrasp[ode]'; or set {VARIABLE}"
        )
    return library


def _from_panda3d() -> OdeLibrary | None:
    """The library in the panda3d wheel, which is built in single precision."""
    package = util.find_spec("panda3d")
    if package is None or not package.submodule_search_locations:
        return None
    directory = Path(next(iter(package.submodule_search_locations)))
    paths = [next(iter(sorted(directory.glob(f"{name}.*"))), None) for name in PANDA_LIBRARIES]
    libraries = [str(path) for path in paths if path is not None]
    if len(libraries) != len(PANDA_LIBRARIES):
        return None
    try:
        for path in libraries[:-1]:
            ctypes.CDLL(path, mode=ctypes.RTLD_GLOBAL)
    except OSError:
        return None
    return _opened(libraries[-1], lambda _: f"panda3d {metadata.version('panda3d')}")


def _opened(path: str, version: object) -> OdeLibrary | None:
    try:
        handle = ctypes.CDLL(path)
        handle.dGetConfiguration.restype = ctypes.c_char_p
    except (OSError, AttributeError):
        return None
    words = frozenset(handle.dGetConfiguration().decode().split())
    precision: Precision = "double" if "ODE_double_precision" in words else "single"
    version_text = version(handle) if callable(version) else ""
    return OdeLibrary(handle, path, precision, words, version_text)


def _version_of_file(handle: ctypes.CDLL) -> str:
    """What the name of the loaded file tells: ODE itself has no function that says its version.

    Builds with libtool number the file 8.0.N for ODE 0.16.N (Debian's libode8 0.16.2 is
    libode.so.8.0.2); builds with CMake put ODE's own version there.
    """
    file = _loaded_file(handle)
    number = re.search(r"\.(\d+)\.(\d+)\.(\d+)(?:\.dylib)?$", file)
    if number is None:
        return Path(file).name
    major, minor, patch = number.groups()
    return f"0.16.{patch}" if (major, minor) == ("8", "0") else f"{major}.{minor}.{patch}"


class _DlInfo(ctypes.Structure):
    """What ``dladdr`` tells of an address (Dl_info)."""

    _fields_ = [
        ("file", ctypes.c_char_p),
        ("base", ctypes.c_void_p),
        ("symbol", ctypes.c_char_p),
        ("address", ctypes.c_void_p),
    ]


def _loaded_file(handle: ctypes.CDLL) -> str:
    """The real path of a library that was found by its name."""
    info = _DlInfo()
    try:
        where = ctypes.CDLL(None).dladdr
        where(ctypes.cast(handle.dInitODE2, ctypes.c_void_p), ctypes.byref(info))
    except (OSError, AttributeError, TypeError):
        return handle._name
    return os.path.realpath(info.file.decode()) if info.file else handle._name
