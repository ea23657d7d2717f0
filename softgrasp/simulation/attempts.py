"""Pushes and pulls of a hold test, each from one and the same closed state."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from functools import partial
from typing import NamedTuple, Protocol

import numpy as np

from softgrasp.description.base import Vec3
from softgrasp.description.task import Pull, SuccessCriterion
from softgrasp.mechanics.transforms import Array
from softgrasp.model import names
from softgrasp.model.deformable import node_bodies
from softgrasp.simulation.contacts import ContactReader
from softgrasp.simulation.finished_run import FinishedRun
from softgrasp.simulation.own_stepper import MujocoStepper
from softgrasp.simulation.pulling import (
    SLIP_TIME,
    Pulled,
    SlipWatch,
    friction_limit,
    pull_forces,
    pull_rate,
)
from softgrasp.simulation.sequencing import PhaseRows
from softgrasp.simulation.trials import Gone, Trial, direction_label, push_steps

Plans = Generator[Array, int, None]


class RunningGrasp(FinishedRun, Protocol):
    """A run that goes on."""

    def advancing(self, samples: int) -> Plans:
        """Go on for some control samples."""


class Attempt(NamedTuple):
    """A push or a pull that is to be made."""

    label: str
    plans: Plans
    """Runs it."""
    end: Callable[[PhaseRows], None]
    """Notes what came of it; its rows are those of the phase."""


class Attempts:
    """All pushes and pulls of a criterion, in its order."""

    def __init__(
        self,
        run: RunningGrasp,
        stepper: MujocoStepper,
        criterion: SuccessCriterion,
        contacts: ContactReader,
    ) -> None:
        """Remember the closed state.

        Args:
            run: The run, with the hand closed; its trials and pulls grow.
            stepper: Its stepper.
            criterion: The hold test.
            contacts: Reads the run's contacts.
        """
        self._run, self._stepper, self._criterion = run, stepper, criterion
        self._contacts = contacts
        self._closed, self._gone = stepper.saved(), Gone(criterion, run.model, run.data)
        self._friction = friction_limit(run.model, run.data, list(run.built.bodies))
        self._begin = run.recording.rows - 1
        self._bodies = node_bodies(run.model) or [run.model.body(names.OBJECT).id]
        self._masses = np.array(run.model.body_mass[self._bodies])

    def all(self) -> Iterator[Attempt]:
        """One after the other; each is to be run to its end before the next."""
        for load in self._criterion.directions:
            yield Attempt(
                f"push {direction_label(load)}",
                self._pushing(load),
                partial(self._pushed, load),
            )
        for pull in self._criterion.pulls:
            rate = pull_rate(self._run.model, pull, self._friction)
            watch = SlipWatch(max(round(SLIP_TIME / self._run.scene.control_period), 1))
            yield Attempt(
                f"pull {direction_label(pull.direction)}",
                self._pulling(pull, rate, watch),
                partial(self._pulled, pull, rate, watch),
            )

    def put_back(self) -> None:
        """Go back to the closed state."""
        self._stepper.put_back(self._closed)

    def _pushing(self, load: Vec3) -> Plans:
        self.put_back()
        for samples, fraction in push_steps(self._criterion, self._run.scene.control_period):
            self._load(fraction * np.outer(self._masses, load))
            yield from self._run.advancing(samples)
            if self._run.diverged or self._gone(self._run.data):
                return

    def _pushed(self, load: Vec3, phase: PhaseRows) -> None:
        contacts = sum(self._run.state.in_contact)
        self._run.trials.append(Trial(load, self._begin, phase.begin + 1, phase.end, contacts))

    def _pulling(self, pull: Pull, rate: float, watch: SlipWatch) -> Plans:
        self.put_back()
        run, weights = self._run, self._masses / self._masses.sum()
        for force in pull_forces(pull, rate, run.scene.control_period):
            self._load(np.outer(weights, force))
            yield from run.advancing(1)
            points = self._contacts.read(run.data, run.built.bodies)
            object_points = [point for point in points if point.object_name == names.OBJECT]
            if run.diverged or watch.check(object_points, run.recording.rows - 1):
                return

    def _pulled(self, pull: Pull, rate: float, watch: SlipWatch, phase: PhaseRows) -> None:
        first = phase.begin + 1
        self._run.pulls.append(
            Pulled(pull, self._begin, first, phase.end, self._friction, rate, watch.since)
        )

    def _load(self, forces: Array) -> None:
        self._run.data.xfrc_applied[self._bodies, :3] = forces
