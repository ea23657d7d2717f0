"""CSV tables: read with column specifications, and written beside the figures."""

import csv
from pathlib import Path

import numpy as np
import pytest

from softgrasp.errors import DescriptionError
from softgrasp.io.tables import Column, cell_text, read_table, write_columns

MASS = Column("mass", {"g": 1e-3, "kg": 1.0})
ANGLES = Column("q", {"deg": np.pi / 180.0, "rad": 1.0}, numbered=True)


def test_columns_are_read_in_any_order_and_converted_to_si(tmp_path):
    text = "# comment\nq2_rad, mass_g,q1_deg\n\n0.5,20,90\n1,40,180\n"
    (tmp_path / "t.csv").write_text(text, encoding="utf-8")
    table = read_table(tmp_path / "t.csv", [MASS, ANGLES], rising="mass")
    assert table["mass"] == pytest.approx([0.02, 0.04])
    assert table["q"] == pytest.approx(np.array([[np.pi / 2, 0.5], [np.pi, 1.0]]))
    assert table.lines == (4, 5)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "t.csv"),
        ("mass_g,q1_deg\n", "t.csv"),
        ("weight_g,q1_deg\n0,0", "t.csv:1"),
        ("mass_g\n0", "t.csv:1"),
        ("mass_g,q1_deg,q1_rad\n0,0,0", "t.csv:1"),
        ("mass_g,q1_deg,q3_deg\n0,0,0", "t.csv:1"),
        ("mass_g,q1_deg\n0", "t.csv:2"),
        ("mass_g,q1_deg\n0,x", "t.csv:2: q1_deg"),
        ("mass_g,q1_deg\n0,inf", "t.csv:2: q1_deg"),
        ("mass_g,q1_deg\n,0", "t.csv:2: mass_g"),
        ("mass_g,q1_deg\n2,0\n1,0", "t.csv:3: mass_g"),
    ],
)
def test_a_wrong_table_is_refused(text, message, tmp_path, monkeypatch, golden):
    monkeypatch.chdir(tmp_path)
    Path("t.csv").write_text(text, encoding="utf-8")
    golden.refused(lambda: read_table(Path("t.csv"), [MASS, ANGLES], rising="mass"), message)


def test_numbers_that_are_not_finite_stay_empty(tmp_path):
    write_columns(tmp_path / "a.csv", {"x": np.array([1.0, np.nan, -0.0])})
    assert (tmp_path / "a.csv").read_text("utf-8") == 'x\n1\n""\n0\n'


@pytest.mark.parametrize("begin", ["=", "+", "-", "@", "\t="])
def test_what_a_spreadsheet_evaluates_is_written_as_text(begin, tmp_path):
    text = f"{begin}HYPERLINK(A1)"
    assert cell_text(text) == f"'{text}"
    write_columns(tmp_path / "t.csv", {text: [text, -1.5]})
    with (tmp_path / "t.csv").open(encoding="utf-8", newline="") as file:
        assert list(csv.reader(file)) == [[f"'{text}"], [f"'{text}"], ["-1.5"]]


def test_a_text_stays_in_its_line(tmp_path):
    write_columns(tmp_path / "t.csv", {"a": ["x\r=1", "y\n=1"]})
    with (tmp_path / "t.csv").open(encoding="utf-8", newline="") as file:
        assert list(csv.reader(file)) == [["a"], ["x =1"], ["y\n=1"]]


@pytest.mark.parametrize("text", ["-1.5", "+2", "-1e-3", "-inf", "a=b", "", "'=a", "−1"])
def test_numbers_and_other_texts_stay(text):
    assert cell_text(text) == text


@pytest.mark.parametrize(
    "text",
    [
        "mass_g;q1_DEG\n# why\n20;1,5\n40;-3\n",
        "mass_G,q1_deg\n20,1.5\n40,-3\n",
        "mass_g;q1_deg\n20;1.5\n40;-3\n",
    ],
)
def test_semicolons_decimal_commas_and_units_in_any_case(tmp_path, text):
    path = tmp_path / "table.csv"
    path.write_text(text, encoding="utf-8")
    columns = [Column("mass", {"g": 1e-3}), Column("q", {"deg": 1.0}, numbered=True)]
    table = read_table(path, columns)
    assert table["mass"] == pytest.approx([0.02, 0.04])
    assert table["q"] == pytest.approx(np.array([[1.5], [-3.0]]))


def test_a_number_with_a_thousands_separator_is_refused(tmp_path):
    path = tmp_path / "table.csv"
    path.write_text("mass_g\n1,234.5\n", encoding="utf-8")
    with pytest.raises(DescriptionError) as caught:
        read_table(path, [Column("mass", {"g": 1e-3})])
    assert caught.value.line == 2
