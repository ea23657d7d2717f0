"""Properties of hands, objects, robots and other files, as plain data.

``softgrasp check`` prints them. Keys end in their unit, as in ``result.json``.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import mujoco
import numpy as np

from softgrasp import assets
from softgrasp.checks.finger import chamber_of, inspect_finger, size_of_finger
from softgrasp.checks.inspect import inspect, with_hand_checks
from softgrasp.checks.report import Inspection, format_count, summary
from softgrasp.checks.robot import inspect_robot_model, total_mass
from softgrasp.cli.names import Kind, OtherKind
from softgrasp.description.bendable import Bendable
from softgrasp.description.calibration import FingerRelease
from softgrasp.description.finger import Finger, Phalanx
from softgrasp.description.geometry import Mesh
from softgrasp.description.hand import Hand, HandModel
from softgrasp.description.object import GraspObject
from softgrasp.description.robot import ControlSystem, RigidJoint, Robot
from softgrasp.description.scene import GraspScene
from softgrasp.description.soft_finger import MountedSoftFinger
from softgrasp.description.task import SuccessCriterion
from softgrasp.errors import BuildError, DescriptionError, SoftgraspError, SoftgraspWarning
from softgrasp.extensions import WORLD_PROPERTIES, load
from softgrasp.io.hand import SELECTED
from softgrasp.io.hand_sanity import UNOPPOSED, hand_doubts
from softgrasp.io.load import load_hand, load_object, load_robot
from softgrasp.io.mesh import cut_or_hull, load_mesh
from softgrasp.io.mjcf.model import read_model
from softgrasp.io.scene import load_criterion, load_release, load_scene
from softgrasp.io.soft_finger.finger import unit_of_mesh
from softgrasp.model.compile import compiled
from softgrasp.model.hand import build_hand_spec
from softgrasp.model.object import object_mass
from softgrasp.model.robot import ROBOT_TEXT
from softgrasp.model.scene import CompiledScene
from softgrasp.model.shapes import extent, mass_properties
from softgrasp.pipeline import compile_scene
from softgrasp.report.finger_figure import draw_finger
from softgrasp.report.grasp_text import criterion_text, limits_text
from softgrasp.sim.soft_dynamics import linear_mode
from softgrasp.sim.soft_statics import damp_finger, equilibrium, solve_loaded_shape
from softgrasp.units import LengthUnit

Properties = dict[str, Any]
MIN_DECAY_TIMES = 3.0
"""Minimum duration of a release over the time in which its first mode decays to 1/e."""


class Checked(NamedTuple):
    """Properties and problems of a file."""

    properties: dict[str, Any]
    problems: list[str]
    """Problems of files without an inspection."""
    inspection: Inspection | None = None
    known_warnings: tuple[str, ...] = ()
    """Warnings that the inspection reports in its own words."""


def document_checks(
    kind: Kind,
    what: str,
    units: LengthUnit | None = None,
    *,
    reading: Mapping[str, Any] | None = None,
    figure: Path | None = None,
) -> dict[str, Any]:
    """Return properties, checks and problems of a file or name as plain data.

    The kind ``finger`` is the mesh of one, of which an image is written to ``figure``; ``units``
    are those of a mesh, by default m, of a finger also mm; ``reading`` are options of
    ``inspect_finger``.
    """
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always", SoftgraspWarning)
        if kind == "finger":
            checked = _check_finger(Path(what), units, reading or {}, figure)
        else:
            checked = _check(kind, what, units or "m")
    words = [str(w.message) for w in warned if issubclass(w.category, SoftgraspWarning)]
    words = [word for word in words if word not in checked.known_warnings]
    # what reading these leaves out or assumes spoils no grasp
    mild = kind in ("hand", "robot", "finger")
    spoiling = [word for word in words if not mild or f"{UNOPPOSED} (power)" in word]
    problems = [*checked.problems, *spoiling]
    document: dict[str, Any] = {"kind": kind, **checked.properties}
    remarks = [word for word in words if word not in spoiling]
    lead = ""
    if checked.inspection is not None:
        plain = checked.inspection.as_dict()
        document |= {"checks": plain["checks"], "findings": plain["findings"]}
        problems = [*(problem.sentence for problem in checked.inspection.problems), *problems]
        # a scene repeats what reading its meshes warns of
        known = [remark for remark in checked.inspection.remarks if remark.actual not in remarks]
        remarks = [*(item.sentence for item in known), *remarks]
        lead = f"{format_count(len(checked.inspection.checks), 'check')}: "
    problems, remarks = list(dict.fromkeys(problems)), list(dict.fromkeys(remarks))
    verdict = f"{lead}{summary(problems, remarks)}"
    return document | {"problems": problems, "remarks": remarks, "verdict": verdict}


def _check(kind: OtherKind, what: str, units: LengthUnit) -> Checked:
    """Return properties and inspection of a file; warnings are raised as usual."""
    match kind:
        case "hand":
            try:
                hand = load_hand(what)
            except DescriptionError:
                if (checked := _describe_exported_robot(what)) is None:
                    raise
                return checked
            try:
                properties = hand_properties(hand)
            except BuildError:  # a problem of the inspection
                properties = {"name": hand.name}
            return Checked(properties, [], inspect(hand), tuple(hand_doubts(hand)))
        case "object":
            obj = load_object(what)
            known = load_mesh(_cut(obj.shape)[0]).warnings if isinstance(obj.shape, Mesh) else ()
            return Checked(object_properties(obj), [], inspect(obj), known)
        case "mesh":
            shape = Mesh(file=assets.portable_name(Path(what)), units=units)
            known = load_mesh(_cut(shape)[0]).warnings
            return Checked(mesh_properties(shape), [], inspect(shape), known)
        case "robot":
            robot = load_robot(what)
            inspection = inspect(robot)
            properties = robot_properties(robot)
            # a wrong unit is the cause of whatever the checks of the hand would report
            if not {problem.check for problem in inspection.problems} & {"units", "limits"}:
                shown, inspection = _as_hand(what, robot, inspection)
                properties |= shown
            return Checked(properties, [], inspection)
        case "release":
            release = load_release(what)
            return Checked(release_properties(release), release_problems(release))
        case "criterion":
            return Checked(criterion_properties(load_criterion(what)), [])
        case "world":
            return Checked(*load(WORLD_PROPERTIES)(what))
        case "scene":
            scene = load_scene(what)
            properties = scene_properties(scene)
            try:
                properties |= describe_built(compile_scene(scene))
            except BuildError as error:
                return Checked(properties, [str(error)])
            return Checked(properties, [])


def _check_finger(
    file: Path, units: LengthUnit | None, reading: Mapping[str, Any], figure: Path | None
) -> Checked:
    """Return how the mesh of a soft finger is read, and draw it."""
    units = unit_of_mesh(file) if units is None else units
    inspected = inspect_finger(file, units=units, **reading)
    finger, sliced = inspected.finger, inspected.sliced
    properties: Properties = {"name": file.stem, "file": str(file), "units": units}
    if finger is None or sliced is None:
        return Checked(properties, [], inspected.inspection)
    if figure is not None:
        figure.parent.mkdir(parents=True, exist_ok=True)
        properties["figure"] = str(draw_finger(sliced, figure))
    area, lever, volume = chamber_of(sliced)
    properties |= {
        "size_m": list(size_of_finger(sliced)),
        "mass_kg": sum(link.mass for link in finger.links),
        **{
            name: (sliced.transform[:3, column].round(9) + 0.0).tolist()
            for name, column in (("base_m", 3), ("axis", 0), ("up", 2))
        },
        "cells" if sliced.divided else "valleys": len(finger.joints),
        "joint_positions_m": [joint.position[0] for joint in finger.joints],
        "joint_stiffness_N_m_rad": [joint.stiffness for joint in finger.joints],
        "pressure_gain_N_m_Pa": [joint.pressure_gain for joint in finger.joints],
        "chambers": {"mean_area_m2": area, "lever_m": lever, "volume_m3": volume},
        "free_bending_rad_Pa": finger.bending,
    }
    return Checked(properties, [], inspected.inspection)


def _describe_exported_robot(what: str) -> Checked | None:
    """Return the checks of an MJCF file that ``convert`` wrote of a robot; None for others."""
    path = Path(what)
    if path.suffix.lower() not in assets.MODEL_SUFFIXES or not path.is_file():
        return None
    source = read_model(path)
    if (text := source.spec.text(ROBOT_TEXT)) is None:
        return None
    name, model = text.data, source.compiled
    properties = {"kind": "robot", "name": name, "joints": model.njnt, "actuators": model.nu}
    return Checked(properties, [], inspect_robot_model(model, name))


def _as_hand(what: str, robot: Robot, inspection: Inspection) -> tuple[Properties, Inspection]:
    """Read a robot as a hand, and add its properties and, of rigid links, its checks.

    One chain or segment alone is rather an arm, of which nothing is added.
    """
    soft = len({part.parent for part in robot.bendables}) == 1 < len(robot.bendables)
    if not soft and (robot.bendables or all(joint.type == "fixed" for joint in robot.joints)):
        return {}, inspection
    try:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            hand = load_hand(what)
    except DescriptionError as error:
        if SELECTED.get():
            raise
        return {"as_a_hand": f"none: {error}"}, inspection
    if soft:
        return {"as_a_hand": f"{len(hand.soft_fingers)} soft fingers"}, inspection
    if len(hand.fingers) < 2:
        return {}, inspection
    properties = hand_properties(hand)
    kept = ("couplings", "fingers", "grasps", "notes")
    shown = {"as_a_hand": f"{len(hand.fingers)} chains, {len(hand.actuators)} actuators"} | {
        key: value for key in kept if (value := properties.get(key))
    }
    inspection = with_hand_checks(inspection, inspect(hand))
    for warning in caught:
        warnings.warn(str(warning.message), SoftgraspWarning, stacklevel=1)
    return shown, inspection


def release_problems(release: FingerRelease) -> list[str]:
    """Return problems of weight, sample period and duration that prevent a comparison."""
    try:
        solve_loaded_shape(release)
    except SoftgraspError as error:
        return [str(error)]
    mode, problems = linear_mode(damp_finger(release)), []
    needed = MIN_DECAY_TIMES / mode.decay if mode.decay > 0.0 else math.inf
    if not math.isnan(mode.decay) and release.duration < needed:
        problems.append(
            f"duration: expected at least {needed:.2g} s, in which the first mode decays, found "
            f"{release.duration:g} s"
        )
    period = 1.0 / mode.frequency if mode.frequency > 0.0 else math.inf
    if 10.0 * release.sample_period > period:
        problems.append(
            f"sample_period: expected at most a tenth of the first mode's period of {period:.3g} "
            f"s, found {release.sample_period:g} s"
        )
    return problems


# Properties.


def hand_properties(hand: Hand) -> Properties:
    """Return fingers with joints, lengths, masses and limits; palm and grasps."""
    model = compiled(build_hand_spec(hand), hand.name)
    fingers = [_finger_properties(model, finger) for finger in hand.fingers]
    soft = [_soft_finger_properties(finger) for finger in hand.soft_fingers]
    return {
        "name": hand.name,
        "fingers": fingers,
        "joints": len(hand.joints),
        **({"soft_fingers": soft} if soft else {}),
        "mass_kg": float(model.body_mass.sum())
        if hand.model
        else sum(finger["mass_kg"] for finger in fingers + soft),
        **(
            {"couplings": [dict(coupling) for coupling in hand.couplings]} if hand.couplings else {}
        ),
        "palm": hand.palm.kind if hand.model is None else hand.model.palm,
        **({"model": _model_properties(hand.model)} if hand.model else {}),
        "grasps": {
            name: {"center_m": list(preset.center), "rates": list(preset.rates)}
            | ({} if preset.start is None else {"start": list(preset.start)})
            for name, preset in hand.grasps
        },
        "source": hand.source,
        "notes": list(hand.notes),
    }


def _model_properties(model: HandModel) -> Properties:
    """Return the file of a hand's MuJoCo model, and the joints that its actuators move."""
    return {
        "file": model.file,
        "sha256": model.sha256,
        "actuators": {
            actuator.actuator: {
                "unit": actuator.unit or "none",
                "limits": list(actuator.limits),
                "moves": [move.joint for move in actuator.moves],
            }
            for actuator in model.actuators
        },
    }


def _finger_properties(model: mujoco.MjModel, finger: Finger) -> Properties:
    return {
        "name": finger.name,
        "convention": finger.convention,
        "phalanges": [body for link in finger.phalanges for body in finger.bodies_of(link)],
        "joints": [link.joint_name for link in finger.phalanges],
        "limits": [list(link.limits) for link in finger.phalanges],
        "length_m": float(sum(np.linalg.norm(end) for end in finger.link_ends)),
        "mass_kg": float(sum(_link_mass(model, finger, link) for link in finger.phalanges)),
    }


def _link_mass(model: mujoco.MjModel, finger: Finger, link: Phalanx) -> float:
    """Return the mass of a link; in a MuJoCo model with all that is fixed to it [kg]."""
    if link.inertial is not None:
        return link.inertial.mass
    body = mujoco.mj_name2id(model, mujoco.mjtObj.mjOBJ_BODY, finger.body_of(link))
    return float(model.body_mass[body]) if body >= 0 else 0.0  # one of several joints of a body


def _soft_finger_properties(mounted: MountedSoftFinger) -> Properties:
    """Return a soft finger's properties, and its free bending angle at the highest pressure."""
    _, high = mounted.limits
    rest = equilibrium(mounted.finger, pressure=high, gravity=False, error_estimate=False)
    return {
        "name": mounted.name,
        "finger": mounted.finger.name,
        "joints": len(mounted.finger.joints),
        "length_m": mounted.length,
        "mass_kg": sum(link.mass for link in mounted.finger.links),
        "pressure_limits_Pa": list(mounted.limits),
        "bending_rad": rest.tip_angle,
    }


def object_properties(obj: GraspObject) -> Properties:
    """Return shape, size, mass and material."""
    parts: Properties = {}
    if isinstance(obj.shape, Mesh):
        shape, parts = _cut(obj.shape)
        obj = obj.replace(shape=shape)
    volume = mass_properties(obj.shape).volume
    mass = object_mass(obj)
    properties: Properties = {
        "name": obj.name,
        "shape": obj.shape.type,
        "size_m": list(extent(obj.shape)),
        "volume_m3": volume,
        "mass_kg": mass,
        "density_kg_m3": mass / volume,
    }
    properties |= parts
    if obj.material is not None:
        properties["material"] = obj.material.model_dump(exclude_none=True)
    return properties | {"source": obj.source}


def mesh_properties(shape: Mesh) -> Properties:
    """Return size, volume, centre and convex parts of a mesh file."""
    shape, parts = _cut(shape)
    body = load_mesh(shape)
    return {
        "file": shape.file,
        "vertices": len(body.vertices),
        "faces": len(body.faces),
        "size_m": list(extent(shape)),
        "volume_m3": body.volume,
        "center_of_mass_m": body.center_of_mass.tolist(),
        **parts,
        "sha256": body.sha256,
    }


def _cut(shape: Mesh) -> tuple[Mesh, Properties]:
    """Return a mesh that can be loaded, with the number of its convex parts."""
    shape, uncut = cut_or_hull(shape)
    return shape, {"convex_parts": uncut.partition(":")[0] or len(load_mesh(shape).parts)}


def scene_properties(scene: GraspScene) -> Properties:
    """Return a scene's properties before it is built."""
    contact, further = scene.requested_contact, Properties()
    if scene.objects:
        named = zip(scene.object_names[1:], scene.objects, strict=True)
        further["further_objects_kg"] = {n: object_mass(placed.object) for n, placed in named}
    if scene.surroundings:
        further["surroundings"] = list(scene.surrounding_names)
    return {
        "name": scene.name,
        "hand": scene.hand.name,
        "object": scene.object.name,
        "object_mass_kg": object_mass(scene.object),
        "mount": scene.object_mount,
        **further,
        "grasp": scene.grasp,
        "actuation": scene.actuation,
        "contact": contact.model_dump(exclude_none=True),
        "largest_timestep_s": contact.largest_timestep,
        "control_period_s": scene.control_period,
        "hold_test": scene.success is not None,
        "source": scene.source,
    }


def criterion_properties(criterion: SuccessCriterion) -> Properties:
    """Return the loads of a success criterion and its limits."""
    return {
        "name": criterion.name,
        "test": criterion_text(criterion),
        "passes": limits_text(criterion),
        "longest_s": criterion.max_duration,
        "source": criterion.source,
        "deviations": criterion.deviations,
    }


def describe_built(built: CompiledScene) -> Properties:
    """Return the values that follow from building a scene: time step, carrier, contacts."""
    return {
        "timestep_s": float(built.model.opt.timestep),
        "contact_stiffness_N_m": built.contact.stiffness,
        "contact_pairs": int(built.model.npair),
        "sensing_bodies": len(built.bodies),
        "degrees_of_freedom": int(built.model.nv),
    }


def release_properties(release: FingerRelease) -> Properties:
    """Return finger, weight, static tip angle and first mode of a finger release."""
    mode = linear_mode(damp_finger(release))
    return {
        "name": release.name,
        "finger": release.finger.name,
        "joints": len(release.finger.joints),
        "tip_mass_kg": release.tip_mass,
        "webots_timestep_s": release.webots_timestep,
        "timestep_s": release.timestep,
        "duration_s": release.duration,
        "sample_period_s": release.sample_period,
        "tip_angle_rad": float(solve_loaded_shape(release).sum()),
        "first_mode_Hz": mode.frequency,
        "damping_ratio": mode.ratio,
        "source": release.source,
    }


# Robots.


def robot_properties(robot: Robot) -> Properties:
    """Return links, bendable segments with their actuators, joints and control interfaces."""
    return {
        "name": robot.name,
        "root": robot.root,
        "links": [link.name for link in robot.links],
        "bendables": [_bendable_properties(part) for part in robot.bendables],
        "rigid_joints": [_joint_properties(joint) for joint in robot.joints],
        "mass_kg": total_mass(robot),
        "control": [_control_properties(system) for system in robot.control],
        "source": robot.source,
    }


def _bendable_properties(part: Bendable) -> Properties:
    limits, backbone = part.limits, part.backbone
    keys = ("name", "parent", "child", "model", "degree", "frame")
    return {key: getattr(part, key) for key in keys} | {
        "length_m": backbone.length,
        "radius_m": backbone.radius,
        "mass_kg": None if part.inertial is None else part.inertial.mass,
        "kappa_max_per_m": part.kappa_max,
        "theta_max_rad": part.theta_max,
        "phi_range_rad": None if limits.phi_min is None else [limits.phi_min, limits.phi_max],
        "kappa_dot_max_per_m_s": limits.kappa_dot_max,
        "phi_dot_max_rad_s": limits.phi_dot_max,
        "bending_stiffness_N_m2": backbone.bending_stiffness,
        "damping_N_m2_s": backbone.damping,
        "simulated_links": backbone.links,
        "discs": backbone.discs,
        "actuation": part.actuation[0].type if part.actuation else None,
        "actuator_angles_rad": [actuator.angle for actuator in part.actuation],
    }


def _joint_properties(joint: RigidJoint) -> Properties:
    limits = None if joint.lower is None else [joint.lower, joint.upper]
    names = {key: getattr(joint, key) for key in ("name", "type", "parent", "child")}
    return names | {"limits": limits}


def _control_properties(system: ControlSystem) -> Properties:
    return {
        "name": system.name,
        "plugin": system.plugin,
        "commands": [f"{j.name}/{part.name}" for j in system.joints for part in j.commands],
        "states": [f"{j.name}/{part.name}" for j in system.joints for part in j.states],
    }
