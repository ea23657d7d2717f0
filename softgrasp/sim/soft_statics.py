"""Static equilibrium of a soft finger under loads, without time stepping.

``equilibrium`` follows the rest shapes of MuJoCo's model while the loads grow from zero
(``continuum.load_path``), so the shape is the stable one that a slowly loaded finger takes, also
beyond its buckling load. ``robot_equilibrium`` does the same for continuum robots. The other
functions prepare fingers with a weight at the tip and with all of their damping.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypedDict, Unpack

import mujoco
import numpy as np
from numpy.typing import ArrayLike

from softgrasp.continuum.load_path import NEUTRAL, PathPoint, follow, solve_near
from softgrasp.continuum.rld import refine
from softgrasp.continuum.settling import from_webots
from softgrasp.continuum.statics import GRAVITY, PlanarChain, pressed, rest
from softgrasp.description.calibration import FingerRelease
from softgrasp.description.robot import Robot
from softgrasp.description.scene import STANDARD_GRAVITY
from softgrasp.description.soft_finger import SoftFinger, SoftLink
from softgrasp.errors import DescriptionError, SoftgraspWarning, did_you_mean
from softgrasp.mechanics.actuation import actuation_forces
from softgrasp.mechanics.transforms import Array
from softgrasp.model.robot import (
    bend_joints,
    robot_model,
    segment_actuator_names,
    slide_joints,
    twist_joints,
)
from softgrasp.model.soft_finger import TIP, finger_model

RICHARDSON = 4.0 / 3.0
"""Error over the change of a value of second order when the number of joints doubles."""


@dataclass(frozen=True)
class Equilibrium:
    """A finger at rest, in its base frame: straight along +x, z up.

    Args:
        joint_angles: Positive towards −z [rad], shape (n,); of a spatial finger, or one that twists
            or stretches [m], a number for each of its ``freedoms``.
        tip_position: [m], shape (3,).
        tip_angle: Rotation of the tip [rad]; about y for a planar finger, positive towards −z; of
            the finger's axis for one that leaves the plane.
        residual: Largest residual joint moment [N·m] (force of a stretch [N]).
        converged: Whether the residual is rounding error; otherwise the shape is that under the
            largest fraction of the loads for which there was a stable one.
        discretisation_error: Distance of the tip from that of the continuous beam, by Richardson's
            rule from a chain with twice as many joints on the same branch [m]; NaN where it was not
            requested, one of the two did not converge, or the finer one is not stable alike.
        min_eigenvalue: Smallest eigenvalue of the Hessian of the energy over the stiffness of the
            joints [–]: 1 without loads, 0 at a critical load.
        buckling_factor: Fraction of the loads at which the straight finger's branch became unstable
            (buckling or snap-through); NaN where it is stable up to the full loads.
    """

    joint_angles: Array
    tip_position: Array
    tip_angle: float
    residual: float
    converged: bool
    discretisation_error: float = math.nan
    min_eigenvalue: float = math.nan
    buckling_factor: float = math.nan

    @property
    def stable(self) -> bool:
        """Whether the finger returns to this shape from nearby ones."""
        return self.min_eigenvalue > -NEUTRAL


class TipLoads(TypedDict, total=False):
    """Loads on a finger that is clamped at its base; base frame."""

    tip_force: ArrayLike
    """Force at the tip that keeps its direction, (3,) [N]."""
    tip_moment: ArrayLike
    """Moment at the tip, (3,) [N·m]."""
    tip_mass: float
    """Mass at the tip [kg]; acts only with gravity."""
    pressure: float
    """Pressure [Pa]; bends each joint by its ``pressure_gain``."""
    tension: float
    """Tension of the tendon along the finger [N]; bends each joint by its ``tendon_arm``."""
    joint_moments: ArrayLike
    """Motor moments in the joints [N·m], one for all or (n,)."""
    gravity: bool
    """Whether gravity acts on the links, towards −z, as by default."""


def equilibrium(
    finger: SoftFinger, *, error_estimate: bool = True, **loads: Unpack[TipLoads]
) -> Equilibrium:
    """Compute the rest shape of a finger that is clamped at its base.

    The shapes are followed while all loads grow in proportion from zero, through folds, where the
    finger snaps through. Where a straight shape buckles, the stable branch is taken: of the two
    sides of a planar finger that on which the joints bend by positive angles, towards −z.

    Args:
        finger: The finger.
        error_estimate: Whether to solve a chain of twice as many joints, too, for
            ``discretisation_error``.
        loads: Those of ``TipLoads``; none but gravity by default.

    Raises:
        DescriptionError: A load is no finite number or vector, or the mass is negative.
        BuildError: MuJoCo refuses the finger.
    """
    acting = _Loads.of(**loads)
    finger = finger.at_pressure(acting.pressure)
    chain = _Chain(finger, acting)
    point = follow(chain.forces, chain.joint_stiffness, stiffness=chain.stiffness)
    rest = chain.result(point)
    _warn_of_large_rotations(finger, rest)
    if not (error_estimate and rest.converged):
        return rest
    twice = _Chain(refine(finger), acting.halved())
    start = twice.halves_of(finger, rest.joint_angles)
    finer = solve_near(twice.forces, start, twice.joint_stiffness, stiffness=twice.stiffness)
    if finer is None or finer.stable != point.stable:
        return rest
    gap = float(np.linalg.norm(twice.result(finer).tip_position - rest.tip_position))
    return replace(rest, discretisation_error=RICHARDSON * gap)


def buckling_factor(
    finger: SoftFinger, *, limit: float = 100.0, **loads: Unpack[TipLoads]
) -> float:
    """Compute the factor on all loads at which a finger first becomes unstable.

    Above 1 the finger carries its loads; at the factor it buckles or snaps through. Gravity grows
    with the other loads.

    Args:
        finger: The finger.
        limit: Largest factor that is tried.
        loads: Those of ``TipLoads``.

    Returns:
        The factor; infinity where the finger is stable up to ``limit``, NaN where it was not
        possible to follow its shapes that far.

    Raises:
        DescriptionError: A load is no finite number or vector, or the limit is not above 0.
        BuildError: MuJoCo refuses the finger.
    """
    if not 0.0 < limit < math.inf:
        raise DescriptionError(f"expected a number above 0, found {limit}", field="limit")
    acting = _Loads.of(**loads)
    chain = _Chain(finger.at_pressure(acting.pressure), acting)
    point = follow(
        chain.forces,
        chain.joint_stiffness,
        stiffness=chain.stiffness,
        target=limit,
        until_critical=True,
    )
    carries = point.converged and math.isnan(point.critical_load)
    return math.inf if carries else point.critical_load


@dataclass(frozen=True)
class _Loads:
    """Loads on a finger, checked."""

    force: Array
    moment: Array
    gravity: Array
    pressure: float
    tension: float
    joint_moments: ArrayLike

    @classmethod
    def of(
        cls,
        tip_force: ArrayLike = (0.0, 0.0, 0.0),
        tip_moment: ArrayLike = (0.0, 0.0, 0.0),
        tip_mass: float = 0.0,
        pressure: float = 0.0,
        tension: float = 0.0,
        joint_moments: ArrayLike = 0.0,
        gravity: bool = True,
    ) -> _Loads:
        force, moment = (np.asarray(vector, dtype=float) for vector in (tip_force, tip_moment))
        for name, vector in (("tip_force", force), ("tip_moment", moment)):
            if vector.shape != (3,) or not np.isfinite(vector).all():
                raise DescriptionError(f"expected three finite numbers, found {vector}", field=name)
        if not (np.isfinite(tip_mass) and tip_mass >= 0.0):
            raise DescriptionError(
                f"expected a number at least 0, found {tip_mass}", field="tip_mass"
            )
        down = np.array(STANDARD_GRAVITY) if gravity else np.zeros(3)
        return cls(force + tip_mass * down, moment, down, pressure, tension, joint_moments)

    def halved(self) -> _Loads:
        """Repeat motor moments for the halves of joints, each of which is twice as stiff."""
        moments = np.asarray(self.joint_moments, dtype=float)
        return replace(self, joint_moments=moments.repeat(2) if moments.ndim else moments)


def _warn_of_large_rotations(finger: SoftFinger, rest: Equilibrium) -> None:
    """Warn where a joint has rotated farther than a finger can."""
    bends = [freedom != "stretch" for _, freedom in finger.freedoms]
    largest = float(np.abs(rest.joint_angles[bends]).max())
    if largest > np.pi:
        warnings.warn(
            f"finger '{finger.name}': expected joints that turn by less than half a turn, found "
            f"{math.degrees(largest):.0f}°; the loads are beyond what the finger can be",
            SoftgraspWarning,
            stacklevel=3,
        )


class _Chain:
    """Forces on the joints of a finger's model under a fraction of its loads."""

    def __init__(self, finger: SoftFinger, loads: _Loads) -> None:
        self._finger, self._loads, self._model = finger, loads, finger_model(finger)
        self._data = mujoco.MjData(self._model)
        self._inner = actuation_forces(
            finger,
            pressure=loads.pressure,
            tension=loads.tension,
            joint_moments=loads.joint_moments,
        )
        self.joint_stiffness = np.array(self._model.jnt_stiffness, dtype=float)
        """Of the springs [N·m/rad or N/m], (n,)."""
        self._hinges = self._model.jnt_type == mujoco.mjtJoint.mjJNT_HINGE
        self._tip, self._root = self._model.site(TIP).id, self._model.jnt_bodyid[0]
        self._mass = float(self._model.body_subtreemass[self._root])

    def forces(self, angles: Array, load_factor: float) -> Array:
        """Sum the moments of springs, weight and loads about every joint [N·m]; zero at rest."""
        linear, angular, weight = self._jacobians(angles)
        loads = linear.T @ self._loads.force + angular.T @ self._loads.moment + self._inner
        loads = loads + self._mass * (weight.T @ self._loads.gravity)
        return np.asarray(load_factor * loads - self.joint_stiffness * angles)

    def stiffness(self, angles: Array, load_factor: float) -> Array:
        """Return −∂F/∂q of ``forces``, (n, n).

        A joint rotates what is beyond it: of two joints i before j the force f at a point with the
        Jacobian J adds f · (aᵢ × Jⱼ) to both entries, and a moment m adds m · (aᵢ × aⱼ) to that of
        the force on j.
        """
        linear, _, weight = self._jacobians(angles)
        axes = self._data.xaxis * self._hinges[:, None]
        pull = np.cross(self._loads.force, axes) @ linear
        pull += self._mass * (np.cross(self._loads.gravity, axes) @ weight)
        pull = np.triu(pull)
        geometric = pull + np.triu(pull, 1).T
        geometric += np.triu(np.cross(self._loads.moment, axes) @ axes.T, 1).T
        return np.asarray(np.diag(self.joint_stiffness) - load_factor * geometric)

    def _jacobians(self, angles: Array) -> tuple[Array, Array, Array]:
        """Return those of the tip and of the centre of mass at joint angles, (3, n) each."""
        model, data = self._model, self._data
        data.qpos[:] = angles
        mujoco.mj_kinematics(model, data)
        mujoco.mj_comPos(model, data)
        linear, angular = np.zeros((3, model.nv)), np.zeros((3, model.nv))
        weight = np.zeros((3, model.nv))
        mujoco.mj_jacSite(model, data, linear, angular, self._tip)
        mujoco.mj_jacSubtreeCom(model, data, weight, self._root)
        return linear, angular, weight

    def halves_of(self, finger: SoftFinger, angles: Array) -> Array:
        """Return joint angles of a finger of ``refine`` that has the shape of another one."""
        at = dict(zip(finger.freedoms, angles, strict=True))
        return np.array([0.5 * at[index // 2, axis] for index, axis in self._finger.freedoms])

    def result(self, point: PathPoint) -> Equilibrium:
        """Describe a solution."""
        angles = point.positions
        left = float(np.abs(self.forces(angles, 1.0)).max())
        x, y, z = self._data.site_xmat[self._tip].reshape(3, 3)[:, 0]
        freedoms = {freedom for _, freedom in self._finger.freedoms}
        in_plane_bends = [freedom == "y" for _, freedom in self._finger.freedoms]
        in_plane = freedoms <= {"y", "stretch"}
        angle = angles[in_plane_bends].sum() if in_plane else np.arctan2(np.hypot(y, z), x)
        return Equilibrium(
            joint_angles=angles,
            tip_position=self._data.site_xpos[self._tip].copy(),
            tip_angle=float(angle),
            residual=left,
            converged=point.converged,
            min_eigenvalue=point.eigenvalue,
            buckling_factor=point.critical_load,
        )


def blocked_force(finger: SoftFinger, pressures: ArrayLike) -> Array:
    """Compute the force of the tip on a plate that it touches while the finger is straight [N].

    The finger has no weight, and the plate no friction.

    Args:
        finger: A planar finger.
        pressures: [Pa], (n,).

    Returns:
        (n,); NaN without convergence.

    Raises:
        DescriptionError: The finger bends out of its plane, twists or stretches.
    """
    chain = PlanarChain.of(finger)
    springs = np.array([joint.stiffness for joint in finger.joints])
    gains = np.array([joint.pressure_gain for joint in finger.joints])
    plate = chain.tip(np.zeros(len(springs)))[1]
    rows = np.asarray(pressures, dtype=float)[:, None]
    moments, springs = rows * gains, springs * (1.0 + finger.stiffness_pressure * rows)
    return pressed(chain, springs, chain.weight.times(0.0), moments, plate).force


# Continuum robots.


@dataclass(frozen=True)
class RobotEquilibrium:
    """A continuum robot at rest, its root link fixed and its rigid joints at zero.

    Args:
        joint_positions: Of the joints of all cells, by their names [rad or m].
        link_positions: Origins of all links in the world, by their names [m], (3,).
        residual: Largest residual joint force over its stiffness [rad or m].
        converged: As of ``Equilibrium``.
        discretisation_error: Largest distance of a link from that of the continuous robot, by
            Richardson's rule from one with twice as many cells on the same branch [m]; NaN as of
            ``Equilibrium``.
        min_eigenvalue: As of ``Equilibrium``.
        buckling_factor: As of ``Equilibrium``.
    """

    joint_positions: dict[str, float]
    link_positions: dict[str, Array]
    residual: float
    converged: bool
    discretisation_error: float
    min_eigenvalue: float
    buckling_factor: float

    @property
    def stable(self) -> bool:
        """Whether the robot returns to this shape from nearby ones."""
        return self.min_eigenvalue > -NEUTRAL


def robot_equilibrium(
    robot: Robot,
    *,
    controls: Mapping[str, Sequence[float]] | None = None,
    forces: Mapping[str, ArrayLike] | None = None,
    gravity: bool = True,
    error_estimate: bool = True,
) -> RobotEquilibrium:
    """Compute the rest shape of a robot with bendables, as ``equilibrium`` does of a finger.

    Args:
        robot: The robot.
        controls: Tensions [N], pressures [Pa] or, where it has no actuators, bending moments [N·m]
            of bendables, by their names; others are 0.
        forces: Forces at the origins of links that keep their direction [N], world frame.
        gravity: Whether gravity acts, towards −z.
        error_estimate: Whether to solve a robot of twice as many cells, too.

    Raises:
        DescriptionError: There is no such bendable or link, or a load has another shape or is not
            finite.
        BuildError: The robot makes no model.
    """
    cells = _Cells(robot, controls or {}, forces or {}, gravity)
    point = follow(cells.forces, cells.joint_stiffness)
    rest, links = cells.result(point), [link.name for link in robot.links]
    if not (error_estimate and point.converged):
        return rest
    twice = _Cells(_twice(robot), controls or {}, forces or {}, gravity)
    start = cells.halves(point.positions)
    finer = solve_near(twice.forces, start, twice.joint_stiffness)
    if finer is None or finer.stable != point.stable:
        return rest
    there = twice.result(finer).link_positions
    gaps = [float(np.linalg.norm(there[name] - rest.link_positions[name])) for name in links]
    return replace(rest, discretisation_error=RICHARDSON * max(gaps))


def _twice(robot: Robot) -> Robot:
    """Return the robot with twice as many cells."""
    parts = tuple(
        part.replace(backbone=part.backbone.replace(links=2 * part.backbone.links))
        for part in robot.bendables
    )
    return robot.replace(bendables=parts)


class _Cells:
    """Forces on the joints of all cells of a robot under a fraction of its loads."""

    def __init__(
        self,
        robot: Robot,
        controls: Mapping[str, Sequence[float]],
        forces: Mapping[str, ArrayLike],
        gravity: bool,
    ) -> None:
        self._model = robot_model(robot)
        self._data = mujoco.MjData(self._model)
        self._links = [link.name for link in robot.links]
        self._gravity = np.array(STANDARD_GRAVITY) if gravity else np.zeros(3)
        self._groups: list[list[str]] = []
        """Joints of one kind and direction of a bendable, from its base outwards."""
        for part in robot.bendables:
            towards: dict[tuple[float, ...], list[str]] = {}
            for name, direction in bend_joints(part):
                towards.setdefault(tuple(direction), []).append(name)
            self._groups += [*towards.values(), slide_joints(part), twist_joints(part)]
        self._names = [name for group in self._groups for name in group]
        joints = [self._model.joint(name) for name in self._names]
        self._addresses = [int(joint.qposadr[0]) for joint in joints]
        self._freedoms = [int(joint.dofadr[0]) for joint in joints]
        self.joint_stiffness = np.array([float(joint.stiffness[0]) for joint in joints])
        """Of the springs [N·m/rad or N/m], (n,)."""
        self._controls = self._checked_controls(robot, controls)
        self._forces = self._checked_forces(forces)

    def _checked_controls(self, robot: Robot, controls: Mapping[str, Sequence[float]]) -> Array:
        parts = {part.name: part for part in robot.bendables}
        values = np.zeros(self._model.nu)
        for name, numbers in controls.items():
            if name not in parts:
                raise DescriptionError(f"no bendable '{name}'; {did_you_mean(name, parts)}")
            actuators = segment_actuator_names(parts[name])
            row = np.asarray(numbers, dtype=float)
            if row.shape != (len(actuators),) or not np.isfinite(row).all():
                raise DescriptionError(
                    f"expected {len(actuators)} finite numbers, found {numbers}",
                    field=f"controls of bendable '{name}'",
                )
            values[[self._model.actuator(actuator).id for actuator in actuators]] = row
        return values

    def _checked_forces(self, forces: Mapping[str, ArrayLike]) -> list[tuple[int, Array]]:
        checked = []
        for name, force in forces.items():
            if name not in self._links:
                raise DescriptionError(f"no link '{name}'; {did_you_mean(name, self._links)}")
            vector = np.asarray(force, dtype=float)
            if vector.shape != (3,) or not np.isfinite(vector).all():
                raise DescriptionError(
                    f"expected three finite numbers, found {vector}", field=f"force on '{name}'"
                )
            checked.append((int(self._model.body(name).id), vector))
        return checked

    def forces(self, positions: Array, load_factor: float) -> Array:
        """Sum the forces of springs, actuators, weight and loads on every joint; zero at rest."""
        model, data = self._model, self._data
        model.opt.gravity[:] = load_factor * self._gravity
        data.qpos[self._addresses], data.qvel[:] = positions, 0.0
        data.ctrl[:] = load_factor * self._controls
        mujoco.mj_forward(model, data)
        total = data.qfrc_smooth.copy()
        jacobian = np.zeros((3, model.nv))
        for body, force in self._forces:
            mujoco.mj_jacBody(model, data, jacobian, None, body)
            total += load_factor * (jacobian.T @ force)
        return np.asarray(total[self._freedoms])

    def halves(self, positions: Array) -> Array:
        """Return joint positions of a robot with twice as many cells that has the same shape."""
        values, parts, begin = np.asarray(positions), [np.zeros(0)], 0
        for group in self._groups:
            parts.append(0.5 * values[begin : begin + len(group)].repeat(2))
            begin += len(group)
        return np.concatenate(parts)

    def result(self, point: PathPoint) -> RobotEquilibrium:
        """Describe a solution."""
        left = self.forces(point.positions, 1.0) / self.joint_stiffness
        return RobotEquilibrium(
            joint_positions=dict(zip(self._names, point.positions.tolist(), strict=True)),
            link_positions={name: self._data.body(name).xpos.copy() for name in self._links},
            residual=float(np.abs(left).max()),
            converged=point.converged,
            discretisation_error=math.nan,
            min_eigenvalue=point.eigenvalue,
            buckling_factor=point.critical_load,
        )


# Fingers with a weight at the tip.


def damp_finger(release: FingerRelease) -> SoftFinger:
    """Return the finger with all of its damping: c + h·k where it was identified in Webots."""
    return from_webots(release.finger, release.webots_timestep or 0.0)


def solve_loaded_shape(release: FingerRelease) -> Array:
    """Compute joint angles at rest under the weight, in closed form, (n,) [rad].

    Raises:
        DescriptionError: There is no such shape near the straight finger.
    """
    chain = PlanarChain.of(release.finger)
    loads = chain.weight.plus(chain.at_tip((0.0, -GRAVITY * release.tip_mass)))
    springs = np.array([joint.stiffness for joint in release.finger.joints])
    angles = rest(springs, loads, np.zeros(1)).angles
    if not np.isfinite(angles).all():
        raise DescriptionError(
            f"expected a weight that the finger carries, found {release.tip_mass:g} kg",
            field="tip_mass",
        )
    return angles


def loaded_finger(finger: SoftFinger, mass: float) -> SoftFinger:
    """Return the finger with a weight at its tip as part of its last link.

    Args:
        finger: The finger.
        mass: Mass of the weight [kg].
    """
    last = finger.links[-1]
    together = last.mass + mass
    centers = zip(last.balance, finger.tip, strict=True)
    x, y, z = ((last.mass * link + mass * tip) / together for link, tip in centers)
    heavier = SoftLink(center=last.center, mass=together, size=last.size, mass_center=(x, y, z))
    return finger.replace(links=(*finger.links[:-1], heavier))
