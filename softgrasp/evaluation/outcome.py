"""Status and outcome of a run: how the closure ended, and whether the object is in the hand.

``GraspStatus`` describes the end of the closure. ``Outcome`` is decided after the hold test from
the values of a result alone (``outcome_of``), so that a loaded result has the same one. All
thresholds are constants of this module; docs/success.md has the criteria as a table.
"""

from __future__ import annotations

import math
from enum import Enum
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from softgrasp.description.base import MAX_SUPPORT
from softgrasp.quality.contact_forces import can_balance
from softgrasp.sim.load_balance import NO_LOAD

if TYPE_CHECKING:
    from softgrasp.description.object import Lift
    from softgrasp.description.task import SuccessCriterion
    from softgrasp.evaluation.result import (
        DirectionTest,
        GraspResult,
        HoldPart,
        HoldTest,
    )

EJECTION_DISTANCE = 2.0
"""Distance in radii of the object, from which an object without contact has left the hand [–]."""
EJECTION_SPEED = 0.02
"""Speed of an object at its last contact in the closure, from which it was ejected [m/s]."""
EJECTION_SAMPLES = 10
"""Control samples after the last contact over which that speed is measured."""
SLIPPING_SPEED = 2e-3
"""Mean speed in the palm at the end of the hold test, above which an object slips [m/s]."""
OPPOSING_TOLERANCE = math.radians(10.0)
"""Angle by which friction cones are widened where opposing contacts are counted [rad]; the normal
of a body is the mean of those of its contact points."""
RESTING_SPEED = 1e-4
"""Speed in the palm up to which an object rests there [m/s]: a tenth of the default limit of a hold
test in half a second, 3000 times the creep of friction at 98 % of its limit with the
default solver."""
FALLEN = 0.5
"""Fraction of the load that something else bears of an object that was put or fell on it [–]."""
UNSTABLE_WARNINGS = (
    "The simulation is unstable",
    "arena memory",
    "Inertia matrix is too close to singular",
)
"""Parts of the warnings of MuJoCo after which its forces are not to be trusted."""


UNLOADED = "the test applied no load"
UNKNOWN_BEARERS = (
    "it was not evaluated whether the hand holds it, as this engine does not measure what the "
    "surroundings bear"
)
HELD_BACK, ROUNDING = 0.5, 1e-9
"""Fraction of its commanded travel below which a joint that touches nothing is held back [–], and
rounding error of targets [rad or m]."""


class GraspStatus(Enum):
    """How the closure ended, as a sentence for the user; ``Outcome`` states whether it held."""

    CLOSED = "the hand has closed on the object and stands still"
    NO_CONTACT = "the hand has closed without establishing contact with the object"
    TIMED_OUT = "time ran out while joints were still closing"
    EJECTED = "the object has left the hand"
    DIVERGED = "the simulation has diverged"
    NOT_CLOSED = "the hand cannot close on the object and was not moved"


class Outcome(Enum):
    """Outcome of a run, decided after the hold test, as a sentence for the user.

    CLOSED is the outcome of a run without a hold test whose contacts can balance one another; with
    a test it is one of the others. See ``outcome_of`` and docs/success.md.
    """

    HELD = "the object was held in the hold test"
    SUPPORTED = "the object is within all limits, but not borne by the hand"
    CLOSED = "the hand has closed on the object and stands still"
    SHIFTED = "the object rests in the hand, but not within the limits of the test"
    SLIPPING = "the object slips in the hand"
    DROPPED = "the object was grasped and has fallen out of the hand"
    EJECTED = "the object left the hand while it closed"
    MISSED = "the hand has closed beside the object"
    NOT_CLOSED = "the hand cannot close on the object and was not moved"
    TIMED_OUT = "time ran out while joints were still closing"
    UNSTABLE = "the simulation is unstable"
    PLACED = "the object was put down and rests where the hand let it go"
    MISPLACED = "the object was let go, but does not rest where the hand let it go"

    @property
    def is_success(self) -> bool:
        """Whether the object is held, was put down, or was grasped in a run without a hold test."""
        return self in (Outcome.HELD, Outcome.CLOSED, Outcome.PLACED)


class OutcomeReason(NamedTuple):
    """Outcome of a run and the reason for it."""

    outcome: Outcome
    sentence: str
    """Reason, without a full stop."""


def grasp_status(
    *, touched: bool, in_contact: bool, moving: bool, displacement: float, object_radius: float
) -> GraspStatus:
    """Determine the status of a run that did not diverge.

    Args:
        touched: Whether any body of the hand touched the object at any time.
        in_contact: Whether contact is established with any body at the end.
        moving: Whether targets were still moving at the end.
        displacement: Displacement of the object's centre [m].
        object_radius: Radius of a ball around the object [m].
    """
    gone = touched and displacement > EJECTION_DISTANCE * object_radius
    if not in_contact and gone:
        return GraspStatus.EJECTED
    if moving:
        return GraspStatus.TIMED_OUT
    return GraspStatus.CLOSED if in_contact else GraspStatus.NO_CONTACT


def outcome_of(result: GraspResult) -> OutcomeReason:
    """Decide the outcome of a run from its recorded values.

    Args:
        result: The result, of any engine, also one that was loaded or interrupted.
    """
    if result.status is GraspStatus.DIVERGED:
        return OutcomeReason(Outcome.UNSTABLE, result.status.value)
    doubt = _instability(result)
    if doubt:
        return _plain(Outcome.UNSTABLE, f": {doubt}")
    if result.status is GraspStatus.NOT_CLOSED:
        return _plain(Outcome.NOT_CLOSED)
    reason = _after_closing(result)
    if result.put_down is not None and reason.outcome.is_success:
        outcome = Outcome.MISPLACED if result.put_down.failure else Outcome.PLACED
        reason = _plain(outcome, f": {result.put_down.failure or result.put_down.sentence}")
    missed = "" if result.hold is None else motion_text(result.hold)
    return reason._replace(sentence=f"{reason.sentence}; {missed}") if missed else reason


def _after_closing(result: GraspResult) -> OutcomeReason:
    """Decide the outcome of a run in which the hand was moved."""
    row = closure_end(result)
    if result.held:
        return OutcomeReason(Outcome.HELD, _held_text(result))
    if result.hold is not None and result.hold.within_limits:
        unproven = _unproven(result, result.hold, row)
        if unproven is not None:
            return unproven
    if not _touching(result, row).any():
        return _not_grasped(result, row)
    if _closing_at(result, row):
        return _plain(Outcome.TIMED_OUT)
    if result.hold is None and not result.scene.sequence:
        return _closed(result, row)
    return _carry(result, row)


def motion_text(hold: HoldTest) -> str:
    """Return which motions of the wrist were not carried out; empty where all were."""
    texts = []
    for part in hold.parts:
        if part.miss_m is not None:
            force = part.wrist_force_N
            wrist = "" if force is None else f", with {force:.4g} N at the wrist"
            texts.append(
                f"the motion '{part.name}' was not carried out: at its end the palm is "
                f"{1e3 * part.miss_m:.3g} mm from its target{wrist}"
            )
    return "; ".join(texts)


def _held_text(result: GraspResult) -> str:
    """Return the sentence of a passed test, with what else bears where a criterion allows it."""
    hold, criterion = result.hold, result.success_criterion
    if hold is not None and criterion is not None and criterion.max_support > MAX_SUPPORT:
        _, unborne = hold.is_borne(MAX_SUPPORT)
        if unborne is not None:
            return f"{Outcome.HELD.value}, as its max_support allows: {unborne.sentence}"
    if hold is None or hold.load_m_s2 is None or hold.load_m_s2 - hold.inertia_m_s2 >= NO_LOAD:
        return Outcome.HELD.value
    return (
        f"{Outcome.HELD.value}, whose only load was the inertia of the motion, up to "
        f"{hold.load_m_s2:.3g} m/s² without gravity"
    )


def _unproven(result: GraspResult, hold: HoldTest, row: int) -> OutcomeReason | None:
    """Decide the outcome of a test within all limits that does not show that the hand holds."""
    criterion = result.success_criterion
    assert criterion is not None  # there is a hold test
    _, unborne = hold.is_borne(criterion.max_support)
    loaded = hold.load_m_s2 is None or hold.load_m_s2 >= NO_LOAD
    if unborne is not None:
        parts: list[HoldPart | DirectionTest] = [*hold.parts, *hold.directions]
        named = next(part.name for part in parts if part.balance is unborne)
        location = f", at the end of '{named}'" if len(parts) > 1 else ""
        return _plain(Outcome.SUPPORTED, f": {unborne.sentence}{location}")
    if result.held is not None:
        return None
    doubt = UNKNOWN_BEARERS if loaded else f"{UNLOADED} ({hold.load_m_s2:.2g} m/s²)"
    reason = _closed(result, row)
    closed = reason.outcome is Outcome.CLOSED
    return reason._replace(sentence=f"{reason.sentence}; {doubt}") if closed else reason


def _plain(outcome: Outcome, more: str = "") -> OutcomeReason:
    return OutcomeReason(outcome, outcome.value + more)


def closure_end(result: GraspResult) -> int:
    """Return the row of the control sample at which the closure ended; the last one without more.

    Args:
        result: The result.
    """
    end: float = float(result.time[-1])
    if result.hold is not None:
        end = result.hold.start_s
    elif result.closing is not None:
        end = result.closing.end_s
    return min(int(np.searchsorted(result.time, end - 1e-9)), len(result.time) - 1)


def _instability(result: GraspResult) -> str:
    """Return why the forces of a run are not to be trusted; empty where they are."""
    known = (text for text in result.warnings if any(part in text for part in UNSTABLE_WARNINGS))
    warning = next(known, "")
    if warning:
        return warning
    finite = np.isfinite(result.object_position).all() and np.isfinite(result.normal_force).all()
    return "" if finite else "a position or a force is not a number"


def _touching(result: GraspResult, row: int) -> NDArray[np.bool_]:
    """Return the bodies in established contact with the object to be grasped at a row, (nb,)."""
    several = result.object_normal_force
    established = np.asarray(result.in_contact[row], dtype=bool)
    return established if several is None else established & (several[row, :, 0] > 0.0)


def _closing_at(result: GraspResult, row: int) -> bool:
    """Whether targets of the fingers moved at the end of the closure."""
    fingers = result.joint_target[:, : len(result.scene.actuators)]
    return bool(row > 0 and (fingers[row] != fingers[row - 1]).any())


def _not_grasped(result: GraspResult, row: int) -> OutcomeReason:
    """Decide the outcome of a closure at whose end nothing is in contact with the object."""
    speed = leaving_speed(result, row)
    if speed > EJECTION_SPEED:
        return _plain(Outcome.EJECTED, f", at {speed:.2g} m/s")
    if row == len(result.time) - 1 and result.status is GraspStatus.EJECTED:
        return _plain(Outcome.EJECTED)
    if _closing_at(result, row):
        return _plain(Outcome.TIMED_OUT)
    if _is_held_back(result, row):
        sentence = "the hand cannot close: no joint made half of its commanded travel"
        return OutcomeReason(Outcome.NOT_CLOSED, f"{sentence}, and nothing touched the object")
    return OutcomeReason(Outcome.MISSED, GraspStatus.NO_CONTACT.value)


def _is_held_back(result: GraspResult, row: int) -> bool:
    """Whether nothing was touched, and no joint made ``HELD_BACK`` of its commanded travel."""
    if (result.normal_force > 0.0).any():
        return False
    joints = result.joint_names.tolist()
    driven = {actuator.name: actuator.joint for actuator in result.scene.actuators}
    fractions = []
    for column, name in enumerate(result.actuator_names.tolist()):
        first, last = result.joint_target[[0, row], column]
        if driven.get(name) in joints and abs(last - first) > ROUNDING:
            positions = result.joint_position[[0, row], joints.index(driven[name])]
            fractions.append(float(np.diff(positions)[0] / (last - first)))
    return bool(fractions) and max(fractions) < HELD_BACK


def leaving_speed(result: GraspResult, end: int) -> float:
    """Compute the speed of the object after its last contact in the closure [m/s].

    Zero where it was not touched, or is in contact at the end of the closure.

    Args:
        result: The result.
        end: Row of the end of the closure.
    """
    several = result.object_normal_force
    forces = result.normal_force if several is None else several[..., 0]
    touched = np.flatnonzero((forces[: end + 1] > 0.0).any(axis=1))
    if not touched.size and result.peak is not None:  # it was struck between two samples
        touched = np.searchsorted(result.time, [result.peak.time_s - 1e-9])
    if not touched.size or touched[-1] >= end:
        return 0.0
    first = int(touched[-1])
    last = min(first + EJECTION_SAMPLES, end)
    moved = float(np.linalg.norm(result.object_position[last] - result.object_position[first]))
    return moved / float(result.time[last] - result.time[first])


def _closed(result: GraspResult, row: int) -> OutcomeReason:
    """Decide the outcome of a closure without a hold test that ended in contact."""
    if result.scene.object_mount == "fixed" or _is_gripped(result, row):
        return _plain(Outcome.CLOSED)
    return _plain(Outcome.MISSED, ": no two opposing contacts press on it at the end")


def _carry(result: GraspResult, row: int) -> OutcomeReason:
    """Decide the outcome of a hold test, or of a sequence without one, that did not end as held."""
    gripped = _is_gripped(result, row)
    if _is_lost(result):
        if gripped:
            return _plain(Outcome.DROPPED)
        return _plain(Outcome.MISSED, ": no two opposing contacts pressed on it")
    hold, criterion = result.hold, result.success_criterion
    if hold is None or criterion is None:  # carried by a sequence, without limits
        return _plain(Outcome.CLOSED)
    max_creep = getattr(criterion, "max_creep", None) or RESTING_SPEED
    if hold.creep_m_s > min(RESTING_SPEED, max_creep) or any(
        pull.held is False for pull in hold.pulls
    ):
        moved = f"it moved by {1e3 * hold.drop_m:.3g} mm in the palm"
        end = f"at {1e3 * hold.creep_m_s:.2g} mm/s at the end"
        return _plain(Outcome.SLIPPING, f": {moved}, {end}")
    return _plain(Outcome.SHIFTED, _excess(hold, criterion))


def _excess(hold: HoldTest, criterion: SuccessCriterion | Lift) -> str:
    """Return by how much an object that rests in the hand has left the limits."""
    if hold.drop_m > criterion.max_drop:
        moved, allowed = 1e3 * hold.drop_m, 1e3 * criterion.max_drop
        return f": it moved by {moved:.3g} mm in the palm, more than the {allowed:.3g} mm allowed"
    if hold.rotation_rad > criterion.max_rotation:
        angle, allowed = math.degrees(hold.rotation_rad), math.degrees(criterion.max_rotation)
        return f": it rotated by {angle:.3g}° in the palm, more than the {allowed:.3g}° allowed"
    min_lift = getattr(criterion, "min_lift", None)
    if min_lift is not None and (hold.lifted_m or 0.0) < min_lift:
        lifted = 1e3 * (hold.lifted_m or 0.0)
        return f": it was lifted by {lifted:.3g} mm, less than the {1e3 * min_lift:.3g} mm required"
    return ": fewer bodies of the hand than required are in contact with it"


def _is_lost(result: GraspResult) -> bool:
    """Whether no body of the hand bears the object any more at the end, or at that of a push."""
    pushes = () if result.hold is None else result.hold.directions
    if any(not test.held and test.contacts == 0 for test in pushes):
        return True
    last = len(result.time) - 1
    if result.put_down is not None:  # the last row at which the hand shall hold it
        last = int(np.searchsorted(result.time, result.put_down.start_s - 1e-9))
    if not _touching(result, last).any():
        return True
    return _is_supported(result) and not _balance(result, _hand_normals(result, last))


def _is_supported(result: GraspResult) -> bool:
    """Whether something else bears the object at the end of the last part."""
    hold, criterion = result.hold, result.success_criterion
    if hold is None or criterion is None or not hold.parts:
        return False
    balance, allowed = hold.parts[-1].balance, max(FALLEN, criterion.max_support)
    return balance is not None and balance.is_loaded and balance.hand_fraction < 1.0 - allowed


def _is_gripped(result: GraspResult, row: int) -> bool:
    """Whether contacts at the end of the closure can balance one another.

    Surroundings and other objects count, where the hand is needed for the balance.
    """
    normals, at_end = _hand_normals(result, row), row == len(result.time) - 1
    others = [
        [-part for part in contact.normal]
        for contact in (result.other_contacts if at_end else result.closing_contacts)
        if contact.first == result.object.name and contact.normal_force_N > 0.0
    ]
    if _balance(result, normals):
        return True
    if not (normals and others) or _balance(result, others, tolerance=0.0):
        return False
    return _balance(result, [*normals, *others])


def _hand_normals(result: GraspResult, row: int) -> list[list[float]]:
    """Return the last known normals of the bodies that touch the object at a row, and of pulls."""
    names = [str(name) for name in result.contact_bodies[_touching(result, row)]]
    latest = {}
    at_end = row == len(result.time) - 1
    for event in result.events:
        if event.normal is not None and event.time_s <= float(result.time[row]) + 1e-9:
            latest[event.body] = event.normal
    for contact in result.contacts if at_end else ():
        if contact.normal is not None:
            latest[contact.body] = contact.normal
    normals = [list(latest[name]) for name in names if name in latest]
    adhering = {body for body, _ in result.scene.hand.adhesions}
    pulls = [[-part for part in latest[name]] for name in names if name in adhering & set(latest)]
    return [*normals, *pulls]


def _balance(
    result: GraspResult, normals: list[list[float]], tolerance: float = OPPOSING_TOLERANCE
) -> bool:
    """Whether contacts with these normals can balance one another."""
    friction = result.contact_model.used.static_friction
    return can_balance(np.reshape(normals, (-1, 3)), friction, tolerance)
