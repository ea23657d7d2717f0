"""Columns of a sweep's table, and the libraries that it needs."""

from __future__ import annotations

import pytest

import softgrasp as sg
from softgrasp.sweeps.run import sweep
from tests.support.pads import pads
from tests.support.scenes import pinch
from tests.sweeps.plans import plan

pytest.importorskip("pandas", reason="pandas is the extra 'sweep'")


def test_libraries_that_are_missing_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    from softgrasp.sweeps import table

    monkeypatch.setattr(table, "find_spec", lambda name: None)
    with pytest.raises(sg.BackendUnavailable) as refused:
        sweep(plan())
    assert str(refused.value) == (
        "a sweep needs pandas and pyarrow; pip install 'softgrasp[sweep]'"
    )


def test_epsilon_is_a_column_where_requested() -> None:
    plan = sg.description.SweepPlan(
        scene=pinch(), axes=(sg.description.Axis(path="object.density", values=(300, 700)),)
    )
    assert sg.sweep(plan, workers=1)["quality_epsilon"].isna().all()
    requested = sg.sweep(plan.replace(quality=True), workers=1)
    alone = sg.simulate(plan.scene.replace(object=plan.scene.object.replace(density=300.0)))
    assert alone.quality is not None
    assert requested["quality_epsilon"][0] == pytest.approx(alone.quality["epsilon"], abs=1e-9)
    assert (requested["quality_epsilon"] > 0.1).all()


def test_a_pull_is_a_column() -> None:
    criterion = sg.SuccessCriterion(pulls=({"direction": (0, 0, 1)},), max_drop=0.05)
    plan = sg.description.SweepPlan(
        scene=pads(2, success=criterion),
        axes=(sg.description.Axis(path="object.density", values=(300, 700)),),
    )
    table = sg.sweep(plan, workers=1)
    assert table["hold_slip_force_N"].to_numpy() == pytest.approx([8.12, 8.12], rel=0.02)
    assert table["hold_creep_m_s"].notna().all()
