"""What an axis of a sweep is called in figures: its path with the unit that its field says."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from softgrasp.description.base import Description
from softgrasp.description.field_docs import field_docs
from softgrasp.description.objects import GraspObject
from softgrasp.description.success import SuccessCriterion
from softgrasp.sweeps.parameters import SHORT

if TYPE_CHECKING:
    from softgrasp.description.scene import GraspScene

_UNIT = re.compile(r"\[([^\[\]]+)\]")


def axis_label(scene: GraspScene, path: str) -> str:
    """The path of an axis, with its unit where there is one: ``object.density [kg/m³]``."""
    unit = unit_of(scene, path)
    return f"{path} [{unit}]" if unit else path


def unit_of(scene: GraspScene, path: str) -> str:
    """The unit of a field of a scene, as the text under it in the source says.

    Empty where that names none, or several of which one is meant, and where the path names no
    field.
    """
    owner, field, node = None, "", scene
    for part in re.findall(r"\w+", SHORT.get(path, path).replace("[*]", "[0]")):
        owner, field, node = _step(owner, field, node, part)
    doc = field_docs(type(owner)).get(field, "") if isinstance(owner, Description) else ""
    match = _UNIT.search(doc)
    return "" if match is None or " or " in match[1] else match[1]


def _step(owner: Any, field: str, node: Any, part: str) -> tuple[Any, str, Any]:
    """One part farther down a path: whose field it is, which one, and what it holds."""
    if part.isdigit():
        inside = isinstance(node, tuple | list) and int(part) < len(node)
        return owner, field, node[int(part)] if inside else None
    if isinstance(node, GraspObject) and part not in GraspObject.model_fields:
        node = node.shape  # whose fields may stand at the object
    defaults = {"contact": getattr(node, "requested_contact", None), "success": SuccessCriterion()}
    held = getattr(node, part, None)
    return node, part, defaults.get(part) if held is None else held
