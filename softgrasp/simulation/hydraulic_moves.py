"""What a change of the torques did to the end of an arm: settling, overshoot, speed."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from softgrasp.mechanics.hydraulic.recording import TipRecording, settling_times
from softgrasp.mechanics.hydraulic.torques import TorqueTable
from softgrasp.mechanics.transforms import Array
from softgrasp.simulation.hydraulic_run import ArmRun

BAND = 0.02
"""Part of its way within which an end has settled."""
STILL = 1e-6
"""Shorter ways are none [m]."""
QUIET = 0.1
"""Who settles in this last part of the time has not been seen to settle."""


@dataclass(frozen=True)
class ArmMove:
    """The end of the arm from one change of the torques to the next.

    Args:
        begin: When the torques begin to change [s].
        command_end: When they stop [s].
        end: When they change again, or the run ends [s].
        start: The end of the arm at the beginning, in the base frame [m].
        place: The end of the arm at the end [m].
        settling: From the beginning until it stays within 2 % of its way [s]; None where it was
            not seen to settle.
        overshoot: Farthest beyond its last place along its way, over the way [–].
        top_speed: Of the end of the arm [m/s].
        top_speed_time: When it is that fast [s].
    """

    begin: float
    command_end: float
    end: float
    start: tuple[float, float, float]
    position: tuple[float, float, float]
    settling: float | None
    overshoot: float
    top_speed: float
    top_speed_time: float

    @property
    def distance(self) -> float:
        """From its first to its last place [m]."""
        return math.dist(self.start, self.position)


def arm_moves(run: ArmRun) -> list[ArmMove]:
    """One a change of the torques that the run has seen, of the end of the arm."""
    return tip_moves(run.torques, run.recording)


def tip_moves(torques: TorqueTable, recording: TipRecording, section: int = -1) -> list[ArmMove]:
    """One a change of the torques that a recording has seen.

    Args:
        torques: What moved it.
        recording: Of either model.
        section: Whose end is looked at; that of the last section is the end of the arm.
    """
    last = float(recording.times[-1])
    changes = [change for change in torques.changes if change[0] < last]
    ends = [*(begin for begin, _ in changes), last][1:]
    tip, speeds = recording.ends[:, section], recording.speeds[:, section]
    return [
        _move(recording.times, tip, speeds, (begin, min(stop, last), end))
        for (begin, stop), end in zip(changes, ends, strict=True)
    ]


def _move(times: Array, tip: Array, speeds: Array, span: tuple[float, float, float]) -> ArmMove:
    begin, stop, end = span
    first, last = np.searchsorted(times, [begin - 1e-9, end + 1e-9])
    first, last = min(int(first), len(times) - 2), max(int(last), int(first) + 2)
    times, tip, speeds = (values[first:last] for values in (times, tip, speeds))
    fastest = int(np.argmax(speeds))
    return ArmMove(
        begin=begin,
        command_end=stop,
        end=float(times[-1]),
        start=_point(tip[0]),
        position=_point(tip[-1]),
        settling=_settling(times, tip),
        overshoot=_overshoot(tip),
        top_speed=float(speeds[fastest]),
        top_speed_time=float(times[fastest]),
    )


def _settling(times: Array, tip: Array) -> float | None:
    if np.linalg.norm(tip[-1] - tip[0]) < STILL:
        return None
    after = float(settling_times(TipRecording(times, tip[:, None]), BAND)[0])
    late = times[-1] - QUIET * (times[-1] - times[0])
    return None if after > late else after - float(times[0])


def _overshoot(tip: Array) -> float:
    travel = tip - tip[0]
    square = float(travel[-1] @ travel[-1])
    return float((travel @ travel[-1]).max() / square - 1.0) if square > STILL**2 else 0.0


def _point(position: Array) -> tuple[float, float, float]:
    x, y, z = position.tolist()
    return (x, y, z)
