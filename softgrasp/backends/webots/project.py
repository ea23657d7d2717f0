"""Webots projects on disk: a world, its controller, and the job file that the controller reads.

Webots searches controllers beside the directory of the world, so that worlds belong into a
directory ``worlds``. The job is a JSON file with all that the controller needs beside the world:
joints with their laws (``joint_actuators.joint_laws``), actuators as in the closure
(``sim.control_state``), and phases of control samples. ``controller/softgrasp_job.py`` reads it.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from softgrasp.backends.wbt import world_text
from softgrasp.backends.webots.joint_actuators import JointLaw
from softgrasp.backends.webots.solids import motor_name, sensor_name, touch_name
from softgrasp.backends.webots.world import CONTROLLER, WebotsWorld
from softgrasp.errors import BuildError
from softgrasp.model import names
from softgrasp.plugin_api import (
    LARGEST_SPEED,
    ClosureLayout,
    CompiledScene,
    closure_layout,
    gravity_steps,
    laws,
    lift_path,
    plan_samples,
    start_targets,
    write_text,
)

SCRIPT = Path(__file__).parent / "controller" / f"{CONTROLLER}.py"
Job = dict[str, Any]
TOUCH_FLOOR, MIN_TOUCH = 0.5, 1e-3
"""Forces below this fraction of the closure threshold [–], and below this force [N], are no
contact: a touch sensor of Webots also measures its own weight and inertia."""


class Project(NamedTuple):
    """The files of a project."""

    world: Path
    result: Path
    """File that the controller writes."""
    files: tuple[Path, ...]


def job_name(world: Path) -> str:
    """Return the file name of the job that a world's controller gets as its argument."""
    return f"{world.stem}.json"


def write_project(target: Path, world: WebotsWorld, job: Job) -> Project:
    """Write a world, its controller and the job file that the controller reads.

    Args:
        target: File of the world; the controller is written beside its directory where that is
            called ``worlds``, else into the same directory.
        world: The world.
        job: Job of its controller.

    Raises:
        ResultError: The directory cannot be written.
    """
    home = target.parent.parent if in_worlds(target) else target.parent
    directory = home / "controllers" / CONTROLLER
    result = home / f"{target.stem}.result.json"
    job = job | {"result": f"../../{result.name}"}
    files = (
        write_text(target, world_text(world.nodes)),
        write_text(directory / SCRIPT.name, SCRIPT.read_text(encoding="utf-8")),
        write_text(directory / "laws.py", Path(laws.__file__).read_text(encoding="utf-8")),
        write_text(directory / job_name(target), json.dumps(job, indent=1)),
    )
    return Project(target, result, files)


def in_worlds(target: Path) -> bool:
    """Return whether a world is in a ``worlds`` directory, where Webots finds its controller."""
    return target.resolve().parent.name == "worlds"


# Job files


def closure_job(built: CompiledScene, world: WebotsWorld) -> Job:
    """Make the controller's job for a closure and the hold test or lift that follows.

    Raises:
        BuildError: The control period is not a whole number of Webots' time steps.
    """
    scene, layout = built.scene, closure_layout(built)
    return _frame(world, scene.control_period) | {
        "bodies": [{"name": body, "sensor": touch_name(body)} for body in built.bodies],
        "object": names.OBJECT,
        "touch_floor_N": max(TOUCH_FLOOR * layout.threshold, MIN_TOUCH),
        "closure": {"threshold": layout.threshold, "samples": layout.samples},
        "stays_on": scene.closure.stays_on,
        "gravity_m_s2": -scene.gravity[2] + 0.0,
        "actuators": _actuators(built, layout, world),
        "phases": _phases(built),
    }


def recording_job(
    world: WebotsWorld, period: float, samples: int, gravity: float, targets: Sequence[float] = ()
) -> Job:
    """Make the controller's job that records joints whose actuators keep their targets.

    Args:
        world: The world.
        period: Time between two samples [s].
        samples: Number of samples, the start included.
        gravity: Gravity, downwards [m/s²].
        targets: Targets of the actuators [rad, m or Pa].
    """
    still = list(targets)
    return _frame(world, period) | {
        "bodies": [],
        "object": None,
        "touch_floor_N": 0.0,
        "closure": None,
        "gravity_m_s2": gravity,
        "actuators": {
            **dict.fromkeys(("start", "lower", "upper"), still),
            **{key: [[] for _ in still] for key in ("stops", "leads")},
            "increments": [0.0] * len(still),
            "joints": [None for _ in still],
        },
        "phases": [_phase(samples, holds=False)],
    }


def _frame(world: WebotsWorld, period: float) -> Job:
    """Return the entries that the job files of all controllers have in common."""
    substeps = round(period / world.timestep)
    if substeps < 1 or abs(substeps * world.timestep - period) > 1e-9 * period:
        raise BuildError(
            f"control_period: expected a whole number of the time steps of {world.timestep:g} s "
            f"that the world has, found {period:g} s"
        )
    return {
        "softgrasp_job": 1,
        "timestep_s": world.timestep,
        "substeps": substeps,
        "control_period_s": period,
        "largest_speed": LARGEST_SPEED,
        "joints": [_joint(law) for law in world.laws],
        "compensated": world.compensated,
    }


def _joint(law: JointLaw) -> Job:
    mode = "velocity" if law.follows is not None else "torque" if law.driven else "passive"
    same = ("name", "slides", "start", "zero", "offset", "actuators", "inertia_rate", "follows")
    return {key: getattr(law, key) for key in same} | {
        "sensor": sensor_name(law.name),
        "motor": motor_name(law.name) if law.driven else None,
        "mode": mode,
        "servo": None if law.servo is None else law.servo._asdict(),
    }


def _actuators(built: CompiledScene, layout: ClosureLayout, world: WebotsWorld) -> Job:
    joints = [actuator.joint or "" for actuator in built.scene.actuators]
    joints += [""] * (len(layout.stops) - len(joints))
    law_of = {law.name: index for index, law in enumerate(world.laws)}
    largest = float(np.finfo(float).max)  # JSON has no infinity
    return {
        "start": start_targets(built.scene),
        "increments": layout.increments.tolist(),
        "lower": np.maximum(layout.lower, -largest).tolist(),
        "upper": np.minimum(layout.upper, largest).tolist(),
        "stops": [list(bodies) for bodies in layout.stops],
        "leads": [np.minimum(leads, largest).tolist() for leads in layout.leads],
        "joints": [law_of.get(name) for name in joints],
    }


def _phases(built: CompiledScene) -> list[Job]:
    scene = built.scene
    total = plan_samples(scene)
    settle = max(round(scene.settling_time / scene.control_period), 1)
    limit = settle if scene.duration is None else total + 1
    phases = [_phase(total, idle_limit=limit, holds=False, limits_grip=True)]
    if scene.success is not None:
        steps = gravity_steps(scene.success, np.array(scene.gravity), scene.control_period)
        gravity = [-float(load[2]) + 0.0 for samples, load in steps for _ in range(samples)]
        phases.append(_phase(len(gravity), gravity=gravity))
    if scene.lift is not None:
        samples = max(round(scene.lift.time / scene.control_period), 1)
        path = lift_path(scene, scene.lift, samples).tolist()
        waiting = round(scene.lift.hold_time / scene.control_period)
        phases.append(_phase(samples + waiting, path=path))
    return phases


def _phase(samples: int, **entries: Any) -> Job:
    """Return a phase of some samples in which nothing happens but the entries."""
    nothing: Job = {"idle_limit": None, "gravity": [], "path": []}
    return nothing | {"samples": samples, "holds": True, "limits_grip": False} | entries
