"""Polynomial curvature: exact where there are closed forms, of sixth order where there are none."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.polynomial import polynomial
from numpy.polynomial.legendre import leggauss
from scipy.integrate import solve_ivp

import softgrasp as sg
from softgrasp.continuum.curvature_models import bend_frames, segment_frames
from softgrasp.mechanics.transforms import Array, rotate_about

LENGTH = 0.3
SHARES = np.array([0.0, 0.13, 0.5, 0.77, 1.0])
GAUSS = leggauss(120)
COEFFICIENTS = st.lists(st.floats(-12.0, 12.0), min_size=1, max_size=6)


def planar_frame(kappas: Array, fraction: float) -> Array:
    """Closed form in the x–z plane: θ = ∫κ, x = ∫ sin θ, z = ∫ cos θ, by quadrature."""
    nodes, weights = GAUSS
    at = fraction * 0.5 * (nodes + 1.0)
    rotation = LENGTH * polynomial.polyval(np.append(at, fraction), polynomial.polyint(kappas))
    frame = rotate_about("y", rotation[-1])
    frame[0, 3] = 0.5 * fraction * LENGTH * weights @ np.sin(rotation[:-1])
    frame[2, 3] = 0.5 * fraction * LENGTH * weights @ np.cos(rotation[:-1])
    return frame


@settings(max_examples=60, deadline=None)
@given(COEFFICIENTS, st.floats(-4.0, 4.0))
def test_in_a_plane_it_is_the_closed_form(kappas: list[float], phi: float) -> None:
    result = segment_frames(kappas, phi, LENGTH, SHARES)
    plane, back = rotate_about("z", phi), rotate_about("z", -phi)
    target = [plane @ planar_frame(np.array(kappas), fraction) @ back for fraction in SHARES]
    assert result == pytest.approx(np.stack(target), abs=1e-12)


@given(st.floats(-12.0, 12.0), st.floats(-4.0, 4.0))
def test_degree_0_is_constant_curvature(kappa: float, phi: float) -> None:
    result = segment_frames([kappa], phi, LENGTH, SHARES[1:])
    target = sg.pcc.segment_transform(kappa, phi, LENGTH * SHARES[1:])
    assert result == pytest.approx(target, abs=1e-12)


def by_general_solver(u: list[float], v: list[float]) -> Array:
    """T′ = T ξ by an explicit Runge–Kutta method of order 8, (4, 4)."""

    def slope(s: float, flat: Array) -> Array:
        towards_x, towards_y = (polynomial.polyval(s / LENGTH, part) for part in (u, v))
        twist = np.zeros((4, 4))
        twist[0, 2], twist[1, 2] = towards_x, towards_y
        twist[2] = [-towards_x, -towards_y, 0.0, 1.0]
        return np.asarray((flat.reshape(4, 4) @ twist).ravel())

    solved = solve_ivp(
        slope, (0.0, LENGTH), np.eye(4).ravel(), method="DOP853", rtol=1e-13, atol=1e-15
    )
    return np.asarray(solved.y[:, -1].reshape(4, 4))


@pytest.mark.parametrize("seed", range(5))
def test_out_of_a_plane_it_is_what_a_general_solver_finds(seed: int) -> None:
    random = np.random.default_rng(seed)
    u, v = (random.uniform(-10, 10, random.integers(2, 7)).tolist() for _ in "uv")
    result = bend_frames(u, v, LENGTH, [1.0])[0]
    assert result == pytest.approx(by_general_solver(u, v), abs=1e-12)


def test_the_error_falls_with_the_sixth_power_of_the_step() -> None:
    u, v = [3.0, -8.0, 5.0], [-2.0, 9.0, 4.0, -6.0]
    exact = bend_frames(u, v, LENGTH, [1.0], steps=400)
    errors = [
        np.abs(bend_frames(u, v, LENGTH, [1.0], steps=steps) - exact).max()
        for steps in (4, 8, 16, 32)
    ]
    assert np.log2(np.divide(errors[:-1], errors[1:])) == pytest.approx(6.0, abs=0.25)


@settings(max_examples=40, deadline=None)
@given(COEFFICIENTS, COEFFICIENTS)
def test_frames_are_frames_and_turn_only_about_what_bends(u: list[float], v: list[float]) -> None:
    """Rotations are orthonormal, the tangent has length 1, and nothing turns about it."""
    frames = bend_frames(u, v, LENGTH, [0.0, 0.5, 0.50025, 1.0])
    rotations = frames[:, :3, :3]
    assert rotations @ rotations.swapaxes(1, 2) == pytest.approx(
        np.stack([np.eye(3)] * 4), abs=1e-12
    )
    assert np.linalg.det(rotations) == pytest.approx(1.0, abs=1e-12)
    between = rotations[1].T @ rotations[2]
    assert between[0, 1] == pytest.approx(between[1, 0], abs=1e-6)  # a turn about x and y only


def test_many_frames_at_once_are_each_one_alone() -> None:
    u, v = [1.0, 4.0], [-3.0, 0.0, 7.0]
    together = bend_frames(u, v, LENGTH, SHARES)
    alone = np.concatenate([bend_frames(u, v, LENGTH, [fraction]) for fraction in SHARES])
    assert together == pytest.approx(alone, abs=0.0)
    assert together[0] == pytest.approx(np.eye(4), abs=0.0)


def test_turning_the_plane_turns_the_segment() -> None:
    kappas = [2.0, -5.0, 9.0]
    rotated = segment_frames(kappas, 1.1, LENGTH, SHARES)
    flat = segment_frames(kappas, 0.0, LENGTH, SHARES)
    target = rotate_about("z", 1.1) @ flat @ rotate_about("z", -1.1)
    assert rotated == pytest.approx(target, abs=1e-12)


@pytest.mark.parametrize(
    ("length", "kappas", "sentence"),
    [
        (0.0, [1.0], "length: expected a number above 0, found 0.0"),
        (np.inf, [1.0], "length: expected a number above 0, found inf"),
        (0.3, [1.0, np.nan], "kappas: expected finite numbers in a row, found [ 1. nan]"),
        (0.3, [], "kappas: expected finite numbers in a row, found []"),
    ],
)
def test_numbers_that_make_no_segment(length: float, kappas: list[float], sentence: str) -> None:
    with pytest.raises(sg.DescriptionError) as caught:
        segment_frames(kappas, 0.0, length, [1.0])
    assert str(caught.value) == sentence
