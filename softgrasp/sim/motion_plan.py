"""Motion planning of a run: targets of the wrist or arm, and of fingers before the closure.

``MountTrajectory`` turns the phases of a sequence into targets of the wrist or arm, ``lift_path``
those of a lift.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from softgrasp.description.arm import Arm
from softgrasp.description.object import Lift
from softgrasp.description.scene import GraspScene
from softgrasp.description.task import (
    ApproachPhase,
    LiftPhase,
    MovePhase,
    Phase,
    PreshapePhase,
    ReleasePhase,
    ShakePhase,
)
from softgrasp.mechanics.trajectory import ease, move, shaken, straight_path, unit
from softgrasp.mechanics.transforms import Array, minimum_jerk
from softgrasp.model.arm import arm_base, carrier_start, carrier_targets, home_pose, start_pose
from softgrasp.model.scene import start_targets


class PhaseRows(NamedTuple):
    """First and last recorded row of a phase of a run."""

    name: str
    begin: int
    """Row at which it began: the last one of the phase before."""
    end: int
    """Its last row."""
    phase: Phase | None = None
    """The phase of the sequence or of the hold test; None of another part."""
    stopped_by: float | None = None
    """Force at which a guarded move stopped [N]; None where it did not."""

    @property
    def is_guarded(self) -> bool:
        """Whether it is a move that stops at a force."""
        return isinstance(self.phase, MovePhase) and self.phase.max_force is not None


def put_down_row(phases: Sequence[PhaseRows]) -> int | None:
    """Return the row at which a hand begins to put its object down; None where it does not.

    It is the start of a release, or of the guarded move right before it.
    """
    for before, part in zip([None, *phases], phases, strict=False):
        if isinstance(part.phase, ReleasePhase):
            return before.begin if before is not None and before.is_guarded else part.begin
    return None


class MountTrajectory:
    """Targets of the wrist or arm that moves the hand through a motion sequence."""

    def __init__(self, scene: GraspScene) -> None:
        """Begin at the start pose.

        Raises:
            BuildError: The arm does not reach.
        """
        self._scene = scene
        self._pose = start_pose(scene)
        self._targets = np.array(carrier_start(scene))
        self._poses_ahead = self._pose[None]

    def through(self, phase: Phase, samples: int) -> Array:
        """Compute wrist or arm targets in a phase, (samples, nc) [m or rad], and advance.

        Args:
            phase: Any but the closure.
            samples: Control samples of the phase.

        Raises:
            BuildError: The arm does not reach, or a wrist angle is out of range.
        """
        poses = self._poses(phase, samples)
        if poses is None:
            return np.tile(self._targets, (samples, 1))
        targets = carrier_targets(self._scene, poses, self._targets)
        self._pose, self._targets, self._poses_ahead = poses[-1], targets[-1], poses
        return targets

    def stop(self, left: int, targets: Array) -> None:
        """Go on from a sample of the last phase instead of from its end.

        Args:
            left: Number of samples of the phase after it.
            targets: Wrist or arm targets there, (nc,) [m or rad].
        """
        sample = max(len(self._poses_ahead) - 1 - left, 0)
        self._pose, self._targets = self._poses_ahead[sample], targets

    def _poses(self, phase: Phase, samples: int) -> Array | None:
        """Compute hand poses in the world, (samples, 4, 4); None if the hand does not move."""
        fractions, still = ease(samples)[:, None], np.zeros((samples, 3))
        match phase:
            case ApproachPhase():
                displacement = home_pose(self._scene)[:3, 3] - self._pose[:3, 3]
                return move(self._pose, fractions * displacement, still, np.zeros(3))
            case LiftPhase():
                up = np.array([0.0, 0.0, phase.height])
                return move(self._pose, fractions * up, still, np.zeros(3))
            case MovePhase():
                displacement = fractions * np.array(phase.displacement)
                rotation = fractions * np.array(phase.rotation_vector)
                return move(self._pose, displacement, rotation, phase.about)
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
        return move(self._pose, displacement, rotation, about)


def finger_path(scene: GraspScene, phase: Phase, targets: Array, samples: int) -> Array:
    """Compute targets of the hand's actuators in a phase that is no closure, (samples, nd).

    Args:
        scene: The scene.
        phase: The phase.
        targets: Targets of the actuators before the phase, (nd,) [rad, m or Pa].
        samples: Control samples of the phase.
    """
    goal = targets
    if isinstance(phase, PreshapePhase):
        goal = np.array(scene.hand.preshape(phase.preshape).positions)
    elif isinstance(phase, ReleasePhase):
        goal = np.array(scene.closing_start)
    return np.asarray(targets + ease(samples)[:, None] * (goal - targets))


def lift_path(scene: GraspScene, lift: Lift, samples: int) -> Array:
    """Compute wrist or arm targets straight up from rest to rest, (samples, n) [m or rad].

    Raises:
        BuildError: The arm does not reach.
    """
    fractions = minimum_jerk(np.arange(1, samples + 1) / samples)
    if scene.arm is None:
        return np.asarray(lift.height * fractions[:, None])
    assert isinstance(scene.arm, Arm)  # a compliant carrier does not lift
    up = arm_base(scene.arm, scene.hand_pose)[:3, :3].T @ [0.0, 0.0, lift.height]
    start = start_targets(scene)[len(scene.actuators) :]
    return straight_path(scene.arm.chain, start, up, fractions)
