"""``<bendable>`` elements as plain data for a ``Bendable``."""

from __future__ import annotations

from typing import Any

from softgrasp.formats.ucrdf.elements import (
    Element,
    mistake,
    number,
    numbers,
    only,
    present_numbers,
)
from softgrasp.formats.ucrdf.schema import check_schema

WHOLE = ("links", "discs")
"""Attributes that are whole numbers."""
OLD_FRAMES = {"wj": "webster"}
MOMENTS, PRODUCTS = ("ixx", "iyy", "izz"), ("ixy", "ixz", "iyz")


def bendable_tree(element: Element) -> dict[str, Any]:
    """Fields of a ``Bendable``.

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


def origin_tree(element: Element) -> dict[str, Any]:
    """The field ``origin`` of what has an ``<origin>``, nothing where there is none.

    Raises:
        DescriptionError: It stands twice, or does not hold three numbers.
    """
    origin = only(element, "origin")
    if origin is None:
        return {}
    origin_fields = {key: numbers(origin, key, 3) for key in ("xyz", "rpy") if key in origin.attrib}
    return {"origin": origin_fields}


def inertial_tree(element: Element) -> dict[str, Any]:
    """The field ``inertial`` of what has an ``<inertial>``, nothing where there is none.

    Raises:
        DescriptionError: A part is missing, stands twice, or holds something else than numbers.
    """
    inertial = only(element, "inertial")
    if inertial is None:
        return {}
    mass, inertia = only(inertial, "mass"), only(inertial, "inertia")
    tree = origin_tree(inertial)
    if mass is not None and "value" in mass.attrib:
        tree["mass"] = number(mass, "value")
    if inertia is not None:
        tree["inertia"] = _inertia(inertia)
    return {"inertial": tree}


def _inertia(element: Element) -> tuple[float, ...]:
    """Moments and products of inertia; products that are not given are 0."""
    values = present_numbers(element, *MOMENTS, *PRODUCTS)
    for name in MOMENTS:
        if name not in values:
            raise mistake(element, "this attribute is missing; expected a number", name)
    return tuple(values.get(name, 0.0) for name in (*MOMENTS, *PRODUCTS))


def _attributes(element: Element) -> dict[str, float | int]:
    """All attributes as numbers; the schema has allowed them."""
    values: dict[str, float | int] = dict(present_numbers(element, *map(str, element.attrib)))
    return values | {name: int(values[name]) for name in WHOLE if name in values}


def _child(element: Element, path: str) -> Element:
    """An element that the schema has seen."""
    child = element.find(path)
    assert child is not None
    return child
