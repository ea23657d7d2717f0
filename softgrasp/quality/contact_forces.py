"""Contact forces: friction margin, balance, PCR and PGR.

Potential contact robustness (PCR) and potential grasp robustness (PGR) after Pozzi, Malvezzi and
Prattichizzo, On grasp quality measures: grasp robustness and contact force distribution in
underactuated and compliant robotic hands, IEEE Robotics and Automation Letters 2(1), 2017, in the
form in which SynGrasp computes them: the reciprocal 1/V [N²] of the minimum cost V of hard-finger
contact forces.

The cost is that of Gabiccini, Bicchi, Prattichizzo and Malvezzi (On the role of hand synergies in
the optimal choice of grasping forces, Autonomous Robots 31, 2011): each contact has three limits
σ < 0: fmin − fn, |f| − fmax and |f|/√(1 + µ²) − fn. A limit costs 1/(2σ²) for σ < −k, and above −k
the parabola with the same value, slope and curvature there. V is the sum over all limits, divided
by the number of contacts. It is convex in the forces, so Newton steps find its minimum.
"""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass, replace
from itertools import product
from typing import TypedDict, Unpack

import numpy as np
from numpy.typing import ArrayLike

from softgrasp.errors import DescriptionError
from softgrasp.mechanics.transforms import Array
from softgrasp.quality.inputs import number, numbers
from softgrasp.quality.matrix_measures import (
    RANK_TOLERANCE,
    controllable_internal_forces,
    null_space,
    pair,
    range_space,
)
from softgrasp.quality.stiffness import contact_compliance

SMOOTHINGS = (10.0, 1.0, 0.1, 0.01)
"""Values of k [N] that are solved before the requested one, each from the previous forces."""
MAX_STEPS = 60
"""Maximum number of Newton steps for one k."""
MAX_CONTACTS = 8
"""Maximum number of contacts n whose 3ⁿ states are enumerated."""
CONE_EDGES = 12
"""Edges of the pyramid by which ``can_balance`` replaces a friction cone."""
BALANCED = 1e-6
"""Residual up to which unit forces balance [–]."""
STICKS, SLIPS, DETACHED = 1, 2, 3
KEPT = {STICKS: (0, 1, 2), SLIPS: (0,), DETACHED: ()}
"""Components of the contact force (normal, t1, t2) that each state has."""
LIMITED = {STICKS: (True, True, True), SLIPS: (True, True, False), DETACHED: (False, False, False)}
"""Which of the limits fmin, fmax and friction apply in each state."""


class Options(TypedDict, total=False):
    """Options of ``contact_robustness`` and ``grasp_robustness``; defaults of SynGrasp."""

    wrench: ArrayLike | None
    """External wrench on the object, (6,) [N, N·m]; zero by default."""
    J: ArrayLike | None
    """Hand Jacobian, (3n, m); None where the hand can exert any internal force."""
    joint: ArrayLike | None
    """Joint stiffness Kq, as for ``contact_compliance``; None for rigid joints."""
    synergies: ArrayLike | None
    """Synergy matrix S, joint motions per actuator, (m, z)."""
    min_normal_force: float
    """fmin, smallest normal force, 1 N by default."""
    max_force: float
    """fmax, largest force, 30 N by default."""
    stiffness: float
    """Contact stiffness ks, 1 N/m by default; without effect where the joints are rigid."""
    smoothing: float
    """k of the cost, 1e-3 N by default."""


@dataclass(frozen=True)
class Robustness:
    """A robustness and the contact forces at the minimum cost."""

    value: float
    """1/V [N²]; 0 where no forces satisfy the limits."""
    forces: Array
    """Contact forces (normal, t1, t2) [N], (n, 3); zeros without a solution."""
    states: tuple[int, ...]
    """State of each contact: 1 sticks, 2 has a normal force only, 3 is detached; empty without a
    solution."""
    exact: bool = True
    """Whether all states were tried; otherwise the value is a lower bound."""


@dataclass(frozen=True)
class Limits:
    """Limits and smoothing of the cost."""

    mu: float
    min_force: float
    """fmin, smallest normal force [N]."""
    max_force: float
    """fmax, largest force [N]."""
    smoothing: float
    """k of the cost [N]."""


# Margins of contact forces


def friction_margin(forces: ArrayLike, mu: float, *, torsion: float = 0.0) -> Array:
    """Compute 1 − friction/limit of each contact, (n,): 0 at slip, negative beyond.

    Hard finger 1 − |ft|/(µ fn); soft finger 1 − √((ft/µ)² + (m/γ)²)/fn, the elliptic limit surface
    (Howe and Cutkosky 1996). −inf where the normal force pulls, or where there is friction without
    a normal force; 0 where there is no force.

    Args:
        forces: Contact forces (normal, t1, t2) in contact frames, (n, 3); with the spin moment,
            (n, 4); in the plane (normal, t1), (n, 2) [N, N·m].
        mu: Coefficient of friction, at least 0.
        torsion: γ, maximum spin moment per normal force [m]; required with spin moments.

    Raises:
        DescriptionError: Wrong shapes or numbers, or spin moments without torsion.
    """
    force_array, used = _required_normal_forces(forces, mu, torsion)
    normal = force_array[:, 0]
    with np.errstate(divide="ignore", invalid="ignore"):
        margin = 1.0 - used / normal
    margin[(normal < 0.0) | ((normal == 0.0) & (used > 0.0))] = -np.inf
    margin[(normal == 0.0) & (used == 0.0)] = 0.0
    return np.asarray(margin)


def _required_normal_forces(forces: ArrayLike, mu: float, torsion: float) -> tuple[Array, Array]:
    """Return the forces and the smallest normal forces that their friction requires."""
    force_array = numbers(forces, "forces", (None, None))
    if force_array.shape[1] not in (2, 3, 4):
        raise DescriptionError(
            "expected (normal, t1, t2), with the spin moment or, in the plane, without t2; found "
            f"{force_array.shape[1]} columns",
            field="forces",
        )
    friction, spin = number(mu, "mu", 0.0), number(torsion, "torsion", 0.0)
    if force_array.shape[1] == 4 and spin == 0.0:
        raise DescriptionError(
            "expected a number above 0 for forces with spin moments, found 0", field="torsion"
        )
    tangential = np.linalg.norm(force_array[:, 1:3], axis=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        used = np.where(tangential > 0.0, tangential / friction, 0.0)
        if force_array.shape[1] == 4:
            used = np.hypot(used, force_array[:, 3] / spin)
    return force_array, used


# Robustness


def contact_robustness(G: ArrayLike, mu: float = 0.8, **options: Unpack[Options]) -> Robustness:
    """Compute the potential contact robustness: no contact may slip or detach.

    Defined for grasps that do not resist every wrench too, such as two opposing fingers.

    Args:
        G: Grasp matrix of hard fingers, (6, 3n).
        mu: Coefficient of friction.
        options: Those of ``Options``.

    Raises:
        DescriptionError: Wrong shapes or numbers, no friction, or fmax not above fmin.
    """
    grasp = _check(G, mu, **options)
    return grasp.robustness((STICKS,) * (grasp.G.shape[1] // 3), held=False)


def grasp_robustness(
    G: ArrayLike, mu: float = 0.8, *, exact: bool | None = None, **options: Unpack[Options]
) -> Robustness:
    """Compute the potential grasp robustness: contacts may slip or detach.

    The maximum over all 3ⁿ states of the contacts (sticks, normal force only, detached) that resist
    every motion of the object. Trying all takes seconds for 6 contacts and minutes for 8. Above 8
    contacts, and with ``exact=False``, states are changed one contact at a time, from all sticking
    on, as long as that improves the robustness: a lower bound, at least that of
    ``contact_robustness`` where G has rank 6; 10 contacts take a second, 16 four. Other arguments
    as for ``contact_robustness``.

    Raises:
        DescriptionError: As there, or exact with more than 8 contacts.
    """
    grasp = _check(G, mu, **options)
    count = grasp.G.shape[1] // 3
    if exact is None:
        exact = count <= MAX_CONTACTS
    if not exact:
        return _climb(grasp, count)
    if count > MAX_CONTACTS:
        raise DescriptionError(
            f"expected at most {MAX_CONTACTS} contacts with exact=True, as all 3ⁿ states are "
            f"enumerated; found {count}",
            field="G",
        )
    robustness_by_state = [
        grasp.robustness(states, held=True) for states in product(KEPT, repeat=count)
    ]
    return max(robustness_by_state, key=lambda item: item.value)


def _climb(grasp: _Grasp, count: int) -> Robustness:
    """Search states of contacts for the largest robustness, changing one contact at a time.

    Among states without a solution those whose worst limit is exceeded least are preferred.
    """
    chosen = (STICKS,) * count
    best, excess = grasp.evaluated(chosen, held=True)
    while True:
        neighbours = [
            (*chosen[:contact], state, *chosen[contact + 1 :])
            for contact in range(count)
            for state in KEPT
            if state != chosen[contact]
        ]
        candidates = [(*grasp.evaluated(states, held=True), states) for states in neighbours]
        candidate, violation, states = max(candidates, key=lambda item: (item[0].value, -item[1]))
        if (candidate.value, -violation) <= (best.value, -excess):
            return replace(best, exact=False)
        best, excess, chosen = candidate, violation, states


def pcr(G: ArrayLike, mu: float = 0.8, **options: Unpack[Options]) -> float:
    """Return the potential contact robustness 1/V ≥ 0 [N²]; larger is better.

    Options as for ``contact_robustness``; the defaults (µ 0.8, fmin 1 N, fmax 30 N, ks 1 N/m,
    k 1e-3 N, no load) are those of SynGrasp. 0 where every choice of internal forces lets some
    contact slip.
    """
    return contact_robustness(G, mu, **options).value


def pgr(G: ArrayLike, mu: float = 0.8, **options: Unpack[Options]) -> float:
    """Return the potential grasp robustness 1/V ≥ 0 [N²]; larger is better.

    Options as for ``grasp_robustness``. 0 where no state of the contacts holds the object; at least
    ``pcr`` where G has rank 6. Above 8 contacts it warns that the value is a lower bound.
    """
    robustness = grasp_robustness(G, mu, **options)
    if not robustness.exact:
        warnings.warn(
            f"pgr: the robustness of {np.shape(G)[1] // 3} contacts is a lower bound, as all "
            f"states are tried up to {MAX_CONTACTS} contacts",
            stacklevel=2,
        )
    return robustness.value


def _check(
    G: ArrayLike,
    mu: float,
    *,
    wrench: ArrayLike | None = None,
    J: ArrayLike | None = None,
    joint: ArrayLike | None = None,
    synergies: ArrayLike | None = None,
    min_normal_force: float = 1.0,
    max_force: float = 30.0,
    stiffness: float = 1.0,
    smoothing: float = 1e-3,
) -> _Grasp:
    """Validate the arguments of both robustness functions."""
    grasp = numbers(G, "G", (6, None))
    if grasp.shape[1] % 3 or grasp.shape[1] == 0:
        raise DescriptionError(
            f"expected the grasp matrix of hard fingers, three columns a contact; found "
            f"{grasp.shape[1]}",
            field="G",
        )
    hand = None if J is None else pair(grasp, J)[1]
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


@dataclass(frozen=True)
class _Grasp:
    """Validated arguments of the robustness functions."""

    G: Array
    J: Array | None
    joint: ArrayLike | None
    synergies: ArrayLike | None
    wrench: Array
    stiffness: float
    limits: Limits

    def robustness(self, states: tuple[int, ...], *, held: bool) -> Robustness:
        """Compute the robustness for given contact states; if ``held``, G must keep full rank."""
        return self.evaluated(states, held=held)[0]

    def evaluated(self, states: tuple[int, ...], *, held: bool) -> tuple[Robustness, float]:
        """Compute the robustness and its largest limit σ [N], infinite without balance or rank."""
        rows = [3 * i + part for i, state in enumerate(states) for part in KEPT[state]]
        grasp = self.G[:, rows]
        infeasible = Robustness(0.0, np.zeros((len(states), 3)), ())
        if held and range_space(grasp, float(np.linalg.norm(grasp))).shape[1] < len(self.G):
            return infeasible, np.inf
        basis = self._controllable(grasp, rows)
        lifted = np.linalg.solve(self._compliance(rows), grasp.T)
        balancing = -lifted @ np.linalg.pinv(grasp @ lifted, rcond=RANK_TOLERANCE) @ self.wrench
        unbalanced = np.linalg.norm(grasp @ balancing + self.wrench)
        if unbalanced > 1e-6 * np.linalg.norm(self.wrench):
            return infeasible, np.inf
        # detached and slipping contacts stay in the arrays, with the missing components zero
        particular, free = np.zeros(3 * len(states)), np.zeros((3 * len(states), basis.shape[1]))
        particular[rows], free[rows] = balancing, basis
        counted = np.array([LIMITED[state] for state in states])
        forces, cost, worst = optimal_forces(particular, free, counted, self.limits)
        if worst >= 0.0:
            return infeasible, worst
        return Robustness(1.0 / cost, forces.reshape(-1, 3), states), worst

    def _controllable(self, grasp: Array, rows: list[int]) -> Array:
        """Compute a basis of the internal forces that the hand can exert."""
        if self.J is None:
            return null_space(grasp)
        return controllable_internal_forces(
            grasp, self.J[rows], self._compliance(rows), self.synergies
        )

    def _compliance(self, rows: list[int]) -> Array:
        """Compute the compliance of contacts and joints in series."""
        hand = None if self.J is None else self.J[rows]
        return contact_compliance(self.stiffness, len(rows), hand, self.joint)


# Minimum of the cost


def optimal_forces(
    particular: Array, basis: Array, counted: Array, limits: Limits
) -> tuple[Array, float, float]:
    """Minimize the cost over forces particular + basis·y; return forces, cost and largest σ.

    Args:
        particular: Forces (normal, t1, t2) that balance the load, (3n,) [N].
        basis: Basis of the internal forces that the hand can exert, (3n, i).
        counted: Mask of the limits that apply to each contact, (n, 3).
        limits: Limits of the contacts.
    """
    chosen = np.zeros(basis.shape[1])
    softer = [step for step in SMOOTHINGS if step > limits.smoothing]
    for smoothing in [*softer, limits.smoothing]:
        chosen = _newton(_Cost(particular, basis, counted, limits, smoothing), chosen)
    forces = particular + basis @ chosen
    sigmas = _sigmas(forces.reshape(-1, 3), limits)[0]
    cost = _Cost(particular, basis, counted, limits, limits.smoothing).at(chosen)[0]
    return forces, cost, float(sigmas[counted].max())


def _newton(cost: _Cost, chosen: Array) -> Array:
    """Minimize a convex cost by damped Newton steps."""
    value, slope, curvature = cost.at(chosen)
    for _ in range(MAX_STEPS if len(chosen) else 0):
        ridge = 1e-12 * max(float(np.trace(curvature)), np.finfo(float).tiny)
        step = -np.linalg.solve(curvature + ridge * np.eye(len(chosen)), slope)
        gain, length = float(-slope @ step), 1.0
        if gain <= 1e-14 * value:
            break
        trial = cost.at(chosen + step)
        while trial[0] > value - 1e-4 * length * gain and length > 1e-10:
            length /= 2.0
            trial = cost.at(chosen + length * step)
        if trial[0] >= value:
            break
        chosen, (value, slope, curvature) = chosen + length * step, trial
    return chosen


@dataclass(frozen=True)
class _Cost:
    """Cost of contact forces as a function of the coordinates of the internal forces."""

    particular: Array
    basis: Array
    counted: Array
    limits: Limits
    smoothing: float

    def at(self, chosen: Array) -> tuple[float, Array, Array]:
        """Compute the cost of contact forces, its gradient and its Hessian."""
        forces = (self.particular + self.basis @ chosen).reshape(-1, 3)
        sigmas, gradients, curvatures = _sigmas(forces, self.limits)
        value, first, second = (part * self.counted for part in _barrier(sigmas, self.smoothing))
        count = int(self.counted.any(axis=1).sum())
        slope = np.einsum("ns,nsi->ni", first, gradients)
        curvature = np.einsum("ns,nsi,nsj->nij", second, gradients, gradients)
        curvature += np.einsum("ns,nsij->nij", first, curvatures)
        blocks = self.basis.reshape(len(forces), 3, -1)
        whole = np.einsum("nia,nij,njb->ab", blocks, curvature, blocks, optimize=True)
        return float(value.sum()) / count, self.basis.T @ slope.ravel() / count, whole / count


def _sigmas(forces: Array, limits: Limits) -> tuple[Array, Array, Array]:
    """Compute the limits σ of each contact, (n, 3), with gradients and Hessians in its force."""
    lengths = np.sqrt((forces**2).sum(axis=1)) + 1e-12
    along = forces / lengths[:, None]
    hessian = (np.eye(3) - along[:, :, None] * along[:, None, :]) / lengths[:, None, None]
    cosine, normal = 1.0 / np.sqrt(1.0 + limits.mu**2), forces[:, 0]
    sigmas = np.stack(
        [limits.min_force - normal, lengths - limits.max_force, cosine * lengths - normal], axis=1
    )
    inward = np.broadcast_to([1.0, 0.0, 0.0], forces.shape)
    gradients = np.stack([-inward, along, cosine * along - inward], axis=1)
    return sigmas, gradients, np.stack([0.0 * hessian, hessian, cosine * hessian], axis=1)


def _barrier(sigma: Array, k: float) -> tuple[Array, Array, Array]:
    """Compute the barrier cost of a limit, and its first and second derivatives."""
    inside = sigma < -k
    safe = np.where(inside, sigma, -k)
    # parabola with the value, slope and curvature of 1/(2σ²) at −k
    a, b, c = 1.5 / k**4, 4.0 / k**3, 3.0 / k**2
    return (
        np.where(inside, 0.5 / safe**2, (a * sigma + b) * sigma + c),
        np.where(inside, -1.0 / safe**3, 2.0 * a * sigma + b),
        np.where(inside, 3.0 / safe**4, 2.0 * a),
    )


def can_balance(normals: ArrayLike, friction: float, tolerance: float = 0.0) -> bool:
    """Whether forces in the friction cones of at least two contacts can balance one another.

    Moments are not considered: contacts with a common normal line are not required.

    It is so where zero is a convex combination of the edges of the cones, found by non-negative
    least squares.

    Args:
        normals: Unit normals of the contacts, (n, 3) [–].
        friction: Coefficient of friction [–].
        tolerance: Angle by which every cone is widened [rad].
    """
    from scipy.optimize import nnls  # takes 0.1 s to import

    unit = np.asarray(normals, dtype=float).reshape(-1, 3)
    if len(unit) < 2:
        return False
    half = min(math.atan(friction) + tolerance, math.radians(89.0))
    # of two contacts alone: their cones, inside the pyramids, have a common line
    inside = math.atan(math.tan(half) * math.cos(math.pi / CONE_EDGES))
    if -float((unit @ unit.T).min()) > math.cos(min(2.0 * inside, math.pi)) + BALANCED:
        return True
    edges = np.concatenate([unit, *_cone_edges(unit, half)])
    system = np.vstack([edges.T, np.ones(len(edges))])
    _, residual = nnls(system, np.array([0.0, 0.0, 0.0, 1.0]))
    return bool(residual < BALANCED)


def _cone_edges(normals: Array, half: float) -> list[Array]:
    """Return unit vectors on the friction cones, a list of (n, 3)."""
    helper = np.where(np.abs(normals[:, :1]) < 0.9, [[1.0, 0.0, 0.0]], [[0.0, 1.0, 0.0]])
    first = np.cross(normals, helper)
    first /= np.linalg.norm(first, axis=1, keepdims=True)
    second = np.cross(normals, first)
    angles = np.linspace(0.0, 2.0 * math.pi, CONE_EDGES, endpoint=False)
    return [
        math.cos(half) * normals + math.sin(half) * (math.cos(a) * first + math.sin(a) * second)
        for a in angles
    ]
