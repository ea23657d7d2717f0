"""The experiments of paper 003 on both models of an arm: the chain in MuJoCo and the lumped one."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from softgrasp.description.bendable import DEFAULT_LINKS
from softgrasp.description.hydraulic_arm import HydraulicArm
from softgrasp.errors import DescriptionError
from softgrasp.mechanics.hydraulic.drive_model import pressure_of_torque
from softgrasp.mechanics.hydraulic.motion import drive_pressures, move_arm
from softgrasp.mechanics.hydraulic.recording import TipErrors, TipRecording, tip_errors
from softgrasp.mechanics.hydraulic.rest import ArmRest, arm_rest
from softgrasp.mechanics.hydraulic.workspace import arm_workspace
from softgrasp.mechanics.transforms import Array
from softgrasp.simulation.hydraulic_arm import ArmChain, ChainRest
from softgrasp.simulation.hydraulic_experiments import (
    PER_SECTION,
    AnyExperiment,
    Change,
    Motion,
    Reach,
    Refinement,
    Rests,
)
from softgrasp.simulation.hydraulic_moves import ArmMove, tip_moves
from softgrasp.simulation.hydraulic_run import DRIVE_STEP, ArmRun, recorded
from softgrasp.simulation.hydraulic_shapes import ArmShapes, chain_shapes, lumped_shapes

TOLERANCE = 1e-5
"""Of the lumped model's motion; its ends move by less than 0.1 mm with a hundredth of it."""
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
        """ERR_i (eq 37), distance of the ends of section i in both models [m], (cases, sections)."""
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


def run_hydraulic_experiments(
    experiments: Iterable[AnyExperiment],
    arm: HydraulicArm,
    *,
    links: int = DEFAULT_LINKS,
    tell: Callable[[str], None] | None = None,
) -> list[AnyRun]:
    """Run experiments of paper 003 on both models of an arm; none moves twice in the same way.

    Args:
        experiments: Which, such as ``[hydraulic_experiment("ramps")]``.
        arm: With as many sections and motors as the paper's; its ``segments`` are the arcs a
            section of the lumped model.
        links: Cells a section of the chain; a refinement has its own.
        tell: Called with the name of each experiment before it runs.

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
        if tell is not None:
            tell(experiment.name)
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
    pressures = drive_pressures(arm, torques, duration, timestep=DRIVE_STEP)
    chain = ArmChain(arm, links).move(pressures, duration)
    lumped = move_arm(arm, pressures, duration, tolerance=TOLERANCE)
    run = recorded(arm, links, torques, pressures, chain.joints)
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
