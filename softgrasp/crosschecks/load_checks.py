"""What is compared of a grasp under load, and as the time step shrinks."""

from __future__ import annotations

import math

import numpy as np

from softgrasp.continuum.statics import GRAVITY
from softgrasp.crosschecks.convergence import Convergence, convergence
from softgrasp.crosschecks.finding import Finding, farthest, percents
from softgrasp.crosschecks.grasp_runs import GraspRuns
from softgrasp.crosschecks.rest_forces import force_at
from softgrasp.crosschecks.threshold import CLOSE, disagreements
from softgrasp.crosschecks.whole_forces import force_name


def agreement(runs: GraspRuns, percent: float) -> list[Finding]:
    """Whether engines agree on what is held, away from the critical load."""
    if not runs.held:
        return []
    first = next(iter(runs.held))
    critical = runs.thresholds[first].middle
    wrong = disagreements(runs.loads, runs.held, critical, percent)
    scale, unit = load_scale(runs)
    note = "loads: " + ", ".join(f"{scale * load:.5g}" for load in runs.loads) + f" {unit}"
    if critical is not None:
        note += f"; within {percent:g} % of {scale * critical:.5g} {unit} they need not agree"
    if wrong:
        note += "; they differ at " + ", ".join(f"{scale * load:.5g} {unit}" for load in wrong)
    lost = {name: losses for name, losses in runs.lost.items() if set(losses) & set(runs.loads)}
    return [
        Finding(
            name="agreement",
            quantity="Held or dropped",
            unit="",
            values={name: _ticks(held) for name, held in runs.held.items()},
            difference=math.nan if lost else float(len(wrong)),
            difference_unit="loads",
            tolerance=0.0,
            worst=", ".join(lost),
            note="; ".join([note, *_lost(runs)]),
        )
    ]


def critical_load(runs: GraspRuns, percent: float) -> list[Finding]:
    """The load at which the object begins to fall."""
    if not runs.thresholds:
        return []
    scale, unit = load_scale(runs)
    middles = {name: bracket.middle for name, bracket in runs.thresholds.items()}
    values = {name: math.nan if m is None else scale * m for name, m in middles.items()}
    worst, largest = farthest(percents(values))
    note = f"found to {50 * (CLOSE - 1):.2g} % by bisection with the hold test; over the "
    note += f"{force_name(runs.closing).lower()}s at rest without load: "
    note += ", ".join(_force_ratios(runs, middles))
    if all(middle is None for middle in middles.values()):
        same = len({bracket.held is None for bracket in runs.thresholds.values()}) == 1
        worst, largest = "", 0.0 if same else math.nan
        note = "no engine has one between 1/128 and 128 times the object's own mass"
    if runs.lost:
        worst, largest = ", ".join(runs.lost), math.nan
    what = "density" if unit == "kg/m³" else "mass"
    return [
        Finding(
            name="critical_load",
            quantity=f"Critical {what}",
            unit=unit,
            values={name: "none" if math.isnan(v) else v for name, v in values.items()},
            difference=largest,
            difference_unit="%",
            tolerance=percent,
            worst=worst,
            note="; ".join([note, *_lost(runs)]),
        )
    ]


def _lost(runs: GraspRuns) -> list[str]:
    """Hold tests that diverged."""
    scale, unit = load_scale(runs)
    return [
        f"in {name} the simulation has diverged at "
        + ", ".join(f"{scale * load:.5g} {unit}" for load in loads)
        for name, loads in runs.lost.items()
    ]


def _force_ratios(runs: GraspRuns, middles: dict[str, float | None]) -> list[str]:
    """Critical weights over the sums of normal forces that hold them."""
    ratios = []
    for name, middle in middles.items():
        pressing = float(runs.resting[name].normal_force[-1].sum())
        if middle is not None and pressing > 0.0:
            weight = GRAVITY * runs.mass * middle
            ratios.append(f"{name} {weight / pressing:.3g}")
    return ratios


def load_scale(runs: GraspRuns) -> tuple[float, str]:
    """What a load of 1 is, and its unit: the density of the object, or its mass."""
    density = runs.scene.object.density
    return (density, "kg/m³") if density is not None else (runs.mass, "kg")


def force_convergence(runs: GraspRuns, bodies: list[str], percent: float) -> list[Finding]:
    """Normal forces at rest with smaller time steps."""
    able = convergences(runs, bodies)
    if not able:
        return []
    finest = min(min(series.timesteps) for series in able.values())
    together = [name for name in able if math.isclose(min(able[name].timesteps), finest)]
    if len(together) < 2:
        return []
    ends = {name: mean_force(runs, name, finest, bodies) for name in together}
    worst, largest = farthest(percents(ends))
    spread = [
        f"{name} changes by {100 * series.deviation.max() / ends.get(name, math.nan):.2g} %"
        for name, series in able.items()
        if name in ends
    ]
    return [
        Finding(
            name="force_convergence",
            quantity=f"Mean {force_name(able).lower()} at rest in steps of {1e3 * finest:g} ms",
            unit="N",
            values=ends,
            difference=largest,
            difference_unit="%",
            tolerance=percent,
            worst=worst,
            note="from the largest step to the smallest " + ", ".join(spread),
        )
    ]


def convergences(runs: GraspRuns, bodies: list[str]) -> dict[str, Convergence]:
    """How the mean normal force at rest changes with the time step [N], by backend."""
    return {
        name: convergence(list(series), [mean_force(runs, name, step, bodies) for step in series])
        for name, series in runs.finer.items()
        if len(series) > 1 and bodies
    }


def mean_force(runs: GraspRuns, backend: str, timestep: float, bodies: list[str]) -> float:
    """Mean normal force of some bodies at rest [N]."""
    result = runs.finer[backend][timestep]
    return float(np.mean([force_at(result, body) for body in bodies]))


def _ticks(held: tuple[bool, ...]) -> str:
    return ", ".join("held" if one else "dropped" for one in held)
