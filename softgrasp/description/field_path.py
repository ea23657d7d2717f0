"""Fields of a scene by their path in text, such as ``hand.fingers[0].phalanges[1].radius``."""

from __future__ import annotations

import re
from typing import Any

from softgrasp.description.scene import GraspScene
from softgrasp.description.task import SuccessCriterion
from softgrasp.errors import DescriptionError, did_you_mean

Part = str | int
_NAME = r"[A-Za-z_]\w*(?:\[\d+\])*"
_PATH = re.compile(rf"{_NAME}(?:\.{_NAME})*")


def with_field(scene: GraspScene, path: str, value: Any) -> GraspScene:
    """A scene with one field changed, validated again.

    Args:
        scene: The scene.
        path: Names with dots, list items with numbers from 0 in brackets. A field inside
            ``contact`` or ``success`` can be named where the scene has left them to the defaults.
        value: The new value, as plain data.

    Raises:
        DescriptionError: There is no such field, or the value does not fit.
    """
    if not _PATH.fullmatch(path):
        raise DescriptionError(
            f"expected a field such as contact.damping or hand.fingers[0].name, found '{path}'"
        )
    parts: list[Part] = [int(text) if text.isdigit() else text for text in re.findall(r"\w+", path)]
    tree = scene.model_dump()
    defaults = {"contact": scene.requested_contact, "success": SuccessCriterion()}
    if len(parts) > 1 and tree.get(str(parts[0]), "") is None and parts[0] in defaults:
        tree[str(parts[0])] = defaults[str(parts[0])].model_dump()
    return GraspScene(**_replaced(tree, parts, value, ""))


def _replaced(node: Any, parts: list[Part], value: Any, done: str) -> Any:
    """A copy of a tree with the value at a path."""
    if not parts:
        return value
    if node is None:
        raise DescriptionError(
            f"it is not set; set it as a whole first, as {done}=… does", field=done
        )
    head, rest = parts[0], parts[1:]
    if isinstance(head, int):
        return _with_item(node, head, rest, value, done)
    here = f"{done}.{head}" if done else head
    if not isinstance(node, dict):
        raise DescriptionError(f"it has no field '{head}'", field=done)
    if head not in node:
        raise DescriptionError(f"no such field; {did_you_mean(head, node)}", field=here)
    return node | {head: _replaced(node[head], rest, value, here)}


def _with_item(node: Any, index: int, rest: list[Part], value: Any, done: str) -> Any:
    if not isinstance(node, list | tuple):
        raise DescriptionError(f"it is not a list, so it has no item [{index}]", field=done)
    if index >= len(node):
        raise DescriptionError(
            f"expected an item from [0] to [{len(node) - 1}], found [{index}]", field=done
        )
    items = list(node)
    items[index] = _replaced(items[index], rest, value, f"{done}[{index}]")
    return items
