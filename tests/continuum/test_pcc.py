"""Constant curvature: printed poses, laws, derivatives, round trips."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import solve_ivp
from scipy.linalg import expm

import softgrasp as sg
from softgrasp.continuum import pcc
from softgrasp.continuum.pcc import SMALL, arc_functions
from softgrasp.errors import DescriptionError
from softgrasp.mechanics.transforms import rotate_about
from tests.conftest import Golden

FINGER = np.array([14.0, 14.0, 12.32, 15.39]) * 1e-3
"""Pieces of paper 001's finger from the base [m]."""
RISING = np.radians([10.0, 15.0, 20.0, 25.0])
TURNED = np.radians([12.0, 8.8, 6.0, 3.3])
ARM = np.full(3, 0.316)
"""Segments of paper 002's arm [m]."""
SIXTY = np.full(3, np.pi / 3)
THIRDS = np.radians([0.0, 120.0, 240.0])

POSES = [
    # lengths [m], bending angles, plane angles, frame, tip [m], z axis where it is known
    (FINGER, RISING, np.zeros(4), "webster", (25.324215134e-3, 0, 45.487365615e-3),
     (0.939692621, 0, 0.342020143)),
    (FINGER, np.radians([12.0] * 4), np.zeros(4), "webster",
     (22.206916769e-3, 0, 49.25439182e-3), None),
    (FINGER, RISING, TURNED, "webster", (23.467175592e-3, 9.11339472e-3, 45.594418849e-3),
     (0.841322756, 0.412268252, 0.349586769)),
    (FINGER, RISING, TURNED, "bishop", (25.036400161e-3, 3.607157974e-3, 45.509720538e-3),
     (0.934320506, 0.093761696, 0.3438807)),
    (FINGER, np.radians([20.0] * 4), TURNED, "webster",
     (31.114774981e-3, 10.960969153e-3, 39.087678628e-3), None),
    (FINGER, np.radians([20.0] * 4), TURNED, "bishop",
     (32.722518607e-3, 5.183833789e-3, 38.932629003e-3), None),
    (ARM, SIXTY, np.zeros(3), "bishop", (0.603515544, 0, 0), (0, 0, -1)),
    (ARM, np.full(3, 3 * 0.316), np.zeros(3), "bishop", (0.652015047, 0, 0.097739842), None),
    (ARM, SIXTY, THIRDS, "bishop", (0.405487006, 0.228663659, 0.734990334), None),
    (ARM, SIXTY, THIRDS, "webster", (0.518646171, 0.359328608, 0.538992911), None),
]  # fmt: skip
"""Poses of papers 001 and 002 with corrected formulas, computed independently to 1e-9."""

angles = st.floats(-np.pi, np.pi)
bends = st.floats(-4.0, 4.0)
arcs = st.floats(0.01, 2.0)


@pytest.mark.parametrize(("lengths", "theta", "phis", "frame", "tip", "axis"), POSES)
def test_chains_of_the_papers_have_the_expected_ends(
    lengths: np.ndarray, theta: np.ndarray, phis: np.ndarray, frame: pcc.Frame, tip: tuple,
    axis: tuple | None,
) -> None:  # fmt: skip
    end = sg.pcc.chain_transform(theta / lengths, phis, lengths, frame)
    assert end[:3, 3] == pytest.approx(tip, abs=1e-9)
    if axis is not None:
        assert end[:3, 2] == pytest.approx(axis, abs=1e-9)


@settings(max_examples=50)
@given(bends, bends, arcs)
def test_a_segment_is_the_integral_of_its_curvature(u: float, v: float, length: float) -> None:
    """A frame that turns at the constant rate (−v, u, 0)/ℓ and moves along its z axis."""
    twist = np.zeros((4, 4))
    twist[:3, :3] = np.array([[0, 0, u], [0, 0, v], [-u, -v, 0]])
    twist[2, 3] = length
    assert pcc.bend_transform(u, v, length) == pytest.approx(expm(twist), abs=1e-11)


def test_the_printed_matrix_of_paper_002_is_no_rotation() -> None:
    """Eq 3 prints −sin φ cos φ (cos q − 1) in row 2, column 1; the sign has to be +."""
    q, phi = 0.948, 0.6
    ours = pcc.segment_transform(q, phi, 1.0)[:3, :3]
    printed = ours.copy()
    printed[1, 0] = -np.sin(phi) * np.cos(phi) * (np.cos(q) - 1)
    assert np.abs(printed @ printed.T - np.eye(3)).max() > 0.1
    assert ours[1, 0] == pytest.approx(np.sin(phi) * np.cos(phi) * (np.cos(q) - 1), abs=1e-15)


@settings(max_examples=100)
@given(st.lists(st.tuples(bends, angles, arcs), min_size=1, max_size=6))
def test_both_conventions_have_the_same_positions_and_axes(
    segments: list[tuple[float, float, float]],
) -> None:
    theta, phis, lengths = np.array(segments).T
    webster = pcc.chain_transform(theta / lengths, phis, lengths, "webster")
    bishop = pcc.chain_transform(theta / lengths, pcc.to_bishop(phis), lengths, "bishop")
    assert webster == pytest.approx(bishop @ rotate_about("z", phis.sum()), abs=1e-12)
    assert pcc.to_webster(pcc.to_bishop(phis)) == pytest.approx(phis, abs=1e-12)


@pytest.mark.parametrize("frame", ["bishop", "webster"])
def test_a_straight_segment(frame: pcc.Frame) -> None:
    end = pcc.segment_transform(0.0, 0.7, 0.2, frame)
    straight = np.eye(4) if frame == "bishop" else rotate_about("z", 0.7).copy()
    straight[2, 3] = 0.2
    assert end == pytest.approx(straight, abs=0)


def test_series_and_closed_form_agree_at_their_boundary() -> None:
    below, above = arc_functions(np.nextafter(SMALL, 0.0)), arc_functions(SMALL)
    for low, high, tolerance in zip(below, above, (1e-15, 1e-15, 2e-14, 5e-14, 3e-13), strict=True):
        assert low == pytest.approx(high, abs=tolerance)


def numeric_jacobian(pose, point: np.ndarray, step: float = 1e-6) -> np.ndarray:
    """(6, n) by central differences: velocity and angular velocity of a pose in the base frame."""
    columns = []
    base = pose(point)[:3, :3]
    for index in range(len(point)):
        change = np.zeros(len(point))
        change[index] = step
        rate = (pose(point + change) - pose(point - change)) / (2 * step)
        spin = rate[:3, :3] @ base.T
        columns.append([*rate[:3, 3], spin[2, 1], spin[0, 2], spin[1, 0]])
    return np.array(columns).T


@settings(max_examples=60, deadline=None)
@given(st.floats(-5, 5), angles, arcs, st.sampled_from(["bishop", "webster"]))
def test_the_jacobian_is_the_derivative(
    kappa: float, phi: float, length: float, frame: pcc.Frame
) -> None:
    numeric = numeric_jacobian(
        lambda x: pcc.segment_transform(*x, frame), np.array([kappa, phi, length])
    )
    assert pcc.jacobian(kappa, phi, length, frame) == pytest.approx(numeric, abs=5e-8)


@settings(max_examples=40, deadline=None)
@given(st.lists(st.tuples(bends, bends, arcs), min_size=1, max_size=5))
def test_the_chain_jacobian_is_the_derivative(segments: list[tuple[float, float, float]]) -> None:
    point = np.array(segments).reshape(-1)

    def pose(flat: np.ndarray) -> np.ndarray:
        end = np.eye(4)
        for step in pcc.bend_transform(*flat.reshape(-1, 3).T):
            end = end @ step
        return end

    u, v, lengths = np.array(segments).T
    assert pcc.chain_jacobian(u, v, lengths) == pytest.approx(
        numeric_jacobian(pose, point), abs=5e-8
    )


def test_the_rate_of_the_rotation_vector_is_not_the_angular_velocity() -> None:
    """Paper 003, eq 5 and 6: right in the plane, 26 % off at 30° where only φ changes."""
    theta = np.radians(30.0)
    rate = theta * np.array([0.0, 1.0, 0.0])  # of (−v, u, 0) at φ = −90°, dφ/dt = 1: (0, θ, 0)
    true = pcc.jacobian(theta, -np.pi / 2, 1.0)[3:, 1]
    assert np.linalg.norm(rate - true) / np.linalg.norm(true) == pytest.approx(0.26, abs=0.01)


def test_two_thousand_round_trips_of_one_segment() -> None:
    random = np.random.default_rng(0)
    theta = random.uniform(1e-6, 0.98 * 2 * np.pi, 2000)
    phi, length = random.uniform(-np.pi, np.pi, 2000), random.uniform(0.05, 1.0, 2000)
    for t, plane, arc in zip(theta, phi, length, strict=True):
        position = pcc.segment_transform(t / arc, plane, arc)[:3, 3]
        kappa, angle, result = pcc.segment_inverse(position)
        again = pcc.segment_transform(kappa, angle, result)[:3, 3]
        assert again == pytest.approx(position, abs=1e-12)
        assert (kappa * result, result) == pytest.approx((t, arc), rel=1e-9)


def test_the_position_straight_ahead_is_a_straight_segment(golden: Golden) -> None:
    assert pcc.segment_inverse((0, 0, 0.3)) == (0.0, 0.0, 0.3)
    golden.refused(lambda: pcc.segment_inverse((0, 0, -0.1)), "position")


def reachable(count: int, oriented: bool) -> list[np.ndarray]:
    random = np.random.default_rng(7)
    targets = []
    for _ in range(count):
        kappas = random.uniform(0.0, np.pi / 3, 3) / ARM
        end = pcc.chain_transform(kappas, random.uniform(-np.pi, np.pi, 3), ARM)
        targets.append(end if oriented else end[:3, 3])
    return targets


@pytest.mark.slow
@pytest.mark.parametrize("oriented", [False, True])
def test_chain_inverse_reaches_all_reachable_targets(oriented: bool) -> None:
    for target in reachable(30, oriented):
        shape = pcc.chain_inverse(target, ARM, max_bending=np.pi / 3)
        assert shape.reached
        end = pcc.chain_transform(shape.kappas, shape.phis, ARM)
        expected = target if oriented else np.vstack([target])
        assert (end if oriented else end[:3, 3][None]) == pytest.approx(expected, abs=2e-8)
        assert (shape.kappas * ARM).max() <= np.pi / 3 + 1e-9


@pytest.mark.parametrize("skipped", [12])
def test_chain_inverse_goes_on_from_many_shapes(skipped: int) -> None:
    """Frames of 180° chains that eight starts near the straight shape miss."""
    random, lengths = np.random.default_rng(1), np.full(3, 0.3)
    for _ in range(skipped + 1):
        theta, plane = random.uniform(0, np.pi, 3), random.uniform(-np.pi, np.pi, 3)
    target = pcc.chain_transform(theta / lengths, plane, lengths)
    shape = pcc.chain_inverse(target, lengths)
    assert shape.reached
    assert pcc.chain_transform(shape.kappas, shape.phis, lengths) == pytest.approx(target, abs=1e-7)


def test_targets_out_of_reach_have_their_distance_as_error() -> None:
    shape = pcc.chain_inverse((0, 0, 1.2), ARM)
    assert not shape.reached
    assert shape.position_error == pytest.approx(1.2 - ARM.sum(), abs=1e-6)


@pytest.mark.parametrize("plane", [0.0, math.pi / 2, 2.0])
def test_segments_bend_up_to_their_limit_towards_a_target_beyond(plane: float) -> None:
    target = 2.0 * pcc.chain_transform(1.0 / ARM, np.full(3, plane), ARM)[:3, 3]
    shape = pcc.chain_inverse(target, ARM, max_bending=0.1)
    assert not shape.reached
    assert shape.kappas * ARM == pytest.approx(0.1, abs=1e-9)
    assert shape.phis == pytest.approx(plane, abs=1e-6)


@given(st.integers(0, 2**32 - 1))
def test_slopes_of_the_residuals_are_their_derivatives(seed: int) -> None:
    """Of poses within and beyond the limit of bending."""
    random = np.random.default_rng(seed)
    task = pcc._Task(pcc.chain_transform([1.0], [2.0], [0.3]), ARM, 0.5)
    bends, step = random.normal(size=6), 1e-6
    sides = [[task._residuals(bends + d) for d in s * np.eye(6)] for s in (step, -step)]
    numeric = np.subtract(*sides).T / (2.0 * step)
    assert task._slopes(bends) == pytest.approx(numeric, abs=1e-6)


def test_bending_then_twisting_is_not_a_helix() -> None:
    """Paper 003's segment bends first and is then twisted: 18 % of its length from a rod of
    constant strain at 55° of torsion, 4.5 % at 13.8°."""
    kappa, length = 5.1, 0.24
    for torsion, fraction in ((13.8, 0.045), (55.0, 0.18)):
        kz = np.radians(torsion) / length
        ours = pcc.strain_transform([0.0, kappa, kz, 0.0], length)
        twist = np.zeros((4, 4))
        twist[:3, :3] = np.array([[0, -kz, kappa], [kz, 0, 0], [-kappa, 0, 0]])
        twist[2, 3] = 1.0
        rod = solve_ivp(
            lambda _, flat, twist=twist: (flat.reshape(4, 4) @ twist).reshape(-1),
            (0.0, length), np.eye(4).reshape(-1), rtol=1e-11, atol=1e-12,
        ).y[:, -1].reshape(4, 4)  # fmt: skip
        apart = np.linalg.norm(ours[:3, 3] - rod[:3, 3]) / length
        assert apart == pytest.approx(fraction, rel=0.05)


@given(st.floats(-3, 3), st.floats(-3, 3), st.floats(-2, 2), st.floats(-0.3, 0.3), arcs)
def test_the_strain_form_is_bending_then_twist(
    kx: float, ky: float, kz: float, elongation: float, rest: float
) -> None:
    length = (1 + elongation) * rest
    bent = pcc.segment_transform(np.hypot(kx, ky), np.arctan2(-kx, ky), length)
    assert pcc.strain_transform([kx, ky, kz, elongation], rest) == pytest.approx(
        bent @ rotate_about("z", length * kz), abs=1e-12
    )


def test_arguments_broadcast() -> None:
    many = pcc.segment_transform([[1.0], [2.0]], [0.0, 0.5, 1.0], 0.3)
    assert many.shape == (2, 3, 4, 4)
    assert many[1, 2] == pytest.approx(pcc.segment_transform(2.0, 1.0, 0.3), abs=0)
    assert pcc.jacobian([1.0, 2.0], 0.1, 0.3).shape == (2, 6, 3)


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda: pcc.segment_transform(1, 0, 0), "length"),
        (lambda: pcc.segment_transform(np.nan, 0, 1), "kappa"),
        (lambda: pcc.segment_transform(1, 0, 1, "bishp"), "expected a frame of a segment, found"),
        (lambda: pcc.chain_transform([1, 2], [0], [1, 1]), "expected one value per segment in"),
        (lambda: pcc.chain_inverse([1, 2], [1]), "target"),
        (lambda: pcc.chain_inverse([0, 0, 1], [1], max_bending=0), "max_bending"),
    ],
)
def test_wrong_arguments_are_refused(call, sentence: str, golden: Golden) -> None:
    golden.refused(call, sentence)


@pytest.mark.parametrize("lengths", [[-0.3] * 3, [0.3, 0.0, 0.3], [0.3, float("nan"), 0.3]])
def test_a_chain_has_lengths_above_zero(lengths: list[float]) -> None:
    with pytest.raises(sg.DescriptionError, match=r"^lengths: expected numbers above 0, found"):
        sg.pcc.chain_inverse([0.1, 0.1, 0.5], lengths)


@pytest.mark.parametrize("number", [math.nan, math.inf])
def test_numbers_that_are_not_finite_are_refused(number: float) -> None:
    frame = np.eye(4)
    frame[0, 3] = number
    calls: dict[str, Callable[[], object]] = {
        "kappa": lambda: pcc.segment_transform(number, 0.0, 0.3),
        "position": lambda: pcc.segment_inverse([number, 0.0, 0.3]),
        "phis": lambda: pcc.to_bishop([0.0, number]),
        "target": lambda: pcc.chain_inverse(frame, [0.3, 0.3]),
    }
    for field, call in (*calls.items(), ("phis", lambda: pcc.to_webster([number]))):
        with pytest.raises(DescriptionError, match=rf"^{field}: expected .*finite numbers"):
            call()
    with pytest.raises(DescriptionError, match="position: expected three finite numbers"):
        pcc.segment_inverse([0.1, 0.3])
