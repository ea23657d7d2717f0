"""Grasps of other programs: files of DexGraspBench.

They are NumPy files that hold Python dictionaries, and are read without running the code that such
files can contain: only arrays, numbers, texts, lists and dictionaries are accepted. Poses are
position [m] and quaternion (w, x, y, z); joint variables are in rad or m.

A file has one grasp with ``obj_pose``, ``obj_scale``, ``obj_path`` and ``grasp_qpos``, usually also
``pregrasp_qpos`` and ``squeeze_qpos``, each a hand pose followed by all joint variables; or several
grasps as rows; softgrasp adds ``joint_names``.
"""

from __future__ import annotations

import pickle
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, BinaryIO, cast

import numpy as np

from softgrasp.description.grasps import Grasp, GraspedObject, HandPosture
from softgrasp.errors import DescriptionError, ResultError
from softgrasp.io.files import atomic_path
from softgrasp.io.input_limits import MAX_ARRAYS, check_size, loader
from softgrasp.mechanics.hand_kinematics import pose_of
from softgrasp.mechanics.transforms import Array, transform

_ARRAY_PARTS = (
    ("multiarray", "_reconstruct"),
    ("multiarray", "scalar"),
    ("numeric", "_frombuffer"),
)
ALLOWED = {
    *((f"numpy.{core}.{m}", name) for core in ("core", "_core") for m, name in _ARRAY_PARTS),
    ("numpy", "ndarray"),
    ("numpy", "dtype"),
    ("collections", "OrderedDict"),
    ("_codecs", "encode"),
}
"""Names that a file may use: those of arrays and numbers."""
FARTHEST = 10.0
"""Largest distance of a hand from its object [m]; farther away it is in another unit."""


NO_NAME = "object"
"""Name of an object whose source states none."""


def postures_of(grasp: Grasp) -> tuple[HandPosture, HandPosture, HandPosture]:
    """Return the postures before a grasp, in it and squeezing; that of the grasp for missing ones.

    Raises:
        DescriptionError: They have different joints.
    """
    postures = (grasp.pregrasp or grasp.grasp, grasp.grasp, grasp.squeeze or grasp.grasp)
    if any(posture.joints.keys() != grasp.grasp.joints.keys() for posture in postures):
        raise DescriptionError(
            f"{grasp.name}: expected the same joints in all postures, found others"
        )
    return postures


def numbered(count: int) -> tuple[str, ...]:
    """Return the names of joints that a file does not name, in its order."""
    return tuple(f"joint_{number}" for number in range(count))


# Reading
@loader
def read_grasps(path: str | Path) -> tuple[Grasp, ...]:
    """Read grasps of DexGraspBench: a ``.npy`` file, or all in a directory, as ``grasp_0``, ….

    Joints without names are ``joint_0``, … in the order of the file.

    Raises:
        DescriptionError: There is no such file, it holds no such grasps, an array has another shape
            than expected, or it would run code.
    """
    path = Path(path)
    if path.is_dir():
        files = sorted(path.rglob("*.npy"))
        if not files:
            raise DescriptionError(f"{path}: expected .npy files with grasps, found none")
        read = [grasp for file in files for grasp in read_grasps(file)]
        return tuple(grasp.replace(name=f"grasp_{i}") for i, grasp in enumerate(read))
    content = _unpickle(path)
    if not (isinstance(content, Mapping) and "grasp_qpos" in content):
        raise DescriptionError(
            f"{path}: expected grasps of DexGraspBench (grasp_qpos), found {_kind(content)}"
        )
    grasps = tuple(_dexgraspbench(path, content))
    if not grasps:
        raise DescriptionError(f"{path}: expected one or more grasps, found none")
    return grasps


def _dexgraspbench(path: Path, content: Mapping[str, Any]) -> Iterable[Grasp]:
    grasp = np.atleast_2d(_numbers(path, content, "grasp_qpos"))
    if grasp.ndim != 2 or grasp.shape[1] < 8:
        expected = "a hand pose of 7 numbers and joint variables"
        raise _wrong(path, "grasp_qpos", expected, f"shape {grasp.shape}")
    rows = [grasp]
    for name in ("pregrasp_qpos", "squeeze_qpos"):
        values = grasp if name not in content else np.atleast_2d(_numbers(path, content, name))
        if values.shape != grasp.shape:
            expected = f"the shape of grasp_qpos, {grasp.shape}"
            raise _wrong(path, name, expected, values.shape)
        rows.append(values)
    count = len(grasp)
    has_poses = "obj_pose" in content
    poses = np.atleast_2d(_numbers(path, content, "obj_pose")) if has_poses else _still(count)
    if poses.shape not in ((1, 7), (count, 7)):
        expected = "7 numbers, or as many rows as grasps"
        raise _wrong(path, "obj_pose", expected, f"shape {poses.shape}")
    scales = _scales(path, content, "obj_scale")
    if len(scales) not in (1, count):
        raise _wrong(path, "obj_scale", "one number, or one per grasp", len(scales))
    mesh = str(content.get("obj_path", "")) or None
    listed = _joint_names(path, content, grasp.shape[1] - 7)
    for index in range(count):
        postures = np.array([rows[1][index], rows[0][index], rows[2][index]])
        before, closed, squeezing = _postures(
            f"{path}: [{index}]", postures, poses[index % len(poses)], listed
        )
        scale = scales[index % len(scales)]
        yield Grasp(
            name=f"grasp_{index}",
            object=GraspedObject(name=Path(mesh or NO_NAME).stem, mesh=mesh, scale=scale),
            pregrasp=before, grasp=closed, squeeze=squeezing,
        )  # fmt: skip


def _joint_names(path: Path, content: Mapping[str, Any], count: int) -> tuple[str, ...]:
    """Read the names of the joints, ``numbered`` where the file has none."""
    names = content.get("joint_names")
    listed = numbered(count) if names is None else tuple(str(name) for name in np.ravel(names))
    if len(set(listed)) != count:
        raise _wrong(path, "joint_names", f"{count} different names", len(set(listed)))
    return listed


def _wrong(path: Path | str, name: str, expected: str, actual: object) -> DescriptionError:
    return DescriptionError(f"{path}: {name}: expected {expected}, found {actual}")


def _scales(where: Path | str, content: Mapping[str, Any], name: str) -> list[float]:
    """Read positive factors, 1 where there is none."""
    scales = []
    for value in np.ravel(np.asarray(content.get(name, 1.0), dtype=object)).tolist() or [None]:
        number = _plain_number(value)
        if number is None or number <= 0.0:
            present = "none" if value is None else repr(value)
            raise _wrong(where, name, "a number above 0", present)
        scales.append(number)
    return scales


def _plain_number(value: Any) -> float | None:
    """Return a finite number; None for anything else."""
    if isinstance(value, bool | str | bytes):
        return None
    try:
        number = float(value)
    except (TypeError, ValueError):
        return None
    return number if np.isfinite(number) else None


def _postures(
    where: str, postures: Array, object_pose: Array, names: Sequence[str]
) -> list[HandPosture]:
    """Return postures of rows (3, 7 + n) in the world, in the frame of the object (7,)."""
    quaternions = np.array([*postures[:, 3:7], object_pose[3:]])
    lengths = np.linalg.norm(quaternions, axis=1)
    if (np.abs(lengths - 1.0) > 1e-2).any():
        raise DescriptionError(
            f"{where}: expected unit quaternions (w, x, y, z) at positions 4 to 7 of each pose, "
            f"found one of length {lengths[np.abs(lengths - 1.0).argmax()]:.3g}"
        )
    *hands, reference = quaternions / lengths[:, None]
    to_object = np.linalg.inv(transform(object_pose[:3], reference))
    poses = [to_object @ transform(row[:3], q) for row, q in zip(postures, hands, strict=True)]
    distance = max(float(np.linalg.norm(pose[:3, 3])) for pose in poses)
    if distance > FARTHEST:
        raise DescriptionError(
            f"{where}: expected a hand within {FARTHEST:g} m of its object (lengths in m), found "
            f"one {distance:.4g} m away"
        )
    return [
        HandPosture(pose=pose_of(pose), joints=dict(zip(names, row[7:].tolist(), strict=True)))
        for pose, row in zip(poses, postures, strict=True)
    ]


def _still(count: int) -> Array:
    """Return poses of objects at the origin, (count, 7)."""
    return np.tile([0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0], (count, 1))


def _numbers(path: Path, content: Mapping[str, Any], name: str) -> Array:
    """Read an array of finite numbers."""
    if name not in content:
        raise _wrong(path, name, "an array of numbers", "none")
    try:
        values = np.array(content[name], dtype=float)
    except (TypeError, ValueError):
        raise _wrong(path, name, "an array of numbers", _kind(content[name])) from None
    if not np.isfinite(values).all():
        raise _wrong(path, name, "finite numbers", "one that is not")
    return values


def _kind(content: object) -> str:
    if isinstance(content, Mapping):
        return f"a dictionary with {', '.join(map(str, content)) or 'nothing'}"
    return f"a {type(content).__name__}"


class _Unpickler(pickle.Unpickler):
    """Unpickler that accepts arrays and plain data only."""

    def find_class(self, module: str, name: str) -> Any:
        if (module, name) not in ALLOWED:
            raise pickle.UnpicklingError(f"'{module}.{name}'")
        return super().find_class(module, name)


def _unpickle(path: Path) -> Any:
    """Read the object in a ``.npy`` file."""
    try:
        check_size(path, MAX_ARRAYS)
        with path.open("rb") as file:
            return _content(file)
    except OSError as error:
        raise DescriptionError(
            f"{path}: expected a file with grasps, found: {error.strerror or error}"
        ) from error
    except pickle.UnpicklingError as error:
        content = str(error)
        content = f"{content}, which could run code" if content.startswith("'") else content
        raise DescriptionError(
            f"{path}: expected arrays and plain data, found {content}"
        ) from error
    except (ValueError, EOFError, KeyError, TypeError, IndexError, AttributeError) as error:
        raise DescriptionError(f"{path}: expected a NumPy file (.npy), found: {error}") from error


def _content(file: BinaryIO) -> Any:
    is_old = np.lib.format.read_magic(file) == (1, 0)
    formats = np.lib.format
    read = formats.read_array_header_1_0 if is_old else formats.read_array_header_2_0
    shape, _, dtype = read(file)
    if dtype.hasobject:
        content = _Unpickler(file).load()
        if not isinstance(content, np.ndarray):
            return content
        return list(content) if content.ndim else content.item()
    count = int(np.prod(shape))
    return np.fromfile(cast(Any, file), dtype=dtype, count=count).reshape(shape)


# Writing
def write_grasps(grasps: Iterable[Grasp], directory: str | Path) -> list[Path]:
    """Write grasps in the format of DexGraspBench, one file each, into a directory.

    The object is at the origin of the world.

    Raises:
        DescriptionError: The postures of a grasp have different joints.
        ResultError: The directory cannot be written.
    """
    directory = Path(directory)
    files = []
    try:
        directory.mkdir(parents=True, exist_ok=True)
        for index, grasp in enumerate(grasps):
            names = tuple(grasp.grasp.joints)
            rows = [
                np.array([*item.pose.position, *item.pose.quaternion, *map(item.joints.get, names)])
                for item in postures_of(grasp)
            ]
            content = {
                "obj_pose": _still(1)[0],
                "obj_scale": grasp.object.scale,
                "obj_path": grasp.object.mesh or "",
                "pregrasp_qpos": rows[0],
                "grasp_qpos": rows[1],
                "squeeze_qpos": rows[2],
            }
            if names != numbered(len(names)):
                content["joint_names"] = list(names)
            files.append(directory / f"{index}_grasp.npy")
            with atomic_path(files[-1]) as path, path.open("wb") as file:
                np.save(file, np.array(content, dtype=object), allow_pickle=True)
    except OSError as error:
        raise ResultError(f"{directory}: cannot be written: {error.strerror or error}") from error
    return files
