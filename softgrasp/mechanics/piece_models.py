"""The two kinematic models of paper 001 side by side, and what mends the second one."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from softgrasp.continuum.pcc import Frame, chain_frames, segment_transform
from softgrasp.mechanics.rigid_pieces import Pieces, chord_pieces, rigid_pieces
from softgrasp.mechanics.tip_error import tip_error
from softgrasp.mechanics.transforms import Array

POINTS = 16
"""Of an arc, its base not counted."""


@dataclass(frozen=True, eq=False)
class ModelPose:
    """The shape of a finger after one of the models."""

    name: str
    """Short, such as ``arcs_webster``."""
    label: str
    """In words."""
    line: Array
    """Along the finger from the base to the tip [m], (k, 3)."""
    ends: Array
    """Base, and ends of the pieces [m], (n + 1, 3)."""
    axis: Array
    """z axis of the end frame, (3,)."""
    apart: float
    """Distance of the tip from that of the arcs of eq 5 [m]."""
    fraction: float
    """The same over the length of the finger [–]."""

    @property
    def tip(self) -> Array:
        """In the base frame [m], (3,)."""
        return np.asarray(self.ends[-1])


def compared_models(thetas: ArrayLike, phis: ArrayLike, lengths: ArrayLike) -> list[ModelPose]:
    """A finger after eq 5 of paper 001, with frames that do not turn, and as rigid pieces.

    - ``arcs_webster``: eq 5, φ turns the bending plane and all that follows; the others are
      compared with it.
    - ``arcs_bishop``: φ counts in frames that a straight piece does not turn (papers 002, 003).
    - ``rigid_unity``: rigid pieces turned at the bottom by θ and φ in Unity's order (III-C2).
    - ``rigid_plane``: the same, with φ before θ as in eq 5.
    - ``rigid_chord``: rigid pieces that keep their length and lean by θ/2.

    Args:
        thetas: Bending angles [rad], (n,).
        phis: [rad], (n,).
        lengths: [m], (n,).

    Raises:
        DescriptionError: Different numbers of values, a length that is not positive, or a number
            that is not finite.
    """
    theta, phi, length = (np.asarray(part, dtype=float) for part in (thetas, phis, lengths))
    unity = rigid_pieces(theta, phi, length)
    plane = rigid_pieces(theta, phi, length, order="plane")
    chord = chord_pieces(theta, phi, length, shorten=False)
    webster, bishop = (_arcs(theta, phi, length, frame) for frame in ("webster", "bishop"))
    shapes = [
        ("arcs_webster", "arcs, eq 5 (frame webster)", *webster),
        ("arcs_bishop", "arcs, frame bishop", *bishop),
        ("rigid_unity", "rigid pieces, Unity's order (III-C2)", *_straight(unity)),
        ("rigid_plane", "rigid pieces, phi before theta", *_straight(plane)),
        ("rigid_chord", "rigid pieces that lean by theta/2", *_straight(chord)),
    ]
    reference = webster[1][-1, :3, 3]
    return [_pose(name, label, line, ends, reference, length) for name, label, line, ends in shapes]


def _pose(
    name: str, label: str, line: Array, frames: Array, reference: Array, lengths: Array
) -> ModelPose:
    tip = frames[-1, :3, 3]
    apart = float(np.linalg.norm(tip - reference))
    fraction = float(tip_error(tip, reference, lengths))
    return ModelPose(name, label, line, frames[:, :3, 3], frames[-1, :3, 2], apart, fraction)


def _arcs(theta: Array, phi: Array, length: Array, frame: Frame) -> tuple[Array, Array]:
    """Points along arcs, and the frames at their ends."""
    frames = chain_frames(theta / length, phi, length, frame)
    parts = np.arange(1, POINTS + 1)[:, None] / POINTS
    inner = segment_transform(theta / length, phi, parts * length)
    along = (frames[:-1] @ inner).transpose(1, 0, 2, 3)[..., :3, 3].reshape(-1, 3)
    return np.concatenate([frames[:1, :3, 3], along]), frames


def _straight(pieces: Pieces) -> tuple[Array, Array]:
    frames = np.concatenate([np.eye(4)[None], pieces.tops])
    return pieces.points, frames
