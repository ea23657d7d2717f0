"""URDF files as hands, alone or with a side file that says what is to be otherwise.

A side file is YAML: ``model: hand.urdf`` and any of ``name``, ``source``, ``density``, ``fingers``
(new names by found ones), ``joints`` (fields of joints by their names in the file), ``rates``,
``grasps``, ``palm``, and any other field of a hand.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from softgrasp.description.base import path_text
from softgrasp.description.finger import Phalanx
from softgrasp.description.hand import Hand
from softgrasp.description.robot import Robot
from softgrasp.errors import DescriptionError, did_you_mean
from softgrasp.formats.hand_file import rates_to_si
from softgrasp.formats.ucrdf.read import ROBOT_SUFFIXES, Settings, made_of_robot
from softgrasp.formats.ucrdf.soft_hand import soft_hand
from softgrasp.formats.urdf.hand import HandSettings, urdf_hand
from softgrasp.formats.yaml_file import Tree, YamlFile, scaled, take_units, to_si

IN_FILE = ("effort", "velocity", "damping", "friction")
"""Fields of a joint that URDF has too, besides ``limits``."""
IN_ROW = (
    "servo_stiffness",
    "servo_damping_ratio",
    "force_limit",
    "armature",
    "stiffness",
    "rest_angle",
)
"""Fields of a joint that only a hand's row has."""
MODEL = "model"


def read_urdf_hand(path: Path) -> Hand:
    """A hand from a U(C)RDF, URDF or xacro file: soft where it has bendables, else rigid.

    Raises:
        DescriptionError: The file, or what it says, is wrong; names file, line and element.
        BackendUnavailable: It is a xacro file, and the xacro package is not installed.

    Warns:
        SoftgraspWarning: Something is left out, cannot be true, or was not found.
    """
    return made_of_robot(path, _hand)


def has_model(path: Path) -> bool:
    """Whether a YAML file is the side file of a hand in another format, MJCF left out."""
    model = YamlFile(path).data.get(MODEL)
    return isinstance(model, str) and Path(model).suffix.lower() != ".xml"


def read_side_file(path: Path) -> Hand:
    """The hand of a side file's model, with its changes.

    Raises:
        DescriptionError: One of the two files is wrong; names file, line and field.
        BackendUnavailable: As ``read_urdf_hand``.

    Warns:
        SoftgraspWarning: As ``read_urdf_hand``.
    """
    return YamlFile(path).read(lambda data: _changed_hand(data, path.parent))


def _hand(robot: Robot, settings: HandSettings | None = None) -> Hand:
    if robot.bendables:
        return soft_hand(robot)
    return urdf_hand(robot, settings)


def _changed_hand(data: dict[str, Tree], directory: Path) -> Hand:
    rest, length, angle = take_units(data)
    model = directory / str(rest.pop(MODEL))
    if model.suffix.lower() not in ROBOT_SUFFIXES:
        known = ", ".join(ROBOT_SUFFIXES)
        raise _wrong(f"expected a robot as {known}, found '{model.suffix or model.name}'", MODEL)
    names = _mapping(rest.pop("fingers", {}), "fingers")
    in_file, in_rows = _joint_settings(rest.pop("joints", {}), length, angle)
    settings = HandSettings(
        density=_positive(rest.pop("density", None)),
        rows=in_rows,
    )
    hand = made_of_robot(model, lambda robot: _hand(robot, settings), in_file)
    hand = _renamed(hand, names)
    units = [length if actuator.unit == "m" else angle for actuator in hand.actuators]
    return hand.replace(**_fields(hand, to_si(rest, length, angle), units))


def _renamed(hand: Hand, names: Mapping[str, Any]) -> Hand:
    """The hand with other names of fingers, by those that were found."""
    known = [finger.name for finger in hand.fingers]
    for name in names:
        if name not in known:
            raise _wrong(f"no finger '{name}'; {did_you_mean(name, known)}", "fingers", name)
    fingers = (finger.replace(name=names.get(finger.name, finger.name)) for finger in hand.fingers)
    return hand.replace(fingers=tuple(fingers))


def _fields(hand: Hand, fields: dict[str, Tree], units: list[float]) -> dict[str, Any]:
    """The fields of a hand that a side file replaces; a grasp keeps what is not named."""
    changed = {key: value for key, value in fields.items() if key not in ("rates", "grasps")}
    grasps = hand.grasps
    by_grasp = _mapping(fields.get("grasps", {}), "grasps")
    for kind, preset in hand.grasps:
        preset_fields = dict(_mapping(by_grasp.get(kind, {}), "grasps", kind))
        if "rates" in fields:
            preset_fields = {"rates": fields["rates"]} | preset_fields
        for key in ("rates", "start"):
            if key in preset_fields:
                preset_fields[key] = rates_to_si(preset_fields[key], units)
        if preset_fields:
            grasps = _with_preset(grasps, kind, preset, preset_fields)
    unknown = [kind for kind in by_grasp if kind not in ("power", "precision")]
    if unknown:
        raise _wrong(f"no grasp '{unknown[0]}'; known: power, precision", "grasps", unknown[0])
    return changed | {"grasps": grasps}


def _with_preset(grasps: Any, kind: str, preset: Any, preset_fields: dict[str, Tree]) -> Any:
    try:
        return grasps.replace(**{kind: preset.replace(**preset_fields)})
    except DescriptionError as error:
        location = ("grasps", kind, *error.location)
        raise DescriptionError(
            error.message, field=path_text(location), location=location, value=error.actual
        ) from None


def _joint_settings(
    joints: Tree, length: float, angle: float
) -> tuple[Settings, dict[str, dict[str, Any]]]:
    """What holds instead of the robot's file, and what of rows, by joint."""
    in_file: dict[str, Callable[[str], Mapping[str, Any]]] = {}
    in_rows: dict[str, dict[str, Any]] = {}
    for name, fields in _mapping(joints, "joints").items():
        known = ("limits", *IN_FILE, *IN_ROW)
        for key, value in _mapping(fields, "joints", name).items():
            if key not in known:
                raise _wrong(f"no such field; {did_you_mean(key, known)}", "joints", name, key)
            if key == "limits" and not _is_range(value):
                message = f"expected two numbers, lowest and highest, found {value!r}"
                raise _wrong(message, "joints", name, key)
        in_file[name] = partial(_for_type, fields, length, angle)
        in_rows[name] = {key: value for key, value in fields.items() if key in IN_ROW}
    return in_file, {name: fields for name, fields in in_rows.items() if fields}


def _is_range(value: Tree) -> bool:
    return isinstance(value, list) and [type(v) in (int, float) for v in value] == [True, True]


def _for_type(
    fields: Mapping[str, Any], length: float, angle: float, kind: str
) -> Mapping[str, Any]:
    """The fields of a joint of a type as URDF has them."""
    values = {key: value for key, value in fields.items() if key in IN_FILE}
    if "limits" in fields:
        low, high = scaled(fields["limits"], length if kind == "prismatic" else angle)
        values |= {"lower": float(low), "upper": float(high)}
    return values


def _positive(value: Tree) -> float | None:
    if value is None:
        return None
    if type(value) not in (int, float) or not value > 0.0:
        raise _wrong(f"expected a number above 0, found {value!r}", "density")
    return float(value)


def _mapping(value: Tree, *location: str) -> Mapping[str, Any]:
    if not isinstance(value, dict):
        raise _wrong(f"expected a mapping, found {value!r}", *location)
    return value


def _wrong(message: str, *location: str) -> DescriptionError:
    return DescriptionError(message, field=path_text(location), location=location)


assert set(IN_ROW) <= set(Phalanx.model_fields)
