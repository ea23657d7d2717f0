"""Many scenes simulated one after the other, or in batches where they can share one."""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import chain
from typing import NamedTuple

from softgrasp.description.scene import GraspScene
from softgrasp.errors import SoftgraspError
from softgrasp.model.scene import BuiltScene, build
from softgrasp.simulation.batch import can_be_batched, run_batch, topology, unload
from softgrasp.simulation.closure_run import ClosureRun
from softgrasp.simulation.finished_run import FinishedRun
from softgrasp.simulation.native import NativeStepper
from softgrasp.simulation.result import GraspResult
from softgrasp.simulation.run_result import result_of
from softgrasp.simulation.workspace import Workspace

WORTHWHILE = 4
"""Grasps for which a batch pays."""


class BatchItem(NamedTuple):
    """What became of one scene of many."""

    result: GraspResult | Exception
    """The error where there is no result."""
    build_time: float = 0.0
    """Wall time that its model took, files and cutting into convex parts included [s]."""


@dataclass
class _Built:
    """A scene on its way to its result."""

    scene: BuiltScene
    build_warnings: list[str]
    taken: float


class BatchRunner:
    """Simulates scenes with what one batch can take over from another."""

    def __init__(self, *, compiled: bool, quality_rate: float | None = None) -> None:
        """Simulate nothing yet.

        Args:
            compiled: Whether to run grasps one by one in compiled code, which is faster than a
                batch where there are enough of them to load it.
            quality_rate: As ``result_of``.
        """
        self._workspace, self._compiled = Workspace(), compiled
        self._quality_rate = quality_rate

    def simulate(self, scenes: Iterable[GraspScene | Exception]) -> Iterator[BatchItem]:
        """Simulate scenes.

        Args:
            scenes: Scenes; what is an error stays one.

        Yields:
            For every scene, in their order, its result, the same that it has alone bit for bit, or
            the error that there is instead.
        """
        built = [scene if isinstance(scene, Exception) else _built(scene) for scene in scenes]
        done = {} if self._compiled else self._batched(built)
        for index, one in enumerate(built):
            if index in done:
                yield done[index]
            elif isinstance(one, _Built):
                yield BatchItem(self._alone(one), one.taken)
            else:
                yield BatchItem(one)

    def _batched(self, built: list[_Built | Exception]) -> dict[int, BatchItem]:
        """Scenes that were simulated side by side, by their places."""
        groups: dict[object, dict[int, _Built]] = {}
        for index, one in enumerate(built):
            if isinstance(one, _Built) and can_be_batched(one.scene):
                groups.setdefault(topology(one.scene), {})[index] = one
        done: dict[int, BatchItem] = {}
        for group in groups.values():
            if len(group) >= WORTHWHILE:
                done |= dict(zip(group, self._in_batch(list(group.values())), strict=True))
        return done

    def _in_batch(self, group: list[_Built]) -> Iterator[BatchItem]:
        begin = time.perf_counter()
        runs = run_batch([one.scene for one in group], workspace=self._workspace)
        try:
            first = next(runs)
        except (ValueError, RuntimeError):  # MuJoCo refuses their models, or the batch itself
            for one in group:
                unload(one.scene)
                yield BatchItem(self._alone(one), one.taken)
            return
        time_per_grasp = (time.perf_counter() - begin) / len(group)  # they have all run by now
        for one, run in zip(group, chain([first], runs), strict=True):
            yield BatchItem(self._result(run, one, time_per_grasp), one.taken)

    def _result(self, run: FinishedRun, one: _Built, taken: float) -> GraspResult:
        return result_of(
            run, one.build_warnings, one.taken + taken, quality_rate=self._quality_rate
        )

    def _alone(self, one: _Built) -> GraspResult | Exception:
        begin = time.perf_counter()
        try:
            kind = NativeStepper if self._compiled else None
            run = ClosureRun(one.scene, stepper=kind, workspace=self._workspace)
            run.run()
            return self._result(run, one, time.perf_counter() - begin)
        except Exception as error:  # noqa: BLE001 - one bad grasp does not end the others
            return error


def _built(scene: GraspScene) -> _Built | Exception:
    begin = time.perf_counter()
    try:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            built = build(scene)
    except SoftgraspError as error:
        return error
    except Exception as error:  # noqa: BLE001 - one bad grasp does not end the others
        return error
    messages = [str(warning.message) for warning in caught]
    return _Built(built, messages, time.perf_counter() - begin)
