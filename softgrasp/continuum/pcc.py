"""Piecewise constant curvature: continuum segments as circular arcs.

A segment of length ℓ bends with curvature κ in the plane at the angle φ about its base z axis. All
functions compute with u = θ cos φ and v = θ sin φ, θ = κℓ, which are smooth where the segment is
straight; ``arc_functions`` are the five functions of θ that this needs.

Frames at the end of a segment (they have the same position and z axis, and differ by a rotation
about z):

- ``bishop``: rotated about the normal of the bending plane only, so a straight segment does not
  rotate (papers 002 eq 3 and 003 eq 3, corrected in docs/control.md); the default.
- ``webster``: Rz(φ) of the bending plane is kept (paper 001 eq 5; Webster and Jones 2010); its
  limit at κ = 0 depends on φ.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from math import factorial
from typing import Literal, NamedTuple, get_args

import numpy as np
import scipy
from numpy.typing import ArrayLike
from scipy.spatial.transform import Rotation

from softgrasp.errors import DescriptionError, did_you_mean
from softgrasp.mechanics.transforms import Array, rotate_about

__all__ = [
    "ChainPose",
    "bend_jacobian",
    "bend_transform",
    "chain_frames",
    "chain_inverse",
    "chain_jacobian",
    "chain_transform",
    "jacobian",
    "segment_inverse",
    "segment_transform",
    "strain_transform",
    "to_bishop",
    "to_webster",
]
Frame = Literal["bishop", "webster"]
"""Convention of end frames."""
SMALL = 0.1
"""Angle below which the power series are used [rad]: seven terms are exact to rounding."""
STARTS, EVALUATIONS = 200, 40
"""Largest number of start shapes of the inverse of a chain, and of evaluations from each of them; a
solution that is reached takes about a dozen."""
FAR_STARTS = 8
"""Number of start shapes for the nearest shape to a target beyond the length of the chain."""
WALL = 10.0
"""Weight of an angle beyond its limit [1/rad, in chain lengths]."""
_TERMS = range(7)


# One segment.


def segment_transform(
    kappa: ArrayLike, phi: ArrayLike, length: ArrayLike, frame: Frame = "bishop"
) -> Array:
    """Compute the end frame of a segment in its base frame, (..., 4, 4); arguments broadcast.

    Papers 002 (eq 2, 3), 003 (eq 3) and 001 (eq 5), with their errata corrected.

    Args:
        kappa: Curvature [1/m].
        phi: Angle of the bending plane about the base z axis, 0 bends towards +x [rad].
        length: Arc length [m].
        frame: Rotation of the end frame about its z axis.

    Raises:
        DescriptionError: A length is not positive, a number is not finite, or no such frame.
    """
    kappa, phi, length = _check(kappa, phi, length, frame)
    theta = kappa * length
    end = bend_transform(theta * np.cos(phi), theta * np.sin(phi), length)
    return end if frame == "bishop" else end @ rotate_about("z", phi)


def bend_transform(u: ArrayLike, v: ArrayLike, length: ArrayLike) -> Array:
    """Compute the end frame (``bishop``) of a segment bent by (u, v) = θ (cos φ, sin φ).

    Smooth everywhere, the straight segment included.

    Args:
        u: Component of the bending angle towards x [rad].
        v: Component of the bending angle towards y [rad].
        length: Arc length [m].

    Returns:
        Shape (..., 4, 4).
    """
    u, v, length = np.broadcast_arrays(*(np.asarray(part, dtype=float) for part in (u, v, length)))
    theta = np.hypot(u, v)
    f = arc_functions(theta)
    end = np.zeros((*theta.shape, 4, 4))
    end[..., 0, :] = np.stack([1 - f.b * u**2, -f.b * u * v, f.a * u, length * f.b * u], axis=-1)
    end[..., 1, :] = np.stack([-f.b * u * v, 1 - f.b * v**2, f.a * v, length * f.b * v], axis=-1)
    end[..., 2, :] = np.stack([-f.a * u, -f.a * v, np.cos(theta), length * f.a], axis=-1)
    end[..., 3, 3] = 1.0
    return end


def strain_transform(strains: ArrayLike, rest_length: ArrayLike) -> Array:
    """Compute the end frame of a segment of constant bending, torsion and elongation, (..., 4, 4).

    The segment bends first and is then twisted (paper 003, eq 3); a rod of constant strain would
    form a helix, which differs by some percent of the length.

    Args:
        strains: Curvatures about the x and the y axis and torsion [1/m], and elongation [–], shape
            (..., 4). Bending about +y leans towards +x.
        rest_length: Length without elongation [m].
    """
    kx, ky, kz, elongation = np.moveaxis(np.asarray(strains, dtype=float), -1, 0)
    length = (1.0 + elongation) * np.asarray(rest_length, dtype=float)
    return bend_transform(length * ky, -length * kx, length) @ rotate_about("z", length * kz)


def jacobian(kappa: ArrayLike, phi: ArrayLike, length: ArrayLike, frame: Frame = "bishop") -> Array:
    """Compute the Jacobian of the end of a segment over (κ, φ, ℓ), (..., 6, 3).

    Rows: velocity of the end's origin [m/s], angular velocity of the end frame [rad/s], both in the
    base frame. The column of φ vanishes where the segment is straight; ``bend_jacobian`` is regular
    there.

    Raises:
        DescriptionError: As ``segment_transform``.
    """
    kappa, phi, length = _check(kappa, phi, length, frame)
    theta, cosine, sine = kappa * length, np.cos(phi), np.sin(phi)
    inner = np.zeros((*theta.shape, 3, 3))  # d(u, v, ℓ) / d(κ, φ, ℓ)
    inner[..., 0, :] = np.stack([length * cosine, -theta * sine, kappa * cosine], axis=-1)
    inner[..., 1, :] = np.stack([length * sine, theta * cosine, kappa * sine], axis=-1)
    inner[..., 2, 2] = 1.0
    whole = bend_jacobian(theta * cosine, theta * sine, length) @ inner
    if frame == "webster":
        end = bend_transform(theta * cosine, theta * sine, length)
        whole[..., 3:, 1] += end[..., :3, 2]
    return np.asarray(whole)


def bend_jacobian(u: ArrayLike, v: ArrayLike, length: ArrayLike) -> Array:
    """Compute the Jacobian of the end over (u, v, ℓ), (..., 6, 3); rows as in ``jacobian``.

    The angular part is the left Jacobian of the rotation vector (−v, u, 0); paper 003 (eq 5, 6)
    prints the rate of the vector itself, which is wrong by 26 % at 30° where φ changes.
    """
    u, v, length = np.broadcast_arrays(*(np.asarray(part, dtype=float) for part in (u, v, length)))
    f = arc_functions(np.hypot(u, v))
    zero = np.zeros_like(u)
    rows = [
        [length * (f.b + u**2 * f.e), length * u * v * f.e, u * f.b],
        [length * u * v * f.e, length * (f.b + v**2 * f.e), v * f.b],
        [length * u * f.d, length * v * f.d, f.a],
        [-f.c * u * v, f.c * u**2 - 1.0, zero],
        [1.0 - f.c * v**2, f.c * u * v, zero],
        [-f.b * v, f.b * u, zero],
    ]
    return np.stack([np.stack(row, axis=-1) for row in rows], axis=-2)


def segment_inverse(position: ArrayLike) -> tuple[float, float, float]:
    """Compute curvature [1/m], plane angle [rad] and length [m] of the arc that ends at a position.

    The arc leaves the origin along +z; every position except those with x = y = 0 and z ≤ 0 is the
    end of exactly one arc that bends by less than a full turn.

    Args:
        position: (x, y, z) [m].

    Raises:
        DescriptionError: There is no such arc, or it is not three finite numbers.
    """
    point = np.asarray(position, dtype=float)
    if point.shape != (3,) or not np.isfinite(point).all():
        raise DescriptionError(f"expected three finite numbers, found {point}", field="position")
    x, y, z = point.tolist()
    aside, distance = float(np.hypot(x, y)), float(np.linalg.norm([x, y, z]))
    if aside == 0.0 and z <= 0.0:
        raise DescriptionError(
            f"expected a position off the line x = y = 0, z <= 0, found ({x:g}, {y:g}, {z:g})",
            field="position",
        )
    half = float(np.arctan2(aside, z))
    length = distance / float(np.sinc(half / np.pi))
    return 2.0 * half / length, float(np.arctan2(y, x)), length


def _check(
    kappa: ArrayLike, phi: ArrayLike, length: ArrayLike, frame: str
) -> tuple[Array, Array, Array]:
    if frame not in get_args(Frame):
        hint = did_you_mean(frame, get_args(Frame))
        raise DescriptionError(f"expected a frame of a segment, found '{frame}'; {hint}")
    parts = {"kappa": kappa, "phi": phi, "length": length}
    arrays = {name: np.asarray(part, dtype=float) for name, part in parts.items()}
    for name, array in arrays.items():
        if not np.isfinite(array).all():
            raise DescriptionError(f"expected finite numbers, found {array}", field=name)
    if not (arrays["length"] > 0.0).all():
        raise DescriptionError(
            f"expected lengths above 0, found {arrays['length']}", field="length"
        )
    kappa, phi, length = np.broadcast_arrays(*arrays.values())
    return kappa, phi, length


# Chains of segments.


def chain_transform(
    kappas: ArrayLike, phis: ArrayLike, lengths: ArrayLike, frame: Frame = "bishop"
) -> Array:
    """Compute the end frame of a chain in its base frame, (4, 4).

    Args:
        kappas: Curvatures from the base outwards [1/m], shape (n,).
        phis: Angles of the bending planes, each about the z axis of the previous frame [rad], (n,).
        lengths: Arc lengths [m], (n,).
        frame: Rotation of each end frame about its z axis, which also rotates the next plane.

    Raises:
        DescriptionError: Different numbers of values, or as ``segment_transform``.
    """
    return np.asarray(chain_frames(kappas, phis, lengths, frame)[-1])


def chain_frames(
    kappas: ArrayLike, phis: ArrayLike, lengths: ArrayLike, frame: Frame = "bishop"
) -> Array:
    """Compute the base and all segments' end frames, (n + 1, 4, 4), as ``chain_transform``."""
    kappas, phis, lengths = of_one_length(kappas=kappas, phis=phis, lengths=lengths)
    steps = segment_transform(kappas, phis, lengths, frame)
    return frames_along(steps)


def chain_jacobian(u: ArrayLike, v: ArrayLike, lengths: ArrayLike) -> Array:
    """Compute the Jacobian of the end of a chain of ``bishop`` frames, (6, 3n).

    Rows: velocity of the end's origin, angular velocity of the end frame, in the base frame.
    Columns: u₁, v₁, ℓ₁, u₂, ….

    Args:
        u: Components of the bending angles towards x [rad], shape (n,).
        v: Components of the bending angles towards y [rad], (n,).
        lengths: Arc lengths [m], (n,).

    Raises:
        DescriptionError: Different numbers of values.
    """
    u, v, lengths = of_one_length(u=u, v=v, lengths=lengths)
    frames = frames_along(bend_transform(u, v, lengths))
    segment_jacobian = bend_jacobian(u, v, lengths)
    base = frames[:-1, :3, :3]
    linear, angular = base @ segment_jacobian[:, :3], base @ segment_jacobian[:, 3:]
    # everything beyond a segment's end rotates with it
    arms = frames[-1, :3, 3] - frames[1:, :3, 3]
    carried = np.cross(angular, arms[:, :, None], axisa=1, axisb=1, axisc=1)
    whole = np.concatenate([linear + carried, angular], axis=1)
    return np.asarray(whole.transpose(1, 0, 2).reshape(6, -1))


def to_bishop(phis: ArrayLike) -> Array:
    """Convert plane angles of ``webster`` frames to those of ``bishop`` frames, (n,) [rad].

    The chains have the same positions and z axes; the ``webster`` end frame is rotated about its z
    axis by the last of these angles. Exact: the product of the ``webster`` segments is that of the
    ``bishop`` segments at the summed angles, times Rz of their sum.

    Raises:
        DescriptionError: An angle is not finite.
    """
    return np.asarray(np.cumsum(_finite_angles(phis), axis=-1))


def to_webster(phis: ArrayLike) -> Array:
    """Convert plane angles of ``bishop`` frames to those of ``webster`` frames, (n,) [rad].

    Raises:
        DescriptionError: An angle is not finite.
    """
    return np.diff(_finite_angles(phis), axis=-1, prepend=0.0)


def _finite_angles(phis: ArrayLike) -> Array:
    angles = np.asarray(phis, dtype=float)
    if angles.ndim == 0 or not np.isfinite(angles).all():
        raise DescriptionError(f"expected a list of finite numbers, found {angles}", field="phis")
    return angles


def frames_along(steps: Array) -> Array:
    """Multiply successive transforms: the base and every frame after it, (n + 1, 4, 4)."""
    frames = [np.eye(4)]
    for step in steps:
        frames.append(frames[-1] @ step)
    return np.stack(frames)


def of_one_length(**series: ArrayLike) -> list[Array]:
    """Broadcast values given once or per segment to arrays (n,).

    Raises:
        DescriptionError: They have different numbers of values.
    """
    arrays = {name: np.atleast_1d(np.asarray(part, dtype=float)) for name, part in series.items()}
    sizes = {name: array.shape for name, array in arrays.items()}
    if len(set(sizes.values())) != 1 or len(next(iter(sizes.values()))) != 1:
        shapes_text = ", ".join(f"{name} {shape}" for name, shape in sizes.items())
        raise DescriptionError(
            f"expected one value per segment in each, found shapes {shapes_text}"
        )
    return list(arrays.values())


# Inverse kinematics of chains.


@dataclass(frozen=True)
class ChainPose:
    """Shape of a chain of segments whose end is at a target, or as near to it as possible.

    Args:
        kappas: Curvatures [1/m], shape (n,).
        phis: Angles of the bending planes, ``bishop`` frames [rad], (n,).
        position_error: Distance of the end from the target [m].
        rotation_error: Angle between end and target frame [rad]; 0 for a target position.
        reached: Whether both are within the tolerance.
    """

    kappas: Array
    phis: Array
    position_error: float
    rotation_error: float
    reached: bool


def chain_inverse(
    target: ArrayLike,
    lengths: ArrayLike,
    *,
    max_bending: float = np.pi,
    tolerance: float = 1e-8,
    seed: int = 0,
) -> ChainPose:
    """Compute a shape of a chain of segments of fixed length whose end is at a target.

    A position has many such shapes; the first one found is returned, starting from the straight
    chain. Shapes within the limits are found by least squares from several starts.

    Args:
        target: A position (3,) [m], or a frame (4, 4), in the base frame.
        lengths: Arc lengths [m], shape (n,).
        max_bending: Largest bending angle θ of a segment [rad].
        tolerance: Distance [m] and angle [rad] within which the target counts as reached.
        seed: Seed of the start shapes.

    Raises:
        DescriptionError: The target is neither a position nor a frame, or a limit is not positive.
    """
    goal = np.asarray(target, dtype=float)
    arcs = np.atleast_1d(np.asarray(lengths, dtype=float))
    if not ((arcs > 0.0) & (arcs < np.inf)).all():
        raise DescriptionError(f"expected numbers above 0, found {arcs}", field="lengths")
    if goal.shape not in ((3,), (4, 4)):
        raise DescriptionError(
            f"expected a position (3,) or a frame (4, 4), found shape {goal.shape}", field="target"
        )
    if not np.isfinite(goal).all():
        raise DescriptionError(f"expected finite numbers, found {goal.tolist()}", field="target")
    if not max_bending > 0.0:
        raise DescriptionError(f"expected above 0, found {max_bending}", field="max_bending")
    task = _Task(goal, arcs, max_bending)
    best: ChainPose | None = None
    for start in islice(_starts(len(arcs), max_bending, seed), task.starts):
        pose = task.solve(start, tolerance)
        if best is None or pose.position_error + pose.rotation_error < (
            best.position_error + best.rotation_error
        ):
            best = pose
        if best.reached:
            break
    assert best is not None
    return best


def _starts(segments: int, max_bending: float, seed: int) -> Iterator[Array]:
    """Yield the straight shape, then shapes evenly distributed within the limit."""
    random = np.random.default_rng(seed)
    yield np.full(2 * segments, 1e-3)
    for _ in range(STARTS - 1):
        plane = random.uniform(-np.pi, np.pi, segments)
        theta = max_bending * np.sqrt(random.uniform(size=segments))
        yield np.stack([theta * np.cos(plane), theta * np.sin(plane)], axis=1).ravel()


class _Task:
    """Residuals of a chain's end frame against its target, in chain lengths and radians."""

    def __init__(self, goal: Array, lengths: Array, max_bending: float) -> None:
        self._goal, self._lengths, self._max_bending = goal, lengths, max_bending
        self._whole = float(lengths.sum())
        self._oriented = goal.shape == (4, 4)
        self._target_position = goal[:3, 3] if self._oriented else goal

    @property
    def starts(self) -> int:
        """Number of start shapes; a few where the target is farther away than the chain is long."""
        is_far = float(np.linalg.norm(self._target_position)) > self._whole
        return FAR_STARTS if is_far else STARTS

    def solve(self, start: Array, tolerance: float) -> ChainPose:
        """Compute the least-squares shape from an initial guess."""
        fit: scipy.optimize.OptimizeResult = scipy.optimize.least_squares(
            self._residuals,
            start,
            self._slopes,
            method="trf",
            xtol=1e-15,
            ftol=1e-15,
            gtol=1e-15,
            max_nfev=EVALUATIONS,
        )
        bends = self._within(np.asarray(fit.x).reshape(-1, 2))
        end = self._end(bends)
        away = float(np.linalg.norm(end[:3, 3] - self._target_position))
        rotation_error = (
            float(np.linalg.norm(self._rotation_error_vector(end))) if self._oriented else 0.0
        )
        theta = np.hypot(bends[:, 0], bends[:, 1])
        return ChainPose(
            kappas=theta / self._lengths,
            phis=np.arctan2(bends[:, 1], bends[:, 0]),
            position_error=away,
            rotation_error=rotation_error,
            reached=away <= tolerance and rotation_error <= tolerance,
        )

    def _within(self, bends: Array) -> Array:
        theta = np.hypot(bends[:, 0], bends[:, 1])
        scale = np.minimum(1.0, self._max_bending / np.maximum(theta, 1e-300))
        return np.asarray(bends * scale[:, None])

    def _end(self, bends: Array) -> Array:
        steps = bend_transform(bends[:, 0], bends[:, 1], self._lengths)
        return np.asarray(frames_along(steps)[-1])

    def _rotation_error_vector(self, end: Array) -> Array:
        """Return the rotation vector from the target to the end frame, in the base frame [rad]."""
        return np.asarray(Rotation.from_matrix(end[:3, :3] @ self._goal[:3, :3].T).as_rotvec())

    def _residuals(self, flat: Array) -> Array:
        bends = flat.reshape(-1, 2)
        end = self._end(bends)
        parts = [(end[:3, 3] - self._target_position) / self._whole]
        if self._oriented:
            parts.append(self._rotation_error_vector(end))
        over = np.hypot(bends[:, 0], bends[:, 1]) - self._max_bending
        parts.append(WALL * np.maximum(over, 0.0))
        return np.concatenate(parts)

    def _slopes(self, flat: Array) -> Array:
        bends = flat.reshape(-1, 2)
        whole = chain_jacobian(bends[:, 0], bends[:, 1], self._lengths)
        columns = np.arange(whole.shape[1]).reshape(-1, 3)[:, :2].reshape(-1)
        rows = [whole[:3, columns] / self._whole]
        if self._oriented:
            rows.append(
                _inverse_left_jacobian(self._rotation_error_vector(self._end(bends)))
                @ whole[3:, columns]
            )
        theta = np.maximum(np.hypot(bends[:, 0], bends[:, 1]), 1e-300)
        slopes = np.zeros((len(bends), bends.size))
        for index in np.flatnonzero(theta > self._max_bending):
            slopes[index, 2 * index : 2 * index + 2] = WALL * bends[index] / theta[index]
        rows.append(slopes)
        return np.concatenate(rows)


def _inverse_left_jacobian(rotation_vector: Array) -> Array:
    """Return the matrix from angular velocity to the rate of a rotation vector, (3, 3)."""
    angle = float(np.linalg.norm(rotation_vector))
    x, y, z = rotation_vector
    skew = np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
    if angle < 1e-4:
        return np.asarray(np.eye(3) - 0.5 * skew + skew @ skew / 12.0)
    factor = 1.0 / angle**2 - 0.5 / (angle * np.tan(0.5 * angle))
    return np.asarray(np.eye(3) - 0.5 * skew + factor * skew @ skew)


# Functions of an arc's angle.


class ArcFunctions(NamedTuple):
    """Functions of the angle t of an arc, each of the angle's shape.

    ``a`` = sin t / t, ``b`` = (1 − cos t)/t², ``c`` = (t − sin t)/t³, ``d`` = a′/t, ``e`` = b′/t.
    """

    a: Array
    b: Array
    c: Array
    d: Array
    e: Array


def arc_functions(angle: ArrayLike) -> ArcFunctions:
    """Compute the five functions at angles of any shape [rad], exact at zero."""
    angle = np.asarray(angle, dtype=float)
    near = np.abs(angle) < SMALL
    t = np.where(near, 1.0, angle)
    a = np.sin(t) / t
    # twice the square of a sine keeps its digits where 1 − cos t would lose them
    b = 2.0 * (np.sin(0.5 * t) / t) ** 2
    far = a, b, (1.0 - a) / t**2, (np.cos(t) - a) / t**2, (a - 2.0 * b) / t**2
    close = _series(np.where(near, angle, 0.0) ** 2)
    return ArcFunctions(*(np.where(near, low, high) for low, high in zip(close, far, strict=True)))


def _series(square: Array) -> tuple[Array, ...]:
    a, b, c = (_sum(square, [(-1) ** k / factorial(2 * k + n) for k in _TERMS]) for n in (1, 2, 3))
    d, e = (
        _sum(square, [2 * k * (-1) ** k / factorial(2 * k + n) for k in _TERMS[1:]]) for n in (1, 2)
    )
    return a, b, c, d, e


def _sum(square: Array, coefficients: list[float]) -> Array:
    return np.asarray(np.polynomial.polynomial.polyval(square, coefficients))
