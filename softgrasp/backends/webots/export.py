"""Hands and scenes as Webots projects to keep: for a person to open, not for a run of ours."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from softgrasp.backends.webots.backend import require_milliseconds, world_and_job
from softgrasp.backends.webots.project import Job, job_name, watching_job, write_project
from softgrasp.backends.webots.world import SHORTEST_STEP, WebotsWorld, finger_world, hand_world
from softgrasp.description.calibration import FingerRelease
from softgrasp.description.hand import Hand
from softgrasp.description.scene import STANDARD_GRAVITY, GraspScene
from softgrasp.model.scene import build
from softgrasp.sim.soft_statics import damped_finger, loaded_shape

WATCHED = 1.0
"""Time for which the controller of a hand alone holds it in its start posture [s]."""


class Export(NamedTuple):
    """What was written, and what it says otherwise than the description."""

    files: tuple[Path, ...]
    remarks: tuple[str, ...]


def scene_project(scene: GraspScene, target: Path, max_faces: int | None = None) -> Export:
    """Write a scene as a Webots project.

    Args:
        scene: The scene.
        target: The world's file.
        max_faces: Meshes with more triangles are made coarser; none where not given.

    Raises:
        BuildError: The scene holds what Webots cannot express; names it.
        BackendUnavailable: Meshes are to be made coarser without the library for it.
        ResultError: The folder cannot be written.
    """
    world, job = world_and_job(build(scene), SHORTEST_STEP, job_name(target), max_faces)
    return _written(target, world, job, max_faces)


def hand_project(hand: Hand, target: Path, max_faces: int | None = None) -> Export:
    """Write a hand alone as a Webots project; its controller holds the start posture for 1 s.

    Args:
        hand: The hand.
        target: The world's file.
        max_faces: Meshes with more triangles are made coarser; none where not given.

    Raises:
        BuildError: The hand holds what Webots cannot express; names it.
        BackendUnavailable: Meshes are to be made coarser without the library for it.
        ResultError: The folder cannot be written.
    """
    world = hand_world(hand, SHORTEST_STEP, (job_name(target),), max_faces)
    starts = [actuator.start for actuator in hand.actuators]
    samples = round(WATCHED / SHORTEST_STEP)
    job = watching_job(world, SHORTEST_STEP, samples, 0.0, starts)
    return _written(target, world, job, max_faces)


def release_project(release: FingerRelease, target: Path) -> Export:
    """Write the release of a finger as a Webots project; its controller watches it swing.

    Args:
        release: What is let go.
        target: The world's file.

    Raises:
        BuildError: A joint has less damping than Webots' implicit spring adds at this step.
        DescriptionError: The weight is more than the finger can carry.
        ResultError: The folder cannot be written.
    """
    step = max(release.timestep, SHORTEST_STEP)
    require_milliseconds(step)
    finger, shape = damped_finger(release), loaded_shape(release)
    world = finger_world(finger, shape, step, (job_name(target),))
    period = max(release.sample_period, step)
    samples = round(release.duration / period) + 1
    return _written(target, world, watching_job(world, period, samples, -STANDARD_GRAVITY[2]))


def _written(target: Path, world: WebotsWorld, job: Job, max_faces: int | None = None) -> Export:
    coarse = f"meshes of more than {max_faces} triangles were made coarser, as asked"
    remarks = world.remarks if max_faces is None else (*world.remarks, coarse)
    return Export(write_project(target, world, job).files, remarks)
