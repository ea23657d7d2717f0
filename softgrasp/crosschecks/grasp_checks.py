"""What is compared of a grasp: how it ended, who touches, how hard, where, what it holds."""

from __future__ import annotations

import math

import numpy as np

from softgrasp.crosschecks.finding import Finding, farthest
from softgrasp.crosschecks.force_checks import force_after_closing, normal_force
from softgrasp.crosschecks.grasp_runs import GraspRuns
from softgrasp.crosschecks.load_checks import agreement, critical_load, force_convergence
from softgrasp.crosschecks.rest_forces import bodies_in_contact
from softgrasp.crosschecks.tolerances import Tolerances
from softgrasp.crosschecks.touch_checks import contacts, touch_times
from softgrasp.crosschecks.whole_forces import comparable
from softgrasp.mechanics.transforms import Array
from softgrasp.simulation.result import GraspResult


def grasp_findings(runs: GraspRuns, tolerances: Tolerances) -> list[Finding]:
    """Everything that is compared of a grasp.

    Args:
        runs: In all engines; the first is the one that others are compared with.
        tolerances: How far they may differ.
    """
    findings = [status(runs)]
    if runs.diverged:
        return findings
    runs = comparable(runs)
    findings += [contacts(runs), *touch_times(runs, tolerances.touch_samples)]
    shared = _shared_bodies(runs)
    if shared:
        findings += [
            normal_force(runs, shared, tolerances.normal_force_percent),
            force_after_closing(runs, shared),
        ]
    findings += [joint_angles(runs, tolerances), displacement(runs, tolerances.displacement_mm)]
    findings += agreement(runs, tolerances.threshold_percent)
    findings += critical_load(runs, tolerances.threshold_percent)
    return findings + force_convergence(runs, shared, tolerances.normal_force_percent)


def status(runs: GraspRuns) -> Finding:
    """How the scene ended; a run that has diverged does not pass, though others have as well."""
    endings = {name: _ending(result) for name, result in runs.closing.items()}
    first, *others = endings
    differ = [name for name in others if endings[name] != endings[first]]
    gone = runs.diverged
    notes = [f"{name}: {message}" for name, message in gone.items()]
    return Finding(
        name="status",
        quantity="How the grasp ended",
        unit="",
        values=endings,
        difference=math.nan if gone else float(len(differ)),
        difference_unit="engines",
        tolerance=0.0,
        worst=", ".join(gone or differ),
        note="; ".join([*notes, "nothing else is compared"]) if gone else "",
    )


def joint_angles(runs: GraspRuns, tolerances: Tolerances) -> Finding:
    """Joint angles at rest, of the joint that is farthest for its tolerance."""
    first, *others = runs.resting
    start = runs.resting[first]
    names: list[str] = start.joint_names.tolist()
    reference = np.degrees(start.joint_position[-1])
    allowed = tolerances.angle_deg + 0.01 * tolerances.angle_percent * np.abs(reference)
    apart = {o: np.abs(np.degrees(runs.resting[o].joint_position[-1]) - reference) for o in others}
    ratios = {name: float((gap / np.maximum(allowed, 1e-12)).max()) for name, gap in apart.items()}
    worst, _ = farthest(ratios)
    joint = int(np.argmax(apart[worst] / np.maximum(allowed, 1e-12)))
    return Finding(
        name="joint_angles",
        quantity=f"Angle of {names[joint]} at rest",
        unit="deg",
        values={
            name: float(np.degrees(result.joint_position[-1, joint]))
            for name, result in runs.resting.items()
        },
        difference=float(apart[worst][joint]),
        difference_unit="deg",
        tolerance=float(allowed[joint]),
        worst=worst,
        note=f"of {len(names)} joints the farthest for its tolerance of {tolerances.angle_deg:g} "
        f"deg + {tolerances.angle_percent:g} %",
    )


def displacement(runs: GraspRuns, tolerance: float) -> Finding:
    """Where the object went until it was at rest."""
    first, *others = runs.resting
    moved = {name: _displacement(result) for name, result in runs.resting.items()}
    apart = {name: 1e3 * float(np.linalg.norm(moved[name] - moved[first])) for name in others}
    worst, largest = farthest(apart)
    return Finding(
        name="displacement",
        quantity="Place of the object at rest",
        unit="mm",
        values={name: 1e3 * float(np.linalg.norm(vector)) for name, vector in moved.items()},
        difference=largest,
        difference_unit="mm",
        tolerance=tolerance,
        worst=worst,
        note="values are distances from its start",
    )


def _ending(result: GraspResult) -> str:
    held = {None: "", True: ", held", False: ", not held"}[result.held]
    return f"{result.status.name}{held}"


def _shared_bodies(runs: GraspRuns) -> list[str]:
    """Bodies in contact at rest in all engines."""
    sets = [set(bodies_in_contact(result)) for result in runs.resting.values()]
    return sorted(set.intersection(*sets))


def _displacement(result: GraspResult) -> Array:
    return np.asarray(result.object_position[-1] - result.object_position[0])
