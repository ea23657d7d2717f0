"""Drawn models, posed hands and joint frames."""

from collections.abc import Iterator

import mujoco
import numpy as np
import pytest

import softgrasp as sg
from softgrasp.description.geometry import Capsule, Cuboid, Cylinder, Ellipsoid, Sphere
from softgrasp.io.mesh_files import shape_triangles
from softgrasp.mechanics.hand_kinematics import link_frames
from softgrasp.model.visual import IN_CONTACT_RGBA
from softgrasp.rendering.keyframes import Playback
from softgrasp.viewer.page import Page
from softgrasp.viewer.scene_markers import DrawnModel, _texts
from tests.support.mjcf_hands import LOOP, TENDON, written
from tests.viewer.hands import part_way, posed

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
def test_triangles_hold_the_volume_of_a_shape_about_its_middle(shape, volume):
    vertices, faces = shape_triangles(shape)
    a, b, c = (vertices[faces[:, k]] for k in range(3))
    parts = np.einsum("ni,ni->n", a, np.cross(b, c)) / 6.0
    assert parts.sum() == pytest.approx(volume, rel=0.02)
    np.testing.assert_allclose((parts[:, None] * (a + b + c) / 4.0).sum(axis=0), 0.0, atol=1e-9)


def test_bodies_of_a_hand_are_where_the_engine_has_them(page):
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


def test_skins_and_deformable_objects_move_along(page):
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


def test_a_soft_finger_that_touches_is_painted_on_its_skin(page):
    playback = Playback(sg.simulate(sg.load_scene("demo_soft")))
    drawn = DrawnModel(page.server.scene, playback.model, "/soft")
    before = [tuple(handle.color) for _, handle in drawn._skins]
    assert len(before) == 2
    drawn.paint(playback.colors(float(playback.result.time[-1])))
    green = tuple(round(255 * part) for part in IN_CONTACT_RGBA[:3])
    assert [tuple(handle.color) for _, handle in drawn._skins] == [green, green]
    drawn.paint({})
    assert [tuple(handle.color) for _, handle in drawn._skins] == before


def test_paint_holds_until_it_is_taken_off(page):
    scene = sg.GraspScene(hand=sg.load_hand("two_finger_planar"), object=sg.load_object("sphere"))
    drawn = DrawnModel(page.server.scene, sg.compile_model(scene), "/painted")
    geom = next(geom for geom in drawn._geoms if drawn._is_shown(geom))
    own = tuple(drawn._geoms[geom].color)
    drawn.paint({geom: (1.0, 0.0, 0.5, 1.0)})
    assert tuple(drawn._geoms[geom].color) == (255, 0, 128)
    drawn.paint({})
    assert tuple(drawn._geoms[geom].color) == own


def test_a_port_in_use_is_passed_over_and_reported(page):
    with Page("second", port=page.port) as second:
        assert second.port > page.port
        assert second.words == (
            f"port {page.port} is in use; open http://127.0.0.1:{second.port} in a browser"
        )


# Posed hands.


@pytest.mark.parametrize("name", ["four_finger", "dlr_hit_ii_coupled", "vizzy", "two_hands"])
def test_frames_are_those_of_the_rows(name):
    hand = sg.load_hand(name)
    item, targets = posed(hand), part_way(hand)
    item.pose(targets)
    target = link_frames(hand, hand.posture(targets))
    frames = {frame.name: frame for frame in item.frames()}
    for finger in hand.fingers:
        for row in finger.phalanges:
            result = frames[finger.joint_of(row)]
            np.testing.assert_allclose(result.pose, target[finger.body_of(row)], atol=1e-9)


@pytest.mark.filterwarnings("ignore::softgrasp.errors.SoftgraspWarning")
@pytest.mark.parametrize("text", [TENDON, LOOP], ids=["tendon", "loop"])
def test_frames_of_a_native_model_have_z_along_the_axes(text, tmp_path):
    hand = sg.load_hand(written(tmp_path, text))
    item = posed(hand)
    item.pose(part_way(hand))
    frames = item.frames()
    assert frames
    for frame in frames:
        joint = item.model.joint(frame.name).id
        np.testing.assert_allclose(frame.pose[:3, 2], item.data.xaxis[joint], atol=1e-9)
        np.testing.assert_allclose(frame.pose[:3, 3], item.data.xanchor[joint], atol=1e-12)
        np.testing.assert_allclose(frame.pose[:3, :3].T @ frame.pose[:3, :3], np.eye(3), atol=1e-9)
        assert np.linalg.det(frame.pose[:3, :3]) == pytest.approx(1.0)


@pytest.mark.parametrize("name", ["soft_gripper", "hybrid_gripper"])
def test_a_soft_finger_stands_where_nothing_would_move_it(name):
    hand = sg.load_hand(name)
    item, targets = posed(hand), part_way(hand, 0.7)
    item.pose(targets)
    item.model.opt.gravity[:] = 0.0
    item.data.ctrl[:] = targets
    mujoco.mj_forward(item.model, item.data)
    pushed = np.abs(item.data.qfrc_actuator).max()
    soft = [j for j in range(item.model.njnt) if item.model.jnt_stiffness[j] > 0.0]
    left = (item.data.qfrc_actuator + item.data.qfrc_passive)[item.model.jnt_dofadr[soft]]
    assert pushed > 0.0
    np.testing.assert_allclose(left, 0.0, atol=1e-9 * pushed)


def test_frames_at_one_position_have_one_label():
    texts = _texts(posed(sg.load_hand("allegro_right")).frames())
    assert texts["index_J1"] == "index_J1, index_J2"
    assert "index_J2" not in texts
    assert sum(text.count(",") + 1 for text in texts.values()) == 16
