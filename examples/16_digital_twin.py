"""A digital twin over a real wire: pressure by Modbus TCP in, the shape of the fingers out."""

import asyncio
import tempfile

import numpy as np

import softgrasp as sg
from softgrasp.twin import VENT, Command

CLOSE = Command(positive_target=100e3, positive_on=True, negative_on=False)  # Pa
PROGRAM = [(0.2, CLOSE), (1.5, VENT)]  # s


def operator(box, _loop):
    """Sees every turn, and puts a command into the box when its time has come."""
    waiting = list(PROGRAM)

    def look(row):
        while waiting and row.time >= waiting[0][0]:
            box.put(waiting.pop(0)[1])

    return look


async def two_seconds(directory):
    twin = sg.twin.load_twin().replace(dynamics=None)
    async with sg.twin.controller_server(twin.controller.map) as server:  # where no real one is
        await server.start(port=0)
        host, port = server.address
        twin = twin.replace(controller=twin.controller.replace(host=host, port=port))
        await sg.twin.run_twin(twin, directory, cycles=100, watching=operator)


with tempfile.TemporaryDirectory() as directory:
    asyncio.run(two_seconds(directory))
    for row in sg.twin.read_twin_record(directory).rows[::20]:
        if row["pressure"] is not None:
            bend = np.degrees(sum(row[f"angle_{piece}"] for piece in range(1, 5)))
            print(f"{row['time']:.2f} s  {row['pressure'] / 1e3:5.1f} kPa  bent by {bend:5.1f}°")
