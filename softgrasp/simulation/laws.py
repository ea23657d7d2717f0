"""The laws of position-increment closure (paper 004, §2.2.3), blind to any engine.

Plain loops over anything that can be indexed: Python lists in the plain loop, arrays in the
compiled one. Both run this very source, so both take the same decisions.
"""

from __future__ import annotations

from collections.abc import MutableSequence, Sequence

Counts = MutableSequence[int]
Flags = MutableSequence[int]
Numbers = MutableSequence[float]

TOUCHING, ESTABLISHED, LOST = 1, 2, 4
"""Bits that say what became of a body's contact at one control sample."""


def debounce(
    forces: Sequence[float],
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
    for body in range(len(forces)):
        force = forces[body]
        change = 0
        if force > 0.0 and touched[body] == 0:
            touched[body] = 1
            change = TOUCHING
        if force > threshold:
            if counts[body] < samples:
                counts[body] += 1
                if counts[body] == samples:
                    in_contact[body] = 1
                    change += ESTABLISHED
        elif counts[body] > 0:
            counts[body] = 0
            if in_contact[body] == 1:
                in_contact[body] = 0
                touched[body] = 0
                change += LOST
        changes[body] = change
        if change != 0:
            changed = True
    return changed


def advance_targets(
    targets: Numbers,
    increments: Sequence[float],
    lower: Sequence[float],
    upper: Sequence[float],
    body_of_joint: Sequence[int],
    last_of_finger: Sequence[int],
    in_contact: Sequence[int],
) -> bool:
    """Let every joint grow by its increment unless its phalanx or a later one is in contact.

    Args:
        targets: Target of each joint [rad or m], finger by finger, (nj,); changed.
        increments: Growth a control sample, (nj,); zero for an inactive joint.
        lower: Lowest targets, (nj,).
        upper: Highest targets, (nj,).
        body_of_joint: Index of the body that each joint moves, −1 for a row without one, (nj,).
        last_of_finger: 1 for the last joint of each finger, (nj,).
        in_contact: 1 where a body's contact is established, (nb,).

    Returns:
        Whether any target moved.
    """
    moved = False
    blocked = 0
    for back in range(len(targets)):
        joint = len(targets) - 1 - back
        if last_of_finger[joint] == 1:
            blocked = 0
        body = body_of_joint[joint]
        if body >= 0 and in_contact[body] == 1:
            blocked = 1
        if blocked == 0 and increments[joint] != 0.0:
            target = min(max(targets[joint] + increments[joint], lower[joint]), upper[joint])
            if target != targets[joint]:
                targets[joint] = target
                moved = True
    return moved
