"""Mistakes in tables of bending angles are named; correct tables raise no alarm."""

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from softgrasp.calibration import Credibility
from softgrasp.twin.fit_checks import assess_curves
from softgrasp.twin.piecewise_bending import fit_pressures

Table = tuple[np.ndarray, np.ndarray]
"""Pressures [Pa], (m,), and angles [rad], (m, n)."""
SEEDS = 8


def good(seed: int, pieces: int = 4) -> Table:
    """Angles of a random finger with noise of 0.1 to 0.5°."""
    rng = np.random.default_rng(seed)
    pressures = np.arange(rng.choice([-9, -5, 0]), rng.choice([11, 13])) * 1e4
    x, linear = pressures[:, None] / 1e5, 0.25 * rng.uniform(0.6, 1.6, pieces)
    curved = 1.0 + x * rng.uniform(-0.1, 0.3, pieces) + x**2 * rng.uniform(-0.1, 0.1, pieces)
    noise = rng.normal(0.0, np.radians(rng.uniform(0.1, 0.5)), (len(x), pieces))
    return pressures, x * linear * curved + noise


def verdict(table: Table) -> Credibility:
    lengths = np.full(table[1].shape[1], 0.014)
    return assess_curves(fit_pressures(*table, lengths))


def outlier(p: np.ndarray, q: np.ndarray) -> Table:
    q[5, 1] += 0.25
    return p, q


def dead_band(p: np.ndarray, q: np.ndarray) -> Table:
    q[np.abs(p) < 2.5e4] = 0.0
    return p, q


def saturated(p: np.ndarray, q: np.ndarray) -> Table:
    q[-4:] = q[-5] + np.random.default_rng(0).normal(0.0, 0.003, q[-4:].shape)
    return p, q


def column_in_rad(p: np.ndarray, q: np.ndarray) -> Table:
    q[:, 2] = np.radians(q[:, 2])
    return p, q


def shuffled_column(p: np.ndarray, q: np.ndarray) -> Table:
    q[:, 1] = np.random.default_rng(1).permutation(q[:, 1])
    return p, q


def exchanged_rows(p: np.ndarray, q: np.ndarray) -> Table:
    q[[2, 9]] = q[[9, 2]]
    return p, q


def copied_row(p: np.ndarray, q: np.ndarray) -> Table:
    q[5] = q[4]
    return p, q


MISTAKES: dict[str, tuple[Callable[[np.ndarray, np.ndarray], Table], str, bool]] = {
    "radians": (lambda p, q: (p, np.radians(q)), "compare degrees and radians", True),
    "degrees": (lambda p, q: (p, np.degrees(q)), "compare degrees and radians", True),
    "Pa": (lambda p, q: (1e3 * p, q), "Pa", True),
    "bar": (lambda p, q: (1e-2 * p, q), "such as bar", True),
    "psi": (lambda p, q: (np.round(p / 6.894757, 1), q), "if they are in psi", True),
    "absolute": (lambda p, q: (p + 101_325.0, q), "the pressures are absolute", True),
    "one value": (outlier, "the angle of piece 2 at", True),
    "dead band": (dead_band, "as in a dead band", True),
    "stop": (saturated, "stop", False),
    "column in rad": (column_in_rad, "piece 3 bends", True),
    "shuffled pressures": (
        lambda p, q: (np.random.default_rng(2).permutation(p), q), "the pressures are shuffled",
        True,
    ),
    "shuffled column": (shuffled_column, "the angles of piece 2 are shuffled", True),
    "reversed": (lambda p, q: (p[::-1], q), "the angles have the other sign", False),
    "mirrored": (lambda p, q: (p, -q), "the angles have the other sign", False),
    "rows exchanged": (exchanged_rows, "are exchanged", True),
    "row copied": (copied_row, "rows 5 and 6 are equal to the last digit", True),
    "columns of pressure and angle": (
        lambda p, q: (1e3 * np.degrees(q[:, 0]), np.column_stack([np.radians(p / 1e3), q[:, 1:]])),
        "are these columns exchanged", True,
    ),
}  # fmt: skip
"""Change of a table, words that name it, and whether it refutes the fit."""


@pytest.mark.parametrize("name", MISTAKES)
def test_mistakes_are_named(name):
    change, words, refutes = MISTAKES[name]
    for seed in range(SEEDS):
        found = verdict(change(*good(seed)))
        named = [finding for finding in found.findings if words in finding.sentence]
        assert named, (seed, [finding.sentence for finding in found.findings])
        assert not (refutes and found.credible)


@pytest.mark.slow
def test_sums_are_named_by_their_noise():
    """Of angles that are sums only the noise shows it, and not in a short table."""
    sums = [verdict((p, np.cumsum(q, axis=1))) for p, q in map(good, range(20))]
    assert sum("directions of the ends" in item.sentence for item in sums) >= 16


def test_round_psi_are_named_where_the_finger_is_steep():
    """No other sign: soft fingers differ more than these units do."""
    p, q = good(1)
    assert any("psi" in x.sentence for x in verdict((np.round(p / 6894.757) * 1e3, 2 * q)).findings)


@pytest.mark.slow
def test_correct_tables_raise_no_alarm():
    """50 random fingers of 1 to 6 pieces, at pressures from below or from zero."""
    alarms = {seed: verdict(good(seed, 1 + seed % 6)).findings for seed in range(50)}
    assert {seed: alarm for seed, alarm in alarms.items() if alarm} == {}


def test_a_loop_of_loading_and_unloading_is_named():
    p, q = good(0)
    loop = np.radians(4.0) * (p - p.min()) * (p.max() - p) / (0.5 * np.ptp(p)) ** 2
    noise = np.random.default_rng(5).normal(0.0, 0.004, q.shape)
    found = verdict((np.tile(p, 2), np.concatenate([q, q + loop[:, None] + noise])))
    assert any("with loading and unloading" in finding.sentence for finding in found.findings)


def test_a_wrong_value_is_no_error_of_the_others():
    found = verdict(outlier(*good(3)))
    assert len(found.findings) == 1
    assert found.findings[0].values in ((), tuple(range(20, 24)))


def write(path: Path, p: np.ndarray, q: np.ndarray, head: str = "deg", factor: float = 1.0) -> None:
    names = [f"angle_{k}_{head}" for k in range(1, q.shape[1] + 1)]
    rows = [
        ",".join(f"{x:.6g}" for x in (1e-3 * a, *(factor * b))) for a, b in zip(p, q, strict=True)
    ]
    path.write_text("\n".join([",".join(["pressure_kPa", *names]), *rows]), encoding="utf-8")


def test_the_command_exits_as_calibrate_does(run, tmp_path):
    p, q = good(1)
    write(tmp_path / "wrong.csv", p, q)  # radians under names in degrees
    words = ("twin", "fit", "wrong.csv", "--lengths-mm", "14,14,14,14")
    ran = run(*words, "--out", "out")
    assert ran.code == 1
    assert "softgrasp: error: range of the bend of all pieces together is" in ran.err
    assert ran.out.splitlines()[-1].startswith("the fit is not credible: range of the bend")
    document = json.loads((tmp_path / "out/result.json").read_text("utf-8"))
    assert document["credibility"]["credible"] is False
    assert document["credibility"]["findings"][0]["refutes"] is True
    assert run(*words, "--out", "other", "--accept").code == 0
    write(tmp_path / "right.csv", p, q, "rad")
    ran = run("twin", "fit", "right.csv", "--lengths-mm", "14,14,14,14")
    assert ran.code == 0
    assert ran.out.splitlines()[-1] == (
        "the fit is credible; errors of measurement are assumed, not declared"
    )
