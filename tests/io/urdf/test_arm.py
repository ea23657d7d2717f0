"""Serial URDF robots as arms that carry hands."""

from pathlib import Path

import mujoco
import numpy as np
import pytest

import softgrasp as sg
from softgrasp.io.hand import load_arm
from softgrasp.mechanics.hand_kinematics import forward_kinematics, row_transform
from softgrasp.mechanics.robot_kinematics import origin_of
from softgrasp.mechanics.transforms import rotate_about, transform
from softgrasp.model import names
from softgrasp.model.arm import arm_base
from tests.support.robots import written
from tests.support.urdf_hands import BODY, BOX, bare_text, joint, link, robot

LIMIT = '<limit lower="-3" upper="3" effort="50" velocity="2"/>'
ARM = robot(
    link("base", BOX),
    link("upper"),
    link("lower", BODY),
    link("wrist"),
    '<link name="flange"/>\n<link name="tool0"/>\n',
    joint("first", "base", "upper", "0 0 0.2", "0 0 1", LIMIT),
    joint("second", "upper", "lower", "0.1 0 0.3", "0 1 0", LIMIT, rpy="0.1 0 0"),
    joint("third", "lower", "wrist", "0.3 0 0", "1 0 0", "", "continuous", "0 0.2 0"),
    joint("f1", "wrist", "flange", "0.05 0 0", inside="", kind="fixed", rpy="0 1.5 0"),
    joint("f2", "flange", "tool0", "0 0 0.02", inside="", kind="fixed"),
)


def arm_file(directory: Path) -> Path:
    return written(directory, ARM, "arm.urdf")


def test_the_tool_stands_where_mujocos_import_has_it(tmp_path):
    arm = load_arm(arm_file(tmp_path))
    theirs = mujoco.MjModel.from_xml_path(
        str(written(tmp_path, bare_text(tmp_path / "arm.urdf"), "bare.urdf"))
    )
    data = mujoco.MjData(theirs)
    tool = transform(arm.tool.position, arm.tool.quaternion)
    rng = np.random.default_rng(0)
    for _ in range(5):
        joints = rng.uniform(-2.0, 2.0, 3)
        for name, value in zip(("first", "second", "third"), joints, strict=True):
            data.joint(name).qpos[0] = value
        mujoco.mj_kinematics(theirs, data)
        frame = forward_kinematics(arm.chain, joints.tolist())[-1] @ tool
        assert frame[:3, 3] == pytest.approx(data.body("tool0").xpos, abs=1e-9)
        assert frame[:3, :3] == pytest.approx(data.body("tool0").xmat.reshape(3, 3), abs=1e-9)


def test_servos_and_limits(tmp_path):
    first, _, third = load_arm(arm_file(tmp_path)).chain.phalanges
    assert first.limits == (-3.0, 3.0)
    assert (first.force_limit, first.servo_stiffness) == (50.0, pytest.approx(50 / np.radians(10)))
    assert third.limits == pytest.approx((-2.0 * np.pi, 2.0 * np.pi))
    assert third.force_limit > 0.0


def test_a_hand_stands_on_it_where_it_should(tmp_path):
    arm = load_arm(
        arm_file(tmp_path),
        start=(0.3, -0.4, 0.5),
        tool=sg.Pose(position=(0.0, 0.0, 0.01)),
        tool_link="flange",
    )
    scene = sg.GraspScene(
        hand=sg.load_hand("four_finger"), object=sg.load_object("sphere"), arm=arm
    )
    model = sg.compile_model(scene)
    data = mujoco.MjData(model)
    mujoco.mj_resetDataKeyframe(model, data, 0)
    mujoco.mj_forward(model, data)
    assert data.body(names.PALM).xpos == pytest.approx(np.zeros(3), abs=1e-9)
    assert data.body(names.PALM).xmat == pytest.approx(np.eye(3).ravel(), abs=1e-9)
    joints = [0.7, 0.2, -0.3]
    for name, value in zip(names.carrier_joints(scene), joints, strict=True):
        data.joint(name).qpos[0] = value
    mujoco.mj_kinematics(model, data)
    tool = transform(arm.tool.position, arm.tool.quaternion)
    hand = arm_base(arm, scene.hand_pose) @ forward_kinematics(arm.chain, joints)[-1] @ tool
    assert data.body(names.PALM).xpos == pytest.approx(hand[:3, 3], abs=1e-9)


def test_a_scene_with_it_round_trips(tmp_path):
    arm = load_arm(arm_file(tmp_path))
    scene = sg.GraspScene(
        name="scene", hand=sg.load_hand("four_finger"), object=sg.load_object("sphere"), arm=arm
    )
    sg.save_scene(scene, tmp_path / "scene.yaml")
    assert sg.load_scene(tmp_path / "scene.yaml") == scene


def test_a_side_file(tmp_path):
    arm_file(tmp_path)
    side = "model: arm.urdf\nunits: {angle: deg}\nname: mine\nstart: [0, 90, 0]\ntool_link: wrist\n"
    arm = load_arm(written(tmp_path, side, "arm.yaml"))
    assert arm.name == "mine"
    assert [row.start for row in arm.chain.phalanges] == pytest.approx([0.0, np.pi / 2, 0.0])
    assert arm.tool.position == (0.0, 0.0, 0.0)


@pytest.mark.parametrize(
    ("extra", "sentence"),
    [
        (link("twig") + joint("branch", "upper", "twig", "0 0 0", inside=LIMIT),
         "14: joint 'branch': parent"),
        (link("more") + joint("slave", "wrist", "more", "0 0 0",
         inside=LIMIT + '<mimic joint="first"/>'), "14: joint 'slave': mimic"),
    ],
)  # fmt: skip
def test_what_is_no_arm(extra, sentence, tmp_path, golden):
    path = written(tmp_path, ARM.replace("</robot>", extra + "</robot>"), "arm.urdf")
    golden.refused(lambda: load_arm(path), sentence)


def test_words_that_do_not_fit(tmp_path, golden):
    path = arm_file(tmp_path)
    with pytest.raises(sg.DescriptionError) as caught:
        load_arm(path, start=(0.0,))
    assert str(caught.value) == f"{path}: start: expected 3 numbers, one per joint, found 1"
    golden.refused(lambda: load_arm(path, tool_link="tool"), "tool_link")
    with pytest.raises(sg.DescriptionError) as caught:
        load_arm("ur3e", start=(0.0,))
    golden(caught.value, "expected start, tool and tool_link only with a URDF or xacro file")


@pytest.mark.slow
def test_the_same_arm_written_as_urdf_lifts_alike(tmp_path):
    """The shipped UR3e, its table turned into joints with origins: same flange, and it holds."""
    scene = sg.load_scene("paper000_arm")
    rows, frame, parts = scene.arm.chain.phalanges, np.eye(4), [link("l0", "")]
    for index, row in enumerate(rows):
        origin = origin_of(frame @ rotate_about("z", row.theta))
        xyz, rpy = (" ".join(map(repr, part)) for part in (origin.xyz, origin.rpy))
        low, high = row.limits
        limit = f'<limit lower="{low}" upper="{high}" effort="{row.force_limit}" velocity="3"/>'
        body = BODY.replace('value="0.05"', 'value="1"')
        parts += [
            link(f"l{index + 1}", body),
            joint(f"j{index}", f"l{index}", f"l{index + 1}", xyz, "0 0 1", limit, rpy=rpy),
        ]
        frame = row_transform(row.a, row.alpha, row.d, 0.0, "standard")
    end = origin_of(frame)
    xyz, rpy = (" ".join(map(repr, part)) for part in (end.xyz, end.rpy))
    parts += ['<link name="tool0"/>', joint("end", f"l{len(rows)}", "tool0", xyz, kind="fixed",
                                            inside="", rpy=rpy)]  # fmt: skip
    arm = load_arm(
        written(tmp_path, robot(*parts), "arm.urdf"),
        start=[row.start for row in rows],
        tool=scene.arm.tool,
    )
    ours, theirs = arm_base(arm, scene.hand_pose), arm_base(scene.arm, scene.hand_pose)
    assert ours == pytest.approx(theirs, abs=1e-9)
    result = sg.simulate(scene.replace(arm=arm))
    assert result.held
    assert result.hold.lifted_m == pytest.approx(0.1, abs=2e-3)
