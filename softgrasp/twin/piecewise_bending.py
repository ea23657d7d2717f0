"""Bending angles of a finger's pieces as polynomials of pressure, and the shape of the fingers.

``fit_pressures`` fits a cubic polynomial of pressure to the angles of each piece (Xiang et al.
2024, eq 4). Pressures are scaled first, so that the problem is well conditioned; the polynomials
do not depend on the scale. ``angles_at`` evaluates a fit, ``pressure_for`` inverts it.
``softgrasp.vision.point_picking`` measures such angles in images.

``twin_shape`` computes the fingers as constant-curvature arcs on the flange, T_F = T_R · T_mount
· T_base · T_finger (eq 4 to 8), with the mount frames that the paper omits. ``examples/paper001``
compares them with the rigid pieces of the paper's Unity model.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple, cast

import numpy as np
from numpy.polynomial import polynomial
from numpy.typing import ArrayLike
from scipy.optimize import brentq
from scipy.special import chdtri

from softgrasp.continuum.pcc import chain_frames
from softgrasp.description import Pose
from softgrasp.errors import DescriptionError
from softgrasp.mechanics import Array, nearest_posture, transform
from softgrasp.plugin_api import unit_quaternion
from softgrasp.twin.description import KPA, FlangeSample, GripperMount, PressureFit, Twin

TERMS = 4
"""Coefficients of a cubic polynomial."""
MAX_CURVE_ERROR = 0.4
"""Largest error of the curves of an accepted fit, in σ of a measured angle [–]."""
SIGNIFICANCE = 0.01
"""Probability of classifying a cubic finger as not cubic."""
ROUNDING = 1e-9
"""Tolerance at the ends of the measured range, over the range [–]."""
SAME_BEND = 1e-12
"""Largest difference of two equal angles [rad]."""
FARTHEST = 1e9
"""Extrema beyond this many scales belong to straight lines and are ignored."""

# Fits


@dataclass(frozen=True, eq=False)
class FitReport:
    """A fit with its residuals and the expected errors of its curves; m samples, n pieces."""

    fit: PressureFit
    pressures: Array
    """Pressures [Pa], (m,)."""
    angles: Array
    """Measured angles [rad], (m, n)."""
    condition: float
    """Condition number of the problem with scaled pressures."""
    condition_kpa: float
    """Condition number with pressures in kPa, as in the paper."""
    sigma: float | None
    """Standard deviation of a measured angle, where known [rad]."""

    @property
    def residuals(self) -> Array:
        """Measured minus fitted angles [rad], (m, n)."""
        return np.asarray(self.angles - angles_at(self.fit, self.pressures))

    @property
    def rms(self) -> Array:
        """Root mean square of the residuals of each piece [rad], (n,)."""
        return np.asarray(np.sqrt(np.mean(self.residuals**2, axis=0)))

    @property
    def largest(self) -> Array:
        """Largest residual of each piece [rad], (n,)."""
        return np.asarray(np.abs(self.residuals).max(axis=0))

    @property
    def scatter(self) -> Array:
        """σ of a measured angle estimated from the residuals, √(Σ r²/(m − 4)) [rad], (n,)."""
        freedom = len(self.pressures) - TERMS
        return np.asarray(np.sqrt(np.sum(self.residuals**2, axis=0) / freedom))

    @property
    def r_squared(self) -> Array:
        """Coefficient of determination R² of each piece, (n,)."""
        spread = np.sum((self.angles - self.angles.mean(axis=0)) ** 2, axis=0)
        flat = spread <= len(self.angles) * (1e-12 * np.abs(self.angles).max(axis=0)) ** 2
        left = np.sum(self.residuals**2, axis=0) / np.where(flat, 1.0, spread)
        return np.where(flat, 1.0, 1.0 - left)

    @property
    def curve_errors(self) -> Array | None:
        """Expected rms distance of each curve from the true one [rad], (n,); None without σ.

        It is σ·√(4/m) from the noise, plus the excess of the residuals over σ, where the finger
        is not cubic. The excess counts only where noise alone has such residuals in one of a
        hundred cases (χ² test).
        """
        if self.sigma is None:
            return None
        samples, freedom = len(self.pressures), len(self.pressures) - TERMS
        left = np.sum(self.residuals**2, axis=0)
        believed = left > self.sigma**2 * chdtri(freedom, SIGNIFICANCE / left.size)
        misfit = np.where(believed, left - freedom * self.sigma**2, 0.0) / samples
        return np.asarray(np.sqrt(self.sigma**2 * TERMS / samples + misfit))

    @property
    def accepted(self) -> bool | None:
        """Whether the expected error of every curve is below 0.4 σ; None where σ is unknown."""
        errors = self.curve_errors
        if errors is None or self.sigma is None:
            return None
        return bool((errors < MAX_CURVE_ERROR * self.sigma).all())

    @property
    def reversals(self) -> tuple[Reversal, ...]:
        """Pressure intervals in which the fitted curves are not monotonic."""
        return reversals(self.fit)


def fit_pressures(
    pressures: ArrayLike,
    angles: ArrayLike,
    lengths: ArrayLike,
    *,
    sigma: float | None = None,
    scale: float = 1e5,
    monotonic: bool = False,
    name: str = "pressure_fit",
    source: str = "",
) -> FitReport:
    """Fit a cubic polynomial of pressure to the bending angles of each piece.

    Args:
        pressures: Measured pressures, in any order [Pa], (m,).
        angles: Bending angles of the pieces from the base outwards [rad], (m, n).
        lengths: Lengths of the pieces [m], (n,).
        sigma: Standard deviation of a measured angle, where known [rad].
        scale: Pressure that corresponds to 1 [Pa]; the curves do not depend on it.
        monotonic: Whether to refuse curves that are not monotonic.
        name: Name of the fit.
        source: Source of the angles.

    Raises:
        DescriptionError: Inconsistent shapes, numbers that are not finite, too few samples or
            different pressures, σ not above 0, or curves that are not monotonic where that is
            refused.
    """
    x, y = np.asarray(pressures, dtype=float), np.asarray(angles, dtype=float)
    arcs = np.asarray(lengths, dtype=float)
    _check(x, y, arcs, sigma, scale)
    powers = np.vander(x / scale, TERMS, increasing=True)
    rows = np.linalg.lstsq(powers, y, rcond=None)[0].T
    fit = PressureFit(
        name=name,
        source=source,
        lengths=tuple(arcs.tolist()),
        coefficients=tuple(cast("tuple[float, float, float, float]", tuple(row)) for row in
                           rows.tolist()),
        scale=scale,
        pressures=(float(x.min()), float(x.max())),
        residuals=tuple(np.sqrt(np.mean((y - powers @ rows.T) ** 2, axis=0)).tolist()),
    )  # fmt: skip
    if monotonic and (back := reversals(fit)):
        text = "; ".join(reversal_clause(fit, item) for item in back)
        raise DescriptionError(f"expected curves that are monotonic, found: {text}")
    in_kpa = np.vander(KPA * x, TERMS, increasing=True)
    scaled, unscaled = (float(np.linalg.cond(matrix)) for matrix in (powers, in_kpa))
    return FitReport(fit, x, y, scaled, unscaled, sigma)


def _check(x: Array, y: Array, arcs: Array, sigma: float | None, scale: float) -> None:
    if x.ndim != 1 or y.ndim != 2 or arcs.ndim != 1 or y.shape != (len(x), len(arcs)):
        raise DescriptionError(
            f"expected angles of shape (pressures, lengths), found {y.shape} for {x.shape} "
            f"pressures and {arcs.shape} lengths",
            field="angles",
        )
    for field, values in (("pressures", x), ("angles", y), ("lengths", arcs)):
        if not np.isfinite(values).all():
            raise DescriptionError("expected finite numbers, found others", field=field)
    different = len(np.unique(x))
    if len(x) <= TERMS or different < TERMS:
        raise DescriptionError(
            f"expected at least {TERMS + 1} samples at {TERMS} different pressures, found "
            f"{len(x)} at {different}",
            field="pressures",
        )
    for field, value in (("sigma", sigma), ("scale", scale)):
        if value is not None and not 0.0 < value < np.inf:
            raise DescriptionError(f"expected a number above 0, found {value:g}", field=field)


# Evaluation and inversion


def angles_at(fit: PressureFit, pressure: ArrayLike) -> Array:
    """Return the bending angles of the pieces at pressures, (..., n) [rad]; eq 4.

    Args:
        fit: Fit of a finger with n pieces.
        pressure: Pressures of any shape (...) [Pa].

    Raises:
        DescriptionError: A pressure is outside the measured range, or not a number.
    """
    pressures = np.asarray(pressure, dtype=float)
    low, high = fit.pressures
    tolerance = ROUNDING * (high - low)
    outside = pressures[~((pressures >= low - tolerance) & (pressures <= high + tolerance))]
    if outside.size:
        raise DescriptionError(
            f"expected measured {_range(fit)}, found {KPA * outside[0]:.6g} kPa", field="pressure"
        )
    scaled = pressures / fit.scale
    powers = scaled[..., None] ** np.arange(4)
    return np.asarray(powers @ np.array(fit.coefficients).T)


def _range(fit: PressureFit) -> str:
    low, high = fit.pressures
    return f"pressures from {KPA * low:g} to {KPA * high:g} kPa"


def pressure_for(
    fit: PressureFit, bend: float, *, piece: int | None = None, near: float | None = None
) -> float:
    """Return the pressure at which a finger, or one of its pieces, has a bending angle [Pa].

    Args:
        fit: Fit of a finger.
        bend: Bending angle of all pieces together, or of ``piece`` [rad].
        piece: Index from the base; None for all together.
        near: Select the nearest of several solutions [Pa].

    Raises:
        DescriptionError: No measured pressure has this bending angle, or several have it and
            ``near`` is None.
    """
    candidates = pressures_for(fit, bend, piece)
    whose = "all pieces together" if piece is None else f"piece {piece + 1}"
    if not candidates:
        low, high = bend_range(fit, piece)
        raise DescriptionError(
            f"expected a bend of {whose} from {np.degrees(low):.4g}° to {np.degrees(high):.4g}°, "
            f"which {_range(fit)} give, found {np.degrees(bend):.4g}°",
            field="bend",
        )
    if len(candidates) > 1 and near is None:
        listed = ", ".join(f"{round(KPA * pressure, 6):.4g}" for pressure in candidates)
        raise DescriptionError(
            f"expected a bend of {whose} that one pressure gives, found {np.degrees(bend):.4g}°, "
            f"which {len(candidates)} give: {listed} kPa; specify near",
            field="bend",
        )
    return candidates[0] if near is None else min(candidates, key=lambda item: abs(item - near))


def pressures_for(fit: PressureFit, bend: float, piece: int | None = None) -> tuple[float, ...]:
    """Return all measured pressures with a bending angle, ascending [Pa].

    Args:
        fit: Fit of a finger.
        bend: Bending angle of all pieces together, or of ``piece`` [rad].
        piece: Index from the base; None for all together.

    Raises:
        DescriptionError: There is no such piece.
    """
    curve = _curve(fit, piece)
    curve[0] -= bend
    stations = _monotonic_stations(fit, curve)
    heights = polynomial.polyval(stations, curve)
    roots = [x for x, y in zip(stations, heights, strict=True) if abs(y) <= SAME_BEND]
    for (a, left), (b, right) in pairwise(zip(stations, heights, strict=True)):
        if min(abs(left), abs(right)) > SAME_BEND and left * right < 0.0:
            roots.append(brentq(polynomial.polyval, a, b, args=(curve,), xtol=1e-14))
    return tuple(fit.scale * float(x) for x in sorted(roots))


def _curve(fit: PressureFit, piece: int | None) -> Array:
    """Return the cubic's coefficients of one piece, or of the sum of all."""
    rows = np.array(fit.coefficients)
    if piece is None:
        return np.asarray(rows.sum(axis=0))
    if not 0 <= piece < len(rows):
        raise DescriptionError(
            f"expected a piece from 0 to {len(rows) - 1}, found {piece}", field="piece"
        )
    return np.asarray(rows[piece].copy())


def _monotonic_stations(fit: PressureFit, curve: Array) -> Array:
    """Return the ends of the intervals of scaled pressure in which a curve is monotonic."""
    low, high = (pressure / fit.scale for pressure in fit.pressures)
    inner = {extremum for extremum in _extrema(curve) if low < extremum < high}
    return np.array([low, *sorted(inner), high])


def _extrema(curve: Array) -> list[float]:
    """Return the positions where a cubic has no slope.

    The larger root comes first, the other from their product: a cubic term that is only rounding
    must not spoil the extremum of a parabola, as it does in a general solver.
    """
    c, b, a = (float(part) for part in polynomial.polyder(curve))
    root = b * b - 4.0 * a * c
    if root < 0.0:
        return []
    half = -0.5 * (b + math.copysign(math.sqrt(root), b))
    pairs = ((half, a), (c, half))
    return [above / below for above, below in pairs if abs(below) * FARTHEST > abs(above)]


def bend_range(fit: PressureFit, piece: int | None = None) -> tuple[float, float]:
    """Return the smallest and largest bending angle over the measured range [rad].

    Raises:
        DescriptionError: There is no such piece.
    """
    curve = _curve(fit, piece)
    heights = polynomial.polyval(_monotonic_stations(fit, curve), curve)
    return float(heights.min()), float(heights.max())


# Reversals


class Reversal(NamedTuple):
    """Pressure interval in which a piece bends against its overall direction."""

    piece: int
    """Index from the base; the number of pieces stands for all of them together."""
    begin: float
    """Start of the interval [Pa]."""
    end: float
    """End of the interval [Pa]."""
    amount: float
    """Angle by which it bends back [rad]."""


def reversals(fit: PressureFit) -> tuple[Reversal, ...]:
    """Find pressure intervals in which a piece, or the whole finger, bends back as pressure rises.

    The forward direction is that from the lowest to the highest pressure of the range.
    """
    reversal_list = []
    pieces = len(fit.lengths)
    for piece in range(pieces + (pieces > 1)):
        curve = _curve(fit, piece if piece < pieces else None)
        stations = _monotonic_stations(fit, curve)
        heights = polynomial.polyval(stations, curve)
        forwards = 1.0 if heights[-1] >= heights[0] else -1.0
        steps = zip(pairwise(fit.scale * stations), -forwards * np.diff(heights), strict=True)
        reversal_list += [
            Reversal(piece, float(begin), float(end), float(back))
            for (begin, end), back in steps
            if back > 1e-9
        ]
    return tuple(reversal_list)


def reversal_clause(fit: PressureFit, item: Reversal) -> str:
    """Describe an interval in which a curve bends back, and by how much."""
    is_piece = item.piece < len(fit.lengths)
    whose = f"piece {item.piece + 1} bends" if is_piece else "all together bend"
    return (
        f"{whose} back by {np.degrees(item.amount):.3g}° from {KPA * item.begin:.4g} to "
        f"{KPA * item.end:.4g} kPa"
    )


# Shape of the fingers on the flange


class TwinShape(NamedTuple):
    """Shape of a gripper's fingers, each of n pieces, all bent equally."""

    angles: Array
    """Bending angles of the pieces [rad], (n,)."""
    curvatures: Array
    """Curvatures of the pieces [1/m], (n,)."""
    planes: Array
    """Angles of the bending planes [rad], (n,)."""
    frames: Array
    """Frames from the root to the tip, in the frame of a finger's root, (n + 1, 4, 4)."""
    roots: Array
    """Frames of the k fingers' roots in the robot's base frame, (k, 4, 4)."""

    @property
    def tips(self) -> Array:
        """Tips in the robot's base frame [m], (k, 3)."""
        return np.asarray((self.roots @ self.frames[-1])[:, :3, 3])

    @property
    def bend(self) -> float:
        """Bending angle of a whole finger [rad]."""
        return float(self.angles.sum())


def twin_shape(twin: Twin, pressure: float, flange: FlangeSample) -> TwinShape:
    """Compute the shape of the fingers at a pressure and a flange pose.

    Args:
        twin: Digital twin.
        pressure: Gauge pressure [Pa].
        flange: Pose of the flange.

    Raises:
        DescriptionError: The pressure exceeds the measured range by more than the margin of the
            twin; values are not extrapolated.
    """
    low, high = twin.finger.pressures
    if not low - twin.margin <= pressure <= high + twin.margin:
        raise DescriptionError(
            f"finger '{twin.finger.name}': expected a measured pressure, {KPA * low:g} to "
            f"{KPA * high:g} kPa, found {KPA * pressure:.4g} kPa"
        )
    lengths = np.array(twin.finger.lengths)
    angles = angles_at(twin.finger, min(max(pressure, low), high))
    planes = np.array(twin.phis or np.zeros(len(lengths)))
    base = flange_transform(flange.position, flange.quaternion)
    return TwinShape(
        angles=angles,
        curvatures=angles / lengths,
        planes=planes,
        frames=chain_frames(angles / lengths, planes, lengths, twin.frame),
        roots=np.asarray(base @ roots_in_flange(twin.gripper)),
    )


def arm_joints(twin: Twin, flange: FlangeSample, before: Array | None) -> Array | None:
    """Return the joints of the arm that the robot reports, or that reach the flange pose, (nj,).

    Of several postures within the limits, the one nearest to the previous one is returned.

    Args:
        twin: Digital twin with the arm.
        flange: Pose of the flange.
        before: Previous joint variables; None to begin at those of the start of the arm.

    Returns:
        Joint variables [rad or m]; None without an arm, or where the pose is out of reach.
    """
    if twin.arm is None:
        return None
    chain = twin.arm.chain
    if len(flange.joints) == len(chain.phalanges):
        return np.array(flange.joints)
    near = np.array([row.start for row in chain.phalanges]) if before is None else before
    goal = flange_transform(flange.position, flange.quaternion)
    return nearest_posture(chain, goal, near)


# Mount on the flange


def flange_transform(position: ArrayLike, quaternion: ArrayLike) -> Array:
    """Return T_R, the frame of a flange in the robot's base frame, (4, 4); eq 7.

    Args:
        position: Origin [m], (3,).
        quaternion: (w, x, y, z) of unit norm within 1e-3, (4,); it is normalised, because the
            printed matrix is a rotation only for unit quaternions.

    Raises:
        DescriptionError: Another norm, another number of values, or values that are not finite.
    """
    translation, rotation = np.asarray(position, dtype=float), np.asarray(quaternion, dtype=float)
    if (
        translation.shape != (3,)
        or rotation.shape != (4,)
        or not np.isfinite([*translation, *rotation]).all()
    ):
        raise DescriptionError(
            "expected a position of 3 and a quaternion of 4 finite numbers, found "
            f"{translation.tolist()} and {rotation.tolist()}"
        )
    w, x, y, z = rotation.tolist()
    try:
        return transform(translation, unit_quaternion((w, x, y, z)))
    except ValueError as error:
        raise DescriptionError(str(error), field="quaternion") from None


def roots_in_flange(gripper: GripperMount) -> Array:
    """Return T_mount · T_base, the frames of the k fingers' roots in the flange, (k, 4, 4)."""
    return np.stack([_matrix(gripper.mount) @ _matrix(finger) for finger in gripper.fingers])


def _matrix(pose: Pose) -> Array:
    return transform(pose.position, pose.quaternion)
