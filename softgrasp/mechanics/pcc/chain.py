"""Segments one after another."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from softgrasp.errors import DescriptionError
from softgrasp.mechanics.pcc.segment import Frame, bend_jacobian, bend_transform, segment_transform
from softgrasp.mechanics.transforms import Array


def chain_transform(
    kappas: ArrayLike, phis: ArrayLike, lengths: ArrayLike, frame: Frame = "bishop"
) -> Array:
    """End frame of a chain in its base frame, (4, 4).

    Args:
        kappas: Curvatures from the base outwards [1/m], shape (n,).
        phis: Angles of the bending planes, each about the z axis of the frame before [rad], (n,).
        lengths: Arc lengths [m], (n,).
        frame: How each end frame is turned about its z axis, and with it the next plane.

    Raises:
        DescriptionError: Different numbers of values, or as ``segment_transform``.
    """
    return np.asarray(chain_frames(kappas, phis, lengths, frame)[-1])


def chain_frames(
    kappas: ArrayLike, phis: ArrayLike, lengths: ArrayLike, frame: Frame = "bishop"
) -> Array:
    """The base and the end frame of every segment, (n + 1, 4, 4); as ``chain_transform``."""
    kappas, phis, lengths = of_one_length(kappas=kappas, phis=phis, lengths=lengths)
    steps = segment_transform(kappas, phis, lengths, frame)
    return frames_along(steps)


def chain_jacobian(u: ArrayLike, v: ArrayLike, lengths: ArrayLike) -> Array:
    """How the end of a chain of ``bishop`` frames moves, (6, 3n), columns (u₁, v₁, ℓ₁, u₂, …).

    Rows: velocity of the end's origin, angular velocity of the end frame, in the base frame.

    Args:
        u: Parts of the bending angles towards x [rad], shape (n,).
        v: Parts of the bending angles towards y [rad], (n,).
        lengths: Arc lengths [m], (n,).

    Raises:
        DescriptionError: Different numbers of values.
    """
    u, v, lengths = of_one_length(u=u, v=v, lengths=lengths)
    frames = frames_along(bend_transform(u, v, lengths))
    segment_jacobian = bend_jacobian(u, v, lengths)
    base = frames[:-1, :3, :3]
    linear, angular = base @ segment_jacobian[:, :3], base @ segment_jacobian[:, 3:]
    # what lies behind a segment's end is carried around with it
    arms = frames[-1, :3, 3] - frames[1:, :3, 3]
    carried = np.cross(angular, arms[:, :, None], axisa=1, axisb=1, axisc=1)
    whole = np.concatenate([linear + carried, angular], axis=1)
    return np.asarray(whole.transpose(1, 0, 2).reshape(6, -1))


def to_bishop(phis: ArrayLike) -> Array:
    """Plane angles of ``webster`` frames as those of ``bishop`` frames, (n,) [rad].

    The chains have the same positions and z axes; the ``webster`` end frame is turned about its
    z axis by the last of these angles. Exact: the product of the ``webster`` segments is that of
    the ``bishop`` segments at the summed angles, times Rz of their sum.
    """
    return np.asarray(np.cumsum(np.asarray(phis, dtype=float), axis=-1))


def to_webster(phis: ArrayLike) -> Array:
    """Plane angles of ``bishop`` frames as those of ``webster`` frames; undoes ``to_bishop``."""
    return np.diff(np.asarray(phis, dtype=float), axis=-1, prepend=0.0)


def frames_along(steps: Array) -> Array:
    """The base and every frame after it, (n + 1, 4, 4), of steps from one to the next."""
    frames = [np.eye(4)]
    for step in steps:
        frames.append(frames[-1] @ step)
    return np.stack(frames)


def of_one_length(**series: ArrayLike) -> list[Array]:
    """Series of one number a segment as arrays (n,).

    Raises:
        DescriptionError: They have different numbers of values.
    """
    arrays = {name: np.atleast_1d(np.asarray(part, dtype=float)) for name, part in series.items()}
    sizes = {name: array.shape for name, array in arrays.items()}
    if len(set(sizes.values())) != 1 or len(next(iter(sizes.values()))) != 1:
        shapes_text = ", ".join(f"{name} {shape}" for name, shape in sizes.items())
        raise DescriptionError(f"expected one value a segment in each, found shapes {shapes_text}")
    return list(arrays.values())
