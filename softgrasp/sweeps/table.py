"""The table of a sweep, as a DataFrame and as files; the one user of pandas."""

from __future__ import annotations

import json
from collections.abc import Iterable
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from softgrasp.description.sweep_plan import SweepPlan
from softgrasp.errors import BackendUnavailable
from softgrasp.formats.atomic import atomic_path
from softgrasp.sweeps.rows import COLUMNS
from softgrasp.sweeps.worker import Row, Rows

if TYPE_CHECKING:
    import pandas as pd

CSV, PARQUET = "sweep.csv", "sweep.parquet"
COUNTS = ("contacts", "contacts_lost", "warnings")
TEXTS = ("status", "error", "contact_order", "trajectory_sha256")


def require_pandas() -> None:
    """Say what to install where the table's libraries are missing.

    Raises:
        BackendUnavailable: pandas or pyarrow is not installed.
    """
    missing = [name for name in ("pandas", "pyarrow") if find_spec(name) is None]
    if missing:
        raise BackendUnavailable(
            f"a sweep needs {' and '.join(missing)}; pip install 'softgrasp[sweep]'"
        )


def table_of(plan: SweepPlan, rows: Iterable[Row]) -> pd.DataFrame:
    """Rows in the order of the plan, with one type a column."""
    import pandas as pd

    ordered = sorted(rows, key=lambda row: int(row["row"]))
    names = [*Rows(plan).inputs(0), *COLUMNS]
    columns: dict[str, Any] = {}
    for name in names:
        values = [row[name] for row in ordered]
        if name in COLUMNS:
            columns[name] = pd.Series(values, dtype=_kind(name))
        else:
            columns[name] = [_plain(value) for value in values]
    return pd.DataFrame(columns, columns=names)


def write_tables(table: pd.DataFrame, directory: Path) -> list[Path]:
    """Write ``sweep.csv`` and ``sweep.parquet``.

    Raises:
        ResultError: The folder cannot be written.
    """
    with atomic_path(directory / CSV) as path:
        table.to_csv(path, index=False, lineterminator="\n")
    with atomic_path(directory / PARQUET) as path:
        table.to_parquet(path, index=False)
    return [directory / CSV, directory / PARQUET]


def _kind(name: str) -> Any:
    if name == "held":
        return "boolean"
    if name in COUNTS:
        return "Int64"
    return "string" if name in TEXTS else "Float64"


def _plain(value: Any) -> Any:
    """Values of an axis as a table can hold them: numbers and texts, the rest as JSON."""
    return value if isinstance(value, bool | int | float | str) else json.dumps(value)
