"""The mesh of a soft finger on the command line: check, hands in all verbs, parsers."""

from pathlib import Path

import numpy as np
import pytest
import trimesh
import typer

import softgrasp as sg
from softgrasp.cli.options import SceneOptions, base_of, valleys_of
from softgrasp.cli.plan import _plan_of
from softgrasp.cli.sweep import plan_of
from softgrasp.cli.view import hand_choices
from softgrasp.io.soft_finger.finger import slice_finger
from tests.conftest import files_in
from tests.support.hollow_finger import hollow_finger

QUIET = pytest.mark.filterwarnings("ignore::softgrasp.SoftgraspWarning")


@pytest.fixture(autouse=True)
def finger(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A hollow finger of 80 mm with seven valleys, in millimetres."""
    monkeypatch.chdir(tmp_path)
    mesh = hollow_finger()
    mesh.apply_scale(1e3)
    mesh.export("finger.stl")
    return tmp_path / "finger.stl"


@pytest.mark.slow
def test_check_reports_how_a_finger_is_read(run):
    ran = run("check", "finger.stl", "--finger", "--units", "mm", "--out", "o", "--json")
    assert ran.code == 0, ran.err
    assert ran.json["kind"] == "finger"
    assert ran.json["valleys"] == len(ran.json["joint_stiffness_N_m_rad"]) == 7
    assert ran.json["size_m"] == pytest.approx([0.08, 0.02, 0.022], rel=1e-6)
    (remark,) = ran.json["remarks"]
    assert remark.startswith("finger 'finger': expected an unambiguous mesh, found both ends look")
    assert "--base end" in remark
    assert files_in(Path("o")) == ["check.json", "finger.csv", "finger.png"]
    with_base = run("check", "finger.stl", "--finger", "--units", "mm", "--base", "end", "--json")
    assert with_base.json["remarks"] == []
    assert with_base.json["axis"] == pytest.approx([-1.0, 0.0, 0.0], abs=1e-6)


@pytest.mark.slow
@QUIET
def test_what_check_measures_are_the_numbers_of_the_mesh(run):
    words = ("--units", "mm", "--base", "start", "--json")
    soft, stiff = (
        run("check", "finger.stl", "--finger", "--youngs-modulus", young, *words).json
        for young in ("0.7MPa", "1.4MPa")
    )
    sliced = slice_finger("finger.stl", units="mm", base="start")
    volume = -trimesh.util.concatenate(hollow_finger().split()[1:]).volume
    assert soft["chambers"]["volume_m3"] == pytest.approx(abs(volume), rel=0.02)
    moment = np.trapezoid(sliced.chamber_moments, sliced.positions)
    chambers = soft["chambers"]
    assert chambers["lever_m"] * chambers["volume_m3"] == pytest.approx(moment, rel=1e-9)
    gains, twice = (np.array(item["joint_stiffness_N_m_rad"]) for item in (soft, stiff))
    np.testing.assert_allclose(twice, 2.0 * gains)
    assert soft["free_bending_rad_Pa"] == pytest.approx(2.0 * stiff["free_bending_rad_Pa"])


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (("--valleys", "5"), "expected 5 valleys deeper than others, found 7"),
        (("--up", "0", "0", "-1"), "--up"),
    ],
)
def test_refusals_are_problems_that_name_an_option(words, problem, run):
    ran = run("check", "finger.stl", "--finger", "--units", "mm", *words, "--json")
    assert ran.code == 1
    assert problem in ran.json["problems"][0]
    assert "--" in ran.json["problems"][0]


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ("check finger.stl --valleys 7", "--valleys"),
        ("check four_finger --finger", "--finger"),
        ("check finger.stl --finger --cells 0", "finger.stl: cells"),
        ("grasp four_finger_sphere --fingers 3", "--fingers"),
        ("grasp soft_gripper sphere --base end", "--base"),
        ("plan soft_gripper sphere --youngs-modulus 1MPa", "--youngs-modulus"),
        (
            "sweep finger.stl sphere --repeats 2",
            "finger.stl: the mesh of a finger makes a hand with",
        ),
        ("view finger.stl --fingers 3", "--fingers"),
        ("view finger.stl sphere", "finger.stl"),
    ],
)
def test_options_that_do_not_fit(words, sentence, run, golden):
    ran = run(*words.split())
    assert ran.code == 2
    golden(ran.err.splitlines()[-1], sentence)


@pytest.mark.slow
@QUIET
def test_all_verbs_make_the_hand_that_grasp_makes():
    options = SceneOptions(fingers=2, pressure=5e4, units="mm", base="end", valleys=7)
    swept = plan_of(
        "finger.stl", "sphere", options, None, [], repeats=2, method="grid", samples=None, seed=0,
        quality=False, noise=sg.description.PoseNoise(position=1e-3),
    )  # fmt: skip
    planned = _plan_of(
        "finger.stl", "sphere", options, None, method="poses", candidates=2, preshapes=()
    )
    choices, make_scene = hand_choices("finger.stl", "sphere", options)
    hands = [swept.scene.hand, planned.scene.hand, make_scene(choices).hand]
    assert hands[0] == hands[1] == hands[2]
    assert len(hands[0].soft_fingers) == 2
    assert choices.command == (
        "softgrasp grasp finger.stl sphere --units mm --fingers 2 --pressure 50000 --valleys 7 "
        "--base end --hold"
    )
    other = make_scene(choices.replace(hand="soft_gripper"))  # selected on the page
    assert other.hand.name == "soft_gripper"


@pytest.mark.parametrize(
    ("text", "value"),
    [("5", 5), (" 7 ", 7), ("0.01,0.02", (0.01, 0.02)), ("12mm,2.4cm", (0.012, 0.024)),
     ("1in", (0.0254,)), ("0.1dm, 0.2m", (0.01, 0.2))],
)  # fmt: skip
def test_valleys_are_a_number_or_positions(text, value):
    assert valleys_of(text) == pytest.approx(value)
    assert valleys_of(value) == value  # what is read already stays


@pytest.mark.parametrize("text", ["", "many", "1mm;2mm", "5kPa", "1mm,"])
def test_other_valleys_are_refused(text):
    with pytest.raises(typer.BadParameter, match="expected a number of valleys, or positions"):
        valleys_of(text)


@pytest.mark.parametrize(
    ("text", "value"),
    [("start", "start"), ("end", "end"), ("auto", "auto"), ("0,0.5,-1e-2", (0.0, 0.5, -0.01))],
)
def test_a_base_is_an_end_or_a_point(text, value):
    assert base_of(text) == value
    assert base_of(value) == value


@pytest.mark.parametrize("text", ["tip", "1,2", "1,2,3,4", "a,b,c", ""])
def test_other_bases_are_refused(text):
    with pytest.raises(typer.BadParameter, match="expected start, end, auto or a point"):
        base_of(text)
