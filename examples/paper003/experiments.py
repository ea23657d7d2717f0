"""The experiments of paper 003 as data: which motor has which torque, and when.

Motors count from 1, three a section from the base outwards, as the paper does. All experiments are
of one arm with one set of parameters.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial

import numpy as np

from examples.paper003.lumped_motion import lumped_shapes, move_arm
from examples.paper003.statics import ArmRest, arm_rest, arm_workspace
from examples.paper003.tip_errors import TipErrors, tip_errors
from softgrasp.description.bendable import DEFAULT_LINKS
from softgrasp.errors import DescriptionError, did_you_mean
from softgrasp.hydraulics.arm import ArmChain, ChainRest
from softgrasp.hydraulics.description import HydraulicArm
from softgrasp.hydraulics.drive import pressure_of_torque
from softgrasp.hydraulics.integrators import TipRecording, TorqueTable, drive_pressures
from softgrasp.hydraulics.run import (
    DRIVE_TIMESTEP,
    ArmMove,
    ArmRun,
    ArmShapes,
    chain_shapes,
    record,
    tip_moves,
)
from softgrasp.mechanics.transforms import Array

# --------------------
# The experiments of paper 003 on both models of an arm: the chain in MuJoCo and the lumped one.


TOLERANCE = 1e-5
"""Of the lumped model's motion; its ends move by less than 0.1 mm with a hundredth of it."""


def run_hydraulic_experiments(
    experiments: Iterable[AnyExperiment],
    arm: HydraulicArm,
    *,
    links: int = DEFAULT_LINKS,
    announce: Callable[[str], None] | None = None,
) -> list[AnyRun]:
    """Run experiments of paper 003 on both models of an arm; none moves twice in the same way.

    Args:
        experiments: Which, such as ``[hydraulic_experiment("ramps")]``.
        arm: With as many sections and motors as the paper's; its ``segments`` are the arcs a
            section of the lumped model.
        links: Cells a section of the chain; a refinement has its own.
        announce: Called with the name of each experiment before it runs.

    Raises:
        DescriptionError: The arm has other sections or motors, or motors that are too weak.
        SimulationError: No rest was found.
        DivergedError: A motion diverges.
    """
    counts = tuple(len(section.chambers) for section in arm.sections)
    if counts != (PER_SECTION, PER_SECTION):
        raise DescriptionError(
            f"{arm.name}: expected two sections of {PER_SECTION} chambers, as the paper's, found "
            f"{len(counts)} of {', '.join(map(str, counts))}",
            field="sections",
        )
    lab, runs = _Lab(arm, links), []
    for experiment in experiments:
        if announce is not None:
            announce(experiment.name)
        runs.append(lab.run(experiment))
    return runs


class _Lab:
    """Runs experiments on one arm and remembers its motions."""

    def __init__(self, arm: HydraulicArm, links: int) -> None:
        self.arm, self.links = arm, links
        self._moved: dict[tuple[tuple[Change, ...], float], tuple[ArmRun, ArmShapes]] = {}

    def run(self, experiment: AnyExperiment) -> AnyRun:
        if isinstance(experiment, Rests):
            return _rests(experiment, _cut(self.arm, experiment.sections), self.links)
        if isinstance(experiment, Motion):
            return self._motion(experiment)
        if isinstance(experiment, Reach):
            return _reach(experiment, _cut(self.arm, 1), self.links)
        return _refinement(experiment, self.arm)

    def _motion(self, experiment: Motion) -> MotionRun:
        key = experiment.changes, experiment.duration
        if key not in self._moved:
            self._moved[key] = _moved(experiment, self.arm, self.links)
        at_once = self._motion(experiment.at_once()) if experiment.ramped else None
        return MotionRun(experiment, *self._moved[key], at_once)


def _cut(arm: HydraulicArm, sections: int) -> HydraulicArm:
    return arm.replace(sections=arm.sections[:sections])


def _rests(experiment: Rests, arm: HydraulicArm, links: int) -> RestsRun:
    pressures = pressure_of_torque(arm.drive, experiment.torques)
    chain, rests = ArmChain(arm, links), [arm_rest(arm, row) for row in pressures]
    joints = []
    for row in pressures:
        chain.rest(row)
        joints.append(chain.data.qpos.copy())
    return RestsRun(
        experiment=experiment,
        arm=arm,
        links=links,
        chain=chain_shapes(arm, links, np.stack(joints)),
        lumped=lumped_shapes(arm, np.stack([rest.strains for rest in rests])),
        stable=tuple(rest.stable for rest in rests),
    )


def _moved(experiment: Motion, arm: HydraulicArm, links: int) -> tuple[ArmRun, ArmShapes]:
    torques, duration = experiment.torques, experiment.duration
    pressures = drive_pressures(arm, torques, duration, timestep=DRIVE_TIMESTEP)
    chain = ArmChain(arm, links)
    moved = chain.move(pressures, duration)
    lumped = move_arm(arm, pressures, duration, tolerance=TOLERANCE)
    # chambers of a standing arm: what differs then is the models and not their pressures
    run = record(chain, torques, "static", pressures, moved.joints)
    return run, lumped_shapes(arm, lumped.strains)


def _reach(experiment: Reach, arm: HydraulicArm, links: int) -> ReachRun:
    lumped, chain = arm_workspace(arm, experiment.levels), ArmChain(arm, links)
    ends = np.stack([chain.rest(row).ends[-1] for row in lumped.pressures])
    return ReachRun(experiment, arm, links, ends, lumped.ends)


def _refinement(experiment: Refinement, arm: HydraulicArm) -> RefinementRun:
    pressures = pressure_of_torque(arm.drive, experiment.torques)
    chains = [ArmChain(arm, count).rest(pressures) for count in experiment.links]
    arcs = [arm_rest(arm.replace(segments=n), pressures) for n in experiment.segments]
    return RefinementRun(
        experiment,
        arm,
        _finer(experiment.links, chains, 2),
        _finer(experiment.segments, arcs, 1),
    )


def _finer(counts: tuple[int, ...], rests: Sequence[ChainRest | ArmRest], order: int) -> Finer:
    ends, bends = np.stack([rest.ends for rest in rests]), np.stack([r.bends for r in rests])
    return Finer(counts, ends, bends, order)


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


# --------------------
# What the experiments of paper 003 found on both models of an arm.


CHAIN, LUMPED = "chain", "lumped"
"""The two models."""


@dataclass(frozen=True)
class RestsRun:
    """Rests of both models.

    Args:
        experiment: What was asked.
        arm: With as many sections as the experiment has.
        links: Cells a section of the chain.
        chain: Its rests, one a case.
        lumped: Those of the lumped model.
        stable: Whether each rest of the lumped model is stable, (cases,).
    """

    experiment: Rests
    arm: HydraulicArm
    links: int
    chain: ArmShapes
    lumped: ArmShapes
    stable: tuple[bool, ...]

    @property
    def errors(self) -> Array:
        """ERR_i (eq 37), distance of section i's ends in both models [m], (cases, sections)."""
        return np.asarray(np.linalg.norm(self.chain.ends - self.lumped.ends, axis=2))


@dataclass(frozen=True)
class MotionRun:
    """A motion of both models under the same pressures, 100 rows a second.

    Args:
        experiment: What was asked.
        run: The chain.
        lumped: Shapes of the lumped model at the same times.
        at_once: The same with steps in place of ramps; None where there is no ramp.
    """

    experiment: Motion
    run: ArmRun
    lumped: ArmShapes
    at_once: MotionRun | None

    @property
    def arm(self) -> HydraulicArm:
        """The arm."""
        return self.run.arm

    @property
    def links(self) -> int:
        """Cells a section of the chain."""
        return self.run.links

    @property
    def chain(self) -> ArmShapes:
        """Shapes of the chain."""
        run = self.run
        return ArmShapes(run.backbone, run.ends, run.bends, run.lengths)

    @cached_property
    def recordings(self) -> dict[str, TipRecording]:
        """Ends of the sections, by model."""
        return {CHAIN: self.run.recording, LUMPED: TipRecording(self.run.times, self.lumped.ends)}

    @property
    def errors(self) -> TipErrors:
        """Of the lumped model against the chain (eq 37)."""
        return tip_errors(self.recordings[CHAIN], self.recordings[LUMPED])

    def moves(self, model: str, section: int = -1) -> list[ArmMove]:
        """Settling, overshoot and speed of a model's section, one a change of the torques."""
        return tip_moves(self.run.torques, self.recordings[model], section)


@dataclass(frozen=True)
class ReachRun:
    """Ends of one section of both models at the same pressures.

    Args:
        experiment: What was asked.
        arm: One section.
        links: Cells of the chain.
        chain: Ends of the chain in the frame of the base [m], (m, 3).
        lumped: Ends of the lumped model [m], (m, 3).
    """

    experiment: Reach
    arm: HydraulicArm
    links: int
    chain: Array
    lumped: Array


@dataclass(frozen=True)
class RefinementRun:
    """Rests of both models with finer and finer sections.

    Args:
        experiment: What was asked.
        arm: The arm.
        chain: Rests of the chain, one a number of cells: ends of the sections, bends.
        lumped: Those of the lumped model, one a number of arcs.
    """

    experiment: Refinement
    arm: HydraulicArm
    chain: Finer
    lumped: Finer


@dataclass(frozen=True)
class Finer:
    """Rests of one model with finer and finer sections.

    Args:
        counts: Cells or arcs a section, each twice the one before, (m,).
        ends: Of the sections [m], (m, sections, 3).
        bends: Of the sections [rad], (m, sections).
        order: With which power of the cell it converges.
    """

    counts: tuple[int, ...]
    ends: Array
    bends: Array
    order: int

    @property
    def changes(self) -> Array:
        """Of the end of the arm from each to the next [m], (m − 1,)."""
        return np.asarray(np.linalg.norm(np.diff(self.ends[:, -1], axis=0), axis=1))

    def limit(self, values: Array) -> Array:
        """Richardson's limit of ``ends`` or ``bends``, from the two finest."""
        gain = 1.0 / (2.0**self.order - 1.0)
        return np.asarray((1.0 + gain) * values[-1] - gain * values[-2])


AnyRun = RestsRun | MotionRun | ReachRun | RefinementRun
