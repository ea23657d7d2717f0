"""What pressure, tendon and motors do to the coordinates of a soft finger."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from softgrasp.description.soft_finger import SoftFinger
from softgrasp.errors import DescriptionError
from softgrasp.mechanics.transforms import Array


def actuation_forces(
    finger: SoftFinger,
    *,
    pressure: ArrayLike = 0.0,
    tension: ArrayLike = 0.0,
    joint_moments: ArrayLike = 0.0,
    steps: int | None = None,
) -> Array:
    """Generalised forces of all drives together, (c,) as ``SoftFinger.freedoms`` or (T, c).

    A pressure bends every joint by ``pressure_gain`` (paper 000, eq 2) and lengthens it by
    ``pressure_area``. A tendon that runs along the finger bends it by its tension times
    ``tendon_arm``, and presses it together by the tension times ``tendon_pull``.

    Args:
        finger: The finger.
        pressure: [Pa]; one number, or (T,).
        tension: [N]; one number, or (T,).
        joint_moments: About y [N·m]; one for all joints, (n,), or (T, n).
        steps: T; None for one instant.

    Raises:
        DescriptionError: A number is not finite, a tension is negative, or a shape does not fit.
    """
    pressures = _rows("pressure", pressure, None, steps)[:, None]
    tensions = _rows("tension", tension, None, steps)[:, None]
    if (tensions < 0.0).any():
        raise DescriptionError(
            f"expected at least 0, as a tendon only pulls, found {tensions.min():g}",
            field="tension",
        )
    bends = _rows("joint_moments", joint_moments, len(finger.joints), steps)
    bends = bends + pressures * [joint.pressure_gain for joint in finger.joints]
    bends = bends + tensions * [joint.tendon_arm for joint in finger.joints]
    forces = np.zeros((len(bends), len(finger.freedoms)))
    for column, (index, freedom) in enumerate(finger.freedoms):
        if freedom == "y":
            forces[:, column] = bends[:, index]
        elif freedom == "stretch":
            joint = finger.joints[index]
            along = joint.pressure_area * pressures - joint.tendon_pull * tensions
            forces[:, column] = along[:, 0]
    return forces if steps is not None else forces[0]


def _rows(field: str, values: ArrayLike, joints: int | None, steps: int | None) -> Array:
    """Finite numbers, (T,) or (T, n)."""
    numbers, each = np.asarray(values, dtype=float), () if joints is None else (joints,)
    known: dict[tuple[int, ...], str] = {(): "a finite number"}
    if joints is not None:
        known[each] = f"{joints}, one a joint"
    if steps is not None:
        known[steps, *each] = f"{steps}, one a time step"
    if numbers.shape not in known or not np.isfinite(numbers).all():
        received = f"shape {numbers.shape}" if numbers.shape else f"{numbers}"
        raise DescriptionError(
            f"expected {' or '.join(known.values())}, found {received}", field=field
        )
    return np.broadcast_to(numbers, (steps or 1, *each))
