"""Soft fingers in YAML files: round trips, and what is refused."""

import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import softgrasp as sg
from softgrasp import assets
from softgrasp.io.hand import hand_from, hand_yaml, load_finger, save_finger

numbers = st.floats(-1e3, 1e3)
positive = st.floats(1e-6, 1e4)  # lengths, too: up to 10 km


@st.composite
def fingers(draw: st.DrawFn) -> sg.SoftFinger:
    """Any finger."""
    positions = sorted(draw(st.lists(st.floats(-1.0, 1.0), min_size=1, max_size=5, unique=True)))
    joints = [
        sg.description.SoftJoint(
            position=(x, draw(numbers), draw(numbers)),
            stiffness=draw(positive),
            damping=draw(st.floats(0.0, 1e3)),
            pressure_gain=draw(numbers),
        )
        for x in positions
    ]
    links = [
        sg.description.SoftLink(
            center=draw(st.tuples(numbers, numbers, numbers)),
            mass=draw(positive),
            size=draw(st.tuples(positive, positive, positive)),
        )
        for _ in range(len(positions) + 1)
    ]
    return sg.SoftFinger(
        name=draw(st.text(min_size=1, max_size=20).filter(str.isprintable)),
        joints=tuple(joints),
        links=tuple(links),
        tip=draw(st.tuples(numbers, numbers, numbers)),
        planar=draw(st.booleans()),
        source=draw(st.text(max_size=20)),
    )


@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(finger=fingers())
def test_a_finger_comes_back_equal(finger, tmp_path):
    assert load_finger(save_finger(finger, tmp_path / "finger.yaml")) == finger


@pytest.mark.parametrize("mark", ["\x85", "\u2028", "\u2029", "a\nb", " ", "#", "'", '"'])
def test_odd_words_come_back_equal(mark, tmp_path):
    finger = load_finger("paper000").replace(source=mark)
    assert load_finger(save_finger(finger, tmp_path / "deep" / "finger.yml")) == finger


def test_what_is_usual_is_not_written(tmp_path):
    finger = sg.rld.discretise(0.1, 2e-3, 0.02, 1)
    text = save_finger(finger, tmp_path / "finger.yaml").read_text("utf-8")
    assert "joints:\n  - position: [0.05, 0.0, 0.0]\n    stiffness: 0.02\n" in text
    for word in ("damping", "pressure_gain", "planar", "source", "name"):
        assert word not in text


def test_only_yaml_is_written(tmp_path, golden):
    finger = sg.rld.discretise(0.1, 2e-3, 0.02)
    path = tmp_path / "finger.json"
    golden.refused(lambda: save_finger(finger, path), "path: expected a .yaml file, found '")
    assert not path.exists()


def test_a_path_that_cannot_be_written_is_reported(tmp_path):
    (tmp_path / "file").write_text("", encoding="utf-8")
    with pytest.raises(sg.ResultError, match="expected a writable path"):
        save_finger(sg.rld.discretise(0.1, 2e-3, 0.02), tmp_path / "file" / "finger.yaml")


# Hands in YAML: units, defaults, base frames, and one sentence for every mistake.


HAND = """\
name: pair
convention: standard
units: {length: mm, angle: deg}
defaults: {radius: 8, density: 1200}
fingers:
  - name: left
    base: {position: [-30, 0, 0], euler: [0, 90, 0]}
    phalanges:
      - {a: 40, limits: [-10, 90], start: 5}
      - {a: 30, theta: 20}
  - name: right
    base:
      - [0, -1, 0, 30]
      - [0, 0, 1, 0]
      - [-1, 0, 0, 0]
    phalanges:
      - {a: 40}
      - {a: 30}
grasps:
  power: {center: [0, 0, -50], rates: 90}
  precision: {center: [0, 0, -60], rates: [90, 9], start: [5, 0, 5, 0]}
"""
MATRIX = "[0, -1, 0, 30]\n      - [0, 0, 1, 0]\n      - [-1, 0, 0, 0]"


def written(directory: Path, text: str) -> Path:
    path = directory / "hand.yaml"
    path.write_text(text, encoding="utf-8")
    return path


def read(directory: Path, text: str) -> sg.Hand:
    return sg.load_hand(written(directory, text))


def refusal(directory: Path, text: str) -> str:
    path = written(directory, text)
    with pytest.raises(sg.DescriptionError) as refused:
        sg.load_hand(path)
    return str(refused.value).replace(str(path), "hand.yaml")


def changed(old: str, new: str) -> str:
    assert HAND.count(old) >= 1, old
    return HAND.replace(old, new, 1)


def test_units_and_defaults_hold_for_every_field(tmp_path):
    hand = read(tmp_path, HAND)
    first, second = hand.fingers[0].phalanges
    assert (first.a, first.radius, first.density) == (0.04, 0.008, 1200)
    assert first.limits == pytest.approx((math.radians(-10), math.pi / 2))
    assert first.start == pytest.approx(math.radians(5))
    assert second.theta == pytest.approx(math.radians(20))
    assert second.limits == (0.0, math.pi / 2)
    assert [row.name for row in hand.joints] == ["P1", "P2"] * 2
    assert [row.joint_name for row in hand.joints] == ["J1", "J2"] * 2
    assert hand.fingers[0].base.position == (-0.03, 0, 0)
    assert {finger.convention for finger in hand.fingers} == {"standard"}


def test_rates_and_start_postures_are_angles(tmp_path):
    grasps = read(tmp_path, HAND).grasps
    assert grasps.power.rates.for_fingers((2, 2)) == pytest.approx([math.pi / 2] * 4)
    assert grasps.precision.rates == pytest.approx((math.pi / 2, math.pi / 20))
    assert grasps.precision.start == pytest.approx((math.radians(5), 0, math.radians(5), 0))


def test_numbers_without_a_units_header_are_si(tmp_path):
    text = HAND.replace("units: {length: mm, angle: deg}\n", "").replace("[-10, 90]", "[-1, 1]")
    text = text.replace("start: 5", "start: 0.5").replace("[5, 0, 5, 0]", "[0.5, 0, 0.5, 0]")
    hand = read(tmp_path, text)
    assert hand.joints[0].a == 40.0
    assert hand.joints[0].start == 0.5


def test_a_prismatic_joint_is_measured_in_the_unit_of_length(tmp_path):
    slide = "{a: 30, joint: prismatic, limits: [0, 25], start: 5}"
    text = HAND.replace("{a: 30, theta: 20}", slide).replace(
        "      - {a: 30}\n", f"      - {slide}\n"
    )
    hand = read(tmp_path, text.replace("[5, 0, 5, 0]", "[5, 2, 5, 2]"))
    assert hand.joints[1].limits == (0.0, 0.025)
    assert hand.joints[1].start == 0.005
    assert hand.grasps.precision.rates == pytest.approx((math.pi / 2, 0.009))
    assert hand.grasps.precision.start == pytest.approx((math.radians(5), 0.002) * 2)


def test_a_mass_replaces_the_default_density(tmp_path):
    row = read(tmp_path, changed("{a: 30, theta: 20}", "{a: 30, mass: 0.02}")).joints[1]
    assert (row.mass, row.density) == (0.02, None)


def test_a_finger_may_follow_another_convention(tmp_path):
    text = changed(
        "  - name: right\n", "  - name: right\n    convention: modified\n    tip: [30, 0, 0]\n"
    )
    left, right = read(tmp_path, text).fingers
    assert (left.convention, right.convention) == ("standard", "modified")
    assert right.tip == (0.03, 0, 0)


def test_shapes_of_phalanges_and_palm_stand_in_poses(tmp_path):
    shape = "shape: {type: capsule, radius: 7, length: 20}"
    pose = "shape_pose: {position: [9, 0, 0], euler: [0, 90, 0]}"
    palm = "kind: shape, shape: {type: cuboid, size: [80, 40, 10]}, pose: {position: [0, 0, 5]}"
    text = changed("{a: 30, theta: 20}", f"{{a: 30, {shape}, {pose}}}")
    hand = read(tmp_path, f"{text}palm: {{{palm}}}\n")
    row = hand.joints[1]
    assert row.shape == sg.description.Capsule(radius=0.007, length=0.02)
    assert row.shape_pose.position == pytest.approx((0.009, 0, 0))
    assert row.shape_pose.quaternion == pytest.approx((math.sqrt(0.5), 0, math.sqrt(0.5), 0))
    assert hand.palm.shape == sg.Cuboid(size=(0.08, 0.04, 0.01))
    assert hand.palm.pose.position == (0, 0, 0.005)


def test_euler_angles_quaternions_and_matrices_agree(tmp_path):
    rotated = [
        "{position: [30, 0, 0], euler: [-90, 90, 0]}",
        "{position: [30, 0, 0], quaternion: [0.5, -0.5, 0.5, 0.5]}",
        f"\n      - {MATRIX}",
        f"\n      - {MATRIX}\n      - [0, 0, 0, 1]",
    ]
    hands = [read(tmp_path, changed(f"\n      - {MATRIX}", f" {base}")) for base in rotated]
    for hand in hands:
        assert hand.fingers[1].base.position == (0.03, 0, 0)
        assert hand.fingers[1].base.quaternion == pytest.approx((0.5, -0.5, 0.5, 0.5))


MISTAKES = {
    "reflection": (changed("[-1, 0, 0, 0]", "[1, 0, 0, 0]"), "12: finger 'right': base"),
    "not orthonormal": (changed("[0, -1, 0, 30]", "[0, -1.001, 0, 30]"),
     "12: finger 'right': base"),
    "NaN in the matrix": (changed("[-1, 0, 0, 0]", "[-1, 0, 0, .nan]"), "12: finger 'right': base"),
    "words in the matrix": (changed("[-1, 0, 0, 0]", "[-1, 0, 0, up]"), "12: finger 'right': base"),
    "last row of the matrix": (changed(MATRIX, f"{MATRIX}\n      - [0, 0, 0, 2]"),
     "12: finger 'right': base"),
    "limits": (changed("limits: [-10, 90]", "limits: [0, -30]"),
     "9: fingers[0].phalanges[0].limits"),
    "start": (changed("start: 5}", "start: 95}"), "9: fingers[0].phalanges[0].start"),
    "finger twice": (changed("name: right", "name: left"), "11: fingers[1]"),
    "phalanx twice": (changed("{a: 40}\n      - {a: 30}", "{a: 40, name: P2}\n      - {a: 30}"),
     "18: fingers[1].phalanges[1]"),
    "no convention": (changed("convention: standard\n", ""), "5: fingers[0].convention"),
    "unknown convention": (changed("convention: standard", "convention: craig"), "2: convention"),
    "no phalanx": (changed("      - {a: 40}\n      - {a: 30}\n", "      []\n"),
     "16: fingers[1].phalanges"),
    "no finger": (HAND[: HAND.index("fingers:")] + "fingers: []\n" + HAND[HAND.index("grasps:") :],
     "5: fingers"),
    "only rows of zero length": (changed("{a: 40}\n      - {a: 30}",
     "{alpha: 90}\n      - {alpha: -90}"), "11: fingers[1]"),
    "negative radius": (changed("{a: 40}", "{a: 40, radius: -8}"),
     "17: fingers[1].phalanges[0].radius"),
    "radius zero in the defaults": (changed("radius: 8", "radius: 0"), "4: defaults.radius"),
    "infinite length": (changed("{a: 40}", "{a: .inf}"), "17: fingers[1].phalanges[0].a"),
    "mass and density": (changed("{a: 40}", "{a: 40, mass: 0.1, density: 1200}"),
     "17: fingers[1].phalanges[0]"),
    "no density": (changed(", density: 1200", ""), "9: fingers[0].phalanges[0]"),
    "misspelt key of a phalanx": (changed("theta: 20", "thetta: 20"),
     "10: fingers[0].phalanges[1].thetta"),
    "misspelt key of a finger": (changed("    base: {", "    bsae: {"), "7: fingers[0].bsae"),
    "misspelt key of the hand": (changed("grasps:", "grapss:"), "19: grapss"),
    "misspelt default": (changed("radius: 8", "radus: 8"), "4: defaults.radus"),
    "misspelt key of a base": (changed("euler: [0, 90, 0]", "eular: [0, 90, 0]"),
     "7: finger 'left': base.eular"),
    "euler": (changed("euler: [0, 90, 0]", "euler: [0, 90]"), "7: finger 'left': base.euler"),
    "euler and quaternion": (changed("euler: [0, 90, 0]",
     "euler: [0, 90, 0], quaternion: [1, 0, 0, 0]"), "7: finger 'left': base"),
    "quaternion of zeros": (changed("euler: [0, 90, 0]", "quaternion: [0, 0, 0, 0]"),
     "7: fingers[0].base.quaternion"),
    "unit of length": (changed("length: mm", "length: millimetre"), "3: units.length"),
    "unit of angle": (changed("angle: deg", "angle: degr"), "3: units.angle"),
    "defaults": (changed("defaults: {radius: 8, density: 1200}", "defaults: 8"), "4: defaults"),
    "number of rates": (changed("rates: [90, 9]", "rates: [90, 9, 9]"),
     "21: grasps.precision.rates"),
    "number of starts": (changed("start: [5, 0, 5, 0]", "start: [5, 0]"),
     "21: grasps.precision.start"),
    "start posture beyond a limit": (changed("start: [5, 0, 5, 0]", "start: [5, 0, 5, 95]"),
     "21: grasps.precision.start[3]"),
    "one grasp": (changed("  power: {center: [0, 0, -50], rates: 90}\n", ""), "19: grasps.power"),
    "palm": (HAND + "palm: {kind: shape}\n", "22: palm"),
    "tip with standard": (changed("  - name: right\n", "  - name: right\n    tip: [30, 0, 0]\n"),
     "12: fingers[1].tip"),
}  # fmt: skip


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_is_one_sentence_with_file_line_and_field(tmp_path, mistake, golden):
    text, part = MISTAKES[mistake]
    golden(refusal(tmp_path, text), f"hand.yaml:{part}")


def test_a_base_frame_that_is_only_rounded_is_repaired_and_reported(tmp_path):
    text = changed("[0, -1, 0, 30]", "[0, -1.00002, 0, 30]")
    with pytest.warns(sg.SoftgraspWarning) as caught:
        hand = read(tmp_path, text)
    assert [str(warning.message) for warning in caught] == [
        "finger 'right': the base frame is off orthonormal by 4e-05 and was made orthonormal"
    ]
    assert np.linalg.norm(hand.fingers[1].base.quaternion) == pytest.approx(1.0, abs=1e-15)


@settings(max_examples=30, deadline=None)
@given(st.floats(1.1e-4, 0.3), st.integers(0, 2), st.integers(0, 2))
def test_frames_are_refused_or_repaired_by_how_far_they_are_off(error, row, column):
    """Nothing between a refusal and a rotation: off by more than 1e-4 never gets in."""
    matrix = [[0, -1, 0, 30], [0, 0, 1, 0], [-1, 0, 0, 0]]
    tree = {
        "name": "pair",
        "fingers": [
            {
                "name": "f",
                "convention": "standard",
                "base": [list(line) for line in matrix],
                "phalanges": [{"a": 1.0, "density": 1000}],
            }
        ],
        "grasps": {k: {"center": [0, 0, 0], "rates": 1} for k in ("power", "precision")},
    }
    tree["fingers"][0]["base"][row][column] += error
    with pytest.raises(sg.DescriptionError, match="finger 'f': base: expected"):
        hand_from(tree)


# Hands as YAML: what is written reads back as the equal hand.


@pytest.mark.parametrize("name", assets.names("hands"))
def test_a_shipped_hand_reads_back_equal(name, tmp_path):
    hand = sg.load_hand(name)
    assert sg.load_hand(sg.io.save_hand(hand, tmp_path / "hand.yaml")) == hand


@settings(max_examples=25)
@given(
    rows=st.lists(
        st.tuples(
            st.floats(0.01, 0.1),
            st.floats(-3.0, 3.0),
            st.sampled_from(["revolute", "prismatic"]),
            st.booleans(),
            st.sampled_from(["", "tip", "no", "1.5", "a: b", "# c"]),
        ),
        min_size=1,
        max_size=4,
    ),
    rate=st.floats(0.001, 2.0),
    source=st.text(max_size=20),
)
def test_any_hand_reads_back_equal(rows, rate, source, tmp_path_factory):
    weights = [{"mass": 0.1}, {"density": 900.0}]
    phalanges = tuple(
        sg.description.Phalanx(a=a, theta=theta, joint=joint, radius=0.004, **weights[heavy])
        for a, theta, joint, heavy, _ in rows
    )
    base = sg.Pose(position=(0.1, 0.0, 1 / 3), quaternion=(1.0, 0.2, 0.3, 0.4))
    finger = sg.description.Finger(name="F", base=base, convention="standard", phalanges=phalanges)
    preset = sg.description.GraspPreset(center=(0, 0, 0.1), rates=rate)
    hand = sg.Hand(
        name="any hand",
        fingers=(finger,),
        grasps=sg.description.Grasps(power=preset, precision=preset),
        source=source,
        notes=tuple(note for *_, note in rows),
    )
    directory = tmp_path_factory.mktemp("hand")
    assert sg.load_hand(sg.io.save_hand(hand, directory / "hand.yaml")) == hand


def test_a_hand_with_a_mesh_and_modified_rows_reads_back_equal(tmp_path):
    mesh = sg.Mesh(file=assets.portable_name(assets.root() / "objects/meshes/strawberry.obj"))
    row = sg.description.Phalanx(
        shape=mesh, shape_pose=sg.Pose(position=(0.0, 0.1, 0.2)), density=500.0
    )
    finger = sg.description.Finger(
        name="F", convention="modified", phalanges=(row,), tip=(0.05, 0.0, 0.01)
    )
    preset = sg.description.GraspPreset(center=(0, 0, 0), rates=(1.0,), start=(0.2,))
    palm = sg.description.Palm(kind="shape", shape=sg.description.Ellipsoid(radii=(0.1, 0.1, 0.02)))
    grasps = sg.description.Grasps(power=preset, precision=preset)
    hand = sg.Hand(name="berry", fingers=(finger,), grasps=grasps, palm=palm)
    assert sg.load_hand(sg.io.save_hand(hand, tmp_path / "hand.yaml")) == hand


def test_what_all_rows_have_in_common_stands_once():
    text = hand_yaml(sg.load_hand("four_finger"))
    assert text.count("convention: standard") == 1
    assert text.count("density") == 1
    assert "name: P1" not in text
