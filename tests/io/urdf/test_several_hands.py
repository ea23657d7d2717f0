"""Files with several hands: two arms with a gripper each, and hands whose fingers branch."""

import numpy as np
import pytest

import softgrasp as sg
from softgrasp import assets
from softgrasp.io.hand import select_hand
from tests.support.mjcf_hands import MOTORS
from tests.support.robots import written

pytestmark = pytest.mark.filterwarnings("ignore::softgrasp.SoftgraspWarning")
BOX = '<collision><origin xyz="0 0 {z}"/><geometry><box size="{size}"/></geometry></collision>'


def link(name: str, size: str = ".03 .03 .1", z: float = 0.05) -> str:
    return f'<link name="{name}">{BOX.format(size=size, z=z)}</link>'


def joint(child: str, parent: str, xyz: str, axis: str = "0 1 0", kind: str = "revolute") -> str:
    span = (0.0, 0.04) if kind == "prismatic" else (-1.5, 1.5)
    return f"""<joint name="{child}_j" type="{kind}"><parent link="{parent}"/>
      <child link="{child}"/><origin xyz="{xyz}"/><axis xyz="{axis}"/>
      <limit lower="{span[0]}" upper="{span[1]}" effort="20" velocity="1"/></joint>"""


def gripper(side: str, parent: str) -> str:
    """A gripper of two sliding fingers; its palm is fixed."""
    text = link(f"{side}_palm", ".14 .04 .02", 0.0)
    text += f"""<joint name="{side}_mount" type="fixed"><parent link="{parent}"/>
      <child link="{side}_palm"/><origin xyz="0 0 .12"/></joint>"""
    for name, x, axis in ((f"{side}_a", 0.05, "-1 0 0"), (f"{side}_b", -0.05, "1 0 0")):
        text += link(name, ".01 .02 .07", 0.045) + joint(name, f"{side}_palm", f"{x} 0 0", axis,
                                                         "prismatic")  # fmt: skip
    return text


def arm(side: str, count: int, x: float) -> str:
    text, before, at = "", "torso", f"{x} 0 0"
    for index in range(count):
        text += link(f"{side}_{index}") + joint(f"{side}_{index}", before, at)
        before, at = f"{side}_{index}", "0 0 .1"
    return text + gripper(side, before)


CONTROL = """<ros2_control name="c" type="system"><hardware><plugin>any/Plugin</plugin></hardware>
  <joint name="left_a_j"><command_interface name="position"/></joint>
  <joint name="right_a_j"><command_interface name="position"/></joint></ros2_control>"""


def robot(count: int) -> str:
    arms = arm("left", count, 0.3) + arm("right", count, -0.3)
    return f'<robot name="r">{link("torso")}{arms}{CONTROL}</robot>'


@pytest.mark.slow
def test_of_two_arms_with_a_hand_each_one_is_selected(tmp_path):
    file = written(tmp_path, robot(4), "dual.urdf")
    with pytest.raises(sg.DescriptionError) as caught:
        sg.load_hand(file)
    assert (
        "expected one hand, found 2 on arms of their own, with the palms 'left_palm', 'right_palm'"
        in (str(caught.value))
    )
    for side in ("left", "right"):
        hand = sg.load_hand(file, root=f"{side}_palm")
        assert [finger.phalanges[0].joint_name for finger in hand.fingers] == [
            f"{side}_a_j", f"{side}_b_j"
        ]  # fmt: skip
    with_arm = sg.load_hand(file, root="right_0")
    assert with_arm.fingers[0].name == "wrist"


@pytest.mark.slow
def test_palms_on_short_chains_are_one_hand(tmp_path):
    hand = sg.load_hand(written(tmp_path, robot(1), "block.urdf"))
    assert len(hand.fingers) == 6  # two blocks with two fingers each


@pytest.mark.slow
def test_the_hand_is_selected_on_the_command_line_and_beside_the_model(tmp_path, run):
    file = written(tmp_path, robot(4), "dual.urdf")
    assert "--hand left_palm" in run("check", str(file)).out
    first = run("check", str(file), "--hand", "left_palm")
    assert "as_a_hand: 2 chains, 2 actuators" in first.out
    second = run("check", str(file), "--hand", "left")
    assert second.code == 2
    assert "no link 'left'; " in second.err
    side = tmp_path / "hand.yaml"
    side.write_text("model: dual.urdf\nroot: right_palm\n")
    assert len(sg.load_hand(side).fingers) == 2
    with_arm = sg.load_hand(side, root="right_0")
    assert with_arm.fingers[0].name == "wrist"


@pytest.mark.parametrize("name", ["four_finger", "hand.xml", "four_finger.yaml"])
def test_a_first_link_of_another_kind_of_hand_is_refused(name, tmp_path):
    (tmp_path / "hand.xml").write_text(MOTORS, encoding="utf-8")
    (tmp_path / "four_finger.yaml").write_text(assets.find("hands", "four_finger").read_text())
    hand = str(tmp_path / name) if "." in name else name
    with pytest.raises(sg.DescriptionError) as caught:
        sg.load_hand(hand, root="palm")
    assert "only with a URDF or xacro file, found 'palm' for '" in str(caught.value)
    with select_hand("palm"), pytest.raises(sg.DescriptionError):
        sg.load_hand(hand)


def test_joints_of_a_wrist_may_be_continuous_and_a_second_inertial_is_left_out(tmp_path):
    inertial = """<inertial><mass value="{}"/><inertia ixx="1e-4" iyy="1e-4" izz="1e-4" ixy="0"
      ixz="0" iyz="0"/></inertial>"""
    wrist = link("wrist").replace("</link>", f"{inertial.format(0.3)}{inertial.format(9)}</link>")
    turning = joint("wrist", "torso", "0 0 .1", "0 0 1", "continuous").replace("<limit", "<other")
    text = f'<robot name="r">{link("torso")}{wrist}{turning}{gripper("left", "wrist")}</robot>'
    with pytest.warns(sg.SoftgraspWarning, match="a second <inertial> of link 'wrist'"):
        hand = sg.load_hand(written(tmp_path, text, "r.urdf"))
    row = hand.fingers[0].phalanges[0]
    assert (hand.fingers[0].name, row.inertial.mass) == ("wrist", 0.3)
    assert row.limits == pytest.approx((-2 * np.pi, 2 * np.pi))
    fingers = text.replace('type="prismatic"', 'type="continuous"')
    with pytest.raises(sg.DescriptionError, match="expected limits of joint 'left_a_j'"):
        sg.load_hand(written(tmp_path, fingers.replace("<limit", "<other"), "f.urdf"))


@pytest.mark.slow
def test_a_fixed_link_at_its_joint_does_not_mark_the_end_of_a_finger(tmp_path):
    tip = '<link name="tip"/><joint name="tip_j" type="fixed"><parent link="left_a"/>{}</joint>'
    child = '<child link="tip"/><origin xyz="0 0 {}"/>'
    ends = []
    for height in ("0", "0.07"):
        text = link("torso") + gripper("left", "torso") + tip.format(child.format(height))
        hand = sg.load_hand(written(tmp_path, f'<robot name="r">{text}</robot>', "r.urdf"))
        ends.append(np.linalg.norm(hand.fingers[0].tip))
    assert ends[0] == pytest.approx(0.08, rel=0.05)  # the far end of its box
    assert ends[1] == pytest.approx(0.07)
