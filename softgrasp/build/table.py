"""A table under the object: where its top is, where the object stands on it, and its geom."""

from __future__ import annotations

import mujoco
import numpy as np

from softgrasp.build.compiling import compiled
from softgrasp.build.names import OBJECT, TABLE
from softgrasp.build.objects import add_object
from softgrasp.build.shapes import COLLISION_GROUP
from softgrasp.description.geometry import Pose
from softgrasp.description.object import GraspObject, Table

THICKNESS = 0.05
"""[m]"""


def add_table(spec: mujoco.MjSpec, table: Table, under: Pose, name: str = TABLE) -> None:
    """Add a table that does not move, hidden: pictures show the floor at its height instead.

    Args:
        spec: The model to extend.
        table: The table, with a height.
        under: Pose of the object, below which its middle lies where it has none of its own.
        name: Of its body and geom.
    """
    assert table.height is not None  # filled in by build.placing.on_its_table
    x, y = table.center or under.position[:2]
    body = spec.worldbody.add_body(name=name, pos=[x, y, table.height - 0.5 * THICKNESS])
    body.add_geom(
        name=name,
        type=mujoco.mjtGeom.mjGEOM_BOX,
        size=[0.5 * table.size[0], 0.5 * table.size[1], 0.5 * THICKNESS],
        contype=0,
        conaffinity=0,
        group=COLLISION_GROUP,
    )


def lowest_of_object(described: GraspObject, pose: Pose) -> float:
    """World z of the lowest point of an object [m].

    It is measured as a distance to a far table, which the engine knows exactly for every shape.
    """
    spec = mujoco.MjSpec()
    spec.compiler.degree = False
    geoms = add_object(spec, described, pose, "fixed")
    reach = _reach(compiled(spec, described.name))
    below = pose.position[2] - 2.0 * reach
    add_table(spec, Table(height=below, size=(8.0 * reach, 8.0 * reach)), pose)
    model = compiled(spec, described.name)
    data = mujoco.MjData(model)
    mujoco.mj_kinematics(model, data)
    table = model.geom(TABLE).id
    gaps = [
        mujoco.mj_geomDistance(model, data, model.geom(name).id, table, 4.0 * reach, None)
        for name in geoms
    ]
    return below + float(min(gaps))


def _reach(model: mujoco.MjModel) -> float:
    """Radius of a ball around the object's frame that holds all its geoms [m]."""
    mine = np.flatnonzero(model.geom_bodyid == model.body(OBJECT).id)
    away = np.linalg.norm(model.geom_pos[mine], axis=1) + model.geom_rbound[mine]
    return float(away.max())
