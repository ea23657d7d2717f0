"""What is compared of normal forces: at rest, and as soon as the hand has closed."""

from __future__ import annotations

from collections.abc import Mapping

from softgrasp.crosschecks.askew import ambiguous_contacts
from softgrasp.crosschecks.finding import Finding, farthest, measured, percents
from softgrasp.crosschecks.grasp_runs import REST, GraspRuns
from softgrasp.crosschecks.rest_forces import force_at, still_changing, worth_of_a_sample
from softgrasp.crosschecks.whole_forces import force_name, whole_force_note
from softgrasp.simulation.result import GraspResult


def normal_force(runs: GraspRuns, bodies: list[str], percent: float) -> Finding:
    """Normal forces at rest, of the body in which engines differ most."""
    worst, body, largest = farthest_force(runs.resting, bodies)
    notes = [f"{REST:g} s after closing", *whole_force_note(runs.resting)]
    for name, result in runs.resting.items():
        change = still_changing(result)
        if change > 0.1 * percent:
            notes.append(f"in {name} forces still change by {change:.2g} % in a tenth of a second")
    ambiguities = [
        one.sentence for one in ambiguous_contacts(next(iter(runs.resting.values())), [body])
    ]
    return Finding(
        name="normal_force",
        quantity=f"{force_name(runs.resting)} of {body} at rest",
        unit="N",
        values={name: force_at(result, body) for name, result in runs.resting.items()},
        difference=largest,
        difference_unit="%",
        tolerance=percent,
        worst=worst,
        note="; ".join([*notes, *_stops(runs, bodies), *ambiguities]),
    )


def force_after_closing(runs: GraspRuns, bodies: list[str]) -> Finding:
    """Normal forces as soon as the closure ends; told, not judged: friction still creeps then."""
    ends = {name: _closed_at(result) for name, result in runs.closing.items()}
    worst, body, largest = farthest_force(runs.closing, bodies, ends)
    return Finding(
        name="force_after_closing",
        quantity=f"{force_name(runs.closing)} of {body} as soon as the hand has closed",
        unit="N",
        values={name: force_at(result, body, ends[name]) for name, result in runs.closing.items()},
        difference=largest,
        difference_unit="%",
        tolerance=None,
        worst=worst,
        note="not judged: forces count at rest",
    )


def farthest_force(
    results: Mapping[str, GraspResult],
    bodies: list[str],
    times: Mapping[str, float] | None = None,
) -> tuple[str, str, float]:
    """The engine and the body whose force is farthest from the first engine's, and how far [%].

    Args:
        results: By backend.
        bodies: One or more.
        times: When to look [s], by backend; else at the end.
    """
    apart: dict[tuple[str, str], float] = {}
    for body in bodies:
        forces = {
            name: force_at(result, body, times[name] if times else None)
            for name, result in results.items()
        }
        apart |= {(name, body): gap for name, gap in percents(forces).items()}
    (worst, body), largest = farthest(apart)
    return (worst if largest else ""), body, largest


def _stops(runs: GraspRuns, bodies: list[str]) -> list[str]:
    """What a stop at another control sample does to the force of a body."""
    first, *others = runs.resting
    remarks = []
    for name in others:
        for body in bodies:
            times = [runs.resting[e].contact_of(body).established_s[0] for e in (first, name)]
            samples = round((times[1] - times[0]) / runs.scene.control_period)
            if samples:
                worth = worth_of_a_sample(runs.resting[first], body)
                remarks.append(
                    f"{body} stopped {measured(abs(samples), 'control samples')} "
                    f"{'later' if samples > 0 else 'earlier'} in {name}, and one is worth up to "
                    f"{worth:.2g} % of its force"
                )
    return remarks


def _closed_at(result: GraspResult) -> float:
    """The last sample of the closure [s]."""
    if result.hold is None:
        return float(result.time[-1])
    return result.hold.start_s - result.scene.control_period
