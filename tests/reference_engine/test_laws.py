"""Motions of the reference engine that have closed forms, and conserved quantities."""

from __future__ import annotations

import math

import mujoco
import numpy as np
import pytest

from tests.reference_engine.contact_law import coefficient
from tests.reference_engine.dynamics import ContactDynamics
from tests.reference_engine.pairs import GeomPairs
from tests.reference_engine.rigs import FLOOR, GRAVITY, Bounce, energy, free, law, momentum, rig
from tests.reference_engine.settings import ReferenceSettings

EXACT = {
    "method": "DOP853",
    "rtol": 1e-10,
    "position_tolerance": 1e-13,
    "velocity_tolerance": 1e-11,
}
BALL = 'type="sphere" size="0.03"'
BRICK = 'type="box" size="0.03 0.02 0.01"'
NO_GRAVITY = (0.0, 0.0, 0.0)


def test_an_undamped_bounce_keeps_its_energy():
    dynamics = rig(FLOOR + free(BALL, "0 0 0.032"), law(damping=0.0, friction=0.0), **EXACT)
    before, touched = energy(dynamics, 1e5), False
    for _ in range(30):
        dynamics.advance(1e-3)
        touched |= bool(len(dynamics.touch.points.pair))
        assert energy(dynamics, 1e5) == pytest.approx(before, rel=1e-6)
    assert touched
    assert dynamics.data.qvel[2] > 0.0


@pytest.mark.slow
def test_a_tumbling_brick_keeps_its_energy():
    brick = free(BRICK, "0 0 0.04", "0.9 0.3 0.3 0.1")
    dynamics = rig(FLOOR + brick, law(damping=0.0, friction=0.0), **EXACT)
    dynamics.data.qvel[2:5] = -0.5, 3.0, -2.0
    dynamics.start()
    before = energy(dynamics, 1e5)
    for _ in range(45):
        dynamics.advance(1e-3)
    assert energy(dynamics, 1e5) == pytest.approx(before, rel=1e-6)
    assert np.linalg.norm(dynamics.data.qvel[3:] - [3.0, -2.0, 0.0]) > 1.0  # it has hit the floor


@pytest.mark.slow
def test_a_collision_with_friction_keeps_momentum():
    bodies = free(BRICK, "0 0 0", "0.9 0.3 0.1 0.1") + free(BALL, "0.01 0.005 0.06", mass=0.3)
    dynamics = rig(bodies, law(torsion=0.003), NO_GRAVITY, rtol=1e-7)
    dynamics.data.qvel[:] = [0.1, 0.0, 0.2, 1.0, 2.0, 3.0, 0.0, 0.3, -0.8, 5.0, 0.0, 20.0]
    dynamics.start()
    before, rubbed = momentum(dynamics), 0.0
    for _ in range(20):
        dynamics.advance(1e-3)
        rubbed += float(np.abs(dynamics.touch.forces.friction).sum())
    assert rubbed > 1.0
    assert momentum(dynamics) == pytest.approx(before, abs=1e-8)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("mass", "damping"), [(0.08, 30.0), pytest.param(0.9, 300.0, marks=pytest.mark.slow)]
)
def test_a_ball_bounces_as_a_damped_oscillator(mass, damping):
    speed = 0.1
    expected = Bounce(mass, 1e5, damping, speed)
    dynamics = rig(FLOOR + free(BALL, "0 0 0.03", mass=mass), law(damping=damping), NO_GRAVITY)
    dynamics.data.qvel[2] = -speed
    dynamics.start()
    period, depths, forces = expected.duration / 200.0, [], []
    for _ in range(240):
        dynamics.advance(period)
        depths.append(0.03 - float(dynamics.data.qpos[2]))
        forces.append(float(dynamics.touch.forces.normal.sum()))
    assert max(depths) == pytest.approx(expected.depth, rel=1e-3)
    assert period * np.count_nonzero(forces) == pytest.approx(expected.duration, abs=1.1 * period)
    assert dynamics.data.qvel[2] / speed == pytest.approx(expected.restitution, rel=1e-3)


def test_a_loaded_contact_has_period_and_decrement_of_its_mass():
    stiffness, damping = 1e4, 10.0
    sag = GRAVITY / stiffness
    dynamics = rig(FLOOR + free(BALL, f"0 0 {0.03 - sag - 3e-4}"), law(stiffness, damping))
    heights = [-3e-4]
    for _ in range(150):
        dynamics.advance(1e-3)
        heights.append(float(dynamics.data.qpos[2]) - 0.03 + sag)
    time = 1e-3 * np.arange(151)
    decay = 0.5 * damping
    swing = math.sqrt(stiffness - decay**2)
    wave = np.cos(swing * time) + decay / swing * np.sin(swing * time)
    assert heights == pytest.approx(-3e-4 * np.exp(-decay * time) * wave, abs=3e-4 * 1e-3)


@pytest.mark.slow
def test_a_sliding_block_stops_after_the_distance_of_coulomb():
    dynamics = rig(FLOOR + free(BRICK, "0 0 0.00997547"), law(friction=0.3))
    dynamics.data.qvel[0] = 0.3
    dynamics.start()
    for _ in range(140):
        dynamics.advance(1e-3)
    assert len(dynamics.touch.points.pair) == 4
    assert dynamics.data.qpos[0] == pytest.approx(0.3**2 / (2.0 * 0.3 * GRAVITY), rel=0.01)
    assert abs(dynamics.data.qvel[0]) < 1e-6


def on_slope(fraction: float, friction: float = 0.5) -> float:
    """Speed after 0.05 s of a block on a slope of a fraction of the friction angle's tangent."""
    slope = math.atan(fraction * friction)
    gravity = (GRAVITY * math.sin(slope), 0.0, -GRAVITY * math.cos(slope))
    dynamics = rig(FLOOR + free(BRICK, "0 0 0.00998"), law(friction=friction), gravity)
    for _ in range(50):
        dynamics.advance(1e-3)
    return float(dynamics.data.qvel[0])


@pytest.mark.slow
def test_a_block_sticks_below_the_friction_angle_and_slides_above():
    # under a fraction f of the limit a contact creeps with x·(3 − x²)/2 = f of the stick speed
    x = on_slope(0.95) / 1e-4
    assert 0.5 * x * (3.0 - x * x) == pytest.approx(0.95, rel=1e-3)
    slope = math.atan(1.1 * 0.5)
    gain = GRAVITY * (math.sin(slope) - 0.5 * math.cos(slope))
    assert on_slope(1.1) == pytest.approx(0.05 * gain, rel=0.01)


def test_friction_decreases_to_its_dynamic_coefficient():
    speeds = np.array([0.0, 5e-5, 1e-4, 1e-3, 1.25e-3, 1.5e-3, 1.0])
    item = law(friction=0.5, dynamic=0.3)
    many = type(item)(*(np.repeat(column, len(speeds)) for column in item))
    mu, slope = coefficient(speeds, many)
    assert mu == pytest.approx([0.0, 0.34375, 0.5, 0.5, 0.4, 0.3, 0.3])
    ahead, behind = (coefficient(speeds + step, many)[0] for step in (1e-9, -1e-9))
    assert slope[1] == pytest.approx((ahead - behind)[1] / 2e-9, rel=1e-5)
    assert slope[4] == pytest.approx((ahead - behind)[4] / 2e-9, rel=1e-5)


def test_a_spinning_ball_stops_by_its_moment_about_the_normal():
    torsion, inertia = 0.003, 0.4 * 0.03**2
    dynamics = rig(FLOOR + free(BALL, "0 0 0.0299019"), law(torsion=torsion))
    dynamics.data.qvel[5] = 10.0
    dynamics.start()
    for _ in range(50):
        dynamics.advance(1e-3)
    lost = 0.05 * torsion * GRAVITY / inertia
    assert 10.0 - dynamics.data.qvel[5] == pytest.approx(lost, rel=1e-3)
    for _ in range(100):
        dynamics.advance(1e-3)
    assert abs(dynamics.data.qvel[5]) < 1e-3


# Integration


def thrown(**settings):
    """A capsule thrown on the floor, sliding and rolling over its end: its final state."""
    capsule = free('type="capsule" size="0.01 0.03"', "0 0 0.035", "0.9 0.1 0.4 0", 0.2)
    dynamics = rig(FLOOR + capsule, law(stick=1e-2), **settings)
    dynamics.data.qvel[:3] = 0.3, 0.1, -0.5
    dynamics.start()
    for _ in range(12):
        dynamics.advance(1e-3)
    assert abs(dynamics.data.qvel[0] - 0.3) > 0.05  # it has slid
    return np.concatenate([dynamics.data.qpos, dynamics.data.qvel])


@pytest.mark.slow
def test_tolerances_control_the_error():
    exact = thrown(**EXACT)
    errors = [
        np.abs(thrown(rtol=r, position_tolerance=1e-3 * r, velocity_tolerance=r) - exact).max()
        for r in (1e-4, 1e-6)
    ]
    assert errors[0] < 3e-3
    assert errors[1] < 0.1 * errors[0]


@pytest.mark.slow
def test_implicit_and_explicit_integration_agree():
    tight = {"rtol": 1e-8, "position_tolerance": 1e-11, "velocity_tolerance": 1e-9}
    explicit = thrown(method="DOP853", **tight)
    assert thrown(method="Radau", **tight) == pytest.approx(explicit, abs=1e-6)


@pytest.mark.slow
def test_a_rotated_scene_moves_alike():
    def moved(quaternion):
        w, x, y, z = quaternion
        floor = f'<body quat="{w} {x} {y} {z}">{FLOOR}</body>'
        rotation = np.array(
            [
                [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
                [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
                [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
            ]
        )
        brick = free(BRICK, " ".join(map(str, rotation @ [0.0, 0.0, 0.03])), f"{w} {x} {y} {z}")
        dynamics = rig(floor + brick, law(torsion=0.003), rotation @ [0.0, 0.0, -GRAVITY])
        dynamics.data.qvel[:3] = rotation @ [0.2, 0.1, -0.5]
        dynamics.data.qvel[3:] = 3.0, -2.0, 4.0  # in the frame of the body
        dynamics.start()
        touched = False
        for _ in range(28):
            dynamics.advance(1e-3)
            touched |= bool(len(dynamics.touch.points.pair))
        assert touched
        return rotation.T @ dynamics.data.qpos[:3], dynamics.data.qvel[3:].copy()

    place, spin = moved((1.0, 0.0, 0.0, 0.0))
    other_place, other_spin = moved((0.5, 0.1, -0.7, 0.5))
    assert other_place == pytest.approx(place, abs=1e-6)
    assert other_spin == pytest.approx(spin, abs=1e-3)


# Joints


@pytest.mark.slow
def test_a_motor_presses_a_joint_into_its_limit():
    """At rest the limit gives by the moment over inertia times the square of its rate."""
    model = mujoco.MjModel.from_xml_string(
        """<mujoco><option gravity="0 0 0"/><worldbody><body>
        <joint name="hinge" axis="0 1 0" range="-30 60" limited="true"/>
        <geom type="capsule" size="0.01" fromto="0 0 0 0.1 0 0" mass="0.1"/>
        </body></worldbody>
        <actuator><motor joint="hinge" ctrlrange="-1 1"/></actuator></mujoco>"""
    )
    data = mujoco.MjData(model)
    pairs = GeomPairs(model, np.zeros((0, 2), dtype=int), law())
    dynamics = ContactDynamics(model, data, pairs, ReferenceSettings())
    dynamics.start()
    inertia = np.zeros((1, 1))
    mujoco.mj_fullM(model, data, inertia)
    for moment, limit in ((0.2, math.pi / 3.0), (-0.1, -math.pi / 6.0)):
        data.ctrl[0] = moment
        for _ in range(30):
            dynamics.advance(5e-3)
        assert data.qpos[0] - limit == pytest.approx(moment / (1e6 * inertia[0, 0]), rel=1e-2)


def test_a_prescribed_joint_follows_its_motion_and_throws_what_lies_on_it():
    """A slider that rises with a constant speed throws a ball off as a bounce does."""
    slider = '<body><joint type="slide" axis="0 0 1"/><geom type="box" size="0.1 0.1 0.01"/></body>'
    dynamics = rig(slider + free(BALL, "0 0 0.04", mass=0.9), law(), NO_GRAVITY, prescribed=[0])
    for _ in range(30):
        dynamics.advance(1e-3, np.array([0.1]))
    expected = Bounce(0.9, 1e5, 300.0, 0.1)
    assert dynamics.data.qpos[0] == pytest.approx(0.003, rel=1e-9)
    assert dynamics.data.qvel[3] == pytest.approx(0.1 * (1.0 + expected.restitution), rel=1e-3)
