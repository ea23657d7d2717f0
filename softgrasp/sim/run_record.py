"""What a result is made of: a run that has ended, in whichever engine."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, Protocol

import mujoco

from softgrasp.description.scene import GraspScene
from softgrasp.model import names
from softgrasp.model.scene import BuiltScene
from softgrasp.sim.closure_law import ESTABLISHED, LOST, TOUCHING
from softgrasp.sim.contacts import BodyContactState, ContactPoint, OtherPoint, merged, on_hardest
from softgrasp.sim.controller import ClosureLayout, ClosureState, Recording
from softgrasp.sim.hold_test import Pulled, Trial
from softgrasp.sim.motion_plan import PhaseRows
from softgrasp.sim.result import ContactEvent
from softgrasp.sim.sensors import Sensing


class Engine(NamedTuple):
    """What computed the physics of a run."""

    name: str
    version: str
    integrator: str
    timestep: float
    """[s]"""


class FinishedRun(Protocol):
    """The rows, the events and the end of a run."""

    built: BuiltScene
    scene: GraspScene
    model: mujoco.MjModel
    """The scene in MuJoCo, in whose terms every run is told."""
    layout: ClosureLayout
    state: ClosureState
    engine: Engine
    engine_warnings: Counter[str]
    diverged: bool
    finished: bool
    """Whether it came to its own end: neither diverged nor interrupted."""
    sensing: Sensing | None
    """Its sensors; None where there are none."""
    hold_from: int | None
    """Row at which the hold test, or the lift, began."""
    phases: list[PhaseRows]
    """What it has gone through."""
    trials: list[Trial]
    """Directions of the hold test that were tried."""
    pulls: list[Pulled]
    """Pulls of the hold test."""

    @property
    def data(self) -> mujoco.MjData:
        """The state at the end."""

    @property
    def recording(self) -> Recording:
        """One row a control sample."""

    @property
    def events(self) -> list[ContactEvent]:
        """Contacts that began or ended."""

    def contact_points(self) -> list[ContactPoint]:
        """Contacts with objects at the end."""

    def other_points(self) -> list[OtherPoint]:
        """Contacts at the end in which the hand touches no object, where they are known."""


# --------------------
# Which contacts began and ended in a run: when, where, and with which forces.


EVENT_KINDS = ((TOUCHING, "touching"), (ESTABLISHED, "established"), (LOST, "lost"))

Points = Callable[[], list[ContactPoint]]
"""Reads the contacts of a sample; called when they are asked for."""


class _Entry(NamedTuple):
    time: float
    changes: Sequence[int]
    points: Points


class EventLog:
    """Notes changes of contact while a run lasts, and tells them as events when it is asked."""

    def __init__(self, built: BuiltScene) -> None:
        """Start with an empty log.

        Args:
            built: The scene.
        """
        self._built = built
        self._parts = names.parts(built.scene.hand)
        self._called = names.display_names(built.scene)
        self._last: dict[str, str] = {}
        """The object that each body touched last."""
        self._entries: list[_Entry] = []
        self._events_read: list[ContactEvent] = []
        self._read = 0

    def record(self, time: float, changes: Sequence[int], points: Points) -> None:
        """Keep what changed at one sample.

        Args:
            time: Of the sample [s].
            changes: Bits of ``laws``, one number a body, (nb,).
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
            state = merged(body_points)
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
