"""The end of a run under injected faults: the gripper is vented, or the failure is reported."""

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import softgrasp.twin.record
from softgrasp.cli import main
from softgrasp.errors import BadAnswerError, ConnectionLostError, ResultError, SafeStopError
from softgrasp.twin.description import RegisterMap
from softgrasp.twin.loop import TwinLoop
from softgrasp.twin.modbus import Refusal
from softgrasp.twin.pneumatic_controller import (
    VENT,
    Command,
    CommandBox,
    CommandQueue,
    SimulatedController,
    Valve,
)
from softgrasp.twin.record import TwinRow, read_twin_record
from tests.twin.clock import ManualClock
from tests.twin.serving import PATIENCE, ROOT, serving
from tests.twin.twins import Bench, is_stop, light_twin

CLOSE = Command(positive_target=80e3, positive_on=True, negative_on=False)
SECOND = 50
"""Cycles."""


def closed_after_five(rig: Bench) -> None:
    """Close the gripper in the sixth cycle."""
    rig.loop.keep(lambda row: rig.loop.box.put(CLOSE) if row.number == 5 else None)


def spoil(rig: Bench, fault: Callable[[bytes, float], Exception | None]) -> None:
    """Raise what ``fault`` returns for a request at a time, in place of its answer."""
    ask = rig.client._link.ask

    async def faulty(unit: int, pdu: bytes, take: Any) -> Any:
        error = fault(pdu, rig.clock.now())
        if error is not None:
            raise error
        return await ask(unit, pdu, take)

    rig.client._link.ask = faulty


LOST = ConnectionLostError("memory: expected an answer, found: the wire is cut")
BUSY = Refusal(6)
GARBLED = BadAnswerError("pressure (holding 4): expected -100000 to 130000 Pa, found 1e6")


@pytest.mark.parametrize("error", [LOST, BUSY, GARBLED], ids=["lost", "busy", "garbled"])
@pytest.mark.parametrize("requests", [is_stop, lambda pdu: True], ids=["writing", "everything"])
def test_a_fault_at_the_end_is_outlasted(error, requests):
    rig = Bench()
    closed_after_five(rig)
    spoil(rig, lambda pdu, time: error if requests(pdu) and 0.99 < time < 4.0 else None)
    asyncio.run(rig.run(SECOND))
    state = rig.controller.state()
    assert not state.positive_on
    assert not state.negative_on
    assert rig.events[-2].startswith("Safe stop: positive trigger off, negative trigger off.")
    assert "Confirmed at" in rig.events[-2]


def test_a_connection_lost_for_good_is_an_error_with_its_reason():
    rig = Bench(broken=lambda time: time > 1.0)
    closed_after_five(rig)
    with pytest.raises(SafeStopError, match="triggers off and an ambient pressure within 5 s"):
        asyncio.run(rig.run(2 * SECOND))
    assert rig.events[-2].startswith("Safe stop failed: expected both triggers off")
    assert "the wire is cut; the gripper may be under pressure" in rig.events[-2]
    assert rig.events[-1] == "End."
    assert rig.clock.now() == pytest.approx(2.0 + 5.0, abs=0.2)


@pytest.mark.parametrize(
    ("attribute", "sentence"),
    [
        ("command", "the positive trigger on; the gripper may"),
        ("valve", "triggers off, and a pressure of 80 kPa that remains"),
    ],
    ids=["ignored", "stuck"],
)
def test_an_accepted_command_without_effect_is_an_error(attribute, sentence):
    rig = Bench()
    closed_after_five(rig)
    broken: Any = {"command": lambda **_: None, "valve": Valve(time_constant=1e9)}[attribute]
    rig.loop.keep(
        lambda row: setattr(rig.controller, attribute, broken) if row.number == 80 else None
    )
    with pytest.raises(SafeStopError, match=sentence):
        asyncio.run(rig.run(2 * SECOND))


def test_a_sensor_with_an_offset_needs_a_wider_limit():
    valve = Valve(lowest=0.0, noise=0.0)
    for within, error in ((2e3, True), (4e3, False)):
        rig = Bench(light_twin().replace(ambient_within=within), valve=valve)
        rig.controller._state = rig.controller.state()._replace(pressure=3e3)
        rig.controller.valve = Valve(time_constant=1e9)
        if error:
            with pytest.raises(SafeStopError, match="a pressure of 3 kPa that remains"):
                asyncio.run(rig.run(SECOND))
        else:
            asyncio.run(rig.run(SECOND))


def test_a_controller_that_never_answered_may_be_under_pressure():
    rig = Bench(broken=lambda time: True)
    with pytest.raises(SafeStopError, match="found after 1 attempts: memory: expected an answer"):
        asyncio.run(rig.run(2 * SECOND))
    assert rig.rows[-1].events[-1] == "End."


def test_an_error_in_the_cycle_of_a_command_includes_a_safe_stop():
    rig = Bench()
    rig.loop.box.put(CLOSE)
    rig.controller._clock = rig.clock.now

    def full(row: TwinRow) -> None:
        if row.number == 1:  # the targets are read back before a trigger goes on
            raise ResultError("record.jsonl: expected space for a row, found: No space left")

    rig.loop.keep(full)
    with pytest.raises(ResultError, match="expected space for a row"):
        asyncio.run(rig.run(SECOND))
    assert any(state.positive_on for state in rig.commands)
    assert not rig.controller.state().positive_on


def test_a_command_that_broke_off_is_followed_by_stops_until_one_succeeds():
    rig = Bench()
    closed_after_five(rig)
    tried: list[float] = []

    def fault(pdu: bytes, time: float) -> Exception | None:
        if not (pdu[0] in (6, 16) and 0.09 < time < 0.5):
            return None
        tried.append(time)
        return LOST

    spoil(rig, fault)
    asyncio.run(rig.run(2 * SECOND))
    assert len(tried) > 20  # every cycle
    assert sum(event.startswith("Vent failed") for event in rig.events) == 1  # once in words
    (begin,) = [event for event in rig.events if event.startswith("Safe stop, as")]
    assert begin.startswith("Safe stop, as a command was interrupted: positive trigger off")
    assert rig.events.index(begin) < rig.events.index("Safe stop: confirmed at 0 kPa.")


@pytest.mark.parametrize("at", [0.5, 1.5], ids=["while it is cut", "on the line that is cut"])
@pytest.mark.parametrize("after", [(), (CLOSE,)], ids=["alone", "behind another"])
def test_a_vent_command_outlasts_a_lost_connection_where_the_twin_holds(at, after):
    cut = (0.9, 1.8) if at < 1.0 else (1.5, 2.5)
    rig = Bench(light_twin().replace(safe_stop="hold"))
    closed_after_five(rig)
    spoil(rig, lambda pdu, time: LOST if cut[0] < time < cut[1] and (
        at < 1.0 or pdu[0] in (6, 16)) else None)  # fmt: skip

    def press(row: TwinRow) -> None:
        if row.number == round(50 * (1.3 if at < 1.0 else 1.5)):
            for command in (*after, VENT):
                rig.loop.box.put(command)

    rig.loop.keep(press)
    asyncio.run(rig.run(5 * SECOND))
    state = rig.controller.state()
    assert (state.positive_on, state.negative_on) == (False, False)
    begin = next(k for k, event in enumerate(rig.events) if event.startswith("Safe stop, as"))
    pressed = rig.events.index("Command: positive trigger off, negative trigger off.")
    assert pressed < rig.events.index("Safe stop: confirmed at 0 kPa.", begin)
    assert sum(event == f"Not sent: {CLOSE.words}." for event in rig.events) == len(after)
    assert rig.events[-2] == "No safe stop: the twin is set to hold."


def test_a_vent_command_that_never_left_is_an_error():
    rig = Bench(light_twin().replace(safe_stop="hold"), broken=lambda time: True)
    rig.loop.keep(lambda row: rig.loop.box.put(VENT) if row.number == 60 else None)
    with pytest.raises(SafeStopError, match="the wire is cut; the gripper may be under pressure"):
        asyncio.run(rig.run(2 * SECOND))
    assert "Vent is written until the controller answers." in rig.events


def test_a_command_that_vents_is_queued_in_every_state():
    box = CommandBox()
    queue = CommandQueue(box, lambda: "the controller is not connected")
    assert queue.send(Command(positive_on=True)) == "the controller is not connected"
    assert queue.send(VENT) == ""
    assert box.take() == [VENT]


# Processes


def run_twin(port: int, out: Path) -> subprocess.Popen[str]:
    """Run a twin, until it is stopped."""
    words = ["--no-view", "--no-report", "--controller", f"127.0.0.1:{port}", "--out", str(out)]
    return subprocess.Popen(
        [sys.executable, "-m", "softgrasp", "twin", "run", *words],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
    )  # fmt: skip


@pytest.fixture(scope="module")
def controller_port() -> Iterator[int]:
    """Port of a served controller whose watchdog is off."""
    with serving("--port", "0", "--watchdog", "0") as server:
        yield server.port


@pytest.mark.skipif(os.name == "nt", reason="signals of POSIX")
@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT"])
def test_a_signal_ends_in_a_safe_stop(name, controller_port, run, monkeypatch, tmp_path):
    number = getattr(signal, name)
    before = signal.signal(number, lambda *_: None)  # so that no failure ends the tests

    def put_and_signal(loop: TwinLoop, row: TwinRow) -> None:
        put(loop, row)
        if row.number == 5:
            os.kill(os.getpid(), number)

    put = TwinLoop._put
    monkeypatch.setattr(TwinLoop, "_put", put_and_signal)
    try:
        words = ["--no-view", "--no-report", "--duration", "5", "--out", tmp_path]
        done = run("twin", "run", "--controller", f"127.0.0.1:{controller_port}", *words)
    finally:
        signal.signal(number, before)
    assert done.code == 0
    rows = read_twin_record(tmp_path).rows
    assert len(rows) < SECOND
    events = rows[-1]["events"]
    assert events.startswith("Safe stop: positive trigger off, negative trigger off. Confirmed")


@pytest.mark.slow
@pytest.mark.skipif(os.name == "nt", reason="signals of POSIX")
def test_the_end_of_the_terminal_is_a_safe_stop_of_the_process(controller_port, tmp_path):
    process = run_twin(controller_port, tmp_path)
    journal = tmp_path / "record.jsonl"
    while not journal.exists() or len(journal.read_text().splitlines()) < 3:
        assert process.poll() is None, process.communicate()
    process.send_signal(signal.SIGHUP)
    assert process.wait(PATIENCE) == 0, process.communicate()
    process.communicate()
    assert "Confirmed at" in read_twin_record(tmp_path).rows[-1]["events"]


def test_a_failed_stop_is_an_exit_code_and_a_line(controller_port, run, monkeypatch, tmp_path):
    # after the sixth row nothing is answered; the duration ends when that row was put
    mute = Bench(broken=lambda _: True).client._link.ask

    def put_and_mute(loop: TwinLoop, row: TwinRow) -> None:
        put(loop, row)
        if row.number == 5:
            loop._client._link.ask = mute
            loop.twin = loop.watchdog._twin = loop.twin.replace(stop_within=0.3)
            os.kill(os.getpid(), signal.SIGINT)

    put = TwinLoop._put
    monkeypatch.setattr(TwinLoop, "_put", put_and_mute)
    done = run(
        "twin", "run", "--controller", f"127.0.0.1:{controller_port}",
        "--no-view", "--no-report", "--out", tmp_path / "record",
    )  # fmt: skip
    assert done.code == 2
    assert "the wire is cut; the gripper may be under pressure" in done.err
    assert "Safe stop failed" in read_twin_record(tmp_path / "record").rows[-1]["events"]


@pytest.mark.parametrize("error", [OSError(28, "No space left on device"), RuntimeError("a bug")])
def test_a_full_disk_and_an_internal_error_end_in_a_safe_stop(
    error, controller_port, monkeypatch, tmp_path
):
    def fail(self: TwinRow) -> dict[str, Any]:
        if self.number < 5:
            return document(self)
        raise error

    document = TwinRow.document
    monkeypatch.setattr(softgrasp.twin.record.TwinRow, "document", fail)
    heard: list[str] = []
    stop = TwinLoop._stop

    async def watched(self: TwinLoop) -> None:
        await stop(self)
        heard.extend(self._events)

    monkeypatch.setattr(TwinLoop, "_stop", watched)
    words = ["--no-view", "--no-report", "--duration", "0.5", "--out", str(tmp_path / "r")]
    command = ["twin", "run", "--controller", f"127.0.0.1:{controller_port}", *words]
    if isinstance(error, RuntimeError):
        with pytest.raises(RuntimeError, match="a bug"):
            main(command)
    else:
        assert main(command) == 2
    assert any("Confirmed at" in event for event in heard)


# Heartbeat


def beating() -> RegisterMap:
    """The default map; its heartbeat is holding 5."""
    return light_twin().controller.map


def test_without_heartbeats_the_controller_vents_although_others_read():
    clock = ManualClock()
    controller = SimulatedController(beating(), watchdog=2.0, clock=clock.now)
    controller.command(positive_target=80e3, positive_on=True)
    assert controller.write("holding", 5, [1]) is None
    for _ in range(19):
        clock.time += 0.1
        controller.words("holding", 0, 5)
    assert controller.state().positive_on
    for _ in range(3):
        clock.time += 0.1
        assert controller.write("holding", 5, [1]) is None  # unchanged: not a heartbeat
    assert not controller.state().positive_on


def test_a_client_that_never_beats_keeps_the_gripper_by_its_requests():
    clock = ManualClock()
    controller = SimulatedController(beating(), watchdog=2.0, clock=clock.now)
    controller.command(positive_target=80e3, positive_on=True)
    for _ in range(50):
        clock.time += 0.1
        controller.words("holding", 0, 5)
    assert controller.state().positive_on
    clock.time += 2.1
    assert not controller.state().positive_on


def test_the_loop_beats_ten_times_a_second_and_no_longer_after_its_end():
    rig = Bench(watchdog=2.0)
    closed_after_five(rig)
    beats: list[float] = []
    spoil(rig, lambda pdu, time: beats.append(time) if pdu[:3] == b"\x10\0\5" else None)
    asyncio.run(rig.run(2 * SECOND))
    assert len(beats) == pytest.approx(20, abs=4)
    assert rig.controller._heartbeat == len(beats)


@pytest.mark.slow
def test_a_map_without_heartbeat_is_not_written_to():
    twin = light_twin()
    registers = twin.controller.map
    silent = registers.replace(writes=registers.writes.replace(heartbeat=None))
    rig = Bench(twin.replace(controller=twin.controller.replace(map=silent)))
    asyncio.run(rig.run(SECOND))
    assert rig.controller._heartbeat is None
    assert rig.events[-1] == "End."
