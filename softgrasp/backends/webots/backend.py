"""Simulate grasps and finger releases in Webots or ODE, and write Webots projects.

A scene becomes a project (world, controller and job), an engine runs it, and ``ImportedRun``
converts what the controller recorded into a result. Both engines run the same world and the same
controller: ``webots`` needs an installed Webots, ``ode`` reads the text of the world by the rules
of Webots and steps the Open Dynamics Engine, on which Webots is built (decision 0013).
"""

from __future__ import annotations

import json
import shutil
import signal
import sys
import tempfile
import threading
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cached_property, partial
from pathlib import Path
from shlex import quote
from typing import Any

import mujoco
import numpy as np

from softgrasp.backends.webots.launcher import find_webots, run_world
from softgrasp.backends.webots.project import (
    Job,
    closure_job,
    in_worlds,
    job_name,
    recording_job,
    write_project,
)
from softgrasp.backends.webots.solids import PLANAR_JOINTS
from softgrasp.backends.webots.world import (
    SHORTEST_STEP,
    STIFF,
    WebotsWorld,
    finger_world,
    hand_world,
    require_supported,
    scene_world,
)
from softgrasp.description import STANDARD_GRAVITY, FingerRelease, Hand, SoftFinger
from softgrasp.errors import BuildError, DivergedError, SimulationError
from softgrasp.io import load_hand, load_release, load_scene
from softgrasp.mechanics import Array, transform
from softgrasp.model import names, object_pose
from softgrasp.plugin_api import (
    ClosureState,
    CompiledScene,
    Progress,
    StiffnessFeedback,
    closure_layout,
    compile_scene,
    max_rows,
    terminal,
)
from softgrasp.resolution import ResolvedScene
from softgrasp.sim import (
    ContactEvent,
    ContactPoint,
    ContactReader,
    EngineRecord,
    EventLog,
    LoadRecord,
    OtherPoint,
    PhaseRows,
    PullRecord,
    PushRecord,
    Recording,
    Sensing,
    Suction,
    borne_by_hand,
    contact_points,
)
from softgrasp.soft import damp_finger, solve_loaded_shape

WORLD_FILE = "softgrasp.wbt"
WHOLE_FORCES = (
    "normal_force is the whole force of a contact and friction_force is 0: touch sensors of Webots "
    "do not tell one from the other"
)


class WorldEngine(ABC):
    """An engine that runs Webots worlds: Webots itself or ODE; see ``sim.engines.Engine``."""

    name: str
    shortest_step: float
    """Shortest time step [s]."""
    constraint_softness = STIFF

    @abstractmethod
    def version(self) -> str:
        """Return its version; raises BackendUnavailable if it is not installed."""

    @abstractmethod
    def play(self, world: Path, result: Path, timeout: float) -> tuple[str, ...]:
        """Run a world until its result is written.

        Args:
            world: The .wbt file.
            result: File that its controller writes.
            timeout: Time-out [s].

        Returns:
            Warnings.
        """

    def require_supported(self, resolved: ResolvedScene) -> None:
        """Refuse a scene with features that the engine lacks; see ``Engine``."""
        require_supported(resolved.scene)

    def run(self, built: CompiledScene, progress: Progress | None = None) -> ImportedRun:
        """Run a compiled scene; see ``Engine``. The progress is that at the end."""
        scene = built.scene
        require_supported(scene)
        version = self.version()
        world, job = world_and_job(built, self.shortest_step, job_name(Path(WORLD_FILE)))
        rows, console_warnings = self._played(world, job, max_rows(scene) * scene.control_period)
        engine = EngineRecord(self.name, version, "dWorldStep of ODE", world.timestep)
        run = ImportedRun(built, engine, [law.name for law in world.laws], rows)
        remarks = (*world.remarks, *console_warnings)
        run.remarks = tuple(f"{self.name}: {remark}" for remark in remarks)
        if progress is not None:
            progress(run.now)
        return run

    def release(
        self, finger: SoftFinger, start: Array, timestep: float, sample_period: float, samples: int
    ) -> Array:
        """Simulate the release of a soft finger; see ``sim.engines.ReleaseEngine``."""
        world = finger_world(finger, start, timestep, (job_name(Path(WORLD_FILE)),))
        job = recording_job(world, sample_period, samples, -STANDARD_GRAVITY[2])
        imported, _ = self._played(world, job, samples * sample_period)
        if imported["diverged"]:
            raise DivergedError(
                f"{self.name}: finger '{finger.name}' has diverged at a time step of {timestep:g} s"
            )
        return np.array(imported["rows"]["position"])

    def _played(
        self, world: WebotsWorld, job: Job, duration: float
    ) -> tuple[dict[str, Any], tuple[str, ...]]:
        """Run a world of some simulated time [s]; return the controller's records and warnings."""
        directory = Path(tempfile.mkdtemp(prefix="softgrasp_world_"))
        try:
            project = write_project(directory / "worlds" / WORLD_FILE, world, job)
            with ended_by_sigterm():
                timeout = 60.0 * (1.0 + duration)
                console_warnings = self.play(project.world, project.result, timeout)
            return json.loads(project.result.read_text(encoding="utf-8")), console_warnings
        finally:
            shutil.rmtree(directory, ignore_errors=True)


class WebotsEngine(WorldEngine):
    """The installed Webots."""

    name, shortest_step = "webots", SHORTEST_STEP

    def version(self) -> str:
        """Return the version of the installed Webots."""
        return find_webots().version

    def play(self, world: Path, result: Path, timeout: float) -> tuple[str, ...]:
        """Run a world in Webots."""
        return (WHOLE_FORCES, *run_world(world, result, timeout=timeout))


class OdeEngine(WorldEngine):
    """ODE with the rules of Webots; it accepts any time step."""

    name, shortest_step = "ode", 0.0

    def version(self) -> str:
        """Return version and precision of ODE."""
        from softgrasp.backends.ode.bindings import load_library

        return load_library().describe()

    def play(self, world: Path, result: Path, timeout: float) -> tuple[str, ...]:  # noqa: ARG002
        """Run a world in ODE."""
        from softgrasp.backends.ode import player

        player.run_world(world, timeout)
        return ()


def world_and_job(
    built: CompiledScene, shortest_step: float, job_file: str, max_faces: int | None = None
) -> tuple[WebotsWorld, Job]:
    """Make the Webots world of a scene and the job that its controller reads (JSON).

    Args:
        built: Compiled scene.
        shortest_step: Shortest time step of the engine, used where that of the model is shorter
            [s].
        job_file: Name of the job's file.
        max_faces: Largest number of triangles of a mesh; larger ones are coarsened.

    Raises:
        BuildError: The scene has features that Webots lacks, or a shorter control period.
    """
    model_timestep = float(built.model.opt.timestep)
    timestep = max(model_timestep, shortest_step)
    if timestep > model_timestep and built.scene.control_period < timestep * (1.0 - 1e-9):
        raise BuildError(
            f"control_period: expected at least {timestep:g} s, the shortest time step of Webots, "
            f"found {built.scene.control_period:g} s"
        )
    if shortest_step:
        require_milliseconds(timestep)
    world = scene_world(built, timestep, (job_file,), max_faces)
    if timestep > model_timestep:
        remark = (
            f"time steps of {timestep:g} s, the shortest of Webots, instead of {model_timestep:g} s"
        )
        world = world._replace(remarks=(remark, *world.remarks))
    return world, closure_job(built, world)


def require_milliseconds(timestep: float) -> None:
    """Refuse time steps [s] that are no whole milliseconds, which Webots controllers need.

    Raises:
        BuildError: It is not a whole number of milliseconds.
    """
    if abs(1e3 * timestep - round(1e3 * timestep)) > 1e-6:
        raise BuildError(
            "timestep: expected a whole number of milliseconds, in which controllers of Webots "
            f"step, found {timestep:g} s"
        )


@contextmanager
def ended_by_sigterm() -> Iterator[None]:
    """Run the ``finally`` blocks of this process on SIGTERM, unless another handler is set.

    Without them the engine would continue, and its directory would stay.
    """

    def end(*_: object) -> None:
        sys.exit(128 + signal.SIGTERM)

    main = threading.current_thread() is threading.main_thread()
    if not main or signal.getsignal(signal.SIGTERM) is not signal.SIG_DFL:
        yield
        return
    signal.signal(signal.SIGTERM, end)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)


# Results of external engines


class ImportedRun:
    """A finished run of an external engine, with the interface of ``ClosureRun``.

    The records of the controller become the recording of a closure, from which results are computed
    as from a run of MuJoCo. Positions and sliding speeds of contacts come from the MuJoCo model at
    the recorded poses, forces from the engine.
    """

    def __init__(
        self,
        built: CompiledScene,
        engine: EngineRecord,
        joints: list[str],
        imported: dict[str, Any],
    ) -> None:
        """Convert the records that the controller wrote.

        Raises:
            SimulationError: It has no sample.
        """
        self.built, self.scene, self.model = built, built.scene, built.model
        self.layout, self.engine = closure_layout(built), engine
        self.engine_warnings: Counter[str] = Counter()
        self.diverged = bool(imported["diverged"])
        self.finished = not self.diverged
        self.refusal, self.remarks = "", tuple[str, ...]()
        # other engines have neither
        self.sensing: Sensing | None = None
        self.suction: Suction | None = None
        self.stiffness: StiffnessFeedback | None = None
        self.hold_from: int | None = imported["hold_from"]
        self.recording = self._recorded(joints, imported["rows"])
        last, after = self.recording.rows - 1, "hold test" if self.scene.lift is None else "lift"
        self.phases = [PhaseRows("close", 0, last if self.hold_from is None else self.hold_from)]
        if self.hold_from is not None:
            self.phases.append(PhaseRows(after, self.hold_from, last))
        self.trials, self.pulls = list[PushRecord](), list[PullRecord]()
        self.closing_others: list[OtherPoint] = []
        self.state = ClosureState.at_start(self.recording.control[-1].tolist(), len(built.bodies))
        self.state.contact.active[:] = imported["in_contact"]
        self.state.idle = imported["idle"]
        self._log = EventLog(built)
        for row, changes in imported["changes"]:
            points = partial(self._points, row)
            self._log.record(float(self.recording.time[row]), changes, points)

    @property
    def peaks(self) -> None:
        """None: forces are read at control samples."""
        return None

    @property
    def events(self) -> list[ContactEvent]:
        """Contacts that began or ended."""
        return self._log.events

    @property
    def now(self) -> float:
        """Time of the last control sample [s]."""
        return float(self.recording.time[self.recording.rows - 1])

    @cached_property
    def data(self) -> mujoco.MjData:
        """The state of the last sample."""
        return self._state_of(self.recording.rows - 1)

    @cached_property
    def loads(self) -> list[LoadRecord]:
        """The hand bears the object where nothing else touches it at the end; else not known."""
        last, success = self.recording.rows - 1, self.scene.success
        touching = ContactReader(self.model).forces_on(self.data, names.OBJECT)
        others = [body for body in touching if names.is_around(body) or names.is_object(body)]
        if self.hold_from is None or others:
            return []
        gravity = (success and success.gravity) or self.scene.gravity
        return [borne_by_hand(self.model, self.scene, last, np.array(gravity))]

    def contact_points(self) -> list[ContactPoint]:
        """Return the contacts at the last sample."""
        return self._points(self.recording.rows - 1)

    def other_points(self) -> list[OtherPoint]:
        """Return no contacts besides the hand's: the controller measures only those."""
        return []

    def _recorded(self, joints: list[str], rows: dict[str, list[list[float]]]) -> Recording:
        count = len(rows["target"])
        if count == 0:
            raise SimulationError("expected a result with samples, found one without any")
        model, bodies = self.model, len(self.built.bodies)
        recording = Recording.empty(model, bodies, self.layout.force_sum.shape[1], count)
        recording.rows = count
        recording.time[:] = np.arange(count) * self.scene.control_period
        columns = [int(model.joint(name).qposadr[0]) for name in joints]
        recording.qpos[:, columns] = rows["position"]
        recording.control[:] = rows["target"]
        recording.in_contact[:] = rows["in_contact"]
        self._put_object(recording.qpos, np.array(rows["object"], dtype=float))
        # the sums of a body are stored at its first contact
        force = recording.force.reshape(count, bodies, -1, 3)
        force[:, :, 0, 0], force[:, :, 0, 1] = rows["normal"], rows["friction"]
        return recording

    def _put_object(self, qpos: Array, track: Array) -> None:
        """Write the recorded object poses into the joint positions of the model."""
        if self.scene.object_mount == "planar":
            start = object_pose(self.scene)
            upright = transform(quaternion=start.quaternion)[:3, :3]
            rotations = track[:, 3:].reshape(-1, 3, 3) @ upright.T
            # about y: x goes to (cos, 0, -sin)
            angle = np.unwrap(np.arctan2(-rotations[:, 2, 0], rotations[:, 0, 0]))
            moved = track[:, :3] - start.position
            for name, values in zip(PLANAR_JOINTS, (moved[:, 0], moved[:, 2], angle), strict=True):
                qpos[:, int(self.model.joint(name).qposadr[0])] = values
        if self.scene.object_mount != "free":
            return
        first = int(self.model.joint(names.OBJECT).qposadr[0])
        qpos[:, first : first + 3] = track[:, :3]
        for row, matrix in zip(qpos, track[:, 3:], strict=True):
            quaternion = np.zeros(4)
            mujoco.mju_mat2Quat(quaternion, matrix)
            row[first + 3 : first + 7] = quaternion

    def _points(self, row: int) -> list[ContactPoint]:
        """Find the contacts at the poses of a sample; a body's force is distributed by depth."""
        points = contact_points(self.model, self._state_of(row))
        force = self.recording.force.reshape(self.recording.rows, len(self.built.bodies), -1, 3)
        point_list = []
        for body, (normal, friction, _) in zip(self.built.bodies, force[row, :, 0], strict=True):
            body_points = [point for point in points if point.body == body]
            depths = np.array([max(-point.separation, 0.0) for point in body_points])
            weights = depths if depths.any() else np.ones(len(body_points))
            weight_fractions = weights / max(weights.sum(), 1e-300)
            point_list += [
                point._replace(
                    normal_force=float(normal * fraction), friction_force=float(friction * fraction)
                )
                for point, fraction in zip(body_points, weight_fractions, strict=True)
            ]
        return point_list

    def _state_of(self, row: int) -> mujoco.MjData:
        """Return the model state at the poses of a sample, with finite-difference velocities."""
        data, qpos = mujoco.MjData(self.model), self.recording.qpos
        data.qpos[:] = qpos[row]
        steps = self.scene.control_period, qpos[max(row - 1, 0)], qpos[row]
        mujoco.mj_differentiatePos(self.model, data.qvel, *steps)
        mujoco.mj_forward(self.model, data)
        return data


# Projects to be opened in Webots.


def hand_and_job(hand: Hand, job_file: str, max_faces: int | None) -> tuple[WebotsWorld, Job]:
    """Make the world of a hand alone, and the job that holds its start posture for 1 s."""
    world = hand_world(hand, SHORTEST_STEP, (job_file,), max_faces)
    starts = [actuator.start for actuator in hand.actuators]
    samples = round(1.0 / SHORTEST_STEP)  # one second in the start posture
    return world, recording_job(world, SHORTEST_STEP, samples, 0.0, starts)


def release_and_job(release: FingerRelease, job_file: str) -> tuple[WebotsWorld, Job]:
    """Make the world of the release of a finger, and the job that records its motion."""
    step = max(release.timestep, SHORTEST_STEP)
    require_milliseconds(step)
    world = finger_world(damp_finger(release), solve_loaded_shape(release), step, (job_file,))
    period = max(release.sample_period, step)
    samples = round(release.duration / period) + 1
    return world, recording_job(world, period, samples, -STANDARD_GRAVITY[2])


def put_project(kind: str, source: str, target: Path, max_faces: int | None, *, json: bool) -> None:
    """Write a scene, a hand alone or a release as a project to be opened in Webots; report it.

    Args:
        kind: ``scene``, ``hand`` or ``release``.
        source: Its name or file.
        target: File of the world.
        max_faces: Largest number of triangles of a mesh; larger ones are coarsened.
        json: Whether to report as a JSON document.

    Raises:
        BuildError: It has features that Webots lacks; names the feature.
        BackendUnavailable: The library that coarsens meshes is not installed.
        DescriptionError: It cannot be read, or the weight is more than the finger can carry.
        ResultError: The directory cannot be written.
    """
    name = job_name(target)
    if kind == "release":
        world, job = release_and_job(load_release(source), name)
    elif kind == "hand":
        world, job = hand_and_job(load_hand(source), name, max_faces)
    else:
        scene = compile_scene(load_scene(source))
        world, job = world_and_job(scene, SHORTEST_STEP, name, max_faces)
    remarks = [*world.remarks]
    if max_faces is not None and kind != "release":
        remarks.append(f"meshes of more than {max_faces} triangles were made coarser, as requested")
    files = write_project(target, world, job).files
    for remark in remarks:
        terminal.show_message("warning", remark)
    if json:
        document = {"file": str(target), "kind": kind, "files": [*map(str, files)]}
        terminal.put_json(document | {"remarks": remarks})
        return
    for file in files:
        terminal.put(f"wrote {file}")
    if not in_worlds(target):
        directory, name = quote(str(target.parent.resolve())), quote(str(target))
        terminal.put(
            f"run it with WEBOTS_EXTRA_PROJECT_PATH={directory} webots {name}; in a directory "
            "called worlds it would find its controller by itself"
        )
