"""Bytes that no honest client sends, made from a seed, and a stranger who sends them."""

from __future__ import annotations

import asyncio
import struct
from random import Random
from typing import NamedTuple

from softgrasp.twin.modbus import HEADER, Frame

KNOWN = (1, 2, 3, 4, 5, 6, 15, 16)


class Sent(NamedTuple):
    """Bytes for the wire."""

    data: bytes
    is_frame: bool
    """Whether the header is a right one, so that an answer is due."""


def hostile(random: Random) -> Sent:
    """One piece: a frame with nonsense in it, or no frame at all."""
    transaction, unit = random.randrange(0x10000), random.choice((1, 1, 1, 0, 7, 255))
    kind = random.randrange(8)
    if kind == 0:  # noise, whose protocol is not 0
        noise = random.randbytes(random.randint(7, 400))
        return Sent(noise[:2] + b"\x01" + noise[3:], is_frame=False)
    if kind == 1:  # a length that cannot be
        length = random.choice((0, 1, 255, 256, 1000, 0xFFFF))
        head = HEADER.pack(transaction, 0, length, unit)
        return Sent(head + random.randbytes(random.randint(0, 300)), is_frame=False)
    if kind == 2:  # cut in the middle
        whole = Frame(transaction, unit, pdu_of(random)).encoded()
        return Sent(whole[: random.randint(1, len(whole) - 1)], is_frame=False)
    return Sent(Frame(transaction, unit, pdu_of(random)).encoded(), is_frame=True)


def pdu_of(random: Random) -> bytes:
    """A function with data that may fit it."""
    address, count = random.choice((0, 1, 2, 4, 5, 61440, 61448, 0xFFFF)), random.randrange(8)
    match random.randrange(6):
        case 0:
            return random.randbytes(random.randint(1, 253))
        case 1:
            return bytes([random.randrange(256)]) + random.randbytes(random.randint(0, 252))
        case 2:
            return struct.pack(">BHH", random.choice(KNOWN), address, random.randrange(0x10000))
        case 3:
            return struct.pack(">BHH", random.choice(KNOWN), address, count)
        case 4:
            words = random.choices((0, 0, 1, 1, 700, 1200, 1201, 0xFED4, 0x8000), k=count)
            data = struct.pack(f">{count}H", *words)
            return struct.pack(">BHHB", random.choice((15, 16)), address, count, len(data)) + data
        case _:
            data = random.randbytes(random.randrange(247))
            stated = random.randrange(256)
            return struct.pack(">BHHB", random.choice((15, 16)), address, count, stated) + data


async def assault(address: tuple[str, int], pieces: int, seed: int) -> int:
    """Send pieces, several on a connection until one is no frame, and check what is answered.

    Returns:
        How many pieces were frames; answers came to them in order, one to each, until the
        connection was closed.
    """
    random, frames, left = Random(seed), 0, pieces
    while left:
        batch = []
        while left and len(batch) < 40 and (not batch or batch[-1].is_frame):
            batch.append(hostile(random))
            left -= 1
        target = [piece.data for piece in batch if piece.is_frame]
        answers = await sent(address, b"".join(piece.data for piece in batch), random)
        frames += len(target)
        check_answers(target, answers)
    return frames


async def sent(address: tuple[str, int], data: bytes, random: Random) -> bytes:
    """Everything that comes back for some bytes, sent in pieces on a connection of their own."""
    stream, writer = await asyncio.open_connection(*address)
    try:
        at = 0
        while at < len(data):
            size = random.choice((1, 5, 60, len(data)))
            writer.write(data[at : at + size])
            at += size
            await asyncio.sleep(0)
        writer.write_eof()
        return await stream.read(-1)
    except OSError:
        return b""  # it was closed with bytes of ours unread, which resets it
    finally:
        writer.transport.abort()


def check_answers(requests: list[bytes], data: bytes) -> None:
    """Answers belong to requests one by one; those behind a wrong header may be lost."""
    while data:
        request = requests.pop(0)
        transaction, protocol, length, unit = HEADER.unpack(data[:7])
        assert (transaction, protocol, unit) == (*struct.unpack(">HH", request[:4]), request[6])
        assert 2 <= length <= 254
        function = data[7]
        assert function & 0x7F == request[7] & 0x7F
        assert not function & 0x80 or (length == 3 and 1 <= data[8] <= 11)
        data = data[6 + length :]
