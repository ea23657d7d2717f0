"""Random force series, and what each implementation of the closing laws makes of them."""

import runpy
import sys
from dataclasses import replace
from functools import cache
from types import ModuleType, SimpleNamespace
from typing import Any, NamedTuple
from unittest.mock import patch

import mujoco
import numpy as np

from softgrasp.backends.webots.project import SCRIPT
from softgrasp.envs.core import ObjectPose
from softgrasp.envs.episode import EnvSettings, Episode, GraspTask
from softgrasp.sim import laws
from softgrasp.sim.blocks import MAX_SUBSTEPS, BlockRollout
from softgrasp.sim.control_state import ClosureLayout, ClosureState, Recording
from softgrasp.sim.stepper import MujocoStepper

STOPS = ((0, 1, 2), (1, 2), (2,), (3, 4), (3, 4), (4,), ())
"""Two fingers of three joints, the second finger's first link without a body, and a wrist."""
BODIES, ACTUATORS, ROWS = 5, len(STOPS), 140
THRESHOLD = 0.125
FORCES = (0.0, 0.0625, THRESHOLD, float(np.nextafter(np.float32(THRESHOLD), np.float32(1))), 32.0)
"""Forces below, at and just above the threshold, all of them numbers in single precision [N]."""


class Trial(NamedTuple):
    """Forces and joint variables of a closure, whatever its targets are."""

    forces: np.ndarray
    """(T, nb) [N]; the first row is zero."""
    positions: np.ndarray
    """(T, nd) [rad]"""
    start: list[float]
    layout: ClosureLayout


class Track(NamedTuple):
    """What an implementation records."""

    in_contact: list[list[int]]
    targets: list[list[float]]
    changes: dict[int, list[int]]
    """Bits of the rows in which a contact changed."""


def drawn(seed: int, grips: bool = True) -> Trial:
    """Draw a trial, with or without a grip force."""
    random = np.random.default_rng(seed)
    samples = int(random.integers(1, 7))
    forces = np.zeros((ROWS, BODIES))
    for body in range(BODIES):
        levels = random.choice(FORCES, size=ROWS)
        forces[1:, body] = np.repeat(levels, random.integers(1, 3 * samples, ROWS))[: ROWS - 1]
    forces[np.repeat(random.random(ROWS) < 0.2, 8)[:ROWS]] = 0.0  # the object leaves the hand
    positions = random.uniform(-1.0, 1.0, (ROWS, ACTUATORS)).astype(np.float32).astype(float)
    increments = random.uniform(-0.02, 0.02, ACTUATORS) * (random.random(ACTUATORS) < 0.9)
    leads = [[float(random.choice([0.01, 0.3, np.inf])) for _ in stops] for stops in STOPS]
    return Trial(
        forces,
        positions,
        random.uniform(-0.5, 0.5, ACTUATORS).tolist(),
        _layout(samples, increments, leads if grips else [[] for _ in STOPS]),
    )


def _layout(samples: int, increments: np.ndarray, leads: list[list[float]]) -> ClosureLayout:
    of_sensors = np.zeros((BODIES, 3 * BODIES))
    of_sensors[range(BODIES), range(0, 3 * BODIES, 3)] = 1.0
    none = np.zeros(0, dtype=np.int64)
    return ClosureLayout(
        threshold=THRESHOLD, samples=samples, stop_force=None, torque_limits=None,
        approach_speed=np.full(BODIES, np.inf), contact_rate_scale=1.0, increments=increments,
        lower=np.full(ACTUATORS, -0.6), upper=np.full(ACTUATORS, 0.6),
        bodies=tuple("abcde"), stops=STOPS, leads=tuple(map(tuple, leads)),
        qpos_of_actuator=none, dof_of_actuator=none, joint_of_actuator=np.arange(ACTUATORS),
        qpos_of_joint=np.arange(ACTUATORS), force_sum=of_sensors, object_slots=(1,),
        first_force=0, substeps=1, timestep=1e-3, control_period=1e-3,
        actuator_bias=np.zeros((ACTUATORS, 10)), prescribed=False, feels=False,
    )  # fmt: skip


def by_laws(trial: Trial) -> Track:
    """Call the laws sample by sample."""
    layout, targets, free = trial.layout, trial.start, [True] * ACTUATORS
    increments, flags = layout.increments.tolist(), laws.DebouncedFlags.initial(BODIES)
    limits, track = (layout.lower.tolist(), layout.upper.tolist()), Track([], [], {})

    def grip(acting: list[bool]) -> list[float]:
        grip_law = (layout.stops, layout.leads, flags.active)
        return laws.grip_targets(targets, trial.positions[row].tolist(), acting, *grip_law)

    for row, forces in enumerate(trial.forces.tolist()):
        flags = laws.debounce(forces, layout.threshold, layout.samples, flags)
        before, free = free, laws.free_actuators(layout.stops, flags.active)
        targets = grip([was and not now for was, now in zip(before, free, strict=True)])
        targets = laws.next_targets(targets, increments, free, *limits)
        track.in_contact.append(flags.active)
        track.targets.append(targets)
        if any(flags.changes):
            track.changes[row] = flags.changes
        if row and row % laws.GRIP_INTERVAL == 0:
            targets = grip([not item for item in free])
    return track


# MuJoCo's stepper.


@cache
def _model() -> mujoco.MjModel:
    """A row of sliding balls, one of which touches the floor, so that forces are read."""
    ball = '<body pos="{i} 0 0.09"><joint name="j{i}" type="slide"/><geom size="0.1"/></body>'
    motor = '<position joint="j{i}"/>'
    balls, motors = ("".join(t.format(i=i) for i in range(ACTUATORS)) for t in (ball, motor))
    return mujoco.MjModel.from_xml_string(
        f'<mujoco><worldbody><geom type="plane" size="9 9 1"/>{balls}</worldbody>'
        f'<actuator>{motors}</actuator><sensor><user dim="{3 * BODIES}"/></sensor></mujoco>'
    )


class _PlayedBlocks(BlockRollout):
    """Blocks whose physics is that of a trial."""

    trial: Trial
    first: int

    def run(self, plan: Any, state: Any, recording: Any, row: int) -> Any:
        self.first = row
        return super().run(plan, state, recording, row)

    def _step(self, steps: int) -> None:
        rows = slice(self.first, self.first + steps)
        self._states[0, :steps, self._qpos] = self.trial.positions[rows]
        self._sensors[0, :steps, self._forces][:, ::3] = self.trial.forces[rows]
        self._data.qpos[:] = self.trial.positions[rows][-1]


class _PlayedStepper(MujocoStepper):
    """A stepper whose physics is that of a trial."""

    def __init__(self, trial: Trial, layout: ClosureLayout) -> None:
        model, data = _model(), mujoco.MjData(_model())
        mujoco.mj_forward(model, data)
        assert data.ncon
        data.qpos[:] = trial.positions[0]
        state = ClosureState.at_start(trial.start, BODIES, layout.samples)
        recording = Recording.empty(model, BODIES, 3 * BODIES, ROWS)
        steps: Any = SimpleNamespace(
            substeps=1, samples_left=ROWS, active=False, first_onset=lambda _: None,
            follow=lambda *_: None,
        )  # fmt: skip
        super().__init__(model, data, layout, state, recording, steps)
        self.trial = trial
        if self._blocks is not None:
            self._blocks = _PlayedBlocks(model, data, layout, steps, self.peaks)
            self._blocks.trial = trial

    def _step_refined(self, row: int, after: Any, moves: Any) -> None:
        self._data.qpos[:], self._sensors[::3] = self.trial.positions[row], self.trial.forces[row]


def by_samples(trial: Trial) -> Track:
    """Run the stepper of MuJoCo sample by sample."""
    return _stepped(_PlayedStepper(trial, replace(trial.layout, substeps=MAX_SUBSTEPS + 1)))


def by_blocks(trial: Trial) -> Track:
    """Run the stepper of MuJoCo in blocks."""
    stepper = _PlayedStepper(trial, trial.layout)
    assert stepper._blocks is not None
    return _stepped(stepper)


def _stepped(stepper: _PlayedStepper) -> Track:
    recording, changes = stepper.recording, dict[int, list[int]]()
    while recording.rows < ROWS:
        next_grip = -(-max(recording.rows, 1) // laws.GRIP_INTERVAL) * laws.GRIP_INTERVAL
        if stepper.advance(min(next_grip + 1, ROWS) - recording.rows, idle_limit=ROWS):
            changes[recording.rows - 1] = stepper._state.contact.changes
        if recording.rows == next_grip + 1:
            stepper.limit_grip()
    return Track(recording.in_contact[:ROWS].tolist(), recording.control[:ROWS].tolist(), changes)


# The controller in Webots and ODE.


class _PlayedRobot:
    """The devices of a world whose physics is that of a trial."""

    def __init__(self, trial: Trial) -> None:
        self.trial, self.row = trial, 0

    def getDevice(self, name: str) -> Any:
        index = int(name)
        return SimpleNamespace(
            enable=lambda period: None,
            getValue=lambda: self.trial.positions[self.row, index],
            getNormalForce=lambda node: self.trial.forces[self.row, index],
            getFrictionForce=lambda node: 0.0,
        )

    def getFromDef(self, name: str) -> Any:
        return SimpleNamespace(getField=lambda field: None)

    def step(self, milliseconds: float) -> int:
        self.row += 1
        return 0


def by_job(trial: Trial) -> Track:
    """Run the controller of Webots and ODE."""
    layout, largest = trial.layout, float(np.finfo(float).max)
    stand_ins = {"controller": ModuleType("controller"), "laws": laws}
    vars(stand_ins["controller"])["Supervisor"] = None
    with patch.dict(sys.modules, stand_ins):
        job_type = runpy.run_path(str(SCRIPT))["Job"]
    passive = {"motor": None, "mode": "passive", "zero": 0.0}
    joints = [
        {"sensor": str(d), "start": trial.positions[0, d], **passive} for d in range(ACTUATORS)
    ]
    phase = {"samples": ROWS, "idle_limit": None, "gravity": [], "path": [], "holds": False}
    job = job_type(_PlayedRobot(trial), {
        "timestep_s": 1e-3, "control_period_s": 1e-3, "substeps": 1, "largest_speed": np.inf,
        "joints": joints, "object": None, "touch_floor_N": 0.0, "compensated": {},
        "bodies": [{"sensor": str(body)} for body in range(BODIES)], "gravity_m_s2": 0.0,
        "closure": {"threshold": layout.threshold, "samples": layout.samples},
        "actuators": {
            "start": trial.start, "increments": layout.increments.tolist(),
            "lower": layout.lower.tolist(), "upper": layout.upper.tolist(),
            "stops": layout.stops, "joints": list(range(ACTUATORS)),
            "leads": [np.minimum(leads, largest).tolist() for leads in layout.leads],
        },
        "phases": [phase | {"limits_grip": True}],
    })  # fmt: skip
    result = job.run()
    rows = result["rows"]
    return Track(rows["in_contact"], rows["target"], dict(result["changes"]))


# Environments.


def task_of(trial: Trial, action: str = "increments", samples: int = 1) -> GraspTask:
    """Return the task of an environment with the bodies and actuators of a trial."""
    layout = trial.layout
    closure = SimpleNamespace(threshold=layout.threshold, samples=layout.samples)
    scene: Any = SimpleNamespace(closure=closure, control_period=layout.control_period)
    task = object.__new__(GraspTask)  # without a compiled scene
    vars(task).update(
        scene=scene, settings=EnvSettings(action=action), bodies=layout.bodies,
        actuators=tuple(map(str, range(ACTUATORS))), active=np.arange(ACTUATORS),
        start=np.array(trial.start), increments=layout.increments, lower=layout.lower,
        upper=layout.upper, samples_per_action=samples, closing_samples=ROWS + 1,
        test_samples=1, creep_samples=1, loads=np.zeros((0, 3)), path=np.zeros((0, 0)),
        fingers=(), object_radius=1.0,
    )  # fmt: skip
    return task


def by_episode(trial: Trial) -> Track:
    """Close in an environment: each action moves what contact does not stop."""
    pose, track = ObjectPose(np.zeros((1, 3)), np.eye(3)[None]), Track([], [], {})
    episode = Episode(task_of(trial), pose)
    for row, forces in enumerate(trial.forces):
        before = episode._contact
        episode._detect_contacts(forces[None])
        flags = episode._contact
        episode.targets = episode.plan(
            [float(free) for free in laws.free_actuators(trial.layout.stops, flags.active)]
        ).targets[-1]
        track.in_contact.append(episode.in_contact.astype(int).tolist())
        track.targets.append(episode.targets.tolist())
        if flags is not before and any(flags.changes):  # not updated where nothing can change
            track.changes[row] = flags.changes
    return track


# The kernels of MuJoCo Warp.


def by_kernels(trial: Trial, worlds: Any) -> Track:
    """Launch the kernel of the control law with the structs that the backend makes.

    Args:
        trial: The trial.
        worlds: The module ``softgrasp.backends.warp.worlds``.
    """
    warp, layout = worlds.warp, trial.layout
    closure = SimpleNamespace(stays_on=False)
    scene = SimpleNamespace(success=None, control_period=1e-3, closure=closure)
    model = SimpleNamespace(nu=ACTUATORS, opt=SimpleNamespace(impratio=1.0))
    leads = -np.ones((ACTUATORS, BODIES))
    for row, bodies, values in zip(leads, layout.stops, layout.leads, strict=True):
        row[list(bodies)[: len(values)]] = values
    numbers = {
        "increments": layout.increments[None], "lower": layout.lower[None],
        "upper": layout.upper[None], "leads": leads[None],
        "samples": np.array([ROWS + 1]), "idle_limit": np.array([ROWS + 1]),
        "targets": np.array([trial.start]),
    }  # fmt: skip
    batch = SimpleNamespace(base=SimpleNamespace(scene=scene, model=model), numbers=numbers)
    sizes = {"nw": 1, "nb": BODIES, "nd": ACTUATORS, "nq": ACTUATORS, "nv": 1, "np": 0}
    sizes |= {"nf": 3 * BODIES, "rows": ROWS}
    with warp.ScopedDevice("cpu"):
        with patch.object(worlds, "object_address", lambda _: 0):
            law = worlds._law(batch, layout, np.zeros((0, 3)))
        loop = worlds._loop(numbers, sizes)
        summary, log = worlds._summary(sizes), worlds._log(sizes)
        unused = [warp.zeros((1, 1), dtype=float) for _ in range(2)]
        further = [warp.zeros((1,), dtype=int), warp.zeros((1, ACTUATORS), dtype=float)]
        further += [warp.zeros((1,), dtype=kind) for kind in (warp.vec3, float)]
        for positions, forces in zip(trial.positions, trial.forces, strict=True):
            qpos = warp.array(positions[None].astype(np.float32), dtype=float)
            sensors = np.zeros((1, 3 * BODIES), dtype=np.float32)
            sensors[0, ::3] = forces
            state = [qpos, *unused, warp.array(sensors, dtype=float)]
            warp.launch(worlds.kernels.control, 1, [law, loop, summary, log, *state, *further])
        recorded = worlds._fields(worlds.kernels.Log, log)
    changes = recorded["changes"][:, 0]
    return Track(
        recorded["active"][:, 0].tolist(),
        recorded["control"][:, 0].tolist(),
        {row: changes[row].tolist() for row in np.flatnonzero(changes.any(axis=1)).tolist()},
    )
