"""``softgrasp grasp``: options, files, exit codes and what stands on standard output."""

import json
import math
from dataclasses import replace
from pathlib import Path

import imageio.v3
import pytest

import softgrasp as sg
from softgrasp.cli import grasp
from softgrasp.io.files import write_bytes
from tests.conftest import QUICK, files_in
from tests.support.scenes import pinch

PINCH = ("grasp", "four_finger", "sphere", "--grasp", "precision", *QUICK)
NUMBERS = ["result.json", "trajectory.npz"]
FIGURES = ("contacts", "joints", "object", "quality")


def test_a_quick_grasp_writes_its_numbers_and_reports_them_in_lines(run, tmp_path):
    ran = run(*PINCH)
    assert ran.code == 0
    assert ran.err == ""
    lines = ran.out.splitlines()
    assert [line.split()[0] for line in lines] == [
        "grasp", "outcome", "contacts", "forces", "object", "stiffness", "cost",
        "files", "result.json,",
    ]  # fmt: skip
    assert lines[0] == ("grasp     four_finger closes on sphere (precision grasp, 79.2 g)")
    assert lines[1] == "outcome   CLOSED: the hand has closed on the object and stands still"
    assert lines[2].startswith("contacts  4 of 12 phalanges in contact, first touch at 0.3")
    directory = tmp_path / "out" / "four_finger_sphere"
    assert files_in(directory) == NUMBERS
    assert sg.load_result(directory).status is sg.GraspStatus.CLOSED


@pytest.mark.slow
def test_a_video_has_the_requested_size(run, tmp_path):
    words = ("--no-report", "--renderer", "raycast", "--duration", "0.02", "--out", "here")
    run("grasp", "four_finger", "sphere", *words, "--video-size", "96x64")
    assert imageio.v3.immeta(tmp_path / "here" / "grasp.mp4")["size"] == (96, 64)


def test_json_is_the_result_file_and_nothing_else(run, tmp_path):
    ran = run(*PINCH, "--json", "--out", "here")
    assert ran.code == 0
    stored = json.loads((tmp_path / "here" / "result.json").read_text("utf-8"))
    assert ran.json == stored | {"files": [f"here/{name}" for name in NUMBERS]}


def test_every_option_arrives_in_the_scene(run):
    ran = run(
        *PINCH, "--json", "--density", "500", "--position", "0", "0.002", "-0.085",
        "--euler-deg", "0", "0", "90", "--mount", "planar", "--gravity", "--actuation",
        "prescribed", "--contact-stiffness", "2e4", "--contact-damping", "200", "--friction",
        "0.7", "--timestep", "5e-4", "--duration", "0.05", "--seed", "3", "--hold",
        "--set", "closure.samples=5", "--set", "hand.fingers[0].phalanges[1].radius=0.009",
        "--set", 'success={"max_drop": 0.001, "ramp_time": 0.01, "hold_time": 0.01}',
    )  # fmt: skip
    assert (ran.code, ran.json["outcome"]) == (1, "TIMED_OUT")
    scene = sg.GraspScene(**ran.json["scene"])
    assert scene.object.density == 500
    assert scene.grasp == "precision"
    assert scene.object_position == (0, 0.002, -0.085)
    assert scene.object_euler == (0, 0, math.pi / 2)
    assert (scene.object_mount, scene.actuation, scene.seed) == ("planar", "prescribed", 3)
    assert scene.gravity == (0, 0, -9.81)
    assert scene.contact.specified == {"stiffness": 2e4, "damping": 200, "static_friction": 0.7}
    assert (scene.timestep, scene.duration) == (5e-4, 0.05)
    assert scene.closure.samples == 5
    assert scene.hand.fingers[0].phalanges[1].radius == 0.009
    assert scene.success == sg.SuccessCriterion(max_drop=0.001, ramp_time=0.01, hold_time=0.01)


def test_options_change_a_scene_file(run, tmp_path):
    scene = sg.GraspScene(hand=sg.load_hand("four_finger"), object=sg.load_object("sphere"))
    held = scene.replace(name="mine", success=sg.SuccessCriterion(), duration=0.05)
    sg.save_scene(held, tmp_path / "s.yaml")
    ran = run("grasp", "s.yaml", "--mass", "0.2", "--no-hold", "--json", *QUICK)
    changed = held.replace(success=None, object=scene.object.weighing(mass=0.2))
    assert sg.GraspScene(**ran.json["scene"]) == sg.resolve(changed).scene
    assert ran.json["files"][0] == "out/mine/result.json"
    assert ran.json["held"] is None


@pytest.mark.slow
def test_a_grasp_that_fails_is_an_outcome_and_exits_with_1(run):
    ran = run(*PINCH, "--position", "0", "0", "-0.14")
    assert ran.code == 1
    assert "outcome   MISSED: the hand has closed without establishing contact" in ran.out
    out_of_reach = run(*PINCH, "--position", "0", "0", "-0.3")
    assert out_of_reach.code == 1
    assert "outcome   NOT_CLOSED: the hand cannot close on the object and was not moved: " in (
        out_of_reach.out
    )


def test_require_held(run, golden):
    words = (*PINCH, "--hold", "--require-held", "--set", "success.hold_time=0.1")
    assert run(*words).code == 0
    missed = run(*words, "--duration", "0.02")
    assert missed.code == 5
    golden(missed.err, "softgrasp: out/four_finger_sphere has the files of an earlier run")


def test_a_run_that_diverges_ends_with_4_and_valid_files(run, tmp_path):
    ran = run(
        *PINCH, "--contact-stiffness", "1e6", "--contact-damping", "1000", "--timestep", "5e-4",
        "--set", "solver.integrator=implicitfast", "--position", "0", "0.002", "-0.085",
        "--out", "run",
    )  # fmt: skip
    assert ran.code == 4
    last = ran.err.splitlines()[-1]
    assert last.startswith("softgrasp: error: the simulation has diverged: it broke at 0.3")
    assert "use a smaller timestep than 0.0005 s (try 0.0001 s)" in last
    assert sg.load_result(tmp_path / "run").status is sg.GraspStatus.DIVERGED


def test_a_softer_contact_is_allowed_with_a_warning(run, golden):
    ran = run(*PINCH, "--timestep", "2e-3", "--set", "control_period=2e-3",
              "--allow-softer-contact")  # fmt: skip
    assert ran.code == 0
    golden(ran.err, "softgrasp: warning: timestep: 0.002 s is too large for")


def test_a_new_run_leaves_no_files_of_an_earlier_one_beside_its_files(run, tmp_path):
    directory = tmp_path / "run"
    run(*PINCH, "--out", "run")
    write_bytes(directory / "grasp.mp4", b"the video of that run")
    (directory / "notes.txt").write_text("mine")
    ran = run(*PINCH, "--out", "run", "--density", "300")
    assert "replacing the earlier run in run" in ran.err
    assert files_in(directory) == ["notes.txt", *NUMBERS]


@pytest.mark.parametrize("name", ["result.json", "grasp.mp4", "trajectory.npz", "report.html"])
def test_files_that_no_run_wrote_are_neither_overwritten_nor_removed(run, tmp_path, name):
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / name).write_text("not of softgrasp")
    for number in (2, 2):  # the second run replaces the first one there
        ran = run(*PINCH, "--out", "run")
        assert f"run has files that no run wrote ({name}); writing to run_{number}\n" in ran.err
        assert files_in(tmp_path / "run_2") == NUMBERS
    assert (tmp_path / "run" / name).read_text() == "not of softgrasp"
    assert files_in(tmp_path / "run") == [name]


def test_a_changed_file_of_a_run_is_no_longer_one(run, tmp_path):
    run(*PINCH, "--out", "run")
    (tmp_path / "run" / "grasp.mp4").write_text("a film of mine")
    with (tmp_path / "run" / "result.json").open("a") as file:
        file.write("  ")
    before = (tmp_path / "run" / "result.json").read_bytes()
    ran = run(*PINCH, "--out", "run")
    assert "no run wrote (grasp.mp4, result.json); writing to run_2\n" in ran.err
    assert (tmp_path / "run" / "grasp.mp4").read_text() == "a film of mine"
    assert (tmp_path / "run" / "result.json").read_bytes() == before


def test_the_working_directory_gets_a_directory_inside(run, tmp_path):
    (tmp_path / "forces.csv").write_text("measured")
    assert "writing to softgrasp_2\n" in run(*PINCH, "--out", ".").err
    assert (tmp_path / "softgrasp_2" / "result.json").is_file()


@pytest.mark.parametrize("page", [True, False])
def test_figures_report_and_video_are_chosen_one_by_one(run, monkeypatch, page):
    from softgrasp.report import grasp_report as pages

    requested = {}

    def write_report(result: sg.GraspResult, directory: Path, **options: object) -> list[Path]:
        requested.update(options)
        return []

    monkeypatch.setattr(pages, "write_report", write_report)
    words = () if page else ("--no-report",)
    ran = run("grasp", "four_finger", "sphere", "--duration", "0.01", "--renderer", "raycast",
              "--no-video", *words)  # fmt: skip
    del requested["progress"]
    assert requested == {
        "renderer": "raycast", "video": False, "report": page, "ensemble": None,
        "video_size": (640, 480), "viewpoint": None,
    }  # fmt: skip
    assert ("images    drawn by the built-in ray caster, as requested\n" in ran.out) is page


def test_the_renderer_is_determined_before_the_run(monkeypatch):
    from softgrasp.rendering import renderer as gl

    monkeypatch.setattr(gl, "gl_available", lambda kind: False)
    requested = grasp.Job(directory=Path("x"))
    assert grasp._renderer_text(requested) == (
        "drawn by the built-in ray caster: no OpenGL on this host; for the faster renderer: "
        + gl.INSTALL_COMMAND
    )


@pytest.mark.slow
def test_the_demo_makes_every_file(run, tmp_path):
    ran = run("demo")
    assert ran.code == 0
    names = (*NUMBERS, *(f"{n}{s}" for n in FIGURES for s in (".png", ".csv")),
             "strip.png", "grasp.mp4", "report.html")  # fmt: skip
    assert sorted(names) == files_in(tmp_path / "out" / "demo")
    listed = ran.out.split("files ")[1]
    assert "out/demo/" in listed
    assert all(Path(name).stem in listed for name in names)
    assert "Held 0.35 N of weight" in ran.out
    assert "images    drawn " in ran.out


@pytest.mark.slow
def test_the_demo_is_the_scene_of_that_name(run):
    ran = run("demo", "--json", "--out", "demo", *QUICK)
    assert sg.GraspScene(**ran.json["scene"]) == sg.resolve(sg.load_scene("demo")).scene
    assert ran.json["held"] is True


@pytest.mark.parametrize(
    ("requested", "text"),
    [
        (1e5, "of the model."),
        (1e6, "of the model. The time step did not allow the requested 1 000 000 N/m."),
    ],
)
def test_the_line_of_stiffness_compares_with_what_was_set(requested, text):
    result = sg.simulate(pinch(duration=0.5))
    model = result.contact_model
    asking = model.replace(requested=model.requested.replace(stiffness=requested))
    (line,) = (
        line
        for line in grasp.summary_lines(replace(result, contact_model=asking))
        if line.startswith("stiffness")
    )
    assert line.replace("\N{NARROW NO-BREAK SPACE}", " ").endswith(f" % {text}")
