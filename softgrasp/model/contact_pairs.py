"""Contacts: every pair of geoms that can touch, with stiffness and damping in SI units.

MuJoCo's stiffness depends on the masses of the two bodies; ``solref`` is set pair by pair so
that normal force over penetration at rest is what was asked (decision 0004).
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from itertools import combinations
from typing import NamedTuple

import mujoco
import numpy as np
from numpy.typing import NDArray

from softgrasp.description.contact import Contact
from softgrasp.description.scene import GraspScene, Solver
from softgrasp.mechanics.contact import direct_solref, implicit_inertia, torsional_coefficient
from softgrasp.mechanics.transforms import Array
from softgrasp.model import names
from softgrasp.model.names import OBJECT, PALM, is_around, is_object
from softgrasp.model.shapes import TOUCHING_GROUPS

HELD_IMPEDANCE = 1e-3
"""Impedance of a pair whose two sides are held in place. The conversion takes the acceleration at
rest for zero; a side that is put where it belongs step by step, instead of being balanced by a
force, has one, and its share of the stiffness is d/(1 − d)."""
NODES = f"{OBJECT}_"
"""How the bodies of a deformable object's nodes are called; they touch nothing by pairs."""
RIGID = 1e-12
"""Inverse mass [1/kg] below which a pair cannot move and makes no contact."""


class Pair(NamedTuple):
    """Two geoms that can touch: of the hand, then of objects, then of what stands around."""

    first: str
    second: str

    @property
    def name(self) -> str:
        """Name of the pair in the model."""
        return f"{self.first}|{self.second}"


def object_pairs(model: mujoco.MjModel, body: str = OBJECT) -> list[Pair]:
    """Every geom of the hand against every geom of an object."""
    object_geoms = _geoms_of(model, body)
    return [
        Pair(hand, object_geom) for _, hand in _hand_geoms(model) for object_geom in object_geoms
    ]


def pairs_of_objects(model: mujoco.MjModel, first: str, second: str) -> list[Pair]:
    """Every geom of one body against every geom of another."""
    others = _geoms_of(model, second)
    return [Pair(one, other) for one in _geoms_of(model, first) for other in others]


def hand_pairs_around(model: mujoco.MjModel, body: str) -> list[Pair]:
    """Every geom of the hand against something that stands around."""
    return [Pair(geom, other) for other in _geoms_of(model, body) for _, geom in _hand_geoms(model)]


def self_pairs(model: mujoco.MjModel, chains: Mapping[str, str]) -> list[Pair]:
    """Geoms of the hand that can touch one another.

    Neighbours along a chain cannot; nor can two links of one soft finger, whose resistance to
    bending is in its springs already.

    Args:
        model: The compiled scene.
        chains: The soft finger of each of its bodies.
    """
    geoms, carriers = _hand_geoms(model), _carriers(model)
    return [
        Pair(first, second)
        for index, (body, first) in enumerate(geoms)
        for other, second in geoms[index + 1 :]
        if body != other
        and not (body in chains and chains[body] == chains.get(other))
        and body != carriers.get(other)
        and other != carriers.get(body)
    ]


def model_pairs(model: mujoco.MjModel) -> list[Pair]:
    """Geoms of a hand's own model that touch one another after MuJoCo's rules and the file.

    That is: ``contype`` and ``conaffinity`` fit, the bodies are neither one behind the other nor
    excluded, or the file names the pair itself.
    """
    geoms = _hand_geoms(model)
    excluded = set(model.exclude_signature.tolist())
    named = {
        frozenset((int(a), int(b))) for a, b in zip(model.pair_geom1, model.pair_geom2, strict=True)
    }
    return [
        Pair(first, second)
        for index, (_, first) in enumerate(geoms)
        for _, second in geoms[index + 1 :]
        for one, other in [(model.geom(first).id, model.geom(second).id)]
        if frozenset((one, other)) in named or _can_collide(model, one, other, excluded)
    ]


def _can_collide(model: mujoco.MjModel, one: int, other: int, excluded: set[int]) -> bool:
    kinds, partners = model.geom_contype, model.geom_conaffinity
    if not (kinds[one] & partners[other] or kinds[other] & partners[one]):
        return False
    bodies = sorted(int(model.geom_bodyid[geom]) for geom in (one, other))
    weld = [int(model.body_weldid[body]) for body in bodies]
    before = [int(model.body_weldid[model.body_parentid[group]]) for group in weld]
    neighbours = weld[0] == weld[1] or weld[0] == before[1] or weld[1] == before[0]
    return not neighbours and (bodies[0] << 16) + bodies[1] not in excluded


def penetration(model: mujoco.MjModel, data: mujoco.MjData, pair: Pair) -> float:
    """How deep two geoms stand in each other [m]; negative or zero where they do not."""
    first, second = (model.geom(name).id for name in pair)
    return -float(mujoco.mj_geomDistance(model, data, first, second, 1e-3, None))


def add_pairs(
    spec: mujoco.MjSpec,
    model: mujoco.MjModel,
    pairs: list[Pair],
    postures: Array,
    contact: Contact,
    solver: Solver,
    *,
    held: bool,
    known: Hashable = None,
) -> None:
    """Add explicit contacts to a spec, converted with the masses of its compiled model.

    Args:
        spec: The model to extend.
        model: The same model, compiled.
        pairs: What can touch.
        postures: Of the closing hand; see ``effective_mass.closing_postures``.
        contact: Stiffness, damping and friction.
        solver: Contact dimension and impedance.
        held: Whether both sides of these pairs are held in place (prescribed joints, fixed object).
        known: What decides the masses, where other models may share them; None where none do.
    """
    inverse = inverse_masses(model, pairs, postures, known)
    if not contact.converted:
        movable = [pair for pair, mobility in zip(pairs, inverse, strict=True) if mobility >= RIGID]
        _add_native_pairs(spec, movable, contact, solver)
        return
    impedance = HELD_IMPEDANCE if held else solver.impedance
    solref = direct_solref(contact.stiffness, contact.damping, inverse, impedance)
    along = solref * [1.0, solver.friction_damping]
    for pair, normal, tangential, mobility in zip(
        pairs, solref.tolist(), along.tolist(), inverse, strict=True
    ):
        if mobility < RIGID:
            continue
        spec.add_pair(
            name=pair.name,
            geomname1=pair.first,
            geomname2=pair.second,
            condim=solver.contact_dimension,
            friction=friction_vector(contact),
            solref=normal,
            solreffriction=tangential,
            solimp=[impedance, impedance, 0.001, 0.5, 2.0],
        )


def _add_native_pairs(
    spec: mujoco.MjSpec, pairs: list[Pair], contact: Contact, solver: Solver
) -> None:
    """Contacts by MuJoCo's own parameters, along the surface as along the normal."""
    for pair in pairs:
        spec.add_pair(
            name=pair.name,
            geomname1=pair.first,
            geomname2=pair.second,
            condim=solver.contact_dimension,
            friction=friction_vector(contact),
            solref=[contact.native.timeconst, contact.native.dampratio],
            solimp=list(contact.native.impedance),
        )


def friction_vector(contact: Contact) -> list[float]:
    """MuJoCo's five friction numbers: two sliding, one torsional, two rolling."""
    sliding, rolling = contact.static_friction, contact.rolling_friction
    return [sliding, sliding, torsion_of(contact), rolling, rolling]


def torsion_of(contact: Contact) -> float:
    """Moment limit about the normal over normal force [m]: given, or that of the soft patch."""
    if contact.model != "soft-finger":
        return contact.torsional_friction
    patch = contact.patch
    return torsional_coefficient(contact.static_friction, patch.radius, patch.pressure)


def _hand_geoms(model: mujoco.MjModel) -> list[tuple[str, str]]:
    touchable = _touchable(model)
    return [pair for pair in touchable if not is_object(pair[0]) and not is_around(pair[0])]


def _geoms_of(model: mujoco.MjModel, body: str) -> list[str]:
    return [geom for owner, geom in _touchable(model) if owner == body]


def _touchable(model: mujoco.MjModel) -> Iterator[tuple[str, str]]:
    """(body, geom) of all that can touch, pictures left out."""
    for index in range(model.ngeom):
        geom = model.geom(index)
        body = model.body(int(geom.bodyid[0])).name
        if body != "world" and not body.startswith(NODES) and geom.group[0] in TOUCHING_GROUPS:
            yield body, geom.name


def _carriers(model: mujoco.MjModel) -> dict[str, str]:
    """The body with geoms, or the palm, right before each body of the hand in its chain.

    Only joints, and rows without a body, lie between the two.
    """
    parents = {}
    for index in range(1, model.nbody):
        body = model.body(index)
        parent = model.body(int(body.parentid[0]))
        while parent.geomnum[0] == 0 and parent.name not in (PALM, "world"):
            parent = model.body(int(parent.parentid[0]))
        if body.geomnum[0] > 0:
            parents[body.name] = parent.name
    return parents


# --------------------
# Which bodies of a scene can touch, and with which contact.


class Touching(NamedTuple):
    """Pairs of geoms that share a contact."""

    pairs: list[Pair]
    requested: Contact
    held: bool
    """Whether both sides are held in place (prescribed joints, a fixed object, surroundings)."""
    by_hand: bool = True
    """Whether one side is the hand; others stay where they are while it closes."""
    switches: bool = False
    """Whether its friction follows slip, where static and dynamic friction differ."""


def with_objects(scene: GraspScene, model: mujoco.MjModel) -> Iterator[Touching]:
    """The hand with every object, then every two objects.

    Of two objects the contact is that of the later one.
    """
    held, bodies = scene.actuation == "prescribed", names.object_bodies(scene)
    mounts = [scene.object_mount, *(placed.mount for placed in scene.objects)]
    for index, body in enumerate(bodies):
        fixed = held and mounts[index] == "fixed"
        yield Touching(object_pairs(model, body), scene.contact_of(index), fixed, switches=True)
    for (_, first), (later, second) in combinations(enumerate(bodies), 2):
        pairs = pairs_of_objects(model, first, second)
        contact = scene.contact_of(later)
        yield Touching(pairs, contact, held=False, by_hand=False, switches=True)


def with_surroundings(scene: GraspScene, model: mujoco.MjModel) -> Iterator[Touching]:
    """Every object, then the hand, with everything that stands around.

    What stands around says how it touches; where it does not, the object does.
    """
    held = scene.actuation == "prescribed"
    for part, around in zip(scene.surroundings, names.surrounding_bodies(scene), strict=True):
        for index, body in enumerate(names.object_bodies(scene)):
            contact = part.contact or scene.contact_of(index)
            pairs = pairs_of_objects(model, body, around)
            yield Touching(pairs, contact, held=False, by_hand=False)
        hand = hand_pairs_around(model, around)
        yield Touching(hand, part.contact or scene.requested_contact, held)


# --------------------
# The inverse mass that MuJoCo's contact law works with, pair by pair.
#
# Without it a stiffness in N/m cannot be asked for (decision 0004). Under the ``discrete``
# integrator
# the engine scales its own estimate by Σ J²/M̂ᵢᵢ over Σ J²/Mᵢᵢ, with J the contact's row of the
# Jacobian and M̂ = M + h·D + h²·K (measured to eight digits). J depends on where and how two
# bodies
# touch, so each pair is looked at in the posture in which the closing hand first reaches the
# object.


POSTURES = 12
"""Postures on the way from open to closed in which each pair is looked at."""
FAR = 1.0
"""Distance up to which two geoms are measured [m]."""


class Touch(NamedTuple):
    """How two geoms are nearest to touching in one posture."""

    distance: float
    posture: int
    points: Array
    """Nearest points of the first and of the second geom in the world, (2, 3) [m]."""


MAX_CACHED = 16
_KNOWN: dict[Hashable, Array] = {}
"""The masses of hands by what decides them: a sweep asks for the same ones with every grasp."""


def inverse_masses(
    model: mujoco.MjModel,
    pairs: Sequence[tuple[str, str]],
    postures: Array,
    known: Hashable = None,
) -> Array:
    """Inverse effective mass of each pair as the engine takes it [1/kg], shape (np,).

    Args:
        model: The compiled scene.
        pairs: Names of two geoms each.
        postures: ``qpos`` on the way from open to closed, (n, nq).
        known: What decides the masses besides the pairs, where other models may share them.
    """
    if known is None:
        return _inverse_masses(model, pairs, postures)
    key = (known, tuple(pairs))
    if key not in _KNOWN:
        while len(_KNOWN) >= MAX_CACHED:
            del _KNOWN[next(iter(_KNOWN))]
        _KNOWN[key] = _inverse_masses(model, pairs, postures)
    return _KNOWN[key]


def _inverse_masses(
    model: mujoco.MjModel, pairs: Sequence[tuple[str, str]], postures: Array
) -> Array:
    geoms = [(model.geom(one).id, model.geom(other).id) for one, other in pairs]
    bodies = model.geom_bodyid[np.array(geoms, dtype=int).reshape(-1, 2)]
    weights = np.asarray(model.body_invweight0[:, 0][bodies].sum(axis=1))
    if model.opt.integrator != mujoco.mjtIntegrator.mjINT_DISCRETE:
        return weights
    return weights * _implicit_ratios(model, geoms, postures)


def closing_postures(model: mujoco.MjModel, scene: GraspScene, start: Array) -> Array:
    """The hand on its way from open to closed with nothing in it, ``qpos`` (n, nq).

    Joints go at their rates to their limits; soft fingers rest under their pressure, without
    weight.
    """
    motion = scene.closing_motion
    times = np.linspace(0.0, motion.time, POSTURES)
    rates, (low, high) = np.array(motion.rates), np.array(motion.limits).T
    targets = np.clip(np.array(motion.start) + times[:, None] * rates, low, high)
    postures = np.tile(start, (POSTURES, 1))
    for row, target in zip(postures, targets.tolist(), strict=True):
        for name, value in scene.hand.posture(target).items():
            row[model.joint(name).qposadr[0]] = value
    rigid = len(scene.hand.actuators) - len(scene.hand.soft_fingers)
    for column, digit in enumerate(scene.hand.soft_fingers, start=rigid):
        about_y = names.soft_joint_names(digit, "y")
        for name, joint in zip(about_y, digit.finger.joints, strict=True):
            bend = joint.pressure_gain / joint.stiffness
            postures[:, model.joint(name).qposadr[0]] = bend * targets[:, column]
    return postures


def _implicit_ratios(model: mujoco.MjModel, geoms: list[tuple[int, int]], postures: Array) -> Array:
    """Σ J²/M̂ᵢᵢ over Σ J²/Mᵢᵢ of each pair where it first touches, (np,)."""
    data = mujoco.MjData(model)
    touches: list[Touch | None] = [None] * len(geoms)
    for index, posture in enumerate(postures):
        data.qpos[:] = posture
        mujoco.mj_kinematics(model, data)
        for pair_index, pair in enumerate(geoms):
            best = touches[pair_index]
            if best is None or best.distance > 0.0:
                touches[pair_index] = _nearer(best, _touch(model, data, pair, index))
    ratios = np.ones(len(geoms))
    for index in sorted({touch.posture for touch in touches if touch is not None}):
        data.qpos[:] = postures[index]
        mujoco.mj_forward(model, data)
        inertia, extra = _inertia_diagonal(model, data), _implicit_inertia(model, data)
        for pair_index, touch in enumerate(touches):
            if touch is not None and touch.posture == index:
                squares = _row(model, data, geoms[pair_index], touch) ** 2
                bare = float((squares / inertia).sum())
                implicit = float((squares / (inertia + extra)).sum())
                ratios[pair_index] = implicit / bare if bare > 0.0 else 1.0
    return ratios


def _touch(
    model: mujoco.MjModel, data: mujoco.MjData, pair: tuple[int, int], posture: int
) -> Touch:
    points = np.zeros(6)
    distance = float(mujoco.mj_geomDistance(model, data, *pair, FAR, points))
    return Touch(distance, posture, points.reshape(2, 3))


def _nearer(best: Touch | None, candidate: Touch) -> Touch:
    """The nearer one; points of geoms that overlap may coincide, so the last ones apart stay."""
    if best is None or candidate.distance >= best.distance:
        return candidate if best is None else best
    if candidate.distance <= 0.0 < best.distance:
        return best._replace(distance=candidate.distance)
    return candidate


def _row(model: mujoco.MjModel, data: mujoco.MjData, pair: tuple[int, int], touch: Touch) -> Array:
    """Row of the Jacobian for the approach of two geoms, (nv,)."""
    displacement = touch.points[1] - touch.points[0]
    length = float(np.linalg.norm(displacement))
    if length == 0.0:  # they touch from the start, or cannot reach each other
        displacement = data.geom_xpos[pair[1]] - data.geom_xpos[pair[0]]
        length = float(np.linalg.norm(displacement)) or 1.0
    rows = []
    for geom, point in zip(pair, touch.points, strict=True):
        jacobian = np.zeros((3, model.nv))
        mujoco.mj_jac(model, data, jacobian, None, point, model.geom_bodyid[geom])
        rows.append(displacement / length @ jacobian)
    return np.asarray(rows[1] - rows[0])


def _inertia_diagonal(model: mujoco.MjModel, data: mujoco.MjData) -> Array:
    """Diagonal of M [kg·m² or kg], (nv,)."""
    full = np.zeros((model.nv, model.nv))
    mujoco.mj_fullM(model, data, full)
    return np.asarray(np.diag(full))


def _implicit_inertia(model: mujoco.MjModel, data: mujoco.MjData) -> Array:
    """What the implicit step adds to each degree of freedom [kg·m² or kg], (nv,).

    A spring of stiffness k along a length l(q) adds k·(∂l/∂qᵢ)²; so do tendons and the actuators
    on them.
    """
    gain, rate = np.zeros(model.nv), np.array(model.dof_damping)
    gain[model.jnt_dofadr] += model.jnt_stiffness
    moments = actuator_moments(model, data)
    for index in np.flatnonzero(~_ends_at_rest(model)).tolist():
        gain -= model.actuator_biasprm[index, 1] * moments[index] ** 2
        rate -= model.actuator_biasprm[index, 2] * moments[index] ** 2
    for index, arm in enumerate(tendon_moments(model, data)):
        gain += model.tendon_stiffness[index] * arm**2
        rate += model.tendon_damping[index] * arm**2
    return implicit_inertia(model.opt.timestep, gain, rate)


def _ends_at_rest(model: mujoco.MjModel) -> NDArray[np.bool_]:
    """Servos that only pull on a tendon, (nu,).

    The engine leaves a servo out where its force is at a limit, as theirs is in a hand that rests.
    """
    pulls = (model.actuator_forcerange[:, 0] == 0.0) & (model.actuator_forcelimited != 0)
    on_tendon = model.actuator_trntype == mujoco.mjtTrn.mjTRN_TENDON
    return np.asarray(pulls & on_tendon, dtype=bool)


def actuator_moments(model: mujoco.MjModel, data: mujoco.MjData) -> Array:
    """Change of each actuator's length with each degree of freedom, (nu, nv) [m or rad]."""
    return _rows(
        model, data.actuator_moment, data.moment_rownnz, data.moment_rowadr, data.moment_colind
    )


def tendon_moments(model: mujoco.MjModel, data: mujoco.MjData) -> Array:
    """Change of each tendon's length with each degree of freedom, (nt, nv) [m or rad]."""
    return _rows(model, data.ten_J, model.ten_J_rownnz, model.ten_J_rowadr, model.ten_J_colind)


def _rows(
    model: mujoco.MjModel, values: Array, counts: Array, addresses: Array, columns: Array
) -> Array:
    """Sparse rows over the degrees of freedom as dense ones, (n, nv)."""
    rows = np.zeros((len(counts), model.nv))
    if rows.size:
        mujoco.mju_sparse2dense(rows, values.ravel(), counts, addresses, columns.ravel())
    return rows
