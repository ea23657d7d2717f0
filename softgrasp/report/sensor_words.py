"""What sensors told, in words and in a table."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from softgrasp.description.sensors import (
    AnySensor,
    ForceTorqueSensor,
    JointTorqueSensor,
    SensorErrors,
    TactileSensor,
)
from softgrasp.report.quantities import count
from softgrasp.simulation.result import GraspResult

_KINDS = {"tactile": "tactile", "force_torque": "force and torque", "joint_torque": "joint torque"}


class SensorRow(NamedTuple):
    """A sensor in the table of a report."""

    name: str
    kind: str
    location: str
    channels: int
    errors: str


def sensor_clause(result: GraspResult) -> str:
    """What there was to feel with, and the greatest of what was felt at the end."""
    readings = list(result.sensors.values())
    channels = sum(len(reading.channels) for reading in readings)
    parts = [f"{count(len(readings), 'sensor')} with {count(channels, 'channel')}"]
    pressed = [
        (float(reading.values[-1].sum()), reading.sensor.name)
        for reading in readings
        if isinstance(reading.sensor, TactileSensor)
    ]
    if pressed:
        force, name = max(pressed)
        parts.append(f"most on {name} at the end, {force:.3g} N")
    for reading in readings:
        if isinstance(reading.sensor, ForceTorqueSensor):
            force, torque = (float(np.linalg.norm(reading.values[-1, k : k + 3])) for k in (0, 3))
            parts.append(f"{reading.sensor.name} {force:.3g} N and {torque:.3g} N·m at the end")
            break
    return "; ".join(parts)


def sensor_rows(result: GraspResult) -> list[SensorRow]:
    """All sensors of a run."""
    return [
        SensorRow(
            name=name.replace("_", " "),
            kind=_KINDS[reading.sensor.type],
            location=_location_text(reading.sensor),
            channels=len(reading.channels),
            errors=_errors(reading.sensor),
        )
        for name, reading in result.sensors.items()
    ]


def _location_text(sensor: AnySensor) -> str:
    match sensor:
        case TactileSensor():
            return f"{sensor.body.replace('_', ' ')}, {sensor.rows} × {sensor.columns}"
        case ForceTorqueSensor():
            return f"before {sensor.body.replace('_', ' ')}" + (", tared" if sensor.tare else "")
        case JointTorqueSensor():
            return count(len(sensor.joints), "joint") if sensor.joints else "all rigid joints"


def _errors(sensor: SensorErrors) -> str:
    parts = [
        f"{name} {value:g}"
        for name in ("bias", "noise", "range", "resolution")
        if (value := getattr(sensor, name))
    ]
    parts += [f"delay {1e3 * sensor.delay:g} ms"] if sensor.delay else []
    torque = sensor.torque_errors if isinstance(sensor, ForceTorqueSensor) else None
    if torque is not None and torque != SensorErrors():
        parts.append(f"torques: {_errors(torque)}")
    return ", ".join(parts) or "none"
