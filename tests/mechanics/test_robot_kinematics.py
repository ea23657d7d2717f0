"""Fixed joints fused: the same masses in the same places, whatever hangs on what."""

from __future__ import annotations

import mujoco
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from softgrasp.description.bendable import Inertial, Origin
from softgrasp.description.geometry import Sphere
from softgrasp.description.robot import Link, LinkShape, RigidJoint, Robot
from softgrasp.mechanics.robot_kinematics import (
    fuse,
    in_frame,
    inertia_matrix,
    join_inertials,
    joint_frame,
    origin_frame,
    origin_of,
    principal_moments,
)
from softgrasp.mechanics.transforms import rotate_about
from softgrasp.model.robot import robot_model

SMALL = st.floats(-2.0, 2.0)
ORIGINS = st.builds(Origin, xyz=st.tuples(SMALL, SMALL, SMALL), rpy=st.tuples(SMALL, SMALL, SMALL))
BALL = LinkShape(shape=Sphere(radius=0.1))


def point(x: float, mass: float) -> Inertial:
    return Inertial(mass=mass, origin=Origin(xyz=(x, 0.0, 0.0)), inertia=(0.0,) * 6)


def test_two_points_make_a_dumbbell() -> None:
    """Two masses m at ±a: 2·m·a² about the axes across, nothing along."""
    both = join_inertials([(np.eye(4), point(-0.3, 2.0)), (np.eye(4), point(0.3, 2.0))])
    assert both.mass == 4.0
    assert both.origin.xyz == (0.0, 0.0, 0.0)
    assert both.inertia == pytest.approx((0.0, 0.36, 0.36, 0.0, 0.0, 0.0))


@given(ORIGINS, ORIGINS, ORIGINS)
def test_the_parts_of_a_body_combine_to_its_inertia(
    first: Origin, second: Origin, cut: Origin
) -> None:
    """About any point, what is joined has the second moments of its parts."""
    moments = (3.0, 4.0, 5.0, 0.1, -0.2, 0.3)
    parts = [
        (origin_frame(first), Inertial(mass=1.0, origin=cut, inertia=moments)),
        (origin_frame(second), Inertial(mass=2.5, origin=second, inertia=moments)),
    ]
    whole = join_inertials(parts)
    assert whole is not None
    assert about_origin([(np.eye(4), whole)]) == pytest.approx(about_origin(parts), abs=1e-12)


def about_origin(parts: list[tuple[np.ndarray, Inertial]]) -> np.ndarray:
    """Mass, first moments and inertia about the origin, (3, 5)."""
    first, second, mass = np.zeros(3), np.zeros((3, 3)), 0.0
    for frame, inertial in parts:
        position = frame @ origin_frame(inertial.origin)
        rotation, at = position[:3, :3], position[:3, 3]
        mass += inertial.mass
        first += inertial.mass * at
        second += rotation @ inertia_matrix(inertial.inertia) @ rotation.T
        second += inertial.mass * (at @ at * np.eye(3) - np.outer(at, at))
    return np.column_stack([second, first, np.full(3, mass)])


@given(ORIGINS)
def test_principal_moments_do_not_depend_on_the_frame(origin: Origin) -> None:
    body = Inertial(mass=1.0, origin=origin, inertia=(3.0, 4.0, 5.0, 0.1, -0.2, 0.3))
    seen = in_frame(body, origin_frame(origin))
    assert principal_moments(seen) == pytest.approx(principal_moments(body))


@given(ORIGINS)
def test_origin_of_inverts_origin_frame(origin: Origin) -> None:
    again = origin_frame(origin_of(origin_frame(origin)))
    assert again == pytest.approx(origin_frame(origin), abs=1e-12)


@given(ORIGINS, ORIGINS, ORIGINS)
def test_fusing_links_keeps_all_poses(first: Origin, second: Origin, moving: Origin) -> None:
    def fixed(name: str, parent: str, child: str, origin: Origin) -> RigidJoint:
        return RigidJoint(name=name, type="fixed", parent=parent, child=child, origin=origin)

    links = tuple(Link(name=name, collisions=(BALL,)) for name in "abcd")
    hinge = RigidJoint(
        name="hinge", type="continuous", parent="c", child="d", origin=moving, axis=(0, 1, 0)
    )
    joints = (fixed("ab", "a", "b", first), fixed("bc", "b", "c", second), hinge)
    whole, positions = fuse(Robot(name="r", links=links, joints=joints))
    assert [link.name for link in whole.links] == ["a", "d"]
    assert [joint.name for joint in whole.joints] == ["hinge"]
    there = origin_frame(first) @ origin_frame(second)
    assert positions["c"].link == "a"
    assert positions["c"].frame == pytest.approx(there)
    assert origin_frame(whole.joints[0].origin) == pytest.approx(
        there @ origin_frame(moving), abs=1e-12
    )
    shapes = [origin_frame(shape.origin) for shape in whole.links[0].collisions]
    assert shapes == [pytest.approx(f, abs=1e-12) for f in (np.eye(4), origin_frame(first), there)]


def test_robots_without_fixed_joints_are_unchanged() -> None:
    hinge = RigidJoint(name="h", type="continuous", parent="a", child="b")
    robot = Robot(name="r", links=(Link(name="a"), Link(name="b")), joints=(hinge,))
    assert fuse(robot).robot == robot


def test_no_inertials_combine_to_none() -> None:
    assert join_inertials([]) is None


# Frames of joints, compared with what MuJoCo makes of the same joints.


ORIGIN = Origin(xyz=(0.1, -0.2, 0.3), rpy=(0.4, -0.5, 1.2))


def test_roll_pitch_and_yaw_are_about_fixed_axes() -> None:
    rotation = rotate_about("z", 1.2) @ rotate_about("y", -0.5) @ rotate_about("x", 0.4)
    assert origin_frame(ORIGIN)[:3, :3] == pytest.approx(rotation[:3, :3])
    assert origin_frame(ORIGIN)[:3, 3] == pytest.approx([0.1, -0.2, 0.3])


@pytest.mark.parametrize("kind", ["fixed", "revolute", "continuous", "prismatic"])
def test_a_joint_moves_its_child_as_mujoco_does(kind: str) -> None:
    weight = Inertial(mass=0.1, inertia=(1e-4, 1e-4, 1e-4, 0, 0, 0))
    links = (Link(name="a"), Link(name="b", inertial=weight))
    joint = RigidJoint(
        name="j", type=kind, parent="a", child="b", origin=ORIGIN, axis=(1.0, 2.0, -0.5),
        lower=-1.0, upper=1.0,
    )  # fmt: skip
    model = robot_model(Robot(name="r", links=links, joints=(joint,)))
    data = mujoco.MjData(model)
    data.qpos[:] = 0.7
    mujoco.mj_forward(model, data)
    result = joint_frame(joint, 0.7)
    assert result[:3, 3] == pytest.approx(data.body("b").xpos)
    assert result[:3, :3] == pytest.approx(np.reshape(data.body("b").xmat, (3, 3)))
