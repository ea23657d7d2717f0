"""The notebooks: their code runs from top to bottom and yields the outputs that are stored.

They are executed by ``examples/notebooks/execute.py``, which stores the outputs, too.
"""

from __future__ import annotations

import json
import re
import runpy
from pathlib import Path
from typing import Any

import pytest

from tests.test_documentation import ROOT

NOTEBOOKS = sorted((ROOT / "examples" / "notebooks").glob("*.ipynb"))
NUMBER = re.compile(r"-?\d+\.?\d*(?:e[+-]?\d+)?")


def cells(book: dict[str, Any]) -> list[dict[str, Any]]:
    assert (book["nbformat"], book["nbformat_minor"]) == (4, 5)
    return [cell for cell in book["cells"] if cell["cell_type"] == "code"]


def stored(path: Path) -> dict[str, Any]:
    return json.loads(path.read_text(encoding="utf-8"))


def text_of(cell: dict[str, Any]) -> str:
    """Printed text, tables and descriptions of pictures of a cell."""
    texts = [
        "".join(output["text"]) if "text" in output else output["data"]["text/plain"]
        for output in cell["outputs"]
    ]
    return "\n".join(texts)


def test_there_are_four() -> None:
    assert len(NOTEBOOKS) == 4


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_it_is_stored_executed_and_without_magics(path: Path) -> None:
    book = stored(path)
    assert len({cell["id"] for cell in book["cells"]}) == len(book["cells"])
    assert book["cells"][0]["cell_type"] == "markdown"
    for number, cell in enumerate(cells(book), start=1):
        assert cell["execution_count"] == number
        assert not [line for line in cell["source"] if line.startswith(("%", "!"))]
    data = [output.get("data", {}) for cell in cells(book) for output in cell["outputs"]]
    assert any("image/png" in item for item in data)


SLOW = "03_sweep_and_quality"
"""Its sweep and its measures are those of docs/quality.md and of tests/sweeps."""


@pytest.mark.parametrize(
    "path",
    [
        pytest.param(path, id=path.stem, marks=pytest.mark.slow if path.stem == SLOW else ())
        for path in NOTEBOOKS
    ],
)
def test_its_outputs_are_those_of_its_code(path: Path) -> None:
    if path.stem == "04_learning":
        pytest.importorskip("gymnasium", reason="needs the extra gym")
    execute = runpy.run_path(str(ROOT / "examples" / "notebooks" / "execute.py"))["executed"]
    for now, before in zip(cells(execute(path)), cells(stored(path)), strict=True):
        made, kept = text_of(now), text_of(before)
        hint = "run python examples/notebooks/execute.py"
        assert NUMBER.sub("#", made) == NUMBER.sub("#", kept), hint
        numbers = [float(number) for number in NUMBER.findall(kept)]
        assert [float(n) for n in NUMBER.findall(made)] == pytest.approx(
            numbers, rel=0.05, abs=0.01
        )
