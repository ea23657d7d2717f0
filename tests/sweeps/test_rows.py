"""Columns of a sweep that are computed on demand."""

from __future__ import annotations

import pytest

import softgrasp as sg
from tests.pads import pads
from tests.scenes import pinch

pytest.importorskip("pandas", reason="pandas is the extra 'sweep'")


def test_epsilon_is_a_column_where_it_is_asked_for() -> None:
    plan = sg.SweepPlan(scene=pinch(), axes=(sg.Axis(path="object.density", values=(300, 700)),))
    assert sg.sweep(plan, workers=1)["quality_epsilon"].isna().all()
    requested = sg.sweep(plan.replace(quality=True), workers=1)
    alone = sg.simulate(plan.scene.replace(object=plan.scene.object.replace(density=300.0)))
    assert alone.quality is not None
    assert requested["quality_epsilon"][0] == pytest.approx(alone.quality["epsilon"], abs=1e-9)
    assert (requested["quality_epsilon"] > 0.1).all()


def test_a_pull_is_a_column() -> None:
    criterion = sg.SuccessCriterion(pulls=({"direction": (0, 0, 1)},), max_drop=0.05)
    plan = sg.SweepPlan(
        scene=pads(2, success=criterion), axes=(sg.Axis(path="object.density", values=(300, 700)),)
    )
    table = sg.sweep(plan, workers=1)
    assert table["hold_slip_force_N"].to_numpy() == pytest.approx([8.5, 8.5], rel=0.02)
    assert table["hold_creep_m_s"].notna().all()
