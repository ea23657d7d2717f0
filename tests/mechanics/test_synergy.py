"""Weights by least squares, variance, and the compliance of soft synergies."""

from __future__ import annotations

import numpy as np
import pytest

import softgrasp as sg
from softgrasp.mechanics.hand_kinematics import synergy_matrix
from tests.support.kinematics import soft_synergy_compliance


def santello() -> sg.description.Synergies:
    own = sg.load_hand("paradigmatic").synergies
    assert own is not None
    return own


def test_the_weights_of_a_posture_of_the_synergies_are_its_own() -> None:
    own = santello()
    target = np.random.default_rng(1).normal(size=own.count)
    assert sg.mechanics.synergy_weights(own, own.posture(target.tolist())) == pytest.approx(
        target, abs=1e-9
    )


def test_the_nearest_posture_leaves_what_no_synergy_can_do() -> None:
    own = santello()
    postures = np.random.default_rng(2).normal(size=(5, 20))
    matrix = synergy_matrix(own)[:, :4]
    left = postures - own.mean - sg.mechanics.synergy_weights(own, postures, 4) @ matrix.T
    assert left @ matrix == pytest.approx(np.zeros((5, 4)), abs=1e-9)
    with pytest.raises(ValueError, match="expected 1 to 15 synergies, found 16"):
        sg.mechanics.synergy_weights(own, postures, 16)


def test_variance_grows_to_all_of_what_was_made_of_the_synergies() -> None:
    own = santello()
    weights = np.random.default_rng(3).normal(size=(40, 3)) * [3.0, 1.0, 0.3]
    postures = own.mean + weights @ synergy_matrix(own)[:, :3].T
    fractions = sg.mechanics.variance_explained(own, postures)
    assert (np.diff(fractions) > -1e-12).all()
    assert 0.5 < fractions[0] < fractions[1] < 1.0
    assert fractions[2:] == pytest.approx(1.0)
    assert sg.mechanics.variance_explained(own, [own.mean]) == pytest.approx(1.0)


def test_compliances_in_series_add_up() -> None:
    result = soft_synergy_compliance([2.0, 4.0], [[1.0], [3.0]], 5.0)
    assert result == pytest.approx(np.array([[0.5 + 0.2, 0.6], [0.6, 0.25 + 1.8]]))
