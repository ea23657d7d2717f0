"""Sentences of a grasp report and of the terminal output, computed from a result.

``summary`` is the paragraph that both show; the ``*_clause`` functions return single statements
without a full stop.
"""

from __future__ import annotations

import math
from typing import Any, Literal, NamedTuple

import numpy as np

from softgrasp.description.object import Lift
from softgrasp.description.sensor import (
    ForceTorqueSensor,
    JointTorqueSensor,
    TactileSensor,
)
from softgrasp.description.task import ClosePhase, Phase, ShakePhase, SuccessCriterion
from softgrasp.evaluation.outcome import GraspStatus, Outcome
from softgrasp.evaluation.result import GraspResult, HoldTest, column
from softgrasp.mechanics.transforms import Array, rotation_angles
from softgrasp.rendering.keyframes import body_label
from softgrasp.report.style import capitalize, count, millimetres, newtons

Tone = Literal["good", "neutral", "bad"]
Row = dict[str, Any]
"""Cells of a table row by their heads; a cell is a text, or a text with its class."""

MAX_ENDS = 5
"""Maximum number of actuators listed."""

MIN_SAG = 1e-5
"""Sag of the palm that is mentioned [m]."""


GONE = (GraspStatus.EJECTED, GraspStatus.DIVERGED, GraspStatus.NO_CONTACT, GraspStatus.NOT_CLOSED)
"""Statuses of closures that end without an object in the hand."""


class Verdict(NamedTuple):
    """Outcome of a run in a word, and whether it is good or bad."""

    text: str
    tone: Tone


TONES: dict[Outcome, Tone] = {
    **dict.fromkeys(Outcome, "bad"),
    Outcome.HELD: "good",
    Outcome.PLACED: "good",
    Outcome.CLOSED: "neutral",
}
"""Colour of each outcome in reports."""


def summary(result: GraspResult) -> str:
    """Summarise a run: outcome, contacts, object motion and hold test.

    Example: ``Held. 4 of 12 phalanges in contact, first touch at 0.330 s, all by 0.339 s, force
    closure at 0.33 s. The object moved 0.111 mm and rotated by 0.0°. Held 0.78 N of weight with
    0.002 mm drop.``
    """
    log, closed = result.quality_log, ""
    if log is not None and any(contact.in_contact for contact in result.contacts):
        closed = ", no force closure"
        if log.closed_at is not None:
            closed = f", force closure at {log.closed_at:.2f} s"
    sentences = (
        verdict(result).text,
        contact_clause(result) + closed,
        motion_clause(result),
        others_clause(result),
        hold_clause(result),
        load_clause(result),
        sag_clause(result),
        support_clause(result),
    )
    return " ".join(f"{sentence}." for sentence in sentences if sentence)


def verdict(result: GraspResult) -> Verdict:
    """Return the outcome of a run as a word: ``Held``, ``Not closed``."""
    outcome = result.outcome
    return Verdict(capitalize(outcome.name.lower().replace("_", " ")), TONES[outcome])


def verdict_sentence(result: GraspResult) -> str:
    """Return the outcome and its reason as one sentence without a full stop."""
    return capitalize(result.message)


def load_clause(result: GraspResult) -> str:
    """Describe the bodies that bear the load after the last loaded part, or the first unborne one.

    Empty without a load, or where it is not known.
    """
    hold, criterion = result.hold, result.success_criterion
    if hold is None or criterion is None:
        return ""
    balances = [part.balance for part in hold.parts] + [test.balance for test in hold.directions]
    known = [balance for balance in balances if balance is not None and balance.is_loaded]
    _, unborne = hold.is_borne(criterion.max_support)
    if result.outcome is not Outcome.SUPPORTED or unborne is None:
        unborne = known[-1] if known else None
    return "" if unborne is None else capitalize(unborne.sentence)


def sag_clause(result: GraspResult) -> str:
    """Describe how far wrist, arm or base yielded in the hold test; empty where they did not."""
    hold = result.hold
    if hold is None or hold.sag_m is None or hold.lag_m is None:
        return ""
    sagged = f"The palm sagged by {millimetres(hold.sag_m)}" if hold.sag_m >= MIN_SAG else ""
    if (not result.scene.on_wrist and result.scene.lift is None) or hold.lag_m < MIN_SAG:
        return sagged
    lagged = f"lagged behind its targets by up to {millimetres(hold.lag_m)}"
    return f"{sagged} and {lagged}" if sagged else f"The palm {lagged}"


def contact_clause(result: GraspResult) -> str:
    """Describe the bodies in contact at the end, and the time of the first touch."""
    touches = [event for event in result.events if event.kind == "touching"]
    if not touches:
        return f"Nothing touched the object in {result.simulated_time:.3f} s"
    first = f"first touch at {touches[0].time_s:.3f} s"
    closed = [contact for contact in result.contacts if contact.in_contact]
    if not closed:
        return f"Nothing is in contact at the end; {first} by {body_label(touches[0])}"
    phalanges = [contact for contact in closed if contact.finger]
    total = sum(bool(contact.finger) for contact in result.contacts)
    palm = " and the palm" if len(phalanges) < len(closed) else ""
    last = max(contact.established_s[-1] for contact in closed)
    what = "finger parts" if result.scene.hand.soft_fingers else "phalanges"
    return f"{len(phalanges)} of {total} {what}{palm} in contact, {first}, all by {last:.3f} s"


def force_clause(result: GraspResult) -> str:
    """Describe the force at the end, the peak and when it acted, and lost contacts."""
    peak = result.peak
    if peak is None:
        return "No contact force during the run"
    doubt = f" ({peak.doubt})" if peak.doubt else ""
    within = result.force_within_hand_N
    within_text = f", {newtons(within)} within the hand" if within > 0.0 else ""
    kinds = [event.kind for event in result.events]
    losses = kinds.count("lost")
    lost = f"contact was lost {count(losses, 'time')}"
    if not losses:
        lost = "no contact was lost" if "established" in kinds else "no contact was established"
    return (
        f"{newtons(result.force_on_objects_N)} on the object at the end (sum of normal forces)"
        f"{within_text}; peak {newtons(peak.force_N)} on "
        f"{label_of(result, peak.body)} at {peak.time_s:.3f} s{doubt}; {lost}"
    )


def motion_clause(result: GraspResult) -> str:
    """Describe the displacement and rotation of the object."""
    if result.scene.object_mount == "fixed":
        return "The object was fixed"
    if not was_touched(result):
        return "The hand did not move the object"
    # the motion after the release is not a property of the grasp
    gone, row = let_go_s(result), -1
    if gone is not None:
        row = int(np.searchsorted(result.time, gone))
    moved = float(np.linalg.norm(result.object_position[row] - result.object_position[0]))
    angle = rotation_angles(result.object_quat_wxyz[row], result.object_quat_wxyz[0])
    text = f"moved {millimetres(moved)} and rotated by {math.degrees(angle):.1f}°"
    until = "" if gone is None else f" until it left the hand at {gone:.3f} s"
    return f"The object {text}{until}"


def others_clause(result: GraspResult) -> str:
    """Describe displacement and rotation of further objects; empty without any."""
    clauses = []
    for motion in result.objects[1:]:
        moved = millimetres(math.hypot(*motion.displacement_m))
        angle = rotation_angles(motion.final_quat_wxyz, motion.initial_quat_wxyz)
        clauses.append(f"{motion.name} moved {moved} and rotated by {math.degrees(angle):.1f}°")
    return f"Beside it, {', '.join(clauses)}" if clauses else ""


def support_clause(result: GraspResult) -> str:
    """Describe the forces of other bodies on the objects at the end; empty without any."""
    names_of = {motion.name for motion in result.objects}
    parts = [
        f"{contact.first} presses on {contact.second} with {newtons(contact.normal_force_N)}"
        for contact in result.other_contacts
        if contact.first in names_of and contact.normal_force_N > 0.0
    ]
    return f"At the end {', '.join(parts)}" if parts else ""


def hold_clause(result: GraspResult) -> str:
    """Describe the result of the hold test, with exceeded limits and further objects."""
    text = _hold_result_clause(result)
    others = result.hold.others if result.hold is not None else None
    if not others:
        return text
    drops = (f"{other.name} moved {millimetres(other.drop_m)} in the hand" for other in others)
    return f"{text} (evaluated: {result.object.name}; not evaluated: {', '.join(drops)})"


def _hold_result_clause(result: GraspResult) -> str:
    criterion, hold = result.success_criterion, result.hold
    if criterion is None:
        return "No hold test was requested"
    if hold is None:
        return "The hold test was not reached"
    if result.held is None:
        return "The hold test does not show whether the hand holds it"
    clauses = []
    if hold.directions:
        clauses.append(_directions_clause(result, hold))
    elif hold.weight_N or not hold.pulls:
        clauses.append(_weight_clause(result, hold))
    if hold.pulls:
        clauses.append(_pulls_clause(hold))
    clause = capitalize("; ".join(clauses)) + ("" if result.held else f": {result.message}")
    if isinstance(criterion, SuccessCriterion) and criterion.name not in ("hold", ""):
        return f"By '{criterion.name}': {clause[0].lower()}{clause[1:]}"
    return clause


def _pulls_clause(hold: HoldTest) -> str:
    """Smallest force that pulled the object out, or the largest that did not."""
    slipped = [test for test in hold.pulls if test.slip_force_N is not None]
    if not slipped:
        smallest = min(test.largest_force_N for test in hold.pulls)
        return f"not pulled out by up to {smallest:.3g} N"
    weakest = min(slipped, key=lambda test: test.slip_force_N or 0.0)
    return f"pulled out by {weakest.slip_force_N:.3g} N along {weakest.name}"


def _directions_clause(result: GraspResult, hold: HoldTest) -> str:
    tests = hold.directions
    force = f"up to {max(test.force_N for test in tests):.2g} N"
    if result.held:
        angle = math.degrees(hold.rotation_rad)
        return (
            f"Held in all {count(len(tests), 'direction')} with {force}: at most "
            f"{millimetres(hold.drop_m)} and {angle:.1f}°"
        )
    failed = [test.name for test in tests if not test.held]
    if not failed:  # failed before the load directions
        return "Did not hold"
    number = f"{len(failed)} of {count(len(tests), 'direction')}"
    return f"Did not hold in {number} with {force} ({', '.join(failed)})"


def _weight_clause(result: GraspResult, hold: HoldTest) -> str:
    """Result of a load by gravity, a lift, or a motion of the wrist."""
    carried = hold.lifted_m is not None or result.scene.on_wrist
    weight = f"{hold.weight_N:.2g} N of weight"
    if carried and hold.weight_N == 0.0:
        weight = "the object without its weight"
    if hold.lifted_m is not None and (result.held or not result.scene.on_wrist):
        weight += f", lifted by {millimetres(hold.lifted_m)},"
    if result.held:
        moved = "drift in the hand" if carried else "drop"
        return f"Held {weight} with {millimetres(hold.drop_m)} {moved}"
    lost = ""
    if hold.failed_in is not None and result.scene.on_wrist and hold.failed_s is not None:
        lost = f", lost in '{hold.failed_in}' at {hold.failed_s:.3f} s"
    return f"Did not hold {weight.removesuffix(',')}{lost}"


def criterion_text(criterion: SuccessCriterion | Lift) -> str:
    """Describe the loads of a criterion: ``9.81 m/s² within 0.2 s, then 0.6 s``."""
    if isinstance(criterion, Lift):
        height, waits = millimetres(criterion.height), f"then {criterion.hold_time:g} s"
        return f"{height} within {criterion.time:g} s, {waits}"
    parts = []
    if criterion.gravity is not None:
        load = f"{math.hypot(*criterion.gravity):.3g} m/s²"
        parts.append(f"{load} within {criterion.ramp_time:g} s, then {criterion.hold_time:g} s")
    parts += [phase_text(phase) for phase in criterion.motion]
    if criterion.directions:
        largest = max(math.hypot(*load) for load in criterion.directions)
        parts.append(
            f"{count(len(criterion.directions), 'direction')}, {largest:.3g} m/s² for "
            f"{criterion.direction_time:g} s each"
        )
    if criterion.pulls:
        parts.append(f"{count(len(criterion.pulls), 'pull')} until it slips")
    return "; ".join(parts) or "the motion of the sequence after the closure"


def limits_text(criterion: SuccessCriterion | Lift) -> str:
    """Describe the limits of a criterion: ``at most 0.500 mm and 5.7°``."""
    drop, max_angle = millimetres(criterion.max_drop), math.degrees(criterion.max_rotation)
    text = f"at most {drop} and {max_angle:.1f}°"
    if isinstance(criterion, SuccessCriterion):
        if criterion.min_contacts > 1:
            text += f", at least {criterion.min_contacts} bodies in contact"
        if criterion.max_creep is not None:
            text += f", creep of at most {1e3 * criterion.max_creep:.3g} mm/s"
        if criterion.min_lift is not None:
            text += f", lifted by at least {millimetres(criterion.min_lift)}"
    return text


def phase_text(phase: Phase) -> str:
    """Describe a phase: ``lift 100.0 mm within 1 s``."""
    name = phase.label if phase.name == "" else f"{phase.name} ({phase.type})"
    if isinstance(phase, ClosePhase):
        return name
    if isinstance(phase, ShakePhase):
        amounts = [f"±{millimetres(phase.reach)}"] if phase.reach else []
        amounts += [f"±{math.degrees(phase.angle):.3g}°"] if phase.angle else []
        cycles = count(phase.cycles, "cycle")
        return f"{name} {' and '.join(amounts)} at {phase.frequency:g} Hz, {cycles}"
    match phase.type:
        case "lift":
            name += f" {millimetres(phase.height)}"
        case "preshape":
            name += f" '{phase.preshape}'"
        case "move":
            moved, angle = math.hypot(*phase.displacement), math.hypot(*phase.rotation_vector)
            amounts = [millimetres(moved)] if moved else []
            amounts += [f"{math.degrees(angle):.3g}°"] if angle else []
            name += f" {' and '.join(amounts)}"
            name += f" up to {phase.max_force:g} N" if phase.max_force is not None else ""
        case "place":
            retreat = millimetres(math.hypot(*phase.retreat))
            return f"{name} down to {phase.max_force:g} N, release, retreat {retreat}"
    return f"{name} {'for' if phase.type == 'hold' else 'within'} {phase.time:g} s"


def quality_clause(result: GraspResult) -> str:
    """Time of force closure and ε at the end."""
    quality = result.quality
    if quality is None:
        return "The quality of the grasp was not computed"
    touching = count(quality["contacts"], "contact point")
    if not quality["contacts"]:
        return "No body touches the object at the end"
    if quality["epsilon"] == 0.0:
        return f"No force closure at the end with {touching}: {quality['reason']}"
    since = quality.get("force_closure_s")
    began = "" if since is None else f" since {since:.2f} s"
    return f"Force closure{began}, with {touching} at the end: ε {epsilon_text(quality)}"


def epsilon_text(quality: dict[str, Any]) -> str:
    """Return ε as ``= 0.281``, or as an interval where the contacts are too many to compute it."""
    lower, upper = (f"{quality.get(key, 0.0):.3g}" for key in ("epsilon", "epsilon_upper"))
    bounded = "epsilon_upper" in quality and upper != lower
    return f"between {lower} and {upper}" if bounded else f"= {lower}"


def quality_rows(result: GraspResult) -> list[Row]:
    """Rows of the quality measures of the final grasp with their conventions."""
    quality = result.quality
    if quality is None or not quality["contacts"]:
        return []
    cones = f"friction pyramids of {quality['edges']} edges, unit normal forces"
    kept = quality.get("wrench_contacts", quality["contacts"])
    if kept < quality["contacts"]:
        cones += f", of the {kept} most different contacts: a lower bound of that of all contacts"
    if quality["contact_model"] == "soft":
        cones += ", spin friction of the contacts"
    scale = f"moments over {millimetres(quality['torque_scale_m'])}, about the centre of mass"
    space = f"{quality['norm']} wrench space of {cones}; {scale}"
    matrix = f"grasp matrix of hard fingers; {scale}"
    epsilon = epsilon_text(quality).removeprefix("= ")
    bounded = "; upper bound from all contacts" if epsilon.startswith("between") else ""
    conventions = {
        "volume": f"of the {space}",
        "min_singular_value": matrix,
        "isotropy": f"smallest over largest singular value; {matrix}",
        "ellipsoid_volume": f"product of singular values; {matrix}",
        "friction_margin": "1 − |Ft|/(µ Fn) of the simulated forces, smallest of all bodies",
    }
    rows = [("ε", epsilon, f"largest ball in the {space}{bounded}")]
    for key, convention in conventions.items():
        if quality.get(key) is not None:
            label = key.replace("min_singular", "smallest_singular").replace("_", " ")
            rows.append((label, f"{quality[key]:.3g}", convention))
    return [
        {"Measure": label, "At the end": value, "Convention": (convention, "text")}
        for label, value, convention in rows
    ]


def joint_clause(result: GraspResult) -> str:
    """Largest tracking errors of joints at the end, actuator targets, and soft-finger curvature."""
    clauses = []
    if gaps := _largest_gaps(result):
        clauses.append(f"Largest distance from the target at the end: {gaps}")
    # actuators on several joints: ``tension of 'F1' 60 N``
    moving = [actuator.actuator for actuator in result.scene.mechanism.actuators if actuator.rate]
    targets = [(command, _final_target(result, command.name)) for command in moving]
    ends = [
        f"{command.label} "
        + (millimetres(target) if command.unit == "m" else f"{target:.3g} {command.unit}".rstrip())
        for command, target in targets
    ]
    if ends:
        more = ", …" if len(ends) > MAX_ENDS else ""
        clauses.append(f"At the end: {', '.join(ends[:MAX_ENDS])}{more}")
    if result.pressure is not None and result.curvature is not None:
        names_of = [digit.name for digit in result.scene.hand.soft_fingers]
        finals = zip(names_of, result.pressure[-1], result.curvature[-1], strict=True)
        text = (f"{name} {1e-3 * p:.0f} kPa and {k:.1f}/m" for name, p, k in finals)
        clauses.append(f"Pressure and curvature at the end: {', '.join(text)}")
    return ". ".join(clauses)


def _largest_gaps(result: GraspResult) -> str:
    worst: dict[str, tuple[float, str]] = {}
    for command in result.scene.actuators:
        if command.joint is None:
            continue
        gap = abs(_final_target(result, command.name) - result.joints[command.joint])
        named = (gap, command.joint.replace("_", " "))
        worst[command.unit] = max(worst.get(command.unit, (-1.0, "")), named)
    texts = {"rad": lambda gap: f"{math.degrees(gap):.1f}°", "m": millimetres}
    gaps = [f"{texts[kind](gap)} ({name})" for kind, (gap, name) in sorted(worst.items())]
    return ", ".join(gaps)


def _final_target(result: GraspResult, actuator: str) -> float:
    return float(result.joint_target[-1, column(result.actuator_names, actuator)])


def sensor_clause(result: GraspResult) -> str:
    """Number of sensors and channels, and the largest readings at the end."""
    readings = list(result.sensors.values())
    channels = sum(len(reading.channels) for reading in readings)
    parts = [f"{count(len(readings), 'sensor')} with {count(channels, 'channel')}"]
    pressed = [
        (float(reading.values[-1].sum()), reading.sensor.name)
        for reading in readings
        if isinstance(reading.sensor, TactileSensor)
    ]
    if pressed:
        force, name = max(pressed)
        parts.append(f"largest on {name} at the end, {force:.3g} N")
    for reading in readings:
        if isinstance(reading.sensor, ForceTorqueSensor):
            force, torque = (float(np.linalg.norm(reading.values[-1, k : k + 3])) for k in (0, 3))
            parts.append(f"{reading.sensor.name} {force:.3g} N and {torque:.3g} N·m at the end")
            break
    return "; ".join(parts)


def sensor_rows(result: GraspResult) -> list[Row]:
    """Rows of all sensors of a run."""
    rows = []
    for name, reading in result.sensors.items():
        match sensor := reading.sensor:
            case TactileSensor():
                kind = "tactile"
                at = f"{sensor.body.replace('_', ' ')}, {sensor.rows} × {sensor.columns}"
            case ForceTorqueSensor():
                kind = "force and torque"
                at = f"before {sensor.body.replace('_', ' ')}" + (", tared" if sensor.tare else "")
            case JointTorqueSensor():
                kind = "joint torque"
                at = count(len(sensor.joints), "joint") if sensor.joints else "all rigid joints"
        rows.append(
            {
                "Sensor": name.replace("_", " "),
                "Kind": (kind, "word"),
                "At": (at, "word"),
                "Channels": str(len(reading.channels)),
            }
        )
    return rows


def label_of(result: GraspResult, body: str) -> str:
    """Display name of a body of the hand."""
    return body_label(result.contact_of(body))


def out_of_hand(result: GraspResult) -> bool:
    """Whether the object is not in the hand at the end; False for diverged runs."""
    if result.status is GraspStatus.DIVERGED:
        return False
    untouched = result.held is not True and not (_forces(result)[-1] > 0.0).any()
    return (result.status in GONE and not result.in_contact[-1].any()) or untouched


def _forces(result: GraspResult) -> Array:
    """Normal forces on the grasped object [N], (T, nb)."""
    several = result.object_normal_force
    return result.normal_force if several is None else several[..., 0]


def was_touched(result: GraspResult) -> bool:
    """Whether the hand ever touched the object."""
    return bool((_forces(result) > 0.0).any())


def let_go_s(result: GraspResult) -> float | None:
    """Return the time of the last contact before the object fell [s].

    None if it is in the hand at the end or was never touched. Contacts during a hold test that
    began without contact are ignored: the object is in free fall.
    """
    if not out_of_hand(result):
        return None
    touching = np.asarray((_forces(result) > 0.0).any(axis=1))
    if result.hold is not None:
        begin = int(np.searchsorted(result.time, result.hold.start_s))
        if touching[:begin].any() and not touching[max(begin - 1, 0) : begin + 1].any():
            touching = touching[:begin]
    touched = np.flatnonzero(touching)
    return float(result.time[touched[-1]]) if touched.size else None
