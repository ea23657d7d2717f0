"""Asking at one rate: no drift, nothing lost, nothing silent."""

from __future__ import annotations

import asyncio

import pytest

from softgrasp.errors import ConnectionLostError
from softgrasp.twin.polling import Turn, poll
from tests.twin.controllers import Clock


def polled(took: list[float], period: float = 0.02) -> list[Turn[int]]:
    """Turns of something that takes so long; below zero: and then fails."""
    clock, at = Clock(0.0), iter(took)

    async def ask() -> int:
        time = next(at)
        clock.now += abs(time)
        if time < 0:
            raise ConnectionLostError("gone")
        return 1

    async def collect() -> list[Turn[int]]:
        ask_all = poll(ask, period, turns=len(took), clock=clock, sleep=clock.sleep)
        return [turn async for turn in ask_all]

    return asyncio.run(collect())


def test_turns_begin_when_they_are_due() -> None:
    turns = polled([0.005, 0.019, 0.0, 0.013])
    assert [turn.begun for turn in turns] == pytest.approx([0.0, 0.02, 0.04, 0.06])
    assert [turn.ended - turn.begun for turn in turns] == pytest.approx([0.005, 0.019, 0.0, 0.013])
    assert {turn.missed for turn in turns} == {0}


def test_a_turn_that_takes_too_long_is_caught_up_with_and_counted() -> None:
    turns = polled([0.0, 0.075, 0.0, 0.0])
    assert [turn.missed for turn in turns] == [0, 0, 2, 0]
    assert [turn.due for turn in turns] == pytest.approx([0.0, 0.02, 0.08, 0.10])
    assert turns[2].begun == pytest.approx(0.095)
    assert turns[3].begun == pytest.approx(0.10)
    assert [turn.number for turn in turns] == [0, 1, 2, 3]


def test_a_failure_is_a_turn_too_and_a_mistake_is_raised() -> None:
    turns = polled([0.001, -0.001, 0.001])
    assert [turn.value for turn in turns] == [1, None, 1]
    assert str(turns[1].error) == "gone"

    async def wrong() -> None:
        raise ZeroDivisionError

    async def collect() -> None:
        async for _ in poll(wrong, 0.02):
            pass

    with pytest.raises(ZeroDivisionError):
        asyncio.run(collect())
