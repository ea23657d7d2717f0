"""Films play back as they were written; files are whole or absent."""

import subprocess
import sys

import imageio.v3
import imageio_ffmpeg
import numpy as np
import pytest

from softgrasp.errors import BackendUnavailable, DescriptionError, ResultError
from softgrasp.rendering import tile, write_frames, write_png


def _frames(count, height=48, width=64):
    for index in range(count):
        frame = np.zeros((height, width, 3), dtype=np.uint8)
        frame[..., 0] = 20 * index
        frame[:, : width // 2, 1] = 200
        yield frame


def _played(path, height, width):
    """Frames, and ffmpeg's words about the film."""
    command = [imageio_ffmpeg.get_ffmpeg_exe(), "-i", str(path)]
    command += ["-f", "rawvideo", "-pix_fmt", "rgb24", "-"]
    run = subprocess.run(command, capture_output=True, check=True)
    return np.frombuffer(run.stdout, np.uint8).reshape(-1, height, width, 3), run.stderr.decode()


def test_a_film_has_its_frames_size_rate_and_colours(tmp_path):
    path = write_frames(tmp_path / "new" / "film.mp4", _frames(9), fps=30)
    back, words = _played(path, 48, 64)
    assert back.shape == (9, 48, 64, 3)
    assert ", 30 fps," in words
    assert np.abs(back.astype(int) - np.stack(list(_frames(9)))).mean() < 4
    assert [item.name for item in path.parent.iterdir()] == ["film.mp4"]


def test_a_film_suits_browsers(tmp_path):
    path = write_frames(tmp_path / "film.mp4", _frames(3), fps=10)
    words = _played(path, 48, 64)[1]
    assert "Video: h264" in words
    assert "yuv420p(tv, bt709" in words
    content = path.read_bytes()
    assert content.index(b"moov") < content.index(b"mdat")


def test_odd_sizes_lose_their_last_row_and_column(tmp_path):
    path = write_frames(tmp_path / "film.mp4", _frames(2, height=49, width=65), fps=10)
    assert len(_played(path, 48, 64)[0]) == 2


def test_no_frames_and_no_file(tmp_path):
    with pytest.raises(ResultError, match="expected at least one frame, found none"):
        write_frames(tmp_path / "film.mp4", [], fps=30)
    assert not list(tmp_path.iterdir())


def test_a_frame_of_another_size_leaves_the_old_film_alone(tmp_path):
    path = tmp_path / "film.mp4"
    path.write_bytes(b"old")
    frames = [*_frames(2), *_frames(1, height=60)]
    with pytest.raises(ResultError, match=r"frame 2: expected shape \(48, 64, 3\), found \(60"):
        write_frames(path, frames, fps=30)
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]


def test_a_drawing_that_fails_leaves_nothing(tmp_path):
    def frames():
        yield from _frames(2)
        raise KeyError("the drawing failed")

    with pytest.raises(KeyError):
        write_frames(tmp_path / "film.mp4", frames(), fps=30)
    assert not list(tmp_path.iterdir())


def test_without_ffmpeg_the_sentence_names_the_cure(tmp_path, monkeypatch):
    def missing():
        raise RuntimeError("no ffmpeg exe could be found")

    monkeypatch.setattr(imageio_ffmpeg, "get_ffmpeg_exe", missing)
    with pytest.raises(BackendUnavailable, match="pip install imageio-ffmpeg"):
        write_frames(tmp_path / "film.mp4", _frames(2), fps=30)


def test_an_ffmpeg_that_fails_is_told(tmp_path, monkeypatch):
    from softgrasp.rendering import video as film

    monkeypatch.setattr(film, "_ENCODING", ("-no_such_option", "1"))
    with pytest.raises(ResultError, match=r"film\.mp4: ffmpeg could not write the film: .+"):
        write_frames(tmp_path / "film.mp4", _frames(40, 480, 640), fps=30)
    assert not list(tmp_path.iterdir())


def test_writing_is_silent(tmp_path):
    code = (
        "import logging, numpy as np; logging.basicConfig(level='WARNING')\n"
        "from softgrasp.rendering import write_film\n"
        f"write_film({str(tmp_path / 'film.mp4')!r}, np.zeros((3, 33, 47, 3), np.uint8), 30)"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert (run.stdout, run.stderr) == ("", "")


def test_a_png_comes_back_exactly(tmp_path):
    image = np.random.default_rng(0).integers(0, 256, (7, 5, 3)).astype(np.uint8)
    path = write_png(tmp_path / "picture.png", image)
    assert (imageio.v3.imread(path) == image).all()
    assert list(tmp_path.iterdir()) == [path]


def test_tiles_lie_in_rows():
    images = [np.full((4, 6, 3), value, dtype=np.uint8) for value in (10, 20, 30)]
    sheet = tile(images, columns=2, gap=1)
    assert sheet.shape == (9, 13, 3)
    assert [sheet[0, 0, 0], sheet[0, 7, 0], sheet[5, 0, 0], sheet[5, 7, 0]] == [10, 20, 30, 255]
    assert (sheet[4] == 255).all()
    assert (sheet[:, 6] == 255).all()
    assert tile(images, columns=9, gap=0).shape == (4, 18, 3)


@pytest.mark.parametrize(("sizes", "columns"), [([], 1), ([(4, 4), (4, 5)], 2), ([(4, 4)], 0)])
def test_what_cannot_be_tiled_is_refused(sizes, columns):
    with pytest.raises(DescriptionError, match="tile: expected pictures of one size"):
        tile([np.zeros((*size, 3), dtype=np.uint8) for size in sizes], columns)
