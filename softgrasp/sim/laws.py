"""Control law of position-increment closure: debounced contacts stop the actuators.

Source: Mostashiri, Dhupia, Verl, Xu (paper 004), section 2.2.3 and Table 2. The functions are pure,
work on plain lists and know no physics engine. There is one implementation of each law: runs in
MuJoCo, environments and the controller inside Webots call these functions. This file is
copied into the directory of the Webots controller, so it imports the standard library only and
runs with Python 3.7, which may be the interpreter that Webots finds.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import MutableSequence, Sequence

    Counts = MutableSequence[int]
    Flags = MutableSequence[int]

UNLIMITED = float("inf")
GRIP_INTERVAL = 32
"""Control samples between two limitations of the leads of stopped servos while a hand closes."""
TOUCHING, ESTABLISHED, LOST = 1, 2, 4
"""Bits that describe how the contact of a body changed at one control sample."""


def debounce(
    forces: Sequence[float],
    threshold: float,
    samples: int,
    counts: Counts,
    touched: Flags,
    in_contact: Flags,
    changes: Flags,
) -> bool:
    """Update established contacts by one sample of normal forces; True if anything changed.

    Contact is established at the sample at which the last ``samples`` forces, the current one
    included, are all above the threshold, and lost at the first one that is not. A touch is
    reported once until contact is lost.

    Args:
        forces: Normal force of each body [N], (nb,).
        threshold: Force that has to be exceeded [N].
        samples: Consecutive samples that establish contact.
        counts: Consecutive samples so far, (nb,); updated.
        touched: 1 where a touch was reported, (nb,); updated.
        in_contact: 1 where contact is established, (nb,); updated.
        changes: Sum of TOUCHING, ESTABLISHED and LOST of this sample, (nb,); overwritten.
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
    """Set flags where one condition holds, reset them where another does; True if any changed.

    Args:
        on: 1 where a flag is set, (n,).
        off: 1 where it is reset unless it is also set, (n,).
        latched: The flags, (n,); updated.
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
    """Mark bodies that touch with a force below the threshold; True if there are any.

    A body that touches for too many samples without contact is no longer marked until contact is
    established.

    Args:
        forces: Normal force of each body [N], (nb,).
        in_contact: 1 where contact of a body is established, (nb,).
        pressing: 1 from established contact until the body has separated, (nb,).
        max_samples: Samples with a force after which a body is no longer marked.
        counts: Such samples so far, (nb,); updated. The caller resets them on separation.
        light: The marks, (nb,); overwritten.
    """
    for body, force in enumerate(forces):
        touching = force > 0.0 and not pressing[body]
        counts[body] += 1 if touching else 0
        light[body] = 1 if touching and (in_contact[body] or counts[body] <= max_samples) else 0
    return any(light)


def free_actuators(stops: Sequence[Sequence[int]], in_contact: Sequence[int]) -> list[bool]:
    """Find the actuators that may move: those that move no body in contact.

    Args:
        stops: Indices of the bodies whose contact stops each actuator: the phalanx that it moves
            and the distal ones of its finger; none for a pressure or the wrist, (nd,).
        in_contact: 1 where contact of a body is established, (nb,).
    """
    return [not any(in_contact[body] for body in bodies) for bodies in stops]


def grip_targets(
    targets: Sequence[float],
    positions: Sequence[float],
    acting: Sequence[bool],
    stops: Sequence[Sequence[int]],
    leads: Sequence[Sequence[float]],
    in_contact: Sequence[int],
) -> list[float]:
    """Move targets back towards their joints, so that servos press with a grip force at most.

    The largest lead of a target over its joint is that of the outermost body in contact.

    Args:
        targets: Targets of the last sample [rad or m], (nd,).
        positions: Joint variables at that sample [rad or m], (nd,).
        acting: Whether each actuator is limited, (nd,).
        stops: Indices of the bodies whose contact stops each actuator, (nd,).
        leads: Largest lead for each of these bodies [rad or m], (nd,); none without a limit.
        in_contact: 1 where contact of a body is established, (nb,).
    """
    limited = list(targets)
    for actuator, position in enumerate(positions):
        if not acting[actuator]:
            continue
        touching = [in_contact[body] for body in stops[actuator]]
        contacts = [lead for index, lead in enumerate(leads[actuator]) if touching[index]]
        lead = max(contacts, default=UNLIMITED)
        if abs(limited[actuator] - position) > lead:
            limited[actuator] = position + (lead if limited[actuator] > position else -lead)
    return limited


def next_targets(
    targets: Sequence[float],
    increments: Sequence[float],
    free: Sequence[bool],
    lower: Sequence[float],
    upper: Sequence[float],
) -> list[float]:
    """Compute the targets of the next control sample: free actuators advance up to a limit.

    Args:
        targets: Targets of the previous sample [rad, m or Pa], (nd,).
        increments: Increment per control sample, zero for an inactive actuator, (nd,).
        free: Whether each actuator may move, (nd,).
        lower: Lower limits, (nd,).
        upper: Upper limits, (nd,).
    """
    following = list(targets)
    for actuator, increment in enumerate(increments):
        if free[actuator] and increment:
            grown = following[actuator] + increment
            following[actuator] = min(max(grown, lower[actuator]), upper[actuator])
    return following
