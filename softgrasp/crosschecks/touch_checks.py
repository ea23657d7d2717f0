"""What is compared of contacts: which bodies touch, and when they began to."""

from __future__ import annotations

import math
from collections.abc import Mapping

from softgrasp.crosschecks.finding import Finding, farthest
from softgrasp.crosschecks.grasp_runs import GraspRuns
from softgrasp.crosschecks.rest_forces import bodies_in_contact

Times = Mapping[str, Mapping[str, float]]
"""By backend and body [s]."""
NOTHING = "nothing touched"


def contacts(runs: GraspRuns) -> Finding:
    """Which bodies are in contact at rest."""
    bodies = {name: set(bodies_in_contact(result)) for name, result in runs.resting.items()}
    first, *others = bodies
    worst, largest = farthest({name: float(len(bodies[name] ^ bodies[first])) for name in others})
    return Finding(
        name="contacts",
        quantity="Bodies in contact at rest",
        unit="",
        values={name: ", ".join(sorted(touching)) or "none" for name, touching in bodies.items()},
        difference=largest,
        difference_unit="bodies",
        tolerance=0.0,
        worst=worst if largest else "",
    )


def touch_times(runs: GraspRuns, samples: float) -> list[Finding]:
    """When bodies first touched the object, and when their contact was established."""
    touched = {
        name: {c.body: c.first_touch_s for c in result.contacts if c.first_touch_s is not None}
        for name, result in runs.resting.items()
    }
    stopped = {
        name: {c.body: c.established_s[0] for c in result.contacts if c.established_s}
        for name, result in runs.resting.items()
    }
    period = runs.scene.control_period
    nothing = "no contact was established" if any(touched.values()) else NOTHING
    return [first_touch(touched, period, samples), established(stopped, period, samples, nothing)]


def first_touch(times: Times, period: float, samples: float) -> Finding:
    """The body whose first touches differ most, of those that touch in all engines.

    What brushes the object in one engine may just miss it in another; that is told.

    Args:
        times: First touches.
        period: Of the control samples [s].
        samples: How far they may differ.
    """
    shared = [body for body in _bodies(times) if not _partly(times, body)]
    compared = shared or _bodies(times)
    note = "" if compared else NOTHING
    return _times(
        "first_touch", "First touch", times, _gaps(times, compared, period), samples, note
    )


def established(times: Times, period: float, samples: float, nothing: str) -> Finding:
    """The body whose established contacts differ most; one without, in some engine, is beyond.

    Args:
        times: When contacts were first established.
        period: Of the control samples [s].
        samples: How far they may differ.
        nothing: The remark where there are none at all.
    """
    bodies = _bodies(times)
    note = "contact that is established stops the joints of a body" if bodies else nothing
    gaps = _gaps(times, bodies, period)
    return _times("stop", "Established contact", times, gaps, samples, note)


def _times(
    name: str,
    quantity: str,
    times: Times,
    gaps: Mapping[tuple[str, str], float],
    samples: float,
    note: str,
) -> Finding:
    (worst, body), largest = farthest(gaps) if gaps else (("", ""), 0.0)
    notes = [note, *(_alone(times, one) for one in _bodies(times) if _partly(times, one))]
    return Finding(
        name=name,
        quantity=f"{quantity}{f' of {body}' if body else ''}",
        unit="s",
        values={engine: body_times.get(body, "none") for engine, body_times in times.items()},
        difference=round(largest, 6),
        difference_unit="samples",
        tolerance=samples,
        worst=worst if largest else "",
        note="; ".join(filter(None, notes)),
    )


def _bodies(times: Times) -> list[str]:
    return sorted(set().union(*times.values()))


def _partly(times: Times, body: str) -> bool:
    """Whether some engines have a time of a body and others have none."""
    return not all(body in body_times for body_times in times.values())


def _alone(times: Times, body: str) -> str:
    """Which engines have a time of a body, and which have none."""
    has = [name for name, body_times in times.items() if body in body_times]
    lacks = [name for name in times if name not in has]
    return f"{body} in {' and '.join(has)}, not in {' and '.join(lacks)}"


def _gaps(times: Times, bodies: list[str], period: float) -> dict[tuple[str, str], float]:
    """How far others are from the first engine [samples]; NaN where one of the two has no time."""
    first, *others = times
    gaps = {}
    for body in bodies:
        for name in others:
            mine, its = times[name].get(body), times[first].get(body)
            if mine is not None and its is not None:
                gaps[name, body] = abs(mine - its) / period
            else:
                gaps[name, body] = 0.0 if mine is its else math.nan
    return gaps
