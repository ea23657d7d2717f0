"""Output directories that are never overwritten, progress in files, and objects by directory."""

from pathlib import Path

import trimesh

import softgrasp as sg
from softgrasp.cli import terminal
from softgrasp.cli.terminal import ProgressLines, output_directory
from softgrasp.io.files import write_text
from tests.conftest import QUICK, files_in

SHORT = ("--set", "duration=0.02", *QUICK)
"""Words of a grasp whose time runs out: it exits with 1."""


def test_a_default_directory_gets_a_number_where_it_is_taken(tmp_path, monkeypatch, capsys, golden):
    monkeypatch.chdir(tmp_path)
    for expected in ("out/ball", "out/ball_2", "out/ball_3"):
        directory = output_directory("ball", None)
        assert directory == Path(expected)
        directory.mkdir(parents=True)
        assert output_directory("ball", None) == directory  # an empty one is free
        write_text(directory / "result.json", "{}")
    golden(
        capsys.readouterr().err.splitlines()[-1],
        "softgrasp: out/ball has the files of an earlier run",
    )
    assert output_directory("ball", None, resume=True) == Path("out/ball_3")
    assert output_directory("ball", None, force=True) == Path("out/ball")
    assert output_directory("ball", Path("mine")) == Path("mine")


def test_a_second_grasp_is_beside_the_first_or_replaces_it(run, tmp_path):
    words = ("grasp", "four_finger", "sphere", *SHORT)
    assert run(*words).code == 1
    first = (tmp_path / "out/four_finger_sphere/result.json").read_text("utf-8")
    ran = run(*words, "--friction", "0.9")
    assert ran.code == 1
    assert (tmp_path / "out/four_finger_sphere/result.json").read_text("utf-8") == first
    assert sg.load_result(tmp_path / "out/four_finger_sphere_2").scene.contact is not None
    assert run(*words, "--friction", "0.9", "--force").code == 1
    assert (tmp_path / "out/four_finger_sphere/result.json").read_text("utf-8") != first
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == [
        "four_finger_sphere", "four_finger_sphere_2",
    ]  # fmt: skip


def test_force_removes_the_rows_of_a_sweep(run, tmp_path):
    words = ("sweep", "four_finger", "sphere", "--out", "there", "--no-report", "--set",
             "duration=0.02")  # fmt: skip
    assert run(*words, "--vary", "contact.friction=0.3,0.6").code == 0
    assert run(*words, "--vary", "contact.friction=0.3,0.6").code == 2
    assert run(*words, "--vary", "contact.friction=0.5,0.7,0.9", "--force").code == 0
    assert len((tmp_path / "there" / "rows.jsonl").read_text().splitlines()) == 3


def test_progress_in_a_file_is_limited_lines(monkeypatch, capsys):
    now = [0.0]
    lines = ProgressLines(lambda: now[0])
    for second in range(35):
        now[0] = float(second)
        lines.show("cutting" if second < 25 else "simulating", None if second < 25 else 0.5)
    assert capsys.readouterr().err.splitlines() == [
        "softgrasp: cutting",
        "softgrasp: simulating (50 %)",
    ]
    monkeypatch.setattr(terminal, "LINE_INTERVAL", 0.0)
    with terminal.progress_bar() as update:  # standard error is a pipe here
        update("closing", 0.25)
    assert capsys.readouterr().err == "softgrasp: closing (25 %)\n"


def test_files_are_listed_by_directory_and_reports_first(capsys):
    terminal.put_files([Path("o", name) for name in ("a.csv", "a.png", "b.html")] + [Path("c.x")])
    assert capsys.readouterr().out == "files     o/\n            b.html, a.csv/png\n          c.x\n"


def test_the_directory_of_an_object_names_object_and_output(run, tmp_path):
    mesh = tmp_path / "ycb" / "025_mug" / "google_16k" / "textured.obj"
    mesh.parent.mkdir(parents=True)
    trimesh.creation.box((0.04, 0.04, 0.06)).export(mesh)
    ran = run("grasp", "four_finger", "ycb/025_mug", *SHORT)
    assert ran.code == 1
    note = "softgrasp: ycb/025_mug: the object is read from ycb/025_mug/google_16k/textured.obj"
    assert note in ran.err
    assert "result.json" in files_in(tmp_path / "out" / "four_finger_025_mug")
    result = sg.load_result(tmp_path / "out" / "four_finger_025_mug")
    assert (result.scene.object.name, result.scene.object.mass) == ("025_mug", 0.118)


LID = """<robot name="box">
<link name="body"><collision><geometry><box size=".04 .04 .04"/></geometry></collision>
<inertial><mass value=".1"/><inertia ixx="3e-5" iyy="3e-5" izz="3e-5" ixy="0" ixz="0" iyz="0"/>
</inertial></link>
<link name="lid"><collision><geometry><box size=".04 .04 .01"/></geometry></collision></link>
<joint name="hinge" type="continuous"><parent link="body"/><child link="lid"/>
<origin xyz="0 0 .025"/></joint></robot>"""


def test_a_scene_locks_the_joints_of_its_object(run, tmp_path):
    (tmp_path / "box.urdf").write_text(LID)
    ran = run("grasp", "four_finger", "box.urdf", *SHORT)
    assert ran.code == 2
    assert "expected a rigid object, found the movable joint 'hinge'; --lock-joints" in ran.err
    assert run("grasp", "four_finger", "box.urdf", "--lock-joints", *SHORT).code == 1
    (tmp_path / "scene.yaml").write_text(
        "hand: four_finger\nobject: {library: box.urdf, lock_joints: true}\nduration: 0.02\n"
    )
    scene = sg.load_scene(tmp_path / "scene.yaml")
    assert len(scene.object.shape.parts) == 2
    path = sg.io.save_scene(scene, tmp_path / "again.yaml")
    assert sg.load_scene(path) == scene


def test_the_directory_of_an_object_is_checked(run, tmp_path):
    mesh = tmp_path / "ycb" / "016_pear" / "google_16k" / "nontextured.stl"
    mesh.parent.mkdir(parents=True)
    trimesh.creation.box((0.05, 0.05, 0.06)).export(mesh)
    ran = run("check", "ycb/016_pear", "--json")
    assert ran.code == 0
    assert (ran.json["name"], ran.json["mass_kg"]) == ("016_pear", 0.049)
    ran = run("check", "ycb")
    assert ran.code == 2
    assert "found directories of objects (1): 016_pear; name one" in ran.err
