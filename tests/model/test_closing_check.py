"""Why a hand cannot close on an object: distances that are missing, and one-sided hands."""

from __future__ import annotations

import re

import mujoco
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from softgrasp.mechanics.transforms import rotation_from_euler
from softgrasp.model.closing_check import _bounding_box, _onto_boxes, closing_obstacle
from softgrasp.pipeline import compile_scene
from tests.support.pads import pads
from tests.support.scenes import ball, pinch

seeds = st.integers(0, 2**32 - 1)
SHAPES = ("type='box' size='0.01 0.02 0.03'", "type='capsule' size='0.01 0.03'",
          "type='ellipsoid' size='0.03 0.02 0.01'")  # fmt: skip


def obstacle(**changes: object) -> str:
    return closing_obstacle(compile_scene(pinch(grasp="power", **changes)))


def missing(distance: float, radius: float = 0.03) -> float:
    text = obstacle(object=ball(radius), object_position=(distance, 0.0, -0.05))
    return float(re.findall(r"out of reach: (\S+) mm", text)[0])


def test_a_hand_that_encloses_the_object_has_no_obstacle() -> None:
    assert obstacle() == ""


def test_the_missing_distance_grows_with_that_of_the_object_and_shrinks_with_its_radius() -> None:
    assert missing(1.2) - missing(0.9) == pytest.approx(300.0, abs=1.5)
    assert missing(0.9, 0.02) - missing(0.9, 0.03) == pytest.approx(10.0, abs=1.5)
    nearest = 0.9 - 1e-3 * missing(0.9)
    reached = obstacle(object=ball(0.03), object_position=(nearest - 0.01, 0.0, -0.05))
    assert "out of reach" not in reached


@pytest.mark.parametrize("count", [1, 2, 3])
def test_a_single_pad_presses_on_one_side(count: int) -> None:
    """The direction that is named is that in which the pad moves."""
    text = closing_obstacle(compile_scene(pads(count)))
    assert ("along (-1.00, 0.00, 0.00)" in text) == (count == 1)


@given(seeds)
def test_a_bounding_box_contains_all_geoms_and_touches_them(seed: int) -> None:
    random = np.random.default_rng(seed)
    parts = "".join(f"<geom {shape} pos='{0.1 * i} 0.02 0' euler='{10 * i} 20 30'/>"
                    for i, shape in enumerate(SHAPES))  # fmt: skip
    model = mujoco.MjModel.from_xml_string(f"<mujoco><worldbody>{parts}</worldbody></mujoco>")
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    rotation = rotation_from_euler(tuple(random.uniform(-3, 3, 3)))
    origin = random.normal(size=3)
    low, high = _bounding_box(model, data, np.arange(model.ngeom), rotation, origin)
    signs = np.array(np.meshgrid(*[(-1, 1)] * 3)).reshape(3, -1).T
    corners = np.concatenate([
        data.geom_xpos[g] + (model.geom_aabb[g, :3] + signs * model.geom_aabb[g, 3:])
        @ data.geom_xmat[g].reshape(3, 3).T for g in range(model.ngeom)
    ])  # fmt: skip
    inside = (corners - origin) @ rotation
    assert inside.min(axis=0) == pytest.approx(low, abs=1e-12)
    assert inside.max(axis=0) == pytest.approx(high, abs=1e-12)


@given(seeds)
def test_a_point_on_a_box_is_the_nearest_one(seed: int) -> None:
    """No corner and no drawn point of the box is nearer."""
    random = np.random.default_rng(seed)
    rotation = rotation_from_euler(tuple(random.uniform(-3, 3, 3)))
    origin, point = random.normal(size=3), random.normal(size=3)
    box = np.concatenate([random.normal(size=3), random.uniform(0.1, 1.0, 3)])
    frames = origin[None], rotation.reshape(1, 9)
    nearest = _onto_boxes(frames, box[None], point[None])[0]
    drawn = box[:3] + random.uniform(-1, 1, (200, 3)) * box[3:]
    others = np.linalg.norm(origin + drawn @ rotation.T - point, axis=1)
    assert np.linalg.norm(nearest - point) <= others.min() + 1e-12
    local = (nearest - origin) @ rotation - box[:3]
    assert (np.abs(local) <= box[3:] + 1e-12).all()
