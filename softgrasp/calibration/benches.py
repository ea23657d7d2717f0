"""The virtual benches: what a finger would measure, for many parameter sets at once."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from softgrasp.continuum.settling import settling
from softgrasp.continuum.statics import GRAVITY, Loads, PlanarChain, joint_positions, pressed, rest
from softgrasp.description.calibration import CalibrationProblem, FreeBend, HungAngles, Release
from softgrasp.description.calibration import TipForce as Force
from softgrasp.mechanics.transforms import Array
from softgrasp.simulation.releases import ReleaseTestRig

WATCHED = 1.6
"""A release is watched so many times as long as it was measured to take to settle."""
SHORTEST = 0.6
"""And at least so long [s]."""


class VirtualExperiments:
    """Dead weights, releases, a plate under the tip and free bending of one finger.

    Parameters come joint by joint, B sets of them; what cannot be simulated is NaN.
    """

    def __init__(self, problem: CalibrationProblem, threads: int = 1) -> None:
        """Take a problem.

        Args:
            problem: Its finger's shape and masses, and how measurements are read.
            threads: Of the physics; nothing depends on it but the time it takes.
        """
        self._problem = problem
        self.chain = PlanarChain.of(problem.finger)
        self._release = ReleaseTestRig(problem.finger, threads=threads)

    def hung(self, stiffness: Array, loads: Sequence[HungAngles]) -> list[Array]:
        """Joint angles under each weight [rad], a list of (B, observed)."""
        angles = self._hung(stiffness, np.array([load.mass for load in loads]))
        return [angles[:, i, : len(load.angles)] for i, load in enumerate(loads)]

    def heights(self, angles: Array) -> Array:
        """Of the points behind each joint, over the first one [m], (..., n)."""
        observed, joints = angles.shape[-1], len(self._problem.finger.joints)
        whole = np.zeros((*angles.shape[:-1], joints))
        whole[..., :observed] = angles  # later joints do not move earlier points
        points = joint_positions(self._problem.finger, whole)[..., 2]
        return np.asarray(points[..., 1 : observed + 1] - points[..., :1])

    def settled(
        self, stiffness: Array, damping: Array, releases: Sequence[Release]
    ) -> tuple[Array, Array]:
        """Settling times [s] and overshoots, (B, L) each."""
        time, heights = self.released(stiffness, damping, releases)
        rule = self._problem.release_rule
        settlings = [[settling(time, height, rule)[:2] for height in row] for row in heights]
        counts, times = np.moveaxis(np.array(settlings, dtype=float), -1, 0)
        return times, np.where(np.isfinite(times), counts, np.nan)

    def released(
        self, stiffness: Array, damping: Array, releases: Sequence[Release]
    ) -> tuple[Array, Array]:
        """Times (T,) [s] and heights of the tip (B, L, T) [m], until long after it has settled."""
        longest = max(one.settling_time or 0.0 for one in releases)
        tracked = max((one.times[-1] for one in releases if one.times), default=0.0)
        duration = max(WATCHED * longest, tracked, SHORTEST)
        return self._released(stiffness, damping, releases, duration)

    def traces(self, stiffness: Array, damping: Array, releases: Sequence[Release]) -> list[Array]:
        """Heights at the times of each tracked tip, from their own mean [m], a list of (B, T)."""
        duration = max(one.times[-1] for one in releases) + 1e-3
        time, heights = self._released(stiffness, damping, releases, duration)
        traces = []
        for index, one in enumerate(releases):
            rows = np.array([np.interp(one.times, time, row) for row in heights[:, index]])
            traces.append(rows - rows.mean(axis=1, keepdims=True))
        return traces

    def forces(self, stiffness: Array, gains: Array, forces: Sequence[Force]) -> Array:
        """Of the plate on the tip [N], (B, P)."""
        # repeats at one pressure are one simulation
        pressures, inverse = np.unique([one.pressure for one in forces], return_inverse=True)
        free = rest(stiffness, self.chain.weight, np.zeros(1)).angles
        plate = self.chain.tip(free)[:, 1] - self._problem.plate_gap
        moments = pressures[:, None] * gains[:, None, :]
        weight = Loads(*(term[None, None] for term in self.chain.weight))
        pressing = pressed(self.chain, stiffness[:, None], weight, moments, plate[:, None])
        return np.asarray(pressing.force[:, inverse])

    def bends(self, stiffness: Array, gains: Array, bends: Sequence[FreeBend]) -> list[Array]:
        """Joint angles under each pressure [rad], a list of (B, observed)."""
        pressures = np.array([one.pressure for one in bends])
        moments = pressures[:, None] * gains[:, None, :]
        angles = rest(stiffness[:, None], self.chain.weight, moments).angles
        return [angles[:, i, : len(one.angles)] for i, one in enumerate(bends)]

    def _hung(self, stiffness: Array, masses: Array) -> Array:
        """(B, L, n)."""
        force = np.stack([np.zeros_like(masses), -GRAVITY * masses], axis=-1)
        loads = self.chain.weight.plus(self.chain.at_tip(force))
        return rest(stiffness[:, None], loads, np.zeros(1)).angles

    def _released(
        self, stiffness: Array, damping: Array, releases: Sequence[Release], duration: float
    ) -> tuple[Array, Array]:
        """Times (T,) and heights of the tip (B, L, T)."""
        start = self._hung(stiffness, np.array([one.mass for one in releases]))
        count = start.shape[1]
        k, c = (np.repeat(array, count, axis=0) for array in (stiffness, damping))
        c = c + self._problem.damping_timestep * k
        recording = self._release.release(k, c, start.reshape(-1, start.shape[-1]), duration)
        return recording.time, recording.height.reshape(len(stiffness), count, -1)
