"""Joint states as CSV read back as written, efforts of the engine, and forces within the hand."""

from __future__ import annotations

import csv
from pathlib import Path

import mujoco
import numpy as np
import pytest
from numpy.testing import assert_allclose

import softgrasp as sg
from softgrasp.evaluation.result_builder import joint_states
from softgrasp.evaluation.result_files import load_result
from softgrasp.io.result import JointStates, save_joint_states
from softgrasp.report.grasp_tables import other_rows
from softgrasp.report.grasp_text import force_clause
from softgrasp.report.style import newtons
from tests.support.scenes import pinch


@pytest.fixture(scope="module")
def result() -> sg.GraspResult:
    return sg.simulate(pinch(duration=0.4))


def read_back(path: Path) -> dict[str, np.ndarray]:
    """Read the columns of a file of joint states; empty cells are NaN."""
    with path.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    return {name: np.array([float(row[name] or "nan") for row in rows]) for name in rows[0]}


def test_a_result_reads_back_to_the_last_bit(result: sg.GraspResult, tmp_path: Path) -> None:
    states = joint_states(result)
    columns = read_back(sg.io.write_joint_states(result, tmp_path / "joints.csv"))
    assert np.array_equal(columns["time"], result.time)
    for index, name in enumerate(result.joint_names):
        assert np.array_equal(columns[f"position.{name}"], result.joint_position[:, index])
        assert np.array_equal(columns[f"velocity.{name}"], states.velocity[:, index])
        assert np.array_equal(columns[f"effort.{name}"], states.effort[:, index])


def test_the_columns_come_in_the_order_of_the_message(
    result: sg.GraspResult, tmp_path: Path
) -> None:
    lines = (
        sg.io.write_joint_states(result, tmp_path / "joints.csv").read_text("utf-8").splitlines()
    )
    names = [f"F{finger}_J{row}" for finger in range(1, 5) for row in range(1, 4)]
    columns = [f"{field}.{name}" for field in ("position", "velocity", "effort") for name in names]
    assert lines[0] == ",".join(["time", *columns])
    assert len(lines) == 1 + len(result.time)
    assert lines[1].startswith("0.0,-0.2617993877991494,0.0,0.0,")


def test_velocities_and_efforts_are_near_those_of_the_engine(result: sg.GraspResult) -> None:
    model = sg.compile_model(result.scene)
    model.actuator_biasprm[:, 2] += 0.5 * model.opt.timestep * model.actuator_gainprm[:, 0]
    data, states = mujoco.MjData(model), joint_states(result)
    mujoco.mj_resetDataKeyframe(model, data, 0)
    dofs = [model.joint(name).dofadr[0] for name in result.joint_names]
    speeds, forces = [], []
    for targets in result.joint_target[:300]:
        data.ctrl[:] = targets
        speeds.append(data.qvel[dofs].copy())
        mujoco.mj_step(model, data)
        forces.append(data.actuator_force.copy())
    inner = slice(1, 300)  # one-sided at the start
    assert_allclose(states.velocity[inner], np.array(speeds)[inner], atol=0.02)
    assert_allclose(states.effort[inner], np.array(forces)[inner], atol=0.01)
    assert np.abs(forces).max() > 0.1


def test_what_is_not_known_is_empty(tmp_path: Path) -> None:
    still = sg.simulate(pinch(duration=0.02, actuation="prescribed"))
    columns = read_back(sg.io.write_joint_states(still, tmp_path / "joints.csv"))
    for name, values in columns.items():
        assert np.isnan(values).all() == name.startswith("effort.")
    assert (
        sg.io.write_joint_states(still, tmp_path / "joints.csv")
        .read_text()
        .splitlines()[1]
        .endswith(",,,")
    )


def test_one_instant_has_no_velocity(tmp_path: Path) -> None:
    item = np.zeros((1, 1))
    states = JointStates(("J",), np.zeros(1), item, item * np.nan, item * np.nan)
    path = save_joint_states(states, tmp_path / "one.csv")
    assert path.read_text("utf-8") == "time,position.J,velocity.J,effort.J\n0.0,0.0,,\n"


def test_forces_within_the_hand_are_separate_from_those_on_the_object(tmp_path: Path) -> None:
    """Adjacent fingers of a power grasp; each presses on its neighbour as it is pressed."""
    result = sg.simulate(pinch(grasp="power"))
    pairs = {(c.first, c.second) for c in result.hand_contacts}
    assert pairs == {("F1_P3", "F2_P3"), ("F3_P3", "F4_P3")}
    assert result.other_contacts == ()
    touching = sum(contact.normal_force_N for contact in result.contacts)
    within = sum(contact.normal_force_N for contact in result.hand_contacts)
    assert result.force_on_objects_N == pytest.approx(result.normal_force[-1].sum()) == touching
    assert result.force_within_hand_N == within > 1.0
    result.save(tmp_path)
    assert load_result(tmp_path).hand_contacts == result.hand_contacts
    assert sg.simulate(pinch(grasp="power", self_contact=False)).force_within_hand_N == 0.0


def test_a_hand_that_presses_mostly_on_itself_is_warned_of() -> None:
    small = sg.GraspObject(name="ball", shape=sg.Sphere(radius=0.014), density=700.0)
    # the grip force of the hand ends the grasp before its fingers press on one another
    unlimited = sg.PositionIncrementClosure(grip_force=None)
    result = sg.simulate(pinch(grasp="power", object=small, closure=unlimited))
    within, on_object = result.force_within_hand_N, result.force_on_objects_N
    assert within > 0.5 * on_object > 0.0
    (sentence,) = (text for text in result.warnings if text.startswith("contact within the hand"))
    assert f"press on one another with {within:.3g} N in all" in sentence
    assert f"and on the object with {on_object:.3g} N; another grasp" in sentence
    assert force_clause(result).startswith(
        f"{newtons(on_object)} on the object at the end (sum of normal forces), "
        f"{newtons(within)} within the hand; peak "
    )
    rows = [tuple(row[:3]) for row in other_rows(result)[-2:]]
    assert rows == [
        ("hand, sum", "the object", f"{on_object:.2f}"),
        ("hand, sum", "itself", f"{within:.2f}"),
    ]
    plain = sg.simulate(pinch())
    assert not any("within the hand" in text for text in plain.warnings)
    assert "within the hand" not in force_clause(plain)
