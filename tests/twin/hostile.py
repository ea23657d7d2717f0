"""Bytes that no honest client sends, made from a seed, and a stranger who sends them."""

import asyncio
import struct
from random import Random

from softgrasp.twin.modbus import HEADER, Frame

KNOWN = (1, 2, 3, 4, 5, 6, 15, 16)


def hostile(random: Random) -> bytes:
    """One piece: a frame with nonsense in it, or no frame at all."""
    transaction, unit = random.randrange(0x10000), random.choice((1, 1, 1, 0, 7, 255))
    kind = random.randrange(8)
    if kind == 0:  # noise, whose protocol is not 0
        noise = random.randbytes(random.randint(7, 400))
        return noise[:2] + b"\x01" + noise[3:]
    if kind == 1:  # a length that cannot be
        length = random.choice((0, 1, 255, 256, 1000, 0xFFFF))
        head = HEADER.pack(transaction, 0, length, unit)
        return head + random.randbytes(random.randint(0, 300))
    whole = Frame(transaction, unit, pdu_of(random)).encoded()
    return whole[: random.randint(1, len(whole) - 1)] if kind == 2 else whole


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


async def assault(address: tuple[str, int], pieces: int, seed: int) -> None:
    """Send pieces, several on a connection."""
    random, left = Random(seed), pieces
    while left:
        count = min(left, random.randint(1, 5))
        left -= count
        await sent(address, b"".join(hostile(random) for _ in range(count)), random)


async def sent(address: tuple[str, int], data: bytes, random: Random) -> None:
    """Send some bytes in pieces on a connection of their own, and leave."""
    _, writer = await asyncio.open_connection(*address)
    try:
        at = 0
        while at < len(data):
            size = random.choice((1, 5, 60, len(data)))
            writer.write(data[at : at + size])
            at += size
            await asyncio.sleep(0)
        await writer.drain()
    except OSError:
        pass  # it was closed
    finally:
        writer.close()
