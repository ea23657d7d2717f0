"""Every mistake gets one clear sentence and exit code 2, and leaves no file."""

from __future__ import annotations

from pathlib import Path

import pytest

from softgrasp import assets
from softgrasp.description.finger import Phalanx
from softgrasp.io.files import template
from tests.conftest import QUICK, Run, files_in
from tests.support.fields import fields

HANDS, OBJECTS = ", ".join(assets.names("hands")), ", ".join(assets.names("objects"))
HAND, OBJECT = template("hand", "mine"), template("object", "mine")
PHALANX_FIELDS = fields(Phalanx)


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
        (
            "four_fingr sphere",
            f"no hand 'four_fingr'; did you mean 'four_finger'? known: {HANDS}",
        ),
        (
            "sphere four_finger",
            "expected HAND OBJECT, found the object 'sphere' and the hand 'four_finger'; exchange "
            "them: four_finger sphere",
        ),
        (
            "four_finger strawberry --video-size 1280",
            "--video-size: expected width and height such as 1280x720, found '1280'",
        ),
        (
            "four_finger strawberry --video-size 10x9000",
            "--video-size: expected 64 to 4096 pixels each, found '10x9000'",
        ),
        (
            "four_finger strawbery",
            f"no object 'strawbery'; did you mean 'strawberry'? known: {OBJECTS}",
        ),
        (
            "four_finger",
            "expected HAND OBJECT or a SCENE, found only the hand 'four_finger'; name an object "
            "too, as in: softgrasp grasp four_finger strawberry",
        ),
        (
            "sphere",
            "expected HAND OBJECT or a SCENE, found only the object 'sphere'; name a hand too, as "
            "in: softgrasp grasp four_finger strawberry",
        ),
        ("four_finger sphere --duration -1", "duration: expected a number above 0, found -1.0"),
        ("four_finger sphere --duration nan", "duration: expected a finite number, found nan"),
        ("four_finger sphere --density 0", "density: expected a number above 0, found 0.0"),
        ("four_finger sphere --mass inf", "mass: expected a finite number, found inf"),
        (
            "four_finger sphere --mass 1 --density 700",
            "--mass, --density: expected one of them, found both",
        ),
        (
            "four_finger sphere --friction -1",
            "contact.static_friction: expected a number at least 0, found -1.0",
        ),
        (
            "four_finger sphere --timestep 0.002",
            "timestep: expected at most D/(2K) = 0.0015 s for a contact of 100000 N/m with 300 "
            "N·s/m, found 0.002 s; use 0.001 s, or allow a softer contact (allow_softer_contact, "
            "--allow-softer-contact)",
        ),
        (
            "four_finger sphere --position 0 0 -0.02",
            "object_position: expected an object that starts clear of the hand, found 'sphere' "
            "16.00 mm inside palm",
        ),
        (
            "four_finger sphere --require-held",
            "--require-held: expected a scene with a hold test or a lift, found none; add --hold",
        ),
        (
            "four_finger sphere --backend odd",
            "no backend 'odd'; did you mean 'ode'? known: mujoco, ode, warp, webots",
        ),
        (
            "four_finger sphere --closure magnet",
            "no closure 'magnet'; known: force-limited, joint-torque, position-increment, "
            "pressure, synergy-increment, underactuated",
        ),
        (
            "four_finger sphere --units mm",
            "--units: expected a mesh file as the object or a robot file as the hand, found none",
        ),
        (
            "four_finger sphere --set contact.dampin=5",
            "contact.dampin: no such field; did you mean 'damping'? known: critical_velocity, "
            "damping, dynamic_friction, model, native, patch, rolling_friction, static_friction, "
            "stiffness, "
            "torsional_friction",
        ),
        (
            "four_finger sphere --set hand=four_fingr",
            f"no hand 'four_fingr'; did you mean 'four_finger'? known: {HANDS}",
        ),
        (
            "four_finger sphere --contact-damping 0",
            "contact.damping: expected a number above 0, found 0.0",
        ),
        (
            "four_finger sphere --density 1e300",
            "density: expected a number at most 1e+15, found 1e+300",
        ),
        (
            "four_finger sphere --density 1e-30",
            "four_finger with sphere: 'object': expected a body that MuJoCo can move (mass and "
            "moments of inertia above 1e-15 kg and kg·m²), found a smaller one; give it more "
            "mass, or a larger size",
        ),
        (
            "four_finger sphere --set contact.damping",
            "--set: expected FIELD=VALUE such as contact.damping=500, found 'contact.damping'",
        ),
        (
            "four_finger sphere --set hand.fingers[4].name=F9",
            "hand.fingers: expected an item from [0] to [3], found [4]",
        ),
        (
            "four_finger sphere --densty 3",
            "No such option: --densty (Possible options: --density, --sensor, --set)",
        ),
        ("gone.yaml sphere", "gone.yaml: expected a readable YAML file, found: no such file"),
    ],
)  # fmt: skip
def test_words(words: str, sentence: str, run: Run, tmp_path: Path) -> None:
    assert refused(run, tmp_path, "grasp", *words.split(), *QUICK) == sentence


@pytest.mark.parametrize(
    ("old", "new", "sentence"),
    [
        (
            "convention: standard",
            "convention: [standard",
            "hand.yaml:8: expected YAML, found: while parsing a flow sequence, expected ',' or "
            "']', but got ':'",
        ),
        (
            "radius: 8",
            "radus: 8",
            "hand.yaml:12: defaults.radus: no such field; did you mean 'radius'? known: "
            + PHALANX_FIELDS,
        ),
        (
            "length: mm",
            "length: mn",
            "hand.yaml:8: units.length: no unit of length 'mn'; did you mean 'm'? known: cm, dm, "
            "in, m, mm",
        ),
        ("radius: 8", "radius: 0", "hand.yaml:12: defaults.radius: expected a number above 0, "
         "found 0.0"),
        ("density: 1200", "density: -5", "hand.yaml:13: defaults.density: expected a number above "
         "0, found -5"),
        (
            "density: 1200",
            "density: 1200\n  mass: 0.1",
            "hand.yaml:30: fingers[0].phalanges[0]: expected exactly one of mass and density, "
            "found both",
        ),
        ("a: 30", "a: .nan", "hand.yaml:30: fingers[0].phalanges[1].a: expected a finite number, "
         "found nan"),
        ("force_limit: 1.2", "force_limit: .inf", "hand.yaml:15: defaults.force_limit: expected a "
         "finite number, found inf"),
        (
            "phalanges: *finger",
            "phalanges: none",
            "hand.yaml:44: fingers[2].phalanges: expected a list of phalanges, found 'none'",
        ),
        (
            "a: 30",
            f"a: {'9' * 400}",
            "hand.yaml:30: fingers[0].phalanges[1].a: expected a finite number, found inf",
        ),
        (
            "phalanges: *finger",
            "phalanges: []",
            "hand.yaml:44: fingers[2].phalanges: expected at least one phalanx, found none",
        ),
        ("name: F2", "name: F1", "hand.yaml:31: fingers[1]: expected unique names, found "
         "finger name 'F1' twice"),
        (
            "convention: standard\n",
            "",
            "hand.yaml:20: fingers[0].convention: this field is missing; "
            "expected standard, modified or placed",
        ),
        (
            "      - [0, -1, 0, 40]",
            "      - [0, 1, 0, 40]",
            "hand.yaml:23: finger 'F1': base: expected a rotation, found a reflection (determinant "
            "-1.000); flip one axis, and a second one to match",
        ),
    ],
)  # fmt: skip
def test_hand_files(old: str, new: str, sentence: str, run: Run, tmp_path: Path) -> None:
    assert old in HAND
    (tmp_path / "hand.yaml").write_text(HAND.replace(old, new, 1), encoding="utf-8")
    result = refused(run, tmp_path, "grasp", "hand.yaml", "sphere", *QUICK)
    assert result == sentence


@pytest.mark.parametrize(
    ("old", "new", "sentence"),
    [
        ("radius: 25", "radius: -25", "thing.yaml:7: shape.radius: expected a number above 0, "
         "found -25"),
        ("density: 700", "mass: 0", "thing.yaml:10: mass: expected a number above 0, found 0"),
        ("density: 700", "", "thing.yaml: expected exactly one of mass and density, found neither"),
        ("density: 700", "density: 700\nmass: 1", "thing.yaml: expected exactly one of mass and "
         "density, found both"),
        (
            "name: mine",
            "name: mine\nname: other",
            'thing.yaml:3: expected YAML, found: while constructing a mapping, found duplicate key '
            '"name" with value "other" (original value: "mine")',
        ),
    ],
)  # fmt: skip
def test_object_files(old: str, new: str, sentence: str, run: Run, tmp_path: Path) -> None:
    assert old in OBJECT
    (tmp_path / "thing.yaml").write_text(OBJECT.replace(old, new, 1), encoding="utf-8")
    assert refused(run, tmp_path, "grasp", "four_finger", "thing.yaml", *QUICK) == sentence


@pytest.mark.parametrize("text", ["- 1\n- 2\n", "just words\n", "", "unknown: 1\n"])
def test_files_that_are_nothing_we_know(text: str, run: Run, tmp_path: Path) -> None:
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


@pytest.mark.parametrize(
    ("name", "text", "sentence"),
    [
        ("empty.stl", "", "expected a mesh, found an empty file (0 bytes)"),
        (
            "flat.obj",
            "v 0 0 0\nv .03 0 0\nv 0 .03 0\nv .03 .03 0\nf 1 2 3\nf 2 4 3\n",
            "expected a solid, found a flat mesh of 30 x 30 x 0 mm",
        ),
        (
            "nan.obj",
            "v 0 0 0\nv nan 0 0\nv 0 .03 0\nv 0 0 .03\nf 1 3 2\nf 1 2 4\nf 1 4 3\nf 2 3 4\n",
            "expected finite coordinates, found NaN or inf in 1 of 4 vertices",
        ),
    ],
)
def test_mesh_files(name: str, text: str, sentence: str, run: Run, tmp_path: Path) -> None:
    file = tmp_path / name
    file.write_text(text, encoding="utf-8")
    result = refused(run, tmp_path, "grasp", "four_finger", name, "--density", "700", *QUICK)
    assert result == f"{file}: {sentence}"


@pytest.mark.parametrize("weight", [(), ("--mass", "0.1")])
def test_a_missing_mesh_file(weight: tuple[str, ...], run: Run, tmp_path: Path) -> None:
    result = refused(run, tmp_path, "grasp", "four_finger", "no.stl", *weight, *QUICK)
    assert result == f"{tmp_path / 'no.stl'}: expected a mesh file, found no such file"


def test_a_mesh_file_without_a_mass(run: Run, tmp_path: Path) -> None:
    (tmp_path / "cube.obj").write_text(CUBE, encoding="utf-8")
    result = refused(run, tmp_path, "grasp", "four_finger", "cube.obj", *QUICK)
    assert result == (
        "cube.obj: a mesh file needs --mass or --density, found neither; for instance "
        "--density 1200 [kg/m³]"
    )


def test_a_step_file_gets_the_conversion(run: Run, tmp_path: Path) -> None:
    result = refused(run, tmp_path, "grasp", "four_finger", "cup.step", *QUICK)
    assert "found a CAD file; convert it first" in result
    assert "gmsh cup.step -2 -o cup.stl" in result


def test_a_mesh_a_thousand_times_too_large_is_reported_with_a_guess(
    run: Run, tmp_path: Path
) -> None:
    (tmp_path / "cube.obj").write_text(CUBE, encoding="utf-8")
    ran = run("grasp", "four_finger", "cube.obj", "--density", "700", *QUICK)
    assert ran.code == 2
    assert ran.err.splitlines()[0] == (
        "softgrasp: warning: cube.obj: the largest extent is 40 m, more than 2 m; is the file in "
        "mm? With `units: mm` (--units mm) it is 40 mm"
    )
    cured = run(
        "grasp", "four_finger", "cube.obj", "--density", "700", "--units", "mm", *QUICK,
        "--duration", "0.02",
    )  # fmt: skip
    assert "outcome   TIMED_OUT" in cured.out
    assert "the largest extent" not in cured.err


def test_a_directory_that_cannot_be_written(run: Run, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("", encoding="utf-8")
    result = refused(run, tmp_path, "grasp", "four_finger", "sphere", "--out", "file/run", *QUICK)
    assert result == "file/run: expected a directory that can be written, found: Not a directory"
    assert refused(run, tmp_path, "demo", "--out", "file") == (
        "file: expected a directory that can be written, found: File exists"
    )


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ("grasp four_finger sphere --position 1 2", "Option '--position' requires 3 arguments."),
        ("demo sof", "no demonstration 'sof'; did you mean 'soft'? known: hydraulic, main, soft, "
         "twin"),
        ("bench sweep", "no benchmark 'sweep'; known: closure, startup"),
        ("gras", "No such command 'gras'. Did you mean 'grasp'?"),
        ("sweep four_finger sphere --vary contact.frictoin=0.1,0.2 --out s", "contact.frictoin: "
         "no such field; did you mean 'static_friction'? known: critical_velocity, damping, "
         "dynamic_friction, model, native, patch, rolling_friction, static_friction, stiffness, "
         "torsional_friction"),
        ("sweep four_finger sphere --density 300,light", "--density: expected numbers above 0 "
         "[kg/m³], found 'light'"),
        ("sweep four_finger sphere --density 300,0", "--density: expected numbers above 0 [kg/m³], "
         "found '0'"),
        ("sweep four_finger sphere --vary hand.fingerz[*].x=1,2", "hand.fingerz[*].x: expected a "
         "list before [*], found none"),
        ("grasp four_finger sphere --hand-euler-deg nan 0 0", "--hand-euler-deg: expected numbers, "
         "found nan"),
        ("sweep four_finger sphere --vary contact.friction=0.1:0.2", "axes[0].steps: expected the "
         "number of steps from low to high, found none; for example "
         "contact.friction=0.1:0.2:5"),
        ("convert four_finger hand.ucrdf", "hand.ucrdf: expected a file name ending in .xml, "
         ".urdf, .yaml or .wbt, found '.ucrdf'"),
        ("convert strawberry it.xml", "strawberry: expected a hand, a scene, a release, a robot or "
         "a result, found an object"),
        ("convert soft_gripper hand.urdf", "hand 'soft_gripper': expected rigid fingers only, as "
         "URDF has no springs and no pressures; found soft fingers 'F1', 'F2'"),
        ("convert four_finger hand.urdf --at kappa=1", "--discs, --at: expected a robot and a "
         "target ending in .urdf, found a hand and hand.urdf"),
        ("convert four_finger hand.xml --convention modified", "--convention: expected a hand and "
         "a target ending in .yaml, found a hand and hand.xml"),
        ("rerun nowhere", "nowhere/result.json: expected a result, found: no such file; "
         "softgrasp grasp writes one"),
        ("new hand two words", "Got unexpected extra argument(s) (words)"),
        ("new hand 2fast", "expected a name of letters, digits, _ and -, beginning with a letter, "
         "found '2fast'"),
        ("new hand a/b", "expected a name of letters, digits, _ and -, beginning with a letter, "
         "found 'a/b'"),
    ],
)  # fmt: skip
def test_other_verbs(words: str, sentence: str, run: Run, tmp_path: Path) -> None:
    assert refused(run, tmp_path, *words.split()) == sentence


def test_no_verb_shows_what_there_is(run: Run) -> None:
    ran = run()
    assert ran.code == 2
    assert ran.out == ""
    assert "Simulate:" in ran.err


def test_opengl_that_is_requested_and_missing(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from softgrasp.rendering import renderer as gl

    monkeypatch.setattr(gl, "gl_available", lambda kind: False)
    result = refused(run, tmp_path, "grasp", "four_finger", "sphere", "--renderer", "gl", code=3)
    assert (
        result
        == "renderer: expected OpenGL, no OpenGL on this host; for the faster renderer: "
        + gl.INSTALL_COMMAND
    )
