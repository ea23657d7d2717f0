"""The facts about nodes: they hang together, and agree with a second transcription."""

from __future__ import annotations

import math

import pytest
from ruamel.yaml import YAML

from softgrasp.backends.wbt import Node, default, parse_world, value
from softgrasp.backends.wbt.schema import allowed, fields, node_types, slot
from softgrasp.backends.wbt.tokens import Cursor, plain_text, read_value
from tests.support.outside import outside_file

SLOTS = (
    *("world", "children", "geometry", "end point"),
    *("bounding object", "bounding children", "bounding geometry"),
)
NOT_COMPARED = {
    "ContactProperties.maxContactPoints": "never in a release",
    "ContactProperties.bumpSound": "addresses differ between releases",
    "ContactProperties.rollSound": "addresses differ between releases",
    "ContactProperties.slideSound": "addresses differ between releases",
}


@pytest.mark.parametrize("name", SLOTS)
def test_node_fields_take_nodes_that_exist(name: str):
    assert set(slot(name)) <= set(node_types())


@pytest.mark.parametrize("node_type", node_types())
def test_fields_that_hold_nodes_name_nodes_that_exist(node_type: str):
    for key, facts in fields(node_type).items():
        holds_nodes = facts.type.endswith("Node")
        assert holds_nodes == (facts.words != () and set(facts.words) <= set(node_types())), key


@pytest.mark.parametrize("node_type", node_types())
def test_defaults_are_values_of_their_fields(node_type: str):
    for key, facts in fields(node_type).items():
        if facts.type.endswith("Node"):
            assert facts.default == ([] if facts.type == "MFNode" else None)
            continue
        read = read_value(Cursor(plain_text(facts.default), "facts.wbt"), facts, key)
        assert read == facts.default
        assert type(read) is type(facts.default)


def test_a_field_that_is_not_specified_has_its_default():
    node = Node("Sphere", {"subdivision": 3})
    assert value(node, "subdivision") == 3
    assert value(node, "radius") == default("Sphere", "radius") == 1.0
    with pytest.raises(KeyError):
        value(node, "size")


def test_a_default_list_is_nobody_elses():
    node = parse_world("#VRML_SIM R2025a utf8\nSolid { }").nodes[0]
    value(node, "children").append(node)
    assert value(node, "children") == []


def test_properties_agree_with_a_second_transcription():
    path = outside_file("webots_nodes.yaml")
    other = YAML(typ="safe", pure=True).load(path.read_text(encoding="utf-8"))["nodes"]
    assert set(other) <= set(node_types())
    for node_type, node in other.items():
        for key, (kind, given, *_) in node["fields"].items():
            if f"{node_type}.{key}" in NOT_COMPARED:
                continue
            facts = fields(node_type)[key]
            assert facts.type == kind, (node_type, key)
            assert _same_default(given, facts.default), (node_type, key)


def test_node_fields_agree_with_a_second_transcription():
    path = outside_file("webots_nodes.yaml")
    other = YAML(typ="safe", pure=True).load(path.read_text(encoding="utf-8"))["slots"]
    # Webots itself (WbNodeUtilities) takes joints inside solids only
    assert set(other.pop("world")) - set(slot("world")) == {"HingeJoint", "SliderJoint"}
    motors = {"HingeJoint": "LinearMotor", "SliderJoint": "RotationalMotor"}
    for position, types in other.items():
        outer, key = position.split(".")
        for node_type in motors if outer == "Joint" else (outer,):
            missing = set(types) - set(allowed(node_type, key))
            assert missing == ({motors[node_type]} if key == "device" else set()), position


def _same_default(text: str, held: object) -> bool:
    """Whether a default in words, such as ``[ 0 0 0, 1 1 1 ]``, is this one."""
    if isinstance(held, str):
        return text == held
    if isinstance(held, bool) or held is None:
        return text == {True: "TRUE", False: "FALSE", None: "NULL"}[held]
    return [float(part) for part in text.strip("[] ").replace(",", " ").split()] == _flat(held)


def _flat(held: object) -> list[float]:
    if isinstance(held, list | tuple):
        return [number for item in held for number in _flat(item)]
    assert isinstance(held, int | float)
    assert math.isfinite(held)
    return [float(held)]
