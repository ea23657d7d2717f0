"""Grasps with the fingers of a calibration's posterior: what its uncertainty means for a grasp.

``grasp_ensemble`` simulates one scene with the calibrated finger and with fingers drawn from the
ensemble beside its file, as the rows of a sweep. Bands are quantiles over the drawn fingers; the
interval of the success rate is Wilson's (1927). All soft fingers of a hand are of one mould, so
each row replaces all of them by the same finger.
"""

from __future__ import annotations

import json
import tempfile
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from softgrasp.description.scene import GraspScene
from softgrasp.description.sweep import Axis, SweepPlan
from softgrasp.errors import DescriptionError, ResultError
from softgrasp.evaluation.outcome import Outcome
from softgrasp.io.files import write_text
from softgrasp.io.finger_ensemble import FingerEnsemble, load_finger_ensemble
from softgrasp.io.input_limits import read_json, result_loader
from softgrasp.mechanics.transforms import Array
from softgrasp.sweeps.dataset import Arrays, trajectories
from softgrasp.sweeps.run import Progress, sweep
from softgrasp.sweeps.table import FAILED, Row

DOCUMENT, DIRECTORY = "ensemble.json", "ensemble"
"""File of the result, and directory of the rows beside it."""
QUANTILES = (0.025, 0.5, 0.975)
POINTS = 200
"""Number of times of the bands."""
QUANTITIES = {
    "final_force_N": "grip force at the end [N]",
    "largest_force_N": "largest force of one body [N]",
    "displacement_m": "displacement of the object [m]",
    "hold_drop_m": "drift in the hold test [m]",
}
"""Columns of a sweep whose quantiles are computed, and what they are."""
FINGERS = "hand.soft_fingers[*].finger"


@dataclass(frozen=True)
class Band:
    """Quantiles of a quantity over the fingers.

    Args:
        quantity: Column of a sweep.
        nominal: Value with the calibrated finger; None where there is none.
        low: 2.5 % quantile.
        median: Median.
        high: 97.5 % quantile.
    """

    quantity: str
    nominal: float | None
    low: float
    median: float
    high: float


@dataclass(frozen=True)
class TimeBand:
    """Quantiles of a quantity over time, as long as half of the grasps last.

    Args:
        time: Times [s], (t,).
        nominal: With the calibrated finger; NaN after its end, (t,).
        low: 2.5 % quantile, (t,).
        median: Median, (t,).
        high: 97.5 % quantile, (t,).
    """

    time: tuple[float, ...]
    nominal: tuple[float, ...]
    low: tuple[float, ...]
    median: tuple[float, ...]
    high: tuple[float, ...]


@dataclass(frozen=True)
class EnsembleResult:
    """A grasp with fingers of a posterior.

    Args:
        finger: Name of the finger.
        size: Number of fingers drawn.
        seed: Seed of the draw.
        outcomes: Number of fingers by the name of the outcome; ``FAILED`` where the scene cannot be
            simulated.
        succeeded: Number of fingers that hold the object, or grasp it without a hold test.
        success_low: Lower end of the 95 % interval of the success rate (Wilson) [–].
        success_high: Upper end [–].
        bands: Quantiles of ``QUANTITIES``, without those that no grasp has.
        force: Sum of the normal forces on the object [N], over time.
        displacement: Distance of the object from its start [m], over time.
    """

    finger: str
    size: int
    seed: int
    outcomes: dict[str, int]
    succeeded: int
    success_low: float
    success_high: float
    bands: tuple[Band, ...]
    force: TimeBand
    displacement: TimeBand

    @property
    def sentence(self) -> str:
        """Success rate with its interval, in a sentence."""
        names = ", ".join(f"{count} {name}" for name, count in sorted(self.outcomes.items()))
        fractions = (self.succeeded / self.size, self.success_low, self.success_high)
        rate, low, high = (f"{100.0 * fraction:.0f}" for fraction in fractions)
        return (
            f"{self.succeeded} of {self.size} fingers of the posterior succeed "
            f"({rate} %; 95 % interval {low} to {high} %): {names}"
        )

    def document(self) -> dict[str, Any]:
        """Convert to plain values for a JSON file; NaN becomes null."""
        plain: dict[str, Any] = json.loads(json.dumps(asdict(self)), parse_constant=lambda _: None)
        return plain

    def save(self, directory: str | Path) -> Path:
        """Write ``ensemble.json`` and return its path.

        Raises:
            ResultError: The directory cannot be written.
        """
        text = json.dumps(self.document(), ensure_ascii=False, allow_nan=False)
        return write_text(Path(directory) / DOCUMENT, text + "\n")


@result_loader
def load_ensemble_result(directory: str | Path) -> EnsembleResult:
    """Read the result of ``grasp_ensemble`` from its directory.

    Raises:
        ResultError: The file is missing or damaged.
    """
    path = Path(directory) / DOCUMENT
    try:
        data = read_json(path)
        data |= {key: _time_band(data[key]) for key in ("force", "displacement")}
        data["bands"] = tuple(Band(**datum) for datum in data["bands"])
        return EnsembleResult(**data)
    except OSError as error:
        raise ResultError(f"{path}: expected an ensemble, found: {error.strerror}") from error
    except (ValueError, KeyError, TypeError) as error:
        raise ResultError(f"{path}: damaged: {error}") from error


def _time_band(data: dict[str, list[float | None]]) -> TimeBand:
    return TimeBand(**{
        key: tuple(np.nan if x is None else x for x in row) for key, row in data.items()
    })  # fmt: skip


def grasp_ensemble(
    scene: GraspScene,
    finger: str | Path | FingerEnsemble,
    size: int = 20,
    seed: int = 0,
    *,
    out: str | Path | None = None,
    workers: int | None = None,
    progress: Progress | None = None,
) -> EnsembleResult:
    """Simulate a grasp with a calibrated finger and with fingers of its posterior.

    Args:
        scene: Scene; all soft fingers of its hand are replaced.
        finger: File of the calibrated finger, with its ensemble beside it.
        size: Number of fingers drawn from the ensemble, without replacement.
        seed: Seed of the draw; nothing else is random.
        out: Directory for ``ensemble.json`` and the table of the rows; nothing is written without.
        workers: Number of processes; the result does not depend on it.
        progress: Called when grasps are finished.

    Raises:
        DescriptionError: The hand has no soft fingers, there is no ensemble or one of another
            finger, or it has fewer fingers.
        ResultError: The directory cannot be written or belongs to another ensemble.
    """
    known = finger if isinstance(finger, FingerEnsemble) else load_finger_ensemble(finger)
    plan = ensemble_plan(scene, known.drawn(size, seed))
    directory = None if out is None else Path(out)
    with tempfile.TemporaryDirectory() as temporary:
        rows = Path(temporary) if directory is None else directory / DIRECTORY
        table = sweep(plan, rows, workers=workers, trajectories=True, progress=progress)
        stored = dict(trajectories(rows))
    rows_of_table = table.to_dict("records")
    records = [{str(name): value for name, value in row.items()} for row in rows_of_table]
    result = _result(known.finger.name, seed, records, stored)
    if directory is not None:
        result.save(directory)
    return result


def ensemble_plan(scene: GraspScene, ensemble: FingerEnsemble) -> SweepPlan:
    """Return the sweep of a scene over a calibrated finger, then all fingers of an ensemble.

    Raises:
        DescriptionError: The hand has no soft fingers.
    """
    hand = scene.hand
    if not hand.soft_fingers:
        raise DescriptionError(
            f"expected a hand with soft fingers, found '{hand.name}' without", field="hand"
        )
    mounted = tuple(finger.replace(finger=ensemble.finger) for finger in hand.soft_fingers)
    axes = []
    for column, values in ensemble.columns.items():
        path = ensemble.path_in_finger(column)
        joint, field = path.removeprefix("joints[").split("].")
        nominal = getattr(ensemble.finger.joints[int(joint)], field)
        axes.append(Axis(path=f"{FINGERS}.{path}", values=(nominal, *values.tolist())))
    scene = scene.replace(hand=hand.replace(soft_fingers=mounted))
    return SweepPlan(scene=scene, axes=tuple(axes), method="list")


def _result(
    finger: str, seed: int, rows: Sequence[Row], stored: dict[int, Arrays]
) -> EnsembleResult:
    """Make the result of a table whose first row has the calibrated finger."""
    from scipy.stats import binomtest

    nominal, drawn = rows[0], rows[1:]
    outcomes = Counter(str(row["outcome"]) for row in drawn)
    successes = sum(
        count for name, count in outcomes.items() if name != FAILED and Outcome[name].is_success
    )
    ends = binomtest(successes, len(drawn)).proportion_ci(method="wilson")
    series = {row: _series(arrays) for row, arrays in stored.items()}
    return EnsembleResult(
        finger=finger,
        size=len(drawn),
        seed=seed,
        outcomes=dict(sorted(outcomes.items())),
        succeeded=successes,
        success_low=float(ends.low),
        success_high=float(ends.high),
        bands=tuple(_bands(nominal, drawn)),
        force=_over_time({row: (time, force) for row, (time, force, _) in series.items()}),
        displacement=_over_time({row: (time, moved) for row, (time, _, moved) in series.items()}),
    )


def _bands(nominal: Row, drawn: Sequence[Row]) -> list[Band]:
    bands = []
    for name in QUANTITIES:
        values = np.array([row[name] for row in drawn], dtype=float)
        values = values[np.isfinite(values)]
        if values.size:
            before = float(nominal[name])
            known = before if np.isfinite(before) else None
            bands.append(Band(name, known, *np.quantile(values, QUANTILES).tolist()))
    return bands


def _series(arrays: Arrays) -> tuple[Array, Array, Array]:
    """Return times, sum of normal forces and displacement of a grasp, (t,) each."""
    moved = arrays["object_position"] - arrays["object_position"][0]
    return arrays["time"], arrays["normal_force"].sum(axis=1), np.linalg.norm(moved, axis=1)


def _over_time(series: dict[int, tuple[Array, Array]]) -> TimeBand:
    """Compute quantiles over the grasps that still run; row 0 is the calibrated finger."""
    ends = sorted(times[-1] for row, (times, _) in series.items() if row)
    if not ends:
        return TimeBand((), (), (), (), ())
    time = np.linspace(0.0, ends[(len(ends) - 1) // 2], POINTS)
    values = {
        row: np.where(time <= times[-1], np.interp(time, times, element), np.nan)
        for row, (times, element) in series.items()
    }
    nominal = values.pop(0, np.full(POINTS, np.nan))
    low, median, high = np.nanquantile(np.array(list(values.values())), QUANTILES, axis=0)
    return TimeBand(*(tuple(item.tolist()) for item in (time, nominal, low, median, high)))
