"""Small motions of a planar finger about its rest: their matrices, and the slowest of them."""

from __future__ import annotations

import math
from typing import NamedTuple

import mujoco
import numpy as np
from scipy.linalg import eigh

from softgrasp.continuum.statics import PlanarChain, rest
from softgrasp.description.soft_finger import SoftFinger
from softgrasp.mechanics.transforms import Array
from softgrasp.model.soft_finger import finger_model


class SmallMotion(NamedTuple):
    """Inertia and stiffness about rest under the finger's own weight, M·q̈ + C·q̇ + K·q = 0."""

    inertia: Array
    """M [kg·m²], (n, n)."""
    slopes: Array
    """K, of springs and weight [N·m/rad], (n, n)."""

    @property
    def rate(self) -> float:
        """Angular frequency of the slowest mode without dampers [rad/s]."""
        return math.sqrt(float(eigh(self.slopes, self.inertia, eigvals_only=True)[0]))


class LinearMode(NamedTuple):
    """The slowest mode with its damping."""

    frequency: float
    """At which it swings, ω·√(1 − ζ²)/2π [Hz]; 0 where it does not swing."""
    ratio: float
    """Damping over critical damping, ζ [–]."""

    @property
    def decay(self) -> float:
        """ζ·ω, at which it dies away [1/s]."""
        swing = 2.0 * math.pi * self.frequency
        return self.ratio * swing / math.sqrt(1.0 - self.ratio**2) if self.ratio < 1.0 else math.nan


def small_motion(finger: SoftFinger, stiffness: Array | None = None) -> SmallMotion:
    """The matrices of small motions: closed-form statics and MuJoCo's inertia.

    Args:
        finger: A planar finger.
        stiffness: Of its springs [N·m/rad], (n,); its own where not given.
    """
    springs = joint_stiffnesses(finger) if stiffness is None else stiffness
    chain, model = PlanarChain.of(finger), finger_model(finger)
    shape = rest(springs, chain.weight, np.zeros(1))
    data = mujoco.MjData(model)
    data.qpos[:] = shape.angles
    mujoco.mj_forward(model, data)
    inertia = np.zeros((model.nv, model.nv))
    mujoco.mj_fullM(model, data, inertia)
    return SmallMotion(inertia, shape.slopes)


def joint_stiffnesses(finger: SoftFinger) -> Array:
    """Springs of a finger [N·m/rad], (n,)."""
    return np.array([joint.stiffness for joint in finger.joints])


def linear_mode(finger: SoftFinger, timestep: float = 0.0) -> LinearMode:
    """The slowest mode of a finger with all of its damping.

    With a time step, that of engines that take springs at the beginning of a step and dampers at
    its end, (M + h·C)·v⁺ = M·v − h·K·q and q⁺ = q + h·v⁺: an eigenvalue μ of the step stands for
    the exponent ln(μ)/h.

    Args:
        finger: A planar finger.
        timestep: h [s]; 0 for the motion itself.
    """
    inertia, slopes = small_motion(finger)
    damping = np.diag([joint.damping for joint in finger.joints])
    count = len(damping)
    whole, none = np.eye(count), np.zeros((count, count))
    if timestep > 0.0:
        resisting = inertia + timestep * damping
        pull = -timestep * np.linalg.solve(resisting, slopes)
        keep = np.linalg.solve(resisting, inertia)
        step = np.block([[whole + timestep * pull, timestep * keep], [pull, keep]])
        exponents = np.log(np.linalg.eigvals(step).astype(complex)) / timestep
    else:
        pull, drag = (-np.linalg.solve(inertia, matrix) for matrix in (slopes, damping))
        exponents = np.linalg.eigvals(np.block([[none, whole], [pull, drag]])).astype(complex)
    slowest = exponents[int(np.abs(exponents).argmin())]
    ratio = float(-slowest.real / abs(slowest))
    return LinearMode(abs(float(slowest.imag)) / (2.0 * math.pi), ratio)
