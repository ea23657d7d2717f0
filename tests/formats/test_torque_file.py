"""Torques of motors in CSV, and what is said of tables that are wrong."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import softgrasp as sg
from softgrasp.hydraulics import TorqueTable

HEAD = "time_s,torque_1,torque_2"


def test_the_shipped_ramp_is_the_papers() -> None:
    """Sec. 3.2.3: 1.5 (t − 2) on the fifth and sixth motor, 1.5 (t − 6) on the first."""
    table = sg.load_torques("paper003_ramp")
    for time in np.arange(0.0, 9.0, 0.37):
        late, early = 1.5 * np.clip(time - 6.0, 0.0, 1.0), 1.5 * np.clip(time - 2.0, 0.0, 1.0)
        assert table(time) == pytest.approx([late, 0.0, 0.0, 0.0, early, early])
    assert table.changes == [(2.0, 3.0), (6.0, 7.0)]


def test_changes_without_a_pause_are_one() -> None:
    table = TorqueTable(np.arange(4.0), np.array([[0.0], [1.0], [0.5], [0.5]]))
    assert table.changes == [(0.0, 2.0)]
    assert table(-1.0) == pytest.approx([0.0])
    assert table(9.0) == pytest.approx([0.5])


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("", "t.csv: expected a line of names, found nothing"),
        (HEAD, "t.csv: expected lines of numbers, found only names"),
        ("time,torque_1\n0,0", "t.csv:1: expected the columns time_s, torque_1, torque_2, …, "
         "found time, torque_1"),
        ("time_s\n0", "t.csv:1: expected the columns time_s, torque_1, torque_2, …, found time_s"),
        (f"# remark\n{HEAD}\n0,0,0\n1,,0", "t.csv:4: torque_1: expected a number, found a gap"),
        (f"{HEAD}\n0,0,x", "t.csv:2: torque_2: expected a number, found 'x'"),
        (f"{HEAD}\n0,0,nan", "t.csv:2: torque_2: expected a number, found 'nan'"),
        (f"{HEAD}\n0,0", "t.csv:2: expected 3 cells, found 2"),
        (f"{HEAD}\n0,0,0\n2,0,0\n1,0,0", "t.csv:4: time_s: expected a time after 2 s, found 1 s"),
        (f"{HEAD}\n1,0,0\n1,1,1", "t.csv:3: time_s: expected a time after 1 s, found 1 s"),
    ],
)  # fmt: skip
def test_a_wrong_table_is_refused_in_a_sentence(
    text: str, sentence: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("t.csv").write_text(text, encoding="utf-8")
    with pytest.raises(sg.DescriptionError) as refused:
        sg.load_torques("t.csv")
    assert str(refused.value) == sentence


def test_torques_that_are_not_there() -> None:
    with pytest.raises(sg.DescriptionError) as refused:
        sg.load_torques("paper003_ram")
    assert str(refused.value) == (
        "no torques 'paper003_ram'; did you mean 'paper003_ramp'? known: paper003_ramp"
    )
    with pytest.raises(sg.DescriptionError, match=r"nowhere.csv: expected a table in CSV, found"):
        sg.load_torques("nowhere.csv")


@pytest.mark.parametrize(
    ("times", "torques", "sentence"),
    [
        ([0.0, 0.0], [[0.0], [0.0]], "times: expected rising times, found others"),
        ([0.0, 1.0], [[0.0], [np.nan]], "torques: expected finite numbers, found others"),
        ([0.0], [0.0], "expected times (t,) and torques (t, chambers), found shapes (1,) and (1,)"),
    ],
)
def test_a_table_that_is_none(times: list[float], torques: list[object], sentence: str) -> None:
    with pytest.raises(sg.DescriptionError) as refused:
        TorqueTable(np.array(times), np.array(torques))
    assert sentence in str(refused.value)
