"""Tree of a hand from its model: surface points, spheres in the links, inner sides."""

from __future__ import annotations

import mujoco
import numpy as np
import pytest

import softgrasp as sg
from softgrasp.grasp_synthesis.kinematic_tree import KinematicTree
from softgrasp.model.grasp_geometry import (
    LINK_POINTS,
    PALM_POINTS,
    contact_links,
    geom_vertices,
    kinematic_tree_of,
    link_spheres,
)
from softgrasp.pipeline import compile_scene
from tests.support.scenes import pinch

SHAPES = {
    "sphere": "type='sphere' size='0.02'",
    "capsule": "type='capsule' size='0.01 0.03'",
    "cylinder": "type='cylinder' size='0.01 0.03'",
    "box": "type='box' size='0.01 0.02 0.03'",
    "ellipsoid": "type='ellipsoid' size='0.01 0.02 0.03'",
}


@pytest.fixture(scope="module")
def built() -> tuple[KinematicTree, mujoco.MjModel, list[int]]:
    scene = compile_scene(pinch())
    random = np.random.default_rng(0)
    tree = kinematic_tree_of(scene.model, scene.scene.hand, scene.bodies, random)
    touching = sorted(scene.model.body(name).id for name in scene.bodies)
    return tree, scene.model, touching


def test_points_are_on_the_surface_more_on_the_palm_than_on_links(built) -> None:
    tree, model, touching = built
    jointed = [bool(model.body_jntnum[body]) for body in touching]
    counts = np.unique(tree.points.body, return_counts=True)[1]
    expected = [LINK_POINTS if moves else PALM_POINTS for moves in jointed]
    assert counts.tolist() == expected
    assert len(set(expected)) == 2
    assert np.linalg.norm(tree.points.normal, axis=1) == pytest.approx(1.0)


def test_spheres_are_inside_their_links_and_of_different_links(built) -> None:
    tree, _, _ = built
    spheres = link_spheres(tree, np.mean(tree.limits, axis=1)[None])
    for body, center, radius in zip(spheres.body, spheres.center, spheres.radius, strict=True):
        points = tree.points.position[tree.points.body == body]
        assert 0.3 * radius < np.linalg.norm(points - center, axis=1).min() < 3.0 * radius
        assert (np.abs(center - points.mean(axis=0)) <= np.ptp(points, axis=0)).all()
        if body in tree.joint_body:  # a capsule
            assert np.linalg.norm(points - center, axis=1).min() > 0.9 * radius
    pairs = np.stack([spheres.body[spheres.first], spheres.body[spheres.second]])
    assert len(pairs.T)
    parents = [{body, tree.parent[body]} for body in range(len(tree.parent))]
    for first, second in pairs.T.tolist():
        assert first not in parents[second]
        assert second not in parents[first]


def test_inner_sides_move_ahead_as_the_hand_closes(built) -> None:
    tree, _, _ = built
    preset = sg.load_hand("four_finger").grasps.precision
    rates = np.tile(preset.rates, 4)
    targets = np.linspace(tree.limits[:, 0], tree.limits.mean(axis=1), 5)
    links = contact_links(tree, targets, rates, np.array(preset.center))
    assert {link.body for link in links} <= set(range(len(tree.parent)))
    tips = [link for link in links if link.tip]
    assert len(tips) == 4
    velocity = tree.point_velocities(targets, rates).mean(axis=0)
    normal = tree.point_positions(tree.postures(targets))[1].mean(axis=0)
    for link in tips:
        assert 0 < len(link.points) < LINK_POINTS
        ahead = np.einsum("pi,pi->p", velocity[link.points], normal[link.points])
        assert ahead.min() > 0.0


@pytest.mark.parametrize("kind", SHAPES)
def test_vertices_reach_as_far_as_the_shape(kind: str) -> None:
    """The support of the hull of vertices along the axes is that of MuJoCo's bounding box."""
    model = mujoco.MjModel.from_xml_string(
        f"<mujoco><worldbody><geom {SHAPES[kind]}/></worldbody></mujoco>"
    )
    vertices = geom_vertices(model, 0)
    assert vertices.max(axis=0) == pytest.approx(model.geom_aabb[0, 3:], rel=0.02)
    assert -vertices.min(axis=0) == pytest.approx(model.geom_aabb[0, 3:], rel=0.02)
    assert (np.abs(vertices) <= model.geom_aabb[0, 3:] + 1e-12).all()


def test_a_plane_has_no_vertices() -> None:
    model = mujoco.MjModel.from_xml_string(
        "<mujoco><worldbody><geom name='floor' type='plane' size='1 1 1'/></worldbody></mujoco>"
    )
    with pytest.raises(sg.BuildError):
        geom_vertices(model, 0)
