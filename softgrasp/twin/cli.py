"""Verbs of ``softgrasp twin``: serve, run, replay and robot; and ``softgrasp demo twin``.

``serve`` simulates a pneumatic controller on Modbus TCP, ``robot`` a robot that reports its
flange pose, ``run`` runs the loop of a twin, ``replay`` shows a record again. The tools ``fit`` and
``pick`` are in ``cli_tools``.
"""

from __future__ import annotations

import asyncio
import secrets
import signal
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from softgrasp.plugin_api import options, require_shipped, terminal
from softgrasp.twin.cli_tools import fit, pick

if TYPE_CHECKING:
    from softgrasp.twin.description import Register, RegisterMap, Twin
    from softgrasp.twin.loop import RowCallback, TwinLoop
    from softgrasp.twin.modbus_server import ControllerServer
    from softgrasp.twin.pneumatic_controller import CommandBox
    from softgrasp.twin.record import TwinRecord, TwinRow
    from softgrasp.twin.robot_server import RobotServer


SECONDS = 8.0
"""Duration of the demonstration [s]."""
LONGEST = 1e7
"""Longest duration [s]: four months."""

# softgrasp demo twin


def run_twin_demo(directory: Path, *, renderer: str, video: bool, report: bool, json: bool) -> None:
    """Close, open and vent a simulated gripper for some seconds, and print a summary.

    Raises:
        SoftgraspError: Something is wrong or missing.
    """
    from softgrasp.twin.files import load_twin
    from softgrasp.twin.record import RECORD, read_twin_record
    from softgrasp.twin.report import write_twin_report

    twin = load_twin()
    terminal.require_writable(directory)
    _clear_earlier_twin_files(directory)
    with terminal.progress_bar() as update:
        update(f"running the twin for {SECONDS:g} s", None)
        asyncio.run(_serve_twin(twin, directory))
        record, written = read_twin_record(directory), [directory / RECORD]
        if report:
            written += write_twin_report(
                record,
                directory,
                at=3.0,
                renderer=renderer,
                video=video,
                progress=lambda done: update("rendering the video", done),
            )
    print_record(record, written, json=json)


def _clear_earlier_twin_files(directory: Path) -> None:
    """Remove the record of an earlier run; files that no run wrote stay."""
    from softgrasp.plugin_api import remove_written
    from softgrasp.rendering import video_names
    from softgrasp.twin.record import RECORD, TWIN_FILE
    from softgrasp.twin.report import IMAGE, PRESSURE, REPORT, TIPS, VIDEO

    figures = (PRESSURE, TIPS)
    numbers = tuple(Path(name).with_suffix(".csv").name for name in figures)
    written = (TWIN_FILE, RECORD, REPORT, IMAGE, *video_names(VIDEO), *figures, *numbers)
    remove_written(directory, written)


async def _serve_twin(twin: Twin, directory: Path) -> None:
    from softgrasp.twin.loop import run_twin
    from softgrasp.twin.modbus_server import controller_server

    async with controller_server(twin.controller.map) as server:
        await server.start(port=0)
        host, port = server.address
        twin = twin.replace(controller=twin.controller.replace(host=host, port=port))
        cycles = round(SECONDS * twin.rate)
        await run_twin(twin, directory, cycles=cycles, watching=_hand)


def _hand(box: CommandBox, _loop: TwinLoop) -> RowCallback:
    """Return a callback that sends commands at given times."""
    from softgrasp.twin.pneumatic_controller import VENT, Command

    close = Command(positive_target=100e3, positive_on=True, negative_on=False)
    wide = Command(negative_target=-60e3, negative_on=True, positive_on=False)
    half = Command(positive_target=50e3, positive_on=True, negative_on=False)
    waiting = [(1.0, close), (3.5, wide), (5.0, half), (6.5, VENT)]

    def press(row: TwinRow) -> None:
        while waiting and row.time >= waiting[0][0]:
            box.put(waiting.pop(0)[1])

    return press


# softgrasp twin run, replay


def run(
    twin: Annotated[
        str,
        typer.Argument(
            metavar="[CONFIG.yaml|NAME]", help="Twin: a file, or the name of a shipped one."
        ),
    ] = "three_fingers",
    duration: Annotated[
        float | None, typer.Option(min=0.02, help="Duration [s]; default: until Ctrl-C.")
    ] = None,
    port: Annotated[
        int, typer.Option(min=0, max=65535, help="Port of the web page; 0: any free one.")
    ] = 8080,
    controller: Annotated[
        str, typer.Option(metavar="HOST:PORT", help="Another address of the controller.")
    ] = "",
    no_view: Annotated[bool, typer.Option("--no-view", help="Serve no web page.")] = False,
    renderer: options.Renderer = "auto",
    no_report: options.NoReport = False,
    out: options.Out = None,
    force: options.Force = False,
    json: options.Json = False,
) -> None:
    """Run a digital twin: pressure and flange pose in, shape of the fingers out.

    Polls the controller over Modbus TCP at the rate of the twin, records every cycle, and serves
    a web page on this machine with the arm, the fingers, curves, events and commands. Start a
    simulated controller in another terminal with `softgrasp twin serve`.
    """
    require_shipped("twins", twin)
    from softgrasp.errors import DescriptionError, SafeStopError
    from softgrasp.twin.files import load_twin
    from softgrasp.twin.record import RECORD, read_twin_record
    from softgrasp.twin.report import write_twin_report

    described = _at(load_twin(twin), controller)
    directory = terminal.output_directory(f"twin_{described.name}", out, force=force)
    terminal.require_writable(directory)
    if force:
        _clear_earlier_twin_files(directory)
    if duration is not None and not duration <= LONGEST:
        raise DescriptionError(f"--duration: expected at most {LONGEST:g} s, found {duration:g}")
    cycles = None if duration is None else max(1, round(duration * described.rate))
    close, watching = (None, None) if no_view else _open_viewer(described, port)
    failure: SafeStopError | None = None
    try:
        files = Path(twin).parent if Path(twin).suffix else None
        asyncio.run(
            _until_stopped(described, directory, cycles=cycles, watching=watching, files=files)
        )
    except SafeStopError as error:
        failure = error
        if (cause := error.__context__) is not None:
            terminal.show_message("error", f"the run ended by {type(cause).__name__}: {cause}")
            raise
    except BaseException as error:
        _show_safe_stop_failure(error)
        raise
    finally:
        if close is not None:
            close()
    record = read_twin_record(directory)
    written = [directory / RECORD]
    if not no_report:
        written += write_twin_report(record, directory, renderer=renderer)
    print_record(record, written, json=json)
    if described.safe_stop == "hold":
        terminal.show_message(
            "warning", "the twin is set to hold: the gripper may be under pressure"
        )
    if failure is not None:
        raise failure


def _show_safe_stop_failure(error: BaseException) -> None:
    """Show that the safe stop failed, where another error followed it."""
    from softgrasp.errors import SafeStopError

    before = error.__context__
    while before is not None and not isinstance(before, SafeStopError):
        before = before.__context__
    if before is not None:
        terminal.show_message("error", str(before))


def _at(twin: Twin, address: str) -> Twin:
    """Return the twin with another address of its pneumatic controller."""
    if not address:
        return twin
    from softgrasp.errors import DescriptionError

    host, _, port = address.rpartition(":")
    if not host or not (port.isascii() and port.isdigit()) or int(port) == 0:
        raise DescriptionError(
            f"--controller: expected HOST:PORT such as 127.0.0.1:5020, found '{address}'"
        )
    reached = twin.controller.replace(host=host.strip("[]"), port=int(port))
    return twin.replace(controller=reached)


def _open_viewer(
    twin: Twin, port: int
) -> tuple[Callable[[], None], Callable[[CommandBox, TwinLoop], RowCallback]]:
    """Open the browser page; return a function to close it, and its viewer."""
    from softgrasp.twin.pneumatic_controller import CommandQueue
    from softgrasp.viewer import require_viser

    require_viser()
    from softgrasp.twin.viewer import TwinView
    from softgrasp.viewer import Page

    page, key = Page(f"twin '{twin.name}'", port), secrets.token_hex(4)
    terminal.note(f"{page.words}; the key for its commands is {key}")

    def watching(box: CommandBox, loop: TwinLoop) -> RowCallback:
        queue = CommandQueue(box, lambda: loop.watchdog.refusal)
        shown.append(TwinView(page, twin, queue, lambda: loop.watchdog.state, key))
        return shown[0]

    shown: list[TwinView] = []

    def close() -> None:
        for view in shown:
            view.close()
        page.close()

    return close, watching


async def _until_stopped(twin: Twin, directory: Path, **options: Any) -> None:
    """Run until the duration is over, or a signal; the control loop then stops safely."""
    from softgrasp.twin.loop import run_twin

    terminal.note(f"recording into {directory}; Ctrl-C ends it")
    await run_twin(twin, directory, stop=_stop_on_signals(), **options)


def replay(
    directory: Annotated[Path, typer.Argument(metavar="RECORD_DIR", help="Directory of a record.")],
    at: Annotated[
        float | None, typer.Option(help="Time of the image [s]; default: the end.")
    ] = None,
    video: Annotated[bool, typer.Option("--video", help="Also make a video.")] = False,
    renderer: options.Renderer = "auto",
    out: options.Out = None,
    json: options.Json = False,
) -> None:
    """Show a recorded run again: an image at one time, figures, video and HTML report.

    An incomplete record, as after a power failure, is read, too.
    """
    from softgrasp.twin.record import read_twin_record
    from softgrasp.twin.report import write_twin_report

    record = read_twin_record(directory)
    target = out if out is not None else directory
    terminal.require_writable(target)
    with terminal.progress_bar() as update:
        written = write_twin_report(
            record,
            target,
            at=at,
            renderer=renderer,
            video=video,
            progress=lambda done: update("rendering the video", done),
        )
    print_record(record, written, json=json)


def print_record(record: TwinRecord, written: list[Path], *, json: bool) -> None:
    """Print a summary of a recorded run, and its files."""
    from softgrasp.twin.report import key_numbers, twin_words

    words, keys = twin_words(record), key_numbers(record)
    if json:
        files = [str(path) for path in written]
        terminal.put_json({"words": words, "cycles": len(record.rows), "files": files} | dict(keys))
        return
    terminal.put(words)
    for name, value in keys:
        terminal.put(f"{name}: {value}")
    terminal.put("files     " + "\n          ".join(map(str, written)))


# softgrasp twin serve


def serve(
    map_: Annotated[
        str, typer.Option("--map", metavar="NAME|FILE", help="Register map: a name, or a file.")
    ] = "softgrasp_default",
    host: Annotated[
        str, typer.Option(help="Address to listen on, of this machine only.")
    ] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="0: a free one.")] = 5020,
    time_constant: Annotated[float, typer.Option(help="Time constant of the valve [s].")] = 0.15,
    noise: Annotated[float, typer.Option(help="Standard deviation of the sensor [Pa].")] = 0.0,
    seed: Annotated[int, typer.Option(help="Seed of the sensor's noise.")] = 0,
    watchdog: Annotated[
        float,
        typer.Option(
            min=0.0, help="Time without a request after which both triggers go off [s]; 0: never."
        ),
    ] = 2.0,
    json: options.Json = False,
) -> None:
    """Run a simulated pneumatic controller until it is interrupted.

    Two triggers select a positive or a negative target pressure, and a first-order valve
    approaches it; without a trigger, and with both, it approaches ambient pressure.
    """
    from softgrasp.twin.files import load_register_map
    from softgrasp.twin.modbus_server import controller_server
    from softgrasp.twin.pneumatic_controller import Valve

    registers = load_register_map(map_)
    valve = Valve(time_constant=time_constant, noise=noise, seed=seed)
    server = controller_server(registers, valve, watchdog=watchdog or None)
    asyncio.run(_serve(server, host, port, registers, json=json))
    terminal.note("stopped")


async def _serve(
    server: ControllerServer, host: str, port: int, registers: RegisterMap, *, json: bool
) -> None:
    stop = _stop_on_signals()
    async with server:
        await server.start(host, port)
        if json:
            host, port = server.address
            document = registers.model_dump(mode="json")
            terminal.put_json({"host": host, "port": port, "map": document})
        else:
            _print_summary(server, registers)
        await stop.wait()


def _stop_on_signals() -> asyncio.Event:
    """Return an event that is set on Ctrl-C, termination and the end of the terminal."""
    loop = asyncio.get_running_loop()
    stop = asyncio.Event()
    for name in ("SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT", "SIGBREAK"):
        if (number := getattr(signal, name, None)) is None:
            continue  # each system has its own
        try:
            loop.add_signal_handler(number, stop.set)
        except NotImplementedError:  # Windows
            signal.signal(number, lambda *_: loop.call_soon_threadsafe(stop.set))
    return stop


def _print_summary(server: ControllerServer, registers: RegisterMap) -> None:
    host, port = server.address
    terminal.put(f"listening on {host}:{port}, Modbus TCP, unit {registers.device_id}")
    terminal.put(f"map {registers.name}: {registers.source}")
    rows = [
        [part, name, register.address_text, _form(register), _limits(register)]
        for part, values in (("read", registers.reads), ("write", registers.writes))
        for name, register in values
        if register is not None
    ]
    terminal.put_table(["", "value", "register", "form", "limits [kPa]"], rows)


def _form(register: Register) -> str:
    swapped = ", low word first" if register.word_order == "little" else ""
    scale = getattr(register, "scale", None)
    return f"{register.type}{'' if scale is None else f' × {scale:g} Pa'}{swapped}"


def _limits(register: Register) -> str:
    return " to ".join(f"{1e-3 * limit:g}" for limit in getattr(register, "limits", ()))


# softgrasp twin robot


def robot(
    host: Annotated[
        str, typer.Option(help="Address to listen on, of this machine only.")
    ] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port; 0: any free one.")] = 8610,
    rate: Annotated[
        float, typer.Option(min=0.1, max=1000.0, help="New poses per second [Hz].")
    ] = 250.0,
    program: Annotated[
        str, typer.Option(metavar="NAME|FILE", help="Program of the robot.")
    ] = "pick_and_place",
    duration: Annotated[
        float | None, typer.Option(min=0.0, help="Duration [s]; default: until Ctrl-C.")
    ] = None,
) -> None:
    """Simulate a robot that reports the pose of its flange.

    It answers over HTTP like Robot Web Services: the pose at
    /rw/motionsystem/mechunits/ROB_1/cartesian, the joints at …/jointtarget, and /health. The
    robot repeats its program until it is stopped.
    """
    from softgrasp.twin.files import load_robot_program
    from softgrasp.twin.flange_streams import SimulatedRobot
    from softgrasp.twin.robot_server import RobotServer

    simulated = SimulatedRobot(load_robot_program(program))
    server = RobotServer(simulated, host=host, port=port, rate=rate)
    asyncio.run(_run(server, duration))


async def _run(server: RobotServer, duration: float | None) -> None:
    async with server:
        arm = server.robot.program.arm.name
        terminal.note(f"the robot '{arm}' reports its pose at {server.url}; Ctrl-C ends it")
        with suppress(TimeoutError):
            async with asyncio.timeout(duration):
                await asyncio.Event().wait()


# Registration


VERBS: dict[str, tuple[Callable[..., None], str, str]] = {
    "serve": (serve, "Simulate a pneumatic controller on Modbus TCP.", "serve --port 5020"),
    "run": (run, "Run the loop of a twin; record and show it.", "run --duration 10"),
    "replay": (replay, "Show a record again.", "replay out/twin_three_fingers --at 2"),
    "robot": (robot, "Simulate a robot that reports its flange pose.", "robot --duration 10"),
    "fit": (
        fit,
        "Fit bends of a finger's pieces against pressure.",
        "fit four_piece --sigma-deg 0.3",
    ),
    "pick": (
        pick,
        "Measure bending angles from points picked in an image.",
        'pick finger.png --camera cam.yaml --line "57,413 319,413" '
        '--points "351,414 567,438 766,525 902,658 1000,874"',
    ),
}
twin = typer.Typer(
    name="twin",
    help="The digital twin of a pneumatic gripper: simulated devices, and the loop.",
    invoke_without_command=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)
for _name, (_function, _line, _example) in VERBS.items():
    twin.command(_name, short_help=_line, epilog=f"Example: softgrasp twin {_example}")(
        options.guarded(_function)
    )


@twin.callback()
def _root(context: typer.Context) -> None:
    if context.invoked_subcommand is None:
        typer.echo(context.get_help(), err=True)
        raise typer.Exit(2)  # wrong input
