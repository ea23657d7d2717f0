"""Parts of a sweep for array jobs, and all of them together again."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, Self

from softgrasp.errors import DescriptionError, ResultError
from softgrasp.sweeps.store import SweepStore, plan_in
from softgrasp.sweeps.table import require_pandas, table_of, write_tables
from softgrasp.sweeps.worker import Row

if TYPE_CHECKING:
    import pandas as pd

_TEXT = re.compile(r"(\d+)/(\d+)")


class Shard(NamedTuple):
    """Every ``parts``-th row, beginning with row ``number`` − 1."""

    number: int
    parts: int

    @classmethod
    def parse(cls, text: str) -> Self:
        """Of a text such as ``3/8``.

        Raises:
            DescriptionError: It is no such text, or the number is beyond the count.
        """
        match = _TEXT.fullmatch(text.strip())
        number, parts = map(int, match.groups()) if match else (0, 0)
        if not 1 <= number <= parts:
            raise DescriptionError(
                f"--shard: expected I/N with I from 1 to N, such as 3/8, found '{text}'"
            )
        return cls(number, parts)

    def rows(self, size: int) -> range:
        """Its rows of a plan of so many."""
        return range(self.number - 1, size, self.parts)

    @property
    def directory(self) -> str:
        """Where its rows stand inside the sweep's folder."""
        return f"shard-{self.number}-of-{self.parts}"


def merge(directory: str | Path) -> pd.DataFrame:
    """The table of all shards in a sweep's folder, written there.

    Raises:
        ResultError: There are no shards, they are of different plans, or rows are missing.
        BackendUnavailable: pandas is not installed.
    """
    require_pandas()
    directory = Path(directory)
    parts = sorted(path for path in directory.glob("shard-*-of-*") if path.is_dir())
    if not parts:
        raise ResultError(f"{directory}: expected shards such as shard-1-of-8, found none")
    plan = plan_in(parts[0])
    rows: dict[int, Row] = {}
    for part in parts:
        if plan_in(part) != plan:
            raise ResultError(
                f"{directory}: expected shards of one plan, found others in {parts[0].name} and "
                f"{part.name}"
            )
        rows |= {row["row"]: row for row in SweepStore(part, plan).finished()}
    missing = sorted(set(range(plan.size)) - set(rows))
    if missing:
        first = ", ".join(map(str, missing[:5])) + (", …" if len(missing) > 5 else "")
        raise ResultError(
            f"{directory}: expected all {plan.size} rows, found {len(rows)}; missing: {first}"
        )
    with SweepStore(directory, plan):
        table = table_of(plan, list(rows.values()))
        write_tables(table, directory)
    return table
