"""Interface of a finished run, from which a result is built, and records of its events.

``FinishedRun`` is the interface of a run that has ended, ``EventLog`` its log of contact events:
points and forces are read when events are first used.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any, Literal, NamedTuple, Protocol

import mujoco

from softgrasp.description.base import Description, Vec3
from softgrasp.description.scene import GraspScene
from softgrasp.description.task import Pull
from softgrasp.model import names
from softgrasp.model.scene import CompiledScene
from softgrasp.sim.contacts import BodyContactState, ContactPoint, OtherPoint, merge, on_hardest
from softgrasp.sim.control_state import ClosureLayout, ClosureState, Peaks, Recording
from softgrasp.sim.laws import ESTABLISHED, LOST, TOUCHING
from softgrasp.sim.load_balance import LoadRecord
from softgrasp.sim.motion_plan import PhaseRows
from softgrasp.sim.sensors import Sensing
from softgrasp.sim.stiffness_feedback import StiffnessFeedback
from softgrasp.sim.suction import Suction

EVENT_KINDS = ((TOUCHING, "touching"), (ESTABLISHED, "established"), (LOST, "lost"))
Points = Callable[[], list[ContactPoint]]
"""Reads the contacts of a sample."""


class EngineRecord(NamedTuple):
    """The physics engine of a run."""

    name: str
    version: str
    integrator: str
    timestep: float
    """Time step [s]."""


class ContactEvent(Description):
    """A change of contact between a body of the hand and objects, at a control sample.

    A body that touches several objects has one event, of the one that it presses hardest.
    """

    time_s: float
    body: str
    finger: str
    """Empty for the palm."""
    phalanx: str
    """Empty for the palm."""
    kind: Literal["touching", "established", "lost"]
    object: str | None = None
    """Name of the object; of a lost contact the last one. None in results without it."""
    point_m: Vec3 | None = None
    """Centre of pressure in the world; None for a lost contact without a point."""
    normal: Vec3 | None = None
    """Unit normal into the object."""
    normal_force_N: float = 0.0
    friction_force_N: float = 0.0
    slip_speed_m_s: float = 0.0
    separation_m: float | None = None
    """Negative where the bodies overlap."""


class PushRecord(NamedTuple):
    """Direction, rows and outcome of a push that was applied."""

    acceleration: Vec3
    """World frame [m/s²]."""
    begin: int
    """Row of the closed state from which all tests began."""
    first: int
    """First row of the push."""
    end: int
    """Last row of the push."""
    contacts: int
    """Bodies in contact at its end."""


class PullRecord(NamedTuple):
    """Direction, rows and outcome of a pull that was applied."""

    pull: Pull
    begin: int
    """Row of the closed state from which all tests began."""
    first: int
    """First row of the pull."""
    end: int
    """Last row of the pull."""
    friction: float
    """Sum of µ·N in the closed state [N]."""
    rate: float
    """Rate of the force [N/s]."""
    slipped: int | None
    """Row in which all contacts began to slip; None if they did not."""


class FinishedRun(Protocol):
    """Interface of a run that has ended: its time series, events and final state."""

    built: CompiledScene
    scene: GraspScene
    model: mujoco.MjModel
    """MuJoCo model of the scene, also for runs in other engines."""
    layout: ClosureLayout
    state: ClosureState
    engine: EngineRecord
    engine_warnings: Counter[str]
    diverged: bool
    refusal: str
    """Why the hand cannot close, where it was not moved; else empty."""
    finished: bool
    """Whether it came to its end: neither diverged nor interrupted."""
    remarks: tuple[str, ...]
    """What the engine notes about the run, besides its warnings."""
    sensing: Sensing | None
    """Its sensors; None without sensors."""
    suction: Suction | None
    """Its suction cups; None without cups, and in other engines than MuJoCo."""
    hold_from: int | None
    """Row at which the hold test, or the lift, began."""
    phases: list[PhaseRows]
    """Phases of the run."""
    trials: list[PushRecord]
    """Pushes of the hold test."""
    pulls: list[PullRecord]
    """Pulls of the hold test."""

    closing_others: list[OtherPoint]
    """Contacts other than of the hand on an object at the end of the closure, where known."""

    @property
    def loads(self) -> list[LoadRecord]:
        """Forces that bore the object at the ends of loaded parts, where they are known."""

    @property
    def stiffness(self) -> StiffnessFeedback | None:
        """Contacts that acted; None in other engines than MuJoCo."""

    @property
    def peaks(self) -> Peaks | None:
        """Largest forces in any physics step; None in engines that report control samples only."""

    @property
    def data(self) -> mujoco.MjData:
        """MuJoCo state at the end of the run."""

    @property
    def recording(self) -> Recording:
        """Time series, one row per control sample."""

    @property
    def events(self) -> list[ContactEvent]:
        """Changes of contact."""

    def contact_points(self) -> list[ContactPoint]:
        """Read the contacts with objects at the end."""

    def other_points(self) -> list[OtherPoint]:
        """Read the contacts at the end other than the hand on objects, where they are known."""


def still_closing(run: FinishedRun) -> bool:
    """Whether targets of the fingers moved at the end of the closure, or of a run without more."""
    if run.hold_from is None:
        return run.state.idle == 0
    end, fingers = max(run.hold_from, 1), len(run.scene.actuators)
    before, last = run.recording.control[end - 1 : end + 1, :fingers]
    return bool((before != last).any())


class _Entry(NamedTuple):
    time: float
    changes: Sequence[int]
    points: Points


class EventLog:
    """Records changes of contact during a run and converts them to events on demand."""

    def __init__(self, built: CompiledScene) -> None:
        """Start with an empty log.

        Args:
            built: The scene.
        """
        self._built = built
        self._parts = names.parts(built.scene.hand)
        self._called = names.display_names(built.scene)
        self._last: dict[str, str] = {}
        """Object that each body touched last."""
        self._entries: list[_Entry] = []
        self._events_read: list[ContactEvent] = []
        self._read = 0

    def record(self, time: float, changes: Sequence[int], points: Points) -> None:
        """Log the changes of one sample.

        Args:
            time: Time of the sample [s].
            changes: Bits of ``laws.debounce`` for each body, (nb,).
            points: Reads the contacts of the sample.
        """
        self._entries.append(_Entry(time, tuple(changes), points))

    @property
    def events(self) -> list[ContactEvent]:
        """All events so far, in their order."""
        for entry in self._entries[self._read :]:
            self._events_read += self._events(entry)
        self._read = len(self._entries)
        return self._events_read

    def _events(self, entry: _Entry) -> list[ContactEvent]:
        points, parts = entry.points(), self._parts
        events = []
        for body, change in zip(self._built.bodies, entry.changes, strict=True):
            if change == 0:
                continue
            finger, phalanx = parts.get(body, ("", ""))
            body_points = on_hardest([point for point in points if point.body == body])
            state = merge(body_points)
            if body_points:
                self._last[body] = self._called[body_points[0].object_name]
            fields: dict[str, Any] = {"time_s": entry.time, "body": body}
            fields["object"] = self._last.get(body, self._called[names.OBJECT])
            fields |= {"finger": finger, "phalanx": phalanx} | _numbers(state)
            events += [
                ContactEvent.model_validate(fields | {"kind": kind})
                for bit, kind in EVENT_KINDS
                if change & bit
            ]
        return events


def _numbers(state: BodyContactState | None) -> dict[str, Any]:
    if state is None:
        return {}
    return {
        "point_m": state.point,
        "normal": state.normal,
        "normal_force_N": state.normal_force,
        "friction_force_N": state.friction_force,
        "slip_speed_m_s": state.slip_speed,
        "separation_m": state.separation,
    }
