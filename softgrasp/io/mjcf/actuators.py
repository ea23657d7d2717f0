"""Actuators of a MuJoCo model: meaning of targets, joints that they move, closing rates.

An actuator with an affine bias holds a position: gain · target + b0 + b1 · length = 0 at rest.
A force on a tendon of joints with springs, as of a soft finger, is balanced by the springs. Joints
without such an actuator get position servos. Closing rates are reduced where the lag of a servo
behind its target would press too hard after contact.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Literal, NamedTuple

import mujoco
import numpy as np

from softgrasp.description.hand import AddedServo, ModelActuator, Move
from softgrasp.errors import DescriptionError
from softgrasp.io.mjcf.model import MOVING, is_hinge, moments, moving_joints
from softgrasp.io.mjcf.tree import MjcfTree, joint_range
from softgrasp.mechanics.transforms import Array

LAG_FORCE = 6.0
"""Force of the lag at the far end of a finger that should not be exceeded [N]."""
FRACTION_OF_LIMIT = 0.4
"""Fraction of the largest force that the lag should not exceed [–]."""
SLOWEST, FASTEST = 0.25, 1.5
"""Bounds of the factor on synthesized rates [–]."""
TIP_FORCE = 20.0
"""Force of an added servo at the far end of the chain that it moves [N]."""
FULL_FORCE_AT = 7e-3
"""Distance of the far end from its target at which an added servo has its full force [m]."""
MIN_LENGTH = 0.02
"""Smallest length of a moved chain [m]."""
POSITION, SPRUNG, RESTING, UNKNOWN = "position", "sprung", "resting", "unknown"


class Law(NamedTuple):
    """Equilibrium length of an actuator's transmission as a linear function of its target."""

    ratio: float
    at: float


def model_actuators(
    model: mujoco.MjModel, starts: Mapping[str, float]
) -> tuple[list[ModelActuator], list[str]]:
    """Describe actuators except what stops them, from joint starts by name; also assumptions."""
    data = at_start(model, starts)
    arms = moments(model, data)
    actuators, messages = [], []
    for index in range(model.nu):
        name = str(model.actuator(index).name)
        if kind_of(model, index) == POSITION:
            actuator, assumed = _model_actuator(model, data, index, arms[index])
            actuators.append(actuator)
            messages += assumed
        elif kind_of(model, index) == SPRUNG:
            actuators.append(_sprung_actuator(model, index, arms[index]))
        else:
            actuators.append(ModelActuator(actuator=name, limits=(0.0, 0.0)))
    return actuators, messages


def require_servos(
    tree: MjcfTree, followers: Mapping[str, str]
) -> tuple[tuple[AddedServo, ...], list[str]]:
    """Make servos for joints and tendons that no position actuator moves; also messages about them.

    A joint or tendon gets a servo if it only has an actuator without position control, such as a
    motor. If the file has no actuators at all, each joint gets one, unless it has a spring or
    follows another joint.

    Raises:
        DescriptionError: Forces on two tendons move one joint.
    """
    model = tree.model
    led, weak = _joints_by_actuator(model)
    joints = moving_joints(model)
    if model.nu == 0:
        servo_joints = [j for j in joints if spring_of(model, j) == 0.0]
    else:
        servo_joints = [j for j in joints if j in weak and j not in led]
    names = {j: str(model.joint(j).name) for j in joints}
    moved = {names[j] for j in joints if j in led or j in weak} if model.nu else set(names.values())
    follows = {joint for joint, leader in followers.items() if leader in moved}
    servos = tuple(
        _servo(tree, j, names[j], weak.get(j)) for j in servo_joints if names[j] not in follows
    )
    on_tendons = _tendon_servos(tree, led)
    servos += on_tendons
    if not servos:
        return (), []
    parts = ((len(servos) - len(on_tendons), "joints"), (len(on_tendons), "tendons"))
    moved_parts = " and ".join(f"{count} {what}" for count, what in parts if count)
    what = "has no actuators" if model.nu == 0 else f"moves {moved_parts} by force only"
    kept = "" if model.nu == 0 else "; its actuators stay, at zero"
    forces = sorted(servo.force_limit for servo in servos)
    return servos, [
        f"the model {what}: position servos with up to {forces[0]:.3g} … {forces[-1]:.3g} N·m or "
        f"N are added{kept}"
    ]


def pace(tree: MjcfTree, actuators: Sequence[ModelActuator], rates: Sequence[float]) -> float:
    """Compute a common factor of the closing rates of all actuators for the force after contact.

    A position servo lags behind a moving target by its damping and that of its joint; when the
    target stops at contact, the lag becomes a contact force.
    """
    arms = moments(tree.model, at_start(tree.model, tree.starts))
    factors = [
        factor
        for index, (actuator, rate) in enumerate(zip(actuators, rates, strict=True))
        for factor in _factors(tree, index, actuator, rate, arms[index])
    ]
    return float(np.clip(min(factors, default=1.0), SLOWEST, FASTEST))


def press_of(tree: MjcfTree, index: int, actuator: ModelActuator) -> tuple[float, float] | None:
    """Compute the force of an actuator with an index per unit of its target's lead, and per rate.

    The joint with the largest force counts. A servo that stops at contact presses with its
    stiffness times the lead, and with the damping times the rate at which it lagged behind.
    """
    model = tree.model
    kind = kind_of(model, index)
    if not actuator.moves or kind not in (POSITION, SPRUNG):
        return None
    arm = moments(model, at_start(model, tree.starts))[index]
    stiffness, damping = (-float(value) for value in model.actuator_biasprm[index, 1:3])
    gain = abs(float(model.actuator_gainprm[index, 0]))
    forces = []
    for move in actuator.moves:
        joint = model.joint(move.joint).id
        dof = int(model.jnt_dofadr[joint])
        if kind == SPRUNG:
            forces.append((gain * abs(float(arm[dof])) / _reach(tree, joint), 0.0))
            continue
        square, speed = float(arm[dof]) ** 2, abs(move.ratio)
        friction = damping_of(model, dof)
        at_end = speed / _reach(tree, joint)
        forces.append((stiffness * square * at_end, (friction + damping * square) * at_end))
    return max(forces)


def at_start(model: mujoco.MjModel, starts: Mapping[str, float]) -> mujoco.MjData:
    """Return the state with joint variables by name [rad or m]."""
    data = mujoco.MjData(model)
    for name, value in starts.items():
        data.qpos[model.joint(name).qposadr[0]] = value
    return data


# Kinds
def kind_of(model: mujoco.MjModel, index: int) -> str:
    """Classify an actuator: position, force against springs, at rest without a signal, unknown."""
    dynamics = int(model.actuator_dyntype[index])
    kinds = (mujoco.mjtDyn.mjDYN_NONE, mujoco.mjtDyn.mjDYN_FILTER, mujoco.mjtDyn.mjDYN_FILTEREXACT)
    if dynamics not in kinds:
        return UNKNOWN
    is_fixed = int(model.actuator_gaintype[index]) == mujoco.mjtGain.mjGAIN_FIXED
    bias = int(model.actuator_biastype[index])
    if not is_fixed or bias not in (mujoco.mjtBias.mjBIAS_NONE, mujoco.mjtBias.mjBIAS_AFFINE):
        return UNKNOWN
    constant, stiffness = model.actuator_biasprm[index, :2].tolist()
    if bias == mujoco.mjtBias.mjBIAS_NONE:
        return SPRUNG if _is_sprung(model, index) else RESTING
    if stiffness < 0.0 and model.actuator_gainprm[index, 0] != 0.0:
        return POSITION if _transmission(model, index) else UNKNOWN
    return RESTING if constant == 0.0 and stiffness == 0.0 else UNKNOWN


def _is_sprung(model: mujoco.MjModel, index: int) -> bool:
    """Return whether a limited force pulls a fixed tendon whose joints all have springs."""
    joints = _wrap_joints(model, index)
    limited = bool(model.actuator_ctrllimited[index]) and model.actuator_gainprm[index, 0] != 0.0
    return bool(joints) and limited and all(spring_of(model, joint) > 0.0 for joint in joints)


def _wrap_joints(model: mujoco.MjModel, index: int) -> list[int]:
    """Return the joints of the fixed tendon of an actuator; empty for others."""
    if int(model.actuator_trntype[index]) != mujoco.mjtTrn.mjTRN_TENDON:
        return []
    tendon = int(model.actuator_trnid[index, 0])
    first = int(model.tendon_adr[tendon])
    wraps = range(first, first + int(model.tendon_num[tendon]))
    if any(int(model.wrap_type[k]) != mujoco.mjtWrap.mjWRAP_JOINT for k in wraps):
        return []
    return [int(model.wrap_objid[k]) for k in wraps]


def spring_of(model: mujoco.MjModel, joint: int) -> float:
    """Return the linear stiffness of a joint [N·m/rad or N/m]."""
    return float(np.ravel(model.jnt_stiffness[joint])[0])


def damping_of(model: mujoco.MjModel, dof: int) -> float:
    """Return the linear damping of a degree of freedom [N·m·s/rad or N·s/m]."""
    return float(np.ravel(model.dof_damping[dof])[0])


def law_of(model: mujoco.MjModel, index: int) -> Law:
    """Return the equilibrium length of a position actuator as a linear function of its target."""
    gain = float(model.actuator_gainprm[index, 0])
    constant, stiffness = model.actuator_biasprm[index, :2].tolist()
    return Law(gain / -stiffness, constant / -stiffness)


def _transmission(model: mujoco.MjModel, index: int) -> str:
    """Return the transmission: ``joint``, ``tendon``, or empty if closures do not support it."""
    kind, target = int(model.actuator_trntype[index]), int(model.actuator_trnid[index, 0])
    if kind in (mujoco.mjtTrn.mjTRN_JOINT, mujoco.mjtTrn.mjTRN_JOINTINPARENT):
        return "joint" if int(model.jnt_type[target]) in MOVING else ""
    return "tendon" if kind == mujoco.mjtTrn.mjTRN_TENDON else ""


# Moves and limits
def _model_actuator(
    model: mujoco.MjModel, data: mujoco.MjData, index: int, arm: Array
) -> tuple[ModelActuator, list[str]]:
    name, law = str(model.actuator(index).name), law_of(model, index)
    length = float(data.actuator_length[index])
    joints = _levers(model, arm)
    square = sum(lever * lever for lever in joints.values())
    moves = tuple(_move(model, data, j, lever / square, law, length) for j, lever in joints.items())
    limits, assumed = _limits(model, index, joints, law, length, data)
    start = min(max((length - law.at) / law.ratio, limits[0]), limits[1])
    unit: Literal["rad", "m", ""] = ""
    if len(moves) == 1 and moves[0].ratio == 1.0 and moves[0].at == 0.0:
        unit = "rad" if is_hinge(model, next(iter(joints))) else "m"
    return ModelActuator(actuator=name, unit=unit, limits=limits, start=start, moves=moves), assumed


def _levers(model: mujoco.MjModel, arm: Array) -> dict[int, float]:
    """Return the moment arms of an actuator by joint."""
    joints = {int(model.dof_jntid[dof]): float(arm[dof]) for dof in np.flatnonzero(arm)}
    return {joint: lever for joint, lever in joints.items() if int(model.jnt_type[joint]) in MOVING}


def _sprung_actuator(model: mujoco.MjModel, index: int, arm: Array) -> ModelActuator:
    """Describe a force that springs balance: q = rest angle + gain · arm · signal / stiffness."""
    gain, moves = float(model.actuator_gainprm[index, 0]), []
    for joint in _wrap_joints(model, index):
        lever = float(arm[int(model.jnt_dofadr[joint])])
        if lever and int(model.jnt_type[joint]) in MOVING:
            rest = float(model.qpos_spring[model.jnt_qposadr[joint]])
            name, ratio = str(model.joint(joint).name), gain * lever / spring_of(model, joint)
            moves.append(Move(joint=name, ratio=ratio, at=rest))
    low, high = model.actuator_ctrlrange[index].tolist()
    start = min(max(0.0, low), high)
    name = str(model.actuator(index).name)
    return ModelActuator(actuator=name, limits=(low, high), start=start, moves=tuple(moves))


def _move(
    model: mujoco.MjModel, data: mujoco.MjData, joint: int, weight: float, law: Law, length: float
) -> Move:
    """Return a joint variable at equilibrium as a linear function of the target.

    Several joints move in proportion to their moment arms, the smallest displacement.
    """
    value = float(data.qpos[model.jnt_qposadr[joint]])
    at = value + weight * (law.at - length)
    ratio = weight * law.ratio
    name = str(model.joint(joint).name)
    if not (math.isfinite(ratio) and math.isfinite(at)):
        raise DescriptionError(
            f"joint '{name}': expected a finite motion per control, found {at:g}"
        )
    return Move(joint=name, ratio=_round(ratio), at=_round(at, abs(length) + abs(law.at)))


def _round(value: float, scale: float = 1.0) -> float:
    """Remove rounding errors of a plain servo, whose ratio is one and whose offset is zero."""
    nearest = float(round(value))
    return nearest if abs(value - nearest) < 1e-12 * max(1.0, scale) else value


def _limits(
    model: mujoco.MjModel,
    index: int,
    joints: Mapping[int, float],
    law: Law,
    length: float,
    data: mujoco.MjData,
) -> tuple[tuple[float, float], list[str]]:
    """Return the range of targets, from the joint ranges if the file has none."""
    if model.actuator_ctrllimited[index]:
        low, high = model.actuator_ctrlrange[index].tolist()
        return (low, high), []
    lowest, highest = _length_range(model, joints, length, data)
    low, high = sorted((end - law.at) / law.ratio for end in (lowest, highest))
    name = str(model.actuator(index).name)
    message = f"actuator '{name}' has no ctrlrange; its joints' ranges give {low:.4g} … {high:.4g}"
    return (low, high), [message]


def _length_range(
    model: mujoco.MjModel, joints: Mapping[int, float], length: float, data: mujoco.MjData
) -> tuple[float, float]:
    """Return the range of a length from the ranges of the joints that change it."""
    ends = [[length, length]]
    for joint, lever in joints.items():
        value = float(data.qpos[model.jnt_qposadr[joint]])
        ends.append(sorted(lever * (limit - value) for limit in joint_range(model, joint)))
    lowest, highest = np.sum(ends, axis=0).tolist()
    return lowest, highest


# Added servos
def _joints_by_actuator(model: mujoco.MjModel) -> tuple[set[int], dict[int, int]]:
    """Return joints by position actuator, and other actuators by joint."""
    led: set[int] = set()
    weak: dict[int, int] = {}
    arms = moments(model, mujoco.MjData(model))
    for index in range(model.nu):
        for dof in np.flatnonzero(arms[index]):
            joint = int(model.dof_jntid[dof])
            if kind_of(model, index) == POSITION:
                led.add(joint)
            elif _transmission(model, index) == "joint":
                weak[joint] = index
    return led, weak


def _tendon_servos(tree: MjcfTree, led: set[int]) -> tuple[AddedServo, ...]:
    """Make a servo of the length of each tendon that only forces move, such as those of motors."""
    model = tree.model
    data = at_start(model, tree.starts)
    arms = moments(model, data)
    servos: dict[int, AddedServo] = {}
    moved: dict[int, str] = {}
    for index in range(model.nu):
        if kind_of(model, index) != RESTING or _transmission(model, index) != "tendon":
            continue
        tendon, gear = int(model.actuator_trnid[index, 0]), float(model.actuator_gear[index, 0])
        levers = _levers(model, arms[index] / gear) if gear else {}
        if tendon in servos or not levers or led & levers.keys():
            continue
        name = str(model.tendon(tendon).name)
        for joint in levers.keys() & moved.keys():
            raise DescriptionError(
                f"expected forces that move different joints, found tendons '{moved[joint]}' and "
                f"'{name}' on joint '{model.joint(joint).name}'; use <position tendon> in a copy "
                "of the file",
                field=f"actuator '{model.actuator(index).name}'",
            )
        moved |= dict.fromkeys(levers, name)
        servos[tendon] = _tendon_servo(tree, index, name, levers, data)
    return tuple(servos.values())


def _tendon_servo(
    tree: MjcfTree, index: int, name: str, levers: Mapping[int, float], data: mujoco.MjData
) -> AddedServo:
    """Make the servo of a tendon; arguments as in ``_servo``, and the moment arms by joint."""
    model, tendon = tree.model, int(tree.model.actuator_trnid[index, 0])
    per_end = min(
        abs(lever) / max(_reach(tree, joint, MIN_LENGTH), MIN_LENGTH)
        for joint, lever in levers.items()
    )
    low, high = _force_range(model, index)
    limit = max(-low, high) or TIP_FORCE / per_end
    actuator = f"{name}_servo"
    while actuator in {str(model.actuator(k).name) for k in range(model.nu)}:
        actuator += "_"
    return AddedServo(
        joint=name,
        on_tendon=True,
        pulls_only=low < 0.0 == high,
        actuator=actuator,
        limits=_length_range(model, levers, float(data.ten_length[tendon]), data),
        stiffness=limit / (FULL_FORCE_AT * per_end),
        force_limit=limit,
    )


def _force_range(model: mujoco.MjModel, index: int) -> tuple[float, float]:
    """Return the lowest and highest force of a motor on its tendon; zeros without limits."""
    gear, ends = float(model.actuator_gear[index, 0]), []
    if model.actuator_forcelimited[index]:
        ends.append(model.actuator_forcerange[index])
    motor = int(model.actuator_biastype[index]) == mujoco.mjtBias.mjBIAS_NONE
    if motor and model.actuator_ctrllimited[index]:
        ends.append(model.actuator_ctrlrange[index] * model.actuator_gainprm[index, 0])
    ranges = np.sort(np.array(ends).reshape(-1, 2) * gear, axis=1)
    if not len(ranges):
        return (0.0, 0.0)
    return float(ranges[:, 0].max()), float(ranges[:, 1].min())


def _servo(tree: MjcfTree, joint: int, name: str, weak: int | None) -> AddedServo:
    model = tree.model
    reach = max(_reach(tree, joint, MIN_LENGTH), MIN_LENGTH)
    stroke = FULL_FORCE_AT / reach
    limit = _read_limit(model, joint, weak) or TIP_FORCE * reach
    taken = {model.actuator(i).name for i in range(model.nu)}
    return AddedServo(
        joint=name,
        actuator=name if name not in taken else f"{name}_servo",
        limits=joint_range(model, joint),
        stiffness=limit / stroke,
        force_limit=limit,
    )


def _read_limit(model: mujoco.MjModel, joint: int, weak: int | None) -> float:
    """Return the largest torque or force that the file allows a joint; zero without a limit."""
    limits = []
    if model.jnt_actfrclimited[joint]:
        limits.append(float(np.abs(model.jnt_actfrcrange[joint]).max()))
    if weak is not None:
        gear = abs(float(model.actuator_gear[weak, 0]))
        if model.actuator_forcelimited[weak]:
            limits.append(gear * float(np.abs(model.actuator_forcerange[weak]).max()))
        motor = int(model.actuator_biastype[weak]) == mujoco.mjtBias.mjBIAS_NONE
        if motor and model.actuator_ctrllimited[weak]:
            gain = abs(float(model.actuator_gainprm[weak, 0]))
            limits.append(gear * gain * float(np.abs(model.actuator_ctrlrange[weak]).max()))
    return min(limits, default=0.0)


# Closing rates
def _factors(
    tree: MjcfTree, index: int, actuator: ModelActuator, rate: float, arm: Array
) -> list[float]:
    """Return rate factors of the joints that an actuator moves."""
    model, factors = tree.model, []
    for move in actuator.moves if rate else ():
        joint = model.joint(move.joint).id
        dof, speed = int(model.jnt_dofadr[joint]), abs(move.ratio * rate)
        arm_length, bias = abs(float(arm[dof])), float(model.actuator_biasprm[index, 2])
        lag = (damping_of(model, dof) - bias * arm_length * arm_length) * speed
        allowed = min(
            LAG_FORCE * _reach(tree, joint),
            FRACTION_OF_LIMIT * _limit(model, index, joint, arm_length),
        )
        if lag > 0.0:
            factors.append(allowed / lag)
    return factors


def _reach(tree: MjcfTree, joint: int, default: float = 0.1) -> float:
    """Return the distance from a joint to the end of the chain that it moves [m]; 1 for a slide."""
    if not is_hinge(tree.model, joint):
        return 1.0
    anchor, tips = tree.data.xanchor[joint], tree.tips
    groups = tree.below(int(tree.model.jnt_bodyid[joint]))
    reaches = (float(np.linalg.norm(tips[g] - anchor)) for g in groups if g in tips)
    return max(reaches, default=default)


def _limit(model: mujoco.MjModel, index: int, joint: int, arm: float) -> float:
    """Largest torque or force of an actuator at a joint; infinite without a limit."""
    limits = [np.inf]
    if model.actuator_forcelimited[index]:
        limits.append(arm * float(np.abs(model.actuator_forcerange[index]).max()))
    if model.jnt_actfrclimited[joint]:
        limits.append(float(np.abs(model.jnt_actfrcrange[joint]).max()))
    return float(min(limits))
