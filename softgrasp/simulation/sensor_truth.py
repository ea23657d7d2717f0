"""What each kind of sensor would tell without errors, read from the state of the engine."""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol

import mujoco
import numpy as np

from softgrasp.description.sensor import (
    AnySensor,
    ForceTorqueSensor,
    JointTorqueSensor,
    TactileSensor,
)
from softgrasp.errors import BuildError
from softgrasp.mechanics.contact import TaxelGrid, distribute, taxel_grid
from softgrasp.mechanics.transforms import Array
from softgrasp.model import names
from softgrasp.model.scene import BuiltScene
from softgrasp.model.shapes import TOUCHING_GROUPS
from softgrasp.simulation.sensor_reading import channels_of

_BOX = np.array([[x, y, z] for x in (-1.0, 1.0) for y in (-1.0, 1.0) for z in (-1.0, 1.0)])


class Truth(Protocol):
    """Reads what a sensor would tell without errors."""

    def read(self, data: mujoco.MjData) -> Array:
        """The channels in the state of the last physics step, (n,)."""


def truth_of(built: BuiltScene, sensor: AnySensor) -> Truth:
    """What reads a sensor's channels.

    Raises:
        BuildError: It sits on a body without a surface that can touch.
    """
    model = built.model
    match sensor:
        case TactileSensor():
            return Touches.on(built, sensor)
        case ForceTorqueSensor():
            parts = [model.sensor(names.sensor_part(sensor.name, p)) for p in ("force", "torque")]
            return Wrench(tuple(int(part.adr[0]) for part in parts))
        case JointTorqueSensor():
            joints = channels_of(sensor, built.scene.hand)
            return Servos(np.array([model.actuator(joint).id for joint in joints]))


class Wrench(NamedTuple):
    """Force and torque on a sensor by all that is beyond it."""

    addresses: tuple[int, ...]

    def read(self, data: mujoco.MjData) -> Array:
        """Force and torque in the sensor's frame, (6,)."""
        force, torque = (data.sensordata[address : address + 3] for address in self.addresses)
        # MuJoCo tells what the carrier puts on the body
        return 0.0 - np.concatenate([force, torque])


class Servos(NamedTuple):
    """What servos put on their joints."""

    actuators: Any

    def read(self, data: mujoco.MjData) -> Array:
        """Torques or forces, (n,)."""
        return np.array(data.actuator_force[self.actuators])


class Touches(NamedTuple):
    """Normal forces on the taxels of a body."""

    model: mujoco.MjModel
    body: int
    geoms: frozenset[int]
    grid: TaxelGrid

    @classmethod
    def on(cls, built: BuiltScene, sensor: TactileSensor) -> Touches:
        """The taxels of a sensor.

        Raises:
            BuildError: Nothing of the body can touch.
        """
        model = built.model
        body = int(model.body(sensor.body).id)
        body_geoms = np.flatnonzero(model.geom_bodyid == body)
        body_geoms = body_geoms[np.isin(model.geom_group[body_geoms], TOUCHING_GROUPS)]
        if not body_geoms.size:
            raise BuildError(
                f"sensors: {sensor.name}: expected a body with a surface that can touch, found "
                f"'{sensor.body}' without"
            )
        corners = np.concatenate([_corners(model, int(geom)) for geom in body_geoms])
        grid = taxel_grid(corners, sensor.rows, sensor.columns)
        return cls(model, body, frozenset(body_geoms.tolist()), grid)

    def read(self, data: mujoco.MjData) -> Array:
        """Forces of the taxels, row by row, (rows · columns,) [N]."""
        if not data.ncon:
            return np.zeros(self.grid.rows * self.grid.columns)
        touching = [
            index
            for index, (first, second) in enumerate(data.contact.geom.tolist())
            if first in self.geoms or second in self.geoms
        ]
        if not touching:
            return np.zeros(self.grid.rows * self.grid.columns)
        force, pressing = np.zeros(6), []
        for index in touching:
            mujoco.mj_contactForce(self.model, data, index, force)
            pressing.append(float(force[0]))
        frame = data.xmat[self.body].reshape(3, 3)
        points = (data.contact.pos[touching] - data.xpos[self.body]) @ frame
        return distribute(self.grid, points, np.array(pressing)).ravel()


def _corners(model: mujoco.MjModel, geom: int) -> Array:
    """Corners of a geom's bounding box in the frame of its body [m], (8, 3)."""
    box, rotation_matrix = model.geom_aabb[geom], np.zeros(9)
    mujoco.mju_quat2Mat(rotation_matrix, model.geom_quat[geom])
    return np.asarray(
        (box[:3] + _BOX * box[3:]) @ rotation_matrix.reshape(3, 3).T + model.geom_pos[geom]
    )
