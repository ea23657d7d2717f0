"""One hour at 50 Hz on a faulty connection, in compressed time: no row is lost."""

import asyncio
import json
import random
import struct
from pathlib import Path
from typing import Any

import pytest

from softgrasp.errors import BadAnswerError, ConnectionLostError
from softgrasp.twin.pneumatic_controller import Command
from softgrasp.twin.record import RECORD, TwinRecorder, TwinRow
from tests.twin.twins import Bench, BreakingLink, light_twin

TURNS_OF_AN_HOUR = 180_000


class BadLink(BreakingLink):
    """Answers are lost, late, or of registers out of range; now and then the wire is cut."""

    def __init__(self, link: BreakingLink, seed: int) -> None:
        super().__init__(link.controller, link._clock, link._broken)
        self._random, self._cut_until = random.Random(seed), -1.0
        self.faults = {"cut": 0, "lost": 0, "late": 0, "out of range": 0}
        self.targets: list[tuple[int, int]] = []
        """Addresses and counts of all targets that were on the wire."""

    async def ask(self, unit: int, pdu: bytes, take: Any) -> Any:
        draw, now = self._random.random(), self._clock.now()
        if pdu[0] == 16:  # write registers: function, address, count, bytes, words
            first, count = struct.unpack(">HH", pdu[1:5])
            words = struct.unpack(f">{count}h", pdu[6:])
            wrote = zip(range(first, first + count), words, strict=True)
            self.targets += [(address, word) for address, word in wrote if address in (2, 3)]
        if draw < 5e-4:
            self._cut_until = now + self._random.uniform(0.1, 3.0)
            self.faults["cut"] += 1
        if now < self._cut_until or draw > 0.998:
            self.faults["lost"] += 1
            raise ConnectionLostError("memory: expected an answer, found: nothing")
        if draw > 0.995:
            self.faults["late"] += 1
            self._clock.time += self._random.uniform(0.01, 0.2)
        if draw > 0.993:
            self.faults["out of range"] += 1
            raise BadAnswerError("pressure (holding 4): expected -100000 to 130000 Pa, found 9e9")
        return await super().ask(unit, pdu, take)


class Restless:
    """A person who presses buttons all the time, some of them wrong."""

    def __init__(self, rig: Bench, seed: int) -> None:
        self._bench, self._random = rig, random.Random(seed)
        self.asked = 0

    def __call__(self, row: TwinRow) -> None:
        if row.number % 53:
            return
        self.asked += 1
        choose = self._random.choice
        self._bench.loop.box.put(
            Command(
                positive_target=choose([None, 40e3, 120e3, 1e9, -5.0]),
                negative_target=choose([None, -40e3, -90e3, -1e9, 3e3]),
                positive_on=choose([None, True, False]),
                negative_on=choose([None, True, False]),
            )
        )


def an_hour(directory: Path, rotations: int, seed: int) -> tuple[Bench, BadLink]:
    rig = Bench(light_twin().replace(arm=None))
    link = BadLink(rig.client._link, seed)
    rig.client._link = link
    rig.loop._keep = ()
    with TwinRecorder(directory, rig.twin) as recorder:
        rig.loop.keep(recorder.add, Restless(rig, seed))
        asyncio.run(rig.run(rotations))
        lines = (directory / RECORD).read_text().splitlines()
    rig.rows = [json.loads(line) for line in lines]
    return rig, link


def check(rig: Bench, link: BadLink, rotations: int) -> None:
    rows: Any = rig.rows
    assert [row["number"] for row in rows] == list(range(len(rows)))
    assert abs(len(rows) + sum(row["missed"] for row in rows) - rotations - 1) <= 1
    assert all(count > 0 for count in link.faults.values())
    assert len(link.targets) > 10
    limits = {2: (0, 1200), 3: (-900, 0)}  # of the two targets, in counts of 100 Pa
    assert all(limits[address][0] <= word <= limits[address][1] for address, word in link.targets)
    assert {word for _, word in link.targets} <= {400, 1200, -400, -900}
    events = " ".join(row["events"] for row in rows)
    assert "It was not accepted" in events
    assert 0 < events.count("The connection is lost:") <= events.count("The connection is back.")
    dark = sum(not row["connected"] for row in rows)
    assert 0 < dark < 0.2 * rotations


@pytest.mark.slow
def test_one_hour(tmp_path):
    rig, link = an_hour(tmp_path, TURNS_OF_AN_HOUR, 1)
    check(rig, link, TURNS_OF_AN_HOUR)
