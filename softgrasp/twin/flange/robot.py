"""A simulated robot: where its joints and its flange are at any time, the same in every run."""

from __future__ import annotations

import math

from softgrasp.description.flange import FlangeSample
from softgrasp.description.robot_program import RobotProgram
from softgrasp.mechanics.dh import forward_kinematics
from softgrasp.mechanics.quintic import Quintic
from softgrasp.mechanics.transforms import position_of, quaternion_of
from softgrasp.twin.flange.clock import Clock, Ticks
from softgrasp.twin.flange.stream import FlangeStream


class SimulatedRobot:
    """A robot that goes through its program for ever; time 0 is when it starts.

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
        """Joint variables [rad or m] at a time [s]; up to 0 those of the first posture."""
        leg = self.program.move_time + self.program.rest_time
        within = math.fmod(max(time, 0.0), self.program.period)
        index = min(int(within / leg), len(self._moves) - 1)
        moved = max(within - index * leg - self.program.rest_time, 0.0)
        return tuple(self._moves[index].at(moved).tolist())

    def sample_at(self, time: float) -> FlangeSample:
        """Pose of the flange in the frame of the robot's base at a time [s].

        The quaternion is the one with w ≥ 0; a stream chooses the sign that goes on.
        """
        frame = forward_kinematics(self.program.arm.chain, self.joints_at(time))[-1]
        return FlangeSample(time=time, position=position_of(frame), quaternion=quaternion_of(frame))


class RobotStream(FlangeStream):
    """Samples of a simulated robot in this process, at an even rate, for ever."""

    def __init__(
        self, robot: SimulatedRobot, rate: float = 50.0, clock: Clock | None = None
    ) -> None:
        """Start the robot with the first sample.

        Args:
            robot: The robot.
            rate: Samples a second [Hz].
            clock: By which it waits.
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
