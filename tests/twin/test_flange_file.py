"""Flange poses in CSV and JSON lines: round trips, and what is said of files that are wrong."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import softgrasp as sg
from softgrasp.twin.files import COLUMNS, json_object, row_of, sample_from
from tests.twin.robots import apart, robot

HEAD = "time_s,x_mm,y_mm,z_mm,qw,qx,qy,qz\n"
ROW = "0,100,0,500,1,0,0,0\n"
OBJECT = dict(zip(COLUMNS, (0.0, 100.0, 0.0, 500.0, 1.0, 0.0, 0.0, 0.0), strict=True))


@pytest.mark.parametrize("suffix", [".csv", ".jsonl"])
def test_a_record_comes_back(tmp_path: Path, suffix: str) -> None:
    samples = [robot().sample_at(0.02 * index) for index in range(200)]
    path = sg.save_flange_samples(samples, tmp_path / f"record{suffix}")
    result = sg.load_flange_samples(path)
    assert len(result) == len(samples)
    for one, other in zip(samples, result, strict=True):
        assert max(apart(one, other)) < 1e-15
    again = sg.save_flange_samples(result, tmp_path / f"again{suffix}")
    assert sg.load_flange_samples(again) == pytest.approx(result)


def test_csv_in_another_order_with_remarks(tmp_path: Path) -> None:
    path = tmp_path / "record.csv"
    path.write_text("# mine\nqw,qx,qy,qz, z_mm,y_mm,x_mm,time_s\n1,0,0,0,500,0,100,0\n\n", "utf-8")
    assert sg.load_flange_samples(path)[0].position == pytest.approx((0.1, 0.0, 0.5))


@pytest.mark.parametrize(
    ("name", "text", "sentence"),
    [
        ("a.csv", "", "a.csv: expected flange poses, found none"),
        ("a.csv", HEAD, "a.csv: expected flange poses, found none"),
        ("a.csv", "time_s,x\n", "a.csv:1: expected the columns time_s,x_mm,y_mm,z_mm,qw,qx,qy,qz, "
         "found 'time_s,x'"),
        ("a.csv", HEAD + "0,1\n", "a.csv:2: expected 8 cells, found 2"),
        ("a.csv", HEAD + ROW + ROW, "a.csv:3: time_s: expected a time after 0 s, found 0 s"),
        ("a.csv", HEAD + "0,one,0,500,1,0,0,0\n", "a.csv:2: x_mm: expected a number, found 'one'"),
        ("a.csv", HEAD + "nan,1,0,500,1,0,0,0\n", "a.csv:2: time: expected a finite number, found"
         " nan"),
        ("a.csv", HEAD + "0,1,0,500,1,1,0,0\n", "of norm 1 within 0.001, found (1.0, 1.0, 0.0, "
         "0.0) of norm 1.41421"),
        ("a.jsonl", "{}", "a.jsonl:1: time_s: expected time_s, x_mm, y_mm, z_mm, qw, qx, qy, qz, "
         "found no time_s"),
        ("a.jsonl", "[]", "a.jsonl:1: expected a JSON object, found []"),
        ("a.jsonl", "\n{", "a.jsonl:2: expected a JSON object, found: Expecting property name"),
        ("a.jsonl", json.dumps(OBJECT | {"qv": 1}), "a.jsonl:1: qv: no such field; known: qw"),
        ("a.jsonl", json.dumps(OBJECT | {"qw": True}), "qw: expected a number, found True"),
        ("a.jsonl", json.dumps(OBJECT | {"qw": 10**400}), "qw: expected a number, found 1000"),
        ("a.jsonl", json.dumps(OBJECT | {"qw": float("nan")}), "NaN is no finite number"),
        ("a.txt", "", "expected a file of flange poses that ends in .csv or .jsonl, found 'a.txt'"),
    ],
)  # fmt: skip
def test_mistakes(tmp_path: Path, name: str, text: str, sentence: str) -> None:
    (tmp_path / name).write_text(text, encoding="utf-8")
    with pytest.raises(sg.DescriptionError) as message:
        sg.load_flange_samples(tmp_path / name)
    assert sentence in str(message.value)


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(sg.DescriptionError, match="cannot read: No such file or directory"):
        sg.load_flange_samples(tmp_path / "none.csv")


def test_nothing_is_written_under_a_wrong_name(tmp_path: Path) -> None:
    with pytest.raises(sg.DescriptionError, match=r"ends in \.csv or \.jsonl"):
        sg.save_flange_samples([robot().sample_at(0.0)], tmp_path / "record.dat")
    assert list(tmp_path.iterdir()) == []


JSON = st.recursive(
    st.none() | st.booleans() | st.floats() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner),
    max_leaves=5,
)


def message(make: Callable[[], object]) -> object:
    """What is made, or the sentence that refuses."""
    try:
        return make()
    except sg.DescriptionError as error:
        return str(error)


@given(st.dictionaries(st.sampled_from(COLUMNS), JSON, max_size=8))
def test_any_values_give_a_sample_or_a_sentence(values: dict[str, object]) -> None:
    result = message(lambda: sample_from(OBJECT | values))
    if isinstance(result, sg.FlangeSample):
        assert sample_from(row_of(result)).time == result.time
    else:
        assert "expected" in str(result)


@given(st.binary(max_size=200) | st.text(max_size=200))
def test_any_text_gives_an_object_or_a_sentence(text: str | bytes) -> None:
    result = message(lambda: json_object(text))
    assert isinstance(result, dict) or str(result).startswith("expected a JSON object, found")


@given(st.text(max_size=120))
def test_any_csv_gives_a_sentence(tmp_path_factory: pytest.TempPathFactory, text: str) -> None:
    path = tmp_path_factory.getbasetemp() / "any.csv"
    path.write_bytes(HEAD.encode() + text.encode("utf-8", "surrogatepass"))
    with pytest.raises(sg.DescriptionError):
        sg.load_flange_samples(path)


def test_deep_json_is_no_crash() -> None:
    with pytest.raises(sg.DescriptionError, match="expected a JSON object"):
        json_object("[" * 100_000)
