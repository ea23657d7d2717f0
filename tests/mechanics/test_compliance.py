"""The conversion of contact stiffness, against MuJoCo's own formulas."""

from __future__ import annotations

import mujoco
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from softgrasp.mechanics.contact import direct_solref, implicit_inertia


@given(st.floats(1e2, 1e7), st.floats(1, 1e4), st.floats(1e-3, 1e4), st.floats(0.05, 0.95))
def test_force_over_depth_at_rest_is_the_asked_stiffness(
    stiffness: float, damping: float, inverse_mass: float, impedance: float
) -> None:
    k, b = -direct_solref(stiffness, damping, [inverse_mass], impedance)[0]
    depth, regularisation = 1e-4, inverse_mass * (1 - impedance) / impedance
    # MuJoCo scales a direct solref by 1/d² and multiplies the position term by d
    force = (k / impedance**2 * impedance * depth) / regularisation
    assert force == pytest.approx(stiffness * depth, rel=1e-9)
    assert b == pytest.approx(damping * (1 - impedance) * inverse_mass)


def test_stiffness_is_proportional_and_of_one_row_a_pair() -> None:
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
