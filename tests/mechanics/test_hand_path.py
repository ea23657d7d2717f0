"""Paths of a hand: rest to rest, back to where they began, and the wrist that follows them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation

import softgrasp as sg
from softgrasp.mechanics.trajectory import eased, moved, shaken, wrist_values
from softgrasp.mechanics.transforms import rotation_from_euler, transform

HOME = transform((0.1, -0.2, 0.3), (0.9, 0.1, -0.2, 0.3))
small = st.floats(-0.5, 0.5)
vectors = st.tuples(small, small, small)


@given(st.integers(20, 4000))
def test_a_way_begins_and_ends_at_rest(samples: int) -> None:
    path = np.concatenate([[0.0], eased(samples)])
    assert path[-1] == 1.0
    assert (np.diff(path) >= 0.0).all()
    step = 1.0 / samples
    # the first sample of x³(10 − 15x + 6x²): speed and acceleration begin at zero
    assert path[1] == pytest.approx(step**3 * (10.0 - 15.0 * step + 6.0 * step**2))
    assert 1.0 - path[-2] == pytest.approx(path[1], rel=1e-6)


@given(st.integers(1, 12), st.integers(60, 400))
def test_a_shake_returns_and_rests_at_both_ends(cycles: int, samples_a_cycle: int) -> None:
    samples = cycles * samples_a_cycle
    wave = np.concatenate([[0.0], shaken(cycles, samples)])
    assert wave[-1] == pytest.approx(0.0, abs=1e-15)
    assert np.abs(wave).max() <= 1.0
    if cycles > 2:  # the cycles in the middle have the whole amplitude
        assert np.abs(wave).max() > 0.99
    # it swells as t³·t: the first samples are far below a sine's that begins at once
    at_once = np.abs(np.sin(2.0 * np.pi / samples_a_cycle))
    assert abs(wave[1]) < 1e-2 * at_once
    assert abs(wave[-2]) < 1e-2 * at_once


@given(vectors, vectors, vectors)
def test_the_point_that_a_hand_turns_about_goes_straight(
    way: tuple[float, ...], rotation: tuple[float, ...], about: tuple[float, ...]
) -> None:
    fractions = eased(50)[:, None]
    poses = moved(HOME, fractions * np.array(way), fractions * np.array(rotation), about)
    carried = poses[:, :3, :3] @ about + poses[:, :3, 3]
    began = HOME[:3, :3] @ about + HOME[:3, 3]
    np.testing.assert_allclose(carried, began + fractions * np.array(way), atol=1e-12)
    rotated = Rotation.from_matrix(poses[-1, :3, :3] @ HOME[:3, :3].T).as_rotvec()
    np.testing.assert_allclose(rotated, rotation, atol=1e-9)


@given(vectors, st.tuples(st.floats(-3.0, 3.0), st.floats(-1.4, 1.4), st.floats(-3.0, 3.0)))
def test_the_wrist_has_the_pose_that_was_asked(
    way: tuple[float, ...], euler: tuple[float, ...]
) -> None:
    pose = HOME.copy()
    pose[:3, 3] += way
    pose[:3, :3] = rotation_from_euler(euler) @ HOME[:3, :3]
    values = wrist_values(HOME, pose[None], np.zeros(6))[0]
    np.testing.assert_allclose(values[:3], way, atol=1e-15)
    about_z, about_y, about_x = values[3:]
    again = rotation_from_euler((about_x, about_y, about_z)) @ HOME[:3, :3]
    np.testing.assert_allclose(again, pose[:3, :3], atol=1e-12)


def test_turns_go_on_beyond_half_a_turn() -> None:
    fractions = eased(200)[:, None]
    poses = moved(
        HOME, 0.0 * fractions * np.ones(3), fractions * [0.0, 0.0, 3.0 * np.pi], np.zeros(3)
    )
    values = wrist_values(HOME, poses, np.zeros(6))
    np.testing.assert_allclose(values[:, 3], 3.0 * np.pi * fractions[:, 0], atol=1e-12)


def test_a_turn_that_the_wrist_cannot_tell_is_refused() -> None:
    poses = moved(HOME, np.zeros((1, 3)), np.array([[0.0, 1.55, 0.0]]), np.zeros(3))
    with pytest.raises(sg.BuildError) as message:
        wrist_values(HOME, poses, np.zeros(6))
    assert str(message.value) == (
        "sequence: expected turns of at most 85° about y of the world on a wrist whose hinges turn "
        "about z, y and x, found 88.8°; turn the scene (hand_pose, object) so that the large turn "
        "is about x or z"
    )
