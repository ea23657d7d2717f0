"""The state machine of a twin: each transition under faults of a controller on a raw socket.

The last test draws faults at random: a gripper under pressure at the end is never a success.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, rule, run_state_machine_as_test

from softgrasp.errors import SafeStopError
from softgrasp.twin.description import Twin
from softgrasp.twin.loop import TwinLoop
from softgrasp.twin.modbus import TcpLink
from softgrasp.twin.pneumatic_controller import VENT, Command, ControllerClient, ControllerReading
from softgrasp.twin.record import TwinRow
from softgrasp.twin.watchdog import MIN_SAMPLES, TRANSITIONS, Confirmation, State, Watchdog
from tests.twin.clock import ManualClock
from tests.twin.controllers import PATIENCE
from tests.twin.faulty_controller import FAULTS, FaultyController, memory_client, on_a_socket
from tests.twin.serving import ROOT
from tests.twin.twins import light_twin

CLOSE = Command(positive_target=60e3, positive_on=True, negative_on=False)
SOFTER = Command(positive_target=30e3)
OPEN = Command(negative_target=-40e3, negative_on=True, positive_on=False)
CONNECTING, IDLE, PRESSURISED, STOPPING, STOPPED, FAULT = State
Act = Callable[["Stage"], object]


class NoPose:
    """A flange whose pose nobody knows."""

    sample, problem = None, ""


class Stage:
    """A loop, a controller with faults, and a script of what happens at which time."""

    def __init__(self, script: list[tuple[float, Act]], twin: Twin | None = None) -> None:
        self.twin = twin or light_twin().replace(arm=None)
        self.clock = ManualClock()
        self.device = FaultyController(self.clock.now)
        self.rows: list[TwinRow] = []
        self.states = [CONNECTING]
        self.error = ""
        self.settled = False
        self._script = sorted(script, key=lambda step: step[0])

    def play(self, client: ControllerClient, seconds: float) -> Stage:
        """Run in memory."""
        asyncio.run(self.run(client, seconds))
        return self

    def play_on_a_socket(self, seconds: float) -> Stage:
        """Run with the real client, on a socket."""

        async def talk() -> None:
            async with on_a_socket(self.device) as port:
                link = TcpLink("127.0.0.1", port, timeout=PATIENCE, attempts=1, sleep=no_sleep)
                registers = self.twin.controller.map
                async with ControllerClient(registers, link, clock=self.clock.now) as client:
                    await self.run(client, seconds)

        asyncio.run(asyncio.wait_for(talk(), 4 * PATIENCE))
        return self

    async def run(self, client: ControllerClient, seconds: float) -> None:
        self.loop = TwinLoop(self.twin, client, NoPose(), clock=self.clock)
        go = Watchdog._go

        def watched(dog: Watchdog, state: State) -> None:
            if state is not self.states[-1]:
                self.states.append(state)
            go(dog, state)

        self.loop.keep(self.rows.append, self._act)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(Watchdog, "_go", watched)
            try:
                await self.loop.run(round(seconds * self.twin.rate))
            except SafeStopError as error:
                self.error = str(error)

    def _act(self, row: TwinRow) -> None:
        while self._script and row.time >= self._script[0][0] - 1e-9:
            self._script.pop(0)[1](self)

    @property
    def events(self) -> str:
        return " ".join(event for row in self.rows for event in row.events)


async def no_sleep(_: float) -> None:
    await asyncio.sleep(0)


def order(command: Command) -> Act:
    """A confirmed command of the user."""
    return lambda stage: stage.loop.box.put(command)


def fault(name: str, *, on: bool = True) -> Act:
    """A fault begins or ends."""
    return lambda stage: (stage.device.faults.add if on else stage.device.faults.discard)(name)


def other(**values: int) -> Act:
    """Another master writes registers."""
    return lambda stage: stage.device.set(**values)


# Transitions

SCENES: dict[str, tuple[list[tuple[float, Act]], list[State], str]] = {
    "close and end": ([(0.1, order(CLOSE))],
                      [CONNECTING, IDLE, PRESSURISED, STOPPING, STOPPED], ""),
    "another master is there before": (
        [(0.0, fault("is busy")), (0.1, other(positive_on=1, positive_target=400)),
         (0.3, fault("is busy", on=False))],
        [CONNECTING, IDLE, PRESSURISED, STOPPING, STOPPED], ""),
    "another master comes and goes": (
        [(0.1, other(positive_on=1, positive_target=400)), (1.0, other(positive_on=0))],
        [CONNECTING, IDLE, PRESSURISED, IDLE, STOPPING, STOPPED], ""),
    "vent": ([(0.1, order(CLOSE)), (0.5, order(VENT)), (1.0, order(CLOSE))],
             [CONNECTING, IDLE, PRESSURISED, STOPPING, STOPPED, IDLE, STOPPING, STOPPED], ""),
    "vent, then close": ([(0.1, order(CLOSE)), (0.5, order(VENT)), (2.5, order(CLOSE))],
                         [CONNECTING, IDLE, PRESSURISED, STOPPING, STOPPED, IDLE, PRESSURISED,
                          STOPPING, STOPPED], ""),
    "off by a command with targets": (
        [(0.1, order(CLOSE)), (0.5, order(VENT._replace(positive_target=20e3)))],
        [CONNECTING, IDLE, PRESSURISED, IDLE, STOPPING, STOPPED], ""),
    "the line is cut": (
        [(0.1, order(CLOSE)), (0.5, fault("drops")), (1.5, fault("drops", on=False))],
        [CONNECTING, IDLE, PRESSURISED, CONNECTING, STOPPING, STOPPED, IDLE, STOPPING, STOPPED],
        ""),
    "the line is cut while idle": (
        [(0.5, fault("drops")), (1.5, fault("drops", on=False))],
        [CONNECTING, IDLE, CONNECTING, STOPPING, STOPPED, IDLE, STOPPING, STOPPED], ""),
    "the line is cut while stopping": (
        [(0.1, order(CLOSE)), (0.5, order(VENT)), (0.6, fault("drops")),
         (1.5, fault("drops", on=False))],
        [CONNECTING, IDLE, PRESSURISED, STOPPING, CONNECTING, STOPPING, STOPPED, IDLE, STOPPING,
         STOPPED], ""),
    "vent before the first answer": (
        [(0.0, fault("fails reads")), (0.1, order(VENT)), (0.3, fault("fails reads", on=False))],
        [CONNECTING, IDLE, STOPPING, STOPPED, IDLE, STOPPING, STOPPED], ""),
    "a command is interrupted": (
        [(0.1, fault("fails writes")), (0.2, order(CLOSE)), (0.3, fault("fails writes", on=False))],
        [CONNECTING, IDLE, STOPPING, STOPPED, IDLE, STOPPING, STOPPED], ""),
    "it reboots off": (
        [(0.1, order(CLOSE)), (1.0, lambda stage: stage.device.reboot(on=False))],
        [CONNECTING, IDLE, PRESSURISED, STOPPING, FAULT],
        "expected the positive trigger on, found it off"),
    "it reboots with its trigger on": (
        [(0.1, order(CLOSE)), (1.0, lambda stage: stage.device.reboot(on=True))],
        [CONNECTING, IDLE, PRESSURISED, STOPPING, FAULT],
        "expected a positive target of 60 kPa, found 120 kPa"),
    "it reboots with its trigger on while vented": (
        [(0.1, order(CLOSE)), (0.5, order(VENT)),
         (2.5, lambda stage: stage.device.reboot(on=True))],
        [CONNECTING, IDLE, PRESSURISED, STOPPING, STOPPED, IDLE, STOPPING, FAULT],
        "expected the positive trigger off, found it on"),
    "another master vents": (
        [(0.1, order(CLOSE)), (1.0, other(positive_on=0))],
        [CONNECTING, IDLE, PRESSURISED, STOPPING, FAULT],
        "expected the positive trigger on, found it off"),
    "another master sets a target": (
        [(0.1, order(CLOSE)), (1.0, other(positive_target=900))],
        [CONNECTING, IDLE, PRESSURISED, STOPPING, FAULT],
        "expected a positive target of 60 kPa, found 90 kPa"),
    "a target is not taken": (
        [(0.0, other(positive_target=1200)), (0.0, fault("ignores targets")),
         (0.1, order(CLOSE._replace(positive_target=20e3)))],
        [CONNECTING, IDLE, STOPPING, FAULT], "expected a positive target of 20 kPa, found 120 kPa"),
    "the valve opens too far": (
        [(0.1, order(CLOSE)), (1.0, lambda stage: setattr(stage.device, "stuck_at", 110e3)),
         (1.0, fault("stuck")), (2.5, fault("stuck", on=False))],
        [CONNECTING, IDLE, PRESSURISED, STOPPING, FAULT],
        "expected a pressure of 60 kPa, found 10"),
    "the valve is stuck": (
        [(0.1, order(CLOSE)), (1.0, fault("stuck")), (1.5, order(VENT))],
        [CONNECTING, IDLE, PRESSURISED, STOPPING, FAULT], "a pressure of 59.8 kPa that remains"),
    "the pressure does not rise": (
        [(0.0, fault("stuck")), (0.1, order(CLOSE))],
        [CONNECTING, IDLE, PRESSURISED, STOPPING, FAULT],
        "expected a pressure of 60 kPa, found 0 kPa"),
    "triggers lie": (
        [(0.1, order(CLOSE)), (1.0, fault("lies about triggers"))],
        [CONNECTING, IDLE, PRESSURISED, STOPPING, FAULT], "a pressure of 60 kPa that remains"),
    "the pressure comes back while stopped": (
        [(0.1, order(CLOSE)), (0.5, order(VENT)), (3.0, fault("stuck")),
         (3.0, lambda stage: setattr(stage.device, "stuck_at", 60e3))],
        [CONNECTING, IDLE, PRESSURISED, STOPPING, STOPPED, IDLE, STOPPING, FAULT],
        "a pressure of 60 kPa that remains"),
    "two of five answers are cut": (
        [(0.1, order(CLOSE)), (0.5, order(VENT)), (0.6, fault("drops now and then"))],
        [CONNECTING, IDLE, PRESSURISED, STOPPING, STOPPED, IDLE, STOPPING, STOPPED], ""),
    "readings are never right": (
        [(0.1, order(CLOSE)), (0.5, fault("out of range"))],
        [CONNECTING, IDLE, PRESSURISED, CONNECTING, STOPPING, FAULT], "found 135000"),
}  # fmt: skip
"""What happens when, the states that follow, and what the error says; empty: exit code 0."""
LENGTH = {
    "the pressure does not rise": 7.0,
    "the valve is stuck": 8.0,
    "the valve opens too far": 5.0,
}
"""Durations other than 4 s [s]."""


@pytest.mark.parametrize("name", SCENES)
def test_states_under_faults_of_a_controller_on_a_socket(name):
    script, states, error = SCENES[name]
    stage = Stage(script).play_on_a_socket(LENGTH.get(name, 4.0))
    assert stage.states == states, stage.events
    assert error in stage.error
    assert bool(error) == bool(stage.error), stage.error
    assert bool(stage.error) or stage.device.vented


HOLD = light_twin().replace(arm=None, safe_stop="hold")


def test_a_twin_that_holds_leaves_the_gripper_and_reports_the_fault():
    script = [(0.1, order(CLOSE)), (1.0, other(positive_target=900))]
    stage = Stage(script, HOLD).play_on_a_socket(2.0)
    assert stage.states == [CONNECTING, IDLE, PRESSURISED, FAULT]
    assert "set to hold, after a fault: expected a positive target of 60 kPa" in stage.error
    assert stage.device.valve[0] == 1


def test_a_twin_that_holds_goes_on_after_a_cut_and_compares():
    cut = [(0.1, order(CLOSE)), (0.5, fault("drops")), (1.5, fault("drops", on=False))]
    stage = Stage(cut, HOLD).play_on_a_socket(3.0)
    assert stage.states == [CONNECTING, IDLE, PRESSURISED, CONNECTING, PRESSURISED]
    assert not stage.error
    rebooted = [*cut, (1.0, lambda stage: stage.device.reboot(on=True))]
    stage = Stage(rebooted, HOLD).play_on_a_socket(3.0)
    assert stage.states[-1] is FAULT
    assert "found 120 kPa" in stage.error


def test_a_twin_that_holds_and_is_idle_reports_the_fault():
    script = [(0.1, order(CLOSE)), (0.5, order(VENT)), (2.5, other(positive_on=1))]
    stage = Stage(script, HOLD).play_on_a_socket(4.0)
    assert stage.states[-2:] == [IDLE, FAULT]
    assert "found it on" in stage.error


AT_ONCE: dict[str, tuple[Act, State]] = {
    "the line is cut": (fault("drops"), CONNECTING),
    "vent again": (order(VENT), STOPPING),
}
"""What happens in the cycle in which a stop is confirmed, and the state after it."""


@pytest.mark.parametrize("name", AT_ONCE)
def test_what_happens_at_once_after_a_stop(name):
    act, after = AT_ONCE[name]

    def watch(row: TwinRow) -> None:
        if stage.loop.watchdog.state is STOPPED and stage.states.count(STOPPED) == 1:
            act(stage)

    begin: list[tuple[float, Act]] = [(0.1, order(CLOSE)), (0.5, order(VENT))]
    stage = Stage([*begin, (0.0, lambda stage: stage.loop.keep(watch))])
    stage.play_on_a_socket(4.0)
    assert stage.states[stage.states.index(STOPPED) + 1] is after


def test_every_transition_of_the_table_happens_in_a_test():
    seen = {pair for _, states, _ in SCENES.values() for pair in pairwise(states)}
    seen |= {(PRESSURISED, FAULT), (IDLE, FAULT), (CONNECTING, PRESSURISED)}  # of twins that hold
    seen |= {(STOPPED, after) for _, after in AT_ONCE.values()}
    assert seen == {(state, after) for state in State for after in TRANSITIONS[state]}


def test_the_image_of_the_page_has_the_transitions_of_the_table():
    image = (ROOT / "docs" / "images" / "twin_states.svg").read_text("utf-8")
    ids = " ".join(re.findall(r'path id="(.*?)"', image))
    frame = [IDLE, PRESSURISED, STOPPING, STOPPED]
    drawn = {
        (State(begin), State(end))
        for first, end in re.findall(r"\b([a-z]+)-([a-z]+)\b", ids)
        for begin in (frame if first == "any" else [first])
    }
    assert drawn == {(state, after) for state in State for after in TRANSITIONS[state]}


# Vent first


@pytest.mark.parametrize("name", ["out of range", "fails reads", "noise"])
def test_vent_is_written_in_the_next_cycle_whatever_the_readings_are(name):
    stage = Stage([(0.1, order(CLOSE)), (0.4, fault(name)), (0.5, order(VENT))])
    stage.play_on_a_socket(2.0)
    offs = [time for time, address, word in stage.device.writes if (address, word) == (0, 0)]
    first = next(time for time in offs if time > 0.45)
    assert first == pytest.approx(0.52, abs=0.021)
    if name != "noise":  # never confirmed: every cycle
        assert sum(0.5 < time < 2.0 for time in offs) >= 70
        beats = [time for time, address, _ in stage.device.writes if address == 5]
        assert sum(0.5 < time < 2.0 for time in beats) >= 12
    assert stage.device.vented


def test_without_readings_the_gripper_is_vented_after_a_while():
    stage = Stage([(0.1, order(CLOSE)), (0.5, fault("fails reads"))]).play_on_a_socket(2.0)
    offs = [time for time, address, word in stage.device.writes if (address, word) == (0, 0)]
    assert min(time for time in offs if time > 0.2) == pytest.approx(
        0.5 + stage.twin.stale_after, abs=0.05
    )


def test_a_trigger_goes_on_after_its_target_is_read_back():
    stage = Stage([(0.1, order(CLOSE))]).play_on_a_socket(0.5)
    (target,) = [time for time, address, word in stage.device.writes if (address, word) == (2, 600)]
    on = min(time for time, address, word in stage.device.writes if (address, word) == (0, 1))
    assert 0.0 < on - target < 0.05


def test_an_observer_writes_nothing_before_the_end():
    script = [(0.1, other(positive_on=1, positive_target=400))]
    stage = Stage(script).play_on_a_socket(2.0)
    assert all(time > 1.97 for time, _, _ in stage.device.writes)
    assert stage.events.count("Another master: the positive trigger is on.") == 1


def test_a_slow_valve_may_take_its_time():
    stage = Stage([(0.1, order(CLOSE)), (0.1, fault("clogged")), (1.0, order(SOFTER))])
    stage.play_on_a_socket(5.0)
    assert "Fault" not in stage.events  # it still falls; what it does not reach is a fault later
    assert "a pressure of 4" in stage.error  # and is not vented in time


# Confirmation

TWIN = light_twin()


def reading(pressure: float, *, on: bool = False) -> ControllerReading:
    return ControllerReading(0.0, on, False, 0.0, 0.0, pressure)


def confirmed_at(pressures: list[float], on: list[bool] | None = None) -> float | None:
    """Time of the confirmation, of readings ten times a second."""
    confirmation = Confirmation(2e3, 1.0, 0.5)
    for k, pressure in enumerate(pressures):
        if confirmation.update(0.1 * k, reading(pressure, on=bool(on and on[k]))):
            return 0.1 * k
    return None


def test_a_stop_is_confirmed_by_a_pressure_that_stays_ambient():
    assert confirmed_at([60e3, 20e3, 1e3] + [0.0] * 20) == pytest.approx(1.2)
    assert confirmed_at([-2e3] * 30) == pytest.approx(1.0)
    assert confirmed_at([2.1e3] * 30) is None
    assert confirmed_at([0.0] * 9 + [60e3] + [0.0] * 9) is None  # it comes back
    assert confirmed_at([0.0] * 9 + [60e3] + [0.0] * 30) == pytest.approx(2.0)
    assert confirmed_at([float("nan")] * 30) is None
    assert confirmed_at([0.0] * 30, on=[k < 5 for k in range(30)]) == pytest.approx(1.5)


def test_few_readings_confirm_nothing():
    confirmation = Confirmation(2e3, 1.0, 9.0)
    times = [0.0, 5.0, 10.0, 15.0]
    assert [confirmation.update(time, reading(0.0)) for time in times] == [
        k + 1 >= MIN_SAMPLES for k in range(4)
    ]
    confirmation.interrupt("no reading")
    assert not confirmation.update(20.0, reading(0.0))


def test_a_missing_reading_does_not_count_and_a_gap_begins_again():
    def confirmed(present: list[bool]) -> int | None:
        confirmation = Confirmation(2e3, 1.0, 0.25)
        for k, there in enumerate(present):
            if there and confirmation.update(0.1 * k, reading(0.0)):
                return k
            confirmation.missing("no answer")
        return None

    assert confirmed([k % 2 == 0 for k in range(30)]) == 10
    assert confirmed([True] * 8 + [False] * 3 + [True] * 30) == 21
    assert not Confirmation(2e3, 1.0, 0.25).begun(0.0)


# Random faults

COMMANDS = [CLOSE, SOFTER, OPEN, VENT, Command(positive_on=True), Command(negative_target=-90e3)]


class RandomFaults(RuleBasedStateMachine):
    """Writes a script of faults and commands, which is played at the end."""

    def __init__(self) -> None:
        super().__init__()
        self.time, self.script = 0.05, list[tuple[float, Act]]()

    def add(self, act: Act) -> None:
        self.script.append((self.time, act))

    @rule(cycles=st.integers(1, 15))
    def wait(self, cycles: int) -> None:
        self.time += 0.1 * cycles

    @rule(command=st.sampled_from(COMMANDS))
    def command(self, command: Command) -> None:
        self.add(order(command))

    @rule(name=st.sampled_from(FAULTS), on=st.booleans())
    def fault(self, name: str, on: bool) -> None:
        self.add(fault(name, on=on))

    @rule(pressure=st.sampled_from([None, 60e3, -40e3]))
    def stick(self, pressure: float | None) -> None:
        self.add(lambda stage: setattr(stage.device, "stuck_at", pressure))
        self.add(fault("stuck"))

    @rule(on=st.booleans())
    def reboot(self, on: bool) -> None:
        self.add(lambda stage: stage.device.reboot(on=on))

    @rule(on=st.sampled_from([0, 1]), counts=st.integers(0, 1200))
    def another_master(self, on: int, counts: int) -> None:
        self.add(other(positive_on=on, positive_target=counts))

    def teardown(self) -> None:
        twin = light_twin().replace(arm=None, rate=10.0, stop_within=2.0)
        stage = Stage(self.script, twin)
        stage.play(memory_client(stage.device, stage.clock.now), self.time + 0.5)
        assert stage.error or stage.device.vented, stage.events
        assert not stage.error or stage.error.lower() in stage.events.lower()


def play_random_faults(runs: int) -> None:
    options: Any = {"max_examples": runs, "stateful_step_count": 12, "deadline": None}
    health = [HealthCheck.too_slow, HealthCheck.filter_too_much]
    run_state_machine_as_test(
        RandomFaults, settings=settings(**options, derandomize=True, suppress_health_check=health)
    )


@pytest.mark.slow
def test_pressure_at_the_end_of_random_faults_is_an_error():
    play_random_faults(150)


@pytest.mark.slow
def test_pressure_at_the_end_of_random_faults_is_an_error_in_ten_thousand_runs():
    play_random_faults(10_000)
