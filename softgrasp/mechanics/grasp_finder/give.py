"""How far a held ball sinks, as the servos of the fingers give way under its weight and theirs.

The fingers hold still at their touching points as springs: with the levers l of the hinges between
palm and point, which are held with stiffness k, a point gives C = Σ l·lᵀ / k for a force on it
(K⁻¹ = J·K_q⁻¹·Jᵀ, Salisbury 1980, active stiffness control). Friction is taken to hold.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from softgrasp.mechanics.grasp_finder.hand import Digit
from softgrasp.mechanics.transforms import Array

WEIGHT = 1.0
"""Of the ball [N]."""
GRAVITY = 9.81
"""[m/s²]"""
CONTACT = 1e-5
"""What any touching point gives [m/N]."""


@dataclass(frozen=True, eq=False)
class Hinges:
    """The hinges of a finger that give way, at all steps of a closing motion."""

    axes: Array
    """(j, s, 3)"""
    positions: Array
    """Origins of their links, which lie on the axes, (j, s, 3) [m]."""
    of_actuator: Array
    """1 where a drive holds a hinge, which give way as one, (d, j)."""
    stiffness: Array
    """Of each of those drives, (d,) [N·m/rad]."""
    carries: NDArray[np.bool_]
    """Whether a hinge lies between the palm and a moving link, (j, b)."""
    torques: Array
    """Of the links' own weight, for gravity against each axis of the hand, (d, s, 3) [N·m]."""

    def gives(
        self, points: Array, step: NDArray[np.int64], link: NDArray[np.int64], up: Array
    ) -> tuple[Array, Array]:
        """Compliance of touching points [m/N], (m, 3, 3), and how far they sink alone [m], (m, 3).

        Args:
            points: In the hand's frame [m], (m, 3).
            step: At which they touch, (m,).
            link: Number of the moving link that they are on, (m,).
            up: Unit vector against gravity, (3,).
        """
        arms = points - self.positions[:, step]
        each = _crossed(self.axes[:, step], arms) * self.carries[:, link, None]
        levers = np.einsum("dj,jmi->dmi", self.of_actuator, each)
        deflections = levers / self.stiffness[:, None, None]
        compliance = np.einsum("dmi,dmj->mij", levers, deflections) + CONTACT * np.eye(3)
        return compliance, np.einsum("dmi,dm->mi", deflections, self.torques[:, step] @ up)


def hinges_of(digit: Digit, frames: Mapping[str, Array], moving: list[str]) -> Hinges:
    """The hinges of a finger with a stiffness.

    Args:
        digit: The finger.
        frames: Of all links, (s, 4, 4) each.
        moving: Its links that move and can touch.
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
            if _carried(digit, joint.body, body):
                arm = (frames[body] @ [*center, 1.0])[:, :3] - origins[index]
                # a·(r × (−m·g·u)) = −m·g·(a × r)·u
                moment = -mass * GRAVITY * _crossed(axes[index], arm)
                torques[numbers[joint.actuator]] += moment
    carries = [[_carried(digit, joint.body, body) for body in moving] for joint in hinges]
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


def _carried(digit: Digit, by: str, body: str) -> bool:
    """Whether a link hangs on the joint that moves another one."""
    order = {name: index for index, name in enumerate(digit.bodies)}
    return order.get(by, -1) <= order.get(body, len(order))


def _crossed(one: Array, other: Array) -> Array:
    """Cross products, (..., 3): quicker than numpy's own on small arrays."""
    (a, b, c), (x, y, z) = np.moveaxis(one, -1, 0), np.moveaxis(other, -1, 0)
    return np.stack([b * z - c * y, c * x - a * z, a * y - b * x], axis=-1)


def sunk(
    compliances: Array,
    alone: Array,
    touched: NDArray[np.bool_],
    leans: NDArray[np.bool_],
    up: Array,
) -> Array:
    """How far balls sink [m], (m,): K⁻¹·(weight + Σ Kᵢ·dᵢ) with Kᵢ = Cᵢ⁻¹ and K = Σ Kᵢ.

    Args:
        compliances: Of the touching points [m/N], (m, k, 3, 3).
        alone: How far these sink alone [m], (m, k, 3).
        touched: Which of them are there, (m, k).
        leans: Which balls lean on the palm, which does not give way, (m,).
        up: Unit vector against gravity, (3,).
    """
    stiff = np.linalg.inv(compliances) * touched[..., None, None]
    force = np.einsum("mkij,mkj->mi", stiff, alone) - WEIGHT * up
    whole = stiff.sum(axis=1) + (leans / CONTACT)[:, None, None] * np.eye(3)
    whole += 1e-3 * np.eye(3)  # a ball that nothing holds sinks far, and not infinitely far
    return np.asarray(np.linalg.norm(np.linalg.solve(whole, force[..., None])[..., 0], axis=1))
