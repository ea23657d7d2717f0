"""Laws of ε, volume and force closure: frames, friction, contacts, edges, units."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog
from scipy.spatial import ConvexHull
from scipy.spatial.transform import Rotation

import softgrasp as sg
from softgrasp.quality.contact_models import cone_edges, friction_cones
from tests.quality.grasps import equator, random_disc, random_sphere, rotated

quality = sg.quality
seeds = st.integers(0, 2**32 - 1)
few = settings(max_examples=15)
NEAR = 1e-7


@few
@given(seeds)
def test_planar_values_are_frame_invariant(seed: int) -> None:
    random = np.random.default_rng(seed)
    points, normals = random_disc(random, 4)
    rotation = Rotation.from_euler("z", random.uniform(0, 7)).as_matrix()[:2, :2]
    shift = random.normal(size=2)
    for norm in ("L1", "Linf"):
        before = quality.wrench_space(points, normals, 0.4, norm=norm)
        moved = points @ rotation.T + shift, normals @ rotation.T
        after = quality.wrench_space(*moved, 0.4, norm=norm, center=shift)
        assert after.margin == pytest.approx(before.margin, abs=1e-9)
        assert after.volume == pytest.approx(before.volume, abs=1e-9)


@few
@given(seeds)
def test_spatial_values_are_frame_invariant(seed: int) -> None:
    """With rotated tangents, as the edges of the pyramids start at t1."""
    random = np.random.default_rng(seed)
    points, normals = random_sphere(random, 4)
    tangents = quality.contact_frames(normals)[:, :, 1]
    rotation, shift = Rotation.random(rng=random), random.normal(size=3)
    before = quality.wrench_space(points, normals, 0.6)
    after = quality.wrench_space(
        *rotated((points, normals), rotation, shift),
        0.6,
        center=shift,
        tangents=rotation.apply(tangents),
    )
    assert after.margin == pytest.approx(before.margin, abs=NEAR)
    assert after.volume == pytest.approx(before.volume, rel=1e-6, abs=1e-12)


@settings(max_examples=8)
@given(seeds)
def test_round_cones_are_between_pyramids(seed: int) -> None:
    """Inscribed ones, and circumscribed ones with the friction µ/cos(π/e)."""
    contacts = random_sphere(np.random.default_rng(seed), 4)
    lower, upper = quality.epsilon_bounds(*contacts, 0.7, tolerance=0.01)
    outer = quality.epsilon(*contacts, 0.7 / np.cos(np.pi / 32), edges=32)
    assert quality.epsilon(*contacts, 0.7, edges=32) <= upper + NEAR
    assert lower <= outer + NEAR
    assert upper - lower <= 0.01 * upper + 1e-4


@few
@given(seeds, st.floats(0.05, 20.0))
def test_scaling_with_length(seed: int, length: float) -> None:
    """A grasp of another size with another torque scale is the same grasp; V goes with 1/ρ³."""
    points, normals = random_sphere(np.random.default_rng(seed), 4)
    before = quality.wrench_space(points, normals, 0.6)
    after = quality.wrench_space(length * points, normals, 0.6, torque_scale=length)
    assert after.epsilon == pytest.approx(before.epsilon, abs=NEAR)
    assert after.volume == pytest.approx(before.volume, rel=1e-6)
    scaled = quality.volume(points, normals, 0.6, torque_scale=length)
    assert scaled == pytest.approx(before.volume / length**3, rel=1e-6)


@few
@given(seeds)
def test_scaling_with_force(seed: int) -> None:
    """Unit forces are unit-normal forces over √(1 + µ²): ε with it, volume with its sixth power."""
    contacts = random_sphere(np.random.default_rng(seed), 4)
    unit = np.sqrt(1 + 0.6**2)
    normal = quality.wrench_space(*contacts, 0.6)
    whole = quality.wrench_space(*contacts, 0.6, edge_norm="unit")
    assert whole.epsilon == pytest.approx(normal.epsilon / unit, abs=NEAR)
    assert whole.volume == pytest.approx(normal.volume / unit**6, rel=1e-6)


@few
@given(seeds, st.integers(3, 5), st.sampled_from([0.0, 0.05]))
def test_epsilon_equals_that_of_the_whole_hull(seed: int, count: int, torsion: float) -> None:
    contacts = random_sphere(np.random.default_rng(seed), count)
    whole = quality.wrench_space(*contacts, 0.5, torsion=torsion)
    assert quality.epsilon(*contacts, 0.5, torsion=torsion) == pytest.approx(
        whole.epsilon, abs=NEAR
    )


@few
@given(seeds)
def test_epsilon_agrees_with_linear_programming(seed: int) -> None:
    """Minimize the sum of λ ≥ 0 on the primitive wrenches."""
    random = np.random.default_rng(seed)
    contacts = random_sphere(random, 4)
    space = quality.wrench_space(*contacts, 0.8)
    edges = cone_edges(friction_cones(*contacts, 0.8), 0.8).reshape(-1, 6)

    def effort(wrench: np.ndarray) -> float:
        result = linprog(np.ones(len(edges)), A_eq=edges.T, b_eq=wrench)
        return float(result.fun) if result.status == 0 else np.inf

    direction = random.normal(size=6)
    direction /= np.linalg.norm(direction)
    if space.closed:
        assert effort(space.epsilon * direction) <= 1 + NEAR
        assert effort(space.epsilon * space.weakest) == pytest.approx(1.0, abs=1e-5)
    else:
        assert effort(space.weakest) == np.inf


@few
@given(seeds, st.integers(2, 4))
def test_force_closure_is_a_positive_epsilon(seed: int, count: int) -> None:
    contacts = random_disc(np.random.default_rng(seed), count)
    closed = quality.force_closure(*contacts, 0.5)
    assert closed.closed is (quality.epsilon(*contacts, 0.5) > 1e-6)
    assert closed.closed is (closed.reason == "")


@pytest.mark.parametrize("bend", [0.0, 10.0, 25.0, 29.0, 31.0, 60.0])
def test_two_fingers_after_nguyen(bend: float) -> None:
    """Closure iff the connecting line is in both cones, µ = tan 30°; never for two hard fingers."""
    mu = np.tan(np.radians(30))
    points = np.array([(1.0, 0.0), (-1.0, 0.0)])
    angles = np.radians([180.0 - bend, bend])
    normals = np.column_stack([np.cos(angles), np.sin(angles)])
    assert quality.is_force_closure(points, normals, mu) is (bend < 30)
    flat = [np.column_stack([rows, np.zeros(2)]) for rows in (points, normals)]
    assert quality.is_force_closure(*flat, mu, torsion=0.05) is (bend < 30)
    assert not quality.is_force_closure(*flat, mu)


@pytest.mark.parametrize(
    ("dimension", "mu", "torsion", "required"),
    [(2, 0.0, 0.0, 4), (2, 5.0, 0.0, 2), (3, 0.0, 0.0, 7), (3, 5.0, 0.0, 3), (3, 5.0, 0.1, 2)],
)
def test_fewer_contacts_than_required(
    dimension: int, mu: float, torsion: float, required: int
) -> None:
    """Murray, Li and Sastry, ch. 5: no closure with fewer contacts, and the reason names it."""
    random = np.random.default_rng(3)
    for _ in range(5):
        rows = random.normal(size=(2, required - 1, dimension))
        points, normals = rows[0], rows[1] / np.linalg.norm(rows[1], axis=1)[:, None]
        result = quality.force_closure(points, normals, mu, torsion=torsion)
        assert not result.closed
        assert f"where at least {required} are needed: " in result.reason


def test_seven_frictionless_contacts_on_a_box() -> None:
    points = np.array([
        (1, 0.5, 0), (1, -0.5, 0), (-1, 0, 0.3), (0.2, 1, -0.5), (-0.3, -1, 0.4),
        (0.4, 0.2, 1), (-0.5, 0.1, -1),
    ])  # fmt: skip
    random, closed = np.random.default_rng(0), 0
    normals = -np.sign(points) * (np.abs(points) == 1)
    for _ in range(200):
        moved = np.where(np.abs(points) == 1, points, random.uniform(-1, 1, points.shape))
        closed += quality.is_force_closure(moved, normals, 0.0)
    assert closed > 0


@few
@given(seeds)
def test_friction_per_contact(seed: int) -> None:
    random = np.random.default_rng(seed)
    contacts = random_sphere(random, 5)
    item, better = quality.epsilon(*contacts, 0.4), np.full(5, 0.4)
    assert quality.epsilon(*contacts, better) == pytest.approx(item, abs=1e-12)
    better[random.integers(5)] = 0.8
    assert item - NEAR <= quality.epsilon(*contacts, better)
    assert quality.epsilon(*contacts, better) <= quality.epsilon(*contacts, 0.8) + 0.05


def test_force_closure_is_independent_of_the_centre() -> None:
    points, normals = equator(0, 120, 240)
    for center in ((0.0, 0.0, 0.0), (1e3, 0.0, 0.0), (0.0, 1e6, 0.0)):
        assert quality.is_force_closure(points, normals, 0.5, center=center)
        assert not quality.is_force_closure(points[:2], normals[:2], 0.1, center=center)
    assert quality.is_force_closure(points + 1e4, normals, 0.5)


def radial(count: int) -> tuple[np.ndarray, np.ndarray]:
    """Contacts on the unit sphere with normals through its centre, which all tie."""
    points = np.random.default_rng(0).normal(size=(count, 3))
    points /= np.linalg.norm(points, axis=1)[:, None]
    return points, -points


@pytest.mark.slow
def test_many_contacts_have_certified_bounds_of_epsilon() -> None:
    """200 contacts: the whole hull takes a minute, with all facets near zero ε is 0.48608555."""
    points, normals = radial(200)
    space = quality.wrench_space(points, normals, 0.5)
    lower, upper = space.bounds
    assert lower < 0.48608555 < upper < 1.03 * lower
    assert (space.epsilon, space.volume, space.reason) == (lower, None, "")
    sentence = rf"ε of 200 contacts is between {lower:.6g} and {upper:.6g} after 50000 facets"
    with pytest.warns(UserWarning, match=sentence):
        assert quality.epsilon(points, normals, 0.5) == lower
    with pytest.raises(sg.DescriptionError, match="has more than 512 vertices in the norm 'L1'"):
        quality.volume(points, normals, 0.5)


def test_bounds_are_equal_where_epsilon_is_exact() -> None:
    for norm in ("L1", "Linf"):
        contacts = random_sphere(np.random.default_rng(0), 5)
        space = quality.wrench_space(*contacts, 0.5, norm=norm)
        assert space.bounds == (space.epsilon, space.epsilon)
        assert quality.pyramid_bounds(*contacts, 0.5, norm=norm) == pytest.approx(
            space.bounds, rel=1e-6
        )


@pytest.mark.slow
def test_unit_normal_forces_of_three_contacts_enclose_a_volume() -> None:
    """Against the hull of all sums of the contacts' primitive wrenches, with 309 vertices."""
    edges = 6
    points, normals = equator(0, 120, 240)
    wrenches = cone_edges(friction_cones(points, normals, 0.5), 0.5, edges, "normal")
    zero = np.zeros((3, 1, 6))
    sums = [sum(terms) for terms in product(*np.concatenate([zero, wrenches], axis=1))]
    volume = quality.volume(points, normals, 0.5, norm="Linf", edges=edges)
    assert volume == pytest.approx(ConvexHull(sums, qhull_options="QJ").volume, rel=1e-6)
    space = quality.wrench_space(points, normals, 0.5, norm="Linf", edges=edges)
    assert space.volume == volume
    assert space.epsilon == pytest.approx(
        quality.epsilon(points, normals, 0.5, norm="Linf", edges=edges), rel=1e-6
    )
