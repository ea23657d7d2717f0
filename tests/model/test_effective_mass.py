"""Inverse effective mass of contact pairs: on paper, and as the stiffness of contacts at rest."""

from __future__ import annotations

import math
from typing import Any

import mujoco
import numpy as np
import pytest

import softgrasp as sg
from softgrasp.mechanics.contact_stiffness import direct_solref
from softgrasp.mechanics.transforms import Array
from softgrasp.model.contact_pairs import object_pairs
from softgrasp.model.effective_mass import POSTURES, closing_postures, inverse_masses
from tests.support.scenes import ball, pinch

K, D, IMPEDANCE = 1e5, 200.0, 0.001
"""Stiffness [N/m], damping that is set for 300 N·s/m at 1 ms [N·s/m], and impedance [–]."""


@pytest.fixture(scope="module")
def model() -> mujoco.MjModel:
    return sg.compile_model(pinch())


def stiffness_at_rest(model: mujoco.MjModel, data: mujoco.MjData) -> Array:
    """Step to rest and return normal force over penetration of every contact, (nc,) [N/m]."""
    mujoco.mj_step(model, data, 3000)
    assert np.abs(data.qvel).max() < 1e-3
    force, ratios = np.zeros(6), []
    for index, contact in enumerate(data.contact):
        mujoco.mj_contactForce(model, data, index, force)
        assert force[0] > 0.1
        ratios.append(-force[0] / contact.dist)
    return np.array(ratios)


# On paper, and in scenes.


def link(a: float, **changes: Any) -> sg.description.Phalanx:
    base: dict[str, Any] = {"limits": (0.0, 0.1), "mass": 0.02, "armature": 1e-5}
    base |= {"servo_stiffness": 20.0, "force_limit": 5.0, "damping": 0.01}
    return sg.description.Phalanx(**(base | {"a": a} | changes))


def levers(*fingers: tuple[sg.description.Phalanx, ...], **changes: Any) -> sg.GraspScene:
    """Fingers along x that press on a ball above them; the second one from the other side."""
    closing = sg.description.GraspPreset(center=(0, 0, 0), rates=0.5)
    x, radius, gap = 0.1, 0.02, 2e-4
    above = sg.Pose(position=(0, 2 * (0.008 + radius + gap), 0), quaternion=(0, 1, 0, 0))
    hand = sg.Hand(
        name="levers",
        palm=sg.description.Palm(kind="none"),
        fingers=tuple(
            sg.description.Finger(
                name=f"F{index + 1}", base=base, convention="standard", phalanges=rows
            )
            for index, (rows, base) in enumerate(zip(fingers, (sg.Pose(), above), strict=False))
        ),
        grasps=sg.description.Grasps(power=closing, precision=closing),
    )
    position = (x, 0.008 + radius + gap, 0.0)
    base: dict[str, Any] = {"object": ball(radius), "object_position": position}
    return sg.GraspScene(**(base | {"hand": hand, "object_mount": "fixed"} | changes))


@pytest.mark.parametrize("mount", ["fixed", "free"])
def test_solref_has_the_inverse_mass_of_a_lever_with_its_implicit_inertia(mount: str) -> None:
    """A bob of mass m at a distance a: A = a²/(3·I) + 1/m_o, times the ratio with I + h·c + h²·k.

    The engine's estimate of the mobility of a body is the mean over three directions.
    """
    a, mass, k, c, h = 0.1, 0.02, 60.0, 0.02, 1e-3
    bob = sg.Sphere(radius=0.008)
    row = link(a, shape=bob, mass=mass, servo_stiffness=k, damping=c, servo_damping_ratio=0.5)
    row = row.replace(shape_pose=sg.Pose(position=(a, 0, 0)))
    scene = levers((row,), object_mount=mount, timestep=h, closure=sg.PositionIncrementClosure())
    solref = sg.compile_model(scene).pair("F1_P1|object").solref
    inertia = mass * (a**2 + 0.4 * 0.008**2) + 1e-5
    implicit = inertia + h * (c + math.sqrt(k * inertia)) + h**2 * k
    of_ball = 0.0 if mount == "fixed" else 1.0 / (700.0 * 4.0 / 3.0 * math.pi * 0.02**3)
    ratio = (a**2 / implicit + of_ball) / (a**2 / inertia + of_ball)
    inverse_mass = (a**2 / inertia / 3.0 + of_ball) * ratio
    assert ratio < 0.95
    assert solref[0] == pytest.approx(-K * (1.0 - IMPEDANCE) * inverse_mass, rel=1e-4)
    assert solref[1] == pytest.approx(-D * (1.0 - IMPEDANCE) * inverse_mass, rel=1e-4)


def servo_stiffnesses(*gains: float) -> tuple[sg.description.Phalanx, ...]:
    return tuple(link(0.06, servo_stiffness=gain) for gain in gains)


SYNERGY = sg.description.Synergies(
    joints=("F1_J1", "F1_J2"), mean=(0.0, 0.0), matrix=((2.0,), (0.5,))
)
SCENES: dict[str, tuple[sg.GraspScene, float]] = {
    "one servo": (levers((link(0.12),)), 0.05),
    "two servos": (levers(servo_stiffnesses(60.0, 5.0)), 0.05),
    "tendon at its limit": (
        levers(servo_stiffnesses(20.0, 20.0), closure=sg.description.UnderactuatedClosure(
            tension=5.0)), 1.0
    ),
    "soft synergy": (
        levers(servo_stiffnesses(20.0, 20.0), closure=sg.description.SynergyIncrementClosure(
            synergies=SYNERGY, synergy_stiffness=5.0)), 0.05
    ),
    "free ball between two": (
        levers(servo_stiffnesses(20.0, 5.0), servo_stiffnesses(20.0, 5.0), object_mount="free"),
        0.03,
    ),
}  # fmt: skip
"""Scenes, and how far their actuators close."""


@pytest.mark.parametrize("name", SCENES)
def test_contacts_of_a_compiled_scene_have_their_stiffness_without_any_feedback(name: str) -> None:
    scene, target = SCENES[name]
    model = sg.compile_model(scene)
    data = mujoco.MjData(model)
    mujoco.mj_resetDataKeyframe(model, data, 0)
    data.ctrl[:] = np.minimum(target, model.actuator_ctrlrange[:, 1])
    result = stiffness_at_rest(model, data)
    assert len(result) == len(scene.hand.fingers)
    assert result == pytest.approx(K, rel=0.005)


# Models with one implicit term each.

RIG = """<mujoco>
  <option timestep=".001" integrator="discrete" gravity="0 0 0"/>
  <default><geom contype="0" conaffinity="0"/></default>
  <worldbody>
    <body name="base">{carriage}
      <geom size=".005" pos="0 -.05 0" mass=".05"/>
      <body>
        <joint name="one" armature="2e-5" {one}/>
        <geom type="capsule" size=".004" fromto="0 0 0 .06 0 0" mass=".02"/>
        <body pos=".06 0 0">
          <joint name="two" armature="1e-5" {two}/>
          <geom name="tip" size=".005" pos=".04 0 0" mass=".02"/>
        </body>
      </body>
      {beside}
    </body>
    {facing}
  </worldbody>
  <contact>
    <pair name="pair" geom1="tip" geom2="other" condim="1" solimp=".001 .001 .001 .5 2"/>
  </contact>
  <tendon>
    <fixed name="tendon" {tendon}><joint joint="one" coef=".05"/><joint joint="two" coef=".02"/>
    </fixed>
  </tendon>
  <actuator><general {actuator} biastype="affine"/></actuator>
</mujoco>"""
"""Two hinges about z, whose tip presses on a sphere at a long arm."""
SPHERE = '<geom name="other" size=".02" pos=".1 .0251 0" mass=".05"/>'
LEVER = f'<body><joint pos="0 .0251 0" stiffness="50" damping=".01"/>{SPHERE}</body>'
IMPLICIT: dict[str, dict[str, str]] = {
    "springs of joints": {"one": 'stiffness="30" damping=".02"', "two": 'stiffness="1"'},
    "damping of joints": {"one": 'stiffness="10" damping=".03"', "two": 'damping=".005"'},
    "servo of a geared joint": {"actuator": 'joint="two" gear="3" biasprm="0 -5 0"'},
    "velocity gain of a geared joint": {"actuator": 'joint="two" gear="3" biasprm="0 0 -.005"'},
    "spring of a tendon": {"tendon": 'stiffness="8000"'},
    "damping of a tendon": {"tendon": 'damping="10"'},
    "servo of a tendon": {"actuator": 'tendon="tendon" biasprm="0 -8000 -5"'},
    "servo that pulls no more": {
        "actuator": 'tendon="tendon" biasprm="0 -8000 -5" forcelimited="true" forcerange="0 20"'
    },
    "lever on a lever": {"facing": LEVER},
    "two levers on one carriage": {
        "carriage": '<joint type="slide" axis="0 1 0" stiffness="100" damping=".1"/>',
        "beside": LEVER,
        "facing": "",
    },
}


@pytest.mark.parametrize("name", IMPLICIT)
def test_every_term_of_the_implicit_step_is_in_the_inverse_mass(name: str) -> None:
    parts = {"one": 'stiffness="10" damping=".02"', "two": 'stiffness="5" damping=".01"'}
    parts |= {"carriage": "", "beside": "", "facing": SPHERE, "tendon": ""}
    parts |= {"actuator": 'joint="one"'} | IMPLICIT[name]
    model = mujoco.MjModel.from_xml_string(RIG.format(**parts))
    inverse = inverse_masses(model, [("tip", "other")], model.qpos0[None])
    model.pair_solref[:] = direct_solref(K, D, inverse, IMPEDANCE)
    data = mujoco.MjData(model)
    data.qfrc_applied[model.joint("one").dofadr[0]] = 0.1
    data.qfrc_applied[model.joint("two").dofadr[0]] = 0.04
    assert stiffness_at_rest(model, data) == pytest.approx([K], rel=1e-4)


# Integrators and postures.


def test_other_integrators_use_the_estimate_of_the_engine(model: mujoco.MjModel) -> None:
    pairs = object_pairs(model)
    postures = closing_postures(model, pinch(), model.key_qpos[0])
    bodies = [[model.geom(name).bodyid[0] for name in pair] for pair in pairs]
    plain = model.body_invweight0[:, 0][np.array(bodies)].sum(axis=1)
    euler = sg.compile_model(pinch(solver=sg.description.Solver(integrator="euler")))
    assert inverse_masses(euler, pairs, postures) == pytest.approx(plain)
    assert (inverse_masses(model, pairs, postures) <= plain + 1e-12).all()


def test_closing_postures_span_start_and_limits(model: mujoco.MjModel) -> None:
    scene = pinch()
    postures = closing_postures(model, scene, model.key_qpos[0])
    assert postures.shape == (POSTURES, model.nq)
    assert postures[0] == pytest.approx(model.key_qpos[0])
    moving = [r != 0.0 for r in scene.rates]
    joints = [model.joint(f"F{f}_J{j}").qposadr[0] for f in range(1, 5) for j in range(1, 4)]
    ends = [high for (_, high), on in zip(scene.limits, moving, strict=True) if on]
    assert postures[-1][joints][moving] == pytest.approx(ends)


def test_soft_fingers_close_to_their_equilibrium() -> None:
    scene = sg.GraspScene(hand=sg.load_hand("soft_gripper"), object=sg.load_object("sphere"))
    model = sg.compile_model(scene)
    last = closing_postures(model, scene, model.key_qpos[0])[-1]
    finger = scene.hand.soft_fingers[0].finger
    rest = sg.equilibrium(finger, pressure=scene.limits[0][1], gravity=False, error_estimate=False)
    bends = [last[model.joint(f"F1_J{j}").qposadr[0]] for j in range(1, 8)]
    assert bends == pytest.approx(rest.joint_angles.tolist(), rel=1e-9)
