"""The runs of a release that are compared: at rest under the weight, and let go."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from softgrasp.continuum.settling import Settling, settling
from softgrasp.crosschecks.convergence import Convergence, convergence, halved
from softgrasp.crosschecks.engines import ProgressCallback, shortest_step
from softgrasp.crosschecks.vibration import Vibration, vibration
from softgrasp.description.release import FingerRelease
from softgrasp.mechanics.transforms import Array
from softgrasp.simulation.finger_load import damped_finger, loaded_finger, loaded_shape
from softgrasp.simulation.finger_mode import LinearMode, linear_mode, small_motion
from softgrasp.simulation.finger_release import MUJOCO, FreeMotion, release_motion, rest_shape

HALVINGS = 3
"""How often the time step is halved."""
SETTLING_RULE = "band-5%"


@dataclass(frozen=True, kw_only=True)
class ReleaseRuns:
    """What every engine says of a release; all by backend."""

    release: FingerRelease
    rest: Array
    """Joint angles under the weight in closed form [rad], (n,)."""
    resting: Mapping[str, FreeMotion]
    """The way to rest under the weight."""
    moving: Mapping[str, Mapping[float, FreeMotion]]
    """After the release, by time step [s]."""
    without_hk: FreeMotion | None
    """MuJoCo with the dampers as they stand in Webots; None where they are all there is."""
    linear: Mapping[float, LinearMode]
    """The first mode in closed form, by time step [s]; 0 for the motion itself."""
    notes: tuple[str, ...] = ()

    def motion(self, backend: str) -> FreeMotion:
        """A release at its own time step."""
        return self.moving[backend][self.release.timestep]

    def mode(self, backend: str, timestep: float) -> Vibration:
        """The first mode of a release, read from the height of its tip."""
        motion = self.moving[backend][timestep]
        return vibration(motion.time, motion.tip[:, 1], self.linear[timestep])

    def settled(self, backend: str) -> Settling:
        """When a release has settled, to 5 %."""
        motion = self.motion(backend)
        return settling(motion.time, motion.tip[:, 1], SETTLING_RULE)

    def convergence(self, backend: str) -> Convergence:
        """How joint angles after the release change with the time step [deg]."""
        motions = self.moving[backend]
        return convergence(list(motions), [np.degrees(one.angles) for one in motions.values()])


def run_releases(
    release: FingerRelease, backends: tuple[str, ...], *, quick: bool, update: ProgressCallback
) -> ReleaseRuns:
    """Run a release in several engines.

    Args:
        release: What is let go.
        backends: Names of the engines.
        quick: Whether to leave out other time steps than its own.
        update: Called with the progress.

    Raises:
        BackendUnavailable: An engine is unknown or not there.
        BuildError: An engine cannot express the finger.
        SimulationError: A motion diverges.
    """
    finger = damped_finger(release)
    loaded = loaded_finger(release.finger, release.tip_mass)
    rate = small_motion(loaded).rate
    steps = {name: _steps(release, name, quick) for name in backends}
    count, done = sum(map(len, steps.values())) + len(backends), 0
    resting: dict[str, FreeMotion] = {}
    moving: dict[str, dict[float, FreeMotion]] = {name: {} for name in backends}
    for name in backends:
        update(f"{name}: coming to rest under the weight", done / count)
        resting[name] = rest_shape(loaded, rate, name, timestep=release.timestep)
        done += 1
        for step in steps[name]:
            update(f"{name}: release in steps of {1e3 * step:g} ms", done / count)
            moving[name][step] = release_motion(release, name, timestep=step)
            done += 1
    every = {0.0} | {step for each in steps.values() for step in each}
    return ReleaseRuns(
        release=release,
        rest=loaded_shape(release),
        resting=resting,
        moving=moving,
        without_hk=_without_hk(release),
        linear={step: linear_mode(finger, step) for step in sorted(every)},
        notes=tuple(_left_out(backends, steps, quick)),
    )


def _steps(release: FingerRelease, backend: str, quick: bool) -> list[float]:
    steps = halved(release.timestep, 0 if quick else HALVINGS, shortest_step(backend))
    return steps or [release.timestep]  # the engine itself tells that it is too short


def _without_hk(release: FingerRelease) -> FreeMotion | None:
    if release.webots_timestep is None:
        return None
    plain = release.replace(webots_timestep=None)
    return release_motion(plain, MUJOCO, timestep=release.timestep / 2**HALVINGS)


def _left_out(backends: tuple[str, ...], steps: dict[str, list[float]], quick: bool) -> list[str]:
    """What is not compared, and why."""
    if quick:
        return ["quick: other time steps than the release's own were left out"]
    return [
        f"{name}: no time steps below {1e3 * min(steps[name]):g} ms, which is the shortest that it "
        "takes, so its convergence is not known"
        for name in backends
        if len(steps[name]) <= HALVINGS and not math.isclose(shortest_step(name), 0.0)
    ]
