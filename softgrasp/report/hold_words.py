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
    text = _judged_clause(result)
    others = result.hold.others if result.hold is not None else None
    if not others:
        return text
    drops = (f"{other.name} moved {millimetres(other.drop_m)} in the hand" for other in others)
    return f"{text} (judged: {result.object.name}; not judged: {', '.join(drops)})"


def _judged_clause(result: GraspResult) -> str:
    criterion, hold = result.success_criterion, result.hold
    if criterion is None:
        return "No hold test was asked for"
    if hold is None:
        return "The hold test was not reached"
    if hold.pulls and result.held:
        told = _pulls_clause(result, hold)
    elif hold.directions:
        told = _directions_clause(result, hold)
    elif hold.lifted_m is not None or result.scene.on_wrist:
        told = _carried_clause(result, hold)
    else:
        told = _weight_clause(result, hold)
    if isinstance(criterion, SuccessCriterion) and criterion.name not in PLAIN_NAMES:
        return f"By '{criterion.name}': {told[0].lower()}{told[1:]}"
    return told


def _weight_clause(result: GraspResult, hold: HoldTest) -> str:
    weight = f"{hold.weight_N:.2g} N of weight"
    if result.held:
        return f"Held {weight} with {millimetres(hold.drop_m)} drop"
    return f"Did not hold {weight}: {' and '.join(_failures(result, hold, 'dropped'))}"


def _pulls_clause(result: GraspResult, hold: HoldTest) -> str:
    """How hard the weakest pull was, after what was held before it."""
    slipped = [test for test in hold.pulls if test.slip_force_N is not None]
    if not slipped:
        least = min(test.largest_force_N for test in hold.pulls)
        pulled = f"not pulled out by up to {least:.3g} N"
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
        turned = math.degrees(hold.rotation_rad)
        return (
            f"Held in all {count(len(tests), 'direction')} with {force}: at most "
            f"{millimetres(hold.drop_m)} and {turned:.1f}°"
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
    said = []
    if test.drop_m > criterion.max_drop:
        said.append(f"dropped {millimetres(test.drop_m)}")
    if test.rotation_rad > criterion.max_rotation:
        said.append(f"turned {math.degrees(test.rotation_rad):.1f}°")
    if test.contacts < criterion.min_contacts:
        said.append(f"{count(test.contacts, 'body')} in contact".replace("bodys", "bodies"))
    after = test.end_s - test.start_s
    return f"{test.name} with {test.force_N:.2g} N, {' and '.join(said)} after {after:.2f} s"


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
        found, allowed = math.degrees(hold.rotation_rad), math.degrees(criterion.max_rotation)
        failures.append(f"it turned {found:.1f}° ({allowed:.1f}° allowed)")
    if isinstance(criterion, SuccessCriterion):
        failures += _further_failures(criterion, hold)
    touching = sum(contact.in_contact for contact in result.contacts)
    least = criterion.min_contacts if isinstance(criterion, SuccessCriterion) else 1
    if touching == 0:
        failures.append("nothing is in contact at the end")
    elif touching < least:
        failures.append(f"{touching} of at least {least} bodies are in contact at the end")
    wanted = criterion.min_lift if isinstance(criterion, SuccessCriterion) else None
    if wanted is not None and (hold.lifted_m or 0.0) < wanted:
        lifted = millimetres(hold.lifted_m or 0.0)
        failures.append(f"it came up by {lifted} ({millimetres(wanted)} wanted)")
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


def asked_text(criterion: SuccessCriterion | Lift) -> str:
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
        most = max(math.hypot(*load) for load in criterion.directions)
        parts.append(
            f"{count(len(criterion.directions), 'direction')}, {most:.3g} m/s² for "
            f"{criterion.direction_time:g} s each"
        )
    if criterion.pulls:
        parts.append(f"{count(len(criterion.pulls), 'pull')} until it slips")
    return "; ".join(parts) or "what the sequence does after its close"


def limits_text(criterion: SuccessCriterion | Lift) -> str:
    """What a criterion allows: ``at most 0.500 mm and 5.7°``."""
    drop, turn = millimetres(criterion.max_drop), math.degrees(criterion.max_rotation)
    told = f"at most {drop} and {turn:.1f}°"
    if isinstance(criterion, SuccessCriterion):
        if criterion.min_contacts > 1:
            told += f", at least {criterion.min_contacts} bodies in contact"
        if criterion.max_creep is not None:
            told += f", creep of at most {1e3 * criterion.max_creep:.3g} mm/s"
        if criterion.min_lift is not None:
            told += f", lifted by at least {millimetres(criterion.min_lift)}"
    return told


def phase_text(phase: Phase) -> str:
    """A phase in a few words: ``lift 100.0 mm within 1 s``."""
    name = phase.label if phase.name == "" else f"{phase.name} ({phase.type})"
    if isinstance(phase, ClosePhase):
        return name
    if isinstance(phase, ShakePhase):
        ways = [f"±{millimetres(phase.reach)}"] if phase.reach else []
        ways += [f"±{math.degrees(phase.angle):.3g}°"] if phase.angle else []
        cycles = count(phase.cycles, "cycle")
        return f"{name} {' and '.join(ways)} at {phase.frequency:g} Hz, {cycles}"
    how = ""
    match phase.type:
        case "lift":
            how = f" {millimetres(phase.height)}"
        case "preshape":
            how = f" '{phase.preshape}'"
        case "move":
            moved, turned = math.hypot(*phase.displacement), math.hypot(*phase.turn)
            ways = [millimetres(moved)] if moved else []
            ways += [f"{math.degrees(turned):.3g}°"] if turned else []
            how = f" {' and '.join(ways)}"
    return f"{name}{how} {'for' if phase.type == 'hold' else 'within'} {phase.time:g} s"
