"""Kinematics of hands: frames of links, synergies of postures, and several hands joined to one.

A joint's axis is z of its link frame; at joint variable zero the frame follows from the row's
Denavit–Hartenberg parameters alone (see ``description/finger.py``).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from softgrasp.description.actuation import Coupling, Rates, Synergies
from softgrasp.description.finger import Convention, Finger, Phalanx
from softgrasp.description.geometry import Pose
from softgrasp.description.hand import (
    FurtherPalm,
    GraspPreset,
    Grasps,
    Hand,
    Palm,
    find_moved_bodies,
)
from softgrasp.description.soft_finger import MountedSoftFinger
from softgrasp.errors import DescriptionError
from softgrasp.mechanics.transforms import (
    Array,
    position_of,
    quaternion_of,
    rotate_about,
    transform,
    translate,
)

# Denavit–Hartenberg chains.


def row_transform(a: float, alpha: float, d: float, theta: float, convention: Convention) -> Array:
    """Return the transform of one row of Denavit–Hartenberg parameters, (4, 4).

    ``standard``: Rz(theta)·Tz(d)·Tx(a)·Rx(alpha) (Siciliano et al. 2009, eq 2.52); ``modified``:
    Rx(alpha)·Tx(a)·Rz(theta)·Tz(d) (Craig 2005, eq 3.6). Lengths [m], angles [rad].
    """
    about_z = rotate_about("z", theta) @ translate(z=d)
    along_x = translate(x=a) @ rotate_about("x", alpha)
    if convention == "standard":
        return about_z @ along_x
    return rotate_about("x", alpha) @ translate(x=a) @ about_z


class Link(NamedTuple):
    """A link of a chain at joint variable zero."""

    origin: Array
    """Link frame in the previous link's frame (the finger's base for the first), (4, 4)."""
    end: Array
    """End of the link in its own frame [m], (3,)."""


def chain_links(finger: Finger) -> tuple[Link, ...]:
    """Return the links of a finger at joint variables zero, one per phalanx."""
    links = []
    carry = transform(finger.base.position, finger.base.quaternion)
    for row, end in zip(finger.phalanges, finger.link_ends, strict=True):
        if finger.convention == "placed":
            origin = carry @ transform(row.origin.position, row.origin.quaternion)
            carry = np.eye(4)
        elif finger.convention == "standard":
            origin = carry @ rotate_about("z", row.theta)
            carry = translate(x=row.a, z=row.d) @ rotate_about("x", row.alpha)
        else:
            origin = carry @ row_transform(row.a, row.alpha, row.d, row.theta, "modified")
            carry = np.eye(4)
        links.append(Link(origin, np.array(end)))
    return tuple(links)


def forward_kinematics(finger: Finger, joints: Sequence[float]) -> Array:
    """Compute the frames of a finger in the frame of its base's parent: the hand, or a link.

    Args:
        finger: The finger.
        joints: Joint variables, one per row [rad or m].

    Returns:
        Shape (n + 1, 4, 4): the base, then the frame after each row; ``fingertip`` is in the last
        one.

    Raises:
        DescriptionError: The number of joint variables is not the number of rows.
    """
    if len(joints) != len(finger.phalanges):
        raise DescriptionError(
            f"finger '{finger.name}': expected {len(finger.phalanges)} joint variables, one per "
            f"row, found {len(joints)}"
        )
    frames = [transform(finger.base.position, finger.base.quaternion)]
    for row, value in zip(finger.phalanges, joints, strict=True):
        angle, slide = (value, 0.0) if row.joint == "revolute" else (0.0, value)
        frames.append(frames[-1] @ _row_step(row, angle, slide, finger.convention))
    return np.array(frames)


def _row_step(row: Phalanx, angle: float, slide: float, convention: Convention) -> Array:
    if convention == "placed":
        origin = transform(row.origin.position, row.origin.quaternion)
        return np.asarray(origin @ rotate_about("z", angle) @ translate(z=slide))
    return row_transform(row.a, row.alpha, row.d + slide, row.theta + angle, convention)


# Frames of all links of a hand.


def link_frames(hand: Hand, joints: Mapping[str, ArrayLike]) -> dict[str, Array]:
    """Compute the frames of the rigid fingers' links in the hand's frame, by body, (..., 4, 4).

    A link's frame is at its joint, z along the joint's axis, and moves with the joint.

    Args:
        hand: The hand.
        joints: Joint variables by name [rad or m], as from ``Hand.posture``; arrays of one shape
            for many postures.
    """
    frames: dict[str, Array] = {}
    for finger in hand.fingers:
        carry = frames[finger.on] if finger.on else np.eye(4)
        for row, link in zip(finger.phalanges, chain_links(finger), strict=True):
            value = joints[finger.joint_of(row)]
            moved = rotate_about("z", value) if row.joint == "revolute" else slide(value)
            carry = carry @ link.origin @ moved
            frames[finger.body_of(row)] = carry
    return frames


def end_fingers(hand: Hand) -> list[Finger]:
    """Return the fingers on which no other finger stands."""
    carriers = {finger.on for finger in hand.fingers}
    bodies = [{finger.body_of(row) for row in finger.phalanges} for finger in hand.fingers]
    return [
        item
        for item, bodies_of in zip(hand.fingers, bodies, strict=True)
        if not carriers & bodies_of
    ]


def frames_at(hand: Hand, targets: Array) -> dict[str, Array]:
    """Compute the frames of the rigid links by body for actuator targets (n, nd), (n, 4, 4) each.

    Args:
        hand: The hand.
        targets: Targets of its actuators [rad, m or Pa].
    """
    postures = [hand.posture(row) for row in targets.tolist()]
    return link_frames(
        hand, {name: np.array([posture[name] for posture in postures]) for name in postures[0]}
    )


def contact_arms(hand: Hand, joints: Mapping[str, ArrayLike]) -> dict[str, dict[str, float]]:
    """Compute the distance from each revolute joint to the ends of the links that it moves [m].

    Args:
        hand: The hand.
        joints: Joint variables by name [rad or m], as from ``Hand.posture``.

    Returns:
        By joint and by body that can touch; 1 without unit for the bodies of a prismatic joint.
    """
    frames, ends = link_frames(hand, joints), dict[str, Array]()
    for finger in hand.fingers:
        for row, link in zip(finger.phalanges, chain_links(finger), strict=True):
            frame = frames[finger.body_of(row)]
            end = frame[:3, :3] @ link.end + frame[:3, 3]
            ends |= dict.fromkeys(finger.bodies_of(row), end)
    moved, arms = find_moved_bodies(hand.fingers, hand.couplings), dict[str, dict[str, float]]()
    for finger in hand.fingers:
        for row in finger.phalanges:
            joint, origin = finger.joint_of(row), frames[finger.body_of(row)][:3, 3]
            arms[joint] = {
                body: 1.0
                if row.joint == "prismatic"
                else float(np.linalg.norm(ends[body] - origin))
                for body in moved[joint]
            }
    return arms


def slide(value: ArrayLike) -> Array:
    """Return transforms that translate along z [m], (..., 4, 4)."""
    value = np.asarray(value, dtype=float)
    frame = np.zeros((*value.shape, 4, 4))
    frame[..., range(4), range(4)] = 1.0
    frame[..., 2, 3] = value
    return frame


def lowest_point(hand: Hand, joints: Mapping[str, float], pose: Array) -> float:
    """Compute the lowest world z of the rigid fingers' ends and joints [m].

    Args:
        hand: The hand.
        joints: Joint variables by name [rad or m].
        pose: Pose of the hand in the world, (4, 4).
    """
    frames = link_frames(hand, joints)
    points = [frame[:3, 3] for frame in frames.values()]
    points += [_end(frames, finger, chain_links(finger)[-1]) for finger in hand.fingers]
    return float((np.array(points) @ pose[2, :3] + pose[2, 3]).min())


def _end(frames: Mapping[str, Array], finger: Finger, last: Link) -> Array:
    frame = frames[finger.body_of(finger.phalanges[-1])]
    return np.asarray(frame[..., :3, :3] @ last.end + frame[..., :3, 3])


# Synergies.


def synergy_matrix(synergies: Synergies) -> Array:
    """Return S as an array, (n_joints, n_synergies) [rad or m for a weight of 1]."""
    return np.array(synergies.matrix)


def synergy_weights(
    synergies: Synergies, posture: Mapping[str, float] | ArrayLike, count: int | None = None
) -> Array:
    """Compute the weights z whose posture q_m + S z is nearest in the sense of least squares.

    The columns of S need not be orthonormal: z is pinv(S) (q − q_m), not Sᵀ (q − q_m).

    Args:
        synergies: The synergies.
        posture: Joint variables by name, or in the order of ``synergies.joints``, (n_joints,) or
            several postures (T, n_joints) [rad or m].
        count: Number of synergies to use, from the first one; all by default.

    Returns:
        Shape (count,) or (T, count).

    Raises:
        KeyError: A joint of the synergies is not in the posture.
        ValueError: The number of joint variables or synergies does not fit.
    """
    if isinstance(posture, Mapping):
        posture = [posture[joint] for joint in synergies.joints]
    away = np.asarray(posture, dtype=float) - synergies.mean
    matrix = synergy_matrix(synergies)[:, : _check_count(synergies, count)]
    return np.asarray(away @ np.linalg.pinv(matrix).T)


def variance_explained(synergies: Synergies, postures: ArrayLike) -> Array:
    """Compute the fraction of the postures' variance that 1, 2, … synergies explain.

    1 − Σ|q − q_m − S_k z_k|² / Σ|q − q_m|², with S_k the first k columns of S and z_k by least
    squares, so that columns that are not orthogonal are not counted twice.

    Args:
        synergies: The synergies.
        postures: (T, n_joints) in the order of ``synergies.joints`` [rad or m].

    Returns:
        Shape (n_synergies,), ascending.
    """
    away = np.atleast_2d(np.asarray(postures, dtype=float)) - synergies.mean
    matrix, whole = synergy_matrix(synergies), float((away**2).sum())
    if whole == 0.0:
        return np.ones(synergies.count)
    fractions = []
    for count in range(1, synergies.count + 1):
        first = matrix[:, :count]
        left = away - away @ np.linalg.pinv(first).T @ first.T
        fractions.append(1.0 - float((left**2).sum()) / whole)
    return np.array(fractions)


def _check_count(synergies: Synergies, count: int | None) -> int:
    if count is None:
        return synergies.count
    if not 1 <= count <= synergies.count:
        raise ValueError(f"expected 1 to {synergies.count} synergies, found {count}")
    return count


# Several hands as one.


class PlacedHand(NamedTuple):
    """A hand to be joined to others, with its pose."""

    name: str
    """Prefix of the names of its fingers, such as ``left``."""
    hand: Hand
    pose: Pose
    """Pose of its frame in that of the joined hand."""


def join_hands(name: str, parts: Sequence[PlacedHand], grasps: Grasps | None = None) -> Hand:
    """Join several hands to one, such as a left and a right one that grasp an object together.

    The joined hand has the fingers and palms of its parts, all fixed to one base, which a wrist or
    an arm can carry like that of a single hand.

    Args:
        name: Name of the joined hand.
        parts: The hands; fingers of ``left`` are called ``left_F1`` and so on.
        grasps: Grasps of the joined hand. By default rates, starts and pressures are those of the
            parts, and the centre is the mean of theirs.

    Raises:
        DescriptionError: There are fewer than two parts, two have the same name, or their soft
            fingers have different pressures.
    """
    if len(parts) < 2:
        raise DescriptionError(f"expected at least two hands to join, found {len(parts)}")
    names = [part.name for part in parts]
    for item in names:
        if names.count(item) > 1:
            raise DescriptionError(f"expected hands of different names, found '{item}' twice")
    palms = [palm for part in parts for palm in _palms(part)]
    forces = {part.hand.grip_force for part in parts}
    return Hand(
        name=name,
        fingers=tuple(_finger(part, finger) for part in parts for finger in part.hand.fingers),
        couplings=tuple(
            _coupling(part, coupling) for part in parts for coupling in part.hand.couplings
        ),
        soft_fingers=tuple(_digit(part, item) for part in parts for item in part.hand.soft_fingers),
        grip_force=forces.pop() if len(forces) == 1 else None,
        grasps=grasps
        or Grasps(power=_preset("power", parts), precision=_preset("precision", parts)),
        palm=Palm(kind="none"),
        more_palms=tuple(palms),
        source="; ".join(dict.fromkeys(part.hand.source for part in parts if part.hand.source)),
        notes=tuple(f"{part.name}: {note}" for part in parts for note in _notes(part.hand)),
    )


def _notes(hand: Hand) -> list[str]:
    """Return the hand's notes, and messages about what is not joined."""
    unused = {"tendons": hand.tendons, "synergies": hand.synergies, "preshapes": hand.preshapes}
    dropped = [name for name, value in unused.items() if value]
    return [*hand.notes, *(f"its {name} are not part of the joined hand" for name in dropped)]


def _finger(part: PlacedHand, finger: Finger) -> Finger:
    rows = finger.phalanges
    if finger.verbatim_names:
        rows = tuple(
            row.replace(name=f"{part.name}_{row.name}", joint_name=f"{part.name}_{row.joint_name}")
            for row in rows
        )
    stands = f"{part.name}_{finger.on}" if finger.on else ""
    base = finger.base if finger.on else move_pose(part.pose, finger.base)
    return finger.replace(name=f"{part.name}_{finger.name}", base=base, on=stands, phalanges=rows)


def _coupling(part: PlacedHand, coupling: Coupling) -> Coupling:
    joint, leader = (f"{part.name}_{item}" for item in (coupling.joint, coupling.leader))
    return coupling.replace(joint=joint, leader=leader)


def _digit(part: PlacedHand, digit: MountedSoftFinger) -> MountedSoftFinger:
    return digit.replace(name=f"{part.name}_{digit.name}", base=move_pose(part.pose, digit.base))


def _palms(part: PlacedHand) -> list[FurtherPalm]:
    named: list[tuple[str, Palm]] = [("palm", part.hand.palm)]
    named += [(palm.name, palm) for palm in part.hand.more_palms]
    everyone = [finger.name for finger in part.hand.fingers]
    everyone += [digit.name for digit in part.hand.soft_fingers]
    return [
        FurtherPalm(
            name=f"{part.name}_{name}",
            kind=palm.kind,
            shape=palm.shape,
            pose=move_pose(part.pose, palm.pose) if palm.shape is not None else palm.pose,
            parts=tuple(item.replace(pose=move_pose(part.pose, item.pose)) for item in palm.parts),
            margin=palm.margin,
            fingers=tuple(f"{part.name}_{item}" for item in palm.fingers or everyone),
        )
        for name, palm in named
        if palm.kind != "none"
    ]


def _preset(kind: str, parts: Sequence[PlacedHand]) -> GraspPreset:
    """Combine the presets of one grasp: rates and starts of all hands, mean of the centres."""
    presets = [getattr(part.hand.grasps, kind) for part in parts]
    frames = [transform(part.pose.position, part.pose.quaternion) for part in parts]
    centres = [f @ [*preset.center, 1.0] for f, preset in zip(frames, presets, strict=True)]
    rigid: list[tuple[float, float]] = []
    soft: list[tuple[float, float]] = []
    for part, preset in zip(parts, presets, strict=True):
        actuators, rates = part.hand.actuators, preset.rates.for_fingers(part.hand.actuator_counts)
        starts = preset.start or tuple(actuator.start for actuator in actuators)
        for actuator, rate, start in zip(actuators, rates, starts, strict=True):
            (soft if actuator.unit == "Pa" else rigid).append((rate, start))
    pressures = {preset.pressure for preset in presets} - {None}
    if len(pressures) > 1:
        raise DescriptionError(f"expected one working pressure of all hands, found {pressures}")
    ordered = rigid + soft  # the order of the joined hand's actuators
    return GraspPreset(
        center=tuple(np.mean(centres, axis=0)[:3].tolist()),
        rates=Rates(rate for rate, _ in ordered),
        start=tuple(start for _, start in ordered),
        pressure=next(iter(pressures), None),
    )


def pose_of(frame: Array) -> Pose:
    """Convert a frame (4, 4) to a pose."""
    return Pose(position=position_of(frame), quaternion=quaternion_of(frame))


def move_pose(carry: Pose, pose: Pose) -> Pose:
    """Return a pose in the frame in which the frame of the pose has the pose ``carry``."""
    return pose_of(
        transform(carry.position, carry.quaternion) @ transform(pose.position, pose.quaternion)
    )
