"""Public yardsticks of grasp contact: critical friction, force balance, creep of a pinched capsule.

- Motphys, "Grasp Contact Mechanics Benchmark", MotrixSim documentation: the factor of the critical
  friction m·g/ΣN from which an object is held, and balance and jitter of forces in the hold.
- mujoco issue 3328: creep of a pinched capsule of 45 g under gravity.
"""

import math
from functools import cache
from typing import Any, NamedTuple

import mujoco
import numpy as np

import softgrasp as sg
from softgrasp.mechanics.transforms import Array
from tests.support.jaw import cube, in_jaw
from tests.support.pads import pads

G = 9.81
FACTORS = (0.90, 0.98, 1.00, 1.02, 1.10)
"""Friction over critical friction; at 1 the load is the limit itself, which friction bears."""
FRICTIONS = (0.02, 0.1, 0.3, 0.6, 0.9)
MASSES = (0.064, 3.0)
"""A light cube, that of the published table, and a heavy one [kg]."""
HANDS = ("jaw", "pads", "two_finger_planar")
PLANAR_HEIGHT = -0.0890853565
"""Height of a cube of 40 mm in ``two_finger_planar`` whose centre both tips touch [m]."""
SLID, SHORTEST, LONGEST = 0.02, 0.3, 5.0
"""Slide at a factor of 0.98 for which the test lasts [m], and its shortest and longest time [s]."""


def squeezed(hand: str, mass: float, friction: float, **changes: Any) -> sg.GraspScene:
    """A cube whose contact normals are all along x, through its centre."""
    base: dict[str, Any] = {"contact": sg.Contact(static_friction=friction)} | changes
    if hand == "jaw":
        return in_jaw(cube(mass), **base)
    if hand == "pads":
        edge = sg.GraspObject(name="cube", shape=sg.Cuboid(size=(0.06,) * 3), mass=mass)
        return pads(2, **(base | {"object": edge}))
    shipped = sg.load_hand(hand)
    still = {"object_position": (0.0, 0.0, PLANAR_HEIGHT), "object_euler": (0.0, 0.0, 0.0)}
    return sg.GraspScene(**({"hand": shipped, "object": cube(mass), "grasp": "precision"}
                            | still | base))  # fmt: skip


@cache
def grip(hand: str, mass: float, friction: float) -> float:
    """Return ΣN of the closed grasp [N]."""
    result = sg.simulate(squeezed(hand, mass, friction), quality_rate=None)
    return float(result.normal_force[-1].sum())


def at_factor(
    hand: str, mass: float, friction: float, factor: float, **changes: Any
) -> sg.GraspResult:
    """Simulate a hold test whose critical friction m·a/ΣN is the friction over a factor.

    The load acts across the planes in which fingers move, so that it does not change ΣN.
    """
    load = friction * grip(hand, mass, friction) / (factor * mass)
    across = (0.0, -load, 0.0) if hand == "two_finger_planar" else (0.0, 0.0, -load)
    time = min(max(math.sqrt(2.0 * SLID / (0.02 * load)), SHORTEST), LONGEST)
    test = sg.SuccessCriterion(gravity=across, hold_time=time)
    return sg.simulate(squeezed(hand, mass, friction, success=test, **changes), quality_rate=None)


def is_right(result: sg.GraspResult, factor: float) -> bool:
    """Return whether Coulomb's law agrees: held from a factor of 1 on, and lost below."""
    lost = ("DROPPED", "SLIPPING", "SHIFTED")
    return result.outcome.name == "HELD" if factor >= 1.0 else result.outcome.name in lost


class Balance(NamedTuple):
    """Forces on a held object under gravity, from every physics step of a hold."""

    error: float
    """Mean of \\|ΣF_z − m·g\\| [N]."""
    vertical_jitter: float
    """Standard deviation of the change of ΣF_z from step to step [N]."""
    normal_jitter: float
    """The same of ΣN [N]."""


def force_balance(scene: sg.GraspScene) -> Balance:
    """Replay a closure's targets in the compiled model, and hold for a second under gravity."""
    targets = sg.simulate(scene, quality_rate=None).joint_target
    model = sg.compile_model(scene)
    data = mujoco.MjData(model)
    mujoco.mj_resetDataKeyframe(model, data, 0)
    substeps = max(round(scene.control_period / model.opt.timestep), 1)
    for target in targets:
        data.ctrl[:] = target
        mujoco.mj_step(model, data, substeps)
    model.opt.gravity[:] = (0.0, 0.0, -G)
    second = round(1.0 / model.opt.timestep)
    mujoco.mj_step(model, data, 2 * second)
    rows = np.array([_stepped_forces(model, data) for _ in range(second)])
    weight = G * float(model.body_subtreemass[model.body("object").id])
    jitter = np.diff(rows, axis=0).std(axis=0)
    return Balance(float(np.abs(rows[:, 0] - weight).mean()), *map(float, jitter))


def _stepped_forces(model: mujoco.MjModel, data: mujoco.MjData) -> Array:
    """Step once; return ΣF_z and ΣN of all contacts with the object, (2,) [N]."""
    mujoco.mj_step(model, data)
    body, total, wrench = model.body("object").id, np.zeros(2), np.zeros(6)
    for index in range(data.ncon):
        contact = data.contact[index]
        mujoco.mj_contactForce(model, data, index, wrench)
        sign = 1.0 if model.geom_bodyid[contact.geom2] == body else -1.0
        total += (sign * (contact.frame.reshape(3, 3).T @ wrench[:3])[2], wrench[0])
    return total


ROD = 0.045
"""Mass of the capsule [kg]."""


def pinched_capsule() -> sg.GraspScene:
    """The capsule of mujoco issue 3328 between two plates, under gravity in the test."""
    capsule = sg.description.Capsule(radius=0.004, length=0.04)
    return in_jaw(
        sg.GraspObject(name="rod", shape=capsule, mass=ROD),
        object_euler=(math.pi / 2.0, 0.0, 0.0),
        contact=sg.Contact(static_friction=0.7, torsional_friction=0.005),
        success=sg.SuccessCriterion(hold_time=2.5),
    )


def creep(result: sg.GraspResult) -> float:
    """Return the mean downward speed over the last two seconds [m/s]."""
    late = int(np.searchsorted(result.time, result.time[-1] - 2.0))
    return float(result.object_position[late, 2] - result.object_position[-1, 2]) / 2.0


STOCK = """<mujoco><option timestep="0.002" cone="elliptic" impratio="{impratio}"/><worldbody>
<body pos="-0.0125 0 0"><joint name="left" type="slide" axis="1 0 0" damping="100"/>
<geom type="box" size=".008 .03 .02" mass=".2" friction=".7 .005 .0001"/></body>
<body pos="0.0125 0 0"><joint name="right" type="slide" axis="-1 0 0" damping="100"/>
<geom type="box" size=".008 .03 .02" mass=".2" friction=".7 .005 .0001"/></body>
<body name="rod"><freejoint/><geom type="capsule" size=".004" fromto="0 -.02 0 0 .02 0"
mass="{mass}" friction=".7 .005 .0001"/></body></worldbody><actuator>
<position joint="left" kp="{kp}"/><position joint="right" kp="{kp}"/></actuator></mujoco>"""
"""The documented recipe of MuJoCo for the same capsule; the pads close 2 mm beyond its surface."""


def stock_capsule(impratio: float = 10.0, kp: float = 1e4) -> tuple[float, float]:
    """Return creep [m/s] and force of a pad [N] of the capsule in plain MuJoCo."""
    model = mujoco.MjModel.from_xml_string(STOCK.format(impratio=impratio, kp=kp, mass=ROD))
    data = mujoco.MjData(model)
    data.ctrl[:] = 0.0025
    mujoco.mj_step(model, data, 250)
    before, force = float(data.body("rod").xpos[2]), float(data.actuator_force[0])
    mujoco.mj_step(model, data, 1000)
    return (before - float(data.body("rod").xpos[2])) / 2.0, force


def stiff_pads() -> sg.GraspScene:
    """Pads with servos of 2e5 N/m that press 0.5 kg with a grip force of 2 N each."""
    scene = pads(2, object=sg.GraspObject(name="cube", shape=sg.Cuboid(size=(0.06,) * 3), mass=0.5))
    fingers = tuple(
        finger.replace(phalanges=(finger.phalanges[0].replace(servo_stiffness=2e5),))
        for finger in scene.hand.fingers
    )
    hand = scene.hand.replace(fingers=fingers)
    return scene.replace(hand=hand, closure=sg.PositionIncrementClosure(grip_force=2.0))


def at_published(factor: float, **changes: Any) -> sg.GraspResult:
    """Simulate the published cube of 64 g under gravity, held for 5 s at a factor of m·g/ΣN."""
    mass = MASSES[0]
    friction = factor * mass * G / grip("jaw", mass, mass * G / 36.0)
    test = sg.SuccessCriterion(hold_time=LONGEST)
    scene = squeezed("jaw", mass, friction, success=test, **changes)
    return sg.simulate(scene, quality_rate=None)
