"""Pneumatic pressure controllers behind a register map: a client, and a simulated one.

``ControllerClient`` reads and writes named values in Pa and never sends a value outside the
limits of its register. ``SimulatedController`` maps a valve to the registers: two triggers select
a positive or a negative target pressure, and a first-order valve approaches it:
p(t + Δt) = p* + (p(t) − p*)·exp(−Δt/τ), which is exact for a constant target p*, so the pressure
does not depend on how often it is read. ``CommandBox`` holds confirmed commands of users for the
loop; it may be used from any thread.
"""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np
from pydantic import model_validator

from softgrasp.errors import (
    BadAnswerError,
    DescriptionError,
    RequestRefusedError,
    SimulationError,
    StaleDataError,
)
from softgrasp.plugin_api import Description, FieldError, NonNegative, Number, Positive
from softgrasp.twin.description import KPA, Kind, PressureRegister, Register, RegisterMap
from softgrasp.twin.modbus import (
    ILLEGAL_ADDRESS,
    ILLEGAL_VALUE,
    Backoff,
    LinkCounts,
    Refusal,
    Span,
    TcpLink,
    Words,
    allowed,
    check_written,
    from_words,
    read_request,
    spans,
    to_words,
    words_in,
    words_of,
    write_request,
)

if TYPE_CHECKING:
    from pymodbus.constants import ExcCodes


BEAT_PERIOD = 0.1
"""Smallest time between two changes of the heartbeat [s]."""
ATMOSPHERE = 0.0
"""All pressures are gauge pressures [Pa]."""
TRIGGERS = ("positive_on", "negative_on")
TARGETS = ("positive_target", "negative_target")


class ControllerState(NamedTuple):
    """State of the controller at one time."""

    time: float = 0.0
    """Time [s]."""
    pressure: float = ATMOSPHERE
    """Gauge pressure in the fingers, without the sensor's error [Pa]."""
    positive_on: bool = False
    negative_on: bool = False
    positive_target: float = 0.0
    """Target [Pa]."""
    negative_target: float = 0.0
    """Target [Pa]."""


CommandCallback = Callable[[ControllerState], None]
"""Called after every command, with the new state."""

# Client


class ControllerReading(NamedTuple):
    """One reading of a pneumatic controller: triggers, targets, pressure (Xiang et al. 2024)."""

    time: float
    """Time of the answer, on the clock of the client [s]."""
    positive_on: bool
    """Whether positive pressure is triggered."""
    negative_on: bool
    """Whether negative pressure is triggered."""
    positive_target: float
    """Target gauge pressure [Pa]."""
    negative_target: float
    """Target gauge pressure, below zero [Pa]."""
    pressure: float
    """Measured gauge pressure [Pa]."""


class ControllerClient:
    """Read and command a pneumatic controller.

    Args:
        registers: Register map of the controller.
        link: Link to it; see ``connect_controller``.
        stale_after: Age at which a reading is too old [s].
        clock: Clock [s].
    """

    def __init__(
        self,
        registers: RegisterMap,
        link: TcpLink,
        *,
        stale_after: float = 0.5,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.registers, self.stale_after = registers, stale_after
        self._link, self._clock = link, clock
        self._reads = spans([pair for pair in registers.reads if pair[1] is not None])
        self._writes: dict[str, Register] = {
            name: register for name, register in registers.writes if register is not None
        }
        self.last: ControllerReading | None = None
        self._begin = clock()
        self._counter: float | None = None
        self._counted_at = self._begin
        self._beats, self._beaten_at = 0, -math.inf

    @property
    def counts(self) -> LinkCounts:
        """Statistics of the connection."""
        return self._link.counts

    @property
    def age(self) -> float:
        """Time since the last valid reading, or since the client was created [s]."""
        return self._clock() - (self._begin if self.last is None else self.last.time)

    def require_fresh(self) -> ControllerReading:
        """Return the last valid reading; raise an error if it is too old.

        Raises:
            StaleDataError: It is older than ``stale_after``, or there is none.
        """
        if self.last is None or self.age > self.stale_after:
            latest = "none" if self.last is None else f"one that is {self.age:.3g} s old"
            raise StaleDataError(
                f"expected a reading of at most {self.stale_after:g} s, found {latest}"
            )
        return self.last

    async def read(self) -> ControllerReading:
        """Read all five values.

        Raises:
            ConnectionLostError: The controller did not answer.
            RequestRefusedError: It does not have such a register.
            BadAnswerError: A value is outside the limits of its register.
            StaleDataError: The map has a counter, which does not change.
        """
        values: dict[str, float] = {}
        for span in self._reads:
            words = await self._read(span)
            at = 0
            for name, register in span.values:
                values[name] = from_words(register, words[at : at + register.width])
                at += register.width
                if not allowed(register, values[name]):
                    raise BadAnswerError(_outside(name, register, values[name], words))
        self._check_counter(values.pop("counter", None))
        self.last = ControllerReading(
            time=self._clock(),
            positive_on=bool(values["positive_on"]),
            negative_on=bool(values["negative_on"]),
            positive_target=values["positive_target"],
            negative_target=values["negative_target"],
            pressure=values["pressure"],
        )
        return self.last

    async def set_targets(
        self, *, positive: float | None = None, negative: float | None = None
    ) -> None:
        """Write target pressures; None leaves one unchanged.

        Args:
            positive: Target of the positive trigger [Pa].
            negative: Target of the negative trigger [Pa].

        Raises:
            DescriptionError: A pressure is outside the limits of its register; nothing was sent.
            ConnectionLostError: The controller did not answer.
            RequestRefusedError: It refused.
        """
        await self._write({"positive_target": positive, "negative_target": negative})

    def check_targets(
        self, *, positive: float | None = None, negative: float | None = None
    ) -> None:
        """Check targets before anything is sent.

        Raises:
            DescriptionError: A pressure is outside the limits of its register.
        """
        self._check({"positive_target": positive, "negative_target": negative})

    async def trigger(self, *, positive: bool | None = None, negative: bool | None = None) -> None:
        """Switch triggers on or off; None leaves one unchanged.

        Raises:
            ConnectionLostError: The controller did not answer.
            RequestRefusedError: It refused.
        """
        await self._write({"positive_on": positive, "negative_on": negative})

    async def beat(self) -> None:
        """Change the heartbeat, where the map has one and the last change is long enough ago.

        Raises:
            ConnectionLostError: The controller did not answer.
            RequestRefusedError: It refused.
        """
        now = self._clock()
        if "heartbeat" in self._writes and now - self._beaten_at >= BEAT_PERIOD:
            await self._write({"heartbeat": float((self._beats + 1) % 2**15)})
            self._beats, self._beaten_at = self._beats + 1, now

    async def close(self) -> None:
        """Close the connection; commands stay in effect."""
        await self._link.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def _read(self, span: Span) -> list[int]:
        request = read_request(span.kind, span.address, span.width)
        try:
            return await self._link.ask(
                self.registers.device_id,
                request,
                partial(words_in, kind=span.kind, count=span.width),
            )
        except Refusal as refusal:
            raise RequestRefusedError(
                f"{span.text()}: expected a readable register, found: {refusal}"
            ) from None

    async def _write(self, values: dict[str, float | None]) -> None:
        checked = self._check(values)
        for span in spans([(name, self._writes[name]) for name in checked]):
            words = [w for name, register in span.values for w in to_words(register, checked[name])]
            request = write_request(span.kind, span.address, words)
            try:
                await self._link.ask(
                    self.registers.device_id, request, partial(check_written, request=request)
                )
            except Refusal as refusal:
                values_text = ", ".join(f"{name} = {checked[name]:g}" for name, _ in span.values)
                raise RequestRefusedError(
                    f"{span.text()}: expected acceptance of {values_text}, found: {refusal}"
                ) from None

    def _check(self, values: dict[str, float | None]) -> dict[str, float]:
        """Return the values that are not None, all of them within their limits."""
        converted = {name: float(value) for name, value in values.items() if value is not None}
        for name, value in converted.items():
            if not allowed(self._writes[name], value):
                raise DescriptionError(
                    _outside(name, self._writes[name], value), field=name, value=value
                )
        return converted

    def _check_counter(self, counter: float | None) -> None:
        if counter is None:
            return
        now = self._clock()
        if counter != self._counter:
            self._counter, self._counted_at = counter, now
        elif now - self._counted_at > self.stale_after:
            register = self.registers.reads.counter
            raise StaleDataError(
                f"counter ({register.address_text if register else ''}): expected to change within "
                f"{self.stale_after:g} s, found {counter:g} for {now - self._counted_at:.3g} s"
            )


def _outside(
    name: str, register: Register, value: float, words: Sequence[int] | None = None
) -> str:
    expected = "0 or 1"
    if isinstance(register, PressureRegister):
        expected = "{:g} to {:g} Pa".format(*register.limits)
    behind = "" if words is None else f" (in the words {list(words)})"
    return f"{name} ({register.address_text}): expected {expected}, found {value:g}{behind}"


def connect_controller(
    host: str,
    port: int,
    registers: RegisterMap,
    *,
    timeout: float = 1.0,
    attempts: int = 3,
    backoff: Backoff | None = None,
    stale_after: float = 0.5,
) -> ControllerClient:
    """Make a client of a pneumatic controller on Modbus TCP; it connects on the first request.

    Args:
        host: Name or address of the controller.
        port: Port.
        registers: Register map.
        timeout: Longest wait for a connection, and for each answer [s].
        attempts: Number of attempts per request; with the delays between them this limits the
            duration of a call.
        backoff: Delays before reconnecting.
        stale_after: Age at which a reading is too old [s].

    Raises:
        BackendUnavailable: pymodbus is not installed.
    """
    link = TcpLink(host, port, timeout=timeout, attempts=attempts, backoff=backoff)
    return ControllerClient(registers, link, stale_after=stale_after)


# Simulated controller


class Valve(Description):
    """Pneumatic valve and pressure sensor of the simulated controller."""

    time_constant: Positive = 0.15
    """Time constant τ, after which 63 % of a step are reached [s]; the paper does not state one."""
    lowest: Number = -90e3
    """Lower limit of targets [Pa]."""
    highest: Number = 120e3
    """Upper limit of targets [Pa]."""
    noise: NonNegative = 0.0
    """Standard deviation of the sensor's error [Pa]."""
    sample_period: Positive = 1e-3
    """Period of the sensor [s]."""
    seed: int = 0
    """Seed of the sensor's errors; an error depends on seed and time only."""

    @model_validator(mode="after")
    def _around_atmosphere(self) -> Self:
        if not self.lowest <= ATMOSPHERE <= self.highest:
            raise FieldError(
                f"expected lowest <= 0 <= highest, found {self.lowest:g} and {self.highest:g} Pa",
                "lowest",
            )
        return self


def target_of(state: ControllerState, valve: Valve) -> float:
    """Return the pressure that the valve approaches [Pa].

    Without a trigger it is ambient pressure; with both on, too: two opposite commands are
    contradictory, and an open valve is the safe state. The target is clipped to the valve's
    range.
    """
    target = ATMOSPHERE
    if state.positive_on and not state.negative_on:
        target = state.positive_target
    elif state.negative_on and not state.positive_on:
        target = state.negative_target
    return min(max(target, valve.lowest), valve.highest)


def advance(state: ControllerState, time: float, valve: Valve) -> ControllerState:
    """Advance the state to a later time with constant commands.

    Args:
        state: State before.
        time: Later time [s].
        valve: Valve.

    Raises:
        SimulationError: The time is before that of the state.
    """
    if not time >= state.time:
        raise SimulationError(
            f"expected a time from {state.time:g} s on, found {time:g} s: the simulation does not "
            "run backwards"
        )
    target = target_of(state, valve)
    decay = math.exp(-(time - state.time) / valve.time_constant)
    return state._replace(time=time, pressure=target + (state.pressure - target) * decay)


def sample_number(state: ControllerState, valve: Valve) -> int:
    """Return the number of sensor samples since time 0."""
    return math.floor(state.time / valve.sample_period)


def measure(state: ControllerState, valve: Valve) -> float:
    """Return the measured pressure [Pa], with an error drawn anew for every sample."""
    if valve.noise == 0:
        return state.pressure
    # one generator per sample: the error depends on the time only, not on earlier requests
    generator = np.random.default_rng((valve.seed, abs(sample_number(state, valve))))
    return state.pressure + valve.noise * float(generator.standard_normal())


class SimulatedController:
    """A controller with a clock, read and written through the registers of a map.

    The valve's law is exact over any interval, so no loop is needed: the state is advanced to
    the current time on every access.

    Args:
        registers: Register map.
        valve: Valve and sensor.
        watchdog: Time without a successful read or write request after which both triggers go
            off [s]; once a heartbeat was written, time without a change of it; None: never.
        clock: Monotonic clock [s].
        heard: Called after every command.
    """

    def __init__(
        self,
        registers: RegisterMap,
        valve: Valve | None = None,
        *,
        watchdog: float | None = None,
        clock: Callable[[], float] = time.monotonic,
        heard: CommandCallback | None = None,
    ) -> None:
        self.registers = registers
        self.valve = valve or Valve()
        self._clock, self._heard = clock, heard
        self._watchdog = watchdog
        self._begin = clock()
        self._alive_at = 0.0
        self._heartbeat: float | None = None
        self._state = ControllerState()
        self._read = _entries(registers.writes) | _entries(registers.reads)
        self._written = _entries(registers.writes)

    def state(self) -> ControllerState:
        """Return the current state; its time counts from the creation of the controller."""
        now = self._clock() - self._begin
        silent = None if self._watchdog is None else self._alive_at + self._watchdog
        if silent is not None and self._state.time <= silent < now:
            left_alone = advance(self._state, silent, self.valve)
            self._state = left_alone._replace(positive_on=False, negative_on=False)
        self._state = advance(self._state, now, self.valve)
        return self._state

    def command(self, **values: Any) -> ControllerState:
        """Change triggers or targets, by the field names of ``ControllerState``."""
        self._state = self.state()._replace(**values)
        if self._heard is not None:
            self._heard(self._state)
        return self._state

    def words(self, kind: Kind, address: int, count: int) -> Words | ExcCodes:
        """Return words, or bits, from an address on; raise an error for one without register."""
        entries = [self._read.get((kind, address + k)) for k in range(count)]
        if None in entries:
            return ILLEGAL_ADDRESS
        state = self._state_at_request()
        encoded: dict[str, Words] = {}
        register_words = []
        for name, register, word in filter(None, entries):
            if name not in encoded:
                encoded[name] = self._encoded(name, register, state)
            register_words.append(encoded[name][word])
        return register_words

    def write(self, kind: Kind, address: int, words: Sequence[int]) -> ExcCodes | None:
        """Write whole values from an address on: all of them, or none and the reason."""
        changes: dict[str, float | bool] = {}
        at = 0
        while at < len(words):
            name, register, word = self._written.get((kind, address + at), (None, None, 0))
            if name is None or register is None or word or at + register.width > len(words):
                return ILLEGAL_ADDRESS
            value = from_words(register, words[at : at + register.width])
            if not allowed(register, value):
                return ILLEGAL_VALUE
            changes[name] = bool(value) if name in TRIGGERS else value
            at += register.width
        state = self._state_at_request()
        heartbeat = changes.pop("heartbeat", self._heartbeat)
        if heartbeat != self._heartbeat:
            self._heartbeat, self._alive_at = heartbeat, state.time
        if changes:
            self.command(**changes)
        return None

    def _state_at_request(self) -> ControllerState:
        state = self.state()
        if self._heartbeat is None:
            self._alive_at = state.time
        return state

    def _encoded(self, name: str, register: Register, state: ControllerState) -> Words:
        if name == "pressure":
            return to_words(register, measure(state, self.valve))
        if name == "counter":
            return words_of(register, sample_number(state, self.valve) % 2**15)
        if name == "heartbeat":
            return to_words(register, self._heartbeat or 0)
        return to_words(register, getattr(state, name))


def _entries(part: Any) -> dict[tuple[str, int], tuple[str, Register, int]]:
    """Map addresses to the name, register and word index of the value there."""
    return {
        (register.kind, register.address + word): (name, register, word)
        for name, register in part
        if register is not None
        for word in range(register.width)
    }


# Commands


class Command(NamedTuple):
    """Requested changes of the controller's triggers and targets; None leaves a value unchanged."""

    positive_target: float | None = None
    """Target of positive pressure [Pa]."""
    negative_target: float | None = None
    """Target of negative pressure [Pa]."""
    positive_on: bool | None = None
    negative_on: bool | None = None

    @property
    def words(self) -> str:
        """Description of the command, for the confirmation and the record."""
        parts = [
            f"{sign} target {KPA * target:.4g} kPa"
            for sign, target in (
                ("positive", self.positive_target),
                ("negative", self.negative_target),
            )
            if target is not None
        ]
        parts += [
            f"{sign} trigger {'on' if on else 'off'}"
            for sign, on in (("positive", self.positive_on), ("negative", self.negative_on))
            if on is not None
        ]
        return ", ".join(parts) or "nothing"

    @property
    def vents(self) -> bool:
        """Whether it does nothing but switch both triggers off."""
        return self == VENT

    @property
    def written(self) -> dict[str, float | bool]:
        """Values that ``send`` writes."""
        values = self._asdict().items()
        return {name: value for name, value in values if value is not None and value is not True}

    @property
    def triggers_on(self) -> dict[str, bool]:
        """Values that ``switch_on`` writes."""
        return {name: True for name in TRIGGERS if getattr(self, name)}

    async def send(self, client: ControllerClient) -> None:
        """Send the first half: triggers off, then targets.

        So both triggers are never on unintentionally, and the targets can be read back before
        one of them is switched on.

        Raises:
            DescriptionError: A target is outside the limits of the controller; nothing was sent.
            DeviceError: The controller did not accept the command, or only a part of it.
        """
        client.check_targets(positive=self.positive_target, negative=self.negative_target)
        await client.trigger(
            positive=False if self.positive_on is False else None,
            negative=False if self.negative_on is False else None,
        )
        await client.set_targets(positive=self.positive_target, negative=self.negative_target)

    async def switch_on(self, client: ControllerClient) -> None:
        """Send the second half: triggers on.

        Raises:
            DeviceError: The controller did not accept it, or only a part of it.
        """
        await client.trigger(positive=self.positive_on or None, negative=self.negative_on or None)


VENT = Command(positive_on=False, negative_on=False)
"""Return to ambient pressure."""


class CommandBox:
    """Queue of confirmed commands; may be used from any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._confirmed: list[Command] = []

    def put(self, command: Command) -> None:
        """Add a command, which is sent after the next reading."""
        with self._lock:
            self._confirmed.append(command)

    def take(self) -> list[Command]:
        """Remove and return all commands in order."""
        with self._lock:
            confirmed, self._confirmed = self._confirmed, []
            return confirmed


class CommandQueue:
    """Puts confirmed commands of a user into the box of the control loop.

    Args:
        box: Box of the loop.
        refusal: Returns why no command is sent now; empty where it is.
    """

    def __init__(self, box: CommandBox, refusal: Callable[[], str]) -> None:
        self._box, self._refusal = box, refusal

    def send(self, command: Command) -> str:
        """Queue a command; return the reason if it is not sent.

        A command that vents is always taken: it is written every cycle until it is confirmed.
        """
        refusal = "" if command.vents else self._refusal()
        if not refusal:
            self._box.put(command)
        return refusal
