"""The Modbus client on a faulty connection: each fault alone, and an hour of all of them."""

import asyncio
from collections import Counter

import pytest

from softgrasp.errors import BadAnswerError, ConnectionLostError, DescriptionError
from softgrasp.twin.loop import Cycle, poll
from softgrasp.twin.modbus import Backoff
from softgrasp.twin.pneumatic_controller import ControllerClient, ControllerState
from tests.twin.controllers import PATIENCE, Bench, Clock, rig
from tests.twin.faulty_proxy import QUICK_FAULTS, Plan, faulty, listed, seeded

QUICK = 0.5
"""Wait for an answer where one is kept back [s]; others take about a millisecond."""


def test_delays_double_up_to_their_limit():
    backoff = Backoff(first=0.05, max_delay=2.0)
    assert [backoff.delay(k) for k in range(8)] == [0, 0.05, 0.1, 0.2, 0.4, 0.8, 1.6, 2.0]
    assert backoff.delay(10**9) == 2.0


def outcome(*faults: str) -> tuple[dict[str, int], list[float], str]:
    """Counts and waits of a client that reads three times while faults happen, and its errors."""

    async def talk() -> tuple[dict[str, int], list[float], str]:
        clock, errors = Clock(), []
        async with rig() as there, faulty(there.server.address, listed(*faults)) as proxy:
            timeout = QUICK if {"swallow", "late"} & set(faults) else PATIENCE
            client = there.client(port=proxy.port, sleep=clock.sleep, timeout=timeout)
            async with client:
                for _ in range(3):
                    try:
                        assert (await client.read())[1:] == (False, False, 0.0, 0.0, 0.0)
                    except (ConnectionLostError, BadAnswerError) as error:
                        errors.append(str(error))
            return vars(client.counts), [s for s in clock.slept if s], "; ".join(errors)

    return asyncio.run(asyncio.wait_for(talk(), 20))


@pytest.mark.parametrize(
    ("fault", "target"),
    [
        ("drop", {"drops": 1, "connections": 2}),
        ("cut", {"drops": 1, "connections": 2}),
        ("swallow", {"timeouts": 1, "connections": 1}),
        ("late", {"timeouts": 1, "late": 1, "connections": 1}),
        ("twice", {"duplicates": 1, "connections": 1}),
        ("garbled header", {"garbled": 1, "drops": 1, "connections": 2}),
        ("garbled function", {"garbled": 1, "drops": 1, "connections": 2}),
        ("wrong transaction", {"garbled": 1, "drops": 1, "connections": 2}),
        ("wrong unit", {"garbled": 1, "drops": 1, "connections": 2}),
        ("short", {"garbled": 1, "drops": 1, "connections": 2}),
        ("long", {"garbled": 1, "drops": 1, "connections": 2}),
    ],
)
def test_one_fault_costs_one_attempt_and_no_reading(fault, target):
    counts, waits, errors = outcome(fault)
    assert errors == ""
    assert counts["answers"] == 3
    assert counts["requests"] == 3 + (fault != "twice")
    named = ("drops", "timeouts", "late", "duplicates", "garbled")
    assert {name: counts[name] for name in named} == dict.fromkeys(named, 0) | {
        name: count for name, count in target.items() if name in named
    }
    assert counts["connections"] == target["connections"]
    assert waits == ([0.05] if "drops" in target else [])


def test_three_faults_in_a_row_are_reported_and_the_next_reading_succeeds():
    counts, waits, errors = outcome("drop", "cut", "garbled header")
    assert errors.endswith(
        "expected an answer in one of 3 attempts, found: expected protocol 0 in the header, "
        "found 57005"
    )
    assert errors.startswith("127.0.0.1:")
    assert waits == [0.05, 0.1, 0.2]  # one before each new connection
    assert counts["answers"] == 2


def test_a_silent_connection_is_abandoned_after_two_time_outs():
    counts, _, errors = outcome("swallow", "swallow")
    assert errors == ""
    assert (counts["timeouts"], counts["drops"], counts["connections"]) == (2, 1, 2)


def test_an_answer_out_of_range_is_reported_and_discarded():
    _, _, errors = outcome("out of range")
    assert errors.startswith(
        "pressure (holding 4): expected -100000 to 130000 Pa, found 3.2767e+06"
    )


@pytest.mark.parametrize("fault", ["drop", "wrong echo", "garbled function"])
def test_an_unconfirmed_command_is_repeated_with_the_same_effect(fault):
    async def talk() -> None:
        clock = Clock()
        async with rig() as there, faulty(there.server.address, listed(fault)) as proxy:
            async with there.client(port=proxy.port, sleep=clock.sleep) as client:
                await client.set_targets(positive=50e3)
            assert [state.positive_target for state in there.heard] == [50e3, 50e3]

    asyncio.run(talk())


def test_the_client_reconnects_to_a_restarted_server():
    async def talk() -> None:
        clock = Clock()
        async with rig() as there:
            port = there.server.address[1]
            client = there.client(sleep=clock.sleep)
            await client.read()
        with pytest.raises(ConnectionLostError):
            await client.read()
        async with rig() as again:
            await again.server.close()
            await again.server.start(port=port)
            await client.read()
        await client.close()
        assert client.counts.connections == 2

    asyncio.run(talk())


def test_concurrent_requests_get_their_answers():
    async def talk() -> None:
        async with rig() as there, there.client() as client:

            async def one(k: int) -> None:
                await client.set_targets(positive=1e3 * k)
                await client.read()

            await asyncio.gather(*(one(k) for k in range(60)))
            assert len(there.heard) == 60
            assert client.counts.answers == 120

    asyncio.run(talk())


def test_a_cancelled_request_does_not_affect_the_next_one():
    async def talk() -> None:
        async with rig() as there, there.client() as client:
            await client.read()
            for rotations in range(1, 8):
                task = asyncio.create_task(client.read())
                for _ in range(rotations):
                    await asyncio.sleep(0)
                task.cancel()
                await asyncio.gather(task, return_exceptions=True)
                await client.read()
            assert (client.counts.garbled, client.counts.connections) == (0, 1)

    asyncio.run(talk())


def moving_pressure(rotation: int) -> float:
    """A target for every turn, over the whole range and once in a while far outside it [Pa]."""
    return 120e3 * ((rotation * 37) % 101) / 100 + (1e9 if rotation % 53 == 0 else 0.0)


async def traffic(client: ControllerClient, rotations: int, clock: Clock) -> list[Cycle[object]]:
    """A loop at 50 Hz: a new target, then a reading, every turn."""
    rotation = iter(range(rotations))

    async def ask() -> object:
        at = next(rotation)
        if moving_pressure(at) > 120e3:
            with pytest.raises(DescriptionError, match="expected 0 to 120000 Pa"):
                await client.set_targets(positive=moving_pressure(at))
        else:
            await client.set_targets(positive=moving_pressure(at))
        if at % 25 == 0:
            on = at % 50 == 0
            await client.trigger(positive=on, negative=not on)
        return await client.read()

    return [
        result async for result in poll(ask, 0.02, cycles=rotations, clock=clock, sleep=clock.sleep)
    ]


def check(
    rotations: list[Cycle[object]], target: int, heard: list[ControllerState]
) -> Counter[str]:
    """No turn is missing, each has a reading or an error, and no command was outside limits."""
    assert [rotation.number for rotation in rotations] == list(range(target))
    assert all((rotation.value is None) != (rotation.error is None) for rotation in rotations)
    assert heard
    assert all(0.0 <= state.positive_target <= 120e3 for state in heard)
    return Counter(
        type(rotation.error).__name__ for rotation in rotations if rotation.error is not None
    )


async def through_the_proxy(
    there: Bench, plan: Plan, rotations: int, clock: Clock, timeout: float = PATIENCE
) -> str:
    async with faulty(there.server.address, plan) as proxy:
        client = there.client(port=proxy.port, sleep=clock.sleep, clock=clock, timeout=timeout)
        async with client:
            errors = check(await traffic(client, rotations, clock), rotations, there.heard)
        counts, done = client.counts, proxy.done
    assert counts.drops > 0
    assert counts.connections == counts.drops + 1
    assert counts.late <= counts.timeouts
    assert counts.duplicates <= done["twice"]
    assert errors["BadAnswerError"] <= done["out of range"]
    assert len(errors) > 0
    return f"{rotations} turns, {counts}, faults {dict(done)}, errors {dict(errors)}"


def test_some_seconds_of_traffic_with_faults():
    async def talk() -> None:
        clock = Clock()
        async with rig(clock=clock) as there:
            await through_the_proxy(there, seeded(11, 0.2, QUICK_FAULTS), 300, clock)

    asyncio.run(asyncio.wait_for(talk(), 60))


@pytest.mark.slow
def test_ten_minutes_of_traffic_at_50_hz_with_all_faults(capsys):
    async def talk() -> str:
        clock = Clock()
        async with rig(clock=clock) as there:
            return await through_the_proxy(there, seeded(7, 0.01), 30_000, clock, QUICK)

    message = asyncio.run(asyncio.wait_for(talk(), 600))
    with capsys.disabled():
        print(f"\n{message}")
