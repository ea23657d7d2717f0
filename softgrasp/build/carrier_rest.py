"""Where a hand starts that hangs on a hydraulic arm: the arm at rest under both weights."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

import mujoco
import numpy as np
from scipy.optimize import root

from softgrasp.build import names
from softgrasp.build.attached_hand import settle
from softgrasp.build.carried_hand import hand_posture
from softgrasp.build.carrier_model import CarrierRest, Posture
from softgrasp.build.compiling import compiled
from softgrasp.build.hydraulic_carrier import cell_joints, chamber_actuators, hand_on_arm
from softgrasp.description.base import Vec3
from softgrasp.description.hydraulic_carrier import HydraulicCarrier
from softgrasp.description.mechanism import ActuationModel
from softgrasp.description.pose import Pose
from softgrasp.description.scene import GraspScene
from softgrasp.errors import BuildError, SimulationError
from softgrasp.mechanics.transforms import Array, position_of, quaternion_of, transform

LOAD_STEPS, BALANCED = 6, 1e-9
"""Steps in which all loads grow from nothing; largest force left over its stiffness [rad or m]."""
NEAR = 1e-4
"""From so little Newton's method goes on [rad or m]."""
MAX_STEPS = 6
"""Of Newton's method after the search for a rest."""
NUDGE = 1e-6
"""Of a joint, for differences [rad or m]."""


def carrier_rest(scene: GraspScene) -> CarrierRest:
    """The rest of the scene's hydraulic arm, its hand in the posture of the start.

    Raises:
        BuildError: It has no rest, or none that lasts.
    """
    assert isinstance(scene.arm, HydraulicCarrier)  # callers ask for no other
    posture = tuple(hand_posture(scene, scene.start).items())
    pose = scene.hand_pose if scene.arm.base is None else Pose()
    return _rest(scene.mechanism, scene.arm, posture, pose, scene.gravity)


def balanced(off: Callable[[Array, float], Array], count: int, name: str) -> Array:
    """Joints at which a share of all loads leaves no force, as the share grows to one, (count,).

    Args:
        off: From joints and share to forces on the joints over their stiffness, (count,).
        count: Of the joints.
        name: Of the arm, for messages.

    Raises:
        SimulationError: There is no rest.
    """
    solution = np.zeros(count)
    for load_factor in np.linspace(0.0, 1.0, LOAD_STEPS + 1)[1:].tolist():
        solution, worst = _root(off, solution, load_factor)
        for _ in range(MAX_STEPS):
            if worst <= BALANCED or not np.isfinite(worst):
                break
            # forward differences of 'root' may end it a little before the rest
            slopes = _slopes(off, solution, load_factor)
            solution = solution - np.linalg.lstsq(slopes, off(solution, load_factor))[0]
            worst = float(np.abs(off(solution, load_factor)).max())
        if not worst <= BALANCED:
            raise SimulationError(
                f"{name}: expected a rest at {load_factor:.0%} of its loads, found none; the joints are "
                f"{worst:.2g} rad or m off"
            )
    return solution


def _root(
    off: Callable[[Array, float], Array], start: Array, load_factor: float
) -> tuple[Array, float]:
    """Where a function is nothing, and what is left of it there.

    Powell's method is quick and gets stuck now and then, out of the plane and near the limit; the
    one of Levenberg and Marquardt takes three times as long.
    """
    for method in ("hybr", "lm"):
        solution = np.asarray(root(off, start, args=(load_factor,), method=method, tol=1e-13).x)
        worst = float(np.abs(off(solution, load_factor)).max())
        if worst <= NEAR:
            break
    return solution, worst


@lru_cache(maxsize=8)
def _rest(
    mechanism: ActuationModel,
    carrier: HydraulicCarrier,
    posture: Posture,
    pose: Pose,
    gravity: Vec3,
) -> CarrierRest:
    """Solved in the frame of the base: where the hand's pose is given, weight turns with it."""
    spec, _ = hand_on_arm(mechanism, carrier, Pose())
    model = compiled(spec, f"{mechanism.hand.name} on {carrier.name}")
    data = mujoco.MjData(model)
    start = np.array(model.qpos0)
    for name, value in posture:
        start[model.joint(name).qposadr[0]] = value
    data.qpos[:] = settle(model, mechanism.hand, start)
    joints = [model.joint(name) for name in cell_joints(carrier)]
    qpos_addresses = [int(joint.qposadr[0]) for joint in joints]
    freedoms = [int(joint.dofadr[0]) for joint in joints]
    stiffness = np.array([joint.stiffness[0] for joint in joints])
    chambers = [model.actuator(name).id for name in chamber_actuators(carrier)]
    palm = model.body(names.hand_body(mechanism.hand)).id
    hand = transform(pose.position, pose.quaternion)

    def seen() -> Array:
        """The hand in the frame of the base, (4, 4)."""
        return transform(data.xpos[palm], data.xquat[palm])

    def base_rotation() -> Array:
        """Of the base in the world, (3, 3)."""
        if carrier.base is not None:
            return transform(quaternion=carrier.base.quaternion)[:3, :3]
        return np.asarray(hand[:3, :3] @ seen()[:3, :3].T)

    def off(cells: Array, load_factor: float, upright: Array | None = None) -> Array:
        data.qpos[qpos_addresses], data.qvel[:] = cells, 0.0
        data.ctrl[chambers] = load_factor * np.array(carrier.start)
        mujoco.mj_kinematics(model, data)
        base = base_rotation() if upright is None else upright
        model.opt.gravity[:] = load_factor * (base.T @ gravity)
        mujoco.mj_forward(model, data)
        return np.asarray(data.qfrc_smooth[freedoms] / stiffness)

    try:
        solution = balanced(off, len(qpos_addresses), carrier.name)
    except SimulationError as error:
        raise BuildError(f"arm: {error}") from None
    off(solution, 1.0)
    upright, within = base_rotation(), seen()
    _refuse_unstable(lambda cells: off(cells, 1.0, upright) * stiffness, solution, carrier.name)
    base = hand @ np.linalg.inv(within)
    if carrier.base is not None:
        base = transform(carrier.base.position, carrier.base.quaternion)
    at = tuple((joint.name, float(value)) for joint, value in zip(joints, solution, strict=True))
    return CarrierRest(_pose(base), _pose(base @ within), at)


def _slopes(values: Callable[..., Array], at: Array, *extra: float) -> Array:
    """Central differences of values (m,) over their first argument (n,), (m, n)."""
    nudges = NUDGE * np.eye(len(at))
    columns = [(values(at + n, *extra) - values(at - n, *extra)) / (2.0 * NUDGE) for n in nudges]
    return np.stack(columns, axis=1)


def _refuse_unstable(forces: Callable[[Array], Array], rest: Array, name: str) -> None:
    """Refuse a rest from which the arm would fall: its stiffness is not positive."""
    matrix = -_slopes(forces, rest)
    if np.linalg.eigvalsh(0.5 * (matrix + matrix.T)).min() <= 0.0:
        raise BuildError(
            f"arm: expected a rest of {name} that lasts, found one from which it falls; mount it "
            "to hang, or give it less to carry"
        )


def _pose(frame: Array) -> Pose:
    return Pose(position=position_of(frame), quaternion=quaternion_of(frame))
