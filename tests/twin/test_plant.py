"""The simulated controller's pressure: laws of its valve, its limits, and its noise."""

from __future__ import annotations

import math

import numpy as np
import pytest

from softgrasp.errors import DescriptionError, SimulationError
from softgrasp.twin.files import load_register_map
from softgrasp.twin.modbus_server import (
    ControllerState,
    SimulatedController,
    Valve,
    advanced,
    measured,
    sample_number,
    target_of,
)
from tests.twin.controllers import Clock

ON = ControllerState(positive_on=True, positive_target=100e3, negative_target=-80e3)
VALVE = Valve()


def test_it_rises_as_a_first_order_valve() -> None:
    for time in (0.0, 0.05, VALVE.time_constant, 1.0):
        target = 100e3 * (1 - math.exp(-time / VALVE.time_constant))
        assert advanced(ON, time, VALVE).pressure == pytest.approx(target, rel=1e-14)


def test_it_does_not_depend_on_how_often_it_is_asked() -> None:
    state = ON
    for time in np.sort(np.random.default_rng(3).uniform(0, 1, 500)):
        state = advanced(state, float(time), VALVE)
    once = advanced(ON, state.time, VALVE)
    assert state.pressure == pytest.approx(once.pressure, rel=1e-12)


@pytest.mark.parametrize(
    ("positive", "negative", "target"),
    [(False, False, 0.0), (True, False, 100e3), (False, True, -80e3), (True, True, 0.0)],
)
def test_the_triggers_choose_the_target(positive: bool, negative: bool, target: float) -> None:
    state = ON._replace(positive_on=positive, negative_on=negative)
    assert target_of(state, VALVE) == target
    assert advanced(state, 100.0, VALVE).pressure == pytest.approx(target, abs=1e-9)


def test_no_target_leads_beyond_the_clamps() -> None:
    too_high = ON._replace(positive_target=500e3)
    too_low = ON._replace(positive_on=False, negative_on=True, negative_target=-500e3)
    for state, bound in ((too_high, 120e3), (too_low, -90e3)):
        path = [advanced(state, t, VALVE).pressure for t in np.linspace(0, 5, 300)]
        assert np.abs(path).max() <= abs(bound)
        assert path[-1] == pytest.approx(bound)
        assert (np.diff(np.abs(path)) >= 0).all()


def test_time_does_not_run_backwards() -> None:
    with pytest.raises(SimulationError, match="expected a time from 2 s on, found 1 s"):
        advanced(ON._replace(time=2.0), 1.0, VALVE)
    with pytest.raises(SimulationError, match="found nan s"):
        advanced(ON, math.nan, VALVE)


def test_noise_has_its_size_and_its_seed_and_belongs_to_the_instant() -> None:
    noisy = Valve(noise=200.0, seed=5)
    states = [ControllerState(time=k * noisy.sample_period + 1e-5) for k in range(4000)]
    errors = np.array([measured(state, noisy) for state in states])
    assert errors.std() == pytest.approx(200.0, rel=0.05)
    assert abs(errors.mean()) < 4 * 200.0 / math.sqrt(len(errors))
    again = np.array([measured(state, noisy) for state in reversed(states)])
    assert (again[::-1] == errors).all()
    other = Valve(noise=200.0, seed=6)
    assert measured(states[9], other) != errors[9]
    assert measured(states[9], VALVE) == states[9].pressure


def test_samples_are_counted() -> None:
    assert sample_number(ControllerState(time=0.0105), VALVE) == 10


def test_a_valve_has_the_air_around_in_its_range() -> None:
    with pytest.raises(DescriptionError, match=r"lowest: expected lowest <= 0 <= highest"):
        Valve(lowest=10.0)
    with pytest.raises(DescriptionError, match="time_constant: expected a number above 0"):
        Valve(time_constant=0.0)


def test_a_controller_that_nobody_asks_lets_the_air_out() -> None:
    clock = Clock(0.0)
    registers = load_register_map()
    controller = SimulatedController(registers, Valve(time_constant=0.1), watchdog=1.0, clock=clock)
    controller.write("holding", 0, [1, 0, 500])
    clock.now = 0.9
    controller.words("holding", 0, 5)
    clock.now = 1.8
    assert controller.state().positive_on
    assert controller.state().pressure == pytest.approx(50e3, rel=1e-6)
    clock.now = 2.2  # 1.3 s after the last request: 0.3 s of it on the way to the air around
    state = controller.state()
    assert not state.positive_on
    assert state.pressure == pytest.approx(50e3 * math.exp(-3.0), rel=1e-5)
    controller.words("holding", 0, 5)
    clock.now = 60.0
    assert not controller.state().positive_on  # and does not close again by itself


def test_without_a_watchdog_commands_stay() -> None:
    clock = Clock(0.0)
    controller = SimulatedController(load_register_map(), clock=clock)
    controller.write("holding", 0, [1, 0, 500])
    clock.now = 3600.0
    assert controller.state().positive_on
