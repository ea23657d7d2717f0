"""Contacts from what several sources specify: each field has the first source that does."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import softgrasp as sg
from softgrasp.description.contact import (
    Contact,
    ContactOverride,
    NativeLaw,
    Patch,
    Source,
    SourceValues,
    resolve_contact,
    resolve_fields,
)
from softgrasp.description.object import Block, Material, PlacedObject, Table
from softgrasp.description.scene import with_field
from softgrasp.errors import DescriptionError

VALUES: dict[str, Any] = {
    "model": st.sampled_from(["compliant", "soft-finger", "native"]),
    "stiffness": st.floats(1e3, 1e6),
    "damping": st.floats(1.0, 1e3),
    "critical_velocity": st.floats(1e-4, 1e-2),
    "torsional_friction": st.floats(0.0, 0.01),
    "rolling_friction": st.floats(0.0, 0.01),
    "patch": st.builds(Patch, radius=st.floats(1e-3, 1e-2)),
    "native": st.builds(NativeLaw, timeconst=st.floats(1e-3, 0.1)),
}
FRICTION = {"static_friction": st.floats(0.5, 1.0), "dynamic_friction": st.floats(0.0, 0.5)}
SOURCES: tuple[Source, ...] = ("pair", "said", "hand file", "material")
OVERRIDES = st.builds(
    ContactOverride, **{name: st.none() | value for name, value in (VALUES | FRICTION).items()}
)


def test_an_override_has_the_fields_of_a_contact() -> None:
    assert ContactOverride.model_fields.keys() == Contact.model_fields.keys()
    assert ContactOverride().specified == {}


@pytest.mark.slow
@settings(max_examples=200, deadline=None, derandomize=True)
@given(st.lists(OVERRIDES, min_size=4, max_size=4))
def test_each_field_is_that_of_the_first_source_that_specifies_it(overrides: list[Any]) -> None:
    specified = [
        SourceValues(name, override.specified)
        for name, override in zip(SOURCES, overrides, strict=True)
    ]
    fields, contact = resolve_fields(specified), resolve_contact(specified)
    for name in VALUES:
        values = [getattr(override, name) for override in overrides]
        first = next((k for k, value in enumerate(values) if value is not None), None)
        expected = getattr(Contact(), name) if first is None else values[first]
        assert getattr(contact, name) == expected == fields[name].value
        assert fields[name].source == ("default" if first is None else SOURCES[first])
    ranks = [
        next((k for k, override in enumerate(overrides) if getattr(override, name) is not None), 4)
        for name in FRICTION
    ]
    assert (contact.dynamic_friction is not None) == (ranks[1] <= ranks[0] and ranks[1] < 4)


def scene_with_three_frictions() -> sg.GraspScene:
    ball = sg.load_object("sphere")
    rubber = ball.replace(name="rubber", material=Material(name="rubber", static_friction=0.9))
    ice = ball.replace(name="ice", material=Material(name="ice", static_friction=0.05))
    return sg.GraspScene(
        hand=sg.load_hand("four_finger"),
        object=rubber,
        objects=(PlacedObject(object=ice, position=(0.2, 0, 0)),),
        surroundings=(
            Table(contact=Contact(static_friction=0.3)),
            Block(size=(0.1, 0.1, 0.1), position=(0.5, 0, 0)),
        ),
    )


def test_one_number_of_the_scene_leaves_the_others_to_their_sources() -> None:
    plain = scene_with_three_frictions()
    scene = with_field(plain, "contact.damping", 310.0)
    table, block = scene.surroundings
    contacts = [scene.contact_of(0), scene.contact_of(1), scene.contact_of(0, table)]
    assert [contact.static_friction for contact in contacts] == [0.9, 0.05, 0.3]
    assert {contact.damping for contact in scene.requested_contacts} == {310.0}
    assert scene.contact_of(1, table).static_friction == 0.3
    assert scene.contact_of(1, block) == scene.contact_of(1)
    assert plain.contact_of(0).damping == Contact().damping


def test_a_field_is_written_alone() -> None:
    scene = scene_with_three_frictions()
    for path, value in (
        ("contact.damping", 310.0),
        ("contact.patch.radius", 0.004),
        ("hand.contact.stiffness", 2e4),
        ("objects[0].contact.damping", 200.0),
    ):
        changed = with_field(scene, path, value)
        before, after = scene.model_dump(), changed.model_dump()
        head, rest = path.split(".", 1)
        assert {name for name in before if before[name] != after[name]} == {head.split("[")[0]}
        if head == "hand":
            assert changed.hand.contact.specified == {rest.split(".")[1]: value}


def test_a_static_coefficient_is_the_dynamic_one_too() -> None:
    teflon = Material(name="teflon", static_friction=0.5, dynamic_friction=0.3)
    scene = sg.GraspScene(
        hand=sg.load_hand("four_finger"), object=sg.load_object("sphere").replace(material=teflon)
    )
    assert scene.requested_contact.kinetic_friction == 0.3
    for friction in (0.2, 0.8):
        contact = with_field(scene, "contact.static_friction", friction).requested_contact
        assert (contact.static_friction, contact.kinetic_friction) == (friction, friction)
    slower = with_field(scene, "contact.dynamic_friction", 0.1).requested_contact
    assert (slower.static_friction, slower.kinetic_friction) == (0.5, 0.1)
    with pytest.raises(DescriptionError, match=r"at most static_friction 0\.5") as caught:
        _ = with_field(scene, "contact.dynamic_friction", 0.6).requested_contact
    assert caught.value.field == "contact.dynamic_friction"


def test_a_contact_specifies_the_fields_that_it_was_made_with() -> None:
    scene = scene_with_three_frictions().replace(contact=Contact(damping=250.0))
    assert scene.contact.specified == {"damping": 250.0}
    assert scene.replace(contact=None).contact == ContactOverride()
    assert scene.replace(contact=Contact().replace(damping=250.0)).contact == scene.contact
    whole = scene.requested_contact.replace(damping=250.0)  # a merged contact states everything
    assert scene.replace(contact=whole).contact_of(1).static_friction == 0.9
