"""What of URDF is kept; everything else in a file is named in a warning."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from difflib import get_close_matches
from typing import Any

from softgrasp.formats.ucrdf.controls import RANGE
from softgrasp.formats.ucrdf.elements import Element, line_of
from softgrasp.formats.ucrdf.links import drawable

ATTRIBUTES = "@"
"""Key of the attributes in a grammar; all other keys are the tags of children."""
MAX_LINES = 3
"""Lines that are named of one thing that is left out."""
OF_SCHEMA = ("bendable", "hydraulics")
"""Children of the robot that the schema judges."""

Grammar = Mapping[str, Any]


def _leaf(*attributes: str) -> Grammar:
    return {ATTRIBUTES: attributes}


_ORIGIN = _leaf("xyz", "rpy")
_SHAPE: Grammar = {
    ATTRIBUTES: ("name",),
    "origin": _ORIGIN,
    "geometry": {
        "box": _leaf("size"),
        "cylinder": _leaf("radius", "length"),
        "sphere": _leaf("radius"),
        "capsule": _leaf("radius", "length"),
        "mesh": _leaf("filename", "scale"),
    },
    "material": {ATTRIBUTES: ("name",), "color": _leaf("rgba")},
}
_LINK: Grammar = {
    ATTRIBUTES: ("name",),
    "inertial": {
        "origin": _ORIGIN,
        "mass": _leaf("value"),
        "inertia": _leaf("ixx", "iyy", "izz", "ixy", "ixz", "iyz"),
    },
    "visual": _SHAPE,
    "collision": _SHAPE,
}
_JOINT: Grammar = {
    ATTRIBUTES: ("name", "type"),
    "origin": _ORIGIN,
    "parent": _leaf("link"),
    "child": _leaf("link"),
    "axis": _leaf("xyz"),
    "limit": _leaf("lower", "upper", "effort", "velocity"),
    "dynamics": _leaf("damping", "friction"),
    "mimic": _leaf("joint", "multiplier", "offset"),
}
_INTERFACE: Grammar = {ATTRIBUTES: ("name",), "param": _leaf("name")}
_CONTROL: Grammar = {
    ATTRIBUTES: ("name", "type"),
    "hardware": {"plugin": {}, "param": _leaf("name")},
    "joint": {
        ATTRIBUTES: ("name",),
        "command_interface": _INTERFACE,
        "state_interface": _INTERFACE,
    },
}
_ROBOT: Grammar = {
    ATTRIBUTES: ("name", "version"),
    "source": {},
    "material": _SHAPE["material"],
    "link": _LINK,
    "joint": _JOINT,
    "ros2_control": _CONTROL,
}


def left_out(robot: Element) -> str:
    """What of a robot's file is not kept, in words, each with its first lines; "" for nothing.

    Args:
        robot: The ``<robot>``; its bendables and hydraulics are the schema's to judge.
    """
    lines: dict[str, list[int | None]] = {}
    for what, element in _unknown(robot, _ROBOT):
        lines.setdefault(what, []).append(line_of(element))
    return ", ".join(f"{what}{_in_lines(line_numbers)}" for what, line_numbers in lines.items())


def _in_lines(lines: list[int | None]) -> str:
    known = [str(line) for line in lines if line is not None]
    if not known:
        return ""
    word = "line" if len(known) == 1 else "lines"
    return f" ({word} {', '.join(known[:MAX_LINES])}{', …' if known[MAX_LINES:] else ''})"


def _unknown(element: Element, grammar: Grammar) -> Iterator[tuple[str, Element]]:
    kept = grammar.get(ATTRIBUTES, ())
    for name in map(str, element.attrib):
        if name not in kept:
            yield f"attribute {name} of <{element.tag}>{_near(name, kept)}", element
    children = [tag for tag in grammar if tag != ATTRIBUTES]
    for child in element.iterchildren("*"):
        tag = str(child.tag)
        if tag in OF_SCHEMA and element.tag == "robot":
            continue
        if tag not in children:
            yield f"<{tag}>{_near(tag, children)}", child
        elif tag == "visual" and not drawable(child):
            yield "<visual> with a mesh of another kind", child
        elif _is_other_param(child):
            yield f"<param name='{child.get('name')}'> of <{element.tag}>", child
        else:
            yield from _unknown(child, grammar[tag])


def _is_other_param(element: Element) -> bool:
    parent = element.getparent()
    of_interface = parent is not None and str(parent.tag).endswith("_interface")
    return element.tag == "param" and of_interface and element.get("name") not in RANGE


def _near(word: str, known: Any) -> str:
    near = get_close_matches(word, list(known), n=1)
    return f"; did you mean {near[0]}?" if near else ""
