"""What a start imports: nothing heavy for lists and wrong names, for a grasp only what it uses."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from softgrasp import assets
from softgrasp.cli import listing
from softgrasp.cli.app import GROUPS, VERBS, app
from softgrasp.cli.listing import STORED, compute_rows, list_stored

HEAVY = {
    "PIL", "cv2", "imageio", "jinja2", "lxml", "matplotlib", "mujoco", "numpy", "pandas",
    "rich", "ruamel", "scipy", "trimesh", "viser", "yaml",
}  # fmt: skip
"""Libraries that are slow to import; pydantic is missing here, as typer itself may import it."""
UNUSED_BY_A_GRASP = {
    "matplotlib", "pandas", "rich", "trimesh", "viser", "scipy.interpolate", "scipy.ndimage",
    "scipy.optimize", "scipy.signal", "scipy.stats", "softgrasp.calibration", "softgrasp.checks",
    "softgrasp.io.urdf", "softgrasp.grasp_synthesis", "softgrasp.report", "softgrasp.rendering",
    "softgrasp.sweeps", "softgrasp.vision",
}  # fmt: skip
"""Modules that are not imported when the physics of a grasp of primitives begins."""
NAMES_MODULES = """
import atexit, os, sys
def report():
    print("\\nMODULES", *sys.modules, file=sys.stderr, flush=True)
atexit.register(report)
"""
WITH_NAMES = (
    NAMES_MODULES
    + """
from softgrasp.cli import main
sys.exit(main(sys.argv[1:]))
"""
)
UNTIL_PHYSICS = (
    NAMES_MODULES
    + """
from softgrasp.cli import main
from softgrasp.sim.grasp_run import ClosureRun
ClosureRun.run = lambda run: (report(), os._exit(0))
sys.exit(main(sys.argv[1:]))
"""
)


def modules_of(program: str, words: str, directory: Path) -> tuple[int, str, set[str]]:
    """Exit code, messages, and modules that a new process has imported at its end."""
    command = [sys.executable, "-c", program, *words.split()]
    ran = subprocess.run(command, capture_output=True, text=True, cwd=directory, check=False)
    message, _, names = ran.stderr.partition("\nMODULES ")
    assert names, ran.stderr
    return ran.returncode, message, set(names.split())


def heavy_in(modules: set[str]) -> set[str]:
    return {name.partition(".")[0] for name in modules} & HEAVY


@pytest.mark.parametrize(
    "words", ["--help", "--version", "list", "list hands", "list scenes", "grasp --help"]
)
def test_help_and_lists_import_nothing_heavy(words, tmp_path):
    code, message, modules = modules_of(WITH_NAMES, words, tmp_path)
    assert (code, message) == (0, "")
    assert not heavy_in(modules)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("graps", "No such command 'graps'. Did you mean 'grasp'?"),
        ("grasp four_fingr sphere", "no hand 'four_fingr'; did you mean 'four_finger'? known: "),
        ("grasp four_finger spere", "no object 'spere'; did you mean 'sphere'? known: "),
        ("grasp demmo", "no scene 'demmo'; did you mean 'demo'? known: "),
        ("grasp sphere", "expected HAND OBJECT or a SCENE, found only the object 'sphere'; "),
        ("sweep four_fingr sphere", "no hand 'four_fingr'; did you mean 'four_finger'? known: "),
        ("plan four_finger spere", "no object 'spere'; did you mean 'sphere'? known: "),
        ("view four_fingr", "no hand, object, scene or robot 'four_fingr'; did you mean "),
        ("view four_finger spere", "no object 'spere'; did you mean 'sphere'? known: "),
        ("check spere", "no hand, object, scene or robot 'spere'; did you mean 'sphere'? known: "),
        ("convert demmo x.xml", "no hand, object, scene or robot 'demmo'; did you mean 'demo'?"),
        ("crosscheck demmo", "no hand, object, scene or robot 'demmo'; did you mean 'demo'?"),
        ("calibrate papre000", "no problem 'papre000'; did you mean 'paper000'? known: "),
        ("demo sofd", "no demonstration 'sofd'; did you mean 'soft'? known: "),
        ("twin run three", "no twin 'three'; "),
    ],
)  # fmt: skip
def test_mistyped_names_are_answered_before_anything_heavy(words, message, tmp_path):
    code, written, modules = modules_of(WITH_NAMES, words, tmp_path)
    assert code == 2
    assert written.startswith(f"softgrasp: error: {message}")
    assert not heavy_in(modules)
    assert not list(tmp_path.iterdir())


def test_a_grasp_of_primitives_imports_only_what_it_uses(tmp_path):
    words = "grasp four_finger sphere --no-video --no-report"
    code, _, modules = modules_of(UNTIL_PHYSICS, words, tmp_path)
    assert code == 0
    assert {"mujoco", "numpy", "pydantic", "softgrasp.sim.grasp_run"} <= modules
    assert not UNUSED_BY_A_GRASP & modules


@pytest.mark.parametrize("name", [*VERBS, *GROUPS])
def test_the_list_of_verbs_shows_the_help_of_each_verb(name):
    verb = (VERBS | GROUPS)[name]
    shown = app.commands[name]
    assert shown.name == shown.whole.name == name
    assert shown.get_short_help_str(200) == verb.line
    if name in VERBS:
        assert shown.whole.get_short_help_str(200) == verb.line


@pytest.mark.parametrize(
    ("words", "completions"),
    [("softgrasp gr", ["grasp"]), ("softgrasp grasp --no-v", ["--no-video"]),
     ("softgrasp twin re", ["replay"])],
)  # fmt: skip
def test_completion_knows_verbs_and_their_options(words, completions):
    asked = {"_SOFTGRASP_COMPLETE": "complete_bash", "COMP_WORDS": words,
             "COMP_CWORD": str(len(words.split()) - 1)}  # fmt: skip
    command = [sys.executable, "-c", "from softgrasp.cli import main; main()"]
    ran = subprocess.run(
        command, env=os.environ | asked, capture_output=True, text=True, check=False
    )
    assert ran.stdout.split() == completions


@pytest.mark.parametrize("kind", STORED)
def test_stored_lists_are_those_of_the_files(kind):
    stored = list_stored(kind)
    assert stored is not None, "run python assets/make_lists.py: files have changed since"
    assert stored == compute_rows(kind)


def test_changed_files_are_listed_from_the_files(tmp_path, monkeypatch):
    for kind in ("hands", "assets/scenes"):
        shutil.copytree(assets.root() / kind, tmp_path / kind)
    shutil.copy(assets.root() / "assets" / listing.LISTS_FILE, tmp_path / "assets")
    monkeypatch.setattr(assets, "root", lambda: tmp_path)
    assert list_stored("hands") is not None
    with (tmp_path / "hands" / "four_finger.yaml").open("a") as file:
        file.write("# changed\n")
    assert list_stored("hands") is None
    (tmp_path / "assets" / "scenes" / "demo.yaml").unlink()
    assert list_stored("scenes") is None
    (tmp_path / "assets" / listing.LISTS_FILE).unlink()
    assert list_stored("hands") is None
