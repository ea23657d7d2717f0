"""Equilibria as loads grow from zero: the path of solutions from the unloaded state, and buckling.

``follow`` traces the solutions q(λ) of F(q, λ) = 0, where λ is the fraction of all loads, by
pseudo-arclength continuation (Keller 1977; Riks 1979), which passes folds. Where the path becomes
unstable without a fold (bifurcation, such as that of a straight column) it goes on along the branch
that leaves in the direction of the null vector, so the result is the stable branch beyond the
buckling load, not the straight solution.

Stability is that of the overdamped motion, with damping proportional to stiffness: the smallest
real part of the eigenvalues of D^-½ K D^-½, where K = −∂F/∂q and D is the stiffness of the joints.
It is 1 where no load acts and 0 at a critical load. For loads with a potential K is the Hessian of
the energy, and the eigenvalues are real.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import scipy

from softgrasp.mechanics.transforms import Array

TOLERANCE = 1e-13
"""Largest residual force over the largest stiffness of its kind [rad or m]."""
ROUNDING = 1e3 * TOLERANCE
"""Residual that is accepted where rounding does not allow less."""
NEWTON_STEPS = 25
"""Newton steps from a predicted state; a shorter step is taken where they do not suffice."""
CORRECTION = 0.3
"""Largest distance of a solution from its prediction [rad], as the sum over all joints."""
ALIGNMENT = 0.8
"""Smallest cosine between successive tangents."""
FIRST_STEP, MIN_STEP, MAX_STEP = 1.0, 1e-7, 4.0
"""Steps along the path [rad, in the metric of ``_Path``]."""
BRANCH_STEPS = (0.05, 0.01, 0.002)
"""First step along a branch from a bifurcation [rad]; smaller ones where it passes the load."""
MAX_STEPS = 500
"""Number of steps along the path after which it is given up."""
NUDGE = 1e-6
"""Change of a joint for central differences [rad or m]."""
BISECTIONS, CONTINUOUS = 7, 0.1
"""Halvings of a step after which the eigenvalue has to be this fraction of that at its begin; else
the end of the step is on another branch."""
SMALL = 1e-4
"""Eigenvalue that counts as zero at a critical load [–]."""
NEUTRAL = 1e-7
"""Negative eigenvalue that is rounding, where a buckled shape may rotate about its axis [–]."""
Forces = Callable[[Array, float], Array]
"""Unbalanced forces (n,) at joint positions (n,) and a load factor, in which they are affine."""
Stiffness = Callable[[Array, float], Array]
"""−∂F/∂q, (n, n), at joint positions (n,) and a load factor."""


@dataclass(frozen=True)
class PathPoint:
    """A solution on a load path.

    Args:
        positions: Joint positions [rad or m], (n,).
        load_factor: Fraction of all loads.
        eigenvalue: Smallest one of the stiffness over that of the joints [–]; above 0 if stable.
        critical_load: Load factor at which the path from the unloaded state first became unstable,
            at a fold or a bifurcation; NaN where it did not.
        converged: Whether the target load was reached; otherwise the point is the stable one with
            the largest load.
    """

    positions: Array
    load_factor: float
    eigenvalue: float
    critical_load: float = math.nan
    converged: bool = True

    @property
    def stable(self) -> bool:
        """Whether small displacements decay, or stay where the shape may rotate freely."""
        return self.eigenvalue > -NEUTRAL


def follow(
    forces: Forces,
    joint_stiffness: Array,
    *,
    stiffness: Stiffness | None = None,
    target: float = 1.0,
    until_critical: bool = False,
) -> PathPoint:
    """Follow the equilibria from the unloaded state q = 0 to a load.

    Args:
        forces: Unbalanced forces on the joints.
        joint_stiffness: Of the springs of the joints [N·m/rad or N/m], (n,), above 0.
        stiffness: Derivative of the forces with opposite sign; central differences by default.
        target: Load factor to reach.
        until_critical: Stop at the first critical load instead of continuing beyond it.

    Returns:
        The first stable solution at the target load along the path. If the path reaches the load
        only in an unstable state, that state.
    """
    path = _Path(forces, joint_stiffness, stiffness or differences(forces), target)
    return path.run(until_critical)


def solve_near(
    forces: Forces, start: Array, joint_stiffness: Array, *, stiffness: Stiffness | None = None
) -> PathPoint | None:
    """Solve for the equilibrium near some joint positions at full load; None where there is none.

    Args:
        forces: As of ``follow``.
        start: Joint positions nearby, (n,).
        joint_stiffness: As of ``follow``.
        stiffness: As of ``follow``.
    """
    path = _Path(forces, joint_stiffness, stiffness or differences(forces), 1.0)
    return path.near(start)


def differences(forces: Forces) -> Stiffness:
    """Return the stiffness −∂F/∂q by central differences.

    Args:
        forces: Function of positions (n,) and load factor that returns the forces (n,).
    """

    def stiffness(positions: Array, load_factor: float) -> Array:
        nudges = NUDGE * np.eye(len(positions))
        columns = [
            forces(positions - nudge, load_factor) - forces(positions + nudge, load_factor)
            for nudge in nudges
        ]
        return np.stack(columns, axis=1) / (2.0 * NUDGE)

    return stiffness


@dataclass(frozen=True)
class _State:
    """Point of the path with its unit tangent in scaled coordinates, (n + 1,)."""

    positions: Array
    load_factor: float
    tangent: Array
    eigenvalue: float
    mode: Array
    """Real part of the eigenvector of the smallest eigenvalue, in scaled coordinates, (n,)."""


class _Path:
    """Continuation in y = √n q, whose norm is the sum of n equal joint angles."""

    def __init__(
        self, forces: Forces, joint_stiffness: Array, stiffness: Stiffness, target: float
    ) -> None:
        self._forces, self._stiffness, self._target = forces, stiffness, target
        self._root = np.sqrt(joint_stiffness)
        self._per_length = math.sqrt(len(joint_stiffness))
        self._joint_stiffness = joint_stiffness

    def run(self, until_critical: bool) -> PathPoint:
        zero = np.zeros(len(self._root))
        state = self._state(zero, 0.0, np.append(zero, 1.0))
        best, step, critical = state, FIRST_STEP, math.nan
        for _ in range(MAX_STEPS):
            ahead = self._advance(state, step)
            crossed = ahead is not None and state.eigenvalue > -NEUTRAL >= ahead.eigenvalue
            point = self._critical(state, ahead) if ahead is not None and crossed else None
            if ahead is None or (crossed and point is None):
                step *= 0.5
                if step < MIN_STEP:
                    break
                continue
            if point is not None:
                critical = point.load_factor if math.isnan(critical) else critical
                if until_critical:
                    return self._point(point, critical, True)
                if best.load_factor < point.load_factor:
                    best = point
                if not state.tangent[-1] * ahead.tangent[-1] < 0.0:
                    branch = self._branch(point)
                    if branch is not None:
                        state, step = branch, BRANCH_STEPS[0]
                        continue
            if ahead.load_factor == self._target:
                return self._point(ahead, critical, True)
            state, step = ahead, min(2.0 * step, MAX_STEP)
            if state.eigenvalue > -NEUTRAL and state.load_factor > best.load_factor:
                best = state
        return self._point(best, critical, False)

    def near(self, start: Array) -> PathPoint | None:
        positions = self._newton(start, 1.0, None)[0]
        if positions is None:
            return None
        eigenvalue, _ = self._lowest(positions, 1.0)
        return PathPoint(positions, 1.0, eigenvalue)

    def _point(self, state: _State, critical: float, converged: bool) -> PathPoint:
        return PathPoint(state.positions, state.load_factor, state.eigenvalue, critical, converged)

    def _advance(self, state: _State, step: float) -> _State | None:
        """Take a step along the tangent, but not beyond the target load."""
        rise, left = float(state.tangent[-1]), self._target - state.load_factor
        if 0.0 < left <= step * rise:
            return self._predicted(state, left / rise, fixed_load=True)
        ahead = self._predicted(state, step, fixed_load=False)
        if ahead is None or left * (self._target - ahead.load_factor) > 0.0:
            return ahead
        # the path curves beyond the target load
        fraction = left / (ahead.load_factor - state.load_factor)
        guess = state.positions + fraction * (ahead.positions - state.positions)
        positions, _ = self._newton(guess, self._target, None)
        if positions is None or self._distance(positions, guess) > CORRECTION:
            return None
        return self._state(positions, self._target, state.tangent)

    def _distance(self, first: Array, second: Array) -> float:
        return float(np.linalg.norm(first - second)) * self._per_length

    def _predicted(self, state: _State, step: float, *, fixed_load: bool) -> _State | None:
        """Predict along the tangent and correct; None where the correction is too large."""
        moved = step * state.tangent
        guess = state.positions + moved[:-1] / self._per_length
        load_factor = self._target if fixed_load else state.load_factor + float(moved[-1])
        row = None if fixed_load else state.tangent
        positions, load_factor = self._newton(guess, load_factor, row)
        if positions is None or self._distance(positions, guess) > CORRECTION:
            return None
        ahead = self._state(positions, load_factor, state.tangent)
        return None if float(ahead.tangent @ state.tangent) < ALIGNMENT else ahead

    def _newton(
        self, positions: Array, load_factor: float, row: Array | None
    ) -> tuple[Array | None, float]:
        """Solve F = 0 at a load, or on the plane through the start that is normal to ``row``."""
        for iteration in range(NEWTON_STEPS + 1):
            forces = self._forces(positions, load_factor)
            residual = float(np.abs(forces / self._joint_stiffness).max())
            if residual <= TOLERANCE:
                return positions, load_factor
            if not math.isfinite(residual) or iteration == NEWTON_STEPS:
                break
            change = self._solved(
                positions, load_factor, np.append(forces / self._joint_stiffness, 0.0), row
            )
            if not np.isfinite(change).all():
                break
            size = float(np.linalg.norm(change[:-1]))
            if size <= 1e-14 or (size <= 1e-12 and residual <= ROUNDING):
                return positions, load_factor
            if size > 2.0:
                break
            positions = positions + change[:-1] / self._per_length
            load_factor += float(change[-1])
        return (positions, load_factor) if residual <= ROUNDING else (None, load_factor)

    def _solved(
        self, positions: Array, load_factor: float, right: Array, row: Array | None
    ) -> Array:
        """Solve the linear equations of the path for a change of (y, λ), (n + 1,)."""
        count = len(positions)
        matrix = np.zeros((count + 1, count + 1))
        stiffness = self._stiffness(positions, load_factor)
        matrix[:-1, :-1] = stiffness / self._joint_stiffness[:, None] / self._per_length
        matrix[:-1, -1] = -self._loads(positions) / self._joint_stiffness
        matrix[-1] = np.append(np.zeros(count), 1.0) if row is None else row
        try:
            return np.asarray(np.linalg.solve(matrix, right))
        except np.linalg.LinAlgError:
            return np.full(count + 1, np.nan)

    def _loads(self, positions: Array) -> Array:
        return np.asarray(self._forces(positions, 1.0) - self._forces(positions, 0.0))

    def _state(self, positions: Array, load_factor: float, before: Array) -> _State:
        """Add the unit tangent, in the direction of the one before, and the eigenvalue."""
        right = np.append(np.zeros(len(positions)), 1.0)
        tangent = self._solved(positions, load_factor, right, before)
        eigenvalue, mode = self._lowest(positions, load_factor)
        size = float(np.linalg.norm(tangent))
        tangent = tangent / size if math.isfinite(size) and size else before
        return _State(positions, load_factor, tangent, eigenvalue, mode)

    def _lowest(self, positions: Array, load_factor: float) -> tuple[float, Array]:
        """Return the smallest real part of the eigenvalues, and its vector."""
        stiffness = self._stiffness(positions, load_factor)
        scaled = stiffness / np.outer(self._root, self._root)
        if np.abs(scaled - scaled.T).max() <= 1e-7 * np.abs(scaled).max():
            values, vectors = np.linalg.eigh(0.5 * (scaled + scaled.T))
            return float(values[0]), _lowest_mode(values, vectors)
        values, vectors = np.linalg.eig(scaled)
        index = int(values.real.argmin())
        return float(values[index].real), np.asarray(vectors[:, index].real)

    def _critical(self, stable: _State, unstable: _State) -> _State | None:
        """Bisect the step between a stable and an unstable state to where the eigenvalue is 0.

        None where it is 0 nowhere between them: they are on different branches.
        """
        moved = (unstable.positions - stable.positions) * self._per_length
        whole = float(np.append(moved, unstable.load_factor - stable.load_factor) @ stable.tangent)

        def at(step: float) -> _State:
            ahead = self._predicted(stable, step, fixed_load=False)
            return unstable if ahead is None else ahead

        low, high, point = 0.0, whole, stable
        for _ in range(BISECTIONS):
            middle = 0.5 * (low + high)
            ahead = at(middle)
            if ahead.eigenvalue > -NEUTRAL:
                low, point = middle, ahead
            else:
                high = middle
        jumps = point.eigenvalue > CONTINUOUS * max(stable.eigenvalue, 10.0 * SMALL)
        if jumps or not at(low).eigenvalue > -NEUTRAL >= at(high).eigenvalue:
            return None
        root = scipy.optimize.brentq(
            lambda step: at(step).eigenvalue + NEUTRAL,
            low,
            high,
            xtol=1e-12 * whole,
            maxiter=60,
            disp=False,
        )
        point = at(float(root))
        return point if abs(point.eigenvalue) < SMALL else None

    def _branch(self, point: _State) -> _State | None:
        """Go a little way from a bifurcation along its null vector; None where it leads nowhere."""
        mode = point.mode / self._root
        mode = np.append(mode / np.linalg.norm(mode), 0.0)
        sign = 1.0 if point.mode.sum() >= 0.0 else -1.0
        tangent = sign * mode
        for step in BRANCH_STEPS:
            guess = point.positions + step * tangent[:-1] / self._per_length
            positions, load_factor = self._newton(guess, point.load_factor, tangent)
            if positions is not None and load_factor < self._target:
                return self._state(positions, load_factor, tangent)
        return None


def _lowest_mode(values: Array, vectors: Array) -> Array:
    """Return the eigenvector of the smallest eigenvalue; of several one by the first joint."""
    same = vectors[:, values - values[0] <= 1e-6 * max(abs(float(values[0])), 1.0)]
    if same.shape[1] == 1:
        return np.asarray(vectors[:, 0])
    sizes = np.linalg.norm(same, axis=1)
    joint = int(np.flatnonzero(sizes >= 0.99 * sizes.max())[0])
    return np.asarray(same @ same[joint])
