"""Time series of a result as a pandas table and as an xarray dataset."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from softgrasp.errors import missing_library

if TYPE_CHECKING:
    import pandas as pd
    import xarray

Arrays = Mapping[str, NDArray[Any]]
LABELS = {
    "joint_position": ("joint", "rad or m"),
    "joint_target": ("actuator", "rad, m or Pa"),
    "object_position": ("axis", "m"),
    "object_quat_wxyz": ("component", ""),
    "normal_force": ("body", "N"),
    "friction_force": ("body", "N"),
    "in_contact": ("body", ""),
    "pressure": ("soft_finger", "Pa"),
    "curvature": ("soft_finger", "1/m"),
}
"""Dimension beside time, and unit, of each series: m of what slides, Pa of a soft finger."""


class _Series(NamedTuple):
    """Values over time, with the labels of their columns."""

    name: str
    dimension: str
    labels: list[str]
    unit: str
    values: NDArray[Any]
    """(T, n)."""


def _series(arrays: Arrays, soft_fingers: list[str]) -> Iterator[_Series]:
    known = {
        "joint": arrays["joint_names"].tolist(),
        "actuator": arrays["actuator_names"].tolist(),
        "body": arrays["contact_bodies"].tolist(),
        "axis": ["x", "y", "z"],
        "component": ["w", "x", "y", "z"],
        "soft_finger": soft_fingers,
    }
    for name, (dimension, unit) in LABELS.items():
        if name in arrays:
            values = np.asarray(arrays[name])
            yield _Series(name, dimension, known[dimension], unit, values)


def table_of(arrays: Arrays, soft_fingers: list[str]) -> pd.DataFrame:
    """Return the time series of a result as a table.

    Args:
        arrays: Those of ``trajectory.npz``, with T samples.
        soft_fingers: Names of the soft fingers.

    Returns:
        Columns (series, joint, body or axis), index ``time`` [s], T rows.

    Raises:
        BackendUnavailable: pandas is not installed.
    """
    try:
        import pandas as pd
    except ModuleNotFoundError as error:
        raise missing_library(error) from None
    parts = {
        single.name: pd.DataFrame(single.values, columns=single.labels)
        for single in _series(arrays, soft_fingers)
    }
    table = pd.concat(parts, axis=1)
    table.index = pd.Index(arrays["time"], name="time")
    return table


def dataset_of(
    arrays: Arrays, soft_fingers: list[str], attributes: Mapping[str, str]
) -> xarray.Dataset:
    """Return the time series of a result as a dataset.

    Args:
        arrays: Those of ``trajectory.npz``, with T samples.
        soft_fingers: Names of the soft fingers.
        attributes: Attributes of the dataset.

    Returns:
        One variable a series over ``time`` [s] and joints, bodies or axes, with its unit in
        ``attrs``.

    Raises:
        BackendUnavailable: xarray is not installed.
    """
    try:
        import xarray
    except ModuleNotFoundError as error:
        raise missing_library(error) from None
    parts = list(_series(arrays, soft_fingers))
    variables = {
        part.name: (("time", part.dimension), part.values, {"units": part.unit}) for part in parts
    }
    coordinates = {part.dimension: part.labels for part in parts}
    return xarray.Dataset(
        variables,
        coords={"time": ("time", arrays["time"], {"units": "s"}), **coordinates},
        attrs=attributes,
    )
