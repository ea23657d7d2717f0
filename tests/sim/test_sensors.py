"""Sensors tell forces and weights truly, and their errors are the ones that were asked for."""

from __future__ import annotations

import math
from functools import cache
from typing import Any

import mujoco
import numpy as np
import pytest
from scipy.stats import chi2

import softgrasp as sg
from softgrasp.evaluation.analysis import ReplayedResult
from softgrasp.model.object import object_mass
from softgrasp.sim.sensors import samples_of_delay
from tests.conftest import Golden
from tests.support.scenes import ball, pinch

G = 9.81


TIPS = ("F1_P3", "F2_P3", "F3_P3", "F4_P3")


def skins(**errors: object) -> tuple[sg.description.TactileSensor, ...]:
    return tuple(
        sg.description.TactileSensor(name=f"skin_{tip}", body=tip, **errors) for tip in TIPS
    )


@cache
def grasp(*sensors: object, seed: int = 0) -> sg.GraspResult:
    return sg.simulate(pinch(sensors=sensors, seed=seed))


def test_sensors_change_nothing_of_the_grasp() -> None:
    bare, felt = (
        grasp(),
        grasp(*skins(noise=0.1), sg.description.ForceTorqueSensor(name="wrist", noise=0.1)),
    )
    for name in ("time", "joint_position", "object_position", "normal_force", "in_contact"):
        np.testing.assert_array_equal(getattr(bare, name), getattr(felt, name))
    assert bare.sensor_names is None
    assert bare.sensors == {}


def test_the_taxels_together_measure_the_normal_force_at_every_sample() -> None:
    result = grasp(*skins())
    for tip in TIPS:
        column = result.contact_bodies.tolist().index(tip)
        taxels = result.sensors[f"skin_{tip}"].taxels
        assert taxels.shape == (len(result.time), 4, 8)
        np.testing.assert_allclose(
            taxels.sum(axis=(1, 2)), result.normal_force[:, column], rtol=1e-12, atol=1e-12
        )
    assert result.normal_force.max() > 1.0


def test_a_contact_is_felt_where_it_is() -> None:
    # the contact of each finger lies on the side of its tip that looks at the ball
    result = grasp(*skins())
    for tip in TIPS:
        felt = result.sensors[f"skin_{tip}"].taxels[-1]
        assert felt[:, 2:6].sum() == pytest.approx(felt.sum())


def test_the_wrist_carries_the_hand_and_what_it_holds() -> None:
    result = sg.simulate(
        pinch(
            sensors=(sg.description.ForceTorqueSensor(name="wrist"),), success=sg.SuccessCriterion()
        )
    )
    model = sg.compile_model(result.scene)
    hand = float(model.body_subtreemass[model.body("palm").id])
    weight = (hand + object_mass(result.scene.object)) * G
    force = result.sensors["wrist"].values[-1, :3]
    assert result.held
    np.testing.assert_allclose(force, [0.0, 0.0, -weight], rtol=1e-3, atol=1e-3 * weight)
    # before the hold test there is no gravity, and grip forces are inside the hand
    grip = result.sensors["wrist"].values[result.time < 0.5][-1]
    np.testing.assert_allclose(grip, 0.0, atol=0.01)


def test_a_rotated_sensor_measures_the_weight_and_its_lever_in_its_frame() -> None:
    half = math.sqrt(0.5)
    pose = sg.Pose(position=(0.1, 0.0, 0.0), quaternion=(half, half, 0.0, 0.0))  # 90° about x
    still = pinch(
        gravity=True, object_mount="fixed", closure=sg.PositionIncrementClosure(rates=0.0),
        duration=0.3, sensors=(sg.description.ForceTorqueSensor(name="wrist", pose=pose),),
    )  # fmt: skip
    result = sg.simulate(still)
    model = sg.compile_model(result.scene)
    weight = float(model.body_subtreemass[model.body("palm").id]) * G
    reading = result.sensors["wrist"].values[-1]
    # world -z is -y of the frame; from 0.1 m aside it turns about the world's y, the frame's -z
    np.testing.assert_allclose(reading[:3], [0.0, -weight, 0.0], atol=1e-3 * weight)
    # weight (0, 0, -W) at (-0.1, 0, z) from the sensor: moment (0, -0.1·W, 0) in the world
    np.testing.assert_allclose(reading[3:], [0.0, 0.0, 0.1 * weight], atol=2e-3 * 0.1 * weight)


def test_a_tared_sensor_measures_only_what_was_added() -> None:
    scene = pinch(
        sensors=(sg.description.ForceTorqueSensor(name="wrist", tare=True),),
        success=sg.SuccessCriterion(),
    )
    np.testing.assert_array_equal(sg.simulate(scene).sensors["wrist"].values[0], np.zeros(6))
    loaded = sg.simulate(scene.replace(gravity=True, object_mount="fixed", success=None))
    np.testing.assert_allclose(loaded.sensors["wrist"].values[0], np.zeros(6))
    assert abs(loaded.sensors["wrist"].values[:200, 2]).max() < 1.0  # without its 3 N of weight


def test_noise_has_the_deviation_that_was_requested() -> None:
    deviation = 0.03
    result = grasp(
        *skins(noise=deviation), sg.description.ForceTorqueSensor(name="wrist", noise=deviation)
    )
    for reading in result.sensors.values():
        channels = 3 if reading.sensor.name == "wrist" else reading.values.shape[1]
        error = (reading.values - reading.truth)[:, :channels]
        low, high = chi2.ppf([1e-4, 1.0 - 1e-4], error.size)
        assert low < (error**2).sum() / deviation**2 < high
        # white: neighbours in time know nothing of one another
        assert abs((error[1:] * error[:-1]).mean()) < 5.0 * deviation**2 / math.sqrt(error.size)


def test_torques_have_separate_errors() -> None:
    sensor = sg.description.ForceTorqueSensor(
        name="wrist", noise=0.5, torque_errors=sg.description.SensorErrors(noise=0.002)
    )
    reading = grasp(sensor).sensors["wrist"]
    error = reading.values - reading.truth
    assert error[:, :3].std() == pytest.approx(0.5, rel=0.1)
    assert error[:, 3:].std() == pytest.approx(0.002, rel=0.1)


def test_the_seed_decides_the_noise_and_not_the_truth() -> None:
    first, again, other = (grasp(*skins(noise=0.05), seed=seed) for seed in (1, 1, 2))
    assert first.trajectory_sha256 == again.trajectory_sha256
    np.testing.assert_array_equal(first.sensor_truth, other.sensor_truth)
    assert not np.isclose(first.sensor_values, other.sensor_values).all(axis=1).any()


def test_the_noise_of_a_sensor_does_not_depend_on_the_others() -> None:
    item = grasp(skins(noise=0.05)[2]).sensors["skin_F3_P3"].values
    among = grasp(*skins(noise=0.05)).sensors
    np.testing.assert_array_equal(item, among["skin_F3_P3"].values)
    errors = [among[f"skin_{tip}"].values - among[f"skin_{tip}"].truth for tip in TIPS[:2]]
    assert abs((errors[0] * errors[1]).mean()) < 5 * 0.05**2 / math.sqrt(errors[0].size)


def test_what_is_late_by_a_part_of_a_sample_is_there_at_the_next_one() -> None:
    assert [samples_of_delay(delay, 1e-3) for delay in (0.0, 1e-9, 1e-3, 1.5e-3, 3e-3)] == [
        0, 1, 1, 2, 3,
    ]  # fmt: skip


def test_a_closure_can_sense_by_its_skin() -> None:
    closure = sg.PositionIncrementClosure(sense="sensor")
    true = sg.simulate(pinch(sensors=skins()))
    quiet = sg.simulate(pinch(sensors=skins(), closure=closure))
    assert [e.time_s for e in quiet.events if e.kind == "established"] == [
        e.time_s for e in true.events if e.kind == "established"
    ]
    late = sg.simulate(pinch(sensors=skins(delay=0.005), closure=closure))
    times = [
        {event.body: event.time_s for event in result.events if event.kind == "established"}
        for result in (true, late)
    ]
    assert times[1] == {body: pytest.approx(time + 0.005) for body, time in times[0].items()}


def test_noise_above_the_threshold_stops_a_hand_that_listens_to_single_samples() -> None:
    # one taxel: the noise of a sum grows with the root of their number
    def closed(samples: int) -> sg.GraspResult:
        noisy = tuple(
            sg.description.TactileSensor(
                name=f"skin_{tip}", body=tip, rows=1, columns=1, noise=0.06
            )
            for tip in TIPS
        )
        closure = sg.PositionIncrementClosure(sense="sensor", samples=samples)
        return sg.simulate(pinch(sensors=noisy, closure=closure, seed=3))

    hasty, patient = closed(1), closed(10)
    first = [min(e.time_s for e in r.events if e.kind == "established") for r in (hasty, patient)]
    assert first[0] < 0.1  # 5 % of all samples are above 0.1 N by noise alone
    assert first[1] == pytest.approx(0.332, abs=0.002)


def test_results_with_sensors_come_back_from_their_files(tmp_path) -> None:
    result = grasp(*skins(noise=0.05))
    result.save(tmp_path)
    loaded = sg.load_result(tmp_path)
    assert loaded.scene == result.scene
    np.testing.assert_array_equal(loaded.sensor_names, result.sensor_names)
    np.testing.assert_array_equal(loaded.sensor_values, result.sensor_values)
    np.testing.assert_array_equal(loaded.sensor_truth, result.sensor_truth)
    assert loaded.sensors["skin_F2_P3"].sensor == result.scene.sensors[1]


def test_maps_are_of_tactile_sensors_only() -> None:
    reading = grasp(sg.description.ForceTorqueSensor(name="wrist")).sensors["wrist"]
    with pytest.raises(TypeError, match="expected a tactile sensor, found one of force_torque"):
        _ = reading.taxels


def test_a_skin_needs_a_surface(golden: Golden) -> None:
    from tests.support.scenes import press

    scene = press(ball(), 0.032, sensors=(sg.description.TactileSensor(name="skin", body="palm"),))
    golden.refused(lambda: sg.simulate(scene), "sensors: skin", sg.BuildError)


# Sensors of a hand that is moved: weight, inertia, and the same noise for every direction.


SEQUENCE = (
    "close",
    {"type": "hold", "time": 0.1},
    {"type": "lift", "height": 0.05, "time": 0.4},
    {"type": "hold", "time": 0.3},
    {"type": "shake", "amplitude": 0.01, "frequency": 5.0, "cycles": 2, "direction": (1, 0, 0)},
)


@cache
def lifted(*sensors: object) -> sg.GraspResult:
    return sg.simulate(
        pinch(
            sequence=SEQUENCE,
            gravity=True,
            surroundings=(sg.Table(),),
            sensors=sensors,
            timestep=1e-3,  # of shorter steps the last one of a control period is sampled alone
        )
    )


@cache
def weighed() -> sg.GraspResult:
    return lifted(sg.description.ForceTorqueSensor(name="wrist", tare=True))


def row(result: sg.GraspResult, time: float) -> int:
    return int(np.searchsorted(result.time, time - 1e-9))


def test_the_lifted_object_is_weighed_at_the_wrist() -> None:
    result, (*_, held, _) = weighed(), weighed().phases
    force = result.sensors["wrist"].values[row(result, held.end_s), :3]
    weight = object_mass(result.scene.object) * G
    np.testing.assert_allclose(force, [0.0, 0.0, -weight], atol=1e-3 * weight)


def test_a_shaken_wrist_feels_the_mass_of_hand_and_object() -> None:
    result, shake = weighed(), weighed().phases[-1]
    rows = slice(row(result, shake.start_s), row(result, shake.end_s) + 1)
    force = result.sensors["wrist"].values[rows, 0]
    replay, period = ReplayedResult(result), result.scene.control_period
    palm, loose = replay.model.body("palm").id, object_mass(result.scene.object)
    carried = float(replay.model.body_subtreemass[palm])
    mass = carried + loose
    hand = [replay.pose(float(t)).subtree_com[palm, 0] for t in result.time[rows]]
    center = (carried * np.array(hand) + loose * result.object_position[rows, 0]) / mass
    acceleration = np.gradient(np.gradient(center, period), period)
    inner = slice(50, -50)  # ends of the second difference, and of the wave, left out
    assert -np.polyfit(acceleration[inner], force[inner], 1)[0] == pytest.approx(mass, rel=0.01)


def test_every_direction_has_the_same_noise_and_delay_whatever_came_before() -> None:
    sensor = sg.description.ForceTorqueSensor(name="wrist", noise=0.1, delay=0.005)
    loads = ((5.0, 0.0, 0.0), (0.0, 5.0, 0.0))

    def message(directions: tuple[tuple[float, ...], ...]) -> dict[str, np.ndarray]:
        limits = {"direction_time": 0.1, "max_drop": 5e-3, "max_rotation": 0.5}
        criterion = sg.SuccessCriterion(gravity=None, directions=directions, **limits)
        result = sg.simulate(pinch(success=criterion, sensors=(sensor,)))
        assert len(result.sensor_values) == len(result.time)
        assert result.held is True
        values = result.sensors["wrist"].values
        return {
            test.name: values[row(result, test.start_s) + 1 : row(result, test.end_s) + 1]
            for test in result.hold.directions
        }

    forth, back = message(loads), message(loads[::-1])
    for name in ("+x", "+y"):
        np.testing.assert_array_equal(forth[name], back[name])
    # the delayed samples at the beginning are those of the closed state
    np.testing.assert_array_equal(forth["+x"][:5], forth["+y"][:5])
    assert np.abs(forth["+x"][50:] - forth["+y"][50:]).max() > 0.05


def amplifier(truth: np.ndarray, sensor: sg.description.ForceTorqueSensor) -> np.ndarray:
    """The chain of a real amplifier, written down once more: loads of a sensor without noise."""
    analog = truth + sensor.bias + sensor.drift * (np.arange(len(truth)) * 1e-3)[:, None]
    late = math.ceil(sensor.delay / 1e-3 - 1e-9)
    analog = np.concatenate([np.repeat(analog[:1], late, axis=0), analog])[: len(truth)]

    def converted(value: np.ndarray) -> np.ndarray:
        value = np.clip(value, -(sensor.range or math.inf), sensor.range or math.inf)
        if not sensor.resolution:
            return value
        levels = np.round(value / sensor.resolution)
        highest = np.floor((sensor.range or math.inf) / sensor.resolution)
        return np.clip(levels, -highest, highest) * sensor.resolution

    zero = converted(truth[0] + sensor.bias) if sensor.tare else np.zeros(truth.shape[1])
    return converted(analog) - zero


CHAINS: dict[str, dict[str, Any]] = {
    "plain": {},
    "bias, tared": {"bias": 0.4, "tare": True},
    "drift": {"drift": 0.5, "tare": True},
    "range below the weight, tared": {"range": 1.0, "tare": True},
    "range that is no multiple": {"range": 3.0, "resolution": 0.4},
    "all": {
        "bias": -0.7,
        "drift": 1.93,
        "delay": 0.0042,
        "range": 5.0,
        "resolution": 0.3,
        "tare": True,
    },
}


def test_readings_go_through_the_chain_of_an_amplifier() -> None:
    sensors = [
        sg.description.ForceTorqueSensor(name=f"s{index}", **fields)
        for index, fields in enumerate(CHAINS.values())
    ]
    raw = sg.description.ForceTorqueSensor(name="raw")
    scene = pinch(
        sensors=(raw, *sensors), gravity=True, object_mount="fixed", duration=0.4, success=None
    )
    result = sg.simulate(scene)
    truth = result.sensors["raw"].truth[:, :3]
    assert np.ptp(truth[:, 2]) > 1.0  # the load changes
    for sensor in sensors:
        expected = amplifier(truth, sensor)
        np.testing.assert_allclose(
            result.sensors[sensor.name].values[:, :3], expected, atol=1e-12, err_msg=sensor.name
        )
    narrow = result.sensors["s4"].values
    assert np.abs(narrow[:, :3]).max() == pytest.approx(2.8)  # never beyond its range


def test_noise_comes_before_the_range_and_does_not_move_the_zero() -> None:
    sensor = sg.description.ForceTorqueSensor(name="w", tare=True, bias=0.3, noise=0.2)
    reading = sg.simulate(pinch(sensors=(sensor,), duration=0.3)).sensors["w"]
    error = reading.values[:, :3] - reading.truth[:, :3]
    assert np.abs(error.mean(axis=0)).max() < 4.0 * 0.2 / math.sqrt(len(error))
    clipped = sensor.replace(tare=False, range=0.3)
    values = sg.simulate(pinch(sensors=(clipped,), duration=0.3)).sensors["w"].values
    assert np.abs(values[:, :3]).max() == pytest.approx(0.3)


def test_a_joint_carries_the_weight_of_its_links() -> None:
    sideways = (G, 0.0, 0.0)
    sensor = sg.description.JointTorqueSensor(name="joints")
    scene = pinch(sensors=(sensor,), gravity=sideways, object_mount="fixed", duration=0.1)
    result, model = sg.simulate(scene), sg.compile_model(scene)
    data = mujoco.MjData(model)
    data.qpos[:] = model.key_qpos[0]
    mujoco.mj_forward(model, data)
    weights = np.zeros(model.nv)
    for body in range(1, model.nbody):
        jacobian = np.zeros((3, model.nv))
        mujoco.mj_jacBodyCom(model, data, jacobian, None, body)
        weights += model.body_mass[body] * np.array(sideways) @ jacobian
    reading = result.sensors["joints"]
    dofs = [int(model.joint(name).dofadr[0]) for name in reading.channels]
    assert np.abs(weights[dofs]).max() > 1e-3
    np.testing.assert_allclose(reading.values[0], -weights[dofs], atol=1e-9)


def test_a_hand_that_touches_itself_feels_no_object() -> None:
    tips = tuple(
        sg.description.TactileSensor(name=f"skin_{tip}", body=tip, delay=0.002) for tip in TIPS
    )
    far = {"object_position": (0.0, 0.0, -0.3), "object_mount": "fixed", "duration": 1.5}
    scene = pinch(sensors=tips, **far)
    empty = sg.simulate(scene.replace(closure=sg.PositionIncrementClosure(sense="sensor")))
    assert not empty.in_contact.any()
    felt = np.concatenate([reading.truth for reading in empty.sensors.values()], axis=1)
    assert felt.max() > 0.1  # the tips meet


def test_bodies_without_a_skin_are_named() -> None:
    closure = sg.PositionIncrementClosure(sense="sensor")
    result = sg.simulate(pinch(sensors=skins()[:1], closure=closure, duration=0.02))
    (message,) = (text for text in result.warnings if "closure.sense" in text)
    assert TIPS[0] not in message
    assert all(tip in message for tip in TIPS[1:])
