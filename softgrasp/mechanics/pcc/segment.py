"""One segment of constant curvature: its end frame, and how that moves."""

from __future__ import annotations

from typing import Literal, get_args

import numpy as np
from numpy.typing import ArrayLike

from softgrasp.errors import DescriptionError, did_you_mean
from softgrasp.mechanics.pcc.series import arc_functions
from softgrasp.mechanics.transforms import Array, rotate_about

Frame = Literal["bishop", "webster"]


def segment_transform(
    kappa: ArrayLike, phi: ArrayLike, length: ArrayLike, frame: Frame = "bishop"
) -> Array:
    """End frame of a segment in its base frame, shape (..., 4, 4); arguments broadcast.

    Args:
        kappa: Curvature [1/m].
        phi: Angle of the bending plane about the base z axis, 0 bends towards +x [rad].
        length: Arc length [m].
        frame: How the end frame is turned about its z axis.

    Raises:
        DescriptionError: A length is not positive, a number is not finite, or no such frame.

    Papers 002 (eq 2, 3), 003 (eq 3) and 001 (eq 5), with their printed errors corrected.
    """
    kappa, phi, length = _checked(kappa, phi, length, frame)
    theta = kappa * length
    end = bend_transform(theta * np.cos(phi), theta * np.sin(phi), length)
    return end if frame == "bishop" else end @ rotate_about("z", phi)


def bend_transform(u: ArrayLike, v: ArrayLike, length: ArrayLike) -> Array:
    """End frame (``bishop``) of a segment bent by (u, v) = θ (cos φ, sin φ), shape (..., 4, 4).

    Smooth everywhere, the straight segment included.

    Args:
        u: Part of the bending angle towards x [rad].
        v: Part of the bending angle towards y [rad].
        length: Arc length [m].
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
    """End frame of a segment with constant bending, torsion and elongation, shape (..., 4, 4).

    The segment bends first and is then twisted (paper 003, eq 3); a rod of constant strain would
    wind as a helix, which differs by some percent of the length.

    Args:
        strains: Curvatures about the x and the y axis and torsion [1/m], and elongation [–], shape
            (..., 4). Bending about +y leans towards +x.
        rest_length: Length without elongation [m].
    """
    kx, ky, kz, elongation = np.moveaxis(np.asarray(strains, dtype=float), -1, 0)
    length = (1.0 + elongation) * np.asarray(rest_length, dtype=float)
    return bend_transform(length * ky, -length * kx, length) @ rotate_about("z", length * kz)


def jacobian(kappa: ArrayLike, phi: ArrayLike, length: ArrayLike, frame: Frame = "bishop") -> Array:
    """How the end of a segment moves with (κ, φ, ℓ), shape (..., 6, 3).

    Rows: velocity of the end's origin [m/s], angular velocity of the end frame [rad/s], both in
    the base frame. The column of φ vanishes where the segment is straight; ``bend_jacobian`` is
    regular there.

    Raises:
        DescriptionError: As ``segment_transform``.
    """
    kappa, phi, length = _checked(kappa, phi, length, frame)
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
    """How the end of a segment moves with (u, v, ℓ), shape (..., 6, 3); rows as ``jacobian``.

    The angular part is the left Jacobian of the rotation vector (−v, u, 0); paper 003 (eq 5, 6)
    prints the vector's own rate, which is wrong by 26 % at 30° where φ changes.
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


def _checked(
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
