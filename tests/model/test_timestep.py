"""Largest stable steps of springs and dampers: closed forms, and what MuJoCo does beside them."""

from __future__ import annotations

import math

import mujoco
import numpy as np
import pytest

from softgrasp.model.timestep import damped_spring_limit, spring_limit

SPRINGS = [(0.02, 50.0, 0.0), (0.02, 50.0, 0.3), (0.5, 2.0, 4.0)]
"""Inertia [kg·m²], stiffness [N·m/rad] and damping [N·m·s/rad] of a hinge."""


def hinge(inertia: float, stiffness: float, damping: float) -> mujoco.MjModel:
    return mujoco.MjModel.from_xml_string(f"""<mujoco><option gravity='0 0 0'
        integrator='implicitfast'><flag contact='disable'/></option><worldbody><body>
        <inertial pos='0 0 0' mass='1' diaginertia='{inertia} {inertia} {inertia}'/>
        <joint type='hinge' axis='0 1 0' stiffness='{stiffness}' damping='{damping}'/>
        </body></worldbody></mujoco>""")


@pytest.mark.parametrize(("inertia", "stiffness", "damping"), SPRINGS)
def test_the_limit_of_a_hinge_is_the_root_of_its_stability(
    inertia: float, stiffness: float, damping: float
) -> None:
    """4 I + 2 h d − h² k = 0; without damping it is 2/ω."""
    model = hinge(inertia, stiffness, damping)
    root = (damping + math.sqrt(damping**2 + 4.0 * inertia * stiffness)) / stiffness
    assert spring_limit(model) == pytest.approx(2.0 * math.sqrt(inertia / stiffness))
    limit = damped_spring_limit(model)
    assert limit == pytest.approx(min(root, 1.0), rel=1e-3)
    for factor, grows in ((0.98, False), (1.02, root < 1.0)):
        model.opt.timestep = factor * limit
        data = mujoco.MjData(model)
        data.qpos[0] = 1e-3
        mujoco.mj_step(model, data, 400)
        assert (abs(data.qpos[0]) > 1.0 or bool(np.any(data.warning.number))) == grows


def test_damping_that_is_a_force_shortens_the_step() -> None:
    """4 I + 2 h (d − c) − h² k = 0."""
    inertia, stiffness, damping = SPRINGS[1]
    limit = damped_spring_limit(hinge(inertia, stiffness, damping), np.array([[0.5]]))
    rest = damping - 0.5
    root = (rest + math.sqrt(rest**2 + 4.0 * inertia * stiffness)) / stiffness
    assert limit == pytest.approx(root, rel=1e-3)


def test_without_springs_there_is_no_limit() -> None:
    model = hinge(0.1, 0.0, 0.0)
    assert spring_limit(model) == math.inf
    assert damped_spring_limit(model) == 1.0
