"""The grasp planner: many hand poses around an object, closed and ranked.

Candidates are rows of a sweep, so workers, resuming and the table's columns are those of sweeps.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from scipy.spatial.transform import Rotation

from softgrasp._version import __version__
from softgrasp.description.scene import GraspScene
from softgrasp.description.sweep import PERTURBATION, Axis, GraspPlan, PoseSampling, SweepPlan
from softgrasp.errors import DescriptionError, ResultError, did_you_mean
from softgrasp.io.files import atomic_path, write_text
from softgrasp.mechanics.transforms import (
    Array,
    direction_in_cone,
    euler_from_quaternions,
    point_in_ball,
    position_of,
    quaternion_between,
    quaternion_of,
    transform,
)
from softgrasp.model.arm import toward_grasp
from softgrasp.model.pullback import PullBack
from softgrasp.model.scene import object_pose, on_its_table
from softgrasp.sweeps.parameters import scene_of_row
from softgrasp.sweeps.run import Progress, require_pandas, sweep
from softgrasp.sweeps.storage import COLUMNS, FAILED, plan_in
from softgrasp.sweeps.storage import PLAN as SWEEP_PLAN

if TYPE_CHECKING:
    import pandas as pd


PLAN, GRASPS = "grasp_plan.json", "grasps.csv"
POSE_COLUMNS: dict[str, str] = {
    "rank": "1 is the best; empty where the grasp has no score",
    "row": "number of the candidate",
    "score": "what it is ranked by; empty where it did not end CLOSED",
    "direction_x": "where the hand is, seen from the object, in the frame of the object [–]",
    "direction_y": "[–]",
    "direction_z": "[–]",
    "roll_rad": "turn of the hand about its approach [rad]",
    "offset_x_m": "of the object's centre from where the scene has it, in the hand's frame [m]",
    "offset_y_m": "[m]",
    "offset_z_m": "[m]",
    "pulled_back_m": "how far the hand was pulled back to stand clear of the object [m]; empty "
    "where no way led out",
    "preshape": "posture that it started from; empty where the scene's own",
}
"""Columns before those of sweeps, in this order, with their meaning."""


@dataclass(frozen=True, kw_only=True)
class PlannedGrasps:
    """What came out of a search for grasps."""

    plan: GraspPlan
    sweep_plan: SweepPlan
    """The sweep in which every candidate is a row."""
    table: pd.DataFrame
    """A row a candidate, the best first; columns ``POSE_COLUMNS``, then those of sweeps."""

    @property
    def ranked(self) -> int:
        """How many candidates have a score."""
        return int(self.table["rank"].notna().sum())

    @property
    def failed(self) -> int:
        """How many could not be simulated; ``error`` says why."""
        return int((self.table["status"] == FAILED).sum())

    @property
    def pulled_back(self) -> int:
        """How many would have started inside the hand and were pulled back."""
        return int((self.table["pulled_back_m"] > 0.0).sum())

    @property
    def best_rows(self) -> list[int]:
        """Numbers of the best candidates, ``plan.top`` at most, the best first."""
        count = min(self.plan.top, self.ranked)
        return [int(row) for row in self.table["row"].iloc[:count]]

    @cached_property
    def top(self) -> tuple[GraspScene, ...]:
        """Their scenes, ready to be simulated: with the same trajectories as in the table."""
        return tuple(self.scene(row) for row in self.best_rows)

    def scene(self, row: int) -> GraspScene:
        """The scene of a candidate by its number."""
        return scene_of_row(self.sweep_plan, row)

    def tested(self, row: int) -> GraspScene:
        """The same with what the plan's ``test`` asks of the grasp after it has closed."""
        scene, test = self.scene(row), self.plan.test
        return scene if test is None else scene.replace(success=test, lift=None)


def plan_grasps(
    plan: GraspPlan,
    out: str | Path | None = None,
    workers: int | None = None,
    progress: Progress | None = None,
) -> PlannedGrasps:
    """Try hand poses around an object, close the hand in each, and rank the grasps.

    Poses are drawn from the plan's seed; a hand that would stand in the object is pulled back
    along its approach. Whether the way to a pose is free is not asked. Nothing but columns with
    ``wall`` in their name depends on the number of workers.

    Args:
        plan: The plan.
        out: Folder for the plan, rows and tables; finished rows that it has are not computed
            again. Nothing is written where it is not given.
        workers: Processes; as many as cores where not given, and fewer for few candidates.
        progress: Called with finished and all candidates.

    Raises:
        DescriptionError: ``rank_by`` is no numeric column, or it is not known which end is best.
        BuildError: The hand cannot be built.
        ResultError: The folder cannot be written, is in use, or belongs to another plan.
        BackendUnavailable: pandas is not installed.
        SimulationError: No worker can start.
    """
    require_pandas()
    largest_is_best(plan)
    require_scored(plan)
    candidates = candidates_of(plan)
    swept = sweep_plan_of(plan, candidates)
    if out is not None:
        swept = _as_kept(swept, Path(out))
    rows = sweep(swept, out, workers=workers, progress=progress)
    table = ranked_table(plan, candidates, rows)
    if out is not None:
        _write(plan, table, Path(out))
    return PlannedGrasps(plan=plan, sweep_plan=swept, table=table)


def ranked_table(
    plan: GraspPlan, candidates: Sequence[Candidate], rows: pd.DataFrame
) -> pd.DataFrame:
    """Candidates and what became of them, the best first.

    Args:
        plan: The plan.
        candidates: In their order.
        rows: The table of their sweep.
    """
    import pandas as pd

    score = pd.Series(scores(plan, rows), dtype="Float64")
    score = score.mask(score.isna())
    table = pd.DataFrame(_pose_columns(candidates))
    table.insert(1, "score", score)
    table = pd.concat([table, rows[list(COLUMNS)]], axis=1).iloc[order(plan, rows)]
    table = table.reset_index(drop=True)
    rank = pd.Series(range(1, len(table) + 1), dtype="Int64").mask(table["score"].isna())
    table.insert(0, "rank", rank)
    return table[[*POSE_COLUMNS, *COLUMNS]]


def _as_kept(swept: SweepPlan, directory: Path) -> SweepPlan:
    """The sweep of a folder where it has all that is asked for, and ε besides."""
    if (directory / SWEEP_PLAN).exists():
        kept = plan_in(directory)
        if kept.quality and kept == swept.replace(quality=True):
            return kept
        if swept.quality and kept == swept.replace(quality=False):
            raise ResultError(
                f"{directory}: expected grasps with ε to rank them by quality_epsilon, found ones "
                "without: choose another folder"
            )
    return swept


def _pose_columns(candidates: Sequence[Candidate]) -> dict[str, object]:
    import pandas as pd

    columns: dict[str, object] = {"row": [one.row for one in candidates]}
    for index, axis in enumerate("xyz"):
        columns[f"direction_{axis}"] = [float(one.direction[index]) for one in candidates]
        columns[f"offset_{axis}_m"] = [float(one.offset[index]) for one in candidates]
    distances = [one.pulled_back for one in candidates]
    return columns | {
        "roll_rad": [one.roll for one in candidates],
        "pulled_back_m": pd.Series(distances, dtype="Float64"),
        "preshape": pd.Series([one.preshape for one in candidates], dtype="string"),
    }


def _write(plan: GraspPlan, table: pd.DataFrame, directory: Path) -> None:
    content = {"softgrasp_version": __version__, "plan": plan.model_dump(mode="json")}
    write_text(directory / PLAN, json.dumps(content, indent=1) + "\n")
    with atomic_path(directory / GRASPS) as path:
        table.to_csv(path, index=False, lineterminator="\n")


# --------------------
# The hand poses of a grasp plan: drawn at random, pulled back where hand and object overlap.


class Candidate(NamedTuple):
    """One pose of the hand that is tried."""

    row: int
    direction: Array
    """Where the hand is, seen from the object: unit vector against the approach, in the frame of
    the object, (3,)."""
    roll: float
    """Turn of the hand about its approach [rad]."""
    offset: Array
    """Of the object's centre from where the scene has it, in the hand's frame [m], (3,)."""
    preshape: str | None
    pulled_back: float | None
    """How far the hand was pulled back [m]; None where no way led out of the object."""
    pose: Array
    """Of the object in the hand's frame, ``T_hand_object``, (4, 4)."""


def candidates_of(plan: GraspPlan) -> list[Candidate]:
    """All candidates of a plan, in their order; the same for the same plan.

    Raises:
        BuildError: The hand, or the object, cannot be built.
    """
    return list(_candidates(plan))


def _candidates(plan: GraspPlan) -> Iterator[Candidate]:
    reference = object_in_hand(standing(plan.scene))
    probes: dict[str | None, PullBack] = {}
    for row in range(plan.candidates):
        random = np.random.default_rng([plan.seed, row])
        rotation, direction, roll = _drawn_rotation(plan, reference, random)
        offset = point_in_ball(random, plan.poses.offset)
        preshape = _preshape(plan, random)
        if preshape not in probes:
            changes = {} if preshape is None else {"preshape": preshape}
            probes[preshape] = PullBack(plan.scene.replace(**changes))
        probe, pose = probes[preshape], np.eye(4)
        pose[:3, :3], pose[:3, 3] = rotation, reference[:3, 3] + offset
        distance = probe.distance(pose, plan.poses.gap)
        pose[:3, 3] += (distance or 0.0) * probe.approach
        yield Candidate(row, direction, roll, offset, preshape, distance, pose)


def _drawn_rotation(
    plan: GraspPlan, reference: Array, random: np.random.Generator
) -> tuple[Array, Array, float]:
    """Orientation of the object in the hand (3, 3), direction in its frame (3,) and roll.

    The hand is turned about its approach and then tilted until it looks from a direction: for a
    whole sphere and whole turns that is uniform over all rotations.
    """
    scene, poses = plan.scene, plan.poses
    back = -approach_of(scene)
    seen_from = direction_in_cone(random, back, poses.cone)
    roll = (2.0 * random.random() - 1.0) * poses.roll
    about = Rotation.from_rotvec(roll * back).as_matrix()
    hand = quaternion_between(back, seen_from) @ about
    return hand.T @ reference[:3, :3], reference[:3, :3].T @ seen_from, roll


def _preshape(plan: GraspPlan, random: np.random.Generator) -> str | None:
    if not plan.preshapes:
        return None
    return plan.preshapes[int(random.integers(len(plan.preshapes)))]


def approach_of(scene: GraspScene) -> Array:
    """Unit vector in the hand's frame from the finger bases to the grasp's centre, (3,)."""
    return toward_grasp(scene.hand, scene.preset.center)


def standing(scene: GraspScene) -> GraspScene:
    """The scene with the place of its object filled in, on its table where there is one."""
    scene = on_its_table(scene)
    pose = object_pose(scene)
    x, y, z = euler_from_quaternions(pose.quaternion).tolist()
    return scene.replace(object_position=pose.position, object_euler=(x, y, z))


def object_in_hand(scene: GraspScene) -> Array:
    """Pose of the object in the hand's frame as the scene has it, (4, 4)."""
    obj = object_pose(scene)
    hand = transform(scene.hand_pose.position, scene.hand_pose.quaternion)
    return np.asarray(np.linalg.inv(hand) @ transform(obj.position, obj.quaternion))


def sweep_plan_of(plan: GraspPlan, candidates: list[Candidate]) -> SweepPlan:
    """The sweep that tries candidates, a row each."""
    scene = standing(plan.scene)
    placed = [_fields(scene, plan.poses, candidate.pose) for candidate in candidates]
    axes = [Axis(path=path, values=tuple(one[path] for one in placed)) for path in placed[0]]
    if plan.preshapes:
        axes.append(Axis(path="preshape", values=tuple(one.preshape for one in candidates)))
    quality = plan.rank_by == "quality_epsilon"  # it takes a tenth of a closure
    return SweepPlan(scene=scene, axes=tuple(axes), method="list", seed=plan.seed, quality=quality)


def _fields(scene: GraspScene, poses: PoseSampling, pose: Array) -> dict[str, Any]:
    """Fields of the scene in which the object is at a pose in the hand; lists, as JSON has them."""
    if poses.moves == "object":
        hand = transform(scene.hand_pose.position, scene.hand_pose.quaternion)
        object_frame = hand @ pose
        euler = euler_from_quaternions(quaternion_of(object_frame))
        return {"object_position": list(position_of(object_frame)), "object_euler": euler.tolist()}
    stands = object_pose(scene)
    hand = transform(stands.position, stands.quaternion) @ np.linalg.inv(pose)
    pose_fields = {"position": list(position_of(hand)), "quaternion": list(quaternion_of(hand))}
    return {"hand_pose": pose_fields}


# --------------------
# Which of many grasps is best: by any numeric column, or by what the hold test showed.


RANKED = "CLOSED"
"""Only grasps that end so are ranked: the others have let go, or never touched."""
LARGEST = ("quality_", "contacts", "hold_directions", "hold_lifted_m", "hold_slip_force_N")
"""How the names of columns begin of which more is better."""
SMALLEST = (
    "displacement_m",
    "rotation_rad",
    "hold_drop_m",
    "hold_rotation_rad",
    "hold_creep_m_s",
    "contacts_lost",
)
"""Columns of which less is better."""
TEXTS = ("status", "error", "contact_order", "trajectory_sha256", "held")
DRIFT = {PERTURBATION: "hold_drop_m"}
"""What decides between equal scores; elsewhere how far the closure moved the object."""


def largest_is_best(plan: GraspPlan) -> bool:
    """Whether the largest number of the column that a plan ranks by is best.

    Raises:
        DescriptionError: There is no such numeric column, or nothing says which end is best.
    """
    name = plan.rank_by
    numeric = [column for column in COLUMNS if column not in TEXTS and "wall" not in column]
    if name != PERTURBATION and name not in numeric:
        raise DescriptionError(
            f"expected {PERTURBATION} or a numeric column of sweeps, found '{name}'; "
            f"{did_you_mean(name, [PERTURBATION, *numeric])}",
            field="rank_by",
        )
    if plan.best is not None:
        return plan.best == "largest"
    if name == PERTURBATION or (name.startswith(LARGEST) and name not in SMALLEST):
        return True
    if name in SMALLEST:
        return False
    raise DescriptionError(
        f"expected largest or smallest with rank_by '{name}', found none", field="best"
    )


def require_scored(plan: GraspPlan) -> None:
    """Refuse a plan whose scene leaves the column that it ranks by empty.

    Raises:
        DescriptionError: The column needs a hold test, pulls, directions or a rigid object.
    """
    name, success = plan.rank_by, plan.scene.success
    if name == "hold_slip_force_N" and not (success and success.pulls):
        needs = "pulls in the scene's criterion"
    elif name == "hold_directions" and not (success and success.directions):
        needs = "directions in the scene's criterion"
    elif name.startswith("hold_") and not (success or plan.scene.lift):
        needs = "a hold test or a lift in the scene"
    elif name == "quality_epsilon" and plan.scene.object.elasticity is not None:
        needs = "a rigid object"
    else:
        return
    raise DescriptionError(f"expected {needs} to rank by '{name}', found none", field="rank_by")


def scores(plan: GraspPlan, table: pd.DataFrame) -> Array:
    """What every row of a sweep is ranked by, (n,); NaN where it is not ranked."""
    values = _numbers(table, "hold_directions" if plan.rank_by == PERTURBATION else plan.rank_by)
    return np.where((table["status"] == RANKED).to_numpy(dtype=bool), values, np.nan)


def order(plan: GraspPlan, table: pd.DataFrame) -> list[int]:
    """Places of rows in a sweep's table from best to worst, those without a score last.

    Equal scores go by drift, and equal drifts by the number of the row.

    Raises:
        DescriptionError: As ``largest_is_best``.
    """
    score = scores(plan, table)
    key = -score if largest_is_best(plan) else score
    drift = _numbers(table, DRIFT.get(plan.rank_by, "displacement_m"))
    rows = table["row"].to_numpy(dtype=int)
    return [int(row) for row in np.lexsort((rows, drift, key, np.isnan(score)))]


def _numbers(table: pd.DataFrame, column: str) -> Array:
    return np.asarray(table[column].to_numpy(dtype=float, na_value=np.nan))
