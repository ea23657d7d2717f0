"""The closed loop of one grasp: step, sample, judge, command, record."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Generator
from typing import TypeVar

import numpy as np

from softgrasp.mechanics.transforms import Array
from softgrasp.simulation.laws import free_actuators
from softgrasp.simulation.state import (
    ClosureLayout,
    ClosureState,
    Recording,
)
from softgrasp.simulation.target_plan import planned_targets

LOOK_AHEAD = 512
"""Physics steps whose targets are computed at once, and between two looks at the run: some 10 ms
of work, so that little is lost where the user stops it or where it diverges."""
FIRST_AHEAD = 64
"""Samples that are planned after a change of contact, which is often soon followed by another."""

Outcome = TypeVar("Outcome")


def driven(running: Generator[Array, int, Outcome], run_chunk: Callable[[Array], int]) -> Outcome:
    """Run what yields plans to its end, every plan by a stretch, and return what it returns."""
    try:
        plan = next(running)
        while True:
            plan = running.send(run_chunk(plan))
    except StopIteration as end:
        outcome: Outcome = end.value
        return outcome


class Stepper(ABC):
    """Advances a closure sample by sample.

    One sample is: step the physics from the sample before (not for the first), read the contact
    forces that this step computed, judge them, move the targets, record a row. As long as contact
    does not change the targets are known in advance, so that the loop itself is short.
    """

    def __init__(
        self,
        layout: ClosureLayout,
        state: ClosureState,
        recording: Recording,
        ahead: int = LOOK_AHEAD,
    ) -> None:
        """Take over a state.

        Args:
            layout: Constants of the loop.
            state: Counters and targets; changed.
            recording: Grows by one row a sample.
            ahead: Physics steps whose targets are computed at once.
        """
        self._layout, self._state, self.recording = layout, state, recording
        self.look_ahead = max(ahead // layout.substeps, 1)
        """Control samples that are best asked for at once."""
        self._path, self._led = np.zeros((0, 0)), slice(0)
        self._ahead = self.look_ahead
        self.loads = np.zeros((0, 3))
        """Gravity at the coming samples, as long as it is not over, (n, 3) [m/s²]."""
        self._replan()

    @abstractmethod
    def run_chunk(self, plan: Array) -> int:
        """Run the samples of a plan, one row of targets each, until contact changes.

        Returns:
            How many were finished. Where contact has changed, or a force is not a number, the
            next one is begun: its physics is done and its forces are judged, but the joints wait
            for new targets.
        """

    def advance(self, samples: int, idle_limit: int) -> bool:
        """Run up to ``samples`` control samples; True where it stopped because contact changed.

        Stops early, too, when no target has moved for ``idle_limit`` samples.
        """
        return driven(self.advancing(samples, idle_limit), self.run_chunk)

    def advancing(self, samples: int, idle_limit: int) -> Generator[Array, int, bool]:
        """The same where somebody else runs the stretches: yields plans, takes their outcome."""
        self.recording.reserve(samples)
        end = self.recording.rows + samples
        while True:
            available = min(end - self.recording.rows, self._samples_to_idle(idle_limit))
            plan = self._plan[self._used :][:available]
            before = self._state.in_contact.copy()
            done = yield plan
            self._keep(plan[:done], before)
            if done < len(plan):
                gave = self._backtrack()
                if gave or self._paces() != (self._free, self._touching):
                    self._ahead = FIRST_AHEAD
                    self._replan()
                row = self._plan[self._used :][:1]
                self._command(row[0])
                self._keep(row, self._state.in_contact)
                return True
            if self.recording.rows == end or self._state.idle >= idle_limit:
                return False
            if self._used == len(self._plan):
                self._ahead *= 2
                self._replan()

    def lead(self, first: int, path: Array) -> None:
        """Lead the drives from one on along targets of their own, whatever their rates.

        Args:
            first: Index of the first of them.
            path: Targets, one row a sample [rad, m or Pa], (samples, n); the last ones stay.
        """
        self._path, self._led = path, slice(first, first + path.shape[1])
        self._replan()

    def let_go(self) -> None:
        """Let all drives follow their rates again from where they are."""
        self._path = np.zeros((0, 0))
        self._replan()

    def _replan(self) -> None:
        """Plan the coming targets from the contacts as they are."""
        layout, state = self._layout, self._state
        self._free, self._touching = self._paces()
        limits = (layout.lower, layout.upper)
        self._ahead = min(self._ahead, self.look_ahead)
        increments = layout.increments
        if any(self._touching):
            increments = np.where(
                self._touching, layout.contact_rate_scale * increments, increments
            )
        plan = planned_targets(state.targets, increments, self._free, limits, self._ahead)
        ahead = self._path[: self._ahead]
        if len(ahead):
            plan[1 : 1 + len(ahead), self._led] = ahead
            plan[1 + len(ahead) :, self._led] = ahead[-1]
        self._plan, self._used = plan[1:], 0
        self._moving = _moving_rows(plan)

    def _paces(self) -> tuple[list[bool], list[bool]]:
        """Which drives may move, and which of them squeeze, slower than they closed."""
        layout, state = self._layout, self._state
        if layout.torque_limits is not None:
            return [not held for held in state.strained.reached], [False] * len(layout.stops)
        if layout.grip_force is None:
            return free_actuators(layout.stops, state.in_contact), [False] * len(layout.stops)
        free = free_actuators(layout.stops, state.gripping)
        return free, [not clear for clear in free_actuators(layout.stops, state.pressing)]

    def _backtrack(self) -> bool:
        """Take targets of drives that touch, and did not squeeze so far, back to near their joints.

        Returns:
            Whether there were any.
        """
        layout, state = self._layout, self._state
        if layout.grip_force is None:
            return False
        clear = free_actuators(layout.stops, state.light)
        new_touches = [d for d, off in enumerate(clear) if not (off or self._touching[d])]
        if new_touches:
            state.targets = self._backtracked_targets(new_touches)
        return bool(new_touches)

    def _backtracked_targets(self, actuators: list[int]) -> Array:
        """Targets after some drives have given way, (nd,)."""
        raise NotImplementedError("only a grasp with an engine state of its own knows them")

    def _samples_to_idle(self, idle_limit: int) -> int:
        """Samples until no target will have moved for ``idle_limit`` ones, at least one."""
        moving = self._moving - self._used
        idle = idle_limit if moving > 0 else idle_limit - self._state.idle
        return max(max(moving, 0) + idle, 1)

    def _keep(self, targets: Array, in_contact: list[int]) -> None:
        """Record samples that are finished: all but positions and forces, which it has already.

        Args:
            targets: The targets of these samples, (n, nj).
            in_contact: The contacts that held during them, (nb,).
        """
        recording, state, count = self.recording, self._state, len(targets)
        if count == 0:
            return
        first, end = recording.rows, recording.rows + count
        recording.time[first:end] = np.arange(first, end) * self._layout.control_period
        recording.control[first:end] = targets
        recording.in_contact[first:end] = in_contact
        recording.rows = end
        state.targets = targets[-1]
        moved = min(max(self._moving - self._used, 0), count)
        state.idle = count - moved if moved else state.idle + count
        self._used += count
        self._path, self.loads = self._path[count:], self.loads[count:]

    @abstractmethod
    def _command(self, targets: Array) -> None:
        """Give the joints their targets and record the row that ``stretch`` has begun."""


def _moving_rows(plan: Array) -> int:
    """Samples until all targets of a plan stand still; the first row is where they begin."""
    moves = (plan[1:] != plan[:-1]).ravel()[::-1]
    if not moves.any():
        return 0
    still = int(moves.argmax())
    return math.ceil((int(moves.size) - still) / int(plan.shape[1]))
