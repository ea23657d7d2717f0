"""Descriptions: values that compare, hash, copy and refuse nonsense with a sentence."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import softgrasp as sg
from softgrasp.description.actuation import Rates
from tests.conftest import Golden
from tests.support.scenes import pinch

ROW: dict[str, Any] = {"a": 0.05, "density": 1000}


def finger(**changes: Any) -> sg.description.Finger:
    base: dict[str, Any] = {"name": "F1", "convention": "standard", "phalanges": (ROW, ROW)}
    return sg.description.Finger(**(base | changes))


def hand(**changes: Any) -> sg.Hand:
    preset = sg.description.GraspPreset(center=(0, 0, 0), rates=1.0)
    base: dict[str, Any] = {
        "name": "h",
        "fingers": (finger(),),
        "grasps": sg.description.Grasps(power=preset, precision=preset),
    }
    return sg.Hand(**(base | changes))


def test_values_compare_hash_and_change_by_replace() -> None:
    scene = pinch()
    again = pinch()
    assert scene == again
    assert hash(scene) == hash(again)
    changed = scene.replace(seed=1)
    assert changed != scene
    assert changed.replace(seed=0) == scene


def test_values_are_immutable() -> None:
    scene = pinch()
    with pytest.raises(sg.DescriptionError) as caught:
        scene.seed = 1  # type: ignore[misc]
    assert (caught.value.field, caught.value.actual) == ("seed", 1)
    assert ".replace(seed=1)" in str(caught.value)
    with pytest.raises(sg.DescriptionError, match="did you mean 'seed'"):
        scene.sead = 1
    assert scene.seed == 0


def test_a_scene_survives_json() -> None:
    scene = pinch(success=sg.SuccessCriterion(), gravity=True)
    assert sg.GraspScene.model_validate_json(scene.model_dump_json()) == scene


REFUSALS = [
    (lambda: sg.Sphere(radius=0), "radius: expected a number above 0, found 0"),
    (lambda: sg.Sphere(radius=-1), "radius: expected a number above 0, found -1"),
    (lambda: sg.Sphere(radius=math.nan), "radius: expected a finite number, found nan"),
    (lambda: sg.Cuboid(size=(1, 0, 1)), "size[1]: expected a number above 0, found 0"),
    (
        lambda: sg.GraspObject(name="o", shape=sg.Sphere(radius=1), mass=1, density=1),
        "expected exactly one of mass and density, found both",
    ),
    (lambda: sg.GraspObject(name="o", shape=sg.Sphere(radius=1)), "expected exactly one of mass"),
    (
        lambda: sg.GraspObject(name="o", shape={"type": "sphare", "radius": 1}, mass=1),
        "shape: expected sphere, cylinder, cuboid, capsule, ellipsoid, superellipsoid, mesh or "
        "compound, found 'sphare'; did you mean 'sphere'?",
    ),
    (lambda: sg.Contact(stifness=1), "stifness: no such field; did you mean 'stiffness'? known"),
    (lambda: sg.Contact(static_friction=0.3, dynamic_friction=0.5), "dynamic_friction: expected"),
    (lambda: sg.Pose(quaternion=(0, 0, 0, 0)), "quaternion: expected a quaternion that is not"),
    (lambda: pinch(duration=-1), "duration: expected a number above 0, found -1"),
    (lambda: pinch(timestep=0), "timestep: expected a number at least 1e-07, found 0"),
    (lambda: pinch(actuation="spring"), "actuation: expected servo or prescribed, found 'spring'"),
    (lambda: pinch(closure=sg.PositionIncrementClosure(rates=(1, 2))), "closure.rates: expected"),
    (lambda: pinch(closure=sg.PositionIncrementClosure(active=(True,))), "closure.active"),
    (lambda: finger(phalanges=()), "phalanges: expected at least one phalanx, found none"),
    (lambda: finger(phalanges=({"alpha": 1.0},)), "expected at least one phalanx, found only"),
    (lambda: finger(convention="dh"), "convention: expected standard, modified or placed, found"),
    (lambda: finger(phalanges=(ROW | {"name": "P"}, ROW | {"name": "P"})), "phalanges[1]"),
    (
        lambda: finger(phalanges=(ROW | {"limits": (1.0, 0.5), "start": 0.7},)),
        "phalanges[0].limits: expected limits (lowest, highest), found [1, "
        "0.5] rad ([57.2958, 28.6479]°)",
    ),
    (lambda: finger(phalanges=(ROW | {"start": 9.0},)), "phalanges[0].start: expected start"),
    (lambda: pinch(duration=1e-4), "duration: expected at least one control period of 0.001 s"),
    (lambda: pinch(object_mount="fixed", success=sg.SuccessCriterion()), "success: expected an"),
    (lambda: pinch(closure=sg.PositionIncrementClosure(rates=1e-6)), "duration: expected one"),
    (lambda: sg.Sphere(radius="1"), "radius: expected a number, found '1'"),
    (lambda: sg.Contact(stiffness=True), "stiffness: expected a number, found True"),
    (lambda: hand(fingers=(finger(name="a b"),)), "fingers[0].phalanges[0]: expected names of"),
    (lambda: hand(fingers=(finger(name="palm"),)), "fingers[0].phalanges[0]: expected names of"),
    (
        lambda: hand(
            fingers=(
                finger(phalanges=(ROW | {"name": "P1_x"},)),
                finger(name="F1_P1", phalanges=(ROW | {"name": "x"},)),
            )
        ),
        "fingers[1].phalanges[0]: expected unique names, found "
        "finger and name together 'F1_P1_x' twice",
    ),
    (lambda: hand(fingers=(finger(), finger())), "fingers[1]: expected unique names, found"),
]  # fmt: skip


@pytest.mark.parametrize(("make", "part"), REFUSALS)
def test_wrong_descriptions_are_refused_with_a_message(
    make: Any, part: str, golden: Golden
) -> None:
    golden.refused(make, part)


@given(st.lists(st.floats(-5, 5), min_size=1, max_size=8), st.integers(1, 4), st.integers(1, 4))
def test_rates_spread_over_fingers(numbers: list[float], fingers: int, rows: int) -> None:
    rates, shape = Rates(numbers), (rows,) * fingers
    fits = len(numbers) in (1, rows, rows * fingers)
    if not fits:
        with pytest.raises(ValueError, match="expected 1 rate"):
            rates.for_fingers(shape)
        return
    spread = rates.for_fingers(shape)
    assert len(spread) == rows * fingers
    assert set(spread) == set(numbers)
