"""Load paths of springs with known folds: closed forms, units, and modes without a preference."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import brentq
from scipy.spatial.transform import Rotation

from softgrasp.continuum.load_path import _lowest_mode, _Path, differences, follow, solve_near
from softgrasp.mechanics.transforms import Array

SNAP = (0.6, -1.5, 1.0, 0.0)
"""Torque over the angle of a spring that snaps through, as a polynomial."""
ONE = np.ones(1)


def softening(positions: Array, load_factor: float) -> Array:
    """A spring q − q³, which carries 2/√27 at most."""
    return load_factor - (positions - positions**3)


def snapping(positions: Array, load_factor: float) -> Array:
    return load_factor - np.polyval(SNAP, positions)


def coupled(positions: Array, load_factor: float) -> Array:
    """Three unlike springs, whose loads change with their angles."""
    loads = np.array([0.9, -0.4, 0.3]) * np.cos(positions.sum()) + 0.2 * positions[::-1]
    return load_factor * loads - np.array([1.0, 2.0, 0.5]) * positions - 0.3 * positions**3


def test_a_load_that_cannot_be_carried_ends_at_the_largest_one() -> None:
    end = follow(softening, ONE)
    assert not end.converged
    assert end.eigenvalue == pytest.approx(0.0, abs=1e-6)
    assert end.load_factor == pytest.approx(2.0 / np.sqrt(27.0), rel=1e-6)
    assert end.critical_load == pytest.approx(2.0 / np.sqrt(27.0), rel=1e-9)
    assert end.positions == pytest.approx([1.0 / np.sqrt(3.0)], rel=1e-3)


def test_a_spring_snaps_through_to_the_stable_angle_beyond_its_fold() -> None:
    end = follow(snapping, ONE)
    (angle,) = (root.real for root in np.roots(np.subtract(SNAP, (0, 0, 0, 1.0))) if not root.imag)
    first = min(np.roots(np.polyder(SNAP)).real)
    assert (end.converged, end.stable, end.load_factor) == (True, True, 1.0)
    assert end.positions == pytest.approx([angle], rel=1e-9)
    assert end.critical_load == pytest.approx(np.polyval(SNAP, first), rel=1e-9)
    stopped = follow(snapping, ONE, until_critical=True)
    assert stopped.positions == pytest.approx([first], abs=1e-6)


@pytest.mark.parametrize("columns", [1, 2, 3])
def test_straight_columns_buckle_at_their_critical_load(columns: int) -> None:
    """Each spring under a weight on top of a rod: λ·1.5·sin q = q, which is straight to λ = 2/3.

    One alone bends towards positive angles; of several that buckle at once the path may end there.
    """
    end = follow(lambda q, factor: 1.5 * factor * np.sin(q) - q, np.ones(columns))
    assert end.critical_load == pytest.approx(2.0 / 3.0, rel=1e-6)
    assert end.converged or columns > 1
    if end.converged:
        angle = brentq(lambda q: 1.5 * np.sin(q) - q, 1.0, 2.0)
        assert end.positions == pytest.approx([angle] * columns, rel=1e-6)


@pytest.mark.parametrize("unit", [1e-9, 1e-3, 1e6])
@pytest.mark.parametrize("forces", [softening, snapping, coupled])
def test_the_unit_of_torques_makes_no_difference(forces, unit: float) -> None:
    stiffness = -np.diag(differences(forces)(np.zeros(3 if forces is coupled else 1), 0.0)).copy()
    stiffness = np.abs(stiffness)
    first = follow(forces, stiffness)
    second = follow(lambda q, factor: unit * forces(q, factor), unit * stiffness)
    assert second.positions == pytest.approx(first.positions, rel=1e-7)
    assert second.load_factor == pytest.approx(first.load_factor, rel=1e-7)
    near = solve_near(lambda q, factor: unit * forces(q, factor), first.positions + 1e-3,
                      unit * stiffness)  # fmt: skip
    assert (near is None) is not first.converged
    if near is not None:
        assert near.positions == pytest.approx(first.positions, rel=1e-7)


def test_the_tangent_is_the_direction_of_the_path() -> None:
    stiffness = np.array([1.0, 2.0, 0.5])
    path = _Path(coupled, stiffness, differences(coupled), 1.0)
    ends = [follow(coupled, stiffness, target=factor).positions for factor in (0.499, 0.501)]
    middle = follow(coupled, stiffness, target=0.5).positions
    state = path._state(middle, 0.5, np.append(np.zeros(3), 1.0))
    along = np.append(np.sqrt(3.0) * (ends[1] - ends[0]) / 0.002, 1.0)
    assert np.linalg.norm(state.tangent) == pytest.approx(1.0)
    assert state.tangent == pytest.approx(along / np.linalg.norm(along), abs=1e-5)


@settings(max_examples=20)
@given(st.integers(0, 2**32 - 1))
def test_of_equal_modes_the_one_of_the_first_joint_is_taken(seed: int) -> None:
    """However the eigenvectors of a multiple eigenvalue are rotated; a single one is kept."""
    rotation = Rotation.random(rng=np.random.default_rng(seed)).as_matrix()
    values, angle = np.array([1.0, 1.0, 2.0]), np.random.default_rng(seed).uniform(0.0, 6.0)
    mixed = rotation @ np.diag(values) @ rotation.T
    within = np.eye(3)
    within[:2, :2] = [[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]]
    first, second = (_lowest_mode(values, vectors) for vectors in (rotation, rotation @ within))
    assert first == pytest.approx(second, abs=1e-9)
    assert mixed @ first == pytest.approx(first, abs=1e-9)
    assert np.linalg.norm(first) > 0.5
    single = _lowest_mode(np.array([1.0, 1.5, 2.0]), rotation)
    np.testing.assert_array_equal(single, rotation[:, 0])
