"""Frames along the backbone of a bendable at a state."""

from __future__ import annotations

from softgrasp.continuum import curvature_models
from softgrasp.description.bendable import Bendable
from softgrasp.formats.ucrdf.states import BentState
from softgrasp.mechanics.transforms import Array


def frames_along(part: Bendable, state: BentState, fractions: Array) -> Array:
    """Frames at shares of the backbone's length, in its base frame, (n, 4, 4).

    Args:
        part: The bendable: its model and its kind of frames.
        state: Curvatures, plane and length.
        fractions: Arc lengths over the length, above 0 and up to 1, shape (n,).
    """
    degree, values = len(state.kappas) - 1, (*state.kappas, state.phi)
    return curvature_models.frames_along(
        part.model, degree, part.frame, values, state.length, fractions
    )
