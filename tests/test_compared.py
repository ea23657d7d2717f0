"""Pages that compare: every line of ours is a command that is understood or a name that exists."""

from __future__ import annotations

import re
import shlex
from functools import reduce
from pathlib import Path

import pytest

import softgrasp as sg
from softgrasp.cli import main

ROOT = Path(__file__).resolve().parents[1]


def rows_of(text: str) -> list[list[str]]:
    """Cells of the tables in a text, row by row."""
    lines = text.splitlines()
    return [line.strip("|").split("|") for line in lines if line.startswith("| ")]


PAGE = (ROOT / "docs" / "compared.md").read_text("utf-8")
FUNCTIONS = PAGE.split("\n## For users of SynGrasp\n")[1].split("\n## ")[0]
"""Functions of SynGrasp and their counterparts."""


def features() -> list[list[str]]:
    """Rows of the table of features; what follows it is prose."""
    return rows_of(PAGE.split("\n## ")[0])[1:]


def ours(rows: list[list[str]], column: int) -> list[str]:
    cells = [row[column] for row in rows if not set(row[0].strip()) <= {"-"}]
    return sorted({code for cell in cells for code in re.findall(r"`([^`]+)`", cell)})


LEARNING = rows_of(PAGE.split("\n## Learning, grippers and data\n")[1].split("\n## ")[0])[1:]
OURS = sorted({*ours(features(), 5), *ours(LEARNING, 4), *ours(rows_of(FUNCTIONS), 1)})


@pytest.mark.parametrize("line", [code for code in OURS if code.startswith("softgrasp ")])
def test_commands_are_understood(line: str) -> None:
    assert main([*shlex.split(line)[1:], "--help"]) == 0


@pytest.mark.parametrize("name", [code for code in OURS if code.startswith("sg.")])
def test_names_exist(name: str) -> None:
    assert callable(reduce(getattr, name.removeprefix("sg.").split("."), sg))


def test_every_row_of_ours_has_a_line() -> None:
    assert len(features()) > 30
    for row in features():
        assert len(row) == 6
        assert re.search(r"`(sg\.|softgrasp )", row[5]), row
        assert all(cell.strip().split(",")[0] in ("yes", "part", "–") for cell in row[1:5]), row


def test_rows_on_learning_have_a_line_each() -> None:
    assert len(LEARNING) == 15
    for row in LEARNING:
        assert len(row) == 5
        assert re.search(r"`(sg\.|softgrasp )", row[4]), row
        assert all(cell.strip().split(",")[0] in ("yes", "part", "–") for cell in row[1:4]), row


def test_every_function_of_syngrasp_is_named() -> None:
    """Section 1 of what was read of SynGrasp 2.2: hand, contacts, planning, analysis, quality."""
    for name in (
        "SGmakeFinger", "SGmakeHand", "SGmoveHand", "SGjoints", "SGfingertips", "SGDHMatrix",
        "SGdefineSynergies", "SGactivateSynergies", "SGjointStiffness", "SGsynergyStiffness",
        "SGcontactStiffness", "SGblockJoints", "SGsantelloSynergies", "SGaddContact",
        "SGaddFtipContact", "SGaddPalmContact", "SGremoveContact", "SGselectionMatrix", "SGhMatrix",
        "SGgraspMatrix", "SGgTildeMatrix", "SGjacobianMatrix", "SGsphere", "SGcylinder", "SGcube",
        "SGmakeObject", "SGcloseHand", "SGcloseHandWithSynergies", "SGgraspPlanner",
        "SGgraspAnalysis", "SGquasistatic", "SGquasistaticMaps", "SGquasistaticHsolution",
        "SGkinManipulability", "SGforceManipulability", "SGgraspStiffness", "SGVcost",
        "SGcheckFriction", "SGcheckAngle", "SGCFtau", "SGslide", "SGminSVG", "SGgraspIsotropyIndex",
        "SGdistSingularConfiguration", "SGmanipEllipsoidVolume", "SGunifTransf",
    ):  # fmt: skip
        assert name in FUNCTIONS, name
