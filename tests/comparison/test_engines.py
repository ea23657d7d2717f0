"""MuJoCo and ODE on the shipped release and grasps, with the tolerances of the documentation."""

from __future__ import annotations

import pytest

import softgrasp as sg
from tests.sim.engines import require_engine

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module", autouse=True)
def ode() -> None:
    require_engine("ode")


def test_the_release_of_paper_000_is_the_same_motion() -> None:
    result = sg.comparison.crosscheck(sg.io.load_release("paper000_release"))
    assert result.passed, result.summary
    # far below the tolerances: the two make the same step, c + h·k
    assert result.finding("static_pose").difference < 1e-4
    assert result.finding("trajectory").difference < 2e-3
    assert result.finding("frequency").difference < 0.01
    assert result.finding("damping_ratio").difference < 0.1
    assert result.finding("convergence_limit").difference < 1e-3


def test_four_fingers_whose_forces_follow_from_moments_are_the_same_grasp() -> None:
    result = sg.comparison.crosscheck(sg.load_scene("four_finger_sphere"))
    # a finger of ODE stops a sample later, which changes its force by up to 3.2 %
    assert [finding.name for finding in result.failed] == ["normal_force"], result.summary
    assert result.finding("normal_force").difference < 3.2
    assert result.finding("critical_load").difference < 10.0


def test_a_grasp_across_the_fingers_differs_in_what_statics_leaves_open() -> None:
    """ODE's friction is a box, and keeps sideways what MuJoCo's cone lets go while it slides."""
    result = sg.comparison.crosscheck(sg.load_scene("four_finger_askew"), quick=True)
    assert [finding.name for finding in result.failed] == ["normal_force"]
    force = result.finding("normal_force")
    assert 2.0 < force.difference < 72.0
    assert "friction across it can carry a part" in force.note
