"""Grasp planner: find grasps of an object, close the hand in each, rank the grasps.

Postures are synthesized, or poses drawn at random; a hand that would overlap the object is pulled
back along its approach. Candidates are the rows of a sweep, so executors, resuming and the table's
columns are those of sweeps. Grasps with the object in the hand are ranked by any numeric column.

``robustness`` repeats each grasp that held the object with random errors of the object's start
pose, as a sweep of its own in the directory ``robustness`` of the plan. Grasps that did not hold it
have 0.
"""

from __future__ import annotations

import json
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from scipy.spatial.transform import Rotation

from softgrasp._version import __version__
from softgrasp.description.scene import GraspScene
from softgrasp.description.sweep import (
    PERTURBATION,
    ROBUSTNESS,
    Axis,
    GraspPlan,
    PoseSampling,
    SweepPlan,
)
from softgrasp.errors import DescriptionError, ResultError, SoftgraspWarning, did_you_mean
from softgrasp.io.files import write_text
from softgrasp.io.grasp_files import write_grasps
from softgrasp.io.input_limits import read_json
from softgrasp.mechanics.transforms import (
    Array,
    direction_in_cone,
    euler_from_quaternions,
    point_in_ball,
    position_of,
    quaternion_between,
    quaternion_of,
    transform,
    triple,
)
from softgrasp.model.arm import toward_grasp
from softgrasp.model.object import object_pose, on_its_table, with_default_grasp
from softgrasp.model.retreat import HandRetreat
from softgrasp.sweeps.imported_grasps import (
    convert_postures,
    grasp_of,
    hand_joints_of,
    import_grasps,
)
from softgrasp.sweeps.parameters import scene_of_row
from softgrasp.sweeps.run import Progress, read_sweep, sweep
from softgrasp.sweeps.synthesis import (
    PlacedPosture,
    arrange_grasps,
    keep_postures,
    preshape_name,
    table_plane,
    with_starts,
)
from softgrasp.sweeps.table import COLUMNS, FAILED, TEXTS, require_pandas, write_frame

if TYPE_CHECKING:
    import pandas as pd

    from softgrasp.grasp_synthesis.posture_search import SynthesizedPosture

DIRECTORY = "robustness"
"""Directory of the trials in that of a plan."""


def trials_of(plan: GraspPlan, swept: SweepPlan, held: list[int]) -> SweepPlan:
    """Return the plan of the trials, ``plan.trials`` rows of every grasp that held the object.

    Args:
        plan: The grasp plan.
        swept: Its sweep, one row per candidate.
        held: Rows of the grasps.
    """
    axes = tuple(
        axis.replace(values=tuple((axis.values or ())[row] for row in held)) for axis in swept.axes
    )
    # of its own, so that trials do not repeat what ranks the candidates
    seed = int(np.random.default_rng([plan.seed, len(swept.axes)]).integers(2**31))
    return swept.replace(axes=axes, repeats=plan.trials, noise=plan.noise, seed=seed, quality=False)


def robustness(
    plan: GraspPlan, swept: SweepPlan, rows: pd.DataFrame, out: Path | None, *,
    read: bool = False, **options: Any,
) -> Array:  # fmt: skip
    """Simulate the trials; return the fraction of each row that held the object, (n,).

    Args:
        plan: The grasp plan.
        swept: Its sweep.
        rows: Finished rows of that sweep.
        out: Directory of the grasp plan; nothing is written without it.
        read: Whether to read the trials of a finished search instead.
        options: ``workers``, ``progress`` and ``executor``, as of ``sweep``.

    Raises:
        ResultError: The directory cannot be written, is in use, or belongs to another plan; trials
            that are read are not finished, or damaged.
        SimulationError: No worker can start.
    """
    known = rows["held"].astype(object).eq(True)
    held = [int(row) for row in rows["row"][known]]
    if not held:
        return np.zeros(len(rows))
    directory = None if out is None else out / DIRECTORY
    if read and directory is not None:
        _, trials = read_sweep(directory)
    else:
        trials = sweep(trials_of(plan, swept, held), directory, **options)
    passed = trials["held"].astype(object).eq(True).to_numpy(dtype=float)
    fractions = dict(zip(held, passed.reshape(-1, plan.trials).mean(axis=1), strict=True))
    return np.array([fractions.get(int(row), 0.0) for row in rows["row"]])


PLAN, GRASPS = "grasp_plan.json", "grasps.csv"
POSE_COLUMNS: dict[str, str] = {
    "rank": "1 is the best; empty where the grasp has no score",
    "row": "number of the candidate",
    "score": "value of the column ranked by; empty where the object is not in the hand",
    "direction_x": "unit vector from the object to the hand, in the frame of the object [–]",
    "direction_y": "[–]",
    "direction_z": "[–]",
    "roll_rad": "rotation of the hand about its approach [rad]",
    "offset_x_m": "object's centre relative to its position in the scene, in the hand's frame [m]",
    "offset_y_m": "[m]",
    "offset_z_m": "[m]",
    "pulled_back_m": "distance that the hand was pulled back to clear the object [m]; empty where "
    "none was enough",
    "preshape": "start posture; empty for that of the scene",
    "predicted": "score of the synthesis before the simulation [–]; empty for poses at random",
    "penetration_m": "depth of the synthesized posture in the object [m]; empty for others",
    "trial_held": "whether the posture held the object in the short trial of the synthesis; empty "
    "without a trial",
    "robustness": "fraction of the trials with a displaced object in which it was held; empty "
    "where it does not rank",
}
"""Columns before those of sweeps, in this order, with their meaning."""


@dataclass(frozen=True, kw_only=True)
class PlannedGrasps:
    """Result of a search for grasps."""

    plan: GraspPlan
    sweep_plan: SweepPlan
    """The sweep in which every candidate is a row."""
    table: pd.DataFrame
    """One row per candidate, the best first; columns ``POSE_COLUMNS``, then those of sweeps."""
    postures: tuple[SynthesizedPosture | None, ...] = ()
    """Posture of each candidate by its row; None for a pose at random."""

    @property
    def ranked(self) -> int:
        """Number of candidates with a score."""
        return int(self.table["rank"].notna().sum())

    @property
    def failed(self) -> int:
        """Number of candidates that could not be simulated; ``error`` has the reason."""
        return int((self.table["status"] == FAILED).sum())

    @property
    def pulled_back(self) -> int:
        """Number of candidates that were retracted, as they would have started in the object."""
        return int((self.table["pulled_back_m"] > 0.0).sum())

    @property
    def best_rows(self) -> list[int]:
        """Rows of the best candidates, at most ``plan.top``, the best first."""
        count = min(self.plan.top, self.ranked)
        return [int(row) for row in self.table["row"].iloc[:count]]

    @cached_property
    def top(self) -> tuple[GraspScene, ...]:
        """Scenes of the best candidates; simulated, they repeat the trajectories of the table."""
        return tuple(self.scene(row) for row in self.best_rows)

    def scene(self, row: int) -> GraspScene:
        """Return the scene of a candidate by its row."""
        return scene_of_row(self.sweep_plan, row)

    def save_grasps(
        self, directory: str | Path, object_path: str = "", object_scale: float | None = None
    ) -> list[Path]:
        """Write the ranked grasps in the format of DexGraspBench, the best first.

        Those that a hold test did not hold are left out, as are poses without a posture.

        Args:
            directory: Directory of the files ``0_grasp.npy``, ….
            object_path: Directory of the object that the files state.
            object_scale: Factor of the object's file that they state; by default the scene's.

        Raises:
            DescriptionError: The scales of the object differ along its axes.
            ResultError: The directory cannot be written.
        """
        table = self.table[self.table["rank"].notna()]
        rows = [
            int(row)
            for row, held in zip(table["row"], table["held"].astype(object), strict=True)
            if held is not False and self.postures[int(row)] is not None
        ]
        scene = self.plan.scene
        joints = hand_joints_of(scene)
        searched = [posture for row in rows if (posture := self.postures[row]) is not None]
        stated = (object_path, object_scale)
        converted = [grasp_of(scene, joints, posture, *stated) for posture in searched]
        return write_grasps(converted, directory)

    def tested(self, row: int) -> GraspScene:
        """Return the scene of a candidate with the plan's ``test`` as its criterion."""
        scene, test = self.scene(row), self.plan.test
        return scene if test is None else scene.replace(success=test, lift=None)


def plan_grasps(
    plan: GraspPlan,
    out: str | Path | None = None,
    workers: int | None = None,
    progress: Progress | None = None,
    *,
    executor: str = "local",
) -> PlannedGrasps:
    """Find grasps of an object, close the hand in each, and rank them.

    Postures or poses are drawn from the plan's seed; a hand that would stand in the object is
    pulled back along its approach. Nothing but columns with
    ``wall`` in their name depends on the number of workers.

    Args:
        plan: The plan.
        out: Directory for the plan, rows and tables; its finished rows are not computed again.
            Nothing is written without it.
        workers: Number of processes; by default one per core, fewer for few candidates.
        progress: Called with the number of finished candidates and of all.
        executor: Of the simulations, as in ``sweep``: ``local`` or ``warp``.

    Raises:
        DescriptionError: ``rank_by`` is no numeric column, or it is not known which end is best.
        BuildError: The hand cannot be built.
        ResultError: The directory cannot be written, is in use, or belongs to another plan.
        BackendUnavailable: pandas is not installed.
        SimulationError: No worker can start.
    """
    require_pandas()
    largest_is_best(plan)
    require_scored(plan)
    # postures belong to one kind of grasp, and are not replaced by a search for another
    plan = plan.choose(scene=with_default_grasp(plan.scene).choose(adapt_grasp=False))
    candidates = candidates_of(plan, None if out is None else Path(out))
    swept = sweep_plan_of(plan, candidates)
    rows = sweep(swept, out, workers=workers, executor=executor, progress=progress)
    if plan.rank_by == ROBUSTNESS:
        rows[ROBUSTNESS] = robustness(
            plan, swept, rows, None if out is None else Path(out),
            workers=workers, progress=progress, executor=executor,
        )  # fmt: skip
    table = rank_table(plan, candidates, rows)
    if out is not None:
        _write(plan, table, Path(out))
    return _plan(plan, swept, table, candidates)


def _plan(
    plan: GraspPlan, swept: SweepPlan, table: pd.DataFrame, candidates: Sequence[Candidate]
) -> PlannedGrasps:
    postures = tuple(candidate.posture for candidate in candidates)
    return PlannedGrasps(plan=plan, sweep_plan=swept, table=table, postures=postures)


def plan_imported(plan: GraspPlan, path: str | Path, scale: float | None = None) -> GraspPlan:
    """Return a plan that simulates the grasps of a file of another program.

    Args:
        plan: The plan; its method and number of candidates are replaced.
        path: A file that ``exports.load_grasps`` reads, or a directory of ``.npy`` files.
        scale: Scale in the file of the grasps to take [–]; by default the object's own.

    Raises:
        DescriptionError: The file is none of them, its joints are not those of the hand, or it has
            no grasp for this size of the object.
        BuildError: The hand cannot be built.
    """
    grasps = import_grasps(plan.scene, path, scale)
    return plan.replace(method="imported", grasps=grasps, candidates=len(grasps))


def read_search(directory: str | Path) -> PlannedGrasps:
    """Read a finished search from its directory.

    The poses are drawn again from the seed of the plan.

    Raises:
        ResultError: There is no search, it is not finished, or a file is damaged.
        BackendUnavailable: pandas is not installed.
    """
    directory = Path(directory)
    path = directory / PLAN
    try:
        plan = GraspPlan(**read_json(path)["plan"])
    except OSError as error:
        raise ResultError(
            f"{path}: expected the plan of a grasp search, found: {error.strerror or error}"
        ) from error
    except (ValueError, KeyError, TypeError, DescriptionError) as error:
        raise ResultError(f"{path}: damaged: {error}") from error
    swept, rows = read_sweep(directory)
    candidates = candidates_of(plan, directory)
    if plan.rank_by == ROBUSTNESS:
        rows[ROBUSTNESS] = robustness(plan, swept, rows, directory, read=True)
    return _plan(plan, swept, rank_table(plan, candidates, rows), candidates)


def rank_table(
    plan: GraspPlan, candidates: Sequence[Candidate], rows: pd.DataFrame
) -> pd.DataFrame:
    """Join candidate hand poses with the table of their sweep, the best first."""
    import pandas as pd

    score = pd.Series(scores(plan, rows), dtype="Float64")
    score = score.mask(score.isna())
    table = pd.DataFrame(_pose_columns(candidates))
    table.insert(1, "score", score)
    table[ROBUSTNESS] = pd.Series(
        rows[ROBUSTNESS] if ROBUSTNESS in rows else [None] * len(rows), dtype="Float64"
    )
    table = pd.concat([table, rows[list(COLUMNS)]], axis=1).iloc[order(plan, rows)]
    table = table.reset_index(drop=True)
    rank = pd.Series(range(1, len(table) + 1), dtype="Int64").mask(table["score"].isna())
    table.insert(0, "rank", rank)
    return table[[*POSE_COLUMNS, *COLUMNS]]


def _pose_columns(candidates: Sequence[Candidate]) -> dict[str, object]:
    import pandas as pd

    columns: dict[str, object] = {"row": [candidate.row for candidate in candidates]}
    for index, axis in enumerate("xyz"):
        columns[f"direction_{axis}"] = [float(each.direction[index]) for each in candidates]
        columns[f"offset_{axis}_m"] = [float(each.offset[index]) for each in candidates]
    distances = [candidate.pulled_back for candidate in candidates]
    postures = [candidate.posture for candidate in candidates]
    scores = [posture and posture.score for posture in postures]
    penetrations = [posture and posture.penetration for posture in postures]
    return columns | {
        "roll_rad": [candidate.roll for candidate in candidates],
        "pulled_back_m": pd.Series(distances, dtype="Float64"),
        "preshape": pd.Series([candidate.preshape for candidate in candidates], dtype="string"),
        "predicted": pd.Series(scores, dtype="Float64"),
        "penetration_m": pd.Series(penetrations, dtype="Float64"),
        "trial_held": pd.Series([candidate.held for candidate in candidates], dtype="boolean"),
    }


def _write(plan: GraspPlan, table: pd.DataFrame, directory: Path) -> None:
    content = {"softgrasp_version": __version__, "plan": plan.model_dump(mode="json")}
    write_text(directory / PLAN, json.dumps(content, indent=1) + "\n")
    write_frame(table, directory / GRASPS)


# Candidates: hand poses drawn at random, pulled back where hand and object overlap.


class Candidate(NamedTuple):
    """A candidate hand pose relative to the object."""

    row: int
    direction: Array
    """Unit vector from the object to the hand, against the approach, in the frame of the object,
    (3,)."""
    roll: float
    """Rotation of the hand about its approach [rad]."""
    offset: Array
    """Object's centre relative to its position in the scene, in the hand's frame [m], (3,)."""
    preshape: str | None
    pulled_back: float | None
    """Distance that the hand was pulled back [m]; None where none was enough."""
    pose: Array
    """Of the object in the hand's frame, ``T_hand_object``, (4, 4)."""
    posture: SynthesizedPosture | None = None
    """Posture that the pose belongs to; None for a pose at random."""
    held: bool | None = None
    """Whether the posture held the object in its trial; None without one."""


def candidates_of(plan: GraspPlan, directory: Path | None = None) -> list[Candidate]:
    """Synthesize or draw all candidates of a plan; the same ones for the same plan.

    Args:
        plan: The plan.
        directory: Directory that keeps synthesized postures for the next call.

    Raises:
        BuildError: The hand, or the object, cannot be built.
    """
    if plan.method == "imported":
        return _with_postures(plan, arrange_grasps(plan, convert_postures(plan)))
    synthesized: list[Candidate] = []
    if plan.method == "synthesis":
        synthesized = _with_postures(plan, keep_postures(plan, directory))
    return [*synthesized, *_candidates(plan, len(synthesized))]


def _with_postures(plan: GraspPlan, placed: Sequence[PlacedPosture]) -> list[Candidate]:
    """Return the candidates with their own postures, in their order."""
    reference = object_in_hand(standing(plan.scene))
    back = -approach_of(plan.scene)
    candidates = []
    for row, (posture, distance, pose, trial) in enumerate(placed):
        hand = reference[:3, :3] @ pose[:3, :3].T
        about = quaternion_between(back, hand @ back).T @ hand
        roll = float(Rotation.from_matrix(about).as_rotvec() @ back)
        offset = posture.pose[:3, 3] - reference[:3, 3]
        direction = pose[:3, :3].T @ back
        name = preshape_name(row)
        held = None if trial is None else trial.held
        candidates.append(
            Candidate(row, direction, roll, offset, name, distance, pose, posture, held)
        )
    return candidates


def _candidates(plan: GraspPlan, first: int) -> Iterator[Candidate]:
    reference = object_in_hand(standing(plan.scene))
    probes: dict[str | None, HandRetreat] = {}
    plane, blocked = table_plane(plan.scene), 0
    for row in range(first, plan.candidates):
        random, distance = np.random.default_rng([plan.seed, row]), None
        for _ in range(DRAWS):
            rotation, direction, roll = _draw_rotation(plan, reference, random)
            offset = point_in_ball(random, plan.poses.offset)
            shapes = plan.preshapes
            preshape = shapes[int(random.integers(len(shapes)))] if shapes else None
            if preshape not in probes:
                changes = {} if preshape is None else {"preshape": preshape}
                probes[preshape] = HandRetreat(plan.scene.replace(**changes))
            probe, pose = probes[preshape], np.eye(4)
            pose[:3, :3], pose[:3, 3] = rotation, reference[:3, 3] + offset
            if plane is not None and _climb(probe, pose, plane) < MIN_CLIMB:
                continue  # from the side or from below
            distance = probe.distance(pose, plan.poses.gap)
            pose[:3, 3] += (distance or 0.0) * probe.approach
            raised = 0.0 if plane is None else _raised(probe, pose, plane, plan.poses.gap)
            if raised is not None:
                pose[:3, 3] += raised * probe.approach
                distance = None if distance is None else distance + raised
                break
        else:
            blocked += 1
        yield Candidate(row, direction, roll, offset, preshape, distance, pose)
    if blocked:
        warnings.warn(
            f"{blocked} of {plan.candidates - first} drawn poses start in the table: none of "
            f"{DRAWS} draws each was clear of it; '{plan.scene.object.name}' may lie too low for "
            f"'{plan.scene.hand.name}' (the scene table_edge slides a plate over the edge of its "
            "table), or poses.cone (--cone-deg) may allow no direction from above",
            SoftgraspWarning,
            stacklevel=2,
        )


def _raised(probe: HandRetreat, pose: Array, plane: Array, gap: float) -> float | None:
    """Return how far a hand has to go back to be clear of a table [m]; None above MAX_RAISE."""
    lacking = gap - probe.height(plane)
    if lacking <= 0.0:
        return 0.0
    climb = _climb(probe, pose, plane)
    return lacking / climb if climb * MAX_RAISE >= lacking else None


def _climb(probe: HandRetreat, pose: Array, plane: Array) -> float:
    """Return by how much a hand rises above a table over its way back along its approach [–]."""
    return float(-(pose[:3, :3] @ plane[:3]) @ probe.approach)


def _draw_rotation(
    plan: GraspPlan, reference: Array, random: np.random.Generator
) -> tuple[Array, Array, float]:
    """Draw the object's orientation in the hand (3, 3), a direction in its frame (3,) and a roll.

    The hand is rotated about its approach by the roll and then tilted to the direction: for the
    whole sphere and rolls of ±π that is uniform over all rotations.
    """
    scene, poses = plan.scene, plan.poses
    back = -approach_of(scene)
    direction = direction_in_cone(random, back, poses.cone)
    roll = (2.0 * random.random() - 1.0) * poses.roll
    about = Rotation.from_rotvec(roll * back).as_matrix()
    hand = quaternion_between(back, direction) @ about
    return hand.T @ reference[:3, :3], reference[:3, :3].T @ direction, roll


def approach_of(scene: GraspScene) -> Array:
    """Return the unit vector from the finger bases to the grasp's centre, hand frame, (3,)."""
    return toward_grasp(scene.hand, scene.preset.center)


def standing(scene: GraspScene) -> GraspScene:
    """Return the scene with its object's pose filled in, on the table where there is one."""
    scene = on_its_table(scene)
    pose = object_pose(scene)
    euler = triple(euler_from_quaternions(pose.quaternion))
    return scene.replace(object_position=pose.position, object_euler=euler)


def object_in_hand(scene: GraspScene) -> Array:
    """Return the object's pose in the hand's frame, ``T_hand_object``, (4, 4)."""
    obj = object_pose(scene)
    hand = transform(scene.hand_pose.position, scene.hand_pose.quaternion)
    return np.asarray(np.linalg.inv(hand) @ transform(obj.position, obj.quaternion))


def sweep_plan_of(plan: GraspPlan, candidates: list[Candidate]) -> SweepPlan:
    """Make the sweep plan with one row per candidate hand pose."""
    scene = standing(plan.scene)
    placed = [_fields(scene, plan.poses, candidate.pose) for candidate in candidates]
    axes = [Axis(path=path, values=tuple(item[path] for item in placed)) for path in placed[0]]
    postures = [item.posture for item in candidates if item.posture is not None]
    if plan.preshapes or postures:
        axes.append(Axis(path="preshape", values=tuple(item.preshape for item in candidates)))
    if postures:
        rates = [
            None if item.posture is None else item.posture.rates.tolist() for item in candidates
        ]
        axes.append(Axis(path="closure.rates", values=tuple(rates)))
        spans = np.ptp([actuator.limits for actuator in scene.hand.actuators], axis=1)
        ends = [None if item.posture is None else _ends(item.posture, spans) for item in candidates]
        axes.append(Axis(path="closure.ends", values=tuple(ends)))
        scene = with_starts(scene, [posture.start for posture in postures])
    quality = plan.rank_by == "quality_epsilon"  # costs a tenth of a closure
    return SweepPlan(scene=scene, axes=tuple(axes), method="list", seed=plan.seed, quality=quality)


def _ends(posture: SynthesizedPosture, spans: Array) -> list[float | None]:
    """Return where actuators stop that hardly move into a grasp; None for others, (nu,).

    At their rates they would creep to their limits for minutes where they touch nothing.
    """
    speeds = np.abs(posture.rates) / np.maximum(spans, TINY)
    slow = speeds < SLOW * speeds.max(initial=0.0)
    squeeze = posture.squeeze.tolist()
    return [end if stops else None for end, stops in zip(squeeze, slow.tolist(), strict=True)]


def _fields(scene: GraspScene, poses: PoseSampling, pose: Array) -> dict[str, Any]:
    """Return the scene fields that put the object at a pose in the hand, as lists."""
    if poses.moves == "object":
        hand = transform(scene.hand_pose.position, scene.hand_pose.quaternion)
        object_frame = hand @ pose
        euler = euler_from_quaternions(quaternion_of(object_frame))
        return {"object_position": list(position_of(object_frame)), "object_euler": euler.tolist()}
    start = object_pose(scene)
    hand = transform(start.position, start.quaternion) @ np.linalg.inv(pose)
    return {
        "hand_pose": {"position": list(position_of(hand)), "quaternion": list(quaternion_of(hand))}
    }


# Ranking: by any numeric column of sweeps, or by the outcome of the hold test.


DRAWS, MAX_RAISE, MIN_CLIMB = 500, 0.06, 0.2
"""Draws of a pose until the hand is clear of the table; distance by which it may go back along its
approach for that [m], as it would not reach the object from farther away; and by how much it has to
rise over that way [–]."""
SLOW, TINY = 0.1, 1e-9
"""Speed of an actuator, over its range and that of the fastest one, below which it stops at its
squeezing target; and the smallest range [rad or m]."""
KEPT = ("CLOSED", "TIMED_OUT")
"""Statuses of candidates that may have the object in the hand at the end of the closure."""
RANKED = ("HELD", "SUPPORTED", "CLOSED", "SHIFTED", "SLIPPING", "DROPPED")
"""Their outcomes; one that is DROPPED was lost in a push, after which the run is put back."""
LARGEST = ("quality_", "contacts", "hold_directions", "hold_lifted_m", "hold_slip_force_N")
"""Prefixes of columns whose largest value is best."""
SMALLEST = (
    "displacement_m",
    "rotation_rad",
    "hold_drop_m",
    "hold_rotation_rad",
    "hold_creep_m_s",
    "contacts_lost",
)
"""Columns whose smallest value is best."""
DRIFT = {PERTURBATION: "hold_drop_m"}
"""Column that decides between equal scores; by default the displacement of the object."""


def largest_is_best(plan: GraspPlan) -> bool:
    """Return whether the largest value of the column that a plan ranks by is best.

    Raises:
        DescriptionError: There is no such numeric column, or which end is best is not known.
    """
    name = plan.rank_by
    numeric = [
        column for column in COLUMNS if column not in (*TEXTS, "held") and "wall" not in column
    ]
    fractions = (PERTURBATION, ROBUSTNESS)
    if name not in (*fractions, *numeric):
        raise DescriptionError(
            f"expected {', '.join(fractions)} or a numeric column of sweeps, found '{name}'; "
            f"{did_you_mean(name, [*fractions, *numeric])}",
            field="rank_by",
        )
    if plan.best is not None:
        return plan.best == "largest"
    if name in fractions or (name.startswith(LARGEST) and name not in SMALLEST):
        return True
    if name in SMALLEST:
        return False
    raise DescriptionError(
        f"expected largest or smallest with rank_by '{name}', found none", field="best"
    )


def require_scored(plan: GraspPlan) -> None:
    """Refuse a plan that ranks by a column which its scene leaves empty.

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
    """Return the score of every row of a sweep, (n,); NaN where it is not ranked."""
    values = _numbers(table, "hold_directions" if plan.rank_by == PERTURBATION else plan.rank_by)
    in_hand = (table["contacts"] > 0).fillna(False)
    ranked = in_hand & table["outcome"].isin(RANKED) & table["status"].isin(KEPT)
    return np.where(ranked.to_numpy(dtype=bool), values, np.nan)


def order(plan: GraspPlan, table: pd.DataFrame) -> list[int]:
    """Return the indices of a sweep's rows from best to worst, those without a score last.

    Grasps that a hold test held come before those that it did not. Equal scores go by drift, and
    equal drifts by the number of the row.

    Raises:
        DescriptionError: As ``largest_is_best``.
    """
    score = scores(plan, table)
    key = -score if largest_is_best(plan) else score
    drift = _numbers(table, DRIFT.get(plan.rank_by, "displacement_m"))
    rows = table["row"].to_numpy(dtype=int)
    lost = np.array([held is False for held in table["held"].astype(object)])
    return [int(row) for row in np.lexsort((rows, drift, key, lost, np.isnan(score)))]


def _numbers(table: pd.DataFrame, column: str) -> Array:
    return np.asarray(table[column].to_numpy(dtype=float, na_value=np.nan))
