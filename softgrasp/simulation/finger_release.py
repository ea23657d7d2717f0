"""Planar fingers that swing freely or come to rest, in any engine, told alike."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from softgrasp.continuum.statics import PlanarChain
from softgrasp.description.calibration import FingerRelease
from softgrasp.description.soft_finger import SoftFinger
from softgrasp.errors import BackendUnavailable, SimulationError, did_you_mean
from softgrasp.extensions import RELEASES, load
from softgrasp.mechanics.transforms import Array
from softgrasp.simulation.external_engine import external_engine
from softgrasp.simulation.finger_load import damped_finger, loaded_shape
from softgrasp.simulation.finger_motion import move_finger
from softgrasp.simulation.finished_run import Engine

MUJOCO = "mujoco"
INTEGRATOR = "implicitfast"
"""Of MuJoCo: springs at the beginning of a step, dampers at its end."""
DECAYS = 60.0
"""How long a finger gets to come to rest, over the inverse of its slowest rate [–]."""


class FreeMotion(NamedTuple):
    """How a finger moved, in its base frame; T samples, n joints."""

    time: Array
    """[s], (T,)."""
    angles: Array
    """Of the joints, positive towards −z [rad], (T, n)."""
    tip: Array
    """Of the tip from the first joint on, along x and z [m], (T, 2)."""
    engine: Engine


def release_motion(
    release: FingerRelease, backend: str = MUJOCO, *, timestep: float | None = None
) -> FreeMotion:
    """The swing of a finger after its weight was taken away.

    Args:
        release: What is let go.
        backend: Name of the engine.
        timestep: Of the physics [s]; the release's own where not given.

    Raises:
        BackendUnavailable: The engine is unknown or not there.
        BuildError: The engine cannot express the finger at this time step.
        DescriptionError: The weight is more than the finger can carry.
        SimulationError: The motion diverges.
    """
    finger = damped_finger(release)
    return free_motion(
        finger,
        loaded_shape(release),
        backend,
        timestep=timestep or release.timestep,
        sample_period=release.sample_period,
        samples=release.samples,
    )


def free_motion(
    finger: SoftFinger,
    start: Array,
    backend: str,
    *,
    timestep: float,
    sample_period: float,
    samples: int,
) -> FreeMotion:
    """How a level finger moves under its own weight from rest in some shape.

    Args:
        finger: A planar one, with all of its damping.
        start: Joint angles [rad], (n,).
        backend: Name of the engine.
        timestep: Of the physics [s].
        sample_period: Time between two samples [s], a whole number of time steps.
        samples: How many, the start included.

    Raises:
        BackendUnavailable: The engine is unknown or not there.
        BuildError: The engine cannot express the finger at this time step.
        SimulationError: The motion diverges.
    """
    if backend == MUJOCO:
        angles, engine = _in_mujoco(finger, start, timestep, sample_period, samples)
    else:
        angles, engine = _simulated(finger, start, backend, timestep, sample_period, samples)
    time = np.arange(samples, dtype=float) * sample_period
    return FreeMotion(time, angles, PlanarChain.of(finger).tip(angles), engine)


def rest_shape(finger: SoftFinger, rate: float, backend: str, *, timestep: float) -> FreeMotion:
    """Let a finger creep to rest from its straight shape, with dampers that do nothing else.

    Dampers in proportion to the springs, 2·k/ω, bring the slowest mode to rest as fast as goes
    (critical damping), and every faster one at half that rate at least. Where it rests depends
    neither on them nor on the time step.

    Args:
        finger: A planar one; its own dampers are left out.
        rate: Angular frequency ω of its slowest mode [rad/s].
        backend: Name of the engine.
        timestep: Of the physics [s].

    Returns:
        The way there, a sample a time step; the last one is the shape of rest.

    Raises:
        BackendUnavailable: The engine is unknown or not there.
        SimulationError: The motion diverges.
    """
    damped = tuple(
        joint.replace(damping=2.0 * joint.stiffness / rate) for joint in finger.joints
    )  # fmt: skip
    samples = max(round(DECAYS / (rate * timestep)), 2)
    return free_motion(
        finger.replace(joints=damped),
        np.zeros(len(damped)),
        backend,
        timestep=timestep,
        sample_period=timestep,
        samples=samples,
    )


def _in_mujoco(
    finger: SoftFinger, start: Array, timestep: float, sample_period: float, samples: int
) -> tuple[Array, Engine]:
    import mujoco

    every = round(sample_period / timestep)
    duration = (samples - 1) * every * timestep
    motion = move_finger(
        finger, duration, start_angles=start, timestep=timestep, integrator=INTEGRATOR
    )
    engine = Engine(MUJOCO, mujoco.__version__, INTEGRATOR, timestep)
    return motion.joint_angles[::every], engine


def _simulated(
    finger: SoftFinger,
    start: Array,
    backend: str,
    timestep: float,
    sample_period: float,
    samples: int,
) -> tuple[Array, Engine]:
    if backend not in RELEASES:
        raise BackendUnavailable(f"no backend '{backend}'; {did_you_mean(backend, RELEASES)}")
    angles: Array = load(RELEASES[backend])(
        finger, start, backend, timestep, sample_period, samples
    )
    if angles.shape != (samples, len(finger.joints)):
        raise SimulationError(
            f"{backend}: expected {samples} samples of {len(finger.joints)} joints, found an array "
            f"of shape {angles.shape}"
        )
    version = external_engine(backend).version()
    return angles, Engine(backend, version, "dWorldStep of ODE", timestep)
