"""Compliance of a hand that holds a sphere, and the displacement of the sphere by its weight.

The fingers rest with their contact points on the ball as springs. With the levers l of the hinges
between palm and contact point, held with stiffness k, a point has the compliance C = Σ l·lᵀ / k
(K⁻¹ = J·K_q⁻¹·Jᵀ: Salisbury 1980, active stiffness control). Contacts do not slip.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from softgrasp.grasp_synthesis.hand_model import Digit
from softgrasp.mechanics.transforms import Array

WEIGHT = 1.0
"""Weight of the ball [N]."""
GRAVITY = 9.81
"""Gravitational acceleration [m/s²]."""
CONTACT = 1e-5
"""Compliance of the contact itself [m/N]."""


@dataclass(frozen=True, eq=False)
class Hinges:
    """Hinges of a finger with finite stiffness at all steps s of a closing motion."""

    axes: Array
    """Unit vectors along the j hinges, (j, s, 3)."""
    positions: Array
    """Points on the axes, the origins of their links, (j, s, 3) [m]."""
    of_actuator: Array
    """1 where actuator d moves hinge j; hinges of one actuator yield together, (d, j)."""
    stiffness: Array
    """Stiffness of each actuator, (d,) [N·m/rad]."""
    carries: NDArray[np.bool_]
    """Whether a hinge is between the palm and a moving link b, (j, b)."""
    torques: Array
    """Torques of the links' weight for gravity against each axis of the hand, (d, s, 3) [N·m]."""

    def compliance(
        self, points: Array, step: NDArray[np.int64], link: NDArray[np.int64], up: Array
    ) -> tuple[Array, Array]:
        """Compute the compliance of contact points, (m, 3, 3) [m/N], and their sag, (m, 3) [m].

        Args:
            points: Contact points, (m, 3) [m], hand frame.
            step: Step of each contact, (m,).
            link: Index of the moving link that each point is on, (m,).
            up: Unit vector against gravity, (3,).
        """
        arms = points - self.positions[:, step]
        each = _cross(self.axes[:, step], arms) * self.carries[:, link, None]
        levers = np.einsum("dj,jmi->dmi", self.of_actuator, each)
        deflections = levers / self.stiffness[:, None, None]
        compliance = np.einsum("dmi,dmj->mij", levers, deflections) + CONTACT * np.eye(3)
        return compliance, np.einsum("dmi,dm->mi", deflections, self.torques[:, step] @ up)


def hinges_of(digit: Digit, frames: Mapping[str, Array], moving: list[str]) -> Hinges:
    """Return the hinges of a finger that have a finite stiffness.

    Args:
        digit: The finger.
        frames: Frames of all links at s steps, (s, 4, 4) each.
        moving: Names of its links that move and have a surface.
    """
    hinges = [joint for joint in digit.joints if joint.axis.any() and np.isfinite(joint.stiffness)]
    steps = len(frames[digit.tip_body])
    axes = np.array([frames[j.body][:, :3, :3] @ j.axis for j in hinges]).reshape(-1, steps, 3)
    origins = np.array([frames[j.body][:, :3, 3] for j in hinges]).reshape(-1, steps, 3)
    numbers = {actuator: n for n, actuator in enumerate(dict.fromkeys(j.actuator for j in hinges))}
    stiffness = np.ones(len(numbers))
    torques = np.zeros((len(numbers), steps, 3))
    for index, joint in reversed(list(enumerate(hinges))):
        stiffness[numbers[joint.actuator]] = joint.stiffness
        for body, mass, center in digit.weights:
            if _carry(digit, joint.body, body):
                arm = (frames[body] @ [*center, 1.0])[:, :3] - origins[index]
                # a·(r × (−m·g·u)) = −m·g·(a × r)·u
                moment = -mass * GRAVITY * _cross(axes[index], arm)
                torques[numbers[joint.actuator]] += moment
    carries = [[_carry(digit, joint.body, body) for body in moving] for joint in hinges]
    return Hinges(
        axes=axes,
        positions=origins,
        of_actuator=np.array([[float(j.actuator == d) for j in hinges] for d in numbers]).reshape(
            len(numbers), len(hinges)
        ),
        stiffness=stiffness,
        carries=np.array(carries, dtype=bool).reshape(len(hinges), len(moving)),
        torques=torques,
    )


def sink_distances(
    compliances: Array,
    sag: Array,
    touched: NDArray[np.bool_],
    supported: NDArray[np.bool_],
    up: Array,
) -> Array:
    """Compute sphere displacements, K⁻¹·(weight + Σ Kᵢ·dᵢ), Kᵢ = Cᵢ⁻¹, K = Σ Kᵢ, (m,) [m].

    Args:
        compliances: Compliances Cᵢ of the contact points, (m, k, 3, 3) [m/N].
        sag: Displacements dᵢ of the contact points by the weight of the fingers, (m, k, 3) [m].
        touched: Which contact points exist, (m, k).
        supported: Which balls rest on the palm, which is rigid, (m,).
        up: Unit vector against gravity, (3,).
    """
    try:
        stiff = np.linalg.inv(compliances)
    except np.linalg.LinAlgError:  # a stiff servo may leave a direction without compliance
        stiff = np.linalg.pinv(compliances, hermitian=True)
    stiff = stiff * touched[..., None, None]
    force = np.einsum("mkij,mkj->mi", stiff, sag) - WEIGHT * up
    whole = stiff.sum(axis=1) + (supported / CONTACT)[:, None, None] * np.eye(3)
    whole += 1e-3 * np.eye(3)  # keeps the displacement of a ball without contacts finite
    return np.asarray(np.linalg.norm(np.linalg.solve(whole, force[..., None])[..., 0], axis=1))


def _carry(digit: Digit, by: str, body: str) -> bool:
    """Return whether a joint (named by the link it moves) moves a link."""
    order = {name: index for index, name in enumerate(digit.bodies)}
    return order.get(by, -1) <= order.get(body, len(order))


def _cross(one: Array, other: Array) -> Array:
    """Compute cross products, (..., 3), faster than ``numpy.cross`` on small arrays."""
    (a, b, c), (x, y, z) = np.moveaxis(one, -1, 0), np.moveaxis(other, -1, 0)
    return np.stack([b * z - c * y, c * x - a * z, a * y - b * x], axis=-1)
