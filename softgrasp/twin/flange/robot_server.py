"""A simulated robot on the wire: in the way of Robot Web Services, and by UDP."""

from __future__ import annotations

import asyncio
import json

from softgrasp.description.flange import RWS_PATH, RWS_PORT, UdpFlange
from softgrasp.errors import ConnectionLostError
from softgrasp.formats.flange_file import row_of
from softgrasp.twin.flange.clock import Clock, SystemClock, Ticks
from softgrasp.twin.flange.json_server import JsonServer, ServerLimits
from softgrasp.twin.flange.robot import SimulatedRobot
from softgrasp.twin.flange.rws import Document, cartesian_document, joint_document

UNIT = "ROB_1"
CARTESIAN = RWS_PATH.format(unit=UNIT)
JOINTS = CARTESIAN.replace("cartesian", "jointtarget")
HEALTH = "/health"


class RobotServer(JsonServer):
    """Tells the pose of the flange, the joints and whether it is well.

    The robot starts with the server, and is looked at ``rate`` times a second as a real
    controller does: answers within one tick are equal.
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
        """Take the robot; ``start`` makes the socket.

        Args:
            robot: The robot.
            host: Address to listen on.
            port: Port; 0 leaves the choice to the operating system.
            rate: New poses a second [Hz].
            token: What clients have to show; empty: nothing.
            clock: By which the robot moves.
            limits: What clients can take.

        Raises:
            DescriptionError: The address can be reached by other machines, and there is no token;
                or the token is too short.
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
        """Time of the robot [s]: that of its last tick."""
        # a millionth of a tick for rounding: a tick that is now has come
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

    def _document(self, path: str) -> Document | None:
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
    """Send the poses of a robot by UDP, one JSON object a datagram, from its time 0 on.

    Args:
        robot: The robot.
        target: Where to.
        rate: Datagrams a second [Hz].
        count: How many; for ever where it is not given.
        clock: By which it waits.

    Returns:
        How many were sent.

    Raises:
        ConnectionLostError: There is no way to the target. That nobody listens there is none.
    """
    clock = clock or SystemClock()
    loop, address = asyncio.get_running_loop(), (target.host, target.port)
    try:
        transport, _ = await loop.create_datagram_endpoint(_Sender, remote_addr=address)
    except OSError as error:
        raise ConnectionLostError(
            f"udp://{target.host}:{target.port}: expected a way there, found: "
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
        """Nobody listens: the next datagram may be heard."""
