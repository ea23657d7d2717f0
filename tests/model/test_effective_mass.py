"""Inverse effective mass of contact pairs against that of the engine."""

from __future__ import annotations

import mujoco
import numpy as np
import pytest

import softgrasp as sg
from softgrasp.model.contact_pairs import object_pairs
from softgrasp.model.effective_mass import POSTURES, closing_postures, inverse_masses
from softgrasp.model.scene import build
from softgrasp.sim.grasp_run import ClosureRun
from tests.support.scenes import pinch


@pytest.fixture(scope="module")
def model() -> mujoco.MjModel:
    return sg.compile_model(pinch())


def test_solref_of_pairs_uses_the_inverse_mass(
    model: mujoco.MjModel,
) -> None:
    pairs = object_pairs(model)
    postures = closing_postures(model, pinch(), model.key_qpos[0])
    for pair, inverse in zip(pairs, inverse_masses(model, pairs, postures), strict=True):
        solref = model.pair(pair.name).solref
        assert solref[0] == pytest.approx(-1e5 * 0.999 * inverse, rel=1e-6)
        assert solref[1] == pytest.approx(-200 * 0.999 * inverse, rel=1e-6)


def test_other_integrators_use_the_estimate_of_the_engine(model: mujoco.MjModel) -> None:
    pairs = object_pairs(model)
    postures = closing_postures(model, pinch(), model.key_qpos[0])
    bodies = [[model.geom(name).bodyid[0] for name in pair] for pair in pairs]
    plain = model.body_invweight0[:, 0][np.array(bodies)].sum(axis=1)
    euler = sg.compile_model(pinch(solver=sg.description.Solver(integrator="euler")))
    assert inverse_masses(euler, pairs, postures) == pytest.approx(plain)
    assert (inverse_masses(model, pairs, postures) <= plain + 1e-12).all()


def test_implicit_ratio_equals_that_of_a_running_contact() -> None:
    """Σ J²/M̂ᵢᵢ over Σ J²/Mᵢᵢ, against the Jacobian row of a running contact."""
    run = ClosureRun(build(pinch()))
    run.run()
    model, data = run.model, run.data
    mujoco.mj_forward(model, data)
    row = int(data.contact[0].efc_address)
    implicit = float(data.efc_R[row] / data.efc_aref[row])
    model.opt.integrator = mujoco.mjtIntegrator.mjINT_EULER
    mujoco.mj_forward(model, data)
    explicit = float(data.efc_R[row] / data.efc_aref[row])
    jacobian = np.array(data.efc_J).reshape(-1, model.nv)[row]
    full = np.zeros((model.nv, model.nv))
    mujoco.mj_fullM(model, data, full)
    inertia = np.diag(full)
    step, gain, rate = model.opt.timestep, np.zeros(model.nv), np.array(model.dof_damping)
    dofs = model.jnt_dofadr[model.actuator_trnid[:, 0]]
    gain[dofs] -= model.actuator_biasprm[:, 1]
    rate[dofs] -= model.actuator_biasprm[:, 2]
    added = step * rate + step**2 * gain
    fraction = (jacobian**2 / (inertia + added)).sum() / (jacobian**2 / inertia).sum()
    assert implicit / explicit == pytest.approx(fraction, rel=1e-6)


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
