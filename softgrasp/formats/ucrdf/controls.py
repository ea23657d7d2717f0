"""``<ros2_control>`` elements as plain data for a ``ControlSystem``."""

from __future__ import annotations

from typing import Any

from softgrasp.formats.ucrdf.elements import (
    Element,
    mistake,
    number_inside,
    only,
    present_attributes,
)

RANGE = ("initial_value", "min", "max")
"""Parameters of an interface that are kept."""


def control_tree(element: Element) -> dict[str, Any]:
    """Fields of a ``ControlSystem``.

    Raises:
        DescriptionError: Something stands twice, or a parameter that has to be a number is none.
    """
    tree: dict[str, Any] = {
        **present_attributes(element, "name", "type"),
        "joints": [_joint_tree(joint) for joint in element.findall("joint")],
    }
    hardware = only(element, "hardware")
    if hardware is not None:
        plugin = only(hardware, "plugin")
        if plugin is not None:
            tree["plugin"] = plugin.text or ""
        tree["params"] = [
            (part.get("name", ""), part.text or "") for part in hardware.findall("param")
        ]
    return tree


def _joint_tree(element: Element) -> dict[str, Any]:
    return {
        **present_attributes(element, "name"),
        "commands": [_interface(part) for part in element.findall("command_interface")],
        "states": [_interface(part) for part in element.findall("state_interface")],
    }


def _interface(element: Element) -> dict[str, Any]:
    params: dict[str, float] = {}
    for part in element.findall("param"):
        name = part.get("name", "")
        if name in params:
            raise mistake(part, "expected it once, found another")
        if name in RANGE:
            params[name] = number_inside(part)
    return {**present_attributes(element, "name"), **params}
