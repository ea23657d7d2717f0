"""Satellites use public names of the core only: those of rooms and of ``plugin_api``."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from types import ModuleType

import pytest

import softgrasp
from softgrasp import plugin_api

PACKAGE = Path(softgrasp.__file__).resolve().parent
SATELLITES = ("backends", "continuum_control", "hydraulics", "twin")
FOLDERS = [*(PACKAGE / item for item in SATELLITES), Path(__file__).parent / "reference_engine"]
"""The engine of the tests stands for those of other distributions."""
OPEN = ("assets", "errors", "units")
"""Modules of the core all of whose names are public."""


def core_imports(source: str) -> Iterator[tuple[int, str, str]]:
    """Line, module and name of every import of the core in the text of a module."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.ImportFrom):
            assert node.level == 0, "relative import"
            imported = [(node.module or "", alias.name) for alias in node.names]
        elif isinstance(node, ast.Import):
            imported = [(alias.name, "") for alias in node.names]
        else:
            continue
        for module, name in imported:
            package, _, rest = module.partition(".")
            if package == "softgrasp" and rest.partition(".")[0] not in (*SATELLITES, *OPEN):
                yield node.lineno, module, name


def is_public(module: str, name: str) -> bool:
    """Whether ``from module import name`` takes a name that its module or room declares."""
    if module == "softgrasp" and name in OPEN:
        return True
    owner = import_module(module)
    declared = getattr(owner, "__all__", None)
    if declared is None:  # public as a whole, such as ``sg.pcc``
        whole = (getattr(softgrasp, item) for item in softgrasp.__all__)
        return owner in [item for item in whole if isinstance(item, ModuleType)] and name[:1] != "_"
    return name in declared


def private_imports(source: str) -> list[str]:
    return [
        f"{line}: from {module} import {name}"
        for line, module, name in core_imports(source)
        if not is_public(module, name)
    ]


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda path: path.name)
def test_satellites_import_public_names_only(folder: Path) -> None:
    private = {
        path.relative_to(folder).as_posix(): private_imports(path.read_text("utf-8"))
        for path in sorted(folder.rglob("*.py"))
        if not path.name.startswith("test_")
    }
    assert {name: lines for name, lines in private.items() if lines} == {}


@pytest.mark.parametrize(
    ("line", "public"),
    [
        ("from softgrasp.plugin_api import build", True),
        ("from softgrasp.mechanics import Array", True),
        ("from softgrasp import GraspScene, assets", True),
        ("from softgrasp.errors import did_you_mean", True),
        ("from softgrasp.continuum.pcc import chain_frames", True),
        ("from softgrasp.mechanics.transforms import Array", False),
        ("from softgrasp.model import shapes", False),
        ("from softgrasp.continuum.pcc import _name", False),
        ("from softgrasp import extensions", False),
        ("import softgrasp.sim.grasp_run", False),
        ("def run():\n    from softgrasp.sim.hold_test import palm_body", False),
    ],
)
def test_a_private_import_is_listed(line: str, public: bool) -> None:
    assert (private_imports(line) == []) is public


def test_the_api_stays_small() -> None:
    assert len(plugin_api.__all__) <= 80
