"""How sensors fall short of the truth: bias, noise, saturation, quantisation and delay."""

from __future__ import annotations

import math
import zlib
from typing import Any, NamedTuple

import numpy as np

from softgrasp.description.sensor import AnySensor, ForceTorqueSensor, SensorErrors
from softgrasp.mechanics.transforms import Array
from softgrasp.model.scene import BuiltScene
from softgrasp.simulation.sensor_reading import channels_of


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
