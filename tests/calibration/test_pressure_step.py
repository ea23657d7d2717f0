"""Dead time and time constants from steps of a pressure, and what speaks against a record."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import softgrasp as sg
from softgrasp.calibration import pressure_step
from softgrasp.calibration.pressure_step import (
    PressureFit,
    PressureRecord,
    fit_pressure_lag,
    read_pressure_record,
    step_response,
)
from softgrasp.errors import DescriptionError
from tests.conftest import Golden, Run

Array = np.ndarray
TRUE = {"dead_time": 0.03, "fill_time": 0.08, "vent_time": 0.2}
HIGH, NOISE, PERIOD = 100e3, 500.0, 4e-3


def drawn(
    seed: int = 0, second: tuple[float, ...] = (), noise: float = NOISE, end: float = 2.0,
    period: float = PERIOD, change: Callable[[Array], Array] = lambda p: p,
) -> PressureRecord:  # fmt: skip
    """A step up at 0.1 s and down at 1 s, with noise, changed."""
    times = period * np.arange(round(end / period))
    commands = np.where((times >= 0.1) & (times < 1.0), HIGH, 0.0)
    exact = PressureRecord(times, commands, np.zeros_like(times))
    fill, vent = (np.array([TRUE[name], *second]) for name in ("fill_time", "vent_time"))
    pressures = step_response(exact, TRUE["dead_time"], fill, vent)
    pressures = pressures + noise * np.random.default_rng(seed).standard_normal(len(times))
    return PressureRecord(times, commands, change(pressures))


@pytest.mark.parametrize("second", [(), (0.05,), (0.08,)])
def test_the_response_solves_the_differential_equations(second: tuple[float, ...]) -> None:
    """Commands jump to drawn levels before the last one is reached; equal time constants too."""
    times = np.linspace(0.0, 1.0, 201)
    commands = (HIGH * np.random.default_rng(1).random(5))[(times // 0.2).clip(0, 4).astype(int)]
    record = PressureRecord(times, commands, 0.0 * times)
    constants = np.array([0.08, *second])
    dead = 0.0123

    def slope(time: float, state: Array) -> Array:
        row = np.searchsorted(times, time - dead, side="right") - 1
        return (np.append(commands[max(int(row), 0)], state[:-1]) - state) / constants

    solved = solve_ivp(slope, (0.0, 1.0), np.full(len(constants), commands[0]), t_eval=times,
                       max_step=1e-3, rtol=1e-8)  # fmt: skip
    response = step_response(record, dead, constants, constants)
    np.testing.assert_allclose(response, solved.y[-1], atol=2e-3 * HIGH)


@pytest.mark.slow
def test_constants_are_recovered_within_their_errors() -> None:
    """Of 15 drawn records; errors of time constants are neither too small nor too large."""
    off = []
    for seed in range(15):
        fit = fit_pressure_lag(drawn(seed))
        assert fit.doubts == ()
        assert "second_time" not in fit.values
        assert abs(fit.values["dead_time"] - TRUE["dead_time"]) < PERIOD
        off.append([(fit.values[name] - TRUE[name]) / fit.errors[name]
                    for name in ("fill_time", "vent_time")])  # fmt: skip
    assert 0.65 < np.std(off) < 1.4
    assert abs(np.mean(off)) < 0.5


def test_a_second_lag_is_taken_where_there_is_one() -> None:
    """And acts as half of it as dead time and half as lag, near the measured response."""
    record = drawn(second=(0.04,))
    fit = fit_pressure_lag(record)
    assert fit.improvement > 100.0
    assert fit.values["second_time"] == pytest.approx(0.04, rel=0.1)
    assert fit.values["fill_time"] == pytest.approx(0.08, rel=0.1)
    lag = fit.lag
    assert lag.fill_time == pytest.approx(0.10, rel=0.05)
    assert lag.dead_time == pytest.approx(0.05, rel=0.1)
    reduced = step_response(record, lag.dead_time, np.array([lag.fill_time]), np.array([lag.vent]))
    assert np.abs(reduced - fit.fitted).max() < 0.08 * HIGH
    assert fit_pressure_lag(drawn(noise=0.0)).improvement < 0.0


FAULTS: dict[str, tuple[dict[str, Any], str]] = {
    "short": ({"end": 0.3}, "too short"),
    "slow": ({"period": 0.05}, "sampled too slowly"),
    "saturated": ({"change": lambda p: np.minimum(p, 0.8 * HIGH)}, "saturates"),
    "bar": ({"change": lambda p: 0.01 * p}, "units"),
    "early": ({"change": lambda p: np.roll(p, -20)}, "precedes"),
    "overshoot": (
        {"change": lambda p: p + 0.2 * HIGH * np.exp(-np.abs(np.arange(len(p)) - 80) / 15)},
        "overshoots",
    ),
    "slip": ({"change": lambda p: np.where(p < 0.4 * HIGH, 0.3 * p, p)}, "one lag nor two"),
}


@pytest.mark.parametrize("name", FAULTS)
def test_faults_of_a_record_are_doubted(name: str) -> None:
    fields, word = FAULTS[name]
    assert any(word in doubt for doubt in fit_pressure_lag(drawn(**fields)).doubts)


def write(path: Path, record: PressureRecord, commands: Array | None = None) -> Path:
    columns = (record.times, 1e-3 * (record.commands if commands is None else commands),
               1e-3 * record.pressures)  # fmt: skip
    rows = [",".join(f"{x:.6g}" for x in row) for row in zip(*columns, strict=True)]
    path.write_text("\n".join(["time_s,command_kPa,pressure_kPa", *rows, ""]))
    return path


def test_records_without_a_step_are_refused(tmp_path: Path, golden: Golden) -> None:
    record = drawn()
    ramp = np.linspace(0.0, HIGH, len(record.times))
    for commands in (ramp, 0.0 * ramp):
        with pytest.raises(DescriptionError) as caught:
            read_pressure_record(write(tmp_path / "a.csv", record, commands))
        assert caught.value.field == "command"
        assert caught.value.file == tmp_path / "a.csv"
    few = PressureRecord(record.times[:5], record.commands[:5], record.pressures[:5])
    golden.refused(lambda: read_pressure_record(write(tmp_path / "b.csv", few)), "20 rows")


def test_the_command_writes_a_finger_that_lags(run: Run, tmp_path: Path) -> None:
    """Numbers, figure and finger; a doubtful record exits with 1, unless it is accepted."""
    good, out = write(tmp_path / "good.csv", drawn()), tmp_path / "out"
    options = ["calibrate", "--finger", "paper000", "--pressure-step"]
    assert run(*options, str(good), "--out", str(out)).code == 0
    document = json.loads((out / "pressure_step.json").read_text())
    assert document["values"]["fill_time"] == pytest.approx(0.08, rel=0.02)
    assert (out / "pressure_step.png").is_file()
    lag = sg.io.load_finger(out / "finger.yaml").pressure_lag
    assert lag.vent == pytest.approx(0.2, rel=0.02)
    short = write(tmp_path / "short.csv", drawn(end=0.3))
    for code, more in ((1, []), (0, ["--accept"])):
        ran = run(*options, str(short), "--out", str(tmp_path / f"short{code}"), *more)
        assert ran.code == code


def test_residuals_that_drift_are_worth_few_values() -> None:
    """The more neighbours are alike, the fewer values a record is worth, to 1 of 199."""
    count = 400
    record = PressureRecord(np.arange(count) * 1e-3, np.zeros(count), np.zeros(count))
    drift = np.linspace(-1.0, 1.0, count)
    noise = np.random.default_rng(0).standard_normal(count)
    worth = [
        pressure_step._inflation(record, PressureFit({}, {}, 0.0, 1.0, 0.0, 0.0, (), left))
        for left in (noise, noise + 2.0 * drift, drift)
    ]
    assert worth[0] < 1.3
    assert worth[0] < worth[1] < worth[2]
    assert worth[2] == pytest.approx(199.0)
