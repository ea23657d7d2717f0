"""The small verbs: rerun, new, list, check, convert, bench, doctor, and everybody's help."""

import json
import shlex
from pathlib import Path

import mujoco
import numpy as np
import pytest

import softgrasp as sg
from softgrasp import assets
from softgrasp.cli.app import GROUPS, SECTIONS, VERBS
from softgrasp.cli.listing import KINDS
from softgrasp.io.files import template
from tests.conftest import QUICK, files_in
from tests.support.scenes import pinch


@pytest.fixture
def stored(tmp_path: Path) -> Path:
    """A short run on disk."""
    sg.simulate(pinch(duration=0.05)).save(tmp_path / "run")
    return tmp_path / "run"


def changed(directory: Path, **fields: object) -> None:
    file = directory / "result.json"
    file.write_text(json.dumps(json.loads(file.read_text("utf-8")) | fields), "utf-8")


def test_rerun_finds_an_equal_run_equal(run, stored):
    before = files_in(stored)
    ran = run("rerun", stored)
    assert ran.code == 0
    assert ran.out == f"equal: trajectory {sg.load_result(stored).trajectory_sha256}\n"
    assert files_in(stored) == before
    assert run("rerun", stored / "result.json").code == 0


def test_rerun_reports_what_differs_and_who_made_it(run, stored):
    scene = json.loads((stored / "result.json").read_text("utf-8"))["scene"]
    changed(
        stored,
        scene=scene | {"object": scene["object"] | {"density": 300.0}, "gravity": (0, 0, -1)},
        softgrasp_version="0.0.1",
        backend={"name": "mujoco", "version": "3.0"},
    )
    ran = run("rerun", stored, "--out", "again", "--json")
    assert ran.code == 1
    assert not ran.json["equal"]
    assert "object_position" in [text.split(":")[0] for text in ran.json["differences"]]
    assert ran.json["notes"] == [
        f"made by softgrasp 0.0.1, repeated by {sg.__version__}",
        f"made with mujoco 3.0, repeated with {mujoco.__version__}",
    ]
    assert sg.load_result("again").trajectory_sha256 == ran.json["repeated_sha256"]
    message = run("rerun", stored)
    assert message.code == 1
    assert "different: trajectory" in message.out
    assert "  object_position: up to 0.0" in message.out


def test_rerun_refuses_results_with_older_field_names(run, stored, golden):
    file = stored / "result.json"
    file.write_text(json.dumps(json.loads(file.read_text()) | {"schema_version": 1}))
    ran = run("rerun", stored)
    assert ran.code == 2
    golden(ran.err, "expected schema_version 3")


@pytest.mark.parametrize("inline", [False, True], ids=["loaded", "inline"])
def test_rerun_refuses_a_mesh_that_has_changed(run, tmp_path, inline):
    source = assets.root() / "objects" / "meshes" / "strawberry.obj"
    mesh = tmp_path / "berry.obj"
    mesh.write_bytes(source.read_bytes())
    obj = sg.load_object(mesh, density=700)
    if inline:
        obj = sg.GraspObject(name="b", shape=sg.description.Mesh(file=str(mesh)), density=700)
    sg.simulate(pinch(object=obj, duration=0.02)).save(tmp_path / "run")
    assert run("rerun", "run").code == 0
    mesh.write_bytes(source.read_bytes() + b"# changed\n")
    ran = run("rerun", "run")
    assert ran.code == 2
    assert ran.err.startswith(f"softgrasp: error: {mesh}: expected the file with SHA-256 ")
    assert ran.err.endswith(": it has changed\n")
    if inline:
        mesh.unlink()
        assert run("rerun", "run").err.endswith(", found none: it has changed\n")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "words"),
    [
        ("hand", "grasp mine.yaml sphere"),
        ("object", "grasp four_finger mine.yaml"),
        ("scene", "grasp mine.yaml"),
    ],
)
def test_new_writes_what_closes_as_it_stands_and_never_overwrites(
    kind, words, run, tmp_path, golden
):
    made = run("new", kind, "mine")
    assert made.code == 0
    assert made.out == f"wrote mine.yaml; try it: softgrasp {words}\n"
    text = (tmp_path / "mine.yaml").read_text("utf-8")
    assert "name: mine" in text
    assert run("check", "mine.yaml").code == 0
    ran = run(*words.split(), "--json", *QUICK)
    assert ran.json["status"] == "CLOSED"
    again = run("new", kind, "mine")
    assert again.code == 2
    golden(again.err, "mine.yaml")
    assert (tmp_path / "mine.yaml").read_text("utf-8") == text


def test_new_takes_a_directory_or_a_file(run, tmp_path):
    assert run("new", "hand", "h", "--out", "hands", "--json").json == {"file": "hands/h.yaml"}
    assert run("new", "hand", "h", "--out", "hands/other.yaml").code == 0
    assert files_in(tmp_path) == ["hands", "hands/h.yaml", "hands/other.yaml"]


@pytest.mark.parametrize("kind", ["hands", "objects", "scenes", "robots"])
def test_list_names_everything_that_is_shipped(kind, run):
    ran = run("list", kind)
    assert ran.code == 0
    assert [line.split()[0] for line in ran.out.splitlines()[1:]] == assets.names(kind)
    rows = run("list", kind, "--json", "--out", "lists").json
    assert [row["name"] for row in rows] == assets.names(kind)
    assert all(row["source"] for row in rows)
    assert json.loads(Path("lists", f"{kind}.json").read_text("utf-8")) == rows


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_can_be_listed(kind, run):
    assert run("list", kind).code == 0


def test_check_a_hand(run):
    ran = run("check", "four_finger", "--json")
    assert ran.code == 0
    result = ran.json
    assert (result["kind"], result["joints"], result["problems"]) == ("hand", 12, [])
    assert result["fingers"][0]["phalanges"] == ["F1_P1", "F1_P2", "F1_P3"]
    assert result["fingers"][0]["length_m"] == pytest.approx(0.113)
    assert result["fingers"][0]["limits"][0] == pytest.approx(np.radians([-30, 90]))
    text = run("check", "four_finger").out
    assert (
        "  name F1, convention standard, phalanges [F1_P1, F1_P2, F1_P3], joints [J1, J2, J3]"
        in text
    )
    assert text.endswith("no problems found\n")


def test_check_an_object_and_a_mesh(run):
    result = run("check", "strawberry", "--json").json
    assert (result["kind"], result["shape"], result["convex_parts"]) == ("object", "mesh", 1)
    assert result["mass_kg"] == pytest.approx(result["volume_m3"] * 950)
    mesh = run("check", assets.root() / "objects/meshes/pear.obj", "--json").json
    assert mesh["kind"] == "mesh"
    assert mesh["file"] == "objects/meshes/pear.obj"
    assert 0.05 < max(mesh["size_m"]) < 0.2


def test_check_a_scene(run):
    result = run("check", "demo", "--json").json
    assert (result["kind"], result["timestep_s"], result["hold_test"]) == ("scene", 1e-3, True)
    assert result["degrees_of_freedom"] == 18


def test_check_reports_problems_and_ends_with_1(run, tmp_path):
    run("new", "scene", "s")
    file = tmp_path / "s.yaml"
    text = file.read_text("utf-8").replace("# object_position: [0, 0, -85]", "object_position: "
                                           "[0, 0, -20]")  # fmt: skip
    file.write_text(text, "utf-8")
    ran = run("check", "s.yaml")
    assert ran.code == 1
    assert ran.out.splitlines()[-2:] == [
        "problem: object_position: expected an object that starts clear of the hand, found "
        "'sphere' 16.00 mm inside palm",
        "1 problem found",
    ]
    assert run("check", "s.yaml", "--json", "--out", "o").json["problems"]
    assert files_in(tmp_path / "o") == ["check.json"]


def test_check_reports_what_a_mesh_of_odd_size_may_mean(run, tmp_path):
    from tests.cli.test_bad_input import CUBE

    (tmp_path / "cube.obj").write_text(CUBE, "utf-8")
    ran = run("check", "cube.obj")
    assert ran.code == 1
    assert (
        "problem: mesh 'cube.obj': expected a largest extent of 2 mm … 2 m, found 4e+04 x 4e+04 x "
        "4e+04 mm; is the file in mm? With `units: mm` (--units mm) it is 40 mm\n"
    ) in ran.out


def test_check_reads_a_mesh_in_its_unit(run):
    pear = assets.root() / "objects/meshes/pear.obj"
    size = run("check", pear, "--json").json["size_m"]
    ran = run("check", pear, "--units", "cm", "--json")
    assert ran.json["size_m"] == pytest.approx([0.01 * side for side in size])
    ran = run("check", "sphere", "--units", "mm")
    assert ran.code == 2
    assert ran.err == "softgrasp: error: --units: expected a mesh or robot file, found: object\n"


def test_check_doubts_sizes_and_masses_that_nobody_grasps(run, tmp_path):
    for kind, message in (
        (
            "hand",
            "hand 'hand': expected a longest finger of 0.002 … 2 m, found 75 m; is the file in mm? "
            "Divided by 1000 it is 75 mm (in YAML: units: {length: mm})",
        ),
        (
            "object",
            "object 'object': expected a size of 0.002 … 2 m, found 80 m; are the units right "
            "(units: {length: mm})?",
        ),
    ):
        text = template(kind, kind).replace("length: mm", "length: m")
        (tmp_path / f"{kind}.yaml").write_text(text, encoding="utf-8")
        ran = run("check", f"{kind}.yaml")
        assert ran.code == 1
        assert f"problem: {message}\n" in ran.out
        assert "kg; mass is in kg, density in kg/m³" in ran.out


@pytest.mark.parametrize("source", ["four_finger", "demo"])
def test_convert_writes_a_model_that_loads(source, run, tmp_path):
    ran = run("convert", source, "model.xml", "--out", "models")
    assert ran.code == 0
    assert ran.out == "wrote models/model.xml\n"
    model = mujoco.MjModel.from_xml_path("models/model.xml")
    assert model.nkey == 1
    assert model.joint("F1_J1").id >= 0
    assert (model.npair > 0) is (source == "demo")
    again = run("convert", source, "other.xml", "--json").json
    assert again["file"] == "other.xml"


def test_convert_writes_a_hand_as_urdf_with_its_meshes(run):
    ran = run("convert", "modular", "hand.urdf", "--out", "o")
    assert ran.code == 0
    assert ran.out == "wrote o/hand.urdf\nwrote o/hand_palm.stl\n"
    assert mujoco.MjModel.from_xml_path("o/hand.urdf").njnt == len(sg.load_hand("modular").joints)
    message = run("convert", "modular", "hand.urdf", "--json").json
    assert message["files"] == ["hand.urdf", "hand_palm.stl"]


def test_convert_writes_a_hand_as_yaml(run):
    assert run("convert", "allegro_left", "same.yaml").code == 0
    assert sg.load_hand("same.yaml") == sg.load_hand("allegro_left")


def test_convert_writes_the_joint_states_of_a_result(run, stored):
    assert run("convert", stored, "joints.csv").out == "wrote joints.csv\n"
    message = run("convert", stored / "result.json", "again.csv", "--json").json
    assert message == {"file": "again.csv", "kind": "result"}
    text = Path("joints.csv").read_text("utf-8")
    assert text == Path("again.csv").read_text("utf-8")
    assert len(text.splitlines()) == 1 + len(sg.load_result(stored).time)
    refused = run("convert", stored, "joints.xml")
    assert refused.code == 2
    assert (
        "joints.xml: expected a file name ending in .csv, .json, .usda or .rrd, found '.xml'"
        in refused.err
    )


def test_bench_compares_the_same_work(run):
    result = run("bench", "--rounds", "1", "--json", "--out", "b").json
    assert result["bit_equal"] is True
    assert (result["scene"], result["rounds"]) == ("demo", 1)
    assert result["steps"] > 500
    assert result["events"] >= 8
    assert result["contacts_at_end"] >= 4
    assert result["plain_ratio"] > 0
    text = run("bench", "--rounds", "1").out
    assert text.splitlines()[0].split() == ["loop", "steps/s", "over", "raw"]
    assert "final joint angles equal bit for bit" in text


def test_doctor_examines_and_cures(run, monkeypatch):
    from softgrasp.cli import doctor
    from softgrasp.rendering import renderer as gl

    there = {"mujoco": "4.0.0", "numpy": "2.4.6", "dm-control": "1.0.50"}
    monkeypatch.setattr(doctor, "_version", there.get)
    monkeypatch.setattr(gl, "gl_available", lambda kind: False)
    result = {row["what"]: row for row in run("doctor", "--json").json}
    assert result["dm-control"]["value"] == "1.0.50, fails on MuJoCo 4"
    assert result["dm-control"]["cure"] == "pip install 'mujoco<4'"
    assert result["viser"]["cure"] == "pip install 'softgrasp[view]'"
    assert result["OpenGL"] == {"what": "OpenGL", "value": "none works", "cure": gl.INSTALL_COMMAND}
    assert result["library"]["value"] == str(assets.root())
    ran = run("doctor")
    assert ran.code == 0
    line = next(line for line in ran.out.splitlines() if line.startswith("dm-control"))
    assert " ".join(line.split()) == "dm-control 1.0.50, fails on MuJoCo 4 pip install 'mujoco<4'"
    last = ran.out.splitlines()[-1]
    assert last.startswith("missing: opencv-python-headless, pandas")
    assert last.endswith("; pip install 'softgrasp[all]'")


def test_doctor_knows_every_extra_that_brings_a_library(run):
    """No extra is left out, and no cure names one that does not exist."""
    import re
    import tomllib

    from softgrasp.cli.doctor import OPTIONAL

    file = assets.root() / "pyproject.toml"
    extras = tomllib.loads(file.read_text("utf-8"))["project"]["optional-dependencies"]
    for name, (extra, _) in OPTIONAL.items():
        brought = {re.match(r"[\w-]+", line)[0] for line in extras[extra]}
        assert name in brought
    message = {row["what"] for row in run("doctor", "--json").json}
    assert message >= {*OPTIONAL, "system", "threads", "ffmpeg", "OpenGL", "backend ode",
                    "backend webots", "cache", "library"}  # fmt: skip
    few = {"all", "dev", "dist", "docs", "learn"}
    assert {extra for extra, _ in OPTIONAL.values()} == set(extras) - few


def test_doctor_takes_another_opencv(run, monkeypatch):
    from softgrasp.cli import doctor
    from softgrasp.rendering import renderer as gl

    monkeypatch.setattr(gl, "gl_available", lambda kind: True)
    monkeypatch.setattr(doctor, "_version", {"opencv-python": "4.10"}.get)
    monkeypatch.setenv("OMP_NUM_THREADS", "3")
    result = {row["what"]: row for row in run("doctor", "--json").json}
    assert result["opencv-python-headless"]["value"] == "4.10, of opencv-python"
    assert result["viser"]["value"] == "not installed; for scenes in the browser"
    assert result["viser"]["cure"] == "pip install 'softgrasp[view]'"
    assert result["threads"]["value"].endswith("usable, OMP_NUM_THREADS=3") or (
        "OMP_NUM_THREADS=3, " in result["threads"]["value"]
    )


def test_doctor_sees_a_cache_that_cannot_be_written(run, tmp_path, monkeypatch):
    from softgrasp.rendering import renderer as gl

    monkeypatch.setattr(gl, "gl_available", lambda kind: True)
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("SOFTGRASP_CACHE", str(tmp_path / "file" / "cache"))
    result = {row["what"]: row for row in run("doctor", "--json").json}
    assert result["cache"]["value"].endswith("file/cache, cannot be written")
    assert result["cache"]["cure"] == "set SOFTGRASP_CACHE to a directory that can be written"


@pytest.mark.parametrize("verb", VERBS)
def test_every_verb_has_help_with_an_example(verb, run):
    ran = run(verb, "--help")
    assert ran.code == 0
    assert f"Usage: softgrasp {verb} " in ran.out
    assert f"Example: {VERBS[verb].example}" in " ".join(ran.out.split())
    assert "--json" in ran.out
    assert ("--out" in ran.out) == (verb != "report")  # which writes into the result's directory


SLOW = ("calibrate", "crosscheck")


@pytest.mark.slow
@pytest.mark.parametrize(
    "verb", [pytest.param(v, marks=pytest.mark.slow) if v in SLOW else v for v in VERBS]
)
def test_the_example_in_the_help_runs(verb, run, tmp_path):
    if verb in ("rerun", "report"):
        sg.simulate(pinch(duration=0.02)).save(tmp_path / "out" / "demo")
    words = shlex.split(VERBS[verb].example)[1:]
    few = ("--candidates", "2", "--workers", "1")
    brief = ("--set", "duration=0.02")
    extra = {"demo": QUICK, "grasp": QUICK, "plan": (*QUICK, *few), "bench": ("--rounds", "1")}
    extra["sweep"] = brief
    assert run(*words, *extra.get(verb, ())).code == 0


def test_help_and_version(run):
    ran = run("--help")
    assert ran.code == 0
    for section, verbs in SECTIONS.items():
        listed = ran.out.split(f"\n{section}:\n")[1].split("\n\n")[0].splitlines()
        assert [line.split()[0] for line in listed] == [*verbs]
    assert sorted(verb for verbs in SECTIONS.values() for verb in verbs) == sorted(VERBS | GROUPS)
    assert run("--version").out == f"softgrasp {sg.__version__}\n"
