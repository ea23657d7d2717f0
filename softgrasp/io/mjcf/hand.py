"""Hands and arms from MuJoCo models, hands alone or with a YAML file beside the model.

The model is attached to scenes unchanged. Chains of joints become fingers, position actuators
become actuators of the hand, and both grasps are synthesized from the collision geoms. The YAML
file (``model: hand.xml``) replaces name, pose, finger names, grasps or contact. An arm is a chain
of placed joints with a hand at its flange.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import mujoco
import numpy as np

from softgrasp import assets
from softgrasp.assets import MESH_SUFFIXES
from softgrasp.description.actuation import Coupling, Rates
from softgrasp.description.arm import Arm
from softgrasp.description.base import error_at
from softgrasp.description.bendable import Inertial
from softgrasp.description.contact import Contact
from softgrasp.description.finger import Finger, Phalanx
from softgrasp.description.geometry import Mesh, Part, Pose
from softgrasp.description.hand import (
    AddedServo,
    GeomFriction,
    GraspPreset,
    Grasps,
    Hand,
    HandModel,
    ModelActuator,
    Palm,
)
from softgrasp.errors import DescriptionError, SoftgraspWarning, did_you_mean
from softgrasp.grasp_synthesis import SynthesizedGrasp, SynthesizedGrasps, synthesize_grasps
from softgrasp.io.grasp_presets import (
    change_grasps,
    closes_on,
    in_frame,
    jaw_positions,
    preset_of,
    rename_fingers,
)
from softgrasp.io.hand_sanity import Surface, hull_note, warn_about_units, warn_of_unopposed
from softgrasp.io.mesh import resolve_file
from softgrasp.io.mjcf.actuators import (
    POSITION,
    UNKNOWN,
    kind_of,
    model_actuators,
    pace,
    press_of,
    require_servos,
)
from softgrasp.io.mjcf.closing_motion import ClosingModel, skins
from softgrasp.io.mjcf.model import (
    BASE,
    SourceModel,
    attach,
    is_hinge,
    mesh_triangles,
    moments,
    moving_joints,
    primitive_of,
    read_model,
    touching_geoms,
)
from softgrasp.io.mjcf.object import DEFAULT_FRICTION
from softgrasp.io.mjcf.repairs import with_slashes
from softgrasp.io.mjcf.tree import (
    MjcfTree,
    fingers_of,
    frame_of,
    joint_frame,
    joint_range,
    palm_name,
    rotation_from_z,
    touching_bodies,
    tree_of,
)
from softgrasp.io.yaml_files import Tree, actuator_units, pose_tree, take_units, to_si
from softgrasp.mechanics.hand_kinematics import move_pose, pose_of
from softgrasp.mechanics.transforms import Array, quaternion_of, transform

FIELDS = (
    *("model", "name", "source", "pose", "fingers", "grasps"),
    *("contact", "gravity_compensation", "units"),
)
HOME = ("home", "open", "start")
"""Keyframes for the initial posture, the first that exists; else the first keyframe."""
EARTH = (0.0, 0.0, -9.81)
COMPENSATED = (
    "the file compensates no weight (gravcomp): the scene does for all its bodies, as the "
    "controller of a hand on a robot (gravity_compensation: false in a YAML file beside the model "
    "prevents it)"
)
"""Message about gravity compensation that is added."""
GEOM = mujoco.mjtGeom
FLANGES = ("attachment_site", "flange", "ee_site", "tool0", "wristsite")
"""Sites for hands; the first one that an arm has is used."""
MIN_MASS = 1e-3
"""Mass of a link below which it is a frame for a hand without a body [kg]."""


class ReadHand(NamedTuple):
    """Contents of a hand file, before grasps are synthesized."""

    source: SourceModel
    tree: MjcfTree
    servos: tuple[AddedServo, ...]
    actuators: tuple[ModelActuator, ...]
    closing: ClosingModel
    weightless: bool
    """Whether the scene compensates the weight of its bodies."""
    notes: tuple[str, ...]
    """Assumptions."""


def mjcf_hand(path: Path, *, pose: Pose | None = None, gravity_compensation: bool = True) -> Hand:
    """Make a hand from a MuJoCo model.

    Args:
        path: MJCF file.
        pose: World frame of the file in the hand's frame. By default the hand is rotated so that
            upright objects fit between its fingers.
        gravity_compensation: Compensate the weight of the hand where the file has no ``gravcomp``,
            as the controller of a hand on a robot does.

    Raises:
        DescriptionError: The file is wrong, its hand cannot be actuated, or no grasp exists.

    Warns:
        SoftgraspWarning: The scene replaces settings of the file.
    """
    read_hand = _read(path, compensate=gravity_compensation)
    if not read_hand.closing.digits:
        raise DescriptionError(_no_fingers(read_hand), file=path)
    synthesized = synthesize_grasps(read_hand.closing)
    _check_grasps(synthesized, path)
    pose = pose or _standing(np.array(synthesized.up))
    tree, source = read_hand.tree, read_hand.source
    driven = {move.joint for actuator in read_hand.actuators for move in actuator.moves}
    fingers = fingers_of(tree, driven)
    for note in read_hand.notes:
        warnings.warn(f"{path.name}: {note}", SoftgraspWarning, stacklevel=3)
    hand = Hand(
        name=source.spec.modelname or path.stem,
        fingers=_in_hand(fingers, pose),
        couplings=_couplings(tree, driven),
        model=HandModel(
            file=assets.portable_name(path),
            sha256=source.sha256,
            pose=pose,
            prefix=source.prefix,
            palm=palm_name(tree),
            touching=touching_bodies(tree),
            frictions=geom_frictions(tree.model),
            actuators=read_hand.actuators,
            servos=read_hand.servos,
            gravity_compensation=read_hand.weightless,
        ),
        palm=Palm(kind="none"),
        grasps=Grasps(
            power=_preset(read_hand, synthesized.power, pose),
            precision=_preset(read_hand, synthesized.precision, pose),
        ),
        source=f"{path.name} (MJCF)",
        notes=(
            *read_hand.notes,
            *list_unused_options(source.compiled),
            *hull_note(_collision_meshes(tree.model)),
        ),
    )
    warn_about_units(hand)
    return hand


def closing_model(described: HandModel) -> ClosingModel:
    """Return the closing motion of the model of a hand, in the world frame of its file.

    Raises:
        DescriptionError: As ``mjcf_hand``.
    """
    return _read(resolve_file(described.file)).closing


def hand_beside(data: dict[str, Tree], directory: Path) -> Hand:
    """Make a hand from a model and a YAML tree with changes.

    Args:
        data: ``model`` and any of ``name``, ``source``, ``pose`` (the world frame of the file
            in the hand's frame), ``fingers`` (new names by current ones), ``grasps`` (fields of
            one or both presets), ``contact`` and ``gravity_compensation``.
        directory: Directory of the model.

    Raises:
        DescriptionError: Something in the tree or the model is wrong; knows its location.
    """
    for key in data:
        if key not in FIELDS:
            raise error_at(f"no such field beside a model; {did_you_mean(key, FIELDS)}", key)
    rest, length, angle = take_units(data)
    pose = None
    if "pose" in rest:
        pose = Pose(**pose_tree(rest["pose"], length, angle, ("pose",), "the hand"))
    compensate = rest.get("gravity_compensation", True)
    if not isinstance(compensate, bool):
        raise error_at(f"expected true or false, found {compensate!r}", "gravity_compensation")
    hand = mjcf_hand(directory / str(rest["model"]), pose=pose, gravity_compensation=compensate)
    changes: dict[str, Any] = {key: rest[key] for key in ("name", "source") if key in rest}
    if "contact" in rest:
        changes["contact"] = Contact(**rest["contact"])
    if "grasps" in rest:
        units = actuator_units(hand.actuators, length, angle)
        changes["grasps"] = change_grasps(hand, to_si(rest["grasps"], length, angle), units)
    if "fingers" in rest:
        changes["fingers"] = rename_fingers(hand, rest["fingers"])
    return hand.replace(**changes) if changes else hand


def alone(
    source: SourceModel, servos: tuple[AddedServo, ...], path: Path, *, weightless: bool = False
) -> mujoco.MjModel:
    """Compile the model as attached to a scene, but without the other parts of a scene."""
    spec = mujoco.MjSpec()
    spec.compiler.degree = False
    base = spec.worldbody.add_body(name=BASE)
    attach(spec, source, base, Pose(), servos, weightless=weightless)
    try:
        return spec.copy().compile()
    except ValueError as error:
        raise DescriptionError(
            f"MuJoCo refuses the model below another body: {' '.join(str(error).split())}",
            file=path,
        ) from error


def starts_of(source: SourceModel, tree: MjcfTree) -> dict[str, float]:
    """Return the joint variables of the start by name: of a keyframe, or of the default posture."""
    whole = source.compiled
    keys = [str(whole.key(index).name) for index in range(whole.nkey)]
    qpos = whole.qpos0
    if keys:
        key = next((name for name in HOME if name in keys), keys[0])
        qpos = whole.key_qpos[keys.index(key)]
    starts = {}
    for index in moving_joints(tree.model):
        name = str(tree.model.joint(index).name)
        value = float(qpos[whole.joint(name.removeprefix(source.prefix)).qposadr[0]])
        low, high = joint_range(tree.model, index)
        starts[name] = min(max(value, low), high)
    return starts


def _no_fingers(read_hand: ReadHand) -> str:
    """Return why a model has no fingers: without joints and actuators, or without collision."""
    model, touching = read_hand.tree.model, set(touching_bodies(read_hand.tree))
    moved = {move.joint for actuator in read_hand.actuators for move in actuator.moves}
    bodies = {str(model.body(model.joint(name).bodyid[0]).name) for name in moved}
    if bodies and not bodies & touching:
        names = ", ".join(f"'{name}'" for name in sorted(bodies)[:4])
        return (
            f"expected fingers with collision geometry, found none: no geom of {names} has a "
            'contype or conaffinity; give the geoms that are to touch contype="1" conaffinity="1"'
        )
    return (
        "expected fingers with joints and actuators, found none; specify the grasps in a YAML file "
        "with `model:` and `grasps:`"
    )


# Model
def _read(path: Path, *, compensate: bool = True) -> ReadHand:
    source = read_model(path)
    tree = _hand_tree(alone(source, (), path))
    weightless = compensate and _lacks_compensation(tree.model)
    if weightless:
        tree = _hand_tree(alone(source, (), path, weightless=True))
    if not touching_bodies(tree):
        raise DescriptionError(
            "expected geoms that can touch, found none with a contype or conaffinity", file=path
        )
    points_on = skins(tree.model)
    tree.starts, tree.tips = starts_of(source, tree), _tips(tree, points_on)
    couplings = _couplings(tree, set())
    followers = {coupling.joint: coupling.leader for coupling in couplings}
    try:
        servos, messages = require_servos(tree, followers)
    except DescriptionError as error:
        raise error.located(file=path) from None
    if servos:
        served = _hand_tree(alone(source, servos, path, weightless=weightless))
        tree = replace(served, starts=tree.starts, tips=tree.tips)
    _refuse_actuators(tree.model, path)
    actuators, assumed = model_actuators(tree.model, tree.starts)
    if not any(actuator.moves for actuator in actuators):
        raise DescriptionError("expected an actuator that moves a joint, found none", file=path)
    closing = ClosingModel(tree, actuators, points_on)
    touching = touching_bodies(tree)
    actuators = [
        d.replace(stops=closing.stops(i, touching), press=press_of(tree, i, d))
        for i, d in enumerate(actuators)
    ]
    notes = [*source.dropped, *messages, *assumed, *conflicts(tree.model)]
    if weightless:
        notes.append(COMPENSATED)
    return ReadHand(source, tree, servos, tuple(actuators), closing, weightless, tuple(notes))


def _hand_tree(model: mujoco.MjModel) -> MjcfTree:
    """Return the tree of an attached hand, whose palm may be the link that the last closes on."""
    tree = tree_of(model)
    chain = [tree.palm]
    while len(below := tree.children[chain[-1]]) == 1:
        chain += below
    if (
        below
        or tree.palm
        or len(chain) < 3
        or len(tree.joints(chain[-1])) != 1
        or not tree.joints(chain[-2])
    ):
        return tree
    (joint,), points = tree.joints(chain[-1]), skins(model)
    frame = joint_frame(tree, joint)
    jaw, other = (  # points of the surfaces in the file's world, (n, 3)
        np.vstack([np.zeros((0, 3)), *(tree.in_world(b, points[b]) for b in group if b in points)])
        for group in (tree.members[chain[-1]], tree.members[chain[-2]])
    )
    frames, hinge = [], is_hinge(model, joint)
    for value in jaw_positions(joint_range(model, joint), is_hinge=hinge):
        rotation = transform(quaternion=(math.cos(value / 2.0), 0.0, 0.0, math.sin(value / 2.0)))
        frames.append(frame @ (rotation if hinge else transform((0.0, 0.0, value))))
    base = tree.data.xanchor[tree.joints(chain[-2])[-1]]
    if closes_on((jaw - frame[:3, 3]) @ frame[:3, :3], other, frames, base):
        tree.palm = chain[-2]
    return tree


def _collision_meshes(model: mujoco.MjModel) -> Iterator[Surface]:
    """Yield the meshes that can touch."""
    geoms = [geom for geom in touching_geoms(model) if model.geom_dataid[geom] >= 0]
    for mesh in dict.fromkeys(int(model.geom_dataid[geom]) for geom in geoms):
        yield Surface(str(model.mesh(mesh).name), *mesh_triangles(model, mesh))


def _refuse_actuators(model: mujoco.MjModel, path: Path) -> None:
    """Refuse actuators that do not control a position and do not rest at zero."""
    for index in range(model.nu):
        if kind_of(model, index) == UNKNOWN:
            kinds = (
                mujoco.mjtDyn(int(model.actuator_dyntype[index])),
                mujoco.mjtGain(int(model.actuator_gaintype[index])),
                mujoco.mjtBias(int(model.actuator_biastype[index])),
            )
            dynamics, gain, bias = (kind.name.partition("_")[2].lower() for kind in kinds)
            raise DescriptionError(
                "expected <position> or another actuator whose signal is a position (general with "
                "biasprm '0 -k -d'), or one that rests at zero (motor, velocity), found dynamics "
                f"{dynamics}, gain {gain}, bias {bias}; use <position> in a copy of the file",
                file=path,
                field=f"actuator '{model.actuator(index).name}'",
            )


def _tips(tree: MjcfTree, points_on: Mapping[int, Array]) -> dict[int, Array]:
    """Return each group's farthest colliding point from its joint, at zero joints [m]."""
    tips: dict[int, tuple[float, Array]] = {}
    for body, local_points in points_on.items():
        group, points = int(tree.model.body_weldid[body]), tree.in_world(body, local_points)
        distances = np.linalg.norm(points - tree.data.xpos[group], axis=1)
        if group not in tips or distances.max() > tips[group][0]:
            tips[group] = (float(distances.max()), points[int(distances.argmax())])
    return {group: point for group, (_, point) in tips.items()}


def _couplings(tree: MjcfTree, driven: set[str]) -> tuple[Coupling, ...]:
    """Joint couplings from the equality constraints of the model, to first order."""
    model = tree.model
    couplings: dict[str, Coupling] = {}
    moving = moving_joints(model)
    for index in np.flatnonzero(model.eq_type == mujoco.mjtEq.mjEQ_JOINT):
        first, second = int(model.eq_obj1id[index]), int(model.eq_obj2id[index])
        if first not in moving or second not in moving:
            continue
        zero = model.qpos0[model.jnt_qposadr[[first, second]]]
        constant, ratio = model.eq_data[index, :2].tolist()
        names = [str(model.joint(joint).name) for joint in (first, second)]
        offset = float(zero[0] + constant - ratio * zero[1])
        if names[0] in driven and names[1] not in driven and ratio != 0.0:
            names, ratio, offset = names[::-1], 1.0 / ratio, -offset / ratio
        if names[0] not in driven and names[0] not in couplings:
            couplings[names[0]] = Coupling(
                joint=names[0], leader=names[1], ratio=ratio, offset=offset
            )
    return tuple(couplings.values())


# Grasps
def _standing(up: Array) -> Pose:
    """Return the pose of the file's world in a hand frame whose z points up."""
    frame = np.eye(4)
    frame[:3, :3] = rotation_from_z(up).T
    return Pose(quaternion=quaternion_of(frame))


def _check_grasps(grasps: SynthesizedGrasps, path: Path) -> None:
    """Refuse a hand whose fingers touch no sphere; warn if they touch it from one side only."""
    if not (grasps.power.normals and grasps.precision.normals):
        raise DescriptionError(
            "expected actuators that close the fingers on a ball of 12 to 60 mm radius, found "
            "none; specify the grasps in a YAML file with `model:` and `grasps:`",
            file=path,
        )
    warn_of_unopposed(path.name, grasps)


def _preset(read: ReadHand, grasp: SynthesizedGrasp, pose: Pose) -> GraspPreset:
    preset = preset_of(in_frame(grasp, transform(pose.position, pose.quaternion)))
    factor = pace(read.tree, read.actuators, grasp.rates)
    return preset.replace(rates=Rates([round(factor * rate, 6) for rate in grasp.rates]))


def _in_hand(fingers: tuple[Finger, ...], pose: Pose) -> tuple[Finger, ...]:
    """Transform fingers from the file's world to the hand's frame."""
    return tuple(finger if finger.on else finger.replace(base=move_pose(pose, finger.base))
                 for finger in fingers)  # fmt: skip


# Differences between file and scene
def conflicts(attached: mujoco.MjModel) -> list[str]:
    """List the settings of an MJCF file that a scene overrides, or that change a grasp."""
    moving = moving_joints(attached)
    free = [str(attached.joint(j).name) for j in moving if not attached.jnt_limited[j]]
    messages = _contacts(attached)
    if free:
        messages.append(f"no limits: {', '.join(free)}; targets stay within ±180° or ±0.1 m")
    if _lacks_compensation(attached):
        messages.append(
            "its bodies have no gravity compensation (gravcomp): under gravity its joints sag as "
            "far as their servos allow"
        )
    return messages


def _lacks_compensation(model: mujoco.MjModel) -> bool:
    """Whether no body with a mass has gravity compensation."""
    weight = model.body_mass[1:] > 0.0
    return bool(weight.any() and not (model.body_gravcomp[1:][weight] > 0.0).any())


def list_unused_options(whole: mujoco.MjModel) -> list[str]:
    """Describe the options of an MJCF file that the scene overrides; empty without any."""
    option, defaults = whole.opt, mujoco.MjModel.from_xml_string("<mujoco/>").opt
    pyramidal = int(option.cone) == mujoco.mjtCone.mjCONE_PYRAMIDAL
    changed = ["cone pyramidal"] if pyramidal else []
    changed += [
        f"{name} {getattr(option, name):g}"
        for name in ("timestep", "impratio", "noslip_iterations")
        if getattr(option, name) != getattr(defaults, name)
    ]
    if int(option.integrator) != int(defaults.integrator):
        kind = mujoco.mjtIntegrator(int(option.integrator)).name.removeprefix("mjINT_").lower()
        changed.append(f"integrator {kind}")
    if tuple(option.gravity.tolist()) != EARTH:
        changed.append(f"gravity ({', '.join(f'{part:g}' for part in option.gravity)})")
    text = "options of the file are replaced by those of the scene"
    return [f"{text}: {', '.join(changed)}"] if changed else []


def _contacts(attached: mujoco.MjModel) -> list[str]:
    """Friction of the file, which counts in the contact pairs of the scene."""
    if not touching_geoms(attached):
        return ["none of its geoms can touch (contype and conaffinity are zero): it grasps nothing"]
    messages = []
    for stated in geom_frictions(attached):
        if stated.friction is None:
            continue
        which = "of whatever object" if stated.overrides else "or the object's, if that is larger"
        messages.append(
            f"{len(stated.geoms)} of its geoms have the friction {stated.friction:g} of the file, "
            f"{which}; contact.static_friction (--friction) replaces it"
        )
    return messages


def geom_frictions(model: mujoco.MjModel) -> tuple[GeomFriction, ...]:
    """Return the friction of the geoms that can touch; none where all have MuJoCo's default."""
    geoms: dict[tuple[float | None, bool], list[str]] = {}
    for geom in touching_geoms(model):
        overrides = bool(model.geom_priority[geom] > 0)
        friction: float | None = float(model.geom_friction[geom, 0])
        if overrides and model.geom_condim[geom] == 1:
            friction = 0.0
        elif friction == DEFAULT_FRICTION and not overrides:
            friction = None
        geoms.setdefault((friction, overrides), []).append(str(model.geom(geom).name))
    if set(geoms) == {(None, False)}:
        return ()
    return tuple(
        GeomFriction(geoms=tuple(named), friction=friction, overrides=overrides)
        for (friction, overrides), named in geoms.items()
    )


# Arms
def mjcf_arm(path: Path) -> Arm:
    """Make an arm from a MuJoCo model.

    Its joints get position servos with the stiffness and force limits of the position actuators in
    the file, if any. Its links are visible and do not collide.

    Raises:
        DescriptionError: The file is wrong, or its joints are not a single chain.

    Warns:
        SoftgraspWarning: Something is left out.
    """
    source = read_model(path)
    tree = tree_of(alone(source, (), path))
    tree.palm = 0
    moving = [group for group in tree.members if tree.joints(group)]
    if any(len(tree.children[group]) > 1 for group in [0, *moving]):
        raise DescriptionError(
            "expected an arm whose joints are one chain, found branches; load a hand separately",
            file=path,
        )
    for note in source.dropped:
        warnings.warn(f"{path.name}: {note}", SoftgraspWarning, stacklevel=3)
    tree.starts = starts_of(source, tree)
    (chain,) = fingers_of(tree, set())
    servos = _servos(tree.model)
    rows = [
        row.replace(
            name=row.name.removeprefix(source.prefix),
            joint_name=row.joint_name.removeprefix(source.prefix),
            driven=True,
            bodies=(),
            parts=_parts(tree, source, row, path),
            inertial=row.inertial and _heavy_enough(row.inertial),
            **servos.get(row.joint_name, {}),
        )
        for row in chain.phalanges
    ]
    last = tree.model.joint(chain.phalanges[-1].joint_name).id
    return Arm(
        name=source.spec.modelname or path.stem,
        chain=chain.replace(phalanges=tuple(rows), name="arm", tip=_tool(tree, last).position),
        tool=_tool(tree, last),
        source=f"{path.name} (MJCF)",
    )


def _heavy_enough(inertial: Inertial) -> Inertial:
    if inertial.mass >= MIN_MASS:
        return inertial
    return inertial.replace(mass=MIN_MASS, inertia=(MIN_MASS * 0.01**2,) * 3 + (0.0, 0.0, 0.0))


def _servos(model: mujoco.MjModel) -> dict[str, dict[str, float]]:
    """Return stiffness and force limit of the position actuators, by joint."""
    fields: dict[str, dict[str, float]] = {}
    arms = moments(model, mujoco.MjData(model))
    for joint in range(model.njnt):
        if model.jnt_actfrclimited[joint]:
            limit = float(np.abs(model.jnt_actfrcrange[joint]).max())
            fields[str(model.joint(joint).name)] = {"force_limit": limit}
    for index in range(model.nu):
        (dofs,) = np.nonzero(arms[index])
        if kind_of(model, index) != POSITION or len(dofs) != 1:
            continue
        arm = abs(float(arms[index, dofs[0]]))
        servo_fields = fields.setdefault(str(model.joint(int(model.dof_jntid[dofs[0]])).name), {})
        servo_fields["servo_stiffness"] = -float(model.actuator_biasprm[index, 1]) * arm * arm
        if model.actuator_forcelimited[index]:
            force = float(np.abs(model.actuator_forcerange[index]).max())
            servo_fields["force_limit"] = arm * force
    for joint in moving_joints(model):
        # by default a stiff servo that can carry its chain and 5 kg at 1 m
        below = float(model.body_subtreemass[model.jnt_bodyid[joint]]) + 5.0
        servo_fields = fields.setdefault(str(model.joint(joint).name), {})
        servo_fields.setdefault("force_limit", 9.81 * below)
        servo_fields.setdefault("servo_stiffness", 100.0 * servo_fields["force_limit"])
    return fields


def _parts(tree: MjcfTree, source: SourceModel, row: Phalanx, path: Path) -> tuple[Part, ...]:
    """Return the shapes of a phalanx in its frame, visible ones if there are any."""
    model = tree.model
    joint = model.joint(row.joint_name).id
    group = int(model.jnt_bodyid[joint])
    if tree.joints(group)[-1] != joint:
        return ()
    carry = np.linalg.inv(joint_frame(tree, joint))
    geoms = np.flatnonzero(np.isin(model.geom_bodyid, tree.members[group])).tolist()
    visible = [geom for geom in geoms if model.geom_group[geom] <= 2] or geoms
    parts = []
    for geom in visible:
        is_mesh = int(model.geom_type[geom]) == GEOM.mjGEOM_MESH
        shape = _mesh(source, model, geom, path) if is_mesh else primitive_of(model, geom)
        if shape is not None:
            parts.append(Part(shape=shape, pose=pose_of(carry @ _frame_of(tree, geom))))
    return tuple(parts)


def _frame_of(tree: MjcfTree, geom: int) -> Array:
    """Frame of a geom with all joints at zero, of a mesh that of its file, (4, 4)."""
    model, body = tree.model, int(tree.model.geom_bodyid[geom])
    world = frame_of(tree.data.xpos[body], tree.data.xmat[body])
    frame = world @ transform(model.geom_pos[geom], model.geom_quat[geom])
    if (mesh := int(model.geom_dataid[geom])) >= 0:
        frame = frame @ np.linalg.inv(transform(model.mesh_pos[mesh], model.mesh_quat[mesh]))
    return np.asarray(frame)


def _mesh(source: SourceModel, model: mujoco.MjModel, geom: int, path: Path) -> Mesh | None:
    """Return the mesh of a geom by its file; None if it has none or is not readable."""
    name = str(model.mesh(int(model.geom_dataid[geom])).name).removeprefix(source.prefix)
    mesh = source.spec.mesh(name)
    file = path.parent / with_slashes(source.spec.meshdir or "") / with_slashes(mesh.file or "")
    if not mesh.file or file.suffix.lower() not in MESH_SUFFIXES or not file.is_file():
        return None
    x, y, z = (float(part) for part in mesh.scale)
    return Mesh(file=assets.portable_name(file), scale=(x, y, z), collision="hull")


def _tool(tree: MjcfTree, last: int) -> Pose:
    """Return the frame of the hand: a site of the last link, or the last joint."""
    model, data = tree.model, tree.data
    mujoco.mj_kinematics(model, data)
    group = int(model.jnt_bodyid[last])
    for flange_name in FLANGES:
        for site in range(model.nsite):
            name = str(model.site(site).name)
            if name.endswith(flange_name) and model.body_weldid[model.site_bodyid[site]] == group:
                world = frame_of(data.site_xpos[site], data.site_xmat[site])
                return pose_of(np.linalg.inv(joint_frame(tree, last)) @ world)
    return Pose()
