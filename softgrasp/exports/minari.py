"""Episodes as a dataset of Minari, written by its own library."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

from softgrasp._version import __version__
from softgrasp.errors import missing_library
from softgrasp.exports.episodes import Episode, require_alike
from softgrasp.io.files import note_written

FILES = ("main_data.hdf5", "metadata.json")


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
    for file in FILES:
        (path / file).unlink(missing_ok=True)

    def box(values: np.ndarray) -> Any:
        return spaces.Box(-np.inf, np.inf, values.shape[1:], np.float32)

    storage = MinariStorage.new(
        path,
        observation_space=spaces.Dict({k: box(v) for k, v in first.observations.items()}),
        action_space=box(first.action),
    )
    storage.update_episodes(
        EpisodeBuffer(id=index, **_buffer(one)) for index, one in enumerate(episodes)
    )
    about = {
        "dataset_id": name,
        "minari_version": minari_version,
        "description": "; ".join(sorted({episode.task for episode in episodes})),
        "algorithm_name": f"softgrasp {__version__}",
    }
    storage.update_metadata(about)
    for file in FILES:
        note_written(path / file)
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
