"""Runs as recordings of rerun: shapes, poses over time, contact forces."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import mujoco
import numpy as np

from softgrasp.errors import missing_library
from softgrasp.evaluation.analysis import ReplayedResult
from softgrasp.evaluation.result import GraspResult
from softgrasp.exports.episodes import FPS, sample_times
from softgrasp.io.files import atomic_path
from softgrasp.io.mjcf.model import triangles_of
from softgrasp.rendering.camera import find_covered_geoms, geom_colors
from softgrasp.sim.contacts import GraspContactReader

if TYPE_CHECKING:
    import rerun as rr

ARROW = 0.01
"""Length of the arrow of a force [m/N]."""
TIMELINE = "simulation"


def write_rerun(result: GraspResult, path: str | Path, fps: int = FPS) -> Path:
    """Write a run as a recording (``.rrd``) that ``rerun PATH`` shows.

    Bodies are ``world/BODY`` with their shapes and poses, the forces of the hand on the object
    arrows at ``world/contacts``, their normal parts ``normal_force/BODY`` at every control sample,
    and the outcome is ``outcome``. The timeline ``simulation`` is the time of the run.

    Args:
        result: The result.
        path: The file.
        fps: Poses and arrows per second.

    Returns:
        The path.

    Raises:
        BackendUnavailable: rerun-sdk is not installed.
        BuildError: The scene of the result cannot be built.
    """
    try:
        import rerun as rr
    except ModuleNotFoundError as error:
        raise missing_library(error) from None
    path = Path(path)
    stream = rr.RecordingStream("softgrasp", recording_id=result.trajectory_sha256[:32])
    with atomic_path(path) as temporary:
        stream.save(temporary)
        try:
            _log_run(stream, result, fps)
            stream.flush()
        finally:
            stream.disconnect()  # it holds the file
    return path


def _log_run(stream: rr.RecordingStream, result: GraspResult, fps: int) -> None:
    import rerun as rr

    replay = ReplayedResult(result)
    stream.log("world", rr.ViewCoordinates.RIGHT_HAND_Z_UP, static=True)
    stream.log("outcome", rr.TextDocument(f"{result.outcome.name}: {result.message}"), static=True)
    model, colors = replay.model, geom_colors(replay.model)
    for geom in find_covered_geoms(model).tolist():
        vertices, faces = triangles_of(model, geom)
        entity = f"{_body(model, int(model.geom_bodyid[geom]))}/geom{geom}"
        position, quaternion = model.geom_pos[geom], np.roll(model.geom_quat[geom], -1)
        placed = rr.Transform3D(translation=position, quaternion=rr.Quaternion(xyzw=quaternion))
        stream.log(entity, placed, static=True)
        mesh = rr.Mesh3D(
            vertex_positions=vertices, triangle_indices=faces, albedo_factor=colors[geom]
        )
        stream.log(entity, mesh, static=True)
    _log_motion(stream, replay, sample_times(result.time, fps))
    index = rr.TimeColumn(TIMELINE, duration=result.time)
    for body, forces in zip(result.contact_bodies.tolist(), result.normal_force.T, strict=True):
        if forces.any():
            columns = rr.Scalars.columns(scalars=forces)
            stream.send_columns(f"normal_force/{body}", [index], columns)


def _body(model: mujoco.MjModel, body: int) -> str:
    return f"world/{model.body(body).name or body}"


def _log_motion(stream: rr.RecordingStream, replay: ReplayedResult, times: Any) -> None:
    """Log poses of bodies, surfaces of deformable objects, and forces of the hand's bodies."""
    import rerun as rr

    model, result = replay.model, replay.result
    reader = GraspContactReader(model, result.contact_bodies.tolist())
    positions, quaternions = [], []
    for time in times.tolist():
        data = replay.pose(time)
        positions.append(data.xpos.copy())
        quaternions.append(np.roll(data.xquat, -1, axis=1))
        stream.set_time(TIMELINE, duration=time)
        forces = result.normal_force[replay.row(time)[0]]
        contacts = reader.read(data)
        bodies = np.unique(contacts.body)
        of_body = [contacts.body == body for body in bodies]
        points = [contacts.points[rows].mean(axis=0) for rows in of_body]
        normals = [contacts.normals[rows].mean(axis=0) for rows in of_body]
        arrows = [ARROW * forces[item] * n for item, n in zip(bodies, normals, strict=True)]
        stream.log("world/contacts", rr.Arrows3D(origins=points, vectors=arrows))
        for flex in range(model.nflex):
            stream.log(f"world/flex{flex}", _surface(rr, model, data, flex))
    index = rr.TimeColumn(TIMELINE, duration=times)
    for body in np.unique(model.geom_bodyid[find_covered_geoms(model)]).tolist():
        columns = rr.Transform3D.columns(
            translation=np.array(positions)[:, body], quaternion=np.array(quaternions)[:, body]
        )
        stream.send_columns(_body(model, body), [index], columns)


def _surface(rr: Any, model: mujoco.MjModel, data: mujoco.MjData, flex: int) -> Any:
    """Return the surface of a deformable object."""
    first, count = int(model.flex_shelldataadr[flex]), int(model.flex_shellnum[flex])
    size, begin = int(model.flex_dim[flex]), int(model.flex_vertadr[flex])
    nodes = data.flexvert_xpos[begin : begin + int(model.flex_vertnum[flex])]
    faces = model.flex_shell[first : first + size * count].reshape(count, size)
    return rr.Mesh3D(
        vertex_positions=nodes, triangle_indices=faces, albedo_factor=model.flex_rgba[flex]
    )
