"""Bendable segments as chains of cells: what they weigh, how they give way, how they converge."""

from __future__ import annotations

import math
from typing import Any

import mujoco
import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import softgrasp as sg
from softgrasp.description.bendable import Backbone, Bendable, Chamber, CurvatureLimits, Inertial
from softgrasp.mechanics.transforms import Array
from softgrasp.model.robot import robot_model
from tests.build.test_robot import LENGTH, STIFFNESS, arm, at_rest, segment

FREE = CurvatureLimits(kappa_max=10.0)


def bent_end(links: int, theta: float, phi: float) -> Array:
    """Frame of the end under a constant moment, (4, 4)."""
    model = robot_model(arm(segment(backbone={"links": links})))
    moment = theta * STIFFNESS / LENGTH
    data = at_rest(model, {"s1_u": moment * math.cos(phi), "s1_v": moment * math.sin(phi)})
    frame = np.eye(4)
    frame[:3, :3], frame[:3, 3] = data.body("l1").xmat.reshape(3, 3), data.body("l1").xpos
    return frame


@pytest.mark.parametrize("phi", [math.pi / 4, 2.5])
def test_out_of_the_axes_place_and_turn_converge_with_the_square_of_the_cell(phi: float) -> None:
    """All cells in one order would turn 1.2° about the backbone at n = 10, and fall with 1/n."""
    theta = 1.0
    exact = sg.pcc.segment_transform(theta / LENGTH, phi, LENGTH)
    ends = [bent_end(links, theta, phi) for links in (10, 20, 40)]
    away = [np.linalg.norm((end - exact)[:3, 3]) / LENGTH for end in ends]
    rotated = [Rotation.from_matrix(exact[:3, :3].T @ end[:3, :3]).magnitude() for end in ends]
    for errors in (away, rotated):
        assert np.log2(np.divide(errors[:-1], errors[1:])) == pytest.approx(2.0, abs=0.05)
    assert away[0] < 1.1e-3
    assert math.degrees(rotated[0]) < 0.08


def stretchy(**changes: Any) -> Bendable:
    stiff = {"axial_stiffness": 400.0, "torsion_stiffness": 0.4}
    return segment(backbone=stiff | changes.pop("backbone", {}), **changes)


def under_load(part: Bendable, force: Array, moment: Array) -> mujoco.MjData:
    """Rest of a straight segment under a load along or about its axis."""
    model = robot_model(arm(part))
    data = mujoco.MjData(model)
    model.opt.gravity[:] = 0.0
    model.opt.timestep = 1e-4
    data.xfrc_applied[model.body("l1").id] = [*force, *moment]
    for _ in range(4):
        mujoco.mj_forward(model, data)
        linear, angular = np.zeros((3, model.nv)), np.zeros((3, model.nv))
        mujoco.mj_jacBody(model, data, linear, angular, model.body("l1").id)
        load = linear.T @ force + angular.T @ moment
        stiffness = np.zeros(model.nv)
        stiffness[model.jnt_dofadr] = model.jnt_stiffness
        data.qpos[:] = load / stiffness
    mujoco.mj_forward(model, data)
    return data


@pytest.mark.parametrize("links", [1, 2, 7])
def test_it_stretches_by_force_and_twists_by_moment(links: int) -> None:
    part = stretchy(backbone={"links": links})
    pulled = under_load(part, np.array([0.0, 0.0, 20.0]), np.zeros(3))
    assert pulled.body("l1").xpos[2] == pytest.approx(LENGTH * (1.0 + 20.0 / 400.0), rel=1e-12)
    twisted = under_load(part, np.zeros(3), np.array([0.0, 0.0, 0.3]))
    rotation = Rotation.from_matrix(twisted.body("l1").xmat.reshape(3, 3)).as_rotvec()
    assert rotation == pytest.approx([0.0, 0.0, 0.3 * LENGTH / 0.4], abs=1e-12)


def test_stretching_and_bending_together_converge_with_the_square_of_the_cell() -> None:
    """Slides before the hinges in all cells would be off by the elongation of half a cell."""
    actuators = tuple(Chamber(angle=angle, radius=0.05, area=2e-4) for angle in (0.0, 2.1, 4.2))
    errors = []
    for links in (8, 16, 32):
        part = stretchy(actuation=actuators, backbone={"links": links})
        model = robot_model(arm(part))
        data = at_rest(model, {"s1_chamber1": 9e4})
        long = LENGTH * (1.0 + 9e4 * 2e-4 / 400.0)
        theta = 9e4 * 2e-4 * 0.05 * LENGTH / STIFFNESS
        exact = sg.pcc.segment_transform(theta / long, math.pi, long)
        errors.append(np.linalg.norm(data.body("l1").xpos - exact[:3, 3]))
    assert np.log2(np.divide(errors[:-1], errors[1:])) == pytest.approx(2.0, abs=0.1)


def test_all_directions_relax_alike() -> None:
    """One material: damping over stiffness is that of bending, c/EI."""
    model = robot_model(arm(stretchy(backbone={"damping": 0.03})))
    ratio = model.dof_damping / model.jnt_stiffness[model.dof_jntid]
    assert ratio == pytest.approx(0.03 / STIFFNESS)


def test_a_slide_keeps_to_the_range_of_the_elongation() -> None:
    limits = FREE.replace(eps_min=-0.1, eps_max=0.2)
    model = robot_model(arm(stretchy(limits=limits, backbone={"links": 4})))
    slides = [model.joint(f"s1_S{k}").range for k in range(1, 5)]
    assert np.sum(slides, axis=0) == pytest.approx([-0.1 * LENGTH, 0.2 * LENGTH])


def whole_inertia(model: mujoco.MjModel) -> Array:
    """Inertia of all bodies about the middle of the straight segment, (3, 3)."""
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    total = np.zeros((3, 3))
    for body in range(1, model.nbody):
        rotation = data.ximat[body].reshape(3, 3)
        arm_ = data.xipos[body] - [0.0, 0.0, LENGTH / 2]
        total += rotation @ np.diag(model.body_inertia[body]) @ rotation.T
        total += model.body_mass[body] * (arm_ @ arm_ * np.eye(3) - np.outer(arm_, arm_))
    return total


@pytest.mark.parametrize("links", [1, 2, 9])
def test_a_segment_without_inertia_is_a_uniform_cylinder(links: int) -> None:
    model = robot_model(arm(segment(backbone={"links": links})))
    across, along = 0.3 * (0.07**2 / 4 + LENGTH**2 / 12), 0.3 * 0.07**2 / 2
    assert whole_inertia(model) == pytest.approx(np.diag([across, across, along]), abs=1e-15)
    assert model.body_mass.sum() == pytest.approx(0.3, rel=1e-14)


@pytest.mark.parametrize("links", [1, 2, 9])
def test_a_segment_has_the_inertia_that_is_given(links: int) -> None:
    given = (4e-3, 5e-3, 3e-3, 2e-4, 0.0, 0.0)
    model = robot_model(
        arm(segment(inertial=Inertial(mass=0.3, inertia=given), backbone={"links": links}))
    )
    xx, yy, zz, xy, _, _ = given
    target = np.array([[xx, xy, 0.0], [xy, yy, 0.0], [0.0, 0.0, zz]])
    assert whole_inertia(model) == pytest.approx(target, abs=1e-15)


def test_the_child_of_a_planar_webster_frame_is_turned_with_the_plane() -> None:
    limits = FREE.replace(phi_min=0.6, phi_max=0.6)
    model = robot_model(arm(segment(frame="webster", limits=limits, backbone={"links": 30})))
    data = at_rest(model, {"s1_bend": 2.0 * STIFFNESS})
    exact = sg.pcc.segment_transform(2.0, 0.6, LENGTH, "webster")
    assert data.body("l1").xmat.reshape(3, 3) == pytest.approx(exact[:3, :3], abs=1e-9)


@pytest.mark.parametrize(
    ("part", "sentence"),
    [
        (
            stretchy(backbone={"axial_stiffness": 0.0}),
            "bendable 's1': expected axial_stiffness above 0, or none for a segment that does not "
            "give way, found 0",
        ),
        (
            stretchy(backbone={"torsion_stiffness": 0.0}),
            "bendable 's1': expected torsion_stiffness above 0, or none for a segment that does "
            "not give way, found 0",
        ),
        (
            segment(inertial=Inertial(mass=0.3, inertia=(1e-4, 1e-4, 1e-4, 0, 0, 0))),
            "bendable 's1': expected an inertia about its middle that a body of its length and "
            "mass can have, found (0.0001, 0.0001, 0.0001, 0.0, 0.0, 0.0); without one it is that "
            "of a uniform cylinder",
        ),
    ],
)
def test_what_cannot_be_built(part: Bendable, sentence: str) -> None:
    with pytest.raises(sg.BuildError) as caught:
        robot_model(arm(part))
    assert str(caught.value) == sentence


def test_a_segment_without_mass_is_told() -> None:
    backbone = Backbone(length=LENGTH, radius=0.07, bending_stiffness=STIFFNESS)
    part = segment(inertial=None).replace(backbone=backbone)
    with pytest.warns(sg.SoftgraspWarning) as caught:
        robot_model(arm(part))
    assert [str(result.message) for result in caught] == [
        "bendable 's1': expected a mass, found none; it gets 1e-06 kg"
    ]
