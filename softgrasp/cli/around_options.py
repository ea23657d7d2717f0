"""From the words of a command line to further objects, walls, a table and gravity."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from softgrasp.description.base import Vec3
from softgrasp.description.objects import PlacedObject
from softgrasp.description.scene import GraspScene
from softgrasp.description.success import SuccessCriterion
from softgrasp.description.surroundings import Table, Wall
from softgrasp.errors import DescriptionError
from softgrasp.formats.load import load_object

Changes = dict[str, Any]
"""Fields of a scene."""


def pulled(gravity: Vec3, success: SuccessCriterion | None, *, closing: bool) -> Changes:
    """Gravity of any direction [m/s²], in the hold test, and while the hand closes."""
    changes: Changes = {"gravity": gravity} if closing else {}
    return changes if success is None else changes | {"success": success.replace(gravity=gravity)}


def around(
    scene: GraspScene, objects: Sequence[str], walls: Sequence[str], table: bool | None
) -> Changes:
    """Further objects and what stands around.

    Args:
        scene: The scene so far.
        objects: ``NAME@X,Y,Z``
        walls: ``X,Y,Z,NX,NY,NZ``
        table: Whether there is one; None leaves it.

    Raises:
        DescriptionError: A text says something else, or an object does not exist.
    """
    changes: Changes = {}
    if objects:
        changes["objects"] = scene.objects + tuple(_placed(text) for text in objects)
    parts = scene.surroundings
    if table is False:
        parts = tuple(part for part in parts if not isinstance(part, Table))
    if table and scene.table is None:
        parts = (Table(), *parts)
    parts += tuple(_wall(text) for text in walls)
    return changes if parts == scene.surroundings else changes | {"surroundings": parts}


def _placed(text: str) -> PlacedObject:
    name, _, coordinates = text.rpartition("@")
    position = _numbers(coordinates, 3)
    if not name or position is None:
        raise DescriptionError(
            "--object: expected NAME@X,Y,Z with metres, such as sphere@0.05,0,-0.085, "
            f"found '{text}'"
        )
    x, y, z = position
    return PlacedObject(object=load_object(name), position=(x, y, z))


def _wall(text: str) -> Wall:
    numbers = _numbers(text, 6)
    if numbers is None:
        raise DescriptionError(
            "--wall: expected X,Y,Z,NX,NY,NZ, the middle of its face [m] and the normal out of it, "
            f"such as -0.05,0,-0.08,1,0,0, found '{text}'"
        )
    x, y, z, *normal = numbers
    return Wall(point=(x, y, z), normal=(normal[0], normal[1], normal[2]))


def _numbers(text: str, count: int) -> list[float] | None:
    """Numbers with commas between them; None where they are not so many, or no numbers."""
    try:
        numbers = [float(part) for part in text.split(",")]
    except ValueError:
        return None
    return numbers if len(numbers) == count else None
