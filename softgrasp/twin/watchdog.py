"""State machine that watches a pneumatic controller: connection, agreement, and the safe stop.

The ``Watchdog`` has neither clock nor connection. The loop passes it every reading, every missing
one and every command with its time; from these follows whether commands may be sent and whether
the gripper has to be vented now. What it notices is reported in sentences. States and transitions
are drawn in ``docs/twin.md``.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum
from typing import NamedTuple

from softgrasp.errors import BadAnswerError, DeviceError
from softgrasp.twin.description import KPA, PressureRegister, Twin
from softgrasp.twin.pneumatic_controller import ATMOSPHERE, TARGETS, TRIGGERS, ControllerReading

MIN_SAMPLES = 4
"""Smallest number of readings that confirm a stop."""
ROUNDING = 1e-6
"""Tolerance of a target that is read back, over the largest limit, beside one count [–]."""


class State(StrEnum):
    """State of the controller, as far as it is known."""

    CONNECTING = "connecting"
    """No valid reading yet, or none for ``stale_after``."""
    IDLE = "idle"
    """Both triggers are off."""
    PRESSURISED = "pressurised"
    """A trigger is on."""
    STOPPING = "stopping"
    """Both triggers are written as off every cycle, until that is confirmed."""
    STOPPED = "stopped"
    """A stop was confirmed."""
    FAULT = "fault"
    """The controller did not do what was commanded; stays until the end of the run."""


TRANSITIONS: dict[State, frozenset[State]] = {
    State.CONNECTING: frozenset([State.IDLE, State.PRESSURISED, State.STOPPING]),
    State.IDLE: frozenset([State.PRESSURISED, State.STOPPING, State.CONNECTING, State.FAULT]),
    State.PRESSURISED: frozenset([State.IDLE, State.STOPPING, State.CONNECTING, State.FAULT]),
    State.STOPPING: frozenset([State.STOPPED, State.CONNECTING, State.FAULT]),
    State.STOPPED: frozenset([State.IDLE, State.STOPPING, State.CONNECTING]),
    State.FAULT: frozenset(),
}
"""Possible next states."""


class Commanded(NamedTuple):
    """Values that the controller should have; a target is None where it was never written."""

    time: float
    """Time of the last command [s]."""
    begin: float
    """Pressure at that time [Pa]."""
    positive_on: bool = False
    negative_on: bool = False
    positive_target: float | None = None
    """Target [Pa]."""
    negative_target: float | None = None
    """Target [Pa]."""

    @property
    def any_on(self) -> bool:
        """Whether a trigger should be on."""
        return self.positive_on or self.negative_on


class Confirmation:
    """Decides from readings whether a gripper is vented.

    It is, when both triggers were read as off and the pressure as ambient for some time: one
    reading may be noise. A missing reading does not count; after one beyond the limits, and after
    a gap, it begins again.

    Args:
        ambient: Largest gauge pressure of a vented gripper, of either sign [Pa].
        duration: Time for which it has to be ambient [s].
        gap: Longest time between two readings of it [s].
    """

    def __init__(self, ambient: float, duration: float, gap: float) -> None:
        self._ambient, self._duration, self._gap = ambient, duration, gap
        self._times: list[float] = []
        self.problem = "no reading"
        """Why the last cycle does not count; empty where it does."""

    def begun(self, time: float) -> bool:
        """Return whether the gripper was vented at the last reading, which is not long ago."""
        return bool(self._times) and time - self._times[-1] <= self._gap

    def interrupt(self, problem: str) -> None:
        """Begin again."""
        self._times, self.problem = [], problem

    def missing(self, problem: str) -> None:
        """Go on without a reading."""
        self.problem = problem

    def update(self, time: float, reading: ControllerReading) -> bool:
        """Return whether the stop is confirmed with this reading, taken at a time [s]."""
        if on := _names_on(reading):
            self.interrupt(f"the {' and '.join(on)} trigger on")
            return False
        if not abs(reading.pressure) <= self._ambient:
            self.interrupt(f"triggers off, and a pressure of {_kpa(reading.pressure)} that remains")
            return False
        if not self.begun(time):
            self._times = []
        self._times.append(time)
        self.problem = ""
        return time - self._times[0] >= self._duration and len(self._times) >= MIN_SAMPLES


class Watchdog:
    """State machine of one run.

    Until the first command of the run, the twin only observes a controller that another master
    may command: it reports triggers that are on, and changes nothing.

    Args:
        twin: Digital twin with the limits.
        begin: Time of the begin of the run [s].
        report: Takes what was noticed, in sentences.
    """

    def __init__(
        self, twin: Twin, begin: float = 0.0, report: Callable[[str], None] = lambda _: None
    ) -> None:
        self._twin, self._report = twin, report
        self.state = State.CONNECTING
        self.fault = ""
        """What the controller did other than commanded; empty: nothing."""
        self.ever_heard = False
        self.master = False
        """Whether this twin has commanded anything: only then it sends a heartbeat."""
        self.commanded: Commanded | None = None
        self.confirmation = Confirmation(
            twin.ambient_within, twin.confirm_for, max(twin.stale_after, 2.0 / twin.rate)
        )
        self._heard_at = self._stop_at = begin
        self._lost = self._vent_waits = self._observed = self._adopts = False
        self._differs: dict[str, float] = {}

    # What may be done

    @property
    def holds(self) -> bool:
        """Whether the gripper keeps its pressure unless a user vents it."""
        return self._twin.safe_stop == "hold" and not self._vent_waits

    @property
    def may_command(self) -> bool:
        """Whether commands that do not vent may be sent."""
        return self.state in (State.IDLE, State.PRESSURISED)

    @property
    def vents(self) -> bool:
        """Whether both triggers have to be switched off in this cycle."""
        if self.holds:
            return False
        waits = self._vent_waits or self._lost
        return self.state in (State.STOPPING, State.FAULT) or (
            self.state is State.CONNECTING and waits
        )

    @property
    def refusal(self) -> str:
        """Why no command is sent now; empty where it is."""
        return {
            State.CONNECTING: "the controller is not connected",
            State.STOPPING: "the gripper is being vented",
            State.STOPPED: "the gripper is being vented",
            State.FAULT: f"fault: {self.fault}",
        }.get(self.state, "")

    # What happened

    def heard(self, time: float, reading: ControllerReading) -> None:
        """Take a valid reading at a time [s]."""
        silent, self._heard_at = time - self._heard_at, time
        self.ever_heard = True
        if self.state is State.CONNECTING:
            self._connect(time, reading)
        elif self.may_command and silent >= self._twin.stale_after and not self.holds:
            self._begin_stop(time, f"there was no reading for {silent:.3g} s")
        elif self.may_command:
            self._compare(time, reading)
        elif self.state is State.STOPPED:
            self._go(State.IDLE)
        if self.state is State.STOPPING and self.confirm(time, reading):
            self._report(f"Safe stop: confirmed at {_kpa(reading.pressure)}.")
        elif self.state is State.STOPPING and self.is_late(time):
            problem = f"expected a vented gripper, found {self.confirmation.problem}"
            self._report(f"Fault: {problem}.")
            self.give_up(problem)

    def missed(self, time: float, error: DeviceError) -> None:
        """Take a cycle without a valid reading at a time [s], and the reason."""
        self.missed_at_end(error)
        if self.state in (State.CONNECTING, State.FAULT):
            return
        if time - self._heard_at >= self._twin.stale_after:
            self._lost = True
            self._report("The connection is lost: commands are not sent.")
            self._go(State.CONNECTING)

    def expect(self, time: float, reading: ControllerReading, **values: float | bool) -> None:
        """Take values that were written, by the names of ``Commanded``, after a reading."""
        self.master = True
        known = self.commanded or Commanded(
            time, reading.pressure, reading.positive_on, reading.negative_on
        )
        self.commanded = known._replace(time=time, begin=reading.pressure, **values)  # type: ignore[arg-type]
        self._differs.clear()

    def has_targets(self, reading: ControllerReading) -> bool:
        """Whether the targets that were written are read back."""
        return not self._wrong_targets(reading)

    def stop(self, time: float, reason: str, *, by_user: bool = False) -> None:
        """Begin to vent, unless the twin is set to hold and no user commands it."""
        self._vent_waits = self._vent_waits or by_user
        if self.holds:  # what was accepted is not known
            self._adopts = self.commanded is not None
            self._report(f"No safe stop, as the twin is set to hold: {reason}.")
            return
        if self.state in (State.STOPPING, State.FAULT):
            return
        if self.state is State.CONNECTING:
            self._report("Vent is written until the controller answers.")
            return
        self._begin_stop(time, reason)

    def end(self, time: float) -> None:
        """Begin the stop at the end of the run."""
        self._stop_at = time
        self.confirmation.interrupt("no reading")
        if self.state is not State.FAULT:
            self._go(State.STOPPING)

    def confirm(self, time: float, reading: ControllerReading) -> bool:
        """Return whether a stop is confirmed with a reading."""
        confirmed = self.confirmation.update(time, reading)
        if confirmed and self.state is State.STOPPING:
            self._vent_waits = False
            self.commanded = Commanded(time, reading.pressure)
            self._go(State.FAULT if self.fault else State.STOPPED)
        return confirmed

    def give_up(self, problem: str) -> None:
        """Register that a stop was not confirmed in time, and why."""
        self.fault = self.fault or problem
        self._go(State.FAULT)

    def missed_at_end(self, error: DeviceError) -> None:
        """Take a missing reading while a stop is to be confirmed."""
        if isinstance(error, BadAnswerError):  # its pressure may be real
            self.confirmation.interrupt(str(error))
        else:
            self.confirmation.missing(str(error))

    def is_late(self, time: float) -> bool:
        """Return whether the stop has failed: no ambient pressure for ``stop_within``."""
        return time >= self._stop_at + self._twin.stop_within and not self.confirmation.begun(time)

    # Comparison with the commands

    def _connect(self, time: float, reading: ControllerReading) -> None:
        if self._lost:
            self._report("The connection is back.")
        if self._vent_waits or (self._lost and not self.holds):
            self._begin_stop(time, "the connection was lost" if self._lost else "Vent")
        else:
            self._lost = False
            self._go(State.PRESSURISED if _names_on(reading) else State.IDLE)
            self._compare(time, reading)

    def _begin_stop(self, time: float, reason: str) -> None:
        self._lost, self._stop_at = False, time
        self.master, self.commanded = True, Commanded(time, ATMOSPHERE)
        self._differs.clear()
        self.confirmation.interrupt("no reading")
        self._go(State.STOPPING)
        self._report(f"Safe stop, as {reason}: positive trigger off, negative trigger off.")

    def _compare(self, time: float, reading: ControllerReading) -> None:
        """Compare a reading with what was commanded."""
        if self._adopts:
            self._adopts = False
            self.commanded = Commanded(time, reading.pressure, *reading[1:5])
        if self.commanded is None:
            on = _names_on(reading)
            if on and not self._observed:
                self._report(f"Another master: the {' and '.join(on)} trigger is on.")
            self._observed = bool(on)
            self._go(State.PRESSURISED if on else State.IDLE)
            return
        problems = {
            "triggers": self._wrong_triggers(reading),
            "targets": self._wrong_targets(reading),
            "pressure": self._wrong_pressure(time, reading),
        }
        fresh = time - self.commanded.time <= self._twin.agree_within
        for about, problem in problems.items():
            if not problem:
                self._differs.pop(about, None)
                continue
            # a controller may need some cycles for a command; and one pressure may be noise
            if about not in self._differs and about != "pressure" and not fresh:
                self._report(f"Another master, or a fault of the controller: {problem}.")
            if time - self._differs.setdefault(about, time) >= self._twin.agree_within:
                self._fail(time, problem)
                return
        self._go(State.PRESSURISED if self.commanded.any_on else State.IDLE)

    def _fail(self, time: float, problem: str) -> None:
        """Register a disagreement that lasts; vent unless the twin holds."""
        self.fault = problem
        self._report(f"Fault: {problem}.")
        if self.holds:
            self._go(State.FAULT)
        else:
            self._begin_stop(time, "the controller does not do what was commanded")

    def _wrong_triggers(self, reading: ControllerReading) -> str:
        return ", ".join(
            f"expected the {name.removesuffix('_on')} trigger {_switch(expected)}, "
            f"found it {_switch(not expected)}"
            for name in TRIGGERS
            if (expected := getattr(self.commanded, name)) != getattr(reading, name)
        )

    def _wrong_targets(self, reading: ControllerReading) -> str:
        wrong = []
        for name in TARGETS:
            expected, actual = getattr(self.commanded, name), getattr(reading, name)
            if expected is not None and abs(expected - actual) > self._count(name):
                about = name.replace("_", " ")
                wrong.append(f"expected a {about} of {_kpa(expected)}, found {_kpa(actual)}")
        return ", ".join(wrong)

    def _count(self, name: str) -> float:
        """Return the largest difference of a target that is read back by rounding [Pa]."""
        registers = self._twin.controller.map
        pair: list[PressureRegister] = [
            getattr(part, name) for part in (registers.reads, registers.writes)
        ]
        return max(abs(item.scale) + ROUNDING * max(map(abs, item.limits)) for item in pair)

    def _wrong_pressure(self, time: float, reading: ControllerReading) -> str:
        commanded = self.commanded
        if commanded is None or (commanded.positive_on and commanded.negative_on):
            return ""
        goal = ATMOSPHERE
        if commanded.any_on:
            name = TARGETS[commanded.negative_on]
            expected = getattr(commanded, name)
            goal = getattr(reading, name) if expected is None else expected
        settles = time - commanded.time < self._twin.settle_within
        low, high = sorted([goal, commanded.begin if settles else goal])
        tolerance = max(self._twin.pressure_tolerance, self._twin.ambient_within)
        if low - tolerance <= reading.pressure <= high + tolerance:
            return ""
        return f"expected a pressure of {_kpa(goal)}, found {_kpa(reading.pressure)}"

    def _go(self, state: State) -> None:
        assert state is self.state or state in TRANSITIONS[self.state], (self.state, state)
        self.state = state


def _names_on(reading: ControllerReading) -> list[str]:
    return [name.removesuffix("_on") for name in TRIGGERS if getattr(reading, name)]


def _switch(on: bool) -> str:
    return "on" if on else "off"


def _kpa(pressure: float) -> str:
    return f"{KPA * pressure:.4g} kPa"
