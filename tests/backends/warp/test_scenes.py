"""What the backend warp refuses, and which scenes it simulates together; no Warp is needed."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError

import mujoco
import numpy as np
import pytest

import softgrasp as sg
from softgrasp.backends.warp import scenes
from softgrasp.description.scene import with_field
from softgrasp.errors import BackendUnavailable, BuildError
from softgrasp.model import Family
from softgrasp.pipeline import compile_scene
from tests.conftest import Golden


def scene(obj: str = "sphere", hand: str = "four_finger", **fields: object) -> sg.GraspScene:
    return sg.GraspScene(hand=sg.load_hand(hand), object=sg.load_object(obj), **fields)


def test_a_missing_installation_is_named(monkeypatch):
    def missing(name: str) -> str:
        raise PackageNotFoundError(name)

    monkeypatch.setattr(scenes, "version", missing)
    with pytest.raises(BackendUnavailable, match=r"needs mujoco-warp: pip install 'softgrasp\[gpu"):
        sg.simulate(scene(), "warp")


def test_another_version_than_that_of_mujoco_is_refused(monkeypatch):
    monkeypatch.setattr(scenes, "version", lambda name: "2.9.0")
    expected = rf"mujoco-warp {mujoco.__version__}, the version of MuJoCo, found 2.9.0"
    with pytest.raises(BackendUnavailable, match=expected):
        sg.simulate(scene(), "warp")


@pytest.mark.parametrize(
    ("fields", "sentence"),
    [
        ({"hand": "soft_gripper"}, "hand.soft_fingers: the backend warp has no soft"),
        ({"hand": "suction_cup"}, "hand.fingers: the backend warp has no suction cups"),
        ({"lift": sg.description.Lift(), "gravity": (0.0, 0.0, -9.81)}, "lift: the backend warp"),
        ({"actuation": "prescribed"}, "actuation: the backend warp has no prescribed"),
        ({"object_mount": "fixed"}, "object_mount: the backend warp has no fixed"),
        ({"success": sg.SuccessCriterion(directions=((1.0, 0.0, 0.0),))}, "success: the backend"),
        ({"closure": {"type": "force-limited"}}, "closure.stop_force: the backend warp has no"),
    ],
)
def test_unsupported_features_are_named_with_the_backend_that_has_them(
    fields, sentence, golden: Golden
):
    with pytest.raises(BuildError) as error:
        scenes.require_supported(scene(**fields))
    golden(error.value, sentence)
    assert str(error.value).endswith("use the backend mujoco")


def test_scenes_that_differ_in_numbers_are_in_one_batch_and_others_are_not():
    first = scene()
    heavy = with_field(with_field(first, "object.density", 900.0), "object.shape.radius", 0.033)
    rough = with_field(first, "contact.static_friction", 0.5)
    tested = scene(success=sg.SuccessCriterion())
    built = [compile_scene(item) for item in (first, scene("cuboid"), heavy, tested, rough)]
    assert scenes.groups(built) == [[0, 2, 4], [1], [3]]


def test_a_number_without_a_value_per_world_separates_scenes():
    built = [compile_scene(scene()), compile_scene(scene())]
    built[1].model.geom_margin[:] = 1e-3
    assert scenes.groups(built) == [[0], [1]]


def test_rows_of_a_family_are_the_worlds_of_their_compiled_scenes():
    """No model is compiled for a row, and each has the numbers that its own model would have."""
    contact = {"critical_velocity": 1e-3, "dynamic_friction": 0.3}
    resolved = sg.resolve(scene(contact=contact, success=sg.SuccessCriterion()))
    family = Family(resolved, {
        "object.density": [300.0, 700.0, 2000.0],
        "contact.static_friction": [0.3, 0.9, 0.6],
    }, exact=False)  # fmt: skip
    ours = scenes.of_family(family, [0, 1, 2])
    theirs = scenes.join([scenes.world(family.compiled(row)) for row in range(3)])
    assert set(theirs.arrays) <= set(ours.arrays)
    for name, values in ours.arrays.items():
        expected = [getattr(family.compiled(row).model, name) for row in range(3)]
        assert np.allclose(values, expected, rtol=1e-12, atol=0.0), name
    switching = theirs.numbers["critical"] >= 0.0
    assert switching.any(axis=1).tolist() == [False, True, True]
    for name, values in theirs.numbers.items():
        same = np.broadcast_to(ours.numbers[name], values.shape) == values
        assert (same | ~switching[..., None] if name == "coefficients" else same).all(), name
