"""An arm whose last link closes on the one before is a gripper on a wrist, in URDF and in MJCF.

A finger that bends, and an arm without a jaw, are one chain as before.
"""

from typing import NamedTuple

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import softgrasp as sg
from softgrasp.io.load import load_robot
from softgrasp.io.mjcf.hand import _read
from softgrasp.io.urdf.hand import machine_of
from softgrasp.io.urdf.kinematic_tree import hand_tree
from softgrasp.io.urdf.links import HAND
from softgrasp.mechanics.transforms import transform
from tests.support.mjcf_hands import written

pytestmark = pytest.mark.filterwarnings("ignore::softgrasp.SoftgraspWarning")


class Part(NamedTuple):
    """A link of boxes (centre, size) with its joint: kind, place, axis and range."""

    name: str
    boxes: tuple[tuple[tuple[float, ...], tuple[float, ...]], ...]
    joint: tuple[str, tuple[float, ...], tuple[float, ...], tuple[float, float]] | None


def link(name: str, length: float, at: float, axis: tuple[float, ...], span: float) -> Part:
    box = ((0.0, 0.0, length / 2), (0.025, 0.025, length))
    return Part(name, (box,), ("revolute", (0.0, 0.0, at), axis, (-span, span)))


Y, Z = (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)
BASE = Part("base", (((0.0, 0.0, 0.0), (0.08, 0.08, 0.06)),), None)
ARM = (BASE, link("shoulder", 0.1, 0.03, Z, 1.9), link("elbow", 0.11, 0.1, Y, 1.7))
FIXED = (((0.0, 0.0, 0.015), (0.06, 0.03, 0.03)), ((-0.026, 0.0, 0.065), (0.008, 0.024, 0.07)))
JAW = (((0.0, 0.0, 0.035), (0.008, 0.024, 0.07)),)
ROLL = ("revolute", (0.0, 0.0, 0.11), Z, (-2.7, 2.7))
GRIPPER = Part("gripper", FIXED, ROLL)
HINGED = Part("jaw", JAW, ("revolute", (0.026, 0.0, 0.03), Y, (-0.45, 1.2)))
SLIDING = Part("jaw", JAW, ("prismatic", (0.026, 0.0, 0.03), (-1.0, 0.0, 0.0), (-0.02, 0.04)))
FLANGE = Part("flange", (((0.0, 0.0, 0.01), (0.05, 0.05, 0.02)),), ROLL)
FINGER = (
    BASE, link("proximal", 0.05, 0.03, Y, 1.6), link("middle", 0.03, 0.05, Y, 1.9),
    link("distal", 0.025, 0.03, Y, 1.9),
)  # fmt: skip
PLATE = Part("plate", (((0.02, 0.0, 0.05), (0.05, 0.01, 0.1)),), ROLL)
"""A flange that is not round, on a joint of more than one rotation."""
GRIPPERS = {"hinged": (*ARM, GRIPPER, HINGED), "sliding": (*ARM, GRIPPER, SLIDING)}
LID = Part("lid", JAW, ("revolute", (-0.012, 0.0, 0.03), Y, (-0.05, 0.05)))
"""A link beside a fixed jaw that never opens."""
CHAINS = {
    "arm": (*ARM, FLANGE), "odd flange": (*ARM, PLATE), "lid": (*ARM, GRIPPER, LID),
    "finger": FINGER,
}  # fmt: skip


def numbers(values: tuple[float, ...]) -> str:
    return " ".join(f"{value:g}" for value in values)


def urdf(parts: tuple[Part, ...]) -> str:
    text, before = '<robot name="r">', ""
    for name, boxes, joint in parts:
        shapes = "".join(
            f'<collision><origin xyz="{numbers(c)}"/><geometry><box size="{numbers(s)}"/>'
            "</geometry></collision>" for c, s in boxes
        )  # fmt: skip
        text += f'<link name="{name}">{shapes}</link>'
        if joint is not None:
            kind, at, axis, (low, high) = joint
            text += f"""<joint name="{name}_j" type="{kind}"><parent link="{before}"/>
              <child link="{name}"/><origin xyz="{numbers(at)}"/><axis xyz="{numbers(axis)}"/>
              <limit lower="{low}" upper="{high}" effort="3" velocity="2"/></joint>"""
        before = name
    return text + "</robot>"


def mjcf(parts: tuple[Part, ...]) -> str:
    text, servos = '<mujoco model="r"><compiler angle="radian" autolimits="true"/><worldbody>', ""
    for name, boxes, joint in parts:
        at = (0.0, 0.0, 0.0) if joint is None else joint[1]
        text += f'<body name="{name}" pos="{numbers(at)}">'
        for center, size in boxes:
            half = numbers(tuple(side / 2 for side in size))
            text += f'<geom type="box" pos="{numbers(center)}" size="{half}" density="500"/>'
        if joint is not None:
            kind, _, axis, span = joint
            mjcf_kind = {"revolute": "hinge", "prismatic": "slide"}[kind]
            text += f'<joint name="{name}_j" type="{mjcf_kind}" axis="{numbers(axis)}" '
            text += f'range="{numbers(span)}" damping="0.1"/>'
            servos += f'<position name="{name}_a" joint="{name}_j" kp="50" '
            servos += f'ctrlrange="{numbers(span)}" forcerange="-3 3"/>'
    return f"{text}{'</body>' * len(parts)}</worldbody><actuator>{servos}</actuator></mujoco>"


FORMATS = {".urdf": urdf, ".xml": mjcf}


@pytest.mark.parametrize("suffix", FORMATS)
@pytest.mark.parametrize("kind", GRIPPERS)
def test_a_jaw_against_a_fixed_jaw_is_a_hand_on_a_wrist(kind, suffix, tmp_path):
    file = written(tmp_path, FORMATS[suffix](GRIPPERS[kind]), f"r{suffix}")
    hand = sg.load_hand(file)
    wrist, jaw = hand.fingers
    joints = [[row.joint_name for row in finger.phalanges] for finger in (wrist, jaw)]
    assert joints == [["shoulder_j", "elbow_j", "gripper_j"], ["jaw_j"]]
    for preset in (hand.grasps.power, hand.grasps.precision):
        rates = np.array(preset.rates.for_fingers(hand.actuator_counts))
        assert (rates[:3] == 0.0).all()  # the arm does not close
        assert rates[3] != 0.0
        # the object is between the jaws, in their plane of symmetry
        across = np.abs(preset.center)
        assert across.min() < 2e-3
        assert np.linalg.norm(preset.center) == pytest.approx(0.03 + 0.1 + 0.11 + 0.065, abs=0.04)


@pytest.mark.parametrize("kind", [*CHAINS, *GRIPPERS])
def test_only_a_link_that_closes_on_the_one_before_makes_it_a_palm(kind, tmp_path):
    parts = (CHAINS | GRIPPERS)[kind]
    robot = load_robot(written(tmp_path, urdf(parts), "r.urdf"))
    tree = hand_tree(machine_of(robot, HAND))
    model = _read(written(tmp_path, mjcf(parts), "r.xml")).tree
    palms = (tree.palm, model.model.body(model.palm).name)
    assert palms == (("gripper",) * 2 if kind in GRIPPERS else ("base", "world"))


SLIDING_JAWS = """<mujoco model="g"><compiler angle="radian" autolimits="true"/><worldbody>
  <body name="base" quat="{quat}"><geom type="box" size=".05 .02 .01" density="500"/>
    <geom type="box" size=".01 .01 .03" pos=".03 .02 -.01" density="500"/>
    <body name="a" pos=".045 0 .01"><joint name="aj" type="slide" axis="-1 0 0" range="0 .04"/>
      <geom type="box" size=".004 .012 .03" pos="0 0 .03" density="500"/></body>
    <body name="b" pos="-.045 .004 .01"><joint name="bj" type="slide" axis="1 0 0" range="0 .04"/>
      <geom type="box" size=".004 .012 .03" pos="0 0 .03" density="500"/></body>
  </body></worldbody><actuator>
  <position name="aa" joint="aj" kp="500" ctrlrange="0 .04" forcerange="-20 20"/>
  <position name="ba" joint="bj" kp="500" ctrlrange="0 .04" forcerange="-20 20"/>
  </actuator></mujoco>
"""


@pytest.mark.parametrize("angle", [0.0, 0.3, 2.0])
def test_the_frame_of_sliding_jaws_does_not_tilt_with_the_palm(angle, tmp_path):
    turn = Rotation.from_rotvec(angle * np.array([0.6, 0.0, 0.8]))
    text = SLIDING_JAWS.format(quat=numbers(tuple(turn.as_quat(scalar_first=True))))
    pose = sg.load_hand(written(tmp_path, text, "g.xml")).model.pose
    up = turn.inv().as_matrix() @ transform(quaternion=pose.quaternion)[2, :3]
    # objects stand across the jaws, perpendicular to their travel and to their length
    assert np.abs(up) == pytest.approx([0.0, 1.0, 0.0], abs=1e-6)
