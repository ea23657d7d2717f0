"""Bends of a hydraulic arm under feedback, and the PID that does it."""

from __future__ import annotations

import numpy as np
import pytest

import softgrasp as sg
from examples.paper003.control import ArmBendPid, Pid
from softgrasp.mechanics.transforms import Array
from tests.conftest import Golden
from tests.hydraulics.arms import one_section, two_sections

PERIOD = 0.01


def test_the_output_is_the_sum_of_its_three_parts() -> None:
    """A ramp of the error: P, the sum of the samples before, and the filtered slope."""
    pid, slope = Pid(2.0, 3.0, 0.5, PERIOD), 1.7
    outputs = [float(pid.output(0.0, slope * PERIOD * k)) for k in range(400)]
    last = 399
    integral = -3.0 * PERIOD * slope * PERIOD * sum(range(last))
    message = -2.0 * slope * PERIOD * last + integral - 0.5 * slope
    assert outputs[last] == pytest.approx(message, rel=1e-9)


def test_an_output_at_its_limit_does_not_wind_up() -> None:
    """Five seconds at a limit: afterwards it follows as at first; the plain integral does not."""

    def clipped(output: Array) -> Array:
        return np.clip(output, -1.2, 1.2)

    def late(pid: Pid) -> float:
        state = 0.0
        for _ in range(500):
            output = pid.output(5.0, state)
            state += PERIOD * (float(clipped(output)) - state) / 0.2
        samples = 0
        while abs(state - 0.5) > 0.05 and samples < 2000:
            output = pid.output(0.5, state)
            state += PERIOD * (float(clipped(output)) - state) / 0.2
            samples += 1
        return samples * PERIOD

    assert late(Pid(3.0, 9.0, 0.1, PERIOD, clipped)) < 0.5
    assert late(Pid(3.0, 9.0, 0.1, PERIOD)) > 5.0


def test_gains_and_shapes_that_cannot_be_are_reported(golden: Golden) -> None:
    golden.refused(lambda: Pid(1.0, -1.0, 0.0, PERIOD), "ki: expected 0 or more, found -1")
    with pytest.raises(sg.DescriptionError, match="period: expected a time above 0 s, found 0 s"):
        ArmBendPid(one_section(), 0.0)
    with pytest.raises(sg.DescriptionError, match=r"target: expected bends of shape \(1, 2\), fo"):
        ArmBendPid(one_section(), PERIOD).torques([0.1, 0.2], [[0.0, 0.0]])


def test_chambers_make_the_moments_with_minimum_pressures() -> None:
    """One chamber of each section pushes nothing, and the moments are those asked for."""
    arm = two_sections()
    control = ArmBendPid(arm, PERIOD, kp=1.0, ki=0.0, kd=0.0)
    target = np.array([[0.4, 0.1], [-0.2, 0.3]])
    pressures = control.pressures(target, np.zeros((2, 2))).reshape(2, 3)
    assert (pressures.min(axis=1) < 1e-6).all()
    for section, own, moment in zip(arm.sections, pressures, target, strict=True):
        ways = np.array([[np.cos(c.angle), np.sin(c.angle)] for c in section.chambers])
        made = -sum(
            p * c.area * c.radius * w for p, c, w in zip(own, section.chambers, ways, strict=True)
        )
        assert made == pytest.approx(moment, abs=1e-9)


class Loop:
    """An arm of two cells a section with its drives under feedback."""

    def __init__(self, arm: sg.hydraulics.HydraulicArm) -> None:
        self.chain = sg.hydraulics.ArmChain(arm, links=2)
        self.drives = sg.hydraulics.DriveStepper(sg.hydraulics.drive_model(arm), PERIOD)
        self.control = ArmBendPid(arm, PERIOD)

    def go(self, target: list[list[float]], duration: float) -> Array:
        """Bends [rad], (t, sections, 2)."""
        result = []
        for _ in range(round(duration / PERIOD)):
            torques = self.control.torques(target, self.chain.bends())
            self.chain.advance(self.drives.step(torques), PERIOD)
            result.append(self.chain.bends())
        return np.array(result)


@pytest.mark.slow
def test_the_arm_reaches_its_bends_and_a_pull_at_its_tip_does_not_last() -> None:
    loop, target = Loop(two_sections()), [[1.0, 0.0], [-0.5, 0.7]]
    assert loop.go(target, 2.5)[-50:] == pytest.approx(np.tile(target, (50, 1, 1)), abs=0.01)
    loop.chain.load = loop.chain.load.replace(force=(0.0, 0.3, 0.0), frame="base")
    pulled = loop.go(target, 2.5)
    assert np.abs(pulled - target).max() > 0.03
    assert pulled[-50:] == pytest.approx(np.tile(target, (50, 1, 1)), abs=0.01)


@pytest.mark.slow
def test_a_bend_that_cannot_be_reached_does_not_wind_the_arm_up() -> None:
    """A second at the limit of the pressures; then the bend that is asked for is there at once."""
    loop = Loop(one_section())
    assert 2.5 < loop.go([[6.0, 0.0]], 1.5)[-1, 0, 0] < 3.5
    assert loop.drives.pressures.max() == pytest.approx(1e6, rel=1e-3)
    back = loop.go([[1.0, 0.0]], 1.5)[:, 0, 0]
    assert back[-1] == pytest.approx(1.0, abs=0.01)
    assert back.min() > 0.75


def test_steps_of_feedback_are_the_motion_itself() -> None:
    """``advance`` sample by sample is ``move``, to the last bit."""
    given, arm = [2e5, 0.0, 1e5], one_section()
    whole = sg.hydraulics.ArmChain(arm, links=2).move(given, 0.1)
    chain = sg.hydraulics.ArmChain(arm, links=2)
    for index in range(10):
        chain.advance(given, 0.01)
        assert chain.ends().tolist() == whole.ends[index + 1].tolist()
    assert chain.time == pytest.approx(0.1)
    assert np.linalg.norm(chain.bends()) > 0.01
    assert chain.curvatures() == pytest.approx(chain.bends() / chain.lengths()[:, None])
    chain.reset()
    assert chain.time == 0.0
    assert chain.ends()[0] == pytest.approx([0.0, 0.0, arm.sections[0].length])
