"""Warnings about a closure without success: light touches, missed forces, no contact.

``closing_warnings`` explains touches that never became contacts and forces that were not reached,
``miss_warnings`` how near the hand came to an object that it did not touch.
"""

from __future__ import annotations

import mujoco
import numpy as np
from numpy.typing import NDArray

from softgrasp.evaluation.outcome import HELD_BACK, ROUNDING
from softgrasp.mechanics.transforms import Array
from softgrasp.model.contact_pairs import object_pairs
from softgrasp.model.names import OBJECT
from softgrasp.sim.control_state import RELEASE_RATIO
from softgrasp.sim.run_record import FinishedRun, still_closing

LONG = 50
"""A touch without established contact is reported if it lasts this many times the samples that
establish contact."""

Flags = NDArray[np.bool_]


SAMPLES = 24
"""Times of the closure at which distances are measured."""
FAR = 1e3
"""Largest distance that is measured [m]."""


def closing_warnings(run: FinishedRun, forces: Array) -> tuple[str, ...]:
    """Warn of touches without contact, and of requested forces that were not reached.

    Args:
        run: The finished run.
        forces: Normal force of each body at every control sample [N], shape (T, nb).
    """
    rows = run.recording.rows if run.hold_from is None else run.hold_from + 1
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
    """Warn if a force-controlled hand has pushed the object away."""
    target_force, touched = run.layout.stop_force, np.flatnonzero((forces > 0.0).any(axis=1))
    if target_force is None or inside.any() or not len(touched) or touched[-1] == len(forces) - 1:
        return ()
    return (
        f"the object was touched until {run.recording.time[touched[-1]]:.3f} s, and no contact was "
        "established: it was pushed away; try another closure.force, the other grasp, another "
        "position of the object, or lower closure.rates",
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
    layout, targets = run.layout, np.asarray(run.state.targets)
    moved = layout.increments != 0.0
    at_end = (targets <= layout.lower + ROUNDING) | (targets >= layout.upper - ROUNDING)
    return "joints are at their limits; " if at_end[moved].all() else ""


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

    Args:
        run: The finished run.
        forces: Normal forces on the object that is to be grasped [N], (T, nb).
    """
    touched = bool((forces > 0.0).any()) or (run.peaks is not None and bool(run.peaks.force.any()))
    if still_closing(run) or run.model.nflex or touched:
        return ()
    nearest = _nearest(run)
    if nearest <= 0.0:
        return (
            "nothing touched the object: it fell before the hand was there; a table (--table), "
            "another mount (--mount), or a closure without gravity (--no-gravity) keeps it",
        )
    return (
        "nothing touched the object: the hand came no nearer than "
        f"{_distance_text(nearest)} to its start position; another orientation (--euler-deg), "
        "position (--position, in m) or --grasp may reach it",
        *_held_back(run),
    )


def _held_back(run: FinishedRun) -> tuple[str, ...]:
    """Warn of the joint that made the smallest part of its commanded travel, if that is small."""
    end = (run.recording.rows if run.hold_from is None else run.hold_from + 1) - 1
    addresses = run.layout.joint_of_actuator[: len(run.scene.actuators)]
    moves = np.flatnonzero(
        (addresses >= 0) & (np.abs(run.layout.increments) > 0.0)[: len(addresses)]
    )
    first, last = run.recording.control[[0, end]][:, moves]
    travel = last - first
    joints = addresses[moves]
    made = (run.recording.qpos[end, joints] - run.recording.qpos[0, joints]) * np.sign(travel)
    travel = np.abs(travel)
    short = np.flatnonzero((travel > ROUNDING) & (made < HELD_BACK * travel))
    if not short.size:
        return ()
    slowest = int(short[np.argmin(made[short] / travel[short])])
    actuator = run.scene.actuators[int(moves[slowest])]
    return (
        f"joint '{actuator.joint}' made {max(float(made[slowest]), 0.0):.3g} of "
        f"{float(travel[slowest]):.3g} {actuator.unit} without touching the object: a limit, an "
        "equality constraint, spring, friction or another link holds it against its servo",
    )


def _nearest(run: FinishedRun) -> float:
    """Compute the smallest distance of the closing hand from the object at its start [m]."""
    model, data = run.model, mujoco.MjData(run.model)
    pairs = [tuple(model.geom(name).id for name in pair) for pair in object_pairs(model)]
    addresses = _coordinates(model)
    end = run.recording.rows if run.hold_from is None else run.hold_from + 1
    smallest = FAR
    for row in np.linspace(0, end - 1, min(SAMPLES, end)).astype(int):
        data.qpos[:] = run.recording.qpos[row]
        data.qpos[addresses] = run.recording.qpos[0][addresses]
        mujoco.mj_kinematics(model, data)
        distances = (mujoco.mj_geomDistance(model, data, *pair, FAR, None) for pair in pairs)
        smallest = min(smallest, *distances)
    return smallest


def _distance_text(distance: float) -> str:
    return f"{1e3 * distance:.3g} mm" if distance < 1.0 else f"{distance:.3g} m"


def _coordinates(model: mujoco.MjModel) -> slice:
    """Return the indices of the object's coordinates in ``qpos``."""
    joints = np.flatnonzero(model.jnt_bodyid == model.body(OBJECT).id)
    if not len(joints):
        return slice(0, 0)
    begin = int(model.jnt_qposadr[joints[0]])
    is_free = model.jnt_type[joints[0]] == mujoco.mjtJoint.mjJNT_FREE
    return slice(begin, begin + (7 if is_free else len(joints)))
