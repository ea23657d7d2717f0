"""Further objects, walls, tables, gravity and self-contact from the command line."""

from __future__ import annotations

import pytest

import softgrasp as sg
from tests.conftest import QUICK, Run

SHORT = ("grasp", "four_finger", "sphere", "--grasp", "precision", "--duration", "0.02", *QUICK)


def scene_of(run: Run, *words: str) -> sg.GraspScene:
    ran = run(*words, "--json")
    assert ran.code == 0, ran.err
    return sg.GraspScene(**ran.json["scene"])


def test_objects_and_walls_arrive_in_the_scene(run: Run) -> None:
    scene = scene_of(
        run, *SHORT, "--object", "sphere_25@0.2,0,-0.05", "--object", "sphere@-0.2,0.1,0",
        "--wall", "-0.4,0,0,1,0,0", "--wall", "0,0.4,0,0,-1,0", "--table",
    )  # fmt: skip
    assert scene.object_names == ("sphere", "sphere_25", "sphere2")
    assert [placed.position for placed in scene.objects] == [(0.2, 0, -0.05), (-0.2, 0.1, 0)]
    assert scene.surrounding_names == ("table", "wall", "wall2")
    assert scene.surroundings[1] == sg.description.Wall(point=(-0.4, 0, 0), normal=(1, 0, 0))
    assert scene.lift is None


def test_a_table_and_a_lift_can_be_left_out(run: Run) -> None:
    ran = run("grasp", "demo_soft", "--no-lift", "--no-table", "--duration", "0.02", *QUICK,
              "--json")  # fmt: skip
    assert ran.json["scene"]["surroundings"] == []
    ran = run("grasp", "demo_soft", "--lift", "--no-table", *QUICK)
    assert ran.code == 2
    assert ran.err == (
        "softgrasp: error: --no-table: expected a table to lift from, found --lift\n"
    )


def test_a_hold_test_can_take_the_place_of_a_lift_under_another_gravity(run: Run) -> None:
    words = ("grasp", "demo_soft", "--duration", "0.02", *QUICK)
    held = scene_of(run, *words, "--no-lift", "--hold", "--no-gravity", "--wall", "-1,0,0,1,0,0")
    assert (held.lift, held.gravity) == (None, (0, 0, 0))
    assert held.success == sg.SuccessCriterion()
    assert held.surrounding_names == ("table", "wall")
    moon = scene_of(run, *words, "--gravity-vector", "0", "0", "-1.62")
    assert moon.lift == sg.description.Lift()
    assert moon.gravity == (0, 0, -1.62)


def test_gravity_of_any_direction(run: Run) -> None:
    words = ("--gravity-vector", "0", "-3", "-1")
    closing = scene_of(run, *SHORT, *words)
    assert closing.gravity == (0, -3, -1)
    assert closing.success is None
    both = scene_of(run, *SHORT, *words, "--hold")
    assert both.success is not None
    assert both.gravity == both.success.gravity == (0, -3, -1)
    held = scene_of(run, *SHORT, *words, "--hold", "--no-gravity")
    assert held.success is not None
    assert held.gravity == (0, 0, 0)
    assert held.success.gravity == (0, -3, -1)
    assert scene_of(run, *SHORT, "--gravity").gravity == (0, 0, -9.81)


def test_self_contact_can_be_left_out(run: Run) -> None:
    assert scene_of(run, *SHORT, "--no-self-contact").self_contact is False
    assert scene_of(run, *SHORT).self_contact is True
    meet = ("grasp", "fingers_meet", "--no-hold", *QUICK, "--json")
    forces = [
        sum(contact["normal_force_N"] > 0 for contact in run(*meet, *more).json["contacts"])
        for more in ((), ("--no-self-contact",))
    ]
    assert forces == [5, 9]  # the middle phalanges of opposite fingers pass through each other


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (
            ("--object", "sphere"),
            "--object: expected NAME@X,Y,Z with metres, such as sphere@0.05,0,-0.085, found "
            "'sphere'",
        ),
        (
            ("--object", "sphere@1,2"),
            "--object: expected NAME@X,Y,Z with metres, such as sphere@0.05,0,-0.085, found "
            "'sphere@1,2'",
        ),
        (
            ("--wall", "1,2,3"),
            "--wall: expected X,Y,Z,NX,NY,NZ, the centre of its face [m] and the normal out of it, "
            "such as -0.05,0,-0.08,1,0,0, found '1,2,3'",
        ),
        (
            ("--object", "sphere_25@0,0.05,-0.085"),
            "expected a start without overlaps, found object 'sphere' 5.00 "
            "mm inside object 'sphere_25'; move one of them",
        ),
        (
            ("--wall", "0,0.015,-0.085,0,-1,0", "--set", "surroundings[0].size=[0.02,0.02]"),
            "expected a start without overlaps, found object 'sphere' "
            "15.00 mm inside the wall; move one of them",
        ),
    ],
)
def test_mistakes_end_with_2_and_one_sentence(
    run: Run, words: tuple[str, ...], sentence: str
) -> None:
    ran = run(*SHORT, *words)
    assert ran.code == 2
    assert ran.err == f"softgrasp: error: {sentence}\n"


def test_an_object_that_does_not_exist(run: Run) -> None:
    ran = run(*SHORT, "--object", "sphare@1,0,0")
    assert ran.code == 2
    assert ran.err.startswith("softgrasp: error: no object 'sphare'; did you mean 'sphere'?")


def test_the_summary_tells_of_what_is_beside_and_around(run: Run) -> None:
    ran = run("grasp", "beside", *QUICK)
    lines = {line.split()[0]: line for line in ran.out.splitlines()}
    assert lines["beside"].startswith("beside    small moved ")
    assert "(evaluated: sphere; not evaluated: small moved " in lines["object"]
    assert lines["support"].startswith("support   small presses on table with 0.0497 N at the end")


def test_two_objects_are_listed_with_their_scene(run: Run) -> None:
    assert "large + small" in run("list", "scenes").out


def test_a_scene_with_surroundings_is_checked(run: Run) -> None:
    ran = run("check", "corner")
    assert ran.code == 0
    assert "surroundings: [table, left, right]" in ran.out
