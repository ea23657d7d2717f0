"""Normal forces of bodies at rest, when they stopped, and what a sample more is worth."""

from __future__ import annotations

import numpy as np

from softgrasp.simulation.result import GraspResult

LATE = 0.1
"""How long before the end forces are looked at again, to see whether they still change [s]."""


def bodies_in_contact(result: GraspResult) -> tuple[str, ...]:
    """Bodies whose contact is established at the end."""
    return tuple(contact.body for contact in result.contacts if contact.in_contact)


def force_at(result: GraspResult, body: str, time: float | None = None) -> float:
    """Normal force of a body at a time [s], else at the end [N]."""
    names: list[str] = result.contact_bodies.tolist()
    row = -1 if time is None else int(np.searchsorted(result.time, time - 1e-9))
    return float(result.normal_force[min(row, len(result.time) - 1), names.index(body)])


def still_changing(result: GraspResult) -> float:
    """Largest change of a normal force within the last tenth of a second, over its size [%]."""
    end = float(result.time[-1])
    changes = []
    for body in bodies_in_contact(result):
        now, before = force_at(result, body), force_at(result, body, end - LATE)
        changes.append(100.0 * abs(now - before) / now if now > 0.0 else 0.0)
    return max(changes, default=0.0)


def worth_of_a_sample(result: GraspResult, body: str) -> float:
    """How much more force a finger has that closes for one control sample more [%].

    A servo presses with its stiffness times how far its target is ahead; a sample moves the target
    on by rate · period, and the moment grows by stiffness · rate · period. The largest of the
    finger's joints counts.
    """
    contact = result.contact_of(body)
    targets, joints = result.actuator_names.tolist(), result.joint_names.tolist()
    largest = 0.0
    for column, name in enumerate(targets):
        if name not in joints or not contact.finger or not name.startswith(f"{contact.finger}_"):
            continue
        target = result.joint_target[:, column]
        sample = float(np.abs(np.diff(target)).max(initial=0.0))
        ahead = abs(float(target[-1] - result.joint_position[-1, joints.index(name)]))
        largest = max(largest, 100.0 * sample / ahead if ahead > 0.0 else 0.0)
    return largest
