"""A soft finger wraps around a cylinder, with contact along it as in rod theory."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

import softgrasp as sg
from tests.support.wrapped_finger import (
    JOINTS,
    LENGTH,
    RHO,
    added_moment,
    contact_force,
    mean_forces,
    wrapped_scene,
)

CELL = LENGTH / JOINTS
INTERIOR = slice(3, 13)
"""Links whose neighbours all press: at the clamp two links share a force, at the tip the last one
is half as long."""


@cache
def wrapped() -> sg.GraspResult:
    return sg.simulate(wrapped_scene())


@pytest.mark.slow
def test_all_links_of_a_wrapped_finger_are_in_contact() -> None:
    assert len([contact.body for contact in wrapped().contacts if contact.in_contact]) >= JOINTS - 1


@pytest.mark.slow
def test_forces_along_a_wrapped_finger_are_those_of_rod_theory() -> None:
    forces = mean_forces(wrapped())[INTERIOR]
    expected = CELL * contact_force(CELL * np.arange(1, JOINTS + 1))[INTERIOR]
    np.testing.assert_allclose(forces, expected, rtol=0.08)
    assert forces.sum() == pytest.approx(expected.sum(), rel=0.01)


def test_forces_along_a_wrapped_finger_balance_its_moments() -> None:
    """The radial forces beyond a joint balance the moment that its pressure adds there."""
    joints = CELL * (np.arange(JOINTS) + 0.5)
    links = np.append(CELL * np.arange(1, JOINTS), LENGTH - 0.25 * CELL)
    arms = RHO * np.sin(np.maximum(links[None] - joints[:, None], 0.0) / RHO)
    balance = arms @ mean_forces(wrapped())
    np.testing.assert_allclose(balance[:10], added_moment(joints)[:10], rtol=0.02)
