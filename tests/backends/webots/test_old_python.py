"""The controller's files are written so that the old Pythons that Webots may find can run them."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from softgrasp.backends.webots.project import SCRIPT
from softgrasp.sim import laws

OLDEST = (3, 7)


@pytest.mark.parametrize("file", [SCRIPT, Path(laws.__file__)], ids=lambda file: file.name)
def test_it_is_understood_by_an_old_python(file: Path) -> None:
    tree = ast.parse(file.read_text("utf-8"), feature_version=OLDEST)
    words = {
        keyword.arg
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "zip"
        for keyword in node.keywords
    }
    assert "strict" not in words  # 3.10
    top = [node for node in tree.body if isinstance(node, (ast.Assign, ast.AnnAssign))]
    assert not any(isinstance(node.value, ast.Subscript) for node in top)  # int[...] of 3.9
