"""Pairs of geoms that can touch, with their contact parameters, as arrays.

The pairs are those of the compiled model; stiffness, damping and friction are those of the
description (``model.contact_pairs``), not MuJoCo's converted parameters.
"""

from __future__ import annotations

from collections import defaultdict
from typing import NamedTuple

import mujoco
import numpy as np
from numpy.typing import NDArray

from softgrasp.description import Contact
from softgrasp.errors import BuildError
from softgrasp.plugin_api import CompiledScene, torsion_of, with_objects, with_surroundings
from tests.reference_engine.collision import (
    KERNELS,
    PLANE,
    SPHERE,
    Geoms,
    Indices,
    Kernel,
    Points,
    segment_segment,
)
from tests.reference_engine.contact_law import Material

FRICTIONLESS, WITHOUT_SPIN, ROLLING = 1, 3, 6
"""Contact dimensions."""
NO_POINTS = Points(np.zeros(0, dtype=np.int64), np.zeros((0, 3)), np.zeros((0, 3)), np.zeros(0))


class Batch(NamedTuple):
    """Pairs of geoms of the same two types, whose contact points one function computes."""

    kernel: Kernel
    pairs: Indices


class GeomPairs:
    """Pairs of geoms of a model with their contact parameters; the smaller geom type is first."""

    def __init__(self, model: mujoco.MjModel, geoms: NDArray[np.int64], laws: Material) -> None:
        """Sort the geoms of each pair by type.

        Args:
            model: The compiled scene.
            geoms: Two geoms of each pair, (n, 2).
            laws: Contact laws of the pairs.

        Raises:
            BuildError: There is no function for the shapes of a pair.
        """
        geoms = geoms.reshape(-1, 2)
        kinds = model.geom_type[geoms]
        self.geoms = np.where((kinds[:, 0] > kinds[:, 1])[:, None], geoms[:, ::-1], geoms)
        """The two geoms of each pair, (n, 2)."""
        self.bodies = np.asarray(model.geom_bodyid[self.geoms], dtype=np.int64)
        """Their bodies, (n, 2)."""
        self._laws = laws
        self._size = model.geom_size.copy()
        self._size[model.geom_type == SPHERE, 1:] = 0.0
        self._kinds = model.geom_type[self.geoms]
        self._planes = self._kinds[:, 0] == PLANE
        self._reach = model.geom_rbound[self.geoms].sum(axis=1)
        self._keys = [self._key(model, index) for index in range(len(geoms))]
        self.none: list[Batch] = []

    def _key(self, model: mujoco.MjModel, index: int) -> tuple[Kernel, int, int]:
        first, second = (int(kind) for kind in self._kinds[index])
        kernel = KERNELS.get((first, second))
        if kernel is None:
            raise BuildError(_unsupported(model, self.geoms[index].tolist()))
        return (kernel, 0, 0) if kernel is segment_segment else (kernel, first, second)

    def near(self, data: mujoco.MjData, margin: float) -> list[Batch]:
        """Return the pairs that are, or may be, within a margin [m]."""
        return [
            Batch(batch.kernel, batch.pairs[kept])
            for batch in self._within_spheres(data, margin)
            if (kept := self._within(data, batch, margin)).any()
        ]

    def _within(self, data: mujoco.MjData, batch: Batch, margin: float) -> NDArray[np.bool_]:
        """Return whether points are within a margin; True for a pair without points."""
        points = self._points(data, batch)
        far = np.zeros(len(batch.pairs), dtype=bool)
        far[points.pair] = True
        far[points.pair[points.depth > -margin]] = False
        return ~far

    def _within_spheres(self, data: mujoco.MjData, margin: float) -> list[Batch]:
        """Return the pairs whose bounding spheres are within a margin [m]."""
        centres = data.geom_xpos
        away = centres[self.geoms[:, 1]] - centres[self.geoms[:, 0]]
        gap = np.sqrt(np.einsum("ni,ni->n", away, away)) - self._reach
        if self._planes.any():
            up = data.geom_xmat[self.geoms[self._planes, 0]].reshape(-1, 3, 3)[:, :, 2]
            height = np.einsum("ni,ni->n", away[self._planes], up)
            gap[self._planes] = height - self._reach[self._planes]
        batches: defaultdict[tuple[Kernel, int, int], list[int]] = defaultdict(list)
        for index in np.flatnonzero(gap < margin).tolist():
            batches[self._keys[index]].append(index)
        return [Batch(key[0], np.array(pairs)) for key, pairs in batches.items()]

    def points(self, data: mujoco.MjData, batches: list[Batch]) -> Points:
        """Compute the contact points of pairs that overlap."""
        parts = []
        for batch in batches:
            points = self._points(data, batch)
            on = points.depth > 0.0
            if on.any():
                columns = (column[on] for column in points[1:])
                parts.append(Points(batch.pairs[points.pair[on]], *columns))
        if len(parts) < 2:
            return parts[0] if parts else NO_POINTS
        return Points(*(np.concatenate(column) for column in zip(*parts, strict=True)))

    def _points(self, data: mujoco.MjData, batch: Batch) -> Points:
        """Compute the contact points of a batch of pairs, with the pairs' indices in the batch."""
        return batch.kernel(*(self._frames(data, self.geoms[batch.pairs, side]) for side in (0, 1)))

    def law(self, pair: Indices) -> Material:
        """Return the contact parameters of points by their pairs."""
        return Material(*(column[pair] for column in self._laws))

    def _frames(self, data: mujoco.MjData, geoms: Indices) -> Geoms:
        rotation = data.geom_xmat[geoms].reshape(-1, 3, 3)
        return Geoms(data.geom_xpos[geoms], rotation, self._size[geoms])


def pairs_of_scene(built: CompiledScene, stick_speed: float) -> GeomPairs:
    """Return the contact pairs of a scene.

    Args:
        built: The scene.
        stick_speed: Largest slip speed of a sticking contact [m/s].

    Raises:
        BuildError: A contact or a shape is not supported.
    """
    model, scene = built.model, built.scene
    contacts: dict[str, Contact] = {}
    for group in (*with_objects(scene, model), *with_surroundings(scene, model)):
        contacts |= dict.fromkeys((pair.name for pair in group.pairs), group.requested)
    rows = []
    for index in range(model.npair):
        name, dimension = model.pair(index).name, int(model.pair_dim[index])
        contact = contacts.get(name, scene.requested_contact)
        stiffness = built.stiffness.get(name, contact.stiffness)
        rows.append(_law_of(contact, stiffness, dimension, stick_speed))
    laws = Material(*np.array(rows, dtype=float).reshape(-1, len(Material._fields)).T)
    return GeomPairs(model, np.stack([model.pair_geom1, model.pair_geom2], axis=1), laws)


def _law_of(
    contact: Contact, stiffness: float, dimension: int, stick_speed: float
) -> tuple[float, ...]:
    """Return the contact parameters (``Material``) of one pair of geoms."""
    if not contact.converted:
        raise BuildError(
            "contact.model: expected 'compliant' or 'soft-finger' in the reference engine, found "
            f"'{contact.model}'"
        )
    if dimension >= ROLLING:
        raise BuildError(
            "solver.contact_dimension: expected 1, 3 or 4 in the reference engine, found "
            f"{dimension}"
        )
    rough = 0.0 if dimension == FRICTIONLESS else 1.0
    spins = 1.0 if dimension > WITHOUT_SPIN else 0.0
    return (
        stiffness,
        contact.damping,
        rough * contact.static_friction,
        rough * contact.kinetic_friction,
        contact.critical_velocity,
        spins * torsion_of(contact),
        min(stick_speed, contact.critical_velocity),
    )


def _unsupported(model: mujoco.MjModel, geoms: list[int]) -> str:
    """Return the error sentence about pairs of shapes that the engine cannot collide."""
    kinds = [
        mujoco.mjtGeom(int(model.geom_type[geom])).name.removeprefix("mjGEOM_").lower()
        for geom in geoms
    ]
    known = {kind for pair in KERNELS for kind in pair}
    for geom, kind in zip(geoms, kinds, strict=True):
        if int(model.geom_type[geom]) not in known:
            return (
                f"geom '{model.geom(geom).name}': expected plane, sphere, capsule, cylinder or "
                f"box in the reference engine, found {kind}"
            )
    names = " and ".join(f"'{model.geom(geom).name}'" for geom in geoms)
    return f"geoms {names}: the reference engine has no contact of a {kinds[0]} and a {kinds[1]}"
