"""Runs as episodes for learning: observations and actions at a constant rate, and their datasets.

Datasets of Minari are written by its own library, those of LeRobot (layout v3.0: Parquet, JSON and
MP4 files) here, since LeRobot's own writer needs PyTorch. Its reader takes ``meta/info.json`` with
the features, ``meta/stats.json``, ``meta/tasks.parquet``, one row per episode in ``meta/episodes``,
all samples in ``data``, and all images of one camera in a video.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation, Slerp

from softgrasp._version import __version__
from softgrasp.description.scene import GraspScene
from softgrasp.errors import DescriptionError, ResultError, missing_library
from softgrasp.evaluation.result import GraspResult
from softgrasp.io.files import atomic_path, json_text, note_written, write_text
from softgrasp.mechanics.transforms import Array
from softgrasp.rendering.encoding import write_frames
from softgrasp.rendering.video import render_key_frames

if TYPE_CHECKING:
    import pyarrow as pa

FPS = 50
"""Default rate of episodes [1/s]."""
SERIES = {
    "state": ("joint_position", "joint_names"),
    "contact_force": ("normal_force", "contact_bodies"),
    "friction_force": ("friction_force", "contact_bodies"),
    "sensors": ("sensor_values", "sensor_names"),
    "pressure": ("pressure", ""),
}
"""Observations by name: array of ``trajectory.npz``, and that of its columns' names."""
POSE = ("x", "y", "z", "qw", "qx", "qy", "qz")


@dataclass(frozen=True, eq=False)
class Episode:
    """A run sampled at a constant rate; T samples."""

    fps: int
    """Samples per second."""
    task: str
    """What was done, in words."""
    observations: dict[str, NDArray[np.float32]]
    """(T, n) each: ``state`` joint variables [rad or m], ``object_pose`` in the world [m, –],
    ``contact_force`` and ``friction_force`` of each body [N], ``sensors`` [N, N·m], ``pressure``
    [Pa]."""
    action: NDArray[np.float32]
    """Targets of the actuators, (T, nu) [rad, m or Pa]."""
    names: dict[str, tuple[str, ...]]
    """Names of the columns of each observation and of ``action``."""
    success: bool | None = None
    """Whether the object was held; None without a test."""
    frames: NDArray[np.uint8] | None = None
    """Images (T, height, width, 3); None without."""

    def __len__(self) -> int:
        return len(self.action)


def episode_of(
    result: GraspResult, fps: int = FPS, *, image_size: tuple[int, int] | None = None
) -> Episode:
    """Sample a result at a constant rate.

    Args:
        result: The result.
        fps: Samples per second.
        image_size: Width and height of the images [px]; no images by default.

    Raises:
        DescriptionError: ``fps`` is no whole number of at least 1.
        BackendUnavailable: No renderer is available.
    """
    frames = None
    if image_size is not None:
        times = sample_times(result.time, fps).tolist()
        frames = np.array(render_key_frames(result, times, size=image_size))
    return sample(result.trajectory(), fps, task_of(result.scene), result.held, frames)


def task_of(scene: GraspScene) -> str:
    """Return the task of a scene in words, such as ``Grasp cube with four_finger``."""
    return f"Grasp {scene.object.name} with {scene.hand.name}"


def sample(
    arrays: Mapping[str, NDArray[Any]],
    fps: int,
    task: str,
    success: bool | None,
    frames: NDArray[np.uint8] | None = None,
) -> Episode:
    """Sample the arrays of ``trajectory.npz`` at a constant rate.

    Joints, positions and forces are interpolated linearly, orientations on the shortest path;
    targets are those of the control sample at or before.

    Args:
        arrays: The arrays.
        fps: Samples per second.
        task: What was done.
        success: Whether it succeeded; None without a test.
        frames: Images at the samples.

    Raises:
        DescriptionError: ``fps`` is no whole number of at least 1.
    """
    time, times = arrays["time"], sample_times(arrays["time"], fps)
    present = {name: keys for name, keys in SERIES.items() if keys[0] in arrays}
    observations = {name: _linear(times, time, arrays[key]) for name, (key, _) in present.items()}
    names = {name: _names(arrays, *keys) for name, keys in present.items()}
    position = _linear(times, time, arrays["object_position"])
    rotations = Rotation.from_quat(arrays["object_quat_wxyz"], scalar_first=True)
    rotated = Slerp(time, rotations)(times) if len(time) > 1 else rotations
    quaternions = rotated.as_quat(scalar_first=True, canonical=True)
    pose = np.concatenate([position, quaternions], axis=1)
    rows = np.searchsorted(time, times + 1e-9, side="right") - 1
    return Episode(
        fps=fps,
        task=task,
        observations={
            name: observation.astype(np.float32)
            for name, observation in (observations | {"object_pose": pose}).items()
        },
        action=arrays["joint_target"][rows].astype(np.float32),
        names=names | {"object_pose": POSE, "action": tuple(arrays["actuator_names"].tolist())},
        success=success,
        frames=frames,
    )


def sample_times(time: Array, fps: Any) -> Array:
    """Return the times of samples from the first to the last of a run [s].

    Raises:
        DescriptionError: ``fps`` is no whole number of at least 1.
    """
    if not isinstance(fps, int | np.integer) or fps < 1:
        message = f"expected a whole number of at least 1 sample a second, found {fps}"
        raise DescriptionError(message, field="fps")
    count = int((time[-1] - time[0]) * fps + 1e-6) + 1
    return np.asarray(np.minimum(time[0] + np.arange(count) / fps, time[-1]))


def _linear(times: Array, time: Array, values: NDArray[Any]) -> Array:
    columns = [np.interp(times, time, item) for item in np.asarray(values, dtype=float).T]
    return np.stack(columns, axis=1) if columns else np.zeros((len(times), 0))


def _names(arrays: Mapping[str, NDArray[Any]], key: str, names: str) -> tuple[str, ...]:
    if names:
        return tuple(arrays[names].tolist())
    return tuple(f"{key}_{column}" for column in range(arrays[key].shape[1]))


def require_alike(episodes: Sequence[Episode]) -> Episode:
    """Return the first of episodes that can stand in one dataset.

    Raises:
        DescriptionError: There are none, or they differ in rate, columns or images.
    """
    if not episodes:
        raise DescriptionError("expected at least one episode, found none")
    first = episodes[0]
    for number, other in enumerate(episodes):
        for what, item, expected in (
            ("fps", other.fps, first.fps),
            *((f"columns of {k}", other.names.get(k), first.names.get(k)) for k in first.names),
            ("names", sorted(other.names), sorted(first.names)),
            ("image size", _size(other), _size(first)),
        ):
            if item != expected:
                raise DescriptionError(
                    f"episode {number}: expected the {what} of episode 0, {expected}, "
                    f"found {item}; one dataset holds runs of one hand"
                )
    return first


def _size(episode: Episode) -> tuple[int, ...] | None:
    return None if episode.frames is None else episode.frames.shape[1:]


def write_minari(
    episodes: Iterable[Episode], directory: str | Path, name: str = "softgrasp/grasps-v0"
) -> Path:
    """Write episodes as a dataset that ``minari.MinariDataset(directory / "data")`` reads.

    Observations are a ``Dict`` space of boxes, actions a ``Box`` of the targets. Action k is taken
    at observation k, so that the last observation has none. The reward is 1 at the last step of a
    run that held the object, else 0.

    Args:
        episodes: Runs of one hand at one rate; images are left out.
        directory: Directory of the dataset; one that is there is replaced.
        name: Identifier of the dataset.

    Returns:
        The directory of the data.

    Raises:
        BackendUnavailable: minari is not installed.
        DescriptionError: There are no episodes, or they differ in their columns.
    """
    try:
        import h5py  # noqa: F401  (minari needs it for its default format)
        from gymnasium import spaces
        from minari import __version__ as minari_version
        from minari.data_collector import EpisodeBuffer
        from minari.dataset.minari_storage import MinariStorage
    except ModuleNotFoundError as error:
        raise missing_library(error) from None
    episodes = list(episodes)
    first = require_alike(episodes)
    path = Path(directory) / "data"
    path.mkdir(parents=True, exist_ok=True)
    files = (path / "main_data.hdf5", path / "metadata.json")
    for file in files:
        file.unlink(missing_ok=True)

    def box(values: np.ndarray) -> Any:
        return spaces.Box(-np.inf, np.inf, values.shape[1:], np.float32)

    storage = MinariStorage.new(
        path,
        observation_space=spaces.Dict({k: box(v) for k, v in first.observations.items()}),
        action_space=box(first.action),
    )
    storage.update_episodes(
        EpisodeBuffer(id=index, **_buffer(item)) for index, item in enumerate(episodes)
    )
    about = {
        "dataset_id": name,
        "minari_version": minari_version,
        "description": "; ".join(sorted({episode.task for episode in episodes})),
        "algorithm_name": f"softgrasp {__version__}",
    }
    storage.update_metadata(about)
    for file in files:
        note_written(file)
    return path


def _buffer(episode: Episode) -> dict[str, Any]:
    steps = len(episode) - 1
    rewards, ends = np.zeros(steps), np.zeros(steps, dtype=bool)
    if steps:
        rewards[-1], ends[-1] = float(episode.success is True), True
    return {
        "observations": episode.observations,
        "actions": episode.action[:steps],
        "rewards": rewards,
        "terminations": ends,
        "truncations": np.zeros(steps, dtype=bool),
    }


VERSION = "v3.0"
FILE = "chunk-{chunk_index:03d}/file-{file_index:03d}"
DATA, VIDEO = f"data/{FILE}.parquet", f"videos/{{video_key}}/{FILE}.mp4"
FIRST = {"chunk_index": 0, "file_index": 0}
CAMERA = "observation.images.scene"
QUANTILES = (0.01, 0.1, 0.5, 0.9, 0.99)
MAX_IMAGES = 100
"""Largest number of images of an episode that enter the statistics."""
INDICES = ("frame_index", "episode_index", "index", "task_index")
Stats = dict[str, dict[str, Any]]


def write_lerobot(
    episodes: Iterable[Episode], directory: str | Path, robot_type: str = "softgrasp"
) -> Path:
    """Write episodes as a dataset that ``LeRobotDataset(repo_id, root=directory)`` reads.

    Args:
        episodes: Runs of one hand at one rate; their images, if any, of one size.
        directory: Directory of the dataset; files of one that is there are replaced.
        robot_type: Name of the robot.

    Returns:
        The directory.

    Raises:
        BackendUnavailable: pyarrow or pandas is not installed.
        DescriptionError: There are no episodes, or they differ in columns or images.
        ResultError: The directory cannot be written, or has files of a larger dataset, which its
            readers would join with this one.
    """
    try:
        import pandas as pd
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ModuleNotFoundError as error:
        raise missing_library(error) from None
    episodes, directory = list(episodes), Path(directory)
    first = require_alike(episodes)
    _require_no_others(directory)
    features = _features(first, tested=all(item.success is not None for item in episodes))
    tasks = list(dict.fromkeys(item.task for item in episodes))
    rows, columns, begin = [], [], 0
    for index, episode in enumerate(episodes):
        columns.append(_columns(episode, features, index, begin, tasks.index(episode.task)))
        rows.append(_row(episode, columns[-1], index, begin))
        begin += len(episode)
    schema = _schema(pa, features)
    path = directory / DATA.format(**FIRST)
    with atomic_path(path) as file, pq.ParquetWriter(file, schema, compression="snappy") as writer:
        for column in columns:  # a row group per episode, as LeRobot writes them
            writer.write_table(_table(pa, column, schema))
    with atomic_path(directory / f"meta/episodes/{FILE}.parquet".format(**FIRST)) as file:
        pq.write_table(pa.Table.from_pylist(rows), file)
    with atomic_path(directory / "meta/tasks.parquet") as file:
        named = pd.Index(tasks, name="task")
        pd.DataFrame({"task_index": range(len(tasks))}, index=named).to_parquet(file)
    whole = {key: np.concatenate([column[key] for column in columns]) for key in columns[0]}
    stats = _stats(whole, [item.frames for item in episodes if item.frames is not None])
    write_text(directory / "meta/stats.json", json_text(stats))
    if first.frames is not None:
        images = (image for item in episodes if item.frames is not None for image in item.frames)
        write_frames(directory / VIDEO.format(video_key=CAMERA, **FIRST), images, first.fps)
    info = _info(episodes, features, robot_type, len(tasks))
    write_text(directory / "meta/info.json", json_text(info))
    return directory


def _require_no_others(directory: Path) -> None:
    """Refuse Parquet files besides those of the only chunk that is written here."""
    mine = {DATA.format(**FIRST), f"meta/episodes/{FILE}.parquet".format(**FIRST)}
    for part in ("data", "meta/episodes"):
        for file in (directory / part).rglob("*.parquet"):
            if file.relative_to(directory).as_posix() not in mine:
                raise ResultError(
                    f"{file}: expected no file of another dataset; name another directory"
                )


def _info(
    episodes: Sequence[Episode], features: Mapping[str, Any], robot_type: str, tasks: int
) -> dict[str, Any]:
    return {
        "codebase_version": VERSION,
        "robot_type": robot_type,
        "total_episodes": len(episodes),
        "total_frames": sum(map(len, episodes)),
        "total_tasks": tasks,
        "chunks_size": 1000,
        "data_files_size_in_mb": 100,
        "video_files_size_in_mb": 200,
        "fps": episodes[0].fps,
        "splits": {"train": f"0:{len(episodes)}"},
        "data_path": DATA,
        "video_path": VIDEO if CAMERA in features else None,
        "features": features,
    }


def _features(episode: Episode, *, tested: bool) -> dict[str, dict[str, Any]]:
    """Return the description of every column."""

    def feature(dtype: str, names: Sequence[str] | None = None) -> dict[str, Any]:
        shape = [1] if names is None else [len(names)]
        return {"dtype": dtype, "shape": shape, "names": None if names is None else list(names)}

    features = {
        f"observation.{name}": feature("float32", episode.names[name])
        for name, values in episode.observations.items()
        if values.shape[1]
    }
    features["action"] = feature("float32", episode.names["action"])
    if tested:
        features |= {"next.reward": feature("float32"), "next.success": feature("bool")}
    features |= {"next.done": feature("bool"), "timestamp": feature("float32")}
    features |= {name: feature("int64") for name in INDICES}
    if episode.frames is not None:
        height, width = (size // 2 * 2 for size in episode.frames.shape[1:3])
        features[CAMERA] = {
            "dtype": "video",
            "shape": [height, width, 3],
            "names": ["height", "width", "channels"],
            "info": {
                "video.height": height,
                "video.width": width,
                "video.channels": 3,
                "video.codec": "h264",
                "video.pix_fmt": "yuv420p",
                "video.fps": episode.fps,
                "video.is_depth_map": False,
                "has_audio": False,
            },
        }
    return features


def _columns(
    episode: Episode, features: Mapping[str, Any], number: int, begin: int, task: int
) -> dict[str, NDArray[Any]]:
    """Return the columns of an episode, (T,) or (T, n)."""
    count = len(episode)
    last = np.arange(count) == count - 1
    known: dict[str, NDArray[Any]] = {
        **{f"observation.{name}": values for name, values in episode.observations.items()},
        "action": episode.action,
        "next.reward": (last & (episode.success is True)).astype(np.float32),
        "next.success": last & (episode.success is True),
        "next.done": last,
        "timestamp": (np.arange(count) / episode.fps).astype(np.float32),
        "frame_index": np.arange(count),
        "episode_index": np.full(count, number),
        "index": np.arange(begin, begin + count),
        "task_index": np.full(count, task),
    }
    return {
        name: known[name].reshape(count, -1)[:, 0] if feature["shape"] == [1] else known[name]
        for name, feature in features.items()
        if feature["dtype"] != "video"
    }


def _schema(pa: Any, features: Mapping[str, Any]) -> pa.Schema:
    types = {"float32": pa.float32(), "bool": pa.bool_(), "int64": pa.int64()}
    return pa.schema(
        {
            name: types[feature["dtype"]]
            if feature["shape"] == [1]
            else pa.list_(types[feature["dtype"]], feature["shape"][0])
            for name, feature in features.items()
            if feature["dtype"] != "video"
        }
    )


def _table(pa: Any, columns: Mapping[str, NDArray[Any]], schema: pa.Schema) -> pa.Table:
    arrays = [
        pa.array(values, type=item.type)
        if values.ndim == 1
        else pa.FixedSizeListArray.from_arrays(
            pa.array(values.ravel(), type=item.type.value_type), type=item.type
        )
        for item, values in zip(schema, columns.values(), strict=True)
    ]
    return pa.Table.from_arrays(arrays, schema=schema)


def _row(
    episode: Episode, columns: Mapping[str, NDArray[Any]], number: int, begin: int
) -> dict[str, Any]:
    """Return what ``meta/episodes`` states of an episode."""
    frames = [] if episode.frames is None else [episode.frames]
    row: dict[str, Any] = {
        "episode_index": number,
        "tasks": [episode.task],
        "length": len(episode),
        "data/chunk_index": 0,
        "data/file_index": 0,
        "dataset_from_index": begin,
        "dataset_to_index": begin + len(episode),
        "meta/episodes/chunk_index": 0,
        "meta/episodes/file_index": 0,
    }
    if frames:
        times = {"from_timestamp": begin, "to_timestamp": begin + len(episode)}
        row |= {f"videos/{CAMERA}/{name}": value for name, value in FIRST.items()}
        row |= {f"videos/{CAMERA}/{name}": at / episode.fps for name, at in times.items()}
    for name, values in _stats(columns, frames).items():
        row |= {f"stats/{name}/{key}": np.asarray(item).tolist() for key, item in values.items()}
    return row


def _stats(columns: Mapping[str, NDArray[Any]], images: Sequence[NDArray[np.uint8]]) -> Stats:
    """Return minimum, maximum, mean, deviation, quantiles and number of the values of columns.

    Of images they are those of each channel, from 0 to 1, over evenly chosen ones.
    """
    stats = {name: _stats_of(values.reshape(len(values), -1)) for name, values in columns.items()}
    if images:
        chosen = [image[:: -(-len(image) // MAX_IMAGES)] for image in images]
        pixels = np.concatenate([item.reshape(-1, 3) for item in chosen]) / 255.0
        by_channel = _stats_of(pixels)
        stats[CAMERA] = {
            key: values if key == "count" else values.reshape(3, 1, 1)
            for key, values in by_channel.items()
        } | {"count": np.array([sum(map(len, chosen))])}
    return stats


def _stats_of(values: NDArray[Any]) -> dict[str, NDArray[Any]]:
    values = values.astype(float)
    parts = {name: getattr(np, name)(values, axis=0) for name in ("min", "max", "mean", "std")}
    quantiles = np.quantile(values, QUANTILES, axis=0)
    parts |= {
        f"q{100 * at:02.0f}": quantile for at, quantile in zip(QUANTILES, quantiles, strict=True)
    }
    return parts | {"count": np.array([len(values)])}
