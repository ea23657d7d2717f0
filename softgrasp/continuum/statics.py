"""Statics of planar fingers: equilibria of many fingers at once by Newton's method.

Absolute angles of the links are sums of joint angles, and in them the potential of every weight and
tip force is a sum of one cosine and one sine per link: gradient and second derivative need no
kinematics. ``joint_positions`` is the forward kinematics, also of spatial fingers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from operator import itemgetter
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.spatial.transform import Rotation

from softgrasp.description.scene import STANDARD_GRAVITY
from softgrasp.description.soft_finger import SoftFinger
from softgrasp.errors import DescriptionError
from softgrasp.mechanics.transforms import Array

GRAVITY = -STANDARD_GRAVITY[2]
"""[m/s²]"""
STEPS = 40
"""Largest number of Newton steps at one load; then it is approached in smaller load steps."""
LONGEST_STEP = 0.5
"""Largest rotation of a joint in a Newton step [rad]."""
TOLERANCE = 1e-12
"""Largest residual moment over the largest stiffness [rad]."""
PRESSING = 8
"""Number of steps in which actuator moments grow where the tip is on a plate."""
PARTS = (1, 4, 16)
"""Numbers of load steps that are tried in succession where Newton's method does not converge."""
AXES = {"twist": "X", "y": "Y", "z": "Z"}
"""Rotation axis of each freedom."""


# Chains, loads and equilibria.


class Loads(NamedTuple):
    """Potential of loads over absolute angles φ of the links: Σ cosine·cos φ + sine·sin φ [J]."""

    cosine: Array
    """(..., n)."""
    sine: Array
    """(..., n)."""

    def plus(self, other: Loads) -> Loads:
        """Return the sum of two load potentials."""
        return Loads(self.cosine + other.cosine, self.sine + other.sine)

    def times(self, factor: float | Array) -> Loads:
        """Scale the loads; ``factor`` is broadcast against (..., n)."""
        return Loads(self.cosine * factor, self.sine * factor)


@dataclass(frozen=True)
class PlanarChain:
    """Geometry and masses of a planar finger.

    Args:
        steps: From each joint to the next one, the last to the tip, along x and z in the straight
            finger [m], (n, 2).
        centres: From each joint to the centre of mass of its link [m], (n, 2).
        masses: Masses of the moving links [kg], (n,).
    """

    steps: Array
    centres: Array
    masses: Array

    @classmethod
    def of(cls, finger: SoftFinger) -> PlanarChain:
        """Make the planar chain of a soft finger.

        Raises:
            DescriptionError: The finger bends out of its plane, twists or stretches.
        """
        axes = {axis for _, axis in finger.freedoms}
        if axes != {"y"}:
            raise DescriptionError(
                f"expected a finger that only bends in its plane, found one with freedoms "
                f"{', '.join(sorted(axes))}",
                field="finger",
            )
        joints = np.array([joint.position for joint in finger.joints])[:, ::2]
        points = np.vstack([joints, np.array(finger.tip)[::2]])
        centres = np.array([link.balance for link in finger.links[1:]])[:, ::2]
        masses = np.array([link.mass for link in finger.links[1:]])
        return cls(np.diff(points, axis=0), centres - joints, masses)

    @property
    def weight(self) -> Loads:
        """Return the load of the links' weight."""
        beyond = np.cumsum(self.masses[::-1])[::-1] - self.masses
        arms = self.steps * beyond[:, None] + self.centres * self.masses[:, None]
        return _vertical(GRAVITY * arms)

    def at_tip(self, force: ArrayLike) -> Loads:
        """Return the load of tip forces with constant direction, (..., 2) along x and z [N]."""
        along, up = np.moveaxis(np.asarray(force, dtype=float)[..., None, :], -1, 0)
        x, z = self.steps.T
        return Loads(-along * x - up * z, -along * z + up * x)

    def tip(self, angles: Array) -> Array:
        """Compute the tip relative to the first joint, along x and z [m], (..., 2)."""
        absolute_angles = np.cumsum(angles, axis=-1)
        cosine, sine = np.cos(absolute_angles), np.sin(absolute_angles)
        x, z = self.steps.T
        return np.stack([cosine @ x + sine @ z, cosine @ z - sine @ x], axis=-1)


class Rest(NamedTuple):
    """Equilibria of planar fingers under weight, loads and actuator moments."""

    angles: Array
    """Positive towards −z [rad], (..., n); NaN without convergence."""
    slopes: Array
    """Second derivative of the potential over the angles [N·m/rad], (..., n, n)."""


def rest(stiffness: Array, loads: Loads, moments: Array) -> Rest:
    """Compute equilibria under springs, loads and actuator moments.

    Args:
        stiffness: Joint stiffness [N·m/rad], (..., n).
        loads: Broadcast against it.
        moments: Actuator moments [N·m], broadcast against it.
    """
    arrays = np.broadcast_arrays(stiffness, loads.cosine, loads.sine, moments)
    shape, count = arrays[0].shape, arrays[0].shape[-1]
    k, cosine, sine, joint_moments = (array.reshape(-1, count) for array in arrays)
    angles = np.full(k.shape, np.nan)
    left = np.arange(len(k))
    for parts in PARTS:
        joint_angles = np.zeros((len(left), count))
        for part in range(1, parts + 1):
            load_fraction = part / parts
            joint_angles = _newton(
                joint_angles,
                k[left],
                Loads(cosine[left], sine[left]).times(load_fraction),
                joint_moments[left] * load_fraction,
            )
        angles[left] = joint_angles
        left = np.flatnonzero(np.isnan(angles).any(axis=1))
        if not left.size:
            break
    slopes = _slopes(angles, k, Loads(cosine, sine))
    return Rest(angles.reshape(shape), slopes.reshape(*shape, count))


class HungRig(NamedTuple):
    """Weights at the tip of a clamped finger, with systematic errors of the rig.

    All arrays are broadcast over B rigs.
    """

    masses: Array
    """Weights [kg], (l,) or (B, l)."""
    tilt: float | Array = 0.0
    """Rotation of the base, positive towards −z [rad]."""
    overhang: float | Array = 0.0
    """Distance of the weights beyond the tip, over the length of the last link [–]."""
    extra_weight: float | Array = 0.0
    """Weight of the finger beyond that of its description, relative [–]."""
    relative: bool = False
    """Whether angles are those beyond the angles without a weight."""
    hung_link: int | None = None
    """Number of the link at whose beginning the weights hang; None for the tip."""
    pull: float = 0.0
    """Angle between the force of the weights and the vertical, positive away from the clamp
    [rad]."""
    moment: float = 0.0
    """Moment on every joint, positive downwards [N·m]."""

    @property
    def absolute(self) -> HungRig:
        """The rig itself, or one with absolute angles and, as the last weight, none."""
        if not self.relative:
            return self
        masses = np.atleast_2d(self.masses)
        unloaded = np.concatenate([masses, np.zeros_like(masses[:, :1])], axis=1)
        return self._replace(masses=unloaded, relative=False)

    def angles(self, chain: PlanarChain, stiffness: Array) -> Array:
        """Compute joint angles for stiffness (B, n), (B, l, n) [rad]."""
        if self.relative:
            angles = self.absolute.angles(chain, stiffness)
            return np.asarray(angles[:, :-1] - angles[:, -1:])
        return rest(stiffness[:, None], self.loads(chain), np.full(1, self.moment)).angles

    def loads(self, chain: PlanarChain) -> Loads:
        """Return the loads of finger and weights, (B, l, n)."""
        steps = np.tile(chain.steps, (np.size(self.overhang), 1, 1))
        steps[:, -1] *= 1.0 + np.reshape(self.overhang, (-1, 1))
        if self.hung_link is not None:
            steps[:, self.hung_link :] = 0.0
        pull = GRAVITY * np.atleast_2d(self.masses)[..., None]
        weight_factor = 1.0 + np.reshape(self.extra_weight, (-1, 1, 1))
        along, across = steps[:, None, :, 0], steps[:, None, :, 1]
        down, away = pull * np.cos(self.pull), pull * np.sin(self.pull)
        cosine = weight_factor * chain.weight.cosine + down * across - away * along
        sine = weight_factor * chain.weight.sine - down * along - away * across
        c, s = (np.reshape(f(self.tilt), (-1, 1, 1)) for f in (np.cos, np.sin))
        return Loads(c * cosine + s * sine, c * sine - s * cosine)


def hung_slopes(
    chain: PlanarChain, stiffness: Array, rig: HungRig, changes: Sequence[Loads]
) -> tuple[Array, Array]:
    """Compute joint angles under weights, and their derivatives by implicit differentiation.

    Args:
        chain: The finger.
        stiffness: [N·m/rad], (n,).
        rig: Weights and errors of one rig.
        changes: Derivative of the loads of ``rig.absolute`` by each of c parameters, (1, l, n).

    Returns:
        Angles (l, n) [rad], and derivatives by stiffness, then by the parameters, (l, n, n + c).
    """
    if rig.relative:
        angles, slopes = hung_slopes(chain, stiffness, rig.absolute, changes)
        return angles[:-1] - angles[-1:], slopes[:-1] - slopes[-1:]
    state = rest(stiffness[None, None], rig.loads(chain), np.zeros(1))
    angles, slopes = state.angles[0], state.slopes[0]
    pushes = [_gradient(angles, Loads(change.cosine[0], change.sine[0])) for change in changes]
    by_stiffness = angles[:, :, None] * np.eye(len(stiffness))
    sides = np.concatenate([by_stiffness, *(push[:, :, None] for push in pushes)], axis=2)
    return angles, -np.linalg.solve(slopes, sides)


class Pressed(NamedTuple):
    """Equilibria of fingers whose tips press on a horizontal plate without friction."""

    angles: Array
    """[rad], (..., n); NaN without convergence."""
    force: Array
    """Force of the plate on the tip, upwards [N], (...,); 0 without contact."""


def pressed(
    chain: PlanarChain, stiffness: Array, loads: Loads, moments: Array, plate: ArrayLike
) -> Pressed:
    """Compute equilibria above a plate: free, or with the tip on the plate.

    The moments grow in steps from zero: a strongly driven finger also has equilibria on the plate
    that it cannot reach.

    Args:
        chain: The finger.
        stiffness: [N·m/rad], (..., n).
        loads: Loads besides the plate.
        moments: Actuator moments [N·m].
        plate: Height of the plate above the first joint [m], (...,).
    """
    arrays = np.broadcast_arrays(stiffness, loads.cosine, loads.sine, moments)
    shape = arrays[0].shape
    k, cosine, sine, joint_moments = (array.reshape(-1, shape[-1]) for array in arrays)
    weights = Loads(cosine, sine)
    heights = np.broadcast_to(np.asarray(plate, dtype=float), shape[:-1]).ravel()
    angles, force = rest(k, weights, np.zeros(1)).angles, np.zeros(len(k))
    for part in range(1, PRESSING + 1):
        partial_moments = joint_moments * (part / PRESSING)
        free = _newton(angles, k, weights, partial_moments)
        on_plate, push = _on_plate(chain, angles, force, k, weights, partial_moments, heights)
        # a plate that would have to pull has no contact
        off = (chain.tip(free)[:, 1] >= heights) & ~(push > 0.0)
        angles = np.where(off[:, None], free, on_plate)
        force = np.where(off, 0.0, push)
    force[np.isnan(angles).any(axis=1)] = np.nan
    return Pressed(angles.reshape(shape), force.reshape(shape[:-1]))


class PressedSlopes(NamedTuple):
    """Derivatives of the force of a plate on the tip; zero without contact."""

    stiffness: Array
    """[N/(N·m/rad)], (..., n)."""
    moments: Array
    """[N/(N·m)], (..., n)."""
    plate: Array
    """By the height of the plate [N/m], (...,)."""


def pressed_slopes(
    chain: PlanarChain, pressing: Pressed, stiffness: Array, loads: Loads
) -> PressedSlopes:
    """Differentiate the force of a plate on the tip at an equilibrium, implicitly.

    Args:
        chain: The finger.
        pressing: Equilibrium of ``pressed``, (b,).
        stiffness: [N·m/rad], (n,) or (b, n).
        loads: Loads besides the plate, (n,).
    """
    count = stiffness.shape[-1]
    weights = Loads(loads.cosine[None], loads.sine[None])
    whole = weights.plus(_vertical(-pressing.force[:, None, None] * chain.steps))
    lever = _gradient(pressing.angles, _vertical(chain.steps))
    system = np.zeros((len(lever), count + 1, count + 1))
    k = np.broadcast_to(stiffness, lever.shape)
    system[:, :count, :count] = _slopes(pressing.angles, k, whole)
    system[:, :count, count] = -lever
    system[:, count, :count] = lever
    # the force is the last unknown: its derivatives are the last row of the inverse
    last = np.zeros((len(lever), count + 1, 1))
    last[:, count] = 1.0
    row: Array = np.asarray(np.linalg.solve(np.swapaxes(system, 1, 2), last)[..., 0], dtype=float)
    row[~(pressing.force > 0.0)] = 0.0
    moments = row[:, :count]
    return PressedSlopes(-moments * pressing.angles, moments, row[:, count])


def height_slopes(chain: PlanarChain, state: Rest) -> Array:
    """Compute derivatives of the tip's height by stiffness at an equilibrium, (..., n) [m·rad/N·m].

    Args:
        chain: The finger.
        state: Equilibrium of ``rest``.
    """
    lever = _gradient(state.angles, _vertical(chain.steps))
    return -state.angles * np.linalg.solve(state.slopes, lever[..., None])[..., 0]


def _on_plate(
    chain: PlanarChain,
    angles: Array,
    force: Array,
    k: Array,
    loads: Loads,
    joint_moments: Array,
    heights: Array,
) -> tuple[Array, Array]:
    """Solve equilibrium and height together by Newton's method, from start angles and forces."""
    count = angles.shape[-1]
    lever = Loads(*_vertical(chain.steps))
    system = np.zeros((len(angles), count + 1, count + 1))
    for _ in range(STEPS):
        whole = loads.plus(_vertical(-force[:, None, None] * chain.steps))
        slope = _gradient(angles, lever)
        left = _gradient(angles, whole) + k * angles - joint_moments
        gap = chain.tip(angles)[:, 1] - heights
        small = (np.abs(left).max(axis=1) <= TOLERANCE * k.max(axis=1)) & (np.abs(gap) <= TOLERANCE)
        if (small | np.isnan(gap)).all():
            break
        system[:, :count, :count] = _slopes(angles, k, whole)
        system[:, :count, count] = -slope
        system[:, count, :count] = slope
        step = _solve(system, -np.concatenate([left, gap[:, None]], axis=1))
        size = np.abs(step[:, :count]).max(axis=1)
        step *= np.minimum(1.0, LONGEST_STEP / np.maximum(size, 1e-300))[:, None]
        # converged rows do not change, so that no row depends on the others
        step[small] = 0.0
        angles, force = angles + step[:, :count], force + step[:, count]
    return np.where(small[:, None], angles, np.nan), np.where(small, force, np.nan)


def _newton(angles: Array, k: Array, loads: Loads, joint_moments: Array) -> Array:
    """Solve for equilibria near start angles; NaN without convergence."""
    scale = k.max(axis=1)
    joint_angles = angles.copy()
    live = np.flatnonzero(np.isfinite(angles).all(axis=1))
    for _ in range(STEPS):
        part = Loads(loads.cosine[live], loads.sine[live])
        left = (
            _gradient(joint_angles[live], part) + k[live] * joint_angles[live] - joint_moments[live]
        )
        # written so that NaN counts as not converged
        going = ~(np.abs(left).max(axis=1) <= TOLERANCE * scale[live])
        if not going.any():
            return joint_angles
        live, left = live[going], left[going]
        part = Loads(loads.cosine[live], loads.sine[live])
        step = _solve(_slopes(joint_angles[live], k[live], part), -left)
        size = np.abs(step).max(axis=1)
        joint_angles[live] += (
            step * np.minimum(1.0, LONGEST_STEP / np.maximum(size, 1e-300))[:, None]
        )
    joint_angles[live] = np.nan
    return joint_angles


def _solve(systems: Array, sides: Array) -> Array:
    """Solve small linear systems; NaN where one is singular."""
    try:
        return np.asarray(np.linalg.solve(systems, sides[..., None])[..., 0])
    except np.linalg.LinAlgError:
        good = np.linalg.matrix_rank(np.nan_to_num(systems)) == systems.shape[-1]
        solutions = np.full(sides.shape, np.nan)
        solutions[good] = np.linalg.solve(systems[good], sides[good][..., None])[..., 0]
        return solutions


def _vertical(arms: Array) -> Loads:
    """Return the potential terms of the heights of link vectors (..., n, 2): z·cos φ − x·sin φ."""
    return Loads(arms[..., 1], -arms[..., 0])


def _gradient(angles: Array, loads: Loads) -> Array:
    """Compute the gradient of the potential of loads over the joint angles [N·m], (..., n)."""
    absolute_angles = np.cumsum(angles, axis=-1)
    return _beyond(loads.sine * np.cos(absolute_angles) - loads.cosine * np.sin(absolute_angles))


def _slopes(angles: Array, k: Array, loads: Loads) -> Array:
    absolute_angles = np.cumsum(angles, axis=-1)
    bends = _beyond(-loads.cosine * np.cos(absolute_angles) - loads.sine * np.sin(absolute_angles))
    count = k.shape[-1]
    later = np.maximum.outer(np.arange(count), np.arange(count))
    slopes = bends[..., later]
    diagonal: NDArray[np.intp] = np.arange(count)
    slopes[..., diagonal, diagonal] += k
    return np.asarray(slopes)


def _beyond(values: Array) -> Array:
    """Sum each value and all later ones along the last axis."""
    return np.asarray(np.cumsum(values[..., ::-1], axis=-1)[..., ::-1])


# Positions of joints.


def joint_positions(finger: SoftFinger, angles: ArrayLike) -> Array:
    """Compute joints and tip in the finger's base frame, (..., n + 1, 3) [m].

    Args:
        finger: The finger.
        angles: Coordinates in the order of ``SoftFinger.freedoms`` [rad, or m of a stretch], (...,
            n); of a spatial finger (..., 2n).

    Raises:
        DescriptionError: The number of angles does not fit.
    """
    angles = np.asarray(angles, dtype=float)
    expected_count = len(finger.freedoms)
    if angles.shape[-1:] != (expected_count,):
        raise DescriptionError(
            f"expected {expected_count} angles, found shape {angles.shape}", field="angles"
        )
    points = np.array([joint.position for joint in finger.joints] + [finger.tip])
    steps = np.diff(points, axis=0)
    if expected_count > len(finger.joints):
        flat = _follow(finger, points[0], steps, angles.reshape(-1, expected_count))
        return flat.reshape(*angles.shape[:-1], *points.shape)
    link_vectors = _rotate_in_plane(steps, np.cumsum(angles, axis=-1))
    begin = np.broadcast_to(points[0], (*angles.shape[:-1], 1, 3))
    return np.cumsum(np.concatenate([begin, link_vectors], axis=-2), axis=-2)


def _rotate_in_plane(steps: Array, absolute_angles: Array) -> Array:
    """Rotate steps (n, 3) about y by angles (..., n)."""
    x, y, z = steps.T
    cosine, sine = np.cos(absolute_angles), np.sin(absolute_angles)
    return np.stack(
        [x * cosine + z * sine, y + 0.0 * absolute_angles, z * cosine - x * sine], axis=-1
    )


def _follow(finger: SoftFinger, start: Array, steps: Array, rows: Array) -> Array:
    """Compute joints and tip for rows of joint coordinates (r, c), (r, n + 1, 3)."""
    rotation, at = Rotation.identity(len(rows)), np.tile(start, (len(rows), 1))
    points = np.empty((len(rows), len(steps) + 1, 3))
    columns = iter(rows.T)
    for index, freedoms in groupby(finger.freedoms, key=itemgetter(0)):
        for _, axis in freedoms:
            value = next(columns)[:, None]
            if axis == "stretch":
                at = at + rotation.apply(value * [1.0, 0.0, 0.0])
            else:
                rotation = rotation * Rotation.from_euler(AXES[axis], value)
        points[:, index] = at
        at = at + rotation.apply(steps[index])
    points[:, -1] = at
    return points
