"""The experiments of paper 003 on both models of an arm: the chain in MuJoCo and the lumped one."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

import numpy as np

from softgrasp.description.bendable import DEFAULT_LINKS
from softgrasp.description.hydraulic_arm import HydraulicArm
from softgrasp.errors import DescriptionError
from softgrasp.mechanics.hydraulic.drive_model import pressure_of_torque
from softgrasp.mechanics.hydraulic.motion import drive_pressures, move_arm
from softgrasp.mechanics.hydraulic.rest import ArmRest, arm_rest
from softgrasp.mechanics.hydraulic.workspace import arm_workspace
from softgrasp.simulation.hydraulic_arm import ArmChain, ChainRest
from softgrasp.simulation.hydraulic_experiment_results import (
    AnyRun,
    Finer,
    MotionRun,
    ReachRun,
    RefinementRun,
    RestsRun,
)
from softgrasp.simulation.hydraulic_experiments import (
    PER_SECTION,
    AnyExperiment,
    Change,
    Motion,
    Reach,
    Refinement,
    Rests,
)
from softgrasp.simulation.hydraulic_run import DRIVE_TIMESTEP, ArmRun, recorded
from softgrasp.simulation.hydraulic_shapes import ArmShapes, chain_shapes, lumped_shapes

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
    run = recorded(chain, torques, "static", pressures, moved.joints)
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
