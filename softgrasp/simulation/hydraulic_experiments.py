"""The experiments of paper 003 as data: which motor has which torque, and when.

Motors count from 1, three a section from the base outwards, as the paper does. All experiments are
of one arm with one set of parameters.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from softgrasp.errors import DescriptionError, did_you_mean
from softgrasp.mechanics.hydraulic.torques import TorqueTable

MOTORS, PER_SECTION = 6, 3
"""Motors of the paper's arm, and of one section."""
STEP_RISE = 1e-3
"""A step takes this long [s]: shorter than the steps of the drives, which see a jump."""
LIMIT, STEP = 2.5, 1.5
"""Torques of a motor at its limit (1 MPa), and in the paper's steps [N·m]."""
STEADY = (0.5, 1.0, 1.5, 2.0)
"""Torques of the steady shapes [N·m]."""


@dataclass(frozen=True)
class Change:
    """Torques that grow together.

    Args:
        motors: Which, from 1.
        begin: When they begin to grow [s].
        rise: How long they grow [s].
        torque: By how much [N·m].
    """

    motors: tuple[int, ...]
    begin: float
    rise: float = STEP_RISE
    torque: float = STEP


@dataclass(frozen=True)
class Experiment:
    """What all experiments have.

    Args:
        name: On the command line, and of its files.
        title: Its heading.
        source: Section and figure of the paper.
        note: What was not clear in the paper, or is ours.
    """

    name: str
    title: str
    source: str
    note: str


@dataclass(frozen=True)
class Rests(Experiment):
    """Where the arm comes to rest under constant torques.

    Args:
        cases: The motors of each rest, and the torque that each of them has [N·m].
        sections: How many the arm has, from the base.
    """

    cases: tuple[tuple[tuple[int, ...], float], ...]
    sections: int = 2

    @property
    def torques(self) -> np.ndarray[tuple[int, ...], np.dtype[np.float64]]:
        """Of all motors [N·m], (cases, motors)."""
        torques = np.zeros((len(self.cases), PER_SECTION * self.sections))
        for row, (motors, torque) in zip(torques, self.cases, strict=True):
            row[[motor - 1 for motor in motors]] = torque
        return torques


@dataclass(frozen=True)
class Motion(Experiment):
    """How the arm moves, from the straight arm at rest.

    Args:
        changes: Of the torques.
        duration: [s]
    """

    changes: tuple[Change, ...]
    duration: float

    @property
    def torques(self) -> TorqueTable:
        """Of all motors in time."""
        corners = {0.0, self.duration}
        for change in self.changes:
            corners |= {change.begin, change.begin + change.rise}
        times, torques = np.array(sorted(corners)), np.zeros((len(corners), MOTORS))
        for change in self.changes:
            fraction = np.clip((times - change.begin) / change.rise, 0.0, 1.0)
            torques[:, [motor - 1 for motor in change.motors]] += change.torque * fraction[:, None]
        return TorqueTable(times, torques)

    @property
    def ramped(self) -> bool:
        """Whether any torque grows slower than in a step."""
        return any(change.rise > STEP_RISE for change in self.changes)

    def at_once(self) -> Motion:
        """The same with steps in place of ramps."""
        return replace(self, changes=tuple(replace(c, rise=STEP_RISE) for c in self.changes))


@dataclass(frozen=True)
class Reach(Experiment):
    """Where one section ends over all pressures.

    Args:
        levels: Pressures of each chamber, from none to the limit.
    """

    levels: int


@dataclass(frozen=True)
class Refinement(Experiment):
    """How the rest of both models changes with finer sections.

    Args:
        torques: Of all motors [N·m].
        links: Cells a section of the chain, each twice the one before.
        segments: Arcs a section of the lumped model, each twice the one before.
    """

    torques: tuple[float, ...]
    links: tuple[int, ...]
    segments: tuple[int, ...]


AnyExperiment = Rests | Motion | Reach | Refinement

_steady = partial(Rests, note="Torques that stand still; where both models come to rest.")

EXPERIMENTS: tuple[AnyExperiment, ...] = (
    Rests(
        "bends", "Bends of one section at its limit", "sec. 3.1, Fig 5b",
        "The printed arc of 0.473 m does not go with 0.136 m and 168°, which make 0.3988 m.",
        (((2, 3), LIMIT), ((1,), LIMIT)), sections=1,
    ),
    Reach(
        "workspace", "Workspace of one section", "sec. 3.1, Fig 5a",
        "Five pressures of each chamber from 0 to 1 MPa, in all combinations.", levels=5,
    ),
    Rests(
        "limit-posture", "Limit postures of two sections", "sec. 3.1, Fig 5c",
        "The paper's words, the limit in every chamber, are the straight arm; beside it the six "
        "postures in which both sections bend at their limit to the same side.",
        tuple((motors, LIMIT) for motors in (
            (1, 2, 3, 4, 5, 6), (1, 5, 6), (2, 4, 6), (3, 4, 5), (2, 3, 4), (1, 3, 5), (1, 2, 6),
        )),
    ),
    _steady(
        "steady-1", "Steady shapes, first section driven", "sec. 4.2, Fig 10 and 11b",
        cases=tuple(((1,), torque) for torque in STEADY),
    ),
    _steady(
        "steady-4", "Steady shapes, second section driven", "sec. 4.2, Fig 10 and 11a",
        cases=tuple(((4,), torque) for torque in STEADY),
    ),
    Motion(
        "step-one-way", "Step, both sections to one side", "sec. 3.2.1, Fig 6",
        "1.5 N·m on motors 1, 5 and 6 at once.", (Change((1, 5, 6), 0.0),), 2.0,
    ),
    Motion(
        "step-two-ways", "Step, the sections against each other", "sec. 3.2.2, Fig 7",
        "1.5 N·m on motors 1 and 4 at once, as the caption says; the text says 1, 5 and 6 again.",
        (Change((1, 4), 0.0),), 2.0,
    ),
    Motion(
        "ramps", "Ramps to one side", "sec. 3.2.3, Fig 8",
        "1.5 (t − 2) N·m on motors 5 and 6, 1.5 (t − 6) N·m on motor 1, each for 1 s. Beside it "
        "the same torques as steps, which are ours.",
        (Change((5, 6), 2.0, 1.0), Change((1,), 6.0, 1.0)), 9.0,
    ),
    Motion(
        "sequential-steps", "Steps one after the other", "sec. 4.3.1, Fig 12 and 13",
        "1.5 N·m on motor 4 at 2 s and on motor 1 at 6 s.",
        (Change((4,), 2.0), Change((1,), 6.0)), 10.0,
    ),
    Motion(
        "slow-ramps", "Slow ramps one after the other", "sec. 4.3.2, Fig 14",
        "0.75 (t − 2) N·m on motor 4, 0.75 (t − 6) N·m on motor 1, each for 2 s. Beside it the "
        "same torques as steps, which are those of sequential-steps.",
        (Change((4,), 2.0, 2.0), Change((1,), 6.0, 2.0)), 10.0,
    ),
    Refinement(
        "convergence", "Finer sections", "ours",
        "The rest under 1.5 N·m on motors 1, 5 and 6.",
        (STEP, 0.0, 0.0, 0.0, STEP, STEP), (1, 2, 4, 8, 16, 32), (1, 2, 4, 8, 16),
    ),
)  # fmt: skip
"""All of them, in the paper's order."""


def hydraulic_experiment(name: str) -> AnyExperiment:
    """The experiment of paper 003 that has a name, such as ``ramps``.

    Raises:
        DescriptionError: There is none; says which there are.
    """
    for experiment in EXPERIMENTS:
        if experiment.name == name:
            return experiment
    known = [experiment.name for experiment in EXPERIMENTS]
    raise DescriptionError(f"no experiment '{name}'; {did_you_mean(name, known)}")
