"""Hands, soft fingers and arms in YAML.

A hand file has Denavit–Hartenberg tables, placed chains or soft fingers; ``units``, ``convention``
and ``defaults`` (fields of every phalanx) are top-level fields. ``hands`` joins several hands into
one. ``save_hand`` writes a file from which ``load_hand`` makes an equal hand. An
arm is a table of its chain, or a URDF, xacro or MJCF file.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from contextvars import ContextVar
from pathlib import Path
from typing import Any

from softgrasp.assets import ROBOT_SUFFIXES
from softgrasp.description.arm import Arm
from softgrasp.description.base import error_at, error_inside
from softgrasp.description.contact import Bellows
from softgrasp.description.finger import Finger, Phalanx
from softgrasp.description.geometry import Pose
from softgrasp.description.hand import Grasps, Hand
from softgrasp.description.soft_finger import SoftFinger
from softgrasp.errors import DescriptionError, did_you_mean
from softgrasp.io.files import setting
from softgrasp.io.input_limits import loader
from softgrasp.io.object import anchor_mesh
from softgrasp.io.yaml_files import (
    FieldPath,
    Tree,
    YamlFile,
    actuator_units,
    description_tree,
    dump,
    pose_tree,
    rates_to_si,
    scaled,
    take_units,
    to_si,
    write_yaml,
    yaml_path,
)
from softgrasp.mechanics.hand_kinematics import PlacedHand, join_hands

PHALANX_FIELDS = ("name", "a", "alpha", "d", "theta", "joint", "joint_name", "limits", "start")
"""Fields that are written with each phalanx, even where all phalanges have the same value."""
FIELDS = ("name", "hands", "grasps", "source")
PART_FIELDS = ("hand", "name", "pose")
DONE = ("base", "limits", "start", "rest_angle", "origin", "shape_pose", "parts", "inertial",
        "adhesion")  # fmt: skip
"""Fields that are converted before the rest of the tree; ``inertial`` is in SI, as in URDF."""
ADHESION_LENGTHS = ("diameter", "depth", "thickness", "gap", "position", "reach")
UNSURE = "not determined by the measurements: "
"""Prefix, in ``source`` of a calibrated finger, of the constants that are not determined."""
SELECTED: ContextVar[str] = ContextVar("hand", default="")
"""First link of the hand in files that this context reads; empty for all links."""


def select_hand(root: str) -> AbstractContextManager[None]:
    """Read the links from a named one outwards as the hand of robot files in this context."""
    return setting(SELECTED, root)


def hand_from(data: dict[str, Tree], *, directory: Path | None = None) -> Hand:
    """Make a hand from a YAML tree.

    Where ``model`` names an MJCF file, the other fields replace values of that model.

    Raises:
        DescriptionError: Something in the tree is wrong; knows its location.
    """
    if isinstance(data.get("model"), str):
        from softgrasp.io.mjcf.hand import hand_beside

        return hand_beside(data, directory or Path())
    data, length, angle = take_units(data)
    tree = _with_defaults(data)
    for index, finger in enumerate(_dicts(tree.get("fingers"))):
        _finger_to_si(finger, ("fingers", index), length, angle)
    for index, digit in enumerate(_dicts(tree.get("soft_fingers"))):
        location = ("soft_fingers", index)
        _pose_to_si(digit, "base", length, angle, location, f"finger '{digit.get('name', index)}'")
        _put_finger(digit, (*location, "finger"), length, angle, directory)
    _grasps_to_si(tree, length, angle)
    units = joint_units(tree, length, angle)
    synergies_to_si(tree.get("synergies"), units)
    for coupling in _dicts(tree.get("couplings")):
        if "offset" in coupling:
            unit = units.get(str(coupling.get("joint")), angle)
            coupling["offset"] = scaled(coupling["offset"], unit)
    if isinstance(palm := tree.get("palm"), dict):
        _pose_to_si(palm, "pose", length, angle, ("palm",), "palm")
        _parts_to_si(palm, length, angle, ("palm",), "palm")
    if directory is not None:
        for owner in _dicts([palm, *_rows(tree)]):
            for part in (owner, *_dicts(owner.get("parts"))):
                anchor_mesh(part.get("shape"), directory)
    done = (*DONE, "rates", "pose", "finger", "contact", "preshapes", "offset")
    try:
        return Hand(**_convert(tree, length, angle, done))
    except DescriptionError as error:
        raise _locate(error, data) from None


def finger_from(data: dict[str, Tree], length: float, angle: float) -> Finger:
    """Make one rigid finger from a tree with ``convention``, ``defaults`` and ``phalanges``.

    Raises:
        DescriptionError: Something in the tree is wrong; knows its location.
    """
    defaults = data.get("defaults", {})
    tree = _with_rows({k: v for k, v in data.items() if k != "defaults"}, defaults)
    _finger_to_si(tree, (), length, angle)
    return Finger(**_convert(tree, length, angle, DONE))


@loader
def load_finger(name: str | Path) -> SoftFinger:
    """Load a shipped soft finger by name, or one from a YAML file.

    Raises:
        DescriptionError: There is no such finger, or its file is wrong; names file, line and field.
    """
    return YamlFile(yaml_path("fingers", name)).read(soft_finger_from)


def save_finger(finger: SoftFinger, path: str | Path) -> Path:
    """Write a soft finger as YAML, in SI, from which ``load_finger`` makes an equal one.

    Raises:
        DescriptionError: The suffix of ``path`` is not that of a YAML file.
        ResultError: The file cannot be written.
    """
    return write_yaml(path, dump(finger.model_dump(exclude_defaults=True)))


def soft_finger_from(data: dict[str, Tree]) -> SoftFinger:
    """Make a soft finger from a YAML tree.

    Raises:
        DescriptionError: Something in the tree is wrong; knows its location.
    """
    rest, length, angle = take_units(data)
    return SoftFinger(**to_si(rest, length, angle))


def save_hand(hand: Hand, path: str | Path) -> Path:
    """Write a hand as YAML, in SI with all digits, from which ``load_hand`` makes an equal one.

    Raises:
        DescriptionError: The suffix of ``path`` is not that of a YAML file.
        ResultError: The file cannot be written.
    """
    return write_yaml(path, hand_yaml(hand))


def hand_yaml(hand: Hand) -> str:
    """Format a hand as YAML; defaults are omitted, common fields of all phalanges written once."""
    tree: dict[str, Tree] = description_tree(hand)
    fingers: list[dict[str, Tree]] = tree.get("fingers", [])
    head: dict[str, Tree] = {"name": tree.pop("name")}
    if source := tree.pop("source", ""):
        head["source"] = source
    conventions = {finger.convention for finger in hand.fingers}
    if len(conventions) == 1:
        head["convention"] = conventions.pop()
        for finger in fingers:
            del finger["convention"]
    rows = [row for finger in fingers for row in finger["phalanges"]]
    for finger in fingers:
        for index, row in enumerate(finger["phalanges"], start=1):
            for key, name in {"name": f"P{index}", "joint_name": f"J{index}"}.items():
                if row.get(key) == name:
                    del row[key]
    if defaults := _extract_common(rows):
        head["defaults"] = defaults
    return dump(head | tree)


def join_from(data: dict[str, Tree], directory: Path, load: Callable[[str], Hand]) -> Hand:
    """Make one hand from a tree with ``hands``, a list of hands to be joined.

    Args:
        data: The tree: ``name``, ``units``, ``hands`` (each with ``hand``, ``name``, ``pose``), and
            optionally ``grasps`` of the whole.
        directory: Directory of the files it names.
        load: Loads a hand by name or file.

    Raises:
        DescriptionError: Something in the tree is wrong; knows its location.
    """
    data, length, angle = take_units(data)
    _refuse_unknown(data, FIELDS, ())
    entries = data.get("hands")
    if not isinstance(entries, list):
        raise error_at(f"expected a list of hands, found {entries!r}", "hands")
    parts = []
    for index, part in enumerate(entries):
        location = ("hands", index)
        if not isinstance(part, dict) or not {"hand", "name"} <= set(part):
            raise error_at(
                f"expected a mapping with {', '.join(PART_FIELDS)}, found {part!r}", *location
            )
        _refuse_unknown(part, PART_FIELDS, location)
        name, path = str(part["name"]), (*location, "pose")
        pose = pose_tree(part.get("pose", {}), length, angle, path, name)
        beside = directory / str(part["hand"])
        hand = load(str(beside if beside.is_file() else part["hand"]))
        parts.append(PlacedHand(name, hand, Pose(**pose)))
    grasps = None
    if "grasps" in data:
        actuators = [actuator for part in parts for actuator in part.hand.actuators]
        units = actuator_units(actuators, length, angle)
        grasps = Grasps(**_grasps(data["grasps"], length, angle, units))
    hand = join_hands(str(data.get("name", "hands")), parts, grasps)
    return hand.replace(source=str(data.get("source", hand.source)))


# Unit conversion
def joint_units(tree: dict[str, Tree], length: float, angle: float) -> dict[str, float]:
    """Return the unit of each joint variable of a hand in SI, by the joint names of the model."""
    units = {}
    for finger in _dicts(tree.get("fingers")):
        for index, row in enumerate(_dicts(finger.get("phalanges")), start=1):
            prefix = "" if finger.get("verbatim_names") is True else f"{finger.get('name')}_"
            name = prefix + str(row.get("joint_name") or f"J{index}")
            units[name] = _joint_unit(row, length, angle)
    return units


def synergies_to_si(synergies: Tree, units: Mapping[str, float]) -> None:
    """Convert the mean posture of synergies in place by the units of joint variables.

    The matrix of a synergy is always in radians or metres for a weight z of 1.
    """
    if not isinstance(synergies, dict) or not isinstance(synergies.get("joints"), list):
        return
    by_joint = [units.get(str(name), 1.0) for name in synergies["joints"]]
    if isinstance(mean := synergies.get("mean"), list):
        pairs = zip(mean, by_joint + [1.0] * len(mean), strict=False)
        synergies["mean"] = [scaled(value, unit) for value, unit in pairs]


def _joint_unit(row: dict[str, Tree], length: float, angle: float) -> float:
    return length if row.get("joint") == "prismatic" else angle


def _grasps_to_si(tree: dict[str, Tree], length: float, angle: float) -> None:
    driven = [row for row in _rows(tree) if row.get("driven", True)]
    units = [_joint_unit(row, length, angle) for row in driven]
    units += [1.0 for row in _rows(tree) if isinstance(row.get("adhesion"), dict)]
    units += [1.0 for _ in _dicts(tree.get("soft_fingers"))]
    grasps = tree.get("grasps")
    for preset in grasps.values() if isinstance(grasps, dict) else ():
        for key in ("rates", "start") if isinstance(preset, dict) else ():
            if key in preset:
                preset[key] = rates_to_si(preset[key], units or [angle])
    preshapes, units = tree.get("preshapes"), units or [angle]
    if isinstance(preshapes, dict):
        tree["preshapes"] = {name: rates_to_si(at, units) for name, at in preshapes.items()}
    for preshape in _dicts(preshapes):
        if "positions" in preshape:
            preshape["positions"] = rates_to_si(preshape["positions"], units)


def _finger_to_si(
    finger: dict[str, Tree], location: FieldPath, length: float, angle: float
) -> None:
    name = f"finger '{finger.get('name', location[-1] if location else '')}'"
    _pose_to_si(finger, "base", length, angle, location, name)
    for index, row in enumerate(_dicts(finger.get("phalanges"))):
        factor, within = _joint_unit(row, length, angle), (*location, "phalanges", index)
        for key in {"limits", "start", "rest_angle"} & row.keys():
            row[key] = scaled(row[key], factor)
        for key in ("origin", "shape_pose"):
            _pose_to_si(row, key, length, angle, within, name)
        _parts_to_si(row, length, angle, within, name)
        if isinstance(adhesion := row.get("adhesion"), dict):
            row["adhesion"] = _scale_fields(adhesion, ADHESION_LENGTHS, length)
    if isinstance(rows := finger.get("phalanges"), list):
        finger["phalanges"] = [
            bellow
            for index, row in enumerate(rows)
            for bellow in _with_bellows(row, length, angle, (*location, "phalanges", index))
        ]


def _with_bellows(row: Tree, length: float, angle: float, location: FieldPath) -> list[Tree]:
    """Replace a phalanx with ``bellows`` by the passive joints of these; others are kept."""
    if not isinstance(row, dict) or "bellows" not in row:
        return [row]
    if not isinstance(tree := row["bellows"], dict):
        raise error_at(f"expected the fields of bellows, found {tree!r}", *location, "bellows")
    tree = _scale_fields(_scale_fields(tree, ("stroke",), length), ("tilt",), angle)
    try:
        return list(Bellows(**tree).rows(row))
    except DescriptionError as error:
        raise error_inside(error, *location, "bellows") from None


def _scale_fields(tree: dict[str, Tree], fields: tuple[str, ...], unit: float) -> dict[str, Tree]:
    return {key: scaled(value, unit) if key in fields else value for key, value in tree.items()}


def _parts_to_si(
    owner: dict[str, Tree], length: float, angle: float, location: FieldPath, name: str
) -> None:
    for index, part in enumerate(_dicts(owner.get("parts"))):
        _pose_to_si(part, "pose", length, angle, (*location, "parts", index), name)
        if isinstance(shape := part.get("shape"), dict):
            part["shape"] = to_si(shape, length, angle)


def _pose_to_si(
    owner: dict[str, Tree], key: str, length: float, angle: float, location: FieldPath, name: str
) -> None:
    if key in owner:
        owner[key] = pose_tree(owner[key], length, angle, (*location, key), name)


def _convert(tree: Tree, length: float, angle: float, done: tuple[str, ...]) -> Tree:
    """Convert a tree to SI, except for the fields in ``done``."""
    if isinstance(tree, list):
        return [_convert(part, length, angle, done) for part in tree]
    if not isinstance(tree, dict):
        return tree
    rest = {key: value for key, value in tree.items() if key not in done}
    leaves = {k: v for k, v in rest.items() if not isinstance(v, dict) and not _dicts(v)}
    result = tree | to_si(leaves, length, angle)
    nested = {k: _convert(v, length, angle, done) for k, v in rest.items() if k not in leaves}
    return result | nested


# Fields of a hand
def _with_defaults(data: dict[str, Tree]) -> dict[str, Tree]:
    """Copy ``convention`` and ``defaults`` into the fingers; ``data`` is unchanged."""
    tree = {k: v for k, v in data.items() if k not in ("defaults", "convention")}
    defaults = data.get("defaults", {})
    if not isinstance(defaults, dict):
        raise error_at(f"expected fields of a phalanx, found {defaults!r}", "defaults")
    general = {"convention": data["convention"]} if "convention" in data else {}
    if isinstance(fingers := tree.get("fingers"), list):
        tree["fingers"] = [
            general | _with_rows(part, defaults) if isinstance(part, dict) else part
            for part in fingers
        ]
    return tree


def _with_rows(finger: dict[str, Tree], defaults: dict[str, Tree]) -> dict[str, Tree]:
    rows = finger.get("phalanges")
    if not isinstance(rows, list):
        return dict(finger)
    weights = {"mass", "density"}  # one in a row replaces both
    lighter = {key: value for key, value in defaults.items() if key not in weights}
    return finger | {
        "phalanges": [
            (lighter if weights & row.keys() else defaults) | row if isinstance(row, dict) else row
            for row in rows
        ]
    }


def _put_finger(
    digit: dict[str, Tree], location: FieldPath, length: float, angle: float, directory: Path | None
) -> None:
    """Replace the name, file or fields of a soft finger by its fields in SI."""
    finger = digit.get("finger")
    if isinstance(finger, dict):
        digit["finger"] = to_si(finger, length, angle)
    if not isinstance(finger, str):
        return
    is_file = Path(finger).suffix != ""
    try:
        loaded = load_finger((directory or Path()) / finger if is_file else finger)
    except DescriptionError as error:
        if is_file:
            raise
        raise error_at(error.message, *location) from None
    digit["finger"] = loaded.model_dump()


def _dicts(value: Tree) -> list[dict[str, Any]]:
    return [part for part in value if isinstance(part, dict)] if isinstance(value, list) else []


def _rows(tree: dict[str, Tree]) -> list[dict[str, Any]]:
    return [row for f in _dicts(tree.get("fingers")) for row in _dicts(f.get("phalanges"))]


def _locate(error: DescriptionError, data: dict[str, Tree]) -> DescriptionError:
    """Relocate an error to the top-level field from which a finger has the value."""
    outer: FieldPath
    match error.location:
        case ("fingers", int(index), "phalanges", int(row), str(key), *rest):
            stated, shared = data["fingers"][index]["phalanges"][row], data.get("defaults", {})
            inner, outer = f"fingers[{index}].phalanges[{row}]", ("defaults", key, *rest)
        case ("fingers", int(index), "convention" as key):
            stated, shared = data["fingers"][index], data
            inner, outer = f"fingers[{index}].convention", ("convention",)
        case _:
            return error
    if key in stated or key not in shared:
        return error
    field = (error.field or inner).replace(inner, str(outer[0]), 1)
    return DescriptionError(error.message, field=field, location=outer, value=error.actual)


# Output
def _extract_common(rows: list[dict[str, Tree]]) -> dict[str, Tree]:
    """Remove and return the fields that are equal in all phalanges."""
    if len(rows) < 2:
        return {}
    shared = {
        key: value
        for key, value in rows[0].items()
        if key in Phalanx.model_fields
        and key not in PHALANX_FIELDS
        and all(key in row and row[key] == value for row in rows)
    }
    for row in rows:
        for key in shared:
            del row[key]
    return shared


# Joined hands
def _grasps(tree: Tree, length: float, angle: float, units: list[float]) -> Tree:
    """Convert named grasps to SI."""
    if not isinstance(tree, dict):
        return {"grasps": tree}
    presets = {}
    for name, preset in tree.items():
        presets[name] = to_si(preset, length, angle)
        for key in ("rates", "start"):
            if isinstance(preset, dict) and key in preset:
                presets[name][key] = rates_to_si(preset[key], units)
    return presets


def _refuse_unknown(
    tree: dict[str, Tree], fields: tuple[str, ...], location: tuple[object, ...]
) -> None:
    for key in tree:
        if key not in fields:
            raise DescriptionError(
                f"expected {', '.join(fields)}, found '{key}'",
                field=str(key),
                location=(*location, key),  # type: ignore[arg-type]
            )


# Arms
@loader
def load_arm(
    name: str | Path,
    *,
    start: Sequence[float] | None = None,
    tool: Pose | None = None,
    tool_link: str | None = None,
) -> Arm:
    """Load a shipped arm by name, or one from a YAML, URDF, xacro or MJCF file.

    A YAML file may name a robot file as its ``model``, with ``start``, ``tool`` and ``tool_link``.

    Args:
        name: Name or file.
        start: For a URDF or xacro file: initial joint angles, one per joint [rad].
        tool: For such a file: frame of the hand in the frame of the tool link.
        tool_link: For such a file: the link that carries the hand; by default the last one.

    Raises:
        DescriptionError: There is no such arm, or its file is wrong; names file, line and field.
        BackendUnavailable: It is a xacro file, and the xacro package is not installed.
    """
    path = Path(name)
    if path.suffix.lower() == ".xml":
        from softgrasp.io.mjcf.hand import mjcf_arm

        return mjcf_arm(path)
    if path.suffix.lower() in ROBOT_SUFFIXES:
        from softgrasp.io.urdf.hand import read_urdf_arm

        return read_urdf_arm(path, start=start, tool=tool, tool_link=tool_link)
    if any(option is not None for option in (start, tool, tool_link)):
        raise DescriptionError(
            f"expected start, tool and tool_link only with a URDF or xacro file, found '{name}'"
        )
    path = yaml_path("arms", name)
    return YamlFile(path).read(lambda data: arm_from(data, directory=path.parent))


def arm_from(data: dict[str, Tree], *, directory: Path | None = None) -> Arm:
    """Make an arm from a YAML tree of its chain, or of a ``model``, a robot file in a directory.

    Raises:
        DescriptionError: Something in the tree is wrong; knows its location.
    """
    rest, length, angle = take_units(data)
    if "model" in rest:
        return _arm_of_model(rest, length, angle, directory or Path())
    fields: dict[str, Tree] = {key: rest[key] for key in ("name", "source") if key in rest}
    if "tool" in rest:
        fields["tool"] = pose_tree(rest["tool"], length, angle, ("tool",), "the hand")
    chain = {key: value for key, value in rest.items() if key not in ("source", "tool")}
    return Arm(chain=finger_from(chain, length, angle), **fields)


def _arm_of_model(data: dict[str, Tree], length: float, angle: float, directory: Path) -> Arm:
    from softgrasp.io.urdf.hand import read_urdf_arm

    known = ("model", "name", "source", "start", "tool", "tool_link")
    for key in data:
        if key not in known:
            raise error_at(f"no such field; {did_you_mean(key, known)}", key)
    start, tool = data.get("start"), None
    if start is not None and not (
        isinstance(start, list) and all(type(part) in (int, float) for part in start)
    ):
        raise error_at(f"expected a list of numbers, one per joint, found {start!r}", "start")
    if "tool" in data:
        tool = Pose(**pose_tree(data["tool"], length, angle, ("tool",), "the hand"))
    arm = read_urdf_arm(
        directory / str(data["model"]),
        start=None if start is None else scaled(start, angle),
        tool=tool,
        tool_link=data.get("tool_link"),
    )
    return arm.replace(**{key: data[key] for key in ("name", "source") if key in data})
