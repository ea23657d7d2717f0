"""A soft finger that is let go, in an engine that runs Webots worlds."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from softgrasp.build.webots.finger_world import finger_world
from softgrasp.description.scene import STANDARD_GRAVITY
from softgrasp.description.soft_finger import SoftFinger
from softgrasp.errors import BackendUnavailable, DivergedError, did_you_mean
from softgrasp.extensions import ENGINES, load
from softgrasp.mechanics.transforms import Array
from softgrasp.simulation.webots.backend import PATIENCE, WORLD_FILE, Player, play
from softgrasp.simulation.webots.job import watching_job
from softgrasp.simulation.webots.project import job_name


def imported_release(
    finger: SoftFinger,
    start: Array,
    backend: str,
    timestep: float,
    sample_period: float,
    samples: int,
) -> Array:
    """How a finger moves after it was let go.

    Args:
        finger: With all of its damping.
        start: Joint angles at rest before [rad], (n,).
        backend: ``ode`` or ``webots``.
        timestep: Of the engine [s].
        sample_period: Time between two samples [s], a whole number of time steps.
        samples: How many, the start included.

    Returns:
        Joint angles [rad], (samples, n).

    Raises:
        BackendUnavailable: The engine is unknown or not there.
        BuildError: A joint has less damping than Webots' implicit spring adds at this step.
        DivergedError: The finger has diverged.
        SimulationError: The engine has failed.
    """
    if backend not in ENGINES:
        raise BackendUnavailable(f"no backend '{backend}'; {did_you_mean(backend, ENGINES)}")
    player: Player = load(ENGINES[backend])()
    world = finger_world(finger, start, timestep, (job_name(Path(WORLD_FILE)),))
    job = watching_job(world, sample_period, samples, -STANDARD_GRAVITY[2])
    imported, _ = play(player, world, job, PATIENCE * (1.0 + samples * sample_period))
    if imported["diverged"]:
        raise DivergedError(
            f"{backend}: finger '{finger.name}' has diverged at a time step of {timestep:g} s"
        )
    return np.array(imported["rows"]["position"])
