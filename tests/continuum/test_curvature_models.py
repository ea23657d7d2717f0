"""Curvature models by name: the same frames as their own functions, and what is no state."""

from __future__ import annotations

from typing import get_args

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.polynomial import polynomial
from numpy.polynomial.legendre import leggauss
from scipy.integrate import solve_ivp

import softgrasp as sg
from softgrasp.continuum.curvature_models import (
    CURVATURE_MODELS,
    _count_steps,
    bend_frames,
    frames_along,
    segment_frames,
)
from softgrasp.description.bendable import Bendable
from softgrasp.mechanics.transforms import Array, rotate_about
from tests.conftest import Golden

FRACTIONS = np.array([0.2, 0.6, 1.0])


def test_every_model_of_a_bendable_has_frames() -> None:
    assert set(CURVATURE_MODELS) == set(get_args(Bendable.model_fields["model"].annotation))


@pytest.mark.parametrize("frame", ["bishop", "webster"])
def test_pcc_is_the_closed_form(frame: str) -> None:
    result = frames_along("pcc", 0, frame, (4.0, 0.7), 0.3, [0.0, *FRACTIONS])  # type: ignore[arg-type]
    target = sg.pcc.segment_transform(4.0, 0.7, 0.3 * FRACTIONS, frame)  # type: ignore[arg-type]
    assert result[1:] == pytest.approx(target, abs=1e-15)
    rotation = rotate_about("z", 0.7 if frame == "webster" else 0.0)
    assert result[0] == pytest.approx(rotation, abs=1e-15)


def test_ppc_of_degree_0_is_pcc_in_both_frames() -> None:
    for frame in ("bishop", "webster"):
        first, second = (
            frames_along(m, 0, frame, (4.0, 0.7), 0.3, FRACTIONS) for m in CURVATURE_MODELS
        )
        assert first == pytest.approx(second, abs=1e-14)


def test_a_constant_curvature_needs_one_step_and_others_more_as_they_bend() -> None:
    assert _count_steps(np.array([9.0, 0.0]), np.array([1.0]), 0.3) == 1
    counts = [_count_steps(np.array([0.0, u]), np.zeros(1), 0.3) for u in (0.0, 0.1, 10.0, 20.0)]
    assert counts[0] == 1
    assert counts[3] - counts[2] > counts[2] - counts[1] - 2 > 0


def test_ppc_is_a_polynomial() -> None:
    result = frames_along("ppc", 2, "bishop", (4.0, -3.0, 2.0, 0.7), 0.3, FRACTIONS)
    assert result == pytest.approx(segment_frames([4.0, -3.0, 2.0], 0.7, 0.3, FRACTIONS), abs=0.0)


@pytest.mark.parametrize(
    ("model", "state", "length", "sentence"),
    [
        ("ppcc", (1.0, 0.0), 0.3, "model"),
        ("pcc", (1.0, 2.0, 0.0), 0.3, "state"),
        ("pcc", (1.0, 0.0), -0.3, "state"),
        ("pcc", (np.nan, 0.0), 0.3, "state"),
    ],
)
def test_wrong_states_are_refused(
    model: str, state: tuple[float, ...], length: float, sentence: str, golden: Golden
) -> None:
    golden.refused(lambda: frames_along(model, 0, "bishop", state, length, FRACTIONS), sentence)


# Polynomial curvature: exact where there are closed forms, of sixth order where there are none.


LENGTH = 0.3
PPC_FRACTIONS = np.array([0.0, 0.13, 0.5, 0.77, 1.0])
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
    result = segment_frames(kappas, phi, LENGTH, PPC_FRACTIONS)
    plane, back = rotate_about("z", phi), rotate_about("z", -phi)
    target = [plane @ planar_frame(np.array(kappas), fraction) @ back for fraction in PPC_FRACTIONS]
    assert result == pytest.approx(np.stack(target), abs=1e-12)


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
def test_spatial_segments_agree_with_a_general_solver(seed: int) -> None:
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


def test_frames_do_not_depend_on_the_other_positions() -> None:
    u, v = [1.0, 4.0], [-3.0, 0.0, 7.0]
    together = bend_frames(u, v, LENGTH, PPC_FRACTIONS)
    alone = np.concatenate([bend_frames(u, v, LENGTH, [fraction]) for fraction in PPC_FRACTIONS])
    assert together == pytest.approx(alone, abs=0.0)
    assert together[0] == pytest.approx(np.eye(4), abs=0.0)


@pytest.mark.parametrize(
    ("length", "kappas", "sentence"),
    [
        (0.0, [1.0], "length"),
        (np.inf, [1.0], "length"),
        (0.3, [1.0, np.nan], "kappas"),
        (0.3, [], "kappas"),
    ],
)
def test_wrong_segments_are_refused(
    length: float, kappas: list[float], sentence: str, golden: Golden
) -> None:
    golden.refused(lambda: segment_frames(kappas, 0.0, length, [1.0]), sentence)
