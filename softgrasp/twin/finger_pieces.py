"""The shape of a gripper's fingers at a pressure and a flange pose (Xiang et al., eq 4 to 8)."""

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
from softgrasp.errors import BuildError, DescriptionError, did_you_mean
from softgrasp.mechanics.trajectory import joint_path
from softgrasp.mechanics.transforms import Array, rotate_about, transform
from softgrasp.twin.description import FlangeSample, GripperMount, Twin
from softgrasp.twin.piecewise_bending import KPA, angles_at


class TwinShape(NamedTuple):
    """Fingers of n pieces, all bent alike."""

    angles: Array
    """Of the pieces [rad], (n,)."""
    curvatures: Array
    """[1/m], (n,)"""
    planes: Array
    """Angles of the bending planes [rad], (n,)."""
    frames: Array
    """From the root to the tip, in the frame of a finger's root, (n + 1, 4, 4)."""
    roots: Array
    """Of the k fingers, in the base of the robot, (k, 4, 4)."""

    @property
    def tips(self) -> Array:
        """In the base of the robot [m], (k, 3)."""
        return np.asarray((self.roots @ self.frames[-1])[:, :3, 3])

    @property
    def bend(self) -> float:
        """Of a whole finger [rad]."""
        return float(self.angles.sum())


def twin_shape(twin: Twin, pressure: float, flange: FlangeSample) -> TwinShape:
    """The fingers at a pressure, on a flange.

    Args:
        twin: The gripper.
        pressure: Over that of the air around [Pa].
        flange: Where the flange stands.

    Raises:
        DescriptionError: The pressure lies farther outside of what was measured than the margin
            of the twin: nothing is extrapolated.
    """
    low, high = twin.finger.pressures
    if not low - twin.margin <= pressure <= high + twin.margin:
        raise DescriptionError(
            f"finger '{twin.finger.name}': expected a pressure of {KPA * low:g} to "
            f"{KPA * high:g} kPa, which was measured; found {KPA * pressure:.4g} kPa"
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
    """Joints of the arm that have its flange at a pose [rad], (nj,).

    Args:
        twin: With the arm.
        flange: Where the flange stands.
        before: The joints a moment ago; those at which the arm starts where they are not known.

    Returns:
        The joints; None where there is no arm, or it does not reach.
    """
    if twin.arm is None:
        return None
    chain = twin.arm.chain
    near = [row.start for row in chain.phalanges] if before is None else before.tolist()
    goal = flange_transform(flange.position, flange.quaternion)
    try:
        path = joint_path(chain, near, goal[None], "the flange's way")
    except BuildError:
        return None
    return np.asarray(path[0])


# --------------------
# Where the fingers of a gripper are for a robot: T_F = T_R · T_mount · T_base · T_finger.
#
# Xiang et al. (2024) (eq 6 to 8), with the frames that it leaves out.


def flange_transform(position: ArrayLike, quaternion: ArrayLike) -> Array:
    """T_R, frame of a flange in the robot's base, (4, 4); Xiang et al. (2024), eq 7.

    Args:
        position: [m], (3,).
        quaternion: (w, x, y, z) of unit length within 1e-3, (4,); it is normalised, as the printed
            matrix is a rotation for unit quaternions only.

    Raises:
        DescriptionError: It is longer or shorter, or the numbers are not finite or too few.
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
    """T_mount · T_base of every finger, (k, 4, 4)."""
    return np.stack([_matrix(gripper.mount) @ _matrix(finger) for finger in gripper.fingers])


def mounted_fingers(
    flange: ArrayLike,
    gripper: GripperMount,
    thetas: ArrayLike,
    phis: ArrayLike,
    lengths: ArrayLike,
    frame: Frame = "webster",
) -> Array:
    """Frames along every finger in the robot's base, (k, n + 1, 4, 4): roots, then piece by piece.

    Args:
        flange: T_R, frame of the flange in the robot's base, (4, 4).
        gripper: With k fingers.
        thetas: Bending angles of the n pieces [rad], (n,) for all fingers or (k, n) for each.
        phis: Angles of the bending planes [rad], (n,) or (k, n).
        lengths: Of the pieces, the same for all fingers [m], (n,).
        frame: Rotation of the end frame of a piece about z; Xiang et al. has ``webster``.

    Raises:
        DescriptionError: Shapes that do not go together, or as ``pcc.segment_transform``.
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


def _matrix(pose: Pose) -> Array:
    return transform(pose.position, pose.quaternion)


# --------------------
# The two kinematic models of Xiang et al. (2024) side by side, and what mends the second one.


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
    """A finger after eq 5 of Xiang et al., with frames that do not turn, and as rigid pieces.

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


# --------------------
# Fingers cut into rigid pieces, each turned about its bottom: what Xiang et al. shows (III-C2).
#
# There a piece is a child of the one before it and stands on its top; its ``localEulerAngles`` in
# Unity are set to the bending angle θ about y and to φ about z. Two things follow.
#
# Unity turns about z first, then about x, then about y, all of them axes of the parent, so the
# turn
# is R = Ry(θ)·Rz(φ). An arc (eq 5) has Rz(φ)·Ry(θ)·…: there φ turns the plane in which
# the piece itself bends, here only those of the pieces after it.
#
# A straight piece that is turned by all of θ at its bottom is no arc, whose chord leans by θ/2.
# ``chord_pieces`` leans so, and ends where the arc ends.
#
# Unity's axes are left-handed. A turn has the same matrix in left-handed axes; what it looks like
# is
# mirrored. ``mirrored`` gives the numbers of the same shape in right-handed axes.


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
    """Rigid pieces that are turned about their bottoms by all of θ (Xiang et al. 2024, III-C2).

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
            f"expected finite angles and lengths above 0, found {arrays[0]} and {arrays[1]}, "
            f"lengths {arrays[2]}"
        )
    return arrays


def _stacked(rotations: Array, lengths: Array, ends: Array) -> Pieces:
    """Pieces one on another: turned at the bottom, then along z, then turned at the top."""
    along = np.broadcast_to(np.eye(4), rotations.shape).copy()
    along[:, 2, 3] = lengths
    frames = frames_along(rotations @ along @ ends)
    return Pieces(frames[:-1] @ rotations, frames[1:])


# --------------------
# How far the tip of a model is from where it was measured, over the length of the finger.


def tip_error(tip: ArrayLike, reference: ArrayLike, lengths: ArrayLike) -> Array:
    """E = ‖tip − reference‖ / Σℓ of tips and where they were measured, (...) [–].

    Xiang et al. calls its E (Table I) an error in task space, and then a difference of curvatures;
    this is the one that its table can mean.

    Args:
        tip: Of the model [m], (..., 3).
        reference: Measured, in the same frame [m], (..., 3).
        lengths: Of the pieces [m], (n,).

    Raises:
        DescriptionError: Something is no point, or the lengths are not positive.
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


def track_errors(
    times: ArrayLike,
    tips: ArrayLike,
    measured_times: ArrayLike,
    measured: ArrayLike,
    lengths: ArrayLike,
) -> Array:
    """E at the instants of a model, with measured tips in between taken on straight lines, (t,).

    Args:
        times: Of the model [s], (t,).
        tips: Of the model [m], (t, 3).
        measured_times: Rising [s], (m,); they have to cover the model's.
        measured: [m], (m, 3).
        lengths: Of the pieces [m], (n,).

    Raises:
        DescriptionError: As ``tip_error``, or an instant lies before or after all measured ones.
    """
    requested, known = np.asarray(times, dtype=float), np.asarray(measured_times, dtype=float)
    points = np.asarray(measured, dtype=float)
    if points.shape != (len(known), 3):
        raise DescriptionError(
            f"expected a point (3,) for each of {len(known)} times, found shape {points.shape}",
            field="measured",
        )
    outside = requested[~((requested >= known[0]) & (requested <= known[-1]))]
    if outside.size:
        raise DescriptionError(
            f"expected times from {known[0]:g} to {known[-1]:g} s, which is what was measured, "
            f"found {outside[0]:g} s",
            field="times",
        )
    between = np.column_stack([np.interp(requested, known, part) for part in points.T])
    return tip_error(tips, between, lengths)
