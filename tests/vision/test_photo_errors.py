"""Photographs that cannot be measured, and the error message of each."""

import sys

import numpy as np
import pytest
from PIL import Image

from softgrasp.errors import BackendUnavailable, DescriptionError
from softgrasp.vision.image import opencv, read_photo

pytest.importorskip("cv2", reason="OpenCV is the extra 'calibrate'")

from softgrasp.vision import checkerboard
from softgrasp.vision.checkerboard import Checkerboard
from softgrasp.vision.joint_angles import ReadingOptions, measure_photo
from softgrasp.vision.segmentation import FingerColour
from softgrasp.vision.synthetic_photos import synthetic_photo
from tests.vision.photo_cases import FINGER, photo


@pytest.fixture(scope="module")
def image() -> np.ndarray:
    return photo(0.1).image


def sentence(*arguments: object, **options: object) -> str:
    with pytest.raises(DescriptionError) as message:
        measure_photo(*arguments, options=ReadingOptions(**options))
    return str(message.value)


def test_without_opencv(monkeypatch, golden):
    monkeypatch.setitem(sys.modules, "cv2", None)
    golden.refused(
        opencv, "photographs and videos are measured with OpenCV, which", BackendUnavailable
    )


def test_files_that_are_not_images(tmp_path, golden):
    text = tmp_path / "notes.png"
    text.write_text("no image")
    missing = tmp_path / "missing.png"
    assert sentence(missing, FINGER) == f"{missing}: expected a photograph, found no such file"
    golden(sentence(text, FINGER), "expected a photograph")
    assert sentence(tmp_path, FINGER) == f"{tmp_path}: expected a photograph, found a directory"


@pytest.mark.slow
def test_a_damaged_file(tmp_path, image, golden):
    path = tmp_path / "half.png"
    Image.fromarray(image).save(path)
    path.write_bytes(path.read_bytes()[:3000])
    golden.refused(lambda: read_photo(path), "half.png: expected a photograph, found a file")


@pytest.mark.slow
def test_an_error_names_the_file(tmp_path, image, golden):
    path = tmp_path / "finger.png"
    Image.fromarray(image).save(path)
    np.testing.assert_array_equal(read_photo(path), image)
    from_file, direct = measure_photo(path, FINGER), measure_photo(image, FINGER)
    np.testing.assert_array_equal(from_file.angles, direct.angles)
    Image.fromarray(image[::20, ::20]).save(path)
    golden(sentence(str(path), FINGER), "expected an image of at least 320 × 160 pixels")


def test_a_photograph_is_rotated_after_its_exif_orientation(tmp_path, image):
    path, exif = tmp_path / "rotated.png", Image.Exif()
    exif[0x0112] = 3  # the camera was upside down
    Image.fromarray(image[::-1, ::-1].copy()).save(path, exif=exif)
    np.testing.assert_array_equal(read_photo(path), image)


def same(image):
    return image


def grey(image):
    return np.repeat(image.mean(axis=2, keepdims=True), 3, axis=2).astype(np.uint8)


BLUE = FingerColour(hue_deg=(200.0, 250.0))
CUT = "expected the whole finger in the image, found it cut off at the"


@pytest.mark.parametrize(
    ("change", "options", "part"),
    [
        (lambda _: np.zeros((480, 640)), {}, "expected an image of shape (height, width, 3) of"),
        (same, {"colour": BLUE}, "expected a finger with hue 200° to 250°, saturation"),
        (grey, {}, "expected a coloured finger before a white background"),
        (lambda image: image[:, :800].copy(), {}, CUT),
        (lambda image: image[:700].copy(), {}, CUT),
        (lambda image: image[:700, :900].copy(), {}, CUT),
        (lambda image: image[150:].copy(), {}, CUT),
        (lambda image: image[:, 799::-1].copy(), {"flip": True}, CUT),
        (same, {"joints": 8}, "joints"),
        (same, {"joints": 5}, "joints"),
        (same, {"angles": "hinge"}, "angles"),
        (same, {"scale": -1.0}, "scale"),
        (same, {"scale": Checkerboard(rows=5, columns=7, square=0.004)}, "board"),
    ],
    ids=["array", "hue", "grey", "right", "bottom", "both", "top", "flipped", "joints 8",
         "joints 5", "angles", "scale", "board"],
)  # fmt: skip
def test_what_cannot_be_measured(change, options, part, image, golden):
    golden(sentence(change(image), FINGER, **options), part)


def test_too_few_valleys(image):
    message = sentence(image, FINGER, notches="top")
    assert message.startswith(
        "expected 7 valleys between bellows, one for each joint, found 1, at "
    )
    assert message.endswith(
        "; is the notched side the other one, or is the image blurred?; the bottom line has 7: use "
        "notches: bottom, or rotate an image that is upside down"
    )
    assert message.count("(") == 1


def test_colours_in_the_wrong_order(golden):
    golden.refused(lambda: FingerColour(saturation=(0.9, 0.2)), "saturation")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"width": 100}, "width"),
        ({"joint_angles": [0.1]}, "joint_angles"),
        ({"light": 2.0}, "light"),
        ({"noise": -1.0}, "noise"),
    ],
    ids=["width", "angles", "light", "noise"],
)
def test_invalid_synthetic_photographs(options, message, golden):
    with pytest.raises(DescriptionError) as error:
        synthetic_photo(FINGER, **({"joint_angles": np.zeros(7), "width": 320} | options))
    golden(str(error.value), message)


def test_a_checkerboard_in_an_oblique_view(monkeypatch):
    board = Checkerboard(rows=3, columns=4, square=0.004)
    rows, columns = np.mgrid[:3, :4]
    depth = 1.0 + 0.22 * columns
    seen = np.stack([200.0 + 60.0 * columns / depth, 200.0 + 50.0 * (rows - 1.0) / depth], -1)
    monkeypatch.setattr(checkerboard, "find_board", lambda *_: seen.reshape(-1, 2))
    with pytest.raises(DescriptionError) as message:
        checkerboard.rectify(np.full((480, 640, 3), 255, np.uint8), board)
    assert str(message.value).startswith(
        "board: expected a checkerboard seen from the front, found a view so oblique that the "
        "image would grow from 640 × 480 to "
    )
