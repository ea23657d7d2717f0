"""Backbones of polynomial curvature: the constant case, closed forms, laws of curves."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import fresnel

from softgrasp.continuum import pcc
from softgrasp.description.bendable import Backbone, Bendable, CurvatureLimits
from softgrasp.io.urdf.writer import BentState, frames_along

SHARES = np.array([0.1, 0.25, 0.6, 1.0])


def ppc(frame: pcc.Frame = "bishop", degree: int = 3) -> Bendable:
    return Bendable(
        name="b",
        parent="p",
        child="c",
        model="ppc",
        degree=degree,
        frame=frame,
        limits=CurvatureLimits(kappa_max=100.0),
        backbone=Backbone(length=0.3, radius=0.02),
    )


@given(st.floats(-30, 30), st.floats(-7, 7), st.sampled_from(["bishop", "webster"]))
@settings(max_examples=50, deadline=None)
def test_a_constant_polynomial_is_constant_curvature(
    kappa: float, phi: float, frame: pcc.Frame
) -> None:
    state = BentState((kappa, 0.0, 0.0, 0.0), phi, 0.4)
    target = pcc.segment_transform(kappa, phi, 0.4 * SHARES, frame)
    np.testing.assert_allclose(frames_along(ppc(frame), state, SHARES), target, atol=1e-14)


@pytest.mark.parametrize("slope", [1.0, 40.0, -200.0])
def test_a_linear_polynomial_is_a_clothoid(slope: float) -> None:
    """θ = slope·s²/(2ℓ), so the point is a Fresnel integral."""
    length = 0.3
    result = frames_along(ppc(degree=1), BentState((0.0, slope), 0.0, length), SHARES)
    unit = np.sqrt(np.pi * length / abs(slope))
    sines, cosines = fresnel(length * SHARES / unit)
    np.testing.assert_allclose(result[:, 0, 3], np.sign(slope) * unit * sines, atol=1e-14)
    np.testing.assert_allclose(result[:, 2, 3], unit * cosines, atol=1e-14)
    np.testing.assert_array_equal(result[:, 1, 3], 0.0)


@given(st.tuples(*[st.floats(-20, 20)] * 4), st.floats(-7, 7))
@settings(max_examples=50, deadline=None)
def test_the_z_axis_is_the_tangent(kappas: tuple[float, ...], phi: float) -> None:
    step = 1e-4
    state = BentState(kappas, phi, 0.5)
    before, at, after = (
        frames_along(ppc(), state, np.array([0.4 + d])) for d in (-step, 0.0, step)
    )
    tangent = (after - before)[0, :3, 3] / (2 * step * 0.5)
    np.testing.assert_allclose(tangent, at[0, :3, 2], atol=1e-6)
    rotation = at[0, :3, :3]
    np.testing.assert_allclose(rotation @ rotation.T, np.eye(3), atol=1e-14)


def test_the_plane_turns_the_curve_about_the_base_axis() -> None:
    kappas = (3.0, -20.0, 5.0, 1.0)
    flat, rotated = (frames_along(ppc(), BentState(kappas, phi, 0.3), SHARES) for phi in (0.0, 2.0))
    x, y = np.cos(2.0), np.sin(2.0)
    np.testing.assert_allclose(rotated[:, 0, 3], x * flat[:, 0, 3], atol=1e-15)
    np.testing.assert_allclose(rotated[:, 1, 3], y * flat[:, 0, 3], atol=1e-15)
    np.testing.assert_allclose(rotated[:, 2, 3], flat[:, 2, 3], atol=1e-15)
