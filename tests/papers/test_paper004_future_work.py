"""Paper 004's future work: every row of the page has a command that runs and a test that exists."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from softgrasp import assets
from softgrasp.cli import main

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "compared.md").read_text(encoding="utf-8")
SECTION = PAGE.split("\n## Future work of Pozzi")[1].split("\n## ")[0]
ROWS = [line.strip("|").split("|") for line in SECTION.splitlines() if line.startswith("| ")][1:]


def cell(row: list[str], index: int) -> str:
    result = re.search(r"`([^`]+)`", row[index])
    assert result is not None, row
    return result[1]


def test_the_page_has_all_that_the_paper_names() -> None:
    """Section 5 of the paper, in its own order."""
    named = " ".join(row[0] for row in ROWS)
    for word in ("gravity", "links of the hand", "several objects", "environment", "contact point",
                 "contact models", "measures", "soft hands", "hand–arm", "bimanual"):  # fmt: skip
        assert word in named


@pytest.mark.parametrize("row", ROWS, ids=lambda row: cell(row, 3).split("::")[-1])
def test_every_row_has_a_test_that_exists(row: list[str]) -> None:
    file, _, name = cell(row, 3).partition("::")
    text = (ROOT / file).read_text(encoding="utf-8")
    assert f"def {name}(" in text if name else "def test_" in text


@pytest.mark.parametrize("row", ROWS, ids=lambda row: cell(row, 2))
def test_every_row_has_a_command_that_is_understood(row: list[str]) -> None:
    words = shlex.split(cell(row, 2))
    assert words[:2] == ["softgrasp", "grasp"]
    assert words[2] in assets.names("scenes") or words[2] in assets.names("hands")
    assert main([*words[1:], "--help"]) == 0
