"""Simulated pneumatic controller on Modbus TCP, hardened against untrusted clients.

Two triggers select a positive or a negative target pressure, and a first-order valve approaches
it: p(t + Δt) = p* + (p(t) − p*)·exp(−Δt/τ), which is exact for a constant target p*, so the
pressure does not depend on how often it is read. ``SimulatedController`` maps this system to the
registers of a ``RegisterMap``; a ``Session`` answers the requests of one connection;
``ControllerServer`` serves many.

Requests are decoded by pymodbus, but its server was not used (3.16.1, measured): it answers only
the first of several requests in one packet, does not answer on a connection after one wrong
header, and limits neither idle time nor the number of connections.
"""

from __future__ import annotations

import asyncio
import logging
import math
import socket
import struct
import time
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
from softgrasp.twin.connections import ConnectionLimits
from softgrasp.twin.description import ANSWER_WORDS, CHALLENGE_WORDS, Kind, Register, RegisterMap
from softgrasp.twin.modbus_client import Backoff
from softgrasp.twin.modbus_frames import (
    BUFFER,
    Access,
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


LOOPBACK, PORT = "127.0.0.1", 5020
"""Default address and port of ``softgrasp twin serve``; the standard port 502 needs privileges."""
BACKLOG = 128
SYSTEM_BUFFER = 2**14
"""Send buffer of the operating system for one connection [bytes]."""
LOG = logging.getLogger(__name__)
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
"""Supported functions; diagnosis, files and identification are not among them."""
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
DIRECT_UNITS = (0, 255)
"""Units of requests to the device at the end of the connection, without a gateway (Modbus Messaging
on TCP/IP Implementation Guide 1.0b, "Unit Identifier")."""
LONG_WRITES = (15, 16)
SHORT_LENGTH = 5
"""Length of all other requests [bytes]."""
SINGLE_COIL, COIL_VALUES = 5, (b"\x00\x00", b"\xff\x00")
ATMOSPHERE = 0.0
"""All pressures are gauge pressures [Pa]."""
TRIGGERS = ("positive_on", "negative_on")


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

# Client and server by one call each


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
    """Make a client of a pneumatic controller on Modbus TCP; it connects on the first request.

    Args:
        host: Name or address of the controller.
        port: Port.
        registers: Register map.
        token: Token for writing, for softgrasp's own server.
        timeout: Longest wait for a connection, and for each answer [s].
        attempts: Number of attempts per request; with the delays between them this limits the
            duration of a call.
        backoff: Delays before reconnecting.
        stale_after: Age at which a reading is too old [s].

    Raises:
        BackendUnavailable: pymodbus is not installed.
        DescriptionError: The token is too short.
    """
    _require_modbus()
    from softgrasp.twin.modbus_client import ControllerClient, TcpLink

    link = TcpLink(host, port, timeout=timeout, attempts=attempts, backoff=backoff)
    return ControllerClient(registers, link, token=token, stale_after=stale_after)


def _require_modbus() -> None:
    if find_spec("pymodbus") is None:
        raise BackendUnavailable(
            "expected pymodbus for a controller on Modbus TCP, found none; "
            "pip install 'softgrasp[twin]'"
        )


def controller_server(
    registers: RegisterMap,
    valve: Valve | None = None,
    *,
    token: str | None = None,
    watchdog: float | None = None,
    heard: Callable[[ControllerState], None] | None = None,
) -> ControllerServer:
    """Make a simulated pneumatic controller on Modbus TCP in real time; it is not started yet.

    Args:
        registers: Register map.
        valve: Valve and sensor.
        token: Token for writing; None: writing is open to all.
        watchdog: Time without a request after which both triggers go off [s]; None: never.
        heard: Called after every command, with the new state.

    Raises:
        BackendUnavailable: pymodbus is not installed.
        DescriptionError: The token is too short.
    """
    _require_modbus()

    controller = SimulatedController(registers, valve, watchdog=watchdog, heard=heard)
    return ControllerServer(controller, token=token)


# Server


@dataclass
class ServerCounts:
    """Statistics of a Modbus server since its start."""

    connections: int = 0
    requests: int = 0
    malformed: int = 0
    """Connections closed because of invalid frames."""
    idle: int = 0
    """Connections closed because they were idle."""
    displaced: int = 0
    """Connections closed in favour of newer ones."""
    locked_out: int = 0
    """Connections closed after too many wrong answers to the token's challenge."""


class ControllerServer:
    """Serve one controller to many connections.

    Args:
        controller: Simulated controller.
        token: Token for writing; None: writing is open to all.
        limits: Limits of connections; by default 128, and 64 of one address.
        idle_timeout: Time without a complete request after which a connection is closed [s].

    Raises:
        DescriptionError: The token is too short.
    """

    def __init__(
        self,
        controller: SimulatedController,
        *,
        token: str | None = None,
        limits: ConnectionLimits | None = None,
        idle_timeout: float = 60.0,
    ) -> None:
        self.controller = controller
        self.counts = ServerCounts()
        self._token = None if token is None else require_token(token)
        self._limits = ConnectionLimits() if limits is None else limits
        self._idle = idle_timeout
        self._open: dict[asyncio.Task[None], asyncio.StreamWriter] = {}
        self._server: asyncio.Server | None = None

    @property
    def address(self) -> tuple[str, int]:
        """Host and port of the server.

        Raises:
            DeviceError: It has not been started.
        """
        if self._server is None or not self._server.sockets:
            raise DeviceError("expected a started server, found one that was not started")
        host, port = self._server.sockets[0].getsockname()[:2]
        return str(host), int(port)

    @property
    def needs_token(self) -> bool:
        """Whether writing needs a token."""
        return self._token is not None

    @property
    def open_connections(self) -> int:
        """Number of open connections."""
        return len(self._limits)

    async def start(self, host: str = LOOPBACK, port: int = PORT) -> None:
        """Start to listen.

        Args:
            host: Address of this machine; any but loopback needs a token.
            port: Port; 0: any free one, see ``address``.

        Raises:
            DescriptionError: The host can be reached from outside, and there is no token.
            DeviceError: Listening on the address failed.
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
        self._open[task] = writer
        peer = writer.get_extra_info("peername") or ("",)
        self._limits.opened(task, str(peer[0]), writer.transport.abort)
        self.counts.displaced = self._limits.dropped
        writer.transport.set_write_buffer_limits(high=BUFFER)
        # limits unread answers in the operating system, too
        plug = writer.get_extra_info("socket")
        plug.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, SYSTEM_BUFFER)
        try:
            await self._converse(task, FrameReader(stream), writer)
        except TimeoutError:
            self.counts.idle += 1
        except (OSError, EOFError, asyncio.CancelledError):
            pass  # the connection was closed by one of its ends
        except FrameError as error:
            self.counts.malformed += 1
            LOG.debug("closed a connection: %s", error)
        except Exception:
            LOG.exception("a connection was closed because of an internal error")
        finally:
            self._limits.closed(task)
            self._open.pop(task, None)
            writer.transport.abort()

    async def _converse(
        self, task: asyncio.Task[None], frames: FrameReader, writer: asyncio.StreamWriter
    ) -> None:
        session = Session(self.controller, Access(self._token))
        while not session.access.exhausted:
            async with asyncio.timeout(self._idle):
                frame = await frames.read()
            if not self._limits.heard(task):
                return  # displaced
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
    """Refuse an address that other machines can reach without a token.

    Raises:
        DescriptionError: The host is not a loopback address, and there is no token.
    """
    if token is None and not is_loopback(host):
        raise DescriptionError(
            f"expected a token (--token) with an address that other machines can reach, found "
            f"'{host}' without one; without a token the server listens on {LOOPBACK} only",
            field="host",
        )


# Requests


class Session:
    """Connection of one client: reads its requests and answers them.

    Args:
        controller: Simulated controller behind the registers.
        access: Write permission of this connection.
    """

    def __init__(self, controller: SimulatedController, access: Access | None = None) -> None:
        self.controller = controller
        self.access = access or Access(None)

    async def answer(self, unit: int, pdu: bytes) -> bytes:
        """Answer one request, valid or not.

        Args:
            unit: Requested device.
            pdu: Function code and data, one byte or more.

        Returns:
            Function code and data of the answer.
        """
        function = pdu[0]
        if unit not in (self.controller.registers.device_id, *DIRECT_UNITS):
            return _refused(function, ExcCodes.GATEWAY_NO_RESPONSE)
        if function not in REQUESTS:
            return _refused(function, ExcCodes.ILLEGAL_FUNCTION)
        request = _request(pdu)
        if request is None:
            return _refused(function, ExcCodes.ILLEGAL_VALUE)
        # pymodbus expects its own context type here, and calls only the two methods below
        answer = await request.datastore_update(self, unit)  # type: ignore[arg-type]
        return _bytes(answer)

    async def async_getValues(
        self, _device_id: int, func_code: int, address: int, count: int = 1
    ) -> list[int] | ExcCodes:
        """Return words, or bits; called by pymodbus."""
        if KINDS[func_code] == "holding" and self._challenge_at(address):
            if not self.access.asks or func_code != 3 or count != CHALLENGE_WORDS:
                return ExcCodes.ILLEGAL_ADDRESS
            return self.access.challenge
        return self.controller.words(KINDS[func_code], address, count)

    async def async_setValues(
        self, _device_id: int, func_code: int, address: int, values: Sequence[int]
    ) -> ExcCodes | None:
        """Write words, or bits; called by pymodbus."""
        if KINDS[func_code] == "holding" and self._challenge_at(address - CHALLENGE_WORDS):
            if not self.access.asks or len(values) != ANSWER_WORDS:
                return ExcCodes.ILLEGAL_ADDRESS
            return None if self.access.offer(values) else ExcCodes.ILLEGAL_VALUE
        if not self.access.granted:
            return ExcCodes.ILLEGAL_FUNCTION  # the standard: "not allowed in this state"
        return self.controller.write(KINDS[func_code], address, [int(value) for value in values])

    def _challenge_at(self, address: int) -> bool:
        return address == self.controller.registers.handshake


def _refused(function: int, why: ExcCodes) -> bytes:
    return _bytes(ExceptionResponse(function & 0x7F, why))


def _bytes(answer: ModbusPDU) -> bytes:
    return bytes([answer.function_code]) + answer.encode()


def _request(pdu: bytes) -> ModbusPDU | None:
    """Decode a request; None where its data do not fit its function."""
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


def advanced(state: ControllerState, time: float, valve: Valve) -> ControllerState:
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


def measured(state: ControllerState, valve: Valve) -> float:
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
            left_alone = advanced(self._state, silent, self.valve)
            self._state = left_alone._replace(positive_on=False, negative_on=False)
        self._state = advanced(self._state, now, self.valve)
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
        """Write whole values from an address on: all of them, or none and the reason."""
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
            return to_words(register, measured(state, self.valve))
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
