"""A found place as the preset of a grasp: rates, start, and how long things lie."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from scipy.spatial.transform import Rotation

from softgrasp.description.hand import GraspPreset, Hand
from softgrasp.description.rates import Rates
from softgrasp.mechanics.grasp_finder.closing import Closing
from softgrasp.mechanics.grasp_finder.scores import FAR, Place
from softgrasp.mechanics.grasp_finder.sweep import Meeting, Sweep
from softgrasp.mechanics.hand_kinematics import link_frames
from softgrasp.mechanics.transforms import Array

FASTEST = {"rad": 1.5, "m": 0.05}
"""Rate of the fastest drive [rad/s, m/s]."""
DISTAL = 0.15
"""Part of its way that every joint but a finger's first one goes in a precision grasp [–]."""
SLOWEST = 0.3
"""Of the fastest group of drives: a slower one would hardly close [–]."""
ALONG_Z = 0.5
"""Mean part of the fingers' forces along z above which upright things are laid across [–]."""


def preset_of(hand: Hand, best: Place, kind: str, fastest: Mapping[str, float]) -> GraspPreset:
    """A found place as a preset: rates such that all fingers arrive together.

    Args:
        hand: The hand.
        best: The place.
        kind: ``power`` or ``precision``.
        fastest: Largest rate of drives by name [rad/s or m/s].
    """
    closing, sweep = best.closing, best.sweep
    weights = weights_of(closing, kind)
    meeting = None
    if sweep.trees:
        approach = sweep.approach(best.place[None], FAR * best.radius, precise=True)
        meeting = sweep.meet(approach, best.radius)
    arrivals = _arrivals(sweep, meeting, len(closing.groups))
    speeds = np.zeros(len(closing.start))
    for group, arrival in zip(closing.groups, arrivals.tolist(), strict=True):
        indices = list(group)
        speeds[indices] = arrival * (weights * (closing.end - closing.start))[indices]
    longest = max(
        (
            abs(speed) / min(FASTEST.get(drive.unit, np.inf), fastest.get(drive.name, np.inf))
            for speed, drive in zip(speeds.tolist(), hand.drives, strict=True)
        ),
        default=0.0,
    )
    rates = speeds / longest if longest > 0.0 else speeds
    x, y, z = np.round(best.place, 5).tolist()
    share = float(arrivals.mean()) if len(arrivals) else 0.0
    posture = closing.start + share * weights * (closing.end - closing.start)
    across = _across(hand, posture, closing)
    return GraspPreset(
        center=(x, y, z),
        rates=Rates(np.round(rates, 4).tolist()),
        object_euler=across,
        upright_euler=across if _from_above_and_below(meeting) else None,
        start=tuple(_inside(hand, closing.start)),
    )


def _from_above_and_below(meeting: Meeting | None) -> bool:
    """Whether fingers press along z, where an upright thing would rather have them around it."""
    if meeting is None or not meeting.touched.any():
        return False
    return bool(np.abs(meeting.normals[meeting.touched][:, 2]).mean() > ALONG_Z)


def _inside(hand: Hand, targets: Array) -> list[float]:
    pairs = zip(targets.tolist(), hand.drives, strict=True)
    return [min(max(value, drive.limits[0]), drive.limits[1]) for value, drive in pairs]


def _arrivals(sweep: Sweep, meeting: Meeting | None, groups: int) -> Array:
    """When the fingers of each group of drives arrive, over the last one's arrival, (g,)."""
    found = np.full(groups, np.nan)
    if meeting is not None:
        for group in range(groups):
            own = (sweep.groups == group) & meeting.touched[0]
            if own.any():
                found[group] = meeting.share[0][own].min()
    if np.isnan(found).all():
        return np.ones(groups)
    found = np.where(np.isnan(found), np.nanmean(found), found)
    return np.asarray(np.maximum(found, SLOWEST * found.max()))


def _across(hand: Hand, targets: Array, closing: Closing) -> tuple[float, float, float]:
    """Turns that lay an object's z axis across the plane in which the fingers close."""
    frames = link_frames(hand, hand.posture(targets.tolist()))
    closing_joints = {
        drive.joint
        for drive, start, end in zip(hand.drives, closing.start, closing.end, strict=True)
        if start != end
    }
    axes = [
        frames[finger.body_of(row)][:3, 2]
        for finger in hand.fingers
        for row in finger.phalanges
        if row.joint == "revolute" and finger.joint_of(row) in closing_joints
    ]
    if not axes:
        return (0.0, 0.0, 0.0)
    spread = np.einsum("ni,nj->ij", np.array(axes), np.array(axes))
    along = np.linalg.eigh(spread)[1][:, -1]
    along = along * np.sign(along[np.argmax(np.abs(along))])
    turn, _ = Rotation.align_vectors(along[None], np.array([[0.0, 0.0, 1.0]]))
    about_z, about_y, about_x = np.round(turn.as_euler("ZYX"), 6).tolist()
    return (about_x, about_y, about_z)


def weights_of(closing: Closing, kind: str) -> Array:
    """Parts of their ways that drives go: in a precision grasp, the first joints go ahead."""
    if kind == "power":
        return np.ones(len(closing.start))
    return np.where(closing.order > 0, DISTAL, 1.0)
