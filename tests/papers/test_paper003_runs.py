"""The experiments of paper 003 as data, and how numbers of both models are judged."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

import softgrasp as sg
from examples.paper003.experiments import (
    EXPERIMENTS,
    LIMIT,
    Change,
    Motion,
    Rests,
    hydraulic_experiment,
    run_hydraulic_experiments,
)
from examples.paper003.lumped_motion import lumped_shapes
from examples.paper003.report import Number
from examples.paper003.statics import arm_rest
from softgrasp.hydraulics.arm import ArmChain
from softgrasp.hydraulics.run import chain_shapes
from softgrasp.mechanics.transforms import Array
from tests.hydraulics.arms import one_section, two_sections


def motion(*changes: Change, duration: float = 10.0) -> Motion:
    return Motion("mine", "Mine", "ours", "", changes, duration)


def test_names_are_different_and_unknown_ones_are_reported() -> None:
    names = [result.name for result in EXPERIMENTS]
    assert len(set(names)) == len(names)
    with pytest.raises(sg.DescriptionError, match=r"no experiment 'ramp'; did you mean 'ramps'"):
        hydraulic_experiment("ramp")


def test_a_ramp_is_the_papers_function_of_time() -> None:
    """0.75 (t − 2) from 2 to 4 s on the fourth motor, 0.75 (t − 6) from 6 to 8 s on the first."""
    result = hydraulic_experiment("slow-ramps")
    assert isinstance(result, Motion)
    for time in (0.0, 1.9, 2.0, 2.5, 3.3, 4.0, 5.0, 6.4, 7.7, 8.0, 9.9):
        first, fourth = (0.75 * min(max(time - begin, 0.0), 2.0) for begin in (6.0, 2.0))
        assert result.torques(time) == pytest.approx([first, 0.0, 0.0, fourth, 0.0, 0.0])


def test_slow_ramps_at_once_are_the_sequential_steps() -> None:
    """So that they need not move again."""
    slow, steps = hydraulic_experiment("slow-ramps"), hydraulic_experiment("sequential-steps")
    assert isinstance(slow, Motion)
    assert isinstance(steps, Motion)
    assert (slow.ramped, steps.ramped) == (True, False)
    assert slow.at_once().changes == steps.changes
    assert slow.duration == steps.duration


def test_changes_of_one_motor_add_up() -> None:
    result = motion(Change((2,), 1.0, 1.0, 0.5), Change((2, 3), 1.5, 1.0, 1.0))
    assert result.torques(2.0) == pytest.approx([0.0, 1.0, 0.5, 0.0, 0.0, 0.0])
    assert result.torques(3.0) == pytest.approx([0.0, 1.5, 1.0, 0.0, 0.0, 0.0])


@pytest.mark.parametrize("result", [e for e in EXPERIMENTS if isinstance(e, Rests)])
def test_no_torque_is_beyond_the_motors(result: Rests) -> None:
    assert result.torques.max() <= LIMIT == two_sections().drive.screw.torque_max
    assert result.torques.shape[1] == len(two_sections().chambers) * result.sections // 2


def test_another_arm_than_the_papers_is_refused() -> None:
    message = "expected two sections of 3 chambers, as the paper's, found 1 of 3"
    with pytest.raises(sg.DescriptionError, match=message):
        run_hydraulic_experiments([hydraulic_experiment("bends")], one_section())


@pytest.mark.parametrize(
    ("chain", "lumped", "met"),
    [(1.0, 2.0, "both"), (0.9, 2.0, "lumped only"), (1.5, 2.1, "chain only"),
     (0.0, 3.0, "neither"), (math.nan, 1.0, "lumped only")],
)  # fmt: skip
def test_a_number_states_which_model_agrees(chain: float, lumped: float, met: str) -> None:
    number = Number("mine", "what", "m", "1 to 2", "predicted", (chain, lumped), (1.0, 2.0))
    assert number.met == met
    assert replace(number, within=None).met == ""


PRESSURES = (2e5, 0.0, 1e5, 0.0, 3e5, 0.0)


def test_shapes_of_the_lumped_model_are_those_of_its_rest() -> None:
    """In space: ends from the arcs' points, bends in one plane a section with one arc each."""
    arm = two_sections()
    rest = arm_rest(arm, PRESSURES)
    shapes = lumped_shapes(arm, rest.strains[None])
    assert shapes.ends[0] == pytest.approx(rest.ends, abs=1e-12)
    assert shapes.angles[0] == pytest.approx(rest.bends)
    assert shapes.lengths[0] == pytest.approx(rest.lengths)
    assert way(shapes.backbone[0]) == pytest.approx(rest.lengths.sum(), rel=1e-3)


def test_shapes_of_the_chain_are_those_of_its_rest() -> None:
    arm, chain = two_sections(), ArmChain(two_sections(), 4)
    rest = chain.rest(PRESSURES)
    shapes = chain_shapes(arm, 4, chain.data.qpos[None])
    assert shapes.ends[0] == pytest.approx(rest.ends, abs=1e-12)
    assert shapes.lengths[0] == pytest.approx(rest.lengths)
    assert shapes.backbone[0, -1] == pytest.approx(rest.ends[-1])


def way(points: Array) -> float:
    return float(np.linalg.norm(np.diff(points, axis=0), axis=1).sum())


def test_a_rest_that_powells_method_misses_is_computed() -> None:
    """Out of the plane, near the limit; as near to the lumped model as its neighbours are."""
    pressures = (0.75e6, 1.0e6, 0.5e6)
    result, lumped = ArmChain(one_section(), 8).rest(pressures), arm_rest(one_section(), pressures)
    assert result.ends[0] == pytest.approx(lumped.ends[0], abs=0.015)
