"""From a field of a ``Robot`` to the XML element that it was read from."""

from __future__ import annotations

from softgrasp.errors import DescriptionError
from softgrasp.formats.ucrdf.elements import Element, mistake

LISTS = {
    "links": "link",
    "joints": "joint",
    "bendables": "bendable",
    "control": "ros2_control",
    "visuals": "visual",
    "collisions": "collision",
    "actuation": "actuation/*",
    "params": "hardware/param",
    "commands": "command_interface",
    "states": "state_interface",
}
"""Elements of a field that is a list."""
INSIDE = {
    "limits": "curvature/model/limits",
    "backbone": "curvature/model/backbone",
    "model": "curvature/model",
    "degree": "curvature/model",
    "frame": "curvature/model",
    "shape": "geometry/*",
    "rgba": "material/color",
    "lower": "limit",
    "upper": "limit",
    "effort": "limit",
    "velocity": "limit",
    "damping": "dynamics",
    "friction": "dynamics",
    "plugin": "hardware/plugin",
    "min": "param[@name='min']",
    "max": "param[@name='max']",
    "initial_value": "param[@name='initial_value']",
}
"""Elements of a field that is one; a field that is not named here has an element of its name."""


def placed(error: DescriptionError, robot: Element) -> DescriptionError:
    """The error at the element of the field that it complains about, or at the nearest around it.

    Args:
        error: An error of ``Robot``.
        robot: The ``<robot>`` that it was read from.
    """
    if not error.location and error.field:  # about what was asked for, not about the file
        return error
    element = owner = robot
    listed = name = ""
    for part in error.location:
        if isinstance(part, str):
            owner, listed = element, LISTS.get(part, "")
            inner = None if part in element.attrib else element.find(INSIDE.get(part, part))
            element = element if inner is None else inner
            name = "" if listed else part
        elif listed:
            element, listed = owner.findall(listed)[part], ""
    is_named = name in (element.tag, element.get("name"))
    error_located = mistake(element, error.message, "" if is_named else name)
    return DescriptionError(
        error_located.message,
        line=error_located.line,
        field=error_located.field,
        location=error.location,
        value=error.actual,
    )
