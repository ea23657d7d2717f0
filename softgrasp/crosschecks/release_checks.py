"""What is compared of a release: pose at rest, motion, first mode, settling, convergence."""

from __future__ import annotations

import math

from softgrasp.crosschecks.finding import Finding, farthest, percents
from softgrasp.crosschecks.release_convergence import convergence_findings, largest
from softgrasp.crosschecks.release_runs import ReleaseRuns
from softgrasp.crosschecks.tolerances import Tolerances
from softgrasp.simulation.finger_release import MUJOCO

LINEAR, CLOSED = "linear mode", "closed form"
"""What stands beside the engines, without one."""


def release_findings(runs: ReleaseRuns, tolerances: Tolerances) -> list[Finding]:
    """Everything that is compared of a release.

    Args:
        runs: In all engines; the first is the one that others are compared with.
        tolerances: How far they may differ.
    """
    findings = [
        static_pose(runs, tolerances.static_deg),
        trajectory(runs, tolerances.trajectory_deg),
        *without_hk(runs),
        *first_mode(runs, tolerances),
        settling_time(runs, tolerances.settling_percent),
    ]
    return findings + convergence_findings(runs, tolerances)


def static_pose(runs: ReleaseRuns, tolerance: float) -> Finding:
    """Joint angles at rest under the weight, and those in closed form."""
    errors = {name: largest(motion.angles[-1] - runs.rest) for name, motion in runs.resting.items()}
    tips = {name: math.degrees(motion.angles[-1].sum()) for name, motion in runs.resting.items()}
    worst, max_difference = farthest(errors)
    return Finding(
        name="static_pose",
        quantity=f"Pose at rest under {1e3 * runs.release.tip_mass:g} g",
        unit="deg",
        values={CLOSED: math.degrees(runs.rest.sum())} | tips,
        difference=max_difference,
        difference_unit="deg",
        tolerance=tolerance,
        worst=worst,
        note="values are angles of the tip; the difference is that of the joint angle that is "
        "farthest from the closed form",
    )


def trajectory(runs: ReleaseRuns, tolerance: float) -> Finding:
    """Joint angles after the release, at the same time step."""
    first, *others = runs.moving
    reference = runs.motion(first).angles
    apart = {name: largest(runs.motion(name).angles - reference) for name in others}
    worst, max_difference = farthest(apart)
    return Finding(
        name="trajectory",
        quantity="Joint angles after the release",
        unit="deg",
        values={first: 0.0} | apart,
        difference=max_difference,
        difference_unit="deg",
        tolerance=tolerance,
        worst=worst,
        note=f"largest difference from {first} of any joint at any of {len(reference)} samples, in "
        f"steps of {1e3 * runs.release.timestep:g} ms",
    )


def without_hk(runs: ReleaseRuns) -> list[Finding]:
    """How far the motion is off where the dampers of Webots are taken for all of the damping."""
    if runs.without_hk is None:
        return []
    first = next(iter(runs.moving))
    away = largest(runs.without_hk.angles - runs.motion(first).angles)
    return [
        Finding(
            name="without_hk",
            quantity="Joint angles after the release, dampers without h·k",
            unit="deg",
            values={MUJOCO: away},
            difference=away,
            difference_unit="deg",
            tolerance=None,
            worst=MUJOCO,
            note="not judged: what comes out where the spring's own damping is forgotten",
        )
    ]


def first_mode(runs: ReleaseRuns, tolerances: Tolerances) -> list[Finding]:
    """Frequency and damping ratio of the first mode, fitted alike."""
    step = runs.release.timestep
    fits = {name: runs.mode(name, step) for name in runs.moving}
    linear, stepped = runs.linear[0.0], runs.linear[step]
    quantities = {
        "frequency": ({name: fit.frequency for name, fit in fits.items()}, "Hz", "frequency"),
        "damping_ratio": ({name: fit.ratio for name, fit in fits.items()}, "", "ratio"),
    }
    findings = []
    for name, (values, unit, field) in quantities.items():
        worst, max_difference = farthest(percents(values))
        note = f"in steps of {1e3 * step:g} ms the linear mode has {getattr(stepped, field):.5g}"
        if math.isnan(max_difference):
            note = "expected a vibration of more than a period in the recording, found none"
        findings.append(
            Finding(
                name=name,
                quantity=f"{name.replace('_', ' ').capitalize()} of the first mode",
                unit=unit,
                values=values | {LINEAR: getattr(linear, field)},
                difference=max_difference,
                difference_unit="%",
                tolerance=getattr(tolerances, f"{name}_percent"),
                worst=worst,
                note=note,
            )
        )
    return findings


def settling_time(runs: ReleaseRuns, percent: float) -> Finding:
    """When the height of the tip stays within 5 % of the initial deflection."""
    first, *others = runs.moving
    times = {name: 1e3 * runs.settled(name).time for name in runs.moving}
    worst, max_difference = farthest({name: abs(times[name] - times[first]) for name in others})
    swings = {name: runs.settled(name).overshoots for name in runs.moving}
    sample = 1e3 * runs.release.sample_period
    note = f"within 5 %; a sample is {sample:g} ms; swings out of the band: "
    return Finding(
        name="settling_time",
        quantity="Settling time",
        unit="ms",
        values=times,
        difference=max_difference,
        difference_unit="ms",
        tolerance=max(0.01 * percent * times[first], sample),
        worst=worst,
        note=note + ", ".join(f"{name} {count}" for name, count in swings.items()),
    )
