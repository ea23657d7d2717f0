"""MuJoCo: a scene → a finished run → a result."""

from __future__ import annotations

import time
import warnings

from softgrasp.description.scene import GraspScene
from softgrasp.errors import SoftgraspError
from softgrasp.model.scene import build
from softgrasp.simulation.closure_run import ClosureRun, Progress
from softgrasp.simulation.interrupt import Interrupted
from softgrasp.simulation.result import GraspResult
from softgrasp.simulation.run_result import result_of


def run_mujoco(
    scene: GraspScene, progress: Progress | None = None, quality_rate: float | None = None
) -> GraspResult:
    """Simulate a scene in MuJoCo.

    Args:
        scene: What to simulate.
        progress: Called with the simulated time [s] now and then.
        quality_rate: As ``result_of``.

    Raises:
        BuildError: The scene makes no model that can be simulated.
        Interrupted: The user stopped the run; it holds the finished part.
    """
    begin = time.perf_counter()
    caught: list[warnings.WarningMessage] = []
    try:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            run = ClosureRun(build(scene), progress)
            stopped = _ran_until_stopped(run)
    except SoftgraspError:
        for warning in caught:  # there is no result to keep them, and they may say what is wrong
            warnings.warn(warning.message, stacklevel=2)
        raise
    messages = [str(warning.message) for warning in caught]
    taken = time.perf_counter() - begin
    if not stopped:
        return result_of(run, messages, taken, quality_rate=quality_rate)
    interrupted = f"interrupted by the user at {run.now:.3f} s"
    raise Interrupted(result_of(run, messages, taken, interrupted, quality_rate))


def _ran_until_stopped(run: ClosureRun) -> bool:
    """Run; True where the user stopped it before its end."""
    try:
        run.run()
    except KeyboardInterrupt:
        if run.recording.rows == 0:
            raise
        return True
    return False
