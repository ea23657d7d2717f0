"""Both ends of the wire by one call each; pymodbus is looked for when they are used."""

from __future__ import annotations

from collections.abc import Callable
from importlib.util import find_spec
from typing import TYPE_CHECKING

from softgrasp.description.register_map import RegisterMap
from softgrasp.errors import BackendUnavailable
from softgrasp.twin.controller.backoff import Backoff
from softgrasp.twin.controller.plant import ControllerState, Valve

if TYPE_CHECKING:
    from softgrasp.twin.controller.client import ControllerClient
    from softgrasp.twin.controller.server import ControllerServer


def connect_controller(
    host: str,
    port: int,
    registers: RegisterMap,
    *,
    token: str | None = None,
    timeout: float = 1.0,
    attempts: int = 3,
    backoff: Backoff | None = None,
    stale_after: float = 0.5,
) -> ControllerClient:
    """A client for a pneumatic controller on Modbus TCP; it connects when it is first asked.

    Args:
        host: Name or address of the controller.
        port: Its port.
        registers: Where it has its values.
        token: What softgrasp's own server asks for before anything may be written.
        timeout: Longest wait for a connection, and for each answer [s].
        attempts: How often a request is tried before it is given up; with the waits between, this
            bounds how long one call takes.
        backoff: Waits before it connects again.
        stale_after: Age at which a reading is too old [s].

    Raises:
        BackendUnavailable: pymodbus is not installed.
        DescriptionError: The token is too short.
    """
    _require_modbus()
    from softgrasp.twin.controller.client import ControllerClient
    from softgrasp.twin.controller.link import TcpLink

    link = TcpLink(host, port, timeout=timeout, attempts=attempts, backoff=backoff)
    return ControllerClient(registers, link, token=token, stale_after=stale_after)


def controller_server(
    registers: RegisterMap,
    valve: Valve | None = None,
    *,
    token: str | None = None,
    watchdog: float | None = None,
    heard: Callable[[ControllerState], None] | None = None,
) -> ControllerServer:
    """A simulated pneumatic controller for Modbus TCP, which runs in real time; not started yet.

    Args:
        registers: Where it has its values.
        valve: How it reaches a pressure.
        token: What a connection must know before it may write; None: all may.
        watchdog: Without a request for so long both triggers go off [s]; None: they stay.
        heard: Called after every command, with the plant as it is then.

    Raises:
        BackendUnavailable: pymodbus is not installed.
        DescriptionError: The token is too short.
    """
    _require_modbus()
    from softgrasp.twin.controller.server import ControllerServer
    from softgrasp.twin.controller.simulated import SimulatedController

    controller = SimulatedController(registers, valve, watchdog=watchdog, heard=heard)
    return ControllerServer(controller, token=token)


def _require_modbus() -> None:
    if find_spec("pymodbus") is None:
        raise BackendUnavailable(
            "expected pymodbus for a controller on Modbus TCP, found none; "
            "pip install 'softgrasp[twin]'"
        )
