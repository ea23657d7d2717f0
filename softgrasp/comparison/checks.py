"""Findings of grasps and finger releases in several engines.

A grasp is compared in its status, contacts and their times, normal forces, joint angles, position
of the object, held loads, critical load and convergence; a release in its pose at rest, motion,
first mode, settling time and convergence. Where friction across a finger can carry a part of its
load, statics leaves the normal force open; ``ambiguity`` quantifies this.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace

import mujoco
import numpy as np

from softgrasp.comparison.criteria import (
    CLOSE,
    Convergence,
    Finding,
    Tolerances,
    convergence,
    disagreements,
    farthest,
    measure,
    percents,
)
from softgrasp.comparison.runs import (
    REST,
    GraspRuns,
    ReleaseRuns,
    bodies_in_contact,
    comparable,
    force_at,
    force_name,
    force_per_sample,
    total_force_note,
)
from softgrasp.continuum.statics import GRAVITY
from softgrasp.evaluation.result import BodyContact, GraspResult
from softgrasp.mechanics.transforms import Array
from softgrasp.pipeline import compile_model
from softgrasp.sim.soft_dynamics import MUJOCO

LINEAR, CLOSED = "linear mode", "closed form"
"""Names of reference values without an engine."""
Times = Mapping[str, Mapping[str, float]]
"""Times by backend and body [s]."""
NOTHING, MOTION = "nothing touched", "Joint angles after the release"
QUANTITIES = {
    "status": ("How the grasp ended", "", "engines"),
    "contacts": ("Bodies in contact at rest", "", "bodies"),
    "first_touch": ("First touch{}", "s", "samples"),
    "stop": ("Established contact{}", "s", "samples"),
    "normal_force": ("{} of {} at rest", "N", "%"),
    "joint_angles": ("Angle of {} at rest", "deg", "deg"),
    "displacement": ("Position of the object at rest", "mm", "mm"),
    "agreement": ("Held or dropped", "", "loads"),
    "critical_load": ("Critical {}", "", "%"),
    "force_convergence": ("Mean {} at rest in steps of {:g} ms", "N", "%"),
    "static_pose": ("Pose at rest under {:g} g", "deg", "deg"),
    "trajectory": (MOTION, "deg", "deg"),
    "without_hk": (f"{MOTION}, dampers without h·k", "deg", "deg"),
    "frequency": ("Frequency of the first mode", "Hz", "%"),
    "damping_ratio": ("Damping ratio of the first mode", "", "%"),
    "settling_time": ("Settling time", "ms", "ms"),
    "convergence_order": ("Order of convergence of the release", "", ""),
    "convergence_limit": (f"{MOTION} in steps of {{:g}} ms", "deg", "deg"),
}
"""Compared quantities in words, with the units of values and of differences."""
RANK = 1e-6
"""Relative singular value below which a body does not move in a direction [–]."""
MIN_ANGLE = math.radians(2.0)
"""Angle below which friction hardly contributes to a normal force [rad]."""


def _finding(
    name: str,
    values: Mapping[str, float | str],
    differences: Mapping[str, float] | tuple[str, float],
    tolerance: float | None,
    note: str = "",
    *words: object,
) -> Finding:
    """Make the finding of one of ``QUANTITIES``, whose braces the words fill.

    The differences are those by engine, or the engine with the largest one and that one.
    """
    quantity, unit, difference_unit = QUANTITIES[name]
    worst, largest = differences if isinstance(differences, tuple) else farthest(differences)
    return Finding(
        name=name, quantity=quantity.format(*words), unit=unit, values=values, difference=largest,
        difference_unit=difference_unit, tolerance=tolerance, worst=worst, note=note,
    )  # fmt: skip


# Closure


def grasp_findings(runs: GraspRuns, tolerances: Tolerances) -> list[Finding]:
    """Compare a grasp in all quantities; the first engine is the reference."""
    findings = [status(runs)]
    if runs.diverged:
        return findings
    runs = comparable(runs)
    findings += [contacts(runs), *touch_times(runs, tolerances.touch_samples)]
    touching = [set(bodies_in_contact(result)) for result in runs.resting.values()]
    shared = sorted(set.intersection(*touching))
    if shared:
        findings.append(normal_force(runs, shared, tolerances.normal_force_percent))
    findings += [joint_angles(runs, tolerances), displacement(runs, tolerances.displacement_mm)]
    findings += agreement(runs, tolerances.threshold_percent)
    findings += critical_load(runs, tolerances.threshold_percent)
    return findings + force_convergence(runs, shared, tolerances.normal_force_percent)


def status(runs: GraspRuns) -> Finding:
    """Compare the final status; a diverged run does not pass, even if all runs diverged."""
    endings = {name: result.outcome.name for name, result in runs.closing.items()}
    first, *others = endings
    differ = [name for name in others if endings[name] != endings[first]]
    if not runs.diverged:
        return _finding("status", endings, (", ".join(differ), float(len(differ))), 0.0)
    notes = [f"{name}: {message}" for name, message in runs.diverged.items()]
    note = "; ".join([*notes, "nothing else is compared"])
    return _finding("status", endings, (", ".join(runs.diverged), math.nan), 0.0, note)


def joint_angles(runs: GraspRuns, tolerances: Tolerances) -> Finding:
    """Compare joint angles at rest, of the joint with the largest difference over tolerance."""
    first, *others = runs.resting
    names: list[str] = runs.resting[first].joint_names.tolist()
    angles = {name: np.degrees(run.joint_position[-1]) for name, run in runs.resting.items()}
    allowed = tolerances.angle_deg + 0.01 * tolerances.angle_percent * np.abs(angles[first])
    apart = {name: np.abs(angles[name] - angles[first]) for name in others}
    ratios = {name: gap / np.maximum(allowed, 1e-12) for name, gap in apart.items()}
    worst, _ = farthest({name: float(ratio.max()) for name, ratio in ratios.items()})
    joint = int(np.argmax(ratios[worst]))
    note = f"of {len(names)} joints that with the largest difference over its tolerance of "
    note += f"{tolerances.angle_deg:g} deg + {tolerances.angle_percent:g} %"
    values = {name: float(angle[joint]) for name, angle in angles.items()}
    difference = (worst, float(apart[worst][joint]))
    return _finding("joint_angles", values, difference, float(allowed[joint]), note, names[joint])


def displacement(runs: GraspRuns, tolerance: float) -> Finding:
    """Compare the displacement of the object until rest."""
    first, *others = runs.resting
    paths = {name: run.object_position for name, run in runs.resting.items()}
    moved = {name: path[-1] - path[0] for name, path in paths.items()}
    apart = {name: 1e3 * float(np.linalg.norm(moved[name] - moved[first])) for name in others}
    distances = {name: 1e3 * float(np.linalg.norm(vector)) for name, vector in moved.items()}
    note = "values are distances from its start"
    return _finding("displacement", distances, apart, tolerance, note)


def normal_force(runs: GraspRuns, bodies: list[str], percent: float) -> Finding:
    """Compare normal forces at rest, of the body with the largest difference."""
    worst, body, largest = farthest_force(runs.resting, bodies)
    notes = [f"{REST:g} s after closing", *total_force_note(runs.resting)]
    first = next(iter(runs.resting.values()))
    notes += [*_stops(runs, bodies), *filter(None, [ambiguity(first, body)])]
    values = {name: force_at(result, body) for name, result in runs.resting.items()}
    force, note = force_name(runs.resting), "; ".join(notes)
    return _finding("normal_force", values, (worst, largest), percent, note, force, body)


def farthest_force(results: Mapping[str, GraspResult], bodies: list[str]) -> tuple[str, str, float]:
    """Return engine and body whose force at the end differs most [%]."""
    apart: dict[tuple[str, str], float] = {}
    for body in bodies:
        forces = {name: force_at(result, body) for name, result in results.items()}
        apart |= {(name, body): gap for name, gap in percents(forces).items()}
    (worst, body), largest = farthest(apart)
    return (worst if largest else ""), body, largest


def _stops(runs: GraspRuns, bodies: list[str]) -> list[str]:
    """Describe the effect on forces of joints that stop at different control samples."""
    first, *others = runs.resting
    remarks = []
    for name in others:
        for body in bodies:
            times = [runs.resting[e].contact_of(body).established_s[0] for e in (first, name)]
            samples = round((times[1] - times[0]) / runs.scene.control_period)
            if samples:
                increase = force_per_sample(runs.resting[first], body)
                remarks.append(
                    f"{body} stopped {measure(abs(samples), 'control samples')} "
                    f"{'later' if samples > 0 else 'earlier'} in {name}, and one sample changes "
                    f"its force by up to {increase:.2g} %"
                )
    return remarks


# Hold tests and convergence


def agreement(runs: GraspRuns, percent: float) -> list[Finding]:
    """Compare which loads are held in each engine, except near the critical load."""
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
    words = {True: "held", False: "dropped"}
    values = {name: ", ".join(words[item] for item in held) for name, held in runs.held.items()}
    difference = (", ".join(lost), math.nan if lost else float(len(wrong)))
    note = "; ".join([note, *_diverged_loads(runs)])
    return [_finding("agreement", values, difference, 0.0, note)]


def critical_load(runs: GraspRuns, percent: float) -> list[Finding]:
    """Compare the load at which the object begins to fall."""
    if not runs.thresholds:
        return []
    scale, unit = load_scale(runs)
    middles = {name: bracket.middle for name, bracket in runs.thresholds.items()}
    values = {name: math.nan if m is None else scale * m for name, m in middles.items()}
    worst, largest = farthest(percents(values))
    note = f"to {50 * (CLOSE - 1):.2g} % by bisection with the hold test; over the "
    note += f"{force_name(runs.closing).lower()}s at rest without load: "
    weights = {name: GRAVITY * runs.mass * m for name, m in middles.items() if m is not None}
    sums = {name: float(runs.resting[name].normal_force[-1].sum()) for name in weights}
    ratios = {name: weight / sums[name] for name, weight in weights.items() if sums[name] > 0.0}
    note += ", ".join(f"{name} {ratio:.3g}" for name, ratio in ratios.items())
    if all(middle is None for middle in middles.values()):
        same = len({bracket.held is None for bracket in runs.thresholds.values()}) == 1
        worst, largest = "", 0.0 if same else math.nan
        note = "no engine has one between 1/128 and 128 times the mass of the object"
    if runs.lost:
        worst, largest = ", ".join(runs.lost), math.nan
    shown = {name: "none" if math.isnan(v) else v for name, v in values.items()}
    note, what = "; ".join([note, *_diverged_loads(runs)]), "density" if "/" in unit else "mass"
    finding = _finding("critical_load", shown, (worst, largest), percent, note, what)
    return [replace(finding, unit=unit)]


def _diverged_loads(runs: GraspRuns) -> list[str]:
    """Describe diverged hold tests."""
    scale, unit = load_scale(runs)
    return [
        f"in {name} the simulation has diverged at "
        + ", ".join(f"{scale * load:.5g} {unit}" for load in loads)
        for name, loads in runs.lost.items()
    ]


def load_scale(runs: GraspRuns) -> tuple[float, str]:
    """Return value and unit of a load of 1: the density of the object, or its mass."""
    density = runs.scene.object.density
    return (density, "kg/m³") if density is not None else (runs.mass, "kg")


def force_convergence(runs: GraspRuns, bodies: list[str], percent: float) -> list[Finding]:
    """Compare normal forces at rest at the smallest common time step."""
    able = convergences(runs, bodies)
    if not able:
        return []
    finest = min(min(series.timesteps) for series in able.values())
    together = [name for name in able if math.isclose(min(able[name].timesteps), finest)]
    if len(together) < 2:
        return []
    ends = {name: mean_force(runs, name, finest, bodies) for name in together}
    spread = [
        f"{name} changes by {100 * series.deviation.max() / ends.get(name, math.nan):.2g} %"
        for name, series in able.items()
        if name in ends
    ]
    note = "from the largest step to the smallest " + ", ".join(spread)
    words = (force_name(able).lower(), 1e3 * finest)
    return [_finding("force_convergence", ends, percents(ends), percent, note, *words)]


def convergences(runs: GraspRuns, bodies: list[str]) -> dict[str, Convergence]:
    """Convergence of the mean normal force at rest with the time step [N], by backend."""
    return {
        name: convergence(list(series), [mean_force(runs, name, step, bodies) for step in series])
        for name, series in runs.finer.items()
        if len(series) > 1 and bodies
    }


def mean_force(runs: GraspRuns, backend: str, timestep: float, bodies: list[str]) -> float:
    """Mean normal force of some bodies at rest [N]."""
    result = runs.finer[backend][timestep]
    return float(np.mean([force_at(result, body) for body in bodies]))


# Releases


def release_findings(runs: ReleaseRuns, tolerances: Tolerances) -> list[Finding]:
    """Compare a finger release in all quantities; the first engine is the reference."""
    findings = [
        static_pose(runs, tolerances.static_deg),
        trajectory(runs, tolerances.trajectory_deg),
        *without_hk(runs),
        *first_mode(runs, tolerances),
        settling_time(runs, tolerances.settling_percent),
    ]
    return findings + convergence_findings(runs, tolerances)


def static_pose(runs: ReleaseRuns, tolerance: float) -> Finding:
    """Compare joint angles at rest under the weight with the closed form."""
    errors = {name: largest(motion.angles[-1] - runs.rest) for name, motion in runs.resting.items()}
    tips = {name: math.degrees(motion.angles[-1].sum()) for name, motion in runs.resting.items()}
    values = {CLOSED: math.degrees(runs.rest.sum())} | tips
    note = "values are angles of the tip; the difference is the largest of a joint angle from the "
    note += "closed form"
    mass = 1e3 * runs.release.tip_mass
    return _finding("static_pose", values, errors, tolerance, note, mass)


def trajectory(runs: ReleaseRuns, tolerance: float) -> Finding:
    """Compare joint angles after the release at equal times."""
    first, *others = runs.moving
    reference = runs.motion(first).angles
    apart = {name: largest(runs.motion(name).angles - reference) for name in others}
    note = f"largest difference from {first} of any joint at any of {len(reference)} samples, in "
    note += f"steps of {1e3 * runs.release.timestep:g} ms"
    return _finding("trajectory", {first: 0.0} | apart, apart, tolerance, note)


def without_hk(runs: ReleaseRuns) -> list[Finding]:
    """Report the motion error where the implicit damping h·k of springs is neglected."""
    if runs.without_hk is None:
        return []
    first = next(iter(runs.moving))
    away = {MUJOCO: largest(runs.without_hk.angles - runs.motion(first).angles)}
    note = "without tolerance: the error where the damping of springs is neglected"
    return [_finding("without_hk", away, away, None, note)]


def first_mode(runs: ReleaseRuns, tolerances: Tolerances) -> list[Finding]:
    """Compare frequency and damping ratio of the first mode, fitted in the same manner."""
    step = runs.release.timestep
    fits = {name: runs.mode(name, step) for name in runs.moving}
    linear, stepped = runs.linear[0.0], runs.linear[step]
    findings = []
    for name, field in (("frequency", "frequency"), ("damping_ratio", "ratio")):
        values = {engine: getattr(fit, field) for engine, fit in fits.items()}
        differences = percents(values)
        note = f"in steps of {1e3 * step:g} ms the linear mode has {getattr(stepped, field):.5g}"
        if any(map(math.isnan, differences.values())):
            note = "expected a vibration of more than a period in the recording, found none"
        values |= {LINEAR: getattr(linear, field)}
        tolerance = getattr(tolerances, f"{name}_percent")
        findings.append(_finding(name, values, differences, tolerance, note))
    return findings


def settling_time(runs: ReleaseRuns, percent: float) -> Finding:
    """Compare the time after which the height of the tip stays within 5 % of the deflection."""
    first, *others = runs.moving
    times = {name: 1e3 * runs.settled(name).time for name in runs.moving}
    differences = {name: abs(times[name] - times[first]) for name in others}
    overshoots = {name: runs.settled(name).overshoots for name in runs.moving}
    sample = 1e3 * runs.release.sample_period
    note = f"within 5 %; a sample is {sample:g} ms; overshoots beyond the band: "
    note += ", ".join(f"{name} {count}" for name, count in overshoots.items())
    tolerance = max(0.01 * percent * times[first], sample)
    return _finding("settling_time", times, differences, tolerance, note)


# Contacts


def contacts(runs: GraspRuns) -> Finding:
    """Compare the bodies in contact at rest."""
    bodies = {name: set(bodies_in_contact(result)) for name, result in runs.resting.items()}
    first, *others = bodies
    worst, largest = farthest({name: float(len(bodies[name] ^ bodies[first])) for name in others})
    values = {name: ", ".join(sorted(touching)) or "none" for name, touching in bodies.items()}
    return _finding("contacts", values, (worst if largest else "", largest), 0.0)


def touch_times(runs: GraspRuns, samples: float) -> list[Finding]:
    """Compare times of first touches and of established contacts.

    First touches are compared of bodies that touch in all engines, if there are such; bodies that
    touch in some engines only, such as with a grazing contact, are in the note. Each established
    contact must be in every engine.
    """
    touched = {
        name: {c.body: c.first_touch_s for c in result.contacts if c.first_touch_s is not None}
        for name, result in runs.resting.items()
    }
    stopped = {
        name: {c.body: c.established_s[0] for c in result.contacts if c.established_s}
        for name, result in runs.resting.items()
    }
    period = runs.scene.control_period
    touching = sorted(set.intersection(*map(set, touched.values()))) or _bodies(touched)
    nothing = "no contact was established" if _bodies(touched) else NOTHING
    note = "an established contact stops the joints of a body" if _bodies(stopped) else nothing
    return [
        _times("first_touch", touched, touching, period, samples, "" if touching else NOTHING),
        _times("stop", stopped, _bodies(stopped), period, samples, note),
    ]


def _times(
    name: str, times: Times, bodies: Sequence[str], period: float, samples: float, note: str
) -> Finding:
    """Compare times of bodies by a control period [s]; note bodies without one in some engines."""
    first, *others = times
    gaps = {}
    for body in bodies:
        for engine in others:
            time, reference = times[engine].get(body), times[first].get(body)
            gaps[engine, body] = 0.0 if time is reference else math.nan
            if time is not None and reference is not None:
                gaps[engine, body] = abs(time - reference) / period
    (worst, body), largest = farthest(gaps) if gaps else (("", ""), 0.0)
    notes = [note] if note else []
    for item in _bodies(times):
        has = [engine for engine, known in times.items() if item in known]
        lacks = [engine for engine in times if engine not in has]
        if lacks:
            notes.append(f"{item} in {' and '.join(has)}, not in {' and '.join(lacks)}")
    values = {engine: known.get(body, "none") for engine, known in times.items()}
    difference = (worst if largest else "", round(largest, 6))
    of_body = f" of {body}" if body else ""
    return _finding(name, values, difference, samples, "; ".join(notes), of_body)


def _bodies(times: Times) -> list[str]:
    return sorted(set().union(*times.values()))


# Convergence of releases


def convergence_findings(runs: ReleaseRuns, tolerances: Tolerances) -> list[Finding]:
    """Compare the order of convergence, and motions at the smallest step.

    Engines without shorter steps are skipped.
    """
    able = [name for name, motions in runs.moving.items() if len(motions) > 2]
    if not able:
        return []
    orders = {name: runs.convergence(name).order for name in able}
    steady = all(runs.convergence(name).shrinking for name in able)
    note = "from 1, that of springs at the beginning of a step and dampers at its end; "
    note += "deviations decrease with every step" if steady else "a deviation increases"
    off = {name: abs(order - 1.0) for name, order in orders.items()}
    findings = [_finding("convergence_order", orders, off, tolerances.order, note)]
    finest = min(runs.moving[able[0]])
    first, *others = [name for name in able if finest in runs.moving[name]]
    ends = {name: runs.moving[name][finest].angles for name in (first, *others)}
    apart = {name: largest(ends[name] - ends[first]) for name in others}
    if apart:
        note, values = f"largest difference from {first} at the smallest step", {first: 0.0} | apart
        limit, step = tolerances.trajectory_deg, 1e3 * finest
        findings.append(_finding("convergence_limit", values, apart, limit, note, step))
    return findings


def largest(angles: Array) -> float:
    """Return the largest magnitude of angles [deg], converted from radians."""
    return float(np.degrees(np.abs(angles).max()))


# Statically indeterminate normal forces


def ambiguity(result: GraspResult, body: str) -> str:
    """Describe by how much the normal force of a body at rest does not follow from joint moments.

    With the angle α between the normal and the directions in which the joints move the point, joint
    moments are proportional to N·cos α + T·sin α, where T is friction across the finger, of either
    sign and at most µ·N. So N lies between F/(cos α + µ·sin α) and F/(cos α − µ·sin α).

    Returns:
        A sentence; empty where friction hardly contributes.
    """
    contact = result.contact_of(body)
    if contact.normal is None or not contact.finger:
        return ""
    model = compile_model(result.scene)
    data = mujoco.MjData(model)
    mujoco.mj_resetDataKeyframe(model, data, 0)
    for name, value in result.joints.items():
        data.joint(name).qpos[0] = value
    mujoco.mj_forward(model, data)
    angle = _angle(model, data, contact)
    if angle <= MIN_ANGLE:
        return ""
    product = result.contact_model.used.static_friction * math.tan(angle)
    spread = f"{200 * product / (1 - product):.0f} %" if product < 1 else "any amount"
    return (
        f"{body} presses at {math.degrees(angle):.0f}° across the plane in which its finger moves; "
        "friction across it can carry a part, so that equal joint moments allow normal forces that "
        f"differ by {spread}"
    )


def _angle(model: mujoco.MjModel, data: mujoco.MjData, contact: BodyContact) -> float:
    """Angle between a normal and all directions in which the joints can move the point [rad]."""
    linear = np.zeros((3, model.nv))
    body = int(model.body(contact.body).id)
    mujoco.mj_jac(model, data, linear, None, np.array(contact.point_m), body)
    directions, sizes, _ = np.linalg.svd(linear)
    moving: Array = directions[:, : int((sizes > RANK * max(sizes[0], RANK)).sum())]
    along = float(np.linalg.norm(moving.T @ np.array(contact.normal)))
    return math.acos(min(along, 1.0))
