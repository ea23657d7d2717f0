"""Rows of a table of angles that do not fit the others, and what explains them.

The stage is fitted without each row, and without the last ones. An F test shows whether the others
then agree so much better that these rows are wrong (deletion of observations: Cook and Weisberg,
*Residuals and Influence in Regression*, 1982, ch. 2). Their angles are then compared with those
that the others predict: read with another sign, unit or order, under another load, larger by a
factor, or wrong in one value. Of these the one with the smallest Bayesian information criterion is
reported.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from softgrasp.calibration.optimizers import least_squares_search
from softgrasp.calibration.stages import Search, Stage, VirtualExperiments
from softgrasp.calibration.systematic_errors import DEGREES
from softgrasp.description.calibration import CalibrationProblem, FreeBend, HungAngles
from softgrasp.mechanics.transforms import Array

CHANCE = 1e-4
"""Probability by chance, of all rows together, below which a row is wrong [–]."""
MIN_ROWS = 3
"""Fewest rows of which one can be told to be wrong."""
LOADS, BEYOND = 121, 3.0
"""Number of loads that are tried for a row, and largest one over the largest load [–]."""
EXPLAINED = 0.9
"""Smallest part of the squared deviation of a row that a reading must explain [–]."""
UNEXPLAINED = 0.2
"""The same part where none explains it, so that a systematic error of one parameter that explains
nearly as much is reported instead [–]."""
FACTOR = 1.08
"""Smallest factor between the angles of a row and those expected that is reported [–]."""
SAME = 0.06
"""Largest relative difference of two loads that are called the same [–]."""

AnglesAt = Callable[[Array, Array, int], Array]
"""Parameters (p,), loads (b,) and a row → the angles of that row under each load, (b, m) [rad]."""


@dataclass(frozen=True)
class AngleTable:
    """Rows of angles under loads.

    Args:
        loads: Load of each row [unit], (l,).
        counts: Number of angles of each row, (l,).
        unit: Unit of the loads.
        at: Simulated angles of a row under other loads.
    """

    loads: Array
    counts: tuple[int, ...]
    unit: str
    at: AnglesAt

    def values(self, rows: range) -> NDArray[np.bool_]:
        """Return which of all measured values belong to some rows, (m,)."""
        number = np.repeat(np.arange(len(self.counts)), self.counts)
        return np.asarray((number >= rows.start) & (number < rows.stop))

    def name(self, rows: range) -> str:
        """Return rows in words."""
        first = f"row{'s' * (len(rows) > 1)} {rows.start + 1}"
        if len(rows) > 1:
            return f"{first} to {rows.stop}"
        return f"{first}, of {self.loads[rows.start]:g} {self.unit}"

    def groups(self) -> list[range]:
        """Return single rows, and the last rows of the table, which may be wrong together."""
        count = len(self.loads)
        singles = [range(row, row + 1) for row in range(count)]
        return singles + [range(row, count) for row in range(MIN_ROWS, count - 1)]


def table_of(
    problem: CalibrationProblem, experiments: VirtualExperiments, stage: Stage, stiffness: Array
) -> AngleTable | None:
    """Return the table that a stage fits; None where it fits no angles.

    Args:
        problem: Calibration problem.
        experiments: Virtual experiments of its finger.
        stage: Stage.
        stiffness: Stiffness of the stage of gains, joint by joint [N·m/rad], (n,).
    """
    if stage.unit != "rad":
        return None
    block = stage.block
    if stage.name == "springs":
        hung = [one for one in problem.hung if not one.held_out]
        counts = tuple(len(one.angles) for one in hung)

        def hanging(parameters: Array, loads: Array, row: int) -> Array:
            rows = [HungAngles(mass=1e-3 * x, angles=hung[row].angles) for x in loads.tolist()]
            return np.concatenate(experiments.hung(block.of_joints(parameters[None]), rows))

        return AngleTable(np.array([1e3 * one.mass for one in hung]), counts, "g", hanging)
    bends = [one for one in problem.bends if not one.held_out]
    counts = tuple(len(one.angles) for one in bends)

    def bending(parameters: Array, loads: Array, row: int) -> Array:
        rows = [FreeBend(pressure=1e3 * x, angles=bends[row].angles) for x in loads.tolist()]
        gains = block.of_joints(parameters[None])
        return np.concatenate(experiments.bends(stiffness[None], gains, rows))

    return AngleTable(np.array([one.pressure / 1e3 for one in bends]), counts, "kPa", bending)


def wrong_rows(
    stage: Stage, position: Array, table: AngleTable, parameters: int
) -> tuple[str, float] | None:
    """Describe the rows without which the others agree far better; None where there are none.

    Args:
        stage: Stage.
        position: Fitted parameters, (p,).
        table: Its rows.
        parameters: Number of parameters that the measurements determine.

    Returns:
        Which rows and what explains it, and the part of the squared residuals of all rows that this
        explains [–].
    """
    groups = table.groups() if len(table.loads) >= MIN_ROWS else []
    total = _squares(stage, position)
    best: tuple[float, range, Array, float] | None = None
    for rows in groups:
        values = table.values(rows)
        freedom = len(values) - int(values.sum()) - parameters
        if freedom < 2:
            continue
        part, fitted = _without(stage, position, values)
        noise = max(_squares(part, fitted) / freedom, 1e-20)
        ratio = (total - noise * freedom) / values.sum() / noise
        chance = float(stats.f.logsf(max(ratio, 0.0), values.sum(), freedom))
        if best is None or chance < best[0]:
            best = chance, rows, fitted, noise
    if best is None or best[0] + math.log(len(groups)) > math.log(CHANCE):
        return None
    _, rows, fitted, noise = best
    values = table.values(rows)
    expected = stage.simulate(fitted[None])[0][values]
    if not np.isfinite(expected).all():
        return None
    words, left = _explained(stage, fitted, table, rows, expected, noise)
    if len(rows) > 1 and left >= float(np.square(expected - stage.measured[values]).sum()):
        return None
    others = noise * (len(values) - values.sum() - parameters)
    return words, max(1.0 - (others + left) / total, 0.0)


def _squares(stage: Stage, position: Array) -> float:
    left = np.nan_to_num(stage.simulate(position[None])[0] - stage.measured, nan=1e3)
    return float(left @ left)


def _without(stage: Stage, position: Array, values: NDArray[np.bool_]) -> tuple[Stage, Array]:
    """Fit a stage again without some measured values, (m,); return it with its parameters."""
    kept = ~values
    measured = stage.measured[kept]
    part = replace(
        stage,
        simulate=lambda p: stage.simulate(p)[:, kept],
        measured=measured,
        fitness=lambda values: np.square(values - measured).sum(axis=-1),
        labels=tuple(np.array(stage.labels)[kept].tolist()),
        timed=np.ones(len(measured), dtype=bool),
    )
    return part, least_squares_search(Search(part), position)


# What explains a row


def _explained(
    stage: Stage, fitted: Array, table: AngleTable, rows: range, expected: Array, noise: float
) -> tuple[str, float]:
    """Return the sentence of the best explanation of rows, and the squares that it leaves."""
    measured = stage.measured[table.values(rows)]
    deviation = float(np.square(measured - expected).sum())
    owner = "its" if len(rows) == 1 else "their"
    name, counts = table.name(rows), table.counts[rows.start : rows.stop]
    expected_rows = np.split(expected, np.cumsum(counts)[:-1])
    tried = []
    for words, change in READINGS.items():
        read = np.concatenate([change(one) for one in expected_rows])
        tried.append((f"{name}: {owner} {words}", _apart(read, measured), 0))
    factor = float(measured @ expected) / max(float(expected @ expected), 1e-20)
    if factor > 0.0 and max(factor, 1.0 / factor) > FACTOR:
        words = f"{name}: {owner} angles are {factor:.2g} times those that the other rows predict"
        words += ", as of another finger, camera or room temperature" * (len(rows) > 1)
        tried.append((words, _apart(factor * expected, measured), 1))
    if len(rows) == 1:
        load, left = _best_load(fitted, table, rows.start, measured)
        tried.append((f"{name}: {_load_words(table, rows.start, load)}", left, 1))
        labels = np.array(stage.labels)[table.values(rows)].tolist()
        tried.append(_single_value(labels, measured, expected))
    count = len(measured)

    def criterion(one: tuple[str, float, int]) -> float:
        return count * math.log(one[1] / count + noise) + one[2] * math.log(count)

    best = min(tried, key=criterion)
    if best[1] - count * noise > (1.0 - EXPLAINED) * deviation:
        apart = DEGREES * math.sqrt(deviation / count)
        # many rows without a cause are rather an error of all rows
        left = UNEXPLAINED * deviation if len(rows) == 1 else deviation
        return f"{name}, does not fit the others, by {apart:.2g}° rms", left
    return best[0], best[1]


def _apart(one: Array, other: Array) -> float:
    """Return the sum of the squared differences."""
    return float(np.square(one - other).sum())


READINGS: dict[str, Callable[[Array], Array]] = {
    "angles have the other sign (a mirrored photograph: flip)": np.negative,
    "angles are in rad, not in degrees": np.radians,
    "angles are in degrees, not in rad": np.degrees,
    "joints are numbered from the tip": np.flip,
    "angles are directions of the links, not rotations of the joints": np.cumsum,
    "angles belong to the joint before": lambda x: np.append(x[:1], x[:-1]),
    "angles belong to the joint after": lambda x: np.append(x[1:], x[-1:]),
}
"""Other readings of the angles of a row, with what it contains where expected angles are right."""


def _best_load(fitted: Array, table: AngleTable, row: int, measured: Array) -> tuple[float, float]:
    """Return the load under which a row fits best, and the squares that it leaves."""
    loads = np.linspace(0.0, BEYOND * float(table.loads.max()), LOADS)
    squares = np.square(table.at(fitted, loads, row) - measured).sum(axis=-1)
    squares = np.nan_to_num(squares, nan=np.inf)
    near = int(squares.argmin())
    fine = np.linspace(loads[max(near - 1, 0)], loads[min(near + 1, LOADS - 1)], 41)
    finer = np.nan_to_num(np.square(table.at(fitted, fine, row) - measured).sum(axis=-1), nan=1e3)
    best = int(finer.argmin())
    return float(fine[best]), float(finer[best])


def _load_words(table: AngleTable, row: int, load: float) -> str:
    """Describe the load of a row."""
    named = table.loads[row]
    words = f"its load was {load:.3g} {table.unit} rather than {named:g} {table.unit}"
    ratio = load / named if named > 0.0 else 0.0
    if 800.0 < ratio < 1250.0:
        return f"{words}, as where it is in k{table.unit}"
    others = np.delete(table.loads, row)
    nearest = float(others[np.abs(others - load).argmin()])
    if abs(nearest - load) < SAME * float(table.loads.max()):
        return f"{words}, as that of the row of {nearest:g} {table.unit}"
    return words


def _single_value(labels: list[str], measured: Array, expected: Array) -> tuple[str, float, int]:
    """Describe one wrong value of a row, with the squares of the others and its two parameters."""
    apart = measured - expected
    worst = int(np.abs(apart).argmax())
    words = f"{labels[worst]} is {DEGREES * abs(apart[worst]):.2g}° too "
    words += "large" if apart[worst] > 0.0 else "small"
    if measured[worst] == 0.0:
        words += ", as a missing value that was filled with 0"
    return words, float(np.square(np.delete(apart, worst)).sum()), 2
