"""Check before a run whether the hand can close on the object at all.

``closing_obstacle`` reports hands without a closing rate, and objects out of reach of every moving
link. Such a run stops before anything moves, with the outcome NOT_CLOSED. The checks are necessary
conditions: where they do not apply, the run decides.
"""

from __future__ import annotations

from typing import NamedTuple

import mujoco
import numpy as np
from numpy.typing import NDArray

from softgrasp.description.arm import HandCarrier
from softgrasp.description.scene import GraspScene
from softgrasp.description.task import PreshapePhase
from softgrasp.mechanics.transforms import Array
from softgrasp.model import names
from softgrasp.model.compile import scratch_data
from softgrasp.model.contact_pairs import object_pairs
from softgrasp.model.scene import CompiledScene


def closing_obstacle(built: CompiledScene) -> str:
    """Return why the hand cannot close on the object; empty where it may.

    Args:
        built: The compiled scene at its start.
    """
    scene, model = built.scene, built.model
    if scene.duration is not None:  # a run of a requested time is simulated
        return ""
    shaped = any(isinstance(phase, PreshapePhase) for phase in scene.sequence)
    if shaped or isinstance(scene.arm, HandCarrier) or not built.bodies:
        return ""
    data = scratch_data(model)
    mujoco.mj_resetDataKeyframe(model, data, 0)
    mujoco.mj_fwdPosition(model, data)
    pairs = [] if model.nflex else object_pairs(model)
    geoms = _Geoms(_ids(model, [item for item, _ in pairs]), _ids(model, [two for _, two in pairs]))
    if not pairs or _in_contact(data, geoms):
        return ""
    if not any(scene.rates):
        return _no_rates(scene)
    falls = any(scene.gravity) and scene.object_mount != "fixed" and scene.table is None
    if scene.sequence or falls or scene.objects:
        return ""
    return _out_of_reach(scene, model, data, geoms)


Indices = NDArray[np.int64]


class _Geoms(NamedTuple):
    """Geoms of the hand that can touch the object, and of the object."""

    hand: Indices
    object: Indices


def _ids(model: mujoco.MjModel, geoms: list[str]) -> Indices:
    return np.array([model.geom(name).id for name in dict.fromkeys(geoms)], dtype=np.int64)


def _in_contact(data: mujoco.MjData, geoms: _Geoms) -> bool:
    of_hand, of_object = (np.isin(data.contact.geom, side) for side in geoms)
    return bool((of_hand.any(axis=-1) & of_object.any(axis=-1)).any())


def _no_rates(scene: GraspScene) -> str:
    return (
        f"expected a closing rate other than zero in the {scene.grasp} grasp of "
        f"'{scene.hand.name}', found zero for all {len(scene.rates)} actuators; set "
        f"closure.rates (--set closure.rates=1) or grasps.{scene.grasp}.rates of the hand"
    )


def _out_of_reach(
    scene: GraspScene, model: mujoco.MjModel, data: mujoco.MjData, geoms: _Geoms
) -> str:
    """Return the distance that is missing where no moving link can reach the object."""
    centre, radius = _object_sphere(model, data, geoms.object)
    joints = {int(model.joint(name).id) for name in names.joint_names(scene.hand)}
    reaches = (_reach(model, data, geom, joints) for geom in geoms.hand.tolist())
    gaps = [
        float(np.linalg.norm(centre - reach[0])) - radius - reach[1]
        for reach in reaches
        if reach is not None
    ]
    if not gaps:
        return f"no link of '{scene.hand.name}' that can touch the object moves with a joint"
    if min(gaps) <= 0.0:
        return ""
    return (
        f"the object is out of reach: {1e3 * min(gaps):.3g} mm farther than any link comes; "
        "another position (--position, in m; object_position of the scene) is needed"
    )


def _reach(
    model: mujoco.MjModel, data: mujoco.MjData, geom: int, joints: set[int]
) -> tuple[Array, float] | None:
    """Return the first joint's anchor and a bound of a geom's distance from it; None if fixed."""
    body, end = int(model.geom_bodyid[geom]), data.geom_xpos[geom]
    length, anchor = float(model.geom_rbound[geom]), None
    while body:
        first = int(model.body_jntadr[body])
        for joint in reversed(range(first, first + int(model.body_jntnum[body]))):
            if joint not in joints:
                continue
            anchor = data.xanchor[joint].copy()
            length += float(np.linalg.norm(end - anchor))
            if model.jnt_type[joint] == mujoco.mjtJoint.mjJNT_SLIDE:
                low, high = model.jnt_range[joint]
                length += float(high - low) if model.jnt_limited[joint] else np.inf
            end = anchor
        body = int(model.body_parentid[body])
    return None if anchor is None else (anchor, length)


def _object_sphere(
    model: mujoco.MjModel, data: mujoco.MjData, geoms: Indices
) -> tuple[Array, float]:
    """Return centre and radius of a sphere around the object [m], world frame."""
    centre = data.geom_xpos[geoms].mean(axis=0)
    distances = np.linalg.norm(data.geom_xpos[geoms] - centre, axis=1)
    return centre, float((distances + model.geom_rbound[geoms]).max())
