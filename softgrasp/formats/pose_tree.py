"""Poses in YAML: a matrix, or a position with a quaternion or Euler angles."""

from __future__ import annotations

import warnings

import numpy as np

from softgrasp.errors import DescriptionError, SoftgraspWarning, did_you_mean
from softgrasp.formats.yaml_file import Tree, scaled
from softgrasp.mechanics.transforms import nearest_rotation, quaternion_of, rotation_from_euler

ORTHONORMAL = 1e-4
"""A frame farther than this from orthonormal is a mistake, not rounding [–]."""
ROUNDING = 1e-9
"""A frame nearer than this is orthonormal as it stands [–]."""
FIELDS = ("position", "quaternion", "euler")

FieldPath = tuple[int | str, ...]


def pose_tree(tree: Tree, length: float, angle: float, location: FieldPath, name: str) -> Tree:
    """A pose as it stands in a file, in the fields of ``Pose``.

    Args:
        tree: A (4, 4) or (3, 4) matrix, or ``position`` with ``quaternion`` or ``euler``.
        length: Metres in the file's unit of length.
        angle: Radians in the file's unit of angle.
        location: Where the pose stands in the file.
        name: Whose pose it is, for messages.

    Raises:
        DescriptionError: It is no pose, or a reflection, or too far from orthonormal.
    """
    if isinstance(tree, list):
        return _from_matrix(tree, length, location, name)
    if not isinstance(tree, dict):
        return tree
    for key in tree:
        if key not in FIELDS:
            raise DescriptionError(
                f"no such field; {did_you_mean(key, FIELDS)}",
                field=f"{name}: {location[-1]}.{key}",
                location=(*location, key),
            )
    if "euler" in tree and "quaternion" in tree:
        raise DescriptionError(
            "expected one of euler and quaternion, found both",
            field=f"{name}: {location[-1]}",
            location=location,
        )
    pose = {key: value for key, value in tree.items() if key != "euler"}
    if "position" in pose:
        pose["position"] = scaled(pose["position"], length)
    if "euler" in tree:
        pose["quaternion"] = _from_euler(tree["euler"], angle, location, name)
    return pose


def _from_euler(tree: Tree, angle: float, location: FieldPath, name: str) -> list[float]:
    try:
        angles = [float(part) * angle for part in tree]
        return list(quaternion_of(rotation_from_euler(angles)))
    except (TypeError, ValueError):
        raise DescriptionError(
            f"expected three angles, found {tree!r}",
            field=f"{name}: {location[-1]}.euler",
            location=(*location, "euler"),
        ) from None


def _from_matrix(rows: Tree, length: float, location: FieldPath, name: str) -> dict[str, Tree]:
    def refuse(message: str) -> DescriptionError:
        return DescriptionError(message, field=f"{name}: {location[-1]}", location=location)

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
