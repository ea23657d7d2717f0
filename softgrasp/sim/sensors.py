"""Sensors in a run: the truth is read from the engine, and told with the sensors' errors.

A sample belongs to the instant of the controller at which it is read, like the contact forces: its
forces are those that the physics step before that instant was computed with.
"""

from __future__ import annotations

import math
import zlib
from typing import Any, NamedTuple, Protocol

import mujoco
import numpy as np

from softgrasp.description.sensor import (
    AnySensor,
    ForceTorqueSensor,
    JointTorqueSensor,
    SensorErrors,
    TactileSensor,
)
from softgrasp.errors import BuildError
from softgrasp.mechanics.contact import TaxelGrid, distribute, taxel_grid
from softgrasp.mechanics.transforms import Array
from softgrasp.model import names
from softgrasp.model.scene import BuiltScene
from softgrasp.model.shapes import TOUCHING_GROUPS
from softgrasp.sim.result import channels_of


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


# --------------------
# What each kind of sensor would tell without errors, read from the state of the engine.


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


# --------------------
# How sensors fall short of the truth: bias, noise, saturation, quantisation and delay.


class SavedErrors(NamedTuple):
    """How delayed and noisy channels go on."""

    history: list[Array]
    """What is still to be told, the last sample last."""
    streams: list[Any]
    """States of the sensors' random numbers."""


class Errors:
    """Bias, noise, saturation, quantisation and delay of all channels, sample by sample."""

    def __init__(self, sensors: tuple[AnySensor, ...], built: BuiltScene) -> None:
        """Nothing has been told yet.

        Args:
            sensors: The sensors.
            built: Their scene: its hand, its seed and its control period.
        """
        hand, period = built.scene.hand, built.scene.control_period
        each = [_of_channels(s, len(channels_of(s, hand))) for s in sensors]
        flat = [errors for errors_of_sensor in each for errors in errors_of_sensor]
        self._bias = np.array([errors.bias for errors in flat])
        self._noise = np.array([errors.noise for errors in flat])
        self._range = np.array([errors.range or math.inf for errors in flat])
        self._step = np.array([errors.resolution for errors in flat])
        ages = [
            samples_of_delay(sensor.delay, period)
            for sensor, errors_of_sensor in zip(sensors, each, strict=True)
            for _ in errors_of_sensor
        ]
        self._age = np.array(ages, dtype=int)
        self._streams = [
            (_stream(built.scene.seed, s.name), len(errors_of_sensor))
            for s, errors_of_sensor in zip(sensors, each, strict=True)
        ]
        self._noisy = bool(self._noise.any())
        self._history: list[Array] = []
        self._channels = np.arange(len(flat))

    def measured(self, truth: Array) -> Array:
        """What the sensors tell at a sample whose truth is known, (ns,)."""
        value = truth + self._bias
        if self._noisy:
            noise = np.concatenate([rng.standard_normal(n) for rng, n in self._streams])
            value += self._noise * noise
        value = np.clip(value, -self._range, self._range)
        steps = np.where(self._step > 0.0, self._step, 1.0)
        value = np.where(self._step > 0.0, np.round(value / steps) * steps, value)
        self._history.append(value)
        del self._history[: -(int(self._age.max(initial=0)) + 1)]
        last = len(self._history) - 1
        recent = np.array(self._history)
        return np.asarray(recent[np.maximum(last - self._age, 0), self._channels])

    def saved(self) -> SavedErrors:
        """How the channels go on from here."""
        return SavedErrors([*self._history], [rng.bit_generator.state for rng, _ in self._streams])

    def put_back(self, saved: SavedErrors) -> None:
        """Go on as from a state that was saved, which may be used again."""
        self._history = [*saved.history]
        for (rng, _), state in zip(self._streams, saved.streams, strict=True):
            rng.bit_generator.state = state


def samples_of_delay(delay: float, period: float) -> int:
    """Whole control samples after which something so late is there."""
    return math.ceil(delay / period - 1e-9)


def _stream(seed: int, name: str) -> np.random.Generator:
    """Random numbers of one sensor, whatever others there are."""
    key = zlib.crc32(name.encode())
    return np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(key,)))


def _of_channels(sensor: AnySensor, count: int) -> list[SensorErrors]:
    if isinstance(sensor, ForceTorqueSensor):
        return [sensor] * 3 + [sensor.torque_errors] * 3
    return [sensor] * count
