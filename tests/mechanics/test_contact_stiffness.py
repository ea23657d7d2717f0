"""The conversion of contact stiffness, against MuJoCo's own formulas."""

from __future__ import annotations

import math

import mujoco
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.integrate import quad

from softgrasp.mechanics.contact_stiffness import (
    direct_solref,
    hertz_patch_radius,
    implicit_inertia,
    torsional_coefficient,
)
from softgrasp.mechanics.geometry import distribute, taxel_grid


@given(st.floats(1e2, 1e7), st.floats(1, 1e4), st.floats(1e-3, 1e4), st.floats(0.05, 0.95))
def test_force_over_penetration_at_rest_is_the_requested_stiffness(
    stiffness: float, damping: float, inverse_mass: float, impedance: float
) -> None:
    k, b = -direct_solref(stiffness, damping, [inverse_mass], impedance)[0]
    depth, regularisation = 1e-4, inverse_mass * (1 - impedance) / impedance
    # MuJoCo scales a direct solref by 1/d² and multiplies the position term by d
    force = (k / impedance**2 * impedance * depth) / regularisation
    assert force == pytest.approx(stiffness * depth, rel=1e-9)
    assert b == pytest.approx(damping * (1 - impedance) * inverse_mass)


def test_solref_is_proportional_to_stiffness_with_one_row_per_pair() -> None:
    solref = direct_solref(1e5, 300, [1.0, 2.0, 4.0], 0.5)
    assert solref.shape == (3, 2)
    assert solref[:, 0] / solref[0, 0] == pytest.approx([1, 2, 4])


def test_implicit_inertia_is_h_c_plus_h_squared_k() -> None:
    assert implicit_inertia(1e-3, [10.0], [0.2]) == pytest.approx([1e-3 * 0.2 + 1e-6 * 10])


def test_an_implicit_step_moves_a_damped_joint_as_if_it_had_that_inertia() -> None:
    """One step of a joint with damping equals one of a joint with h·c more armature."""
    text = """<mujoco><option timestep="1e-3" integrator="implicitfast"/><worldbody><body>
    <joint name="j" type="slide" axis="1 0 0" damping="{c}" armature="{a}"/>
    <geom size="0.01" mass="0.01"/></body></worldbody></mujoco>"""
    speeds = []
    for damping, armature in ((2.0, 0.0), (0.0, float(implicit_inertia(1e-3, [0], [2.0])[0]))):
        model = mujoco.MjModel.from_xml_string(text.format(c=damping, a=armature))
        data = mujoco.MjData(model)
        data.qfrc_applied[:] = 1.0
        mujoco.mj_step(model, data)
        speeds.append(float(np.asarray(data.qvel)[0]))
    assert speeds[0] == pytest.approx(speeds[1], rel=1e-9)


# Soft patches: moment limits by integration, and Hertz's radius by its own pressure.


PRESSURES = {
    "uniform": lambda r, a: 1.0 / (math.pi * a * a),
    "hertz": lambda r, a: 1.5 / (math.pi * a * a) * math.sqrt(1.0 - (r / a) ** 2),
}
"""Pressures of a unit force at a radius."""


@pytest.mark.parametrize("kind", PRESSURES)
def test_the_moment_limit_is_the_integral_of_friction_over_the_patch(kind: str) -> None:
    radius, friction = 0.004, 0.6
    pressure = PRESSURES[kind]
    force, _ = quad(lambda r: pressure(r, radius) * 2 * math.pi * r, 0.0, radius)
    moment, _ = quad(lambda r: friction * r * pressure(r, radius) * 2 * math.pi * r, 0.0, radius)
    assert force == pytest.approx(1.0)
    assert torsional_coefficient(friction, radius, kind) == pytest.approx(moment)


def test_hertz_radius_agrees_with_hertz_penetration() -> None:
    # N = 4/3·E*·√R·δ^(3/2) and a² = R·δ (Johnson 1985, eqs 4.22 and 4.23)
    modulus, ball, depth = 1.3e6, 0.008, np.array([1e-5, 1e-4, 4e-4])
    forces = 4.0 / 3.0 * modulus * math.sqrt(ball) * depth**1.5
    radii = [hertz_patch_radius(force, ball, modulus) for force in forces]
    np.testing.assert_allclose(np.square(radii), ball * depth, rtol=1e-12)


def test_hertz_radius_requires_positive_numbers() -> None:
    with pytest.raises(ValueError, match="expected a positive force, radius and modulus") as error:
        hertz_patch_radius(0.0, 0.008, 1e6)
    assert str(error.value) == (
        "expected a positive force, radius and modulus, found 0 N, 0.008 m and 1e+06 Pa"
    )


# Taxels: whatever touches wherever, no force is lost, and it is felt where it acts.


BOX = np.array([[-0.01, -0.008, -0.008], [0.05, 0.008, 0.008]])
"""Around a link along x."""
numbers = st.floats(-0.1, 0.1)


@given(
    st.lists(st.tuples(numbers, numbers, numbers, st.floats(0.0, 100.0)), min_size=1, max_size=6),
    st.integers(1, 6),
    st.integers(1, 9),
)
def test_the_sum_over_the_taxels_is_the_force(contacts, rows, columns) -> None:
    table = np.array(contacts)
    felt = distribute(taxel_grid(BOX, rows, columns), table[:, :3], table[:, 3])
    assert felt.shape == (rows, columns)
    assert felt.min() >= 0.0
    assert felt.sum() == pytest.approx(table[:, 3].sum(), rel=1e-12, abs=1e-12)


def test_a_force_at_a_taxel_centre_belongs_to_that_taxel() -> None:
    grid = taxel_grid(BOX, 4, 8)
    along = ((np.arange(4) + 0.5) / 4 - 0.5) * grid.length
    around = ((np.arange(8) + 0.5) / 8 - 0.5) * 2.0 * math.pi
    for row, x in enumerate(along):
        for column, angle in enumerate(around):
            offset = np.array([x, 0.008 * math.cos(angle), 0.008 * math.sin(angle)])
            felt = distribute(grid, (grid.center + offset)[None], np.array([2.0]))
            expected = np.zeros((4, 8))
            expected[row, column] = 2.0
            np.testing.assert_allclose(felt, expected, atol=1e-12)


def test_columns_are_continuous_across_the_seam() -> None:
    felt = distribute(taxel_grid(BOX, 1, 8), np.array([[0.02, -0.008, 0.0]]), np.array([1.0]))
    np.testing.assert_allclose(felt[0], [0.5, 0, 0, 0, 0, 0, 0, 0.5], atol=1e-12)


def test_rows_lie_along_the_longest_edge() -> None:
    grid = taxel_grid(BOX[:, [1, 2, 0]], 4, 8)
    np.testing.assert_array_equal(grid.axes[0], [0, 0, 1])
    assert np.linalg.det(grid.axes) == pytest.approx(1.0)
    assert grid.length == pytest.approx(0.06)
