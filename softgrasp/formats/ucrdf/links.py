"""``<link>`` elements as plain data for a ``Link``: inertia, shapes, meshes and colours."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from softgrasp.errors import did_you_mean
from softgrasp.formats.ucrdf.bendables import inertial_tree, origin_tree
from softgrasp.formats.ucrdf.elements import Element, given, given_numbers, mistake, numbers, only
from softgrasp.formats.ucrdf.mesh_names import is_readable, mesh_name, mesh_place

GEOMETRIES = ("box", "cylinder", "sphere", "capsule", "mesh")

Color = tuple[float, ...]
"""Red, green, blue and opacity."""
Colors = Mapping[str, Color | None]
"""Of materials by name; None of those that have only a texture."""


def colors(robot: Element) -> dict[str, Color | None]:
    """The materials that the whole robot may name: those at the top, then those in links.

    Raises:
        DescriptionError: A colour is not four numbers.
    """
    found: dict[str, Color | None] = {}
    for material in (*robot.findall("material"), *robot.iterfind("link/*/material")):
        rgba = _own_color(material)
        if rgba is not None or only(material, "texture") is not None:
            found.setdefault(material.get("name", ""), rgba)
    return found


def link_tree(element: Element, folder: Path, materials: Colors) -> dict[str, Any]:
    """Fields of a ``Link``.

    Args:
        element: The ``<link>``.
        folder: Where relative mesh files lie.
        materials: Colours that its shapes may name.

    Raises:
        DescriptionError: Something in it is missing, stands twice, or is none of what URDF has.
    """

    def shapes(tag: str) -> list[dict[str, Any]]:
        return [_shape_tree(part, folder, materials) for part in element.findall(tag)]

    return {
        **given(element, "name"),
        **inertial_tree(element),
        "visuals": shapes("visual"),
        "collisions": shapes("collision"),
    }


def undrawable(visual: Element, folder: Path) -> str:
    """Why a shape cannot be shown, "" where it can: Collada is not read, and files get lost.

    Args:
        visual: The ``<visual>``.
        folder: Where relative mesh files lie.
    """
    mesh = visual.find("geometry/mesh")
    name = None if mesh is None else mesh.get("filename")
    if name is None:
        return ""
    if not is_readable(name):
        return "a mesh of another kind"
    return "" if mesh_place(name, folder) else f"the missing mesh '{name}'"


def drop_undrawable(robot: Element, folder: Path) -> None:
    """Take shapes that cannot be read off the links that they would show."""
    for link in robot.findall("link"):
        for visual in link.findall("visual"):
            if undrawable(visual, folder):
                link.remove(visual)


def _shape_tree(element: Element, folder: Path, materials: Colors) -> dict[str, Any]:
    tree = {**given(element, "name"), **origin_tree(element), "shape": _geometry(element, folder)}
    material = only(element, "material")
    if material is not None:
        tree["rgba"] = _color(material, materials)
    return tree


def _geometry(element: Element, folder: Path) -> dict[str, Any]:
    geometry = only(element, "geometry")
    if geometry is None:
        raise mistake(element, "expected <geometry> inside, found none")
    shapes = list(geometry.iterchildren("*"))
    if len(shapes) != 1 or shapes[0].tag not in GEOMETRIES:
        found = ", ".join(f"<{shape.tag}>" for shape in shapes) or "none"
        raise mistake(geometry, f"expected one of {', '.join(GEOMETRIES)}, found {found}")
    shape = shapes[0]
    match shape.tag:
        case "box":
            return {"type": "cuboid", "size": numbers(_with(shape, "size"), "size", 3)}
        case "sphere":
            return {"type": "sphere", **given_numbers(shape, "radius")}
        case "mesh":
            return _mesh(shape, folder)
    size = given_numbers(shape, "radius", "length")
    if shape.tag == "cylinder" and "length" in size:
        size["height"] = size.pop("length")
    return {"type": shape.tag, **size}


def _mesh(element: Element, folder: Path) -> dict[str, Any]:
    tree: dict[str, Any] = {
        "type": "mesh",
        "file": mesh_name(_with(element, "filename"), folder),
    }
    if "scale" in element.attrib:
        tree["scale"] = numbers(element, "scale", 3)
    return tree


def _color(material: Element, materials: Colors) -> Color | None:
    own, name = _own_color(material), material.get("name", "")
    if own is not None or name in materials:
        return own or materials[name]
    hint = f"; {did_you_mean(name, materials)}" if materials else ""
    raise mistake(material, f"expected a material that has a colour, found '{name}'{hint}")


def _own_color(material: Element) -> Color | None:
    color = only(material, "color")
    return None if color is None else numbers(_with(color, "rgba"), "rgba", 4)


def _with(element: Element, attribute: str) -> Element:
    """The element, if it has the attribute."""
    if attribute not in element.attrib:
        raise mistake(element, "this attribute is missing", attribute)
    return element
