"""Null spaces of grasps, and internal forces that a compliant hand can exert."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import softgrasp as sg
from softgrasp.quality.matrix_measures import null_space
from tests.quality.grasps import equator, random_sphere

quality = sg.quality
seeds = st.integers(0, 2**32 - 1)


def pushing_along(part: int) -> np.ndarray:
    """Return J of two hard fingers, each with a joint along one axis of its contact frame."""
    J = np.zeros((6, 2))
    J[part, 0] = J[3 + part, 1] = 1.0
    return J


def test_two_fingers_that_move_along_the_normals() -> None:
    G = quality.grasp_matrix(*equator(180, 0))
    result = quality.graspability(G, pushing_along(0))
    assert result.graspable
    assert result.object_indeterminate
    assert result.defective
    assert not result.hand_redundant
    assert not result.hyperstatic
    squeeze = quality.controllable_internal_forces(G, pushing_along(0), np.eye(6))
    np.testing.assert_allclose(np.abs(squeeze.T) * np.sqrt(2), [[1, 0, 0, 1, 0, 0]], atol=1e-12)


def test_two_fingers_that_move_along_tangents_are_hyperstatic() -> None:
    G = quality.grasp_matrix(*equator(180, 0))
    assert quality.graspability(G, pushing_along(1)).hyperstatic
    assert quality.controllable_internal_forces(G, pushing_along(1), np.eye(6)).shape == (6, 0)


@given(seeds, st.integers(1, 9), st.integers(1, 4))
def test_controllable_forces_are_internal(seed: int, joints: int, synergies: int) -> None:
    random = np.random.default_rng(seed)
    G = quality.grasp_matrix(*random_sphere(random, 4))
    J, S = random.normal(size=(12, joints)), random.normal(size=(joints, synergies))
    compliance = quality.contact_compliance(1000.0, 12, J, 2.0, S, 3.0)
    E = quality.controllable_internal_forces(G, J, compliance, S)
    np.testing.assert_allclose(G @ E, 0.0, atol=1e-9)
    np.testing.assert_allclose(E.T @ E, np.eye(E.shape[1]), atol=1e-12)
    assert E.shape[1] == min(joints, synergies, 6)
    maps = quality.quasistatic_maps(G, J, 1000.0, 2.0, S, 3.0)
    lost = maps.forces[0] - E @ (E.T @ maps.forces[0])  # forces of references are in their span
    np.testing.assert_allclose(lost, 0.0, atol=1e-6 * np.abs(maps.forces[0]).max())


@given(seeds)
def test_dimensions_of_the_null_spaces(seed: int) -> None:
    random = np.random.default_rng(seed)
    G = quality.grasp_matrix(*random_sphere(random, 3))
    J = random.normal(size=(9, 5)) @ random.normal(size=(5, 7))
    result = quality.graspability(G, J)
    assert result.internal.shape == (9, 3)
    assert result.indeterminate.shape == (6, 0)
    assert result.redundant.shape == (7, 2)
    assert result.structural.shape == (9, 4)
    assert not result.object_indeterminate
    assert result.defective
    assert not quality.graspability(G, random.normal(size=(9, 9))).defective
    np.testing.assert_allclose(G @ result.internal, 0.0, atol=1e-12)
    np.testing.assert_allclose(J @ result.redundant, 0.0, atol=1e-10)
    np.testing.assert_allclose(J.T @ result.structural, 0.0, atol=1e-10)


@given(seeds, st.integers(1, 5), st.sampled_from([1e-12, 1.0, 1e12]))
def test_a_null_space_is_that_of_the_matrix_in_any_unit(seed: int, rows: int, unit: float) -> None:
    matrix = np.random.default_rng(seed).normal(size=(rows, 6))
    basis = null_space(unit * matrix)
    assert basis.shape == (6, 6 - rows)
    np.testing.assert_allclose(matrix @ basis, 0.0, atol=1e-10)
    assert null_space(np.zeros((rows, 0))).shape == (0, 0)


def test_different_contacts_are_rejected() -> None:
    with pytest.raises(sg.DescriptionError, match="J: expected a row for each of the 6 columns"):
        quality.graspability(np.zeros((6, 6)), np.zeros((5, 2)))
