"""Straight lines of an arm's flange."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation

import softgrasp as sg
from softgrasp.description.task import ShakePhase
from softgrasp.io.hand import load_arm
from softgrasp.mechanics.hand_kinematics import forward_kinematics
from softgrasp.mechanics.trajectory import (
    Quintic,
    ease,
    flange_jacobian,
    move,
    shaken,
    straight_path,
    wrist_values,
)
from softgrasp.mechanics.transforms import minimum_jerk, rotation_from_euler, transform
from tests.conftest import Golden

ARM = load_arm("ur3e").chain
START = [row.start for row in ARM.phalanges]
ANGLES = st.lists(st.floats(-3.0, 3.0), min_size=6, max_size=6)


@given(ANGLES)
@settings(max_examples=30, deadline=None)
def test_the_jacobian_is_that_of_finite_differences(angles: list[float]) -> None:
    frames = forward_kinematics(ARM, angles)
    jacobian = flange_jacobian(ARM, frames)
    for joint in range(6):
        ends = []
        for sign in (1.0, -1.0):
            moved = list(angles)
            moved[joint] += sign * 1e-6
            ends.append(forward_kinematics(ARM, moved)[-1])
        linear = (ends[0][:3, 3] - ends[1][:3, 3]) / 2e-6
        spin = (ends[0][:3, :3] - ends[1][:3, :3]) / 2e-6 @ frames[-1, :3, :3].T
        angular = [spin[2, 1], spin[0, 2], spin[1, 0]]
        assert jacobian[:, joint] == pytest.approx([*linear, *angular], abs=1e-8)


def test_the_jacobian_of_modified_rows_uses_their_axes() -> None:
    rows = tuple(sg.description.Phalanx(a=0.1, alpha=0.4, mass=0.1) for _ in range(3))
    chain = sg.description.Finger(
        name="m", convention="modified", phalanges=rows, tip=(0.1, 0.0, 0.0)
    )
    angles = [0.3, -0.2, 0.5]
    jacobian = flange_jacobian(chain, forward_kinematics(chain, angles))
    for joint in range(3):
        moved = [a + (1e-6 if i == joint else 0.0) for i, a in enumerate(angles)]
        ahead = forward_kinematics(chain, moved)[-1, :3, 3]
        here = forward_kinematics(chain, angles)[-1, :3, 3]
        assert jacobian[:3, joint] == pytest.approx((ahead - here) / 1e-6, abs=1e-6)


def test_the_flange_translates_along_a_straight_line() -> None:
    fractions = np.linspace(0.0, 1.0, 9)
    path = straight_path(ARM, START, (0.02, -0.03, 0.1), fractions)
    home = forward_kinematics(ARM, START)[-1]
    for fraction, joints in zip(fractions, path, strict=True):
        frame = forward_kinematics(ARM, joints.tolist())[-1]
        assert frame[:3, :3] == pytest.approx(home[:3, :3], abs=1e-8)
        assert frame[:3, 3] - home[:3, 3] == pytest.approx(
            fraction * np.array([0.02, -0.03, 0.1]), abs=1e-8
        )
    assert path[0] == pytest.approx(START)


def test_lines_out_of_reach_are_refused() -> None:
    sentence = "arm 'ur3e': expected every point of the lift within reach, found one"
    with pytest.raises(sg.BuildError, match=sentence):
        straight_path(ARM, START, (0.0, 0.0, 2.0), np.linspace(0.1, 1.0, 5))


# Paths of a hand: rest to rest, back to where they began, and the wrist that follows them.


HOME = transform((0.1, -0.2, 0.3), (0.9, 0.1, -0.2, 0.3))
small = st.floats(-0.5, 0.5)
vectors = st.tuples(small, small, small)


@given(st.integers(20, 4000))
def test_eased_motions_begin_and_end_at_rest(samples: int) -> None:
    path = np.concatenate([[0.0], ease(samples)])
    assert path[-1] == 1.0
    assert (np.diff(path) >= 0.0).all()
    step = 1.0 / samples
    # the first sample of x³(10 − 15x + 6x²): speed and acceleration begin at zero
    assert path[1] == pytest.approx(step**3 * (10.0 - 15.0 * step + 6.0 * step**2))
    assert 1.0 - path[-2] == pytest.approx(path[1], rel=1e-6)


@given(st.integers(1, 12), st.integers(60, 400))
def test_shakes_begin_and_end_at_rest_at_the_same_position(
    cycles: int, samples_a_cycle: int
) -> None:
    wave = np.concatenate([[0.0], shaken(cycles, cycles * samples_a_cycle)])
    assert wave[-1] == pytest.approx(0.0, abs=1e-15)
    assert np.abs(wave).max() == pytest.approx(1.0, abs=1e-15)
    # it swells as t³·t: the first samples are far below a sine's that begins at once
    at_once = np.abs(np.sin(2.0 * np.pi / samples_a_cycle))
    assert abs(wave[1]) < 1e-2 * at_once
    assert abs(wave[-2]) < 1e-2 * at_once


@pytest.mark.parametrize("cycles", [1, 2, 3, 8])
def test_the_largest_acceleration_of_a_shake_is_the_stated_one(cycles: int) -> None:
    step, frequency = 1e-5, 2.0
    wave = 0.03 * shaken(cycles, round(cycles / frequency / step))
    acceleration = np.abs(np.diff(np.concatenate([[0.0, 0.0], wave, [0.0, 0.0]]), 2)) / step**2
    shake = ShakePhase(amplitude=0.03, frequency=frequency, cycles=cycles)
    assert acceleration.max() == pytest.approx(shake.peak_acceleration, rel=1e-3)


@given(vectors, vectors, vectors)
def test_the_centre_of_rotation_moves_by_the_displacement(
    displacement: tuple[float, ...], rotation: tuple[float, ...], about: tuple[float, ...]
) -> None:
    fractions = ease(50)[:, None]
    poses = move(HOME, fractions * np.array(displacement), fractions * np.array(rotation), about)
    carried = poses[:, :3, :3] @ about + poses[:, :3, 3]
    began = HOME[:3, :3] @ about + HOME[:3, 3]
    np.testing.assert_allclose(carried, began + fractions * np.array(displacement), atol=1e-12)
    rotated = Rotation.from_matrix(poses[-1, :3, :3] @ HOME[:3, :3].T).as_rotvec()
    np.testing.assert_allclose(rotated, rotation, atol=1e-9)


@given(
    vectors, st.tuples(st.floats(-3.0, 3.0), st.floats(-1.4, 1.4), st.floats(-3.0, 3.0)), vectors
)
def test_wrist_joints_give_the_requested_poses(
    displacement: tuple[float, ...], euler: tuple[float, ...], center: tuple[float, ...]
) -> None:
    pose = HOME.copy()
    pose[:3, 3] += displacement
    pose[:3, :3] = rotation_from_euler(euler) @ HOME[:3, :3]
    values = wrist_values(HOME, pose[None], np.zeros(6), center)[0]
    about_z, about_y, about_x = values[3:]
    again = rotation_from_euler((about_x, about_y, about_z)) @ HOME[:3, :3]
    np.testing.assert_allclose(again, pose[:3, :3], atol=1e-12)
    origin = HOME[:3, 3] + HOME[:3, :3] @ center + values[:3] - again @ center
    np.testing.assert_allclose(origin, pose[:3, 3], atol=1e-12)


def test_wrist_angles_are_continuous_beyond_a_half_rotation() -> None:
    fractions = ease(200)[:, None]
    poses = move(
        HOME, 0.0 * fractions * np.ones(3), fractions * [0.0, 0.0, 3.0 * np.pi], np.zeros(3)
    )
    values = wrist_values(HOME, poses, np.zeros(6))
    np.testing.assert_allclose(values[:, 3], 3.0 * np.pi * fractions[:, 0], atol=1e-12)


def test_rotations_near_the_singularity_of_the_wrist_are_refused(golden: Golden) -> None:
    poses = move(HOME, np.zeros((1, 3)), np.array([[0.0, 1.55, 0.0]]), np.zeros(3))
    golden.refused(lambda: wrist_values(HOME, poses, np.zeros(6)), "sequence", sg.BuildError)


# Quintic motions: end states, and the minimum-jerk motion from rest.


NUMBERS = st.floats(-3.0, 3.0)


@given(NUMBERS, NUMBERS, NUMBERS, NUMBERS, st.floats(0.1, 5.0))
def test_quintics_have_the_requested_end_states(
    begin: float, end: float, velocity: float, acceleration: float, duration: float
) -> None:
    motion = Quintic([begin], [end], duration, [velocity], [acceleration])
    starts = [motion.at(0.0, order)[0] for order in range(3)]
    assert starts == pytest.approx([begin, velocity, acceleration], abs=1e-9)
    before = duration * (1.0 - 1e-9)
    stops = [motion.at(before, order)[0] for order in range(3)]
    assert stops == pytest.approx([end, 0.0, 0.0], abs=1e-4)
    assert motion.at(duration + 1.0)[0] == end
    assert motion.at(duration + 1.0, 1)[0] == 0.0


def test_one_time_gives_the_bits_of_scipy() -> None:
    generator = np.random.default_rng(0)
    for size in (1, 2, 3) * 20:
        begin, end, velocity, acceleration = generator.normal(size=(4, size))
        duration = float(generator.uniform(0.1, 5.0))
        motion = Quintic(begin, end, duration, velocity, acceleration)
        times = generator.uniform(-0.1, 1.1, 20) * duration
        assert [motion.at(time).tolist() for time in times.tolist()] == motion.at(times).tolist()


def test_quintics_from_rest_are_minimum_jerk_motions() -> None:
    times = np.linspace(0.0, 2.0, 50)
    motion = Quintic([1.0, -2.0], [4.0, 2.0], 2.0)
    target = np.array([1.0, -2.0]) + minimum_jerk(times / 2.0)[:, None] * [3.0, 4.0]
    assert motion.at(times) == pytest.approx(target)
    assert np.linalg.norm(motion.at(times, 1), axis=1).max() <= 1.875 * 5.0 / 2.0


def test_quintics_without_duration_are_at_the_end() -> None:
    assert Quintic([1.0], [2.0], 0.0).at(0.0)[0] == 2.0
