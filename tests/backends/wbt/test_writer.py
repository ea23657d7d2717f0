"""Nodes as text, and back."""

from __future__ import annotations

import math
import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from softgrasp.backends.wbt import Node, Value, parse_world, read_world, world_text
from softgrasp.backends.wbt.schema import FieldType, allowed, fields, slot
from softgrasp.backends.wbt.tokens import WIDTH, plain_text
from softgrasp.errors import DescriptionError
from tests.backends.wbt.pinch import FILE, GOOD

DEEPEST = 4
FLOATS = st.floats(allow_nan=False, allow_infinity=False).map(lambda number: number + 0.0)
"""Without -0, which is written as 0."""
PARTS = st.floats(0, 1).map(lambda number: number + 0.0)


def test_a_world_that_was_written_is_written_the_same_again():
    assert world_text(read_world(FILE).nodes) == GOOD


def axes() -> st.SearchStrategy[tuple[float, ...]]:
    """Axes of length 1 and angles."""

    def rotated(tilt: float, rotation: float, angle: float) -> tuple[float, ...]:
        flat = math.sin(tilt)
        return (flat * math.cos(rotation), flat * math.sin(rotation), math.cos(tilt), angle)

    return st.builds(rotated, st.floats(0.01, 3), st.floats(0.01, 3), FLOATS)


def plain(kind: str, facts: FieldType) -> st.SearchStrategy[Value]:
    """Values of a type that holds no nodes."""
    if kind.startswith("MF"):
        return st.lists(plain("SF" + kind[2:], facts), max_size=40)
    if kind == "SFString":
        return st.sampled_from(facts.words) if facts.words else st.text()
    return {
        "SFBool": st.booleans(),
        "SFInt32": st.integers(-(2**31) + 1, 2**31 - 1),
        "SFFloat": FLOATS,
        "SFVec2f": st.tuples(FLOATS, FLOATS),
        "SFVec3f": st.tuples(FLOATS, FLOATS, FLOATS),
        "SFColor": st.tuples(PARTS, PARTS, PARTS),
        "SFRotation": axes(),
    }[kind]


class Maker:
    """Makes trees of nodes that the facts allow; some nodes stand in several places."""

    def __init__(self, draw: st.DrawFn) -> None:
        self.draw, self.named = draw, list[Node]()

    def node(self, types: tuple[str, ...], depth: int, *, bounding: bool = False) -> Node:
        used = [node for node in self.named if node.type in types]
        if used and self.draw(st.booleans()):
            return self.draw(st.sampled_from(used))
        node = Node(self.draw(st.sampled_from(types)))
        keys = self.draw(
            st.lists(st.sampled_from(list(fields(node.type))), unique=True, max_size=5)
        )
        for key in keys:
            inside = bounding or key == "boundingObject"
            node.fields[key] = self.value(node.type, key, depth, bounding, inside)
        if self.draw(st.booleans()):
            node.name = f"N{len(self.named)}"
            self.named.append(node)
        return node

    def value(self, node_type: str, key: str, depth: int, bounding: bool, inside: bool) -> Value:
        facts = fields(node_type)[key]
        if not facts.type.endswith("Node"):
            return self.draw(plain(facts.type, facts))
        types = allowed(node_type, key, bounding=bounding)
        count = self.draw(st.integers(0, 2)) if depth else 0
        held = [self.node(types, depth - 1, bounding=inside) for _ in range(count)]
        if facts.type == "MFNode":
            return list[Value](held)
        return held[0] if held else None


@st.composite
def trees(draw: st.DrawFn) -> list[Node]:
    maker = Maker(draw)
    return [maker.node(slot("world"), DEEPEST) for _ in range(draw(st.integers(1, 3)))]


def bits(value: Value) -> object:
    """A value that differs where any bit of it does."""
    if isinstance(value, float):
        return struct.pack("d", value)
    if isinstance(value, list | tuple):
        return type(value), [bits(item) for item in value]
    return type(value), value


def check_same(first: Value, second: Value, pairs: dict[int, Node]) -> None:
    """Trees are equal, bit for bit, and the same nodes are used again."""
    if isinstance(first, list) and any(isinstance(item, Node) for item in first):
        assert isinstance(second, list)
        for left, right in zip(first, second, strict=True):
            check_same(left, right, pairs)
    elif isinstance(first, Node):
        assert isinstance(second, Node)
        if first.name:
            assert pairs.setdefault(id(first), second) is second
        assert (first.type, first.name, list(first.fields)) == (
            second.type,
            second.name,
            list(second.fields),
        )
        for key in first.fields:
            check_same(first.fields[key], second.fields[key], pairs)
    else:
        assert bits(first) == bits(second)


@given(trees())
def test_what_is_written_reads_back(nodes: list[Node]):
    text = world_text(nodes)
    back = parse_world(text).nodes
    pairs: dict[int, Node] = {}
    for first, second in zip(nodes, back, strict=True):
        check_same(first, second, pairs)
    assert len({id(node) for node in pairs.values()}) == len(pairs)
    assert world_text(back) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (1.0, "1"),
        (-0.0, "0"),
        (0.1, "0.1"),
        (1e-7, "1e-07"),
        (3, "3"),
        (True, "TRUE"),
        (None, "NULL"),
        ((1.0, 0.5), "1 0.5"),
        ([], "[ ]"),
        ([0.8], "[ 0.8 ]"),
        ([(1.0, 2.0), (3.0, -0.0)], "[ 1 2, 3 0 ]"),
        (['a "b"', "\\"], r'[ "a \"b\"" "\\" ]'),
    ],
)
def test_plain_values(value: Value, text: str):
    assert plain_text(value) == text


def test_long_lists_are_wrapped():
    points: list[Value] = [(index / 7, -index / 3, 0.0) for index in range(50)]
    text = world_text([Node("Shape", {"geometry": Node("Coordinate", {"point": points})})])
    assert max(map(len, text.splitlines())) <= WIDTH
    assert len(text.splitlines()) < 40


def test_a_name_that_two_nodes_have_is_used_of_the_later_one_only():
    first, second = Node("Shape", {"castShadows": False}, "A"), Node("Shape", {}, "A")
    text = world_text([Node("Group", {"children": [first, first, second, second, first]})])
    assert text.count("USE A") == 2
    back = parse_world(text).nodes[0].nodes("children")
    assert [node.fields for node in back] == [
        node.fields for node in (first, first, second, second, first)
    ]


def test_a_node_without_a_name_is_written_again():
    ball = Node("Sphere", {"radius": 0.5})
    solid = Node("Solid", {"children": [Node("Shape", {"geometry": ball})], "boundingObject": ball})
    assert world_text([solid]).count("Sphere { radius 0.5 }") == 2


def test_trees_that_are_too_deep_are_not_written():
    node = Node("Group")
    for _ in range(1500):
        node = Node("Group", {"children": [node]})
    with pytest.raises(DescriptionError, match="fewer nodes within one another"):
        world_text([node])


@pytest.mark.parametrize("number", [math.inf, -math.inf, math.nan])
def test_numbers_are_finite(number: float):
    with pytest.raises(DescriptionError) as caught:
        world_text([Node("WorldInfo", {"gravity": number})])
    assert str(caught.value) == f"expected finite numbers in a world, found {number}"


@pytest.mark.parametrize("name", ["left tip", "a#b", "3", "{", '"a"'])
def test_names_are_words(name: str):
    with pytest.raises(DescriptionError) as caught:
        world_text([Node("Group", {}, name)])
    assert str(caught.value) == f"expected one word as the name of a node, found '{name}'"
