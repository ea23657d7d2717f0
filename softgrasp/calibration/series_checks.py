"""Checks of repeated series of measurements: what changed between them is no noise.

A series is the k-th row of each weight or pressure, in the order of the file. The difference of a
series from the mean of the others is a line over that mean, d = a + b·y: an offset a, such as a
camera that was moved, and a factor 1 + b, such as a joint that broke. A t test with the scatter
about all lines tells whether b is chance (Seber and Lee, *Linear Regression Analysis*, 2003,
ch. 4).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
from scipy import stats

from softgrasp.calibration.measurement_checks import Finding, doubt
from softgrasp.description.calibration import CalibrationProblem
from softgrasp.mechanics.transforms import Array

CHANCE = 1e-4
"""Probability by chance below which a factor is reported, over the number of tests [–]."""
CHANGED = {"springs": 0.08, "torques": 0.03}
"""Smallest change of a factor that is reported [–]: beyond creep and hysteresis of silicone."""
MIN_LEVELS = 3
"""Fewest weights or pressures that series have in common."""
ROUNDING = 1e-3
"""Scatter that is assumed in any case, over the largest value [–]."""


class _Factor(NamedTuple):
    """Factor of a series over the others."""

    series: int
    column: int
    """Joint, or -1 for all together."""
    value: float
    chance: float
    """Probability of it, or of a larger change, by chance."""


def series_findings(problem: CalibrationProblem) -> Iterator[Finding]:
    """Yield joints, and tip forces, that changed between repeated series of measurements."""
    hung = [reading for reading in problem.hung if not reading.held_out]
    count = min((len(reading.angles) for reading in hung), default=0)
    angles = _series([(reading.mass, reading.angles[:count]) for reading in hung])
    worst = _change(angles, CHANGED["springs"])
    if worst is not None:
        what = "all angles" if worst.column < 0 else f"the angles of joint {worst.column + 1}"
        yield _finding(
            "springs", f"{what} in series {worst.series + 1}", worst,
            "did the joint break or stick" if worst.column >= 0 else "did weights or finger change",
        )  # fmt: skip
    forces = [(force.pressure, (force.force,)) for force in problem.forces if not force.held_out]
    worst = _change(_series(forces), CHANGED["torques"])
    if worst is not None:
        yield _finding("torques", f"the forces of series {worst.series + 1}", worst,
                       "did the finger leak or tire, or was the scale changed")  # fmt: skip


def _finding(stage: str, what: str, factor: _Factor, question: str) -> Finding:
    return doubt(
        f"{stage}: {what} are {factor.value:.2f} times those of the other repeats (p = "
        f"{factor.chance:.1g}); {question} between the series? Calibrate each series alone",
        refutes=True,
    )


def _series(rows: Sequence[tuple[float, Sequence[float]]]) -> Array:
    """Return values (s, l, n) of complete series: the k-th row of each level, levels ascending."""
    levels: dict[float, list[Sequence[float]]] = defaultdict(list)
    for level, values in rows:
        levels[level].append(values)
    repeats = [values for _, values in sorted(levels.items()) if len(values) > 1]
    count = min((len(values) for values in repeats), default=0)
    return np.array([[values[k] for values in repeats] for k in range(count)], dtype=float)


def _change(values: Array, smallest: float) -> _Factor | None:
    """Return what changed in a series (s, l, n) over the mean of the others: a column, or all.

    A column is compared with the other columns of its series, so that what changed all is not
    taken for its change. None where every change is small or chance.
    """
    if values.ndim < 3 or min(values.shape) < 1 or values.shape[1] < MIN_LEVELS:
        return None
    series, levels, columns = values.shape
    others = (values.sum(axis=0) - values) / (series - 1)
    line = others - others.mean(axis=1, keepdims=True)
    apart = values - others
    apart = apart - apart.mean(axis=1, keepdims=True)
    squares = np.maximum(np.square(line).sum(axis=1), 1e-300)
    slopes = (line * apart).sum(axis=1) / squares
    left = apart - line * slopes[:, None]
    variance = np.square(left).sum() / (series * columns * (levels - 2))
    variance += (ROUNDING * float(np.abs(values).max())) ** 2
    freedom = columns * (levels - 2) * (series - 1)

    def largest(changes: Array, errors: Array) -> _Factor | None:
        """Return the surest of changes (s, n) that is neither small nor chance."""
        chances = 2.0 * stats.t.sf(np.abs(changes) / errors, freedom) * changes.size
        chances = np.where(np.abs(changes) > smallest, chances, 1.0)
        row, column = np.unravel_index(int(np.argmin(chances)), chances.shape)
        chance = float(chances[row, column])
        whole = changes.shape[1] == 1
        change = float(changes[row, column] if whole else slopes[row, column])
        return _Factor(int(row), -1 if whole else int(column), 1.0 + change, chance) if (
            chance < CHANCE) else None  # fmt: skip

    total, weighted = squares.sum(axis=1, keepdims=True), squares * slopes
    together = weighted.sum(axis=1, keepdims=True)
    whole = largest(together / total, np.sqrt(variance / total))
    if columns == 1:
        return whole
    rest = np.maximum(total - squares, 1e-300)
    alone = slopes - (together - weighted) / rest
    return largest(alone, np.sqrt(variance * (1.0 / squares + 1.0 / rest))) or whole
