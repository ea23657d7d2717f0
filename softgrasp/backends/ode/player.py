"""Run a Webots world with its controller in ODE: ``python -m softgrasp.backends.ode.player WORLD``.

The controller is ``controllers/NAME/NAME.py`` in the directory above that of the world, as in
Webots. ``run_world`` does this in a separate process, as ODE aborts the process on errors.
"""

from __future__ import annotations

import os
import runpy
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import IO

from softgrasp.backends.ode import bindings
from softgrasp.backends.ode.controller_api import OdeWorld, Session, controller_of, install
from softgrasp.backends.processes import process_group
from softgrasp.backends.wbt.parser import MAX_DEPTH, World, read_world
from softgrasp.backends.wbt.schema import list_held_nodes, texts
from softgrasp.backends.wbt.validation import problems
from softgrasp.errors import BackendUnavailable, DivergedError, SimulationError, SoftgraspError

WITHOUT_MOTION = {"Appearance", "Fog", "Material", "TexturedBackground", "TexturedBackgroundLight"}
"""Types of opaque nodes without influence on motion."""
TAIL = 2000
"""Last characters of the output in an error message."""
FAILED = 65
"""Exit code where a world is wrong or fails (EX_DATAERR of sysexits.h)."""
NO_ENGINE = 69
"""Exit code where there is no ODE (EX_UNAVAILABLE of sysexits.h)."""


def run_world(world: Path, timeout: float) -> None:
    """Run a world with its controller in ODE, in a separate process, until the controller ends.

    Args:
        world: The .wbt file, in a project with ``controllers/``.
        timeout: Wall time after which it is killed [s].

    Raises:
        BackendUnavailable: There is no ODE.
        SimulationError: ODE aborted, the time is over, or the exit code is not 0; with the end of
            the output.
    """
    command = [sys.executable, "-m", "softgrasp.backends.ode.player", str(world)]
    with tempfile.TemporaryFile() as output:
        try:
            with process_group(command, output, output, _environment()) as process:
                code = process.wait(timeout)
        except subprocess.TimeoutExpired:
            raise SimulationError(
                f"{world}: the controller had not ended after {timeout:g} s{_tail(output)}"
            ) from None
        _check_exit(world, code, output)


def _check_exit(world: Path, code: int, output: IO[bytes]) -> None:
    if code == 0:
        return
    if code == NO_ENGINE:
        raise BackendUnavailable(_tail(output).removeprefix(": "))
    if code == FAILED:
        raise SimulationError(f"{world}{_tail(output)}".replace(f"{world}: {world}", str(world)))
    if code < 0:
        name = signal.Signals(-code).name
        raise SimulationError(
            f"{world}: ODE, in double precision, ended the process ({name}); a smaller time step "
            f"or softer contacts can help{_tail(output)}"
        )
    raise SimulationError(f"{world}: the controller ended with code {code}{_tail(output)}")


def _tail(output: IO[bytes]) -> str:
    output.seek(0)
    text = output.read().decode(errors="replace").strip()
    shortened = text if len(text) <= TAIL else f"… {text[-TAIL:]}"
    return f": {shortened}" if shortened else ""


def _environment() -> dict[str, str]:
    """Return the environment of this process with this package first on the path."""
    directory = str(Path(__file__).resolve().parents[3])
    inherited = os.environ.get("PYTHONPATH")
    return os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, [directory, inherited]))}


def play(path: Path) -> int:
    """Run the controller of a world in this process until the controller ends.

    Returns:
        Argument of ``simulationQuit``; 0 where the controller ended without it.

    Raises:
        SoftgraspError: The world has errors or unsupported nodes, there is no ODE, or the motion
            has diverged.
    """
    bindings.load()
    path = path.absolute()
    tree = read_world(path)
    _check(tree)
    session = Session(tree, OdeWorld(tree))
    node = session.robot.node
    name = controller_of(node)
    script = path.parent.parent / "controllers" / name / f"{name}.py"
    if not script.is_file():
        raise SimulationError(
            f"Robot {session.robot.name}: expected its controller at {script}, found no such file"
        )
    install(session)
    sys.argv = [str(script), *texts(node, "controllerArgs")]
    sys.path.insert(0, str(script.parent))
    runpy.run_path(str(script), run_name="__main__")
    if session.divergence and session.status is None:
        raise DivergedError(session.divergence)  # the controller has not noticed
    return session.status or 0


def _check(tree: World) -> None:
    """Refuse worlds with errors, opaque nodes or too many levels.

    Steps may be shorter than those of Webots.
    """
    level, depth = list(tree.nodes), 0
    while level:
        if (depth := depth + 1) > MAX_DEPTH:
            raise SimulationError(
                f"{tree.file}: line {level[0].line}: expected nodes within at most {MAX_DEPTH} "
                "others to simulate them in ODE, found more; join Groups and Poses that hold one "
                "node each"
            )
        inner = (part for node in level for _, part in list_held_nodes(node))
        level = list({id(part): part for part in inner}.values())
    opaque = sorted({node.type for node in tree.opaque()} - WITHOUT_MOTION)
    if opaque:
        raise SimulationError(
            f"{tree.file}: expected nodes that ODE simulates, found {', '.join(opaque)}"
        )
    wrong = [str(problem) for problem in problems(tree, min_step=0.0)]
    if wrong:
        raise SimulationError("; ".join(wrong))


def main(arguments: Sequence[str]) -> int:
    """Run the command; return its exit code."""
    if len(arguments) != 1:
        sys.stderr.write("usage: python -m softgrasp.backends.ode.player WORLD.wbt\n")
        return 2
    parent = os.getppid()

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(0.5)
        os._exit(FAILED)

    threading.Thread(target=watch, daemon=True).start()
    try:
        return play(Path(arguments[0]))
    except BackendUnavailable as error:
        sys.stderr.write(f"{error}\n")
        return NO_ENGINE
    except SoftgraspError as error:
        sys.stderr.write(f"{error}\n")
        return FAILED


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
