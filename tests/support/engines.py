"""An engine for tests that compare engines: MuJoCo with another scene."""

from collections.abc import Callable

import softgrasp as sg
from softgrasp.model.scene import CompiledScene, build
from softgrasp.resolution.resolve import resolve
from softgrasp.sim.engines import MujocoEngine
from softgrasp.sim.grasp_run import ClosureRun, Progress

Change = Callable[[sg.GraspScene], sg.GraspScene]


class ChangedEngine(MujocoEngine):
    """MuJoCo that runs a changed scene."""

    def __init__(self, change: Change) -> None:
        super().__init__()
        self._change = change

    def run(self, built: CompiledScene, progress: Progress | None = None) -> ClosureRun:
        return super().run(build(resolve(self._change(built.resolved.described))), progress)
