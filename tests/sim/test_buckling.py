"""Stable equilibria beyond buckling: the elastica by shooting, Euler's load, nudged shapes."""

from __future__ import annotations

import re

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.optimize import brentq

import softgrasp as sg
from softgrasp.continuum.load_path import differences, follow
from softgrasp.sim import soft_statics
from tests.continuum_control.arms import LENGTH, STIFFNESS, arm

EULER = np.pi**2 / 4
"""Buckling load of a cantilever of unit length and bending stiffness [N]."""


def load(ratio: float, inclination: float) -> np.ndarray:
    """A force that pushes against the tip, inclined towards −z [N]."""
    return ratio * EULER * np.array([-np.cos(inclination), 0.0, -np.sin(inclination)])


def elastica(force: np.ndarray) -> np.ndarray:
    """The stable elastica (x, depth, slope) with a curvature of one sign: θ″ = −f × t, θ′(1) = 0.

    Shooting for the curvature at the base; of all roots the one of one-signed curvature.
    """
    push, down = -force[0], -force[2]

    def rates(_: float, state: np.ndarray) -> list[float]:
        theta, kappa = state[:2]
        bend = -(down * np.cos(theta) + push * np.sin(theta))
        return [kappa, bend, np.cos(theta), np.sin(theta)]

    def end(kappa: float) -> np.ndarray:
        return solve_ivp(rates, (0, 1), [0, kappa, 0, 0], rtol=1e-10, atol=1e-12).y

    guesses = np.linspace(0.01, 8.0, 60)
    free = [end(guess)[1, -1] for guess in guesses]
    for low, high, before, after in zip(guesses, guesses[1:], free, free[1:], strict=False):
        if before < 0.0 <= after:
            solution = end(brentq(lambda kappa: end(kappa)[1, -1], low, high, xtol=1e-11))
            if (solution[1] >= -1e-7).all():
                return solution[[2, 3, 0], -1]
    raise AssertionError("no stable elastica")


@pytest.mark.parametrize("ratio", [0.5, 1.0, 1.5, 2.0, 3.0])
@pytest.mark.parametrize("inclination", [0.02, 0.5])
def test_sixteen_joints_follow_the_stable_elastica(ratio: float, inclination: float) -> None:
    force = load(ratio, inclination)
    rest = sg.equilibrium(sg.rld.discretise(1.0, 1.0, 1e-9, 16), tip_force=force, gravity=False)
    x, depth, slope = elastica(force)
    missed = float(np.linalg.norm(rest.tip_position - [x, 0.0, -depth]))
    assert rest.converged
    assert rest.stable
    assert missed < 0.01
    assert rest.tip_angle == pytest.approx(slope, abs=0.02)
    assert rest.discretisation_error == pytest.approx(missed, rel=0.05)


def test_a_column_buckles_at_eulers_load_with_an_error_of_second_order() -> None:
    errors = []
    for joints in (8, 16):
        finger = sg.rld.discretise(1.0, 1.0, 1e-9, joints)
        factor = sg.soft.buckling_factor(finger, tip_force=load(1.0, 0.0), gravity=False)
        errors.append(1.0 - factor)
    assert 0.0 < errors[1] < 1e-3
    assert errors[0] / errors[1] == pytest.approx(4.0, rel=0.02)


@pytest.mark.parametrize("planar", [True, False])
def test_beyond_the_buckling_load_the_stable_branch_is_taken(planar: bool) -> None:
    finger = sg.rld.discretise(1.0, 1.0, 1e-9, 8, planar=planar)
    below = sg.equilibrium(finger, tip_force=load(0.9, 0.0), gravity=False)
    assert np.abs(below.joint_angles).max() < 1e-12
    assert np.isnan(below.buckling_factor)
    assert below.min_eigenvalue == pytest.approx(0.1, abs=0.01)
    rest = sg.equilibrium(finger, tip_force=load(1.5, 0.0), gravity=False)
    assert rest.buckling_factor == pytest.approx(1 / 1.5, rel=5e-3)
    x, depth, _ = elastica(load(1.5, 1e-6))
    assert rest.tip_position == pytest.approx([x, 0.0, -depth], abs=0.01)
    assert rest.stable


def test_a_finger_that_cannot_buckle_has_no_factor() -> None:
    finger = sg.rld.discretise(1.0, 1.0, 1e-9, 6)
    assert sg.soft.buckling_factor(finger, tip_force=(5, 0, 0), gravity=False) == np.inf
    sentence = "limit: expected a number above 0, found 0.0"
    with pytest.raises(sg.DescriptionError, match=f"^{re.escape(sentence)}$"):
        sg.soft.buckling_factor(finger, limit=0.0)


@pytest.mark.parametrize("ratio", [0.5, 1.5])
def test_a_robots_segment_rests_as_the_finger_of_the_same_beam(ratio: float) -> None:
    """Its z axis is the finger's x axis; it is free to bend in both planes."""
    robot, force = arm(1, "moments"), load(ratio, 0.02) * STIFFNESS / LENGTH**2
    push = {"l1": (-force[2], 0.0, force[0])}
    rest = sg.soft.robot_equilibrium(robot, forces=push, gravity=False)
    finger = sg.rld.discretise(LENGTH, STIFFNESS, 1e-6, 6)
    other = sg.equilibrium(finger, tip_force=force, gravity=False)
    x, _, z = other.tip_position
    assert rest.converged
    assert rest.stable
    assert rest.link_positions["l1"] == pytest.approx([-z, 0.0, x], abs=1e-9)
    assert rest.discretisation_error == pytest.approx(other.discretisation_error, rel=1e-3)
    standing = sg.soft.robot_equilibrium(
        robot, forces={"l1": (0.0, 0.0, -1.5 * EULER * STIFFNESS / LENGTH**2)}, gravity=False
    )
    assert standing.buckling_factor == pytest.approx(1 / 1.5, rel=0.01)
    assert standing.stable
    with pytest.raises(sg.DescriptionError, match="no link 'l2'; known: l0, l1"):
        sg.soft.robot_equilibrium(robot, forces={"l2": (0, 0, 1)})


def test_a_snap_through_ends_on_the_next_stable_branch() -> None:
    """A shallow truss of two springs: F = 2 k (1 − ℓ/√(1 + (h − q)²)) (h − q) − q ε − λ P."""
    height, stiffness = 0.4, 1.0

    def forces(q: np.ndarray, load_factor: float) -> np.ndarray:
        rise = height - q
        length = np.sqrt(1.0 + height**2)
        spring = 2.0 * stiffness * (length / np.sqrt(1.0 + rise**2) - 1.0) * rise
        return np.asarray(0.1 * load_factor - spring)

    point = follow(forces, np.array([2.0 * stiffness * height**2 / (1.0 + height**2)]))
    assert point.converged
    assert point.stable
    assert point.positions[0] > 2.0 * height
    rises = np.linspace(0.0, height, 100_001)
    pushes = 2.0 * (np.sqrt(1.0 + height**2) / np.sqrt(1.0 + rises**2) - 1.0) * rises
    assert point.critical_load == pytest.approx(pushes.max() / 0.1, rel=1e-6)


def test_the_stiffness_is_the_derivative_of_the_forces() -> None:
    finger = sg.rld.discretise(1.0, 1.0, 0.3, 5, planar=False)
    loads = soft_statics._Loads.of((-1, 0.4, -0.7), (0.3, 0.2, 0.1), 0.1, True, 0.0, 0.0, 0.0)
    chain = soft_statics._Chain(finger, loads)
    angles = np.random.default_rng(0).normal(0.0, 0.4, len(finger.freedoms))
    expected = differences(chain.forces)(angles, 0.7)
    assert chain.stiffness(angles, 0.7) == pytest.approx(expected, abs=1e-8)
