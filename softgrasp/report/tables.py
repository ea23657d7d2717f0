"""The tables of contacts in a report, as plain text cells."""

from __future__ import annotations

import math
from typing import NamedTuple

from softgrasp.build import names
from softgrasp.description.base import Vec3
from softgrasp.report.quantities import count, grouped
from softgrasp.report.style import signed
from softgrasp.report.words import label_of
from softgrasp.simulation.result import GraspResult
from softgrasp.simulation.told_contacts import BodyContact, ContactEvent

EMPTY = "–"


class BodyRow(NamedTuple):
    """A body of the hand that touched an object."""

    label: str
    object: str
    in_contact: bool
    first_touch: str
    established: str
    lost: str
    normal_force: str
    friction_force: str
    slip: str
    point: str


class OtherRow(NamedTuple):
    """A contact at the end that is none of the hand with an object."""

    first: str
    second: str
    normal_force: str
    friction_force: str
    force: str
    separation: str
    point: str


class PairRow(NamedTuple):
    """A pair in contact at the end, and its stiffness."""

    label: str
    measured: str
    deviation: str


class EventRow(NamedTuple):
    """An event of the log."""

    time: str
    label: str
    object: str
    kind: str
    normal_force: str
    friction_force: str
    slip: str
    separation: str
    point: str


def body_rows(result: GraspResult) -> list[BodyRow]:
    """The bodies that touched, in the order of the hand."""
    return [
        BodyRow(
            label=label_of(result, contact.body),
            object=contact.object or EMPTY,
            in_contact=contact.in_contact,
            first_touch=f"{contact.first_touch_s:.3f}",
            established=_last_time(contact.established_s),
            lost=_last_time(contact.lost_s),
            normal_force=f"{contact.normal_force_N:.2f}",
            friction_force=f"{contact.friction_force_N:.2f}",
            slip=_slip(contact),
            point=point_mm(contact.point_m),
        )
        for contact in result.contacts
        if contact.first_touch_s is not None
    ]


def untouched(result: GraspResult) -> list[str]:
    """Names of the bodies that never touched."""
    return [label_of(result, c.body) for c in result.contacts if c.first_touch_s is None]


def pair_rows(result: GraspResult) -> list[PairRow]:
    """Measured stiffness of every pair in contact at the end; parts of a mesh in one row."""
    requested_stiffness = result.contact_model.set_stiffness
    called, promised = names.display_names(result.scene), _promised(result)
    of_label: dict[str, list[tuple[float, float]]] = {}
    for pair, stiffness in result.contact_model.measured_stiffness_N_m.items():
        deviations = of_label.setdefault(_pair_label(pair, called), [])
        deviations.append((stiffness, 100.0 * (stiffness / requested_stiffness(pair) - 1.0)))
    return [
        PairRow(
            label=label
            if len(deviations) == 1
            else f"{label}, {len(deviations)} parts of the mesh",
            measured=_span([grouped(stiffness) for stiffness, _ in sorted(deviations)]),
            deviation=f"{signed(max((part for _, part in deviations), key=abs), 2)} %"
            if promised
            else EMPTY,
        )
        for label, deviations in of_label.items()
    ]


def _span(ordered: list[str]) -> str:
    """``99 976 … 100 504``; one of them where all are alike."""
    return ordered[0] if ordered[0] == ordered[-1] else f"{ordered[0]} … {ordered[-1]}"


def _promised(result: GraspResult) -> bool:
    """Whether a stiffness in N/m was asked for, which measured ones can be held against."""
    return result.contact_model.used.converted and result.scene.object.elasticity is None


def _pair_label(pair: str, called: dict[str, str]) -> str:
    """``F1 P3``, or ``F1 P3, small`` where there are several objects."""
    first, _, second = pair.partition("|")
    first = called.get(first, first.replace("_", " "))
    several = sum(names.is_object(body) for body in called) > 1
    # parts of a mesh are numbered behind the body's name
    return f"{first}, {called.get(second.split('_')[0], second)}" if several else first


def other_rows(result: GraspResult) -> list[OtherRow]:
    """Contacts at the end between objects, and with what stands around."""
    return [
        OtherRow(
            first=contact.first.replace("_", " "),
            second=contact.second,
            normal_force=f"{contact.normal_force_N:.2f}",
            friction_force=f"{contact.friction_force_N:.2f}",
            force=", ".join(signed(part, 2) for part in contact.force_N),
            separation=signed(1e6 * contact.separation_m, 1),
            point=point_mm(contact.point_m),
        )
        for contact in result.other_contacts
    ]


def stiffness_verdict(result: GraspResult) -> str:
    """How far the contacts at the end are from what was asked, in one sentence."""
    model = result.contact_model
    softer = "" if model.used == model.asked else (
        f" The time step could not honour the {grouped(model.asked.stiffness)} N/m asked for."
    )  # fmt: skip
    if not model.measured_stiffness_N_m:
        return f"Nothing in contact at the end, so no stiffness was measured.{softer}"
    pairs = count(len(model.measured_stiffness_N_m), "pair")
    if not _promised(result):
        low, high = (pick(model.measured_stiffness_N_m.values()) for pick in (min, max))
        return (
            f"Force over penetration of {pairs}: {grouped(low)} … {grouped(high)} N/m; this "
            "contact model promises none."
        )
    worst = max(
        abs(stiffness / model.set_stiffness(pair) - 1.0)
        for pair, stiffness in model.measured_stiffness_N_m.items()
    )
    return f"Force over penetration of {pairs}: within {100.0 * worst:.2g} % of the model.{softer}"


def event_rows(result: GraspResult) -> list[EventRow]:
    """The log of all contact events."""
    return [
        EventRow(
            time=f"{event.time_s:.4f}",
            label=label_of(result, event.body),
            object=event.object or EMPTY,
            kind=event.kind,
            normal_force=f"{event.normal_force_N:.2f}",
            friction_force=f"{event.friction_force_N:.2f}",
            slip=f"{1e3 * event.slip_speed_m_s:.2f}",
            separation=_separation(event),
            point=point_mm(event.point_m),
        )
        for event in result.events
    ]


def point_mm(point: Vec3 | None) -> str:
    """A point [m] as three numbers in millimetres."""
    return EMPTY if point is None else ", ".join(signed(1e3 * part, 1) for part in point)


def _last_time(times: tuple[float, ...]) -> str:
    if not times:
        return EMPTY
    return f"{times[-1]:.3f}" + (f" ({len(times)}×)" if len(times) > 1 else "")


def _slip(contact: BodyContact) -> str:
    return EMPTY if contact.point_m is None else f"{1e3 * contact.slip_speed_m_s:.3f}"


def _separation(event: ContactEvent) -> str:
    return EMPTY if event.separation_m is None else signed(1e6 * event.separation_m, 1)


class DirectionRow(NamedTuple):
    """A direction of a hold test."""

    label: str
    force: str
    drop: str
    rotation: str
    contacts: int
    held: bool


def direction_rows(result: GraspResult) -> list[DirectionRow]:
    """One row a direction of the hold test; none where it has none."""
    tests = () if result.hold is None else result.hold.directions
    return [
        DirectionRow(
            test.name,
            f"{test.force_N:.3g}",
            f"{1e3 * test.drop_m:.3f}",
            f"{math.degrees(test.rotation_rad):.2f}",
            test.contacts,
            test.held,
        )
        for test in tests
    ]


class PullRow(NamedTuple):
    """A pull of a hold test."""

    label: str
    slip: str
    largest: str
    friction: str
    fraction: str
    drop: str
    held: bool | None


def pull_rows(result: GraspResult) -> list[PullRow]:
    """One row a pull of the hold test; none where it has none."""
    return [
        PullRow(
            test.name,
            "–" if test.slip_force_N is None else f"{test.slip_force_N:.3g}",
            f"{test.largest_force_N:.3g}",
            f"{test.friction_N:.3g}",
            "–"
            if not (test.slip_force_N and test.friction_N)
            else f"{test.slip_force_N / test.friction_N:.2f}",
            f"{1e3 * test.drop_m:.3f}",
            test.held,
        )
        for test in (() if result.hold is None else result.hold.pulls)
    ]
