"""Every work that the package or a page cites is a row of docs/glossary.md, and the other way."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PAGE = (ROOT / "docs" / "glossary.md").read_text("utf-8").split("\n## References\n")[1]
ROWS = set(re.findall(r"^\| ([A-ZÅ][\w'’-]+ (?:19|20)\d\d) \|", PAGE, re.MULTILINE))
NAME = r"[A-ZÅ][A-Za-zéáíóúčšžöüł-]+"
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
    "Object|Concavity|RAM|SAS|SIGGRAPH|USGS|ICML|RSS|Twin|Robots"
)
"""Words before a year that are no authors: titles, journals, months, programs."""
FILES = [
    *sorted(
        path
        for folder in ("softgrasp", "examples", "hands", "objects", "assets")
        for path in (ROOT / folder).rglob("*")
        if path.suffix in {".py", ".yaml"}
    ),
    *sorted(path for path in (ROOT / "docs").rglob("*.md") if path.name != "glossary.md"),
    ROOT / "README.md",
]

SECTIONS = {
    "Hadi": "I II III III-A III-B III-C IV V",
    "Xiang": "I II II-A II-B III III-A III-B III-C III-C1 III-C2 IV V VI",
    "Witucki": "I II III III-A III-B IV V V-A V-B VI",
    "Chen": "1 2 2.1 2.2 2.2.1 2.2.2 2.2.3 2.2.4 2.2.5 2.2.6 2.3 3 3.1 3.2 3.2.1 3.2.2 3.2.3 4 4.1 "
    "4.2 4.3 4.3.1 4.3.2 5",
    "Pozzi": "1 2 2.1 2.1.1 2.1.2 2.1.3 2.2 2.2.1 2.2.2 2.2.3 2.2.3.1 2.2.3.2 3 3.1 3.2 4 4.1 4.2 "
    "5",
}
LAST = {"Hadi": (7, 9), "Xiang": (8, 5), "Witucki": (3, 5), "Chen": (37, 14), "Pozzi": (1, 12)}
"""Last equation and last figure of each of the five papers."""
NUMBERED = re.compile(
    rf"(?P<paper>{'|'.join(SECTIONS)}) et al\.?,? \(?(?:20\d\d)?[,)( ]*"
    r"(?P<kind>§|[Ss]ection |[Ee]qs?\.? \(?|[Ff]ig(?:ure)?s?\.? |(?=[IV]+-[A-Z]))"
    r"(?P<number>[IV]+(?:-[A-Z]\d?)?|\d+(?:\.\d+)*)"
)
"""A number right after a citation: ``Hadi et al. (2025, eq 3)``, ``(Pozzi et al. 2022, §3.2)``."""


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
        ("(Åström and\nWittenmark 1997, ch. 11;", {"Åström 1997"}),
        ("Barber, Dobkin and\n    Huhdanpaa 1996", {"Barber 1996"}),
        ("Roa and Suárez, Grasp quality measures: review and\nperformance, 2015", {"Roa 2015"}),
        ("Springer Handbook of Robotics 2016", set()),
    ],
)
def test_citations_are_recognised(text: str, expected: set[str]) -> None:
    assert citations(text) == expected


def numbers(text: str) -> list[tuple[str, str, str]]:
    """Paper, kind and number of each number that follows a citation of one of the five papers."""
    return [
        match.group("paper", "kind", "number")
        for match in NUMBERED.finditer(" ".join(text.split()))
    ]


def test_numbers_of_the_five_papers_exist() -> None:
    found = {(path, *entry) for path in FILES for entry in numbers(path.read_text("utf-8"))}
    wrong = {
        f"{path.relative_to(ROOT)}: {paper} {kind}{number}"
        for path, paper, kind, number in found
        if not (
            number in SECTIONS[paper].split()
            if kind.lower() in {"", "§", "section "}
            else 1 <= int(number) <= LAST[paper]["ef".index(kind[0].lower())]
        )
    }
    assert wrong == set()
    assert {paper for _, paper, *_ in found} == set(SECTIONS)


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
