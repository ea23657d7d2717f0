"""Curvature models by the names that U(C)RDF gives them in ``<model type>``.

The interfaces of a model, such as ``kappa`` and ``phi``, are named in
``description.control_system.curvature_interfaces``; a state here holds their values without ``l``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import ArrayLike

from softgrasp.errors import DescriptionError, did_you_mean
from softgrasp.mechanics.pcc import Frame, bend_transform
from softgrasp.mechanics.ppc import segment_frames
from softgrasp.mechanics.transforms import Array, rotate_about

FramesAlong = Callable[[Sequence[float], float, float, Array], Array]
"""(m, 4, 4) ``bishop`` frames of curvature coefficients [1/m], plane φ [rad], length [m] and shares
of the length (m,)."""


def _constant(kappas: Sequence[float], phi: float, length: float, fractions: Array) -> Array:
    # the arc up to a place is a shorter segment, at the base one of no length
    theta = kappas[0] * length * fractions
    return bend_transform(theta * np.cos(phi), theta * np.sin(phi), length * fractions)


CURVATURE_MODELS: dict[str, FramesAlong] = {"pcc": _constant, "ppc": segment_frames}
"""What a state of each model looks like; papers 002 (pcc) and its named next step (ppc)."""


def frames_along(
    model: str,
    degree: int,
    frame: Frame,
    state: Sequence[float],
    length: float,
    fractions: ArrayLike,
) -> Array:
    """Frames along a bendable at a state, in its base frame, (m, 4, 4).

    Args:
        model: ``pcc`` or ``ppc``.
        degree: Of the polynomial κ(s/ℓ), 0 for ``pcc``.
        frame: ``bishop`` or ``webster``.
        state: The ``degree`` + 1 coefficients of κ [1/m], then φ [rad].
        length: Arc length [m].
        fractions: Places over the length, 0 at the base and 1 at the end, (m,).

    Raises:
        DescriptionError: There is no such model, the state has more or fewer numbers than the
            model, the length is not positive, or a number is not finite.
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
