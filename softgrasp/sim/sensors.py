"""Sensors of a run: taxels, force-torque and joint-torque sensors, with measurement errors.

True values, in the frame of the sensor, go through the chain of an amplifier (``Errors``): bias,
drift and noise, delay, range, resolution, tare. A sample belongs to the control sample at which it
is read, like the contact forces: its forces are those of the physics step before it.
"""

from __future__ import annotations

import math
import warnings
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
from softgrasp.errors import BuildError, SoftgraspWarning
from softgrasp.mechanics.geometry import TaxelGrid, distribute, taxel_grid
from softgrasp.mechanics.transforms import Array
from softgrasp.model import names
from softgrasp.model.scene import CompiledScene
from softgrasp.model.shapes import TOUCHING_GROUPS

ROUNDING = 1e-12
"""Relative tolerance within which a range is a multiple of a resolution."""
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
        self._skins = [truth for truth in self._truths if isinstance(truth, Touches)]
        self._errors = Errors(scene.sensors, built)
        self._zero = np.zeros(len(self.names))
        self._true: list[Array] = []
        self._readings: list[Array] = []
        self._touching = _touch_sums(built)
        if scene.closure.sense == "sensor":
            _warn_of_bodies_without_skin(built)

    def start(self, data: mujoco.MjData) -> None:
        """Record the sample at the start, before any physics step.

        Args:
            data: The state at the start; not changed.
        """
        # the engine has computed no forces yet, and the run must begin as without sensors
        first = mujoco.MjData(self._model)
        first.qpos[:], first.qvel[:], first.ctrl[:] = data.qpos, data.qvel, data.ctrl
        mujoco.mj_forward(self._model, first)
        truth = self._read(first)
        self._errors.tare(truth)
        self._zero = np.where(self._errors.tared, truth, 0.0)
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
        """Return the sum of the taxels of each body at the last sample, (nb,) [N].

        What the hand presses on itself is subtracted, as a controller does that knows its posture.
        """
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
            "sensor_values": np.array(self._readings[:rows])[:, : len(self.names)],
            "sensor_truth": np.array(self._true[:rows])[:, : len(self.names)],
        }

    def _read(self, data: mujoco.MjData) -> Array:
        """Return all channels, then the force of the hand on itself for each skin."""
        channels = [truth.read(data) for truth in self._truths]
        return np.concatenate([*channels, [skin.force_of_hand(data) for skin in self._skins]])

    def _take(self, data: mujoco.MjData) -> None:
        truth = self._read(data)
        self._true.append(truth - self._zero)
        self._readings.append(self._errors.measured(truth, data.time))


def _touch_sums(built: CompiledScene) -> Array:
    """Make the matrix that sums what others press on the taxels of each body, (nb, ns)."""
    sensors, hand = built.scene.sensors, built.scene.hand
    skins = [sensor for sensor in sensors if isinstance(sensor, TactileSensor)]
    owners = [
        sensor.body if isinstance(sensor, TactileSensor) else ""
        for sensor in sensors
        for _ in channels_of(sensor, hand)
    ]
    signs = [1.0] * len(owners) + [-1.0] * len(skins)
    taxels = np.array([*owners, *(skin.body for skin in skins)])
    return np.array([np.where(taxels == body, signs, 0.0) for body in built.bodies])


def _warn_of_bodies_without_skin(built: CompiledScene) -> None:
    """Name the bodies whose contact would stop a joint and that feel nothing."""
    skins = {s.body for s in built.scene.sensors if isinstance(s, TactileSensor)}
    stopping = {body for actuator in built.scene.actuators for body in actuator.stops}
    numb = [body for body in built.bodies if body in stopping - skins]
    if numb:
        warnings.warn(
            f"closure.sense: {', '.join(numb)} detect no contact, as they have no tactile sensor; "
            "add one to each (sensors), or use sense: force",
            SoftgraspWarning,
            stacklevel=2,
        )


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
            located = [model.joint(joint) for joint in joints]
            compensated = [not model.jnt_actgravcomp[joint.id] for joint in located]
            return JointTorques(
                np.array([int(joint.dofadr[0]) for joint in located]), np.array(compensated, float)
            )


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
    compensated: Array
    """1 where the compensation of weights is not a part of the actuator's force, (n,)."""

    def read(self, data: mujoco.MjData) -> Array:
        """Return torques or forces, (n,) [N·m or N]."""
        weights = self.compensated * data.qfrc_gravcomp[self.dofs]
        return np.asarray(data.qfrc_actuator[self.dofs] + data.qfrc_spring[self.dofs] + weights)


class Touches(NamedTuple):
    """Reads the normal forces on the taxels of a body."""

    model: mujoco.MjModel
    body: int
    geoms: frozenset[int]
    hand: frozenset[int]
    """Geoms of the hand."""
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
        bodies = [model.body(name).id for name in built.bodies]
        hand = np.flatnonzero(np.isin(model.geom_bodyid, bodies))
        return cls(model, body, frozenset(body_geoms.tolist()), frozenset(hand.tolist()), grid)

    def read(self, data: mujoco.MjData) -> Array:
        """Return forces of the taxels, row by row, (rows · columns,) [N]."""
        touching = self._touching(data)
        if not touching:
            return np.zeros(self.grid.rows * self.grid.columns)
        pressing = self._forces(data, touching)
        frame = data.xmat[self.body].reshape(3, 3)
        points = (data.contact.pos[touching] - data.xpos[self.body]) @ frame
        return distribute(self.grid, points, np.array(pressing)).ravel()

    def force_of_hand(self, data: mujoco.MjData) -> float:
        """Return the sum of the normal forces of other bodies of the hand [N]."""
        pairs = data.contact.geom.tolist() if data.ncon else []
        return math.fsum(
            self._forces(data, [k for k in self._touching(data) if self.hand.issuperset(pairs[k])])
        )

    def _touching(self, data: mujoco.MjData) -> list[int]:
        """Return the indices of the contacts of the body."""
        pairs = data.contact.geom.tolist() if data.ncon else []
        return [
            index
            for index, (first, second) in enumerate(pairs)
            if first in self.geoms or second in self.geoms
        ]

    def _forces(self, data: mujoco.MjData, contacts: list[int]) -> list[float]:
        """Return normal forces of contacts by their indices [N]."""
        force, normal = np.zeros(6), []
        for index in contacts:
            mujoco.mj_contactForce(self.model, data, index, force)
            normal.append(float(force[0]))
        return normal


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
    """Values before the delay, the last sample last."""
    streams: list[Any]
    """States of the sensors' random generators."""


class Errors:
    """Chain of errors of all channels, sample by sample, in the order of ``SensorErrors``.

    After the channels come those of ``Sensing`` that only have the delay of their skin.
    """

    def __init__(self, sensors: tuple[AnySensor, ...], built: CompiledScene) -> None:
        """Start without samples.

        Args:
            sensors: The sensors.
            built: Their scene, for its hand, seed and control period.
        """
        hand, period = built.scene.hand, built.scene.control_period
        skins = [SensorErrors(delay=s.delay) for s in sensors if isinstance(s, TactileSensor)]
        each = [_of_channels(s, len(channels_of(s, hand))) for s in sensors]
        flat = [*(errors for of_sensor in each for errors in of_sensor), *skins]
        self._bias = np.array([errors.bias for errors in flat])
        self._drift = np.array([errors.drift for errors in flat])
        self._noise = np.array([errors.noise for errors in flat])
        self._step = np.array([errors.resolution for errors in flat])
        limits = np.array([errors.range or math.inf for errors in flat])
        steps = np.where(self._step > 0.0, self._step, 1.0)
        levels = np.floor(limits / steps * (1.0 + ROUNDING)) * steps
        self._limit = np.where((self._step > 0.0) & np.isfinite(limits), levels, limits)
        """Largest reading: the last multiple of the resolution within the range."""
        counts = [len(of_sensor) for of_sensor in each]
        delays = [s.delay for s, n in zip(sensors, counts, strict=True) for _ in range(n)]
        delays += [skin.delay for skin in skins]
        self._age = np.array([samples_of_delay(delay, period) for delay in delays], dtype=int)
        tares = [isinstance(s, ForceTorqueSensor) and s.tare for s in sensors]
        self.tared = np.array([*np.repeat(tares, counts), *[False] * len(skins)], dtype=bool)
        """Mask of the channels that are tared, (ns,)."""
        self._zero = np.zeros(len(flat))
        seed = built.scene.seed
        self._streams = [(_stream(seed, s.name), n) for s, n in zip(sensors, counts, strict=True)]
        self._clean = np.zeros(len(skins))
        self._noisy = bool(self._noise.any())
        self._history: list[Array] = []
        self._channels = np.arange(len(flat))

    def tare(self, truth: Array) -> None:
        """Subtract the readings of a state from now on, without their noise, where tared."""
        self._zero = np.where(self.tared, self._converted(truth + self._bias), 0.0)

    def measured(self, truth: Array, time: float) -> Array:
        """Return the readings of a sample with known true values at a time [s], (ns,)."""
        value = truth + self._bias + self._drift * time
        if self._noisy:
            noise = [rng.standard_normal(count) for rng, count in self._streams]
            value += self._noise * np.concatenate([*noise, self._clean])
        self._history.append(value)
        del self._history[: -(int(self._age.max(initial=0)) + 1)]
        last = len(self._history) - 1
        recent = np.array(self._history)[np.maximum(last - self._age, 0), self._channels]
        return np.asarray(self._converted(recent) - self._zero)

    def _converted(self, value: Array) -> Array:
        """Return values clipped at the range and rounded to the resolution."""
        steps = np.where(self._step > 0.0, self._step, 1.0)
        rounded = np.where(self._step > 0.0, np.round(value / steps) * steps, value)
        return np.asarray(np.clip(rounded, -self._limit, self._limit))

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
