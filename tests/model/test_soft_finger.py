"""Test rigs against the statics in closed form, and the skin of soft fingers."""

from __future__ import annotations

import warnings

import mujoco
import numpy as np
import pytest

import softgrasp as sg
from softgrasp.continuum.statics import PlanarChain, pressed, rest
from softgrasp.model import names
from softgrasp.model.soft_finger import (
    SIDES,
    add_finger_skin,
    finger_spec,
    finger_surface,
)
from softgrasp.pipeline import compile_scene
from softgrasp.rendering.shading import Skin, skins_of
from tests.support.finger_rigs import PLATE_FORCE, dead_weight_rig, tip_force_rig

FINGER = sg.io.load_finger("paper000")
CHAIN = PlanarChain.of(FINGER)
STIFFNESS = np.array([joint.stiffness for joint in FINGER.joints])
GAINS = np.array([joint.pressure_gain for joint in FINGER.joints])
DAMPING_FACTOR = 30.0
"""Factor of all damping, with which the finger comes to rest sooner."""
FINGERS = {
    "paper000": sg.io.load_finger("paper000"),
    "spatial": sg.rld.discretise(0.1, 1e-3, 0.02, 6, planar=False, section=(0.02, 0.02)),
}


def at_rest(
    spec: mujoco.MjSpec, moments: np.ndarray | None = None, slow: float = 1e-4
) -> mujoco.MjData:
    """Step a rig until it is at rest."""
    model = spec.compile()
    model.dof_damping *= DAMPING_FACTOR
    data = mujoco.MjData(model)
    if moments is not None:
        data.ctrl[:] = moments
    mujoco.mj_step(model, data, round(2.0 / model.opt.timestep))
    assert np.abs(data.qvel).max() < slow
    return data


def test_dead_weight_is_at_the_static_equilibrium() -> None:
    data = at_rest(dead_weight_rig(FINGER, 0.04))
    loads = CHAIN.weight.plus(CHAIN.at_tip((0.0, -0.04 * 9.81)))
    result = rest(STIFFNESS, loads, np.zeros(7)).angles
    np.testing.assert_allclose(data.qpos, result, atol=1e-5)
    assert data.sensor("tip_position").data[::2] == pytest.approx(CHAIN.tip(result), abs=1e-6)


@pytest.mark.parametrize("pressure", [2e4, 1e5])
def test_plate_force_equals_the_static_one(pressure: float) -> None:
    height = float(CHAIN.tip(rest(STIFFNESS, CHAIN.weight, np.zeros(7)).angles)[1])
    data = at_rest(tip_force_rig(FINGER, height), pressure * GAINS)
    result = pressed(CHAIN, STIFFNESS, CHAIN.weight, pressure * GAINS, height)
    across, along, up = data.sensor(PLATE_FORCE).data
    assert up == pytest.approx(float(result.force), rel=2e-3)
    assert (across, along) == pytest.approx((0.0, 0.0), abs=1e-9)


def test_friction_at_the_tip() -> None:
    height = float(CHAIN.tip(rest(STIFFNESS, CHAIN.weight, np.zeros(7)).angles)[1])
    # the tip still creeps a little
    data = at_rest(tip_force_rig(FINGER, height, friction=0.5), 6e4 * GAINS, slow=2e-3)
    across, _, up = data.sensor(PLATE_FORCE).data
    assert 0.1 * up < abs(across) <= 0.5 * up * 1.001


def skinned(finger: sg.SoftFinger) -> tuple[mujoco.MjModel, mujoco.MjData, Skin]:
    """Compile a finger with its skin."""
    spec = finger_spec(finger)
    bodies = [f"link{index}" for index in range(len(finger.links))]
    add_finger_skin(spec, "skin", finger, bodies, (1.0, 1.0, 1.0, 1.0))
    model = spec.compile()
    data = mujoco.MjData(model)
    mujoco.mj_kinematics(model, data)
    return model, data, skins_of(model)[0]


def volume(skin: Skin, vertices: np.ndarray) -> float:
    """Compute the volume within a skin."""
    a, b, c = (vertices[skin.faces[:, k]] for k in range(3))
    return float(np.einsum("ni,ni->", a, np.cross(b, c)) / 6.0)


@pytest.mark.parametrize("name", FINGERS)
def test_skin_of_a_straight_finger_is_the_bind_pose(name: str) -> None:
    _, data, skin = skinned(FINGERS[name])
    assert skin.bent(data) == pytest.approx(skin.vertices, abs=1e-7)


@pytest.mark.parametrize("name", FINGERS)
def test_skin_is_closed_and_oriented(name: str) -> None:
    _, data, skin = skinned(FINGERS[name])
    edges = np.concatenate([skin.faces[:, [k, (k + 1) % 3]] for k in range(3)])
    assert len(np.unique(edges, axis=0)) == len(edges)
    _, counts = np.unique(np.sort(edges, axis=1), axis=0, return_counts=True)
    assert set(counts.tolist()) == {2}
    boxes = sum(np.prod(link.size) for link in FINGERS[name].links)
    assert 0.6 * boxes < volume(skin, skin.bent(data)) < boxes


@pytest.mark.parametrize("bend", [0.05, 0.2])
def test_equal_angles_make_an_arc(bend: float) -> None:
    section, joints = 0.02, 8
    finger = sg.rld.discretise(0.1, 1e-3, 0.02, joints, section=(section, section))
    _, data, skin = skinned(finger)
    data.qpos[:] = bend
    mujoco.mj_kinematics(data.model, data)
    inner = np.abs(skin.vertices[:, 2] + section / 2) < 1e-4
    middle = (skin.vertices[:, 0] > 0.02) & (skin.vertices[:, 0] < 0.08)
    x, _, z = skin.bent(data)[inner & middle].T
    # least-squares circle: x² + z² = 2 a x + 2 b z + c
    columns = np.column_stack([2 * x, 2 * z, np.ones_like(x)])
    a, b, c = np.linalg.lstsq(columns, x**2 + z**2, rcond=None)[0]
    radius = np.sqrt(c + a**2 + b**2)
    assert radius == pytest.approx(0.1 / joints / bend - section / 2, rel=0.02)
    assert np.hypot(x - a, z - b) == pytest.approx(radius, abs=4e-3 * bend * section)


@pytest.mark.parametrize("pressure", [1e5, 2e5])
def test_no_triangle_flips_in_a_bent_skin(pressure: float) -> None:
    _, data, skin = skinned(FINGERS["paper000"])
    rest = sg.equilibrium(
        FINGERS["paper000"], pressure=pressure, gravity=False, error_estimate=False
    )
    data.qpos[:] = rest.joint_angles
    mujoco.mj_kinematics(data.model, data)

    def flat(vertices: np.ndarray) -> np.ndarray:
        a, b, c = (vertices[skin.faces[:, k]] for k in range(3))
        return np.cross(b - a, c - a)

    rotations = np.tensordot(skin.weights, data.xmat[skin.bodies].reshape(-1, 3, 3), axes=1)
    rotated = np.einsum("nij,nj->ni", rotations[skin.faces[:, 0]], flat(skin.vertices))
    assert (np.einsum("ni,ni->n", rotated, flat(skin.bent(data))) > 0.0).all()


def test_joint_at_the_end_of_a_finger_is_covered() -> None:
    finger = FINGERS["paper000"]
    first = finger.links[0].replace(center=(0.0045, 0.0, 0.0))
    _, data, skin = skinned(finger.replace(links=(first, *finger.links[1:])))
    assert np.isfinite(skin.bent(data)).all()
    assert skin.weights.sum(axis=1) == pytest.approx(1.0)


def test_folds_of_planar_fingers() -> None:
    finger = FINGERS["paper000"]
    smooth, _ = finger_surface(finger, ripple=False)
    folded, _ = finger_surface(finger)
    depth = smooth - folded
    assert (depth[:, :2] == 0.0).all()
    assert 5e-4 < depth[:, 2].max() < 3e-3
    assert depth[:, 2].min() >= 0.0
    assert (depth[:-2, 2].reshape(-1, SIDES)[:, SIDES // 2 :] == 0.0).all()
    spatial = FINGERS["spatial"]
    assert np.array_equal(finger_surface(spatial)[0], finger_surface(spatial, ripple=False)[0])


def test_skin_moves_with_the_base() -> None:
    finger = FINGERS["paper000"]
    spec = finger_spec(finger)
    bodies = [f"link{index}" for index in range(len(finger.links))]
    add_finger_skin(spec, "skin", finger, bodies, (1.0, 1.0, 1.0, 1.0))
    spec.body("link0").quat = [0.5, 0.5, -0.5, 0.5]
    spec.body("link0").pos = [0.1, -0.2, 0.3]
    model = spec.compile()
    data = mujoco.MjData(model)
    mujoco.mj_kinematics(model, data)
    skin = skins_of(model)[0]
    rotation = data.body("link0").xmat.reshape(3, 3)
    assert skin.bent(data) == pytest.approx(skin.vertices @ rotation.T + [0.1, -0.2, 0.3], abs=1e-6)


# Damping


def slowest_decrement(model: mujoco.MjModel) -> float:
    """Logarithmic decrement of the slowest mode of the engine's step about the straight pose."""
    matrix = np.zeros((2 * model.nv, 2 * model.nv))
    mujoco.mjd_transitionFD(model, mujoco.MjData(model), 1e-6, True, matrix, None, None, None)
    rates = np.log(np.linalg.eigvals(matrix).astype(complex))
    slowest = min(rates[rates.imag > 1e-9], key=abs)
    return float(-2.0 * np.pi * slowest.real / slowest.imag)


@pytest.mark.parametrize("step", [5e-4, 2e-4, 1e-5])
def test_a_finger_of_a_scene_rings_down_by_its_described_damping(step: float) -> None:
    hand = sg.load_hand("soft_gripper")
    scene = sg.GraspScene(hand=hand, object=sg.load_object("sphere"), timestep=step)
    built = compile_scene(scene).model
    digit = hand.soft_fingers[0]
    model = finger_spec(digit.finger).compile()
    inertia, stiffness = np.zeros((model.nv, model.nv)), np.diag(model.jnt_stiffness)
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    mujoco.mj_fullM(model, data, inertia)
    motion = -np.linalg.solve(inertia, np.hstack([stiffness, np.diag(model.dof_damping)]))
    law = np.linalg.eigvals(np.vstack([np.eye(model.nv, 2 * model.nv, model.nv), motion]))
    exact = min(law[law.imag > 0.0], key=abs)
    joints = [built.joint(name) for name in names.soft_joint_names(digit)]
    model.dof_damping[:] = built.dof_damping[[int(joint.dofadr[0]) for joint in joints]]
    model.opt.integrator, model.opt.gravity[:] = built.opt.integrator, 0.0
    model.opt.timestep = step
    expected = -2.0 * np.pi * exact.real / exact.imag
    assert slowest_decrement(model) == pytest.approx(expected, rel=0.003)


def test_damping_that_an_implicit_step_exceeds_is_reported_with_the_step_to_use() -> None:
    scene = sg.GraspScene(hand=sg.load_hand("soft_gripper"), object=sg.load_object("sphere"))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        compile_scene(scene.replace(timestep=5e-4))
    message = (
        r"timestep: 0\.001 s damps 4 of 14 joints of soft fingers by more than described, most "
        r"\w+ with \S+ instead of \S+ N·m·s/rad; use a time step of at most D/K = 0\.000512 s, or "
        r"solver\.integrator: implicitfast"
    )
    with pytest.warns(sg.SoftgraspWarning, match=message):
        compile_scene(scene.replace(timestep=1e-3))
