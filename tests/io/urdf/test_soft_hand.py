"""U(C)RDF robots as hands: fingers where the robot has them, and what is no hand."""

import re
import warnings
from typing import Any

import numpy as np
import pytest

import softgrasp as sg
from softgrasp.continuum.pcc import segment_transform
from softgrasp.continuum.statics import joint_positions
from softgrasp.description.bendable import Bendable, Chamber, Origin, Tendon
from softgrasp.description.geometry import Mesh
from softgrasp.description.robot import Link, LinkShape, RigidJoint, Robot
from softgrasp.io.urdf import write_robot
from softgrasp.io.urdf.soft_hand import soft_hand
from softgrasp.mechanics.robot_kinematics import origin_frame
from softgrasp.mechanics.transforms import transform
from softgrasp.model.robot import robot_to_mjcf

WRIST = (
    "robot 'soft_gripper_two': expected a hand only; what carries its palm, and what is fixed to "
    "palm and fingers, is left out: 'wrist'"
)


def gripper(**changes: Any) -> Robot:
    """The shipped gripper without its wrist; changes apply to both bendables."""
    whole = sg.io.load_robot("soft_gripper_two")
    parts = tuple(part.replace(**changes) for part in whole.bendables)
    links = tuple(link for link in whole.links if link.name != "mount")
    return whole.replace(joints=(), links=links, bendables=parts, control=())


def rotated(
    robot: Robot, xyz: tuple[float, float, float], rpy: tuple[float, float, float]
) -> Robot:
    """The same fingers on a palm whose link frame stands elsewhere."""
    frame = origin_frame(Origin(xyz=xyz, rpy=rpy))

    def moved(origin: Origin) -> Origin:
        whole = frame @ origin_frame(origin)
        yaw = np.arctan2(whole[1, 0], whole[0, 0])
        pitch = np.arctan2(-whole[2, 0], np.hypot(whole[0, 0], whole[1, 0]))
        roll = np.arctan2(whole[2, 1], whole[2, 2])
        return Origin(xyz=tuple(whole[:3, 3].tolist()), rpy=(float(roll), float(pitch), float(yaw)))

    parts = tuple(part.replace(origin=moved(part.origin)) for part in robot.bendables)
    return robot.replace(bendables=parts)


def test_a_file_is_a_hand():
    with pytest.warns(sg.SoftgraspWarning, match=f"^{re.escape(WRIST)}$"):
        hand = sg.load_hand("soft_gripper_two.ucrdf")
    assert [digit.name for digit in hand.soft_fingers] == ["left-finger", "right-finger"]
    assert hand.soft_fingers[0].limits == (0.0, 1.5e5)
    assert hand.palm.kind == "shape"
    assert hand.grasps.power.pressure == 1.5e5
    assert hand.grasps.precision.pressure == 0.75e5


@pytest.mark.parametrize("pressure", [0.0, 0.5e5, 1.5e5])
def test_its_fingers_bend_as_the_segments_of_the_robot(pressure):
    """The centres of the ball tips, from constant curvature in the robot's own frames."""
    robot = gripper()
    fine = robot.replace(bendables=tuple(
        part.replace(backbone=part.backbone.replace(links=64)) for part in robot.bendables
    ))  # fmt: skip
    hand = soft_hand(fine)
    tips = []
    for digit in hand.soft_fingers:
        rest = sg.equilibrium(digit.finger, pressure=pressure, gravity=False, error_estimate=False)
        end = transform(rest.tip_position)
        base = transform(digit.base.position, digit.base.quaternion)
        points = joint_positions(digit.finger, rest.joint_angles)
        back = (points[-1] - points[-2]) / np.linalg.norm(points[-1] - points[-2])
        end[:3, 3] -= 0.011 * back
        tips.append((base @ end)[:3, 3])
    kappa = pressure * 1e-4 * 6e-3 / 6e-3
    ends = [
        (origin_frame(part.origin) @ segment_transform(kappa, 0.0, 0.1))[:3, 3]
        for part in robot.bendables
    ]
    assert np.linalg.norm(tips[1] - tips[0]) == pytest.approx(
        np.linalg.norm(ends[1] - ends[0]), abs=1e-5
    )
    # the hand's frame is between the bases, z against the fingers
    middle = 0.5 * (ends[0] + ends[1])
    assert 0.5 * (tips[0] + tips[1]) == pytest.approx([0, 0, 0.02 - middle[2]], abs=1e-5)


@pytest.mark.parametrize("rpy", [(0.0, 0.0, 0.7), (0.3, -0.4, 1.0), (np.pi, 0.0, 0.0)])
def test_where_the_palm_has_its_frame_changes_nothing(rpy):
    plain = soft_hand(gripper())
    moved = soft_hand(rotated(gripper(), (0.1, -0.2, 0.3), rpy))
    for soft_finger, other in zip(plain.soft_fingers, moved.soft_fingers, strict=True):
        assert other.base.position == pytest.approx(soft_finger.base.position, abs=1e-12)
        same = abs(np.dot(other.base.quaternion, soft_finger.base.quaternion))
        assert same == pytest.approx(1.0, abs=1e-12)


def test_tips_are_part_of_the_last_links():
    finger = soft_hand(gripper()).soft_fingers[0].finger
    assert finger.tip == (0.1 + 0.011, 0.0, 0.0)
    assert sum(link.mass for link in finger.links) == pytest.approx(0.03 + 0.006)
    last = finger.links[-1]
    assert last.center[0] + 0.5 * last.size[0] == pytest.approx(finger.tip[0])


def test_it_grasps():
    hand = soft_hand(gripper())
    ball = sg.GraspObject(name="ball", shape=sg.Sphere(radius=0.02), mass=0.03)
    scene = sg.GraspScene(
        hand=hand, object=ball, surroundings=(sg.Table(),), lift=sg.description.Lift(), gravity=True
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", sg.SoftgraspWarning)
        result = sg.simulate(scene)
    assert result.held
    touched = {event.body.rsplit("_", 1)[0] for event in result.events}
    assert {"left-finger", "right-finger"} <= touched


def with_joint(robot: Robot) -> Robot:
    link = Link(name="claw")
    joint = RigidJoint(name="knuckle", type="continuous", parent="left_tip", child="claw")
    return robot.replace(links=(*robot.links, link), joints=(joint,))


def hung_apart(robot: Robot) -> Robot:
    first, second = robot.bendables
    return robot.replace(bendables=(first, second.replace(parent="left_tip")))


def opposite(robot: Robot) -> Robot:
    first, second = robot.bendables
    return robot.replace(bendables=(first, second.replace(origin=Origin(rpy=(np.pi, 0.0, 0.0)))))


OPEN = (Chamber(angle=np.pi, radius=0.006, area=1e-4),)
LEFT = "bendable 'left_finger': "


@pytest.mark.parametrize(
    ("robot", "sentence"),
    [
        (sg.io.load_robot("three_segment_arm").replace(bendables=(), control=(), joints=(),
         links=(Link(name="base"),)), "bendable"),
        (with_joint(gripper()), "joint 'knuckle'"),
        (hung_apart(gripper()), "bendable"),
        (opposite(gripper()), "bendable"),
        (gripper(actuation=OPEN), "bendable 'left_finger'"),
    ],
)  # fmt: skip
def test_what_is_no_hand_is_refused(robot, sentence, golden):
    golden.refused(lambda: soft_hand(robot), sentence)


def chambers(*degrees: float) -> tuple[Chamber, ...]:
    return tuple(
        Chamber(angle=np.radians(angle), radius=0.006, area=1e-4, pressure_max=1e5 + angle)
        for angle in degrees
    )


def test_the_chambers_that_close_the_hand_are_chosen(golden):
    """Of an antagonist pair the one on the back; those that bend it backwards stay empty."""
    (item, _) = soft_hand(gripper(actuation=chambers(0.0, 180.0))).soft_fingers
    assert item.finger.joints[0].pressure_gain == pytest.approx(6e-7)
    assert item.limits == (0.0, 1e5 + 180.0)
    (three, _) = soft_hand(gripper(actuation=chambers(180.0, 60.0, -60.0))).soft_fingers
    assert three.finger.joints[0].pressure_gain == pytest.approx(6e-7)
    for angles in ((0.0,), (90.0,), (30.0, -30.0)):
        with pytest.raises(sg.DescriptionError) as refused:
            soft_hand(gripper(actuation=chambers(*angles)))
        golden(refused.value, "bendable 'left_finger'")


def test_a_camera_fixed_to_the_palm_is_left_out():
    robot = gripper()
    camera = RigidJoint(name="mount", type="fixed", parent="palm", child="camera")
    robot = robot.replace(links=(*robot.links, Link(name="camera")), joints=(camera,))
    with pytest.warns(sg.SoftgraspWarning, match="is left out: 'mount'"):
        assert len(soft_hand(robot).soft_fingers) == 2


def test_a_shipped_robot_is_a_hand_by_its_name():
    with pytest.warns(sg.SoftgraspWarning):
        assert sg.load_hand("soft_gripper_two") == sg.load_hand("soft_gripper_two.ucrdf")


def test_fingers_bend_in_one_plane():
    robot = gripper()
    free = tuple(_to_all_sides(part) for part in robot.bendables)
    sentence = "expected phi_min equal to phi_max, as one pressure bends a finger in one plane"
    with pytest.raises(sg.DescriptionError, match=f"^{LEFT}{sentence}$"):
        soft_hand(robot.replace(bendables=free))


def _to_all_sides(part: Bendable) -> Bendable:
    return part.replace(limits=part.limits.replace(phi_min=None, phi_max=None))


def test_a_mesh_at_a_tip_is_left_out():
    robot = gripper()
    mesh = LinkShape(shape=Mesh(file="tip.stl"))
    links = tuple(
        link.replace(collisions=(mesh,)) if link.name == "left_tip" else link
        for link in robot.links
    )
    sentence = (
        "link 'left_tip': expected a primitive shape at the end of a soft finger, found a mesh; it "
        "is left out"
    )
    with pytest.warns(sg.SoftgraspWarning, match=f"^{re.escape(sentence)}$"):
        hand = soft_hand(robot.replace(links=links))
    assert hand.soft_fingers[0].finger.tip == (0.1, 0.0, 0.0)


def test_other_files_are_no_hand(golden):
    golden.refused(lambda: sg.load_hand("hand.step"), "hand.step")


# --------------------
# Tendons and bending moments

OPPOSED = (Tendon(angle=0.0, radius=0.006), Tendon(angle=np.pi, radius=0.006))
SAME_MOMENTS = re.escape("pressures stand for")


def bent(hand: sg.Hand, pressure: float) -> float:
    """Bending angle of the first finger in the air [rad]."""
    finger = hand.soft_fingers[0].finger
    return float(sum(pressure * j.pressure_gain / j.stiffness for j in finger.joints))


@pytest.mark.parametrize("actuation", [OPPOSED, ()])
def test_tendons_and_moments_bend_a_finger_up_to_its_limit(actuation):
    robot = gripper(actuation=actuation)
    with pytest.warns(sg.SoftgraspWarning, match=SAME_MOMENTS):
        hand = soft_hand(robot)
    part = robot.bendables[0]
    for share in (0.5, 1.0):
        pressure = share * hand.grasps.power.pressure
        assert bent(hand, pressure) == pytest.approx(share * part.theta_max, rel=1e-9)


def test_a_tendon_is_the_chamber_with_its_moment():
    """T r = p A r, the chamber being on the other side."""
    with pytest.warns(sg.SoftgraspWarning, match="10 kPa for 1 N of tension"):
        pulled = soft_hand(gripper(actuation=OPPOSED))
    area, limit = 1e-4, pulled.soft_fingers[0].limits[1]
    chambers = tuple(
        Chamber(angle=item.angle + np.pi, radius=item.radius, area=area, pressure_max=limit)
        for item in OPPOSED
    )
    pressed = soft_hand(gripper(actuation=chambers))
    assert pulled.soft_fingers == pressed.soft_fingers
    assert pulled.grasps == pressed.grasps


def test_tendons_that_open_only_are_refused():
    with (
        pytest.warns(sg.SoftgraspWarning, match=SAME_MOMENTS),
        pytest.raises(sg.DescriptionError, match="or a tendon on that of phi"),
    ):
        soft_hand(gripper(actuation=OPPOSED[1:]))


@pytest.mark.slow
@pytest.mark.parametrize("actuation", [OPPOSED, ()])
@pytest.mark.filterwarnings("ignore::softgrasp.SoftgraspWarning")
def test_a_hand_of_tendons_grasps_as_a_file_and_as_its_export(tmp_path, actuation):
    robot = gripper(actuation=actuation)
    write_robot(robot, tmp_path / "hand.ucrdf")
    (tmp_path / "hand.xml").write_text(robot_to_mjcf(robot), encoding="utf-8")
    for name in ("hand.ucrdf", "hand.xml"):
        hand = sg.load_hand(tmp_path / name)
        scene = sg.GraspScene(hand=hand, object=sg.load_object("sphere_25"), grasp="power")
        assert sg.simulate(scene).outcome is sg.Outcome.CLOSED, name
