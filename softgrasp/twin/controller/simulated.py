"""The simulated controller behind its registers: one plant, one clock, one image of words."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any

from pymodbus.constants import ExcCodes

from softgrasp.description.register_map import Kind, Register, RegisterMap
from softgrasp.twin.controller.plant import (
    ControllerState,
    Valve,
    advanced,
    measured,
    sample_number,
)
from softgrasp.twin.controller.words import Words, allowed, from_words, to_words, words_of

Heard = Callable[[ControllerState], None]
"""Called after every command, with the plant as it is then."""

TRIGGERS = ("positive_on", "negative_on")


class SimulatedController:
    """A plant that runs with a clock, read and written through the registers of a map.

    The valve's law is exact over any interval, so the plant needs no loop of its own: it is
    brought up to the time of the clock whenever somebody looks.

    Args:
        registers: Where its values are.
        valve: How it reaches a pressure.
        watchdog: Without a request that is answered with values, or that writes some, for so long
            both triggers go off [s]; None: they stay.
        clock: The time [s]; must not run backwards.
        heard: Called after every command.
    """

    def __init__(
        self,
        registers: RegisterMap,
        valve: Valve | None = None,
        *,
        watchdog: float | None = None,
        clock: Callable[[], float] = time.monotonic,
        heard: Heard | None = None,
    ) -> None:
        self.registers = registers
        self.valve = valve or Valve()
        self._clock, self._heard = clock, heard
        self._watchdog = watchdog
        self._begin = clock()
        self._last_request = 0.0
        self._state = ControllerState()
        self._read = _entries(registers.writes) | _entries(registers.reads)
        self._written = _entries(registers.writes)

    def state(self) -> ControllerState:
        """The plant now; its time counts from when the controller was made."""
        now = self._clock() - self._begin
        silent = None if self._watchdog is None else self._last_request + self._watchdog
        if silent is not None and self._state.time <= silent < now:
            left_alone = advanced(self._state, silent, self.valve)
            self._state = left_alone._replace(positive_on=False, negative_on=False)
        self._state = advanced(self._state, now, self.valve)
        return self._state

    def command(self, **values: Any) -> ControllerState:
        """Change triggers or targets from now on, by the names of ``ControllerState``."""
        self._state = self.state()._replace(**values)
        if self._heard is not None:
            self._heard(self._state)
        return self._state

    def words(self, kind: Kind, address: int, count: int) -> Words | ExcCodes:
        """Words, or bits, from an address on; illegal where one of them is in no register."""
        entries = [self._read.get((kind, address + k)) for k in range(count)]
        if None in entries:
            return ExcCodes.ILLEGAL_ADDRESS
        state = self._state_at_request()
        encoded: dict[str, Words] = {}
        register_words = []
        for name, register, word in filter(None, entries):
            if name not in encoded:
                encoded[name] = self._encoded(name, register, state)
            register_words.append(encoded[name][word])
        return register_words

    def write(self, kind: Kind, address: int, words: Sequence[int]) -> ExcCodes | None:
        """Write whole values from an address on: all of them, or none and why not."""
        changes: dict[str, float | bool] = {}
        at = 0
        while at < len(words):
            name, register, word = self._written.get((kind, address + at), (None, None, 0))
            if name is None or register is None or word or at + register.width > len(words):
                return ExcCodes.ILLEGAL_ADDRESS
            value = from_words(register, words[at : at + register.width])
            if not allowed(register, value):
                return ExcCodes.ILLEGAL_VALUE
            changes[name] = bool(value) if name in TRIGGERS else value
            at += register.width
        self._state_at_request()
        self.command(**changes)
        return None

    def _state_at_request(self) -> ControllerState:
        state = self.state()
        self._last_request = state.time
        return state

    def _encoded(self, name: str, register: Register, state: ControllerState) -> Words:
        if name == "pressure":
            return to_words(register, measured(state, self.valve))
        if name == "counter":
            return words_of(register, sample_number(state, self.valve) % 2**15)
        return to_words(register, getattr(state, name))


def _entries(part: Any) -> dict[tuple[str, int], tuple[str, Register, int]]:
    """Which word of which value is where."""
    return {
        (register.kind, register.address + word): (name, register, word)
        for name, register in part
        if register is not None
        for word in range(register.width)
    }
