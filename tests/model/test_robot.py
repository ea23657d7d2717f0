"""Bendable segments as chains of cells: what they weigh, how they give way, how they converge."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import mujoco
import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import softgrasp as sg
from softgrasp import assets
from softgrasp.continuum_control.controllers import JointStates, segment_frames
from softgrasp.description.bendable import (
    Backbone,
    Bendable,
    Chamber,
    CurvatureLimits,
    Inertial,
    Origin,
    Tendon,
)
from softgrasp.description.robot import Link, LinkShape, Mimic, RigidJoint, Robot
from softgrasp.io.load import load_robot
from softgrasp.io.urdf.rigid import lower
from softgrasp.mechanics.robot_kinematics import inertia_matrix
from softgrasp.mechanics.transforms import Array
from softgrasp.model.robot import bend_joints, robot_model, robot_to_mjcf, segment_actuator_names
from tests.conftest import Golden

LENGTH, STIFFNESS = 0.316, 0.5
THREE = (0.0, 2 * math.pi / 3, -2 * math.pi / 3)


def segment(index: int = 1, **changes: Any) -> Bendable:
    backbone = {"length": LENGTH, "radius": 0.07, "bending_stiffness": STIFFNESS, "damping": 0.02}
    backbone |= changes.pop("backbone", {})
    base: dict[str, Any] = {
        "name": f"s{index}",
        "parent": f"l{index - 1}",
        "child": f"l{index}",
        "limits": CurvatureLimits(kappa_max=10.0),
        "backbone": Backbone(**backbone),
        "inertial": Inertial(mass=0.3),
    }
    return Bendable(**(base | changes))


def arm(*segments: Bendable) -> Robot:
    links = tuple(Link(name=f"l{index}") for index in range(len(segments) + 1))
    return Robot(name="arm", links=links, bendables=segments)


def at_rest(model: mujoco.MjModel, controls: dict[str, float]) -> mujoco.MjData:
    """Solve the equilibrium without gravity, springs against actuators, by Newton steps."""
    data = mujoco.MjData(model)
    model.opt.gravity[:] = 0.0
    for name, value in controls.items():
        data.ctrl[model.actuator(name).id] = value
    stiffness = np.zeros(model.nv)
    stiffness[model.jnt_dofadr] = model.jnt_stiffness
    for _ in range(3):
        mujoco.mj_forward(model, data)
        data.qpos[:] = data.qfrc_actuator / stiffness
    mujoco.mj_forward(model, data)
    assert np.abs(data.qfrc_passive + data.qfrc_actuator).max() < 1e-9
    return data


@pytest.mark.parametrize("name", assets.names("robots"))
def test_length_and_mass_of_shipped_robots(name: str) -> None:
    robot = sg.io.load_robot(name)
    model = robot_model(robot)
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    masses = [part.inertial.mass for part in (*robot.links, *robot.bendables) if part.inertial]
    assert model.body_mass.sum() == pytest.approx(sum(masses), abs=1e-5)
    for part in robot.bendables:
        base = data.body(f"{part.name}_0")
        end = base.xpos + part.backbone.length * base.xmat.reshape(3, 3)[:, 2]
        assert data.body(part.child).xpos == pytest.approx(end, abs=1e-9)


@pytest.mark.parametrize("links", [3, 8, 20])
def test_end_under_a_moment_is_that_of_constant_curvature(links: int) -> None:
    """The tip of a mid-joint chain is that of the arc times x/tan x, x = angle of a half cell."""
    model = robot_model(arm(segment(backbone={"links": links})))
    theta, phi = 1.0, 0.0
    data = at_rest(model, {"s1_u": theta * STIFFNESS / LENGTH})
    half = theta / links / 2
    arc = sg.pcc.segment_transform(theta / LENGTH, phi, LENGTH)
    assert data.body("l1").xpos == pytest.approx(arc[:3, 3] * half / math.tan(half), abs=1e-9)
    assert data.body("l1").xmat.reshape(3, 3) == pytest.approx(arc[:3, :3], abs=1e-9)


def test_bending_by_tendon_and_chamber() -> None:
    """κ = force · radius / EI, towards the tendon and away from the chamber."""
    pulled = arm(segment(actuation=tuple(Tendon(angle=a, radius=0.05) for a in THREE)))
    model = robot_model(pulled)
    data = at_rest(model, {"s1_tendon1": 12.0})
    assert bent(model, data) == pytest.approx((12.0 * 0.05 / STIFFNESS, 0.0), abs=1e-9)
    pushed = arm(segment(actuation=tuple(Chamber(angle=a, radius=0.05, area=2e-4) for a in THREE)))
    model = robot_model(pushed)
    data = at_rest(model, {"s1_chamber1": 6e4})
    assert bent(model, data) == pytest.approx((-6e4 * 2e-4 * 0.05 / STIFFNESS, 0.0), abs=1e-9)
    data = at_rest(model, dict.fromkeys(segment_actuator_names(pushed.bendables[0]), 6e4))
    assert bent(model, data) == pytest.approx((0.0, 0.0), abs=1e-9)


def bent(model: mujoco.MjModel, data: mujoco.MjData, part: str = "s1") -> tuple[float, float]:
    """Compute the curvature towards x and y [1/m]."""
    sums = {"u": 0.0, "v": 0.0}
    for index in range(model.njnt):
        name = model.joint(index).name
        if name.startswith(f"{part}_J"):
            sums[name[-1]] += float(data.qpos[model.jnt_qposadr[index]])
    return sums["u"] / LENGTH, sums["v"] / LENGTH


def test_chambers_lengthen_a_segment_that_can_be_lengthened() -> None:
    actuators = tuple(Chamber(angle=a, radius=0.05, area=2e-4) for a in THREE)
    part = segment(actuation=actuators, backbone={"axial_stiffness": 2e3, "torsion_stiffness": 0.4})
    model = robot_model(arm(part))
    data = at_rest(model, dict.fromkeys(segment_actuator_names(part), 5e4))
    assert float(data.body("l1").xpos[2]) == pytest.approx(LENGTH * (1 + 3 * 5e4 * 2e-4 / 2e3))
    assert sum(model.joint(i).name.startswith("s1_T") for i in range(model.njnt)) == 8


def test_a_planar_segment_has_one_axis() -> None:
    part = segment(limits=CurvatureLimits(kappa_max=10.0, phi_min=0.5, phi_max=0.5))
    model = robot_model(arm(part))
    assert model.nv == 8
    x, y, _ = at_rest(model, {"s1_bend": STIFFNESS}).body("l1").xpos
    assert math.atan2(y, x) == pytest.approx(0.5)


def test_rigid_joints_mimics_and_shapes() -> None:
    block = LinkShape(shape=sg.Cuboid(size=(0.02, 0.02, 0.1)), origin=Origin(xyz=(0, 0, 0.05)))
    weight = Inertial(mass=0.1, inertia=(1e-4, 1e-4, 1e-5, 0, 0, 0))
    links = (
        Link(name="base"),
        Link(name="a", inertial=weight, visuals=(block,), collisions=(block,)),
        Link(name="b", inertial=weight),
    )
    rotation = {"type": "revolute", "axis": (0.0, 1.0, 0.0), "lower": -1.0, "upper": 1.0}
    joints = (
        RigidJoint(name="j1", parent="base", child="a", effort=2.0, **rotation),
        RigidJoint(name="j2", parent="a", child="b", origin=Origin(xyz=(0, 0, 0.1)),
                   mimic=Mimic(joint="j1", multiplier=0.5, offset=0.1), **rotation),
    )  # fmt: skip
    model = robot_model(Robot(name="r", links=links, joints=joints))
    assert [model.actuator(i).name for i in range(model.nu)] == ["j1"]
    assert model.neq == 1
    data = mujoco.MjData(model)
    data.ctrl[0] = 1.0
    mujoco.mj_step(model, data, 2000)
    assert data.qpos[1] == pytest.approx(0.1 + 0.5 * data.qpos[0], abs=0.02)


def test_missing_stiffness_and_webster_frames(golden: Golden) -> None:
    soft = segment(backbone={"bending_stiffness": None})
    golden.refused(lambda: robot_model(arm(soft)), "bendable 's1'", sg.BuildError)
    with pytest.warns(sg.SoftgraspWarning, match="arm: bodies have 'bishop' frames"):
        robot_model(arm(segment(frame="webster")))


def hinge(name: str = "j1", **changes: Any) -> RigidJoint:
    base: dict[str, Any] = {"type": "revolute", "parent": "base", "child": "a"}
    return RigidJoint(
        name=name, **(base | {"axis": (0.0, 1.0, 0.0), "lower": -1.0, "upper": 1.0} | changes)
    )


def rigid(inertial: Inertial | None, *joints: RigidJoint) -> Robot:
    links = (Link(name="base"), Link(name="a", inertial=inertial))
    return Robot(name="r", links=links, joints=joints)


@pytest.mark.parametrize("mass", [0.01, 10.0])
def test_servo_bandwidth_is_independent_of_the_load(mass: float) -> None:
    """Critically damped at 100 rad/s: 1 − (1 + ωt) exp(−ωt) of a step."""
    weight = Inertial(mass=mass, inertia=(mass * 1e-2, mass * 1e-2, mass * 1e-3, 0, 0, 0))
    model = robot_model(rigid(weight, hinge()))
    model.opt.gravity[:], model.opt.timestep = 0.0, 1e-5
    data = mujoco.MjData(model)
    data.ctrl[0] = 0.5
    mujoco.mj_step(model, data, 3000)
    assert data.qpos[0] == pytest.approx(0.5 * (1.0 - 4.0 * math.exp(-3.0)), rel=1e-2)


def test_servo_has_effort_and_range_of_its_joint() -> None:
    weight = Inertial(mass=0.1, inertia=(1e-4, 1e-4, 1e-4, 0, 0, 0))
    model = robot_model(rigid(weight, hinge(effort=2.0)))
    assert model.actuator_ctrlrange[0] == pytest.approx([-1.0, 1.0])
    assert model.actuator_forcerange[0] == pytest.approx([-2.0, 2.0])


def test_root_named_world_is_the_world() -> None:
    base = segment().replace(parent="world")
    model = robot_model(Robot(name="r", links=(Link(name="world"), Link(name="l1")),
                              bendables=(base,)))  # fmt: skip
    assert model.body("s1_0").parentid[0] == 0


def test_mesh_has_visual_and_collision_geoms(tmp_path: Path) -> None:
    path = tmp_path / "corner.obj"
    path.write_text("v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 3 2\nf 1 2 4\nf 2 3 4\nf 1 4 3\n")
    mesh = LinkShape(shape=sg.Mesh(file=str(path), scale=0.1))
    model = robot_model(
        Robot(name="r", links=(Link(name="base", visuals=(mesh,), collisions=(mesh,)),))
    )
    body = model.body("base")
    groups = model.geom_group[body.geomadr[0] : body.geomadr[0] + body.geomnum[0]].tolist()
    assert groups == [2, 3]


def test_missing_inertias_warn() -> None:
    with pytest.warns(sg.SoftgraspWarning, match="link 'a' has no body; its mass is set to"):
        robot_model(rigid(None, hinge()))
    with pytest.warns(sg.SoftgraspWarning) as caught:
        model = robot_model(rigid(Inertial(mass=0.1), hinge()))
    assert [str(result.message) for result in caught] == [
        "link 'a' states no inertia; its inertia is that of a ball of water"
    ]
    assert model.body("a").inertia == pytest.approx([3.3166e-5] * 3, rel=1e-4)


def test_mimic_of_a_fixed_joint_is_rejected(golden: Golden) -> None:
    weight = Inertial(mass=0.1, inertia=(1e-4, 1e-4, 1e-4, 0, 0, 0))
    links = (Link(name="base"), Link(name="a", inertial=weight), Link(name="b", inertial=weight))
    still = RigidJoint(name="still", type="fixed", parent="base", child="a")
    joint = hinge("j2", parent="a", child="b", mimic=Mimic(joint="still"))
    golden.refused(
        lambda: robot_model(Robot(name="r", links=links, joints=(still, joint))),
        "joint 'j2'",
        sg.BuildError,
    )


FREE = CurvatureLimits(kappa_max=10.0)


def bent_end(links: int, theta: float, phi: float) -> Array:
    """Compute the frame of the end under a constant moment, (4, 4)."""
    model = robot_model(arm(segment(backbone={"links": links})))
    moment = theta * STIFFNESS / LENGTH
    data = at_rest(model, {"s1_u": moment * math.cos(phi), "s1_v": moment * math.sin(phi)})
    frame = np.eye(4)
    frame[:3, :3], frame[:3, 3] = data.body("l1").xmat.reshape(3, 3), data.body("l1").xpos
    return frame


@pytest.mark.parametrize("phi", [math.pi / 4, 2.5])
def test_end_frame_converges_with_the_square_of_the_cell(phi: float) -> None:
    """With one joint order in all cells the error would be 1.2° at n = 10 and fall with 1/n."""
    theta = 1.0
    exact = sg.pcc.segment_transform(theta / LENGTH, phi, LENGTH)
    ends = [bent_end(links, theta, phi) for links in (10, 20, 40)]
    away = [np.linalg.norm((end - exact)[:3, 3]) / LENGTH for end in ends]
    rotated = [Rotation.from_matrix(exact[:3, :3].T @ end[:3, :3]).magnitude() for end in ends]
    for errors in (away, rotated):
        assert np.log2(np.divide(errors[:-1], errors[1:])) == pytest.approx(2.0, abs=0.05)
    assert away[0] < 1.1e-3
    assert math.degrees(rotated[0]) < 0.08


def stretchy(**changes: Any) -> Bendable:
    stiff = {"axial_stiffness": 400.0, "torsion_stiffness": 0.4}
    return segment(backbone=stiff | changes.pop("backbone", {}), **changes)


def under_load(part: Bendable, force: Array, moment: Array) -> mujoco.MjData:
    """Solve the equilibrium of a straight segment under a load along or about its axis."""
    model = robot_model(arm(part))
    data = mujoco.MjData(model)
    model.opt.gravity[:] = 0.0
    model.opt.timestep = 1e-4
    data.xfrc_applied[model.body("l1").id] = [*force, *moment]
    for _ in range(4):
        mujoco.mj_forward(model, data)
        linear, angular = np.zeros((3, model.nv)), np.zeros((3, model.nv))
        mujoco.mj_jacBody(model, data, linear, angular, model.body("l1").id)
        load = linear.T @ force + angular.T @ moment
        stiffness = np.zeros(model.nv)
        stiffness[model.jnt_dofadr] = model.jnt_stiffness
        data.qpos[:] = load / stiffness
    mujoco.mj_forward(model, data)
    return data


@pytest.mark.parametrize("links", [1, 2, 7])
def test_elongation_by_force_and_twist_by_moment(links: int) -> None:
    part = stretchy(backbone={"links": links})
    pulled = under_load(part, np.array([0.0, 0.0, 20.0]), np.zeros(3))
    assert pulled.body("l1").xpos[2] == pytest.approx(LENGTH * (1.0 + 20.0 / 400.0), rel=1e-12)
    twisted = under_load(part, np.zeros(3), np.array([0.0, 0.0, 0.3]))
    rotation = Rotation.from_matrix(twisted.body("l1").xmat.reshape(3, 3)).as_rotvec()
    assert rotation == pytest.approx([0.0, 0.0, 0.3 * LENGTH / 0.4], abs=1e-12)


def test_stretching_and_bending_together_converge_with_the_square_of_the_cell() -> None:
    """With slides before hinges in all cells the error would be the elongation of half a cell."""
    actuators = tuple(Chamber(angle=angle, radius=0.05, area=2e-4) for angle in (0.0, 2.1, 4.2))
    errors = []
    for links in (8, 16, 32):
        model = robot_model(arm(stretchy(actuation=actuators, backbone={"links": links})))
        data = at_rest(model, {"s1_chamber1": 9e4})
        long = LENGTH * (1.0 + 9e4 * 2e-4 / 400.0)
        theta = 9e4 * 2e-4 * 0.05 * LENGTH / STIFFNESS
        exact = sg.pcc.segment_transform(theta / long, math.pi, long)
        errors.append(np.linalg.norm(data.body("l1").xpos - exact[:3, 3]))
    assert np.log2(np.divide(errors[:-1], errors[1:])) == pytest.approx(2.0, abs=0.1)


def test_damping_ratio_is_equal_in_all_directions() -> None:
    """One material: damping over stiffness is that of bending, c/EI."""
    model = robot_model(arm(stretchy(backbone={"damping": 0.03})))
    ratio = model.dof_damping / model.jnt_stiffness[model.dof_jntid]
    assert ratio == pytest.approx(0.03 / STIFFNESS)


def test_slide_has_the_range_of_the_elongation() -> None:
    limits = FREE.replace(eps_min=-0.1, eps_max=0.2)
    model = robot_model(arm(stretchy(limits=limits, backbone={"links": 4})))
    slides = [model.joint(f"s1_S{k}").range for k in range(1, 5)]
    assert np.sum(slides, axis=0) == pytest.approx([-0.1 * LENGTH, 0.2 * LENGTH])


def whole_inertia(model: mujoco.MjModel) -> Array:
    """Compute the inertia of all bodies about the middle of the straight segment, (3, 3)."""
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    total = np.zeros((3, 3))
    for body in range(1, model.nbody):
        rotation = data.ximat[body].reshape(3, 3)
        arm_ = data.xipos[body] - [0.0, 0.0, LENGTH / 2]
        total += rotation @ np.diag(model.body_inertia[body]) @ rotation.T
        total += model.body_mass[body] * (arm_ @ arm_ * np.eye(3) - np.outer(arm_, arm_))
    return total


GIVEN = (4e-3, 5e-3, 3e-3, 2e-4, 0.0, 0.0)
CYLINDER = (0.3 * (0.07**2 / 4 + LENGTH**2 / 12),) * 2 + (0.3 * 0.07**2 / 2, 0.0, 0.0, 0.0)


@pytest.mark.parametrize("links", [1, 2, 9])
@pytest.mark.parametrize(("given", "expected"), [(None, CYLINDER), (GIVEN, GIVEN)])
def test_segment_has_the_described_inertia_or_that_of_a_cylinder(
    links: int, given: tuple[float, ...] | None, expected: tuple[float, ...]
) -> None:
    inertial = Inertial(mass=0.3, inertia=given)
    model = robot_model(arm(segment(inertial=inertial, backbone={"links": links})))
    assert whole_inertia(model) == pytest.approx(inertia_matrix(expected), abs=1e-15)
    assert model.body_mass.sum() == pytest.approx(0.3, rel=1e-14)


def test_webster_frames_have_one_kinematics_in_physics_frames_and_export() -> None:
    """With φ ≠ 0 the plane of a second segment is about the same frame in all of them."""
    parts = [segment(index, frame="webster", backbone={"links": 64}) for index in (1, 2)]
    robot, state = arm(*parts), {"s1": (2.0, 0.8), "s2": (1.5, -0.5)}
    with pytest.warns(sg.SoftgraspWarning, match="bodies have 'bishop' frames"):
        model = robot_model(robot)
    data = mujoco.MjData(model)
    for part in parts:
        kappa, phi = state[part.name]
        for name, direction in bend_joints(part):
            angle = kappa * LENGTH / 64 * np.dot(direction, [np.cos(phi), np.sin(phi)])
            data.qpos[model.joint(name).qposadr[0]] = angle
    mujoco.mj_kinematics(model, data)
    broadcast = JointStates(0.0, ("s1", "s2"), (2.0, 1.5), (0.8, -0.5), (LENGTH, LENGTH))
    frames = segment_frames(robot, broadcast)
    published = frames["s1"].end @ frames["s2"].end
    with pytest.warns(sg.SoftgraspWarning, match="its end has a 'bishop' frame"):
        exported_model = robot_model(lower(robot, state).robot)
    exported = mujoco.MjData(exported_model)
    mujoco.mj_kinematics(exported_model, exported)
    assert exported.body("l2").xpos == pytest.approx(published[:3, 3], abs=1e-9)
    assert data.body("l2").xpos == pytest.approx(published[:3, 3], abs=2e-4)
    assert data.body("l2").xmat.reshape(3, 3) == pytest.approx(published[:3, :3], abs=1e-3)


def test_child_of_a_planar_webster_frame_is_rotated() -> None:
    limits = FREE.replace(phi_min=0.6, phi_max=0.6)
    model = robot_model(arm(segment(frame="webster", limits=limits, backbone={"links": 30})))
    data = at_rest(model, {"s1_bend": 2.0 * STIFFNESS})
    exact = sg.pcc.segment_transform(2.0, 0.6, LENGTH, "webster")
    assert data.body("l1").xmat.reshape(3, 3) == pytest.approx(exact[:3, :3], abs=1e-9)


@pytest.mark.parametrize(
    ("part", "sentence"),
    [
        (stretchy(backbone={"axial_stiffness": 0.0}), "bendable 's1'"),
        (stretchy(backbone={"torsion_stiffness": 0.0}), "bendable 's1'"),
        (
            segment(inertial=Inertial(mass=0.3, inertia=(1e-4, 1e-4, 1e-4, 0, 0, 0))),
            "bendable 's1'",
        ),
    ],
)
def test_invalid_segments(part: Bendable, sentence: str, golden: Golden) -> None:
    golden.refused(lambda: robot_model(arm(part)), sentence, sg.BuildError)


def test_segment_without_mass_warns() -> None:
    backbone = Backbone(length=LENGTH, radius=0.07, bending_stiffness=STIFFNESS)
    part = segment(inertial=None).replace(backbone=backbone)
    with pytest.warns(sg.SoftgraspWarning) as caught:
        robot_model(arm(part))
    assert [str(result.message) for result in caught] == [
        "bendable 's1': expected a mass, found none; it gets 1e-06 kg"
    ]


# Exported models


@pytest.mark.parametrize("name", assets.names("robots"))
def test_exported_robots_collide_with_others_and_not_with_neighbours(name: str) -> None:
    """A ball inside any colliding geom is in contact; a bent robot touches itself nowhere."""
    robot = sg.io.load_robot(name)
    spec = mujoco.MjSpec.from_string(robot_to_mjcf(robot))
    ball = spec.worldbody.add_body(name="ball")
    ball.add_freejoint()
    ball.add_geom(name="ball", type=mujoco.mjtGeom.mjGEOM_SPHERE, size=[1e-3, 0, 0], mass=1e-3)
    model = spec.compile()
    data = mujoco.MjData(model)
    start = model.joint(model.body("ball").jntadr[0]).qposadr[0]
    data.qpos[start : start + 3] = (9.0, 9.0, 9.0)
    for bending in (0.3, 0.0):
        for part in robot.bendables:
            for joint, _ in bend_joints(part):
                data.joint(joint).qpos = bending * part.theta_max / part.backbone.links
        mujoco.mj_forward(model, data)
        assert data.ncon == 0
    geoms = [k for k in range(model.ngeom) if model.geom_contype[k] and k != model.geom("ball").id]
    cells = sum(part.backbone.links + 1 for part in robot.bendables)
    assert len(geoms) == cells + sum(len(link.collisions) for link in robot.links)
    for geom in geoms:
        data.qpos[start : start + 3] = data.geom_xpos[geom]
        mujoco.mj_forward(model, data)
        assert geom in data.contact.geom


def test_an_exported_gripper_holds_a_ball() -> None:
    """Pressure closes both fingers of the shipped gripper on a ball, and they bear its weight."""
    spec = mujoco.MjSpec.from_string(robot_to_mjcf(sg.io.load_robot("soft_gripper_two")))
    ball = spec.worldbody.add_body(name="ball", pos=[0.0, 0.0, 0.117])
    ball.add_freejoint()
    ball.add_geom(type=mujoco.mjtGeom.mjGEOM_SPHERE, size=[0.025, 0, 0], mass=0.035)
    model = spec.compile()
    data = mujoco.MjData(model)
    model.opt.gravity[:] = 0.0
    for pressure in np.linspace(0.0, 1.5e5, 50):
        data.ctrl[1:] = pressure
        mujoco.mj_step(model, data, 30)
    model.opt.gravity[2] = 9.81
    mujoco.mj_step(model, data, 500)
    before = data.body("ball").xpos.copy()
    mujoco.mj_step(model, data, 400)
    np.testing.assert_allclose(data.body("ball").xpos, before, atol=2e-4)
    assert data.ncon >= 2


INERTIALS = {
    "none": "",
    "mass only": '<inertial><mass value="0.03"/></inertial>',
    "impossible": '<inertial><mass value="0.03"/><inertia ixx="1e-9" iyy="1e-5" izz="1e-9" '
    'ixy="0" ixz="0" iyz="0"/></inertial>',
    "whole": '<inertial><origin xyz="0 0 0.02"/><mass value="0.03"/><inertia ixx="3e-6" iyy="4e-6" '
    'izz="2e-6" ixy="1e-7" ixz="0" iyz="0"/></inertial>',
}


@pytest.mark.filterwarnings("ignore::softgrasp.SoftgraspWarning")
@pytest.mark.parametrize("kind", INERTIALS)
def test_a_converted_link_has_the_mass_of_the_simulated_one(kind: str, tmp_path: Path) -> None:
    shape = (
        '<collision><origin xyz="0 0 0.02"/><geometry><box size=".02 .01 .04"/></geometry>'
        "</collision>"
    )
    joints = "".join(
        f'<link name="l{k}">{INERTIALS[kind]}{shape}</link><joint name="j{k}" type="revolute">'
        f'<parent link="base"/><child link="l{k}"/><origin xyz="{0.04 * (2 * k - 1)} 0 0"/>'
        f'<axis xyz="0 {1 - 2 * k} 0"/><limit lower="0" upper="1" effort="2" velocity="2"/></joint>'
        for k in range(2)
    )
    file = tmp_path / "jaws.urdf"
    file.write_text(f'<robot name="jaws"><link name="base">{shape}</link>{joints}</robot>')
    written = mujoco.MjModel.from_xml_string(robot_to_mjcf(load_robot(file)))
    scene = sg.GraspScene(hand=sg.load_hand(file), object=sg.load_object("sphere"))
    simulated = sg.compile_model(scene)
    for name in ("l0", "l1"):
        first, second = written.body(name), simulated.body(name)
        assert first.mass == pytest.approx(second.mass, rel=1e-5)  # digits of the file
        assert first.inertia == pytest.approx(second.inertia, rel=1e-5)
        assert first.mass > 0.005
