"""Does a hand touch itself: where it starts, and on the way of each of its joints?"""

from __future__ import annotations

from collections.abc import Iterator

import mujoco
import numpy as np

from softgrasp.build.clearance import START_TOLERANCE
from softgrasp.build.pairs import Pair, penetration
from softgrasp.inspection.finding import Check, Finding, Severity, counted
from softgrasp.inspection.hand_model import HandModel
from softgrasp.mechanics.transforms import Array

SAMPLES = 41
"""Places over a joint's range at which collisions are looked for."""
DEEPER = 1e-4
"""How much deeper than at the start two parts must overlap to block a joint [m]."""
BLOCKED, UNREACHABLE = 0.5, 0.97
"""Blocked part of a joint's range that is worth a remark, and that leaves nothing to use [–]."""
LOCKED = 1e-6
"""Width of a range below which a joint is locked [rad or m]."""
MM = 1e3


def overlap_check(hand: HandModel) -> Check:
    """Pairs of bodies that overlap in a start posture, with their depths."""
    findings: list[Finding] = []
    postures = {"the start posture": hand.start}
    presets = [grasp for grasp, preset in hand.hand.grasps if preset.start is not None]
    postures |= {f"the start of grasp '{grasp}'": hand.start_of(grasp) for grasp in presets}
    unused = len(presets) == len(list(hand.hand.grasps))
    for where, posture in postures.items():
        depths = {
            pair: depth for pair, depth in _depths(hand, posture).items() if depth > START_TOLERANCE
        }
        if depths:
            mild = unused and where == "the start posture"
            findings.append(_overlap(hand, where, depths, "remark" if mild else "problem"))
    measured = f"{counted(len(hand.pairs), 'pair')} in {counted(len(postures), 'posture')}"
    return Check("overlap", measured, tuple(findings))


def blocked_check(hand: HandModel) -> Check:
    """Joints that turn their phalanges into another part of the hand over most of their range.

    One that has nearly nothing left is a problem where no other drive could move that part away.
    """
    blocked = {name: _blocked_fraction(hand, name) for name in _rigid_joints(hand)}
    findings = tuple(
        Finding(
            subject=f"joint '{name}'",
            severity="problem"
            if fraction > UNREACHABLE and _stays(hand, name, blocker)
            else "remark",
            check="reachable",
            expected=f"phalanges free over at least {100 * (1 - BLOCKED):g} % of its range",
            actual=f"{100 * fraction:.0f} % blocked by {blocker}, the other joints at their start",
            numbers={"blocked_share": fraction},
            advice="narrow its limits, or move the parts apart",
        )
        for name, (fraction, blocker) in blocked.items()
        if fraction > BLOCKED
    )
    largest = max((fraction for fraction, _ in blocked.values()), default=0.0)
    measured = f"at most {100 * largest:.0f} % of a range blocked, {counted(len(blocked), 'joint')}"
    return Check("reachable", measured, findings)


def _stays(hand: HandModel, joint: str, blocker: str) -> bool:
    """Whether no other drive than that of a joint moves what blocks it."""
    others = (actuator for actuator in hand.hand.actuators if actuator.joint != joint)
    moving = (actuator for actuator in others if actuator.limits[0] < actuator.limits[1])
    return not any(blocker in actuator.stops for actuator in moving)


def _overlap(hand: HandModel, where: str, depths: dict[Pair, float], severity: Severity) -> Finding:
    deepest = sorted(depths, key=lambda pair: -depths[pair])
    overlaps = ", ".join(f"{p.first} and {p.second} {MM * depths[p]:.2f} mm" for p in deepest[:3])
    more = f", and {len(deepest) - 3} more" if len(deepest) > 3 else ""
    return Finding(
        subject=f"hand '{hand.hand.name}'",
        severity=severity,
        check="overlap",
        expected=f"parts that are clear of one another in {where}",
        actual=f"{counted(len(depths), 'pair')} that overlap: {overlaps}{more}",
        numbers={"pairs": len(depths), "deepest_m": depths[deepest[0]]},
        advice=(
            "both grasps start elsewhere"
            if severity == "remark"
            else "they do not touch each other in a simulation; move the start or the shapes"
        ),
    )


def _depths(hand: HandModel, posture: Array) -> dict[Pair, float]:
    hand.take(posture)
    return {pair: penetration(hand.model, hand.data, pair) for pair in hand.pairs}


def _rigid_joints(hand: HandModel) -> Iterator[str]:
    """Joints with limits that a drive of the hand moves, but those that are locked."""
    for _, index in hand.actuators:
        if index is None:
            continue
        joint = hand.model.joint(index)
        low, high = joint.range
        if joint.limited[0] and high - low > LOCKED:
            yield joint.name


def _blocked_fraction(hand: HandModel, name: str) -> tuple[float, str]:
    """Part of a joint's range in which what it moves is inside the rest, and of what most often.

    The other joints stand where a grasp starts; of several starts the one that blocks least counts.
    """
    results = [_blocked_from(hand, name, posture) for posture in _used_starts(hand)]
    return min(results, key=lambda pair: pair[0])


def _used_starts(hand: HandModel) -> list[Array]:
    """The postures from which the grasps close, each once."""
    starts = [hand.start_of(grasp) for grasp, _ in hand.hand.grasps]
    return [one for i, one in enumerate(starts) if not any((one == s).all() for s in starts[:i])]


def _blocked_from(hand: HandModel, name: str, start: Array) -> tuple[float, str]:
    model, data, joint = hand.model, hand.data, hand.model.joint(name)
    moved = _downstream(model, int(joint.bodyid[0]))
    geoms = [(model.geom(pair.first).id, model.geom(pair.second).id) for pair in hand.pairs]
    bodies = [tuple(int(model.geom_bodyid[geom]) for geom in pair) for pair in geoms]
    crossing = [i for i, (a, b) in enumerate(bodies) if (a in moved) != (b in moved)]
    if not crossing:
        return 0.0, ""
    posture, blockers = start.copy(), list[str]()

    def depths() -> Array:
        data.qpos[:] = hand.led(posture)
        mujoco.mj_kinematics(model, data)
        near = (mujoco.mj_geomDistance(model, data, *geoms[i], DEEPER, None) for i in crossing)
        return -np.fromiter(near, float)

    rest = np.maximum(depths(), 0.0)
    for value in np.linspace(float(joint.range[0]), float(joint.range[1]), SAMPLES):
        posture[int(joint.qposadr[0])] = value
        over = depths() - rest
        worst = int(np.argmax(over))
        if over[worst] > DEEPER:
            first, second = bodies[crossing[worst]]
            blockers.append(model.body(second if first in moved else first).name)
    return len(blockers) / SAMPLES, max(blockers, key=blockers.count, default="")


def _downstream(model: mujoco.MjModel, body: int) -> set[int]:
    """A body and all that hangs on it."""
    bodies = {body}
    for index in range(body + 1, model.nbody):
        if int(model.body_parentid[index]) in bodies:
            bodies.add(index)
    return bodies
