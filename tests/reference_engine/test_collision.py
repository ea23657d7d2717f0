"""Contact points of the reference engine against MuJoCo's distances and counted by hand."""

from __future__ import annotations

import mujoco
import numpy as np
import pytest

from tests.reference_engine.collision import KERNELS, SPHERE, Geoms
from tests.reference_engine.rigs import FLOOR, free, law, rig

SHAPES = {
    "sphere": 'type="sphere" size="0.02"',
    "capsule": 'type="capsule" size="0.01 0.03"',
    "cylinder": 'type="cylinder" size="0.02 0.03"',
    "box": 'type="box" size="0.02 0.03 0.01"',
}


def placed(model, data, geom):
    size = model.geom_size[geom].copy()
    size[1:] *= model.geom_type[geom] != SPHERE
    frame = data.geom_xpos[geom][None], data.geom_xmat[geom].reshape(1, 3, 3), size[None]
    return Geoms(*(np.array(column) for column in frame))


def gaps(first: str, second: str, seed: int, count: int) -> list[tuple[float, float]]:
    """Gaps of two shapes in random poses by the kernel and by MuJoCo [m]."""
    model = mujoco.MjModel.from_xml_string(
        f"<mujoco><worldbody>{free(SHAPES[first])}{free(SHAPES[second])}</worldbody></mujoco>"
    )
    kernel = KERNELS[int(model.geom_type[0]), int(model.geom_type[1])]
    data, random, found = mujoco.MjData(model), np.random.default_rng(seed), []
    while len(found) < count:
        data.qpos[:] = random.normal(size=14)
        data.qpos[:3], data.qpos[7:10] = 0.0, 0.03 * random.normal(size=3)
        mujoco.mj_kinematics(model, data)
        expected = mujoco.mj_geomDistance(model, data, 0, 1, 1.0, None)
        if expected > 1e-3:
            points = kernel(placed(model, data, 0), placed(model, data, 1))
            found.append((-float(points.depth.max(initial=-np.inf)), expected))
    return found


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("sphere", "sphere"),
        ("sphere", "capsule"),
        ("sphere", "cylinder"),
        ("sphere", "box"),
        ("capsule", "capsule"),
        ("capsule", "cylinder"),
        ("capsule", "box"),
    ],
)
def test_gaps_are_distances(first, second):
    for gap, expected in gaps(first, second, seed=4, count=60):
        assert gap == pytest.approx(expected, abs=1e-6)


def separates(data, along: np.ndarray, *, round_side: bool) -> bool:
    """Whether a direction is normal to a face, two edges, or the side of the first shape."""
    first, second = (data.geom_xmat[geom].reshape(3, 3).T for geom in (0, 1))
    axes = np.concatenate([first, second, np.cross(first[:, None], second[None]).reshape(9, 3)])
    axes /= np.linalg.norm(axes, axis=1, keepdims=True)
    on_side = round_side and abs(float(first[2] @ along)) < 1e-6
    return on_side or bool((np.abs(axes @ along) > 1.0 - 1e-9).any())


@pytest.mark.parametrize("item", ["box", "cylinder"])
def test_a_box_is_as_deep_as_it_was_pushed_in(item):
    """Faces, edges and corners of a box, pushed 0.1 mm in along the shortest way between shapes."""
    bodies = free(SHAPES[item]) + free(SHAPES["box"])
    model = mujoco.MjModel.from_xml_string(f"<mujoco><worldbody>{bodies}</worldbody></mujoco>")
    kernel = KERNELS[int(model.geom_type[0]), int(model.geom_type[1])]
    data, random, line, checked = mujoco.MjData(model), np.random.default_rng(7), np.zeros(6), 0
    for _ in range(60):
        data.qpos[:] = random.normal(size=14)
        data.qpos[:3], data.qpos[7:10] = 0.0, 0.05 * random.normal(size=3)
        mujoco.mj_kinematics(model, data)
        gap = mujoco.mj_geomDistance(model, data, 0, 1, 1.0, line)
        along = (line[3:] - line[:3]) / max(gap, 1e-9)
        if gap < 1e-3 or not separates(data, along, round_side=item == "cylinder"):
            continue
        for depth in (1e-4, -1e-4):
            data.qpos[7:10] -= (gap + depth) * along
            mujoco.mj_kinematics(model, data)
            points = kernel(placed(model, data, 0), placed(model, data, 1))
            if depth < 0.0:
                assert points.depth.max(initial=-1.0) < 0.0
                continue
            # where a face of a box and an edge are nearly as near, the face carries a cylinder
            loose = 1.0 if item == "box" else 300.0
            assert points.depth.max() == pytest.approx(1e-4, rel=1e-4 * loose)
            assert points.normal[points.depth.argmax()] == pytest.approx(along, abs=1e-3 * loose)
            data.qpos[7:10] += (gap + depth) * along
        checked += 1
    assert checked > 15


@pytest.mark.parametrize(
    ("lower", "upper", "count"),
    [
        (FLOOR, free(SHAPES["box"], "0 0 0.0099"), 4),
        (FLOOR, free(SHAPES["sphere"], "0 0 0.0199"), 1),
        (FLOOR, free(SHAPES["capsule"], "0 0 0.0099", "0.5 0.5 0.5 0.5"), 2),
        (FLOOR, free(SHAPES["cylinder"], "0 0 0.0299"), 3),
        (FLOOR, free(SHAPES["cylinder"], "0 0 0.0199", "0.5 0.5 0.5 0.5"), 2),
        (free(SHAPES["box"]), free(SHAPES["box"], "0 0 0.0199"), 4),
        (free(SHAPES["box"]), free(SHAPES["box"], "0.01 0 0.0199", "0.9239 0 0 0.3827"), 7),
        (free(SHAPES["box"]), free(SHAPES["box"], "0 0.055 0.0199"), 4),
        (free(SHAPES["box"]), free(SHAPES["capsule"], "0 0 0.0199", "0.5 0.5 0.5 0.5"), 2),
        (free(SHAPES["box"]), free(SHAPES["cylinder"], "0 0 0.0399"), 3),
        (free(SHAPES["box"]), free(SHAPES["cylinder"], "0 0 0.0299", "0.5 0.5 0.5 0.5"), 2),
        (free(SHAPES["cylinder"]), free(SHAPES["capsule"], "0 0 0.0399", "0.5 0.5 0.5 0.5"), 2),
    ],
)
def test_flat_contacts_have_a_point_at_every_corner(lower, upper, count):
    dynamics = rig(lower + upper, law())
    points = dynamics.touch.points
    assert len(points.pair) == count
    assert points.depth == pytest.approx(1e-4, rel=1e-6)
    kinds = dynamics.model.geom_type[dynamics.pairs.geoms[0]]
    upwards = 1.0 if (kinds[0] == dynamics.model.geom_type[0]) else -1.0
    assert points.normal == pytest.approx(np.tile([0.0, 0.0, upwards], (count, 1)), abs=1e-9)


def test_a_brick_lies_on_its_four_corners_and_not_beside_them():
    at = rig(FLOOR + free(SHAPES["box"], "0 0 0.0099"), law()).touch.points.point
    assert np.abs(at[:, 0]) == pytest.approx(0.02)
    assert np.abs(at[:, 1]) == pytest.approx(0.03)
    assert at[:, 2] == pytest.approx(-5e-5)
