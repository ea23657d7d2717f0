"""Contacts mean what they say: stiffness in N/m, friction, creep, and steps that honour them."""

from __future__ import annotations

import math
from typing import Any

import mujoco
import numpy as np
import pytest

import softgrasp as sg
from softgrasp.pipeline import compile_scene
from softgrasp.sim.contacts import ContactReader, object_reach
from softgrasp.sim.hold_test import gravity_steps
from tests.conftest import Golden
from tests.support.scenes import ball, pinch, plate

DENSITIES = (160.0, 700.0, 2300.0, 7860.0, 19250.0)
"""Balsa, fir, chalk, steel and gold (paper 004, §3.2) [kg/m³]."""
CONTACTS = (
    sg.Contact(stiffness=1e4, damping=100),
    sg.Contact(stiffness=1e5, damping=300),
    sg.Contact(stiffness=1e6, damping=1000),
)
G = 9.81


def still(duration: float) -> dict[str, float]:
    return {"duration": duration}


@pytest.mark.parametrize("density", DENSITIES)
@pytest.mark.parametrize("contact", CONTACTS, ids=lambda contact: f"{contact.stiffness:g}")
def test_a_sphere_rests_its_weight_over_stiffness_deep(contact: sg.Contact, density: float) -> None:
    radius = 0.03
    result = sg.simulate(plate(ball(radius, density), radius, contact=contact, **still(1.0)))
    weight = density * 4 / 3 * math.pi * radius**3 * G
    depth = radius - result.object_position[-1, 2]
    assert depth == pytest.approx(weight / contact.stiffness, rel=0.03)
    assert result.normal_force[-1].sum() == pytest.approx(weight, rel=0.03)


@pytest.mark.parametrize("density", DENSITIES[:4])
def test_stiffness_in_a_servo_grasp_is_as_requested(density: float) -> None:
    result = sg.simulate(pinch(object=ball(density=density)))
    measured = result.contact_model.measured_stiffness_N_m
    assert len(measured) == 4
    for pair, stiffness in measured.items():
        assert stiffness == pytest.approx(1e5, rel=0.005), pair


@pytest.mark.parametrize("mount", ["free", "fixed"])
def test_stiffness_in_a_prescribed_grasp_is_exact(mount: str) -> None:
    result = sg.simulate(pinch(actuation="prescribed", object_mount=mount))
    assert len(result.contact_model.measured_stiffness_N_m) == 4
    for stiffness in result.contact_model.measured_stiffness_N_m.values():
        assert stiffness == pytest.approx(1e5, rel=5e-3)


def test_a_stiffness_that_is_off_is_reported() -> None:
    light = sg.simulate(pinch(object=ball().weighing(mass=1e-5)))
    assert len(light.warnings) == 3  # the third is that of its peak
    assert light.warnings[0].startswith("object 'ball': a density of 0.08842 kg/m³ is that of no ")
    assert light.warnings[1].startswith(
        "contact stiffness at the end: 4 of 4 pairs are more than 5% from the set 100000 N/m"
    )


def box(density: float = 700.0) -> sg.GraspObject:
    return sg.GraspObject(name="box", shape=sg.Cuboid(size=(0.06, 0.06, 0.03)), density=density)


def pushed(fraction: float, contact: sg.Contact, hold_time: float = 0.3) -> sg.GraspResult:
    """A box that rests on a table, and is then pushed sideways by a share of its weight."""
    push = sg.SuccessCriterion(gravity=(fraction * G, 0.0, -G), ramp_time=0.1, hold_time=hold_time)
    return sg.simulate(plate(box(), 0.015, contact=contact, success=push, duration=0.2))


STICK_SLIP = sg.Contact(static_friction=0.5, dynamic_friction=0.3)


@pytest.mark.slow
def test_it_breaks_away_at_the_static_coefficient() -> None:
    stuck, loose = (pushed(0.5 * factor, STICK_SLIP) for factor in (0.95, 1.05))
    assert abs(stuck.object.displacement_m[0]) < 1e-4
    assert loose.object.displacement_m[0] > 0.05


def test_it_slides_with_the_dynamic_coefficient() -> None:
    result = pushed(0.8, STICK_SLIP)
    late = slice(-250, None)
    velocity = np.gradient(result.object_position[late, 0], result.time[late])
    acceleration = np.polyfit(result.time[late], velocity, 1)[0]
    assert (0.8 * G - acceleration) / G == pytest.approx(0.3, rel=0.05)
    ratio = result.friction_force[late].sum() / result.normal_force[late].sum()
    assert ratio == pytest.approx(0.3, rel=0.05)


@pytest.mark.parametrize("contact", CONTACTS, ids=lambda contact: f"{contact.stiffness:g}")
def test_a_box_at_95_percent_of_the_friction_limit_neither_creeps_nor_rocks(
    contact: sg.Contact,
) -> None:
    result = pushed(0.95 * 0.5, contact, hold_time=1.2)
    late = result.object_position[-300:]
    assert np.linalg.norm(late[-1] - late[0]) / (result.time[-1] - result.time[-300]) < 1e-6
    assert np.ptp(late[:, 2]) < 1e-9


def slip_gravity(scene: sg.GraspScene, strongest: float) -> tuple[float, float]:
    """Gravity at which the contacts of a grasped object reach the friction cone [m/s²], and their
    normal force then [N]."""
    ramp = sg.SuccessCriterion(gravity=(0, 0, -strongest), ramp_time=4.0, hold_time=0.05)
    result = sg.simulate(scene.replace(success=ramp))
    begin = round(result.hold.start_s / scene.control_period)
    friction, normal = result.friction_force[begin:].sum(1), result.normal_force[begin:].sum(1)
    at_cone = int(np.argmax(friction > 0.999 * scene.requested_contact.static_friction * normal))
    assert at_cone > 0, "the object never slipped"
    steps = gravity_steps(ramp, np.zeros(3), scene.control_period)
    gravity = np.concatenate([np.full(samples, -load[2]) for samples, load in steps])
    return float(gravity[at_cone - 1]), float(normal[at_cone])


def test_an_object_at_95_percent_of_its_slip_limit_creeps_less_than_a_micrometre_a_second() -> None:
    scene = pinch(object=ball(density=7860))
    limit, squeeze = slip_gravity(scene, 30.0)
    held, lost = (
        sg.simulate(scene.replace(success=sg.SuccessCriterion(gravity=(0, 0, -fraction * limit))))
        for fraction in (0.95, 1.05)
    )
    assert held.held
    assert not lost.held
    assert held.hold.creep_m_s < 1e-6
    # what four equal contacts can carry: their normals rise this much, friction does the rest
    rise = np.mean([contact.normal[2] for contact in held.contacts if contact.normal])
    weight = 7860 * 4 / 3 * np.pi * 0.03**3 * limit
    assert weight == pytest.approx(squeeze * (rise + 0.5 * np.sqrt(1 - rise**2)), rel=0.02)


def test_a_timestep_that_cannot_honour_the_contact_is_refused_with_the_one_that_could(
    golden: Golden,
) -> None:
    scene = pinch(contact=sg.Contact(stiffness=1e6, damping=1000), timestep=1e-3)
    golden.refused(lambda: sg.simulate(scene), "timestep", sg.BuildError)


def test_a_softer_contact_is_what_the_timestep_honours_and_is_reported() -> None:
    contact = sg.Contact(stiffness=1e6, damping=1000)
    result = sg.simulate(pinch(contact=contact, timestep=1e-3, allow_softer_contact=True))
    assert result.warnings[0] == (
        "timestep: 0.001 s is too large for a contact of 1e+06 N/m with 1000 N·s/m; the stiffness "
        "is lowered to 500000 N/m"
    )
    assert result.contact_model.used.stiffness == 5e5
    for stiffness in result.contact_model.measured_stiffness_N_m.values():
        assert stiffness == pytest.approx(5e5, rel=0.03)


@pytest.mark.parametrize("changes", [{"cone": "pyramidal"}, {"contact_dimension": 1}])
def test_two_coefficients_need_a_contact_that_knows_its_slip(changes: dict[str, object]) -> None:
    with pytest.raises(sg.DescriptionError) as refused:
        pinch(contact=STICK_SLIP, solver=sg.description.Solver(**changes))
    assert str(refused.value).startswith(
        "solver: expected an elliptic cone and a contact_dimension of at least 3 where static and "
        "dynamic friction differ, found a "
    )


def test_all_points_of_a_face_count() -> None:
    """Eight points: a box turned by 45 degrees on a table as small as itself."""
    scene = plate(box(density=4800), 0.015, duration=0.3, object_euler=(0, 0, math.pi / 4))
    small = sg.description.Palm(
        kind="shape", shape=sg.Cuboid(size=(0.06, 0.06, 0.02)), pose=sg.Pose(position=(0, 0, -0.01))
    )
    result = sg.simulate(scene.replace(hand=scene.hand.replace(palm=small)))
    weight = 4800 * 0.06 * 0.06 * 0.03 * G
    assert result.normal_force[-1].sum() == pytest.approx(weight, rel=0.01)
    assert sum(c.normal_force_N for c in result.contacts) == pytest.approx(weight, rel=0.01)


@pytest.mark.parametrize(
    ("stiffness", "damping", "expected"), [(1e4, 100, 1e-3), (1e5, 300, 1e-3), (1e6, 1000, 5e-4)]
)
def test_the_timestep_is_chosen_for_the_contact(
    stiffness: float, damping: float, expected: float
) -> None:
    model = sg.compile_model(pinch(contact=sg.Contact(stiffness=stiffness, damping=damping)))
    assert model.opt.timestep == expected


# MuJoCo's own contact: its parameters reach the model, and its stiffness is told, not promised.


def test_the_numbers_of_the_scene_stand_in_every_pair() -> None:
    law = sg.description.NativeLaw(
        timeconst=0.004, dampratio=0.7, impedance=(0.8, 0.9, 0.002, 0.4, 3.0)
    )
    model = sg.compile_model(pinch(contact=sg.Contact(model="native", native=law)))
    assert model.npair > 12
    for pair in range(model.npair):
        assert model.pair_solref[pair].tolist() == [0.004, 0.7]
        assert model.pair_solimp[pair].tolist() == list(law.impedance)
        assert model.pair_solreffriction[pair].tolist() == [0.0, 0.0]  # as along the normal


@pytest.mark.parametrize(("timeconst", "d"), [(0.01, 0.9), (0.005, 0.9), (0.01, 0.5)])
def test_a_ball_rests_by_the_documented_law(timeconst: float, d: float) -> None:
    # MuJoCo, "Computation": a₁ + d·(b·v + k·r) = (1 − d)·a₀ with k = d(r)/(dmax²·T²·ζ²); at rest,
    # with constant d, r = (1 − d)·g·T²·ζ², whatever the mass
    law = sg.description.NativeLaw(
        timeconst=timeconst, dampratio=2.0, impedance=(d, d, 0.001, 0.5, 2.0)
    )
    radius = 0.03
    scene = plate(
        ball(radius), radius, contact=sg.Contact(model="native", native=law), duration=1.0
    )
    result = sg.simulate(scene)
    depth = radius - result.object_position[-1, 2]
    assert depth == pytest.approx((1.0 - d) * 9.81 * (2.0 * timeconst) ** 2, rel=1e-3)
    assert result.warnings == ()


def test_its_stiffness_is_reported_without_a_warning() -> None:
    result = sg.simulate(pinch(contact=sg.Contact(model="native")))
    measured = result.contact_model.measured_stiffness_N_m
    assert len(measured) >= 4
    assert max(measured.values()) < 1e4  # soft: 20 ms against a light ball
    assert not any("stiffness" in warning for warning in result.warnings)


SHORT = sg.Contact(model="native", native=sg.description.NativeLaw(timeconst=1e-3))


@pytest.mark.parametrize(
    "changes", [{"contact": SHORT}, {"surroundings": (sg.Table(height=-0.3, contact=SHORT),)}]
)
def test_a_time_constant_of_less_than_two_steps_warns(changes: dict[str, Any]) -> None:
    with pytest.warns(sg.SoftgraspWarning) as message:
        compile_scene(pinch(timestep=1e-3, object_position=(0.0, 0.0, -0.085), **changes))
    assert (
        "contact.native.timeconst: 0.001 s is shorter than two time steps of 0.001 s; MuJoCo "
        "raises it to 0.002 s"
    ) in {str(warning.message) for warning in message}


def test_without_a_specified_step_the_scene_takes_one_that_fits() -> None:
    assert sg.compile_model(pinch(contact=SHORT)).opt.timestep == 5e-4


@pytest.mark.parametrize("cone", ["elliptic", "pyramidal"])
def test_it_closes_with_both_cones(cone: str) -> None:
    scene = pinch(
        contact=sg.Contact(model="native"), solver=sg.description.Solver(cone=cone, impratio=10.0)
    )
    assert sg.simulate(scene).status is sg.GraspStatus.CLOSED


def test_contacts_in_newtons_a_metre_need_an_elliptic_cone(golden: Golden) -> None:
    golden.refused(lambda: pinch(solver=sg.description.Solver(cone="pyramidal")), "solver.cone")


def test_other_engines_refuse_it(golden: Golden) -> None:
    from softgrasp.backends.webots.world import scene_world
    from softgrasp.pipeline import compile_scene

    built = compile_scene(pinch(contact=sg.Contact(model="native"), self_contact=False))
    golden.refused(lambda: scene_world(built, 1e-3, ()), "contact.model", sg.BuildError)


def test_a_native_table_promises_no_stiffness_beside_a_contact_that_does() -> None:
    native = sg.Contact(model="native", native=sg.description.NativeLaw(timeconst=0.004))
    below = sg.Table(height=-0.3, contact=native)
    scene = pinch(surroundings=(below,), object_position=(0.0, 0.0, -0.085))
    built = compile_scene(scene)
    assert not any("table" in pair for pair in built.stiffness)
    assert set(built.stiffness.values()) == {scene.requested_contact.stiffness}
    np.testing.assert_allclose(built.model.pair("object|table").solref, [0.004, 1.0])


REACHES = {
    "sphere": (sg.Sphere(radius=0.02), 0.02),
    "capsule": (sg.description.Capsule(radius=0.01, length=0.06), 0.03 + 0.01),
    "box": (sg.Cuboid(size=(0.02, 0.04, 0.06)), math.sqrt(14) * 0.01),
    "cylinder": (sg.Cylinder(radius=0.03, height=0.08), math.hypot(0.03, 0.04)),
}


@pytest.mark.parametrize("kind", REACHES)
def test_the_reach_of_an_object_is_that_of_its_farthest_point(kind: str) -> None:
    """Of a compound of two, at the same distance from the centre, it grows by that distance."""
    shape, reach = REACHES[kind]
    single = sg.GraspObject(name="one", shape=shape, mass=0.1)
    assert object_reach(sg.compile_model(pinch(object=single))) == pytest.approx(reach)
    parts = [sg.description.Part(shape=shape, pose=sg.Pose(position=(0.0, 0.0, z)))
             for z in (0.05, -0.05)]  # fmt: skip
    pair = single.replace(shape=sg.description.Compound(parts=tuple(parts)))
    model = sg.compile_model(pinch(object=pair, object_position=(0.0, 0.0, -0.5)))
    low, high = math.hypot(0.05, reach), 0.05 + reach
    assert low <= object_reach(model) <= high + 1e-9
    if kind == "sphere":
        assert object_reach(model) == pytest.approx(high)


def test_slip_is_the_part_of_the_velocity_across_the_normal() -> None:
    """A ball that falls obliquely on the palm: the normal part of its speed is no slip."""
    scene = plate(ball(0.03), 0.03, gravity=False)
    model = compile_scene(scene).model
    data = mujoco.MjData(model)
    mujoco.mj_resetDataKeyframe(model, data, 0)
    free = model.body("object").dofadr[0]
    data.qpos[model.joint("object").qposadr[0] + 2] -= 1e-5
    data.qvel[free : free + 3] = 0.03, 0.04, -0.2
    mujoco.mj_forward(model, data)
    (point,) = ContactReader(model).read(data)
    assert point.slip_speed == pytest.approx(0.05, rel=1e-3)
