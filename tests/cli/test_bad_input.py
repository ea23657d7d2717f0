"""Every mistake gets one clear sentence and exit code 2, and leaves no file."""

from pathlib import Path

import pytest

import softgrasp as sg
from softgrasp import assets
from softgrasp.io.files import template
from tests.conftest import QUICK, Run, files_in

HANDS, OBJECTS = ", ".join(assets.names("hands")), ", ".join(assets.names("objects"))
HAND, OBJECT = template("hand", "mine"), template("object", "mine")


def refused(run: Run, directory: Path, *words: str, code: int = 2) -> str:
    """The sentence of a command line that must be refused without leaving anything."""
    before = files_in(directory)
    ran = run(*words)
    assert ran.code == code
    assert ran.out == ""
    assert "Traceback" not in ran.err
    assert files_in(directory) == before
    start, end = "softgrasp: error: ", "\n"
    assert ran.err.startswith(start)
    assert ran.err.endswith(end)
    sentence = ran.err.removeprefix(start).removesuffix(end)
    assert "\n" not in sentence
    return sentence


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ("four_fingr sphere", "no hand 'four_fingr'"),
        (
            "sphere four_finger",
            "expected HAND OBJECT, found the object 'sphere' and the hand 'four_finger'",
        ),
        ("four_finger strawberry --video-size 1280", "--video-size"),
        ("four_finger strawberry --video-size 10x9000", "--video-size"),
        ("four_finger strawbery", "no object 'strawbery'"),
        ("four_finger", "expected HAND OBJECT or a SCENE, found only the hand 'four_finger'"),
        ("sphere", "expected HAND OBJECT or a SCENE, found only the object 'sphere'"),
        ("four_finger sphere --duration -1", "duration"),
        ("four_finger sphere --duration nan", "duration"),
        ("four_finger sphere --density 0", "density"),
        ("four_finger sphere --mass inf", "mass"),
        ("four_finger sphere --mass 1 --density 700", "--mass, --density"),
        ("four_finger sphere --friction -1", "contact.static_friction"),
        ("four_finger sphere --timestep 0.002", "timestep"),
        ("four_finger sphere --position 0 0 -0.02", "object_position"),
        ("four_finger sphere --require-held", "--require-held"),
        ("four_finger sphere --backend odd", "no backend 'odd'"),
        ("four_finger sphere --closure magnet", "no closure 'magnet'"),
        ("four_finger sphere --units mm", "--units"),
        ("four_finger sphere --set contact.dampin=5", "contact.dampin"),
        ("four_finger sphere --set hand=four_fingr", "no hand 'four_fingr'"),
        ("four_finger sphere --contact-damping 0", "contact.damping"),
        ("four_finger sphere --density 1e300", "density"),
        ("four_finger sphere --density 1e-30", "four_finger with sphere: 'object'"),
        ("four_finger sphere --set contact.damping", "--set"),
        ("four_finger sphere --set hand.fingers[4].name=F9", "hand.fingers"),
        ("four_finger sphere --densty 3", "No such option: --densty (Possible options: --density,"),
        ("gone.yaml sphere", "gone.yaml"),
    ],
)
def test_words(words, sentence, run, tmp_path, golden):
    golden(refused(run, tmp_path, "grasp", *words.split(), *QUICK), sentence)


@pytest.mark.parametrize(
    ("old", "new", "sentence"),
    [
        ("convention: standard", "convention: [standard", "hand.yaml:8"),
        ("a: 30", "a: .nan", "hand.yaml:30: fingers[0].phalanges[1].a"),
        ("phalanges: *finger", "phalanges: none", "hand.yaml:44: fingers[2].phalanges"),
        ("a: 30", f"a: {'9' * 400}", "hand.yaml:30: fingers[0].phalanges[1].a"),
    ],
)
def test_hand_files(old, new, sentence, run, tmp_path, golden):
    assert old in HAND
    (tmp_path / "hand.yaml").write_text(HAND.replace(old, new, 1), encoding="utf-8")
    result = refused(run, tmp_path, "grasp", "hand.yaml", "sphere", *QUICK)
    golden(result, sentence)


@pytest.mark.parametrize(
    ("old", "new", "sentence"),
    [
        ("radius: 25", "radius: -25", "thing.yaml:7: shape.radius"),
        ("density: 700", "mass: 0", "thing.yaml:10: mass"),
        ("density: 700", "", "thing.yaml"),
        ("density: 700", "density: 700\nmass: 1", "thing.yaml"),
        ("name: mine", "name: mine\nname: other", "thing.yaml:3"),
    ],
)
def test_object_files(old, new, sentence, run, tmp_path, golden):
    assert old in OBJECT
    (tmp_path / "thing.yaml").write_text(OBJECT.replace(old, new, 1), encoding="utf-8")
    golden(refused(run, tmp_path, "grasp", "four_finger", "thing.yaml", *QUICK), sentence)


@pytest.mark.parametrize("text", ["- 1\n- 2\n", "just words\n", "", "unknown: 1\n"])
def test_files_that_are_nothing_we_know(text, run, tmp_path):
    (tmp_path / "odd.yaml").write_text(text, encoding="utf-8")
    expected = {
        "- 1\n- 2\n": "odd.yaml: expected a mapping of fields, found a list",
        "just words\n": "odd.yaml: expected a mapping of fields, found a single value",
        "": "odd.yaml: expected a mapping of fields, found nothing",
        "unknown: 1\n": "odd.yaml: expected the fields of a hand (fingers, grasps), an object "
        "(shape, density), a scene (hand, object) or a release (finger, tip_mass), found unknown",
    }
    assert refused(run, tmp_path, "check", "odd.yaml") == expected[text]


CUBE = """
v 0 0 0\nv 0 0 40\nv 0 40 0\nv 0 40 40\nv 40 0 0\nv 40 0 40\nv 40 40 0\nv 40 40 40
f 1 2 4\nf 1 4 3\nf 5 8 6\nf 5 7 8\nf 1 6 2\nf 1 5 6
f 3 4 8\nf 3 8 7\nf 1 7 5\nf 1 3 7\nf 2 6 8\nf 2 8 4
"""


@pytest.mark.parametrize("weight", [(), ("--mass", "0.1")])
def test_a_missing_mesh_file(weight, run, tmp_path):
    result = refused(run, tmp_path, "grasp", "four_finger", "no.stl", *weight, *QUICK)
    assert result == f"{tmp_path / 'no.stl'}: expected a mesh file, found no such file"


def test_a_mesh_file_without_a_mass(run, tmp_path, golden):
    (tmp_path / "cube.obj").write_text(CUBE, encoding="utf-8")
    result = refused(run, tmp_path, "grasp", "four_finger", "cube.obj", *QUICK)
    golden(result, "cube.obj: a mesh file needs --mass or --density, found neither")


def test_a_mesh_a_thousand_times_too_large_is_reported_with_a_guess(run, tmp_path, golden):
    (tmp_path / "cube.obj").write_text(CUBE, encoding="utf-8")
    message = refused(run, tmp_path, "grasp", "four_finger", "cube.obj", "--density", "700", *QUICK)
    golden(message, "cube.obj: units: the largest extent is 40 m, more than 2 m")
    kept = sg.load_object(tmp_path / "cube.obj", density=700.0, units="m")
    assert kept.shape.units == "m"  # a stated unit is believed
    cured = run(
        "grasp", "four_finger", "cube.obj", "--density", "700", "--units", "mm", *QUICK,
        "--duration", "0.02",
    )  # fmt: skip
    assert "outcome   TIMED_OUT" in cured.out
    assert "the largest extent" not in cured.err


def test_a_directory_that_cannot_be_written(run, tmp_path, golden):
    (tmp_path / "file").write_text("", encoding="utf-8")
    result = refused(run, tmp_path, "grasp", "four_finger", "sphere", "--out", "file/run", *QUICK)
    assert result == "file/run: expected a directory that can be written, found: Not a directory"
    golden(refused(run, tmp_path, "demo", "--out", "file"), "file")


GRASP, SWEEP, PLAN = (f"{verb} four_finger sphere " for verb in ("grasp", "sweep", "plan"))
CALIBRATE, CONVERT = "calibrate --finger paper000 ", "convert three_segment_arm "
NEWLY = "expected a name of letters, digits, _ and -, beginning with a letter"


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (GRASP + "--position 1 2", "Option '--position' requires 3 arguments."),
        (GRASP + "--hand-euler-deg nan 0 0", "--hand-euler-deg"),
        (GRASP + "--object sphere", "--object"),
        (GRASP + "--object sphere@1,2", "--object"),
        (GRASP + "--grasp precision --object sphere_25@0,0.05,-0.085",
         "expected a start without overlaps"),
        (GRASP + "--contact-model natve", "no contact model 'natve'"),
        (GRASP + "--sensor tactil", "--sensor"),
        (GRASP + "--sensor wrist:palm", "--sensor"),
        (GRASP + "--pressure auto", "--pressure auto"),
        (GRASP + "--pressure 60psi", "Invalid value for '--pressure'"),
        ("grasp finger.stl sphere", "finger.stl: the mesh of a finger makes a hand with"),
        ("grasp soft_gripper sphere --fingers 3", "--fingers"),
        ("demo sof", "no demonstration 'sof'"),
        ("gras", "No such command 'gras'. Did you mean 'grasp'?"),
        ("sweep", "expected HAND OBJECT, a SCENE or a PLAN"),
        ("sweep --merge", "--merge"),
        (SWEEP, "expected a field to vary (--density R1,R2,… or --vary"),
        (SWEEP + "--vary contact.frictoin=0.1,0.2 --out s", "contact.frictoin"),
        (SWEEP + "--vary object.densty=1 --strict", "no such field"),
        (SWEEP + "--vary object.density=", "--vary"),
        (SWEEP + "--vary seed", "--vary"),
        (SWEEP + "--vary friction=0.5 --strict", "friction"),
        (SWEEP + "--vary hand.fingerz[*].x=1,2", "hand.fingerz[*].x"),
        (SWEEP + "--vary contact.friction=0.1:0.2", "axes[0].steps"),
        (SWEEP + "--sample latin --vary object.density=1:2", "samples"),
        (SWEEP + "--density 1,2 --shard 3/2", "--shard"),
        (SWEEP + "--density 300,light", "--density"),
        (SWEEP + "--density 300,0", "--density"),
        (PLAN + "--rank-by epsilon", "rank_by"),
        (PLAN + "--rank-by final_force_N", "best"),
        (PLAN + "--rank-by perturbation --criterion hold", "rank_by"),
        (PLAN + "--preshape opne", "expected a preshape of hand 'four_finger'"),
        (PLAN + "--candidates 0", "candidates"),
        (PLAN + "--cone-deg 200", "--cone-deg"),
        (PLAN + "--roll-deg -1", "--roll-deg"),
        (PLAN + "--test shake", "no criterion 'shake'"),
        (SWEEP + "--density 1,2 --workers 0", "workers"),
        ("calibrate", "expected a problem, or --finger with --photos,"),
        ("calibrate paper00", "no problem 'paper00'"),
        ("calibrate paper000 --finger paper000", "expected a problem or --finger with"),
        ("calibrate paper000 --set gain=uniform", "--set gain=uniform"),
        ("calibrate paper000 --set force_objective=eq7", "force_objective"),
        (CALIBRATE, "found no measurements"),
        (CALIBRATE + "--hung gone.csv", "gone.csv"),
        (CALIBRATE + "--tilt steep --photos .", "--tilt"),
        (CALIBRATE + "--zero gone.png --photos .", "--zero"),
        (CALIBRATE + "--empty gone.png --photos .", "--empty"),
        (CALIBRATE + "--flip", "expected --photos with --flip, found none"),
        (CALIBRATE + "--board 6x9x25", "expected --camera with --board, found none"),
        ("convert four_finger hand.ucrdf", "hand.ucrdf"),
        ("convert four_finger hand.urdf --at kappa=1", "--discs, --at"),
        ("convert four_finger hand.xml --discs fixed", "--discs, --at"),
        ("convert strawberry it.xml", "strawberry"),
        ("convert soft_gripper hand.urdf", "hand 'soft_gripper'"),
        ("convert demo demo.xml --max-faces 200", "--max-faces"),
        ("convert paper004_power_sphere ball.wbt", "control_period"),
        (CONVERT + "arm.wbt", "arm.wbt"),
        (CONVERT + "arm.ucrdf --at kappa=1", "--discs, --at"),
        (CONVERT + "arm.urdf --at segmnt1:kappa=1", "--at"),
        (CONVERT + "arm.urdf --at kapa=1", "--at: 'segment1' has no 'kapa'"),
        (CONVERT + "arm.urdf --at kappa=one", "--at"),
        (CONVERT + "arm.urdf --at straight", "--at"),
        (CONVERT + "arm.urdf --at phi=2", "--at"),
        (CONVERT + "arm.urdf --at segment1:kappa=1,kappa=2", "--at"),
        (CONVERT + "arm.urdf --at l=0", "bendable 'segment1'"),
        (CONVERT + "arm.urdf --discs loose", "Invalid value for '--discs': 'loose' is not one of"),
        ("rerun nowhere", "nowhere/result.json"),
        ("new hand two words", "Got unexpected extra argument(s) (words)"),
        ("new hand 2fast", NEWLY),
        ("new hand a/b", NEWLY),
    ],
)  # fmt: skip
def test_other_verbs(words, sentence, run, tmp_path, golden):
    pytest.importorskip("pandas", reason="pandas is the extra 'sweep'")
    golden(refused(run, tmp_path, *words.split()), sentence)


def test_no_verb_shows_what_there_is(run):
    ran = run()
    assert ran.code == 2
    assert ran.out == ""
    assert "Simulate:" in ran.err


def test_opengl_that_is_requested_and_missing(run, tmp_path, monkeypatch):
    from softgrasp.rendering import renderer as gl

    monkeypatch.setattr(gl, "gl_available", lambda kind: False)
    result = refused(run, tmp_path, "grasp", "four_finger", "sphere", "--renderer", "gl", code=3)
    assert (
        result
        == "renderer: expected OpenGL, no OpenGL on this host; for the faster renderer: "
        + gl.INSTALL_COMMAND
    )
