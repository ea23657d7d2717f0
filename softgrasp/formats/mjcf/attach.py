"""A model of MJCF below a body of a scene, its own names, actuators and tendons kept."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager

import mujoco

from softgrasp.description.geometry import Pose
from softgrasp.description.hand import AddedServo
from softgrasp.formats.mjcf.read import SourceModel

BOTH_GROUP, SEEN_GROUP, TOUCHED_GROUP = 0, 2, 3
"""Groups of geoms: both seen and touched, only seen, only touched."""


def attach(
    spec: mujoco.MjSpec,
    source: SourceModel,
    carrier: mujoco.MjsBody,
    pose: Pose,
    servos: tuple[AddedServo, ...] = (),
) -> None:
    """Hang a model on a body.

    Every geom goes to the group of what is done with it: seen, touched, or both. Which geoms can
    touch is what the file says by ``contype`` and ``conaffinity``.

    Args:
        spec: The scene; to be copied before it is compiled, as MuJoCo would warn of what holds
            only for models that are saved without their defaults.
        source: The model.
        carrier: The body that carries it.
        pose: The world of the file in the carrier's frame.
        servos: To be added behind the file's own actuators.
    """
    child = source.spec.copy()
    _sort_geoms(child)
    frame = carrier.add_frame(pos=list(pose.position), quat=list(pose.quaternion))
    with _quiet():
        spec.attach(child, frame=frame, prefix=source.prefix)
    for servo in servos:
        actuator = spec.add_actuator(
            name=servo.actuator,
            target=servo.joint,
            trntype=mujoco.mjtTrn.mjTRN_JOINT,
            ctrlrange=list(servo.limits),
            ctrllimited=True,
            forcerange=[-servo.force_limit, servo.force_limit],
            forcelimited=True,
        )
        actuator.set_to_position(kp=servo.stiffness, dampratio=servo.damping_ratio)


def can_touch(geom: mujoco.MjsGeom) -> bool:
    """Whether a geom takes part in contacts."""
    return bool(geom.contype or geom.conaffinity)


def _sort_geoms(child: mujoco.MjSpec) -> None:
    paired = {name for pair in child.pairs for name in (pair.geomname1, pair.geomname2)}
    for body in child.bodies:
        geoms = list(body.geoms)
        touching = [can_touch(geom) or geom.name in paired for geom in geoms]
        is_visual = not all(touching)
        for geom, touches in zip(geoms, touching, strict=True):
            if touches:
                geom.group = TOUCHED_GROUP if is_visual else BOTH_GROUP
            else:
                geom.group = SEEN_GROUP


@contextmanager
def _quiet() -> Iterator[None]:
    """Keep back what MuJoCo says of options that differ; ``conflicts`` tells it."""
    before = mujoco.get_mju_user_warning()
    mujoco.set_mju_user_warning(lambda _message: None)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        mujoco.set_mju_user_warning(before)
