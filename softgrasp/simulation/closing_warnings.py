"""What a user should know of a hand that has not closed as it was asked to."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from softgrasp.mechanics.transforms import Array
from softgrasp.simulation.finished_run import FinishedRun

LONG = 50
"""A touch that lasts this many times the samples that establish contact, and does not establish it,
is told."""

Flags = NDArray[np.bool_]


def closing_warnings(run: FinishedRun, forces: Array) -> tuple[str, ...]:
    """What is said of touches that are no contact, and of forces that were asked for and not met.

    Args:
        run: The run, at its own end.
        forces: Normal force of each body at every control sample [N], shape (T, nb).
    """
    rows = run.recording.rows if run.hold_from is None else run.hold_from + 1
    inside = run.recording.in_contact[:rows].astype(bool)
    told = _light_touch(run, forces[:rows], inside)
    told += _lost_grip(run, inside) or _missed_force(run, forces[:rows], inside)
    return told


def _light_touch(run: FinishedRun, forces: Array, inside: Flags) -> tuple[str, ...]:
    """The drive that has waited longest for a touch to become a contact, where it was long."""
    layout = run.layout
    waits = {}
    for stops, increment in zip(layout.stops, layout.increments, strict=True):
        bodies = list(stops)
        if bodies and increment:
            touching = (forces[:, bodies] > 0.0) & ~inside[:, bodies].any(axis=1, keepdims=True)
            waits |= dict(zip(bodies, touching.sum(axis=0).tolist(), strict=True))
    body = max(waits, key=lambda index: waits[index], default=-1)
    if body < 0 or layout.feels or waits[body] <= LONG * layout.samples:
        return ()
    own = forces[:, body][(forces[:, body] > 0.0) & ~inside[:, body]]
    return (
        f"{layout.bodies[body]} touched the object for "
        f"{waits[body] * layout.control_period:.3g} s in which no contact was established: half of "
        f"its forces were below {np.median(own):.2g} N, and contact takes {layout.samples} samples "
        f"in a row above {layout.threshold:g} N; lower closure.threshold or closure.samples, or "
        "close with other closure.rates",
    )


def _lost_grip(run: FinishedRun, inside: Flags) -> tuple[str, ...]:
    """When a hand that squeezes has lost the object; empty where it has not."""
    asked, held = run.layout.grip_force, inside.any(axis=1)
    if asked is None or held[-1] or not held.any():
        return ()
    row = int(np.flatnonzero(held)[-1])
    return (
        f"contact was established, and lost at {run.recording.time[row]:.3f} s before the fingers "
        f"pressed with the {asked:g} N asked for: the object slid out or was pushed away; try "
        "another closure.force, the other grasp, another place of the object, or lower "
        "closure.rates",
    )


def _missed_force(run: FinishedRun, forces: Array, inside: Flags) -> tuple[str, ...]:
    """Which drives that touch have ended their closure below the force that was asked for."""
    layout = run.layout
    if layout.grip_force is None:
        return ()
    late = slice(-layout.samples, None)
    least = {}
    for stops, increment in zip(layout.stops, layout.increments, strict=True):
        bodies = list(stops)
        if not (bodies and increment and inside[-1, bodies].any()):
            continue
        # as the law has it: a later phalanx that presses hard enough stops a joint, too
        best = forces[late, bodies].mean(axis=0)
        if best.max() < layout.grip_force:
            least[layout.bodies[bodies[int(best.argmax())]]] = float(best.max())
    if not least:
        return ()
    worst = min(least, key=lambda body: least[body])
    control = run.recording.control[: len(forces)]
    if (control[-1] != control[-2:][0]).any():
        why = "time ran out while joints were still squeezing; raise closure.squeeze_share"
    else:
        why = "their joints are at their limits; ask for a lower closure.force"
    others = f" and {len(least) - 1} more" if len(least) > 1 else ""
    return (
        f"{worst}{others} pressed with less than the {layout.grip_force:g} N asked for when the "
        f"closure ended, {worst} with {least[worst]:.3g} N: {why}, or try the other grasp",
    )
