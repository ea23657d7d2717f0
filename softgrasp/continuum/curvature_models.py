"""Curvature models of bendable segments: constant (``pcc``) and polynomial curvature (``ppc``).

With ``ppc`` the curvature has the components u′ towards x and v′ towards y of a frame that does not
rotate about the backbone (``bishop``), each a polynomial of the fraction s/ℓ of the arc length;
degree 0 is constant curvature. Between two positions the frame moves by the exponential of a twist
(sixth-order Magnus series of Blanes, Casas, Oteo and Ros 2009, Physics Reports 470, sec. 5), so
rotations remain rotations. ``CURVATURE_MODELS`` lists the models by the names of U(C)RDF; their
interfaces, such as ``kappa`` and ``phi``, are in ``description.robot.curvature_interfaces``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce

import numpy as np
from numpy.polynomial.polynomial import polyval
from numpy.typing import ArrayLike

from softgrasp.continuum.pcc import Frame, arc_functions, bend_transform
from softgrasp.errors import DescriptionError, did_you_mean
from softgrasp.mechanics.transforms import Array, rotate_about

NODES = 0.5 + np.sqrt(0.15) * np.array([-1.0, 0.0, 1.0])
"""Gauss–Legendre nodes of a step from 0 to 1."""
STEPS = 12
"""Steps per degree of the polynomial and per radian of the largest bending angle that it allows:
leaves 2e-13 of the length (150 random segments up to degree 9 and 120 rad)."""
FramesAlong = Callable[[Sequence[float], float, float, Array], Array]
"""(m, 4, 4) ``bishop`` frames from curvature coefficients [1/m], plane φ [rad], length [m] and
fractions of the length (m,)."""


# Models by name.


def frames_along(
    model: str,
    degree: int,
    frame: Frame,
    state: Sequence[float],
    length: float,
    fractions: ArrayLike,
) -> Array:
    """Compute frames along a bendable at a state, in its base frame, (m, 4, 4).

    Args:
        model: ``pcc`` or ``ppc``.
        degree: Degree of the polynomial κ(s/ℓ), 0 for ``pcc``.
        frame: ``bishop`` or ``webster``.
        state: The ``degree`` + 1 coefficients of κ [1/m], then φ [rad].
        length: Arc length [m].
        fractions: Positions over the length, 0 at the base and 1 at the end, (m,).

    Raises:
        DescriptionError: There is no such model, the state has another length than the model, the
            length is not positive, or a number is not finite.
    """
    if model not in CURVATURE_MODELS:
        hint = did_you_mean(model, CURVATURE_MODELS)
        raise DescriptionError(f"no curvature model '{model}'; {hint}", field="model")
    if len(state) != degree + 2:
        raise DescriptionError(
            f"expected {degree + 2} numbers of a {model} state of degree {degree}, found "
            f"{len(state)}",
            field="state",
        )
    *kappas, phi = state
    fraction_array = np.atleast_1d(np.asarray(fractions, dtype=float))
    if not np.isfinite([*state, length, *fraction_array]).all() or length <= 0.0:
        raise DescriptionError(
            f"expected finite numbers and a length above 0, found {tuple(state)}, {length}, "
            f"{fraction_array}",
            field="state",
        )
    bishop = CURVATURE_MODELS[model](kappas, phi, length, fraction_array)
    return bishop if frame == "bishop" else bishop @ rotate_about("z", phi)


def _constant(kappas: Sequence[float], phi: float, length: float, fractions: Array) -> Array:
    """Compute frames of constant curvature; the arc up to a position is a shorter segment."""
    theta = kappas[0] * length * fractions
    return bend_transform(theta * np.cos(phi), theta * np.sin(phi), length * fractions)


# Polynomial curvature.


def segment_frames(kappas: ArrayLike, phi: float, length: float, at: ArrayLike) -> Array:
    """Compute frames (``bishop``) along a segment that bends in one plane, (m, 4, 4).

    Args:
        kappas: Coefficients of κ(s) = Σ κₖ (s/ℓ)ᵏ [1/m], shape (n,).
        phi: Angle of the bending plane about the base z axis, 0 bends towards +x [rad].
        length: Arc length ℓ [m].
        at: Fractions of the arc length, (m,).

    Raises:
        DescriptionError: As ``bend_frames``.
    """
    along = _finite("kappas", kappas)
    (angle,) = _finite("phi", phi)
    return bend_frames(along * np.cos(angle), along * np.sin(angle), length, at)


def bend_frames(
    coefficients_u: ArrayLike,
    coefficients_v: ArrayLike,
    length: float,
    at: ArrayLike,
    *,
    steps: int | None = None,
) -> Array:
    """Compute frames (``bishop``) along a segment in its base frame, (m, 4, 4).

    Args:
        coefficients_u: Of the curvature towards x, ascending powers of s/ℓ [1/m], shape (n,).
        coefficients_v: Of the curvature towards y [1/m], (k,).
        length: Arc length ℓ [m].
        at: Fractions of the arc length, 0 at the base and 1 at the end, (m,).
        steps: Integration steps to every position; by default as many as an error of 1e-12 of the
            length needs.

    Raises:
        DescriptionError: The length is not positive, or a number is not finite.
    """
    u, v = _finite("coefficients_u", coefficients_u), _finite("coefficients_v", coefficients_v)
    stations = _finite("at", at)
    if not 0.0 < length < np.inf:
        raise DescriptionError(f"expected a number above 0, found {length}", field="length")
    count = steps or _count_steps(u, v, length)
    quadrature_points = stations[:, None, None] * (np.arange(count)[:, None] + NODES) / count
    twists = np.zeros((*quadrature_points.shape, 6))
    twists[..., 0], twists[..., 1], twists[..., 5] = (
        -polyval(quadrature_points, v),
        polyval(quadrature_points, u),
        1.0,
    )
    twists *= length * stations[:, None, None, None] / count
    moves = _exponential(_magnus(*np.moveaxis(twists, -2, 0)))
    return np.asarray(reduce(np.matmul, np.moveaxis(moves, 1, 0)))


def _finite(field: str, values: ArrayLike) -> Array:
    array = np.atleast_1d(np.asarray(values, dtype=float))
    if array.ndim != 1 or not array.size or not np.isfinite(array).all():
        raise DescriptionError(f"expected finite numbers in a row, found {array}", field=field)
    return array


def _count_steps(u: Array, v: Array, length: float) -> int:
    degree = max(len(np.trim_zeros(part, "b")) for part in (u, v)) - 1
    if degree < 1:
        return 1
    bend_angle = length * float(np.abs(u).sum() + np.abs(v).sum())
    return int(np.ceil(STEPS * (degree + bend_angle)))


def _magnus(first: Array, middle: Array, last: Array) -> Array:
    """Compute one Magnus twist per step from twists at its three nodes, (..., 6)."""
    item = middle
    two = np.sqrt(15.0) / 3.0 * (last - first)
    three = 10.0 / 3.0 * (last - 2.0 * middle + first)
    inner = _bracket(item, two)
    outer = -_bracket(item, 2.0 * three + inner) / 60.0
    return item + three / 12.0 + _bracket(-20.0 * item - three + inner, two + outer) / 240.0


def _bracket(a: Array, b: Array) -> Array:
    """Compute the Lie bracket [b, a] of twists (ω, v) for frames that multiply on the right."""
    rotation_part = np.cross(b[..., :3], a[..., :3])
    shift = np.cross(b[..., :3], a[..., 3:]) - np.cross(a[..., :3], b[..., 3:])
    return np.concatenate([rotation_part, shift], axis=-1)


def _exponential(twists: Array) -> Array:
    """Compute the exponential map of twists (ω, v) [rad, m], (..., 4, 4)."""
    rotation_part = twists[..., :3]
    f = arc_functions(np.linalg.norm(rotation_part, axis=-1))
    skew = np.cross(rotation_part[..., None, :], np.eye(3), axisa=-1, axisb=-1, axisc=-1)
    skew = np.swapaxes(skew, -1, -2)
    a, b, c = (part[..., None, None] for part in (f.a, f.b, f.c))
    square = skew @ skew
    motion = np.zeros((*rotation_part.shape[:-1], 4, 4))
    motion[..., :3, :3] = np.eye(3) + a * skew + b * square
    motion[..., :3, 3] = ((np.eye(3) + b * skew + c * square) @ twists[..., 3:, None])[..., 0]
    motion[..., 3, 3] = 1.0
    return motion


# The table of models.

CURVATURE_MODELS: dict[str, FramesAlong] = {"pcc": _constant, "ppc": segment_frames}
"""Frames of each model; paper 002 (pcc) and its announced next step (ppc)."""
