"""Many grasps of one topology at once, their physics in ``mujoco.batch``.

Every grasp keeps its own controller, the one that a grasp alone has. Its targets are known ahead
as long as its contacts stay, so all grasps do a block of steps at once, without Python in between;
their forces are judged afterwards. A grasp whose contact changed within a block is put back to
that sample. Results are those of grasps run one by one, bit for bit.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from softgrasp.model.scene import BuiltScene
from softgrasp.simulation.closure_run import MAX_ROWS, ClosureRun, max_rows
from softgrasp.simulation.engine_warnings import caught_warnings
from softgrasp.simulation.lane import BatchedRun, Scratch
from softgrasp.simulation.lanes import BatchSimulator
from softgrasp.simulation.workspace import Workspace

SIZES = ("nq", "nv", "nu", "na", "nbody", "njnt", "ngeom", "nsite", "npair", "nsensordata",
         "ntendon", "neq", "nmocap", "nuserdata")  # fmt: skip
"""What has to agree for models to run in one batch."""


def can_be_batched(built: BuiltScene) -> bool:
    """Whether a scene can share a batch.

    It has servos, drives that nothing but contact stops, friction that does not switch, no sequence
    and a hold test that is no more than a ramp of gravity, and is not too long. Sensors are read
    sample by sample, and deformable objects run alone, too.
    """
    scene = built.scene
    if scene.sensors or built.model.nflex:
        return False
    alike = scene.actuation == "servo" and scene.closure.grip_force is None
    alike &= not scene.closure.stops_at_torque
    alike &= not built.switching and scene.is_plain
    return alike and max_rows(scene) <= MAX_ROWS


def topology(built: BuiltScene) -> tuple[object, ...]:
    """What two scenes have to have in common to share a batch."""
    model, scene = built.model, built.scene
    sizes = tuple(int(getattr(model, name)) for name in SIZES)
    steps = (float(model.opt.timestep), scene.control_period, scene.closure.threshold)
    slots = tuple(model.sensor_dim.tolist())
    return (*sizes, *steps, scene.closure.samples, int(model.opt.integrator), *built.bodies, slots)


def run_batch(
    builts: Sequence[BuiltScene], threads: int = 1, workspace: Workspace | None = None
) -> Iterator[ClosureRun]:
    """Run grasps of one ``topology`` from start to end.

    A grasp that diverges, or whose solver complains, runs again alone, so that it is told as it
    always is.

    Args:
        builts: Scenes that ``can_be_batched``, each with a model of its own.
        threads: Of the physics.
        workspace: Memory to use, which the next batch may use again; the recordings of this one
            are then gone.

    Yields:
        The finished runs, in the order of the scenes.
    """
    with caught_warnings() as engine_warnings:
        scratch = Scratch(builts[0].model)
        simulator = BatchSimulator(
            [BatchedRun(built, scratch) for built in builts], threads, workspace or Workspace()
        )
        simulator.run(engine_warnings.total)
    for built, run in zip(builts, simulator.runs, strict=True):
        if not run.odd:
            yield run
            continue
        unload(built)
        again = ClosureRun(built)
        again.run()
        yield again


def unload(built: BuiltScene) -> None:
    """Give a scene's model the gravity back that it had before its hold test."""
    built.model.opt.gravity[:] = built.spec.option.gravity
