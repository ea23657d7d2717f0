"""What is compared of contacts: which bodies touch, and when they began to."""

from __future__ import annotations

import math

from softgrasp.crosschecks.finding import Finding, farthest
from softgrasp.crosschecks.grasp_runs import GraspRuns
from softgrasp.crosschecks.rest_forces import bodies_in_contact


def contacts(runs: GraspRuns) -> Finding:
    """Which bodies are in contact at rest."""
    bodies = {name: set(bodies_in_contact(result)) for name, result in runs.resting.items()}
    first, *others = bodies
    worst, most = farthest({name: float(len(bodies[name] ^ bodies[first])) for name in others})
    return Finding(
        name="contacts",
        quantity="Bodies in contact at rest",
        unit="",
        values={name: ", ".join(sorted(found)) or "none" for name, found in bodies.items()},
        difference=most,
        difference_unit="bodies",
        tolerance=0.0,
        worst=worst if most else "",
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
    told = "contact that is established stops the joints of a body"
    return [
        _times("first_touch", "First touch", touched, runs, samples, ""),
        _times("stop", "Established contact", stopped, runs, samples, told),
    ]


def _times(
    name: str,
    quantity: str,
    times: dict[str, dict[str, float]],
    runs: GraspRuns,
    samples: float,
    note: str,
) -> Finding:
    """The body whose times differ most, of those that all engines saw."""
    first, *others = times
    period = runs.scene.control_period
    seen = [body for body in times[first] if all(body in times[other] for other in others)]
    unseen = sorted({body for told in times.values() for body in told} - set(seen))
    apart = {
        (other, body): abs(times[other][body] - times[first][body]) / period
        for other in others
        for body in seen
    }
    (worst, body), most = max(apart.items(), key=lambda one: one[1], default=(("", ""), math.nan))
    notes = [note] if note else []
    if unseen:
        notes.append(f"not in all engines: {', '.join(unseen)}")
    return Finding(
        name=name,
        quantity=f"{quantity}{f' of {body}' if body else ''}",
        unit="s",
        values={engine: told[body] for engine, told in times.items()} if body else {},
        difference=round(most, 6),
        difference_unit="samples",
        tolerance=samples,
        worst=worst if most else "",
        note="; ".join(notes),
    )
