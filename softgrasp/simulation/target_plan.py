"""Targets of many control samples at once, as long as contact does not change."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from softgrasp.mechanics.transforms import Array


def planned_targets(
    targets: Array,
    increments: Array,
    free: Sequence[bool],
    limits: tuple[Array, Array],
    samples: int,
) -> Array:
    """Targets of the coming control samples, as long as contact does not change.

    Every free drive grows by its increment at each sample, up to its limit. The sums are taken
    one after another, so that a plan made in two parts is the same bit for bit.

    Args:
        targets: Targets of the last sample [rad, m or Pa], (nd,).
        increments: Growth a control sample, zero for an inactive drive, (nd,).
        free: Which drives may move, (nd,).
        limits: Lowest and highest targets, (nd,) each.
        samples: Samples to plan.

    Returns:
        Shape (1 + samples, nd) [rad, m or Pa]; the first row is ``targets``.
    """
    plan = np.empty((1 + samples, len(targets)))
    plan[:] = targets
    moving = np.flatnonzero(np.logical_and(free, increments))
    if moving.size:
        path = plan[:, moving]
        path[1:] = increments[moving]
        np.add.accumulate(path, out=path)
        lowest, highest = (limit[moving] for limit in limits)
        plan[:, moving] = np.minimum(np.maximum(path, lowest, out=path), highest, out=path)
    return plan
