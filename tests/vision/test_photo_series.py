"""Series of photographs by another renderer: zero, orientation, tilt, colours, markers, faults.

The bounds are about 1.5 times what was measured.
"""

from functools import cache
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import softgrasp as sg
from softgrasp.errors import DescriptionError

pytest.importorskip("cv2", reason="OpenCV is the extra 'calibrate'")

from softgrasp.calibration.files import problem_from
from softgrasp.vision.joint_angles import ReadingOptions, measure_photo
from softgrasp.vision.photo_series import PhotoOptions, PhotoSeries, measure_series
from softgrasp.vision.segmentation import colour_of
from tests.support.photo_rig import PhotoRig
from tests.vision.photo_cases import FINGER, pose, rms_deg

RIG = PhotoRig(FINGER, width=560, fillet=0.15)
"""A cast finger, slightly out of focus, noisy, as JPEG."""
GREY, BLUE = (120.0, 122.0, 125.0), (20.0, 60.0, 200.0)
LOADS = (0.0, 0.04)
FINGER_POINTS = [*(joint.position for joint in FINGER.joints), FINGER.tip]


@cache
def image(rig: PhotoRig, load: float) -> np.ndarray:
    return rig.photo(pose(load))


def written(directory: Path, rig: PhotoRig, **others: PhotoRig) -> Path:
    """Write photographs; others replace that of a weight, such as _40g."""
    for load in LOADS:
        name = f"{1e3 * load:g}g"
        Image.fromarray(image(others.get(f"_{name}", rig), load)).save(directory / f"{name}.png")
    return directory


def series(directory: Path, rig: PhotoRig, **options: object) -> PhotoSeries:
    written(directory, rig)
    files = [(load, directory / f"{1e3 * load:g}g.png") for load in LOADS]
    return measure_series(files, FINGER, PhotoOptions(**options))


def errors_deg(seen: PhotoSeries, zero: bool = False) -> float:
    base = pose(0.0) if zero else 0.0
    return rms_deg(np.array([photo.angles - (pose(load) - base) for load, photo in seen.photos]))


@pytest.mark.slow
@pytest.mark.parametrize("lean", [0.0, 0.08])
def test_the_unloaded_photograph_as_zero_cancels_the_shape_of_the_valleys(lean):
    """Bias of rounded valleys at 960 pixels: 1.0°, leaning ones 1.6°; 0.4° with the zero."""
    rig = PhotoRig(FINGER, fillet=0.2, lean=lean)
    unloaded, bent = (measure_photo(image(rig, load), FINGER).angles for load in (0.0, 0.1))
    biased, zeroed = bent - pose(0.1), bent - unloaded - (pose(0.1) - pose(0.0))
    assert rms_deg(zeroed) < 0.5
    assert np.degrees(np.abs(zeroed)).max() < 0.9
    assert rms_deg(biased) < 1.0 + 12.0 * lean
    if lean:
        assert rms_deg(biased) > 3.0 * rms_deg(zeroed)


@pytest.mark.slow
def test_good_photographs_cause_no_warning(tmp_path):
    seen = series(tmp_path, RIG, zero="unloaded")
    assert seen.warnings == ()
    assert errors_deg(seen, zero=True) < 1.0
    np.testing.assert_array_equal(seen.photos[0][1].angles, 0.0)


@pytest.mark.slow
def test_mirrored_photographs_are_detected(tmp_path):
    seen = series(tmp_path, RIG.with_(turned="mirrored"))
    assert seen.warnings[0].startswith(
        "the photographs show the finger clamped at the right (between weights "
    )
    assert "they were mirrored (flip: true, --flip; --no-flip reads them" in seen.warnings[0]
    assert errors_deg(seen) < 1.7
    against = series(tmp_path, RIG.with_(turned="mirrored"), flip=False).warnings
    assert against[0].startswith("--no-flip expects the finger clamped at the left, but the")
    assert any("the edge of the base is at -" in text for text in against)


def test_images_upside_down_and_exchanged_names_are_refused(tmp_path):
    with pytest.raises(DescriptionError, match=r"expected a tip that sinks under weights, found") \
            as message:  # fmt: skip
        series(tmp_path, RIG.with_(turned="upside down"))
    assert "higher in 40g.png than in 0g.png; rotate images that are upside" in str(message.value)


@pytest.mark.slow
@pytest.mark.parametrize("change", [{"roll": 5.0}, {"base": 5.0}], ids=["camera", "clamp"])
def test_a_tilt_is_detected_and_can_be_read(tmp_path, change):
    tilted = series(tmp_path, RIG.with_(**change))
    assert any(
        "the edge of the base is at" in text and "angles are measured from 0.0°" in text
        for text in tilted.warnings
    )
    level = series(tmp_path, RIG.with_(**change), tilt="base")
    assert not any("edge of the base" in text for text in level.warnings)
    assert abs(np.degrees(level.photos[0][1].tilt) - 5.0) < 1.0
    assert errors_deg(level) < errors_deg(tilted)


FINGERS = {
    "grey, with a weight": RIG.with_(colour=GREY, weight=True),
    "white on dark": RIG.with_(colour=(240.0, 240.0, 238.0), paper=(60.0, 62.0, 66.0)),
    "translucent": RIG.with_(colour=(215.0, 220.0, 215.0), paper=(90.0, 100.0, 95.0), opacity=0.35),
}


@pytest.mark.parametrize("rig", FINGERS.values(), ids=FINGERS)
def test_fingers_of_any_colour_are_read_by_the_difference_to_an_empty_image(rig):
    ground = rig.empty()
    unloaded, bent = (
        measure_photo(image(rig, load), FINGER, ReadingOptions(empty=ground)).angles
        for load in LOADS
    )
    assert rms_deg(bent - unloaded - (pose(0.04) - pose(0.0))) < 1.4


def test_a_finger_like_its_ground_is_refused():
    rig = RIG.with_(colour=RIG.paper)
    with pytest.raises(DescriptionError, match=r"expected a finger that differs from the empty"):
        measure_photo(image(rig, 0.0), FINGER, ReadingOptions(empty=rig.empty()))


@pytest.mark.slow
def test_markers_show_the_joints(tmp_path):
    grey = RIG.with_(colour=GREY, markers=BLUE, weight=True, turned="mirrored")
    seen = series(tmp_path, grey, markers="auto")
    assert errors_deg(seen) < 0.3
    assert len(seen.warnings) == 1  # mirrored
    bent = measure_photo(
        image(RIG.with_(markers=BLUE), 0.04), FINGER, ReadingOptions(markers=colour_of("blue"))
    )
    assert rms_deg(bent.angles - pose(0.04)) < 0.5


def test_a_marker_on_the_base_gives_the_tilt():
    """Dots at the base, the joints and the tip, drawn in the straight finger rotated by 4°."""
    import cv2

    points = np.array([[-0.012, 0.0, FINGER.joints[0].position[2]], *FINGER_POINTS])[:, [0, 2]]
    pixels = (points - points[1]) * [6000.0, -6000.0]
    cosine, sine = np.cos(np.radians(4.0)), np.sin(np.radians(4.0))
    pixels = pixels @ [[cosine, sine], [-sine, cosine]] + [160.0, 120.0]
    dots = np.full((300, 700, 3), 235, dtype=np.uint8)
    for x, y in np.rint(4.0 * (pixels - 0.5)).astype(int).tolist():
        cv2.circle(dots, (x, y), 4 * 7, (20, 60, 200), -1, cv2.LINE_AA, 2)
    seen = measure_photo(dots, FINGER, ReadingOptions(markers="auto", tilt="base"))
    assert np.degrees(seen.tilt) == pytest.approx(4.0, abs=0.3)
    np.testing.assert_allclose(seen.points_px, pixels[1:], atol=0.3)
    np.testing.assert_allclose(np.degrees(seen.angles), 0.0, atol=0.8)


def test_missing_markers_are_counted(golden):
    with pytest.raises(DescriptionError, match=r"markers: expected 8 markers of hue .*found 0 ro"):
        measure_photo(image(RIG, 0.0), FINGER, ReadingOptions(markers=colour_of("green")))
    golden.refused(lambda: colour_of("pink"), "markers: expected auto, a hue in degrees or re")


@pytest.mark.slow
def test_focus_and_exposure_are_named(tmp_path, golden):
    def faults(**change: float) -> str:
        return " ".join(measure_photo(RIG.with_(**change).photo(pose(0.0)), FINGER).faults)

    assert faults() == ""
    assert faults(defocus=9.0).startswith("out of focus: the edge of the finger is ")
    assert faults(noise=0.15).startswith("noisy: the noise is ")
    with pytest.raises(
        DescriptionError, match=r"out of focus: the edge of the finger is .* pixels"
    ):
        faults(defocus=14.0)
    golden.refused(lambda: faults(gain=0.1), "underexposed: the brightest 1 % of the image is")
    golden.refused(lambda: faults(gain=12.0), "overexposed: 100 % of the image is white")


@pytest.mark.slow
def test_a_camera_that_moves_is_named(tmp_path):
    written(tmp_path, RIG, _40g=RIG.with_(roll=12.0))
    files = [(load, tmp_path / f"{1e3 * load:g}g.png") for load in LOADS]
    Image.fromarray(image(RIG, 0.04)).save(tmp_path / "41g.png")
    seen = measure_series([*files, (0.041, tmp_path / "41g.png")], FINGER)
    assert any("40g.png: the first joint is" in text for text in seen.warnings)


@pytest.mark.slow
def test_problem_files_hold_the_zero_and_the_empty_image(tmp_path):
    rig = RIG.with_(colour=GREY)
    written(tmp_path, rig)
    Image.fromarray(rig.empty()).save(tmp_path / "empty.png")
    tree = {"finger": "paper000", "photos": {"folder": "."}, "zero": "unloaded"}
    loaded = problem_from(tree, tmp_path)
    (hung,) = loaded.problem.hung  # no row without a weight
    assert hung.mass == 0.04
    assert rms_deg(np.array(hung.angles) - (pose(0.04) - pose(0.0))) < 1.4
    (tmp_path / "0g.png").unlink()
    with pytest.raises(DescriptionError, match=r"zero: expected a photograph without a weight"):
        problem_from(tree, tmp_path)


@pytest.mark.parametrize(
    ("option", "sentence"), [({"tilt": "steep"}, "photos.tilt"), ({"flip": "left"}, "photos.flip")]
)
def test_options_of_another_kind_are_refused(tmp_path, option, sentence, golden):
    with pytest.raises(DescriptionError) as message:
        problem_from({"finger": "paper000", "photos": {"folder": "."} | option}, tmp_path)
    golden(str(message.value), sentence)


def test_tables_hold_the_zero_too():
    rows = [{"mass": load, "angles": tuple((pose(load) + 0.05).tolist())} for load in (0.0, 0.04)]
    problem = problem_from({"finger": "paper000", "hung": rows, "zero": "unloaded"}, Path()).problem
    (hung,) = problem.hung
    truth = np.array([[joint.stiffness for joint in FINGER.joints]])
    from softgrasp.calibration.stages import VirtualExperiments

    (simulated,) = VirtualExperiments(problem).hung(truth, problem.hung)
    np.testing.assert_allclose(simulated[0], hung.angles, atol=1e-6)
    with pytest.raises(DescriptionError, match=r"zero: expected a row with 0 g and all joints"):
        problem_from({"finger": "paper000", "hung": rows[1:], "zero": "unloaded"}, Path())


@pytest.mark.slow
def test_springs_from_leaning_valleys_need_the_unloaded_photograph(tmp_path):
    """Photographs of a cast finger with leaning valleys to stiffness, with and without the zero."""
    rig = PhotoRig(FINGER, fillet=0.2, lean=0.08)
    for load in (0.0, 0.02, 0.04, 0.1):
        Image.fromarray(rig.photo(pose(load))).save(tmp_path / f"{1e3 * load:g}g.png")
    truth = np.log([joint.stiffness for joint in FINGER.joints])[[0, 1, 2, 4]]
    away = {}
    for zero in ("design", "unloaded"):
        problem = problem_from(
            {"finger": "paper000", "photos": str(tmp_path), "zero": zero}, tmp_path
        ).problem
        stage = sg.calibrate(problem, "least-squares", stages=["springs"]).stage("springs")
        away[zero] = np.abs(np.log(stage.values[[0, 1, 2, 4]]) - truth)
    assert away["unloaded"].max() < 0.15
    assert away["design"].max() > 2.0 * away["unloaded"].max()
