"""Files made to take the machine are refused within 5 s of processor time and 2 GB each."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.support.hostile_files import EXPRESSIONS, SECRET, SUFFIXES, texts

ROOT = Path(__file__).resolve().parents[2]
pytest.importorskip("xacro", reason="xacro is an extra")
pytest.importorskip("cv2", reason="OpenCV is the extra 'calibrate'")
VALID = {"chain.urdf", "fan.urdf"}
"""Robots that are read, with problems, and that are no hands."""


@pytest.fixture(scope="module")
def ended(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Any]]:
    """Return how the reader of each file ended; it is read in a process with limits."""
    directory = tmp_path_factory.mktemp("hostile")
    ran = subprocess.run(
        [sys.executable, "-m", "tests.support.hostile_files"],
        cwd=directory, env=os.environ | {"PYTHONPATH": str(ROOT)}, capture_output=True, text=True,
        check=False,
    )  # fmt: skip
    assert ran.returncode == 0, ran.stderr[-2000:]
    assert not (directory / "pwned").exists()
    lines = [json.loads(line) for line in ran.stdout.splitlines() if line.startswith('{"name"')]
    return {line["name"]: line for line in lines}


@pytest.mark.slow
def test_no_file_takes_more_than_its_limits(ended):
    assert {name: item["signal"] for name, item in ended.items() if item["signal"]} == {}
    assert len(ended) > len(texts()) + 3 * len(SUFFIXES)


def test_every_file_is_refused_in_a_sentence(ended):
    codes = {name: item["code"] for name, item in ended.items()}
    assert codes == {name: 1 if name in VALID else 2 for name in ended}
    for name, item in ended.items():
        assert "Traceback" not in item["text"], name
        assert "this is a bug of softgrasp" not in item["text"], name
        assert name in VALID or "softgrasp: error: " in item["text"], name


def test_no_expression_reads_the_machine(ended):
    assert sum("expression.urdf.xacro" in name for name in ended) == len(EXPRESSIONS)
    for name, item in ended.items():
        assert SECRET not in item["text"], name
