"""Contacts: every pair of geoms that can touch, with stiffness and damping in SI units.

MuJoCo's stiffness depends on the masses of the two bodies; ``solref`` is set pair by pair so
that normal force over penetration at rest is what was asked (decision 0004).
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping
from typing import NamedTuple

import mujoco

from softgrasp.build.effective_mass import inverse_masses
from softgrasp.build.names import OBJECT, PALM, is_around, is_object
from softgrasp.build.shapes import TOUCHING_GROUPS
from softgrasp.description.contact import Contact
from softgrasp.description.scene import Solver
from softgrasp.mechanics.contact import direct_solref, torsional_coefficient
from softgrasp.mechanics.transforms import Array

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
