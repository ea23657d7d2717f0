"""Fingers cut into rigid pieces, each turned about its bottom: what paper 001 shows (III-C2).

There a piece is a child of the one before it and stands on its top; its ``localEulerAngles`` in
Unity are set to the bending angle θ about y and to φ about z. Two things follow.

Unity turns about z first, then about x, then about y, all of them axes of the parent, so the turn
is R = Ry(θ)·Rz(φ). An arc (paper 001, eq 5) has Rz(φ)·Ry(θ)·…: there φ turns the plane in which
the piece itself bends, here only those of the pieces after it.

A straight piece that is turned by all of θ at its bottom is no arc, whose chord leans by θ/2.
``chord_pieces`` leans so, and ends where the arc ends.

Unity's axes are left-handed. A turn has the same matrix in left-handed axes; what it looks like is
mirrored. ``mirrored`` gives the numbers of the same shape in right-handed axes.
"""

from __future__ import annotations

from typing import Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import ArrayLike

from softgrasp.continuum.pcc import frames_along, of_one_length
from softgrasp.errors import DescriptionError, did_you_mean
from softgrasp.mechanics.transforms import Array, rotate_about

Order = Literal["unity", "plane"]
"""``unity``: R = Ry(θ)·Rz(φ); ``plane``: R = Rz(φ)·Ry(θ), in which φ turns the bending plane."""


class Pieces(NamedTuple):
    """Where the pieces of a finger are; n of them, from the base outwards."""

    bottoms: Array
    """Frames at the bottoms, turned as the pieces are: z runs along each, (n, 4, 4)."""
    tops: Array
    """Frames at the tops, on which the next pieces stand, (n, 4, 4)."""

    @property
    def tip(self) -> Array:
        """End of the last one in the base frame [m], (3,)."""
        return np.asarray(self.tops[-1, :3, 3])

    @property
    def points(self) -> Array:
        """Base, and tops of all pieces [m], (n + 1, 3)."""
        return np.concatenate([self.bottoms[:1, :3, 3], self.tops[:, :3, 3]])


def rigid_pieces(
    thetas: ArrayLike, phis: ArrayLike, lengths: ArrayLike, order: Order = "unity"
) -> Pieces:
    """Rigid pieces that are turned about their bottoms by all of θ (paper 001, III-C2).

    Args:
        thetas: Bending angles about y [rad], (n,).
        phis: Turns about z [rad], (n,).
        lengths: [m], (n,).
        order: Which of the turns comes first.

    Raises:
        DescriptionError: Different numbers of values, a length that is not positive, or no such
            order.
    """
    if order not in get_args(Order):
        hint = did_you_mean(order, get_args(Order))
        raise DescriptionError(f"expected an order of turns, found '{order}'; {hint}")
    theta, phi, length = _checked(thetas, phis, lengths)
    bend, twist = rotate_about("y", theta), rotate_about("z", phi)
    rotations = bend @ twist if order == "unity" else twist @ bend
    return _stacked(rotations, length, np.broadcast_to(np.eye(4), rotations.shape))


def chord_pieces(
    thetas: ArrayLike, phis: ArrayLike, lengths: ArrayLike, *, shorten: bool = True
) -> Pieces:
    """Rigid pieces that lean by θ/2, as the chords of arcs do; the next one turns by the rest.

    With ``shorten`` they are the chords, and the tops are the ends of the arcs to the last digit
    (``pcc.chain_frames`` in the frame ``webster``). Without it pieces keep their length, as rigid
    ones do, and are too long by about θ²/24 of it.

    Args:
        thetas: Bending angles [rad], (n,).
        phis: Angles of the bending planes about the z axis of the frame before [rad], (n,).
        lengths: Of the arcs [m], (n,).
        shorten: Whether a piece is as long as its chord.

    Raises:
        DescriptionError: Different numbers of values, or a length that is not positive.
    """
    theta, phi, length = _checked(thetas, phis, lengths)
    half = rotate_about("y", 0.5 * theta)
    chord = length * np.sinc(0.5 * theta / np.pi) if shorten else length
    return _stacked(rotate_about("z", phi) @ half, chord, half)


def mirrored(frames: ArrayLike, axis: Literal["x", "y", "z"] = "y") -> Array:
    """Frames, or points, of left-handed axes in right-handed ones, or back: one axis is reversed.

    Turns about the reversed axis stay, those about the others change their sign.

    Args:
        frames: Frames (..., 4, 4) or points (..., 3); an array (..., 4, 4) holds frames.
        axis: The one that is reversed.
    """
    frame_array = np.asarray(frames, dtype=float)
    signs = np.where(np.array(list("xyz")) == axis, -1.0, 1.0)
    if frame_array.shape[-2:] != (4, 4):
        return np.asarray(frame_array * signs)
    whole = np.append(signs, 1.0)
    return np.asarray(frame_array * whole[:, None] * whole)


def _checked(thetas: ArrayLike, phis: ArrayLike, lengths: ArrayLike) -> list[Array]:
    arrays = of_one_length(thetas=thetas, phis=phis, lengths=lengths)
    if not all(np.isfinite(part).all() for part in arrays) or not (arrays[2] > 0.0).all():
        raise DescriptionError(
            f"expected finite angles and lengths above 0, found angles {arrays[0]} and {arrays[1]}, "
            f"lengths {arrays[2]}"
        )
    return arrays


def _stacked(rotations: Array, lengths: Array, ends: Array) -> Pieces:
    """Pieces one on another: turned at the bottom, then along z, then turned at the top."""
    along = np.broadcast_to(np.eye(4), rotations.shape).copy()
    along[:, 2, 3] = lengths
    frames = frames_along(rotations @ along @ ends)
    return Pieces(frames[:-1] @ rotations, frames[1:])
