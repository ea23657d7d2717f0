"""Closed forms of hand kinematics that tests compare measured values with."""

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import ArrayLike

from softgrasp.description.finger import Finger
from softgrasp.description.hand import Hand
from softgrasp.mechanics.hand_kinematics import chain_links, forward_kinematics, link_frames
from softgrasp.mechanics.transforms import Array


def point_jacobians(
    hand: Hand, joints: Mapping[str, float], bodies: Sequence[str], points: ArrayLike
) -> tuple[list[str], Array]:
    """Velocity of points of rigid links per joint speed: z × (p − o) over z, or z over 0.

    The geometric Jacobian (Siciliano et al., Robotics, 2009, eq. 3.30), z the axis of a joint and o
    its origin, for all joints between the palm and the link. Couplings are not put in.

    Args:
        hand: The hand.
        joints: Joint variables by name [rad or m].
        bodies: The link of each point; one that is none of a rigid finger, as the palm, stands
            still.
        points: In the hand's frame [m], (n, 3).

    Returns:
        Names of the joints, (m,), and linear over angular velocities in the hand's frame,
        (n, 6, m).
    """
    frames, positions = link_frames(hand, joints), np.reshape(points, (-1, 3))
    joint_paths: dict[str, list[str]] = {}
    names, axes, origins, slides = [], [], [], []
    for finger in hand.fingers:
        joint_path = list(joint_paths[finger.on]) if finger.on else []
        for row in finger.phalanges:
            body = finger.body_of(row)
            joint_path.append(finger.joint_of(row))
            joint_paths[body] = list(joint_path)
            names.append(finger.joint_of(row))
            axes.append(frames[body][:3, 2])
            origins.append(frames[body][:3, 3])
            slides.append(row.joint == "prismatic")
    jacobians = np.zeros((len(positions), 6, len(names)))
    for index, (body, position) in enumerate(zip(bodies, positions, strict=True)):
        for name in joint_paths.get(body, ()):
            column = names.index(name)
            axis = axes[column]
            if slides[column]:
                jacobians[index, :3, column] = axis
            else:
                jacobians[index, :3, column] = np.cross(axis, position - origins[column])
                jacobians[index, 3:, column] = axis
    return names, jacobians


def soft_synergy_compliance(
    joint_stiffness: ArrayLike, matrix: ArrayLike, synergy_stiffness: ArrayLike
) -> Array:
    """Compliance of joints that soft synergies hold, C = Kq⁻¹ + S Kz⁻¹ Sᵀ [rad/(N·m)].

    Prattichizzo, Malvezzi, Gabiccini & Bicchi 2013 (IEEE T-RO 29, 1440), with S for their Jacobian
    of the synergies.

    Args:
        joint_stiffness: Of the joints' servos, (n_joints,) [N·m/rad].
        matrix: S, (n_joints, n_synergies).
        synergy_stiffness: Kz, (n_synergies,) [N·m].
    """
    columns = np.atleast_2d(np.asarray(matrix, dtype=float))
    kz = np.broadcast_to(np.asarray(synergy_stiffness, dtype=float), columns.shape[1:])
    springs = np.diag(1.0 / np.asarray(joint_stiffness, dtype=float))
    return np.asarray(springs + columns / kz @ columns.T)


def fingertip(finger: Finger, joints: Sequence[float]) -> Array:
    """Compute the position of the fingertip in the frame of the base's parent [m], (3,)."""
    last = forward_kinematics(finger, joints)[-1]
    return np.asarray((last @ [*finger.tip, 1.0])[:3])


def fingertips(hand: Hand, joints: Mapping[str, ArrayLike]) -> dict[str, Array]:
    """Compute the ends of the rigid fingers in the hand's frame [m], (..., 3), by finger name."""
    frames = link_frames(hand, joints)
    return {finger.name: _end(frames, finger) for finger in hand.fingers}


def _end(frames: Mapping[str, Array], finger: Finger) -> Array:
    frame = frames[finger.body_of(finger.phalanges[-1])]
    return np.asarray(frame[..., :3, :3] @ chain_links(finger)[-1].end + frame[..., :3, 3])
