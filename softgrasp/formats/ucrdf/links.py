"""``<link>`` elements as plain data for a ``Link``: inertia, shapes, meshes and colours."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from softgrasp.errors import did_you_mean
from softgrasp.formats.ucrdf.bendables import inertial_tree, origin_tree
from softgrasp.formats.ucrdf.elements import (
    Element,
    line_of,
    mistake,
    numbers,
    only,
    present_attributes,
    present_numbers,
)
from softgrasp.formats.ucrdf.mesh_names import is_readable, locate_mesh, mesh_name

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
    colors_by_name: dict[str, Color | None] = {}
    for material in (*robot.findall("material"), *robot.iterfind("link/*/material")):
        rgba = _stated_color(material)
        if rgba is not None or only(material, "texture") is not None:
            colors_by_name.setdefault(material.get("name", ""), rgba)
    return colors_by_name


def link_tree(element: Element, directory: Path, materials: Colors) -> dict[str, Any]:
    """Fields of a ``Link``.

    Args:
        element: The ``<link>``.
        directory: Where relative mesh files lie.
        materials: Colours that its shapes may name.

    Raises:
        DescriptionError: Something in it is missing, stands twice, or is none of what URDF has.
    """

    def shapes(tag: str) -> list[dict[str, Any]]:
        return [_shape_tree(part, directory, materials) for part in element.findall(tag)]

    return {
        **present_attributes(element, "name"),
        **inertial_tree(element),
        "visuals": shapes("visual"),
        "collisions": shapes("collision"),
    }


def drawable(visual: Element) -> bool:
    """Whether a shape can be read; Collada meshes cannot."""
    mesh = visual.find("geometry/mesh")
    return mesh is None or is_readable(mesh.get("filename", ""))


def drop_undrawable(robot: Element) -> None:
    """Take shapes that cannot be read off the links that they would show."""
    for link in robot.findall("link"):
        for visual in link.findall("visual"):
            if not drawable(visual):
                link.remove(visual)


def drop_missing_visuals(robot: Element, directory: Path) -> str:
    """Take visual meshes whose files are not there off links that have collision shapes.

    Returns:
        What was taken off, in words with lines; "" for nothing.
    """
    missing = []
    for link in robot.findall("link"):
        for visual in link.findall("visual") if link.find("collision") is not None else ():
            mesh = visual.find("geometry/mesh")
            if mesh is not None and "filename" in mesh.attrib and not locate_mesh(mesh, directory):
                missing.append(
                    f"<visual> '{mesh.get('filename')}' (line {line_of(mesh)}), no such file"
                )
                link.remove(visual)
    return ", ".join(missing)


def _shape_tree(element: Element, directory: Path, materials: Colors) -> dict[str, Any]:
    tree = {
        **present_attributes(element, "name"),
        **origin_tree(element),
        "shape": _geometry(element, directory),
    }
    material = only(element, "material")
    if material is not None:
        tree["rgba"] = _color(material, materials)
    return tree


def _geometry(element: Element, directory: Path) -> dict[str, Any]:
    geometry = only(element, "geometry")
    if geometry is None:
        raise mistake(element, "expected <geometry> inside, found none")
    shapes = list(geometry.iterchildren("*"))
    if len(shapes) != 1 or shapes[0].tag not in GEOMETRIES:
        tags = ", ".join(f"<{shape.tag}>" for shape in shapes) or "none"
        raise mistake(geometry, f"expected one of {', '.join(GEOMETRIES)}, found {tags}")
    shape = shapes[0]
    match shape.tag:
        case "box":
            return {"type": "cuboid", "size": numbers(_with(shape, "size"), "size", 3)}
        case "sphere":
            return {"type": "sphere", **present_numbers(shape, "radius")}
        case "mesh":
            return _mesh(shape, directory)
    size = present_numbers(shape, "radius", "length")
    if shape.tag == "cylinder" and "length" in size:
        size["height"] = size.pop("length")
    return {"type": shape.tag, **size}


def _mesh(element: Element, directory: Path) -> dict[str, Any]:
    tree: dict[str, Any] = {
        "type": "mesh",
        "file": mesh_name(_with(element, "filename"), directory),
    }
    if "scale" in element.attrib:
        tree["scale"] = numbers(element, "scale", 3)
    return tree


def _color(material: Element, materials: Colors) -> Color | None:
    stated, name = _stated_color(material), material.get("name", "")
    if stated is not None or name in materials:
        return stated or materials[name]
    hint = f"; {did_you_mean(name, materials)}" if materials else ""
    raise mistake(material, f"expected a material that has a colour, found '{name}'{hint}")


def _stated_color(material: Element) -> Color | None:
    color = only(material, "color")
    return None if color is None else numbers(_with(color, "rgba"), "rgba", 4)


def _with(element: Element, attribute: str) -> Element:
    """The element, if it has the attribute."""
    if attribute not in element.attrib:
        raise mistake(element, "this attribute is missing", attribute)
    return element
