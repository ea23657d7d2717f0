"""Asking at one rate: no drift, nothing lost, nothing silent."""

from __future__ import annotations

import asyncio

import pytest

from softgrasp.errors import ConnectionLostError
from softgrasp.twin.loop import Cycle, poll
from tests.twin.controllers import Clock


def polled(took: list[float], period: float = 0.02) -> list[Cycle[int]]:
    """Turns of something that takes so long; below zero: and then fails."""
    clock, at = Clock(0.0), iter(took)

    async def ask() -> int:
        time = next(at)
        clock.now += abs(time)
        if time < 0:
            raise ConnectionLostError("gone")
        return 1

    async def collect() -> list[Cycle[int]]:
        ask_all = poll(ask, period, cycles=len(took), clock=clock, sleep=clock.sleep)
        return [rotation async for rotation in ask_all]

    return asyncio.run(collect())


def test_turns_begin_when_they_are_due() -> None:
    rotations = polled([0.005, 0.019, 0.0, 0.013])
    assert [rotation.begun for rotation in rotations] == pytest.approx([0.0, 0.02, 0.04, 0.06])
    assert [rotation.ended - rotation.begun for rotation in rotations] == pytest.approx(
        [0.005, 0.019, 0.0, 0.013]
    )
    assert {rotation.missed for rotation in rotations} == {0}


def test_a_turn_that_takes_too_long_is_caught_up_with_and_counted() -> None:
    rotations = polled([0.0, 0.075, 0.0, 0.0])
    assert [rotation.missed for rotation in rotations] == [0, 0, 2, 0]
    assert [rotation.due for rotation in rotations] == pytest.approx([0.0, 0.02, 0.08, 0.10])
    assert rotations[2].begun == pytest.approx(0.095)
    assert rotations[3].begun == pytest.approx(0.10)
    assert [rotation.number for rotation in rotations] == [0, 1, 2, 3]


def test_a_failure_is_a_turn_too_and_a_mistake_is_raised() -> None:
    rotations = polled([0.001, -0.001, 0.001])
    assert [rotation.value for rotation in rotations] == [1, None, 1]
    assert str(rotations[1].error) == "gone"

    async def wrong() -> None:
        raise ZeroDivisionError

    async def collect() -> None:
        async for _ in poll(wrong, 0.02):
            pass

    with pytest.raises(ZeroDivisionError):
        asyncio.run(collect())
