"""Parse ``<bendable>`` and ``<hydraulics>``, the elements that U(C)RDF adds to URDF.

Both are validated against the schema ``bendable.xsd`` before they are read.
"""

from __future__ import annotations

from typing import Any

from softgrasp.io.urdf.xml import check_schema, inertial_tree, origin_tree
from softgrasp.io.xml_elements import (
    Element,
    numbers,
    only,
    present_attributes,
    present_numbers,
)

WHOLE = ("links", "discs")
"""Attributes that are integers."""
OLD_FRAMES = {"wj": "webster"}
"""Earlier names of frame conventions."""


def bendable_tree(element: Element) -> dict[str, Any]:
    """Parse the fields of a ``Bendable``.

    Raises:
        DescriptionError: The schema does not allow the element.
    """
    check_schema(element)
    model = _child(element, "curvature/model")
    tree: dict[str, Any] = {
        "name": element.get("name"),
        "parent": _child(element, "parent").get("link"),
        "child": _child(element, "child").get("link"),
        "model": model.get("type"),
        "limits": _attributes(_child(model, "limits")),
        "backbone": _attributes(_child(model, "backbone")),
        "actuation": [
            {"type": part.tag, **_attributes(part)} for part in element.iterfind("actuation/*")
        ],
        **origin_tree(element),
        **inertial_tree(element),
    }
    if "degree" in model.attrib:
        tree["degree"] = int(model.attrib["degree"])
    if "frame" in model.attrib:
        frame = str(model.get("frame"))
        tree["frame"] = OLD_FRAMES.get(frame, frame)
    return tree


def hydraulics_tree(robot: Element) -> dict[str, Any]:
    """Parse the field ``hydraulics`` of a robot; empty if there is none.

    Raises:
        DescriptionError: It is duplicated, or the schema does not allow it.
    """
    element = only(robot, "hydraulics")
    if element is None:
        return {}
    check_schema(element)
    tree: dict[str, Any] = {
        "drive": {str(part.tag): _part(part) for part in element.iterfind("drive/*")}
    }
    if "segments" in element.attrib:
        tree["segments"] = int(element.attrib["segments"])
    load, gravity = element.find("tip_load"), element.find("gravity")
    if load is not None:
        vectors = [key for key in ("force", "moment") if key in load.attrib]
        tree["tip_load"] = present_attributes(load, "frame") | {
            key: numbers(load, key, 3) for key in vectors
        }
    if gravity is not None:
        tree["gravity"] = numbers(gravity, "xyz", 3)
    return {"hydraulics": tree}


def _part(element: Element) -> dict[str, Any]:
    """Return the attributes of a part of the hydraulic drive, validated by the schema."""
    names = [str(name) for name in element.attrib if name != "flow"]
    return present_numbers(element, *names) | present_attributes(element, "flow")


def _attributes(element: Element) -> dict[str, float | int]:
    """Return all attributes as numbers, validated by the schema."""
    values: dict[str, float | int] = dict(present_numbers(element, *map(str, element.attrib)))
    return values | {name: int(values[name]) for name in WHOLE if name in values}


def _child(element: Element, path: str) -> Element:
    """Return a child element, whose presence the schema has validated."""
    child = element.find(path)
    assert child is not None
    return child
