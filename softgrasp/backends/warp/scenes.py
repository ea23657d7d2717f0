"""Scenes that the backend supports, and groups of scenes that one batch can simulate.

Worlds of a batch share the structure of one compiled model; arrays in which MuJoCo Warp keeps one
value per world may differ. ``structure_of`` is the rest of a model: scenes with equal structures
belong together. ``Worlds`` are such scenes as one model and arrays, made of compiled scenes
(``world``) or of rows of a family, for which no model is compiled (``of_family``).
"""

from __future__ import annotations

import hashlib
from collections.abc import Hashable, Sequence
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from typing import Any, NamedTuple

import mujoco
import numpy as np

from softgrasp.description import GraspScene
from softgrasp.errors import BackendUnavailable, BuildError
from softgrasp.mechanics import Array
from softgrasp.model import Family, names
from softgrasp.plugin_api import (
    CompiledScene,
    closure_layout,
    gravity_steps,
    lagging_as_described,
    palm_body,
    plan_samples,
    start_targets,
)

NAME = "warp"
PER_WORLD = (
    "body_pos", "body_quat", "body_ipos", "body_iquat", "body_mass", "body_subtreemass",
    "body_inertia", "body_invweight0", "dof_damping", "dof_armature", "dof_invweight0",
    "dof_frictionloss", "jnt_pos", "jnt_axis", "jnt_range", "jnt_stiffness", "qpos0",
    "qpos_spring", "geom_size", "geom_aabb", "geom_rbound", "geom_pos", "geom_quat",
    "geom_friction", "pair_solref", "pair_solreffriction", "pair_solimp", "pair_friction",
    "actuator_gainprm", "actuator_biasprm", "actuator_forcerange", "actuator_ctrlrange",
    "actuator_acc0",
)  # fmt: skip
"""Arrays of a model that may differ between the worlds of a batch."""
WITHOUT_EFFECT = (
    "key_", "geom_rgba", "mat_", "tex_", "light_", "cam_", "text", "bvh_", "site_rgba",
    "body_user", "geom_user", "jnt_user", "actuator_length0", "dof_M0", "dof_length",
)  # fmt: skip
"""Beginnings of the names of arrays that do not change the motion."""


def engine_version() -> str:
    """Return the version of MuJoCo Warp.

    Raises:
        BackendUnavailable: It is not installed, or belongs to another version of MuJoCo.
    """
    try:
        engine = version("mujoco-warp")
        version("warp-lang")
    except PackageNotFoundError as error:
        raise BackendUnavailable(
            f"the backend warp needs {error.name}: pip install 'softgrasp[gpu]'"
        ) from None
    if engine.split(".")[:2] != mujoco.__version__.split(".")[:2]:
        raise BackendUnavailable(
            f"the backend warp needs mujoco-warp {mujoco.__version__}, the version of MuJoCo, "
            f"found {engine}: pip install mujoco-warp=={mujoco.__version__}"
        )
    return engine


def require_supported(scene: GraspScene) -> None:
    """Refuse features that the backend lacks.

    Raises:
        BuildError: There is one; names it.
    """
    hand, closure, success = scene.hand, scene.closure, scene.success
    plain = success is None or success.is_plain
    motions = "motions, directions and pulls in a hold test, only a ramp of gravity"
    lacking: list[tuple[object, str, str]] = [
        (hand.soft_fingers, "hand.soft_fingers", "soft fingers"),
        (hand.adhesions, "hand.fingers", "suction cups and adhesive pads"),
        (scene.object.elasticity is not None, "object.elasticity", "deformable objects"),
        (scene.object_mount != "free", "object_mount", f"{scene.object_mount} objects"),
        (scene.objects, "objects", "further objects"),
        (scene.surroundings, "surroundings", "tables and other surroundings"),
        (scene.arm is not None, "arm", "arms"),
        (scene.sequence, "sequence", "motion sequences"),
        (scene.lift is not None, "lift", "lifts"),
        (scene.sensors, "sensors", "sensors"),
        (not plain, "success", motions),
        (scene.actuation == "prescribed", "actuation", "prescribed joints"),
        (scene.solver.cone != "elliptic", "solver.cone", f"{scene.solver.cone} friction cones"),
        (closure.stop_force is not None, "closure.stop_force", "actuators that stop at a force"),
        (closure.torque_limit is not None, "closure", "actuators that stop at a torque"),
        (closure.sense == "sensor", "closure.sense", "contacts detected by sensors"),
    ]
    for present, field, feature in lacking:
        if present:
            raise BuildError(f"{field}: the backend warp has no {feature}; use the backend mujoco")


def require_supported_model(built: CompiledScene) -> None:
    """Refuse a compiled scene with features that the backend lacks; errors as above."""
    model = built.model
    refused = {
        "activations of actuators": model.na,
        "bodies moved by mocap": model.nmocap,
        "plugins": model.nplugin,
        "a palm that moves": model.body_weldid[palm_body(model, built.scene.hand)],
        "more than 60 degrees of freedom with dense Jacobians": int(
            model.nv > 60 and model.opt.jacobian == mujoco.mjtJacobian.mjJAC_DENSE
        ),
    }
    for feature, count in refused.items():
        if count:
            raise BuildError(f"hand: the backend warp has no {feature}; use the backend mujoco")


def has_mesh(model: mujoco.MjModel) -> bool:
    """Return whether the surface of the object is of meshes."""
    geoms = np.union1d(model.pair_geom1, model.pair_geom2)
    of_object = model.geom_bodyid[geoms] == model.body(names.OBJECT).id
    return bool((of_object & (model.geom_type[geoms] == mujoco.mjtGeom.mjGEOM_MESH)).any())


@cache
def _compare() -> tuple[str, ...]:
    """Return the names of the arrays that have to be equal in all worlds."""
    model = mujoco.MjModel.from_xml_string("<mujoco/>")
    names = [name for name in dir(model) if isinstance(getattr(model, name, None), np.ndarray)]
    return tuple(
        name for name in names if name not in PER_WORLD and not name.startswith(WITHOUT_EFFECT)
    )


def structure_of(built: CompiledScene) -> Hashable:
    """Return a key that is equal for scenes which one batch can simulate."""
    model, scene, layout = built.model, built.scene, closure_layout(built)
    digest = hashlib.sha256()
    for name in _compare():
        digest.update(np.ascontiguousarray(getattr(model, name)).tobytes())
    option: list[Any] = [
        np.array(getattr(model.opt, name)).tolist() for name in dir(model.opt) if name[0] != "_"
    ]
    law = (layout.threshold, layout.samples, layout.stops, layout.bodies, layout.substeps)
    key = (digest.hexdigest(), repr(option), law, scene.success, scene.control_period)
    return (key, *sorted(built.switching), *sorted(built.stiffness))


def groups(built: Sequence[CompiledScene]) -> list[list[int]]:
    """Group scenes by structure; return the indices of each group, in order."""
    members: dict[Hashable, list[int]] = {}
    for index, item in enumerate(built):
        members.setdefault(structure_of(item), []).append(index)
    return list(members.values())


class Worlds(NamedTuple):
    """Scenes of one structure, nw of them."""

    base: CompiledScene
    """One of them."""
    arrays: dict[str, Array]
    """What differs between their models, by the names in ``mjModel``, (nw, …)."""
    numbers: dict[str, Array]
    """What may differ besides; see ``_numbers``, (nw, …)."""

    @property
    def size(self) -> int:
        """Number of worlds."""
        return len(self.numbers["start"])


def world(built: CompiledScene) -> Worlds:
    """Return a compiled scene as a world."""
    return Worlds(built, {}, {name: value[None] for name, value in _numbers(built).items()})


def join(parts: Sequence[Worlds]) -> Worlds:
    """Return worlds of one structure together, in their order."""
    arrays = {}
    for name in PER_WORLD:
        values = [part.arrays.get(name, getattr(part.base.model, name)[None]) for part in parts]
        if any(not np.array_equal(value, values[0][:1]) for value in values):
            rows = zip(values, parts, strict=True)
            arrays[name] = np.concatenate(
                [np.broadcast_to(item, (part.size, *item.shape[1:])) for item, part in rows]
            )
    numbers = {
        name: np.concatenate([part.numbers[name] for part in parts]) for name in parts[0].numbers
    }
    return Worlds(parts[0].base, arrays, numbers)


def of_family(family: Family, members: Sequence[int]) -> Worlds:
    """Return rows of a family as worlds.

    Args:
        family: The family.
        members: Numbers of rows, as for ``Family.arrays``.
    """
    rows = np.array(members)
    contact = {name: values[rows] for name, values in family.contact.items()}
    static, kinetic = contact["static_friction"], contact["dynamic_friction"]
    switches = (static != kinetic)[:, None]
    base = family.compiled(int(rows[switches.argmax()]))
    numbers = {
        name: np.broadcast_to(value, (len(rows), *value.shape))
        for name, value in _numbers(base).items()
    }
    described = numbers["stiffness"] > 0.0
    numbers |= {
        "stiffness": np.where(described, contact["stiffness"][:, None], 0.0),
        "critical": np.where(switches, numbers["critical"], -1.0),
        "coefficients": np.broadcast_to(
            np.stack([static, kinetic], axis=-1)[:, None], numbers["coefficients"].shape
        ),
        "friction": static,
    }
    arrays = {name: array for name, array in family.arrays(rows).items() if name in PER_WORLD}
    return Worlds(base, arrays, numbers)


def _numbers(built: CompiledScene) -> dict[str, Array]:
    """Return the values that may differ between scenes of one structure, without model arrays.

    nd actuators, nb bodies, np pairs: increments and limits of targets and their start, (nd,);
    their largest lead at contact of a body, negative without a grip force, (nd, nb); samples of the
    longest closure, and without motion at which it ends; the start state, gravity and
    ``actuator_biasprm`` with what the time step adds, (nd, 10); described
    stiffness of pairs, 0 for those that keep theirs, and their slip speed, negative where friction
    is constant, (np,); static and kinetic friction of pairs that switch, (np, 2); static friction
    of hand and object.
    """
    scene, model, layout = built.scene, built.model, closure_layout(built)
    leads = -np.ones((model.nu, len(layout.bodies)))
    for row, bodies, values in zip(leads, layout.stops, layout.leads, strict=True):
        row[list(bodies[: len(values)])] = values
    pairs = [model.pair(index).name for index in range(model.npair)]
    contacts = [built.switching.get(name) for name in pairs]
    still = max(round(scene.settling_time / scene.control_period), 1)
    samples = plan_samples(scene)
    return {
        "increments": layout.increments, "lower": layout.lower, "upper": layout.upper,
        "targets": np.array(start_targets(scene)), "leads": leads, "samples": np.array(samples),
        "idle_limit": np.array(still if scene.duration is None else samples + 1),
        "start": model.key_qpos[0], "gravity": model.opt.gravity.copy(),
        "actuator_bias": lagging_as_described(model, layout.actuator_bias, model.opt.timestep),
        "stiffness": np.array([built.stiffness.get(name, 0.0) for name in pairs]),
        "critical": np.array(
            [contact.critical_velocity if contact else -1.0 for contact in contacts]
        ),
        "coefficients": np.array(
            [
                (contact.static_friction, contact.kinetic_friction) if contact else (0.0, 0.0)
                for contact in contacts
            ]
        ).reshape(-1, 2),
        "friction": np.array(built.contact.static_friction),
    }  # fmt: skip


def object_address(model: mujoco.MjModel) -> int:
    """Return the address of the object's pose in ``qpos``."""
    return int(model.joint(names.OBJECT).qposadr[0])


def test_loads(built: CompiledScene) -> Array:
    """Return gravity at the samples of the hold test, (n, 3) [m/s²]."""
    success = built.scene.success
    if success is None or success.gravity is None:
        return np.zeros((0, 3))
    steps = gravity_steps(success, built.model.opt.gravity.copy(), built.scene.control_period)
    samples, loads = zip(*steps, strict=True)
    return np.repeat(loads, samples, axis=0)
