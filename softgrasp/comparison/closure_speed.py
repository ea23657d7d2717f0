"""Speed of the closed loop against the same physics without a controller.

Raw speed is that of ``mujoco.rollout`` on one thread: the same compiled model, from the same start
state, with the controls that the closed loop has recorded, for as many steps. Both run alternately,
in CPU time of the process, so that other load on the machine slows them alike.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from statistics import median

import mujoco
import numpy as np
from mujoco.rollout import Rollout

from softgrasp.description.scene import GraspScene
from softgrasp.errors import SimulationError
from softgrasp.io.files import report_progress
from softgrasp.mechanics.transforms import Array
from softgrasp.model.scene import CompiledScene, StartParameters
from softgrasp.pipeline import compile_scene
from softgrasp.sim.control_state import caught_warnings
from softgrasp.sim.grasp_run import ClosureRun
from softgrasp.sim.hold_test import gravity_steps
from softgrasp.sim.step_refinement import lagging_as_described

Runner = Callable[[], tuple[float, Array]]
"""Runs a closure once and returns its CPU time [s] and the final positions, (nq,)."""


@dataclass(frozen=True, kw_only=True)
class ClosureSpeed:
    """Speed of one closure in physics steps per second; medians over alternating rounds."""

    steps: int
    """Physics steps of the closure."""
    rounds: int
    raw_steps_s: float
    """Without a controller [1/s]."""
    plain_steps_s: float
    """Closed loop, events recorded [1/s]."""
    plain_ratio: float
    """Closed-loop speed over raw speed: median of the ratios of each round [–]."""
    bit_equal: bool
    """Whether both end in the same positions, bit for bit."""
    events: int
    """Contact events that the closed loop recorded."""
    contacts_at_end: int
    """Contacts in the engine after the last step."""


def closure_speed(scene: GraspScene, rounds: int = 25) -> ClosureSpeed:
    """Measure the closed loop of a scene, without building and hold test.

    Args:
        scene: A scene with servo joints and one friction coefficient: only such a run can be
            repeated from its controls.
        rounds: Number of rounds.

    Raises:
        SimulationError: The scene cannot be repeated from its controls.
        BuildError: The scene makes no model that can be simulated.
    """
    built = compile_scene(scene)
    _refuse_other_scenes(built)
    with caught_warnings():
        reference = ClosureRun(built)
        reference.stiffness.history = []
        reference.close()
        raw = OpenLoop(reference)
        runners: dict[str, Runner] = {"raw": raw, "plain": partial(_closed_loop, built)}
        times, ends = _alternate(runners, rounds)
    ratios = [before / after for before, after in zip(times["raw"], times["plain"], strict=True)]
    return ClosureSpeed(
        steps=raw.steps,
        rounds=rounds,
        raw_steps_s=raw.steps / median(times["raw"]),
        plain_steps_s=raw.steps / median(times["plain"]),
        plain_ratio=median(ratios),
        bit_equal=len(ends) == 1,
        events=len(reference.events),
        contacts_at_end=int(reference.data.ncon),
    )


def _refuse_other_scenes(built: CompiledScene) -> None:
    scene = built.scene
    if scene.actuation != "servo":
        raise SimulationError(f"actuation: expected 'servo', found '{scene.actuation}'")
    if built.switching:
        raise SimulationError(
            f"contact: expected one coefficient of friction, found static "
            f"{built.contact.static_friction:g} and dynamic {built.contact.kinetic_friction:g}"
        )


def _alternate(
    runners: dict[str, Runner], rounds: int
) -> tuple[dict[str, list[float]], set[bytes]]:
    """Run all variants in every round; return their times and distinct final positions."""
    ends = {runner()[1].tobytes() for runner in runners.values()}  # warm up the caches
    times: dict[str, list[float]] = {name: [] for name in runners}
    for done in range(rounds):
        report_progress(f"round {done + 1} of {rounds}", done / rounds)
        for name, runner in runners.items():
            seconds, end = runner()
            times[name].append(seconds)
            ends.add(end.tobytes())
    return times, ends


def _closed_loop(built: CompiledScene) -> tuple[float, Array]:
    run = ClosureRun(built)
    begin = time.process_time()
    run.close()
    return time.process_time() - begin, run.data.qpos.copy()


class OpenLoop:
    """Repeats the physics of a finished run from its recorded controls, loads and corrections."""

    def __init__(self, run: ClosureRun) -> None:
        """Prepare the chunks of steps with one time step, one stiffness and one gravity.

        Args:
            run: A finished run, without phases after its hold test, that recorded the history of
                the parameters of its model.
        """
        self._model, self._data = run.model, mujoco.MjData(run.model)
        # the control of the last row was set after the last step
        count = run.recording.rows - 1
        gravity, history = _gravity(run, count), run.stiffness.history or []
        changes = np.flatnonzero((np.diff(gravity, axis=0) != 0.0).any(axis=1)) + 1
        ends = sorted({*(row for row, _ in history), *changes.tolist(), count} - {0})
        self._chunks: list[tuple[StartParameters, Array]] = []
        """Parameters of the model and targets, step by step."""
        now = run.built.start
        bias = lagging_as_described(run.model, now.actuator_biasprm, now.timestep)
        now = now._replace(actuator_biasprm=bias)
        for begin, end in zip([0, *ends], ends, strict=False):
            for row, values in history:
                now = now._replace(**values) if row == begin else now
            now = now._replace(gravity=gravity[begin])
            substeps = round(run.layout.control_period / now.timestep)
            controls = np.repeat(run.recording.control[begin:end], substeps, axis=0)
            self._chunks.append((now, controls))
        self._kind = mujoco.mjtState.mjSTATE_FULLPHYSICS
        self._rollout = Rollout(nthread=0).rollout
        self._state = np.empty((1, mujoco.mj_stateSize(self._model, self._kind)))
        longest = max(len(controls) for _, controls in self._chunks)
        self._states = np.empty((1, longest, self._state.shape[1]))
        self._sensors = np.empty((1, longest, self._model.nsensordata))
        self.steps = sum(len(controls) for _, controls in self._chunks)
        """Number of physics steps."""

    def __call__(self) -> tuple[float, Array]:
        """Step all chunks; return the CPU time [s] and the final positions, (nq,)."""
        model, data = self._model, self._data
        mujoco.mj_resetDataKeyframe(model, data, 0)
        begin = time.process_time()
        for parameters, controls in self._chunks:
            parameters.write(model)
            mujoco.mj_getState(model, data, self._state[0], self._kind)
            steps = len(controls)
            self._rollout(
                [model], [data], self._state, controls[None], skip_checks=True, nstep=steps,
                initial_warmstart=data.qacc_warmstart[None].copy(), state=self._states[:, :steps],
                sensordata=self._sensors[:, :steps],
            )  # fmt: skip
        taken = time.process_time() - begin
        return taken, data.qpos.copy()


def _gravity(run: ClosureRun, count: int) -> Array:
    """Return the gravity at each of the first samples, with the ramp of the hold test, (n, 3)."""
    gravity, criterion = np.tile(run.scene.gravity, (count, 1)), run.scene.success
    if criterion is not None and run.hold_from is not None and criterion.gravity is not None:
        end = run.hold_from
        steps = gravity_steps(criterion, np.array(run.scene.gravity), run.scene.control_period)
        for samples, load in steps:
            gravity[end : end + samples] = load
            end += samples
    return gravity
