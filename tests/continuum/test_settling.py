"""Rules for the settling of a released finger: published numbers, laws, what is refused."""

from __future__ import annotations

import math
from functools import cache

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy.optimize import brentq

import softgrasp as sg
from softgrasp.continuum.settling import RATE, RULES, SMOOTHING, _smooth, from_webots, settling
from softgrasp.mechanics.transforms import Array
from tests.conftest import Golden

TIME_STEP = 2.5e-4


@cache
def released(
    grams: int, added: float = 0.0, last_center: tuple[float, float] = (63.3, -6.6)
) -> tuple[Array, Array]:
    """Time and tip height [s, m] of the finger of paper 000 that lets a weight go.

    `added` is in its damping, in stiffnesses [s]; `last_center` in mm.
    """
    finger = sg.io.load_finger("paper000")
    joints = [
        joint.replace(damping=joint.damping + added * joint.stiffness) for joint in finger.joints
    ]
    center = (last_center[0] * 1e-3, 0.0, last_center[1] * 1e-3)
    links = (*finger.links[:-1], finger.links[-1].replace(mass_center=center))
    finger = finger.replace(joints=tuple(joints), links=links)
    rest = sg.equilibrium(finger, tip_mass=grams * 1e-3, error_estimate=False)
    motion = sg.soft.move_finger(finger, 1.0, start_angles=rest.joint_angles, timestep=TIME_STEP)
    return motion.time, motion.tip_position[:, 2]


@pytest.mark.parametrize(
    ("added", "settled"),
    [
        (1e-3, {20: (6, 0.312), 40: (8, 0.408), 60: (9, 0.456), 100: (10, 0.504)}),
        (0.0, {20: (10, 0.503), 40: (12, 0.598), 60: (13, 0.646), 100: (14, 0.694)}),
        (0.5e-3, {20: (8, 0.407), 40: (10, 0.503), 60: (11, 0.551), 100: (12, 0.599)}),
    ],
    ids=["c + h k", "c", "c + h k / 2"],
)
def test_releases_settle_as_an_independent_model_did(
    added: float, settled: dict[int, tuple[int, float]]
) -> None:
    for grams, (overshoots, time) in settled.items():
        result = settling(*released(grams, added))
        assert result.overshoots == overshoots
        assert result.time == pytest.approx(time, rel=0.005)


@given(st.floats(0.01, 3.0))
def test_a_resampled_record_ends_with_the_record(duration: float) -> None:
    times = np.linspace(0.2, 0.2 + duration, 7)
    even, heights = _smooth(times, 2.0 * times, 0.0)
    assert times[-1] - 1.0 / RATE - 1e-9 < even[-1] < times[-1] + 1e-8
    assert heights == pytest.approx(2.0 * even, abs=1e-7)


@pytest.mark.parametrize("grams", [40, 60, 100])
def test_with_the_damping_that_webots_adds_the_published_simulation_comes_out(grams: int) -> None:
    # of the 20 g release one overshoot is missing: 6 here, 7 there
    published = {40: (8, 0.414), 60: (9, 0.463), 100: (10, 0.511)}
    result = settling(*released(grams, 1e-3))
    assert result.overshoots == published[grams][0]
    assert result.time == pytest.approx(published[grams][1], rel=0.03)


@pytest.mark.parametrize(
    ("rule", "overshoots", "time"),
    [
        ("paper000", 12, 0.593),
        ("extrema-1mm", 13, 0.616),
        ("band-2%", 14, 0.672),
        ("band-5%", 11, 0.526),
        ("band-1mm", 10, 0.484),
    ],
)
def test_the_rule_moves_the_settling_time(rule: str, overshoots: int, time: float) -> None:
    result = settling(*released(40, last_center=(62.5, -5.5)), rule)
    assert result.overshoots == overshoots
    assert result.time == pytest.approx(time, rel=0.002)


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("rate", [960.0, 2000.0, 4000.0])
@pytest.mark.parametrize("grams", [20, 100])
def test_sampling_rate_sign_and_origin_make_no_difference(
    grams: int, rate: float, rule: str
) -> None:
    time, height = released(grams)
    whole = settling(time, height, rule)
    sampled = np.arange(0.0, time[-1], 1.0 / rate)
    other = settling(7.0 + sampled, 0.2 - np.interp(sampled, time, height), rule)
    assert other.overshoots == whole.overshoots
    assert other.time == pytest.approx(whole.time, abs=1.0 / RATE)
    np.testing.assert_allclose(other.extremum_times - 7.0, whole.extremum_times, atol=2e-3)
    np.testing.assert_allclose(0.2 - other.extremum_heights, whole.extremum_heights, atol=6e-5)


@settings(max_examples=40)
@given(st.floats(5.0, 14.0), st.floats(0.03, 0.15), st.floats(5e-3, 40e-3))
def test_a_damped_cosine_settles_at_the_time_of_its_formula(
    hertz: float, ratio: float, amplitude: float
) -> None:
    omega = 2.0 * np.pi * hertz
    decay = omega * ratio / math.sqrt(1.0 - ratio**2)
    time = np.arange(0.0, 12.0 / decay, 1.0 / 2000.0)
    # a Gaussian turns exp(s t) into exp(s t + s² σ² / 2)
    shrunk = amplitude * np.exp(0.5 * (decay**2 - omega**2) * SMOOTHING**2)
    at = (np.pi * np.arange(1, 200) - math.atan(decay / omega)) / omega + decay * SMOOTHING**2
    tops = (
        shrunk * math.cos(math.atan(decay / omega)) * np.exp(-decay * (at - decay * SMOOTHING**2))
    )
    swings = tops[:-1] + tops[1:]
    # the next extremum must be found, too, and it stands out by the swing after it only
    least = max(1e-3, 0.9e-3 / float(swings[1] / swings[0]))
    assume(swings[0] > 1.1 * least and np.abs(swings / least - 1.0).min() > 0.02)
    count = int((swings > least).sum())

    settled = settling(time, amplitude * np.exp(-decay * time) * np.cos(omega * time))
    assert settled.overshoots == count
    np.testing.assert_allclose(settled.extremum_times[1:], at[:count], atol=2e-4)
    np.testing.assert_allclose(np.abs(settled.extremum_heights[1:]), tops[:count], rtol=0.01)
    half = 0.5 * np.pi / omega if count > 1 else 0.5 * at[0]
    assert settled.time == pytest.approx(at[count - 1] + half, abs=1.0 / RATE)


@settings(max_examples=40)
@given(st.floats(2.0, 14.0), st.floats(0.03, 0.15), st.sampled_from([2, 5]), st.floats(1e-6, 1e3))
def test_a_band_is_left_for_the_last_time_at_the_time_of_the_formula(
    hertz: float, ratio: float, percent: int, scale: float
) -> None:
    omega = 2.0 * np.pi * hertz
    decay = omega * ratio / math.sqrt(1.0 - ratio**2)
    at = (np.pi * np.arange(1, 200) - math.atan(decay / omega)) / omega
    tops = np.exp(-decay * at) * math.cos(math.atan(decay / omega))
    assume(np.abs(tops / (percent / 100) - 1.0).min() > 0.02)
    count = int((tops > percent / 100).sum())
    last = at[count - 1]
    end = brentq(
        lambda t: abs(np.exp(-decay * t) * np.cos(omega * t)) - percent / 100,
        last,
        last + (math.pi / 2 + math.atan(decay / omega)) / omega,
    )

    time = np.arange(0.0, 12.0 / decay, 1.0 / 4000.0)
    motion = scale * np.exp(-decay * time) * np.cos(omega * time)
    settled = settling(time, motion, f"band-{percent}%")
    assert settled.overshoots == count
    assert settled.time == pytest.approx(end, abs=2.5e-4)


@pytest.mark.parametrize("rule", RULES)
def test_constant_heights_have_settled(rule: str) -> None:
    settled = settling(np.linspace(0.0, 1.0, 960), np.full(960, 0.3), rule)
    assert settled[:2] == (0, 0.0)
    assert settled.extremum_times.tolist() == [0.0]


@pytest.mark.parametrize("rule", RULES)
def test_diverged_motions_do_not_settle(rule: str) -> None:
    height = np.zeros(960)
    height[500:] = np.nan
    settled = settling(np.linspace(0.0, 1.0, 960), height, rule)
    assert settled.overshoots == 0
    assert math.isnan(settled.time)


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("end", [0.2, 0.3, 0.4])
def test_truncated_motions_have_not_settled(rule: str, end: float) -> None:
    time, height = released(40)
    settled = settling(time[time < end], height[time < end], rule)
    assert math.isnan(settled.time)
    assert 2 <= settled.overshoots <= 10


@pytest.mark.parametrize("rule", ["paper000", "extrema-1mm"])
def test_without_an_overshoot_the_time_is_that_of_the_band_of_1_mm(rule: str) -> None:
    time = np.arange(0.0, 1.0, 1e-3)
    settled = settling(time, -0.02 * np.exp(-time / 0.05), rule)
    assert settled.overshoots == 0
    assert settled.time == pytest.approx(0.05 * math.log(20.0), abs=2e-3)


def test_camera_noise_does_not_change_the_overshoots() -> None:
    time, height = released(40, 1e-3)
    frames = np.arange(0.0, 0.8, 1.0 / RATE)
    seen = np.interp(frames, time, height)
    settled = settling(frames, seen + np.random.default_rng(1).normal(0.0, 1e-4, len(frames)))
    assert settled.overshoots == 8
    assert settled.time == pytest.approx(settling(time, height).time, rel=0.01)


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"rule": "band-2"}, "rule"),
        ({"time": [0.0, 1.0]}, "height"),
        ({"height": np.zeros((3, 2))}, "height"),
        ({"time": [0.0, 1.0, 1.0]}, "time"),
        ({"time": [0.0, 1.0, np.nan]}, "time"),
        ({"smoothing": -1.0}, "smoothing"),
        ({"smoothing": np.nan}, "smoothing"),
    ],
)
def test_wrong_values_are_refused(given: dict[str, object], sentence: str, golden: Golden) -> None:
    options = {"time": [0.0, 1.0, 2.0], "height": [0.0, 1.0, 0.0]} | given
    golden.refused(lambda: settling(**options), sentence)  # type: ignore[arg-type]


# Dampers with and without what an implicit spring adds.


FINGER = sg.io.load_finger("paper000")


@given(timestep=st.floats(0.0, 0.01))
def test_an_implicit_spring_adds_step_times_stiffness(timestep: float) -> None:
    for joint, other in zip(from_webots(FINGER, timestep).joints, FINGER.joints, strict=True):
        assert joint.damping == pytest.approx(other.damping + timestep * other.stiffness)


def test_a_negative_time_step_is_refused(golden: Golden) -> None:
    golden.refused(lambda: from_webots(FINGER, -1.0), "timestep")
