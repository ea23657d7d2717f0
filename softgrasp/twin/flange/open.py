"""From the description of a source to its stream."""

from __future__ import annotations

import os
from pathlib import Path

from softgrasp.description.flange import FileFlange, FlangeSource, HttpFlange, UdpFlange
from softgrasp.errors import DescriptionError
from softgrasp.formats.flange_file import load_flange_samples
from softgrasp.twin.flange.clock import Clock
from softgrasp.twin.flange.http_stream import HttpStream
from softgrasp.twin.flange.replay import ReplayStream
from softgrasp.twin.flange.robot import RobotStream, SimulatedRobot
from softgrasp.twin.flange.stream import FlangeStream
from softgrasp.twin.flange.udp_stream import UdpStream


def open_flange(
    source: FlangeSource, *, directory: Path | None = None, clock: Clock | None = None
) -> FlangeStream:
    """Open the stream of a source, for ``async with`` and, inside, ``async for``.

    Args:
        source: What gives the poses.
        directory: Where a file lies that is named without a whole path.
        clock: By which the stream waits; that of the machine where none is given.

    Raises:
        DescriptionError: A file of poses is wrong, or the environment lacks the named token.
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
