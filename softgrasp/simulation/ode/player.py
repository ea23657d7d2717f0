"""Play a Webots world in ODE with its controller: ``python -m softgrasp.simulation.ode.player W``.

The controller is ``controllers/NAME/NAME.py`` in the folder above that of the world, as in Webots.
"""

from __future__ import annotations

import os
import runpy
import sys
import threading
import time
from collections.abc import Sequence
from pathlib import Path

from softgrasp.errors import BackendUnavailable, DivergedError, SimulationError, SoftgraspError
from softgrasp.formats.wbt.access import texts
from softgrasp.formats.wbt.parse import read_world
from softgrasp.formats.wbt.rules import problems
from softgrasp.formats.wbt.world import World
from softgrasp.simulation.ode import binding
from softgrasp.simulation.ode.controller_api import Session, controller_of, install
from softgrasp.simulation.ode.world import OdeWorld

FAILED = 65
"""Exit code of a world that cannot be played, or not to its end (EX_DATAERR of sysexits.h)."""
NO_ENGINE = 69
"""Exit code where there is no ODE (EX_UNAVAILABLE of sysexits.h)."""


def play(path: Path) -> int:
    """Run the controller of a world from its start to its end.

    Args:
        path: The world.

    Returns:
        What the controller called ``simulationQuit`` with; 0 where it ended without.

    Raises:
        SoftgraspError: The world is wrong or needs what is not supported, there is no ODE, or the
            motion has diverged.
    """
    binding.load()
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
        raise DivergedError(session.divergence)  # the controller has not taken notice
    return session.status or 0


def _check(tree: World) -> None:
    """Refuse what Webots would stumble over; its shortest time step is no limit of ODE."""
    wrong = [str(problem) for problem in problems(tree) if problem.kind != "timestep"]
    if wrong:
        raise SimulationError("; ".join(wrong))


def _end_with_parent() -> None:
    """End this process when the one that started it is gone, however it went."""
    parent = os.getppid()

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(0.5)
        os._exit(FAILED)

    threading.Thread(target=watch, daemon=True).start()


def main(arguments: Sequence[str]) -> int:
    """The command; returns its exit code."""
    if len(arguments) != 1:
        sys.stderr.write("usage: python -m softgrasp.simulation.ode.player WORLD.wbt\n")
        return 2
    _end_with_parent()
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
