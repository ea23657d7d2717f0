"""Lag of a finger's pressure behind the command, from records of steps (``softgrasp calibrate``).

The response to a command that is constant between jumps is known in closed form, for one lag and
for two in series, whose time constants differ between filling and venting. Dead time and time
constants are fitted by least squares; level and factor of the sensor follow linearly. Two lags are
taken where Akaike's criterion, with as many values as the correlated residuals are worth, prefers
them clearly.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, fields, replace
from itertools import pairwise, product
from pathlib import Path
from typing import Any

import numpy as np
from scipy.optimize import least_squares

from softgrasp.description.soft_finger import PressureLag
from softgrasp.errors import DescriptionError
from softgrasp.io.tables import Column, read_table
from softgrasp.mechanics.transforms import Array
from softgrasp.units import TABLE_PRESSURES

COLUMNS = (
    Column("time", {"s": 1.0, "ms": 1e-3}),
    Column("command", TABLE_PRESSURES),
    Column("pressure", TABLE_PRESSURES),
)
FEWEST = 20
"""Fewest rows of a record."""
JUMP = 0.5
"""Smallest jump of the command between two rows over its range, below which it is no step [–]."""
DIFFERENT = 1e-3
"""Change of the command over its range that counts as one [–]."""
ENDURING = 3.0
"""Time constants that the record has to last after a step [–]."""
SAMPLED = 3.0
"""Rows that there have to be in a time constant."""
FACTORS = (0.9, 1.1)
"""Measured over commanded change of the pressure, outside of which it is doubted [–]."""
SATURATED = 0.05
"""Fraction of rows at exactly the highest pressure from which, below the command, it is doubted."""
REACHED = 0.98
"""Fraction of the commanded pressure that a sensor has to show [–]."""
LEFT = 0.03
"""Residual over the range of the pressure from which the lag does not describe it [–]."""
OVERSHOOT = 0.05
"""Pressure beyond its level over the range from which it overshoots [–]."""
DETERMINED = 1 / 3
"""Relative standard error from which a time constant is not determined [–]."""
NOISY = 4.0
"""Residual, or overshoot, over the noise from which it is no noise [–]."""
PREFERRED = 10.0
"""Difference of Akaike's criterion from which two lags are taken."""
USUAL = (1e-3, 30.0)
"""Time constants of valves and hoses, outside of which the unit of the time is doubted [s]."""
MAX_CORRELATION = 0.99
"""Largest correlation of neighbouring residuals that is allowed for [–]."""
ROUNDING = 1e-6
"""Residual over the range of the command that no model improves on [–]."""
APART = 1.0 + 1e-6
"""Ratio that two time constants have at least, as the solution divides by their difference [–]."""
DEAD_STARTS, LAG_STARTS = (0.0, 0.02, 0.05, 0.1, 0.2), (0.02, 0.05, 0.1, 0.2, 0.4)
"""Dead times and time constants over the longest part, from which the fit starts [–]."""
SECOND = 0.2
"""Second time constant over the first, from which the fit starts [–]."""


@dataclass(frozen=True)
class PressureRecord:
    """Commanded and measured pressure over time, (m,) each, with a command in steps."""

    times: Array
    """Times [s]."""
    commands: Array
    """Each until the next row [Pa]."""
    pressures: Array
    """Pressures [Pa]."""

    @property
    def jumps(self) -> list[int]:
        """Rows in which the command changes."""
        changes = np.abs(np.diff(self.commands)) > DIFFERENT * np.ptp(self.commands)
        return [int(row) + 1 for row in np.flatnonzero(changes)]


@dataclass(frozen=True)
class PressureFit:
    """Lag of a pressure with its uncertainty.

    Args:
        values: Parameters by name: ``dead_time``, ``fill_time``, ``vent_time`` where there are such
            steps, ``second_time`` of a second lag [s].
        errors: Standard error of each [s].
        residual: Root mean square of the residuals [Pa].
        factor: Measured over commanded change of the pressure [–].
        level: Measured pressure at the command 0 [Pa].
        improvement: Difference of Akaike's criterion by a second lag; above 0 where it is better.
        doubts: What speaks against the record or the fit, as sentences.
        fitted: Pressure of the fit at the rows, (m,) [Pa].
    """

    values: dict[str, float]
    errors: dict[str, float]
    residual: float
    factor: float
    level: float
    improvement: float
    doubts: tuple[str, ...]
    fitted: Array

    @property
    def lag(self) -> PressureLag:
        """The lag for simulations: two lags by half of the second one as dead time, half as lag.

        Raises:
            DescriptionError: There is no step up.
        """
        if "fill_time" not in self.values:
            raise DescriptionError("expected a step up for a lag, found only steps down")
        half = 0.5 * self.values.get("second_time", 0.0)
        times = {name: round(self.values[name] + half, 6) for name in ("fill_time", "vent_time")
                 if name in self.values}  # fmt: skip
        dead = round(max(self.values["dead_time"], 0.0) + half, 6)
        return PressureLag(dead_time=dead, **times)

    def document(self) -> dict[str, Any]:
        """Return everything but the fitted pressures as plain data."""
        document = {field.name: getattr(self, field.name) for field in fields(self)}
        del document["fitted"]
        return document | {"doubts": list(self.doubts)}


def read_pressure_record(path: str | Path) -> PressureRecord:
    """Read a table with the columns ``time_s``, ``command_kPa`` and ``pressure_kPa``.

    Raises:
        DescriptionError: The file cannot be read, has too few rows, the time does not increase, or
            the command does not jump; names the file.
    """
    path = Path(path)
    table = read_table(path, COLUMNS, rising="time")
    record = PressureRecord(table["time"], table["command"], table["pressure"])
    if len(record.times) < FEWEST:
        raise DescriptionError(
            f"expected at least {FEWEST} rows, found {len(record.times)}", file=path
        )
    span = float(np.ptp(record.commands))
    largest = float(np.abs(np.diff(record.commands)).max())
    if largest <= JUMP * span or not span:
        shown = f"changes of {largest:.3g} of {span:.3g} Pa" if span else "a constant command"
        raise DescriptionError(
            f"expected a command that jumps between two rows, found {shown}; record a step, not a "
            "ramp",
            file=path, field="command",
        )  # fmt: skip
    return record


def step_response(record: PressureRecord, dead: float, fill: Array, vent: Array) -> Array:
    """Compute the response to a command from rest, (m,) [Pa].

    Args:
        record: Times and commands.
        dead: Dead time [s].
        fill: Time constants of one lag, or of two in series, while the pressure rises, (1,) or (2,)
            [s].
        vent: The same while it falls.
    """
    times, rows = record.times, [*record.jumps, len(record.times)]
    begin_level = float(record.commands[0])
    state, response = np.full(len(fill), begin_level), np.full(len(times), begin_level)
    for row, following in pairwise(rows):
        target, begin = float(record.commands[row]), times[row] + dead
        last = following == len(times)
        after = (times >= begin) & (last | (times < times[min(following, len(times) - 1)] + dead))
        constants = fill if target > state[-1] else vent
        response[after] = _approach(times[after] - begin, state, target, constants)[-1]
        if not last:
            state = _approach(times[[following]] - times[row], state, target, constants)[:, 0]
    return response


def _approach(since: Array, state: Array, target: float, constants: Array) -> Array:
    """Compute lags in series under a constant target after a time, (n, m) [Pa]."""
    first = (state[0] - target) * np.exp(-since / constants[0])
    if len(state) == 1:
        return np.asarray(target + first[None])
    item, two = constants[0], constants[1]
    two = two * (APART if abs(two / item - 1.0) < APART - 1.0 else 1.0)
    part = (state[0] - target) * item / (item - two)
    second = part * np.exp(-since / item) + (state[1] - target - part) * np.exp(-since / two)
    return target + np.stack([first, second])


def fit_pressure_lag(record: PressureRecord) -> PressureFit:
    """Estimate dead time and time constants from steps of a pressure.

    Args:
        record: The record; see ``read_pressure_record``.
    """
    first, second = (_Model(record, lags).fit() for lags in (1, 2))
    rounding = ROUNDING * float(np.ptp(record.commands))
    ratio = (first.residual**2 + rounding**2) / (second.residual**2 + rounding**2)
    improvement = len(record.times) / _inflation(record, second) * math.log(ratio) - 2.0
    chosen = second if improvement > PREFERRED else first
    return replace(chosen, improvement=improvement, doubts=tuple(_doubts(record, chosen)))


def _inflation(record: PressureRecord, fit: PressureFit) -> float:
    """Return the rows that are worth one independent value, by their correlation [–]."""
    left = fit.fitted - record.pressures
    rho = left[1:] @ left[:-1] / max(float(left @ left), 1e-300)
    correlation = min(max(float(rho), 0.0), MAX_CORRELATION)
    return (1.0 + correlation) / (1.0 - correlation)


class _Model:
    """Least squares of a response with one lag, or two in series."""

    def __init__(self, record: PressureRecord, lags: int) -> None:
        self.record, self.lags = record, lags
        steps = np.diff(record.commands)
        present = {"fill_time": bool((steps > 0.0).any()), "vent_time": bool((steps < 0.0).any())}
        times = [name for name, is_there in present.items() if is_there]
        self.names = ("dead_time", *times, *["second_time"] * (lags - 1))

    def response(self, parameters: Array) -> Array:
        """Compute the response with dead time and logarithms of time constants, (m,)."""
        known = dict(zip(self.names[1:], np.exp(parameters[1:]), strict=True))
        second = [known["second_time"]] if self.lags == 2 else []
        either = next(known[name] for name in ("fill_time", "vent_time") if name in known)
        fill, vent = (np.array([known.get(f"{name}_time", either), *second])
                      for name in ("fill", "vent"))  # fmt: skip
        return step_response(self.record, float(parameters[0]), fill, vent)

    def _linear(self, response: Array) -> Array:
        """Return factor and level with which a response is nearest to the pressures, (2,)."""
        columns = np.column_stack([response, np.ones(len(response))])
        return np.asarray(np.linalg.lstsq(columns, self.record.pressures, rcond=None)[0])

    def _left(self, parameters: Array) -> Array:
        response = self.response(parameters)
        factor, level = self._linear(response)
        return np.asarray(factor * response + level - self.record.pressures)

    def fit(self) -> PressureFit:
        """Fit from the best two of a grid of starts, as the dead time has local minima."""
        record, count = self.record, len(self.names) - self.lags
        longest = float(np.diff(record.times[[*record.jumps, -1]]).max())
        scale = max(float(np.ptp(record.pressures)), 1e-9)
        starts = [
            np.append(dead * longest, np.log(
                [time * longest] * count + [SECOND * time * longest] * (self.lags - 1)
            ))
            for dead, time in product(DEAD_STARTS, LAG_STARTS)
        ]  # fmt: skip
        ends = np.full((2, len(self.names)), np.log([[1e-4 * longest], [10.0 * longest]]))
        ends[:, 0] = -0.2 * longest, longest
        starts.sort(key=lambda start: float(np.square(self._left(start)).sum()))

        def left(z: Array) -> Array:
            return self._left(z) / scale

        solutions = [
            least_squares(left, start, x_scale="jac", bounds=(ends[0], ends[1]))
            for start in starts[:2]
        ]
        z = min(solutions, key=lambda item: float(item.cost)).x
        return self._assessed(np.asarray(z))

    def _assessed(self, z: Array) -> PressureFit:
        """Return the fit with errors that allow for correlated residuals."""
        record, response = self.record, self.response(z)
        factor, level = self._linear(response).tolist()
        steps = np.diag(np.append(1e-3 * np.exp(z[1:]).min(), np.full(len(z) - 1, 1e-4)))
        slopes = [factor * (self.response(z + step) - self.response(z - step)) / (2.0 * step.max())
                  for step in steps]  # fmt: skip
        jacobian = np.column_stack([*slopes, response, np.ones(len(response))])
        scale = np.linalg.norm(jacobian, axis=0) + 1e-300
        covariance = np.linalg.pinv((jacobian / scale).T @ (jacobian / scale))
        errors = (np.sqrt(np.diag(covariance).clip(0.0)) / scale)[: len(z)]
        values = np.append(z[0], np.exp(z[1:]))
        errors[1:] *= values[1:]
        fitted = factor * response + level
        residual = float(np.sqrt(np.square(fitted - record.pressures).mean()))
        fit = PressureFit(dict(zip(self.names, values.tolist(), strict=True)), {}, residual,
                          factor, level, 0.0, (), fitted)  # fmt: skip
        spare = max(len(response) - len(scale), 1)
        errors *= residual * math.sqrt(len(response) / spare * _inflation(record, fit))
        # the command may have changed at any time between two rows
        errors[0] = math.hypot(errors[0], float(np.median(np.diff(record.times))) / math.sqrt(12.0))
        return replace(fit, errors=dict(zip(self.names, errors.tolist(), strict=True)))


def _doubts(record: PressureRecord, fit: PressureFit) -> Iterator[str]:
    """Yield what speaks against a record or a fit."""
    yield from _sampling_doubts(record, fit)
    low, high = FACTORS
    if not low <= fit.factor <= high:
        yield (f"the pressure changes by {fit.factor:.3g} of the command: units of the columns, "
               "or another pressure than the commanded one")  # fmt: skip
    highest, span = float(record.pressures.max()), max(float(np.ptp(record.pressures)), 1e-9)
    equal = float(np.mean(record.pressures == highest))
    if equal > SATURATED and highest < REACHED * record.commands.max():
        yield (f"{equal:.0%} of the rows are at exactly {1e-3 * highest:.4g} kPa, below the "
               "command: the sensor saturates, or the supply is too weak")  # fmt: skip
    noise = float(np.median(np.abs(np.diff(record.pressures))))
    ends = fit.factor * np.array([record.commands.min(), record.commands.max()]) + fit.level
    beyond = float(max(highest - ends.max(), ends.min() - record.pressures.min()))
    if beyond > max(OVERSHOOT * span, NOISY * noise):
        yield f"the pressure overshoots by {beyond / span:.0%}: no lag describes that"
    elif fit.residual > max(LEFT * span, NOISY * noise):
        yield (f"residuals of {fit.residual / span:.0%} of the range are more than noise: neither "
               "one lag nor two describe the response")  # fmt: skip


def _sampling_doubts(record: PressureRecord, fit: PressureFit) -> Iterator[str]:
    """Yield what is wrong with the times of a record."""
    values, period = fit.values, float(np.median(np.diff(record.times)))
    dead = values["dead_time"]
    for begin, end in pairwise([*record.jumps, len(record.times) - 1]):
        name = "fill_time" if record.commands[begin] > record.commands[begin - 1] else "vent_time"
        lasted, needed = record.times[end] - record.times[begin], dead + ENDURING * values[name]
        if lasted < needed:
            yield (f"too short: {lasted:.3g} s after the step at {record.times[begin]:.3g} s, "
                   f"expected at least {needed:.3g} s")  # fmt: skip
            break
    shortest = min(values[name] for name in ("fill_time", "vent_time") if name in values)
    if period * SAMPLED > shortest:
        yield (f"sampled too slowly: a row every {period:.3g} s, expected one every "
               f"{shortest / SAMPLED:.2g} s or less")  # fmt: skip
    for name, error in fit.errors.items():
        if name != "dead_time" and not error <= DETERMINED * values[name]:
            yield f"{name} is not determined: {values[name]:.3g} ± {error:.2g} s"
    if dead < -max(3.0 * fit.errors["dead_time"], period):
        yield (f"the pressure precedes the command by {-dead:.3g} s: expected one clock for both "
               "columns")  # fmt: skip
    if not USUAL[0] <= shortest <= USUAL[1]:
        yield f"a time constant of {shortest:.3g} s is unusual: is the time in its unit?"
