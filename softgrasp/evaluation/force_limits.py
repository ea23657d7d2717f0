"""Limit and reached force of every finger at the end of a force-limited closure."""

from __future__ import annotations

import numpy as np

from softgrasp.description.base import Description
from softgrasp.evaluation.outcome import ROUNDING
from softgrasp.mechanics.transforms import Array
from softgrasp.model import names
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
            largest[finger] = max(best, index, key=lambda one: float(late[one]))
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
    return "its joints are at their limits" if _at_target_limits(run, body) else ""


def _moving(run: FinishedRun, body: int) -> list[int]:
    """Return the indices of the actuators that move a body."""
    layout = run.layout
    return [d for d, bodies in enumerate(layout.stops) if body in bodies and layout.increments[d]]


def _at_target_limits(run: FinishedRun, body: int) -> bool:
    """Whether no target of the actuators of a body can go on."""
    layout, targets = run.layout, np.asarray(run.state.targets)
    at_end = (targets <= layout.lower + ROUNDING) | (targets >= layout.upper - ROUNDING)
    return bool(at_end[_moving(run, body)].all())


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
