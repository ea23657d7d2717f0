"""What a success criterion asks for, and what a hold test says, in words."""

from __future__ import annotations

import math

from softgrasp.description.sequence import ClosePhase, Phase, ShakePhase
from softgrasp.description.success import SuccessCriterion
from softgrasp.description.surroundings import Lift
from softgrasp.report.letting_go import how_it_ended, out_of_hand
from softgrasp.report.quantities import count, millimetres
from softgrasp.simulation.result import GraspResult
from softgrasp.simulation.told_hold import DirectionTest, HoldTest

PLAIN_NAMES = ("hold", "")
"""Criteria that need not be named: the default one, whose limits stand in the words."""


def hold_clause(result: GraspResult) -> str:
    """What the hold test says, with the limits that were exceeded, and of further objects."""
    text = _hold_result_clause(result)
    others = result.hold.others if result.hold is not None else None
    if not others:
        return text
    drops = (f"{other.name} moved {millimetres(other.drop_m)} in the hand" for other in others)
    return f"{text} (judged: {result.object.name}; not judged: {', '.join(drops)})"


def _hold_result_clause(result: GraspResult) -> str:
    criterion, hold = result.success_criterion, result.hold
    if criterion is None:
        return "No hold test was asked for"
    if hold is None:
        return "The hold test was not reached"
    if hold.pulls and result.held:
        clause = _pulls_clause(result, hold)
    elif hold.directions:
        clause = _directions_clause(result, hold)
    elif hold.lifted_m is not None or result.scene.on_wrist:
        clause = _carried_clause(result, hold)
    else:
        clause = _weight_clause(result, hold)
    if isinstance(criterion, SuccessCriterion) and criterion.name not in PLAIN_NAMES:
        return f"By '{criterion.name}': {clause[0].lower()}{clause[1:]}"
    return clause


def _weight_clause(result: GraspResult, hold: HoldTest) -> str:
    weight = f"{hold.weight_N:.2g} N of weight"
    if result.held:
        return f"Held {weight} with {millimetres(hold.drop_m)} drop"
    return f"Did not hold {weight}: {' and '.join(_failures(result, hold, 'dropped'))}"


def _pulls_clause(result: GraspResult, hold: HoldTest) -> str:
    """How hard the weakest pull was, after what was held before it."""
    slipped = [test for test in hold.pulls if test.slip_force_N is not None]
    if not slipped:
        smallest = min(test.largest_force_N for test in hold.pulls)
        pulled = f"not pulled out by up to {smallest:.3g} N"
    else:
        weakest = min(slipped, key=lambda test: test.slip_force_N or 0.0)
        pulled = f"pulled out by {weakest.slip_force_N:.3g} N along {weakest.name}"
    if hold.directions:
        return f"{_directions_clause(result, hold)}; {pulled}"
    return f"{_weight_clause(result, hold)}; {pulled}" if hold.weight_N else f"{_first(pulled)}"


def _first(text: str) -> str:
    return f"{text[0].upper()}{text[1:]}"


def _carried_clause(result: GraspResult, hold: HoldTest) -> str:
    """What became of an object that a wrist or an arm took along."""
    weight = f"{hold.weight_N:.2g} N of weight"
    if hold.weight_N == 0.0:
        weight = "the object without its weight"
    if hold.lifted_m is not None and (result.held or not result.scene.on_wrist):
        weight += f", lifted by {millimetres(hold.lifted_m)},"
    if result.held:
        return f"Held {weight} with {millimetres(hold.drop_m)} drift in the hand"
    failures = _failures(result, hold, "moved in the hand by")
    where = ""
    if hold.failed_in is not None and result.scene.on_wrist and hold.failed_s is not None:
        where = f"; lost in '{hold.failed_in}' at {hold.failed_s:.3f} s"
    return f"Did not hold {weight.removesuffix(',')}: {' and '.join(failures)}{where}"


def _directions_clause(result: GraspResult, hold: HoldTest) -> str:
    tests = hold.directions
    force = f"up to {max(test.force_N for test in tests):.2g} N"
    failed = [test for test in tests if not test.held]
    if result.held:
        angle = math.degrees(hold.rotation_rad)
        return (
            f"Held in all {count(len(tests), 'direction')} with {force}: at most "
            f"{millimetres(hold.drop_m)} and {angle:.1f}°"
        )
    if not failed:  # what came before the directions
        return f"Did not hold: {' and '.join(_failures(result, hold, 'dropped'))}"
    named = ", ".join(test.name for test in failed)
    return (
        f"Did not hold in {len(failed)} of {count(len(tests), 'direction')} with {force} "
        f"({named}): first {_direction_failure(result, failed[0])}"
    )


def _direction_failure(result: GraspResult, test: DirectionTest) -> str:
    criterion = result.scene.success
    assert criterion is not None  # only one has directions
    parts = []
    if test.drop_m > criterion.max_drop:
        parts.append(f"dropped {millimetres(test.drop_m)}")
    if test.rotation_rad > criterion.max_rotation:
        parts.append(f"turned {math.degrees(test.rotation_rad):.1f}°")
    if test.contacts < criterion.min_contacts:
        parts.append(f"{count(test.contacts, 'body')} in contact".replace("bodys", "bodies"))
    after = test.end_s - test.start_s
    return f"{test.name} with {test.force_N:.2g} N, {' and '.join(parts)} after {after:.2f} s"


def _failures(result: GraspResult, hold: HoldTest, moved: str) -> list[str]:
    criterion = result.success_criterion
    assert criterion is not None  # there is a test
    if out_of_hand(result):
        return [how_it_ended(result)]
    failures = []
    if hold.drop_m > criterion.max_drop:
        failures.append(
            f"it {moved} {millimetres(hold.drop_m)} ({millimetres(criterion.max_drop)} allowed)"
        )
    if hold.rotation_rad > criterion.max_rotation:
        angle, allowed = math.degrees(hold.rotation_rad), math.degrees(criterion.max_rotation)
        failures.append(f"it turned {angle:.1f}° ({allowed:.1f}° allowed)")
    if isinstance(criterion, SuccessCriterion):
        failures += _further_failures(criterion, hold)
    touching = sum(contact.in_contact for contact in result.contacts)
    required = criterion.min_contacts if isinstance(criterion, SuccessCriterion) else 1
    if touching == 0:
        failures.append("nothing is in contact at the end")
    elif touching < required:
        failures.append(f"{touching} of at least {required} bodies are in contact at the end")
    min_lift = criterion.min_lift if isinstance(criterion, SuccessCriterion) else None
    if min_lift is not None and (hold.lifted_m or 0.0) < min_lift:
        lifted = millimetres(hold.lifted_m or 0.0)
        failures.append(f"it came up by {lifted} ({millimetres(min_lift)} wanted)")
    return failures


def _further_failures(criterion: SuccessCriterion, hold: HoldTest) -> list[str]:
    """Creep and pulls that were not borne."""
    failures = []
    if criterion.max_creep is not None and hold.creep_m_s > criterion.max_creep:
        failures.append(
            f"it crept at {1e3 * hold.creep_m_s:.3g} mm/s ({1e3 * criterion.max_creep:.3g} mm/s "
            "allowed)"
        )
    for pull, test in zip(criterion.pulls, hold.pulls, strict=False):
        if test.held is False:
            failures.append(
                f"{test.slip_force_N or 0.0:.3g} N along {test.name} pulled it out "
                f"({pull.min_force:.3g} N wanted)"
            )
    return failures


def criterion_text(criterion: SuccessCriterion | Lift) -> str:
    """What a criterion does to a closed grasp: ``9.81 m/s² within 0.2 s, then 0.6 s``."""
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
    return "; ".join(parts) or "what the sequence does after its close"


def limits_text(criterion: SuccessCriterion | Lift) -> str:
    """What a criterion allows: ``at most 0.500 mm and 5.7°``."""
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
    """A phase in a few words: ``lift 100.0 mm within 1 s``."""
    name = phase.label if phase.name == "" else f"{phase.name} ({phase.type})"
    if isinstance(phase, ClosePhase):
        return name
    if isinstance(phase, ShakePhase):
        amounts = [f"±{millimetres(phase.reach)}"] if phase.reach else []
        amounts += [f"±{math.degrees(phase.angle):.3g}°"] if phase.angle else []
        cycles = count(phase.cycles, "cycle")
        return f"{name} {' and '.join(amounts)} at {phase.frequency:g} Hz, {cycles}"
    how = ""
    match phase.type:
        case "lift":
            how = f" {millimetres(phase.height)}"
        case "preshape":
            how = f" '{phase.preshape}'"
        case "move":
            moved, angle = math.hypot(*phase.displacement), math.hypot(*phase.rotation_vector)
            amounts = [millimetres(moved)] if moved else []
            amounts += [f"{math.degrees(angle):.3g}°"] if angle else []
            how = f" {' and '.join(amounts)}"
    return f"{name}{how} {'for' if phase.type == 'hold' else 'within'} {phase.time:g} s"
