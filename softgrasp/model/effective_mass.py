"""Inverse effective mass of contact pairs as MuJoCo's contact model uses it.

A stiffness in N/m has to be converted with it (decision 0004). Under the ``discrete`` integrator
the engine scales its estimate by Σ J²/M̂ᵢᵢ over Σ J²/Mᵢᵢ, with J the contact's row of the Jacobian
and M̂ = M + h·D + h²·K (verified to eight digits). J depends on the contact point, so each pair is
evaluated in the posture in which the closing hand first reaches the object.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

import mujoco
import numpy as np
from numpy.typing import NDArray

from softgrasp.description.closure_base import ClosingMotion
from softgrasp.description.hand import Hand
from softgrasp.description.scene import GraspScene
from softgrasp.mechanics.contact_stiffness import implicit_inertia
from softgrasp.mechanics.transforms import Array
from softgrasp.model import names
from softgrasp.model.compile import scratch_data

POSTURES = 12
"""Number of postures from open to closed in which each pair is evaluated."""
FAR = 1.0
"""Largest distance of two geoms that is computed [m]."""
MAX_CACHED = 16
"""Number of hands whose closing motion is kept."""


class Touch(NamedTuple):
    """Closest points of two geoms in one posture."""

    distance: float
    """Distance [m]; negative where they overlap."""
    posture: int
    """Index of the posture."""
    points: Array
    """Nearest points of the first and the second geom, (2, 3) [m], world frame."""


# Inverse masses


def inverse_masses(
    model: mujoco.MjModel,
    pairs: Sequence[tuple[str, str]],
    postures: Array,
    steps: Sequence[float] = (),
) -> Array:
    """Compute the inverse effective mass of each pair [1/kg], (np,), or (ns, np) for some steps.

    Args:
        model: The compiled scene.
        pairs: Names of two geoms each.
        postures: Rows of ``qpos`` from open to closed, (n, nq).
        steps: Time steps, (ns,) [s]; that of the model by default.
    """
    if not steps:
        return np.asarray(inverse_masses(model, pairs, postures, [float(model.opt.timestep)])[0])
    geoms = [(model.geom(first).id, model.geom(second).id) for first, second in pairs]
    bodies = model.geom_bodyid[np.array(geoms, dtype=int).reshape(-1, 2)]
    weights = np.asarray(model.body_invweight0[:, 0][bodies].sum(axis=1))
    if model.opt.integrator != mujoco.mjtIntegrator.mjINT_DISCRETE:
        return np.tile(weights, (len(steps), 1))
    touches = first_touches(model, geoms, postures)
    return np.asarray(weights * touch_rows(model, geoms, postures, touches).ratios(steps))


def closing_postures(model: mujoco.MjModel, scene: GraspScene, start: Array) -> Array:
    """Compute postures of the empty hand from open to closed, rows of ``qpos`` (n, nq).

    Joints move at their rates to their limits; soft fingers are in equilibrium with their pressure,
    without gravity.
    """
    targets, joints = _closing_joints(scene.hand, scene.closing_motion)
    postures = np.tile(start, (POSTURES, 1))
    for name, values in joints.items():
        postures[:, model.joint(name).qposadr[0]] = values
    rigid = len(scene.hand.actuators) - len(scene.hand.soft_fingers)
    for column, digit in enumerate(scene.hand.soft_fingers, start=rigid):
        about_y = names.soft_joint_names(digit, "y")
        for name, joint in zip(about_y, digit.finger.joints, strict=True):
            bend = joint.pressure_gain / joint.stiffness
            postures[:, model.joint(name).qposadr[0]] = bend * targets[:, column]
    return postures


@lru_cache(maxsize=MAX_CACHED)
def _closing_joints(hand: Hand, motion: ClosingMotion) -> tuple[Array, dict[str, list[float]]]:
    """Return the targets (n, nd) and the joint variables of the postures from open to closed."""
    times = np.linspace(0.0, motion.time, POSTURES)
    rates, (low, high) = np.array(motion.rates), np.array(motion.limits).T
    targets = np.clip(np.array(motion.start) + times[:, None] * rates, low, high)
    postures = [hand.posture(target) for target in targets.tolist()]
    return targets, {name: [posture[name] for posture in postures] for name in postures[0]}


class TouchRows(NamedTuple):
    """Terms of the effective masses of pairs, in the posture in which each first touches."""

    squares: Array
    """J², the squared row of the Jacobian, (…, np, nv)."""
    inertia: Array
    """Diagonal of M, (…, np, nv) [kg·m² or kg]."""
    stiffness: Array
    """Of the joints, which an implicit step adds, (…, np, nv)."""
    damping: Array
    """The same, (…, np, nv)."""

    def ratios(self, steps: Sequence[float]) -> Array:
        """Compute inverse masses with over without the implicit inertia, (ns, …, np) [–].

        Args:
            steps: Time steps, (ns,) [s].
        """
        bare = (self.squares / self.inertia).sum(axis=-1)
        ratios = []
        for step in steps:
            added = implicit_inertia(step, self.stiffness, self.damping)
            implicit = (self.squares / (self.inertia + added)).sum(axis=-1)
            ratios.append(np.divide(implicit, bare, out=np.ones_like(bare), where=bare > 0.0))
        return np.stack(ratios)


def first_touches(
    model: mujoco.MjModel, geoms: Sequence[tuple[int, int]], postures: Array
) -> list[Touch]:
    """Return where pairs of geoms first touch, or come closest.

    Args:
        model: The compiled scene.
        geoms: Indices of two geoms each, (np, 2).
        postures: Rows of ``qpos`` from open to closed, (n, nq).
    """
    data = scratch_data(model)
    touches: dict[int, Touch] = {}
    for index, posture in enumerate(postures):
        data.qpos[:] = posture
        mujoco.mj_kinematics(model, data)
        for pair_index, pair in enumerate(geoms):
            best = touches.get(pair_index)
            if best is not None and best.distance <= 0.0:
                continue
            points = np.zeros(6)
            distance = float(mujoco.mj_geomDistance(model, data, *pair, FAR, points))
            if best is not None and distance <= 0.0:
                # the points of before the overlap, in which they coincide
                touches[pair_index] = best._replace(distance=distance)
            elif best is None or distance < best.distance:
                touches[pair_index] = Touch(distance, index, points.reshape(2, 3))
    return list(touches.values())


def touch_rows(
    model: mujoco.MjModel,
    geoms: Sequence[tuple[int, int]],
    postures: Array,
    touches: Sequence[Touch],
) -> TouchRows:
    """Evaluate pairs of geoms in the postures in which they first touch.

    Args:
        model: The compiled scene.
        geoms: Indices of two geoms each, (np, 2).
        postures: Rows of ``qpos`` from open to closed, (n, nq).
        touches: Where they touch, (np,).
    """
    data = scratch_data(model)
    rows = TouchRows(*(np.zeros((len(geoms), model.nv)) for _ in TouchRows._fields))
    for index in sorted({touch.posture for touch in touches}):
        data.qpos[:] = postures[index]
        mujoco.mj_forward(model, data)
        full = np.zeros((model.nv, model.nv))
        mujoco.mj_fullM(model, data, full)
        diagonals = (np.diag(full), *_implicit_springs(model, data))
        for pair_index, touch in enumerate(touches):
            if touch.posture == index:
                squares = _row(model, data, geoms[pair_index], touch) ** 2
                for array, row in zip(rows, (squares, *diagonals), strict=True):
                    array[pair_index] = row
    return rows


def _row(model: mujoco.MjModel, data: mujoco.MjData, pair: tuple[int, int], touch: Touch) -> Array:
    """Compute the row of the Jacobian along the line between two geoms, (nv,)."""
    displacement = touch.points[1] - touch.points[0]
    length = float(np.linalg.norm(displacement))
    if length == 0.0:  # they touch at the start, or never
        displacement = data.geom_xpos[pair[1]] - data.geom_xpos[pair[0]]
        length = float(np.linalg.norm(displacement)) or 1.0
    rows = []
    for geom, point in zip(pair, touch.points, strict=True):
        jacobian = np.zeros((3, model.nv))
        mujoco.mj_jac(model, data, jacobian, None, point, model.geom_bodyid[geom])
        rows.append(displacement / length @ jacobian)
    return np.asarray(rows[1] - rows[0])


# Implicit inertia


def _implicit_springs(model: mujoco.MjModel, data: mujoco.MjData) -> tuple[Array, Array]:
    """Compute stiffness and damping of the joints, which an implicit step adds, (nv,) each.

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
    return gain, rate


def _ends_at_rest(model: mujoco.MjModel) -> NDArray[np.bool_]:
    """Mask of servos that can only pull on a tendon, (nu,).

    The engine ignores a servo whose force is at a limit, as it is for these in a hand at rest.
    """
    pulls = (model.actuator_forcerange[:, 0] == 0.0) & (model.actuator_forcelimited != 0)
    on_tendon = model.actuator_trntype == mujoco.mjtTrn.mjTRN_TENDON
    return np.asarray(pulls & on_tendon, dtype=bool)


def actuator_moments(model: mujoco.MjModel, data: mujoco.MjData) -> Array:
    """Compute the moment arms of actuators, d(length)/dq, (nu, nv) [m or rad]."""
    return _dense_rows(
        model, data.actuator_moment, data.moment_rownnz, data.moment_rowadr, data.moment_colind
    )


def tendon_moments(model: mujoco.MjModel, data: mujoco.MjData) -> Array:
    """Compute the moment arms of tendons, d(length)/dq, (nt, nv) [m or rad]."""
    return _dense_rows(
        model, data.ten_J, model.ten_J_rownnz, model.ten_J_rowadr, model.ten_J_colind
    )


def _dense_rows(
    model: mujoco.MjModel, values: Array, counts: Array, addresses: Array, columns: Array
) -> Array:
    """Convert sparse rows over the degrees of freedom to dense ones, (n, nv)."""
    rows = np.zeros((len(counts), model.nv))
    if rows.size:
        mujoco.mju_sparse2dense(rows, values.ravel(), counts, addresses, columns.ravel())
    return rows
