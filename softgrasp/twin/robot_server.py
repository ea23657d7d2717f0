"""HTTP server of a simulated robot, in the format of Robot Web Services, by Tornado.

``RobotServer`` serves the pose of the flange, the joints and the health of a robot as JSON, to
clients on this machine.
"""

from __future__ import annotations

import json
import socket
from http import HTTPStatus
from typing import Any, Self

from tornado.httpserver import HTTPServer
from tornado.web import Application, RequestHandler

from softgrasp.errors import ConnectionLostError
from softgrasp.twin.description import RWS_PATH, RWS_PORT, require_loopback
from softgrasp.twin.flange_streams import (
    Clock,
    JsonDocument,
    SimulatedRobot,
    SystemClock,
    cartesian_document,
    joint_document,
)

MAX_HEAD = 8192
"""Largest length of a request line with headers [bytes]."""
HEAD_TIME = 10.0
"""Time for a request, including the wait for it [s]."""
CARTESIAN = RWS_PATH.format(unit="ROB_1")
JOINTS = CARTESIAN.replace("cartesian", "jointtarget")
HEALTH = "/health"


class RobotServer:
    """Serve the pose of the flange, the joints and the health of a robot.

    The robot starts with the server and is sampled ``rate`` times per second like a real
    controller: answers within one period are equal. The server answers GET and HEAD requests on
    persistent connections.
    """

    def __init__(
        self,
        robot: SimulatedRobot,
        *,
        host: str = "127.0.0.1",
        port: int = RWS_PORT,
        rate: float = 250.0,
        clock: Clock | None = None,
    ) -> None:
        """Set up the server; ``start`` opens the socket.

        Args:
            robot: Simulated robot.
            host: Loopback address.
            port: Port; 0 lets the operating system choose.
            rate: New poses per second [Hz].
            clock: Clock of the robot.

        Raises:
            DescriptionError: Other machines can reach the host.
        """
        require_loopback(host, RWS_PORT)
        self.robot, self.rate = robot, rate
        # the name may resolve to two addresses, and each would get another port
        self.host, self.port = "127.0.0.1" if host == "localhost" else host, port
        self._clock = clock or SystemClock()
        self._begin = self._clock.now()
        self._server: HTTPServer | None = None

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

    @property
    def _base(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"http://{host}:{self.port}"

    async def start(self) -> None:
        """Start to listen, and the robot; afterwards ``port`` is the actual port number.

        Raises:
            ConnectionLostError: Listening on the address failed.
        """
        try:
            family = socket.AF_INET6 if ":" in self.host else socket.AF_INET
            listening = socket.create_server((self.host, self.port), family=family)
        except (OSError, OverflowError) as error:
            raise ConnectionLostError(
                f"{self._base}: expected a free address, found: "
                f"{getattr(error, 'strerror', None) or error}"
            ) from None
        application = Application([("/.*", _Documents, {"owner": self})], log_function=_no_log)
        self._server = HTTPServer(
            application,
            idle_connection_timeout=HEAD_TIME,
            max_header_size=MAX_HEAD,
            max_body_size=0,
        )
        listening.setblocking(False)
        self._server.add_socket(listening)
        self.port = listening.getsockname()[1]
        self._begin = self._clock.now()

    async def close(self) -> None:
        """Stop listening and close all connections."""
        if self._server is not None:
            self._server.stop()
            await self._server.close_all_connections()

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(self, *error: object) -> None:
        await self.close()

    def document(self, path: str) -> JsonDocument | None:
        """Return the document at a path; None where there is none."""
        unit, time = f"{self._base}{CARTESIAN.removesuffix('cartesian')}", self.time
        if path == CARTESIAN:
            return cartesian_document(self.robot.sample_at(time), unit)
        if path == JOINTS:
            return joint_document(self.robot.joints_at(time), time, unit)
        if path == HEALTH:
            program = self.robot.program
            return {"status": "ok", "arm": program.arm.name, "program": program.name, "time": time}
        return None


def _no_log(_handler: RequestHandler) -> None:
    """Log no request."""


class _Documents(RequestHandler):
    """Answer the requests of a client."""

    def initialize(self, owner: RobotServer) -> None:
        self.owner = owner

    def set_default_headers(self) -> None:
        self.set_header("Content-Type", "application/json")
        self.set_header("Cache-Control", "no-store")

    def write_error(self, status_code: int, **_: Any) -> None:
        """Answer a request with another method than GET and HEAD."""
        message = f"expected GET or HEAD, found {self.request.method} ({status_code})"
        self.finish(json.dumps({"error": message}))

    def get(self) -> None:
        document = self.owner.document(self.request.path)
        if document is None:
            self.set_status(HTTPStatus.NOT_FOUND)
            document = {"error": f"no document at {self.request.path[:120]}"}
        self.finish(json.dumps(document, allow_nan=False))

    head = get
