"""dm_control: the composed scene moves as ours does."""

from __future__ import annotations

import numpy as np
import pytest

import softgrasp as sg
from softgrasp.envs import dm_env
from tests.scenes import pinch

pytest.importorskip("dm_control", reason="dm_control is the extra 'dm' (Python 3.11 and 3.12)")


@pytest.mark.parametrize("mount", ["free", "fixed"])
def test_a_composed_scene_moves_as_ours_does(mount: str) -> None:
    scene = pinch(object_mount=mount, duration=0.45)
    ours = sg.simulate(scene)
    composed = dm_env.composer_scene(scene)
    physics = dm_env.compile_physics(composed)
    joints = physics.bind(composed.hand.mjcf_model.find_all("joint"))
    actuators = physics.bind(composed.hand.mjcf_model.find_all("actuator"))
    track = [np.array(joints.qpos)]
    for targets in ours.joint_target[:-1]:
        actuators.ctrl = targets
        physics.step()
        track.append(np.array(joints.qpos))
    assert any(contact.in_contact for contact in ours.contacts)
    assert np.abs(np.array(track) - ours.joint_position).max() < 1e-4
    position, _ = composed.object.get_pose(physics)
    assert np.abs(np.array(position) - ours.object_position[-1]).max() < 1e-4


def test_the_arena_has_our_solver_and_not_its_own() -> None:
    scene = pinch()
    ours = sg.compile_model(scene)
    theirs = dm_env.compile_physics(dm_env.composer_scene(scene)).model
    for option in ("timestep", "integrator", "cone", "impratio", "noslip_iterations", "jacobian"):
        assert getattr(theirs.opt, option) == getattr(ours.opt, option), option
    assert theirs.npair == ours.npair


def test_a_planar_object_is_refused() -> None:
    with pytest.raises(sg.BuildError) as refused:
        dm_env.composer_scene(pinch(object_mount="planar"))
    assert str(refused.value) == (
        "object_mount: expected 'free' or 'fixed' for dm_control, found 'planar'"
    )


def test_a_missing_dm_control_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dm_env, "find_spec", lambda name: None)
    with pytest.raises(sg.BackendUnavailable) as refused:
        dm_env.composer_scene(pinch())
    assert str(refused.value) == (
        "dm_control is not installed: pip install 'softgrasp[dm]' (Python 3.11 or 3.12)"
    )


def test_mujoco_4_is_named_as_the_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dm_env.mujoco, "__version__", "4.0.0")
    with pytest.raises(sg.BackendUnavailable) as refused:
        dm_env.composer_scene(pinch())
    assert str(refused.value) == (
        "dm_control 1.0 needs MuJoCo below 4, found 4.0.0: pip uninstall -y mujoco mujoco-core "
        "mujoco-studio && pip install 'softgrasp[dm]'"
    )


def test_a_deformable_object_is_refused_and_sensors_are_told_to_be_left_out() -> None:
    obj = pinch().object.replace(elasticity=sg.Elasticity(young=1e5))
    with pytest.raises(sg.BuildError) as error:
        dm_env.composer_scene(pinch(object=obj))
    assert str(error.value) == (
        "object.elasticity: expected a rigid object for dm_control, found a deformable one"
    )
    wrist = sg.ForceTorqueSensor(name="wrist")
    with pytest.warns(sg.SoftgraspWarning, match="sensors: 1 of the scene are left out"):
        dm_env.composer_scene(pinch(sensors=(wrist,)))
