"""Objectives and parameters of a calibration.

Objectives compare simulated with measured values over the last axis; leading axes are particles.
A value that is NaN makes the whole objective NaN, which optimisers treat as a failure. Equation
numbers are those of Hadi et al. (2025).

A ``Block`` holds the parameters of one kind with their bounds, and maps them to joint values. A
beam model of the stiffness has the bending stiffness EI along the finger as the exponential of a
polynomial, k = EI(s)/cell length.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from softgrasp.description.calibration import CalibrationProblem
from softgrasp.description.soft_finger import SoftFinger
from softgrasp.io.finger_ensemble import FIELDS
from softgrasp.mechanics.transforms import Array

STIFFENING_UNIT = 1e-5
"""Unit of the stiffening by pressure: relative increase of the stiffness at 100 kPa [1/Pa]."""
MAX_STIFFENING = 0.9
"""Largest change of the stiffness at the highest measured pressure, relative [–]."""
STEEPEST = 4.0
"""Largest coefficient of a smooth stiffness; EI then varies by a factor of about fifty at most."""
LETTERS = {"stiffness": ("k", "N·m/rad"), "damping": ("c", "N·m·s/rad"), "gain": ("alpha", "m³")}
"""Symbol and unit of each kind of parameter of a joint."""

# Objectives


def root_mean_square(left: Array) -> float:
    """Compute the root mean square of residuals, in their unit; NaN of none."""
    return float(np.sqrt(np.square(left).mean())) if left.size else np.nan


def mean_squared_error(simulated: Array, measured: Array) -> Array:
    """Compute the mean squared error of values, in the square of their unit, (...,).

    Of joint angles it is eq 4 of Hadi et al. (2025), of the heights of joint points the objective
    of their repository, where heights are in pixels and the last angle changes none of them.

    Args:
        simulated: Simulated values, (..., N).
        measured: Measured values, (N,).
    """
    return np.asarray(np.square(simulated - measured).mean(axis=-1))


def settling_error(simulated: Array, measured: Array) -> Array:
    """Compute |ΔT|·(1 + |Δn|), summed over loads [s], (...,); eq 5 of Hadi et al. (2025).

    Args:
        simulated: Simulated settling times [s], then overshoots, (..., 2 L).
        measured: Measured ones, (2 L,).
    """
    late, miscounted = np.split(np.abs(simulated - measured), 2, axis=-1)
    return np.asarray((late * (1.0 + miscounted)).sum(axis=-1))


def absolute_forces(simulated: Array, measured: Array) -> Array:
    """Compute |ΔF| summed over pressures [N], (...,); eq 7 of Hadi et al. (2025)."""
    return np.asarray(np.abs(simulated - measured).sum(axis=-1))


def product_of_forces(simulated: Array, measured: Array) -> Array:
    """Compute the product of |ΔF| over pressures, (...,), as the code of Hadi et al. (2025).

    One pressure with an exact force makes it zero, whatever the others are.
    """
    return np.asarray(np.abs(simulated - measured).prod(axis=-1))


# Parameters


Kind = Literal["stiffness", "damping", "gain", "arm", "curves"]


@dataclass(frozen=True)
class Block:
    """Calibrated parameters of one kind, such as all stiffnesses, with their bounds.

    Args:
        kind: ``stiffness``, ``damping`` or ``gain``; ``arm`` of an arm, ``curves`` of a twin.
        names: Short names, such as ``k1``.
        unit: Unit of the first parameter.
        lower: Lower bounds, (p,).
        upper: Upper bounds, (p,).
        relative: Whether the error of a parameter is reported relative to its value, (p,).
        cells: Length of beam that each joint represents [m], (n,); None unless the parameters
            are those of a beam.
        positions: Positions of the joints along the beam, from −1/2 to 1/2, (n,).
        units: Unit of each parameter, where they differ.
        stiffens: Whether the last parameter is the stiffening by pressure, ``STIFFENING_UNIT``.
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
    stiffens: bool = False

    def stiffening(self, parameters: Array) -> Array | None:
        """Return the stiffening of parameters (..., p) [1/Pa], (...,); None where it has none."""
        return STIFFENING_UNIT * parameters[..., -1] if self.stiffens else None

    def of_joints(self, parameters: Array) -> Array:
        """Expand parameters (..., p) to values joint by joint, (..., n)."""
        if self.stiffens:
            parameters = parameters[..., :-1]
        shape = (*parameters.shape[:-1], len(self.positions))
        if self.cells is None:
            return np.broadcast_to(parameters, shape)
        exponent = np.zeros(shape)
        for power in range(1, parameters.shape[-1]):
            exponent = exponent + parameters[..., power, None] * self.positions**power
        return np.asarray(parameters[..., :1] * np.exp(exponent) / self.cells)

    def scale(self, parameters: Array) -> Array:
        """Return the scale of each parameter: its value, or 1 where errors are absolute, (p,)."""
        smallest = 1e-3 * (self.upper - self.lower)
        return np.where(self.relative, np.maximum(np.abs(parameters), smallest), 1.0)

    @property
    def middle(self) -> Array:
        """Middle of the bounds, geometric for positive ones: the start of all methods, (p,)."""
        logarithmic = (self.lower > 0.0) & np.array(self.relative)
        safe = np.where(logarithmic, self.lower, 1.0)
        return np.where(logarithmic, np.sqrt(safe * self.upper), 0.5 * (self.lower + self.upper))


def block_of(problem: CalibrationProblem, kind: Kind) -> Block:
    """Return the parameters of one kind with the bounds and the model of a problem."""
    joints = len(problem.finger.joints)
    model = getattr(problem, f"{kind}_model")
    cells, positions = _cells(problem.finger)
    low, high = getattr(problem, f"{kind}_bounds")
    if kind != "stiffness" or model == "per-joint":
        count = joints if model == "per-joint" else 1
        letter, unit = LETTERS[kind]
        numbers = range(1, joints + 1) if model == "per-joint" else [""]
        names = tuple(f"{letter}{number}" for number in numbers)
        ends = np.full(count, low), np.full(count, high)
        block = Block(kind, names, unit, *ends, (True,) * count, None, positions)
        return _stiffening(problem, block) if kind == "gain" else block
    names = ("EI", "slope", "bow")[: 1 if model == "uniform" else 3]
    more = [STEEPEST] * (len(names) - 1)
    lower = np.array([low * cells.min(), *(-edge for edge in more)])
    upper = np.array([high * cells.max(), *more])
    relative = (True, *(False for _ in more))
    return Block(kind, names, "N·m²", lower, upper, relative, cells, positions)


def _stiffening(problem: CalibrationProblem, block: Block) -> Block:
    """Add the stiffening by pressure to the gains of a problem that estimates it."""
    pressures = [x.pressure for x in problem.bends] + [x.pressure for x in problem.forces]
    highest = max(pressures, default=0.0)
    if not problem.stiffness_pressure or not highest:
        return block
    end = MAX_STIFFENING / (STIFFENING_UNIT * highest)
    return replace(
        block, names=(*block.names, "s"), lower=np.append(block.lower, -end),
        upper=np.append(block.upper, end), relative=(*block.relative, False), stiffens=True,
    )  # fmt: skip


def _cells(finger: SoftFinger) -> tuple[Array, Array]:
    """Return the beam length of each cell [m] and the position of its joint, (n,) each."""
    along = np.array([joint.position[0] for joint in finger.joints])
    if len(along) == 1:
        return np.array([finger.tip[0] - along[0]]), np.zeros(1)
    gaps = np.diff(along)
    gaps = np.concatenate([gaps[:1], gaps, gaps[-1:]])
    positions = (along - along[0]) / (along[-1] - along[0]) - 0.5
    return 0.5 * (gaps[:-1] + gaps[1:]), positions


def finger_values(finger: SoftFinger, kind: Kind) -> Array:
    """Return the values of one parameter of a finger, joint by joint, (n,)."""
    return np.array([getattr(joint, FIELDS[kind]) for joint in finger.joints])


def with_values(finger: SoftFinger, kind: Kind, values: Array) -> SoftFinger:
    """Return the finger with other values of one parameter, joint by joint."""
    pairs = zip(finger.joints, values.tolist(), strict=True)
    joints = (joint.replace(**{FIELDS[kind]: value}) for joint, value in pairs)
    return finger.replace(joints=tuple(joints))
