"""What happened in a run, in words that are computed from its numbers."""

from __future__ import annotations

import math
from typing import Literal, NamedTuple

import numpy as np

from softgrasp.mechanics.transforms import rotation_angles
from softgrasp.rendering.keyframes import body_label
from softgrasp.report.hold_words import hold_clause
from softgrasp.report.letting_go import let_go_s, was_touched
from softgrasp.report.quantities import count, millimetres, newtons
from softgrasp.simulation.outcome import GraspStatus
from softgrasp.simulation.result import GraspResult, column
from softgrasp.simulation.told_contacts import BodyContact

Tone = Literal["good", "neutral", "bad"]


class Verdict(NamedTuple):
    """A run in two words, and whether they are good news."""

    text: str
    tone: Tone


_WORDS = {
    GraspStatus.CLOSED: Verdict("Closed", "neutral"),
    GraspStatus.NO_CONTACT: Verdict("No contact", "bad"),
    GraspStatus.TIMED_OUT: Verdict("Timed out", "bad"),
    GraspStatus.EJECTED: Verdict("Ejected", "bad"),
    GraspStatus.DIVERGED: Verdict("Diverged", "bad"),
}


def verdict(result: GraspResult) -> Verdict:
    """The status, and for a closed hand what the hold test says."""
    word = _status_words(result)
    if result.status is not GraspStatus.CLOSED or result.held is None:
        return word
    return Verdict("Held", "good") if result.held else Verdict("Not held", "bad")


def _status_words(result: GraspResult) -> Verdict:
    # what was carried away and left the hand has fallen
    dropped = result.status is GraspStatus.EJECTED and result.scene.on_wrist
    return Verdict("Dropped", "bad") if dropped else _WORDS[result.status]


def summary(result: GraspResult) -> str:
    """One paragraph: how the run ended, who touches, how the object moved, whether it was held.

    Example: ``Held. 4 of 12 phalanges in contact, first touch at 0.330 s, all by 0.339 s, force
    closure at 0.33 s. The object moved 0.111 mm and turned 0.0°. Held 0.78 N of weight with
    0.002 mm drop.``
    """
    sentences = (
        verdict(result).text,
        contact_clause(result) + _closure_words(result),
        motion_clause(result),
        others_clause(result),
        hold_clause(result),
        support_clause(result),
    )
    return " ".join(f"{sentence}." for sentence in sentences if sentence)


def contact_clause(result: GraspResult) -> str:
    """Who is in contact at the end, and since when."""
    touches = [event for event in result.events if event.kind == "touching"]
    if not touches:
        return f"Nothing touched the object in {result.simulated_time:.3f} s"
    first = f"first touch at {touches[0].time_s:.3f} s"
    closed = [contact for contact in result.contacts if contact.in_contact]
    if not closed:
        label = body_label(touches[0])
        return f"Nothing is in contact at the end; {first} by {label}"
    phalanges = [contact for contact in closed if contact.finger]
    total = sum(bool(contact.finger) for contact in result.contacts)
    palm = " and the palm" if len(phalanges) < len(closed) else ""
    last = max(contact.established_s[-1] for contact in closed)
    what = "finger parts" if result.scene.hand.soft_fingers else "phalanges"
    return f"{len(phalanges)} of {total} {what}{palm} in contact, {first}, all by {last:.3f} s"


def _closure_words(result: GraspResult) -> str:
    """When force closure began; empty where there was no contact to judge."""
    log = result.quality_log
    if log is None or not any(contact.in_contact for contact in result.contacts):
        return ""
    return (
        ", no force closure"
        if log.closed_at is None
        else f", force closure at {log.closed_at:.2f} s"
    )


def motion_clause(result: GraspResult) -> str:
    """How far the object went and turned in all."""
    if result.scene.object_mount == "fixed":
        return "The object was fixed"
    if not was_touched(result):
        return "The hand did not move the object"
    # where it goes after the hand has let go is no property of the grasp
    gone, row = let_go_s(result), -1
    if gone is not None:
        row = int(np.searchsorted(result.time, gone))
    moved = float(np.linalg.norm(result.object_position[row] - result.object_position[0]))
    angle = rotation_angles(result.object_quat_wxyz[row], result.object_quat_wxyz[0])
    text = f"moved {millimetres(moved)} and turned {math.degrees(angle):.1f}°"
    until = "" if gone is None else f" until it left the hand at {gone:.3f} s"
    return f"The object {text}{until}"


def others_clause(result: GraspResult) -> str:
    """How far further objects went and turned; empty where there are none."""
    clauses = []
    for motion in result.objects[1:]:
        moved = millimetres(math.hypot(*motion.displacement_m))
        angle = rotation_angles(motion.final_quat_wxyz, motion.initial_quat_wxyz)
        clauses.append(f"{motion.name} moved {moved} and turned {math.degrees(angle):.1f}°")
    return f"Beside it, {', '.join(clauses)}" if clauses else ""


def support_clause(result: GraspResult) -> str:
    """Who else carries the objects at the end; empty where nobody does."""
    names_of = {motion.name for motion in result.objects}
    parts = [
        f"{contact.first} presses on {contact.second} with {newtons(contact.normal_force_N)}"
        for contact in result.other_contacts
        if contact.first in names_of and contact.normal_force_N > 0.0
    ]
    return f"At the end {', '.join(parts)}" if parts else ""


def force_clause(result: GraspResult) -> str:
    """The largest force of the run, and how many contacts were lost on the way."""
    if not (result.normal_force > 0.0).any():
        return "No contact force in the whole run"
    row, column = np.unravel_index(result.normal_force.argmax(), result.normal_force.shape)
    label = label_of(result, str(result.contact_bodies[column]))
    kinds = [event.kind for event in result.events]
    losses = kinds.count("lost")
    lost = f"contact was lost {count(losses, 'time')} on the way"
    if not losses:
        lost = "no contact was lost" if "established" in kinds else "no contact was established"
    return (
        f"Largest force {newtons(result.normal_force[row, column])} on {label} at "
        f"{result.time[row]:.3f} s; {lost}"
    )


def joint_clause(result: GraspResult) -> str:
    """How far the joints are from their targets at the end, and how far soft fingers bend."""
    clauses = []
    if gaps := _largest_gaps(result):
        clauses.append(f"Largest distance from the target at the end: {gaps}")
    if pulled := _ends_of_actuators(result):
        clauses.append(f"At the end: {pulled}")
    if result.pressure is not None and result.curvature is not None:
        names_of = [digit.name for digit in result.scene.hand.soft_fingers]
        ends = zip(names_of, result.pressure[-1], result.curvature[-1], strict=True)
        text = (f"{name} {1e-3 * p:.0f} kPa and {k:.1f}/m" for name, p, k in ends)
        clauses.append(f"Pressure and curvature at the end: {', '.join(text)}")
    return ". ".join(clauses)


def _largest_gaps(result: GraspResult) -> str:
    worst: dict[str, tuple[float, str]] = {}
    for command in result.scene.actuators:
        if command.joint is None:
            continue
        target = result.joint_target[-1, column(result.actuator_names, command.name)]
        gap, name = (
            abs(float(target) - result.joints[command.joint]),
            command.joint.replace("_", " "),
        )
        worst[command.unit] = max(worst.get(command.unit, (-1.0, "")), (gap, name))
    texts = {"rad": lambda gap: f"{math.degrees(gap):.1f}°", "m": millimetres}
    gaps = [f"{texts[kind](gap)} ({name})" for kind, (gap, name) in sorted(worst.items())]
    return ", ".join(gaps)


MAX_ENDS = 5
"""Drives whose ends a page tells; the figure shows the others."""


def _ends_of_actuators(result: GraspResult) -> str:
    """Where drives that are no joints have got to: ``tension of 'F1' 60 N``."""
    moving = [actuator.actuator for actuator in result.scene.mechanism.actuators if actuator.rate]
    ends = []
    for command in moving[:MAX_ENDS]:
        target = float(result.joint_target[-1, column(result.actuator_names, command.name)])
        text = (
            millimetres(target) if command.unit == "m" else f"{target:.3g} {command.unit}".rstrip()
        )
        ends.append(f"{command.label} {text}")
    return ", ".join(ends) + (", …" if len(moving) > MAX_ENDS else "")


def label_of(result: GraspResult, body: str) -> str:
    """What a body of the hand is called on a page."""
    contact: BodyContact = result.contact_of(body)
    return body_label(contact)
