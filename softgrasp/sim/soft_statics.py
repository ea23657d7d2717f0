"""Static equilibrium of a soft finger under loads, without time stepping.

``equilibrium`` solves the joint moments of MuJoCo's model by Newton's method, with loads applied in
steps. The other functions prepare fingers with a weight at the tip and with all of their damping.
"""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass, replace
from functools import partial

import mujoco
import numpy as np
from numpy.typing import ArrayLike

from softgrasp.continuum.rld import refined
from softgrasp.continuum.settling import from_webots
from softgrasp.continuum.statics import GRAVITY, PlanarChain, rest
from softgrasp.description.calibration import FingerRelease
from softgrasp.description.scene import STANDARD_GRAVITY
from softgrasp.description.soft_finger import SoftFinger, SoftLink
from softgrasp.errors import DescriptionError, SoftgraspWarning
from softgrasp.mechanics.actuation import actuation_forces
from softgrasp.mechanics.transforms import Array
from softgrasp.model.soft_finger import TIP, finger_model

RICHARDSON = 4.0 / 3.0
"""Error over the change of a value of second order when the number of joints doubles."""
NEWTON_STEPS = 60
"""Newton steps at one load before it is approached in smaller ones."""
MIN_LOAD_STEP = 1e-3
"""Smallest load step as a fraction of the load; below it there is no solution nearby."""
DIFFERENCE = 1e-6
"""Joint angle for central differences [rad]."""
TOLERANCE = 1e-13
"""Largest residual joint moment over the largest stiffness [rad]; of a stretch [m]."""
LONGEST_STEP = 0.5
"""Largest joint rotation in a Newton step [rad]."""


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
            largest fraction of the loads for which there was one.
        discretisation_error: Distance of the tip from that of the continuous beam, by Richardson's
            rule from a chain with twice as many joints [m]; NaN where it was not requested or one
            of the two did not converge.
    """

    joint_angles: Array
    tip_position: Array
    tip_angle: float
    residual: float
    converged: bool
    discretisation_error: float = math.nan


def equilibrium(
    finger: SoftFinger,
    *,
    tip_force: ArrayLike = (0.0, 0.0, 0.0),
    tip_moment: ArrayLike = (0.0, 0.0, 0.0),
    tip_mass: float = 0.0,
    pressure: float = 0.0,
    tension: float = 0.0,
    joint_moments: ArrayLike = 0.0,
    gravity: bool = True,
    error_estimate: bool = True,
) -> Equilibrium:
    """Compute the rest shape of a finger that is clamped at its base.

    Newton's method on MuJoCo's joint forces; a large load is applied in steps, so the shape is the
    one that is continuous with the straight finger.

    Args:
        finger: The finger.
        tip_force: Force at the tip that keeps its direction [N], base frame.
        tip_moment: Moment at the tip [N·m], base frame.
        tip_mass: Mass at the tip [kg]; acts only with gravity.
        pressure: Pressure [Pa]; bends each joint by its ``pressure_gain``.
        tension: Tension of the tendon along the finger [N]; bends each joint by its ``tendon_arm``.
        joint_moments: Motor moments in the joints [N·m], one for all or (n,).
        gravity: Whether gravity acts on the links, towards −z.
        error_estimate: Whether to solve a chain of twice as many joints, too, for
            ``discretisation_error``.

    Raises:
        DescriptionError: A load is no finite number or vector, or the mass is negative.
        BuildError: MuJoCo refuses the finger.
    """
    loads = {"tip_force": tip_force, "tip_moment": tip_moment}
    vectors = {name: np.asarray(value, dtype=float) for name, value in loads.items()}
    for name, vector in vectors.items():
        if vector.shape != (3,) or not np.isfinite(vector).all():
            raise DescriptionError(f"expected three finite numbers, found {vector}", field=name)
    if not (np.isfinite(tip_mass) and tip_mass >= 0.0):
        raise DescriptionError(f"expected a number at least 0, found {tip_mass}", field="tip_mass")
    driven = partial(actuation_forces, pressure=pressure, tension=tension)
    inner = driven(finger, joint_moments=joint_moments)
    down = np.array(STANDARD_GRAVITY) if gravity else np.zeros(3)
    force = vectors["tip_force"] + tip_mass * down
    loads_of = (force, vectors["tip_moment"], down)
    rest = _Balance(finger, inner, *loads_of).at_rest()
    _warn_of_large_rotations(finger, rest)
    if not error_estimate:
        return rest
    twice = refined(finger)
    inner = driven(twice, joint_moments=_for_halves(joint_moments))
    finer = _Balance(twice, inner, *loads_of).at_rest()
    if not (rest.converged and finer.converged):
        return rest
    gap = float(np.linalg.norm(finer.tip_position - rest.tip_position))
    return replace(rest, discretisation_error=RICHARDSON * gap)


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


def _for_halves(joint_moments: ArrayLike) -> Array:
    """Repeat joint moments for the halves of joints, each of which is twice as stiff."""
    moments = np.asarray(joint_moments, dtype=float)
    return moments.repeat(2) if moments.ndim else moments


class _Balance:
    """Equilibrium equations of a finger's joints under a fraction of its loads."""

    def __init__(
        self, finger: SoftFinger, joint_forces: Array, force: Array, moment: Array, gravity: Array
    ) -> None:
        self._finger, self._model = finger, finger_model(finger)
        self._data = mujoco.MjData(self._model)
        self._force, self._moment, self._gravity = force, moment, gravity
        self._inner = joint_forces
        slides = self._model.jnt_type == mujoco.mjtJoint.mjJNT_SLIDE
        stiffness = self._model.jnt_stiffness
        # moments relative to the largest rotational stiffness, forces to their spring
        self._scale = np.where(slides, stiffness, stiffness[~slides].max())
        self._tip = self._model.site(TIP).id

    def at_rest(self) -> Equilibrium:
        """Compute the rest shape by increasing the loads from zero."""
        angles, done, step = np.zeros(self._model.nv), 0.0, 1.0
        while done < 1.0:
            load_factor = min(done + step, 1.0)
            solution = self._newton(angles, load_factor)
            if solution is not None:
                angles, done, step = solution, load_factor, 2.0 * step
            elif step > MIN_LOAD_STEP:
                step *= 0.5
            else:
                break
        return self._result(angles, done)

    def _result(self, angles: Array, done: float) -> Equilibrium:
        left = float(np.abs(self._moments(angles, 1.0)).max())
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
            converged=done == 1.0,
        )

    def _newton(self, angles: Array, load_factor: float) -> Array | None:
        """Solve for the rest shape near some angles; None without convergence."""
        moments = self._moments(angles, load_factor)
        for _ in range(NEWTON_STEPS):
            if self._residual(moments) <= TOLERANCE:
                return angles
            step = np.linalg.solve(self._slopes(angles, load_factor), -moments)
            step *= min(1.0, LONGEST_STEP / float(np.abs(step).max()))
            for _halved in range(12):
                ahead = self._moments(angles + step, load_factor)
                if self._norm(ahead) < self._norm(moments):
                    break
                step *= 0.5
            else:
                # only rounding error is left, or there is no descent
                return angles if self._residual(moments) <= 1e3 * TOLERANCE else None
            angles, moments = angles + step, ahead
        return None

    def _residual(self, moments: Array) -> float:
        """Return the largest residual over stiffness [rad or m]."""
        return float(np.abs(moments / self._scale).max())

    def _norm(self, moments: Array) -> float:
        return float(np.linalg.norm(moments / self._scale))

    def _moments(self, angles: Array, load_factor: float) -> Array:
        """Sum the moments of springs, weight and loads about every joint [N·m]; zero at rest."""
        model, data = self._model, self._data
        model.opt.gravity[:] = load_factor * self._gravity
        data.qpos[:], data.qvel[:] = angles, 0.0
        mujoco.mj_forward(model, data)
        linear, angular = np.zeros((3, model.nv)), np.zeros((3, model.nv))
        mujoco.mj_jacSite(model, data, linear, angular, self._tip)
        loads = linear.T @ self._force + angular.T @ self._moment + self._inner
        return np.asarray(data.qfrc_passive - data.qfrc_bias + load_factor * loads)

    def _slopes(self, angles: Array, load_factor: float) -> Array:
        columns = []
        for index in range(len(angles)):
            change = np.zeros(len(angles))
            change[index] = DIFFERENCE
            ahead, behind = (self._moments(angles + sign * change, load_factor) for sign in (1, -1))
            columns.append((ahead - behind) / (2.0 * DIFFERENCE))
        return np.stack(columns, axis=1)


def damped_finger(release: FingerRelease) -> SoftFinger:
    """Return the finger with all of its damping: c + h·k where it was identified in Webots."""
    return from_webots(release.finger, release.webots_timestep or 0.0)


def loaded_shape(release: FingerRelease) -> Array:
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
    x, y, z = (
        (last.mass * balance_coordinate + mass * tip) / together
        for balance_coordinate, tip in zip(last.balance, finger.tip, strict=True)
    )
    heavier = SoftLink(
        center=last.center, mass=together, size=last.size, mass_center=(x, y, z)
    )  # fmt: skip
    return finger.replace(links=(*finger.links[:-1], heavier))
