"""``softgrasp crosscheck``: files, sentences, exit codes."""

import html
import json
import shlex

import pytest

import softgrasp as sg
from softgrasp.errors import BackendUnavailable
from softgrasp.extensions import ENGINES
from softgrasp.sim.engines import MujocoEngine
from tests.conftest import files_in
from tests.sim.engines import require_engine
from tests.support.engines import ChangedEngine
from tests.support.scenes import diverging

WORDS = ("--backends", "mujoco,twin", "--quick")


@pytest.fixture(autouse=True)
def twin(monkeypatch: pytest.MonkeyPatch) -> None:
    """MuJoCo under another name."""
    monkeypatch.setitem(ENGINES, "twin", MujocoEngine)


def test_engines_that_agree_end_with_0(run, tmp_path, golden):
    ran = run("crosscheck", "four_finger_sphere", *WORDS, "--no-report", "--out", "out")
    assert ran.code == 0
    golden(ran.err, "softgrasp: warning: quick: other time steps and")
    head, *rows = ran.out.splitlines()
    assert head.split() == ["quantity", "mujoco", "twin", "difference", "tolerance"]
    assert rows[0].startswith("How the grasp ended")
    assert rows[0].endswith("within")
    assert [row.split()[-3:] for row in rows if row.startswith("First touch")] == [
        ["1", "sample", "within"]
    ]
    assert "verdict   mujoco, twin: all 7 differences are within their tolerances" in rows
    assert sorted(p.name for p in (tmp_path / "out").glob("[!.]*")) == ["crosscheck.json", "runs"]


@pytest.mark.slow
def test_a_difference_beyond_tolerance_ends_with_1(run, monkeypatch, tmp_path, golden):
    slippery = sg.Contact(stiffness=2e4, static_friction=0.3)
    monkeypatch.setitem(
        ENGINES, "twin", lambda: ChangedEngine(lambda scene: scene.replace(contact=slippery))
    )
    words = ("crosscheck", "four_finger_askew", *WORDS, "--out", "out")
    ran = run(*words)
    assert ran.code == 1
    assert "beyond    Normal force of F" in ran.out
    assert "BEYOND" in ran.out
    assert sorted(p.name for p in (tmp_path / "out").glob("[!.]*")) == [
        "crosscheck.json", "crosscheck_forces.csv", "crosscheck_forces.png", "report.html", "runs",
    ]  # fmt: skip
    page = (tmp_path / "out" / "report.html").read_text("utf-8")
    assert "beyond tolerance" in page
    message = run(*words, "--json", "--no-report").json
    assert message["passed"] is False
    assert message["quick"] is True
    golden(message["rerun_command"], "softgrasp crosscheck four_finger_askew --backends")
    assert message["tolerances"]["normal_force_percent"] == 2.0
    beyond = [item["name"] for item in message["findings"] if not item["passed"]]
    assert "normal_force" in beyond
    # of the earlier page nothing stays
    assert sorted(p.name for p in (tmp_path / "out").glob("[!.]*")) == ["crosscheck.json", "runs"]
    wide = [f"--tolerance={name}_percent=90" for name in ("normal_force", "angle")]
    assert run(*words, *wide, "--no-report").code == 0


def test_a_time_step_is_that_of_all_engines(run):
    message = run("crosscheck", "four_finger_sphere", *WORDS, "--timestep", "5e-4", "--no-report",
               "--json").json  # fmt: skip
    assert {engine["time step"] for engine in message["engines"].values()} == {"0.5 ms"}
    assert message["files"] == [
        "out/crosscheck_four_finger_sphere/crosscheck.json",
        "out/crosscheck_four_finger_sphere/runs",
    ]


@pytest.mark.slow
def test_the_report_lists_what_ran(run, tmp_path):
    (tmp_path / "my finger.yaml").write_text("finger: paper000\ntip_mass: 0.02\n")
    again = (
        "softgrasp crosscheck 'my finger.yaml' --backends mujoco,ode --timestep 0.0005 "
        "--tolerance static_deg=0.01 --tolerance order=1 --quick"
    )
    require_engine("ode")
    words = shlex.split(again)[1:]
    ran = run(*words, "--out", "out")
    assert ran.code == 0
    message = json.loads((tmp_path / "out" / "crosscheck.json").read_text("utf-8"))
    assert message["rerun_command"] == again
    page = (tmp_path / "out" / "report.html").read_text("utf-8")
    assert f"Command: <code>{again}</code>" in html.unescape(page)


def test_a_simulation_that_diverges_ends_with_4_and_writes_its_files(run, tmp_path):
    scene = diverging(timestep=5e-4)
    sg.save_scene(scene, tmp_path / "wild.yaml")
    ran = run("crosscheck", "wild.yaml", *WORDS, "--out", "out")
    assert ran.code == 4
    assert ran.err.endswith("softgrasp: error: the simulation has diverged in mujoco, twin\n")
    assert "verdict   mujoco, twin: the simulation has diverged in mujoco, twin" in ran.out
    assert (
        "beyond    How the grasp ended: could not be compared in mujoco, twin; mujoco: " in ran.out
    )
    assert sorted(p.name for p in (tmp_path / "out").glob("[!.]*")) == [
        "crosscheck.json",
        "report.html",
        "runs",
    ]
    message = json.loads((tmp_path / "out" / "crosscheck.json").read_text("utf-8"))
    assert (message["passed"], message["findings"][0]["difference"]) == (False, None)


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("paper000_release", "--backends", "mujoco,oed"), "backends"),
        (("paper000_release", "--backends", "mujoco"), "backends"),
        (("four_finger", *WORDS), "four_finger"),
        (("sphere", *WORDS), "sphere"),
        (("four_finger_spere", *WORDS), "no hand, object, scene or robot 'four_finger_spere'"),
        (("demo", *WORDS, "--tolerance", "static=1"), "--tolerance static=1"),
        (("demo", *WORDS, "--tolerance", "static_deg=much"), "static_deg"),
        (("paper000_release", *WORDS, "--timestep", "3e-4"), "sample_period"),
    ],
)
def test_odd_words_are_reported_in_a_line(run, tmp_path, words, sentence, golden):
    ran = run("crosscheck", *words)
    assert ran.code == 2
    golden(ran.err.partition("known:")[0], sentence)
    assert ran.err.count("\n") == 1
    assert files_in(tmp_path) == []


def test_an_engine_that_is_missing_ends_with_3(run, monkeypatch, tmp_path):
    from softgrasp.backends.webots import backend

    def missing(*_: object) -> None:
        raise BackendUnavailable("no ODE library found: apt install libode8")

    monkeypatch.setattr(backend.OdeEngine, "play", missing)
    ran = run("crosscheck", "paper000_release")
    assert ran.code == 3
    assert ran.err == "softgrasp: error: no ODE library found: apt install libode8\n"
    assert files_in(tmp_path) == []


def test_a_release_is_listed_checked_and_no_grasp(run):
    rows = {row["name"]: row for row in run("list", "scenes", "--json").json}
    assert rows["paper000_release"]["hand"] == "finger paper000"
    assert rows["paper000_release"]["object"] == "20 g"
    result = run("check", "paper000_release", "--json").json
    assert (result["kind"], result["joints"], result["problems"]) == ("release", 7, [])
    assert result["damping_ratio"] == pytest.approx(0.118, abs=1e-3)
    ran = run("grasp", "paper000_release")
    assert ran.code == 2
    assert ran.err.endswith(
        "found the release of a finger, which is not a grasp; use softgrasp crosscheck\n"
    )


def test_check_reports_what_is_wrong_with_a_release(run, tmp_path):
    (tmp_path / "r.yaml").write_text("finger: paper000\ntip_mass: 0.02\nduration: 0.1\n")
    ran = run("check", "r.yaml")
    assert ran.code == 1
    assert "problem: duration: expected at least 0.5" in ran.out
