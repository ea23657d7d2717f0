"""A URDF robot of rigid links as a hand: palm, fingers, couplings, servos, and found grasps.

The hand's frame is that of the robot's root link.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from softgrasp.description.actuation import Coupling, Rates
from softgrasp.description.base import path_text
from softgrasp.description.finger import Finger, Phalanx
from softgrasp.description.hand import (
    RESERVED_NAMES,
    RESERVED_PREFIXES,
    GraspPreset,
    Grasps,
    Hand,
    Palm,
)
from softgrasp.description.robot import Link, Robot
from softgrasp.errors import DescriptionError, SoftgraspWarning, did_you_mean
from softgrasp.grasp_synthesis import DescribedHand, synthesize_grasps
from softgrasp.io.hand import rates_to_si
from softgrasp.io.hand_sanity import link_surfaces, preset_of, warn_about_units
from softgrasp.io.urdf.kinematic_tree import (
    HAND,
    HandTree,
    Machine,
    ServoRules,
    believable_density,
    finger_of,
    followed,
    hand_tree,
    parts_of,
    ranges,
    touching,
)
from softgrasp.io.urdf.reader import ROBOT_SUFFIXES, Settings, made_of_robot
from softgrasp.io.urdf.soft_hand import soft_hand
from softgrasp.io.yaml_files import Tree, YamlFile, scaled, take_units, to_si
from softgrasp.mechanics.robot_kinematics import fused

# --------------------
# URDF files as hands, alone or with a side file that says what is to be otherwise.
#
# A side file is YAML: ``model: hand.urdf`` and any of ``name``, ``source``, ``density``,
# ``fingers``
# (new names by found ones), ``joints`` (fields of joints by their names in the file), ``rates``,
# ``grasps``, ``palm``, and any other field of a hand.


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


UNFOUND = GraspPreset(center=(0.0, 0.0, 0.0), rates=Rates((0.0,)))


@dataclass(frozen=True)
class HandSettings:
    """What a side file says about a hand of a robot."""

    density: float | None = None
    """Instead of all stated masses [kg/m³]."""
    rows: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """Fields of rows by the names of their joints in the file."""


def urdf_hand(robot: Robot, settings: HandSettings | None = None) -> Hand:
    """Make a hand of rigid fingers.

    Args:
        robot: A robot without bendables.
        settings: Changes.

    Raises:
        DescriptionError: Nothing moves, a joint has no limits, a moving link has no inertia, a
            or a mimic goes in a circle.

    Warns:
        SoftgraspWarning: Masses or limits cannot be true, and what holds instead; angles look like
            degrees, or lengths like millimetres.
    """
    settings = settings or HandSettings()
    machine = machine_of(robot, HAND, settings.density)
    if not machine.robot.joints:
        raise DescriptionError(
            f"expected joints that move in '{robot.name}', found none", location=("joints",)
        )
    tree = hand_tree(machine.robot)
    fingers = _fingers(machine, tree, settings)
    root = machine.robot.link(tree.root)
    couplings = tuple(
        Coupling(
            joint=machine.joint_names[name],
            leader=machine.joint_names[follow.leader],
            ratio=follow.ratio,
            offset=follow.offset,
        )
        for name, follow in machine.follows.items()
    )
    hand = Hand(
        name=robot.name,
        fingers=fingers,
        couplings=couplings,
        grasps=Grasps(power=UNFOUND, precision=UNFOUND),
        palm=_palm(root),
        palm_rgba=next((shape.rgba for shape in root.visuals if shape.rgba), None),
        source=robot.source,
        notes=tuple(machine.notes),
    )
    warn_about_units(hand)
    return with_synthesized_grasps(hand, _fastest(machine))


def machine_of(robot: Robot, rules: ServoRules, density: float | None = None) -> Machine:
    """A robot made ready for its chains: fixed joints fused, ranges and names settled."""
    whole, link_poses = fused(robot)
    follows = followed(robot)
    links = usable_names(link.name for link in whole.links if link.name != whole.root)
    joints = usable_names(joint.name for joint in whole.joints)
    return Machine(
        robot=whole,
        link_poses=link_poses,
        follows=follows,
        ranges=ranges(robot, follows, rules.endless),
        density=believable_density(whole, density) if rules is HAND else density,
        rules=rules,
        bodies=links,
        joint_names=joints,
        notes=[*renamed("link", links), *renamed("joint", joints)],
    )


def with_synthesized_grasps(hand: Hand, fastest: Mapping[str, float]) -> Hand:
    """A hand with its two grasps found from its shapes, standing open.

    Args:
        hand: The hand; its own grasps are not looked at.
        fastest: Largest rate of drives by name [rad/s or m/s], where one is known.

    Warns:
        SoftgraspWarning: No place was found where its fingers oppose one another.
    """
    synthesized = synthesize_grasps(DescribedHand(hand, link_surfaces(hand)), fastest)
    for name, grasp in (("power", synthesized.power), ("precision", synthesized.precision)):
        if not grasp.enclosed:
            warnings.warn(
                f"hand '{hand.name}': found no place where its fingers meet a ball from opposing "
                f"sides ({name}); give the grasp in a side file",
                SoftgraspWarning,
                stacklevel=2,
            )
    posture = hand.posture(synthesized.power.start)
    fingers = tuple(_standing(finger, posture) for finger in hand.fingers)
    grasps = Grasps(power=preset_of(synthesized.power), precision=preset_of(synthesized.precision))
    return hand.replace(fingers=fingers, grasps=grasps)


def _standing(finger: Finger, posture: Mapping[str, float]) -> Finger:
    """A finger whose rows start in a posture."""
    rows = []
    for row in finger.phalanges:
        low, high = row.limits
        rows.append(row.replace(start=min(max(posture[finger.joint_of(row)], low), high)))
    return finger.replace(phalanges=tuple(rows))


def _fingers(machine: Machine, tree: HandTree, settings: HandSettings) -> tuple[Finger, ...]:
    rows = {machine.joint_names[name]: fields for name, fields in settings.rows.items()}
    fingers = []
    for chain in tree.chains:
        on = "" if chain.on == tree.root else machine.bodies[chain.on]
        finger = finger_of(machine, chain, on)
        phalanges = (row.replace(**rows.get(row.joint_name, {})) for row in finger.phalanges)
        fingers.append(finger.replace(phalanges=tuple(phalanges)))
    return tuple(fingers)


def _palm(root: Link) -> Palm:
    if not touching(root):
        return Palm(kind="none")
    first, *others = parts_of(root, np.eye(4))
    return Palm(kind="shape", shape=first.shape, pose=first.pose, parts=tuple(others))


def _fastest(machine: Machine) -> dict[str, float]:
    """Largest rate of each drive, such that none of its followers is too fast either."""
    speeds: dict[str, float] = {}
    for joint in machine.robot.joints:
        if not joint.velocity:  # missing, or 0, which would not move
            continue
        follow = machine.follows.get(joint.name)
        leader, ratio = (joint.name, 1.0) if follow is None else (follow.leader, follow.ratio)
        if ratio != 0.0:
            name = machine.joint_names[leader]
            speeds[name] = min(speeds.get(name, np.inf), joint.velocity / abs(ratio))
    return speeds


# --------------------
# What links and joints are called in a hand: as in the file, where our own names leave room.


OURS = (*RESERVED_NAMES, "floor", "start")
PREFIX = "hand_"


def usable_names(names: Iterable[str]) -> dict[str, str]:
    """A name for each name: itself, unless the model has such a name already or cannot have it.

    Blanks, ``/`` and ``|`` become ``_``; what softgrasp calls so itself gets ``hand_`` before it.
    """
    used: dict[str, str] = {}
    taken: set[str] = set()
    for name in names:
        plain = re.sub(r"[\s/|]+", "_", name)
        if plain in OURS or plain.split("_")[0] in RESERVED_PREFIXES:
            plain = PREFIX + plain.lstrip("_")
        while plain in taken:
            plain += "_"
        taken.add(plain)
        used[name] = plain
    return used


def renamed(kind: str, names: dict[str, str]) -> list[str]:
    """Sentences about names that are others than in the file."""
    return [
        f"{kind} '{old}' is called '{new}', as softgrasp uses that name or cannot write it"
        for old, new in names.items()
        if old != new
    ]
