"""Frequency and damping recovered from made-up vibrations."""

from __future__ import annotations

import math

import numpy as np
import pytest

from softgrasp.comparison.criteria import vibration, window
from softgrasp.sim.soft_dynamics import LinearMode

TIME = np.arange(0.0, 2.0, 1e-3)


def swing(frequency: float, ratio: float) -> np.ndarray:
    decay = LinearMode(frequency, ratio).decay
    return np.exp(-decay * TIME) * np.cos(2 * math.pi * frequency * TIME + 0.3)


@pytest.mark.parametrize(("frequency", "ratio"), [(10.4, 0.118), (10.4, 0.02), (3.0, 0.3)])
def test_one_mode_is_found_to_rounding(frequency: float, ratio: float) -> None:
    expected = LinearMode(0.9 * frequency, 1.1 * ratio)
    result = vibration(TIME, 7.0 + 0.02 * swing(frequency, ratio), expected)
    assert result.frequency == pytest.approx(frequency, rel=1e-6)
    assert result.ratio == pytest.approx(ratio, rel=1e-6)
    assert result.residual < 1e-6


def test_a_faster_mode_that_dies_away_does_not_disturb() -> None:
    signal = swing(10.4, 0.118) + 0.3 * swing(60.0, 0.12)
    result = vibration(TIME, signal, LinearMode(10.4, 0.118))
    assert result.frequency == pytest.approx(10.4, rel=1e-3)
    assert result.ratio == pytest.approx(0.118, rel=1e-2)


def test_what_is_too_short_or_does_not_swing_is_not_a_number() -> None:
    mode = LinearMode(10.4, 0.118)
    start, end = window(mode, 2.0)
    assert 0.0 < start < end < 2.0
    short = start + 0.05 >= TIME
    assert math.isnan(vibration(TIME[short], swing(10.4, 0.118)[short], mode).frequency)
    assert math.isnan(vibration(TIME, np.exp(-TIME), LinearMode(0.0, 1.0)).ratio)
    broken = swing(10.4, 0.118)
    broken[-1] = np.nan
    assert math.isnan(vibration(TIME, broken, mode).frequency)
