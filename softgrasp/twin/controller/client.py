"""The client of a pneumatic controller: values by name, in Pa, and nothing outside the limits."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import Self

from softgrasp.description.register_map import PressureRegister, Register, RegisterMap
from softgrasp.errors import (
    BadAnswerError,
    DescriptionError,
    RequestRefusedError,
    StaleDataError,
)
from softgrasp.twin.controller.access import require_token
from softgrasp.twin.controller.connection import LinkCounts
from softgrasp.twin.controller.exchange import (
    Refusal,
    check_written,
    read_request,
    words_in,
    write_request,
)
from softgrasp.twin.controller.greeting import token_greeting
from softgrasp.twin.controller.link import Link
from softgrasp.twin.controller.reading import ControllerReading
from softgrasp.twin.controller.spans import Span, spans
from softgrasp.twin.controller.words import allowed, from_words, to_words


class ControllerClient:
    """Reads a pneumatic controller and commands it.

    Args:
        registers: Where the controller has its values.
        link: The wire to it; see ``connect_controller``.
        token: What softgrasp's own server asks for before anything may be written.
        stale_after: Age at which a reading is too old [s].
        clock: The time [s].

    Raises:
        DescriptionError: The token is too short.
    """

    def __init__(
        self,
        registers: RegisterMap,
        link: Link,
        *,
        token: str | None = None,
        stale_after: float = 0.5,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.registers, self.stale_after = registers, stale_after
        self._link, self._clock = link, clock
        self._reads = spans([pair for pair in registers.reads if pair[1] is not None])
        self._writes: dict[str, Register] = dict(registers.writes)
        self.last: ControllerReading | None = None
        self._begin = clock()
        self._counter: float | None = None
        self._counted_at = self._begin
        if token is not None:
            link.on_connect(token_greeting(registers, require_token(token)))

    @property
    def counts(self) -> LinkCounts:
        """What has happened on the wire."""
        return self._link.counts

    @property
    def age(self) -> float:
        """Time since the last good reading, or since the client was made [s]."""
        return self._clock() - (self._begin if self.last is None else self.last.time)

    def require_fresh(self) -> ControllerReading:
        """The last good reading.

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
        """All five values.

        Raises:
            ConnectionLostError: The controller did not answer.
            RequestRefusedError: It has no such register.
            BadAnswerError: A value is outside the limits of its register.
            StaleDataError: The map has a counter, and it stands still.
        """
        values: dict[str, float] = {}
        for span in self._reads:
            words = await self._read(span)
            at = 0
            for name, register in span.values:
                values[name] = from_words(register, words[at : at + register.width])
                at += register.width
                if name != "counter" and not allowed(register, values[name]):
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
        """Write target pressures; what is not given stays.

        Args:
            positive: For the positive trigger [Pa].
            negative: For the negative trigger [Pa].

        Raises:
            DescriptionError: A pressure is outside the limits of its register; nothing was sent.
            ConnectionLostError: The controller did not answer.
            RequestRefusedError: It refused.
        """
        await self._write({"positive_target": positive, "negative_target": negative})

    def check_targets(
        self, *, positive: float | None = None, negative: float | None = None
    ) -> None:
        """Refuse targets before anything is sent.

        Raises:
            DescriptionError: A pressure is outside the limits of its register.
        """
        self._check({"positive_target": positive, "negative_target": negative})

    async def trigger(self, *, positive: bool | None = None, negative: bool | None = None) -> None:
        """Switch triggers on or off; what is not given stays.

        Raises:
            ConnectionLostError: The controller did not answer.
            RequestRefusedError: It refused.
        """
        await self._write({"positive_on": positive, "negative_on": negative})

    async def close(self) -> None:
        """Close the wire; commands stay as they are."""
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
                f"{span.text()}: expected to be read, found: {refusal}"
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
                    f"{span.text()}: expected to take {values_text}, found: {refusal}"
                ) from None

    def _check(self, values: dict[str, float | None]) -> dict[str, float]:
        """The values that are given; all of them within their limits."""
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
