"""Potential contact and grasp robustness: how far from slip and loss the best forces are.

After Pozzi, Malvezzi and Prattichizzo, On grasp quality measures: grasp robustness and contact
force distribution in underactuated and compliant robotic hands, IEEE Robotics and Automation
Letters 2(1), 2017, in the form in which SynGrasp computes them: the reciprocal of the barrier cost
of ``force_barrier`` at the forces of least cost. Units are [N²]. Hard fingers only.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from typing import TypedDict, Unpack

import numpy as np
from numpy.typing import ArrayLike

from softgrasp.errors import DescriptionError
from softgrasp.mechanics.quality.checks import number, numbers
from softgrasp.mechanics.quality.force_barrier import Limits, best_forces
from softgrasp.mechanics.quality.graspability import (
    RANK_TOLERANCE,
    controllable_internal_forces,
    null_space,
    paired,
    range_space,
)
from softgrasp.mechanics.quality.stiffness import contact_compliance
from softgrasp.mechanics.transforms import Array

MAX_CONTACTS = 8
"""Contacts whose 3ⁿ states are tried."""
STICKS, SLIPS, DETACHED = 1, 2, 3
KEPT = {STICKS: (0, 1, 2), SLIPS: (0,), DETACHED: ()}
"""Parts of the contact force (normal, t1, t2) in each state."""
LIMITED = {
    STICKS: (True, True, True),
    SLIPS: (True, True, False),
    DETACHED: (False, False, False),
}
"""Which of the limits fmin, fmax and friction hold in each state."""


class Options(TypedDict, total=False):
    """Options of ``contact_robustness`` and ``grasp_robustness``."""

    wrench: ArrayLike | None
    J: ArrayLike | None
    joint: ArrayLike | None
    synergies: ArrayLike | None
    min_normal_force: float
    max_force: float
    stiffness: float
    smoothing: float


@dataclass(frozen=True)
class Robustness:
    """A robustness and the forces that have it."""

    value: float
    """1/V [N²]; 0 where no forces keep to the limits."""
    forces: Array
    """Contact forces (normal, t1, t2) [N], (n, 3); zeros where there are none."""
    states: tuple[int, ...]
    """Of each contact: 1 sticks, 2 has a normal force only, 3 is detached; empty without forces."""


@dataclass(frozen=True)
class _Grasp:
    G: Array
    J: Array | None
    joint: ArrayLike | None
    synergies: ArrayLike | None
    wrench: Array
    stiffness: float
    limits: Limits

    def robustness(self, states: tuple[int, ...], *, held: bool) -> Robustness:
        """The best forces with contacts in these states, which have to hold the object or not."""
        rows = [3 * i + part for i, state in enumerate(states) for part in KEPT[state]]
        grasp = self.G[:, rows]
        nothing = Robustness(0.0, np.zeros((len(states), 3)), ())
        if held and range_space(grasp, float(np.linalg.norm(grasp))).shape[1] < len(self.G):
            return nothing
        basis = self._controllable(grasp, rows)
        lifted = np.linalg.solve(self._compliance(rows), grasp.T)
        balancing = -lifted @ np.linalg.pinv(grasp @ lifted, rcond=RANK_TOLERANCE) @ self.wrench
        unbalanced = np.linalg.norm(grasp @ balancing + self.wrench)
        if unbalanced > 1e-6 * np.linalg.norm(self.wrench):
            return nothing
        # a contact that is let go, or slips, stays in the arrays with forces that cannot be chosen
        particular, free = np.zeros(3 * len(states)), np.zeros((3 * len(states), basis.shape[1]))
        particular[rows], free[rows] = balancing, basis
        counted = np.array([LIMITED[state] for state in states])
        forces, cost, worst = best_forces(particular, free, counted, self.limits)
        if worst >= 0.0:
            return nothing
        return Robustness(1.0 / cost, forces.reshape(-1, 3), states)

    def _controllable(self, grasp: Array, rows: list[int]) -> Array:
        if self.J is None:
            return null_space(grasp)
        return controllable_internal_forces(
            grasp, self.J[rows], self._compliance(rows), self.synergies
        )

    def _compliance(self, rows: list[int]) -> Array:
        """Of contacts and joints in series."""
        hand = None if self.J is None else self.J[rows]
        return contact_compliance(self.stiffness, len(rows), hand, self.joint)


def contact_robustness(
    G: ArrayLike,
    mu: float = 0.8,
    *,
    wrench: ArrayLike | None = None,
    J: ArrayLike | None = None,
    joint: ArrayLike | None = None,
    synergies: ArrayLike | None = None,
    min_normal_force: float = 1.0,
    max_force: float = 30.0,
    stiffness: float = 1.0,
    smoothing: float = 1e-3,
) -> Robustness:
    """Potential contact robustness with its forces: no contact may slip or be lost.

    Also of grasps that do not resist every wrench, such as two fingers that squeeze.

    Args:
        G: Grasp matrix of hard fingers, (6, 3n).
        mu: Coefficient of friction.
        wrench: Load on the object from outside [N, N·m], (6,); none by default.
        J: Hand Jacobian, (3n, m); None for a hand that can make any internal force.
        joint: Joint stiffness Kq, as ``contact_compliance``; None for rigid joints.
        synergies: Joint motions of the actuators S, (m, z).
        min_normal_force: fmin, smallest normal force [N].
        max_force: fmax, largest force [N].
        stiffness: ks of contacts [N/m]; with rigid joints it does not matter.
        smoothing: k of the barrier [N].

    Raises:
        DescriptionError: Wrong shapes or numbers; forces without friction, or fmax not above fmin.
    """
    grasp = _checked(
        G, mu, wrench, J, joint, synergies, min_normal_force, max_force, stiffness, smoothing
    )
    return grasp.robustness((STICKS,) * (grasp.G.shape[1] // 3), held=False)


def grasp_robustness(
    G: ArrayLike,
    mu: float = 0.8,
    *,
    wrench: ArrayLike | None = None,
    J: ArrayLike | None = None,
    joint: ArrayLike | None = None,
    synergies: ArrayLike | None = None,
    min_normal_force: float = 1.0,
    max_force: float = 30.0,
    stiffness: float = 1.0,
    smoothing: float = 1e-3,
) -> Robustness:
    """Potential grasp robustness with its forces: contacts may slip or detach.

    The best over all 3ⁿ states of contacts (sticks, normal force only, detached) that still resist
    each motion of the object: seconds for 6 contacts, minutes for 8. Arguments and errors as
    ``contact_robustness``.

    Raises:
        DescriptionError: As there; more than 8 contacts.
    """
    grasp = _checked(
        G, mu, wrench, J, joint, synergies, min_normal_force, max_force, stiffness, smoothing
    )
    count = grasp.G.shape[1] // 3
    if count > MAX_CONTACTS:
        raise DescriptionError(
            f"expected at most {MAX_CONTACTS} contacts, as 3 to their number states are tried; "
            f"found {count}",
            field="G",
        )
    robustness_by_state = [
        grasp.robustness(states, held=True) for states in product(KEPT, repeat=count)
    ]
    return max(robustness_by_state, key=lambda one: one.value)


def pcr(G: ArrayLike, mu: float = 0.8, **options: Unpack[Options]) -> float:
    """Potential contact robustness [N²], 1/V ≥ 0, larger is better; see ``contact_robustness``.

    With no load, µ 0.8, fmin 1 N, fmax 30 N, ks 1 N/m and k 1e-3 N as SynGrasp. 0 where no
    internal forces keep all contacts from slipping.
    """
    return contact_robustness(G, mu, **options).value


def pgr(G: ArrayLike, mu: float = 0.8, **options: Unpack[Options]) -> float:
    """Potential grasp robustness [N²], 1/V ≥ 0, larger is better; see ``grasp_robustness``.

    0 where no state of the contacts holds the object. Not below ``pcr`` where G has rank 6.
    """
    return grasp_robustness(G, mu, **options).value


def _checked(
    G: ArrayLike,
    mu: float,
    wrench: ArrayLike | None,
    J: ArrayLike | None,
    joint: ArrayLike | None,
    synergies: ArrayLike | None,
    min_normal_force: float,
    max_force: float,
    stiffness: float,
    smoothing: float,
) -> _Grasp:
    grasp = numbers(G, "G", (6, None))
    if grasp.shape[1] % 3 or grasp.shape[1] == 0:
        raise DescriptionError(
            f"expected the grasp matrix of hard fingers, three columns a contact; found "
            f"{grasp.shape[1]}",
            field="G",
        )
    hand = None if J is None else paired(grasp, J)[1]
    for name, value in (("joint", joint), ("synergies", synergies)):
        if hand is None and value is not None:
            raise DescriptionError(f"expected J with {name}, found none", field="J")
    limits = Limits(
        number(mu, "mu", 0.0, above=True),
        number(min_normal_force, "min_normal_force", 0.0),
        number(max_force, "max_force", min_normal_force, above=True),
        number(smoothing, "smoothing", 0.0, above=True),
    )
    load = np.zeros(6) if wrench is None else numbers(wrench, "wrench", (6,))
    ks = number(stiffness, "stiffness", 0.0, above=True)
    return _Grasp(grasp, hand, joint, synergies, load, ks, limits)
