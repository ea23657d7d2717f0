"""Laws of the mutation runner: each mutant is one change, and its result is kept."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from tests import mutation

SOURCE = '''
"""A module."""
LIMIT: int = 3

def clamp(x: float, low: float = 0.0, strict: bool = False) -> float:
    if x < low and not strict:
        return -LIMIT * low
    return x if x >= low else low - 1.5
'''


def changes() -> list[str]:
    return [change.split(": ", 1)[1] for change, _ in mutation.mutants(ast.parse(SOURCE))]


def test_mutants_are_all_changes_of_operators_numbers_conditions_and_returns() -> None:
    named = [change for change in changes() if not change.startswith(("if ", "return "))]
    assert sorted(named) == sorted([
        "3 -> 4", "0.0 -> 1.0", "False -> True", "x < low -> x <= low", "not strict -> strict",
        "x < low and (not strict) -> x < low or not strict", "-LIMIT * low -> -LIMIT / low",
        "-LIMIT -> LIMIT", "x >= low -> x > low", "low - 1.5 -> low + 1.5", "1.5 -> 3.0",
        "x if x >= low else low - 1.5 -> x if not x >= low else low - 1.5",
    ])  # fmt: skip
    assert len(changes()) == len(named) + 3  # two returned values and one condition


def test_each_mutant_compiles_and_differs_and_the_last_leaves_the_source() -> None:
    tree = ast.parse(SOURCE)
    states = [ast.unparse(changed) for _, changed in mutation.mutants(tree)]
    assert len({*states, ast.unparse(ast.parse(SOURCE))}) == len(states) + 1
    assert ast.unparse(tree) == ast.unparse(ast.parse(SOURCE))


def test_the_compiled_mutant_is_the_one_that_is_named(tmp_path: Path) -> None:
    file = tmp_path / "clamp.py"
    file.write_text(SOURCE, "utf-8")
    values: dict[str, float] = {}
    exec(mutation.compiled(file, changes().index("3 -> 4")), values)
    assert values["LIMIT"] == 4


def test_a_larger_count_adds_to_a_smaller_draw() -> None:
    folder = mutation.ROOT / "softgrasp" / "quality"
    few, many = mutation.drawn(folder, 5, seed=1), mutation.drawn(folder, 20, seed=1)
    assert many[:5] == few
    assert len(set(many)) == 20
    assert mutation.drawn(folder, 5, seed=2) != few


def test_what_was_caught_is_not_run_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    chosen = [mutation.Mutant("clamp.py", number, change) for number, change in enumerate("abc")]
    ran = []

    def passes(tests: object, mutant: mutation.Mutant, limit: int | None, marked: str) -> bool:
        ran.append(mutant.change + marked[0])
        return mutant.change == "b" or mutant.change + marked == "cnot slow"

    monkeypatch.setattr(mutation, "passes", passes)
    journal = tmp_path / "clamp.jsonl"
    for fresh in (False, False, True):
        survivors = mutation.survivors(chosen, ["tests"], 1, journal, fresh)
        assert [mutant.change for mutant in survivors] == ["b"]
    every, again = ["an", "bn", "bs", "bn", "cn", "cs"], ["bn", "bs", "bn"]
    assert ran == every + again + every
    assert capsys.readouterr().out == "survives: clamp.py:b\n" * 3


@pytest.mark.parametrize("number", [None, 0])
def test_the_plugin_runs_the_tests_on_the_mutant(number: int | None, tmp_path: Path) -> None:
    change = mutation.ROOT / "softgrasp" / "units.py"
    numbers = [text for text, _ in mutation.mutants(ast.parse(change.read_text("utf-8")))]
    mutant = None if number is None else mutation.Mutant("softgrasp/units.py", 0, numbers[0])
    assert mutation.passes(["tests/test_units.py"], mutant, None, "not slow") is (number is None)
