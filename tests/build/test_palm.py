"""The palm: a solid around any number of finger bases, none, or a shape; it senses contact."""

from __future__ import annotations

import math

import mujoco
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial import ConvexHull

import softgrasp as sg
from softgrasp.model.hand import MARGIN_PER_RADIUS, palm_points
from softgrasp.model.names import PALM
from tests.scenes import ball

RADIUS = 0.008
BASES = st.lists(
    st.tuples(*[st.floats(-0.08, 0.08).map(lambda value: round(value, 3))] * 3),
    min_size=2,
    max_size=6,
    unique=True,
)


def hand_at(*bases: tuple[float, float, float], palm: sg.Palm | None = None) -> sg.Hand:
    """A hand with one straight finger along -z at each base."""
    down = (math.sqrt(0.5), 0, math.sqrt(0.5), 0)
    row = sg.Phalanx(a=0.04, radius=RADIUS, density=1000, limits=(-0.5, 1.5))
    preset = sg.GraspPreset(center=(0, 0, -0.5), rates=0.0)
    return sg.Hand(
        name="test",
        palm=palm or sg.Palm(),
        grasps=sg.Grasps(power=preset, precision=preset),
        fingers=tuple(
            sg.Finger(
                name=f"F{index}",
                convention="standard",
                base=sg.Pose(position=base, quaternion=down),
                phalanges=(row,),
            )
            for index, base in enumerate(bases)
        ),
    )


def model_of(hand: sg.Hand) -> mujoco.MjModel:
    return sg.compile_model(sg.GraspScene(hand=hand, object=ball(), self_contact=False))


def has_palm(hand: sg.Hand) -> bool:
    return mujoco.mj_name2id(model_of(hand), mujoco.mjtObj.mjOBJ_GEOM, PALM) >= 0


@settings(max_examples=25, deadline=None)
@given(BASES)
def test_a_palm_holds_all_bases_and_reaches_a_margin_beyond(
    bases: list[tuple[float, float, float]],
) -> None:
    points = palm_points(hand_at(*bases))
    assert points is not None
    margin = MARGIN_PER_RADIUS * RADIUS
    hull = ConvexHull(points)
    inside = hull.equations[:, :3] @ np.array(bases).T + hull.equations[:, 3:]
    assert inside.max() < -0.8 * margin  # each base lies well inside every face
    distance = np.linalg.norm(points[:, None] - np.array(bases)[None], axis=2).min(axis=1)
    assert distance.max() <= margin * (1 + 1e-9)


@pytest.mark.parametrize("count", [2, 3, 4, 5, 6])
def test_any_number_of_fingers_has_a_palm_that_compiles(count: int) -> None:
    angles = np.linspace(0, 2 * np.pi, count, endpoint=False)
    bases = [(0.05 * math.cos(angle), 0.05 * math.sin(angle), 0.0) for angle in angles]
    hand = hand_at(*bases)
    model = model_of(hand)
    assert model.geom(PALM).type[0] == mujoco.mjtGeom.mjGEOM_MESH
    height = np.ptp(palm_points(hand)[:, 2])  # type: ignore[index]
    assert height == pytest.approx(2 * MARGIN_PER_RADIUS * RADIUS, rel=1e-6)


def test_there_is_no_palm_where_the_bases_coincide() -> None:
    assert palm_points(hand_at((0, 0, 0), (0, 0, 5e-5))) is None
    assert not has_palm(hand_at((0.01, 0, 0), (0.01, 0, 0)))
    assert not has_palm(hand_at((0, 0, 0)))


def test_a_palm_can_be_left_out() -> None:
    assert not has_palm(hand_at((-0.05, 0, 0), (0.05, 0, 0), palm=sg.Palm(kind="none")))


def test_a_palm_can_be_a_shape() -> None:
    shape, pose = sg.Cylinder(radius=0.06, height=0.01), sg.Pose(position=(0, 0, 0.02))
    palm = sg.Palm(kind="shape", shape=shape, pose=pose)
    for bases in ([(-0.05, 0, 0), (0.05, 0, 0)], [(0, 0, 0), (0, 0, 0)]):
        geom = model_of(hand_at(*bases, palm=palm)).geom(PALM)
        assert geom.type[0] == mujoco.mjtGeom.mjGEOM_CYLINDER
        assert geom.size[:2] == pytest.approx((0.06, 0.005))
        assert geom.pos == pytest.approx((0, 0, 0.02))


def test_the_margin_of_a_palm_can_be_given() -> None:
    bases = [(-0.05, 0, 0), (0.05, 0, 0), (0, 0.06, 0)]
    points = palm_points(hand_at(*bases, palm=sg.Palm(margin=0.02)))
    assert np.ptp(points[:, 2]) == pytest.approx(0.04)  # type: ignore[index]


def test_the_palm_stands_where_its_points_are() -> None:
    """MuJoCo moves a mesh into its own frame; what is drawn and touched must not move."""
    hand = hand_at((-0.05, 0.01, 0.03), (0.05, 0.02, 0.01), (0.01, 0.06, -0.02))
    model = model_of(hand)
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    vertices = model.mesh_vert @ data.geom(PALM).xmat.reshape(3, 3).T + data.geom(PALM).xpos
    expected = palm_points(hand)
    assert expected is not None
    for axis in range(3):
        assert np.sort(vertices[:, axis]) == pytest.approx(np.sort(expected[:, axis]), abs=1e-7)


@pytest.mark.parametrize("kind", ["auto", "shape"])
def test_the_palm_senses_contact_like_a_phalanx(kind: str) -> None:
    """A ball that presses on the palm with its weight is touching, then established."""
    palm = sg.Palm()
    if kind == "shape":
        palm = sg.Palm(kind="shape", shape=sg.Cuboid(size=(0.12, 0.12, 2 * 0.9 * RADIUS)))
    hand = hand_at((-0.05, -0.05, 0), (0.05, -0.05, 0), (0, 0.06, 0), palm=palm)
    top = 0.9 * RADIUS
    result = sg.simulate(
        sg.GraspScene(
            hand=hand,
            object=ball(),
            object_position=(0, 0, top + 0.03),
            gravity=True,
            duration=0.2,
        )
    )
    contact = result.contact_of(PALM)
    assert (contact.finger, contact.phalanx) == ("", "")
    assert contact.in_contact
    assert contact.normal == pytest.approx((0, 0, 1), abs=1e-6)
    assert contact.point_m is not None
    assert contact.point_m[2] == pytest.approx(top, abs=1e-4)
    weight = 700 * 4 / 3 * math.pi * 0.03**3 * 9.81
    assert contact.normal_force_N == pytest.approx(weight, rel=0.02)
    assert [event.kind for event in result.events if event.body == PALM][:2] == [
        "touching",
        "established",
    ]
