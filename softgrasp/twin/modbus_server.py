"""The simulated controller as a Modbus TCP server that strangers may talk to.

The frames are read here and not by the server that pymodbus has: that one answers only the first of
several requests in one packet, stays deaf on a connection after one wrong header, and knows neither
time-outs nor the most connections.
"""

from __future__ import annotations

import asyncio
import logging
import math
import socket
import struct
import time
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from types import TracebackType
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np
from pydantic import model_validator
from pymodbus.constants import ExcCodes
from pymodbus.exceptions import ModbusException
from pymodbus.pdu import ExceptionResponse, ModbusPDU, bit_message, register_message

from softgrasp.description.base import (
    Description,
    FieldError,
    NonNegative,
    Number,
    Positive,
    is_loopback,
)
from softgrasp.errors import BackendUnavailable, DescriptionError, DeviceError, SimulationError
from softgrasp.twin.description import ANSWER_WORDS, CHALLENGE_WORDS, Kind, Register, RegisterMap
from softgrasp.twin.modbus_client import (
    BUFFER,
    Access,
    Backoff,
    FrameError,
    FrameReader,
    Words,
    allowed,
    from_words,
    require_token,
    to_words,
    words_of,
)

if TYPE_CHECKING:
    from softgrasp.twin.modbus_client import ControllerClient


# --------------------
# Both ends of the wire by one call each; pymodbus is looked for when they are used.


def connect_controller(
    host: str,
    port: int,
    registers: RegisterMap,
    *,
    token: str | None = None,
    timeout: float = 1.0,
    attempts: int = 3,
    backoff: Backoff | None = None,
    stale_after: float = 0.5,
) -> ControllerClient:
    """A client for a pneumatic controller on Modbus TCP; it connects when it is first asked.

    Args:
        host: Name or address of the controller.
        port: Its port.
        registers: Where it has its values.
        token: What softgrasp's own server asks for before anything may be written.
        timeout: Longest wait for a connection, and for each answer [s].
        attempts: How often a request is tried before it is given up; with the waits between, this
            bounds how long one call takes.
        backoff: Waits before it connects again.
        stale_after: Age at which a reading is too old [s].

    Raises:
        BackendUnavailable: pymodbus is not installed.
        DescriptionError: The token is too short.
    """
    _require_modbus()
    from softgrasp.twin.modbus_client import ControllerClient, TcpLink

    link = TcpLink(host, port, timeout=timeout, attempts=attempts, backoff=backoff)
    return ControllerClient(registers, link, token=token, stale_after=stale_after)


def controller_server(
    registers: RegisterMap,
    valve: Valve | None = None,
    *,
    token: str | None = None,
    watchdog: float | None = None,
    heard: Callable[[ControllerState], None] | None = None,
) -> ControllerServer:
    """A simulated pneumatic controller for Modbus TCP, which runs in real time; not started yet.

    Args:
        registers: Where it has its values.
        valve: How it reaches a pressure.
        token: What a connection must know before it may write; None: all may.
        watchdog: Without a request for so long both triggers go off [s]; None: they stay.
        heard: Called after every command, with the plant as it is then.

    Raises:
        BackendUnavailable: pymodbus is not installed.
        DescriptionError: The token is too short.
    """
    _require_modbus()

    controller = SimulatedController(registers, valve, watchdog=watchdog, heard=heard)
    return ControllerServer(controller, token=token)


def _require_modbus() -> None:
    if find_spec("pymodbus") is None:
        raise BackendUnavailable(
            "expected pymodbus for a controller on Modbus TCP, found none; "
            "pip install 'softgrasp[twin]'"
        )


LOOPBACK, PORT = "127.0.0.1", 5020
"""Where ``softgrasp twin serve`` listens; the standard's port 502 is for administrators."""
BACKLOG = 16
SYSTEM_BUFFER = 2**14
"""Bytes of answers that wait in the system, for one connection."""
LOG = logging.getLogger(__name__)


@dataclass
class ServerCounts:
    """What has happened at a server since it started."""

    connections: int = 0
    requests: int = 0
    malformed: int = 0
    """Connections that were closed because of bytes that are no frame."""
    idle: int = 0
    """Connections that were closed because they were silent."""
    displaced: int = 0
    """Connections that were closed to make room for newer ones."""
    locked_out: int = 0
    """Connections that were closed after too many wrong answers to the token's challenge."""


class ControllerServer:
    """Serves one controller to many connections.

    Args:
        controller: The controller.
        token: What a connection must know before it may write; None: all may.
        most_connections: With more, the one that was silent for longest is closed.
        idle_timeout: A connection on which no whole request came for so long is closed [s].

    Raises:
        DescriptionError: The token is too short.
    """

    def __init__(
        self,
        controller: SimulatedController,
        *,
        token: str | None = None,
        max_connections: int = 32,
        idle_timeout: float = 60.0,
    ) -> None:
        self.controller = controller
        self.counts = ServerCounts()
        self._token = None if token is None else require_token(token)
        self._max_connections, self._idle = max_connections, idle_timeout
        self._open: OrderedDict[asyncio.Task[None], asyncio.StreamWriter] = OrderedDict()
        self._server: asyncio.Server | None = None

    @property
    def address(self) -> tuple[str, int]:
        """Host and port on which it listens.

        Raises:
            DeviceError: It has not been started.
        """
        if self._server is None or not self._server.sockets:
            raise DeviceError("expected a server that listens, found one that was not started")
        host, port = self._server.sockets[0].getsockname()[:2]
        return str(host), int(port)

    @property
    def needs_token(self) -> bool:
        """Whether a connection must know a token before it may write."""
        return self._token is not None

    @property
    def open_connections(self) -> int:
        """How many connections there are."""
        return len(self._open)

    async def start(self, host: str = LOOPBACK, port: int = PORT) -> None:
        """Begin to listen.

        Args:
            host: An address of this machine; any but loopback needs a token.
            port: 0: the system chooses a free one, see ``address``.

        Raises:
            DescriptionError: The host can be reached from outside, and there is no token.
            DeviceError: The address cannot be listened on.
        """
        require_safe(host, self._token)
        try:
            self._server = await asyncio.start_server(
                self._accept, host, port, limit=BUFFER, backlog=BACKLOG
            )
        except OSError as error:
            raise DeviceError(
                f"{host}:{port}: expected an address to listen on, found: {error.strerror or error}"
            ) from None

    async def close(self) -> None:
        """Stop listening and close all connections; may be called twice."""
        if self._server is not None:
            self._server.close()
        tasks = list(self._open)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.close()

    async def _accept(self, stream: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None  # asyncio runs this as one
        self.counts.connections += 1
        while len(self._open) >= self._max_connections:
            _, silent = self._open.popitem(last=False)
            silent.transport.abort()
            self.counts.displaced += 1
        self._open[task] = writer
        writer.transport.set_write_buffer_limits(high=BUFFER)
        # answers to one who does not listen pile up in the system, too
        plug = writer.get_extra_info("socket")
        plug.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, SYSTEM_BUFFER)
        try:
            await self._converse(task, FrameReader(stream), writer)
        except TimeoutError:
            self.counts.idle += 1
        except (OSError, EOFError, asyncio.CancelledError):
            pass  # the other end has gone, or this one goes
        except FrameError as error:
            self.counts.malformed += 1
            LOG.debug("closed a connection: %s", error)
        except Exception:
            LOG.exception("a connection was closed because of a mistake in softgrasp")
        finally:
            self._open.pop(task, None)
            writer.transport.abort()

    async def _converse(
        self, task: asyncio.Task[None], frames: FrameReader, writer: asyncio.StreamWriter
    ) -> None:
        session = Session(self.controller, Access(self._token))
        while not session.access.exhausted:
            async with asyncio.timeout(self._idle):
                frame = await frames.read()
            if task not in self._open:
                return  # displaced
            self._open.move_to_end(task)
            self.counts.requests += 1
            answer = await session.answer(frame.unit, frame.pdu)
            writer.write(frame._replace(pdu=answer).encoded())
            async with asyncio.timeout(self._idle):
                await writer.drain()
        self.counts.locked_out += 1
        writer.close()  # after the last answer is out
        async with asyncio.timeout(self._idle):
            await writer.wait_closed()


def require_safe(host: str, token: str | None) -> None:
    """Refuse to be reached from outside without a token.

    Raises:
        DescriptionError: The host is no loopback address, and there is no token.
    """
    if token is None and not is_loopback(host):
        raise DescriptionError(
            f"expected a token (--token) with an address that other machines can reach, found "
            f"'{host}' without one; without a token the server listens on {LOOPBACK} only",
            field="host",
        )


# --------------------
# One connection's conversation with the simulated controller, without any wire.
#
# What is in a request is taken apart and answered by pymodbus; which requests there are, and what
# they may touch, is decided here.


REQUESTS: dict[int, type[ModbusPDU]] = {
    request.function_code: request
    for request in (
        bit_message.ReadCoilsRequest,
        bit_message.ReadDiscreteInputsRequest,
        register_message.ReadHoldingRegistersRequest,
        register_message.ReadInputRegistersRequest,
        bit_message.WriteSingleCoilRequest,
        register_message.WriteSingleRegisterRequest,
        bit_message.WriteMultipleCoilsRequest,
        register_message.WriteMultipleRegistersRequest,
    )
}
"""Functions that a controller has; diagnosis, files and identification are not among them."""
KINDS: dict[int, Kind] = {
    1: "coil",
    5: "coil",
    15: "coil",
    3: "holding",
    6: "holding",
    16: "holding",
    2: "discrete",
    4: "input",
}
LONG_WRITES = (15, 16)
SHORT_LENGTH = 5
"""Bytes of any other request."""
SINGLE_COIL, COIL_VALUES = 5, (b"\x00\x00", b"\xff\x00")


class Session:
    """Answers requests, and remembers whether this connection may write.

    Args:
        controller: What is behind the registers.
        access: Whether this connection may write.
    """

    def __init__(self, controller: SimulatedController, access: Access | None = None) -> None:
        self.controller = controller
        self.access = access or Access(None)

    async def answer(self, unit: int, pdu: bytes) -> bytes:
        """Answer one request, whatever it is.

        Args:
            unit: The device that is asked.
            pdu: Function code and data, one byte or more.

        Returns:
            Function code and data of the answer.
        """
        function = pdu[0]
        if unit != self.controller.registers.device_id:
            return _refused(function, ExcCodes.GATEWAY_NO_RESPONSE)
        if function not in REQUESTS:
            return _refused(function, ExcCodes.ILLEGAL_FUNCTION)
        request = _request(pdu)
        if request is None:
            return _refused(function, ExcCodes.ILLEGAL_VALUE)
        # pymodbus names a context of its own here, and calls two methods of it, which are below
        answer = await request.datastore_update(self, unit)  # type: ignore[arg-type]
        return _bytes(answer)

    async def async_getValues(
        self, _device_id: int, func_code: int, address: int, count: int = 1
    ) -> list[int] | ExcCodes:
        """Words, or bits, as pymodbus asks for them."""
        if KINDS[func_code] == "holding" and self._challenge_at(address):
            if not self.access.asks or func_code != 3 or count != CHALLENGE_WORDS:
                return ExcCodes.ILLEGAL_ADDRESS
            return self.access.challenge
        return self.controller.words(KINDS[func_code], address, count)

    async def async_setValues(
        self, _device_id: int, func_code: int, address: int, values: Sequence[int]
    ) -> ExcCodes | None:
        """Write words, or bits, as pymodbus gives them."""
        if KINDS[func_code] == "holding" and self._challenge_at(address - CHALLENGE_WORDS):
            if not self.access.asks or len(values) != ANSWER_WORDS:
                return ExcCodes.ILLEGAL_ADDRESS
            return None if self.access.offer(values) else ExcCodes.ILLEGAL_VALUE
        if not self.access.granted:
            return ExcCodes.ILLEGAL_FUNCTION  # "not in this state", in the words of the standard
        return self.controller.write(KINDS[func_code], address, [int(value) for value in values])

    def _challenge_at(self, address: int) -> bool:
        return address == self.controller.registers.handshake


def _request(pdu: bytes) -> ModbusPDU | None:
    """The request in bytes; None where its data are not what its function needs."""
    function, data = pdu[0], pdu[1:]
    if function not in LONG_WRITES and len(pdu) != SHORT_LENGTH:
        return None
    if function == SINGLE_COIL and data[2:] not in COIL_VALUES:
        return None
    request = REQUESTS[function]()
    try:
        request.decode(data)
    except (ModbusException, ValueError, IndexError, struct.error):
        return None
    return request


def _refused(function: int, why: ExcCodes) -> bytes:
    return _bytes(ExceptionResponse(function & 0x7F, why))


def _bytes(answer: ModbusPDU) -> bytes:
    return bytes([answer.function_code]) + answer.encode()


# --------------------
# A pneumatic controller as mathematics: triggers choose a target, a first-order valve goes there.
#
# p(t + Δt) = p* + (p(t) − p*)·exp(−Δt/τ), which is exact while the target p* stays as it is, so
# that
# the pressure does not depend on how often it is asked for. Time is passed in.


ATMOSPHERE = 0.0
"""All pressures are over that of the air around [Pa]."""


class Valve(Description):
    """How the simulated controller reaches a pressure, and how well it measures it."""

    time_constant: Positive = 0.15
    """τ, in which 63 % of the way is gone [s]; ours, for the paper has none."""
    lowest: Number = -90e3
    """Targets below are cut off here [Pa]."""
    highest: Number = 120e3
    """Targets above are cut off here [Pa]."""
    noise: NonNegative = 0.0
    """Standard deviation of the sensor's error [Pa]."""
    sample_period: Positive = 1e-3
    """The sensor has a new error every so often [s]."""
    seed: int = 0
    """Of the sensor's errors: one seed and one time make one error."""

    @model_validator(mode="after")
    def _around_atmosphere(self) -> Self:
        if not self.lowest <= ATMOSPHERE <= self.highest:
            raise FieldError(
                f"expected lowest <= 0 <= highest, found {self.lowest:g} and {self.highest:g} Pa",
                "lowest",
            )
        return self


class ControllerState(NamedTuple):
    """The controller at one instant."""

    time: float = 0.0
    """[s]"""
    pressure: float = ATMOSPHERE
    """In the fingers, without the sensor's error [Pa]."""
    positive_on: bool = False
    negative_on: bool = False
    positive_target: float = 0.0
    """[Pa]"""
    negative_target: float = 0.0
    """[Pa]"""


def target_of(state: ControllerState, valve: Valve) -> float:
    """The pressure that the valve goes to [Pa].

    With neither trigger on it is that of the air around; with both on, too: two opposite commands
    are no command, and an open valve is the state in which nothing can burst. Clamped to the
    valve's range.
    """
    target = ATMOSPHERE
    if state.positive_on and not state.negative_on:
        target = state.positive_target
    elif state.negative_on and not state.positive_on:
        target = state.negative_target
    return min(max(target, valve.lowest), valve.highest)


def advanced(state: ControllerState, time: float, valve: Valve) -> ControllerState:
    """The controller at a later time, with commands as they are.

    Args:
        state: The controller before.
        time: Not before ``state.time`` [s].
        valve: The valve.

    Raises:
        SimulationError: Time runs backwards.
    """
    if not time >= state.time:
        raise SimulationError(
            f"expected a time from {state.time:g} s on, found {time:g} s: the plant does not run "
            "backwards"
        )
    target = target_of(state, valve)
    decay = math.exp(-(time - state.time) / valve.time_constant)
    return state._replace(time=time, pressure=target + (state.pressure - target) * decay)


def sample_number(state: ControllerState, valve: Valve) -> int:
    """How many samples the sensor has taken since time 0."""
    return math.floor(state.time / valve.sample_period)


def measured(state: ControllerState, valve: Valve) -> float:
    """What the sensor tells [Pa]: the pressure, and an error that is new in every sample."""
    if valve.noise == 0:
        return state.pressure
    # a generator a sample: the error then depends on the time and not on who asked before
    generator = np.random.default_rng((valve.seed, abs(sample_number(state, valve))))
    return state.pressure + valve.noise * float(generator.standard_normal())


# --------------------
# The simulated controller behind its registers: one plant, one clock, one image of words.


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
