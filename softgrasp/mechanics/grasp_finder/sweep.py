"""The surfaces of a closing hand, step by step, and when each finger meets a ball."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import cKDTree

from softgrasp.description.hand import Hand
from softgrasp.mechanics.grasp_finder.closing import Closing, ends_of, way_of
from softgrasp.mechanics.hand_kinematics import fingertips, link_frames
from softgrasp.mechanics.transforms import Array

LATEST = 0.9
"""Part of the closing motion after which a contact has no way left to press [–]."""
SOFT = 3e-4
"""Difference of distances over which points share in a touching point [m]."""
STILL = 1e-9
"""A frame that moves less than this stands still [m and –]."""

Flags = NDArray[np.bool_]


class Meeting(NamedTuple):
    """Where m balls meet k fingers; arrays (m, k) unless said otherwise."""

    touched: Flags
    """Whether the finger gets there in time."""
    share: Array
    """Part of the closing motion after which it does [–]."""
    normals: Array
    """Into the ball, (m, k, 3)."""
    outermost: Flags
    """Whether its last link is what touches."""
    from_tip: Array
    """Distance of the touching point from the fingertip [m]."""
    from_middle: Array
    """Distance of the touching point from the middle of the finger's last link [m]."""


class Approach(NamedTuple):
    """How near m places come to k fingers at s steps: what balls of any size there meet."""

    places: Array
    """(m, 3) [m]"""
    apart: Array
    """Distance from the nearest point of a finger, (k, s, m) [m]; ``far`` where it is more."""
    nearest: Array
    """Number of that point, (k, s, m)."""
    far: float
    precise: bool
    """Whether touching points are weighed between the points of a surface."""


@dataclass(frozen=True)
class Sweep:
    """A closing hand at some steps."""

    shares: Array
    """Parts of the motion, from 0 to 1, (s,)."""
    trees: tuple[tuple[cKDTree, ...], ...]
    """Points of each finger at each step, (k, s)."""
    points: tuple[Array, ...]
    """The same points, (s, n, 3) of each finger [m]."""
    is_last: tuple[Array, ...]
    """Which points of a finger are its last link's, (n,)."""
    tips: Array
    """(k, s, 3) [m]"""
    groups: Array
    """Number of the group of drives that moves each finger, −1 of none, (k,)."""
    still: cKDTree | None
    """What does not move."""

    @cached_property
    def middles(self) -> Array:
        """Middle of each finger's last link, (k, s, 3) [m]."""
        pairs = zip(self.points, self.is_last, strict=True)
        return np.array([points[:, last].mean(axis=1) for points, last in pairs])

    def approach(self, places: Array, far: float, *, precise: bool) -> Approach:
        """Look how near fingers come to places.

        Args:
            places: In the hand's frame [m], (m, 3).
            far: Distance beyond which it does not matter [m].
            precise: Weigh the points near each touching point; slow for many places.
        """
        found = [[tree.query(places, distance_upper_bound=far) for tree in t] for t in self.trees]
        apart = np.array([[one[0] for one in steps] for steps in found])
        nearest = np.array([[one[1] for one in steps] for steps in found])
        return Approach(places, np.minimum(apart, far), nearest, far, precise)

    def meet(self, approach: Approach, radius: float) -> Meeting:
        """When and where fingers first touch balls.

        Args:
            approach: Of their centres.
            radius: Of all of them [m].
        """
        found = [self._meet_one(finger, approach, radius) for finger in range(len(self.trees))]
        return Meeting(*(np.stack(column, axis=1) for column in zip(*found, strict=True)))

    def _meet_one(self, finger: int, approach: Approach, radius: float) -> tuple[Any, ...]:
        apart, rows = approach.apart[finger], np.arange(len(approach.places))
        hits = apart <= radius
        met, at = hits.any(axis=0), hits.argmax(axis=0)
        last = self.is_last[finger]
        which = np.where(met, approach.nearest[finger, at, rows], 0)
        touching = self.points[finger][at, which]
        if approach.precise:
            touching = _weighed(self.points[finger][at], approach.places, touching)
        way = approach.places - touching
        before = apart[np.maximum(at - 1, 0), rows]
        share = np.where(met, self._between(at, before, apart[at, rows], radius), 1.0)
        return (
            met & (share <= LATEST),
            share,
            way / np.maximum(np.linalg.norm(way, axis=1), 1e-12)[:, None],
            met & last[which],
            np.linalg.norm(touching - self.tips[finger, at], axis=1),
            np.linalg.norm(touching - self.middles[finger, at], axis=1),
        )

    def _between(self, step: Array, before: Array, after: Array, radius: float) -> Array:
        """Shares at which the distance went through the radius, between two steps."""
        part = (before - radius) / np.maximum(before - after, 1e-12)
        earlier = self.shares[np.maximum(step - 1, 0)]
        share = earlier + part * (self.shares[step] - earlier)
        return np.where(step > 0, share, 0.0)

    def clear(self, balls: Array) -> Array:
        """Distance of centres from the open fingers [m], (m,)."""
        found = np.array([np.asarray(trees[0].query(balls)[0]) for trees in self.trees])
        return np.asarray(found.min(axis=0))

    def away(self, balls: Array) -> tuple[Array, Array]:
        """Distance from what stands still [m], (m,), and unit vectors away from it, (m, 3)."""
        if self.still is None:
            return np.full(len(balls), np.inf), np.zeros((len(balls), 3))
        found, point = self.still.query(balls)
        apart = np.asarray(found, dtype=float)
        way = balls - self.still.data[point]
        return apart, way / np.maximum(apart, 1e-12)[:, None]


def _weighed(points: Array, places: Array, nearest: Array) -> Array:
    """Middles of the points that are about as near to places as the nearest ones, (m, 3).

    The nearest of points that are spread over a face lies aside of where a ball touches the face.

    Args:
        points: Of a finger as each place meets it, (m, n, 3).
        places: (m, 3).
        nearest: The nearest points, (m, 3).
    """
    apart = np.linalg.norm(points - places[:, None], axis=2)
    least = np.linalg.norm(nearest - places, axis=1)[:, None]
    weights = np.exp((least - apart) / SOFT)
    return np.asarray(np.einsum("mn,mni->mi", weights, points) / weights.sum(axis=1)[:, None])


def sweep_of(
    hand: Hand,
    surfaces: Mapping[str, Array],
    closing: Closing,
    weights: Array,
    steps: int,
    most_points: int,
) -> Sweep:
    """Move a hand through its closing.

    Args:
        hand: The hand.
        surfaces: Points of its bodies in their frames, and of its ``palm``.
        closing: Which drives close, from where to where.
        weights: Part of its way that each drive goes while the whole hand closes [–].
        steps: Steps from open to closed.
        most_points: Of one body.
    """
    shares = np.linspace(0.0, 1.0, steps)
    way = weights * (closing.end - closing.start)
    postures = [hand.posture((closing.start + share * way).tolist()) for share in shares.tolist()]
    joints = {name: np.array([posture[name] for posture in postures]) for name in postures[0]}
    frames, all_tips = link_frames(hand, joints), fingertips(hand, joints)
    moving = {body for body, frame in frames.items() if np.ptp(frame, axis=0).max() > STILL}
    still = [surfaces["palm"]] if "palm" in surfaces else []
    still += [
        _placed(surfaces[body], frames[body][:1])[0]
        for body in surfaces
        if body in frames and body not in moving
    ]
    trees, clouds_of, is_last, tips, groups = [], [], [], [], []
    for finger in ends_of(hand):
        own = [f.body_of(row) for f in way_of(hand, finger) for row in f.phalanges]
        own = [body for body in own if body in moving and body in surfaces]
        if not own:
            continue
        clouds = [_placed(_thinned(surfaces[body], most_points), frames[body]) for body in own]
        points = np.concatenate(clouds, axis=1)
        trees.append(tuple(cKDTree(step) for step in points))
        clouds_of.append(points)
        is_last.append(np.repeat([body == own[-1] for body in own], [c.shape[1] for c in clouds]))
        tips.append(all_tips[finger.name])
        groups.append(_group_of(hand, own[-1], closing))
    return Sweep(
        shares=shares,
        trees=tuple(trees),
        points=tuple(clouds_of),
        is_last=tuple(is_last),
        tips=np.array(tips).reshape(len(trees), steps, 3),
        groups=np.array(groups, dtype=int),
        still=cKDTree(np.vstack(still)) if still else None,
    )


def _placed(points: Array, frames: Array) -> Array:
    """Points (n, 3) at frames (s, 4, 4): (s, n, 3)."""
    return np.asarray(points @ frames[:, :3, :3].transpose(0, 2, 1) + frames[:, None, :3, 3])


def _thinned(points: Array, most: int) -> Array:
    """At most so many of the points, evenly picked."""
    if len(points) <= most:
        return points
    return np.asarray(points[np.linspace(0, len(points) - 1, most).astype(int)])


def _group_of(hand: Hand, body: str, closing: Closing) -> int:
    """The group of drives that stops when a body touches."""
    for number, group in enumerate(closing.groups):
        if any(body in hand.drives[index].stops for index in group):
            return number
    return -1
