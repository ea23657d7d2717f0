"""Objects from MJCF files: all bodies of a rigid object, with the mass and inertia of MuJoCo.

MuJoCo collides a mesh by its convex hull, and so does the object. Floors, lights and bodies beside
an object with a free joint are left out.
"""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import NamedTuple

import mujoco
import numpy as np
from numpy.typing import NDArray

from softgrasp.assets import portable_name
from softgrasp.description.geometry import Mesh, Part, Shape
from softgrasp.description.object import GraspObject
from softgrasp.errors import DescriptionError, SoftgraspWarning
from softgrasp.io.mesh import stamp
from softgrasp.io.mesh_files import read_triangles
from softgrasp.io.mjcf.model import mesh_vertices, model_files, primitive_of, refused
from softgrasp.io.mjcf.repairs import with_slashes
from softgrasp.io.mjcf.tree import frame_of, weight_of
from softgrasp.io.object_parts import articulated, object_name, object_of_parts
from softgrasp.mechanics.hand_kinematics import pose_of
from softgrasp.mechanics.transforms import Array, transform

FREE = int(mujoco.mjtJoint.mjJNT_FREE)
GEOM = mujoco.mjtGeom
DEFAULT_FRICTION = 1.0
"""Sliding friction of a geom that states none [–]."""
GROUND = (int(GEOM.mjGEOM_PLANE), int(GEOM.mjGEOM_HFIELD))
UNSTATED = ((0.5, 0.5, 0.5, 1.0), (1.0, 1.0, 1.0, 1.0))
"""Colours of geoms that state none, and of materials, whose texture is not read."""
SAME = 1e-4
"""Difference between a mesh file and the mesh of the model over its extent [–]."""


class _Model(NamedTuple):
    path: Path
    spec: mujoco.MjSpec
    model: mujoco.MjModel
    data: mujoco.MjData
    root: Array
    """Frame of the object in the world, (4, 4): that of its free body, if any."""
    bodies: NDArray[np.int64]
    """Bodies of the object."""


def read_mjcf_object(
    path: Path,
    *,
    mass: float | None = None,
    density: float | None = None,
    lock_joints: bool = False,
) -> GraspObject:
    """Read an object from an MJCF file.

    Args:
        path: The file.
        mass: Replaces the mass of the file [kg].
        density: Replaces the mass of the file [kg/m³].
        lock_joints: Fix movable joints at their initial position.

    Raises:
        DescriptionError: MuJoCo refuses the file, it has several free bodies, or movable joints
            that are not to be locked, or a shape that is neither a primitive nor a mesh.

    Warns:
        SoftgraspWarning: Something in it is left out, or is not possible.
    """
    read = _read(path, lock_joints)
    model = read.model
    geoms = [
        geom
        for geom in range(model.ngeom)
        if model.geom_bodyid[geom] in read.bodies and int(model.geom_type[geom]) not in GROUND
    ]
    can_touch = (model.geom_contype | model.geom_conaffinity).astype(bool)
    touching = [geom for geom in geoms if can_touch[geom]] or geoms
    drawn = [geom for geom in geoms if geom not in touching]
    frictions = [float(model.geom_friction[geom, 0]) for geom in touching]
    colors = [_rgba(model, geom) for geom in drawn or touching]
    stated = [color for color in colors if color not in UNSTATED and color[3] > 0.0]
    return object_of_parts(
        path,
        object_name(path, read.spec.modelname),
        [_part(read, geom) for geom in touching],
        [_part(read, geom) for geom in drawn],
        weight_of(model, read.data, read.bodies.tolist(), read.root),
        mass=mass,
        density=density,
        friction=next((value for value in frictions if value != DEFAULT_FRICTION), None),
        rgba=stated[0] if stated else None,
    )


def _read(path: Path, lock_joints: bool) -> _Model:
    """Compile the file and select the bodies of the object."""
    model_files(path, textures=False)  # missing files, with the line that names them
    try:
        spec = mujoco.MjSpec.from_file(str(path))
        _drop_textures(spec)
        model = spec.compile()
    except ValueError as error:
        raise refused(error, path) from error
    free = [joint for joint in range(model.njnt) if model.jnt_type[joint] == FREE]
    if len(free) > 1:
        named = ", ".join(f"'{model.body(model.jnt_bodyid[joint]).name}'" for joint in free[:5])
        raise DescriptionError(
            f"expected one object, found {len(free)} bodies that move freely: {named}", file=path
        )
    root = int(model.jnt_bodyid[free[0]]) if free else 0
    bodies = np.flatnonzero(model.body_rootid == root) if root else np.arange(model.nbody)
    moving = [
        model.joint(joint).name or f"joint of body '{model.body(model.jnt_bodyid[joint]).name}'"
        for joint in range(model.njnt)
        if model.jnt_type[joint] != FREE and model.jnt_bodyid[joint] in bodies
    ]
    if moving and not lock_joints:
        raise articulated(moving).located(file=path)
    data = mujoco.MjData(model)
    mujoco.mj_kinematics(model, data)
    mujoco.mj_comPos(model, data)
    _report_left_out(path, model, bodies)
    frame = frame_of(data.xpos[root], data.xmat[root])
    return _Model(path, spec, model, data, frame, bodies)


def _drop_textures(spec: mujoco.MjSpec) -> None:
    """Remove textures, which objects are drawn without."""
    for material in spec.materials:
        material.textures = ["" for _ in material.textures]
    for texture in list(spec.textures):
        spec.delete(texture)


def _report_left_out(path: Path, model: mujoco.MjModel, bodies: NDArray[np.int64]) -> None:
    """Warn about bodies with shapes that are not part of the object."""
    others = {
        model.body(int(body)).name
        for body, kind in zip(model.geom_bodyid, model.geom_type, strict=True)
        if body not in bodies and int(kind) not in GROUND
    }
    if others:
        named = ", ".join(f"'{name}'" for name in sorted(others))
        text = f"{path}: left out beside the free body: {named}"
        warnings.warn(text, SoftgraspWarning, stacklevel=4)


def _rgba(model: mujoco.MjModel, geom: int) -> tuple[float, float, float, float]:
    material = int(model.geom_matid[geom])
    source = model.geom_rgba[geom] if material < 0 else model.mat_rgba[material]
    red, green, blue, opacity = (round(float(part), 6) for part in source)
    return (red, green, blue, opacity)


def _part(read: _Model, geom: int) -> Part:
    model, data = read.model, read.data
    world = frame_of(data.geom_xpos[geom], data.geom_xmat[geom])
    frame = np.asarray(np.linalg.inv(read.root) @ world)
    shape = primitive_of(model, geom)
    if shape is None:
        if int(model.geom_type[geom]) != int(GEOM.mjGEOM_MESH):
            text = f"found the geom '{model.geom(geom).name}' of another type"
            raise DescriptionError(f"expected primitives and meshes, {text}", file=read.path)
        shape, inside = _mesh(read, int(model.geom_dataid[geom]))
        frame = frame @ np.linalg.inv(inside)
    return Part(shape=shape, pose=pose_of(frame))


def _mesh(read: _Model, index: int) -> tuple[Shape, Array]:
    """Return a mesh, and the frame of MuJoCo's centred copy in that of its file."""
    model = read.model
    name = model.mesh(index).name
    asset = read.spec.mesh(name)
    inside = transform(model.mesh_pos[index], model.mesh_quat[index])
    scale = np.asarray(asset.scale, dtype=float)
    if not asset.file or (scale == 0.0).any():
        reason = "no file" if not asset.file else f"the scale {tuple(scale.tolist())}"
        raise DescriptionError(
            f"mesh '{name}': expected a file and a scale that is not 0, found {reason}",
            file=read.path,
        )
    file = read.path.parent / with_slashes(read.spec.meshdir) / with_slashes(asset.file)
    compiled = mesh_vertices(model, index) @ inside[:3, :3].T + inside[:3, 3]
    vertices = read_triangles(file)[0] * scale
    extent = float(np.ptp(vertices, axis=0).max())
    ends = [np.array([points.min(axis=0), points.max(axis=0)]) for points in (compiled, vertices)]
    if np.abs(ends[0] - ends[1]).max() > SAME * extent:
        raise DescriptionError(
            f"mesh '{name}': expected the vertices of {asset.file}, found others: refpos, refquat "
            "and fitted meshes are not supported",
            file=read.path,
        )
    x, y, z = scale.tolist()
    factor = x if x == y == z > 0.0 else (x, y, z)
    return stamp(Mesh(file=portable_name(file), scale=factor, collision="link")), inside
