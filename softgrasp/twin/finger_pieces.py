"""Shape of a gripper's fingers at a pressure and a flange pose (Xiang et al. 2024, eq 4 to 8).

``twin_shape`` computes the fingers as constant-curvature arcs on the flange, T_F = T_R · T_mount
· T_base · T_finger, with the mount frames that the paper omits. ``compared_models`` sets the
paper's two kinematic models side by side.

The paper's second model (III-C2) cuts a finger into rigid pieces, each a child of the previous
one, whose ``localEulerAngles`` in Unity are the bending angle θ about y and φ about z. Unity
rotates about z first, then x, then y, all of them axes of the parent, so the rotation is R =
Ry(θ)·Rz(φ). An arc (eq 5) has Rz(φ)·Ry(θ)·…: there φ rotates the plane in which the piece itself
bends, here only those of the following pieces. And a straight piece rotated by all of θ at its
bottom is not the chord of an arc, which leans by θ/2; ``chord_pieces`` leans so and ends where
the arc ends. Unity's axes are left-handed: a rotation has the same matrix there but looks
mirrored; ``mirrored`` converts frames of the same shape to right-handed axes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import ArrayLike

from softgrasp.continuum.pcc import (
    Frame,
    chain_frames,
    frames_along,
    of_one_length,
    segment_transform,
)
from softgrasp.description.base import unit_quaternion
from softgrasp.description.geometry import Pose
from softgrasp.errors import DescriptionError, did_you_mean
from softgrasp.mechanics.inverse_kinematics import nearest_posture
from softgrasp.mechanics.transforms import Array, rotate_about, transform
from softgrasp.twin.description import FlangeSample, GripperMount, Twin
from softgrasp.twin.piecewise_bending import KPA, angles_at

POINTS = 16
"""Points per arc, without its base."""


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
    """Return T_mount · T_base of every finger, (k, 4, 4)."""
    return np.stack([_matrix(gripper.mount) @ _matrix(finger) for finger in gripper.fingers])


def _matrix(pose: Pose) -> Array:
    return transform(pose.position, pose.quaternion)


def mounted_fingers(
    flange: ArrayLike,
    gripper: GripperMount,
    thetas: ArrayLike,
    phis: ArrayLike,
    lengths: ArrayLike,
    frame: Frame = "webster",
) -> Array:
    """Return frames along every finger in the robot's base frame, root to tip, (k, n + 1, 4, 4).

    Args:
        flange: T_R, frame of the flange in the robot's base frame, (4, 4).
        gripper: Gripper with k fingers.
        thetas: Bending angles of the n pieces [rad], (n,) for all fingers or (k, n) for each.
        phis: Angles of the bending planes [rad], (n,) or (k, n).
        lengths: Lengths of the pieces, the same for all fingers [m], (n,).
        frame: Rotation of the end frame of a piece about z; the paper uses ``webster``.

    Raises:
        DescriptionError: Inconsistent shapes, or as ``pcc.segment_transform``.
    """
    arcs = np.asarray(lengths, dtype=float)
    expected_shape = (len(gripper.fingers), *arcs.shape)
    base, bends, planes = (np.asarray(part, dtype=float) for part in (flange, thetas, phis))
    if base.shape != (4, 4):
        raise DescriptionError(f"expected (4, 4), found shape {base.shape}", field="flange")
    for field, angles in (("thetas", bends), ("phis", planes)):
        if angles.shape not in (expected_shape, arcs.shape):
            raise DescriptionError(
                f"expected angles of shape {arcs.shape} or {expected_shape}, found {angles.shape}",
                field=field,
            )
    rows = zip(
        np.broadcast_to(bends, expected_shape), np.broadcast_to(planes, expected_shape), strict=True
    )
    fingers = np.stack([chain_frames(row / arcs, plane, arcs, frame) for row, plane in rows])
    return np.asarray(base @ roots_in_flange(gripper)[:, None] @ fingers)


# Kinematic models


Order = Literal["unity", "plane"]
"""``unity``: R = Ry(θ)·Rz(φ); ``plane``: R = Rz(φ)·Ry(θ), in which φ rotates the bending plane."""


@dataclass(frozen=True, eq=False)
class ModelPose:
    """Shape of a finger in one of the compared kinematic models."""

    name: str
    """Short name, such as ``arcs_webster``."""
    label: str
    """Description."""
    line: Array
    """Points along the finger from the base to the tip [m], (k, 3)."""
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
        """Tip in the base frame [m], (3,)."""
        return np.asarray(self.ends[-1])


class Pieces(NamedTuple):
    """Frames of n rigid pieces of a finger, from the base outwards."""

    bottoms: Array
    """Frames at the bottoms, z along each piece, (n, 4, 4)."""
    tops: Array
    """Frames at the tops, where the next pieces begin, (n, 4, 4)."""

    @property
    def tip(self) -> Array:
        """End of the last piece in the base frame [m], (3,)."""
        return np.asarray(self.tops[-1, :3, 3])

    @property
    def points(self) -> Array:
        """Base, and tops of all pieces [m], (n + 1, 3)."""
        return np.concatenate([self.bottoms[:1, :3, 3], self.tops[:, :3, 3]])


def compared_models(thetas: ArrayLike, phis: ArrayLike, lengths: ArrayLike) -> list[ModelPose]:
    """Compute a finger as arcs (eq 5), as arcs in untwisted frames, and as rigid pieces.

    - ``arcs_webster``: eq 5, φ rotates the bending plane and all following pieces; the
      reference.
    - ``arcs_bishop``: φ is measured in frames that a straight piece does not rotate.
    - ``rigid_unity``: rigid pieces rotated at the bottom by θ and φ in Unity's order (III-C2).
    - ``rigid_plane``: the same, with φ before θ as in eq 5.
    - ``rigid_chord``: rigid pieces that keep their length and lean by θ/2.

    Args:
        thetas: Bending angles [rad], (n,).
        phis: Angles of the bending planes [rad], (n,).
        lengths: Lengths of the pieces [m], (n,).

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


def _arcs(theta: Array, phi: Array, length: Array, frame: Frame) -> tuple[Array, Array]:
    """Return points along arcs, and the frames at their ends."""
    frames = chain_frames(theta / length, phi, length, frame)
    parts = np.arange(1, POINTS + 1)[:, None] / POINTS
    inner = segment_transform(theta / length, phi, parts * length)
    along = (frames[:-1] @ inner).transpose(1, 0, 2, 3)[..., :3, 3].reshape(-1, 3)
    return np.concatenate([frames[:1, :3, 3], along]), frames


def _straight(pieces: Pieces) -> tuple[Array, Array]:
    frames = np.concatenate([np.eye(4)[None], pieces.tops])
    return pieces.points, frames


def _pose(
    name: str, label: str, line: Array, frames: Array, reference: Array, lengths: Array
) -> ModelPose:
    tip = frames[-1, :3, 3]
    apart = float(np.linalg.norm(tip - reference))
    fraction = float(tip_error(tip, reference, lengths))
    return ModelPose(name, label, line, frames[:, :3, 3], frames[-1, :3, 2], apart, fraction)


def rigid_pieces(
    thetas: ArrayLike, phis: ArrayLike, lengths: ArrayLike, order: Order = "unity"
) -> Pieces:
    """Compute rigid pieces, each rotated at its base by its whole angle θ (III-C2).

    Args:
        thetas: Bending angles about y [rad], (n,).
        phis: Rotations about z [rad], (n,).
        lengths: Lengths of the pieces [m], (n,).
        order: Order of the rotations.

    Raises:
        DescriptionError: Different numbers of values, a length that is not positive, or no such
            order.
    """
    if order not in get_args(Order):
        hint = did_you_mean(order, get_args(Order))
        raise DescriptionError(f"expected an order of rotations, found '{order}'; {hint}")
    theta, phi, length = _checked(thetas, phis, lengths)
    bend, twist = rotate_about("y", theta), rotate_about("z", phi)
    rotations = bend @ twist if order == "unity" else twist @ bend
    return _stacked(rotations, length, np.broadcast_to(np.eye(4), rotations.shape))


def _checked(thetas: ArrayLike, phis: ArrayLike, lengths: ArrayLike) -> list[Array]:
    arrays = of_one_length(thetas=thetas, phis=phis, lengths=lengths)
    if not all(np.isfinite(part).all() for part in arrays) or not (arrays[2] > 0.0).all():
        raise DescriptionError(
            f"expected finite angles and lengths above 0, found {arrays[0]} and {arrays[1]}, "
            f"lengths {arrays[2]}"
        )
    return arrays


def _stacked(rotations: Array, lengths: Array, ends: Array) -> Pieces:
    """Chain finger pieces: rotation at the base, translation along z, rotation at the top."""
    along = np.broadcast_to(np.eye(4), rotations.shape).copy()
    along[:, 2, 3] = lengths
    frames = frames_along(rotations @ along @ ends)
    return Pieces(frames[:-1] @ rotations, frames[1:])


def chord_pieces(
    thetas: ArrayLike, phis: ArrayLike, lengths: ArrayLike, *, shorten: bool = True
) -> Pieces:
    """Compute rigid pieces rotated by θ/2 at both ends, the chords of constant-curvature arcs.

    With ``shorten`` they are the chords, and the tops are the ends of the arcs exactly
    (``pcc.chain_frames`` in the frame ``webster``). Without it pieces keep their length, and are
    too long by about θ²/24 of it.

    Args:
        thetas: Bending angles [rad], (n,).
        phis: Angles of the bending planes about the z axis of the previous frame [rad], (n,).
        lengths: Lengths of the arcs [m], (n,).
        shorten: Whether a piece is as long as its chord.

    Raises:
        DescriptionError: Different numbers of values, or a length that is not positive.
    """
    theta, phi, length = _checked(thetas, phis, lengths)
    half = rotate_about("y", 0.5 * theta)
    chord = length * np.sinc(0.5 * theta / np.pi) if shorten else length
    return _stacked(rotate_about("z", phi) @ half, chord, half)


def mirrored(frames: ArrayLike, axis: Literal["x", "y", "z"] = "y") -> Array:
    """Convert frames or points between left-handed and right-handed axes by reversing one axis.

    Rotations about the reversed axis do not change, those about the others change their sign.

    Args:
        frames: Frames (..., 4, 4) or points (..., 3); an array (..., 4, 4) is taken as frames.
        axis: Reversed axis.
    """
    frame_array = np.asarray(frames, dtype=float)
    signs = np.where(np.array(list("xyz")) == axis, -1.0, 1.0)
    if frame_array.shape[-2:] != (4, 4):
        return np.asarray(frame_array * signs)
    whole = np.append(signs, 1.0)
    return np.asarray(frame_array * whole[:, None] * whole)


# Tip error


def tip_error(tip: ArrayLike, reference: ArrayLike, lengths: ArrayLike) -> Array:
    """Compute E = ‖tip − reference‖ / Σℓ, (...) [–].

    The paper describes its E (Table I) as an error in task space, and then as a difference of
    curvatures; only the first agrees with its table.

    Args:
        tip: Tips of the model [m], (..., 3).
        reference: Measured tips, in the same frame [m], (..., 3).
        lengths: Lengths of the pieces [m], (n,).

    Raises:
        DescriptionError: Points of another shape, or lengths that are not positive.
    """
    model, measured = (np.asarray(part, dtype=float) for part in (tip, reference))
    arcs = np.asarray(lengths, dtype=float)
    for field, points in (("tip", model), ("reference", measured)):
        if points.shape[-1:] != (3,) or not np.isfinite(points).all():
            raise DescriptionError(
                f"expected points (..., 3) of finite numbers, found shape {points.shape}",
                field=field,
            )
    if arcs.size == 0 or not ((arcs > 0.0) & (arcs < np.inf)).all():
        raise DescriptionError(f"expected lengths above 0, found {arcs}", field="lengths")
    return np.asarray(np.linalg.norm(model - measured, axis=-1) / arcs.sum())
