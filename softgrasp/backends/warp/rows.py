"""Rows of a sweep, computed as worlds of batches.

The device reduces each world to its summary; a row that is held, or that closed without a hold
test, is made of it. All other rows are computed again in MuJoCo: those whose outcome needs the
history of contacts, that diverged, or that had more contacts than there was memory for. The first
rows of every batch are repeated in MuJoCo as well, and compared (``RowCheck``). Rows of a family
need no model of their own, and those of MuJoCo are computed in all processes.
"""

from __future__ import annotations

import math
import os
import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import chain, repeat
from typing import TYPE_CHECKING, Any, NamedTuple, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from softgrasp.backends.warp.scenes import (
    Worlds,
    engine_version,
    groups,
    has_mesh,
    join,
    object_address,
    of_family,
    require_supported,
    require_supported_model,
    world,
)
from softgrasp.description import GraspScene, SweepPlan
from softgrasp.errors import DescriptionError, SoftgraspError, SoftgraspWarning
from softgrasp.evaluation import CREEP_FRACTION, OPPOSING_TOLERANCE, GraspStatus, Outcome, is_within
from softgrasp.mechanics import Array, relative_quaternions, rotation_angles
from softgrasp.plugin_api import (
    CompiledScene,
    ExtraOutputs,
    PlanFamilies,
    Rows,
    closing_obstacle,
    compile_scene,
    local_executor,
)
from softgrasp.quality import can_balance, smallest_singular_value
from softgrasp.sim import NO_LOAD
from softgrasp.sweeps import COLUMNS, Row

if TYPE_CHECKING:
    from softgrasp.backends.warp.worlds import Outcome as BatchOutcome

R = TypeVar("R")
BATCH_ROWS = 8192
"""Largest number of rows of a batch."""
CHECKED_ROWS = 2
"""Rows of every batch that are repeated in MuJoCo."""
MESHES = "SOFTGRASP_WARP_MESHES"
"""Environment variable, 1 for rows with meshes in Warp, too."""
WITHOUT_MESHES = (
    "MuJoCo computes the rows whose object is a mesh: in Warp a step of meshes takes 60 to 200 "
    f"times as long as one of spheres and boxes; {MESHES}=1 computes them there"
)
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

    def __init__(
        self, plan: SweepPlan, extra: ExtraOutputs | None = None, workers: int = 1
    ) -> None:
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
        self._plan, self._workers = plan, workers
        self._rows, self._families = Rows(plan), PlanFamilies(plan, exact=False)
        self._reported = False
        self.checks: list[RowCheck] = []
        """Rows that were repeated in MuJoCo."""
        self.repeated: list[int] = []
        """Rows that were computed in MuJoCo because the summary of the device did not suffice."""

    def __enter__(self) -> Self:
        """Do nothing."""
        return self

    def __exit__(self, *error: object) -> None:
        """Do nothing."""

    def run(self, chunks: Sequence[tuple[int, ...]]) -> Iterator[list[Row]]:
        """Simulate batch by batch and yield the finished rows, then those of MuJoCo."""
        rows = [row for chunk in chunks for row in chunk]
        others: list[int] = []
        checked: dict[int, Row] = {}
        for start in range(0, len(rows), BATCH_ROWS):
            for finished in self._batch(rows[start : start + BATCH_ROWS], others):
                checked |= {row["row"]: row for row in finished[:CHECKED_ROWS]}
                yield finished
        self.repeated += others
        again = [*checked, *others]
        with local_executor(self._plan, self._workers, len(again)) as pool:
            for row in chain.from_iterable(pool.run([(number,) for number in again])):
                if row["row"] in checked:
                    self._check(checked[row["row"]], row)
                else:
                    yield [row]

    def submit(self, function: Callable[..., R], *arguments: Any) -> Callable[[], R]:
        """Return a function that runs another one; see ``executors.Submit``."""
        return partial(function, *arguments)

    @property
    def report(self) -> dict[str, Any]:
        """Comparison with the rows that were repeated in MuJoCo, as plain data."""
        flips = [check.row for check in self.checks if check.outcome != check.outcome_in_mujoco]
        largest = {
            name: max((abs(check.differences[name]) for check in self.checks
                       if name in check.differences), default=None)
            for name in COMPARED
        }  # fmt: skip
        return {
            "engine": f"mujoco-warp {engine_version()}",
            "checked": [check._asdict() for check in self.checks],
            "flips": flips,
            "largest_differences": largest,
            "computed_in_mujoco": sorted(self.repeated),
        }

    def _batch(self, rows: Sequence[int], others: list[int]) -> Iterator[list[Row]]:
        """Yield rows that were simulated together; for the arguments see ``worlds``."""
        from softgrasp.backends.warp.worlds import WorldBatch

        begin = time.perf_counter()
        for worlds, numbers in self.worlds(rows, others):
            build = time.perf_counter() - begin
            batch = WorldBatch(worlds)
            batch.run()
            computed = rows_of(worlds, batch.outcome())
            times = {
                "wall_time_s": (time.perf_counter() - begin) / worlds.size,
                "wall_build_s": build / worlds.size,
            }
            pairs = list(zip(numbers, computed, strict=True))
            others += [number for number, columns in pairs if columns is None]
            yield [
                self._rows.inputs(number) | columns | times
                for number, columns in pairs
                if columns is not None
            ]
            begin = time.perf_counter()

    def worlds(self, rows: Sequence[int], others: list[int]) -> Iterator[tuple[Worlds, list[int]]]:
        """Yield worlds of one structure with the numbers of their rows.

        Args:
            rows: Numbers of the rows.
            others: Filled with those that MuJoCo has to compute.
        """
        parts: list[tuple[Worlds, list[int]]] = []
        families, alone = self._families.divided(rows)
        for family, members, numbers in families:
            # a hand that closes with some friction closes with more
            friction = family.contact["static_friction"][members]
            lowest, largest = (members[int(pick(friction))] for pick in (np.argmin, np.argmax))
            if self._accepted(family.compiled(lowest)):
                parts.append((of_family(family, members), numbers))
            elif self._accepted(family.compiled(largest)):
                alone += numbers
            else:
                others += numbers
        for row in alone:
            built = self._accepted(self._rows.scene(row))
            if built is None:
                others.append(row)
            else:
                parts.append((world(built), [row]))
        for indices in groups([item.base for item, _ in parts]):
            yield (
                join([parts[index][0] for index in indices]),
                [row for index in indices for row in parts[index][1]],
            )

    def _accepted(self, scene: GraspScene | CompiledScene | Exception) -> CompiledScene | None:
        """Compile a scene; None where MuJoCo has to compute its row, or say what is wrong."""
        if isinstance(scene, Exception):
            return None
        try:
            require_supported(scene if isinstance(scene, GraspScene) else scene.scene)
            with warnings.catch_warnings():
                warnings.simplefilter("error")  # a warning has to be counted in its row
                built = compile_scene(scene)
            require_supported_model(built)
        except (SoftgraspError, Warning):  # the row that MuJoCo computes has the reason
            return None
        if has_mesh(built.model) and os.environ.get(MESHES, "0") == "0":
            if not self._reported:
                warnings.warn(WITHOUT_MESHES, SoftgraspWarning, stacklevel=2)
            self._reported = True
            return None
        return None if built.resolved.warnings or closing_obstacle(built) else built

    def _check(self, ours: Row, theirs: Row) -> None:
        differences = {
            name: float(ours[name] - theirs[name])
            for name in COMPARED
            if ours[name] is not None and theirs[name] is not None
        }
        outcomes = (str(ours["outcome"]), str(theirs["outcome"]))
        self.checks.append(RowCheck(int(ours["row"]), *outcomes, differences))


def rows_of(worlds: Worlds, outcome: BatchOutcome) -> list[Row | None]:
    """Return the columns of worlds that were simulated, without inputs and times.

    Returns:
        Rows in the order of the scenes; None where MuJoCo has to compute one.
    """
    return _WorldRows(worlds, outcome).rows()


class _WorldRows:
    """Columns of nw worlds; a row needs an object that is in the hand at the end."""

    def __init__(self, worlds: Worlds, outcome: BatchOutcome) -> None:
        self._worlds, self._scene = worlds, worlds.base.scene
        self._loop, self._summary = outcome.loop, outcome.summary
        self._valid = outcome.is_valid
        self._period = self._scene.control_period
        summary, first = outcome.summary, object_address(worlds.base.model)
        pose = slice(first, first + 7)
        self._start = worlds.numbers["start"][:, pose]
        self._closed = summary["closed_qpos"][:, pose].astype(float)
        self._end = summary["final_qpos"][:, pose].astype(float)
        self._touching = outcome.loop["active"] > 0

    def rows(self) -> list[Row | None]:
        """Return the columns; None where the outcome is neither HELD nor CLOSED."""
        success, hold, size = self._scene.success, self._hold(), self._worlds.size
        in_hand = self._is_gripped() if success is None else self._is_held(hold)
        decided = in_hand & self._touching.any(axis=1) & (self._loop["idle"] != 0) & self._valid
        closed = Outcome.CLOSED if success is None else Outcome.HELD
        columns = dict.fromkeys(COLUMNS) | {
            "status": GraspStatus.CLOSED.name,
            "outcome": closed.name,
            "held": None if success is None else True,
            "error": "",
            "simulated_time_s": self._loop["end_row"] * self._period,
            **self._contacts(),
            **self._motion(),
            **({} if success is None else hold),
            "timestep_s": float(self._worlds.base.model.opt.timestep),
            "warnings": 0,
            "warning_texts": "",
            "trajectory_sha256": "",
        }
        listed = [_list(values, size) for values in columns.values()]
        return [
            dict(zip(columns, values, strict=True)) if is_decided else None
            for is_decided, *values in zip(decided.tolist(), *listed, strict=True)
        ]

    def _hold(self) -> dict[str, Any]:
        summary, success = self._summary, self._scene.success
        late = 0.0 if success is None else CREEP_FRACTION * success.hold_time
        moved = np.linalg.norm(self._end[:, :3] - summary["late_position"], axis=1)
        return {
            "hold_drop_m": summary["drop"],
            "hold_hand_fraction": 1.0,  # the backend has neither surroundings nor mounts
            "hold_sag_m": 0.0,
            "hold_rotation_rad": summary["rotation"],
            "hold_creep_m_s": moved / late if late else np.zeros(len(moved)),
        }

    def _is_held(self, hold: dict[str, Any]) -> NDArray[np.bool_]:
        success = self._scene.success
        assert success is not None
        if math.hypot(*(success.gravity or (0.0,))) < NO_LOAD:
            return np.zeros(self._worlds.size, dtype=bool)
        names = ("hold_drop_m", "hold_rotation_rad", "hold_creep_m_s")
        lifted, contacts = self._end[:, 2] - self._closed[:, 2], self._touching.sum(axis=1)
        numbers = (*(hold[name] for name in names), lifted, contacts)
        return np.array([
            is_within(
                success, drop=drop, rotation=rotation, creep=creep, lifted=rise, contacts=count
            )
            for drop, rotation, creep, rise, count in zip(*map(np.ndarray.tolist, numbers),
                                                          strict=True)
        ])  # fmt: skip

    def _is_gripped(self) -> NDArray[np.bool_]:
        normals = self._summary["closed_normal"]
        lengths = np.linalg.norm(normals, axis=-1, keepdims=True)
        directions = normals / np.maximum(lengths, 1e-12)
        pressed = self._touching & (lengths[..., 0] > 0.0)
        frictions = self._worlds.numbers["friction"].tolist()
        return np.array([
            can_balance(direction[chosen], friction, OPPOSING_TOLERANCE)
            for direction, chosen, friction in zip(directions, pressed, frictions, strict=True)
        ])  # fmt: skip

    def _contacts(self) -> dict[str, Any]:
        summary, friction = self._summary, self._worlds.numbers["friction"][:, None]
        first, touch = summary["first_contact"], summary["first_touch"]
        earliest = np.where(touch < 0, np.iinfo(np.int32).max, touch).min(axis=1)
        force, depth = summary["body_force"], summary["pair_depth"]
        loaded, deep = force > 0.0, depth > 0.0
        with np.errstate(divide="ignore", invalid="ignore"):
            used = summary["body_friction"] / (friction * force)
            points = summary["body_point"] / force[..., None]
            stiffness = summary["pair_force"] / depth
        margin = 1.0 - np.where(loaded, used, -np.inf).max(axis=1)
        softest = np.where(deep, stiffness, np.inf).min(axis=1)
        stiffest = np.where(deep, stiffness, -np.inf).max(axis=1)
        return {
            "first_touch_s": _optional(earliest * self._period, (touch >= 0).any(axis=1)),
            "all_established_s": _optional(
                first.max(axis=1) * self._period, (first >= 0).any(axis=1)
            ),
            "contacts": self._touching.sum(axis=1),
            "contacts_lost": summary["losses"].sum(axis=1),
            "contact_order": [self._order(rows) for rows in first.tolist()],
            "largest_force_N": summary["peak"],
            "final_force_N": summary["force"].sum(axis=1),
            "quality_friction_margin": _optional(
                margin, loaded.any(axis=1) & (friction[:, 0] > 0.0)
            ),
            "quality_min_singular": smallest_singular_value(points, self._end[:, :3], loaded),
            "stiffness_min_N_m": _optional(softest, deep.any(axis=1)),
            "stiffness_max_N_m": _optional(stiffest, deep.any(axis=1)),
        }

    def _order(self, rows: Sequence[int]) -> str:
        """Return the bodies in the order of their first contact, −1 without one."""
        pairs = sorted(zip(rows, self._worlds.base.bodies, strict=True))
        return ">".join(body for row, body in pairs if row >= 0)

    def _motion(self) -> dict[str, Any]:
        moved = self._end[:, :3] - self._start[:, :3]
        relative = relative_quaternions(self._end[:, 3:], self._start[:, 3:])
        return {
            "displacement_m": np.linalg.norm(moved, axis=1),
            **{f"displacement_{a}_m": v for a, v in zip("xyz", moved.T, strict=True)},
            "rotation_rad": rotation_angles(relative),
            **{f"final_{a}_m": v for a, v in zip("xyz", self._end[:, :3].T, strict=True)},
            **{f"final_q{a}": v for a, v in zip("wxyz", self._end[:, 3:].T, strict=True)},
        }


def _optional(values: Array, known: Any) -> list[Any]:
    """Return values as a list, with None where there is none."""
    return [value if there else None for value, there in zip(values.tolist(), known, strict=True)]


def _list(values: Any, size: int) -> Iterable[Any]:
    """Return the values of a column as plain data, one a row."""
    if isinstance(values, np.ndarray):
        values = values.tolist()
    return values if isinstance(values, list) else repeat(values, size)
