"""Hands and arms from U(C)RDF, URDF and xacro files, alone or with a YAML file beside the model.

A robot with bendables becomes a soft hand (soft_hand); a rigid one gets palm, fingers, couplings,
servos and synthesized grasps. The hand's frame is that of the root link. The YAML file
(``model: hand.urdf``) may have ``root`` (the first link of the hand), ``name``, ``source``,
``density``, ``fingers`` (new names by current ones), ``joints`` (fields by joint name in the robot
file), ``rates``, ``grasps``, ``palm``, and any other field of a hand.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from softgrasp.assets import ROBOT_SUFFIXES
from softgrasp.description.actuation import Coupling, Rates
from softgrasp.description.arm import Arm
from softgrasp.description.base import error_at
from softgrasp.description.finger import Finger, Phalanx
from softgrasp.description.geometry import Pose
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
from softgrasp.io.grasp_presets import change_grasps, link_surfaces, preset_of, rename_fingers
from softgrasp.io.hand_sanity import (
    hull_note,
    list_described_meshes,
    stroke_doubt,
    warn_about_units,
    warn_of_unopposed,
)
from softgrasp.io.input_limits import MAX_JOINTS
from softgrasp.io.urdf.kinematic_tree import (
    WRIST,
    Chain,
    HandTree,
    Machine,
    finger_of,
    hand_tree,
    on_link,
    palms_of_arms,
    run,
    wrist_joints,
)
from softgrasp.io.urdf.length_unit import refuse_wrong_units, robot_units
from softgrasp.io.urdf.links import (
    ARM,
    HAND,
    IMPLAUSIBLE,
    ServoRules,
    believable_density,
    follow,
    parts_of,
    ranges,
    touching,
)
from softgrasp.io.urdf.reader import Settings, keep_below, make_of_robot
from softgrasp.io.urdf.soft_hand import soft_hand
from softgrasp.io.xml_elements import Element
from softgrasp.io.yaml_files import Tree, actuator_units, mapping, scaled, take_units, to_si
from softgrasp.mechanics.hand_kinematics import pose_of
from softgrasp.mechanics.robot_kinematics import fuse
from softgrasp.mechanics.transforms import transform

IN_FILE = ("effort", "velocity", "damping", "friction")
"""Fields of a joint that URDF also has, besides ``limits``."""
IN_ROW = (
    *("servo_stiffness", "servo_damping_ratio", "force_limit"),
    *("armature", "stiffness", "rest_angle"),
)
"""Fields of a joint that only phalanges have."""
MODEL = "model"
USED_NAMES = (*RESERVED_NAMES, "floor", "start")
NAME_PREFIX = "hand_"
NO_GRASP = GraspPreset(center=(0.0, 0.0, 0.0), rates=Rates((0.0,)))


@dataclass(frozen=True)
class HandSettings:
    """Fields of the YAML file that apply to links and joints."""

    density: float | None = None
    """Density that replaces all stated masses [kg/m³]."""
    rows: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """Fields of phalanges by joint name in the robot file."""


def robot_hand(robot: Robot, settings: HandSettings | None = None) -> Hand:
    """Make a hand of a robot: soft if it has bendables, else rigid; see ``urdf_hand``.

    Raises:
        DescriptionError: Its lengths are in millimetres, or as ``urdf_hand``.
    """
    if robot.bendables:
        return soft_hand(robot)
    refuse_wrong_units(robot)
    return urdf_hand(robot, settings)


def urdf_hand(robot: Robot, settings: HandSettings | None = None) -> Hand:
    """Make a hand with rigid fingers of a robot without bendables.

    Raises:
        DescriptionError: No joint moves, or more than ``MAX_JOINTS`` do; a joint has no limits, a
            finger slides by metres, or mimic joints form a cycle.

    Warns:
        SoftgraspWarning: Masses or limits are implausible and replaced; angles look like degrees,
            or lengths like millimetres.
    """
    settings = settings or HandSettings()
    machine = machine_of(robot, HAND, settings.density)
    if not 0 < (moving := len(machine.robot.joints)) <= MAX_JOINTS:
        expected = f"at most {MAX_JOINTS} joints" if moving else "joints"
        raise DescriptionError(
            f"expected {expected} that move in '{robot.name}', found {moving or 'none'}",
            location=("joints",),
        )
    carriers = {joint.name: joint.parent for joint in robot.joints}
    palms = [carriers[joint.name] for joint in palms_of_arms(machine)]
    if len(palms) > 1:
        raise DescriptionError(
            f"expected one hand, found {len(palms)} on arms of their own, with the palms "
            f"{', '.join(map(repr, palms))}; --hand {palms[0]} (root= in Python and YAML) selects "
            "the links from there outwards"
        )
    tree = hand_tree(machine)
    _refuse_millimetres(robot, machine, tree)
    fingers = _fingers(machine, tree, settings)
    root = machine.robot.link(tree.root)
    names = machine.joint_names
    couplings = tuple(
        Coupling(joint=names[name], leader=names[of.leader], ratio=of.ratio, offset=of.offset)
        for name, of in machine.follows.items()
    )
    hand = Hand(
        name=robot.name,
        fingers=fingers,
        couplings=couplings,
        grasps=Grasps(power=NO_GRASP, precision=NO_GRASP),
        palm=_palm(root),
        palm_rgba=next((shape.rgba for shape in root.visuals if shape.rgba), None),
        source=robot.source,
        notes=tuple(machine.notes),
    )
    hand = hand.replace(notes=(*hand.notes, *hull_note(list_described_meshes(hand))))
    warn_about_units(hand)
    if odd := [note for note in hand.notes if IMPLAUSIBLE in note]:
        others = f"; {len(odd)} joints are like this one" if len(odd) > 1 else ""
        warnings.warn(f"hand '{hand.name}': {odd[0]}{others}", SoftgraspWarning, stacklevel=2)
    return with_synthesized_grasps(hand, _fastest(machine))


def machine_of(robot: Robot, rules: ServoRules, density: float | None = None) -> Machine:
    """Prepare a robot for finger extraction: fuse fixed joints, determine ranges and names."""
    whole, link_poses = fuse(robot)
    follows = follow(robot)
    links = usable_names(link.name for link in whole.links if link.name != whole.root)
    joints = usable_names(joint.name for joint in whole.joints)
    return Machine(
        robot=whole,
        link_poses=link_poses,
        follows=follows,
        ranges=ranges(robot, follows, rules.continuous_range, wrist_joints(whole)),
        density=believable_density(whole, density) if rules is HAND else density,
        rules=rules,
        bodies=links,
        joint_names=joints,
        notes=[
            f"{kind} '{old}' is called '{new}', as softgrasp uses that name or cannot write it"
            for kind, names in (("link", links), ("joint", joints))
            for old, new in names.items()
            if old != new
        ],
    )


def with_synthesized_grasps(hand: Hand, fastest: Mapping[str, float]) -> Hand:
    """Replace the grasps of a hand by synthesized ones, with the start posture open.

    Warns:
        SoftgraspWarning: Its fingers do not oppose one another.
    """
    synthesized = synthesize_grasps(DescribedHand(hand, link_surfaces(hand)), fastest)
    warn_of_unopposed(f"hand '{hand.name}'", synthesized)
    posture = hand.posture(synthesized.power.start)
    fingers = tuple(_standing(finger, posture) for finger in hand.fingers)
    grasps = Grasps(power=preset_of(synthesized.power), precision=preset_of(synthesized.precision))
    return hand.replace(fingers=fingers, grasps=grasps)


def usable_names(names: Iterable[str]) -> dict[str, str]:
    """Map names of links and joints to names that a model can use.

    Blanks, ``/`` and ``|`` become ``_``; names that softgrasp uses itself get the prefix ``hand_``.
    """
    used: dict[str, str] = {}
    taken: set[str] = set()
    for name in names:
        plain = re.sub(r"[\s/|]+", "_", name)
        if plain in USED_NAMES or plain.split("_")[0] in RESERVED_PREFIXES:
            plain = NAME_PREFIX + plain.lstrip("_")
        while plain in taken:
            plain += "_"
        taken.add(plain)
        used[name] = plain
    return used


# Robot as hand
def _refuse_millimetres(robot: Robot, machine: Machine, tree: HandTree) -> None:
    """Refuse fingers that slide by metres, which no closing motion can follow."""
    index_of = {joint.name: index for index, joint in enumerate(robot.joints)}
    for joint in (item for chain in tree.chains if chain.name != WRIST for item in chain.joints):
        doubt = stroke_doubt(*machine.ranges[joint.name]) if joint.type == "prismatic" else None
        if doubt is not None:
            location = ("joints", index_of[joint.name], "upper")
            raise DescriptionError(doubt.message, location=location)


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
    """Largest rate of each actuator that does not exceed the limits of its followers."""
    speeds: dict[str, float] = {}
    for joint in machine.robot.joints:
        if not joint.velocity:  # missing, or 0, which would prevent motion
            continue
        follow = machine.follows.get(joint.name)
        leader, ratio = (joint.name, 1.0) if follow is None else (follow.leader, follow.ratio)
        if ratio != 0.0:
            name = machine.joint_names[leader]
            speeds[name] = min(speeds.get(name, np.inf), joint.velocity / abs(ratio))
    return speeds


def _standing(finger: Finger, posture: Mapping[str, float]) -> Finger:
    """Set the start values of a finger's joints."""
    rows = []
    for row in finger.phalanges:
        low, high = row.limits
        rows.append(row.replace(start=min(max(posture[finger.joint_of(row)], low), high)))
    return finger.replace(phalanges=tuple(rows))


# Fields of the YAML file
def hand_of_file(path: Path, root: str = "") -> Hand:
    """Make the hand of a robot file, of all its links or of those from a root outwards.

    Raises:
        DescriptionError: Something in it is wrong, or there is no such link.
        BackendUnavailable: It is a xacro file, and the xacro package is not installed.
    """
    return make_of_robot(path, robot_hand, prepare=_prepare(root))


def _prepare(root: str) -> Callable[[Element], None] | None:
    return partial(keep_below, name=root) if root else None


def change_hand(data: dict[str, Tree], directory: Path, root: str = "") -> Hand:
    """Make the hand of a YAML tree that names a robot file in a directory and changes to it.

    Raises:
        DescriptionError: Something in one of the two files is wrong; knows its location.
        BackendUnavailable: It is a xacro file, and the xacro package is not installed.

    Warns:
        SoftgraspWarning: Something is left out, implausible, or missing.
    """
    rest, length, angle = take_units(data)
    model = directory / str(rest.pop(MODEL))
    if model.suffix.lower() not in ROBOT_SUFFIXES:
        known = ", ".join(ROBOT_SUFFIXES)
        raise error_at(f"expected a robot as {known}, found '{model.suffix or model.name}'", MODEL)
    names = rest.pop("fingers", {})
    in_file, in_rows = _joint_settings(rest.pop("joints", {}), length, angle)
    settings = HandSettings(density=_positive(rest.pop("density", None)), rows=in_rows)
    stated = str(rest.pop("root", ""))
    with robot_units(data.get("units", {}).get("length")):
        make = partial(robot_hand, settings=settings)
        hand = make_of_robot(model, make, in_file, prepare=_prepare(root or stated))
    hand = hand.replace(fingers=rename_fingers(hand, names))
    units, fields = actuator_units(hand.actuators, length, angle), to_si(rest, length, angle)
    shared = {"rates": fields.pop("rates")} if "rates" in fields else {}
    grasps = change_grasps(hand, fields.pop("grasps", {}), units, shared)
    return hand.replace(**fields, grasps=grasps)


def _joint_settings(
    joints: Tree, length: float, angle: float
) -> tuple[Settings, dict[str, dict[str, Any]]]:
    """Fields that replace those of the robot file, and fields of phalanges, by joint."""
    in_file: dict[str, Callable[[str], Mapping[str, Any]]] = {}
    in_rows: dict[str, dict[str, Any]] = {}
    for name, fields in mapping(joints, "joints").items():
        known = ("limits", *IN_FILE, *IN_ROW)
        for key, value in mapping(fields, "joints", name).items():
            if key not in known:
                raise error_at(f"no such field; {did_you_mean(key, known)}", "joints", name, key)
            numbers = [type(v) in (int, float) for v in value] if isinstance(value, list) else []
            if key == "limits" and numbers != [True, True]:
                message = f"expected two numbers, lowest and highest, found {value!r}"
                raise error_at(message, "joints", name, key)
        in_file[name] = partial(_for_type, fields, length, angle)
        in_rows[name] = {key: value for key, value in fields.items() if key in IN_ROW}
    return in_file, {name: fields for name, fields in in_rows.items() if fields}


def _for_type(fields: Mapping[str, Any], length: float, angle: float, kind: str) -> dict[str, Any]:
    """Convert fields of a joint to those of URDF, in SI."""
    values = {key: value for key, value in fields.items() if key in IN_FILE}
    if "limits" in fields:
        low, high = scaled(fields["limits"], length if kind == "prismatic" else angle)
        values |= {"lower": float(low), "upper": float(high)}
    return values


def _positive(value: Tree) -> float | None:
    if value is None:
        return None
    if type(value) not in (int, float) or not value > 0.0:
        raise error_at(f"expected a number above 0, found {value!r}", "density")
    return float(value)


assert set(IN_ROW) <= set(Phalanx.model_fields)


# Arms
def read_urdf_arm(
    path: Path,
    *,
    start: Sequence[float] | None = None,
    tool: Pose | None = None,
    tool_link: str | None = None,
) -> Arm:
    """Read an arm from a URDF or xacro file.

    Args:
        path: The file.
        start: Initial joint angles, one per joint [rad]; by default zeros, or the nearest limits.
        tool: Frame of the hand in the frame of the tool link.
        tool_link: Link that carries the hand; by default the link that is fixed to the last
            moving link, or that link itself.

    Raises:
        DescriptionError: The file is wrong, its robot branches or has no moving joints, a joint
            follows another one, or there is no such tool link; names file, line and element.
        BackendUnavailable: It is a xacro file, and the xacro package is not installed.

    Warns:
        SoftgraspWarning: Something in the file is not kept.
    """
    return make_of_robot(path, lambda robot: urdf_arm(robot, start, tool or Pose(), tool_link))


def urdf_arm(robot: Robot, start: Sequence[float] | None, tool: Pose, tool_link: str | None) -> Arm:
    """Make an arm from a robot; arguments as in ``read_urdf_arm``."""
    if robot.bendables:
        raise DescriptionError(
            f"expected rigid joints, found bendable '{robot.bendables[0].name}'",
            location=("bendables", 0),
        )
    machine = machine_of(robot, ARM)
    chain = finger_of(machine, _only_chain(robot, machine), "")
    rows = chain.phalanges
    if start is not None:
        if len(start) != len(rows):
            raise DescriptionError(
                f"expected {len(rows)} numbers, one per joint, found {len(start)}", field="start"
            )
        rows = tuple(row.replace(start=float(v)) for row, v in zip(rows, start, strict=True))
    link = _tool_link(robot, machine, tool_link, chain.body_of(rows[-1]))
    back = np.linalg.inv(machine.row_frame(machine.link_poses[link].link))
    flange = back @ machine.link_poses[link].frame @ transform(tool.position, tool.quaternion)
    return Arm(
        name=robot.name,
        chain=chain.replace(name=robot.name, phalanges=rows, verbatim_names=False),
        tool=pose_of(flange),
        source=robot.source,
    )


def _only_chain(robot: Robot, machine: Machine) -> Chain:
    """All moving joints in series."""
    whole = machine.robot
    joints, link = run(whole, whole.root)
    if branches := on_link(whole, link):
        names = ", ".join(f"'{joint.name}'" for joint in branches)
        index = [joint.name for joint in robot.joints].index(branches[1].name)
        raise DescriptionError(
            f"expected an arm whose joints are in series, found {names} on '{link}'",
            location=("joints", index, "parent"),
        )
    for joint in joints:
        if joint.name in machine.follows:
            index = [other.name for other in robot.joints].index(joint.name)
            raise DescriptionError(
                f"expected joints without mimic, found '{joint.name}', which follows another joint",
                location=("joints", index, "mimic"),
            )
    if not joints:
        raise DescriptionError(
            f"expected joints that move in '{robot.name}', found none", location=("joints",)
        )
    return Chain(robot.name, whole.root, joints)


def _tool_link(robot: Robot, machine: Machine, tool_link_name: str | None, last_body: str) -> str:
    """Name of the link that carries the hand, fixed to the last moving link."""
    last = next(name for name, body in machine.bodies.items() if body == last_body)
    children = [name for name, placed in machine.link_poses.items() if placed.link == last]
    if tool_link_name is not None:
        if tool_link_name not in children:
            raise DescriptionError(
                f"expected the last moving link '{last}' or a link fixed to it, found "
                f"'{tool_link_name}'; {did_you_mean(tool_link_name, children)}",
                field="tool_link",
            )
        return tool_link_name
    carriers = {joint.parent for joint in robot.joints}
    ends = [name for name in children if name not in carriers]
    return ends[0] if len(ends) == 1 else last
