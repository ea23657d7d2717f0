"""Write hands, scenes and finger releases as Webots projects, to be opened in Webots."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from softgrasp.backends.webots.backend import require_milliseconds, world_and_job
from softgrasp.backends.webots.project import Job, job_name, recording_job, write_project
from softgrasp.backends.webots.world import SHORTEST_STEP, WebotsWorld, finger_world, hand_world
from softgrasp.description import STANDARD_GRAVITY, FingerRelease, GraspScene, Hand
from softgrasp.plugin_api import compile_scene
from softgrasp.soft import damped_finger, loaded_shape

RECORDED = 1.0
"""Time for which the controller of a hand alone holds it in its start posture [s]."""


class Export(NamedTuple):
    """Written files, and messages about differences from the description."""

    files: tuple[Path, ...]
    remarks: tuple[str, ...]


def scene_project(scene: GraspScene, target: Path, max_faces: int | None = None) -> Export:
    """Write a scene as a Webots project.

    Args:
        scene: The scene.
        target: File of the world.
        max_faces: Largest number of triangles of a mesh; larger ones are coarsened.

    Raises:
        BuildError: The scene has features that Webots lacks; names the feature.
        BackendUnavailable: The library that coarsens meshes is not installed.
        ResultError: The directory cannot be written.
    """
    world, job = world_and_job(compile_scene(scene), SHORTEST_STEP, job_name(target), max_faces)
    return _written(target, world, job, max_faces)


def hand_project(hand: Hand, target: Path, max_faces: int | None = None) -> Export:
    """Write a hand alone as a Webots project; its controller holds the start posture for 1 s.

    Args:
        hand: The hand.
        target: File of the world.
        max_faces: Largest number of triangles of a mesh; larger ones are coarsened.

    Raises:
        BuildError: The hand has features that Webots lacks; names the feature.
        BackendUnavailable: The library that coarsens meshes is not installed.
        ResultError: The directory cannot be written.
    """
    world = hand_world(hand, SHORTEST_STEP, (job_name(target),), max_faces)
    starts = [actuator.start for actuator in hand.actuators]
    samples = round(RECORDED / SHORTEST_STEP)
    job = recording_job(world, SHORTEST_STEP, samples, 0.0, starts)
    return _written(target, world, job, max_faces)


def release_project(release: FingerRelease, target: Path) -> Export:
    """Write the release of a finger as a Webots project; its controller records the motion.

    Args:
        release: The release.
        target: File of the world.

    Raises:
        BuildError: A joint has less damping than Webots' implicit spring adds at this step.
        DescriptionError: The weight is more than the finger can carry.
        ResultError: The directory cannot be written.
    """
    step = max(release.timestep, SHORTEST_STEP)
    require_milliseconds(step)
    finger, shape = damped_finger(release), loaded_shape(release)
    world = finger_world(finger, shape, step, (job_name(target),))
    period = max(release.sample_period, step)
    samples = round(release.duration / period) + 1
    return _written(target, world, recording_job(world, period, samples, -STANDARD_GRAVITY[2]))


def _written(target: Path, world: WebotsWorld, job: Job, max_faces: int | None = None) -> Export:
    coarse = f"meshes of more than {max_faces} triangles were made coarser, as requested"
    remarks = world.remarks if max_faces is None else (*world.remarks, coarse)
    return Export(write_project(target, world, job).files, remarks)
