"""Modbus client and server over a socket, and the simulated controller."""

import asyncio
import math
import sys

import numpy as np
import pytest
from pymodbus.client import AsyncModbusTcpClient
from pymodbus.server import ModbusTcpServer
from pymodbus.simulator import DataType, SimData, SimDevice

import softgrasp.twin
from softgrasp.errors import (
    BackendUnavailable,
    BadAnswerError,
    ConnectionLostError,
    DescriptionError,
    DeviceError,
    RequestRefusedError,
    SimulationError,
    StaleDataError,
)
from softgrasp.twin.description import RegisterMap
from softgrasp.twin.files import load_register_map
from softgrasp.twin.modbus import TcpLink, spans
from softgrasp.twin.modbus_server import ControllerRegisters
from softgrasp.twin.pneumatic_controller import (
    ControllerClient,
    ControllerState,
    SimulatedController,
    Valve,
    advance,
    connect_controller,
    measure,
    target_of,
)
from tests.twin.controllers import Clock, odd_map, rig

DEFAULT, ODD = load_register_map(), odd_map()


@pytest.mark.parametrize("registers", [DEFAULT, ODD], ids=["default", "odd"])
def test_a_pressure_is_commanded_and_reached(registers):
    async def talk() -> None:
        clock = Clock()
        async with rig(registers, clock=clock) as there, there.client(clock=clock) as client:
            first = await client.read()
            assert first == (clock.now, False, False, 0.0, 0.0, 0.0)
            await client.set_targets(positive=80e3, negative=-60e3)
            await client.trigger(positive=True)
            clock.now += 0.15
            rising = await client.read()
            assert rising.pressure == pytest.approx(80e3 * (1 - math.exp(-1)), abs=51)
            assert rising[1:5] == (True, False, 80e3, -60e3)
            clock.now += 10
            assert (await client.read()).pressure == pytest.approx(80e3)
            await client.trigger(positive=False, negative=True)
            clock.now += 10
            assert (await client.read()).pressure == pytest.approx(-60e3)
            await client.trigger(negative=False)
            clock.now += 10
            end = await client.read()
            assert end.pressure == pytest.approx(0.0, abs=1e-3)
            assert end.negative_target == -60e3

    asyncio.run(talk())


def test_adjacent_registers_are_read_and_written_together():
    assert [span.width for span in spans(list(DEFAULT.reads)[:5])] == [5]
    result = spans([pair for pair in ODD.reads if pair[1] is not None])
    assert [(item.kind, item.address, item.width) for item in result] == [
        ("discrete", 3, 1), ("discrete", 9, 1), ("holding", 40, 2), ("holding", 50, 2),
        ("input", 100, 3),
    ]  # fmt: skip

    async def talk() -> None:
        async with rig() as there, there.client() as client:
            await client.read()
            assert client.counts.requests == 1
            await client.set_targets(positive=1e3, negative=-1e3)
            await client.trigger(positive=False, negative=True)
            assert client.counts.requests == 3
            assert len(there.heard) == 2

    asyncio.run(talk())


@pytest.mark.parametrize("registers", [DEFAULT, ODD], ids=["default", "odd"])
def test_nothing_outside_the_limits_leaves_the_client(registers):
    async def talk() -> None:
        async with rig(registers) as there, there.client() as client:
            for wrong in (120_001.0, -1.0, math.nan, math.inf, 1e9):
                with pytest.raises(
                    DescriptionError, match=r"positive_target \(holding \d+\): expected 0 to"
                ):
                    await client.set_targets(positive=wrong, negative=-50e3)
            with pytest.raises(DescriptionError, match="expected -90000 to 0 Pa, found -90001"):
                await client.set_targets(negative=-90_001.0)
            assert client.counts.requests == 0
            assert there.heard == []
            await client.set_targets(positive=120e3, negative=-90e3)
            assert there.heard[-1].positive_target == pytest.approx(120e3)
            assert there.heard[-1].negative_target == pytest.approx(-90e3)

    asyncio.run(talk())


def moved(registers: RegisterMap, name: str, **changes: object) -> RegisterMap:
    """A map in which one reading is elsewhere."""
    there = getattr(registers.reads, name).replace(**changes)
    return registers.replace(reads=registers.reads.replace(**{name: there}))


def test_an_unknown_register_is_named():
    async def talk() -> None:
        async with rig() as there:
            client = there.client()
            host, port = there.server.address
            wrong = connect_controller(host, port, moved(DEFAULT, "pressure", address=77))
            with pytest.raises(RequestRefusedError) as caught:
                await wrong.read()
            assert str(caught.value) == (
                "pressure (holding 77): expected a readable register, found: illegal address: "
                "there is no "
                "such register (exception 2)"
            )
            second = connect_controller(host, port, DEFAULT.replace(device_id=9))
            with pytest.raises(RequestRefusedError, match="the device does not answer"):
                await second.read()
            await client.read()
            for first in (client, wrong, second):
                await first.close()

    asyncio.run(talk())


def test_the_server_refuses_values_outside_its_limits():
    async def talk() -> None:
        async with rig() as there:
            wide = DEFAULT.writes.positive_target.replace(limits=(0.0, 200e3))
            registers = DEFAULT.replace(writes=DEFAULT.writes.replace(positive_target=wide))
            async with connect_controller(*there.server.address, registers) as client:
                with pytest.raises(RequestRefusedError) as caught:
                    await client.set_targets(positive=150e3)
            assert str(caught.value) == (
                "positive_target (holding 2): expected acceptance of positive_target = 150000, "
                "found: "
                "illegal value (exception 3)"
            )
            assert there.heard == []

    asyncio.run(talk())


def test_an_answer_outside_its_register_is_named():
    async def talk() -> None:
        device = SimDevice(
            id=1, simdata=[SimData(0, values=[0, 0, 500, -500, 9999], datatype=DataType.INT16)]
        )
        server = ModbusTcpServer(device, address=("127.0.0.1", 0))
        await server.serve_forever(background=True)
        port = server.transport.sockets[0].getsockname()[1]
        async with connect_controller("127.0.0.1", port, DEFAULT) as client:
            with pytest.raises(BadAnswerError) as caught:
                await client.read()
            assert str(caught.value).startswith(
                "pressure (holding 4): expected -100000 to 130000 Pa, found 999900 (in the words "
            )
            assert client.last is None
            await server.async_setValues(1, 16, 4, [321])
            assert (await client.read()).pressure == 32_100.0  # another maker's server
            await client.set_targets(positive=70e3)
            assert await server.async_getValues(1, 3, 2, 1) == [700]
            await server.async_setValues(1, 16, 1, [2])
            with pytest.raises(BadAnswerError, match=r"negative_on \(holding 1\): expected 0 or 1"):
                await client.read()
        await server.shutdown()

    asyncio.run(talk())


def test_another_makers_client_is_served():
    async def talk() -> None:
        clock = Clock()
        async with rig(clock=clock) as there:
            host, port = there.server.address
            async with AsyncModbusTcpClient(host, port=port) as client:
                assert not (await client.write_register(2, 500)).isError()
                assert not (await client.write_registers(0, [1, 0])).isError()
                clock.now += 10
                assert (await client.read_holding_registers(0, count=5)).registers == [
                    *(1, 0, 500, 0, 500)
                ]
                assert (await client.read_holding_registers(4, count=3)).exception_code == 2
                assert (await client.write_register(4, 1)).exception_code == 2
                assert (await client.write_register(2, 1201)).exception_code == 3
                assert (await client.write_register(0, 2)).exception_code == 3
                assert (await client.read_coils(0)).exception_code == 2

    asyncio.run(talk())


def test_half_a_value_is_not_written():
    async def talk() -> None:
        async with rig(ODD) as there:
            host, port = there.server.address
            async with AsyncModbusTcpClient(host, port=port) as client:
                for address, words in ((40, [0]), (41, [0]), (40, [0, 0, 0])):
                    answer = await client.write_registers(address, words, device_id=7)
                    assert answer.exception_code == 2
                nan = [0, 0x7FC0]
                assert (await client.write_registers(40, nan, device_id=7)).exception_code == 3
                assert there.heard == []

    asyncio.run(talk())


def test_other_devices_and_functions_are_refused():
    registers = ControllerRegisters(SimulatedController(ODD, clock=Clock()))

    async def talk() -> list[object]:
        return [
            await registers.async_getValues(8, 3, 40, 2),
            await registers.async_setValues(8, 16, 40, [0, 0]),
            await registers.async_getValues(7, 23, 40, 2),
            await registers.async_getValues(7, 3, 41, 2),
            await registers.async_getValues(255, 3, 40, 1),
        ]

    assert asyncio.run(talk()) == [11, 11, 1, 2, [0]]


def test_a_port_in_use_is_reported():
    async def talk() -> None:
        async with rig() as there:
            port = there.server.address[1]
            message = rf"127.0.0.1:{port}: expected an address to listen on, found"
            async with rig() as other:
                await other.server.close()
                with pytest.raises(DeviceError, match=message):
                    await other.server.start(port=port)

    asyncio.run(talk())


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.0.2.1", "controller.example"])
def test_the_server_listens_on_this_machine_only(host):
    async def talk() -> None:
        async with rig() as there:
            await there.server.start(host, 0)

    with pytest.raises(DescriptionError, match="expected an address of this machine") as caught:
        asyncio.run(talk())
    assert caught.value.field == "host"


def test_a_reading_becomes_stale():
    async def talk() -> None:
        clock = Clock()
        async with rig() as there, there.client(clock=clock, stale_after=0.5) as client:
            with pytest.raises(StaleDataError, match=r"of at most 0\.5 s, found none"):
                client.require_fresh()
            read = await client.read()
            clock.now += 0.5
            assert client.require_fresh() is read
            clock.now += 0.25
            assert client.age == 0.75
            with pytest.raises(StaleDataError, match=r"found one that is 0\.75 s old"):
                client.require_fresh()

    asyncio.run(talk())


def test_a_constant_counter_is_stale_data():
    async def talk() -> None:
        device, here = Clock(), Clock()
        async with rig(ODD, clock=device) as there, there.client(clock=here) as client:
            for _ in range(5):  # both run
                device.now += 0.3
                here.now += 0.3
                await client.read()
            here.now += 0.4
            await client.read()  # it may stand for a while
            here.now += 0.4
            with pytest.raises(
                StaleDataError, match=r"counter \(input 102\): expected to change within 0\.5 s"
            ):
                await client.read()
            device.now += 0.3
            await client.read()

    asyncio.run(talk())


def test_noise_stays_inside_the_register():
    async def talk() -> None:
        clock = Clock()
        valve = Valve(noise=500e3, seed=1)
        async with rig(clock=clock, valve=valve) as there, there.client() as client:
            result = set()
            for _ in range(50):
                clock.now += 0.01
                result.add((await client.read()).pressure)
            assert {-100e3, 130e3} <= result  # the sensor is at its ends

    asyncio.run(talk())


def test_a_missing_server_is_reported():
    async def talk() -> None:
        async with rig() as there:
            port = there.server.address[1]
        clock = Clock()
        async with ControllerClient(DEFAULT, TcpLink("127.0.0.1", port, sleep=clock.sleep)) as item:
            with pytest.raises(ConnectionLostError, match=rf"127.0.0.1:{port}: expected an answer"):
                await item.read()
        assert clock.slept == [0.0, 0.05, 0.1]

    asyncio.run(talk())


def test_a_missing_pymodbus_is_reported(monkeypatch):
    for name in [name for name in sys.modules if name.startswith("pymodbus")]:
        monkeypatch.setitem(sys.modules, name, None)
    for name in ("modbus", "pneumatic_controller"):
        monkeypatch.delitem(sys.modules, f"softgrasp.twin.{name}")
    with pytest.raises(BackendUnavailable, match=r"pip install 'softgrasp\[twin\]'"):
        _ = softgrasp.twin.connect_controller


ON = ControllerState(positive_on=True, positive_target=100e3, negative_target=-80e3)
VALVE = Valve()


def test_the_pressure_rises_with_first_order():
    for time in (0.0, 0.05, VALVE.time_constant, 1.0):
        target = 100e3 * (1 - math.exp(-time / VALVE.time_constant))
        assert advance(ON, time, VALVE).pressure == pytest.approx(target, rel=1e-14)


def test_the_pressure_does_not_depend_on_the_number_of_requests():
    state = ON
    for time in np.sort(np.random.default_rng(3).uniform(0, 1, 500)):
        state = advance(state, float(time), VALVE)
    once = advance(ON, state.time, VALVE)
    assert state.pressure == pytest.approx(once.pressure, rel=1e-12)


@pytest.mark.parametrize(
    ("positive", "negative", "target"),
    [(False, False, 0.0), (True, False, 100e3), (False, True, -80e3), (True, True, 0.0)],
)
def test_the_triggers_choose_the_target(positive, negative, target):
    state = ON._replace(positive_on=positive, negative_on=negative)
    assert target_of(state, VALVE) == target
    assert advance(state, 100.0, VALVE).pressure == pytest.approx(target, abs=1e-9)


def test_no_target_leads_beyond_the_clamps():
    too_high = ON._replace(positive_target=500e3)
    too_low = ON._replace(positive_on=False, negative_on=True, negative_target=-500e3)
    for state, bound in ((too_high, 120e3), (too_low, -90e3)):
        path = [advance(state, t, VALVE).pressure for t in np.linspace(0, 5, 300)]
        assert np.abs(path).max() <= abs(bound)
        assert path[-1] == pytest.approx(bound)
        assert (np.diff(np.abs(path)) >= 0).all()


def test_time_does_not_run_backwards():
    with pytest.raises(SimulationError, match="expected a time from 2 s on, found 1 s"):
        advance(ON._replace(time=2.0), 1.0, VALVE)
    with pytest.raises(SimulationError, match="found nan s"):
        advance(ON, math.nan, VALVE)


def test_noise_has_its_size_and_depends_on_seed_and_time():
    noisy = Valve(noise=200.0, seed=5)
    states = [ControllerState(time=k * noisy.sample_period + 1e-5) for k in range(4000)]
    errors = np.array([measure(state, noisy) for state in states])
    assert errors.std() == pytest.approx(200.0, rel=0.05)
    assert abs(errors.mean()) < 4 * 200.0 / math.sqrt(len(errors))
    again = np.array([measure(state, noisy) for state in reversed(states)])
    assert (again[::-1] == errors).all()
    other = Valve(noise=200.0, seed=6)
    assert measure(states[9], other) != errors[9]
    assert measure(states[9], VALVE) == states[9].pressure


def test_the_range_of_a_valve_includes_ambient_pressure():
    with pytest.raises(DescriptionError, match=r"lowest: expected lowest <= 0 <= highest"):
        Valve(lowest=10.0)
    with pytest.raises(DescriptionError, match="time_constant: expected a number above 0"):
        Valve(time_constant=0.0)


def test_the_watchdog_vents_without_requests():
    clock = Clock(0.0)
    registers = load_register_map()
    controller = SimulatedController(registers, Valve(time_constant=0.1), watchdog=1.0, clock=clock)
    controller.write("holding", 0, [1, 0, 500])
    clock.now = 0.9
    controller.words("holding", 0, 5)
    clock.now = 1.8
    assert controller.state().positive_on
    assert controller.state().pressure == pytest.approx(50e3, rel=1e-6)
    clock.now = 2.2  # 1.3 s after the last request: 0.3 s of it on the way to the air around
    state = controller.state()
    assert not state.positive_on
    assert state.pressure == pytest.approx(50e3 * math.exp(-3.0), rel=1e-5)
    controller.words("holding", 0, 5)
    clock.now = 60.0
    assert not controller.state().positive_on  # and does not close again by itself


def test_without_a_watchdog_commands_stay():
    clock = Clock(0.0)
    controller = SimulatedController(load_register_map(), clock=clock)
    controller.write("holding", 0, [1, 0, 500])
    clock.now = 3600.0
    assert controller.state().positive_on
