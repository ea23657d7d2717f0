"""Energy of grasp postures: its gradient, its contact forces, and the search for postures."""

from __future__ import annotations

from dataclasses import replace

import mujoco
import numpy as np
import pytest

import softgrasp as sg
from softgrasp.grasp_synthesis.grasp_energy import (
    Candidates,
    balance_forces,
    cone_edges,
    equal_forces,
    onto_simplex,
    support,
)
from softgrasp.grasp_synthesis.grasp_seeds import seed_candidates
from softgrasp.grasp_synthesis.kinematic_tree import rotation_vectors
from softgrasp.grasp_synthesis.posture_search import DIRECTIONS, PostureSearch, diverse
from softgrasp.model.grasp_geometry import hand_joints
from softgrasp.model.retreat import HandRetreat
from softgrasp.sweeps.synthesis import posture_search_of


@pytest.fixture(scope="module")
def scene() -> sg.GraspScene:
    return sg.GraspScene(hand=sg.load_hand("four_finger"), object=sg.load_object("sphere"))


@pytest.fixture(scope="module")
def retreat(scene: sg.GraspScene) -> HandRetreat:
    return HandRetreat(scene)


@pytest.fixture(scope="module")
def search(scene: sg.GraspScene, retreat: HandRetreat) -> PostureSearch:
    return posture_search_of(scene, retreat)


def seeds(search: PostureSearch, count: int, seed: int = 0) -> Candidates:
    random = np.random.default_rng(seed)
    return seed_candidates(search.hand, search.energy.surface, random, count, tips_only=0.5)


@pytest.mark.slow
def test_the_kinematics_are_those_of_the_simulation(
    search: PostureSearch, retreat: HandRetreat
) -> None:
    tree, model, data = search.hand.tree, retreat.model, retreat.data
    targets = np.random.default_rng(0).uniform(*tree.limits.T, size=(3, len(tree.limits)))
    postures = tree.postures(targets)
    bodies = [int(model.jnt_bodyid[joint]) for joint in hand_joints(model, retreat.built.bodies)]
    for index, row in enumerate(targets):
        retreat.open_to(row)
        mujoco.mj_kinematics(model, data)
        for number, body in zip(tree.joint_body, bodies, strict=True):
            assert postures.position[index, number] == pytest.approx(data.xpos[body], abs=1e-12)
            rotation = data.xmat[body].reshape(3, 3)
            assert postures.rotation[index, number] == pytest.approx(rotation, abs=1e-12)


@pytest.mark.parametrize("plane", [None, np.array([0.0, 0.6, 0.8, -0.02])])
def test_the_gradient_is_the_derivative_of_the_energy(
    search: PostureSearch, plane: np.ndarray | None
) -> None:
    energy = replace(search.energy, plane=plane)
    start = seeds(search, 12)
    # closed hands, so that links penetrate the object and each other
    start = replace(start, targets=search.hand.closing(np.linspace(0.3, 1.0, 12)))
    start = replace(start, forces=energy.evaluate(start, 30).forces)
    at = energy.evaluate(start, force_steps=0)
    assert (at.penetration > 0.0).any()
    assert (at.self_penetration > 0.0).any()
    step = 1e-7

    def slope(ahead: Candidates, behind: Candidates) -> np.ndarray:
        change = energy.evaluate(ahead, 0).energy - energy.evaluate(behind, 0).energy
        return np.asarray(change / (2.0 * step))

    for axis in range(3):
        shift = step * np.eye(3)[axis]
        ahead = replace(start, position=start.position + shift)
        behind = replace(start, position=start.position - shift)
        assert at.position_gradient[:, axis] == pytest.approx(slope(ahead, behind), rel=2e-3)
        turns = [rotation_vectors(np.tile(sign * shift, (12, 1))) for sign in (1.0, -1.0)]
        ahead, behind = (replace(start, rotation=turn @ start.rotation) for turn in turns)
        expected = slope(ahead, behind)
        assert at.rotation_gradient[:, axis] == pytest.approx(expected, rel=2e-3, abs=1e-3)
    for index in range(start.targets.shape[1]):
        shift = step * np.eye(start.targets.shape[1])[index]
        ahead = replace(start, targets=start.targets + shift)
        behind = replace(start, targets=start.targets - shift)
        expected = slope(ahead, behind)
        assert at.target_gradient[:, index] == pytest.approx(expected, rel=2e-3, abs=1e-3)


def test_opposite_contacts_balance_and_contacts_on_one_side_do_not() -> None:
    def residual(outward: list[list[float]]) -> float:
        normals = np.array([outward], dtype=float)
        edges = cone_edges(normals, 0.4)
        wrenches = np.concatenate([edges, np.cross(normals[..., None, :], edges)], axis=-1)
        everyone = np.ones(normals.shape[:2], dtype=bool)
        cost = np.zeros(normals.shape[:2])
        forces = balance_forces(wrenches, cost, everyone, equal_forces(everyone), 300)
        assert forces.sum() == pytest.approx(1.0)
        assert forces.min() >= 0.0
        return float(np.linalg.norm(np.einsum("ske,skei->i", forces, wrenches)))

    assert residual([[1, 0, 0], [-1, 0, 0]]) == pytest.approx(0.0, abs=1e-6)
    assert residual([[1, 0, 0], [0.8, 0.6, 0]]) > 0.5


def test_the_edges_of_a_cone_are_inside_it() -> None:
    normals = np.random.default_rng(4).normal(size=(1, 20, 3))
    normals /= np.linalg.norm(normals, axis=-1, keepdims=True)
    edges = cone_edges(normals, 0.4)
    along = -(edges * normals[..., None, :]).sum(axis=-1)
    tangent = np.linalg.norm(edges + along[..., None] * normals[..., None, :], axis=-1)
    assert along == pytest.approx(np.ones_like(along))
    assert tangent.max() <= 0.4 + 1e-12


def test_the_projection_onto_the_simplex_is_the_nearest_point_of_it() -> None:
    random = np.random.default_rng(5)
    values = random.normal(size=(20, 6))
    values[:, 2] = -np.inf
    nearest = onto_simplex(values)
    assert nearest.sum(axis=1) == pytest.approx(np.ones(20))
    assert (nearest >= 0.0).all()
    assert (nearest[:, 2] == 0.0).all()
    finite = np.delete(values, 2, axis=1)
    others = random.dirichlet(np.ones(5), size=200)
    to_nearest = np.linalg.norm(np.delete(nearest, 2, axis=1) - finite, axis=1)
    to_others = np.linalg.norm(others[None] - finite[:, None], axis=2)
    assert (to_others >= to_nearest[:, None] - 1e-12).all()


def test_support_is_negative_for_one_contact_and_positive_for_a_closure() -> None:
    def smallest(normals: np.ndarray) -> float:
        edges = cone_edges(normals[None], 0.4)
        wrenches = np.concatenate([edges, np.cross(normals[None, :, None], edges)], axis=-1)
        return float(support(wrenches, np.ones((1, len(normals)), dtype=bool), DIRECTIONS)[0])

    tetrahedron = np.array([[1, 1, 1], [1, -1, -1], [-1, 1, -1], [-1, -1, 1]]) / np.sqrt(3.0)
    assert smallest(tetrahedron[:1]) <= 0.0
    assert smallest(tetrahedron) > 0.1


def test_the_descent_lowers_the_energy_of_every_candidate(search: PostureSearch) -> None:
    start = seeds(search, 8)
    before = search.energy.evaluate(start).energy
    after = search.energy.evaluate(search.descend(search.energy, start, 25)).energy
    assert (after < before).all()
    assert np.median(after / before) < 0.5


@pytest.mark.slow
def test_postures_repeat_for_a_seed_and_touch_without_penetration(search: PostureSearch) -> None:
    item, again, other = (
        search.postures(np.random.default_rng(seed), 4, 10, 0.5) for seed in (1, 1, 2)
    )
    assert len(item) == len(again) > 1
    for first, second in zip(item, again, strict=True):
        assert (first.pose == second.pose).all()
        assert (first.targets == second.targets).all()
    assert not (item[0].pose == other[0].pose).all()
    assert [posture.score for posture in item] == sorted((p.score for p in item), reverse=True)
    low, high = search.hand.tree.limits.T
    for posture in item:
        assert posture.penetration < 1e-3
        assert posture.contacts >= 2
        for targets in (posture.start, posture.targets, posture.squeeze):
            assert ((targets >= low) & (targets <= high)).all()


@pytest.mark.slow
def test_the_closing_motion_goes_through_the_posture(search: PostureSearch) -> None:
    for posture in search.postures(np.random.default_rng(1), 4, 10, 0.5):
        travel = posture.targets - posture.start
        moving = (np.abs(travel) > 1e-6) & (posture.rates != 0.0)
        assert moving.any()
        times = travel[moving] / posture.rates[moving]
        assert (times > 0.0).all()
        assert times == pytest.approx(np.full(len(times), times[0]))  # all fingers arrive together


def test_an_actuator_that_would_close_for_minutes_stays(search: PostureSearch) -> None:
    """The default duration of a run lets the slowest actuator cross its range."""
    start = seeds(search, 2)
    start = replace(start, position=start.position + 1.0)  # far from the object
    low, high = search.hand.tree.limits.T
    start = replace(start, targets=np.repeat([0.5 * (low + high)], 2, axis=0))
    along = -10.0 * np.sign(search.hand.rates)
    slow, other = np.flatnonzero(along)[:2]
    along[slow] *= 1e-4
    _, rates, free = search._opened(start, np.repeat([along], 2, axis=0))
    assert free.all()
    assert (rates[:, slow] == 0.0).all()
    assert (rates[:, other] != 0.0).all()
    assert ((high - low) <= 300.0 * np.abs(rates))[(rates != 0.0)].all()


@pytest.mark.slow
def test_close_poses_come_behind_others(search: PostureSearch) -> None:
    posture = search.postures(np.random.default_rng(1), 1, 10, 0.5)[0]
    shifted, away = posture.pose.copy(), posture.pose.copy()
    shifted[:3, 3] += [0.002, 0.0, 0.0]
    away[:3, 3] += [0.05, 0.0, 0.0]
    ranked = [posture, posture._replace(pose=shifted), posture._replace(pose=away)]
    assert [item.pose[0, 3] for item in diverse(ranked, 2)] == [posture.pose[0, 3], away[0, 3]]
    assert len(diverse(ranked, 3)) == 3


@pytest.mark.slow
def test_a_cone_limits_the_directions_of_the_hand(
    scene: sg.GraspScene, retreat: HandRetreat
) -> None:
    search = posture_search_of(scene, retreat, sg.description.PoseSampling(cone=0.5))
    candidates = search._usable_seeds(seeds(search, 30), np.random.default_rng(0), 0.5)
    directions = -(candidates.rotation @ search.hand.approach)
    assert (directions @ search.cone[0] >= np.cos(0.5) - 1e-9).all()


def test_a_hand_whose_approach_meets_the_table_is_left_out(search: PostureSearch) -> None:
    """The straight approach of 120 mm stays above the table with every point of the opened hand."""
    candidates = seeds(search, 40)
    start = np.repeat(search.hand.start[None], len(candidates), axis=0)
    back = -(candidates.rotation @ search.hand.approach)
    plane = np.array([0.0, 0.0, 1.0, -0.15])  # the object's centre is 150 mm above it
    over = replace(search, energy=replace(search.energy, plane=plane))
    clear = over._clear_of_table(candidates, start)
    postures = np.stack([start, candidates.targets])
    lowest = np.min([over._placed(candidates, t)[..., 2].min(axis=1) for t in postures], axis=0)
    path = np.linspace(0.0, 0.12, 7)[:, None, None] * back[..., 2, None]
    along = (over._placed(candidates, start)[..., 2] + path).min(axis=(0, 2))
    assert (clear == (np.minimum(lowest, along) + 0.15 > 1e-3)).all()
    assert ((lowest + 0.15 > 1e-3) & ~clear).any()
    assert clear.any()
    assert search._clear_of_table(candidates, start).all()  # no table


def test_seeds_are_drawn_above_the_table(search: PostureSearch) -> None:
    over = replace(search, energy=replace(search.energy, plane=np.array([0.0, 0.0, 1.0, -0.15])))
    start = seeds(search, 40)
    assert not over._usable(start).all()
    drawn = over._usable_seeds(start, np.random.default_rng(0), 0.5)
    assert len(drawn) == len(start)
    lowest = over._placed(drawn, drawn.targets)[..., 2].min(axis=1)
    back = -(drawn.rotation @ search.hand.approach)[:, 2]
    assert (np.minimum(lowest, lowest + 0.12 * back) >= -0.15 - 0.01).all()
    assert search._usable_seeds(start, np.random.default_rng(0), 0.5) is start  # no table
