"""Contacts whose normal force statics leaves open: friction across a finger can stand in for it."""

from __future__ import annotations

import math
from typing import NamedTuple

import mujoco
import numpy as np

from softgrasp.build.scene import compile_model
from softgrasp.mechanics.transforms import Array
from softgrasp.simulation.result import GraspResult
from softgrasp.simulation.told_contacts import BodyContact

RANK = 1e-6
"""Directions in which a body moves this much less than in its best one do not count [–]."""
MIN_ANGLE = math.radians(2.0)
"""Below it friction across has next to no share in a normal force [rad]."""


class NormalForceAmbiguity(NamedTuple):
    """How far a contact presses across what its finger can move."""

    body: str
    angle: float
    """Between the normal and the directions in which the joints move the point [rad]."""
    spread: float
    """Largest normal force over the smallest that the same joint moments balance, minus 1 [–].

    With α the angle, joints feel N·cos α + T·sin α, where T is friction across the finger, of
    either sign and at most µ·N. So N lies between F/(cos α + µ·sin α) and F/(cos α − µ·sin α).
    """

    @property
    def sentence(self) -> str:
        """What it means for a comparison."""
        open_by = f"{100 * self.spread:.0f} %" if math.isfinite(self.spread) else "any amount"
        return (
            f"{self.body} presses {math.degrees(self.angle):.0f}° across the plane in which its "
            f"finger moves; friction across it can carry a part, so that equal joint moments allow "
            f"normal forces that differ by {open_by}"
        )


def ambiguous_contacts(result: GraspResult, bodies: list[str]) -> list[NormalForceAmbiguity]:
    """The bodies whose normal forces at the end do not follow from joint moments alone.

    Args:
        result: A run at rest.
        bodies: Which to look at.
    """
    model = compile_model(result.scene)
    data = mujoco.MjData(model)
    mujoco.mj_resetDataKeyframe(model, data, 0)
    for name, value in result.joints.items():
        data.joint(name).qpos[0] = value
    mujoco.mj_forward(model, data)
    friction = result.contact_model.used.static_friction
    ambiguities = []
    for body in bodies:
        contact = result.contact_of(body)
        if contact.normal is not None and contact.finger:
            angle = _angle(model, data, contact)
            if angle > MIN_ANGLE:
                ambiguities.append(NormalForceAmbiguity(body, angle, _spread(angle, friction)))
    return ambiguities


def _angle(model: mujoco.MjModel, data: mujoco.MjData, contact: BodyContact) -> float:
    """Between a normal and all directions in which the joints can move the point [rad]."""
    linear = np.zeros((3, model.nv))
    body = int(model.body(contact.body).id)
    mujoco.mj_jac(model, data, linear, None, np.array(contact.point_m), body)
    directions, sizes, _ = np.linalg.svd(linear)
    moving: Array = directions[:, : int((sizes > RANK * max(sizes[0], RANK)).sum())]
    along = float(np.linalg.norm(moving.T @ np.array(contact.normal)))
    return math.acos(min(along, 1.0))


def _spread(angle: float, friction: float) -> float:
    product = friction * math.tan(angle)
    return (1.0 + product) / (1.0 - product) - 1.0 if product < 1.0 else math.inf
