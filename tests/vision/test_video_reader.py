"""Read videos and directories of frames; refuse other files."""

from pathlib import Path

import numpy as np
import pytest

import softgrasp as sg
from softgrasp.vision.image import Image, open_video
from tests.support.videos import write_video

pytest.importorskip("cv2", reason="OpenCV is the extra 'calibrate'")


def images(count: int = 5) -> list[Image]:
    """Frames of a light square that moves over a smooth background."""
    ground = np.zeros((96, 128, 3), dtype=np.uint8)
    ground[..., 0] = np.linspace(40, 80, 128).astype(np.uint8)
    result = []
    for index in range(count):
        image = ground.copy()
        image[32:64, 16 + 8 * index : 48 + 8 * index] = (200, 180, 60)
        result.append(image)
    return result


@pytest.mark.parametrize(("name", "loss"), [("a.avi", 3.0), ("a.mp4", 6.0), ("frames", 0.0)])
def test_a_video_or_directory_is_read(name, loss, tmp_path):
    path = write_video(tmp_path / name, images(), 960.0)
    video = open_video(path, None if path.is_file() else 960.0)
    assert video.frame_rate == 960.0
    read = list(video.frames())
    assert len(read) == 5
    for first, second in zip(read, images(), strict=True):
        assert np.abs(first.astype(float) - second).mean() <= loss


def test_a_specified_frame_rate_wins(tmp_path):
    path = write_video(tmp_path / "slow.avi", images(), 25.0)
    assert open_video(path).frame_rate == 25.0
    assert open_video(path, 960.0).frame_rate == 960.0


def nothing(path: Path) -> Path:
    return path / "no.avi"


def letter(path: Path) -> Path:
    (path / "letter.avi").write_text("no video")
    return path / "letter.avi"


def empty_folder(path: Path) -> Path:
    (path / "notes.txt").write_text("no images yet")
    return path


def directory(path: Path) -> Path:
    return write_video(path / "frames", images(2), 1.0)


@pytest.mark.parametrize(
    ("make", "rate", "sentence"),
    [
        (nothing, 960.0, "no.avi: expected a video or a directory of images, found no file"),
        (letter, 960.0, "letter.avi: expected a video, found a file that OpenCV cannot read"),
        (empty_folder, 960.0, r"expected frames as images \(.png, .*\), found none"),
        (directory, None, "frames: expected a frame rate, found none in .* frame_rate=960"),
        (directory, -1.0, "frame_rate: expected a number above 0, found -1.0"),
    ],
)
def test_another_file_than_a_video_is_refused(make, rate, sentence, tmp_path):
    with pytest.raises(sg.DescriptionError, match=sentence):
        open_video(make(tmp_path), rate)


def test_frames_of_different_sizes_are_refused(tmp_path):
    path = directory(tmp_path)
    write_video(tmp_path / "other", [images()[0][:, :64]], 1.0)
    (tmp_path / "other" / "000000.png").rename(path / "000002.png")
    with pytest.raises(sg.DescriptionError, match=r"frame 2: expected 128 × 96 .* found 64 × 96"):
        list(open_video(path, 960.0).frames())
    (path / "000001.png").write_text("no image")
    with pytest.raises(sg.DescriptionError, match=r"000001\.png: expected a photograph, found"):
        list(open_video(path, 960.0).frames())
