"""Hardware: conversions, how drives share a moment, and the model of the same description."""

from __future__ import annotations

import math
from itertools import product

import mujoco
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import softgrasp as sg
from softgrasp.continuum_control.controllers import (
    ImpedanceController,
    JointTrajectoryController,
    StateBroadcaster,
)
from softgrasp.continuum_control.hardware import ActuatorAllocation, options_of
from softgrasp.continuum_control.manager import ControlledRobot
from softgrasp.description.bendable import Chamber
from softgrasp.description.robot import Robot
from tests.conftest import Golden
from tests.continuum_control.arms import ANGLES, LENGTH, STIFFNESS, arm, steered


@given(st.floats(-2.0, 2.0), st.floats(-2.0, 2.0))
def test_tendons_pull_only_and_give_the_moment(x: float, y: float) -> None:
    part = arm().bendables[0]
    tensions = ActuatorAllocation(part, 0.5, clamp=False).controls(np.array([x, y]))
    assert tensions.min() == pytest.approx(0.5)
    moment = sum(
        t * d.radius * np.array([math.cos(d.angle), math.sin(d.angle)])
        for t, d in zip(tensions, part.actuation, strict=True)
    )
    assert moment == pytest.approx([x, y], abs=1e-9)


def test_a_pressure_out_of_range_is_refused_unless_it_is_clamped(golden: Golden) -> None:
    actuators = tuple(Chamber(angle=a, radius=0.05, area=2e-4, pressure_max=5e4) for a in ANGLES)
    part = arm(actuators="chambers").bendables[0].replace(actuation=actuators)
    golden.refused(
        lambda: ActuatorAllocation(part, 0.0, clamp=False).controls(np.array([1.5, 0.1])),
        "bendable 's1'",
        sg.SimulationError,
    )
    cut = ActuatorAllocation(part, 0.0, clamp=True).controls(np.array([1.5, 0.0]))
    assert cut.max() == pytest.approx(5e4, rel=1e-9)


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"plugin": "SoftRobotInterfaces"}, "ros2_control 'arm'"),
        ({"params": (("pretensoin", "1"),)}, "ros2_control 'arm': param 'pretensoin'"),
        ({"params": (("pretension", "much"),)}, "ros2_control 'arm': param 'pretension'"),
        ({"plugin": "ChamberHardware"}, "bendable 's1'"),
    ],
)
def test_what_a_file_asks_of_the_hardware_is_checked(
    options: dict, sentence: str, golden: Golden
) -> None:
    golden.refused(lambda: ControlledRobot(arm(**options)), sentence)


def test_parameters_of_the_file_are_honoured() -> None:
    result = options_of(arm(params=(("pretension", "2.5"), ("clamp", "true"))).control[0])
    assert (result.pretension, result.clamp, result.integral_gain) == (2.5, True, None)
    machine = ControlledRobot(arm(params=(("pretension", "2.5"),)))
    machine.step(0.1)
    assert machine.data.ctrl == pytest.approx([2.5] * 3)


def driven(robot: Robot, kappa: float, seconds: float = 4.0) -> ControlledRobot:
    """Every segment sent to one curvature, in planes that differ."""
    machine, path = steered(robot)
    planes = {part.name: 0.5 + index for index, part in enumerate(robot.bendables)}
    targets = {name: (kappa, phi) for name, phi in planes.items()}
    machine.step(path.go(targets, machine.now, duration=6.0) + seconds)
    return machine


QUICK = ((2, "tendons", 3.0), (2, "chambers", 0.5))
BENT = product((2, 3), ("tendons", "chambers"), (0.5, 1.5, 3.0))


@pytest.mark.parametrize(
    ("segments", "actuators", "kappa"),
    [pytest.param(*case, marks=() if case in QUICK else pytest.mark.slow) for case in BENT],
)
def test_every_segment_bends_as_commanded_and_straightens_when_released(
    segments: int, actuators: str, kappa: float
) -> None:
    """Within 2 %, by swapping the description only; straight again within 1 %."""
    machine = driven(arm(segments, actuators), kappa)
    for index, name in enumerate(machine.segments):
        measured, phi = machine.curvature(name)
        assert measured == pytest.approx(kappa, rel=0.02)
        assert phi == pytest.approx(0.5 + index, abs=0.02)
    tip = f"l{segments}"
    straight = np.array([0.0, 0.0, segments * LENGTH])
    bent = np.linalg.norm(machine.position_of(tip) - straight)
    machine.release(4.0 * segments)
    assert np.linalg.norm(machine.position_of(tip) - straight) < 0.01 * bent


@pytest.mark.slow
def test_the_shipped_arm_follows_constant_curvature() -> None:
    machine = driven(sg.io.load_robot("three_segment_arm"), 2.0, seconds=10.0)
    target = sg.pcc.chain_transform([2.0] * 3, [0.5, 1.5, 2.5], [LENGTH] * 3)[:3, 3]
    assert machine.position_of("eef") == pytest.approx(target, abs=0.01)


@pytest.mark.slow
def test_hanging_in_gravity_the_error_is_corrected() -> None:
    errors = {}
    for gain in ("0", "1"):
        robot = arm(params=(("integral_gain", gain),))
        # the base looks up: gravity up hangs the arm from it
        machine, path = steered(robot, gravity=(0.0, 0.0, 9.81))
        machine.step(path.go({"s1": (2.0, 0.0)}, machine.now) + 8.0)
        errors[gain] = abs(machine.curvature("s1")[0] - 2.0) / 2.0
    assert errors["0"] > 0.03
    assert errors["1"] < 0.01


def test_the_ideal_hardware_is_where_it_is_commanded_to_be() -> None:
    machine = driven(arm(2, "moments", plugin="IdealHardware"), 1.0, seconds=0.1)
    assert machine.curvature("s2") == pytest.approx((1.0, 1.5), abs=1e-9)


@pytest.mark.parametrize("actuators", ["tendons", "moments"])
def test_impedance_makes_a_segment_as_stiff_as_requested(actuators: str) -> None:
    robot = arm(actuators=actuators)
    machine = ControlledRobot(robot)
    controller = ImpedanceController(robot, stiffness=2 * STIFFNESS, damping=0.05, name="soft")
    machine.manager.load(controller)
    machine.manager.switch(start=["soft"])
    controller.aim({"s1": (1.0, 0.0)})
    machine.step(4.0)
    assert machine.curvature("s1")[0] == pytest.approx(1.0, rel=0.01)
    axis = np.zeros((3, machine.model.nv))
    mujoco.mj_forward(machine.model, machine.data)
    mujoco.mj_jacBody(machine.model, machine.data, None, axis, machine.model.body("l1").id)
    machine.data.qfrc_applied[:] = axis[1] * 0.4  # a moment about y at the end
    machine.step(4.0)
    assert machine.curvature("s1")[0] == pytest.approx(1.0 + 0.4 / (2 * STIFFNESS), rel=0.02)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("stiffness", "damping", "duration"),
    [
        (0.5, 0.02, 4.0),
        pytest.param(1.0, 0.02, 6.0, marks=pytest.mark.slow),  # rings for longer
        pytest.param(2.0, 0.1, 4.0, marks=pytest.mark.slow),
    ],
)
def test_impedance_calms_the_shipped_arm(stiffness: float, damping: float, duration: float) -> None:
    robot = sg.io.load_robot("three_segment_arm")
    machine = ControlledRobot(robot)
    controller = ImpedanceController(robot, stiffness, damping, name="soft")
    machine.manager.load(controller)
    machine.manager.switch(start=["soft"])
    controller.aim({"segment1": (1.0, 0.0)})
    machine.step(duration)
    assert machine.curvature("segment1")[0] == pytest.approx(1.0, rel=0.06)
    assert machine.curvature("segment3")[0] < 0.02


def test_a_segment_is_commanded_by_curvature_or_by_moment_not_both() -> None:
    robot = arm()
    machine = ControlledRobot(robot)
    machine.manager.load(ImpedanceController(robot, 1.0, name="soft"))
    machine.manager.load(JointTrajectoryController(robot, name="shapes"))
    machine.manager.switch(start=["soft"])
    with pytest.raises(sg.DescriptionError, match="expected 's1/moment_u' to be free, found it"):
        machine.manager.switch(start=["shapes"])


def ringing(active: bool, damping: float) -> float:
    """Change of a curvature in the second after 2 s over that in the first one."""
    robot = arm()
    robot = robot.replace(bendables=tuple(
        part.replace(backbone=part.backbone.replace(damping=damping)) for part in robot.bendables
    ))  # fmt: skip
    machine = ControlledRobot(robot, active_damping=active)
    machine.data.qvel[:] = 1.0
    states = StateBroadcaster(robot, name="states")
    machine.manager.load(states)
    machine.manager.switch(start=["states"])
    machine.step(3.0)
    kappa = np.array([record.kappa[0] for record in states.records])
    return float(np.ptp(kappa[200:]) / np.ptp(kappa[:100]))


def test_active_damping_ends_the_ringing_of_segments_of_little_damping() -> None:
    assert ringing(False, 1e-4) > 0.15
    assert ringing(True, 1e-4) < 0.05
