"""What the page of an arm says of the flow and of the coupling, against the run's numbers."""

from __future__ import annotations

import dataclasses
from functools import cache

import numpy as np
import pytest

import softgrasp as sg
from softgrasp.hydraulics import TorqueTable
from softgrasp.hydraulics.report import coupling_clause, flow_clause, pressure_clause
from softgrasp.hydraulics.run import ArmRun
from tests.conftest import Golden
from tests.hydraulics.arms import one_section, with_drive


@cache
def a_run(law: str) -> ArmRun:
    table = TorqueTable(np.array([0.0, 0.5]), np.array([[0.0, 0.0, 0.0], [0.4, 0.0, 0.0]]))
    return sg.hydraulics.run_arm(with_drive(one_section(), "tube", flow=law), table, links=1)


@pytest.mark.parametrize(
    ("law", "number", "text"),
    [
        ("blasius", 2000.4, "laminar, Reynolds number at most 2000."),
        ("laminar", 3000.0, "up to 3000"),
        ("blasius", 32675.0, "32675"),
        ("blasius", 2e5, "up to 200000"),
    ],
)
def test_the_flow_is_reported_with_its_law(
    law: str, number: float, text: str, golden: Golden
) -> None:
    golden(flow_clause(dataclasses.replace(a_run(law), largest_reynolds=number)), text)


def test_a_chamber_that_only_the_motion_presses_is_not_named() -> None:
    run = a_run("blasius")
    assert np.abs(run.pressures[:, 1]).max() > 0.0
    assert pressure_clause(run) == f"Highest: {1e-6 * run.pressures.max():.3f} MPa in chamber 1."
    assert coupling_clause(run) == "Arm and fluid act on each other."
    other = dataclasses.replace(run, coupling="static")
    assert "static compliance of the arm" in coupling_clause(other)
