"""Warnings about a closure without success: light touches, missed forces, no contact.

``closing_warnings`` explains touches that never became contacts and forces that were not reached,
``miss_warnings`` how near the hand came to an object that it did not touch, and
``find_reached_forces`` limit and force of every finger at the end of a force-limited closure.
"""

from __future__ import annotations

import mujoco
import numpy as np
from numpy.typing import NDArray

from softgrasp.description.base import Description
from softgrasp.description.soft_finger import MountedSoftFinger
from softgrasp.evaluation.outcome import ROUNDING
from softgrasp.mechanics.actuation import actuation_forces
from softgrasp.mechanics.transforms import Array
from softgrasp.model import names
from softgrasp.model.contact_pairs import object_pairs
from softgrasp.model.names import OBJECT, soft_joint_names, soft_link
from softgrasp.sim.control_state import RELEASE_RATIO
from softgrasp.sim.run_record import FinishedRun, still_closing

TOLERANCE = 0.05
"""Relative excess up to which a force counts as within its limit [–]."""


class ReachedForce(Description):
    """Largest normal force of a finger at the end of the closure, and its limit."""

    finger: str
    body: str
    """The body of the finger that presses most."""
    limit_N: float
    force_N: float
    """Mean of the samples that establish a contact."""
    reason: str = ""
    """Why it is above the limit, or below nine tenths of it; empty between the two."""

    @property
    def exceeds(self) -> bool:
        """Whether it is above its limit."""
        return self.force_N > (1.0 + TOLERANCE) * self.limit_N


def find_reached_forces(run: FinishedRun, forces: Array) -> tuple[ReachedForce, ...]:
    """Return the forces of the fingers in contact; none where the closure has no force limit.

    Args:
        run: The finished run.
        forces: Normal force of each body at every control sample until the end of the closure [N],
            (T, nb).
    """
    limit, layout = run.layout.stop_force, run.layout
    if limit is None or len(forces) == 0:
        return ()
    late = forces[-layout.samples :].mean(axis=0)
    fingers = {body: finger for body, (finger, _) in names.parts(run.scene.hand).items()}
    largest: dict[str, int] = {}
    for index, body in enumerate(layout.bodies):
        finger = fingers.get(body)
        if finger is not None and run.recording.in_contact[len(forces) - 1, index]:
            best = largest.get(finger, index)
            largest[finger] = max(best, index, key=lambda item: float(late[item]))
    full = {finger for finger, index in largest.items() if late[index] >= RELEASE_RATIO * limit}
    return tuple(
        ReachedForce(
            finger=finger,
            body=layout.bodies[index],
            limit_N=limit,
            force_N=float(late[index]),
            reason=_reason(run, index, float(late[index]) / limit, sorted(full - {finger})),
        )
        for finger, index in largest.items()
    )


def _reason(run: FinishedRun, body: int, ratio: float, full: list[str]) -> str:
    """Return why a body presses with more than its limit, or much less; empty else."""
    if RELEASE_RATIO <= ratio <= 1.0 + TOLERANCE or run.layout.feels:
        return ""
    if ratio > 1.0:
        if _at_joint_limits(run, body):
            return "the object presses it against the limits of its joints"
        return "the time ran out" if still_closing(run) else "the object is wedged against it"
    if run.state.full and full:
        verb = "opposes it and presses" if len(full) == 1 else "oppose it and press"
        return f"{' and '.join(full)} {verb} with the limit"
    if still_closing(run):
        return "the time ran out"
    return "its joints are at their limits" if _at_target_limits(run, _moving(run, body)) else ""


def _moving(run: FinishedRun, body: int) -> list[int]:
    """Return the indices of the actuators that move a body."""
    layout = run.layout
    return [d for d, bodies in enumerate(layout.stops) if body in bodies and layout.increments[d]]


def _at_target_limits(run: FinishedRun, moving: list[int] | Flags) -> bool:
    """Whether no target of these actuators can go on."""
    layout, targets = run.layout, np.asarray(run.state.targets)
    at_end = (targets <= layout.lower + ROUNDING) | (targets >= layout.upper - ROUNDING)
    return bool(at_end[moving].all())


def _at_joint_limits(run: FinishedRun, body: int) -> bool:
    """Whether a joint that moves a body is at a limit of its range."""
    layout, model = run.layout, run.model
    position = run.recording.qpos[run.recording.rows - 1]
    for actuator in _moving(run, body):
        address = int(layout.joint_of_actuator[actuator])
        joint = int(np.flatnonzero(model.jnt_qposadr == address)[0]) if address >= 0 else -1
        if joint >= 0 and model.jnt_limited[joint]:
            low, high = model.jnt_range[joint]
            if not low < position[address] < high:
                return True
    return False


def force_warnings(reached: tuple[ReachedForce, ...]) -> tuple[str, ...]:
    """Warn of fingers above their limits."""
    return tuple(
        f"{item.body} presses with {item.force_N:.3g} N at the end of the closure, more than the "
        f"limit of {item.limit_N:g} N: {item.reason}; a lower closure.force, another position of "
        "the object or the other grasp may avoid it"
        for item in reached
        if item.exceeds
    )


LONG = 50
"""A touch without established contact is reported if it lasts this many times the samples that
establish contact."""

Flags = NDArray[np.bool_]


SAMPLES = 24
"""Times of the closure at which distances are measured."""
FAR = 1e3
"""Largest distance that is measured [m]."""
BARELY = 0.9
"""Pressure at which a free finger touches the object over that applied, above which it is low."""
LATE = 50
"""Control samples before the end of the closure over which forces of soft fingers are averaged."""
STEPS = 90
"""Pressures up to half a turn of a free finger at which its distance is measured."""


def closing_warnings(run: FinishedRun, forces: Array) -> tuple[str, ...]:
    """Warn of touches without contact, and of requested forces that were not reached.

    Args:
        run: The finished run.
        forces: Normal force of each body at every control sample [N], shape (T, nb).
    """
    rows = _closure_end(run)
    inside = run.recording.in_contact[:rows].astype(bool)
    messages = _light_touch(run, forces[:rows], inside)
    lost = _lost_grip(run, inside) or _pushed_away(run, forces[:rows], inside)
    return messages + (lost or _missed_force(run, forces[:rows], inside))


def _light_touch(run: FinishedRun, forces: Array, inside: Flags) -> tuple[str, ...]:
    """Warn of the body that touched longest without established contact, if that was long."""
    layout = run.layout
    waits: dict[int, int] = {}
    for stops, increment in zip(layout.stops, layout.increments, strict=True):
        bodies = list(stops)
        if bodies and increment:
            touching = (forces[:, bodies] > 0.0) & ~inside[:, bodies].any(axis=1, keepdims=True)
            waits |= dict(zip(bodies, touching.sum(axis=0).tolist(), strict=True))
    body = max(waits, key=lambda index: waits[index], default=-1)
    if body < 0 or layout.feels or waits[body] <= LONG * layout.samples:
        return ()
    nonzero = forces[:, body][(forces[:, body] > 0.0) & ~inside[:, body]]
    return (
        f"{layout.bodies[body]} touched the object for "
        f"{waits[body] * layout.control_period:.3g} s in which no contact was established: half of "
        f"its forces were below {np.median(nonzero):.2g} N, and contact takes {layout.samples} "
        f"samples in a row above {layout.threshold:g} N; lower closure.threshold or "
        "closure.samples, or close with other closure.rates",
    )


def _lost_grip(run: FinishedRun, inside: Flags) -> tuple[str, ...]:
    """Warn if a force-controlled hand has lost the object."""
    target_force, held = run.layout.stop_force, np.flatnonzero(inside.any(axis=1))
    if target_force is None or inside[-1].any() or not len(held):
        return ()
    return (
        f"the last contact was lost at {run.recording.time[held[-1]]:.3f} s while joints pressed "
        f"to the requested {target_force:g} N: the object slid out or was pushed away; try "
        "another closure.force, the other grasp, another position of the object, or lower "
        "closure.rates",
    )


def _pushed_away(run: FinishedRun, forces: Array, inside: Flags) -> tuple[str, ...]:
    """Warn if a force-controlled hand, or one of soft fingers, has pushed the object away."""
    target_force, touched = run.layout.stop_force, np.flatnonzero((forces > 0.0).any(axis=1))
    soft = bool(run.scene.hand.soft_fingers)
    if (target_force is None and not soft) or inside.any():
        return ()
    if not len(touched) or touched[-1] == len(forces) - 1:
        return ()
    cure = "pressure (--pressure, also auto)" if soft else "closure.force, the other grasp"
    return (
        f"the object was touched until {run.recording.time[touched[-1]]:.3f} s, and no contact was "
        f"established: it was pushed away; try another {cure}, another position of the object, or "
        "lower closure.rates",
    )


def _missed_force(run: FinishedRun, forces: Array, inside: Flags) -> tuple[str, ...]:
    """Warn of bodies below the requested force, and of joints that still moved."""
    target_force = run.layout.stop_force
    if target_force is None or len(forces) < 2:
        return ()
    # with tactile sensing the hand stops at readings, which have errors
    weak = (
        {} if run.layout.feels else _weak_bodies(run, forces, inside, RELEASE_RATIO * target_force)
    )
    before, last = run.recording.control[: len(forces)][-2:]
    moving = [
        actuator.name
        for actuator, was, now in zip(run.scene.actuators, before, last, strict=False)
        if was != now
    ]
    if not weak and not moving:
        return ()
    messages = []
    if weak:
        worst = min(weak, key=lambda body: weak[body])
        more = f" and {len(weak) - 1} more" if len(weak) > 1 else ""
        messages.append(
            f"{worst}{more} pressed with less than the requested {target_force:g} N, {worst} with "
            f"{weak[worst]:.3g} N"
        )
    if moving:
        more = f" and {len(moving) - 1} more" if len(moving) > 1 else ""
        messages.append(f"time ran out while {moving[0]}{more} still moved")
        cure = (
            "request a lower closure.force, raise closure.contact_rate_fraction, or try the other "
            "grasp"
        )
    else:
        cure = f"{_limit_text(run)}request a lower closure.force, or try the other grasp"
    return (f"at the end of the closure {', and '.join(messages)}: {cure}",)


def _limit_text(run: FinishedRun) -> str:
    """Explain why targets below the requested force have stopped."""
    if run.state.full:
        return "a finger that presses with the limit opposes them; "
    at_end = _at_target_limits(run, run.layout.increments != 0.0)
    return "joints are at their limits; " if at_end else ""


def _weak_bodies(
    run: FinishedRun, forces: Array, inside: Flags, threshold: float
) -> dict[str, float]:
    """Return the largest mean force of each actuator's bodies where it is too small [N]."""
    layout, weak_forces = run.layout, {}
    late = forces[-layout.samples :].mean(axis=0)
    for stops, increment in zip(layout.stops, layout.increments, strict=True):
        bodies = list(stops)
        if bodies and increment and inside[-1, bodies].any():
            # by the closure law a distal phalanx that presses hard enough stops a joint, too
            body = max(bodies, key=lambda index: late[index])
            if late[body] < threshold:
                weak_forces[layout.bodies[body]] = float(late[body])
    return weak_forces


def miss_warnings(run: FinishedRun, forces: Array) -> tuple[str, ...]:
    """Warn if nothing has touched the object, with the smallest distance of the hand.

    Of soft fingers without contact that bend too little, the pressure is reported instead.

    Args:
        run: The finished run.
        forces: Normal forces on the object that is to be grasped [N], (T, nb).
    """
    if low := _low_pressure(run, forces):
        return low
    touched = bool((forces > 0.0).any()) or (run.peaks is not None and bool(run.peaks.force.any()))
    if still_closing(run) or run.model.nflex or touched:
        return ()
    nearest = _nearest(run)
    if nearest <= 0.0:
        return (
            "nothing touched the object: it fell before the hand was there; a table (--table), "
            "another mount (--mount), or a closure without gravity (--no-gravity) keeps it",
        )
    distance = f"{1e3 * nearest:.3g} mm" if nearest < 1.0 else f"{nearest:.3g} m"
    return (
        f"nothing touched the object: the hand came no nearer than {distance} to its start "
        "position; another orientation (--euler-deg), "
        "position (--position, in m) or --grasp may reach it",
    )


def _low_pressure(run: FinishedRun, forces: Array) -> tuple[str, ...]:
    """Warn of soft fingers that bend too little to establish contact with the object."""
    end = _closure_end(run)
    if still_closing(run) or run.model.nflex or run.recording.in_contact[end - 1].any():
        return ()
    names = [actuator.name for actuator in run.scene.actuators]
    applied = dict(zip(names, run.recording.control[:end].max(axis=0), strict=False))
    needed = {
        digit: pressure
        for digit in run.scene.hand.soft_fingers
        if (pressure := _touching_pressure(run, digit)) is not None
    }
    if not needed or run.scene.hand.fingers:
        return ()
    nearest = min(needed, key=lambda digit: needed[digit])
    pressure, touching = float(applied[nearest.as_actuator.name]), needed[nearest]
    force = float(forces[max(end - LATE, 0) : end].mean(axis=0).max())
    if touching <= BARELY * pressure and not 0.0 < force < run.layout.threshold:
        return ()
    angles = (np.degrees(nearest.finger.bending * value) for value in (pressure, touching))
    bends, touches = (f"{angle:.3g}°" for angle in angles)
    limit = nearest.limits[1]
    cure = "request more (--pressure)"
    if nearest.finger.mesh is None and touching > BARELY * limit:
        cure = f"its limit is {_kilopascals(limit)}, so the object has to be nearer to the fingers"
    return (
        f"the pressure is too low: {_kilopascals(pressure)} bends the free finger {nearest.name} "
        f"by {bends}, and it begins to touch the object at {touches}, which takes "
        f"{_kilopascals(touching)}; at the end it pressed with {force:.2g} N of the "
        f"{run.layout.threshold:g} N that establish contact; {cure}",
    )


def _touching_pressure(run: FinishedRun, digit: MountedSoftFinger) -> float | None:
    """Return the pressure at which a free finger touches the object at its start [Pa]."""
    model, data = run.model, mujoco.MjData(run.model)
    parts = {model.body(soft_link(digit.name, k)).id for k in range(len(digit.finger.links))}
    pairs = [[model.geom(name).id for name in pair] for pair in object_pairs(model)]
    pairs = [pair for pair in pairs if model.geom_bodyid[pair[0]] in parts]
    joints = [model.joint(name) for name in soft_joint_names(digit)]
    softness = np.array([1.0 / model.jnt_stiffness[joint.id] for joint in joints])
    data.qpos[:] = run.recording.qpos[0]

    def touches(pressure: float) -> bool:
        moments = actuation_forces(digit.finger, pressure=pressure)
        data.qpos[[int(joint.qposadr[0]) for joint in joints]] = softness * moments
        mujoco.mj_kinematics(model, data)
        return any(mujoco.mj_geomDistance(model, data, *pair, FAR, None) <= 0.0 for pair in pairs)

    if not pairs or digit.finger.bending <= 0.0:
        return None
    pressures = np.linspace(0.0, np.pi / digit.finger.bending, STEPS + 1).tolist()
    return next((pressure for pressure in pressures if touches(pressure)), None)


def _kilopascals(pressure: float) -> str:
    return f"{1e-3 * pressure:.3g} kPa"


def _closure_end(run: FinishedRun) -> int:
    """Return the number of rows of the closure."""
    return run.recording.rows if run.hold_from is None else run.hold_from + 1


def _nearest(run: FinishedRun) -> float:
    """Compute the smallest distance of the closing hand from the object at its start [m]."""
    model, data = run.model, mujoco.MjData(run.model)
    pairs = [tuple(model.geom(name).id for name in pair) for pair in object_pairs(model)]
    addresses = _coordinates(model)
    end = _closure_end(run)
    smallest = FAR
    for row in np.linspace(0, end - 1, min(SAMPLES, end)).astype(int):
        data.qpos[:] = run.recording.qpos[row]
        data.qpos[addresses] = run.recording.qpos[0][addresses]
        mujoco.mj_kinematics(model, data)
        distances = (mujoco.mj_geomDistance(model, data, *pair, FAR, None) for pair in pairs)
        smallest = min(smallest, *distances)
    return smallest


def _coordinates(model: mujoco.MjModel) -> slice:
    """Return the indices of the object's coordinates in ``qpos``."""
    joints = np.flatnonzero(model.jnt_bodyid == model.body(OBJECT).id)
    if not len(joints):
        return slice(0, 0)
    begin = int(model.jnt_qposadr[joints[0]])
    is_free = model.jnt_type[joints[0]] == mujoco.mjtJoint.mjJNT_FREE
    return slice(begin, begin + (7 if is_free else len(joints)))
