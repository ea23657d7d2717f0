"""Hands: masses, inertia, limits, collisions with itself and its two grasps, all measured."""

from __future__ import annotations

import math
from collections.abc import Iterator

import mujoco

from softgrasp.description.hand import Hand
from softgrasp.errors import BuildError
from softgrasp.formats.hand_doubts import LONGEST_FINGER, millimetres_doubt, range_doubt
from softgrasp.inspection.bodies import Body
from softgrasp.inspection.finding import Check, Finding, Inspection, Severity, counted
from softgrasp.inspection.hand_collisions import LOCKED, blocked_check, overlap_check
from softgrasp.inspection.hand_grasps import build_check, closing_check, reach_check, reaches
from softgrasp.inspection.hand_model import HandModel, hand_bodies, hand_model
from softgrasp.inspection.mass_rules import density_check, inertia_check

USUAL_MASS = (0.01, 10.0)
"""Of all that moves in a hand [kg]."""
USUAL_SPAN = (2e-3, LONGEST_FINGER)
"""Of the longest finger [m]."""


def inspect_hand(hand: Hand) -> Inspection:
    """All checks of a hand, made on its compiled model."""
    try:
        built = hand_model(hand)
    except BuildError as error:
        finding = Finding(
            subject=f"hand '{hand.name}'",
            severity="problem",
            check="build",
            expected="a hand that MuJoCo can move",
            actual=str(error),
        )
        return Inspection("hand", hand.name, (Check("build", "refused", (finding,)),))
    bodies = hand_bodies(built.model)
    checks = (
        _size_check(built),
        _mass_check(built, bodies),
        density_check(bodies),
        inertia_check(bodies),
        _limit_check(built),
        overlap_check(built),
        blocked_check(built),
        closing_check(built),
        reach_check(built),
        build_check(built),
    )
    return Inspection("hand", hand.name, checks)


def _size_check(built: HandModel) -> Check:
    longest = max((length for _, length in reaches(built).values()), default=0.0)
    low, high = USUAL_SPAN
    measured = f"longest finger {1e3 * longest:.4g} mm"
    if low <= longest <= high:
        return Check("size", measured)
    doubt = millimetres_doubt("a longest finger", longest, high)
    finding = Finding(
        subject=f"hand '{built.hand.name}'",
        severity="problem",
        check="size",
        expected=f"a longest finger of {low:g} … {high:g} m",
        actual=f"{longest:.4g} m",
        numbers={"length_m": longest},
        advice=f"{doubt.advice} (in YAML: units: {{length: mm}})"
        if doubt
        else "are the units right (units: {length: mm})?",
    )
    return Check("size", measured, (finding,))


def _mass_check(built: HandModel, bodies: list[Body]) -> Check:
    mass, (low, high) = math.fsum(body.mass for body in bodies), USUAL_MASS
    measured = f"{mass:.4g} kg in {counted(len(bodies), 'moving link')}"
    if low <= mass <= high:
        return Check("mass", measured)
    finding = Finding(
        subject=f"hand '{built.hand.name}'",
        severity="problem",
        check="mass",
        expected=f"{low:g} … {high:g} kg of fingers",
        actual=f"{mass:.4g} kg",
        numbers={"mass_kg": mass},
        advice="mass is in kg, density in kg/m³",
    )
    return Check("mass", measured, (finding,))


def _limit_check(built: HandModel) -> Check:
    joints = [built.model.joint(index) for _, index in built.actuators if index is not None]
    findings = [finding for joint in joints for finding in _of_joint(joint)]
    for digit in built.hand.soft_fingers:
        low, high = digit.limits
        if low == high:
            findings.append(
                _limit(f"pressure of '{digit.name}'", "remark", "limits apart",
                       f"{low:g} … {high:g} Pa", {"lower": low, "upper": high}, "it cannot change")
            )  # fmt: skip
    measured = counted(len(joints), "joint")
    soft = len(built.hand.soft_fingers)
    return Check(
        "limits", f"{measured}, {counted(soft, 'pressure')}" if soft else measured, tuple(findings)
    )


def _of_joint(joint: mujoco._structs._MjModelJointViews) -> Iterator[Finding]:
    low, high = (float(end) for end in joint.range)
    is_hinge = joint.type[0] == mujoco.mjtJoint.mjJNT_HINGE
    measured = f"{low:.4g} … {high:.4g} {'rad' if is_hinge else 'm'}"
    numbers, subject = {"lower": low, "upper": high}, f"joint '{joint.name}'"
    if not joint.limited[0]:
        yield _limit(subject, "remark", "limits", "none", {}, "its targets stop nowhere")
    elif high - low <= LOCKED:
        yield _limit(subject, "remark", "limits apart", measured, numbers, "it cannot move")
    elif is_hinge and (doubt := range_doubt(low, high)):
        yield _limit(subject, doubt.severity, doubt.expected, doubt.actual, numbers, doubt.advice)


def _limit(
    subject: str,
    severity: Severity,
    expected: str,
    actual: str,
    numbers: dict[str, float],
    advice: str = "",
) -> Finding:
    return Finding(
        subject=subject,
        severity=severity,
        check="limits",
        expected=expected,
        actual=actual,
        numbers=numbers,
        advice=advice,
    )
