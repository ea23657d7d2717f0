"""The player in a process of its own: exit codes, ends that ODE or the time brings, no ODE."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from softgrasp.backends.ode.bindings import OdeLibrary
from softgrasp.backends.ode.player import run_world
from softgrasp.errors import BackendUnavailable, SimulationError
from tests.conftest import Golden
from tests.support.processes import are_gone

pytestmark = pytest.mark.slow  # every test starts a process or two

WORLD = """#VRML_SIM R2025a utf8
WorldInfo {{ basicTimeStep {step}
  physicsDisableLinearThreshold 0 physicsDisableAngularThreshold 0 }}
Viewpoint {{ }}
DEF HAND Robot {{ name "hand" controller "job" controllerArgs [ "{out}" ] supervisor TRUE }}
Solid {{ name "floor" boundingObject Box {{ size 1 1 0.1 }} }}
DEF BLOCK Solid {{ translation 0 0 0.2 rotation 0.6 0 0.8 0.5 name "block"
  boundingObject Box {{ size 0.1 0.1 0.1 }}
  physics Physics {{ density -1 mass 1 centerOfMass [ 0 0 0 ]
    inertiaMatrix [ 2e-3 2e-3 2e-3 0 0 0 ] }} }}
"""
TOSS = """
    import json, sys
    from controller import Supervisor
    robot = Supervisor()
    block = robot.getFromDef("BLOCK")
    rows = []
    while robot.step(4) == 0:
        rows.append(block.getPosition() + block.getOrientation())
        if robot.getTime() > 1.0:
            robot.simulationQuit(0)
    open(sys.argv[1], "w").write(json.dumps(rows))
"""


def project(directory: Path, script: str, step: str = "4") -> Path:
    for name in ("worlds", "controllers/job"):
        (directory / name).mkdir(parents=True, exist_ok=True)
    (directory / "controllers/job/job.py").write_text(textwrap.dedent(script))
    world = directory / "worlds" / "w.wbt"
    world.write_text(WORLD.format(step=step, out=directory / "out.json"))
    return world


@pytest.mark.usefixtures("ode_library")
def test_two_plays_agree_bit_for_bit(tmp_path: Path) -> None:
    seen = []
    for name in ("one", "two"):
        run_world(project(tmp_path / name, TOSS), 60.0)
        seen.append((tmp_path / name / "out.json").read_text())
    rows = json.loads(seen[0])
    assert len(rows) == 251
    assert rows[-1][2] == pytest.approx(0.1, abs=1e-3)
    assert seen[0] == seen[1]


@pytest.mark.usefixtures("ode_library")
@pytest.mark.parametrize("step", ["0.5", "4"])
def test_basic_steps_below_a_millisecond_are_played(tmp_path: Path, step: str) -> None:
    run_world(project(tmp_path, TOSS, step), 60.0)
    assert (tmp_path / "out.json").is_file()


BROKEN = [
    (
        "from controller import Supervisor\nrobot = Supervisor()\nrobot.simulationQuit(4)\n",
        "{world}: the controller ended with code 4",
    ),
    ("import sys\nsys.exit(7)", "{world}: the controller ended with code 7"),
    (
        "import sys, os\nsys.stderr.write('last words')\nsys.stderr.flush()\nos.abort()\n",
        "{world}: ODE, in double precision, ended the process (SIGABRT); a smaller time step or "
        "softer contacts can help: last words",
    ),
    (
        "from controller import Supervisor\nSupervisor().step(3)\n",
        "{world}: step(3): expected a multiple of basicTimeStep, 4 ms",
    ),
]


@pytest.mark.usefixtures("ode_library")
@pytest.mark.parametrize(("script", "sentence"), BROKEN, ids=["quit", "exit", "abort", "mistake"])
def test_what_goes_wrong_is_one_sentence(tmp_path: Path, script: str, sentence: str) -> None:
    world = project(tmp_path, script)
    with pytest.raises(SimulationError) as caught:
        run_world(world, 60.0)
    assert str(caught.value) == sentence.format(world=world)


@pytest.mark.usefixtures("ode_library")
def test_an_error_of_the_controller_is_reported_with_its_traceback(tmp_path: Path) -> None:
    world = project(tmp_path, "1 / 0\n")
    with pytest.raises(SimulationError, match=r"(?s)ended with code 1: .*ZeroDivisionError: "):
        run_world(world, 60.0)


def test_the_last_output_of_ode_is_in_the_sentence(tmp_path: Path, ode_library: OdeLibrary) -> None:
    """A joint between a body and itself is an assertion of ODE, in a build that has assertions."""
    script = """
        from softgrasp.backends.ode import bindings as binding, controller_api
        world = controller_api._current.world
        ode, body = binding.load(), world.bodies[0].handle
        ode.JointAttach(ode.JointCreateHinge(world._world, None), body, body)
    """
    if "ODE_EXT_no_debug" in ode_library.configuration:
        script = """
            import os
            os.write(2, b"ODE INTERNAL ERROR 1: assertion failed\\n")
            os.abort()
        """
    world = project(tmp_path, script)
    with pytest.raises(SimulationError, match=r"(?s)^.*: ODE.* ended .* \(SIG.*\); .*: .*ODE"):
        run_world(world, 60.0)


@pytest.mark.usefixtures("ode_library")
def test_nothing_that_a_controller_started_stays_behind(tmp_path: Path) -> None:
    script = """
        import subprocess, sys
        child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
        open(sys.argv[1], "w").write(str(child.pid))
    """
    run_world(project(tmp_path, script), 60.0)
    assert are_gone([int((tmp_path / "out.json").read_text())])


@pytest.mark.slow
@pytest.mark.usefixtures("ode_library")
def test_a_controller_that_hangs_is_ended_with_all_that_it_started(tmp_path: Path) -> None:
    script = """
        import subprocess, sys, time
        child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
        open(sys.argv[1], "w").write(str(child.pid))
        print("waiting", flush=True)
        time.sleep(600)
    """
    world = project(tmp_path, script)
    with pytest.raises(SimulationError) as caught:
        run_world(world, 15.0)
    assert str(caught.value) == f"{world}: the controller had not ended after 15 s: waiting"
    assert are_gone([int((tmp_path / "out.json").read_text())])


@pytest.mark.usefixtures("ode_library")
def test_a_missing_controller_and_a_wrong_world_are_reported(
    tmp_path: Path, golden: Golden
) -> None:
    world = project(tmp_path, "")
    (tmp_path / "controllers/job/job.py").unlink()
    golden.refused(lambda: run_world(world, 60.0), "Robot hand", SimulationError)
    text = world.read_text()
    world.write_text(text.replace("Viewpoint", "Viewpint"))
    with pytest.raises(SimulationError, match=rf"^{re.escape(str(world))}:4: "):
        run_world(world, 60.0)
    world.write_text(text.replace("Viewpoint { }\n", ""))
    golden.refused(lambda: run_world(world, 60.0), "Viewpoint", SimulationError)


def test_without_ode_there_is_a_sentence_that_states_how_to_get_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, golden: Golden
) -> None:
    monkeypatch.setenv("SOFTGRASP_ODE_LIB", str(tmp_path / "none.so"))
    golden.refused(
        lambda: run_world(project(tmp_path, ""), 60.0), "SOFTGRASP_ODE_LIB", BackendUnavailable
    )


def test_the_player_states_its_usage() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "softgrasp.backends.ode.player"],
        capture_output=True,
        text=True,
        check=False,
        env=os.environ | {"PYTHONPATH": str(Path(__file__).resolve().parents[3])},
    )
    assert done.returncode == 2
    assert done.stderr == "usage: python -m softgrasp.backends.ode.player WORLD.wbt\n"


@pytest.mark.usefixtures("ode_library")
def test_a_world_of_many_levels_is_refused_in_one_sentence(tmp_path: Path) -> None:
    deep = "Group { children [ " * 3000 + " ] }" * 3000
    world = project(tmp_path, "")
    world.write_text(f"{world.read_text()}{deep}", encoding="utf-8")
    with pytest.raises(SimulationError, match="expected at most 200 nodes within one") as error:
        run_world(world, 60.0)
    assert "RecursionError" not in str(error.value)
