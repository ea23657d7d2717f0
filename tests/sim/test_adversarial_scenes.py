"""Outcome words of adversarial scenes, chosen by a person who looked at the strip of each."""

from __future__ import annotations

from collections.abc import Callable

import pytest

import softgrasp as sg
from tests.support.adversarial_scenes import ADVERSARIES, five_kilograms, five_kilograms_too_heavy


@pytest.mark.parametrize("name", ADVERSARIES)
def test_the_word_is_that_of_an_observer(name: str) -> None:
    adversary = ADVERSARIES[name]
    result = sg.simulate(adversary.scene(), quality_rate=None)
    assert (result.outcome.name, name) == (adversary.word, name), result.message
    tested = result.scene.success is not None
    assert result.held is ((adversary.word == "HELD") if tested else None)


@pytest.mark.parametrize(
    ("scene", "borne"), [(five_kilograms, 1.90), (five_kilograms_too_heavy, 0.37)]
)
def test_the_grip_bears_twice_or_a_third_of_five_kilograms(
    scene: Callable[[], sg.GraspScene], borne: float
) -> None:
    closed = sg.simulate(scene().replace(success=None), quality_rate=None)
    assert (0.5 * closed.normal_force[-1].sum()) / (5.0 * 9.81) == pytest.approx(borne, abs=0.05)
