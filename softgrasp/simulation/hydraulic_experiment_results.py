"""What the experiments of paper 003 found on both models of an arm."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from softgrasp.description.hydraulic_arm import HydraulicArm
from softgrasp.mechanics.hydraulic.recording import TipErrors, TipRecording, tip_errors
from softgrasp.mechanics.transforms import Array
from softgrasp.simulation.hydraulic_experiments import Motion, Reach, Refinement, Rests
from softgrasp.simulation.hydraulic_moves import ArmMove, tip_moves
from softgrasp.simulation.hydraulic_run import ArmRun
from softgrasp.simulation.hydraulic_shapes import ArmShapes

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
