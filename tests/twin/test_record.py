"""The record of a twin round trips, however the run ended."""

import asyncio
import json
from pathlib import Path

import numpy as np
import pytest

from softgrasp.errors import ResultError
from softgrasp.twin.record import (
    RECORD,
    TWIN_FILE,
    TwinRecorder,
    read_twin_record,
    replay,
)
from softgrasp.twin.report import key_numbers
from tests.conftest import limited_file_size
from tests.twin.test_loop import CLOSE, At
from tests.twin.twins import Bench


def recorded(directory: Path, rotations: int = 40) -> Bench:
    rig = Bench(broken=lambda time: 0.4 < time < 0.5)
    with TwinRecorder(directory, rig.twin) as recorder:
        rig.loop.keep(recorder.add, At(rig, 3, CLOSE))
        asyncio.run(rig.run(rotations))
    return rig


def test_rows_round_trip_exactly(tmp_path):
    rig = recorded(tmp_path)
    record = read_twin_record(tmp_path)
    assert record.twin == rig.twin
    assert not record.broken
    assert record.rows == [row.document() for row in rig.rows]


def test_a_recorded_row_has_the_shape_that_the_loop_had(tmp_path):
    rig = recorded(tmp_path)
    record = read_twin_record(tmp_path)
    for row, result in zip(rig.rows, record.rows, strict=True):
        shape = replay(record.twin, result)
        if row.shape is None:
            assert shape is None
        else:
            assert shape is not None
            np.testing.assert_array_equal(shape[0].tips, row.shape.tips)
            np.testing.assert_array_equal(shape[0].frames, row.shape.frames)
            np.testing.assert_array_equal(shape[1], row.joints)


def test_a_run_that_was_killed_is_read_from_its_rows(tmp_path):
    rig = Bench()
    recorder = TwinRecorder(tmp_path, rig.twin)
    rig.loop.keep(recorder.add)
    asyncio.run(rig.run(20))
    journal = tmp_path / RECORD
    whole = journal.read_text()
    record = read_twin_record(tmp_path)
    assert len(record.rows) == 21
    recorder._file.close()
    journal.write_text(whole[:-40])  # as of a power failure in the middle of a row
    cut = read_twin_record(tmp_path)
    assert cut.broken
    assert cut.rows == record.rows[:-1]


def test_a_directory_with_a_record_is_not_overwritten(tmp_path):
    rig = recorded(tmp_path, 3)
    with pytest.raises(ResultError, match=r"expected no record here yet, found one; choose"):
        TwinRecorder(tmp_path, rig.twin)


def test_invalid_records_are_reported(tmp_path):
    with pytest.raises(ResultError, match=r"expected the twin of a record, found none"):
        read_twin_record(tmp_path)
    recorded(tmp_path, 3)
    document = json.loads((tmp_path / TWIN_FILE).read_text())
    (tmp_path / TWIN_FILE).write_text(json.dumps(document | {"schema": 99}))
    with pytest.raises(ResultError, match=r"found 99; it was written by a newer softgrasp"):
        read_twin_record(tmp_path)
    (tmp_path / TWIN_FILE).write_text(json.dumps(document))
    (tmp_path / RECORD).unlink()
    with pytest.raises(ResultError, match=r"expected record.jsonl, found no such file"):
        read_twin_record(tmp_path)
    (tmp_path / RECORD).write_text("{}\nnonsense\n")
    with pytest.raises(ResultError, match=r"record.jsonl:1: expected a row"):
        read_twin_record(tmp_path)
    (tmp_path / RECORD).write_text("")
    assert read_twin_record(tmp_path).rows == []
    for wrong in ({"schema": "x", "twin": {}}, {"schema": 1}, {"schema": 1, "twin": {"name": 3}}):
        (tmp_path / TWIN_FILE).write_text(json.dumps(wrong))
        with pytest.raises(ResultError, match=r"twin.json: expected the twin of a record, found"):
            read_twin_record(tmp_path)


def test_a_full_disk_is_one_error_and_keeps_the_rows_before(tmp_path):
    rig = Bench()

    def record() -> None:
        with limited_file_size(30_000), TwinRecorder(tmp_path, rig.twin) as recorder:
            rig.loop.keep(recorder.add)
            asyncio.run(rig.run(40))

    with pytest.raises(ResultError, match=r"record.jsonl: expected space for a row, found: File"):
        record()
    kept = read_twin_record(tmp_path)
    assert kept.broken
    assert [row["number"] for row in kept.rows] == list(range(len(kept.rows)))
    assert len(kept.rows) > 3


def test_the_time_of_the_stop_is_not_one_of_the_cycles(tmp_path):
    rig = Bench()
    rig.loop.keep(At(rig, 5, CLOSE))
    with TwinRecorder(tmp_path, rig.twin) as recorder:
        rig.loop.keep(recorder.add)
        asyncio.run(rig.run(100))
    record = read_twin_record(tmp_path)
    assert record.rows[-1]["time"] > 3.0  # 2 s, and the stop
    assert dict(key_numbers(record))["Cycles per second"] == "50.0 of 50"
