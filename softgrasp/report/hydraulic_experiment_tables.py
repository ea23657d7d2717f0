"""The experiments of paper 003 as tables: numbers and recordings in CSV, rows of the page."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np

from softgrasp.mechanics.transforms import Array
from softgrasp.report.csv_file import write_columns, write_csv
from softgrasp.report.hydraulic_numbers import Apart, Number, apart, numbers
from softgrasp.report.style import signed
from softgrasp.simulation.hydraulic_experiment_results import (
    CHAIN,
    LUMPED,
    AnyRun,
    Finer,
    MotionRun,
    ReachRun,
    RefinementRun,
    RestsRun,
)

NUMBERS, ERRORS = "numbers.csv", "errors.csv"
NUMBER_HEADS = ("experiment", "what", "unit", "paper", "chain", "lumped", "kind", "agrees")
ERROR_HEADS = (
    "experiment", "max_sectional_m", "max_cumulative_m", "last_cumulative_m",
    "paper_against_its_experiment_m",
)  # fmt: skip
Row = list[str | float]


def write_numbers(runs: Sequence[AnyRun], directory: Path) -> list[Path]:
    """Write ``numbers.csv`` and ``errors.csv``, everything at full precision.

    Raises:
        ResultError: The folder cannot be written.
    """
    rows: list[Row] = [
        [n.experiment, n.what, n.unit, n.paper, n.chain, n.lumped, n.kind, n.met]
        for run in runs
        for n in numbers(run)
    ]
    errors: list[Row] = [
        [e.experiment, e.sectional, e.cumulative, e.last, e.paper] for e in errors_of(runs)
    ]
    return [
        write_csv(directory / NUMBERS, NUMBER_HEADS, rows),
        write_csv(directory / ERRORS, ERROR_HEADS, errors),
    ]


def errors_of(runs: Iterable[AnyRun]) -> list[Apart]:
    """The errors (37) of all experiments that have some."""
    return [difference for difference in map(apart, runs) if difference is not None]


def write_recording(run: AnyRun, path: Path) -> Path:
    """Write all that an experiment recorded: a row a time, a rest, a pressure, a number of cells.

    Raises:
        ResultError: The place cannot be written.
    """
    if isinstance(run, MotionRun):
        columns = _of_motion(run)
    elif isinstance(run, RestsRun):
        columns = _of_rests(run)
    elif isinstance(run, ReachRun):
        columns = _points(CHAIN, run.chain[:, None]) | _points(LUMPED, run.lumped[:, None])
    else:
        return write_csv(path, REFINEMENT_HEADS, refinement_rows(run))
    return write_columns(path, columns)


def _of_motion(run: MotionRun) -> dict[str, Array]:
    chain = run.run
    columns = {"time_s": chain.times}
    columns |= _columns("torque", "Nm", chain.commanded) | _columns(
        "pressure", "Pa", chain.pressures
    )
    for name, shapes in ((CHAIN, run.chain), (LUMPED, run.lumped)):
        columns |= _points(name, shapes.ends)
        curved = shapes.curvatures.reshape(len(chain.times), -1)
        columns |= _columns(f"{name}_curvature", "1_per_m", curved, _pairs(curved.shape[1] // 2))
        columns |= _columns(f"{name}_speed", "m_per_s", run.recordings[name].speeds)
    return columns | _columns("error", "m", run.errors.errors)


def _of_rests(run: RestsRun) -> dict[str, Array]:
    columns = _columns("torque", "Nm", run.experiment.torques)
    for name, shapes in ((CHAIN, run.chain), (LUMPED, run.lumped)):
        bends = shapes.bends.reshape(len(shapes.bends), -1)
        columns |= _points(name, shapes.ends)
        columns |= _columns(f"{name}_bend", "rad", bends, _pairs(bends.shape[1] // 2))
        columns |= _columns(f"{name}_length", "m", shapes.lengths)
    return columns | _columns("error", "m", run.errors)


def _columns(
    name: str, unit: str, values: Array, marks: Sequence[str] | None = None
) -> dict[str, Array]:
    """Columns by name, counted from 1."""
    marks = marks or [str(k) for k in range(1, values.shape[1] + 1)]
    return {f"{name}_{mark}_{unit}": column for mark, column in zip(marks, values.T, strict=True)}


def _points(name: str, ends: Array) -> dict[str, Array]:
    marks = [f"{k}_{axis}" for k in range(1, ends.shape[1] + 1) for axis in "xyz"]
    return _columns(f"{name}_end", "m", ends.reshape(len(ends), -1), marks)


def _pairs(sections: int) -> list[str]:
    return [f"{k}_{axis}" for k in range(1, sections + 1) for axis in "xy"]


REFINEMENT_HEADS = (
    "model", "cells_or_arcs", "end_x_m", "end_z_m", "change_m", "bend_1_deg", "bend_2_deg",
)  # fmt: skip
REFINEMENT_WORDS = (
    "model", "cells or arcs", "x of the end [m]", "z of the end [m]", "change of the end [m]",
    "bend 1 [°]", "bend 2 [°]",
)  # fmt: skip
"""The same in words, for a page."""


def refinement_rows(run: RefinementRun) -> list[Row]:
    """A row a model and a number of cells or arcs, and one of each model's limit."""
    return [*_finer_rows(CHAIN, run.chain), *_finer_rows(LUMPED, run.lumped)]


def _finer_rows(model: str, finer: Finer) -> list[Row]:
    changes = [math.nan, *finer.changes.tolist(), math.nan]
    counts = [*map(str, finer.counts), "limit"]
    ends = np.concatenate([finer.ends[:, -1], finer.limit(finer.ends)[None, -1]])
    bends = np.degrees(np.concatenate([finer.bends, finer.limit(finer.bends)[None]]))
    return [
        [model, count, float(end[0]), float(end[2]), change, *bend.tolist()]
        for count, end, change, bend in zip(counts, ends, changes, bends, strict=True)
    ]


def number_rows(run: AnyRun) -> list[list[str]]:
    """What it found, the paper's number and both models', as words of a page."""
    return [
        [
            n.what,
            n.unit,
            n.paper,
            _value_text(n, n.chain),
            _value_text(n, n.lumped),
            n.kind,
            n.met or "–",
        ]
        for n in numbers(run)
    ]


def _value_text(number: Number, value: float) -> str:
    return signed(value, number.digits) if math.isfinite(value) else "not seen"


def error_rows(runs: Iterable[AnyRun]) -> list[list[str]]:
    """The errors (37) of all experiments as words of a page."""
    return [
        [
            e.experiment, signed(e.sectional, 4), signed(e.cumulative, 4),
            "–" if math.isnan(e.last) else signed(e.last, 4), e.paper or "–",
        ]
        for e in errors_of(runs)
    ]  # fmt: skip


def refinement_words(run: RefinementRun) -> list[list[str]]:
    """``refinement_rows`` as words of a page, under ``REFINEMENT_WORDS``."""
    digits = (4, 4, 4, 3, 3)
    return [
        [
            str(row[0]), str(row[1]),
            *("–" if math.isnan(float(v)) else signed(float(v), d)
              for v, d in zip(row[2:], digits, strict=True)),
        ]
        for row in refinement_rows(run)
    ]  # fmt: skip
