"""Hands in YAML: Denavit–Hartenberg tables with units, defaults and base frames."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np

from softgrasp.description.hand import Hand
from softgrasp.errors import DescriptionError, SoftgraspWarning
from softgrasp.formats.yaml_file import Tree, YamlFile, scaled, take_units, to_si
from softgrasp.mechanics.transforms import (
    nearest_rotation,
    quaternion_of,
    rotation_from_euler,
)

ORTHONORMAL = 1e-4
"""A base frame farther than this from orthonormal is a mistake, not rounding [–]."""
ROUNDING = 1e-9
"""A base frame nearer than this is orthonormal as it stands [–]."""


def read_hand(path: Path) -> Hand:
    """Read a hand from a YAML file.

    Raises:
        DescriptionError: The file, or what it says, is wrong; names file, line and field.
    """
    return YamlFile(path).read(hand_from)


def hand_from(data: dict[str, Tree]) -> Hand:
    """Make a hand of a YAML tree.

    ``units``, ``convention`` and ``defaults`` (fields of every phalanx) stand at the top; a pose
    is a (4, 4) or (3, 4) matrix, or ``position`` with ``quaternion`` or ``euler``.

    Raises:
        DescriptionError: Something in the tree is wrong; knows its location.
    """
    data, length, angle = take_units(data)
    tree = _with_defaults(data)
    for index, finger in enumerate(_dicts(tree.get("fingers"))):
        place: tuple[int | str, ...] = ("fingers", index)
        name = f"finger '{finger.get('name', index)}'"
        _joints_to_si(finger, length, angle)
        _pose_to_si(finger, "base", length, angle, place, name)
        for row_index, row in enumerate(_dicts(finger.get("phalanges"))):
            row_place = (*place, "phalanges", row_index)
            _pose_to_si(row, "shape_pose", length, angle, row_place, name)
    _grasps_to_si(tree, length, angle)
    if isinstance(palm := tree.get("palm"), dict):
        _pose_to_si(palm, "pose", length, angle, ("palm",), "palm")
    done = ("base", "limits", "start", "rates", "pose", "shape_pose")
    return Hand(**_converted(tree, length, angle, done))


def _converted(tree: Tree, length: float, angle: float, done: tuple[str, ...]) -> Tree:
    """The tree in SI; fields in ``done`` are already."""
    if isinstance(tree, list):
        return [_converted(part, length, angle, done) for part in tree]
    if not isinstance(tree, dict):
        return tree
    rest = {key: value for key, value in tree.items() if key not in done}
    leaves = {k: v for k, v in rest.items() if not isinstance(v, dict) and not _holds_dicts(v)}
    result = to_si(leaves, length, angle)
    for key, value in tree.items():
        if key in done:
            result[key] = value
        elif key not in leaves:
            result[key] = _converted(value, length, angle, done)
    return {key: result[key] for key in tree}


def _holds_dicts(value: Tree) -> bool:
    return isinstance(value, list) and any(isinstance(part, dict) for part in value)


def _dicts(value: Tree) -> list[dict[str, Any]]:
    return [part for part in value if isinstance(part, dict)] if isinstance(value, list) else []


def _with_defaults(data: dict[str, Tree]) -> dict[str, Tree]:
    tree = {k: v for k, v in data.items() if k not in ("defaults", "convention")}
    defaults = data.get("defaults", {})
    if not isinstance(defaults, dict):
        raise DescriptionError(
            f"expected fields of a phalanx, found {defaults!r}",
            field="defaults",
            location=("defaults",),
        )
    for finger in _dicts(tree.get("fingers")):
        if "convention" in data:
            finger.setdefault("convention", data["convention"])
        if isinstance(rows := finger.get("phalanges"), list):
            finger["phalanges"] = [_merged(defaults, row) for row in rows]
    return tree


def _merged(defaults: dict[str, Tree], row: Tree) -> Tree:
    if not isinstance(row, dict):
        return row
    given = dict(defaults)
    if "mass" in row:
        given.pop("density", None)
    if "density" in row:
        given.pop("mass", None)
    return given | row


def _joints_to_si(finger: dict[str, Tree], length: float, angle: float) -> None:
    for row in _dicts(finger.get("phalanges")):
        factor = _joint_unit(row, length, angle)
        for key in ("limits", "start"):
            if key in row:
                row[key] = scaled(row[key], factor)


def _joint_unit(row: dict[str, Tree], length: float, angle: float) -> float:
    return length if row.get("joint") == "prismatic" else angle


def _grasps_to_si(tree: dict[str, Tree], length: float, angle: float) -> None:
    fingers = [_dicts(finger.get("phalanges")) for finger in _dicts(tree.get("fingers"))]
    units = [_joint_unit(row, length, angle) for rows in fingers for row in rows]
    grasps = tree.get("grasps")
    for preset in grasps.values() if isinstance(grasps, dict) else ():
        for key in ("rates", "start") if isinstance(preset, dict) else ():
            value = preset.get(key)
            if isinstance(value, list):
                # as many units as numbers: of the hand, or of its first finger
                pairs = zip(value, units + [angle] * len(value), strict=False)
                preset[key] = [scaled(number, unit) for number, unit in pairs]
            elif value is not None:
                preset[key] = scaled(value, units[0] if units else angle)


def _pose_to_si(
    owner: dict[str, Tree],
    key: str,
    length: float,
    angle: float,
    place: tuple[int | str, ...],
    name: str,
) -> None:
    if key in owner:
        owner[key] = _pose_tree(owner[key], length, angle, (*place, key), name)


def _pose_tree(
    given: Tree, length: float, angle: float, place: tuple[int | str, ...], name: str
) -> Tree:
    """A base frame, a matrix or a mapping, as the fields of a pose."""
    if isinstance(given, list):
        return _pose_from_matrix(given, length, place, name)
    if not isinstance(given, dict):
        return given
    pose = {key: value for key, value in given.items() if key != "euler"}
    if "position" in pose:
        pose["position"] = scaled(pose["position"], length)
    if "euler" in given:
        try:
            turns = [float(part) * angle for part in given["euler"]]
            pose["quaternion"] = list(quaternion_of(rotation_from_euler(turns)))
        except (TypeError, ValueError):
            raise DescriptionError(
                f"expected three angles, found {given['euler']!r}",
                field=f"{name}: euler",
                location=(*place, "euler"),
            ) from None
    return pose


def _pose_from_matrix(
    rows: Tree, length: float, place: tuple[int | str, ...], name: str
) -> dict[str, Tree]:
    def refuse(message: str) -> DescriptionError:
        return DescriptionError(message, field=f"{name}: {place[-1]}", location=place)

    try:
        matrix = np.array(rows, dtype=float)
    except (TypeError, ValueError):
        raise refuse("expected a matrix of 3 or 4 rows of 4 numbers") from None
    if matrix.shape not in ((3, 4), (4, 4)) or not np.isfinite(matrix).all():
        raise refuse(
            f"expected a matrix of 3 or 4 rows of 4 finite numbers, found shape {matrix.shape}"
        )
    if matrix.shape == (4, 4) and matrix[3].tolist() != [0.0, 0.0, 0.0, 1.0]:
        raise refuse(f"expected a last row of 0 0 0 1, found {matrix[3].tolist()}")
    rotation, error = nearest_rotation(matrix[:3, :3])
    if np.linalg.det(matrix[:3, :3]) < 0:
        raise refuse(
            "expected a rotation, found a reflection (determinant "
            f"{np.linalg.det(matrix[:3, :3]):.3f}); flip one axis, and a second one to match"
        )
    if error > ORTHONORMAL:
        raise refuse(
            f"expected an orthonormal frame, found one that is off by {error:.2g} "
            f"(at most {ORTHONORMAL:g} is taken as rounding)"
        )
    if error > ROUNDING:
        warnings.warn(
            f"{name}: the base frame is off orthonormal by {error:.2g} and was made orthonormal",
            SoftgraspWarning,
            stacklevel=2,
        )
    position = (matrix[:3, 3] * length).tolist()
    return {"position": position, "quaternion": list(quaternion_of(rotation))}
