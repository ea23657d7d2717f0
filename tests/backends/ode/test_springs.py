"""Springs, stops and motors of joints."""

from __future__ import annotations

import math

import numpy as np
import pytest

import softgrasp as sg
from tests.backends.ode.worlds import (
    built,
    finger_nodes,
    hinge,
    named,
    node,
    physics,
    robot,
    run,
    slider,
    solid,
)

pytestmark = pytest.mark.usefixtures("ode_library")


def angles(ode) -> np.ndarray:
    return np.array([joint.position for joint in ode.joints])


@pytest.mark.parametrize("step_ms", [1.0, 8.0])
def test_a_finger_comes_to_rest_where_its_equilibrium_is(step_ms: float) -> None:
    finger = sg.io.load_finger("paper000")
    ode = run(built(finger_nodes(finger, damping_factor=20.0), step_ms=step_ms), 6.0)
    rest = sg.equilibrium(finger, error_estimate=False)
    assert np.degrees(angles(ode)) == pytest.approx(np.degrees(rest.joint_angles), abs=1e-3)


def pendulum(*devices, step_ms: float = 1.0, gravity: float = 0.0, **parameters):
    """A hinge about y with 1e-3 kg·m² about it."""
    joint = hinge(solid("arm", physics=physics(0.1, inertia=1e-3)), *devices, **parameters)
    return built(robot(joint), step_ms=step_ms, gravity=gravity)


def cart(*devices, step_ms: float = 1.0, gravity: float = 0.0, **parameters):
    """A mass of 0.5 kg on a slider along z."""
    end = solid("cart", physics=physics(0.5))
    return built(robot(slider(end, *devices, **parameters)), step_ms=step_ms, gravity=gravity)


def implicit(x: float, m: float, k: float, c: float, h: float, steps: int, f: float = 0.0):
    """x and v after steps of m·v⁺ = m·v + h·(f − k·(x + h·v⁺) − c·v⁺)."""
    v = 0.0
    for _ in range(steps):
        v = (m * v + h * (f - k * x)) / (m + h * (h * k + c))
        x += h * v
    return x, v


@pytest.mark.parametrize("step_ms", [1.0, 4.0, 16.0])
def test_hinge_and_slider_springs_are_implicit(step_ms: float, digits: float) -> None:
    """Small, as ODE turns a body by 2·atan(h·ω/2) instead of h·ω in a step."""
    law = {"springConstant": 20.0, "dampingConstant": 0.05, "position": 1e-3}
    h, steps = step_ms / 1e3, 40
    for made, inertia in ((pendulum, 1e-3), (cart, 0.5)):
        (joint,) = run(made(step_ms=step_ms, **law), h * steps).joints
        expected = implicit(1e-3, inertia, 20.0, 0.05, h, steps)
        assert (joint.position, joint.velocity) == pytest.approx(expected, abs=100 * digits)


def test_a_written_angle_is_the_pose_and_the_spring_rests_at_zero(digits: float) -> None:
    motorless = pendulum(springConstant=1.0, dampingConstant=0.2, position=-0.7)
    assert motorless.joints[0].position == -0.7
    run(motorless, 3.0)
    assert motorless.joints[0].position == pytest.approx(0.0, abs=1e-5 + 10 * digits)
    rotated = motorless.pose(named(motorless, "arm")).rotation
    assert rotated[0, 2] == pytest.approx(math.sin(0.7), abs=1e-5 + digits)


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_stops_hold_on_both_sides(sign: float, digits: float) -> None:
    motor = node("RotationalMotor", name="m", maxTorque=1.0)
    for made, device in ((pendulum, motor), (cart, node("LinearMotor", name="m"))):
        ode = made(device, minStop=-0.3, maxStop=0.3, position=0.1, step_ms=1.0)
        ode.joints[0].motor.setForce(sign * 0.05)
        run(ode, 4.0)
        assert ode.joints[0].position == pytest.approx(sign * 0.3, abs=2e-5 + 10 * digits)


def test_equal_stops_are_none_and_full_rotations_are_counted() -> None:
    ode = pendulum(node("RotationalMotor", name="m"))
    ode.joints[0].motor.setForce(0.01)
    run(ode, 2.0)
    assert ode.joints[0].position == pytest.approx(0.5 * 10.0 * 2.0**2, rel=1e-3)


def test_a_torque_acts_beside_the_spring_and_is_clipped(digits: float) -> None:
    motor = node("RotationalMotor", name="m", maxTorque=0.2)
    ode = pendulum(motor, springConstant=0.5, dampingConstant=0.1)
    ode.joints[0].motor.setForce(7.0)
    run(ode, 5.0)
    assert ode.joints[0].position == pytest.approx(0.4, rel=1e-6 + 10 * digits)


def test_an_untouched_motor_holds_the_start_with_its_torque() -> None:
    weight = physics(0.1, center=(0.1, 0.0, 0.0), inertia=1e-4)
    weak, strong = (
        built(robot(hinge(solid("arm", physics=weight), motor)))
        for motor in (
            node("RotationalMotor", name="m", maxTorque=0.05),
            node("RotationalMotor", name="m"),
        )
    )
    assert run(strong, 0.5).joints[0].position == pytest.approx(0.0, abs=1e-4)
    assert run(weak, 0.5).joints[0].position > 0.3


def test_velocity_control_keeps_within_the_largest_velocity() -> None:
    ode = pendulum(node("RotationalMotor", name="m", maxVelocity=3.0))
    motor = ode.joints[0].motor
    motor.setVelocity(2.0)
    run(ode, 0.5)
    assert ode.joints[0].position == pytest.approx(1.0, abs=2e-3)
    motor.setVelocity(50.0)
    run(ode, 0.1)
    assert ode.joints[0].velocity == pytest.approx(3.0, rel=1e-3)
