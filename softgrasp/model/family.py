"""Families: the models of many scenes that differ in weight and contact only, as arrays.

A sweep over density, friction and stiffness needs one compiled model. All that depends on these
fields is computed for all rows at once, by the formulas of the compiler, and is equal to it bit for
bit; MuJoCo computes the constants of the object once a distinct mass.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import copy
from functools import cache, cached_property, partial
from typing import Any

import mujoco
import numpy as np
from numpy.typing import ArrayLike, NDArray

from softgrasp.description.object import GraspObject
from softgrasp.description.resolved import ResolvedScene
from softgrasp.description.scene import GraspScene
from softgrasp.errors import DescriptionError
from softgrasp.mechanics.contact_stiffness import (
    direct_solref,
    explicit_damping,
    friction_rate,
    torsional_coefficient,
)
from softgrasp.mechanics.transforms import Array
from softgrasp.model import names
from softgrasp.model.compile import compiled
from softgrasp.model.contact_pairs import with_objects
from softgrasp.model.effective_mass import TouchRows, closing_postures, first_touches, touch_rows
from softgrasp.model.names import scene_label
from softgrasp.model.object import USUAL_DENSITY, add_body, object_pose
from softgrasp.model.scene import (
    CompiledScene,
    FineStep,
    StartParameters,
    build,
    fresh_spec,
    home_targets,
    largest_mobility,
    position_at,
)
from softgrasp.model.shapes import mass_properties
from softgrasp.model.timestep import (
    ROUNDING,
    fine_steps_of,
    fitting_steps,
    resolve_timestep,
    resolving_step,
)

WEIGHTS = ("object.mass", "object.density")
CONTACT_FIELDS = (
    "stiffness",
    "damping",
    "static_friction",
    "dynamic_friction",
    "torsional_friction",
    "rolling_friction",
)
FIELDS = (*WEIGHTS, *(f"contact.{name}" for name in CONTACT_FIELDS))
"""Fields of a scene that may differ within a family."""
OBJECT_ARRAYS = ("body_mass", "body_inertia", "body_iquat", "body_subtreemass", "body_invweight0")
"""Arrays of a model with the constants of the body of the object."""
DOF_ARRAYS = ("dof_invweight0", "dof_M0")
"""The same of its degrees of freedom."""
BLOCK = 64
"""Number of masses whose pairs are in memory at once."""
STATISTICS = ("meanmass", "meaninertia")
"""Statistics of a model that depend on the mass of its object."""


def has_family(scene: GraspScene) -> bool:
    """Return whether a scene can have a family: a free rigid object alone with the hand.

    All pairs of a family have one friction, so there is none where the geoms of a hand have some.
    """
    if scene.geom_contacts(0) or scene.objects or scene.surroundings:
        return False
    free = scene.object_mount == "free" and scene.object.elasticity is None
    return free and scene.requested_contact.converted


class Family:
    """Models of n scenes, which are a resolved scene with other values of ``FIELDS``."""

    def __init__(
        self, resolved: ResolvedScene, fields: Mapping[str, ArrayLike], *, exact: bool = True
    ) -> None:
        """Compute masses, contacts and time steps of all rows.

        Args:
            resolved: The scene. Nothing that it chose may depend on the fields but the time step.
            fields: Values by their fields, (n,) each.
            exact: Whether to compute effective masses anew for every distinct mass, which takes
                some milliseconds each; see ``is_exact``.

        Raises:
            DescriptionError: A field may not differ, or the scene can have no family.
        """
        for name in fields:
            if name not in FIELDS:
                known = ", ".join(FIELDS)
                raise DescriptionError(f"expected fields among {known}, found '{name}'")
        if not has_family(resolved.scene):
            raise DescriptionError(
                "expected a scene with a free rigid object, without surroundings and further "
                "objects, and with stiffness and damping in SI units, found another"
            )
        self._resolved, self._exact = resolved, exact
        arrays = np.broadcast_arrays(*(np.asarray(field, dtype=float) for field in fields.values()))
        self.fields: dict[str, Array] = dict(zip(fields, arrays, strict=True))
        self.size = len(arrays[0]) if arrays else 1
        self.contact = self._contacts()
        """Fields of the contact of hand and object in every row, (n,) each."""
        self.mass = self._masses()
        """Mass of the object in every row, (n,) [kg]."""
        self.timestep = self._timesteps()
        """Time step of every row, (n,) [s]."""
        self._members: dict[float, _Members] = {}
        self._object = _Weighing(resolved.scene)

    # Rows

    def resolved(self, row: int) -> ResolvedScene:
        """Return the resolved scene of a row; errors as ``compiled``."""
        values = {name: float(array[row]) for name, array in self.fields.items()}
        described, scene = (
            _change(item, values) for item in (self._resolved.described, self._resolved.scene)
        )
        before = self._resolved
        step = resolve_timestep(scene) if self.alone[row] else float(self.timestep[row])
        return ResolvedScene(described, scene, step, before.origins, before.warnings)

    def compiled(self, row: int) -> CompiledScene:
        """Return the compiled scene of a row; see ``is_exact``.

        Raises:
            BuildError: As ``build``.
            DescriptionError: A value is not valid.
        """
        resolved = self.resolved(row)
        if self.alone[row]:
            return build(resolved)
        members = self._members_of(row)
        model = copy(members.base.model)
        for name, values in self.arrays([row]).items():
            if name in STATISTICS:
                setattr(model.stat, name, float(values[0]))
            else:
                getattr(model, name)[:] = values[0]
        mujoco.mj_setConst(model, members.data)  # also constants that only cameras and lights have
        return self._finished(resolved, model, members, row)

    @property
    def is_exact(self) -> bool:
        """Whether models are equal bit for bit to those that are built alone.

        Else they are equal within a relative error of 1e-12: the effective masses, and where the
        axes of the object's inertia are not those of its frame, what the compiler makes of them.
        """
        return self._exact and self._object.is_diagonal

    @cached_property
    def alone(self) -> NDArray[np.bool_]:
        """Rows that have to be built alone, as there is a warning or an error about them, (n,)."""
        contact, volume = self.contact, mass_properties(self._resolved.scene.object.shape).volume
        low, high = USUAL_DENSITY
        with np.errstate(invalid="ignore", divide="ignore"):
            density = self.mass / volume
            usual = (low <= density) & (density <= high) & np.isfinite(self.timestep)
            usual &= self.timestep <= _longest(contact)
            for name in CONTACT_FIELDS:
                usual &= (contact[name] >= 0.0) & np.isfinite(contact[name])
            usual &= contact["stiffness"] > 0.0
            usual &= contact["dynamic_friction"] <= contact["static_friction"]
        return ~usual

    def members(self) -> list[NDArray[np.int_]]:
        """Group the rows that are not ``alone`` by time step; a group has one model structure."""
        steps = self.timestep[~self.alone]
        return [np.flatnonzero((self.timestep == step) & ~self.alone) for step in np.unique(steps)]

    def arrays(self, rows: Sequence[int] | NDArray[np.int_]) -> dict[str, Array]:
        """Return the arrays that differ between the models of rows with one time step.

        Args:
            rows: Numbers of rows, as of ``members``, (n,).

        Returns:
            Arrays by their names in ``mjModel``, (n, …); ``meanmass`` and ``meaninertia`` are of
            its statistics.
        """
        rows = np.asarray(rows, dtype=int)
        members, step = self._members_of(int(rows[0])), float(self.timestep[rows[0]])
        masses, inverse = np.unique(self.mass[rows], return_inverse=True)
        constants = members.constants(masses)
        mobility = members.mobilities(masses, constants, (step,))[0][inverse]
        solref, rates = self._solref(rows, step, mobility)
        pairs = np.ones((1, mobility.shape[1], 1))
        return {
            **{name: values[inverse] for name, values in constants.items()},
            "pair_solref": solref,
            "pair_solreffriction": rates * pairs,
            "pair_friction": self._friction(rows)[:, None] * pairs,
        }

    def _members_of(self, row: int) -> _Members:
        step = float(self.timestep[row])
        if step not in self._members:
            first = int(np.flatnonzero((self.timestep == step) & ~self.alone)[0])
            self._members[step] = _Members(
                build(self.resolved(first)), self._object, exact=self._exact
            )
        return self._members[step]

    def _finished(
        self, resolved: ResolvedScene, model: mujoco.MjModel, members: _Members, row: int
    ) -> CompiledScene:
        contact, base = resolved.scene.requested_contact, members.base
        switching = members.switching if contact.switches_friction else ()
        return CompiledScene(
            resolved,
            cache(partial(fresh_spec, resolved)),
            model,
            list(base.bodies),
            contact,
            dict.fromkeys(base.stiffness, contact.stiffness),
            dict.fromkeys(switching, contact),
            StartParameters.of(model),
            self._fine(members, row),
        )

    def _fine(self, members: _Members, row: int) -> tuple[FineStep, ...]:
        """Return the fine time steps of a row with their contact parameters."""
        scene, mass = self._resolved.scene, self.mass[row : row + 1]
        step, constants = float(self.timestep[row]), members.constants(mass)
        mobility = members.hand_mobility + float(constants["body_invweight0"][0, members.body, 0])
        resolving = resolving_step(mobility, float(self.contact["damping"][row]))
        steps = fine_steps_of(scene, step, resolving)
        if not steps:
            return ()
        inverse = members.mobilities(mass, constants, (step, *steps))[1:]
        fine = []
        for item, masses in zip(steps, inverse, strict=True):
            solref, rates = self._solref(np.array([row]), item, masses)
            fine.append(FineStep(item, solref[0], np.tile(rates[0], (masses.shape[1], 1))))
        return tuple(fine)

    # Values of all rows

    def _contacts(self) -> dict[str, Array]:
        """Return the fields of the contact of hand and object, (n,) each."""
        first = {name: float(array[0]) for name, array in self.fields.items()}
        scene = self._resolved.scene
        usual = _change(scene, first).requested_contact if first else scene.requested_contact
        contact = {}
        for name in CONTACT_FIELDS:
            value = getattr(usual, name)
            constant = np.full(self.size, np.nan if value is None else value)
            contact[name] = self.fields.get(f"contact.{name}", constant)
        same = np.isnan(contact["dynamic_friction"])
        contact["dynamic_friction"] = np.where(
            same, contact["static_friction"], contact["dynamic_friction"]
        )
        return contact

    def _masses(self) -> Array:
        described = self._resolved.scene.object
        volume = mass_properties(described.shape).volume
        if "object.mass" in self.fields:
            return self.fields["object.mass"]
        if "object.density" in self.fields:
            return volume * self.fields["object.density"]
        described_mass = described.mass
        mass = volume * (described.density or 0.0) if described_mass is None else described_mass
        return np.full(self.size, mass)

    def _timesteps(self) -> Array:
        scene = self._resolved.scene
        if scene.timestep is not None:
            return np.full(self.size, self._resolved.timestep)
        with np.errstate(divide="ignore", invalid="ignore"):
            return fitting_steps(scene, _longest(self.contact))

    def _solref(self, rows: NDArray[np.int_], step: float, mobility: Array) -> tuple[Array, Array]:
        """Return ``solref`` (n, np, 2) and ``solreffriction`` (n, 1, 2) at a time step [s]."""
        scene, contact = self._resolved.scene, self.contact
        stiffness, damping = (contact[name][rows] for name in ("stiffness", "damping"))
        acting = damping
        if scene.integrator == "discrete":
            acting = explicit_damping(stiffness, damping, step)
        impedance = scene.impedance
        solref = direct_solref(stiffness[:, None], acting[:, None], mobility, impedance)
        rate = scene.solver.friction_rate or friction_rate(stiffness, damping, step)
        rates = np.zeros((len(rows), 1, 2))
        rates[:, 0, 1] = -rate * impedance
        return solref, rates

    def _friction(self, rows: NDArray[np.int_]) -> Array:
        """Return the five coefficients of the rows, (n, 5)."""
        contact = self._resolved.scene.requested_contact
        sliding, rolling = (self.contact[name][rows] for name in CONTACT_FIELDS[2::3])
        torsion = self.contact["torsional_friction"][rows]
        if contact.model == "soft-finger":
            patch = contact.patch
            torsion = torsional_coefficient(sliding, patch.radius, patch.pressure)
        return np.stack([sliding, sliding, torsion, rolling, rolling], axis=-1)


def _longest(contact: Mapping[str, Array]) -> Array:
    """Return the largest time steps of contacts [s], with the tolerance of ``timestep``."""
    return contact["damping"] / (2.0 * contact["stiffness"]) * (1 + ROUNDING)


def _change(scene: GraspScene, values: Mapping[str, float]) -> GraspScene:
    """Return a scene with other values of ``FIELDS``."""
    contact = {k.removeprefix("contact."): v for k, v in values.items() if k not in WEIGHTS}
    weight = {k.removeprefix("object."): v for k, v in values.items() if k in WEIGHTS}
    changes: dict[str, Any] = {}
    if contact:
        changes["contact"] = scene.contact.replace(**contact)
    if weight:
        changes["object"] = scene.object.weighing(**weight)
    return scene.replace(**changes)


class _Members:
    """Rows with one time step, and what their models have in common."""

    def __init__(self, base: CompiledScene, weighing: _Weighing, *, exact: bool) -> None:
        """Evaluate the pairs of a compiled scene of the family."""
        self.base, self._weighing, model, scene = base, weighing, base.model, base.scene
        self.data = mujoco.MjData(model)
        self.body = model.body(names.OBJECT).id
        self.first_dof = int(model.body_dofadr[self.body])
        geoms = list(zip(model.pair_geom1.tolist(), model.pair_geom2.tolist(), strict=True))
        bodies = model.geom_bodyid[np.array(geoms, dtype=int).reshape(-1, 2)]
        self.with_object = (bodies == self.body).any(axis=1)
        weights = np.where(bodies == self.body, 0.0, model.body_invweight0[:, 0][bodies])
        self.hand_weights = np.asarray(weights.sum(axis=1))
        """Inverse masses of the sides of the pairs that belong to the hand, (np,) [1/kg]."""
        self._geoms, self._postures, self._exact = geoms, self._closing_postures(), exact
        self._touches = first_touches(model, geoms, self._postures)
        self._rows: dict[float, TouchRows] = {}
        self.hand_mobility = largest_mobility(model, base.bodies)
        self.switching = [pair.name for pair in next(with_objects(scene, model)).pairs]

    def _closing_postures(self) -> Array:
        """Return the postures in which effective masses are evaluated; none where none are."""
        model, scene = self.base.model, self.base.scene
        if model.opt.integrator != mujoco.mjtIntegrator.mjINT_DISCRETE:
            return np.zeros((0, model.nq))
        return closing_postures(model, scene, position_at(model, scene, home_targets(scene)))

    def constants(self, masses: Array) -> dict[str, Array]:
        """Return the constants of models with some masses of the object, (nm, …)."""
        model, body = self.base.model, self.body
        dofs = slice(self.first_dof, self.first_dof + 6)
        alone = self._weighing.constants(masses)
        arrays = {}
        for name in (*OBJECT_ARRAYS, *DOF_ARRAYS):
            values = np.repeat(getattr(model, name)[None], len(masses), axis=0)
            values[:, body if name in OBJECT_ARRAYS else dofs] = alone[name]
            arrays[name] = values
        total, subtree = np.zeros(len(masses)), arrays["body_subtreemass"]
        for child in np.flatnonzero(model.body_parentid == 0)[:0:-1]:  # as the compiler adds them
            total = total + subtree[:, child]
        subtree[:, 0] = total
        # from left to right, as the compiler adds them
        arrays["meanmass"] = arrays["body_mass"][:, 1:].cumsum(axis=1)[:, -1] / (model.nbody - 1)
        arrays["meaninertia"] = arrays["dof_M0"].cumsum(axis=1)[:, -1] / model.nv
        return arrays

    def mobilities(
        self, masses: Array, constants: Mapping[str, Array], steps: Sequence[float]
    ) -> Array:
        """Return the inverse masses of all pairs as ``effective_mass``, (ns, nm, np) [1/kg]."""
        of_object = constants["body_invweight0"][:, self.body, 0]
        weights = self.hand_weights + np.where(self.with_object, of_object[:, None], 0.0)
        if not len(self._postures):
            return np.tile(weights, (len(steps), 1, 1))
        blocks = [slice(begin, begin + BLOCK) for begin in range(0, len(masses), BLOCK)]
        ratios = [
            self._touch_rows(
                masses[block], {name: array[block] for name, array in constants.items()}
            ).ratios(steps)
            for block in blocks
        ]
        return np.asarray(weights * np.concatenate(ratios, axis=1))

    def _touch_rows(self, masses: Array, constants: Mapping[str, Array]) -> TouchRows:
        """Return the terms of the effective masses of the pairs, (nm, np, nv) each."""
        if self._exact:
            rows = [self._evaluated(index, mass, constants) for index, mass in enumerate(masses)]
            return TouchRows(*(np.stack(column) for column in zip(*rows, strict=True)))
        item = self._evaluated(0, masses[0], constants)
        inertia = np.repeat(item.inertia[None], len(masses), axis=0)
        dofs = slice(self.first_dof, self.first_dof + 6)
        inertia[..., dofs] = constants["dof_M0"][:, None, dofs]
        return item._replace(inertia=inertia)

    def _evaluated(self, index: int, mass: float, constants: Mapping[str, Array]) -> TouchRows:
        """Evaluate all pairs with a mass of the object, whose constants have an index."""
        if mass not in self._rows:
            if len(self._rows) >= BLOCK:
                self._rows.clear()
            model = copy(self.base.model)
            for name in (*OBJECT_ARRAYS, *DOF_ARRAYS):
                getattr(model, name)[:] = constants[name][index]
            self._rows[mass] = touch_rows(model, self._geoms, self._postures, self._touches)
        return self._rows[mass]


class _Weighing:
    """The object of a scene alone, compiled with one mass after the other."""

    def __init__(self, scene: GraspScene) -> None:
        """Compile it with its own mass."""
        self._scene = scene
        self._model = self._compiled(scene.object)
        self._data = mujoco.MjData(self._model)
        volume, inertia = mass_properties(scene.object.shape)
        self._volume, diagonal = volume, np.diag(inertia)
        self._moments = np.sort(diagonal)[::-1]
        ours = self._moments * (float(self._model.body_mass[1]) / volume)
        self.is_diagonal = bool(
            (inertia == np.diag(diagonal)).all() and (ours == self._model.body_inertia[1]).all()
        )
        """Whether the moments of inertia are known without the compiler."""
        self._known: dict[float, dict[str, Array]] = {}

    def constants(self, masses: Array) -> dict[str, Array]:
        """Return the constants for some masses, (nm, …) by their names in ``mjModel``."""
        rows = [self._weighed(mass) for mass in masses.tolist()]
        return {name: np.stack([row[name] for row in rows]) for name in rows[0]}

    def _weighed(self, mass: float) -> dict[str, Array]:
        if mass not in self._known:
            model = self._model
            if self.is_diagonal:
                model.body_mass[1] = mass
                model.body_inertia[1] = self._moments * (mass / self._volume)
                mujoco.mj_setConst(model, self._data)
            else:
                model = self._compiled(self._scene.object.weighing(mass=mass))
            arrays = {name: getattr(model, name)[1].copy() for name in OBJECT_ARRAYS}
            arrays |= {name: getattr(model, name).copy() for name in DOF_ARRAYS}
            self._known[mass] = arrays
        return self._known[mass]

    def _compiled(self, described: GraspObject) -> mujoco.MjModel:
        spec = mujoco.MjSpec()
        add_body(spec, described, object_pose(self._scene))
        return compiled(spec, scene_label(self._scene))
