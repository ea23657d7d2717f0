"""The exact beam: against an integration of its own differential equation."""

from __future__ import annotations

import mujoco
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import solve_bvp

import softgrasp as sg
from softgrasp.continuum.statics import (
    HungRig,
    Loads,
    PlanarChain,
    joint_positions,
    pressed,
    pressed_slopes,
    rest,
)
from softgrasp.model.soft_finger import finger_model
from tests.conftest import Golden
from tests.support import beams


def integrated(moment_rate) -> tuple[float, float, float]:
    """Tip of a clamped beam with θ″ = moment_rate(s, θ), θ(0) = 0, θ′(1) = 0."""
    s = np.linspace(0, 1, 200)
    run = solve_bvp(
        lambda s, y: np.vstack([y[1], moment_rate(s, y[0]), np.cos(y[0]), np.sin(y[0])]),
        lambda a, b: np.array([a[0], b[1], a[2], a[3]]),
        s, np.vstack([0.5 * s, 0.5 * (1 - s), s, 0.2 * s]), tol=1e-10, max_nodes=100_000,
    )  # fmt: skip
    assert run.success
    slope, _, x, y = run.sol(1.0)
    return float(x), float(y), float(slope)


@pytest.mark.parametrize("load", [0.1, 1.0, 3.0, 10.0])
def test_the_elliptic_integrals_solve_the_beam_under_a_tip_force(load: float) -> None:
    expected = integrated(lambda s, theta: -load * np.cos(theta))
    assert beams.under_tip_force(load) == pytest.approx(expected, abs=1e-8)


@pytest.mark.parametrize("load", [0.1, 1.0, 5.0, 20.0])
def test_shooting_solves_the_beam_under_its_weight(load: float) -> None:
    expected = integrated(lambda s, theta: -load * (1 - s) * np.cos(theta))
    assert beams.self_weight_deflection(load) == pytest.approx(expected, abs=1e-8)


def test_frequencies_are_roots_of_the_characteristic_equation() -> None:
    for frequency in beams.FREQUENCIES:
        root = np.sqrt(frequency)
        assert np.cos(root) * np.cosh(root) == pytest.approx(-1.0, abs=1e-7)


# Rest shapes in closed form: MuJoCo's own balance, virtual work, rows that stand alone.


FINGER = sg.io.load_finger("paper000")
CHAIN = PlanarChain.of(FINGER)
STIFFNESS = np.array([joint.stiffness for joint in FINGER.joints])
GAINS = np.array([joint.pressure_gain for joint in FINGER.joints])


@settings(max_examples=20, deadline=None)
@given(
    along=st.floats(-0.5, 0.5),
    up=st.floats(-1.5, 1.5),
    pressure=st.floats(0.0, 1e5),
    factor=st.floats(0.5, 2.0),
)
def test_equilibria_agree_with_mujoco(
    along: float, up: float, pressure: float, factor: float
) -> None:
    joints = tuple(j.replace(stiffness=factor * j.stiffness) for j in FINGER.joints)
    message = sg.equilibrium(
        FINGER.replace(joints=joints),
        tip_force=(along, 0.0, up), pressure=pressure, error_estimate=False,
    )  # fmt: skip
    loads = CHAIN.weight.plus(CHAIN.at_tip((along, up)))
    result = rest(factor * STIFFNESS, loads, pressure * GAINS)
    assert message.converged
    np.testing.assert_allclose(result.angles, message.joint_angles, atol=1e-9)
    np.testing.assert_allclose(CHAIN.tip(result.angles), message.tip_position[::2], atol=1e-10)


def test_slopes_are_derivatives_of_the_gradient() -> None:
    load = CHAIN.weight.plus(CHAIN.at_tip((0.0, -0.4)))
    result = rest(STIFFNESS, load, np.zeros(7))
    for joint in range(7):
        moment = np.zeros(7)
        moment[joint] = 1e-5
        ends = [rest(STIFFNESS, load, sign * moment).angles for sign in (1, -1)]
        change = (ends[0] - ends[1]) / 2e-5
        np.testing.assert_allclose(result.slopes @ change, np.eye(7)[joint], atol=1e-6)


def test_rows_do_not_depend_on_each_other() -> None:
    rows = np.random.default_rng(0).uniform(0.1, 0.6, (50, 7))
    alone = np.array([rest(row, CHAIN.weight, 8e4 * GAINS).angles for row in rows])
    np.testing.assert_array_equal(rest(rows, CHAIN.weight, 8e4 * GAINS).angles, alone)
    # one that no Newton step helps does not spoil them
    rows[7] = np.nan
    result = rest(rows, CHAIN.weight, 8e4 * GAINS).angles
    assert np.isnan(result[7]).all()
    keep = np.arange(50) != 7
    np.testing.assert_allclose(result[keep], alone[keep], atol=1e-12)


def test_the_plate_force_balances_the_finger() -> None:
    height = float(CHAIN.tip(rest(STIFFNESS, CHAIN.weight, np.zeros(7)).angles)[1])
    pressures = np.array([0.0, 2e4, 5e4, 1e5])
    result = pressed(CHAIN, STIFFNESS, CHAIN.weight, pressures[:, None] * GAINS, height)
    np.testing.assert_allclose(CHAIN.tip(result.angles)[:, 1], height, atol=1e-11)
    assert result.force[0] == pytest.approx(0.0, abs=1e-9)
    for pressure, force, angles in zip(pressures, result.force, result.angles, strict=True):
        # the plate's force as a load in its place
        loads = CHAIN.weight.plus(CHAIN.at_tip((0.0, float(force))))
        np.testing.assert_allclose(
            rest(STIFFNESS, loads, pressure * GAINS).angles, angles, atol=1e-9
        )


@pytest.mark.parametrize(
    "errors",
    [
        {},
        {"pull": 0.3},
        {"tilt": 0.2},
        {"overhang": 0.6},
        {"extra_weight": 0.4},
        {"hung_link": 4},
        {"pull": -0.2, "tilt": -0.3, "overhang": -0.5, "extra_weight": -0.3},
    ],
    ids=lambda errors: "+".join(errors) or "no error",
)
def test_weights_on_a_rig_balance_every_joint(errors: dict[str, float]) -> None:
    """k·q = Σ (r × F)_y about each joint, over the weights of links and what hangs on them."""
    own = HungRig(np.array([0.0, 0.03]), **errors)
    angles = own.angles(CHAIN, STIFFNESS[None])[0]
    tilt, pull = errors.get("tilt", 0.0), errors.get("pull", 0.0)
    for mass, bends in zip(own.masses, angles, strict=True):
        x, z = joint_positions(FINGER, bends)[:, ::2].T
        point = errors.get("hung_link", 7)
        hung_x, hung_z = x[point], z[point]
        if "overhang" in errors:
            hung_x += errors["overhang"] * (x[7] - x[6])
            hung_z += errors["overhang"] * (z[7] - z[6])
        cosine, sine = np.cos(np.cumsum(bends)), np.sin(np.cumsum(bends))
        middle_x = x[:7] + cosine * CHAIN.centres[:, 0] + sine * CHAIN.centres[:, 1]
        middle_z = z[:7] - sine * CHAIN.centres[:, 0] + cosine * CHAIN.centres[:, 1]
        weights = 9.81 * (1.0 + errors.get("extra_weight", 0.0)) * CHAIN.masses
        force = 9.81 * float(mass) * np.array([np.sin(tilt + pull), -np.cos(tilt + pull)])
        for joint in range(7):
            arms_x, arms_z = middle_x[joint:] - x[joint], middle_z[joint:] - z[joint]
            moment = weights[joint:] @ (arms_z * np.sin(tilt) + arms_x * np.cos(tilt))
            if joint < point:
                moment += (hung_z - z[joint]) * force[0] - (hung_x - x[joint]) * force[1]
            assert STIFFNESS[joint] * bends[joint] == pytest.approx(moment, rel=1e-8, abs=1e-10)


def test_angles_relative_to_the_unloaded_finger_are_differences() -> None:
    own = HungRig(np.array([0.01, 0.03]), tilt=0.1, relative=True)
    absolute = HungRig(np.array([0.01, 0.03, 0.0]), tilt=0.1).angles(CHAIN, STIFFNESS[None])[0]
    result = own.angles(CHAIN, STIFFNESS[None])[0]
    np.testing.assert_allclose(result, absolute[:2] - absolute[2], atol=1e-12)


def test_tips_above_the_plate_have_no_contact() -> None:
    result = pressed(CHAIN, STIFFNESS, CHAIN.weight, 1e4 * GAINS, -0.05)
    assert result.force == 0.0
    free = rest(STIFFNESS, CHAIN.weight, 1e4 * GAINS).angles
    np.testing.assert_allclose(result.angles, free, atol=1e-12)


def test_small_forces_are_linear_in_the_gains() -> None:
    """F = P·Σ w·alpha, w = (x_tip − x_i)/k_i over Σ (x_tip − x_i)²/k_i for a straight finger."""
    arms = CHAIN.steps[::-1, 0].cumsum()[::-1]
    weights = arms / STIFFNESS / np.sum(arms**2 / STIFFNESS)
    nothing = Loads(np.zeros(7), np.zeros(7))
    result = pressed(CHAIN, STIFFNESS, nothing, 100.0 * GAINS, CHAIN.steps[:, 1].sum())
    assert result.force == pytest.approx(100.0 * weights @ GAINS, rel=1e-3)


def test_fingers_that_bend_out_of_their_plane_are_refused(golden: Golden) -> None:
    golden.refused(lambda: PlanarChain.of(FINGER.replace(planar=False)), "finger")


# Joint positions of soft fingers are those of their MuJoCo model.


FINGERS = {
    "paper000": sg.io.load_finger("paper000"),
    "spatial": sg.rld.discretise(0.1, 1e-3, 0.02, 5, planar=False),
    "twisting": sg.rld.discretise(0.1, 1e-3, 0.02, 5, torsion_stiffness=1e-3),
    "all ways": sg.rld.discretise(
        0.1, 1e-3, 0.02, 4, planar=False, torsion_stiffness=1e-3, axial_stiffness=10.0
    ),
}
MODELS = {name: finger_model(finger) for name, finger in FINGERS.items()}


@pytest.mark.parametrize("name", FINGERS)
@given(st.data())
@settings(max_examples=20, deadline=None)
def test_positions_agree_with_mujoco(name: str, data: st.DataObject) -> None:
    finger, model = FINGERS[name], MODELS[name]
    angles = data.draw(st.lists(st.floats(-2, 2), min_size=model.nq, max_size=model.nq))
    state = mujoco.MjData(model)
    state.qpos[:] = angles
    mujoco.mj_kinematics(model, state)
    points = joint_positions(finger, angles)
    for index in range(len(finger.joints)):
        assert points[index] == pytest.approx(state.body(f"link{index + 1}").xpos, abs=1e-12)
    assert points[-1] == pytest.approx(state.site("tip").xpos, abs=1e-12)


@pytest.mark.parametrize("name", FINGERS)
def test_positions_do_not_depend_on_other_times(name: str) -> None:
    finger, count = FINGERS[name], MODELS[name].nq
    angles = np.random.default_rng(1).uniform(-1, 1, (3, 4, count))
    whole = joint_positions(finger, angles)
    assert whole.shape == (3, 4, len(finger.joints) + 1, 3)
    assert whole[1, 2] == pytest.approx(joint_positions(finger, angles[1, 2]))


def test_another_number_of_angles_is_refused() -> None:
    with pytest.raises(sg.DescriptionError, match=r"angles: expected 7 angles, found shape \(3,\)"):
        joint_positions(FINGERS["paper000"], [0.0, 0.0, 0.0])


def test_slopes_of_a_plate_force_are_its_derivatives() -> None:
    """By each stiffness, each moment and the height of the plate, on it and above it."""
    finger = FINGERS["paper000"]
    chain = PlanarChain.of(finger)
    stiffness = np.array([joint.stiffness for joint in finger.joints])
    moments = 6e4 * np.array([joint.pressure_gain for joint in finger.joints])
    height = float(chain.tip(rest(stiffness, chain.weight, np.zeros(7)).angles)[1])

    def force(changed: np.ndarray) -> float:
        parts = changed[:7], chain.weight, changed[7:14], changed[14]
        return float(pressed(chain, *parts).force)

    point = np.concatenate([stiffness, moments, [height]])
    steps = 1e-5 * np.maximum(np.abs(point), 1e-3) * np.eye(15)
    numeric = [(force(point + d) - force(point - d)) / (2.0 * d.max()) for d in steps]
    for plate, expected in ((height, np.array(numeric)), (-1.0, np.zeros(15))):
        state = pressed(chain, stiffness[None], chain.weight, moments[None], [plate])
        slopes = pressed_slopes(chain, state, stiffness, chain.weight)
        analytic = np.concatenate([slopes.stiffness[0], slopes.moments[0], slopes.plate])
        np.testing.assert_allclose(analytic, expected, rtol=1e-4, atol=1e-6)
