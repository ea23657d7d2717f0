"""The controller of our worlds on an emulation that has what Webots has, and no more."""

from __future__ import annotations

import ast
import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import softgrasp as sg
from softgrasp.backends.webots.backend import ImportedRun, world_and_job
from softgrasp.backends.webots.project import SCRIPT, write_project
from softgrasp.errors import BuildError
from softgrasp.evaluation.result_builder import result_of
from softgrasp.model.scene import CompiledScene
from softgrasp.pipeline import compile_scene
from softgrasp.sim import laws
from softgrasp.sim.run_record import EngineRecord
from tests.conftest import Golden
from tests.sim.engines import require_engine

LIKE_WEBOTS = """
import sys
from softgrasp.backends.ode import player, controller_api as sensors
contact = sensors.TouchSensor.getValues

def with_weight(self):
    weight = 9.81 * self._solid.node.node("physics").fields["mass"]
    x, y, z = contact(self)
    return [x, y, z - weight]

sensors.TouchSensor.getValues = with_weight
del sensors.TouchSensor.getNormalForce, sensors.TouchSensor.getFrictionForce
sys.exit(player.main(sys.argv[1:]))
"""
"""A touch sensor that tells the whole force and its own weight, as that of Webots does."""


def played(built: CompiledScene, directory: Path, program: str) -> sg.GraspResult:
    world, job = world_and_job(built, 1e-3, "job.json")
    project = write_project(directory / "worlds" / "job.wbt", world, job)
    done = subprocess.run(
        [sys.executable, "-c", program, str(project.world)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    message = json.loads(project.result.read_text("utf-8"))
    engine = EngineRecord("webots", "none", "", world.timestep)
    return result_of(ImportedRun(built, engine, [law.name for law in world.laws], message), [], 0.0)


@pytest.fixture(scope="module")
def built() -> CompiledScene:
    require_engine("ode")
    return compile_scene(
        sg.GraspScene(
            hand=sg.load_hand("four_finger"),
            object=sg.load_object("sphere_35", density=500.0),
            grasp="precision",
            self_contact=False,
            gravity=True,
            object_mount="fixed",
        )
    )


@pytest.fixture(scope="module")
def whole(built: CompiledScene, tmp_path_factory: pytest.TempPathFactory) -> sg.GraspResult:
    """The scene with sensors of whole forces."""
    return played(built, tmp_path_factory.mktemp("whole"), LIKE_WEBOTS)


@pytest.mark.slow
def test_a_sensor_that_feels_its_weight_reports_no_touch_by_itself(whole: sg.GraspResult) -> None:
    result = whole
    assert result.status is sg.GraspStatus.CLOSED
    assert {event.body for event in result.events} == {"F1_P3", "F2_P3", "F3_P3", "F4_P3"}
    assert min(event.time_s for event in result.events) > 0.25
    assert np.all(result.friction_force == 0.0)


@pytest.mark.slow
def test_whole_forces_stop_the_hand_where_normal_ones_do(
    built: CompiledScene, whole: sg.GraspResult
) -> None:
    exact = sg.simulate(built.scene, backend="ode")
    assert np.degrees(np.abs(whole.joint_position[-1] - exact.joint_position[-1])).max() < 0.2
    of_both = zip(whole.contacts, exact.contacts, strict=True)
    for force, (normal, friction) in (
        (w.normal_force_N, (e.normal_force_N, e.friction_force_N)) for w, e in of_both
    ):
        assert force == pytest.approx(np.hypot(normal, friction), rel=0.05, abs=1e-3)


def test_time_steps_that_controllers_cannot_ask_for_are_refused(
    built: CompiledScene, golden: Golden
) -> None:
    scene = built.scene.replace(timestep=1.5e-3, control_period=1.5e-3)
    golden.refused(
        lambda: world_and_job(compile_scene(scene), 1e-3, "job.json"), "timestep", BuildError
    )


@pytest.mark.slow
def test_a_motion_that_diverges_is_a_result() -> None:
    """Joints that obey rates of 1000 rad/s are faster than anything in a grasp."""
    require_engine("ode")
    scene = sg.GraspScene(
        hand=sg.load_hand("two_finger_planar"),
        object=sg.load_object("sphere_25", density=500.0),
        grasp="precision",
        actuation="prescribed",
        closure=sg.PositionIncrementClosure(rates=(1e3,)),
        duration=0.3,
    )
    result = sg.simulate(scene, backend="ode")
    assert result.status is sg.GraspStatus.DIVERGED
    assert len(result.time) < 301


OLDEST = (3, 7)
"""Version of Python that Webots may find; the controller's files are written for it."""


@pytest.mark.parametrize("file", [SCRIPT, Path(laws.__file__)], ids=lambda file: file.name)
def test_it_is_understood_by_an_old_python(file: Path) -> None:
    tree = ast.parse(file.read_text("utf-8"), feature_version=OLDEST)
    words = {
        keyword.arg
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "zip"
        for keyword in node.keywords
    }
    assert "strict" not in words  # 3.10
    top = [node for node in tree.body if isinstance(node, (ast.Assign, ast.AnnAssign))]
    assert not any(isinstance(node.value, ast.Subscript) for node in top)  # int[...] of 3.9
