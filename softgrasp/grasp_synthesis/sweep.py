"""Closing motion of a hand in steps: distances of fingers from positions, and contacts.

A ``Sweep`` moves the surface points of all links through a closing motion. ``Proximity`` has the
distances of positions from the fingers at every step, for balls of any size; ``BallContacts`` when
and where each finger first touches balls of one size. ``SweepCache`` and ``ProximityCache`` keep
the results of fingers that several postures have in common.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from softgrasp.grasp_synthesis.closing_motion import Closing
from softgrasp.grasp_synthesis.hand_model import (
    ClosingHand,
    Digit,
    Indices,
    arrange,
    length,
    local,
    move,
    nearest,
)
from softgrasp.mechanics.transforms import Array

LATEST = 0.9
"""Fraction of the closing motion after which a contact is too late to press [–]."""
SMOOTHING = 1e-3
"""Range of distances over which surface points are averaged to a contact point [m]."""
SLOWEST = 0.3
"""Smallest rate of an actuator group over that of the fastest group [–]."""
STATIONARY = 1e-9
"""Largest change of the frame of a link that does not move [m and –]."""
Flags = NDArray[np.bool_]


class BallContacts(NamedTuple):
    """First contacts of k fingers with m spheres; arrays (m, k) unless noted."""

    touched: Flags
    """Whether the finger touches the ball early enough."""
    fraction: Array
    """Fraction of the closing motion at the contact [–]."""
    normals: Array
    """Normals pointing into the ball, (m, k, 3)."""
    outermost: Flags
    """Whether the last link of the finger touches."""
    from_tip: Array
    """Distance of the contact point from the fingertip [m]."""
    from_middle: Array
    """Distance of the contact point from the middle of the finger's last link [m]."""


class Proximity(NamedTuple):
    """Distances of m positions from k fingers at s steps of the closing motion."""

    positions: Array
    """Positions, (m, 3) [m], hand frame."""
    apart: Array
    """Distance from the nearest point of a finger, (k, s, m) [m], at most ``far``."""
    link: Indices
    """Index of the moving link that is nearest, (k, s, m)."""
    point: Indices
    """Index of the nearest point of that link, (k, s, m)."""
    precise: bool
    """Whether contact points are averaged over nearby surface points."""

    def of(self, chosen: Indices) -> Proximity:
        """Select some of the positions."""
        rest = (self.apart[..., chosen], self.link[..., chosen], self.point[..., chosen])
        return Proximity(self.positions[chosen], *rest, self.precise)


@dataclass(frozen=True, eq=False)
class FingerPath:
    """Poses of a finger at the s steps of a closing motion."""

    clouds: tuple[Array, ...]
    """Surface points of its b moving links in their frames, (n, 3) each [m]; last link last."""
    frames: Array
    """Frames of those links, (b, s, 4, 4)."""
    tips: Array
    """Fingertip, (s, 3) [m]."""
    group: int
    """Index of the actuator group that moves it, −1 for none."""
    fixed_points: Array
    """Surface points of its links that do not move, (n, 3) [m], hand frame."""

    @cached_property
    def _center(self) -> Array:
        """Centre of the bounding box of its last link, (3,) [m], link frame."""
        last = self.clouds[-1]
        return np.asarray((last.min(axis=0) + last.max(axis=0)) / 2.0)

    @cached_property
    def middles(self) -> Array:
        """Centre of its last link, (s, 3) [m]."""
        return np.asarray((self.frames[-1] @ [*self._center, 1.0])[:, :3])

    @cached_property
    def corners(self) -> Array:
        """Surface points of the open, half closed and closed finger, (n, 3) [m]."""
        steps = [0, len(self.tips) // 2, -1]
        return np.concatenate([
            arrange(cloud, frames[steps]).reshape(-1, 3)
            for cloud, frames in zip(self.clouds, self.frames, strict=True)
        ])  # fmt: skip

    def surface(self, step: int) -> Array:
        """Compute the surface points of all moving links at a step, (n, 3) [m]."""
        pairs = zip(self.clouds, self.frames[:, [step]], strict=True)
        return np.concatenate([arrange(cloud, frames)[0] for cloud, frames in pairs])

    @cached_property
    def spacing(self) -> float:
        """Largest distance between neighbouring surface points of a link [m]."""
        apart = [((c[:, None] - c[None]) ** 2).sum(axis=2) for c in self.clouds if len(c) > 1]
        smallest = [(a + np.diag(np.full(len(a), np.inf))).min(axis=1).max() for a in apart]
        return float(np.sqrt(max(smallest, default=0.0)))

    def proximity(self, positions: Array, far: float) -> tuple[Array, Indices, Indices]:
        """Compute distances from the nearest surface point [m], its link and index, (s, m) each.

        Args:
            positions: Positions, (m, 3) [m], hand frame.
            far: Distance beyond which fingers are ignored [m].
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
        """Compute points of links at steps, (m, 3) [m], hand frame; all arguments (m,)."""
        points = np.zeros((len(at), 3))
        for number, cloud in enumerate(self.clouds):
            of_link = link == number
            frames = self.frames[number, at[of_link]]
            points[of_link] = move(cloud[point[of_link]], frames)
        return points

    def weighed(self, positions: Array, at: Indices, link: Indices, point: Indices) -> Array:
        """Average surface points that are nearly as close as the nearest one, (m, 3) [m].

        The nearest sampled point of a face is beside the point where a ball touches the face.

        Args:
            positions: Ball centres, (m, 3) [m], hand frame.
            at: Step of each contact, (m,).
            link: Index of the link that touches, (m,).
            point: Index of the nearest point of that link, (m,).
        """
        points = np.zeros((len(at), 3))
        for number, cloud in enumerate(self.clouds):
            of_link = np.flatnonzero(link == number)
            frames = self.frames[number, at[of_link]]
            seen = np.einsum("mji,mj->mi", frames[:, :3, :3], positions[of_link] - frames[:, :3, 3])
            apart = np.sqrt(((cloud[None] - seen[:, None]) ** 2).sum(axis=2))
            smallest = np.take_along_axis(apart, point[of_link][:, None], axis=1)
            weights = np.exp((smallest - apart) / SMOOTHING)
            middle = weights @ cloud / weights.sum(axis=1)[:, None]
            points[of_link] = move(middle, frames)
        return points


@dataclass(frozen=True, eq=False)
class Sweep:
    """A hand at the s steps of its closing motion."""

    fractions: Array
    """Fractions of the motion, from 0 to 1, (s,)."""
    paths: tuple[FingerPath, ...]
    """The k fingers that move."""
    fixed_points: tuple[Array, ...]
    """Surface points of parts that do not move, (n, 3) each [m]."""
    middle: Array
    """Middle of the palm, (3,) [m]."""

    @cached_property
    def groups(self) -> Indices:
        """Index of the actuator group of each finger, −1 for none, (k,)."""
        return np.array([path.group for path in self.paths], dtype=int)

    def proximity(self, positions: Array, far: float, *, precise: bool) -> Proximity:
        """Compute the distances of positions from all fingers.

        Args:
            positions: Positions, (m, 3) [m], hand frame.
            far: Distance beyond which fingers are ignored [m].
            precise: Average surface points to contact points; slow for many positions.
        """
        return join(
            positions, [path.proximity(positions, far) for path in self.paths], precise=precise
        )

    def meet(self, proximity: Proximity, radius: float) -> BallContacts:
        """Determine when and where fingers first touch spheres.

        Args:
            proximity: Distances of the ball centres.
            radius: Radius of all balls [m].
        """
        fingers = [self._meet_one(k, proximity, radius) for k in range(len(self.paths))]
        columns = zip(*fingers, strict=True)
        return BallContacts._make(np.stack(column, axis=1) for column in columns)

    def _meet_one(self, finger: int, proximity: Proximity, radius: float) -> tuple[Any, ...]:
        """Compute the columns of ``BallContacts`` for one finger."""
        path, apart = self.paths[finger], proximity.apart[finger]
        rows, hits = np.arange(len(proximity.positions)), apart <= radius
        met, at = hits.any(axis=0), hits.argmax(axis=0)
        link, point = proximity.link[finger, at, rows], proximity.point[finger, at, rows]
        touching = path.touching(at, link, point)
        if proximity.precise:
            hit = np.flatnonzero(met)
            centers = proximity.positions[hit]
            touching[hit] = path.weighed(centers, at[hit], link[hit], point[hit])
        offsets = proximity.positions - touching
        before = apart[np.maximum(at - 1, 0), rows]
        fraction = np.where(met, self._between(at, before, apart[at, rows], radius), 1.0)
        return (
            met & (fraction <= LATEST),
            fraction,
            offsets / np.maximum(length(offsets), 1e-12)[:, None],
            met & (link == len(path.clouds) - 1),
            length(touching - path.tips[at]),
            length(touching - path.middles[at]),
        )

    def _between(self, step: Indices, before: Array, after: Array, radius: float) -> Array:
        """Interpolate at which fraction between two steps the distance falls below the radius."""
        part = (before - radius) / np.maximum(before - after, 1e-12)
        earlier = self.fractions[np.maximum(step - 1, 0)]
        fraction = earlier + part * (self.fractions[step] - earlier)
        return np.where(step > 0, fraction, 0.0)

    def in_front_of_palm(self, positions: Array) -> Flags:
        """Mask of positions on the side of the palm to which the open hand points, (m,).

        Fingers with a large range could otherwise hold a ball behind the palm.
        """
        if not self.paths:
            return np.ones(len(positions), dtype=bool)
        out = np.mean([path.tips[0] for path in self.paths], axis=0) - self.middle
        return np.asarray((positions - self.middle) @ out >= 0.0)

    def away(self, balls: Array) -> tuple[Array, Array]:
        """Compute distances from fixed parts, (m,) [m], and outward directions, (m, 3)."""
        min_distances, directions = np.full(len(balls), np.inf), np.zeros((len(balls), 3))
        for cloud in self.fixed_points:
            distances, point = nearest(balls, cloud)
            closer = distances < min_distances
            min_distances[closer] = distances[closer]
            directions[closer] = balls[closer] - cloud[point[closer]]
        norms = np.maximum(np.linalg.norm(directions, axis=1), 1e-12)
        return min_distances, directions / norms[:, None]


def join(
    positions: Array, proximities: Sequence[tuple[Array, Indices, Indices]], *, precise: bool
) -> Proximity:
    """Stack the distances of single fingers to all positions into one ``Proximity``."""
    if not proximities:
        none = np.zeros((0, 1, len(positions)), dtype=int)
        return Proximity(positions, none.astype(float), none, none, precise)
    apart, link, point = (np.array(part) for part in zip(*proximities, strict=True))
    return Proximity(positions, apart, link, point, precise)


def arrivals_of(sweep: Sweep, contacts: BallContacts | None, groups: int) -> Array:
    """Compute each actuator group's contact time over that of the last one, (g,).

    Args:
        sweep: The closing hand.
        contacts: Contacts of its fingers with one ball; None where no finger moves.
        groups: Number of groups.
    """
    arrivals = np.full(groups, np.nan)
    if contacts is not None:
        for group in range(groups):
            in_group = (sweep.groups == group) & contacts.touched[0]
            if in_group.any():
                arrivals[group] = contacts.fraction[0][in_group].min()
    if np.isnan(arrivals).all():
        return np.ones(groups)
    arrivals = np.where(np.isnan(arrivals), np.nanmean(arrivals), arrivals)
    return np.asarray(np.maximum(arrivals, SLOWEST * arrivals.max()))


# Caches


class SweepCache:
    """Cache of ``Sweep`` objects of a hand at one step size, and of paths of fingers."""

    def __init__(
        self, hand: ClosingHand, skins: Mapping[str, Array], weights: Array, steps: int
    ) -> None:
        """Initialize an empty cache.

        Args:
            hand: The hand.
            skins: Surface points of its links in their frames, (n, 3) each [m].
            weights: Fraction of its travel that each actuator makes in the closing motion [–].
            steps: Number of steps from open to closed.
        """
        self.hand, self.skins, self.weights = hand, skins, weights
        self.fractions = np.linspace(0.0, 1.0, steps)
        self._paths: dict[tuple[int, bytes], FingerPath | Array] = {}

    def sweep(self, closing: Closing) -> Sweep:
        """Move the hand through a closing motion.

        Args:
            closing: The closing motion.
        """
        displacement = self.weights * (closing.end - closing.start)
        targets = closing.start + self.fractions[:, None] * displacement
        keys = [
            (number, targets[:, [joint.actuator for joint in digit.joints]].tobytes())
            for number, digit in enumerate(self.hand.digits)
        ]
        if any(key not in self._paths for key in keys):
            frames = self.hand.frames(targets)
            for key in keys:
                if key not in self._paths:
                    digit, group = self.hand.digits[key[0]], closing.group_of[key[0]]
                    self._paths[key] = self._path(digit, group, frames)
        cached = [self._paths[key] for key in keys]
        paths = tuple(path for path in cached if isinstance(path, FingerPath))
        fixed_points = [
            self.hand.palm,
            *(p.fixed_points if isinstance(p, FingerPath) else p for p in cached),
        ]
        solid = tuple(cloud for cloud in fixed_points if len(cloud))
        return Sweep(self.fractions, paths, solid, self.hand.middle)

    def _path(self, digit: Digit, group: int, frames: Mapping[str, Array]) -> FingerPath | Array:
        """Compute the path of one finger; its surface points where no link of it moves."""
        bodies = [body for body in digit.bodies if body in self.skins and len(self.skins[body])]
        moving = [body for body in bodies if np.ptp(frames[body], axis=0).max() > STATIONARY]
        placed = [np.zeros((0, 3))]
        placed += [
            self.skins[body] @ frames[body][0, :3, :3].T + frames[body][0, :3, 3]
            for body in bodies
            if body not in moving
        ]
        fixed_points = np.concatenate(placed)
        if not moving:
            return fixed_points
        return FingerPath(
            clouds=tuple(self.skins[body] for body in moving),
            frames=np.array([frames[body] for body in moving]),
            tips=np.asarray((frames[digit.tip_body] @ [*digit.tip, 1.0])[:, :3]),
            group=group,
            fixed_points=fixed_points,
        )


class ProximityCache:
    """Proximity of the positions of one grid, cached finger by finger."""

    def __init__(self, positions: Array, far: float) -> None:
        """Initialize an empty cache.

        Args:
            positions: Positions, (m, 3) [m], hand frame.
            far: Distance beyond which fingers are ignored [m].
        """
        self.positions, self.far = positions, far
        self._near: dict[int, tuple[Array, Indices, Indices]] = {}
        self._away: dict[int, tuple[Array, Array]] = {}
        self._kept: list[object] = []

    def proximity(self, sweep: Sweep) -> Proximity:
        """Compute ``Sweep.proximity`` with ``precise=False``."""
        for path in sweep.paths:
            if id(path) not in self._near:
                self._kept.append(path)  # so that its id is not reused
                self._near[id(path)] = path.proximity(self.positions, self.far)
        return join(self.positions, [self._near[id(path)] for path in sweep.paths], precise=False)

    def away(self, sweep: Sweep, chosen: Indices) -> tuple[Array, Array]:
        """Compute ``Sweep.away`` for some of the positions."""
        smallest, directions = np.full(len(chosen), np.inf), np.zeros((len(chosen), 3))
        for cloud in sweep.fixed_points:
            if id(cloud) not in self._away:
                self._kept.append(cloud)
                distances, point = nearest(self.positions, cloud)
                self._away[id(cloud)] = distances, self.positions - cloud[point]
            distances, displacements = self._away[id(cloud)]
            closer = distances[chosen] < smallest
            smallest[closer] = distances[chosen[closer]]
            directions[closer] = displacements[chosen[closer]]
        return smallest, directions / np.maximum(np.linalg.norm(directions, axis=1), 1e-12)[:, None]
