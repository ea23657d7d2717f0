"""The stiffness that contacts really had at the end of a run."""

from __future__ import annotations

import numpy as np

from softgrasp.mechanics.transforms import Array
from softgrasp.simulation.contacts import ContactPoint

CHATTER, CHATTER_SAMPLES = 0.1, 20
"""Mean jump of a force between two control samples, over the force, that is told [–], and over how
many of the last samples it is taken."""
STIFFNESS_TOLERANCE = 0.05
"""A measured stiffness that is farther from the asked one is told [–]."""


def measured_stiffness(points: list[ContactPoint]) -> dict[str, float]:
    """Normal force over penetration of each pair [N/m]; a pair's contacts count by force."""
    stiffness = {}
    for pair in sorted({point.pair for point in points}):
        loaded_points = [p for p in points if p.pair == pair and p.separation < 0 < p.normal_force]
        if loaded_points:
            depth = -sum(point.separation for point in loaded_points)
            stiffness[pair] = sum(point.normal_force for point in loaded_points) / depth
    return stiffness


def stiffness_warnings(measured: dict[str, float], set_stiffness: dict[str, float]) -> list[str]:
    """What to say of pairs whose stiffness at the end is not the one that was set.

    Args:
        measured: By pair [N/m].
        set_stiffness: What was set for each of them [N/m]; pairs that are not in it promise nothing.
    """
    measured = {pair: stiffness for pair, stiffness in measured.items() if pair in set_stiffness}
    deviations = {
        pair: abs(stiffness / set_stiffness[pair] - 1) for pair, stiffness in measured.items()
    }
    off = {pair: k for pair, k in measured.items() if deviations[pair] > STIFFNESS_TOLERANCE}
    if not off:
        return []
    worst = max(off, key=lambda pair: deviations[pair])
    return [
        f"contact stiffness at the end: {len(off)} of {len(measured)} pairs are more than "
        f"{STIFFNESS_TOLERANCE:.0%} from the asked {set_stiffness[worst]:g} N/m, most {worst} with "
        f"{off[worst]:.3g} N/m (not at rest, a servo at its force limit, or a very light object)"
    ]


def chatter_warnings(forces: Array, bodies: list[str]) -> list[str]:
    """What to say of contact forces that jump from sample to sample at the end.

    Args:
        forces: Normal force of each body at every control sample [N], shape (T, nb).
        bodies: Names of the bodies.
    """
    late = forces[-CHATTER_SAMPLES:]
    mean = late.mean(axis=0)
    jumps = np.abs(np.diff(late, axis=0)).mean(axis=0) / np.where(mean > 0.0, mean, np.inf)
    if len(late) < CHATTER_SAMPLES or jumps.max(initial=0.0) < CHATTER:
        return []
    worst = int(jumps.argmax())
    return [
        f"contact forces at the end jump from sample to sample, most on {bodies[worst]} by "
        f"{jumps[worst]:.0%} on average: contact points change places, as on the edges of a "
        "faceted mesh; try a smoother mesh, a primitive, or a smaller timestep"
    ]
