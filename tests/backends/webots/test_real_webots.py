"""The first thing to try where there is a Webots: does its spring do what we say of it?

One link on a spring is let go. Webots takes the spring at the end of the step, so the torque is
−k·(q + h·q̇⁺) − c·q̇⁺ with the new speed q̇⁺, and the link follows a recursion. Run it with:
./dev test tests/backends/webots/test_real_webots.py
"""

from __future__ import annotations

import json
import math
import sys
from pathlib import Path

import numpy as np
import pytest

from softgrasp.backends.webots.launcher import VERSION, Webots, find_webots, run_world, with_screen
from softgrasp.errors import BackendUnavailable
from tests.backends.webots.fake_webots import installed

STIFFNESS, DAMPING, INERTIA = 0.05, 2e-4, 1e-5  # 11 Hz; h·k is a quarter of the damping
START, STEP, STEPS = 0.3, 1e-3, 200
TOLERANCE_DEG = 1e-3

# The axis goes through the centre of mass, so that hinge and gravity have nothing to add.
WORLD = f"""#VRML_SIM R2023b utf8
WorldInfo {{
  gravity 0 basicTimeStep 1 physicsDisableLinearThreshold 0 physicsDisableAngularThreshold 0
}}
Viewpoint {{ position -0.6 0 0.1 }}
Robot {{
  name "bench" controller "release" controllerArgs [ "RESULT" ] supervisor TRUE window "<none>"
  children [
    HingeJoint {{
      jointParameters HingeJointParameters {{
        position {START} axis 0 1 0 anchor 0.05 0 0
        springConstant {STIFFNESS} dampingConstant {DAMPING}
      }}
      device [ PositionSensor {{ name "angle" }} ]
      endPoint Solid {{
        translation 0.05 0 0 rotation 0 1 0 {START} name "link"
        boundingObject Box {{ size 0.02 0.02 0.02 }}
        physics Physics {{
          density -1 mass 0.05 centerOfMass [ 0 0 0 ]
          inertiaMatrix [ {INERTIA} {INERTIA} {INERTIA}, 0 0 0 ]
        }}
      }}
    }}
  ]
}}
"""

CONTROLLER = f"""
import json, os, sys
from controller import Supervisor

robot = Supervisor()
angle = robot.getDevice("angle")
angle.enable(1)
rows = []
for _ in range({STEPS}):
    robot.step(1)
    rows.append([robot.getTime(), angle.getValue()])
with open(sys.argv[1] + ".part", "w") as file:
    json.dump(rows, file)
os.replace(sys.argv[1] + ".part", sys.argv[1])
robot.step(1)
robot.simulationQuit(0)
"""

# Stands in for the module of Webots, and for its physics.
STUB = f"""
class Supervisor:
    def __init__(self):
        self.steps, self.position, self.speed = 0, {START}, 0.0

    def getDevice(self, name):
        assert name == "angle"
        return self

    def enable(self, period):
        assert period == 1

    def getTime(self):
        return self.steps * {STEP}

    def getValue(self):
        return self.position

    def step(self, period):
        h, k, c, inertia = {STEP}, {STIFFNESS}, {DAMPING}, {INERTIA}
        torque = -k * self.position - (c + h * k) * self.speed
        self.speed += torque * h / (inertia + h * (c + h * k))
        self.position += h * self.speed
        self.steps += 1

    def simulationQuit(self, status):
        assert status == 0 and self.steps == {STEPS} + 1
"""


def recursion(steps: int, step: float) -> np.ndarray:
    """Angles after 0, 1, ... steps [rad]: the implicit spring, solved for the new speed."""
    position, speed, angles = START, 0.0, [START]
    for _ in range(steps):
        speed = (INERTIA * speed - step * STIFFNESS * position) / (
            INERTIA + step * DAMPING + step * step * STIFFNESS
        )
        position += step * speed
        angles.append(position)
    return np.array(angles)


def release(directory: Path, webots: Webots) -> tuple[np.ndarray, np.ndarray, tuple[str, ...]]:
    """Let the link go: times [s], angles [rad], and what Webots warned of."""
    world, result = directory / "worlds" / "release.wbt", directory / "result.json"
    controller = directory / "controllers" / "release"
    world.parent.mkdir()
    controller.mkdir(parents=True)
    world.write_text(WORLD.replace("RESULT", str(result)))
    (controller / "release.py").write_text(CONTROLLER)
    (controller / "runtime.ini").write_text(f"[python]\nCOMMAND = {sys.executable}\n")
    warnings = run_world(world, result, timeout=300.0, webots=webots)
    times, angles = np.array(json.loads(result.read_text())).T
    return times, angles, warnings


def check(times: np.ndarray, angles: np.ndarray) -> None:
    expected = recursion(STEPS + 2, STEP)
    target = np.rint(times / STEP).astype(int)
    assert list(target) == list(range(1, STEPS + 1))
    off = {late: np.degrees(np.abs(angles - expected[target - late]).max()) for late in (0, 1, -1)}
    assert off[0] < TOLERANCE_DEG, f"largest difference in deg, by samples that it lags: {off}"


@pytest.fixture
def webots() -> Webots:
    """The real one."""
    try:
        webots = find_webots()
        with_screen([])
    except BackendUnavailable as error:
        pytest.skip(str(error))
    return webots


@pytest.mark.webots
def test_the_version_can_be_read(webots: Webots) -> None:
    assert VERSION.fullmatch(webots.version)


@pytest.mark.webots
def test_a_released_link_follows_the_recursion(webots: Webots, tmp_path: Path) -> None:
    times, angles, warnings = release(tmp_path, webots)
    print(*warnings, sep="\n")
    check(times, angles)


def test_the_same_project_with_a_stub(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """World, controller and comparison hold together; says nothing about Webots."""
    monkeypatch.setenv("DISPLAY", ":7")
    (tmp_path / "controller.py").write_text(STUB)
    body = f"""
        program = project / "controllers" / "release" / "release.py"
        result = world.read_text().partition('controllerArgs [ "')[2].partition('"')[0]
        variables = {{**os.environ, "PYTHONPATH": {str(tmp_path)!r}}}
        sys.exit(subprocess.call([sys.executable, str(program), result], env=variables))
    """
    times, angles, warnings = release(tmp_path, installed(tmp_path / "home", body))
    assert warnings == ()
    check(times, angles)


def swing(times: np.ndarray, damping: float) -> np.ndarray:
    """Angles of the damped oscillator [rad], exact."""
    decay, natural = damping / (2.0 * INERTIA), STIFFNESS / INERTIA
    ringing = math.sqrt(natural - decay**2)
    phase = ringing * times
    return START * np.exp(-decay * times) * (np.cos(phase) + decay / ringing * np.sin(phase))


def test_the_comparison_sees_the_damping_of_the_step() -> None:
    """And by far: without h·k the link would be degrees off."""
    times = STEP * np.arange(1, STEPS + 1)
    plain = swing(times, DAMPING)
    assert np.degrees(np.abs(plain - recursion(STEPS, STEP)[1:]).max()) > 1000 * TOLERANCE_DEG
    with pytest.raises(AssertionError, match="largest difference in deg, by samples that it lags"):
        check(times, plain)


def test_the_recursion_is_an_oscillator_damped_by_the_step_too() -> None:
    step, steps = 1e-5, 20_000
    exact = swing(step * np.arange(steps + 1), DAMPING + step * STIFFNESS)
    np.testing.assert_allclose(recursion(steps, step), exact, rtol=0.0, atol=1e-3)
