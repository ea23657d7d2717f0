"""The links of a closing hand, step by step, and when each finger meets a ball."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from softgrasp.mechanics.grasp_finder.give import Hinges
from softgrasp.mechanics.grasp_finder.points import (
    Indices,
    length,
    local,
    moved,
    nearest,
    placed,
)
from softgrasp.mechanics.transforms import Array

LATEST = 0.9
"""Part of the closing motion after which a contact has no way left to press [–]."""
SOFT = 1e-3
"""Difference of distances over which points share in a touching point [m]."""

Flags = NDArray[np.bool_]


class Meeting(NamedTuple):
    """Where m balls meet k fingers; arrays (m, k) unless said otherwise."""

    touched: Flags
    """Whether the finger gets there in time."""
    fraction: Array
    """Part of the closing motion after which it does [–]."""
    normals: Array
    """Into the ball, (m, k, 3)."""
    outermost: Flags
    """Whether its last link is what touches."""
    from_tip: Array
    """Distance of the touching point from the fingertip [m]."""
    from_middle: Array
    """Distance of the touching point from the middle of the finger's last link [m]."""
    points: Array
    """Touching points in the hand's frame, (m, k, 3) [m]."""
    step: Indices
    """Step at which it touches."""
    link: Indices
    """Number of its moving link that does."""

    def of(self, balls: Indices) -> Meeting:
        """The same of some of the balls."""
        return Meeting._make(column[balls] for column in self)


class Approach(NamedTuple):
    """How near m places come to k fingers at s steps: what balls of any size there meet."""

    positions: Array
    """(m, 3) [m]"""
    apart: Array
    """Distance from the nearest point of a finger, (k, s, m) [m]; ``far`` where it is more."""
    link: Indices
    """Number of the finger's moving link that has it, (k, s, m)."""
    point: Indices
    """Number of that point on its link, (k, s, m)."""
    precise: bool
    """Whether touching points are weighed between the points of a surface."""

    def of(self, chosen: Indices) -> Approach:
        """The same of some of the places."""
        rest = (self.apart[..., chosen], self.link[..., chosen], self.point[..., chosen])
        return Approach(self.positions[chosen], *rest, self.precise)


@dataclass(frozen=True, eq=False)
class Path:
    """A finger at all steps of a closing motion."""

    clouds: tuple[Array, ...]
    """Points on its links that move, in their frames, (n, 3) each [m]; the outermost link last."""
    frames: Array
    """Of those links, (b, s, 4, 4)."""
    tips: Array
    """(s, 3) [m]"""
    group: int
    """Number of the group of drives that moves it, −1 of none."""
    still: Array
    """Points on its links that stand still, in the hand's frame, (n, 3) [m]."""
    hinges: Hinges
    """What of it gives way."""

    @cached_property
    def _center(self) -> Array:
        """Middle of the box around its last link, in the frame of that link, (3,) [m]."""
        last = self.clouds[-1]
        return np.asarray((last.min(axis=0) + last.max(axis=0)) / 2.0)

    @cached_property
    def middles(self) -> Array:
        """Middle of its last link, (s, 3) [m]."""
        return np.asarray((self.frames[-1] @ [*self._center, 1.0])[:, :3])

    @cached_property
    def corners(self) -> Array:
        """Points on it while it is open, half closed and closed, (n, 3) [m]."""
        steps = [0, len(self.tips) // 2, -1]
        return np.concatenate([
            placed(cloud, frames[steps]).reshape(-1, 3)
            for cloud, frames in zip(self.clouds, self.frames, strict=True)
        ])  # fmt: skip

    def surface(self, step: int) -> Array:
        """Points on all its moving links at a step, (n, 3) [m]."""
        pairs = zip(self.clouds, self.frames[:, [step]], strict=True)
        return np.concatenate([placed(cloud, frames)[0] for cloud, frames in pairs])

    @cached_property
    def spacing(self) -> float:
        """Largest distance of a point of a link from the nearest other one of the link [m]."""
        apart = [((c[:, None] - c[None]) ** 2).sum(axis=2) for c in self.clouds if len(c) > 1]
        smallest = [(a + np.diag(np.full(len(a), np.inf))).min(axis=1).max() for a in apart]
        return float(np.sqrt(max(smallest, default=0.0)))

    def approach(self, positions: Array, far: float) -> tuple[Array, Indices, Indices]:
        """Distance from the nearest point [m], its link and its number, (s, m) each.

        Args:
            positions: In the hand's frame [m], (m, 3).
            far: Distance beyond which it does not matter [m].
        """
        apart = np.full((len(self.tips), len(positions)), far)
        link, point = np.zeros(apart.shape, dtype=int), np.zeros(apart.shape, dtype=int)
        for number, (cloud, frames) in enumerate(zip(self.clouds, self.frames, strict=True)):
            seen = local(positions, frames)
            center = cloud.mean(axis=0)
            reach = np.sqrt(((cloud - center) ** 2).sum(axis=1).max()) + far
            near = ((seen - center) ** 2).sum(axis=2) < reach * reach
            nearest_points, which = nearest(seen[near], cloud)
            closer = nearest_points < apart[near]
            chosen = np.flatnonzero(near.ravel())[closer]
            apart.ravel()[chosen] = nearest_points[closer]
            link.ravel()[chosen] = number
            point.ravel()[chosen] = which[closer]
        return apart, link, point

    def touching(self, at: Indices, link: Indices, point: Indices) -> Array:
        """Points of links at steps in the hand's frame, (m, 3) [m]; all arguments (m,)."""
        points = np.zeros((len(at), 3))
        for number, cloud in enumerate(self.clouds):
            of_link = link == number
            frames = self.frames[number, at[of_link]]
            points[of_link] = moved(cloud[point[of_link]], frames)
        return points

    def weighed(self, positions: Array, at: Indices, link: Indices, point: Indices) -> Array:
        """Middles of the points that are about as near to places as the nearest ones, (m, 3).

        The nearest of points that are spread over a face lies aside of where a ball touches the
        face.

        Args:
            positions: (m, 3) [m].
            at: Step at which each is touched, (m,).
            link: Which link touches, (m,).
            point: Which of its points is nearest, (m,).
        """
        points = np.zeros((len(at), 3))
        for number, cloud in enumerate(self.clouds):
            of_link = np.flatnonzero(link == number)
            frames = self.frames[number, at[of_link]]
            seen = np.einsum("mji,mj->mi", frames[:, :3, :3], positions[of_link] - frames[:, :3, 3])
            apart = np.sqrt(((cloud[None] - seen[:, None]) ** 2).sum(axis=2))
            smallest = np.take_along_axis(apart, point[of_link][:, None], axis=1)
            weights = np.exp((smallest - apart) / SOFT)
            middle = weights @ cloud / weights.sum(axis=1)[:, None]
            points[of_link] = moved(middle, frames)
        return points


@dataclass(frozen=True, eq=False)
class Sweep:
    """A closing hand at some steps."""

    fractions: Array
    """Parts of the motion, from 0 to 1, (s,)."""
    paths: tuple[Path, ...]
    """Of the k fingers that move."""
    still: tuple[Array, ...]
    """Points on what does not move, part by part, (n, 3) each [m]."""
    middle: Array
    """Of the palm, (3,) [m]."""

    @cached_property
    def groups(self) -> Indices:
        """Number of the group of drives that moves each finger, −1 of none, (k,)."""
        return np.array([path.group for path in self.paths], dtype=int)

    def approach(self, positions: Array, far: float, *, precise: bool) -> Approach:
        """Look how near fingers come to places.

        Args:
            positions: In the hand's frame [m], (m, 3).
            far: Distance beyond which it does not matter [m].
            precise: Weigh the points near each touching point; slow for many places.
        """
        return joined(
            positions, [path.approach(positions, far) for path in self.paths], precise=precise
        )

    def meet(self, approach: Approach, radius: float) -> Meeting:
        """When and where fingers first touch balls.

        Args:
            approach: Of their centres.
            radius: Of all of them [m].
        """
        meetings = [self._meet_one(finger, approach, radius) for finger in range(len(self.paths))]
        return Meeting(*(np.stack(column, axis=1) for column in zip(*meetings, strict=True)))

    def _meet_one(self, finger: int, approach: Approach, radius: float) -> tuple[Any, ...]:
        path, apart = self.paths[finger], approach.apart[finger]
        rows, hits = np.arange(len(approach.positions)), apart <= radius
        met, at = hits.any(axis=0), hits.argmax(axis=0)
        link, point = approach.link[finger, at, rows], approach.point[finger, at, rows]
        touching = path.touching(at, link, point)
        if approach.precise:
            touching_rows = np.flatnonzero(met)
            touching[touching_rows] = path.weighed(
                approach.positions[touching_rows],
                at[touching_rows],
                link[touching_rows],
                point[touching_rows],
            )
        offsets = approach.positions - touching
        before = apart[np.maximum(at - 1, 0), rows]
        fraction = np.where(met, self._between(at, before, apart[at, rows], radius), 1.0)
        return (
            met & (fraction <= LATEST),
            fraction,
            offsets / np.maximum(length(offsets), 1e-12)[:, None],
            met & (link == len(path.clouds) - 1),
            length(touching - path.tips[at]),
            length(touching - path.middles[at]),
            touching,
            at,
            link,
        )

    def _between(self, step: Indices, before: Array, after: Array, radius: float) -> Array:
        """Shares at which the distance went through the radius, between two steps."""
        part = (before - radius) / np.maximum(before - after, 1e-12)
        earlier = self.fractions[np.maximum(step - 1, 0)]
        fraction = earlier + part * (self.fractions[step] - earlier)
        return np.where(step > 0, fraction, 0.0)

    def before_palm(self, positions: Array) -> Flags:
        """Which places are on that side of the palm's middle to which the open hand reaches, (m,).

        Fingers that are free to turn far would hold a ball behind the palm too, through it.
        """
        if not self.paths:
            return np.ones(len(positions), dtype=bool)
        out = np.mean([path.tips[0] for path in self.paths], axis=0) - self.middle
        return np.asarray((positions - self.middle) @ out >= 0.0)

    def away(self, balls: Array) -> tuple[Array, Array]:
        """Distance from what stands still [m], (m,), and unit vectors away from it, (m, 3)."""
        min_distances, directions = np.full(len(balls), np.inf), np.zeros((len(balls), 3))
        for cloud in self.still:
            distances, point = nearest(balls, cloud)
            closer = distances < min_distances
            min_distances[closer] = distances[closer]
            directions[closer] = balls[closer] - cloud[point[closer]]
        return min_distances, directions / np.maximum(np.linalg.norm(directions, axis=1), 1e-12)[
            :, None
        ]


def joined(
    positions: Array, approaches: Sequence[tuple[Array, Indices, Indices]], *, precise: bool
) -> Approach:
    """What fingers found one by one, together."""
    if not approaches:
        none = np.zeros((0, 1, len(positions)), dtype=int)
        return Approach(positions, none.astype(float), none, none, precise)
    apart, link, point = (np.array(part) for part in zip(*approaches, strict=True))
    return Approach(positions, apart, link, point, precise)
