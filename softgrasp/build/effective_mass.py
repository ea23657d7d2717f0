"""The inverse mass that MuJoCo's contact law works with, pair by pair.

Without it a stiffness in N/m cannot be asked for (decision 0004). Under the ``discrete`` integrator
the engine scales its own estimate by Σ J²/M̂ᵢᵢ over Σ J²/Mᵢᵢ, with J the contact's row of the
Jacobian and M̂ = M + h·D + h²·K (measured to eight digits). J depends on where and how two bodies
touch, so each pair is looked at in the posture in which the closing hand first reaches the object.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import NamedTuple

import mujoco
import numpy as np
from numpy.typing import NDArray

from softgrasp.build import names
from softgrasp.description.scene import GraspScene
from softgrasp.mechanics.contact import implicit_inertia
from softgrasp.mechanics.transforms import Array

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
