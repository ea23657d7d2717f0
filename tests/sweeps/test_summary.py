"""Erratic outcomes, combinations and groups of warnings of a sweep's table."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest

from softgrasp.description.sweep import Axis, SweepPlan
from softgrasp.sweeps.table import cells_of, erratic_rows, warning_groups
from tests.conftest import Golden
from tests.support.scenes import pinch

pd = pytest.importorskip("pandas", reason="pandas is the extra 'sweep'")

PATHS = ("object.density", "contact.friction")


def plan(*axes: Axis, **changes: Any) -> SweepPlan:
    return SweepPlan(scene=pinch(duration=0.02), axes=axes, **changes)


def rows_of(a_plan: SweepPlan, held: Any, repeats: int = 1) -> Any:
    """The table of a grid whose combinations are held where ``held`` is true."""
    values = [item for item in product(*(axis.values or () for axis in a_plan.axes))
              for _ in range(repeats)]  # fmt: skip
    good = np.repeat(np.asarray(held, dtype=bool).ravel(), repeats)
    columns: dict[str, Any] = {"row": range(len(values))}
    columns |= {axis.path: [value[k] for value in values] for k, axis in enumerate(a_plan.axes)}
    columns["status"] = "CLOSED"
    columns["outcome"] = np.where(good, "HELD", "DROPPED")
    columns["quality_friction_margin"] = np.where(good, 0.5, np.nan)
    return pd.DataFrame(columns)


GRID = plan(
    Axis(path=PATHS[0], values=(100.0, 200.0, 300.0, 400.0, 500.0)),
    Axis(path=PATHS[1], values=(0.1, 0.2, 0.3, 0.4)),
)


@pytest.mark.parametrize("seed", range(20))
def test_a_monotone_boundary_is_never_erratic(seed: int) -> None:
    heights = np.sort(np.random.default_rng(seed).integers(0, 5, size=5))
    held = np.arange(4)[None, :] >= heights[:, None]
    for flipped in (held, ~held, held[::-1], held[:, ::-1]):
        assert erratic_rows(GRID, rows_of(GRID, flipped)) == []


@pytest.mark.parametrize("is_held", [True, False])
def test_an_isolated_flip_inside_is_erratic_along_every_field(is_held: bool) -> None:
    for x, y in product(range(1, 4), range(1, 3)):
        held = np.full((5, 4), not is_held)
        held[x, y] = is_held
        erratic = erratic_rows(GRID, rows_of(GRID, held))
        assert [(item.path, item.rows[1]) for item in erratic] == [
            (path, 4 * x + y) for path in PATHS
        ]
        assert erratic[0].rows == (4 * (x - 1) + y, 4 * x + y, 4 * (x + 1) + y)


def test_an_erratic_row_names_the_margins_of_its_neighbours(golden: Golden) -> None:
    line = plan(Axis(path=PATHS[0], values=(100.0, 200.0, 300.0)))
    (erratic,) = erratic_rows(line, rows_of(line, [True, False, True]))
    golden(erratic, "row 1 (DROPPED, no margin) is between rows 0 (HELD,")


def test_neighbours_are_those_of_the_values_whatever_their_order_in_the_plan() -> None:
    line = plan(Axis(path=PATHS[0], values=(300.0, 100.0, 400.0, 200.0)))
    # along the values: held at 100 and 200, dropped at 300 and 400
    assert erratic_rows(line, rows_of(line, [False, True, False, True])) == []
    (erratic,) = erratic_rows(line, rows_of(line, [True, True, False, False]))[:1]
    assert erratic.rows == (1, 3, 0)


def test_words_samples_and_rows_without_a_result_have_no_neighbours() -> None:
    words = plan(Axis(path="object", values=("sphere", "cuboid", "cylinder")))
    assert erratic_rows(words, rows_of(words, [True, False, True])) == []
    line = plan(Axis(path=PATHS[0], values=(1.0, 2.0, 3.0)))
    table = rows_of(line, [True, False, True])
    table.loc[1, ["status", "outcome"]] = "FAILED"
    assert erratic_rows(line, table) == []
    latin = plan(Axis(path=PATHS[0], low=1.0, high=3.0), method="latin", samples=3)
    assert erratic_rows(latin, rows_of(line, [True, False, True])) == []


def test_repeats_count_as_their_commonest_outcome() -> None:
    line = plan(Axis(path=PATHS[0], values=(1.0, 2.0, 3.0)), repeats=3)
    table = rows_of(line, [True, True, True], repeats=3)
    table.loc[[3, 4], "outcome"] = "SLIPPING"
    (erratic,) = erratic_rows(line, table)
    assert erratic.rows == (0, 3, 6)
    cells = cells_of(table, [PATHS[0]])
    assert cells["outcome"].tolist() == ["HELD", "SLIPPING", "HELD"]
    assert cells["count"].tolist() == [3, 2, 3]
    assert cells["grasps"].tolist() == [3, 3, 3]


def groups(*texts: str) -> list[tuple[str, int]]:
    return warning_groups(pd.DataFrame({"warning_texts": pd.Series(texts, dtype="string")}))


def test_warnings_that_differ_in_numbers_are_one_group_with_their_range() -> None:
    assert groups(
        "peak of 134 N on F1_P3: 0.003 ms of 0.1 ms | it drifts",
        "peak of 9 N on F2_P3: 4e-5 ms of 0.1 ms",
        "",
        "it drifts | peak of 20.5 N on F4_P3: 1 ms of 0.1 ms",
    ) == [("peak of 9…134 N on F1…4_P3: 4e-5…1 ms of 0.1 ms", 3), ("it drifts", 2)]


def test_a_row_with_a_warning_twice_counts_once() -> None:
    assert groups("body 1 slips | body 2 slips") == [("body 1…2 slips", 1)]
    assert groups("", "") == []
    assert warning_groups(pd.DataFrame({"warning_texts": [None, None]})) == []


def test_other_words_are_other_groups() -> None:
    assert len(groups("the palm slips", "the palm creeps")) == 2
