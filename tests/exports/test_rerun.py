"""Recordings of rerun, read back by its own library and verified by its own program."""

import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import softgrasp as sg
from softgrasp.evaluation.analysis import ReplayedResult
from softgrasp.exports import write_rerun
from softgrasp.exports.episodes import sample_times
from softgrasp.exports.rerun import ARROW, TIMELINE
from softgrasp.rendering.camera import find_covered_geoms
from tests.support.scenes import pinch

rerun = pytest.importorskip("rerun", reason="rerun-sdk is the extra 'rerun'")
chunks = pytest.importorskip("rerun.chunk", reason="rerun-sdk 0.38 and newer read chunks")

FPS = 40


@pytest.fixture(scope="module")
def result() -> sg.GraspResult:
    return sg.simulate(pinch(success=sg.SuccessCriterion(hold_time=0.05)))


@pytest.fixture(scope="module")
def recording(result: sg.GraspResult, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_rerun(result, tmp_path_factory.mktemp("rerun") / "run.rrd", FPS)


def columns(recording: Path, entity: str) -> dict[str, np.ndarray]:
    """Columns of an entity in order of time, times in s."""
    parts: dict[str, list[Any]] = {}
    for chunk in chunks.RrdReader(recording).stream().to_chunks():
        if chunk.entity_path == f"/{entity}" and not chunk.is_static:
            batch = chunk.to_record_batch()
            for name in batch.schema.names:
                parts.setdefault(name, []).extend(batch[name].to_pylist())
    times = np.array([time.total_seconds() for time in parts.pop(TIMELINE)])
    order = np.argsort(times)
    known = {name.rpartition(":")[2]: [values[i] for i in order] for name, values in parts.items()}
    return {"time": times[order], **known}


def test_the_program_of_rerun_verifies_the_file(recording):
    command = ["python", "-m", "rerun", "rrd", "verify", str(recording)]
    ran = subprocess.run(command, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr


def test_bodies_are_where_mujoco_has_them(recording, result):
    replay = ReplayedResult(result)
    times = sample_times(result.time, FPS)
    for body in ("F1_P3", "object"):
        read = columns(recording, f"world/{body}")
        np.testing.assert_allclose(read["time"], times, atol=1e-6)
        for row, time in enumerate(times.tolist()):
            data = replay.pose(time)
            np.testing.assert_allclose(read["translation"][row][0], data.body(body).xpos, atol=1e-6)
            quaternion = np.roll(data.body(body).xquat, -1)
            np.testing.assert_allclose(read["quaternion"][row][0], quaternion, atol=1e-6)


def test_the_series_has_every_control_sample(recording, result):
    body = int(result.normal_force[-1].argmax())
    read = columns(recording, f"normal_force/{result.contact_bodies[body]}")
    np.testing.assert_allclose(read["time"], result.time, atol=1e-6)
    np.testing.assert_allclose(np.ravel(read["scalars"]), result.normal_force[:, body])


def test_arrows_have_the_lengths_of_the_forces(recording, result):
    read = columns(recording, "world/contacts")
    vectors = np.array(read["vectors"][-1])
    last = ReplayedResult(result).row(float(read["time"][-1]))[0]
    forces = result.normal_force[last]
    lengths = np.linalg.norm(vectors, axis=1)
    np.testing.assert_allclose(np.sort(lengths), ARROW * np.sort(forces[forces > 0.0]), rtol=1e-2)
    assert len(vectors) >= 3


def test_every_visible_shape_is_a_mesh(recording, result):
    model = ReplayedResult(result).model
    meshes = {
        chunk.entity_path
        for chunk in chunks.RrdReader(recording).stream().to_chunks()
        if any("Mesh3D" in name for name in chunk.to_record_batch().schema.names)
    }
    names = {
        f"/world/{model.body(int(model.geom_bodyid[geom])).name}/geom{geom}"
        for geom in find_covered_geoms(model)
    }
    assert meshes == names


def test_convert_writes_a_recording(result, run, tmp_path):
    result.save(tmp_path / "run")
    ran = run("convert", tmp_path / "run", tmp_path / "it.rrd", "--json")
    assert ran.json == {"file": str(tmp_path / "it.rrd"), "kind": "result"}
    assert (tmp_path / "it.rrd").stat().st_size > 10_000


def test_a_file_that_cannot_be_finished_leaves_the_earlier_one(result, tmp_path, monkeypatch):
    path = tmp_path / "run.rrd"
    path.write_text("earlier")

    def failing(*_: object) -> None:
        raise KeyError("cut off")

    monkeypatch.setattr("softgrasp.exports.rerun._log_motion", failing)
    with pytest.raises(KeyError):
        write_rerun(result, path, FPS)
    assert path.read_text() == "earlier"
    assert list(tmp_path.iterdir()) == [path]
