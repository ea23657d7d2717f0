"""Free motion: gravity, momentum, forces from outside, and what has diverged."""

from __future__ import annotations

import numpy as np
import pytest

from softgrasp.errors import SimulationError
from tests.backends.ode.worlds import (
    ball,
    built,
    hinge,
    named,
    node,
    physics,
    robot,
    run,
    slider,
    solid,
    throw,
    velocity,
)
from tests.conftest import Golden

pytestmark = pytest.mark.usefixtures("ode_library")


@pytest.mark.parametrize("gravity", [9.81, 0.0, 1.62])
def test_a_ball_falls_with_the_worlds_gravity(gravity: float, digits: float) -> None:
    """Semi-implicit Euler: h²·g·n(n + 1)/2 after n steps."""
    ode = run(built(ball(1.0), gravity=gravity), 0.3)
    fallen = 1.0 - ode.pose(named(ode, "ball")).position[2]
    assert fallen == pytest.approx(gravity * 1e-6 * 300 * 301 / 2, rel=1e3 * digits, abs=digits)
    assert ode.time == pytest.approx(0.3)


def test_gravity_can_change_during_the_run(digits: float) -> None:
    ode = built(ball(1.0), gravity=0.0)
    run(ode, 0.1)
    ode.set_gravity(5.0)
    run(ode, 0.1)
    linear, angular = velocity(ode, "ball")
    assert linear == pytest.approx((0.0, 0.0, -0.5), rel=1e3 * digits)
    assert angular.tolist() == [0.0, 0.0, 0.0]


def test_springs_motors_and_contacts_keep_the_momentum() -> None:
    """A body with a hinge and a slider with a motor, hit by a ball, without gravity."""
    bound = node("Box", size=(0.1, 0.1, 0.1))
    end = solid("end", translation=(0.2, 0.0, 0.0), physics=physics(0.3, inertia=1e-3))
    cart = solid("cart", translation=(0.0, 0.0, 0.2), physics=physics(0.2, inertia=1e-3))
    joints = [
        hinge(end, anchor=(0.1, 0.0, 0.0), springConstant=2.0, position=-0.4),
        slider(cart, node("LinearMotor", name="m")),
    ]
    torso = robot(*joints, boundingObject=bound, physics=physics(1.0, inertia=1e-3))
    ode = built(torso, ball(0.0, translation=(-0.2, 0.02, 0.01)), gravity=0.0, CFM=1e-12)
    masses = [body.weight().mass for body in ode.bodies]
    throw(ode, "ball", 2.0, 0.0, 0.0)
    ode.joints[1].motor.setForce(1.0)

    def momenta() -> tuple[np.ndarray, np.ndarray]:
        linear, turning = np.zeros(3), np.zeros(3)
        for body, mass in zip(ode.bodies, masses, strict=True):
            speed, rate = velocity(ode, body.root.name)
            pose, weight = ode.pose(body.root), body.weight()
            inertia = pose.rotation @ weight.inertia @ pose.rotation.T
            linear += mass * speed
            turning += np.cross(pose.apply(weight.center), mass * speed) + inertia @ rate
        return linear, turning

    before = momenta()
    touched = 0
    for _ in range(200):
        ode.step()
        touched = max(touched, ode.contacts.count)
    after = momenta()
    assert touched > 0
    assert abs(ode.joints[1].velocity) > 0.1
    assert after[0] == pytest.approx(before[0], abs=1e-6)
    assert after[1] == pytest.approx(before[1], abs=1e-3)


def test_a_force_acts_at_the_centre_of_mass_for_one_step(digits: float) -> None:
    off_centre = solid("one", physics=physics(0.5, center=(0.3, 0.0, 0.0), inertia=1e-3))
    ode = built(off_centre, gravity=0.0)
    item = named(ode, "one")
    ode.add_force(item, np.array([0.0, 10.0, 0.0]))
    run(ode, 0.005)
    linear, angular = velocity(ode, "one")
    assert linear == pytest.approx((0.0, 10.0 / 0.5 * 1e-3, 0.0), rel=1e3 * digits)
    assert angular.tolist() == [0.0, 0.0, 0.0]


def test_what_stands_is_moved_by_nothing() -> None:
    ode = built(solid("base", translation=(1.0, 2.0, 3.0)))
    base = named(ode, "base")
    ode.add_force(base, np.ones(3))
    run(ode, 0.01)
    assert ode.pose(base).position.tolist() == [1.0, 2.0, 3.0]


def test_a_motion_that_has_diverged_is_reported(golden: Golden) -> None:
    ode = built(ball(1.0))
    throw(ode, "ball", 0.0, 0.0, -2e4)
    golden.refused(
        lambda: run(ode, 0.1),
        "the motion has diverged by 0.008 s: Solid ball moves at 2e+04 m/s or rad/s",
        SimulationError,
    )


def test_two_worlds_beside_each_other_do_not_meet() -> None:
    first, second = built(ball(1.0)), built(ball(2.0), gravity=0.0)
    run(first, 0.1)
    assert second.pose(named(second, "ball")).position[2] == pytest.approx(2.0)
