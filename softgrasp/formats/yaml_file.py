"""YAML files whose mistakes are told with file, line and field, and whose units are converted.

A file may begin with ``units: {length: mm, angle: deg}``; without it numbers are SI.
"""

from __future__ import annotations

import io
import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from ruamel.yaml import YAML
from ruamel.yaml.comments import CommentedMap, CommentedSeq
from ruamel.yaml.error import MarkedYAMLError, YAMLError
from ruamel.yaml.scalarstring import DoubleQuotedScalarString

from softgrasp.errors import DescriptionError, did_you_mean, reason
from softgrasp.units import ANGLE_UNITS, LENGTH_UNITS, PRESSURE_UNITS

logger = logging.getLogger(__name__)
T = TypeVar("T")
Tree = Any
"""Plain dicts, lists, strings and numbers."""

MAX_INTEGER = 2**63 - 1
"""Larger whole numbers are read as floating-point numbers."""

LENGTHS = frozenset(
    [
        *("a", "d", "radius", "height", "length", "size", "radii", "margin"),
        *("position", "center", "mass_center", "tip", "object_position", "max_drop", "max_creep"),
        *("offset", "displacement", "about", "amplitude", "min_lift"),
        *("point", "thickness"),
        *("torsional_friction", "rolling_friction", "critical_velocity"),
        *("excursion", "pulley_radius"),
    ]
)
UNSEEN_BREAKS = "\x85\u2028\u2029"
"""Line breaks in YAML that look like nothing."""
ANGLES = frozenset(
    [
        "alpha",
        "theta",
        "euler",
        "object_euler",
        "upright_euler",
        "max_rotation",
        "rotation_vector",
        "angle",
    ]
)
"""Fields with a length or an angle; a joint's own numbers depend on its kind (formats.hand)."""


class YamlFile:
    """A parsed YAML mapping that remembers its lines."""

    def __init__(self, path: Path) -> None:
        """Read a file.

        Raises:
            DescriptionError: It cannot be read, is not YAML, or holds no mapping.
        """
        logger.info("Reading %s.", path)
        self.path = path
        self._tree = _parse(path)

    @property
    def data(self) -> dict[str, Tree]:
        """The content as plain dicts and lists, a fresh copy."""
        plain = _plain(self._tree)
        assert isinstance(plain, dict)  # _parse has refused anything else
        return plain

    def read(self, make: Callable[[dict[str, Tree]], T]) -> T:
        """Make a value of the content; its mistakes get this file and their line.

        Raises:
            DescriptionError: As ``make`` raises it, located.
        """
        try:
            return make(self.data)
        except DescriptionError as error:
            if error.file is not None:
                raise
            line, written = self.line_of(error.location), self._value_at(error.location)
            raise error.located(file=self.path, line=line, written=written) from None

    def line_of(self, location: tuple[int | str, ...]) -> int | None:
        """Line, from 1, of a field, or of the nearest thing around it that the file holds."""
        node: Any = self._tree
        line = None
        for part in location:
            try:
                if isinstance(node, CommentedMap):
                    line = node.lc.key(part)[0] + 1
                elif isinstance(node, CommentedSeq):
                    line = node.lc.item(part)[0] + 1
                else:
                    break
                node = node[part]
            except (KeyError, IndexError, TypeError):
                break
        return line

    def _value_at(self, location: tuple[int | str, ...]) -> Tree:
        node: Tree = self._tree
        try:
            for part in location:
                node = node[part]
        except (KeyError, IndexError, TypeError):
            return None
        return _plain(node)


def take_units(data: dict[str, Tree]) -> tuple[dict[str, Tree], float, float]:
    """Take the ``units`` header off a mapping.

    Returns:
        The mapping without it, metres in a unit of length, radians in a unit of angle.

    Raises:
        DescriptionError: A unit is not known.
    """
    rest = {key: value for key, value in data.items() if key != "units"}
    units_tree = data.get("units", {})
    if not isinstance(units_tree, dict):
        raise DescriptionError(
            f"expected a mapping such as {{length: mm, angle: deg}}, found {units_tree!r}",
            field="units",
            location=("units",),
        )
    kinds = {"length": LENGTH_UNITS, "angle": ANGLE_UNITS}
    for kind, unit in units_tree.items():
        if kind not in kinds:
            raise DescriptionError(
                f"no such kind of unit; {did_you_mean(str(kind), kinds)}",
                field=f"units.{kind}",
                location=("units", kind),
            )
        if not isinstance(unit, str) or unit not in kinds[kind]:
            raise DescriptionError(
                f"no unit of {kind} '{unit}'; {did_you_mean(str(unit), kinds[kind])}",
                field=f"units.{kind}",
                location=("units", kind),
            )
    length = LENGTH_UNITS[units_tree.get("length", "m")]
    return rest, length, ANGLE_UNITS[units_tree.get("angle", "rad")]


def take_pressure_unit(data: dict[str, Tree]) -> tuple[dict[str, Tree], float]:
    """Take the ``pressure`` out of the ``units`` of a file that has pressures.

    Returns:
        The mapping without it, and pascals in a unit of pressure.

    Raises:
        DescriptionError: The unit is not known.
    """
    units_tree = data.get("units")
    if not isinstance(units_tree, dict) or "pressure" not in units_tree:
        return data, 1.0
    unit = units_tree["pressure"]
    if not isinstance(unit, str) or unit not in PRESSURE_UNITS:
        raise DescriptionError(
            f"no unit of pressure '{unit}'; {did_you_mean(str(unit), PRESSURE_UNITS)}",
            field="units.pressure",
            location=("units", "pressure"),
        )
    others = {kind: name for kind, name in units_tree.items() if kind != "pressure"}
    return data | {"units": others}, PRESSURE_UNITS[unit]


def scaled(value: Tree, factor: float) -> Tree:
    """A number, or all numbers in a list, times a factor; anything else stays as it is."""
    if isinstance(value, list):
        return [scaled(part, factor) for part in value]
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return value * factor if is_number and factor != 1.0 else value


def to_si(data: Tree, length: float, angle: float) -> Tree:
    """A tree with all lengths in metres and angles in radians."""
    if isinstance(data, list):
        return [to_si(part, length, angle) for part in data]
    if not isinstance(data, dict):
        return data
    converted = {}
    for key, value in data.items():
        if key in LENGTHS:
            converted[key] = scaled(value, length)
        elif key in ANGLES:
            converted[key] = scaled(value, angle)
        else:
            converted[key] = to_si(value, length, angle)
    return converted


def dump(data: dict[str, Tree], comment: str = "") -> str:
    """A mapping as YAML text; short lists of numbers stay on one line."""
    yaml = YAML()
    yaml.width = 100
    yaml.indent(mapping=2, sequence=4, offset=2)
    stream = io.StringIO()
    yaml.dump(_styled(data), stream)
    head = "".join(f"# {line}\n" for line in comment.splitlines())
    return head + stream.getvalue()


def _parse(path: Path) -> CommentedMap:
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise DescriptionError(
            f"expected a readable YAML file, found: {reason(error)}", file=path
        ) from error
    try:
        tree = YAML(typ="rt").load(text)
    except MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        raise DescriptionError(
            f"expected YAML, found: {_first_line(error)}",
            file=path,
            line=None if mark is None else mark.line + 1,
        ) from error
    except YAMLError as error:
        raise DescriptionError(f"expected YAML, found: {error}", file=path) from error
    if not isinstance(tree, CommentedMap):
        kind = {type(None): "nothing", CommentedSeq: "a list"}.get(type(tree), "a single value")
        raise DescriptionError(f"expected a mapping of fields, found {kind}", file=path)
    return tree


def _first_line(error: MarkedYAMLError) -> str:
    parts = [error.context, error.problem]
    return ", ".join(" ".join(part.split()) for part in parts if part)


def _plain(node: Tree) -> Tree:
    if isinstance(node, dict):
        return {str(key): _plain(value) for key, value in node.items()}
    if isinstance(node, list):
        return [_plain(value) for value in node]
    if isinstance(node, int) and not isinstance(node, bool) and abs(node) > MAX_INTEGER:
        return float(str(node))  # may be infinite, which is refused where it is used
    for kind in (bool, int, float, str):
        if isinstance(node, kind):
            return kind(node)
    return node


def _styled(node: Tree) -> Tree:
    if isinstance(node, dict):
        return CommentedMap({key: _styled(value) for key, value in node.items()})
    if isinstance(node, list | tuple):
        sequence = CommentedSeq([_styled(value) for value in node])
        if not any(isinstance(value, dict | list | tuple) for value in node):
            sequence.fa.set_flow_style()
        return sequence
    if isinstance(node, str) and any(mark in node for mark in UNSEEN_BREAKS):
        return DoubleQuotedScalarString(node)  # else they come back as spaces
    return node
