"""Poses and pressures of soft fingers that are searched for each object."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import softgrasp as sg
from softgrasp.description.scene import GraspScene
from softgrasp.errors import SoftgraspWarning
from softgrasp.mechanics.transforms import rotation_from_euler
from softgrasp.resolution import soft_grasp
from softgrasp.resolution.resolve import resolve

NARROW, LONG, LOW = 0.03, 0.11, 0.028


def open_hand(name: str = "soft_gripper") -> sg.description.Hand:
    """A gripper whose grasps have neither pose nor pressure."""
    hand = sg.load_hand(name)
    power = hand.grasps.power.replace(per_object=True)
    return hand.replace(grasps=hand.grasps.replace(power=power, precision=power))


def pick(size: tuple[float, float, float], **fields: Any) -> GraspScene:
    """A box on a table that is lifted."""
    box = sg.description.GraspObject(
        name="box", shape=sg.description.Cuboid(size=size), density=300.0
    )
    scene = {"surroundings": (sg.description.Table(),), "lift": sg.description.Lift()} | fields
    return GraspScene(hand=open_hand(), object=box, gravity=True, **scene)


def resolved(scene: GraspScene) -> GraspScene:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SoftgraspWarning)
        return resolve(scene).scene


@pytest.fixture
def holds(monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> Callable[..., list[float]]:
    """Replace trials by ranges of pressures that hold [kPa]; return the list of those tried."""
    monkeypatch.setenv("SOFTGRASP_CACHE", str(tmp_path))

    def trials(*ranges: tuple[float, float]) -> list[float]:
        soft_grasp._choose.cache_clear()
        tried: list[float] = []

        def between(scene: GraspScene) -> bool:
            pressure = scene.preset.pressure
            assert pressure is not None
            tried.append(pressure)
            return any(low <= 1e-3 * pressure <= high for low, high in ranges)

        monkeypatch.setattr(soft_grasp, "_holds", between)
        return tried

    return trials


def test_the_pressure_is_the_middle_of_those_that_hold(holds: Callable[..., list[float]]) -> None:
    tried = holds((60.0, 250.0))
    pressure = resolved(pick((NARROW, NARROW, 0.06))).preset.pressure
    held = [item for item in tried if 60e3 <= item <= 250e3]
    assert len(held) == 4
    assert pressure == held[1]
    np.testing.assert_allclose(np.sqrt(held[0] * held[2]), pressure, rtol=0.02)


def test_the_longest_run_counts_and_a_gap_ends_one(holds: Callable[..., list[float]]) -> None:
    holds((20.0, 40.0), (90.0, 300.0))
    scene = resolved(pick((NARROW, NARROW, 0.06)))
    assert scene.preset.pressure is not None
    assert 130e3 < scene.preset.pressure < 210e3


def test_pressures_are_a_geometric_series_up_to_the_limit(
    holds: Callable[..., list[float]],
) -> None:
    tried = holds()
    with pytest.warns(SoftgraspWarning, match="with no pressure up to 280 kPa"):
        scene = resolve(pick((NARROW, NARROW, 0.06))).scene
    assert scene.preset.pressure == 280e3
    series = tried[: soft_grasp.PRESSURES]
    np.testing.assert_allclose(np.diff(np.log2(series)), 0.5, atol=0.03)
    assert series[-1] == 280e3


def test_a_stated_pressure_is_the_only_one_tried(holds: Callable[..., list[float]]) -> None:
    tried = holds((0.0, 300.0))
    scene = resolved(pick((NARROW, NARROW, 0.06), closure={"type": "pressure", "pressure": 9e4}))
    assert set(tried) == {9e4}
    assert scene.preset.pressure == 9e4


@pytest.mark.parametrize("size", [(NARROW, LONG, LOW), (LONG, NARROW, LOW)])
def test_the_narrow_side_lies_between_the_fingers(
    size: tuple[float, float, float], holds: Callable[..., list[float]]
) -> None:
    """Fingers of the gripper are along x; its tips end above the table."""
    holds((0.0, 300.0))
    scene = resolved(pick(size))
    rotation = rotation_from_euler(scene.object_euler or scene.object.standing)
    assert np.abs(rotation @ np.diag(size))[0].max() == pytest.approx(NARROW, abs=1e-6)
    assert scene.table.height is not None
    tips = [digit.base.position[2] - digit.length for digit in scene.hand.soft_fingers]
    assert min(tips) - scene.table.height == pytest.approx(soft_grasp.GAP, abs=1e-4)


def test_a_ball_has_one_rotation_and_a_stated_one_is_kept() -> None:
    ball = GraspScene(
        hand=open_hand(), object=sg.load_object("sphere"), surroundings=(sg.description.Table(),)
    )
    assert len(soft_grasp._standing_rotations(ball)) == 1
    stated = ball.replace(object_euler=(0.0, 0.0, 0.4))
    assert [euler for euler, _ in soft_grasp._standing_rotations(stated)] == [(0.0, 0.0, 0.4)]


def test_an_object_that_fits_nowhere_is_named(holds: Callable[..., list[float]]) -> None:
    tried = holds((0.0, 300.0))
    with pytest.warns(SoftgraspWarning, match="fits between the fingers of 'soft_gripper' in none"):
        soft_grasp.with_soft_grasp(pick((0.2, 0.2, 0.05)), {})
    assert not tried


def test_a_stated_position_keeps_the_grasp(holds: Callable[..., list[float]]) -> None:
    tried = holds((0.0, 300.0))
    scene = resolved(pick((NARROW, NARROW, 0.06), object_position=(0.0, 0.0, -0.05)))
    assert not tried
    assert scene.preset.per_object


@pytest.mark.slow
def test_a_gripper_picks_a_ball_with_the_pressure_it_searched(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Any
) -> None:
    """Simulated trials: the pressure and the next lower hold, and the choice is kept on disk."""
    monkeypatch.setenv("SOFTGRASP_CACHE", str(tmp_path))
    scene = GraspScene(
        hand=open_hand("soft_gripper_three"),
        object=sg.load_object("sphere"),
        surroundings=(sg.description.Table(),),
        gravity=True,
        lift=sg.description.Lift(),
    )
    chosen = resolved(scene)
    assert chosen.preset.pressure is not None
    assert not chosen.preset.per_object
    for factor in (1.0, 2.0**-0.5):
        assert sg.simulate(with_pressure(chosen, factor * chosen.preset.pressure)).held
    monkeypatch.setattr(soft_grasp, "_search", lambda _: pytest.fail("searched again"))
    soft_grasp._choose.cache_clear()
    assert resolved(scene).preset == chosen.preset


def with_pressure(scene: GraspScene, pressure: float) -> GraspScene:
    preset = scene.preset.replace(pressure=pressure)
    grasps = scene.hand.grasps.replace(power=preset, precision=preset)
    return scene.replace(hand=scene.hand.replace(grasps=grasps))
