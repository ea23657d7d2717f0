"""Speed of the closed loop against the same physics without a controller.

Raw speed is that of ``mujoco.rollout`` on one thread: the same compiled model, from the same start
state, with the controls that the closed loop has recorded, for as many steps. Both run alternately,
so that other load on the machine slows them alike.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from statistics import median

import mujoco
import numpy as np
from mujoco import rollout

from softgrasp.description.scene import GraspScene
from softgrasp.errors import SimulationError
from softgrasp.io.files import report_progress
from softgrasp.mechanics.transforms import Array
from softgrasp.model.scene import BuiltScene, build
from softgrasp.sim.engine import caught_warnings
from softgrasp.sim.grasp_run import ClosureRun

Runner = Callable[[], tuple[float, Array]]
"""Runs a closure once and returns its wall time [s] and the final positions, (nq,)."""


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
    """Measure the closure of a scene; building and the hold test are left out.

    Args:
        scene: A scene with servo joints and one friction coefficient: only such a run can be
            repeated from its controls.
        rounds: Number of rounds.

    Raises:
        SimulationError: The scene cannot be repeated from its controls.
        BuildError: The scene makes no model that can be simulated.
    """
    built = build(scene)
    _refuse_other_scenes(built)
    with caught_warnings():
        reference = ClosureRun(built)
        reference.stiffness.history = []
        reference.close()
        raw = _OpenLoop(reference, built.pair_solref)
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


def _refuse_other_scenes(built: BuiltScene) -> None:
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


def _closed_loop(built: BuiltScene) -> tuple[float, Array]:
    run = ClosureRun(built)
    begin = time.perf_counter()
    run.close()
    return time.perf_counter() - begin, run.data.qpos.copy()


class _OpenLoop:
    """Repeats the physics of a finished closure from its recorded controls and corrections."""

    def __init__(self, run: ClosureRun, start: Array) -> None:
        """Prepare the chunks between two corrections of the stiffness.

        Args:
            run: A finished run that recorded the history of its corrections.
            start: ``pair_solref`` at its start.
        """
        self._model, self._data = run.model, mujoco.MjData(run.model)
        # the control of the last row was set after the last step
        controls = run.recording.control[: run.recording.rows - 1]
        history = run.stiffness.history or []
        ends = [row for row, _ in history]
        parts = [np.repeat(part, run.layout.substeps, axis=0) for part in np.split(controls, ends)]
        self._chunks = list(zip([start, *(after for _, after in history)], parts, strict=True))
        self._kind = mujoco.mjtState.mjSTATE_FULLPHYSICS
        self._state = np.empty(mujoco.mj_stateSize(self._model, self._kind))
        self.steps = sum(len(part) for part in parts)
        """Number of physics steps."""

    def __call__(self) -> tuple[float, Array]:
        model, data = self._model, self._data
        mujoco.mj_resetDataKeyframe(model, data, 0)
        begin = time.perf_counter()
        for solref, controls in self._chunks:
            if len(controls):
                model.pair_solref[:] = solref
                mujoco.mj_getState(model, data, self._state, self._kind)
                warm = data.qacc_warmstart.copy()
                rollout.rollout(model, data, self._state, controls, initial_warmstart=warm)
        return time.perf_counter() - begin, data.qpos.copy()
