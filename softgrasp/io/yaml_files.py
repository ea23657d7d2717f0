"""YAML files with line numbers in error messages, unit conversion, poses, and output.

A file may begin with ``units: {length: mm, angle: deg}``; without it all numbers are in SI. A pose
is a (4, 4) or (3, 4) matrix, or ``position`` with ``quaternion`` or ``euler``.
"""

from __future__ import annotations

import io
import logging
import math
import warnings
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from ruamel.yaml import YAML
from ruamel.yaml.comments import CommentedMap, CommentedSeq
from ruamel.yaml.error import MarkedYAMLError, YAMLError
from ruamel.yaml.scalarstring import DoubleQuotedScalarString

from softgrasp import assets
from softgrasp.description.actuation import Actuator
from softgrasp.description.base import Description, error_at
from softgrasp.errors import DescriptionError, SoftgraspWarning, did_you_mean, reason
from softgrasp.io.files import write_text
from softgrasp.io.input_limits import MAX_LENGTH, check_size, check_text, check_tree
from softgrasp.mechanics.transforms import nearest_rotation, quaternion_of, rotation_from_euler
from softgrasp.units import ANGLE_UNITS, LENGTH_UNITS

logger = logging.getLogger(__name__)
T = TypeVar("T")
Tree = Any
"""Plain dicts, lists, strings and numbers."""
FieldPath = tuple[int | str, ...]
MAX_INTEGER = 2**63 - 1
"""Larger integers are read as floating-point numbers."""
LENGTHS = frozenset(
    [
        *("a", "d", "radius", "height", "length", "size", "radii", "margin"),
        *("position", "center", "mass_center", "tip", "object_position", "max_drop", "max_creep"),
        *("offset", "displacement", "about", "amplitude", "min_lift", "point", "thickness"),
        *("torsional_friction", "rolling_friction", "critical_velocity", "excursion"),
        "pulley_radius",
    ]
)
ANGLES = frozenset(
    [
        *("alpha", "theta", "euler", "angle"),
        *("object_euler", "upright_euler", "max_rotation", "rotation_vector"),
    ]
)
"""Fields with lengths or angles; the unit of joint variables depends on the joint (io.hand)."""
UNSEEN_BREAKS = "\x85\u2028\u2029"
"""Invisible characters that YAML treats as line breaks."""
ORTHONORMAL = 1e-4
"""Distance from orthonormal above which a frame is refused [–]."""
ROUNDING = 1e-9
"""Distance from orthonormal below which a frame is taken as it is [–]."""
FIELDS = ("position", "quaternion", "euler")


def yaml_path(kind: str, name: str | Path) -> Path:
    """Return a YAML file unchanged, or the shipped file of a kind by its name.

    Raises:
        DescriptionError: There is no such shipped file.
    """
    path = Path(name)
    return path if path.suffix.lower() in assets.YAML_SUFFIXES else assets.find(kind, str(name))


def write_yaml(path: str | Path, text: str) -> Path:
    """Write a YAML file and return its path.

    Raises:
        DescriptionError: The suffix of ``path`` is not that of a YAML file.
        ResultError: The file cannot be written.
    """
    if Path(path).suffix.lower() not in assets.YAML_SUFFIXES:
        raise DescriptionError(f"expected a .yaml file, found '{path}'", field="path")
    return write_text(path, text)


class YamlFile:
    """Parsed YAML mapping that knows the lines of its fields."""

    def __init__(self, path: Path) -> None:
        """Read a file.

        Raises:
            DescriptionError: It cannot be read, is not YAML, or holds no mapping.
        """
        logger.info("Reading %s.", path)
        self.path = path
        self._tree = _parse(path)
        units = self._tree.get("units")
        name = units.get("length") if isinstance(units, dict) else None
        unit = LENGTH_UNITS.get(name, 1.0) if isinstance(name, str) else 1.0
        self._check_lengths(self._tree, unit, ())

    def _check_lengths(self, node: Tree, unit: float, location: tuple[int | str, ...]) -> None:
        """Refuse lengths with which a world would be too large."""
        parts = node.items() if isinstance(node, dict) else enumerate(node)
        for key, part in parts:
            if key in LENGTHS and (large := _largest(part)) * unit > MAX_LENGTH:
                raise DescriptionError(
                    f"expected lengths of at most {MAX_LENGTH:g} m, found {large * unit:g}",
                    field=".".join(map(str, (*location, key))),
                    file=self.path,
                    line=self.line_of((*location, key)),
                )
            if isinstance(part, dict | list):
                self._check_lengths(part, unit, (*location, key))

    @property
    def data(self) -> dict[str, Tree]:
        """Content as plain dicts and lists, a new copy."""
        plain = _plain(self._tree)
        assert isinstance(plain, dict)  # _parse has refused anything else
        return plain

    def read(self, make: Callable[[dict[str, Tree]], T]) -> T:
        """Convert the content by a function whose errors get this file and their line.

        Raises:
            DescriptionError: As raised by ``make``, with file and line.
        """
        try:
            return make(self.data)
        except DescriptionError as error:
            if error.file is not None:
                raise
            line, written = self._locate(error.location)
            raise error.located(file=self.path, line=line, written=written) from None

    def line_of(self, location: tuple[int | str, ...]) -> int | None:
        """Return the line, from 1, of a field or of its nearest parent in the file."""
        return self._locate(location)[0]

    def _locate(self, location: tuple[int | str, ...]) -> tuple[int | None, Tree]:
        """Return the line of a field or of its nearest parent, and its value, None without it."""
        node: Any = self._tree
        line = None
        try:
            for part in location:
                if isinstance(node, CommentedMap | CommentedSeq):
                    where = node.lc.key if isinstance(node, CommentedMap) else node.lc.item
                    line = where(part)[0] + 1
                node = node[part]
        except (KeyError, IndexError, TypeError):
            return line, None
        return line, _plain(node)


def _largest(value: Tree) -> float:
    """Return the largest finite magnitude in a number or list of numbers; 0 where there is none."""
    if isinstance(value, list):
        return max(map(_largest, value), default=0.0)
    if not isinstance(value, int | float) or isinstance(value, bool):
        return 0.0
    try:
        number = abs(float(value))
    except OverflowError:  # an integer beyond floats
        return 0.0
    return number if math.isfinite(number) else 0.0


def _parse(path: Path) -> CommentedMap:
    try:
        check_size(path)
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise DescriptionError(
            f"expected a readable YAML file, found: {reason(error)}", file=path
        ) from error
    try:
        tree = _tree_of(text)
    except MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        parts = (" ".join(part.split()) for part in (error.context, error.problem) if part)
        raise DescriptionError(
            f"expected YAML, found: {', '.join(parts)}",
            file=path,
            line=None if mark is None else mark.line + 1,
        ) from error
    except YAMLError as error:
        raise DescriptionError(
            f"expected YAML, found: {' '.join(str(error).split())}", file=path
        ) from error
    except RecursionError:
        raise DescriptionError("expected YAML, found nesting that is too deep", file=path) from None
    except DescriptionError as error:
        raise error.located(file=path) from None
    except (ValueError, OverflowError) as error:  # a date or an integer that Python cannot hold
        raise DescriptionError(
            f"expected dates and numbers that can be read, found: {str(error).split(';')[0]}; "
            "quote what is a text",
            file=path,
        ) from None
    if not isinstance(tree, CommentedMap):
        kind = {type(None): "nothing", CommentedSeq: "a list"}.get(type(tree), "a single value")
        raise DescriptionError(f"expected a mapping of fields, found {kind}", file=path)
    return tree


@lru_cache(maxsize=128)
def _tree_of(text: str) -> Tree:
    """Parse YAML; equal texts share a tree, which must not be modified (a hand takes 50 ms)."""
    check_text(text)
    tree = YAML(typ="rt").load(text)
    check_tree(tree)
    return tree


def _plain(node: Tree) -> Tree:
    if isinstance(node, dict):
        return {str(key): _plain(value) for key, value in node.items()}
    if isinstance(node, list):
        return [_plain(value) for value in node]
    if isinstance(node, int) and not isinstance(node, bool) and abs(node) > MAX_INTEGER:
        return float(str(node))  # may be infinite, which the descriptions refuse
    for kind in (bool, int, float, str):
        if isinstance(node, kind):
            return kind(node)
    return node


# Units
def take_units(data: dict[str, Tree]) -> tuple[dict[str, Tree], float, float]:
    """Remove the ``units`` header from a mapping.

    Returns:
        The mapping without it, the length unit [m], the angle unit [rad].

    Raises:
        DescriptionError: A unit is not known.
    """
    rest = {key: value for key, value in data.items() if key != "units"}
    units_tree = data.get("units", {})
    if not isinstance(units_tree, dict):
        raise error_at(
            f"expected a mapping such as {{length: mm, angle: deg}}, found {units_tree!r}", "units"
        )
    kinds = {"length": LENGTH_UNITS, "angle": ANGLE_UNITS}
    for kind, unit in units_tree.items():
        if kind not in kinds:
            raise error_at(f"no such kind of unit; {did_you_mean(str(kind), kinds)}", "units", kind)
        if not isinstance(unit, str) or unit not in kinds[kind]:
            hint = did_you_mean(str(unit), kinds[kind])
            raise error_at(f"no unit of {kind} '{unit}'; {hint}", "units", kind)
    length = LENGTH_UNITS[units_tree.get("length", "m")]
    return rest, length, ANGLE_UNITS[units_tree.get("angle", "rad")]


def to_si(data: Tree, length: float, angle: float) -> Tree:
    """Convert all lengths of a tree to metres and all angles to radians."""
    if isinstance(data, list):
        return [to_si(part, length, angle) for part in data]
    if not isinstance(data, dict):
        return data
    units = dict.fromkeys(LENGTHS, length) | dict.fromkeys(ANGLES, angle)
    return {
        key: scaled(value, units[key]) if key in units else to_si(value, length, angle)
        for key, value in data.items()
    }


def scaled(value: Tree, factor: float) -> Tree:
    """Multiply a number, or all numbers in a list, by a factor; leave other values unchanged."""
    if isinstance(value, list):
        return [scaled(part, factor) for part in value]
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return value * factor if is_number and factor != 1.0 else value


def rates_to_si(value: Tree, units: list[float]) -> Tree:
    """Convert one number, or one per joint, to SI by the units of the joints, finger by finger."""
    if not isinstance(value, list):
        return scaled(value, units[0])
    pairs = zip(value, units + units[-1:] * len(value), strict=False)
    return [scaled(number, unit) for number, unit in pairs]


def actuator_units(actuators: Sequence[Actuator], length: float, angle: float) -> list[float]:
    """Return the unit of each actuator's target in a file of length and angle units, in SI."""
    return [{"m": length, "rad": angle}.get(actuator.unit, 1.0) for actuator in actuators]


def mapping(value: Tree, *location: str) -> Mapping[str, Any]:
    """Return a mapping of the file.

    Raises:
        DescriptionError: It is something else; knows its location.
    """
    if not isinstance(value, dict):
        raise error_at(f"expected a mapping, found {value!r}", *location)
    return value


# Poses
def pose_tree(tree: Tree, length: float, angle: float, location: FieldPath, name: str) -> Tree:
    """Convert a pose of a file to the fields of ``Pose``, in SI.

    Args:
        tree: A (4, 4) or (3, 4) matrix, or ``position`` with ``quaternion`` or ``euler``.
        length: Length unit of the file [m].
        angle: Angle unit of the file [rad].
        location: Field path of the pose in the file.
        name: Owner of the pose, for messages.

    Raises:
        DescriptionError: It is not a pose, is a reflection, or is too far from orthonormal.
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
            f"(up to {ORTHONORMAL:g} is accepted as rounding)"
        )
    if error > ROUNDING:
        warnings.warn(
            f"{name}: the base frame is off orthonormal by {error:.2g} and was made orthonormal",
            SoftgraspWarning,
            stacklevel=2,
        )
    position = (matrix[:3, 3] * length).tolist()
    return {"position": position, "quaternion": list(quaternion_of(rotation))}


# Output
def description_tree(value: Any, *, types: bool = True) -> Tree:
    """Convert a description to plain data without the fields that have default values.

    Args:
        value: A description, or a value of one of its fields.
        types: Keep every ``type`` field.
    """
    if isinstance(value, Description):
        fields = type(value).model_fields
        return {
            name: description_tree(part, types=types)
            for name, field in fields.items()
            if (part := getattr(value, name)) != field.default or (types and name == "type")
        }
    if isinstance(value, tuple | list):
        return [description_tree(part, types=types) for part in value]
    return value


def dump(data: dict[str, Tree], comment: str = "") -> str:
    """Format a mapping as YAML text; flat lists stay on one line."""
    yaml = YAML()
    yaml.width = 100
    yaml.indent(mapping=2, sequence=4, offset=2)
    stream = io.StringIO()
    yaml.dump(_style(data), stream)
    head = "".join(f"# {line}\n" for line in comment.splitlines())
    return head + stream.getvalue()


def _style(node: Tree) -> Tree:
    if isinstance(node, dict):
        return CommentedMap({key: _style(value) for key, value in node.items()})
    if isinstance(node, list | tuple):
        sequence = CommentedSeq([_style(value) for value in node])
        if not any(isinstance(value, dict | list | tuple) for value in node):
            sequence.fa.set_flow_style()
        return sequence
    if isinstance(node, str) and any(mark in node for mark in UNSEEN_BREAKS):
        return DoubleQuotedScalarString(node)  # unquoted, they are read as spaces
    return node
