"""The rules of the house that no single room can keep: layers, a light import, what is public."""

from __future__ import annotations

import ast
import json
import os
import re
import subprocess
import sys
import tomllib
import zipfile
from collections import Counter
from fnmatch import fnmatch
from itertools import chain
from pathlib import Path
from types import ModuleType

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

import softgrasp

ROOT = Path(__file__).resolve().parents[1]
HEAVY = (
    "trimesh",
    "scipy.optimize",
    "matplotlib",
    "pyswarms",
    "dm_control",
    "gymnasium",
    "imageio",
    "typer",
    "rich",
)
SHIPPED = ("hands", "objects", "assets")


def python(code: str, path: Path, cwd: Path) -> str:
    """What a fresh interpreter prints that finds softgrasp in `path`."""
    done = subprocess.run(
        [sys.executable, "-c", code],
        env=os.environ | {"PYTHONPATH": str(path)},
        cwd=cwd,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_imports_go_down_and_heavy_libraries_stay_in_their_modules():
    pytest.importorskip("importlinter", reason="import-linter comes with ./dev only")
    tool = Path(sys.executable).with_name("lint-imports")
    done = subprocess.run(
        [tool, "--no-cache"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("use", ["", "; softgrasp.Sphere(radius=0.03)"], ids=["import", "use"])
def test_import_is_light(use: str, tmp_path: Path):
    code = f"import sys, softgrasp{use}; print(*(n for n in {HEAVY} if n in sys.modules))"
    assert python(code, ROOT, tmp_path) == ""


def test_import_leaves_no_file_behind(tmp_path: Path):
    python("from softgrasp import *", ROOT, tmp_path)
    assert list(tmp_path.iterdir()) == []


SUBMODULES = [
    name for name in softgrasp.__all__ if isinstance(getattr(softgrasp, name), ModuleType)
]
PUBLIC = [(softgrasp, name) for name in softgrasp.__all__ if not name.startswith("__")]
PUBLIC += [
    (module, name)
    for module in (getattr(softgrasp, item) for item in SUBMODULES)
    for name in module.__all__
]


@pytest.mark.parametrize(("module", "name"), PUBLIC, ids=[f"{m.__name__}.{n}" for m, n in PUBLIC])
def test_every_public_name_is_there_and_documented(module: ModuleType, name: str):
    value = getattr(module, name)
    assert name in dir(module)
    assert value.__doc__


def test_the_top_level_stays_small():
    assert len(softgrasp.__all__) - len(SUBMODULES) <= 47


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="module 'softgrasp' has no attribute 'load_hnad'"):
        softgrasp.load_hnad  # noqa: B018


SOURCES = {
    ".".join(path.relative_to(ROOT / "softgrasp").with_suffix("").parts).removesuffix(
        ".__init__"
    ): path.read_text()
    for path in sorted((ROOT / "softgrasp").rglob("*.py"))
}
"""Text of each module by its name without ``softgrasp.``."""
DEFINED = {
    name for text in SOURCES.values() for name in re.findall(r"^(?:def|class) (\w+)", text, re.M)
}
FILE_SUFFIXES = ("csv", "html", "json", "jsonl", "npz", "parquet", "txt", "ucrdf", "xsd", "yaml")


def is_stale(reference: str) -> bool:
    """Whether a dotted name refers to a module of ours, or an object in one, that is missing."""
    name = reference.removeprefix("softgrasp.")
    owner, _, last = name.rpartition(".")
    if last in FILE_SUFFIXES:
        return False
    if last == "py":
        return not any(f".{module}".endswith(f".{owner}") for module in SOURCES)
    # an attribute of a value, such as ``plan.top``, is not distinguished by its name
    is_ours = last in DEFINED and ("_" in last or last[0].isupper())
    if not (is_ours or reference != name or name.split(".")[0] in SOURCES):
        return False
    if any(f".{module}".endswith(f".{name}") for module in SOURCES):
        return False
    owners = (text for module, text in SOURCES.items() if f".{module}".endswith(f".{owner}"))
    texts = owners if owner else iter([SOURCES["__init__"]])
    return not any(re.search(rf"\b{last}\b", text) for text in texts)


@pytest.mark.parametrize(
    ("reference", "stale"),
    [
        ("sim.control_state", False),
        ("joint_actuators.joint_laws", False),
        ("softgrasp.make_env", False),
        ("plan.top", False),
        ("result.json", False),
        ("sim.controller", True),
        ("drives.joint_laws", True),
        ("softgrasp.make_envs", True),
        ("controller.py", True),
    ],
)
def test_a_stale_reference_is_recognized(reference: str, stale: bool):
    assert is_stale(reference) is stale


def test_docstrings_refer_to_modules_that_exist():
    kinds = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    stale = [
        f"{module}: {reference}"
        for module, text in SOURCES.items()
        for node in ast.walk(ast.parse(text))
        if isinstance(node, kinds)
        for reference in re.findall(
            r"``([a-z_]\w*(?:\.\w+)+)(?:\(\))?``", ast.get_docstring(node) or ""
        )
        if is_stale(reference)
    ]
    assert stale == []


@pytest.mark.parametrize("path", sorted(ROOT.glob("requirements/*.txt")), ids=lambda p: p.name)
def test_pinned_files_hold_names_versions_and_hashes_only(path: Path):
    package = re.compile(r"[a-z0-9.-]+==[^ ]+( ; [^\\]+)? \\|    --hash=sha256:[0-9a-f]{64}( \\)?")
    lines = [line for line in path.read_text().splitlines() if not line.lstrip().startswith("#")]
    assert lines
    assert [line for line in lines if not package.fullmatch(line)] == []


def test_every_dependency_is_pinned_within_its_range():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"].values()
    # the ODE of dartpy is installed only where the system has none, MuJoCo Warp, PyTorch and
    # the libraries of exports nowhere
    kinds = ("dev", "ode", "gpu", "learn", "exports")
    pins = "\n".join((ROOT / f"requirements/{kind}.txt").read_text() for kind in kinds)
    for text in [*project["dependencies"], *chain.from_iterable(extras)]:
        target = Requirement(text)
        if target.name == "softgrasp":  # an extra that is made of others
            continue
        result = re.findall(rf"^{canonicalize_name(target.name)}==(\S+)", pins, re.MULTILINE)
        assert result, f"{text} is not pinned: run ./dev lock"
        for version in result:
            assert version in target.specifier, f"{text} is pinned to {version}: run ./dev lock"


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel of this checkout."""
    pytest.importorskip("hatchling", reason="the build tool comes with ./dev only")
    directory = tmp_path_factory.mktemp("wheel")
    build = [sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory"]
    subprocess.run([*build, str(directory)], cwd=ROOT, check=True, capture_output=True)
    (path,) = directory.glob("*.whl")
    return path


@pytest.mark.slow
def test_the_wheel_carries_all_that_is_shipped(wheel: Path):
    packed = set(zipfile.ZipFile(wheel).namelist())
    shipped = {
        f"softgrasp/data/{path.relative_to(ROOT).as_posix()}"
        for kind in SHIPPED
        for path in (ROOT / kind).rglob("*")
        if path.is_file() and path.suffix not in (".py", ".pyc")
    }
    assert shipped
    assert shipped == {name for name in packed if name.startswith("softgrasp/data/")}
    assert "softgrasp/py.typed" in packed
    assert not [name for name in packed if not name.startswith("softgrasp")]


@pytest.mark.slow
def test_the_wheel_finds_its_hands_without_a_checkout(wheel: Path, tmp_path: Path):
    site = tmp_path / "site"
    zipfile.ZipFile(wheel).extractall(site)
    code = (
        "import softgrasp, softgrasp.assets as library\n"
        "print(library.root())\n"
        "print(softgrasp.load_hand('four_finger').name)"
    )
    assert python(code, site, tmp_path).splitlines() == [
        str(site / "softgrasp" / "data"),
        "four_finger",
    ]


def test_no_directory_of_tests_is_left_out(pytestconfig: pytest.Config):
    left_out = pytestconfig.getini("norecursedirs")
    directories = {path.parent.name for path in (ROOT / "tests").rglob("test_*.py")}
    assert "sim" in directories
    assert not [name for name in directories for mark in left_out if fnmatch(name, mark)]


def test_architecture_names_files_that_exist():
    text = (ROOT / "ARCHITECTURE.md").read_text("utf-8")
    named = re.findall(r"`([a-z_]+/[a-z_/]+\.py)`", text)
    assert len(named) > 30
    missing = [
        name
        for name in named
        if not any((ROOT / top / name).exists() for top in ("softgrasp", "."))
    ]
    assert not missing
    folders = {path.parent.name for path in (ROOT / "softgrasp").glob("*/__init__.py")}
    assert not [name for name in sorted(folders) if f"`{name}/`" not in text]


def test_files_and_directories_keep_their_size():
    """A file is a topic of at most 900 lines, a folder has at most about 25 files."""
    files = sorted((ROOT / "softgrasp").rglob("*.py"))
    long = [path.name for path in files if len(path.read_text("utf-8").splitlines()) > 900]
    assert not long
    counts = Counter(path.parent for path in files)
    assert not [path.name for path, count in counts.items() if count > 27]


def test_the_root_is_read_at_a_glance() -> None:
    listed = subprocess.run(
        ["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout.split("\n")
    entries = {name.split("/")[0] for name in listed if name and not name.startswith(".")}
    assert len(entries) <= 18, sorted(entries)


def test_every_recorded_sentence_belongs_to_a_test():
    files = sorted((ROOT / "tests").rglob("sentences/*.json"))
    assert files
    for file in files:
        module = file.parents[1] / f"{file.stem}.py"
        functions = set(re.findall(r"^def (test_\w+)", module.read_text("utf-8"), re.MULTILINE))
        recorded = {key.partition("[")[0] for key in json.loads(file.read_text("utf-8"))}
        assert recorded <= functions, file


def test_decision_records_fit_on_a_screen() -> None:
    lines = {
        path.name: len(path.read_text("utf-8").splitlines())
        for path in (ROOT / "docs" / "decisions").glob("*.md")
    }
    assert len(lines) > 30
    assert {name: count for name, count in lines.items() if count > 25} == {}
