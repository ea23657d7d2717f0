"""Where a pneumatic controller keeps its values: Modbus registers as data.

The paper (001, §III-B) names five values that are read and four that are written, not their places.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import combinations
from typing import Annotated, Any, Literal, NamedTuple, Self

from pydantic import Field, model_validator

from softgrasp.description.base import Description, Number
from softgrasp.description.problems import FieldError, FieldPath, path_text

Address = Annotated[int, Field(strict=True, ge=0, le=0xFFFF)]
DeviceId = Annotated[int, Field(strict=True, ge=0, le=255)]
Kind = Literal["holding", "input", "coil", "discrete"]
WordType = Literal["bit", "int16", "uint16", "int32", "uint32", "float32"]

BIT_KINDS = ("coil", "discrete")
WRITABLE_KINDS = ("holding", "coil")
WIDTHS = {"bit": 1, "int16": 1, "uint16": 1, "int32": 2, "uint32": 2, "float32": 2}
"""Places that a value takes."""
RANGES: dict[str, tuple[float, float]] = {
    "bit": (0, 1),
    "int16": (-(2**15), 2**15 - 1),
    "uint16": (0, 2**16 - 1),
    "int32": (-(2**31), 2**31 - 1),
    "uint32": (0, 2**32 - 1),
    "float32": (-3.4e38, 3.4e38),
}
"""Lowest and highest count that a type holds."""
CHALLENGE_WORDS, ANSWER_WORDS = 8, 16
"""The places of a handshake: what the server asks, and behind it what the client answers."""
SLACK = 1e-9
"""Part of a count by which a limit may miss a whole count through rounding."""


class Register(Description):
    """One place, or two neighbouring ones, that hold a value."""

    kind: Kind = "holding"
    address: Address
    """Counted from 0, as it goes over the wire."""
    type: WordType = "int16"
    word_order: Literal["big", "little"] = "big"
    """Which word of a value of two comes first: the high one (big) or the low one."""

    @model_validator(mode="before")
    @classmethod
    def _bits_are_bits(cls, data: Any) -> Any:
        if isinstance(data, dict) and data.get("kind") in BIT_KINDS:
            return {"type": "bit"} | data
        return data

    @model_validator(mode="after")
    def _possible(self) -> Self:
        if (self.kind in BIT_KINDS) != (self.type == "bit"):
            expected = "bit" if self.kind in BIT_KINDS else "a type of words, such as int16"
            raise FieldError(
                f"expected {expected} in a register of kind {self.kind}, found '{self.type}'",
                "type",
            )
        if self.address + self.width > 0x10000:
            raise FieldError(
                f"expected both words of a {self.type} below 65536, found the first at "
                f"{self.address}",
                "address",
            )
        return self

    @property
    def width(self) -> int:
        """How many places it takes."""
        return WIDTHS[self.type]

    @property
    def address_text(self) -> str:
        """``holding 2``, as errors tell it."""
        return f"{self.kind} {self.address}"


class PressureRegister(Register):
    """A pressure over that of the air around: counts times a scale."""

    scale: Number
    """Pressure of one count [Pa]; negative where a device counts vacuum upwards."""
    limits: tuple[Number, Number]
    """Lowest and highest pressure that it may hold [Pa]."""

    @model_validator(mode="after")
    def _fits(self) -> Self:
        if self.kind in BIT_KINDS:
            raise FieldError(f"expected a pressure in holding or input, found {self.kind}", "kind")
        if self.scale == 0:
            raise FieldError("expected a pressure that is not zero, found 0", "scale")
        low, high = self.limits
        if low >= high:
            raise FieldError(
                f"expected limits (lowest, highest), found [{low:g}, {high:g}]", "limits"
            )
        lowest, highest = sorted(count * self.scale for count in RANGES[self.type])
        slack = SLACK * abs(self.scale)
        for limit in self.limits:
            if not lowest - slack <= limit <= highest + slack:
                raise FieldError(
                    f"expected limits that fit {self.type} at {self.scale:g} Pa a count "
                    f"({lowest:g} to {highest:g} Pa), found {limit:g} Pa",
                    "limits",
                )
        return self

    @property
    def counts(self) -> tuple[float, float]:
        """Lowest and highest count inside the limits; whole ones where the type is whole."""
        low, high = sorted(limit / self.scale for limit in self.limits)
        if self.type == "float32":
            return low, high
        return math.ceil(low - SLACK), math.floor(high + SLACK)


class Commands(Description):
    """What is written: both triggers and both targets."""

    positive_on: Register
    """Trigger of positive pressure, 0 or 1."""
    negative_on: Register
    """Trigger of negative pressure, 0 or 1."""
    positive_target: PressureRegister
    negative_target: PressureRegister

    @model_validator(mode="after")
    def _writable(self) -> Self:
        for name, register in self:
            if register.kind not in WRITABLE_KINDS:
                raise FieldError(
                    f"expected a kind that can be written, holding or coil, found {register.kind}",
                    *(name, "kind"),
                )
        return self


class Readings(Description):
    """What is read: both triggers, both targets, and the pressure that is there."""

    positive_on: Register
    negative_on: Register
    positive_target: PressureRegister
    negative_target: PressureRegister
    pressure: PressureRegister
    """The pressure that the controller measures."""
    counter: Register | None = None
    """Number that changes while the controller measures, where it has one."""

    @model_validator(mode="after")
    def _counts_whole(self) -> Self:
        if self.counter is not None and self.counter.type in ("bit", "float32"):
            raise FieldError(
                f"expected a whole number of words, found '{self.counter.type}'",
                *("counter", "type"),
            )
        return self


class _Entry(NamedTuple):
    path: FieldPath
    register: Register


class RegisterMap(Description):
    """The registers of one controller, and its number on the wire.

    Raises:
        DescriptionError: Two values take the same place, limits do not fit a type, or a name is
            not known.
    """

    name: str = ""
    source: str = ""
    """Where the map comes from."""
    device_id: DeviceId = 1
    """The unit identifier of its frames."""
    reads: Readings
    writes: Commands
    handshake: Address = 0xF000
    """First of the holding registers in which softgrasp's own server asks for its token; no other
    device has them, and a client without a token never touches them."""

    @model_validator(mode="after")
    def _apart(self) -> Self:
        if self.handshake + CHALLENGE_WORDS + ANSWER_WORDS > 0x10000:
            raise FieldError(
                f"expected {CHALLENGE_WORDS + ANSWER_WORDS} registers below 65536, found the "
                f"first at {self.handshake}",
                "handshake",
            )
        for one, other in combinations(self._entries(), 2):
            if _overlap(one, other) and not _same_value(one, other):
                raise FieldError(
                    f"expected a place of its own, found {other.register.address_text}, where "
                    f"{path_text(one.path)} is",
                    *other.path,
                )
        return self

    def _entries(self) -> Iterator[_Entry]:
        for part in ("reads", "writes"):
            for name, register in getattr(self, part):
                if register is not None:
                    yield _Entry((part, name), register)
        for offset in range(CHALLENGE_WORDS + ANSWER_WORDS):
            yield _Entry(("handshake",), Register(address=self.handshake + offset))


def _overlap(one: _Entry, other: _Entry) -> bool:
    if one.path == other.path or one.register.kind != other.register.kind:
        return False
    first, second = sorted((one.register, other.register), key=lambda entry: entry.address)
    return first.address + first.width > second.address


def _same_value(one: _Entry, other: _Entry) -> bool:
    """Whether both are one value, which is read where it is written, in one form."""
    forms = [entry.register.model_dump(exclude={"limits"}) for entry in (one, other)]
    return one.path[-1] == other.path[-1] and forms[0] == forms[1]
