"""Simulated robot that reports its flange pose over HTTP and UDP; opening of flange streams.

``SimulatedRobot`` repeats a program without state: the same time always gives the same pose.
``RobotServer`` serves the pose, the joints and its health in the format of Robot Web Services;
``send_poses`` sends poses by UDP. ``open_flange`` opens the stream of any described source.

``JsonServer`` is a small asyncio server of JSON documents with limits on connections, head
length and time, and an optional bearer token compared in constant time.
"""

from __future__ import annotations

import asyncio
import contextlib
import hmac
import io
import json
import math
import os
import re
import socket
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from http import HTTPStatus
from http.client import HTTPException, parse_headers
from pathlib import Path
from typing import Any, NamedTuple, Self
from urllib.parse import urlsplit

from softgrasp.description.arm import RobotProgram
from softgrasp.description.base import is_loopback
from softgrasp.errors import ConnectionLostError, DescriptionError
from softgrasp.mechanics.hand_kinematics import forward_kinematics
from softgrasp.mechanics.trajectory import Quintic
from softgrasp.mechanics.transforms import position_of, quaternion_of
from softgrasp.twin.description import (
    RWS_PATH,
    RWS_PORT,
    FileFlange,
    FlangeSample,
    FlangeSource,
    HttpFlange,
    UdpFlange,
)
from softgrasp.twin.files import load_flange_samples, row_of
from softgrasp.twin.flange_streams import (
    Clock,
    FlangeStream,
    HttpStream,
    JsonDocument,
    ReplayStream,
    SystemClock,
    Ticks,
    UdpStream,
    cartesian_document,
    joint_document,
)

Document = Mapping[str, Any]
RequestHandler = Callable[[str], Document | None]
"""Return the document at a path, or None where there is none."""

SHORTEST_TOKEN = 8
"""Smallest number of characters of a token."""
SEND_BUFFER = 65536
"""Send buffer of the operating system for one client [bytes]."""
MAX_HEAD = 8192
"""Largest length of a request line with headers [bytes]."""
LINE = re.compile(r"(?P<method>[A-Z]{1,16}) (?P<target>/[!-~]{0,1024}) HTTP/1\.(?P<minor>[01])")
UNIT = "ROB_1"
CARTESIAN = RWS_PATH.format(unit=UNIT)
JOINTS = CARTESIAN.replace("cartesian", "jointtarget")
HEALTH = "/health"


def open_flange(
    source: FlangeSource, *, directory: Path | None = None, clock: Clock | None = None
) -> FlangeStream:
    """Open the flange-pose stream of a source, for ``async with`` and, inside, ``async for``.

    Args:
        source: Source of poses.
        directory: Directory of recorded poses with relative paths.
        clock: Clock of the stream; default: the system clock.

    Raises:
        DescriptionError: A file of poses is invalid, or a token is missing in the environment.
    """
    if isinstance(source, HttpFlange):
        return HttpStream(source, clock, _token(source.token_variable))
    if isinstance(source, FileFlange):
        path = (directory or Path()) / source.path
        return ReplayStream(load_flange_samples(path), source.pace, clock)
    if isinstance(source, UdpFlange):
        return UdpStream(source, clock)
    return RobotStream(SimulatedRobot(source.program), source.rate, clock)


def _token(variable: str) -> str:
    token = os.environ.get(variable, "") if variable else ""
    if variable and not token:
        raise DescriptionError(
            f"expected a token in the environment variable {variable}, found none",
            field="token_variable",
        )
    return token


# Robot


class SimulatedRobot:
    """A robot that repeats its motion program; time 0 is its start.

    It has no state: the same time always gives the same pose.
    """

    def __init__(self, program: RobotProgram) -> None:
        """Prepare the moves of a program."""
        self.program = program
        ends = program.postures[1:] + program.postures[:1]
        self._moves = [
            Quintic(begin, end, program.move_time)
            for begin, end in zip(program.postures, ends, strict=True)
        ]

    def joints_at(self, time: float) -> tuple[float, ...]:
        """Return joint variables [rad or m] at a time [s]; up to 0 those of the first posture."""
        leg = self.program.move_time + self.program.rest_time
        within = math.fmod(max(time, 0.0), self.program.period)
        index = min(int(within / leg), len(self._moves) - 1)
        moved = max(within - index * leg - self.program.rest_time, 0.0)
        return tuple(self._moves[index].at(moved).tolist())

    def sample_at(self, time: float) -> FlangeSample:
        """Return the flange pose in the robot's base frame at a time [s].

        The quaternion has w ≥ 0; a stream selects the sign that is continuous.
        """
        joints = self.joints_at(time)
        frame = forward_kinematics(self.program.arm.chain, joints)[-1]
        return FlangeSample(
            time=time,
            position=position_of(frame),
            quaternion=quaternion_of(frame),
            joints=joints,
        )


class RobotStream(FlangeStream):
    """Samples of a simulated robot in this process, at a fixed rate, without end."""

    def __init__(
        self, robot: SimulatedRobot, rate: float = 50.0, clock: Clock | None = None
    ) -> None:
        """Prepare the stream; the robot starts with the first sample.

        Args:
            robot: Simulated robot.
            rate: Samples per second [Hz].
            clock: Clock of the stream.
        """
        super().__init__(clock)
        self.robot = robot
        self._ticks = Ticks(self.clock, rate)
        self._begin: float | None = None

    async def _next(self) -> FlangeSample | None:
        instant = await self._ticks.next()
        self.counts.missed = self._ticks.missed
        if self._begin is None:
            self._begin = instant
        return self.robot.sample_at(instant - self._begin)


# HTTP server


@dataclass(frozen=True)
class ServerLimits:
    """Resource limits of one client, and of all clients together."""

    connections: int = 32
    """Largest number of connections; further clients get an error and are closed."""
    head_time: float = 10.0
    """Time for a whole request, including the wait for it [s]."""
    answer_time: float = 5.0
    """Time for a client to receive an answer [s]."""


class JsonServer:
    """Answer GET and HEAD requests on persistent connections.

    With a token, clients must send it as a bearer token; it is compared in constant time.
    """

    def __init__(
        self,
        answer: RequestHandler,
        *,
        host: str = "127.0.0.1",
        port: int = 0,
        token: str = "",
        limits: ServerLimits | None = None,
    ) -> None:
        """Set up the server; ``start`` opens the socket.

        Args:
            answer: Handler that returns the documents.
            host: Address to listen on.
            port: Port; 0 lets the operating system choose.
            token: Bearer token of clients; empty: none.
            limits: Limits of clients.

        Raises:
            DescriptionError: The address can be reached by other machines, and there is no
                token; or the token is too short.
        """
        if not is_loopback(host) and not token:
            raise DescriptionError(
                f"expected a token for the address {host}, which other machines can reach, "
                f"found none; without a token listen on 127.0.0.1"
            )
        visible = token.isascii() and token.isprintable() and token.strip() == token
        if token and (not visible or len(token) < SHORTEST_TOKEN):
            raise DescriptionError(
                f"expected a token of {SHORTEST_TOKEN} visible ASCII letters or more, "
                f"found one of {len(token)}"
            )
        self._answer, self._token = answer, token.encode()
        # the name may resolve to two addresses, and each would get another port
        self.host, self.port = "127.0.0.1" if host == "localhost" else host, port
        self.limits = limits or ServerLimits()
        self._server: asyncio.Server | None = None
        self._clients: set[asyncio.Task[None]] = set()

    async def start(self) -> None:
        """Start to listen; afterwards ``port`` is the actual port number.

        Raises:
            ConnectionLostError: Listening on the address failed.
        """
        try:
            self._server = await asyncio.start_server(
                self._serve, self.host, self.port, limit=MAX_HEAD
            )
        except OSError as error:
            raise ConnectionLostError(
                f"http://{self.host}:{self.port}: expected a free address, found: "
                f"{error.strerror or error}"
            ) from None
        self.port = self._server.sockets[0].getsockname()[1]

    async def close(self) -> None:
        """Stop listening and close all connections."""
        if self._server is not None:
            self._server.close()
        for client in tuple(self._clients):
            client.cancel()
        await asyncio.gather(*self._clients, return_exceptions=True)

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(self, *error: object) -> None:
        await self.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        client = asyncio.current_task()
        assert client is not None  # asyncio runs this in a task
        self._clients.add(client)
        # a slow or vanishing client ends only its own connection
        ends = (OSError, TimeoutError, asyncio.CancelledError)
        try:
            with contextlib.suppress(*ends):
                connection = writer.get_extra_info("socket")
                connection.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, SEND_BUFFER)
                await self._talk(reader, writer)
        finally:
            self._clients.discard(client)
            if writer.transport.get_write_buffer_size():
                writer.transport.abort()  # the client does not receive its answer
            else:
                writer.close()

    async def _talk(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            if len(self._clients) > self.limits.connections:
                raise RefusedRequest(HTTPStatus.SERVICE_UNAVAILABLE, "too many connections")
            while True:
                async with asyncio.timeout(self.limits.head_time):
                    head = await read_head(reader)
                if head is None:
                    return
                status, document = self._reply(head)
                await self._send(writer, status, document, head)
                if not head.stays:
                    return
        except RefusedRequest as error:
            await self._send(writer, error.status, {"error": str(error)}, None)

    def _reply(self, head: Head) -> tuple[HTTPStatus, Document]:
        if not hmac.compare_digest(head.token.encode(), self._token) and self._token:
            return HTTPStatus.UNAUTHORIZED, {
                "error": "expected the header Authorization: Bearer with the token of the server"
            }
        if head.method not in ("GET", "HEAD"):
            return HTTPStatus.METHOD_NOT_ALLOWED, {
                "error": f"expected GET or HEAD, found {head.method}"
            }
        document = self._answer(head.path)
        if document is None:
            return HTTPStatus.NOT_FOUND, {"error": f"no document at {head.path[:120]}"}
        return HTTPStatus.OK, document

    async def _send(
        self,
        writer: asyncio.StreamWriter,
        status: HTTPStatus,
        document: Document,
        head: Head | None,
    ) -> None:
        body = json.dumps(document, allow_nan=False).encode()
        lines = [
            f"HTTP/1.1 {status.value} {status.phrase}",
            "Content-Type: application/json",
            f"Content-Length: {len(body)}",
            "Cache-Control: no-store",
            "X-Content-Type-Options: nosniff",
            f"Connection: {'keep-alive' if head is not None and head.stays else 'close'}",
        ]
        if status is HTTPStatus.UNAUTHORIZED:
            lines.append("WWW-Authenticate: Bearer")
        if status is HTTPStatus.METHOD_NOT_ALLOWED:
            lines.append("Allow: GET, HEAD")
        writer.write("\r\n".join([*lines, "", ""]).encode("latin-1"))
        if head is None or head.method != "HEAD":
            writer.write(body)
        async with asyncio.timeout(self.limits.answer_time):
            await writer.drain()


class Head(NamedTuple):
    """Head of an HTTP request."""

    method: str
    path: str
    token: str
    """Token of ``Authorization: Bearer …``; empty where there is none."""
    stays: bool
    """Whether the connection stays open."""


class RefusedRequest(Exception):
    """A request that is answered with an error and a closed connection."""

    def __init__(self, status: HTTPStatus, sentence: str) -> None:
        super().__init__(sentence)
        self.status = status


async def read_head(reader: asyncio.StreamReader) -> Head | None:
    """Read the head of the next HTTP request; None where the client has closed the connection.

    Args:
        reader: Stream with ``MAX_HEAD`` as its limit.

    Raises:
        RefusedRequest: It is too long, invalid, or has a body.
    """
    try:
        raw = await reader.readuntil(b"\r\n\r\n")
    except asyncio.IncompleteReadError:
        return None
    except asyncio.LimitOverrunError:
        raise RefusedRequest(
            HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE,
            f"expected a head of at most {MAX_HEAD} bytes, found more",
        ) from None
    return parse_head(raw)


def parse_head(raw: bytes) -> Head:
    """Parse the head of an HTTP request, including the empty line after it.

    Raises:
        RefusedRequest: It is invalid, or has a body.
    """
    first, _, rest = raw.partition(b"\r\n")
    line = LINE.fullmatch(first.decode("latin-1"))
    if line is None:
        raise RefusedRequest(
            HTTPStatus.BAD_REQUEST, "expected a line such as GET /health HTTP/1.1, found another"
        )
    try:
        headers = parse_headers(io.BytesIO(rest))
    except HTTPException as error:
        raise RefusedRequest(HTTPStatus.BAD_REQUEST, f"expected headers, found: {error}") from None
    # an unread body would be parsed as the next request
    lengths = {length.strip() for length in headers.get_all("Content-Length", [])}
    if "Transfer-Encoding" in headers or lengths - {"0"}:
        raise RefusedRequest(HTTPStatus.BAD_REQUEST, "expected a request without a body")
    kind, _, token = headers.get("Authorization", "").partition(" ")
    wish = headers.get("Connection", "keep-alive" if line["minor"] == "1" else "close")
    return Head(
        method=line["method"],
        path=urlsplit(line["target"]).path,
        token=token.strip() if kind.lower() == "bearer" else "",
        stays=wish.strip().lower() == "keep-alive",
    )


# Server of the robot


class RobotServer(JsonServer):
    """Serve the pose of the flange, the joints and the health of a robot.

    The robot starts with the server and is sampled ``rate`` times per second like a real
    controller: answers within one period are equal.
    """

    def __init__(
        self,
        robot: SimulatedRobot,
        *,
        host: str = "127.0.0.1",
        port: int = RWS_PORT,
        rate: float = 250.0,
        token: str = "",
        clock: Clock | None = None,
        limits: ServerLimits | None = None,
    ) -> None:
        """Set up the server; ``start`` opens the socket.

        Args:
            robot: Simulated robot.
            host: Address to listen on.
            port: Port; 0 lets the operating system choose.
            rate: New poses per second [Hz].
            token: Bearer token of clients; empty: none.
            clock: Clock of the robot.
            limits: Limits of clients.

        Raises:
            DescriptionError: The address can be reached by other machines, and there is no
                token; or the token is too short.
        """
        super().__init__(self._document, host=host, port=port, token=token, limits=limits)
        self.robot, self.rate = robot, rate
        self._clock = clock or SystemClock()
        self._begin = self._clock.now()

    @property
    def url(self) -> str:
        """Address of the flange pose."""
        return f"{self._base}{CARTESIAN}?json=1"

    @property
    def time(self) -> float:
        """Time of the robot's last sample [s]."""
        # a millionth of a period as rounding tolerance
        ticks = int((self._clock.now() - self._begin) * self.rate + 1e-6)
        return round(ticks / self.rate, 6)

    async def start(self) -> None:
        """Listen, and start the robot."""
        await super().start()
        self._begin = self._clock.now()

    @property
    def _base(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"http://{host}:{self.port}"

    def _document(self, path: str) -> JsonDocument | None:
        unit, time = f"{self._base}{CARTESIAN.removesuffix('cartesian')}", self.time
        if path == CARTESIAN:
            return cartesian_document(self.robot.sample_at(time), unit)
        if path == JOINTS:
            return joint_document(self.robot.joints_at(time), time, unit)
        if path == HEALTH:
            program = self.robot.program
            return {"status": "ok", "arm": program.arm.name, "program": program.name, "time": time}
        return None


async def send_poses(
    robot: SimulatedRobot,
    target: UdpFlange,
    *,
    rate: float = 50.0,
    count: int | None = None,
    clock: Clock | None = None,
) -> int:
    """Send the poses of a robot by UDP, one JSON object per datagram, from its time 0 on.

    Args:
        robot: Simulated robot.
        target: Target address.
        rate: Datagrams per second [Hz].
        count: Number of datagrams; None: unlimited.
        clock: Clock.

    Returns:
        Number of sent datagrams.

    Raises:
        ConnectionLostError: The target cannot be reached. A missing receiver is no error.
    """
    clock = clock or SystemClock()
    loop, address = asyncio.get_running_loop(), (target.host, target.port)
    try:
        transport, _ = await loop.create_datagram_endpoint(_Sender, remote_addr=address)
    except OSError as error:
        raise ConnectionLostError(
            f"udp://{target.host}:{target.port}: expected a reachable address, found: "
            f"{error.strerror or error}"
        ) from None
    ticks, sent = Ticks(clock, rate), 0
    try:
        begin = clock.now()
        while count is None or sent < count:
            time = round(await ticks.next() - begin, 6)
            transport.sendto(json.dumps(row_of(robot.sample_at(time))).encode())
            sent += 1
        return sent
    finally:
        transport.close()


class _Sender(asyncio.DatagramProtocol):
    def error_received(self, exc: Exception) -> None:
        """Ignore a missing receiver: a later datagram may be received."""
