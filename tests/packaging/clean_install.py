"""Build the wheel and the sdist, install the wheel into an empty environment, and use it.

usage: python tests/packaging/clean_install.py [PYTHON ...]

For every Python that is named, else for the running one: how long the installation takes, how
large it is, whether the import is light, and whether the demonstration runs outside the checkout.
Needs the package index that pip is set up for.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tarfile
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[2]
HEAVY = ("mujoco", "numpy", "scipy", "matplotlib", "pydantic", "trimesh", "typer", "imageio")
DEMO = ("demo", "--renderer", "raycast", "--no-video", "--json")


class Installed(NamedTuple):
    """An environment with softgrasp in it, and what that took."""

    python: Path
    seconds: float
    megabytes: float


def run(*words: str | Path, cwd: Path) -> str:
    """What a command prints; nothing of this checkout or of the user's settings is seen by it.

    Raises:
        RuntimeError: It failed; with what it said.
    """
    kept = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    done = subprocess.run(
        [str(word) for word in words], cwd=cwd, env=kept, capture_output=True, text=True,
        check=False,
    )  # fmt: skip
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(map(str, words))}: {done.returncode}\n{done.stderr}")
    return done.stdout


def built(directory: Path) -> tuple[Path, Path]:
    """The wheel, built from the sdist as installers do it, and the sdist.

    Needs hatchling in the running Python.
    """
    hatch = (sys.executable, "-m", "hatchling", "build", "--directory", directory)
    run(*hatch, "--target", "sdist", cwd=ROOT)
    (sdist,) = directory.glob("*.tar.gz")
    with tarfile.open(sdist) as archive:
        archive.extractall(directory / "unpacked", filter="data")
    (source,) = (directory / "unpacked").iterdir()
    run(*hatch, "--target", "wheel", cwd=source)
    (wheel,) = directory.glob("*.whl")
    return wheel, sdist


def installed(wheel: Path, directory: Path, python: str = sys.executable) -> Installed:
    """A new environment with a wheel and what it needs, without extras."""
    run(python, "-m", "venv", directory, cwd=wheel.parent)
    inside = directory / ("Scripts" if os.name == "nt" else "bin") / "python"
    before, begin = size(directory), time.monotonic()
    run(inside, "-m", "pip", "install", "--quiet", "--no-cache-dir", wheel, cwd=wheel.parent)
    return Installed(inside, time.monotonic() - begin, size(directory) - before)


def size(directory: Path) -> float:
    """Of all files in a folder [MB]."""
    return sum(path.stat().st_size for path in directory.rglob("*") if path.is_file()) / 1e6


def heavy_imports(python: Path, cwd: Path) -> str:
    """Names of large libraries that ``import softgrasp`` has loaded; empty where none."""
    code = f"import sys, softgrasp; print(*(n for n in {HEAVY} if n in sys.modules))"
    return run(python, "-c", code, cwd=cwd).strip()


def demonstration(python: Path, cwd: Path) -> str:
    """The JSON document of ``softgrasp demo``, run by its console script."""
    return run(python.with_name("softgrasp"), *DEMO, cwd=cwd)


def tried(python: Path, words: str, cwd: Path) -> tuple[int, str]:
    """Exit code and messages of a verb, run by the console script."""
    kept = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    done = subprocess.run(
        [str(python.with_name("softgrasp")), *words.split()], cwd=cwd, env=kept,
        capture_output=True, text=True, check=False, timeout=300,
    )  # fmt: skip
    return done.returncode, done.stderr


def main(pythons: list[str]) -> None:
    """Try one Python after another and tell what came out."""
    with tempfile.TemporaryDirectory() as position:
        directory = Path(position)
        wheel, sdist = built(directory)
        for path in (wheel, sdist):
            print(f"{path.name}: {path.stat().st_size / 1e6:.1f} MB")
        for index, python in enumerate(pythons or [sys.executable]):
            made = installed(wheel, directory / f"env{index}", python)
            version = run(made.python, "--version", cwd=directory).strip()
            work = directory / f"work{index}"
            work.mkdir()
            loaded = heavy_imports(made.python, work) or "nothing heavy"
            begin = time.monotonic()
            held = '"held": true' in demonstration(made.python, work)
            print(
                f"{version}: {made.seconds:.0f} s to install, {made.megabytes:.0f} MB; import "
                f"loads {loaded}; demo {'held' if held else 'NOT HELD'} in "
                f"{time.monotonic() - begin:.0f} s"
            )


if __name__ == "__main__":
    main(sys.argv[1:])
