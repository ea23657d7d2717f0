"""Fields of a scene by their path in text."""

from __future__ import annotations

import pytest

import softgrasp as sg
from softgrasp.description.scene import with_field
from tests.support.scenes import pinch


@pytest.fixture(scope="module")
def scene() -> sg.GraspScene:
    return pinch()


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("seed", 7),
        ("closure.samples", 5),
        ("hand.fingers[1].phalanges[2].radius", 0.01),
        ("object.shape.radius", 0.02),
        ("hand.grasps.precision.rates", [1.0, 0.2, 0.1]),
        ("gravity", (0.0, 0.0, -1.0)),
    ],
)
def test_only_the_named_field_changes(scene: sg.GraspScene, path: str, value: object) -> None:
    changed = with_field(scene, path, value)
    assert with_field(changed, path, _value(scene, path)) == scene
    assert changed != scene
    kept = set(sg.GraspScene.model_fields) - {path.partition(".")[0]}
    assert all(getattr(changed, name) == getattr(scene, name) for name in kept)


def _value(scene: sg.GraspScene, path: str) -> object:
    return eval(f"scene.{path}", {"scene": scene})


def test_unset_contact_and_criterion_start_from_their_defaults(scene: sg.GraspScene) -> None:
    slippery = sg.description.Material(name="ice", static_friction=0.1)
    icy = scene.replace(object=scene.object.replace(material=slippery))
    damped = with_field(icy, "contact.damping", 500)
    assert damped.contact.specified == {"damping": 500}
    assert damped.requested_contact == sg.Contact(damping=500, static_friction=0.1)
    held = with_field(scene, "success.max_drop", 1e-3)
    assert held.success == sg.SuccessCriterion(max_drop=1e-3)


def test_fields_can_be_unset(scene: sg.GraspScene) -> None:
    assert with_field(scene.replace(timestep=1e-4), "timestep", None) == scene


@pytest.mark.parametrize(
    ("path", "value", "sentence"),
    [
        ("contct", 1, "contct: no such field; did you mean 'contact'? known: "),
        ("friction", 1, "friction: no such field; did you mean 'contact.static_friction'?"),
        ("radius", 1, "radius: no such field; did you mean 'object.shape.radius'?"),
        ("object.radius", 1, "object.radius: no such field; did you mean 'object.shape.radius'?"),
        ("hand.fingers[9].name", "x", "hand.fingers: expected an item from [0] to [3], found [9]"),
        ("seed[0]", 1, "seed: it is not a list, so it has no item [0]"),
        ("seed.x", 1, "seed: it has no field 'x'"),
        ("closure.rates[0]", 1, "closure.rates: it is not set; set it as a whole first, as "
         "closure.rates=… does"),
        ("a..b", 1, "expected a field such as contact.damping or hand.fingers[0].name, found "
         "'a..b'"),
        ("", 1, "expected a field such as contact.damping or hand.fingers[0].name, found ''"),
        ("object.mass", 1.0, "object: expected exactly one of mass and density, found both"),
        ("closure.samples", 0, "closure.samples: expected a number at least 1, found 0"),
    ],
)  # fmt: skip
def test_unknown_paths_and_wrong_values_are_refused(
    scene: sg.GraspScene, path: str, value: object, sentence: str
) -> None:
    with pytest.raises(sg.DescriptionError) as message:
        with_field(scene, path, value)
    assert str(message.value).startswith(sentence)
