"""Video and image files, playback schedules and frames of a result."""

import contextlib
import os
import signal
import subprocess
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path

import imageio.v3
import imageio_ffmpeg
import numpy as np
import PIL.Image
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import softgrasp as sg
from softgrasp.errors import BackendUnavailable, ResultError
from softgrasp.model.visual import IN_CONTACT_RGBA
from softgrasp.rendering import encoding, write_frames, write_png
from softgrasp.rendering.camera import geom_corner_points
from softgrasp.rendering.keyframes import HIDDEN_ALPHA, Playback, key_frames
from softgrasp.rendering.overlay import Arrow, Ball
from softgrasp.rendering.rays import Caster
from softgrasp.rendering.renderer import open_renderer
from softgrasp.rendering.video import (
    CLOSING_SECONDS,
    STILL_END,
    draw_frames,
    framing,
    pace,
    render_key_frames,
    render_video,
)
from softgrasp.report import contact_figures, grasp_report, write_report
from tests.conftest import usual_ctrl_c
from tests.support.scenes import pinch


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


def test_a_video_has_its_frames_size_rate_and_colours(tmp_path):
    path = write_frames(tmp_path / "new" / "film.mp4", _frames(9), fps=30)
    back, words = _played(path, 48, 64)
    assert back.shape == (9, 48, 64, 3)
    assert ", 30 fps," in words
    assert np.abs(back.astype(int) - np.stack(list(_frames(9)))).mean() < 4
    assert [item.name for item in path.parent.iterdir()] == ["film.mp4"]


def test_a_video_suits_browsers(tmp_path):
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


def test_a_frame_of_another_size_leaves_the_old_video_alone(tmp_path):
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


def test_ctrl_c_while_ffmpeg_starts_ends_it_and_leaves_no_file(tmp_path, monkeypatch):
    usual, started = subprocess.Popen, []

    def start(*arguments, **options):
        started.append(usual(*arguments, **options))
        signal.raise_signal(signal.SIGINT)
        return started[-1]

    monkeypatch.setattr(subprocess, "Popen", start)
    with usual_ctrl_c(), pytest.raises(KeyboardInterrupt):
        write_frames(tmp_path / "film.mp4", _frames(9), fps=30)
    assert started[0].returncode == -signal.SIGKILL
    assert not list(tmp_path.iterdir())


@pytest.fixture
def no_ffmpeg(monkeypatch):
    """Neither the extra nor the system has an ffmpeg."""

    def missing():
        raise RuntimeError("no ffmpeg exe could be found")

    monkeypatch.setattr(imageio_ffmpeg, "get_ffmpeg_exe", missing)


def test_without_ffmpeg_the_error_names_the_extra(tmp_path, no_ffmpeg):
    with pytest.raises(BackendUnavailable, match=r"pip install 'softgrasp\[video\]'"):
        write_frames(tmp_path / "film.mp4", _frames(2), fps=30)
    assert not list(tmp_path.iterdir())


def test_an_ffmpeg_of_the_system_serves_without_the_extra(tmp_path, monkeypatch):
    program = imageio_ffmpeg.get_ffmpeg_exe()
    monkeypatch.setattr(encoding.importlib.util, "find_spec", lambda _: None)
    monkeypatch.setattr(encoding.shutil, "which", {"ffmpeg": program}.get)
    assert write_frames(tmp_path / "film.mp4", _frames(2), fps=30).stat().st_size > 0
    monkeypatch.setattr(encoding.shutil, "which", {}.get)
    assert encoding.playable_path(tmp_path / "film.mp4") == tmp_path / "film.gif"


@pytest.mark.parametrize(("fps", "count", "every"), [(30, 12, 3), (10, 7, 1), (5, 4, 1)])
def test_a_gif_has_the_images_and_their_times(tmp_path, no_ffmpeg, fps, count, every):
    path = write_frames(tmp_path / "film.gif", _frames(count), fps=fps)
    expected = list(_frames(count))[::every]
    with PIL.Image.open(path) as film:
        assert film.n_frames == len(expected)
        assert film.info["loop"] == 0
        for index, image in enumerate(expected):
            film.seek(index)
            assert film.info["duration"] == 1000 * every / fps
            drawn = np.asarray(film.convert("RGB"), dtype=int)
            assert np.abs(drawn - image).max() <= 1


def test_a_gif_of_unequal_frames_leaves_no_file(tmp_path):
    frames = [*_frames(5), np.zeros((2, 2, 3), dtype=np.uint8)]
    with pytest.raises(ResultError, match="frame 5: expected shape"):
        write_frames(tmp_path / "film.gif", frames, fps=10)
    assert not list(tmp_path.iterdir())


@pytest.mark.slow
def test_a_report_without_ffmpeg_shows_a_gif(tmp_path, no_ffmpeg, held, monkeypatch):
    monkeypatch.setattr(grasp_report, "render_video", partial(render_video, fps=4))
    monkeypatch.setattr(contact_figures, "SIZE", (146, 160))
    written = write_report(held, tmp_path, video_size=SMALL, renderer="raycast")
    assert tmp_path / "grasp.gif" in written
    page = (tmp_path / "report.html").read_text("utf-8")
    assert 'src="data:image/gif;base64,' in page
    assert "<video" not in page


def test_an_ffmpeg_that_fails_is_reported(tmp_path, monkeypatch):
    from softgrasp.rendering import encoding as film

    monkeypatch.setattr(film, "_ENCODING", ("-no_such_option", "1"))
    with pytest.raises(ResultError, match=r"film\.mp4: ffmpeg could not write the video: .+"):
        write_frames(tmp_path / "film.mp4", _frames(40, 480, 640), fps=30)
    assert not list(tmp_path.iterdir())


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is always full")
@pytest.mark.parametrize("silent", [False, True], ids=["reported", "no space for its report"])
@pytest.mark.parametrize("count", [1, 40], ids=["at the end", "while frames are written"])
def test_a_full_disk_is_one_sentence(silent, count, tmp_path, monkeypatch, golden):
    from softgrasp.rendering import encoding as film

    @contextlib.contextmanager
    def full(_: Path) -> Iterator[Path]:
        yield Path("/dev/full")

    monkeypatch.setattr(film, "atomic_path", full)
    quiet = ("-v", "quiet") if silent else ()
    monkeypatch.setattr(film, "_ENCODING", (*film._ENCODING, "-f", "mp4", *quiet))
    path = tmp_path / "film.mp4"
    with pytest.raises(ResultError) as caught:
        write_frames(path, _frames(count, 480, 640), fps=30)
    golden(caught.value, "expected space for the file")


@pytest.mark.skipif(os.name == "nt", reason="needs a shell of POSIX")
def test_an_older_ffmpeg_that_reports_a_full_disk_is_understood(tmp_path, monkeypatch):
    program = tmp_path / "ffmpeg"
    program.write_text(
        "#!/bin/sh\ncat > /dev/null\necho 'av_write_frame: No space left on device' >&2\n"
        "echo 'Conversion failed!' >&2\nexit 1\n"
    )
    program.chmod(0o755)
    monkeypatch.setattr(imageio_ffmpeg, "get_ffmpeg_exe", lambda: str(program))
    with pytest.raises(ResultError, match="expected space for the file, found: No space left"):
        write_frames(tmp_path / "film.mp4", _frames(2), fps=30)


def test_writing_is_silent(tmp_path, capfd, caplog):
    write_frames(tmp_path / "film.mp4", np.zeros((3, 33, 47, 3), np.uint8), 30)
    assert (*capfd.readouterr(), caplog.records) == ("", "", [])


def test_a_png_comes_back_exactly(tmp_path):
    image = np.random.default_rng(0).integers(0, 256, (7, 5, 3)).astype(np.uint8)
    path = write_png(tmp_path / "picture.png", image)
    assert (imageio.v3.imread(path) == image).all()
    assert list(tmp_path.iterdir()) == [path]


# Playback of a result.


SMALL = (96, 72)


@pytest.fixture(scope="module")
def held() -> sg.GraspResult:
    """A pinch with a short hold test: four fingertips in contact."""
    return sg.simulate(pinch(success=sg.SuccessCriterion(ramp_time=0.01, hold_time=0.02)))


@pytest.fixture(scope="module")
def untouched() -> sg.GraspResult:
    """The first milliseconds of a pinch, before anything touches."""
    return sg.simulate(pinch(duration=0.05))


def played(path: Path) -> np.ndarray:
    """The frames of a small film, shape (n, 72, 96, 3)."""
    return _played(path, *SMALL[::-1])[0]


def body_pose(playback: Playback, name: str) -> tuple[np.ndarray, np.ndarray]:
    body = playback.model.body(name).id
    return playback.data.xpos[body].copy(), playback.data.xquat[body].copy()


@pytest.mark.parametrize("mount", ["free", "fixed", "planar"])
def test_a_pose_is_the_recorded_one(mount):
    rotated = pinch(
        object_mount=mount, object_euler=(0.3, 0.2, -0.4), object_position=(0, 0, -0.08)
    )
    result = sg.simulate(rotated)
    playback = Playback(result)
    for row in (0, len(result.time) // 2, len(result.time) - 1):
        playback.pose(float(result.time[row]))
        joints = [playback.data.joint(name).qpos[0] for name in result.joint_names]
        np.testing.assert_allclose(joints, result.joint_position[row], atol=1e-12)
        position, quaternion = body_pose(playback, "object")
        np.testing.assert_allclose(position, result.object_position[row], atol=1e-9)
        assert abs(quaternion @ result.object_quat_wxyz[row]) == pytest.approx(1.0, abs=1e-9)


def test_poses_between_samples_are_interpolated(untouched):
    half = np.sqrt(0.5)
    rows = len(untouched.time)
    track = np.linspace([0.0, 0.0, -0.085], [0.0, 0.0, -0.095], rows)
    rotations = np.tile([1.0, 0.0, 0.0, 0.0], (rows, 1))
    rotations[1] = [half, 0.0, half, 0.0]
    result = replace(untouched, object_position=track, object_quat_wxyz=rotations)
    playback = Playback(result)
    playback.pose(0.25 * float(result.time[1]))
    position, quaternion = body_pose(playback, "object")
    np.testing.assert_allclose(position, 0.75 * track[0] + 0.25 * track[1], atol=1e-12)
    eighth = np.pi / 16.0  # a quarter of 90 degrees, halved as quaternions do
    np.testing.assert_allclose(quaternion, [np.cos(eighth), 0, np.sin(eighth), 0], atol=1e-9)
    joints = [playback.data.joint(name).qpos[0] for name in result.joint_names]
    first, second = result.joint_position[:2]
    np.testing.assert_allclose(joints, 0.75 * first + 0.25 * second, atol=1e-12)


def test_times_outside_the_run_are_its_ends(held):
    playback = Playback(held)
    ends = [playback.pose(time).qpos.copy() for time in (-1.0, 0.0, held.simulated_time, 99.0)]
    np.testing.assert_array_equal(ends[0], ends[1])
    np.testing.assert_array_equal(ends[2], ends[3])


def test_arrows_are_normal_forces_on_the_object(held):
    playback = Playback(held)
    camera, end = framing([playback], SMALL), float(held.time[-1])
    center = playback.pose(end).body("object").xpos.copy()
    marks = playback.marks(end, camera)
    arrows = [mark for mark in marks if isinstance(mark, Arrow)]
    assert len(arrows) == len([mark for mark in marks if isinstance(mark, Ball)]) == 4
    for arrow in arrows:
        along = np.subtract(arrow.vector_end, arrow.start)
        inward = center - arrow.start
        cosine = along @ inward / np.linalg.norm(along) / np.linalg.norm(inward)
        assert cosine == pytest.approx(1.0, abs=1e-3)


def test_contacts_behind_the_object_are_faint(held):
    playback, end = Playback(held), float(held.time[-1])
    center = playback.pose(end).body("object").xpos.copy()
    first, alphas = framing([playback], SMALL), set()
    for azimuth in (first.azimuth_deg, first.azimuth_deg + 180.0):
        camera = replace(first, azimuth_deg=azimuth, elevation_deg=-5.0)
        for mark in playback.marks(end, camera):
            tip = mark.center if isinstance(mark, Ball) else mark.vector_end
            beyond = (np.array(tip) - center) @ camera.axes()[2]
            if abs(beyond) > 5e-3:
                assert mark.rgba[3] == (HIDDEN_ALPHA if beyond > 0.0 else 1.0)
                alphas.add(mark.rgba[3])
    assert len(alphas) == 2


@pytest.mark.slow
def test_the_camera_shows_the_handle_of_a_mug():
    hand, mug = sg.load_hand("four_finger"), sg.load_object("mug")
    result = sg.simulate(sg.GraspScene(hand=hand, object=mug, duration=0.01))
    playback = Playback(result)
    camera, data = framing([playback], SMALL), playback.pose(0.0)
    geoms = np.flatnonzero(playback.model.geom_bodyid == playback.model.body("object").id)
    points = geom_corner_points(playback.model, data, geoms)
    flat = points[:, :2] - data.body("object").xpos[:2]
    handle = points[np.argmax(np.linalg.norm(flat, axis=1))]
    assert not Caster(playback.model, data).blocked(camera.position, handle[None], 0.02)[0]


@pytest.mark.parametrize(("factor", "grows"), [(0.5, 0.5), (1.0, 1.0), (1e6, 1.4)])
def test_arrows_are_as_long_as_the_force_up_to_a_limit(held, factor, grows):
    camera, end = framing([Playback(held)], SMALL), float(held.time[-1])
    forces = np.where(held.in_contact, 5.0, 0.0)
    forces[-1] *= factor
    playbacks = [Playback(replace(held, normal_force=np.where(held.in_contact, 5.0, 0.0)))]
    playbacks.append(Playback(replace(held, normal_force=forces)))
    lengths = []
    for playback in playbacks:
        playback.pose(end)
        arrow = next(m for m in playback.marks(end, camera) if isinstance(m, Arrow))
        lengths.append(np.linalg.norm(np.subtract(arrow.vector_end, arrow.start)))
    assert lengths[1] / lengths[0] <= grows + 1e-6
    if factor <= 1.0:
        assert lengths[1] / lengths[0] == pytest.approx(grows)


def test_established_contact_changes_the_colour(held):
    playback = Playback(held)
    established = next(e.time_s for e in held.events if e.kind == "established")
    tips = {playback.model.geom(f"F{k}_P3").id for k in (1, 2, 3, 4)}
    assert playback.colors(established - 2e-3) == {}
    assert playback.colors(established + 1e-6) == dict.fromkeys(tips, IN_CONTACT_RGBA)


def test_the_camera_has_the_whole_run_in_its_image(held):
    playback = Playback(held)
    pixels = framing([playback], (320, 240)).project(playback.cloud(), 320, 240)
    assert (pixels[:, 2] > 0).all()
    assert (pixels[:, :2] >= 0).all()
    assert (pixels[:, :2] <= (320, 240)).all()


def test_an_object_that_flies_away_does_not_shrink_the_hand(held):
    far = held.object_position.copy()
    far[len(far) // 2 :] += (5.0, 0.0, 0.0)
    gone = replace(held, object_position=far)
    near, away = (framing([Playback(result)], SMALL).distance for result in (held, gone))
    assert away < 1.5 * near


def test_a_video_has_the_frames_and_the_length_it_reports(held, tmp_path):
    done: list[float] = []
    info = render_video(
        held, tmp_path / "a.mp4", renderer="raycast", size=SMALL, fps=5, progress=done.append
    )
    frames = played(info.path)
    assert len(frames) == info.frames
    assert CLOSING_SECONDS + STILL_END < info.frames / info.fps < 8.0
    assert "ray caster" in info.renderer_description
    assert done == sorted(done)
    assert done[-1] == 1.0
    assert len(done) == info.frames
    assert np.ptp(frames[0].astype(int)) > 100  # something is drawn


def test_a_video_of_a_specified_length(held, tmp_path):
    info = render_video(
        held, tmp_path / "a.mp4", renderer="raycast", size=SMALL, fps=10, seconds=1.0
    )
    assert info.frames == len(played(info.path)) == 10


def test_equal_images_are_drawn_once(held):
    class Drawer:
        drawn, threads = 0, 1

        def draw(self, *_: object) -> np.ndarray:
            self.drawn += 1
            return np.zeros((72, 96, 3), dtype=np.uint8)

    playback, times, drawer = Playback(held), pace(held, 30).times, Drawer()
    camera = framing([playback], SMALL)
    frames = list(draw_frames(playback, drawer, camera, times, np.zeros_like(times)))
    standing = (times == times[-1]).sum() + (times == 0.0).sum()
    assert len(frames) == len(times)
    assert drawer.drawn <= len(frames) - standing + 2


def test_frames_do_not_depend_on_how_many_are_drawn_at_once(held):
    playback, times = Playback(held), pace(held, 4).times
    camera = framing([playback], SMALL)
    videos = []
    for threads in (1, 3):
        with open_renderer(playback.model, *SMALL, "raycast") as drawer:
            drawer.threads = threads
            videos.append(list(draw_frames(playback, drawer, camera, times, np.zeros_like(times))))
    for alone, together in zip(*videos, strict=True):
        np.testing.assert_array_equal(alone, together)


def test_key_frames_are_images_from_one_position(held):
    times = [0.0, held.simulated_time]
    first, last = render_key_frames(held, times, renderer="raycast", size=SMALL)
    assert first.shape == last.shape == (72, 96, 3)
    palm = slice(8, 16)  # the palm does not move, but the fingers below it do
    assert np.abs(first.astype(int) - last).max() > 60
    assert np.median(np.abs(first[palm].astype(int) - last[palm])) < 8


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"renderer": "gll"}, "expected a renderer, found 'gll'; did you mean 'gl'"),
        ({"fps": 0}, "fps: expected at least 1 frame a second, found 0"),
        ({"seconds": -1.0}, "seconds: expected a positive length, found -1"),
        ({"seconds": float("nan")}, "seconds: expected a positive length, found nan"),
        ({"size": (0, 72)}, "size: expected .* found 0 x 72"),
    ],
)
def test_a_wrong_option_gets_a_sentence_and_leaves_no_file(untouched, tmp_path, options, sentence):
    with pytest.raises(sg.DescriptionError, match=sentence):
        render_video(untouched, tmp_path / "a.mp4", **options)
    assert list(tmp_path.iterdir()) == []


@given(fps=st.integers(1, 60), seconds=st.none() | st.floats(0.1, 20.0))
@settings(max_examples=30, deadline=None)
def test_a_video_goes_from_start_to_end(held, fps, seconds):
    pacing = pace(held, fps, seconds)
    assert (np.diff(pacing.times) >= 0.0).all()
    assert pacing.times[-1] == held.time[-1]
    if len(pacing.times) > 1:
        assert pacing.times[0] == held.time[0]
    if seconds is not None:
        assert len(pacing.times) == max(round(seconds * fps), 1)


def test_the_speed_is_the_one_that_is_reported(held):
    pacing = pace(held, 30)
    closing = pacing.times[(pacing.times > 0.0) & (pacing.times < pacing.parts[0].end)]
    np.testing.assert_allclose(np.diff(closing), 1.0 / 30 / pacing.slowdown, rtol=1e-6)
    assert pacing.label(0.1) == f"0.100 s   {pacing.slowdown:g} times slower"
    assert pacing.label(held.simulated_time).endswith("hold test")


def test_a_run_of_one_sample_is_a_standing_image(untouched):
    arrays = {name: values[:1] for name, values in untouched.trajectory().items()}
    names = ("joint_names", "actuator_names", "contact_bodies")
    item = replace(untouched, **{k: v for k, v in arrays.items() if k not in names})
    pacing = pace(item, 30)
    assert (pacing.times == item.time[0]).all()
    assert pacing.speed == "real time"
    assert replace(pacing, slowdown=1.04).speed == "real time"
    assert replace(pacing, slowdown=0.5).speed == "2 times faster"
    assert [time for time, _ in key_frames(item)] == [item.time[0]]


def test_five_key_frames_of_a_grasp(held):
    touch = next(e.time_s for e in held.events if e.kind == "touching")
    last = max(e.time_s for e in held.events if e.kind == "established")
    weight = f"{held.hold.weight_N:.2g}"
    assert key_frames(held) == (
        (0.0, "start"),
        (0.5 * touch, "half way to contact"),
        (touch, "first contact: F1 P3 + 3 more"),
        (last, "last established: F1 P3 + 3 more"),
        (held.simulated_time, f"end: held at {weight} N of weight"),
    )


def test_five_key_frames_without_contact(untouched):
    end = untouched.simulated_time
    times, captions = zip(*key_frames(untouched), strict=True)
    assert times == pytest.approx([0.0, end / 4, end / 2, 3 * end / 4, end])
    assert captions == ("start", "a quarter", "half way", "three quarters", "end: still closing")


KINDS = ("touching", "established", "lost")


@given(
    st.lists(st.tuples(st.integers(0, 50), st.sampled_from(KINDS), st.integers(1, 4)), max_size=12)
)
@settings(max_examples=60, deadline=None)
def test_key_frames_are_always_five_in_order(untouched, log):
    events = tuple(
        sg.sim.ContactEvent(
            time_s=tick * 1e-3, body=f"F{k}_P3", finger=f"F{k}", phalanx="P3", kind=kind
        )
        for tick, kind, k in sorted(log)
    )
    instants = key_frames(replace(untouched, events=events))
    times = [time for time, _ in instants]
    assert len(instants) == 5
    assert times == sorted(times)
    assert (times[0], times[-1]) == (untouched.time[0], untouched.time[-1])
    assert all(caption for _, caption in instants)
