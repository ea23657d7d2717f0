"""Equations of motion of a scene with contact, and their integration over a control period.

MuJoCo computes mass matrix, bias, passive and actuator forces with contacts and constraints
disabled. Contact points and forces are those of ``collision`` and ``contact_law``; a joint limit is
a critically damped spring of ``LIMIT_RATE``. The state of the integrator is the displacement from
the start of the period in the tangent space of the joints, and the velocity, so that quaternions
stay unit quaternions. Prescribed joints move straight from one target to the next.
"""

from __future__ import annotations

import copy
from typing import Any, NamedTuple

import mujoco
import numpy as np
from numpy.typing import NDArray
from scipy.integrate import DOP853, RK23, RK45, OdeSolver, Radau

from softgrasp.errors import SimulationError
from softgrasp.mechanics import Array
from tests.reference_engine.collision import Points, crossed
from tests.reference_engine.contact_law import Forces, Material, contact_forces, contact_slopes
from tests.reference_engine.pairs import GeomPairs
from tests.reference_engine.settings import ReferenceSettings

METHODS: dict[str, type[OdeSolver]] = {"Radau": Radau, "RK23": RK23, "RK45": RK45, "DOP853": DOP853}
LIMIT_RATE = 1e3
"""Natural frequency of a joint at its limit [rad/s]."""
MARGIN = 2e-3
"""Gap up to which pairs are evaluated within a control period [m]; it grows where that is not
enough for the speeds."""
MAX_STEPS = 50_000
"""Steps of the integrator in a control period after which a run is given up."""
DISABLED = (
    int(mujoco.mjtDisableBit.mjDSBL_CONTACT)
    | int(mujoco.mjtDisableBit.mjDSBL_CONSTRAINT)
    | int(mujoco.mjtDisableBit.mjDSBL_SENSOR)
)
ROTATING = {int(mujoco.mjtJoint.mjJNT_FREE): 3, int(mujoco.mjtJoint.mjJNT_BALL): 0}
"""Offset of the three rotations among the degrees of freedom of a joint, by its type."""


class Touch(NamedTuple):
    """Overlapping contact points, m of them, with their forces; normals into the second geoms."""

    points: Points
    law: Material
    jacobian: Array
    """Velocity of the second bodies relative to the first over joint velocities, (m, 3, nv)."""
    spin_jacobian: Array
    """The same for the angular velocity about the normals, (m, nv)."""
    spin: Array
    """Relative angular velocity about the normals, (m,) [rad/s]."""
    forces: Forces


class ContactDynamics:
    """Equations of motion of a scene, and its state as MuJoCo's qpos and qvel."""

    def __init__(
        self,
        model: mujoco.MjModel,
        data: mujoco.MjData,
        pairs: GeomPairs,
        settings: ReferenceSettings,
        prescribed: NDArray[np.int64] | None = None,
    ) -> None:
        """Start from a state.

        Args:
            model: Compiled scene; a copy without contacts and constraints is used.
            data: Its state; updated.
            pairs: Pairs of geoms that can touch.
            settings: Integrator and tolerances.
            prescribed: Degrees of freedom with prescribed motion.
        """
        self.model, self.data = copy.copy(model), data
        self.model.opt.disableflags |= DISABLED
        self.pairs, self._settings = pairs, settings
        led = np.zeros(model.nv, dtype=bool)
        led[[] if prescribed is None else prescribed] = True
        self._led, self._free = np.flatnonzero(led), np.flatnonzero(~led)
        self._rotations = self._rotations_of_free_joints()
        self._tangent, self._start = np.zeros(model.nv), data.qpos.copy()
        self._led_speed = np.zeros(len(self._led))
        self._ancestors = _ancestors(model)
        self._tree_of_dof = model.body_rootid[model.dof_bodyid]
        self._limits = _JointLimits(self.model, data)
        self._active = pairs.none
        self._first_step: float | None = None
        self.touch = self._touch()
        """Contacts at the end of the last period."""

    def start(self) -> None:
        """Evaluate the present state of the data."""
        mujoco.mj_forward(self.model, self.data)
        self._active = self.pairs.near(self.data, MARGIN)
        self.touch = self._touch()

    def advance(self, duration: float, led_speed: Array | None = None) -> None:
        """Integrate over a period in which targets and loads are constant.

        Args:
            duration: Length of the period [s].
            led_speed: Velocities of the prescribed joints, (n,) [rad/s or m/s].

        Raises:
            SimulationError: The integrator cannot meet the tolerances.
        """
        data, margin = self.data, MARGIN
        self._start = data.qpos.copy()
        if led_speed is not None:
            self._led_speed = led_speed
            data.qvel[self._led] = led_speed
        velocity = data.qvel[self._free].copy()
        before = data.geom_xpos.copy(), data.geom_xmat.copy()
        while True:
            self._active = self.pairs.near(data, margin)
            self._evaluate(duration, self._integrated(velocity, duration))
            moved = self._moved(*before)
            if not moved > 0.5 * margin:
                break
            margin = 4.0 * moved
            data.geom_xpos[:], data.geom_xmat[:] = before
        data.time += duration

    def _moved(self, positions: Array, rotations: Array) -> float:
        """Return the largest displacement of any geom's points since an earlier state [m]."""
        data = self.data
        shift = np.linalg.norm(data.geom_xpos - positions, axis=1)
        rotated = np.linalg.norm(data.geom_xmat - rotations, axis=1) * self.model.geom_rbound
        return float((shift + rotated).max(initial=0.0))

    def _integrated(self, velocity: Array, duration: float) -> Array:
        """Return the state after a period, (2n,)."""
        settings, count = self._settings, len(self._free)
        state = np.concatenate([np.zeros(count), velocity])
        if not count:
            return state
        tolerance = np.repeat([settings.position_tolerance, settings.velocity_tolerance], count)
        options: dict[str, Any] = {"rtol": settings.rtol, "atol": tolerance}
        if settings.method == "Radau":
            options["jac"] = self._slope
        if self._first_step is not None:
            options["first_step"] = min(self._first_step, duration)
        solver: Any = METHODS[settings.method](self._rate, 0.0, state, duration, **options)
        for _ in range(MAX_STEPS):
            message = solver.step()
            if solver.status != "running":
                break
        if solver.status != "finished":
            raise SimulationError(
                f"reference engine: {settings.method} stopped {1e3 * solver.t:.6g} ms after "
                f"{self.data.time:.6g} s: {message or f'more than {MAX_STEPS} steps'}"
            )
        self._first_step = solver.h_abs
        return np.asarray(solver.y)

    # Equations of motion

    def _rate(self, time: float, state: Array) -> Array:
        """Return the time derivative of a state vector, (2n,)."""
        count = len(self._free)
        forces = self._evaluate(time, state)
        acceleration = np.zeros((1, self.model.nv))
        mujoco.mj_solveM(self.model, self.data, acceleration, forces[None])
        rate = np.concatenate([state[count:], acceleration[0, self._free]])
        for row in self._rotations:
            rate[row : row + 3] = _rotation_rate(
                state[row : row + 3], state[count + row : count + row + 3]
            )
        return rate

    def _evaluate(self, time: float, state: Array) -> Array:
        """Evaluate MuJoCo at a state and return all generalized forces, (nv,)."""
        model, data, count = self.model, self.data, len(self._free)
        self._tangent[self._free] = state[:count]
        self._tangent[self._led] = time * self._led_speed
        data.qpos[:] = self._start
        mujoco.mj_integratePos(model, data.qpos, self._tangent, 1.0)
        data.qvel[self._free] = state[count:]
        mujoco.mj_forward(model, data)
        self.touch = touch = self._touch()
        forces = data.qfrc_smooth + self._limits.forces(data)
        if len(touch.points.pair):
            on_second = touch.forces.friction + touch.forces.normal[:, None] * touch.points.normal
            forces += np.tensordot(on_second, touch.jacobian, 2)
            forces += touch.forces.spin @ touch.spin_jacobian
        return np.asarray(forces)

    def _touch(self) -> Touch:
        """Compute all contact points that overlap, with their forces."""
        data = self.data
        points = self.pairs.points(data, self._active)
        signs = self._signs(points.pair)
        rotations, motions = data.cdof[:, :3], data.cdof[:, 3:]
        # joint axes about the world's origin instead of the centre of mass of their tree
        motions = motions - crossed(rotations, data.subtree_com[self._tree_of_dof])
        moved = motions[None] + crossed(rotations[None], points.point[:, None, :])
        jacobian = (signs[:, :, None] * moved).transpose(0, 2, 1)
        spin_jacobian = signs * (points.normal @ rotations.T)
        spin = spin_jacobian @ data.qvel
        law = self.pairs.law(points.pair)
        forces = contact_forces(points.depth, points.normal, jacobian @ data.qvel, spin, law)
        return Touch(points, law, jacobian, spin_jacobian, spin, forces)

    def _signs(self, pair: NDArray[np.int64]) -> Array:
        """Return 1 or −1 where a joint moves the second or the first body of each pair, (m, nv)."""
        bodies = self.pairs.bodies[pair]
        return np.asarray(self._ancestors[bodies[:, 1]] - self._ancestors[bodies[:, 0]])

    def _slope(self, time: float, state: Array) -> Array:
        """Return the approximate Jacobian of ``_rate`` for Newton's method, (2n, 2n).

        It has contacts, servos, springs, dampers and limits, at constant geometry.
        """
        self._evaluate(time, state)
        model, data, touch, count = self.model, self.data, self.touch, len(self._free)
        stiffness, damping = self._servo_slopes()
        by_limits = self._limits.slopes(data)
        of_position = np.diag(stiffness + by_limits[0])
        of_velocity = np.diag(damping + by_limits[1])
        slopes = contact_slopes(touch.points.normal, touch.spin, touch.forces, touch.law)
        jacobian, about = touch.jacobian, touch.spin_jacobian
        transposed = jacobian.transpose(0, 2, 1)
        of_position += (transposed @ slopes.displacement @ jacobian).sum(axis=0)
        of_velocity += (transposed @ slopes.velocity @ jacobian).sum(axis=0)
        of_velocity += about.T @ (slopes.spin[:, None] * about)
        inertia = np.zeros((model.nv, model.nv))
        mujoco.mj_fullM(model, data, inertia)
        free = np.ix_(self._free, self._free)
        slope = np.zeros((2 * count, 2 * count))
        slope[:count, count:] = np.eye(count)
        forces = np.hstack([of_position[free], of_velocity[free]])
        slope[count:] = np.linalg.solve(inertia[free], forces)
        return slope

    def _servo_slopes(self) -> tuple[Array, Array]:
        """Return derivatives of joint forces by position and velocity, diagonals, (nv,) each."""
        model, data = self.model, self.data
        stiffness, damping = np.zeros(model.nv), -model.dof_damping.copy()
        stiffness[model.jnt_dofadr] -= model.jnt_stiffness
        low, high = model.actuator_forcerange.T
        force = data.actuator_force
        for index in range(model.nu):
            saturated = model.actuator_forcelimited[index] and not (
                low[index] < force[index] < high[index]
            )
            if model.actuator_trntype[index] == mujoco.mjtTrn.mjTRN_JOINT and not saturated:
                dof = model.jnt_dofadr[model.actuator_trnid[index, 0]]
                gear = model.actuator_gear[index, 0] ** 2
                stiffness[dof] += gear * model.actuator_biasprm[index, 1]
                damping[dof] += gear * model.actuator_biasprm[index, 2]
        return stiffness, damping

    def _rotations_of_free_joints(self) -> list[int]:
        """Return the indices in a state at which the rotations of free and ball joints begin."""
        model, position = self.model, {int(dof): row for row, dof in enumerate(self._free)}
        return [
            position[int(model.jnt_dofadr[joint]) + ROTATING[int(kind)]]
            for joint, kind in enumerate(model.jnt_type)
            if int(kind) in ROTATING and int(model.jnt_dofadr[joint]) in position
        ]


class _JointLimits:
    """Joint limits as one-sided, critically damped springs."""

    def __init__(self, model: mujoco.MjModel, data: mujoco.MjData) -> None:
        mujoco.mj_forward(model, data)
        inertia = np.zeros((model.nv, model.nv))
        mujoco.mj_fullM(model, data, inertia)
        joints = np.flatnonzero(model.jnt_limited)
        self._dofs, self._positions = model.jnt_dofadr[joints], model.jnt_qposadr[joints]
        self._low, self._high = model.jnt_range[joints].T
        moved = inertia[self._dofs, self._dofs]
        self._stiffness, self._damping = LIMIT_RATE**2 * moved, 2.0 * LIMIT_RATE * moved

    def _beyond(self, data: mujoco.MjData) -> tuple[Array, Array]:
        """Return excess beyond joint limits (nl,), and the restoring forces."""
        position = data.qpos[self._positions]
        beyond = np.maximum(position - self._high, 0.0) + np.minimum(position - self._low, 0.0)
        force = -self._stiffness * beyond - self._damping * data.qvel[self._dofs] * (beyond != 0.0)
        return beyond, np.where(force * beyond < 0.0, force, 0.0)

    def forces(self, data: mujoco.MjData) -> Array:
        """Return the joint forces, (nv,) [N·m or N]."""
        forces = np.zeros(data.qvel.shape)
        forces[self._dofs] = self._beyond(data)[1]
        return forces

    def slopes(self, data: mujoco.MjData) -> tuple[Array, Array]:
        """Return derivatives of the joint forces by position and velocity, (nv,) each."""
        on = np.where(self._beyond(data)[1] != 0.0, -1.0, 0.0)
        stiffness, damping = np.zeros(data.qvel.shape), np.zeros(data.qvel.shape)
        stiffness[self._dofs], damping[self._dofs] = on * self._stiffness, on * self._damping
        return stiffness, damping


def _ancestors(model: mujoco.MjModel) -> Array:
    """Return 1 where a degree of freedom moves a body, (nbody, nv)."""
    moves = np.zeros((model.nbody, model.nv))
    for body in range(1, model.nbody):
        moves[body] = moves[model.body_parentid[body]]
        first = int(model.body_dofadr[body])
        if first >= 0:
            moves[body, first : first + int(model.body_dofnum[body])] = 1.0
    return moves


def _rotation_rate(rotation: Array, angular: Array) -> Array:
    """Return the rate of a rotation vector at an angular velocity in the rotated frame, (3,)."""
    square = float(rotation @ rotation)
    half = 0.5 * np.sqrt(square)
    # (1 − (θ/2) cot(θ/2)) / θ², from its series near zero
    factor = 1.0 / 12.0 if square < 1e-6 else (1.0 - half / np.tan(half)) / square
    across = crossed(rotation, angular)
    return np.asarray(angular + 0.5 * across + factor * crossed(rotation, across))
