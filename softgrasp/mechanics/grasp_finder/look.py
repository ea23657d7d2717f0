"""Sweeps of a hand whose fingers are remembered, as most postures share most of them."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from softgrasp.mechanics.grasp_finder.closing import Closing
from softgrasp.mechanics.grasp_finder.give import hinges_of
from softgrasp.mechanics.grasp_finder.hand import ClosingHand, Digit
from softgrasp.mechanics.grasp_finder.points import Indices, nearest
from softgrasp.mechanics.grasp_finder.sweep import Approach, Path, Sweep, joined
from softgrasp.mechanics.transforms import Array

STILL = 1e-9
"""A frame that moves less than this stands still [m and –]."""


class SweepCache:
    """How a hand closes, at one coarseness."""

    def __init__(
        self, hand: ClosingHand, skins: Mapping[str, Array], weights: Array, steps: int
    ) -> None:
        """Prepare to look.

        Args:
            hand: The hand.
            skins: Points on its links in their frames, as many as are to be looked at.
            weights: Part of its way that each drive goes while the whole hand closes [–].
            steps: Steps from open to closed.
        """
        self.hand, self.skins, self.weights = hand, skins, weights
        self.fractions = np.linspace(0.0, 1.0, steps)
        self._paths: dict[tuple[int, bytes], Path | Array] = {}

    def sweep(self, closing: Closing) -> Sweep:
        """Move the hand through its closing.

        Args:
            closing: Which drives close, from where to where.
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
        paths = tuple(path for path in cached if isinstance(path, Path))
        still = [self.hand.palm, *(p.still if isinstance(p, Path) else p for p in cached)]
        solid = tuple(cloud for cloud in still if len(cloud))
        return Sweep(self.fractions, paths, solid, self.hand.middle)

    def _path(self, digit: Digit, group: int, frames: Mapping[str, Array]) -> Path | Array:
        """One finger; its points where none of its links moves."""
        bodies = [body for body in digit.bodies if body in self.skins and len(self.skins[body])]
        moving = [body for body in bodies if np.ptp(frames[body], axis=0).max() > STILL]
        placed = [np.zeros((0, 3))]
        placed += [
            self.skins[body] @ frames[body][0, :3, :3].T + frames[body][0, :3, 3]
            for body in bodies
            if body not in moving
        ]
        still = np.concatenate(placed)
        if not moving:
            return still
        return Path(
            clouds=tuple(self.skins[body] for body in moving),
            frames=np.array([frames[body] for body in moving]),
            tips=np.asarray((frames[digit.tip_body] @ [*digit.tip, 1.0])[:, :3]),
            group=group,
            still=still,
            hinges=hinges_of(digit, frames, moving),
        )


class Field:
    """How near fingers come to the places of one grid, each finger looked at once."""

    def __init__(self, positions: Array, far: float) -> None:
        """Name the places.

        Args:
            positions: In the hand's frame [m], (m, 3).
            far: Distance beyond which it does not matter [m].
        """
        self.positions, self.far = positions, far
        self._near: dict[int, tuple[Array, Indices, Indices]] = {}
        self._away: dict[int, tuple[Array, Array]] = {}
        self._kept: list[object] = []

    def approach(self, sweep: Sweep) -> Approach:
        """As ``Sweep.approach``, not precise."""
        for path in sweep.paths:
            if id(path) not in self._near:
                self._kept.append(path)  # so that its id stays its own
                self._near[id(path)] = path.approach(self.positions, self.far)
        return joined(self.positions, [self._near[id(path)] for path in sweep.paths], precise=False)

    def away(self, sweep: Sweep, chosen: Indices) -> tuple[Array, Array]:
        """As ``Sweep.away``, of some of the places."""
        smallest, directions = np.full(len(chosen), np.inf), np.zeros((len(chosen), 3))
        for cloud in sweep.still:
            if id(cloud) not in self._away:
                self._kept.append(cloud)
                distances, point = nearest(self.positions, cloud)
                self._away[id(cloud)] = distances, self.positions - cloud[point]
            distances, displacements = self._away[id(cloud)]
            closer = distances[chosen] < smallest
            smallest[closer], directions[closer] = (
                distances[chosen[closer]],
                displacements[chosen[closer]],
            )
        return smallest, directions / np.maximum(np.linalg.norm(directions, axis=1), 1e-12)[:, None]
