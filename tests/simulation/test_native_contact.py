"""MuJoCo's own contact: its parameters reach the model, and its stiffness is told, not promised."""

from __future__ import annotations

import numpy as np
import pytest

import softgrasp as sg
from softgrasp.model.scene import build
from tests.scenes import ball, pinch, plate


def test_the_numbers_of_the_scene_stand_in_every_pair() -> None:
    law = sg.NativeLaw(timeconst=0.004, dampratio=0.7, impedance=(0.8, 0.9, 0.002, 0.4, 3.0))
    model = sg.compile_model(pinch(contact=sg.Contact(model="native", native=law)))
    assert model.npair > 12
    for pair in range(model.npair):
        assert model.pair_solref[pair].tolist() == [0.004, 0.7]
        assert model.pair_solimp[pair].tolist() == list(law.impedance)
        assert model.pair_solreffriction[pair].tolist() == [0.0, 0.0]  # as along the normal


@pytest.mark.parametrize(("timeconst", "d"), [(0.01, 0.9), (0.005, 0.9), (0.01, 0.5)])
def test_a_ball_rests_as_the_documented_law_says(timeconst: float, d: float) -> None:
    # MuJoCo, "Computation": a₁ + d·(b·v + k·r) = (1 − d)·a₀ with k = d(r)/(dmax²·T²·ζ²); at rest,
    # with constant d, r = (1 − d)·g·T²·ζ², whatever the mass
    law = sg.NativeLaw(timeconst=timeconst, dampratio=2.0, impedance=(d, d, 0.001, 0.5, 2.0))
    radius = 0.03
    scene = plate(
        ball(radius), radius, contact=sg.Contact(model="native", native=law), duration=1.0
    )
    result = sg.simulate(scene)
    depth = radius - result.object_position[-1, 2]
    assert depth == pytest.approx((1.0 - d) * 9.81 * (2.0 * timeconst) ** 2, rel=1e-3)
    assert result.warnings == ()


def test_its_stiffness_is_told_and_not_held_against_anything() -> None:
    result = sg.simulate(pinch(contact=sg.Contact(model="native")))
    measured = result.contact_model.measured_stiffness_N_m
    assert len(measured) >= 4
    assert max(measured.values()) < 1e4  # soft: 20 ms against a light ball
    assert not any("stiffness" in warning for warning in result.warnings)


def test_a_shorter_time_constant_is_stiffer() -> None:
    stiffness = []
    for timeconst in (0.02, 0.01, 0.005):
        law = sg.NativeLaw(timeconst=timeconst)
        result = sg.simulate(pinch(contact=sg.Contact(model="native", native=law)))
        stiffness.append(min(result.contact_model.measured_stiffness_N_m.values()))
    assert stiffness[0] < 0.5 * stiffness[1] < 0.25 * stiffness[2]


def test_a_time_constant_of_less_than_two_steps_warns() -> None:
    contact = sg.Contact(model="native", native=sg.NativeLaw(timeconst=1e-3))
    result = sg.simulate(pinch(contact=contact, timestep=1e-3))
    assert result.warnings[0] == (
        "contact.native.timeconst: 0.001 s is shorter than two time steps of 0.001 s; MuJoCo lifts "
        "it to 0.002 s"
    )


def test_without_a_step_of_its_own_the_scene_takes_one_that_fits() -> None:
    contact = sg.Contact(model="native", native=sg.NativeLaw(timeconst=1e-3))
    assert sg.compile_model(pinch(contact=contact)).opt.timestep == 5e-4


@pytest.mark.parametrize("cone", ["elliptic", "pyramidal"])
def test_it_closes_with_both_cones(cone: str) -> None:
    scene = pinch(contact=sg.Contact(model="native"), solver=sg.Solver(cone=cone, impratio=10.0))
    assert sg.simulate(scene).status is sg.GraspStatus.CLOSED


def test_other_engines_refuse_it() -> None:
    from softgrasp.backends.webots.world import scene_world
    from softgrasp.model.scene import build

    built = build(pinch(contact=sg.Contact(model="native"), self_contact=False))
    with pytest.raises(sg.BuildError) as error:
        scene_world(built, 1e-3, ())
    assert str(error.value) == (
        "contact.model: expected 'compliant' or 'soft-finger' for Webots and ODE, found 'native', "
        "which is MuJoCo's own"
    )


def test_a_native_table_promises_no_stiffness_beside_a_contact_that_does() -> None:
    native = sg.Contact(model="native", native=sg.NativeLaw(timeconst=0.004))
    below = sg.Table(height=-0.3, contact=native)
    scene = pinch(surroundings=(below,), object_position=(0.0, 0.0, -0.085))
    built = build(scene)
    assert not any("table" in pair for pair in built.stiffness)
    assert set(built.stiffness.values()) == {scene.requested_contact.stiffness}
    np.testing.assert_allclose(built.model.pair("object|table").solref, [0.004, 1.0])


def test_a_short_native_time_constant_is_told_and_refuses_no_step() -> None:
    native = sg.Contact(model="native", native=sg.NativeLaw(timeconst=1e-3))
    below = sg.Table(height=-0.3, contact=native)
    scene = pinch(surroundings=(below,), object_position=(0.0, 0.0, -0.085), timestep=1e-3)
    with pytest.warns(sg.SoftgraspWarning) as message:
        build(scene)
    assert (
        "contact.native.timeconst: 0.001 s is shorter than two time steps of 0.001 s; MuJoCo lifts "
        "it to 0.002 s"
    ) in {str(warning.message) for warning in message}
