"""What a result is made of: a run that has ended, in whichever engine."""

from __future__ import annotations

from collections import Counter
from typing import NamedTuple, Protocol

import mujoco

from softgrasp.description.scene import GraspScene
from softgrasp.model.scene import BuiltScene
from softgrasp.simulation.contacts import ContactPoint, OtherPoint
from softgrasp.simulation.pulling import Pulled
from softgrasp.simulation.sensing import Sensing
from softgrasp.simulation.sequencing import PhaseRows
from softgrasp.simulation.state import ClosureLayout, ClosureState, Recording
from softgrasp.simulation.told_contacts import ContactEvent
from softgrasp.simulation.trials import Trial


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
