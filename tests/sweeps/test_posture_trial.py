"""Trials of synthesized postures, and the search that goes on until enough have held the object."""

from __future__ import annotations

import numpy as np
import pytest

import softgrasp as sg
from softgrasp.grasp_synthesis.posture_search import PostureSearch, SynthesizedPosture, distinct
from softgrasp.model.retreat import HandRetreat
from softgrasp.sweeps.synthesis import (
    ARM,
    MAX_MOTION,
    PlacedPosture,
    PostureTrial,
    arrange_postures,
)


def plan(**changes: object) -> sg.description.GraspPlan:
    scene = sg.GraspScene(hand=sg.load_hand("four_finger"), object=sg.load_object("sphere"))
    return sg.description.GraspPlan(**({"scene": scene, "candidates": 4, "seeds": 12} | changes))


@pytest.fixture(scope="module")
def placed() -> list[PlacedPosture]:
    return arrange_postures(plan())


def trial(friction: float = 0.6) -> PostureTrial:
    return PostureTrial(HandRetreat(plan().scene), friction)


def held_in(placed: list[PlacedPosture]) -> list[bool]:
    assert all(item.trial is not None for item in placed)
    return [item.trial.held for item in placed if item.trial is not None]


@pytest.mark.slow
def test_a_posture_that_presses_holds_and_one_that_stays_open_does_not(
    placed: list[PlacedPosture], monkeypatch: pytest.MonkeyPatch
) -> None:
    best = placed[0].posture
    opened = best._replace(targets=best.start, squeeze=best.start)
    tried = trial()
    outcome = tried.run(best)
    assert outcome.held
    assert outcome.push_displacement + ARM * outcome.push_rotation < MAX_MOTION
    assert not tried.run(opened).held
    assert tried.run(best) == outcome  # a trial does not depend on those before
    closed = best._replace(start=best.targets, pose=best.pose + 0.005 * np.eye(4, k=3))
    assert tried.run(closed).closing_displacement == np.inf  # the start is in the object
    # nothing resists: s = ½ a t² in every push, 10 m/s² for 0.24 s
    monkeypatch.setattr("softgrasp.sweeps.synthesis.LOST", 10.0)
    away = opened.pose.copy()
    away[:3, 3] += [0.0, 0.0, 1.0]
    free = tried.run(opened._replace(pose=away))
    assert free.closing_displacement == pytest.approx(0.0, abs=1e-9)
    assert free.push_displacement == pytest.approx(0.5 * 10.0 * 0.24**2, rel=0.02)


@pytest.mark.slow
def test_postures_that_hold_come_first_by_how_little_the_object_moves(
    placed: list[PlacedPosture],
) -> None:
    held = held_in(placed)
    assert held[0]
    assert held == sorted(held, reverse=True)
    first = [item.trial.motion for item in placed if item.trial and item.trial.held]
    chosen = distinct([item.posture.pose for item in placed[: len(first)]])
    assert first == sorted(first) or len(chosen) < len(first)
    outcome = placed[0].trial
    closing = outcome.closing_displacement + ARM * outcome.closing_rotation
    pushes = outcome.push_displacement + ARM * outcome.push_rotation
    assert outcome.motion == pytest.approx(closing + pushes)


@pytest.fixture
def rounds(monkeypatch: pytest.MonkeyPatch, placed: list[PlacedPosture]) -> list[int]:
    """Replace every round of the search by a posture that holds, and by its opened hand."""
    sizes: list[int] = []
    best = placed[0].posture
    opened = best._replace(targets=best.start, squeeze=best.start, score=best.score + 1.0)

    class Search(PostureSearch):
        def __init__(self) -> None:
            pass

        def rated_postures(
            self, random: np.random.Generator, seeds: int, tips_only: float
        ) -> list[SynthesizedPosture]:
            sizes.append(seeds)
            return [opened, best]

    monkeypatch.setattr("softgrasp.sweeps.synthesis.posture_search_of", lambda *_: Search())
    return sizes


def test_the_search_ends_when_enough_postures_hold_or_the_seeds_are_used(rounds: list[int]) -> None:
    assert held_in(arrange_postures(plan(candidates=1, seeds=100))) == [True]
    assert rounds == [32]
    rounds.clear()
    assert held_in(arrange_postures(plan(candidates=2, seeds=70))) == [True] * 2
    assert rounds == [32, 32, 6]  # equal poses count once
    rounds.clear()
    assert held_in(arrange_postures(plan(candidates=30, seeds=40))) == [True, False]
    assert rounds == [40]


def test_without_trials_postures_come_by_their_scores(rounds: list[int]) -> None:
    first, second = arrange_postures(plan(trial=False, candidates=2))
    assert rounds == [12]
    assert first.trial is second.trial is None
    assert first.posture.score > second.posture.score
