"""How far a simulated finger is from the measured one; plain functions over the last axis.

Leading axes of what is simulated are particles; a number that is not one makes the whole fitness
``nan``, which optimisers take as a failure.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from softgrasp.description.calibration import CalibrationProblem
from softgrasp.description.soft_finger import SoftFinger
from softgrasp.mechanics.transforms import Array


def root_mean_square(left: Array) -> float:
    """Of what is left of a fit, in its own unit."""
    return float(np.sqrt(np.square(left).mean()))


def squared_angles(simulated: Array, measured: Array) -> Array:
    """Mean squared error of joint angles [rad²], (...,); eq (4) of Hadi et al. (2025).

    Args:
        simulated: [rad], (..., N).
        measured: [rad], (N,).
    """
    return np.asarray(np.square(simulated - measured).mean(axis=-1))


def squared_heights(simulated: Array, measured: Array) -> Array:
    """Mean squared error of heights of joint points [m²], (...,); as in their repository.

    There they are in pixels, and the last angle moves none of them.
    """
    return squared_angles(simulated, measured)


def settling_error(times: Array, counts: Array, time: Array, count: Array) -> Array:
    """|ΔT|·(1 + |Δn|), summed over loads [s], (...,); eq (5) of Hadi et al. (2025).

    Args:
        times: Simulated settling times [s], (..., L).
        counts: Simulated overshoots, (..., L).
        time: Measured [s], (L,).
        count: Measured, (L,).
    """
    return np.asarray((np.abs(times - time) * (1.0 + np.abs(counts - count))).sum(axis=-1))


def squared_trace(simulated: Array, measured: Array) -> Array:
    """Mean squared error of a whole tracked motion [m²], (...,)."""
    return squared_angles(simulated, measured)


def absolute_forces(simulated: Array, measured: Array) -> Array:
    """|ΔF| summed over pressures [N], (...,); eq (7) of Hadi et al. (2025)."""
    return np.asarray(np.abs(simulated - measured).sum(axis=-1))


def product_of_forces(simulated: Array, measured: Array) -> Array:
    """Product of |ΔF| over pressures, (...,), as in Hadi et al. (2025)'s repository.

    One pressure that is met exactly makes it zero, whatever the others are.
    """
    return np.asarray(np.abs(simulated - measured).prod(axis=-1))


def squared_forces(simulated: Array, measured: Array) -> Array:
    """Mean squared error of forces [N²], (...,)."""
    return squared_angles(simulated, measured)


# --------------------
# What is to be found: blocks of parameters, their bounds, and what they mean for the joints.


Kind = Literal["stiffness", "damping", "gain", "arm"]
STEEPEST = 4.0
"""Largest coefficient of a smooth stiffness: EI changes at most some fifty times."""


@dataclass(frozen=True)
class Block:
    """Parameters of one kind.

    Args:
        kind: ``stiffness``, ``damping`` or ``gain``; ``arm`` for a hydraulic arm.
        names: Short ones, such as ``k1``.
        unit: Of the first parameter.
        lower: Bounds, (p,).
        upper: Bounds, (p,).
        relative: Whether a parameter is a size, whose errors are reported in parts of itself, (p,).
        cells: Length of beam that each joint bends for [m], (n,); where the parameters are those
            of a beam, else None.
        places: Of the joints along the beam, from −1/2 to 1/2, (n,).
        units: Of each parameter where they are sizes of several kinds.
    """

    kind: Kind
    names: tuple[str, ...]
    unit: str
    lower: Array
    upper: Array
    relative: tuple[bool, ...]
    cells: Array | None
    positions: Array
    units: tuple[str, ...] = ()

    def of_joints(self, parameters: Array) -> Array:
        """Values joint by joint, (..., n), of parameters (..., p)."""
        if self.cells is None:
            shape = (*parameters.shape[:-1], len(self.positions))
            return np.broadcast_to(parameters, shape)
        exponent = np.zeros((*parameters.shape[:-1], len(self.positions)))
        for power in range(1, parameters.shape[-1]):
            exponent = exponent + parameters[..., power, None] * self.positions**power
        return np.asarray(parameters[..., :1] * np.exp(exponent) / self.cells)

    @property
    def middle(self) -> Array:
        """Where methods start, whatever the finger says of itself, (p,)."""
        logarithmic = (self.lower > 0.0) & np.array(self.relative)
        safe = np.where(logarithmic, self.lower, 1.0)
        return np.where(logarithmic, np.sqrt(safe * self.upper), 0.5 * (self.lower + self.upper))


def block_of(problem: CalibrationProblem, kind: Kind, model: str | None = None) -> Block:
    """The parameters of one kind.

    Args:
        problem: With its bounds.
        kind: Which.
        model: Of the stiffness, in place of the problem's own.
    """
    joints = len(problem.finger.joints)
    model = model or getattr(problem, f"{kind}_model")
    cells, positions = _cells(problem.finger)
    low, high = getattr(problem, f"{kind}_bounds")
    if kind != "stiffness" or model == "per-joint":
        count = joints if model == "per-joint" else 1
        letter, unit = {
            "stiffness": ("k", "N·m/rad"),
            "damping": ("c", "N·m·s/rad"),
            "gain": ("alpha", "m³"),
        }[kind]
        names = tuple(f"{letter}{number}" for number in range(1, joints + 1))
        names = names if model == "per-joint" else (letter,)
        ends = np.full(count, low), np.full(count, high)
        return Block(kind, names, unit, *ends, (True,) * count, None, positions)
    names = ("EI", "slope", "bow")[: 1 if model == "uniform" else 3]
    more = [STEEPEST] * (len(names) - 1)
    lower = np.array([low * cells.min(), *(-edge for edge in more)])
    upper = np.array([high * cells.max(), *more])
    relative = (True, *(False for _ in more))
    return Block(kind, names, "N·m²", lower, upper, relative, cells, positions)


def finger_values(finger: SoftFinger, kind: Kind) -> Array:
    """What a finger says of itself, joint by joint, (n,)."""
    field = {"stiffness": "stiffness", "damping": "damping", "gain": "pressure_gain"}[kind]
    return np.array([getattr(joint, field) for joint in finger.joints])


def with_values(finger: SoftFinger, kind: Kind, values: Array) -> SoftFinger:
    """The finger with other values, joint by joint."""
    field = {"stiffness": "stiffness", "damping": "damping", "gain": "pressure_gain"}[kind]
    pairs = zip(finger.joints, values.tolist(), strict=True)
    return finger.replace(joints=tuple(joint.replace(**{field: value}) for joint, value in pairs))


def _cells(finger: SoftFinger) -> tuple[Array, Array]:
    """Beam that each joint stands for: half way to its neighbours, as far at the ends."""
    along = np.array([joint.position[0] for joint in finger.joints])
    if len(along) == 1:
        return np.array([finger.tip[0] - along[0]]), np.zeros(1)
    gaps = np.diff(along)
    gaps = np.concatenate([gaps[:1], gaps, gaps[-1:]])
    positions = (along - along[0]) / (along[-1] - along[0]) - 0.5
    return 0.5 * (gaps[:-1] + gaps[1:]), positions
