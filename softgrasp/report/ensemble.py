"""Figure and table of a grasp with the fingers of a calibration's posterior."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from softgrasp.report import style
from softgrasp.sweeps.ensemble import QUANTITIES, EnsembleResult

MILLI = 1e3


def draw_ensemble(ensemble: EnsembleResult, path: str | Path) -> Path:
    """Draw the bands of force and displacement over time.

    Raises:
        ResultError: The file cannot be written.
    """
    drawn = (
        ("sum of the normal forces on the object [N]", ensemble.force, 1.0),
        ("displacement of the object [mm]", ensemble.displacement, MILLI),
    )
    with style.figure(path, 3.0) as (figure, table):
        panels = style.subplots(figure, 2, margins=(0.6, 0.1, 0.5, 0.55))
        for axes, (title, band, factor) in zip(panels, drawn, strict=True):
            axes.set_title(title)
            if not band.time:
                continue
            time, low, median, high, nominal = (
                np.array(band.time),
                *(factor * np.array(x) for x in (band.low, band.median, band.high, band.nominal)),
            )
            color, label = style.SERIES[0], "2.5 to 97.5 %"
            axes.fill_between(time, low, high, color=color, alpha=0.25, lw=0, label=label)
            table.plot(axes, time, median, f"median of {title}", color=color, label="median")
            table.plot(axes, time, nominal, f"calibrated finger: {title}", color=style.INK,
                       ls="--", label="calibrated finger")  # fmt: skip
            table.add({"time [s]": time, f"2.5 % of {title}": low, f"97.5 % of {title}": high})
            style.time_limits(axes, time)
        style.edge_labels(figure)
        style.legend(figure)
    return Path(path)


def band_rows(ensemble: EnsembleResult) -> list[list[str]]:
    """Return table rows: quantity, calibrated finger, quantiles; lengths in mm."""
    rows = []
    for band in ensemble.bands:
        name = QUANTITIES[band.quantity]
        factor = MILLI if name.endswith("[m]") else 1.0
        numbers = (band.nominal, band.low, band.median, band.high)
        cells = ["–" if x is None else f"{factor * x:.3g}" for x in numbers]
        rows.append([name.replace("[m]", "[mm]"), *cells])
    return rows
