"""Results on disk: round trips, damage, and files that appear whole or not at all."""

import json
import math
from dataclasses import dataclass
from enum import Enum
from pathlib import Path

import numpy as np
import pytest

import softgrasp as sg
from softgrasp.io.files import atomic_path
from softgrasp.io.input_limits import read_arrays
from softgrasp.io.result import from_arrays, to_arrays, write_arrays
from softgrasp.mechanics.transforms import Array
from tests.support.scenes import pinch


@pytest.fixture(scope="module")
def result() -> sg.GraspResult:
    return sg.simulate(pinch(success=sg.SuccessCriterion(hold_time=0.05, ramp_time=0.05)))


def test_a_result_comes_back_equal(result, tmp_path):
    result.save(tmp_path)
    again = sg.load_result(tmp_path)
    for name in (
        "scene", "backend", "status", "held", "message", "simulated_time", "wall_time", "contacts",
        "events", "objects", "contact_model", "hold", "warnings", "trajectory_sha256", "joints",
        "quality", "success_criterion",
    ):  # fmt: skip
        assert getattr(again, name) == getattr(result, name), name
    for name, array in result.trajectory().items():
        assert np.array_equal(array, again.trajectory()[name]), name


def test_the_document_has_the_names_of_the_contract(result, tmp_path):
    result.save(tmp_path)
    document = json.loads((tmp_path / "result.json").read_text())
    assert {
        "schema_version", "softgrasp_version", "backend", "scene", "status", "message", "held",
        "outcome", "success_criterion", "simulated_time_s", "wall_time_s", "contacts",
        "events", "objects", "object", "joints", "contact_model", "hold", "phases", "quality",
        "warnings", "trajectory_sha256", "peak_forces", "resolved",
    } == set(document)  # fmt: skip
    assert document["status"] == "CLOSED"
    assert set(document["contacts"][0]) == {
        "body", "object", "finger", "phalanx", "first_touch_s", "established_s", "lost_s",
        "normal_force_N", "friction_force_N", "point_m", "normal", "slip_speed_m_s",
    }  # fmt: skip
    assert set(document["events"][0]) == {
        "time_s", "body", "object", "finger", "phalanx", "kind", "point_m", "normal",
        "normal_force_N", "friction_force_N", "slip_speed_m_s", "separation_m",
    }  # fmt: skip
    assert document["object"] == document["objects"][0]
    assert {"epsilon", "norm", "edges", "torque_scale_m", "force_closure_s"} <= set(
        document["quality"]
    )


def test_the_same_result_gives_the_same_bytes(result, tmp_path):
    for directory in ("a", "b"):
        result.save(tmp_path / directory)
    for name in ("result.json", "trajectory.npz"):
        assert (tmp_path / "a" / name).read_bytes() == (tmp_path / "b" / name).read_bytes()


def refusal(directory: Path) -> str:
    with pytest.raises(sg.ResultError) as refused:
        sg.load_result(directory)
    return str(refused.value).replace(str(directory), "R")


def test_damaged_results_are_refused_with_the_reason(result, tmp_path, golden):
    absent = "R/result.json: expected a result, found: no such file; "
    assert refusal(tmp_path) == f"{absent}softgrasp grasp writes one"
    result.save(tmp_path / "in" / "b")
    result.save(tmp_path / "in" / "a")
    assert refusal(tmp_path / "in") == f"{absent}results inside: a, b"
    result.save(tmp_path)
    path = tmp_path / "result.json"
    text = path.read_text()
    path.write_text("{")
    assert refusal(tmp_path).startswith("R/result.json: expected JSON, found: ")
    path.write_text("{}")
    golden(refusal(tmp_path), "R/result.json")
    path.write_text(text.replace('"schema_version": 3', '"schema_version": 99'))
    golden(refusal(tmp_path), "R: expected schema_version 3, found 99")
    path.write_text(text.replace('"schema_version": 3', '"schema_version": 1'))
    golden(refusal(tmp_path), "R: expected schema_version 3, found 1")
    path.write_text(text.replace('"status"', '"state"'))
    assert refusal(tmp_path) == "R: result.json: expected a field 'status', found none"
    path.write_text(text.replace(f'"{result.status.name}"', '"CLOSD"'))
    assert "damaged: status: no such status, found 'CLOSD'; did you mean 'CLOSED'?" in refusal(
        tmp_path
    )
    document = json.loads(text)
    for key, value, message in (
        ("contacts", None, "damaged: "),
        ("contacts", [None], "damaged: expected the fields of a BodyContact, found None"),
        ("message", None, "damaged: "),
        ("scene", {}, "damaged: hand: this field is missing; expected a mapping of fields"),
    ):
        path.write_text(json.dumps(document | {key: value}))
        assert message in refusal(tmp_path)
    path.write_text(text.replace(result.trajectory_sha256, "0" * 64))
    assert "the two files are not of one run" in refusal(tmp_path)
    path.write_text(text)


def test_a_trajectory_that_is_cut_off_or_damaged_is_reported(result, tmp_path):
    result.save(tmp_path)
    path = tmp_path / "trajectory.npz"
    whole = path.read_bytes()
    damaged = bytearray(whole)
    damaged[len(whole) // 2 : len(whole) // 2 + 200] = bytes(200)
    for content in (b"", b"PK nonsense", whole[:100], whole[:-100], whole[:-1], bytes(damaged)):
        path.write_bytes(content)
        message = refusal(tmp_path)
        assert message.startswith("R/trajectory.npz: expected arrays without pickles, found: ")
        assert message.endswith(
            f"({len(content)} bytes); the file is truncated or damaged: copy it again, or "
            "repeat the simulation"
        )


def test_a_file_appears_whole_or_not_at_all(tmp_path):
    target = tmp_path / "deep" / "file.txt"

    def break_off() -> None:
        with atomic_path(target) as temporary:
            temporary.write_text("half")
            raise RuntimeError

    with pytest.raises(RuntimeError):
        break_off()
    assert list(target.parent.iterdir()) == []
    with atomic_path(target) as temporary:
        temporary.write_text("whole")
    assert [path.name for path in target.parent.iterdir()] == ["file.txt"]


def test_a_path_that_cannot_be_written_is_reported(tmp_path):
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(sg.ResultError) as refused, atomic_path(tmp_path / "file" / "x.txt"):
        pass
    assert "expected a writable path, found: " in str(refused.value)


class End(Enum):
    GOOD = "it went well"
    BAD = "it did not"


@dataclass(frozen=True)
class Row:
    name: str
    values: Array
    ends: tuple[float, float] = (0.0, math.inf)


@dataclass(frozen=True)
class Table:
    rows: tuple[Row, ...]
    end: End
    best: Row | None
    names: tuple[str, ...]
    several: tuple[tuple[int, ...], ...]
    good: bool
    error: float | None


TABLE = Table(
    rows=(Row("a", np.array([1.0 / 3.0, np.nan])), Row("", np.zeros((0, 2)), (-math.inf, 1e-300))),
    end=End.BAD, best=None, names=(), several=((1, 2), (3, 4)), good=True, error=math.inf,
)  # fmt: skip


def test_dataclasses_come_back_from_arrays_with_all_digits(tmp_path):
    files = [write_arrays(tmp_path / name, to_arrays(TABLE)) for name in ("a.npz", "b.npz")]
    assert files[0].read_bytes() == files[1].read_bytes()
    again = from_arrays(Table, read_arrays(files[0]))
    for name in ("end", "best", "names", "several", "good", "error"):
        assert getattr(again, name) == getattr(TABLE, name), name
        assert type(getattr(again, name)) is type(getattr(TABLE, name)), name
    for row, known in zip(again.rows, TABLE.rows, strict=True):
        assert (row.name, row.ends) == (known.name, known.ends)
        np.testing.assert_array_equal(row.values, known.values)
        assert row.values.shape == known.values.shape
    best = from_arrays(Table, to_arrays(Table(**vars(TABLE) | {"best": TABLE.rows[1]}))).best
    assert best.ends == (-math.inf, 1e-300)


def test_a_missing_array_is_named():
    arrays = to_arrays(TABLE)
    del arrays["rows/1/values"]
    with pytest.raises(ValueError, match="expected an array 'rows/1/values', found none"):
        from_arrays(Table, arrays)
