"""Run checks in an installed Webots and write a report of them.

``./dev webots REPORT.json`` is the one command: it needs a Webots, and
its report is what to send to the makers of softgrasp, who have none. The checks:

- ``spring``: a link on a spring is released. Webots applies the spring at the end of the step, so
  that the torque is −k·(q + h·q̇⁺) − c·q̇⁺ with the new speed q̇⁺, and the link follows a recursion.
- ``grasp``: a hand closes on a ball in Webots and in MuJoCo; outcomes and largest forces.
"""

from __future__ import annotations

import json
import platform
import sys
import tempfile
import traceback
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from softgrasp import __version__
from softgrasp.backends.webots.launcher import Webots, find_webots, run_world, with_screen
from softgrasp.errors import BackendUnavailable
from softgrasp.io import load_hand, load_object
from softgrasp.mechanics import Array
from softgrasp.plugin_api import write_text

STIFFNESS, DAMPING, INERTIA = 0.05, 2e-4, 1e-5  # 11 Hz; h·k is a quarter of the damping
START, STEP, STEPS = 0.3, 1e-3, 200
TOLERANCE_DEG = 1e-3
FORCE_TOLERANCE = 0.05
"""Largest relative difference of the largest contact forces in Webots and MuJoCo [–]."""
NO_ENGINE, FAILED = 3, 1
"""Exit codes: there is no Webots; a check failed."""
Check = dict[str, Any]

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


def webots_report(webots: Webots) -> dict[str, Any]:
    """Run all checks in a Webots.

    Args:
        webots: The installation.

    Returns:
        Versions, and for each check its name, whether it passed, what was measured against what, or
        the error that ended it.
    """
    checks = [_run("spring", lambda: spring_check(webots)), _run("grasp", grasp_check)]
    return {
        "softgrasp": __version__,
        "webots": webots.version,
        "system": platform.platform(),
        "python": platform.python_version(),
        "checks": checks,
        "passed": all(check["passed"] for check in checks),
    }


def _run(name: str, check: Callable[[], Check]) -> Check:
    """Run a check; any error is part of the report."""
    try:
        return {"name": name, **check()}
    except Exception:  # noqa: BLE001  # whatever happens on another machine belongs to the report
        return {"name": name, "passed": False, "error": traceback.format_exc()}


# The spring


def spring_check(webots: Webots) -> Check:
    """Compare a released link with the recursion of Webots' implicit spring."""
    with tempfile.TemporaryDirectory() as directory:
        times, angles, warnings = release(Path(directory), webots)
    differences = spring_differences(times, angles)
    return {
        "passed": differences[0] < TOLERANCE_DEG,
        "largest_difference_deg_by_lag": {str(lag): off for lag, off in differences.items()},
        "tolerance_deg": TOLERANCE_DEG,
        "angles_rad": angles.tolist(),
        "warnings": list(warnings),
    }


def recursion(steps: int, step: float) -> Array:
    """Compute the angles of the released link after 0, 1, … steps [rad], (steps + 1,).

    Args:
        steps: Number of steps.
        step: Their duration [s].
    """
    position, speed, angles = START, 0.0, [START]
    for _ in range(steps):
        speed = (INERTIA * speed - step * STIFFNESS * position) / (
            INERTIA + step * DAMPING + step * step * STIFFNESS
        )
        position += step * speed
        angles.append(position)
    return np.array(angles)


def release(directory: Path, webots: Webots) -> tuple[Array, Array, tuple[str, ...]]:
    """Release the link; return times [s], angles [rad] and the warnings of Webots.

    Args:
        directory: An empty directory for the project.
        webots: The installation.
    """
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


def spring_differences(times: Array, angles: Array) -> dict[int, float]:
    """Return the largest differences from the recursion [deg], by samples that it lags.

    Args:
        times: Times of the samples [s], (n,).
        angles: Angles of the link [rad], (n,).
    """
    expected = recursion(STEPS + 2, STEP)
    index = np.rint(times / STEP).astype(int)
    lags = (0, 1, -1)
    return {lag: float(np.degrees(np.abs(angles - expected[index - lag]).max())) for lag in lags}


# The grasp


def grasp_check(backend: str = "webots") -> Check:
    """Compare the grasp of a ball in Webots with that in MuJoCo.

    Args:
        backend: Another engine instead of Webots, to try the check.
    """
    from softgrasp import simulate
    from softgrasp.description import GraspScene

    hand, ball = load_hand("four_finger"), load_object("sphere_35")
    scene = GraspScene(hand=hand, object=ball, grasp="precision")
    results = {name: simulate(scene, backend=name) for name in ("mujoco", backend)}
    forces = {name: float(np.max(result.normal_force)) for name, result in results.items()}
    outcomes = {name: result.outcome for name, result in results.items()}
    off = abs(forces[backend] / forces["mujoco"] - 1.0)
    return {
        "passed": outcomes[backend] == outcomes["mujoco"] and off < FORCE_TOLERANCE,
        "outcomes": outcomes,
        "largest_forces_n": forces,
        "relative_difference": off,
        "tolerance": FORCE_TOLERANCE,
        "notes": list(results[backend].warnings),
    }


def main(arguments: Sequence[str]) -> int:
    """Write the report; return 0, 1 where a check failed, or 3 where there is no Webots."""
    if len(arguments) > 1:
        sys.stderr.write("usage: ./dev webots [REPORT.json]\n")
        return 2
    path = Path(arguments[0] if arguments else "webots_report.json")
    try:
        webots = find_webots()
        with_screen([])
    except BackendUnavailable as error:
        sys.stderr.write(f"{error}\n")
        return NO_ENGINE
    report = webots_report(webots)
    write_text(path, json.dumps(report, indent=1) + "\n")
    for check in report["checks"]:
        sys.stdout.write(f"{check['name']}: {'passed' if check['passed'] else 'FAILED'}\n")
    sys.stdout.write(f"wrote {path}: please send it to the makers of softgrasp\n")
    return 0 if report["passed"] else FAILED


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
