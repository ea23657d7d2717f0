"""A finger alone as a world."""

from __future__ import annotations

import math
import warnings

import mujoco
import numpy as np
import pytest

import softgrasp as sg
from softgrasp import assets
from softgrasp.backends.wbt import parse_world, problems, value, world_text
from softgrasp.backends.webots.world import WebotsWorld, finger_world, scene_world
from softgrasp.continuum.settling import from_webots
from softgrasp.errors import BuildError
from softgrasp.io.hand import load_finger
from softgrasp.model.scene import CompiledScene
from softgrasp.pipeline import compile_scene
from tests.backends.webots.readback import ReadWorld
from tests.conftest import Golden

STEP = 1e-3


def test_dampers_identified_in_webots_stand_in_the_world_as_they_were() -> None:
    finger = load_finger("paper000")
    angles = np.linspace(0.0, 0.2, len(finger.joints))
    text = world_text(finger_world(from_webots(finger, STEP), angles, STEP, ()).nodes)
    read = ReadWorld(text)
    assert problems(parse_world(text, "finger.wbt")) == []
    for index, joint in enumerate(finger.joints):
        result = read.joints[f"J{index + 1}"]
        assert result.number("springConstant") == joint.stiffness
        assert result.number("dampingConstant") == pytest.approx(joint.damping, rel=1e-9)
        assert result.number("position") == angles[index]
        assert [node.type for node in result.node.nodes("device")] == ["PositionSensor"]


def test_a_bent_finger_stands_bent_in_the_file() -> None:
    finger = load_finger("paper000")
    angles = np.full(len(finger.joints), 0.1)
    read = ReadWorld(world_text(finger_world(from_webots(finger, STEP), angles, STEP, ()).nodes))
    rotation = read.parts[f"link{len(finger.joints)}"].frame[:3, :3] @ [1.0, 0.0, 0.0]
    # positive angles bend towards -z
    assert np.arctan2(-rotation[2], rotation[0]) == pytest.approx(angles.sum(), abs=1e-12)
    assert value(read.joints["J2"].end.node, "rotation") == pytest.approx((0, 1, 0, 0.1))


def test_damping_that_the_spring_alone_exceeds_is_refused_with_the_longest_step(
    golden: Golden,
) -> None:
    finger = load_finger("paper000")
    with pytest.raises(BuildError) as caught:
        finger_world(finger, np.zeros(len(finger.joints)), STEP, ())
    worst = min(finger.joints, key=lambda joint: joint.damping / joint.stiffness)
    index = finger.joints.index(worst)
    part = f"joint 'J{index + 1}': expected a damping of at least {STEP * worst.stiffness:.3g}"
    golden(caught.value, part)


# --------------------
# Worlds read back from their text say what the compiled model says.


SCENES = ["demo", "demo_soft", "hybrid_sphere", "paper000_arm", "soft_mug", "paper004_power_mug"]
QUICK = ["modular", "hybrid_sphere", "paper000_arm"]
"""Meshes, soft and rigid fingers, an arm and a table."""
COUPLED = "dlr_hit_ii_coupled"
"""Webots has no couplings."""
ADHESIVE = {"gecko_gripper", "suction_cup"}
"""Webots has neither suction cups nor pads."""
OTHERS = sorted({*assets.names("hands"), *SCENES} - {*QUICK, *ADHESIVE, COUPLED})


def built_scene(name: str) -> CompiledScene:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # objects that start elsewhere are told by other tests
        if name in SCENES:
            return compile_scene(sg.load_scene(name))
        ball = sg.load_object("sphere", density=300.0)
        return compile_scene(sg.GraspScene(hand=sg.load_hand(name), object=ball))


def message(name: str) -> tuple[CompiledScene, WebotsWorld, ReadWorld]:
    built = built_scene(name)
    world = scene_world(built, STEP, ("job.json",))
    return built, world, ReadWorld(world_text(world.nodes))


@pytest.fixture(
    scope="module", params=[*QUICK, *(pytest.param(n, marks=pytest.mark.slow) for n in OTHERS)]
)
def case(request: pytest.FixtureRequest) -> tuple[CompiledScene, WebotsWorld, ReadWorld]:
    return message(request.param)


def at_start(built: CompiledScene) -> mujoco.MjData:
    data = mujoco.MjData(built.model)
    mujoco.mj_resetDataKeyframe(built.model, data, 0)
    mujoco.mj_forward(built.model, data)
    return data


Case = tuple[CompiledScene, WebotsWorld, ReadWorld]


def test_the_text_has_no_problem(case: Case) -> None:
    _, world, _ = case
    assert problems(parse_world(world_text(world.nodes), "world.wbt")) == []


def test_bodies_stand_where_they_do_in_the_model(case: Case) -> None:
    built, _, read = case
    data = at_start(built)
    for body in range(1, built.model.nbody):
        frame = read.parts[built.model.body(body).name].frame
        assert frame[:3, 3] == pytest.approx(data.xpos[body], abs=1e-9)
        assert frame[:3, :3] == pytest.approx(data.xmat[body].reshape(3, 3), abs=1e-9)


def test_masses_centres_and_inertias_are_those_of_the_model(case: Case) -> None:
    built, _, read = case
    model, data = built.model, at_start(built)
    seen = 0
    for group in {int(g) for g in model.body_weldid if g != 0}:
        bodies = np.flatnonzero(model.body_weldid == group)
        mass = float(model.body_mass[bodies].sum())
        centre = (model.body_mass[bodies, None] * data.xipos[bodies]).sum(0) / mass
        inertia = np.zeros((3, 3))
        for body in bodies:
            rotation = data.ximat[body].reshape(3, 3)
            way = data.xipos[body] - centre
            inertia += rotation @ np.diag(model.body_inertia[body]) @ rotation.T
            inertia += model.body_mass[body] * (way @ way * np.eye(3) - np.outer(way, way))
        got = read.parts[model.body(group).name].whole()
        assert got[0] == pytest.approx(mass, rel=1e-9)
        assert got[1] == pytest.approx(centre, abs=1e-9)
        assert np.abs(got[2] - inertia).max() < 1e-9 * np.abs(inertia).max()
        seen += 1
    assert seen > 0


def test_axes_and_anchors_are_those_of_the_model(case: Case) -> None:
    built, _, read = case
    model, data = built.model, at_start(built)
    joints = [j for j in range(model.njnt) if model.jnt_type[j] != mujoco.mjtJoint.mjJNT_FREE]
    assert sorted(read.joints) == sorted(model.joint(j).name for j in joints)
    for joint in joints:
        result = read.joints[model.joint(joint).name]
        assert result.axis == pytest.approx(data.xaxis[joint], abs=1e-9)
        if result.node.type == "HingeJoint":
            gap = result.anchor - data.xanchor[joint]
            assert np.cross(gap, result.axis) == pytest.approx(np.zeros(3), abs=1e-9)


def test_what_stands_still_has_no_physics_and_what_moves_has(case: Case) -> None:
    built, _, read = case
    for body in range(1, built.model.nbody):
        part = read.parts[built.model.body(body).name]
        assert (part.node.node("physics") is not None) is bool(built.model.body_weldid[body] != 0)


def test_every_body_that_can_touch_has_a_sensor_of_newtons_as_a_child(case: Case) -> None:
    built, _, read = case
    sensors = {str(value(node, "name")): node for node in read.nodes_of("TouchSensor")}
    assert sorted(sensors) == sorted(f"{body}_touch" for body in built.bodies)
    for name, node in sensors.items():
        assert node.fields["type"] == "force-3d"
        assert node.fields["lookupTable"] == []
        assert node.node("boundingObject") is not None
        assert node.node("physics") is not None
        assert read.parts[name.removesuffix("_touch")].node.node("boundingObject") is None
    assert {joint.end.node.type for joint in read.joints.values()} == {"Solid"}


def test_nothing_sleeps_bounces_or_makes_a_sound(case: Case) -> None:
    _, _, read = case
    (info,) = read.nodes_of("WorldInfo")
    assert value(info, "physicsDisableLinearThreshold") == 0
    assert value(info, "physicsDisableAngularThreshold") == 0
    assert {value(node, "bounce") for node in read.nodes_of("ContactProperties")} == {0}
    motors = read.nodes_of("RotationalMotor") + read.nodes_of("LinearMotor")
    assert {value(motor, "sound") for motor in motors} <= {""}


def test_parts_of_a_robot_with_sensors_do_not_collide(case: Case) -> None:
    _, _, read = case
    (robot,) = read.nodes_of("Robot")
    assert value(robot, "selfCollision") is False
    assert value(robot, "supervisor") is True


def test_springs_and_dampers_move_joints_as_the_model_does(case: Case) -> None:
    """One step of the joint alone: (I + a + h·C_M + [h²·K]) against Webots' implicit law."""
    built, world, _ = case
    model = built.model
    for law in world.laws:
        dof = int(model.jnt_dofadr[model.joint(law.name).id])
        if law.follows is not None:
            assert model.dof_armature[dof] >= 1e3
            continue
        servo, discrete = law.servo, model.opt.integrator == mujoco.mjtIntegrator.mjINT_DISCRETE
        c = float(model.dof_damping[dof]) + (servo.damping if servo else 0.0)
        for index in range(model.nu):
            actuator = model.actuator(index)
            mine = actuator.trntype[0] == mujoco.mjtTrn.mjTRN_JOINT
            if mine and int(model.jnt_dofadr[actuator.trnid[0]]) == dof and servo is None:
                # a run takes away by what a step makes a servo lag
                c -= float(actuator.biasprm[2])
                c -= 0.5 * float(model.opt.timestep * actuator.gainprm[0]) if discrete else 0.0
        implicit = float(model.opt.timestep) * law.spring if discrete else 0.0
        assert law.damper + STEP * law.spring == pytest.approx(
            c + implicit + law.inertia_rate + law.excess, rel=1e-8, abs=1e-15
        )


def test_a_passive_spring_rests_at_the_zero_of_its_joint() -> None:
    built, world, read = message("soft_gripper")
    law = next(law for law in world.laws if law.name == "F1_J1")
    assert law.spring == float(built.model.joint("F1_J1").stiffness[0])
    assert law.zero == float(law.start)  # a pressure drives it: the zero is where it starts
    assert read.joints["F1_J1"].number("springConstant") == law.spring


def test_contacts_mean_newtons_per_metre_at_the_step() -> None:
    built, _, read = message("demo")
    (contact,) = read.nodes_of("ContactProperties")
    erp, cfm = float(value(contact, "softERP")), float(value(contact, "softCFM"))  # type: ignore[arg-type]
    # kp = ERP/(h·CFM), kd = (1 - ERP)/CFM
    assert erp / (STEP * cfm) == pytest.approx(built.contact.stiffness, rel=1e-12)
    assert (1 - erp) / cfm == pytest.approx(built.contact.damping, rel=1e-12)
    assert value(contact, "coulombFriction") == [built.contact.static_friction]
    assert value(contact, "rollingFriction") == (0.0, 0.0, built.contact.torsional_friction)


def test_capsules_count_their_height_without_the_caps() -> None:
    built, _, read = message("four_finger")
    geom = built.model.geom("F1_P1")
    bounds = read.parts["F1_P1_touch"].node.node("boundingObject")
    capsule = bounds if bounds.type == "Capsule" else bounds.nodes("children")[0]
    assert value(capsule, "height") == 2 * float(geom.size[1])
    assert value(capsule, "radius") == float(geom.size[0])


def test_several_joints_of_one_body_have_light_solids_between_them() -> None:
    scene = sg.GraspScene(
        hand=sg.load_hand("two_finger_planar"),
        object=sg.load_object("sphere", density=300.0),
        object_mount="planar",
    )
    built = compile_scene(scene)
    read = ReadWorld(world_text(scene_world(built, STEP, ()).nodes))
    rotation = read.joints["object_carriage"]
    assert rotation.node.type == "HingeJoint"
    assert rotation.parent.name == "object_z_carrier"
    moving = (part for part in read.parts.values() if part.masses)
    mass = sum(part.whole()[0] for part in moving if part.name.startswith("object_"))
    assert mass == pytest.approx(float(built.model.body("object").mass[0]), rel=1e-9)


def test_gravity_that_does_not_point_down_is_refused(golden: Golden) -> None:
    scene = built_scene("four_finger").scene.replace(gravity=(0.0, 1.0, -9.0))
    golden.refused(
        lambda: scene_world(compile_scene(scene), STEP, ()),
        "gravity: gravity of Webots points down, expected (0, 0, -g)",
        BuildError,
    )


def test_springs_that_damp_too_much_at_the_step_are_reported() -> None:
    built = built_scene("soft_gripper")
    explicit = built.scene.solver.replace(integrator="implicitfast")
    built = compile_scene(built.scene.replace(solver=explicit))
    world, model = scene_world(built, STEP, ("job.json",)), built.model
    k, c = model.jnt_stiffness, model.dof_damping[model.jnt_dofadr]
    names = {model.joint(j).name for j in np.flatnonzero(STEP * k > c)}
    assert {law.name for law in world.laws if law.excess > 0.0} == names
    worst = max((STEP * k - c).tolist())
    assert any(
        remark.startswith(f"springs of {len(names)} joints damp more than they should")
        and f"by {worst:.2g} N·m·s/rad" in remark
        for remark in world.remarks
    )


def test_couplings_between_joints_are_named() -> None:
    built = built_scene("four_finger")
    spec = built.spec.copy()
    equality = spec.add_equality(name="coupled", type=mujoco.mjtEq.mjEQ_JOINT)
    equality.objtype = mujoco.mjtObj.mjOBJ_JOINT
    equality.name1, equality.name2 = "F1_J1", "F1_J2"
    with pytest.raises(BuildError) as caught:
        scene_world(built._replace(model=spec.compile()), STEP, ())
    assert str(caught.value) == "Webots cannot express couplings between joints, found 'coupled'"


def test_what_differs_in_the_world_is_reported() -> None:
    _, world, _ = message("paper000_arm")
    assert world.remarks == (
        "parts of the hand do not touch one another: with touch sensors on them, Webots would let "
        "neighbours collide",
        "springs of 4 joints damp more than they should, most that of F1_J6 by 0.00024 N·m·s/rad: "
        "Webots takes springs implicitly, and at this time step that alone is more; where they "
        "come to rest is not changed",
        "limits of arm_J1, arm_J2, arm_J3, arm_J4, arm_J5, arm_J6 are left to the targets: stops "
        "of Webots reach half a revolution to either side of the start",
    )
    _, world, _ = message("paper004_power_mug")
    assert "friction stays at its static value 0.5: Webots has no dynamic one" in world.remarks


def test_the_camera_sees_the_hand() -> None:
    built, _, read = message("demo")
    (view,) = read.nodes_of("Viewpoint")
    x, y, z, angle = value(view, "orientation")  # type: ignore[misc]
    half = math.sin(angle / 2)
    rotation = np.zeros(9)
    mujoco.mju_quat2Mat(rotation, np.array([math.cos(angle / 2), x * half, y * half, z * half]))
    ahead = rotation.reshape(3, 3)[:, 0]
    way = at_start(built).body("object").xpos - np.array(value(view, "position"))
    assert ahead @ way / np.linalg.norm(way) > 0.95
