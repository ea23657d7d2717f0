"""Identifiers of the package and names of tests are words of the field."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

PACKAGE = Path(__file__).resolve().parents[1] / "softgrasp"
REPLACED = {
    "told, tell, tells, telling, say, said, says": "report, record, log, message, warning, output",
    "found": "result, estimate, value, detected",
    "asked, wanted": "requested, target, desired, expected",
    "given": "input, specified",
    "own": "custom, local, internal",
    "thing, things": "object, item",
    "way, ways": "path, direction, trajectory, displacement, mode",
    "place, places": "position, location, index",
    "turn, turns, turned": "rotation, rotated, angle, cycle",
    "most, least": "max_, min_",
    "share, shares": "fraction, ratio, weight",
    "drive, drives": "actuator",
    "picture, pictures, film, films": "image, video",
    "page, pages, folder, folders": "report, directory",
    "judge, judged": "evaluate, detect",
    "look, looks, looked": "sample, samples",
    "room, rooms": "module, package",
    "doctor, doctors": "checks, validation",
    "lane, lanes": "batch slot, batch",
    "stretch": "chunk of steps",
    "askew": "statically indeterminate",
    "bench, benches": "test rig, virtual experiment",
    "certainty": "uncertainty",
    "senses": "observations",
    "plant": "simulated system",
    "gate": "authentication proxy",
    "desk, guard": "command queue, watchdog",
    "reel, instants, pacing": "frame sequence, key frames, playback speed",
    "facts, lesson, lessons": "properties, summary, validation",
    "wire, wires": "connection, network",
}
"""Words that identifiers avoid, and those of the field that serve instead; one concept has one."""
WORDS = frozenset(re.findall(r"\w+", " ".join(REPLACED)))
ESTABLISHED = re.compile(
    r"""
    least_squares.*|LEAST_SQUARES|look_ahead|LOOK_AHEAD|look_at  # terms of the field
    |bench|doctor                        # names fixed for users: two verbs
    |(open_)?page|Page                   # a page that is served to a browser
    |PlacePhase                          # the class of the phase `place`
    |post_place_retreat                  # a field of moveit_msgs/Grasp
    """,
    re.VERBOSE,
)
HYDRAULIC_DRIVES = re.compile(r".*(drive|drives|Drive)(_.*|[A-Z].*)?|DRIVE_.*")
"""The motor, screw and piston of a water-hydraulic arm are called its drive (Chen et al. 2022)."""
HYDRAULIC_MODULES = ("hydraulics/", "description/bendable.py", "io/urdf/writer.py")


ESTABLISHED_IN_TESTS = re.compile(r"least_squares|pages?|bench|doctor")
"""As above; a page is also one of the documentation."""


def identifiers(tree: ast.Module) -> Iterator[str]:
    """Names that a module defines: functions, classes, parameters, variables, attributes."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield node.name
        elif isinstance(node, ast.arg):
            yield node.arg
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            yield node.attr


def words(identifier: str) -> set[str]:
    """Lower-case words of an identifier in snake_case or CamelCase."""
    parted = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", identifier)
    return {word for word in parted.lower().split("_") if word}


def is_established(identifier: str, module: str) -> bool:
    bare = identifier.strip("_")
    hydraulic = module.startswith(HYDRAULIC_MODULES) and HYDRAULIC_DRIVES.fullmatch(bare)
    return bool(ESTABLISHED.fullmatch(bare) or hydraulic)


@pytest.mark.parametrize(
    "path", sorted(PACKAGE.rglob("*.py")), ids=lambda path: path.relative_to(PACKAGE).as_posix()
)
def test_no_word_of_the_left_column_comes_back(path: Path) -> None:
    module = path.relative_to(PACKAGE).as_posix()
    names = {*identifiers(ast.parse(path.read_text("utf-8"))), *path.with_suffix("").parts[-1:]}
    bad = {name for name in names if words(name) & WORDS and not is_established(name, module)}
    assert not bad, f"{module}: {', '.join(sorted(bad))}; see REPLACED for the plain words"


def test_names_of_tests_have_none_either() -> None:
    bad = []
    for path in sorted(PACKAGE.with_name("tests").rglob("test_*.py")):
        module = path.relative_to(PACKAGE.with_name("tests")).as_posix()
        tree = ast.parse(path.read_text("utf-8"))
        functions = [node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]
        for name in (name for name in functions if name.startswith("test_")):
            left = words(ESTABLISHED_IN_TESTS.sub("", name)) & WORDS
            if left and not is_established(name, module):
                bad.append(f"{module}: {name}: {', '.join(sorted(left))}")
    assert not bad, "see REPLACED for the plain words: " + "; ".join(bad)


def test_the_test_sees_a_word() -> None:
    assert {"told", "lanes", "wire"} <= WORDS
    assert words("told_ByLane") & WORDS == {"told", "lane"}
    assert not is_established("drive", "sim/stepper.py")
    assert is_established("drive_model", "hydraulics/drive.py")
