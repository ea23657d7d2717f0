"""Webots worlds on the command line: convert, check, and grasps in other engines."""

import json
from pathlib import Path

import pytest

import softgrasp as sg
from tests.conftest import QUICK, files_in
from tests.sim.engines import require_engine


def test_a_scene_becomes_a_project_that_the_checker_accepts(run, tmp_path, golden):
    ran = run("convert", "demo", "project/worlds/demo.wbt")
    assert ran.code == 0
    assert files_in(tmp_path / "project") == [
        "controllers", "controllers/softgrasp_job", "controllers/softgrasp_job/demo.json",
        "controllers/softgrasp_job/laws.py", "controllers/softgrasp_job/softgrasp_job.py", "worlds",
        "worlds/demo.wbt",
    ]  # fmt: skip
    assert ran.out.splitlines()[0] == "wrote project/worlds/demo.wbt"
    assert "WEBOTS_EXTRA_PROJECT_PATH" not in ran.out
    golden(ran.err, "softgrasp: warning: parts of the hand do not touch one")
    checked = run("check", "project/worlds/demo.wbt", "--json")
    assert checked.code == 0
    assert checked.json["problems"] == []
    assert (checked.json["motors"], checked.json["touch_sensors"]) == (12, 13)


def test_a_world_elsewhere_reports_how_its_controller_is_located(run, tmp_path):
    ran = run("convert", "soft_gripper", "soft.wbt")
    assert ran.code == 0
    assert (tmp_path / "controllers" / "softgrasp_job" / "soft.json").exists()
    assert ran.out.splitlines()[-1] == (
        f"run it with WEBOTS_EXTRA_PROJECT_PATH={tmp_path} webots soft.wbt; in a directory called "
        "worlds it would find its controller by itself"
    )
    message = run("convert", "soft_gripper", "soft.wbt", "--json")
    assert message.json["file"] == "soft.wbt"
    assert len(message.json["files"]) == 4


def test_a_release_becomes_a_project(run):
    assert run("convert", "paper000_release", "swing.wbt").code == 0
    checked = run("check", "swing.wbt", "--json")
    assert checked.json["problems"] == []
    assert (checked.json["joints"], checked.json["motors"]) == (7, 0)


def test_meshes_are_made_coarser_only_when_that_is_requested(run, tmp_path):
    pytest.importorskip("fast_simplification", reason="fast-simplification is not installed")
    assert run("convert", "demo", "all.wbt").code == 0
    assert run("convert", "demo", "few.wbt", "--max-faces", "200").code == 0
    sizes = [(tmp_path / name).stat().st_size for name in ("few.wbt", "all.wbt")]
    assert sizes[0] < 0.3 * sizes[1]
    assert run("check", "few.wbt").code == 0


def test_problems_of_a_world_have_their_lines(run, tmp_path, golden):
    run("convert", "soft_gripper", "soft.wbt")
    text = (tmp_path / "soft.wbt").read_text("utf-8")
    (tmp_path / "fast.wbt").write_text(text.replace("basicTimeStep 1\n", "basicTimeStep 0.5\n"))
    ran = run("check", "fast.wbt", "--json")
    assert ran.code == 1
    line = 1 + text[: text.index("DEF WORLD")].count("\n")
    assert ran.json["problems"] == [
        f"line {line}: WorldInfo.basicTimeStep: expected at least 1 (ms), found 0.5"
    ]
    (tmp_path / "odd.wbt").write_text(text.replace("basicTimeStep", "basicTimestep"))
    odd = run("check", "odd.wbt")
    assert odd.code == 2
    assert "WorldInfo.basicTimestep: no such field; did you mean 'basicTimeStep'?" in odd.err
    golden(run("check", "none.wbt").err, "none.wbt")


@pytest.mark.slow
def test_a_grasp_runs_in_ode_and_can_be_repeated(run):
    require_engine("ode")
    words = ("four_finger", "sphere_35", "--grasp", "precision", "--no-hold", "--backend", "ode")
    assert run("grasp", *words, "--out", "o", *QUICK).code == 0
    result = sg.load_result("o")
    assert result.backend["name"] == "ode"
    assert result.status is sg.GraspStatus.CLOSED
    again = run("rerun", "o")
    assert again.code == 0
    assert again.out == f"equal: trajectory {result.trajectory_sha256}\n"


def test_without_webots_it_reports_how_to_get_it(run, monkeypatch, golden):
    monkeypatch.delenv("WEBOTS_HOME", raising=False)
    monkeypatch.setenv("PATH", "")
    ran = run("grasp", "four_finger", "sphere_35", "--backend", "webots", *QUICK)
    assert ran.code == 3
    golden(ran.err, "no Webots found (looked at WEBOTS_HOME and PATH):")


def test_engines_are_listed_with_what_is_there(run):
    rows = {row["name"]: row["version"] for row in run("list", "backends", "--json").json}
    assert list(rows) == ["mujoco", "ode", "webots", "warp"]
    assert all(rows.values())


def test_the_controller_needs_the_standard_library_only(run, tmp_path):
    """It compiles, and imports nothing but its own laws and Webots' module."""
    import ast
    import sys

    run("convert", "soft_gripper", "soft.wbt")
    directory = tmp_path / "controllers" / "softgrasp_job"
    for file in directory.glob("*.py"):
        tree = ast.parse(file.read_text("utf-8"))
        names = {node.module for node in tree.body if isinstance(node, ast.ImportFrom)}
        names |= {a.name for n in tree.body if isinstance(n, ast.Import) for a in n.names}
        foreign = {str(name).split(".")[0] for name in names} - set(sys.stdlib_module_names)
        assert foreign <= {"controller", "laws"}
    job = json.loads((directory / "soft.json").read_text("utf-8"))
    assert not Path(job["result"]).is_absolute()
