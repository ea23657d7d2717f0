"""Plans: combinations, samples, paths, noise, and what is refused."""

from __future__ import annotations

import math
import re
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import softgrasp as sg
from softgrasp.description.sweep import Axis, PoseNoise, SweepPlan
from softgrasp.io.scene import load_plan
from softgrasp.mechanics.transforms import transform
from softgrasp.model.object import object_pose
from softgrasp.sweeps.parameters import (
    StartNoise,
    _validate_by_axis,
    _validate_once,
    combinations,
    scene_of,
    start_noise,
)
from tests.conftest import Golden
from tests.support.scenes import pinch
from tests.sweeps.plans import DENSITIES, plan


def test_a_grid_has_all_combinations_with_the_last_axis_fastest() -> None:
    result = [tuple(values.values()) for values in combinations(plan())]
    assert result == [(density, friction) for density in DENSITIES for friction in (0.3, 0.9)]
    assert plan().size == 6
    assert plan(repeats=4).size == 24


def test_a_list_takes_values_together() -> None:
    axes = (Axis(path="object.density", values=(1.0, 2.0)), Axis(path="seed", values=(3, 4)))
    result = combinations(plan(axes=axes, method="list"))
    assert result == [{"object.density": 1.0, "seed": 3}, {"object.density": 2.0, "seed": 4}]


@pytest.mark.parametrize("method", ["latin", "sobol"])
@given(st.integers(1, 70), st.integers(0, 5))
@settings(max_examples=20)
def test_samples_fill_every_axis_and_come_again(method: Any, samples: int, seed: int) -> None:
    axes = (
        Axis(path="object.density", low=100.0, high=1000.0, log=True),
        Axis(path="contact.friction", low=0.2, high=0.8),
        Axis(path="object_mount", values=("free", "planar", "fixed")),
    )
    drawn = plan(axes=axes, method=method, samples=samples, seed=seed)
    result = combinations(drawn)
    assert len(result) == samples == drawn.size
    assert result == combinations(drawn)
    assert all(100.0 <= values["object.density"] <= 1000.0 for values in result)
    assert all(0.2 <= values["contact.friction"] <= 0.8 for values in result)
    if method == "latin":
        # one sample in each of as many strata
        fractions = sorted((values["contact.friction"] - 0.2) / 0.6 * samples for values in result)
        assert [int(fraction) for fraction in fractions] == list(range(samples))


def test_a_logarithmic_axis_has_equal_ratios() -> None:
    axis = Axis(path="object.density", low=10.0, high=1000.0, steps=5, log=True)
    values = [row["object.density"] for row in combinations(plan(axes=(axis,)))]
    assert np.divide(values[1:], values[:-1]) == pytest.approx([math.sqrt(10)] * 4)


@pytest.mark.parametrize(
    ("path", "value", "read"),
    [
        ("object.density", 300.0, lambda s: s.object.density),
        ("object.radius", 0.02, lambda s: s.object.shape.radius),
        ("contact.static_friction", 0.4, lambda s: s.contact.static_friction),
        ("contact.friction", 0.4, lambda s: s.contact.static_friction),
        ("closure.rate", 0.3, lambda s: s.closure.rates[0]),
        ("hand.fingers[*].phalanges[2].radius", 0.006,
         lambda s: {f.phalanges[2].radius for f in s.hand.fingers}.pop()),
        ("object", "strawberry", lambda s: s.object and 0.0),
        ("hand", "three_fingered", lambda s: len(s.hand.fingers)),
    ],
)  # fmt: skip
def test_paths_name_fields(path: str, value: Any, read: Any) -> None:
    scene = scene_of(plan(), {path: value}, None)
    if isinstance(value, float):
        assert read(scene) == value
    elif path == "hand":
        assert scene.hand == sg.load_hand(value)
    else:
        assert scene.object == sg.load_object(value)


def test_whole_values_come_before_the_fields_inside_them() -> None:
    obj = scene_of(plan(), {"object.density": 321.0, "object": "strawberry"}, None).object
    assert (obj.name, obj.density) == ("strawberry", 321.0)


def test_a_row_that_is_validated_once_is_the_one_validated_axis_by_axis() -> None:
    values: dict[str, Any] = {
        "object.radius": 0.028,
        "object.density": 900.0,
        "contact.friction": 0.7,
        "closure.samples": 12,
        "hand.grip_force": 4.0,
        "object_position": [0.0, 0.001, -0.085],
        "gravity": True,
    }
    once = _validate_once(pinch(), values)
    assert once == _validate_by_axis(pinch(), values)
    assert type(once.object_position) is tuple
    shared = pinch()
    assert _validate_once(shared, {"object.density": 900.0}).hand is shared.hand
    for path, value in (("object.radius", -1.0), ("timestep", 0.0), ("contact.model", "glue")):
        with pytest.raises(sg.DescriptionError):
            _validate_once(pinch(), {path: value})


def test_mass_replaces_density() -> None:
    obj = scene_of(plan(), {"object.mass": 0.2}, None).object
    assert (obj.mass, obj.density) == (0.2, None)


@pytest.mark.parametrize(
    ("path", "value", "sentence"),
    [
        ("object.densty", 1.0, "object.shape.densty: no such field"),
        ("contact.frction", 1.0, "did you mean 'static_friction'"),
        ("object.radius", -1.0, "'object.radius' = -1.0: object.shape.radius"),
        ("hand.fingers[9].name", "x", "hand.fingers: expected an item from [0] to [3]"),
        ("contact[*].x", 1.0, "contact[*].x: expected a list before [*], found none"),
        ("closure.rates", "fast", "closure.rates"),
        ("hand", "four_fingers", "no hand 'four_fingers'; did you mean"),
    ],
)
def test_paths_that_name_nothing(path: str, value: Any, sentence: str) -> None:
    with pytest.raises(sg.DescriptionError, match=re.escape(sentence)):
        scene_of(plan(), {path: value}, None)


def test_noise_depends_on_seed_and_row_alone() -> None:
    noisy = plan(noise=PoseNoise(position=0.003, rotation=0.1), repeats=50)
    rows = [start_noise(noisy, row) for row in range(300)]
    assert rows == [start_noise(noisy, row) for row in range(300)]
    assert rows[0] != start_noise(noisy.replace(seed=1), 0)
    positions = np.array([row.position for row in rows])
    assert positions.std(axis=0) == pytest.approx([0.003] * 3, rel=0.15)
    rotations = np.array([row.rotation for row in rows])
    assert rotations.std(axis=0) == pytest.approx([0.1] * 3, rel=0.15)
    assert start_noise(plan(), 0) is None


def test_an_object_with_noise_still_stands_on_its_table() -> None:
    size, top = np.array((0.03, 0.03, 0.05)), -0.11
    box = sg.GraspObject(name="box", shape=sg.Cuboid(size=tuple(size)), density=700.0)
    position = (0.0, 0.0, top + 0.025)
    standing = plan(scene=pinch(object=box, object_position=position, object_euler=(0, 0, 0),
                                surroundings=(sg.Table(height=top),)))  # fmt: skip
    rotated = (0.2, -0.1, 0.3)
    for up, rotation in ((0.02, (0.0, 0.0, 0.0)), (-0.02, (0.0, 0.0, 0.0)), (0.0, rotated)):
        pose = object_pose(scene_of(standing, {}, StartNoise((0.001, 0.002, up), rotation)))
        assert pose.position[:2] == pytest.approx((0.001, 0.002))
        signs = np.array(list(product((-0.5, 0.5), repeat=3)))
        corners = pose.position + (signs * size) @ transform(quaternion=pose.quaternion)[:3, :3].T
        assert corners[:, 2].min() == pytest.approx(top, abs=1e-9)


@pytest.mark.parametrize("axis", [0, 1, 2])
def test_noise_rotates_about_axes_of_the_world(axis: int) -> None:
    turned = plan(scene=pinch(object_euler=(0.4, -0.7, 1.1)))
    angle = 0.2
    noise = StartNoise((0.0, 0.0, 0.0), tuple(np.eye(3)[axis] * angle))
    before, after = (
        transform(quaternion=object_pose(scene_of(turned, {}, item)).quaternion)[:3, :3]
        for item in (None, noise)
    )
    # a point of the object keeps its coordinate along the axis and rotates about it by the angle
    for point, moved in zip(before.T, after.T, strict=True):
        assert moved[axis] == pytest.approx(point[axis], abs=1e-12)
        start, end = (np.delete(item, axis) @ [1.0, 1.0j] for item in (point, moved))
        assert end == pytest.approx(start * np.exp((-1j if axis == 1 else 1j) * angle))


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"axes": ({"path": "seed"},)}, "axes[0].values"),
        ({"axes": ({"path": "seed", "values": ()},)}, "axes[0].values"),
        ({"axes": ({"path": "seed", "low": 1.0},)}, "axes[0].low"),
        ({"axes": ({"path": "seed", "low": 2.0, "high": 1.0},)}, "axes[0].low"),
        ({"axes": ({"path": "seed", "low": 0.0, "high": 1.0, "log": True},)}, "axes[0].low"),
        ({"axes": ({"path": "seed", "low": 0.0, "high": 1.0},)}, "axes[0].steps"),
        ({"axes": ({"path": "seed", "values": (1,)}, {"path": "seed", "values": (2,)})}, "axes[1]"),
        ({"samples": 3}, "samples"),
        ({"method": "latin"}, "samples"),
        ({"axes": (), "method": "sobol", "samples": 2}, "axes"),
        ({"method": "list"}, "axes"),
    ],
)
def test_odd_plans_are_refused(changes: dict[str, Any], sentence: str, golden: Golden) -> None:
    golden.refused(lambda: SweepPlan(**(dict(plan()) | changes)), sentence)


def test_a_plan_comes_from_a_file(tmp_path: Path, golden: Golden) -> None:
    file = tmp_path / "plan.yaml"
    file.write_text(
        "scene: {hand: four_finger, object: {library: sphere, density: 700}, grasp: precision}\n"
        "axes:\n"
        "  object.density: [160, 700.5]\n"
        "  contact.static_friction: {low: 0.3, high: 0.9, steps: 3}\n"
        "repeats: 2\n"
        "noise: {position: 0.001}\n"
        "seed: 4\n",
        encoding="utf-8",
    )
    result = load_plan(file)
    assert result.size == 12
    assert result.scene.object.density == 700
    assert result.noise == PoseNoise(position=0.001)
    assert SweepPlan.model_validate_json(result.model_dump_json()) == result
    file.write_text("scene: demo\naxes: [1]\n", encoding="utf-8")
    golden.refused(lambda: load_plan(file), "axes: expected paths with their values")
