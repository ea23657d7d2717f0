"""Write hands, scenes and finger releases as Webots projects, to be opened in Webots."""

from __future__ import annotations

from pathlib import Path
from shlex import quote
from typing import NamedTuple

from softgrasp.backends.webots.backend import require_milliseconds, world_and_job
from softgrasp.backends.webots.project import Job, in_worlds, job_name, recording_job, write_project
from softgrasp.backends.webots.world import SHORTEST_STEP, WebotsWorld, finger_world, hand_world
from softgrasp.description import STANDARD_GRAVITY, FingerRelease, Hand
from softgrasp.io import load_hand, load_release, load_scene
from softgrasp.plugin_api import compile_scene, terminal
from softgrasp.soft import damp_finger, solve_loaded_shape


class Export(NamedTuple):
    """Written files, and messages about differences from the description."""

    files: tuple[Path, ...]
    remarks: tuple[str, ...]


def write_export(kind: str, source: str, target: Path, max_faces: int | None = None) -> Export:
    """Write a scene, a hand alone or the release of a finger as a Webots project.

    Args:
        kind: ``scene``, ``hand`` or ``release``.
        source: Its name or file.
        target: File of the world.
        max_faces: Largest number of triangles of a mesh; larger ones are coarsened.

    Raises:
        BuildError: It has features that Webots lacks; names the feature.
        BackendUnavailable: The library that coarsens meshes is not installed.
        DescriptionError: It cannot be read, or the weight is more than the finger can carry.
        ResultError: The directory cannot be written.
    """
    name, remarks = job_name(target), tuple[str, ...]()
    if kind == "release":
        world, job = release_and_job(load_release(source), name)
        return Export(write_project(target, world, job).files, world.remarks)
    if kind == "hand":
        world, job = hand_and_job(load_hand(source), name, max_faces)
    else:
        scene = compile_scene(load_scene(source))
        world, job = world_and_job(scene, SHORTEST_STEP, name, max_faces)
    if max_faces is not None:
        remarks = (f"meshes of more than {max_faces} triangles were made coarser, as requested",)
    return Export(write_project(target, world, job).files, (*world.remarks, *remarks))


def hand_and_job(hand: Hand, job_file: str, max_faces: int | None) -> tuple[WebotsWorld, Job]:
    """Make the world of a hand alone, and the job that holds its start posture for 1 s."""
    world = hand_world(hand, SHORTEST_STEP, (job_file,), max_faces)
    starts = [actuator.start for actuator in hand.actuators]
    samples = round(1.0 / SHORTEST_STEP)  # one second in the start posture
    return world, recording_job(world, SHORTEST_STEP, samples, 0.0, starts)


def release_and_job(release: FingerRelease, job_file: str) -> tuple[WebotsWorld, Job]:
    """Make the world of the release of a finger, and the job that records its motion."""
    step = max(release.timestep, SHORTEST_STEP)
    require_milliseconds(step)
    world = finger_world(damp_finger(release), solve_loaded_shape(release), step, (job_file,))
    period = max(release.sample_period, step)
    samples = round(release.duration / period) + 1
    return world, recording_job(world, period, samples, -STANDARD_GRAVITY[2])


def put_project(kind: str, source: str, target: Path, max_faces: int | None, *, json: bool) -> None:
    """Write a Webots project and report its files.

    Args:
        kind: Kind of the source.
        source: Its name or file.
        target: File of the world.
        max_faces: Largest number of triangles of a mesh; larger ones are coarsened.
        json: Whether to report as a JSON document.
    """
    project = write_export(kind, source, target, max_faces)
    for remark in project.remarks:
        terminal.show_message("warning", remark)
    if json:
        files, remarks = [str(file) for file in project.files], list(project.remarks)
        document = {"file": str(target), "kind": kind, "files": files, "remarks": remarks}
        terminal.put_json(document)
        return
    for file in project.files:
        terminal.put(f"wrote {file}")
    if not in_worlds(target):
        directory, world = quote(str(target.parent.resolve())), quote(str(target))
        terminal.put(
            f"run it with WEBOTS_EXTRA_PROJECT_PATH={directory} webots {world}; in a directory "
            "called worlds it would find its controller by itself"
        )
