"""The camera of a film sees hand and object beside walls, and everything drawn is in its image."""

from functools import cache
from typing import Any

import numpy as np
import pytest

import softgrasp as sg
from softgrasp.cli.options import size_of, viewpoint_of
from softgrasp.model.names import is_around
from softgrasp.rendering.keyframes import Playback
from softgrasp.rendering.overlay import stamp
from softgrasp.rendering.rays import Caster
from softgrasp.rendering.video import framing, render_video
from softgrasp.rendering.viewpoint import VIEWPOINTS, Viewpoint
from tests.support.scenes import ball, pinch

SIZE = (160, 120)
Wall = sg.Wall


def walls(height: float) -> list[Any]:
    """Four walls around a hand, 0.2 to 0.25 m away, whose upper edges are at a height [m]."""
    middle, size = height - 0.4, (0.9, 0.8)
    faces = {(0, -0.2): (0, 1), (0.25, 0): (-1, 0), (0, 0.2): (0, -1), (-0.25, 0): (1, 0)}
    return [
        Wall(point=(x, y, middle), normal=(*normal, 0.0), size=size)
        for (x, y), normal in faces.items()
    ]


CEILING = Wall(point=(0, 0, 0.25), normal=(0, 0, -1.0), size=(0.9, 0.9))
TALL = sg.description.Block(position=(0.25, -0.25, 0), size=(0.2, 0.2, 0.3), euler=(0, 0, 0.785))
SCENES: dict[str, Any] = {
    "in a bin": walls(0.05),
    "in a closed space": [*walls(0.4), CEILING],
    "beside a block": [TALL],
}


@cache
def run(name: str) -> sg.GraspResult:
    lift = {"type": "lift", "height": 0.05, "time": 0.2}
    surroundings = (sg.Table(), *SCENES[name])
    scene = pinch(gravity=True, surroundings=surroundings, sequence=("close", lift))
    return sg.simulate(scene)


@cache
def shipped(name: str) -> sg.GraspResult:
    return sg.simulate(sg.load_scene(name))


def shown(playback: Playback, time: float, camera: Any) -> tuple[float, float]:
    """Fractions of the image with the object, and with parts of the hand."""
    data = playback.pose(time)
    columns, rows = np.meshgrid(np.arange(SIZE[0]) + 0.5, np.arange(SIZE[1]) + 0.5)
    rays = camera.rays(columns, rows, *SIZE).reshape(-1, 3)
    hits = Caster(playback.model, data).hits(camera.position, rays)
    met = hits.geom[hits.geom >= 0]
    bodies = [playback.model.body(int(body)).name for body in playback.model.geom_bodyid[met]]
    hand = [name for name in bodies if name not in ("object", "world") and not is_around(name)]
    return bodies.count("object") / len(hits.geom), len(hand) / len(hits.geom)


@pytest.mark.slow
@pytest.mark.parametrize("name", SCENES)
def test_object_and_hand_are_in_sight_from_start_to_end(name):
    result = run(name)
    playback = Playback(result)
    camera = framing([playback], SIZE)
    free = Playback(sg.simulate(pinch(gravity=True, surroundings=(sg.Table(),), duration=0.4)))
    reference = shown(free, float(free.result.time[-1]), framing([free], SIZE))
    for time in (0.0, result.phases[0].end_s, float(result.time[-1])):
        seen = shown(playback, time, camera)
        assert seen[0] > 0.3 * reference[0]  # the image is wider by the lift
        assert seen[1] > 0.3 * reference[1]


def test_a_fixed_object_far_away_does_not_shrink_the_scene():
    far = sg.description.PlacedObject(object=ball(), position=(0.9, 0, -0.09), mount="fixed")
    alone, beside = (
        framing([Playback(sg.simulate(pinch(duration=0.3, objects=others)))], SIZE)
        for others in ((), (far,))
    )
    assert beside.distance == pytest.approx(alone.distance, rel=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize("viewpoint", [None, "front"])
@pytest.mark.parametrize("width", [128, 1920])
@pytest.mark.parametrize("name", ["soft_mug", "sequence_strawberry"])
def test_arrows_are_inside_the_image(name, width, viewpoint):
    size = (width, width * 3 // 4)
    result = shipped(name)
    playback = Playback(result)
    camera = framing([playback], size, viewpoint=VIEWPOINTS.get(viewpoint or ""))
    ends = []
    for time in playback.sampled_times():
        playback.pose(time)
        ends += [mark.start for mark in playback.marks(time, camera) if hasattr(mark, "start")]
    assert len(ends) > 20
    columns, rows, _ = camera.project(ends, *size).T
    assert 0.0 <= columns.min() < columns.max() <= size[0]
    assert 0.0 <= rows.min() < rows.max() <= size[1]


@pytest.mark.parametrize("size", [(64, 64), (128, 96), (640, 480), (1920, 1080)])
def test_the_label_is_whole_at_every_size(size):
    image = np.zeros((size[1], size[0], 3), dtype=np.uint8)
    stamp(image, "12.345 s   shelf: retreat, 40 times slower")
    painted = np.flatnonzero(image.any(axis=(0, 2)))
    rows = np.flatnonzero(image.any(axis=(1, 2)))
    assert painted[0] > 0
    assert painted[-1] < size[0] - 1  # the right edge of its band, with a rounded corner
    assert 0 < rows[0] < rows[-1] < size[1] - 1


@pytest.mark.parametrize("name", VIEWPOINTS)
def test_named_viewpoints_frame_the_scene(name):
    playback = Playback(run("beside a block"))
    camera = framing([playback], SIZE, viewpoint=VIEWPOINTS[name])
    assert (camera.azimuth_deg, camera.elevation_deg) == VIEWPOINTS[name][:2]
    columns, rows, depth = camera.project(playback.cloud(), *SIZE).T
    assert depth.min() > 0.0
    assert 0.0 < columns.min() < columns.max() < SIZE[0]
    assert 0.0 < rows.min() < rows.max() < SIZE[1]


def test_a_viewpoint_with_a_distance_is_taken_as_it_is():
    camera = framing([Playback(run("in a bin"))], SIZE, viewpoint=Viewpoint(30.0, -20.0, 0.7))
    assert (camera.azimuth_deg, camera.elevation_deg, camera.distance) == (30.0, -20.0, 0.7)


@pytest.mark.parametrize("text", ["frnt", "10", "10,a", "1,2,3,4", "10,-95", "10,-20,0", "nan,0"])
def test_wrong_viewpoints_are_refused(text, golden):
    golden.refused(lambda: viewpoint_of(text), "--camera")


def test_viewpoints_of_the_command_line():
    assert viewpoint_of("125,-20") == Viewpoint(125.0, -20.0)
    assert viewpoint_of("125,-20,0.5") == Viewpoint(125.0, -20.0, 0.5)
    assert viewpoint_of("0,90").elevation_deg == 90.0
    assert viewpoint_of("top") is VIEWPOINTS["top"]
    assert viewpoint_of(None) is None


def test_odd_sizes_of_videos_are_refused(tmp_path, golden):
    golden.refused(lambda: size_of("641x480"), "use 642x480")
    golden.refused(lambda: render_video(run("in a bin"), tmp_path / "a.mp4", size=(97, 72)), "even")
