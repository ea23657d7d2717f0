"""``softgrasp twin serve``: a simulated pneumatic controller on Modbus TCP."""

from __future__ import annotations

import asyncio
import signal
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any

import typer

from softgrasp.cli import terminal
from softgrasp.cli.options import Json

if TYPE_CHECKING:
    from softgrasp.description.register_map import RegisterMap
    from softgrasp.twin.controller.server import ControllerServer


def serve(
    map_: Annotated[
        str, typer.Option("--map", metavar="NAME|FILE", help="Register map: a name, or a file.")
    ] = "softgrasp_default",
    host: Annotated[
        str, typer.Option(help="Address to listen on; any but this machine's own needs --token.")
    ] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="0: a free one.")] = 5020,
    token: Annotated[
        str | None,
        typer.Option(
            envvar="SOFTGRASP_TWIN_TOKEN",
            help="What a connection must know before it may write; better in the environment.",
        ),
    ] = None,
    time_constant: Annotated[float, typer.Option(help="Of the valve [s].")] = 0.15,
    noise: Annotated[float, typer.Option(help="Of the sensor, standard deviation [Pa].")] = 0.0,
    seed: Annotated[int, typer.Option(help="Of the sensor's noise.")] = 0,
    watchdog: Annotated[
        float,
        typer.Option(
            min=0.0, help="Both triggers go off after so long without a request [s]; 0: they stay."
        ),
    ] = 2.0,
    json: Json = False,
) -> None:
    """Run a simulated pneumatic controller until it is interrupted.

    Two triggers choose a positive or a negative target pressure, and a valve of first order goes
    there; without a trigger, and with both, it goes to the pressure of the air around. Modbus
    encrypts nothing: a token keeps strangers from writing, not from reading.
    """
    from softgrasp.formats.register_map_file import load_register_map
    from softgrasp.twin.controller.connect import controller_server
    from softgrasp.twin.controller.plant import Valve

    registers = load_register_map(map_)
    valve = Valve(time_constant=time_constant, noise=noise, seed=seed)
    server = controller_server(registers, valve, token=token, watchdog=watchdog or None)
    asyncio.run(_serve(server, host, port, registers, json=json))
    counts = ", ".join(f"{count} {name}" for name, count in asdict(server.counts).items() if count)
    terminal.note(f"stopped; {counts or 'nobody came'}")


async def _serve(
    server: ControllerServer, host: str, port: int, registers: RegisterMap, *, json: bool
) -> None:
    stop = _stop_on_signals()
    async with server:
        await server.start(host, port)
        (terminal.put_json if json else _print_summary)(_document(server, registers))
        await stop.wait()


def _stop_on_signals() -> asyncio.Event:
    """Set when the process is interrupted or told to end."""
    loop = asyncio.get_running_loop()
    stop = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stop.set)
    return stop


def _document(server: ControllerServer, registers: RegisterMap) -> dict[str, Any]:
    host, port = server.address
    return {
        "host": host,
        "port": port,
        "token": server.needs_token,
        "map": registers.model_dump(mode="json"),
    }


def _print_summary(document: dict[str, Any]) -> None:
    registers = document["map"]
    terminal.put(
        f"listening on {document['host']}:{document['port']}, Modbus TCP, unit "
        f"{registers['device_id']}; "
        + ("writing needs the token" if document["token"] else "no token")
    )
    terminal.put(f"map {registers['name']}: {registers['source']}")
    rows = [
        [
            part[:-1],
            name,
            register["kind"],
            str(register["address"]),
            _form(register),
            _limits(register),
        ]
        for part in ("reads", "writes")
        for name, register in registers[part].items()
        if register is not None
    ]
    terminal.put_table(["", "value", "kind", "address", "form", "limits [kPa]"], rows)


def _form(register: dict[str, Any]) -> str:
    swapped = ", low word first" if register["word_order"] == "little" else ""
    scale = f" × {register['scale']:g} Pa" if "scale" in register else ""
    return f"{register['type']}{scale}{swapped}"


def _limits(register: dict[str, Any]) -> str:
    if "limits" not in register:
        return ""
    return " to ".join(f"{limit / 1e3:g}" for limit in register["limits"])
