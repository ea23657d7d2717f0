"""MuJoCo against itself, with something changed: what a comparison of grasps says of it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

import softgrasp as sg
from softgrasp.comparison.compare import document
from softgrasp.comparison.runs import FACTORS, SELF_CONTACT_NOTE
from softgrasp.extensions import ENGINES
from tests.support.engines import Change, ChangedEngine
from tests.support.scenes import pinch

Twin = Callable[[Change], None]


@pytest.fixture
def twin(monkeypatch: pytest.MonkeyPatch) -> Twin:
    """Makes a second engine: MuJoCo with a change of the scene."""

    def make(change: Change) -> None:
        monkeypatch.setitem(ENGINES, "twin", lambda: ChangedEngine(change))

    return make


def compared(scene: sg.GraspScene, *, quick: bool = True) -> sg.comparison.CrosscheckResult:
    return sg.comparison.crosscheck(scene, ("mujoco", "twin"), quick=quick)


@pytest.mark.slow
def test_an_engine_agrees_with_itself(twin: Twin, tmp_path: Path) -> None:
    twin(lambda scene: scene)
    message: list[str] = []
    result = sg.comparison.crosscheck(
        pinch(success=sg.SuccessCriterion()),
        ("mujoco", "twin"),
        progress=lambda text, done: message.append(text),
    )
    assert result.passed
    assert [finding.name for finding in result.findings] == [
        "status", "contacts", "first_touch", "stop", "normal_force",
        "joint_angles", "displacement", "agreement", "critical_load", "force_convergence",
    ]  # fmt: skip
    apart = {item.name: item.difference for item in result.findings if item.difference}
    assert set(apart) <= {"critical_load"}
    assert apart.get("critical_load", 0.0) < 1.6  # the search ends there
    assert result.summary == "mujoco, twin: all 10 differences are within their tolerances"
    assert "twin: closing" in message
    runs = result.runs
    assert len(runs.loads) == len(FACTORS)
    assert runs.held["mujoco"][0]
    assert not runs.held["mujoco"][-1]
    files = sg.comparison.save_crosscheck(result, tmp_path) + sg.comparison.write_crosscheck_report(
        result, tmp_path
    )
    assert [file.name for file in files] == [
        "crosscheck.json", "runs", "crosscheck_forces.png", "crosscheck_forces.csv",
        "crosscheck_loads.png", "crosscheck_loads.csv", "report.html",
    ]  # fmt: skip
    page = files[-1].read_text("utf-8")
    assert "all within tolerance" in page
    assert "http://" not in page.replace("http://www.w3.org", "")
    runs = sg.comparison.load_crosscheck(tmp_path).runs
    assert (runs.held, runs.loads) == (result.runs.held, result.runs.loads)


def test_a_stop_one_sample_later_is_reported_with_what_it_is_worth(twin: Twin) -> None:
    # a grip force would cut what the sample adds
    closure = sg.PositionIncrementClosure(samples=11, grip_force=None)
    twin(lambda scene: scene.replace(closure=closure))
    result = compared(pinch(closure=closure.replace(samples=10)))
    stop = result.finding("stop")
    assert (stop.difference, stop.passed) == (1.0, True)
    assert stop.sentence == (
        f"{stop.quantity}: 1 sample apart in twin, within the tolerance of 1 sample; an "
        "established contact stops the joints of a body"
    )
    force = result.finding("normal_force")
    assert 1.0 < force.difference < 5.0
    assert (
        "stopped 1 control sample later in twin, and one sample changes its force by up to 3."
        in force.note
    )


def test_forces_across_the_fingers_are_reported_as_open(twin: Twin) -> None:
    twin(lambda scene: scene)
    note = compared(sg.load_scene("four_finger_askew")).finding("normal_force").note
    assert note.endswith(
        "presses at 28° across the plane in which its finger moves; friction across it can carry a "
        "part, so that equal joint moments allow normal forces that differ by 72 %"
    )
    assert "across the plane" not in compared(sg.load_scene("four_finger_sphere")).finding(
        "normal_force"
    ).note  # fmt: skip


def test_other_forces_and_angles_are_beyond_tolerance(twin: Twin) -> None:
    twin(lambda scene: scene.replace(hand=sg.load_hand("four_finger"), closure=faster))
    faster = sg.PositionIncrementClosure(rates=(1.8, 0.2, 0.15))
    result = compared(pinch())
    assert not result.passed
    force = result.finding("normal_force")
    assert not force.passed
    assert force.sentence.startswith(
        f"{force.quantity}: {force.difference:.3g} % apart in twin, beyond the tolerance of 2 %; "
    )
    assert result.summary.startswith(f"mujoco, twin: {len(result.failed)} of ")


def test_a_grasp_that_diverges_in_one_engine_is_not_compared_further(twin: Twin) -> None:
    from tests.support.scenes import diverging

    twin(lambda scene: diverging(timestep=5e-4))
    result = compared(pinch())
    assert [finding.name for finding in result.findings] == ["status"]
    assert not result.passed
    assert result.findings[0].values == {"mujoco": "CLOSED", "twin": "UNSTABLE"}
    assert result.diverged == ("twin",)
    assert document(result)["findings"][0]["worst"] == "twin"


def test_a_grasp_that_diverges_in_all_engines_does_not_pass(twin: Twin, tmp_path: Path) -> None:
    from tests.support.scenes import diverging

    twin(lambda scene: scene)
    result = compared(diverging(timestep=5e-4), quick=False)
    (status,) = result.findings
    advice = result.runs.closing["mujoco"].message
    assert status.values == {"mujoco": "UNSTABLE", "twin": "UNSTABLE"}
    assert not status.passed
    assert advice.startswith("the simulation has diverged: it broke at ")
    assert status.sentence == (
        "How the grasp ended: could not be compared in mujoco, twin; "
        f"mujoco: {advice}; twin: {advice}; nothing else is compared"
    )
    assert not result.passed
    assert result.summary == "mujoco, twin: the simulation has diverged in mujoco, twin"
    files = sg.comparison.save_crosscheck(result, tmp_path) + sg.comparison.write_crosscheck_report(
        result, tmp_path
    )
    assert [file.name for file in files] == ["crosscheck.json", "runs", "report.html"]
    assert '<p class="badge bad">diverged</p>' in files[-1].read_text("utf-8")


def test_parts_of_the_hand_pass_through_each_other_in_every_engine(twin: Twin) -> None:
    requested = []
    twin(lambda scene: requested.append(scene.self_contact) or scene)
    result = compared(pinch())
    assert result.warnings == (
        "quick: other time steps and critical loads were skipped",
        "parts of the hand pass through each other in every engine here: worlds of Webots cannot "
        "let them touch",
    )
    assert requested == [False, False]
    assert {run.scene.self_contact for run in result.runs.closing.values()} == {False}
    assert compared(pinch(self_contact=False)).warnings == result.warnings[:1]


def test_critical_loads_need_a_free_object(twin: Twin) -> None:
    twin(lambda scene: scene)
    result = compared(pinch(object_mount="fixed"), quick=False)
    assert result.warnings[:2] == (
        SELF_CONTACT_NOTE, "critical loads are not searched: they need a free object and no lift",
    )  # fmt: skip
    assert "agreement" not in {finding.name for finding in result.findings}


@pytest.mark.parametrize(
    ("backends", "sentence"),
    [
        (("mujoco", "oed"), "backends: no backend 'oed'; did you mean 'ode'? known: "),
        (("mujoco",), "backends: expected two or more different backends, such as mujoco,ode, "
                      "found mujoco"),
        (("ode", "ode"), "backends: expected two or more different backends, such as mujoco,ode, "
                         "found ode,ode"),
        ((), "backends: expected two or more different backends, such as mujoco,ode, found none"),
    ],
)  # fmt: skip
def test_odd_backends_are_reported(backends: tuple[str, ...], sentence: str) -> None:
    with pytest.raises(sg.DescriptionError) as refused:
        sg.comparison.crosscheck(pinch(), backends)
    assert str(refused.value).startswith(sentence)


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"contact": sg.Contact(model="native")},
         "contact.model: Webots and ODE have no model 'native'; use the backend mujoco"),
        ({"closure": sg.description.JointTorqueClosure()},
         "closure: Webots and ODE have no closure 'joint-torque'; use the backend mujoco"),
        ({"gravity": (0.0, 1.0, 0.0)},
         "gravity: gravity of Webots points down, expected (0, 0, -g), found (0, 1, 0)"),
    ],
)  # fmt: skip
def test_scenes_are_refused_before_an_engine_is_loaded(
    changes: dict[str, object], sentence: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def missing() -> None:
        raise sg.BackendUnavailable("ODE is missing")

    monkeypatch.setattr("softgrasp.backends.ode.bindings.load_library", missing)
    scene = pinch(**changes)
    for run in (
        lambda: sg.simulate(scene, backend="ode"),
        lambda: sg.comparison.crosscheck(scene, ("mujoco", "ode")),
    ):
        with pytest.raises(sg.BuildError) as refused:
            run()
        assert str(refused.value).startswith(sentence)
    with pytest.raises(sg.BackendUnavailable, match="ODE is missing"):
        sg.simulate(pinch(), backend="ode")
