"""Build the wheel and the sdist, install the wheel into an empty environment, and use it.

usage: python tests/packaging/clean_install.py [--write] [PYTHON ...]

For every Python that is named, else for the running one, and for MuJoCo 3 and 4: how long the
installation takes, how large it is, whether the import is light, and how the demonstration ends
outside the checkout. ``--write`` writes the table of docs/install.md, with the platforms for which
all that the base needs has wheels (found by uv). Needs the package index that pip is set up for.
"""

import json
import math
import os
import shutil
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


DEMO_COLUMNS = (
    "| Python | MuJoCo | size | installed in | demo: outcome | object moved by | largest force |"
)
PLATFORMS = {
    "Linux x86-64": "x86_64-manylinux_2_28",
    "Linux ARM": "aarch64-manylinux_2_28",
    "macOS Apple silicon": "aarch64-apple-darwin",
    "macOS Intel": "x86_64-apple-darwin",
    "Windows x86-64": "x86_64-pc-windows-msvc",
}
"""Platforms in the words of uv."""
PYTHONS = ("3.11", "3.12", "3.13", "3.14")
LARGEST = 6


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


def build(directory: Path) -> tuple[Path, Path]:
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


def install(wheel: Path, directory: Path, python: str = sys.executable, *others: str) -> Installed:
    """A new environment with a wheel and what it needs, without extras, and other packages."""
    run(python, "-m", "venv", directory, cwd=wheel.parent)
    inside = directory / ("Scripts" if os.name == "nt" else "bin") / "python"
    before, begin = measure_size(directory), time.monotonic()
    words = ("-m", "pip", "install", "--quiet", "--no-cache-dir", wheel, *others)
    run(inside, *words, cwd=wheel.parent)
    return Installed(inside, time.monotonic() - begin, measure_size(directory) - before)


def measure_size(directory: Path) -> float:
    """Of all files in a folder [MB]."""
    return sum(path.stat().st_size for path in directory.rglob("*") if path.is_file()) / 1e6


def find_heavy_imports(python: Path, cwd: Path) -> str:
    """Names of large libraries that ``import softgrasp`` has loaded; empty where none."""
    code = f"import sys, softgrasp; print(*(n for n in {HEAVY} if n in sys.modules))"
    return run(python, "-c", code, cwd=cwd).strip()


def demonstrate(python: Path, cwd: Path) -> str:
    """The JSON document of ``softgrasp demo``, run by its console script."""
    return run(python.with_name("softgrasp"), *DEMO, cwd=cwd)


def try_verb(python: Path, words: str, cwd: Path) -> tuple[int, str]:
    """Exit code and messages of a verb, run by the console script."""
    kept = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    done = subprocess.run(
        [str(python.with_name("softgrasp")), *words.split()], cwd=cwd, env=kept,
        capture_output=True, text=True, check=False, timeout=300,
    )  # fmt: skip
    return done.returncode, done.stderr


def list_largest(python: Path) -> list[str]:
    """The largest packages of an environment, with their sizes."""
    code = "import sysconfig; print(sysconfig.get_path('purelib'))"
    folders = [path for path in Path(run(python, "-c", code, cwd=python.parent).strip()).iterdir()
               if path.is_dir()]  # fmt: skip
    sizes = sorted(((measure_size(path), path.name) for path in folders), reverse=True)
    return [f"{name} {megabytes:.0f} MB" for megabytes, name in sizes[:LARGEST]]


def has_wheels(platform: str, python: str) -> bool:
    """Whether all that the base needs has wheels for a platform; found by uv."""
    words = ["pip", "compile", str(ROOT / "pyproject.toml"), "--only-binary", ":all:", "--quiet"]
    words += ["--python-platform", platform, "--python-version", python]
    program = shutil.which("uv")
    if program is None:
        raise RuntimeError("expected uv, found none; pip install uv")
    done = subprocess.run([program, *words], capture_output=True, check=False, timeout=120)
    return done.returncode == 0


def measure_row(wheel: Path, directory: Path, python: str, mujoco: str) -> tuple[str, list[str]]:
    """A row of the table: an installation, and how its demonstration ends."""
    made = install(wheel, directory / "env", python, mujoco)
    work = directory / "work"
    work.mkdir()
    if loaded := find_heavy_imports(made.python, work):
        raise RuntimeError(f"{python}: import softgrasp loads {loaded}")
    code = "import sys, mujoco; print(sys.version.split()[0], mujoco.__version__)"
    version, engine = run(made.python, "-c", code, cwd=work).split()
    grasp = json.loads(demonstrate(made.python, work))
    cells = [
        version, engine, f"{made.megabytes:.0f} MB", f"{made.seconds:.0f} s", grasp["outcome"],
        f"{1e3 * math.hypot(*grasp['object']['displacement_m']):.3f} mm",
        f"{max(peak['force_N'] for peak in grasp['peak_forces']):.1f} N",
    ]  # fmt: skip
    return f"| {' | '.join(cells)} |", list_largest(made.python)


def main(arguments: list[str]) -> None:
    """Try one Python after another and tell what came out."""
    pythons = [word for word in arguments if word != "--write"] or [sys.executable]
    lines = [DEMO_COLUMNS, "|" + " --- |" * DEMO_COLUMNS.count(" |")]
    with tempfile.TemporaryDirectory() as position:
        directory = Path(position)
        wheel, sdist = build(directory)
        largest: list[str] = []
        for index, python in enumerate(pythons):
            for mujoco in ("mujoco<4", "mujoco>=4"):
                folder = directory / f"{index}{mujoco[6:]}"
                folder.mkdir()
                row, largest = measure_row(wheel, folder, python, mujoco)
                lines.append(row)
                print(row, flush=True)
        megabytes = [f"{path.stat().st_size / 1e6:.1f} MB" for path in (wheel, sdist)]
    lines += ["", f"The wheel has {megabytes[0]}, the source archive {megabytes[1]}. The largest "
              f"packages of an environment: {', '.join(largest)}.", ""]  # fmt: skip
    if "--write" in arguments:
        lines += [f"| wheels for | {' | '.join(PYTHONS)} |", "|" + " --- |" * (len(PYTHONS) + 1)]
        for name, platform in PLATFORMS.items():
            cells = ["yes" if has_wheels(platform, python) else "**no**" for python in PYTHONS]
            lines.append(f"| {name} | {' | '.join(cells)} |")
        (ROOT / "docs" / "data" / "install.md").write_text("\n".join(lines) + "\n", "utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
