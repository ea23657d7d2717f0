"""What experiments of a hydraulic arm write: tables that can be read again, figures, one page."""

from __future__ import annotations

import csv
import json
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from examples.paper003.experiments import (
    AnyExperiment,
    AnyRun,
    Change,
    Motion,
    Reach,
    Refinement,
    Rests,
    run_hydraulic_experiments,
)
from examples.paper003.report import apart, numbers, write_hydraulic_experiments
from tests.hydraulics.arms import two_sections

TORQUES = (0.5, 0.0, 0.0, 0.0, 0.5, 0.5)
SMALL: tuple[AnyExperiment, ...] = (
    Rests("rests", "Rests", "ours", "", (((1,), 0.5), ((1, 5), 0.5))),
    Motion("motion", "Motion", "ours", "", (Change((1,), 0.0, 0.05, 0.5),), 0.1),
    Reach("reach", "Reach", "ours", "", 2),
    Refinement("finer", "Finer", "ours", "", TORQUES, (1, 2), (1, 2)),
)
TABLES = ["errors.csv", "numbers.csv", "result.json", *(f"{e.name}.csv" for e in SMALL)]


@cache
def runs() -> tuple[AnyRun, ...]:
    return tuple(run_hydraulic_experiments(SMALL, two_sections(), links=1))


def table(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def names(directory: Path) -> list[str]:
    return sorted(path.name for path in directory.iterdir())


@pytest.mark.slow
def test_tables_hold_what_was_run(tmp_path: Path) -> None:
    write_hydraulic_experiments(runs(), tmp_path, report=False)
    assert names(tmp_path) == sorted(TABLES)
    rests, motion, reach, _ = runs()
    rows = table(tmp_path / "motion.csv")
    assert [float(row["time_s"]) for row in rows] == pytest.approx(0.01 * np.arange(11))
    ends = [float(row["lumped_end_2_x_m"]) for row in rows]
    assert ends == pytest.approx(motion.lumped.ends[:, 1, 0], abs=1e-8)
    rows = table(tmp_path / "rests.csv")
    assert [float(row["torque_5_Nm"]) for row in rows] == [0.0, 0.5]
    errors = [[float(row[f"error_{k}_m"]) for k in (1, 2)] for row in rows]
    assert errors == pytest.approx(rests.errors, abs=1e-8)
    assert len(table(tmp_path / "reach.csv")) == len(reach.chain) == 2**3
    assert [row["cells_or_arcs"] for row in table(tmp_path / "finer.csv")] == 2 * [
        "1",
        "2",
        "limit",
    ]
    message = [n.what for run in runs() for n in numbers(run)]
    assert [row["what"] for row in table(tmp_path / "numbers.csv")] == message
    with_errors = [row["experiment"] for row in table(tmp_path / "errors.csv")]
    assert with_errors == [r.experiment.name for r in runs() if apart(r)] == ["rests", "motion"]
    document = json.loads((tmp_path / "result.json").read_text("utf-8"))
    assert [part["name"] for part in document["experiments"]] == [e.name for e in SMALL]


@pytest.mark.slow
def test_the_errors_are_those_of_equation_37() -> None:
    rests, motion = (apart(run) for run in runs()[:2])
    apart_ends = np.linalg.norm(runs()[0].chain.ends - runs()[0].lumped.ends, axis=2)
    assert rests.sectional == apart_ends.max()
    assert rests.cumulative == apart_ends.sum(axis=1).max()
    assert motion.sectional <= motion.cumulative <= 2.0 * motion.sectional


@pytest.mark.parametrize("run", range(len(SMALL)), ids=[e.name for e in SMALL])
def test_every_kind_has_figures_on_one_report(run: int, tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("stays", encoding="utf-8")
    write_hydraulic_experiments(runs()[run : run + 1], tmp_path)
    page = (tmp_path / "report.html").read_text("utf-8")
    images = [name for name in names(tmp_path) if name.endswith(".png")]
    assert page.count('<img src="data:image/png') == len(images) >= 1
    assert "http" not in page
    for number in numbers(runs()[run]):
        assert f"<td>{number.kind}</td>" in page
    write_hydraulic_experiments(runs()[:1], tmp_path, report=False)
    assert names(tmp_path) == sorted(["errors.csv", "mine.txt", "numbers.csv", "rests.csv",
                                      "result.json"])  # fmt: skip
