"""A model in a browser's scene: everything there, where the engine says, in its colours."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import mujoco
import numpy as np
import pytest

import softgrasp as sg
from softgrasp.description.geometry import Capsule, Cuboid, Cylinder, Ellipsoid, Shape, Sphere
from softgrasp.io.mesh_files import shape_triangles
from softgrasp.viewer.page import Page
from softgrasp.viewer.scene_markers import DrawnModel

SHAPES = [
    (Sphere(radius=0.1), 4 / 3 * np.pi * 1e-3),
    (Capsule(radius=0.1, length=0.3), np.pi * 0.003 + 4 / 3 * np.pi * 1e-3),
    (Cylinder(radius=0.1, height=0.3), np.pi * 0.003),
    (Cuboid(size=(0.1, 0.2, 0.3)), 0.006),
    (Ellipsoid(radii=(0.1, 0.2, 0.3)), 4 / 3 * np.pi * 6e-3),
]


@pytest.fixture(scope="module")
def page() -> Iterator[Page]:
    with Page("test", port=0) as opened:
        yield opened


@pytest.mark.parametrize(("shape", "volume"), SHAPES, ids=lambda part: type(part).__name__)
def test_triangles_hold_the_volume_of_a_shape_about_its_middle(shape: Shape, volume: float) -> None:
    vertices, faces = shape_triangles(shape)
    a, b, c = (vertices[faces[:, k]] for k in range(3))
    parts = np.einsum("ni,ni->n", a, np.cross(b, c)) / 6.0
    assert parts.sum() == pytest.approx(volume, rel=0.02)
    np.testing.assert_allclose((parts[:, None] * (a + b + c) / 4.0).sum(axis=0), 0.0, atol=1e-9)


def test_bodies_of_a_hand_are_where_the_engine_says(page: Page) -> None:
    scene = sg.GraspScene(hand=sg.load_hand("two_finger_planar"), object=sg.load_object("sphere"))
    model = sg.compile_model(scene)
    data = mujoco.MjData(model)
    data.qpos[:2] = 0.3
    mujoco.mj_kinematics(model, data)
    drawn = DrawnModel(page.server.scene, model, "/hand")
    drawn.pose(data)
    result = {
        int(name.rsplit("/", 1)[1]): handle
        for name, handle in page.server.scene._handle_from_node_name.items()
        if name.startswith("/hand/") and name.count("/") == 2
    }
    assert set(model.geom_bodyid[model.geom_contype > 0]) - {0} <= set(result)
    for body, handle in result.items():
        np.testing.assert_allclose(handle.position, data.xpos[body], atol=1e-7)
        np.testing.assert_allclose(handle.wxyz, data.xquat[body], atol=1e-7)


def test_skins_and_deformable_objects_move_along(page: Page) -> None:
    soft = sg.GraspScene(hand=sg.load_hand("soft_gripper"), object=sg.load_object("sphere"))
    model = sg.compile_model(soft)
    assert model.nskin > 0
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    drawn = DrawnModel(page.server.scene, model, "/soft")
    drawn.pose(data)
    skin, handle = drawn._skins[0]
    np.testing.assert_allclose(handle.bones[-1].position, data.xpos[skin.bodies[-1]], atol=1e-7)

    foam = sg.compile_model(sg.load_scene("foam_cube"))
    data = mujoco.MjData(foam)
    mujoco.mj_forward(foam, data)
    drawn = DrawnModel(page.server.scene, foam, "/foam")
    drawn.pose(data)
    np.testing.assert_allclose(drawn._flexes[0].vertices, data.flexvert_xpos, atol=1e-6)
    faces = drawn._flexes[0].faces
    assert faces.shape[1] == 3
    assert faces.max() < len(data.flexvert_xpos)


def test_paint_holds_until_it_is_taken_off(page: Page) -> None:
    scene = sg.GraspScene(hand=sg.load_hand("two_finger_planar"), object=sg.load_object("sphere"))
    drawn = DrawnModel(page.server.scene, sg.compile_model(scene), "/painted")
    geom = next(geom for geom in drawn._geoms if drawn._is_shown(geom))
    own = tuple(drawn._geoms[geom].color)
    drawn.paint({geom: (1.0, 0.0, 0.5, 1.0)})
    assert tuple(drawn._geoms[geom].color) == (255, 0, 128)
    drawn.paint({})
    assert tuple(drawn._geoms[geom].color) == own


def test_a_port_in_use_is_passed_over_and_said(page: Page) -> None:
    with Page("second", port=page.port) as second:
        assert second.port > page.port
        assert second.words == (
            f"port {page.port} is in use; open http://127.0.0.1:{second.port} in a browser"
        )


def test_nothing_is_printed(capfd: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    with Page("quiet", port=0):
        pass
    assert capfd.readouterr().out == ""
