"""Every work that the package or a page cites is a row of docs/glossary.md, and the other way."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PAGE = (ROOT / "docs" / "glossary.md").read_text("utf-8").split("\n## References\n")[1]
ROWS = set(re.findall(r"^\| ([A-Z][\w'’-]+ (?:19|20)\d\d) \|", PAGE, re.MULTILINE))
NAME = r"[A-Z][A-Za-zéáíóúčšžöüł-]+"
CITATION = re.compile(
    rf"(?P<first>{NAME})"
    rf"(?:,? et al\.?|,? and others|(?:, {NAME})*,? (?:and|&) {NAME})?"
    r"(?:'s)?,? \(?(?P<year>(?:19|20)\d\d)\)?"
)
"""First author, further ones, and the year: ``Howe and Cutkosky (1996)``, ``Chen et al. 2022``."""
TITLED = re.compile(
    rf"(?P<first>{NAME})(?:, {NAME})* (?:and|&) {NAME},? \(?"
    r"[A-Z][^.;|]{10,200}?(?P<year>(?:19|20)\d\d)"
)
"""The same with the title between the authors and the year."""
OTHER = re.compile(
    "Autonomous|Automation|Guidance|Handbook|Letters|Macro|Magazine|Measured|Measurements|Models|"
    "Physical|Python|Recovery|Regression|Research|Robotics|Sciences|Set|Since|Statistics|TOG|Trans|"
    "Superquadrics|Webots|Wiley|Xeon|ICRA|Control|Mechanics|Micromachines|Analysis|Experimental|"
    "Designs|Influence|Computation|Soc|Assoc|Residuals|May|June|SoMo|SoMoGym|DexGraspBench|Learning|November|"
    "Object|Concavity|SAS|SIGGRAPH|USGS|ICML|RSS|Twin|Robots"
)
"""Words before a year that are no authors: titles, journals, months, programs."""
FILES = [
    *sorted((ROOT / "softgrasp").rglob("*.py")),
    *sorted(path for path in (ROOT / "docs").rglob("*.md") if path.name != "glossary.md"),
    ROOT / "README.md",
]


def citations(text: str) -> set[str]:
    """First author and year of each citation in a text."""
    text = re.sub(r"\s+", " ", text.replace("*", ""))
    found = {match.group("first", "year") for match in CITATION.finditer(text)}
    found |= {match.group("first", "year") for match in TITLED.finditer(text)}
    return {f"{first} {year}" for first, year in found if not OTHER.fullmatch(first)}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("(Howe and Cutkosky 1996; Chen et al. 2022)", {"Howe 1996", "Chen 2022"}),
        ("of Kabsch (1976).", {"Kabsch 1976"}),
        ("Barber, Dobkin and\n    Huhdanpaa 1996", {"Barber 1996"}),
        ("Roa and Suárez, Grasp quality measures: review and\nperformance, 2015", {"Roa 2015"}),
        ("Springer Handbook of Robotics 2016", set()),
    ],
)
def test_citations_are_recognised(text: str, expected: set[str]) -> None:
    assert citations(text) == expected


def test_every_citation_has_a_reference() -> None:
    missing = {
        f"{path.relative_to(ROOT)}: {citation}"
        for path in FILES
        for citation in citations(path.read_text("utf-8"))
        if citation not in ROWS
    }
    assert missing == set()


def test_every_reference_is_cited() -> None:
    files = [*FILES, *(ROOT / "tests").rglob("*.py")]
    everything = " ".join(path.read_text("utf-8") for path in files)
    unused = [
        row for row in ROWS if not re.search(row.replace(" ", r".{0,250}"), everything, re.DOTALL)
    ]
    assert unused == []
