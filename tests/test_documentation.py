"""Everything shown runs: README blocks, examples, and the names that the pages use."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

import softgrasp as sg
from softgrasp.cli import main
from softgrasp.cli.verb import INTERRUPTED
from softgrasp.formats.plan_file import load_plan

ROOT = Path(__file__).resolve().parent.parent
DOCS = ROOT / "docs"
PAGES = [
    ROOT / "README.md",
    *sorted(DOCS.glob("*.md")),
    *sorted((DOCS / "contact_models").glob("*.md")),
]
SLOW_VERBS = (
    "demo", "bench", "grasp", "new", "calibrate", "crosscheck", "plan", "twin", "view",
)  # fmt: skip
"""Verbs that other tests run for real; their lines here are only checked for their options."""


def blocks(language: str) -> list[tuple[Path, str]]:
    pattern = re.compile(rf"```{language}\n(.*?)```", re.DOTALL)
    return [(page, text) for page in PAGES for text in pattern.findall(page.read_text("utf-8"))]


def test_the_python_blocks_run_one_after_the_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    names: dict[Path, dict[str, object]] = {}  # of a page: its later blocks go on from earlier ones
    for page, text in blocks("python"):
        exec(compile(text, str(page), "exec"), names.setdefault(page, {}))
    assert "held: True" in capsys.readouterr().out
    assert (tmp_path / "out" / "readme" / "report.html").exists()


def test_the_yaml_hand_is_a_hand_that_closes(tmp_path: Path) -> None:
    for _, text in blocks("yaml"):
        if "axes:" in text:
            continue  # a plan, see below
        path = tmp_path / "hand.yaml"
        path.write_text(text, encoding="utf-8")
        thing = sg.load_object("cylinder")
        if "hands:" in text:  # two of them take something larger
            thing = thing.replace(shape=sg.Sphere(radius=0.06))
        scene = sg.GraspScene(hand=sg.load_hand(path), object=thing, object_mount="planar")
        assert sg.simulate(scene).status is sg.GraspStatus.CLOSED


def commands() -> list[list[str]]:
    lines = [line[2:] for _, text in blocks("console") for line in text.splitlines()]
    parts = [part.split("#")[0].strip() for line in lines for part in line.split("&&")]
    return [shlex.split(part)[1:] for part in parts if part.startswith("softgrasp ")]


def documented_plan() -> str:
    (text,) = (text for _, text in blocks("yaml") if "axes:" in text)
    return text


def interrupted(plan: sg.SweepPlan, *_: object, **options: object) -> None:
    assert plan.size > 1
    assert options
    raise KeyboardInterrupt


def test_the_documented_plan_is_one(tmp_path: Path) -> None:
    (tmp_path / "plan.yaml").write_text(documented_plan(), encoding="utf-8")
    assert load_plan(tmp_path / "plan.yaml").size == 3 * 4 * 5


@pytest.mark.parametrize("words", commands(), ids=" ".join)
def test_every_command_line_is_understood(
    words: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    if words[0] == "rerun" or "out/demo" in words:
        assert main(["grasp", "four_finger", "sphere", "--no-video", "--no-report",
                     "--out", "out/demo"]) == 0  # fmt: skip
    if words[0] == "check" and words[1].endswith(".wbt"):
        assert main(["convert", "soft_gripper", words[1]]) == 0
    if words[0] in SLOW_VERBS or "--film" in words:
        assert main([*words, "--help"]) == 0
    elif words[0] == "sweep":
        # the plan is made, and nothing is simulated
        (tmp_path / "plan.yaml").write_text(documented_plan(), encoding="utf-8")
        monkeypatch.setattr("softgrasp.sweeps.run.sweep", interrupted)
        assert main(words) == INTERRUPTED
    else:
        assert main(words) == 0


SLOW = ("05_calibrate_from_photos", "06_closures")
EXAMPLES = [
    pytest.param(path, marks=pytest.mark.slow, id=path.stem)
    if path.stem in SLOW
    else pytest.param(path, id=path.stem)
    for path in sorted((ROOT / "examples").glob("*.py"))
]


@pytest.mark.parametrize("path", EXAMPLES)
def test_every_example_is_short_and_runs(path: Path, tmp_path: Path) -> None:
    assert len(path.read_text("utf-8").splitlines()) <= 40
    environment = os.environ | {"PYTHONPATH": str(ROOT), "PYTHONWARNINGS": "error"}
    ran = subprocess.run(
        [sys.executable, str(path)],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    assert ran.stderr == ""


def test_the_links_of_the_pages_lead_somewhere() -> None:
    for page in PAGES:
        for target in re.findall(r"\]\(([^)#]+)", page.read_text("utf-8")):
            if "://" not in target:
                assert (page.parent / target).exists(), f"{page.name}: {target}"
