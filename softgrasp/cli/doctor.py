"""``softgrasp doctor``: what is installed, and what works."""

from __future__ import annotations

import os
import platform
import sys
import tempfile
from importlib.metadata import PackageNotFoundError, version
from typing import NamedTuple

from softgrasp import assets
from softgrasp._version import __version__
from softgrasp.cli import terminal
from softgrasp.cli.options import Json, Out

REQUIRED = ("mujoco", "numpy", "scipy", "matplotlib", "trimesh", "typer")
"""Required libraries whose versions matter."""
OPTIONAL = {
    "opencv-python-headless": ("calibrate", "photographs and videos of fingers"),
    "pandas": ("sweep", "sweeps, plans and their tables"),
    "pyarrow": ("sweep", "sweeps, plans and their tables"),
    "distributed": ("cluster", "sweeps on a Dask cluster"),
    "viser": ("view", "scenes in the browser"),
    "pymodbus": ("twin", "pumps and valves over Modbus TCP"),
    "dartpy": ("ode", "an Open Dynamics Engine, where the system has none"),
    "coacd": ("mesh", "convex parts of meshes"),
    "fast-simplification": ("mesh", "coarser meshes"),
    "pycollada": ("mesh", "COLLADA meshes (.dae)"),
    "pillow-heif": ("heic", "photographs in HEIC"),
    "imageio-ffmpeg": ("video", "videos as MP4; else GIFs"),
    "gymnasium": ("gym", "environments of Gymnasium"),
    "dm-control": ("dm", "environments of dm_control; Python 3.11 or 3.12"),
    "mujoco-warp": ("gpu", "many grasps at once on a GPU"),
    "minari": ("minari", "datasets of Minari"),
    "rerun-sdk": ("rerun", "recordings of rerun"),
    "usd-core": ("usd", "scenes and runs in USD"),
    "xacro": ("xacro", ".xacro files"),
    "xarray": ("xarray", "time series of results as datasets"),
}
"""Optional libraries: the extra that installs each, and its purpose."""
ALTERNATIVES = {
    "opencv-python-headless": (
        "opencv-python", "opencv-contrib-python", "opencv-contrib-python-headless",
    ),
}  # fmt: skip
"""Packages that install the same module as an optional one."""
THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
"""Variables that limit the threads of libraries."""


class Finding(NamedTuple):
    """One line of the report on the installation."""

    what: str
    value: str
    cure: str = ""


def doctor(out: Out = None, json: Json = False) -> None:
    """Print versions, renderers and directories, and how to install what is missing."""
    findings = [*_versions(), *_engines(), *_drawing(), *_directories()]
    document = [finding._asdict() for finding in findings]
    if out is not None:
        terminal.save_json(document, out / "doctor.json")
    if json:
        terminal.put_json(document)
    else:
        terminal.put_table(["what", "value", "cure"], [list(finding) for finding in findings])
        terminal.put(_summary(findings))


def _summary(findings: list[Finding]) -> str:
    """Sentence about the optional packages that are missing here and can be installed."""
    has_ode = any(finding.what == "backend ode" and not finding.cure for finding in findings)
    not_needed = {"mujoco-warp"}  # of no use without a GPU, and 400 MB
    not_needed |= {"minari", "rerun-sdk", "usd-core"}  # of no use without the programs they serve
    not_needed |= {"dartpy"} if has_ode else set()
    not_needed |= {"dm-control"} if sys.version_info >= (3, 13) else set()
    missing = [
        name
        for name in OPTIONAL
        if name not in not_needed and not (_version(name) or _alternative(name))
    ]
    if not missing:
        return "missing: nothing"
    extra = "ode" if missing == ["dartpy"] else "all"
    return f"missing: {', '.join(missing)}; pip install 'softgrasp[{extra}]'"


def _versions() -> list[Finding]:
    system = f"{platform.system()} {platform.machine()}"
    system += "" if platform.system() == "Linux" else ", on which softgrasp is untested"
    findings = [
        Finding("softgrasp", __version__),
        Finding("python", platform.python_version()),
        Finding("system", system),
    ]
    findings += [Finding(name, _version(name) or "missing") for name in REQUIRED]
    for name, (extra, purpose) in OPTIONAL.items():
        installed = _version(name) or _alternative(name)
        if installed is None:
            text = f"not installed; for {purpose}"
            findings.append(Finding(name, text, f"pip install 'softgrasp[{extra}]'"))
        elif name == "dm-control" and (_version("mujoco") or "").startswith("4."):
            # dm_control 1.0.50 reads fields that MuJoCo 4 no longer has (decision 0001)
            findings.append(
                Finding(name, f"{installed}, fails on MuJoCo 4", "pip install 'mujoco<4'")
            )
        else:
            findings.append(Finding(name, installed))
    return findings


def _engines() -> list[Finding]:
    """Check the engines other than MuJoCo."""
    from softgrasp.errors import BackendUnavailable
    from softgrasp.extensions import ENGINES
    from softgrasp.sim.engines import engine_named

    findings = []
    for name in ENGINES:
        try:
            findings.append(Finding(f"backend {name}", engine_named(name).version()))
        except BackendUnavailable as error:
            reason, _, cure = str(error).partition(": ")
            findings.append(Finding(f"backend {name}", reason, cure))
    return findings


def _drawing() -> list[Finding]:
    from softgrasp.errors import BackendUnavailable
    from softgrasp.rendering import renderer as gl
    from softgrasp.rendering.encoding import ffmpeg_program

    kinds = [label for kind, label in gl.NAMES.items() if gl.gl_available(kind)]
    findings = [
        Finding("OpenGL", ", ".join(kinds))
        if kinds
        else Finding("OpenGL", "none works", gl.INSTALL_COMMAND),
        Finding("ray caster", "available"),
    ]
    try:
        findings.append(Finding("ffmpeg", ffmpeg_program()))
    except BackendUnavailable as error:
        findings.append(Finding("ffmpeg", "none, videos are GIFs", str(error).rpartition(": ")[2]))
    return findings


def _directories() -> list[Finding]:
    from softgrasp.io.convex_decomposition import CACHE_VARIABLE, cache_directory
    from softgrasp.io.object import ROOT_VARIABLE

    cache, writable = cache_directory(), True
    try:
        parent = next(path for path in (cache, *cache.parents) if path.exists())
        tempfile.TemporaryFile(dir=parent).close()
    except OSError:
        writable = False
    return [
        Finding("cores", str(os.cpu_count())),
        Finding("threads", _threads()),
        Finding("library", str(assets.root())),
        Finding(
            "cache",
            f"{cache}{'' if writable else ', cannot be written'}",
            "" if writable else f"set {CACHE_VARIABLE} to a directory that can be written",
        ),
        Finding("YCB meshes", os.environ.get(ROOT_VARIABLE) or f"{ROOT_VARIABLE} is not set"),
    ]


def _threads() -> str:
    """Return the cores that this process may use, and thread limits of libraries."""
    affinity = getattr(os, "sched_getaffinity", None)  # not on macOS and Windows
    usable = len(affinity(0)) if affinity is not None else os.cpu_count()
    limits = [f"{name}={os.environ[name]}" for name in THREADS if os.environ.get(name)]
    return ", ".join([f"{usable} usable", *limits])


def _version(distribution: str) -> str | None:
    try:
        return version(distribution)
    except PackageNotFoundError:
        return None


def _alternative(distribution: str) -> str | None:
    """Return another package that provides the same module, such as ``opencv-python``."""
    return next(
        (f"{installed}, of {name}" for name in ALTERNATIVES.get(distribution, ())
         if (installed := _version(name)) is not None), None,
    )  # fmt: skip
