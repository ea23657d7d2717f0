"""A soft finger wraps around a cylinder, with contact along it as in rod theory."""

from __future__ import annotations

import runpy
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import softgrasp as sg

EXAMPLE = Path(__file__).parents[2] / "examples" / "18_wrapped_finger.py"
INTERIOR = slice(3, 13)
"""Links whose neighbours all press: at the clamp two links share a force, at the tip the last one
is half as long."""


@cache
def example() -> dict[str, Any]:
    return runpy.run_path(str(EXAMPLE))


@cache
def wrapped() -> sg.GraspResult:
    return sg.simulate(example()["wrapped_scene"]())


def test_all_links_of_a_wrapped_finger_are_in_contact() -> None:
    touching = [one.body for one in wrapped().contacts if one.in_contact]
    assert len(touching) >= example()["JOINTS"] - 1


def test_forces_along_a_wrapped_finger_are_those_of_rod_theory() -> None:
    names = example()
    cell = names["LENGTH"] / names["JOINTS"]
    forces = names["mean_forces"](wrapped())
    expected = cell * names["contact_force"](cell * np.arange(1, names["JOINTS"] + 1))
    np.testing.assert_allclose(forces[INTERIOR], expected[INTERIOR], rtol=0.08)
    assert forces[INTERIOR].sum() == pytest.approx(expected[INTERIOR].sum(), rel=0.01)


def test_forces_along_a_wrapped_finger_balance_its_moments() -> None:
    """The radial forces beyond a joint balance the moment that its pressure adds there."""
    names = example()
    cell, rho = names["LENGTH"] / names["JOINTS"], names["RHO"]
    joints = cell * (np.arange(names["JOINTS"]) + 0.5)
    links = np.append(cell * np.arange(1, names["JOINTS"]), names["LENGTH"] - 0.25 * cell)
    arms = rho * np.sin(np.maximum(links[None] - joints[:, None], 0.0) / rho)
    balance = arms @ names["mean_forces"](wrapped())
    np.testing.assert_allclose(balance[:10], names["added_moment"](joints)[:10], rtol=0.02)
