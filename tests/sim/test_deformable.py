"""Deformable objects: stiffness of a block, weight, debounced contact, and what is refused."""

from __future__ import annotations

import math
from functools import cache
from typing import Any

import mujoco
import numpy as np
import pytest

import softgrasp as sg
from softgrasp.envs.episode import with_goal
from softgrasp.model.deformable import node_bodies, node_positions, node_track
from softgrasp.model.object import object_mass
from softgrasp.pipeline import compile_scene
from softgrasp.rendering.keyframes import Playback
from softgrasp.sim.grasp_run import ClosureRun
from tests.conftest import Golden
from tests.support.scenes import ball, pinch, plate, press

EDGE, YOUNG = 0.05, 5e4


def foam(**changes: object) -> sg.GraspObject:
    """A cube of foam."""
    elastic = {"young": YOUNG, "poisson": 0.0} | changes
    return sg.GraspObject(
        name="foam",
        shape=sg.Cuboid(size=(EDGE, EDGE, EDGE)),
        density=100.0,
        elasticity=sg.description.Elasticity(**elastic),
    )


def soft_ball(young: float = 3e4) -> sg.GraspObject:
    return ball(density=300.0).replace(elasticity=sg.description.Elasticity(young=young))


@cache
def pinched() -> sg.GraspResult:
    """A soft ball between four fingertips."""
    return sg.simulate(pinch(object=soft_ball()))


def compression_stiffness(obj: sg.GraspObject) -> float:
    """Force over shortening between two pads, from two loads [N/m]."""
    run = ClosureRun(compile_scene(press(obj, 0.5 * EDGE + 0.002)))
    run.close()
    model, data, message = run.model, run.data, []
    nodes, dofs = node_bodies(model), [model.joint(f"{side}_J1") for side in ("left", "right")]
    data.ctrl[:] = [float(data.qpos[joint.qposadr[0]]) for joint in dofs]
    for push in (0.0, 5e-4):
        data.ctrl[:] += push
        mujoco.mj_step(model, data, 1500)
        mujoco.mj_forward(model, data)
        width = float(np.ptp(data.xpos[nodes][:, 0]))
        force = sum(point.normal_force for point in run.contact_points()) / 2
        message.append((width, force))
    (width, force), (less, more) = message
    return (more - force) / (width - less)


@pytest.mark.slow
def test_a_block_is_as_stiff_as_a_bar() -> None:
    # measured factor on E·A/h: 1.04 … 1.08 on MuJoCo 3.17, 0.96 … 1.00 on MuJoCo 4.0
    assert compression_stiffness(foam()) == pytest.approx(YOUNG * EDGE, rel=0.12)


@pytest.mark.slow
def test_cells_inside_it_change_little_of_a_uniform_load() -> None:
    assert len(node_bodies(compile_scene(plate(foam(cells=(2, 2, 2)), 0.5 * EDGE)).model)) == 27
    assert compression_stiffness(foam(cells=(1, 1, 2))) == pytest.approx(YOUNG * EDGE, rel=0.12)


@pytest.mark.slow
def test_pads_that_hold_its_faces_leave_uniaxial_strain() -> None:
    # E·(1 − ν)/((1 + ν)·(1 − 2·ν)) = 1.346·E; friction of the pads keeps the faces from growing
    held = compression_stiffness(foam(young=2e4, poisson=0.3))
    assert held == pytest.approx(1.346 * 2e4 * EDGE, rel=0.12)


def test_it_rests_with_its_weight() -> None:
    result = sg.simulate(plate(foam(), 0.5 * EDGE, duration=1.0))
    assert result.normal_force[-1].sum() == pytest.approx(100.0 * EDGE**3 * 9.81, rel=1e-3)
    assert result.object_nodes.shape == (len(result.time), 8, 3)
    assert result.object_position[-1, 2] == pytest.approx(0.5 * EDGE, abs=2e-4)


def test_a_hand_closes_on_it_debounced_and_holds_it() -> None:
    result = sg.simulate(pinch(object=soft_ball(), success=sg.SuccessCriterion()))
    assert result.status is sg.GraspStatus.CLOSED
    assert result.held is True
    held = [contact for contact in result.contacts if contact.in_contact]
    assert [contact.body for contact in held] == ["F1_P3", "F2_P3", "F3_P3", "F4_P3"]
    for contact in held:
        (established,) = contact.established_s
        assert contact.first_touch_s is not None
        # ten samples above the threshold, the first of them at the touch or soon after
        assert 0.008 < established - contact.first_touch_s < 0.03
    assert result.hold.weight_N == pytest.approx(300 * 4 / 3 * math.pi * 0.03**3 * 9.81)


def test_prescribed_joints_close_on_it_too() -> None:
    result = sg.simulate(pinch(object=soft_ball(), actuation="prescribed"))
    assert result.status is sg.GraspStatus.CLOSED
    assert result.normal_force[-1].max() > 1.0


def test_every_run_warns_that_versions_differ() -> None:
    result = pinched()
    assert result.warnings == (
        f"deformable object: results of MuJoCo {mujoco.__version__} cannot be compared with those "
        "of another version, whose flexes have other stiffness; its contacts have MuJoCo's own law "
        "(elasticity.contact_time), not stiffness and damping in N/m and N·s/m",
    )


def test_the_same_scene_gives_the_same_bits_and_comes_back_from_its_files(tmp_path) -> None:
    first, second = pinched(), sg.simulate(pinch(object=soft_ball()))
    assert first.trajectory_sha256 == second.trajectory_sha256
    first.save(tmp_path)
    loaded = sg.load_result(tmp_path)
    assert loaded.scene == first.scene
    np.testing.assert_array_equal(loaded.object_nodes, first.object_nodes)


def test_a_rigid_rotation_of_the_nodes_is_the_rotation_of_the_object() -> None:
    scene = pinch(object=soft_ball(), object_euler=(0.3, -0.2, 0.5))
    result = sg.simulate(scene)
    start = sg.simulate(scene.replace(object=ball(density=300.0))).object_quat_wxyz[0]
    np.testing.assert_allclose(result.object_quat_wxyz[0], start, atol=1e-6)


def test_node_displacements_and_positions_agree() -> None:
    model = compile_scene(pinch(object=soft_ball(), object_euler=(0.3, -0.2, 0.5))).model
    shifts = np.random.default_rng(1).normal(0.0, 0.002, (1, model.nq))
    positions = node_track(model, shifts)[0]
    first = int(model.jnt_qposadr[model.body_jntadr[node_bodies(model)[0]]])
    np.testing.assert_allclose(
        node_positions(model, positions).ravel(), shifts[0, first : first + 24], atol=1e-15
    )


def test_playback_shows_the_deformed_skin() -> None:
    playback = Playback(pinched())
    assert playback.model.nskin == 1
    widths = []
    for time in playback.result.time[[0, -1]]:
        data = playback.pose(float(time))
        widths.append(np.ptp(data.xpos[node_bodies(playback.model)], axis=0))
    assert np.abs(widths[1] - widths[0]).max() > 1e-3


def soft_pinch(**changes: Any) -> sg.GraspScene:
    return pinch(object=soft_ball(), **changes)


def beside(obj: sg.GraspObject, **fields: Any) -> tuple[sg.description.PlacedObject, ...]:
    return (sg.description.PlacedObject(object=obj, position=(1.0, 0.0, 0.0), **fields),)


SWITCHING = sg.Contact(dynamic_friction=0.3)
PILL = {"name": "pill", "shape": sg.description.Capsule(radius=0.01, length=0.02), "mass": 0.01}


@pytest.mark.parametrize(
    ("build", "field"),
    [
        (lambda: soft_pinch(object_mount="planar"), "object_mount"),
        (lambda: soft_pinch(object_mount="fixed"), "object_mount"),
        (
            lambda: soft_pinch(solver=sg.description.Solver(integrator="implicitfast")),
            "solver.integrator",
        ),
        (lambda: soft_pinch(contact=SWITCHING), "contact.dynamic_friction"),
        (
            lambda: soft_pinch(objects=beside(ball(), contact=SWITCHING)),
            "objects[0].contact.dynamic_friction",
        ),
        (lambda: pinch(objects=beside(foam())), "objects[0].object.elasticity"),
        (lambda: with_goal(soft_pinch()), "object.elasticity"),
        (
            lambda: sg.GraspObject(**PILL, elasticity=sg.description.Elasticity(young=1e4)),
            "elasticity",
        ),
    ],
)
def test_what_it_cannot_do_is_refused(build: Any, field: str, golden: Golden) -> None:
    golden.refused(build, field)


def test_it_runs_in_no_other_engine(golden: Golden) -> None:
    from softgrasp.backends.webots.world import scene_world

    built = compile_scene(pinch(object=soft_ball(), self_contact=False))
    golden.refused(lambda: scene_world(built, 1e-3, ()), "object.elasticity", sg.BuildError)


@pytest.mark.slow
def test_a_table_carries_it_until_the_hand_lifts_it() -> None:
    result = sg.simulate(sg.load_scene("foam_cube"))
    assert result.held is True
    assert result.hold.lifted_m == pytest.approx(0.1, abs=0.005)


def test_a_direction_pushes_all_of_it() -> None:
    limits = {"direction_time": 0.1, "max_drop": 5e-3, "max_rotation": 0.5}
    held = {}
    for load in (5.0, 3000.0):
        criterion = sg.SuccessCriterion(gravity=None, directions=((0.0, load, 0.0),), **limits)
        result = sg.simulate(pinch(object=soft_ball(), success=criterion))
        (test,) = result.hold.directions
        assert test.force_N == pytest.approx(load * object_mass(result.scene.object))
        held[load] = test.held
        assert (test.drop_m > 5e-3) is not test.held
    assert held == {5.0: True, 3000.0: False}


@pytest.mark.slow
def test_a_rigid_object_rests_on_a_deformable_one_on_a_table() -> None:
    brick = sg.GraspObject(name="brick", shape=sg.Cuboid(size=(0.04, 0.04, 0.02)), mass=0.05)
    on_top = sg.description.PlacedObject(object=brick, position=(1.0, 0.0, EDGE + 0.0105))
    scene = pinch(
        object=foam(),
        object_position=(1.0, 0.0, 0.5 * EDGE + 1e-4),
        objects=(on_top,),
        surroundings=(sg.Table(),),
        gravity=True,
        duration=0.8,
    )
    result = sg.simulate(scene)
    weight = {"brick": 0.05 * 9.81, "table": (0.05 + 100.0 * EDGE**3) * 9.81}
    assert {(c.first, c.second) for c in result.other_contacts} == {
        ("foam", "brick"),
        ("foam", "table"),
    }
    for contact in result.other_contacts:
        up = 1.0 if contact.second == "brick" else -1.0
        assert contact.normal[2] == pytest.approx(up, abs=1e-3)
        assert up * contact.force_N[2] == pytest.approx(weight[contact.second], rel=5e-3)


@pytest.mark.slow
def test_twice_the_modulus_is_twice_the_stiffness() -> None:
    soft, stiff = (compression_stiffness(foam(young=young)) for young in (2e4, 4e4))
    assert stiff / soft == pytest.approx(2.0, rel=0.03)
