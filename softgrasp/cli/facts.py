"""What a hand, an object, a mesh or a scene is, in numbers."""

from __future__ import annotations

from typing import Any

import mujoco
import numpy as np

from softgrasp.build.compiling import compiled
from softgrasp.build.hand_model import build_hand_spec
from softgrasp.build.objects import object_mass
from softgrasp.build.scene import BuiltScene
from softgrasp.build.shapes import extent, mass_properties
from softgrasp.description.finger import Finger, Phalanx
from softgrasp.description.hand import GraspPreset, Hand
from softgrasp.description.hand_model import HandModel
from softgrasp.description.objects import GraspObject
from softgrasp.description.scene import GraspScene
from softgrasp.description.shapes import Mesh
from softgrasp.description.soft_digit import MountedSoftFinger
from softgrasp.description.success import SuccessCriterion
from softgrasp.formats.meshes import cut_or_hull, load_mesh
from softgrasp.report.hold_words import criterion_text, limits_text
from softgrasp.simulation.equilibrium import equilibrium

Properties = dict[str, Any]


def hand_properties(hand: Hand) -> Properties:
    """Fingers with joints, lengths, masses and limits; palm and grasps."""
    model = compiled(build_hand_spec(hand), hand.name)
    fingers = [_finger_properties(model, finger) for finger in hand.fingers]
    soft = [_soft_finger_properties(digit) for digit in hand.soft_fingers]
    return {
        "name": hand.name,
        "fingers": fingers,
        "joints": len(hand.joints),
        **({"soft_fingers": soft} if soft else {}),
        "mass_kg": float(model.body_mass.sum())
        if hand.model
        else sum(finger["mass_kg"] for finger in fingers + soft),
        **({"couplings": [dict(one) for one in hand.couplings]} if hand.couplings else {}),
        "palm": hand.palm.kind if hand.model is None else hand.model.palm,
        **({"model": _model_properties(hand.model)} if hand.model else {}),
        "grasps": {name: _grasp_properties(preset) for name, preset in hand.grasps},
        "source": hand.source,
        "notes": list(hand.notes),
    }


def _grasp_properties(preset: GraspPreset) -> Properties:
    start = {} if preset.start is None else {"start": list(preset.start)}
    return {"center_m": list(preset.center), "rates": list(preset.rates), **start}


def _model_properties(model: HandModel) -> Properties:
    """The file, and what its actuators command."""
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
        "phalanges": [body for row in finger.phalanges for body in finger.bodies_of(row)],
        "joints": [row.joint_name for row in finger.phalanges],
        "limits": [list(row.limits) for row in finger.phalanges],
        "length_m": float(sum(np.linalg.norm(end) for end in finger.link_ends)),
        "mass_kg": float(sum(_row_mass(model, finger, row) for row in finger.phalanges)),
    }


def _row_mass(model: mujoco.MjModel, finger: Finger, row: Phalanx) -> float:
    """Of a link; of a hand's own model, with all that is fixed to it [kg]."""
    if row.inertial is not None:
        return row.inertial.mass
    return float(model.body(finger.body_of(row)).mass[0])


def _soft_finger_properties(digit: MountedSoftFinger) -> Properties:
    """A soft finger, and how far the highest pressure bends it where nothing is in its way."""
    _, high = digit.limits
    rest = equilibrium(digit.finger, pressure=high, gravity=False, error_estimate=False)
    return {
        "name": digit.name,
        "finger": digit.finger.name,
        "joints": len(digit.finger.joints),
        "length_m": digit.length,
        "mass_kg": sum(link.mass for link in digit.finger.links),
        "pressure_limits_Pa": list(digit.limits),
        "bending_rad": rest.tip_angle,
    }


def object_properties(obj: GraspObject) -> Properties:
    """Shape, size, mass and material."""
    parts: Properties = {}
    if isinstance(obj.shape, Mesh):
        parts = _part_properties(obj.shape)
        obj = obj.replace(shape=cut_or_hull(obj.shape)[0])
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
    """Size, volume, centre and convex parts of a mesh file."""
    parts, (shape, _) = _part_properties(shape), cut_or_hull(shape)
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


def _part_properties(shape: Mesh) -> Properties:
    shape, uncut = cut_or_hull(shape)
    return {"convex_parts": uncut.partition(":")[0] or len(load_mesh(shape).parts)}


def scene_properties(scene: GraspScene) -> Properties:
    """What can be said of a scene before it is built."""
    contact = scene.requested_contact
    return {
        "name": scene.name,
        "hand": scene.hand.name,
        "object": scene.object.name,
        "object_mass_kg": object_mass(scene.object),
        "mount": scene.object_mount,
        **_further_properties(scene),
        "grasp": scene.grasp,
        "actuation": scene.actuation,
        "contact": contact.model_dump(exclude_none=True),
        "largest_timestep_s": contact.largest_timestep,
        "control_period_s": scene.control_period,
        "hold_test": scene.success is not None,
        "source": scene.source,
    }


def _further_properties(scene: GraspScene) -> Properties:
    """Further objects and what stands around, where there are some."""
    properties: Properties = {}
    if scene.objects:
        named = zip(scene.object_names[1:], scene.objects, strict=True)
        properties["further_objects_kg"] = {n: object_mass(placed.object) for n, placed in named}
    if scene.surroundings:
        properties["surroundings"] = list(scene.surrounding_names)
    return properties


def criterion_properties(criterion: SuccessCriterion) -> Properties:
    """What a success criterion does and allows."""
    return {
        "name": criterion.name,
        "test": criterion_text(criterion),
        "passes": limits_text(criterion),
        "longest_s": criterion.max_duration,
        "source": criterion.source,
        "deviations": criterion.deviations,
    }


def built_properties(built: BuiltScene) -> Properties:
    """What building a scene has decided."""
    return {
        "timestep_s": float(built.model.opt.timestep),
        "contact_stiffness_N_m": built.contact.stiffness,
        "contact_pairs": int(built.model.npair),
        "sensing_bodies": len(built.bodies),
        "degrees_of_freedom": int(built.model.nv),
    }
