"""Images of several objects, walls and tables."""

import numpy as np
import pytest

import softgrasp as sg
from softgrasp.model import names
from softgrasp.model.visual import AROUND_RGBA, FLOOR_NAME
from softgrasp.rendering.camera import find_covered_geoms
from softgrasp.rendering.keyframes import Playback
from softgrasp.rendering.rays import Caster
from softgrasp.rendering.video import framing, render_key_frames
from tests.support.scenes import ball, pinch

SIZE = (96, 72)


@pytest.fixture(scope="module")
def corner() -> sg.GraspResult:
    return sg.simulate(sg.load_scene("corner"))


@pytest.mark.slow
@pytest.mark.parametrize("name", ["two_spheres", "beside"])
def test_every_object_is_shown_where_it_was(name):
    playback = Playback(sg.simulate(sg.load_scene(name)))
    for row in (0, len(playback.result.time) // 2, len(playback.result.time) - 1):
        data = playback.pose(float(playback.result.time[row]))
        bodies = names.object_bodies(playback.result.scene)
        for body, (position, quaternion) in zip(bodies, playback.result.tracks, strict=True):
            index = playback.model.body(body).id
            assert data.xpos[index] == pytest.approx(position[row], abs=1e-12)
            assert abs(data.xquat[index] @ quaternion[row]) == pytest.approx(1.0)


def test_walls_do_not_widen_the_image(corner):
    alone = corner.scene.replace(surroundings=corner.scene.surroundings[:1])
    far = [np.abs(Playback(corner).cloud()).max()]
    with_walls = {part.name for part in corner.scene.surroundings}
    assert {"left", "right"} <= with_walls
    far.append(np.abs(Playback(sg.simulate(alone.replace(duration=0.05))).cloud()).max())
    assert far[0] < 1.2 * far[1]


def test_the_camera_points_into_the_corner(corner):
    playback = Playback(corner)
    camera = framing([playback], SIZE)
    data = playback.pose(float(corner.time[-1]))
    columns, rows = np.meshgrid(np.arange(SIZE[0]) + 0.5, np.arange(SIZE[1]) + 0.5)
    rays = camera.rays(columns, rows, *SIZE).reshape(-1, 3)
    hits = Caster(playback.model, data).hits(camera.position, rays)
    seen = [playback.model.body(int(body)).name for body in playback.model.geom_bodyid[hits.geom]]
    # 45 mm of a picture of some 250 mm: the box takes a tenth of it, and is not hidden by a wall
    assert seen.count("object") > 0.04 * len(seen)
    assert seen.count("wall") > 0
    assert seen.count("wall2") > 0


@pytest.mark.slow
def test_the_ray_caster_draws_walls_in_their_colour(corner):
    playback = Playback(corner)
    (image,) = render_key_frames(corner, [0.0], renderer="raycast", size=SIZE)
    bare = corner.scene.replace(surroundings=corner.scene.surroundings[:1], duration=0.01)
    camera = framing([playback], SIZE)
    (empty,) = render_key_frames(
        sg.simulate(bare), [0.0], renderer="raycast", size=SIZE, camera=camera
    )
    changed = np.abs(image.astype(int) - empty.astype(int)).max(axis=2) > 12
    assert changed.mean() > 0.2
    # warm, as the walls are: more red than blue
    warm = image[changed].astype(float)
    assert (warm[:, 0] > warm[:, 2]).mean() > 0.6
    assert AROUND_RGBA["wall"][0] > AROUND_RGBA["wall"][2]


def test_one_table_is_the_floor_and_several_are_slabs():
    low = sg.Table(height=-0.3)
    alone = sg.compile_model(pinch(surroundings=(low,)))
    assert alone.geom(FLOOR_NAME).pos[2] == -0.3
    assert alone.geom("table").id not in find_covered_geoms(alone)
    shelf = sg.Table(name="shelf", height=-0.2, center=(0.5, 0.0), size=(0.1, 0.1))
    both = sg.compile_model(pinch(surroundings=(low, shelf)))
    assert both.geom(FLOOR_NAME).pos[2] < -0.35
    shown = find_covered_geoms(both)
    assert {both.geom("table").id, both.geom("table2").id} <= set(shown.tolist())


def test_the_floor_lies_below_what_stands_around():
    wall = sg.description.Wall(point=(-0.5, 0, -0.4), normal=(1, 0, 0), size=(0.2, 0.4))
    far = sg.description.PlacedObject(object=ball(), position=(1, 0, -1))
    assert sg.compile_model(pinch(surroundings=(wall,))).geom(FLOOR_NAME).pos[2] <= -0.62
    assert sg.compile_model(pinch(objects=(far,))).geom(FLOOR_NAME).pos[2] <= -1.05
