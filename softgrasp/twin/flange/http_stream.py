"""Flange poses from a server in the way of Robot Web Services, polled at a rate."""

from __future__ import annotations

from softgrasp.description.flange import FlangeSample, HttpFlange
from softgrasp.errors import (
    BadAnswerError,
    ConnectionLostError,
    DeviceError,
    RequestRefusedError,
    StaleDataError,
)
from softgrasp.twin.flange.clock import Clock, Ticks
from softgrasp.twin.flange.http_connection import Answer, KeptConnection
from softgrasp.twin.flange.rws import sample_of
from softgrasp.twin.flange.stream import FlangeStream

OK, BUSY = 200, (429, 500, 502, 503, 504)
"""Answers of a server that may do better when it is asked again."""


class HttpStream(FlangeStream):
    """Poses of a mechanical unit; the time is that of the clock, or that which the server tells.

    A lost connection is made anew after ``pause``, until there was no new pose for
    ``stale_after``; then ``ConnectionLostError`` tells why. Where the server tells the time, a pose
    of the same time is no new one, and ``StaleDataError`` ends the wait for one. An answer that
    holds no pose is a ``BadAnswerError`` at once, a refusal a ``RequestRefusedError``.
    """

    def __init__(self, source: HttpFlange, clock: Clock | None = None, token: str = "") -> None:
        """Take the address; nothing is asked before the first sample.

        Args:
            source: Address, rate, time-outs, and which key holds what.
            clock: By which it waits; time-outs of the connection are real time.
            token: Sent as a bearer token where it is not empty.
        """
        super().__init__(clock)
        self.source = source
        self._connection = KeptConnection(source.url, source.timeout, token)
        self._ticks = Ticks(self.clock, source.rate)
        self._newest: float | None = None

    async def _next(self) -> FlangeSample | None:
        begin, lost = self.clock.now(), False
        while True:
            await self._ticks.next()
            self.counts.missed = self._ticks.missed
            try:
                sample = self._sample(await self._connection.get())
            except ConnectionLostError as error:
                lost = True
                self._give_up(begin, error)
                await self.clock.sleep(self.source.pause)
                continue
            if lost:
                self.counts.reconnected += 1
                lost = False
            if self._is_new(sample):
                return sample
            self._give_up(begin, self._stale(sample))

    def _sample(self, answer: Answer) -> FlangeSample:
        url, status = self.source.url, f"{answer.status} {answer.reason}".strip()
        if answer.status in BUSY:
            raise ConnectionLostError(f"{url}: expected an answer, found HTTP status {status}")
        if answer.status != OK:
            hint = "; it wants a token" if answer.status == 401 else ""
            raise RequestRefusedError(f"{url}: expected HTTP status 200, found {status}{hint}")
        try:
            return sample_of(answer.body, self.clock.now(), url, self.source.fields)
        except BadAnswerError:
            self.counts.refused += 1
            raise

    def _is_new(self, sample: FlangeSample) -> bool:
        if self._newest is not None and sample.time <= self._newest and self.source.fields.time:
            if sample.time == self._newest:
                self.counts.twice += 1
            else:
                self.counts.late += 1
            return False
        self._newest = sample.time
        return True

    def _give_up(self, begin: float, error: DeviceError) -> None:
        if self.clock.now() - begin >= self.source.stale_after:
            self._newest = None  # a server that was started anew counts from 0 again
            raise error

    def _stale(self, sample: FlangeSample) -> StaleDataError:
        return StaleDataError(
            f"{self.source.url}: expected a new pose within {self.source.stale_after:g} s, "
            f"found that of time {sample.time:g} s and none after {self._newest:g} s"
        )

    def _release(self) -> None:
        self._connection.close()
