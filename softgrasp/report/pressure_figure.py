"""Figures of pressures: blocked force and grip against pressure, and steps with their lag."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from softgrasp.calibration.pressure_step import PressureFit, PressureRecord
from softgrasp.description.soft_finger import SoftFinger
from softgrasp.evaluation.result import GraspResult
from softgrasp.mechanics.transforms import Array
from softgrasp.report import style
from softgrasp.sim.soft_statics import blocked_force

POINTS = 25
"""Number of pressures of the curve of the blocked tip."""


def draw_pressure(result: GraspResult, path: str | Path) -> Path:
    """Draw the force of the blocked tip, and the grip of each finger, over its pressure.

    The blocked tip presses on a plate that it touches while straight, without weight and friction.
    The grip is the sum of the normal forces of a finger during the run.

    Raises:
        ResultError: The file cannot be written.
    """
    assert result.pressure is not None  # there are soft fingers
    digits = result.scene.hand.soft_fingers
    with style.figure(path, 3.0) as (figure, table):
        margins = (0.55, 0.1, 0.6, 0.3)
        left, right = style.subplots(figure, 2, margins=margins, gaps=(0.7, 0.0))
        for finger, whose, highest in _different(result):
            pressures = np.linspace(0.0, highest, POINTS)
            forces = blocked_force(finger, pressures)
            table.plot(left, 1e-3 * pressures, forces, f"blocked tip, {whose} [N]",
                       "pressure [kPa]", label=whose)  # fmt: skip
        for index, digit in enumerate(digits):
            color = style.SERIES[index % len(style.SERIES)]
            table.plot(right, 1e-3 * result.pressure[:, index], grip_of(result, digit.name),
                       f"grip, {digit.name} [N]", f"pressure of {digit.name} [kPa]", color=color,
                       lw=1.0, label=digit.name)  # fmt: skip
        left.set_title("force of the blocked tip [N]")
        right.set_title("grip: normal forces of each finger [N]")
        for axes in (left, right):
            axes.set_xlabel("pressure [kPa]")
            axes.set_xlim(left=0.0)
            axes.set_ylim(bottom=0.0)
            axes.legend(loc="upper left", frameon=False, fontsize=8)
    return Path(path)


def draw_pressure_record(record: PressureRecord, fit: PressureFit, path: str | Path) -> Path:
    """Draw commanded, measured and fitted pressure over time.

    Raises:
        ResultError: The file cannot be written.
    """
    with style.figure(path, 3.0) as (figure, table):
        axes = figure.add_subplot()
        for name, values, color in (
            ("command", record.commands, style.TARGET),
            ("pressure", record.pressures, style.SERIES[0]),
            ("fit", fit.fitted, style.SERIES[1]),
        ):
            table.plot(axes, record.times, 1e-3 * values, f"{name} [kPa]", "time [s]", color=color,
                       lw=1.0, label=name)  # fmt: skip
        axes.set_xlabel("time [s]")
        axes.set_ylabel("pressure [kPa]")
        axes.legend(frameon=False, fontsize=8)
    return Path(path)


def grip_of(result: GraspResult, finger: str) -> Array:
    """Sum the normal forces of all links of a soft finger, (T,) [N]."""
    links = [name.startswith(f"{finger}_") for name in result.contact_bodies]
    return np.asarray(result.normal_force[:, links].sum(axis=1))


def _different(result: GraspResult) -> list[tuple[SoftFinger, str, float]]:
    """Return the different planar fingers with the names of their mountings and pressure limits."""
    known: dict[SoftFinger, tuple[list[str], float]] = {}
    for digit in result.scene.hand.soft_fingers:
        names, highest = known.get(digit.finger, ([], 0.0))
        known[digit.finger] = ([*names, digit.name], max(highest, digit.limits[1]))
    return [
        (finger, ", ".join(names), highest)
        for finger, (names, highest) in known.items()
        if {freedom for _, freedom in finger.freedoms} == {"y"}
    ]
