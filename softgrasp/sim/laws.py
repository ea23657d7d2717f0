"""Closing laws: contacts by debouncing, and the next targets of the actuators.

Source: Pozzi, Achilli, Valigi and Malvezzi (2022), §2.2.3 and Table 2. The functions are pure,
work on plain lists and know no physics engine. There is one implementation of each law: runs in
MuJoCo, environments and the controller inside Webots call these functions.
``stepper.plan_targets``, ``blocks`` and the kernels of MuJoCo Warp repeat some of them for many
samples or worlds at once and are tested equal to them. This file is copied into the directory of
the Webots controller, so it imports the standard library only and runs with Python 3.7, which may
be the interpreter that Webots finds.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence

UNLIMITED = float("inf")
GRIP_INTERVAL = 32
"""Control samples between two limitations of the leads of stopped servos while a hand closes."""
TOUCHING, ESTABLISHED, LOST = 1, 2, 4
"""Bits that describe how the contact of a body changed at one control sample."""


class DebouncedFlags(NamedTuple):
    """Boolean states of n bodies or actuators that change after consecutive equal samples."""

    counts: list[int]
    """Consecutive samples above the threshold, as many as activate a flag at most, (n,)."""
    touched: list[int]
    """1 where a value above zero was reported, (n,)."""
    active: list[int]
    """1 where enough consecutive samples were above the threshold, (n,)."""
    changes: list[int]
    """Sum of TOUCHING, ESTABLISHED and LOST of the last sample, (n,)."""

    @classmethod
    def initial(cls, count: int, samples: int = 0) -> DebouncedFlags:
        """Return the flags at the start: inactive, or active with a count of ``samples``."""
        active = int(samples > 0)
        return cls([samples] * count, [0] * count, [active] * count, [0] * count)


def debounce(
    forces: Sequence[float], threshold: float, samples: int, before: DebouncedFlags
) -> DebouncedFlags:
    """Compute established contacts after one more sample of normal forces.

    Contact is established at the sample at which the last ``samples`` forces, the current one
    included, are all above the threshold, and lost at the first one that is not. A touch is
    reported once until contact is lost.

    Args:
        forces: Normal force of each body [N], or another value, (n,).
        threshold: Value that has to be exceeded.
        samples: Consecutive samples that establish contact.
        before: Contacts after the sample before.
    """
    counts, touched, active = list(before.counts), list(before.touched), list(before.active)
    changes = [0] * len(counts)
    for body, force in enumerate(forces):
        if force > 0.0 and not touched[body]:
            touched[body] = 1
            changes[body] = TOUCHING
        if force > threshold:
            if counts[body] < samples:
                counts[body] += 1
                if counts[body] == samples:
                    active[body] = 1
                    changes[body] += ESTABLISHED
        elif counts[body] > 0:
            counts[body] = 0
            if active[body]:
                active[body] = touched[body] = 0
                changes[body] += LOST
    return DebouncedFlags(counts, touched, active, changes)


def latch(on: Sequence[int], off: Sequence[int], latched: Sequence[int]) -> list[int]:
    """Set flags where one condition holds, reset them where only another does.

    Args:
        on: 1 where a flag is set, (n,).
        off: 1 where it is reset unless it is also set, (n,).
        latched: The flags before, (n,).
    """
    return [1 if on[index] else 0 if off[index] else before for index, before in enumerate(latched)]


def light_touches(
    forces: Sequence[float],
    in_contact: Sequence[int],
    pressing: Sequence[int],
    max_samples: int,
    counts: Sequence[int],
) -> tuple[list[int], list[int]]:
    """Mark bodies that touch with a force below the threshold.

    A body that touches for too many samples without contact is no longer marked until contact is
    established.

    Args:
        forces: Normal force of each body [N], (nb,).
        in_contact: 1 where contact of a body is established, (nb,).
        pressing: 1 from established contact until the body has separated, (nb,).
        max_samples: Samples with a force after which a body is no longer marked.
        counts: Such samples before, (nb,). The caller resets them on separation.

    Returns:
        The marks, (nb,), and such samples so far, (nb,).
    """
    light, following = [], []
    for body, force in enumerate(forces):
        touching = force > 0.0 and not pressing[body]
        count = counts[body] + touching
        light.append(int(touching and (bool(in_contact[body]) or count <= max_samples)))
        following.append(count)
    return light, following


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
        limited[actuator] = limited_lead(targets[actuator], position, lead)
    return limited


def limited_lead(target: float, position: float, lead: float) -> float:
    """Move a target back towards its joint where it is further away than a lead.

    Args:
        target: The target [rad or m].
        position: Joint variable [rad or m].
        lead: Largest distance [rad or m].
    """
    if abs(target - position) > lead:
        return position + (lead if target > position else -lead)
    return target


def relieve_targets(
    targets: Sequence[float],
    positions: Sequence[float],
    forces: Sequence[float],
    limit: float,
    stops: Sequence[Sequence[int]],
) -> list[float]:
    """Move targets back towards their joints where a body presses with more than a limit.

    The force of a body grows with the leads of the servos that move it, so all of them are reduced
    by the ratio of limit and force.

    Args:
        targets: Targets of the last sample [rad or m], (nd,).
        positions: Joint variables at that sample [rad or m], (nd,).
        forces: Normal force of each body [N], (nb,).
        limit: Largest normal force [N].
        stops: Indices of the bodies that each actuator moves, (nd,).
    """
    relieved = list(targets)
    for actuator, bodies in enumerate(stops):
        largest = max([forces[body] for body in bodies], default=0.0)
        if largest > limit:
            lead = targets[actuator] - positions[actuator]
            relieved[actuator] = positions[actuator] + lead * limit / largest
    return relieved


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
