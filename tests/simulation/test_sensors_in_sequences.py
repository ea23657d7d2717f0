"""Sensors of a hand that is moved: weight, inertia, and the same noise for every direction."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

import softgrasp as sg
from softgrasp.model.object import object_mass
from tests.scenes import pinch

G = 9.81
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
        pinch(sequence=SEQUENCE, gravity=True, surroundings=(sg.Table(),), sensors=sensors)
    )


@cache
def weighed() -> sg.GraspResult:
    return lifted(sg.ForceTorqueSensor(name="wrist", tare=True))


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
    position = result.joint_position[rows, result.joint_names.tolist().index("wrist_x")]
    period = result.scene.control_period
    acceleration = np.gradient(np.gradient(position, period), period)
    model = sg.compile_model(result.scene)
    mass = float(model.body_subtreemass[model.body("palm").id]) + object_mass(result.scene.object)
    inner = slice(50, -50)  # ends of the second difference, and of the wave, left out
    slope = np.polyfit(acceleration[inner], force[inner], 1)[0]
    assert -slope == pytest.approx(mass, rel=0.02)


def test_sensors_change_nothing_of_a_sequence() -> None:
    bare, felt = lifted(), weighed()
    for name in ("time", "joint_position", "joint_target", "object_position", "normal_force"):
        np.testing.assert_array_equal(getattr(bare, name), getattr(felt, name))
    assert felt.sensor_values.shape == (len(felt.time), 6)


def test_every_direction_has_the_same_noise_and_delay_whatever_came_before() -> None:
    sensor = sg.ForceTorqueSensor(name="wrist", noise=0.1, delay=0.005)
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
