"""Bendables as chains of revolute joints: tips on the arcs, masses, mimics, what is refused."""

import math

import mujoco
import numpy as np
import pytest
from lxml import etree

from softgrasp.continuum import pcc
from softgrasp.description.bendable import Backbone, Bendable, CurvatureLimits, Inertial
from softgrasp.description.geometry import Sphere
from softgrasp.description.robot import Link, LinkShape, Robot
from softgrasp.errors import DescriptionError, SoftgraspWarning
from softgrasp.io.load import load_robot
from softgrasp.io.urdf import joint_angles, pseudo_rigid, pseudo_rigid_urdf, read_robot
from tests.support.robots import written

LENGTH, MASS = 0.3, 0.1
THETA = math.radians(60.0)


def bendable(**changes: object) -> Bendable:
    shape = {"length": LENGTH, "radius": 0.02, "links": 10, "bending_stiffness": 0.1}
    base = {
        "name": "b",
        "parent": "base",
        "child": "end",
        "limits": CurvatureLimits(theta_max=THETA),
        "backbone": Backbone(**(shape | changes.pop("backbone", {}))),
        "inertial": Inertial(mass=MASS),
    }
    return Bendable(**(base | changes))


def robot_of(part: Bendable, end: Link | None = None) -> Robot:
    return Robot(name="r", links=(Link(name="base"), end or Link(name="end")), bendables=(part,))


def tip(robot: Robot, state: dict[str, tuple[float, ...]]) -> tuple[np.ndarray, np.ndarray]:
    """Position and rotation of the end link with all joints at their angles, as MuJoCo has it."""
    spec = mujoco.MjSpec.from_string(pseudo_rigid_urdf(robot))
    spec.compiler.fusestatic = False
    model = spec.compile()
    data = mujoco.MjData(model)
    for name, angle in joint_angles(robot, state).items():
        data.qpos[model.joint(name).qposadr[0]] = angle
    mujoco.mj_kinematics(model, data)
    return data.body("end").xpos.copy(), data.body("end").xmat.reshape(3, 3).copy()


@pytest.mark.parametrize("phi", [0.0, 0.7, -2.5])
def test_the_tip_converges_to_the_arc_with_the_square_of_the_cells(phi):
    """The chord of n cells with joints in their middles errs by (θ/n)²/12 of the length."""
    target = pcc.segment_transform(THETA / LENGTH, phi, LENGTH)
    errors = []
    for cells in (8, 16, 32):
        part = bendable(backbone={"links": cells})
        position, rotation = tip(robot_of(part), {"b": (THETA / LENGTH, phi)})
        errors.append(np.linalg.norm(position - target[:3, 3]) / LENGTH)
        assert np.arccos(min(1.0, rotation[:, 2] @ target[:3, 2])) < 2.0 * (THETA / cells) ** 2
    assert errors[0] < 3.0 * (THETA / 8) ** 2 / 12.0
    np.testing.assert_allclose(np.array(errors[:-1]) / errors[1:], 4.0, rtol=0.06)


def test_a_planar_bendable_has_one_joint_a_cell_and_follows_its_first():
    limits = CurvatureLimits(theta_max=THETA, phi_min=0.5, phi_max=0.5)
    chain = pseudo_rigid(robot_of(bendable(limits=limits)))
    bends = [joint for joint in chain.joints if joint.type == "revolute"]
    assert [joint.name for joint in bends] == [f"b_bend{k}" for k in range(1, 11)]
    assert [joint.mimic.joint if joint.mimic else None for joint in bends] == [
        None, *["b_bend1"] * 9,
    ]  # fmt: skip
    assert {(joint.lower, joint.upper) for joint in bends} == {(-THETA / 10, THETA / 10)}


def test_polynomial_curvature_has_independent_joints_that_add_up():
    part = bendable(model="ppc", degree=1)
    robot = robot_of(part)
    chain = pseudo_rigid(robot)
    assert [joint for joint in chain.joints if joint.mimic is not None] == []
    angles = joint_angles(robot, {"b": (1.0, 2.0, 0.0)})
    assert sum(angles.values()) == pytest.approx(LENGTH * (1.0 + 2.0 / 2.0), rel=1e-12)


@pytest.mark.filterwarnings("ignore::softgrasp.errors.SoftgraspWarning")
@pytest.mark.parametrize("name", ["soft_gripper_two", "three_segment_arm"])
def test_every_link_has_an_inertial_and_the_mass_stays(name):
    robot = load_robot(name)
    chain = pseudo_rigid(robot)
    assert all(link.inertial is not None for link in chain.links)
    before = [part.inertial for part in (*robot.links, *robot.bendables)]
    mass = sum(inertial.mass for inertial in before if inertial is not None)
    bare = sum(link.inertial is None for link in robot.links)
    total = sum(link.inertial.mass for link in chain.links if link.inertial)
    assert total == pytest.approx(mass + 1e-6 * bare, rel=1e-12)


def test_collision_shapes_stay_apart_when_bent_to_the_limit():
    """Neighbours, and the cells that a ball at the end reaches into, do not touch."""
    ball = LinkShape(shape=Sphere(radius=0.04))
    robot = robot_of(bendable(), Link(name="end", collisions=(ball,)))
    model = mujoco.MjModel.from_xml_string(pseudo_rigid_urdf(robot))
    data = mujoco.MjData(model)
    for phi in (0.0, 0.8):
        for name, angle in joint_angles(robot, {"b": (THETA / LENGTH, phi)}).items():
            data.qpos[model.joint(name).qposadr[0]] = angle
        mujoco.mj_forward(model, data)
        assert data.ncon == 0
    assert model.ngeom >= 10


def test_it_is_read_again(tmp_path):
    robot = robot_of(bendable())
    assert read_robot(written(tmp_path, pseudo_rigid_urdf(robot), "a.urdf")) == pseudo_rigid(robot)
    rigid = pseudo_rigid(robot)
    assert pseudo_rigid(rigid) == rigid
    assert not etree.fromstring(pseudo_rigid_urdf(robot)[22:]).findall("bendable")


def test_what_a_chain_cannot_keep_is_named(golden):
    part = bendable(frame="webster", inertial=None, backbone={"axial_stiffness": 10.0})
    with pytest.warns(SoftgraspWarning) as warned:
        pseudo_rigid(robot_of(part))
    assert [str(one.message) for one in warned] == [
        "r: bendable 'b': its end has a 'bishop' frame, as no joint rotates with the plane",
        "r: bendable 'b': its elongation and torsion are left out",
        "r: bendable 'b': expected a mass, found none; its cells get a negligible one",
    ]
    with pytest.raises(DescriptionError) as refused:
        joint_angles(robot_of(bendable()), {"b": (1.0, 0.0, 0.29)})
    golden(refused.value, "bendable 'b'")
