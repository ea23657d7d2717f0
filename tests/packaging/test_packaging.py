"""What is published: names of extras, one version, and a wheel that works where nothing else is."""

import json
import re
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from pathlib import Path

import pytest

import softgrasp
from softgrasp.cli.app import GROUPS, VERBS
from tests.packaging import clean_install

ROOT = clean_install.ROOT
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
EXTRAS = PROJECT["optional-dependencies"]


def test_the_extras_that_are_promised_exist():
    promised = {"calibrate", "twin", "ode", "cluster", "view", "dev", "all"}
    assert set(EXTRAS) >= promised
    assert EXTRAS["dist"] == ["softgrasp[cluster]"]
    parts = re.search(r"\[(.*)\]", EXTRAS["all"][0])
    assert parts is not None
    # what stands in for a system's library, is another name, builds pages, or is large
    few = {"all", "dev", "dist", "docs", "gpu", "learn", "minari", "ode", "rerun", "usd"}
    assert set(parts[1].split(",")) == set(EXTRAS) - few


def test_every_extra_is_reported_in_the_documentation():
    page = (ROOT / "docs" / "install.md").read_text("utf-8")
    assert [name for name in EXTRAS if f"`{name}`" not in page] == []


def test_the_version_is_defined_once():
    assert "version" in PROJECT["dynamic"]
    assert "version" not in PROJECT
    version = softgrasp.__version__
    positions = [
        path.relative_to(ROOT).as_posix()
        for path in (ROOT / "softgrasp").rglob("*.py")
        if f'"{version}"' in path.read_text("utf-8")
    ]
    assert positions == ["softgrasp/_version.py"]
    message = subprocess.run(
        [sys.executable, "-m", "softgrasp", "--version"],
        capture_output=True, text=True, check=True, cwd=ROOT,
    )  # fmt: skip
    assert message.stdout == f"softgrasp {version}\n"


def test_the_classifiers_name_the_pythons_that_were_measured():
    """Those of the table that the script of clean installations has written."""
    lines = (ROOT / "docs" / "data" / "install.md").read_text("utf-8").splitlines()
    measured = {
        tuple(map(int, line.split()[1].split(".")[:2])) for line in lines if " MB |" in line
    }
    named = re.findall(r":: (3)\.(\d+)$", "\n".join(PROJECT["classifiers"]), re.MULTILINE)
    assert {(int(major), int(minor)) for major, minor in named} == measured


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """The wheel, made from the sdist, and the sdist."""
    pytest.importorskip("hatchling", reason="the build tool comes with ./dev only")
    return clean_install.build(tmp_path_factory.mktemp("built"))


@pytest.mark.slow
def test_the_sdist_builds_the_wheel_of_the_checkout(built):
    wheel, sdist = built
    name = f"softgrasp-{softgrasp.__version__}"
    assert wheel.name == f"{name}-py3-none-any.whl"
    assert sdist.name == f"{name}.tar.gz"
    with tarfile.open(sdist) as archive:
        held = {member.name.removeprefix(f"{name}/") for member in archive}
    assert held >= {"pyproject.toml", "README.md", "LICENSE", "softgrasp/_version.py"}
    with zipfile.ZipFile(wheel) as archive:
        packed = set(archive.namelist())
        message = archive.read(f"{name}.dist-info/METADATA").decode("utf-8")
    modules = {path.relative_to(ROOT).as_posix() for path in (ROOT / "softgrasp").rglob("*.py")}
    templates = {path.relative_to(ROOT).as_posix() for path in (ROOT / "softgrasp").rglob("*.j2")}
    assert modules | templates <= packed
    assert f"\nVersion: {softgrasp.__version__}\n" in message
    assert "# softgrasp" in message
    assert re.findall(r"\]\((?!https?:)", message) == []  # links lead nowhere on an index's page
    assert wheel.stat().st_size < 5e6


VERBS_OF_THE_BASE = {
    "demo soft --no-video --renderer raycast": 0,
    "grasp two_finger_planar sphere --no-video --no-report --out run": 0,
    "sweep two_finger_planar sphere --density 100,200": 3,
    "plan two_finger_planar sphere": 3,
    "report run --renderer raycast --no-video": 0,
    "rerun run": 0,
    "explain demo": 0,
    "check demo": 0,
    "crosscheck no_such_scene": 2,
    "bench no_such_benchmark": 2,
    "calibrate no_such_problem": 2,
    "new hand mine": 0,
    "list hands": 0,
    "convert four_finger hand.xml": 0,
    "schema hand": 0,
    "view allegro_left": 3,
    "twin serve": 3,
    "twin run --no-view": 3,
    "twin robot": 3,
    "twin fit four_piece --out fit": 0,
    "twin replay run": 3,
    "doctor": 0,
}
"""Every verb with words, and its exit code without extras; those with 0 run after one another."""


@pytest.mark.slow
def test_the_wheel_works_where_nothing_else_is(built, tmp_path):
    wheel, _ = built
    try:
        made = clean_install.install(wheel, tmp_path / "env")
    except RuntimeError as error:
        if "No matching distribution" in str(error) or "Could not find a version" in str(error):
            pytest.skip("pip reaches no package index here")
        raise
    work = tmp_path / "elsewhere"
    work.mkdir()
    assert clean_install.find_heavy_imports(made.python, work) == ""
    message = json.loads(clean_install.demonstrate(made.python, work))
    assert message["held"] is True
    assert all((work / file).is_file() for file in message["files"])
    assert made.megabytes < 900.0  # docs/install.md says how much it is
    assert {words.split()[0] for words in VERBS_OF_THE_BASE} == {*VERBS, *GROUPS}
    ended = {words: clean_install.try_verb(made.python, words, work) for words in VERBS_OF_THE_BASE}
    assert not [message for _, message in ended.values() if "Traceback" in message]
    assert {words: code for words, (code, _) in ended.items()} == VERBS_OF_THE_BASE, ended
    assert all("pip install" in message for code, message in ended.values() if code == 3)
