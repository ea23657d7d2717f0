"""Contacts at the end of a run: of the hand with objects, and of objects with what is around."""

from __future__ import annotations

from collections import defaultdict

import numpy as np

from softgrasp.mechanics.transforms import Array
from softgrasp.model import names
from softgrasp.model.sensors import MAX_SLOTS
from softgrasp.simulation.contacts import ContactPoint, OtherPoint, merged, on_hardest
from softgrasp.simulation.finished_run import FinishedRun
from softgrasp.simulation.told_contacts import BodyContact, OtherContact


def body_contacts(run: FinishedRun, points: list[ContactPoint]) -> tuple[BodyContact, ...]:
    """The contact history of every body of the hand.

    Args:
        run: The run.
        points: Contacts with objects at its end.
    """
    parts, called = names.parts(run.scene.hand), names.display_names(run.scene)
    contacts = []
    times_of: defaultdict[tuple[str, str], list[float]] = defaultdict(list)
    last = {}
    for event in run.events:
        times_of[event.body, event.kind].append(event.time_s)
        last[event.body] = event.object
    for body in run.built.bodies:
        touching = times_of[body, "touching"]
        body_points = on_hardest([point for point in points if point.body == body])
        state = merged(body_points)
        finger, phalanx = parts.get(body, ("", ""))
        contacts.append(
            BodyContact(
                body=body,
                finger=finger,
                phalanx=phalanx,
                object=called[body_points[0].object_name] if body_points else last.get(body),
                first_touch_s=touching[0] if touching else None,
                established_s=tuple(times_of[body, "established"]),
                lost_s=tuple(times_of[body, "lost"]),
                normal_force_N=state.normal_force if state else 0.0,
                friction_force_N=state.friction_force if state else 0.0,
                point_m=state.point if state else None,
                normal=state.normal if state else None,
                slip_speed_m_s=state.slip_speed if state else 0.0,
            )
        )
    return tuple(contacts)


def other_contacts(run: FinishedRun) -> tuple[OtherContact, ...]:
    """What objects and surroundings do to one another at the end, a contact a pair of bodies."""
    called = names.display_names(run.scene)
    pairs: defaultdict[tuple[str, str], list[OtherPoint]] = defaultdict(list)
    for point in run.other_points():
        pairs[point.first, point.second].append(point)
    return tuple(
        _as_one(called.get(first, first), called[second], points)
        for (first, second), points in sorted(pairs.items())
    )


def _as_one(first: str, second: str, points: list[OtherPoint]) -> OtherContact:
    total = sum(point.normal_force for point in points)
    weights = [p.normal_force / total if total > 0.0 else 1.0 / len(points) for p in points]
    mean_point = np.average([point.point for point in points], axis=0, weights=weights)
    normal = np.average([point.normal for point in points], axis=0, weights=weights)
    length = float(np.linalg.norm(normal))
    return OtherContact(
        first=first,
        second=second,
        point_m=tuple(mean_point.tolist()),
        normal=tuple((normal / length).tolist()) if length > 1e-9 else points[0].normal,
        normal_force_N=total,
        friction_force_N=sum(point.friction_force for point in points),
        force_N=tuple(np.sum([point.force for point in points], axis=0).tolist()),
        separation_m=min(point.separation for point in points),
    )


def forces_on_objects(run: FinishedRun, force: Array) -> Array:
    """Normal force of each body on each object at every row, (T, nb, no) [N].

    Args:
        run: The run.
        force: Contacts as they were recorded, (T, nb, slots, 3) [N].
    """
    ends = np.cumsum(run.layout.object_slots)[:-1].tolist()
    return np.stack([part.sum(-1) for part in np.split(force[..., 0], ends, axis=2)], axis=-1)


def slot_warnings(run: FinishedRun, force: Array) -> tuple[str, ...]:
    """Whether a body may have had more contacts with an object than its sensor reports."""
    full, first = np.zeros(len(run.built.bodies), dtype=bool), 0
    for slots in run.layout.object_slots:
        if slots >= MAX_SLOTS:
            full |= (force[:, :, first : first + slots, 0] > 0).all(axis=2).any(axis=0)
        first += slots
    taken = [body for body, yes in zip(run.built.bodies, full.tolist(), strict=True) if yes]
    if not taken:
        return ()
    return (
        f"contact forces of {', '.join(taken)}: at some time all {MAX_SLOTS} contacts that "
        "are recorded a body were taken; the recorded sums may be too small",
    )
