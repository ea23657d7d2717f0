"""What is read from a hand in MJCF, what is assumed, and how mistakes are told."""

import re
import warnings
from pathlib import Path

import mujoco
import numpy as np
import pytest
import trimesh

import softgrasp as sg
from softgrasp.errors import SoftgraspWarning
from softgrasp.io.load import load_robot
from softgrasp.io.mjcf.actuators import model_actuators
from softgrasp.io.mjcf.hand import alone, mjcf_hand
from softgrasp.io.mjcf.model import read_model
from softgrasp.mechanics.transforms import transform
from softgrasp.model.robot import robot_to_mjcf
from tests.support.mjcf_hands import ALLEGRO, LOOP, MOTORS, TENDON, WRIST, written
from tests.support.outside import outside_file

QUIET = pytest.mark.filterwarnings("ignore::softgrasp.SoftgraspWarning")


@QUIET
def test_a_tendon_actuator_has_separate_numbers(tmp_path):
    hand = sg.load_hand(written(tmp_path, TENDON))
    (actuator,) = hand.actuators
    assert (actuator.name, actuator.unit, actuator.limits) == ("drive", "", (0.0, 255.0))
    assert actuator.stops == ("l", "r")
    # at rest gain · target = 100 · length, and both joints share the length
    length = 0.3137255 * 200.0 / 100.0
    posture = hand.posture((200.0,))
    assert posture["lj"] == pytest.approx(length, rel=1e-12)
    assert posture["rj"] == pytest.approx(length, rel=1e-12)
    # the keyframe puts the joints at 0.1 rad
    assert actuator.start == pytest.approx(0.1 * 100.0 / 0.3137255, rel=1e-9)


@pytest.mark.slow
@QUIET
def test_a_tendon_gripper_closes_and_holds(tmp_path):
    hand = sg.load_hand(written(tmp_path, TENDON))
    ball = sg.GraspObject(name="ball", shape=sg.Sphere(radius=0.025), density=300.0)
    scene = sg.GraspScene(hand=hand, object=ball, success=sg.SuccessCriterion())
    result = sg.simulate(scene)
    assert result.status is sg.GraspStatus.CLOSED
    assert result.held
    touching = {contact.body for contact in result.contacts if contact.in_contact}
    assert touching >= {"l", "r"}
    # the drive stopped where contact stopped it, short of its limit
    assert result.joint_target[-1, 0] < 250.0


SITES = """<tendon>
  <spatial name="at"><site site="ap"/><site site="ad"/></spatial>
  <spatial name="bt"><site site="bp"/><site site="bd"/></spatial></tendon>"""


def cabled(actuators: str) -> str:
    """The hand with motors, but with actuators of a cable in each finger."""
    text = re.sub(
        r"<actuator>.*</actuator>",
        f"{SITES}<actuator>{actuators}</actuator>",
        MOTORS,
        flags=re.DOTALL,
    )
    for finger, side in (("a", 1), ("b", -1)):
        ends = f'<site name="{finger}p" pos="{side * 0.03} 0 .01"/>'
        tip = f'<site name="{finger}d" pos="{-side * 0.008} 0 .03"/>'
        text = text.replace(f'<body name="{finger}"', f'{ends}<body name="{finger}"')
        text = text.replace(f'<joint name="{finger}j"', f'{tip}<joint name="{finger}j"')
    return text


@pytest.mark.slow
@QUIET
@pytest.mark.parametrize(
    ("motor", "pulls_only"),
    [
        ('ctrlrange="-40 0"', True),
        ('gear="-1" ctrlrange="0 40"', True),
        ('ctrlrange="-40 40"', False),
    ],
)
def test_a_motor_on_a_cable_closes_as_a_position_on_it_does(motor, pulls_only, tmp_path):
    forces = "".join(f'<motor name="{item}" tendon="{item}t" {motor}/>' for item in "ab")
    hand = sg.load_hand(written(tmp_path, cabled(forces), "motor.xml"))
    servos = hand.model.servos
    assert [servo.joint for servo in servos] == ["at", "bt"]
    assert {(servo.force_limit, servo.pulls_only) for servo in servos} == {(40.0, pulls_only)}
    lengths = "".join(f'<position name="{item}" tendon="{item}t" kp="3000"/>' for item in "ab")
    position = sg.load_hand(written(tmp_path, cabled(lengths), "position.xml"))
    moved = hand.model.actuators
    assert moved[0].moves == moved[1].moves == ()
    for ours, theirs in zip(moved[2:], position.model.actuators, strict=True):
        assert ours.moves == theirs.moves
        assert ours.limits == pytest.approx(theirs.limits, rel=1e-12)


@QUIET
def test_forces_on_two_tendons_of_a_joint_are_refused(tmp_path, golden):
    forces = "".join(f'<motor name="{item}" tendon="{item}t"/>' for item in "ab")
    path = written(tmp_path, cabled(forces).replace('site="bd"', 'site="ad"'))
    golden.refused(lambda: sg.load_hand(path), "actuator 'b'")


OPTIONS = """<mujoco model="g"><compiler {option}/>
  <worldbody><body name="base" euler=".1 .2 .3"><geom type="box" size=".06 .025 .01" mass=".3"/>
    <body name="tag" pos="0 0 -.02"><geom type="box" size=".01 .01 .01" mass=".07" group="3"/>
    </body>
    <body name="lf" pos=".045 0 .01" euler=".3 -.1 .2">{inertial}
      <joint name="lj" type="slide" axis="-1 0 0" range="0 .04" limited="true" damping="5"/>
      <geom type="box" size=".005 .012 .03" pos="0 0 .03" mass=".05"/>
      <geom type="box" size=".005 .012 .03" pos="0 0 .05" group="2" contype="0" conaffinity="0"/>
    </body>
    <body name="rf" pos="-.045 0 .01">
      <joint name="rj" type="slide" axis="1 0 0" range="0 .04" limited="true" damping="5"/>
      <geom type="box" size=".005 .012 .03" pos="0 0 .03" mass=".05"/></body></body>
  </worldbody>
  <actuator><position name="la" joint="lj" kp="2000"/><position name="ra" joint="rj" kp="2000"/>
  </actuator></mujoco>"""
PLAIN = '<inertial pos="0 0 .03" mass=".05" diaginertia="3e-6 4e-6 5e-6"/>'
IMPOSSIBLE = '<inertial pos="0 0 .03" mass=".05" diaginertia="1e-6 2e-6 9e-6"/>'


@QUIET
@pytest.mark.parametrize(
    ("option", "inertial"),
    [
        ('settotalmass="2"', ""),
        ('settotalmass="2" fusestatic="true"', ""),
        ('fusestatic="true"', ""),
        ('balanceinertia="true"', IMPOSSIBLE),
        ('boundmass="0.06"', ""),
        ('boundinertia="1e-4"', ""),
        ('inertiafromgeom="true"', PLAIN),
        ('inertiagrouprange="0 1"', ""),
        ('inertiagrouprange="0 1" settotalmass="3"', ""),
        ('autolimits="false"', ""),
        ('alignfree="true"', ""),
        ('eulerseq="ZYX" angle="radian"', ""),
        ('eulerseq="zxy" angle="degree"', ""),
        ('coordinate="local"', ""),
    ],
)
def test_compiler_options_mean_what_they_mean_to_mujoco(option, inertial, tmp_path):
    """The hand in a scene has the masses, inertias and joints of the compiled file."""
    path = written(tmp_path, OPTIONS.format(option=option, inertial=inertial))
    ours = alone(read_model(path), (), path)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # settotalmass is deprecated
        raw = mujoco.MjModel.from_xml_path(str(path))
    for index in range(1, raw.nbody):
        theirs = raw.body(index)
        if "fusestatic" in option and not theirs.dofnum:
            continue
        body = ours.body(theirs.name)
        for name in ("mass", "inertia", "ipos", "iquat"):
            expected = getattr(theirs, name)
            np.testing.assert_allclose(getattr(body, name), expected, rtol=1e-9, atol=1e-12)
        if "fusestatic" not in option:
            np.testing.assert_allclose(body.pos, theirs.pos, atol=1e-12)
            np.testing.assert_allclose(body.quat, theirs.quat, atol=1e-12)
    for index in range(raw.njnt):
        theirs = raw.joint(index)
        for name in ("range", "limited", "damping", "axis"):
            expected = getattr(theirs, name)
            np.testing.assert_allclose(getattr(ours.joint(theirs.name), name), expected, rtol=1e-9)


@QUIET
def test_names_may_have_backslashes(tmp_path):
    (tmp_path / "parts").mkdir()
    trimesh.creation.box((0.01, 0.02, 0.07)).export(tmp_path / "parts" / "pad.stl")
    asset = r'<asset><mesh name="pad" file="{}"/></asset><worldbody>'
    text = MOTORS.replace('type="box" size=".005 .01 .035"', 'type="mesh" mesh="pad"')
    hands = [
        sg.load_hand(written(tmp_path, text.replace("<worldbody>", asset.format(name))))
        for name in (r"parts\pad.stl", "parts/pad.stl")
    ]
    assert hands[0].fingers == hands[1].fingers
    assert hands[0].grasps == hands[1].grasps


@QUIET
def test_fingers_that_are_only_drawn_are_named(tmp_path, golden):
    text = MOTORS.replace('pos="0 0 .035"/>', 'pos="0 0 .035" contype="0" conaffinity="0"/>')
    path = written(tmp_path, text)
    with pytest.raises(sg.DescriptionError) as caught:
        sg.load_hand(path)
    golden(caught.value, "expected fingers with collision geometry, found none")


@pytest.mark.slow
@QUIET
def test_motors_stay_at_zero_beside_added_servos(tmp_path):
    hand = sg.load_hand(written(tmp_path, MOTORS))
    assert [actuator.name for actuator in hand.actuators] == ["am", "bm", "aj", "bj"]
    assert [actuator.limits for actuator in hand.actuators] == [(0.0, 0.0)] * 2 + [(0.0, 1.0)] * 2
    assert {servo.force_limit for servo in hand.model.servos} == {1.2}  # gear 2 · 0.6
    ball = sg.GraspObject(name="ball", shape=sg.Sphere(radius=0.025), density=300.0)
    result = sg.simulate(sg.GraspScene(hand=hand, object=ball))
    assert result.status is sg.GraspStatus.CLOSED
    np.testing.assert_array_equal(result.joint_target[:, :2], 0.0)


@pytest.mark.slow
@QUIET
def test_a_wrist_comes_before_the_palm_and_stays(tmp_path):
    hand = sg.load_hand(written(tmp_path, WRIST))
    assert [finger.name for finger in hand.fingers] == ["wrist", "wristed_ff", "wristed_th"]
    wrist, first, thumb = hand.fingers
    assert [row.joint_name for row in wrist.phalanges] == ["wristed_wrist", "wristed_bend"]
    assert first.on == thumb.on == "wristed_palm"
    assert [row.bodies for row in first.phalanges] == [
        ("wristed_ff_one",),
        ("wristed_ff_two", "wristed_ff_tip"),
    ]
    for _, preset in hand.grasps:
        assert preset.rates[:2] == (0.0, 0.0)
    # two joints on one body: the first row has no body of its own
    assert thumb.phalanges[0].bodies == ()
    assert all("wristed_th_two" in actuator.stops for actuator in hand.actuators[4:])
    assert "wristed_palm" not in hand.actuators[2].stops


@QUIET
def test_a_linkage_is_stopped_by_all_that_it_moves(tmp_path):
    hand = sg.load_hand(written(tmp_path, LOOP))
    assert hand.actuators[0].stops == ("crank", "pad")
    assert hand.actuators[1].stops == ("thumb",)


def test_conflicts_with_the_scene_are_reported_once_each(tmp_path):
    text = TENDON.replace('friction="1"/>', 'friction="1" solref=".005 1"/>')
    file = written(tmp_path, text)
    with pytest.warns(SoftgraspWarning) as message:
        hand = sg.load_hand(file)
    assert [str(warning.message) for warning in message] == [
        "hand.xml: the floor 'floor' of the file is left out",
        "hand.xml: the free joint of body 'mount' is left out: the scene holds the hand, or lifts "
        "it",
        "hand.xml: 2 of its geoms have the friction 0.7 of the file, or the object's, if that is "
        "larger; contact.static_friction (--friction) replaces it",
        "hand.xml: the file compensates no weight (gravcomp): the scene does for all its bodies, "
        "as the controller of a hand on a robot (gravity_compensation: false in a YAML file "
        "beside the model prevents it)",
    ]
    assert hand.notes[-1] == (
        "options of the file are replaced by those of the scene: cone pyramidal, timestep 0.004"
    )


def test_a_clean_hand_is_loaded_in_silence(tmp_path, recwarn):
    clean = LOOP.replace("<body name", '<body gravcomp="1" name')
    sg.load_hand(written(tmp_path, clean))
    assert [str(warning.message) for warning in recwarn] == []


@QUIET
def test_joints_without_limits_are_reported(tmp_path):
    file = written(tmp_path, LOOP.replace('name="crank" range="0 .9"', 'name="crank"'))
    notes = sg.load_hand(file).notes
    assert "no limits: crank; targets stay within ±180° or ±0.1 m" in notes


MISTAKES = {
    "syntax": ("<mujoco>\n<worldbody>\n</mujoco>", "hand.xml:3: expected XML"),
    "root": ("<robot/>", "hand.xml:1: expected a MuJoCo model with the root element <mujoco>"),
    "include": ('<mujoco>\n<include file="more.xml"/>\n</mujoco>', "hand.xml:2: include.file"),
    "mesh": ('<mujoco><compiler meshdir="m"/>\n<asset><mesh file="a.stl"/></asset><worldbody><body>'
             '<joint/><geom type="mesh" mesh="a"/></body></worldbody></mujoco>',
             "hand.xml:2: mesh.file"),
    "joints": ("<mujoco><worldbody><body><geom size='1'/></body></worldbody></mujoco>",
               "hand.xml: expected a hand with hinge or slide joints"),
}  # fmt: skip


@pytest.mark.parametrize("kind", MISTAKES)
def test_mistakes_are_reported_with_file_and_line(tmp_path, kind, golden):
    text, part = MISTAKES[kind]
    file = written(tmp_path, text)
    golden.refused(lambda: sg.load_hand(file), part)


def test_what_mujoco_refuses_names_the_element_and_its_line(tmp_path):
    file = written(tmp_path, MOTORS.replace('joint="aj" gear', 'joint="ja" gear'))
    with pytest.raises(sg.DescriptionError) as refused:
        sg.load_hand(file)
    assert refused.value.file == file
    assert refused.value.field == "'am'"
    assert "unknown transmission target 'ja' for actuator id = 0" in str(refused.value)
    file = written(tmp_path, MOTORS.replace("<joint name", "<jiont name", 1))
    with pytest.raises(sg.DescriptionError) as refused:
        sg.load_hand(file)
    assert refused.value.line == 7
    assert "jiont" in str(refused.value)


def test_actuators_without_a_rest_are_refused(tmp_path, golden):
    motor = '<motor name="am" joint="aj" gear="2" ctrlrange="-.6 .6"/>'
    integrated = '<intvelocity name="am" joint="aj" kp="1" actrange="0 1"/>'
    file = written(tmp_path, MOTORS.replace(motor, integrated))
    golden.refused(lambda: sg.load_hand(file), "actuator 'am'")


@pytest.mark.slow
@QUIET
def test_a_side_file_replaces_what_was_detected(tmp_path):
    written(tmp_path, WRIST)
    side = tmp_path / "mine.yaml"
    side.write_text(
        "model: hand.xml\nname: mine\nunits: {length: mm, angle: deg}\n"
        "fingers: {wristed_ff: index}\n"
        "grasps: {power: {center: [1, 2, 90], rates: [0, 0, 57.3, 57.3, 0, 57.3, 57.3]}}\n"
    )
    hand, result = sg.load_hand(side), sg.load_hand(tmp_path / "hand.xml")
    assert hand.name == "mine"
    assert hand.fingers[1].name == "index"
    assert hand.grasps.power.center == pytest.approx((0.001, 0.002, 0.09))
    assert hand.grasps.power.rates[2] == pytest.approx(1.0, rel=1e-3)
    assert hand.grasps.power.start == result.grasps.power.start
    assert hand.grasps.precision == result.grasps.precision


@QUIET
@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("finger: 1", "mine.yaml:2: finger"),
        ("fingers: {wristed_fx: a}", "mine.yaml:2: fingers.wristed_fx"),
        ("grasps: {power: {rates: [1, 2]}}", "mine.yaml:2: grasps.power.rates"),
    ],
)
def test_mistakes_in_a_yaml_file_are_reported(tmp_path, text, part, golden):
    written(tmp_path, WRIST)
    side = tmp_path / "mine.yaml"
    side.write_text(f"model: hand.xml\n{text}")
    golden.refused(lambda: sg.load_hand(side), part)


@pytest.mark.slow
@QUIET
def test_a_scene_is_saved_and_refuses_a_changed_file(tmp_path):
    file = written(tmp_path, TENDON)
    ball = sg.GraspObject(name="ball", shape=sg.Sphere(radius=0.025), density=300.0)
    scene = sg.GraspScene(name="scene", hand=sg.load_hand(file), object=ball)
    again = sg.load_scene(sg.save_scene(scene, tmp_path / "scene.yaml"))
    assert again == scene
    file.write_text(TENDON.replace('damping=".02"', 'damping=".03"'))
    with pytest.raises(sg.DescriptionError) as refused:
        sg.compile_model(again.replace(hand=again.hand.replace(name="other")))
    target = again.hand.model.sha256
    assert re.fullmatch(
        rf"{re.escape(str(file))}: expected the model with SHA-256 {target}, found "
        r"\w{64}: the file, or one that it includes or a mesh of it, has changed",
        str(refused.value),
    )


@pytest.mark.slow
@QUIET
def test_what_is_detected_is_the_same_every_time(tmp_path):
    file = written(tmp_path, LOOP)
    assert mjcf_hand(file) == mjcf_hand(file)


@pytest.mark.slow
@QUIET
def test_a_hand_that_sags_from_the_side_has_its_palm_down():
    """Its fingers are held sideways by 5 N·m/rad only; palm down, they hang from stiffer ways."""
    hand = sg.load_hand(outside_file(ALLEGRO))
    frame = transform(quaternion=hand.model.pose.quaternion)
    assert frame[:3, :3] @ [0.0, 0.0, 1.0] == pytest.approx([0.0, 0.0, -1.0], abs=1e-9)


@QUIET
def test_a_stiff_hand_stands_so_that_long_objects_stand_in_it(tmp_path):
    hand = sg.load_hand(written(tmp_path, LOOP))
    frame = transform(quaternion=hand.model.pose.quaternion)
    assert np.abs(frame[:3, :3] @ [0.0, 1.0, 0.0]) == pytest.approx([0.0, 0.0, 1.0], abs=1e-6)
    for _, preset in hand.grasps:
        assert preset.object_euler == pytest.approx((0.0, 0.0, 0.0), abs=1e-6)


def test_a_hand_that_meets_no_ball_is_refused(tmp_path, golden):
    file = written(tmp_path, MOTORS.replace(".045 0 .02", ".4 0 .02"))
    with pytest.raises(sg.DescriptionError) as refused:
        sg.load_hand(file)
    golden(refused.value, "expected actuators that close the fingers on a ball")


@pytest.mark.slow
@QUIET
@pytest.mark.parametrize("grasp", ["power", "precision"])
@pytest.mark.parametrize("obj", ["sphere", "strawberry", "mug"])
def test_allegro_closes_on_everyday_objects(obj, grasp):
    """Its fingertips sink up to 0.62 mm, as its servos give way; 1.8 to 4.6 mm from the side."""
    hand = sg.load_hand(outside_file(ALLEGRO))
    scene = sg.GraspScene(
        hand=hand, object=sg.load_object(obj), grasp=grasp, success=sg.SuccessCriterion()
    )
    result = sg.simulate(scene)
    assert result.status is sg.GraspStatus.CLOSED
    assert sum(contact.in_contact for contact in result.contacts) >= 2
    assert result.held or grasp == "precision"
    assert result.hold.drop_m < 0.7e-3


@pytest.mark.slow
@QUIET
@pytest.mark.parametrize("grasp", ["power", "precision"])
@pytest.mark.parametrize("obj", ["sphere", "strawberry", "mug"])
def test_jaco_holds_everyday_objects(obj, grasp):
    third_party = pytest.importorskip("dm_control", reason="the Jaco is dm_control's").__path__[0]
    hand = sg.load_hand(Path(third_party) / "third_party/kinova/jaco_hand.xml")
    assert len(hand.model.servos) == 3
    scene = sg.GraspScene(
        hand=hand, object=sg.load_object(obj), grasp=grasp, success=sg.SuccessCriterion()
    )
    result = sg.simulate(scene)
    assert sum(contact.in_contact for contact in result.contacts) >= 2
    assert result.held


def test_forces_against_springs_are_actuators_that_close():
    """Where tendons pull sprung joints, the angles are gain · arm · signal / stiffness."""
    model = mujoco.MjModel.from_xml_string(robot_to_mjcf(load_robot("soft_gripper_two")))
    data = mujoco.MjData(model)
    (_, left, right), _ = model_actuators(model, {})
    assert left.limits == right.limits == (0.0, 1.5e5)
    model.opt.gravity[:] = 0.0
    data.ctrl[1:] = 3e4
    mujoco.mj_step(model, data, 3000)
    for move in (*left.moves, *right.moves):
        assert data.joint(move.joint).qpos[0] == pytest.approx(move.ratio * 3e4 + move.at, rel=1e-5)
