"""Force and torque sensors: a site on a body, and MuJoCo's forces between it and its carrier."""

from __future__ import annotations

import mujoco

from softgrasp.build import names
from softgrasp.description.scene import GraspScene
from softgrasp.description.sensor import ForceTorqueSensor

PARTS = (
    ("force", mujoco.mjtSensor.mjSENS_FORCE),
    ("torque", mujoco.mjtSensor.mjSENS_TORQUE),
)


def add_force_sensors(spec: mujoco.MjSpec, scene: GraspScene) -> None:
    """Add the force and torque sensors of a scene; they have no say in its motion."""
    for sensor in scene.sensors:
        if isinstance(sensor, ForceTorqueSensor):
            site = spec.body(sensor.body).add_site(
                name=names.sensor_site(sensor.name),
                pos=list(sensor.pose.position),
                quat=list(sensor.pose.quaternion),
                size=[0.001] * 3,
                group=4,
            )
            for part, kind in PARTS:
                spec.add_sensor(
                    name=names.sensor_part(sensor.name, part),
                    type=kind,
                    objtype=mujoco.mjtObj.mjOBJ_SITE,
                    objname=site.name,
                )
