"""``softgrasp twin robot``: a simulated robot that tells where its flange is."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import TYPE_CHECKING, Annotated

import typer

from softgrasp.cli import terminal

if TYPE_CHECKING:
    from softgrasp.description.flange import UdpFlange
    from softgrasp.twin.flange.robot_server import RobotServer

TOKEN_VARIABLE = "SOFTGRASP_TWIN_TOKEN"


def robot(
    host: Annotated[
        str, typer.Option(help="Address to listen on; one that others reach needs a token.")
    ] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port; 0: any that is free.")] = 8610,
    rate: Annotated[
        float, typer.Option(min=0.1, max=1000.0, help="New poses a second [Hz].")
    ] = 250.0,
    token: Annotated[
        str,
        typer.Option(envvar=TOKEN_VARIABLE, help="What clients have to show as a bearer token."),
    ] = "",
    udp: Annotated[
        str, typer.Option(metavar="HOST:PORT", help="Send the poses there by UDP, too.")
    ] = "",
    program: Annotated[
        str, typer.Option(metavar="NAME|FILE", help="What the robot does.")
    ] = "pick_and_place",
    duration: Annotated[
        float | None, typer.Option(min=0.0, help="End after so many seconds; else with Ctrl-C.")
    ] = None,
) -> None:
    """Simulate a robot that tells the pose of its flange.

    It answers over HTTP in the way of Robot Web Services: the pose at
    /rw/motionsystem/mechunits/ROB_1/cartesian, the joints at …/jointtarget, and /health. The
    robot goes through its program for ever.
    """
    from softgrasp.formats.robot_program_file import load_robot_program
    from softgrasp.twin.flange.robot import SimulatedRobot
    from softgrasp.twin.flange.robot_server import RobotServer

    target = _target(udp)
    simulated = SimulatedRobot(load_robot_program(program))
    server = RobotServer(simulated, host=host, port=port, rate=rate, token=token)
    asyncio.run(_run(server, target, duration))


async def _run(server: RobotServer, target: UdpFlange | None, duration: float | None) -> None:
    from softgrasp.twin.flange.robot_server import send_poses

    async with server:
        arm = server.robot.program.arm.name
        terminal.note(f"the robot '{arm}' tells its pose at {server.url}; Ctrl-C ends it")
        with suppress(TimeoutError):
            async with asyncio.timeout(duration):
                if target is None:
                    await asyncio.Event().wait()
                else:
                    await send_poses(server.robot, target, rate=server.rate)


def _target(text: str) -> UdpFlange | None:
    from softgrasp.description.flange import UdpFlange
    from softgrasp.errors import DescriptionError

    if not text:
        return None
    host, _, port = text.rpartition(":")
    if not host or not port.isascii() or not port.isdigit() or port.strip("0") == "":
        raise DescriptionError(f"--udp: expected HOST:PORT such as 127.0.0.1:8611, found '{text}'")
    try:
        return UdpFlange(host=host.strip("[]"), port=int(port))
    except DescriptionError as error:
        raise DescriptionError(f"--udp: {error}") from None
