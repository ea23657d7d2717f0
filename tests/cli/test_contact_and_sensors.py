"""Contact models and sensors on the command line."""

from __future__ import annotations

import pytest

import softgrasp as sg
from tests.conftest import QUICK, Run


def test_what_can_be_named_is_listed(run: Run) -> None:
    models = run("list", "contact-models", "--json").json
    assert [row["name"] for row in models] == ["compliant", "soft-finger", "native", "deformable"]
    sensors = run("list", "sensors", "--json").json
    assert [row["name"] for row in sensors] == ["tactile", "force", "wrist", "joints"]


@pytest.mark.parametrize("model", ["soft-finger", "native", "deformable"])
def test_a_grasp_by_each_model(run: Run, model: str) -> None:
    words = ("four_finger", "sphere", "--grasp", "precision", "--contact-model", model)
    done = run("grasp", *words, *QUICK, "--out", "o")
    assert done.code == 0
    scene = sg.load_result("o").scene
    if model == "deformable":
        assert scene.object.elasticity == sg.description.Elasticity(young=1e5)
        assert "contact stiffness not requested" in done.out
    else:
        assert scene.requested_contact.model == model


def test_sensors_by_name(run: Run) -> None:
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


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (
            ("--contact-model", "natve"),
            "no contact model 'natve'; did you mean 'native'? known: compliant, deformable, "
            "native, soft-finger",
        ),
        (
            ("--sensor", "tactil"),
            "--sensor: no sensor 'tactil'; did you mean 'tactile'? known: force, joints, tactile, "
            "wrist",
        ),
        (
            ("--sensor", "wrist:palm"),
            "--sensor: expected a body after a colon for tactile and force only, found "
            "'wrist:palm'",
        ),
    ],
)
def test_wrong_names_are_told(run: Run, words: tuple[str, ...], message: str) -> None:
    done = run("grasp", "four_finger", "sphere", *words, *QUICK)
    assert done.code == 2
    assert " ".join(done.err.split()) == f"softgrasp: error: {message}"


def test_the_same_grasp_again_has_the_same_hash(run: Run) -> None:
    words = ("--contact-model", "deformable", "--sensor", "tactile")
    run("grasp", "four_finger", "sphere", "--grasp", "precision", *words, *QUICK, "--out", "o")
    assert run("rerun", "o").code == 0
