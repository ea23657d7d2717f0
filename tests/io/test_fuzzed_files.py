"""Damaged files of every kind are read or refused in one sentence, within 2 s and 1 GB."""

import json
import os
import random
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.fuzzed_files import damaged, kinds

ROOT = Path(__file__).resolve().parents[2]
COUNT = 40
"""Damaged files of each kind."""


def fuzzed(*names: str) -> list[dict[str, object]]:
    """Reports of the kinds, read in another process with limits of memory and time."""
    ran = subprocess.run(
        [sys.executable, "-m", "tests.support.fuzzed_files", *names, "--count", str(COUNT)],
        cwd=ROOT, env=os.environ | {"PYTHONPATH": str(ROOT)}, capture_output=True, text=True,
        check=False,
    )  # fmt: skip
    lines = [json.loads(line) for line in ran.stdout.splitlines() if line.startswith("{")]
    assert ran.returncode == 0, (lines[-1:], ran.stderr[-2000:])
    return [line for line in lines if "counts" in line]


@pytest.mark.slow
@pytest.mark.parametrize("part", range(4))
def test_damaged_files_are_read_or_refused_in_a_sentence(part):
    names = sorted(kinds())[part::4]
    reports = fuzzed(*names)
    assert [report["kind"] for report in reports] == names
    assert {report["kind"]: report["wrong"] for report in reports if report["wrong"]} == {}


def test_a_seed_damages_a_file_equally_every_time():
    content = b"name: a\nradius: 0.03\n"
    first = [damaged(content, random.Random(seed)) for seed in range(50)]
    assert first == [damaged(content, random.Random(seed)) for seed in range(50)]
    assert len(set(first)) > 40
