"""How often 95 % intervals of a calibration contain the true values.

Writes its table to docs/data/coverage.md.

python benchmarks/calibration_coverage.py [DRAWS]
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np

from softgrasp.calibration.posterior import joint_posterior
from softgrasp.calibration.stages import VirtualExperiments
from softgrasp.description.calibration import CalibrationProblem
from tests.calibration.draws import DRAWS, truth

PAGE = Path(__file__).parents[1] / "docs" / "data" / "coverage.md"
FIRST_SEED = 1000
"""Seeds below it were used when the settings of the estimate were chosen."""
NAMES = [*(f"k{i}" for i in range(1, 8)), "alpha"]
HEAD = """\
`python benchmarks/calibration_coverage.py {count}` calibrates a known finger from {count} draws
of measurements each (`tests/calibration/draws.py`: four weights, six joints with 0.4° of noise,
five pressures with 10 mN of noise, three times) and counts how often 95 % intervals of its eight
parameters contain the true values. *All* has the 95 % interval of the mean over draws, as the
parameters of one draw depend on each other. The finger is that of Table I, or in the rows that say
so another one in each draw, with stiffnesses drawn from 0.1 to 0.6 N·m/rad independently. No seed
of these draws was used when the settings of the estimate were chosen.

The estimate allows for a tare, an error of the load point, and other systematic errors. Where the
measurements have none of them, its intervals are wider than 95 % needs; where they are drawn from
the priors, coverage is what the intervals state.

| measurements | {names} | all |
|---|{lines}---|
"""


class Coverage(NamedTuple):
    """Hits of the intervals."""

    hits: np.ndarray
    """(draws, 8)."""

    @property
    def text(self) -> str:
        """Coverage of each parameter and of all, as cells of a table."""
        each = [f"{100 * share:.0f} %" for share in self.hits.mean(axis=0)]
        means = self.hits.mean(axis=1)
        half = 1.96 * means.std(ddof=1) / np.sqrt(len(means))
        return " | ".join([*each, f"{100 * means.mean():.1f} ± {100 * half:.1f} %"])


def hits(draw: Callable[[int], CalibrationProblem], seed: int) -> np.ndarray:
    """Calibrate a draw and compare intervals with the true values, (8,)."""
    warnings.simplefilter("ignore")
    problem = draw(seed)
    found = joint_posterior(problem, VirtualExperiments(problem), seed=seed)
    true = truth(problem)
    return (found.low <= true) & (found.high >= true)


def main(count: int) -> None:
    """Measure all kinds of draws and write the page."""
    text = HEAD.format(count=count, names=" | ".join(NAMES), lines="---|" * len(NAMES))
    seeds = range(FIRST_SEED, FIRST_SEED + count)
    with ProcessPoolExecutor() as pool:
        for name, draw in DRAWS.items():
            contained = list(pool.map(partial(hits, draw), seeds, chunksize=10))
            row = f"| {name} | {Coverage(np.array(contained)).text} |\n"
            print(row, end="", flush=True)
            text += row
    PAGE.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 200)
