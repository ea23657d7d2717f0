"""Deformable objects as MuJoCo flexes: nodes with the mass, and a skin that shows the surface.

The nodes are bodies on three slides each, children of the body ``object``, which stays at the start
pose. They are on the corners of one trilinear cell around the object, or of a few. The visible
surface is a skin with the same shape functions, so it deforms as the solid does; the flex itself is
hidden.
"""

from __future__ import annotations

from typing import Any

import mujoco
import numpy as np
from scipy.spatial.transform import Rotation

from softgrasp.description.contact import Contact
from softgrasp.description.geometry import Cuboid, Cylinder, Ellipsoid, ObjectShape, Pose, Sphere
from softgrasp.description.object import Elasticity, GraspObject
from softgrasp.description.scene import Solver
from softgrasp.mechanics.transforms import Array
from softgrasp.model.contact_pairs import torsion_of
from softgrasp.model.names import OBJECT
from softgrasp.model.object import object_mass
from softgrasp.model.shapes import SKINNED_GROUP, TOUCHING_GROUPS, surface_of

COLLIDES = 2
"""Bit of contype with which a flex touches hand and table; all other contacts are pairs."""
POINTS_OF_A_CELL, MIN_POINTS = 2, 4
"""Intervals of surface points along the edge of a cell, and smallest number of points."""
ROUNDED = 1e-3
"""Rounding radius of the surface, by which its points are inside [m]."""
HIDDEN_GROUP = 5
"""Geom group that is not drawn."""
FLEX_TYPES = {"cuboid": "grid", "sphere": "ellipsoid", "ellipsoid": "ellipsoid"}
"""Types of MuJoCo flexes for shapes with another name."""

# Model


def add_deformable(
    spec: mujoco.MjSpec, described: GraspObject, pose: Pose, contact: Contact, solver: Solver
) -> None:
    """Add a deformable object.

    Args:
        spec: The model with everything that the object can touch.
        described: The object, with an elasticity.
        pose: Pose of its frame at the centre of mass in the world.
        contact: Friction; the stiffness is that of the elasticity and the native contact.
        solver: Contact dimension.
    """
    elastic = described.elasticity
    assert elastic is not None
    for geom in spec.geoms:
        if geom.group in TOUCHING_GROUPS and geom.parent.name != "world":
            geom.conaffinity |= COLLIDES
    base = spec.worldbody.add_body(name=OBJECT, pos=list(pose.position), quat=list(pose.quaternion))
    size, known = full_size(described.shape), {body.name for body in spec.bodies}
    flex = base.make_flex(name=OBJECT, **_grid(described, elastic, size))
    flex.young, flex.poisson, flex.damping = elastic.young, elastic.poisson, elastic.damping
    flex.selfcollide = mujoco.mjtFlexSelf.mjFLEXSELF_NONE
    flex.contype, flex.conaffinity, flex.priority = COLLIDES, 0, 1
    flex.condim, flex.group = solver.contact_dimension, HIDDEN_GROUP
    flex.friction = [contact.static_friction, torsion_of(contact), contact.rolling_friction]
    flex.solref = [elastic.contact_time, 1.0]
    nodes = [body for body in spec.bodies if body.name not in known]
    _add_shade(nodes, described.shape, size)
    _add_skin(spec, described, nodes)


def full_size(shape: ObjectShape) -> Array:
    """Compute the size of the bounding box of a deformable shape, (3,) [m]."""
    match shape:
        case Sphere():
            return np.full(3, 2.0 * shape.radius)
        case Ellipsoid():
            return 2.0 * np.array(shape.radii)
        case Cylinder():
            return np.array([2.0 * shape.radius, 2.0 * shape.radius, shape.height])
        case Cuboid():
            return np.array(shape.size)
    raise TypeError(f"expected a shape that can be deformable, found {shape.type}")


def _grid(described: GraspObject, elastic: Elasticity, size: Array) -> dict[str, Any]:
    """Return the options of ``make_flex`` for the grid of an object."""
    kind = described.shape.type
    count = [max(POINTS_OF_A_CELL * cells + 1, MIN_POINTS) for cells in elastic.cells]
    if kind != "cuboid":
        count = [max(count) + 1] * 3  # round shapes need more points
    inner = size - 2.0 * ROUNDED
    grid: dict[str, Any] = {
        "type": FLEX_TYPES.get(kind, kind),
        "dim": 3,
        "dof": "trilinear",
        "count": count,
        "spacing": (inner / (np.array(count) - 1)).tolist(),
        "mass": object_mass(described),
        "radius": ROUNDED,
    }
    return grid if elastic.cells == (1, 1, 1) else grid | {"cellcount": list(elastic.cells)}


def _add_shade(nodes: list[Any], shape: ObjectShape, size: Array) -> None:
    """Add invisible geoms at outer corners, for shadows and for the framing of images."""
    box = isinstance(shape, Cuboid)
    corners = [node for node in nodes if (np.abs(node.pos) > 0.8 * 0.5 * size).all()]
    for node in corners:
        node.add_geom(
            name=node.name,
            type=mujoco.mjtGeom.mjGEOM_BOX if box else mujoco.mjtGeom.mjGEOM_ELLIPSOID,
            size=(0.24 * size).tolist(),
            pos=((-0.5 if box else -0.73) * np.array(node.pos)).tolist(),
            group=SKINNED_GROUP,
            contype=0,
            conaffinity=0,
            mass=0.0,
        )


def _add_skin(spec: mujoco.MjSpec, described: GraspObject, nodes: list[Any]) -> None:
    """Add the skin that the nodes deform."""
    vertices, faces = surface_of(described.shape)
    positions = np.array([node.pos for node in nodes])
    weights = _shape_functions(vertices, positions)
    # an inner node carries no part of the surface
    kept = np.flatnonzero(weights.any(axis=0))
    weights, positions = weights[:, kept], positions[kept]
    nodes = [nodes[index] for index in kept.tolist()]
    carried = [np.flatnonzero(column > 0.0) for column in weights.T]
    spec.add_skin(
        name=f"{OBJECT}_surface",  # dm_control has one namespace for skins and flexes
        rgba=described.rgba,
        vert=vertices.ravel().tolist(),
        face=faces.ravel().tolist(),
        bodyname=[node.name for node in nodes],
        bindpos=positions.ravel().tolist(),
        bindquat=[1.0, 0.0, 0.0, 0.0] * len(nodes),
        vertid=[influences.tolist() for influences in carried],
        vertweight=[
            weights[influences, index].tolist() for index, influences in enumerate(carried)
        ],
    )


def _shape_functions(points: Array, nodes: Array) -> Array:
    """Compute the trilinear weights of grid nodes for points inside the grid, (n, nn).

    Points outside, by at most the rounding of the surface, move with the border.
    """
    weights = np.ones((len(points), len(nodes)))
    for axis in range(3):
        levels = np.unique(nodes[:, axis].round(9))
        inside = np.clip(points[:, axis], levels[0], levels[-1])
        hats = np.array([np.interp(inside, levels, row) for row in np.eye(len(levels))])
        weights *= hats[np.abs(levels[:, None] - nodes[:, axis]).argmin(axis=0)].T
    return weights


# Motion of the nodes


def node_bodies(model: mujoco.MjModel) -> list[int]:
    """Return the bodies of the nodes; empty for a rigid object."""
    if model.nflex == 0:
        return []
    return [i for i in range(model.nbody) if model.body_parentid[i] == model.body(OBJECT).id]


def node_columns(model: mujoco.MjModel) -> Any:
    """Return the columns of the nodes in ``qpos``, (nn, 3)."""
    first = [int(model.jnt_qposadr[model.body_jntadr[node]]) for node in node_bodies(model)]
    return np.array(first)[:, None] + np.arange(3)


def node_track(model: mujoco.MjModel, qpos: Array) -> Array:
    """Compute the positions of the nodes for rows of ``qpos``, (T, nn, 3) [m], world frame."""
    nodes, obj = node_bodies(model), model.body(OBJECT)
    local = model.body_pos[nodes] + qpos[:, node_columns(model)]
    rotation = Rotation.from_quat(obj.quat, scalar_first=True).as_matrix()
    return np.asarray(local @ rotation.T + obj.pos)


def node_positions(model: mujoco.MjModel, positions: Array) -> Array:
    """Compute ``qpos`` of the nodes, (nn, 3), from positions in the world, (nn, 3) [m]."""
    nodes, obj = node_bodies(model), model.body(OBJECT)
    rotation = Rotation.from_quat(obj.quat, scalar_first=True).as_matrix()
    return np.asarray((positions - obj.pos) @ rotation - model.body_pos[nodes])


def rigid_track(model: mujoco.MjModel, positions: Array) -> tuple[Array, Array]:
    """Fit rigid motions to the nodes: centre of mass, (T, 3) [m], and quaternion, (T, 4).

    The rotation is that of Kabsch (1976).

    Args:
        model: The model.
        positions: Positions of the nodes, (T, nn, 3) [m], world frame.
    """
    nodes, obj = node_bodies(model), model.body(OBJECT)
    mass = model.body_mass[nodes] / model.body_mass[nodes].sum()
    centre = np.einsum("n,tnx->tx", mass, positions)
    rest = model.body_pos[nodes] - mass @ model.body_pos[nodes]
    spread = np.einsum("n,tnx,ny->txy", mass, positions - centre[:, None], rest)
    left, _, right = np.linalg.svd(spread)
    left[:, :, 2] *= np.sign(np.linalg.det(left @ right))[:, None]
    quaternions = Rotation.from_matrix(left @ right).as_quat(scalar_first=True)
    quaternions[(quaternions @ np.asarray(obj.quat)) < 0.0] *= -1.0
    return centre, np.asarray(quaternions)
