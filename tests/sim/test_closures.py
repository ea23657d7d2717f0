"""The laws of closures other than position increments, each on the running grasp."""

from __future__ import annotations

from typing import Any

import mujoco
import numpy as np
import pytest

import softgrasp as sg
from softgrasp.evaluation.result import column
from softgrasp.evaluation.result_files import load_result
from softgrasp.mechanics.transforms import Array
from softgrasp.pipeline import compile_scene
from softgrasp.sim.grasp_run import ClosureRun
from tests.conftest import Golden
from tests.support.kinematics import soft_synergy_compliance
from tests.support.pads import pads
from tests.support.scenes import ball, pinch

AWAY = (0.0, 0.0, -1.0)
"""Where no hand reaches."""
CLOSURES: dict[str, Any] = {
    "synergy": sg.description.SynergyIncrementClosure(),
    "soft synergy": sg.description.SynergyIncrementClosure(synergy_stiffness=2.0),
    "force": sg.description.ForceLimitedClosure(force=5.0),
    "torque limit": sg.description.ForceLimitedClosure(torque=0.2),
    "tendons": sg.description.UnderactuatedClosure(),
    "tension": sg.description.UnderactuatedClosure(control_mode="tension"),
    "differential": sg.description.UnderactuatedClosure(differential=True),
    "torques": sg.description.JointTorqueClosure(),
}


def finished(scene: sg.GraspScene) -> ClosureRun:
    run = ClosureRun(compile_scene(scene))
    run.run()
    return run


def torques_of_contacts(run: ClosureRun) -> Array:
    """Jᵀ f of all contacts, from their points, frames and forces, (nv,)."""
    model, data = run.model, run.data
    result, force = np.zeros(model.nv), np.zeros(6)
    for index, contact in enumerate(data.contact):
        mujoco.mj_contactForce(model, data, index, force)
        rotation = contact.frame.reshape(3, 3).T
        for geom, sign in ((contact.geom1, -1.0), (contact.geom2, 1.0)):
            along, about = np.zeros((2, 3, model.nv))
            mujoco.mj_jac(model, data, along, about, contact.pos, model.geom_bodyid[geom])
            result += sign * (along.T @ (rotation @ force[:3]) + about.T @ (rotation @ force[3:]))
    return result


@pytest.mark.parametrize("name", CLOSURES)
def test_every_closure_holds_a_ball_and_runs_again_bit_for_bit(name: str, tmp_path: Any) -> None:
    brief = sg.SuccessCriterion(ramp_time=0.1, hold_time=0.1)
    scene = pinch(grasp="power", closure=CLOSURES[name], success=brief)
    result = sg.simulate(scene, quality_rate=None)
    assert result.status is sg.GraspStatus.CLOSED
    assert result.held
    # tendons that only pull are left out of the implicit step by the engine, and by the conversion
    near = 1e-3 if name in ("tendons", "differential") else 0.02
    for pair, stiffness in result.contact_model.measured_stiffness_N_m.items():
        assert stiffness == pytest.approx(1e5, rel=near), pair
    result.save(tmp_path)
    again = load_result(tmp_path)
    assert again.scene == result.scene
    repeated = sg.simulate(again.scene, quality_rate=None)
    assert repeated.trajectory_sha256 == result.trajectory_sha256


def test_joints_of_a_synergy_are_on_it_until_they_touch() -> None:
    hand = sg.load_hand("paradigmatic")
    own = hand.synergies
    scene = sg.GraspScene(
        hand=hand,
        object=ball(),
        object_position=(-0.01, 0.07, -0.045),
        closure=sg.description.SynergyIncrementClosure(),
    )
    result = sg.simulate(scene)
    assert result.status is sg.GraspStatus.CLOSED
    first = min(c.established_s[0] for c in result.contacts if c.established_s)
    until = result.time < first - 0.02
    columns = [column(result.actuator_names, joint) for joint in own.joints]
    targets = result.joint_target[until][:, columns]
    weights = sg.mechanics.synergy_weights(own, targets)
    assert weights[0] == pytest.approx([0.7, *[0.0] * 14], abs=0.004)  # one sample on
    assert weights[:, 1:] == pytest.approx(np.zeros((len(weights), 14)), abs=1e-8)
    assert (np.diff(weights[:, 0]) < 0.0).all()
    assert sg.mechanics.variance_explained(own, targets)[0] == pytest.approx(1.0)


TWO = sg.description.Synergies(
    joints=("F1_J1", "F1_J2", "F1_J3", "F2_J1"),
    mean=(0.3, 0.4, 0.5, 0.3),
    matrix=((0.5, 0.0), (0.4, 0.3), (0.2, -0.6), (0.1, 0.7)),
)


def deflections(stiffness: tuple[float, ...]) -> tuple[Array, Array]:
    """Deflection of each joint under a torque in each joint, and Kq, of TWO's joints."""
    closure = sg.description.SynergyIncrementClosure(synergies=TWO, synergy_stiffness=stiffness)
    scene = pinch(object_position=AWAY, closure=closure, self_contact=False)
    model = compile_scene(scene).model
    rows = scene.hand.rows_by_joint
    gains = np.array([rows[joint].servo_stiffness for joint in TWO.joints])
    torque, result = 1e-3, np.zeros((4, 4))
    for index, pushed in enumerate((None, *TWO.joints)):
        data = mujoco.MjData(model)
        mujoco.mj_resetDataKeyframe(model, data, 0)
        if pushed is not None:
            data.qfrc_applied[model.joint(pushed).dofadr[0]] = torque
        mujoco.mj_step(model, data, 6000)
        posture = np.array([data.qpos[model.joint(j).qposadr[0]] for j in TWO.joints])
        if pushed is None:
            rest = posture
            assert rest == pytest.approx(TWO.mean, abs=1e-9)
        else:
            result[:, index - 1] = (posture - rest) / torque
    return result, gains


def test_soft_synergies_yield_by_their_compliance() -> None:
    result, gains = deflections((2.0, 5.0))
    target = soft_synergy_compliance(gains, TWO.matrix, (2.0, 5.0))
    assert result == pytest.approx(target, rel=1e-3, abs=1e-3 * target.max())


def test_torques_end_where_they_are_limited_and_are_never_above() -> None:
    for torque in (0.1, 0.5):
        scene = pinch(grasp="power", closure=sg.description.ForceLimitedClosure(torque=torque))
        run = finished(scene)
        at_limit = []
        for command in scene.actuators:
            actuator = run.model.actuator(command.name)
            assert actuator.forcerange[1] == torque
            at_limit.append(abs(run.data.actuator_force[actuator.id]) / torque)
        assert max(at_limit) <= 1.0
        held = np.array(run.state.strained.active, dtype=bool)
        assert held.sum() >= 8
        assert np.array(at_limit)[held] == pytest.approx(1.0, rel=0.01)


@pytest.mark.parametrize(
    "closure",
    [
        sg.PositionIncrementClosure(grip_force=4.0),
        sg.description.ForceLimitedClosure(torque=6.0),
        sg.description.ForceLimitedClosure(force=5.0),
        sg.description.UnderactuatedClosure(tension=400.0),
        sg.description.JointTorqueClosure(),
    ],
    ids=lambda closure: closure.type,
)
def test_joints_that_close_in_the_negative_direction_press_as_their_mirror_images(
    closure: Any,
) -> None:
    own, mirrored = (sg.simulate(pads(3, sign, closure=closure)) for sign in (1, -1))
    assert own.status is mirrored.status is sg.GraspStatus.CLOSED
    assert mirrored.normal_force == pytest.approx(own.normal_force, abs=1e-6)
    assert mirrored.normal_force[-1].min() > 1.0
    assert mirrored.joint_position == pytest.approx(-own.joint_position, abs=1e-9)
    if closure.type == "force-limited" and closure.torque is not None:
        assert own.normal_force[-1] == pytest.approx(6.0, rel=0.01)


@pytest.mark.parametrize("sign", [1, -1])
def test_a_hand_that_touches_nothing_closes_to_its_limits(sign: int) -> None:
    result = sg.simulate(pads(2, sign, object_position=(0.0, 0.0, 0.055)))
    assert result.status is sg.GraspStatus.NO_CONTACT
    assert np.abs(result.joint_target).max() == 0.03
    assert result.joint_target[-1].tolist() == [0.03 * sign] * 2


def test_a_free_finger_closes_by_its_springs_and_pulleys() -> None:
    hand = sg.load_hand("four_finger")
    springs = ({"stiffness": 0.2, "rest_angle": -0.2}, {"stiffness": 0.15}, {"stiffness": 0.1})
    elastic = tuple(
        row.replace(**own) for row, own in zip(hand.fingers[0].phalanges, springs, strict=True)
    )
    hand = hand.replace(
        fingers=(hand.fingers[0].replace(phalanges=elastic), *hand.fingers[1:]),
        tendons=(
            sg.description.Tendon(
                name="own",
                tension_limit=8.0,
                pulleys=tuple(
                    sg.description.Pulley(joint=f"F1_J{index}", radius=radius)
                    for index, radius in ((1, 0.01), (2, 0.008), (3, 0.003))
                ),
            ),
        ),
    )
    for command in ("tension", "excursion"):
        closure = sg.description.UnderactuatedClosure(control_mode=command)
        away = {"object_position": AWAY, "self_contact": False, "duration": 6.0}
        result = sg.simulate(pinch(hand=hand, grasp="power", closure=closure, **away))
        assert result.status is sg.GraspStatus.NO_CONTACT
        rotated = [result.joints[f"F1_J{index}"] for index in (1, 2, 3)]
        target = [-0.2 + 0.01 * 8 / 0.2, 0.008 * 8 / 0.15, 0.003 * 8 / 0.1]
        assert rotated == pytest.approx(target, rel=1e-3)
        assert result.joints["F2_J1"] == pytest.approx(np.pi / 2, abs=0.01)  # keeps its servo


@pytest.mark.parametrize("name", ["tendons", "tension", "differential", "torques"])
def test_at_rest_contacts_balance_what_pulls_the_joints(name: str) -> None:
    run = finished(pinch(closure=CLOSURES[name], duration=6.0))
    scene, model, data = run.scene, run.model, run.data
    rows, contacts = scene.mechanism.hand.rows_by_joint, torques_of_contacts(run)
    free = 0
    for actuator in scene.mechanism.actuators:
        pull = float(data.actuator_force[model.actuator(actuator.actuator.name).id])
        assert actuator.force_limits[0] <= pull <= actuator.force_limits[1]
        for joint, arm in actuator.arms:
            value, row = float(data.qpos[model.joint(joint).qposadr[0]]), rows[joint]
            if not row.limits[0] + 1e-3 < value < row.limits[1] - 1e-3:
                continue
            own = arm * pull - row.stiffness * (value - row.rest_angle)
            assert -contacts[model.joint(joint).dofadr[0]] == pytest.approx(own, rel=0.005)
            free += 1
    assert free >= 4


@pytest.mark.parametrize("name", ["soft synergy", "tendons", "differential", "torques"])
def test_joint_torque_sensors_balance_the_contacts_of_every_mechanism(name: str) -> None:
    sensor = sg.description.JointTorqueSensor(name="joints")
    run = finished(pinch(closure=CLOSURES[name], duration=6.0, sensors=(sensor,)))
    model, contacts, free = run.model, torques_of_contacts(run), 0
    reading = run.sensing.recorded(run.recording.rows)
    for channel, torque in zip(reading["sensor_names"], reading["sensor_truth"][-1], strict=True):
        joint = model.joint(channel.removeprefix("joints."))
        value, (low, high) = float(run.data.qpos[joint.qposadr[0]]), joint.range
        if low + 1e-3 < value < high - 1e-3:
            assert torque == pytest.approx(-contacts[joint.dofadr[0]], rel=0.005, abs=1e-4)
            free += 1
    assert free >= 4


def test_one_blocked_finger_does_not_stop_the_others_of_a_differential() -> None:
    block = sg.GraspObject(name="block", shape=sg.Sphere(radius=0.01), density=700.0)
    scene = pinch(
        grasp="power",
        object=block,
        object_position=(0.035, 0.02, -0.04),
        object_mount="fixed",
        closure=sg.description.UnderactuatedClosure(differential=True),
        self_contact=False,
    )
    result = sg.simulate(scene)
    touched = {contact.finger for contact in result.contacts if contact.in_contact}
    assert "F1" in touched
    assert not touched & {"F3", "F4"}
    limits = {joint: row.limits[1] for joint, row in scene.hand.rows_by_joint.items()}
    for finger in ("F3", "F4"):
        assert result.joints[f"{finger}_J2"] == pytest.approx(limits[f"{finger}_J2"], abs=0.01)
    assert result.joints["F1_J1"] < 0.5 * limits["F1_J1"]


def test_torques_close_a_free_hand_no_faster_than_its_grasp() -> None:
    scene = pinch(
        grasp="power",
        closure=sg.description.JointTorqueClosure(),
        object_position=AWAY,
        self_contact=False,
        duration=1.0,
    )
    result = sg.simulate(scene)
    speed = np.abs(np.gradient(result.joint_position, result.time, axis=0)).max()
    assert 0.9 * scene.closing_motion.rates[0] < speed < 1.02 * scene.closing_motion.rates[0]


@pytest.mark.slow
def test_followers_follow_under_load_and_stop_their_leaders() -> None:
    hand = sg.load_hand("dlr_hit_ii_coupled")
    assert sum(hand.actuator_counts) == 15
    free = sg.PositionIncrementClosure(grip_force=None)  # a grip force moves stopped targets back
    result = sg.simulate(sg.GraspScene(hand=hand, object=ball(), closure=free))
    assert result.status is sg.GraspStatus.CLOSED
    for coupling in hand.couplings:
        own, leader = (
            result.joint_position[:, column(result.joint_names, name)]
            for name in (coupling.joint, coupling.leader)
        )
        assert abs(own - coupling.ratio * leader).max() < 1e-3
    stops = {command.name: command.stops for command in hand.actuators}
    assert stops["index_PIP_flex"] == ("index_P3", "index_P4")
    alone = [
        contact.finger
        for contact in result.contacts
        if contact.phalanx == "P4"
        and contact.in_contact
        and not any(c.in_contact for c in result.contacts if c.body == f"{contact.finger}_P3")
    ]
    assert alone
    for finger in alone:
        since = result.in_contact[:, column(result.contact_bodies, f"{finger}_P4")]
        target = result.joint_target[:, column(result.actuator_names, f"{finger}_PIP_flex")]
        assert not np.diff(target)[(since[1:] & since[:-1])].any()


def test_ode_refuses_what_its_controller_cannot_do(golden: Golden) -> None:
    from softgrasp.backends.webots.backend import world_and_job

    golden.refused(
        lambda: world_and_job(
            compile_scene(pinch(closure=sg.description.JointTorqueClosure())), 0.0, "job.json"
        ),
        "closure",
        sg.BuildError,
    )
