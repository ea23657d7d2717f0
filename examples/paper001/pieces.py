"""The two kinematic models of Xiang et al. (2024): arcs (eq 5), and Unity's rigid pieces (III-C2).

The second model cuts a finger into rigid pieces, each a child of the previous one, whose
``localEulerAngles`` in Unity are the bending angle θ about y and φ about z. Unity rotates about z
first, then x, then y, all of them axes of the parent, so the rotation is R = Ry(θ)·Rz(φ). An arc
has Rz(φ)·Ry(θ)·…: there φ rotates the plane in which the piece itself bends, here only those of the
following pieces. And a straight piece rotated by all of θ at its bottom is not the chord of an arc,
which leans by θ/2; ``chord_pieces`` leans so and ends where the arc ends. Unity's axes are
left-handed: a rotation has the same matrix there but looks mirrored; ``mirrored`` converts frames
of the same shape to right-handed axes.

All models return frames from the base to the tip, (n + 1, 4, 4), as ``sg.pcc.chain_frames`` does.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from softgrasp.continuum.pcc import chain_frames, frames_along, of_one_length, segment_transform
from softgrasp.mechanics.transforms import Array, rotate_about

LENGTHS = (14e-3, 14e-3, 12.32e-3, 15.39e-3)
"""Arcs of the pieces, base first (III-C) [m]."""
THETAS = tuple(np.radians([10.0, 15.0, 20.0, 25.0]).tolist())
"""Bending angles of the compared poses [rad]; those of the paper are printed in a figure only."""
PHIS = tuple(np.radians([12.0, 8.8, 6.0, 3.3]).tolist())
"""Angles of the bending planes of Fig. 5 [rad]; the paper states no unit, degrees are meant."""
POINTS = 16
"""Points per arc, without its base."""


class ModelPose(NamedTuple):
    """Shape of a finger in one of the compared models."""

    name: str
    label: str
    line: Array
    """Points along the finger from the base to the tip [m], (k, 3)."""
    frames: Array
    """Base, and ends of the pieces, (n + 1, 4, 4)."""
    apart: float
    """Distance of the tip from that of the arcs of eq 5 [m]."""


def compared_models(
    thetas: ArrayLike = THETAS, phis: ArrayLike = PHIS, lengths: ArrayLike = LENGTHS
) -> list[ModelPose]:
    """Compute a finger as arcs (eq 5; the reference), arcs in untwisted frames, and rigid pieces.

    Args:
        thetas: Bending angles [rad], (n,).
        phis: Angles of the bending planes [rad], (n,).
        lengths: Lengths of the pieces [m], (n,).

    Raises:
        DescriptionError: Different numbers of values.
    """
    theta, phi, length = of_one_length(thetas=thetas, phis=phis, lengths=lengths)
    webster = chain_frames(theta / length, phi, length, "webster")
    bishop = chain_frames(theta / length, phi, length, "bishop")
    shapes = [
        ("arcs_webster", "arcs, eq 5 (frame webster)", webster),
        ("arcs_bishop", "arcs, frame bishop", bishop),
        ("rigid_unity", "rigid pieces, Unity's order (III-C2)", rigid_pieces(theta, phi, length)),
        ("rigid_plane", "rigid pieces, φ before θ", rigid_pieces(theta, phi, length, "plane")),
        ("rigid_chord", "rigid pieces that lean by θ/2",
         chord_pieces(theta, phi, length, shorten=False)),
    ]  # fmt: skip
    return [
        ModelPose(
            name,
            label,
            _arc_points(frames, theta, phi, length) if "arcs" in name else frames[:, :3, 3],
            frames,
            float(np.linalg.norm(frames[-1, :3, 3] - webster[-1, :3, 3])),
        )
        for name, label, frames in shapes
    ]


def _arc_points(frames: Array, theta: Array, phi: Array, length: Array) -> Array:
    parts = np.arange(1, POINTS + 1)[:, None] / POINTS
    inner = segment_transform(theta / length, phi, parts * length)
    along = (frames[:-1] @ inner).transpose(1, 0, 2, 3)[..., :3, 3].reshape(-1, 3)
    return np.concatenate([frames[:1, :3, 3], along])


def rigid_pieces(
    thetas: ArrayLike,
    phis: ArrayLike,
    lengths: ArrayLike,
    order: Literal["unity", "plane"] = "unity",
) -> Array:
    """Compute rigid pieces, each rotated at its base by its whole angle θ (III-C2), (n + 1, 4, 4).

    Args:
        thetas: Bending angles about y [rad], (n,).
        phis: Rotations about z [rad], (n,).
        lengths: Lengths of the pieces [m], (n,).
        order: ``unity``: R = Ry(θ)·Rz(φ); ``plane``: R = Rz(φ)·Ry(θ), as for arcs.
    """
    theta, phi, length = of_one_length(thetas=thetas, phis=phis, lengths=lengths)
    bend, twist = rotate_about("y", theta), rotate_about("z", phi)
    return frames_along((bend @ twist if order == "unity" else twist @ bend) @ _along(length))


def chord_pieces(
    thetas: ArrayLike, phis: ArrayLike, lengths: ArrayLike, *, shorten: bool = True
) -> Array:
    """Compute rigid pieces rotated by θ/2 at both ends, the chords of arcs, (n + 1, 4, 4).

    With ``shorten`` the frames are those of ``sg.pcc.chain_frames`` in ``webster`` exactly. Without
    it pieces keep their length, and are too long by about θ²/24 of it.

    Args:
        thetas: Bending angles [rad], (n,).
        phis: Angles of the bending planes about the z axis of the previous frame [rad], (n,).
        lengths: Lengths of the arcs [m], (n,).
        shorten: Whether a piece is as long as its chord.
    """
    theta, phi, length = of_one_length(thetas=thetas, phis=phis, lengths=lengths)
    half = rotate_about("y", 0.5 * theta)
    chord = length * np.sinc(0.5 * theta / np.pi) if shorten else length
    return frames_along(rotate_about("z", phi) @ half @ _along(chord) @ half)


def _along(lengths: Array) -> Array:
    """Return translations along z, (n, 4, 4)."""
    steps = np.tile(np.eye(4), (len(lengths), 1, 1))
    steps[:, 2, 3] = lengths
    return steps


def mirrored(frames: Array, axis: Literal["x", "y", "z"] = "y") -> Array:
    """Convert frames (..., 4, 4) between left-handed and right-handed axes by reversing one axis.

    Rotations about the reversed axis do not change, those about the others change their sign.
    """
    signs = np.append(np.where(np.array(list("xyz")) == axis, -1.0, 1.0), 1.0)
    return np.asarray(frames * signs[:, None] * signs)


def tip_error(tip: ArrayLike, reference: ArrayLike, lengths: ArrayLike) -> Array:
    """Compute E = ‖tip − reference‖ / Σℓ, (...) [–].

    The paper describes its E (Table I) as an error in task space, and then as a difference of
    curvatures; only the first agrees with its table.

    Args:
        tip: Tips of the model [m], (..., 3).
        reference: Measured tips, in the same frame [m], (..., 3).
        lengths: Lengths of the pieces [m], (n,).
    """
    apart = np.linalg.norm(np.subtract(tip, reference), axis=-1)
    return np.asarray(apart / np.sum(lengths))
