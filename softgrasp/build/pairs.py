"""Contacts: every pair of geoms that can touch, with stiffness and damping in SI units.

MuJoCo's stiffness depends on the masses of the two bodies; ``solref`` is set pair by pair so
that normal force over penetration at rest is what was asked (decision 0004).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import mujoco
import numpy as np

from softgrasp.build.names import OBJECT, PALM
from softgrasp.description.contact import Contact
from softgrasp.description.scene import Solver
from softgrasp.mechanics.compliance import direct_solref, implicit_inertia
from softgrasp.mechanics.transforms import Array

HELD_IMPEDANCE = 1e-3
"""Impedance of a pair whose two sides are held in place. The conversion takes the acceleration at
rest for zero; a side that is put where it belongs step by step, instead of being balanced by a
force, has one, and its share of the stiffness is d/(1 − d)."""
RIGID = 1e-12
"""Inverse mass [1/kg] below which a pair cannot move and makes no contact."""


class Pair(NamedTuple):
    """Two geoms that can touch; the second one is the object's where one is."""

    first: str
    second: str

    @property
    def name(self) -> str:
        """Name of the pair in the model."""
        return f"{self.first}|{self.second}"


def object_pairs(model: mujoco.MjModel) -> list[Pair]:
    """Every geom of the hand against every geom of the object."""
    geoms = list(_touchable(model))
    return [
        Pair(hand, thing)
        for body, hand in geoms
        if body != OBJECT
        for owner, thing in geoms
        if owner == OBJECT
    ]


def self_pairs(model: mujoco.MjModel) -> list[Pair]:
    """Geoms of the hand that can touch one another: neighbours along a chain cannot."""
    geoms = [(body, geom) for body, geom in _touchable(model) if body != OBJECT]
    return [
        Pair(first, second)
        for index, (body, first) in enumerate(geoms)
        for other, second in geoms[index + 1 :]
        if body != other and not _neighbours(model, body, other)
    ]


def penetration(model: mujoco.MjModel, data: mujoco.MjData, pair: Pair) -> float:
    """How deep two geoms stand in each other [m]; negative or zero where they do not."""
    first, second = (model.geom(name).id for name in pair)
    return -float(mujoco.mj_geomDistance(model, data, first, second, 1e-3, None))


def inverse_masses(model: mujoco.MjModel, pairs: list[Pair]) -> Array:
    """Inverse effective mass of each pair [1/kg], the integrator's implicit terms included.

    A servo's gains act like extra inertia under an implicit step, so the masses are those of a
    copy whose joints carry h·(kv + c) + h²·kp more (reference measurement: without it a heavy
    object feels a contact up to 18 % too stiff).
    """
    copy = mujoco.MjModel.__copy__(model)
    copy.dof_armature += _servo_inertia(model)
    mujoco.mj_setConst(copy, mujoco.MjData(copy))
    weights = copy.body_invweight0[:, 0]
    bodies = np.array([[model.geom(name).bodyid[0] for name in pair] for pair in pairs], int)
    return np.asarray(weights[bodies.reshape(-1, 2)].sum(axis=1))


def add_pairs(
    spec: mujoco.MjSpec,
    model: mujoco.MjModel,
    pairs: list[Pair],
    contact: Contact,
    solver: Solver,
    *,
    held: bool,
) -> None:
    """Add explicit contacts to a spec, converted with the masses of its compiled model.

    Args:
        spec: The model to extend.
        model: The same model, compiled.
        pairs: What can touch.
        contact: Stiffness, damping and friction.
        solver: Contact dimension and impedance.
        held: Whether both sides of these pairs are held in place (prescribed joints, fixed object).
    """
    inverse = inverse_masses(model, pairs)
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


def friction_vector(contact: Contact) -> list[float]:
    """MuJoCo's five friction numbers: two sliding, one torsional, two rolling."""
    sliding, rolling = contact.static_friction, contact.rolling_friction
    return [sliding, sliding, contact.torsional_friction, rolling, rolling]


def _touchable(model: mujoco.MjModel) -> Iterator[tuple[str, str]]:
    """(body, geom) of the hand's and the object's geoms, pictures left out."""
    for index in range(model.ngeom):
        geom = model.geom(index)
        body = model.body(int(geom.bodyid[0])).name
        if body != "world" and geom.group[0] in (0, 3):
            yield body, geom.name


def _neighbours(model: mujoco.MjModel, first: str, second: str) -> bool:
    """Whether only joints, and rows without a body, lie between two bodies of the hand."""
    return second in _next_bodies(model, first) or first in _next_bodies(model, second)


def _next_bodies(model: mujoco.MjModel, name: str) -> set[str]:
    """Bodies with geoms that follow a body directly in its chain."""
    found: set[str] = set()
    for index in range(1, model.nbody):
        body = model.body(index)
        parent = model.body(int(body.parentid[0]))
        while parent.geomnum[0] == 0 and parent.name not in (PALM, "world"):
            parent = model.body(int(parent.parentid[0]))
        if parent.name == name and body.geomnum[0] > 0:
            found.add(body.name)
    return found


def _servo_inertia(model: mujoco.MjModel) -> Array:
    """What the implicit step adds to each degree of freedom [kg·m² or kg], shape (nv,)."""
    gain, rate = np.zeros(model.nv), np.array(model.dof_damping)
    for index in range(model.nu):
        dof = model.jnt_dofadr[model.actuator_trnid[index, 0]]
        gain[dof] -= model.actuator_biasprm[index, 1]
        rate[dof] -= model.actuator_biasprm[index, 2]
    return implicit_inertia(model.opt.timestep, gain, rate)
