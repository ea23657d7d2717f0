"""URDF robots as hands: frames, masses, names, servos, and what cannot be true."""

import re
import warnings
from pathlib import Path

import mujoco
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import softgrasp as sg
from softgrasp.description.hand import Hand
from softgrasp.description.robot import RigidJoint
from softgrasp.io.urdf.links import HAND, frame_along, servo_fields
from softgrasp.io.urdf.reader import read_robot
from softgrasp.mechanics.robot_kinematics import fuse
from softgrasp.model.hand import build_hand_spec
from tests.support.robots import written
from tests.support.urdf_hands import (
    BODY,
    BOX,
    GRIPPER,
    LEFT,
    LIMIT,
    PALM,
    REAL,
    RIGHT,
    bare_text,
    joint,
    link,
    real_hand,
    robot,
)

LEFT_1 = joint("left_1", "base", "left_near", "-0.05 0 0").partition(">")[2].rstrip()
"""All of that joint but its type."""


def hand_of(directory: Path, text: str) -> Hand:
    return sg.load_hand(written(directory, text, "hand.urdf"))


def refused(directory: Path, text: str) -> str:
    path = written(directory, text, "hand.urdf")
    with pytest.raises(sg.DescriptionError) as caught:
        sg.load_hand(path)
    return str(caught.value).removeprefix(f"{path}:").strip()


def quietly(path: Path) -> Hand:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", sg.SoftgraspWarning)
        return sg.load_hand(path)


def imported(text: str, directory: Path) -> mujoco.MjModel:
    """MuJoCo's own reading of a URDF."""
    return mujoco.MjModel.from_xml_path(str(written(directory, text, "bare.urdf")))


def same_posture(
    ours: mujoco.MjModel, theirs: mujoco.MjModel, rng: np.random.Generator
) -> tuple[mujoco.MjData, mujoco.MjData]:
    """Both models with the same random joint variables."""
    pair = mujoco.MjData(ours), mujoco.MjData(theirs)
    for index in range(theirs.njnt):
        name = theirs.joint(index).name
        value = rng.uniform(-2.0, 2.0)
        for model, data in zip((ours, theirs), pair, strict=True):
            data.qpos[model.joint(name).qposadr[0]] = value
    for model, data in zip((ours, theirs), pair, strict=True):
        mujoco.mj_forward(model, data)
    return pair


@pytest.mark.slow
@pytest.mark.parametrize("name", REAL)
def test_bodies_stand_where_mujocos_import_has_them(name, tmp_path):
    path = real_hand(name)
    axes = {j.child: j.axis for j in fuse(read_quietly(path)).robot.joints}
    ours = build_hand_spec(quietly(path)).compile()
    theirs = imported(bare_text(path), tmp_path)
    rng = np.random.default_rng(1)
    for _ in range(5):
        here, there = same_posture(ours, theirs, rng)
        for body, axis in axes.items():
            assert here.body(body).xpos == pytest.approx(there.body(body).xpos, abs=1e-9)
            frame = there.body(body).xmat.reshape(3, 3) @ frame_along(axis)[:3, :3]
            assert here.body(body).xmat.reshape(3, 3) == pytest.approx(frame, abs=1e-9)


def read_quietly(path: Path) -> sg.description.robot.Robot:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", sg.SoftgraspWarning)
        return read_robot(path)


@pytest.mark.parametrize("name", REAL[:2])
def test_masses_and_inertias_are_those_of_mujocos_import(name, tmp_path):
    """The inertia that each pair of joints feels, fixed links and all, without the drives' own."""
    path = real_hand(name)
    check_inertia(quietly(path), imported(bare_text(path), tmp_path))


def check_inertia(hand: Hand, theirs: mujoco.MjModel) -> None:
    ours = build_hand_spec(hand).compile()
    here, there = same_posture(ours, theirs, np.random.default_rng(2))
    names = [theirs.joint(index).name for index in range(theirs.njnt)]
    result = []
    for model, data in ((ours, here), (theirs, there)):
        full = np.zeros((model.nv, model.nv))
        mujoco.mj_fullM(model, data, full)
        full -= np.diag(model.dof_armature)
        dofs = [int(model.joint(name).dofadr[0]) for name in names]
        result.append(full[np.ix_(dofs, dofs)])
    assert result[0] == pytest.approx(result[1], rel=1e-9, abs=1e-12)


WEDGE = "v 0 0 0\nv {0} 0 0\nv 0 0.02 0\nv 0 0 0.06\nf {1}\nf {2}\nf {3}\nf {4}\n"


def test_a_mirrored_mesh_is_the_mesh_of_the_mirrored_file(tmp_path):
    written(tmp_path, WEDGE.format(0.01, "1 3 2", "1 2 4", "1 4 3", "2 3 4"), "wedge.obj")
    written(tmp_path, WEDGE.format(-0.01, "1 2 3", "1 4 2", "1 3 4", "2 4 3"), "baked.obj")
    models = []
    for mesh in ('filename="wedge.obj" scale="-1 1 1"', 'filename="baked.obj"'):
        shape = f"<geometry><mesh {mesh}/></geometry>"
        inside = f"<visual>{shape}</visual><collision>{shape}</collision>"
        path = written(tmp_path, GRIPPER.replace(BODY + BOX, inside), "hand.urdf")
        models.append(build_hand_spec(quietly(path)).compile())
    mirrored, baked = models
    np.testing.assert_allclose(mirrored.body_mass, baked.body_mass, rtol=1e-9)
    np.testing.assert_allclose(mirrored.body_inertia, baked.body_inertia, rtol=1e-9)
    np.testing.assert_allclose(mirrored.body_ipos, baked.body_ipos, atol=1e-9)
    assert (mirrored.mesh_vertnum == baked.mesh_vertnum).all()


def test_fixed_links_weigh_what_they_did(tmp_path):
    tip = link("tip", BODY) + joint(
        "fix", "left_far", "tip", "0 0.01 0.06", kind="fixed", rpy="0.3 -0.2 1", inside=""
    )
    text = robot(PALM, LEFT, RIGHT, tip)
    hand = hand_of(tmp_path, text)
    path = written(tmp_path, text)
    check_inertia(hand, imported(bare_text(path), tmp_path))


def test_the_gripper_as_a_hand(tmp_path):
    hand = hand_of(tmp_path, GRIPPER)
    assert [finger.name for finger in hand.fingers] == ["left", "right"]
    assert [finger.convention for finger in hand.fingers] == ["placed", "placed"]
    assert [actuator.name for actuator in hand.actuators] == [
        "left_1", "left_2", "right_1", "right_2",
    ]  # fmt: skip
    assert hand.actuators[0].stops == ("left_near", "left_far")
    row = hand.fingers[0].phalanges[0]
    assert (row.force_limit, row.limits) == (2.0, (-0.2, 1.2))
    assert row.servo_stiffness == pytest.approx(2.0 / np.radians(10.0))
    assert hand.palm.kind == "shape"
    assert hand.notes == ()


def test_the_end_of_a_finger_is_its_far_end_or_the_empty_link_there(tmp_path):
    end = sg.mechanics.forward_kinematics(hand_of(tmp_path, GRIPPER).fingers[0], [0.0, 0.0])[-1]
    finger = hand_of(tmp_path, GRIPPER).fingers[0]
    assert (end @ [*finger.tip, 1.0])[:3] == pytest.approx([-0.05, 0.0, 0.125], abs=1e-3)
    mark = '<link name="mark"/>' + joint(
        "at", "left_far", "mark", "0.01 0 0.05", kind="fixed", inside=""
    )
    finger = hand_of(tmp_path, robot(PALM, LEFT, RIGHT, mark)).fingers[0]
    assert (end @ [*finger.tip, 1.0])[:3] == pytest.approx([-0.04, 0.0, 0.115])


def test_a_wrist_stands_still(tmp_path):
    forearm = link("forearm", BOX) + joint("turn", "forearm", "base", "0 0 0.1", "0 0 1")
    palm = PALM.replace("<collision>", BODY + "<collision>")
    hand = hand_of(tmp_path, robot(forearm, palm, LEFT, RIGHT))
    assert [(f.name, f.on) for f in hand.fingers] == [
        ("wrist", ""),
        ("left", "base"),
        ("right", "base"),
    ]
    assert hand.grasps.power.rates[0] == 0.0
    assert hand.grasps.power.start[0] == 0.0
    assert hand.actuators[0].stops == (
        *("base", "left_near", "left_far", "right_near", "right_far"),
    )


def test_a_finger_that_branches(tmp_path):
    twin = link("twin_far") + joint("twin_2", "left_near", "twin_far", "0 0.04 0.065")
    hand = hand_of(tmp_path, robot(PALM, LEFT, RIGHT, twin))
    assert [(f.name, f.on) for f in hand.fingers] == [
        ("left_near", ""), ("left_far", "left_near"), ("twin_far", "left_near"), ("right", ""),
    ]  # fmt: skip


def test_reserved_names_are_kept_free(tmp_path):
    text = GRIPPER.replace("left_near", "palm").replace("left_1", "wrist")
    hand = hand_of(tmp_path, text)
    assert hand.fingers[0].phalanges[0].name == "hand_palm"
    assert hand.notes == (
        "link 'palm' is called 'hand_palm', as softgrasp uses that name or cannot write it",
        "joint 'wrist' is called 'hand_wrist', as softgrasp uses that name or cannot write it",
    )


@settings(max_examples=20, deadline=None)
@given(st.floats(1e-2, 100.0), st.floats(0.02, 0.5), st.floats(0.0, 20.0))
def test_no_effort_gives_more_than_the_largest_plausible_force(effort, reach, mass):
    """Believed efforts remain as they are; others give the default force at the end."""
    joint = RigidJoint(
        name="j", type="revolute", parent="a", child="b", lower=0.0, upper=1.0, effort=effort
    )
    notes: list[str] = []
    force = servo_fields(joint, reach, mass, HAND, notes)["force_limit"] / reach
    bound = max(500.0, 100.0 * 9.81 * mass)
    assert force == pytest.approx(effort / reach if effort / reach <= bound else 15.0)
    assert bool(notes) == (effort / reach > bound)


def test_a_placeholder_of_100_is_replaced_with_a_warning(tmp_path):
    path = tmp_path / "hand.urdf"
    path.write_text(GRIPPER.replace('effort="2"', 'effort="100"'), "utf-8")
    with pytest.warns(sg.SoftgraspWarning, match="joint 'left_1' states an effort of 100 N·m"):
        hand = sg.load_hand(path)
    assert all(row.force_limit < 5.0 for f in hand.fingers for row in f.phalanges if row.driven)


@pytest.mark.parametrize("effort", ["", 'effort="0"', 'effort="1000"'])
def test_an_effort_that_cannot_be_true(effort, tmp_path):
    """15 N at 65 mm to the next joint and the far end of the last link."""
    text = GRIPPER.replace('effort="2"', effort, 1)
    hand = quietly(written(tmp_path, text, "hand.urdf"))
    finger = hand.fingers[0]
    lever = 0.065 + np.linalg.norm(finger.tip)
    assert finger.phalanges[0].force_limit == pytest.approx(15.0 * lever)
    assert finger.phalanges[1].force_limit == 2.0
    result = {"": "no effort", 'effort="0"': "an effort of 0 N·m"}.get(
        effort,
        f"an effort of 1000 N·m, {1000.0 / lever:.3g} N at the end of each chain, implausible "
        "above 500 N",
    )
    assert hand.notes == (
        f"joint 'left_1' states {result}: its actuator is limited to {15.0 * lever:.3g} N·m, 15 N "
        "at the end of each chain that it moves",
    )


def test_no_actuator_is_faster_than_its_joint(tmp_path):
    slow = hand_of(tmp_path, GRIPPER.replace('velocity="3"', 'velocity="0.25"'))
    assert max(map(abs, slow.grasps.power.rates)) == pytest.approx(0.25)
    assert max(map(abs, slow.grasps.precision.rates)) == pytest.approx(0.25)


def test_masses_that_no_hand_has(tmp_path):
    text = GRIPPER.replace('<mass value="0.05"/>', '<mass value="5e4"/>')
    caught = (
        "robot 'gripper': expected a hand of less than 50 kg, found 200,000 kg; its masses are "
        "replaced by those of its collision shapes at 1300 kg/m³ (a YAML file with `model:` can "
        "set another density)"
    )
    with pytest.warns(sg.SoftgraspWarning, match=f"^{re.escape(caught)}$"):
        hand = hand_of(tmp_path, text)
    model = build_hand_spec(hand).compile()
    volume = 0.014 * 0.03 * 0.06
    assert model.body("left_far").mass[0] == pytest.approx(1300.0 * volume)


def test_inertias_that_no_body_has(tmp_path):
    text = GRIPPER.replace('ixx="2e-5"', 'ixx="9e-5"', 1)
    hand = hand_of(tmp_path, text)
    assert hand.notes == (
        "link 'left_near' states principal moments of inertia 4e-06, 2e-05, 9e-05 kg·m², which "
        "are not physical; its inertia is that of its shape",
    )
    model = build_hand_spec(hand).compile()
    assert model.body("left_near").mass[0] == 0.05
    sides = np.array([0.014, 0.03, 0.06])
    box = 0.05 / 12.0 * np.sort((sides**2).sum() - sides**2)
    assert np.sort(model.body("left_near").inertia) == pytest.approx(box)


@pytest.mark.slow
def test_links_without_collision(tmp_path):
    seen = BOX.replace("collision", "visual")
    only_seen = hand_of(tmp_path, GRIPPER.replace(BODY + BOX, BODY + seen, 1))
    assert only_seen.notes == ("link 'left_near' has no <collision>; its visuals are used",)
    bare = hand_of(tmp_path, GRIPPER.replace(BODY + BOX, BODY, 1))
    assert bare.notes == ("link 'left_near' has a mass but no shape: it cannot collide",)
    assert bare.fingers[0].has_body == (False, True)
    assert build_hand_spec(bare).compile().body("left_near").mass[0] == 0.05
    empty = hand_of(tmp_path, GRIPPER.replace(BODY + BOX, "", 1))
    assert empty.notes == ("link 'left_near' has no body; its mass is set to 0.001 g",)


def test_an_image_that_is_missing_is_left_out(tmp_path):
    lost = '<visual><geometry><mesh filename="no.stl"/></geometry></visual>'
    text = GRIPPER.replace(BODY + BOX, lost + BODY + BOX, 1)
    path = written(tmp_path, text, "hand.urdf")
    caught = f"{path}: left out: <visual> 'no.stl' (line 3), no such file"
    with pytest.warns(sg.SoftgraspWarning, match=f"^{re.escape(caught)}$"):
        sg.load_hand(path)


@pytest.mark.parametrize(
    "shape",
    [
        '<sphere radius="0"/>',
        '<sphere radius="0.0"/>',
        '<box size="0.1 0 0.1"/>',
        '<cylinder radius="0.01" length="0e-3"/>',
        '<mesh filename="none.stl" scale="1 1 0"/>',
    ],
)
def test_shapes_without_volume_are_left_out(shape, tmp_path):
    plain = hand_of(tmp_path, GRIPPER)
    for tag in ("visual", "collision"):
        empty = f"<{tag}><geometry>{shape}</geometry></{tag}>"
        path = written(tmp_path, GRIPPER.replace(BODY, BODY + empty, 1), "hand.urdf")
        if tag == "visual":
            assert sg.load_hand(path) == plain
            continue
        kind = shape.partition(" ")[0].strip("<")
        caught = f"{path}: left out: <collision> of size 0, <{kind}> of link 'left_near' (line 3)"
        with pytest.warns(sg.SoftgraspWarning, match=f"^{re.escape(caught)}$"):
            assert sg.load_hand(path) == plain


def test_a_finger_that_slides_by_metres_is_in_millimetres(tmp_path, golden):
    text = GRIPPER.replace('type="revolute"', 'type="prismatic"', 1)
    text = text.replace(LIMIT, '<limit lower="0" upper="40" effort="2" velocity="30"/>', 1)
    golden(refused(tmp_path, text), "5: joint 'left_1': limit.upper")


def test_collada_needs_its_reader_for_what_collides_only(tmp_path, monkeypatch, golden):
    monkeypatch.setattr("importlib.util.find_spec", lambda _name: None)
    written(tmp_path, "", "tip.dae")
    drawn = '<visual><geometry><mesh filename="tip.dae"/></geometry></visual>'
    path = written(tmp_path, GRIPPER.replace(BODY + BOX, drawn + BODY + BOX), "hand.urdf")
    cure = "pip install 'softgrasp[mesh]'"
    caught = (
        f"{path}: left out: <visual> 'tip.dae' (line 3), 'tip.dae' (line 4), 'tip.dae' (line 7) "
        f"and 1 more, which need pycollada: {cure}"
    )
    with pytest.warns(sg.SoftgraspWarning, match=f"^{re.escape(caught)}$"):
        sg.load_hand(path)
    path = written(tmp_path, GRIPPER.replace(BOX, drawn, 1), "hand.urdf")
    golden.refused(lambda: sg.load_hand(path), "line 3", sg.BackendUnavailable)


def test_links_without_inertial_weigh_their_shapes(tmp_path):
    assert GRIPPER.count(BODY + BOX) > 1
    hand = sg.load_hand(written(tmp_path, GRIPPER.replace(BODY + BOX, BOX), "hand.urdf"))
    rows = [row for finger in hand.fingers for row in finger.phalanges]
    assert {row.density for row in rows if row.density} == {1300.0}
    stated = [note for note in hand.notes if "no mass" in note]
    assert len(stated) == 1  # one message for all links
    assert stated[0].startswith("links 'left_near', ")
    assert stated[0].endswith(
        ": no mass in the file; masses are those of the collision shapes at 1300 kg/m³ (a YAML "
        "file with `model:` can set another density)"
    )


ZERO = '<inertial><mass value="0"/><inertia ixx="0" ixy="0" ixz="0" iyy="0" iyz="0" izz="0"/>'


def test_a_frame_link_of_mass_0_has_no_mass(tmp_path):
    """With it and without it a hand is the same, at its root and between its links."""
    base = PALM.replace("base", "palm", 1)
    mount = [
        link("base", inside)
        + base
        + joint("mount", "base", "palm", "0 0 0.01", "1 0 0", "", "fixed")
        for inside in ("", f"{ZERO}</inertial>")
    ]
    bare, zero = (hand_of(tmp_path, robot(item, LEFT, RIGHT)) for item in mount)
    assert bare == zero


def test_a_moving_link_of_mass_0_weighs_its_shapes(tmp_path):
    zero = hand_of(tmp_path, GRIPPER.replace(BODY, f"{ZERO}</inertial>", 1))
    assert zero == hand_of(tmp_path, GRIPPER.replace(BODY, "", 1))


def test_prefixes_may_be_undeclared(tmp_path):
    extra = '<drake:proximity_properties drake:kind="pad"/>'
    path = written(tmp_path, GRIPPER.replace(BOX, BOX + extra, 1), "hand.urdf")
    caught = f"{path}: left out: <drake:proximity_properties> (line 3)"
    with pytest.warns(sg.SoftgraspWarning, match=f"^{re.escape(caught)}$"):
        hand = sg.load_hand(path)
    plain = sg.load_hand(written(tmp_path, GRIPPER, "plain.urdf"))
    assert hand.grasps == plain.grasps


@pytest.mark.parametrize(("upper", "messages"), [(0.995, 0), (0.9, 1)])
def test_a_follower_may_miss_one_per_cent_of_its_leader(upper, messages, tmp_path, recwarn):
    limit = 'lower="0" upper="1" effort="2" velocity="3"/>'
    follower = f'lower="0" upper="{upper}" effort="2" velocity="3"/><mimic joint="left_1"/>'
    text = COUPLED.replace("LEADS", f"<limit {limit}").replace("FOLLOWS", f"<limit {follower}")
    hand = sg.load_hand(written(tmp_path, text, "hand.urdf"))
    assert sum("follows" in str(item.message) for item in recwarn) == messages
    assert hand.actuators[0].limits == (0.0, upper)


COUPLED = """<robot name="pair">
<link name="base"><collision><geometry><box size="0.1 0.04 0.02"/></geometry></collision></link>
<link name="left"><collision><origin xyz="0 0 0.03"/>
<geometry><box size="0.01 0.03 0.06"/></geometry></collision></link>
<link name="right"><collision><origin xyz="0 0 0.03"/>
<geometry><box size="0.01 0.03 0.06"/></geometry></collision></link>
<joint name="left_1" type="revolute"><parent link="base"/><child link="left"/>
<origin xyz="0 0.05 0.01"/><axis xyz="1 0 0"/>LEADS</joint>
<joint name="right_1" type="revolute"><parent link="base"/><child link="right"/>
<origin xyz="0 -0.05 0.01"/><axis xyz="-1 0 0"/>FOLLOWS</joint>
</robot>
"""


@pytest.mark.parametrize(
    ("old", "new", "sentence"),
    [
        (f'type="revolute">{LEFT_1}', f'type="continuous">{LEFT_1.replace(LIMIT, "")}',
         "5: joint 'left_1': type"),
        (LIMIT, LIMIT + '<mimic joint="nobody"/>', "5: joint 'left_1': mimic.joint"),
        ('lower="-0.2"', 'lower="nan"', "5: joint 'left_1': limit.lower"),
    ],
)  # fmt: skip
def test_mistakes(old, new, sentence, tmp_path, golden):
    assert old in GRIPPER
    result = refused(tmp_path, GRIPPER.replace(old, new, 1))
    golden(result, sentence)


def test_mimics_in_a_circle(tmp_path, golden):
    text = GRIPPER.replace(LIMIT, LIMIT + '<mimic joint="left_2"/>', 1)
    text = text.replace(LIMIT + "</joint>", LIMIT + '<mimic joint="left_1"/></joint>', 1)
    golden(refused(tmp_path, text), "5: joint 'left_1': mimic.joint")


def test_nothing_that_moves(tmp_path, golden):
    golden(refused(tmp_path, robot(PALM)), "1: robot 'gripper'")
