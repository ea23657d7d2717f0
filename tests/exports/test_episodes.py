"""Runs as episodes, and the datasets of LeRobot and Minari read back."""

import json
import subprocess
import sys

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import softgrasp as sg
from softgrasp.exports import Episode, episode_of, load_grasps, write_lerobot, write_minari
from softgrasp.exports.episodes import CAMERA, INDICES, sample, sample_times
from softgrasp.rendering.encoding import ffmpeg_program
from softgrasp.sweeps.run import Shard, merge, sweep
from tests.support.scenes import ball, pinch

TEST = sg.SuccessCriterion(hold_time=0.05)
SIZE = (48, 33)


@pytest.fixture(scope="module")
def results() -> list[sg.GraspResult]:
    return [sg.simulate(pinch(object=ball(radius), success=TEST)) for radius in (0.028, 0.03)]


@pytest.fixture(scope="module")
def episodes(results: list[sg.GraspResult]) -> list[Episode]:
    return [episode_of(result, 25, image_size=SIZE) for result in results]


def test_samples_are_those_of_the_run_at_their_times(results):
    result = results[0]
    period = float(result.time[1] - result.time[0])
    rate = round(1.0 / period)
    whole = episode_of(result, rate)
    assert len(whole) == len(result.time)
    observed = whole.observations
    np.testing.assert_allclose(observed["state"], result.joint_position, atol=1e-6)
    np.testing.assert_allclose(observed["contact_force"], result.normal_force, rtol=1e-5, atol=1e-5)
    np.testing.assert_array_equal(whole.action, result.joint_target.astype(np.float32))
    np.testing.assert_allclose(observed["object_pose"][:, :3], result.object_position, atol=1e-6)
    assert whole.names["state"] == tuple(result.joint_names.tolist())
    assert whole.names["action"] == tuple(result.actuator_names.tolist())


def test_orientations_are_interpolated_on_the_shortest_path():
    """Also where the quaternions of neighbours have opposite signs."""
    arrays = arrays_of_two_samples()
    turned = Rotation.from_euler("z", [[0.0], [90.0]], degrees=True).as_quat(scalar_first=True)
    arrays["object_quat_wxyz"] = np.array([turned[0], -turned[1]])
    episode = sample(arrays, 2, "turn", None)
    middle = Rotation.from_quat(episode.observations["object_pose"][1, 3:], scalar_first=True)
    assert middle.magnitude() == pytest.approx(np.pi / 4, abs=1e-6)


def arrays_of_two_samples() -> dict[str, np.ndarray]:
    """A run of two samples, 1 s apart."""
    return {
        "time": np.array([0.0, 1.0]),
        "joint_names": np.array(["a"]),
        "joint_position": np.array([[0.0], [1.0]]),
        "actuator_names": np.array(["a"]),
        "joint_target": np.array([[0.5], [1.5]]),
        "object_position": np.zeros((2, 3)),
        "object_quat_wxyz": np.array([[1.0, 0.0, 0.0, 0.0]] * 2),
        "contact_bodies": np.array(["tip"]),
        "normal_force": np.array([[0.0], [4.0]]),
        "friction_force": np.zeros((2, 1)),
        "in_contact": np.zeros((2, 1), dtype=bool),
    }


def test_targets_are_held_and_joints_are_interpolated():
    episode = sample(arrays_of_two_samples(), 4, "task", None)
    assert episode.action[:, 0].tolist() == [0.5, 0.5, 0.5, 0.5, 1.5]
    assert episode.observations["state"][:, 0].tolist() == [0.0, 0.25, 0.5, 0.75, 1.0]
    assert episode.observations["contact_force"][:, 0].tolist() == [0.0, 1.0, 2.0, 3.0, 4.0]


def test_a_run_has_its_last_sample_within_a_period():
    times = sample_times(np.array([0.5, 0.9, 1.24]), 10)
    np.testing.assert_allclose(times, 0.5 + 0.1 * np.arange(8))


# LeRobot


@pytest.mark.slow
def test_lerobot_states_every_column_and_keeps_every_value(episodes, tmp_path):
    """The checks of LeRobot's own loader: features against the Parquet schema, indices, times."""
    parquet = pytest.importorskip("pyarrow.parquet", reason="pyarrow is the extra 'sweep'")
    pa = pytest.importorskip("pyarrow")
    write_lerobot(episodes, tmp_path)
    info = json.loads((tmp_path / "meta/info.json").read_text("utf-8"))
    assert info["codebase_version"] == "v3.0"
    data = tmp_path / info["data_path"].format(chunk_index=0, file_index=0)
    table = parquet.read_table(data)
    videos = {name for name, item in info["features"].items() if item["dtype"] == "video"}
    assert videos == {CAMERA}
    assert set(table.column_names) == set(info["features"]) - videos
    for name in table.column_names:
        feature = info["features"][name]
        kind = table.schema.field(name).type
        if feature["shape"] != [1]:
            assert kind.list_size == feature["shape"][0] == len(feature["names"])
            kind = kind.value_type
        assert str(kind) == {"float32": "float", "bool": "bool"}.get(feature["dtype"], "int64")
    columns = {name: np.array(table[name].to_pylist()) for name in table.column_names}
    for key in ("state", "object_pose", "contact_force"):
        expected = np.concatenate([episode.observations[key] for episode in episodes])
        np.testing.assert_array_equal(columns[f"observation.{key}"].astype(np.float32), expected)
    np.testing.assert_array_equal(columns["index"], np.arange(info["total_frames"]))
    times = columns["frame_index"] / info["fps"]
    np.testing.assert_allclose(columns["timestamp"], times, atol=1e-6)
    assert columns["next.done"].sum() == info["total_episodes"] == 2
    assert (columns["next.success"] == columns["next.reward"].astype(bool)).all()
    assert columns["next.success"].sum() == sum(episode.success is True for episode in episodes)
    assert parquet.ParquetFile(data).num_row_groups == 2
    assert pa.types.is_int64(table.schema.field("task_index").type)
    assert set(INDICES) <= set(table.column_names)


@pytest.mark.slow
def test_lerobot_finds_every_episode_and_its_task(episodes, tmp_path):
    pd = pytest.importorskip("pandas", reason="pandas is the extra 'sweep'")
    write_lerobot(episodes, tmp_path)
    rows = pd.read_parquet(tmp_path / "meta/episodes/chunk-000/file-000.parquet")
    lengths = [len(episode) for episode in episodes]
    assert rows["length"].tolist() == lengths
    assert rows["dataset_from_index"].tolist() == [0, lengths[0]]
    assert rows["dataset_to_index"].tolist() == np.cumsum(lengths).tolist()
    starts = rows[f"videos/{CAMERA}/from_timestamp"]
    assert starts.tolist() == [0.0, lengths[0] / 25]
    tasks = pd.read_parquet(tmp_path / "meta/tasks.parquet")
    assert tasks.index.tolist() == ["Grasp ball with four_finger"]
    assert tasks["task_index"].tolist() == [0]
    stats = json.loads((tmp_path / "meta/stats.json").read_text("utf-8"))
    actions = np.concatenate([episode.action for episode in episodes]).astype(float)
    np.testing.assert_allclose(stats["action"]["mean"], actions.mean(axis=0), rtol=1e-9)
    np.testing.assert_allclose(stats["action"]["q90"], np.quantile(actions, 0.9, axis=0))
    assert stats["action"]["count"] == [len(actions)]
    assert np.shape(stats[CAMERA]["mean"]) == (3, 1, 1)
    first = np.array(rows["stats/action/max"][0])
    np.testing.assert_allclose(first, episodes[0].action.max(axis=0), rtol=1e-6)


def test_lerobot_has_one_image_per_sample(episodes, tmp_path):
    """Decoded by ffmpeg; an odd row is cut, which the features state."""
    write_lerobot(episodes, tmp_path)
    info = json.loads((tmp_path / "meta/info.json").read_text("utf-8"))
    height, width, _ = info["features"][CAMERA]["shape"]
    assert (width, height) == (48, 32)
    path = tmp_path / info["video_path"].format(video_key=CAMERA, chunk_index=0, file_index=0)
    command = [ffmpeg_program(), "-v", "error", "-i", path, "-f", "rawvideo", "-pix_fmt", "rgb24"]
    raw = subprocess.run([*command, "-"], capture_output=True, check=True).stdout
    images = np.frombuffer(raw, np.uint8).reshape(-1, height, width, 3).astype(float)
    drawn = np.concatenate([episode.frames for episode in episodes])[:, :height]
    assert images.shape == drawn.shape
    assert np.abs(images - drawn).mean() < 12.0  # compressed, half the colours


def test_runs_of_other_columns_or_rates_are_refused(episodes):
    plain = sample(arrays_of_two_samples(), 25, "task", None)
    for other, what in (
        (plain, "columns of state"),
        (sample(arrays_of_two_samples(), 5, "task", None), "fps"),
    ):
        with pytest.raises(sg.DescriptionError, match=f"episode 1: expected the {what}"):
            write_lerobot([episodes[0], other], "unused")
    with pytest.raises(sg.DescriptionError, match="at least one episode, found none"):
        write_lerobot([], "unused")


def test_runs_without_a_test_have_no_success(tmp_path):
    pytest.importorskip("pyarrow", reason="pyarrow is the extra 'sweep'")
    write_lerobot([sample(arrays_of_two_samples(), 5, "task", None)], tmp_path)
    info = json.loads((tmp_path / "meta/info.json").read_text("utf-8"))
    assert not {"next.success", "next.reward"} & set(info["features"])
    assert info["video_path"] is None


# Minari


def test_minari_reads_what_was_sampled(episodes, tmp_path):
    minari = pytest.importorskip("minari", reason="minari is the extra 'minari'")
    pytest.importorskip("h5py", reason="h5py is of the extra 'minari'")
    write_minari(episodes, tmp_path)
    dataset = minari.MinariDataset(write_minari(episodes, tmp_path))  # replaces the first
    assert dataset.total_episodes == len(episodes)
    for read, episode in zip(dataset.iterate_episodes(), episodes, strict=True):
        np.testing.assert_array_equal(read.actions, episode.action[:-1])
        for name, values in episode.observations.items():
            np.testing.assert_array_equal(read.observations[name], values)
        last = {name: values[-1] for name, values in read.observations.items()}
        assert dataset.observation_space.contains(last)
        assert read.rewards.tolist() == [0.0] * (len(episode) - 2) + [float(bool(episode.success))]
        assert read.terminations.tolist() == [False] * (len(episode) - 2) + [True]


# Sweeps


def plan() -> sg.description.SweepPlan:
    axis = sg.description.Axis(path="object.radius", values=(0.028, 0.03, 0.032))
    return sg.description.SweepPlan(scene=pinch(success=TEST), axes=(axis,))


def test_a_sweep_writes_one_file_of_grasps_also_from_shards(tmp_path):
    pytest.importorskip("pandas", reason="pandas is the extra 'sweep'")
    sweep(plan(), tmp_path / "whole", workers=1, dataset="grasps")
    whole = load_grasps(tmp_path / "whole/dataset/grasps.json")
    assert [grasp.name for grasp in whole.grasps] == ["row-0", "row-1", "row-2"]
    assert [grasp.object.mass_kg for grasp in whole.grasps] == pytest.approx(
        [700.0 * 4 / 3 * np.pi * radius**3 for radius in (0.028, 0.03, 0.032)]
    )
    for number in (1, 2):
        sweep(plan(), tmp_path / "parts", workers=1, dataset="grasps", shard=Shard(number, 2))
    merge(tmp_path / "parts", "grasps")
    assert load_grasps(tmp_path / "parts/dataset/grasps.json") == whole


def test_a_sweep_writes_a_file_of_grasps_for_each_hand(tmp_path):
    pytest.importorskip("pandas", reason="pandas is the extra 'sweep'")
    hands = ("four_finger", "three_fingered")
    axis = sg.description.Axis(path="hand", values=hands)
    short = sg.description.SweepPlan(scene=pinch(duration=0.02), axes=(axis,))
    sweep(short, tmp_path, workers=1, dataset="grasps")
    sets = [load_grasps(tmp_path / f"dataset/grasps-{hand}.json") for hand in hands]
    assert [item.hand for item in sets] == list(hands)
    assert [grasp.name for item in sets for grasp in item.grasps] == ["row-0", "row-1"]


def test_a_sweep_writes_episodes_for_lerobot(run, tmp_path):
    pd = pytest.importorskip("pandas", reason="pandas is the extra 'sweep'")
    words = (
        "four_finger", "sphere", "--density", "160,700", "--set", "duration=0.3", "--no-report",
    )  # fmt: skip
    out = tmp_path / "out"
    assert run("sweep", *words, "--dataset", "lerobot", "--out", out).code == 0
    info = json.loads((out / "dataset/lerobot/meta/info.json").read_text("utf-8"))
    assert info["total_episodes"] == 2
    table = pd.read_csv(out / "sweep.csv")
    samples = np.floor(table["simulated_time_s"].to_numpy() * info["fps"] + 1e-6) + 1
    assert info["total_frames"] == samples.sum()


def test_a_dataset_needs_a_directory():
    with pytest.raises(sg.DescriptionError, match=r"^out: expected a directory for the dataset"):
        sweep(plan(), dataset="grasps")


def test_an_unknown_dataset_is_refused_before_any_grasp(tmp_path):
    with pytest.raises(sg.DescriptionError) as refused:
        sweep(plan(), tmp_path, dataset="lerobots")
    assert refused.value.field == "dataset"
    assert "did you mean 'lerobot'" in refused.value.message
    assert not [*tmp_path.iterdir()]


def test_a_missing_library_is_reported_before_any_grasp(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "h5py", None)
    with pytest.raises(sg.BackendUnavailable, match=r"softgrasp\[minari\]"):
        sweep(plan(), tmp_path, dataset="minari")
    assert not [*tmp_path.iterdir()]


@pytest.mark.parametrize("fps", [0, -1, 0.5, 2.5, float("nan"), float("inf"), None, "50"])
def test_a_rate_is_a_whole_number(fps):
    with pytest.raises(sg.DescriptionError) as refused:
        sample_times(np.array([0.0, 0.1]), fps)
    assert refused.value.field == "fps"


@pytest.mark.parametrize("part", ["data", "meta/episodes"])
def test_a_directory_with_more_files_is_not_joined_with_a_dataset(part, episodes, tmp_path):
    """Readers of LeRobot take every file in these directories."""
    write_lerobot(episodes, tmp_path)
    ours = tmp_path / part / "chunk-000/file-000.parquet"
    before = ours.read_bytes()
    ours.with_name("file-001.parquet").write_bytes(before)
    with pytest.raises(sg.ResultError, match=r"file-001\.parquet"):
        write_lerobot(episodes[:1], tmp_path)
    assert ours.read_bytes() == before
