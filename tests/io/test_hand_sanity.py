"""Units that a hand's file hardly means are asked about whenever it is read."""

import numpy as np
import pytest
import trimesh

import softgrasp as sg
from softgrasp.io.hand_sanity import millimetres_doubt, range_doubt
from softgrasp.io.urdf.length_unit import robot_units
from tests.support.gripper_urdf import gripper_urdf
from tests.support.robots import written
from tests.support.solids import prism

DEGREES = (
    "expected a range of at most 6.283 rad (one rotation), found -30 … 90 rad; are the limits in "
    "degrees? (check FILE --fix converts those of a URDF)"
)


def test_one_rotation_is_usual_two_are_odd_more_are_degrees():
    assert range_doubt(-3.1, 3.1) is None
    rotations = range_doubt(-6.28, 6.28)
    assert (rotations.severity, rotations.advice) == ("remark", "")
    assert range_doubt(-6.3, 6.3).severity == "problem"
    assert range_doubt(-30.0, 90.0).message == DEGREES


def test_a_thousandfold_length_is_questioned():
    assert millimetres_doubt(0.2, 2.0) is None
    doubt = millimetres_doubt(110.0, 2.0)
    assert doubt.advice == "is the file in mm? Divided by 1000 it is 110 mm"


@pytest.mark.slow
def test_reading_limits_in_degrees_warns_and_the_grasp_stays_before_the_palm(tmp_path):
    path = written(tmp_path, gripper_urdf(3, limits=(-30.0, 90.0)), "hand.urdf")
    with pytest.warns(sg.SoftgraspWarning) as message:
        hand = sg.load_hand(path)
    assert f"joint 'f1_j1' and 5 more: {DEGREES}" in [str(item.message) for item in message]
    for _, preset in hand.grasps:
        assert preset.center[2] > 0.0


@pytest.mark.slow
def test_the_file_and_its_yaml_file_are_reported_alike(tmp_path):
    path = written(tmp_path, gripper_urdf(2, limits=(-30.0, 90.0)), "hand.urdf")
    with pytest.warns(sg.SoftgraspWarning, match="degrees"):
        hand = sg.load_hand(path)
    of_hand = sg.inspect(hand).check("limits").findings
    of_robot = sg.inspect(sg.io.load_robot(path)).check("limits").findings
    assert [item.sentence for item in of_hand] == [item.sentence for item in of_robot]
    assert {item.severity for item in (*of_hand, *of_robot)} == {"problem"}


@pytest.mark.slow
def test_lengths_in_millimetres_are_one_error_and_one_option(tmp_path):
    """The unit makes the hand that metres describe."""
    path = written(tmp_path, gripper_urdf(2, unit=1e3), "hand.urdf")
    with pytest.raises(sg.DescriptionError, match="the file is in millimetres: add --units mm"):
        sg.load_hand(path)
    with robot_units("mm"):
        hand = sg.load_hand(path)
    known = sg.load_hand(written(tmp_path, gripper_urdf(2), "known.urdf"))
    for finger, other in zip(hand.fingers, known.fingers, strict=True):
        assert np.allclose(finger.link_ends, other.link_ends)
    side = written(tmp_path, "model: hand.urdf\nunits: {length: mm}\n", "hand.yaml")
    assert sg.load_hand(side).fingers == hand.fingers


def test_a_unit_changes_no_robot_that_is_plausible_in_metres(tmp_path):
    path = written(tmp_path, gripper_urdf(2), "hand.urdf")
    known = sg.load_hand(path)
    with robot_units("mm"):
        assert sg.load_hand(path) == known


def hook_of(reach: float) -> trimesh.Trimesh:
    """A finger of 10 x 20 x 80 mm whose end extends sideways by a length [m]."""
    end = 0.01 + reach
    rim = [(0.01, 0.07), (end, 0.07), (end, 0.08), (0.0, 0.08), (0.0, 0.0), (0.01, 0.0)]
    hook = prism(rim, 0.02)
    hook.vertices = hook.vertices[:, [0, 2, 1]] * [1.0, -1.0, 1.0] + [0.0, 0.02, 0.0]
    return hook


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::softgrasp.SoftgraspWarning")
@pytest.mark.parametrize("reach", [0.001, 0.03])
@pytest.mark.parametrize("form", ["urdf", "xml"])
def test_a_hook_that_its_hull_fills_is_named(reach, form, tmp_path):
    mesh = hook_of(reach)
    mesh.export(tmp_path / "hook.stl")
    filled = (800.0 + 1e4 * reach) / (800.0 + 4.5e4 * reach)  # mm²
    assert mesh.volume / mesh.convex_hull.volume == pytest.approx(filled, rel=1e-6)
    text = hooks_urdf() if form == "urdf" else hooks_mjcf()
    (tmp_path / f"hooks.{form}").write_text(text)
    notes = [item for item in sg.load_hand(tmp_path / f"hooks.{form}").notes if "hull" in item]
    assert len(notes) == (filled < 0.7)
    assert all(f"({100 * filled:.0f} %)" in note for note in notes)


@pytest.mark.filterwarnings("ignore::softgrasp.SoftgraspWarning")
def test_a_flat_closed_mesh_has_no_recess(tmp_path):
    flat = trimesh.creation.box((1e-8, 0.02, 0.04))
    flat.export(tmp_path / "hook.stl")
    shell = hooks_mjcf().replace('file="hook.stl"', 'file="hook.stl" inertia="shell"')
    (tmp_path / "hooks.xml").write_text(shell)
    assert not [note for note in sg.load_hand(tmp_path / "hooks.xml").notes if "hull" in note]


def hooks_urdf() -> str:
    text = '<robot name="h"><link name="base"><collision><geometry><box size=".12 .03 .02"/>'
    text += "</geometry></collision></link>"
    for name, x, rpy in (("l", -0.05, "0 0 0"), ("r", 0.05, "0 0 3.14159265")):
        text += f"""<link name="{name}"><collision><geometry><mesh filename="hook.stl"/></geometry>
          </collision></link><joint name="{name}j" type="prismatic"><parent link="base"/>
          <child link="{name}"/><origin xyz="{x} 0 .01" rpy="{rpy}"/><axis xyz="1 0 0"/>
          <limit lower="0" upper=".03" effort="20" velocity=".1"/></joint>"""
    return text + "</robot>"


def hooks_mjcf() -> str:
    bodies, servos = "", ""
    for name, x, quat in (("l", -0.05, "1 0 0 0"), ("r", 0.05, "0 0 0 1")):
        bodies += f"""<body name="{name}" pos="{x} 0 .01" quat="{quat}">
          <joint name="{name}j" type="slide" axis="1 0 0" range="0 .03"/>
          <geom type="mesh" mesh="hook"/></body>"""
        servos += f'<position name="{name}a" joint="{name}j" kp="500" ctrlrange="0 .03"/>'
    return f"""<mujoco model="h"><compiler angle="radian" autolimits="true"/>
      <asset><mesh name="hook" file="hook.stl"/></asset><worldbody><body name="base">
      <geom type="box" size=".06 .015 .01"/>{bodies}</body></worldbody>
      <actuator>{servos}</actuator></mujoco>"""
