"""Simulated robot that reports its flange pose; opening of flange streams.

``SimulatedRobot`` repeats a program without state: the same time always gives the same pose.
``robot_server`` serves its poses over HTTP. ``open_flange`` opens the stream of any described
source.
"""

from __future__ import annotations

import math
import os
from pathlib import Path

from softgrasp.description import RobotProgram
from softgrasp.errors import DescriptionError
from softgrasp.mechanics import Quintic, forward_kinematics, position_of, quaternion_of
from softgrasp.twin.description import (
    FileFlange,
    FlangeSample,
    FlangeSource,
    HttpFlange,
)
from softgrasp.twin.files import load_flange_samples
from softgrasp.twin.flange_streams import (
    Clock,
    FlangeStream,
    HttpStream,
    ReplayStream,
    Ticks,
)


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
