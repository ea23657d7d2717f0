"""Sensors of a run: taxels, force-torque and joint-torque sensors, with measurement errors.

True values are read from the engine; bias, noise, saturation, quantisation and delay are added. A
sample belongs to the control sample at which it is read, like the contact forces: its forces are
those of the physics step before it.
"""

from __future__ import annotations

import math
import zlib
from typing import Any, NamedTuple, Protocol

import mujoco
import numpy as np
from numpy.typing import NDArray

from softgrasp.description.hand import Hand
from softgrasp.description.scene_validation import servo_joints
from softgrasp.description.sensor import (
    AnySensor,
    ForceTorqueSensor,
    JointTorqueSensor,
    SensorErrors,
    TactileSensor,
)
from softgrasp.errors import BuildError
from softgrasp.mechanics.taxels import TaxelGrid, distribute, taxel_grid
from softgrasp.mechanics.transforms import Array
from softgrasp.model import names
from softgrasp.model.scene import CompiledScene
from softgrasp.model.shapes import TOUCHING_GROUPS

WRENCH = ("fx", "fy", "fz", "tx", "ty", "tz")
_BOX = np.array([[x, y, z] for x in (-1.0, 1.0) for y in (-1.0, 1.0) for z in (-1.0, 1.0)])


def channels_of(sensor: AnySensor, hand: Hand) -> tuple[str, ...]:
    """Return the names of a sensor's channels."""
    match sensor:
        case TactileSensor():
            return tuple(f"r{r}c{c}" for r in range(sensor.rows) for c in range(sensor.columns))
        case ForceTorqueSensor():
            return WRENCH
        case JointTorqueSensor():
            return sensor.joints or tuple(servo_joints(hand))


class Sensing:
    """All sensors of a running scene and their readings at every control sample."""

    def __init__(self, built: CompiledScene) -> None:
        """Prepare the sensors.

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
        """Record the sample at the start, before any physics step.

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
        """Record the control sample of a row; rows are recorded in order.

        Args:
            row: Row of the recording.
            data: The state after the physics step of this sample.
        """
        if row == 0:
            self.start(data)
        else:
            self._take(data)

    def felt(self) -> list[float]:
        """Return the sum of the taxels of each body at the last sample, (nb,) [N]."""
        felt: list[float] = (self._touching @ self._readings[-1]).tolist()
        return felt

    def saved(self) -> SavedErrors:
        """Return the state of the sensor errors, on which coming readings depend."""
        return self._errors.saved()

    def put_back(self, saved: SavedErrors) -> None:
        """Restore a saved error state; recorded samples are kept."""
        self._errors.put_back(saved)

    def recorded(self, rows: int) -> dict[str, Any]:
        """Return the sensor arrays of a result for its first rows."""
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


def _tared(built: CompiledScene, sensor: AnySensor) -> Array:
    tared = isinstance(sensor, ForceTorqueSensor) and sensor.tare
    return np.full(len(channels_of(sensor, built.scene.hand)), tared)


def _touch_sums(built: CompiledScene) -> Array:
    """Make the matrix that sums the taxels of each body, (nb, ns)."""
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
    """Interface of a run that may have sensors."""

    sensing: Sensing | None

    @property
    def recording(self) -> Any:
        """Recorded rows."""


def sensed(run: Sensed) -> dict[str, Any]:
    """Return the sensors' arrays of a finished run; empty without sensors."""
    return {} if run.sensing is None else run.sensing.recorded(run.recording.rows)


class Truth(Protocol):
    """Interface of a reader of a sensor's ideal values."""

    def read(self, data: mujoco.MjData) -> Array:
        """Return the channels in the state of the last physics step, (n,)."""


def truth_of(built: CompiledScene, sensor: AnySensor) -> Truth:
    """Make the reader of a sensor's ideal values.

    Raises:
        BuildError: Its body has no surface that can touch.
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
            return JointTorques(np.array([int(model.joint(joint).dofadr[0]) for joint in joints]))


class Wrench(NamedTuple):
    """Reads the force and torque that distal bodies exert on a sensor."""

    addresses: tuple[int, ...]

    def read(self, data: mujoco.MjData) -> Array:
        """Return force and torque in the sensor frame, (6,) [N, N·m]."""
        force, torque = (data.sensordata[address : address + 3] for address in self.addresses)
        # MuJoCo measures the reaction of the proximal body
        return 0.0 - np.concatenate([force, torque])


class JointTorques(NamedTuple):
    """Torques that actuators, tendons and springs transmit to joints."""

    dofs: NDArray[np.int64]
    """Degrees of freedom of the joints, (n,)."""

    def read(self, data: mujoco.MjData) -> Array:
        """Return torques or forces, (n,) [N·m or N]."""
        return np.asarray(data.qfrc_actuator[self.dofs] + data.qfrc_spring[self.dofs])


class Touches(NamedTuple):
    """Reads the normal forces on the taxels of a body."""

    model: mujoco.MjModel
    body: int
    geoms: frozenset[int]
    grid: TaxelGrid

    @classmethod
    def on(cls, built: CompiledScene, sensor: TactileSensor) -> Touches:
        """Place the taxels of a sensor on its body.

        Raises:
            BuildError: No surface of the body can touch.
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
        """Return forces of the taxels, row by row, (rows · columns,) [N]."""
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
    """Return the corners of a geom's bounding box in its body frame, (8, 3) [m]."""
    box, rotation_matrix = model.geom_aabb[geom], np.zeros(9)
    mujoco.mju_quat2Mat(rotation_matrix, model.geom_quat[geom])
    return np.asarray(
        (box[:3] + _BOX * box[3:]) @ rotation_matrix.reshape(3, 3).T + model.geom_pos[geom]
    )


class SavedErrors(NamedTuple):
    """State of delayed and noisy sensor channels."""

    history: list[Array]
    """Delayed values, the last sample last."""
    streams: list[Any]
    """States of the sensors' random generators."""


class Errors:
    """Bias, noise, saturation, quantisation and delay of all channels, sample by sample."""

    def __init__(self, sensors: tuple[AnySensor, ...], built: CompiledScene) -> None:
        """Start without samples.

        Args:
            sensors: The sensors.
            built: Their scene, for its hand, seed and control period.
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
        """Return the readings of a sample with known true values, (ns,)."""
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
        """Return the present state of the channels."""
        return SavedErrors([*self._history], [rng.bit_generator.state for rng, _ in self._streams])

    def put_back(self, saved: SavedErrors) -> None:
        """Restore a saved state, which remains valid."""
        self._history = [*saved.history]
        for (rng, _), state in zip(self._streams, saved.streams, strict=True):
            rng.bit_generator.state = state


def samples_of_delay(delay: float, period: float) -> int:
    """Round a delay [s] up to control samples."""
    return math.ceil(delay / period - 1e-9)


def _stream(seed: int, name: str) -> np.random.Generator:
    """Return a random generator of one sensor, independent of the other sensors."""
    key = zlib.crc32(name.encode())
    return np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(key,)))


def _of_channels(sensor: AnySensor, count: int) -> list[SensorErrors]:
    if isinstance(sensor, ForceTorqueSensor):
        return [sensor] * 3 + [sensor.torque_errors] * 3
    return [sensor] * count
