"""Five instants that tell a run, as a film strip shows them (paper 004, Fig 10A)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from softgrasp.render.phases import has_phases, phase_key_frames
from softgrasp.simulation.outcome import GraspStatus
from softgrasp.simulation.result import GraspResult
from softgrasp.simulation.told_contacts import BodyContact, ContactEvent

Instant = tuple[float, str]
"""Simulated time [s] and caption."""

APART = 0.1
"""An instant in the middle keeps this part of the contact phase away from its ends."""
_FRACTIONS = {0.25: "a quarter", 0.5: "half way", 0.75: "three quarters"}
_ENDINGS = {
    GraspStatus.CLOSED: "end: closed",
    GraspStatus.NO_CONTACT: "end: no contact",
    GraspStatus.TIMED_OUT: "end: still closing",
    GraspStatus.EJECTED: "end: object ejected",
    GraspStatus.DIVERGED: "end: diverged",
}


def key_frames(result: GraspResult) -> tuple[Instant, ...]:
    """Start, first contact, one in between, last established contact, end.

    The one in between is the contact nearest to the median of all; where all contacts come at
    once, it is half way to the first one. Without contacts the run is cut into quarters.

    Returns:
        Five (time [s], caption), times never falling, the first and last those of the run.
    """
    start, end = float(result.time[0]), float(result.time[-1])
    ends = [(start, "start"), (end, _ending(result))]
    if has_phases(result):
        return (ends[0], *phase_key_frames(result), ends[1])
    touching = [event for event in result.events if event.kind == "touching"]
    if not touching:
        between = [
            (start + fraction * (end - start), text) for fraction, text in _FRACTIONS.items()
        ]
        return tuple(ends[:1] + between + ends[1:])
    established = [event for event in result.events if event.kind == "established"]
    first, last = touching[0], (established or result.events)[-1]
    picks = [
        (first.time_s, f"first contact: {_bodies(result, first)}"),
        _middle(result, first.time_s, last.time_s),
        (last.time_s, f"{_last_kind(last)}: {_bodies(result, last)}"),
    ]
    return tuple(ends[:1] + sorted(picks, key=lambda pick: pick[0]) + ends[1:])


def _middle(result: GraspResult, first: float, last: float) -> Instant:
    margin = APART * (last - first)
    inner = [e for e in result.events if first + margin < e.time_s < last - margin]
    inner = [event for event in inner if event.kind == "established"] or inner
    # contacts that follow one another at once make one picture, not two
    if not inner or last - first < 0.02 * float(result.time[-1] - result.time[0]):
        start = float(result.time[0])
        return (start + 0.5 * (first - start), "half way to contact")
    median = float(np.median([event.time_s for event in inner]))
    event = min(inner, key=lambda candidate: abs(candidate.time_s - median))
    kind = "contact lost" if event.kind == "lost" else event.kind
    return (event.time_s, f"{kind}: {_bodies(result, event)}")


def _last_kind(event: ContactEvent) -> str:
    return "last established" if event.kind == "established" else f"last {event.kind}"


def _bodies(result: GraspResult, event: ContactEvent) -> str:
    """The bodies with the same event at the same sample: ``F1 P3 + 3 more``."""
    same = [e for e in result.events if (e.time_s, e.kind) == (event.time_s, event.kind)]
    return _listed([body_label(e) for e in same])


def body_label(part: BodyContact | ContactEvent) -> str:
    """How a body of the hand is called in pictures and tables: ``F1 P3``, or ``left palm``."""
    finger, phalanx = part.finger, part.phalanx
    whole = part.body if not finger else f"{finger} {phalanx}"
    return (phalanx if finger and phalanx.startswith(finger) else whole).replace("_", " ")


def _listed(labels: Sequence[str]) -> str:
    return labels[0] if len(labels) == 1 else f"{labels[0]} + {len(labels) - 1} more"


def _ending(result: GraspResult) -> str:
    if result.status is GraspStatus.EJECTED and result.scene.on_wrist:
        return "end: dropped"
    if result.status is not GraspStatus.CLOSED or result.hold is None:
        return _ENDINGS[result.status]
    verdict = "held" if result.held else "not held"
    if result.hold.weight_N == 0.0:
        return f"end: {verdict}"
    return f"end: {verdict} at {result.hold.weight_N:.2g} N of weight"
