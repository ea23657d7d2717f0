"""Scenes that the backend supports, and groups of scenes that one batch can simulate.

Worlds of a batch share the structure of one compiled model; arrays in which MuJoCo Warp keeps one
value per world may differ. ``structure_of`` is the rest of a model: scenes with equal structures
belong together.
"""

from __future__ import annotations

import hashlib
from collections.abc import Hashable, Iterator, Sequence
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import mujoco
import numpy as np

from softgrasp.description import GraspScene
from softgrasp.errors import BackendUnavailable, BuildError
from softgrasp.mechanics import Array
from softgrasp.model import names
from softgrasp.plugin_api import CompiledScene, closure_layout, gravity_steps, palm_body

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
    for field, feature in _unsupported(scene):
        raise BuildError(f"{field}: the backend warp has no {feature}; use the backend mujoco")


def _unsupported(scene: GraspScene) -> Iterator[tuple[str, str]]:
    """Yield (field, feature) of what the backend lacks."""
    if scene.hand.soft_fingers:
        yield "hand.soft_fingers", "soft fingers"
    if scene.object.elasticity is not None:
        yield "object.elasticity", "deformable objects"
    if scene.object_mount != "free":
        yield "object_mount", f"{scene.object_mount} objects"
    if scene.objects:
        yield "objects", "further objects"
    if scene.surroundings:
        yield "surroundings", "tables and other surroundings"
    if scene.arm is not None:
        yield "arm", "arms"
    if scene.sequence:
        yield "sequence", "motion sequences"
    if scene.lift is not None:
        yield "lift", "lifts"
    if scene.sensors:
        yield "sensors", "sensors"
    if scene.success is not None and not scene.success.is_plain:
        yield "success", "motions, directions and pulls in a hold test, only a ramp of gravity"
    if scene.actuation == "prescribed":
        yield "actuation", "prescribed joints"
    if scene.solver.cone != "elliptic":
        yield "solver.cone", f"{scene.solver.cone} friction cones"
    yield from _unsupported_closure(scene)


def _unsupported_closure(scene: GraspScene) -> Iterator[tuple[str, str]]:
    closure = scene.closure
    if closure.stop_force is not None:
        yield "closure.stop_force", "actuators that stop at a force"
    if closure.torque_limit is not None:
        yield "closure", "actuators that stop at a torque"
    if closure.sense == "sensor":
        yield "closure.sense", "contacts detected by sensors"


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


@cache
def _compared() -> tuple[str, ...]:
    """Return the names of the arrays that have to be equal in all worlds."""
    model = mujoco.MjModel.from_xml_string("<mujoco/>")
    names = [name for name in dir(model) if isinstance(getattr(model, name, None), np.ndarray)]
    return tuple(
        name for name in names if name not in PER_WORLD and not name.startswith(WITHOUT_EFFECT)
    )


def structure_of(built: CompiledScene) -> Hashable:
    """Return what two scenes have in common where one batch can simulate both."""
    model, scene, layout = built.model, built.scene, closure_layout(built)
    digest = hashlib.sha256()
    for name in _compared():
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
    for index, one in enumerate(built):
        members.setdefault(structure_of(one), []).append(index)
    return list(members.values())


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
