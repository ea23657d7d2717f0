"""Evaluation of an object that the hand puts down: how it was let go, and where it rests.

It counts from the start of the release, or of the guarded move right before it, to the end of the
run. ``outcome`` compares it with the limits of the phase.
"""

from __future__ import annotations

import math

import numpy as np

from softgrasp.description.base import Description, Vec3
from softgrasp.description.geometry import Sphere
from softgrasp.description.task import MovePhase, ReleasePhase
from softgrasp.mechanics.transforms import Array, transform
from softgrasp.sim.load_balance import LoadBalance, load_balance
from softgrasp.sim.motion_plan import PhaseRows, put_down_row
from softgrasp.sim.run_record import FinishedRun

MOVING_SPEED = 1e-3
"""Speed above which an object that was put down does not rest [m/s]."""
REST_SAMPLES = 50
"""Last control samples over which that speed is the mean."""


class PutDown(Description):
    """How an object was let go, and where and how it rests at the end; world frame."""

    start_s: float
    """Time at which the hand began to put it down; a hold test ends here."""
    release_s: float | None = None
    """Time of its last contact with the hand; None where they touch at the end."""
    release_speed_m_s: float | None = None
    """Its speed right after that; None where they touch at the end."""
    fall_m: float
    """Distance along gravity from the start of the release to the end."""
    tilt_rad: float
    """Angle at the end of the axis of the object that was vertical at the start of the run; 0 of a
    sphere, which has no upright position."""
    position_m: Vec3
    """Centre of mass at the end."""
    displacement_m: Vec3
    """Displacement since the start of the run."""
    speed_m_s: float
    """Mean speed at the end."""
    stopped_by_N: float | None = None
    """Force at which the motion down stopped; None where it came to its end, or without one."""
    path_m: float | None = None
    """Length of the whole motion down; None without one."""
    balance: LoadBalance | None = None
    """What bears the object at the end."""
    max_fall_m: float
    max_tilt_rad: float
    """Limits of the phase."""

    @property
    def failure(self) -> str:
        """Why the object does not rest where it was put down; empty where it does."""
        if self.release_s is None:
            return "the hand still touches it"
        if self.fall_m > self.max_fall_m:
            fall, limit = 1e3 * self.fall_m, 1e3 * self.max_fall_m
            fell = f"it fell by {fall:.3g} mm, more than the {limit:.3g} mm allowed"
            if self.path_m is None or self.stopped_by_N is not None:
                return fell
            return f"{fell}, as nothing was met on the {1e3 * self.path_m:.3g} mm down (depth)"
        if self.tilt_rad > self.max_tilt_rad:
            tilt, limit = math.degrees(self.tilt_rad), math.degrees(self.max_tilt_rad)
            return f"it tilted by {tilt:.3g}°, more than the {limit:.3g}° allowed"
        if self.speed_m_s > MOVING_SPEED:
            return f"it still moves at {1e3 * self.speed_m_s:.2g} mm/s"
        return ""

    @property
    def sentence(self) -> str:
        """Where it rests, how upright, and how fast it was let go."""
        x, y, z = (f"{round(1e3 * part, 2) + 0.0:g}" for part in self.position_m)
        speed = 1e3 * (self.release_speed_m_s or 0.0)
        return (
            f"it rests at ({x}, {y}, {z}) mm, tilted by {math.degrees(self.tilt_rad):.2g}°, let go "
            f"at {speed:.2g} mm/s, after which it sank by {1e3 * max(self.fall_m, 0.0):.2g} mm"
        )


def put_down(
    run: FinishedRun, position: Array, quaternion: Array, pressed: Array
) -> PutDown | None:
    """Evaluate how the object was put down; None where it was not, or the run did not end.

    Args:
        run: The run.
        position: Centre of mass of the object to be grasped over time, (T, 3) [m].
        quaternion: Its orientation wxyz, (T, 4).
        pressed: Normal force of each body of the hand on it, (T, nb) [N].
    """
    start = put_down_row(run.phases)
    if start is None or not run.finished:
        return None
    index = next(i for i, part in enumerate(run.phases) if isinstance(part.phase, ReleasePhase))
    part, before = run.phases[index], run.phases[index - 1]
    assert isinstance(part.phase, ReleasePhase)  # by the line above
    times = run.recording.time
    touched = np.flatnonzero((pressed[part.begin :] > 0.0).any(axis=1))
    last = part.begin + (int(touched[-1]) if touched.size else 0)
    released = last < len(position) - 1
    fallen = position[-1] - position[part.begin]
    record = next((load for load in reversed(run.loads) if load.row == len(position) - 1), None)
    late = min(REST_SAMPLES, len(position) - 1 - part.begin)
    return PutDown(
        start_s=float(times[start]),
        release_s=float(times[last]) if released else None,
        release_speed_m_s=_speed(times, position, last, last + 1) if released else None,
        fall_m=float(fallen @ _down(run)),
        tilt_rad=0.0 if isinstance(run.scene.object.shape, Sphere) else _tilt(quaternion),
        position_m=tuple(position[-1].tolist()),
        displacement_m=tuple((position[-1] - position[0]).tolist()),
        speed_m_s=_speed(times, position, len(position) - 1 - late, len(position) - 1),
        stopped_by_N=before.stopped_by if before.begin == start else None,
        path_m=_length(before) if before.begin == start else None,
        balance=None if record is None else load_balance(run.model, run.scene, record),
        max_fall_m=part.phase.max_fall,
        max_tilt_rad=part.phase.max_tilt,
    )


def _length(part: PhaseRows) -> float:
    assert isinstance(part.phase, MovePhase)  # a guarded one
    return float(np.linalg.norm(part.phase.displacement))


def _speed(times: Array, position: Array, first: int, last: int) -> float:
    """Compute the mean speed between two rows [m/s]."""
    distance = float(np.linalg.norm(position[last] - position[first]))
    return distance / float(times[last] - times[first])


def _down(run: FinishedRun) -> Array:
    """Return the direction of gravity; −z where there is none."""
    gravity = np.array(run.scene.gravity)
    size = float(np.linalg.norm(gravity))
    return gravity / size if size else np.array([0.0, 0.0, -1.0])


def _tilt(quaternion: Array) -> float:
    first, last = (transform(quaternion=quaternion[row])[:3, :3] for row in (0, -1))
    return float(np.arccos(np.clip((last @ first.T)[2, 2], -1.0, 1.0)))
