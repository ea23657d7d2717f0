"""Everything shown runs: README blocks, examples, and the names that the pages use."""

from __future__ import annotations

import os
import re
import runpy
import shlex
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest
import typer

import softgrasp as sg
from softgrasp.cli import main
from softgrasp.cli.app import app
from softgrasp.cli.options import INTERRUPTED
from softgrasp.io.scene import load_plan
from softgrasp.sweeps.storage import SweepStore
from tests.support.bellows_mesh import bellows_mesh
from tests.support.hollow_finger import hollow_finger

ROOT = Path(__file__).resolve().parent.parent
DOCS = ROOT / "docs"
PAGES = [ROOT / "README.md", *sorted(DOCS.rglob("*.md"))]
SLOW_VERBS = (
    "demo", "bench", "grasp", "new", "calibrate", "crosscheck", "plan", "twin", "view",
)  # fmt: skip
"""Verbs that other tests run for real; their lines here are only checked for their options."""


SLOW_PAGES = (
    "docs/hydraulic_arm.md", "docs/lessons/paper002.md", "docs/lessons/paper003.md",
    "docs/lessons/paper004.md", "docs/planner.md",
)  # fmt: skip
"""Pages whose Python takes some ten seconds."""


def name_of(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


def blocks(language: str, pages: Sequence[Path] = PAGES) -> list[tuple[Path, str]]:
    pattern = re.compile(rf'^```{language}(?: title="[^"]+")?\n(.*?)^```', re.DOTALL | re.MULTILINE)
    return [(page, text) for page in pages for text in pattern.findall(page.read_text("utf-8"))]


def write_named_blocks(page: Path, directory: Path) -> list[str]:
    """Blocks with a title are files that the page's other blocks use; returns their names."""
    pattern = re.compile(r'^```\w+ title="([^"]+)"\n(.*?)^```', re.DOTALL | re.MULTILINE)
    named = pattern.findall(page.read_text("utf-8"))
    for name, text in named:
        (directory / name).write_text(text, encoding="utf-8")
    return [name for name, _ in named]


WITH_PYTHON = [
    pytest.param(
        page, id=name_of(page), marks=pytest.mark.slow if name_of(page) in SLOW_PAGES else ()
    )
    for page in PAGES
    if blocks("python", [page])
]


@pytest.mark.parametrize("page", WITH_PYTHON)
def test_the_python_blocks_run_one_after_the_other(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    write_named_blocks(page, tmp_path)
    names: dict[str, object] = {}  # later blocks of a page go on from earlier ones
    if page.name == "soft_fingers.md":  # the reader's file
        bellows_mesh(valleys=7, taper=0.35).surface.export("finger.stl")
    for _, text in blocks("python", [page]):
        exec(compile(text, str(page), "exec"), names)
    if page.name == "README.md":
        assert "held: True" in capsys.readouterr().out
        assert (tmp_path / "out" / "readme" / "report.html").exists()


def test_the_yaml_hand_is_a_hand_that_closes(tmp_path: Path) -> None:
    for _, text in blocks("yaml"):
        if "axes:" in text:
            continue  # a plan, see below
        path = tmp_path / "thing.yaml"
        path.write_text(text, encoding="utf-8")
        if "shape:" in text and "fingers:" not in text:
            assert sg.load_object(path).name
            continue
        obj = sg.load_object("cylinder")
        if "hands:" in text:  # two of them take something larger
            obj = obj.replace(shape=sg.Sphere(radius=0.06))
        scene = sg.GraspScene(hand=sg.load_hand(path), object=obj, object_mount="planar")
        assert sg.simulate(scene).status is sg.GraspStatus.CLOSED


def commands() -> dict[str, Path]:
    """Command lines without their first word, and the first page that has each."""
    result: dict[str, Path] = {}
    for page, text in blocks("console"):
        lines = [line[2:] for line in text.splitlines() if line.startswith("$ ")]
        parts = [part.split("#")[0].strip() for line in lines for part in line.split("&&")]
        for part in parts:
            if part.startswith("softgrasp "):
                result.setdefault(part.removeprefix("softgrasp "), page)
    return result


def documented_plan() -> str:
    (text,) = (text for _, text in blocks("yaml") if "axes:" in text)
    return text


def interrupted(plan: sg.description.SweepPlan, *_: object, **options: object) -> None:
    assert plan.size > 1
    assert options
    raise KeyboardInterrupt


def test_the_documented_plan_is_one(tmp_path: Path) -> None:
    (tmp_path / "plan.yaml").write_text(documented_plan(), encoding="utf-8")
    assert load_plan(tmp_path / "plan.yaml").size == 3 * 4 * 5


@pytest.mark.parametrize("line", commands())
def test_every_command_line_is_understood(
    line: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    words = shlex.split(line)
    monkeypatch.chdir(tmp_path)
    write_named_blocks(commands()[line], tmp_path)
    if words[0] == "rerun" or ("out/demo" in words and words[0] != "report"):
        assert main(["grasp", "four_finger", "sphere", "--no-video", "--no-report",
                     "--out", "out/demo"]) == 0  # fmt: skip
    if words[0] == "check" and words[1].endswith(".wbt"):
        assert main(["convert", "soft_gripper", words[1]]) == 0
    if "--finger" in words and words[1] == "finger.stl":
        hollow_finger().export("finger.stl")
    if words[0] in SLOW_VERBS or "--video" in words or words[0] == "report":
        parse(words)
    elif words[0] == "sweep":
        # the plan is made, and nothing is simulated
        (tmp_path / "plan.yaml").write_text(documented_plan(), encoding="utf-8")
        if "--resume" in words and not words[1].endswith(".yaml"):  # it has begun before
            with SweepStore(tmp_path / words[1], load_plan(tmp_path / "plan.yaml")):
                pass
        monkeypatch.setattr("softgrasp.sweeps.run.sweep", interrupted)
        assert main(words) == INTERRUPTED
    else:
        assert main(words) == 0


def parse(words: list[str]) -> None:
    """Parse the arguments of a command, down to its verb, without running it."""
    command, arguments, parent = app, words, None
    while True:
        parent = command.make_context(command.name, list(arguments), parent=parent)
        rest = [*parent._protected_args, *parent.args]
        if not hasattr(command, "resolve_command") or not rest:
            return
        _, command, arguments = command.resolve_command(parent, rest)


UsageError = typer.BadParameter.__mro__[1]
INLINE = re.compile(r"`(softgrasp [a-z][^`\n]*)`")
PLACEHOLDER = re.compile(r"…|\.\.\.|[<\[|{]|\b[A-Z]{2,}\b|--?[a-z-]+=$")
"""What stands for another word in a command."""


EARLIER = ("docs/data/hands.md",)
"""Pages with tables that a verb of an earlier version made."""


@pytest.mark.parametrize("page", [x for x in PAGES if name_of(x) not in EARLIER], ids=name_of)
def test_commands_in_sentences_and_tables_are_understood(page: Path) -> None:
    """Verb, arguments and options exist; what the commands do is tested elsewhere."""
    for text in INLINE.findall(page.read_text("utf-8")):
        if not PLACEHOLDER.search(text):
            words = shlex.split(text)[1:]
            try:
                parse(words)
            except UsageError as error:
                if type(error).__name__ != "MissingParameter":  # the verb alone, as its name
                    pytest.fail(f"{text}: {error.format_message()}")


SLOW = (
    "02_densities", "04_contact_log", "05_calibrate_from_photos", "06_closures",
    "07_hydraulic_curvature_control", "08_urdf_hand", "09_mesh_object", "10_sweep",
    "11_quality", "13_planner", "14_crosscheck", "17_learning", "18_retargeting",
)  # fmt: skip
EXAMPLES = [
    pytest.param(path, marks=pytest.mark.slow, id=path.stem)
    if path.stem in SLOW
    else pytest.param(path, id=path.stem)
    for path in sorted((ROOT / "examples").glob("*.py"))
]


@pytest.mark.parametrize("path", EXAMPLES)
def test_every_example_is_short_and_runs(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    assert len(path.read_text("utf-8").splitlines()) <= 40
    if path.stem in SLOW:  # some of these start worker processes
        assert errors_of_a_process(path, tmp_path) == ""
        return
    monkeypatch.chdir(tmp_path)
    runpy.run_path(str(path), run_name="__main__")
    assert capfd.readouterr().err == ""


def errors_of_a_process(path: Path, directory: Path) -> str:
    """What an example writes to standard error when it runs in a process of its own."""
    environment = os.environ | {"PYTHONPATH": str(ROOT), "PYTHONWARNINGS": "error"}
    ran = subprocess.run(
        [sys.executable, str(path)],
        cwd=directory,
        env=environment,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    return ran.stderr


def test_the_links_of_the_pages_lead_somewhere() -> None:
    for page in PAGES:
        for target in re.findall(r"\]\(([^)#]+)", page.read_text("utf-8")):
            if "://" not in target:
                assert (page.parent / target).exists(), f"{page.name}: {target}"


FOLDERS = "softgrasp|tests|examples|benchmarks|assets|hands|objects|docs"
PATH = re.compile(rf"`((?:{FOLDERS})/[\w/.-]+\.\w+)(?:::\w+)?`")


def test_the_files_that_pages_name_are_there() -> None:
    named = {(page, path) for page in PAGES for path in PATH.findall(page.read_text("utf-8"))}
    assert len(named) > 100
    assert [(name_of(page), path) for page, path in named if not (ROOT / path).exists()] == []


def test_every_field_of_a_description_has_a_meaning() -> None:
    """In words: the unit is in a column of its own."""
    pages = (DOCS / "reference").glob("description_*.md")
    tables = "".join(page.read_text("utf-8") for page in pages)
    rows = [line.split(" | ") for line in tables.splitlines() if line.startswith("| `")]
    assert len(rows) > 600
    assert [row for row in rows if not re.match(r"[\w`(]", row[3])] == []


def test_the_reference_has_every_public_name() -> None:
    """Its pages are what docs/write_reference.py writes from the tables of public names."""
    script = runpy.run_path(str(DOCS / "write_reference.py"))
    written = {path.name: path.read_text("utf-8") for path in (DOCS / "reference").glob("*.md")}
    assert written == script["pages"](), "run python docs/write_reference.py"


def test_stubs_name_what_the_tables_name() -> None:
    script = runpy.run_path(str(DOCS / "write_reference.py"))
    for path, text in script["stubs"]().items():
        assert path.read_text("utf-8") == text, f"{path.name}: run python docs/write_reference.py"


def test_every_page_is_in_the_site() -> None:
    nav = (ROOT / "mkdocs.yml").read_text("utf-8").split("\nnav:\n")[1]
    placed = re.findall(r"(\S+\.md)$", nav, re.MULTILINE)
    files = [path.relative_to(DOCS).as_posix() for path in DOCS.rglob("*.md")]
    assert sorted(placed) == sorted(name for name in files if not name.startswith("data/"))
    text = "".join((DOCS / name).read_text("utf-8") for name in placed)
    tables = [name for name in files if name.startswith("data/")]
    assert [name for name in tables if f'--8<-- "docs/{name}"' not in text] == []


def test_every_example_and_notebook_is_listed() -> None:
    page = (DOCS / "examples.md").read_text("utf-8")
    files = [*ROOT.glob("examples/*.py"), *ROOT.glob("examples/notebooks/*.ipynb")]
    message = re.findall(r"`((?:examples|notebooks)/[^`]+\.\w+)`", page)
    assert sorted(message) == sorted(name_of(path) for path in files)
