"""Values in SI ⇄ the 16-bit words, or the bit, of a register."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import cast

from pymodbus.client.mixin import ModbusClientMixin

from softgrasp.description.register_map import PressureRegister, Register

Words = list[int]
"""Unsigned words in the order of the wire; a bit is 0 or 1."""

ROUNDING = 1e-6
"""Part of the larger limit by which a float32 may miss it."""


def to_words(register: Register, value: float) -> Words:
    """Words that hold a value, rounded to the nearest count inside the limits.

    Args:
        register: Where it goes.
        value: A pressure [Pa], or the number itself where the register holds no pressure.
    """
    count = value
    if isinstance(register, PressureRegister):
        low, high = register.counts
        count = min(max(value / register.scale, low), high)
    return words_of(register, count)


def words_of(register: Register, count: float) -> Words:
    """Words that hold a count."""
    if register.type == "bit":
        return [int(count)]
    number = count if register.type == "float32" else round(count)
    kind = ModbusClientMixin.DATATYPE[register.type.upper()]
    return ModbusClientMixin.convert_to_registers(number, kind, register.word_order)


def from_words(register: Register, words: Sequence[int]) -> float:
    """The value in words: a pressure [Pa], or the number itself; may be outside the limits."""
    if register.type == "bit":
        return float(words[0])
    kind = ModbusClientMixin.DATATYPE[register.type.upper()]
    value = ModbusClientMixin.convert_from_registers(words, kind, register.word_order)
    count = float(cast(float, value))
    return count * register.scale if isinstance(register, PressureRegister) else count


def allowed(register: Register, value: float) -> bool:
    """Whether a register may hold a value: a pressure inside its limits, a trigger 0 or 1."""
    if not isinstance(register, PressureRegister):
        return value in (0, 1)
    low, high = register.limits
    slack = ROUNDING * max(abs(low), abs(high)) if register.type == "float32" else 0.0
    # a count that stands for a limit may be a hair beside it
    slack += 1e-9 * abs(register.scale)
    return math.isfinite(value) and low - slack <= value <= high + slack
