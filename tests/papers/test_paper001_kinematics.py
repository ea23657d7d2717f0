"""Paper 001: poses of its finger, its two kinematic models, and what it prints wrong, in numbers.

The bending angles are ours: those of the paper are in a picture.
"""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation

import softgrasp as sg
from examples.paper001.pieces import chord_pieces, mirrored, rigid_pieces, tip_error
from softgrasp.mechanics.transforms import Array
from softgrasp.twin.piecewise_bending import flange_transform, roots_in_flange

MM = 1e-3
LENGTHS = np.array([14.0, 14.0, 12.32, 15.39]) * MM
RISING = np.radians([10.0, 15.0, 20.0, 25.0])
EVEN = np.radians([20.0] * 4)
FORCED = np.radians([12.0, 8.8, 6.0, 3.3])
"""φ of the human-forced simulation of Fig. 5, from the base, taken as degrees."""
FLAT = np.zeros(4)


def arcs(thetas: Array, phis: Array, frame: str = "webster") -> Array:
    return sg.pcc.chain_transform(thetas / LENGTHS, phis, LENGTHS, frame)


@pytest.mark.parametrize(
    ("thetas", "phis", "frame", "tip", "axis"),
    [
        (RISING, FLAT, "webster", (25.324215134, 0, 45.487365615), (0.939692621, 0, 0.342020143)),
        (RISING, FORCED, "webster", (23.467175592, 9.11339472, 45.594418849),
         (0.841322756, 0.412268252, 0.349586769)),
        (RISING, FORCED, "bishop", (25.036400161, 3.607157974, 45.509720538),
         (0.934320506, 0.093761696, 0.3438807)),
        (EVEN, FORCED, "webster", (31.114774981, 10.960969153, 39.087678628), None),
        (EVEN, FORCED, "bishop", (32.722518607, 5.183833789, 38.932629003), None),
        (np.radians([12.0] * 4), FLAT, "webster", (22.206916769, 0, 49.25439182), None),
    ],
)  # fmt: skip
def test_poses_of_the_four_pieces(
    thetas: Array, phis: Array, frame: str, tip: tuple, axis: tuple | None
) -> None:
    end = arcs(thetas, phis, frame)
    assert end[:3, 3] / MM == pytest.approx(tip, abs=1e-8)
    if axis is not None:
        assert end[:3, 2] == pytest.approx(axis, abs=1e-9)


def printed_eq_5(kappa: float, phi: float, length: float) -> Array:
    c, s, ck, sk = np.cos(phi), np.sin(phi), np.cos(kappa * length), np.sin(kappa * length)
    with np.errstate(invalid="ignore"):
        across, along = np.divide(1.0 - ck, kappa), np.divide(sk, kappa)
    return np.array([
        [c * ck, -s, c * sk, c * across],
        [s * ck, c, s * sk, s * across],
        [-sk, 0.0, ck, along],
        [0.0, 0.0, 0.0, 1.0],
    ])  # fmt: skip


def test_eq_5_is_right_but_for_the_straight_finger() -> None:
    for kappa, phi in np.random.default_rng(0).uniform(-60.0, 60.0, (200, 2)):
        own = sg.pcc.segment_transform(kappa, phi, 0.014, "webster")
        assert own == pytest.approx(printed_eq_5(kappa, phi, 0.014), abs=5e-15)
    assert np.isnan(printed_eq_5(0.0, 0.0, 0.014)).any()
    straight = sg.pcc.segment_transform(0.0, 0.0, 0.014, "webster")
    assert straight[:3, 3] == pytest.approx((0.0, 0.0, 0.014))


def test_rigid_pieces_are_no_arcs() -> None:
    """Sec. III-C2: 8.0 mm of 55.7 mm, 14 %, against the claimed error of less than 4 %."""
    tip = rigid_pieces(RISING, FLAT, LENGTHS)[-1, :3, 3]
    assert tip / MM == pytest.approx((31.521155126, 0.0, 40.450863108), abs=1e-8)
    arc = arcs(RISING, FLAT)[:3, 3]
    assert np.linalg.norm(tip - arc) / MM == pytest.approx(7.985513308, abs=1e-8)
    assert LENGTHS.sum() / MM == pytest.approx(55.71)
    assert tip_error(tip, arc, LENGTHS) == pytest.approx(0.1433407522, abs=1e-9)


def test_leaning_by_half_the_angle_mends_them() -> None:
    exact = chord_pieces(RISING, FORCED, LENGTHS)
    assert exact[-1, :3, 3] == pytest.approx(arcs(RISING, FORCED)[:3, 3], abs=1e-16)
    # with pieces that keep their length 0.4 % is left
    whole = chord_pieces(RISING, FLAT, LENGTHS, shorten=False)[-1, :3, 3]
    apart = np.linalg.norm(whole - arcs(RISING, FLAT)[:3, 3])
    assert apart / MM == pytest.approx(0.2299000762, abs=1e-8)


def test_in_unitys_order_phi_rotates_the_pieces_after_it() -> None:
    """Ry(θ)·Rz(φ) is the paper's chain with every φ one piece later."""
    unity = rigid_pieces(RISING, FORCED, LENGTHS)
    later = rigid_pieces(RISING, np.append(0.0, FORCED[:-1]), LENGTHS, order="plane")
    assert unity[:, :3, 3] == pytest.approx(later[:, :3, 3], abs=1e-16)
    assert unity[-1, :3, 3] / MM == pytest.approx(
        (30.121205008, 7.842254118, 40.792398254), abs=1e-8
    )
    plane = rigid_pieces(RISING, FORCED, LENGTHS, order="plane")[-1, :3, 3]
    assert plane / MM == pytest.approx((28.998311500, 11.869862500, 40.610575590), abs=1e-7)
    apart = np.linalg.norm(unity[-1, :3, 3] - arcs(RISING, FORCED)[:3, 3])
    assert apart / MM == pytest.approx(8.3036924, abs=1e-6)


def test_left_handed_axes_mirror_the_rotations_about_z() -> None:
    unity = rigid_pieces(RISING, FORCED, LENGTHS)
    seen = rigid_pieces(RISING, -FORCED, LENGTHS)
    assert mirrored(unity, "y") == pytest.approx(seen, abs=1e-16)


three_angles = st.lists(st.floats(-2.0, 2.0), min_size=3, max_size=3).map(np.array)
THREE_LENGTHS = np.array([0.014, 0.02, 0.01])


@settings(max_examples=40)
@given(thetas=three_angles, phis=three_angles)
def test_chords_end_where_arcs_end(thetas: np.ndarray, phis: np.ndarray) -> None:
    chords = chord_pieces(thetas, phis, THREE_LENGTHS)
    chain = sg.pcc.chain_frames(thetas / THREE_LENGTHS, phis, THREE_LENGTHS, "webster")
    assert chords == pytest.approx(chain, abs=1e-15)


@settings(max_examples=40)
@given(thetas=three_angles, phis=three_angles, order=st.sampled_from(["unity", "plane"]))
def test_pieces_keep_their_length_and_run_along_z(
    thetas: np.ndarray, phis: np.ndarray, order: str
) -> None:
    pieces = rigid_pieces(thetas, phis, THREE_LENGTHS, order)
    steps = np.diff(pieces[:, :3, 3], axis=0)
    assert np.linalg.norm(steps, axis=1) == pytest.approx(THREE_LENGTHS)
    assert steps == pytest.approx(THREE_LENGTHS[:, None] * pieces[1:, :3, 2], abs=1e-16)


def test_unity_rotates_about_z_then_about_y() -> None:
    """Extrinsic z, x, y of scipy is Unity's order of Euler angles."""
    rotated = rigid_pieces([0.4], [0.7], [1.0])[-1, :3, :3]
    assert rotated == pytest.approx(Rotation.from_euler("zxy", [0.7, 0.0, 0.4]).as_matrix())


@pytest.mark.parametrize("order", ["unity", "plane"])
def test_the_difference_from_arcs_vanishes_with_the_length_of_the_pieces(order: str) -> None:
    """Twice as many pieces, half the error: it is of first order."""
    apart = []
    for count in (8, 16, 32):
        lengths = np.full(count, 0.05 / count)
        bends = np.full(count, 1.2 / count)
        arc = sg.pcc.chain_transform(bends / lengths, 0.0 * bends, lengths)[:3, 3]
        tip = rigid_pieces(bends, 0 * bends, lengths, order)[-1, :3, 3]
        apart.append(np.linalg.norm(tip - arc))
    assert apart[0] / apart[1] == pytest.approx(2.0, rel=0.02)
    assert apart[1] / apart[2] == pytest.approx(2.0, rel=0.02)


def test_mirroring_twice_changes_nothing() -> None:
    frames = rigid_pieces([0.1, 0.2, 0.3], [1.0, 2.0, 3.0], THREE_LENGTHS)
    for axis in ("x", "y", "z"):
        assert np.linalg.det(mirrored(frames, axis)[:, :3, :3]) == pytest.approx(np.ones(4))
        assert mirrored(mirrored(frames, axis), axis) == pytest.approx(frames)


def test_tip_error_is_the_distance_over_the_length() -> None:
    assert tip_error((0.03, 0.0, 0.04), (0.0, 0.0, 0.0), LENGTHS) == pytest.approx(0.05 / 0.05571)
    both = tip_error([[0.03, 0, 0.04], [0, 0, 0]], [0, 0, 0], LENGTHS)
    assert both == pytest.approx([0.05 / 0.05571, 0.0])


def test_tip_error_does_not_depend_on_frame_and_unit() -> None:
    random = np.random.default_rng(0)
    tip, reference = random.normal(size=(2, 20, 3))
    rotation, shift = Rotation.random(rng=1).as_matrix(), random.normal(size=3)
    moved = tip_error(tip @ rotation.T + shift, reference @ rotation.T + shift, LENGTHS)
    assert moved == pytest.approx(tip_error(tip, reference, LENGTHS))
    millimetres = tip_error(1e3 * tip, 1e3 * reference, 1e3 * LENGTHS)
    assert millimetres == pytest.approx(tip_error(tip, reference, LENGTHS))


def test_eq_4_wants_radians() -> None:
    """Its pictures are in degrees: taken as they are, the tip is 92 % of the finger away."""
    degrees = sg.pcc.chain_transform(np.degrees(RISING) / LENGTHS, FLAT, LENGTHS, "webster")
    apart = tip_error(degrees[:3, 3], arcs(RISING, FLAT)[:3, 3], LENGTHS)
    assert apart == pytest.approx(0.9223143889, abs=1e-9)


def test_phi_is_meant_in_degrees() -> None:
    """φ has no unit in Fig. 5; in radians the tip would be 39 % of the finger away."""
    radians = arcs(RISING, np.degrees(FORCED))[:3, 3]
    apart = tip_error(radians, arcs(RISING, FORCED)[:3, 3], LENGTHS)
    assert apart == pytest.approx(0.3855053651, abs=1e-9)


def test_the_order_of_the_pieces_matters() -> None:
    """Θ₄…₁ stands beside [θ₁ θ₂ θ₃ θ₄]: the other order is 20 % of the finger away."""
    apart = tip_error(arcs(RISING[::-1], FLAT)[:3, 3], arcs(RISING, FLAT)[:3, 3], LENGTHS)
    assert apart == pytest.approx(0.2048158571, abs=1e-9)


def test_table_1_names_two_different_quantities() -> None:
    """A tenth more curvature everywhere moves the tip by 4.8 % of the finger, not by 10 %."""
    apart = tip_error(arcs(1.1 * RISING, FLAT)[:3, 3], arcs(RISING, FLAT)[:3, 3], LENGTHS)
    assert apart == pytest.approx(0.0483449097, abs=1e-9)


def test_eq_6_and_8_need_the_mount_that_is_not_specified() -> None:
    """A gripper 60 mm long on the flange, and fingers 30 mm from its axis."""
    flange = flange_transform((0.4, 0.0, 0.5), (0.0, 1.0, 0.0, 0.0))
    mount = sg.twin.MountedPose(position=(0.0, 0.0, 0.06))
    gripper = sg.twin.GripperMount.around_axis(3, 0.03, mount=mount)
    tips = (flange @ roots_in_flange(gripper) @ arcs(RISING, FLAT))[:, :3, 3]
    without = (flange @ arcs(RISING, FLAT))[:3, 3]
    assert (tip_error(tips, np.tile(without, (3, 1)), LENGTHS) > 1.0).all()
    assert tips[:, 2] == pytest.approx(without[2] - 0.06)  # z of the flange points down


def printed_eq_7(quaternion: Array) -> Array:
    w, x, y, z = quaternion
    return np.array([
        [1 - 2*y*y - 2*z*z, 2*x*y - 2*z*w, 2*x*z + 2*y*w],
        [2*x*y + 2*z*w, 1 - 2*x*x - 2*z*z, 2*y*z - 2*x*w],
        [2*x*z - 2*y*w, 2*y*z + 2*x*w, 1 - 2*x*x - 2*y*y],
    ])  # fmt: skip


def skewness(rotation: Array) -> float:
    return float(np.abs(rotation @ rotation.T - np.eye(3)).max())


def test_eq_7_is_a_rotation_for_unit_quaternions_only() -> None:
    unit = np.array([0.1, 0.7, -0.5, 0.5]) / np.linalg.norm([0.1, 0.7, -0.5, 0.5])
    own = flange_transform((0, 0, 0), unit)[:3, :3]
    assert own == pytest.approx(printed_eq_7(unit), abs=1e-15)
    assert skewness(printed_eq_7(1.0009 * unit)) > 3e-3
    assert skewness(flange_transform((0, 0, 0), 1.0009 * unit)[:3, :3]) < 1e-15
    assert skewness(printed_eq_7(1.1 * unit)) > 0.3
    with pytest.raises(sg.DescriptionError, match=r"expected a quaternion .* of norm 1 within"):
        flange_transform((0, 0, 0), 1.1 * unit)


def brown(x: Array, y: Array) -> tuple[Array, Array]:
    """Distortion by k = (0.09, −0.12, 0.05) and p = (8e-4, −5e-4): ideal to raw points."""
    r = x**2 + y**2
    radial = 1.0 + 0.09 * r - 0.12 * r**2 + 0.05 * r**3
    p1, p2 = 8e-4, -5e-4
    return (x * radial + 2 * p1 * x * y + p2 * (r + 2 * x**2),
            y * radial + p1 * (r + 2 * y**2) + 2 * p2 * x * y)  # fmt: skip


def test_eq_1_to_3_double_the_distortion_that_they_should_take_away() -> None:
    focal = 690.0  # px; picture of 1280 × 720
    x, y = np.meshgrid(np.linspace(-640, 640, 65) / focal, np.linspace(-360, 360, 49) / focal)
    raw = brown(x, y)
    as_printed = focal * np.hypot(*np.subtract(brown(*raw), (x, y)))
    left_alone = focal * np.hypot(*np.subtract(raw, (x, y)))
    assert as_printed.max() == pytest.approx(35.19, abs=0.01)
    assert left_alone.max() == pytest.approx(17.10, abs=0.01)
    assert np.median(as_printed) / np.median(left_alone) == pytest.approx(2.04, abs=0.01)
