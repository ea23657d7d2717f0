"""Calibrate from directories of synthetic photographs and videos of a known finger."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import softgrasp as sg
from softgrasp.calibration.calibrate import calibrate
from softgrasp.calibration.files import LoadedProblem, load_problem
from softgrasp.report.calibration import _images_in, draw_evidence
from softgrasp.vision.synthetic_photos import synthetic_photo
from tests.calibration.problems import FINGER
from tests.support.synthetic_video import SyntheticVideo
from tests.support.videos import write_video

pytest.importorskip("cv2", reason="OpenCV is the extra 'calibrate'")


@pytest.fixture(scope="module")
def loaded(tmp_path_factory: pytest.TempPathFactory) -> LoadedProblem:
    directory = tmp_path_factory.mktemp("bench")
    (directory / "photos").mkdir()
    for grams in (0, 20, 40):
        angles = sg.equilibrium(FINGER, tip_mass=1e-3 * grams, error_estimate=False).joint_angles
        photo = synthetic_photo(FINGER, angles, width=1280, noise=0.01, seed=grams)
        Image.fromarray(photo.image).save(directory / "photos" / f"finger_{grams}g.png")
    start = sg.equilibrium(FINGER, tip_mass=0.04, error_estimate=False).joint_angles
    video = SyntheticVideo(
        sg.soft.move_finger(FINGER, 0.8, start_angles=start, timestep=2.5e-4), width=320
    )
    write_video(directory / "videos" / "40g.avi", video.frames(), video.frame_rate)
    (directory / "problem.yaml").write_text(
        "finger: paper000\nphotos: photos\n"
        f"videos: {{folder: videos, pixel_size: {video.pixel_size}, frame_rate: 960}}\n"
        "release_objective: trace\n",
        encoding="utf-8",
    )
    return load_problem(directory / "problem.yaml")


@pytest.mark.slow
def test_springs_are_recovered_from_photographs(loaded: LoadedProblem) -> None:
    stage = calibrate(loaded.problem, stages=["springs"]).stage("springs")
    truth = np.array([joint.stiffness for joint in FINGER.joints])
    assert (np.abs(stage.values - truth) < 3.0 * stage.uncertainty.errors)[:6].all()
    np.testing.assert_allclose(stage.values[[0, 1, 4]], truth[[0, 1, 4]], rtol=0.1)


@pytest.mark.slow
def test_a_video_is_read_as_overshoots_and_as_a_track(loaded: LoadedProblem) -> None:
    (release,) = loaded.problem.releases
    assert release.overshoots == 12
    assert release.settling_time == pytest.approx(0.599, rel=0.03)
    assert len(release.times) > 300


@pytest.mark.slow
def test_measurements_are_drawn(loaded: LoadedProblem, tmp_path: Path) -> None:
    draw_evidence(loaded, tmp_path)
    images = _images_in(tmp_path)
    assert [image.path.name for image in images] == [
        "photo_1_0g.png", "photo_2_20g.png", "photo_3_40g.png", "film_1_40g.png",
    ]  # fmt: skip
    for drawn in images:
        with Image.open(drawn.path) as image:
            assert np.asarray(image).std() > 10.0
            assert image.info["dpi"][0] == pytest.approx(image.width / 8.0, rel=1e-3)


def test_a_video_that_is_too_short_is_reported(tmp_path: Path) -> None:
    video = SyntheticVideo(sg.soft.move_finger(FINGER, 0.15, start_angles=0.1), width=320)
    write_video(tmp_path / "videos" / "20g.avi", video.frames(), video.frame_rate)
    path = tmp_path / "problem.yaml"
    path.write_text(
        f"finger: paper000\nvideos: {{folder: videos, pixel_size: {video.pixel_size}}}\n",
        encoding="utf-8",
    )
    with pytest.raises(sg.DescriptionError) as caught:
        load_problem(path)
    message = str(caught.value)
    assert message.startswith(
        f"{tmp_path / 'videos' / '20g.avi'}: expected a video that shows the finger until it "
        "settles, found 144 frames, 0.15 s at 960 frames/s, in whose last "
    )
    assert message.endswith("; film until it is at rest")
