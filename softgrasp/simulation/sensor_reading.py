"""What sensors told in a run, sensor by sensor."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from softgrasp.description.scene_validation import servo_joints
from softgrasp.description.sensor import (
    AnySensor,
    ForceTorqueSensor,
    JointTorqueSensor,
    TactileSensor,
)
from softgrasp.mechanics.transforms import Array

if TYPE_CHECKING:
    from softgrasp.description.hand import Hand
    from softgrasp.description.scene import GraspScene

WRENCH = ("fx", "fy", "fz", "tx", "ty", "tz")


@dataclass(frozen=True)
class SensorReading:
    """The channels of one sensor over a run of T control samples."""

    sensor: AnySensor
    channels: tuple[str, ...]
    """Names within the sensor: ``r0c3``, ``fx``, or a joint."""
    values: Array
    """What it told, (T, n) [N, N·m]."""
    truth: Array
    """Without its errors, (T, n) [N, N·m]."""

    @property
    def taxels(self) -> Array:
        """Values of a tactile sensor as maps, (T, rows, columns) [N].

        Raises:
            TypeError: It is another kind of sensor.
        """
        if not isinstance(self.sensor, TactileSensor):
            raise TypeError(f"expected a tactile sensor, found one of {self.sensor.type}")
        return self.values.reshape(-1, self.sensor.rows, self.sensor.columns)


def channels_of(sensor: AnySensor, hand: Hand) -> tuple[str, ...]:
    """Names of a sensor's channels within it."""
    match sensor:
        case TactileSensor():
            return tuple(f"r{r}c{c}" for r in range(sensor.rows) for c in range(sensor.columns))
        case ForceTorqueSensor():
            return WRENCH
        case JointTorqueSensor():
            return sensor.joints or tuple(servo_joints(hand))


def readings(
    scene: GraspScene,
    names: NDArray[np.str_] | None,
    values: Array | None,
    truth: Array | None,
) -> dict[str, SensorReading]:
    """The channels of a run by sensor; empty where there were none."""
    if names is None or values is None or truth is None:
        return {}
    readings_by_name, first = {}, 0
    for sensor in scene.sensors:
        channels = channels_of(sensor, scene.hand)
        columns = slice(first, first + len(channels))
        readings_by_name[sensor.name] = SensorReading(
            sensor, channels, values[:, columns], truth[:, columns]
        )
        first = columns.stop
    return readings_by_name
