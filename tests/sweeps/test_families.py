"""Rows of a sweep that share a model are the grasps of their scenes, bit for bit."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import softgrasp as sg
from softgrasp.description.sweep import Axis, SweepPlan
from softgrasp.model.family import Family
from softgrasp.sweeps import families
from softgrasp.sweeps.executors import Rows
from softgrasp.sweeps.families import PlanFamilies
from softgrasp.sweeps.parameters import scene_of_row
from softgrasp.sweeps.table import row_of
from tests.model.test_weak_servos import jaws
from tests.sweeps.plans import plan


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> list[Family]:
    """Families that were made."""
    kept: list[Family] = []

    def recorded(*arguments: Any, **options: Any) -> Family:
        kept.append(Family(*arguments, **options))
        return kept[-1]

    monkeypatch.setattr(families, "Family", recorded)
    return kept


def test_rows_are_the_results_of_their_scenes(made: list[Family]) -> None:
    swept = plan(repeats=2)
    rows = Rows(swept).compute(range(swept.size))
    assert [family.size for family in made] == [6]
    for row in rows:
        expected = row_of(sg.simulate(scene_of_row(swept, row["row"]), quality_rate=None))
        differing = [
            name
            for name, value in expected.items()
            if "wall" not in name and row[name] != value and value == value
        ]
        assert not differing


def test_other_axes_are_compiled_once_a_value(made: list[Family]) -> None:
    swept = plan(axes=(*plan().axes, Axis(path="object.radius", values=(0.01, 0.012, 0.013))))
    shared = PlanFamilies(swept)
    compiled = [shared.compiled(row) for row in range(swept.size)]
    assert [family.size for family in made] == [6, 6, 6]
    for row, item in enumerate(compiled):
        expected = sg.resolve(scene_of_row(swept, row))
        assert item.scene == expected.scene
        assert item.resolved.values == expected.values


@pytest.mark.parametrize(
    "changes",
    [
        {"noise": {"position": 1e-3}},
        {"axes": (Axis(path="object.radius", values=(0.01, 0.012)),)},
        {"axes": (Axis(path="object.density", values=(500.0,)),)},
    ],
)
def test_rows_without_a_family_are_built_alone(changes: dict[str, Any], made: list[Family]) -> None:
    swept = plan(**changes)
    assert [PlanFamilies(swept).compiled(row) for row in range(swept.size)] == [None] * swept.size
    assert not made


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::softgrasp.SoftgraspWarning")
def test_rows_whose_choices_depend_on_the_weight_are_built_alone(
    tmp_path: Path, made: list[Family]
) -> None:
    weights = Axis(path="object.mass", values=(0.05, 0.1))
    weak = sg.GraspScene(hand=sg.load_hand(jaws(tmp_path, 100.0)), object=sg.load_object("sphere"))
    stated = weak.replace(closure=sg.PositionIncrementClosure())
    for scene in (weak, stated.replace(adapt_grasp=True)):
        shared = PlanFamilies(SweepPlan(scene=scene.replace(grasp="power"), axes=(weights,)))
        assert [shared.compiled(row) for row in range(2)] == [None, None]
    assert not made
    forces = [sg.resolve(weak.replace(object=weak.object.weighing(mass=m))) for m in (0.05, 0.1)]
    assert forces[0].scene.closure != forces[1].scene.closure  # why it must not be shared
