"""``<joint>`` elements as plain data for a ``RigidJoint``."""

from __future__ import annotations

from typing import Any

from softgrasp.formats.ucrdf.bendables import origin_tree
from softgrasp.formats.ucrdf.elements import (
    Element,
    mistake,
    numbers,
    only,
    present_attributes,
    present_numbers,
)

BOUNDED = ("revolute", "prismatic")


def joint_tree(element: Element) -> dict[str, Any]:
    """Fields of a ``RigidJoint``.

    A limit that is not given beside the other one is 0, as URDF defines it.

    Raises:
        DescriptionError: Something in it is missing, stands twice, or holds no number.
    """
    kind = element.get("type")
    tree: dict[str, Any] = {**present_attributes(element, "name", "type"), **origin_tree(element)}
    tree |= {end: _link(element, end) for end in ("parent", "child")}
    axis = only(element, "axis")
    if axis is not None and "xyz" in axis.attrib:
        tree["axis"] = numbers(axis, "xyz", 3)
    limit = present_numbers(only(element, "limit"), "lower", "upper", "effort", "velocity")
    if kind in BOUNDED and ("lower" in limit or "upper" in limit):
        limit = {"lower": 0.0, "upper": 0.0} | limit
    tree |= limit | present_numbers(only(element, "dynamics"), "damping", "friction")
    mimic = only(element, "mimic")
    if mimic is not None:
        tree["mimic"] = present_attributes(mimic, "joint") | present_numbers(
            mimic, "multiplier", "offset"
        )
    return tree


def _link(element: Element, end: str) -> str:
    child = only(element, end)
    if child is None:
        raise mistake(element, f"expected <{end}> inside, found none")
    if "link" not in child.attrib:
        raise mistake(child, "this attribute is missing; expected the name of a link", "link")
    return str(child.get("link"))
