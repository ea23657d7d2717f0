"""Differences of MJCF files from what MuJoCo reads, each in a small hand."""

import math
import re
from pathlib import Path

import numpy as np
import pytest

import softgrasp as sg
from softgrasp.errors import SoftgraspWarning
from softgrasp.io.mjcf.model import read_model
from softgrasp.model.hand import build_hand_spec
from tests.support.mjcf_hands import LOOP, MOTORS, TENDON, written

QUIET = pytest.mark.filterwarnings("ignore::softgrasp.SoftgraspWarning")
SERVOS = re.sub("<motor (.*?) gear=.*/>", r'<position \1 kp="4"/>', MOTORS)


def messages_of(path: Path) -> list[str]:
    """Load a hand and return its warnings."""
    with pytest.warns(SoftgraspWarning) as caught:
        sg.load_hand(path)
    return [str(item.message) for item in caught]


@pytest.mark.slow
@QUIET
def test_unknown_attributes_and_elements_are_left_out_with_their_lines(tmp_path):
    text = SERVOS.replace("<worldbody>", '<option apirate="9"/><worldbody><glow size="1"/>', 1)
    messages = messages_of(written(tmp_path, text))
    left_out = "hand.xml: left out, as MuJoCo does not read it: "
    assert messages[0] == f"{left_out}attribute apirate of <option> (hand.xml:3)"
    assert messages[1] == f"{left_out}<glow> (hand.xml:3)"
    plain = sg.load_hand(written(tmp_path, SERVOS, "plain.xml"))
    assert sg.load_hand(tmp_path / "hand.xml").grasps == plain.grasps


def test_unknown_elements_of_included_files_have_the_lines_of_those_files(tmp_path):
    written(tmp_path, '<mujocoinclude>\n<option apirate="9"/>\n</mujocoinclude>', "more.xml")
    text = SERVOS.replace("<worldbody>", '<include file="more.xml"/><worldbody>', 1)
    assert messages_of(written(tmp_path, text))[0].endswith("<option> (more.xml:2)")


@QUIET
def test_a_file_may_be_included_by_several_links_but_not_twice(tmp_path):
    site = written(tmp_path, '<mujocoinclude><site pos="0 0 0.01"/></mujocoinclude>', "site.xml")
    (tmp_path / "same.xml").symlink_to(site)
    for second in ("same", "site"):
        includes = f'<include file="site.xml"/><include file="{second}.xml"/>'
        file = written(tmp_path, SERVOS.replace("<worldbody>", f"<worldbody>{includes}", 1))
        if second == "same":
            assert sg.load_hand(file).fingers
        else:
            with pytest.raises(sg.DescriptionError, match=r"once, found site\.xml again"):
                sg.load_hand(file)


def test_misspelt_elements_are_refused_with_their_line(tmp_path):
    file = written(tmp_path, SERVOS.replace('armature=".001"', 'armatur=".001"', 1))
    with pytest.raises(sg.DescriptionError, match="unrecognized attribute: 'armatur'") as refused:
        sg.load_hand(file)
    assert refused.value.line == 7


@pytest.mark.slow
@QUIET
@pytest.mark.parametrize("suffix", [".mjcf", ".MJCF"])
def test_files_may_end_in_mjcf(suffix, tmp_path):
    plain = sg.load_hand(written(tmp_path, TENDON))
    hand = sg.load_hand(written(tmp_path, TENDON, f"hand{suffix}"))
    assert hand.grasps == plain.grasps
    assert hand.model.actuators == plain.model.actuators


@pytest.mark.slow
@QUIET
def test_ranges_in_radians_without_a_stated_unit(tmp_path, golden):
    stated = sg.load_hand(written(tmp_path, SERVOS, "stated.xml"))
    file = written(tmp_path, SERVOS.replace('angle="radian" ', ""))
    golden(messages_of(file)[0], "hand.xml: its hinges have ranges up to 1 and its")
    hand = sg.load_hand(file)
    assert hand.fingers[0].phalanges[0].limits == (0.0, 1.0)
    assert hand.grasps == stated.grasps
    assert all(rate != 0.0 for rate in hand.grasps.power.rates)


@QUIET
@pytest.mark.parametrize("change", ['angle="degree" ', ""])
def test_degrees_stay_degrees(change, tmp_path):
    """A file that states its unit, and one whose ranges are too large for radians."""
    text = SERVOS.replace('angle="radian" ', change)
    text = text if change else text.replace('range="0 1"', 'range="0 60"')
    upper = read_model(written(tmp_path, text)).compiled.jnt_range[0, 1]
    assert upper == pytest.approx(math.radians(1.0 if change else 60.0))


def test_missing_visual_meshes_are_left_out(tmp_path, golden):
    extra = '<asset><mesh name="skin" file="skin.stl"/></asset><worldbody>'
    shown = '<inertial pos="0 0 0" mass=".1" diaginertia="1e-4 1e-4 1e-4"/><geom type="mesh" '
    shown += 'mesh="skin" contype="0" conaffinity="0"/><geom type="box" size=".05 .02 .01"/>'
    text = SERVOS.replace("<worldbody>", extra, 1)
    text = text.replace('<geom type="box" size=".05 .02 .01"/>', shown, 1)
    messages = messages_of(written(tmp_path, text))
    assert "hand.xml: left out: visual meshes whose files do not exist: 'skin.stl'" in messages
    colliding = text.replace('contype="0" conaffinity="0"', "")
    golden.refused(lambda: sg.load_hand(written(tmp_path, colliding)), "TMP/hand.xml:3: mesh.file")


def test_the_second_mesh_of_a_name_is_left_out(tmp_path, golden):
    vertices = 'vertex="0 0 0 .01 0 0 0 .01 0 0 0 .01"'
    meshes = f'<asset><mesh name="a" {vertices}/>\n<mesh name="a" {vertices}/></asset><worldbody>'
    text = SERVOS.replace("<worldbody>", meshes, 1)
    golden(
        messages_of(written(tmp_path, text))[0],
        "hand.xml: left out, as MuJoCo does not read it: second",
    )


@pytest.mark.slow
@QUIET
def test_a_flat_mesh_may_collide(tmp_path):
    vertices = 'vertex="0 0 0 .02 0 0 0 .02 0 .02 .02 0 .01 .01 1e-7"'
    text = SERVOS.replace(
        "<worldbody>", f'<asset><mesh name="a" {vertices}/></asset><worldbody>', 1
    )
    text = text.replace(
        '<geom type="box" size=".05 .02 .01"/>',
        '<inertial pos="0 0 0" mass=".1" diaginertia="1e-4 1e-4 1e-4"/>'
        '<geom type="box" size=".05 .02 .01"/><geom type="mesh" mesh="a" mass="0"/>',
        1,
    )
    hand = sg.load_hand(written(tmp_path, text))
    assert hand.grasps.power.center
    assert sg.inspect(hand).problems == ()


def test_a_position_servo_may_lack_its_bias_type(tmp_path):
    weak = '<general name="am" joint="aj" ctrlrange="0 1" gainprm="4" biasprm="0 -4 -.1"/>'
    text = re.sub('<position name="am".*/>', weak, SERVOS)
    assert (
        "hand.xml: actuators with the gain and bias of a position servo, but without biastype, are "
        "read as such: 'am'"
    ) in messages_of(written(tmp_path, text))


@QUIET
def test_a_motor_on_the_follower_of_a_coupling_gets_the_servo(tmp_path):
    coupled = '<equality><joint joint1="aj" joint2="bj" polycoef="0 1 0 0 0"/></equality><actuator>'
    text = re.sub('<motor name="bm".*/>', "", MOTORS).replace("<actuator>", coupled)
    hand = sg.load_hand(written(tmp_path, text))
    assert [servo.joint for servo in hand.model.servos] == ["aj"]


def test_parts_of_models_are_refused(tmp_path, golden):
    part = written(tmp_path, "<mujoco><body><joint/></body></mujoco>", "part.xml")
    with pytest.raises(sg.DescriptionError) as refused:
        sg.load_hand(part)
    golden(refused.value, "1: expected a complete model, <mujoco> with a <worldbody>")


@pytest.mark.slow
@QUIET
def test_objects_of_a_task_are_left_out(tmp_path):
    """A body with joints that no actuator moves, beside a hand."""
    ball = (
        '<body name="ball" pos="0 0 1"><joint type="slide"/><geom size=".02"/></body></worldbody>'
    )
    text = SERVOS.replace("</worldbody>", ball)
    message = "hand.xml: the body 'ball' of the file, which is not part of the hand, is left out"
    assert message in messages_of(written(tmp_path, text))
    hand = sg.load_hand(tmp_path / "hand.xml")
    assert [finger.name for finger in hand.fingers] == ["a", "b"]


@pytest.mark.slow
@QUIET
def test_weight_is_compensated_where_the_file_does_not(tmp_path, golden):
    hand = sg.load_hand(written(tmp_path, SERVOS))
    assert hand.model.gravity_compensation
    compiled = build_hand_spec(hand).compile()
    moving = compiled.body_mass > 0.0
    np.testing.assert_array_equal(compiled.body_gravcomp[moving], 1.0)
    side = tmp_path / "hand.yaml"
    side.write_text("model: hand.xml\ngravity_compensation: false\n")
    left = sg.load_hand(side)
    assert not left.model.gravity_compensation
    np.testing.assert_array_equal(build_hand_spec(left).compile().body_gravcomp, 0.0)
    assert any("sag as far as their servos allow" in note for note in left.notes)
    side.write_text("model: hand.xml\ngravity_compensation: 1\n")
    golden.refused(lambda: sg.load_hand(side), "2: gravity_compensation")


@QUIET
def test_compensation_of_the_file_is_kept(tmp_path):
    hand = sg.load_hand(written(tmp_path, LOOP.replace("<body name", '<body gravcomp=".5" name')))
    assert not hand.model.gravity_compensation


@QUIET
def test_the_last_directory_of_meshes_counts_in_the_order_of_includes(tmp_path):
    """A model that includes another one and replaces its meshes."""
    (tmp_path / "simple").mkdir()
    corners = "v 0 0 0\nv .01 0 0\nv 0 .01 0\nv 0 0 .01\nf 1 3 2\nf 1 2 4\nf 2 3 4\nf 3 1 4\n"
    (tmp_path / "simple" / "a.obj").write_text(corners)
    asset = '<compiler meshdir="none"/><asset><mesh file="a.obj"/></asset><worldbody>'
    written(tmp_path, SERVOS.replace("<worldbody>", asset, 1), "part.xml")
    text = '<mujoco><include file="part.xml"/><compiler meshdir="simple"/></mujoco>'
    assert sg.load_hand(written(tmp_path, text)).fingers
