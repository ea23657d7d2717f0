"""Grasps of other programs as candidates of the planner, and its grasps in their format.

An object's frame is that of its file; in a model its origin is the centre of mass
(``model.shapes.center_in_file``).

Files state joint variables and the pose of the frame of the hand's file; the planner needs actuator
targets, and the pose of the object in the hand's frame. Joints that the actuators cannot set, such
as mimic joints with other ratios, are approximated by least squares.
"""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from softgrasp.description.grasps import Grasp, GraspedObject, HandPosture
from softgrasp.description.object import GraspObject
from softgrasp.description.scene import GraspScene
from softgrasp.description.sweep import GraspPlan, ImportedGrasp
from softgrasp.errors import DescriptionError, SoftgraspWarning, did_you_mean
from softgrasp.exports.grasps import file_frame, file_scale, load_grasps
from softgrasp.grasp_synthesis.posture_search import PACE, SynthesizedPosture
from softgrasp.io.grasp_files import numbered, postures_of
from softgrasp.mechanics.hand_kinematics import pose_of
from softgrasp.mechanics.transforms import Array, transform
from softgrasp.model.grasp_geometry import hand_joints, joint_motion
from softgrasp.model.retreat import HandRetreat
from softgrasp.model.shapes import center_in_file

CLOSING_TIME = 0.3
"""Time from the posture before the grasp into the grasp [s]."""
MAX_ERROR, REPORTED_ERROR = 0.8, 0.2
"""Errors of a joint that the actuators cannot set, above which a grasp is refused, and reported
[rad or m]."""
STILL = 0.002
"""Motion from the start to the squeezing posture below which an actuator keeps still, over its
range [–]: at its rate it would need more time than a closure may take."""
OPENED, SQUEEZED = 0.2, 0.06
"""How far a hand opens before, and closes beyond, a grasp that is stated as one posture, over the
ranges of its actuators [–]."""
MOVED = 1e-3
"""Motion of a hand between its postures from which a warning states it [m]."""


class HandJoints(NamedTuple):
    """Joints of a hand, in the order of its model, and how its actuators set them."""

    names: list[str]
    ratio: Array
    """(n, nu)."""
    bias: Array
    """(n,)."""
    limits: Array
    """Of the actuators, (nu, 2)."""
    frame: Array
    """Frame of the hand's file, whose pose is stated, in the hand's frame, (4, 4)."""

    def targets(self, variables: Array) -> tuple[Array, float]:
        """Compute actuator targets that set joint variables best, and the largest error.

        Args:
            variables: Joint variables, (n,) [rad or m].
        """
        targets = np.linalg.lstsq(self.ratio, variables - self.bias, rcond=None)[0]
        low, high = self.limits.T
        targets = np.clip(targets, low, high)
        return targets, float(np.abs(self.ratio @ targets + self.bias - variables).max(initial=0.0))

    def variables(self, targets: Array) -> Array:
        """Compute the joint variables at actuator targets (nu,), (n,)."""
        return np.asarray(self.ratio @ targets + self.bias)


def hand_joints_of(scene: GraspScene) -> HandJoints:
    """Return the joints of a scene's hand.

    Raises:
        BuildError: The hand cannot be built.
    """
    built = HandRetreat(scene).built
    joints = hand_joints(built.model, built.bodies)
    ratio, bias = joint_motion(built.model, scene.hand, joints)
    reference = np.array([built.model.qpos0[built.model.jnt_qposadr[joint]] for joint in joints])
    prefix = "" if scene.hand.model is None else scene.hand.model.prefix
    return HandJoints(
        [built.model.joint(joint).name.removeprefix(prefix) for joint in joints],
        ratio,
        bias + reference,
        np.array([actuator.limits for actuator in scene.hand.actuators]),
        file_frame(scene.hand),
    )


def import_grasps(
    scene: GraspScene, path: str | Path, scale: float | None = None
) -> tuple[ImportedGrasp, ...]:
    """Read grasps of ``softgrasp-grasps`` or other programs for a scene's hand and object.

    The hand has to be the one that the grasps were made for, which only the number and names of the
    joints can verify. Grasps for another size of the object are left out. A grasp that is stated as
    one posture gets one before it and one that squeezes, along the closing directions of the hand.

    Args:
        scene: Hand and object.
        path: A file that ``exports.load_grasps`` reads, or a directory of ``.npy`` files.
        scale: Scale in the file of the grasps to take [–]; by default the object's own.

    Raises:
        DescriptionError: The file is no such file, its joints are not those of the hand, or it has
            no grasp for this size of the object.
        BuildError: The hand cannot be built.

    Warns:
        SoftgraspWarning: Grasps were left out, state one posture, or move the hand.
    """
    joints = hand_joints_of(scene)
    read = _of_size(load_grasps(path).grasps, scene.object, scale, path)
    offset = np.eye(4)
    offset[:3, 3] = center_in_file(scene.object.shape)
    imported = [
        _convert_imported_grasp(grasp, joints, offset, f"{path}: [{index}]")
        for index, grasp in enumerate(read)
    ]
    errors = np.array([error for _, error in imported])
    _warn_of_moving_hands(read, path)
    inexact = int((errors > REPORTED_ERROR).sum())
    if inexact:
        warnings.warn(
            f"{path}: {inexact} of {len(errors)} grasps have joint variables that the actuators of "
            f"the hand cannot set, by up to {errors.max():.2g}; the nearest ones are used",
            SoftgraspWarning,
            stacklevel=2,
        )
    grasps = [grasp for grasp, _ in imported]
    single = [not _moving(item, joints.limits).any() for item in grasps]
    if any(single):
        warnings.warn(
            f"{path}: {sum(single)} of {len(grasps)} grasps state one posture: the hand opens "
            f"before it by {OPENED:.0%} of the ranges of its actuators and squeezes by "
            f"{SQUEEZED:.0%}",
            SoftgraspWarning,
            stacklevel=2,
        )
    closing = np.sign(scene.preset.rates.for_fingers(scene.hand.actuator_counts))
    return tuple(
        _with_motion(element, joints.limits, closing) if alone else element
        for element, alone in zip(grasps, single, strict=True)
    )


def _of_size(
    grasps: tuple[Grasp, ...], obj: GraspObject, scale: float | None, path: str | Path
) -> tuple[Grasp, ...]:
    """Select the grasps for a size of the object."""
    factor = file_scale(obj) if scale is None else scale
    kept = tuple(grasp for grasp in grasps if np.isclose(grasp.object.scale, factor, rtol=1e-3))
    if len(kept) < len(grasps):
        counts = Counter(f"{grasp.object.scale:.4g}" for grasp in grasps)
        listed = ", ".join(f"{count} for {size}" for size, count in sorted(counts.items()))
        if not kept:
            raise DescriptionError(
                f"{path}: expected grasps for the scale {factor:.4g} of '{obj.name}', found "
                f"{listed}; object.shape.scale sets that of the object, --import-scale takes those "
                "of another one as they are"
            )
        warnings.warn(
            f"{path}: {len(kept)} of {len(grasps)} grasps are for the scale {factor:.4g} of "
            f"'{obj.name}', the others are left out: {listed}",
            SoftgraspWarning,
            stacklevel=3,
        )
    return kept


def _warn_of_moving_hands(grasps: Sequence[Grasp], path: str | Path) -> None:
    """Warn of hands that move between the postures of a grasp."""
    positions = [[item.pose.position for item in postures_of(grasp)] for grasp in grasps]
    paths = np.linalg.norm(np.ptp(positions, axis=1), axis=1)
    moving = int((paths > MOVED).sum())
    if moving:
        warnings.warn(
            f"{path}: the hand moves between the postures of {moving} of {len(grasps)} grasps, by "
            f"up to {1e3 * paths.max():.3g} mm; here it stands still in the pose of the grasp",
            SoftgraspWarning,
            stacklevel=3,
        )


def _moving(grasp: ImportedGrasp, limits: Array) -> NDArray[np.bool_]:
    """Return which actuators move from the start to the squeezing posture, (nu,)."""
    motion = np.abs(np.subtract(grasp.squeeze, grasp.start))
    return np.asarray(motion > STILL * np.ptp(limits, axis=1))


def _with_motion(grasp: ImportedGrasp, limits: Array, closing: Array) -> ImportedGrasp:
    """Return a grasp of one posture with one before it and one that squeezes."""
    spans, (low, high) = np.ptp(limits, axis=1), limits.T
    start = np.clip(grasp.grasp - OPENED * spans * closing, low, high)
    squeeze = np.clip(grasp.grasp + SQUEEZED * spans * closing, low, high)
    return grasp.replace(start=tuple(start.tolist()), squeeze=tuple(squeeze.tolist()))


def _convert_imported_grasp(
    grasp: Grasp, joints: HandJoints, offset: Array, where: str
) -> tuple[ImportedGrasp, float]:
    """Convert a grasp; ``offset`` is the object's centre in its file. Also return the error."""
    rows, errors = [], []
    for variables in _order(grasp, joints, where):
        targets, error = joints.targets(variables)
        if error > MAX_ERROR:
            raise DescriptionError(
                f"{where}: expected joint variables that the actuators of the hand can set, found "
                f"one off by {error:.3g}; is it another hand?"
            )
        rows.append(tuple(targets.tolist()))
        errors.append(error)
    stated = grasp.grasp.pose
    hand = transform(stated.position, stated.quaternion) @ np.linalg.inv(joints.frame)
    placed = pose_of(np.linalg.inv(hand) @ offset)
    imported = ImportedGrasp(object_pose=placed, start=rows[0], grasp=rows[1], squeeze=rows[2])
    return imported, max(errors)


def _order(grasp: Grasp, joints: HandJoints, where: str) -> list[Array]:
    """Return the joint variables of the three postures in the order of the hand's model, (n,)."""
    listed, expected = tuple(grasp.grasp.joints), joints.names
    if listed == numbered(len(listed)):
        if len(listed) != len(expected):
            raise DescriptionError(
                f"{where}: expected {len(expected)} joint variables, those of the hand, found "
                f"{len(listed)}"
            )
        expected = [*listed]
    if missing := [name for name in expected if name not in listed]:
        raise DescriptionError(
            f"{where}: expected a value for joint '{missing[0]}' of the hand, found none; "
            f"{did_you_mean(missing[0], listed)}"
        )
    return [np.array([item.joints[name] for name in expected]) for item in postures_of(grasp)]


# Candidates and export


def convert_postures(plan: GraspPlan) -> list[SynthesizedPosture]:
    """Return the given grasps of a plan as postures without a score."""
    postures = []
    limits = np.array([actuator.limits for actuator in plan.scene.hand.actuators])
    for grasp in plan.grasps:
        start, targets, squeeze = (np.array(p) for p in (grasp.start, grasp.grasp, grasp.squeeze))
        pose = transform(grasp.object_pose.position, grasp.object_pose.quaternion)
        moving = _moving(grasp, limits)
        rates = np.where(moving, squeeze - start, 0.0) * PACE / CLOSING_TIME
        unknown = float("nan")
        postures.append(
            SynthesizedPosture(
                pose, targets, start, rates, squeeze, unknown, unknown, unknown, unknown, unknown, 0
            )
        )
    return postures


def grasp_of(
    scene: GraspScene,
    joints: HandJoints,
    posture: SynthesizedPosture,
    object_path: str = "",
    object_scale: float | None = None,
) -> Grasp:
    """Convert a posture for ``write_grasps``, with numbered joints as DexGraspBench has them.

    Args:
        scene: Hand and object.
        joints: Joints of the hand.
        posture: The posture.
        object_path: Directory of the object that the file states.
        object_scale: Factor of the object's file that the file states; by default the scene's.

    Raises:
        DescriptionError: The scales of the object differ along its axes.
    """
    offset = np.eye(4)
    offset[:3, 3] = center_in_file(scene.object.shape)
    hand = pose_of(offset @ np.linalg.inv(posture.pose) @ joints.frame)
    names, scale = numbered(len(joints.names)), object_scale or file_scale(scene.object)
    opened, closed, pressed = (
        HandPosture(
            pose=hand, joints=dict(zip(names, joints.variables(item).tolist(), strict=True))
        )
        for item in (posture.start, posture.targets, posture.squeeze)
    )
    return Grasp(
        name=scene.hand.name,
        object=GraspedObject(name=scene.object.name, mesh=object_path or None, scale=scale),
        pregrasp=opened,
        grasp=closed,
        squeeze=pressed,
    )
