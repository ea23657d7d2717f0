"""Contact pairs: which geoms can touch, with which stiffness, damping and friction.

MuJoCo's stiffness depends on the masses of the two bodies. ``solref`` is set pair by pair such that
the normal force over penetration at rest is the described stiffness (decision 0004); the conversion
uses the inverse masses of ``effective_mass.py``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import combinations
from typing import NamedTuple

import mujoco
from numpy.typing import ArrayLike

from softgrasp.description.contact import Contact
from softgrasp.description.scene import GraspScene
from softgrasp.mechanics.contact_stiffness import (
    direct_solref,
    explicit_damping,
    friction_rate,
    torsional_coefficient,
)
from softgrasp.mechanics.transforms import Array
from softgrasp.model import names
from softgrasp.model.effective_mass import inverse_masses
from softgrasp.model.names import OBJECT, PALM, is_around, is_object
from softgrasp.model.shapes import TOUCHING_GROUPS

NODES = f"{OBJECT}_"
"""Prefix of the bodies of the nodes of a deformable object, which have no pairs."""
RIGID = 1e-12
"""Inverse mass below which a pair cannot move and has no contact [1/kg]."""


class Pair(NamedTuple):
    """Two geoms that can touch, in the order hand, objects, surroundings."""

    first: str
    second: str

    @property
    def name(self) -> str:
        """Name of the pair in the model."""
        return f"{self.first}|{self.second}"


class ContactGroup(NamedTuple):
    """Pairs of geoms with a common contact."""

    pairs: list[Pair]
    requested: Contact
    """Contact as described."""
    by_hand: bool = True
    """Whether one side is the hand, which moves while it closes."""
    switches: bool = False
    """Whether friction switches between static and dynamic with slip."""


# Contacts of a scene


def with_objects(scene: GraspScene, model: mujoco.MjModel) -> Iterator[ContactGroup]:
    """Yield the contacts of the hand with every object, then of every two objects.

    Two objects have the contact of the later one.
    """
    bodies = names.object_bodies(scene)
    for index, body in enumerate(bodies):
        group = ContactGroup(object_pairs(model, body), scene.contact_of(index), switches=True)
        yield from _by_geom(group, scene.geom_contacts(index))
    for (_, first), (later, second) in combinations(enumerate(bodies), 2):
        pairs = pairs_of_objects(model, first, second)
        contact = scene.contact_of(later)
        yield ContactGroup(pairs, contact, by_hand=False, switches=True)


def with_surroundings(scene: GraspScene, model: mujoco.MjModel) -> Iterator[ContactGroup]:
    """Yield the contacts of every object, then of the hand, with all surroundings.

    A field that the surrounding body does not specify is that of the object.
    """
    for part, around in zip(scene.surroundings, names.surrounding_bodies(scene), strict=True):
        for index, body in enumerate(names.object_bodies(scene)):
            contact = scene.contact_of(index, part)
            pairs = pairs_of_objects(model, body, around)
            yield ContactGroup(pairs, contact, by_hand=False)
        hand = hand_pairs_around(model, around)
        group = ContactGroup(hand, scene.contact_of(0, part))
        yield from _by_geom(group, scene.geom_contacts(0, part))


def _by_geom(group: ContactGroup, contacts: Mapping[str, Contact]) -> Iterator[ContactGroup]:
    """Split a group by the contacts of geoms that have one of their own."""
    if not contacts:
        yield group
        return
    kinds: dict[Contact, list[Pair]] = {}
    for pair in group.pairs:
        of_geom = (contacts[geom] for geom in pair if geom in contacts)
        kinds.setdefault(next(of_geom, group.requested), []).append(pair)
    for contact, pairs in kinds.items():
        yield group._replace(pairs=pairs, requested=contact)


class PairParameters(NamedTuple):
    """A pair with its contact in MuJoCo's parameters."""

    pair: Pair
    condim: int
    friction: list[float]
    solref: list[float]
    solreffriction: list[float]
    solimp: list[float]
    fine: list[list[float]]
    """``solref`` and ``solreffriction`` at each fine time step, (nf, 4)."""


def pair_parameters(
    model: mujoco.MjModel,
    pairs: list[Pair],
    postures: Array,
    contact: Contact,
    scene: GraspScene,
    *,
    fine_steps: Sequence[float] = (),
) -> Iterator[PairParameters]:
    """Yield the parameters of the pairs that can move, converted with the masses of their model.

    Args:
        model: The scene without pairs, compiled.
        pairs: Pairs of geoms.
        postures: Postures of the closing hand, as of ``closing_postures``.
        contact: Stiffness, damping and friction.
        scene: The scene, for its solver.
        fine_steps: Further time steps for which stiffness and damping are converted [s].
    """
    solver, impedance, timestep = scene.solver, scene.impedance, float(model.opt.timestep)
    steps = [timestep, *fine_steps]
    inverse = inverse_masses(model, pairs, postures, steps)
    sliding, rolling = contact.static_friction, contact.rolling_friction
    friction = [sliding, sliding, torsion_of(contact), rolling, rolling]
    common = (solver.contact_dimension, friction)
    if not contact.converted:  # the same native parameters in normal and tangential direction
        native = contact.native
        solref, solimp = [native.timeconst, native.dampratio], list(native.impedance)
        for pair, mobility in zip(pairs, inverse[0], strict=True):
            if mobility >= RIGID:
                yield PairParameters(pair, *common, solref, [0.0, 0.0], solimp, [])
        return
    normal, rates = [], []
    for step, masses in zip(steps, inverse, strict=True):
        damping: ArrayLike = contact.damping
        if model.opt.integrator == mujoco.mjtIntegrator.mjINT_DISCRETE:
            damping = explicit_damping(contact.stiffness, damping, step)
        normal.append(direct_solref(contact.stiffness, damping, masses, impedance).tolist())
        rate = solver.friction_rate or friction_rate(contact.stiffness, contact.damping, step)
        rates.append([0.0, float(-rate * impedance)])
    solimp = [impedance, impedance, 0.001, 0.5, 2.0]
    for index, (pair, mobility) in enumerate(zip(pairs, inverse[0], strict=True)):
        if mobility >= RIGID:
            fine = [[*normal[k][index], *rates[k]] for k in range(1, len(steps))]
            yield PairParameters(pair, *common, normal[0][index], rates[0], solimp, fine)


def add_pairs(spec: mujoco.MjSpec, parameters: Iterable[PairParameters]) -> None:
    """Add explicit contact pairs to a spec."""
    for pair, condim, friction, solref, solreffriction, solimp, _ in parameters:
        spec.add_pair(
            name=pair.name,
            geomname1=pair.first,
            geomname2=pair.second,
            condim=condim,
            friction=friction,
            solref=solref,
            solreffriction=solreffriction,
            solimp=solimp,
        )


def torsion_of(contact: Contact) -> float:
    """Return the maximum spin moment per normal force [m], described or of the contact patch."""
    if contact.model != "soft-finger":
        return contact.torsional_friction
    patch = contact.patch
    return float(torsional_coefficient(contact.static_friction, patch.radius, patch.pressure))


def penetration(model: mujoco.MjModel, data: mujoco.MjData, pair: Pair) -> float:
    """Compute the penetration of two geoms [m]; negative or zero without overlap."""
    first, second = (model.geom(name).id for name in pair)
    return -float(mujoco.mj_geomDistance(model, data, first, second, 1e-3, None))


# Pairs of geoms


def object_pairs(model: mujoco.MjModel, body: str = OBJECT) -> list[Pair]:
    """Return the pairs of every geom of the hand with every geom of an object."""
    object_geoms = _geoms_of(model, body)
    return [
        Pair(hand, object_geom) for _, hand in _hand_geoms(model) for object_geom in object_geoms
    ]


def pairs_of_objects(model: mujoco.MjModel, first: str, second: str) -> list[Pair]:
    """Return the pairs of every geom of one body with every geom of another."""
    others = _geoms_of(model, second)
    return [Pair(item, other) for item in _geoms_of(model, first) for other in others]


def hand_pairs_around(model: mujoco.MjModel, body: str) -> list[Pair]:
    """Return the pairs of every geom of the hand with the geoms of a surrounding body."""
    return [Pair(geom, other) for other in _geoms_of(model, body) for _, geom in _hand_geoms(model)]


def self_pairs(model: mujoco.MjModel, chains: Mapping[str, str]) -> list[Pair]:
    """Return the pairs of geoms of the hand that can touch each other.

    Neighbours along a chain cannot, nor can two links of one soft finger, whose resistance to
    bending is in its springs already.

    Args:
        model: The compiled scene.
        chains: Name of the soft finger of each body of soft fingers.
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
    """Return the pairs of geoms of an attached hand model that can touch each other.

    As MuJoCo decides it: ``contype`` and ``conaffinity`` match and the bodies are neither parent
    and child nor excluded, or the file has an explicit pair.
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
        for item, other in [(model.geom(first).id, model.geom(second).id)]
        if frozenset((item, other)) in named or _can_collide(model, item, other, excluded)
    ]


def _can_collide(model: mujoco.MjModel, first: int, second: int, excluded: set[int]) -> bool:
    """Whether MuJoCo would check two geoms for collision."""
    kinds, partners = model.geom_contype, model.geom_conaffinity
    if not (kinds[first] & partners[second] or kinds[second] & partners[first]):
        return False
    bodies = sorted(int(model.geom_bodyid[geom]) for geom in (first, second))
    weld = [int(model.body_weldid[body]) for body in bodies]
    before = [int(model.body_weldid[model.body_parentid[group]]) for group in weld]
    neighbours = weld[0] == weld[1] or weld[0] == before[1] or weld[1] == before[0]
    return not neighbours and (bodies[0] << 16) + bodies[1] not in excluded


def _hand_geoms(model: mujoco.MjModel) -> list[tuple[str, str]]:
    """Return (body, geom) of all geoms of the hand that can touch."""
    return [pair for pair in _touchable(model) if not (is_object(pair[0]) or is_around(pair[0]))]


def _geoms_of(model: mujoco.MjModel, body: str) -> list[str]:
    """Return the geoms of a body that can touch."""
    return [geom for owner, geom in _touchable(model) if owner == body]


def _touchable(model: mujoco.MjModel) -> Iterator[tuple[str, str]]:
    """Yield (body, geom) of all geoms that can touch, without visual geoms."""
    for index in range(model.ngeom):
        geom = model.geom(index)
        body = model.body(int(geom.bodyid[0])).name
        if body != "world" and not body.startswith(NODES) and geom.group[0] in TOUCHING_GROUPS:
            yield body, geom.name


def _carriers(model: mujoco.MjModel) -> dict[str, str]:
    """Map each body of the hand to the previous one with geoms in its chain, or to the palm."""
    parents = {}
    for index in range(1, model.nbody):
        body = model.body(index)
        parent = model.body(int(body.parentid[0]))
        while parent.geomnum[0] == 0 and parent.name not in (PALM, "world"):
            parent = model.body(int(parent.parentid[0]))
        if body.geomnum[0] > 0:
            parents[body.name] = parent.name
    return parents
