"""Whether engines converge as the time step of a release shrinks, and to the same motion."""

from __future__ import annotations

import numpy as np

from softgrasp.crosschecks.finding import Finding, farthest
from softgrasp.crosschecks.release_runs import ReleaseRuns
from softgrasp.crosschecks.tolerances import Tolerances
from softgrasp.mechanics.transforms import Array


def convergence_findings(runs: ReleaseRuns, tolerances: Tolerances) -> list[Finding]:
    """Order of convergence, and differences at the finest step.

    Engines that cannot take shorter steps are left out, and so is all of it where there is only
    one time step.
    """
    able = [name for name, motions in runs.moving.items() if len(motions) > 2]
    if not able:
        return []
    findings = [_order(runs, able, tolerances.order)]
    finest = min(runs.moving[able[0]])
    together = [name for name in able if finest in runs.moving[name]]
    if len(together) > 1:
        findings.append(_limit(runs, together, finest, tolerances.trajectory_deg))
    return findings


def largest(angles: Array) -> float:
    """The largest of angles in radians [deg]."""
    return float(np.degrees(np.abs(angles).max()))


def _order(runs: ReleaseRuns, able: list[str], tolerance: float) -> Finding:
    orders = {name: runs.convergence(name).order for name in able}
    worst, max_difference = farthest({name: abs(order - 1.0) for name, order in orders.items()})
    steady = all(runs.convergence(name).shrinking for name in able)
    return Finding(
        name="convergence_order",
        quantity="Order of convergence of the release",
        unit="",
        values=orders,
        difference=max_difference,
        difference_unit="",
        tolerance=tolerance,
        worst=worst,
        note="from 1, that of springs at the beginning of a step and dampers at its end; "
        + ("every smaller step is nearer" if steady else "a smaller step is farther away"),
    )


def _limit(runs: ReleaseRuns, together: list[str], finest: float, tolerance: float) -> Finding:
    first, *others = together
    ends = {name: runs.moving[name][finest].angles for name in together}
    apart = {name: largest(ends[name] - ends[first]) for name in others}
    worst, max_difference = farthest(apart)
    return Finding(
        name="convergence_limit",
        quantity=f"Joint angles after the release in steps of {1e3 * finest:g} ms",
        unit="deg",
        values={first: 0.0} | apart,
        difference=max_difference,
        difference_unit="deg",
        tolerance=tolerance,
        worst=worst,
        note=f"largest difference from {first} at the finest step",
    )
