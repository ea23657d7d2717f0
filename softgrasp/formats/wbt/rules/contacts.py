"""Rules of materials and of what happens where two of them touch."""

from __future__ import annotations

from collections.abc import Iterator

from softgrasp.errors import did_you_mean
from softgrasp.formats.wbt.access import number, numbers, text
from softgrasp.formats.wbt.node import Node
from softgrasp.formats.wbt.places import SOLIDS
from softgrasp.formats.wbt.rules.complaint import Complaint, above, of_type, since
from softgrasp.formats.wbt.schema import default
from softgrasp.formats.wbt.world import World

MAX_FRICTIONS = 4
_MATERIALS = ("material1", "material2")
_JOINTS_SINCE = "R2023b"


def pairs_of_materials_are_unique(world: World) -> Iterator[Complaint]:
    """Two materials have at most one ContactProperties, in whichever order they are named."""
    seen: dict[frozenset[str], Node] = {}
    for node in of_type(world, "ContactProperties"):
        names = [text(node, key) for key in _MATERIALS]
        first = seen.setdefault(frozenset(names), node)
        if first is not node:
            pair = f"'{names[0]}' and '{names[1]}'"
            yield node, f"expected one ContactProperties of {pair}, found another{since(first)}"


def materials_are_worn(world: World) -> Iterator[Complaint]:
    """A material of ContactProperties is that of some solid."""
    worn = {text(solid, "contactMaterial") for solid in of_type(world, *SOLIDS)}
    worn.add(str(default("Solid", "contactMaterial")))
    for node in of_type(world, "ContactProperties"):
        for key in _MATERIALS:
            name = text(node, key)
            if name not in worn:
                hint = did_you_mean(name, worn)
                yield node, f"ContactProperties.{key}: no solid has material '{name}'; {hint}"


def contact_numbers_make_sense(world: World) -> Iterator[Complaint]:
    """Restitution and ERP are fractions, softness is above 0, friction is not negative."""
    for node in of_type(world, "ContactProperties"):
        for key in ("bounce", "softERP"):
            if not 0 <= number(node, key) <= 1:
                text = f"{number(node, key):g}"
                yield node, f"ContactProperties.{key}: expected 0 to 1, found {text}"
        if number(node, "softCFM") <= 0:
            text = f"{number(node, 'softCFM'):g}"
            yield node, f"ContactProperties.softCFM: expected a number above 0, found {text}"
        yield from above(node, ["bounceVelocity"])


def bounces_are_stated(world: World) -> Iterator[Complaint]:
    """A contact that says nothing of it bounces with half of its speed."""
    for node in of_type(world, "ContactProperties"):
        if "bounce" not in node.fields:
            yield node, "ContactProperties.bounce: expected a number, found none: Webots takes 0.5"


def frictions_make_sense(world: World) -> Iterator[Complaint]:
    """One to four coefficients of friction, each at least 0, or -1 for infinite."""
    for node in of_type(world, "ContactProperties"):
        coefficients = numbers(node, "coulombFriction")
        where = "ContactProperties.coulombFriction"
        if not 1 <= len(coefficients) <= MAX_FRICTIONS:
            yield node, f"{where}: expected 1 to {MAX_FRICTIONS} numbers, found {len(coefficients)}"
        for friction in coefficients:
            if friction < 0 and friction != -1:
                yield node, f"{where}: expected at least 0, or -1 (infinite), found {friction:g}"


def old_versions_know_no_contact_joints(world: World) -> Iterator[Complaint]:
    """ContactProperties.maxContactJoints came with R2023b."""
    if world.version >= _JOINTS_SINCE:
        return
    for node in of_type(world, "ContactProperties"):
        if "maxContactJoints" in node.fields:
            yield (
                node,
                f"ContactProperties.maxContactJoints: expected Webots {_JOINTS_SINCE} or newer, "
                f"found {world.version}",
            )
