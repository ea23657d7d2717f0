"""Angles from picks, and depth images."""

import numpy as np
import pytest
from PIL import Image as Pillow

from softgrasp.description.sensor import PinholeCamera
from softgrasp.errors import DescriptionError
from softgrasp.mechanics.camera import project
from softgrasp.mechanics.transforms import rotate_about
from softgrasp.vision.point_picking import (
    WINDOW,
    Picks,
    depths_at,
    direction_rows,
    directions,
    measure_picks,
    pick_angles,
    plane_coefficients,
    read_depth,
    solve_angles,
)

CAMERA = PinholeCamera(
    fx=5450.0, fy=5450.0, cx=646.0, cy=476.0, k1=-0.35, k2=0.8, p1=6e-4, width=1280, height=960
)
LENGTHS = np.array([14.0, 14.0, 12.32, 15.39]) * 1e-3
HALF = 7.5e-3
RADIANS = np.radians([10.0, 15.0, -20.0, 25.0])


def arc_points(angles: np.ndarray, heading: float = 0.0) -> tuple[np.ndarray, np.ndarray]:
    """Middles (n + 1, 2) and both edges (n + 1, 2, 2) of cuts of arcs, by closed form [m]."""
    tangents = heading + np.concatenate([[0.0], np.cumsum(angles)])
    chords = tangents[:-1] + 0.5 * angles
    lengths = LENGTHS[: len(angles)] * np.sinc(0.5 * angles / np.pi)
    steps = lengths[:, None] * np.stack([np.cos(chords), np.sin(chords)], axis=-1)
    middles = np.concatenate([[[0.0, 0.0]], np.cumsum(steps, axis=0)])
    across = HALF * np.stack([-np.sin(tangents), np.cos(tangents)], axis=-1)
    return middles, np.stack([middles - across, middles + across], axis=1)


def picks_of(angles: np.ndarray, edges: bool, tilt: float = 0.0, heading: float = 0.1) -> Picks:
    """What the camera sees of arcs in a plane that is turned about its y axis."""
    middles, both = arc_points(angles, heading)
    ahead = np.array([np.cos(heading), np.sin(heading)])
    line = np.array([-0.019 * ahead, -0.002 * ahead])
    rotation, position = rotate_about("y", tilt)[:3, :3], np.array([-0.019, 0.0, 0.35])

    def seen(points: np.ndarray) -> np.ndarray:
        flat = points.reshape(-1, 2)
        return position + np.column_stack([flat, np.zeros(len(flat))]) @ rotation.T

    cuts = seen(both if edges else middles)
    shape = both.shape if edges else middles.shape
    return Picks(project(CAMERA, cuts).reshape(shape), project(CAMERA, seen(line)), cuts[:, 2])


def test_a_chord_rotates_by_half_the_arc():
    _, edges = arc_points(RADIANS)
    line = np.array([[-1.0, 0.0], [0.0, 0.0]])
    seen = directions(line, edges)
    tangents = np.concatenate([[0.0], np.cumsum(RADIANS)])
    np.testing.assert_allclose(seen[1::2], tangents, atol=1e-14)
    np.testing.assert_allclose(seen[2::2], tangents[:-1] + 0.5 * RADIANS, atol=1e-14)


@pytest.mark.parametrize("edges", [False, True])
def test_the_rows_make_the_directions_of_arcs(edges):
    rows = direction_rows(4, line=True, edges=edges)
    middles, both = arc_points(RADIANS, heading=0.3)
    line = np.array([[0.0, 0.0], [np.cos(0.3), np.sin(0.3)]])
    seen = directions(line, both if edges else middles[:, None])
    np.testing.assert_allclose(rows @ [0.3, *RADIANS], seen, atol=1e-14)


@pytest.mark.parametrize("tilt", [0.0, 0.15])
@pytest.mark.parametrize("edges", [False, True])
@pytest.mark.parametrize("angles", [RADIANS, -RADIANS, np.zeros(4), np.radians([60.0] * 4)])
def test_exact_for_pieces_of_constant_curvature(angles, edges, tilt):
    picks = picks_of(angles, edges, tilt)
    # depths without error tell the tilt, where picks lie about more than one line
    result = pick_angles(CAMERA, picks, depth_noise=1e-9)
    np.testing.assert_allclose(result.angles, angles, atol=1e-8)


def test_a_finger_parallel_to_the_image_needs_no_depths():
    picks = picks_of(RADIANS, edges=False)._replace(depths=None)
    np.testing.assert_allclose(pick_angles(CAMERA, picks).angles, RADIANS, atol=1e-9)
    tilted = picks_of(RADIANS, edges=False, tilt=0.3)._replace(depths=None)
    assert np.abs(pick_angles(CAMERA, tilted).angles - RADIANS).max() > np.radians(0.3)


def test_edges_need_no_reference_line_and_no_order():
    picks = picks_of(RADIANS, edges=True)
    bare = pick_angles(CAMERA, picks._replace(line=None), depth_noise=1e-9)
    np.testing.assert_allclose(bare.angles, RADIANS, atol=1e-8)
    swapped = picks.cuts[:, ::-1]
    other = pick_angles(CAMERA, Picks(swapped, picks.line))
    same = pick_angles(CAMERA, Picks(picks.cuts, picks.line))
    np.testing.assert_allclose(other.angles, same.angles, atol=1e-12)


def test_distortion_that_is_left_in_makes_the_angles_wrong():
    plain = CAMERA.replace(k1=0.0, k2=0.0, p1=0.0)
    strong = CAMERA.replace(k1=-3.0, k2=0.0)
    middles, _ = arc_points(np.radians([20.0] * 4))
    points = np.column_stack([middles - [0.019, 0.0], np.full(5, 0.35)])
    line = project(strong, [[-0.036, 0.0, 0.35], [-0.02, 0.0, 0.35]])
    picks = Picks(project(strong, points), line)
    good = pick_angles(strong, picks).angles
    np.testing.assert_allclose(np.degrees(good), 20.0, atol=1e-7)
    assert np.abs(np.degrees(pick_angles(plain, picks).angles) - 20.0).max() > 0.8


@pytest.mark.parametrize("edges", [False, True])
def test_the_uncertainty_is_that_of_many_noisy_picks(edges):
    picks = picks_of(RADIANS, edges)
    rng = np.random.default_rng(0)
    message = pick_angles(CAMERA, picks, pick_noise=0.5, depth_noise=1e-3)
    assert picks.line is not None
    result = []
    for _ in range(80):
        noisy = Picks(
            picks.cuts + rng.normal(0.0, 0.5, picks.cuts.shape),
            picks.line + rng.normal(0.0, 0.5, (2, 2)),
            picks.depths + rng.normal(0.0, 1e-3, picks.depths.shape),
        )
        result.append(pick_angles(CAMERA, noisy, pick_noise=0.5, depth_noise=1e-3).angles)
    spread = np.std(result, axis=0)
    # the standard deviation of 80 samples is known to 8 %
    np.testing.assert_allclose(spread, message.sigmas, rtol=0.3)


def test_chords_alone_amplify_noise_by_the_law():
    angles = np.zeros(4)
    rows = direction_rows(4, line=True, edges=False)
    across = np.array([[1, 0, 0, 0, 0], [-1, 1, 0, 0, 0], [0, -1, 1, 0, 0], [0, 0, -1, 1, 0],
                       [0, 0, 0, -1, 1]], dtype=float)  # fmt: skip
    across[0] = 0.0  # a perfect line; picks of pieces of length 1 move by 1 across
    _, sigmas = solve_angles(rows @ [0.0, *angles], across @ across.T, rows)
    assert sigmas[3] == pytest.approx(np.sqrt(4 + 36 + 64 + 64 + 16))


def test_two_picks_per_cut_are_much_more_accurate_than_one():
    chords = pick_angles(CAMERA, picks_of(RADIANS, edges=False)).sigmas
    edges = pick_angles(CAMERA, picks_of(RADIANS, edges=True)).sigmas
    assert np.degrees(edges).max() < 0.6
    assert chords[3] > 5.0 * edges[3]


def test_the_plane_of_depths():
    rng = np.random.default_rng(3)
    plane = rng.uniform(-0.1, 0.1, (40, 2))
    coefficients = np.array([2.9, 0.4, -0.7])
    depths = 1.0 / (coefficients[0] + plane @ coefficients[1:])
    np.testing.assert_allclose(plane_coefficients(plane, depths, 1e-9), coefficients, atol=1e-6)
    # picks in a row say nothing of a tilt across it: it stays square
    row = np.column_stack([np.linspace(-0.1, 0.1, 5), np.zeros(5)])
    result = plane_coefficients(row, np.full(5, 0.35) + rng.normal(0.0, 2e-3, 5), 2e-3)
    assert result[2] == pytest.approx(0.0, abs=1e-12)


GOOD = picks_of(RADIANS, edges=False)


@pytest.mark.parametrize(
    ("picks", "sentence"),
    [
        (Picks(GOOD.cuts),
         "expected a reference line, or two picks per cut, found one pick per cut"),
        (Picks(GOOD.cuts[:1], GOOD.line), "cuts: expected two cuts or more"),
        (Picks(GOOD.cuts[[0, 1, 1, 2]], GOOD.line), "cuts: .*different picks"),
        (Picks(GOOD.cuts, GOOD.line[:1]), r"line: expected two picks, found shape \(1, 2\)"),
        (Picks(GOOD.cuts, GOOD.line[[0, 0]]), "line: .*different picks"),
        (Picks(GOOD.cuts, GOOD.line, np.ones(4)),
         "depths: expected 5 depths, one per pick, found 4"),
        (Picks(GOOD.cuts, GOOD.line, np.zeros(5)), "depths: expected depths above 0 m"),
    ],
)  # fmt: skip
def test_invalid_picks_are_refused(picks, sentence):
    with pytest.raises(DescriptionError, match=sentence):
        pick_angles(CAMERA, picks)


def test_zero_noise_is_refused():
    with pytest.raises(DescriptionError, match="pick_noise: expected a number above 0, found 0"):
        pick_angles(CAMERA, GOOD, pick_noise=0.0)


pytest.importorskip("cv2", reason="OpenCV is an extra")


SHAPE = (240, 320)
PICTURE = np.full((*SHAPE, 3), 120, dtype=np.uint8)
PICKING_CAMERA = PinholeCamera(fx=300.0, fy=300.0, cx=160.0, cy=120.0, width=320, height=240)
LINE_PX = np.array([[20.0, 100.0], [50.0, 100.0]])
CUTS = np.array([[60.0, 100.0], [110.0, 105.0], [155.0, 125.0]])


def test_depths_in_metres_and_in_millimetres(tmp_path):
    metres = np.full(SHAPE, 0.35)
    metres[0, 0], metres[0, 1] = np.nan, -1.0
    np.save(tmp_path / "m.npy", metres)
    np.save(tmp_path / "mm.npy", np.full(SHAPE, 350, dtype=np.uint16))
    Pillow.fromarray(np.full(SHAPE, 350, dtype=np.uint16)).save(tmp_path / "mm.png")
    for name in ("m.npy", "mm.npy", "mm.png"):
        result = read_depth(tmp_path / name, SHAPE)
        assert result[5, 5] == pytest.approx(0.35)
    assert read_depth(tmp_path / "m.npy", SHAPE)[0, :2].tolist() == [0.0, 0.0]


def test_invalid_depth_files(tmp_path, golden):
    golden.refused(lambda: read_depth(tmp_path / "none.npy", SHAPE), "found no such file")
    with pytest.raises(DescriptionError, match=r"expected a depth image, \.npy or \.png"):
        read_depth(tmp_path / "depth.exr", SHAPE)
    np.save(tmp_path / "small.npy", np.ones((2, 3)))
    with pytest.raises(DescriptionError, match=r"320 × 240 pixels, as in the image, found sha"):
        read_depth(tmp_path / "small.npy", SHAPE)
    Pillow.fromarray(PICTURE).save(tmp_path / "colour.png")
    golden.refused(lambda: read_depth(tmp_path / "colour.png", SHAPE), "an image of kind RGB")
    (tmp_path / "text.npy").write_text("no array")
    golden.refused(lambda: read_depth(tmp_path / "text.npy", SHAPE), "found another file")


def test_the_depth_at_a_pick_is_a_median_without_holes():
    rng = np.random.default_rng(0)
    depth = 0.35 + rng.normal(0.0, 2e-3, SHAPE)
    depth[::3] = 0.0
    result = depths_at(depth, CUTS)
    assert np.abs(result - 0.35).max() < 1e-3
    with pytest.raises(DescriptionError, match=r"found them in 0 of 121 pixels: pick on"):
        depths_at(np.zeros(SHAPE), CUTS)
    with pytest.raises(DescriptionError, match="expected picks within 320 × 240 pixels"):
        depths_at(depth, np.array([[320.0, 5.0]]))
    assert (2 * WINDOW + 1) ** 2 == 121


def test_picks_outside_the_image_are_refused():
    with pytest.raises(DescriptionError, match=r"within 320 × 240 pixels, found \(400, 10\)"):
        measure_picks(
            PICTURE, PICKING_CAMERA, Picks(np.array([[400.0, 10.0], [5.0, 5.0]]), LINE_PX)
        )
