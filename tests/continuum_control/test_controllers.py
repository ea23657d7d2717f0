"""Controllers without physics: the numbers of the reference for paper 002's stack."""

from __future__ import annotations

import math
import re

import numpy as np
import pytest

import softgrasp as sg
from softgrasp.continuum.pcc import segment_transform
from softgrasp.continuum_control.controllers import (
    FeedForwardController,
    ImpedanceController,
    JointTrajectoryController,
    StateBroadcaster,
    deflection,
    segment_frames,
)
from softgrasp.continuum_control.interfaces import ResourceManager
from softgrasp.continuum_control.manager import ControlledRobot, ControllerManager
from softgrasp.mechanics.robot_kinematics import origin_frame
from tests.conftest import Golden
from tests.continuum_control.arms import LENGTH, arm, steered

RIGHT = (1.0, 0.0)


def run(
    stick: tuple[float, float], seconds: float, kappa: float = 0.0, phi: float = 0.0
) -> tuple[float, float]:
    """κ and φ after a stick was held for a while."""
    robot = arm()
    resources = ResourceManager(robot)
    resources.commands["s1/kappa"].value, resources.commands["s1/phi"].value = kappa, phi
    manager = ControllerManager(resources)
    manager.load(FeedForwardController(robot, lambda _: {"s1": stick}, name="cffc"))
    manager.switch(start=["cffc"])
    for tick in range(round(seconds / 0.01)):
        manager.update(0.01 * tick, 0.01)
    return resources.commanded("s1/kappa"), resources.commanded("s1/phi")


def test_a_stick_at_its_stop_moves_with_the_rate_up_to_the_limit() -> None:
    assert run(RIGHT, 1.0) == pytest.approx((2.0, 0.0))
    assert run(RIGHT, 1.49)[0] == pytest.approx(2.98)
    assert run(RIGHT, 1.51) == (3.0, 0.0)
    assert run(RIGHT, 3.0) == (3.0, 0.0)


def test_in_the_dead_zone_nothing_moves() -> None:
    assert run((0.09, 0.0), 1.0, kappa=1.0, phi=0.4) == pytest.approx((1.0, 0.4))
    assert deflection((0.1, 0.0)) == pytest.approx([0, 0])
    assert deflection((0.55, 0.0)) == pytest.approx([0.5, 0])
    assert deflection((0.8, 0.8)) == pytest.approx([math.sqrt(0.5)] * 2)


def test_at_the_limit_a_stick_rotates_the_plane() -> None:
    kappa, phi = run((0.0, 1.0), 1.0, kappa=3.0)
    assert kappa == 3.0
    assert math.degrees(phi) == pytest.approx(35.61, abs=0.05)


def test_through_straight_the_plane_jumps_by_a_half_rotation() -> None:
    kappa, phi = run((-1.0, 0.0), 1.0, kappa=1.0)
    assert kappa == pytest.approx(1.0)
    assert abs(math.degrees(phi)) == pytest.approx(180.0)
    kappa, phi = run((-1.0, 0.0), 0.5, kappa=1.0, phi=0.0)
    assert kappa == pytest.approx(0.0, abs=1e-9)


def trajectory(segments: int = 1) -> tuple[JointTrajectoryController, ResourceManager]:
    robot = arm(segments)
    resources = ResourceManager(robot)
    manager = ControllerManager(resources)
    controller = JointTrajectoryController(robot, name="cjtc")
    manager.load(controller)
    manager.switch(start=["cjtc"])
    return controller, resources


def position(controller: JointTrajectoryController, time: float) -> np.ndarray:
    """(u, v) of the segment at a time."""
    resources = ResourceManager(arm())
    resources.claim(controller.claims(), controller.name)
    controller.update(resources, time, 0.0)
    kappa, phi = (resources.commanded(f"s1/{name}") for name in ("kappa", "phi"))
    return np.array([kappa * math.cos(phi), kappa * math.sin(phi)])


def test_the_time_and_the_samples_of_a_trajectory() -> None:
    controller, _ = trajectory()
    assert controller.go({"s1": (3.0, 0.0)}, now=0.0) == pytest.approx(2.8125)
    times, vectors = controller.samples(100.0)
    assert len(times) == 283
    assert (times[0], times[-1]) == (0.0, 2.8125)
    assert vectors["s1"][0] == pytest.approx([0, 0])
    assert vectors["s1"][-1] == pytest.approx([3, 0])
    speed = np.linalg.norm(np.diff(vectors["s1"], axis=0), axis=1)[:-1] * 100.0
    assert 1.999 < speed.max() <= 2.0


@pytest.mark.slow
def test_segments_arrive_together_and_stay_in_their_disc() -> None:
    controller, _ = trajectory(3)
    controller.go({"s1": (1.0, 0.0), "s2": (2.5, 2.0), "s3": (3.0, -1.0)}, now=0.0)
    controller.go({"s1": (2.0, 1.0), "s2": (1.0, -2.0), "s3": (3.0, 2.0)}, now=controller.duration)
    _, vectors = controller.samples(200.0)
    ends = {"s1": 2.0, "s2": 2.5, "s3": 3.0}
    fastest = 0.0
    for name, way in vectors.items():
        assert np.linalg.norm(way, axis=1).max() <= ends[name] + 1e-9
        fastest = max(fastest, float(np.linalg.norm(np.diff(way, axis=0), axis=1)[:-1].max() * 200))
    assert 1.99 < fastest <= 2.0


def test_a_trajectory_that_is_too_fast_or_too_far_is_refused(golden: Golden) -> None:
    controller, _ = trajectory()
    golden.refused(lambda: controller.go({"s1": (3.0, 0.0)}, now=0.0, duration=2.0), "duration")
    with pytest.raises(sg.DescriptionError, match="expected a curvature of at most 3 1/m"):
        controller.go({"s1": (4.0, 0.0)}, now=0.0)
    with pytest.raises(sg.DescriptionError, match="no bendable or rigid joint 's2'; known: s1"):
        controller.go({"s2": (1.0, 0.0)}, now=0.0)


@pytest.mark.parametrize(
    ("target", "duration", "sentence"),
    [
        ({"s1": (math.nan, 0.0)}, None, "expected finite kappa and phi, found"),
        ({"s1": (1.0, math.inf)}, None, "expected finite kappa and phi, found"),
        ({"s1": 1.0}, None, "expected finite kappa and phi, found"),
        ({"s1": (1.0, 0.0)}, math.nan, "expected a finite number of at least 0, found nan"),
        ({"s1": (1.0, 0.0)}, -1.0, "expected a finite number of at least 0, found -1"),
    ],
)
def test_a_target_that_is_no_number_changes_nothing(
    target: dict[str, object], duration: float | None, sentence: str
) -> None:
    controller, _ = trajectory()
    with pytest.raises(sg.DescriptionError, match=sentence):
        controller.go(target, 0.0, duration)
    assert controller.go({"s1": (3.0, 0.0)}, 0.0) == pytest.approx(2.8125)


def test_a_new_target_takes_over_the_motion() -> None:
    controller, _ = trajectory()
    controller.go({"s1": (3.0, 0.0)}, now=0.0)
    ways = [position(controller, 0.01 * tick) for tick in range(141)]
    controller.go({"s1": (1.0, 1.0)}, now=1.4)
    ways += [position(controller, 1.4 + 0.01 * tick) for tick in range(1, 400)]
    speed = np.diff(np.array(ways), axis=0) / 0.01
    assert np.linalg.norm(speed, axis=1).max() <= 2.001
    assert np.abs(np.diff(speed, axis=0)).max() < 0.25  # no jump of the speed
    assert ways[-1] == pytest.approx([math.cos(1.0), math.sin(1.0)])


def test_a_trajectory_goes_through_several_shapes() -> None:
    controller, resources = trajectory()
    points = [(1.5, {"s1": (1.0, 0.0)}), (2.0, {"s1": (1.0, 1.0)}), (3.0, {"s1": (2.5, 1.0)})]
    assert controller.follow(points, now=1.0) == pytest.approx(6.5)
    for time, (kappa, phi) in ((2.5, (1.0, 0.0)), (4.5, (1.0, 1.0)), (7.5, (2.5, 1.0))):
        controller.update(resources, time - 0.01, 0.01)
        assert resources.commanded("s1/kappa") == pytest.approx(kappa)
        assert resources.commanded("s1/phi") == pytest.approx(phi)
    with pytest.raises(sg.DescriptionError, match=r"^duration: expected at least 2\.506 s"):
        controller.follow([(2.0, {"s1": (3.0, 0.0)}), (1.0, {"s1": (0.0, 0.0)})], now=20.0)


@pytest.mark.slow
def test_the_plane_rotates_no_faster_than_its_rate() -> None:
    robot = arm()
    (part,) = robot.bendables
    part = part.replace(limits=part.limits.replace(phi_dot_max=math.pi))
    robot = robot.replace(bendables=(part,))
    manager = ControllerManager(ResourceManager(robot))
    controller = JointTrajectoryController(robot, name="cjtc")
    stick = FeedForwardController(robot, lambda _: {"s1": (0.0, 1.0)}, name="cffc")
    for each in (controller, stick):
        manager.load(each)
    manager.switch(start=["cjtc"])
    controller.go({"s1": (0.5, 0.0)}, now=0.0)
    begin = controller.duration
    controller.go({"s1": (0.5, 3.0)}, now=begin)
    ways = np.array([position(controller, begin + time)
                     for time in np.linspace(0.0, controller.duration, 4000)])  # fmt: skip
    phi = np.unwrap(np.arctan2(ways[:, 1], ways[:, 0]))
    fastest = np.abs(np.diff(phi)).max() / (controller.duration / 3999)
    assert 0.95 * math.pi < fastest <= 1.002 * math.pi
    manager.resources.commands["s1/kappa"].value = 0.05
    manager.resources.commands["s1/phi"].value = 0.0
    manager.switch(start=["cffc"], stop=["cjtc"])
    for tick in range(10):
        manager.update(0.01 * tick, 0.01)
    assert manager.resources.commanded("s1/phi") == pytest.approx(0.1 * math.pi, rel=1e-6)
    assert manager.resources.commanded("s1/kappa") > 0.05


def test_a_controller_that_is_not_started_is_an_error() -> None:
    controller = JointTrajectoryController(arm(), name="cjtc")
    with pytest.raises(sg.DescriptionError, match="expected controller 'cjtc' to be started"):
        controller.go({"s1": (1.0, 0.0)}, 0.0)


def test_a_stick_of_another_segment_is_refused(golden: Golden) -> None:
    robot = arm()
    manager = ControllerManager(ResourceManager(robot))
    manager.load(FeedForwardController(robot, lambda _: {"sl": RIGHT}, name="cffc"))
    manager.switch(start=["cffc"])
    golden.refused(lambda: manager.update(0.0, 0.01), "no segment 'sl' of 'cffc'; known: s1")


def test_the_plane_is_kept_where_the_segment_is_straight() -> None:
    controller, resources = trajectory()
    controller.go({"s1": (1.0, 0.8)}, now=0.0)
    controller.update(resources, controller.duration, 0.01)
    assert resources.commanded("s1/phi") == pytest.approx(0.8)
    controller.go({"s1": (0.0, 0.0)}, now=5.0)
    controller.update(resources, 20.0, 0.01)
    assert resources.commanded("s1/kappa") == pytest.approx(0.0, abs=1e-12)
    assert resources.commanded("s1/phi") == pytest.approx(0.8)


def test_the_broadcaster_keeps_one_record_a_tick_and_the_publisher_makes_frames_of_it() -> None:
    robot = sg.io.load_robot("three_segment_arm")
    resources = ResourceManager(robot)
    manager = ControllerManager(resources)
    heard = []
    caster = StateBroadcaster(robot, heard.append, name="cjsb")
    manager.load(caster)
    manager.switch(start=["cjsb"])
    resources.states["segment2/kappa"], resources.states["segment2/phi"] = 2.0, 0.5
    manager.update(0.0, 0.01)
    manager.update(0.01, 0.01)
    assert [record.time for record in caster.records] == [0.0, 0.01]
    assert heard == caster.records
    assert caster.records[0].names == ("segment1", "segment2", "segment3")
    assert caster.records[0].kappa == (0.0, 2.0, 0.0)
    frames = segment_frames(robot, caster.records[0])["segment2"]
    assert (frames.parent, frames.child) == ("tip1", "tip2")
    base = origin_frame(robot.bendable("segment2").origin)
    assert frames.end == pytest.approx(base @ segment_transform(2.0, 0.5, LENGTH))
    assert frames.discs.shape == (5, 4, 4)
    assert frames.discs[-1] == pytest.approx(frames.end)
    assert frames.discs[1] == pytest.approx(segment_transform(2.0, 0.5, 0.4 * LENGTH))


def test_interfaces_are_claimed_by_one_controller_at_a_time(golden: Golden) -> None:
    robot = arm()
    manager = ControllerManager(ResourceManager(robot))
    manager.load(FeedForwardController(robot, lambda _: {}, name="stick"))
    manager.load(JointTrajectoryController(robot, name="path"))
    manager.load(StateBroadcaster(robot, name="states"))
    manager.switch(start=["stick", "states"])
    golden.refused(lambda: manager.switch(start=["path"]), "path")
    assert manager.listed() == [("stick", "active"), ("path", "inactive"), ("states", "active")]
    manager.switch(start=["path"], stop=["stick"])
    assert manager.listed() == [("stick", "inactive"), ("path", "active"), ("states", "active")]
    with pytest.raises(sg.DescriptionError, match=r"no controller 'pth'; did you mean 'path'\?"):
        manager.switch(start=["pth"])
    with pytest.raises(sg.DescriptionError, match="found controller 'path' twice"):
        manager.load(JointTrajectoryController(robot, name="path"))


def test_commands_keep_to_the_limits_of_their_interface(golden: Golden) -> None:
    resources = ResourceManager(arm())
    resources.claim(["s1/kappa"], "me")
    with pytest.warns(sg.SoftgraspWarning, match="'s1/kappa': expected a command from 0 to 3"):
        resources.command("s1/kappa", 7.0, "me")
    assert resources.commanded("s1/kappa") == 3.0
    with pytest.warns(sg.SoftgraspWarning, match="'s1/kappa': expected a command from 0 to 3"):
        resources.command("s1/kappa", -1.0, "me")
    assert resources.commanded("s1/kappa") == 0.0
    with pytest.raises(sg.DescriptionError) as caught:
        resources.command("s1/phi", 1.0, "me")
    assert str(caught.value) == "expected 's1/phi' to be claimed by 'me', found it with nobody"
    with pytest.raises(sg.DescriptionError, match="expected a finite command of 's1/kappa'"):
        resources.command("s1/kappa", math.nan, "me")
    golden.refused(lambda: resources.claim(["s1/kapa"], "me"), "no command interface 's1/kapa'")


def test_a_plane_that_is_not_commanded_is_fixed() -> None:
    resources = ResourceManager(sg.io.load_robot("soft_gripper_two"))
    assert "left_finger/phi" not in resources.commands
    assert resources.commanded("left_finger/phi") == 0.0


# --------------------
# What a robot under control says about weight, odd numbers and names.


@pytest.mark.slow
def test_a_robot_that_its_weight_bends_down_is_reported() -> None:
    """The shipped arm stands upright on w L³/EI = 16, twice the buckling load of a column."""
    robot = sg.io.load_robot("three_segment_arm")
    with pytest.warns(sg.SoftgraspWarning, match="cannot stand by itself in its start pose"):
        machine, path = steered(robot, gravity=True)
    path.go({f"segment{k}": (0.5, 0.0) for k in (1, 2, 3)}, machine.now)
    with pytest.warns(sg.SoftgraspWarning, match="expected a curvature below kappa_max, 3.314 1/m"):
        machine.step(6.0)


@pytest.mark.parametrize(("x", "y"), [(1.0, 0.0), (0.0, -1.0), (0.6, 0.8), (0.98, 0.19)])
def test_a_measured_curvature_stays_within_its_largest(x: float, y: float) -> None:
    """Thirty times its weight, to any side, with what it swings beyond."""
    robot = arm()
    machine = ControlledRobot(robot, gravity=(300.0 * x, 300.0 * y, 0.0))
    curvatures = []
    states = StateBroadcaster(robot, lambda record: curvatures.append(record.kappa[0]))
    machine.manager.load(states)
    machine.manager.switch(start=[states.name])
    with pytest.warns(sg.SoftgraspWarning, match="found it at its stop"):
        machine.step(1.0)
    limit = robot.bendables[0].kappa_max
    assert limit < max(curvatures) < 1.04 * limit


def test_a_segment_that_folds_into_itself_is_named() -> None:
    robot = arm()
    (part,) = robot.bendables
    thick = part.replace(backbone=part.backbone.replace(radius=1.01 / part.kappa_max))
    with pytest.warns(sg.SoftgraspWarning, match="at which it folds into itself"):
        ControlledRobot(robot.replace(bendables=(thick,)))


def test_a_largest_curvature_is_reached_against_no_stop() -> None:
    machine, path = steered(arm())
    path.go({"s1": (3.0, 0.4)}, machine.now)
    machine.step(6.0)
    assert machine.curvature("s1")[0] == pytest.approx(3.0, rel=2e-3)


def test_a_motion_shorter_than_a_control_period_is_refused() -> None:
    machine, path = steered(arm())
    target = {"s1": (1e-6, 0.0)}
    for go in (
        lambda: path.go(target, machine.now, duration=0.009),
        lambda: path.follow([(1.0, target), (0.0, {"s1": (0.0, 0.0)})], machine.now),
    ):
        with pytest.raises(sg.DescriptionError, match=r"at least the control period, 0\.01 s"):
            go()
    assert path.duration == 0.0
    path.go(target, machine.now, duration=0.01)


@pytest.mark.slow
def test_hanging_it_goes_where_it_is_commanded() -> None:
    machine, path = steered(sg.io.load_robot("three_segment_arm"), gravity=(0.0, 0.0, 9.81))
    path.go({f"segment{k}": (1.0, 0.3) for k in (1, 2, 3)}, machine.now)
    machine.step(12.0)
    for k in (1, 2, 3):
        assert machine.curvature(f"segment{k}") == pytest.approx((1.0, 0.3), rel=0.02)


def test_rigid_joints_and_segments_move_together() -> None:
    machine, path = steered(sg.io.load_robot("soft_gripper_two"))
    path.go({"wrist": 0.03, "left_finger": 5.0, "right_finger": (8.0, 0.0)}, machine.now)
    machine.step(path.duration + 1.0)
    assert machine.data.joint("wrist").qpos[0] == pytest.approx(0.03, abs=1e-4)
    assert machine.curvature("left_finger")[0] == pytest.approx(5.0, rel=0.02)
    assert machine.curvature("right_finger")[0] == pytest.approx(8.0, rel=0.02)
    for target, sentence in (
        ({"wrist": 0.06}, "joint 'wrist': expected a position from -0.05 to 0.05, found 0.06"),
        (
            {"left_finger": (5.0, math.pi / 2)},
            "bendable 'left_finger': expected a target in its plane at 0 rad, found phi = 1.5708",
        ),
        ({"left_finger": 20.0},
         "bendable 'left_finger': expected a curvature of at most 15 1/m, found 20"),
    ):  # fmt: skip
        with pytest.raises(sg.DescriptionError, match=f"^{re.escape(sentence)}$"):
            path.go(target, machine.now)


@pytest.mark.parametrize(
    ("gravity", "result"),
    [(-9.81, "-9.81"), ((0.0, 0.0), "(0.0, 0.0)"), ((0.0, 0.0, math.nan), "(0.0, 0.0, nan)")],
)
def test_gravity_is_three_numbers(gravity: object, result: str) -> None:
    sentence = f"gravity: expected three finite numbers, or true or false, found {result}"
    with pytest.raises(sg.DescriptionError, match=f"^{re.escape(sentence)}$"):
        ControlledRobot(arm(), gravity=gravity)


def test_gravity_may_be_an_array() -> None:
    machine = ControlledRobot(arm(), gravity=np.array([0.0, 0.0, 9.81]))
    assert machine.model.opt.gravity.tolist() == [0.0, 0.0, 9.81]


@pytest.mark.parametrize("duration", [0.004, -1.0, math.nan])
def test_a_step_takes_one_period_or_more(duration: float) -> None:
    with pytest.raises(sg.DescriptionError, match=r"^duration: expected at least one period of 0"):
        ControlledRobot(arm()).step(duration)


def test_names_that_are_not_there() -> None:
    machine = ControlledRobot(arm())
    for call, sentence in (
        (lambda: machine.curvature("s2"), "no bendable 's2' under control; known: s1"),
        (lambda: machine.position_of("tip"), "no link 'tip'; known: l0, l1"),
        (lambda: machine.robot.bendable("x"), "no bendable 'x'; known: s1"),
        (lambda: machine.robot.link("x"), "no link 'x'; known: l0, l1"),
    ):
        with pytest.raises(sg.DescriptionError, match=f"^{re.escape(sentence)}$"):
            call()


def without_rate(robot: sg.description.Robot) -> sg.description.Robot:
    parts = tuple(
        part.replace(limits=part.limits.replace(kappa_dot_max=None)) for part in robot.bendables
    )
    return robot.replace(bendables=parts)


def test_a_motion_that_nothing_limits_is_refused() -> None:
    robot = without_rate(arm())
    controller = JointTrajectoryController(robot)
    controller.start(ResourceManager(robot), 0.0)
    for duration in (None, 0.0):
        with pytest.raises(sg.DescriptionError, match="expected kappa_dot_max or a duration"):
            controller.go({"s1": (3.0, 0.0)}, 0.0, duration)
    assert controller.go({"s1": (3.0, 0.0)}, 0.0, 1.0) == 1.0
    assert controller.go({"s1": controller.samples(10.0)[1]["s1"][0].tolist()}, 0.0) == 0.0


def test_a_moving_segment_is_not_sent_beyond_its_range() -> None:
    robot = without_rate(arm())
    controller = JointTrajectoryController(robot)
    controller.start(ResourceManager(robot), 0.0)
    controller.go({"s1": (3.0, 0.0)}, 0.0, 1.0)
    with pytest.raises(sg.DescriptionError, match="expected a motion within its range"):
        controller.go({"s1": (3.0, 0.0)}, 0.5, 5.0)
    assert max(np.hypot(*row) for row in controller.samples(100.0)[1]["s1"]) <= 3.0 + 1e-9


def test_an_impedance_target_beyond_the_largest_curvature_is_refused() -> None:
    controller = ImpedanceController(arm(), stiffness=1.0)
    with pytest.raises(sg.DescriptionError, match=r"at most kappa_max 3.3 1/m, found 100 1/m"):
        controller.aim({"s1": (100.0, 0.0)})
