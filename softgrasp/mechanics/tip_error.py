"""How far the tip of a model is from where it was measured, over the length of the finger."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from softgrasp.errors import DescriptionError
from softgrasp.mechanics.transforms import Array


def tip_error(tip: ArrayLike, reference: ArrayLike, lengths: ArrayLike) -> Array:
    """E = ‖tip − reference‖ / Σℓ of tips and where they were measured, (...) [–].

    Paper 001 calls its E (Table I) an error in task space, and then a difference of curvatures;
    this is the one that its table can mean.

    Args:
        tip: Of the model [m], (..., 3).
        reference: Measured, in the same frame [m], (..., 3).
        lengths: Of the pieces [m], (n,).

    Raises:
        DescriptionError: Something is no point, or the lengths are not positive.
    """
    model, measured = (np.asarray(part, dtype=float) for part in (tip, reference))
    arcs = np.asarray(lengths, dtype=float)
    for field, points in (("tip", model), ("reference", measured)):
        if points.shape[-1:] != (3,) or not np.isfinite(points).all():
            raise DescriptionError(
                f"expected points (..., 3) of finite numbers, found shape {points.shape}",
                field=field,
            )
    if arcs.size == 0 or not ((arcs > 0.0) & (arcs < np.inf)).all():
        raise DescriptionError(f"expected lengths above 0, found {arcs}", field="lengths")
    return np.asarray(np.linalg.norm(model - measured, axis=-1) / arcs.sum())


def track_errors(
    times: ArrayLike,
    tips: ArrayLike,
    measured_times: ArrayLike,
    measured: ArrayLike,
    lengths: ArrayLike,
) -> Array:
    """E at the instants of a model, with measured tips in between taken on straight lines, (t,).

    Args:
        times: Of the model [s], (t,).
        tips: Of the model [m], (t, 3).
        measured_times: Rising [s], (m,); they have to cover the model's.
        measured: [m], (m, 3).
        lengths: Of the pieces [m], (n,).

    Raises:
        DescriptionError: As ``tip_error``, or an instant lies before or after all measured ones.
    """
    requested, known = np.asarray(times, dtype=float), np.asarray(measured_times, dtype=float)
    points = np.asarray(measured, dtype=float)
    if points.shape != (len(known), 3):
        raise DescriptionError(
            f"expected a point (3,) for each of {len(known)} times, found shape {points.shape}",
            field="measured",
        )
    outside = requested[~((requested >= known[0]) & (requested <= known[-1]))]
    if outside.size:
        raise DescriptionError(
            f"expected times from {known[0]:g} to {known[-1]:g} s, which is what was measured, "
            f"found {outside[0]:g} s",
            field="times",
        )
    between = np.column_stack([np.interp(requested, known, part) for part in points.T])
    return tip_error(tips, between, lengths)
