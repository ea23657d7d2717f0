"""Gravity grows in steps that follow a ramp and never overshoot the full load."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import softgrasp as sg
from softgrasp.sim.motion_plan import gravity_steps

BEFORE = np.array([0.1, 0.0, -1.0])


@given(st.floats(0.0, 2.0), st.floats(0.01, 3.0), st.sampled_from([1e-3, 5e-4, 1e-5]))
def test_steps_follow_the_ramp_and_end_at_the_full_load(
    ramp: float, hold: float, period: float
) -> None:
    criterion = sg.SuccessCriterion(ramp_time=ramp, hold_time=hold)
    *steps, (samples, load) = gravity_steps(criterion, BEFORE, period)
    np.testing.assert_array_equal(load, criterion.gravity)
    assert samples == round(hold / period)
    assert sum(count for count, _ in steps) == max(round(ramp / period), 1)
    fraction = np.array([(g - BEFORE)[2] for _, g in steps]) / (load - BEFORE)[2]
    np.testing.assert_allclose(fraction[-1], 1.0, rtol=1e-12)
    taken = np.diff(np.concatenate([[0.0], fraction]))
    assert (taken > 0.0).all()
    # put on at once, an undamped spring swings to twice the step
    overshoot = fraction + taken - 1.0
    assert overshoot.max() <= taken[-1] + 1e-12
    assert taken[-1] == pytest.approx(1.0 / max(round(ramp / period), 1))
