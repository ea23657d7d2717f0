"""Where the hand goes in a sequence: from phases to targets of what carries it."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from softgrasp.description.scene import GraspScene
from softgrasp.description.task import (
    ApproachPhase,
    LiftPhase,
    MovePhase,
    Phase,
    PreshapePhase,
    ShakePhase,
)
from softgrasp.mechanics.trajectory import eased, moved, shaken, unit
from softgrasp.mechanics.transforms import Array
from softgrasp.model.arm import carrier_start, carrier_targets, home_pose, start_pose


class PhaseRows(NamedTuple):
    """A phase that a run has gone through."""

    name: str
    begin: int
    """Row at which it began: the last one of the phase before."""
    end: int
    """Its last row."""


class MountTrajectory:
    """Where a hand has got to on its sequence."""

    def __init__(self, scene: GraspScene) -> None:
        """Stand at the start.

        Raises:
            BuildError: The arm does not reach.
        """
        self._scene = scene
        self._pose = start_pose(scene)
        self._targets = np.array(carrier_start(scene))

    def through(self, phase: Phase, samples: int) -> Array:
        """Targets of what carries the hand in a phase, and go there, (samples, nc) [m or rad].

        Args:
            phase: Any but the closure.
            samples: Control samples that it takes.

        Raises:
            BuildError: The arm does not reach, or the wrist would turn too far.
        """
        poses = self._poses(phase, samples)
        if poses is None:
            return np.tile(self._targets, (samples, 1))
        targets = carrier_targets(self._scene, poses, self._targets)
        self._pose, self._targets = poses[-1], targets[-1]
        return targets

    def _poses(self, phase: Phase, samples: int) -> Array | None:
        """Poses of the hand in the world, (samples, 4, 4); None where it stays."""
        fractions, still = eased(samples)[:, None], np.zeros((samples, 3))
        match phase:
            case ApproachPhase():
                displacement = home_pose(self._scene)[:3, 3] - self._pose[:3, 3]
                return moved(self._pose, fractions * displacement, still, np.zeros(3))
            case LiftPhase():
                up = np.array([0.0, 0.0, phase.height])
                return moved(self._pose, fractions * up, still, np.zeros(3))
            case MovePhase():
                displacement, rotation = (
                    np.array(phase.displacement),
                    np.array(phase.rotation_vector),
                )
                return moved(
                    self._pose, fractions * displacement, fractions * rotation, phase.about
                )
            case ShakePhase():
                return self._shaken(phase, samples)
            case _:
                return None

    def _shaken(self, phase: ShakePhase, samples: int) -> Array:
        wave = shaken(phase.cycles, samples)[:, None]
        still = np.zeros((samples, 3))
        displacement = wave * phase.reach * unit(phase.direction) if phase.reach else still
        rotation = wave * phase.angle * unit(phase.axis) if phase.angle else still
        about = self._scene.preset.center if phase.about is None else phase.about
        return moved(self._pose, displacement, rotation, about)


def finger_path(scene: GraspScene, phase: Phase, targets: Array, samples: int) -> Array:
    """Targets of the hand's own drives in a phase before the closure, (samples, nd).

    Args:
        scene: The scene.
        phase: The phase.
        targets: The drives' targets right before, (nd,) [rad, m or Pa].
        samples: Control samples that it takes.
    """
    goal = targets
    if isinstance(phase, PreshapePhase):
        goal = np.array(scene.hand.preshape(phase.preshape).positions)
    return np.asarray(targets + eased(samples)[:, None] * (goal - targets))
