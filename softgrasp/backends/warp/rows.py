"""Rows of a sweep, computed as worlds of batches.

The device reduces each world to its summary; a row that is held, or that closed without a hold
test, is made of it. All other rows are computed again in MuJoCo: those whose outcome needs the
history of contacts, that diverged, or that had more contacts than there was memory for. The first
rows of every batch are repeated in MuJoCo as well, and compared (``RowCheck``).
"""

from __future__ import annotations

import math
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any, NamedTuple, Self, TypeVar

import numpy as np

from softgrasp.backends.warp.scenes import (
    engine_version,
    groups,
    object_address,
    require_supported,
    require_supported_model,
)
from softgrasp.description import SweepPlan
from softgrasp.errors import DescriptionError, SoftgraspError
from softgrasp.evaluation import OPPOSING_TOLERANCE, GraspStatus, Outcome, is_within
from softgrasp.mechanics import Array, relative_quaternions, rotation_angles
from softgrasp.plugin_api import (
    Chunk,
    CompiledScene,
    ExtraOutputs,
    PlanFamilies,
    Rows,
    closing_obstacle,
    compile_scene,
)
from softgrasp.quality import can_balance, smallest_singular_value
from softgrasp.sim import NO_LOAD
from softgrasp.sweeps import COLUMNS, Row

R = TypeVar("R")
BATCH_ROWS = 2048
"""Largest number of worlds of a batch."""
CHECKED_ROWS = 2
"""Rows of every batch that are repeated in MuJoCo."""
COMPARED = ("displacement_m", "rotation_rad", "final_force_N", "largest_force_N", "hold_drop_m")
"""Columns of which the differences are recorded."""


class RowCheck(NamedTuple):
    """A row that was repeated in MuJoCo."""

    row: int
    outcome: str
    outcome_in_mujoco: str
    differences: dict[str, float]
    """Value less that of MuJoCo, by column."""


class WarpRows:
    """Executor of a sweep in MuJoCo Warp."""

    def __init__(self, plan: SweepPlan, extra: ExtraOutputs | None = None) -> None:
        """Store the plan.

        Raises:
            BackendUnavailable: MuJoCo Warp is not installed.
            BuildError: The plan's scene has a feature that the backend lacks.
            DescriptionError: The plan has a column of quality, or trajectories or a dataset are
                requested, which the backend lacks.
        """
        self.engine = f"{engine_version()} (Warp)"
        require_supported(plan.scene)
        if plan.quality:
            raise DescriptionError("the executor warp computes no ε; use local", field="quality")
        if extra is not None:
            raise DescriptionError(
                "the executor warp writes no trajectories and datasets; use local", field="executor"
            )
        self._rows, self._families = Rows(plan), PlanFamilies(plan, exact=False)
        self.checks: list[RowCheck] = []
        """Rows that were repeated in MuJoCo."""
        self.repeated: list[int] = []
        """Rows that were computed in MuJoCo because the summary of the device did not suffice."""

    def __enter__(self) -> Self:
        """Do nothing."""
        return self

    def __exit__(self, *error: object) -> None:
        """Do nothing."""

    def run(self, chunks: Sequence[Chunk]) -> Iterator[list[Row]]:
        """Simulate batch by batch and yield the finished rows."""
        rows = [row for chunk in chunks for row in chunk]
        for start in range(0, len(rows), BATCH_ROWS):
            yield from self._batch(rows[start : start + BATCH_ROWS])

    def submit(self, function: Callable[..., R], *arguments: Any) -> Callable[[], R]:
        """Return a function that runs another one; see ``executors.Submit``."""
        return partial(function, *arguments)

    @property
    def report(self) -> dict[str, Any]:
        """Return what was repeated in MuJoCo, as plain data."""
        flips = [one.row for one in self.checks if one.outcome != one.outcome_in_mujoco]
        largest = {
            name: max((abs(one.differences[name]) for one in self.checks
                       if name in one.differences), default=None)
            for name in COMPARED
        }  # fmt: skip
        return {
            "engine": f"mujoco-warp {engine_version()}",
            "checked": [one._asdict() for one in self.checks],
            "flips": flips,
            "largest_differences": largest,
            "computed_in_mujoco": sorted(self.repeated),
        }

    def _batch(self, rows: Sequence[int]) -> Iterator[list[Row]]:
        built: list[CompiledScene] = []
        numbers: list[int] = []
        others: list[int] = []
        for row in rows:
            one = self._built(row)
            if one is None:
                others.append(row)
            else:
                built.append(one)
                numbers.append(row)
        for members in groups(built):
            begin = time.perf_counter()
            computed = summarised_rows([built[index] for index in members])
            taken = (time.perf_counter() - begin) / len(members)
            finished = []
            for index, columns in zip(members, computed, strict=True):
                if columns is None:
                    others.append(numbers[index])
                    continue
                timed = {"wall_time_s": taken, "wall_build_s": 0.0}
                finished.append(self._rows.inputs(numbers[index]) | columns | timed)
            self._check(finished[:CHECKED_ROWS])
            yield finished
        self.repeated += others
        for number in others:
            yield self._rows.compute([number])

    def _built(self, row: int) -> CompiledScene | None:
        """Build the scene of a row; None where MuJoCo has to compute it, or say what is wrong."""
        built = self._families.compiled(row)
        scene = self._rows.scene(row) if built is None else built.scene
        if isinstance(scene, Exception) or (built and built.resolved.warnings):
            return None
        try:
            require_supported(scene)
            with warnings.catch_warnings():
                warnings.simplefilter("error")  # a warning has to be counted in its row
                built = compile_scene(scene if built is None else built)
            require_supported_model(built)
        except (SoftgraspError, Warning):  # the row that MuJoCo computes has the reason
            return None
        return None if closing_obstacle(built) else built

    def _check(self, rows: Sequence[Row]) -> None:
        for ours in rows:
            theirs = self._rows.compute([ours["row"]])[0]
            differences = {
                name: float(ours[name] - theirs[name])
                for name in COMPARED
                if ours[name] is not None and theirs[name] is not None
            }
            outcomes = (str(ours["outcome"]), str(theirs["outcome"]))
            self.checks.append(RowCheck(int(ours["row"]), *outcomes, differences))


def summarised_rows(built: Sequence[CompiledScene], device: str | None = None) -> list[Row | None]:
    """Simulate scenes of one structure and return the columns of each, without inputs and times.

    Args:
        built: The scenes.
        device: Device of Warp; see ``worlds.default_device``.

    Returns:
        Rows in the order of the scenes; None where MuJoCo has to compute one.
    """
    from softgrasp.backends.warp.worlds import WorldBatch

    batch = WorldBatch(built, device=device)
    batch.run()
    outcome = batch.outcome()
    return [
        None
        if outcome.overflow(world) or outcome.diverged(world)
        else _WorldRow(one, outcome.loop, outcome.summary, world).row()
        for world, one in enumerate(built)
    ]


class _WorldRow:
    """Columns of a world whose object is in the hand at the end."""

    def __init__(
        self, built: CompiledScene, loop: dict[str, Array], summary: dict[str, Array], world: int
    ) -> None:
        self._built, self._period = built, built.scene.control_period
        self._loop = {name: values[world] for name, values in loop.items()}
        self._summary = {name: values[world] for name, values in summary.items()}
        first = object_address(built.model)
        self._start = built.model.key_qpos[0][first : first + 7]
        self._closed = self._summary["closed_qpos"][first : first + 7].astype(float)
        self._end = self._summary["final_qpos"][first : first + 7].astype(float)
        self._touching = self._loop["active"] > 0

    def row(self) -> Row | None:
        """Return the columns; None where the outcome is neither HELD nor CLOSED."""
        success, hold = self._built.scene.success, self._hold()
        if not self._touching.any() or self._loop["idle"] == 0:
            return None
        if success is None:
            if not self._is_gripped():
                return None
        elif math.hypot(*(success.gravity or (0.0,))) < NO_LOAD or not self._is_held(hold):
            return None
        closed = Outcome.CLOSED if success is None else Outcome.HELD
        return dict.fromkeys(COLUMNS) | {
            "status": GraspStatus.CLOSED.name,
            "outcome": closed.name,
            "held": None if success is None else True,
            "error": "",
            "simulated_time_s": float(self._loop["end_row"] * self._period),
            **self._contacts(),
            **self._motion(),
            **({} if success is None else hold),
            "timestep_s": float(self._built.model.opt.timestep),
            "warnings": 0,
            "warning_texts": "",
            "trajectory_sha256": "",
        }

    def _hold(self) -> Row:
        summary, success = self._summary, self._built.scene.success
        late = 0.0 if success is None else 0.25 * success.hold_time
        moved = np.linalg.norm(self._end[:3] - summary["late_position"])
        return {
            "hold_drop_m": float(summary["drop"]),
            "hold_hand_fraction": 1.0,  # the backend has neither surroundings nor mounts
            "hold_sag_m": 0.0,
            "hold_rotation_rad": float(summary["rotation"]),
            "hold_creep_m_s": float(moved) / late if late else 0.0,
        }

    def _is_held(self, hold: Row) -> bool:
        success = self._built.scene.success
        assert success is not None
        return is_within(
            success, drop=hold["hold_drop_m"], rotation=hold["hold_rotation_rad"],
            creep=hold["hold_creep_m_s"], lifted=float(self._end[2] - self._closed[2]),
            contacts=int(self._touching.sum()),
        )  # fmt: skip

    def _is_gripped(self) -> bool:
        if self._built.scene.object_mount == "fixed":
            return True
        normals = self._summary["closed_normal"][self._touching]
        lengths = np.linalg.norm(normals, axis=1, keepdims=True)
        friction = self._built.contact.static_friction
        directions = (normals / np.maximum(lengths, 1e-12))[lengths[:, 0] > 0.0]
        return bool(can_balance(directions, friction, OPPOSING_TOLERANCE))

    def _contacts(self) -> Row:
        summary, bodies = self._summary, self._built.bodies
        first = {body: int(row) for body, row in zip(bodies, summary["first_contact"], strict=True)}
        established = {body: row for body, row in first.items() if row >= 0}
        touches = summary["first_touch"][summary["first_touch"] >= 0]
        force, point = summary["body_force"], summary["body_point"]
        loaded = force > 0.0
        limits = self._built.contact.static_friction * force[loaded]
        used = summary["body_friction"][loaded] / limits if limits.all() else np.zeros(0)
        points = point[loaded] / force[loaded, None]
        depths = summary["pair_depth"]
        stiffness = summary["pair_force"][depths > 0.0] / depths[depths > 0.0]
        last = max(established.values(), default=None)
        return {
            "first_touch_s": float(touches.min() * self._period) if touches.size else None,
            "all_established_s": None if last is None else last * self._period,
            "contacts": int(self._touching.sum()),
            "contacts_lost": int(summary["losses"].sum()),
            "contact_order": ">".join(
                sorted(established, key=lambda body: (established[body], body))
            ),
            "largest_force_N": float(summary["peak"]),
            "final_force_N": float(summary["force"].sum()),
            "quality_friction_margin": float(1.0 - used.max()) if used.size else None,
            "quality_min_singular": smallest_singular_value(points, self._end[:3]),
            "stiffness_min_N_m": float(stiffness.min()) if stiffness.size else None,
            "stiffness_max_N_m": float(stiffness.max()) if stiffness.size else None,
        }

    def _motion(self) -> Row:
        moved = (self._end[:3] - self._start[:3]).tolist()
        relative = relative_quaternions(self._end[3:], self._start[3:])
        return {
            "displacement_m": float(np.linalg.norm(moved)),
            **{f"displacement_{a}_m": v for a, v in zip("xyz", moved, strict=True)},
            "rotation_rad": float(rotation_angles(relative, np.array([1.0, 0.0, 0.0, 0.0]))),
            **{f"final_{a}_m": float(v) for a, v in zip("xyz", self._end[:3], strict=True)},
            **{f"final_q{a}": float(v) for a, v in zip("wxyz", self._end[3:], strict=True)},
        }
