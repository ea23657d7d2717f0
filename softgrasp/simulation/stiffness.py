"""The stiffness that contacts really had at the end of a run."""

from __future__ import annotations

from softgrasp.simulation.contacts import ContactPoint

STIFFNESS_TOLERANCE = 0.05
"""A measured stiffness that is farther from the asked one is told [–]."""


def measured_stiffness(points: list[ContactPoint]) -> dict[str, float]:
    """Normal force over penetration of each pair [N/m]; a pair's contacts count by force."""
    stiffness = {}
    for pair in sorted({point.pair for point in points}):
        own = [p for p in points if p.pair == pair and p.separation < 0 < p.normal_force]
        if own:
            depth = -sum(point.separation for point in own)
            stiffness[pair] = sum(point.normal_force for point in own) / depth
    return stiffness


def stiffness_warnings(measured: dict[str, float], asked: float) -> list[str]:
    """What to say of pairs whose stiffness at the end is not the one that was set."""
    off = {pair: k for pair, k in measured.items() if abs(k / asked - 1) > STIFFNESS_TOLERANCE}
    if not off:
        return []
    worst = max(off, key=lambda pair: abs(off[pair] / asked - 1))
    return [
        f"contact stiffness at the end: {len(off)} of {len(measured)} pairs are more than "
        f"{STIFFNESS_TOLERANCE:.0%} from the asked {asked:g} N/m, most {worst} with "
        f"{off[worst]:.3g} N/m (not at rest, a servo at its force limit, or a very light object)"
    ]
