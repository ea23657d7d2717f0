"""The laws of position-increment closure (paper 004, §2.2.3), blind to any engine.

``debounce`` is a plain loop over anything that can be indexed: Python lists in the plain loop,
arrays in the compiled one. Both run this very source, so both take the same decisions. So does the
controller inside Webots, into whose folder this file is copied: it needs the standard library only,
and runs with Python 3.7, as it may be the one that Webots finds.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import MutableSequence, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from softgrasp.mechanics.transforms import Array


if TYPE_CHECKING:
    Counts = MutableSequence[int]
    Flags = MutableSequence[int]

TOUCHING, ESTABLISHED, LOST = 1, 2, 4
"""Bits that say what became of a body's contact at one control sample."""


def debounce(
    forces: Sequence[float] | Array,
    threshold: float,
    samples: int,
    counts: Counts,
    touched: Flags,
    in_contact: Flags,
    changes: Flags,
) -> bool:
    """Judge one sample of the normal forces; True if anything changed.

    Contact is established at the sample at which the last ``samples`` forces, the current one
    included, are all above the threshold, and lost at the first one that is not. A touch is
    told once until contact is lost.

    Args:
        forces: Normal force of each body [N], shape (nb,).
        threshold: A force above it counts [N].
        samples: Consecutive samples that establish contact.
        counts: Consecutive samples so far, (nb,); changed.
        touched: 1 where a touch has been told, (nb,); changed.
        in_contact: 1 where contact is established, (nb,); changed.
        changes: Sum of TOUCHING, ESTABLISHED and LOST of this sample, (nb,); changed.
    """
    changed = False
    for body, force in enumerate(forces):
        change = 0
        if force > 0.0 and touched[body] == 0:
            touched[body] = 1
            change = TOUCHING
        count = counts[body]
        if force > threshold:
            if count < samples:
                counts[body] = count + 1
                if count + 1 == samples:
                    in_contact[body] = 1
                    change += ESTABLISHED
        elif count > 0:
            counts[body] = 0
            if in_contact[body] == 1:
                in_contact[body] = 0
                touched[body] = 0
                change += LOST
        changes[body] = change
        if change != 0:
            changed = True
    return changed


def latch(on: Sequence[int], off: Sequence[int], latched: Flags) -> bool:
    """Switch each flag on where one thing is so, off where the other is; True if any changed.

    Args:
        on: 1 where a flag goes on, (n,).
        off: 1 where it goes off and is not told to go on, (n,).
        latched: The flags, (n,); changed.
    """
    changed = False
    for index, now in enumerate(latched):
        following = 1 if on[index] else 0 if off[index] else now
        if following != now:
            latched[index] = following
            changed = True
    return changed


def light_touches(
    forces: Sequence[float],
    in_contact: Sequence[int],
    pressing: Sequence[int],
    max_samples: int,
    counts: Counts,
    light: Flags,
) -> bool:
    """Mark bodies that touch and do not press yet; True if there are any.

    One that goes on so for long is not marked any more until contact is established.

    Args:
        forces: Normal force of each body [N], (nb,).
        in_contact: 1 where a body's contact is established, (nb,).
        pressing: 1 where it has been, and the body is not apart yet, (nb,).
        max_samples: Samples with a force after which a body is not marked any more.
        counts: Such samples so far, (nb,); changed. Whoever finds a body apart puts it to zero.
        light: The marks, (nb,); changed.
    """
    for body, force in enumerate(forces):
        touching = force > 0.0 and not pressing[body]
        counts[body] += 1 if touching else 0
        light[body] = 1 if touching and (in_contact[body] or counts[body] <= max_samples) else 0
    return any(light)


def update_slip(
    pairs: Sequence[int] | NDArray[np.int64],
    rows: Sequence[int] | NDArray[np.int64],
    velocities: Sequence[float] | Array,
    critical: Sequence[float] | Array,
    slipping: Flags | NDArray[np.int64],
    seen: Flags | NDArray[np.int64],
) -> bool:
    """Judge which pairs slide (paper 004, Table 2); True if any began or ceased to.

    A pair slides where one of its contacts is faster than the critical velocity. Pairs without a
    contact stay as they are.

    Args:
        pairs: Index of the pair of each contact, −1 for one that does not count, (nc,).
        rows: First constraint row of each contact, negative where it has none, (nc,).
        velocities: Of the constraint rows: normal, and two along the surface [m/s], (nr,).
        critical: Slip speed above which a contact of each pair slides [m/s], (np,).
        slipping: 1 for a pair that slides, (np,); changed.
        seen: Zeros, (np,); scratch, zeros again afterwards.
    """
    for contact, pair in enumerate(pairs):
        if pair >= 0:
            row = rows[contact]
            fast = (
                row >= 0 and math.hypot(velocities[row + 1], velocities[row + 2]) > critical[pair]
            )
            seen[pair] = max(seen[pair], 2 if fast else 1)
    changed = False
    for pair in pairs:
        if pair >= 0 and seen[pair] > 0:
            now = seen[pair] - 1
            if slipping[pair] != now:
                slipping[pair] = now
                changed = True
            seen[pair] = 0
    return changed


def free_actuators(stops: Sequence[Sequence[int]], in_contact: Sequence[int]) -> list[bool]:
    """Which drives may move: those none of whose bodies is in contact.

    Args:
        stops: Indices of the bodies whose contact stops each drive: the phalanx that it moves and
            the later ones of its finger; none of a pressure or the wrist, (nd,).
        in_contact: 1 where a body's contact is established, (nb,).
    """
    return [not any(in_contact[body] for body in bodies) for bodies in stops]


def next_targets(
    targets: Sequence[float],
    increments: Sequence[float],
    free: Sequence[bool],
    lower: Sequence[float],
    upper: Sequence[float],
) -> list[float]:
    """Targets of the next control sample: free drives grow by their increments up to a limit.

    Args:
        targets: Of the sample before [rad, m or Pa], (nd,).
        increments: Growth a control sample, zero for an inactive drive, (nd,).
        free: Which drives may move, (nd,).
        lower: Lowest targets, (nd,).
        upper: Highest targets, (nd,).
    """
    following = list(targets)
    for actuator, increment in enumerate(increments):
        if free[actuator] and increment:
            grown = following[actuator] + increment
            following[actuator] = min(max(grown, lower[actuator]), upper[actuator])
    return following
