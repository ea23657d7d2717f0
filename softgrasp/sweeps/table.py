"""Table of a sweep: one row per grasp, its columns, the files that hold it, and its summary.

Rows are plain data (``row_of``), as the journal keeps them; ``table_of`` makes a pandas DataFrame
with one type per column. The summary has outcomes of combinations, erratic outcomes and groups of
warnings. pandas and pyarrow are used here alone.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from importlib.util import find_spec
from itertools import chain, islice, zip_longest
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from softgrasp.description.sweep import SAMPLING_METHODS, SweepPlan
from softgrasp.errors import BackendUnavailable, ResultError
from softgrasp.evaluation.outcome import Outcome
from softgrasp.evaluation.result import GraspResult, HoldTest
from softgrasp.io.files import atomic_path
from softgrasp.io.tables import cell_text
from softgrasp.quality.matrix_measures import smallest_singular_value

if TYPE_CHECKING:
    import pandas as pd

    from softgrasp.description.sweep import Axis, SweepPlan

Row = dict[str, Any]
"""A grasp as plain data: its number, the values of the plan's axes, and ``COLUMNS``."""

CSV, PARQUET = "sweep.csv", "sweep.parquet"
ROW_GROUP = 10_000
"""Rows that are plain data at once, and rows of a part of ``sweep.parquet``."""
SEPARATOR = " | "
"""Text between two warnings of a row."""
FAILED = "FAILED"
"""Status of a row whose grasp could not be simulated; its ``error`` has the reason."""
COLUMNS: dict[str, str] = {
    "status": "name of the GraspStatus, or FAILED",
    "outcome": "name of the Outcome, decided after the hold test, or FAILED",
    "held": "whether the hold test or the lift was passed; empty where there was none",
    "error": "reason for a missing result; empty where there is one",
    "simulated_time_s": "simulated time [s]",
    "first_touch_s": "first touch of the object [s]",
    "all_established_s": "time at which the last contact was established [s]",
    "contacts": "bodies of the hand in established contact at the end",
    "contacts_lost": "number of times that an established contact was lost",
    "contact_order": "bodies in the order of their first established contact, joined by >",
    "largest_force_N": "largest normal force of one body in any physics step [N]",
    "peak_resolved": "whether that force is within 15 % of that at a shorter time step",
    "final_force_N": "sum of the normal forces at the end [N]",
    "force_over_limit": "largest ratio of a finger's force at the end of the closure to its limit; "
    "empty without a limit",
    "displacement_m": "distance from the object's start position to its final one [m]",
    "displacement_x_m": "its displacement in the world [m]",
    "displacement_y_m": "[m]",
    "displacement_z_m": "[m]",
    "rotation_rad": "angle between its start orientation and its final one [rad]",
    "final_x_m": "its final position in the world [m]",
    "final_y_m": "[m]",
    "final_z_m": "[m]",
    "final_qw": "quaternion",
    "final_qx": "quaternion",
    "final_qy": "quaternion",
    "final_qz": "quaternion",
    "quality_friction_margin": "1 - friction over its limit in the contact at the end that is "
    "nearest to slipping; empty without contacts",
    "quality_min_singular": "smallest singular value of the grasp matrix at the end, moments over "
    "the contacts' rms distance from the centre; 0 where some motion is not resisted",
    "quality_epsilon": "radius of the largest ball in the wrench space of the contacts at the end, "
    "moments over the object's reach; empty where the plan asks for no quality",
    "hold_drop_m": "drift in the hand during the hold test or the lift [m]",
    "hold_hand_fraction": "fraction of the load that the hand bears at the end of the hold test",
    "hold_sag_m": "largest displacement of the palm, at the end of a part of the test, from where "
    "the targets of wrist and arm put it [m]",
    "hold_rotation_rad": "rotation in the hand [rad]",
    "hold_lifted_m": "height by which it was lifted [m]",
    "hold_creep_m_s": "creep in the hand under full load [m/s]",
    "hold_slip_force_N": "smallest force that pulled it out of the hand [N]; empty without pulls "
    "and where none did",
    "hold_directions": "fraction of the criterion's directions in which it was held; empty where "
    "it has none",
    "stiffness_min_N_m": "lowest measured contact stiffness at the end [N/m]",
    "stiffness_max_N_m": "highest one [N/m]",
    "timestep_s": "time step of the physics [s]",
    "warnings": "number of warnings",
    "warning_texts": "their sentences, joined by |",
    "trajectory_sha256": "hash of the whole trajectory",
    "wall_time_s": "wall time of the grasp [s]; differs from run to run",
    "wall_build_s": "part of it for building the model, reading a mesh included [s]; differs, too",
}
"""Columns behind ``row`` and the plan's axes, in this order, with their meaning."""
NOISE_COLUMNS = ("noise_x_m", "noise_y_m", "noise_z_m", "noise_rad")
"""Columns behind the axes of a plan with noise: displacement and angle of the object's start."""
COUNTS = ("contacts", "contacts_lost", "warnings")
TEXTS = ("status", "outcome", "error", "contact_order", "warning_texts", "trajectory_sha256")
"""Columns that are no floating-point numbers, besides ``held``."""


def row_of(result: GraspResult) -> dict[str, Any]:
    """Return the table columns of a finished grasp as plain data."""
    motion, hold = result.object, result.hold
    established = {c.body: c.established_s[0] for c in result.contacts if c.established_s}
    touches = [c.first_touch_s for c in result.contacts if c.first_touch_s is not None]
    stiffness = list(result.contact_model.measured_stiffness_N_m.values())
    start, end = np.array(motion.initial_quat_wxyz), np.array(motion.final_quat_wxyz)
    return {
        "status": result.status.name,
        "outcome": result.outcome.name,
        "held": result.held,
        "error": "",
        "simulated_time_s": result.simulated_time,
        "first_touch_s": min(touches, default=None),
        "all_established_s": max(established.values(), default=None),
        "contacts": sum(contact.in_contact for contact in result.contacts),
        "contacts_lost": sum(len(contact.lost_s) for contact in result.contacts),
        "contact_order": ">".join(sorted(established, key=lambda body: (established[body], body))),
        "largest_force_N": result.peak_force,
        "peak_resolved": None if result.peak is None else result.peak.resolved,
        "final_force_N": float(result.normal_force[-1].sum()),
        "force_over_limit": max(
            (force.force_N / force.limit_N for force in result.reached_forces), default=None
        ),
        "displacement_m": float(np.linalg.norm(motion.displacement_m)),
        **_name("displacement", "xyz", motion.displacement_m, "_m"),
        "rotation_rad": float(2.0 * np.arccos(min(abs(float(start @ end)), 1.0))),
        **_name("final", "xyz", motion.final_position_m, "_m"),
        **_name("final_q", "wxyz", motion.final_quat_wxyz, "", ""),
        **_quality(result),
        "hold_drop_m": None if hold is None else hold.drop_m,
        "hold_hand_fraction": _hand_fraction(hold),
        "hold_sag_m": None if hold is None else hold.sag_m,
        "hold_rotation_rad": None if hold is None else hold.rotation_rad,
        "hold_lifted_m": None if hold is None else hold.lifted_m,
        "hold_creep_m_s": None if hold is None else hold.creep_m_s,
        "hold_slip_force_N": _slip_force(hold),
        "hold_directions": _held_fraction(result),
        "stiffness_min_N_m": min(stiffness, default=None),
        "stiffness_max_N_m": max(stiffness, default=None),
        "timestep_s": result.contact_model.timestep_s,
        "warnings": len(result.warnings),
        "warning_texts": SEPARATOR.join(result.warnings),
        "trajectory_sha256": result.trajectory_sha256,
        "wall_time_s": result.wall_time,
    }


def _hand_fraction(hold: HoldTest | None) -> float | None:
    """Return the fraction of the load on the hand at the end of the last part with a load."""
    balances = [] if hold is None else [part.balance for part in hold.parts]
    loaded = [
        balance.hand_fraction for balance in balances if balance is not None and balance.is_loaded
    ]
    return loaded[-1] if loaded else None


def _quality(result: GraspResult) -> dict[str, float | None]:
    touching = [contact for contact in result.contacts if contact.point_m is not None]
    friction = result.contact_model.used.static_friction
    used = [
        contact.friction_force_N / (friction * contact.normal_force_N)
        for contact in touching
        if contact.normal_force_N > 0.0 and friction > 0.0
    ]
    points = np.array([contact.point_m for contact in touching]).reshape(-1, 3)
    centre, log = result.objects[0].final_position_m, result.quality_log
    return {
        "quality_friction_margin": 1.0 - max(used) if used else None,
        "quality_min_singular": float(smallest_singular_value(points, centre)),
        "quality_epsilon": None if log is None else float(log.epsilon[-1]),
    }


def _held_fraction(result: GraspResult) -> float | None:
    """Fraction of the directions in which the object was held; None where none was tried."""
    tried = () if result.hold is None else result.hold.directions
    return sum(test.held for test in tried) / len(tried) if tried else None


def _slip_force(hold: HoldTest | None) -> float | None:
    pulls = () if hold is None else hold.pulls
    return min((pull.slip_force_N for pull in pulls if pull.slip_force_N is not None), default=None)


def _name(
    stem: str, axes: str, values: tuple[float, ...], unit: str, joint: str = "_"
) -> dict[str, float]:
    return {f"{stem}{joint}{axis}{unit}": value for axis, value in zip(axes, values, strict=True)}


def make_failed_row(error: str) -> dict[str, Any]:
    """Return the table columns of a grasp without a result."""
    empty = dict.fromkeys(COLUMNS)
    return empty | {
        "status": FAILED,
        "outcome": FAILED,
        "error": error,
        "wall_time_s": 0.0,
        "wall_build_s": 0.0,
    }


def require_pandas() -> None:
    """Check that the libraries of the table are installed.

    Raises:
        BackendUnavailable: One is not; names what to install.
    """
    missing = [name for name in ("pandas", "pyarrow") if find_spec(name) is None]
    if missing:
        raise BackendUnavailable(
            f"a sweep needs {' and '.join(missing)}; pip install 'softgrasp[sweep]'"
        )


def table_of(plan: SweepPlan, rows: Iterable[Row]) -> pd.DataFrame:
    """Put finished rows in the order of the plan, with one type per column.

    Rows become columns in parts, so that a big sweep needs the memory of its table alone.
    """
    noisy = plan.noise.position or plan.noise.rotation
    names = ["row", *(axis.path for axis in plan.axes), *(NOISE_COLUMNS if noisy else ())]
    inputs: dict[str, list[Any]] = {name: [] for name in names}
    parts: list[pd.DataFrame] = []
    remaining = iter(rows)
    while (part := list(islice(remaining, ROW_GROUP))) or not parts:
        import pandas as pd  # after the rows of a small sweep, which it would delay

        for name, values in inputs.items():
            cells = (row[name] for row in part)  # all but numbers and text as JSON
            values += [
                c if isinstance(c, bool | int | float | str) else json.dumps(c) for c in cells
            ]
        typed = {n: pd.Series([row[n] for row in part], dtype=_kind(n)) for n in COLUMNS}
        parts.append(pd.DataFrame(typed))
        part.clear()
    order = np.argsort(np.array(inputs["row"], dtype=np.int64), kind="stable")
    measured = pd.concat(parts, ignore_index=True)
    ordered = pd.DataFrame({name: [values[i] for i in order] for name, values in inputs.items()})
    return pd.concat([ordered, measured.iloc[order].reset_index(drop=True)], axis=1)


def write_tables(table: pd.DataFrame, directory: Path) -> list[Path]:
    """Write ``sweep.csv`` and ``sweep.parquet``, whose row groups can be read one by one.

    Raises:
        ResultError: The directory cannot be written.
    """
    write_frame(table, directory / CSV)
    with atomic_path(directory / PARQUET) as path:
        table.to_parquet(path, index=False, row_group_size=ROW_GROUP)
    return [directory / CSV, directory / PARQUET]


def write_frame(table: pd.DataFrame, path: Path) -> None:
    """Write a table as CSV, with an apostrophe before texts that are formulas of spreadsheets.

    Raises:
        ResultError: The file cannot be written.
    """
    texts = table.select_dtypes(["object", "string"])
    safe = table.assign(**{str(name): texts[name].map(_cell, "ignore") for name in texts})
    with atomic_path(path) as temporary:
        safe.rename(columns=_cell).to_csv(temporary, index=False, lineterminator="\n")


def _cell(value: Any) -> Any:
    return cell_text(value) if isinstance(value, str) else value


def read_tables(directory: Path) -> pd.DataFrame:
    """Read the table that ``write_tables`` wrote, with the same types.

    Raises:
        ResultError: The file is missing or damaged.
    """
    import pandas as pd

    path = directory / PARQUET
    try:
        return pd.read_parquet(path)
    except (OSError, ValueError) as error:
        raise ResultError(f"{path}: expected the table of a sweep, found: {error}") from error


def _kind(name: str) -> Any:
    if name == "held":
        return "boolean"
    if name in COUNTS:
        return "Int64"
    return "string" if name in TEXTS else "Float64"


MARGIN = "quality_friction_margin"
"""Column of the margin to slipping."""
SUCCESSES = tuple(outcome.name for outcome in Outcome if outcome.is_success)
"""Outcomes that count as held."""
_NUMBER = re.compile(r"\d+(?:\.\d+)?(?:e[+-]?\d+)?")


class ErraticRow(NamedTuple):
    """A combination that is held where both neighbours along a field are not, or the reverse.

    Attributes:
        path: The field.
        rows: First rows of the neighbour before, of the combination, and of the neighbour after.
        outcomes: Their outcomes.
        margins: Their margins to slipping, NaN without contacts [–].
    """

    path: str
    rows: tuple[int, int, int]
    outcomes: tuple[str, str, str]
    margins: tuple[float, float, float]

    def __str__(self) -> str:
        """Sentence with the three rows."""
        before, middle, after = (
            f"{row} ({outcome}, {'no margin' if np.isnan(margin) else f'margin {margin:.2g}'})"
            for row, outcome, margin in zip(self.rows, self.outcomes, self.margins, strict=True)
        )
        return f"row {middle} is between rows {before} and {after} along {self.path}"


def vary(plan: SweepPlan, table: pd.DataFrame) -> list[Axis]:
    """Return the axes of a sweep with at least two values."""
    return [axis for axis in plan.axes if table[axis.path].nunique() > 1]


def is_numeric(table: pd.DataFrame, path: str) -> bool:
    """Return whether the values of an axis are numbers."""
    return bool(np.issubdtype(table[path].to_numpy().dtype, np.number))


def cells_of(table: pd.DataFrame, paths: Sequence[str]) -> pd.DataFrame:
    """Summarise the grasps of every combination of some axes.

    Args:
        table: Table of a sweep.
        paths: The axes; grasps are pooled over the others and over repeats.

    Returns:
        A row per combination: ``paths``; its first ``row``, number of ``grasps``, mean ``margin``
        [–], commonest ``outcome`` (of equal counts the first by name), and its ``count``.
    """
    keys = list(paths)
    counts = table.groupby([*keys, "outcome"], sort=False).size().rename("count").reset_index()
    counts = counts.sort_values(["count", "outcome"], ascending=[False, True])
    cells = table.groupby(keys, sort=False).agg(
        row=("row", "first"), grasps=("row", "size"), margin=(MARGIN, "mean")
    )
    return cells.reset_index().merge(counts.drop_duplicates(keys), on=keys)


def erratic_rows(plan: SweepPlan, table: pd.DataFrame) -> list[ErraticRow]:
    """Return the combinations that differ from both neighbours along a numeric field.

    Neighbours differ in one field only, so samples have none; where an outcome changes once along a
    field, no row differs from both.
    """
    paths = [axis.path for axis in vary(plan, table)]
    if not paths or plan.method in SAMPLING_METHODS:
        return []
    cells = cells_of(table[table["status"] != FAILED], paths)
    return [
        erratic
        for path in paths
        if is_numeric(table, path)
        for erratic in _erratic_along(path, cells, [item for item in paths if item != path])
    ]


def _erratic_along(path: str, cells: pd.DataFrame, others: list[str]) -> Iterator[ErraticRow]:
    lines = [line for _, line in cells.groupby(others, sort=False)] if others else [cells]
    for line in lines:
        line = line.sort_values(path)
        held = line["outcome"].isin(SUCCESSES).to_numpy(dtype=bool)
        margins = line["margin"].to_numpy(dtype=float, na_value=np.nan)
        flips = held[1:] != held[:-1]
        for start in np.flatnonzero(flips[1:] & flips[:-1]).tolist():
            three = slice(start, start + 3)
            rows, outcomes = line["row"].tolist()[three], line["outcome"].tolist()[three]
            yield ErraticRow(path, tuple(rows), tuple(outcomes), tuple(margins[three].tolist()))


def warning_groups(table: pd.DataFrame) -> list[tuple[str, int]]:
    """Group the warnings of all rows; sentences that differ in numbers only are one group.

    Returns:
        Sentence, with ranges of the numbers that differ, and number of rows; the commonest first.
    """
    groups: dict[str, list[tuple[int, str]]] = {}
    for row, texts in enumerate(table["warning_texts"].fillna("")):
        for text in filter(None, texts.split(SEPARATOR)):
            groups.setdefault(_NUMBER.sub("#", text), []).append((row, text))
    counted = [
        (_with_ranges([text for _, text in group]), len({row for row, _ in group}))
        for group in groups.values()
    ]
    return sorted(counted, key=lambda group: -group[1])


def _with_ranges(texts: Sequence[str]) -> str:
    """Return a sentence with the range of each number that differs between the texts."""
    ranges = []
    for numbers in zip(*(_NUMBER.findall(text) for text in texts), strict=True):
        low, high = min(numbers, key=float), max(numbers, key=float)
        ranges.append(low if float(low) == float(high) else f"{low}…{high}")
    words = zip_longest(_NUMBER.split(texts[0]), ranges, fillvalue="")
    return "".join(chain.from_iterable(words))
