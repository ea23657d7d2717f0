"""Mutation testing: faults drawn from a folder of the package, and the tests that miss them.

``./dev mutate softgrasp/quality --count 60`` changes one operator, number, condition or return
value at a time, runs tests on it (those of the file, of the folder, slow ones, then all others) and
lists the changes that none notices. No file of the package is written: the tests run with this
module as a plugin, which compiles the change.
"""

from __future__ import annotations

import argparse
import ast
import json
import os
import random
import resource
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from importlib.machinery import SourceFileLoader
from itertools import islice
from pathlib import Path
from types import CodeType
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[1]
JOURNALS = ROOT / ".mutants"
VARIABLE = "SOFTGRASP_MUTANT"
"""Environment variable that names the mutant which the plugin compiles, as ``FILE:NUMBER``."""
SWAPPED: dict[type, type] = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq, ast.In: ast.NotIn, ast.NotIn: ast.In, ast.Is: ast.IsNot,
    ast.IsNot: ast.Is, ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult,
    ast.Pow: ast.Mult, ast.FloorDiv: ast.Mult, ast.Mod: ast.Mult, ast.And: ast.Or, ast.Or: ast.And,
}  # fmt: skip
EVERYWHERE = ("-n", "auto")
"""Options of the last run of all tests, which takes minutes."""
UNCHANGED = ("annotation", "returns", "decorator_list", "type_params", "bases")


# --------------------
# Mutants of a source.


def mutants(tree: ast.Module) -> Iterator[tuple[str, ast.Module]]:
    """Yield line and change of each mutant with the tree in that state, in a fixed order."""
    for parent, field, index, node in _children(tree):
        for new in _variants(node):
            ast.copy_location(new, node)
            _put(parent, field, index, new)
            change = f"{ast.unparse(node)} -> {ast.unparse(new)}".replace("\n", " ")
            yield f"{node.lineno}: {change[:110]}", tree
        _put(parent, field, index, node)


def _children(tree: ast.AST) -> Iterator[tuple[ast.AST, str, int | None, ast.AST]]:
    for field, value in ast.iter_fields(tree):
        if field in UNCHANGED:
            continue
        for index, node in enumerate(value if isinstance(value, list) else [value]):
            if isinstance(node, ast.AST) and ast.unparse(node) != "TYPE_CHECKING":
                yield tree, field, index if isinstance(value, list) else None, node
                yield from _children(node)


def _put(parent: ast.AST, field: str, index: int | None, node: ast.AST) -> None:
    if index is None:
        setattr(parent, field, node)
    else:
        getattr(parent, field)[index] = node


def _variants(node: ast.AST) -> Iterator[ast.AST]:
    match node:
        case ast.Compare(ops=[op]) if type(op) in SWAPPED:
            yield ast.Compare(node.left, [SWAPPED[type(op)]()], node.comparators)
        case ast.BinOp(op=op) if type(op) in SWAPPED:
            yield ast.BinOp(node.left, SWAPPED[type(op)](), node.right)
        case ast.BoolOp(op=op):
            yield ast.BoolOp(SWAPPED[type(op)](), node.values)
        case ast.UnaryOp(op=ast.Not() | ast.USub(), operand=operand):
            yield operand
        case ast.Constant(value=bool()):
            yield ast.Constant(not node.value)
        case ast.Constant(value=int()):
            yield ast.Constant(node.value + 1)
        case ast.Constant(value=float()):
            yield ast.Constant(2.0 * node.value or 1.0)
        case ast.Return(value=ast.expr() as value) if ast.unparse(value) != "None":
            yield ast.Return(ast.Constant(None))
        case ast.If(test=test):
            yield ast.If(ast.UnaryOp(ast.Not(), test), node.body, node.orelse)
        case ast.IfExp(test=test):
            yield ast.IfExp(ast.UnaryOp(ast.Not(), test), node.body, node.orelse)


def compiled(file: Path, number: int) -> CodeType:
    """Compile the mutant of a number of a file."""
    every = mutants(ast.parse(file.read_text("utf-8")))
    _, tree = next(islice(every, number, None))
    return compile(ast.fix_missing_locations(tree), str(file), "exec", dont_inherit=True)


def pytest_load_initial_conftests() -> None:
    """Replace the module that the environment names, before anything imports it."""
    if VARIABLE not in os.environ:
        return
    name, number = os.environ[VARIABLE].rsplit(":", 1)
    file, original = ROOT / name, SourceFileLoader.get_code

    def get_code(loader: SourceFileLoader, module: str) -> CodeType | None:
        if Path(loader.path) != file:
            return original(loader, module)
        return compiled(file, int(number))

    SourceFileLoader.get_code = get_code  # type: ignore[method-assign]


# --------------------
# Runs of the tests.


class Mutant(NamedTuple):
    """A change of one file: path in the checkout, number there, and line with the change."""

    file: str
    number: int
    change: str


def drawn(folder: Path, count: int, seed: int) -> list[Mutant]:
    """Draw mutants of a folder or file; a larger count adds to those of a smaller one."""
    files = sorted(folder.rglob("*.py")) if folder.is_dir() else [folder]
    every = [
        Mutant(file.relative_to(ROOT).as_posix(), number, change)
        for file in files
        for number, (change, _) in enumerate(mutants(ast.parse(file.read_text("utf-8"))))
    ]
    random.Random(seed).shuffle(every)
    return every[:count]


def passes(tests: Sequence[str], mutant: Mutant | None, limit: int | None, marked: str) -> bool:
    """Whether all tests of a mark pass on a mutant within a limit of processor time [s].

    What waits without using the processor ends after ten times the limit.
    """
    changed = {VARIABLE: f"{mutant.file}:{mutant.number}"} if mutant else {}
    options = ["-q", "-x", "-m", marked, "-p", "tests.mutation", "-p", "no:cacheprovider"]
    options += ["-o", "python_files=test_*.py"]  # pytest would compile hold_test.py itself
    run = "from resource import *; from sys import *; import pytest; setrlimit(RLIMIT_CPU, "
    run += f"({limit or 'RLIM_INFINITY'}, RLIM_INFINITY)); exit(pytest.main(argv[1:]))"
    try:
        done = subprocess.run(
            [sys.executable, "-c", run, *options, *tests], cwd=ROOT, env=os.environ | changed,
            capture_output=True, timeout=limit and 10 * limit, check=False,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        return False
    # Passed, failed, not even imported, no slow tests, or out of processor time.
    if done.returncode not in (0, 1, 2, 4, 5, -signal.SIGXCPU):
        raise RuntimeError(done.stdout.decode() + done.stderr.decode())
    return done.returncode in (0, 5)


def survives(tests: Sequence[str], mutant: Mutant, limit: int) -> bool:
    """Whether neither the test file of the same name, nor its folder, nor all tests notice it."""
    mirror = Path(tests[0]) / f"test_{Path(mutant.file).name}"
    if (ROOT / mirror).exists() and not passes([str(mirror)], mutant, limit, "not slow"):
        return False
    return (
        passes(tests, mutant, limit, "not slow")
        and passes(tests, mutant, None, "slow")
        and passes([*EVERYWHERE, "tests"], mutant, None, "not slow")
    )


def main(words: Sequence[str] | None = None) -> int:
    """Run the tests on mutants and list the survivors."""
    parser = argparse.ArgumentParser(prog="./dev mutate", description=__doc__.splitlines()[0])
    parser.add_argument("folder", help="folder or file of the package, such as softgrasp/quality")
    parser.add_argument("--count", type=int, default=60, help="mutants to draw (60)")
    parser.add_argument("--seed", type=int, default=0, help="seed of the draw (0)")
    parser.add_argument("--tests", nargs="+", help="tests to run (the folder of the same name)")
    parser.add_argument("--fresh", action="store_true", help="forget the results of earlier runs")
    options = parser.parse_args(words)
    folder = ROOT / options.folder
    inside = folder.relative_to(ROOT / "softgrasp")
    tests = options.tests or [f"tests/{inside if folder.is_dir() else inside.parent}"]
    if not passes(tests, None, None, "not slow"):
        sys.exit(f"./dev mutate: expected tests that pass without a change: {tests}")
    limit = 10 + round(3 * resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime)
    journal = JOURNALS / f"{'-'.join(inside.parts)}.jsonl"
    chosen = drawn(folder, options.count, options.seed)
    remaining = survivors(chosen, tests, limit, journal, options.fresh)
    print(f"{len(remaining)} of {options.count} mutants survive")
    return 0


def survivors(
    chosen: list[Mutant], tests: Sequence[str], limit: int, journal: Path, fresh: bool
) -> list[Mutant]:
    """Run mutants; those that an earlier run caught are not run again, survivors are."""
    journal.parent.mkdir(exist_ok=True)
    known = journal.read_text("utf-8").splitlines() if journal.exists() and not fresh else []
    caught = {Mutant(*json.loads(line)) for line in known}
    remaining = []
    with journal.open("w" if fresh else "a", encoding="utf-8") as lines:
        for mutant in chosen:
            if mutant not in caught and survives(tests, mutant, limit):
                remaining.append(mutant)
                print(f"survives: {mutant.file}:{mutant.change}", flush=True)
            elif mutant not in caught:
                lines.write(json.dumps(mutant) + "\n")
                lines.flush()
    return remaining


if __name__ == "__main__":
    sys.exit(main())
