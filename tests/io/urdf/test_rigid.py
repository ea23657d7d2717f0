"""Robots with bendables as plain URDF: poses by constant curvature, equal masses, limits."""

import math
import re

import mujoco
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lxml import etree

from softgrasp.continuum import pcc
from softgrasp.description.bendable import Backbone, Bendable, CurvatureLimits, Inertial, Origin
from softgrasp.description.robot import Link, RigidJoint, Robot
from softgrasp.errors import SoftgraspWarning
from softgrasp.io.load import load_robot
from softgrasp.io.urdf import lower, read_robot, rigid_urdf
from softgrasp.io.urdf.rigid import BentState, frames_along
from softgrasp.mechanics.transforms import rotation_from_euler
from tests.support.robots import HINGE, outside_robot, written


def chain(count: int = 2, *, frame: str = "bishop", **backbone: float) -> Robot:
    """Bendables one on another, each of 0.1 kg."""
    shape = {"length": 0.3, "radius": 0.02, "links": 6} | backbone
    return Robot(
        name="chain",
        links=tuple(Link(name=f"l{i}") for i in range(count + 1)),
        bendables=tuple(
            Bendable(
                name=f"b{i}",
                parent=f"l{i}",
                child=f"l{i + 1}",
                frame=frame,
                limits=CurvatureLimits(kappa_max=20.0),
                backbone=Backbone(**shape),
                inertial=Inertial(mass=0.1),
            )
            for i in range(count)
        ),
    )


def model_of(urdf: str) -> tuple[mujoco.MjModel, mujoco.MjData]:
    """The model with all its links, which MuJoCo would merge where they do not move."""
    mujoco.MjModel.from_xml_string(urdf)
    spec = mujoco.MjSpec.from_string(urdf)
    spec.compiler.fusestatic = False
    model = spec.compile()
    data = mujoco.MjData(model)
    mujoco.mj_kinematics(model, data)
    mujoco.mj_comPos(model, data)
    return model, data


def bent(robot: Robot, *numbers: float) -> dict[str, tuple[float, ...]]:
    return {part.name: numbers for part in robot.bendables}


@pytest.mark.filterwarnings("ignore::softgrasp.errors.SoftgraspWarning")
@pytest.mark.parametrize(
    ("name", "link", "tip", "mass"),
    [
        ("roberto3.ucrdf.xacro", "eef", (0.57899, 0.3163, 0.47379), 0.9),
        ("gripper2.ucrdf", "left_tip", (-0.03125, 0.00478, 0.11933), 0.27),
    ],
)
def test_the_outside_robots_stand_where_other_programs_put_them(name, link, tip, mass):
    robot = read_robot(outside_robot(name))
    model, data = model_of(rigid_urdf(robot, bent(robot, 2.0, 0.5)))
    np.testing.assert_allclose(data.body(link).xpos, tip, atol=5.1e-6)
    assert model.body_mass.sum() == pytest.approx(mass, abs=1e-5)


@settings(max_examples=20, deadline=None)
@given(
    st.lists(st.tuples(st.floats(0, 19), st.floats(-7, 7), st.floats(0.1, 0.5)), min_size=1,
             max_size=3),
)  # fmt: skip
def test_ends_and_discs_stand_on_the_arcs(states):
    robot = chain(len(states))
    urdf = rigid_urdf(robot, {f"b{i}": state for i, state in enumerate(states)})
    model, data = model_of(urdf)
    base = np.eye(4)
    for index, (kappa, phi, length) in enumerate(states):
        for disc in range(1, 7):
            target = base @ pcc.segment_transform(kappa, phi, length * disc / 6)
            result = data.body(f"b{index}_disc{disc}")
            np.testing.assert_allclose(result.xpos, target[:3, 3], atol=1e-12)
            np.testing.assert_allclose(result.xmat.reshape(3, 3), target[:3, :3], atol=1e-12)
        base = base @ pcc.segment_transform(kappa, phi, length)
        np.testing.assert_allclose(data.body(f"l{index + 1}").xpos, base[:3, 3], atol=1e-12)
        parents = {model.body(f"b{index}_disc{disc}").parentid[0] for disc in range(1, 7)}
        assert parents == {model.body(f"l{index}").id}


def test_polynomial_curvature_bends_discs_and_end(golden):
    robot = chain(1)
    robot = robot.replace(bendables=(robot.bendables[0].replace(model="ppc", degree=2),))
    state = (1.0, -8.0, 12.0, 0.7)
    rigid, _ = lower(robot, {"b0": state})
    target = frames_along(robot.bendables[0], BentState(state[:3], 0.7, 0.3), np.arange(1, 7) / 6)
    for joint, frame in zip(rigid.joints, [*target, target[-1]], strict=True):
        np.testing.assert_allclose(joint.origin.xyz, frame[:3, 3], atol=1e-15)
    golden.refused(lambda: lower(robot, {"b0": (1.0, 0.0)}), "bendable 'b0'")


@pytest.mark.parametrize("rotation", [0.5, 1.0, 1.5, 1.9])
def test_quarter_rotations_keep_their_rotation(rotation):
    """Roll and yaw are not apart where the pitch is a quarter turn."""
    angle = rotation * math.pi
    joint = lower(chain(1), bent(chain(1), angle / 0.3, 0.3)).robot.joints[-1]
    target = pcc.segment_transform(angle / 0.3, 0.3, 0.3)
    np.testing.assert_allclose(
        rotation_from_euler(joint.origin.rpy), target[:3, :3], atol=1e-15
    )  # fmt: skip


def test_a_straight_robot_has_the_inertia_of_uniform_cylinders():
    model, data = model_of(rigid_urdf(chain(1)))
    discs = range(model.body("b0_disc1").id, model.body("b0_disc6").id + 1)
    mass = model.body_mass[discs]
    assert mass.sum() == pytest.approx(0.1, rel=1e-12)
    centre = mass @ data.xipos[discs] / mass.sum()
    np.testing.assert_allclose(centre, (0, 0, 0.15), atol=1e-12)
    about = sum(
        data.ximat[i].reshape(3, 3) @ np.diag(model.body_inertia[i]) @ data.ximat[i].reshape(3, 3).T
        + m * (np.dot(r, r) * np.eye(3) - np.outer(r, r))
        for i, m, r in zip(discs, mass, data.xipos[discs] - centre, strict=True)
    )
    across = 0.1 * (3 * 0.02**2 + 0.3**2) / 12
    np.testing.assert_allclose(about, np.diag([across, across, 0.1 * 0.02**2 / 2]), atol=1e-15)


@pytest.mark.parametrize(("discs", "links", "count"), [(0, 6, 6), (4, 6, 4)])
def test_as_many_discs_as_specified_or_as_links(discs, links, count):
    rigid = lower(chain(1, discs=discs, links=links)).robot
    assert [link.name for link in rigid.links[2:]] == [f"b0_disc{i + 1}" for i in range(count)]


@pytest.mark.parametrize(
    ("length", "thickness"), [(0.3, 0.002), (10.0, 0.002), (0.03, 0.00025), (0.021, 0.0002)]
)
def test_discs_are_thin(length, thickness):
    disc = lower(chain(1, length=length, links=6)).robot.links[-1].visuals[0].shape
    assert disc.radius == 0.02
    assert disc.height == pytest.approx(thickness)


def test_floating_joints_are_those_that_bending_moves():
    robot = chain(1)
    robot = robot.replace(
        links=(*robot.links, Link(name="tool")),
        joints=(RigidJoint(name="flange", type="fixed", parent="l1", child="tool"),),
    )
    fixed, floating = (rigid_urdf(robot, discs=kind) for kind in ("fixed", "floating"))
    assert floating.count('type="floating"') == 7
    assert floating.replace('"floating"', '"fixed"') == fixed
    kinds = {j.get("name"): j.get("type") for j in etree.fromstring(floating).iter("joint")}
    assert (kinds["flange"], kinds["b0"], kinds["b0_disc1_joint"]) == (
        "fixed",
        "floating",
        "floating",
    )


def test_other_kinds_of_discs_are_refused(golden):
    golden.refused(lambda: rigid_urdf(chain(1), discs="loose"), "discs")


def test_rigid_parts_stay_and_new_names_are_free():
    robot = load_robot("rigid_soft_finger")
    taken = robot.replace(
        control=(),
        links=(*robot.links, Link(name="finger_disc2")),
        joints=(
            *robot.joints,
            RigidJoint(name="finger_disc1_joint", type="fixed", parent="palm",
                       child="finger_disc2"),
        ),
    )  # fmt: skip
    rigid, moved = lower(taken)
    assert rigid.links[: len(robot.links)] == robot.links
    assert rigid.joints[: len(taken.joints)] == taken.joints
    assert {"finger_disc2_", "finger_disc1"} <= {link.name for link in rigid.links}
    assert "finger_disc1_joint_" in moved


def test_a_robot_without_bendables_keeps_its_control(tmp_path):
    text = HINGE.replace(
        "</robot>",
        '<ros2_control name="c"><hardware><plugin>P</plugin></hardware><joint name="elbow">'
        '<state_interface name="position"/></joint></ros2_control></robot>',
    )
    robot = read_robot(written(tmp_path, text))
    assert lower(robot) == (robot, frozenset())
    assert read_robot(written(tmp_path, rigid_urdf(robot), "again.urdf")) == robot


def test_plain_urdf_is_read_without_a_warning(tmp_path):
    urdf = rigid_urdf(chain(2), bent(chain(2), 3.0, 1.0))
    assert (
        read_robot(written(tmp_path, urdf, "rigid.urdf"))
        == lower(chain(2), bent(chain(2), 3.0, 1.0)).robot
    )


@pytest.mark.parametrize(
    ("state", "sentence"),
    [
        ({"b7": (1.0, 0.0)}, "no bendable 'b7'"),
        ({"b0": (1.0,)}, "bendable 'b0'"),
        ({"b0": (1.0, 0.0, 0.0)}, "bendable 'b0'"),
        ({"b0": (math.nan, 0.0)}, "bendable 'b0'"),
    ],
)
def test_states_that_do_not_fit(state, sentence, golden):
    golden.refused(lambda: rigid_urdf(chain(2), state), sentence)


@pytest.mark.parametrize(
    ("state", "sentence"),
    [
        ((21.0, 0.0), "curvature 21 1/m is above its limit 20 1/m"),
        ((1.0, 2.0), "phi 2 is outside its range from -1 to 1"),
        ((1.0, 0.0, 0.36), "elongation 0.2 is outside its range from 0 to 0.1"),
    ],
)
def test_states_beyond_the_limits_are_reported(state, sentence):
    robot = chain(1)
    limits = CurvatureLimits(kappa_max=20.0, phi_min=-1.0, phi_max=1.0, eps_min=0.0, eps_max=0.1)
    robot = robot.replace(bendables=(robot.bendables[0].replace(limits=limits),))
    with pytest.warns(SoftgraspWarning, match=re.escape(f"chain: bendable 'b0': {sentence}")):
        lower(robot, {"b0": state})


def test_what_plain_urdf_cannot_hold_is_reported():
    robot = load_robot("three_segment_arm")
    odd = Inertial(mass=0.3, origin=Origin(xyz=(0.0, 0.0, 0.1)))
    robot = robot.replace(
        bendables=(robot.bendables[0].replace(inertial=odd), *robot.bendables[1:])
    )
    with pytest.warns(SoftgraspWarning) as message:
        rigid_urdf(robot)
    assert [str(warning.message) for warning in message] == [
        "three_segment_arm: bendable 'segment1': its inertia is replaced by that of a uniform "
        "cylinder",
        "three_segment_arm: ros2_control 'three_segment_arm' is left out: plain URDF has no "
        "curvature to command",
    ]
