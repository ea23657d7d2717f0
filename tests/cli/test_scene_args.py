"""Scenes from command lines: options of closures, sequences, surroundings, contacts and sensors."""

import json
import re
from pathlib import Path

import pytest

import softgrasp as sg
from softgrasp import assets
from softgrasp.cli import main
from softgrasp.cli.options import SceneOptions
from softgrasp.cli.scene_args import SENSORS, scene_of
from softgrasp.cli.sweep import plan_of
from softgrasp.description.closure import CLOSURES
from softgrasp.description.sweep import SweepPlan
from softgrasp.errors import DescriptionError
from softgrasp.sweeps.parameters import scene_of_row, with_one_grasp
from tests.conftest import QUICK, Run
from tests.resolution.test_object_grasp import hand_text

# Closures.


def closure_scene(closure: str | None, *settings: str, hand: str = "four_finger") -> sg.GraspScene:
    return scene_of(hand, "sphere", SceneOptions(closure=closure, settings=settings))


@pytest.mark.parametrize("name", [name for name in CLOSURES if name != "pressure"])
def test_a_name_is_enough(name):
    assert closure_scene(name).closure == CLOSURES[name]()


def test_only_grasps_that_no_option_names_are_adapted():
    for options, expected in [
        (SceneOptions(), True),
        (SceneOptions(density=700.0, hold=True, settings=("seed=2",)), True),
        (SceneOptions(grasp="power"), False),
        (SceneOptions(settings=("grasp=power",)), False),
        (SceneOptions(settings=("hand.grasps.power.center=[0,0,-0.06]",)), False),
    ]:
        assert scene_of("four_finger", "sphere", options).adapts_grasp is expected
    assert not scene_of("demo", None, SceneOptions()).adapts_grasp


def test_a_scene_keeps_its_closure():
    scene = scene_of("santello_sphere", None, SceneOptions())
    assert scene.closure == sg.description.SynergyIncrementClosure()
    scene = scene_of("santello_sphere", None, SceneOptions(closure="joint-torque"))
    assert scene.closure == sg.description.JointTorqueClosure()


def test_soft_hands_close_by_pressure(golden):
    assert (
        closure_scene("pressure", hand="soft_gripper").closure == sg.description.PressureClosure()
    )
    golden.refused(lambda: closure_scene("pressure"), "--closure pressure")


def test_what_does_not_fit_is_reported(golden):
    with pytest.raises(DescriptionError) as caught:
        closure_scene("force-limited", "closure.force=3", "closure.torque=0.3")
    golden(caught.value, "--closure force-limited")


def test_the_list_reports_all_parameters(capsys):
    assert main(["list", "closures", "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)
    assert [row["name"] for row in rows] == list(CLOSURES)
    for row in rows:
        kind = CLOSURES[row["name"]]
        assert set(row["parameters"]) == set(kind.model_fields) - {"type"}
        assert row["description"].endswith(".")
    assert rows[3]["parameters"]["pulley_radius"] == 0.01
    assert main(["list", "closures"]) == 0
    assert "contact_rate_fraction=0.05" in capsys.readouterr().out


# Sequences and criteria.


def sequence_scene(**options: object) -> sg.GraspScene:
    return scene_of("four_finger", "strawberry", SceneOptions(**options))


def test_a_sequence_that_lifts_comes_with_table_gravity_and_criterion():
    scene = sequence_scene(sequence="approach, close,lift,shake")
    assert [phase.type for phase in scene.sequence] == ["approach", "close", "lift", "shake"]
    assert scene.gravity == (0.0, 0.0, -9.81)
    assert scene.table is not None
    assert scene.success == sg.io.load_criterion("sequence")
    assert scene.lift is None


def test_one_that_does_not_lift_comes_alone():
    scene = sequence_scene(sequence="approach,close")
    assert (scene.table, scene.success) == (None, None)
    assert scene.gravity == (0.0, 0.0, 0.0)
    shaken = sequence_scene(sequence="close,shake", gravity=False)
    assert shaken.success == sg.io.load_criterion("sequence")
    assert sequence_scene(sequence="close,shake", hold=False).success is None
    assert sequence_scene(sequence="close,lift", gravity=False).table is None


def test_a_criterion_and_a_preshape_by_name():
    scene = sequence_scene(criterion="dexgraspbench", preshape="open")
    assert scene.success == sg.io.load_criterion("dexgraspbench")
    assert scene.start == scene.hand.preshape("open").positions
    assert scene.table is None
    assert sequence_scene(criterion="lift_10cm").table is not None
    assert sequence_scene(settings=("success=isaac_shake",)).success == sg.io.load_criterion(
        "isaac_shake"
    )
    longer = sequence_scene(sequence="close,lift", settings=("sequence[1].height=0.2",))
    assert longer.sequence[1] == sg.description.LiftPhase(height=0.2)


def test_a_criterion_file_is_checked(tmp_path, capsys):
    path = tmp_path / "mine.yaml"
    path.write_text("motion:\n  - {type: lift, height: 0.05}\nmax_drop: 0.002\n")
    assert main(["check", str(path), "--json"]) == 0
    message = json.loads(capsys.readouterr().out)
    assert (message["kind"], message["name"]) == ("criterion", "mine")
    assert message["test"] == "lift 50.0 mm within 1 s"
    assert message["passes"] == "at most 2.0 mm and 5.7°"


def test_criteria_are_listed(capsys):
    assert main(["list", "criteria", "--json"]) == 0
    rows = {row["name"]: row for row in json.loads(capsys.readouterr().out)}
    assert rows["dexgraspbench"]["test"] == "6 directions, 10 m/s² for 2 s each"
    assert sorted(rows) == assets.names("criteria")


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"sequence": "close", "lift": True}, "--lift"),
        ({"criterion": "hold", "hold": True}, "--criterion"),
        ({"sequence": "approach,squeeze,close"}, "sequence[1]"),
        ({"sequence": ""}, "--sequence"),
    ],
)
def test_combinations_that_are_refused(options, sentence, golden):
    golden.refused(lambda: sequence_scene(**options), sentence)


# Further objects, surroundings and gravity.


SHORT = ("grasp", "four_finger", "sphere", "--grasp", "precision", "--duration", "0.02", *QUICK)
"""Words of a grasp whose time runs out: it exits with 1."""


def scene_from(run: Run, *words: str) -> sg.GraspScene:
    ran = run(*words, "--json")
    assert ran.code in (0, 1), ran.err  # whatever the outcome
    return sg.GraspScene(**ran.json["scene"])


def test_objects_and_a_table_arrive_in_the_scene(run):
    scene = scene_from(
        run, *SHORT, "--object", "sphere_25@0.2,0,-0.05", "--object", "sphere@-0.2,0.1,0",
        "--table",
    )  # fmt: skip
    assert scene.object_names == ("sphere", "sphere_25", "sphere2")
    assert [placed.position for placed in scene.objects] == [(0.2, 0, -0.05), (-0.2, 0.1, 0)]
    assert scene.surrounding_names == ("table",)
    assert scene.lift is None


def test_a_table_and_a_lift_can_be_left_out(run, golden):
    ran = run("grasp", "demo_soft", "--no-lift", "--no-table", "--duration", "0.02", *QUICK,
              "--json")  # fmt: skip
    assert ran.json["scene"]["surroundings"] == []
    ran = run("grasp", "demo_soft", "--lift", "--no-table", *QUICK)
    assert ran.code == 2
    golden(ran.err, "--no-table")


def test_a_hold_test_can_replace_a_lift_under_another_gravity(run):
    words = ("grasp", "demo_soft", "--duration", "0.02", *QUICK)
    held = scene_from(run, *words, "--no-lift", "--hold", "--no-gravity")
    assert (held.lift, held.gravity) == (None, (0, 0, 0))
    assert held.success == sg.SuccessCriterion()


@pytest.mark.slow
def test_self_contact_can_be_left_out(run):
    assert scene_from(run, *SHORT, "--no-self-contact").self_contact is False
    assert scene_from(run, *SHORT).self_contact is True
    meet = ("grasp", "fingers_meet", "--no-hold", *QUICK, "--json")
    forces = [
        sum(contact["normal_force_N"] > 0 for contact in run(*meet, *more).json["contacts"])
        for more in ((), ("--no-self-contact",))
    ]
    assert forces == [5, 9]  # the middle phalanges of opposite fingers pass through each other


@pytest.mark.slow
def test_the_summary_names_further_objects_and_surroundings(run):
    ran = run("grasp", "beside", *QUICK)
    lines = {line.split()[0]: line for line in ran.out.splitlines()}
    assert lines["beside"].startswith("beside    small moved ")
    assert "(evaluated: sphere; not evaluated: small moved " in lines["object"]
    assert lines["support"].startswith("support   small presses on table with 0.0497 N at the end")


# Contact models and sensors.


@pytest.mark.parametrize("model", ["soft-finger", "native", "deformable"])
def test_a_grasp_by_each_model(run, model):
    words = ("four_finger", "sphere", "--grasp", "precision", "--contact-model", model)
    done = run("grasp", *words, *QUICK, "--out", "o")
    assert done.code == 0
    scene = sg.load_result("o").scene
    if model == "deformable":
        assert scene.object.elasticity == sg.description.Elasticity(young=1e5)
        assert "stiffness The contact model does not define a stiffness" in done.out
    else:
        assert scene.requested_contact.model == model


def test_sensors_by_name(run):
    words = ("--sensor", "tactile", "--sensor", "wrist", "--sensor", "force:F1_P1")
    done = run(
        "grasp", "four_finger", "sphere", "--grasp", "precision", *words, *QUICK, "--out", "o",
        "--set", "sensors[4].noise=0.1",
    )  # fmt: skip
    assert done.code == 0
    assert "sensors   6 sensors with 140 channels; largest on tactile_" in done.out
    result = sg.load_result("o")
    assert list(result.sensors) == [
        *(f"tactile_F{finger}_P3" for finger in range(1, 5)),
        "wrist",
        "force_F1_P1",
    ]
    assert result.scene.sensors[4].noise == 0.1


def test_the_same_grasp_again_has_the_same_hash(run):
    words = ("--contact-model", "deformable", "--sensor", "tactile")
    run("grasp", "four_finger", "sphere", "--grasp", "precision", *words, *QUICK, "--out", "o")
    assert run("rerun", "o").code == 0


# Closures with sensors.


@pytest.mark.parametrize("closure", [name for name in CLOSURES if name != "pressure"])
def test_every_closure_runs_with_all_sensors(run, closure):
    sensors = [word for sensor in SENSORS for word in ("--sensor", sensor)]
    words = ("grasp", "four_finger", "sphere", "--closure", closure, *sensors)
    ran = run(*words, "--duration", "0.02", *QUICK, "--json")
    assert ran.code == 1
    assert "Traceback" not in ran.err
    assert ran.json["scene"]["closure"].get("type", "position-increment") == closure
    assert len(ran.json["scene"]["sensors"]) == 4 + 4 + 1 + 1


@pytest.mark.parametrize("sensor", SENSORS)
def test_sensors_of_a_soft_hand_run_or_are_refused(run, sensor):
    words = ("grasp", "soft_gripper", "sphere")
    ran = run(*words, "--sensor", sensor, "--duration", "0.02", *QUICK)

    if sensor == "joints":
        assert ran.code == 2
        assert "expected a hand with rigid joints, found 'soft_gripper' without" in ran.err
    else:
        assert ran.code == 1
    assert "Traceback" not in ran.err


@pytest.mark.slow
def test_the_command_of_compliant_synergies_in_the_manual_holds_the_ball(run):
    """The ball lies where the synergy closes; at the power grasp's centre it is ejected."""
    text = (Path(__file__).parents[2] / "docs" / "closures.md").read_text("utf-8")
    (line,) = re.findall(r"^\$ softgrasp (.* --set closure.synergy_stiffness=.*)$", text, re.M)
    ran = run(*line.split(), *QUICK, "--json")
    assert ran.code == 0
    assert ran.json["held"]
    assert ran.json["scene"]["closure"]["synergy_stiffness"] == [3.0]
    touching = [contact["finger"] for contact in ran.json["contacts"] if contact["established_s"]]
    assert {"thumb", "index", "middle"} <= set(touching)


def planned(hand: str, axis: str, grasp: str | None = None) -> SweepPlan:
    """Return the plan of a sweep of a hand and a sphere, whose rows have one grasp if they may."""
    fields = {"method": "grid", "samples": None, "repeats": 1, "seed": 0, "quality": False}
    words = SceneOptions(hold=True, grasp=grasp)
    return with_one_grasp(plan_of(hand, "sphere", words, None, [axis], **fields))


def test_a_sweep_that_varies_the_grasp_adapts_none():
    plan = planned("four_finger", "grasp=power,precision")
    rows = [scene_of_row(plan, row) for row in range(2)]
    assert [row.grasp for row in rows] == ["power", "precision"]
    assert not any(row.adapts_grasp for row in rows)


def test_a_sweep_of_the_object_adapts_the_grasp_in_every_row():
    plan = planned("four_finger", "object.radius=0.02,0.03")
    words = scene_of("four_finger", "sphere", SceneOptions(hold=True))
    assert plan.scene == words.choose(grasp="power", adapt_grasp=True)  # states that it is open
    assert all(scene_of_row(plan, row).adapts_grasp for row in range(2))


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::softgrasp.SoftgraspWarning")
def test_the_same_words_have_the_same_grasp_in_python_and_in_every_verb(tmp_path):
    file = tmp_path / "hand.xml"
    file.write_text(hand_text())
    alone = scene_of(str(file), "sphere", SceneOptions(hold=True))
    in_python = sg.GraspScene(
        hand=sg.load_hand(file), object=sg.load_object("sphere"), success=sg.SuccessCriterion()
    )
    assert in_python == alone
    chosen = sg.resolve(alone).scene
    assert chosen.preset != alone.preset  # computed for the object
    assert sg.resolve(in_python).scene == chosen
    scene = planned(str(file), "contact.damping=300,310").scene
    assert (scene.preset, scene.grasp, scene.adapt_grasp) == (chosen.preset, chosen.grasp, False)
    assert not scene.preset.per_object  # no row searches again
    stated = planned(str(file), "contact.damping=300,310", grasp="power").scene
    assert (stated.preset.per_object, stated.grasp) == (False, "power")
    heavy = alone.replace(object=alone.object.weighing(density=2000))
    varied = planned(str(file), "object.density=100:2000:3").scene
    assert varied.preset == sg.resolve(heavy).scene.preset
    assert varied.object == alone.object


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::softgrasp.SoftgraspWarning")
def test_an_open_grasp_stays_open_in_json():
    """Workers of a cluster read the plan as JSON: their rows have to be those of local ones."""
    for axis in ("object.radius=0.02,0.03", "contact.damping=300,310", "grasp=power,precision"):
        plan = planned("soft_gripper", axis)
        read = SweepPlan.model_validate_json(plan.model_dump_json())
        assert read == plan
        for row in range(2):
            here, there = scene_of_row(plan, row), scene_of_row(read, row)
            assert (there, there.adapts_grasp) == (here, here.adapts_grasp)
            assert sg.resolve(there).scene == sg.resolve(here).scene
