"""The notebooks: kept without outputs, and their code runs from top to bottom.

They are run as plain Python, cell after cell in one namespace: they use nothing of IPython's, so no
kernel, and none of the two dozen packages of one, is needed to know that they work.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.test_documentation import ROOT

NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))


def cells(path: Path) -> list[dict[str, Any]]:
    book = json.loads(path.read_text(encoding="utf-8"))
    assert (book["nbformat"], book["nbformat_minor"]) == (4, 5)
    return book["cells"]


def test_there_are_three() -> None:
    assert len(NOTEBOOKS) == 3


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_it_is_kept_without_outputs_and_magics(path: Path) -> None:
    names = [cell["id"] for cell in cells(path)]
    assert len(set(names)) == len(names)
    assert cells(path)[0]["cell_type"] == "markdown"
    for cell in cells(path):
        if cell["cell_type"] == "code":
            assert (cell["outputs"], cell["execution_count"]) == ([], None)
            assert not [line for line in cell["source"] if line.startswith(("%", "!"))]


SLOW = "03_sweep_and_quality"
"""Its sweep and its measures are those of docs/quality.md and of tests/sweeps."""


@pytest.mark.parametrize(
    "path",
    [
        pytest.param(path, id=path.stem, marks=pytest.mark.slow if path.stem == SLOW else ())
        for path in NOTEBOOKS
    ],
)
def test_its_code_runs(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import matplotlib.pyplot as plt

    plt.switch_backend("Agg")
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    try:
        for number, cell in enumerate(cells(path)):
            if cell["cell_type"] == "code":
                exec(compile("".join(cell["source"]), f"{path.name}, cell {number}", "exec"), names)
        assert plt.get_fignums()
        for number in plt.get_fignums():
            assert plt.figure(number).axes
            plt.figure(number).savefig(tmp_path / f"{number}.png")  # it can be drawn
    finally:
        plt.close("all")
