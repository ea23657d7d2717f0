"""``<hydraulics>`` elements as plain data for a ``Hydraulics``."""

from __future__ import annotations

from typing import Any

from softgrasp.formats.ucrdf.elements import (
    Element,
    numbers,
    only,
    present_attributes,
    present_numbers,
)
from softgrasp.formats.ucrdf.schema import check_schema


def hydraulics_tree(robot: Element) -> dict[str, Any]:
    """The field ``hydraulics`` of a robot, nothing where there is none.

    Raises:
        DescriptionError: It stands twice, or the schema does not allow it.
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
    """Attributes of a part of the drive; the schema has allowed them."""
    names = [str(name) for name in element.attrib if name != "flow"]
    return present_numbers(element, *names) | present_attributes(element, "flow")
