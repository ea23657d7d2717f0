"""Sensors in a run: the truth is read from the engine, and told with the sensors' errors.

A sample belongs to the instant of the controller at which it is read, like the contact forces: its
forces are those that the physics step before that instant was computed with.
"""

from __future__ import annotations

from typing import Any, Protocol

import mujoco
import numpy as np

from softgrasp.description.sensor import AnySensor, ForceTorqueSensor, TactileSensor
from softgrasp.mechanics.transforms import Array
from softgrasp.model.scene import BuiltScene
from softgrasp.simulation.sensor_errors import Errors, SavedErrors
from softgrasp.simulation.sensor_reading import channels_of
from softgrasp.simulation.sensor_truth import truth_of


class Sensing:
    """All sensors of a running scene: what they measured at every control sample."""

    def __init__(self, built: BuiltScene) -> None:
        """Look at nothing yet.

        Args:
            built: A scene with sensors.
        """
        scene, self._model = built.scene, built.model
        self.names = [
            f"{sensor.name}.{channel}"
            for sensor in scene.sensors
            for channel in channels_of(sensor, scene.hand)
        ]
        self._truths = [truth_of(built, sensor) for sensor in scene.sensors]
        self._errors = Errors(scene.sensors, built)
        self._zero = np.zeros(len(self.names))
        self._tared = np.concatenate([_tared(built, sensor) for sensor in scene.sensors])
        self._true: list[Array] = []
        self._readings: list[Array] = []
        self._touching = _touch_sums(built)

    def start(self, data: mujoco.MjData) -> None:
        """Take the sample at the start, before any physics step.

        Args:
            data: The state at the start; not changed.
        """
        # the engine has computed no forces yet, and the run must begin as without sensors
        first = mujoco.MjData(self._model)
        first.qpos[:], first.qvel[:], first.ctrl[:] = data.qpos, data.qvel, data.ctrl
        mujoco.mj_forward(self._model, first)
        self._zero = np.where(self._tared, self._read(first), 0.0)
        self._take(first)

    def sample(self, row: int, data: mujoco.MjData) -> None:
        """Take the sample of a row; rows come one after the other.

        Args:
            row: Of the recording.
            data: The state behind the physics of this sample.
        """
        if row == 0:
            self.start(data)
        else:
            self._take(data)

    def felt(self) -> list[float]:
        """Sum of the taxels of each body in the last sample, not below zero, (nb,) [N]."""
        felt: list[float] = (self._touching @ self._readings[-1]).tolist()
        return felt

    def saved(self) -> SavedErrors:
        """What decides what is told from now on."""
        return self._errors.saved()

    def put_back(self, saved: SavedErrors) -> None:
        """Go on telling as from a state that was saved; the samples so far stay."""
        self._errors.put_back(saved)

    def recorded(self, rows: int) -> dict[str, Any]:
        """The arrays of a result, for its first rows."""
        return {
            "sensor_names": np.array(self.names),
            "sensor_values": np.array(self._readings[:rows]),
            "sensor_truth": np.array(self._true[:rows]),
        }

    def _read(self, data: mujoco.MjData) -> Array:
        return np.concatenate([truth.read(data) for truth in self._truths])

    def _take(self, data: mujoco.MjData) -> None:
        truth = self._read(data) - self._zero
        self._true.append(truth)
        self._readings.append(self._errors.measured(truth))


def _tared(built: BuiltScene, sensor: AnySensor) -> Array:
    tared = isinstance(sensor, ForceTorqueSensor) and sensor.tare
    return np.full(len(channels_of(sensor, built.scene.hand)), tared)


def _touch_sums(built: BuiltScene) -> Array:
    """Which channels make up what a body feels, (nb, ns)."""
    rows = [
        [
            float(isinstance(sensor, TactileSensor) and sensor.body == body)
            for sensor in built.scene.sensors
            for _ in channels_of(sensor, built.scene.hand)
        ]
        for body in built.bodies
    ]
    return np.array(rows)


class Sensed(Protocol):
    """A run that may have sensors."""

    sensing: Sensing | None

    @property
    def recording(self) -> Any:
        """Its rows."""


def sensed(run: Sensed) -> dict[str, Any]:
    """The sensors' arrays of a finished run; nothing where it has none."""
    return {} if run.sensing is None else run.sensing.recorded(run.recording.rows)
